//! Outcomes of classical bits, counted within the memory limit.
//!
//! Shots of a trajectory that end alike are counted before their bits are written down: the memory
//! is that of the different outcomes, not of the shots.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    Bits, SimulateError, Simulator,
    program::BoundCircuit,
    trajectory::{Trajectory, lock},
};
use crate::{
    kernel::Threads,
    scalar::{Real, Scalar},
    state::{StateError, draw},
};

/// Called with an outcome and the shots that have it.
pub(super) type AddOutcome<'f> = dyn Fn(Bits, &[usize]) -> Result<(), SimulateError> + Sync + 'f;

/// Bytes of an outcome besides its bits and its text.
const BYTES_PER_OUTCOME: u128 = 160;

/// Number of bytes that outcomes may always take.
const ALWAYS: u128 = 1 << 20;

impl Simulator {
    /// Checks that this number of outcomes of classical bits fits in the half of the memory limit
    /// that states do not take, as bits and as text.
    ///
    /// # Errors
    /// [`SimulateError::Outcomes`] with both numbers.
    pub(crate) fn check_outcomes(
        &self,
        n_bits: usize,
        outcomes: usize,
    ) -> Result<(), SimulateError> {
        let Some(limit) = self.memory_limit else { return Ok(()) };
        let available = ALWAYS.max(u128::from(limit) / 2);
        let each = n_bits.div_ceil(8) as u128 + n_bits as u128 + BYTES_PER_OUTCOME;
        let needed = each.saturating_mul(outcomes as u128);
        if needed > available {
            return Err(SimulateError::Outcomes { outcomes, n_bits, needed, available });
        }
        Ok(())
    }

    /// Counts the outcomes of the classical registers in `shots` shots, as [`Simulator::counts`]
    /// writes them; for circuits with measurements anywhere. Where only classical instructions
    /// follow measurements, these are sampled at once, and the instructions run once for each
    /// outcome.
    ///
    /// # Errors
    /// [`SimulateError`]; the memory limit counts the different outcomes.
    pub fn trajectory_counts<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<Bits, u64>, SimulateError> {
        let counts = Mutex::new(BTreeMap::new());
        self.for_each_outcome(circuit, shots, seed, &|bits, shots| {
            let mut counts = lock(&counts);
            *counts.entry(bits).or_insert(0) += shots.len() as u64;
            self.check_outcomes(circuit.n_bits, counts.len())
        })?;
        Ok(counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `add` with outcomes of the bits and variables and the shots that have each, from any
    /// thread; an outcome may come several times. A [tail](super::tail) runs once each time.
    pub(super) fn for_each_outcome<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        shots: usize,
        seed: u64,
        add: &AddOutcome<'_>,
    ) -> Result<(), SimulateError> {
        let circuit = circuit.for_outcomes();
        let finish = |mut bits: Bits, shots: &[usize]| {
            self.run_tail(circuit, &mut bits)?;
            add(bits, shots)
        };
        self.trajectories(circuit, shots, seed, |t| {
            t.for_each_outcome(circuit, &self.threads, &finish)
        })?;
        Ok(())
    }
}

impl<T: Real, S: Scalar<Real = T>> Trajectory<'_, S> {
    /// Returns the classical bits after the final measurements, for each of the shots.
    ///
    /// # Errors
    /// [`SimulateError`] if the probabilities have no value or are not finite.
    pub fn outcomes(
        &self,
        circuit: &BoundCircuit<S>,
        threads: &Threads,
    ) -> Result<Vec<Bits>, SimulateError> {
        let ends = self.ends(circuit, threads)?.into_iter();
        let mut all: Vec<Bits> = ends.map(|index| with_finals(self.bits, circuit, index)).collect();
        for (bits, &shot) in all.iter_mut().zip(self.shots) {
            self.apply_readout_errors(circuit, shot, bits)?;
        }
        Ok(all)
    }

    /// Passes on each outcome with its shots; one may come several times.
    fn for_each_outcome(
        &self,
        circuit: &BoundCircuit<S>,
        threads: &Threads,
        add: &AddOutcome<'_>,
    ) -> Result<(), SimulateError> {
        let mut by_end: Vec<(usize, usize)> =
            self.ends(circuit, threads)?.into_iter().zip(self.shots.iter().copied()).collect();
        by_end.sort_unstable();
        for alike in by_end.chunk_by(|a, b| a.0 == b.0) {
            let mut bits = with_finals(self.bits, circuit, alike[0].0);
            let shots: Vec<usize> = alike.iter().map(|(_, shot)| *shot).collect();
            if circuit.readout_errors.is_empty() {
                add(bits, &shots)?;
                continue;
            }
            // The shots by the bits with a readout error.
            let mut by_flipped: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
            for shot in shots {
                let flipped = self.apply_readout_errors(circuit, shot, &mut bits)?;
                flipped.iter().for_each(|&bit| bits.flip(bit));
                by_flipped.entry(flipped).or_default().push(shot);
            }
            for (flipped, shots) in by_flipped {
                let mut bits = bits.clone();
                flipped.iter().for_each(|&bit| bits.flip(bit));
                add(bits, &shots)?;
            }
        }
        Ok(())
    }

    /// Returns the basis state that the final measurements find, for each of the shots: 0 for the
    /// qubits that they do not read.
    fn ends(&self, circuit: &BoundCircuit<S>, threads: &Threads) -> Result<Vec<usize>, StateError> {
        if circuit.finals.is_empty() {
            return Ok(vec![0; self.shots.len()]);
        }
        let draws: Vec<f64> =
            self.shots.iter().map(|&shot| draw(self.seed, shot as u64, self.draws)).collect();
        let read = circuit.finals.values().fold(0, |read, &qubit| read | 1 << qubit);
        let mut ends = self.state.sample_at(&draws, threads)?;
        ends.iter_mut().for_each(|end| *end &= read);
        Ok(ends)
    }

    /// Draws the final readout errors of a shot: the bits that were flipped, in order.
    fn apply_readout_errors(
        &self,
        circuit: &BoundCircuit<S>,
        shot: usize,
        bits: &mut Bits,
    ) -> Result<Vec<u32>, StateError> {
        let mut flipped = Vec::new();
        for (k, readout_error) in (self.draws + 1..).zip(&circuit.readout_errors) {
            let drawn = draw(self.seed, shot as u64, k);
            // The first weight is that of a correct readout.
            let mut sum = 0.0;
            for (weight, p) in readout_error.weights(bits).iter().enumerate().skip(1) {
                sum += p.re().primal().ok_or(StateError::Symbolic)?;
                if drawn < sum {
                    let before = bits.clone();
                    readout_error.apply(bits, weight);
                    flipped.extend(
                        readout_error.bits.iter().filter(|&&bit| bits.get(bit) != before.get(bit)),
                    );
                    break;
                }
            }
        }
        Ok(flipped)
    }
}

fn with_finals<S: Scalar>(bits: &Bits, circuit: &BoundCircuit<S>, index: usize) -> Bits {
    let mut bits = bits.clone();
    for (&bit, &qubit) in &circuit.finals {
        bits.set(bit, index >> qubit & 1 == 1);
    }
    bits
}
