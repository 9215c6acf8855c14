//! Rules of operations on numbers, element by element on arrays.
//!
//! ```text
//! y = mul a, b          a: [3], b: [2, 3], y: [2, 3]
//! a_bar += sum_like (mul b, y_bar), a
//! b_bar += mul a, y_bar
//! ```
//!
//! The partials are those of numbers. Broadcast elements are summed in the pullback. If the
//! cotangent is the same number for all elements it stays one number as long as possible.
//! Broadcasting or summing to the shape that an array has already costs nothing at run time.

use crate::{
    entity::Value,
    ir::{ArrayOp, FunctionBuilder, Kind, Mixed, Op},
};

use super::{
    Contribution, Emitter, Reach,
    partials::partial,
    pull::{pull_mixed, push_mixed, push_partials, term},
};

pub(super) fn is_array(b: &FunctionBuilder, v: Value) -> bool {
    matches!(b.kind(v), Kind::Array(_))
}

/// Extends a (co)tangent of `x` to its shape and all its elements, and no more.
pub(crate) fn whole(b: &mut FunctionBuilder, bar: Value, x: Value) -> Value {
    // These give a (co)tangent its shape when they make it.
    let known =
        b.maker(bar).is_some_and(|(op, _)| op.is_elementwise() || matches!(op, Op::OnArrays(_)));
    if known || !is_array(b, x) { bar } else { b.on_arrays(ArrayOp::ReshapeLike, &[bar, x]) }
}

/// Marks a cotangent that may belong to another array than the one it was made for, so that
/// [`whole`] checks its length.
pub(super) fn loose(b: &mut FunctionBuilder, bar: Value) -> Value {
    let kind = b.kind(bar).clone();
    match b.maker(bar) {
        Some((op, _)) if op.is_elementwise() || matches!(op, Op::OnArrays(_)) => {
            let empty = b.zero(&kind);
            b.inst(Op::Accumulate, &[bar, empty], kind)
        }
        _ => bar,
    }
}

/// Returns the number that all elements are, if it is known.
fn uniform(b: &FunctionBuilder, bar: Value) -> Option<Value> {
    match b.maker(bar)? {
        (Op::Fill | Op::OnArrays(ArrayOp::BroadcastTo), args) => {
            args.first().copied().filter(|&x| !is_array(b, x))
        }
        _ => None,
    }
}

pub(super) fn pull(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    y: Value,
    k: usize,
    y_bar: Value,
    reach: Reach,
) -> Option<Contribution> {
    let alone = args.iter().filter(|&&a| is_array(b, a)).count() == 1;
    // For `complex(a, b)` the parts of one number could not be broadcast to the shape of a complex
    // array.
    let parts = op == Op::Mixed(Mixed::Complex) && !alone;
    let number = if parts { None } else { uniform(b, y_bar) };
    let bar = match number {
        Some(x) => x,
        None => whole(b, y_bar, y),
    };
    let reach = reach.whole(b, y);
    let term = match op {
        Op::Mixed(Mixed::FromInt | Mixed::Cmp) => None,
        Op::Mixed(mixed) => Some(pull_mixed(b, mixed, args, y, k, bar, reach)?),
        _ => {
            let p = partial(b, op, k, args, y)?;
            let p = Emitter::new(b).ex(p).conj().value();
            term(b, op, k, p, bar, reach)
        }
    };
    let Some(mut term) = term else { return Some(Contribution::Zero) };
    let x = args[k];
    if alone && is_array(b, x) {
        // The result has the shape of the operand.
        if !is_array(b, term) {
            term = b.on_arrays(ArrayOp::BroadcastTo, &[term, x]);
        }
        return Some(Contribution::Add(term));
    }
    if number.is_some() {
        term = b.on_arrays(ArrayOp::BroadcastTo, &[term, y]);
    }
    Some(Contribution::Add(summed_like(b, term, x)))
}

/// Emits the sum of an array over the axes along which a value was broadcast to its shape.
pub(super) fn summed_like(b: &mut FunctionBuilder, array: Value, x: Value) -> Value {
    match b.kind(x).clone() {
        Kind::Array(_) => b.on_arrays(ArrayOp::SumLike, &[array, x]),
        kind => b.inst(Op::Sum, &[array], kind),
    }
}

pub(super) fn push(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    y: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    let dots: Vec<Option<Value>> =
        dots.iter().zip(args).map(|(dot, &x)| dot.map(|dot| whole(b, dot, x))).collect();
    let reach: Vec<Reach> = reach.iter().zip(args).map(|(reach, &x)| reach.whole(b, x)).collect();
    let reach = reach.as_slice();
    let sum = match op {
        Op::Mixed(mixed) => push_mixed(b, mixed, args, y, &dots, reach)?,
        _ => push_partials(b, op, args, y, &dots, reach)?,
    };
    let alone = args.iter().filter(|&&a| is_array(b, a)).count() == 1;
    Some(sum.map(|dot| {
        let fits = alone && is_array(b, dot);
        if fits { dot } else { b.on_arrays(ArrayOp::BroadcastTo, &[dot, y]) }
    }))
}
