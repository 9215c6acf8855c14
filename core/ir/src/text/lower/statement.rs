//! Lowering of statements and assignment.

use std::collections::HashSet;

use crate::{
    ir::Kind,
    stack::deep,
    staging::{InfixOperator, StagedOperand, TypeMismatch},
};

use super::super::{
    ast::{
        BlockSyntax, ExprSyntax, ExprSyntaxKind, PatternSyntax, Statement, StatementKind, TextSpan,
    },
    error::{TextError, TextErrorKind},
    lexer::error,
};
use super::{
    TextLowerResult,
    expression::of_element,
    function::{BodyLowering, ScopedVariable},
    kinds::resolve,
    misfit,
};

impl BodyLowering<'_> {
    /// Lowers a statement; an error is collected.
    pub(super) fn statement(&mut self, s: &Statement) {
        if self.is_over() {
            return;
        }
        self.stage.b.set_position(s.span.at);
        if let Err(e) = deep(|| self.try_statement(s)) {
            self.complain(e);
            if let StatementKind::Let { pattern, .. } = &s.kind {
                match pattern {
                    PatternSyntax::Name { name, .. } => self.poison(&name.text),
                    PatternSyntax::Tuple(names) => {
                        names.iter().for_each(|(n, _)| self.poison(&n.text))
                    }
                }
            }
        }
    }

    fn try_statement(&mut self, s: &Statement) -> TextLowerResult<()> {
        match &s.kind {
            StatementKind::Let { pattern, kind, value } => {
                let kind = kind.as_ref().map(|k| resolve(k, self.known.structs)).transpose()?;
                self.let_(pattern, kind.as_ref(), value)
            }
            StatementKind::Assign { target, op, value } => self.assign(target, *op, value),
            StatementKind::While { condition, body } => {
                let head = self.stage.begin_loop();
                let c = match condition.kind {
                    ExprSyntaxKind::Bool(true) => None,
                    _ => Some(self.condition(condition)),
                };
                let inside =
                    self.stage.enter_loop(head, c).map_err(|e| misfit(e, &[condition.span]))?;
                self.scope(body);
                self.stage.end_loop(inside);
                Ok(())
            }
            StatementKind::For { variable, from, to, inclusive, body } => {
                let spans = [from.span, to.span];
                let from = self.expr(from, Some(&Kind::Int))?;
                let to = self.expr(to, Some(&Kind::Int))?;
                self.stage.b.set_position(s.span.at);
                let counter =
                    self.stage.begin_for(from, to, *inclusive).map_err(|e| misfit(e, &spans))?;
                self.scoped(|l| {
                    l.bind(&variable.text, counter.value, false);
                    l.scope(body);
                });
                self.stage.end_for(counter);
                Ok(())
            }
            StatementKind::Break => {
                let inside = self.stage.break_loop();
                self.in_loop(inside, "break", s.span)
            }
            StatementKind::Continue => {
                let inside = self.stage.continue_loop();
                self.in_loop(inside, "continue", s.span)
            }
            StatementKind::Return(value) => {
                let name = self.stage.b.function().name.clone();
                let value =
                    value.as_ref().ok_or_else(|| error(s.span, TextErrorKind::NoValue { name }))?;
                if let Some(v) = self.result_value(value)? {
                    self.stage.b.ret(v);
                }
                Ok(())
            }
            StatementKind::Expr(e) => self.expr(e, None).map(drop),
        }
    }

    fn in_loop(&self, inside: bool, what: &'static str, span: TextSpan) -> TextLowerResult<()> {
        let expected = "a loop";
        if inside { Ok(()) } else { Err(error(span, TextErrorKind::Misplaced { what, expected })) }
    }

    fn let_(
        &mut self,
        pattern: &PatternSyntax,
        kind: Option<&Kind>,
        value: &ExprSyntax,
    ) -> TextLowerResult<()> {
        let given = self.expr(value, kind)?;
        let v = match kind {
            Some(kind) => self.fit(given, kind, value.span)?,
            None => self.value(given, value.span)?,
        };
        match pattern {
            PatternSyntax::Name { name, mutable } => self.bind(&name.text, v, *mutable),
            PatternSyntax::Tuple(names) => {
                let kind = self.stage.b.kind(v);
                if kind.fields().len() != names.len() {
                    let expected = format!("a tuple of {} values", names.len());
                    return Err(misfit(TypeMismatch::new(kind, expected), &[value.span]));
                }
                let mut seen = HashSet::new();
                if let Some((again, _)) =
                    names.iter().find(|(n, _)| n.text != "_" && !seen.insert(&n.text))
                {
                    let (what, name) = ("variable", again.text.clone());
                    return Err(error(again.span, TextErrorKind::Duplicate { what, name }));
                }
                for (k, (name, mutable)) in names.iter().enumerate() {
                    let field = self.stage.b.field(v, k);
                    self.bind(&name.text, field, *mutable);
                }
            }
        }
        Ok(())
    }

    /// Lowers a condition. A wrong one counts as false, so that the code that depends on it is
    /// checked all the same.
    pub(super) fn condition(&mut self, e: &ExprSyntax) -> StagedOperand {
        let condition = self.expect(e, &Kind::Bool);
        self.stage.b.set_position(e.span.at);
        StagedOperand::Value(condition.unwrap_or_else(|e| {
            self.complain(e);
            self.stage.b.boolean(false)
        }))
    }

    /// Lowers a block of statements whose value is unused.
    fn scope(&mut self, block: &BlockSyntax) {
        self.scoped(|l| {
            block.statements.iter().for_each(|s| l.statement(s));
            if let Some(tail) = &block.tail
                && let Err(e) = l.expr(tail, None)
            {
                l.complain(e);
            }
        });
    }

    /// Lowers `x = e`, `xs[i] = e`, `p.x = e`, `p.xs[i] += e`.
    fn assign(
        &mut self,
        target: &ExprSyntax,
        op: Option<InfixOperator>,
        value: &ExprSyntax,
    ) -> TextLowerResult<()> {
        // Down to the variable …
        let mut path = Vec::new();
        let mut at = target;
        let local = loop {
            match &at.kind {
                ExprSyntaxKind::Name(name) => break self.mutable(name, at.span)?,
                ExprSyntaxKind::Field(of, _)
                | ExprSyntaxKind::TupleField(of, _)
                | ExprSyntaxKind::Index(of, _)
                | ExprSyntaxKind::Element(of, _) => {
                    path.push(at);
                    at = of;
                }
                _ => return Err(no_place(target.span)),
            }
        };
        path.reverse();
        // … whose kind gives the expected kind of the value …
        let mut kind = self.stage.b.variable_kind(local.variable).clone();
        for place in &path {
            kind = match &place.kind {
                ExprSyntaxKind::Index(..) | ExprSyntaxKind::Element(..) => match &kind {
                    Kind::Array(e) => e.kind(),
                    _ => {
                        let of = if let ExprSyntaxKind::Index(of, _) = &place.kind {
                            of.as_ref()
                        } else {
                            place
                        };
                        return Err(of_element(
                            misfit(TypeMismatch::new(&kind, "an array"), &[place.span]),
                            of,
                        ));
                    }
                },
                _ => kind.fields()[self.field_number(&kind, place)?].kind.clone(),
            };
        }
        let given = self.expr(value, Some(&kind))?;
        // … and up to the target.
        let mut whole = self.stage.b.variable_kind(local.variable).clone();
        let mut place = self.stage.assignment_target(local.variable);
        for part in path {
            let step = match &part.kind {
                ExprSyntaxKind::Index(_, index) => {
                    let i = self.expr(index, Some(&Kind::Int))?;
                    self.stage.b.set_position(part.span.at);
                    self.stage
                        .into_element(&mut place, i)
                        .map_err(|e| misfit(e, &[part.span, index.span]))
                }
                ExprSyntaxKind::Element(_, indices) => {
                    let kinds = vec![Some(Kind::Int); indices.len()];
                    let (given, mut spans) = self.operands(indices, &kinds)?;
                    spans.insert(0, part.span);
                    self.stage.b.set_position(part.span.at);
                    self.stage.into_element_at(&mut place, &given).map_err(|e| misfit(e, &spans))
                }
                _ => {
                    let k = self.field_number(&whole, part)?;
                    self.stage.into_field(&mut place, k).map_err(|e| misfit(e, &[part.span]))
                }
            };
            step?;
            whole = self.stage.target_kind(&place);
        }
        self.stage.b.set_position(target.span.at);
        let spans = if op.is_some() { [target.span, value.span] } else { [value.span; 2] };
        self.stage.assign(place, op, given).map_err(|e| misfit(e, &spans))
    }

    fn mutable(&self, name: &str, span: TextSpan) -> TextLowerResult<ScopedVariable> {
        let local = self.local(name, span)?;
        if local.mutable {
            Ok(local)
        } else {
            Err(error(span, TextErrorKind::Immutable { name: name.into() }))
        }
    }
}

fn no_place(span: TextSpan) -> TextError {
    let (given, expected) = ("a value".into(), "a variable, an element or a field".into());
    error(span, TextErrorKind::Unexpected { given, expected })
}
