//! Loop-invariant motion: what is the same each time round is computed once, before the loop.
//!
//! ```text
//! block1(v3: int, v4: real):               v2: real = mul v0, v1
//!     branch …, block2, block3             jump block1(…)
//! block2:                            ->    block1(v3: int, v4: real): …
//!     v5: real = mul v0, v1                block2:
//!     v6: real = add v4, v5                    v6: real = add v4, v2
//! ```
//!
//! An instruction moves if its operands come from outside the loop, and if it cannot fail. That is
//! not all: a loop may run zero times, and a block of it may be passed by. A product that would
//! never have been computed does no harm by its value, but its pullback multiplies a cotangent of 0
//! by a factor, and 0 times infinity is NaN. So at the strict level an instruction moves only
//!
//! - out of a block that every run of the loop passes (a loop from 0 to 10 does run), or
//! - if its pullback makes 0 of 0 whatever the operands are: sums, and all that `scale` guards.
//!
//! A loop whose only way in comes from a branch gets a block of its own before it, which goes away
//! if nothing moves there. Inner loops come first, so that what moves out of them moves on. Cost:
//! O(size x depth of loops).

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
    loops::{Loops, order},
};

/// Moves what is the same each time round a loop before it.
pub fn licm(f: &mut Function, level: Level) {
    if !f.is_defined() {
        return;
    }
    let new = blocks_before(f);
    let loops = Loops::of(f);
    if loops.list.is_empty() {
        return;
    }
    let mut place = vec![usize::MAX; f.blocks.len()];
    order(f).iter().enumerate().for_each(|(k, b)| place[b.index()] = k);
    let known = Known { loops, place, edges: f.predecessors(), defined: f.definitions() };
    let mut moved = false;
    while round(f, &known, level) {
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

/// What is known of a function while its blocks stay what they are.
struct Known {
    loops: Loops,
    /// The place of each block in an order in which definitions come before uses.
    place: Vec<usize>,
    edges: Vec<Vec<Edge>>,
    /// The instruction of each value.
    defined: Vec<Option<Inst>>,
}

/// Moves what the loops have, inner ones first.
fn round(f: &mut Function, known: &Known, level: Level) -> bool {
    let loops = &known.loops;
    let mut moved = false;
    for l in (0..loops.list.len()).rev() {
        let into = known.edges[loops.list[l].header.index()]
            .iter()
            .filter(|e| !loops.holds(Some(l), e.from));
        let [edge] = into.copied().collect::<Vec<_>>()[..] else { continue };
        let insts = invariant(f, known, l, level);
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

/// A new block on the only way into each loop whose old one may go elsewhere too, with the edge
/// that led there.
fn blocks_before(f: &mut Function) -> Vec<(Edge, Block)> {
    let (loops, edges) = (Loops::of(f), f.predecessors());
    let mut before = Vec::new();
    for (l, of) in loops.list.iter().enumerate().rev() {
        let into = edges[of.header.index()].iter().filter(|e| !loops.holds(Some(l), e.from));
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

/// What moves, in an order in which definitions come before uses.
fn invariant(f: &Function, known: &Known, l: usize, level: Level) -> Vec<Inst> {
    let loops = &known.loops;
    let mut inside = loops.list[l].blocks.clone();
    inside.sort_by_key(|b| known.place[b.index()]);
    let mut certain = None;
    // What varies from turn to turn, and the constants of the loop.
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
            let motion = match (motion(inst.op), &f.kinds[v]) {
                (Motion::Free | Motion::Careful, Kind::Array(_)) if inst.op.is_elementwise() => {
                    Motion::Certain
                }
                (motion, _) => motion,
            };
            let fits = match motion {
                Motion::Free => true,
                Motion::Careful if level == Level::Algebraic => true,
                Motion::Careful | Motion::Certain => {
                    certain.get_or_insert_with(|| Certain::new(f, known, l)).passes(loops, b)
                }
                Motion::None => false,
            };
            if !fits {
                continue;
            }
            // Constants come along.
            moves.extend(inst.args.iter().filter_map(|a| constants.remove(a)));
            moves.push(i);
            varies.remove(&v);
        }
    }
    moves
}

/// Whether an instruction may be run where it would not have been run.
enum Motion {
    /// Yes.
    Free,
    /// It does not fail, but its pullback may make NaN of 0.
    Careful,
    /// It may fail.
    Certain,
    /// It may fail, or does more than compute.
    None,
}

fn motion(op: Op) -> Motion {
    match op {
        Op::Number1(Number1::Neg) | Op::Number2(Number2::Add | Number2::Sub) => Motion::Free,
        Op::Number1(op) if op.is_singular() => Motion::Free,
        Op::Number2(op) if op.is_singular() => Motion::Free,
        Op::Number1(_) | Op::Number2(_) => Motion::Careful,
        Op::Int2(Int2::Min | Int2::Max | Int2::FoldIn) | Op::CompareInt(_) => Motion::Free,
        Op::Mixed(
            Mixed::PowiReal
            | Mixed::PowiComplex
            | Mixed::Polygamma
            | Mixed::Abs2
            | Mixed::Modulus
            | Mixed::Arg,
        ) => Motion::Careful,
        Op::OnArrays(_) => Motion::Certain,
        Op::Mixed(_) | Op::Select | Op::Tuple | Op::Field(_) | Op::Len => Motion::Free,
        _ => Motion::None,
    }
}

/// The blocks that every run of a loop passes at least once.
struct Certain {
    /// Where a first turn may end: each must come after the block.
    ends: Vec<Block>,
}

impl Certain {
    fn new(f: &Function, known: &Known, l: usize) -> Certain {
        let loops = &known.loops;
        let header = loops.list[l].header;
        let runs = runs(f, known, l);
        let exits = loops.exits(f, l).into_iter().map(|e| e.from).filter(|&b| b != header || !runs);
        let back = known.edges[header.index()].iter().map(|e| e.from);
        Certain { ends: exits.chain(back.filter(|&b| loops.holds(Some(l), b))).collect() }
    }

    fn passes(&self, loops: &Loops, b: Block) -> bool {
        self.ends.iter().all(|&end| loops.dominates(b, end))
    }
}

/// Whether the header's condition lets the first turn begin: a comparison of integers known
/// beforehand.
fn runs(f: &Function, known: &Known, l: usize) -> bool {
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
        let mut into = known.edges[header.index()].iter().filter(|e| !loops.holds(Some(l), e.from));
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
    loops.holds(Some(l), stays.block)
}
