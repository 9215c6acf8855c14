//! Exact angles `a pi + b + sum_k q_k theta_k`: their representation and their text form; the
//! arithmetic is in `operators.rs`.

#![deny(clippy::arithmetic_side_effects)]

mod fraction;
mod id;
mod operators;

use std::fmt;

use num_rational::Ratio;
use num_traits::ToPrimitive;
use smallvec::SmallVec;

use super::rounding::UNIT;
use crate::notation::sign_of_term;
pub(super) use fraction::within_turns;
#[doc(hidden)]
pub use fraction::{floor, q_to_f64, reciprocal, remainder, widen};
pub use id::ParamId;

/// An exact fraction.
pub type Q = Ratio<i64>;

/// An angle `pi a + b + sum_k q_k theta_k`, in radians, with exact fractions `a` and `q_k`.
///
/// ```
/// use ketgrad_core::param::{Angle, ParamId, Q};
///
/// let theta = Angle::theta(ParamId::new(0));
/// let a = (Angle::pi(1, 2) - theta.clone()) * Q::new(1, 2);
/// assert_eq!(a.to_string(), "pi/4 - 1/2*p0");
/// assert_eq!(a + theta * Q::new(1, 2), Angle::pi(1, 4)); // exact: no rounding anywhere
/// ```
///
/// The part in radians is a float, but decimals of up to 12 digits are added and multiplied by
/// fractions as such: `0.1 + 0.2` is 0.3.
///
/// Angles are added, subtracted, and multiplied or divided by `i64` and `f64`, by value or by
/// reference. With integers all stays exact. With an `f64` the coefficient of a parameter becomes
/// the fraction nearest to it, and a part in pi stays one only if the number is a fraction k/2^m, m
/// at most 20:
///
/// ```
/// use ketgrad_core::param::{Angle, PI, ParamId};
///
/// let theta = &Angle::theta(ParamId::new(0));
/// assert_eq!((2 * theta - PI / 8 + 0.5).to_string(), "-pi/8 + 2*p0 + 0.5");
/// assert_eq!((0.7 * theta / 2).to_string(), "7/20*p0");
/// assert_eq!(PI * 0.75, Angle::pi(3, 4));
/// assert_eq!(PI * 0.1, Angle::rad(0.1 * std::f64::consts::PI));
/// ```
///
/// A fraction that outgrows 64 bits is rounded to the precision of `f64`; the part in pi then
/// becomes radians. A coefficient of a parameter below 2^-63, about 1e-19, is 0; one above 2^63
/// makes the angle NaN, which every binding refuses.
///
/// An angle stores a bound of the errors of such roundings: its [slack](Angle::rounding_bound). Two
/// angles are equal if they are written alike, whatever their rounding bounds are.
#[derive(Clone, Debug)]
pub struct Angle {
    pi: Q,
    radians: f64,
    /// Inline for a few terms, so that an angle needs no memory of its own.
    terms: SmallVec<[(ParamId, Q); 2]>,
    rounding_bound: RoundingBound,
}

/// Rounding bound of an angle: of its radians, and of the sum of its coefficients.
#[derive(Clone, Copy, Debug, Default)]
struct RoundingBound {
    radians: f32,
    terms: f32,
}

impl RoundingBound {
    const NONE: RoundingBound = RoundingBound { radians: 0.0, terms: 0.0 };

    fn times(self, factor: f64) -> RoundingBound {
        let mut product = RoundingBound::NONE;
        product.add(times(self.radians, factor), times(self.terms, factor));
        product
    }

    fn add(&mut self, radians: f64, terms: f64) {
        if radians == 0.0 && terms == 0.0 {
            return;
        }
        self.radians = upwards(f64::from(self.radians) + radians);
        self.terms = upwards(f64::from(self.terms) + terms);
    }
}

/// Zero times infinity is zero here.
fn times(slack: f32, factor: f64) -> f64 {
    if slack == 0.0 { 0.0 } else { f64::from(slack) * factor }
}

/// Returns the least `f32` that is not below `x`.
fn upwards(x: f64) -> f32 {
    match x.to_f32() {
        Some(near) if f64::from(near) < x => near.next_up(),
        near => near.unwrap_or(f32::INFINITY),
    }
}

impl PartialEq for Angle {
    fn eq(&self, other: &Angle) -> bool {
        (self.pi, self.radians) == (other.pi, other.radians) && self.terms == other.terms
    }
}

/// Half a turn, exactly: `PI / 4` is the fraction 1/4 of pi, not a decimal.
///
/// ```
/// use ketgrad_core::param::{Angle, PI};
/// let k: usize = 2;
/// assert_eq!(3 * PI / 4, Angle::pi(3, 4));
/// assert_eq!(PI / (1 << k), Angle::pi(1, 4));
/// assert_eq!((PI / 4).to_string(), "pi/4");
/// ```
pub const PI: Angle = Angle {
    pi: Q::new_raw(1, 1),
    radians: 0.0,
    terms: SmallVec::new_const(),
    rounding_bound: RoundingBound::NONE,
};

impl Angle {
    /// The angle 0.
    #[must_use]
    pub fn zero() -> Angle {
        Angle {
            pi: Q::new_raw(0, 1),
            radians: 0.0,
            terms: SmallVec::new(),
            rounding_bound: RoundingBound::NONE,
        }
    }

    /// The exact angle `pi numerator / denominator`; NaN if the denominator is 0.
    #[must_use]
    pub fn pi(numerator: i64, denominator: i64) -> Angle {
        if denominator == 0 || denominator == i64::MIN || numerator == i64::MIN {
            return Angle::rad(f64::NAN);
        }
        Angle { pi: Q::new(numerator, denominator), ..Angle::zero() }
    }

    /// Returns the angle of that many radians.
    #[must_use]
    pub fn rad(radians: f64) -> Angle {
        Angle { radians, ..Angle::zero() }
    }

    /// Returns the angle of that many radians, which were rounded: the exact number may be off by
    /// `slack`. So it is not a decimal that was written, however few its digits are.
    #[must_use]
    pub fn rounded(radians: f64, slack: f64) -> Angle {
        let mut angle = Angle::rad(radians);
        // The rounding bound is never 0.
        angle.rounding_bound.add(slack.max(f64::from(f32::MIN_POSITIVE)), 0.0);
        angle
    }

    /// The value of a parameter.
    #[must_use]
    pub fn theta(id: ParamId) -> Angle {
        Angle { terms: smallvec::smallvec![(id, Q::new_raw(1, 1))], ..Angle::zero() }
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

    /// Returns the rounding bound: the exact angle may differ from this one by at most that many
    /// radians times the largest of 1 and the parameters' absolute values, because numbers were
    /// rounded on the way. It is 0 if nothing was rounded.
    ///
    /// ```
    /// use ketgrad_core::param::Angle;
    ///
    /// assert_eq!((Angle::rad(0.1) + Angle::rad(0.2)).rounding_bound(), 0.0); // 0.3
    /// assert!((Angle::rad(0.1) + Angle::rad(1e-20)).rounding_bound() > 0.0); // 0.1 again, but not by its meaning
    /// ```
    #[must_use]
    pub fn rounding_bound(&self) -> f64 {
        f64::from(self.rounding_bound.radians) + f64::from(self.rounding_bound.terms)
    }

    /// Returns the rounding bound if the largest parameter has this absolute value.
    pub(crate) fn rounding_bound_at(&self, largest: f64) -> f64 {
        let of_terms = f64::from(self.rounding_bound.terms);
        f64::from(self.rounding_bound.radians)
            + if of_terms == 0.0 { 0.0 } else { of_terms * largest }
    }

    /// Returns the angle without its part in radians, and without the rounding bound of that.
    #[doc(hidden)]
    pub fn without_radians(&self) -> Angle {
        let slack = RoundingBound { radians: 0.0, ..self.rounding_bound };
        Angle { pi: self.pi, radians: 0.0, terms: self.terms.clone(), rounding_bound: slack }
    }

    /// Removes pairs of whole turns from the angle: half of it, which rotations take, loses whole
    /// ones.
    #[doc(hidden)]
    pub fn within_two_turns(&self) -> Angle {
        Angle { pi: within_turns(self.pi, 2), ..self.clone() }
    }

    /// Returns an upper bound of its absolute value if no parameter is above 1.
    fn size(&self) -> f64 {
        let terms: f64 = self.terms.iter().map(|t| q_to_f64(t.1).abs()).sum();
        q_to_f64(self.pi).abs() * std::f64::consts::PI + self.radians.abs() + terms
    }

    /// The parameters and their coefficients, sorted by id, none of them zero.
    #[must_use]
    pub fn terms(&self) -> &[(ParamId, Q)] {
        &self.terms
    }

    /// Returns true if no parameter occurs.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if it is a multiple of pi and nothing else.
    pub(crate) fn is_multiple_of_pi(&self) -> bool {
        self.is_constant() && self.radians == 0.0
    }

    /// The value in radians if no parameter occurs.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        self.is_constant().then(|| q_to_f64(self.pi) * std::f64::consts::PI + self.radians)
    }

    /// `k` in 0..8 if the angle is exactly `k pi / 4`, up to whole turns.
    #[must_use]
    pub fn eighth_turns(&self) -> Option<u8> {
        if !self.is_multiple_of_pi() {
            return None;
        }
        // A turn in units of the denominator, and such a unit in eighths of a turn.
        let (turn, unit) = match self.pi.denom() {
            1 => (2, 4),
            2 => (4, 2),
            4 => (8, 1),
            _ => return None,
        };
        u8::try_from(self.pi.numer().checked_rem_euclid(turn)?.checked_mul(unit)?).ok()
    }

    /// Replaces each parameter by the angle that `value` gives for it.
    #[must_use]
    pub fn substitute(&self, mut value: impl FnMut(ParamId) -> Angle) -> Angle {
        let mut start = Angle { terms: SmallVec::new(), ..self.without_radians() };
        (start.radians, start.rounding_bound) =
            (self.radians, RoundingBound { terms: 0.0, ..self.rounding_bound });
        let of_terms = f64::from(self.rounding_bound.terms);
        self.terms.iter().fold(start, |sum, &(id, q)| {
            let value = value(id);
            let more = if of_terms == 0.0 { 0.0 } else { of_terms * value.size() };
            let mut sum = sum + value * q;
            // The rounding bound of the coefficient applies to every part of the angle that
            // replaces the parameter.
            sum.rounding_bound.add(more, more);
            sum
        })
    }

    /// Writes the angle with the names that `name` gives.
    pub(crate) fn write(
        &self,
        f: &mut dyn fmt::Write,
        name: &dyn Fn(ParamId) -> String,
    ) -> fmt::Result {
        let mut first = true;
        let mut sign = |f: &mut dyn fmt::Write, negative: bool| {
            f.write_str(sign_of_term(std::mem::take(&mut first), negative))
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
            match self.radians.abs() {
                // Without an exponent it would be an integer that is too long to read.
                r if r >= LONGEST => write!(f, "{r:e}")?,
                r => write!(f, "{r}")?,
            }
        }
        if is_written_as_zero(self) { f.write_str("0") } else { Ok(()) }
    }

    fn poisoned() -> Angle {
        Angle::rad(f64::NAN)
    }

    /// Moves the part in pi, whose factor is given as a float, to the radians.
    fn pi_becomes_radians(&mut self, pi: f64) {
        let more = pi * std::f64::consts::PI;
        self.radians += more;
        self.pi = Q::new_raw(0, 1);
        self.rounding_bound.add(UNIT * (4.0 * more.abs() + self.radians.abs()), 0.0);
    }
}

/// Size from which on radians are written with an exponent.
const LONGEST: f64 = 1e38;

/// Returns true if no part of the angle is written.
fn is_written_as_zero(a: &Angle) -> bool {
    *a.pi.numer() == 0 && a.terms.is_empty() && a.radians == 0.0
}

impl Default for Angle {
    fn default() -> Angle {
        Angle::zero()
    }
}

/// An angle in radians, as it is: 0.785398 is not taken for pi/4.
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

/// That many radians.
impl From<i32> for Angle {
    fn from(radians: i32) -> Angle {
        Angle::rad(f64::from(radians))
    }
}

/// Clones the referenced value.
impl<T: Clone + Into<Angle>> From<&T> for Angle {
    fn from(angle: &T) -> Angle {
        angle.clone().into()
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|id| format!("p{}", id.number()))
    }
}
