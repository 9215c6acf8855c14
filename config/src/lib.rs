//! The command line of ketgrad: text, TOML and environment become the plain structs of the core.
//!
//! This crate is the only place that reads files and the environment, prints, and renders errors.
//! [`main`] is the whole program. The way of a call:
//!
//! ```text
//! words ──► LowArgs ─┐                          ┌─► Failure ──► stderr, exit status 1 or 2
//!           (args)   ├─► HiArgs ──► a verb ─────┤
//! TOML ──► ConfigFile┘  (options)               └─► Answer  ──► stdout, exit status 0
//! ```
//!
//! Nothing is printed before everything is computed and checked, so the standard output is empty
//! whenever the exit status is not 0.

pub mod amplitudes;
pub mod args;
mod backend;
pub mod check;
pub mod config_file;
pub mod diff;
pub mod equivalent;
pub mod files;
pub mod given;
pub mod grad;
pub mod info;
pub mod memory;
pub mod noise;
pub mod npy;
pub mod observables;
pub mod optimize;
pub mod options;
pub mod params;
pub mod plugins;
mod polynomial;
pub mod progress;
pub mod report;
pub mod run;
mod section;
pub mod show;
pub mod terminal;
mod uncertainty;

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, error::ErrorKind};

use args::LowArgs;
use options::{HiArgs, Work};
use report::{Failure, Status};
use terminal::{Answer, Terminal};

/// Runs the program with these words, the first of which is its name.
#[must_use]
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    ketgrad_plugin_host::crash::report_on_stderr();
    let low = match LowArgs::try_parse_from(words) {
        Ok(low) => low,
        Err(error) => return answered(&error).into(),
    };
    let mut terminal = Terminal::new(low.common.quiet);
    let status = match HiArgs::resolve(low).and_then(|args| work(&args, &mut terminal)) {
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

fn work(args: &HiArgs, terminal: &mut Terminal) -> Result<Box<dyn Answer>, Failure> {
    terminal.quiet = args.common.quiet;
    match &args.work {
        Work::Run(run) => run::run(run, &args.common, terminal),
        Work::Convert(convert) => show::convert(convert, &args.common, terminal),
        Work::Amplitudes(amplitudes) => amplitudes::amplitudes(amplitudes, &args.common, terminal),
        Work::Draw(draw) => show::draw(draw, &args.common, terminal),
        Work::Grad(grad) => grad::grad(grad, &args.common, terminal),
        Work::Check(check) => check::check(check, &args.common, terminal),
        Work::Diff(diff) => diff::diff(diff, &args.common, terminal),
        Work::Equivalent(equivalent) => equivalent::equivalent(equivalent, &args.common, terminal),
        Work::Optimize(optimize) => optimize::optimize(optimize, &args.common, terminal),
        Work::Plugins(work) => plugins::plugins(work, &args.common, terminal),
        Work::Info => info::info(&args.common, terminal),
    }
}
