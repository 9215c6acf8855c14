//! Lowering of expressions.

use crate::{
    ir::{Element, Kind},
    stack::deep,
    staging::{Given, Misfit, Operator},
};

use super::super::{
    ast::{Block, Expr, ExprKind, Span},
    error::{TextError, TextErrorKind, nearest},
    lexer::error,
};
use super::{Lowered, function::Body, misfit};

impl Body<'_> {
    /// Lowers an expression. `hint`: the expected kind, for literals in it.
    pub(super) fn expr(&mut self, e: &Expr, hint: Option<&Kind>) -> Lowered<Given> {
        self.has_room(e.span)?;
        deep(|| self.deep_expr(e, hint))
    }

    fn deep_expr(&mut self, e: &Expr, hint: Option<&Kind>) -> Lowered<Given> {
        self.stage.b.set_position(e.span.at);
        match &e.kind {
            ExprKind::Int(n) => Ok(Given::Literal(*n)),
            ExprKind::Real(x) => Ok(Given::Value(self.stage.b.real(*x))),
            ExprKind::Bool(c) => Ok(Given::Value(self.stage.b.boolean(*c))),
            ExprKind::None => {
                let (what, expected) = ("none", "the value of a pullback");
                Err(error(e.span, TextErrorKind::Misplaced { what, expected }))
            }
            ExprKind::Name(name) => {
                let local = self.local(name, e.span)?;
                Ok(self.stage.read(local.variable))
            }
            ExprKind::Neg(x) => {
                let given = self.expr(x, hint)?;
                self.stage.b.set_position(e.span.at);
                self.stage.negative(given).map_err(|e| misfit(e, &[x.span]))
            }
            ExprKind::Not(x) => {
                let given = self.expr(x, Some(&Kind::Bool))?;
                self.stage.b.set_position(e.span.at);
                self.stage.not(given).map_err(|e| misfit(e, &[x.span]))
            }
            ExprKind::Logic(first, more) => self.logic(first, more),
            ExprKind::Chain(first, more) => self.chain(first, more, hint),
            ExprKind::Call(name, args) => self.call(name, args, e.span),
            ExprKind::Apply(transformed, args) => self.apply(transformed, args, e.span),
            ExprKind::Index(xs, i) => self.index(xs, i, e.span),
            ExprKind::Element(xs, indices) => self.element(xs, indices, e.span),
            ExprKind::Field(of, _) | ExprKind::TupleField(of, _) => self.field(of, e),
            ExprKind::Array(items) => self.array(items, hint, e.span),
            ExprKind::Repeat(x, n) => self.repeat(x, n, hint, e.span),
            ExprKind::Tuple(items) => self.tuple(items, hint, e.span),
            ExprKind::Struct(name, fields) => self.structure(name, fields, hint, e.span),
            ExprKind::If(arms, last) => self.if_else(arms, last.as_ref(), hint, e.span),
            ExprKind::Block(block) => self.block_value(block, hint),
        }
    }

    /// Lowers `xs[i]`.
    fn index(&mut self, xs: &Expr, i: &Expr, span: Span) -> Lowered<Given> {
        let array = self.expr(xs, None)?;
        let index = self.expr(i, Some(&Kind::Int))?;
        self.stage.b.set_position(span.at);
        self.stage.index(array, index).map_err(|e| of_element(misfit(e, &[xs.span, i.span]), xs))
    }

    /// Lowers `xs[i, j]`.
    fn element(&mut self, xs: &Expr, indices: &[Expr], span: Span) -> Lowered<Given> {
        let array = self.expr(xs, None)?;
        let kinds = vec![Some(Kind::Int); indices.len()];
        let (given, mut spans) = self.operands(indices, &kinds)?;
        spans.insert(0, xs.span);
        self.stage.b.set_position(span.at);
        self.stage.element(array, &given).map_err(|e| misfit(e, &spans))
    }

    /// Lowers the field of `of` that `place` names.
    fn field(&mut self, of: &Expr, place: &Expr) -> Lowered<Given> {
        let tuple = self.expr(of, None)?;
        let kind = self.stage.kind(tuple).ok_or_else(|| misfit(Misfit::nothing(), &[of.span]))?;
        let k = self.field_number(&kind, place)?;
        self.stage.b.set_position(place.span.at);
        self.stage.field(tuple, k).map_err(|f| misfit(f, &[place.span]))
    }

    /// Lowers `[a, b]`.
    fn array(&mut self, items: &[Expr], hint: Option<&Kind>, span: Span) -> Lowered<Given> {
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
    fn repeat(&mut self, x: &Expr, n: &Expr, hint: Option<&Kind>, span: Span) -> Lowered<Given> {
        let element = element(hint);
        let spans = [x.span, n.span];
        let of = element.map(Element::kind);
        let x = self.expr(x, of.as_ref())?;
        let n = self.expr(n, Some(&Kind::Int))?;
        self.stage.b.set_position(span.at);
        self.stage.fill(x, n, element).map_err(|e| misfit(e, &spans))
    }

    /// Lowers `(a, b)`.
    fn tuple(&mut self, items: &[Expr], hint: Option<&Kind>, span: Span) -> Lowered<Given> {
        let field = |k: usize| Some(hint?.fields().get(k)?.kind.clone());
        let kinds: Vec<_> = (0..items.len()).map(field).collect();
        let (given, spans) = self.operands(items, &kinds)?;
        self.stage.b.set_position(span.at);
        self.stage.tuple(&given, hint).map_err(|e| misfit(e, &spans))
    }

    /// Lowers operands in order, each with its expected kind, and returns them with their spans.
    pub(super) fn operands<'e>(
        &mut self,
        items: impl IntoIterator<Item = &'e Expr>,
        hints: &[Option<Kind>],
    ) -> Lowered<(Vec<Given>, Vec<Span>)> {
        let (mut given, mut spans) =
            (Vec::with_capacity(hints.len()), Vec::with_capacity(hints.len()));
        for (item, hint) in items.into_iter().zip(hints) {
            given.push(self.expr(item, hint.as_ref())?);
            spans.push(item.span);
        }
        Ok((given, spans))
    }

    fn block_value(&mut self, block: &Block, hint: Option<&Kind>) -> Lowered<Given> {
        self.scoped(|l| {
            block.statements.iter().for_each(|s| l.statement(s));
            match &block.tail {
                Some(tail) => l.expr(tail, hint),
                None => Ok(Given::Nothing),
            }
        })
    }

    fn chain(
        &mut self,
        first: &Expr,
        more: &[(Operator, Span, Expr)],
        hint: Option<&Kind>,
    ) -> Lowered<Given> {
        let mut left = (self.expr(first, hint)?, first.span);
        for (op, span, e) in more {
            let right = self.expr(e, hint)?;
            self.stage.b.set_position(span.at);
            let sum = self.stage.binary(*op, left.0, right);
            left = (sum.map_err(|m| misfit(m, &[left.1, e.span]))?, *span);
        }
        Ok(left.0)
    }

    fn logic(&mut self, first: &Expr, more: &[(bool, Span, Expr)]) -> Lowered<Given> {
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
        arms: &[(Expr, Block)],
        last: Option<&Block>,
        hint: Option<&Kind>,
        span: Span,
    ) -> Lowered<Given> {
        let mut branches = self.stage.begin_if();
        let tail = |b: &Block| b.tail.as_ref().map_or(b.end, |t| t.span);
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
            None => Given::Nothing,
        };
        spans.push(last.map_or(span, tail));
        self.stage.end_if(branches, given, hint).map_err(|m| misfit(m, &spans))
    }

    /// Returns the index of the field that a place `p.x` or `t.0` names.
    pub(super) fn field_number(&self, kind: &Kind, place: &Expr) -> Lowered<usize> {
        match &place.kind {
            ExprKind::Field(_, name) => {
                let names = kind.fields().iter().filter_map(|f| f.name.as_deref());
                self.known.fields.number(kind, &name.text).ok_or_else(|| {
                    let (nearest, name) = (nearest(&name.text, names), name.text.clone());
                    error(place.span, TextErrorKind::Unknown { what: "field", name, nearest })
                })
            }
            ExprKind::TupleField(_, k) if *k >= kind.fields().len() => {
                let expected = format!("a tuple with a field {k}");
                Err(misfit(Misfit::new(kind, expected), &[place.span]))
            }
            ExprKind::TupleField(_, k) => Ok(*k),
            _ => Ok(0),
        }
    }
}

/// Returns an error about an index of `xs`, which may be an element where a matrix has two indices.
pub(super) fn of_element(mut e: TextError, xs: &Expr) -> TextError {
    if let (ExprKind::Index(..), TextErrorKind::Kind { expected, hint, .. }) =
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
fn nested(items: &[Expr]) -> (Vec<&Expr>, Vec<usize>) {
    let mut all: Vec<&Expr> = items.iter().collect();
    let mut shape = vec![items.len()];
    loop {
        let rows: Option<Vec<&Vec<Expr>>> = all
            .iter()
            .map(|e| match &e.kind {
                ExprKind::Array(row) if !row.is_empty() => Some(row),
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
