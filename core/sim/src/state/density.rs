//! Density matrices: of whole registers, and reduced to some qubits.
//!
//! The entries `rho[row][column]` of n qubits are kept as a vector of 2n qubits, at the index
//! `row | column << n`. So what acts on state vectors acts on density matrices: a gate U on qubit q
//! is U on q and its complex conjugate on q + n.

use std::ops::AddAssign;

use super::{StateError, StateVector};
use crate::{
    basis::{BasisError, gather_bits, scatter_bits},
    kernel::{Threads, places, tree_sum},
    matrix::Matrix,
    observable::PauliSum,
    scalar::{Real, Ring, Scalar},
};

/// Largest number of qubits that a reduced density matrix may keep: 4^12 entries of 16 bytes are
/// 256 MiB.
const MAX_KEPT: usize = 12;

/// The state of n qubits with noise: a matrix of 2^n x 2^n entries, Hermitian, with trace 1.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
///
/// let noisy = Circuit::build(1, |c| c.h(0)?.phase_flip(0, 0.5))?;
/// let rho = Simulator::new().run_density(&noisy, &[] as &[f64])?;
/// assert!((rho.purity() - 0.5).abs() < 1e-15);
/// assert!(rho.entry(0, 1).norm() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DensityMatrix<R> {
    n_qubits: usize,
    entries: StateVector<R>,
}

impl<R: Ring> DensityMatrix<R> {
    /// Returns `|0…0><0…0|`.
    ///
    /// # Errors
    /// [`StateError`] if the system does not provide the memory.
    pub fn zero(n_qubits: usize, threads: &Threads) -> Result<DensityMatrix<R>, StateError> {
        let entries = StateVector::zero_on(n_qubits.saturating_mul(2), threads)?;
        Ok(DensityMatrix { n_qubits, entries })
    }

    /// Returns the number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Returns `rho[row][column]`.
    ///
    /// # Panics
    /// If there is no such entry.
    #[must_use]
    pub fn entry(&self, row: usize, column: usize) -> &R {
        assert!(row >> self.n_qubits == 0, "row {row} of 2^{}", self.n_qubits);
        &self.entries.amplitudes()[row | column << self.n_qubits]
    }

    /// Returns all entries as a matrix.
    #[must_use]
    pub fn to_matrix(&self) -> Matrix<R> {
        Matrix::from_fn(self.n_qubits, |row, column| self.entry(row, column).clone())
    }

    /// Returns the matrix with these entries, a vector of 2n qubits.
    pub(super) fn from_entries(n_qubits: usize, entries: StateVector<R>) -> DensityMatrix<R> {
        DensityMatrix { n_qubits, entries }
    }

    /// Returns the entries as a vector of 2n qubits.
    #[doc(hidden)]
    pub fn vector(&self) -> &StateVector<R> {
        &self.entries
    }

    /// Returns the entries as a vector of 2n qubits.
    #[doc(hidden)]
    pub fn vector_mut(&mut self) -> &mut StateVector<R> {
        &mut self.entries
    }

    /// Multiplies all entries.
    pub(crate) fn scale(&mut self, factor: &R) {
        self.entries.amplitudes_mut().iter_mut().for_each(|a| *a *= factor.clone());
    }
}

impl<R: Ring> AddAssign for DensityMatrix<R> {
    /// Adds another one on as many qubits: the states of an ensemble, unnormalized.
    fn add_assign(&mut self, other: DensityMatrix<R>) {
        let theirs = other.entries.into_amplitudes();
        self.entries.amplitudes_mut().iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
    }
}

impl<T: Real, S: Scalar<Real = T>> DensityMatrix<S> {
    /// Returns `|psi><psi|`. O(4^n).
    ///
    /// # Errors
    /// [`StateError`] if the system does not provide the memory.
    pub fn pure(state: &StateVector<S>, threads: &Threads) -> Result<DensityMatrix<S>, StateError> {
        let mut rho = DensityMatrix::zero(state.n_qubits(), threads)?;
        let psi = state.amplitudes();
        for (column, b) in rho.entries.amplitudes_mut().chunks_exact_mut(psi.len()).zip(psi) {
            let b = b.conj();
            column.iter_mut().zip(psi).for_each(|(entry, a)| *entry = a.clone() * &b);
        }
        Ok(rho)
    }

    /// Returns the probability of each basis state: the diagonal.
    #[must_use]
    pub fn probabilities(&self) -> Vec<T> {
        (0..1usize << self.n_qubits).map(|i| self.entry(i, i).re()).collect()
    }

    /// Returns the probabilities of the outcomes of some qubits: 2^k values, bit j of an outcome
    /// belonging to `qubits[j]`. O(2^n).
    ///
    /// # Errors
    /// [`BasisError`] for a qubit that does not exist or is listed twice.
    pub fn probabilities_of(&self, qubits: &[usize]) -> Result<Vec<T>, StateError> {
        crate::basis::bcomspace(self.n_qubits, qubits.iter().copied())?;
        let mut sums = vec![T::zero(); 1 << qubits.len()];
        for (i, p) in self.probabilities().into_iter().enumerate() {
            sums[gather_bits(i, qubits)] += p;
        }
        Ok(sums)
    }

    /// Returns the trace: 1, but for rounding.
    #[must_use]
    pub fn trace(&self) -> T {
        self.probabilities().into_iter().fold(T::zero(), |sum, p| sum + p)
    }

    /// Returns `tr(rho^2)`: 1 for a pure state, 2^-n if nothing is known. O(4^n).
    #[must_use]
    pub fn purity(&self) -> T {
        self.entries.norm2(&Threads::serial())
    }

    /// Returns `tr(O rho)` of a sum of Pauli strings. O(2^n) for each term.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if it acts on a qubit that the state does not have.
    pub fn expectation(&self, observable: &PauliSum) -> Result<T, StateError> {
        if observable.n_qubits() > self.n_qubits {
            let given = observable.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: self.n_qubits }.into());
        }
        let terms = observable.terms().iter().map(|(c, string)| {
            let string = string.masks();
            let sum = (0..1usize << self.n_qubits).fold(T::zero(), |sum, j| {
                let entry = self.entry(j, j ^ string.x);
                // The real part of i^k (re + i im).
                match string.entry(j).exponent() {
                    0 => sum + entry.re(),
                    1 => sum - entry.im(),
                    2 => sum - entry.re(),
                    _ => sum + entry.im(),
                }
            });
            sum * T::lit(*c)
        });
        Ok(terms.fold(T::zero(), |total, term| total + term))
    }

    /// Returns `<psi|rho|psi>`: the probability to find a pure state. O(4^n).
    ///
    /// # Errors
    /// [`StateError::Sizes`] if the states differ in size.
    pub fn fidelity(&self, state: &StateVector<S>) -> Result<T, StateError> {
        if state.n_qubits() != self.n_qubits {
            return Err(StateError::Sizes { left: self.n_qubits, right: state.n_qubits() });
        }
        let psi = state.amplitudes();
        let columns = self.entries.amplitudes().chunks_exact(psi.len()).zip(psi);
        let value = columns.fold(S::zero(), |sum, (column, b)| {
            let inner =
                column.iter().zip(psi).fold(S::zero(), |sum, (entry, a)| sum + a.conj() * entry);
            sum + inner * b
        });
        Ok(value.re())
    }

    /// Returns the state of some qubits, the others traced out; qubit j of it is `qubits[j]`.
    /// O(2^(n+k)).
    ///
    /// # Errors
    /// [`BasisError`] for a qubit that does not exist or is listed twice.
    pub fn reduced(&self, qubits: &[usize]) -> Result<DensityMatrix<S>, StateError> {
        crate::basis::bcomspace(self.n_qubits, qubits.iter().copied())?;
        let k = qubits.len();
        let fixed = qubits.iter().fold(0, |mask, q| mask | 1usize << q);
        let offset = |of: usize| scatter_bits(of, qubits);
        let mut out = DensityMatrix::zero(k, &Threads::serial())?;
        for (i, entry) in out.entries.amplitudes_mut().iter_mut().enumerate() {
            let (row, column) = (offset(i & ((1 << k) - 1)), offset(i >> k));
            let rest = places(0..1 << (self.n_qubits - k), self.n_qubits, fixed, 0);
            *entry = rest.fold(S::zero(), |sum, base| sum + self.entry(base | row, base | column));
        }
        Ok(out)
    }

    /// Samples basis states and counts each, in ascending order: the shots of a pure state with the
    /// same probabilities.
    ///
    /// # Errors
    /// [`StateError`] if the probabilities have no value or are not finite.
    pub fn sample_counts(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
    ) -> Result<Vec<(usize, u64)>, StateError> {
        // Rounding may leave less than nothing.
        let root = |p: T| p.primal().map(|p| p.max(0.0).sqrt()).ok_or(StateError::Symbolic);
        let roots: Vec<f64> =
            self.probabilities().into_iter().map(root).collect::<Result<_, _>>()?;
        StateVector::from_vector(roots)?.sample_counts(shots, seed, threads)
    }
}

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Returns the density matrix of some qubits, the others traced out:
    /// `rho[a][b] = sum_rest psi(a, rest) conj(psi(b, rest))`, bit j of `a` belonging to
    /// `qubits[j]`. O(2^(n+k)).
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
        let offset = |outcome: usize| scatter_bits(outcome, qubits);
        let rest = self.amplitudes.len() >> qubits.len();
        let entry = |a: usize, b: usize| {
            let (a, b) = (offset(a), offset(b));
            let block = |range: std::ops::Range<usize>| {
                let mut sum = S::zero();
                for base in places(range, self.n_qubits, fixed, 0) {
                    sum.mul_add_assign(
                        &self.amplitudes[base | a],
                        &self.amplitudes[base | b].conj(),
                    );
                }
                sum
            };
            tree_sum(rest, threads, block, |x, y| x + y)
        };
        let dim = 1usize << qubits.len();
        // The matrix is Hermitian: what lies below the diagonal was computed above it.
        let upper: Vec<Vec<S>> =
            (0..dim).map(|a| (a..dim).map(|b| entry(a, b)).collect()).collect();
        Ok(Matrix::from_fn(qubits.len(), |a, b| {
            if a <= b { upper[a][b - a].clone() } else { upper[b][a - b].conj() }
        }))
    }
}
