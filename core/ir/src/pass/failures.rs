//! Failure analysis: values that may never be computed, because an instruction on the path to them
//! may fail, as far as shapes tell.
//!
//! ```text
//! v3: array<real> = slice v0, v1, v2, v1      v2 is any int: it may lie outside
//! v4: array<real> = sin v3                    doubtful too
//! v5: int = len v4                            known from shapes, but nothing may take its place
//! ```
//!
//! Calls, primitives and pops are never dropped, so their results are never doubtful once they
//! exist. An operation that fails depending on the data themselves (a singular matrix, an overflow)
//! is always doubtful.
//!
//! Cost: O(size x depth of loops).

use crate::{
    entity::Value,
    ir::{AbstractValue, ArrayOp, Element, FailureCause, Function, InstData, Kind, Op},
};

use super::loops::order;

/// Computes for each value whether it is doubtful, from the abstract values.
pub(crate) fn doubtful(f: &Function, known: &[AbstractValue]) -> Vec<bool> {
    let mut doubtful = vec![false; f.kinds.len()];
    let order = order(f);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        let mut mark = |v: Value, doubtful: &mut [bool]| {
            changed |= !std::mem::replace(&mut doubtful[v.index()], true);
        };
        for block in order.iter().map(|&b| &f.blocks[b]) {
            for inst in block.insts.iter().map(|&i| &f.insts[i]) {
                let Some(v) = inst.result.filter(|_| inst.op.is_pure()) else { continue };
                if inst.args.iter().any(|a| doubtful[a.index()]) || may_fail(f, inst, known) {
                    mark(v, &mut doubtful);
                }
            }
            for target in block.end.targets() {
                for (arg, param) in target.args.iter().zip(&f.blocks[target.block].params) {
                    if doubtful[arg.index()] {
                        mark(*param, &mut doubtful);
                    }
                }
            }
        }
    }
    doubtful
}

/// Returns true if an instruction may fail on operands that do not.
fn may_fail(f: &Function, inst: &InstData, known: &[AbstractValue]) -> bool {
    let of = |k: usize| inst.args.get(k).map_or(&AbstractValue::Any, |v| &known[v.index()]);
    let array = |v: &Value| matches!(f.kinds[*v], Kind::Array(_));
    // A known result has been checked to fit.
    let found = inst.result.is_some_and(|v| known[v.index()] != AbstractValue::Any);
    let shapes =
        || inst.args.iter().filter(|v| array(v)).all(|v| known[v.index()].shape().is_some());
    let ints = || {
        let int = |v: &&Value| f.kinds[**v] == Kind::Int;
        inst.args.iter().filter(int).all(|v| matches!(known[v.index()], AbstractValue::Int(_)))
    };
    match inst.op {
        Op::Int1(_) | Op::Int2(_) => !found,
        Op::Fill => !found || !ints(),
        Op::Get | Op::Peek | Op::Set | Op::Put | Op::AddAt => {
            let count = of(0).shape().map(|s| s.iter().product::<usize>());
            match (count, of(1)) {
                (Some(n), AbstractValue::Int(k)) => usize::try_from(*k).map_or(true, |k| k >= n),
                _ => true,
            }
        }
        Op::Accumulate => !shapes(),
        Op::OnArrays(op) => match op.failure() {
            FailureCause::ByShapes => !shapes() || !ints() || !lists(f, op, inst, known),
            FailureCause::ByData => true,
        },
        op if op.is_elementwise() && inst.args.iter().any(array) => !shapes(),
        _ => false,
    }
}

/// Returns true if the elements of all lists of ints are known.
fn lists(f: &Function, op: ArrayOp, inst: &InstData, known: &[AbstractValue]) -> bool {
    let list = |v: &&Value| f.kinds[**v] == Kind::Array(Element::Int);
    // For others the shape suffices.
    !op.reads_list()
        || inst.args.iter().filter(list).all(|v| matches!(known[v.index()], AbstractValue::Ints(_)))
}
