//! Inverse circular functions, the cube root, and logarithms to other bases, of 64-bit floats
//! without branches, as [`elementary`](super::elementary).
//!
//! ```text
//! atan a    = c + atan t, c = 0, pi/4, pi/2     t = a, (a - 1) / (a + 1), -1 / a, |t| <= tan(pi/8)
//! atan t    = t + t^3 p(t^2)
//! asin a    = a + a^3 q(a^2)                    a <= 1/2
//!           = pi/2 - 2 asin s                   s = sqrt((1 - a) / 2), beyond
//! cbrt x    = 2^k m z^2                         x = 2^(3 k) m, z = m^(-1/3) by a polynomial and Newton's steps
//! log2 x    = n + (1 / ln 2) ln(1 + f)          x = 2^n (1 + f), the product and the sum in two floats
//! ```
//!
//! The polynomials `p` (degree 10) and `q` (degree 12) have least relative errors on their
//! intervals, by Remez's exchange in numbers of 60 digits: .011 and .009 units in the last place of
//! `atan` and `asin`. What a quotient or a root lacks is added to it. Largest errors found against
//! 50 digits, in units in the last place: `atan` and `atan2` .74, `asin` .58, `acos` .54, `cbrt`
//! .50, `log2` and `log10` .55; results of `atan2` that are subnormal .93.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LOG2_E, LOG10_2, LOG10_E, PI};

use super::elementary::{LN, ROUND, exact_sum, join, polynomial, power, split};

/// Remainder of pi/2.
const FRAC_PI_2_REST: f64 = 6.123_233_995_736_766e-17;
/// Remainder of `1 / ln 2`, `1 / ln 10` and `ln 2 / ln 10`.
const LOG2_E_REST: f64 = 2.035_527_374_093_103_3e-17;
const LOG10_E_REST: f64 = 1.098_319_650_216_765e-17;
const LOG10_2_REST: f64 = -2.803_728_127_785_170_3e-18;
/// `tan(pi/8)` and `tan(3 pi/8)`
const TAN_PI_8: f64 = std::f64::consts::SQRT_2 - 1.0;
const TAN_3_PI_8: f64 = std::f64::consts::SQRT_2 + 1.0;
/// Threshold from which the inverse tangent is pi/2.
const STEEP: f64 = 1e20;

/// `(atan t - t) / t^3` in `t^2`
const ATAN: [f64; 11] = [
    -0.333_333_333_333_332,
    0.199_999_999_999_540_5,
    -0.142_857_142_802_448_52,
    0.111_111_107_859_391_03,
    -0.090_908_978_303_536_17,
    0.076_920_615_228_389_49,
    -0.066_631_190_261_516_72,
    0.058_479_986_535_839_31,
    -0.050_397_977_012_126_4,
    0.038_077_069_709_507_756,
    -0.017_920_872_043_452_437,
];

/// `(asin a - a) / a^3` in `a^2`
const ASIN: [f64; 13] = [
    0.166_666_666_666_667_63,
    0.074_999_999_999_702_67,
    0.044_642_857_175_117_11,
    0.030_381_942_683_771_986,
    0.022_372_215_656_380_562,
    0.017_351_600_156_291_27,
    0.013_980_960_737_277_52,
    0.011_397_781_423_250_224,
    0.010_786_500_586_221_444,
    0.003_683_142_811_234_595_5,
    0.021_763_268_324_387_842,
    -0.021_076_983_852_445_38,
    0.032_676_707_095_434_98,
];

/// `m^(-1/3)` between `sqrt(1/8)` and `sqrt 8`, right to .0013.
const INVERSE_CUBE_ROOT: [f64; 7] = [
    2.124_834_731_236_875,
    -3.051_973_688_735_265,
    3.790_369_061_631_001,
    -2.817_471_156_276_35,
    1.198_897_499_082_821,
    -0.268_975_640_238_420_1,
    0.024_619_084_116_715_692,
];

/// Returns the angle of `(d, n)` between 0 and pi/2 as two floats, where one of them is near 1 and
/// none is negative.
#[inline(always)]
fn angle(n: f64, d: f64) -> [f64; 2] {
    let (low, high) = (n < TAN_PI_8 * d, n > TAN_3_PI_8 * d);
    let middle = !low && !high;
    let [sum, sum_rest] = exact_sum(n, d);
    let [difference, difference_rest] = exact_sum(n, -d);
    let above = if low { n } else { -d };
    let above = if middle { difference } else { above };
    let below = if low { d } else { n };
    let below = if middle { sum } else { below };
    let (above_rest, below_rest) = if middle { (difference_rest, sum_rest) } else { (0.0, 0.0) };
    let turn: f64 = if low { 0.0 } else { 2.0 };
    let turn = if middle { 1.0 } else { turn };
    let inverse = 1.0 / below;
    let t = above * inverse;
    let lacks = ((-t).mul_add(below, above) + (-t).mul_add(below_rest, above_rest)) * inverse;
    let square = t * t;
    let rest =
        (t * square).mul_add(polynomial(&ATAN, square), turn.mul_add(0.5 * FRAC_PI_2_REST, lacks));
    // A quarter of pi and its double are exact multiples; the sum is not.
    let [sum, lost] = join(turn * FRAC_PI_4, t);
    let [sum, lost] = if low { [t, 0.0] } else { [sum, lost] };
    [sum, lost + rest]
}

/// Returns the inverse tangent.
#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    let a = x.abs();
    let a = if a > STEEP { STEEP } else { a };
    let [y, rest] = angle(a, 1.0);
    (y + rest).copysign(x)
}

/// Returns the angle of the point `(x, y)` in (-pi, pi].
#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    let larger = if a < b { b } else { a };
    let exponent = larger.to_bits() >> 52;
    let exponent = if exponent < 1 { 1 } else { exponent };
    let exponent = if exponent > 2045 { 2045 } else { exponent };
    let scale = f64::from_bits((2046 - exponent) << 52);
    let both = a == b;
    let infinite = larger == f64::INFINITY;
    // Of two infinite numbers as of two equal ones; two zeros have the angle of (1, 0).
    let n = if infinite { if a == f64::INFINITY { 1.0 } else { 0.0 } } else { a * scale };
    let d = if infinite { if b == f64::INFINITY { 1.0 } else { 0.0 } } else { b * scale };
    let d = if both && larger == 0.0 { 1.0 } else { d };
    let [angle, rest] = angle(n, d);
    let [turned, lost] = join(PI, -angle);
    let turned = turned + (lost + (2.0 * FRAC_PI_2_REST - rest));
    let angle = if x.is_sign_negative() { turned } else { angle + rest };
    let angle = if a.is_nan() || b.is_nan() { f64::NAN } else { angle };
    angle.copysign(y)
}

/// Half of the angle whose cosine is `a`, by `sqrt((1 - a) / 2)`: as a float and what it lacks,
/// with the square.
#[inline(always)]
fn half_angle(a: f64) -> [f64; 2] {
    let square = (1.0 - a) * 0.5;
    let s = square.sqrt();
    let inverse = if s > 0.0 { 0.5 / s } else { 0.0 };
    let lacks = (-s).mul_add(s, square) * inverse;
    [s, (s * square).mul_add(polynomial(&ASIN, square), lacks)]
}

/// Returns the inverse sine.
#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let near = (a * square).mul_add(polynomial(&ASIN, square), a);
    let [s, rest] = half_angle(a);
    let [sum, lost] = join(FRAC_PI_2, -2.0 * s);
    let far = sum + (lost + 2.0f64.mul_add(-rest, FRAC_PI_2_REST));
    let y = if a <= 0.5 { near } else { far };
    y.copysign(x)
}

/// Returns the inverse cosine.
#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    let a = x.abs();
    let square = x * x;
    let tail = (x * square).mul_add(polynomial(&ASIN, square), -FRAC_PI_2_REST);
    let [sum, lost] = join(FRAC_PI_2, -x);
    let near = sum + (lost - tail);
    let [s, rest] = half_angle(a);
    let right = 2.0 * (s + rest);
    let [sum, lost] = join(PI, -2.0 * s);
    let left = sum + (lost + 2.0f64.mul_add(-rest, 2.0 * FRAC_PI_2_REST));
    let far = if x < 0.0 { left } else { right };
    if a <= 0.5 { near } else { far }
}

/// Returns the cube root.
#[inline(always)]
pub(super) fn cbrt(x: f64) -> f64 {
    const THIRD: f64 = 1.0 / 3.0;
    let a = x.abs();
    let (n, f) = split(a);
    let marked = n.mul_add(THIRD, ROUND);
    let third = marked - ROUND;
    let bits = |n: f64| (n + ROUND).to_bits().wrapping_sub(ROUND.to_bits());
    let m = (1.0 + f) * power(bits((-3.0f64).mul_add(third, n)));
    let mut z = polynomial(&INVERSE_CUBE_ROOT, m);
    for _ in 0..2 {
        let lacks = (-m * z).mul_add(z * z, 1.0);
        z = (z * THIRD).mul_add(lacks, z);
    }
    let y = m * (z * z);
    let square = y * y;
    let lost = y.mul_add(y, -square);
    let lacks = (-lost).mul_add(y, (-square).mul_add(y, m));
    let y =
        (lacks * THIRD).mul_add(z * z, y) * power(marked.to_bits().wrapping_sub(ROUND.to_bits()));
    let ends = a == 0.0 || a == f64::INFINITY || a.is_nan();
    if ends { x } else { y.copysign(x) }
}

/// Computes `n whole + ln(x / 2^n) unit`, both constants as two floats, for the `n` of [`split`].
#[inline(always)]
fn logarithm(x: f64, whole: [f64; 2], unit: [f64; 2]) -> f64 {
    let (n, f) = split(x);
    let s = f / (2.0 + f);
    let square = f * f;
    let half = 0.5 * square;
    let half_rest = 0.5 * f.mul_add(f, -square);
    let [ln, lost] = join(f, -half);
    let tail = s.mul_add((s * s).mul_add(polynomial(&LN, s * s), half), lost - half_rest);
    let [ln, tail] = join(ln, tail);
    let product = ln * unit[0];
    let product_rest = ln.mul_add(unit[0], -product) + ln.mul_add(unit[1], tail * unit[0]);
    let multiple = n * whole[0];
    let multiple_rest = n.mul_add(whole[0], -multiple) + n * whole[1];
    let [sum, lost] = exact_sum(multiple, product);
    let y = sum + (lost + (multiple_rest + product_rest));
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < 0.0 { f64::NAN } else { y }
}

/// Returns the logarithm to base 2; exact for powers of 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    logarithm(x, [1.0, 0.0], [LOG2_E, LOG2_E_REST])
}

/// Returns the logarithm to base 10; exact for powers of 10.
#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    logarithm(x, [LOG10_2, LOG10_2_REST], [LOG10_E, LOG10_E_REST])
}

#[cfg(test)]
mod tests {
    use super::{
        super::elementary::tests::{apart, random},
        *,
    };

    type Float = fn(f64) -> f64;
    const FUNCTIONS: [(&str, Float, Float); 6] = [
        ("atan", atan, f64::atan),
        ("asin", asin, f64::asin),
        ("acos", acos, f64::acos),
        ("cbrt", cbrt, f64::cbrt),
        ("log2", log2, f64::log2),
        ("log10", log10, f64::log10),
    ];

    /// Beside the library's, which are off by a unit themselves (two of `log10`).
    #[test]
    fn they_are_right_to_a_unit_in_the_last_place() {
        let mut random = random();
        let ends = [
            0.0,
            5e-324,
            1e-300,
            0.5,
            1.0,
            1.5,
            8.0,
            1000.0,
            1e22,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let mut points: Vec<f64> = ends.iter().flat_map(|&x| [x, -x]).collect();
        for _ in 0..20_000 {
            let (u, v) = (random(), random() - 0.5);
            let near = v * 10f64.powf(-15.0 * u);
            let any = f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64);
            let subnormal = f64::from_bits((u * 1e16) as u64);
            points.extend([
                near,
                1.0 + near,
                near - 1.0,
                0.5 + near,
                near - 0.5,
                2.0 * v,
                10.0 * v,
            ]);
            points.extend([TAN_PI_8 + near, TAN_3_PI_8 + near, any, -any, subnormal, -subnormal]);
        }
        for ((name, ours, theirs), x) in
            FUNCTIONS.iter().flat_map(|f| points.iter().map(move |x| (f, *x)))
        {
            let (a, b) = (ours(x), theirs(x));
            let sign = a.is_nan() || a.is_sign_negative() == b.is_sign_negative();
            assert!(sign && apart(a, b) <= 2, "{name}({x:e}): {a:e} {b:e}");
        }
    }

    #[test]
    fn angles_are_right_to_a_unit_in_the_last_place() {
        let mut random = random();
        let ends = [0.0, 5e-324, f64::MIN_POSITIVE, 1.0, 1.5e308, f64::INFINITY, f64::NAN];
        let both = |x: f64| [x, -x];
        let ends: Vec<f64> = ends.into_iter().flat_map(both).collect();
        let mut points: Vec<(f64, f64)> =
            ends.iter().flat_map(|&y| ends.iter().map(move |&x| (y, x))).collect();
        for _ in 0..20_000 {
            let (u, v, w) = (random(), random() - 0.5, random() - 0.5);
            let any = f64::from_bits((u * f64::INFINITY.to_bits() as f64) as u64);
            let other = f64::from_bits((random() * f64::INFINITY.to_bits() as f64) as u64);
            points.extend([
                (v, w),
                (any, other),
                (any, -other),
                (v, -1e-18 * w),
                (u * TAN_PI_8, 1.0 + 1e-9 * v),
            ]);
            points.extend([
                (any, any),
                (any, any * v),
                (1e-300 * v, 1e-320 * w),
                (1e308 * v, 1e308 * w),
            ]);
        }
        for (y, x) in points {
            let (a, b) = (atan2(y, x), y.atan2(x));
            let sign = a.is_nan() || a.is_sign_negative() == b.is_sign_negative();
            assert!(sign && apart(a, b) <= 1, "({y:e}, {x:e}): {a:e} {b:e}");
        }
    }

    #[test]
    fn powers_have_exact_roots_and_logarithms() {
        assert!((-1074..1024).all(|n| log2(f64::from(n).exp2()) == f64::from(n)));
        assert!((0..23).all(|n| log10(10f64.powi(n)) == f64::from(n)));
        assert!((-3000..3000).map(f64::from).all(|n| cbrt(n * n * n) == n));
    }
}
