//! Lowering of expressions.

use crate::{
    ir::{Element, Kind},
    stack::deep,
    staging::{InfixOperator, StagedOperand, TypeMismatch},
};

use super::super::{
    ast::{BlockSyntax, ExprSyntax, ExprSyntaxKind, TextSpan},
    error::{TextError, TextErrorKind},
    lexer::error,
};
use super::{TextLowerResult, function::BodyLowering, misfit};

impl BodyLowering<'_> {
    /// Lowers an expression. `hint`: the expected kind, for literals in it.
    pub(super) fn expr(
        &mut self,
        e: &ExprSyntax,
        hint: Option<&Kind>,
    ) -> TextLowerResult<StagedOperand> {
        self.has_room(e.span)?;
        deep(|| self.deep_expr(e, hint))
    }

    fn deep_expr(&mut self, e: &ExprSyntax, hint: Option<&Kind>) -> TextLowerResult<StagedOperand> {
        self.stage.b.set_position(e.span.at);
        match &e.kind {
            ExprSyntaxKind::Int(n) => Ok(StagedOperand::Literal(*n)),
            ExprSyntaxKind::Real(x) => Ok(StagedOperand::Value(self.stage.b.real(*x))),
            ExprSyntaxKind::Bool(c) => Ok(StagedOperand::Value(self.stage.b.boolean(*c))),
            ExprSyntaxKind::None => {
                let (what, expected) = ("none", "the value of a pullback");
                Err(error(e.span, TextErrorKind::Misplaced { what, expected }))
            }
            ExprSyntaxKind::Name(name) => {
                let local = self.local(name, e.span)?;
                Ok(self.stage.read(local.variable))
            }
            ExprSyntaxKind::Neg(x) => {
                // Literals may become ints after they are negated, arrays of ints are not negated.
                let hint = hint.filter(|kind| **kind != Kind::Array(Element::Int));
                let given = self.expr(x, hint)?;
                self.stage.b.set_position(e.span.at);
                self.stage.negative(given).map_err(|e| misfit(e, &[x.span]))
            }
            ExprSyntaxKind::Not(x) => {
                let given = self.expr(x, Some(&Kind::Bool))?;
                self.stage.b.set_position(e.span.at);
                self.stage.not(given).map_err(|e| misfit(e, &[x.span]))
            }
            ExprSyntaxKind::Logic(first, more) => self.logic(first, more),
            ExprSyntaxKind::Chain(first, more) => self.chain(first, more, hint),
            ExprSyntaxKind::Call(name, args) => self.call(name, args, e.span),
            ExprSyntaxKind::Apply(transformed, args) => self.apply(transformed, args, e.span),
            ExprSyntaxKind::Index(xs, i) => self.index(xs, i, e.span),
            ExprSyntaxKind::Element(xs, indices) => self.element(xs, indices, e.span),
            ExprSyntaxKind::Field(of, _) | ExprSyntaxKind::TupleField(of, _) => self.field(of, e),
            ExprSyntaxKind::Array(items) => self.array(items, hint, e.span),
            ExprSyntaxKind::Repeat(x, n) => self.repeat(x, n, hint, e.span),
            ExprSyntaxKind::Tuple(items) => self.tuple(items, hint, e.span),
            ExprSyntaxKind::Struct(name, fields) => self.structure(name, fields, hint, e.span),
            ExprSyntaxKind::If(arms, last) => self.if_else(arms, last.as_ref(), hint, e.span),
            ExprSyntaxKind::Block(block) => self.block_value(block, hint),
        }
    }

    /// Lowers `xs[i]`.
    fn index(
        &mut self,
        xs: &ExprSyntax,
        i: &ExprSyntax,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let array = self.expr(xs, None)?;
        let index = self.expr(i, Some(&Kind::Int))?;
        self.stage.b.set_position(span.at);
        self.stage.index(array, index).map_err(|e| of_element(misfit(e, &[xs.span, i.span]), xs))
    }

    /// Lowers `xs[i, j]`.
    fn element(
        &mut self,
        xs: &ExprSyntax,
        indices: &[ExprSyntax],
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let array = self.expr(xs, None)?;
        let kinds = vec![Some(Kind::Int); indices.len()];
        let (given, mut spans) = self.operands(indices, &kinds)?;
        spans.insert(0, xs.span);
        self.stage.b.set_position(span.at);
        self.stage.element(array, &given).map_err(|e| misfit(e, &spans))
    }

    /// Lowers the field of `of` that `place` names.
    fn field(&mut self, of: &ExprSyntax, place: &ExprSyntax) -> TextLowerResult<StagedOperand> {
        let tuple = self.expr(of, None)?;
        let kind =
            self.stage.kind(tuple).ok_or_else(|| misfit(TypeMismatch::nothing(), &[of.span]))?;
        let k = self.field_number(&kind, place)?;
        self.stage.b.set_position(place.span.at);
        self.stage.field(tuple, k).map_err(|f| misfit(f, &[place.span]))
    }

    /// Lowers `[a, b]`.
    fn array(
        &mut self,
        items: &[ExprSyntax],
        hint: Option<&Kind>,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let element = element(hint);
        let (items, shape) = nested(items);
        let kinds = vec![element.map(Element::kind); items.len()];
        let (given, spans) = self.operands(items, &kinds)?;
        self.stage.b.set_position(span.at);
        if shape.len() > 1 {
            return self.stage.matrix(&given, &shape, element).map_err(|e| misfit(e, &spans));
        }
        self.stage.array(&given, element).map_err(|e| misfit(e, &spans))
    }

    /// Lowers `[x; n]`.
    fn repeat(
        &mut self,
        x: &ExprSyntax,
        n: &ExprSyntax,
        hint: Option<&Kind>,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let element = element(hint);
        let spans = [x.span, n.span];
        let of = element.map(Element::kind);
        let x = self.expr(x, of.as_ref())?;
        let n = self.expr(n, Some(&Kind::Int))?;
        self.stage.b.set_position(span.at);
        self.stage.fill(x, n, element).map_err(|e| misfit(e, &spans))
    }

    /// Lowers `(a, b)`.
    fn tuple(
        &mut self,
        items: &[ExprSyntax],
        hint: Option<&Kind>,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let field = |k: usize| Some(hint?.fields().get(k)?.kind.clone());
        let kinds: Vec<_> = (0..items.len()).map(field).collect();
        let (given, spans) = self.operands(items, &kinds)?;
        self.stage.b.set_position(span.at);
        self.stage.tuple(&given, hint).map_err(|e| misfit(e, &spans))
    }

    /// Lowers operands in order, each with its expected kind, and returns them with their spans.
    pub(super) fn operands<'e>(
        &mut self,
        items: impl IntoIterator<Item = &'e ExprSyntax>,
        hints: &[Option<Kind>],
    ) -> TextLowerResult<(Vec<StagedOperand>, Vec<TextSpan>)> {
        let (mut given, mut spans) =
            (Vec::with_capacity(hints.len()), Vec::with_capacity(hints.len()));
        for (item, hint) in items.into_iter().zip(hints) {
            given.push(self.expr(item, hint.as_ref())?);
            spans.push(item.span);
        }
        Ok((given, spans))
    }

    fn block_value(
        &mut self,
        block: &BlockSyntax,
        hint: Option<&Kind>,
    ) -> TextLowerResult<StagedOperand> {
        self.scoped(|l| {
            block.statements.iter().for_each(|s| l.statement(s));
            match &block.tail {
                Some(tail) => l.expr(tail, hint),
                None => Ok(StagedOperand::Nothing),
            }
        })
    }

    fn chain(
        &mut self,
        first: &ExprSyntax,
        more: &[(InfixOperator, TextSpan, ExprSyntax)],
        hint: Option<&Kind>,
    ) -> TextLowerResult<StagedOperand> {
        // The kind of what is compared does not follow from that of a comparison.
        let is_comparison = matches!(more.first(), Some((InfixOperator::Compare(_), ..)));
        let hint = hint.filter(|_| !is_comparison);
        let mut left = (self.expr(first, hint)?, first.span);
        for (op, span, e) in more {
            let right = self.expr(e, hint)?;
            self.stage.b.set_position(span.at);
            let sum = self.stage.binary(*op, left.0, right);
            left = (sum.map_err(|m| misfit(m, &[left.1, e.span]))?, *span);
        }
        Ok(left.0)
    }

    fn logic(
        &mut self,
        first: &ExprSyntax,
        more: &[(bool, TextSpan, ExprSyntax)],
    ) -> TextLowerResult<StagedOperand> {
        let given = self.expr(first, Some(&Kind::Bool))?;
        let mut short = self.stage.begin_short(given).map_err(|m| misfit(m, &[first.span]))?;
        for (and, span, e) in more {
            self.stage.b.set_position(span.at);
            self.stage.next_short(&short, *and);
            let given = self.expr(e, Some(&Kind::Bool))?;
            self.stage.give_short(&mut short, given).map_err(|m| misfit(m, &[e.span]))?;
        }
        Ok(self.stage.end_short(short))
    }

    fn if_else(
        &mut self,
        arms: &[(ExprSyntax, BlockSyntax)],
        last: Option<&BlockSyntax>,
        hint: Option<&Kind>,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let mut branches = self.stage.begin_if();
        let tail = |b: &BlockSyntax| b.tail.as_ref().map_or(b.end, |t| t.span);
        let mut spans = Vec::new();
        for (condition, body) in arms {
            let c = self.condition(condition);
            self.stage.arm(&mut branches, c).map_err(|m| misfit(m, &[condition.span]))?;
            let given = self.block_value(body, hint)?;
            self.stage.end_arm(&mut branches, given);
            spans.push(tail(body));
        }
        let given = match last {
            Some(body) => self.block_value(body, hint)?,
            None => StagedOperand::Nothing,
        };
        spans.push(last.map_or(span, tail));
        self.stage.end_if(branches, given, hint).map_err(|m| misfit(m, &spans))
    }

    /// Returns the index of the field that a place `p.x` or `t.0` names.
    pub(super) fn field_number(&self, kind: &Kind, place: &ExprSyntax) -> TextLowerResult<usize> {
        match &place.kind {
            ExprSyntaxKind::Field(_, name) => {
                let names = kind.fields().iter().filter_map(|f| f.name.as_deref());
                self.known.fields.number(kind, &name.text).ok_or_else(|| {
                    error(place.span, TextErrorKind::unknown("field", &name.text, names))
                })
            }
            ExprSyntaxKind::TupleField(_, k) if *k >= kind.fields().len() => {
                let expected = format!("a tuple with a field {k}");
                Err(misfit(TypeMismatch::new(kind, expected), &[place.span]))
            }
            ExprSyntaxKind::TupleField(_, k) => Ok(*k),
            _ => Ok(0),
        }
    }
}

/// Returns an error about an index of `xs`, which may be an element where a matrix has two indices.
pub(super) fn of_element(mut e: TextError, xs: &ExprSyntax) -> TextError {
    if let (ExprSyntaxKind::Index(..), TextErrorKind::Kind { expected, hint, .. }) =
        (&xs.kind, &mut e.kind)
        && expected == "an array"
    {
        *hint = ": an element of a matrix is `a[i, j]`";
    }
    e
}

/// Returns the expected kind of element, if an array is expected.
fn element(hint: Option<&Kind>) -> Option<Element> {
    match hint {
        Some(Kind::Array(e)) => Some(*e),
        _ => None,
    }
}

/// Returns the elements of `[[a, b], [c, d]]` in row-major order and their shape; a list with
/// uneven nesting is one-dimensional.
fn nested(items: &[ExprSyntax]) -> (Vec<&ExprSyntax>, Vec<usize>) {
    let mut all: Vec<&ExprSyntax> = items.iter().collect();
    let mut shape = vec![items.len()];
    loop {
        let rows: Option<Vec<&Vec<ExprSyntax>>> = all
            .iter()
            .map(|e| match &e.kind {
                ExprSyntaxKind::Array(row) if !row.is_empty() => Some(row),
                _ => None,
            })
            .collect();
        let Some(rows) = rows.filter(|r| r.windows(2).all(|w| w[0].len() == w[1].len())) else {
            return (all, shape);
        };
        let Some(first) = rows.first() else { return (all, shape) };
        shape.push(first.len());
        all = rows.into_iter().flatten().collect();
    }
}
