//! Adapters of the crates that compute values: other argument types, ranges where they panic,
//! series that they lack.

use errorfunctions::ComplexErrorFunctions;
use ketgrad_plugin_sdk::C64;
use statrs::function::{beta, gamma};

use crate::complex;

const NAN: C64 = C64::new(f64::NAN, f64::NAN);

pub(crate) fn erf(z: C64) -> C64 {
    ComplexErrorFunctions::erf(z)
}

pub(crate) fn erfc(z: C64) -> C64 {
    ComplexErrorFunctions::erfc(z)
}

/// Bessel function of the first kind of a complex number, by ACM algorithm 644; NaN where it has no
/// value.
pub(crate) fn bessel_j(n: f64, z: C64) -> C64 {
    complex_bessel::besselj(n, z).unwrap_or(NAN)
}

/// Bessel function of the second kind, with the arguments of [`bessel_j`]; the principal branch,
/// cut along the negative axis.
pub(crate) fn bessel_y(n: f64, z: C64) -> C64 {
    complex_bessel::bessely(n, z).unwrap_or(NAN)
}

/// Branch k of the Lambert W function, `w e^w = z`.
pub(crate) fn lambert_w(k: i32, z: C64) -> C64 {
    let (re, im) = lambert_w::lambert_w(k, z.re, z.im, f64::EPSILON);
    C64::new(re, im)
}

/// Digamma function; NaN at the poles -1, -2, …; at 0 the infinity of its side.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 { -x.recip() } else { polygamma(0.0, x) }
}

/// Derivative of order n of [`digamma`]; NaN at its poles and for n < 0.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    complex::polygamma(n, C64::new(x, 0.0)).re
}

/// Regularised lower incomplete gamma function `P(a, x)`; NaN outside `a > 0`, `x >= 0`.
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    gamma::checked_gamma_lr(a, x).unwrap_or(f64::NAN)
}

/// Regularised upper incomplete gamma function `Q(a, x) = 1 - P(a, x)`.
pub(crate) fn gamma_q(a: f64, x: f64) -> f64 {
    gamma::checked_gamma_ur(a, x).unwrap_or(f64::NAN)
}

/// Regularised incomplete beta function `I_x(a, b)`; NaN outside `a, b > 0`, `0 <= x <= 1`.
pub(crate) fn beta_inc(a: f64, b: f64, x: f64) -> f64 {
    beta::checked_beta_reg(a, b, x).unwrap_or(f64::NAN)
}
