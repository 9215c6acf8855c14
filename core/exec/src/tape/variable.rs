//! [`Variable`]: a number on a tape, with operators.

use std::{cmp::Ordering, fmt, ops, sync::Arc};

use num_complex::Complex;
use smallvec::SmallVec;

use crate::{
    ir::{Kind, Mixed, Number1, Number2, Op, Real1, Real2},
    scalar::{Ordered, Real, Scalar},
    trace::{op_of, special_op_of},
};

use super::{
    builtin_call::{BuiltinCall, POLYGAMMA, StaticOperand},
    error::TapeError,
    node::{ComparedSide, Tape},
    operator::ScalarOperator,
    step::{CustomOperator, TapeOp},
    tape_value::{TapeValue, kind_of},
};

/// A number on a tape. Copying it copies the place, not the computation.
///
/// It mixes with other variables of its tape and with floats: `2.0 * x + y`.
pub struct Variable<'t, S: Scalar = f64> {
    pub(super) tape: &'t Tape<S>,
    pub(super) index: usize,
}

impl<S: Scalar> Clone for Variable<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Scalar> Copy for Variable<'_, S> {}

/// Operand beside a variable: another one, or a float.
pub trait Argument<'t, S: Scalar> {
    /// Converts it to a variable of the tape; a float becomes a constant.
    fn on(self, tape: &'t Tape<S>) -> Variable<'t, S>;
}
impl<'t, S: Scalar> Argument<'t, S> for Variable<'t, S> {
    fn on(self, _: &'t Tape<S>) -> Variable<'t, S> {
        self
    }
}
impl<'t, S: Scalar> Argument<'t, S> for &Variable<'t, S> {
    fn on(self, _: &'t Tape<S>) -> Variable<'t, S> {
        *self
    }
}
impl<'t, T: Real, S: Scalar<Real = T>> Argument<'t, S> for f64 {
    #[track_caller]
    fn on(self, tape: &'t Tape<S>) -> Variable<'t, S> {
        tape.constant(S::lit(self))
    }
}

impl<T: Real, S: Scalar<Real = T>> Tape<S> {
    /// Adds an input. The name is for prints and for the parameters of frozen functions.
    #[track_caller]
    pub fn variable(&self, name: &str, value: S) -> Variable<'_, S> {
        let index = self.push(
            TapeOp::Input(name.to_owned()),
            SmallVec::new(),
            TapeValue::Number(value),
            true,
        );
        Variable { tape: self, index }
    }

    /// Adds a number without a gradient. Floats need not be wrapped: `x + 1.0` does it.
    #[track_caller]
    pub fn constant(&self, value: S) -> Variable<'_, S> {
        let index = self.push(TapeOp::Constant, SmallVec::new(), TapeValue::Number(value), false);
        Variable { tape: self, index }
    }

    /// Applies an operator of one's own.
    ///
    /// # Errors
    /// The number of inputs does not fit, they belong to another tape, or the operator fails.
    #[track_caller]
    pub fn apply<'t>(
        &'t self,
        operator: &Arc<dyn ScalarOperator<S>>,
        inputs: &[Variable<'t, S>],
    ) -> Result<Variable<'t, S>, TapeError> {
        let places: Vec<_> = inputs.iter().map(|x| (x.tape, x.index)).collect();
        let index =
            self.custom(CustomOperator::Scalar(operator.clone()), operator.arity(), &places)?;
        Ok(Variable { tape: self, index })
    }
}

impl<'t, T: Real, S: Scalar<Real = T>> Variable<'t, S> {
    /// Returns the tape that it is on.
    #[must_use]
    pub fn tape(self) -> &'t Tape<S> {
        self.tape
    }

    /// Returns the value.
    #[must_use]
    pub fn value(self) -> S {
        self.tape.value(self.index).number()
    }

    /// Returns the gradients of all `backward`s since the last [`Tape::zero_gradients`], added up.
    /// Computed variables have theirs, too. For a complex number `dL/dx + i dL/dy`.
    #[must_use]
    pub fn gradient(self) -> S {
        self.tape.gradient(self.index).number()
    }

    /// Gives an input another value. Values that depend on it are computed anew when they are next
    /// read; gradients stay as they are.
    #[track_caller]
    pub fn set(self, value: S) {
        self.tape.set(self.index, TapeValue::Number(value));
    }

    /// Adds to all gradients the derivative of this real number.
    ///
    /// # Errors
    /// The numbers are complex, an operator failed, or something went wrong before.
    pub fn backward(self) -> Result<(), TapeError> {
        if kind_of::<S>() == Kind::Complex && !self.value().im().is_exact_zero() {
            return Err(TapeError::ComplexResult);
        }
        self.backward_with(S::one())
    }

    /// Adds the pullback of the given cotangent of this number to all gradients.
    ///
    /// # Errors
    /// An operator failed, or something went wrong before.
    pub fn backward_with(self, cotangent: S) -> Result<(), TapeError> {
        self.tape.backward(self.index, TapeValue::Number(cotangent))
    }

    #[track_caller]
    fn note(self, step: TapeOp<S>, args: &[(&Tape<S>, usize)]) -> Variable<'t, S> {
        Variable { tape: self.tape, index: self.tape.operation(step, args, false) }
    }
    #[track_caller]
    fn op1(self, op: Op) -> Variable<'t, S> {
        self.note(TapeOp::Op(op), &[(self.tape, self.index)])
    }
    #[track_caller]
    fn op2(self, op: Op, other: impl Argument<'t, S>) -> Variable<'t, S> {
        let other = other.on(self.tape);
        self.note(TapeOp::Op(op), &[(self.tape, self.index), (other.tape, other.index)])
    }

    /// Returns `x^n`; `x^0 = 1` everywhere.
    #[must_use]
    #[track_caller]
    pub fn powi(self, n: i64) -> Variable<'t, S> {
        self.note(TapeOp::Power(n), &[(self.tape, self.index)])
    }
    /// Returns `x^y`.
    #[must_use]
    #[track_caller]
    pub fn pow(self, y: impl Argument<'t, S>) -> Variable<'t, S> {
        self.op2(Op::Number2(Number2::Pow), y)
    }
}

macro_rules! functions {
    ($($f:ident)*) => {
        impl<'t, T: Real, S: Scalar<Real = T>> Variable<'t, S> {
            $(
                #[doc = concat!("As [`Scalar::", stringify!($f), "`].")]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> Variable<'t, S> { self.op1(Op::Number1(op_of!($f))) }
            )*
        }
    };
}
unary_functions!(functions);

impl<'t, T: Real> Variable<'t, T> {
    /// Returns the absolute value; its slope at 0 is 0.
    #[must_use]
    #[track_caller]
    pub fn abs(self) -> Variable<'t, T> {
        self.op1(Op::Real1(Real1::Abs))
    }
    /// Applies any operation of the table on one real number.
    #[must_use]
    #[track_caller]
    pub fn real1(self, op: Real1) -> Variable<'t, T> {
        self.op1(Op::Real1(op))
    }
    /// Returns the greater one; the first at a tie.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl Argument<'t, T>) -> Variable<'t, T> {
        self.op2(Op::Real2(Real2::Max), other)
    }
    /// Returns the lesser one; the first at a tie.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl Argument<'t, T>) -> Variable<'t, T> {
        self.op2(Op::Real2(Real2::Min), other)
    }
    /// Returns the angle of the point `(x, self)`.
    #[must_use]
    #[track_caller]
    pub fn atan2(self, x: impl Argument<'t, T>) -> Variable<'t, T> {
        self.op2(Op::Real2(Real2::Atan2), x)
    }
    /// Returns `sqrt(self^2 + y^2)`.
    #[must_use]
    #[track_caller]
    pub fn hypot(self, y: impl Argument<'t, T>) -> Variable<'t, T> {
        self.op2(Op::Real2(Real2::Hypot), y)
    }
    /// Returns `ln(e^x + e^y)` without overflow.
    #[must_use]
    #[track_caller]
    pub fn logaddexp(self, y: impl Argument<'t, T>) -> Variable<'t, T> {
        self.op2(Op::Real2(Real2::LogAddExp), y)
    }
    /// Returns the derivative of `lgamma`.
    #[must_use]
    #[track_caller]
    pub fn digamma(self) -> Variable<'t, T> {
        self.polygamma(0)
    }
    /// Returns the n-th derivative of `digamma`.
    #[must_use]
    #[track_caller]
    pub fn polygamma(self, n: i64) -> Variable<'t, T> {
        let call = BuiltinCall::new(POLYGAMMA).with(StaticOperand::Int(n));
        Variable { tape: self.tape, index: self.tape.call(call, &[(self.tape, self.index)], false) }
    }
}

macro_rules! special {
    ($($f:ident)*) => {
        impl<'t, T: Real> Variable<'t, T> {
            $(
                #[doc = concat!("As [`Real::", stringify!($f), "`].")]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> Variable<'t, T> { self.op1(Op::Real1(special_op_of!($f))) }
            )*
        }
    };
}
special_functions!(special);

macro_rules! of_complex {
    ($($f:ident $Op:ident $doc:literal;)*) => {
        impl<'t, T: Real> Variable<'t, Complex<T>> {
            $(
                #[doc = $doc]
                #[must_use]
                #[track_caller]
                pub fn $f(self) -> Variable<'t, Complex<T>> { self.op1(Op::Mixed(Mixed::$Op)) }
            )*
        }
    };
}
of_complex! {
    conj Conj "The complex conjugate.";
    re Re "The real part, as a complex number.";
    im Im "The imaginary part, as a complex number.";
    abs2 Abs2 "The squared modulus, as a complex number.";
    modulus Modulus "The modulus, as a complex number.";
    arg Arg "The angle in (-pi, pi], as a complex number.";
}

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident)*) => {$(
        operators! { $Op $op Variable<'t, S> }
        operators! { $Op $op &Variable<'t, S> }
        operators! { $Op $op f64 }
        impl<'t, T: Real, S: Scalar<Real = T>> ops::$Op<Variable<'t, S>> for f64 {
            type Output = Variable<'t, S>;
            #[track_caller]
            fn $op(self, other: Variable<'t, S>) -> Variable<'t, S> {
                Argument::<S>::on(self, other.tape).$op(other)
            }
        }
        impl<'t, T: Real, S: Scalar<Real = T>, A: Argument<'t, S>> ops::$Assign<A> for Variable<'t, S> {
            #[track_caller]
            fn $assign(&mut self, other: A) { *self = self.op2(Op::Number2(Number2::$Op), other); }
        }
    )*};
    ($Op:ident $op:ident $Other:ty) => {
        impl<'t, T: Real, S: Scalar<Real = T>> ops::$Op<$Other> for Variable<'t, S> {
            type Output = Variable<'t, S>;
            #[track_caller]
            fn $op(self, other: $Other) -> Variable<'t, S> { self.op2(Op::Number2(Number2::$Op), other) }
        }
    };
}
operators! {
    Add add AddAssign add_assign
    Sub sub SubAssign sub_assign
    Mul mul MulAssign mul_assign
    Div div DivAssign div_assign
}
impl<'t, T: Real, S: Scalar<Real = T>> ops::Neg for Variable<'t, S> {
    type Output = Variable<'t, S>;
    #[track_caller]
    fn neg(self) -> Variable<'t, S> {
        self.op1(Op::Number1(Number1::Neg))
    }
}

impl<T: Ordered> Variable<'_, T> {
    /// Compares by value, and notes it: the tape holds the branch that is taken.
    #[track_caller]
    fn compare(self, other: ComparedSide, with: &T) -> Option<Ordering> {
        let order = self.value().cmp_primal(with);
        self.tape.compared(self.index, other, order);
        order
    }
    #[track_caller]
    fn compare_numbers(self, other: f64) -> Option<Ordering> {
        self.compare(ComparedSide::Number(other), &T::lit(other))
    }
    #[track_caller]
    fn compare_variables(self, other: Self) -> Option<Ordering> {
        let (with, own) = (other.value(), std::ptr::eq(self.tape, other.tape));
        // One of another tape is a constant here.
        let side = if own {
            ComparedSide::Entry(other.index)
        } else {
            ComparedSide::Number(with.primal().unwrap_or(f64::NAN))
        };
        self.compare(side, &with)
    }
}

/// Comparisons, written out so that each is recorded with the location of its operator.
macro_rules! comparisons {
    ($Other:ty, $x:ident, $y:ident: $compare:expr) => {
        /// Compares by value, so that code on a tape may branch. The tape holds the branch that was
        /// taken.
        impl<T: Ordered> PartialEq<$Other> for Variable<'_, T> {
            #[track_caller]
            fn eq(&self, other: &$Other) -> bool {
                self.partial_cmp(other) == Some(Ordering::Equal)
            }
        }
        /// Compares by value.
        impl<T: Ordered> PartialOrd<$Other> for Variable<'_, T> {
            #[track_caller]
            fn partial_cmp(&self, other: &$Other) -> Option<Ordering> {
                let ($x, $y) = (*self, *other);
                $compare
            }
            #[track_caller]
            fn lt(&self, other: &$Other) -> bool {
                self.partial_cmp(other).is_some_and(Ordering::is_lt)
            }
            #[track_caller]
            fn le(&self, other: &$Other) -> bool {
                self.partial_cmp(other).is_some_and(Ordering::is_le)
            }
            #[track_caller]
            fn gt(&self, other: &$Other) -> bool {
                self.partial_cmp(other).is_some_and(Ordering::is_gt)
            }
            #[track_caller]
            fn ge(&self, other: &$Other) -> bool {
                self.partial_cmp(other).is_some_and(Ordering::is_ge)
            }
        }
    };
}
comparisons!(Self, x, y: x.compare_variables(y));
comparisons!(f64, x, y: x.compare_numbers(y));

/// Prints the formula: `sin(x)*x + 3`.
impl<T: Real, S: Scalar<Real = T>> fmt::Display for Variable<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.formula() {
            Ok(text) => f.pad(&text),
            Err(_) => f.pad(&self.tape.inner.borrow().calls(self.index)),
        }
    }
}
/// Prints formula, value and gradient.
impl<T: Real, S: Scalar<Real = T>> fmt::Debug for Variable<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} = {:?} (gradient {:?})", self.value(), self.gradient())
    }
}
