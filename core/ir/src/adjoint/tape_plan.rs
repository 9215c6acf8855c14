//! Tape planning: which primal values are recorded, at which blocks, and how the adjoint gets the
//! values that it needs.
//!
//! A pullback in the adjoint of block B needs the primal value `v` as B saw it. In order of
//! preference it is
//!
//! 1. a constant, rematerialized;
//! 2. an induction variable of a loop around B, which the adjoint runs backwards; or the final
//!    value of one after its loop has ended, if it follows from start and bound;
//! 3. recomputed by a few cheap instructions, from values that are available in any of these ways;
//! 4. recorded: pushed by the primal and popped by the adjoint, once for all that need it.
//!
//! ```text
//! for i in 0..n { s = sin(s) * xs[2 * i]; }        recorded: n and xs once; s, sin(s) in each iteration
//! ```
//!
//! # Where a value is recorded
//! Its *level* is the smallest loop that holds both its definition and B: it is recorded once per
//! iteration of that loop. If B is in a loop inside the level, it is recorded at the exits of this
//! inner loop, else in B. If several blocks need it, it is recorded in their nearest common
//! post-dominator, if that is on the same level. A value that is defined on every path through the
//! function is recorded at its end: there the adjoint begins, and after both are inlined into one
//! function that push and its pop cancel.
//!
//! In a function with irreducible control flow every value is recorded in the block that needs it.
//!
//! # Why it is the right value
//! A value that dominates B and is available in B was computed in the same iteration of its level.
//! The recording block comes after B in that iteration, or is B, and its adjoint before that of B.
//!
//! Cost: O(values needed x blocks) at most.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    entity::{Block, Value},
    ir::{Kind, Mixed, Number1, Number2, Op},
    pass::order,
};

use super::{
    canonical::CanonicalFunction, induction::FinalValue, post_dominators::PostDominatorTree,
};

/// Maximum number of cheap instructions that are recomputed in place of a push and its pop, which
/// access memory and check bounds.
const RECOMPUTATION_BUDGET: u32 = 3;

/// Source of a primal value in the adjoint of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PrimalSource {
    /// Recomputation by the instruction that defines it.
    Recomputed,
    /// The k-th induction variable of a loop, in the current iteration.
    Counter(usize, usize),
    /// The k-th induction variable of a loop that has ended.
    FinalValue(usize, usize),
    /// Record of this number.
    Record(usize),
}

/// Value and its level: the innermost loop in which it differs from iteration to iteration.
type ValueAtLevel = (Value, Option<usize>);

/// Plan of the tape of one function.
#[derive(Debug, Default)]
pub(super) struct TapePlan {
    /// Values recorded.
    pub records: Vec<Value>,
    /// Records that are pushed at the end of each block, in order.
    pub pushed_at: Vec<Vec<usize>>,
    /// True for the records that one block alone pushes.
    pub once: Vec<bool>,
    /// Induction variables that run backwards: loop and number.
    pub counters: HashSet<(usize, usize)>,
    sources: HashMap<(Value, Block), PrimalSource>,
}

impl TapePlan {
    /// Plans the tape for all requests: a value and the block whose adjoint needs it.
    pub(super) fn new(n: &CanonicalFunction, asked: &[(Value, Block)]) -> TapePlan {
        let mut planner = TapePlanner::new(n);
        for &(v, b) in asked {
            planner.request(v, b);
        }
        planner.decide();
        planner.place_records()
    }

    /// Returns the source of a value in the adjoint of a block.
    pub(super) fn source(&self, v: Value, b: Block) -> Option<PrimalSource> {
        self.sources.get(&(v, b)).copied()
    }
}

struct TapePlanner<'a> {
    n: &'a CanonicalFunction,
    plan: TapePlan,
    /// Open requests, by the depth of their level; then in order of definition.
    open: BTreeMap<(usize, usize), Vec<(Value, Block)>>,
    /// Number of each record and the blocks that need it.
    recorded: HashMap<ValueAtLevel, (usize, Vec<Block>)>,
    /// Position of each value in an order in which definitions come before uses.
    rank: Vec<usize>,
    /// Blocks to which each loop exits.
    exits: Vec<Vec<Block>>,
}

impl<'a> TapePlanner<'a> {
    fn new(n: &'a CanonicalFunction) -> TapePlanner<'a> {
        let f = &n.f;
        let mut rank = vec![usize::MAX; f.kinds.len()];
        let mut next = 0;
        for b in order(f) {
            let results = f.blocks[b].insts.iter().filter_map(|&i| f.insts[i].result);
            for v in f.blocks[b].params.iter().copied().chain(results) {
                rank[v.index()] = next;
                next += 1;
            }
        }
        let plan = TapePlan { pushed_at: vec![Vec::new(); f.blocks.len()], ..TapePlan::default() };
        let exits = (0..n.loops.list.len()).map(|l| exits(n, l)).collect();
        TapePlanner { n, plan, open: BTreeMap::new(), recorded: HashMap::new(), rank, exits }
    }

    fn level(&self, v: Value, b: Block) -> Option<usize> {
        self.n.loops.common_loop(self.n.defining_block[v.index()], b)
    }

    fn depth(&self, mut level: Option<usize>) -> usize {
        let mut depth = 0;
        while let Some(l) = level {
            depth += 1;
            level = self.n.loops.list[l].parent;
        }
        depth
    }

    fn is_constant(&self, v: Value) -> bool {
        self.n.defined[v.index()].is_some_and(|i| self.n.f.insts[i].op.is_constant())
    }

    /// Returns the induction variable that a value is: its loop, its number, and whether that loop
    /// holds the block.
    fn counter(&self, v: Value, b: Block) -> Option<(usize, usize, bool)> {
        let l = self.n.loop_headed_by(self.n.defining_block[v.index()])?;
        let k = self.n.counters.get(l)?.iter().position(|c| c.value == v)?;
        Some((l, k, self.n.loops.contains(Some(l), b)))
    }

    /// Returns true if a value is defined once in a call, on every path through the function.
    fn is_early(&self, v: Value) -> bool {
        let home = self.n.defining_block[v.index()];
        self.n.runs_at_most_once(home)
            && self.n.end.is_some_and(|end| self.n.loops.dominates(home, end))
    }

    /// Requests a value. If it has only one possible source, that is stored at once.
    fn request(&mut self, v: Value, b: Block) {
        if self.plan.sources.contains_key(&(v, b)) {
            return;
        }
        if self.is_constant(v) {
            self.plan.sources.insert((v, b), PrimalSource::Recomputed);
            return;
        }
        match self.counter(v, b) {
            Some((l, k, true)) => {
                self.plan.sources.insert((v, b), PrimalSource::Counter(l, k));
                if self.plan.counters.insert((l, k)) {
                    for exit in self.exits[l].clone() {
                        self.request(v, exit);
                    }
                }
                return;
            }
            Some((l, k, false)) if self.n.counters[l][k].final_value.is_some() => {
                self.plan.sources.insert((v, b), PrimalSource::FinalValue(l, k));
                let counter = self.n.counters[l][k];
                match counter.final_value {
                    Some(FinalValue::Beyond(bound, _)) => {
                        self.request(counter.start, b);
                        self.request(bound, b);
                    }
                    Some(FinalValue::Bound(bound)) => self.request(bound, b),
                    None => {}
                }
                return;
            }
            _ => {}
        }
        let inner_first = usize::MAX - self.depth(self.level(v, b));
        self.open.entry((inner_first, self.rank[v.index()])).or_default().push((v, b));
    }

    /// Decides between recomputation and recording, from the innermost level out: a recomputed
    /// value may request others, on the same level or on an outer one.
    fn decide(&mut self) {
        while let Some((_, asked)) = self.open.pop_first() {
            for (v, b) in asked {
                let level = self.level(v, b);
                let early = level.is_none() && self.is_early(v);
                let known = self.recorded.contains_key(&(v, level));
                if !early && !known && self.cost(v, b, RECOMPUTATION_BUDGET, true).is_some() {
                    self.recompute(v, b);
                    continue;
                }
                self.record(v, b, level);
            }
        }
    }

    fn record(&mut self, v: Value, b: Block, level: Option<usize>) {
        let next = self.plan.records.len();
        let (record, askers) = self.recorded.entry((v, level)).or_insert((next, Vec::new()));
        askers.push(b);
        self.plan.sources.insert((v, b), PrimalSource::Record(*record));
        if *record == next {
            self.plan.records.push(v);
        }
    }

    /// Stores that a value is recomputed, and requests its operands.
    fn recompute(&mut self, v: Value, b: Block) {
        let Some(inst) = self.n.defined[v.index()] else { return };
        self.plan.sources.insert((v, b), PrimalSource::Recomputed);
        for a in self.n.f.insts[inst].args.clone() {
            let level = self.level(a, b);
            if level != self.level(v, b) || self.is_constant(a) || self.counter(a, b).is_some() {
                self.request(a, b);
            } else if self.plan.sources.contains_key(&(a, b)) {
            } else if self.recorded.contains_key(&(a, level)) {
                self.record(a, b, level);
            } else {
                self.recompute(a, b);
            }
        }
    }

    /// Returns the number of instructions that recompute a value, if they are cheap and few.
    /// `first`: the value itself may not be looked up.
    fn cost(&self, v: Value, b: Block, budget: u32, first: bool) -> Option<u32> {
        if !first {
            let level = self.level(v, b);
            let at_hand = self.is_constant(v) || self.recorded.contains_key(&(v, level));
            match self.counter(v, b) {
                _ if at_hand => return Some(0),
                Some((.., true)) => return Some(0),
                Some((l, k, false)) if self.n.counters[l][k].final_value.is_some() => {
                    return Some(1);
                }
                _ => {}
            }
        }
        let inst = &self.n.f.insts[self.n.defined[v.index()]?];
        // An element of an array that a loop carries is recorded itself: else each iteration would
        // record the array.
        if matches!(inst.op, Op::Get | Op::Peek)
            && self.n.defined[inst.args[0].index()].is_none()
            && self.level(v, b).is_some()
            && self.level(inst.args[0], b) == self.level(v, b)
        {
            return None;
        }
        let mut cost = cost(inst.op, &self.n.f.kinds[v])?;
        for &a in &inst.args {
            let outside = self.level(a, b) != self.level(v, b);
            if !outside {
                cost += self.cost(a, b, budget.checked_sub(cost)?, false)?;
            }
        }
        (cost <= budget).then_some(cost)
    }

    /// Chooses the blocks that record.
    fn place_records(mut self) -> TapePlan {
        let after = self.n.loops.reducible.then(|| PostDominatorTree::new(self.n, &self.exits));
        let mut kept: Vec<(ValueAtLevel, (usize, Vec<Block>))> = self.recorded.drain().collect();
        kept.sort_by_key(|(_, (record, _))| *record);
        for ((v, level), (record, askers)) in kept {
            let places = match (self.n.end, &after) {
                (Some(end), _) if level.is_none() && self.is_early(v) => vec![end],
                (_, None) => askers,
                (_, Some(after)) => self.record_sites(v, level, &askers, after),
            };
            let places: std::collections::BTreeSet<Block> = places.into_iter().collect();
            self.plan.once.push(places.len() == 1);
            for b in places {
                self.plan.pushed_at[b.index()].push(record);
            }
        }
        self.plan
    }

    fn record_sites(
        &self,
        v: Value,
        level: Option<usize>,
        askers: &[Block],
        after: &PostDominatorTree,
    ) -> Vec<Block> {
        let (loops, home) = (&self.n.loops, self.n.defining_block[v.index()]);
        let sites: Vec<Block> = (askers.iter())
            .flat_map(|&b| match loops.child(level, b) {
                None => vec![b],
                Some(inner) => self.exits[inner].clone(),
            })
            .collect();
        match after.common_post_dominator(&sites) {
            Some(one) if loops.innermost_of(one) == level && loops.dominates(home, one) => {
                vec![one]
            }
            _ => sites,
        }
    }
}

/// Returns the blocks to which a loop exits.
fn exits(n: &CanonicalFunction, l: usize) -> Vec<Block> {
    let exits = n.loops.exits(&n.f, l).into_iter();
    let mut exits: Vec<Block> =
        exits.map(|e| n.f.blocks[e.from].end.targets()[e.index].block).collect();
    exits.sort();
    exits.dedup();
    exits
}

/// Returns the cost of recomputing an instruction, which cannot fail if it has been run before with
/// the same operands. `None` if it is expensive.
fn cost(op: Op, result: &Kind) -> Option<u32> {
    if matches!(result, Kind::Array(_)) {
        return None;
    }
    match op {
        Op::Tuple | Op::Field(_) => Some(0),
        Op::Number1(Number1::Neg)
        | Op::Number2(
            Number2::Add | Number2::Sub | Number2::Mul | Number2::Scale | Number2::Guard,
        ) => Some(1),
        Op::Number1(Number1::Recip | Number1::Sqrt) | Op::Number2(Number2::Div) => Some(2),
        Op::Int1(_) | Op::Int2(_) | Op::Compare(_) | Op::CompareInt(_) | Op::Select => Some(1),
        Op::Mixed(
            Mixed::PowiReal | Mixed::PowiComplex | Mixed::Polygamma | Mixed::Arg | Mixed::Modulus,
        ) => None,
        Op::Mixed(_) | Op::Len | Op::Get | Op::Peek => Some(1),
        _ => None,
    }
}
