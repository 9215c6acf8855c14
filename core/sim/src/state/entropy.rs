//! Spectra and entropies: how mixed a state is, and how much a part of it is entangled with the
//! rest.
//!
//! ```text
//! S(rho) = -tr(rho ln rho) = -sum_k p_k ln p_k        p_k the eigenvalues of rho
//! ```
//! in nats; divided by `ln 2` it is in bits. By the Schmidt decomposition both parts of a pure
//! state have the same entropy, the entropy of entanglement: 0 if they are a product, k ln 2 at
//! most for k qubits.
//!
//! Source: M. A. Nielsen, I. L. Chuang, Quantum Computation and Quantum Information (2010), section
//! 11.3.

use super::{DensityMatrix, StateError, StateVector};
use crate::{
    array::{Array, eigh},
    kernel::Threads,
    matrix::Matrix,
    scalar::{Real, Scalar},
};

impl<T: Real, S: Scalar<Real = T>> DensityMatrix<S> {
    /// Returns the eigenvalues, ascending: the probabilities of the pure states that it is a
    /// mixture of. O(8^n).
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
    ///
    /// let circuit = Circuit::build(1, |c| c.h(0)?.bit_flip(0, 0.25)?.phase_flip(0, 0.25))?;
    /// let rho = Simulator::new().run_density::<f64>(&circuit, &[])?;
    /// let spectrum = rho.spectrum()?; // |-> and |+>
    /// assert!((spectrum[0] - 0.25).abs() < 1e-15 && (spectrum[1] - 0.75).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StateError::Spectrum`] for entries that are not finite or have no values.
    pub fn spectrum(&self) -> Result<Vec<T>, StateError> {
        spectrum(&self.to_matrix())
    }

    /// Returns the von Neumann entropy in nats: 0 for a pure state, n ln 2 if nothing is known.
    /// O(8^n).
    ///
    /// # Errors
    /// Those of [`DensityMatrix::spectrum`].
    pub fn entropy(&self) -> Result<T, StateError> {
        Ok(entropy(self.spectrum()?))
    }
}

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Returns the entropy of entanglement of some qubits with the others, in nats. O(2^(n+k) +
    /// 8^k) for the k qubits of the smaller part.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
    ///
    /// let simulator = Simulator::new();
    /// let pair = simulator.run::<f64>(&Circuit::build(2, |c| c.h(0)?.cx(0, 1))?, &[])?;
    /// assert!((pair.entropy(&[0], &simulator.threads)? - 2f64.ln()).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BasisError`](crate::basis::BasisError) for a qubit that does not exist or is listed twice,
    /// or where both parts have more than 12; [`StateError::Spectrum`] for amplitudes that are not
    /// finite or have no values.
    pub fn entropy(&self, qubits: &[usize], threads: &Threads) -> Result<T, StateError> {
        self.check_qubits(qubits)?;
        let others: Vec<usize> = (0..self.n_qubits).filter(|q| !qubits.contains(q)).collect();
        let part = if others.len() < qubits.len() { &others } else { qubits };
        Ok(entropy(spectrum(&self.reduced_density_matrix(part, threads)?)?))
    }
}

/// Returns the eigenvalues of a Hermitian matrix, ascending.
fn spectrum<T: Real, S: Scalar<Real = T>>(matrix: &Matrix<S>) -> Result<Vec<T>, StateError> {
    let dim = 1usize << matrix.n_qubits();
    let items = (0..dim * dim).map(|k| matrix[(k / dim, k % dim)].clone()).collect();
    let (mut values, mut vectors) = (Array::default(), Array::default());
    let found = Array::new(&[dim, dim], items).and_then(|a| eigh(&a, &mut values, &mut vectors));
    found.map_err(|_| StateError::Spectrum)?;
    Ok(values.items().to_vec())
}

/// Returns `-sum p ln p`, where 0 ln 0 is 0; an eigenvalue that rounding made negative is 0.
fn entropy<T: Real>(spectrum: Vec<T>) -> T {
    let positive = spectrum.into_iter().filter(|p| p.primal().is_some_and(|p| p > 0.0));
    positive.fold(T::zero(), |sum, p| sum - p.clone() * p.ln())
}
