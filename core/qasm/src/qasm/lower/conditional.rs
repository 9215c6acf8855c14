//! `if`: the condition is evaluated once, when it is reached.
//!
//! A circuit has no blocks. Each instruction carries its own condition, and reads the bits when it
//! runs. The result is the same unless an instruction under an `if`, other than the last, changes a
//! bit that the condition reads. In that case, as in
//!
//! ```text
//! if (c[0]) { c[0] = measure q[0]; x q[1]; } else { z q[1]; }
//! ```
//!
//! the truth value of the condition is kept in a scratch bit, which all of the `if` reads instead,
//! and which is 0 again after it.

use std::{collections::HashSet, ops::Range, sync::Arc};

use super::{
    Guard, IndexSet, Lower, LoweredItem, Planned, QasmLowering,
    truth::{Truth, negate, size},
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{Conditional, QasmSpan, QasmStmt},
        diagnostic::QasmProblem,
    },
};

/// An `if` of the plan.
#[derive(Debug)]
pub(super) struct PlannedBranch {
    pub(super) parent: Option<Guard>,
    /// `None` for the body of a loop, whose head has the condition.
    pub(super) condition: Option<Condition>,
    /// True if a scratch bit stores its truth value.
    pub(super) stored: bool,
    /// Size of its condition, with those around it.
    pub(super) size: u64,
}

/// The conditions of an `if`, ready for instructions. `None` is always.
pub(super) struct Built {
    /// Condition for evaluating it: those of the branches around it.
    pub(super) whole: Option<Arc<Condition>>,
    then: Option<Arc<Condition>>,
    otherwise: Option<Arc<Condition>>,
    /// Scratch bit that stores its truth value; and the number of such bits, with those around it.
    pub(super) bit: Option<u32>,
    depth: u32,
}

impl Built {
    /// Returns the condition of a branch.
    pub(super) fn condition_of(&self, guard: Guard) -> Option<Arc<Condition>> {
        if guard.otherwise { self.otherwise.clone() } else { self.then.clone() }
    }
}

/// Returns a condition together with that around it.
pub(super) fn both(around: Option<&Condition>, condition: Condition) -> Arc<Condition> {
    Arc::new(match around {
        None => condition,
        Some(around) => around.clone().and(condition),
    })
}

impl QasmLowering<'_> {
    pub(super) fn conditional(
        &mut self,
        conditional: &Conditional,
        span: QasmSpan,
        all: &[QasmStmt],
    ) -> Lower<()> {
        let Conditional { condition, then, otherwise } = conditional;
        let otherwise = otherwise.as_deref().unwrap_or_default();
        match self.condition(condition)? {
            Truth::Residual(condition) => self.branches(condition, span, |lowering, is_else| {
                lowering.block(if is_else { otherwise } else { then }, all);
            }),
            // A branch that never runs is not checked: it may be just the case that the condition
            // guards against.
            Truth::Constant(holds) => {
                self.block(if holds { then } else { otherwise }, all);
                Ok(())
            }
        }
    }

    /// Plans `body` twice: first under a condition, then under its opposite.
    pub(super) fn branches(
        &mut self,
        condition: Condition,
        span: QasmSpan,
        mut body: impl FnMut(&mut Self, bool),
    ) -> Lower<()> {
        let size = self.spend_branch(&condition, self.guard, span)?;
        // Each takes at least a byte of a source, or was counted as a step.
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        let mut start = self.plan.len();
        let (outer, mark) = (self.guard, self.mark);
        self.branches.push(PlannedBranch {
            parent: outer,
            condition: Some(condition),
            stored: false,
            size,
        });
        self.mark = self.log.len();
        self.depth += 1;
        let sides = [false, true].map(|otherwise| Some(Guard { number, otherwise }));
        let mut middle = start;
        let [then, otherwise] = [false, true].map(|otherwise| {
            self.guard = sides[usize::from(otherwise)];
            if otherwise {
                middle = self.plan.len();
            }
            body(self, otherwise);
            (self.leaving.take(), self.end_branch())
        });
        (self.guard, self.mark) = (outer, mark);
        self.leave_branch();
        match (then, otherwise) {
            ((None, then), (None, otherwise)) if self.has_memory() => {
                (start, middle) =
                    self.join_in_memory([&then, &otherwise], (start, middle), span)?;
            }
            ((None, then), (None, otherwise)) => {
                self.join_branches([&then, &otherwise], sides, span)?
            }
            ((None, stays), _) => self.adopt(stays, sides[0], span)?,
            (_, (None, stays)) => self.adopt(stays, sides[1], span)?,
            // Both sides left: what follows runs after the inner one of the two frames.
            ((Some(a), _), (Some(b), _)) => self.leaving = Some(a.max(b)),
        }
        if self.has_memory() {
            self.form_of_branches(number, start, middle, (outer, span));
        } else if self.changes_its_condition(number, start) {
            self.branches[number as usize].stored = true;
            self.plan.insert(start, Planned { item: LoweredItem::Store { number }, guard: outer });
            self.plan.push(Planned { item: LoweredItem::Forget { number }, guard: None });
            self.add_count(2, span);
        }
        Ok(())
    }

    /// Counts the size of the conditions of two branches, with those around them.
    pub(super) fn spend_branch(
        &mut self,
        condition: &Condition,
        around: Option<Guard>,
        span: QasmSpan,
    ) -> Lower<u64> {
        let around =
            around.and_then(|g| self.branches.get(g.number as usize)).map_or(0, |b| b.size);
        let size = size(condition).saturating_mul(2).saturating_add(around);
        self.spend(size, span)?;
        Ok(size)
    }

    /// Returns true if anything from `start` on, except the very last step, changes a bit that the
    /// condition reads.
    pub(super) fn changes_its_condition(&self, number: u32, start: usize) -> bool {
        let items = &self.plan[start..];
        let written = |planned: &Planned| match &planned.item {
            LoweredItem::Measure { bits, .. }
            | LoweredItem::Assign { bits, .. }
            | LoweredItem::ReadoutError { bits, .. } => Some(bits.clone()),
            _ => None,
        };
        if !items.iter().any(|item| written(item).is_some()) {
            return false;
        }
        let mut reads = HashSet::new();
        if let Some(condition) = &self.branches[number as usize].condition {
            condition.for_each_bit(&mut |bit| {
                reads.insert(bit);
            });
        }
        let meets = |bits: &IndexSet, but_last: bool| {
            let len = bits.len().unwrap_or(1);
            let len = if but_last { len - 1 } else { len };
            if (len as usize) < reads.len() || matches!(bits, IndexSet::List(_)) {
                (0..len).any(|at| reads.contains(&bits.get(at)))
            } else {
                let last = bits.get(len);
                reads.iter().any(|&bit| bits.contains(bit) && !(but_last && bit == last))
            }
        };
        let last = items.len() - 1;
        items
            .iter()
            .enumerate()
            .any(|(i, item)| written(item).is_some_and(|bits| meets(&bits, i == last)))
    }

    /// Returns the conditions of every `if`, and the number of scratch bits that they need.
    pub(super) fn built_conditions(&mut self) -> (Vec<Built>, u32) {
        let mut built: Vec<Built> = Vec::with_capacity(self.branches.len());
        let mut most = 0;
        for branches in std::mem::take(&mut self.branches) {
            let parent = branches.parent.and_then(|g| built.get(g.number as usize).map(|b| (b, g)));
            let depth = parent.map_or(0, |(b, _)| b.depth) + u32::from(branches.stored);
            most = most.max(depth);
            let around = parent.and_then(|(b, guard)| b.condition_of(guard));
            let Some(condition) = branches.condition else {
                let (whole, then, otherwise) = (around.clone(), around.clone(), around);
                built.push(Built { whole, then, otherwise, bit: None, depth });
                continue;
            };
            let under = |condition| Some(both(around.as_deref(), condition));
            let opposite = negate(condition.clone());
            let whole = under(condition);
            built.push(if branches.stored {
                let bit = self.n_bits.saturating_add(depth - 1);
                let is = |value| Condition::Bit { bit, value };
                let (then, otherwise) = (Some(Arc::new(is(true))), under(is(false)));
                Built { whole, then, otherwise, bit: Some(bit), depth }
            } else {
                let otherwise = under(opposite);
                Built { then: whole.clone(), whole, otherwise, bit: None, depth }
            });
        }
        (built, most)
    }

    /// Keeps the measurements, among those whose result is not stored, of the qubits that are used
    /// afterwards, since a measurement changes these. Returns true if any is kept.
    pub(super) fn keep_used_measurements(&mut self) -> bool {
        if !self.plan.iter().any(|p| matches!(p.item, LoweredItem::Discard { .. })) {
            return false;
        }
        // The plan was counted, so walking it is bounded.
        let mut used: HashSet<u32> = HashSet::new();
        let mut loops = self.outermost_loops();
        let mut any = false;
        for at in (0..self.plan.len()).rev() {
            if let Some(body) = loops.pop_if(|body| body.end == at) {
                // All of a loop may run again.
                used.extend(self.plan[body].iter().flat_map(|planned| planned.item.uses()));
            }
            match &mut self.plan[at].item {
                // Each qubit on its own, as if each were measured by a statement of its own.
                LoweredItem::Discard { qubits, kept, .. } => {
                    *kept = qubits.iter().filter(|q| used.contains(q)).collect();
                    any |= !kept.is_empty();
                }
                item => used.extend(item.uses()),
            }
        }
        any
    }

    /// Returns the loops of the plan that are in no other loop.
    fn outermost_loops(&self) -> Vec<Range<usize>> {
        let (mut loops, mut open) = (Vec::new(), Vec::new());
        for (at, planned) in self.plan.iter().enumerate() {
            match (&planned.item, open.as_slice()) {
                (LoweredItem::While { .. } | LoweredItem::Open { .. }, _) => open.push(at),
                (LoweredItem::EndWhile | LoweredItem::Close, &[start]) => {
                    open.clear();
                    loops.push(start..at);
                }
                (LoweredItem::EndWhile | LoweredItem::Close, _) => {
                    open.pop();
                }
                _ => {}
            }
        }
        loops
    }

    /// Returns names for hidden registers that no register has.
    pub(super) fn scratch_names(&self) -> impl Iterator<Item = String> + use<> {
        let taken: HashSet<String> =
            self.bits.iter().filter_map(|r| r.name).map(|n| self.name(n)).collect();
        let names =
            (0u64..).map(|k| if k == 0 { "scratch".to_owned() } else { format!("scratch_{k}") });
        names.filter(move |name| !taken.contains(name))
    }

    /// Checks that the number of scratch bits stays within the limit.
    pub(super) fn check_hidden(&mut self, more: u32) -> Result<(), QasmProblem> {
        let given = u64::from(self.n_bits) + u64::from(more);
        if given > u64::from(u32::MAX) {
            return Err(QasmProblem::TooManyQubits { given, limit: u64::from(u32::MAX) });
        }
        Ok(())
    }
}
