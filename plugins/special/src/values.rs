//! Values where the crates below need a hand: other argument types, ranges that panic, series that they lack.

use errorfunctions::ComplexErrorFunctions;
use ketgrad_plugin_sdk::C64;
use statrs::function::{beta, gamma};

pub(crate) fn erf(z: C64) -> C64 {
    ComplexErrorFunctions::erf(z)
}

pub(crate) fn erfc(z: C64) -> C64 {
    ComplexErrorFunctions::erfc(z)
}

pub(crate) fn digamma(x: f64) -> f64 {
    gamma::digamma(x)
}

/// `P(a, x)`; NaN outside `a > 0`, `x >= 0`.
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    gamma::checked_gamma_lr(a, x).unwrap_or(f64::NAN)
}

/// `Q(a, x) = 1 - P(a, x)`.
pub(crate) fn gamma_q(a: f64, x: f64) -> f64 {
    gamma::checked_gamma_ur(a, x).unwrap_or(f64::NAN)
}

/// `I_x(a, b)`; NaN outside `a, b > 0`, `0 <= x <= 1`.
pub(crate) fn beta_inc(a: f64, b: f64, x: f64) -> f64 {
    beta::checked_beta_reg(a, b, x).unwrap_or(f64::NAN)
}

/// The even Bernoulli numbers B2, B4, ….
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

/// The (n+1)-th derivative of ln Gamma, `(-1)^(n+1) n! sum of 1/(x+k)^(n+1)`, for x > 0; NaN elsewhere and for n < 0.
///
/// The first terms are summed until `x + k` is large; the rest is the Euler-Maclaurin formula (Abramowitz and Stegun,
/// 6.4.11). Relative error about 1e-15.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if !(n > 0.0 && x > 0.0) {
        return f64::NAN;
    }
    let s = n + 1.0;
    let mut at = x;
    let mut sum = 0.0;
    while at < 12.0 + n {
        sum += at.powf(-s);
        at += 1.0;
    }
    sum += at.powf(-n) / n + 0.5 * at.powf(-s);
    // B_2k / (2k)! times s (s+1) … (s+2k-2) / at^(s+2k-1)
    let mut factor = s * at.powf(-s - 1.0) / 2.0;
    for (k, b) in BERNOULLI.iter().enumerate() {
        sum += b * factor;
        let j = 2.0 * (k as f64 + 1.0);
        factor *= (s + j - 1.0) * (s + j) / ((j + 1.0) * (j + 2.0) * at * at);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * libm::tgamma(s) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygamma_has_its_known_values() {
        let pi = std::f64::consts::PI;
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-15, "{a} {b}");
        close(polygamma(1.0, 1.0), pi * pi / 6.0);
        close(polygamma(1.0, 0.5), pi * pi / 2.0);
        // -2 zeta(3) and pi^4 / 15
        close(polygamma(2.0, 1.0), -2.0 * 1.202_056_903_159_594_3);
        close(polygamma(3.0, 1.0), pi.powi(4) / 15.0);
        assert!(polygamma(1.0, -1.0).is_nan() && polygamma(-1.0, 1.0).is_nan());
    }
}
