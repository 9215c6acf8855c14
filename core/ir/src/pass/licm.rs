//! Loop-invariant code motion: a loop-invariant computation is moved before the loop.
//!
//! ```text
//! block1(v3: int, v4: real):               v2: real = mul v0, v1
//!     branch …, block2, block3             jump block1(…)
//! block2:                            ->    block1(v3: int, v4: real): …
//!     v5: real = mul v0, v1                block2:
//!     v6: real = add v4, v5                    v6: real = add v4, v2
//! ```
//!
//! An instruction moves if its operands come from outside the loop, and if it cannot fail. That
//! does not suffice: a loop may run zero times, and a block of it may be skipped, so the motion is
//! speculative. A product that would not have been computed does no harm by its value, but its
//! pullback multiplies a cotangent of 0 by a factor, and 0 times infinity is NaN. So at the strict
//! level an instruction moves only
//!
//! - out of a block that must execute in every run of the loop (a loop from 0 to 10 does run), or
//! - if its pullback maps 0 to 0 for all operands: sums, and all that `scale` guards.
//!
//! A loop whose only entry edge comes from a branch gets a preheader, which is removed if nothing
//! moves there. Inner loops come first, so that instructions that are moved out of them move on.
//! Cost: O(size x depth of loops).

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Inst, Value},
    ir::{
        BlockData, Edge, Function, Int2, Kind, Mixed, Number1, Number2, Op, Target, Terminator,
        compact,
    },
};

use super::{
    Level,
    loops::{LoopForest, order},
};

/// Moves loop-invariant instructions before their loops.
pub fn licm(f: &mut Function, level: Level) {
    if !f.is_defined() {
        return;
    }
    let new = insert_preheaders(f);
    let loops = LoopForest::analyze(f);
    if loops.list.is_empty() {
        return;
    }
    let mut place = vec![usize::MAX; f.blocks.len()];
    order(f).iter().enumerate().for_each(|(k, b)| place[b.index()] = k);
    let known = LicmContext {
        loops,
        order_index: place,
        predecessors: f.predecessors(),
        defined: f.definitions(),
    };
    let mut moved = false;
    while hoist_loops(f, &known, level) {
        moved = true;
    }
    for &(edge, block) in &new {
        if f.blocks[block].insts.is_empty()
            && let Terminator::Jump(onward) = std::mem::take(&mut f.blocks[block].end)
            && let Some(target) = f.blocks[edge.from].end.targets_mut().into_iter().nth(edge.index)
        {
            *target = onward;
        }
    }
    if moved || !new.is_empty() {
        *f = compact(f);
    }
}

/// Facts about a function that hold while its blocks are unchanged.
struct LicmContext {
    loops: LoopForest,
    /// Position of each block in an order in which definitions come before uses.
    order_index: Vec<usize>,
    predecessors: Vec<Vec<Edge>>,
    /// Instruction that defines each value.
    defined: Vec<Option<Inst>>,
}

/// Hoists the invariants of all loops once, inner loops first. Returns true if any moved.
fn hoist_loops(f: &mut Function, known: &LicmContext, level: Level) -> bool {
    let loops = &known.loops;
    let mut moved = false;
    for l in (0..loops.list.len()).rev() {
        let into = known.predecessors[loops.list[l].header.index()]
            .iter()
            .filter(|e| !loops.contains(Some(l), e.from));
        let [edge] = into.copied().collect::<Vec<_>>()[..] else { continue };
        let insts = loop_invariants(f, known, l, level);
        if insts.is_empty() {
            continue;
        }
        let gone: HashSet<Inst> = insts.iter().copied().collect();
        for &b in &loops.list[l].blocks {
            f.blocks[b].insts.retain(|i| !gone.contains(i));
        }
        f.blocks[edge.from].insts.extend(insts);
        moved = true;
    }
    moved
}

/// Inserts a preheader on the only entry edge of each loop, if that comes from a branch. Returns
/// the new blocks with the original edges.
fn insert_preheaders(f: &mut Function) -> Vec<(Edge, Block)> {
    let (loops, edges) = (LoopForest::analyze(f), f.predecessors());
    let mut before = Vec::new();
    for (l, of) in loops.list.iter().enumerate().rev() {
        let into = edges[of.header.index()].iter().filter(|e| !loops.contains(Some(l), e.from));
        let [edge] = into.copied().collect::<Vec<_>>()[..] else { continue };
        if matches!(f.blocks[edge.from].end, Terminator::Jump(_)) {
            continue;
        }
        let next = f.blocks.next_key();
        let end_at = f.blocks[edge.from].end_at;
        let Some(target) = f.blocks[edge.from].end.targets_mut().into_iter().nth(edge.index) else {
            continue;
        };
        let end = Terminator::Jump(std::mem::replace(target, Target::new(next, vec![])));
        before.push((edge, f.blocks.push(BlockData { end, end_at, ..BlockData::default() })));
    }
    before
}

/// Returns the instructions to hoist, in an order in which definitions come before uses.
fn loop_invariants(f: &Function, known: &LicmContext, l: usize, level: Level) -> Vec<Inst> {
    let loops = &known.loops;
    let mut inside = loops.list[l].blocks.clone();
    inside.sort_by_key(|b| known.order_index[b.index()]);
    let mut certain = None;
    // Values that vary from iteration to iteration, and the constants of the loop.
    let mut varies: HashSet<Value> = HashSet::new();
    let mut constants: HashMap<Value, Inst> = HashMap::new();
    for &b in &inside {
        varies.extend(&f.blocks[b].params);
        for &i in &f.blocks[b].insts {
            let inst = &f.insts[i];
            varies.extend(inst.result.filter(|_| !inst.op.is_constant()));
            constants.extend(inst.result.filter(|_| inst.op.is_constant()).map(|v| (v, i)));
        }
    }
    let mut moves = Vec::new();
    for &b in &inside {
        for &i in &f.blocks[b].insts {
            let inst = &f.insts[i];
            let Some(v) = inst.result.filter(|v| varies.contains(v)) else { continue };
            if inst.args.iter().any(|a| varies.contains(a)) {
                continue;
            }
            // Shapes may not fit: an operation on arrays can fail.
            let motion = match (speculation_safety(inst.op), &f.kinds[v]) {
                (SpeculationSafety::Safe | SpeculationSafety::NanInPullback, Kind::Array(_))
                    if inst.op.is_elementwise() =>
                {
                    SpeculationSafety::MayFail
                }
                (motion, _) => motion,
            };
            let fits = match motion {
                SpeculationSafety::Safe => true,
                SpeculationSafety::NanInPullback if level == Level::Algebraic => true,
                SpeculationSafety::NanInPullback | SpeculationSafety::MayFail => {
                    certain.get_or_insert_with(|| MustExecute::new(f, known, l)).contains(loops, b)
                }
                SpeculationSafety::Pinned => false,
            };
            if !fits {
                continue;
            }
            // Constants are hoisted along with their users.
            moves.extend(inst.args.iter().filter_map(|a| constants.remove(a)));
            moves.push(i);
            varies.remove(&v);
        }
    }
    moves
}

/// Safety of speculation: whether an instruction may be executed where it would not have been.
enum SpeculationSafety {
    /// Safe.
    Safe,
    /// It does not fail, but its pullback may make NaN of 0.
    NanInPullback,
    /// It may fail, so only a block that must execute allows motion.
    MayFail,
    /// It may fail, or has effects.
    Pinned,
}

fn speculation_safety(op: Op) -> SpeculationSafety {
    match op {
        Op::Number1(Number1::Neg) | Op::Number2(Number2::Add | Number2::Sub) => {
            SpeculationSafety::Safe
        }
        Op::Number1(op) if op.is_singular() => SpeculationSafety::Safe,
        Op::Number2(op) if op.is_singular() => SpeculationSafety::Safe,
        Op::Number1(_) | Op::Number2(_) => SpeculationSafety::NanInPullback,
        Op::Int2(Int2::Min | Int2::Max | Int2::FoldIn) | Op::CompareInt(_) => {
            SpeculationSafety::Safe
        }
        Op::Mixed(
            Mixed::PowiReal
            | Mixed::PowiComplex
            | Mixed::Polygamma
            | Mixed::Abs2
            | Mixed::Modulus
            | Mixed::Arg,
        ) => SpeculationSafety::NanInPullback,
        Op::OnArrays(_) => SpeculationSafety::MayFail,
        Op::Mixed(_) | Op::Select | Op::Tuple | Op::Field(_) | Op::Len => SpeculationSafety::Safe,
        _ => SpeculationSafety::Pinned,
    }
}

/// Blocks of a loop that must execute: every run of the loop passes them at least once.
struct MustExecute {
    /// Blocks at which a first iteration may end: a block that dominates all of them must execute.
    ends: Vec<Block>,
}

impl MustExecute {
    fn new(f: &Function, known: &LicmContext, l: usize) -> MustExecute {
        let loops = &known.loops;
        let header = loops.list[l].header;
        let runs = first_iteration_runs(f, known, l);
        let exits = loops.exits(f, l).into_iter().map(|e| e.from).filter(|&b| b != header || !runs);
        let back = known.predecessors[header.index()].iter().map(|e| e.from);
        MustExecute { ends: exits.chain(back.filter(|&b| loops.contains(Some(l), b))).collect() }
    }

    fn contains(&self, loops: &LoopForest, b: Block) -> bool {
        self.ends.iter().all(|&end| loops.dominates(b, end))
    }
}

/// Returns true if the header's condition is known to hold for the first iteration: a comparison of
/// constant integers.
fn first_iteration_runs(f: &Function, known: &LicmContext, l: usize) -> bool {
    let loops = &known.loops;
    let header = loops.list[l].header;
    let inst = |v: Value| known.defined[v.index()].map(|i| &f.insts[i]);
    let Terminator::Branch(condition, yes, no) = &f.blocks[header].end else { return false };
    let Some((Op::CompareInt(compare), &[a, b])) =
        inst(*condition).map(|i| (i.op, i.args.as_slice()))
    else {
        return false;
    };
    let first = |v: Value| {
        let k = f.blocks[header].params.iter().position(|&p| p == v);
        let mut into =
            known.predecessors[header.index()].iter().filter(|e| !loops.contains(Some(l), e.from));
        let v = match (k, into.next()) {
            (Some(k), Some(e)) => *f.blocks[e.from].end.targets().get(e.index)?.args.get(k)?,
            _ => v,
        };
        match inst(v)?.op {
            Op::Int(n) => Some(n),
            _ => None,
        }
    };
    let (Some(a), Some(b)) = (first(a), first(b)) else { return false };
    let stays = if compare.holds(Some(a.cmp(&b))) { yes } else { no };
    loops.contains(Some(l), stays.block)
}
