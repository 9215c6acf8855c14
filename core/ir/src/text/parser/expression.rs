//! Parsing of expressions.

use crate::{adjoint::Transform, ir::Compare, staging::InfixOperator};

use super::super::{
    ast::{ExprSyntax, ExprSyntaxKind, NameSyntax, TextSpan, Transformed},
    error::TextErrorKind,
    lexer::{BELOW, MOST, TextToken, error},
};
use super::{TextParseResult, TextParser};

/// Tokens that are expected after `f::`.
const TRANSFORMS: &str =
    "`grad`, `value_and_grad`, `jvp`, `vjp`, `hessian` or `matrix_function` after `::`";

/// Returns the transform for `grad(f)` or `jvp(grad(f))` as a callee.
fn transformed(e: &ExprSyntax) -> Option<Transformed> {
    let (mut transforms, mut inner) = (Vec::new(), e);
    loop {
        match &inner.kind {
            ExprSyntaxKind::Call(name, args) => {
                transforms.push(Transform::by_name(&name.text)?);
                let [one] = args.as_slice() else { return None };
                inner = one;
            }
            ExprSyntaxKind::Name(function) if !transforms.is_empty() => {
                transforms.reverse();
                let function = NameSyntax { text: function.clone(), span: inner.span };
                return Some(Transformed { transforms, function, span: e.span });
            }
            _ => return None,
        }
    }
}

impl TextParser<'_> {
    /// Parses an expression before a block.
    pub(super) fn condition(&mut self) -> TextParseResult<ExprSyntax> {
        let plain = std::mem::replace(&mut self.plain, true);
        let value = self.expr();
        self.plain = plain;
        value
    }

    /// Parses an expression.
    pub(super) fn expr(&mut self) -> TextParseResult<ExprSyntax> {
        self.nested(|p| p.logic("||", |p| p.logic("&&", TextParser::comparison)))
    }

    /// Parses `a && b && …`, or a chain of `||`.
    fn logic(
        &mut self,
        mark: &str,
        operand: impl Fn(&mut Self) -> TextParseResult<ExprSyntax>,
    ) -> TextParseResult<ExprSyntax> {
        let first = operand(self)?;
        let mut more = Vec::new();
        while self.is_mark(mark) {
            let span = self.next();
            more.push((mark == "&&", span, operand(self)?));
        }
        if more.is_empty() {
            return Ok(first);
        }
        Ok(ExprSyntax { span: first.span, kind: ExprSyntaxKind::Logic(Box::new(first), more) })
    }

    fn comparison(&mut self) -> TextParseResult<ExprSyntax> {
        let compared = self.chain(0)?;
        match self.operator(0) {
            Some(_) => self.unexpected("`&&`: comparisons are not chained"),
            None => Ok(compared),
        }
    }

    /// Parses operators of the given precedence: comparisons, sums, products. At most one
    /// comparison.
    fn chain(&mut self, rank: usize) -> TextParseResult<ExprSyntax> {
        if rank == 3 {
            return self.unary();
        }
        let first = self.chain(rank + 1)?;
        let mut more = Vec::new();
        while let Some(op) = self.operator(rank) {
            let span = self.next();
            more.push((op, span, self.chain(rank + 1)?));
            if rank == 0 {
                break;
            }
        }
        if more.is_empty() {
            return Ok(first);
        }
        Ok(ExprSyntax { span: first.span, kind: ExprSyntaxKind::Chain(Box::new(first), more) })
    }

    fn operator(&self, rank: usize) -> Option<InfixOperator> {
        let TextToken::Mark(mark) = self.peek() else { return None };
        Some(match (rank, *mark) {
            (0, "<") => InfixOperator::Compare(Compare::Lt),
            (0, "<=") => InfixOperator::Compare(Compare::Le),
            (0, ">") => InfixOperator::Compare(Compare::Gt),
            (0, ">=") => InfixOperator::Compare(Compare::Ge),
            (0, "==") => InfixOperator::Compare(Compare::Eq),
            (0, "!=") => InfixOperator::Compare(Compare::Ne),
            (1, "+") => InfixOperator::Add,
            (1, "-") => InfixOperator::Sub,
            (2, "*") => InfixOperator::Mul,
            (2, "/") => InfixOperator::Div,
            (2, "%") => InfixOperator::Rem,
            _ => return None,
        })
    }

    fn unary(&mut self) -> TextParseResult<ExprSyntax> {
        let span = self.span();
        if self.eat("-") {
            if *self.peek() == TextToken::Int(MOST) {
                self.next();
                return Ok(ExprSyntax { span, kind: ExprSyntaxKind::Int(i64::MIN) });
            }
            let e = self.nested(TextParser::unary)?;
            return Ok(ExprSyntax { span, kind: ExprSyntaxKind::Neg(Box::new(e)) });
        }
        if self.eat("!") {
            let e = self.nested(TextParser::unary)?;
            return Ok(ExprSyntax { span, kind: ExprSyntaxKind::Not(Box::new(e)) });
        }
        // Syntax of Rust; values are immutable.
        if self.eat("&") {
            return self.nested(TextParser::unary);
        }
        self.postfix()
    }

    fn postfix(&mut self) -> TextParseResult<ExprSyntax> {
        self.growing(TextParser::links)
    }

    /// Parses `x`, `x[i]`, `x.y`, `x.f(y)`, …
    fn links(&mut self) -> TextParseResult<ExprSyntax> {
        let mut e = self.atom()?;
        loop {
            if self.is_mark("[") || self.is_mark(".") {
                self.grow()?;
            }
            if self.is_mark("(")
                && let Some(transformed) = transformed(&e)
            {
                self.next();
                self.grow()?;
                let args = self.free(|p| p.list(")", TextParser::expr))?;
                e = ExprSyntax { span: e.span, kind: ExprSyntaxKind::Apply(transformed, args) };
                continue;
            }
            if self.eat("[") {
                let index = self.free(TextParser::expr)?;
                if self.eat(",") {
                    let more = self.free(|p| p.list("]", TextParser::expr))?;
                    let indices = std::iter::once(index).chain(more).collect();
                    e = ExprSyntax {
                        span: e.span,
                        kind: ExprSyntaxKind::Element(Box::new(e), indices),
                    };
                    continue;
                }
                self.expect("]")?;
                let span = e.span;
                let kind = match index.kind {
                    // `xs[(i, j)]`, as in Rust.
                    ExprSyntaxKind::Tuple(indices) if indices.len() > 1 => {
                        ExprSyntaxKind::Element(Box::new(e), indices)
                    }
                    _ => ExprSyntaxKind::Index(Box::new(e), Box::new(index)),
                };
                e = ExprSyntax { span, kind };
            } else if self.eat(".") {
                if let TextToken::Int(k) = *self.peek() {
                    let span = self.next();
                    let Ok(k) = usize::try_from(k) else {
                        return self.unexpected("the number of a field");
                    };
                    e = ExprSyntax { span, kind: ExprSyntaxKind::TupleField(Box::new(e), k) };
                    continue;
                }
                let name = self.name("a field or a function")?;
                if self.eat("(") {
                    let more = self.free(|p| p.list(")", TextParser::expr))?;
                    let args = std::iter::once(e).chain(more).collect();
                    e = ExprSyntax { span: name.span, kind: ExprSyntaxKind::Call(name, args) };
                } else {
                    e = ExprSyntax {
                        span: name.span,
                        kind: ExprSyntaxKind::Field(Box::new(e), name),
                    };
                }
            } else {
                return Ok(e);
            }
        }
    }

    /// Parses inside brackets, where structs are allowed again.
    fn free<T>(&mut self, f: impl FnOnce(&mut Self) -> TextParseResult<T>) -> TextParseResult<T> {
        let plain = std::mem::replace(&mut self.plain, false);
        let result = f(self);
        self.plain = plain;
        result
    }

    /// Parses an expression that needs no brackets.
    pub(super) fn atom(&mut self) -> TextParseResult<ExprSyntax> {
        let span = self.span();
        let kind = match self.peek().clone() {
            TextToken::Int(n) => {
                self.next();
                let Ok(n) = i64::try_from(n) else {
                    let (given, expected) = (n.to_string(), BELOW);
                    return Err(error(span, TextErrorKind::Number { given, expected }));
                };
                ExprSyntaxKind::Int(n)
            }
            TextToken::Real(x) => {
                self.next();
                ExprSyntaxKind::Real(x)
            }
            TextToken::Mark("(") => {
                self.next();
                let mut items = Vec::new();
                let mut tuple = self.is_mark(")");
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
                ExprSyntaxKind::Tuple(items)
            }
            TextToken::Mark("[") => {
                self.next();
                return self.free(|p| p.array(span));
            }
            TextToken::Mark("{") => ExprSyntaxKind::Block(self.block()?),
            TextToken::Name(name) => match name.as_str() {
                "true" | "false" => {
                    self.next();
                    ExprSyntaxKind::Bool(name == "true")
                }
                "none" => {
                    self.next();
                    ExprSyntaxKind::None
                }
                "if" => self.if_else()?,
                _ => {
                    let name = self.name("an expression")?;
                    if self.eat("(") {
                        let args = self.free(|p| p.list(")", TextParser::expr))?;
                        ExprSyntaxKind::Call(name, args)
                    } else if self.is_mark("::") {
                        self.path(name)?
                    } else if self.is_mark("{") && !self.plain {
                        self.next();
                        let fields = self.list("}", |p| {
                            let field = p.name("the name of a field")?;
                            let value = if p.eat(":") {
                                p.expr()?
                            } else {
                                ExprSyntax {
                                    span: field.span,
                                    kind: ExprSyntaxKind::Name(field.text.clone()),
                                }
                            };
                            Ok((field, value))
                        })?;
                        ExprSyntaxKind::Struct(name, fields)
                    } else {
                        ExprSyntaxKind::Name(name.text)
                    }
                }
            },
            _ => return self.unexpected("an expression"),
        };
        Ok(ExprSyntax { span, kind })
    }

    /// Parses `f::grad(x)`, after `f`.
    fn path(&mut self, function: NameSyntax) -> TextParseResult<ExprSyntaxKind> {
        let (mut transforms, span) = (Vec::new(), function.span);
        while self.eat("::") {
            let TextToken::Name(name) = self.peek() else { return self.unexpected(TRANSFORMS) };
            let Some(transform) = Transform::by_name(name) else {
                return self.unexpected(TRANSFORMS);
            };
            self.next();
            transforms.push(transform);
        }
        self.expect("(")?;
        let args = self.free(|p| p.list(")", TextParser::expr))?;
        Ok(ExprSyntaxKind::Apply(Transformed { transforms, function, span }, args))
    }

    fn array(&mut self, span: TextSpan) -> TextParseResult<ExprSyntax> {
        if self.eat("]") {
            return Ok(ExprSyntax { span, kind: ExprSyntaxKind::Array(vec![]) });
        }
        let first = self.expr()?;
        if self.eat(";") {
            let n = self.expr()?;
            self.expect("]")?;
            return Ok(ExprSyntax {
                span,
                kind: ExprSyntaxKind::Repeat(Box::new(first), Box::new(n)),
            });
        }
        let mut items = vec![first];
        if self.eat(",") {
            items.extend(self.list("]", TextParser::expr)?);
        } else {
            self.expect("]")?;
        }
        Ok(ExprSyntax { span, kind: ExprSyntaxKind::Array(items) })
    }

    fn if_else(&mut self) -> TextParseResult<ExprSyntaxKind> {
        let mut arms = Vec::new();
        loop {
            self.next();
            let condition = self.condition()?;
            arms.push((condition, self.block()?));
            if !self.eat_word("else") {
                return Ok(ExprSyntaxKind::If(arms, None));
            }
            if !self.is_word("if") {
                return Ok(ExprSyntaxKind::If(arms, Some(self.block()?)));
            }
        }
    }
}
