//! Circuits with measurements, resets and conditions before their end: trajectories that share work.
//!
//! All shots start as one group on one state. At a measurement each shot draws its outcome from a
//! stream of its own; the group splits in two, and so does the state, if both outcomes occur:
//!
//! ```text
//! shots 0..1000 ──gates──┬─ 0: 517 shots ──gates──┬─ …
//!                        └─ 1: 483 shots ──gates──┴─ …
//! ```
//! So work before the first measurement is done once, a history that many shots share is computed
//! once for all of them, and the cost is that of the distinct histories: at most one per shot.
//! A shot's draws depend on the seed, the shot and how many draws it made before, so the outcome is
//! the same for any number of threads and any order of branches.
//!
//! A loop is gone through by each branch as often as its outcomes say.
//!
//! A branch that waits holds a state. When the memory limit has no room for another, it keeps its
//! history instead and is computed again from the start when its turn comes.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    SimulateError, Simulator,
    program::{Action, Bits, BoundCircuit},
};
use crate::{
    kernel::{SERIAL_BELOW, Threads},
    observable::PauliSum,
    scalar::{Real, Scalar},
    state::{StateError, StateVector, bytes_needed, draw},
};

/// States that may wait at once when no memory limit is given.
const DEFAULT_WAITING: usize = 16;

/// A history that some shots share, at its end: the state before the final measurements.
#[derive(Debug)]
pub struct Trajectory<'a, S> {
    /// The state; normalized.
    pub state: &'a StateVector<S>,
    /// The classical bits, without those that the final measurements will write.
    pub bits: &'a Bits,
    /// The shots that took this history, ascending.
    pub shots: &'a [usize],
    /// How many random numbers each of them used.
    draws: u64,
    seed: u64,
}

impl<T: Real, S: Scalar<Real = T>> Trajectory<'_, S> {
    /// The classical bits after the final measurements, for each of the shots.
    ///
    /// # Errors
    /// [`SimulateError`] if the probabilities have no value or are not finite.
    pub fn outcomes(&self, circuit: &BoundCircuit<S>, threads: &Threads) -> Result<Vec<Bits>, SimulateError> {
        if circuit.finals.is_empty() {
            return Ok(vec![self.bits.clone(); self.shots.len()]);
        }
        let draws: Vec<f64> =
            self.shots.iter().map(|&shot| draw(self.seed, shot as u64, self.draws)).collect();
        let states = self.state.sample_at(&draws, threads)?;
        Ok(states.into_iter().map(|index| with_finals(self.bits, circuit, index)).collect())
    }
}

fn with_finals<S: Scalar>(bits: &Bits, circuit: &BoundCircuit<S>, index: usize) -> Bits {
    let mut bits = bits.clone();
    for (&bit, &qubit) in &circuit.finals {
        bits.set(bit, index >> qubit & 1 == 1);
    }
    bits
}

/// A mean over shots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error, from the spread of the shots; `None` for fewer than two.
    pub stderr: Option<f64>,
}

impl Mean {
    /// The mean of values that occur so many times: (times, value).
    fn of(values: impl Iterator<Item = (f64, f64)> + Clone) -> Mean {
        let n: f64 = values.clone().map(|(times, _)| times).sum();
        let value = values.clone().map(|(times, value)| times * value).sum::<f64>() / n;
        let spread: f64 = values.map(|(times, x)| times * (x - value).powi(2)).sum();
        Mean { value, stderr: (n > 1.0).then(|| (spread / (n - 1.0) / n).sqrt()) }
    }
}

/// A group of shots on its way.
struct Branch<S> {
    step: usize,
    rounds: u64,
    bits: Bits,
    shots: Vec<usize>,
    /// The outcomes so far.
    history: Vec<bool>,
    /// `None` if there was no room for it: the history says how to compute it again.
    state: Option<StateVector<S>>,
}

/// Where a branch stops.
pub(super) enum Stop<T> {
    End,
    /// A random outcome of this qubit is due; 0 and 1 have these weights.
    Random {
        qubit: usize,
        weights: [T; 2],
    },
}

impl Simulator {
    /// Runs a circuit with measurements anywhere for so many shots and calls `visit` once for each
    /// distinct history, from any thread. Gives the shots of each history with what `visit` made of
    /// it, ordered by first shot.
    ///
    /// # Errors
    /// [`SimulateError`], also that of `visit`.
    pub fn trajectories<T, S, V>(
        &self,
        circuit: &BoundCircuit<S>,
        shots: usize,
        seed: u64,
        visit: impl Fn(&Trajectory<'_, S>) -> Result<V, SimulateError> + Sync,
    ) -> Result<Vec<(Vec<usize>, V)>, SimulateError>
    where
        T: Real,
        S: Scalar<Real = T>,
        V: Send,
    {
        self.check_memory::<S>(circuit.n_qubits)?;
        if shots == 0 {
            return Ok(Vec::new());
        }
        // Small states share the threads among branches, large ones within a branch.
        let among_branches = S::PARALLEL && 1usize << circuit.n_qubits < SERIAL_BELOW;
        let inner = if among_branches { Threads::serial() } else { self.threads.clone() };
        let run = Run {
            simulator: &Simulator { threads: inner, ..self.clone() },
            circuit,
            seed,
            room: AtomicUsize::new(self.waiting_states::<S>(circuit.n_qubits)),
        };
        let first = Branch {
            step: 0,
            rounds: 0,
            bits: Bits::zero(circuit.n_bits),
            shots: (0..shots).collect(),
            history: Vec::new(),
            state: None,
        };
        let results = Mutex::new((Vec::new(), None));
        let work = |branch: Branch<S>, later: &dyn Fn(Branch<S>)| {
            let failed = lock(&results).1.is_some();
            if failed {
                return;
            }
            let result = run.follow(branch, later, &visit);
            let mut results = lock(&results);
            match result {
                Ok(entry) => results.0.push(entry),
                Err(error) => results.1 = Some(error),
            }
        };
        let pool = if among_branches { self.threads.clone() } else { Threads::serial() };
        pool.work_through(first, &work);
        let (mut done, error) = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match error {
            Some(error) => Err(error),
            None => {
                done.sort_by_key(|(shots, _)| shots.first().copied());
                Ok(done)
            }
        }
    }

    /// How often each outcome of the classical registers occurs in so many shots, as
    /// [`Simulator::counts`] writes it; for circuits with measurements anywhere.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn trajectory_counts<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<Bits, u64>, SimulateError> {
        let parts = self.trajectories(circuit, shots, seed, |t| {
            let mut counts: BTreeMap<Bits, u64> = BTreeMap::new();
            for bits in t.outcomes(circuit, &self.threads)? {
                *counts.entry(bits).or_insert(0) += 1;
            }
            Ok(counts)
        })?;
        let mut counts = BTreeMap::new();
        for (bits, count) in parts.into_iter().flat_map(|(_, part)| part) {
            *counts.entry(bits).or_insert(0) += count;
        }
        Ok(counts)
    }

    /// The mean of each observable over so many shots, for circuits with measurements anywhere. A
    /// shot's value is the expectation value in the state before its final measurements.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn trajectory_expectations<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        observables: &[PauliSum],
        shots: usize,
        seed: u64,
    ) -> Result<Vec<Mean>, SimulateError> {
        let histories = self.trajectories(circuit, shots, seed, |t| {
            let values = observables.iter().map(|o| {
                let value = t.state.expectation(o, &self.threads)?;
                value.primal().ok_or(StateError::Symbolic)
            });
            Ok(values.collect::<Result<Vec<f64>, StateError>>()?)
        })?;
        let mean = |k: usize| {
            let weighted = histories.iter().map(|(shots, values)| (shots.len() as f64, values[k]));
            Mean::of(weighted)
        };
        Ok((0..observables.len()).map(mean).collect())
    }

    /// How many states may wait beside the one that is worked on.
    fn waiting_states<S>(&self, n_qubits: usize) -> usize {
        let bytes = bytes_needed::<S>(n_qubits);
        match self.memory_limit {
            Some(limit) => usize::try_from(u128::from(limit) / bytes / 2).unwrap_or(usize::MAX),
            None if bytes <= 1 << 20 => 1 << 10,
            None => DEFAULT_WAITING,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A branch with its state at hand.
#[derive(Clone)]
pub(super) struct Live<S> {
    pub(super) step: usize,
    /// The rounds of loops so far.
    pub(super) rounds: u64,
    pub(super) bits: Bits,
    pub(super) state: StateVector<S>,
}

pub(super) struct Run<'a, S> {
    simulator: &'a Simulator,
    circuit: &'a BoundCircuit<S>,
    seed: u64,
    /// How many more states may wait.
    room: AtomicUsize,
}

impl<'a, T: Real, S: Scalar<Real = T>> Run<'a, S> {
    /// A run that draws no numbers.
    pub(super) fn exact(simulator: &'a Simulator, circuit: &'a BoundCircuit<S>) -> Run<'a, S> {
        Run { simulator, circuit, seed: 0, room: AtomicUsize::new(0) }
    }

    pub(super) fn start(&self, bits: Bits) -> Result<Live<S>, SimulateError> {
        let state = match &self.circuit.start {
            Some(state) => (**state).clone(),
            None => StateVector::zero_on(self.circuit.n_qubits, &self.simulator.threads)?,
        };
        Ok(Live { step: 0, rounds: 0, bits, state })
    }

    /// Goes on to the next random outcome or the end.
    pub(super) fn advance(&self, live: &mut Live<S>) -> Result<Stop<T>, SimulateError> {
        while let Some(step) = self.circuit.steps.get(live.step) {
            let holds = step.condition.as_ref().is_none_or(|c| c.holds(&|bit| live.bits.get(bit)));
            match &step.action {
                Action::While { end } if !holds => {
                    live.step = *end;
                    continue;
                }
                Action::Again { head } => {
                    live.step = *head;
                    continue;
                }
                _ if !holds => {}
                Action::While { .. } => {
                    let limit = self.simulator.max_rounds;
                    if live.rounds >= limit {
                        return Err(SimulateError::Endless { limit });
                    }
                    live.rounds += 1;
                }
                Action::Gates(gates) => {
                    self.simulator.execute(gates, &mut live.state, &mut |_, _| {})?;
                }
                Action::Assign { bit, value } => live.bits.set(*bit, *value),
                Action::Measure { qubit, .. } | Action::Reset { qubit } => {
                    let p = live.state.probabilities_of(&[*qubit], &self.simulator.threads)?;
                    let weights = [p[0].clone(), p[1].clone()];
                    return Ok(Stop::Random { qubit: *qubit, weights });
                }
            }
            live.step += 1;
        }
        Ok(Stop::End)
    }

    /// Gives the outcome that is due and steps over it.
    pub(super) fn settle(
        &self,
        live: &mut Live<S>,
        qubit: usize,
        value: bool,
        weights: &[T; 2],
    ) -> Result<(), SimulateError> {
        live.state.project(qubit, value, &weights[usize::from(value)], &self.simulator.threads);
        match self.circuit.steps.get(live.step).map(|s| &s.action) {
            Some(Action::Measure { bit, .. }) => live.bits.set(*bit, value),
            Some(Action::Reset { .. }) if value => live.state.flip(qubit, &self.simulator.threads)?,
            _ => {}
        }
        live.step += 1;
        Ok(())
    }

    /// Follows a branch to its end; the other half of each split goes to `later`.
    fn follow<V>(
        &self,
        branch: Branch<S>,
        later: &dyn Fn(Branch<S>),
        visit: &(impl Fn(&Trajectory<'_, S>) -> Result<V, SimulateError> + Sync),
    ) -> Result<(Vec<usize>, V), SimulateError> {
        let Branch { step, rounds, bits, mut shots, mut history, state } = branch;
        let mut live = match state {
            Some(state) => {
                self.room.fetch_add(1, Ordering::Relaxed);
                Live { step, rounds, bits, state }
            }
            None => self.replay(&history)?,
        };
        loop {
            match self.advance(&mut live)? {
                Stop::End => {
                    let draws = history.len() as u64;
                    let (state, bits, seed) = (&live.state, &live.bits, self.seed);
                    let value = visit(&Trajectory { state, bits, shots: &shots, draws, seed })?;
                    return Ok((shots, value));
                }
                Stop::Random { qubit, weights } => {
                    let total = weights[0].clone() + &weights[1];
                    let p1 = (weights[1].clone() / &total).primal().ok_or(StateError::Symbolic)?;
                    if !p1.is_finite() {
                        let total = total.primal().unwrap_or(f64::NAN);
                        return Err(StateError::NotFinite { total }.into());
                    }
                    let k = history.len() as u64;
                    let (ones, zeros): (Vec<usize>, Vec<usize>) =
                        shots.iter().partition(|&&shot| draw(self.seed, shot as u64, k) < p1);
                    let value = zeros.is_empty();
                    if !ones.is_empty() && !zeros.is_empty() {
                        later(self.split(&live, qubit, &weights, ones, &history)?);
                        shots = zeros;
                    }
                    self.settle(&mut live, qubit, value, &weights)?;
                    history.push(value);
                }
            }
        }
    }

    /// The branch in which the due outcome is 1.
    fn split(
        &self,
        live: &Live<S>,
        qubit: usize,
        weights: &[T; 2],
        shots: Vec<usize>,
        history: &[bool],
    ) -> Result<Branch<S>, SimulateError> {
        let mut history = history.to_vec();
        history.push(true);
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return Ok(Branch { step: 0, rounds: 0, bits: Bits::zero(0), shots, history, state: None });
        }
        let mut other = live.clone();
        self.settle(&mut other, qubit, true, weights)?;
        let Live { step, rounds, bits, state } = other;
        Ok(Branch { step, rounds, bits, shots, history, state: Some(state) })
    }

    /// Computes a branch again from the start, by its outcomes.
    fn replay(&self, history: &[bool]) -> Result<Live<S>, SimulateError> {
        let mut live = self.start(Bits::zero(self.circuit.n_bits))?;
        for &value in history {
            if let Stop::Random { qubit, weights } = self.advance(&mut live)? {
                self.settle(&mut live, qubit, value, &weights)?;
            }
        }
        Ok(live)
    }
}
