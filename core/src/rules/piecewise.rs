//! What a formula for a partial may use besides operators and elementary functions.

use std::cmp::Ordering;

use crate::scalar::{N, Real, Scalar};

/// Constants, and functions that are constant between jumps.
pub trait Piecewise: Sized {
    /// A constant of the same kind of number.
    #[must_use]
    fn lit(&self, x: f64) -> Self;
    /// 1, -1, or 0 at 0.
    #[must_use]
    fn sign(&self) -> Self;
    /// The integer part.
    #[must_use]
    fn trunc(&self) -> Self;
    /// 1 if `self >= y`, else 0.
    #[must_use]
    fn step(&self, y: &Self) -> Self;
    /// `self d`, and 0 where `d` is exactly zero, even if `self` is infinite or undefined.
    #[must_use]
    fn scale(&self, d: &Self) -> Self;
}

/// Of a complex number the real part decides; none of the formulas asks that. Of a number without a value
/// yet the answer is NaN: no side is chosen silently.
impl<T: Real, S: Scalar<Real = T>> Piecewise for N<S> {
    fn lit(&self, x: f64) -> Self {
        N(S::lit(x))
    }
    fn sign(&self) -> Self {
        match self.0.re().try_cmp(&T::lit(0.0)) {
            Ok(Some(Ordering::Less)) => self.lit(-1.0),
            Ok(Some(Ordering::Equal)) => self.lit(0.0),
            Ok(Some(Ordering::Greater)) => self.lit(1.0),
            Ok(None) | Err(_) => self.lit(f64::NAN),
        }
    }
    fn trunc(&self) -> Self {
        self.lit(self.0.re().primal().map_or(f64::NAN, f64::trunc))
    }
    fn step(&self, y: &Self) -> Self {
        match self.0.re().try_cmp(&y.0.re()) {
            Ok(Some(Ordering::Less)) => self.lit(0.0),
            Ok(Some(Ordering::Equal | Ordering::Greater)) => self.lit(1.0),
            Ok(None) | Err(_) => self.lit(f64::NAN),
        }
    }
    fn scale(&self, d: &Self) -> Self {
        if d.0.is_exact_zero() { self.lit(0.0) } else { self * d }
    }
}
