//! State vectors: 2^n amplitudes in basis order.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator};
//!
//! let mut bell = Circuit::new(2);
//! bell.h(0)?.cx(0, 1)?;
//! let state = Simulator::new().run::<f64>(&bell, &[])?;
//! assert_eq!(state.probabilities().len(), 4);
//! assert!((state.probabilities()[3] - 0.5).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod applied;
mod batch;
mod density;
mod entropy;
mod evolve;
mod expectation;
mod measure;
mod memory;
mod random;
mod sample;
mod variance;

pub use crate::bytes::bytes_text;
#[doc(hidden)]
pub use applied::{Amplitude, GroupedPauliSum};
pub use batch::StateBatch;
pub use density::DensityMatrix;
use memory::Amplitudes;
#[doc(hidden)]
pub use random::{derived_seed, draw, stream};
pub(crate) use sample::{counts_by, samples_by};

use num_complex::Complex;

use crate::{
    basis::{BasisError, MAX_QUBITS, log2i},
    cancel::Cancelled,
    kernel::{ExecuteError, Operator, Threads, tree_sum},
    matrix::Matrix,
    observable::PauliSum,
    scalar::{Conj, Real, Ring, Scalar},
};

/// Largest distance of the norm of given amplitudes from 1: single precision files of 2^24 entries
/// stay within it.
pub const NORM_TOLERANCE: f64 = 1e-4;

/// Error of a state: the reason why it could not be made or used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The work was cancelled; a state that was worked on is invalid.
    #[error("{0}")]
    Cancelled(#[from] Cancelled),
    /// It would not fit in memory.
    #[error("a state of {n_qubits} qubits needs {}, but {} are available", bytes_text(*needed), bytes_text(*available))]
    Memory {
        /// The number of qubits.
        n_qubits: usize,
        /// Bytes needed; saturates at 2^128 - 1.
        needed: u128,
        /// Bytes available.
        available: u128,
    },
    /// The system refused the memory.
    #[error("a state of {n_qubits} qubits needs {}, which the system does not give", bytes_text(*needed))]
    Refused {
        /// The number of qubits.
        n_qubits: usize,
        /// Bytes needed.
        needed: u128,
    },
    /// A qubit or basis state that does not exist, or a length that is no power of two.
    #[error(transparent)]
    Basis(#[from] BasisError),
    /// Amplitudes that are not normalized.
    #[error("the amplitudes have norm^2 = {norm2}, which is not 1 (to {NORM_TOLERANCE:e})")]
    Norm {
        /// The sum of the squared moduli.
        norm2: f64,
    },
    /// Two states of different size.
    #[error("states of {left} and {right} qubits cannot be compared")]
    Sizes {
        /// Qubits of the one.
        left: usize,
        /// Qubits of the other.
        right: usize,
    },
    /// An executor failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An outcome that cannot occur.
    #[error("qubit {qubit} is never {}: its probability is 0", u8::from(*value))]
    Impossible {
        /// The qubit.
        qubit: usize,
        /// Outcome requested.
        value: bool,
    },
    /// Probabilities without a value cannot be sampled.
    #[error("a state of symbols cannot be sampled: give its parameters values")]
    Symbolic,
    /// Eigenvalues of what has none.
    #[error(
        "a state has a spectrum if its entries are finite numbers: of symbols, give the parameters values"
    )]
    Spectrum,
    /// A time that is not finite, or not known.
    #[error("a state evolves for a finite time of one value: {given}")]
    Time {
        /// The time.
        given: String,
    },
    /// Number of shots whose outcomes do not fit in memory.
    #[error("the outcomes of {shots} shots do not fit in memory: count them, or draw fewer")]
    Shots {
        /// Number of shots.
        shots: usize,
    },
    /// A probability that is NaN or infinite.
    #[error("the probabilities sum to {total}, so there is nothing to sample")]
    NotFinite {
        /// Their sum.
        total: f64,
    },
}

/// Returns the bytes that 2^n amplitudes of this type take, without what they may hold on the heap.
#[must_use]
pub fn bytes_needed<R>(n_qubits: usize) -> u128 {
    let size = size_of::<R>() as u128;
    u32::try_from(n_qubits)
        .ok()
        .and_then(|n| 1u128.checked_shl(n))
        .filter(|_| n_qubits < 120)
        .map_or(u128::MAX, |dim| dim.saturating_mul(size))
}

/// 2^n amplitudes; qubit 0 is the least significant bit of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct StateVector<R> {
    n_qubits: usize,
    amplitudes: Amplitudes<R>,
}

impl<R: Ring> StateVector<R> {
    /// Returns the state |0…0>.
    ///
    /// # Errors
    /// [`StateError`] if the system does not provide the memory. See `Simulator` for a limit that
    /// is checked before anything is asked for.
    pub fn zero(n_qubits: usize) -> Result<StateVector<R>, StateError> {
        StateVector::basis(n_qubits, 0)
    }

    /// Returns the state |0…0>, whose memory is touched first by the threads: pages are cleared by
    /// all of them, and on machines with several memories lie near those that will work on them.
    /// (Those of large states of `Complex<f32>` and `Complex<f64>` are touched first by the thread
    /// that writes them.)
    ///
    /// # Errors
    /// Those of [`StateVector::zero`].
    pub fn zero_on(n_qubits: usize, threads: &Threads) -> Result<StateVector<R>, StateError> {
        StateVector::basis_on(n_qubits, 0, threads)
    }

    /// Returns the basis state with this index.
    ///
    /// # Errors
    /// [`StateError`] if the index is out of range or the memory is not to be had.
    pub fn basis(n_qubits: usize, index: usize) -> Result<StateVector<R>, StateError> {
        StateVector::basis_on(n_qubits, index, &Threads::serial())
    }

    fn basis_on(
        n_qubits: usize,
        index: usize,
        threads: &Threads,
    ) -> Result<StateVector<R>, StateError> {
        let needed = bytes_needed::<R>(n_qubits);
        let refused = StateError::Refused { n_qubits, needed };
        if n_qubits > MAX_QUBITS {
            return Err(refused);
        }
        let dim = 1usize << n_qubits;
        if index >= dim {
            return Err(BasisError::OutOfRange { given: index, available: dim }.into());
        }
        let amplitudes = Amplitudes::basis(dim, index, threads).ok_or(refused)?;
        Ok(StateVector { n_qubits, amplitudes })
    }

    /// Returns a vector of any norm, in basis order: what a ring without a norm, or a derivative,
    /// needs. Its numbers move up to the next cache line if they do not begin one: O(2^n), and
    /// within its memory if that has room.
    ///
    /// # Errors
    /// [`BasisError`] if their number is not a power of two.
    pub fn from_vector(amplitudes: Vec<R>) -> Result<StateVector<R>, BasisError> {
        Ok(StateVector {
            n_qubits: log2i(amplitudes.len())? as usize,
            amplitudes: amplitudes.into(),
        })
    }

    /// Returns the number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Returns true if it is |0…0> and has never been lent to be changed.
    pub(crate) fn is_new(&self) -> bool {
        self.amplitudes.are_new()
    }

    /// Returns the amplitudes in basis order.
    #[must_use]
    pub fn amplitudes(&self) -> &[R] {
        &self.amplitudes
    }

    /// Returns the amplitudes, to change.
    pub fn amplitudes_mut(&mut self) -> &mut [R] {
        &mut self.amplitudes
    }

    /// Returns the amplitudes by value.
    #[must_use]
    pub fn into_amplitudes(self) -> Vec<R> {
        self.amplitudes.into_vec()
    }

    /// Applies an operator.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if it acts on a qubit that the state does not have.
    pub fn apply(&mut self, operator: &Operator<R>, threads: &Threads) -> Result<(), BasisError> {
        if operator.n_qubits() > self.n_qubits {
            let given = operator.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: self.n_qubits });
        }
        operator.apply(&mut self.amplitudes, threads);
        Ok(())
    }

    /// Applies a matrix to targets (`targets[0]` the least significant bit of its rows) under
    /// controls (qubit, value).
    ///
    /// # Errors
    /// [`BasisError`] for a qubit that does not exist or is listed twice.
    pub fn apply_matrix(
        &mut self,
        matrix: &Matrix<R>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<(), BasisError> {
        self.apply(&Operator::new(matrix, targets, controls)?, &Threads::serial())
    }

    /// Checks that a sum of Pauli strings acts on qubits that exist.
    pub(crate) fn check_acts(n_qubits: usize, sum: &PauliSum) -> Result<(), BasisError> {
        match sum.n_qubits() {
            n if n > n_qubits => Err(BasisError::OutOfRange { given: n - 1, available: n_qubits }),
            _ => Ok(()),
        }
    }

    fn check_qubits(&self, qubits: &[usize]) -> Result<(), BasisError> {
        crate::basis::bcomspace(self.n_qubits, qubits.iter().copied()).map(|_| ())
    }
}

impl<R: Conj> StateVector<R> {
    /// Returns the inner product `<self|other> = sum_i conj(self_i) other_i`. O(2^n), in a fixed
    /// order.
    ///
    /// # Errors
    /// [`StateError::Sizes`] if the states differ in size.
    pub fn inner(&self, other: &StateVector<R>, threads: &Threads) -> Result<R, StateError> {
        if self.n_qubits != other.n_qubits {
            return Err(StateError::Sizes { left: self.n_qubits, right: other.n_qubits });
        }
        let (a, b) = (&self.amplitudes, &other.amplitudes);
        let block = |range: std::ops::Range<usize>| {
            let mut sum = R::zero();
            for i in range {
                sum.mul_add_assign(&a[i].conj(), &b[i]);
            }
            sum
        };
        Ok(tree_sum(a.len(), threads, block, |x, y| x + y))
    }
}

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Applies X to a qubit.
    pub(crate) fn flip(&mut self, qubit: usize, threads: &Threads) -> Result<(), BasisError> {
        let x = Matrix::from_fn(1, |i, j| if i == j { S::zero() } else { S::one() });
        self.apply(&Operator::new(&x, &[qubit], &[])?, threads)
    }

    /// Returns a state from its amplitudes in basis order, whose norm must be 1.
    ///
    /// # Errors
    /// [`StateError`] if their number is not a power of two or their norm is not 1 within
    /// [`NORM_TOLERANCE`]. The norm of symbols is not checked.
    pub fn from_amplitudes(amplitudes: Vec<S>) -> Result<StateVector<S>, StateError> {
        let state = StateVector::from_vector(amplitudes)?;
        match state.norm2(&Threads::serial()).primal() {
            Some(norm2) if (norm2 - 1.0).abs() > NORM_TOLERANCE || norm2.is_nan() => {
                Err(StateError::Norm { norm2 })
            }
            _ => Ok(state),
        }
    }

    /// Returns `|<self|other>|^2`.
    ///
    /// # Errors
    /// [`StateError::Sizes`] if the states differ in size.
    pub fn fidelity(&self, other: &StateVector<S>, threads: &Threads) -> Result<T, StateError> {
        Ok(self.inner(other, threads)?.abs2())
    }
}

impl<T: Real> From<StateVector<T>> for StateVector<Complex<T>> {
    fn from(real: StateVector<T>) -> Self {
        let n_qubits = real.n_qubits;
        let amplitudes: Vec<_> =
            real.into_amplitudes().into_iter().map(Complex::from_real).collect();
        StateVector { n_qubits, amplitudes: amplitudes.into() }
    }
}
