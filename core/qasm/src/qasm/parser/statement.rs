//! Statements: gates, measurements and those that begin with a keyword.

use super::{ErrorReported, Parse, QasmParser};
use crate::qasm::{
    Version,
    ast::{
        Assignment, BinaryOp, Conditional, GateDef, Ident, Keyword, OperandBase, QasmExpr,
        QasmExprKind, QasmOperand, QasmSpan, QasmStmt, QasmStmtKind, Select, UnaryOp,
    },
    diagnostic::QasmProblem,
    lexer::{QasmTokenKind, Sign},
};

impl QasmParser<'_> {
    pub(super) fn statement(&mut self) -> Parse<QasmStmt> {
        let start = self.token.span.start;
        let first = self.token;
        let before = self.errors.len();
        let kind = self.statement_kind();
        if kind.is_err() && self.version == Version::V2 && self.errors.len() > before {
            self.hint_at_version(first.kind);
        }
        Ok(QasmStmt { span: QasmSpan::new(start, self.last_end), kind: kind? })
    }

    /// Adds a note to an error in a statement of OpenQASM 3 within a file of OpenQASM 2.
    fn hint_at_version(&mut self, first: QasmTokenKind) {
        let modern =
            matches!(first, QasmTokenKind::Name(s) if s.word().is_some_and(|w| !w.is_old()));
        if let (true, Some(error)) = (modern, self.errors.last_mut()) {
            error.help =
                Some("this is OpenQASM 3, but the file says 2.0: change the first line".to_owned());
        }
    }

    fn statement_kind(&mut self) -> Parse<QasmStmtKind> {
        match self.token.kind {
            QasmTokenKind::Pragma => return Ok(self.pragma()),
            QasmTokenKind::Annotation => {
                self.bump();
                return Ok(QasmStmtKind::Annotation);
            }
            QasmTokenKind::Sign(Sign::Semi) => {
                self.bump();
                return Ok(QasmStmtKind::Empty);
            }
            QasmTokenKind::Sign(Sign::LBrace) => return self.block().map(QasmStmtKind::Block),
            QasmTokenKind::Name(_) | QasmTokenKind::Hardware => {}
            QasmTokenKind::Sign(Sign::Minus | Sign::Bang | Sign::Tilde | Sign::LParen) => {
                return self.expr_statement();
            }
            QasmTokenKind::Int | QasmTokenKind::Float if self.version == Version::V3 => {
                return self.expr_statement();
            }
            _ => return self.expected("a statement"),
        }
        match self.word() {
            Some(word) => self.keyword(word),
            None => self.named_statement(),
        }
    }

    fn keyword(&mut self, word: Keyword) -> Parse<QasmStmtKind> {
        match word {
            Keyword::Gate => self.gate(),
            Keyword::Inv | Keyword::Pow | Keyword::Ctrl | Keyword::Negctrl => self.modified_call(),
            Keyword::Measure => {
                self.bump();
                let qubits = self.operand()?;
                let bits = if self.eat(Sign::Arrow) { Some(self.operand()?) } else { None };
                self.semicolon()?;
                Ok(QasmStmtKind::Measure(Box::new((qubits, bits))))
            }
            Keyword::Barrier | Keyword::Nop => {
                self.bump();
                let operands = self.operands(0)?;
                self.semicolon()?;
                Ok(if word == Keyword::Barrier {
                    QasmStmtKind::Barrier(operands)
                } else {
                    QasmStmtKind::Nop
                })
            }
            Keyword::Reset => {
                self.bump();
                let operand = self.operand()?;
                self.semicolon()?;
                Ok(QasmStmtKind::Reset(Box::new(operand)))
            }
            Keyword::Qreg | Keyword::Creg => {
                self.bump();
                let name = self.ident("the name of a register")?;
                let size = self.designator()?;
                self.semicolon()?;
                Ok(if word == Keyword::Qreg {
                    QasmStmtKind::Qreg(name, size)
                } else {
                    QasmStmtKind::Creg(name, size)
                })
            }
            Keyword::Include => {
                self.bump();
                if !self.is(QasmTokenKind::Text) {
                    return self.expected("the name of a file in quotes");
                }
                let name = self.string()?;
                self.semicolon()?;
                Ok(QasmStmtKind::Include(name))
            }
            Keyword::Openqasm => {
                self.bump();
                self.bump();
                self.semicolon()?;
                Ok(QasmStmtKind::Header)
            }
            Keyword::Opaque => self.opaque(),
            Keyword::If => self.conditional(),
            _ => self.classical(word),
        }
    }

    /// Parses `{ … }`, and continues after errors within.
    pub(super) fn block(&mut self) -> Parse<Box<[QasmStmt]>> {
        self.deeper(|p| {
            let open = p.expect(Sign::LBrace)?;
            let mut statements = Vec::new();
            loop {
                if p.stopped() {
                    return Err(ErrorReported);
                }
                if p.eat(Sign::RBrace) {
                    return Ok(statements.into());
                }
                if p.is(QasmTokenKind::End) {
                    p.error_at(QasmProblem::Unclosed { open: '{' }, open);
                    return Err(ErrorReported);
                }
                match p.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(ErrorReported) => p.recover(),
                }
            }
        })
    }

    /// Parses a block, or one statement in its place.
    pub(super) fn body(&mut self) -> Parse<Box<[QasmStmt]>> {
        if self.is_sign(Sign::LBrace) {
            return self.block();
        }
        self.deeper(|p| Ok(Box::new([p.statement()?]) as Box<[QasmStmt]>))
    }

    fn conditional(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        self.expect(Sign::LParen)?;
        self.is_bitwise = true;
        let condition = self.expr();
        self.is_bitwise = false;
        let condition = condition?;
        self.expect(Sign::RParen)?;
        let then = self.body()?;
        let otherwise = if self.is_word(Keyword::Else) {
            self.bump();
            Some(self.body()?)
        } else {
            None
        };
        Ok(QasmStmtKind::If(Box::new(Conditional { condition, then, otherwise })))
    }

    fn gate(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        let name = self.ident("the name of a gate")?;
        let params = self.gate_params()?;
        let qubits = self.list(Sign::LBrace, |p| p.ident("a qubit"))?;
        if !self.is_sign(Sign::LBrace) {
            return self.expected("`{`");
        }
        let body = Some(self.block()?);
        Ok(QasmStmtKind::Gate(Box::new(GateDef { name, params, qubits, body })))
    }

    fn gate_params(&mut self) -> Parse<Box<[Ident]>> {
        if !self.eat(Sign::LParen) {
            return Ok(Box::default());
        }
        let params = self.list(Sign::RParen, |p| p.ident("a parameter"))?;
        self.expect(Sign::RParen)?;
        Ok(params)
    }

    fn opaque(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        let name = self.ident("the name of a gate")?;
        let params = self.gate_params()?;
        let qubits = self.list(Sign::Semi, |p| p.ident("a qubit"))?;
        self.semicolon()?;
        Ok(QasmStmtKind::Gate(Box::new(GateDef { name, params, qubits, body: None })))
    }

    /// Parses a gate call or an assignment, which tket writes in OpenQASM 2, too.
    fn named_statement(&mut self) -> Parse<QasmStmtKind> {
        if self.is(QasmTokenKind::Hardware) {
            return self.expected("a statement");
        }
        let name = self.ident("a statement")?;
        let modern = self.version == Version::V3;
        // `qubit[2] q;` in OpenQASM 2 is an error about `qubit`.
        let is_old = name.symbol.word().is_none_or(|word| word.is_old());
        if (modern || is_old) && self.is_sign(Sign::LBracket) {
            let target = self.operand_of(name)?;
            if self.assignment_sign().is_some() {
                return self.assignment(target);
            }
            if modern && (self.operator_follows() || self.is_sign(Sign::Semi)) {
                return self.expr_statement_from(as_expr(&target));
            }
            if modern && matches!(self.token.kind, QasmTokenKind::Name(_) | QasmTokenKind::Hardware)
            {
                // A gate with a duration, `x[100ns] q`: the brackets are skipped.
                let mut kind = self.call(Box::default(), name)?;
                if let QasmStmtKind::Call(call) = &mut kind {
                    call.timed = true;
                }
                return Ok(kind);
            }
            return self.expected("`=`");
        }
        if self.assignment_sign().is_some() {
            let target =
                QasmOperand { span: name.span, base: OperandBase::Name(name), select: Select::All };
            return self.assignment(target);
        }
        if modern && (self.operator_follows() || self.is_sign(Sign::Semi)) {
            let kind = QasmExprKind::Name(name.symbol);
            return self.expr_statement_from(QasmExpr { span: name.span, kind });
        }
        self.call(Box::default(), name)
    }

    /// Returns the operator in the sign of an assignment, if it is one.
    fn assignment_sign(&self) -> Option<Compound> {
        let QasmTokenKind::Sign(sign) = self.token.kind else { return None };
        Some(match sign {
            Sign::Assign => Compound::None,
            Sign::AddAssign => Compound::Chain(BinaryOp::Add),
            Sign::SubAssign => Compound::Chain(BinaryOp::Sub),
            Sign::MulAssign => Compound::Chain(BinaryOp::Mul),
            Sign::DivAssign => Compound::Chain(BinaryOp::Div),
            Sign::RemAssign => Compound::Chain(BinaryOp::Rem),
            Sign::AndAssign => Compound::Chain(BinaryOp::BitAnd),
            Sign::OrAssign => Compound::Chain(BinaryOp::BitOr),
            Sign::XorAssign => Compound::Chain(BinaryOp::BitXor),
            Sign::ShlAssign => Compound::Chain(BinaryOp::Shl),
            Sign::ShrAssign => Compound::Chain(BinaryOp::Shr),
            Sign::InvertAssign => Compound::Invert,
            Sign::PowerAssign => Compound::Power,
            _ => return None,
        })
    }

    /// `target = value`, or `target += value`, which is `target = target + value`.
    fn assignment(&mut self, target: QasmOperand) -> Parse<QasmStmtKind> {
        let compound = self.assignment_sign().unwrap_or(Compound::None);
        self.bump();
        self.is_bitwise = true;
        let value = self.expr();
        self.is_bitwise = false;
        let value = value?;
        self.semicolon()?;
        let whole = target.span.to(value.span);
        let kind = match compound {
            Compound::None => {
                return Ok(QasmStmtKind::Assign(Box::new(Assignment { target, value })));
            }
            Compound::Chain(op) => {
                QasmExprKind::Chain(Box::new(as_expr(&target)), vec![(op, value)])
            }
            Compound::Power => QasmExprKind::Power(Box::new([as_expr(&target), value])),
            Compound::Invert => QasmExprKind::Unary(UnaryOp::Invert, Box::new(value)),
        };
        let value = QasmExpr { span: whole, kind };
        Ok(QasmStmtKind::Assign(Box::new(Assignment { target, value })))
    }

    pub(super) fn expr_statement(&mut self) -> Parse<QasmStmtKind> {
        let expr = self.expr()?;
        self.semicolon()?;
        Ok(QasmStmtKind::Expr(Box::new(expr)))
    }

    /// Parses an expression as a statement, from what follows its first operand.
    pub(super) fn expr_statement_from(&mut self, first: QasmExpr) -> Parse<QasmStmtKind> {
        let expr = self.expr_from(first)?;
        self.semicolon()?;
        Ok(QasmStmtKind::Expr(Box::new(expr)))
    }
}

/// Operator before the `=` of a compound assignment.
#[derive(Clone, Copy)]
enum Compound {
    None,
    Chain(BinaryOp),
    Power,
    /// `a ~= b` is `a = ~b`.
    Invert,
}

/// An operand as an expression.
fn as_expr(operand: &QasmOperand) -> QasmExpr {
    let span = operand.span;
    let mut expr = match operand.base {
        OperandBase::Name(name) => {
            QasmExpr { span: name.span, kind: QasmExprKind::Name(name.symbol) }
        }
        OperandBase::Hardware(_) => QasmExpr { span, kind: QasmExprKind::Hardware },
    };
    for index in operand.parts() {
        expr = QasmExpr { span, kind: QasmExprKind::Index(Box::new(expr), index) };
    }
    expr
}
