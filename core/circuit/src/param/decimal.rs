//! Decimals as they are written: the fraction that a float stands for, and the multiple of pi that
//! it may be.
//!
//! A float is read as the shortest decimal that reads back the same. If that has few digits, it was
//! written by hand, and it is that fraction. If it has many, it is some real number rounded, and
//! the exact number is not known.

#![deny(clippy::arithmetic_side_effects)]

use num_rational::Ratio;
use num_traits::ToPrimitive;

use super::{Angle, rounding::UNIT};

/// Limit on the digits of a decimal that is taken for the fraction that it says.
pub const SHORT_DECIMAL: usize = 12;
/// Largest power of ten in the numerator or the denominator.
const MAX_PLACES: u32 = 30;
/// Significance threshold: number of digits from which on a decimal may be a rounded multiple of
/// pi.
const SIGNIFICANCE_THRESHOLD: usize = 6;
/// Size below which all whole numbers are floats.
#[doc(hidden)]
pub const ALL_WHOLE: f64 = 1.0 / f64::EPSILON;
/// Limit on the denominators of multiples of pi.
const DENOMINATORS: i64 = 64;

/// A finite number `± digits 10^exponent`.
///
/// ```
/// use ketgrad_core::param::{Angle, Decimal};
///
/// let x = Decimal::new(0.785398).ok_or("not finite")?;
/// assert_eq!(x.n_digits(), 6);
/// assert_eq!(x.fraction(), Some(num_rational::Ratio::new(785_398, 1_000_000)));
/// assert_eq!(x.multiple_of_pi(), Some(Angle::pi(1, 4)));
/// assert_eq!(Decimal::new(0.785396).ok_or("not finite")?.multiple_of_pi(), None);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal {
    value: f64,
    /// At most 17 digits, without trailing zeros, with the sign.
    digits: i64,
    n_digits: usize,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that reads back the same; `None` of what is not finite.
    #[must_use]
    pub fn new(value: f64) -> Option<Decimal> {
        if !value.is_finite() {
            return None;
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let digits = mantissa.replace('.', "");
        let n_digits = digits.trim_start_matches('-').len();
        let places = i32::try_from(n_digits).ok()?.checked_sub(1)?;
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(places)?;
        Some(Decimal { value, digits: digits.parse().ok()?, n_digits, exponent })
    }

    /// The number of digits.
    #[must_use]
    pub fn n_digits(&self) -> usize {
        self.n_digits
    }

    /// The unit in the last place.
    #[must_use]
    pub fn unit(&self) -> f64 {
        10f64.powi(self.exponent)
    }

    /// Returns true if it has so few digits that it is taken for the fraction that it says:
    /// [`SHORT_DECIMAL`] at most.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.n_digits <= SHORT_DECIMAL
    }

    /// Returns the rounding bound: the largest distance of the number that was meant from the
    /// float. For a long decimal it is half a unit in the last place; for a short one, the rounding
    /// error of the float.
    #[must_use]
    pub fn rounding_bound(&self) -> f64 {
        if !self.is_short() {
            return 0.5 * self.unit();
        }
        let is_exact = self.value.fract() == 0.0 && self.value.abs() < ALL_WHOLE;
        if is_exact { 0.0 } else { UNIT * self.value.abs() }
    }

    /// The number as a fraction; `None` if it is beyond `10^±30`.
    #[must_use]
    pub fn fraction(&self) -> Option<Ratio<i128>> {
        let size = self.exponent.unsigned_abs();
        let power = 10i128.checked_pow(size).filter(|_| size <= MAX_PLACES)?;
        let n = i128::from(self.digits);
        if self.exponent < 0 {
            Some(Ratio::new(n, power))
        } else {
            n.checked_mul(power).map(Ratio::from_integer)
        }
    }

    /// Returns the multiple of pi with a small denominator that the number equals to all its
    /// digits; 0 is none.
    #[must_use]
    pub fn multiple_of_pi(&self) -> Option<Angle> {
        if self.n_digits < SIGNIFICANCE_THRESHOLD || self.value.abs() > 1e3 {
            return None;
        }
        let turns = self.value / std::f64::consts::PI;
        let near = self.unit().max(4.0 * f64::EPSILON * self.value.abs());
        (1..=DENOMINATORS).chain((7..=20).map(|k| 1 << k)).find_map(|d| {
            let n = (turns * d.to_f64()?).round().to_i64()?;
            let angle = Angle::pi(n, d);
            let off = (angle.constant()? - self.value).abs();
            // A large denominator needs more digits to be significant.
            let telling = d <= DENOMINATORS || self.n_digits > SHORT_DECIMAL;
            (n != 0 && off <= near && telling).then_some(angle)
        })
    }
}
