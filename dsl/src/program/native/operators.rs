//! Operators and conditions of the native body.

use std::{
    cmp::Ordering,
    ops::{Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign},
};

use super::*;

/// Right operand beside a real number: another one, or a literal.
pub trait RealOperand<S> {
    /// Returns the real number.
    fn real(self) -> S;
}
impl<S> RealOperand<S> for N<S> {
    fn real(self) -> S {
        self.0
    }
}
impl<S: Number> RealOperand<S> for f64 {
    fn real(self) -> S {
        S::literal(self)
    }
}
impl<S: Number> RealOperand<S> for i64 {
    fn real(self) -> S {
        S::lit(self as f64)
    }
}

macro_rules! operators {
    ($($Op:ident $f:ident $Assign:ident $assign:ident;)*) => {$(
        operators! { @real $Op $f (N<S>, N<S>) (N<S>, f64) (N<S>, i64) (f64, N<S>) (i64, N<S>) }
        operators! {
            @complex $Op $f (Z<S>, Z<S>) (Z<S>, N<S>) (N<S>, Z<S>) (Z<S>, f64) (f64, Z<S>) (Z<S>, i64) (i64, Z<S>)
        }
        impl<S: Number, R> $Assign<R> for N<S>
        where
            N<S>: $Op<R, Output = N<S>>,
        {
            #[inline]
            fn $assign(&mut self, b: R) {
                *self = (*self).$f(b);
            }
        }
        impl<S: Number, R> $Assign<R> for Z<S>
        where
            Z<S>: $Op<R, Output = Z<S>>,
        {
            #[inline]
            fn $assign(&mut self, b: R) {
                *self = (*self).$f(b);
            }
        }
    )*};
    (@real $Op:ident $f:ident $(($A:ty, $B:ty))*) => {$(
        impl<S: Number> $Op<$B> for $A {
            type Output = N<S>;
            #[inline]
            fn $f(self, b: $B) -> N<S> {
                let (a, b): (S, S) = (self.real(), b.real());
                N(Number2::$Op.value(&a, &b))
            }
        }
    )*};
    (@complex $Op:ident $f:ident $(($A:ty, $B:ty))*) => {$(
        impl<S: Number> $Op<$B> for $A {
            type Output = Z<S>;
            #[inline]
            fn $f(self, b: $B) -> Z<S> {
                let (a, b): (Z<S>, Z<S>) = (self.fit(), b.fit());
                Z(Number2::$Op.value(&a.0, &b.0))
            }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

impl<S: Number> Neg for N<S> {
    type Output = N<S>;
    #[inline]
    fn neg(self) -> N<S> {
        N(-self.0)
    }
}
impl<S: Number> Neg for Z<S> {
    type Output = Z<S>;
    #[inline]
    fn neg(self) -> Z<S> {
        Z(-self.0)
    }
}

impl<T, I: Fit<i64>> Index<I> for Arr<T> {
    type Output = T;
    #[inline]
    #[track_caller]
    fn index(&self, i: I) -> &T {
        &self.0[usize_index(i.fit())]
    }
}
impl<T, I: Fit<i64>> IndexMut<I> for Arr<T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.0[usize_index(i.fit())]
    }
}
macro_rules! indices {
    ($(($($I:ident $i:tt)+))*) => {$(
        impl<T, $($I: Fit<i64>),+> Index<($($I,)+)> for Arr<T> {
            type Output = T;
            #[track_caller]
            fn index(&self, i: ($($I,)+)) -> &T {
                &self.0[flat_index(&self.0.shape(), &[$(i.$i.fit()),+])]
            }
        }
        impl<T, $($I: Fit<i64>),+> IndexMut<($($I,)+)> for Arr<T> {
            #[track_caller]
            fn index_mut(&mut self, i: ($($I,)+)) -> &mut T {
                let i = flat_index(&self.0.shape(), &[$(i.$i.fit()),+]);
                &mut self.0[i]
            }
        }
    )*};
}
indices! { (I 0 J 1) (I 0 J 1 K 2) (I 0 J 1 K 2 L 3) }

/// Returns the place of the element with these indices, one for each axis.
#[track_caller]
fn flat_index(shape: &[usize], indices: &[i64]) -> usize {
    usize_index(sure(ketgrad_core::array::flat_index(shape, indices)))
}

/// Converts an index; a negative one is outside of every array.
#[inline]
fn usize_index(i: i64) -> usize {
    usize::try_from(i).unwrap_or(usize::MAX)
}

/// Pairs of types that can be compared.
pub trait Alike<R> {
    /// Returns the order of the two; `None` where one is NaN.
    fn order(self, other: R) -> Option<Ordering>;
}
macro_rules! alike {
    ($([$($g:tt)*] $A:ty, $B:ty: |$a:ident, $b:ident| $e:expr;)*) => {$(
        impl<$($g)*> Alike<$B> for $A {
            #[inline]
            fn order(self, other: $B) -> Option<Ordering> {
                let ($a, $b) = (self, other);
                $e
            }
        }
    )*};
}
alike! {
    [S: Number] N<S>, N<S>: |a, b| a.0.cmp_primal(&b.0);
    [S: Number] N<S>, f64: |a, b| a.0.cmp_primal(&S::literal(b));
    [S: Number] f64, N<S>: |a, b| S::literal(a).cmp_primal(&b.0);
    [S: Number] N<S>, i64: |a, b| a.0.cmp_primal(&S::lit(b as f64));
    [S: Number] i64, N<S>: |a, b| S::lit(a as f64).cmp_primal(&b.0);
    [] i64, i64: |a, b| a.partial_cmp(&b);
    [] f64, f64: |a, b| a.partial_cmp(&b);
    [] f64, i64: |a, b| a.partial_cmp(&(b as f64));
    [] i64, f64: |a, b| (a as f64).partial_cmp(&b);
    // As above, only the staged body reports that complex numbers have no order.
    [S: Number] Z<S>, Z<S>: |_a, _b| None;
    [S: Number] Z<S>, f64: |_a, _b| None;
    [S: Number] Z<S>, N<S>: |_a, _b| None;
}

/// A comparison outside of a condition: as above, the staged body refuses it.
impl<S: Number, R> PartialEq<R> for N<S> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}
impl<S: Number, R> PartialOrd<R> for N<S> {
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        None
    }
}
/// There is no operator for powers: as above.
impl<S: Number, R> std::ops::BitXor<R> for N<S> {
    type Output = N<S>;
    fn bitxor(self, _: R) -> N<S> {
        self
    }
}

/// Returns a comparison in a condition.
#[inline]
pub fn compare<A: Alike<B>, B>(op: Compare, a: A, b: B) -> bool {
    op.holds(a.order(b))
}

/// Returns a truth value in a condition.
#[inline]
pub fn truth(x: impl Fit<bool>) -> bool {
    x.fit()
}
