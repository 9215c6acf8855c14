//! Parser: from tokens to the syntax tree, by recursive descent.
//!
//! Both languages go through the same code: they differ in their keywords and in the meaning of
//! `^`. After an error the parser continues after the next `;` or `}`, so that most errors of a
//! file are shown at once. A function that returns [`ErrorReported`] has reported the error.
//!
//! Invariants: the parser consumes a token or stops in every loop; nesting is bounded by
//! [`MAX_DEPTH`], and with it the stack.

mod classical;
mod expression;
mod operand;
mod pragma;
mod statement;

use super::{
    Version,
    ast::{FileSpan, Ident, Interner, Keyword, QasmSpan, QasmStmt},
    diagnostic::{Diagnostic, QasmProblem},
    lexer::{Lexer, QasmToken, QasmTokenKind, Sign},
};
use crate::stack::deep;

/// Maximum depth of nested expressions and blocks.
pub(super) const MAX_DEPTH: usize = 256;

/// Limit on the number of errors, after which the rest is not read.
pub(super) const MAX_ERRORS: usize = 50;

/// Marker of an error that was reported; the statement is given up.
#[derive(Debug)]
pub(super) struct ErrorReported;

type Parse<T> = Result<T, ErrorReported>;

/// A parsed source.
#[derive(Debug)]
pub(super) struct QasmProgram {
    pub(super) version: Version,
    /// True if there was an `OPENQASM` line.
    pub(super) header: bool,
    pub(super) statements: Vec<QasmStmt>,
}

/// Parses a text. An included file is of the version of the file that includes it.
pub(super) fn program(
    text: &str,
    source: u32,
    version: Option<Version>,
    names: &mut Interner,
    errors: &mut Vec<Diagnostic>,
) -> QasmProgram {
    let mut parser = QasmParser::new(text, source, version.unwrap_or(Version::V3), names, errors);
    let header = parser.header(version.is_some());
    if !header && version.is_none() {
        parser.version = guess(text, parser.names);
    }
    let mut statements = Vec::new();
    while !parser.is(QasmTokenKind::End) && !parser.stopped() {
        if parser.is(QasmTokenKind::Sign(Sign::RBrace)) {
            let given = parser.describe();
            parser.error_here(QasmProblem::Expected { expected: "a statement".to_owned(), given });
            parser.bump();
            continue;
        }
        match parser.statement() {
            Ok(statement) => statements.push(statement),
            Err(ErrorReported) => parser.recover(),
        }
    }
    let version = parser.version;
    QasmProgram { version, header, statements }
}

/// Parses a text that is one expression.
pub(super) fn expression(
    text: &str,
    version: Version,
    names: &mut Interner,
    errors: &mut Vec<Diagnostic>,
) -> Option<super::ast::QasmExpr> {
    let mut parser = QasmParser::new(text, 0, version, names, errors);
    parser.whole = "the expression";
    let expr = parser.expr().ok()?;
    if parser.is(QasmTokenKind::End) {
        return Some(expr);
    }
    let given = parser.describe();
    parser.error_here(QasmProblem::Expected {
        expected: "the end of the expression".to_owned(),
        given,
    });
    None
}

/// Guesses the language version of a text without a header.
fn guess(text: &str, names: &mut Interner) -> Version {
    let mut errors = Vec::new();
    let mut lexer = Lexer::new(text, 0);
    let mut old = false;
    loop {
        let token = lexer.next(names, &mut errors);
        match token.kind {
            QasmTokenKind::End => break,
            QasmTokenKind::Name(symbol) => match symbol.word() {
                Some(
                    Keyword::Qubit
                    | Keyword::Input
                    | Keyword::Ctrl
                    | Keyword::Negctrl
                    | Keyword::Const
                    | Keyword::Bit,
                ) => {
                    return Version::V3;
                }
                Some(Keyword::Qreg | Keyword::Creg) => old = true,
                _ => {}
            },
            QasmTokenKind::Hardware | QasmTokenKind::Sign(Sign::At) => return Version::V3,
            QasmTokenKind::Text => match text[token.span.range()].trim_matches('"') {
                "stdgates.inc" => return Version::V3,
                "qelib1.inc" => old = true,
                _ => {}
            },
            _ => {}
        }
        if errors.len() > MAX_ERRORS {
            break;
        }
    }
    if old { Version::V2 } else { Version::V3 }
}

pub(super) struct QasmParser<'a> {
    text: &'a str,
    source: u32,
    version: Version,
    lexer: Lexer<'a>,
    names: &'a mut Interner,
    errors: &'a mut Vec<Diagnostic>,
    token: QasmToken,
    next: QasmToken,
    /// End of the token before the current one.
    last_end: u32,
    depth: usize,
    /// True if nothing more is to be read.
    fatal: bool,
    /// True inside bitwise expressions, where `^` is not a power in OpenQASM 2 either.
    is_bitwise: bool,
    /// Name of the construct that ends with the text, for messages.
    whole: &'static str,
}

impl<'a> QasmParser<'a> {
    fn new(
        text: &'a str,
        source: u32,
        version: Version,
        names: &'a mut Interner,
        errors: &'a mut Vec<Diagnostic>,
    ) -> QasmParser<'a> {
        let mut lexer = Lexer::new(text, source);
        let token = lexer.next(names, errors);
        let next = lexer.next(names, errors);
        let last_end = token.span.start;
        let (depth, fatal, is_bitwise, whole) = (0, false, false, "the file");
        QasmParser {
            text,
            source,
            version,
            lexer,
            names,
            errors,
            token,
            next,
            last_end,
            depth,
            fatal,
            is_bitwise,
            whole,
        }
    }

    /// Reads the `OPENQASM` line, if there is one.
    fn header(&mut self, included: bool) -> bool {
        if self.word() != Some(Keyword::Openqasm) {
            return false;
        }
        self.bump();
        let span = self.token.span;
        let given = self.text[span.range()].to_owned();
        let version = match given.as_str() {
            "2" | "2.0" => Some(Version::V2),
            "3" | "3.0" | "3.1" => Some(Version::V3),
            _ => None,
        };
        match version {
            // An included file does not change the language.
            Some(version) if !included => self.version = version,
            Some(_) => {}
            None if matches!(self.token.kind, QasmTokenKind::Int | QasmTokenKind::Float) => {
                self.version = if given.starts_with('2') { Version::V2 } else { Version::V3 };
                self.error_here(QasmProblem::UnknownVersion { given });
            }
            None => {
                let given = self.describe();
                let expected = "a version such as `2.0` or `3.0`".to_owned();
                self.error_here(QasmProblem::Expected { expected, given });
                self.recover();
                return true;
            }
        }
        self.bump();
        if self.semicolon().is_err() {
            self.recover();
        }
        true
    }

    fn stopped(&mut self) -> bool {
        if self.errors.len() >= MAX_ERRORS && !self.fatal {
            self.fatal = true;
            self.errors.push(Diagnostic::error(QasmProblem::TooManyErrors { limit: MAX_ERRORS }));
        }
        self.fatal
    }

    fn bump(&mut self) -> QasmToken {
        let token = self.token;
        self.last_end = token.span.end;
        self.token = self.next;
        if self.next.kind != QasmTokenKind::End {
            self.next = self.lexer.next(self.names, self.errors);
        }
        token
    }

    fn is(&self, kind: QasmTokenKind) -> bool {
        self.token.kind == kind
    }

    fn is_sign(&self, sign: Sign) -> bool {
        self.token.kind == QasmTokenKind::Sign(sign)
    }

    fn next_is(&self, sign: Sign) -> bool {
        self.next.kind == QasmTokenKind::Sign(sign)
    }

    /// Consumes the sign if it is the current token.
    fn eat(&mut self, sign: Sign) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, sign: Sign) -> Parse<QasmSpan> {
        if self.is_sign(sign) {
            return Ok(self.bump().span);
        }
        self.expected(&format!("`{}`", sign.text()))
    }

    /// Returns the keyword of the current token, if it is one in this language.
    fn word(&self) -> Option<Keyword> {
        match self.token.kind {
            QasmTokenKind::Name(symbol) => {
                symbol.word().filter(|w| self.version == Version::V3 || w.is_old())
            }
            _ => None,
        }
    }

    fn is_word(&self, word: Keyword) -> bool {
        self.word() == Some(word)
    }

    fn ident(&mut self, what: &str) -> Parse<Ident> {
        let span = self.token.span;
        match (self.token.kind, self.word()) {
            (QasmTokenKind::Name(_), Some(word)) => {
                self.error_here(QasmProblem::Keyword { word: word.text().to_owned() });
                Err(ErrorReported)
            }
            (QasmTokenKind::Name(symbol), None) => {
                self.bump();
                Ok(Ident { symbol, span })
            }
            _ => self.expected(what),
        }
    }

    /// A string. One without its closing quote was reported by the lexer.
    fn string(&mut self) -> Parse<QasmSpan> {
        let span = self.bump().span;
        let text = &self.text[span.range()];
        let closed = text.len() > 1 && text.as_bytes().first() == text.as_bytes().last();
        if closed { Ok(span) } else { Err(ErrorReported) }
    }

    /// Parses a `;`. If only that is missing at the end of a line, it is reported and assumed.
    fn semicolon(&mut self) -> Parse<()> {
        if self.eat(Sign::Semi) {
            return Ok(());
        }
        let between = &self.text[self.last_end as usize..self.token.span.start as usize];
        let ends =
            matches!(self.token.kind, QasmTokenKind::End | QasmTokenKind::Sign(Sign::RBrace));
        if ends || between.contains('\n') {
            let place =
                FileSpan { source: self.source, span: QasmSpan::new(self.last_end, self.last_end) };
            self.errors.push(
                Diagnostic::error(QasmProblem::MissingSemicolon)
                    .with_label(place, "expected `;` here"),
            );
            return Ok(());
        }
        self.expected("`;`")
    }

    /// Parses a list with commas, up to a closing sign that is not consumed.
    fn list<T>(
        &mut self,
        close: Sign,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Box<[T]>> {
        let mut items = Vec::new();
        while !self.is_sign(close) {
            items.push(item(self)?);
            if !self.eat(Sign::Comma) {
                break;
            }
        }
        Ok(items.into())
    }

    /// Runs `f` one level deeper.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            self.error_here(QasmProblem::TooDeep { limit: MAX_DEPTH });
            self.fatal = true;
            return Err(ErrorReported);
        }
        self.depth += 1;
        let result = deep(|| f(self));
        self.depth -= 1;
        result
    }

    fn describe(&self) -> String {
        let text = &self.text[self.token.span.range()];
        match self.token.kind {
            QasmTokenKind::End => format!("the end of {}", self.whole),
            QasmTokenKind::Pragma => "a pragma".to_owned(),
            QasmTokenKind::Annotation => "an annotation".to_owned(),
            _ if text.chars().count() > 24 => {
                format!("`{}…`", text.chars().take(24).collect::<String>())
            }
            _ => format!("`{text}`"),
        }
    }

    fn expected<T>(&mut self, what: &str) -> Parse<T> {
        let given = self.describe();
        self.error_here(QasmProblem::Expected { expected: what.to_owned(), given });
        Err(ErrorReported)
    }

    fn error_here(&mut self, problem: QasmProblem) {
        self.error_at(problem, self.token.span);
    }

    fn place_here(&self) -> FileSpan {
        FileSpan { source: self.source, span: self.token.span }
    }

    fn error_at(&mut self, problem: QasmProblem, span: QasmSpan) {
        let place = FileSpan { source: self.source, span };
        self.errors.push(Diagnostic::error(problem).with_label(place, ""));
    }

    /// Continues after the next `;`, or after a block, or before the `}` of the enclosing block.
    fn recover(&mut self) {
        let mut open = 0usize;
        while !self.stopped() {
            match self.token.kind {
                QasmTokenKind::End => return,
                QasmTokenKind::Sign(Sign::Semi) if open == 0 => {
                    self.bump();
                    return;
                }
                QasmTokenKind::Sign(Sign::LBrace) => open += 1,
                QasmTokenKind::Sign(Sign::RBrace) if open == 0 => return,
                QasmTokenKind::Sign(Sign::RBrace) => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        return;
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }
}
