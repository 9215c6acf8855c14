//! Control-flow simplification: merges blocks that always follow each other, and drops branches
//! that are already decided.
//!
//! ```text
//! block0:  …; jump block1(v0)             block0:  …; …
//! block1(v1: real):  …             ->              (v1 becomes v0)
//! branch true, block1, block2      ->     jump block1
//! ```
//!
//! A block without instructions that ends in a jump is skipped (jump threading), and its arguments
//! are passed on. Cost: O(size).

use std::collections::HashMap;

use crate::{
    entity::{Block, Value},
    ir::{Function, Op, Target, Terminator, compact, remove_trivial_params},
};

/// Merges blocks and decides branches.
pub fn merge(f: &mut Function) {
    if !f.is_defined() {
        return;
    }
    decide(f);
    skip(f);
    *f = compact(f);
    remove_trivial_params(f);
    join(f);
    *f = compact(f);
}

/// Decides branches on constants, and branches whose targets are the same.
fn decide(f: &mut Function) {
    let defs = f.definitions();
    let constant = |f: &Function, v: Value| defs[v.index()].map(|i| f.insts[i].op);
    for b in f.blocks.keys() {
        let jump = match &f.blocks[b].end {
            Terminator::Branch(_, yes, no) if yes == no => Some(yes.clone()),
            Terminator::Branch(c, yes, no) => match constant(f, *c) {
                Some(Op::Bool(c)) => Some(if c { yes } else { no }.clone()),
                _ => None,
            },
            Terminator::Switch(_, targets) if targets.iter().all(|t| *t == targets[0]) => {
                targets.first().cloned()
            }
            Terminator::Switch(i, targets) => match constant(f, *i) {
                Some(Op::Int(k)) => usize::try_from(k).ok().and_then(|k| targets.get(k)).cloned(),
                _ => None,
            },
            _ => None,
        };
        if let Some(target) = jump {
            f.blocks[b].end = Terminator::Jump(target);
        }
    }
}

/// Redirects jumps to an empty block that ends in a jump to the target of that, with the arguments
/// substituted.
fn skip(f: &mut Function) {
    let elsewhere = used_elsewhere(f);
    let onward: Vec<Option<(Vec<Value>, Target)>> = (f.blocks.iter())
        .map(|(b, block)| match &block.end {
            Terminator::Jump(t)
                if block.insts.is_empty()
                    && t.block != b
                    && b.index() != 0
                    && !block.params.iter().any(|p| elsewhere[p.index()]) =>
            {
                Some((block.params.clone(), t.clone()))
            }
            _ => None,
        })
        .collect();
    for block in f.blocks.values_mut() {
        for target in block.end.targets_mut() {
            // A cycle of empty blocks is an endless loop: stop after as many steps as there are
            // blocks.
            for _ in 0..onward.len() {
                let Some((params, next)) = &onward[target.block.index()] else { break };
                let handed =
                    |v: &Value| params.iter().position(|p| p == v).map_or(*v, |k| target.args[k]);
                let args = next.args.iter().map(handed).collect();
                *target = Target::new(next.block, args);
            }
        }
    }
}

/// Computes for each value whether it is used other than in the arguments of the block of which it
/// is a parameter.
fn used_elsewhere(f: &Function) -> Vec<bool> {
    let mut used = vec![false; f.kinds.len()];
    for block in f.blocks.values() {
        let args = block.insts.iter().flat_map(|&i| f.insts[i].args.iter().copied());
        let handed = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
        let handed = handed.filter(|v| !block.params.contains(v));
        args.chain(block.end.operand()).chain(handed).for_each(|v| used[v.index()] = true);
    }
    used
}

/// Appends a block whose only incoming edge is a jump to the block that jumps.
fn join(f: &mut Function) {
    let edges = f.predecessors();
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut gone = vec![false; f.blocks.len()];
    for b in f.blocks.keys() {
        if gone[b.index()] {
            continue;
        }
        while let Terminator::Jump(target) = &f.blocks[b].end {
            let (next, args) = (target.block, target.args.clone());
            if next == Block::new(0) || next == b || edges[next.index()].len() != 1 {
                break;
            }
            let taken = std::mem::take(&mut f.blocks[next]);
            gone[next.index()] = true;
            same.extend(taken.params.into_iter().zip(args));
            let block = &mut f.blocks[b];
            block.insts.extend(taken.insts);
            (block.end, block.end_at) = (taken.end, taken.end_at);
        }
    }
    f.map_uses(|mut v| {
        while let Some(&w) = same.get(&v) {
            v = w;
        }
        v
    });
}
