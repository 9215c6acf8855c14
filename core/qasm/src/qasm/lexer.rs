//! Lexer: from bytes to tokens, one at a time.
//!
//! The lexer is pulled by the parser and holds no list of tokens. It reports and skips characters
//! that it cannot read, so that it always reaches the end. Both languages share it: the parser
//! decides if a word is a keyword.
//!
//! `1e-05`, `.5`, `5.`, `1_000`, `0xff`, `0b01` and `0o17` are numbers; a number of any length is
//! one token. A line that starts with `pragma`, `#pragma` or `@name` is one token to its end,
//! within which a lexer of its own may read on.

use super::ast::{FileSpan, InternedName, Interner, QasmSpan};
use super::diagnostic::{Diagnostic, QasmProblem};

/// Kind of a token. Its text is in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QasmTokenKind {
    Name(InternedName),
    /// A whole number, in any radix.
    Int,
    Float,
    /// With its quotes.
    Text,
    /// `$0`.
    Hardware,
    Pragma,
    Annotation,
    /// Punctuation and operators, by their text.
    Sign(Sign),
    End,
}

macro_rules! signs {
    ($($NAME:ident $text:literal)*) => {
        /// Punctuation and operators. Longer ones come first, so that the first match is the
        /// longest.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Sign { $($NAME),* }

        impl Sign {
            pub(super) fn text(self) -> &'static str {
                match self { $(Sign::$NAME => $text),* }
            }

            fn match_prefix(bytes: &[u8]) -> Option<Sign> {
                $(if bytes.starts_with($text.as_bytes()) { return Some(Sign::$NAME); })*
                None
            }
        }
    };
}

signs! {
    PowerAssign "**=" ShlAssign "<<=" ShrAssign ">>="
    Arrow "->" EqEq "==" NotEq "!=" LessEq "<=" GreaterEq ">=" AndAnd "&&" OrOr "||" Shl "<<" Shr ">>"
    PlusPlus "++" Power "**" AddAssign "+=" SubAssign "-=" MulAssign "*=" DivAssign "/=" RemAssign "%="
    AndAssign "&=" OrAssign "|=" XorAssign "^=" InvertAssign "~="
    Semi ";" Comma "," LBracket "[" RBracket "]" LParen "(" RParen ")" LBrace "{" RBrace "}"
    Plus "+" Minus "-" Star "*" Slash "/" Percent "%" Caret "^" Amp "&" Bar "|" Tilde "~" Bang "!"
    Less "<" Greater ">" Assign "=" Colon ":" At "@" Dot "." Hash "#"
}

/// Token and its span.
#[derive(Clone, Copy, Debug)]
pub(super) struct QasmToken {
    pub(super) kind: QasmTokenKind,
    pub(super) span: QasmSpan,
}

/// The longest source: spans count bytes in 32 bits.
pub(super) const MAX_SOURCE: usize = u32::MAX as usize;

pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    source: u32,
    /// True if a statement can begin here, so that `@` begins an annotation.
    fresh: bool,
}

impl<'a> Lexer<'a> {
    /// A lexer of a text of at most [`MAX_SOURCE`] bytes.
    pub(super) fn new(text: &'a str, source: u32) -> Lexer<'a> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, bytes: text.as_bytes(), at, source, fresh: true }
    }

    /// A lexer of a part of the text, which ends where the text does.
    pub(super) fn from(text: &'a str, start: u32, source: u32) -> Lexer<'a> {
        Lexer { text, bytes: text.as_bytes(), at: start as usize, source, fresh: false }
    }

    pub(super) fn next(&mut self, names: &mut Interner, errors: &mut Vec<Diagnostic>) -> QasmToken {
        loop {
            self.skip_space(errors);
            let start = self.at;
            let Some(&first) = self.bytes.get(start) else {
                return QasmToken { kind: QasmTokenKind::End, span: self.span(start) };
            };
            let kind = match first {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.name(names),
                b'0'..=b'9' => Some(self.number(errors)),
                b'.' if self.byte(1).is_some_and(|b| b.is_ascii_digit()) => {
                    Some(self.number(errors))
                }
                b'"' | b'\'' => Some(self.string(first, errors)),
                b'$' if self.byte(1).is_some_and(|b| b.is_ascii_digit()) => {
                    self.at += 1;
                    self.take_while(|b| b.is_ascii_digit());
                    Some(QasmTokenKind::Hardware)
                }
                b'#' if self.text[start..].starts_with("#pragma") => {
                    Some(self.line(QasmTokenKind::Pragma))
                }
                b'@' if self.fresh
                    && self.byte(1).is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') =>
                {
                    Some(self.line(QasmTokenKind::Annotation))
                }
                _ => Sign::match_prefix(&self.bytes[start..]).map(|sign| {
                    self.at += sign.text().len();
                    QasmTokenKind::Sign(sign)
                }),
            };
            if let Some(kind) = kind {
                self.fresh = matches!(
                    kind,
                    QasmTokenKind::Sign(Sign::Semi | Sign::LBrace | Sign::RBrace)
                        | QasmTokenKind::Pragma
                        | QasmTokenKind::Annotation
                );
                return QasmToken { kind, span: self.span(start) };
            }
            self.skip_unknown(start, errors);
        }
    }

    fn span(&self, start: usize) -> QasmSpan {
        // The length was checked against MAX_SOURCE.
        let number = |at| u32::try_from(at).unwrap_or(u32::MAX);
        QasmSpan::new(number(start), number(self.at))
    }

    fn report(&self, problem: QasmProblem, start: usize, errors: &mut Vec<Diagnostic>) {
        let place = FileSpan { source: self.source, span: self.span(start) };
        errors.push(Diagnostic::error(problem).with_label(place, ""));
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.byte(0).is_some_and(&keep) {
            self.at += 1;
        }
    }

    /// Skips white space and comments.
    fn skip_space(&mut self, errors: &mut Vec<Diagnostic>) {
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c) => self.at += 1,
                Some(b'/') if self.byte(1) == Some(b'/') => {
                    self.take_while(|b| !matches!(b, b'\n' | b'\r'))
                }
                Some(b'/') if self.byte(1) == Some(b'*') => {
                    let start = self.at;
                    match self.text[start + 2..].find("*/") {
                        Some(length) => self.at = start + length + 4,
                        None => {
                            self.at = start + 2;
                            self.report(QasmProblem::UnterminatedComment, start, errors);
                            self.at = self.bytes.len();
                        }
                    }
                }
                Some(0x80..) => match self.text[self.at..].chars().next() {
                    Some(c) if c.is_whitespace() => self.at += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// A name: a letter of any script or `_`, then letters, digits and `_`.
    fn name(&mut self, names: &mut Interner) -> Option<QasmTokenKind> {
        let start = self.at;
        loop {
            self.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
            match self.text[self.at..].chars().next() {
                Some(c) if !c.is_ascii() && c.is_alphanumeric() => self.at += c.len_utf8(),
                _ => break,
            }
        }
        let name = &self.text[start..self.at];
        if name.is_empty() {
            return None;
        }
        if name == "pragma" && self.fresh {
            return Some(self.line(QasmTokenKind::Pragma));
        }
        Some(QasmTokenKind::Name(names.intern(name)))
    }

    fn number(&mut self, errors: &mut Vec<Diagnostic>) -> QasmTokenKind {
        let start = self.at;
        let prefixed = matches!(
            self.bytes.get(start..start + 2),
            Some([b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B'])
        );
        if prefixed {
            self.at += 2;
            self.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
            let text = &self.text[start..self.at];
            if !is_integer(text) {
                self.report(QasmProblem::BadNumber { given: text.to_owned() }, start, errors);
            }
            return QasmTokenKind::Int;
        }
        let digit = |b: u8| b.is_ascii_digit() || b == b'_';
        let mut kind = QasmTokenKind::Int;
        self.take_while(digit);
        if self.byte(0) == Some(b'.') {
            kind = QasmTokenKind::Float;
            self.at += 1;
            self.take_while(digit);
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self.byte(1 + signed).is_some_and(|b| b.is_ascii_digit()) {
                kind = QasmTokenKind::Float;
                self.at += 1 + signed;
                self.take_while(digit);
            }
        }
        kind
    }

    fn string(&mut self, quote: u8, errors: &mut Vec<Diagnostic>) -> QasmTokenKind {
        let start = self.at;
        self.at += 1;
        self.take_while(|b| b != quote && b != b'\n');
        if self.byte(0) == Some(quote) {
            self.at += 1;
        } else {
            self.report(QasmProblem::UnterminatedString, start, errors);
        }
        QasmTokenKind::Text
    }

    /// Returns a token up to the end of the line.
    fn line(&mut self, kind: QasmTokenKind) -> QasmTokenKind {
        self.take_while(|b| b != b'\n' && b != b'\r');
        kind
    }

    /// Reports a character that begins no token, and skips it and the ones like it that follow.
    fn skip_unknown(&mut self, start: usize, errors: &mut Vec<Diagnostic>) {
        self.at = start;
        let strange = |c: char| {
            !c.is_alphanumeric()
                && !c.is_whitespace()
                && (!c.is_ascii() || c.is_control() || "`?\\$".contains(c))
        };
        let given = self.text[start..].chars().next().unwrap_or('\0');
        self.at += given.len_utf8();
        let first = self.at;
        let rest = &self.text[first..];
        let after = rest.find(|c| !strange(c)).unwrap_or(rest.len());
        self.report(QasmProblem::Character { given }, start, errors);
        if let ('?', Some(error)) = (given, errors.last_mut()) {
            error.help = Some(
                "OpenQASM has no `a ? b : c`: declare a variable, and assign to it under an `if`"
                    .to_owned(),
            );
        }
        self.at = first + after;
    }
}

/// Returns the radix of a whole number and its digits.
pub(super) fn radix(text: &str) -> (u32, &str) {
    match text.get(..2) {
        Some("0x" | "0X") => (16, &text[2..]),
        Some("0o" | "0O") => (8, &text[2..]),
        Some("0b" | "0B") => (2, &text[2..]),
        _ => (10, text),
    }
}

/// Returns true if a whole number has the digits of its radix, and any at all.
pub(super) fn is_integer(text: &str) -> bool {
    let (radix, digits) = radix(text);
    digits.contains(|c| c != '_') && digits.chars().all(|c| c == '_' || c.is_digit(radix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<String>, usize) {
        let (mut names, mut errors) = (Interner::new(), Vec::new());
        let mut lexer = Lexer::new(text, 0);
        let mut out = Vec::new();
        loop {
            let token = lexer.next(&mut names, &mut errors);
            if token.kind == QasmTokenKind::End {
                return (out, errors.len());
            }
            let name = match token.kind {
                QasmTokenKind::Sign(_) => "sign",
                QasmTokenKind::Name(_) => "name",
                QasmTokenKind::Int => "int",
                QasmTokenKind::Float => "float",
                QasmTokenKind::Text => "text",
                QasmTokenKind::Hardware => "hardware",
                QasmTokenKind::Pragma => "pragma",
                QasmTokenKind::Annotation => "annotation",
                QasmTokenKind::End => "end",
            };
            out.push(format!("{name} {}", &text[token.span.range()]));
        }
    }

    #[test]
    fn numbers_are_one_token_each() {
        let (tokens, errors) = kinds("1e-05 1E5 .5 5. 1_000 0xfF 0b1_0 0o17 2ns 12e");
        assert_eq!(errors, 0);
        assert_eq!(
            tokens,
            [
                "float 1e-05",
                "float 1E5",
                "float .5",
                "float 5.",
                "int 1_000",
                "int 0xfF",
                "int 0b1_0",
                "int 0o17",
                "int 2",
                "name ns",
                "int 12",
                "name e"
            ]
        );
    }

    #[test]
    fn lines_and_comments() {
        let (tokens, errors) = kinds(
            "@bind a b\n#pragma x\npragma y\nctrl @x /* @z */ $12; // c\n@late x\n θ \u{7}\u{7} \"s",
        );
        assert_eq!(errors, 2);
        let expected = [
            "annotation @bind a b",
            "pragma #pragma x",
            "pragma pragma y",
            "name ctrl",
            "sign @",
            "name x",
            "hardware $12",
            "sign ;",
            "annotation @late x",
            "name θ",
            "text \"s",
        ];
        assert_eq!(tokens, expected);
    }
}
