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
//!
//! The rules stand in the entries of the table, whose closures are expanded here. They emit with a
//! [`RuleBuilder`]; rules of more than a few lines are functions, here or in the modules beside.

use crate::{
    entity::Value,
    ir::{
        ArrayDerivative, ArrayOp, Element, FunctionBuilder, Kind, Mixed, Number1, Number2, Op,
        Real1,
    },
};

use super::{
    Contribution, Reach, eigen,
    elements::{summed_like, whole},
    factors, least, norms, products,
};

/// Builder of rules, with short names for the operations that they emit.
pub(super) struct RuleBuilder<'b> {
    pub(super) b: &'b mut FunctionBuilder,
    /// The result of the operation.
    pub(super) y: Value,
    /// The reach of its cotangent, or of the tangent of its first operand.
    pub(super) reach: Reach,
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
    /// Emits the sum of two tangents; `None` is zero.
    pub(super) fn sum(&mut self, x: Option<Value>, y: Option<Value>) -> Option<Value> {
        match (x, y) {
            (Some(x), Some(y)) => Some(self.add(x, y)),
            (x, y) => x.or(y),
        }
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
    /// Emits the real part as a real number.
    pub(super) fn real(&mut self, x: Value) -> Value {
        if self.is_complex(x) { self.b.mixed(Mixed::Re, &[x]) } else { x }
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
    pub(super) fn imaginary_part(&mut self, x: Value) -> Value {
        let re = self.real_part(x);
        self.sub(x, re)
    }
    /// Converts a real number to the kind of the elements of `x`.
    pub(super) fn as_in(&mut self, real: Value, x: Value) -> Value {
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
    pub(super) fn half_lower(&mut self, x: Value) -> Value {
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
        let re = self.real(x);
        let sign = self.b.inst(Op::Real1(Real1::Sign), &[re], Kind::Array(Element::Real));
        let there = self.mul(sign, sign);
        let there = self.as_in(there, x);
        let c = self.lit(1.0, x);
        let blank = self.sub(c, there);
        let x = self.add(x, blank);
        self.b.number2(Number2::Div, there, x)
    }
    /// Emits the elements of `x` from a start on along an axis, as many as `like` has.
    fn slice_like(&mut self, x: Value, like: Value, axis: Value, start: Value) -> Value {
        let n = self.dim(like, axis);
        self.array_op(ArrayOp::Slice, &[x, axis, start, n])
    }
    /// Emits a product of matrices, summed over what was broadcast to it from the shape of `like`.
    fn product_like(&mut self, op: ArrayOp, factors: [Value; 2], like: Value) -> Value {
        let product = self.array_op(op, &factors);
        self.array_op(ArrayOp::SumLike, &[product, like])
    }
    /// Emits the reach of the cotangent of the result, for all its elements.
    pub(super) fn reach_of(&mut self, bar: Value) -> Value {
        let reach = self.reach.whole(self.b, self.y);
        reach.value(self.b, bar)
    }
}

/// Emits the contribution to the cotangent of the k-th operand. `None` if it has no rule.
pub(super) fn pull(
    b: &mut FunctionBuilder,
    op: ArrayOp,
    args: &[Value],
    y: Value,
    k: usize,
    y_bar: Value,
    reach: Reach,
) -> Option<Contribution> {
    let bar = whole(b, y_bar, y);
    let r = &mut RuleBuilder { b, y, reach };
    let cotangent = pull_by_entry(r, op, args, k, bar)?;
    Some(cotangent.map_or(Contribution::Zero, Contribution::Add))
}

/// Emits the tangent of the result; `Some(None)` is zero.
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
    let reach = reach.first().copied().unwrap_or(Reach::Always);
    push_by_entry(&mut RuleBuilder { b, y, reach }, op, args, &dots)
}

// Tangents of operations that are linear.

/// Emits the operation with the k-th operand replaced by its tangent.
fn with_tangent(
    r: &mut RuleBuilder<'_>,
    op: ArrayOp,
    args: &[Value],
    dots: &[Option<Value>],
    k: usize,
) -> Option<Value> {
    let mut args = args.to_vec();
    args[k] = dots.get(k).copied().flatten()?;
    Some(r.array_op(op, &args))
}

/// Emits the operation with both operands replaced by their tangents.
fn with_both_tangents(
    r: &mut RuleBuilder<'_>,
    op: ArrayOp,
    args: &[Value],
    dots: &[Option<Value>],
) -> Option<Value> {
    let dots = all_of(dots);
    if dots == [None, None] {
        return None;
    }
    let mut given = args.to_vec();
    for (k, dot) in dots.into_iter().enumerate() {
        given[k] = dot.unwrap_or_else(|| {
            let zero = r.lit(0.0, args[k]);
            r.array_op(ArrayOp::BroadcastTo, &[zero, args[k]])
        });
    }
    Some(r.array_op(op, &given))
}

/// Returns the tangents of the first N operands.
fn all_of<const N: usize>(dots: &[Option<Value>]) -> [Option<Value>; N] {
    std::array::from_fn(|k| dots.get(k).copied().flatten())
}

// What the closures of the table call, besides the modules beside and the builder.

/// The (co)tangent is zero.
fn zero(_: &mut RuleBuilder<'_>, _: Value) -> Option<Value> {
    None
}

/// Emits `y (d - sum y d)`: the derivative of `softmax` is symmetric.
fn softmax_slope(r: &mut RuleBuilder<'_>, axis: Value, d: Value) -> Value {
    let along = r.mul(r.y, d);
    let sum = r.array_op(ArrayOp::SumKeep, &[along, axis]);
    let rest = r.sub(d, sum);
    r.mul(r.y, rest)
}

/// Emits all but the last element along an axis of an array that is one longer than `x`.
fn before_last(r: &mut RuleBuilder<'_>, y: Value, x: Value, axis: Value) -> Value {
    let zero = r.b.int(0);
    r.slice_like(y, x, axis, zero)
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

/// The rule of an operand: its cotangent from that of the result, or what its tangent adds to that
/// of the result. `None` is zero.
type OperandRule<'a> = &'a dyn Fn(&mut RuleBuilder<'_>, Value) -> Option<Value>;

/// Emits the sum of what the tangents of the operands add.
fn sum_of(
    r: &mut RuleBuilder<'_>,
    rules: &[OperandRule<'_>],
    dots: &[Option<Value>],
) -> Option<Value> {
    rules.iter().zip(dots).fold(None, |sum, (rule, dot)| {
        let term = dot.and_then(|dot| rule(r, dot));
        r.sum(sum, term)
    })
}

// These call closures of the table, and tell the compiler what their parameters are.

fn call<R: Into<Option<Value>>>(
    r: &mut RuleBuilder<'_>,
    d: Value,
    rule: impl FnOnce(&mut RuleBuilder<'_>, Value) -> R,
) -> Option<Value> {
    rule(r, d).into()
}

fn pull_any<R: Into<Option<Value>>>(
    r: &mut RuleBuilder<'_>,
    k: usize,
    bar: Value,
    rule: impl FnOnce(&mut RuleBuilder<'_>, usize, Value) -> R,
) -> Option<Value> {
    rule(r, k, bar).into()
}

fn push_all<const N: usize>(
    r: &mut RuleBuilder<'_>,
    dots: &[Option<Value>],
    rule: impl FnOnce(&mut RuleBuilder<'_>, [Option<Value>; N]) -> Option<Value>,
) -> Option<Value> {
    rule(r, all_of(dots))
}

// What an entry says of each direction, for each derivative that it may state.

macro_rules! pull {
    (($r:ident, $k:ident, $bar:ident) Zero) => {
        None
    };
    (($r:ident, $k:ident, $bar:ident) $derivative:ident
        pull: [$($rule:expr),* $(,)?], $(push: $push:expr,)?) => {{
        let rules: &[OperandRule<'_>] = &[$(&|r, bar| call(r, bar, $rule)),*];
        rules.get($k).map(|rule| rule($r, $bar))
    }};
    (($r:ident, $k:ident, $bar:ident) $derivative:ident
        pull: $rule:expr, $(push: $push:expr,)?) => {
        Some(pull_any($r, $k, $bar, $rule))
    };
}
macro_rules! push {
    (($r:ident, $op:ident, $args:ident, $dots:ident) Zero) => {
        None
    };
    (($r:ident, $op:ident, $args:ident, $dots:ident) Linear pull: $pull:expr,) => {
        with_tangent($r, $op, $args, $dots, 0)
    };
    (($r:ident, $op:ident, $args:ident, $dots:ident) Bilinear pull: $pull:expr,) => {{
        let (first, last) =
            (with_tangent($r, $op, $args, $dots, 0), with_tangent($r, $op, $args, $dots, 1));
        $r.sum(first, last)
    }};
    (($r:ident, $op:ident, $args:ident, $dots:ident) Joint pull: $pull:expr,) => {
        with_both_tangents($r, $op, $args, $dots)
    };
    (($r:ident, $op:ident, $args:ident, $dots:ident) $derivative:ident
        pull: $pull:expr, push: [$($rule:expr),* $(,)?],) => {
        sum_of($r, &[$(&|r, dot| call(r, dot, $rule)),*], $dots)
    };
    (($r:ident, $op:ident, $args:ident, $dots:ident) $derivative:ident
        pull: $pull:expr, push: $rule:expr,) => {
        push_all($r, $dots, $rule)
    };
}

macro_rules! rules {
    ($($op:ident $name:ident ($($operand:ident: $sort:ident),*) -> $result:ident
        $(, earlier $earlier:ident)? {
            doc: $doc:literal,
            shape: $shape:expr, class: $class:expr,
            elements: $elements:ident, used: $used:expr, derivative: $derivative:ident,
            failure: $failure:ident, work: $work:expr,
            value: $form:ident($($value:tt)*),
            $($rules:tt)*
        })*) => {
        /// Emits the cotangent of the k-th operand; `Some(None)` is zero.
        #[allow(unused_variables, reason = "few rules read all operands")]
        fn pull_by_entry(
            r: &mut RuleBuilder<'_>,
            op: ArrayOp,
            args: &[Value],
            k: usize,
            bar: Value,
        ) -> Option<Option<Value>> {
            use ArrayOp::*;
            match op {
                $(ArrayOp::$op => {
                    let &[$($operand),*] = args else { return None };
                    pull!((r, k, bar) $derivative $($rules)*)
                })*
            }
        }

        /// Emits the tangent of the result; `Some(None)` is zero.
        #[allow(unused_variables, reason = "few rules read all operands")]
        fn push_by_entry(
            r: &mut RuleBuilder<'_>,
            op: ArrayOp,
            args: &[Value],
            dots: &[Option<Value>],
        ) -> Option<Option<Value>> {
            use ArrayOp::*;
            match op {
                $(ArrayOp::$op => {
                    let &[$($operand),*] = args else { return None };
                    Some(push!((r, op, args, dots) $derivative $($rules)*))
                })*
            }
        }
    };
}
for_each_array_op!(rules);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Param;

    #[test]
    fn each_operand_has_its_rule() {
        for &op in ArrayOp::ALL.iter().filter(|op| op.is_differentiable()) {
            let kind = |k| op.hint(k).unwrap_or(Kind::Array(Element::Real));
            let mut kinds: Vec<Kind> = (0..op.arity()).map(kind).collect();
            kinds.push(op.result(&kinds).unwrap());
            let params = kinds.iter().map(|kind| Param::new("x", kind.clone())).collect();
            let mut b = FunctionBuilder::new("f", params, Kind::Real);
            let params = b.params().to_vec();
            let (&bar, args) = params.split_last().unwrap();
            let y = b.on_arrays(op, args);
            for k in (0..args.len()).filter(|&k| kinds[k].is_differentiable()) {
                let rule = pull(&mut b, op, args, y, k, bar, Reach::Always);
                assert!(rule.is_some(), "{op:?}, operand {k}");
            }
        }
    }
}
