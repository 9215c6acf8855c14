//! Primal values in the adjoint, on request of the sweep.
//!
//! ```text
//! the plan says     the adjoint does
//! record            pop at the start of the block that recorded it, a variable if several do
//! counter           a variable: set where the loop was left, changed in each iteration
//! computed          the instruction that defines it, once more, from operands got in the same way
//! ```
//!
//! In the draft every value is a pop of its own.

use crate::{
    entity::{Value, Variable},
    ir::{Int2, Kind, Op},
};

use super::{
    induction::{FinalValue, InductionVariable},
    sweep::{AdjointSweep, Popped},
    tape_plan::PrimalSource,
};

impl AdjointSweep<'_> {
    // Counters.

    pub(super) fn counter(&mut self, l: usize, k: usize) -> Variable {
        let b = &mut self.b;
        *self.counters.entry((l, k)).or_insert_with(|| b.declare(Kind::Int))
    }

    /// Returns the induction variables of a loop that run backwards, the first always.
    fn running(&self, l: usize) -> Vec<usize> {
        let wanted =
            |k: usize| k == 0 || self.plan.is_some_and(|g| g.tape_plan.counters.contains(&(l, k)));
        (0..self.analysis.canonical.counters[l].len()).filter(|&k| wanted(k)).collect()
    }

    /// Sets the induction variables to their final values, at the exit of a loop.
    pub(super) fn start_counters(&mut self, l: usize) {
        for k in self.running(l) {
            let last = self.primal_value(self.analysis.canonical.counters[l][k].value);
            let variable = self.counter(l, k);
            self.b.define(variable, last);
        }
    }

    /// Steps the induction variables back by one iteration.
    pub(super) fn step_counters(&mut self, l: usize) {
        for k in self.running(l) {
            let step = self.analysis.canonical.counters[l][k].step;
            let variable = self.counter(l, k);
            let now = self.b.use_variable(variable);
            let size = self.b.int(step.abs());
            let op = if step > 0 { Int2::Sub } else { Int2::Add };
            let before = self.b.inst(Op::Int2(op), &[now, size], Kind::Int);
            self.b.define(variable, before);
        }
    }

    // Primal values.

    pub(super) fn slot(&mut self, popped: Popped) -> u32 {
        self.popped.push(popped);
        self.popped.len() as u32 - 1
    }

    /// Pops the records of a block in reverse order, at the start of its adjoint.
    pub(super) fn pop_records(&mut self) {
        let Some(guide) = self.plan else { return };
        let mut slots = Vec::new();
        for &record in guide.tape_plan.pushed_at[self.at.index()].iter().rev() {
            let v = guide.tape_plan.records[record];
            let slot = self.slot(Popped::Value(v, self.at));
            slots.push(slot);
            let op = Op::Pop { tape: self.engine.tape, slot };
            let value = self.b.inst(op, &[], self.f.kinds[v].clone());
            self.b.define(self.records[record], value);
            self.fixed[record] = guide.tape_plan.once[record].then_some(value);
        }
        self.pops[self.at.index()].splice(0..0, slots.into_iter().rev());
    }

    /// Returns the primal value `v`, in the adjoint.
    pub(super) fn primal_value(&mut self, v: Value) -> Value {
        let Some(guide) = self.plan else { return self.draft_pop(v) };
        let n = &self.analysis.canonical;
        match guide.tape_plan.source(v, self.at) {
            Some(PrimalSource::Record(k)) => match self.fixed[k] {
                Some(value) => value,
                None => self.b.use_variable(self.records[k]),
            },
            Some(PrimalSource::Counter(l, k)) => {
                let variable = self.counter(l, k);
                self.b.use_variable(variable)
            }
            Some(PrimalSource::FinalValue(l, k)) => self.final_value(n.counters[l][k]),
            Some(PrimalSource::Recomputed) => self.recompute(v),
            // No live instruction needs it.
            None => self.draft_pop(v),
        }
    }

    /// Pops the value, in the draft, in place of its eventual source.
    fn draft_pop(&mut self, v: Value) -> Value {
        if self.analysis.canonical.defined[v.index()]
            .is_some_and(|i| self.f.insts[i].op.is_constant())
        {
            return self.recompute(v);
        }
        let place = (self.b.current(), v);
        if let Some(&value) = self.known.get(&place) {
            return value;
        }
        let slot = self.slot(Popped::Value(v, self.at));
        self.pops[self.at.index()].push(slot);
        let op = Op::Pop { tape: self.engine.tape, slot };
        let value = self.b.inst_at_front(place.0, op, self.f.kinds[v].clone());
        self.known.insert(place, value);
        value
    }

    /// Recomputes a value by the instruction that defines it.
    fn recompute(&mut self, v: Value) -> Value {
        let place = (self.b.current(), v);
        if let Some(&value) = self.known.get(&place) {
            return value;
        }
        let Some(inst) = self.analysis.canonical.defined[v.index()].map(|i| &self.f.insts[i])
        else {
            return v;
        };
        let args: Vec<Value> = inst.args.iter().map(|&a| self.primal_value(a)).collect();
        let here = self.b.position();
        self.b.set_position(inst.at);
        let value = self.b.inst(inst.op, &args, self.f.kinds[v].clone());
        self.b.set_position(here);
        self.known.insert(place, value);
        value
    }

    /// Returns the final value of an induction variable, after its loop has ended.
    fn final_value(&mut self, counter: InductionVariable) -> Value {
        let (Some(FinalValue::Bound(bound)) | Some(FinalValue::Beyond(bound, _))) =
            counter.final_value
        else {
            return self.recompute(counter.value);
        };
        let mut last = self.primal_value(bound);
        let Some(FinalValue::Beyond(_, inclusive)) = counter.final_value else { return last };
        if inclusive {
            let step = self.b.int(counter.step);
            last = self.b.inst(Op::Int2(Int2::Add), &[last, step], Kind::Int);
        }
        let start = self.primal_value(counter.start);
        let op = if counter.step > 0 { Int2::Max } else { Int2::Min };
        self.b.inst(Op::Int2(op), &[start, last], Kind::Int)
    }
}
