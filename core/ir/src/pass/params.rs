//! Elimination of block parameters that always have the same value.
//!
//! ```text
//! block1(v1: real, v2: real):                block1(v2: real):
//!     branch v3, block2, block3                  v1: real = real 0.0
//! block2:                                        branch v3, block2, block3
//!     v4: real = real 0.0              ->    …
//!     jump block1(v4, v5)                        jump block1(v5)
//! ```
//!
//! where the first edge into `block1` passes 0 as well. The analysis is optimistic: every parameter
//! is assumed to be the argument of the edges seen so far, until another edge contradicts it. So a
//! value that several loops carry around in a cycle is found. Two parameters of a block that always
//! have the same arguments are merged.
//!
//! This removes initial zeros of cotangents, and primal values that loops of an adjoint only carry
//! around. Cost: O(edges x parameters x depth of loops).

use std::collections::HashMap;

use crate::{
    entity::{SideTable, Value},
    ir::{Function, Op, compact, retain_params},
};

use super::loops::order;

/// Lattice element of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParamLattice {
    /// Not visited yet.
    Unknown,
    /// The same value on all edges so far.
    Same(Value),
    /// Different values.
    Varies,
}

/// Removes block parameters that always have the same value.
pub fn params(f: &mut Function) {
    if !f.is_defined() {
        return;
    }
    let ops = constants(f);
    let state = states(f, &ops);
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut keep: Vec<Vec<bool>> = Vec::new();
    let edges = f.predecessors();
    for b in f.blocks.keys().collect::<Vec<_>>() {
        let mut kept: HashMap<Vec<Value>, Value> = HashMap::new();
        let mut keep_b = Vec::new();
        for (k, p) in f.blocks[b].params.clone().into_iter().enumerate() {
            let with = match state[p] {
                ParamLattice::Same(v) => Some(match ops.get(&v) {
                    // A constant is rematerialized where it is used: its first definition may be in
                    // a block that does not dominate the use.
                    Some(&op) => {
                        let (inst, fresh) =
                            f.new_inst(op, &[], Some(f.kinds[p].clone()), Default::default());
                        f.blocks[b].insts.insert(0, inst);
                        fresh.unwrap_or(v)
                    }
                    None => v,
                }),
                _ if b.index() == 0 => None,
                _ => {
                    let ways = edges[b.index()].iter();
                    let args = ways.map(|e| f.blocks[e.from].end.targets()[e.index].args[k]);
                    let twin = *kept.entry(args.collect()).or_insert(p);
                    Some(twin).filter(|&twin| twin != p)
                }
            };
            keep_b.push(with.is_none());
            same.extend(with.map(|v| (p, v)));
        }
        keep.push(keep_b);
    }
    if same.is_empty() {
        return;
    }
    retain_params(f, &keep);
    f.map_uses(|mut v| {
        while let Some(&w) = same.get(&v) {
            v = w;
        }
        v
    });
    *f = compact(f);
}

/// Returns the constants, equal ones under the name of the first.
fn constants(f: &Function) -> HashMap<Value, Op> {
    let insts = f.blocks.values().flat_map(|b| &b.insts).map(|&i| &f.insts[i]);
    insts.filter(|i| i.op.is_constant()).filter_map(|i| Some((i.result?, i.op))).collect()
}

fn states(f: &Function, ops: &HashMap<Value, Op>) -> SideTable<Value, ParamLattice> {
    let mut state = SideTable::new(ParamLattice::Varies);
    let mut first: HashMap<Op, Value> = HashMap::new();
    let mut constants: Vec<Value> = ops.keys().copied().collect();
    constants.sort();
    for v in constants {
        let one = *first.entry(ops[&v]).or_insert(v);
        state[v] = ParamLattice::Same(one);
    }
    let (order, edges) = (order(f), f.predecessors());
    let mut reached = vec![false; f.blocks.len()];
    order.iter().for_each(|b| reached[b.index()] = true);
    for &b in order.iter().skip(1) {
        f.blocks[b].params.iter().for_each(|&p| state[p] = ParamLattice::Unknown);
    }
    loop {
        let mut changed = false;
        for &b in order.iter().skip(1) {
            for (k, &p) in f.blocks[b].params.iter().enumerate() {
                let mut now = state[p];
                for edge in edges[b.index()].iter().filter(|e| reached[e.from.index()]) {
                    let arg = f.blocks[edge.from].end.targets()[edge.index].args[k];
                    now = match (now, state[arg]) {
                        (ParamLattice::Varies, _) => ParamLattice::Varies,
                        (now, ParamLattice::Unknown) => now,
                        (ParamLattice::Unknown, ParamLattice::Same(v)) => ParamLattice::Same(v),
                        (ParamLattice::Unknown, ParamLattice::Varies) => ParamLattice::Same(arg),
                        (ParamLattice::Same(v), ParamLattice::Same(w)) if v == w => now,
                        (ParamLattice::Same(v), ParamLattice::Varies) if v == arg => now,
                        // The parameter itself, passed around a cycle.
                        (now, ParamLattice::Varies) if arg == p => now,
                        _ => ParamLattice::Varies,
                    };
                }
                changed |= now != state[p];
                state[p] = now;
            }
        }
        if !changed {
            return state;
        }
    }
}
