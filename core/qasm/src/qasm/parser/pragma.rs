//! Pragmas with an effect: noise and unitary matrices of Amazon Braket, and readout errors.
//!
//! ```text
//! #pragma braket noise depolarizing(p) q[0]
//! #pragma braket unitary([[0, 1], [1, 0]]) q[0]
//! #pragma ketgrad readout_error(0.01, 0.02) c[0]
//! #pragma ketgrad readout_error(0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0.1, 0, 0) c[0], c[1]
//! ```
//! A pragma is one token to the end of its line. Its text is read by a parser of that part of the
//! source, so that numbers and operands are those of the language, with their spans in the file.
//! That parser ends with the line, and so does an error in it.

use super::{ErrorReported, Parse, QasmParser};
use crate::qasm::{
    Version,
    ast::{Pragma, PragmaKind, QasmExpr, QasmExprKind, QasmSpan, QasmStmtKind},
    diagnostic::{Diagnostic, QasmProblem},
    lexer::{Lexer, QasmTokenKind, Sign},
};

impl QasmParser<'_> {
    /// Parses a pragma. OpenQASM 2 has none with an effect.
    pub(super) fn pragma(&mut self) -> QasmStmtKind {
        let QasmSpan { start, end } = self.bump().span;
        let text = &self.text[..end as usize];
        let Some((kind, rest)) =
            kind_of(&text[start as usize..]).filter(|_| self.version == Version::V3)
        else {
            return QasmStmtKind::Pragma(None);
        };
        // The rest is no longer than the token.
        let begin = end - u32::try_from(rest.len()).unwrap_or(0);
        let mut lexer = Lexer::from(text, begin, self.source);
        let token = lexer.next(self.names, self.errors);
        let next = lexer.next(self.names, self.errors);
        let mut line = QasmParser {
            text,
            source: self.source,
            version: self.version,
            lexer,
            names: &mut *self.names,
            errors: &mut *self.errors,
            token,
            next,
            last_end: token.span.start,
            depth: self.depth,
            fatal: false,
            is_bitwise: false,
            whole: "the line",
        };
        let pragma = line.applied(kind);
        let fatal = line.fatal;
        self.fatal |= fatal;
        // The line has ended, so there is nothing to recover from.
        pragma.map_or(QasmStmtKind::Empty, |pragma| QasmStmtKind::Pragma(Some(Box::new(pragma))))
    }

    /// Parses `name(args) operands`, which is all of the text.
    fn applied(&mut self, kind: PragmaKind) -> Parse<Pragma> {
        let name =
            self.ident(if kind == PragmaKind::Noise { "the name of a channel" } else { "a name" })?;
        let args = if self.eat(Sign::LParen) {
            let args = self.list(Sign::RParen, Self::argument)?;
            self.expect(Sign::RParen)?;
            args
        } else {
            Box::default()
        };
        let operands = self.operands(1)?;
        if self.is(QasmTokenKind::End) {
            return Ok(Pragma { kind, name, args, operands });
        }
        let (expected, given) = ("the end of the line".to_owned(), self.describe());
        let place = self.place_here();
        let error =
            Diagnostic::error(QasmProblem::Expected { expected, given }).with_label(place, "");
        self.errors.push(error.help("a pragma has a line of its own, without `;`"));
        Err(ErrorReported)
    }

    /// A number, or a list in brackets: a matrix is a list of rows.
    fn argument(&mut self) -> Parse<QasmExpr> {
        if !self.is_sign(Sign::LBracket) {
            return self.expr();
        }
        self.deeper(|p| {
            let open = p.bump().span;
            let items = p.list(Sign::RBracket, Self::argument)?;
            p.expect(Sign::RBracket)?;
            Ok(QasmExpr {
                span: QasmSpan::new(open.start, p.last_end),
                kind: QasmExprKind::List(items),
            })
        })
    }
}

/// Returns the kind of a pragma, if it is a known one, and the text from its name on.
fn kind_of(pragma: &str) -> Option<(PragmaKind, &str)> {
    let rest = pragma.strip_prefix('#').unwrap_or(pragma).strip_prefix("pragma")?;
    if let Some(own) = after(rest, "ketgrad") {
        return Some((PragmaKind::ReadoutError, own));
    }
    let braket = after(rest, "braket")?;
    let noise = after(braket, "noise").map(|rest| (PragmaKind::Noise, rest));
    noise.or_else(|| after(braket, "unitary").map(|_| (PragmaKind::Unitary, braket)))
}

/// Returns the text after a whole word; `None` if the text does not begin with that word.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let next = text.trim_start();
    let rest = next.strip_prefix(word).filter(|_| next.len() < text.len())?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(rest)
}
