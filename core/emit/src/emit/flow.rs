//! Control-flow analysis of a function: reverse postorder, dominator tree, loops, and liveness of
//! arrays.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Value},
    ir::{DominatorTree, Edge, Function},
};

use super::{EmitError, ast::holds_array};

pub(super) struct ControlFlowInfo {
    /// Index of each block in reverse postorder.
    pub(super) number: Vec<usize>,
    pub(super) tree: DominatorTree,
    /// Children of each block in the dominator tree, in reverse postorder.
    pub(super) children: Vec<Vec<Block>>,
    /// Number of forward edges into each block.
    pub(super) joins: Vec<usize>,
    /// Blocks of the loop of each header.
    pub(super) loops: HashMap<Block, HashSet<Block>>,
    /// Number of blocks that each block dominates.
    pub(super) weight: Vec<usize>,
    /// Values with arrays that are live into each block.
    pub(super) live: Vec<HashSet<Value>>,
}

impl ControlFlowInfo {
    /// Analyzes a function without unreachable blocks.
    pub(super) fn new(f: &Function) -> Result<ControlFlowInfo, EmitError> {
        let n = f.blocks.len();
        let order = reverse_postorder(f);
        let mut number = vec![usize::MAX; n];
        for (k, b) in order.iter().enumerate() {
            number[b.index()] = k;
        }
        let mut flow = ControlFlowInfo {
            number,
            children: vec![Vec::new(); n],
            joins: vec![0; n],
            loops: HashMap::new(),
            weight: vec![1; n],
            live: Vec::new(),
            tree: DominatorTree::new(f),
        };
        let edges = f.predecessors();
        for &b in &order {
            if let Some(p) = flow.tree.immediate_dominator(b) {
                flow.children[p.index()].push(b);
            }
            for target in f.blocks[b].end.targets() {
                let to = target.block;
                if flow.number[to.index()] > flow.number[b.index()] {
                    flow.joins[to.index()] += 1;
                } else if flow.tree.dominates(to, b) {
                    flow.grow_loop(&edges, to, b);
                } else {
                    return Err(EmitError::Irreducible { function: f.name.clone(), block: to });
                }
            }
        }
        for &b in order.iter().rev() {
            if let Some(p) = flow.tree.immediate_dominator(b) {
                flow.weight[p.index()] += flow.weight[b.index()];
            }
        }
        flow.live = live_arrays(f, &order);
        Ok(flow)
    }

    /// Adds all blocks that lead to the latch `latch` to the loop of `header`.
    fn grow_loop(&mut self, edges: &[Vec<Edge>], header: Block, latch: Block) {
        let body = self.loops.entry(header).or_insert_with(|| HashSet::from([header]));
        let mut work = vec![latch];
        while let Some(b) = work.pop() {
            if body.insert(b) {
                work.extend(edges[b.index()].iter().map(|e| e.from));
            }
        }
    }

    /// Returns the block that is placed after a loop: of the blocks outside it that the loop
    /// dominates, the one that dominates most blocks. No other one may be reached from it: that
    /// would be placed in the loop, where the code after the loop cannot jump to.
    pub(super) fn after(
        &self,
        f: &Function,
        header: Block,
        taken: &HashSet<Block>,
    ) -> Option<Block> {
        let inside = self.loops.get(&header)?;
        let outside =
            inside.iter().flat_map(|b| self.children[b.index()].iter().map(move |c| (*b, *c)));
        let outside: Vec<(Block, Block)> =
            outside.filter(|(_, c)| !inside.contains(c) && !taken.contains(c)).collect();
        let mut leads_on = HashSet::new();
        if outside.len() > 1 {
            let all: HashSet<Block> = outside.iter().map(|(_, c)| *c).collect();
            for &c in &all {
                let mut work = vec![c];
                while let Some(b) = work.pop() {
                    work.extend(&self.children[b.index()]);
                    let targets = f.blocks[b].end.targets();
                    if targets.iter().any(|t| t.block != c && all.contains(&t.block)) {
                        leads_on.insert(c);
                        break;
                    }
                }
            }
        }
        (outside.into_iter().filter(|(_, c)| !leads_on.contains(c)))
            .max_by_key(|(b, c)| (self.weight[c.index()], *b == header, self.number[c.index()]))
            .map(|(_, c)| c)
    }
}

fn reverse_postorder(f: &Function) -> Vec<Block> {
    let mut order = Vec::new();
    let mut seen = vec![false; f.blocks.len()];
    let entry = Block::new(0);
    seen[0] = true;
    let mut stack = vec![(entry, 0)];
    while let Some((b, k)) = stack.pop() {
        let targets = f.blocks[b].end.targets();
        // Targets in reverse: the blocks of the first one then come first in the order.
        match targets.len().checked_sub(k + 1).map(|k| targets[k].block) {
            Some(to) => {
                stack.push((b, k + 1));
                if !std::mem::replace(&mut seen[to.index()], true) {
                    stack.push((to, 0));
                }
            }
            None => order.push(b),
        }
    }
    order.reverse();
    order
}

/// Computes liveness of arrays, by passing backwards over the blocks until nothing changes.
fn live_arrays(f: &Function, order: &[Block]) -> Vec<HashSet<Value>> {
    let tracked: Vec<bool> = f.kinds.values().map(holds_array).collect();
    let mut live: Vec<HashSet<Value>> = vec![HashSet::new(); f.blocks.len()];
    if !tracked.iter().any(|&t| t) {
        return live;
    }
    loop {
        let mut changed = false;
        for &b in order.iter().rev() {
            let mut now = live_after(f, &live, b, &tracked);
            now.extend(f.blocks[b].end.operand().filter(|v| tracked[v.index()]));
            for &i in f.blocks[b].insts.iter().rev() {
                if let Some(v) = f.insts[i].result {
                    now.remove(&v);
                }
                now.extend(f.insts[i].args.iter().copied().filter(|v| tracked[v.index()]));
            }
            f.blocks[b].params.iter().for_each(|p| {
                now.remove(p);
            });
            if now != live[b.index()] {
                live[b.index()] = now;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}

/// Returns the arguments of the edges out of a block, and the values that are live into its
/// successors.
fn live_after(f: &Function, live: &[HashSet<Value>], b: Block, tracked: &[bool]) -> HashSet<Value> {
    let mut now = HashSet::new();
    for target in f.blocks[b].end.targets() {
        now.extend(&live[target.block.index()]);
        now.extend(target.args.iter().copied().filter(|v| tracked[v.index()]));
    }
    now
}
