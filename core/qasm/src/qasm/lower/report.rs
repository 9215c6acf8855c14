//! Errors and warnings, with their spans.

use super::{ErrorReported, Lower, QasmLowering};
use crate::qasm::{
    ast::{FileSpan, InternedName, QasmSpan},
    diagnostic::{Diagnostic, QasmProblem},
    parser::MAX_ERRORS,
};

/// Limit on the warnings; further ones are dropped.
const MAX_WARNINGS: usize = 100;

impl QasmLowering<'_> {
    /// Returns the number of errors.
    pub(super) fn n_errors(&self) -> usize {
        self.diagnostics.len() - self.warnings.min(self.diagnostics.len())
    }

    /// Returns true if there are too many errors to go on.
    pub(super) fn full(&mut self) -> bool {
        if self.n_errors() < MAX_ERRORS {
            return false;
        }
        let too_many = QasmProblem::TooManyErrors { limit: MAX_ERRORS };
        if !self.diagnostics.iter().any(|d| *d.problem == too_many) {
            self.diagnostics.push(Diagnostic::error(too_many));
        }
        true
    }

    pub(super) fn file_span(&self, span: QasmSpan) -> FileSpan {
        FileSpan { source: self.source, span }
    }

    pub(super) fn whole(&self, text: &str) -> QasmSpan {
        QasmSpan::new(0, u32::try_from(text.len()).unwrap_or(0))
    }

    pub(super) fn text(&self, span: QasmSpan) -> &str {
        self.sources
            .get(self.source as usize)
            .and_then(|s| s.text.get(span.range()))
            .unwrap_or_default()
    }

    pub(super) fn name(&self, symbol: InternedName) -> String {
        self.interner.name(symbol).to_owned()
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> ErrorReported {
        self.diagnostics.push(diagnostic);
        ErrorReported
    }

    pub(super) fn fail<T>(&mut self, problem: QasmProblem, span: QasmSpan) -> Lower<T> {
        let place = self.file_span(span);
        Err(self.report(Diagnostic::error(problem).with_label(place, "")))
    }

    pub(super) fn refuse<T>(&mut self, what: &str, span: QasmSpan) -> Lower<T> {
        self.fail(QasmProblem::NotInThisVersion { what: what.to_owned() }, span)
    }

    pub(super) fn warn(&mut self, problem: QasmProblem, span: QasmSpan) {
        let place = self.file_span(span);
        self.warning(Diagnostic::warning(problem).with_label(place, ""));
    }

    pub(super) fn warning(&mut self, warning: Diagnostic) {
        // In a loop, or in a subroutine, a statement would give the same warning each time.
        if self.warnings < MAX_WARNINGS && !self.diagnostics.contains(&warning) {
            self.warnings += 1;
            self.diagnostics.push(warning);
        }
    }

    /// Warns of the first ignored construct of each kind.
    pub(super) fn ignored(&mut self, what: &'static str, span: QasmSpan) -> Lower<()> {
        if self.reported.insert(what) {
            self.warn(QasmProblem::Ignored { what }, span);
        }
        Ok(())
    }

    pub(super) fn check<T>(&mut self, result: Result<T, QasmProblem>, span: QasmSpan) -> Lower<T> {
        result.or_else(|problem| self.fail(problem, span))
    }
}
