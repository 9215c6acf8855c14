//! Elementary functions of 64-bit floats without branches, so that a compiler can compute several
//! at a time.
//!
//! ```text
//! x = n ln 2 + r, |r| <= ln(2)/2        e^x      = 2^n (1 + r + r^2 q(r))
//!                                       e^x - 1  = (2^n - 1 + 2^n r) + 2^n r^2 q(r)
//! t = e^(-2|x|) - 1                     tanh |x| = -t / (2 + t)
//! t = e^|x| - 1                         2 sinh |x| = t + t / (1 + t)
//!                                       2 cosh x = (1 + t) + 1 / (1 + t)
//! x = 2^n (1 + f), s = f / (2 + f)      ln x     = n ln 2 + f - f^2/2 + s (f^2/2 + s^2 l(s^2))
//!                                       asinh |x| = ln(1 + |x| + x^2 / (1 + sqrt(1 + x^2)))
//! t = x - 1                             acosh x  = ln(1 + t + sqrt(t (t + 2)))
//!                                       atanh |x| = ln(1 + 2 |x| / (1 - |x|)) / 2
//! ```
//!
//! `ln 2` is two floats (Cody and Waite, *Software Manual for the Elementary Functions*, 1980,
//! chapter 6). The polynomials `q` (degree 9) and `l` (degree 6) have least relative errors on
//! their intervals, by Remez's exchange in numbers of 60 digits: .08 and .006 units in the last
//! place of `e^r - 1` and `ln`. Largest errors found against 50 digits, in such units: `exp` 1.0,
//! `exp_m1` 1.2, `tanh` 1.5, `sinh` 1.6, `cosh` .9, `ln` .8, `ln_1p` .8, `asinh` 1.1, `acosh` 1.7,
//! `atanh` 1.7, `hypot` 1.0.
//!
//! Every product that is added to something is rounded once with the sum (`mul_add`), also where
//! the processor has no instruction for it and takes long. So a number has one value on every
//! machine, wherever it is in an array.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// Remainder of ln 2.
pub(super) const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;
/// Added to a float and subtracted again, it rounds to an integer, which is in its last digits.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;
/// Largest exponent: beyond it `e^x` overflows or vanishes.
const LARGEST_EXPONENT: f64 = 710.0;
const LEAST_EXPONENT: f64 = -746.0;
/// Largest argument: beyond it hyperbolic sines and cosines overflow.
const LARGEST: f64 = 710.6;
/// Threshold below which `e^x - 1`, `tanh x` and the like are `x`.
pub(super) const TINY: f64 = 1e-300;

/// `(e^r - 1 - r) / r^2`
const EXP: [f64; 10] = [
    0.500_000_000_000_000_6,
    0.166_666_666_666_666_85,
    0.041_666_666_666_574_1,
    0.008_333_333_333_314_659,
    0.001_388_888_893_225_574_7,
    0.000_198_412_699_028_934_45,
    2.480_150_456_991_942_4e-5,
    2.755_722_806_905_890_4e-6,
    2.762_628_368_719_592_5e-7,
    2.511_443_868_174_942_6e-8,
];

/// `(ln((1 + s) / (1 - s)) / s - 2) / s^2` in `s^2`
pub(super) const LN: [f64; 7] = [
    0.666_666_666_666_673_4,
    0.399_999_999_994_147_7,
    0.285_714_287_423_898_26,
    0.222_221_985_712_054_98,
    0.181_835_645_030_636_9,
    0.153_140_444_075_755_25,
    0.147_960_254_452_785_66,
];

#[inline(always)]
pub(super) fn polynomial<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut p = c[N - 1];
    for k in (0..N - 1).rev() {
        p = p.mul_add(x, c[k]);
    }
    p
}

/// Returns a sum, and what rounding takes of it.
#[inline(always)]
#[doc(hidden)]
pub fn exact_sum(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    let part = sum - a;
    [sum, (a - (sum - part)) + (b - part)]
}

/// Adds two numbers of which `b` is small beside `a`.
#[inline(always)]
pub(super) fn join(a: f64, b: f64) -> [f64; 2] {
    let sum = a + b;
    [sum, b - (sum - a)]
}

/// A NaN stays what it is.
#[inline(always)]
fn within(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// Computes `2^n`, of the last digits of `n`.
#[inline(always)]
pub(super) fn power(n: u64) -> f64 {
    f64::from_bits(n.wrapping_add(1023) << 52)
}

/// Returns the nearest integer to `x / ln 2` as the last digits of a float, and as one.
#[inline(always)]
fn powers_of_two(x: f64) -> (u64, f64) {
    let marked = x.mul_add(LOG2_E, ROUND);
    (marked.to_bits().wrapping_sub(ROUND.to_bits()), marked - ROUND)
}

/// Computes `x 2^n`, of `n` as the last digits of a float, and as one: by two factors, so that
/// results near the ends of the range come out right.
#[inline(always)]
fn scaled(x: f64, (n, float): (u64, f64)) -> f64 {
    let half = float.mul_add(0.5, ROUND).to_bits().wrapping_sub(ROUND.to_bits());
    x * power(half) * power(n.wrapping_sub(half))
}

/// Computes `e^x`
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let x = within(x, LEAST_EXPONENT, LARGEST_EXPONENT);
    let n = powers_of_two(x);
    let r = (-n.1).mul_add(LN_2_REST, (-n.1).mul_add(LN_2, x));
    let p = (r * r).mul_add(polynomial(&EXP, r), r);
    scaled(1.0 + p, n)
}

/// Computes `e^(x + more)`, with `more` small, and with what rounding takes of `r` and of `1 + r`
/// given back.
#[inline(always)]
pub(super) fn exp_of_sum(x: f64, more: f64) -> f64 {
    let x = within(x, LEAST_EXPONENT, LARGEST_EXPONENT);
    let n = powers_of_two(x);
    let [r, rest] = join((-n.1).mul_add(LN_2, x), (-n.1).mul_add(LN_2_REST, more));
    let [sum, lost] = join(1.0, r);
    scaled(sum + (lost + (r * r).mul_add(polynomial(&EXP, r), rest)), n)
}

/// Returns a fourth of `e^x - 1` as a sum of which the first is much greater: the whole may be
/// infinite.
#[inline(always)]
fn minus_one(x: f64) -> [f64; 2] {
    let (n, float) = powers_of_two(x);
    let near = (-float).mul_add(LN_2, x);
    let r = (-float).mul_add(LN_2_REST, near);
    let rest = (-float).mul_add(LN_2_REST, near - r);
    let u = (r * r).mul_add(polynomial(&EXP, r), rest);
    let scale = power(n.wrapping_sub(2));
    let whole = scale - 0.25;
    let sum = scale.mul_add(r, whole);
    [sum, scale.mul_add(u, scale.mul_add(r, whole - sum))]
}

/// Computes `e^x - 1`
#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let [sum, rest] = minus_one(within(x, -60.0, 710.0));
    if x.abs() < TINY { x } else { 4.0 * (sum + rest) }
}

/// Returns the hyperbolic sine.
#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let [sum, rest] = minus_one(within(x.abs(), 0.0, LARGEST));
    let [t, t_rest] = join(sum, rest);
    let y = 2.0 * (t + (t / (1.0 + 4.0 * t) + t_rest));
    if x.abs() < TINY { x } else { y.copysign(x) }
}

/// Returns the hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let [sum, rest] = minus_one(within(x.abs(), 0.0, LARGEST));
    let [t, t_rest] = join(sum, rest);
    let [e, e_rest] = exact_sum(0.25, t);
    2.0 * (e + (0.0625 / e + (e_rest + t_rest)))
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let [sum, rest] = minus_one(within(-2.0 * x.abs(), -60.0, 0.0)).map(|part| 4.0 * part);
    let [t, t_rest] = join(sum, rest);
    let [d, d_rest] = join(2.0, t);
    let d_rest = d_rest + t_rest;
    // A quotient, and what it lacks.
    let inverse = 1.0 / d;
    let y = -t * inverse;
    let lacks = (-y).mul_add(d, -t) - y.mul_add(d_rest, t_rest);
    let y = lacks.mul_add(inverse, y);
    if x.abs() < TINY { x } else { y.copysign(x) }
}

/// Returns the natural logarithm.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    ln_of(x, 0.0)
}

/// Returns the natural logarithm of `1 + x`.
#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let [sum, rest] = exact_sum(1.0, x);
    let y = ln_of(sum, rest / sum);
    if x.abs() < TINY { x } else { y }
}

/// Threshold from which the inverse hyperbolic sine and cosine are `ln 2x`.
const NO_ROOT: f64 = 268_435_456.0;

/// Returns the natural logarithm of `1 + a + b`.
#[inline(always)]
fn ln_1p_of_sum(a: f64, b: f64) -> f64 {
    let [t, t_rest] = exact_sum(a, b);
    let [sum, rest] = exact_sum(1.0, t);
    ln_of(sum, (rest + t_rest) / sum)
}

/// Returns the inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let near = if a < NO_ROOT { a } else { 0.0 };
    let square = near * near;
    let y = ln_1p_of_sum(near, square / (1.0 + (1.0 + square).sqrt()));
    let y = if a < NO_ROOT { y } else { ln(a) + LN_2 };
    if a < TINY { x } else { y.copysign(x) }
}

/// Returns the inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let t = if x < NO_ROOT { x - 1.0 } else { 0.0 };
    let y = ln_1p_of_sum(t, (t * (t + 2.0)).sqrt());
    let y = if x < NO_ROOT { y } else { ln(x) + LN_2 };
    if x < 1.0 { f64::NAN } else { y }
}

/// Returns the inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let y = 0.5 * ln_1p(2.0 * a / (1.0 - a));
    if a < TINY { x } else { y.copysign(x) }
}

/// Computes `sqrt(x^2 + y^2)`, of numbers that are brought near 1 first.
#[inline(always)]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let larger = if x < y { y } else { x };
    let exponent = larger.to_bits() >> 52;
    let exponent = if exponent < 1 { 1 } else { exponent };
    let exponent = if exponent > 2045 { 2045 } else { exponent };
    let scale = f64::from_bits((2046 - exponent) << 52);
    let (a, b) = (x * scale, y * scale);
    let h = a.mul_add(a, b * b).sqrt() * f64::from_bits(exponent << 52);
    let infinite = x == f64::INFINITY || y == f64::INFINITY;
    if infinite { f64::INFINITY } else { h }
}

/// The inverse hyperbolic functions of one number, by other functions of the standard library. Its
/// own lose digits: `acosh` near 1, `atanh` near -1, and `asinh` overflows.
pub(super) mod alone {
    use std::f64::consts::LN_2;

    use super::NO_ROOT;

    pub(in crate::scalar) fn asinh(x: f64) -> f64 {
        let a = x.abs();
        let y = if a < NO_ROOT {
            (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p()
        } else {
            a.ln() + LN_2
        };
        y.copysign(x)
    }

    pub(in crate::scalar) fn acosh(x: f64) -> f64 {
        let t = x - 1.0;
        if x < 1.0 {
            f64::NAN
        } else if t < NO_ROOT {
            (t + (t * (t + 2.0)).sqrt()).ln_1p()
        } else {
            x.ln() + LN_2
        }
    }

    pub(in crate::scalar) fn atanh(x: f64) -> f64 {
        let a = x.abs();
        (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
    }
}

/// Returns a positive finite number as `2^n (1 + f)` between `sqrt(1/2)` and `sqrt 2` times `2^n`.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let y = if small { x * 18_014_398_509_481_984.0 } else { x };
    let n = (y.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits()).cast_signed() >> 52).cast_unsigned();
    let f = f64::from_bits(y.to_bits().wrapping_sub(n << 52)) - 1.0;
    let n = f64::from_bits(ROUND.to_bits().wrapping_add(n)) - ROUND;
    (if small { n - 54.0 } else { n }, f)
}

/// Returns the natural logarithm of `x (1 + more)`, with `more` no larger than what rounding
/// leaves.
#[inline(always)]
fn ln_of(x: f64, more: f64) -> f64 {
    let (n, f) = split(x);
    let s = f / (2.0 + f);
    let half = 0.5 * f * f;
    let tail = s.mul_add((s * s).mul_add(polynomial(&LN, s * s), half), n.mul_add(LN_2_REST, more));
    let y = n.mul_add(LN_2, f - (half - tail));
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 { f64::NAN } else { y }
}

#[cfg(test)]
pub(super) mod tests {
    use support::random::Rng;

    use super::*;
    use crate::scalar::Scalar;

    /// Returns the number of floats between two floats.
    pub(in crate::scalar) fn apart(a: f64, b: f64) -> u64 {
        let place = |x: f64| {
            let n = x.to_bits().cast_signed();
            if n < 0 { i64::MIN.wrapping_sub(n) } else { n }
        };
        if a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)) }
    }

    /// Numbers from 0 to 1 that look random.
    pub(in crate::scalar) fn random() -> impl FnMut() -> f64 {
        let mut rng = Rng::new(1);
        move || rng.unit()
    }

    type Float = fn(f64) -> f64;
    const FUNCTIONS: [(&str, Float, Float); 7] = [
        ("exp", exp, f64::exp),
        ("exp_m1", exp_m1, f64::exp_m1),
        ("tanh", tanh, f64::tanh),
        ("sinh", sinh, f64::sinh),
        ("cosh", cosh, f64::cosh),
        ("ln", ln, f64::ln),
        ("ln_1p", ln_1p, f64::ln_1p),
    ];

    #[test]
    fn they_are_right_to_two_units_in_the_last_place() {
        let mut random = random();
        for _ in 0..20_000 {
            let (u, v) = (random(), random() - 0.5);
            let points = [
                1460.0 * u - 748.0,
                8.0 * v,
                50.0 * v,
                v * 10f64.powf(-320.0 * u),
                // Every exponent, subnormal numbers too.
                f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64),
                f64::from_bits((u * 1e16) as u64),
                1.0 + v * 10f64.powf(-15.0 * u),
                v * 10f64.powf(-15.0 * u),
                -1.0 + u * 10f64.powf(-30.0 * v.abs()),
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

    /// Beside the library's `ln_1p`, with arguments that are off by a unit or two.
    #[test]
    fn inverse_hyperbolic_functions_keep_their_digits() {
        let functions: [(&str, Float, Float); 3] = [
            ("asinh", asinh, alone::asinh),
            ("acosh", acosh, alone::acosh),
            ("atanh", atanh, alone::atanh),
        ];
        let mut random = random();
        let ends = [
            0.0,
            5e-324,
            1e-300,
            1.0,
            1.0 - f64::EPSILON / 2.0,
            1.5,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let mut points: Vec<f64> = ends.iter().flat_map(|&x| [x, -x]).collect();
        for _ in 0..20_000 {
            let (u, v) = (random(), random() - 0.5);
            let near = v * 10f64.powf(-15.0 * u);
            let any = f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64);
            points.extend([
                near,
                1.0 + near,
                near - 1.0,
                2.0 * v,
                50.0 * v,
                10f64.powf(20.0 * u),
                any,
                -any,
            ]);
        }
        for ((name, ours, theirs), x) in
            functions.iter().flat_map(|f| points.iter().map(move |x| (f, *x)))
        {
            let (a, b) = (ours(x), theirs(x));
            assert!(apart(a, b) <= 4, "{name}({x:e}): {a:e} {b:e}");
            assert!(
                a.is_nan() || a.is_sign_negative() == x.is_sign_negative(),
                "{name}({x:e}): {a:e}"
            );
        }
        // Those of floats are odd, as they are.
        for x in [0.3, 0.999_999_9, 1.0 - f64::EPSILON / 2.0] {
            assert_eq!(Scalar::atanh(&-x).to_bits(), (-Scalar::atanh(&x)).to_bits());
        }
        assert!(apart(Scalar::asinh(&-f64::MAX), -710.475_860_073_943_9) <= 1);
    }

    #[test]
    fn lengths_are_right_to_two_units_in_the_last_place() {
        let mut random = random();
        let ends = [0.0, 5e-324, f64::MIN_POSITIVE, 1.0, 1.5e308, f64::INFINITY, f64::NAN];
        let mut points: Vec<(f64, f64)> =
            ends.iter().flat_map(|&x| ends.map(|y| (x, -y))).collect();
        for _ in 0..20_000 {
            let (u, v) = (random(), random() - 0.5);
            let any = f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64);
            points.extend([
                (u, v),
                (v, 1e-8 * u),
                (any, any * v),
                (any, any * 10f64.powf(-30.0 * u)),
                (v, any),
            ]);
        }
        for (x, y) in points {
            assert!(apart(hypot(x, y), x.hypot(y)) <= 2, "({x:e}, {y:e}): {:e}", hypot(x, y));
        }
    }

    #[test]
    fn the_inverse_hyperbolic_cosine_keeps_its_digits_near_1() {
        // acosh(1 + t) = sqrt(2 t) (1 - t/12 + 3 t^2/160 - ...)
        for t in [2f64.powi(-52), 2f64.powi(-40), 2f64.powi(-30), 2f64.powi(-20)] {
            let expected = (2.0 * t).sqrt() * (1.0 - t / 12.0 + 3.0 * t * t / 160.0);
            for given in [acosh(1.0 + t), alone::acosh(1.0 + t), Scalar::acosh(&(1.0 + t))] {
                assert!(apart(given, expected) <= 2, "{t:e}: {given:e} {expected:e}");
            }
        }
    }

    #[test]
    fn their_limits_are_those_of_the_library() {
        let ends = [
            0.0,
            f64::MIN_POSITIVE,
            5e-324,
            1.0,
            709.782_712_893_384,
            709.782_712_893_385,
            f64::MAX,
            f64::INFINITY,
        ];
        for x in ends.iter().flat_map(|&x| [x, -x]).chain([f64::NAN, -745.13, -745.14, -744.44]) {
            for (name, ours, theirs) in FUNCTIONS {
                let (a, b) = (ours(x), theirs(x));
                let sign = a.is_nan() || a.is_sign_negative() == b.is_sign_negative();
                assert!(sign && apart(a, b) <= 1, "{name}({x:e}): {a:e} {b:e}");
            }
        }
    }
}
