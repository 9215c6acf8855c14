//! Exact distributions: every branch is followed.
//!
//! Without loops a branch is followed to its end before the next, so that few states wait. With
//! loops there may be no end: there the branches that are least far go on, until all are at the
//! same step, and those that differ in nothing that matters any more become one:
//!
//! ```text
//! while (c != 0) {  reset q;  h q;  c = measure q; }
//!                   └─ c = 1, 2 and 3 are one here: it is written before it is read
//! ```
//! So a loop takes as many branches as it has different states in an iteration, not as it has
//! histories. Where that is more than the entries of a density matrix for each value of the bits,
//! the circuit runs on those instead.

use std::collections::BTreeMap;

use super::{
    Bits, SimulateError, Simulator,
    merging::Merging,
    program::BoundCircuit,
    trajectory::{BranchStop, LiveBranch, TrajectoryRunner},
};
use crate::scalar::{Real, Scalar};

/// Smallest probability of a branch in a loop: less likely ones are left out.
pub(super) const LEAST_LIKELY: f64 = 1e-17;

/// Outcomes with a smaller probability do not occur: rounding leaves 1e-16 of nothing.
pub(super) const IMPOSSIBLE: f64 = 1e-14;

impl Simulator {
    /// Returns the exact probability of each outcome of the classical registers that can occur,
    /// over any number type, by following every branch. In loops a branch is followed until it is
    /// less likely than 1e-17, and over `f64` and `f32` those with the same future are followed as
    /// one. A circuit with noise runs on density matrices, and so does one whose loops make more
    /// states than such a matrix has rows, for each value of its bits.
    ///
    /// # Errors
    /// [`SimulateError::TooManyBranches`] if there are more than `max_outcomes` outcomes, or twice
    /// as many branches: all together, or with loops at once; [`SimulateError::Endless`] for a
    /// branch with too many iterations.
    pub fn distribution<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        max_outcomes: usize,
    ) -> Result<BTreeMap<Bits, T>, SimulateError> {
        // More final measurements may have more outcomes to add up than there are branches.
        let form = circuit.for_outcomes();
        let circuit = if Finals::new(form, max_outcomes).is_ok() { form } else { circuit };
        if circuit.has_channels() {
            return self.noisy_distribution(circuit, max_outcomes);
        }
        self.check_memory::<S>(circuit.n_qubits)?;
        let run = TrajectoryRunner::exact(self, circuit);
        let mut waiting = PendingBranches::new(circuit);
        waiting.add(run.start(circuit.memory())?, T::one());
        let mut distribution: BTreeMap<Bits, T> = BTreeMap::new();
        let mut branches: usize = 1;
        let finals = Finals::new(circuit, max_outcomes)?;
        let too_many = || SimulateError::TooManyBranches { limit: max_outcomes };
        while let Some((mut live, weight)) = waiting.next() {
            match run.advance(&mut live)? {
                BranchStop::End => {
                    let outcomes = live.state.probabilities_of(&finals.qubits, &self.threads)?;
                    finals.add(&live.bits, outcomes, &weight, &mut distribution);
                    self.check_outcomes(circuit.n_bits, distribution.len())?;
                }
                BranchStop::Random(weights) => {
                    let total = weights.iter().fold(T::zero(), |sum, w| sum + w);
                    let probable = |(outcome, weight_of): (usize, &T)| {
                        let p = weight_of.clone() / &total;
                        if p.is_exact_zero() || p.primal().is_some_and(|p| p < IMPOSSIBLE) {
                            return None;
                        }
                        let p = p * &weight;
                        let rare = live.rounds > 0 && p.primal().is_some_and(|p| p < LEAST_LIKELY);
                        (!rare).then_some((outcome, p))
                    };
                    let mut outcomes =
                        weights.iter().enumerate().filter_map(probable).collect::<Vec<_>>();
                    branches += outcomes.len();
                    if waiting.n_branches().unwrap_or(branches) > 2 * max_outcomes {
                        return Err(too_many());
                    }
                    let (states, bits) = waiting.held();
                    let own = live.bits.heap_bytes().saturating_mul(outcomes.len() as u128);
                    let bits = bits.saturating_add(own);
                    self.check_branches::<S>(
                        circuit.n_qubits,
                        states + outcomes.len().max(1),
                        bits,
                    )?;
                    let last = outcomes.pop();
                    for (outcome, p) in outcomes {
                        let mut next = live.clone();
                        run.apply_outcome(&mut next, outcome, &weights)?;
                        waiting.add(next, p);
                    }
                    if let Some((outcome, p)) = last {
                        run.apply_outcome(&mut live, outcome, &weights)?;
                        waiting.add(live, p);
                    }
                }
            }
            if let PendingBranches::Merging(merging) = &waiting
                && merging.outnumbers_density(circuit.n_qubits)
            {
                return self.noisy_distribution(circuit, max_outcomes);
            }
        }
        self.finish_distribution(circuit, distribution, max_outcomes)
    }

    /// Applies the final readout errors to the distribution, and runs the tail on its outcomes.
    pub(super) fn finish_distribution<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        mut distribution: BTreeMap<Bits, T>,
        max_outcomes: usize,
    ) -> Result<BTreeMap<Bits, T>, SimulateError> {
        for readout_error in &circuit.readout_errors {
            let mut after: BTreeMap<Bits, T> = BTreeMap::new();
            for (bits, p) in distribution {
                for (weight, w) in readout_error.weights(&bits).iter().enumerate() {
                    let p = w.re() * &p;
                    if !p.is_exact_zero() {
                        let mut read = bits.clone();
                        readout_error.apply(&mut read, weight);
                        *after.entry(read).or_insert_with(T::zero) += p;
                    }
                }
                if after.len() > max_outcomes {
                    return Err(SimulateError::TooManyBranches { limit: max_outcomes });
                }
                self.check_outcomes(circuit.n_bits, after.len())?;
            }
            distribution = after;
        }
        if circuit.tail.is_empty() {
            return Ok(distribution);
        }
        let mut after: BTreeMap<Bits, T> = BTreeMap::new();
        for (mut bits, p) in distribution {
            self.run_tail(circuit, &mut bits)?;
            *after.entry(bits).or_insert_with(T::zero) += p;
        }
        Ok(after)
    }
}

/// The measurements at the end.
pub(super) struct Finals {
    bits: Vec<u32>,
    /// The distinct qubits that they read, in order.
    pub(super) qubits: Vec<usize>,
    /// Position of the qubit of each bit among them.
    places: Vec<usize>,
    /// True if a tail follows, which outcomes that cannot occur do not reach.
    has_tail: bool,
}

impl Finals {
    /// Creates the distribution of a circuit, if its outcomes are no more than allowed.
    pub(super) fn new<S>(
        circuit: &BoundCircuit<S>,
        max_outcomes: usize,
    ) -> Result<Finals, SimulateError> {
        let (bits, qubits): (Vec<u32>, Vec<usize>) =
            circuit.finals.iter().map(|(&bit, &qubit)| (bit, qubit as usize)).unzip();
        let (qubits, places) = distinct(&qubits);
        if qubits.len() >= usize::BITS as usize - 1 || 1usize << qubits.len() > max_outcomes {
            return Err(SimulateError::TooManyBranches { limit: max_outcomes });
        }
        Ok(Finals { bits, qubits, places, has_tail: !circuit.tail.is_empty() })
    }

    /// Adds the probabilities of their outcomes, each times a weight, to a distribution.
    pub(super) fn add<T: Real>(
        &self,
        bits: &Bits,
        mut outcomes: Vec<T>,
        weight: &T,
        distribution: &mut BTreeMap<Bits, T>,
    ) {
        if self.has_tail {
            drop_impossible(&mut outcomes);
        }
        for (outcome, p) in outcomes.into_iter().enumerate() {
            if p.is_exact_zero() {
                continue;
            }
            let mut end = bits.clone();
            for (&bit, &place) in self.bits.iter().zip(&self.places) {
                end.set(bit, outcome >> place & 1 == 1);
            }
            let p = p * weight;
            match distribution.get_mut(&end) {
                Some(sum) => *sum += p,
                None => {
                    distribution.insert(end, p);
                }
            }
        }
    }
}

/// Sets the probabilities of outcomes to 0 that do not occur if one qubit after the other is
/// measured, from the last on. There are 2^n of them. O(n 2^n).
fn drop_impossible<T: Real>(outcomes: &mut [T]) {
    if outcomes.len() < 2 {
        return;
    }
    let sum = |part: &[T]| part.iter().filter_map(T::primal).sum::<f64>();
    let total = sum(outcomes);
    let (zero, one) = outcomes.split_at_mut(outcomes.len() / 2);
    for half in [zero, one] {
        if sum(half) / total < IMPOSSIBLE {
            half.fill(T::zero());
        } else {
            drop_impossible(half);
        }
    }
}

/// Returns the distinct qubits, and the position of each of the given ones among them.
fn distinct(qubits: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut all = qubits.to_vec();
    all.sort_unstable();
    all.dedup();
    let places = qubits.iter().map(|q| all.partition_point(|x| x < q)).collect();
    (all, places)
}

/// Branches that wait, with their probabilities.
enum PendingBranches<S, T> {
    /// The last one is next. The bytes on the heap of their bits are counted.
    Stack(Vec<(LiveBranch<S>, T)>, u128),
    /// Branches of which one of those that have come least far is next.
    Merging(Merging<S, T>),
}

impl<T: Real, S: Scalar<Real = T>> PendingBranches<S, T> {
    fn new(circuit: &BoundCircuit<S>) -> PendingBranches<S, T> {
        if circuit.has_loops() {
            PendingBranches::Merging(Merging::new())
        } else {
            PendingBranches::Stack(Vec::new(), 0)
        }
    }

    fn next(&mut self) -> Option<(LiveBranch<S>, T)> {
        match self {
            PendingBranches::Stack(stack, bits) => {
                let next = stack.pop()?;
                *bits -= next.0.bits.heap_bytes();
                Some(next)
            }
            PendingBranches::Merging(merging) => merging.next(),
        }
    }

    /// Returns the number of branches, where those of the same future are one.
    fn n_branches(&self) -> Option<usize> {
        match self {
            PendingBranches::Stack(..) => None,
            PendingBranches::Merging(merging) => Some(merging.n_branches()),
        }
    }

    /// Returns the number of states, and the bytes on the heap of their bits.
    fn held(&self) -> (usize, u128) {
        match self {
            PendingBranches::Stack(stack, bits) => (stack.len(), *bits),
            PendingBranches::Merging(merging) => (merging.n_branches(), merging.bits()),
        }
    }

    fn add(&mut self, live: LiveBranch<S>, p: T) {
        match self {
            PendingBranches::Stack(stack, bits) => {
                *bits += live.bits.heap_bytes();
                stack.push((live, p));
            }
            PendingBranches::Merging(merging) => merging.add(live, p),
        }
    }
}
