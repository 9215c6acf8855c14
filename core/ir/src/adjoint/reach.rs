//! Static analysis of cotangents that are zero because no data flow leads back there, before the
//! adjoint is written.
//!
//! A cotangent can be zero for two reasons: the result does not depend on the value on the path
//! that was taken, or it does and its slope is 0. The first zero stays zero under every operation;
//! the second is a number, and 0 times an infinite slope is NaN.
//!
//! ```text
//! r = cbrt x                              r = sqrt x
//! y = r * r      at 0: r_bar is a number  y = if x > 0 { r * r } else { 0 }      at 0: nothing leads back to r
//! ```
//!
//! For most values it is known statically that all of their elements are reached from the result on
//! every path: [`ReachFacts::always`]. For the others that meet slopes which may be infinite,
//! [`ReachFacts::wanted`], the adjoint carries a reach along with the cotangent
//! ([`rules`](crate::rules)); the remaining ones need none.
//!
//! Cost: O(size), a few times.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{FuncId, Inst, Value},
    ir::{
        ArrayDerivative, InstData, Kind, Literal, Mixed, Number1, Number2, Op, Program, Real2,
        Terminator,
    },
    rules::is_singular,
};

use super::{
    activity::dependent, canonical::CanonicalFunction, cotangents::LiveCotangents,
    leaves::tangent_leaves,
};

/// Result of the analysis of zeros among the cotangents of a function.
#[derive(Debug, Default)]
pub(super) struct ReachFacts {
    /// True for the values of which all elements are reached from the result, on every path.
    pub always: Vec<bool>,
    /// True for the values whose cotangents have a reach next to them.
    pub wanted: Vec<bool>,
    /// True for the instructions whose pullback needs the reach of its result.
    pub asks: Vec<bool>,
}

/// Result of the analysis of a function that is called.
#[derive(Clone, Debug, Default)]
pub(super) struct CalleeFacts {
    /// True for the parameters of which all elements are reached if the result is.
    pub covered: Vec<bool>,
    /// True if the caller of the adjoint guarantees that the result is reached, or does not use
    /// what the adjoint returns. This holds for a single number, if no cotangent comes back by a
    /// tape.
    pub answered: bool,
}

/// Results for the functions called.
pub(super) type CallFacts = HashMap<FuncId, CalleeFacts>;

/// Returns true if the result is one number.
pub(super) fn is_number(result: &Kind) -> bool {
    matches!(tangent_leaves(result).as_slice(), [leaf] if !matches!(leaf, Kind::Array(_)))
}

/// Returns true if a partial of the op may be infinite or undefined where the value is not.
#[doc(hidden)]
pub fn is_steep(op: Op) -> bool {
    use Mixed as M;
    matches!(op, Op::Mixed(M::PowiReal | M::PowiComplex | M::Polygamma | M::Arg | M::Modulus))
        || matches!(op, Op::OnArrays(op) if op.derivative() == ArrayDerivative::Steep)
        || is_singular(op)
}

/// Returns true if an op may map finite numbers to infinite or undefined ones, except by overflow.
fn may_leave_reals(op: Op) -> bool {
    match op {
        Op::Real(Literal(x)) => !x.is_finite(),
        Op::Number1(Number1::Tan) | Op::Call(_) | Op::Primitive(_) => true,
        op => is_steep(op),
    }
}

/// Returns true if the partials of an op on numbers depend on its operands, so that they are
/// undefined where these are.
fn is_curved(op: Op) -> bool {
    match op {
        Op::Number1(op) => op != Number1::Neg,
        Op::Number2(op) => !matches!(op, Number2::Add | Number2::Sub | Number2::Guard),
        Op::Real1(_) | Op::Real2(_) => true,
        _ => false,
    }
}

/// Input of the analysis.
pub(super) struct ReachAnalysis<'a> {
    pub n: &'a CanonicalFunction,
    pub active: &'a [bool],
    pub passes: &'a [bool],
    pub through: &'a [bool],
    pub live: &'a LiveCotangents,
    /// True if all elements of the result are reached.
    pub answered: bool,
    pub calls: &'a CallFacts,
}

impl ReachAnalysis<'_> {
    pub(super) fn run(&self) -> ReachFacts {
        let always = self.always();
        let asks = self.asks(&always);
        let wanted = self.wanted(&always, &asks);
        ReachFacts { always, wanted, asks }
    }

    /// Computes the greatest fixed point: a value is used in full where it is defined, or on every
    /// path from there.
    fn always(&self) -> Vec<bool> {
        let f = &self.n.f;
        let mut always = self.active.to_vec();
        // Values that are live into each block and used in full on every path from its start.
        let mut busy: Vec<HashSet<Value>> = self.live.into.clone();
        let mut order = crate::pass::order(f);
        order.reverse();
        loop {
            let mut changed = false;
            for &b in &order {
                let block = &f.blocks[b];
                let mut full: HashSet<Value> = HashSet::new();
                for &i in &block.insts {
                    let inst = &f.insts[i];
                    if self.passes[i.index()] && inst.result.is_none_or(|y| always[y.index()]) {
                        let used =
                            inst.args.iter().enumerate().filter(|(k, _)| self.covers(i, inst, *k));
                        full.extend(used.map(|(_, v)| *v));
                    }
                }
                if let Terminator::Return(v) = block.end
                    && self.answered
                {
                    full.insert(v);
                }
                let targets = block.end.targets();
                let onwards = |v: Value, always: &[bool], busy: &[HashSet<Value>]| {
                    !targets.is_empty()
                        && targets.iter().all(|t| {
                            let handed = t.args.iter().zip(&f.blocks[t.block].params);
                            let mut handed = handed.filter(|(a, _)| **a == v);
                            handed.any(|(_, p)| always[p.index()])
                                || busy[t.block.index()].contains(&v)
                        })
                };
                let lost: Vec<Value> = busy[b.index()].iter().copied().collect();
                for v in lost {
                    if !full.contains(&v) && !onwards(v, &always, &busy) {
                        busy[b.index()].remove(&v);
                        changed = true;
                    }
                }
                let made = block.insts.iter().filter_map(|&i| f.insts[i].result);
                for v in block.params.iter().copied().chain(made) {
                    if always[v.index()] && !full.contains(&v) && !onwards(v, &always, &busy) {
                        always[v.index()] = false;
                        changed = true;
                    }
                }
            }
            if !changed {
                return always;
            }
        }
    }

    /// Returns true if all elements of the `k`-th operand of an instruction are reached if all of
    /// its result are.
    fn covers(&self, i: Inst, inst: &InstData, k: usize) -> bool {
        match inst.op {
            Op::Number2(Number2::Scale | Number2::Guard) | Op::Real2(Real2::Min | Real2::Max) => {
                inst.op == Op::Number2(Number2::Scale) && k == 1
            }
            // A constant factor of 0 blocks the flow.
            Op::Number2(Number2::Mul) => !self.is_zero(inst.args[1 - k]),
            Op::Number1(_) | Op::Number2(_) | Op::Real2(_) => true,
            Op::Real1(op) => !op.is_constant(),
            Op::Mixed(op) => !matches!(op, Mixed::FromInt | Mixed::Cmp),
            Op::Tuple | Op::Array | Op::Sum | Op::Accumulate | Op::Primitive(_) => true,
            Op::Fill => k == 0,
            Op::Field(_) => self.n.fields.count(inst.args[0]) == 1,
            Op::Set | Op::Put => k == 2,
            Op::AddAt => k != 1,
            Op::Call(g) if self.through[i.index()] => {
                let called = self.calls.get(&g).filter(|called| called.answered);
                called.is_some_and(|called| called.covered.get(k).copied().unwrap_or(false))
            }
            Op::Call(_) => true,
            Op::OnArrays(op) => op.uses_all_of(k),
            _ => false,
        }
    }

    fn is_zero(&self, v: Value) -> bool {
        let made = self.n.defined[v.index()].map(|i| &self.n.f.insts[i]);
        made.is_some_and(|inst| match inst.op {
            Op::Real(Literal(x)) => x == 0.0,
            Op::Mixed(Mixed::Promote) => self.is_zero(inst.args[0]),
            _ => false,
        })
    }

    /// Computes for each instruction whether its slopes may be infinite or undefined while its
    /// result may be unreached.
    fn asks(&self, always: &[bool]) -> Vec<bool> {
        let f = &self.n.f;
        let is_one = |y: Option<Value>| y.is_some_and(|y| is_number(&f.kinds[y]));
        let has_tangent = |v: Value| f.kinds[v].is_differentiable();
        let doubtful = |i: Inst, any: bool| any || may_leave_reals(f.insts[i].op);
        let doubtful = dependent(f, std::iter::empty(), doubtful, has_tangent);
        let asks = |(i, inst): (Inst, &InstData)| {
            let is_left_out =
                inst.result.is_some_and(|y| self.active[y.index()] && !always[y.index()]);
            is_left_out
                && self.passes[i.index()]
                && match inst.op {
                    Op::Call(g) if self.through[i.index()] => {
                        self.calls.get(&g).is_some_and(|called| called.answered)
                    }
                    // A rule of its own may have any slope.
                    Op::Call(_) | Op::Primitive(_) => is_one(inst.result),
                    // The reaches of values and vectors are needed together if values are equal.
                    Op::OnArrays(op) if op.derivative() == ArrayDerivative::Degenerate => true,
                    op => {
                        is_steep(op)
                            || is_curved(op) && inst.args.iter().any(|v| doubtful[v.index()])
                    }
                }
        };
        f.insts.iter().map(asks).collect()
    }

    /// Computes the least fixed point: a reach is needed by an instruction that reads it, and by
    /// everything that flows there.
    fn wanted(&self, always: &[bool], asks: &[bool]) -> Vec<bool> {
        let f = &self.n.f;
        if !asks.contains(&true) {
            return vec![false; f.kinds.len()];
        }
        let gives = |i: Inst, any: bool| asks[i.index()] || any && self.passes[i.index()];
        dependent(f, std::iter::empty(), gives, |v| self.active[v.index()] && !always[v.index()])
    }
}

/// Returns which parameters are reached.
pub(super) fn covered(n: &CanonicalFunction, reached: &ReachFacts) -> Vec<bool> {
    n.f.param_values().iter().map(|p| reached.always[p.index()]).collect()
}

/// Returns the functions that a function reaches by calls that are reversed through bodies, callees
/// before callers.
pub(super) fn callees_first(
    program: &Program,
    root: FuncId,
    done: &dyn Fn(FuncId) -> bool,
) -> Vec<FuncId> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    let mut work = vec![(root, false)];
    while let Some((f, is_after)) = work.pop() {
        if is_after {
            order.push(f);
        } else if !done(f) && program.functions[f].is_defined() && seen.insert(f) {
            work.push((f, true));
            work.extend(program.functions[f].callees().into_iter().map(|g| (g, false)));
        }
    }
    order
}
