//! Types, declarations and the control flow of OpenQASM 3.

use std::rc::Rc;

use super::{ErrorReported, Parse, QasmParser};
use crate::qasm::{
    ast::{
        BaseType, Case, Declaration, ForLoop, Ident, Index, Keyword, Parameter, QasmExpr, QasmSpan,
        QasmStmtKind, Subroutine, SwitchCase, Type,
    },
    diagnostic::{Label, QasmProblem},
    lexer::{QasmTokenKind, Sign},
};

/// Limit on the dimensions of an array. OpenQASM has seven.
const MAX_DIMENSIONS: usize = 16;

fn base_type(word: Keyword) -> Option<BaseType> {
    Some(match word {
        Keyword::Qubit => BaseType::Qubit,
        Keyword::Bit => BaseType::Bit,
        Keyword::Bool => BaseType::Bool,
        Keyword::Int => BaseType::Int,
        Keyword::Uint => BaseType::Uint,
        Keyword::Float => BaseType::Float,
        Keyword::Angle => BaseType::Angle,
        Keyword::Complex => BaseType::Complex,
        Keyword::Duration => BaseType::Duration,
        Keyword::Stretch => BaseType::Stretch,
        _ => return None,
    })
}

impl QasmParser<'_> {
    /// Returns true if a type begins here.
    pub(super) fn is_type(&self) -> bool {
        self.word().is_some_and(|w| w == Keyword::Array || base_type(w).is_some())
    }

    /// Parses `[n]`, if it is present.
    pub(super) fn designator(&mut self) -> Parse<Option<QasmExpr>> {
        if !self.eat(Sign::LBracket) {
            return Ok(None);
        }
        let size = self.expr()?;
        self.expect(Sign::RBracket)?;
        Ok(Some(size))
    }

    pub(super) fn ty(&mut self) -> Parse<Type> {
        let (ty, rank) = self.type_of_any_sizes()?;
        if rank.is_some() {
            let expected =
                "the sizes of an array; `#dim` is for parameters of subroutines".to_owned();
            self.error_at(QasmProblem::Expected { expected, given: "`#dim`".to_owned() }, ty.span);
            return Err(ErrorReported);
        }
        Ok(ty)
    }

    /// A type, and for an array of any sizes the number of its axes.
    fn type_of_any_sizes(&mut self) -> Parse<(Type, Option<QasmExpr>)> {
        let mut span = self.token.span;
        let word = self.word();
        if word == Some(Keyword::Array) {
            self.bump();
            self.expect(Sign::LBracket)?;
            let mut ty = self.deeper(Self::ty)?;
            let (mut dims, mut rank) = (Vec::new(), None);
            while self.eat(Sign::Comma) {
                if !dims.is_empty() && self.is_sign(Sign::RBracket) {
                    break;
                }
                if dims.is_empty() && self.eat(Sign::Hash) {
                    self.ident("`dim`")?;
                    self.expect(Sign::Assign)?;
                    rank = Some(self.expr()?);
                    break;
                }
                if dims.len() == MAX_DIMENSIONS {
                    return self.expected("at most 16 dimensions");
                }
                dims.push(self.expr()?);
            }
            self.expect(Sign::RBracket)?;
            span.end = self.last_end;
            ty.dims = Some(dims.into());
            ty.span = span;
            return Ok((ty, rank));
        }
        let Some(base) = word.and_then(base_type) else { return self.expected("a type") };
        self.bump();
        let mut size = None;
        if base == BaseType::Complex {
            if self.eat(Sign::LBracket) {
                self.deeper(Self::ty)?;
                self.expect(Sign::RBracket)?;
            }
        } else if self.is_sign(Sign::LBracket) {
            size = self.designator()?;
        }
        span.end = self.last_end;
        Ok((Type { span, base, size, dims: None }, None))
    }

    fn declaration(&mut self) -> Parse<Box<Declaration>> {
        let ty = self.ty()?;
        self.declaration_of(ty)
    }

    fn declaration_of(&mut self, ty: Type) -> Parse<Box<Declaration>> {
        let name = self.ident("a name")?;
        let value = if self.eat(Sign::Assign) { Some(self.expr()?) } else { None };
        self.semicolon()?;
        Ok(Box::new(Declaration { ty, name, value }))
    }

    /// A statement that begins with a word of OpenQASM 3.
    pub(super) fn classical(&mut self, word: Keyword) -> Parse<QasmStmtKind> {
        match word {
            Keyword::Input => self.after(Self::declaration).map(QasmStmtKind::Input),
            Keyword::Output => self.after(Self::declaration).map(QasmStmtKind::Output),
            Keyword::Const => self.after(Self::declaration).map(QasmStmtKind::Const),
            Keyword::Let => {
                self.bump();
                let name = self.ident("a name")?;
                self.expect(Sign::Assign)?;
                let value = self.expr()?;
                self.semicolon()?;
                Ok(QasmStmtKind::Let(name, Box::new(value)))
            }
            Keyword::For => self.for_loop(),
            Keyword::While => {
                self.bump();
                self.expect(Sign::LParen)?;
                let condition = self.expr()?;
                self.expect(Sign::RParen)?;
                Ok(QasmStmtKind::While(Box::new((condition, self.body()?))))
            }
            Keyword::Switch => self.switch(),
            Keyword::Def => self.subroutine(),
            Keyword::Extern => self.external(),
            Keyword::Return => {
                self.bump();
                let value =
                    if self.is_sign(Sign::Semi) { None } else { Some(Box::new(self.expr()?)) };
                self.semicolon()?;
                Ok(QasmStmtKind::Return(value))
            }
            Keyword::Break => self.lone(QasmStmtKind::Break),
            Keyword::Continue => self.lone(QasmStmtKind::Continue),
            Keyword::End => self.lone(QasmStmtKind::End),
            Keyword::Box => {
                self.bump();
                self.designator()?;
                self.block().map(QasmStmtKind::Box)
            }
            Keyword::Delay => {
                self.bump();
                let Some(length) = self.designator()? else {
                    return self.expected("a duration in brackets");
                };
                let operands = self.operands(0)?;
                self.semicolon()?;
                Ok(QasmStmtKind::Delay(Box::new((length, operands))))
            }
            Keyword::Cal => {
                self.bump();
                self.raw_block().map(QasmStmtKind::Cal)
            }
            Keyword::Defcal => {
                self.bump();
                self.calibration()
            }
            Keyword::Defcalgrammar => {
                self.bump();
                if !self.is(QasmTokenKind::Text) {
                    return self.expected("the name of a grammar in quotes");
                }
                self.lone(QasmStmtKind::Defcalgrammar)
            }
            Keyword::Durationof => self.expr_statement(),
            _ if self.is_type() => {
                let ty = self.ty()?;
                if self.is_sign(Sign::LParen) {
                    let cast = self.cast_to(ty)?;
                    return self.expr_statement_from(cast);
                }
                self.declaration_of(ty).map(QasmStmtKind::Declare)
            }
            _ => self.expected("a statement"),
        }
    }

    fn after<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.bump();
        f(self)
    }

    fn lone(&mut self, kind: QasmStmtKind) -> Parse<QasmStmtKind> {
        self.bump();
        self.semicolon()?;
        Ok(kind)
    }

    fn for_loop(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        let ty = self.ty()?;
        let name = self.ident("a name")?;
        if !self.is_word(Keyword::In) {
            return self.expected("`in`");
        }
        self.bump();
        let over = if self.eat(Sign::LBracket) {
            let over = self.index_item()?;
            self.expect(Sign::RBracket)?;
            over
        } else if self.is_sign(Sign::LBrace) {
            self.index_item()?
        } else {
            Index::At(self.expr()?)
        };
        Ok(QasmStmtKind::For(Box::new(ForLoop { ty, name, over, body: self.body()? })))
    }

    fn switch(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        self.expect(Sign::LParen)?;
        let subject = self.expr()?;
        self.expect(Sign::RParen)?;
        self.expect(Sign::LBrace)?;
        let mut cases: Vec<Case> = Vec::new();
        let mut default = None;
        loop {
            match self.word() {
                Some(Keyword::Case) => {
                    self.bump();
                    let values = self.list(Sign::LBrace, Self::expr)?;
                    cases.push((values, self.block()?));
                }
                Some(Keyword::Default) => {
                    self.bump();
                    default = Some(self.block()?);
                    break;
                }
                _ => break,
            }
        }
        self.expect(Sign::RBrace)?;
        Ok(QasmStmtKind::Switch(Box::new(SwitchCase { subject, cases: cases.into(), default })))
    }

    fn subroutine(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        let name = self.ident("the name of a subroutine")?;
        self.expect(Sign::LParen)?;
        let params = self.list(Sign::RParen, Self::subroutine_param)?;
        self.expect(Sign::RParen)?;
        let result = if self.eat(Sign::Arrow) { Some(self.ty()?) } else { None };
        let body = self.block()?;
        Ok(QasmStmtKind::Def(Rc::new(Subroutine { name, params, result, body })))
    }

    fn subroutine_param(&mut self) -> Parse<Parameter> {
        let span = self.token.span;
        let mut mutable = false;
        match self.word() {
            Some(word @ (Keyword::Readonly | Keyword::Mutable)) => {
                self.bump();
                mutable = word == Keyword::Mutable;
            }
            Some(word @ (Keyword::Qreg | Keyword::Creg)) => {
                self.bump();
                let name = self.ident("a name")?;
                let size = self.designator()?;
                let base = if word == Keyword::Qreg { BaseType::Qubit } else { BaseType::Bit };
                let ty = Type { span, base, size, dims: None };
                return Ok(Parameter { ty, rank: None, name, mutable });
            }
            _ => {}
        }
        let (ty, rank) = self.type_of_any_sizes()?;
        Ok(Parameter { ty, rank, name: self.ident("a name")?, mutable })
    }

    /// `extern f(int[32], qubit) -> bit;`
    fn external(&mut self) -> Parse<QasmStmtKind> {
        self.bump();
        let name = self.ident("the name of a function")?;
        self.expect(Sign::LParen)?;
        let mut idle = true;
        self.list(Sign::RParen, |p| {
            idle &= !matches!(p.word(), Some(Keyword::Qubit | Keyword::Qreg | Keyword::Mutable));
            if matches!(p.word(), Some(Keyword::Readonly | Keyword::Mutable | Keyword::Creg)) {
                p.bump();
                if p.is_sign(Sign::LBracket) {
                    return p.designator().map(|_| ());
                }
            }
            p.type_of_any_sizes().map(|_| ())
        })?;
        self.expect(Sign::RParen)?;
        if self.eat(Sign::Arrow) {
            self.ty()?;
            idle = false;
        }
        self.semicolon()?;
        Ok(QasmStmtKind::Extern(name, idle))
    }

    /// `defcal name …`
    fn calibration(&mut self) -> Parse<QasmStmtKind> {
        let span = self.token.span;
        let name = match (self.token.kind, self.word()) {
            (QasmTokenKind::Name(symbol), None) => Some(Ident { symbol, span }),
            _ => None,
        };
        self.raw_block().map(|_| QasmStmtKind::Defcal(name))
    }

    /// Skips to the block of a calibration and over it: its text is in another language. Returns
    /// the span of the first pulse that it plays or captures, if it does.
    fn raw_block(&mut self) -> Parse<Option<QasmSpan>> {
        let start = self.last_end;
        let result = self.skip_block();
        // Errors within the block are dropped: a word that is not OpenQASM belongs to the other
        // language.
        let (source, end) = (self.source as usize, self.last_end);
        let within = start as usize..end as usize;
        let foreign = |label: &Label| label.source == source && within.contains(&label.span.start);
        if result.is_ok() {
            self.errors.retain(|error| !error.labels.first().is_some_and(foreign));
        }
        result
    }

    fn skip_block(&mut self) -> Parse<Option<QasmSpan>> {
        while !self.is_sign(Sign::LBrace) {
            if matches!(self.token.kind, QasmTokenKind::End | QasmTokenKind::Sign(Sign::Semi)) {
                return self.expected("`{`");
            }
            self.bump();
        }
        let open = self.token.span;
        let (mut depth, mut pulse) = (0usize, None);
        loop {
            let word = &self.text[self.token.span.range()];
            if self.next_is(Sign::LParen) && (word == "play" || word.starts_with("capture")) {
                pulse.get_or_insert(self.token.span);
            }
            match self.bump().kind {
                QasmTokenKind::Sign(Sign::LBrace) => depth += 1,
                QasmTokenKind::Sign(Sign::RBrace) => depth -= 1,
                QasmTokenKind::End => {
                    self.error_at(QasmProblem::Unclosed { open: '{' }, open);
                    return Err(ErrorReported);
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(pulse);
            }
            if self.stopped() {
                return Err(ErrorReported);
            }
        }
    }
}
