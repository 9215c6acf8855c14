//! Rules of eigenvalues and eigenvectors, and the parts they share with those of singular values,
//! where values are degenerate.
//!
//! The vectors of equal values are some basis of an eigenspace. A function that does not depend on
//! the basis, such as `V V^H` or the sum of a function of the values, has derivatives. These are
//! right where the vectors carry nothing of each other, if
//!
//! - forward mode takes those vectors between which the tangent is diagonal
//!   ([`ArrayOp::EigenAlong`]);
//! - reverse mode reaches either the values or the vectors. For both together, as in
//!   `V diag(g(w)) V^H`, it has to know `g'`, as it does for a product that is marked
//!   ([`ArrayOp::Spectral`]), and else returns NaN ([`RuleBuilder::nan_for_degenerate_pairs`]);
//! - no gradient is reversed once more, which could not know either: [`ArrayOp::Simple`]
//!   makes it NaN.

use crate::{
    entity::Value,
    ir::{ArrayOp as A, Int2, Kind, Mixed, Number2, Op, Real1},
};

use super::arrays::RuleBuilder;

impl RuleBuilder<'_> {
    /// Emits 1 where a real number is not zero, 0 where it is.
    fn is_there(&mut self, x: Value) -> Value {
        let kind = self.b.kind(x).clone();
        let sign = self.b.inst(Op::Real1(Real1::Sign), &[x], kind);
        self.mul(sign, sign)
    }
    /// Emits zeros with derivatives that are 0, too, but NaN where a number is 0 and its cotangent
    /// is reached.
    pub(super) fn kinks(&mut self, x: Value, x_bar: Value) -> Value {
        let [x, bar] = [x, x_bar].map(|x| self.real(x));
        let kind = self.b.kind(x).clone();
        let both =
            [Real1::AbsSlope, Real1::Sign].map(|op| self.b.inst(Op::Real1(op), &[x], kind.clone()));
        let kinks = self.sub(both[0], both[1]);
        let there = self.is_there(bar);
        let kinks = self.b.number2(Number2::Scale, kinks, there);
        if self.is_complex(x_bar) { self.b.mixed(Mixed::Promote, &[kinks]) } else { kinks }
    }
    fn is_zero(&mut self, x: Value) -> Value {
        let there = self.is_there(x);
        let one = self.lit(1.0, there);
        self.sub(one, there)
    }
    /// Emits NaN where a real number is not zero, 0 where it is.
    fn nan_if(&mut self, x: Value) -> Value {
        let nan = self.lit(f64::NAN, x);
        self.b.number2(Number2::Scale, nan, x)
    }
    /// Emits, for a row of numbers, 1 for each pair of equal ones, 0 for each one with itself.
    fn degenerate_pairs(&mut self, w: Value) -> Value {
        let w = self.real(w);
        let column = self.array_op(A::Transpose, &[w]);
        let gaps = self.sub(w, column);
        let equal = self.is_zero(gaps);
        let diagonal = self.array_op(A::Diagonal, &[equal]);
        let diagonal = self.array_op(A::DiagonalMatrix, &[diagonal]);
        self.sub(equal, diagonal)
    }
    /// Emits factors of pairs of vectors; NaN for two of equal values, if both one of these values
    /// and one of the vectors are reached. The reaches are a row of those of the values, and
    /// matrices of those of the vectors.
    pub(super) fn nan_for_degenerate_pairs(
        &mut self,
        factors: Value,
        w: Value,
        of_values: Value,
        of_vectors: &[Value],
    ) -> Value {
        let both = self.together(of_values, of_vectors);
        let column = self.array_op(A::Transpose, &[both[1]]);
        let vectors = self.add(both[1], column);
        let column = self.array_op(A::Transpose, &[both[0]]);
        let values = self.add(both[0], column);
        let both = self.mul(values, vectors);
        let equal = self.degenerate_pairs(w);
        let doubtful = self.mul(equal, both);
        self.nan_where(factors, doubtful)
    }
    /// Emits factors of pairs of vectors; NaN for two of equal values.
    pub(super) fn nan_for_all_degenerate_pairs(&mut self, factors: Value, w: Value) -> Value {
        let equal = self.degenerate_pairs(w);
        self.nan_where(factors, equal)
    }
    /// Emits `1 / s` of a row for a matrix of these sides, if they differ; NaN for a 0 if both it
    /// and its vectors are reached.
    pub(super) fn nan_at_zero(
        &mut self,
        inverse: Value,
        s: Value,
        of_values: Value,
        of_vectors: &[Value],
        [m, n]: [Value; 2],
    ) -> Value {
        let [values, vectors] = self.together(of_values, of_vectors);
        let both = self.mul(values, vectors);
        let s = self.real(s);
        let zero = self.is_zero(s);
        let doubtful = self.mul(zero, both);
        let longer = self.b.inst(Op::Int2(Int2::Sub), &[m, n], Kind::Int);
        let longer = self.b.mixed(Mixed::FromInt, &[longer]);
        let longer = self.is_there(longer);
        let doubtful = self.mul(doubtful, longer);
        self.nan_where(inverse, doubtful)
    }
    /// Joins the reaches of values, and of their vectors, as real rows.
    fn together(&mut self, of_values: Value, of_vectors: &[Value]) -> [Value; 2] {
        let zero = self.b.int(0);
        let sums: Vec<Value> =
            of_vectors.iter().map(|part| self.array_op(A::SumKeep, &[*part, zero])).collect();
        let all = sums.into_iter().reduce(|a, b| self.add(a, b)).unwrap_or(of_values);
        [of_values, all].map(|x| self.real(x))
    }
    fn nan_where(&mut self, x: Value, where_not_zero: Value) -> Value {
        let undefined = self.nan_if(where_not_zero);
        let undefined =
            if self.is_complex(x) { self.b.mixed(Mixed::Promote, &[undefined]) } else { undefined };
        self.add(x, undefined)
    }
    /// Emits a decomposition for use by its derivatives: see [`A::Simple`].
    pub(super) fn simple(&mut self, y: Value, simple: SimplicityCheck) -> Value {
        let k = self.b.int(simple as i64);
        self.array_op(A::Simple, &[y, k])
    }
}

/// Condition that makes gradients NaN which lead back through `simple`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SimplicityCheck {
    /// Equal eigenvalues, if one of their vectors is used.
    EigenUsed = 0,
    /// Equal singular values, or one that is 0, if one of their vectors is used.
    SvdUsed = 1,
    /// Equal eigenvalues.
    Eigen = 2,
    /// Equal singular values, or one that is 0.
    Svd = 3,
}

/// Splits the result of `eigen`, or its replacement, into values, and vectors as columns.
fn split(r: &mut RuleBuilder<'_>, y: Value, n: Value) -> (Value, Value) {
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let w = r.array_op(A::Slice, &[y, zero, zero, one]);
    (w, r.array_op(A::Slice, &[y, zero, one, n]))
}

/// Emits `(X + X^H) / 2`.
fn hermitian(r: &mut RuleBuilder<'_>, x: Value) -> Value {
    let h = r.adjoint(x);
    let sum = r.add(x, h);
    let half = r.lit(0.5, x);
    r.mul(sum, half)
}

/// Emits the cotangent of the operand of `eigen`, or of the first of `eigen_along`, with the reach
/// of the result for the former.
pub(super) fn pull_eigen(
    r: &mut RuleBuilder<'_>,
    x: Value,
    bar: Value,
    there: Option<Value>,
) -> Value {
    let zero = r.b.int(0);
    let n = r.dim(x, zero);
    let y = r.simple(r.y, SimplicityCheck::Eigen);
    let (w, v) = split(r, y, n);
    let (w_bar, v_bar) = split(r, bar, n);
    let w_bar = r.array_op(A::DropAxis, &[w_bar, zero]);
    let w_bar = r.real_part(w_bar);
    let w_bar = r.array_op(A::DiagonalMatrix, &[w_bar]);
    let t = r.array_op(A::MatMulHn, &[v, v_bar]);
    let f = r.inverse_gaps(w);
    let t = match there {
        Some(there) => {
            let (of_values, of_vectors) = split(r, there, n);
            let f = r.nan_for_degenerate_pairs(f, w, of_values, &[of_vectors]);
            r.mul(f, t)
        }
        None => r.b.number2(Number2::Scale, f, t),
    };
    let t = r.add(w_bar, t);
    let t = r.array_op(A::MatMul, &[v, t]);
    let t = r.array_op(A::MatMulNh, &[t, v]);
    hermitian(r, t)
}

/// Emits the tangent of `eigen`; of `eigen_along` where that is differentiated along another
/// direction.
pub(super) fn push_eigen(
    r: &mut RuleBuilder<'_>,
    x: Value,
    d: Value,
    is_along_another: bool,
) -> Value {
    let zero = r.b.int(0);
    let n = r.dim(x, zero);
    let d = hermitian(r, d);
    let along = |r: &mut RuleBuilder<'_>, v: Value| {
        let m = r.array_op(A::MatMulHn, &[v, d]);
        r.array_op(A::MatMul, &[m, v])
    };
    let (_, v) = split(r, r.y, n);
    let m = along(r, v);
    let w_dot = r.array_op(A::Diagonal, &[m]);
    let w_dot = r.real_part(w_dot);
    let w_dot = r.array_op(A::InsertAxis, &[w_dot, zero]);
    let y = r.simple(r.y, SimplicityCheck::EigenUsed);
    let (w, v) = split(r, y, n);
    let m = along(r, v);
    let mut f = r.inverse_gaps(w);
    if is_along_another {
        f = r.nan_for_all_degenerate_pairs(f, w);
    }
    let t = r.b.number2(Number2::Scale, f, m);
    let v_dot = r.array_op(A::MatMul, &[v, t]);
    r.array_op(A::Concat, &[w_dot, v_dot, zero])
}

/// Emits the cotangent that flows back through `simple`.
pub(super) fn pull_simple(r: &mut RuleBuilder<'_>, [y, k]: [Value; 2], bar: Value) -> Value {
    let there = r.reach_of(bar);
    let k = match r.b.maker(k) {
        Some((Op::Int(k), _)) => k,
        _ => SimplicityCheck::Svd as i64,
    };
    let (zero, one) = (r.b.int(0), r.b.int(1));
    let w = r.array_op(A::Slice, &[y, zero, zero, one]);
    let equal = r.degenerate_pairs(w);
    let mut doubtful = r.array_op(A::SumKeep, &[equal, zero]);
    if k & 1 == 1 {
        let w = r.real(w);
        let at_zero = r.is_zero(w);
        doubtful = r.add(doubtful, at_zero);
    }
    if k & 2 == 0 {
        let there = r.real(there);
        let used = r.array_op(A::SumKeep, &[there, zero]);
        doubtful = r.mul(doubtful, used);
    }
    r.nan_where(bar, doubtful)
}

/// Emits the change of a function of a matrix with its matrix, without the change of its
/// eigenvalues: `V (K . V^H X V) V^H` for a Hermitian X, with `K_ij = (d_i - d_j) / (w_i - w_j)`,
/// `(d'_i + d'_j) / 2` where the eigenvalues are equal, 0 on the diagonal. For cotangents it is the
/// conjugate of K. And `V^H X V`.
fn beside(
    r: &mut RuleBuilder<'_>,
    [x, y, d, slope]: [Value; 4],
    along: Value,
    is_cotangent: bool,
) -> [Value; 2] {
    let zero = r.b.int(0);
    let n = r.dim(x, zero);
    let (w, v) = split(r, y, n);
    let mut pairs = |x: Value| {
        let row = r.array_op(A::InsertAxis, &[x, zero]);
        let column = r.array_op(A::Transpose, &[row]);
        (row, column)
    };
    let ((row, column), (slopes, slopes_below)) = (pairs(d), pairs(slope));
    let change = r.sub(row, column);
    let inverse = r.inverse_gaps(w);
    let quotients = r.mul(change, inverse);
    let sums = r.add(slopes, slopes_below);
    let half = r.lit(0.5, sums);
    let means = r.mul(sums, half);
    let equal = r.degenerate_pairs(w);
    let equal = if r.is_complex(means) { r.b.mixed(Mixed::Promote, &[equal]) } else { equal };
    let means = r.b.number2(Number2::Scale, means, equal);
    let mut factors = r.add(quotients, means);
    if is_cotangent {
        factors = r.conj(factors);
    }
    let inside = r.array_op(A::MatMulHn, &[v, along]);
    let inside = r.array_op(A::MatMul, &[inside, v]);
    let t = r.mul(factors, inside);
    let t = r.array_op(A::MatMul, &[v, t]);
    [r.array_op(A::MatMulNh, &[t, v]), inside]
}

/// Emits the cotangents of the matrix and of the function of its eigenvalues. Everything else
/// follows from these.
pub(super) fn pull_spectral(
    r: &mut RuleBuilder<'_>,
    [x, y, d, slope]: [Value; 4],
    k: usize,
    bar: Value,
) -> Option<Value> {
    let y = r.simple(y, SimplicityCheck::Eigen);
    let [change, inside] = beside(r, [x, y, d, slope], bar, true);
    match k {
        1 => Some(hermitian(r, change)),
        3 => Some(r.array_op(A::Diagonal, &[inside])),
        _ => None,
    }
}

/// Emits the tangent of a function of a matrix.
pub(super) fn push_spectral(
    r: &mut RuleBuilder<'_>,
    [x, y, d, slope]: [Value; 4],
    [x_dot, d_dot]: [Option<Value>; 2],
) -> Option<Value> {
    let zero = r.b.int(0);
    let y = r.simple(y, SimplicityCheck::Eigen);
    let moved = x_dot.map(|dot| {
        let dot = hermitian(r, dot);
        beside(r, [x, y, d, slope], dot, false)[0]
    });
    let along = d_dot.map(|dot| {
        let n = r.dim(x, zero);
        let (_, v) = split(r, y, n);
        let t = r.mul(v, dot);
        r.array_op(A::MatMulNh, &[t, v])
    });
    r.sum(moved, along)
}
