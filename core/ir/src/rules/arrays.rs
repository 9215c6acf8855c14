//! Rules of the [table of array operations](crate::ir::arrays).
//!
//! With `B` for the cotangent of the result `Y`, and `^H` for the conjugate transpose:
//!
//! | `Y` | cotangents of the operands | tangent of `Y` |
//! |---|---|---|
//! | `A B` | `Y_bar B^H`, `A^H Y_bar` | `A_dot B + A B_dot` |
//! | `A^-1 B = X` | `-B_bar X^H`, `B_bar = A^-H X_bar` | `A^-1 (B_dot - A_dot X)` |
//! | `A^-1` | `-Y^H Y_bar Y^H` | `-Y A_dot Y` |
//! | `y_(k+1) = a_k y_k + b_k` | `conj(y_k) z_k`, `b_bar_k = z_k = conj(a_(k+1)) z_(k+1) + y_bar_(k+1)` | the recurrence of `a_dot_k y_k + b_dot_k` |
//! | `|A|` | `A / Y Y_bar`, 0 for zeros of `A` | `re tr(A^H A_dot) / Y`, 0 for zeros of `A` |
//! | `det A` | `conj(C) Y_bar`, `C` the cofactors | `tr(C^T A_dot)` |
//! | `C`, the cofactors of `A` | `K(conj A, C_bar)` | `K(A, A_dot)` |
//! | `Y = K(A, E)` | `D(conj A, conj E, conj Y, Y_bar)`, `K(conj A, Y_bar)` | `D(A, E, Y, A_dot) + K(A, E_dot)` |
//! | `det A / abs det A` | `i im(conj(Y) Y_bar) A^-H`, 0 for real ones | `Y i im tr(A^-1 A_dot)`, 0 for real ones |
//! | `ln abs det A` | `Y_bar A^-H` | `re tr(A^-1 A_dot)` |
//! | `L` with `L L^H = A` | `P(S + S^H)`, `S = L^-H P(L^H L_bar) L^-1` | `L P(L^-1 H L^-H)`, `H` Hermitian from the lower `A_dot` |
//! | `Q`, `R` with `A = Q R` | `(Q_bar + Q S(R_bar R^H - Q^H Q_bar)) R^-H` | `Q_dot = W - Q Y`, `R_dot = Y R`, `W = A_dot R^-1`, `Y = U(Q^H W)` |
//! | `A = V diag(w) V^H` | `V (diag(w_bar) + F . V^H V_bar) V^H` | `re diag M`, `V (F . M)`, `M = V^H A_dot V` |
//! | `A = U diag(s) V^H` | `U P_bar V^H + X V^H + U Z^H` | `re diag P`, `U (K + L) / 2 + D`, `V (K - L) / 2 + E`, `P = U^H A_dot V` |
//! | `sum A_p B_q` over the labels that `o` lacks | `sum Y_bar_o conj B_q`, `sum conj A_p Y_bar_o` over those that `p`, `q` lack | `sum A_dot B + sum A B_dot` |
//! | `L^-1 B = X` | `-tril(B_bar X^H)`, `B_bar = L^-H X_bar`; of an upper triangle the upper one | `L^-1 (B_dot - tril(A_dot) X)` |
//! | `A^+ = Y` | `-Y^H Y_bar Y^H + (1 - A Y) Y_bar^H Y Y^H + Y^H Y Y_bar^H (1 - Y A)` | `-Y A_dot Y + Y Y^H A_dot^H (1 - A Y) + (1 - Y A) A_dot^H Y^H Y` |
//! | `A^+ b = x` | `-B_bar x^H + (b - A x) (A^+ B_bar)^H + A^+^H x (x_bar - A^+ A x_bar)^H`, `B_bar = A^+^H x_bar` | `A^+ (b_dot - A_dot x) + A^+ A^+^H A_dot^H (b - A x) + (1 - A^+ A) A_dot^H A^+^H x` |
//! | `exp A` | `L(A^H, Y_bar)` | `L(A, A_dot)` |
//! | `L(A, E)` | `M(A^H, E^H, Y_bar)`, `L(A^H, Y_bar)` | `M(A, E, A_dot) + L(A, E_dot)` |
//!
//! `P(X)` is the lower triangle of `X` with half its diagonal; `U(X)` is the upper triangle plus
//! the adjoint of the strictly lower one, `S(X)` the upper triangle plus its adjoint, both with the
//! real part of the diagonal alone. `F_ij = 1 / (w_j - w_i)` of eigenvalues or singular values,
//! `G_ij = 1 / (s_j + s_i)`; both are 0, as is `1 / s`, where the divisor is exactly 0: vectors of
//! equal values are some basis of a space that alone is defined, and carry nothing of each other
//! (see [`eigen`] for where that is right). `K = F . (P + P^H)`, `L = G . (P - P^H)`,
//! `D = (A_dot V - U P) / s`, `E = (A_dot^H U - V P^H) / s`,
//! `P_bar = diag(s_bar) + (M + M^H + N - N^H) / 2`, `M = F . (U^H U_bar + V^H V_bar)`,
//! `N = G . (U^H U_bar - V^H V_bar)`, `X = (U_bar - U U^H U_bar) / s`,
//! `Z = (V_bar - V V^H V_bar) / s`, where s stands for `diag(s)`. `K(A, E)` is `cofactors_along`,
//! and `D(A, E, Y, F) = A^-T (tr(K(A, F)^T E) - E^T K(A, F) - F^T Y)`. `L(A, E)` is `expm_along`,
//! and `M(A, E, F)` the upper right block of `L([[A, E], [0, A]], [[F, 0], [0, F]])`. Sources:
//! Giles, *Collected matrix derivative results for forward and reverse mode algorithmic
//! differentiation* (2008), sections 2.2 and 3.1; Murray, arXiv 1602.07527 (Cholesky); Walter and
//! Lehmann, arXiv 1009.6112 (QR); Golub and Pereyra, *The differentiation of pseudo-inverses and
//! nonlinear least squares problems whose variables separate* (1973). Everything else is a sum or
//! moves elements; its rule moves them back.

use crate::{
    entity::Value,
    ir::{
        ArrayDerivative, ArrayOp, Element, FunctionBuilder, Kind, Mixed, Number1, Number2, Op,
        Real1, Real2,
    },
};

use super::{
    Contribution, Reach, eigen,
    elements::{is_array, whole},
    factors, least, products,
    pull::{direction, product},
    reach::everywhere,
};

/// Builder of rules, with short names for the operations that they emit.
pub(super) struct RuleBuilder<'b> {
    pub(super) b: &'b mut FunctionBuilder,
}

impl RuleBuilder<'_> {
    pub(super) fn array_op(&mut self, op: ArrayOp, args: &[Value]) -> Value {
        self.b.on_arrays(op, args)
    }
    pub(super) fn mul(&mut self, x: Value, y: Value) -> Value {
        match (self.b.constant(x), self.b.constant(y)) {
            (Some(1.0), _) => y,
            (_, Some(1.0)) => x,
            _ => self.b.number2(Number2::Mul, x, y),
        }
    }
    pub(super) fn add(&mut self, x: Value, y: Value) -> Value {
        self.b.number2(Number2::Add, x, y)
    }
    pub(super) fn sub(&mut self, x: Value, y: Value) -> Value {
        self.b.number2(Number2::Sub, x, y)
    }
    pub(super) fn neg(&mut self, x: Value) -> Value {
        self.b.number1(Number1::Neg, x)
    }
    pub(super) fn is_complex(&self, x: Value) -> bool {
        matches!(self.b.kind(x), Kind::Complex | Kind::Array(Element::Complex))
    }
    pub(super) fn conj(&mut self, x: Value) -> Value {
        if self.is_complex(x) { self.b.mixed(Mixed::Conj, &[x]) } else { x }
    }
    /// Emits the real part, in the kind of `x`.
    pub(super) fn real_part(&mut self, x: Value) -> Value {
        if !self.is_complex(x) {
            return x;
        }
        let re = self.b.mixed(Mixed::Re, &[x]);
        self.b.mixed(Mixed::Promote, &[re])
    }
    /// Emits `i im x` of a complex number.
    fn imaginary_part(&mut self, x: Value) -> Value {
        let re = self.real_part(x);
        self.sub(x, re)
    }
    /// Converts a real number to the kind of the elements of `x`.
    fn as_in(&mut self, real: Value, x: Value) -> Value {
        if self.is_complex(x) { self.b.mixed(Mixed::Promote, &[real]) } else { real }
    }
    /// Emits a constant of the kind of the elements of `x`.
    pub(super) fn lit(&mut self, c: f64, x: Value) -> Value {
        let kind = self.b.kind(x).clone();
        self.b.number(c, &kind)
    }
    pub(super) fn adjoint(&mut self, x: Value) -> Value {
        let x = self.conj(x);
        self.array_op(ArrayOp::Transpose, &[x])
    }
    pub(super) fn dim(&mut self, x: Value, axis: Value) -> Value {
        self.array_op(ArrayOp::Dim, &[x, axis])
    }
    /// Emits the lower triangle with half the diagonal.
    fn half_lower(&mut self, x: Value) -> Value {
        let zero = self.b.int(0);
        let lower = self.array_op(ArrayOp::Tril, &[x, zero]);
        let diagonal = self.array_op(ArrayOp::Diagonal, &[x]);
        let half = self.lit(0.5, x);
        let half = self.mul(diagonal, half);
        let half = self.array_op(ArrayOp::DiagonalMatrix, &[half]);
        self.sub(lower, half)
    }
    /// Reshapes a vector of n to a column; a matrix stays.
    fn columns(&mut self, x: Value, rows: Value) -> Value {
        let rest = self.b.int(-1);
        let shape = self.b.inst(Op::Array, &[rows, rest], Kind::Array(Element::Int));
        self.array_op(ArrayOp::Reshape, &[x, shape])
    }
    /// Emits `X Y^H` of vectors or of matrices with as many rows as `a` has.
    pub(super) fn outer(&mut self, x: Value, y: Value, a: Value) -> Value {
        let zero = self.b.int(0);
        let rows = self.dim(a, zero);
        let (x, y) = (self.columns(x, rows), self.columns(y, rows));
        self.array_op(ArrayOp::MatMulNh, &[x, y])
    }
    /// Emits `A X` of a matrix and a vector or a matrix, in the shape of `x`.
    pub(super) fn apply(&mut self, a: Value, x: Value) -> Value {
        let zero = self.b.int(0);
        let rows = self.dim(a, zero);
        let columns = self.columns(x, rows);
        let product = self.array_op(ArrayOp::MatMul, &[a, columns]);
        self.array_op(ArrayOp::ReshapeLike, &[product, x])
    }
    /// Emits `1 / (w_j - w_i)` of a row, 0 where they are equal.
    pub(super) fn inverse_gaps(&mut self, w: Value) -> Value {
        let column = self.array_op(ArrayOp::Transpose, &[w]);
        let gaps = self.sub(w, column);
        self.inverse_or_zero(gaps)
    }
    /// Emits `1 / x` of an array of numbers without imaginary parts, 0 where they are 0.
    pub(super) fn inverse_or_zero(&mut self, x: Value) -> Value {
        let re = if self.is_complex(x) { self.b.mixed(Mixed::Re, &[x]) } else { x };
        let sign = self.b.inst(Op::Real1(Real1::Sign), &[re], Kind::Array(Element::Real));
        let there = self.mul(sign, sign);
        let there = self.as_in(there, x);
        let c = self.lit(1.0, x);
        let blank = self.sub(c, there);
        let x = self.add(x, blank);
        self.b.number2(Number2::Div, there, x)
    }
}

pub(super) fn pull(
    b: &mut FunctionBuilder,
    op: ArrayOp,
    args: &[Value],
    y: Value,
    k: usize,
    y_bar: Value,
    reach: Reach,
) -> Option<Contribution> {
    use ArrayOp as A;
    let bar = whole(b, y_bar, y);
    let r = &mut RuleBuilder { b };
    let x = args[0];
    let second = args.get(1).copied().unwrap_or(x);
    let third = args.get(2).copied().unwrap_or(x);
    Some(Contribution::Add(match (op, k) {
        (A::ReshapeLike | A::Reshape | A::InsertAxis | A::DropAxis, 0) => {
            r.array_op(A::ReshapeLike, &[bar, x])
        }
        (A::Transpose, _) => r.array_op(A::Transpose, &[bar]),
        (A::Permute, 0) => r.array_op(A::Unpermute, &[bar, second]),
        (A::Unpermute, 0) => r.array_op(A::Permute, &[bar, second]),
        (A::Slice, 0) => r.array_op(A::Pad, &[bar, x, second, third]),
        (A::Pad, 0) => {
            let n = r.dim(x, third);
            r.array_op(A::Slice, &[bar, third, args[3], n])
        }
        (A::DynamicUpdateSlice, 0) => {
            let n = r.dim(x, third);
            r.array_op(A::Slice, &[bar, third, args[3], n])
        }
        (A::DynamicUpdateSlice, 1) => {
            let zero = r.lit(0.0, x);
            let zeros = r.array_op(A::BroadcastTo, &[zero, x]);
            r.array_op(A::DynamicUpdateSlice, &[zeros, bar, third, args[3]])
        }
        (A::Concat, _) => {
            let (zero, m) = (r.b.int(0), r.dim(x, third));
            match k {
                0 => r.array_op(A::Slice, &[bar, third, zero, m]),
                _ => {
                    let n = r.dim(second, third);
                    r.array_op(A::Slice, &[bar, third, m, n])
                }
            }
        }
        (A::Gather, 0) => r.array_op(A::Scatter, &[bar, x, second]),
        (A::Scatter, 0) => {
            let rows = r.array_op(A::Gather, &[bar, third]);
            r.array_op(A::ReshapeLike, &[rows, x])
        }
        (A::Flip, 0) => r.array_op(A::Flip, &[bar, second]),
        (A::GatherAlong, 0) => r.array_op(A::ScatterAlong, &[bar, x, second, third]),
        (A::ScatterAlong, 0) => r.array_op(A::GatherAlong, &[bar, third, args[3]]),
        (A::LinearRecurrence, _) => {
            let along = adjoint_recurrence(r, x, bar, third);
            if k == 1 {
                return Some(Contribution::Add(along));
            }
            let before = before_last(r, y, x, third);
            let before = r.conj(before);
            r.mul(before, along)
        }
        (A::NormKeep, 0) => {
            let slope = direction(r.b, x, y);
            let reach = reach.whole(r.b, y);
            product(r.b, slope, bar, reach)
        }
        (A::BroadcastTo, 0) if is_array(r.b, x) => r.array_op(A::SumLike, &[bar, x]),
        (A::BroadcastTo, 0) => {
            let kind = r.b.kind(x).clone();
            r.b.inst(Op::Sum, &[bar], kind)
        }
        (A::SumLike | A::SumKeep, 0) => r.array_op(A::BroadcastTo, &[bar, x]),
        (
            A::ReshapeLike | A::Pad | A::Scatter | A::ScatterAlong | A::BroadcastTo | A::SumLike,
            _,
        ) => {
            return Some(Contribution::Zero);
        }
        (A::Tril | A::Triu, 0) => r.array_op(op, &[bar, second]),
        (A::Diagonal, _) => r.array_op(A::DiagonalMatrix, &[bar]),
        (A::DiagonalMatrix, _) => r.array_op(A::Diagonal, &[bar]),
        (A::Cumsum, 0) => r.array_op(A::ReverseCumsum, &[bar, second]),
        (A::ReverseCumsum, 0) => r.array_op(A::Cumsum, &[bar, second]),
        (A::Prod, _) => {
            let others = r.array_op(A::ExclusiveProd, &[x]);
            let others = r.conj(others);
            r.mul(others, bar)
        }
        (A::ExclusiveProd, _) | (A::ProdPairs, 1) => {
            let x = r.conj(x);
            r.array_op(A::ProdPairs, &[x, bar])
        }
        (A::ProdPairs, _) => {
            let (x, v) = (r.conj(x), r.conj(second));
            products::triples(r, x, v, bar)
        }
        (A::Norm, _) => {
            let slope = direction(r.b, x, y);
            let (bar, reach) = (r.as_in(bar, x), reach.like(r.b, x));
            product(r.b, slope, bar, reach)
        }
        (A::Softmax, 0) => {
            let along = r.mul(y, bar);
            let sum = r.array_op(A::SumKeep, &[along, second]);
            let rest = r.sub(bar, sum);
            r.mul(y, rest)
        }
        (A::Dot, _) => {
            let other = r.conj(args[1 - k]);
            r.mul(other, bar)
        }
        (A::MatMul, 0) => {
            let t = r.array_op(A::MatMulNh, &[bar, second]);
            r.array_op(A::SumLike, &[t, x])
        }
        (A::MatMul, _) => {
            let t = r.array_op(A::MatMulHn, &[x, bar]);
            r.array_op(A::SumLike, &[t, second])
        }
        (A::MatMulNh, 0) => {
            let t = r.array_op(A::MatMul, &[bar, second]);
            r.array_op(A::SumLike, &[t, x])
        }
        (A::MatMulNh, _) => {
            let t = r.array_op(A::MatMulHn, &[bar, x]);
            r.array_op(A::SumLike, &[t, second])
        }
        (A::MatMulHn, 0) => {
            let t = r.array_op(A::MatMulNh, &[second, bar]);
            r.array_op(A::SumLike, &[t, x])
        }
        (A::MatMulHn, _) => {
            let t = r.array_op(A::MatMul, &[x, bar]);
            r.array_op(A::SumLike, &[t, second])
        }
        (A::TraceProduct, _) => {
            let other = r.adjoint(args[1 - k]);
            r.mul(other, bar)
        }
        (A::Contract, 0) => {
            let other = r.conj(second);
            r.array_op(A::ContractFirst, &[bar, other, x, third])
        }
        (A::Contract, _) => {
            let other = r.conj(x);
            r.array_op(A::ContractSecond, &[other, bar, second, third])
        }
        // In the operands of `contract`: its result, second and first.
        (A::ContractFirst, 0) => {
            let other = r.conj(second);
            r.array_op(A::Contract, &[bar, other, args[3]])
        }
        (A::ContractFirst, 1) => {
            let other = r.conj(x);
            r.array_op(A::ContractSecond, &[bar, other, second, args[3]])
        }
        (A::ContractSecond, 0) => {
            let other = r.conj(second);
            r.array_op(A::ContractFirst, &[other, bar, x, args[3]])
        }
        (A::ContractSecond, 1) => {
            let other = r.conj(x);
            r.array_op(A::Contract, &[other, bar, args[3]])
        }
        (A::ContractFirst | A::ContractSecond, _) => return Some(Contribution::Zero),
        (A::Convolve, _) => r.array_op(A::Correlate, &[bar, args[1 - k]]),
        (A::Correlate, 0) => r.array_op(A::Convolve, &[bar, second]),
        (A::Correlate, _) => r.array_op(A::Correlate, &[x, bar]),
        (A::Fft, _) => r.array_op(A::FftBack, &[bar]),
        (A::FftBack, _) => r.array_op(A::Fft, &[bar]),
        (A::Solve, 1) => r.array_op(A::SolveAdjoint, &[x, bar]),
        (A::SolveAdjoint, 1) => r.array_op(A::Solve, &[x, bar]),
        (A::Solve, _) => {
            let b_bar = r.array_op(A::SolveAdjoint, &[x, bar]);
            let t = r.outer(b_bar, y, x);
            r.neg(t)
        }
        (A::SolveAdjoint, _) => {
            let b_bar = r.array_op(A::Solve, &[x, bar]);
            let t = r.outer(y, b_bar, x);
            r.neg(t)
        }
        (A::SolveLower | A::SolveUpper, _) => {
            let a = r.adjoint(x);
            let b_bar = r.array_op(factors::mirrored(op), &[a, bar]);
            if k == 1 {
                return Some(Contribution::Add(b_bar));
            }
            let t = r.outer(b_bar, y, x);
            let t = factors::triangle(r, op, t);
            r.neg(t)
        }
        (A::Lstsq, _) => least::pull_lstsq(r, [x, second], y, k, bar),
        (A::Pinv, _) => least::pull_pinv(r, x, y, bar),
        (A::Inv, _) => {
            let t = r.array_op(A::MatMulHn, &[y, bar]);
            let t = r.array_op(A::MatMulNh, &[t, y]);
            r.neg(t)
        }
        (A::Det, _) => {
            let cofactors = r.array_op(A::Cofactors, &[x]);
            let cofactors = r.conj(cofactors);
            r.mul(cofactors, bar)
        }
        (A::Cofactors, _) | (A::CofactorsAlong, 1) => {
            let a = r.conj(x);
            r.array_op(A::CofactorsAlong, &[a, bar])
        }
        (A::CofactorsAlong, _) => {
            let of = [x, second, y].map(|v| r.conj(v));
            factors::cofactors_twice(r, of, bar)
        }
        (A::LogAbsDet, _) => {
            let inverse = r.array_op(A::Inv, &[x]);
            let inverse = r.adjoint(inverse);
            let factor = r.as_in(bar, x);
            r.mul(inverse, factor)
        }
        (A::SignDet, _) if !r.is_complex(x) => return Some(Contribution::Zero),
        (A::SignDet, _) => {
            let inverse = r.array_op(A::Inv, &[x]);
            let inverse = r.adjoint(inverse);
            let y = r.conj(y);
            let turn = r.mul(y, bar);
            let turn = r.imaginary_part(turn);
            r.mul(inverse, turn)
        }
        (A::Cholesky, _) => {
            let q = r.array_op(A::MatMulHn, &[y, bar]);
            let p = r.half_lower(q);
            let t = r.array_op(A::SolveAdjoint, &[y, p]);
            let t = r.adjoint(t);
            // t is now (L^-H P)^H; L^-H of it is S^H.
            let s = r.array_op(A::SolveAdjoint, &[y, t]);
            let h = r.adjoint(s);
            let sum = r.add(s, h);
            r.half_lower(sum)
        }
        (A::Qr, _) => factors::pull_qr(r, x, y, bar),
        (A::EigenAlong | A::SvdAlong, 1) => return Some(Contribution::Zero),
        (A::Eigen | A::EigenAlong, _) => {
            let there = (op == A::Eigen).then(|| reach.whole(r.b, y).value(r.b, bar));
            eigen::pull_eigen(r, x, y, bar, there)
        }
        (A::Spectral, _) => match eigen::pull_spectral(r, args, k, bar) {
            Some(bar) => bar,
            None => return Some(Contribution::Zero),
        },
        (A::Simple, _) => {
            let there = reach.whole(r.b, y).value(r.b, bar);
            eigen::pull_simple(r, [x, second], bar, there)
        }
        (A::Svd | A::SvdAlong, _) => {
            let there = (op == A::Svd).then(|| reach.whole(r.b, y).value(r.b, bar));
            factors::pull_svd(r, x, y, bar, there)
        }
        (A::Expm, _) => {
            let a = r.adjoint(x);
            r.array_op(A::ExpmAlong, &[a, bar])
        }
        (A::ExpmAlong, 1) => {
            let a = r.adjoint(x);
            r.array_op(A::ExpmAlong, &[a, bar])
        }
        (A::ExpmAlong, _) => {
            let (a, e) = (r.adjoint(x), r.adjoint(second));
            factors::twice_along(r, a, e, bar)
        }
        _ => return None,
    }))
}

/// Emits all but the last element along an axis of an array that is one longer than `x`.
fn before_last(r: &mut RuleBuilder<'_>, y: Value, x: Value, axis: Value) -> Value {
    let (zero, n) = (r.b.int(0), r.dim(x, axis));
    r.array_op(ArrayOp::Slice, &[y, axis, zero, n])
}

/// Emits `z_k = conj(a_(k+1)) z_(k+1) + y_bar_(k+1)`, from the end on: the cotangent of b in a
/// linear recurrence. Reversed, it is a recurrence itself.
fn adjoint_recurrence(r: &mut RuleBuilder<'_>, a: Value, bar: Value, axis: Value) -> Value {
    let one = r.b.int(1);
    let turned = r.conj(a);
    let turned = r.array_op(ArrayOp::Flip, &[turned, axis]);
    let bar = r.array_op(ArrayOp::Flip, &[bar, axis]);
    // The first factor multiplies a zero, so that any number will do: a zero, prepended to the
    // others.
    let shifted = r.array_op(ArrayOp::Pad, &[turned, bar, axis, one]);
    let factors = before_last(r, shifted, a, axis);
    let terms = before_last(r, bar, a, axis);
    let all = r.array_op(ArrayOp::LinearRecurrence, &[factors, terms, axis]);
    let n = r.dim(a, axis);
    let all = r.array_op(ArrayOp::Slice, &[all, axis, one, n]);
    r.array_op(ArrayOp::Flip, &[all, axis])
}

pub(super) fn push(
    b: &mut FunctionBuilder,
    op: ArrayOp,
    args: &[Value],
    y: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    if op.derivative() == ArrayDerivative::Zero {
        return Some(None);
    }
    let dots: Vec<Option<Value>> =
        dots.iter().zip(args).map(|(d, &x)| d.map(|d| whole(b, d, x))).collect();
    let r = &mut RuleBuilder { b };
    let dot = |k: usize| dots.get(k).copied().flatten();
    // The operand at k replaced by its tangent.
    let with = |r: &mut RuleBuilder<'_>, k: usize| {
        let mut args = args.to_vec();
        args[k] = dot(k)?;
        Some(r.array_op(op, &args))
    };
    match op.derivative() {
        ArrayDerivative::Zero => Some(None),
        ArrayDerivative::Linear => Some(with(r, 0)),
        ArrayDerivative::Bilinear => {
            let (first, last) = (with(r, 0), with(r, 1));
            Some(sum(r, first, last))
        }
        ArrayDerivative::Joint => {
            if dot(0).is_none() && dot(1).is_none() {
                return Some(None);
            }
            let mut given = args.to_vec();
            for k in [0, 1] {
                given[k] = dot(k).unwrap_or_else(|| {
                    let zero = r.lit(0.0, args[k]);
                    r.array_op(ArrayOp::BroadcastTo, &[zero, args[k]])
                });
            }
            Some(Some(r.array_op(op, &given)))
        }
        ArrayDerivative::Curved | ArrayDerivative::Steep | ArrayDerivative::Degenerate => {
            push_curved(r, op, args, y, &dots, reach)
        }
    }
}

/// Emits the sum of two tangents; `None` is zero.
fn sum(r: &mut RuleBuilder<'_>, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    match (a, b) {
        (Some(a), Some(b)) => Some(r.add(a, b)),
        (a, b) => a.or(b),
    }
}

/// Emits the tangent of the result of an operation that has a rule of its own.
fn push_curved(
    r: &mut RuleBuilder<'_>,
    op: ArrayOp,
    args: &[Value],
    y: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    use ArrayOp as A;
    let x = args[0];
    let second = args.get(1).copied().unwrap_or(x);
    let dot = |k: usize| dots.get(k).copied().flatten();
    Some(match op {
        A::ProdPairs => {
            let moved = dot(0).map(|d| products::triples(r, x, second, d));
            let along = dot(1).map(|d| r.array_op(op, &[x, d]));
            sum(r, moved, along)
        }
        A::LinearRecurrence => {
            let moved = dot(0).map(|d| {
                let before = before_last(r, y, x, args[2]);
                r.mul(d, before)
            });
            let change = sum(r, moved, dot(1));
            change.map(|c| r.array_op(op, &[x, c, args[2]]))
        }
        A::Solve | A::SolveAdjoint => {
            let moved = dot(0).map(|d| {
                let d = if op == A::Solve { d } else { r.adjoint(d) };
                let t = r.apply(d, y);
                r.neg(t)
            });
            let change = sum(r, moved, dot(1));
            change.map(|c| r.array_op(op, &[x, c]))
        }
        A::SolveLower | A::SolveUpper => {
            let moved = dot(0).map(|d| {
                let d = factors::triangle(r, op, d);
                let t = r.apply(d, y);
                r.neg(t)
            });
            let change = sum(r, moved, dot(1));
            change.map(|c| r.array_op(op, &[x, c]))
        }
        A::Lstsq => {
            let moved = dot(0).map(|d| least::push_lstsq(r, [x, second], y, d));
            let along = dot(1).map(|d| r.array_op(op, &[x, d]));
            sum(r, moved, along)
        }
        A::CofactorsAlong => {
            let moved = dot(0).map(|d| factors::cofactors_twice(r, [x, second, y], d));
            let along = dot(1).map(|d| r.array_op(op, &[x, d]));
            sum(r, moved, along)
        }
        A::Spectral => eigen::push_spectral(r, args, [dot(1), dot(3)]),
        A::ExpmAlong => {
            let moved = dot(0).map(|d| factors::twice_along(r, x, second, d));
            let along = dot(1).map(|d| r.array_op(op, &[x, d]));
            sum(r, moved, along)
        }
        _ => {
            let Some(d) = dot(0) else { return Some(None) };
            Some(match op {
                A::Prod => {
                    let others = r.array_op(A::ExclusiveProd, &[x]);
                    r.array_op(A::Dot, &[others, d])
                }
                A::ExclusiveProd => r.array_op(A::ProdPairs, &[x, d]),
                A::Norm => {
                    let x = r.conj(x);
                    let along = r.array_op(A::Dot, &[x, d]);
                    let along =
                        if r.is_complex(along) { r.b.mixed(Mixed::Re, &[along]) } else { along };
                    let dot = r.b.lifted(Op::Real2(Real2::Ratio), &[along, y], Kind::Real);
                    match reach.first().copied().unwrap_or(Reach::Always) {
                        Reach::Always => dot,
                        reach => {
                            let there = reach.value(r.b, d);
                            let there = everywhere(r.b, there, dot);
                            r.b.number2(Number2::Guard, dot, there)
                        }
                    }
                }
                A::NormKeep => {
                    let along = r.mul(x, d);
                    let along = r.array_op(A::SumKeep, &[along, second]);
                    let dot = r.b.lifted(Op::Real2(Real2::Ratio), &[along, y], Kind::Real);
                    match reach.first().copied().unwrap_or(Reach::Always) {
                        Reach::Always => dot,
                        reach => {
                            let there = reach.value(r.b, d);
                            let there = r.array_op(A::ReshapeLike, &[there, x]);
                            let there = r.array_op(A::SumKeep, &[there, second]);
                            r.b.number2(Number2::Guard, dot, there)
                        }
                    }
                }
                A::Softmax => {
                    let along = r.mul(y, d);
                    let sum = r.array_op(A::SumKeep, &[along, second]);
                    let rest = r.sub(d, sum);
                    r.mul(y, rest)
                }
                A::Inv => {
                    let t = r.array_op(A::MatMul, &[y, d]);
                    let t = r.array_op(A::MatMul, &[t, y]);
                    r.neg(t)
                }
                A::Det => {
                    let cofactors = r.array_op(A::Cofactors, &[x]);
                    r.array_op(A::Dot, &[cofactors, d])
                }
                A::Cofactors => r.array_op(A::CofactorsAlong, &[x, d]),
                A::LogAbsDet => {
                    let inverse = r.array_op(A::Inv, &[x]);
                    let trace = r.array_op(A::TraceProduct, &[inverse, d]);
                    if r.is_complex(x) { r.b.mixed(Mixed::Re, &[trace]) } else { trace }
                }
                A::SignDet if !r.is_complex(x) => return Some(None),
                A::SignDet => {
                    let inverse = r.array_op(A::Inv, &[x]);
                    let trace = r.array_op(A::TraceProduct, &[inverse, d]);
                    let turn = r.imaginary_part(trace);
                    r.mul(y, turn)
                }
                A::Cholesky => {
                    let lower = r.half_lower(d);
                    let upper = r.adjoint(lower);
                    let h = r.add(lower, upper);
                    // L^-1 H L^-H, by solving twice; H and the result are Hermitian.
                    let t = r.array_op(A::Solve, &[y, h]);
                    let t = r.adjoint(t);
                    let t = r.array_op(A::Solve, &[y, t]);
                    let p = r.half_lower(t);
                    r.array_op(A::MatMul, &[y, p])
                }
                A::Qr => factors::push_qr(r, x, y, d),
                A::Eigen | A::EigenAlong => eigen::push_eigen(r, x, y, d, op == A::EigenAlong),
                A::Svd | A::SvdAlong => factors::push_svd(r, x, y, d, op == A::SvdAlong),
                A::Simple => d,
                A::Expm => r.array_op(A::ExpmAlong, &[x, d]),
                A::Pinv => least::push_pinv(r, x, y, d),
                _ => return None,
            })
        }
    })
}
