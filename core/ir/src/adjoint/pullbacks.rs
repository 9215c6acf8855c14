//! Pullbacks of instructions, written while the function is walked backwards.
//!
//! ```text
//! v2 = mul v0, v1        v0_bar += v1 v2_bar;  v1_bar += v0 v2_bar
//! v2 = call g(v0)        (v0_bar,) += call g.adjoint(v2_bar)
//! v2 = call r(v0)        (v0_bar,) += call pullback of r(v0, v2, v2_bar)     if r has a rule of its own
//! push.0 v0              v0_bar += pop.0                                     a tape of the function itself
//! v0 = pop.0             push.0 v0_bar
//! ```
//!
//! Ops that compute have their rule in [`rules`](crate::rules); only ops that move values have it
//! here.

use crate::{
    entity::{FuncId, Inst, Value},
    ir::{InstData, Kind, Number2, Op},
    rules::{Contribution, Reach, as_in, pull_reach, pullback},
};

use super::{
    error::{DiffError, Mode},
    leaves::{close, make_whole, open, tangent_leaves},
    reach::is_number,
    sweep::AdjointSweep,
    transpose::{DerivativeRule, OneWayRule, name_of, paired, rule},
};

impl AdjointSweep<'_> {
    /// Writes the pullback of one instruction.
    pub(super) fn instruction(&mut self, id: Inst) -> Result<(), DiffError> {
        let f = self.f;
        let inst = &f.insts[id];
        match inst.op {
            // Tapes of `f` itself: always popped and pushed in step, active or not.
            Op::Push { tape, slot } => {
                let v = inst.args[0];
                let leaves = tangent_leaves(&f.kinds[v]);
                let bars: Vec<Value> = leaves
                    .into_iter()
                    .rev()
                    .map(|k| self.b.inst(Op::Pop { tape, slot }, &[], k))
                    .collect();
                let bars: Vec<Value> = bars.into_iter().rev().collect();
                self.add(v, 0, &bars);
                self.add_reach(v, 0, &bars, &vec![Reach::Nonzero; bars.len()]);
                return Ok(());
            }
            Op::Pop { tape, slot } => {
                let Some(v) = inst.result else { return Ok(()) };
                if f.kinds[v].is_differentiable() {
                    for bar in self.take_cotangent(v) {
                        self.b.effect(Op::Push { tape, slot }, &[bar]);
                    }
                }
                return Ok(());
            }
            Op::Call(g) if self.analysis.through[id.index()] => {
                self.call(inst, g);
                return Ok(());
            }
            _ => {}
        }
        let Some(y) = inst.result else { return Ok(()) };
        if !self.analysis.passes[id.index()] {
            return Ok(());
        }
        match inst.op {
            Op::Tuple => {
                let (bars, reach) = self.take_cotangent_and_reach(y);
                let mut start = 0;
                for &a in &inst.args {
                    let end = start + tangent_leaves(&f.kinds[a]).len();
                    self.add(a, 0, &bars[start..end]);
                    self.add_reach(a, 0, &bars[start..end], &reach[start..end]);
                    start = end;
                }
            }
            Op::Field(k) => {
                let (bars, reach) = self.take_cotangent_and_reach(y);
                let range = self.analysis.canonical.fields.range(inst.args[0], k as usize);
                self.add(inst.args[0], range.start, &bars);
                self.add_reach(inst.args[0], range.start, &bars, &reach);
            }
            Op::Select => {
                let (bars, reach) = self.take_cotangent_and_reach(y);
                let c = self.primal_value(inst.args[0]);
                for (k, &arg) in inst.args.iter().enumerate().skip(1) {
                    let parts: Vec<Value> =
                        bars.iter().map(|&bar| self.chosen(c, k, bar)).collect();
                    self.add(arg, 0, &parts);
                    if self.analysis.reached.wanted[arg.index()] {
                        let mut there = Vec::new();
                        for (reach, &bar) in reach.iter().zip(&bars) {
                            let all = reach.value(&mut self.b, bar);
                            there.push(Reach::Where(self.chosen(c, k, all)));
                        }
                        self.add_reach(arg, 0, &parts, &there);
                    }
                }
            }
            Op::Call(_) => {
                if let Some(rule) = rule(&self.engine.program, inst.op, Mode::Reverse) {
                    self.by_rule(inst, y, rule)?;
                }
            }
            Op::Primitive(p) => {
                let Some(rule) = rule(&self.engine.program, inst.op, Mode::Reverse) else {
                    return Err(self.missing(inst, &self.engine.program.primitives[p].name));
                };
                self.by_rule(inst, y, rule)?;
            }
            op => {
                let wanted: Vec<bool> =
                    inst.args.iter().map(|a| self.analysis.active[a.index()]).collect();
                let args: Vec<Value> = inst.args.iter().map(|&a| self.primal_value(a)).collect();
                let saved = self.primal_value(y);
                let (mut bars, reach) = self.take_cotangent_and_reach(y);
                if self.loose && op == Op::Fill {
                    // The rule of `sum` adds all elements.
                    make_whole(&mut self.b, saved, &mut bars);
                }
                let asked =
                    if self.analysis.reached.asks[id.index()] { reach[0] } else { Reach::Always };
                let contributions =
                    pullback(&mut self.b, op, &args, saved, bars[0], asked, &wanted)
                        .ok_or_else(|| self.missing(inst, op.name()))?;
                for (k, (&arg, contribution)) in inst.args.iter().zip(contributions).enumerate() {
                    match contribution {
                        Contribution::Zero => continue,
                        Contribution::Add(bar) => self.add(arg, 0, &[bar]),
                        Contribution::At(index, bar) => {
                            self.bars.add_at(&mut self.b, arg, index, bar)
                        }
                    }
                    if self.analysis.reached.wanted[arg.index()] {
                        let all = reach[0].value(&mut self.b, bars[0]);
                        match pull_reach(&mut self.b, op, &args, saved, k, all) {
                            None | Some(Contribution::Zero) => {}
                            Some(Contribution::Add(there)) => {
                                self.there.add(&mut self.b, arg, 0, &[there])
                            }
                            Some(Contribution::At(i, there)) => {
                                self.there.add_at(&mut self.b, arg, i, there)
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns `x` if the `k`-th operand of a select is taken, else zero.
    fn chosen(&mut self, c: Value, k: usize, x: Value) -> Value {
        let kind = self.b.kind(x).clone();
        let zero = self.b.zero(&kind);
        let operands = if k == 1 { [c, x, zero] } else { [c, zero, x] };
        self.b.inst(Op::Select, &operands, kind)
    }

    fn missing(&self, inst: &InstData, op: &str) -> DiffError {
        let (op, function) = (op.to_owned(), self.f.name.clone());
        let inputs: Vec<Kind> = inst.args.iter().map(|&a| self.f.kinds[a].clone()).collect();
        let mode = Mode::Reverse;
        let signature =
            inst.result.map(|y| mode.signature(&inputs, &self.f.kinds[y])).unwrap_or_default();
        DiffError::MissingRule { op, signature, function, at: inst.at, mode }
    }

    /// Translates `y = call g(…)`: calls the adjoint of `g`.
    fn call(&mut self, inst: &InstData, g: FuncId) {
        let pair = self.pair(g);
        let callee = &self.engine.program.functions[pair.adjoint];
        let (result, seed) = (callee.result.clone(), callee.params.first().map(|p| p.kind.clone()));
        let called = self.engine.calls.get(&g).cloned().unwrap_or_default();
        let mut args = Vec::new();
        let mut reach = Reach::Always;
        if let (Some(y), Some(kind)) = (inst.result, seed) {
            let (mut bars, reaches) = self.take_cotangent_and_reach(y);
            if let ([one], [bar]) = (reaches.as_slice(), bars.as_slice())
                && !matches!(self.b.kind(*bar), Kind::Array(_))
                && called.answered
            {
                reach = *one;
            }
            if self.loose && bars.iter().any(|&bar| matches!(self.b.kind(bar), Kind::Array(_))) {
                let value = self.primal_value(y);
                make_whole(&mut self.b, value, &mut bars);
            }
            args.push(close(&mut self.b, &kind, &mut bars.into_iter()));
        }
        let bars = self.b.inst(Op::Call(pair.adjoint), &args, result);
        self.distribute(inst, bars, reach, &called.covered);
    }

    /// Adds the cotangents of the operands of a function or primitive with a rule of its own.
    fn by_rule(
        &mut self,
        inst: &InstData,
        y: Value,
        rule: DerivativeRule,
    ) -> Result<(), DiffError> {
        if rule.is_given {
            self.by_pullback(inst, y, rule.call, rule.result);
            return Ok(());
        }
        let params: Vec<Kind> = inst.args.iter().map(|&a| self.f.kinds[a].clone()).collect();
        let numbers: Vec<&Kind> = params.iter().filter(|kind| kind.is_differentiable()).collect();
        // A primitive cannot be reversed, but it can be run forwards a few times.
        let few = numbers.len() == 1 || matches!(rule.call, Op::Primitive(_));
        if few && numbers.iter().all(|kind| **kind == Kind::Real) {
            self.by_units(inst, y, numbers.len(), rule);
            return Ok(());
        }
        let name = name_of(&self.engine.program, inst.op);
        let id = match self.engine.transposed.get(&name) {
            Some(&id) => id,
            None => {
                let (result, pending) = (&self.f.kinds[y], self.engine.pending.clone());
                let half = OneWayRule {
                    name: &name,
                    params: &params,
                    result,
                    rule: rule.call,
                    pending: &pending,
                };
                half.pullback(&mut self.engine.program)?
            }
        };
        self.engine.transposed.insert(name, id);
        let result = self.engine.program.functions[id].result.clone();
        self.by_pullback(inst, y, Op::Call(id), result);
        Ok(())
    }

    /// Adds the cotangents of real operands from a pushforward: the tangent for 1 is the derivative
    /// by one of them.
    fn by_units(&mut self, inst: &InstData, y: Value, numbers: usize, rule: DerivativeRule) {
        let args: Vec<Value> = inst.args.iter().map(|&a| self.primal_value(a)).collect();
        let (mut bars, reach) = self.take_cotangent_and_reach(y);
        let there = reach.iter().zip(&bars).map(|(reach, &bar)| reach.value(&mut self.b, bar));
        let mut there: Vec<Value> = there.collect();
        if bars.iter().any(|&bar| matches!(self.b.kind(bar), Kind::Array(_))) {
            let value = self.primal_value(y);
            make_whole(&mut self.b, value, &mut bars);
            make_whole(&mut self.b, value, &mut there);
        }
        let mut parts = Vec::new();
        for k in 0..numbers {
            let unit = (0..numbers).map(|j| self.b.real(if j == k { 1.0 } else { 0.0 }));
            let unit: Vec<Value> = unit.collect();
            let given: Vec<Value> = args.iter().copied().chain(unit).collect();
            let dot = self.b.inst(rule.call, &given, rule.result.clone());
            let dots = open(&mut self.b, dot);
            let mut sum = None;
            for ((&bar, dot), &there) in bars.iter().zip(dots).zip(&there) {
                let term = paired(&mut self.b, bar, dot, there);
                sum = Some(sum.map_or(term, |sum| self.b.number2(Number2::Add, sum, term)));
            }
            parts.push(sum.unwrap_or_else(|| self.b.real(0.0)));
        }
        let all = self.b.plain_tuple(&parts);
        self.distribute(inst, all, Reach::Always, &[]);
    }

    /// Calls a pullback with the inputs, the result and its full-length cotangent.
    fn by_pullback(&mut self, inst: &InstData, y: Value, rule: Op, result: Kind) {
        let mut args: Vec<Value> = inst.args.iter().map(|&a| self.primal_value(a)).collect();
        let value = self.primal_value(y);
        args.push(value);
        let mut reach = Reach::Always;
        if let Some(kind) = self.f.kinds[y].tangent() {
            let (mut bars, reaches) = self.take_cotangent_and_reach(y);
            if is_number(&self.f.kinds[y]) {
                reach = reaches[0];
            }
            make_whole(&mut self.b, value, &mut bars);
            args.push(close(&mut self.b, &kind, &mut bars.into_iter()));
        }
        let bars = self.b.inst(rule, &args, result);
        self.distribute(inst, bars, reach, &[]);
    }

    /// Adds a tuple of cotangents to those of the operands that have one. If the result is
    /// unreachable from the output, nothing is added; the operands that are `covered` are reached
    /// in full if the result is.
    fn distribute(&mut self, inst: &InstData, bars: Value, reach: Reach, covered: &[bool]) {
        let mut next = 0;
        for (k, &arg) in inst.args.iter().enumerate() {
            if !self.f.kinds[arg].is_differentiable() {
                continue;
            }
            next += 1;
            if !self.analysis.active[arg.index()] {
                continue;
            }
            let bar = self.b.field(bars, next - 1);
            let mut leaves = open(&mut self.b, bar);
            let mut reaches = vec![Reach::Nonzero; leaves.len()];
            if let Reach::Where(there) = reach {
                for (leaf, reach) in leaves.iter_mut().zip(&mut reaches) {
                    let there = as_in(&mut self.b, there, *leaf);
                    *leaf = self.b.number2(Number2::Guard, *leaf, there);
                    if covered.get(k).copied().unwrap_or(false)
                        && !matches!(self.b.kind(*leaf), Kind::Array(_))
                    {
                        *reach = Reach::Where(there);
                    }
                }
            }
            self.add(arg, 0, &leaves);
            self.add_reach(arg, 0, &leaves, &reaches);
        }
    }
}
