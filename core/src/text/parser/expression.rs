//! Parsing of expressions.

use crate::{adjoint::Transform, ir::Compare, staging::Operator};

use super::super::{
    ast::{Expr, ExprKind, Name, Span, Transformed},
    error::TextErrorKind,
    lexer::{BELOW, MOST, Token, error},
};
use super::{Parsed, Parser};

/// Tokens that are expected after `f::`.
const TRANSFORMS: &str =
    "`grad`, `value_and_grad`, `jvp`, `vjp`, `hessian` or `matrix_function` behind `::`";

/// Returns the transform for `grad(f)` or `jvp(grad(f))` as a callee.
fn transformed(e: &Expr) -> Option<Transformed> {
    let (mut transforms, mut inner) = (Vec::new(), e);
    loop {
        match &inner.kind {
            ExprKind::Call(name, args) => {
                transforms.push(Transform::by_name(&name.text)?);
                let [one] = args.as_slice() else { return None };
                inner = one;
            }
            ExprKind::Name(function) if !transforms.is_empty() => {
                transforms.reverse();
                let function = Name { text: function.clone(), span: inner.span };
                return Some(Transformed { transforms, function, span: e.span });
            }
            _ => return None,
        }
    }
}

impl Parser {
    /// Parses an expression before a block.
    pub(super) fn condition(&mut self) -> Parsed<Expr> {
        let plain = std::mem::replace(&mut self.plain, true);
        let value = self.expr();
        self.plain = plain;
        value
    }

    /// Parses an expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.logic("||", |p| p.logic("&&", Parser::comparison)))
    }

    /// Parses `a && b && …`, or a chain of `||`.
    fn logic(&mut self, mark: &str, operand: impl Fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let first = operand(self)?;
        let mut more = Vec::new();
        while self.is(mark) {
            let span = self.next().1;
            more.push((mark == "&&", span, operand(self)?));
        }
        if more.is_empty() {
            return Ok(first);
        }
        Ok(Expr { span: first.span, kind: ExprKind::Logic(Box::new(first), more) })
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let compared = self.chain(0)?;
        match self.operator(0) {
            Some(_) => self.unexpected("`&&`: comparisons are not chained"),
            None => Ok(compared),
        }
    }

    /// Parses operators of the given precedence: comparisons, sums, products. At most one
    /// comparison.
    fn chain(&mut self, rank: usize) -> Parsed<Expr> {
        if rank == 3 {
            return self.unary();
        }
        let first = self.chain(rank + 1)?;
        let mut more = Vec::new();
        while let Some(op) = self.operator(rank) {
            let span = self.next().1;
            more.push((op, span, self.chain(rank + 1)?));
            if rank == 0 {
                break;
            }
        }
        if more.is_empty() {
            return Ok(first);
        }
        Ok(Expr { span: first.span, kind: ExprKind::Chain(Box::new(first), more) })
    }

    fn operator(&self, rank: usize) -> Option<Operator> {
        let Token::Mark(mark) = self.peek() else { return None };
        Some(match (rank, *mark) {
            (0, "<") => Operator::Compare(Compare::Lt),
            (0, "<=") => Operator::Compare(Compare::Le),
            (0, ">") => Operator::Compare(Compare::Gt),
            (0, ">=") => Operator::Compare(Compare::Ge),
            (0, "==") => Operator::Compare(Compare::Eq),
            (0, "!=") => Operator::Compare(Compare::Ne),
            (1, "+") => Operator::Add,
            (1, "-") => Operator::Sub,
            (2, "*") => Operator::Mul,
            (2, "/") => Operator::Div,
            (2, "%") => Operator::Rem,
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        if self.eat("-") {
            if *self.peek() == Token::Int(MOST) {
                self.next();
                return Ok(Expr { span, kind: ExprKind::Int(i64::MIN) });
            }
            let e = self.nested(Parser::unary)?;
            return Ok(Expr { span, kind: ExprKind::Neg(Box::new(e)) });
        }
        if self.eat("!") {
            let e = self.nested(Parser::unary)?;
            return Ok(Expr { span, kind: ExprKind::Not(Box::new(e)) });
        }
        // Syntax of Rust; values are immutable.
        if self.eat("&") {
            return self.nested(Parser::unary);
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        self.growing(Parser::links)
    }

    /// Parses `x`, `x[i]`, `x.y`, `x.f(y)`, …
    fn links(&mut self) -> Parsed<Expr> {
        let mut e = self.atom()?;
        loop {
            if self.is("[") || self.is(".") {
                self.grow()?;
            }
            if self.is("(")
                && let Some(transformed) = transformed(&e)
            {
                self.next();
                self.grow()?;
                let args = self.free(|p| p.list(")", Parser::expr))?;
                e = Expr { span: e.span, kind: ExprKind::Apply(transformed, args) };
                continue;
            }
            if self.eat("[") {
                let index = self.free(Parser::expr)?;
                if self.eat(",") {
                    let more = self.free(|p| p.list("]", Parser::expr))?;
                    let indices = std::iter::once(index).chain(more).collect();
                    e = Expr { span: e.span, kind: ExprKind::Element(Box::new(e), indices) };
                    continue;
                }
                self.expect("]")?;
                let span = e.span;
                let kind = match index.kind {
                    // `xs[(i, j)]`, as in Rust.
                    ExprKind::Tuple(indices) if indices.len() > 1 => {
                        ExprKind::Element(Box::new(e), indices)
                    }
                    _ => ExprKind::Index(Box::new(e), Box::new(index)),
                };
                e = Expr { span, kind };
            } else if self.eat(".") {
                if let Token::Int(k) = *self.peek() {
                    let span = self.next().1;
                    let Ok(k) = usize::try_from(k) else {
                        return self.unexpected("the number of a field");
                    };
                    e = Expr { span, kind: ExprKind::TupleField(Box::new(e), k) };
                    continue;
                }
                let name = self.name("a field or a function")?;
                if self.eat("(") {
                    let more = self.free(|p| p.list(")", Parser::expr))?;
                    let args = std::iter::once(e).chain(more).collect();
                    e = Expr { span: name.span, kind: ExprKind::Call(name, args) };
                } else {
                    e = Expr { span: name.span, kind: ExprKind::Field(Box::new(e), name) };
                }
            } else {
                return Ok(e);
            }
        }
    }

    /// Parses inside brackets, where structs are allowed again.
    fn free<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let plain = std::mem::replace(&mut self.plain, false);
        let result = f(self);
        self.plain = plain;
        result
    }

    /// Parses an expression that needs no brackets.
    pub(super) fn atom(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Int(n) => {
                self.next();
                let Ok(n) = i64::try_from(n) else {
                    let (given, expected) = (n.to_string(), BELOW);
                    return Err(error(span, TextErrorKind::Number { given, expected }));
                };
                ExprKind::Int(n)
            }
            Token::Real(x) => {
                self.next();
                ExprKind::Real(x)
            }
            Token::Mark("(") => {
                self.next();
                let mut items = Vec::new();
                let mut tuple = self.is(")");
                self.free(|p| {
                    while !p.eat(")") {
                        items.push(p.expr()?);
                        if p.eat(",") {
                            tuple = true;
                        } else {
                            p.expect(")")?;
                            break;
                        }
                    }
                    Ok(())
                })?;
                if !tuple && let Some(one) = items.pop() {
                    return Ok(one);
                }
                ExprKind::Tuple(items)
            }
            Token::Mark("[") => {
                self.next();
                return self.free(|p| p.array(span));
            }
            Token::Mark("{") => ExprKind::Block(self.block()?),
            Token::Name(name) => match name.as_str() {
                "true" | "false" => {
                    self.next();
                    ExprKind::Bool(name == "true")
                }
                "none" => {
                    self.next();
                    ExprKind::None
                }
                "if" => self.if_else()?,
                _ => {
                    let name = self.name("an expression")?;
                    if self.eat("(") {
                        let args = self.free(|p| p.list(")", Parser::expr))?;
                        ExprKind::Call(name, args)
                    } else if self.is("::") {
                        self.path(name)?
                    } else if self.is("{") && !self.plain {
                        self.next();
                        let fields = self.list("}", |p| {
                            let field = p.name("the name of a field")?;
                            let value = if p.eat(":") {
                                p.expr()?
                            } else {
                                Expr { span: field.span, kind: ExprKind::Name(field.text.clone()) }
                            };
                            Ok((field, value))
                        })?;
                        ExprKind::Struct(name, fields)
                    } else {
                        ExprKind::Name(name.text)
                    }
                }
            },
            _ => return self.unexpected("an expression"),
        };
        Ok(Expr { span, kind })
    }

    /// Parses `f::grad(x)`, after `f`.
    fn path(&mut self, function: Name) -> Parsed<ExprKind> {
        let (mut transforms, span) = (Vec::new(), function.span);
        while self.eat("::") {
            let Token::Name(name) = self.peek() else { return self.unexpected(TRANSFORMS) };
            let Some(transform) = Transform::by_name(name) else {
                return self.unexpected(TRANSFORMS);
            };
            self.next();
            transforms.push(transform);
        }
        self.expect("(")?;
        let args = self.free(|p| p.list(")", Parser::expr))?;
        Ok(ExprKind::Apply(Transformed { transforms, function, span }, args))
    }

    fn array(&mut self, span: Span) -> Parsed<Expr> {
        if self.eat("]") {
            return Ok(Expr { span, kind: ExprKind::Array(vec![]) });
        }
        let first = self.expr()?;
        if self.eat(";") {
            let n = self.expr()?;
            self.expect("]")?;
            return Ok(Expr { span, kind: ExprKind::Repeat(Box::new(first), Box::new(n)) });
        }
        let mut items = vec![first];
        if self.eat(",") {
            items.extend(self.list("]", Parser::expr)?);
        } else {
            self.expect("]")?;
        }
        Ok(Expr { span, kind: ExprKind::Array(items) })
    }

    fn if_else(&mut self) -> Parsed<ExprKind> {
        let mut arms = Vec::new();
        loop {
            self.next();
            let condition = self.condition()?;
            arms.push((condition, self.block()?));
            if !self.eat_word("else") {
                return Ok(ExprKind::If(arms, None));
            }
            if !self.is_word("if") {
                return Ok(ExprKind::If(arms, Some(self.block()?)));
            }
        }
    }
}
