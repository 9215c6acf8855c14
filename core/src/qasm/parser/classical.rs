//! Types, declarations and the control flow of OpenQASM 3.

use std::rc::Rc;

use super::{Parse, Parser, Stop};
use crate::qasm::{
    ast::{
        BaseType, Case, Declaration, Expr, ForLoop, Ident, Index, Parameter, Span, StmtKind,
        Subroutine, SwitchCase, Type, Word,
    },
    diagnostic::{Label, Problem},
    lexer::{Kind, Sign},
};

/// Limit on the dimensions of an array. OpenQASM has seven.
const MAX_DIMENSIONS: usize = 16;

fn base_type(word: Word) -> Option<BaseType> {
    Some(match word {
        Word::Qubit => BaseType::Qubit,
        Word::Bit => BaseType::Bit,
        Word::Bool => BaseType::Bool,
        Word::Int => BaseType::Int,
        Word::Uint => BaseType::Uint,
        Word::Float => BaseType::Float,
        Word::Angle => BaseType::Angle,
        Word::Complex => BaseType::Complex,
        Word::Duration => BaseType::Duration,
        Word::Stretch => BaseType::Stretch,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Returns true if a type begins here.
    pub(super) fn is_type(&self) -> bool {
        self.word().is_some_and(|w| w == Word::Array || base_type(w).is_some())
    }

    /// Parses `[n]`, if it is present.
    pub(super) fn designator(&mut self) -> Parse<Option<Expr>> {
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
            self.error_at(Problem::Expected { expected, given: "`#dim`".to_owned() }, ty.span);
            return Err(Stop);
        }
        Ok(ty)
    }

    /// A type, and for an array of any sizes the number of its axes.
    fn type_of_any_sizes(&mut self) -> Parse<(Type, Option<Expr>)> {
        let mut span = self.token.span;
        let word = self.word();
        if word == Some(Word::Array) {
            self.bump();
            self.expect(Sign::LBracket)?;
            let mut ty = self.deeper(Self::ty)?;
            let (mut dims, mut rank) = (Vec::new(), None);
            while self.eat(Sign::Comma) {
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
        let name = self.ident("a name")?;
        let value = if self.eat(Sign::Assign) { Some(self.expr()?) } else { None };
        self.semicolon()?;
        Ok(Box::new(Declaration { ty, name, value }))
    }

    /// A statement that begins with a word of OpenQASM 3.
    pub(super) fn classical(&mut self, word: Word) -> Parse<StmtKind> {
        match word {
            Word::Input => self.after(Self::declaration).map(StmtKind::Input),
            Word::Output => self.after(Self::declaration).map(StmtKind::Output),
            Word::Const => self.after(Self::declaration).map(StmtKind::Const),
            Word::Let => {
                self.bump();
                let name = self.ident("a name")?;
                self.expect(Sign::Assign)?;
                let value = self.expr()?;
                self.semicolon()?;
                Ok(StmtKind::Let(name, Box::new(value)))
            }
            Word::For => self.for_loop(),
            Word::While => {
                self.bump();
                self.expect(Sign::LParen)?;
                let condition = self.expr()?;
                self.expect(Sign::RParen)?;
                Ok(StmtKind::While(Box::new((condition, self.body()?))))
            }
            Word::Switch => self.switch(),
            Word::Def => self.subroutine(),
            Word::Extern => self.external(),
            Word::Return => {
                self.bump();
                let value =
                    if self.is_sign(Sign::Semi) { None } else { Some(Box::new(self.expr()?)) };
                self.semicolon()?;
                Ok(StmtKind::Return(value))
            }
            Word::Break => self.lone(StmtKind::Break),
            Word::Continue => self.lone(StmtKind::Continue),
            Word::End => self.lone(StmtKind::End),
            Word::Box => {
                self.bump();
                self.designator()?;
                self.block().map(StmtKind::Box)
            }
            Word::Delay => {
                self.bump();
                let Some(length) = self.designator()? else {
                    return self.expected("a duration in brackets");
                };
                let operands = self.operands(0)?;
                self.semicolon()?;
                Ok(StmtKind::Delay(Box::new((length, operands))))
            }
            Word::Cal => {
                self.bump();
                self.raw_block().map(StmtKind::Cal)
            }
            Word::Defcal => {
                self.bump();
                self.calibration()
            }
            Word::Defcalgrammar => {
                self.bump();
                if !self.is(Kind::Text) {
                    return self.expected("the name of a grammar in quotes");
                }
                self.lone(StmtKind::Defcalgrammar)
            }
            Word::Durationof => self.expr_statement(),
            _ if self.is_type() && self.next_is(Sign::LParen) => self.expr_statement(),
            _ if self.is_type() => self.declaration().map(StmtKind::Declare),
            _ => self.expected("a statement"),
        }
    }

    fn after<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.bump();
        f(self)
    }

    fn lone(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        self.bump();
        self.semicolon()?;
        Ok(kind)
    }

    fn for_loop(&mut self) -> Parse<StmtKind> {
        self.bump();
        let ty = self.ty()?;
        let name = self.ident("a name")?;
        if !self.is_word(Word::In) {
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
        Ok(StmtKind::For(Box::new(ForLoop { ty, name, over, body: self.body()? })))
    }

    fn switch(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.expect(Sign::LParen)?;
        let subject = self.expr()?;
        self.expect(Sign::RParen)?;
        self.expect(Sign::LBrace)?;
        let mut cases: Vec<Case> = Vec::new();
        let mut default = None;
        loop {
            match self.word() {
                Some(Word::Case) => {
                    self.bump();
                    let values = self.list(Sign::LBrace, Self::expr)?;
                    cases.push((values, self.block()?));
                }
                Some(Word::Default) => {
                    self.bump();
                    default = Some(self.block()?);
                    break;
                }
                _ => break,
            }
        }
        self.expect(Sign::RBrace)?;
        Ok(StmtKind::Switch(Box::new(SwitchCase { subject, cases: cases.into(), default })))
    }

    fn subroutine(&mut self) -> Parse<StmtKind> {
        self.bump();
        let name = self.ident("the name of a subroutine")?;
        self.expect(Sign::LParen)?;
        let params = self.list(Sign::RParen, Self::subroutine_param)?;
        self.expect(Sign::RParen)?;
        let result = if self.eat(Sign::Arrow) { Some(self.ty()?) } else { None };
        let body = self.block()?;
        Ok(StmtKind::Def(Rc::new(Subroutine { name, params, result, body })))
    }

    fn subroutine_param(&mut self) -> Parse<Parameter> {
        let span = self.token.span;
        let mut mutable = false;
        match self.word() {
            Some(word @ (Word::Readonly | Word::Mutable)) => {
                self.bump();
                mutable = word == Word::Mutable;
            }
            Some(word @ (Word::Qreg | Word::Creg)) => {
                self.bump();
                let name = self.ident("a name")?;
                let size = self.designator()?;
                let base = if word == Word::Qreg { BaseType::Qubit } else { BaseType::Bit };
                let ty = Type { span, base, size, dims: None };
                return Ok(Parameter { ty, rank: None, name, mutable });
            }
            _ => {}
        }
        let (ty, rank) = self.type_of_any_sizes()?;
        Ok(Parameter { ty, rank, name: self.ident("a name")?, mutable })
    }

    /// `extern f(int[32], qubit) -> bit;`
    fn external(&mut self) -> Parse<StmtKind> {
        self.bump();
        let name = self.ident("the name of a function")?;
        self.expect(Sign::LParen)?;
        let mut idle = true;
        self.list(Sign::RParen, |p| {
            idle &= !matches!(p.word(), Some(Word::Qubit | Word::Qreg | Word::Mutable));
            if matches!(p.word(), Some(Word::Readonly | Word::Mutable | Word::Creg)) {
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
        Ok(StmtKind::Extern(name, idle))
    }

    /// `defcal name …`
    fn calibration(&mut self) -> Parse<StmtKind> {
        let span = self.token.span;
        let name = match (self.token.kind, self.word()) {
            (Kind::Name(symbol), None) => Some(Ident { symbol, span }),
            _ => None,
        };
        self.raw_block().map(|_| StmtKind::Defcal(name))
    }

    /// Skips to the block of a calibration and over it: its text is in another language. Returns
    /// the span of the first pulse that it plays or captures, if it does.
    fn raw_block(&mut self) -> Parse<Option<Span>> {
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

    fn skip_block(&mut self) -> Parse<Option<Span>> {
        while !self.is_sign(Sign::LBrace) {
            if matches!(self.token.kind, Kind::End | Kind::Sign(Sign::Semi)) {
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
                Kind::Sign(Sign::LBrace) => depth += 1,
                Kind::Sign(Sign::RBrace) => depth -= 1,
                Kind::End => {
                    self.error_at(Problem::Unclosed { open: '{' }, open);
                    return Err(Stop);
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(pulse);
            }
            if self.stopped() {
                return Err(Stop);
            }
        }
    }
}
