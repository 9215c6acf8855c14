//! Exact distributions: every branch is followed.
//!
//! Without loops a branch is followed to its end before the next, so that few states wait. With loops there may be no
//! end: there the branches that are least far go on, until all are at the same step, and those that differ in nothing
//! that matters any more become one:
//!
//! ```text
//! while (c != 0) {  reset q;  h q;  c = measure q; }
//!                   └─ c = 1, 2 and 3 are one here: it is written before it is read
//! ```
//! So a loop takes as many branches as it has different states in a round, not as it has histories.

use std::{any::TypeId, collections::BTreeMap};

use num_complex::Complex;

use super::{
    SimulateError, Simulator,
    program::{Bits, BoundCircuit},
    trajectory::{Live, Run, Stop},
};
use crate::{
    scalar::{Real, Scalar},
    state::StateVector,
};

/// What happens in loops with a smaller probability is left out.
pub(super) const LEAST_LIKELY: f64 = 1e-17;

/// Outcomes with a smaller probability do not occur: rounding leaves 1e-16 of nothing.
pub(super) const IMPOSSIBLE: f64 = 1e-14;

impl Simulator {
    /// The exact probability of each outcome of the classical registers that can occur, over any
    /// number type, by following every branch. In loops a branch is followed until it is less likely than 1e-17, and
    /// over `f64` and `f32` those with the same future are followed as one. A circuit with noise runs on density matrices.
    ///
    /// # Errors
    /// [`SimulateError::TooManyBranches`] if there are more than `max_outcomes` outcomes, or twice as many branches: all
    /// together, or with loops at once; [`SimulateError::Endless`] for a branch that goes round too often.
    pub fn distribution<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        max_outcomes: usize,
    ) -> Result<BTreeMap<Bits, T>, SimulateError> {
        if circuit.has_channels() {
            return self.noisy_distribution(circuit, max_outcomes);
        }
        self.check_memory::<S>(circuit.n_qubits)?;
        let run = Run::exact(self, circuit);
        let mut waiting = Waiting::new(circuit);
        waiting.add(run.start(Bits::zero(circuit.n_bits))?, T::one());
        let mut distribution: BTreeMap<Bits, T> = BTreeMap::new();
        let mut branches = 1;
        let finals = Finals::new(circuit, max_outcomes)?;
        let too_many = || SimulateError::TooManyBranches { limit: max_outcomes };
        while let Some((mut live, weight)) = waiting.next() {
            match run.advance(&mut live)? {
                Stop::End => {
                    let outcomes = live.state.probabilities_of(&finals.qubits, &self.threads)?;
                    finals.add(&live.bits, outcomes, &weight, &mut distribution);
                }
                Stop::Random(weights) => {
                    let total = weights.iter().fold(T::zero(), |sum, w| sum + w);
                    for (outcome, weight_of) in weights.iter().enumerate() {
                        let p = weight_of.clone() / &total;
                        if p.is_exact_zero() || p.primal().is_some_and(|p| p < IMPOSSIBLE) {
                            continue;
                        }
                        let p = p * &weight;
                        if live.rounds > 0 && p.primal().is_some_and(|p| p < LEAST_LIKELY) {
                            continue;
                        }
                        branches += 1;
                        let states = waiting.n_states();
                        if states.unwrap_or(branches) > 2 * max_outcomes {
                            return Err(too_many());
                        }
                        self.check_memory_of::<S>(circuit.n_qubits, states.unwrap_or(0) + 2)?;
                        let mut next = live.clone();
                        run.settle(&mut next, outcome, &weights)?;
                        waiting.add(next, p);
                    }
                }
            }
        }
        Ok(misread(circuit, distribution))
    }
}

/// The distribution after the readings at the end that may be wrong.
pub(super) fn misread<T: Real, S: Scalar<Real = T>>(
    circuit: &BoundCircuit<S>,
    mut distribution: BTreeMap<Bits, T>,
) -> BTreeMap<Bits, T> {
    for misread in &circuit.misreads {
        let mut after: BTreeMap<Bits, T> = BTreeMap::new();
        for (bits, p) in distribution {
            let [stays, changes] = misread.weights(&bits).map(|w| w.re() * &p);
            let mut changed = bits.clone();
            misread.change(&mut changed);
            for (bits, p) in [(bits, stays), (changed, changes)] {
                if !p.is_exact_zero() {
                    *after.entry(bits).or_insert_with(T::zero) += p;
                }
            }
        }
        distribution = after;
    }
    distribution
}

/// The measurements at the end.
pub(super) struct Finals {
    bits: Vec<u32>,
    /// The distinct qubits that they read, in order.
    pub(super) qubits: Vec<usize>,
    /// Where the qubit of each bit stands among them.
    places: Vec<usize>,
}

impl Finals {
    /// Those of a circuit, if their outcomes are no more than allowed.
    pub(super) fn new<S>(circuit: &BoundCircuit<S>, max_outcomes: usize) -> Result<Finals, SimulateError> {
        let (bits, qubits): (Vec<u32>, Vec<usize>) =
            circuit.finals.iter().map(|(&bit, &qubit)| (bit, qubit as usize)).unzip();
        let (qubits, places) = distinct(&qubits);
        if qubits.len() >= usize::BITS as usize - 1 || 1usize << qubits.len() > max_outcomes {
            return Err(SimulateError::TooManyBranches { limit: max_outcomes });
        }
        Ok(Finals { bits, qubits, places })
    }

    /// Adds the probabilities of their outcomes, each times a weight, to a distribution.
    pub(super) fn add<T: Real>(
        &self,
        bits: &Bits,
        outcomes: Vec<T>,
        weight: &T,
        distribution: &mut BTreeMap<Bits, T>,
    ) {
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

/// The distinct qubits, and where each of the given ones stands among them.
fn distinct(qubits: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut all = qubits.to_vec();
    all.sort_unstable();
    all.dedup();
    let places = qubits.iter().map(|q| all.partition_point(|x| x < q)).collect();
    (all, places)
}

/// Branches that wait, with their probabilities.
enum Waiting<S, T> {
    /// The last one is next.
    Stack(Vec<(Live<S>, T)>),
    /// That of the first step is next.
    ByStep {
        branches: BTreeMap<usize, Vec<(Live<S>, T)>>,
        /// The bits that are read from each step on.
        read: Vec<Bits>,
    },
}

impl<T: Real, S: Scalar<Real = T>> Waiting<S, T> {
    fn new(circuit: &BoundCircuit<S>) -> Waiting<S, T> {
        if circuit.has_loops() {
            Waiting::ByStep { branches: BTreeMap::new(), read: circuit.read_later() }
        } else {
            Waiting::Stack(Vec::new())
        }
    }

    fn next(&mut self) -> Option<(Live<S>, T)> {
        match self {
            Waiting::Stack(stack) => stack.pop(),
            Waiting::ByStep { branches, .. } => {
                let mut first = branches.first_entry()?;
                let next = first.get_mut().pop();
                if first.get().is_empty() {
                    first.remove();
                }
                next
            }
        }
    }

    /// How many states wait, where branches become one.
    fn n_states(&self) -> Option<usize> {
        match self {
            Waiting::Stack(_) => None,
            Waiting::ByStep { branches, .. } => Some(branches.values().map(Vec::len).sum()),
        }
    }

    fn add(&mut self, mut live: Live<S>, p: T) {
        match self {
            Waiting::Stack(stack) => stack.push((live, p)),
            Waiting::ByStep { branches, read } => {
                if let Some(read) = read.get(live.step) {
                    live.bits = live.bits.and(read);
                }
                let there = branches.entry(live.step).or_default();
                let same = |(other, _): &&mut (Live<S>, T)| {
                    other.bits == live.bits && same_up_to_phase(&other.state, &live.state)
                };
                match there.iter_mut().find(same) {
                    Some((other, sum)) => {
                        other.rounds = other.rounds.max(live.rounds);
                        *sum += p;
                    }
                    None => there.push((live, p)),
                }
            }
        }
    }
}

/// Whether two normalized states of plain numbers differ by a phase and rounding only.
fn same_up_to_phase<T: Real, S: Scalar<Real = T>>(a: &StateVector<S>, b: &StateVector<S>) -> bool {
    let own = TypeId::of::<T>();
    let tolerance = if own == TypeId::of::<f64>() {
        1e-13
    } else if own == TypeId::of::<f32>() {
        1e-5
    } else {
        return false;
    };
    let plain =
        |z: &S| Complex::new(z.re().primal().unwrap_or(f64::NAN), z.im().primal().unwrap_or(f64::NAN));
    let pairs = || a.amplitudes().iter().map(plain).zip(b.amplitudes().iter().map(plain));
    let overlap: Complex<f64> = pairs().map(|(a, b)| a.conj() * b).sum();
    let phase = overlap / overlap.norm();
    pairs().all(|(a, b)| (a * phase - b).norm() < tolerance)
}
