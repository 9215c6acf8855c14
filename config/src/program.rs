//! Programs that verbs and plugins read, and their errors, underlined.

use std::path::Path;

use ketgrad_core::{
    errors::Errors,
    exec::{DeriveError, Limits},
    ir::Program,
    qasm::{Label, Severity, SourceText},
    text,
};
use ketgrad_plugin_host::Plugins;

use crate::{
    files::read_text,
    options::Common,
    report::{Failure, Remark, Status},
};

/// Returns a program's name, by which to call it, and its text: one that is given, or else that of
/// a file.
pub(crate) fn read(text: Option<&str>, file: Option<&Path>) -> Result<(String, String), Failure> {
    match text {
        Some(text) => Ok(("-e".to_owned(), text.to_owned())),
        None => read_text(file.unwrap_or(Path::new("-"))),
    }
}

/// Returns the program, and the name of the function asked for, which is its last one if none is.
pub(crate) fn parse(
    name: &str,
    source: &str,
    function: Option<&str>,
    plugins: &Plugins,
) -> Result<(Program, String), Failure> {
    let program = text::parse_program_with(source, plugins.rules());
    let program = program.map_err(|errors| faulty(name, source, errors))?;
    let entry = function.or_else(|| text::entry(&program, plugins.rules())).map(str::to_owned);
    let entry = entry.ok_or_else(|| Failure::input(format_args!("{name} has no function")))?;
    Ok((program, entry))
}

/// Returns the limits of a program that may fill so many bytes.
pub(crate) fn limits(common: &Common, memory: usize) -> Limits {
    let steps = common.max_steps();
    Limits::new().with_steps(steps).with_work(steps.saturating_mul(1000)).with_memory(memory)
}

/// Returns the errors of a program text, underlined.
pub(crate) fn faulty(name: &str, source: &str, errors: Errors<text::TextError>) -> Failure {
    let remarks = errors.into_iter().map(|e| Remark {
        severity: Severity::Error,
        message: e.kind.to_string(),
        help: None,
        labels: vec![Label { source: 0, span: e.start..e.end, text: String::new() }],
    });
    Failure {
        status: Status::Input,
        remarks: remarks.collect(),
        sources: vec![SourceText { name: name.to_owned(), text: source.to_owned() }],
    }
}

/// Returns the failure of a program that was read, underlined where it arose.
pub(crate) fn failed(name: &str, source: &str, error: &DeriveError, plugins: &Plugins) -> Failure {
    let message = plugins.missing_derivative(error).unwrap_or_else(|| error.to_string());
    let at = error.position();
    // The picture says the place.
    let what = at.and_then(|at| message.strip_prefix(&format!("{at}: "))).unwrap_or(&message);
    match at.and_then(|at| text::token_at(source, at)) {
        Some(span) => Failure::input(what).with_label(name, source, span, ""),
        None => Failure::input(format_args!("{name}: {what}")),
    }
}
