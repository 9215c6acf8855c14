//! The sweep that writes an adjoint: blocks in reverse, and the edges between them.
//!
//! ```text
//! primal                             adjoint
//! block1(p):  …instructions…         block1':  …pullbacks, last instruction first…
//!             jump block2(x)                   then back to where the primal came from
//! ```
//!
//! The adjoint knows the predecessor from which the primal came in one of four ways:
//!
//! - the block has one predecessor only;
//! - the block is a loop's header: in the first iteration the induction variable is at its start;
//! - the block joins the two sides of a branch: by the branch's condition, an ordinary primal
//!   value;
//! - else by a tag that the primal pushes on entry to the block.
//!
//! A loop through which nothing flows back is skipped.
//!
//! The sweep is made twice. The first one, the draft, pops every value it needs; the pops that are
//! left after dead code elimination are the values that the adjoint really needs. The second one
//! follows the [`TapePlan`] made for them. How it gets primal values is described in
//! [`values`](super::values).

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, FuncId, Value, Variable},
    ir::{Compare, Edge, Function, FunctionBuilder, Kind, Op, Position, Target, Terminator},
    rules::Reach,
};

use super::{
    canonical::{CanonicalFunction, condition},
    cotangents::{Cotangents, LiveCotangents},
    error::DiffError,
    induction::InductionVariable,
    leaves::{close, make_whole, open},
    reach::ReachFacts,
    reverse::ReverseEngine,
    tape_plan::TapePlan,
};

/// Entry that a pop of the adjoint takes from the tape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Popped {
    /// A value that the primal pushes at the end of a block.
    Value(Value, Block),
    /// The tag of the incoming edge, which the primal pushes on entry to a block.
    Tag(Block),
}

/// Plan of the second sweep.
#[derive(Debug)]
pub(super) struct SweepPlan {
    pub tape_plan: TapePlan,
    /// Blocks whose adjoint must know the predecessor from which the primal came.
    pub forks: HashSet<Block>,
}

/// Analysis of a function before it is reversed.
#[derive(Debug)]
pub(super) struct ReverseAnalysis {
    pub canonical: CanonicalFunction,
    /// True for the values that have a cotangent.
    pub active: Vec<bool>,
    /// True for the instructions through which cotangents flow back.
    pub passes: Vec<bool>,
    /// True for the calls that are reversed through the body of the callee.
    pub through: Vec<bool>,
    pub live: LiveCotangents,
    pub reached: ReachFacts,
    /// True for the loops through which nothing flows back.
    pub idle: Vec<bool>,
}

/// Writer of one adjoint.
pub(super) struct AdjointSweep<'a> {
    pub engine: &'a mut ReverseEngine,
    pub analysis: &'a ReverseAnalysis,
    pub f: &'a Function,
    pub b: FunctionBuilder,
    pub bars: Cotangents<'a>,
    /// Reaches of the cotangents, for the values that have one.
    pub there: Cotangents<'a>,
    /// True if cotangents may be longer than their arrays: only ops that read or write beyond the
    /// end make them so.
    pub loose: bool,
    /// Current primal block.
    pub at: Block,
    /// Plan of the second sweep; `None` in the draft.
    pub plan: Option<&'a SweepPlan>,
    /// Entry of each slot.
    pub popped: Vec<Popped>,
    /// Slots of the values that the adjoint of each block pops, in the order of the pushes.
    pub pops: Vec<Vec<u32>>,
    /// Slot by which each fork decides; `None` if it pops nothing.
    pub forks: HashMap<Block, Option<u32>>,
    /// Primal values that are available in a block of the adjoint.
    pub known: HashMap<(Block, Value), Value>,
    pub records: Vec<Variable>,
    /// Records that one block alone pops, after they are popped: that block comes before all that
    /// need them.
    pub fixed: Vec<Option<Value>>,
    pub counters: HashMap<(usize, usize), Variable>,
    /// Adjoint of each block.
    blocks: Vec<Block>,
}

impl<'a> AdjointSweep<'a> {
    /// Sweeps over the function and writes its adjoint into the builder.
    pub(super) fn run(
        engine: &'a mut ReverseEngine,
        s: &'a ReverseAnalysis,
        mut b: FunctionBuilder,
        guide: Option<&'a SweepPlan>,
    ) -> Result<AdjointSweep<'a>, DiffError> {
        let f = &s.canonical.f;
        let records = guide.map_or(&[][..], |g| &g.tape_plan.records);
        let records: Vec<Variable> =
            records.iter().map(|&v| b.declare(f.kinds[v].clone())).collect();
        let bars = Cotangents::new(&mut b, &s.canonical, &s.active);
        let there = Cotangents::new(&mut b, &s.canonical, &s.reached.wanted);
        let beyond = |op: Op| matches!(op, Op::Peek | Op::Put | Op::AddAt | Op::Accumulate);
        let mut sweep = AdjointSweep {
            loose: f.insts.values().any(|i| beyond(i.op)),
            engine,
            analysis: s,
            f,
            b,
            bars,
            there,
            at: Block::new(0),
            plan: guide,
            popped: Vec::new(),
            pops: vec![Vec::new(); f.blocks.len()],
            forks: HashMap::new(),
            known: HashMap::new(),
            fixed: vec![None; records.len()],
            records,
            counters: HashMap::new(),
            blocks: vec![Block::new(0); f.blocks.len()],
        };
        sweep.all()?;
        Ok(sweep)
    }

    fn all(&mut self) -> Result<(), DiffError> {
        let mut order = crate::pass::order(self.f);
        order.reverse();
        for &b in &order {
            self.blocks[b.index()] = self.b.create_block();
        }
        match self.analysis.canonical.end {
            Some(end) => {
                self.size_arrays(end);
                self.b.jump(self.blocks[end.index()], &[]);
            }
            None => {
                // The function never returns, so its adjoint is never called.
                let result = self.b.function().result.clone();
                let zero = self.b.zero(&result);
                self.b.ret(zero);
            }
        }
        for &b in &order {
            if self.analysis.canonical.loops.innermost_of(b).is_none_or(|l| !self.analysis.idle[l])
            {
                self.block(b)?;
            }
        }
        for &b in &order {
            self.b.seal(self.blocks[b.index()]);
        }
        Ok(())
    }

    /// Initializes the cotangents of arrays that loops read at full length. The primal pushes the
    /// lengths last.
    fn size_arrays(&mut self, end: Block) {
        let s = self.analysis;
        for &(p, n) in s.canonical.lengths.iter().filter(|(p, _)| s.active[p.index()]) {
            let slot = self.slot(Popped::Value(n, end));
            self.pops[end.index()].insert(0, slot);
            let n = self.b.inst(Op::Pop { tape: self.engine.tape, slot }, &[], Kind::Int);
            self.bars.size(&mut self.b, p, n);
        }
    }

    /// Writes the adjoint of one block.
    fn block(&mut self, block: Block) -> Result<(), DiffError> {
        let f = self.f;
        self.at = block;
        self.b.switch_to(self.blocks[block.index()]);
        self.b.set_position(Position::default());
        self.enter(&self.analysis.live.out[block.index()]);
        self.pop_records();
        let data = &f.blocks[block];
        if let Terminator::Return(v) = data.end
            && f.result.is_differentiable()
        {
            let seed = self.b.param(0);
            let seed = open(&mut self.b, seed);
            self.bars.add(&mut self.b, v, 0, &seed);
            self.add_reach(v, 0, &seed, &vec![Reach::Nonzero; seed.len()]);
        }
        for &i in data.insts.iter().rev() {
            self.b.set_position(f.insts[i].at);
            self.instruction(i)?;
        }
        self.b.set_position(Position::default());
        if block.index() == 0 {
            self.finish();
        } else {
            self.back(block);
        }
        Ok(())
    }

    /// Ends the adjoint of the entry, which returns the cotangents of the parameters, truncated to
    /// their lengths.
    fn finish(&mut self) {
        let f = self.f;
        let mut leaves = Vec::new();
        for (&p, param) in f.param_values().iter().zip(&f.params) {
            if param.kind.is_differentiable() {
                let mut bars = self.bars.take_cotangent(&mut self.b, p);
                if self.loose && bars.iter().any(|&bar| matches!(self.b.kind(bar), Kind::Array(_)))
                {
                    let p = self.primal_value(p);
                    make_whole(&mut self.b, p, &mut bars);
                }
                leaves.extend(bars);
            }
        }
        let result = self.b.function().result.clone();
        let bars = close(&mut self.b, &result, &mut leaves.into_iter());
        self.b.ret(bars);
    }

    /// Jumps from the adjoint of a block to those of its predecessors. The cotangents of its
    /// parameters are added to those of the arguments of the edge that was taken.
    fn back(&mut self, block: Block) {
        let (f, n, active) = (self.f, &self.analysis.canonical, &self.analysis.active);
        // A use that adds nothing, as that of `floor x`, leaves a zero.
        self.leave(&self.analysis.live.into[block.index()]);
        let mut params = Vec::new();
        for &p in &f.blocks[block].params {
            params.push(if active[p.index()] {
                self.take_cotangent_and_reach(p)
            } else {
                Default::default()
            });
        }
        let left = n.loops_exited_into(block);
        for &l in left.iter().filter(|&&l| !self.analysis.idle[l]) {
            self.start_counters(l);
        }
        if let Some(&l) = left.iter().rev().find(|&&l| self.analysis.idle[l]) {
            // Skips the loop, to the block before it.
            let mut into = n.predecessors[n.loops.list[l].header.index()].iter();
            if let Some(edge) = into.find(|e| !n.loops.contains(Some(l), e.from)) {
                self.reverse_edge(block, *edge, &[]);
            }
            return;
        }
        let edges = &n.predecessors[block.index()];
        if let [edge] = edges.as_slice() {
            return self.reverse_edge(block, *edge, &params);
        }
        let ways: Vec<Block> = edges.iter().map(|_| self.b.create_block()).collect();
        self.fork(block, &ways);
        for (&way, &edge) in ways.iter().zip(edges) {
            self.b.seal(way);
            self.b.switch_to(way);
            if let Some(l) =
                n.loop_headed_by(block).filter(|&l| n.loops.contains(Some(l), edge.from))
            {
                self.step_counters(l);
            }
            self.reverse_edge(block, edge, &params);
        }
    }

    /// Reverses one edge.
    fn reverse_edge(&mut self, block: Block, edge: Edge, params: &[(Vec<Value>, Vec<Reach>)]) {
        let f = self.f;
        self.enter(&self.analysis.live.into[block.index()]);
        if let Some(Target { args, .. }) = f.blocks[edge.from].end.targets().get(edge.index) {
            for (&arg, (bars, reach)) in args.iter().zip(params).filter(|(_, p)| !p.0.is_empty()) {
                self.bars.add(&mut self.b, arg, 0, bars);
                self.add_reach(arg, 0, bars, reach);
            }
        }
        self.leave(&self.analysis.live.out[edge.from.index()]);
        self.b.jump(self.blocks[edge.from.index()], &[]);
    }

    /// Branches to one of several predecessors.
    fn fork(&mut self, block: Block, ways: &[Block]) {
        let n = &self.analysis.canonical;
        if let Some(l) = n.loop_headed_by(block)
            && let Some(&InductionVariable { start, .. }) = n.counters[l].first()
        {
            let (first, again) = if n.loops.contains(Some(l), n.predecessors[block.index()][0].from)
            {
                (1, 0)
            } else {
                (0, 1)
            };
            let now = self.counter(l, 0);
            let now = self.b.use_variable(now);
            let start = self.primal_value(start);
            let done = self.b.inst(Op::CompareInt(Compare::Eq), &[now, start], Kind::Bool);
            return self.b.branch(done, ways[first], ways[again]);
        }
        if self.plan.is_some_and(|g| !g.forks.contains(&block)) {
            // All predecessors are the same.
            return self.b.jump(ways[0], &[]);
        }
        if let Some((condition, yes)) = condition(n, block) {
            let c = self.primal_value(condition);
            let slot = match self.b.op_of(c) {
                Some(Op::Pop { slot, .. }) => Some(slot),
                _ => None,
            };
            self.forks.insert(block, slot);
            return self.b.branch(c, ways[yes], ways[1 - yes]);
        }
        let slot = self.slot(Popped::Tag(block));
        self.forks.insert(block, Some(slot));
        let op = Op::Pop { tape: self.engine.tape, slot };
        match ways {
            [first, second] => {
                let tag = self.b.inst(op, &[], Kind::Bool);
                self.b.branch(tag, *first, *second);
            }
            many => {
                let tag = self.b.inst(op, &[], Kind::Int);
                self.b.switch(tag, many);
            }
        }
    }

    fn enter(&mut self, live: &HashSet<Value>) {
        self.bars.enter(live);
        self.there.enter(live);
    }

    fn leave(&mut self, live: &HashSet<Value>) {
        self.bars.leave(&mut self.b, live);
        self.there.leave(&mut self.b, live);
    }

    /// Returns the primal and the adjoint of a function, for pullbacks of calls.
    pub(super) fn pair(&mut self, g: FuncId) -> super::Reverse {
        self.engine.pair(g)
    }
}
