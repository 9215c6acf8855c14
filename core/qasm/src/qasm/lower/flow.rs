//! Control flow: lists of statements, loops and `switch`.
//!
//! Loops are unrolled, except for those that a measurement ends (`repeat`); early exits are in
//! `frames`.

use std::collections::HashSet;

use super::{
    ErrorReported, ExprScope, IndexSet, Lower, QasmLowering, QasmValue, classical::Classical,
    frames::FrameKind, names::SymbolEntry, runtime, truth::Truth, walk::walk,
};
use crate::{
    circuit::Relation,
    classical::ClassicalExpr,
    qasm::{
        ast::{
            BinaryOp, Case, ForLoop, Index, QasmExpr, QasmExprKind, QasmSpan, QasmStmt,
            QasmStmtKind, SwitchCase,
        },
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// A case with the values of its labels.
type Labelled<'a> = (Vec<(QasmValue, QasmSpan)>, &'a [QasmStmt]);

impl QasmLowering<'_> {
    /// Lowers a list of statements, up to one that leaves it.
    pub(super) fn list(&mut self, statements: &[QasmStmt], all: &[QasmStmt]) {
        let mut rest = Vec::new();
        for (statement, remaining) in statements.iter().zip((0..statements.len()).rev()) {
            if self.full() || self.leaving.is_some() || self.step_limit(statement.span) {
                break;
            }
            // An error was reported; the next statement may still have its own.
            let _ = self.statement(statement, all);
            if remaining > 0 && self.left_somewhere() {
                rest.extend(self.guard_rest(statement.span));
            }
        }
        self.end_rest(rest);
    }

    /// Lowers the statements of a block, in a scope of its own.
    pub(super) fn block(&mut self, statements: &[QasmStmt], all: &[QasmStmt]) {
        self.enter_scope();
        self.list(statements, all);
        self.leave_scope();
    }

    /// Counts a statement, in lists that may run more than once.
    fn step_limit(&mut self, span: QasmSpan) -> bool {
        if self.frames.len() > 1 {
            self.steps += 1;
        }
        self.passed_steps(span)
    }

    /// Counts a statement of a loop in a gate definition.
    pub(super) fn count_step(&mut self, span: QasmSpan) -> Lower<()> {
        self.steps += 1;
        if self.passed_steps(span) { Err(ErrorReported) } else { Ok(()) }
    }

    fn passed_steps(&mut self, span: QasmSpan) -> bool {
        let limit = self.options.max_gates;
        if self.steps > limit && !self.reported.contains("steps") {
            self.reported.insert("steps");
            let _: Lower<()> = self.fail(QasmProblem::TooManySteps { limit }, span);
        }
        self.steps > limit
    }

    /// Plans iterations of a loop while `next`, which may declare a variable, returns true.
    fn rounds(
        &mut self,
        body: &[QasmStmt],
        all: &[QasmStmt],
        span: QasmSpan,
        mut next: impl FnMut(&mut Self) -> Lower<bool>,
    ) -> Lower<()> {
        let errors = self.n_errors();
        let mut rest = Vec::new();
        self.enter_frame(FrameKind::Loop);
        let result = loop {
            self.enter_scope();
            let goes_on = next(self);
            if let Ok(true) = goes_on {
                self.enter_frame(FrameKind::Round);
                self.list(body, all);
                self.leave_frame(span);
            }
            self.leave_scope();
            match goes_on {
                Ok(true) if self.n_errors() > errors => break Err(ErrorReported),
                Ok(true) if self.leaving.is_some() || self.step_limit(span) => break Ok(()),
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(ErrorReported) => break Err(ErrorReported),
            }
            if self.left_somewhere() {
                rest.extend(self.guard_rest(span));
            }
        };
        self.end_rest(rest);
        self.leave_frame(span);
        result
    }

    /// Unrolls a loop while its condition is known; from where it is not, a measurement ends it.
    pub(super) fn while_loop(
        &mut self,
        condition: &QasmExpr,
        body: &[QasmStmt],
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Lower<()> {
        if !matches!(condition.kind, QasmExprKind::Bool(true)) {
            return self.unroll(condition, body, all, span, false).map(|_| ());
        }
        if !self.may_leave(body) {
            let help = "give it a condition that an iteration can change, or a `break`";
            let place = self.file_span(span);
            return Err(self
                .report(Diagnostic::error(QasmProblem::Endless).with_label(place, "").help(help)));
        }
        // A counter in a `while (true)` may decide when it ends, or may only count iterations.
        let (start, errors) = (self.checkpoint(), self.n_errors());
        if !self.unroll(condition, body, all, span, true)? {
            return Ok(());
        }
        self.back_to(&start);
        let result = self.rounds(body, all, span, |lowering| {
            lowering.repeat(None, body, all, span).map(|()| false)
        });
        if result.is_ok() && self.n_errors() == errors {
            return Ok(());
        }
        self.back_to(&start);
        self.unroll(condition, body, all, span, false).map(|_| ())
    }

    /// Returns true if a loop with this body may be left early. Subroutines may end the program.
    fn may_leave(&self, body: &[QasmStmt]) -> bool {
        let mut leaves = !self.subroutines.is_empty();
        walk(body, &mut Vec::new(), &mut |statement, _| {
            leaves |= matches!(
                statement.kind,
                QasmStmtKind::Break | QasmStmtKind::Return(_) | QasmStmtKind::End
            );
        });
        leaves
    }

    /// Unrolls the iterations of a loop whose condition is known, and plans the rest as a loop. If
    /// `probe` is set, gives up and returns true at an exit under a condition in an iteration that
    /// changes a known state.
    fn unroll(
        &mut self,
        condition: &QasmExpr,
        body: &[QasmStmt],
        all: &[QasmStmt],
        span: QasmSpan,
        probe: bool,
    ) -> Lower<bool> {
        let always = matches!(condition.kind, QasmExprKind::Bool(true));
        let left = self.n_left();
        let (mut before, mut undecided) = (None, false);
        self.rounds(body, all, span, |lowering| {
            let start = lowering.plan.len();
            let known = match lowering.condition(condition)? {
                Truth::Constant(false) => return Ok(false),
                Truth::Constant(true) => Some(lowering.known(body)),
                Truth::Residual(_) => None,
            };
            // If an iteration changes no known state, all later ones are the same.
            let same = known
                .as_ref()
                .is_none_or(|now| before.as_ref() == Some(now) || (probe && now.is_empty()));
            if same {
                lowering.plan.truncate(start);
                return lowering
                    .repeat((!always).then_some(condition), body, all, span)
                    .map(|()| false);
            }
            undecided = probe && before.is_some() && lowering.n_left() > left;
            before = known;
            Ok(!undecided)
        })?;
        Ok(undecided)
    }

    pub(super) fn for_loop(&mut self, f: &ForLoop, all: &[QasmStmt], span: QasmSpan) -> Lower<()> {
        let ForLoop { ty, name, over, body } = f;
        if self.has_memory()
            && let Some(result) = self.for_in_circuit(f, all, span)
        {
            return result;
        }
        match self.range(over, ExprScope::Global)? {
            Range::Integers { mut next, step, end } => {
                let rounds =
                    next.map_or(0, |start| (end.saturating_sub(start) / step).saturating_add(1));
                let limit = self.options.max_gates;
                if rounds > i128::from(limit) && !self.may_leave(body) {
                    return self.fail(QasmProblem::TooManySteps { limit }, span);
                }
                self.rounds(body, all, span, |lowering| {
                    let Some(now) =
                        next.filter(|now| if step > 0 { *now <= end } else { *now >= end })
                    else {
                        return Ok(false);
                    };
                    next = now.checked_add(step);
                    let value = Classical::Value(QasmValue::int(now));
                    lowering
                        .declare_variable(*name, ty, Some((value, index_span(over))))
                        .map(|()| true)
                })
            }
            Range::Values(values) => {
                let mut values = values.into_iter();
                self.rounds(body, all, span, |lowering| {
                    let Some((value, at)) = values.next() else { return Ok(false) };
                    lowering
                        .declare_variable(*name, ty, Some((Classical::Value(value), at)))
                        .map(|()| true)
                })
            }
            Range::Bits(bits) => {
                let mut bits = bits.into_iter();
                self.rounds(body, all, span, |lowering| {
                    let Some(bit) = bits.next() else { return Ok(false) };
                    lowering
                        .declare_name(*name, SymbolEntry::Bits(IndexSet::One(bit)))
                        .map(|()| true)
                })
            }
        }
    }

    /// Evaluates an expression that a `for` iterates over. A gate definition sees no bits.
    fn elements(&mut self, expr: &QasmExpr, scope: ExprScope) -> Lower<Classical> {
        match scope {
            ExprScope::Global => self.classical(expr),
            ExprScope::Gate(_) => self.evaluate(expr, scope).map(Classical::Value),
        }
    }

    /// Returns the values that a `for` iterates over.
    pub(super) fn range(&mut self, over: &Index, scope: ExprScope) -> Lower<Range> {
        match over {
            Index::Range { start, step, end, span } => {
                let (Some(start), Some(end)) = (start, end) else {
                    let (expected, given) =
                        ("both ends of the range".to_owned(), "one missing".to_owned());
                    return self.fail(QasmProblem::Expected { expected, given }, *span);
                };
                let next = Some(self.integer_in(start, "the start of a range", scope)?);
                let step = match step {
                    Some(step) => self.integer_in(step, "the step of a range", scope)?,
                    None => 1,
                };
                let end = self.integer_in(end, "the end of a range", scope)?;
                if step == 0 {
                    return self.fail(QasmProblem::EmptySelection, *span);
                }
                Ok(Range::Integers { next, step, end })
            }
            Index::Set(_, items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push((self.evaluate(item, scope)?, item.span));
                }
                Ok(Range::Values(values))
            }
            Index::At(expr) => match self.elements(expr, scope)? {
                Classical::BitVector { bits, .. } => Ok(Range::Bits(bits)),
                Classical::Value(QasmValue::Runtime(value)) if runtime::width(&value) > 0 => {
                    let mut bits = Vec::new();
                    for at in 0..runtime::width(&value) {
                        let bit = (*value).clone().pick(&[at]).map_err(runtime::problem);
                        bits.push((self.check(bit, expr.span).map(runtime::value)?, expr.span));
                    }
                    Ok(Range::Values(bits))
                }
                Classical::Value(QasmValue::Array(items)) => {
                    Ok(Range::Values(items.iter().map(|item| (item.clone(), expr.span)).collect()))
                }
                Classical::Value(QasmValue::Bits { width, bits }) => {
                    let bit = |at| QasmValue::Bits { width: 1, bits: bits >> at & 1 };
                    Ok(Range::Values((0..width).map(|at| (bit(at), expr.span)).collect()))
                }
                _ => {
                    let expected = "a range in brackets, a set in braces or an array".to_owned();
                    let given = "another expression".to_owned();
                    self.fail(QasmProblem::Expected { expected, given }, expr.span)
                }
            },
        }
    }

    pub(super) fn switch(&mut self, switch: &SwitchCase, all: &[QasmStmt]) -> Lower<()> {
        let SwitchCase { subject, cases, default } = switch;
        let default = default.as_deref().unwrap_or_default();
        let cases = self.labels(cases)?;
        match self.classical(subject)? {
            Classical::Value(value @ (QasmValue::Int(..) | QasmValue::Bits { .. })) => {
                for (labels, body) in &cases {
                    for (label, span) in labels {
                        let same =
                            self.binary(BinaryOp::Equal, value.clone(), label.clone(), *span)?;
                        if same == QasmValue::Bool(true) {
                            self.block(body, all);
                            return Ok(());
                        }
                    }
                }
                self.block(default, all);
                Ok(())
            }
            Classical::Value(QasmValue::Runtime(expr)) => {
                self.runtime_cases(&expr, &cases, default, all)
            }
            Classical::BitVector { bits, signed, .. } => {
                self.cases(&bits, signed, &cases, default, all)
            }
            _ => {
                let (given, expected) = ("this".to_owned(), "an integer".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, subject.span)
            }
        }
    }

    /// Evaluates the labels of cases: whole numbers, each of them once.
    fn labels<'a>(&mut self, cases: &'a [Case]) -> Lower<Vec<Labelled<'a>>> {
        let mut seen = HashSet::new();
        let mut all = Vec::with_capacity(cases.len());
        for (exprs, body) in cases {
            let mut labels = Vec::with_capacity(exprs.len());
            for expr in exprs {
                let label = self.evaluate(expr, ExprScope::Global)?;
                let value = match &label {
                    QasmValue::Int(value, _) => *value,
                    QasmValue::Bits { bits, .. } => bits.cast_signed(),
                    other => {
                        let (given, expected) =
                            (other.describe().to_owned(), "an integer".to_owned());
                        return self.fail(QasmProblem::WrongType { given, expected }, expr.span);
                    }
                };
                if !seen.insert(value) {
                    return self.fail(QasmProblem::RepeatedCase { value }, expr.span);
                }
                labels.push((label, expr.span));
            }
            all.push((labels, &**body));
        }
        Ok(all)
    }

    /// Lowers the cases of a value that is known only when the circuit runs.
    fn runtime_cases(
        &mut self,
        subject: &ClassicalExpr,
        cases: &[Labelled<'_>],
        default: &[QasmStmt],
        all: &[QasmStmt],
    ) -> Lower<()> {
        let Some(((labels, body), others)) = cases.split_first() else {
            self.block(default, all);
            return Ok(());
        };
        let mut holds = Truth::Constant(false);
        for (label, span) in labels {
            let subject = QasmValue::Runtime(Box::new(subject.clone()));
            let same = self.binary(BinaryOp::Equal, subject, label.clone(), *span)?;
            holds = holds.combine(self.truth(Classical::Value(same), *span)?, false);
        }
        let span = labels.first().map_or(QasmSpan::default(), |label| label.1);
        let condition = match holds {
            Truth::Residual(condition) => condition,
            Truth::Constant(true) => {
                self.block(body, all);
                return Ok(());
            }
            Truth::Constant(false) => {
                return self.runtime_cases(subject, others, default, all);
            }
        };
        let mut result = Ok(());
        self.branches(condition, span, |lowering, otherwise| match otherwise {
            true => result = lowering.runtime_cases(subject, others, default, all),
            false => lowering.block(body, all),
        })?;
        result
    }

    /// Lowers cases as `if` one case `else` the others.
    fn cases(
        &mut self,
        bits: &[u32],
        signed: bool,
        cases: &[Labelled<'_>],
        default: &[QasmStmt],
        all: &[QasmStmt],
    ) -> Lower<()> {
        let Some(((labels, body), others)) = cases.split_first() else {
            self.block(default, all);
            return Ok(());
        };
        let mut holds = Truth::Constant(false);
        for (label, span) in labels {
            let label = Classical::Value(label.clone());
            let same = self.compare_word(bits.to_vec(), signed, Relation::Equal, label, *span)?;
            holds = holds.combine(same, false);
        }
        let span = labels.first().map_or(QasmSpan::default(), |label| label.1);
        match holds {
            Truth::Constant(true) => {
                self.block(body, all);
                Ok(())
            }
            Truth::Constant(false) => self.cases(bits, signed, others, default, all),
            Truth::Residual(condition) => {
                let mut result = Ok(());
                self.branches(condition, span, |lowering, otherwise| {
                    if otherwise {
                        result = lowering.cases(bits, signed, others, default, all);
                    } else {
                        lowering.block(body, all);
                    }
                })?;
                result
            }
        }
    }
}

/// Values that a `for` iterates over.
pub(super) enum Range {
    Integers { next: Option<i128>, step: i128, end: i128 },
    Values(Vec<(QasmValue, QasmSpan)>),
    Bits(Vec<u32>),
}

impl Range {
    /// Returns the values that are known, in order; `at` is the span of the range.
    pub(super) fn values(self, at: QasmSpan) -> Box<dyn Iterator<Item = (QasmValue, QasmSpan)>> {
        match self {
            Range::Integers { next, step, end } => {
                let all = std::iter::successors(next, move |now| now.checked_add(step));
                let within = move |now: &i128| if step > 0 { *now <= end } else { *now >= end };
                Box::new(all.take_while(within).map(move |now| (QasmValue::int(now), at)))
            }
            Range::Values(values) => Box::new(values.into_iter()),
            Range::Bits(_) => Box::new(std::iter::empty()),
        }
    }
}

pub(super) fn index_span(index: &Index) -> QasmSpan {
    match index {
        Index::At(expr) => expr.span,
        Index::Range { span, .. } | Index::Set(span, _) => *span,
    }
}
