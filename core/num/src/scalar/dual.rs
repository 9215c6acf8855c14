//! Dual numbers: num_dual's types as [`Real`]s, with derivatives of every order.
//!
//! A dual number carries a value and derivatives, and every function moves both. `Dual` holds one
//! first derivative, `DualVec` a gradient, `Dual2` and `Dual3` the second and third derivative
//! along one direction, `HyperDual` and `HyperHyperDual` mixed ones. They nest (`Dual<Dual64>`),
//! and they are real numbers, so complex amplitudes that depend on a parameter are
//! `Complex<Dual64>`:
//!
//! ```
//! use ketgrad_core::scalar::Scalar;
//! use num_dual::{Dual2_64, Dual64};
//!
//! let x = Dual64::new(0.0, 1.0);
//! assert_eq!(Scalar::tanh(&x).eps, 1.0);
//! let x = Dual2_64::new(8.0, 1.0, 0.0);
//! assert_eq!(Scalar::powi(&x, 3).v2, 48.0); // (x^3)'' = 6x
//! ```
//!
//! # One chain rule
//! Each type is a number `lower` of one order less and a direction `d`, both read off its fields:
//!
//! | type | lower | d |
//! |---|---|---|
//! | `Dual<T>` | `re` | `eps` |
//! | `DualVec<T, D>` | `re` | each entry of `eps` |
//! | `Dual2<T>` | `Dual(re, v1)` | `Dual(v1, v2)` |
//! | `Dual3<T>` | `Dual2(re, v1, v2)` | `Dual2(v1, v2, v3)` |
//! | `HyperDual<T>` | `Dual(re, eps1)` | `Dual(eps2, eps1eps2)` |
//! | `HyperHyperDual<T>` | `HyperDual(re, eps1, eps2, eps1eps2)` | `HyperDual(eps3, eps1eps3, …)` |
//!
//! and `f` of it is `f(lower)` with the direction `f'(lower) d`, where `f'` comes from the one
//! table of slopes. Evaluating `f'` on a number that carries derivatives yields the higher orders.
//! Where `d` is zero the product is zero, whatever the slope: a constant stays a constant, also at
//! 0 under a root.
//!
//! A derivative that is computed to be zero counts as none: on all of these `sqrt(x * x)` at 0
//! has the derivative 0, which does not exist. A `DualVec` with one entry alone tells the two
//! apart, since a constant has no entry at all: on it that derivative is NaN, as from the engines
//! that differentiate programs.
//!
//! ```
//! use ketgrad_core::scalar::Scalar;
//! use num_dual::{Derivative, Dual64, DualSVec64};
//!
//! let root_of_square = |x: Dual64| Scalar::sqrt(&(x * x));
//! assert_eq!(root_of_square(Dual64::new(0.0, 1.0)).eps, 0.0);
//! let x = DualSVec64::<1>::from_re(0.0).derivative(0);
//! let y = Scalar::sqrt(&(x * x));
//! assert!(y.eps.unwrap_generic(nalgebra::Const::<1>, nalgebra::U1)[0].is_nan());
//! assert_eq!(Scalar::sqrt(&DualSVec64::<1>::from_re(0.0)).eps, Derivative::none());
//! ```
//!
//! # What is num_dual's and what is ours
//! The types, their fields and `+ - * /` are num_dual's. The functions are not, for these reasons
//! (seen in num-dual 0.15.1):
//! - `atan2` has NaN derivatives at `x = 0`, and `powd` (a power whose exponent is a dual number)
//!   at a base of 0; for a negative base `powd` is NaN even where the exponent is an integer;
//! - `sqrt` and `cbrt` have NaN derivatives at 0, also for constants, `powf` a NaN value there;
//! - `tanh` is `sinh / cosh`, NaN where both overflow;
//! - `powi` multiplies exponents in `i32`: it overflows from n = 46342 on at second order, 1292 at
//!   third;
//! - `hypot` is missing, and `acosh` has a finite slope below -1, where its value is NaN.
//!
//! Three things remain num_dual's. Its `%` panics; nothing here calls it. Its `==` compares values
//! only, so it does not tell duals apart that differ in a derivative. Its `/` multiplies by the
//! reciprocal, so the value of a quotient may differ from that of floats in the last bit.

use std::cmp::Ordering;

use nalgebra::{Const, DefaultAllocator, Dim, Dyn, OMatrix, U1, allocator::Allocator};
use num_dual::{Derivative, Dual, Dual2, Dual3, DualNum, DualVec, HyperDual, HyperHyperDual};

use super::{Conj, Ordered, Real, Ring, Scalar, Undecided, slope};

/// A dual number as a number of one order less and a direction.
trait Jet: Sized {
    /// The number of one order less.
    type Lower: Real;
    /// The order of the derivatives that it carries.
    const ORDER: usize = 1 + Self::Lower::ORDER;

    /// Forgets the direction.
    fn lower(&self) -> Self::Lower;

    /// Returns the number with the given lower part whose direction is the sum of
    /// `slope * direction of x` over the arguments `(x, slope)`.
    fn chain(lower: Self::Lower, arguments: &[(&Self, &Self::Lower)]) -> Self;

    /// Returns true if all derivatives are zero.
    fn is_constant(&self) -> bool;

    /// Returns the first derivatives, one for each direction.
    fn first(&self) -> Vec<f64>;
}

/// Returns the plain number; NaN if there is none.
fn plain<T: Real>(x: &T) -> f64 {
    x.primal().unwrap_or(f64::NAN)
}

/// Computes `slope * d`, and zero where `d` is zero even if the slope is infinite or undefined: a
/// constant has no derivative, whatever function it goes through.
#[inline]
fn along<T: Real>(slope: &T, d: &T) -> T {
    if d.is_exact_zero() { T::zero() } else { slope * d }
}

/// Returns the sum of `slope * d(x)` over the arguments.
#[inline]
fn total<X, T: Real>(arguments: &[(&X, &T)], d: impl Fn(&X) -> T) -> T {
    T::sum(arguments.iter().map(|(x, slope)| along(*slope, &d(x))))
}

impl<T: Real + DualNum> Jet for Dual<T> {
    type Lower = T;
    #[inline]
    fn lower(&self) -> T {
        self.re.clone()
    }
    #[inline]
    fn chain(re: T, arguments: &[(&Self, &T)]) -> Self {
        Dual::new(re, total(arguments, |x| x.eps.clone()))
    }
    fn first(&self) -> Vec<f64> {
        vec![plain(&self.eps)]
    }
    fn is_constant(&self) -> bool {
        self.eps.is_exact_zero()
    }
}

impl<T: Real + DualNum> Jet for Dual2<T> {
    type Lower = Dual<T>;
    fn lower(&self) -> Dual<T> {
        Dual::new(self.re.clone(), self.v1.clone())
    }
    fn chain(lower: Dual<T>, arguments: &[(&Self, &Dual<T>)]) -> Self {
        let d = total(arguments, |x| Dual::new(x.v1.clone(), x.v2.clone()));
        Dual2::new(lower.re, d.re, d.eps)
    }
    fn first(&self) -> Vec<f64> {
        vec![plain(&self.v1)]
    }
    fn is_constant(&self) -> bool {
        self.v1.is_exact_zero() && self.v2.is_exact_zero()
    }
}

impl<T: Real + DualNum> Jet for Dual3<T> {
    type Lower = Dual2<T>;
    fn lower(&self) -> Dual2<T> {
        Dual2::new(self.re.clone(), self.v1.clone(), self.v2.clone())
    }
    fn chain(lower: Dual2<T>, arguments: &[(&Self, &Dual2<T>)]) -> Self {
        let d = total(arguments, |x| Dual2::new(x.v1.clone(), x.v2.clone(), x.v3.clone()));
        Dual3::new(lower.re, d.re, d.v1, d.v2)
    }
    fn first(&self) -> Vec<f64> {
        vec![plain(&self.v1)]
    }
    fn is_constant(&self) -> bool {
        [&self.v1, &self.v2, &self.v3].into_iter().all(Ring::is_exact_zero)
    }
}

impl<T: Real + DualNum> Jet for HyperDual<T> {
    type Lower = Dual<T>;
    fn lower(&self) -> Dual<T> {
        Dual::new(self.re.clone(), self.eps1.clone())
    }
    fn chain(lower: Dual<T>, arguments: &[(&Self, &Dual<T>)]) -> Self {
        let d = total(arguments, |x| Dual::new(x.eps2.clone(), x.eps1eps2.clone()));
        HyperDual::new(lower.re, lower.eps, d.re, d.eps)
    }
    fn first(&self) -> Vec<f64> {
        vec![plain(&self.eps1), plain(&self.eps2)]
    }
    fn is_constant(&self) -> bool {
        [&self.eps1, &self.eps2, &self.eps1eps2].into_iter().all(Ring::is_exact_zero)
    }
}

impl<T: Real + DualNum> Jet for HyperHyperDual<T> {
    type Lower = HyperDual<T>;
    fn lower(&self) -> HyperDual<T> {
        let x = self.clone();
        HyperDual::new(x.re, x.eps1, x.eps2, x.eps1eps2)
    }
    fn chain(lower: HyperDual<T>, arguments: &[(&Self, &HyperDual<T>)]) -> Self {
        let d = total(arguments, |x| {
            let x = x.clone();
            HyperDual::new(x.eps3, x.eps1eps3, x.eps2eps3, x.eps1eps2eps3)
        });
        let HyperDual { re, eps1, eps2, eps1eps2, .. } = lower;
        HyperHyperDual::new(re, eps1, eps2, d.re, eps1eps2, d.eps1, d.eps2, d.eps1eps2)
    }
    fn first(&self) -> Vec<f64> {
        [&self.eps1, &self.eps2, &self.eps3].map(plain).to_vec()
    }
    fn is_constant(&self) -> bool {
        [&self.eps1, &self.eps2, &self.eps1eps2].into_iter().all(Ring::is_exact_zero)
            && [&self.eps3, &self.eps1eps3, &self.eps2eps3, &self.eps1eps2eps3]
                .into_iter()
                .all(Ring::is_exact_zero)
    }
}

impl<T: Real + DualNum, D: Dim> Jet for DualVec<T, D>
where
    DefaultAllocator: Allocator<D>,
{
    type Lower = T;
    #[inline]
    fn lower(&self) -> T {
        self.re.clone()
    }
    #[inline]
    fn chain(re: T, arguments: &[(&Self, &T)]) -> Self {
        let d = arguments.iter().fold(Derivative::none(), |sum, (x, slope)| {
            let moved = |d: &OMatrix<T, D, U1>| match d.len() {
                // A derivative of one entry was computed.
                1 => d.map(|d| (*slope).clone() * d),
                _ => d.map(|d| along(*slope, &d)),
            };
            sum + Derivative::new(x.eps.0.as_ref().map(moved))
        });
        DualVec::new(re, d)
    }
    fn first(&self) -> Vec<f64> {
        self.eps.0.iter().flat_map(|d| d.iter().map(plain)).collect()
    }
    fn is_constant(&self) -> bool {
        self.eps.0.as_ref().is_none_or(|d| d.len() != 1 && d.iter().all(Ring::is_exact_zero))
    }
}

/// The functions of one argument, on a [`Jet`].
macro_rules! lifted {
    ($($f:ident)*) => {$(
        #[inline]
        fn $f(&self) -> Self {
            let x = self.lower();
            let y = Scalar::$f(&x);
            let slope = slope::$f(&x, &y);
            Self::chain(y, &[(self, &slope)])
        }
    )*};
}

/// The special functions, on a [`Jet`].
macro_rules! lifted_special {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Self {
            let x = self.lower();
            let y = Real::$f(&x);
            let slope = slope::$f(&x, &y);
            Self::chain(y, &[(self, &slope)])
        }
    )*};
}

/// The functions of two arguments, on a [`Jet`].
macro_rules! lifted2 {
    ($($Trait:ident::$f:ident)*) => {$(
        #[inline]
        fn $f(&self, other: &Self) -> Self {
            let (x, y) = (self.lower(), other.lower());
            let z = $Trait::$f(&x, &y);
            let (along_x, along_y) = slope::$f(&x, &y, &z);
            Self::chain(z, &[(self, &along_x), (other, &along_y)])
        }
    )*};
}

/// Makes a [`Jet`] a [`Real`], one line for each type constructor. One implementation for all of
/// them would collide with that of `Complex<T>`.
macro_rules! dual {
    ($([$($N:tt)*] $D:ty;)*) => {$(
        impl<T: Real + DualNum $($N)*> Ring for $D {
            const PARALLEL: bool = T::PARALLEL;
            fn is_exact_zero(&self) -> bool { self.re.is_exact_zero() && self.is_constant() }
        }
        impl<T: Real + DualNum $($N)*> Conj for $D {
            fn conj(&self) -> Self { self.clone() }
        }
        impl<T: Real + DualNum $($N)*> Scalar for $D {
            type Real = Self;
            fn from_real(re: Self) -> Self { re }
            fn re(&self) -> Self { self.clone() }
            fn im(&self) -> Self { Self::from_re(T::zero()) }
            fn abs2(&self) -> Self { self * self }
            fn lit(x: f64) -> Self { Self::from_re(T::lit(x)) }
            fn literal(x: f64) -> Self { Self::from_re(T::literal(x)) }
            fn ratio(n: i64, d: i64) -> Self { Self::from_re(T::ratio(n, d)) }
            fn powi(&self, n: i64) -> Self {
                let x = self.lower();
                let y = Scalar::powi(&x, n);
                let slope = slope::powi(&x, &y, n);
                Self::chain(y, &[(self, &slope)])
            }
            lifted2!(Scalar::pow);
            unary_functions!(lifted);
        }
        impl<T: Real + DualNum $($N)*> Real for $D {
            const ORDER: usize = <Self as Jet>::ORDER;
            fn pi() -> Self { Self::from_re(T::pi()) }
            lifted2!(Real::atan2 Real::hypot Real::logaddexp);
            special_functions!(lifted_special);
            fn polygamma(&self, n: i64) -> Self {
                let x = self.lower();
                let (y, slope) = (x.polygamma(n), slope::polygamma(&x, n));
                Self::chain(y, &[(self, &slope)])
            }
            fn primal(&self) -> Option<f64> { self.re.primal() }
            fn finite_value(&self) -> Self { Self::from_re(self.re.finite_value()) }
            fn beyond(&self) -> Self { Self { re: self.re.beyond(), ..self.clone() } }
            fn first_derivatives(&self) -> Vec<f64> {
                self.first().into_iter().chain(self.re.first_derivatives()).collect()
            }
            fn try_cmp(&self, other: &Self) -> Result<Option<Ordering>, Undecided> {
                self.re.try_cmp(&other.re)
            }
        }
        impl<T: Ordered + DualNum $($N)*> Ordered for $D {
            fn cmp_primal(&self, other: &Self) -> Option<Ordering> { self.re.cmp_primal(&other.re) }
        }
    )*};
}

dual! {
    [] Dual<T>;
    [] Dual2<T>;
    [] Dual3<T>;
    [] HyperDual<T>;
    [] HyperHyperDual<T>;
    [, const N: usize] DualVec<T, Const<N>>;
    [] DualVec<T, Dyn>;
}
