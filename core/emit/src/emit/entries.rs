//! Transformation of irreducible loops: a loop with several entries gets a single one.
//!
//! A loop that a `break` leaves in the middle is entered in the middle by its adjoint: the adjoint
//! of Newton's iteration has a loop with two entries, which no `while` can express. Such a loop
//! gets a new header, which dispatches on a number:
//!
//! ```text
//! … jump a(x)            … jump head(0, x, 0)
//! … jump b(y)            … jump head(1, 0, y)
//! a(p): … jump b(q)  ->  head(tag, p', q'): switch tag, a(p'), b(q')
//! b(q): … jump a(r)      a(p): … jump b(q)
//!                        b(q): … jump head(0, r, q')
//! ```
//!
//! Only entry edges and back edges pass the header, so an iteration costs one branch more. A block
//! that dominates the entries dominates the header: a value that an entry reads and does not get as
//! a parameter is defined before both.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Value},
    ir::{BlockData, Function, Kind, Op, Target, Terminator, compact, remove_trivial_params},
};

/// Returns the function, compacted, with one entry to every loop.
pub(super) fn with_single_entries(f: &Function) -> Function {
    let mut f = compact(f);
    let mut changed = false;
    while let Some((part, entries)) = entangled(&f) {
        dispatch(&mut f, &part, &entries);
        changed = true;
    }
    if changed {
        remove_trivial_params(&mut f);
        f = compact(&f);
    }
    f
}

/// Returns a strongly connected component with several entries, and these.
fn entangled(f: &Function) -> Option<(Vec<bool>, Vec<Block>)> {
    let edges: Vec<Vec<Block>> =
        f.predecessors().into_iter().map(|into| into.iter().map(|e| e.from).collect()).collect();
    // Regions as lists and as numbers of blocks: the time for a small one does not depend on the
    // size of the function.
    let mut inside = vec![0; f.blocks.len()];
    let mut work: Vec<Vec<Block>> = vec![f.blocks.keys().collect()];
    let mut last = 0;
    while let Some(region) = work.pop() {
        last += 1;
        region.iter().for_each(|b| inside[b.index()] = last);
        for part in components(f, &edges, &region, &mut inside, &mut last) {
            let number = inside[part[0].index()];
            let enters = |b: &Block| {
                b.index() == 0 || edges[b.index()].iter().any(|from| inside[from.index()] != number)
            };
            let entries: Vec<Block> = part.iter().copied().filter(enters).collect();
            match entries.as_slice() {
                [] => {}
                [head] => work.push(part.into_iter().filter(|b| b != head).collect()),
                _ => {
                    let mut mask = vec![false; f.blocks.len()];
                    part.iter().for_each(|b| mask[b.index()] = true);
                    return Some((mask, entries));
                }
            }
        }
    }
    None
}

/// Returns the strongly connected components of a region with more than one block. `inside` has the
/// region's number at its blocks, and afterwards a number of its own, greater than `last`, for each
/// component.
///
/// Source: S. R. Kosaraju's algorithm: the order in which a search leaves the blocks, then searches
/// backwards.
fn components(
    f: &Function,
    edges: &[Vec<Block>],
    region: &[Block],
    inside: &mut [usize],
    last: &mut usize,
) -> Vec<Vec<Block>> {
    let number = *last;
    let order = leaving_order(f, |b| inside[b.index()] == number, region.iter().copied());
    let mut parts = Vec::new();
    for &start in order.iter().rev() {
        if inside[start.index()] != number {
            continue;
        }
        *last += 1;
        inside[start.index()] = *last;
        let (mut part, mut work) = (Vec::new(), vec![start]);
        while let Some(b) = work.pop() {
            part.push(b);
            for &from in &edges[b.index()] {
                if inside[from.index()] == number {
                    inside[from.index()] = *last;
                    work.push(from);
                }
            }
        }
        if part.len() > 1 {
            part.sort();
            parts.push(part);
        }
    }
    parts
}

/// Returns the blocks of a region in the postorder of a depth-first search from the given blocks.
fn leaving_order(
    f: &Function,
    inside: impl Fn(Block) -> bool,
    starts: impl Iterator<Item = Block>,
) -> Vec<Block> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    for start in starts {
        if !seen.insert(start) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((b, k)) = stack.pop() {
            match f.blocks[b].end.targets().get(k).map(|t| t.block) {
                Some(to) => {
                    stack.push((b, k + 1));
                    if inside(to) && seen.insert(to) {
                        stack.push((to, 0));
                    }
                }
                None => order.push(b),
            }
        }
    }
    order
}

/// Gives the blocks of `part` one entry.
fn dispatch(f: &mut Function, part: &[bool], entries: &[Block]) {
    // Back edges: edges to a block that the search has not left yet.
    let order = leaving_order(f, |b| part[b.index()], entries.iter().copied());
    let mut left = vec![usize::MAX; part.len()];
    order.iter().enumerate().for_each(|(k, b)| left[b.index()] = k);
    let tag = f.new_value(Kind::Int);
    let mut params = vec![tag];
    let mut own: HashMap<Block, std::ops::Range<usize>> = HashMap::new();
    for &e in entries {
        let start = params.len();
        for p in f.blocks[e].params.clone() {
            let kind = f.kinds[p].clone();
            params.push(f.new_value(kind));
        }
        own.insert(e, start..params.len());
    }
    let switch = entries.iter().map(|e| Target::new(*e, params[own[e].clone()].to_vec())).collect();
    let head = f.blocks.push(BlockData {
        params: params.clone(),
        end: Terminator::Switch(tag, switch),
        ..Default::default()
    });
    for from in f.blocks.keys().filter(|&b| b != head).collect::<Vec<_>>() {
        let mut end = std::mem::take(&mut f.blocks[from].end);
        let inside = part[from.index()];
        for target in end.targets_mut() {
            let Some(k) = entries.iter().position(|&e| e == target.block) else { continue };
            if inside && left[target.block.index()] < left[from.index()] {
                continue;
            }
            let range = own[&target.block].clone();
            let mut args = Vec::with_capacity(params.len());
            for (j, &p) in params.iter().enumerate() {
                args.push(match j {
                    0 => constant(f, from, Op::Int(k as i64), Kind::Int),
                    j if range.contains(&j) => target.args[j - range.start],
                    _ if inside => p,
                    _ => zero(f, from, &f.kinds[p].clone()),
                });
            }
            *target = Target::new(head, args);
        }
        f.blocks[from].end = end;
    }
}

fn constant(f: &mut Function, block: Block, op: Op, kind: Kind) -> Value {
    instruction(f, block, op, &[], kind)
}

fn instruction(f: &mut Function, block: Block, op: Op, args: &[Value], kind: Kind) -> Value {
    let at = f.blocks[block].end_at;
    let (inst, _) = f.new_inst(op, args, None, at);
    let v = f.new_value(kind);
    f.insts[inst].result = Some(v);
    f.blocks[block].insts.push(inst);
    v
}

/// Appends a value that is never read.
fn zero(f: &mut Function, block: Block, kind: &Kind) -> Value {
    let real = |f: &mut Function| constant(f, block, Op::Real(crate::ir::Literal(0.0)), Kind::Real);
    match kind {
        Kind::Real => real(f),
        Kind::Complex => {
            let re = real(f);
            instruction(f, block, Op::Mixed(crate::ir::Mixed::Promote), &[re], Kind::Complex)
        }
        Kind::Bool => constant(f, block, Op::Bool(false), Kind::Bool),
        Kind::Int | Kind::Handle => constant(f, block, Op::Int(0), kind.clone()),
        Kind::Array(_) => instruction(f, block, Op::Array, &[], kind.clone()),
        Kind::Tuple(t) => {
            let fields: Vec<Value> =
                t.fields.iter().map(|field| zero(f, block, &field.kind)).collect();
            instruction(f, block, Op::Tuple, &fields, kind.clone())
        }
    }
}
