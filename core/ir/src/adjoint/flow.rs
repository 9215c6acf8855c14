//! Static analysis of tangents that are zero because no data flow leads there, before a pushforward
//! is written.
//!
//! Like in the analysis of cotangents ([`reach`](super::reach)), the tangent of a constant stays
//! zero under every operation, but a tangent that is 0 because of a slope of 0 is a number. An
//! instruction that only moves the tangents of parameters keeps their zeros. Elsewhere a reach is
//! carried along with the tangent, if slopes that may be infinite need it ([`values`]).
//!
//! ```text
//! sqrt(y)         the tangent of y is given: 0 is the one of a constant
//! cbrt(x * x)     at 0 the tangent is 2 x x_dot = 0, a number if something flows to x
//! ```

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{FuncId, Inst, Value},
    ir::{Function, InstData, Mixed, Number1, Number2, Op, Program, Real2, Terminator},
    pass::order,
};

use super::{
    activity::{TapeUsers, dependent, passes, varied},
    reach::{callees_first, is_steep},
};

/// Parameters that need a reach, for each function that is called.
pub(super) type ReachParams = HashMap<FuncId, Vec<bool>>;

/// Slots of tapes that hold a reach next to a tangent, by their tape and number.
pub(super) type ReachSlots = HashSet<(u32, u32)>;

/// Returns the slots from which slopes that may be infinite pop tangents, in all functions that
/// `root` reaches.
pub(super) fn slots(program: &Program, root: FuncId, touching: &TapeUsers) -> ReachSlots {
    let mut slots = ReachSlots::new();
    let all = program.reachable(root);
    let pops = |f: &Function| f.insts.values().any(|inst| matches!(inst.op, Op::Pop { .. }));
    let functions = all.into_iter().map(|id| (id, &program.functions[id]));
    let functions: Vec<_> = functions.filter(|(_, f)| f.is_defined() && pops(f)).collect();
    // A popped value may be pushed by another function.
    loop {
        let before = slots.len();
        let mut params = ReachParams::new();
        for &(id, f) in &functions {
            wanted(program, id, touching, &slots, &mut params);
            let of = values(program, f, &varied(program, f, touching), id == root, &params, &slots);
            for inst in f.blocks.values().flat_map(|b| &b.insts).map(|i| &f.insts[*i]) {
                if let (Op::Pop { tape, slot }, Some(y)) = (inst.op, inst.result)
                    && of[y.index()]
                {
                    slots.insert((tape, slot));
                }
            }
        }
        if slots.len() == before {
            return slots;
        }
    }
}

/// Computes which parameters of a function and of its callees need a reach. All parameters of
/// recursive functions do.
pub(super) fn wanted(
    program: &Program,
    root: FuncId,
    touching: &TapeUsers,
    slots: &ReachSlots,
    wanted: &mut ReachParams,
) {
    let order = callees_first(program, root, &|f| wanted.contains_key(&f));
    for id in order {
        let f = &program.functions[id];
        // Callees come first, unless they call this function.
        for g in f.callees().into_iter().filter(|&g| program.functions[g].is_defined()) {
            wanted.entry(g).or_insert_with(|| all(&program.functions[g]));
        }
        if !wanted.contains_key(&id) {
            let of = values(program, f, &varied(program, f, touching), false, wanted, slots);
            wanted.insert(id, f.param_values().iter().map(|p| of[p.index()]).collect());
        }
    }
}

fn all(f: &Function) -> Vec<bool> {
    f.params.iter().map(|p| p.kind.is_differentiable()).collect()
}

/// Computes the values whose tangents have a reach next to them. `is_root` says whether the
/// tangents of the parameters are inputs of the user; else they have reaches.
pub(super) fn values(
    program: &Program,
    f: &Function,
    varied: &[bool],
    is_root: bool,
    params: &ReachParams,
    slots: &ReachSlots,
) -> Vec<bool> {
    let given = given(f, varied, is_root);
    demanded(program, f, varied, &given, params, slots)
}

/// Returns all values but those that depend on an instruction that does not only move.
fn given(f: &Function, varied: &[bool], is_root: bool) -> Vec<bool> {
    let made = f.definitions();
    let computed = |i: Inst, any: bool| {
        let inst = &f.insts[i];
        inst.result.is_some_and(|y| varied[y.index()]) && (any || !moves(f, &made, inst, varied))
    };
    let from = f.param_values().iter().copied().filter(|_| !is_root);
    dependent(f, from, computed, |v| varied[v.index()]).into_iter().map(|x| !x).collect()
}

/// Returns true if the tangent of the result is zero exactly where those of the operands are.
fn moves(f: &Function, made: &[Option<Inst>], inst: &InstData, varied: &[bool]) -> bool {
    let alone = inst.args.iter().filter(|a| varied[a.index()]).count() == 1;
    match inst.op {
        Op::Tuple | Op::Field(_) | Op::Select | Op::Array | Op::Fill => true,
        Op::Get | Op::Peek | Op::Set | Op::Put => true,
        Op::Number1(Number1::Neg) => true,
        Op::Number2(Number2::Add | Number2::Sub) => alone,
        Op::Number2(op @ (Number2::Mul | Number2::Div)) => {
            let other = if varied[inst.args[0].index()] { inst.args[1] } else { inst.args[0] };
            alone
                && (op == Number2::Mul || other == inst.args[1])
                && made[other.index()].is_some_and(
                    |i| matches!(f.insts[i].op, Op::Real(c) if c.0 != 0.0 && c.0.is_finite()),
                )
        }
        Op::Real2(Real2::Min | Real2::Max) => true,
        Op::Mixed(op) => {
            matches!(op, Mixed::Promote | Mixed::Complex | Mixed::Re | Mixed::Im | Mixed::Conj)
        }
        Op::OnArrays(op) => op.moves(),
        _ => false,
    }
}

/// Returns true if the op has a rule of its own, whose slopes may be infinite.
fn has_rule(program: &Program, op: Op) -> bool {
    match op {
        Op::Call(g) => program.rule(g).is_some_and(|rule| !rule.is_empty()),
        Op::Primitive(_) => true,
        _ => false,
    }
}

/// Computes the least fixed point, from the slopes backwards.
fn demanded(
    program: &Program,
    f: &Function,
    varied: &[bool],
    given: &[bool],
    params: &ReachParams,
    slots: &ReachSlots,
) -> Vec<bool> {
    let mut wanted = vec![false; f.kinds.len()];
    let order = order(f);
    loop {
        let mut changed = false;
        let mut mark = |wanted: &mut Vec<bool>, v: Value| {
            if varied[v.index()] && !given[v.index()] {
                changed |= !std::mem::replace(&mut wanted[v.index()], true);
            }
        };
        for block in order.iter().rev().map(|&b| &f.blocks[b]) {
            if !matches!(block.end, Terminator::Return(_)) {
                for target in block.end.targets() {
                    for (&a, p) in target.args.iter().zip(&f.blocks[target.block].params) {
                        if wanted[p.index()] {
                            mark(&mut wanted, a);
                        }
                    }
                }
            }
            for &i in block.insts.iter().rev() {
                let inst = &f.insts[i];
                if let Op::Push { tape, slot } = inst.op
                    && slots.contains(&(tape, slot))
                {
                    mark(&mut wanted, inst.args[0]);
                }
                let Some(y) = inst.result.filter(|y| varied[y.index()]) else { continue };
                if !passes(program, inst) {
                    continue;
                }
                let all = wanted[y.index()] || is_steep(inst.op) || has_rule(program, inst.op);
                let of = match inst.op {
                    Op::Call(g) => params.get(&g),
                    _ => None,
                };
                for (k, &a) in inst.args.iter().enumerate() {
                    if all || of.is_some_and(|of| of.get(k).copied().unwrap_or(false)) {
                        mark(&mut wanted, a);
                    }
                }
            }
        }
        if !changed {
            return wanted;
        }
    }
}
