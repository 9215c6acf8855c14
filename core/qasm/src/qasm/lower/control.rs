//! Blocks, and the values of variables where paths meet.
//!
//! ```text
//! int n = 1;                       if (c[0] == 1) {
//! if (c[0]) { n = 2; h q; }          h q[0]
//!                                    n = 2            each path writes what it knows
//!                                  } else {
//!                                    n = 1
//!                                  }
//! rz(n * pi / 4) q;                rz(n * pi / 4) q[0]
//! ```
//! Constructs that are left early under a condition become blocks, which `break` leaves; if that is
//! a loop that runs in the circuit, the exit is one of the loop.

use std::sync::Arc;

use super::{
    ErrorReported, Guard, Lower, LoweredItem, Planned, QasmLowering, QasmValue,
    case_split::is_of_value,
    conditional::PlannedBranch,
    evaluate::position,
    frames::{ExitFrame, FrameKind},
    names::SymbolEntry,
    repeat::Checkpoint,
    runtime,
    truth::{Truth, negate},
    variables::{BranchEnds, VariableState},
    walk::walk,
};
use crate::{
    circuit::{Condition, Relation},
    classical::{ClassicalExpr, ClassicalType, IntType, VariableId},
    qasm::{
        ast::{ForLoop, Index, QasmExpr, QasmExprKind, QasmSpan, QasmStmt, QasmStmtKind},
        diagnostic::{Diagnostic, QasmProblem, Severity},
    },
};

/// Rounds of a loop that measures which are planned one by one.
const MOST_UNROLLED: i128 = 64;

/// Returns true if a body measures, or calls what may.
fn measures(body: &[QasmStmt]) -> bool {
    let mut any = false;
    walk(body, &mut Vec::new(), &mut |statement, _| {
        any |= match &statement.kind {
            QasmStmtKind::Measure(_) | QasmStmtKind::Reset(_) => true,
            QasmStmtKind::Assign(assignment) => {
                matches!(assignment.value.kind, QasmExprKind::Measure(_) | QasmExprKind::Call(..))
            }
            QasmStmtKind::Declare(declaration) => declaration.value.as_ref().is_some_and(|value| {
                matches!(value.kind, QasmExprKind::Measure(_) | QasmExprKind::Call(..))
            }),
            _ => false,
        };
    });
    any
}

/// Beginning of a block in the plan.
#[derive(Clone, Debug)]
pub(super) enum BlockHead {
    If(Condition),
    Else,
    /// `None` is always true.
    While(Option<Condition>),
    For {
        slot: VariableId,
        values: Box<[ClassicalExpr; 3]>,
    },
    /// A block that an exit leaves.
    Block,
}

/// The frames that exits of a block leave: all of it, and one round if it is a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockFrames {
    pub(super) whole: Option<u64>,
    pub(super) round: Option<u64>,
}

/// A loop that runs in the circuit, as written.
#[derive(Clone, Copy)]
struct CircuitLoop<'a> {
    body: &'a [QasmStmt],
    all: &'a [QasmStmt],
    span: QasmSpan,
}

impl LoweredItem {
    fn open(head: BlockHead) -> LoweredItem {
        LoweredItem::Open { head, frames: BlockFrames::default() }
    }
}

impl QasmLowering<'_> {
    /// Continues after two branches whose items are `start..middle` and `middle..`: what both leave
    /// with different values is in memory from here on. Returns the new `start` and `middle`.
    pub(super) fn join_in_memory(
        &mut self,
        ends: [&BranchEnds; 2],
        (mut start, mut middle): (usize, usize),
        span: QasmSpan,
    ) -> Lower<(usize, usize)> {
        let mut ids: Vec<usize> =
            ends.iter().flat_map(|ends| ends.iter().map(|end| end.0)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| id < self.variables.len());
        for id in ids {
            let before = self.variables[id].state.clone();
            let [a, b] = ends.map(|ends| {
                let end = ends.iter().find(|end| end.0 == id);
                end.map_or_else(|| before.clone(), |end| end.1.clone())
            });
            if a == b {
                self.set(id, a);
                continue;
            }
            // A branch that changes nothing writes nothing.
            let first = self.write_state(id, &before, start, span)?;
            (start, middle) = (start + first, middle + first);
            middle += self.write_change(id, [&before, &a], middle, span)?;
            let end = self.plan.len();
            self.write_change(id, [&before, &b], end, span)?;
            self.set(id, VariableState::Stored);
        }
        Ok((start, middle))
    }

    /// Makes the items from `start` on, of which those from `middle` on are the other branch, an
    /// `if` with a block: unless all of it are single instructions that do not change what the
    /// condition reads.
    pub(super) fn form_of_branches(
        &mut self,
        number: u32,
        start: usize,
        middle: usize,
        (outer, span): (Option<Guard>, QasmSpan),
    ) {
        let is_plain = |planned: &Planned| {
            !matches!(
                planned.item,
                LoweredItem::Open { .. }
                    | LoweredItem::Close
                    | LoweredItem::Exit { .. }
                    | LoweredItem::BreakLoop
                    | LoweredItem::Write { .. }
                    | LoweredItem::WriteBits { .. }
                    | LoweredItem::WriteBitAt { .. }
            )
        };
        let items = &self.plan[start..];
        if items.is_empty() {
            return;
        }
        if items.iter().all(is_plain) && !self.changes_its_condition(number, start) {
            return;
        }
        let Some(condition) = self.branches[number as usize].condition.take() else { return };
        self.add_count(1, span);
        let at = |item| Planned { item, guard: outer };
        if middle == start {
            // The first branch does nothing.
            self.plan.insert(start, at(LoweredItem::open(BlockHead::If(negate(condition)))));
            self.plan.push(at(LoweredItem::Close));
            return;
        }
        if middle < self.plan.len() {
            self.plan.push(at(LoweredItem::Close));
            self.plan.insert(middle, at(LoweredItem::open(BlockHead::Else)));
            self.plan.insert(middle, at(LoweredItem::Close));
        } else {
            self.plan.push(at(LoweredItem::Close));
        }
        self.plan.insert(start, at(LoweredItem::open(BlockHead::If(condition))));
    }

    /// Ends a frame that was left early under a condition: writes the variables that paths leave
    /// with different values, and makes it a block.
    pub(super) fn close_frame(&mut self, frame: &ExitFrame, reached: bool, span: QasmSpan) {
        if frame.exits.is_empty() {
            return;
        }
        let mut writes: Vec<Vec<(usize, VariableState)>> = vec![Vec::new(); frame.exits.len()];
        for id in 0..frame.variables.min(self.variables.len()) {
            let present = self.variables[id].state.clone();
            let present = reached.then_some(present);
            let mut states: Vec<&VariableState> =
                frame.exits.iter().filter_map(|exit| exit.get(id)).collect();
            states.extend(&present);
            let Some((&first, others)) = states.split_first() else { continue };
            if others.iter().all(|&state| state == first) {
                if !reached {
                    self.set(id, first.clone());
                }
                continue;
            }
            // After the end of the file only what is in memory is read.
            if frame.kind == FrameKind::File && self.variables[id].slot.is_none() {
                continue;
            }
            for (exit, writes) in frame.exits.iter().zip(&mut writes) {
                writes.extend(exit.get(id).map(|state| (id, state.clone())));
            }
            if let Some(state) = &present {
                let end = self.plan.len();
                let _ = self.write_state(id, state, end, span);
            }
            self.set(id, VariableState::Stored);
        }
        for at in (frame.start..self.plan.len()).rev() {
            if let LoweredItem::Exit { frame: number, exit, .. } = self.plan[at].item
                && number == frame.number
            {
                for (id, state) in &writes[exit] {
                    let _ = self.write_state(*id, state, at, span);
                }
            }
        }
        if frame.kind == FrameKind::File {
            return;
        }
        self.label_block(frame);
    }

    /// Makes a frame a block that its exits leave: the loop itself, if it is one.
    fn label_block(&mut self, frame: &ExitFrame) {
        let number = Some(frame.number);
        let is_loop = |planned: Option<&Planned>| {
            matches!(
                planned.map(|planned| &planned.item),
                Some(LoweredItem::Open { head: BlockHead::While(_) | BlockHead::For { .. }, .. })
            )
        };
        let before = frame.start.checked_sub(1);
        if frame.kind == FrameKind::Round
            && frame.in_circuit
            && is_loop(before.and_then(|at| self.plan.get(at)))
        {
            if let Some(LoweredItem::Open { frames, .. }) =
                before.and_then(|at| self.plan.get_mut(at)).map(|planned| &mut planned.item)
            {
                frames.round = number;
            }
            return;
        }
        let written = self.plan[frame.start..]
            .iter()
            .take_while(|planned| matches!(planned.item, LoweredItem::Write { .. }));
        let first = frame.start + written.count();
        if frame.kind == FrameKind::Loop
            && is_loop(self.plan.get(first))
            && self.end_of_block(first) + 1 == self.plan.len()
        {
            if let LoweredItem::Open { frames, .. } = &mut self.plan[first].item {
                frames.whole = number;
            }
            return;
        }
        let guard = frame.guard;
        let frames = BlockFrames { whole: number, round: None };
        let open = LoweredItem::Open { head: BlockHead::Block, frames };
        self.plan.insert(frame.start, Planned { item: open, guard });
        self.plan.push(Planned { item: LoweredItem::Close, guard });
    }

    /// The position of the end of the block that begins at a position.
    fn end_of_block(&self, start: usize) -> usize {
        let mut open = 0usize;
        for (at, planned) in self.plan.iter().enumerate().skip(start) {
            match planned.item {
                LoweredItem::Open { .. } => open += 1,
                LoweredItem::Close => open -= 1,
                _ => {}
            }
            if open == 0 {
                return at;
            }
        }
        self.plan.len()
    }

    /// `break`, `continue`, `return`, `end` under a condition: the path leaves frame number `at`.
    pub(super) fn leave_in_circuit(&mut self, at: usize, span: QasmSpan) {
        let (number, exit) = (self.frames[at].number, self.frames[at].exits.len());
        let within = self.frames[at].variables.min(self.variables.len());
        let states = self.variables[..within].iter().map(|variable| variable.state.clone());
        let states = states.collect();
        self.frames[at].exits.push(states);
        self.add_count(1, span);
        let ends = self.frames[at].kind == FrameKind::File;
        self.push(LoweredItem::Exit { frame: number, exit, ends });
    }

    /// Plans a loop that runs in the circuit while a condition holds, or until it is left.
    pub(super) fn circuit_while(
        &mut self,
        condition: Option<&QasmExpr>,
        body: &[QasmStmt],
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Lower<()> {
        let source = CircuitLoop { body, all, span };
        let (exits, mut tested) = (self.n_left(), false);
        self.loop_in_memory(
            source,
            |lowering| {
                let head = lowering.plan.len();
                lowering.push(LoweredItem::open(BlockHead::While(None)));
                head
            },
            |lowering, head| {
                let start = lowering.plan.len();
                let truth = match condition {
                    Some(condition) => lowering.condition(condition)?,
                    None => Truth::Constant(true),
                };
                tested |= matches!(truth, Truth::Residual(_));
                match truth {
                    Truth::Constant(true) => Ok(true),
                    Truth::Constant(false) => Ok(false),
                    Truth::Residual(condition) if lowering.plan.len() == start => {
                        if let LoweredItem::Open { head, .. } = &mut lowering.plan[head].item {
                            *head = BlockHead::While(Some(condition));
                        }
                        Ok(true)
                    }
                    // What it takes to find out is done at the beginning of each round.
                    Truth::Residual(condition) => {
                        let guard = lowering.guard;
                        let open = LoweredItem::open(BlockHead::If(negate(condition)));
                        lowering.plan.push(Planned { item: open, guard });
                        lowering.plan.push(Planned { item: LoweredItem::BreakLoop, guard });
                        lowering.plan.push(Planned { item: LoweredItem::Close, guard });
                        Ok(true)
                    }
                }
            },
        )?;
        if !tested && self.n_left() == exits {
            let help = "give it a condition that an iteration can change, or a `break`";
            let endless = Diagnostic::error(QasmProblem::Endless);
            return Err(self.report(endless.with_label(self.file_span(span), "").help(help)));
        }
        Ok(())
    }

    /// Plans a `for` over a range that runs in the circuit.
    pub(super) fn circuit_for(
        &mut self,
        f: &ForLoop,
        values: [QasmValue; 3],
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Lower<()> {
        let ForLoop { ty, name, body, .. } = f;
        let Some(scalar @ ClassicalType::Int(_)) = self.scalar_type(ty)? else {
            let (given, expected) = ("another type".to_owned(), "an integer".to_owned());
            return self.fail(QasmProblem::WrongType { given, expected }, ty.span);
        };
        let mut exprs = Vec::with_capacity(3);
        for value in values {
            let expr = runtime::expr(value);
            exprs.push(self.check(expr, span)?);
        }
        let Ok(values) = <[ClassicalExpr; 3]>::try_from(exprs) else { return Err(ErrorReported) };
        for value in &values {
            let cast = value.clone().cast(scalar).map_err(runtime::problem);
            self.check(cast, span)?;
        }
        let values = Box::new(values);
        let source = CircuitLoop { body, all, span };
        self.enter_scope();
        self.enter_frame(FrameKind::Loop);
        let id = self.new_variable(*name, ty, None);
        let result = id.and_then(|id| {
            self.variables[id].state = VariableState::Stored;
            self.declare_name(*name, SymbolEntry::Variable(id))?;
            let slot = self.slot(id, span)?;
            self.loop_in_memory(
                source,
                |lowering| {
                    let head = lowering.plan.len();
                    let head_item = BlockHead::For { slot, values: values.clone() };
                    lowering.push(LoweredItem::open(head_item));
                    lowering.variables[id].state = VariableState::Stored;
                    head
                },
                |_, _| Ok(true),
            )
        });
        self.leave_frame(span);
        self.leave_scope();
        result
    }

    /// Plans a `for` that runs in the circuit, where its range is known only then, or it is long
    /// and measures; `None` for another one, which is unrolled.
    pub(super) fn for_in_circuit(
        &mut self,
        f: &ForLoop,
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Option<Lower<()>> {
        let Index::Range { start: Some(first), step, end: Some(last), .. } = &f.over else {
            return None;
        };
        let is_open = [Some(first), step.as_ref(), Some(last)]
            .into_iter()
            .flatten()
            .any(|expr| self.may_depend(expr));
        if !is_open && !measures(&f.body) {
            return None;
        }
        let (before, errors) = (self.checkpoint(), self.n_errors());
        let mut value = |expr: &QasmExpr| {
            let value = self.classical(expr)?;
            self.valued(value, expr.span)
        };
        let start = value(first);
        let step = step.as_ref().map_or(Ok(QasmValue::int(1)), &mut value);
        let end = value(last);
        let (Ok(start), Ok(step), Ok(end)) = (start, step, end) else {
            return Some(Err(ErrorReported));
        };
        let values = [start, step, end];
        if values.iter().any(QasmValue::is_runtime) {
            return Some(self.circuit_for(f, values, all, span));
        }
        let rounds = match &values {
            [QasmValue::Int(a, _), QasmValue::Int(s, _), QasmValue::Int(b, _)] if *s != 0 => {
                b.saturating_sub(*a) / s
            }
            _ => 0,
        };
        if rounds < MOST_UNROLLED {
            // What the ends call is called when they are evaluated again.
            self.back_to(&before);
            return None;
        }
        let result = self.circuit_for(f, values, all, span);
        if self.n_errors() == errors {
            return Some(result);
        }
        // Something in it must be known in each round.
        self.back_to(&before);
        None
    }

    /// Plans a loop: what its body assigns is in memory before it, and after each round.
    fn loop_in_memory(
        &mut self,
        source: CircuitLoop<'_>,
        mut open: impl FnMut(&mut Self) -> usize,
        mut test: impl FnMut(&mut Self, usize) -> Lower<bool>,
    ) -> Lower<()> {
        let CircuitLoop { body, all, span } = source;
        let mut stored = self.assigned_variables(body);
        loop {
            let start = self.checkpoint();
            stored.sort_unstable();
            stored.dedup();
            for &id in &stored {
                self.flush(id, span)?;
            }
            let head = open(self);
            let (outer, mark) = (self.guard, self.mark);
            let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
            let branch = PlannedBranch { parent: outer, condition: None, stored: false, size: 0 };
            self.branches.push(branch);
            (self.guard, self.mark) = (Some(Guard { number, otherwise: false }), self.log.len());
            self.depth += 1;
            let errors = self.n_errors();
            self.enter_frame(FrameKind::Round);
            if let Some(frame) = self.frames.last_mut() {
                frame.in_circuit = true;
            }
            let runs = test(self, head);
            if let Ok(true) = runs {
                self.block(body, all);
            }
            self.leave_frame(span);
            let ends_early = self.leaving.take().is_some();
            let changed = self.end_branch();
            (self.guard, self.mark) = (outer, mark);
            self.leave_branch();
            let missing: Vec<usize> = changed
                .iter()
                .map(|(id, _)| *id)
                .filter(|&id| self.variables[id].state != VariableState::Stored)
                .collect();
            if !missing.is_empty() && self.n_errors() == errors {
                self.back_to(&start);
                stored.extend(missing);
                continue;
            }
            if !ends_early {
                for (id, state) in &changed {
                    let end = self.plan.len();
                    self.write_state(*id, state, end, span)?;
                }
            }
            self.push(LoweredItem::Close);
            if self.n_errors() > errors {
                return Err(ErrorReported);
            }
            return match runs? {
                true => Ok(()),
                false => {
                    self.back_to(&start);
                    Ok(())
                }
            };
        }
    }

    /// Writes what is a result and known, at the end of the file.
    pub(super) fn write_results(&mut self) {
        for id in 0..self.variables.len() {
            let variable = &self.variables[id];
            let is_result = variable.is_output || variable.is_global && variable.slot.is_some();
            if is_result && matches!(variable.state, VariableState::Known(_)) {
                let (state, span) = (variable.state.clone(), variable.place.span);
                let end = self.plan.len();
                let _ = self.write_state(id, &state, end, span);
            }
        }
    }

    /// Plans a statement once for each value of an index that is known only when the circuit runs.
    /// If the statement may change what the index reads, its value is kept.
    pub(super) fn each_index(
        &mut self,
        (index, size): (&QasmExpr, u64),
        (span, is_kept): (QasmSpan, bool),
        mut statement: impl FnMut(&mut Self, u64) -> Lower<()>,
    ) -> Lower<()> {
        let value = self.classical(index)?;
        let mut expr = match self.valued(value, index.span)? {
            QasmValue::Runtime(expr) => expr,
            // A subroutine may give a known one.
            QasmValue::Int(given, _) => match position(given, size) {
                Some(at) => return statement(self, at),
                None => {
                    let name = self.text(index.span).to_owned();
                    let problem = QasmProblem::IndexOutOfRange { name, given, size };
                    return self.fail(problem, index.span);
                }
            },
            other => {
                let (given, expected) = (other.describe().to_owned(), "an integer".to_owned());
                return self.fail(QasmProblem::WrongType { given, expected }, index.span);
            }
        };
        if is_kept {
            *expr = self.kept_value(*expr, index.span)?;
        }
        self.spend(size.saturating_mul(20), span)?;
        let name = self.text(index.span).to_owned();
        // Where the index is outside nothing is done.
        let outside = match expr.ty() {
            Some(
                ClassicalType::Int(IntType { bits, signed: false }) | ClassicalType::Bits(bits),
            ) => 1u64.checked_shl(bits).is_none_or(|values| values > size),
            _ => true,
        };
        if outside {
            let (given, why) = (i128::from(size), format!("{size} is beyond its elements"));
            let problem = QasmProblem::LeftOut { name: name.clone(), value: given, why };
            self.warn(problem, index.span);
        }
        let mut result = Ok(());
        for at in 0..size {
            let is = |number: i128| {
                let same = expr.clone().compare(Relation::Equal, number);
                same.map_err(runtime::problem)
            };
            let up = is(i128::from(at));
            let mut selects = self.check(up, span)?;
            // A negative index counts from the end.
            if let Some(ClassicalType::Int(IntType { signed: true, .. })) = expr.ty() {
                let down = is(i128::from(at) - i128::from(size));
                selects = selects.or(self.check(down, span)?);
            }
            let condition = Condition::Expr(Arc::new(selects));
            self.branches(condition, span, |lowering, otherwise| {
                if !otherwise && result.is_ok() {
                    let start = lowering.checkpoint();
                    result = statement(lowering, at);
                    lowering.leave_out(&start, (&name, at), index.span, &mut result);
                }
            })?;
            if result.is_err() || self.leaving.is_some() {
                break;
            }
        }
        result
    }

    /// Leaves out a statement that is wrong for this value alone, with a warning: it may never
    /// occur.
    fn leave_out(
        &mut self,
        start: &Checkpoint,
        (name, at): (&str, u64),
        span: QasmSpan,
        result: &mut Lower<()>,
    ) {
        let new = self.diagnostics.get(start.n_diagnostics()..).unwrap_or_default();
        let mut errors = new.iter().filter(|d| d.severity == Severity::Error).peekable();
        let Some(first) = errors.peek().map(|error| error.message.clone()) else { return };
        if !errors.all(|error| is_of_value(&error.problem)) {
            return;
        }
        self.back_to(start);
        let (name, value) = (name.to_owned(), i128::from(at));
        self.warn(QasmProblem::LeftOut { name, value, why: first }, span);
        *result = Ok(());
    }
}
