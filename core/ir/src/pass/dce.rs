//! Dead code elimination: drops unused instructions and block parameters.
//!
//! ```text
//! block1(v1: real, v2: real):          block1(v1: real):
//!     v3: real = sin v2            ->      return v1
//!     return v1
//! ```
//!
//! Alive are the operands of terminators, instructions with an effect, and the operands of live
//! instructions; a block parameter only if it is used itself, so a variable that a loop only
//! carries around is removed. Everything else is dead until shown otherwise (an optimistic
//! analysis). An instruction that may fail (an index out of range) is dropped too.
//!
//! Pushes and pops stay: they must remain in step. If the caller says which tape is being recorded,
//! dead pops of that tape are removed, and the caller drops their pushes.
//!
//! Cost: O(size).

use crate::{
    entity::{Inst, Value},
    ir::{Function, Op, compact, remove_trivial_params},
};

/// Drops dead code. `recording`: a tape whose dead pops may be removed.
pub fn dce(f: &mut Function, recording: Option<u32>) {
    if !f.is_defined() {
        return;
    }
    enum Def {
        Param(usize, usize),
        Inst(Inst),
    }
    let mut defs: Vec<Option<Def>> = f.kinds.keys().map(|_| None).collect();
    let mut alive = vec![false; f.kinds.len()];
    let mut work: Vec<Value> = Vec::new();
    let effect = |op: Op| match op {
        Op::Pop { tape, .. } => Some(tape) != recording,
        op => !op.is_pure(),
    };
    for (b, block) in f.blocks.iter() {
        for (k, &p) in block.params.iter().enumerate() {
            defs[p.index()] = Some(Def::Param(b.index(), k));
        }
        for &i in &block.insts {
            let inst = &f.insts[i];
            if let Some(v) = inst.result {
                defs[v.index()] = Some(Def::Inst(i));
            }
            if effect(inst.op) {
                work.extend(&inst.args);
                work.extend(inst.result);
            }
        }
        work.extend(block.end.operand());
    }
    let edges = f.predecessors();
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut alive[v.index()], true) {
            continue;
        }
        match defs[v.index()] {
            Some(Def::Inst(i)) => work.extend(&f.insts[i].args),
            Some(Def::Param(b, k)) => {
                for edge in &edges[b] {
                    work.push(f.blocks[edge.from].end.targets()[edge.index].args[k]);
                }
            }
            None => {}
        }
    }
    let Function { blocks, insts, .. } = &mut *f;
    for block in blocks.values_mut() {
        block.insts.retain(|&i| {
            let inst = &insts[i];
            effect(inst.op) || inst.result.is_some_and(|v| alive[v.index()])
        });
    }
    let keep: Vec<Vec<bool>> = (f.blocks.iter())
        .map(|(b, block)| block.params.iter().map(|p| b.index() == 0 || alive[p.index()]).collect())
        .collect();
    crate::ir::retain_params(f, &keep);
    remove_trivial_params(f);
    *f = compact(f);
}
