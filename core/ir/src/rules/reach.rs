//! Reaches: dynamic tracking of (co)tangents that are not structurally zero, carried along with
//! them.
//!
//! A *reach* has the kind of its (co)tangent: a number, or an array of numbers, that is 0 exactly
//! where the (co)tangent is zero because no data flow leads there, and positive elsewhere. It
//! counts paths, so that reaches are added like (co)tangents; all partials of numbers count as 1,
//! and the result of an operation that mixes the elements of arrays is reached everywhere if it is
//! anywhere.
//!
//! ```text
//! y = get xs, i          pullback, given y_bar and the reach y_there:
//!                            xs_bar[i] += y_bar       xs_there[i] += y_there
//! ys = sqrt xs           pullback, given ys_bar and ys_there:
//!                            xs_bar += guard (ys_bar / 2 ys), ys_there
//! ```

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, ElementFlow, FunctionBuilder, Kind, Mixed, Number2, Op, Real2},
};

use super::{
    Contribution, Reach,
    elements::{is_array, loose, summed_like, whole},
    partials::partial,
    pull::{pullback, pushforward},
};

impl Reach {
    /// Extends a reach to all elements that the (co)tangents of `x` have.
    pub(super) fn whole(self, b: &mut FunctionBuilder, x: Value) -> Reach {
        match self {
            Reach::Where(there) if is_array(b, there) => Reach::Where(whole(b, there, x)),
            other => other,
        }
    }

    /// Converts a reach to the kind of the numbers in `x`.
    pub(super) fn like(self, b: &mut FunctionBuilder, x: Value) -> Reach {
        match self {
            Reach::Where(there) => Reach::Where(as_in(b, there, x)),
            other => other,
        }
    }

    /// Converts a reach to a value, for the (co)tangent `bar`.
    pub(crate) fn value(self, b: &mut FunctionBuilder, bar: Value) -> Value {
        let kind = b.kind(bar).clone();
        let one = b.number(1.0, &kind);
        // It is as short as the (co)tangent, which may lack elements at its end.
        match self {
            Reach::Where(there) => there,
            Reach::Nonzero => {
                let there = b.number2(Number2::Guard, one, bar);
                if is_array(b, bar) { loose(b, there) } else { there }
            }
            Reach::Always if is_array(b, bar) => {
                let there = b.on_arrays(ArrayOp::BroadcastTo, &[one, bar]);
                loose(b, there)
            }
            Reach::Always => one,
        }
    }
}

/// Emits the reach that flows back to the `k`-th operand from that of the result.
pub(crate) fn pull_reach(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    y: Value,
    k: usize,
    there: Value,
) -> Option<Contribution> {
    if moves(op) {
        let wanted: Vec<bool> = (0..args.len()).map(|j| j == k).collect();
        return pullback(b, op, args, y, there, Reach::Always, &wanted)?.get(k).copied();
    }
    let x = args[k];
    if !op.is_elementwise() {
        return Some(Contribution::Add(everywhere(b, there, x)));
    }
    let there = whole(b, there, y);
    let there = as_in(b, there, x);
    let there = through(b, op, args, y, k, there)?;
    Some(Contribution::Add(if is_array(b, y) { summed_like(b, there, x) } else { there }))
}

/// Emits the reach of the result from those of the operands.
pub(crate) fn push_reach(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    y: Value,
    there: &[Option<Value>],
) -> Option<Value> {
    if moves(op) {
        return pushforward(b, op, args, y, there, &[])?;
    }
    let mut sum = None;
    for (k, there) in there.iter().enumerate().filter_map(|(k, there)| Some((k, (*there)?))) {
        let there = if op.is_elementwise() {
            let there = whole(b, there, args[k]);
            let there = as_in(b, there, y);
            let there = through(b, op, args, y, k, there)?;
            if is_array(b, y) { b.on_arrays(ArrayOp::BroadcastTo, &[there, y]) } else { there }
        } else {
            everywhere(b, there, y)
        };
        sum = Some(sum.map_or(there, |sum| b.number2(Number2::Add, sum, there)));
    }
    sum
}

/// Returns true if the op moves and adds numbers, and computes nothing: its rule is the one for
/// reaches.
fn moves(op: Op) -> bool {
    match op {
        Op::Array | Op::Fill | Op::Sum => true,
        Op::Get | Op::Set | Op::Peek | Op::Put | Op::AddAt | Op::Accumulate => true,
        Op::OnArrays(op) => match op.elements() {
            ElementFlow::Moved | ElementFlow::Reduced | ElementFlow::Summed => true,
            ElementFlow::Absent | ElementFlow::Chosen | ElementFlow::Mixed => false,
        },
        _ => false,
    }
}

/// Masks a reach where an op ignores an operand: the lesser operand of `max`, elements that `scale`
/// and `guard` make zero.
fn through(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    y: Value,
    k: usize,
    there: Value,
) -> Option<Value> {
    Some(match (op, k) {
        (Op::Number2(Number2::Scale | Number2::Guard), 0) => {
            b.number2(Number2::Guard, there, args[1])
        }
        (Op::Real2(Real2::Min | Real2::Max), _) => {
            let p = partial(b, op, k, args, y)?;
            b.number2(Number2::Guard, there, p)
        }
        _ => there,
    })
}

/// Emits a reach of all of `x`, if any element of `there` is reached.
pub(crate) fn everywhere(b: &mut FunctionBuilder, there: Value, x: Value) -> Value {
    let mut any = there;
    if let Kind::Array(element) = b.kind(there) {
        let kind = element.kind();
        any = b.inst(Op::Sum, &[there], kind);
    }
    let any = as_in(b, any, x);
    if is_array(b, x) { b.on_arrays(ArrayOp::BroadcastTo, &[any, x]) } else { any }
}

/// Converts a reach to the kind of the numbers in `x`.
pub(crate) fn as_in(b: &mut FunctionBuilder, there: Value, x: Value) -> Value {
    let is_complex = |b: &FunctionBuilder, v: Value| {
        matches!(b.kind(v), Kind::Complex | Kind::Array(Element::Complex))
    };
    match (is_complex(b, there), is_complex(b, x)) {
        (true, false) => b.mixed(Mixed::Re, &[there]),
        (false, true) => b.mixed(Mixed::Promote, &[there]),
        _ => there,
    }
}
