//! Lexer: text to tokens. Every character belongs to a token, to space or to a comment; any other
//! is an error with its position.

use crate::{errors::Errors, ir::Position};

use super::{
    ast::TextSpan,
    error::{TextError, TextErrorKind},
    limits::{LONGEST_WORD, TextLimits, is_full, too_long},
};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TextToken {
    Name(String),
    /// At most 2^63, which is only allowed after a minus.
    Int(u64),
    Real(f64),
    /// An operator or a bracket, as written.
    Mark(&'static str),
    End,
}

impl TextToken {
    pub(super) fn describe(&self) -> String {
        match self {
            TextToken::Name(n) => format!("`{n}`"),
            TextToken::Int(n) => format!("`{n}`"),
            TextToken::Real(x) => format!("`{x:?}`"),
            TextToken::Mark(m) => format!("`{m}`"),
            TextToken::End => "the end of the text".into(),
        }
    }
}

/// Largest integer that may be written, and only as a negative one.
pub(super) const MOST: u64 = i64::MIN.unsigned_abs();
/// Description of valid integers.
pub(super) const BELOW: &str = "an integer below 2^63";

/// Longer marks first.
const MARKS: [&str; 38] = [
    "..=", "**", "->", "::", "..", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "(",
    ")", "{", "}", "[", "]", ",", ";", ":", ".", "+", "-", "*", "/", "%", "^", "<", ">", "=", "!",
    "&", "|", "#",
];

/// Returns all tokens, followed by [`TextToken::End`]. A text that is too long, or has too many
/// tokens, is an error there.
pub(super) fn lex(
    source: &str,
    limits: &TextLimits,
) -> Result<Vec<(TextToken, TextSpan)>, Errors<TextError>> {
    let mut tokens: Vec<(TextToken, TextSpan)> = Vec::new();
    let mut errors = Vec::new();
    // Editors of some systems put a byte order mark before the text.
    let mark = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (mut at, mut line, mut column) = (mark, 1, 1);
    let bytes = source.as_bytes();
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let start = TextSpan { start: at, end: at, at: Position::new(line, column) };
        if at >= limits.bytes && !c.is_whitespace() {
            return Err(limits.too_many_bytes(start).into());
        }
        if tokens.len() >= limits.tokens && !c.is_whitespace() {
            return Err(limits.too_many_tokens(start).into());
        }
        if is_full(&mut errors) {
            break;
        }
        let mut advance = |len: usize| {
            for c in rest[..len].chars() {
                if c == '\n' {
                    line += 1;
                    column = 1;
                } else {
                    column += 1;
                }
            }
            at += len;
            TextSpan { end: at, ..start }
        };
        if c.is_whitespace() {
            advance(c.len_utf8());
        } else if rest.starts_with("//") {
            advance(rest.find('\n').unwrap_or(rest.len()));
        } else if c.is_alphabetic() || c == '_' {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let span = advance(len);
            match len {
                0..=LONGEST_WORD => tokens.push((TextToken::Name(rest[..len].into()), span)),
                _ => errors.push(too_long(span, "bytes in a name")),
            }
        } else if c.is_ascii_digit() {
            // After a dot it is the field of a tuple: `t.0.1` has no number with a decimal point.
            let field = tokens.last().is_some_and(|t| t.0 == TextToken::Mark("."));
            let len = number_len(&bytes[start.start..], field);
            let span = advance(len);
            if len > LONGEST_WORD {
                errors.push(too_long(span, "digits in a number"));
                continue;
            }
            let text: String = rest[..len].chars().filter(|&c| c != '_').collect();
            let integer = text.bytes().all(|b| b.is_ascii_digit());
            let token = match integer {
                true => text.parse().ok().filter(|&n| n <= MOST).map(TextToken::Int),
                false => text.parse().ok().filter(|x: &f64| x.is_finite()).map(TextToken::Real),
            };
            match token {
                Some(token) => tokens.push((token, span)),
                None => {
                    let expected = if integer { BELOW } else { "one below 1.8e308" };
                    errors.push(error(span, TextErrorKind::Number { given: text, expected }));
                }
            }
        } else if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
            let span = advance(mark.len());
            tokens.push((TextToken::Mark(mark), span));
        } else {
            let span = advance(c.len_utf8());
            let expected = match c {
                '?' => "`if c { a } else { b }`, which is a value",
                '"' | '\'' => "a name, a number or an operator: there is no text in programs",
                _ => "a name, a number or an operator",
            };
            let (given, expected) = (format!("`{c}`"), expected.into());
            errors.push(error(span, TextErrorKind::Unexpected { given, expected }));
        }
    }
    let end = TextSpan { start: at, end: at, at: Position::new(line, column) };
    if at > limits.bytes {
        return Err(limits.too_many_bytes(end).into());
    }
    tokens.push((TextToken::End, end));
    Errors::none_in(errors).map(|()| tokens)
}

pub(super) fn error(span: TextSpan, kind: TextErrorKind) -> TextError {
    TextError { at: span.at, start: span.start, end: span.end, kind }
}

/// Returns the length of a number: `12`, `1_000`, `0.5`, `1e-3`, `2.`; not the `1` of `1..n` with
/// its dots.
fn number_len(s: &[u8], field: bool) -> usize {
    let digits = |from: usize| {
        s[from..]
            .iter()
            .position(|b| !b.is_ascii_digit() && *b != b'_')
            .map_or(s.len(), |n| from + n)
    };
    let mut len = digits(0);
    if field {
        return len;
    }
    let after = s.get(len + 1);
    let method = after.is_some_and(|b| *b == b'.' || *b == b'_' || b.is_ascii_alphabetic());
    if s.get(len) == Some(&b'.') && !method {
        len = digits(len + 1);
    }
    if matches!(s.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(s.get(len + 1), Some(b'+' | b'-')));
        if s.get(len + 1 + sign).is_some_and(u8::is_ascii_digit) {
            len = digits(len + 1 + sign);
        }
    }
    len
}
