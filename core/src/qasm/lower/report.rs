//! Errors and warnings, with their spans.

use super::{Lower, Lowering, Stop};
use crate::qasm::{
    ast::{Place, Span, Symbol},
    diagnostic::{Diagnostic, Problem},
    parser::MAX_ERRORS,
};

/// Limit on the warnings; further ones are dropped.
const MAX_WARNINGS: usize = 100;

impl Lowering<'_> {
    /// Returns the number of errors.
    pub(super) fn n_errors(&self) -> usize {
        self.diagnostics.len() - self.warnings.min(self.diagnostics.len())
    }

    /// Returns true if there are too many errors to go on.
    pub(super) fn full(&mut self) -> bool {
        if self.n_errors() < MAX_ERRORS {
            return false;
        }
        let too_many = Problem::TooManyErrors { limit: MAX_ERRORS };
        if !self.diagnostics.iter().any(|d| *d.problem == too_many) {
            self.diagnostics.push(Diagnostic::error(too_many));
        }
        true
    }

    pub(super) fn place(&self, span: Span) -> Place {
        Place { source: self.source, span }
    }

    pub(super) fn whole(&self, text: &str) -> Span {
        Span::new(0, u32::try_from(text.len()).unwrap_or(0))
    }

    pub(super) fn text(&self, span: Span) -> &str {
        self.sources
            .get(self.source as usize)
            .and_then(|s| s.text.get(span.range()))
            .unwrap_or_default()
    }

    pub(super) fn name(&self, symbol: Symbol) -> String {
        self.interner.name(symbol).to_owned()
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        self.diagnostics.push(diagnostic);
        Stop
    }

    pub(super) fn fail<T>(&mut self, problem: Problem, span: Span) -> Lower<T> {
        let place = self.place(span);
        Err(self.report(Diagnostic::error(problem).at(place, "")))
    }

    pub(super) fn refuse<T>(&mut self, what: &str, span: Span) -> Lower<T> {
        self.fail(Problem::NotInThisVersion { what: what.to_owned() }, span)
    }

    pub(super) fn warn(&mut self, problem: Problem, span: Span) {
        let place = self.place(span);
        self.warning(Diagnostic::warning(problem).at(place, ""));
    }

    pub(super) fn warning(&mut self, warning: Diagnostic) {
        // In a loop, or in a subroutine, a statement would give the same warning each time.
        if self.warnings < MAX_WARNINGS && !self.diagnostics.contains(&warning) {
            self.warnings += 1;
            self.diagnostics.push(warning);
        }
    }

    /// Warns of the first ignored construct of each kind.
    pub(super) fn ignored(&mut self, what: &'static str, span: Span) -> Lower<()> {
        if self.reported.insert(what) {
            self.warn(Problem::Ignored { what }, span);
        }
        Ok(())
    }

    pub(super) fn check<T>(&mut self, result: Result<T, Problem>, span: Span) -> Lower<T> {
        result.or_else(|problem| self.fail(problem, span))
    }
}
