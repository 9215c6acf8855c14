//! Operands (`q`, `q[2]`, `q[0:2]`, `$1`) and gate calls with their modifiers.

use super::{Parse, QasmParser};
use crate::qasm::{
    Version,
    ast::{
        GateCall, Ident, Index, Keyword, Modifier, ModifierKind, OperandBase, QasmExpr,
        QasmExprKind, QasmOperand, QasmSpan, QasmStmtKind, Select,
    },
    lexer::{QasmTokenKind, Sign},
};

impl QasmParser<'_> {
    pub(super) fn operand(&mut self) -> Parse<QasmOperand> {
        let span = self.token.span;
        if self.is(QasmTokenKind::Hardware) {
            self.bump();
            let number = self.text[span.range()][1..].parse().ok();
            return Ok(QasmOperand {
                span,
                base: OperandBase::Hardware(number),
                select: Select::All,
            });
        }
        let name = self.ident("a register or a qubit")?;
        self.operand_of(name)
    }

    /// Parses the operand that begins with a name already consumed.
    pub(super) fn operand_of(&mut self, name: Ident) -> Parse<QasmOperand> {
        let mut parts: Vec<Box<[Index]>> = Vec::new();
        let mut one = None;
        if self.is_sign(Sign::LBracket) && self.next.kind == QasmTokenKind::Int {
            let start = self.next.span;
            one = self.plain_index(&mut parts)?;
            if let Some(number) = one.filter(|_| self.is_sign(Sign::LBracket)) {
                let kind = QasmExprKind::Int(Some(number));
                parts.push(Box::new([Index::At(QasmExpr { span: start, kind })]));
                one = None;
            }
        }
        while one.is_none() && self.is_sign(Sign::LBracket) {
            parts.push(self.index()?);
        }
        let select = match one {
            Some(number) => Select::One(number),
            None if parts.is_empty() => Select::All,
            None => Select::Parts(parts.into()),
        };
        Ok(QasmOperand {
            span: QasmSpan::new(name.span.start, self.last_end),
            base: OperandBase::Name(name),
            select,
        })
    }

    /// Parses `[2]`, as nearly all indices are. Any other index is added to `parts`.
    fn plain_index(&mut self, parts: &mut Vec<Box<[Index]>>) -> Parse<Option<u64>> {
        let number = self.int_value(self.next.span);
        let ahead = self.text[self.next.span.end as usize..].trim_start();
        if let (Some(number), true) = (number, ahead.starts_with(']')) {
            self.bump();
            self.bump();
            self.expect(Sign::RBracket)?;
            return Ok(Some(number));
        }
        parts.push(self.index()?);
        Ok(None)
    }

    /// Parses operands up to the `;`, at least `least`. In OpenQASM 3 a comma may follow the last.
    pub(super) fn operands(&mut self, least: usize) -> Parse<Box<[QasmOperand]>> {
        let mut operands = Vec::with_capacity(2);
        if least == 0
            && !matches!(self.token.kind, QasmTokenKind::Name(_) | QasmTokenKind::Hardware)
        {
            return Ok(operands.into());
        }
        loop {
            operands.push(self.operand()?);
            let more = self.eat(Sign::Comma);
            if !more || self.version == Version::V3 && self.is_sign(Sign::Semi) {
                return Ok(operands.into());
            }
        }
    }

    /// `inv @ ctrl(2) @ g(x) q, r;`, from the first modifier or the name.
    pub(super) fn modified_call(&mut self) -> Parse<QasmStmtKind> {
        let mut modifiers = Vec::new();
        while let Some(word) = self.word() {
            let start = self.token.span;
            if !matches!(word, Keyword::Inv | Keyword::Pow | Keyword::Ctrl | Keyword::Negctrl) {
                break;
            }
            self.bump();
            let opening = self.token;
            let argument = if self.eat(Sign::LParen) {
                let argument = self.expr()?;
                self.expect(Sign::RParen)?;
                Some(argument)
            } else {
                None
            };
            let kind = match (word, argument) {
                (Keyword::Inv, None) => ModifierKind::Inv,
                (Keyword::Pow, Some(exponent)) => ModifierKind::Pow(exponent),
                (Keyword::Ctrl, count) => ModifierKind::Ctrl(count),
                (Keyword::Negctrl, count) => ModifierKind::Negctrl(count),
                (Keyword::Pow, None) => return self.expected("an exponent in parentheses"),
                _ => {
                    self.token = opening;
                    return self.expected("`@`");
                }
            };
            let span = QasmSpan::new(start.start, self.last_end);
            modifiers.push(Modifier { span, kind });
            self.expect(Sign::At)?;
            if modifiers.len() > super::MAX_DEPTH {
                return self.expected("fewer modifiers");
            }
        }
        let name = self.ident("a gate")?;
        self.call(modifiers.into(), name)
    }

    /// Parses the rest of a gate call, after the name of the gate.
    pub(super) fn call(&mut self, modifiers: Box<[Modifier]>, name: Ident) -> Parse<QasmStmtKind> {
        let (mut args, mut least) = (Box::default(), 1);
        if self.eat(Sign::LParen) {
            args = self.list(Sign::RParen, Self::argument_of_call)?;
            self.expect(Sign::RParen)?;
            least = 0;
        }
        let mut timed = false;
        if self.is_sign(Sign::LBracket) {
            self.index()?;
            timed = true;
        }
        if least == 0 && modifiers.is_empty() && !timed && self.operator_follows() {
            let span = QasmSpan::new(name.span.start, self.last_end);
            let call = QasmExpr { span, kind: QasmExprKind::Call(name, args) };
            return self.expr_statement_from(call);
        }
        let operands = self.operands(least)?;
        self.semicolon()?;
        Ok(QasmStmtKind::Call(Box::new(GateCall { modifiers, name, args, operands, timed })))
    }

    /// Parses an argument of a gate. A sign alone is Qiskit's name of a state that a gate prepares.
    fn argument_of_call(&mut self) -> Parse<QasmExpr> {
        let sign = self.is_sign(Sign::Plus) || self.is_sign(Sign::Minus);
        if sign && (self.next_is(Sign::Comma) || self.next_is(Sign::RParen)) {
            return Ok(QasmExpr { span: self.bump().span, kind: QasmExprKind::Label });
        }
        self.expr()
    }
}
