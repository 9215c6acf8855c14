//! Functions that a formula for a partial may use besides operators and elementary functions.

use crate::scalar::{N, Piece, Real, Scalar};

/// Constants, functions that are constant between jumps, and special functions of real numbers.
pub trait Piecewise: Sized {
    /// Returns a constant of the same kind of number.
    #[must_use]
    fn lit(&self, x: f64) -> Self;
    /// Returns the sign: 1, -1, or 0 at 0.
    #[must_use]
    fn sign(&self) -> Self;
    /// Returns `sign` as the derivative of the absolute value; it has no derivative itself at 0.
    #[must_use]
    fn abs_slope(&self) -> Self;
    /// Returns the integer part.
    #[must_use]
    fn trunc(&self) -> Self;
    /// Returns 1 if `self >= y`, else 0.
    #[must_use]
    fn step(&self, y: &Self) -> Self;
    /// Returns `self d`, and 0 where `d` is exactly zero, even if `self` is infinite or undefined.
    #[must_use]
    fn scale(&self, d: &Self) -> Self;
    /// Returns `self`, and 0 where `d` is exactly zero, even if `self` is infinite or undefined.
    #[must_use]
    fn guard(&self, d: &Self) -> Self;
    /// Returns `self / y` of real numbers, and 0 where both are 0.
    #[must_use]
    fn ratio(&self, y: &Self) -> Self;
    /// Returns the logistic function of a real number.
    #[must_use]
    fn sigmoid(&self) -> Self;
    /// Returns the n-th derivative of digamma of a real number.
    #[must_use]
    fn polygamma(&self, n: i64) -> Self;
}

/// For a complex number the real part decides; no formula relies on that. For a number that is
/// undecided the result is NaN: no branch is chosen silently.
impl<T: Real, S: Scalar<Real = T>> Piecewise for N<S> {
    fn lit(&self, x: f64) -> Self {
        N(S::lit(x))
    }
    fn sign(&self) -> Self {
        piece(Piece::Sign, self, self)
    }
    fn abs_slope(&self) -> Self {
        piece(Piece::AbsSlope, self, self)
    }
    fn trunc(&self) -> Self {
        piece(Piece::Trunc, self, self)
    }
    fn step(&self, y: &Self) -> Self {
        piece(Piece::Step, self, y)
    }
    fn scale(&self, d: &Self) -> Self {
        if d.0.is_exact_zero() { self.lit(0.0) } else { self * d }
    }
    fn guard(&self, d: &Self) -> Self {
        N(S::guard(&self.0, &d.0))
    }
    fn ratio(&self, y: &Self) -> Self {
        N(S::from_real(self.0.re().over(&y.0.re())))
    }
    fn sigmoid(&self) -> Self {
        N(S::from_real(self.0.re().sigmoid()))
    }
    fn polygamma(&self, n: i64) -> Self {
        N(S::from_real(self.0.re().polygamma(n)))
    }
}

fn piece<T: Real, S: Scalar<Real = T>>(f: Piece, x: &N<S>, y: &N<S>) -> N<S> {
    N(f.eval(&x.0.re(), &y.0.re()).map_or_else(|_| S::lit(f64::NAN), S::from_real))
}
