//! [`ArrayVariable`]: an array on a tape, with operators that broadcast.

use std::{fmt, ops, ops::Range, sync::Arc};

use num_complex::Complex;
use smallvec::SmallVec;

use crate::{
    array::{self, Array},
    ir::Number1,
    scalar::{Ordered, Real, Scalar},
    trace::op_of,
};

use super::{
    builtin_call::{BuiltinCall, GET, POLYGAMMA, SLICE, StaticOperand, VECTOR},
    error::TapeError,
    node::Tape,
    operator::ArrayOperator,
    step::{CustomOperator, TapeOp},
    tape_value::TapeValue,
    variable::Variable,
};

/// An array of numbers on a tape, with a shape. Copying it copies the place, not the computation.
///
/// It mixes with other arrays and numbers of its tape, with floats, and with arrays that are no
/// variables. Shapes [broadcast](crate::array#broadcasting).
///
/// ```
/// use ketgrad_core::{array::Array, tape::Tape};
///
/// // y = x'Ax + b.x + c
/// let tape = Tape::new();
/// let x = tape.array("x", Array::from(vec![1.0, 2.0]));
/// let a = tape.array("A", Array::new(&[2, 2], vec![2.0, 1.0, 0.0, 3.0])?);
/// let b = tape.array("b", Array::from(vec![-1.0, 4.0]));
/// let c = tape.variable("c", 0.5);
/// let y = x.dot(a.matvec(x)) + b.dot(x) + c;
/// y.backward()?;
/// assert_eq!(y.value(), 16.0 + 7.0 + 0.5);
/// assert_eq!(x.gradient().items(), [5.0, 17.0]); // (A + A')x + b
/// assert_eq!(a.gradient().to_string(), "[[1.0, 2.0], [2.0, 4.0]]"); // x x'
/// assert_eq!(y.to_string(), "add(add(dot(x, matvec(A, x)), dot(b, x)), c)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrayVariable<'t, S: Scalar = f64> {
    pub(super) tape: &'t Tape<S>,
    pub(super) index: usize,
}

impl<S: Scalar> Clone for ArrayVariable<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scalar> Copy for ArrayVariable<'_, S> {}

/// Operand beside an array: another array or a number of the tape, a float, an array that is a
/// constant.
pub trait ArrayArgument<'t, S: Scalar> {
    /// Returns its tape and its index on it.
    #[doc(hidden)]
    fn on_tape(self, tape: &'t Tape<S>) -> (&'t Tape<S>, usize);
}
impl<'t, S: Scalar> ArrayArgument<'t, S> for ArrayVariable<'t, S> {
    fn on_tape(self, _: &'t Tape<S>) -> (&'t Tape<S>, usize) {
        (self.tape, self.index)
    }
}
impl<'t, S: Scalar> ArrayArgument<'t, S> for &ArrayVariable<'t, S> {
    fn on_tape(self, _: &'t Tape<S>) -> (&'t Tape<S>, usize) {
        (self.tape, self.index)
    }
}
impl<'t, S: Scalar> ArrayArgument<'t, S> for Variable<'t, S> {
    fn on_tape(self, _: &'t Tape<S>) -> (&'t Tape<S>, usize) {
        (self.tape, self.index)
    }
}
impl<'t, T: Real, S: Scalar<Real = T>> ArrayArgument<'t, S> for f64 {
    #[track_caller]
    fn on_tape(self, tape: &'t Tape<S>) -> (&'t Tape<S>, usize) {
        tape.constant(S::lit(self)).on_tape(tape)
    }
}
impl<'t, T: Real, S: Scalar<Real = T>> ArrayArgument<'t, S> for &Array<S> {
    #[track_caller]
    fn on_tape(self, tape: &'t Tape<S>) -> (&'t Tape<S>, usize) {
        tape.constant_array(self).on_tape(tape)
    }
}

impl<T: Real, S: Scalar<Real = T>> Tape<S> {
    /// Adds an input that is an array.
    #[track_caller]
    pub fn array(&self, name: &str, value: Array<S>) -> ArrayVariable<'_, S> {
        let index = self.push(
            TapeOp::Input(name.to_owned()),
            SmallVec::new(),
            TapeValue::of_array(&value),
            true,
        );
        ArrayVariable { tape: self, index }
    }

    /// Adds an array without a gradient. References need not be wrapped: `x - &data` does it.
    #[track_caller]
    pub fn constant_array(&self, value: &Array<S>) -> ArrayVariable<'_, S> {
        let index = self.push(TapeOp::Constant, SmallVec::new(), TapeValue::of_array(value), false);
        ArrayVariable { tape: self, index }
    }

    /// Returns the vector of some numbers.
    #[track_caller]
    pub fn vector<'t>(&'t self, items: &[Variable<'t, S>]) -> ArrayVariable<'t, S> {
        let places: Vec<_> = items.iter().map(|x| (x.tape, x.index)).collect();
        ArrayVariable { tape: self, index: self.call(BuiltinCall::new(VECTOR), &places, true) }
    }

    /// Applies an operator of one's own to arrays.
    ///
    /// # Errors
    /// Those of [`apply`](Tape::apply).
    #[track_caller]
    pub fn apply_to_arrays<'t>(
        &'t self,
        operator: &Arc<dyn ArrayOperator<S>>,
        inputs: &[ArrayVariable<'t, S>],
    ) -> Result<ArrayVariable<'t, S>, TapeError> {
        let places: Vec<_> = inputs.iter().map(|x| (x.tape, x.index)).collect();
        let index =
            self.custom(CustomOperator::Array(operator.clone()), operator.arity(), &places)?;
        Ok(ArrayVariable { tape: self, index })
    }
}

fn ints(lengths: &[usize]) -> StaticOperand {
    StaticOperand::Ints(lengths.iter().map(|&n| int(n)).collect())
}

/// Converts a length; one that does not fit is too large for any array, so the operation refuses
/// it.
fn int(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl<'t, T: Real, S: Scalar<Real = T>> ArrayVariable<'t, S> {
    /// Returns the tape that it is on.
    #[must_use]
    pub fn tape(self) -> &'t Tape<S> {
        self.tape
    }

    /// Returns the value, copied.
    #[must_use]
    pub fn value(self) -> Array<S> {
        self.tape.value(self.index).array()
    }

    /// Returns the length along each axis.
    #[must_use]
    pub fn shape(self) -> Vec<usize> {
        self.tape.value(self.index).shape()
    }

    /// Returns the gradients of all `backward`s since the last [`Tape::zero_gradients`], added up,
    /// in the shape of the value. For complex numbers `dL/dx + i dL/dy`.
    #[must_use]
    pub fn gradient(self) -> Array<S> {
        self.tape.gradient(self.index).array()
    }

    /// Gives an input another value of the same shape. Values that depend on it are computed anew
    /// when they are next read; gradients stay as they are. Another shape is a fault of the tape,
    /// and the value stays.
    #[track_caller]
    pub fn set(self, value: &Array<S>) {
        self.tape.set(self.index, TapeValue::of_array(value));
    }

    /// Adds the pullback of the given cotangent of this array to all gradients.
    ///
    /// # Errors
    /// It has another shape, an operator failed, or something went wrong before.
    #[track_caller]
    pub fn backward_with(self, cotangent: &Array<S>) -> Result<(), TapeError> {
        self.tape.backward(self.index, TapeValue::of_array(cotangent))
    }

    #[track_caller]
    fn to_array(self, call: BuiltinCall, others: &[(&Tape<S>, usize)]) -> ArrayVariable<'t, S> {
        ArrayVariable { tape: self.tape, index: self.note(call, others, true) }
    }
    #[track_caller]
    fn to_number(self, call: BuiltinCall, others: &[(&Tape<S>, usize)]) -> Variable<'t, S> {
        Variable { tape: self.tape, index: self.note(call, others, false) }
    }
    #[track_caller]
    fn note(self, call: BuiltinCall, others: &[(&Tape<S>, usize)], array: bool) -> usize {
        let mut args = vec![(self.tape, self.index)];
        args.extend_from_slice(others);
        self.tape.call(call, &args, array)
    }

    #[track_caller]
    fn part(self, call: BuiltinCall) -> usize {
        let array = call.name == SLICE;
        self.tape.operation(TapeOp::Part(call), &[(self.tape, self.index)], array)
    }

    /// Returns the element at the given indices, one for each axis.
    #[must_use]
    #[track_caller]
    pub fn element(self, indices: &[usize]) -> Variable<'t, S> {
        let indices: Vec<i64> = indices.iter().map(|&i| int(i)).collect();
        match array::flat_index(&self.shape(), &indices) {
            Ok(place) => Variable {
                tape: self.tape,
                index: self.part(BuiltinCall::new(GET).with(StaticOperand::Int(place))),
            },
            Err(e) => self.poisoned("at", e.to_string()),
        }
    }

    /// Returns the element at an index in row-major order.
    #[must_use]
    #[track_caller]
    pub fn get(self, place: usize) -> Variable<'t, S> {
        Variable {
            tape: self.tape,
            index: self.part(BuiltinCall::new(GET).with(StaticOperand::Int(int(place)))),
        }
    }

    #[track_caller]
    fn poisoned(self, operator: &str, reason: String) -> Variable<'t, S> {
        let at = Some(std::panic::Location::caller());
        let fault = TapeError::Operator { operator: operator.to_owned(), reason, at };
        Variable { tape: self.tape, index: self.tape.poison(fault, TapeValue::nan()) }
    }

    /// Returns a range along an axis.
    #[must_use]
    #[track_caller]
    pub fn slice(self, axis: usize, range: Range<usize>) -> ArrayVariable<'t, S> {
        let parts = [axis, range.start, range.end.saturating_sub(range.start)];
        let call =
            parts.iter().fold(BuiltinCall::new(SLICE), |c, n| c.with(StaticOperand::Int(int(*n))));
        ArrayVariable { tape: self.tape, index: self.part(call) }
    }

    /// Gathers the parts at the given indices along the first axis.
    #[must_use]
    #[track_caller]
    pub fn gather(self, indices: &[usize]) -> ArrayVariable<'t, S> {
        self.to_array(BuiltinCall::new("gather").with(ints(indices)), &[])
    }

    /// Returns the elements in the same row-major order in another shape.
    #[must_use]
    #[track_caller]
    pub fn reshape(self, shape: &[usize]) -> ArrayVariable<'t, S> {
        self.to_array(BuiltinCall::new("reshape").with(ints(shape)), &[])
    }

    /// Axis k of the result is axis `axes[k]`.
    #[must_use]
    #[track_caller]
    pub fn permute(self, axes: &[usize]) -> ArrayVariable<'t, S> {
        self.to_array(BuiltinCall::new("permute").with(ints(axes)), &[])
    }

    /// Joins it with another array along an axis.
    #[must_use]
    #[track_caller]
    pub fn concat(self, other: impl ArrayArgument<'t, S>, axis: usize) -> ArrayVariable<'t, S> {
        let other = other.on_tape(self.tape);
        self.to_array(BuiltinCall::new("concat").with(StaticOperand::Int(int(axis))), &[other])
    }

    /// Returns the sum of products of elements of two arrays over the labels of their axes that the
    /// result lacks: `a.einsum(b, &[0, 1], &[1, 2], &[0, 2])` is `a.matmul(b)`.
    #[must_use]
    #[track_caller]
    pub fn einsum(
        self,
        other: impl ArrayArgument<'t, S>,
        of_self: &[usize],
        of_other: &[usize],
        of_result: &[usize],
    ) -> ArrayVariable<'t, S> {
        let labels = [of_self, of_other, of_result];
        let call = labels.iter().fold(BuiltinCall::new("einsum"), |c, list| c.with(ints(list)));
        let other = other.on_tape(self.tape);
        self.to_array(call, &[other])
    }

    /// Returns `x^n` of each element; `x^0 = 1` everywhere.
    #[must_use]
    #[track_caller]
    pub fn powi(self, n: i64) -> ArrayVariable<'t, S> {
        self.to_array(BuiltinCall::new("powi").with(StaticOperand::Int(n)), &[])
    }
}

/// Methods of arrays of numbers of type `S`, with the given bounds.
macro_rules! methods {
    ([$($bounds:tt)*] $S:ident; $($f:ident $name:literal ($($other:ident)?) ($($axis:ident)?) -> $result:ident $to:ident, $doc:literal;)*) => {
        impl<'t, $($bounds)*> ArrayVariable<'t, $S> {
            $(
                #[doc = $doc]
                #[must_use]
                #[track_caller]
                pub fn $f(
                    self
                    $(, $other: impl ArrayArgument<'t, $S>)?
                    $(, $axis: usize)?
                ) -> $result<'t, $S> {
                    let call = BuiltinCall::new($name)$(.with(StaticOperand::Int(int($axis))))?;
                    $(let $other = $other.on_tape(self.tape);)?
                    self.$to(call, &[$($other)?])
                }
            )*
        }
    };
}
methods! {
    [T: Real, S: Scalar<Real = T>] S;
    sum "sum" ()() -> Variable to_number, "The sum of all elements.";
    mean "mean" ()() -> Variable to_number, "The mean of all elements.";
    prod "prod" ()() -> Variable to_number, "The product of all elements; 1 for none.";
    norm "norm" ()() -> Variable to_number, "The square root of the sum of the squared moduli of all elements.";
    dot "dot" (other)() -> Variable to_number, "The sum of the products of the elements of two arrays of one shape; nothing is conjugated.";
    trace "trace" ()() -> Variable to_number, "The sum of the diagonal of a matrix.";
    trace_product "trace_product" (other)() -> Variable to_number, "`tr(A B)` without the product.";
    det "det" ()() -> Variable to_number, "The determinant of a matrix. Its derivative needs the inverse.";
    signdet "signdet" ()() -> Variable to_number, "`det A / |det A|`, so that `signdet(a) * exp(logabsdet(a))` is the determinant, without overflow; 0 for a singular matrix.";
    logabsdet "logabsdet" ()() -> Variable to_number, "`ln |det A|`.";
    sum_axis "sum_axis" ()(axis) -> ArrayVariable to_array, "The sums along an axis, which is lost.";
    sum_keep "sum_keep" ()(axis) -> ArrayVariable to_array, "The sums along an axis, whose length becomes 1.";
    mean_axis "mean_axis" ()(axis) -> ArrayVariable to_array, "The means along an axis, which is lost.";
    cumsum "cumsum" ()(axis) -> ArrayVariable to_array, "The sums up to each element along an axis.";
    cumprod "cumprod" ()(axis) -> ArrayVariable to_array, "The products up to each element along an axis.";
    prod_axis "prod_axis" ()(axis) -> ArrayVariable to_array, "The products along an axis, which is lost.";
    flip "flip" ()(axis) -> ArrayVariable to_array, "The elements along an axis in the opposite order.";
    linear_recurrence "linear_recurrence" (terms)(axis) -> ArrayVariable to_array, "`y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis, for these factors a and terms b.";
    var "var" ()() -> Variable to_number, "The variance of all elements, divided by their number.";
    var_axis "var_axis" ()(axis) -> ArrayVariable to_array, "The variances along an axis, which is lost.";
    std "std" ()() -> Variable to_number, "The standard deviation of all elements, the root of `var`.";
    std_axis "std_axis" ()(axis) -> ArrayVariable to_array, "The standard deviations along an axis, which is lost.";
    norm_axis "norm_axis" ()(axis) -> ArrayVariable to_array, "The norms along an axis, which is lost.";
    row "row" ()(index) -> ArrayVariable to_array, "The elements at an index along the first axis, which is lost.";
    with_row "with_row" (row)(index) -> ArrayVariable to_array, "This array, but for a row at an index along the first axis.";
    transpose "transpose" ()() -> ArrayVariable to_array, "The last two axes change places.";
    insert_axis "insert_axis" ()(axis) -> ArrayVariable to_array, "With a new axis of length 1 at the given place.";
    drop_axis "drop_axis" ()(axis) -> ArrayVariable to_array, "Without an axis, whose length must be 1.";
    diagonal "diagonal" ()() -> ArrayVariable to_array, "The main diagonal of a matrix.";
    diagonal_matrix "diagonal_matrix" ()() -> ArrayVariable to_array, "The square matrix with the given diagonal.";
    matmul "matmul" (other)() -> ArrayVariable to_array, "`A B` for matrices or stacks of them.";
    matvec "matvec" (other)() -> ArrayVariable to_array, "The product of a matrix and a vector.";
    outer "outer" (other)() -> ArrayVariable to_array, "`y_ij = a_i b_j` of two vectors; nothing is conjugated.";
    kron "kron" (other)() -> ArrayVariable to_array, "The Kronecker product of two matrices.";
    convolve "convolve" (other)() -> ArrayVariable to_array, "The full convolution of two vectors.";
    solve "solve" (other)() -> ArrayVariable to_array, "`A^-1 B` for a square matrix and a vector or matrix.";
    inv "inv" ()() -> ArrayVariable to_array, "The inverse of a matrix.";
    cofactors "cofactors" ()() -> ArrayVariable to_array, "The derivatives of the determinant of a square matrix by its elements.";
    cholesky "cholesky" ()() -> ArrayVariable to_array, "The lower triangular L with `L L^H = A`; only the lower triangle of A is read.";
    qr_q "qr_q" ()() -> ArrayVariable to_array, "The matrix of orthonormal columns Q of `A = Q R`, as many as the shorter side of A is long.";
    qr_r "qr_r" ()() -> ArrayVariable to_array, "R of `A = Q R`, zero below its diagonal, which is not negative; it has as many rows as the shorter side of A is long.";
    solve_lower "solve_lower" (other)() -> ArrayVariable to_array, "`L^-1 B` for the lower triangle L of a square matrix, all that is read of it, and a vector or matrix.";
    solve_upper "solve_upper" (other)() -> ArrayVariable to_array, "`U^-1 B` for the upper triangle U of a square matrix, all that is read of it, and a vector or matrix.";
    lstsq "lstsq" (b)() -> ArrayVariable to_array, "The x that makes the norm of `A x - b` least, for a matrix A of any shape and a vector or the columns of a matrix b; where there are several, that of least norm.";
    pinv "pinv" ()() -> ArrayVariable to_array, "The pseudoinverse of a matrix.";
    svdvals "svdvals" ()() -> ArrayVariable to_array, "The singular values of a matrix, descending.";
    svd_u "svd_u" ()() -> ArrayVariable to_array, "The left singular vectors as columns: U of `A = U diag(s) V^H`, as many as the shorter side of A is long.";
    svd_v "svd_v" ()() -> ArrayVariable to_array, "The right singular vectors as columns: V of `A = U diag(s) V^H`, as many as the shorter side of A is long.";
    eigvalsh "eigvalsh" ()() -> ArrayVariable to_array, "The eigenvalues of the Hermitian part of a matrix, ascending.";
    eigvecsh "eigvecsh" ()() -> ArrayVariable to_array, "The eigenvectors of the Hermitian part of a matrix as columns, in the order of the eigenvalues.";
    expm "expm" ()() -> ArrayVariable to_array, "The exponential of a square matrix.";
    expm_along "expm_along" (other)() -> ArrayVariable to_array, "The derivative of the exponential of a square matrix A along another one E, `d/dt exp(A + t E)` at `t = 0`.";
    cofactors_along "cofactors_along" (other)() -> ArrayVariable to_array, "The derivative of the cofactors of a square matrix A along another one E, `d/dt cofactors(A + t E)` at `t = 0`.";
    pow "pow" (exponent)() -> ArrayVariable to_array, "`x^y`, element by element.";
}

macro_rules! functions {
    ($($f:ident)*) => {
        impl<'t, T: Real, S: Scalar<Real = T>> ArrayVariable<'t, S> {
            $(
                #[doc = concat!("[`Scalar::", stringify!($f), "`] of each element.")]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> ArrayVariable<'t, S> {
                    self.to_array(BuiltinCall::new(op_of!($f).name()), &[])
                }
            )*
        }
    };
}
unary_functions!(functions);

methods! {
    [T: Real] T;
    maximum "maximum" ()() -> Variable to_number, "The greatest element; the first one at a tie gets the cotangent.";
    minimum "minimum" ()() -> Variable to_number, "The least element; the first one at a tie gets the cotangent.";
    maximum_axis "maximum_axis" ()(axis) -> ArrayVariable to_array, "The greatest elements along an axis, which is lost; the first one at a tie gets the cotangent.";
    minimum_axis "minimum_axis" ()(axis) -> ArrayVariable to_array, "The least elements along an axis, which is lost; the first one at a tie gets the cotangent.";
    logsumexp "logsumexp" ()() -> Variable to_number, "`ln sum exp x` over all elements, without overflow.";
    logsumexp_axis "logsumexp_axis" ()(axis) -> ArrayVariable to_array, "`ln sum exp x` along an axis, which is lost.";
    log_softmax "log_softmax" ()(axis) -> ArrayVariable to_array, "`x - ln sum exp x` along an axis, without overflow.";
    logaddexp "logaddexp" (other)() -> ArrayVariable to_array, "`ln(e^x + e^y)` without overflow, element by element.";
    softmax "softmax" ()(axis) -> ArrayVariable to_array, "`exp x / sum exp x` along an axis.";
    sort "sort" ()() -> ArrayVariable to_array, "The elements of a vector in ascending order; each gets the cotangent of its place.";
    abs "abs" ()() -> ArrayVariable to_array, "The absolute values; the slope at 0 is 0.";
    max "max" (other)() -> ArrayVariable to_array, "The greater ones; the first at a tie.";
    min "min" (other)() -> ArrayVariable to_array, "The lesser ones; the first at a tie.";
    atan2 "atan2" (x)() -> ArrayVariable to_array, "The angles of the points `(x, self)`.";
    hypot "hypot" (other)() -> ArrayVariable to_array, "`sqrt(self^2 + y^2)`, element by element.";
}

macro_rules! special {
    ($($f:ident)*) => {
        impl<'t, T: Real> ArrayVariable<'t, T> {
            $(
                #[doc = concat!("[`Real::", stringify!($f), "`] of each element.")]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> ArrayVariable<'t, T> { self.to_array(BuiltinCall::new(stringify!($f)), &[]) }
            )*
        }
    };
}
special_functions!(special);

impl<'t, T: Real> ArrayVariable<'t, T> {
    /// Returns the derivative of `lgamma` at each element.
    #[must_use]
    #[track_caller]
    pub fn digamma(self) -> ArrayVariable<'t, T> {
        self.polygamma(0)
    }
    /// Returns the n-th derivative of `digamma` at each element.
    #[must_use]
    #[track_caller]
    pub fn polygamma(self, n: i64) -> ArrayVariable<'t, T> {
        self.to_array(BuiltinCall::new(POLYGAMMA).with(StaticOperand::Int(n)), &[])
    }
}

impl<T: Ordered> ArrayVariable<'_, T> {
    /// Returns the index of the greatest element in row-major order, the first at a tie, and that
    /// of a NaN if there is one; `None` for an empty array. It is computed from the current values:
    /// the tape does not record it.
    #[must_use]
    pub fn argmax(self) -> Option<usize> {
        let value = self.value();
        let greater = |best: usize, k: usize| match value[k].cmp_primal(&value[best]) {
            Some(std::cmp::Ordering::Greater) => k,
            None if value[best].cmp_primal(&value[best]).is_some() => k,
            _ => best,
        };
        (0..value.len()).reduce(greater)
    }
}

macro_rules! of_complex {
    ($($f:ident $name:literal $doc:literal;)*) => {
        impl<'t, T: Real> ArrayVariable<'t, Complex<T>> {
            $(
                #[doc = $doc]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> ArrayVariable<'t, Complex<T>> { self.to_array(BuiltinCall::new($name), &[]) }
            )*
        }
    };
}
of_complex! {
    conj "conj" "The complex conjugates.";
    re "re" "The real parts, as complex numbers.";
    im "im" "The imaginary parts, as complex numbers.";
    abs2 "abs2" "The squared moduli, as complex numbers.";
    modulus "modulus" "The moduli, as complex numbers.";
    arg "arg" "The angles in (-pi, pi], as complex numbers.";
    fft "fft" "The discrete Fourier transform along the last axis, `sum_j x_j e^(-2 pi i j k / n)`.";
    ifft "ifft" "The inverse of `fft`.";
}

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident)*) => {$(
        impl<'t, T: Real, S: Scalar<Real = T>, A: ArrayArgument<'t, S>> ops::$Op<A> for ArrayVariable<'t, S> {
            type Output = ArrayVariable<'t, S>;
            #[track_caller]
            fn $op(self, other: A) -> ArrayVariable<'t, S> {
                let other = other.on_tape(self.tape);
                self.to_array(BuiltinCall::new(stringify!($op)), &[other])
            }
        }
        impl<'t, T: Real, S: Scalar<Real = T>> ops::$Op<ArrayVariable<'t, S>> for f64 {
            type Output = ArrayVariable<'t, S>;
            #[track_caller]
            fn $op(self, other: ArrayVariable<'t, S>) -> ArrayVariable<'t, S> {
                ops::$Op::$op(other.tape.constant(S::lit(self)), other)
            }
        }
        impl<'t, T: Real, S: Scalar<Real = T>> ops::$Op<ArrayVariable<'t, S>> for Variable<'t, S> {
            type Output = ArrayVariable<'t, S>;
            #[track_caller]
            fn $op(self, other: ArrayVariable<'t, S>) -> ArrayVariable<'t, S> {
                let args = [(self.tape, self.index), (other.tape, other.index)];
                let index = self.tape.call(BuiltinCall::new(stringify!($op)), &args, true);
                ArrayVariable { tape: self.tape, index }
            }
        }
        impl<'t, T: Real, S: Scalar<Real = T>, A: ArrayArgument<'t, S>> ops::$Assign<A> for ArrayVariable<'t, S> {
            #[track_caller]
            fn $assign(&mut self, other: A) { *self = ops::$Op::$op(*self, other); }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign
    Sub sub SubAssign sub_assign
    Mul mul MulAssign mul_assign
    Div div DivAssign div_assign
}
impl<'t, T: Real, S: Scalar<Real = T>> ops::Neg for ArrayVariable<'t, S> {
    type Output = ArrayVariable<'t, S>;
    #[track_caller]
    fn neg(self) -> ArrayVariable<'t, S> {
        self.to_array(BuiltinCall::new("neg"), &[])
    }
}

/// Prints the formula as calls: `matmul(v1, v1) where v1 = sin(x)`.
impl<T: Real, S: Scalar<Real = T>> fmt::Display for ArrayVariable<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.tape.inner.borrow().calls(self.index))
    }
}
/// Prints formula and value.
impl<T: Real, S: Scalar<Real = T>> fmt::Debug for ArrayVariable<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} = {}", self.value())
    }
}
