//! Exact angles `a pi + b + sum_k q_k theta_k`.

use std::{
    fmt,
    ops::{Add, Mul, Neg, Sub},
};

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, ToPrimitive};

/// An exact fraction.
pub type Q = Ratio<i64>;

/// The number of a parameter within its circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamId(pub u32);

impl ParamId {
    /// The position in a list of values.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An angle `pi a + b + sum_k q_k theta_k`, in radians, with exact fractions `a` and `q_k`.
///
/// ```
/// use ketgrad_core::param::{Angle, ParamId, Q};
///
/// let theta = Angle::theta(ParamId(0));
/// let a = (Angle::pi(1, 2) - theta.clone()) * Q::new(1, 2);
/// assert_eq!(a.to_string(), "pi/4 - 1/2*p0");
/// assert_eq!(a + theta * Q::new(1, 2), Angle::pi(1, 4)); // exact: no rounding anywhere
/// ```
///
/// A fraction that outgrows 64 bits is rounded to the precision of `f64`; the part in pi then
/// becomes radians. A coefficient that not even `f64` arithmetic can hold makes the angle NaN,
/// which every binding refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Angle {
    pi: Q,
    radians: f64,
    terms: Vec<(ParamId, Q)>,
}

impl Angle {
    /// The angle 0.
    #[must_use]
    pub fn zero() -> Angle {
        Angle { pi: Q::new_raw(0, 1), radians: 0.0, terms: Vec::new() }
    }

    /// The exact angle `pi numerator / denominator`; NaN if the denominator is 0.
    #[must_use]
    pub fn pi(numerator: i64, denominator: i64) -> Angle {
        if denominator == 0 || denominator == i64::MIN || numerator == i64::MIN {
            return Angle::rad(f64::NAN);
        }
        Angle { pi: Q::new(numerator, denominator), ..Angle::zero() }
    }

    /// The angle of so many radians.
    #[must_use]
    pub fn rad(radians: f64) -> Angle {
        Angle { radians, ..Angle::zero() }
    }

    /// The value of a parameter.
    #[must_use]
    pub fn theta(id: ParamId) -> Angle {
        Angle { terms: vec![(id, Q::new_raw(1, 1))], ..Angle::zero() }
    }

    /// The exact coefficient of pi.
    #[must_use]
    pub fn pi_part(&self) -> Q {
        self.pi
    }

    /// The part in radians.
    #[must_use]
    pub fn radian_part(&self) -> f64 {
        self.radians
    }

    /// The parameters and their coefficients, sorted by id, none of them zero.
    #[must_use]
    pub fn terms(&self) -> &[(ParamId, Q)] {
        &self.terms
    }

    /// Whether no parameter occurs.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value in radians if no parameter occurs.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        self.is_constant().then(|| q_to_f64(self.pi) * std::f64::consts::PI + self.radians)
    }

    /// `k` in 0..8 if the angle is exactly `k pi / 4`, up to whole turns.
    #[must_use]
    pub fn eighth_turns(&self) -> Option<u8> {
        if !self.is_constant() || self.radians != 0.0 || 4 % self.pi.denom() != 0 {
            return None;
        }
        let quarter = self.pi.numer().rem_euclid(2 * self.pi.denom()) * (4 / self.pi.denom());
        u8::try_from(quarter).ok()
    }

    /// Replaces each parameter by the angle that `value` gives for it.
    #[must_use]
    pub fn substitute(&self, mut value: impl FnMut(ParamId) -> Angle) -> Angle {
        let start = Angle { pi: self.pi, radians: self.radians, terms: Vec::new() };
        self.terms.iter().fold(start, |sum, &(id, q)| sum + value(id) * q)
    }

    /// Writes the angle with the names that `name` gives.
    pub fn write(&self, f: &mut dyn fmt::Write, name: &dyn Fn(ParamId) -> String) -> fmt::Result {
        let mut first = true;
        let mut sign = |f: &mut dyn fmt::Write, negative: bool| {
            let text = match (std::mem::take(&mut first), negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            f.write_str(text)
        };
        if *self.pi.numer() != 0 {
            sign(f, *self.pi.numer() < 0)?;
            match (self.pi.numer().unsigned_abs(), self.pi.denom()) {
                (1, 1) => f.write_str("pi")?,
                (1, d) => write!(f, "pi/{d}")?,
                (n, 1) => write!(f, "{n}*pi")?,
                (n, d) => write!(f, "{n}*pi/{d}")?,
            }
        }
        for &(id, q) in &self.terms {
            sign(f, *q.numer() < 0)?;
            match (q.numer().unsigned_abs(), q.denom()) {
                (1, 1) => {}
                (n, 1) => write!(f, "{n}*")?,
                (n, d) => write!(f, "{n}/{d}*")?,
            }
            f.write_str(&name(id))?;
        }
        if self.radians != 0.0 {
            sign(f, self.radians < 0.0)?;
            write!(f, "{}", self.radians.abs())?;
        }
        if first_is_unused(self) { f.write_str("0") } else { Ok(()) }
    }

    fn poisoned() -> Angle {
        Angle::rad(f64::NAN)
    }
}

fn first_is_unused(a: &Angle) -> bool {
    *a.pi.numer() == 0 && a.terms.is_empty() && a.radians == 0.0
}

impl Default for Angle {
    fn default() -> Angle {
        Angle::zero()
    }
}

/// An angle in radians, as it stands: 0.785398 is not taken for pi/4.
impl From<f64> for Angle {
    fn from(radians: f64) -> Angle {
        Angle::rad(radians)
    }
}

impl From<ParamId> for Angle {
    fn from(id: ParamId) -> Angle {
        Angle::theta(id)
    }
}

impl From<&Angle> for Angle {
    fn from(angle: &Angle) -> Angle {
        angle.clone()
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|id| format!("p{}", id.0))
    }
}

pub(crate) fn q_to_f64(q: Q) -> f64 {
    // A fraction of 64-bit integers always has a nearest f64.
    q.to_f64().unwrap_or(f64::NAN)
}

/// Rounds to a fraction near `x`, if 64 bits hold one.
fn round(x: f64) -> Option<Q> {
    Q::approximate_float(x)
}

fn q_add(a: Q, b: Q) -> Option<Q> {
    a.checked_add(&b).or_else(|| round(q_to_f64(a) + q_to_f64(b)))
}

fn q_mul(a: Q, b: Q) -> Option<Q> {
    a.checked_mul(&b).or_else(|| round(q_to_f64(a) * q_to_f64(b)))
}

impl Add for Angle {
    type Output = Angle;
    fn add(mut self, other: Angle) -> Angle {
        self.radians += other.radians;
        match self.pi.checked_add(&other.pi) {
            Some(pi) => self.pi = pi,
            None => {
                self.radians += (q_to_f64(self.pi) + q_to_f64(other.pi)) * std::f64::consts::PI;
                self.pi = Q::new_raw(0, 1);
            }
        }
        for (id, q) in other.terms {
            match self.terms.binary_search_by_key(&id, |t| t.0) {
                Ok(i) => match q_add(self.terms[i].1, q) {
                    Some(sum) if *sum.numer() == 0 => {
                        self.terms.remove(i);
                    }
                    Some(sum) => self.terms[i].1 = sum,
                    None => return Angle::poisoned(),
                },
                Err(i) => self.terms.insert(i, (id, q)),
            }
        }
        self
    }
}

impl Mul<Q> for Angle {
    type Output = Angle;
    fn mul(mut self, q: Q) -> Angle {
        if *q.numer() == 0 {
            return if self.radians.is_finite() { Angle::zero() } else { Angle::poisoned() };
        }
        self.radians *= q_to_f64(q);
        match self.pi.checked_mul(&q) {
            Some(pi) => self.pi = pi,
            None => {
                self.radians += q_to_f64(self.pi) * q_to_f64(q) * std::f64::consts::PI;
                self.pi = Q::new_raw(0, 1);
            }
        }
        for term in &mut self.terms {
            match q_mul(term.1, q) {
                Some(product) => term.1 = product,
                None => return Angle::poisoned(),
            }
        }
        self.terms.retain(|t| *t.1.numer() != 0);
        self
    }
}

impl Neg for Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        self * Q::new_raw(-1, 1)
    }
}

impl Sub for Angle {
    type Output = Angle;
    fn sub(self, other: Angle) -> Angle {
        self + -other
    }
}

impl Neg for &Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        -self.clone()
    }
}

impl Add for &Angle {
    type Output = Angle;
    fn add(self, other: &Angle) -> Angle {
        self.clone() + other.clone()
    }
}
