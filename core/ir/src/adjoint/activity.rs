//! Activity analysis: which values need a derivative.
//!
//! A value is *varied* if it depends on a parameter through differentiable ops, *useful* if the
//! result (or a value pushed to a tape) depends on it. It is *active* if it is both; no other value
//! gets a tangent or a cotangent, and constants cost nothing. Both are fixed points over the graph
//! of values, found by passing over the instructions forwards, or backwards, until nothing changes:
//! O(size x depth of nested loops).

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{FuncId, Inst, Value},
    ir::{Function, InstData, Op, Program, Terminator},
    pass::order,
};

/// Computes for each value whether it is active.
pub(super) fn active(program: &Program, f: &Function, touching: &TapeUsers) -> Vec<bool> {
    let varied = varied(program, f, touching);
    let useful = useful(program, f, touching);
    varied.iter().zip(useful).map(|(a, b)| *a && b).collect()
}

/// Returns true if derivatives pass through the instruction at all.
pub(super) fn passes(program: &Program, inst: &InstData) -> bool {
    match inst.op {
        Op::Call(g) => !program.rule(g).is_some_and(|r| r.non_differentiable),
        Op::Primitive(_) => true,
        op => op.has_rule(),
    }
}

/// Computes for each value whether it depends on a parameter, or on a value popped from a tape.
pub(super) fn varied(program: &Program, f: &Function, touching: &TapeUsers) -> Vec<bool> {
    let differentiable: Vec<bool> =
        f.kinds.values().map(crate::ir::Kind::is_differentiable).collect();
    let from_tape = on_tape(f, touching, |op| matches!(op, Op::Pop { .. }));
    let gives = |i: Inst, any: bool| from_tape[i.index()] || any && passes(program, &f.insts[i]);
    let params = f.param_values().iter().copied().filter(|p| differentiable[p.index()]);
    dependent(f, params, gives, |v| differentiable[v.index()])
}

/// Computes for each value whether it depends on one of the given values. The caller says whether
/// an instruction `gives` the dependence on, if any of its operands has it, and which values may
/// depend at all.
pub(super) fn dependent(
    f: &Function,
    from: impl Iterator<Item = Value>,
    gives: impl Fn(Inst, bool) -> bool,
    may: impl Fn(Value) -> bool,
) -> Vec<bool> {
    let mut marked = vec![false; f.kinds.len()];
    from.for_each(|v| marked[v.index()] = true);
    let order = order(f);
    loop {
        let mut changed = false;
        let mut mark = |marked: &mut Vec<bool>, v: Value| {
            changed |= may(v) && !std::mem::replace(&mut marked[v.index()], true);
        };
        for block in order.iter().map(|&b| &f.blocks[b]) {
            for &i in &block.insts {
                let inst = &f.insts[i];
                let any = inst.args.iter().any(|a| marked[a.index()]);
                if let Some(v) = inst.result.filter(|_| gives(i, any)) {
                    mark(&mut marked, v);
                }
            }
            for target in block.end.targets() {
                for (a, &p) in target.args.iter().zip(&f.blocks[target.block].params) {
                    if marked[a.index()] {
                        mark(&mut marked, p);
                    }
                }
            }
        }
        if !changed {
            return marked;
        }
    }
}

/// Computes for each value whether the result depends on it, or whether it is pushed to a tape.
fn useful(program: &Program, f: &Function, touching: &TapeUsers) -> Vec<bool> {
    let mut useful = vec![false; f.kinds.len()];
    // A call may push its arguments to a tape, even if its result is unused.
    let kept = on_tape(f, touching, |op| matches!(op, Op::Push { .. }));
    let order = order(f);
    loop {
        let mut changed = false;
        let mut mark =
            |useful: &mut Vec<bool>, k: usize| changed |= !std::mem::replace(&mut useful[k], true);
        for block in order.iter().rev().map(|&b| &f.blocks[b]) {
            if let Terminator::Return(v) = block.end {
                mark(&mut useful, v.index());
            }
            for target in block.end.targets() {
                for (a, p) in target.args.iter().zip(&f.blocks[target.block].params) {
                    if useful[p.index()] {
                        mark(&mut useful, a.index());
                    }
                }
            }
            for &i in block.insts.iter().rev() {
                let inst = &f.insts[i];
                let used = inst.result.is_some_and(|v| useful[v.index()]);
                if kept[i.index()] || used && passes(program, inst) {
                    inst.args.iter().for_each(|a| mark(&mut useful, a.index()));
                }
            }
        }
        if !changed {
            return useful;
        }
    }
}

/// Computes for each instruction whether it is such an op itself or calls a function that uses a
/// tape.
fn on_tape(f: &Function, touching: &TapeUsers, is: impl Fn(Op) -> bool) -> Vec<bool> {
    f.insts
        .values()
        .map(|i| is(i.op) || matches!(i.op, Op::Call(g) if touching.contains(g)))
        .collect()
}

/// Functions that may push or pop when called: those that use a tape, and all their callers.
/// O(size).
#[derive(Debug, Default)]
pub(super) struct TapeUsers(HashSet<FuncId>);

impl TapeUsers {
    /// Analyzes the functions that `root` reaches.
    pub(super) fn analyze(program: &Program, root: FuncId) -> TapeUsers {
        let reachable = program.reachable(root);
        let mut touching: HashSet<FuncId> = HashSet::new();
        let mut work: Vec<FuncId> = reachable.clone();
        work.retain(|&f| !tapes(&program.functions[f]).is_empty());
        if work.is_empty() {
            return TapeUsers(touching);
        }
        let mut callers: HashMap<FuncId, Vec<FuncId>> = HashMap::new();
        for f in reachable {
            program.calls(f).into_iter().for_each(|g| callers.entry(g).or_default().push(f));
        }
        while let Some(f) = work.pop() {
            if touching.insert(f) {
                work.extend(callers.remove(&f).unwrap_or_default());
            }
        }
        TapeUsers(touching)
    }

    pub(super) fn contains(&self, g: FuncId) -> bool {
        self.0.contains(&g)
    }
}

/// Returns the tapes that a function uses itself.
pub(super) fn tapes(f: &Function) -> Vec<u32> {
    let insts = f.blocks.values().flat_map(|b| &b.insts);
    insts
        .filter_map(|&i| match f.insts[i].op {
            Op::Push { tape, .. } | Op::Pop { tape, .. } => Some(tape),
            _ => None,
        })
        .collect()
}
