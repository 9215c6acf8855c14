//! Compaction: drops unreachable blocks and dead instructions, and numbers ids densely.
//!
//! [`compact`] keeps the reachable blocks, in their order, and numbers values and instructions in
//! the order of the text. [`remove_trivial_params`] drops a block parameter to which every edge
//! passes the same value (or the parameter itself):
//!
//! ```text
//! jump block1(v0)                          jump block1
//! block1(v1: real): … jump block1(v1)  ->  block1: … jump block1        (v1 becomes v0)
//! ```
//!
//! Invariant: both keep the meaning of the function. Cost: O(size), times the depth of nested loops
//! for the second.

use crate::entity::{Block, SideTable, Table, Value};

use super::function::{BlockData, ENTRY, Function, InstData};

/// Returns the same function with dense ids and without unreachable blocks.
#[must_use]
pub fn compact(f: &Function) -> Function {
    if !f.is_defined() {
        return f.clone();
    }
    let mut reached: SideTable<Block, bool> = SideTable::new(false);
    let mut work = vec![ENTRY];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b], true) {
            work.extend(f.blocks[b].end.targets().iter().map(|t| t.block));
        }
    }
    let mut blocks: SideTable<Block, Block> = SideTable::new(ENTRY);
    for (n, b) in f.blocks.keys().filter(|&b| reached[b]).enumerate() {
        blocks[b] = Block::new(n);
    }

    let mut new = Function::declared(f.name.clone(), f.params.clone(), f.result.clone());
    let mut values: Vec<Option<Value>> = vec![None; f.kinds.len()];
    let mut define = |new: &mut Function, v: Value| {
        let fresh = new.new_value(f.kinds[v].clone());
        values[v.index()] = Some(fresh);
        fresh
    };
    for b in f.blocks.keys().filter(|&b| reached[b]) {
        let old = &f.blocks[b];
        let params = old.params.iter().map(|&p| define(&mut new, p)).collect();
        let mut block =
            BlockData { params, insts: Vec::new(), end: old.end.clone(), end_at: old.end_at };
        for &i in &old.insts {
            let data = &f.insts[i];
            let result = data.result.map(|v| define(&mut new, v));
            block.insts.push(new.insts.push(InstData { result, ..data.clone() }));
        }
        for target in block.end.targets_mut() {
            target.block = blocks[target.block];
        }
        new.blocks.push(block);
    }
    // A use without a definition stays undefined: the verifier names it.
    let undefined = Value::new(new.kinds.len());
    new.map_uses(|v| values.get(v.index()).copied().flatten().unwrap_or(undefined));
    new
}

/// Drops the block parameters that always equal another value.
pub fn remove_trivial_params(f: &mut Function) {
    let edges = f.predecessors();
    let mut same: Table<Value, Value> = Table::new();
    for v in f.kinds.keys() {
        same.push(v);
    }
    let mut removed: SideTable<Value, bool> = SideTable::new(false);
    loop {
        let mut changed = false;
        for b in f.blocks.keys().skip(1) {
            for (k, &param) in f.blocks[b].params.iter().enumerate() {
                if removed[param] {
                    continue;
                }
                let mut only = None;
                let mut trivial = true;
                for edge in &edges[b.index()] {
                    let arg =
                        find(&mut same, f.blocks[edge.from].end.targets()[edge.index].args[k]);
                    if arg != param {
                        trivial &= only.is_none_or(|o| o == arg);
                        only = Some(arg);
                    }
                }
                if let (true, Some(arg)) = (trivial, only) {
                    same[param] = arg;
                    removed[param] = true;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let keep: Vec<Vec<bool>> =
        f.blocks.values().map(|b| b.params.iter().map(|&p| !removed[p]).collect()).collect();
    retain_params(f, &keep);
    f.map_uses(|v| if v.index() < same.len() { find(&mut same, v) } else { v });
}

/// Keeps those parameters of each block, and those arguments of every edge, that `keep` marks.
pub(crate) fn retain_params(f: &mut Function, keep: &[Vec<bool>]) {
    fn retain(list: &mut Vec<Value>, keep: &[bool]) {
        let mut k = 0;
        list.retain(|_| {
            k += 1;
            keep[k - 1]
        });
    }
    for (b, keep_b) in f.blocks.values_mut().zip(keep) {
        retain(&mut b.params, keep_b);
        for target in b.end.targets_mut() {
            retain(&mut target.args, &keep[target.block.index()]);
        }
    }
}

/// Returns the last value of a chain of replacements; shortens the chain (path compression).
fn find(same: &mut Table<Value, Value>, v: Value) -> Value {
    let mut root = v;
    while same[root] != root {
        root = same[root];
    }
    let mut at = v;
    while same[at] != root {
        at = std::mem::replace(&mut same[at], root);
    }
    root
}
