//! Expectation values of Pauli strings and sums, without building a matrix.
//!
//! A Pauli string flips the bits of a mask x and multiplies by a sign from the parity of another
//! mask z: `P |i> = i^{#Y} (-1)^{|i & z|} |i ^ x>`. So
//! `<psi|P|psi> = sum_i conj(psi[i ^ x]) i^{#Y} (-1)^{|i & z|} psi[i]`.
//! Terms of a sum that share x share one pass over the state.

use std::collections::BTreeMap;

use super::{StateError, StateVector};
use crate::{
    basis::BasisError,
    kernel::{Threads, tree_sum},
    observable::{PauliString, PauliSum},
    scalar::{Real, Scalar},
};

/// A term of a pass: its z mask, and its coefficient split into the part that multiplies the real
/// and the one that multiplies the imaginary part of `conj(psi[i ^ x]) psi[i]`.
struct Term {
    z: usize,
    re: f64,
    im: f64,
}

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// `<psi|P|psi>` of one Pauli string. O(2^n).
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if it acts on a qubit that the state does not have.
    pub fn expectation_of(&self, string: &PauliString, threads: &Threads) -> Result<T, StateError> {
        self.expectation(&PauliSum::new([(1.0, string.clone())]), threads)
    }

    /// `<psi|O|psi>` of a sum of Pauli strings. O(2^n) per distinct set of qubits with X or Y, with a
    /// sign for each term.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if it acts on a qubit that the state does not have.
    pub fn expectation(&self, observable: &PauliSum, threads: &Threads) -> Result<T, StateError> {
        if observable.n_qubits() > self.n_qubits {
            let given = observable.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: self.n_qubits }.into());
        }
        let mut passes: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        for (coefficient, string) in observable.terms() {
            let (x, z) = (string.x_mask(), string.z_mask());
            // Re(i^k w) is Re w, -Im w, -Re w, Im w for k = 0, 1, 2, 3.
            let (re, im) = match (x & z).count_ones() % 4 {
                0 => (*coefficient, 0.0),
                1 => (0.0, -coefficient),
                2 => (-coefficient, 0.0),
                _ => (0.0, *coefficient),
            };
            passes.entry(x).or_default().push(Term { z, re, im });
        }
        let mut total = T::zero();
        for (x, terms) in passes {
            total += self.pass(x, &terms, threads);
        }
        Ok(total)
    }

    /// The terms that flip the bits of x. For x = 0 only |psi_i|^2 is needed; else i and i ^ x give
    /// complex conjugates, so half the indices do.
    fn pass(&self, x: usize, terms: &[Term], threads: &Threads) -> T {
        let a = &self.amplitudes;
        let add = |p: T, q: T| p + q;
        let sign = |i: usize, z: usize| if (i & z).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let weight = |i: usize, part: fn(&Term) -> f64| {
            terms.iter().fold(0.0, |w, term| w + part(term) * sign(i, term.z))
        };
        if x == 0 {
            let block = |range: std::ops::Range<usize>| {
                range.fold(T::zero(), |sum, i| sum + a[i].abs2() * T::lit(weight(i, |t| t.re)))
            };
            return tree_sum(a.len(), threads, block, add);
        }
        let top = 1usize << (usize::BITS - 1 - x.leading_zeros());
        let block = |range: std::ops::Range<usize>| {
            range.fold(T::zero(), |sum, k| {
                // k with a 0 put in at the top bit of x
                let i = (k & !(top - 1)) << 1 | k & (top - 1);
                let w = a[i ^ x].conj() * &a[i];
                let (re, im) = (weight(i, |t| t.re), weight(i, |t| t.im));
                let mut sum = sum;
                if re != 0.0 {
                    sum += w.re() * T::lit(2.0 * re);
                }
                if im != 0.0 {
                    sum += w.im() * T::lit(2.0 * im);
                }
                sum
            })
        };
        tree_sum(a.len() / 2, threads, block, add)
    }
}
