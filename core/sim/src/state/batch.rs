//! Many states of one size, worked on together.
//!
//! Applying one gate to B states is a product of its matrix with a matrix of B columns. Small
//! states are laid out so that the columns are contiguous, which is also the layout of one larger
//! state whose lowest qubits number the columns, and every kernel runs on it with its qubits
//! shifted up:
//!
//! ```text
//! index = basis state << log2 B | column
//! ```
//! Runs are then at least B long, whatever the target: a gate on qubit 0 of 64 states is as regular
//! as one on qubit 6 of a single state. A batch whose size is no power of two is cut into blocks
//! that are.
//!
//! That pays where states are small: of 64 states on one thread (`benches/batches.rs`), those of 3
//! qubits run 16 times faster side by side than alone, those of 6 qubits 2.4 times. From 8 qubits
//! on each state lies for itself, and the executor that would run it alone runs it here.
//!
//! So the bits are those of the generic kernels below 8 qubits, and those of the executor from
//! there on; for any number of threads.

use super::{StateError, StateVector, memory::Amplitudes};
use crate::{
    basis::BasisError,
    kernel::{Executor, Executors, Operator, SHARED_BELOW, StateHint, Threads},
    scalar::Ring,
};

/// Largest number of states in one block: 64 columns of 16 bytes are 1 KiB for each basis state.
const MAX_COLUMNS: usize = 64;

/// Number of qubits from which on states lie for themselves.
const ALONE_FROM: usize = 8;

/// States of n qubits, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct StateBatch<R> {
    n_qubits: usize,
    /// Blocks of 2^b states, largest first: (b, amplitudes).
    blocks: Vec<(usize, Amplitudes<R>)>,
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
        let most = if n_qubits < ALONE_FROM { MAX_COLUMNS } else { 1 };
        let mut blocks = Vec::new();
        let mut rest = states;
        while !rest.is_empty() {
            let b = (usize::BITS - 1 - rest.len().min(most).leading_zeros()) as usize;
            let (block, after) = rest.split_at(1 << b);
            let mut amplitudes = Vec::with_capacity(block.len() << n_qubits);
            for i in 0..1usize << n_qubits {
                amplitudes.extend(block.iter().map(|state| state.amplitudes()[i].clone()));
            }
            blocks.push((b, amplitudes.into()));
            rest = after;
        }
        Ok(StateBatch { n_qubits, blocks })
    }

    /// Returns the number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|(b, _)| 1usize << b).sum()
    }

    /// Returns true if there is no state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the number of qubits of each.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Applies operators to every state, in order. Threads share blocks of states, and large
    /// states.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if one acts on a qubit that the states do not have; nothing is
    /// applied then. [`StateError::Execute`] if an executor fails; the states are then invalid.
    pub fn apply(
        &mut self,
        operators: &[Operator<R>],
        executors: &Executors,
        threads: &Threads,
    ) -> Result<(), StateError> {
        let beyond = operators.iter().find(|o| !self.is_empty() && o.n_qubits() > self.n_qubits);
        if let Some(operator) = beyond {
            let given = operator.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: self.n_qubits }.into());
        }
        if self.n_qubits >= ALONE_FROM {
            return self.apply_alone(operators, executors, threads);
        }
        // Blocks come in few sizes.
        let mut shifted: Vec<(usize, Vec<Operator<R>>)> = Vec::new();
        for (b, _) in &self.blocks {
            if shifted.iter().all(|s| s.0 != *b) {
                shifted.push((*b, operators.iter().map(|o| o.shifted(*b)).collect()));
            }
        }
        let serial = Threads::serial();
        let pool = if R::PARALLEL { threads } else { &serial };
        pool.chunks(&mut self.blocks, 1, |_, block| {
            for (b, amplitudes) in block {
                let own = shifted.iter().filter(|s| s.0 == *b).flat_map(|s| &s.1);
                own.for_each(|operator| operator.apply(amplitudes, &serial));
            }
        });
        Ok(())
    }

    fn apply_alone(
        &mut self,
        operators: &[Operator<R>],
        executors: &Executors,
        threads: &Threads,
    ) -> Result<(), StateError> {
        let executor = executors.best::<R>(self.n_qubits, operators.len());
        let prepared = executor.prepare(self.n_qubits, operators, StateHint::Arbitrary);
        let run = |amplitudes: &mut [R], threads: &Threads| match &prepared {
            Some(prepared) => prepared.run(amplitudes, threads),
            None => {
                executors.with_fallback(self.n_qubits, operators, |executor: &dyn Executor<R>| {
                    executor.run(operators, amplitudes, threads)
                })
            }
        };
        if !R::PARALLEL || 1usize << self.n_qubits >= SHARED_BELOW {
            return Ok(self.blocks.iter_mut().try_for_each(|(_, a)| run(a, threads))?);
        }
        let failed = std::sync::Mutex::new(None);
        threads.chunks(&mut self.blocks, 1, |_, block| {
            for (_, amplitudes) in block {
                if let Err(error) = run(amplitudes, &Threads::serial())
                    && let Ok(mut failed) = failed.lock()
                {
                    *failed = Some(error);
                }
            }
        });
        match failed.into_inner() {
            Ok(Some(error)) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the states by themselves again.
    #[must_use]
    pub fn into_states(self) -> Vec<StateVector<R>> {
        let n_qubits = self.n_qubits;
        let blocks = self.blocks.into_iter().flat_map(|(b, amplitudes)| {
            let column =
                |column: usize| amplitudes.iter().skip(column).step_by(1 << b).cloned().collect();
            (0..1usize << b).map(column).collect::<Vec<Vec<R>>>()
        });
        blocks.map(|amplitudes| StateVector { n_qubits, amplitudes: amplitudes.into() }).collect()
    }
}
