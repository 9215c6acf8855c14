//! Reverse mode through control flow: `f -> (f.primal, f.adjoint)`.
//!
//! # Idea
//! The adjoint runs the primal's blocks backwards: one block for each block of the primal; where
//! the primal has several edges *into* a block, the adjoint has several edges *out*. The primal is
//! the function itself, which also records on a tape the values that the adjoint cannot get
//! otherwise.
//!
//! ```text
//! fn f(x, y)                          fn f.adjoint(s_bar)
//!     s = x; i = 0                        y = pop                  recorded once
//!     loop while i < 1000                 i = 1000; x_bar = 0; y_bar = 0
//!         t = sin s                       loop until i = 0
//!         s = t * y + x                       s, t = pop           recorded in each iteration
//!         i = i + 1                           i = i - 1            counted, not recorded
//!     return s                                x_bar += s_bar; y_bar += t s_bar; s_bar = cos(s) y s_bar
//!                                         return (x_bar + s_bar, y_bar)
//! ```
//!
//! The steps, one file for each:
//!
//! 1. [`canonical`](super::canonical): canonical form: one return; every loop has one entry edge,
//!    one latch and an induction variable.
//! 2. [`activity`](super::activity) and [`cotangents`](super::cotangents): which values have a
//!    cotangent, and where it may differ from zero (liveness).
//! 3. [`sweep`](super::sweep): the reverse sweep, with the [`pullbacks`](super::pullbacks) of
//!    instructions, and [`values`](super::values), how it gets primal values. A first draft shows
//!    which values are needed.
//! 4. [`tape_plan`](super::tape_plan): which of them are recorded, at which blocks, and which are
//!    recomputed.
//! 5. The sweep once more, and here: the primal with its pushes.
//!
//! `f(g(x))` becomes a call of `g.primal` and a call of `g.adjoint`, on the same tape, so recursion
//! is not a special case.
//!
//! # Cost of an iteration
//! Instructions per iteration, primal and adjoint together, after optimization; in brackets the
//! pushes and pops among them. "Tags" is a transform that records every edge into a block and every
//! value where it is needed.
//!
//! | loop | tags | counted |
//! |---|---|---|
//! | `s = s * 0.999 + x * y` | 14 (2) | 8 (0) |
//! | `if s > 1 { s *= 0.5 } else { s += x * y }` | 14 (4) | 11 (2) |
//! | `s = sin(s) * y + x` | 19 (6) | 17 (4) |
//!
//! # Reversing a reversed function
//! Inside `f`, a push passes a value to a later pop. Backwards the cotangent goes from the pop to
//! the push: a `pop` becomes a push of its cotangent and a `push` a pop, on the same tape, which is
//! empty then.
//!
//! # Invariants
//! Primal then adjoint leave the tape as it was. The adjoint returns a tuple with one cotangent for
//! each parameter that has one, in order.
//!
//! Source of the block scheme: M. Innes, "Don't unroll adjoint: differentiating SSA-form programs",
//! arXiv 1810.07951.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, FuncId, Value},
    ir::{
        CustomRule, Function, FunctionBuilder, InstData, Kind, Op, Param, Position, Program,
        compact,
    },
    pass,
};

use super::{
    activity::{TapeUsers, active, passes, tapes},
    canonical::CanonicalFunction,
    cotangents::LiveCotangents,
    entry::entry,
    error::{DiffError, check},
    reach::{self, CallFacts, CalleeFacts, ReachAnalysis, callees_first, is_number},
    sweep::{AdjointSweep, Popped, ReverseAnalysis, SweepPlan},
    tape_plan::TapePlan,
};

/// Functions that [`reverse`] adds to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reverse {
    /// Primal: computes the function and records.
    pub primal: FuncId,
    /// Adjoint: `cotangent of the result -> (cotangents of the parameters…)`.
    pub adjoint: FuncId,
}

/// Adds the primal and the adjoint of a function, and of all its callees, to the program. For a
/// function with a rule of its own the rule is used, as in calls of it: its pullback, or the
/// transpose of its pushforward.
///
/// # Errors
/// If an op has no rule, a pushforward cannot be transposed, or a function has no body. The program
/// is then unchanged.
pub fn reverse(program: &mut Program, root: FuncId) -> Result<Reverse, DiffError> {
    check(program, root)?;
    reverse_within(program, root, Vec::new())
}

/// Reverses a function while the rules of these names are being transposed.
pub(super) fn reverse_within(
    program: &mut Program,
    root: FuncId,
    pending: Vec<String>,
) -> Result<Reverse, DiffError> {
    let used = program.reachable(root).into_iter().flat_map(|f| tapes(&program.functions[f]));
    let tape = used.max().map_or(0, |t| t + 1);
    let (done, work, subjects, calls, transposed) = Default::default();
    let mut all = program.clone();
    let root = entry(&mut all, root);
    let touching = TapeUsers::analyze(&all, root);
    let mut engine = ReverseEngine {
        program: all,
        tape,
        touching,
        done,
        work,
        analyses: subjects,
        calls,
        transposed,
        pending,
    };
    let pair = engine.pair(root);
    while let Some(f) = engine.work.pop() {
        engine.function(f)?;
    }
    *program = engine.program;
    Ok(pair)
}

/// Engine of reverse mode: the functions that are being reversed.
pub(super) struct ReverseEngine {
    pub program: Program,
    pub tape: u32,
    touching: TapeUsers,
    done: HashMap<FuncId, Reverse>,
    work: Vec<FuncId>,
    /// Functions that are analyzed already, and not yet reversed.
    analyses: HashMap<FuncId, ReverseAnalysis>,
    pub calls: CallFacts,
    /// Pullbacks derived from pushforwards, by the name of the function or primitive.
    pub transposed: HashMap<String, FuncId>,
    /// Rules that are being transposed meanwhile.
    pub pending: Vec<String>,
}

impl ReverseEngine {
    /// Returns the ids of a function's primal and adjoint, which are written later if they are new.
    pub(super) fn pair(&mut self, f: FuncId) -> Reverse {
        if let Some(&pair) = self.done.get(&f) {
            return pair;
        }
        let function = &self.program.functions[f];
        let (name, params, result) =
            (&function.name, function.params.clone(), function.result.clone());
        let bars = Kind::tuple(params.iter().filter_map(|p| p.kind.tangent()));
        let seed = result.tangent().map(|k| Param::new("y_bar", k));
        let primal = self.program.fresh_name(&format!("{name}.primal"));
        let adjoint = self.program.fresh_name(&format!("{name}.adjoint"));
        let primal = self.program.add(Function::declared(primal, params, result));
        let adjoint =
            self.program.add(Function::declared(adjoint, seed.into_iter().collect(), bars));
        let pair = Reverse { primal, adjoint };
        self.done.insert(f, pair);
        self.work.push(f);
        pair
    }

    /// Writes the primal and the adjoint of one function.
    fn function(&mut self, id: FuncId) -> Result<(), DiffError> {
        let f = &self.program.functions[id];
        if !f.is_defined() {
            return Err(DiffError::Undefined { function: f.name.clone() });
        }
        let s = self.take_analysis(id);
        let pair = self.pair(id);
        let declared = &self.program.functions[pair.adjoint];
        let (name, params, result) =
            (declared.name.clone(), declared.params.clone(), declared.result.clone());
        let builder = || FunctionBuilder::new(name.clone(), params.clone(), result.clone());

        let draft = AdjointSweep::run(self, &s, builder(), None)?;
        let AdjointSweep { b, popped, forks, .. } = draft;
        let alive = pops(&self.tidied(b), self.tape);
        let asked: Vec<(Value, Block)> = (popped.iter().enumerate())
            .filter_map(|(slot, p)| match *p {
                Popped::Value(v, b) if alive.contains(&(slot as u32)) => Some((v, b)),
                _ => None,
            })
            .collect();
        let decides = |slot: Option<u32>| slot.is_none_or(|slot| alive.contains(&slot));
        let forks = forks.into_iter().filter(|(_, slot)| decides(*slot)).map(|(b, _)| b).collect();
        let guide = SweepPlan { tape_plan: TapePlan::new(&s.canonical, &asked), forks };

        let AdjointSweep { b, popped, pops: order, .. } =
            AdjointSweep::run(self, &s, builder(), Some(&guide))?;
        let adjoint = self.tidied(b);
        let alive = pops(&adjoint, self.tape);
        self.program.functions[pair.adjoint] = adjoint;
        let name = self.program.functions[pair.primal].name.clone();
        let mut primal = self.primal(&s, name, &popped, &order, &alive);
        pass::merge(&mut primal);
        self.program.functions[pair.primal] = primal;
        Ok(())
    }

    /// Analyzes a function. Its callees are analyzed first: their results say which cotangents flow
    /// back through them.
    fn take_analysis(&mut self, id: FuncId) -> ReverseAnalysis {
        let order = callees_first(&self.program, id, &|f| self.calls.contains_key(&f));
        // Recursive functions are analyzed without their own results.
        for &f in &order {
            let answered =
                is_number(&self.program.functions[f].result) && !self.touching.contains(f);
            self.calls.insert(f, CalleeFacts { covered: Vec::new(), answered });
        }
        for f in order {
            let s = self.analysis_of(f);
            let covered = reach::covered(&s.canonical, &s.reached);
            self.calls.entry(f).or_default().covered = covered;
            self.analyses.insert(f, s);
        }
        let known = self.analyses.remove(&id);
        known.unwrap_or_else(|| self.analysis_of(id))
    }

    fn analysis_of(&self, id: FuncId) -> ReverseAnalysis {
        let f = &self.program.functions[id];
        let answered = self.calls.get(&id).is_some_and(|called| called.answered);
        analyze(&self.program, f, &self.touching, &self.calls, answered)
    }

    /// Removes dead code from a finished adjoint, pops of its own tape too.
    fn tidied(&self, b: FunctionBuilder) -> Function {
        let mut f = b.finish();
        loop {
            let before = (f.blocks.len(), f.size(), f.kinds.len());
            pass::merge(&mut f);
            pass::params(&mut f);
            pass::dce(&mut f, Some(self.tape));
            if (f.blocks.len(), f.size(), f.kinds.len()) == before {
                return f;
            }
        }
    }

    /// Copies the function, with pushes for the pops that are alive.
    fn primal(
        &mut self,
        s: &ReverseAnalysis,
        name: String,
        popped: &[Popped],
        order: &[Vec<u32>],
        alive: &HashSet<u32>,
    ) -> Function {
        let mut p = Function { name, ..s.canonical.f.clone() };
        let pushed = popped.iter().enumerate().filter_map(|(slot, q)| match q {
            Popped::Value(v, _) if alive.contains(&(slot as u32)) => Some(*v),
            _ => None,
        });
        let pushed: HashSet<Value> = pushed.collect();
        let idle: HashSet<Value> =
            s.canonical.lengths.iter().map(|l| l.1).filter(|n| !pushed.contains(n)).collect();
        if let Some(end) = s.canonical.end {
            p.blocks[end]
                .insts
                .retain(|&i| s.canonical.f.insts[i].result.is_none_or(|v| !idle.contains(&v)));
        }
        for (b, data) in s.canonical.f.blocks.iter() {
            for &i in &data.insts {
                if let Op::Call(g) = p.insts[i].op
                    && s.through[i.index()]
                {
                    p.insts[i].op = Op::Call(self.pair(g).primal);
                }
            }
            for slot in order[b.index()].iter().filter(|slot| alive.contains(slot)) {
                if let Popped::Value(v, _) = popped[*slot as usize] {
                    let push = self.push(&mut p, v, *slot);
                    p.blocks[b].insts.push(push);
                }
            }
        }
        for (slot, popped) in popped.iter().enumerate() {
            if let Popped::Tag(b) = *popped
                && alive.contains(&(slot as u32))
            {
                self.tag(&mut p, s, b, slot as u32);
            }
        }
        compact(&p)
    }

    /// Adds the tag of the incoming edge as one more argument of each edge, which the block pushes
    /// first.
    fn tag(&self, p: &mut Function, s: &ReverseAnalysis, b: Block, slot: u32) {
        let edges = &s.canonical.predecessors[b.index()];
        let two = edges.len() == 2;
        let kind = if two { Kind::Bool } else { Kind::Int };
        let tag = p.new_value(kind.clone());
        p.blocks[b].params.push(tag);
        let push = self.push(p, tag, slot);
        p.blocks[b].insts.insert(0, push);
        for (k, edge) in edges.iter().enumerate() {
            let op = if two { Op::Bool(k == 0) } else { Op::Int(k as i64) };
            let (inst, tag) = p.new_inst(op, &[], Some(kind.clone()), Position::default());
            let from = &mut p.blocks[edge.from];
            from.insts.push(inst);
            if let Some(target) = from.end.targets_mut().into_iter().nth(edge.index) {
                target.args.extend(tag);
            }
        }
    }

    fn push(&self, p: &mut Function, value: Value, slot: u32) -> crate::entity::Inst {
        p.new_inst(Op::Push { tape: self.tape, slot }, &[value], None, Position::default()).0
    }
}

/// Returns, for each parameter of a function without calls, whether all of its elements are reached
/// if all of the result are.
#[doc(hidden)]
pub fn covered(program: &Program, f: FuncId) -> Vec<bool> {
    let s = analyze(
        program,
        &program.functions[f],
        &TapeUsers::analyze(program, f),
        &CallFacts::new(),
        true,
    );
    reach::covered(&s.canonical, &s.reached)
}

/// Analyzes a function before it is reversed.
fn analyze(
    program: &Program,
    f: &Function,
    touching: &TapeUsers,
    calls: &CallFacts,
    answered: bool,
) -> ReverseAnalysis {
    let n = CanonicalFunction::new(f);
    let f = &n.f;
    let active = active(program, f, touching);
    let through: Vec<bool> =
        f.insts.values().map(|i| is_recorded(program, touching, &active, i)).collect();
    let flows = |(i, inst): (usize, &InstData)| match inst.op {
        Op::Push { .. } => true,
        Op::Call(_) if through[i] => true,
        _ => inst.result.is_some_and(|y| active[y.index()]) && passes(program, inst),
    };
    let passes: Vec<bool> = f.insts.values().enumerate().map(flows).collect();
    let live = LiveCotangents::analyze(&n, &active, &passes);
    let reached = {
        let (n, active, passes, through, live) = (&n, &active, &passes, &through, &live);
        ReachAnalysis { n, active, passes, through, live, answered, calls }.run()
    };
    let idle = (0..n.loops.list.len()).map(|l| is_idle(&n, l, &active, &passes)).collect();
    ReverseAnalysis { active, passes, through, live, reached, idle, canonical: n }
}

/// Returns true if nothing flows back through a loop, nor into the blocks to which it exits.
fn is_idle(n: &CanonicalFunction, l: usize, active: &[bool], passes: &[bool]) -> bool {
    let f = &n.f;
    let still = |b: Block| f.blocks[b].params.iter().all(|p| !active[p.index()]);
    let mut inside = n.loops.list[l].blocks.iter().copied();
    let works =
        |i: crate::entity::Inst| passes[i.index()] || matches!(f.insts[i].op, Op::Pop { .. });
    let quiet = |b: Block| still(b) && !f.blocks[b].insts.iter().any(|&i| works(i));
    inside.all(quiet)
        && n.loops.exits(f, l).iter().all(|e| still(f.blocks[e.from].end.targets()[e.index].block))
}

/// Returns true if the instruction is a call that is reversed through the body of the callee:
/// cotangents flow back through it, or it pushes to a tape, which must be undone in any case.
fn is_recorded(program: &Program, touching: &TapeUsers, active: &[bool], inst: &InstData) -> bool {
    let Op::Call(g) = inst.op else { return false };
    program.rule(g).is_none_or(CustomRule::is_empty)
        && (inst.result.is_some_and(|y| active[y.index()]) || touching.contains(g))
}

/// Returns the slots that a function pops from a tape.
fn pops(f: &Function, level: u32) -> HashSet<u32> {
    let insts = f.blocks.values().flat_map(|b| &b.insts);
    let slot = |op| match op {
        Op::Pop { tape, slot } if tape == level => Some(slot),
        _ => None,
    };
    insts.filter_map(|&i| slot(f.insts[i].op)).collect()
}
