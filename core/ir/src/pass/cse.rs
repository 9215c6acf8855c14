//! Common subexpression elimination: an expression that is written twice is computed once.
//!
//! ```text
//! v2: real = mul v0, v1              v2: real = mul v0, v1
//! v3: real = mul v1, v0        ->    v4: real = add v2, v2
//! v4: real = add v2, v3
//! ```
//!
//! Two pure instructions are equal if op, operands and result kind are, with sums and products in
//! either order. The later one is removed if the earlier one dominates it. Cost: O(size), times the
//! number of equal computations of which none dominates another.

use std::collections::HashMap;

use crate::{
    entity::{Block, Value},
    ir::{DominatorTree, Function, Kind, Number2, Op, compact},
};

/// Key under which two instructions are equal.
type CseKey = (Op, Vec<Value>, Kind);

/// Removes common subexpressions.
pub fn cse(f: &mut Function) {
    if !f.is_defined() {
        return;
    }
    let tree = DominatorTree::new(f);
    let mut known: HashMap<CseKey, Vec<(Block, Value)>> = HashMap::new();
    let mut same: HashMap<Value, Value> = HashMap::new();
    for b in f.blocks.keys().collect::<Vec<_>>() {
        for i in f.blocks[b].insts.clone() {
            let inst = &mut f.insts[i];
            inst.args.iter_mut().for_each(|v| *v = same.get(v).copied().unwrap_or(*v));
            let Some(result) = inst.result.filter(|_| inst.op.is_pure()) else { continue };
            let mut args = inst.args.to_vec();
            if matches!(inst.op, Op::Number2(Number2::Add | Number2::Mul)) {
                args.sort();
            }
            let seen = known.entry((inst.op, args, f.kinds[result].clone())).or_default();
            match seen.iter().find(|(a, _)| tree.dominates(*a, b)) {
                Some(&(_, first)) => {
                    same.insert(result, first);
                }
                None => seen.push((b, result)),
            }
        }
    }
    if same.is_empty() {
        return;
    }
    f.map_uses(|mut v| {
        while let Some(&w) = same.get(&v) {
            v = w;
        }
        v
    });
    // The second computations are dead now.
    for block in f.blocks.values_mut() {
        block.insts.retain(|&i| f.insts[i].result.is_none_or(|v| !same.contains_key(&v)));
    }
    *f = compact(f);
}
