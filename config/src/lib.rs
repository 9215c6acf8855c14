//! The command line of ketgrad: text, TOML and environment become the plain structs of the core.
//!
//! This crate is the only place that reads files and the environment, prints, and renders errors.
//! [`main`] is the whole program. The way of a call:
//!
//! ```text
//! words ──► CommandLine ─┐                       ┌─► Failure ──► stderr, exit status 1 or 2
//!                        ├─► options ──► a verb ─┤
//! TOML ───► ConfigFile ──┘                       └─► Answer ───► stdout, exit status 0
//! ```
//!
//! Nothing is printed before everything is computed and checked, so the standard output is empty
//! whenever the exit status is not 0.

mod amplitudes;
mod answer;
mod backend;
mod check;
mod config_file;
mod diff;
mod equivalent;
mod expectation;
mod files;
mod formula;
mod given;
mod grad;
mod info;
mod input;
mod memory;
mod noise;
pub mod npy;
mod observables;
mod optimize;
mod options;
mod params;
mod parse;
mod plugins;
pub mod plugins_table;
mod point;
mod polynomial;
mod program;
mod progress;
mod report;
mod run;
mod section;
mod show;
pub mod terminal;
mod toml_values;
mod uncertainty;

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, error::ErrorKind};

use config_file::ConfigFile;
use options::{CommandLine, Verb};
use report::{Failure, Status};
use terminal::{Answer, Terminal};

/// Runs the program with these words, the first of which is its name.
#[must_use]
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    ketgrad_plugin_host::crash::report_on_stderr();
    let line = match CommandLine::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => return answered(&error).into(),
    };
    let mut terminal = Terminal::new(line.common.quiet);
    let status = match work(line, &mut terminal) {
        Ok(answer) => terminal.print(answer.as_ref()),
        Err(failure) => {
            terminal.error(&failure);
            failure.status
        }
    };
    ketgrad_plugin_host::exit_past_loader(status.code());
    status.into()
}

/// Prints what clap has to say: help and the version on the standard output, else what is wrong
/// with the words.
fn answered(error: &clap::Error) -> Status {
    if error.use_stderr() {
        let text = error.render().to_string();
        let short = report::shortened_lines(&text);
        if short != text {
            terminal::write_error(&short);
            return Status::Usage;
        }
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    match (error.kind(), printed) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Err(e))
            if e.kind() != io::ErrorKind::BrokenPipe =>
        {
            Terminal::new(false).error(&files::cannot("write to", "the standard output", &e));
            Status::Input
        }
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _) => Status::Done,
        // A standard error that is closed cannot be told about it.
        _ => Status::Usage,
    }
}

/// Adds the config file to the command line, and does the work of the verb.
fn work(line: CommandLine, terminal: &mut Terminal) -> Result<Box<dyn Answer>, Failure> {
    let config = match &line.common.config {
        Some(path) => ConfigFile::read(path)?,
        None => ConfigFile::default(),
    };
    let mut common = line.common.or(&config.common(&line.verb));
    common.plugins = config.plugins;
    terminal.quiet = common.quiet;
    match line.verb {
        Verb::Run(args) => run::run(args, &config.run, &common, terminal),
        Verb::Convert(args) => show::convert(&args, &common, terminal),
        Verb::Amplitudes(args) => amplitudes::amplitudes(&args, &common, terminal),
        Verb::Draw(args) => show::draw(&args, &common, terminal),
        Verb::Grad(args) => grad::grad(&args, &common, terminal),
        Verb::Check(args) => check::check(&args, &common, terminal),
        Verb::Diff(args) => diff::diff(&args, &common, terminal),
        Verb::Equivalent(args) => equivalent::equivalent(&args, &common, terminal),
        Verb::Optimize(args) => optimize::optimize(&args, &common, terminal),
        Verb::Plugins { what } => plugins::plugins(&what, &common, terminal),
        Verb::Info => info::info(&common, terminal),
    }
}
