//! Action of the numbers of gates on the numbers of amplitudes.

use super::{Operator, Threads, apply};
use crate::scalar::Ring;

/// A ring that acts on amplitudes of type `A`: itself, or numbers that lack something which those
/// of the ring carry, such as the prime of their field. So every kernel is written once, and a
/// vector holds no more than it has to.
pub trait ActsOn<A>: Ring {
    /// Returns `self x`.
    fn act(&self, x: &A) -> A;
    /// Returns `a x + b y`, the inner step of a 2x2 gate.
    fn act2(a: &Self, x: &A, b: &Self, y: &A) -> A;
    /// Returns the sum of the products of a row and a column of the same length.
    fn act_row(row: &[Self], x: &[A]) -> A;
    /// Replaces `(x, y)` by `(s (x + y), s (x - y))`.
    fn act_crosswise(s: &Self, x: &mut A, y: &mut A);
    /// Applies an operator in place: [`Operator::apply`].
    #[doc(hidden)]
    fn apply(operator: &Operator<Self>, amplitudes: &mut [A], threads: &Threads)
    where
        A: Clone + Send + Sync,
    {
        apply::apply(operator, amplitudes, threads, apply::run);
    }
}

impl<R: Ring> ActsOn<R> for R {
    #[inline(always)]
    fn act(&self, x: &R) -> R {
        x * self
    }
    #[inline(always)]
    fn act2(a: &R, x: &R, b: &R, y: &R) -> R {
        R::dot2(a, x, b, y)
    }
    #[inline(always)]
    fn act_row(row: &[R], x: &[R]) -> R {
        let mut sum = &row[0] * &x[0];
        for (m, x) in row[1..].iter().zip(&x[1..]) {
            sum.mul_add_assign(m, x);
        }
        sum
    }
    #[inline(always)]
    fn act_crosswise(s: &R, x: &mut R, y: &mut R) {
        let (sum, difference) = (&*x + &*y, &*x - &*y);
        *x = sum * s;
        *y = difference * s;
    }
    fn apply(operator: &Operator<R>, amplitudes: &mut [R], threads: &Threads) {
        // On a state of a few qubits a call costs as much as the gate: the loops alone are within
        // one.
        apply::apply(operator, amplitudes, threads, apply::run_compiled);
    }
}
