//! `N<S>`: scalars as one writes them, with literals.
//!
//! Rust has no `2.0 * x` for a generic `x: S`: the literal would have to know every scalar type.
//! `N<S>` is a transparent wrapper that does. Float and integer literals mix with it on either
//! side, by value and by reference, and every function of [`Scalar`] is a method:
//!
//! ```
//! use ketgrad_core::scalar::{N, Scalar};
//! use num_complex::Complex;
//! use num_dual::Dual64;
//!
//! fn f<S: Scalar>(x: &N<S>) -> N<S> {
//!     2.0 * x * x + x.sin() / 3 - 1
//! }
//! assert_eq!(f(&N(0.0)).0, -1.0);
//! assert_eq!(f(&N(Complex::new(0.0, 0.0))).0, Complex::new(-1.0, 0.0));
//! assert_eq!(f(&N(Dual64::new(0.0, 1.0))).0.eps, 1.0 / 3.0);
//!
//! // Where S is Copy, N<S> is, and nothing needs a reference.
//! fn g<S: Scalar + Copy>(x: N<S>, y: N<S>) -> N<S> {
//!     (x * x + y * y).sqrt() * 0.5
//! }
//! assert_eq!(g(N(3.0), N(4.0)).0, 2.5);
//!
//! fn h<S: Scalar>(x: &N<S>) -> N<S> {
//!     (x + 1).sqrt() * (2 * x).sin() * (1.0 - x).exp()
//! }
//! assert_eq!(h(&N(0.0)).0, 0.0);
//! ```
//!
//! Without `Copy` a value can be used up only once, as everywhere in Rust:
//!
//! ```compile_fail,E0382
//! use ketgrad_core::scalar::{N, Scalar};
//! fn f<S: Scalar>(x: N<S>) -> N<S> {
//!     x * x + x
//! }
//! ```
//!
//! An `i32` that is not a literal goes on the right (`x * k`). A float literal becomes
//! [`Scalar::literal`], an integer [`Scalar::int`]: `x / 3` is exact where the type can be,
//! `x * 0.333` never is.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Real, Scalar};

/// A scalar that mixes with literals; transparent, so it costs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct N<S>(pub S);

/// Right operand of an operator of [`N<S>`]: another `N<S>`, a reference to one, or a
/// literal.
///
/// One implementation of each operator for all of them, so that the type of `x + 1` is known before
/// that of the literal, and `(x + 1).sqrt()` needs no annotation.
pub trait ScalarOperand<S> {
    /// Returns the scalar that it is.
    fn scalar(self) -> S;
}

impl<S> ScalarOperand<S> for N<S> {
    #[inline]
    fn scalar(self) -> S {
        self.0
    }
}

impl<S: Clone> ScalarOperand<S> for &N<S> {
    #[inline]
    fn scalar(self) -> S {
        self.0.clone()
    }
}

impl<S: Scalar> ScalarOperand<S> for f64 {
    #[inline]
    fn scalar(self) -> S {
        S::literal(self)
    }
}

impl<S: Scalar> ScalarOperand<S> for i64 {
    #[inline]
    fn scalar(self) -> S {
        S::int(self)
    }
}

impl<S: Scalar> ScalarOperand<S> for i32 {
    #[inline]
    fn scalar(self) -> S {
        S::int(i64::from(self))
    }
}

/// One operator with a literal on the left. There is one integer type only: with two, the type of
/// `2 * x` would wait for that of the literal, and `(2 * x).sin()` would not compile.
macro_rules! on_the_left {
    ($Op:ident $op:ident $f:path, $L:ident) => {
        impl<S: Scalar> $Op<N<S>> for $L {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: N<S>) -> N<S> {
                N($f(&ScalarOperand::<S>::scalar(self), &y.0))
            }
        }
        impl<S: Scalar> $Op<&N<S>> for $L {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: &N<S>) -> N<S> {
                N($f(&ScalarOperand::<S>::scalar(self), &y.0))
            }
        }
    };
}

/// An operator with anything on the right, and its assigning form.
macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident = $f:path;)*) => {$(
        impl<S: Scalar, R: ScalarOperand<S>> $Op<R> for N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: R) -> N<S> { N($f(&self.0, &y.scalar())) }
        }
        impl<S: Scalar, R: ScalarOperand<S>> $Op<R> for &N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: R) -> N<S> { N($f(&self.0, &y.scalar())) }
        }
        impl<S: Scalar, R: ScalarOperand<S>> $Assign<R> for N<S> {
            #[inline]
            fn $assign(&mut self, y: R) { self.0 = $f(&self.0, &y.scalar()); }
        }
        on_the_left!($Op $op $f, f64);
        on_the_left!($Op $op $f, i64);
    )*};
}
operators! {
    Add add AddAssign add_assign = Add::add;
    Sub sub SubAssign sub_assign = Sub::sub;
    Mul mul MulAssign mul_assign = Mul::mul;
    Div div DivAssign div_assign = Scalar::quotient;
}

impl<S: Scalar> Neg for N<S> {
    type Output = N<S>;
    #[inline]
    fn neg(self) -> N<S> {
        N(-self.0)
    }
}

impl<S: Scalar> Neg for &N<S> {
    type Output = N<S>;
    #[inline]
    fn neg(self) -> N<S> {
        N(-&self.0)
    }
}

macro_rules! methods {
    ($($f:ident)*) => {
        impl<S: Scalar> N<S> {
            $(
                #[doc = concat!("As [`Scalar::", stringify!($f), "`].")]
                #[inline]
                #[must_use]
                pub fn $f(&self) -> N<S> { N(self.0.$f()) }
            )*
        }
    };
}
unary_functions!(methods);

impl<S: Scalar> N<S> {
    /// Computes [`Scalar::powi`].
    #[inline]
    #[must_use]
    pub fn powi(&self, n: i64) -> N<S> {
        N(self.0.powi(n))
    }
    /// Computes [`Scalar::pow`].
    #[inline]
    #[must_use]
    pub fn pow(&self, y: &N<S>) -> N<S> {
        N(self.0.pow(&y.0))
    }
}

macro_rules! special_methods {
    ($($f:ident)*) => {
        impl<S: Real> N<S> {
            $(
                #[doc = concat!("As [`Real::", stringify!($f), "`].")]
                #[inline]
                #[must_use]
                pub fn $f(&self) -> N<S> { N(self.0.$f()) }
            )*
        }
    };
}
special_functions!(special_methods);

impl<S: Real> N<S> {
    /// Computes [`Real::polygamma`].
    #[inline]
    #[must_use]
    pub fn polygamma(&self, n: i64) -> N<S> {
        N(self.0.polygamma(n))
    }
    /// Computes [`Real::logaddexp`].
    #[inline]
    #[must_use]
    pub fn logaddexp(&self, y: &N<S>) -> N<S> {
        N(self.0.logaddexp(&y.0))
    }
    /// Computes [`Real::atan2`].
    #[inline]
    #[must_use]
    pub fn atan2(&self, x: &N<S>) -> N<S> {
        N(self.0.atan2(&x.0))
    }
    /// Computes [`Real::hypot`].
    #[inline]
    #[must_use]
    pub fn hypot(&self, y: &N<S>) -> N<S> {
        N(self.0.hypot(&y.0))
    }
}
