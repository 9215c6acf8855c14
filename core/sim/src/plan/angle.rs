//! Angles whose sums are exact.
//!
//! The phases of thousands of gates add up in a plan. In floating point each addition would cost a
//! rounding error of the size of the sum, so that n like-signed phases would be off by about n^2
//! eps. A [`BinaryAngle`] is a fraction of a turn in 64-bit fixed point (binary angular
//! measurement): sums wrap around after a turn, have no error, and do not depend on their order.
//! What remains is the rounding of each angle when it is taken in, at most 2^-65 of a turn,
//! 1.7e-19.
//!
//! ```
//! use ketgrad_core::plan::BinaryAngle;
//!
//! let sum: BinaryAngle = (0..10_000_000).map(|_| BinaryAngle::from_radians(0.25)).sum();
//! assert!((sum.radians() - 2.5e6 % std::f64::consts::TAU).abs() < 1e-9);
//! assert_eq!(BinaryAngle::HALF_TURN + BinaryAngle::HALF_TURN, BinaryAngle::ZERO);
//! ```

use std::{
    iter::Sum,
    ops::{Add, AddAssign, Neg, Sub, SubAssign},
};

use num_complex::Complex;

/// An angle as a multiple of 2^-64 of a turn, in [-1/2, 1/2) of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryAngle(i64);

/// 2^64 is a turn.
const RADIANS: f64 = std::f64::consts::TAU / 18_446_744_073_709_551_616.0;

/// `2^66 / (2 pi)`, rounded.
const TURN_OVER_RADIAN: i128 = 11_743_562_013_128_004_906;

impl BinaryAngle {
    /// No angle.
    pub const ZERO: BinaryAngle = BinaryAngle(0);
    /// pi.
    pub const HALF_TURN: BinaryAngle = BinaryAngle(i64::MIN);

    /// Returns the nearest angle to a finite number of radians, up to whole turns. The error is
    /// below 2^-64 of a turn up to a turn, and below eps times the number of radians beyond.
    #[must_use]
    pub fn from_radians(radians: f64) -> BinaryAngle {
        debug_assert!(radians.is_finite(), "an angle of {radians}");
        // |radians| = mantissa 2^exponent, so that the product of integers is exact.
        let bits = radians.to_bits();
        let biased = (bits >> 52 & 0x7ff) as i32;
        let fraction = (bits & ((1 << 52) - 1)) as i128;
        let (mantissa, exponent) =
            if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
        let (product, shift) = (mantissa * TURN_OVER_RADIAN, exponent - 2);
        let units = match shift {
            ..-126 => 0,
            // Rounded to nearest.
            -126..=-1 => (product + (1 << (-shift - 1))) >> -shift,
            0..=63 => product.wrapping_shl(shift as u32),
            // Such an angle is a whole number of turns to the precision of the constant.
            64.. => 0,
        };
        BinaryAngle(if radians < 0.0 { (units as i64).wrapping_neg() } else { units as i64 })
    }

    /// Radians in [-pi, pi), to a relative error of eps.
    #[must_use]
    #[inline(always)]
    pub fn radians(self) -> f64 {
        self.0 as f64 * RADIANS
    }

    /// Half of the representative in [-1/2, 1/2) of a turn.
    #[must_use]
    #[inline(always)]
    pub fn half(self) -> BinaryAngle {
        BinaryAngle(self.0 >> 1)
    }

    /// Returns `e^{i angle}`.
    #[must_use]
    pub fn cis(self) -> Complex<f64> {
        let (sin, cos) = self.sin_cos();
        Complex::new(cos, sin)
    }

    /// Size of the angle in radians, in [0, pi].
    #[must_use]
    pub fn abs(self) -> f64 {
        self.0.unsigned_abs() as f64 * RADIANS
    }

    /// Sine and cosine to one or two units in the last place, exact at multiples of a quarter turn.
    /// It has no branches, so that a loop of it vectorizes. The polynomials on [-pi/4, pi/4] are
    /// those of fdlibm.
    #[must_use]
    #[inline(always)]
    pub(in crate::plan) fn sin_cos(self) -> (f64, f64) {
        // 2^52 as bits: an integer below 2^52 in the mantissa makes the float 2^52 + integer.
        const FLOAT: u64 = 0x4330_0000_0000_0000;
        const BASE: f64 = 4_503_599_627_370_496.0;
        const EIGHTH: u64 = 1 << 61;
        let turned = (self.0 as u64).wrapping_add(EIGHTH);
        let quadrant = turned >> 62;
        // The rest in [-1/8, 1/8) of a turn, from two halves of 32 bits, each of them exact.
        let rest = turned & (u64::MAX >> 2);
        let high = f64::from_bits(FLOAT | rest >> 32) - (BASE + 536_870_912.0);
        let low = f64::from_bits(FLOAT | rest & 0xffff_ffff) - BASE;
        let r = (high * 4_294_967_296.0 + low) * RADIANS;
        let z = r * r;
        let sin_tail = -1.666_666_666_666_663_2e-1
            + z * (8.333_333_333_322_49e-3
                + z * (-1.984_126_982_985_795e-4
                    + z * (2.755_731_370_707_007e-6
                        + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10))));
        let sin = r + r * z * sin_tail;
        let cos_tail = 4.166_666_666_666_66e-2
            + z * (-1.388_888_888_887_411e-3
                + z * (2.480_158_728_947_673e-5
                    + z * (-2.755_731_435_139_066_3e-7
                        + z * (2.087_572_321_298_175e-9 - z * 1.135_964_755_778_819_5e-11))));
        let cos = 1.0 - 0.5 * z + z * z * cos_tail;
        let (s, c) = if quadrant & 1 == 1 { (cos, sin) } else { (sin, cos) };
        let s = if quadrant & 2 == 2 { -s } else { s };
        let c = if (quadrant + 1) & 2 == 2 { -c } else { c };
        (s, c)
    }
}

impl Add for BinaryAngle {
    type Output = BinaryAngle;
    #[inline(always)]
    fn add(self, other: BinaryAngle) -> BinaryAngle {
        BinaryAngle(self.0.wrapping_add(other.0))
    }
}

impl Sub for BinaryAngle {
    type Output = BinaryAngle;
    #[inline(always)]
    fn sub(self, other: BinaryAngle) -> BinaryAngle {
        BinaryAngle(self.0.wrapping_sub(other.0))
    }
}

impl Neg for BinaryAngle {
    type Output = BinaryAngle;
    #[inline(always)]
    fn neg(self) -> BinaryAngle {
        BinaryAngle(self.0.wrapping_neg())
    }
}

impl AddAssign for BinaryAngle {
    #[inline(always)]
    fn add_assign(&mut self, other: BinaryAngle) {
        *self = *self + other;
    }
}

impl SubAssign for BinaryAngle {
    #[inline(always)]
    fn sub_assign(&mut self, other: BinaryAngle) {
        *self = *self - other;
    }
}

impl Sum for BinaryAngle {
    fn sum<I: Iterator<Item = BinaryAngle>>(angles: I) -> BinaryAngle {
        angles.fold(BinaryAngle::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radians_come_back_and_sines_are_right() {
        for i in -400_000..400_000 {
            let x = f64::from(i) * 7.85e-6;
            let angle = BinaryAngle::from_radians(x);
            assert!((angle.radians() - x).abs() <= 4.5e-16, "{x}");
            assert!((angle.abs() - x.abs()).abs() <= 4.5e-16, "{x}");
            let (sin, cos) = angle.sin_cos();
            assert!((sin - x.sin()).abs() < 4e-16 && (cos - x.cos()).abs() < 4e-16, "{x}");
        }
        for exponent in 0..60 {
            let x = (0.3f64).powi(exponent);
            assert!(
                (BinaryAngle::from_radians(x).radians() / x - 1.0).abs() < 2e-19 / x + 3e-16,
                "{x:e}"
            );
        }
        assert_eq!(BinaryAngle::from_radians(f64::MIN_POSITIVE), BinaryAngle::ZERO);
    }

    #[test]
    fn whole_turns_vanish() {
        for turns in [1.0, -1.0, 7.0, 1e3, 12_345.0] {
            let angle = BinaryAngle::from_radians(0.1 + turns * std::f64::consts::TAU);
            assert!(
                (angle.radians() - 0.1).abs() < 4e-16 * turns.abs() * std::f64::consts::TAU,
                "{turns}"
            );
        }
    }

    #[test]
    fn quarters_of_a_turn_have_exact_sines() {
        let quarter = BinaryAngle::HALF_TURN.half();
        assert_eq!(BinaryAngle::ZERO.cis(), Complex::new(1.0, 0.0));
        assert_eq!((-quarter).cis(), Complex::new(0.0, 1.0));
        assert_eq!(BinaryAngle::HALF_TURN.cis(), Complex::new(-1.0, 0.0));
        assert_eq!(quarter.cis(), Complex::new(0.0, -1.0));
    }

    #[test]
    fn sums_of_a_million_phases_are_as_exact_as_one() {
        let step = BinaryAngle::from_radians(0.3);
        let sum: BinaryAngle = std::iter::repeat_n(step, 1 << 20).sum();
        // 2^20 times 0.3 is exact in floating point; whole turns are taken off with 2 pi in two
        // parts.
        let turns = (0.3 * f64::from(1 << 20) / std::f64::consts::TAU).round();
        let expected = (0.3 * f64::from(1 << 20) - turns * 6.283_185_005_187_988)
            - turns * 3.019_915_981_956_753e-7;
        // Each of them is rounded to 2^-65 of a turn.
        assert!((sum.radians() - expected).abs() < 2e-12, "{} {expected}", sum.radians());
    }
}
