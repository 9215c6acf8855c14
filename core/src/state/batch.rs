//! Many states of one size, worked on together.
//!
//! Applying one gate to B states is a product of its matrix with a matrix of B columns. The layout
//! makes the columns contiguous, so it is also the layout of one larger state whose lowest qubits
//! number the columns, and every kernel runs on it with its qubits shifted up:
//!
//! ```text
//! index = basis state << log2 B | column
//! ```
//! Runs are then at least B long, whatever the target: a gate on qubit 0 of 64 states is as
//! regular as one on qubit 6 of a single state. This pays where states are small: of 64 states on one
//! thread (`benches/batches.rs`), those of 3 qubits run 16 times faster side by side than alone, those of
//! 6 qubits 2.4 times; from 8 qubits on the vector kernels on each state alone are faster. A batch
//! whose size is no power of two is cut into blocks that are.

use super::{StateError, StateVector};
use crate::{
    basis::BasisError,
    kernel::{Operator, Threads},
    scalar::Ring,
};

/// The most states in one block: 64 columns of 16 bytes are 1 KiB for each basis state.
const MAX_COLUMNS: usize = 64;

/// States of n qubits, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct StateBatch<R> {
    n_qubits: usize,
    /// Blocks of 2^b states, largest first: (b, amplitudes).
    blocks: Vec<(usize, Vec<R>)>,
}

impl<R: Ring> StateBatch<R> {
    /// Puts states side by side.
    ///
    /// # Errors
    /// [`StateError::Sizes`] if they differ in size.
    pub fn new(states: &[StateVector<R>]) -> Result<StateBatch<R>, StateError> {
        let n_qubits = states.first().map_or(0, StateVector::n_qubits);
        if let Some(other) = states.iter().find(|s| s.n_qubits() != n_qubits) {
            return Err(StateError::Sizes { left: n_qubits, right: other.n_qubits() });
        }
        let mut blocks = Vec::new();
        let mut rest = states;
        while !rest.is_empty() {
            let b = (usize::BITS - 1 - rest.len().min(MAX_COLUMNS).leading_zeros()) as usize;
            let (block, after) = rest.split_at(1 << b);
            let mut amplitudes = Vec::with_capacity(block.len() << n_qubits);
            for i in 0..1usize << n_qubits {
                amplitudes.extend(block.iter().map(|state| state.amplitudes()[i].clone()));
            }
            blocks.push((b, amplitudes));
            rest = after;
        }
        Ok(StateBatch { n_qubits, blocks })
    }

    /// The number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|(b, _)| 1usize << b).sum()
    }

    /// Whether there is no state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The number of qubits of each.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Applies operators to every state, in order.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if one acts on a qubit that the states do not have; nothing is
    /// applied then.
    pub fn apply(&mut self, operators: &[Operator<R>], threads: &Threads) -> Result<(), BasisError> {
        let beyond = operators.iter().find(|o| !self.is_empty() && o.n_qubits() > self.n_qubits);
        if let Some(operator) = beyond {
            return Err(BasisError::OutOfRange { given: operator.n_qubits() - 1, available: self.n_qubits });
        }
        for (b, amplitudes) in &mut self.blocks {
            for operator in operators {
                operator.shifted(*b).apply(amplitudes, threads);
            }
        }
        Ok(())
    }

    /// The states by themselves again.
    #[must_use]
    pub fn into_states(self) -> Vec<StateVector<R>> {
        let n_qubits = self.n_qubits;
        let blocks = self.blocks.iter().flat_map(|(b, amplitudes)| {
            (0..1usize << b).map(move |column| StateVector {
                n_qubits,
                amplitudes: amplitudes.iter().skip(column).step_by(1 << b).cloned().collect(),
            })
        });
        blocks.collect()
    }
}
