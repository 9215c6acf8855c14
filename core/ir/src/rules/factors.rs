//! Rules of `solve`, `signdet`, `cholesky`, `qr` and `svd`, and parts of those of cofactors and of
//! the exponential, in the notation of [`arrays`](super::arrays).
//!
//! Of `A = Q R`, `Q^H dQ` is skew and `dR R^-1` is an upper triangle with a real diagonal, so both
//! follow from `Q^H dA R^-1`, their sum. Of `A = U diag(s) V^H`, `U^H dU` and `V^H dV` are skew;
//! their sum and their difference follow from those of `P = U^H dA V` and its adjoint:
//! `(s_j - s_i) (X + Z) = P + P^H` off the diagonal, `(s_j + s_i) (X - Z) = P - P^H`, of which the
//! diagonal is a phase that both vectors of complex matrices share. What `dU` has outside the space
//! of `U` is that of `dA V / s`. Source: Townsend, *Differentiating the singular value
//! decomposition* (2016); for complex numbers Wan and Zhang, arXiv 1909.02659.

use crate::{
    entity::Value,
    ir::{ArrayOp as A, Int2, Kind, Number2, Op},
};

use super::{arrays::RuleBuilder, eigen::SimplicityCheck};

/// Splits the result of `qr`, or its replacement, into `Q` and `R`.
fn halves(r: &mut RuleBuilder<'_>, a: Value, y: Value) -> (Value, Value) {
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let (m, n) = (r.dim(a, zero), r.dim(a, one));
    let q = r.array_op(A::Slice, &[y, zero, zero, m]);
    (q, r.array_op(A::Slice, &[y, zero, m, n]))
}

/// Emits the strictly upper triangle plus a matrix and the real part of the diagonal.
fn upper_and(r: &mut RuleBuilder<'_>, x: Value, other: Value) -> Value {
    let one = r.b.int(1);
    let above = r.array_op(A::Triu, &[x, one]);
    let diagonal = r.array_op(A::Diagonal, &[x]);
    let diagonal = r.real_part(diagonal);
    let diagonal = r.array_op(A::DiagonalMatrix, &[diagonal]);
    let sum = r.add(above, other);
    r.add(sum, diagonal)
}

/// Emits the cotangent of the operand of `qr`.
pub(super) fn pull_qr(r: &mut RuleBuilder<'_>, a: Value, bar: Value) -> Value {
    let ((q, up), (q_bar, up_bar)) = (halves(r, a, r.y), halves(r, a, bar));
    let n = r.array_op(A::MatMulNh, &[up_bar, up]);
    let turned = r.array_op(A::MatMulHn, &[q, q_bar]);
    let n = r.sub(n, turned);
    let one = r.b.int(1);
    let below = r.array_op(A::Triu, &[n, one]);
    let below = r.adjoint(below);
    let s = upper_and(r, n, below);
    let t = r.array_op(A::MatMul, &[q, s]);
    let t = r.add(q_bar, t);
    let t = r.adjoint(t);
    let t = r.array_op(A::Solve, &[up, t]);
    r.adjoint(t)
}

/// Emits the tangent of `qr`.
pub(super) fn push_qr(r: &mut RuleBuilder<'_>, a: Value, d: Value) -> Value {
    let (zero, back) = (r.b.int(0), r.b.int(-1));
    let (q, up) = halves(r, a, r.y);
    let d = r.adjoint(d);
    let w = r.array_op(A::SolveAdjoint, &[up, d]);
    let w = r.adjoint(w);
    let c = r.array_op(A::MatMulHn, &[q, w]);
    let below = r.array_op(A::Tril, &[c, back]);
    let below = r.adjoint(below);
    let turn = upper_and(r, c, below);
    let along = r.array_op(A::MatMul, &[q, turn]);
    let q_dot = r.sub(w, along);
    let r_dot = r.array_op(A::MatMul, &[turn, up]);
    r.array_op(A::Concat, &[q_dot, r_dot, zero])
}

/// Emits the derivative of `y = cofactors_along(a, e)` along `f` of `a`:
/// `A^-T (tr(K^T E) - E^T K - F^T Y)` with `K = cofactors_along(A, F)`. The third derivative of the
/// determinant, it is the same for `e`, `f` and the result in any order.
pub(super) fn cofactors_twice(r: &mut RuleBuilder<'_>, [a, e, y]: [Value; 3], f: Value) -> Value {
    let inverse = r.array_op(A::Inv, &[a]);
    let inverse = r.array_op(A::Transpose, &[inverse]);
    let k = r.array_op(A::CofactorsAlong, &[a, f]);
    let along = r.array_op(A::Dot, &[k, e]);
    let along = r.mul(inverse, along);
    let mut back = |x: Value, y: Value| {
        let x = r.array_op(A::Transpose, &[x]);
        r.array_op(A::MatMul, &[x, y])
    };
    let (first, second) = (back(e, k), back(f, y));
    let t = r.add(first, second);
    let t = r.array_op(A::MatMul, &[inverse, t]);
    r.sub(along, t)
}

/// Returns the operation for the adjoint of a triangular matrix.
fn mirrored(op: A) -> A {
    if op == A::SolveLower { A::SolveUpper } else { A::SolveLower }
}

/// Emits the triangle that an operation reads.
fn triangle(r: &mut RuleBuilder<'_>, op: A, x: Value) -> Value {
    let zero = r.b.int(0);
    r.array_op(if op == A::SolveLower { A::Tril } else { A::Triu }, &[x, zero])
}

/// Emits the cotangent of an operand of `solve_lower` or `solve_upper`.
pub(super) fn pull_triangular(
    r: &mut RuleBuilder<'_>,
    op: A,
    a: Value,
    k: usize,
    bar: Value,
) -> Value {
    let adjoint = r.adjoint(a);
    let b_bar = r.array_op(mirrored(op), &[adjoint, bar]);
    if k == 1 {
        return b_bar;
    }
    let t = r.outer(b_bar, r.y, a);
    let t = triangle(r, op, t);
    r.neg(t)
}

/// Emits the tangent of the solution of a system of equations: that of `B_dot - A_dot X`.
pub(super) fn push_solve(
    r: &mut RuleBuilder<'_>,
    op: A,
    a: Value,
    [a_dot, b_dot]: [Option<Value>; 2],
) -> Option<Value> {
    let moved = a_dot.map(|d| {
        let d = match op {
            A::SolveAdjoint => r.adjoint(d),
            A::SolveLower | A::SolveUpper => triangle(r, op, d),
            _ => d,
        };
        let t = r.apply(d, r.y);
        r.neg(t)
    });
    let change = r.sum(moved, b_dot)?;
    Some(r.array_op(op, &[a, change]))
}

/// Emits the cotangent of the operand of `signdet`; that of a real one is zero.
pub(super) fn pull_sign_det(r: &mut RuleBuilder<'_>, a: Value, bar: Value) -> Option<Value> {
    if !r.is_complex(a) {
        return None;
    }
    let inverse = r.array_op(A::Inv, &[a]);
    let inverse = r.adjoint(inverse);
    let y = r.conj(r.y);
    let turn = r.mul(y, bar);
    let turn = r.imaginary_part(turn);
    Some(r.mul(inverse, turn))
}

/// Emits the tangent of `signdet`; that of a real one is zero.
pub(super) fn push_sign_det(r: &mut RuleBuilder<'_>, a: Value, d: Value) -> Option<Value> {
    if !r.is_complex(a) {
        return None;
    }
    let inverse = r.array_op(A::Inv, &[a]);
    let trace = r.array_op(A::TraceProduct, &[inverse, d]);
    let turn = r.imaginary_part(trace);
    Some(r.mul(r.y, turn))
}

/// Emits the cotangent of the operand of `cholesky`.
pub(super) fn pull_cholesky(r: &mut RuleBuilder<'_>, bar: Value) -> Value {
    let q = r.array_op(A::MatMulHn, &[r.y, bar]);
    let p = r.half_lower(q);
    let t = r.array_op(A::SolveAdjoint, &[r.y, p]);
    let t = r.adjoint(t);
    // t is now (L^-H P)^H; L^-H of it is S^H.
    let s = r.array_op(A::SolveAdjoint, &[r.y, t]);
    let h = r.adjoint(s);
    let sum = r.add(s, h);
    r.half_lower(sum)
}

/// Emits the tangent of `cholesky`.
pub(super) fn push_cholesky(r: &mut RuleBuilder<'_>, d: Value) -> Value {
    let lower = r.half_lower(d);
    let upper = r.adjoint(lower);
    let h = r.add(lower, upper);
    // L^-1 H L^-H, by solving twice; H and the result are Hermitian.
    let t = r.array_op(A::Solve, &[r.y, h]);
    let t = r.adjoint(t);
    let t = r.array_op(A::Solve, &[r.y, t]);
    let p = r.half_lower(t);
    r.array_op(A::MatMul, &[r.y, p])
}

/// Emits the derivative of `expm_along(a, e)` along `f` of `a`.
pub(super) fn twice_along(r: &mut RuleBuilder<'_>, a: Value, e: Value, f: Value) -> Value {
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let blank = r.lit(0.0, a);
    let blank = r.array_op(A::BroadcastTo, &[blank, a]);
    let mut square = |[p, q, s, t]: [Value; 4]| {
        let (upper, lower) =
            (r.array_op(A::Concat, &[p, q, one]), r.array_op(A::Concat, &[s, t, one]));
        r.array_op(A::Concat, &[upper, lower, zero])
    };
    let (both, along) = (square([a, e, blank, a]), square([f, blank, blank, f]));
    let whole = r.array_op(A::ExpmAlong, &[both, along]);
    let n = r.dim(a, zero);
    let rows = r.array_op(A::Slice, &[whole, zero, zero, n]);
    r.array_op(A::Slice, &[rows, one, n, n])
}

/// Terms of the rule of `svd`.
struct SvdTerms {
    s: Value,
    u: Value,
    v: Value,
    /// `1 / (s_j - s_i)`, 0 where they are equal.
    gaps: Value,
    /// `1 / (s_j + s_i)`, 0 where both are 0.
    sums: Value,
    /// `1 / s` as a row, 0 where it is 0.
    inverse: Value,
}

/// Splits the result of `svd` into the three factors of `A`.
fn split(r: &mut RuleBuilder<'_>, a: Value, y: Value) -> [Value; 3] {
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let (m, n) = (r.dim(a, zero), r.dim(a, one));
    let s = r.array_op(A::Slice, &[y, zero, zero, one]);
    let rows = r.b.inst(Op::Int2(Int2::Add), &[m, n], Kind::Int);
    let rest = r.array_op(A::Slice, &[y, zero, one, rows]);
    let u = r.array_op(A::Slice, &[rest, zero, zero, m]);
    [s, u, r.array_op(A::Slice, &[rest, zero, m, n])]
}

fn parts(r: &mut RuleBuilder<'_>, a: Value, y: Value) -> SvdTerms {
    let [s, u, v] = split(r, a, y);
    let gaps = r.inverse_gaps(s);
    let column = r.array_op(A::Transpose, &[s]);
    let sums = r.add(s, column);
    let sums = r.inverse_or_zero(sums);
    let inverse = r.inverse_or_zero(s);
    SvdTerms { s, u, v, gaps, sums, inverse }
}

/// Emits `p d`, but 0 where `d` is exactly 0.
fn scale(r: &mut RuleBuilder<'_>, p: Value, d: Value) -> Value {
    r.b.number2(Number2::Scale, p, d)
}

/// Emits half the sum and half the difference.
fn halves_of(r: &mut RuleBuilder<'_>, x: Value, y: Value) -> (Value, Value) {
    let half = r.lit(0.5, x);
    let (sum, difference) = (r.add(x, y), r.sub(x, y));
    (r.mul(sum, half), r.mul(difference, half))
}

/// Emits `(x - q p) / s`.
fn outside(r: &mut RuleBuilder<'_>, inverse: Value, x: Value, q: Value, p: Value) -> Value {
    let inside = r.array_op(A::MatMul, &[q, p]);
    let rest = r.sub(x, inside);
    scale(r, inverse, rest)
}

/// Emits the tangent of `svd`; of `svd_along` where that is differentiated along another direction.
pub(super) fn push_svd(
    r: &mut RuleBuilder<'_>,
    a: Value,
    d: Value,
    is_along_another: bool,
) -> Value {
    let zero = r.b.int(0);
    let [_, u, v] = split(r, a, r.y);
    let along = r.array_op(A::MatMul, &[d, v]);
    let p = r.array_op(A::MatMulHn, &[u, along]);
    let s_dot = r.array_op(A::Diagonal, &[p]);
    let s_dot = r.real_part(s_dot);
    let s_dot = r.array_op(A::InsertAxis, &[s_dot, zero]);
    let y = r.simple(r.y, SimplicityCheck::SvdUsed);
    let SvdTerms { s, u, v, mut gaps, sums, inverse } = parts(r, a, y);
    if is_along_another {
        gaps = r.nan_for_all_degenerate_pairs(gaps, s);
    }
    let along = r.array_op(A::MatMul, &[d, v]);
    let back = r.array_op(A::MatMulHn, &[d, u]);
    let p = r.array_op(A::MatMulHn, &[u, along]);
    let h = r.adjoint(p);
    let (even, odd) = (r.add(p, h), r.sub(p, h));
    let (even, odd) = (scale(r, gaps, even), scale(r, sums, odd));
    let (x, z) = halves_of(r, even, odd);
    let (u_out, v_out) = (outside(r, inverse, along, u, p), outside(r, inverse, back, v, h));
    let (u_in, v_in) = (r.array_op(A::MatMul, &[u, x]), r.array_op(A::MatMul, &[v, z]));
    let (u_dot, v_dot) = (r.add(u_in, u_out), r.add(v_in, v_out));
    let upper = r.array_op(A::Concat, &[s_dot, u_dot, zero]);
    r.array_op(A::Concat, &[upper, v_dot, zero])
}

/// Emits the cotangent of the operand of `svd`, with its reach where that matters: see
/// [`RuleBuilder::nan_for_degenerate_pairs`].
pub(super) fn pull_svd(
    r: &mut RuleBuilder<'_>,
    a: Value,
    bar: Value,
    there: Option<Value>,
) -> Value {
    let y = r.simple(r.y, SimplicityCheck::Svd);
    let SvdTerms { s, u, v, mut gaps, sums, mut inverse } = parts(r, a, y);
    if let Some(there) = there {
        let [of_values, of_u, of_v] = split(r, a, there);
        gaps = r.nan_for_degenerate_pairs(gaps, s, of_values, &[of_u, of_v]);
        let (zero, one) = (r.b.int(0), r.b.int(1));
        let (m, n) = (r.dim(a, zero), r.dim(a, one));
        inverse = r.nan_at_zero(inverse, s, of_values, &[of_u, of_v], [m, n]);
    }
    let [s_bar, u_bar, v_bar] = split(r, a, bar);
    let zero = r.b.int(0);
    let s_bar = r.real_part(s_bar);
    // A singular value is like an absolute value: at 0 its slope has no derivative, unless it is 0.
    let kinks = r.kinks(s, s_bar);
    let s_bar = r.add(s_bar, kinks);
    let s_bar = r.array_op(A::DropAxis, &[s_bar, zero]);
    let mut p_bar = r.array_op(A::DiagonalMatrix, &[s_bar]);
    let (x_bar, z_bar) =
        (r.array_op(A::MatMulHn, &[u, u_bar]), r.array_op(A::MatMulHn, &[v, v_bar]));
    let (even, odd) = halves_of(r, x_bar, z_bar);
    let even = if there.is_some() { r.mul(gaps, even) } else { scale(r, gaps, even) };
    let odd = scale(r, sums, odd);
    let (even_h, odd_h) = (r.adjoint(even), r.adjoint(odd));
    for t in [even, even_h, odd] {
        p_bar = r.add(p_bar, t);
    }
    p_bar = r.sub(p_bar, odd_h);
    let (u_out, v_out) =
        (outside(r, inverse, u_bar, u, x_bar), outside(r, inverse, v_bar, v, z_bar));
    // (U P_bar + X) V^H + U Z^H
    let t = r.array_op(A::MatMul, &[u, p_bar]);
    let t = r.add(t, u_out);
    let t = r.array_op(A::MatMulNh, &[t, v]);
    let rest = r.array_op(A::MatMulNh, &[u, v_out]);
    r.add(t, rest)
}
