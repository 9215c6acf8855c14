//! Canonical (loop-simplified) form in which a function is reversed: one return, simplified loops,
//! an induction variable in every loop.
//!
//! ```text
//!       ┌──────────┐   one way in
//!       ▼          │
//! → header(i, …) → body → latch(i + 1)     one way back
//!       │
//!       ▼ exit blocks that only the loop leads to
//! ```
//!
//! - All returns jump to one block that returns.
//! - A loop's header has two predecessors: one from before the loop, and its one latch.
//! - An exit block of a loop is reached from that loop only (a dedicated exit), so values that are
//!   recorded once for a whole loop are recorded there.
//! - A loop has at least one induction variable ([`InductionVariable`]), an integer that changes by
//!   a constant in each iteration. That of `for i in a..b` is `i`; a loop without one gets one that
//!   starts at 0. An induction variable runs backwards in the adjoint, so the adjoint of a loop is
//!   a counted loop, and no tag is recorded to say when it ends.
//! - The end computes the length of every array parameter that a loop reads element by element:
//!   its cotangent is made that long at once.
//!
//! A function with cycles that are not natural loops (irreducible control flow) keeps them, and has
//! no loops in this sense. Cost: O(size), a few times.

use std::collections::HashSet;

use crate::{
    entity::{Block, Inst, Value},
    ir::{BlockData, Edge, Function, Kind, Op, Position, Target, Terminator, compact},
    pass::LoopForest,
};

use super::{
    induction::{InductionVariable, find_induction_variables},
    leaves::FieldRanges,
};

/// Function in canonical form.
#[derive(Debug)]
pub(super) struct CanonicalFunction {
    pub f: Function,
    pub loops: LoopForest,
    /// Induction variables of each loop; the first decides when the reversed loop ends.
    pub counters: Vec<Vec<InductionVariable>>,
    /// Instruction that defines each value.
    pub defined: Vec<Option<Inst>>,
    /// Block that defines each value.
    pub defining_block: Vec<Block>,
    /// Edges into each block, its predecessors.
    pub predecessors: Vec<Vec<Edge>>,
    /// Block that returns; `None` if the function never does.
    pub end: Option<Block>,
    /// Array parameters that loops read element by element, each with its length.
    pub lengths: Vec<(Value, Value)>,
    /// Ranges of the cotangents of fields in those of tuples.
    pub fields: FieldRanges,
}

impl CanonicalFunction {
    /// Brings a function into canonical form.
    pub(super) fn new(f: &Function) -> CanonicalFunction {
        let mut f = compact(f);
        unify_returns(&mut f);
        let mut loops = LoopForest::analyze(&f);
        if loops.reducible {
            loops = simplify_loops(&mut f, loops);
        } else {
            loops.list.clear();
            loops.innermost.fill(None);
        }
        let counters = find_induction_variables(&mut f, &loops);
        let end =
            f.blocks.iter().find(|(_, b)| matches!(b.end, Terminator::Return(_))).map(|(b, _)| b);
        let lengths = end.map_or(vec![], |end| lengths(&mut f, &loops, end));
        let (defined, home, edges) = (f.definitions(), defining_blocks(&f), f.predecessors());
        let fields = FieldRanges::new(&f);
        CanonicalFunction {
            f,
            loops,
            counters,
            defined,
            defining_block: home,
            predecessors: edges,
            end,
            lengths,
            fields,
        }
    }

    /// Returns true if a block runs at most once in a call: it is in no loop.
    pub(super) fn runs_at_most_once(&self, b: Block) -> bool {
        b.index() == 0 || self.loops.reducible && self.loops.innermost_of(b).is_none()
    }

    /// Returns the loops, inner ones first, that are left on entry to a block.
    pub(super) fn loops_exited_into(&self, b: Block) -> Vec<usize> {
        let Some(edge) = self.predecessors[b.index()].first() else { return vec![] };
        let mut left = Vec::new();
        let mut at = self.loops.innermost_of(edge.from);
        while let Some(l) = at.filter(|&l| !self.loops.contains(Some(l), b)) {
            left.push(l);
            at = self.loops.list[l].parent;
        }
        left
    }

    /// Returns the loop of which a block is the header.
    pub(super) fn loop_headed_by(&self, b: Block) -> Option<usize> {
        self.loops.innermost_of(b).filter(|&l| self.loops.list[l].header == b)
    }
}

/// Appends, at the end, the lengths of the parameters that loops read.
fn lengths(f: &mut Function, loops: &LoopForest, end: Block) -> Vec<(Value, Value)> {
    let inside = f.blocks.iter().filter(|(b, _)| loops.innermost_of(*b).is_some());
    let insts = inside.flat_map(|(_, block)| &block.insts).map(|&i| &f.insts[i]);
    let read: HashSet<Value> = insts.filter(|i| i.op == Op::Get).map(|i| i.args[0]).collect();
    let wanted = |p: &Value| {
        matches!(&f.kinds[*p], k @ Kind::Array(_) if k.is_differentiable()) && read.contains(p)
    };
    let params: Vec<Value> = f.param_values().iter().copied().filter(wanted).collect();
    let mut length = |p: Value| {
        let (inst, n) = f.new_inst(Op::Len, &[p], Some(Kind::Int), Position::default());
        f.blocks[end].insts.push(inst);
        n.map(|n| (p, n))
    };
    params.into_iter().filter_map(&mut length).collect()
}

/// Returns the block that defines each value.
pub(super) fn defining_blocks(f: &Function) -> Vec<Block> {
    let mut home = vec![Block::new(0); f.kinds.len()];
    for (b, block) in f.blocks.iter() {
        let results = block.insts.iter().filter_map(|&i| f.insts[i].result);
        block.params.iter().copied().chain(results).for_each(|v| home[v.index()] = b);
    }
    home
}

fn unify_returns(f: &mut Function) {
    let returns: Vec<(Block, Value)> = (f.blocks.iter())
        .filter_map(|(b, block)| match block.end {
            Terminator::Return(v) => Some((b, v)),
            _ => None,
        })
        .collect();
    if returns.len() < 2 {
        return;
    }
    let result = f.new_value(f.result.clone());
    let end = Terminator::Return(result);
    let one = f.blocks.push(BlockData { params: vec![result], end, ..BlockData::default() });
    for (b, v) in returns {
        f.blocks[b].end = Terminator::Jump(Target::new(one, vec![v]));
    }
}

/// Adds blocks until every loop has one entry edge, one latch and dedicated exits (loop-simplify
/// form).
fn simplify_loops(f: &mut Function, mut loops: LoopForest) -> LoopForest {
    loop {
        let mut edges = f.predecessors();
        let mut changed = false;
        for (l, of) in loops.list.iter().enumerate() {
            let (back, into): (Vec<Edge>, Vec<Edge>) =
                edges[of.header.index()].iter().partition(|e| loops.contains(Some(l), e.from));
            for ways in [into, back].into_iter().filter(|ways| ways.len() > 1) {
                split_predecessors(f, &mut edges, &ways, of.header);
                changed = true;
            }
        }
        if !changed {
            let mut seen = vec![false; f.blocks.len()];
            for l in (0..loops.list.len()).rev() {
                for exit in loops.exits(f, l) {
                    let to = f.blocks[exit.from].end.targets()[exit.index].block;
                    if seen.get_mut(to.index()).is_none_or(|seen| std::mem::replace(seen, true)) {
                        continue;
                    }
                    let (own, others): (Vec<Edge>, Vec<Edge>) =
                        edges[to.index()].iter().partition(|e| loops.contains(Some(l), e.from));
                    if !others.is_empty() {
                        split_predecessors(f, &mut edges, &own, to);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return loops;
        }
        loops = LoopForest::analyze(f);
    }
}

/// Redirects some of the edges into a block through a new block; `edges` holds the predecessors of
/// each block.
fn split_predecessors(f: &mut Function, edges: &mut Vec<Vec<Edge>>, ways: &[Edge], to: Block) {
    let kinds: Vec<Kind> = f.blocks[to].params.iter().map(|&p| f.kinds[p].clone()).collect();
    let params: Vec<Value> = kinds.into_iter().map(|k| f.new_value(k)).collect();
    let end = Terminator::Jump(Target::new(to, params.clone()));
    let new = f.blocks.push(BlockData { params, end, ..BlockData::default() });
    for edge in ways {
        if let Some(target) = f.blocks[edge.from].end.targets_mut().get_mut(edge.index) {
            target.block = new;
        }
    }
    let moved: HashSet<Edge> = ways.iter().copied().collect();
    edges[to.index()].retain(|edge| !moved.contains(edge));
    edges[to.index()].push(Edge { from: new, index: 0 });
    edges.push(ways.to_vec());
}

/// Returns the condition that tells from which of two predecessors the primal came into a block,
/// and which one that is if it holds: the two edges come from different sides of the branch that
/// ends the block's immediate dominator.
pub(super) fn condition(n: &CanonicalFunction, block: Block) -> Option<(Value, usize)> {
    let [first, second] = n.predecessors[block.index()].as_slice() else { return None };
    let branching = n.loops.tree.immediate_dominator(block)?;
    let Terminator::Branch(condition, yes, no) = &n.f.blocks[branching].end else { return None };
    let side = |edge: &Edge| {
        if edge.from == branching {
            return Some(edge.index);
        }
        let leads = |t: &Target| {
            n.predecessors[t.block.index()].len() == 1 && n.loops.dominates(t.block, edge.from)
        };
        match (leads(yes), leads(no)) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            _ => None,
        }
    };
    match (side(first)?, side(second)?) {
        (0, 1) => Some((*condition, 0)),
        (1, 0) => Some((*condition, 1)),
        _ => None,
    }
}
