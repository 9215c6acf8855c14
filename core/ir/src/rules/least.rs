//! Rules of `pinv` and `lstsq`, in the notation of [`arrays`](super::arrays).
//!
//! They hold where the rank is constant. `A^+` times something is `lstsq` of `A`, and `A^+^H` times
//! something is `lstsq` of `A^H`, so that both rules are written with the operations that they are
//! the rules of.

use crate::{
    entity::Value,
    ir::{ArrayOp as A, Element, Kind, Op},
};

use super::arrays::RuleBuilder;

/// Emits the residual `x - A y` of matrices.
fn rest(r: &mut RuleBuilder<'_>, x: Value, a: Value, y: Value) -> Value {
    let t = r.array_op(A::MatMul, &[a, y]);
    r.sub(x, t)
}

/// Emits the cotangent of the operand of `pinv`.
pub(super) fn pull_pinv(r: &mut RuleBuilder<'_>, a: Value, bar: Value) -> Value {
    let y = r.y;
    let t = r.array_op(A::MatMulHn, &[y, bar]);
    let along = r.array_op(A::MatMulNh, &[t, y]);
    // Y_bar^H Y Y^H, without its part A Y …
    let t = r.array_op(A::MatMulHn, &[bar, y]);
    let t = r.array_op(A::MatMulNh, &[t, y]);
    let ay = r.array_op(A::MatMul, &[a, y]);
    let outside = rest(r, t, ay, t);
    // Y^H Y Y_bar^H, without its part … Y A
    let t = r.array_op(A::MatMulNh, &[y, bar]);
    let t = r.array_op(A::MatMulHn, &[y, t]);
    let ya = r.array_op(A::MatMul, &[y, a]);
    let across = rest(r, t, t, ya);
    let sum = r.add(outside, across);
    r.sub(sum, along)
}

/// Emits the tangent of `pinv`.
pub(super) fn push_pinv(r: &mut RuleBuilder<'_>, a: Value, d: Value) -> Value {
    let y = r.y;
    let t = r.array_op(A::MatMul, &[y, d]);
    let along = r.array_op(A::MatMul, &[t, y]);
    // Y Y^H A_dot^H, and A_dot^H Y^H Y
    let t = r.array_op(A::MatMul, &[d, y]);
    let t = r.array_op(A::MatMulNh, &[y, t]);
    let ay = r.array_op(A::MatMul, &[a, y]);
    let outside = rest(r, t, t, ay);
    let t = r.array_op(A::MatMul, &[y, d]);
    let t = r.adjoint(t);
    let t = r.array_op(A::MatMul, &[t, y]);
    let ya = r.array_op(A::MatMul, &[y, a]);
    let across = rest(r, t, ya, t);
    let sum = r.add(outside, across);
    r.sub(sum, along)
}

/// Reshapes a vector to a column, with as many rows as `a` has along an axis; a matrix stays.
fn columns(r: &mut RuleBuilder<'_>, x: Value, a: Value, axis: i64) -> Value {
    let (axis, all) = (r.b.int(axis), r.b.int(-1));
    let rows = r.dim(a, axis);
    let shape = r.b.inst(Op::Array, &[rows, all], Kind::Array(Element::Int));
    r.array_op(A::Reshape, &[x, shape])
}

/// Emits the cotangent of an operand of `lstsq`.
pub(super) fn pull_lstsq(
    r: &mut RuleBuilder<'_>,
    [a, b]: [Value; 2],
    k: usize,
    bar: Value,
) -> Value {
    let adjoint = r.adjoint(a);
    let b_bar = r.array_op(A::Lstsq, &[adjoint, bar]);
    if k == 1 {
        return b_bar;
    }
    let (x, x_bar) = (columns(r, r.y, a, 1), columns(r, bar, a, 1));
    let (b, b_bar) = (columns(r, b, a, 0), columns(r, b_bar, a, 0));
    let along = r.array_op(A::MatMulNh, &[b_bar, x]);
    let misfit = rest(r, b, a, x);
    let back = r.array_op(A::Lstsq, &[a, b_bar]);
    let outside = r.array_op(A::MatMulNh, &[misfit, back]);
    let seen = r.array_op(A::MatMul, &[a, x_bar]);
    let seen = r.array_op(A::Lstsq, &[a, seen]);
    let unseen = r.sub(x_bar, seen);
    let source = r.array_op(A::Lstsq, &[adjoint, x]);
    let across = r.array_op(A::MatMulNh, &[source, unseen]);
    let sum = r.add(outside, across);
    r.sub(sum, along)
}

/// Emits the tangent of `lstsq` by its matrix.
pub(super) fn push_lstsq(r: &mut RuleBuilder<'_>, [a, b]: [Value; 2], d: Value) -> Value {
    let adjoint = r.adjoint(a);
    let (x, b) = (columns(r, r.y, a, 1), columns(r, b, a, 0));
    let misfit = rest(r, b, a, x);
    // A^+ (A^+^H A_dot^H (b - A x) - A_dot x)
    let turned = r.array_op(A::MatMulHn, &[d, misfit]);
    let turned = r.array_op(A::Lstsq, &[adjoint, turned]);
    let moved = rest(r, turned, d, x);
    let moved = r.array_op(A::Lstsq, &[a, moved]);
    let source = r.array_op(A::Lstsq, &[adjoint, x]);
    let source = r.array_op(A::MatMulHn, &[d, source]);
    let seen = r.array_op(A::MatMul, &[a, source]);
    let seen = r.array_op(A::Lstsq, &[a, seen]);
    let unseen = r.sub(source, seen);
    let sum = r.add(moved, unseen);
    r.array_op(A::ReshapeLike, &[sum, r.y])
}
