//! Several numbers side by side: one run of a program computes with all of them at once.
//!
//! `Lanes<f64, 8>` is eight numbers. Every operation is done lane by lane and gives the bits that
//! each lane alone would give. A comparison has an answer only where all lanes have the same;
//! [`Undecided::agreeing`] tells which do as the first, so that the caller can part
//! them (`exec::Batch` does).
//!
//! ```
//! use ketgrad_core::scalar::{Lanes, Real, Scalar};
//!
//! let x = Lanes([1.0, 4.0]);
//! assert_eq!((&x * &x).sqrt(), x);
//! assert_eq!(x.try_cmp(&Lanes([2.0, 2.0])).unwrap_err().agreeing, 0b01);
//! ```
//!
//! Invariant: no decision is taken on one lane for another. What asks for the value of a number
//! (`primal`) gets one only where the lanes are equal, bit by bit.

use std::{
    array::from_fn,
    cmp::Ordering,
    ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign},
};

use num_traits::{Num, One, Zero};

use super::{Conj, ParseScalarError, Real, Ring, Scalar, Undecided, ops::parse_decimal};

/// `N` numbers side by side, at most 64.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T: Real, const N: usize> Lanes<T, N> {
    fn all(value: impl Fn() -> T) -> Self {
        Lanes(from_fn(|_| value()))
    }
    #[inline]
    fn map(&self, f: impl Fn(&T) -> T) -> Self {
        Lanes(from_fn(|k| f(&self.0[k])))
    }
    #[inline]
    fn zip(&self, other: &Self, f: impl Fn(&T, &T) -> T) -> Self {
        Lanes(from_fn(|k| f(&self.0[k], &other.0[k])))
    }
}

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        impl<T: Real, const N: usize> $Op<&Lanes<T, N>> for &Lanes<T, N> {
            type Output = Lanes<T, N>;
            #[inline]
            fn $op(self, other: &Lanes<T, N>) -> Lanes<T, N> { self.zip(other, |$a, $b| $value) }
        }
        impl<T: Real, const N: usize> $Op for Lanes<T, N> {
            type Output = Lanes<T, N>;
            #[inline]
            fn $op(self, other: Lanes<T, N>) -> Lanes<T, N> { $Op::$op(&self, &other) }
        }
        impl<T: Real, const N: usize> $Op<&Lanes<T, N>> for Lanes<T, N> {
            type Output = Lanes<T, N>;
            #[inline]
            fn $op(self, other: &Lanes<T, N>) -> Lanes<T, N> { $Op::$op(&self, other) }
        }
        impl<T: Real, const N: usize> $Op<Lanes<T, N>> for &Lanes<T, N> {
            type Output = Lanes<T, N>;
            #[inline]
            fn $op(self, other: Lanes<T, N>) -> Lanes<T, N> { $Op::$op(self, &other) }
        }
        impl<T: Real, const N: usize> $Assign for Lanes<T, N> {
            #[inline]
            fn $assign(&mut self, other: Lanes<T, N>) { *self = $Op::$op(&*self, &other); }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign |a, b| a + b;
    Sub sub SubAssign sub_assign |a, b| a - b;
    Mul mul MulAssign mul_assign |a, b| a * b;
    Div div DivAssign div_assign |a, b| a / b;
    Rem rem RemAssign rem_assign |a, b| a.clone() % b.clone();
}

impl<T: Real, const N: usize> Neg for Lanes<T, N> {
    type Output = Self;
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}
impl<T: Real, const N: usize> Neg for &Lanes<T, N> {
    type Output = Lanes<T, N>;
    fn neg(self) -> Lanes<T, N> {
        self.map(|a| -a)
    }
}

impl<T: Real, const N: usize> Zero for Lanes<T, N> {
    fn zero() -> Self {
        Lanes::all(T::zero)
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}
impl<T: Real, const N: usize> One for Lanes<T, N> {
    fn one() -> Self {
        Lanes::all(T::one)
    }
}
impl<T: Real, const N: usize> Num for Lanes<T, N> {
    type FromStrRadixErr = ParseScalarError;
    fn from_str_radix(s: &str, radix: u32) -> Result<Self, ParseScalarError> {
        parse_decimal(s, radix).map(Self::lit)
    }
}

impl<T: Real, const N: usize> Ring for Lanes<T, N> {
    const PARALLEL: bool = T::PARALLEL;
    fn is_exact_zero(&self) -> bool {
        self.0.iter().all(T::is_exact_zero)
    }
    fn is_exact_one(&self) -> bool {
        self.0.iter().all(T::is_exact_one)
    }
    fn scale(a: &Self, b: &Self) -> Self {
        a.zip(b, T::scale)
    }
    fn guard(a: &Self, b: &Self) -> Self {
        a.zip(b, T::guard)
    }
}
impl<T: Real, const N: usize> Conj for Lanes<T, N> {
    fn conj(&self) -> Self {
        self.clone()
    }
}

/// The functions of one argument.
macro_rules! by_lane {
    ($($f:ident)*) => {$(
        #[inline]
        fn $f(&self) -> Self { self.map(T::$f) }
    )*};
}

/// The functions of many numbers: the bits of each lane are those of its numbers alone, which need
/// not be those of one number after the other.
macro_rules! all_lanes {
    ($($f:ident)*) => {$(
        fn $f(numbers: &mut [Self]) {
            each_lane(numbers, |_, lane| T::$f(lane));
        }
    )*};
}

/// Applies a function to the numbers of each lane.
fn each_lane<T: Real, const N: usize>(numbers: &mut [Lanes<T, N>], f: impl Fn(usize, &mut [T])) {
    for k in 0..N {
        let mut lane: Vec<T> = numbers.iter().map(|x| x.0[k].clone()).collect();
        f(k, &mut lane);
        numbers.iter_mut().zip(lane).for_each(|(x, y)| x.0[k] = y);
    }
}

/// Applies a function lane by lane to numbers and others beside them.
fn beside<T: Real, const N: usize>(
    numbers: &mut [Lanes<T, N>],
    others: &[Lanes<T, N>],
    f: impl Fn(&mut [T], &[T]),
) {
    each_lane(numbers, |k, lane| {
        let others: Vec<T> = others.iter().map(|x| x.0[k].clone()).collect();
        f(lane, &others);
    });
}

impl<T: Real, const N: usize> Scalar for Lanes<T, N> {
    type Real = Self;
    fn from_real(re: Self) -> Self {
        re
    }
    fn re(&self) -> Self {
        self.clone()
    }
    fn im(&self) -> Self {
        Self::zero()
    }
    fn abs2(&self) -> Self {
        self.map(T::abs2)
    }
    fn lit(x: f64) -> Self {
        Lanes::all(|| T::lit(x))
    }
    fn literal(x: f64) -> Self {
        Lanes::all(|| T::literal(x))
    }
    fn ratio(n: i64, d: i64) -> Self {
        Lanes::all(|| T::ratio(n, d))
    }
    fn int(n: i64) -> Self {
        Lanes::all(|| T::int(n))
    }
    fn powi(&self, n: i64) -> Self {
        self.map(|a| a.powi(n))
    }
    fn pow(&self, y: &Self) -> Self {
        self.zip(y, T::pow)
    }
    unary_functions!(by_lane);
    all_lanes! {
        exp_all exp_m1_all ln_all ln_1p_all log2_all log10_all cbrt_all sin_all cos_all tan_all asin_all acos_all
        atan_all sinh_all cosh_all tanh_all asinh_all acosh_all atanh_all
    }
    fn pow_all(numbers: &mut [Self], exponents: &[Self]) {
        beside(numbers, exponents, T::pow_all);
    }
}

impl<T: Real, const N: usize> Real for Lanes<T, N> {
    fn pi() -> Self {
        Lanes::all(T::pi)
    }
    fn atan2(&self, x: &Self) -> Self {
        self.zip(x, T::atan2)
    }
    fn hypot(&self, y: &Self) -> Self {
        self.zip(y, T::hypot)
    }
    fn over(&self, y: &Self) -> Self {
        self.zip(y, T::over)
    }
    special_functions!(by_lane);
    fn polygamma(&self, n: i64) -> Self {
        self.map(|x| x.polygamma(n))
    }
    fn logaddexp(&self, y: &Self) -> Self {
        self.zip(y, T::logaddexp)
    }
    fn primal(&self) -> Option<f64> {
        let first = self.0.first()?.primal()?;
        let same = |x: &T| x.primal().is_some_and(|x| x.to_bits() == first.to_bits());
        self.0.iter().all(same).then_some(first)
    }
    fn atan2_all(numbers: &mut [Self], others: &[Self]) {
        beside(numbers, others, T::atan2_all);
    }
    fn hypot_all(numbers: &mut [Self], others: &[Self]) {
        beside(numbers, others, T::hypot_all);
    }
    fn inverse_size(&self, other: &Self) -> Option<Self> {
        let mut sizes = self.clone();
        for (x, y) in sizes.0.iter_mut().zip(&other.0) {
            *x = x.inverse_size(y)?;
        }
        Some(sizes)
    }
    fn finite_value(&self) -> Self {
        self.map(T::finite_value)
    }
    fn beyond(&self) -> Self {
        if self.primal().is_some() { self.map(T::beyond) } else { self.clone() }
    }
    fn try_cmp(&self, other: &Self) -> Result<Option<Ordering>, Undecided> {
        let Some((a, b)) = self.0.first().zip(other.0.first()) else { return Ok(None) };
        let first = a.try_cmp(b)?;
        let mut agreeing = 0u64;
        for (k, (a, b)) in self.0.iter().zip(&other.0).enumerate() {
            agreeing |= u64::from(a.try_cmp(b)? == first) << k;
        }
        if agreeing.count_ones() as usize == N {
            return Ok(first);
        }
        Err(Undecided { agreeing, ..Undecided::new("number whose lanes disagree") })
    }
}
