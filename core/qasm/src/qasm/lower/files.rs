//! Included files: the built-in ones by name, others through the caller.

use super::{Lower, QasmLowering};
use crate::qasm::{
    SourceText, Version,
    ast::QasmSpan,
    diagnostic::{Diagnostic, QasmProblem, Severity},
    lexer::MAX_SOURCE,
    parser,
};

/// Limit on the files that one file may include, directly or not.
const MAX_INCLUDES: usize = 256;

impl QasmLowering<'_> {
    pub(super) fn include(&mut self, quoted: QasmSpan) -> Lower<()> {
        let text = self.text(quoted);
        let name = text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned();
        let belongs = match name.rsplit('/').next().unwrap_or_default() {
            "qelib1.inc" | "hqslib1.inc" | "hqslib1_dev.inc" => Some(Version::V2),
            "stdgates.inc" | "stdgates.qasm" => Some(Version::V3),
            _ => None,
        };
        if let Some(belongs) = belongs {
            if belongs != self.version {
                let problem = QasmProblem::ForeignInclude { name, belongs, version: self.version };
                self.warn(problem, quoted);
            }
            self.standard_gates(belongs);
            return Ok(());
        }
        if self.sources.len() > MAX_INCLUDES || self.open.len() > MAX_INCLUDES / 4 {
            return self.fail(QasmProblem::TooManyIncludes { limit: MAX_INCLUDES }, quoted);
        }
        let Some(resolve) = self.options.include else {
            let reason = "only `qelib1.inc` and `stdgates.inc` can be read here".to_owned();
            return self.fail(QasmProblem::Include { name, reason }, quoted);
        };
        // A file that is included looks beside itself, then beside the file that is read.
        let beside = match self.source {
            0 => None,
            source => beside(&self.sources[source as usize].name, &name),
        };
        let mut failed = None;
        for path in beside.into_iter().chain([name.clone()]) {
            let is_open = |&s: &u32| s != 0 && self.sources[s as usize].name == path;
            if self.open.iter().any(is_open) || path == self.options.file {
                return self.fail(QasmProblem::IncludeCycle { name }, quoted);
            }
            match resolve(&path) {
                Ok(text) if text.len() > MAX_SOURCE => {
                    let (bytes, limit) = (text.len(), MAX_SOURCE);
                    return self.fail(QasmProblem::SourceTooLong { bytes, limit }, quoted);
                }
                Ok(text) => return self.included_file(path, text, quoted),
                Err(reason) => failed = failed.or(Some(reason)),
            }
        }
        let reason = failed.unwrap_or_default();
        self.fail(QasmProblem::Include { name, reason }, quoted)
    }

    /// Lowers a file of the user. Errors in a file that is not OpenQASM are reported for the
    /// `include`, since it may be any file of the machine, and messages would show its text to the
    /// author of the circuit.
    fn included_file(&mut self, name: String, text: String, quoted: QasmSpan) -> Lower<()> {
        let before = self.diagnostics.len();
        let is_named = has_extension(&name);
        let (source, starts) = self.included(name.clone(), text);
        let is_in = |d: &Diagnostic| d.labels.iter().any(|label| label.source == source);
        let faults = &self.diagnostics[before..];
        let first = faults.iter().find(|d| d.severity == Severity::Error && is_in(d));
        let Some(first) = first.and_then(|d| d.labels.iter().find(|label| label.source == source))
        else {
            return Ok(());
        };
        // Its syntax is right at first, and it is called or begins as OpenQASM.
        let is_misread = starts.n_syntax_errors > 0
            && starts.statement.is_none_or(|end| first.span.start < end as usize);
        if !is_misread && (starts.header || is_named) {
            return Ok(());
        }
        let (line, column) = self.sources[source].line_column(first.span.start);
        for diagnostic in self.diagnostics.split_off(before) {
            if is_in(&diagnostic) {
                self.warnings -= usize::from(diagnostic.severity == Severity::Warning);
            } else {
                self.diagnostics.push(diagnostic);
            }
        }
        let reason = format!("line {line}, column {column} is not OpenQASM");
        self.fail(QasmProblem::Include { name, reason }, quoted)
    }

    /// Parses and lowers a further source in place; returns its number, and its beginning.
    pub(super) fn included(&mut self, name: String, text: String) -> (usize, Starts) {
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        let n_errors = self.diagnostics.len();
        let program = parser::program(
            &text,
            source,
            Some(self.version),
            &mut self.interner,
            &mut self.diagnostics,
        );
        let n_syntax_errors = self.diagnostics.len() - n_errors;
        self.sources.push(SourceText { name, text });
        let outer = std::mem::replace(&mut self.source, source);
        self.open.push(source);
        self.list(&program.statements, &program.statements);
        self.open.pop();
        self.source = outer;
        let statement = program.statements.first().map(|s| s.span.end);
        (source as usize, Starts { header: program.header, statement, n_syntax_errors })
    }
}

/// Beginning of a source.
pub(super) struct Starts {
    header: bool,
    /// End of its first statement.
    statement: Option<u32>,
    n_syntax_errors: usize,
}

/// Returns the path of a file from the folder of another, `a/b.inc` and `../c.inc` giving `c.inc`;
/// `None` if that is its name alone.
fn beside(of: &str, name: &str) -> Option<String> {
    let (folder, _) = of.rsplit_once('/')?;
    if name.starts_with('/') {
        return None;
    }
    let mut path: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match (part, path.last()) {
            (".", _) => {}
            ("..", Some(&last)) if !matches!(last, "" | "." | "..") => {
                path.pop();
            }
            _ => path.push(part),
        }
    }
    Some(path.join("/"))
}

/// Returns true if a file has a name with an extension of OpenQASM.
fn has_extension(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["inc", "qasm", "qasm2", "qasm3"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}
