//! Errors and warnings of a source text, as data.
//!
//! A [`Diagnostic`] carries its [`QasmProblem`] (what was given, what was expected), the finished
//! message, a hint, and labels that point into the sources by byte range. Nothing here prints or
//! underlines; that is left to the caller.
//!
//! Invariant: the span of every label lies within the text of its source, on character boundaries.

use std::ops::Range;

pub use super::problem::QasmProblem;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// An error: no circuit is returned.
    Error,
    /// A warning: a circuit is returned, perhaps not the intended one.
    Warning,
}

/// Span in a source, with a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Index of the source in the list of sources.
    pub source: usize,
    /// Bytes of the source; empty where something is missing.
    pub span: Range<usize>,
    /// The remark, possibly empty.
    pub text: String,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Severity of the diagnostic.
    pub severity: Severity,
    /// Cause, as data.
    pub problem: Box<QasmProblem>,
    /// Message in words.
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
    /// Labels of the spans that it is about; the first one is the primary span.
    pub labels: Vec<Label>,
}

impl Diagnostic {
    pub(super) fn error(problem: QasmProblem) -> Diagnostic {
        let message = shortened(problem.to_string());
        Diagnostic {
            severity: Severity::Error,
            problem: Box::new(problem),
            message,
            help: None,
            labels: Vec::new(),
        }
    }

    pub(super) fn warning(problem: QasmProblem) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(problem) }
    }

    pub(super) fn with_label(
        mut self,
        place: super::ast::FileSpan,
        text: impl Into<String>,
    ) -> Diagnostic {
        let (source, span) = (place.source as usize, place.span.range());
        self.labels.push(Label { source, span, text: text.into() });
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(shortened(help.into()));
        self
    }

    pub(super) fn maybe_help(mut self, help: Option<String>) -> Diagnostic {
        self.help = self.help.or(help.map(shortened));
        self
    }
}

/// Limit on the characters of a message. Names in it may be as long as a file.
const MAX_MESSAGE: usize = 1000;

/// Returns a text without its middle, if it is long.
fn shortened(text: String) -> String {
    if text.len() <= MAX_MESSAGE || text.chars().count() <= MAX_MESSAGE {
        return text;
    }
    const END: usize = 200;
    let start = text.char_indices().nth(MAX_MESSAGE - END).map_or(0, |(at, _)| at);
    let end = text.char_indices().rev().nth(END).map_or(text.len(), |(at, _)| at);
    format!("{} … {}", &text[..start], &text[end..])
}

/// A text that was read: the file itself, or one that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl SourceText {
    /// Returns the line and the column of a byte, both counted from 1, the column in characters.
    /// Bytes past the end count as the end. O(bytes before it).
    ///
    /// ```
    /// use ketgrad_core::qasm::SourceText;
    ///
    /// let source = SourceText { name: "a.qasm".into(), text: "// θ\nh q;".into() };
    /// assert_eq!(source.line_column(0), (1, 1));
    /// assert_eq!(source.line_column(5), (1, 5)); // θ takes two bytes
    /// assert_eq!(source.line_column(8), (2, 3));
    /// ```
    #[must_use]
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let mut end = byte.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
    }
}
