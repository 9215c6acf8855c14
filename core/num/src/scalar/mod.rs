//! The number traits: [`Ring`] < [`Conj`] < [`Scalar`] < [`Real`] < [`Ordered`].
//!
//! Kernels ask for [`Ring`], norms and expectation values for [`Conj`] or [`Scalar`], rules and
//! engines for [`Scalar`], code that compares while it runs for [`Ordered`]. One bound is in a
//! signature; it brings the operators on values and on references in all four combinations:
//!
//! ```
//! use ketgrad_core::scalar::Scalar;
//! use num_complex::Complex;
//! use num_dual::Dual64;
//!
//! fn f<S: Scalar>(x: &S) -> S {
//!     x * x + x
//! }
//! assert_eq!(f(&3.0), 12.0);
//! assert_eq!(f(&Complex::new(0.0, 1.0)), Complex::new(-1.0, 1.0));
//! assert_eq!(f(&Dual64::new(3.0, 1.0)).eps, 7.0); // derivative 2x + 1
//! ```
//!
//! | type | Ring | Conj | Scalar | Real | Ordered |
//! |---|---|---|---|---|---|
//! | `f32`, `f64` | x | x | x | x | x |
//! | `Complex<T>`, `T: Real` | x | x | x | | |
//! | `Dual`, `Dual2`, `Dual3`, `HyperDual`, `HyperHyperDual`, `DualVec` and their nests | x | x | x | x | x |
//! | [`Uncertain`] | x | x | x | x | x |
//! | [`Lanes<T, N>`](Lanes), `T: Real` | x | x | x | x | |
//!
//! A prime field, a polynomial ring or any type of yours joins by implementing [`Ring`] alone and
//! then runs every circuit through the same kernels. [`ring_ops!`](crate::ring_ops) writes its
//! operators, `ring_laws` checks what kernels take for granted; a
//! [`Real`] also gets [`num_for_complex!`](crate::num_for_complex).
//!
//! Code that computes with `S::Real` names it: `fn f<T: Real, S: Scalar<Real = T>>(x: &S) -> T`.
//! The compiler does not derive the operators on references for an associated type.
//!
//! # Two traps
//! - `num_traits::Zero::is_zero` and `One::is_one` ignore the derivative part of a dual number:
//!   `0 + 1 eps` "is zero". Use [`Ring::is_exact_zero`].
//! - On a concrete `Complex<f64>`, `z.sqrt()` is num_complex's own method. In generic code it is
//!   ours; write `Scalar::sqrt(&z)` to get ours on a concrete type.

use std::{
    cmp::Ordering,
    fmt::Debug,
    ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign},
};

use num_rational::Ratio;
use num_traits::{NumAssign, One, Zero};

#[macro_use]
mod ops;
#[macro_use]
mod slope;
#[macro_use]
mod compiled;
mod circular;
mod complex;
mod dual;
mod elementary;
mod float;
mod inverse;
mod lanes;
mod literal;
mod nested;
mod pieces;
mod power;
mod random;
mod special;
mod twice;
mod uncertain;
mod wide;

#[doc(hidden)]
pub use compiled::{missing, same};
#[doc(hidden)]
pub use elementary::exact_sum;
pub use lanes::Lanes;
pub use literal::{N, ScalarOperand};
pub use nested::{MapNumbers, NestedNumbers, NestedValues};
pub use ops::ParseScalarError;
#[doc(hidden)]
pub use ops::parse_decimal;
pub use pieces::Piece;
#[doc(hidden)]
pub use pieces::primal;
#[doc(hidden)]
pub use power::is_product;
#[doc(hidden)]
pub use random::RANDOM_SOURCE;
pub use random::threefry;
#[doc(hidden)]
pub use special::SPECIAL_SOURCE;
pub use twice::{Basic, Twice};
pub use uncertain::Uncertain;
pub(crate) use wide::fused;
#[doc(hidden)]
pub use wide::{WideLoop, one, two, wide};

/// `T: Implies<U, Is: Bound>` as a supertrait makes `U: Bound` known wherever `T: Trait` is known.
///
/// A plain `where &'a Self: Bound` on a trait would have to be repeated by each of its users. The
/// one implementation is blanket; this trait is not named elsewhere.
pub trait Implies<U>: ImpliesInner<U, Is = U> {}
impl<T: ?Sized, U> Implies<U> for T {}

#[doc(hidden)]
pub trait ImpliesInner<U> {
    type Is;
}
impl<T: ?Sized, U> ImpliesInner<U> for T {
    type Is = U;
}

/// The ring operators on `&'a R`, with a value or a reference on the right.
pub trait RefOps<'a, R: 'a>:
    Copy
    + Neg<Output = R>
    + Add<Output = R>
    + Sub<Output = R>
    + Mul<Output = R>
    + Add<R, Output = R>
    + Sub<R, Output = R>
    + Mul<R, Output = R>
{
}
impl<'a, R: 'a> RefOps<'a, R> for &'a R where
    &'a R: Neg<Output = R>
        + Add<Output = R>
        + Sub<Output = R>
        + Mul<Output = R>
        + Add<R, Output = R>
        + Sub<R, Output = R>
        + Mul<R, Output = R>
{
}

/// Division on `&'a R`, with a value or a reference on the right.
pub trait RefDiv<'a, R: 'a>: Sized + Div<Output = R> + Div<R, Output = R> {}
impl<'a, R: 'a> RefDiv<'a, R> for &'a R where &'a R: Div<Output = R> + Div<R, Output = R> {}

/// Arithmetic that a kernel needs: sums, differences and products that commute and distribute.
pub trait Ring:
    Clone
    + Debug
    + Send
    + Sync
    + 'static
    + Zero
    + One
    + Neg<Output = Self>
    + Sub<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + for<'a> Add<&'a Self, Output = Self>
    + for<'a> Sub<&'a Self, Output = Self>
    + for<'a> Mul<&'a Self, Output = Self>
    + for<'a> Implies<&'a Self, Is: RefOps<'a, Self>>
{
    /// True if kernels may split work over threads.
    const PARALLEL: bool = true;
    /// True if loops over these numbers gain from the vector instructions of the processor.
    const WIDE: bool = false;
    /// True if ketgrad's crates hold functions over these numbers that are compiled with them.
    #[doc(hidden)]
    const COMPILED: bool = false;

    /// True only if the number *and all its derivatives* vanish.
    fn is_exact_zero(&self) -> bool;

    /// True only if the number is one and all its derivatives vanish.
    fn is_exact_one(&self) -> bool {
        (Self::one() - self).is_exact_zero()
    }

    /// Computes `a x + b y`, the inner step of a 2x2 gate.
    #[inline]
    fn dot2(a: &Self, x: &Self, b: &Self, y: &Self) -> Self {
        a * x + b * y
    }

    /// Computes `self += a x`.
    #[inline]
    fn mul_add_assign(&mut self, a: &Self, x: &Self) {
        *self += a * x;
    }

    /// Computes `a b`, but zero where `b` is exactly zero, even if `a` is infinite or undefined.
    #[inline]
    fn scale(a: &Self, b: &Self) -> Self {
        if b.is_exact_zero() { Self::zero() } else { a * b }
    }

    /// Returns `a`, but zero where `b` is exactly zero, even if `a` is infinite or undefined.
    #[inline]
    fn guard(a: &Self, b: &Self) -> Self {
        if b.is_exact_zero() { Self::zero() } else { a.clone() }
    }

    /// Returns the sum of many terms, from left to right.
    fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        terms.into_iter().fold(Self::zero(), |s, t| s + t)
    }
}

/// A ring with complex conjugation. On real numbers it does nothing.
pub trait Conj: Ring {
    /// Returns the complex conjugate.
    #[must_use]
    fn conj(&self) -> Self;
}

/// A field with the elementary functions: what rules and engines need.
///
/// Multivalued functions of a complex number take the principal value with the branch cuts of
/// C99 (Annex G): `ln`, `sqrt`, `pow` and `cbrt` along the negative real axis; `asin`, `acos`,
/// `atanh` along the real axis outside [-1, 1]; `atan` and `asinh` along the imaginary axis outside
/// [-i, i]; `acosh` along the real axis below 1. On a cut the sign of a zero decides the side. A
/// real number outside a function's real domain gives NaN, as `f64` does.
pub trait Scalar:
    Conj
    + Div<Output = Self>
    + DivAssign
    + for<'a> Div<&'a Self, Output = Self>
    + for<'a> Implies<&'a Self, Is: RefDiv<'a, Self>>
{
    /// The real numbers of this type: `T` for `Complex<T>`, the type itself for a real one.
    type Real: Real;

    /// Returns the number `re + 0 i`.
    fn from_real(re: Self::Real) -> Self;
    /// Returns the number `re + im i`. A real type has it only where `im` is exactly zero,
    /// derivatives included; otherwise `None`. So `from_parts(z.re(), z.im())` is `z` for every
    /// number, and `from_parts(x, 0)` is [`from_real`](Scalar::from_real) `(x)`.
    ///
    /// ```
    /// use ketgrad_core::scalar::Scalar;
    /// use num_complex::Complex;
    ///
    /// assert_eq!(Complex::from_parts(1.0, 2.0), Some(Complex::new(1.0, 2.0)));
    /// assert_eq!((f64::from_parts(1.0, 0.0), f64::from_parts(1.0, 2.0)), (Some(1.0), None));
    /// ```
    fn from_parts(re: Self::Real, im: Self::Real) -> Option<Self> {
        vanishes(&im).then(|| Self::from_real(re))
    }
    /// Returns the real part.
    fn re(&self) -> Self::Real;
    /// Returns the imaginary part; zero for a real type.
    fn im(&self) -> Self::Real;
    /// Returns the squared modulus `re^2 + im^2`.
    fn abs2(&self) -> Self::Real;
    /// Returns the nearest number to `x`. Use [`Scalar::ratio`] for anything rational.
    fn lit(x: f64) -> Self;
    /// Returns a literal of a program: the number that the shortest decimal which reads as `x` is.
    /// A type of more digits than `f64` reads that decimal, so that `0.1` is a tenth; for all
    /// others it is `x`.
    fn literal(x: f64) -> Self {
        Self::lit(x)
    }
    /// Computes `n / d`, exact where the type can be.
    fn ratio(n: i64, d: i64) -> Self;
    /// Returns `n`, exact where the type can be.
    fn int(n: i64) -> Self {
        Self::ratio(n, 1)
    }

    /// Computes `1 / x`.
    #[must_use]
    fn recip(&self) -> Self;
    /// Returns the principal square root.
    #[must_use]
    fn sqrt(&self) -> Self;
    /// Returns the cube root: real for a real number of either sign, the principal value for a
    /// complex one.
    #[must_use]
    fn cbrt(&self) -> Self;
    /// Computes `e^x`.
    #[must_use]
    fn exp(&self) -> Self;
    /// Computes `e^x - 1` without cancellation near 0.
    #[must_use]
    fn exp_m1(&self) -> Self;
    /// Returns the natural logarithm.
    #[must_use]
    fn ln(&self) -> Self;
    /// Computes `ln(1 + x)` without cancellation near 0.
    #[must_use]
    fn ln_1p(&self) -> Self;
    /// Returns the logarithm to base 2.
    #[must_use]
    fn log2(&self) -> Self;
    /// Returns the logarithm to base 10.
    #[must_use]
    fn log10(&self) -> Self;
    /// Returns the sine; the argument is in radians.
    #[must_use]
    fn sin(&self) -> Self;
    /// Returns the cosine; the argument is in radians.
    #[must_use]
    fn cos(&self) -> Self;
    /// Returns the tangent; the argument is in radians.
    #[must_use]
    fn tan(&self) -> Self;
    /// Returns the inverse sine.
    #[must_use]
    fn asin(&self) -> Self;
    /// Returns the inverse cosine.
    #[must_use]
    fn acos(&self) -> Self;
    /// Returns the inverse tangent.
    #[must_use]
    fn atan(&self) -> Self;
    /// Returns the hyperbolic sine.
    #[must_use]
    fn sinh(&self) -> Self;
    /// Returns the hyperbolic cosine.
    #[must_use]
    fn cosh(&self) -> Self;
    /// Returns the hyperbolic tangent.
    #[must_use]
    fn tanh(&self) -> Self;
    /// Returns the inverse hyperbolic sine.
    #[must_use]
    fn asinh(&self) -> Self;
    /// Returns the inverse hyperbolic cosine.
    #[must_use]
    fn acosh(&self) -> Self;
    /// Returns the inverse hyperbolic tangent.
    #[must_use]
    fn atanh(&self) -> Self;
    /// Replaces every number by its exponential. Floats take a polynomial, several at a time: right
    /// to two units in the last place, the same on every machine and wherever a number is stored,
    /// but perhaps another neighbour of the right value than [`exp`](Scalar::exp). So are the other
    /// functions of this kind, sines and cosines of any size too.
    fn exp_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.exp());
    }
    /// Replaces every number `x` by `e^x - 1`, as [`exp_all`](Scalar::exp_all).
    fn exp_m1_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.exp_m1());
    }
    /// Replaces every number by its natural logarithm, as [`exp_all`](Scalar::exp_all).
    fn ln_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.ln());
    }
    /// Replaces every number by its logarithm to base 2, as [`exp_all`](Scalar::exp_all).
    fn log2_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.log2());
    }
    /// Replaces every number by its logarithm to base 10, as [`exp_all`](Scalar::exp_all).
    fn log10_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.log10());
    }
    /// Replaces every number by its cube root, as [`exp_all`](Scalar::exp_all).
    fn cbrt_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.cbrt());
    }
    /// Replaces every number `x` by the natural logarithm of `1 + x`, as
    /// [`exp_all`](Scalar::exp_all).
    fn ln_1p_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.ln_1p());
    }
    /// Replaces every number by its sine, as [`exp_all`](Scalar::exp_all).
    fn sin_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.sin());
    }
    /// Replaces every number by its cosine, as [`exp_all`](Scalar::exp_all).
    fn cos_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.cos());
    }
    /// Replaces every number by its tangent, as [`exp_all`](Scalar::exp_all).
    fn tan_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.tan());
    }
    /// Replaces every number by its inverse sine, as [`exp_all`](Scalar::exp_all).
    fn asin_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.asin());
    }
    /// Replaces every number by its inverse cosine, as [`exp_all`](Scalar::exp_all).
    fn acos_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.acos());
    }
    /// Replaces every number by its inverse tangent, as [`exp_all`](Scalar::exp_all).
    fn atan_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.atan());
    }
    /// Replaces every number by its hyperbolic sine, as [`exp_all`](Scalar::exp_all).
    fn sinh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.sinh());
    }
    /// Replaces every number by its hyperbolic cosine, as [`exp_all`](Scalar::exp_all).
    fn cosh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.cosh());
    }
    /// Replaces every number by its hyperbolic tangent, as [`exp_all`](Scalar::exp_all).
    fn tanh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.tanh());
    }
    /// Replaces every number by its inverse hyperbolic sine, as [`exp_all`](Scalar::exp_all).
    fn asinh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.asinh());
    }
    /// Replaces every number by its inverse hyperbolic cosine, as [`exp_all`](Scalar::exp_all).
    fn acosh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.acosh());
    }
    /// Replaces every number by its inverse hyperbolic tangent, as [`exp_all`](Scalar::exp_all).
    fn atanh_all(numbers: &mut [Self]) {
        numbers.iter_mut().for_each(|x| *x = x.atanh());
    }
    /// Replaces every number `x` by `x^y`, of as many exponents or one for all, as
    /// [`exp_all`](Scalar::exp_all).
    fn pow_all(numbers: &mut [Self], exponents: &[Self]) {
        match exponents {
            [y] => numbers.iter_mut().for_each(|x| *x = x.pow(y)),
            all => numbers.iter_mut().zip(all).for_each(|(x, y)| *x = x.pow(y)),
        }
    }

    /// Computes `a / b`; on complex types also where the square of `b` leaves the range of the
    /// floats.
    #[must_use]
    fn quotient(&self, other: &Self) -> Self {
        self / other
    }
    /// Computes `x^n` by an integer; `x^0 = 1` also at 0.
    #[must_use]
    fn powi(&self, n: i64) -> Self;
    /// Computes `x^y`: on real types as `f64::powf`, on complex ones `exp(y ln x)` with `0^0 = 1`.
    #[must_use]
    fn pow(&self, y: &Self) -> Self;
}

/// Returns true if numbers have single precision.
#[doc(hidden)]
pub fn is_single<T: Real>() -> bool {
    T::lit(1.0 + f64::EPSILON).is_exact_one()
}

/// [`Ring::is_exact_zero`] for a real type that is not named: see the module's note on `S::Real`.
fn vanishes<T: Real>(x: &T) -> bool {
    x.is_exact_zero()
}

/// A comparison that cannot be answered while the program runs: a symbol has no value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot compare a {kind} while the program runs: its value is not known")]
#[non_exhaustive]
pub struct Undecided {
    /// Kind of the number that was compared.
    pub kind: &'static str,
    /// Lanes that answer as the first does, of a number with several [`Lanes`], bit k for lane k. 0
    /// if that is not known.
    pub agreeing: u64,
}

impl Undecided {
    /// Returns an answer for numbers of the given kind, such as "symbolic expression".
    #[must_use]
    pub fn new(kind: &'static str) -> Undecided {
        Undecided { kind, agreeing: 0 }
    }
}

/// The real scalars.
///
/// The supertrait `NumAssign` exists for num_complex alone: its operators ask for it.
pub trait Real: Scalar<Real = Self> + NumAssign {
    /// The order of the derivatives that it carries: products of more of what it has
    /// [beyond](Real::beyond) its value are zero.
    const ORDER: usize = 0;
    /// Returns the circle constant.
    fn pi() -> Self;
    /// Returns the angle of the point (x, self) in (-pi, pi].
    #[must_use]
    fn atan2(&self, x: &Self) -> Self;
    /// Computes `sqrt(self^2 + y^2)` without overflow in between.
    #[must_use]
    fn hypot(&self, y: &Self) -> Self;
    /// Computes `self / y`, but 0 where both are 0. What the numbers carry besides has no quotient
    /// there: it is infinite or NaN, unless it is zero.
    #[must_use]
    fn over(&self, y: &Self) -> Self {
        slope::over(self, y)
    }
    /// Returns the error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to x. This
    /// and the other special functions of a type that does not say otherwise are those of its plain
    /// number, and NaN where it carries more.
    #[must_use]
    fn erf(&self) -> Self {
        special::plain::erf(self)
    }
    /// Computes `1 - erf(x)`, accurate where that is small.
    #[must_use]
    fn erfc(&self) -> Self {
        special::plain::erfc(self)
    }
    /// Computes `ln |Gamma(x)|`
    #[must_use]
    fn lgamma(&self) -> Self {
        special::plain::lgamma(self)
    }
    /// Returns the n-th derivative of `digamma(x)`, which is the derivative of `ln |Gamma(x)|`; NaN
    /// for orders below 0 and beyond 2048. At a pole the infinity of both sides, at 0 that of its
    /// side, else NaN.
    #[must_use]
    fn polygamma(&self, n: i64) -> Self {
        special::plain::polygamma(self, n)
    }
    /// Returns the logistic function `1 / (1 + e^-x)`.
    #[must_use]
    fn sigmoid(&self) -> Self {
        special::plain::sigmoid(self)
    }
    /// Computes `ln(1 + e^x)` without overflow.
    #[must_use]
    fn softplus(&self) -> Self {
        special::plain::softplus(self)
    }
    /// Computes `ln(e^x + e^y)` without overflow.
    #[must_use]
    fn logaddexp(&self, y: &Self) -> Self {
        special::plain::logaddexp(self, y)
    }
    /// Sine and cosine together.
    fn sin_cos(&self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
    /// Returns the plain number of a dual or an uncertain one; `None` for a symbol.
    fn primal(&self) -> Option<f64>;
    /// Returns a power of two near `1 / max(|x|, |y|)`, by which products are exact: 1 for zeros
    /// and what is not finite; `None` for symbols.
    fn inverse_size(&self, other: &Self) -> Option<Self> {
        let size = self.primal()?.abs().max(other.primal()?.abs());
        Some(Self::lit(power::inverse_power_of_two(size)))
    }
    /// Returns what the number has besides its plain number: `self` less its
    /// [`primal`](Real::primal), so all of a symbol. Derivatives and errors are left of an infinite
    /// number too, where a difference would be NaN.
    #[must_use]
    fn beyond(&self) -> Self {
        match self.primal() {
            Some(plain) => self.clone() - Self::lit(plain),
            None => self.clone(),
        }
    }
    /// Returns the first derivatives along the directions that the number carries derivatives
    /// along, as plain numbers; NaN for one without a value. Those at the end may be missing if
    /// they are zero.
    fn first_derivatives(&self) -> Vec<f64> {
        Vec::new()
    }
    /// Returns the value as a constant, without what is carried beside it; zero where it is
    /// infinite, undefined or not known. A number type of more digits than `f64` overrides this and
    /// [`beyond`](Real::beyond), so that they are not lost.
    #[must_use]
    fn finite_value(&self) -> Self {
        Self::lit(self.primal().filter(|x| x.is_finite()).unwrap_or(0.0))
    }
    /// Compares by value, `Ok(None)` where one is NaN.
    ///
    /// # Errors
    /// [`Undecided`] where a number has no value yet.
    fn try_cmp(&self, other: &Self) -> Result<Option<Ordering>, Undecided>;
    /// Replaces every number `x` by `hypot(x, y)`, of as many others or one for all, as
    /// [`exp_all`](Scalar::exp_all).
    fn hypot_all(numbers: &mut [Self], others: &[Self]) {
        match others {
            [y] => numbers.iter_mut().for_each(|x| *x = x.hypot(y)),
            all => numbers.iter_mut().zip(all).for_each(|(x, y)| *x = x.hypot(y)),
        }
    }
    /// Replaces every number `y` by the angle of the point `(x, y)`, of as many others or one for
    /// all, as [`exp_all`](Scalar::exp_all).
    fn atan2_all(numbers: &mut [Self], others: &[Self]) {
        match others {
            [x] => numbers.iter_mut().for_each(|y| *y = y.atan2(x)),
            all => numbers.iter_mut().zip(all).for_each(|(y, x)| *y = y.atan2(x)),
        }
    }
    /// Replaces each number by that of `others` in its place where that one is greater.
    ///
    /// # Errors
    /// [`Undecided`] where a number has no value yet.
    fn raise(numbers: &mut [Self], others: &[Self]) -> Result<(), Undecided> {
        for (m, x) in numbers.iter_mut().zip(others) {
            if x.try_cmp(m)? == Some(Ordering::Greater) {
                m.clone_from(x);
            }
        }
        Ok(())
    }
    /// Computes two operations one after the other for each number of `out`, on those in its place
    /// in three lists; a list of one number gives the same for all. Each is rounded by itself.
    fn twice_all(twice: Twice, x: [&[Self]; 3], out: &mut [Self]) {
        twice::plain(twice, x, out);
    }
    /// Computes a function made of pieces for each number of `out`, of those in its place in two
    /// lists; a list of one number gives the same for all.
    ///
    /// # Errors
    /// [`Undecided`] where a number has no value yet.
    fn piece_all(f: Piece, x: [&[Self]; 2], out: &mut [Self]) -> Result<(), Undecided> {
        pieces::plain(f, x, out)
    }
    /// Returns an exact fraction.
    fn from_ratio(q: Ratio<i64>) -> Self {
        Self::ratio(*q.numer(), *q.denom())
    }
}

/// Reals that can decide a comparison now. Symbols are not among them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot decide a comparison while it runs",
    note = "symbols have no order: use `select` in a program, or bind values first"
)]
pub trait Ordered: Real {
    /// Compares by value; `None` where one is NaN.
    fn cmp_primal(&self, other: &Self) -> Option<Ordering>;

    /// Returns `yes` if the condition holds, else `no`.
    #[must_use]
    fn select(condition: bool, yes: &Self, no: &Self) -> Self {
        if condition { yes.clone() } else { no.clone() }
    }
    /// Returns the greater one; `self` at a tie.
    #[must_use]
    fn max(&self, other: &Self) -> Self {
        Self::select(self.cmp_primal(other) != Some(Ordering::Less), self, other)
    }
    /// Returns the lesser one; `self` at a tie.
    #[must_use]
    fn min(&self, other: &Self) -> Self {
        Self::select(self.cmp_primal(other) != Some(Ordering::Greater), self, other)
    }
}
