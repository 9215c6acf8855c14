//! Special functions of 64-bit floats, and what reads them for numbers that carry more.
//!
//! ```text
//! sigmoid x        = 1 / (1 + e^-x)                softplus x = ln(1 + e^x)
//! logaddexp(x, y)  = ln(e^x + e^y)
//! polygamma(n, x)  = d^n/dx^n digamma(x), digamma(x) = d/dx ln |Gamma(x)|
//! ```
//!
//! The error functions and the logarithm of the gamma function are musl's (`libm`), the others
//! are where emitted Rust has them from. For `x > 0` and `n > 0`
//!
//! ```text
//! |polygamma(n, x)| = n! sum_k 1 / (x + k)^(n+1)
//!                   ~ (n-1)! / x^n (1 + n/(2x) + sum_k B_2k (n + 2k - 1)! / ((2k)! (n - 1)! x^(2k)))
//! ```
//!
//! The first terms of the sum are added, the rest is the asymptotic series at `x + k >= n + 15`,
//! whose error is below a unit in the last place there (Abramowitz and Stegun, 6.4.10 and 6.4.11;
//! 6.3.5 and 6.3.18 for digamma). Left of 0 what lies on the other side of the nearest pole is
//! added and taken off again, which neither cancels nor depends on how far left x is.

use super::Real;

include!("special_plain.rs");

/// The functions above as text, `//-` between them: emitted Rust has them from here.
#[doc(hidden)]
pub const SPECIAL_SOURCE: &str = include_str!("special_plain.rs");

/// Evaluates a function of a number that carries nothing but its value; NaN of others.
fn alone<T: Real>(x: &T, f: impl FnOnce(f64) -> f64) -> T {
    match x.primal() {
        Some(value) if x.beyond().is_exact_zero() => T::lit(f(value)),
        _ => T::lit(f64::NAN),
    }
}

/// The special functions of numbers that carry nothing but their values.
pub(super) mod plain {
    use super::{Real, alone};

    macro_rules! plain {
        ($($f:ident = $of_float:path;)*) => {$(
            pub(in crate::scalar) fn $f<T: Real>(x: &T) -> T { alone(x, $of_float) }
        )*};
    }
    plain! {
        erf = libm::erf;
        erfc = libm::erfc;
        lgamma = libm::lgamma;
        sigmoid = super::sigmoid;
        softplus = super::softplus;
    }
    pub(in crate::scalar) fn polygamma<T: Real>(x: &T, n: i64) -> T {
        alone(x, |x| super::polygamma(x, n))
    }
    pub(in crate::scalar) fn logaddexp<T: Real>(x: &T, y: &T) -> T {
        match y.primal() {
            Some(value) if y.beyond().is_exact_zero() => alone(x, |x| super::logaddexp(x, value)),
            _ => T::lit(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_arguments_that_are_far_out_end() {
        assert!(polygamma(1.0, -1).is_nan() && polygamma(1.0, 2049).is_nan());
        assert!(polygamma(1.0, i64::MAX).is_nan());
        assert_eq!(polygamma(1e300, 1), 1e-300);
        assert_eq!(polygamma(1e300, 3), 0.0);
        assert_eq!(polygamma(1e-300, 2048), f64::NEG_INFINITY);
        assert_eq!(polygamma(f64::INFINITY, 1), 0.0);
        assert_eq!(polygamma(f64::INFINITY, 0), f64::INFINITY);
    }
}
