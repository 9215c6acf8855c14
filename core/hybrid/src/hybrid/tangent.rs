//! Tangent directions, and dual numbers along them.
//!
//! A (co)tangent may be shorter than what it belongs to; the rest is zero
//! ([`Kind`](crate::ir::Kind)).

use num_dual::{Dual, DualNum};

use crate::scalar::Real;

/// Returns the direction of number k of n.
pub(super) fn unit_vector<T: Real>(n: usize, k: usize) -> Vec<T> {
    (0..n).map(|j| if j == k { T::one() } else { T::zero() }).collect()
}

/// Returns a direction with the zeros that it may leave out.
pub(super) fn padded<T: Real>(d: &[T], n: usize) -> Vec<T> {
    let mut all = d.to_vec();
    all.resize(n.max(d.len()), T::zero());
    all
}

/// Returns `x + d eps`.
pub(super) fn along_tangent<T: Real + DualNum>(x: &[T], d: &[T]) -> Vec<Dual<T>> {
    x.iter().zip(padded(d, x.len())).map(|(x, d)| Dual::new(x.clone(), d)).collect()
}
