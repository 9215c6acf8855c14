//! Statements: gates, measurements and those that begin with a keyword.

use super::{Parse, Parser, Stop};
use crate::qasm::{
    Version,
    ast::{
        Assignment, Base, BinaryOp, Conditional, Expr, ExprKind, GateDef, Ident, Operand, Select,
        Span, Stmt, StmtKind, UnaryOp, Word,
    },
    diagnostic::Problem,
    lexer::{Kind, Sign},
};

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        let start = self.token.span.start;
        let first = self.token;
        let before = self.errors.len();
        let kind = self.statement_kind();
        if kind.is_err() && self.version == Version::V2 && self.errors.len() > before {
            self.hint_at_version(first.kind);
        }
        Ok(Stmt { span: Span::new(start, self.last_end), kind: kind? })
    }

    /// Adds a note to an error in a statement of OpenQASM 3 within a file of OpenQASM 2.
    fn hint_at_version(&mut self, first: Kind) {
        let modern = matches!(first, Kind::Name(s) if s.word().is_some_and(|w| !w.is_old()));
        if let (true, Some(error)) = (modern, self.errors.last_mut()) {
            error.help =
                Some("this is OpenQASM 3, but the file says 2.0: change the first line".to_owned());
        }
    }

    fn statement_kind(&mut self) -> Parse<StmtKind> {
        match self.token.kind {
            Kind::Pragma => return Ok(self.pragma()),
            Kind::Annotation => {
                self.bump();
                return Ok(StmtKind::Annotation);
            }
            Kind::Sign(Sign::Semi) => {
                self.bump();
                return Ok(StmtKind::Empty);
            }
            Kind::Sign(Sign::LBrace) => return self.block().map(StmtKind::Block),
            Kind::Name(_) | Kind::Hardware => {}
            Kind::Sign(Sign::Minus | Sign::Bang | Sign::Tilde | Sign::LParen) => {
                return self.expr_statement();
            }
            Kind::Int | Kind::Float if self.version == Version::V3 => return self.expr_statement(),
            _ => return self.expected("a statement"),
        }
        match self.word() {
            Some(word) => self.keyword(word),
            None => self.named_statement(),
        }
    }

    fn keyword(&mut self, word: Word) -> Parse<StmtKind> {
        match word {
            Word::Gate => self.gate(),
            Word::Inv | Word::Pow | Word::Ctrl | Word::Negctrl => self.modified_call(),
            Word::Measure => {
                self.bump();
                let qubits = self.operand()?;
                let bits = if self.eat(Sign::Arrow) { Some(self.operand()?) } else { None };
                self.semicolon()?;
                Ok(StmtKind::Measure(Box::new((qubits, bits))))
            }
            Word::Barrier | Word::Nop => {
                self.bump();
                let operands = self.operands(0)?;
                self.semicolon()?;
                Ok(if word == Word::Barrier { StmtKind::Barrier(operands) } else { StmtKind::Nop })
            }
            Word::Reset => {
                self.bump();
                let operand = self.operand()?;
                self.semicolon()?;
                Ok(StmtKind::Reset(Box::new(operand)))
            }
            Word::Qreg | Word::Creg => {
                self.bump();
                let name = self.ident("the name of a register")?;
                let size = self.designator()?;
                self.semicolon()?;
                Ok(if word == Word::Qreg {
                    StmtKind::Qreg(name, size)
                } else {
                    StmtKind::Creg(name, size)
                })
            }
            Word::Include => {
                self.bump();
                if !self.is(Kind::Text) {
                    return self.expected("the name of a file in quotes");
                }
                let name = self.string()?;
                self.semicolon()?;
                Ok(StmtKind::Include(name))
            }
            Word::Openqasm => {
                self.bump();
                self.bump();
                self.semicolon()?;
                Ok(StmtKind::Header)
            }
            Word::Opaque => self.opaque(),
            Word::If => self.conditional(),
            _ => self.classical(word),
        }
    }

    /// Parses `{ … }`, and continues after errors within.
    pub(super) fn block(&mut self) -> Parse<Box<[Stmt]>> {
        self.deeper(|p| {
            let open = p.expect(Sign::LBrace)?;
            let mut statements = Vec::new();
            loop {
                if p.stopped() {
                    return Err(Stop);
                }
                if p.eat(Sign::RBrace) {
                    return Ok(statements.into());
                }
                if p.is(Kind::End) {
                    p.error_at(Problem::Unclosed { open: '{' }, open);
                    return Err(Stop);
                }
                match p.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(Stop) => p.recover(),
                }
            }
        })
    }

    /// Parses a block, or one statement in its place.
    pub(super) fn body(&mut self) -> Parse<Box<[Stmt]>> {
        if self.is_sign(Sign::LBrace) {
            return self.block();
        }
        self.deeper(|p| Ok(Box::new([p.statement()?]) as Box<[Stmt]>))
    }

    fn conditional(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.expect(Sign::LParen)?;
        self.is_bitwise = true;
        let condition = self.expr();
        self.is_bitwise = false;
        let condition = condition?;
        self.expect(Sign::RParen)?;
        let then = self.body()?;
        let otherwise = if self.is_word(Word::Else) {
            self.bump();
            Some(self.body()?)
        } else {
            None
        };
        Ok(StmtKind::If(Box::new(Conditional { condition, then, otherwise })))
    }

    fn gate(&mut self) -> Parse<StmtKind> {
        self.bump();
        let name = self.ident("the name of a gate")?;
        let params = self.gate_params()?;
        let qubits = self.list(Sign::LBrace, |p| p.ident("a qubit"))?;
        if !self.is_sign(Sign::LBrace) {
            return self.expected("`{`");
        }
        let body = Some(self.block()?);
        Ok(StmtKind::Gate(Box::new(GateDef { name, params, qubits, body })))
    }

    fn gate_params(&mut self) -> Parse<Box<[Ident]>> {
        if !self.eat(Sign::LParen) {
            return Ok(Box::default());
        }
        let params = self.list(Sign::RParen, |p| p.ident("a parameter"))?;
        self.expect(Sign::RParen)?;
        Ok(params)
    }

    fn opaque(&mut self) -> Parse<StmtKind> {
        self.bump();
        let name = self.ident("the name of a gate")?;
        let params = self.gate_params()?;
        let qubits = self.list(Sign::Semi, |p| p.ident("a qubit"))?;
        self.semicolon()?;
        Ok(StmtKind::Gate(Box::new(GateDef { name, params, qubits, body: None })))
    }

    /// Parses a gate call or an assignment, which tket writes in OpenQASM 2, too.
    fn named_statement(&mut self) -> Parse<StmtKind> {
        if self.is(Kind::Hardware) {
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
            if modern && matches!(self.token.kind, Kind::Name(_) | Kind::Hardware) {
                // A gate with a duration, `x[100ns] q`: the brackets are skipped.
                let mut kind = self.call(Box::default(), name)?;
                if let StmtKind::Call(call) = &mut kind {
                    call.timed = true;
                }
                return Ok(kind);
            }
            return self.expected("`=`");
        }
        if self.assignment_sign().is_some() {
            let target = Operand { span: name.span, base: Base::Name(name), select: Select::All };
            return self.assignment(target);
        }
        if modern && self.is_sign(Sign::Semi) {
            self.bump();
            return Ok(StmtKind::Expr);
        }
        self.call(Box::default(), name)
    }

    /// Returns the operator in the sign of an assignment, if it is one.
    fn assignment_sign(&self) -> Option<Compound> {
        let Kind::Sign(sign) = self.token.kind else { return None };
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
    fn assignment(&mut self, target: Operand) -> Parse<StmtKind> {
        let compound = self.assignment_sign().unwrap_or(Compound::None);
        self.bump();
        self.is_bitwise = true;
        let value = self.expr();
        self.is_bitwise = false;
        let value = value?;
        self.semicolon()?;
        let whole = target.span.to(value.span);
        let kind = match compound {
            Compound::None => return Ok(StmtKind::Assign(Box::new(Assignment { target, value }))),
            Compound::Chain(op) => ExprKind::Chain(Box::new(as_expr(&target)), vec![(op, value)]),
            Compound::Power => ExprKind::Power(Box::new([as_expr(&target), value])),
            Compound::Invert => ExprKind::Unary(UnaryOp::Invert, Box::new(value)),
        };
        let value = Expr { span: whole, kind };
        Ok(StmtKind::Assign(Box::new(Assignment { target, value })))
    }

    pub(super) fn expr_statement(&mut self) -> Parse<StmtKind> {
        self.expr()?;
        self.semicolon()?;
        Ok(StmtKind::Expr)
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
fn as_expr(operand: &Operand) -> Expr {
    let span = operand.span;
    let mut expr = match operand.base {
        Base::Name(name) => Expr { span: name.span, kind: ExprKind::Name(name.symbol) },
        Base::Hardware(_) => Expr { span, kind: ExprKind::Hardware },
    };
    for index in operand.parts() {
        expr = Expr { span, kind: ExprKind::Index(Box::new(expr), index) };
    }
    expr
}
