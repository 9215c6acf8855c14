//! Vectors of numbers: sums in order, so that the same numbers give the same bits.

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y)
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Returns the largest absolute value; 0 of nothing.
pub(super) fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// Returns `x + t d`.
pub(super) fn step_along(x: &[f64], t: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + t * d).collect()
}

/// Returns `a - b`.
pub(super) fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Returns `-a`.
pub(super) fn negated(a: &[f64]) -> Vec<f64> {
    a.iter().map(|a| -a).collect()
}
