//! Outcomes of classical bits, counted within the memory limit.
//!
//! Shots of a trajectory that end alike are counted before their bits are written down: the memory
//! is that of the different outcomes, not of the shots.

use std::{collections::BTreeMap, sync::Mutex};

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
    /// writes them; for circuits with measurements anywhere.
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
        let add = |bits: Bits, count: u64| {
            let mut counts = lock(&counts);
            *counts.entry(bits).or_insert(0) += count;
            self.check_outcomes(circuit.n_bits, counts.len())
        };
        self.trajectories(circuit, shots, seed, |t| t.count(circuit, &self.threads, &add))?;
        Ok(counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
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

    /// Passes on the count of each outcome; one may come several times.
    fn count(
        &self,
        circuit: &BoundCircuit<S>,
        threads: &Threads,
        add: &dyn Fn(Bits, u64) -> Result<(), SimulateError>,
    ) -> Result<(), SimulateError> {
        let mut by_end: Vec<(usize, usize)> =
            self.ends(circuit, threads)?.into_iter().zip(self.shots.iter().copied()).collect();
        by_end.sort_unstable();
        for shots in by_end.chunk_by(|a, b| a.0 == b.0) {
            let mut bits = with_finals(self.bits, circuit, shots[0].0);
            if circuit.readout_errors.is_empty() {
                add(bits, shots.len() as u64)?;
                continue;
            }
            // Counts by the bits with a readout error.
            let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
            for (_, shot) in shots {
                let flipped = self.apply_readout_errors(circuit, *shot, &mut bits)?;
                flipped.iter().for_each(|&bit| bits.flip(bit));
                *counts.entry(flipped).or_insert(0) += 1;
            }
            for (flipped, count) in counts {
                let mut bits = bits.clone();
                flipped.iter().for_each(|&bit| bits.flip(bit));
                add(bits, count)?;
            }
        }
        Ok(())
    }

    /// Returns the basis state that the final measurements find, for each of the shots; 0 if there
    /// are none.
    fn ends(&self, circuit: &BoundCircuit<S>, threads: &Threads) -> Result<Vec<usize>, StateError> {
        if circuit.finals.is_empty() {
            return Ok(vec![0; self.shots.len()]);
        }
        let draws: Vec<f64> =
            self.shots.iter().map(|&shot| draw(self.seed, shot as u64, self.draws)).collect();
        self.state.sample_at(&draws, threads)
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
