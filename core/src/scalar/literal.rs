//! `N<S>`: scalars as one writes them, with literals.
//!
//! Rust has no `2.0 * x` for a generic `x: S`: the literal would have to know every scalar type. `N<S>` is
//! a transparent wrapper that does. Floats, `i32` and `i64` mix with it on either side, by value and by
//! reference, and every function of [`Scalar`] is a method:
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
//! A float literal becomes [`Scalar::lit`], an integer [`Scalar::int`]: `x / 3` is exact where the type can
//! be, `x * 0.333` never is.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Real, Scalar};

/// A scalar that mixes with literals; transparent, so it costs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct N<S>(pub S);

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident)*) => {$(
        impl<S: Scalar> $Op for N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: N<S>) -> N<S> { N(self.0.$op(y.0)) }
        }
        impl<S: Scalar> $Op<&N<S>> for N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: &N<S>) -> N<S> { N(self.0.$op(&y.0)) }
        }
        impl<S: Scalar> $Op<N<S>> for &N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: N<S>) -> N<S> { N((&self.0).$op(y.0)) }
        }
        impl<S: Scalar> $Op for &N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: &N<S>) -> N<S> { N((&self.0).$op(&y.0)) }
        }
        impl<S: Scalar> $Assign for N<S> {
            #[inline]
            fn $assign(&mut self, y: N<S>) { self.0.$assign(y.0); }
        }
        impl<S: Scalar> $Assign<&N<S>> for N<S> {
            #[inline]
            fn $assign(&mut self, y: &N<S>) { self.0.$assign(y.0.clone()); }
        }
        operators!(literal $Op $op $Assign $assign f64, S::lit);
        operators!(literal $Op $op $Assign $assign i64, S::int);
        operators!(literal $Op $op $Assign $assign i32, |n| S::int(i64::from(n)));
    )*};
    (literal $Op:ident $op:ident $Assign:ident $assign:ident $L:ident, $from:expr) => {
        impl<S: Scalar> $Op<N<S>> for $L {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: N<S>) -> N<S> { N(($from)(self).$op(y.0)) }
        }
        impl<S: Scalar> $Op<&N<S>> for $L {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: &N<S>) -> N<S> { N(($from)(self).$op(&y.0)) }
        }
        impl<S: Scalar> $Op<$L> for N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: $L) -> N<S> { N(self.0.$op(($from)(y))) }
        }
        impl<S: Scalar> $Op<$L> for &N<S> {
            type Output = N<S>;
            #[inline]
            fn $op(self, y: $L) -> N<S> { N((&self.0).$op(($from)(y))) }
        }
        impl<S: Scalar> $Assign<$L> for N<S> {
            #[inline]
            fn $assign(&mut self, y: $L) { self.0.$assign(($from)(y)); }
        }
    };
}
operators! {
    Add add AddAssign add_assign
    Sub sub SubAssign sub_assign
    Mul mul MulAssign mul_assign
    Div div DivAssign div_assign
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
    /// As [`Scalar::powi`].
    #[inline]
    #[must_use]
    pub fn powi(&self, n: i32) -> N<S> {
        N(self.0.powi(n))
    }
    /// As [`Scalar::pow`].
    #[inline]
    #[must_use]
    pub fn pow(&self, y: &N<S>) -> N<S> {
        N(self.0.pow(&y.0))
    }
}

impl<S: Real> N<S> {
    /// As [`Real::atan2`].
    #[inline]
    #[must_use]
    pub fn atan2(&self, x: &N<S>) -> N<S> {
        N(self.0.atan2(&x.0))
    }
    /// As [`Real::hypot`].
    #[inline]
    #[must_use]
    pub fn hypot(&self, y: &N<S>) -> N<S> {
        N(self.0.hypot(&y.0))
    }
}
