//! Derivatives by differences, which share nothing with the other methods but the values.
//!
//! Values vary over angles of size 1, however large the numbers are, so steps are absolute: the
//! cube root of the rounding unit balances the rounding of values, `unit / h`, against curvature,
//! `h^2 / 6` times the third derivative. That is `6e-11` in `f64` and `3e-5` in `f32`, times the
//! third derivative of the value by the input, which grows as the cube of the frequency. A step is
//! what the numbers beside the input are apart in the end, so that its rounding counts nothing.
//!
//! Two things make steps longer. Numbers beyond some `1e10` (`1e4` in `f32`) are further apart than
//! that. And parameters that are computed from inputs (`t * s`, not `3 * t`) are rounded by
//! `unit |t|`, in place of `unit`, so that the step is the cube root of that. Where the error by
//! curvature would become more than sixteen times as large, or `1e-6`, an error says so.
//!
//! Where one side is no probability, two steps go to the other side, with three lengths: a slope
//! that shorter steps only make larger, as that of `sqrt(1 - gamma)` at 1, is infinite.

use super::{Expectation, HybridError};
use crate::scalar::Real;

/// The longest step beside parameters that are computed, unless the usual one is longer.
const LONGEST: f64 = 1e-3;

impl Expectation {
    /// Differences of `f` by each of the inputs; NaN where a computed parameter has no derivative.
    ///
    /// # Errors
    /// [`HybridError::Step`] where numbers are too far apart; those of `f`.
    pub(super) fn differences<T: Real>(
        &self,
        at: &[T],
        f: impl Fn(&[T]) -> Result<T, HybridError>,
    ) -> Result<Vec<T>, HybridError> {
        let singular = self.chain.singular(at)?;
        (0..at.len())
            .map(|k| if singular[k] { Ok(T::lit(f64::NAN)) } else { self.difference(at, k, &f) })
            .collect()
    }

    fn difference<T: Real>(
        &self,
        at: &[T],
        k: usize,
        f: &impl Fn(&[T]) -> Result<T, HybridError>,
    ) -> Result<T, HybridError> {
        let is_single = (T::lit(1.0) + T::lit(1e-12) - T::lit(1.0)).is_exact_zero();
        let unit = if is_single { 6e-8 } else { 1.1e-16 };
        let (x, usual) = (at[k].primal().unwrap_or(0.0), f64::cbrt(unit));
        let rounding = unit * x.abs().max(1.0);
        let (h, longest) = if self.chain.is_trivial() {
            (usual.max(2.0 * rounding), 4.0 * usual)
        } else {
            (f64::cbrt(rounding), LONGEST.max(4.0 * usual))
        };
        // Infinite numbers are refused where values are.
        if x.is_finite() && h > longest {
            let name = self.circuit.inputs().nth(k).unwrap_or_default().to_owned();
            return Err(HybridError::Step { name, value: x });
        }
        // How far away, and the value there.
        let beside = |steps: f64| -> Result<(f64, T), HybridError> {
            let mut moved = at.to_vec();
            moved[k] = at[k].clone() + T::lit(steps * h);
            let step = moved[k].primal().map_or(steps * h, |moved| moved - x);
            Ok((step, f(&moved)?))
        };
        match (beside(1.0), beside(-1.0)) {
            (Ok((right, up)), Ok((left, down))) => Ok((up - down) * T::lit((right - left).recip())),
            (Err(error), _) if error.is_no_probability() => {
                one_sided(&f(at)?, -1.0, unit / h, beside)
            }
            (_, Err(error)) if error.is_no_probability() => {
                one_sided(&f(at)?, 1.0, unit / h, beside)
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }
}

/// Returns the slope to one side of a value, from those beside it; `noise` is the error of a
/// difference over a step.
fn one_sided<T: Real>(
    here: &T,
    side: f64,
    noise: f64,
    beside: impl Fn(f64) -> Result<(f64, T), HybridError>,
) -> Result<T, HybridError> {
    let slope = |steps: f64| -> Result<T, HybridError> {
        let ((a, near), (b, far)) = (beside(side * steps)?, beside(2.0 * side * steps)?);
        // The parabola through the three values.
        let [near, far] = [near - here, far - here];
        Ok((near * T::lit(b / a) - far * T::lit(a / b)) * T::lit((b - a).recip()))
    };
    let [first, second, third] = [slope(1.0)?, slope(0.125)?, slope(0.015_625)?];
    let change = |a: &T, b: &T| (b.clone() - a).primal().unwrap_or(0.0);
    let (before, after) = (change(&first, &second), change(&second, &third));
    // Of a smooth function the second is a 64th of the first. Shorter steps have more noise.
    let floor = 1e4 * noise * here.primal().map_or(1.0, |y| y.abs().max(1.0));
    if after.abs() > floor && after.abs() > 0.5 * before.abs() {
        return Ok(T::lit(after.signum() * f64::INFINITY));
    }
    Ok(first)
}
