//! Natural loops and the loop nest.
//!
//! A back edge, to a block that dominates its source, closes a loop; the loop consists of the
//! blocks that reach that source without passing the header.
//!
//! ```text
//! block1(i):  branch …, block2, block3     header block1
//! block2:     …; jump block1(i + 1)        latch block2; blocks 1 and 2; block3 is its exit
//! ```
//!
//! Loops of one header are one loop. Two loops are disjoint or one holds the other. A function is
//! *reducible* if every cycle is such a loop: programs in text always are. Cost: O(size x depth),
//! in memory too: a loop lists its blocks, and the loops that hold a block follow from the
//! innermost one.

use crate::{
    entity::Block,
    ir::{DominatorTree, Edge, Function},
};

/// A natural loop.
#[derive(Clone, Debug)]
pub(crate) struct NaturalLoop {
    /// Header: the block through which every path enters the loop.
    pub(crate) header: Block,
    /// Blocks, in the order of the function's.
    pub(crate) blocks: Vec<Block>,
    /// Innermost loop around it.
    pub(crate) parent: Option<usize>,
    /// Preorder number of the loop in the loop nest, and the end of the range of the numbers of the
    /// loops in it.
    span: (usize, usize),
}

/// Loop nest of a function, outer loops before inner ones.
#[derive(Clone, Debug)]
pub(crate) struct LoopForest {
    /// The loops.
    pub(crate) list: Vec<NaturalLoop>,
    /// Innermost loop that holds each block.
    pub(crate) innermost: Vec<Option<usize>>,
    /// True if every cycle of the function is a loop of the list.
    pub(crate) reducible: bool,
    /// Dominator tree.
    pub(crate) tree: DominatorTree,
}

impl LoopForest {
    /// Finds the natural loops of a function.
    pub(crate) fn analyze(f: &Function) -> LoopForest {
        let (n, tree, edges) = (f.blocks.len(), DominatorTree::new(f), f.predecessors());
        let order = order(f);
        let mut place = vec![usize::MAX; n];
        order.iter().enumerate().for_each(|(k, b)| place[b.index()] = k);
        let mut list: Vec<NaturalLoop> = Vec::new();
        let mut innermost: Vec<Option<usize>> = vec![None; n];
        // Loop in which each block was seen last.
        let mut seen = vec![usize::MAX; n];
        let mut reducible = true;
        for &header in &order {
            let into = edges[header.index()].iter().map(|e| e.from);
            let back: Vec<Block> = into
                .filter(|p| {
                    place[p.index()] != usize::MAX && place[p.index()] >= place[header.index()]
                })
                .collect();
            let (latches, odd): (Vec<_>, Vec<_>) =
                back.into_iter().partition(|&p| tree.dominates(header, p));
            reducible &= odd.is_empty();
            if latches.is_empty() {
                continue;
            }
            let l = list.len();
            let mut blocks = vec![header];
            seen[header.index()] = l;
            let mut work = latches;
            while let Some(b) = work.pop() {
                if place[b.index()] != usize::MAX && std::mem::replace(&mut seen[b.index()], l) != l
                {
                    blocks.push(b);
                    work.extend(edges[b.index()].iter().map(|e| e.from));
                }
            }
            blocks.sort();
            // Headers come in an order in which outer loops are found first.
            let parent = innermost[header.index()];
            blocks.iter().for_each(|b| innermost[b.index()] = Some(l));
            list.push(NaturalLoop { header, blocks, parent, span: (0, 0) });
        }
        spans(&mut list);
        LoopForest { list, innermost, reducible, tree }
    }

    /// Returns true if loop `l` holds a block; the loop `None` is the whole function. Blocks that
    /// were added later are in no loop.
    pub(crate) fn contains(&self, l: Option<usize>, b: Block) -> bool {
        let Some(l) = l else { return true };
        let (start, end) = self.list[l].span;
        let inner = self.innermost.get(b.index()).copied().flatten();
        inner.is_some_and(|inner| (start..end).contains(&self.list[inner].span.0))
    }

    /// Returns the innermost loop of a block.
    pub(crate) fn innermost_of(&self, b: Block) -> Option<usize> {
        self.innermost[b.index()]
    }

    /// Returns true if `a` dominates `b`: it is on every path from the entry to `b`.
    pub(crate) fn dominates(&self, a: Block, b: Block) -> bool {
        self.tree.dominates(a, b)
    }

    /// Returns the innermost loop that holds both blocks.
    pub(crate) fn common_loop(&self, a: Block, b: Block) -> Option<usize> {
        let mut l = self.innermost_of(a);
        while !self.contains(l, b) {
            l = l.and_then(|l| self.list[l].parent);
        }
        l
    }

    /// Returns the outermost loop inside `outer` that holds a block; `None` if the block is
    /// directly in `outer`.
    pub(crate) fn child(&self, outer: Option<usize>, b: Block) -> Option<usize> {
        let mut l = self.innermost_of(b);
        while l != outer {
            let parent = l.and_then(|l| self.list[l].parent);
            if parent == outer {
                return l;
            }
            l?;
            l = parent;
        }
        None
    }

    /// Returns the edges that leave a loop.
    pub(crate) fn exits(&self, f: &Function, l: usize) -> Vec<Edge> {
        let mut exits = Vec::new();
        for &from in &self.list[l].blocks {
            for (index, target) in f.blocks[from].end.targets().into_iter().enumerate() {
                if !self.contains(Some(l), target.block) {
                    exits.push(Edge { from, index });
                }
            }
        }
        exits
    }
}

/// Numbers the loops in preorder, so that the loops in a loop directly follow it.
fn spans(list: &mut [NaturalLoop]) {
    // Number of loops that each holds, itself included, and how many of its numbers are assigned:
    // outer loops come first.
    let mut count = vec![1; list.len()];
    for (l, of) in list.iter().enumerate().rev() {
        if let Some(parent) = of.parent {
            count[parent] += count[l];
        }
    }
    let (mut next, mut free) = (0, Vec::with_capacity(list.len()));
    for l in 0..list.len() {
        let start = match list[l].parent {
            Some(parent) => &mut free[parent],
            None => &mut next,
        };
        list[l].span = (*start, *start + count[l]);
        *start += count[l];
        free.push(list[l].span.0 + 1);
    }
}

/// Returns the reachable blocks in reverse postorder: definitions before uses.
#[doc(hidden)]
pub fn order(f: &Function) -> Vec<Block> {
    reverse_postorder(f.blocks.len(), |b, k| f.blocks[b].end.targets().get(k).map(|t| t.block))
}

/// Computes the reverse postorder from the first block of any graph, given each block's `k`-th
/// successor.
pub(crate) fn reverse_postorder(
    n: usize,
    successor: impl Fn(Block, usize) -> Option<Block>,
) -> Vec<Block> {
    let mut seen = vec![false; n];
    let mut post = Vec::new();
    let mut stack = vec![(Block::new(0), 0)];
    seen[0] = true;
    while let Some((b, k)) = stack.pop() {
        match successor(b, k) {
            Some(next) => {
                stack.push((b, k + 1));
                if !std::mem::replace(&mut seen[next.index()], true) {
                    stack.push((next, 0));
                }
            }
            None => post.push(b),
        }
    }
    post.reverse();
    post
}
