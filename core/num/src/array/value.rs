//! Numbers by their values, and what they carry besides: derivatives, uncertainty.

use num_complex::Complex;

use crate::scalar::{Real, Scalar, is_single};

use super::Array;

/// Returns the values of numbers. `None` if one is infinite, undefined or has none.
pub(super) fn values<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Option<Vec<Complex<f64>>> {
    let value = |x: T| x.primal().filter(|x| x.is_finite());
    a.iter().map(|x| Some(Complex::new(value(x.re())?, value(x.im())?))).collect()
}

/// Returns the number with a value, which carries nothing. Of an imaginary part a real one takes no
/// notice.
pub(super) fn lift<T: Real, S: Scalar<Real = T>>(z: Complex<f64>) -> S {
    from_parts(T::lit(z.re), T::lit(z.im))
}

/// Returns a number without its value.
pub(super) fn beyond<T: Real, S: Scalar<Real = T>>(x: &S) -> S {
    from_parts(x.re().beyond(), x.im().beyond())
}

/// Returns the number without what it carries besides its value, with all digits that its type has.
pub(super) fn whole_value<T: Real, S: Scalar<Real = T>>(x: &S) -> S {
    let value = |x: T| if T::ORDER == 0 { x } else { x.finite_value() };
    from_parts(value(x.re()), value(x.im()))
}

/// Returns true if a number carries something besides its value.
pub(super) fn is_carrying<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> bool {
    a.iter().any(|x| !x.re().beyond().is_exact_zero() || !x.im().beyond().is_exact_zero())
}

/// Returns the distance from 1 to the next number, as far as floats go.
pub(super) fn unit<T: Real>() -> f64 {
    if is_single::<T>() { f32::EPSILON.into() } else { f64::EPSILON }
}

fn from_parts<T: Real, S: Scalar<Real = T>>(re: T, im: T) -> S {
    S::from_parts(re.clone(), im).unwrap_or_else(|| S::from_real(re))
}
