//! Rules of `norm` and `norm_keep`, in the notation of [`arrays`](super::arrays).

use crate::{
    entity::Value,
    ir::{ArrayOp as A, Kind, Number2, Op, Real2},
};

use super::{
    Reach,
    arrays::RuleBuilder,
    pull::{direction, product},
    reach::everywhere,
};

/// Emits the cotangent of the operand of `norm`.
pub(super) fn pull_norm(r: &mut RuleBuilder<'_>, x: Value, bar: Value) -> Value {
    let slope = direction(r.b, x, r.y);
    let (bar, reach) = (r.as_in(bar, x), r.reach.like(r.b, x));
    product(r.b, slope, bar, reach)
}

/// Emits the cotangent of the operand of `norm_keep`.
pub(super) fn pull_norm_keep(r: &mut RuleBuilder<'_>, x: Value, bar: Value) -> Value {
    let slope = direction(r.b, x, r.y);
    let reach = r.reach.whole(r.b, r.y);
    product(r.b, slope, bar, reach)
}

/// Emits the tangent of `norm`.
pub(super) fn push_norm(r: &mut RuleBuilder<'_>, x: Value, d: Value) -> Value {
    let x = r.conj(x);
    let along = r.array_op(A::Dot, &[x, d]);
    let along = r.real(along);
    let dot = over_norm(r, along);
    if r.reach == Reach::Always {
        return dot;
    }
    let there = r.reach.value(r.b, d);
    let there = everywhere(r.b, there, dot);
    r.b.number2(Number2::Guard, dot, there)
}

/// Emits the tangent of `norm_keep`.
pub(super) fn push_norm_keep(r: &mut RuleBuilder<'_>, x: Value, axis: Value, d: Value) -> Value {
    let along = r.mul(x, d);
    let along = r.array_op(A::SumKeep, &[along, axis]);
    let dot = over_norm(r, along);
    if r.reach == Reach::Always {
        return dot;
    }
    let there = r.reach.value(r.b, d);
    let there = r.array_op(A::ReshapeLike, &[there, x]);
    let there = r.array_op(A::SumKeep, &[there, axis]);
    r.b.number2(Number2::Guard, dot, there)
}

/// Emits `x / y`, 0 where the norm is 0.
fn over_norm(r: &mut RuleBuilder<'_>, x: Value) -> Value {
    r.b.lifted(Op::Real2(Real2::Ratio), &[x, r.y], Kind::Real)
}
