//! Derivatives of `prod_pairs`, in the notation of [`arrays`](super::arrays).
//!
//! The product of the elements of `x` other than `k` (an exclusive product) is `p_k q_(k+1)`, where
//! `p` are the products up to each element and `q` those from each on: the solutions of
//! `(1 - S) p = e_0` and `(1 - T) q = e_n`, with `x` on the first subdiagonal of `S` and on the
//! first superdiagonal of `T`. Both are linear in `x`, so that derivatives of every order are
//! solutions of systems with the same matrices, whose diagonal is 1: zeros among the elements do no
//! harm. O(n^2), where the first two derivatives are O(n).

use crate::{
    entity::Value,
    ir::{ArrayOp as A, Element, Int2, Kind, Op},
};

use super::arrays::RuleBuilder;

/// Emits `y_i = sum v_j w_l prod x_k` over all `j` and `l` that differ from each other and from
/// `i`, and the other `k`: the change of `prod_pairs(x, v)` along `w`, in the shape of `x`.
pub(super) fn triples(r: &mut RuleBuilder<'_>, x: Value, v: Value, w: Value) -> Value {
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let n = r.b.inst(Op::Len, &[x], Kind::Int);
    let more = r.b.inst(Op::Int2(Int2::Add), &[n, one], Kind::Int);
    let element = if r.is_complex(x) { Element::Complex } else { Element::Real };
    let [unit, none] = [1.0, 0.0].map(|c| r.lit(c, x));
    let mut fill = |c: Value, count: Value| r.b.inst(Op::Fill, &[c, count], Kind::Array(element));
    let (ones, first, blank) = (fill(unit, more), fill(unit, one), fill(none, n));
    let row = {
        let row = fill(none, more);
        r.array_op(A::InsertAxis, &[row, zero])
    };
    let column = r.array_op(A::InsertAxis, &[blank, one]);
    let eye = r.array_op(A::DiagonalMatrix, &[ones]);
    let mut product = |is_before: bool| {
        // S, or T.
        let mut beside = |x: Value| {
            let all = r.b.int(-1);
            let shape = r.b.inst(Op::Array, &[all], Kind::Array(Element::Int));
            let x = r.array_op(A::Reshape, &[x, shape]);
            let x = r.array_op(A::DiagonalMatrix, &[x]);
            if is_before {
                let x = r.array_op(A::Concat, &[x, column, one]);
                r.array_op(A::Concat, &[row, x, zero])
            } else {
                let x = r.array_op(A::Concat, &[column, x, one]);
                r.array_op(A::Concat, &[x, row, zero])
            }
        };
        let [x, v, w] = [x, v, w].map(&mut beside);
        let matrix = r.sub(eye, x);
        let solve = if is_before { A::SolveLower } else { A::SolveUpper };
        let end = if is_before { [first, blank] } else { [blank, first] };
        let end = r.array_op(A::Concat, &[end[0], end[1], zero]);
        let p = r.array_op(solve, &[matrix, end]);
        let mut along = |changes: &[(Value, Value)]| {
            let terms: Vec<Value> = changes.iter().map(|&(s, p)| r.apply(s, p)).collect();
            let sum = terms.into_iter().reduce(|x, y| r.add(x, y)).unwrap_or(p);
            r.array_op(solve, &[matrix, sum])
        };
        let (p_v, p_w) = (along(&[(v, p)]), along(&[(w, p)]));
        let p_vw = along(&[(v, p_w), (w, p_v)]);
        let start = if is_before { zero } else { one };
        [p, p_v, p_w, p_vw].map(|p| r.array_op(A::Slice, &[p, zero, start, n]))
    };
    let ([p, p_v, p_w, p_vw], [q, q_v, q_w, q_vw]) = (product(true), product(false));
    let terms = [(p_vw, q), (p_v, q_w), (p_w, q_v), (p, q_vw)].map(|(p, q)| r.mul(p, q));
    let sum = terms.into_iter().reduce(|x, y| r.add(x, y)).unwrap_or(p);
    r.array_op(A::ReshapeLike, &[sum, x])
}
