//! Exact constants `q sqrt(n) pi^k` and, beside them, floats.
//!
//! `q` is a fraction of 64-bit integers, `n` a positive square-free integer, `k` 0 or 1. Gates and
//! derivatives have such constants: 1/2, 1/sqrt 2, pi/4. Operations are exact or give `None`; then
//! the operation is kept as it is. A float that is a fraction whose denominator is a small power of
//! two (0.5, 3.0) is exact; any other (0.1, NaN, infinity) stays a float and is computed with when
//! the program runs.

use std::cmp::Ordering;

use num_integer::gcd;
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul};

use crate::ir::Number1;

/// A fraction.
type ExactFraction = Ratio<i64>;

/// A constant real number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Constant {
    /// `q sqrt(root) pi^pi`; zero is `0 sqrt(1)`.
    Exact { q: ExactFraction, root: i64, pi: bool },
    /// A float that is none of these.
    Float(f64),
}

/// Number of binary places up to which floats become fractions.
const PLACES: i32 = 30;
/// Largest number whose square factors are searched.
const MAX_RADICAND: i64 = 1 << 20;
/// The largest power that is multiplied out.
const MAX_POWER: u64 = 64;

impl Constant {
    pub(super) const ZERO: Constant = Constant::int(0);
    pub(super) const ONE: Constant = Constant::int(1);
    pub(super) const PI: Constant =
        Constant::Exact { q: ExactFraction::new_raw(1, 1), root: 1, pi: true };

    pub(super) const fn int(n: i64) -> Constant {
        Constant::Exact { q: ExactFraction::new_raw(n, 1), root: 1, pi: false }
    }

    fn rational(q: ExactFraction) -> Constant {
        Constant::scaled(q, 1, false)
    }

    fn scaled(q: ExactFraction, root: i64, pi: bool) -> Constant {
        if *q.numer() == 0 { Constant::ZERO } else { Constant::Exact { q, root, pi } }
    }

    /// Returns `n / d`; a float if that is no fraction.
    pub(super) fn ratio(n: i64, d: i64) -> Constant {
        if d == 0 || n == i64::MIN || d == i64::MIN {
            return Constant::Float(n as f64 / d as f64);
        }
        Constant::rational(ExactFraction::new(n, d))
    }

    pub(super) fn from_f64(x: f64) -> Constant {
        let scaled = x * f64::from(1 << PLACES);
        let exact =
            scaled.abs() < 9e15 && scaled.fract() == 0.0 && !(x == 0.0 && x.is_sign_negative());
        if exact { Constant::ratio(scaled as i64, 1 << PLACES) } else { integer(x) }
    }

    /// Returns the nearest float.
    pub(super) fn value(self) -> f64 {
        match self {
            Constant::Float(x) => x,
            Constant::Exact { q, root, pi } => {
                let x = *q.numer() as f64 / *q.denom() as f64 * (root as f64).sqrt();
                if pi { x * std::f64::consts::PI } else { x }
            }
        }
    }

    pub(super) fn is_zero(self) -> bool {
        match self {
            Constant::Exact { q, .. } => *q.numer() == 0,
            Constant::Float(x) => x == 0.0,
        }
    }

    pub(super) fn is_exact(self) -> bool {
        matches!(self, Constant::Exact { .. })
    }

    /// Returns the fraction, if it is one.
    pub(super) fn as_rational(self) -> Option<ExactFraction> {
        match self {
            Constant::Exact { q, root: 1, pi: false } => Some(q),
            _ => None,
        }
    }

    pub(super) fn is_int(self, n: i64) -> bool {
        self.as_rational().is_some_and(|q| *q.denom() == 1 && *q.numer() == n)
    }

    pub(super) fn is_negative(self) -> bool {
        match self {
            Constant::Exact { q, .. } => *q.numer() < 0,
            Constant::Float(x) => x.is_sign_negative(),
        }
    }

    /// Returns a key that is the same for the same number only.
    pub(super) fn key(self) -> [u64; 3] {
        match self {
            Constant::Exact { q, root, pi } => {
                [*q.numer() as u64, *q.denom() as u64, (root as u64) << 1 | u64::from(pi)]
            }
            Constant::Float(x) => [x.to_bits(), 0, 0],
        }
    }

    pub(super) fn neg(self) -> Constant {
        match self {
            Constant::Float(x) => Constant::Float(-x),
            Constant::Exact { q, root, pi } => match q.numer().checked_neg() {
                Some(n) => Constant::scaled(ExactFraction::new_raw(n, *q.denom()), root, pi),
                None => Constant::Float(-self.value()),
            },
        }
    }

    pub(super) fn add(self, other: Constant) -> Option<Constant> {
        if self.is_zero() && other.is_exact() {
            return Some(other);
        }
        if other.is_zero() && self.is_exact() {
            return Some(self);
        }
        match (self, other) {
            (Constant::Exact { q: a, root, pi }, Constant::Exact { q: b, root: r, pi: p })
                if root == r && pi == p =>
            {
                Some(Constant::scaled(a.checked_add(&b)?, root, pi))
            }
            _ => None,
        }
    }

    pub(super) fn mul(self, other: Constant) -> Option<Constant> {
        let (Constant::Exact { q: a, root: m, pi }, Constant::Exact { q: b, root: n, pi: p }) =
            (self, other)
        else {
            return None;
        };
        if self.is_zero() || other.is_zero() {
            return Some(Constant::ZERO);
        }
        if pi && p {
            return None;
        }
        // Of m and n without square factors: sqrt(m n) = g sqrt((m/g)(n/g)).
        let g = gcd(m, n);
        let q = a.checked_mul(&b)?.checked_mul(&ExactFraction::new_raw(g, 1))?;
        Some(Constant::scaled(q, (m / g).checked_mul(n / g)?, pi || p))
    }

    /// Returns `1 / self`; not of 0 and not of multiples of pi.
    pub(super) fn recip(self) -> Option<Constant> {
        let Constant::Exact { q, root, pi: false } = self else { return None };
        if self.is_zero() || *q.numer() == i64::MIN {
            return None;
        }
        Some(Constant::scaled(q.recip().checked_mul(&ExactFraction::new(1, root))?, root, false))
    }

    pub(super) fn div(self, other: Constant) -> Option<Constant> {
        match (self, other) {
            (
                Constant::Exact { q: a, root: m, pi: true },
                Constant::Exact { q: b, root: n, pi: true },
            ) => Constant::scaled(a, m, false).mul(Constant::scaled(b, n, false).recip()?),
            _ => self.mul(other.recip()?),
        }
    }

    pub(super) fn powi(self, n: i64) -> Option<Constant> {
        if n.unsigned_abs() > MAX_POWER {
            return None;
        }
        let power = (0..n.unsigned_abs()).try_fold(Constant::ONE, |p, _| p.mul(self))?;
        if n < 0 { power.recip() } else { Some(power) }
    }

    /// Returns `sqrt(a/b) = sqrt(a b) / b`.
    fn sqrt(self) -> Option<Constant> {
        let q = self.as_rational()?;
        let radicand = i64::checked_mul(*q.numer(), *q.denom())?;
        if !(0..=MAX_RADICAND).contains(&radicand) {
            return None;
        }
        if radicand == 0 {
            return Some(Constant::ZERO);
        }
        let (mut outside, mut root) = (1, radicand);
        let mut d = 2;
        while d * d <= root {
            if root % (d * d) == 0 {
                root /= d * d;
                outside *= d;
            } else {
                d += 1;
            }
        }
        Some(Constant::scaled(ExactFraction::new(outside, *q.denom()), root, false))
    }

    /// Returns the value of a function, if it is a constant of this form too.
    pub(super) fn apply(self, f: Number1) -> Option<Constant> {
        use Number1 as F;
        match f {
            F::Neg => return Some(self.neg()),
            F::Recip => return self.recip(),
            F::Sqrt => return self.sqrt(),
            F::Sin => return self.circle(2),
            F::Cos => return self.circle(0),
            _ => {}
        }
        let half_pi = Constant::scaled(ExactFraction::new_raw(1, 2), 1, true);
        Some(match f {
            F::Cbrt | F::ExpM1 | F::Ln1p | F::Tan | F::Sinh | F::Tanh if self.is_int(0) => {
                Constant::ZERO
            }
            F::Asin | F::Atan | F::Asinh | F::Atanh if self.is_int(0) => Constant::ZERO,
            F::Exp | F::Cosh if self.is_int(0) => Constant::ONE,
            F::Acos if self.is_int(0) => half_pi,
            F::Ln | F::Log2 | F::Log10 | F::Acos | F::Acosh if self.is_int(1) => Constant::ZERO,
            F::Cbrt if self.is_int(1) => Constant::ONE,
            F::Asin if self.is_int(1) => half_pi,
            F::Atan if self.is_int(1) => Constant::scaled(ExactFraction::new_raw(1, 4), 1, true),
            F::Acos if self.is_int(-1) => Constant::PI,
            _ => return None,
        })
    }

    /// Returns `cos(self - before pi/4)`, if self is a multiple of pi/4.
    fn circle(self, before: i64) -> Option<Constant> {
        let eighths = match self {
            _ if self.is_int(0) => 0,
            Constant::Exact { q, root: 1, pi: true } if 4 % q.denom() == 0 => {
                q.numer().rem_euclid(2 * q.denom()) * (4 / q.denom())
            }
            _ => return None,
        };
        let root_half = Constant::scaled(ExactFraction::new_raw(1, 2), 2, false);
        Some(match (eighths - before).rem_euclid(8) {
            0 => Constant::ONE,
            1 | 7 => root_half,
            2 | 6 => Constant::ZERO,
            3 | 5 => root_half.neg(),
            _ => Constant::int(-1),
        })
    }

    /// Compares by value; exactly where both are fractions.
    pub(super) fn compare(self, other: Constant) -> Option<Ordering> {
        match (self.as_rational(), other.as_rational()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ if self.is_exact() && self.key() == other.key() => Some(Ordering::Equal),
            _ => self.value().partial_cmp(&other.value()),
        }
    }
}

/// Returns a whole number if it fits, else the float.
fn integer(x: f64) -> Constant {
    let whole = x.fract() == 0.0 && x.abs() < 9e15 && !(x == 0.0 && x.is_sign_negative());
    if whole { Constant::int(x as i64) } else { Constant::Float(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_multiply_exactly() {
        let root_half = Constant::ratio(1, 2).apply(Number1::Sqrt).unwrap();
        assert!(root_half.mul(root_half).unwrap().compare(Constant::ratio(1, 2)).unwrap().is_eq());
        let six = Constant::int(6).apply(Number1::Sqrt).unwrap();
        let ten = Constant::int(10).apply(Number1::Sqrt).unwrap();
        // A rounding or two of numbers of this size.
        assert!((six.mul(ten).unwrap().value() - 60f64.sqrt()).abs() < 1e-14);
        assert!((six.recip().unwrap().value() - 1.0 / 6f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn the_circle_in_eighths() {
        for k in -9..9 {
            let angle = Constant::PI.mul(Constant::ratio(k, 4)).unwrap();
            for f in [Number1::Sin, Number1::Cos] {
                let (exact, float) = (angle.apply(f).unwrap().value(), f.value(&angle.value()));
                assert!((exact - float).abs() < 1e-14, "{f:?} {k} pi/4: {exact} {float}");
            }
        }
    }

    #[test]
    fn floats_are_exact_only_with_few_binary_places() {
        assert!(Constant::from_f64(0.75).is_exact() && Constant::from_f64(-3.0).is_exact());
        assert!(
            Constant::from_f64(9e15).as_rational().is_none() && Constant::from_f64(8e15).is_exact()
        );
        for x in [0.1, f64::NAN, f64::INFINITY, -0.0, 1e300] {
            assert!(!Constant::from_f64(x).is_exact(), "{x}");
        }
        for (n, d) in [(1, 0), (i64::MIN, 1), (1, i64::MIN), (i64::MIN, i64::MIN)] {
            assert!(!Constant::ratio(n, d).is_exact());
        }
        assert!(Constant::int(i64::MAX).add(Constant::ONE).is_none());
        assert!(Constant::int(i64::MAX).mul(Constant::int(2)).is_none());
    }
}
