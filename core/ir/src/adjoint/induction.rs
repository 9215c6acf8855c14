//! Induction variables of loops in canonical form, and their final values.

use crate::{
    entity::{Block, Inst, Value},
    ir::{Compare, Edge, Function, Int2, Kind, Op, Position, Terminator},
    pass::LoopForest,
};

use super::canonical::defining_blocks;

/// Induction variable: an integer parameter of a loop's header that changes by a constant in each
/// iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct InductionVariable {
    /// Parameter of the header.
    pub value: Value,
    /// Initial value.
    pub start: Value,
    /// Change per iteration.
    pub step: i64,
    /// Final value, if only the header leaves the loop.
    pub final_value: Option<FinalValue>,
}

/// Final value of an induction variable, after its loop has ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum FinalValue {
    /// The bound, as in `i != bound`.
    Bound(Value),
    /// The bound, or the start if that is past it: `i < bound`. An inclusive bound is passed by one
    /// step.
    Beyond(Value, bool),
}

fn int(f: &Function, defined: &[Option<Inst>], v: Value) -> Option<i64> {
    match f.insts[defined.get(v.index()).copied()??].op {
        Op::Int(n) => Some(n),
        _ => None,
    }
}

/// Finds the induction variables of all loops.
pub(super) fn find_induction_variables(
    f: &mut Function,
    loops: &LoopForest,
) -> Vec<Vec<InductionVariable>> {
    // New induction variables change neither the edges between blocks nor earlier definitions.
    let known = LoopContext {
        loops,
        defined: f.definitions(),
        defining_block: defining_blocks(f),
        predecessors: f.predecessors(),
    };
    (0..loops.list.len()).map(|l| induction_variables_of(f, &known, l)).collect()
}

/// Context of the search: a function whose loops are simplified.
struct LoopContext<'a> {
    loops: &'a LoopForest,
    defined: Vec<Option<Inst>>,
    defining_block: Vec<Block>,
    predecessors: Vec<Vec<Edge>>,
}

/// Returns the induction variables of a loop, one with a constant start first; inserts one if there
/// is none.
fn induction_variables_of(
    f: &mut Function,
    known: &LoopContext<'_>,
    l: usize,
) -> Vec<InductionVariable> {
    let header = known.loops.list[l].header;
    let (mut before, mut latch) = (Block::new(0), Block::new(0));
    for edge in &known.predecessors[header.index()] {
        *(if known.loops.contains(Some(l), edge.from) { &mut latch } else { &mut before }) =
            edge.from;
    }
    let args = |from: Block| -> Vec<Value> {
        let target = f.blocks[from].end.targets().into_iter().find(|t| t.block == header);
        target.map(|t| t.args.clone()).unwrap_or_default()
    };
    let mut counters = Vec::new();
    for ((&value, start), next) in f.blocks[header].params.iter().zip(args(before)).zip(args(latch))
    {
        if let Some(step) = step_between(f, &known.defined, value, next) {
            counters.push(InductionVariable {
                value,
                start,
                step,
                final_value: final_value(f, known, l, value, step),
            });
        }
    }
    counters.sort_by_key(|c| int(f, &known.defined, c.start).is_none());
    if !counters.is_empty() {
        return counters;
    }
    let value = f.new_value(Kind::Int);
    f.blocks[header].params.push(value);
    let mut append = |b: Block, op: Op, args: &[Value]| {
        let (inst, v) = f.new_inst(op, args, Some(Kind::Int), Position::default());
        f.blocks[b].insts.push(inst);
        v.unwrap_or(value)
    };
    let start = append(before, Op::Int(0), &[]);
    let one = append(latch, Op::Int(1), &[]);
    let next = append(latch, Op::Int2(Int2::Add), &[value, one]);
    for (from, arg) in [(before, start), (latch, next)] {
        f.blocks[from]
            .end
            .targets_mut()
            .into_iter()
            .filter(|t| t.block == header)
            .for_each(|t| t.args.push(arg));
    }
    vec![InductionVariable { value, start, step: 1, final_value: None }]
}

/// Returns the constant by which `next` differs from `value`.
fn step_between(f: &Function, defined: &[Option<Inst>], value: Value, next: Value) -> Option<i64> {
    let inst = &f.insts[defined[next.index()]?];
    let step = match (inst.op, inst.args.as_slice()) {
        (Op::Int2(Int2::Add), &[a, b]) if a == value => int(f, defined, b)?,
        (Op::Int2(Int2::Add), &[a, b]) if b == value => int(f, defined, a)?,
        (Op::Int2(Int2::Sub), &[a, b]) if a == value => int(f, defined, b)?.checked_neg()?,
        _ => return None,
    };
    // The reversed loop steps by -step.
    (step != 0 && step != i64::MIN).then_some(step)
}

/// Returns the final value of an induction variable, if only the header leaves the loop and
/// compares it with a loop-invariant bound.
fn final_value(
    f: &Function,
    known: &LoopContext<'_>,
    l: usize,
    value: Value,
    step: i64,
) -> Option<FinalValue> {
    let LoopContext { loops, defined, defining_block: home, .. } = known;
    let header = &loops.list[l].header;
    let [exit] = loops.exits(f, l).try_into().ok()?;
    let Terminator::Branch(condition, ..) = f.blocks[*header].end else { return None };
    let inst = &f.insts[defined[condition.index()]?];
    let Op::CompareInt(mut compare) = inst.op else { return None };
    let &[mut a, mut bound] = inst.args.as_slice() else { return None };
    if bound == value {
        (a, bound) = (bound, a);
        compare = swapped(compare);
    }
    let varies = loops.contains(Some(l), home[bound.index()]);
    if a != value || exit.from != *header || varies && int(f, defined, bound).is_none() {
        return None;
    }
    // Condition to stay in the loop.
    let stay = if exit.index == 1 { compare } else { negated(compare) };
    match (stay, step) {
        (Compare::Ne, _) => Some(FinalValue::Bound(bound)),
        (Compare::Lt, 1) | (Compare::Gt, -1) => Some(FinalValue::Beyond(bound, false)),
        (Compare::Le, 1) | (Compare::Ge, -1) => Some(FinalValue::Beyond(bound, true)),
        _ => None,
    }
}

/// Returns the comparison with its operands swapped.
fn swapped(compare: Compare) -> Compare {
    match compare {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        same => same,
    }
}

/// Returns the negated comparison of integers.
fn negated(compare: Compare) -> Compare {
    match compare {
        Compare::Lt => Compare::Ge,
        Compare::Le => Compare::Gt,
        Compare::Gt => Compare::Le,
        Compare::Ge => Compare::Lt,
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
    }
}
