//! Specialization to known shapes (partial evaluation), for a function that is run on arrays of
//! certain shapes.
//!
//! ```text
//! v4: array<real> = sum_like v2, v3     both [14]             (v4 becomes v2)
//! v5: int = dim v2, v1                                  ->    v5: int = int 14
//! v7: array<real> = embed v6, v3, …     v3 from a tape        v7: array<real> = embed v6, v8, …
//! ```
//!
//! - Ints and truth values that follow from shapes are constants, so branches on them are decided.
//!   But an operation on the path to an array that may fail (a slice with an unknown start) is not
//!   removed because only its shape is read.
//! - An operation that gives an array the shape that it has is removed.
//! - If only the shape of an array is read, it may be any of that shape: zeros made once, at the
//!   start.
//! - A value that is never popped from a tape is not pushed.
//!
//! No number changes. Cost: O(size).

use std::collections::{HashMap, HashSet};

use crate::{
    array::Shape,
    entity::{FuncId, Inst, Value},
    ir::{
        AbstractValue, ArrayOp, ENTRY, Element, Function, InstData, Kind, Literal, Op, Position,
        Program, ShapeAssumptions, compact, known_values,
    },
};

use super::{
    InlineLimits, Level, MAX_ROUNDS, check, failures::doubtful, inline_once, optimize,
    shapes::shapes_of,
};

/// Maximum number of elements of an array that is made for its shape.
const SMALL: usize = 4096;

/// Specializes a function that is run by itself, given the abstract values of its arguments; it has
/// been optimized for all shapes.
#[doc(hidden)]
pub fn optimize_for(
    program: &mut Program,
    id: FuncId,
    args: &[AbstractValue],
    given: &ShapeAssumptions,
    level: Level,
) {
    if level == Level::None {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        let mut changed = inline_once(program, id, &InlineLimits::new());
        let Some(known) = known_values(program, id, args.to_vec(), given) else { return };
        changed |= leave_out(program, id, &known.values, given.limit);
        if !changed {
            return;
        }
        check(program, id, "specialise");
        if let Some(known) = known_values(program, id, args.to_vec(), given) {
            shapes_of(&mut program.functions[id], &known.values);
        }
        optimize(program, id, level);
    }
}

/// Removes operations that the abstract values make unnecessary. Returns true if there were any.
fn leave_out(program: &mut Program, id: FuncId, known: &[AbstractValue], limit: usize) -> bool {
    let foreign = foreign(program, id);
    let f = &mut program.functions[id];
    let doubtful = doubtful(f, known);
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut changed = false;
    let of = |v: Value| known.get(v.index()).and_then(AbstractValue::shape);
    for b in f.blocks.keys().collect::<Vec<_>>() {
        for i in f.blocks[b].insts.clone() {
            let inst = &f.insts[i];
            let Some(v) = inst.result else { continue };
            if let Some(op) =
                constant(&known[v.index()]).filter(|_| inst.op.is_pure() && !doubtful[v.index()])
            {
                if inst.op != op {
                    f.insts[i] = InstData { op, args: Default::default(), ..inst.clone() };
                    changed = true;
                }
            } else if let Some(x) = needless(f, inst, known) {
                same.insert(v, x);
            }
        }
    }
    changed |= !same.is_empty();
    if !same.is_empty() {
        f.map_uses(|mut v| {
            while let Some(&w) = same.get(&v) {
                v = w;
            }
            v
        });
        for block in f.blocks.values_mut() {
            block.insts.retain(|&i| f.insts[i].result.is_none_or(|v| !same.contains_key(&v)));
        }
    }
    changed |= hollow(f, |v| of(v).filter(|_| !doubtful[v.index()]), limit);
    changed |= forget(f, &foreign);
    if changed {
        *f = compact(f);
    }
    changed
}

fn constant(known: &AbstractValue) -> Option<Op> {
    match known {
        AbstractValue::Int(n) => Some(Op::Int(*n)),
        AbstractValue::Bool(b) => Some(Op::Bool(*b)),
        _ => None,
    }
}

/// Returns the operand that equals the result.
fn needless(f: &Function, inst: &InstData, known: &[AbstractValue]) -> Option<Value> {
    use ArrayOp as A;
    let of = |v: Value| known.get(v.index()).and_then(AbstractValue::shape);
    let x = *inst.args.first()?;
    match inst.op {
        Op::OnArrays(op @ (A::Reshape | A::Slice)) if matches!(f.kinds[x], Kind::Array(_)) => {
            let (from, to) = (of(x)?, of(inst.result?)?);
            // A slice of a whole axis starts at 0; any other start is an error, which must be
            // reported.
            let fits = op == A::Reshape || known[inst.args[2].index()] == AbstractValue::Int(0);
            (from == to && fits).then_some(x)
        }
        Op::Accumulate => {
            let y = *inst.args.get(1)?;
            let empty = |v: Value| of(v).is_some_and(|s| *s == [0]);
            if empty(x) { Some(y) } else { Some(x).filter(|_| empty(y)) }
        }
        _ => None,
    }
}

/// Replaces arrays of which only the shape is read by zeros that are made at the start.
fn hollow(f: &mut Function, of: impl Fn(Value) -> Option<Shape>, limit: usize) -> bool {
    let early: HashSet<Value> = {
        let entry = &f.blocks[ENTRY];
        let made = entry.insts.iter().filter_map(|&i| f.insts[i].result);
        made.chain(entry.params.iter().copied()).collect()
    };
    let mut wanted: Vec<(Inst, usize, (Shape, Kind))> = Vec::new();
    for block in f.blocks.values().skip(1) {
        for &i in &block.insts {
            let inst = &f.insts[i];
            let Op::OnArrays(op) = inst.op else { continue };
            let Some(k) = op.shape_operand().filter(|_| inst.shape_list(f).is_none()) else {
                continue;
            };
            let Some(&v) = inst.args.get(k).filter(|v| !early.contains(v)) else { continue };
            if let Some(shape) = of(v).filter(|s| s.iter().product::<usize>() <= SMALL.min(limit)) {
                wanted.push((i, k, (shape, f.kinds[v].clone())));
            }
        }
    }
    let mut made: HashMap<(Shape, Kind), Value> = HashMap::new();
    let mut first = Vec::new();
    for (i, k, what) in &wanted {
        let v = match made.get(what) {
            Some(&v) => Some(v),
            None => zeros(f, &what.0, &what.1, &mut first),
        };
        let Some(v) = v else { continue };
        made.insert(what.clone(), v);
        f.insts[*i].args[*k] = v;
    }
    f.blocks[ENTRY].insts.splice(0..0, first);
    !made.is_empty()
}

/// Appends zeros of a shape; `None` for ints, which are never broadcast.
fn zeros(f: &mut Function, shape: &[usize], kind: &Kind, first: &mut Vec<Inst>) -> Option<Value> {
    let Kind::Array(element @ (Element::Real | Element::Complex)) = kind else { return None };
    let mut push = |op: Op, args: &[Value], kind: Kind| {
        let (inst, v) = f.new_inst(op, args, Some(kind), Position::default());
        first.push(inst);
        v
    };
    let int = |n: usize| Op::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let mut zero = push(Op::Real(Literal(0.0)), &[], Kind::Real)?;
    if *element == Element::Complex {
        zero = push(Op::Mixed(crate::ir::Mixed::Promote), &[zero], Kind::Complex)?;
    }
    let n = push(int(shape.iter().product()), &[], Kind::Int)?;
    let vector = push(Op::Fill, &[zero, n], kind.clone())?;
    if shape.len() == 1 {
        return Some(vector);
    }
    let lengths: Option<Vec<Value>> = shape.iter().map(|&n| push(int(n), &[], Kind::Int)).collect();
    let list = push(Op::Array, &lengths?, Kind::Array(Element::Int))?;
    push(Op::OnArrays(ArrayOp::Reshape), &[vector, list], kind.clone())
}

/// Returns the slots of tapes that other functions, or other calls of this one, use.
pub(crate) fn foreign(program: &Program, id: FuncId) -> Option<HashSet<(u32, u32)>> {
    let mut others = HashSet::new();
    let mut work = program.functions[id].callees();
    while let Some(g) = work.pop() {
        if others.insert(g) {
            work.extend(program.functions[g].callees());
        }
    }
    let slots = |g: &FuncId| {
        program.functions[*g].insts.values().filter_map(|i| slot(i.op)).collect::<Vec<_>>()
    };
    (!others.contains(&id)).then(|| others.iter().flat_map(slots).collect())
}

pub(crate) fn slot(op: Op) -> Option<(u32, u32)> {
    match op {
        Op::Push { tape, slot } | Op::Pop { tape, slot } => Some((tape, slot)),
        _ => None,
    }
}

/// Drops the pushes and pops of slots that only this function uses and whose popped values are
/// unused.
fn forget(f: &mut Function, foreign: &Option<HashSet<(u32, u32)>>) -> bool {
    let Some(foreign) = foreign else { return false };
    let mut read = vec![false; f.kinds.len()];
    let listed: Vec<Inst> = f.blocks.values().flat_map(|b| b.insts.iter().copied()).collect();
    listed.iter().flat_map(|&i| &f.insts[i].args).for_each(|v| read[v.index()] = true);
    for block in f.blocks.values() {
        block.end.operand().into_iter().for_each(|v| read[v.index()] = true);
        let handed = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
        handed.for_each(|v| read[v.index()] = true);
    }
    // For each slot, whether it is pushed to, popped from, and whether popped values are used.
    let mut slots: HashMap<(u32, u32), [bool; 3]> = HashMap::new();
    for &i in &listed {
        let inst = &f.insts[i];
        let Some(slot) = slot(inst.op) else { continue };
        let [pushed, popped, used] = slots.entry(slot).or_default();
        match inst.result {
            None => *pushed = true,
            Some(v) => {
                *popped = true;
                *used |= read[v.index()];
            }
        }
    }
    slots.retain(|slot, [pushed, popped, used]| {
        *pushed && *popped && !*used && !foreign.contains(slot)
    });
    let gone = |i: Inst| slot(f.insts[i].op).is_some_and(|slot| slots.contains_key(&slot));
    f.blocks.values_mut().for_each(|b: &mut crate::ir::BlockData| b.insts.retain(|&i| !gone(i)));
    !slots.is_empty()
}
