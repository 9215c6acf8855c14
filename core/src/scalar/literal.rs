//! `N<S>`: scalars as one writes them, with literals.
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Real, Scalar};

/// A scalar that mixes with literals.
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
