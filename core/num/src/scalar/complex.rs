//! `Complex<T>` over every real scalar `T`: plain floats, duals, numbers with uncertainty, symbols.
//!
//! # How the formulas are chosen
//! - Each is an identity of real-analytic functions of the two parts, so on a `T` that carries
//!   derivatives it gives the right derivatives away from branch points.
//! - Where accuracy or the side of a branch cut needs a decision, it is taken on [`Real::primal`],
//!   and every alternative is a correct formula; a number whose value is not known takes one that
//!   needs no decision.
//! - The branch cuts and the signs of zeros on them are those of C99, Annex G. Infinite parts
//!   follow the formulas.
//!
//! ```
//! use ketgrad_core::scalar::Scalar;
//! use num_complex::Complex;
//! use num_dual::Dual64;
//!
//! // On the cut of the square root the sign of the zero decides the side.
//! assert_eq!(Scalar::sqrt(&Complex::new(-4.0, 0.0)), Complex::new(0.0, 2.0));
//! assert_eq!(Scalar::sqrt(&Complex::new(-4.0, -0.0)), Complex::new(0.0, -2.0));
//!
//! // sqrt(z) at z = -4 has the derivative 1/(2 sqrt(z)) = -i/4.
//! let z = Complex::new(Dual64::new(-4.0, 1.0), Dual64::new(0.0, 0.0));
//! let w = Scalar::sqrt(&z);
//! assert_eq!((w.re.eps, w.im.eps), (0.0, -0.25));
//! ```
//!
//! Sources: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's
//! sign bit" (1987), for the inverse functions; ISO C99, Annex G, for the cuts.

use num_complex::Complex;

use num_traits::One;

use super::{Conj, Real, Ring, Scalar, slope};

impl<T: Real> Ring for Complex<T> {
    const PARALLEL: bool = T::PARALLEL;
    const WIDE: bool = T::WIDE;
    const COMPILED: bool = T::COMPILED;
    fn is_exact_zero(&self) -> bool {
        self.re.is_exact_zero() && self.im.is_exact_zero()
    }
}

impl<T: Real> Conj for Complex<T> {
    fn conj(&self) -> Self {
        Complex::new(self.re.clone(), -&self.im)
    }
}

impl<T: Real> Scalar for Complex<T> {
    type Real = T;

    fn from_real(re: T) -> Self {
        Complex::new(re, T::zero())
    }
    #[inline]
    fn from_parts(re: T, im: T) -> Option<Self> {
        Some(Complex::new(re, im))
    }
    fn re(&self) -> T {
        self.re.clone()
    }
    fn im(&self) -> T {
        self.im.clone()
    }
    fn abs2(&self) -> T {
        T::dot2(&self.re, &self.re, &self.im, &self.im)
    }
    fn lit(x: f64) -> Self {
        Self::from_real(T::lit(x))
    }
    fn literal(x: f64) -> Self {
        Self::from_real(T::literal(x))
    }
    fn ratio(n: i64, d: i64) -> Self {
        Self::from_real(T::ratio(n, d))
    }

    /// Computes `conj(z) / |z|^2`; where the square leaves the range of the floats, divided twice
    /// by `|z|`.
    fn recip(&self) -> Self {
        let square = self.abs2();
        let r = modulus(self);
        match square.primal() {
            Some(s) if !s.is_normal() => Conj::conj(self) / r.clone() / r,
            _ => Conj::conj(self) / square,
        }
    }

    /// Both are first divided by the size of the divisor, as a power of two: this rounds nothing.
    fn quotient(&self, other: &Self) -> Self {
        match other.re.inverse_size(&other.im) {
            Some(s) => {
                Complex::new(&self.re * &s, &self.im * &s)
                    / Complex::new(&other.re * &s, &other.im * &s)
            }
            None => self / other,
        }
    }

    /// The half plane decides which part is computed from a sum without cancellation; the other one
    /// follows from `2 re im = y`. Undecided, and at 0: half the angle. At 0 the derivative is
    /// infinite along the real axis and NaN in other directions.
    fn sqrt(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let half = T::ratio(1, 2);
        let (Some(side), Some(sign)) = (x.primal(), y.primal()) else {
            return polar(&modulus(self).sqrt(), &(y.atan2(x) * half));
        };
        if y.is_exact_zero() {
            return match (side >= 0.0, sign.is_sign_negative()) {
                (true, _) => Complex::new(x.sqrt(), y.clone()),
                (false, false) => Complex::new(T::zero(), (-x).sqrt()),
                (false, true) => Complex::new(T::zero(), -(-x).sqrt()),
            };
        }
        if side == 0.0 && sign == 0.0 {
            return polar(&modulus(self).sqrt(), &(y.atan2(x) * half));
        }
        let r = modulus(self) * &half;
        if side >= 0.0 {
            let re = (r + x * &half).sqrt();
            let im = y * half / &re;
            Complex::new(re, im)
        } else {
            let im = (r - x * &half).sqrt();
            let im = if sign.is_sign_negative() { -im } else { im };
            let re = y * half / &im;
            Complex::new(re, im)
        }
    }

    /// A third of the angle.
    fn cbrt(&self) -> Self {
        polar(&modulus(self).cbrt(), &(self.im.atan2(&self.re) * T::ratio(1, 3)))
    }

    /// Computes `e^x (cos y + i sin y)`.
    fn exp(&self) -> Self {
        polar(&self.re.exp(), &self.im)
    }

    /// `(e^x - 1) cos y - 2 sin^2(y/2) + i e^x sin y`; far left, where `e^z` is small, `e^z - 1`.
    fn exp_m1(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        if x.primal().is_some_and(|p| p < -0.5) {
            return Scalar::exp(self) - T::one();
        }
        let s = (y * T::ratio(1, 2)).sin();
        Complex::new(x.exp_m1() * y.cos() - &s * &s * T::int(2), damp(&y.sin(), &x.exp()))
    }

    /// Computes `ln |z| + i arg z`; near the unit circle `ln |z|` is `ln(1 + (|z|^2 - 1)) / 2`.
    fn ln(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let (r, arg) = (modulus(self), y.atan2(x));
        let ln_r = match (r.primal(), x.primal(), y.primal()) {
            (Some(r), Some(a), Some(b)) if NEAR_CIRCLE.contains(&r) => {
                let (big, small) = if a.abs() >= b.abs() { (x, y) } else { (y, x) };
                let excess = (big - T::one()) * (big + T::one()) + small * small;
                excess.ln_1p() * T::ratio(1, 2)
            }
            // No more derivatives at the pole than the angle has.
            (Some(0.0), ..) => r.ln() + &arg * T::zero(),
            _ => r.ln(),
        };
        Complex::new(ln_r, arg)
    }

    /// Computes `ln(1 + x(2 + x) + y^2) / 2 + i arg(1 + z)` near 0, else `ln(1 + z)`.
    fn ln_1p(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let shifted = Complex::new(T::one() + x, y.clone());
        match (x.primal(), y.primal()) {
            (Some(a), Some(b)) if a.abs().max(b.abs()) > 0.5 => Scalar::ln(&shifted),
            _ => {
                let excess = x * (T::int(2) + x) + y * y;
                Complex::new(excess.ln_1p() * T::ratio(1, 2), y.atan2(&shifted.re))
            }
        }
    }

    fn log2(&self) -> Self {
        Scalar::ln(self) / T::int(2).ln()
    }
    fn log10(&self) -> Self {
        Scalar::ln(self) / T::int(10).ln()
    }

    /// Computes `sin x cosh y + i cos x sinh y`.
    fn sin(&self) -> Self {
        let (s, c) = self.re.sin_cos();
        Complex::new(damp(&s, &self.im.cosh()), c * self.im.sinh())
    }
    /// Computes `cos x cosh y - i sin x sinh y`.
    fn cos(&self) -> Self {
        let (s, c) = self.re.sin_cos();
        Complex::new(c * self.im.cosh(), -damp(&s, &self.im.sinh()))
    }
    /// `-i tanh(iz)`.
    fn tan(&self) -> Self {
        over_i(Scalar::tanh(&times_i(self)))
    }

    /// Kahan's formula, with `atan2` so that derivatives exist on the cuts.
    fn asin(&self) -> Self {
        let (p, q) = (sqrt_one_minus(self), sqrt_one_plus(self));
        Complex::new(
            self.re.atan2(&(&p.re * &q.re - &p.im * &q.im)),
            (&p.re * &q.im - &p.im * &q.re).asinh(),
        )
    }
    /// Kahan's formula.
    fn acos(&self) -> Self {
        let (p, q) = (sqrt_one_minus(self), sqrt_one_plus(self));
        Complex::new(p.re.atan2(&q.re) * T::int(2), (&q.re * &p.im - &q.im * &p.re).asinh())
    }
    /// `-i atanh(iz)`.
    fn atan(&self) -> Self {
        over_i(Scalar::atanh(&times_i(self)))
    }

    /// Computes `sinh x cos y + i cosh x sin y`.
    fn sinh(&self) -> Self {
        let (s, c) = self.im.sin_cos();
        Complex::new(self.re.sinh() * c, damp(&s, &self.re.cosh()))
    }
    /// Computes `cosh x cos y + i sinh x sin y`.
    fn cosh(&self) -> Self {
        let (s, c) = self.im.sin_cos();
        Complex::new(self.re.cosh() * c, damp(&s, &self.re.sinh()))
    }
    /// With `e = exp(-2|x|)`: `(sgn(x) (1 - e^2) + 4i e sin y cos y) / ((1 - e)^2 + 4 e cos^2 y)`.
    /// It holds with either sign, so nothing depends on the sign being known; the right one cannot
    /// overflow.
    fn tanh(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let sign = sign_of(x);
        let exponent = x * T::int(-2) * &sign;
        let (e, defect) = (exponent.exp(), -exponent.exp_m1());
        let (s, c) = y.sin_cos();
        let four_e_cos = &e * &c * T::int(4);
        let denominator = &defect * &defect + &four_e_cos * &c;
        Complex::new(sign * defect * (T::one() + e), four_e_cos * s) / denominator
    }

    /// `-i asin(iz)`.
    fn asinh(&self) -> Self {
        over_i(Scalar::asin(&times_i(self)))
    }
    /// Kahan's formula.
    fn acosh(&self) -> Self {
        let p = Scalar::sqrt(&Complex::new(&self.re - T::one(), self.im.clone()));
        let q = sqrt_one_plus(self);
        Complex::new((&p.re * &q.re + &p.im * &q.im).asinh(), p.im.atan2(&q.re) * T::int(2))
    }
    /// Computes
    /// `sgn(x) ln(1 + 4|x| / ((1 - |x|)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2`; the
    /// first part holds with either sign, the right one does not cancel.
    fn atanh(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let sign = sign_of(x);
        let size = x * &sign;
        let distance = (T::one() - &size).hypot(y);
        let ratio = size * T::int(4) / &distance / distance;
        let cosine = (T::one() - x) * (T::one() + x) - y * y;
        Complex::new(
            sign * ratio.ln_1p() * T::ratio(1, 4),
            (y * T::int(2)).atan2(&cosine) * T::ratio(1, 2),
        )
    }

    /// By repeated squaring, O(log n); of the reciprocal where `z^-n` leaves the range of the
    /// floats. NaN for a negative power of 0.
    fn powi(&self, n: i64) -> Self {
        let power = product(self, n.unsigned_abs());
        let finite = |x: &T| x.primal().is_none_or(f64::is_finite);
        match n < 0 {
            true if finite(&power.re) && finite(&power.im) => Scalar::recip(&power),
            true => product(&Scalar::recip(self), n.unsigned_abs()),
            false => power,
        }
    }

    /// Computes `exp(w ln z)`; by repeated squaring where `w` is an integer constant. `0^0 = 1`,
    /// and `0^w = 0` for `Re w > 0`.
    fn pow(&self, w: &Self) -> Self {
        if let Some(n) = integer_constant(w) {
            return Scalar::powi(self, n);
        }
        match (self.re.primal(), self.im.primal(), w.re.primal()) {
            (Some(0.0), Some(0.0), Some(p)) if p > 0.0 => {
                let p = T::lit(slope::power_at_zero(p));
                Complex::new(self.re.pow(&p), self.im.pow(&p))
            }
            _ => Scalar::exp(&(Scalar::ln(self) * w)),
        }
    }
}

/// The moduli where `ln |z|` is computed from `|z|^2 - 1`.
const NEAR_CIRCLE: std::ops::Range<f64> = 0.5..2.0;

/// Computes `z^n`; if `n` is 1 that is `z` itself, with infinite parts and signs of zeros.
fn product<T: Real>(z: &Complex<T>, mut n: u64) -> Complex<T> {
    let (mut power, mut square) = (None, z.clone());
    while n > 0 {
        if n % 2 == 1 {
            power = Some(match power {
                Some(power) => power * square.clone(),
                None => square.clone(),
            });
        }
        n /= 2;
        if n > 0 {
            square = &square * &square;
        }
    }
    power.unwrap_or_else(Complex::one)
}

/// `|z|`.
fn modulus<T: Real>(z: &Complex<T>) -> T {
    z.re.hypot(&z.im)
}

/// Computes `r (cos angle + i sin angle)`.
fn polar<T: Real>(r: &T, angle: &T) -> Complex<T> {
    let (s, c) = angle.sin_cos();
    Complex::new(r * c, damp(&s, r))
}

/// Computes `s h`, and a zero where `s` is exactly zero, even if `h` overflowed: on the real axis
/// the imaginary part of a function that is real there stays a zero with its sign.
fn damp<T: Real>(s: &T, h: &T) -> T {
    if s.is_exact_zero() { s * sign_of(h) } else { s * h }
}

/// Computes `i z`, which keeps the signs of zeros, as a product does not.
fn times_i<T: Real>(z: &Complex<T>) -> Complex<T> {
    Complex::new(-&z.im, z.re.clone())
}

/// `-i z`, which keeps the signs of zeros, as a product does not.
fn over_i<T: Real>(z: Complex<T>) -> Complex<T> {
    Complex::new(z.im, -z.re)
}

/// Computes `sqrt(1 - z)`; the imaginary part is `-y`, not `0 - y`, for the sign of a zero.
fn sqrt_one_minus<T: Real>(z: &Complex<T>) -> Complex<T> {
    Scalar::sqrt(&Complex::new(T::one() - &z.re, -&z.im))
}

/// Computes `sqrt(1 + z)`; the imaginary part is `y`, not `0 + y`, for the sign of a zero.
fn sqrt_one_plus<T: Real>(z: &Complex<T>) -> Complex<T> {
    Scalar::sqrt(&Complex::new(T::one() + &z.re, z.im.clone()))
}

/// Returns the constant 1 or -1 with the sign of `x`; 1 where it is not known.
fn sign_of<T: Real>(x: &T) -> T {
    T::int(if x.primal().is_some_and(f64::is_sign_negative) { -1 } else { 1 })
}

/// Returns the integer that `w` is, if it is one, carries no derivative and fits.
fn integer_constant<T: Real>(w: &Complex<T>) -> Option<i64> {
    let p = w.re.primal()?;
    let n = num_traits::cast::<f64, i32>(p).map(i64::from)?;
    let integer = w.im.is_exact_zero() && (&w.re - T::int(n)).is_exact_zero();
    integer.then_some(n)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use num_complex::Complex;
    use num_traits::{One, Zero};

    use crate::scalar::{Conj, Real, Ring, Scalar, Undecided};

    /// A real number that answers no question about its value, as a symbol would.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct OpaqueReal(f64);

    ring_ops!(OpaqueReal {
        Add add AddAssign add_assign = |x: &OpaqueReal, y: &OpaqueReal| OpaqueReal(x.0 + y.0);
        Sub sub SubAssign sub_assign = |x: &OpaqueReal, y: &OpaqueReal| OpaqueReal(x.0 - y.0);
        Mul mul MulAssign mul_assign = |x: &OpaqueReal, y: &OpaqueReal| OpaqueReal(x.0 * y.0);
        Div div DivAssign div_assign = |x: &OpaqueReal, y: &OpaqueReal| OpaqueReal(x.0 / y.0);
        Rem rem RemAssign rem_assign = |x: &OpaqueReal, y: &OpaqueReal| OpaqueReal(x.0 % y.0);
        - = |x: &OpaqueReal| OpaqueReal(-x.0);
    });
    num_for_complex!(OpaqueReal);
    impl Zero for OpaqueReal {
        fn zero() -> OpaqueReal {
            OpaqueReal(0.0)
        }
        fn is_zero(&self) -> bool {
            self.is_exact_zero()
        }
    }
    impl One for OpaqueReal {
        fn one() -> OpaqueReal {
            OpaqueReal(1.0)
        }
    }
    impl Ring for OpaqueReal {
        fn is_exact_zero(&self) -> bool {
            false
        }
    }
    impl Conj for OpaqueReal {
        fn conj(&self) -> OpaqueReal {
            *self
        }
    }
    macro_rules! hidden {
        ($($f:ident)*) => {$( fn $f(&self) -> OpaqueReal { OpaqueReal(self.0.$f()) } )*};
    }
    impl Scalar for OpaqueReal {
        type Real = OpaqueReal;
        fn from_real(re: OpaqueReal) -> OpaqueReal {
            re
        }
        fn re(&self) -> OpaqueReal {
            *self
        }
        fn im(&self) -> OpaqueReal {
            OpaqueReal(0.0)
        }
        fn abs2(&self) -> OpaqueReal {
            OpaqueReal(self.0 * self.0)
        }
        fn lit(x: f64) -> OpaqueReal {
            OpaqueReal(x)
        }
        fn ratio(n: i64, d: i64) -> OpaqueReal {
            OpaqueReal(f64::ratio(n, d))
        }
        fn powi(&self, n: i64) -> OpaqueReal {
            OpaqueReal(Scalar::powi(&self.0, n))
        }
        fn pow(&self, y: &OpaqueReal) -> OpaqueReal {
            OpaqueReal(self.0.powf(y.0))
        }
        unary_functions!(hidden);
    }
    impl Real for OpaqueReal {
        fn pi() -> OpaqueReal {
            OpaqueReal(f64::pi())
        }
        fn atan2(&self, x: &OpaqueReal) -> OpaqueReal {
            OpaqueReal(self.0.atan2(x.0))
        }
        fn hypot(&self, y: &OpaqueReal) -> OpaqueReal {
            OpaqueReal(self.0.hypot(y.0))
        }
        fn primal(&self) -> Option<f64> {
            None
        }
        fn try_cmp(&self, _: &OpaqueReal) -> Result<Option<Ordering>, Undecided> {
            Err(Undecided::new("hidden number"))
        }
    }

    /// Relative error of the formulas without decisions by cancellation at these points.
    const UNDECIDED: f64 = 1e-13;

    macro_rules! compare {
        ($($f:ident)*) => {$(
            for (x, y) in POINTS {
                let w = Scalar::$f(&Complex::new(OpaqueReal(x), OpaqueReal(y)));
                let reference = Scalar::$f(&Complex::new(x, y));
                let error = (w.re.0 - reference.re).hypot(w.im.0 - reference.im);
                let size = reference.re.hypot(reference.im).max(1.0);
                assert!(error <= UNDECIDED * size, "{}({x} + {y}i) = {w:?}, not {reference}", stringify!($f));
            }
        )*};
    }

    /// All quadrants, inside and outside the unit circle, both sides of each cut, and near zero.
    const POINTS: [(f64, f64); 16] = [
        (0.5, 0.25),
        (-0.5, 0.25),
        (-0.5, -0.25),
        (0.5, -0.25),
        (1.5, 2.5),
        (-1.5, 2.5),
        (-1.5, -2.5),
        (1.5, -2.5),
        (-4.0, 0.0),
        (-4.0, -0.0),
        (4.0, 0.0),
        (4.0, -0.0),
        (0.0, 3.0),
        (-0.0, -3.0),
        (1e-3, -1e-3),
        (-6.0, 0.1),
    ];

    #[test]
    fn formulas_without_decisions_are_right() {
        unary_functions!(compare);
        for (x, y) in POINTS {
            let w = Complex::new(0.5, -1.25);
            let power = Scalar::pow(
                &Complex::new(OpaqueReal(x), OpaqueReal(y)),
                &Complex::new(OpaqueReal(w.re), OpaqueReal(w.im)),
            );
            let reference = Scalar::pow(&Complex::new(x, y), &w);
            assert!(
                (power.re.0 - reference.re).hypot(power.im.0 - reference.im) <= UNDECIDED * 100.0
            );
        }
        let zero = Scalar::sqrt(&Complex::new(OpaqueReal(0.0), OpaqueReal(0.0)));
        assert_eq!(zero, Complex::new(OpaqueReal(0.0), OpaqueReal(0.0)));
    }
}
