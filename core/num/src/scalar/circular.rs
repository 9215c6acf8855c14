//! Sine, cosine and tangent of 64-bit floats, without branches but for numbers beyond [`NEAR`], so
//! that a compiler can compute several at a time.
//!
//! ```text
//! x = n pi/2 + r + s, |r| <= pi/4       sin r = r + r^3 p(r^2)
//!                                       cos r = 1 - r^2/2 + r^4 q(r^2)
//! ```
//!
//! `pi/2` is three floats: `x - n a` is exact, and what rounding takes of `x - n a - n b` goes to
//! `s`. Beyond [`NEAR`] the fraction of `2 x / pi` is made of integers (Payne and Hanek, *Radian
//! Reduction for Trigonometric Functions*, ACM SIGNUM Newsletter 18, 1983). The polynomials have
//! least relative errors, by Remez's exchange in numbers of 60 digits: .03 and .0005 units in the
//! last place of `sin` and `cos`. Largest errors found against 400 digits, in such units: `sin` .8,
//! `cos` .8, `tan` .9.
//!
//! As in [`elementary`](super::elementary), a number has one value on every machine, wherever it
//! is in an array.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use super::elementary::{ROUND, TINY, exact_sum, join, polynomial};

/// Remainder of pi/2.
const REST: f64 = 6.123_233_995_736_766e-17;
/// Remainder after `REST`.
const REST_OF_REST: f64 = -1.497_384_904_859_169_8e-33;

/// Numbers up to here are reduced by floats.
pub(super) const NEAR: f64 = 1e9;

/// `(sin r - r) / r^3` in `r^2`
const SIN: [f64; 6] = [
    -0.166_666_666_666_666_3,
    0.008_333_333_333_322_118,
    -0.000_198_412_698_295_894_5,
    2.755_731_362_135_355_6e-6,
    -2.505_074_775_765_595_6e-8,
    1.589_622_984_704_228_7e-10,
];

/// `(cos r - 1 + r^2/2) / r^4` in `r^2`
const COS: [f64; 6] = [
    0.041_666_666_666_666_595,
    -0.001_388_888_888_887_305_6,
    2.480_158_728_885_160_6e-5,
    -2.755_731_417_926_756e-7,
    2.087_570_083_790_911_7e-9,
    -1.135_853_630_582_798_2e-11,
];

/// First 1280 binary digits of 2/pi after the point, after 64 zeros.
const DIGITS: [u64; 21] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// An angle: quarters of a turn, of which the last two digits count, and the rest in two floats.
#[derive(Clone, Copy)]
struct ReducedAngle {
    quarters: u64,
    rest: [f64; 2],
}

/// Returns the angle of a number up to [`NEAR`].
#[inline(always)]
fn near(x: f64) -> ReducedAngle {
    let marked = x.mul_add(FRAC_2_PI, ROUND);
    let n = marked - ROUND;
    let left = (-n).mul_add(FRAC_PI_2, x);
    let part = n * REST;
    let part_rest = n.mul_add(REST, -part);
    let [r, lost] = exact_sum(left, -part);
    let rest = join(r, (-n).mul_add(REST_OF_REST, lost - part_rest));
    ReducedAngle { quarters: marked.to_bits(), rest }
}

/// Returns the angle of a number beyond [`NEAR`].
#[cold]
fn far(x: f64) -> ReducedAngle {
    if !x.is_finite() {
        return ReducedAngle { quarters: 0, rest: [f64::NAN; 2] };
    }
    // |x| = m 2^e
    let bits = x.abs().to_bits();
    let (m, e) = (bits & ((1 << 52) - 1) | 1 << 52, (bits >> 52) as i64 - 1075);
    // Digits of 2/pi before the first of these give whole turns; 256 of them leave 2^-200 of a
    // quarter.
    let first = (63 + e - 1) as usize;
    let digit = |k: usize| {
        let (word, by) = (first / 64 + k, first % 64);
        let next = if by == 0 { 0 } else { DIGITS.get(word + 1).map_or(0, |d| d >> (64 - by)) };
        DIGITS.get(word).map_or(0, |d| d << by) | next
    };
    // m 2/pi as quarters and their fraction, 2 and 254 digits, the most significant word first.
    let mut product = [0u64; 4];
    let mut carry = 0u128;
    for k in (0..4).rev() {
        let sum = u128::from(m) * u128::from(digit(k)) + carry;
        (product[k], carry) = (sum as u64, sum >> 64);
    }
    let [a, b, c, _] = product;
    let quarters = a >> 62;
    let fraction = [a << 2 | b >> 62, b << 2 | c >> 62].map(u128::from);
    let fraction = fraction[0] << 64 | fraction[1];
    let third = c << 2;
    // To the nearest quarter.
    let up = fraction >> 127;
    let (size, third) = if up == 1 { (!fraction, !third) } else { (fraction, third) };
    let zeros = size.leading_zeros();
    let size =
        if zeros == 0 { size } else { size << zeros | u128::from(third) << 64 >> (128 - zeros) };
    // 53 digits and the next ones.
    let scale = f64::from_bits(u64::from(1023 - 53 - zeros) << 52);
    let high = (size >> 75) as f64 * scale;
    let low = (size << 53 >> 64) as f64 * (scale * f64::from_bits((1023 - 64) << 52));
    let sum = high * FRAC_PI_2;
    let lost = high.mul_add(FRAC_PI_2, -sum);
    let rest = join(sum, high.mul_add(REST, low.mul_add(FRAC_PI_2, lost)));
    let rest = if (up == 1) != x.is_sign_negative() { rest.map(|r| -r) } else { rest };
    let quarters = quarters + up as u64;
    ReducedAngle {
        quarters: if x.is_sign_negative() { quarters.wrapping_neg() } else { quarters },
        rest,
    }
}

/// Returns the sine of the rest of an angle as a sum, the second number small.
#[inline(always)]
fn sine([r, s]: [f64; 2]) -> [f64; 2] {
    let z = r * r;
    [r, (z * r).mul_add(polynomial(&SIN, z), (-0.5 * z).mul_add(s, s))]
}

/// Returns the cosine.
#[inline(always)]
fn cosine([r, s]: [f64; 2]) -> [f64; 2] {
    let z = r * r;
    let half = 0.5 * z;
    let w = 1.0 - half;
    [w, (1.0 - w) - half + (z * z).mul_add(polynomial(&COS, z), -r * s)]
}

/// Returns the sine of an angle and some quarters more.
#[inline(always)]
fn sine_of(angle: ReducedAngle, more: u64) -> f64 {
    let n = angle.quarters.wrapping_add(more);
    let ([a, b], [c, d]) = (sine(angle.rest), cosine(angle.rest));
    let y = if n & 1 == 1 { c + d } else { a + b };
    f64::from_bits(y.to_bits() ^ (n & 2) << 62)
}

#[inline(always)]
fn tangent_of(angle: ReducedAngle) -> f64 {
    let odd = angle.quarters & 1 == 1;
    let [[s, s_rest], [c, c_rest]] =
        [sine(angle.rest), cosine(angle.rest)].map(|[a, b]| join(a, b));
    let (a, a_rest, b, b_rest) = if odd { (c, c_rest, s, s_rest) } else { (s, s_rest, c, c_rest) };
    // A quotient, and what it lacks.
    let y = a / b;
    let lacks = (-y).mul_add(b, a) + (-y).mul_add(b_rest, a_rest);
    let y = y + lacks / b;
    f64::from_bits(y.to_bits() ^ u64::from(odd) << 63)
}

/// Lists for each function its version up to [`NEAR`], and the one for all numbers.
macro_rules! functions {
    ($($doc:literal $name:ident $near:ident ($x:ident, $angle:ident) $value:expr;)*) => {$(
        #[doc = $doc]
        #[doc = ", up to [`NEAR`]."]
        #[inline(always)]
        pub(super) fn $near($x: f64) -> f64 {
            let $angle = near($x);
            $value
        }

        #[doc = $doc]
        #[doc = "."]
        pub(super) fn $name($x: f64) -> f64 {
            if $x.abs() <= NEAR {
                return $near($x);
            }
            let $angle = far($x);
            $value
        }
    )*};
}
functions! {
    "The sine" sin sin_near (x, angle) if x.abs() < TINY { x } else { sine_of(angle, 0) };
    "The cosine" cos cos_near (x, angle) sine_of(angle, 1);
    "The tangent" tan tan_near (x, angle) if x.abs() < TINY { x } else { tangent_of(angle) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{
        Scalar,
        elementary::tests::{apart, random},
    };

    type Float = fn(f64) -> f64;
    const FUNCTIONS: [(&str, Float, Float); 3] =
        [("sin", sin, f64::sin), ("cos", cos, f64::cos), ("tan", tan, f64::tan)];

    #[test]
    fn they_are_right_to_two_units_in_the_last_place() {
        let mut random = random();
        for _ in 0..20_000 {
            let (u, v) = (random(), random() - 0.5);
            let points = [
                8.0 * v,
                1e3 * v,
                2.0 * NEAR * v,
                v * 10f64.powf(-320.0 * u),
                // Every exponent, subnormal numbers too.
                f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64),
                -f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64),
                // Next to the ends of quarters.
                (1e6 * v).round() * FRAC_PI_2,
                (1e9 * v).round() * FRAC_PI_2 * (1.0 + u * 1e-16),
                (1e12 * v).round() * FRAC_PI_2,
            ];
            for ((name, ours, theirs), x) in FUNCTIONS.iter().flat_map(|f| points.map(|x| (f, x))) {
                assert!(
                    apart(ours(x), theirs(x)) <= 2,
                    "{name}({x:e}): {:e} {:e}",
                    ours(x),
                    theirs(x)
                );
            }
        }
    }

    /// Digits of sines by numbers of 1200 digits. The second number is as near to a quarter as a
    /// float can be.
    #[test]
    fn large_numbers_are_reduced_as_they_are() {
        let known = [
            (1e22, -0.852_200_849_767_188_8, 0.523_214_785_395_139),
            (6_381_956_970_095_103.0 * 2f64.powi(797), 1.0, -4.687_165_924_254_628e-19),
            (f64::MAX, 0.004_961_954_789_184_062, -0.999_987_689_426_559_9),
        ];
        for (x, s, c) in known {
            assert!(
                apart(sin(x), s) <= 1 && apart(cos(x), c) <= 1,
                "{x:e}: {:e} {:e}",
                sin(x),
                cos(x)
            );
            assert!(apart(sin(-x), -s) <= 1 && apart(cos(-x), c) <= 1, "{x:e}");
            assert!(apart(tan(x), s / c) <= 2, "{x:e}: {:e} {:e}", tan(x), s / c);
        }
    }

    /// Both ways to reduce an angle give the same one.
    #[test]
    fn both_reductions_agree() {
        for k in 0..20_000 {
            let x = 1e9 - 977.7 * f64::from(k);
            for x in [x, -x] {
                let (a, b) = (near(x), far(x));
                assert_eq!(a.quarters & 3, b.quarters & 3, "{x}");
                assert!(apart(a.rest[0], b.rest[0]) == 0, "{x}: {:?} {:?}", a.rest, b.rest);
                assert!((a.rest[1] - b.rest[1]).abs() < 1e-25, "{x}: {:?} {:?}", a.rest, b.rest);
            }
        }
    }

    #[test]
    fn numbers_are_what_they_are_beside_large_ones() {
        let numbers: Vec<f64> =
            (0..1000).map(|k| f64::from(k).sin() * if k % 301 == 7 { 1e15 } else { 9.0 }).collect();
        for (all, alone) in [
            (f64::sin_all as fn(&mut [f64]), sin as Float),
            (f64::cos_all, cos),
            (f64::tan_all, tan),
        ] {
            let mut given = numbers.clone();
            all(&mut given);
            assert!(given.iter().zip(&numbers).all(|(y, x)| y.to_bits() == alone(*x).to_bits()));
        }
    }

    #[test]
    fn their_limits_are_those_of_the_library() {
        let ends = [0.0, f64::MIN_POSITIVE, 5e-324, 1.0, NEAR, f64::MAX];
        for x in ends.iter().flat_map(|&x| [x, -x]) {
            for (name, ours, theirs) in FUNCTIONS {
                let (a, b) = (ours(x), theirs(x));
                assert!(
                    a.is_sign_negative() == b.is_sign_negative() && apart(a, b) <= 1,
                    "{name}({x:e}): {a:e} {b:e}"
                );
            }
        }
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(FUNCTIONS.iter().all(|(_, ours, _)| ours(x).is_nan()));
        }
    }
}
