//! Expressions, by precedence.
//!
//! From weak to strong: `||`, `&&`, `|`, `^`, `&`, `== !=`, `< <= > >=`, `<< >>`, `+ - ++`,
//! `* / %`, the signs `- ! ~`, `**` (to the right), then calls and indices. In OpenQASM 2 `^` is
//! another `**`.

use num_traits::ToPrimitive;

use super::{ErrorReported, Parse, QasmParser};
use crate::{
    notation::Precedence,
    qasm::{
        Version,
        ast::{BinaryOp, Ident, Index, Keyword, QasmExpr, QasmExprKind, QasmSpan, Type, UnaryOp},
        diagnostic::QasmProblem,
        lexer::{QasmTokenKind, Sign, is_integer, radix},
    },
};

impl QasmParser<'_> {
    pub(super) fn expr(&mut self) -> Parse<QasmExpr> {
        self.deeper(|p| p.binary(Precedence::Lowest))
    }

    /// `^` is a power in the angles of OpenQASM 2.
    fn caret_is_xor(&self) -> bool {
        self.version == Version::V3 || self.is_bitwise
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        let QasmTokenKind::Sign(sign) = self.token.kind else { return None };
        Some(match sign {
            Sign::OrOr => BinaryOp::Or,
            Sign::AndAnd => BinaryOp::And,
            Sign::Bar => BinaryOp::BitOr,
            Sign::Caret if self.caret_is_xor() => BinaryOp::BitXor,
            Sign::Amp => BinaryOp::BitAnd,
            Sign::EqEq => BinaryOp::Equal,
            Sign::NotEq => BinaryOp::NotEqual,
            Sign::Less => BinaryOp::Less,
            Sign::LessEq => BinaryOp::LessEqual,
            Sign::Greater => BinaryOp::Greater,
            Sign::GreaterEq => BinaryOp::GreaterEqual,
            Sign::Shl => BinaryOp::Shl,
            Sign::Shr => BinaryOp::Shr,
            Sign::Plus => BinaryOp::Add,
            Sign::Minus => BinaryOp::Sub,
            Sign::PlusPlus => BinaryOp::Concat,
            Sign::Star => BinaryOp::Mul,
            Sign::Slash => BinaryOp::Div,
            Sign::Percent => BinaryOp::Rem,
            _ => return None,
        })
    }

    /// Returns true if an operator on two operands is next.
    pub(super) fn operator_follows(&self) -> bool {
        self.binary_op().is_some() || self.is_sign(Sign::Power)
    }

    /// Parses what follows the first operand of an expression.
    pub(super) fn expr_from(&mut self, first: QasmExpr) -> Parse<QasmExpr> {
        self.deeper(|p| {
            let first = p.postfix_of(first)?;
            let first = p.power_of(first)?;
            p.binary_from(first, Precedence::Lowest)
        })
    }

    /// Parses operators that bind at least as strongly as `least`.
    fn binary(&mut self, least: Precedence) -> Parse<QasmExpr> {
        let first = self.unary()?;
        self.binary_from(first, least)
    }

    fn binary_from(&mut self, mut left: QasmExpr, least: Precedence) -> Parse<QasmExpr> {
        // Precedence of the chain that `left` is, if it was built here.
        let mut chained = None;
        while let Some(op) = self.binary_op() {
            let precedence = op.precedence();
            if precedence < least {
                break;
            }
            self.bump();
            let right = self.binary(precedence.tighter())?;
            let span = left.span.to(right.span);
            match &mut left.kind {
                QasmExprKind::Chain(_, rest) if chained == Some(precedence) => {
                    rest.push((op, right));
                    left.span = span;
                }
                _ => {
                    let kind = QasmExprKind::Chain(Box::new(left), vec![(op, right)]);
                    left = QasmExpr { span, kind };
                    chained = Some(precedence);
                }
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<QasmExpr> {
        let op = match self.token.kind {
            QasmTokenKind::Sign(Sign::Minus) => UnaryOp::Minus,
            QasmTokenKind::Sign(Sign::Bang) => UnaryOp::Not,
            QasmTokenKind::Sign(Sign::Tilde) => UnaryOp::Invert,
            QasmTokenKind::Sign(Sign::Plus) => {
                self.bump();
                return self.deeper(Self::unary);
            }
            _ => return self.power(),
        };
        let start = self.bump().span;
        let operand = self.deeper(Self::unary)?;
        let span = start.to(operand.span);
        Ok(QasmExpr { span, kind: QasmExprKind::Unary(op, Box::new(operand)) })
    }

    fn power(&mut self) -> Parse<QasmExpr> {
        let base = self.postfix()?;
        self.power_of(base)
    }

    fn power_of(&mut self, base: QasmExpr) -> Parse<QasmExpr> {
        let is_power =
            self.is_sign(Sign::Power) || (!self.caret_is_xor() && self.is_sign(Sign::Caret));
        if !is_power {
            return Ok(base);
        }
        self.bump();
        let exponent = self.deeper(Self::unary)?;
        let span = base.span.to(exponent.span);
        Ok(QasmExpr { span, kind: QasmExprKind::Power(Box::new([base, exponent])) })
    }

    fn postfix(&mut self) -> Parse<QasmExpr> {
        let expr = self.primary()?;
        self.postfix_of(expr)
    }

    fn postfix_of(&mut self, mut expr: QasmExpr) -> Parse<QasmExpr> {
        let mut indices = 0;
        while self.is_sign(Sign::LBracket) {
            indices += 1;
            if indices > 8 {
                return self.expected("fewer indices");
            }
            let index = self.index()?;
            let span = QasmSpan::new(expr.span.start, self.last_end);
            expr = QasmExpr { span, kind: QasmExprKind::Index(Box::new(expr), index) };
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Parse<QasmExpr> {
        let span = self.token.span;
        let kind = match self.token.kind {
            QasmTokenKind::Int => {
                self.bump();
                let value = self.int_value(span);
                if value.is_none() && !is_integer(&self.text[span.range()]) {
                    // The lexer has reported it.
                    return Err(ErrorReported);
                }
                self.unit(span).unwrap_or(QasmExprKind::Int(value))
            }
            QasmTokenKind::Float => {
                self.bump();
                let text = self.text[span.range()].replace('_', "");
                match (self.unit(span), text.parse()) {
                    (Some(unit), _) => unit,
                    (None, Ok(value)) => {
                        QasmExprKind::Float { value, rounded: is_rounded(&text, value) }
                    }
                    (None, Err(_)) => {
                        self.error_at(QasmProblem::BadNumber { given: text }, span);
                        return Err(ErrorReported);
                    }
                }
            }
            QasmTokenKind::Text => {
                self.string()?;
                QasmExprKind::Text
            }
            QasmTokenKind::Hardware => {
                self.bump();
                QasmExprKind::Hardware
            }
            QasmTokenKind::Sign(Sign::LParen) => {
                self.bump();
                let inner = self.expr()?;
                self.expect(Sign::RParen)?;
                // The parentheses belong to the span, but need no node of their own.
                return Ok(QasmExpr {
                    span: QasmSpan::new(span.start, self.last_end),
                    kind: inner.kind,
                });
            }
            QasmTokenKind::Sign(Sign::LBrace) => {
                self.bump();
                let items = self.list(Sign::RBrace, Self::expr)?;
                self.expect(Sign::RBrace)?;
                QasmExprKind::List(items)
            }
            QasmTokenKind::Name(symbol) => return self.named(Ident { symbol, span }),
            _ => return self.expected("an expression"),
        };
        Ok(QasmExpr { span: QasmSpan::new(span.start, self.last_end), kind })
    }

    /// Parses an expression that begins with a name.
    fn named(&mut self, name: Ident) -> Parse<QasmExpr> {
        let kind = match self.word() {
            Some(Keyword::True | Keyword::False) => {
                QasmExprKind::Bool(self.word() == Some(Keyword::True))
            }
            Some(Keyword::Measure) => {
                self.bump();
                let kind = QasmExprKind::Measure(Box::new(self.operand()?));
                if self.is_sign(Sign::PlusPlus) {
                    return self
                        .expected("one register to measure; `let all = a ++ b;` makes one of two");
                }
                return Ok(QasmExpr { span: QasmSpan::new(name.span.start, self.last_end), kind });
            }
            Some(Keyword::Durationof) => {
                self.bump();
                self.expect(Sign::LParen)?;
                self.block()?;
                self.expect(Sign::RParen)?;
                return Ok(QasmExpr {
                    span: QasmSpan::new(name.span.start, self.last_end),
                    kind: QasmExprKind::Durationof,
                });
            }
            Some(_) if self.is_type() => {
                let ty = self.ty()?;
                return self.cast_to(ty);
            }
            // `pow` is a modifier and a function.
            Some(word) if word != Keyword::Pow || !self.next_is(Sign::LParen) => {
                return self.expected("an expression");
            }
            _ if self.next_is(Sign::LParen) => {
                self.bump();
                self.bump();
                let args = self.list(Sign::RParen, Self::expr)?;
                self.expect(Sign::RParen)?;
                let span = QasmSpan::new(name.span.start, self.last_end);
                return Ok(QasmExpr { span, kind: QasmExprKind::Call(name, args) });
            }
            _ => QasmExprKind::Name(name.symbol),
        };
        self.bump();
        Ok(QasmExpr { span: name.span, kind })
    }

    /// Parses a cast, after its type.
    pub(super) fn cast_to(&mut self, ty: Type) -> Parse<QasmExpr> {
        let start = ty.span.start;
        self.expect(Sign::LParen)?;
        let inner = self.expr()?;
        self.expect(Sign::RParen)?;
        let kind = QasmExprKind::Cast(Box::new(ty), Box::new(inner));
        Ok(QasmExpr { span: QasmSpan::new(start, self.last_end), kind })
    }

    /// Parses the unit that may follow a number, which makes it a duration or an imaginary number.
    fn unit(&mut self, number: QasmSpan) -> Option<QasmExprKind> {
        let QasmTokenKind::Name(symbol) = self.token.kind else { return None };
        // Exporters in Python write its own unit.
        let python = self.token.span.start == number.end;
        let kind = match self.names.name(symbol) {
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "dt" => QasmExprKind::Duration,
            name if name == "im" || python && name == "j" => {
                let decimal = self.text[number.range()].replace('_', "").parse().ok();
                let value = decimal.or_else(|| self.int_value(number)?.to_f64());
                QasmExprKind::Imaginary(value.unwrap_or(f64::INFINITY))
            }
            _ => return None,
        };
        self.bump();
        Some(kind)
    }

    /// Returns the value of a whole number, if it fits in 64 bits.
    pub(super) fn int_value(&self, span: QasmSpan) -> Option<u64> {
        let text = &self.text[span.range()];
        if let Ok(value) = text.parse() {
            return Some(value);
        }
        let text = text.replace('_', "");
        let (radix, digits) = radix(&text);
        u64::from_str_radix(digits, radix).ok()
    }

    /// An index in brackets.
    pub(super) fn index(&mut self) -> Parse<Box<[Index]>> {
        let open = self.expect(Sign::LBracket)?;
        let index = self.list(Sign::RBracket, Self::index_item)?;
        self.expect(Sign::RBracket)?;
        if index.is_empty() {
            let span = QasmSpan::new(open.start, self.last_end);
            self.error_at(
                QasmProblem::Expected { expected: "an index".to_owned(), given: "`[]`".to_owned() },
                span,
            );
            return Err(ErrorReported);
        }
        Ok(index)
    }

    /// `a`, `a:b`, `a:step:b` (each part may be missing) or `{a, b}`.
    pub(super) fn index_item(&mut self) -> Parse<Index> {
        let first = self.token.span;
        if self.is_sign(Sign::LBrace) {
            self.bump();
            let items = self.list(Sign::RBrace, Self::expr)?;
            self.expect(Sign::RBrace)?;
            return Ok(Index::Set(QasmSpan::new(first.start, self.last_end), items));
        }
        let start = self.range_part()?;
        if !self.is_sign(Sign::Colon) {
            return match start {
                Some(expr) => Ok(Index::At(expr)),
                None => self.expected("an index"),
            };
        }
        self.bump();
        let second = self.range_part()?;
        let (step, end) =
            if self.eat(Sign::Colon) { (second, self.range_part()?) } else { (None, second) };
        Ok(Index::Range { span: QasmSpan::new(first.start, self.last_end), start, step, end })
    }

    fn range_part(&mut self) -> Parse<Option<QasmExpr>> {
        let ends = [Sign::Colon, Sign::RBracket, Sign::Comma, Sign::LBrace];
        if ends.iter().any(|&sign| self.is_sign(sign)) { Ok(None) } else { self.expr().map(Some) }
    }
}

/// Number of digits up to which every decimal reads back from the nearest float, within the powers
/// of ten of normal ones.
const FAITHFUL_DIGITS: usize = 15;
const FAITHFUL_POWERS: u64 = 290;

/// Returns true if the shortest decimal that reads back as the float is not the one that is
/// written.
fn is_rounded(text: &str, value: f64) -> bool {
    let written = digits_and_power(text);
    match &written {
        Some((digits, power))
            if digits.len() <= FAITHFUL_DIGITS && power.unsigned_abs() <= FAITHFUL_POWERS =>
        {
            false
        }
        _ => written != digits_and_power(&format!("{value:e}")),
    }
}

/// Returns the digits of a decimal without zeros at either end, and the power of ten of the last;
/// `None` if that overflows.
fn digits_and_power(text: &str) -> Option<(String, i64)> {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - digits.len()).ok()?;
    let digits = digits.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some((digits, 0));
    }
    let places = i64::try_from(fraction.len()).ok()?;
    Some((digits, power.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(places)?))
}
