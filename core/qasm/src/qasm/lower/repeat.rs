//! Loops that a measurement ends: their body is planned once.
//!
//! ```text
//! while (c == 0) {                  while (c == 0 && !left) {
//!     reset q; h q;                     reset q; h q;
//!     c = measure q;                    c = measure q;
//!     n += 1;                           n = n + 1, in bits
//!     if (n == 9) break;                if (n == 9) left = 1;
//! }                                 }
//! ```
//!
//! A fact about the first iteration may not hold in the second. So before the loop each variable
//! that is assigned in it goes to bits, or is one of the values that it may have (`fixed_point`),
//! or is lost if it cannot; any other change in an iteration is an error. A condition that takes
//! computing is computed before the loop and at the end of each iteration, into a bit that the loop
//! reads.

use std::collections::{HashMap, HashSet};

use super::{
    ErrorReported, Guard, IndexSet, Lower, LoweredItem, QasmLowering, QasmValue,
    classical::Classical,
    conditional::PlannedBranch,
    fixed_point::FixedPointVariable,
    frames::{ExitFrame, FrameKind},
    memory::VariableStore,
    names::SymbolEntry,
    subroutine::CallReturn,
    truth::Truth,
    variables::{BranchEnds, QasmVariable, ScopeLocals, VariableChange, VariableState},
    walk::assigned,
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{FileSpan, QasmExpr, QasmSpan, QasmStmt},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// States that must be the same in each iteration, by variable.
pub(super) type LoopInvariants = Vec<(usize, VariableState)>;

/// Loop that a measurement ends, as written.
#[derive(Clone, Copy)]
struct MeasuredLoop<'a> {
    /// `None` is always true.
    condition: Option<&'a QasmExpr>,
    body: &'a [QasmStmt],
    all: &'a [QasmStmt],
    span: QasmSpan,
}

/// Condition of a loop before its first iteration.
struct LoopTest {
    /// `None` is always true.
    condition: Option<Condition>,
    /// Bit that stores the condition, if it takes computing.
    go: Option<u32>,
}

/// Snapshot of the state of the lowering.
pub(super) struct Checkpoint {
    plan: usize,
    branches: usize,
    diagnostics: usize,
    warnings: usize,
    reported: HashSet<&'static str>,
    bits: (usize, u32),
    spare: HashMap<u32, Vec<u32>>,
    variables: Vec<QasmVariable>,
    locals: Vec<ScopeLocals>,
    log: Vec<VariableChange>,
    frames: Vec<ExitFrame>,
    results: Vec<CallReturn>,
    /// Sizes and operations that were counted; steps were gone.
    counts: [u64; 3],
    exit_bits: usize,
    memory: VariableStore,
    passed: Option<FileSpan>,
}

impl Checkpoint {
    /// The number of errors and warnings before.
    pub(super) fn n_diagnostics(&self) -> usize {
        self.diagnostics
    }
}

impl QasmLowering<'_> {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            plan: self.plan.len(),
            branches: self.branches.len(),
            diagnostics: self.diagnostics.len(),
            warnings: self.warnings,
            reported: self.reported.clone(),
            bits: (self.bits.len(), self.n_bits),
            spare: self.spare.clone(),
            variables: self.variables.clone(),
            locals: self.locals.clone(),
            log: self.log.clone(),
            frames: self.frames.clone(),
            results: self.results.clone(),
            counts: [self.conditions, self.elements, self.count],
            exit_bits: self.exit_bits.len(),
            memory: self.memory.clone(),
            passed: self.passed,
        }
    }

    /// Undoes the plan of a statement, in the scope and branch in which it began.
    pub(super) fn back_to(&mut self, start: &Checkpoint) {
        self.plan.truncate(start.plan);
        self.branches.truncate(start.branches);
        self.diagnostics.truncate(start.diagnostics);
        self.bits.truncate(start.bits.0);
        self.exit_bits.truncate(start.exit_bits);
        (self.warnings, self.n_bits, self.passed) = (start.warnings, start.bits.1, start.passed);
        [self.conditions, self.elements, self.count] = start.counts;
        self.reported.clone_from(&start.reported);
        self.spare.clone_from(&start.spare);
        self.variables.clone_from(&start.variables);
        self.locals.clone_from(&start.locals);
        self.log.clone_from(&start.log);
        self.frames.clone_from(&start.frames);
        self.results.clone_from(&start.results);
        self.memory.clone_from(&start.memory);
        self.leaving = None;
    }

    /// Returns the states of the variables that a body may change, except for those in bits.
    pub(super) fn known(&self, body: &[QasmStmt]) -> LoopInvariants {
        let mut ids = self.assigned_variables(body);
        // A subroutine may change an array.
        ids.extend((0..self.variables.len()).filter(|&id| self.variables[id].is_array()));
        ids.sort_unstable();
        ids.dedup();
        let known = ids.into_iter().map(|id| (id, self.variables[id].state.clone()));
        known
            .filter(|(_, state)| {
                !matches!(state, VariableState::Bits { .. } | VariableState::Stored)
            })
            .collect()
    }

    /// Returns the outer variables that a body assigns.
    pub(super) fn assigned_variables(&self, body: &[QasmStmt]) -> Vec<usize> {
        let variable = |name| match self.names.get(name) {
            Some(&SymbolEntry::Variable(id)) => Some(id),
            _ => None,
        };
        assigned(body).into_iter().filter_map(variable).collect()
    }

    /// Plans a loop that runs while a condition on bits holds, or until it is left; `None` is
    /// always true.
    pub(super) fn repeat(
        &mut self,
        condition: Option<&QasmExpr>,
        body: &[QasmStmt],
        all: &[QasmStmt],
        span: QasmSpan,
    ) -> Lower<()> {
        if self.has_memory() {
            return self.circuit_while(condition, body, all, span);
        }
        let source = MeasuredLoop { condition, body, all, span };
        let mut numbers = self.fixed_point_variables(&self.assigned_variables(body));
        for plans in 0.. {
            let start = (!numbers.is_empty()).then(|| self.checkpoint());
            let again = self.repeat_with(&mut numbers, plans, source)?;
            match start {
                Some(start) if again => self.back_to(&start),
                _ => break,
            }
            numbers.retain(|number| number.lost().is_none());
        }
        Ok(())
    }

    /// Plans the loop, with the values that some numbers may have in it. Returns true if they may
    /// have others, and it is to be planned again.
    fn repeat_with(
        &mut self,
        numbers: &mut [FixedPointVariable],
        plans: usize,
        source: MeasuredLoop<'_>,
    ) -> Lower<bool> {
        let span = source.span;
        self.move_assigned_to_bits(numbers, source)?;
        self.begin_fixed_point(numbers, span)?;
        let exits = self.exit_bits.len();
        let Some(LoopTest { condition: test, go }) = self.loop_test(source)? else {
            return Ok(false);
        };
        let head = self.plan.len();
        let size = test.as_ref().map_or(Ok(0), |test| self.spend_branch(test, self.guard, span))?;
        let left_before: Vec<u64> = self.frames.iter().map(|frame| frame.left).collect();
        self.add_count(1, span);
        self.push(LoweredItem::While {
            condition: Condition::All(Vec::new()),
            place: self.file_span(span),
        });
        let Some(changed) = self.plan_iteration(numbers, plans, source, go, size, exits)? else {
            return Ok(true);
        };
        self.check_unchanged(&changed, span)?;
        let condition = self.head_condition(test, left_before, span)?;
        let place = self.file_span(span);
        if let Some(planned) = self.plan.get_mut(head) {
            planned.item = LoweredItem::While { condition, place };
        }
        Ok(false)
    }

    /// Moves to bits the variables that a loop assigns, except for some numbers; those for which
    /// that is not possible are lost.
    fn move_assigned_to_bits(
        &mut self,
        numbers: &[FixedPointVariable],
        MeasuredLoop { body, span, .. }: MeasuredLoop<'_>,
    ) -> Lower<()> {
        for id in self.assigned_variables(body) {
            if numbers.iter().any(|number| number.id() == id) {
                continue;
            }
            if !matches!(self.variables[id].state, VariableState::Bits { .. })
                && self.spill(id, span)?.is_none()
            {
                self.lose(id, span);
            }
            // In a later iteration it may be larger than in the first one.
            self.use_all_digits(id);
        }
        Ok(())
    }

    /// Computes the condition of a loop before its first iteration; `None` if it is always false.
    fn loop_test(
        &mut self,
        MeasuredLoop { condition, span, .. }: MeasuredLoop<'_>,
    ) -> Lower<Option<LoopTest>> {
        let start = self.plan.len();
        let truth = self.asked(condition)?;
        let computed = self.plan.len() > start;
        let condition = match truth {
            Truth::Constant(false) => return Ok(None),
            Truth::Constant(true) => None,
            Truth::Residual(test) if !computed => Some(test),
            Truth::Residual(test) => {
                let go = self.scratch_bits(1, self.locals.len(), span)?.get(0);
                self.store_truth(go, test, span, true)?;
                Some(Condition::Bit { bit: go, value: true })
            }
        };
        let go = match &condition {
            Some(Condition::Bit { bit, .. }) if computed => Some(*bit),
            _ => None,
        };
        Ok(Some(LoopTest { condition, go }))
    }

    /// Plans the body of a loop, after its head, and returns the variables that it changed; `None`
    /// if the loop is to be planned again.
    fn plan_iteration(
        &mut self,
        numbers: &mut [FixedPointVariable],
        plans: usize,
        MeasuredLoop { condition, body, all, span }: MeasuredLoop<'_>,
        go: Option<u32>,
        size: u64,
        exits: usize,
    ) -> Lower<Option<BranchEnds>> {
        let (outer, mark) = (self.guard, self.mark);
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        self.branches.push(PlannedBranch { parent: outer, condition: None, stored: false, size });
        (self.guard, self.mark) = (Some(Guard { number, otherwise: false }), self.log.len());
        self.depth += 1;
        let errors = self.n_errors();
        let around = std::mem::replace(&mut self.around_loop, self.locals.len());
        self.enter_frame(FrameKind::Round);
        self.block(body, all);
        self.leave_frame(span);
        let more = match self.leaving {
            None => self.end_round(numbers, plans, exits, span),
            // Its end is never reached.
            Some(_) => {
                self.next_round(numbers);
                Ok(false)
            }
        };
        let again = match go {
            Some(go) if self.leaving.is_none() => self.ask_again(condition, go, span),
            _ => Ok(()),
        };
        self.around_loop = around;
        self.leaving = None;
        let changed = self.end_branch();
        (self.guard, self.mark) = (outer, mark);
        self.leave_branch();
        self.push(LoweredItem::EndWhile);
        again?;
        let more = more?;
        if self.n_errors() > errors {
            return Err(ErrorReported);
        }
        Ok((!more).then_some(changed))
    }

    /// Returns an error if an iteration changes a known variable, unless it is lost.
    fn check_unchanged(&mut self, changed: &[(usize, VariableState)], span: QasmSpan) -> Lower<()> {
        let differs = |(id, end): &&(usize, VariableState)| {
            self.variables
                .get(*id)
                .is_some_and(|v| !matches!(v.state, VariableState::Lost(_)) && v.state != *end)
        };
        if let Some(&(id, _)) = changed.iter().find(differs) {
            return self.depends(
                id,
                self.file_span(span),
                "each iteration of this loop changes it",
            );
        }
        Ok(())
    }

    /// Returns the condition at the head of a loop: its own one, and that it is not left; an error
    /// if it has neither.
    fn head_condition(
        &mut self,
        test: Option<Condition>,
        left_before: Vec<u64>,
        span: QasmSpan,
    ) -> Lower<Condition> {
        let mut conditions: Vec<Condition> = test.into_iter().collect();
        for (frame, before) in self.frames.iter_mut().zip(left_before) {
            if let Some(bit) = frame.bit.filter(|_| frame.left > before) {
                frame.read = true;
                conditions.push(Condition::Bit { bit, value: false });
            }
        }
        match conditions.len() {
            0 => {
                let place = self.file_span(span);
                let help = "give it a condition that an iteration can change, or a `break`";
                Err(self.report(
                    Diagnostic::error(QasmProblem::Endless).with_label(place, "").help(help),
                ))
            }
            1 => Ok(conditions.remove(0)),
            _ => Ok(Condition::All(conditions)),
        }
    }

    fn asked(&mut self, condition: Option<&QasmExpr>) -> Lower<Truth> {
        condition.map_or(Ok(Truth::Constant(true)), |condition| self.condition(condition))
    }

    /// Updates the bit of a loop with its condition at the end of an iteration, unless the loop is
    /// left.
    fn ask_again(&mut self, condition: Option<&QasmExpr>, go: u32, span: QasmSpan) -> Lower<()> {
        let rest = if self.left_somewhere() { vec![self.guard_rest(span)?] } else { Vec::new() };
        // Computing the condition takes bits that are 0 again before the next iteration.
        self.enter_scope();
        let truth = self.asked(condition);
        let stored = truth.and_then(|truth| match truth {
            Truth::Residual(test) => self.store_truth(go, test, span, false),
            Truth::Constant(holds) => {
                self.store_number(IndexSet::One(go), Classical::Value(QasmValue::Bool(holds)), span)
            }
        });
        self.leave_scope();
        self.end_rest(rest);
        stored
    }
}
