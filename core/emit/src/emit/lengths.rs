//! Bounds analysis: elements of growing arrays that exist already.
//!
//! A cotangent that starts as long as its array need not grow for an element that was read from
//! that array:
//!
//! ```text
//! v3: array<real> = fill 0.0, len v0        at least as long as v0, whatever is added later
//! v5: real = get v0, v4                     so v4 is less than that length
//! v6: array<real> = add_at v3, v4, v5       and this element exists
//! ```
//!
//! Cost: O(size x depth of loops).

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Inst, Value},
    ir::{DominatorTree, Function, Op},
    pass::order,
};

/// Returns the `add_at`s whose element exists.
pub(super) fn elements_there(f: &Function, tree: &DominatorTree) -> HashSet<Inst> {
    let insts = || f.blocks.iter().flat_map(|(b, block)| block.insts.iter().map(move |&i| (b, i)));
    let mut there = HashSet::new();
    if !insts().any(|(_, i)| f.insts[i].op == Op::AddAt) {
        return there;
    }
    let like = like(f);
    let mut reads: HashMap<(Value, Value), Vec<(usize, Block)>> = HashMap::new();
    for (k, (b, i)) in insts().enumerate().filter(|(_, (_, i))| f.insts[*i].op == Op::Get) {
        let args = &f.insts[i].args;
        reads.entry((args[0], args[1])).or_default().push((k, b));
    }
    for (k, (b, i)) in insts().enumerate().filter(|(_, (_, i))| f.insts[*i].op == Op::AddAt) {
        let args = &f.insts[i].args;
        let LengthLattice::Like(xs) = like[args[0].index()] else { continue };
        let before = |&(j, a): &(usize, Block)| if a == b { j < k } else { tree.dominates(a, b) };
        if reads.get(&(xs, args[1])).is_some_and(|r| r.iter().any(before)) {
            there.insert(i);
        }
    }
    there
}

/// Lattice element of an array's length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LengthLattice {
    /// Not visited yet.
    Unknown,
    /// At least the length of this array.
    Like(Value),
    /// Any length.
    Any,
}

/// Computes the lattice elements. Optimistic: a block's parameter is as long as the arguments of
/// the edges seen so far.
fn like(f: &Function) -> Vec<LengthLattice> {
    let defined = f.definitions();
    let mut state = vec![LengthLattice::Unknown; f.kinds.len()];
    f.param_values().iter().for_each(|p| state[p.index()] = LengthLattice::Any);
    let order = order(f);
    loop {
        let before = state.clone();
        for block in order.iter().map(|&b| &f.blocks[b]) {
            for inst in block.insts.iter().map(|&i| &f.insts[i]) {
                let Some(v) = inst.result else { continue };
                state[v.index()] = match inst.op {
                    Op::Set | Op::Put | Op::AddAt => state[inst.args[0].index()],
                    Op::Fill => match defined[inst.args[1].index()].map(|n| &f.insts[n]) {
                        Some(n) if n.op == Op::Len => LengthLattice::Like(n.args[0]),
                        _ => LengthLattice::Any,
                    },
                    _ => LengthLattice::Any,
                };
            }
            for target in block.end.targets() {
                for (p, arg) in f.blocks[target.block].params.iter().zip(&target.args) {
                    state[p.index()] = match (state[p.index()], state[arg.index()]) {
                        (LengthLattice::Unknown, other) | (other, LengthLattice::Unknown) => other,
                        (a, b) if a == b => a,
                        _ => LengthLattice::Any,
                    };
                }
            }
        }
        if state == before {
            return state;
        }
    }
}
