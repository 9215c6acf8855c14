//! Expectation values of Pauli strings and sums, without building a matrix.
//!
//! A Pauli string flips the bits of a mask x and multiplies by a sign from the parity of another
//! mask z: `P |i> = i^{#Y} (-1)^{|i & z|} |i ^ x>`. So
//! `<psi|P|psi> = sum_i conj(psi[i ^ x]) i^{#Y} (-1)^{|i & z|} psi[i]`. Of the product of two
//! amplitudes only the real part is needed where #Y is even, and the imaginary part where it is
//! odd. Terms of a sum that share x and the part share the products.
//!
//! `Complex<f32>` and `Complex<f64>` have a vector kernel (`kernel/simd/pauli.rs`), which also puts
//! terms of different x into one pass over memory; every other number takes the loops here.

use std::{any::Any, ops::Range};

use num_complex::Complex;

use super::{StateError, StateVector, memory::Amplitudes};
use crate::{
    basis::odd,
    kernel::{
        InstructionSet, Threads,
        simd::{FlipProduct, expectation},
        tree_sum,
    },
    observable::PauliSum,
    scalar::{Real, Scalar},
};

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Returns `<psi|O|psi>` of a sum of Pauli strings; the same bits for any number of threads.
    /// O(2^n) per distinct set of qubits with X or Y, and O(2^n / 8) for each term that shares it.
    ///
    /// # Errors
    /// [`StateError::Basis`] if it acts on a qubit that the state does not have.
    pub fn expectation(&self, observable: &PauliSum, threads: &Threads) -> Result<T, StateError> {
        type ExpectationFn<S> =
            fn(&StateVector<S>, &PauliSum, &Threads) -> Result<<S as Scalar>::Real, StateError>;
        compiled!(S: ExpectationFn = [f32, f64, Complex<f32>, Complex<f64>] StateVector::expectation_any)(
            self, observable, threads,
        )
    }

    fn expectation_any(&self, observable: &PauliSum, threads: &Threads) -> Result<T, StateError> {
        Self::check_acts(self.n_qubits, observable)?;
        let terms = observable.terms().iter().map(|(c, string)| (*c, string.masks()));
        let products = FlipProduct::of_terms(terms);
        if let Some(value) = self.vector_expectation(&products, threads) {
            return Ok(T::lit(value));
        }
        let sums = products.iter().map(|product| self.product(product, threads));
        Ok(sums.fold(T::zero(), |total, sum| total + sum))
    }

    /// Returns the sum by vector registers, if the numbers are of a type that they hold.
    fn vector_expectation(&self, products: &[FlipProduct], threads: &Threads) -> Option<f64> {
        let (amplitudes, set): (&dyn Any, _) = (&self.amplitudes, InstructionSet::detect());
        if let Some(a) = amplitudes.downcast_ref::<Amplitudes<Complex<f64>>>() {
            return expectation(products, a, threads, set);
        }
        amplitudes
            .downcast_ref::<Amplitudes<Complex<f32>>>()
            .and_then(|a| expectation(products, a, threads, set))
    }

    /// Sums one product of amplitudes with the signs of all its strings. For x = 0 it is |psi_i|^2;
    /// else i and i ^ x give complex conjugates, so half the indices do.
    fn product(&self, product: &FlipProduct, threads: &Threads) -> T {
        let (a, x) = (&self.amplitudes, product.x);
        let weight = |i: usize| {
            let signed = |w: f64, &(z, weight): &(usize, f64)| {
                if odd(i & z) { w - weight } else { w + weight }
            };
            product.strings.iter().fold(0.0, signed)
        };
        let add = |p: T, q: T| p + q;
        if x == 0 {
            let block = |range: Range<usize>| {
                range.fold(T::zero(), |sum, i| sum + a[i].abs2() * T::lit(weight(i)))
            };
            return tree_sum(a.len(), threads, block, add);
        }
        let top = 1usize << (usize::BITS - 1 - x.leading_zeros());
        let block = |range: Range<usize>| {
            range.fold(T::zero(), |sum, k| {
                // k with a 0 put in at the top bit of x
                let i = (k & !(top - 1)) << 1 | k & (top - 1);
                let weight = weight(i);
                if weight == 0.0 {
                    return sum;
                }
                let w = a[i ^ x].conj() * &a[i];
                let part = if product.imaginary { w.im() } else { w.re() };
                sum + part * T::lit(2.0 * weight)
            })
        };
        tree_sum(a.len() / 2, threads, block, add)
    }
}
