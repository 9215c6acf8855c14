//! The gamma function, its logarithm and the derivatives of that, on complex numbers.
//!
//! All of them rest on the Stirling series
//!
//! ```text
//! ln Gamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + sum over k of B_2k / (2k (2k-1) z^(2k-1)),
//! ```
//!
//! which with ten terms is exact to rounding where `Re z >= 7` or `|Im z| >= 7`. A smaller z is
//! moved there by `Gamma(z) = Gamma(z + m) / (z (z+1) … (z+m-1))`; the left half plane is
//! reflected: `Gamma(z) Gamma(1-z) = pi / sin(pi z)`.
//!
//! On a branch cut, the sign of the imaginary zero says on which side a number lies.
//!
//! Source: D. E. G. Hare, "Computing the principal branch of log-gamma", J. Algorithms 25 (1997)
//! 221; Abramowitz and Stegun, 6.1.41, 6.1.33, 6.3.18, 6.4.10; the Lipschitz formula for the sum
//! over all integers.

use std::f64::consts::{PI, TAU};

use ketgrad_plugin_sdk::C64;

/// Distance from which the Stirling series is exact to rounding.
const FAR: f64 = 7.0;

/// Imaginary part from which `cot(pi (x + iy))` is -i to rounding.
const HIGH: f64 = 6.0;

/// Euler-Mascheroni constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Coefficients `(zeta(k) - 1) / k` for k = 2, 3, …
const ZETA: [f64; 26] = [
    0.322_467_033_424_113_2,
    0.067_352_301_053_198_09,
    0.020_580_808_427_784_546,
    0.007_385_551_028_673_986,
    0.002_890_510_330_741_523_4,
    0.001_192_753_911_703_261,
    0.000_509_669_524_743_042_5,
    0.000_223_154_758_453_579_39,
    9.945_751_278_180_853e-5,
    4.492_623_673_813_314e-5,
    2.050_721_277_567_069e-5,
    9.439_488_275_268_397e-6,
    4.374_866_789_907_488e-6,
    2.039_215_753_801_366e-6,
    9.551_412_130_407_42e-7,
    4.492_469_198_764_566e-7,
    2.120_718_480_555_466_7e-7,
    1.004_322_482_396_81e-7,
    4.769_810_169_363_980_4e-8,
    2.271_109_460_894_316_4e-8,
    1.083_865_921_489_695_5e-8,
    5.183_475_041_970_047e-9,
    2.483_674_543_802_478_5e-9,
    1.192_140_140_586_091_2e-9,
    5.731_367_241_678_862e-10,
    2.759_522_885_124_233_4e-10,
];

/// Even Bernoulli numbers B2, B4, ….
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

fn real(x: f64) -> C64 {
    C64::new(x, 0.0)
}

/// Returns `(sin(pi x), cos(pi x))`, exact zeros and ones where they are.
fn sin_cos_pi(x: f64) -> (f64, f64) {
    // In units of a quarter turn from the nearest one.
    let quarters = (2.0 * x).round();
    let (sin, cos) = (PI * (x - 0.5 * quarters)).sin_cos();
    match quarters.rem_euclid(4.0) as u8 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Returns `sin(pi z)`.
fn sin_pi(z: C64) -> C64 {
    let ((sin, cos), y) = (sin_cos_pi(z.re), PI * z.im);
    C64::new(sin * y.cosh(), cos * y.sinh())
}

/// Returns `cot(pi z)`.
fn cot_pi(z: C64) -> C64 {
    if z.im.abs() >= HIGH {
        return C64::new(0.0, -z.im.signum());
    }
    let ((sin, cos), (sinh, cosh)) = (sin_cos_pi(z.re), ((PI * z.im).sinh(), (PI * z.im).cosh()));
    C64::new(sin * cos, -sinh * cosh) / (sin * sin + sinh * sinh)
}

/// Returns `ln(1 + w)` for a small w.
fn ln_1p(w: C64) -> C64 {
    C64::new(0.5 * (2.0 * w.re + w.norm_sqr()).ln_1p(), w.im.atan2(1.0 + w.re))
}

/// Returns `ln Gamma(z)` by the Stirling series.
fn stirling(z: C64) -> C64 {
    let (inverse, half_ln_tau) = (z.finv(), 0.5 * TAU.ln());
    let square = inverse * inverse;
    let mut sum = C64::default();
    for (k, b) in BERNOULLI.iter().enumerate().rev() {
        let two_k = 2.0 * (k as f64 + 1.0);
        sum = sum * square + b / (two_k * (two_k - 1.0));
    }
    (z - 0.5) * z.ln() - z + half_ln_tau + sum * inverse
}

/// Returns `ln Gamma(2 + w)` for `|w| <= 1/2`: `(1 - gamma) w + sum of (zeta(k) - 1) (-w)^k / k`.
fn ln_gamma_near_two(w: C64) -> C64 {
    let sum = ZETA.iter().rev().fold(C64::default(), |sum, c| c - w * sum);
    w * (w * sum + (1.0 - EULER))
}

/// Returns `z (z+1) … (z+m-1)`, `z + m`, where the Stirling series is exact, and the winding number
/// of the product around zero.
fn moved(mut z: C64) -> (C64, C64, f64) {
    let (mut product, mut turns) = (real(1.0), 0.0);
    while z.re < FAR && z.im.abs() < FAR {
        let above = product.im.is_sign_positive();
        product *= z;
        // In the upper half plane, to which this is brought, each factor turns to the left.
        if above && product.im.is_sign_negative() {
            turns += 1.0;
        }
        z += 1.0;
    }
    (product, z, turns)
}

/// Principal branch of `ln Gamma(z)`: real on the positive axis, cut along the negative one. Its
/// real part is `ln |Gamma(z)|`; its imaginary part is not reduced modulo 2 pi, so that derivatives
/// are those of `digamma`.
///
/// Relative error about 1e-15, also near the zeros 1 and 2.
pub(crate) fn lgamma(z: C64) -> C64 {
    if z.im.is_sign_negative() {
        return lgamma(z.conj()).conj();
    }
    if (z - 2.0).norm() <= 0.5 {
        return ln_gamma_near_two(z - 2.0);
    }
    if (z - 1.0).norm() <= 0.5 {
        return ln_gamma_near_two(z - 1.0) - ln_1p(z - 1.0);
    }
    if z.re < 0.1 && z.im < FAR {
        // The branch of ln sin(pi z) that goes on from the right.
        let branch = C64::new(PI.ln(), TAU * (0.5 * z.re + 0.25).floor());
        return branch - sin_pi(z).ln() - lgamma(real(1.0) - z);
    }
    let (product, far, turns) = moved(z);
    stirling(far) - product.ln() - C64::new(0.0, TAU * turns)
}

/// Returns `Gamma(z)`. Relative error about 1e-15 times `1 + |ln Gamma(z)|`; on the real axis that
/// of the real function.
pub(crate) fn gamma(z: C64) -> C64 {
    if z.im == 0.0 {
        return C64::new(libm::tgamma(z.re), z.im);
    }
    if z.im.abs() >= FAR || z.re < -150.0 {
        return lgamma(z).exp();
    }
    if z.re < 0.5 {
        // `finv`, since the square of the modulus may overflow.
        return real(PI) / sin_pi(z) * gamma(real(1.0) - z).finv();
    }
    let (product, far, _) = moved(z);
    stirling(far).exp() / product
}

/// Returns `digamma(z)`, the derivative of `ln Gamma(z)`. Absolute error about 1e-15 near its
/// zeros, else relative.
pub(crate) fn digamma(z: C64) -> C64 {
    if z.re < 0.5 {
        return digamma(real(1.0) - z) - cot_pi(z) * PI;
    }
    let (mut z, mut sum) = (z, C64::default());
    while z.norm_sqr() < 100.0 {
        sum -= z.finv();
        z += 1.0;
    }
    let inverse = z.finv();
    let square = inverse * inverse;
    let mut series = C64::default();
    for (k, b) in BERNOULLI.iter().enumerate().rev() {
        series = series * square + b / (2.0 * (k as f64 + 1.0));
    }
    sum + z.ln() - 0.5 * inverse - series * square
}

/// Returns the n-th derivative of `digamma(z)`, `(-1)^(n+1) n! sum over k >= 0 of 1/(z+k)^(n+1)`;
/// NaN for n < 0 and at its poles 0, -1, ….
///
/// Relative error about 1e-15 times n. In the left half plane it is reflected to the right half
/// plane by the sum over all integers, which has the period 1.
pub(crate) fn polygamma(n: f64, z: C64) -> C64 {
    let at_pole = z.im == 0.0 && z.re <= 0.0 && z.re.fract() == 0.0;
    if z.is_nan() || at_pole || !(n >= 0.0 && n < f64::from(i32::MAX)) {
        return C64::new(f64::NAN, f64::NAN);
    }
    if n == 0.0 {
        return digamma(z);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    if z.re >= 0.5 {
        return hurwitz(n, z) * sign;
    }
    // sum over k >= 0 of 1/(z+k)^s = sum over all k - (-1)^s sum over k >= 0 of 1/(1-z+k)^s
    (everywhere(n, z) - hurwitz(n, real(1.0) - z) * sign) * sign
}

/// Returns `n! sum over k >= 0 of 1/(z+k)^(n+1)`, a Hurwitz zeta function, for `Re z >= 1/2`: terms
/// are added while they count and `|z + k|` is small, the rest by the Euler-Maclaurin formula.
fn hurwitz(n: f64, z: C64) -> C64 {
    let s = n + 1.0;
    // All in units of the first term.
    let power = |w: C64| (z * w.finv()).powi(s as i32);
    let (mut at, mut sum) = (z, C64::default());
    while at.norm() < 12.0 + n {
        let term = power(at);
        sum += term;
        at += 1.0;
        if term.norm() < 1e-18 {
            return sum * first(n, z);
        }
    }
    let term = power(at);
    sum += term * (at / n + 0.5);
    // B_2k / (2k)! times s (s+1) … (s+2k-2) / at^(s+2k-1)
    let inverse = at.finv();
    let square = inverse * inverse;
    let mut factor = term * inverse * (0.5 * s);
    for (k, b) in BERNOULLI.iter().enumerate() {
        sum += factor * *b;
        let j = 2.0 * (k as f64 + 1.0);
        factor = factor * square * ((s + j - 1.0) * (s + j) / ((j + 1.0) * (j + 2.0)));
    }
    sum * first(n, z)
}

/// Returns the first term, `n! / z^(n+1)`.
fn first(n: f64, z: C64) -> C64 {
    let s = n + 1.0;
    let power = z.finv().powi(s as i32);
    if s < 170.0 && (1e-290..1e290).contains(&power.norm()) {
        return power * libm::tgamma(s);
    }
    (real(libm::lgamma(s)) - z.ln() * s).exp()
}

/// Returns `n! sum over all integers k of 1/(z+k)^(n+1)`, which has the period 1.
fn everywhere(n: f64, z: C64) -> C64 {
    let s = n + 1.0;
    let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
    let z = C64::new(z.re - z.re.round(), z.im);
    // The other series falls from its first term on, and is that much smaller than a single term
    // here.
    if z.im.abs() < 1.0 || TAU * z.im.abs() < n {
        return first(n, z) + hurwitz(n, z + 1.0) + hurwitz(n, real(1.0) - z) * sign;
    }
    // (-2 pi i)^s sum over k > 0 of k^n q^k with q = e^(2 pi i z), for Im z > 0; below the axis its
    // conjugate.
    let above = if z.im < 0.0 { z.conj() } else { z };
    let mut sum = C64::default();
    let mut k = 1.0;
    loop {
        // Logarithms: k^n may overflow where the term does not.
        let term = (C64::new(0.0, TAU * k) * above + n * f64::ln(k) + s * TAU.ln()).exp();
        sum += term;
        let small = term.norm() <= 1e-18 * sum.norm();
        if small || sum.is_nan() {
            break;
        }
        k += 1.0;
    }
    let sum = sum * C64::new(0.0, -1.0).powi((s % 4.0) as i32);
    if z.im < 0.0 { sum.conj() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding of some dozen operations.
    const ROUNDING: f64 = 4e-15;

    fn close(given: C64, expected: C64, what: impl std::fmt::Display) {
        let far = (given - expected).norm();
        assert!(far <= ROUNDING * (1.0 + expected.norm()), "{what}: {given} instead of {expected}");
    }

    /// Returns points in both half planes, near and far, on both sides of the negative axis.
    fn points() -> impl Iterator<Item = C64> {
        let re = [-9.6, -3.25, -0.5, -0.01, 0.3, 0.9, 1.1, 1.6, 2.2, 4.4, 8.5];
        let im = [-12.0, -6.5, -3.0, -0.9, -0.04, 0.04, 0.7, 1.2, 5.0, 7.1];
        re.into_iter().flat_map(move |re| im.into_iter().map(move |im| C64::new(re, im)))
    }

    /// To 17 digits, from a computation with 70.
    #[test]
    fn known_values() {
        let c = C64::new;
        // |Gamma(i)|^2 = pi / sinh pi, |Gamma(1/2 + i)|^2 = pi / cosh pi
        close(real(gamma(c(0.0, 1.0)).norm_sqr()), real(PI / PI.sinh()), "Gamma(i)");
        close(real(gamma(c(0.5, 1.0)).norm_sqr()), real(PI / PI.cosh()), "Gamma(1/2 + i)");
        close(gamma(c(0.3, 0.8)), c(0.230_919_868_285_504_2, -0.719_491_553_990_785_8), "gamma");
        close(
            gamma(c(-2.4, 1.7)),
            c(0.009_752_811_475_241_723, -0.012_875_560_380_981_116),
            "gamma",
        );
        close(
            gamma(c(5.0, -9.0)),
            c(-0.020_897_466_121_477_262, 0.037_035_722_791_235_556),
            "gamma",
        );
        close(lgamma(c(-3.5, 0.2)), c(-1.489_660_367_505_290_8, -12.288_514_412_727_094), "lgamma");
        close(
            lgamma(c(1.02, 0.01)),
            c(-0.011_298_392_731_307_968, -0.005_447_513_281_012_468),
            "lgamma",
        );
        close(
            lgamma(c(-20.25, -15.0)),
            c(-83.351_757_050_125_56, 18.557_952_502_940_903),
            "lgamma",
        );
        close(
            digamma(c(-1.3, 0.4)),
            c(1.080_715_597_823_069_6, 2.739_838_546_995_481_6),
            "digamma",
        );
        close(digamma(c(3.0, 20.0)), c(3.003_384_919_668_365, 1.446_416_064_579_148_8), "digamma");
        close(
            polygamma(1.0, c(-2.3, 0.6)),
            c(-0.024_662_980_302_852_72, 0.768_927_675_091_163_4),
            "polygamma",
        );
        close(
            polygamma(3.0, c(0.7, -1.4)),
            c(-0.523_604_765_684_428_3, -0.754_851_784_604_393_6),
            "polygamma",
        );
        close(
            polygamma(2.0, c(-8.75, 3.0)),
            c(-0.008_551_695_720_237_914, -0.006_180_211_365_693_322_5),
            "polygamma",
        );
        // psi'(1) = pi^2/6, psi''(1) = -2 zeta(3), psi'(-1/2) = pi^2/2 + 4
        close(polygamma(1.0, real(1.0)), real(PI * PI / 6.0), "psi'(1)");
        close(polygamma(2.0, real(1.0)), real(-2.0 * 1.202_056_903_159_594_3), "psi''(1)");
        close(polygamma(1.0, real(-0.5)), real(PI * PI / 2.0 + 4.0), "psi'(-1/2)");
    }

    #[test]
    fn functional_equations() {
        for z in points() {
            let next = z + 1.0;
            let relative = gamma(next) / (z * gamma(z));
            close(relative, real(1.0), format_args!("Gamma(z+1) = z Gamma(z) at {z}"));
            let reflected = gamma(z) * gamma(real(1.0) - z) * sin_pi(z) / PI;
            // Both sides are exponentials of numbers of some tens.
            assert!((reflected - 1.0).norm() < 20.0 * ROUNDING, "reflection at {z}: {reflected}");
            close(lgamma(next), lgamma(z) + z.ln(), format_args!("ln Gamma(z+1) at {z}"));
            close(lgamma(z.conj()), lgamma(z).conj(), format_args!("conjugate at {z}"));
            let product = lgamma(z).exp() / gamma(z);
            assert!((product - 1.0).norm() < 20.0 * ROUNDING, "exp ln Gamma at {z}: {product}");
            close(digamma(next), digamma(z) + z.finv(), format_args!("psi(z+1) at {z}"));
            for n in 1..5 {
                let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
                let step = z.finv().powi(n + 1) * (libm::tgamma(f64::from(n) + 1.0) * sign);
                let (a, b) = (polygamma(f64::from(n), next), polygamma(f64::from(n), z));
                let far = (a - b - step).norm() / (a.norm() + b.norm() + step.norm());
                assert!(far < ROUNDING, "polygamma({n}, z+1) at {z}: {a} instead of {}", b + step);
            }
        }
    }

    /// Each function agrees with central differences of order four of the one before.
    #[test]
    fn each_is_the_derivative_of_the_one_before() {
        let h = 1e-3;
        for z in points().filter(|z| (z - z.re.round()).norm() > 0.2 || z.re > 0.5) {
            let slope = |f: &dyn Fn(C64) -> C64| {
                (f(z - 2.0 * h) - f(z + 2.0 * h) + (f(z + h) - f(z - h)) * 8.0) / (12.0 * h)
            };
            let mut expected = digamma(z);
            let mut given = slope(&lgamma);
            for n in 0..6 {
                let far = (given - expected).norm() / (1.0 + expected.norm());
                assert!(far < 1e-7, "derivative {n} at {z}: {given} instead of {expected}");
                given = slope(&|z| polygamma(f64::from(n), z));
                expected = polygamma(f64::from(n) + 1.0, z);
            }
        }
    }

    /// Numbers that are not finite, poles and huge orders give an answer at once.
    #[test]
    fn nothing_hangs_or_overflows_on_the_way() {
        let odd =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, 0.0, -0.0, -7.0, 1e-310];
        for re in odd {
            for im in odd {
                let z = C64::new(re, im);
                let _ = (gamma(z), lgamma(z), digamma(z));
                let _ = [-1.0, 0.0, 1.0, 50.0, 1e5, 2e9, 1e300, f64::NAN].map(|n| polygamma(n, z));
            }
        }
        assert!(polygamma(1.0, real(-3.0)).is_nan() && polygamma(-1.0, real(1.0)).is_nan());
        // 10^5! / 2e5^(10^5 + 1), which neither factor shows
        let small = polygamma(1e5, real(3.7e4)).re;
        assert!(small.is_finite() && small < 0.0, "{small}");
        // Gamma(-120.5 + i) by the reflection formula, whose factors are near the ends of the range
        let z = C64::new(-120.5, 1.0);
        // Both are exponentials of numbers of some hundreds.
        let next = gamma(z + 1.0);
        assert!(
            next.norm() > 1e-205 && (gamma(z) * z - next).norm() < 200.0 * ROUNDING * next.norm()
        );
    }
}
