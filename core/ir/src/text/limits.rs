//! Limits of the size of a text and of the program that it builds.

use super::{
    ast::TextSpan,
    error::{TextError, TextErrorKind},
    lexer::error,
};

/// Length of the longest name or number, in bytes. An `f64` that is written out has at most 1,077.
pub(super) const LONGEST_WORD: usize = 2_000;

/// Maximum number of errors that are reported for a text.
pub(super) const MOST_ERRORS: usize = 100;

/// Limits of the size of a text, and of the program that it builds: they bound memory and time for
/// every input. Exceeding one is an [error](super::TextErrorKind::TooLarge) with a position that
/// names the limit.
///
/// Besides these a name or a number has at most 2,000 bytes, blocks, expressions and kinds nest
/// 1,000 deep, a tuple or a struct holds 10,000 numbers and 64 levels of others, and at most 100
/// errors are reported.
///
/// ```
/// use ketgrad_core::{rules::Rules, text::{TextLimits, parse_program_within}};
///
/// let few = TextLimits::new().with_bytes(20);
/// let errors = parse_program_within("fn f(x) { sin(x) * x }", &Rules::new(), &few).unwrap_err();
/// assert_eq!(errors.to_string(), "1:22: more than 20 bytes of text: split it, or raise `TextLimits::bytes`");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextLimits {
    /// Number of bytes of the text.
    pub bytes: usize,
    /// Number of tokens: names, numbers, operators and brackets.
    pub tokens: usize,
    /// Size of all functions that are built: instructions, their operands, the arguments of blocks;
    /// each value of a tuple counts as many times as it has leaves.
    pub size: usize,
}

impl Default for TextLimits {
    /// See [`TextLimits::new`].
    fn default() -> TextLimits {
        TextLimits::new()
    }
}

impl TextLimits {
    /// Creates limits of 16 MiB, 1,500,000 tokens and a size of 3,000,000: some 130,000 lines,
    /// which take about 1 GiB while they are parsed.
    #[must_use]
    pub const fn new() -> TextLimits {
        TextLimits { bytes: 16 << 20, tokens: 1_500_000, size: 3_000_000 }
    }

    /// Sets the number of [`bytes`](TextLimits::bytes).
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> TextLimits {
        TextLimits { bytes, ..self }
    }

    /// Sets the number of [`tokens`](TextLimits::tokens).
    #[must_use]
    pub const fn with_tokens(self, tokens: usize) -> TextLimits {
        TextLimits { tokens, ..self }
    }

    /// Sets the [`size`](TextLimits::size).
    #[must_use]
    pub const fn with_size(self, size: usize) -> TextLimits {
        TextLimits { size, ..self }
    }

    pub(super) fn too_many_bytes(&self, span: TextSpan) -> TextError {
        too_large(span, "bytes of text", self.bytes, "split it, or raise `TextLimits::bytes`")
    }

    pub(super) fn too_many_tokens(&self, span: TextSpan) -> TextError {
        too_large(span, "tokens of text", self.tokens, "split it, or raise `TextLimits::tokens`")
    }

    pub(super) fn too_much_made(&self, span: TextSpan) -> TextError {
        let way_out = "put numbers that belong together into arrays instead of tuples and variables, or raise `TextLimits::size`";
        too_large(span, "instructions and operands", self.size, way_out)
    }
}

fn too_large(span: TextSpan, what: &'static str, limit: usize, way_out: &'static str) -> TextError {
    error(span, TextErrorKind::TooLarge { what, limit, way_out })
}

/// Returns the error of a name or a number that is too long.
pub(super) fn too_long(span: TextSpan, what: &'static str) -> TextError {
    too_large(span, what, LONGEST_WORD, "write a shorter one")
}

/// Returns true if no more errors are reported: one more after the last says so.
pub(super) fn is_full(errors: &mut Vec<TextError>) -> bool {
    if errors.len() == MOST_ERRORS
        && let Some(TextError { at, start, end, .. }) = errors.last()
    {
        let span = TextSpan { at: *at, start: *start, end: *end };
        errors.push(too_large(span, "errors", MOST_ERRORS - 1, "mend these first"));
    }
    errors.len() > MOST_ERRORS
}

/// Returns true if an error says that a limit is exceeded.
pub(super) fn is_too_large(e: &TextError) -> bool {
    matches!(e.kind, TextErrorKind::TooLarge { .. })
}
