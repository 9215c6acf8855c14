//! Reduced density matrices.

use super::{StateError, StateVector};
use crate::{
    basis::BasisError,
    kernel::{Threads, places, tree_sum},
    matrix::Matrix,
    scalar::{Real, Scalar},
};

/// The most qubits that a reduced density matrix may keep: 4^12 entries of 16 bytes are 256 MiB.
const MAX_KEPT: usize = 12;

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// The density matrix of some qubits, the others traced out:
    /// `rho[a][b] = sum_rest psi(a, rest) conj(psi(b, rest))`, bit j of `a` belonging to `qubits[j]`.
    /// O(2^(n+k)).
    ///
    /// # Errors
    /// [`BasisError`] for a qubit that does not exist or is listed twice, or more than 12.
    pub fn reduced_density_matrix(
        &self,
        qubits: &[usize],
        threads: &Threads,
    ) -> Result<Matrix<S>, StateError> {
        self.check_qubits(qubits)?;
        if qubits.len() > MAX_KEPT {
            return Err(BasisError::OutOfRange { given: qubits.len(), available: MAX_KEPT }.into());
        }
        let fixed = qubits.iter().fold(0, |mask, q| mask | 1 << q);
        let offset =
            |outcome: usize| qubits.iter().enumerate().fold(0, |v, (j, q)| v | (outcome >> j & 1) << q);
        let rest = self.amplitudes.len() >> qubits.len();
        let entry = |a: usize, b: usize| {
            let (a, b) = (offset(a), offset(b));
            let block = |range: std::ops::Range<usize>| {
                let mut sum = S::zero();
                for base in places(range, self.n_qubits, fixed, 0) {
                    sum.mul_add_assign(&self.amplitudes[base | a], &self.amplitudes[base | b].conj());
                }
                sum
            };
            tree_sum(rest, threads, block, |x, y| x + y)
        };
        let dim = 1usize << qubits.len();
        // The matrix is Hermitian: what lies below the diagonal was computed above it.
        let upper: Vec<Vec<S>> = (0..dim).map(|a| (a..dim).map(|b| entry(a, b)).collect()).collect();
        Ok(Matrix::from_fn(qubits.len(), |a, b| {
            if a <= b { upper[a][b - a].clone() } else { upper[b][a - b].conj() }
        }))
    }
}
