//! Noise: the pragmas of Amazon Braket, `#pragma braket noise depolarizing(p) q[0]`.
//!
//! A pragma is one token to the end of its line. What it says of noise is read by a parser of that part of the
//! text, so that numbers and operands are those of the language, with their places in the file. It goes no further
//! than the line, and so does an error in it.

use super::{Parse, Parser, Stop};
use crate::qasm::{
    Version,
    ast::{Expr, ExprKind, Noise, Span, StmtKind},
    diagnostic::{Diagnostic, Problem},
    lexer::{Kind, Lexer, Sign},
};

impl Parser<'_> {
    /// A pragma, which is noise or says nothing here. OpenQASM 2 has none.
    pub(super) fn pragma(&mut self) -> StmtKind {
        let Span { start, end } = self.bump().span;
        let text = &self.text[..end as usize];
        let Some(rest) = noise_in(&text[start as usize..]).filter(|_| self.version == Version::V3) else {
            return StmtKind::Pragma;
        };
        // The rest is no longer than the token.
        let begin = end - u32::try_from(rest.len()).unwrap_or(0);
        let mut lexer = Lexer::from(text, begin, self.source);
        let token = lexer.next(self.names, self.errors);
        let next = lexer.next(self.names, self.errors);
        let mut line = Parser {
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
            whole: "the line",
        };
        let noise = line.noise();
        let fatal = line.fatal;
        self.fatal |= fatal;
        // The line is over, so there is nothing to recover from.
        noise.map_or(StmtKind::Empty, |noise| StmtKind::Noise(Box::new(noise)))
    }

    /// `name(args) operands`, which is all of the text.
    fn noise(&mut self) -> Parse<Noise> {
        let name = self.ident("the name of a channel")?;
        let args = if self.eat(Sign::LParen) {
            let args = self.list(Sign::RParen, Self::argument)?;
            self.expect(Sign::RParen)?;
            args
        } else {
            Box::default()
        };
        let operands = self.operands(1)?;
        if self.is(Kind::End) {
            return Ok(Noise { name, args, operands });
        }
        let (expected, given) = ("the end of the line".to_owned(), self.describe());
        let place = self.place_here();
        let error = Diagnostic::error(Problem::Expected { expected, given }).at(place, "");
        self.errors.push(error.help("a pragma has a line of its own, without `;`"));
        Err(Stop)
    }

    /// A number, or a list in brackets: a matrix is a list of rows.
    fn argument(&mut self) -> Parse<Expr> {
        if !self.is_sign(Sign::LBracket) {
            return self.expr();
        }
        self.deeper(|p| {
            let open = p.bump().span;
            let items = p.list(Sign::RBracket, Self::argument)?;
            p.expect(Sign::RBracket)?;
            Ok(Expr { span: Span::new(open.start, p.last_end), kind: ExprKind::List(items) })
        })
    }
}

/// What follows `#pragma braket noise`, if a pragma begins so.
fn noise_in(pragma: &str) -> Option<&str> {
    let mut rest = pragma.strip_prefix('#').unwrap_or(pragma).strip_prefix("pragma")?;
    for word in ["braket", "noise"] {
        let next = rest.trim_start();
        rest = next.strip_prefix(word).filter(|_| next.len() < rest.len())?;
    }
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(rest)
}
