//! Store-to-load forwarding on tapes: replaces a pop by the pushed value where both are in one
//! block.
//!
//! ```text
//! push.0.3 v1
//! …
//! v5: real = pop.0.3        ->    (v5 becomes v1; the push and the pop are gone)
//! ```
//!
//! After a primal and its adjoint are inlined into a gradient, values that were recorded in
//! straight-line code are forwarded to their uses here, and only loops still use the tape.
//!
//! Relies on: pushes and pops of a tape nest, so a pop returns the value of the latest push. A push
//! and a pop are removed together, and only if they are of one slot and no instruction between them
//! uses the tape. Cost: O(size).

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Inst, Value},
    ir::{Function, Op, compact},
};

/// Forwards pushed values to pops within blocks.
pub fn forward_tape(f: &mut Function) {
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut gone: HashSet<Inst> = HashSet::new();
    for block in f.blocks.values() {
        let mut pending: HashMap<u32, Vec<(Inst, u32, Value)>> = HashMap::new();
        for &i in &block.insts {
            let inst = &f.insts[i];
            match (inst.op, inst.result) {
                (Op::Push { tape, slot }, _) => {
                    pending.entry(tape).or_default().push((i, slot, inst.args[0]));
                }
                (Op::Pop { tape, slot }, Some(v)) => {
                    let pushed = pending.entry(tape).or_default();
                    match pushed.last() {
                        Some(&(push, from, value))
                            if from == slot && f.kinds[value] == f.kinds[v] =>
                        {
                            pushed.pop();
                            same.insert(v, value);
                            gone.extend([push, i]);
                        }
                        _ => pushed.clear(),
                    }
                }
                (Op::Call(_), _) => pending.clear(),
                _ => {}
            }
        }
    }
    if gone.is_empty() {
        return;
    }
    for block in f.blocks.values_mut() {
        block.insts.retain(|i| !gone.contains(i));
    }
    f.map_uses(|mut v| {
        while let Some(&w) = same.get(&v) {
            v = w;
        }
        v
    });
    *f = compact(f);
}
