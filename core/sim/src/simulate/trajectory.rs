//! Circuits with measurements, resets and conditions before their end: trajectories that share
//! work.
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
//! Each branch runs a loop as often as its outcomes say.
//!
//! Noise is a split like any other, by the terms of its channel. Where these are unitary by chance,
//! whatever the state, the gates in between wait until shots part or a state is needed, and are
//! then planned as one circuit.
//!
//! A branch that waits holds a state. When the memory limit has no room for another, it keeps its
//! history instead and is computed again from the start when its turn comes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use smallvec::SmallVec;

use super::{
    Bits, SimulateError, Simulator,
    endless::{CERTAIN, CONDITION, CYCLE, FIRST, Snapshot, can_end},
    liveness::BitLiveness,
    program::{Action, BoundChannel, BoundCircuit},
    rounds::LoopRounds,
};
use crate::{
    kernel::{Operator, OperatorShape, SERIAL_BELOW, Threads},
    matrix::Matrix,
    observable::PauliSum,
    scalar::{Real, Ring, Scalar},
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
    /// The number of random numbers that each of them used.
    pub(super) draws: u64,
    pub(super) seed: u64,
}

/// A mean over shots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error, from the spread of the shots; `None` for fewer than two.
    pub stderr: Option<f64>,
}

impl Mean {
    /// Computes the mean of values by their multiplicities: (multiplicity, value).
    pub(super) fn from_weighted(values: impl Iterator<Item = (f64, f64)> + Clone) -> Mean {
        let n: f64 = values.clone().map(|(times, _)| times).sum();
        let value = values.clone().map(|(times, value)| times * value).sum::<f64>() / n;
        let spread: f64 = values.map(|(times, x)| times * (x - value).powi(2)).sum();
        Mean { value, stderr: (n > 1.0).then(|| (spread / (n - 1.0) / n).sqrt()) }
    }
}

/// Branch of a run: a group of shots with the same history.
struct ShotBranch<S> {
    shots: Vec<usize>,
    history: History,
    /// `None` if there was no room for it: the history says how to compute it again.
    live: Option<LiveBranch<S>>,
}

/// The outcomes of a branch so far. Those that branches have in common are stored once.
#[derive(Default)]
struct History {
    /// Before those of its own.
    past: Option<Arc<Past>>,
    own: Vec<u32>,
    len: u64,
}

struct Past {
    outcomes: Vec<u32>,
    before: Option<Arc<Past>>,
}

impl Drop for Past {
    /// Drops the chain iteratively: it may be longer than a stack is deep.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut past) = next.and_then(Arc::into_inner) {
            next = past.before.take();
        }
    }
}

impl History {
    fn push(&mut self, outcome: u32) {
        self.own.push(outcome);
        self.len += 1;
    }

    /// Returns the history of a branch whose next outcome is this one.
    fn fork(&mut self, outcome: u32) -> History {
        if !self.own.is_empty() {
            let outcomes = std::mem::take(&mut self.own);
            self.past = Some(Arc::new(Past { outcomes, before: self.past.take() }));
        }
        History { past: self.past.clone(), own: vec![outcome], len: self.len + 1 }
    }

    /// Returns all outcomes, the first one first.
    fn outcomes(&self) -> Vec<u32> {
        let mut parts = vec![&self.own];
        let mut past = &self.past;
        while let Some(before) = past {
            parts.push(&before.outcomes);
            past = &before.before;
        }
        parts.into_iter().rev().flatten().copied().collect()
    }
}

/// Reason that a branch stops.
pub(super) enum BranchStop<T> {
    End,
    /// A random outcome is due: a bit, or a term of a channel. They have these weights.
    Random(Weights<T>),
}

pub(super) type Weights<T> = SmallVec<[T; 4]>;

/// States of fewer amplitudes are acted on gate by gate: a plan would take longer.
const PLANNED_FROM: usize = 1 << 10;

impl Simulator {
    /// Runs a circuit with measurements anywhere for `shots` shots and calls `visit` once for each
    /// distinct history, from any thread. Returns the shots of each history with the result of
    /// `visit`, ordered by first shot.
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
        let inner = if among_branches { self.threads.to_serial() } else { self.threads.clone() };
        let run = TrajectoryRunner {
            simulator: &Simulator { threads: inner, ..self.clone() },
            circuit,
            seed,
            room: AtomicUsize::new(self.waiting_states::<S>(circuit.n_qubits, circuit.n_bits)),
            defers_gates: can_defer_gates(circuit),
            liveness: None,
            counts_rounds: false,
        };
        let mut all = Vec::new();
        all.try_reserve_exact(shots).map_err(|_| StateError::Shots { shots })?;
        all.extend(0..shots);
        let first = ShotBranch { shots: all, history: History::default(), live: None };
        let results = Mutex::new((Vec::new(), None));
        let work = |branch: ShotBranch<S>, later: &dyn Fn(ShotBranch<S>)| {
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
        let (mut done, error) =
            results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match error {
            Some(error) => Err(error),
            None => {
                done.sort_by_key(|(shots, _)| shots.first().copied());
                Ok(done)
            }
        }
    }

    /// Computes the mean of each observable over `shots` shots, for circuits with measurements
    /// anywhere. A shot's value is the expectation value in the state before its final
    /// measurements.
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
            Mean::from_weighted(weighted)
        };
        Ok((0..observables.len()).map(mean).collect())
    }

    /// Returns the number of states that may wait, with their classical bits, beside the one that
    /// is worked on.
    fn waiting_states<S>(&self, n_qubits: usize, n_bits: usize) -> usize {
        // What few bits take is a part of the branch.
        let bits = if n_bits > 128 { n_bits.div_ceil(8) as u128 } else { 0 };
        let bytes = bytes_needed::<S>(n_qubits).saturating_add(bits);
        match self.memory_limit {
            Some(limit) => usize::try_from(u128::from(limit) / bytes / 2).unwrap_or(usize::MAX),
            None if bytes <= 1 << 20 => 1 << 10,
            None => DEFAULT_WAITING,
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A branch with its state in memory.
#[derive(Clone)]
pub(super) struct LiveBranch<S> {
    pub(super) step: usize,
    /// The iterations of loops so far.
    pub(super) rounds: u64,
    /// The loops around, where their rounds order the branches.
    pub(super) around: LoopRounds,
    pub(super) bits: Bits,
    pub(super) state: StateVector<S>,
    /// Gates that have not been applied yet: between the chances of noise that no state changes
    /// they are planned as one.
    pending: Vec<Operator<S>>,
    /// Snapshot at the beginning of an iteration of a loop that goes on for long.
    snapshot: Option<Box<Snapshot<S>>>,
}

pub(super) struct TrajectoryRunner<'a, S> {
    simulator: &'a Simulator,
    circuit: &'a BoundCircuit<S>,
    seed: u64,
    /// Number of further states that may wait.
    room: AtomicUsize,
    /// True if gates are collected before they are applied.
    defers_gates: bool,
    /// Clears the bits that are dead, if there is one.
    liveness: Option<BitLiveness>,
    /// True if the rounds of loops order the branches.
    counts_rounds: bool,
}

/// Returns true if the gates of a circuit are collected before they are applied: noise cuts it into
/// short pieces, which are planned together.
fn can_defer_gates<S: Ring>(circuit: &BoundCircuit<S>) -> bool {
    circuit.has_channels() && 1usize << circuit.n_qubits >= PLANNED_FROM
}

impl<'a, T: Real, S: Scalar<Real = T>> TrajectoryRunner<'a, S> {
    /// Returns a run that draws no numbers.
    pub(super) fn exact(
        simulator: &'a Simulator,
        circuit: &'a BoundCircuit<S>,
    ) -> TrajectoryRunner<'a, S> {
        let (room, waits) = (AtomicUsize::new(0), can_defer_gates(circuit));
        // Branches become one only where there may be no end to them.
        let liveness = circuit.has_loops().then(|| BitLiveness::new(circuit));
        let counts_rounds = circuit.has_classical_actions();
        TrajectoryRunner {
            simulator,
            circuit,
            seed: 0,
            room,
            defers_gates: waits,
            liveness,
            counts_rounds,
        }
    }

    /// Steps over an instruction.
    fn pass(&self, live: &mut LiveBranch<S>) {
        if let Some(liveness) = &self.liveness {
            liveness.pass(live.step, &mut live.bits);
        }
        live.step += 1;
    }

    pub(super) fn start(&self, bits: Bits) -> Result<LiveBranch<S>, SimulateError> {
        let state = match &self.circuit.start {
            Some(state) => (**state).clone(),
            None => StateVector::zero_on(self.circuit.n_qubits, &self.simulator.threads)?,
        };
        let around = LoopRounds::default();
        let pending = Vec::new();
        Ok(LiveBranch { step: 0, rounds: 0, around, bits, state, pending, snapshot: None })
    }

    /// Applies the pending gates.
    fn flush(&self, live: &mut LiveBranch<S>) -> Result<(), SimulateError> {
        if !live.pending.is_empty() {
            self.simulator.execute(&live.pending, &mut live.state, &mut |_, _| {})?;
            live.pending.clear();
        }
        Ok(())
    }

    /// Goes on to the next random outcome or the end.
    pub(super) fn advance(&self, live: &mut LiveBranch<S>) -> Result<BranchStop<T>, SimulateError> {
        self.simulator.threads.check()?;
        while let Some(step) = self.circuit.steps.get(live.step) {
            let memory = live.bits.read(&self.circuit.layout);
            let holds = step.condition.as_ref().is_none_or(|c| c.holds(&memory));
            match &step.action {
                Action::Classical(action) => {
                    let next = action.run((live.step, holds), &mut live.bits, &self.circuit.layout);
                    if let Some(end) = action.end_of_round().filter(|&end| next != end) {
                        self.count_round(live, end)?;
                    }
                    live.step = next;
                    continue;
                }
                Action::While { end } if !holds => {
                    if let Some(liveness) = &self.liveness {
                        liveness.leave(live.step, &mut live.bits);
                    }
                    live.step = *end;
                    continue;
                }
                Action::BackEdge { head } => {
                    live.step = *head;
                    continue;
                }
                _ if !holds => {}
                Action::While { end } => {
                    self.count_round(live, *end)?;
                    self.check_end(live)?;
                }
                Action::Gates(gates) if self.defers_gates => live.pending.extend_from_slice(gates),
                Action::Gates(gates) => {
                    self.simulator.execute(gates, &mut live.state, &mut |_, _| {})?;
                }
                Action::RuntimeGate(gate) => {
                    live.pending.push(gate.operator(&live.bits, &self.circuit.layout)?);
                    if !self.defers_gates {
                        self.flush(live)?;
                    }
                }
                Action::Assign { bit, value } => live.bits.set(*bit, *value),
                Action::Measure { qubit, .. } | Action::Reset { qubit } => {
                    self.flush(live)?;
                    let p = live.state.probabilities_of(&[*qubit], &self.simulator.threads)?;
                    return Ok(random(live, p.into()));
                }
                Action::ReadoutError(readout_error) => {
                    let weights =
                        readout_error.weights(&live.bits).iter().map(Scalar::re).collect();
                    return Ok(random(live, weights));
                }
                Action::Channel(channel) if channel.mixture => {
                    return Ok(random(live, channel.terms.iter().map(|(w, _)| w.re()).collect()));
                }
                Action::Channel(channel) => {
                    self.flush(live)?;
                    let weights = channel.weights(&live.state, &self.simulator.threads)?;
                    return Ok(random(live, weights));
                }
            }
            self.pass(live);
        }
        self.flush(live)?;
        self.circuit.forget_cells(&mut live.bits);
        Ok(BranchStop::End)
    }

    /// A round begins at the step of the branch, of a loop that ends before a step.
    fn count_round(&self, live: &mut LiveBranch<S>, end: usize) -> Result<(), SimulateError> {
        if self.counts_rounds {
            live.around.begin(live.step, end);
        }
        let limit = self.simulator.max_rounds;
        if live.rounds >= limit {
            return Err(SimulateError::Endless { limit });
        }
        live.rounds += 1;
        Ok(self.simulator.threads.check()?)
    }

    /// Refuses a loop of which it is known that it never ends, at the start of an iteration.
    fn check_end(&self, live: &mut LiveBranch<S>) -> Result<(), SimulateError> {
        if live.rounds.is_power_of_two() && !can_end(self.circuit, live.step, &live.bits) {
            return Err(SimulateError::NeverEnds { why: CONDITION });
        }
        if live.rounds >= FIRST {
            self.flush(live)?;
            let LiveBranch { step, rounds, bits, state, snapshot, .. } = live;
            if Snapshot::comes_again(snapshot, *step, *rounds, bits, state) {
                return Err(SimulateError::NeverEnds { why: CYCLE });
            }
        }
        Ok(())
    }

    /// Applies the outcome that is due and steps over it.
    pub(super) fn apply_outcome(
        &self,
        live: &mut LiveBranch<S>,
        outcome: usize,
        weights: &[T],
    ) -> Result<(), SimulateError> {
        let threads = &self.simulator.threads;
        match self.circuit.steps.get(live.step).map(|s| &s.action) {
            Some(Action::Measure { qubit, bit }) => {
                live.state.project(*qubit, outcome == 1, &weights[outcome], threads);
                live.bits.set(*bit, outcome == 1);
            }
            Some(Action::Reset { qubit }) => {
                live.state.project(*qubit, outcome == 1, &weights[outcome], threads);
                if outcome == 1 {
                    live.state.flip(*qubit, threads)?;
                }
            }
            Some(Action::ReadoutError(readout_error)) => {
                readout_error.apply(&mut live.bits, outcome)
            }
            Some(Action::Channel(channel)) => {
                let operator = channel.operator(outcome, &weights[outcome])?;
                if !matches!(operator.shape(), OperatorShape::Identity) {
                    live.pending.push(operator);
                }
                if !self.defers_gates {
                    self.flush(live)?;
                }
            }
            _ => {}
        }
        self.pass(live);
        Ok(())
    }

    /// Follows a branch to its end; the other half of each split goes to `later`.
    fn follow<V>(
        &self,
        branch: ShotBranch<S>,
        later: &dyn Fn(ShotBranch<S>),
        visit: &(impl Fn(&Trajectory<'_, S>) -> Result<V, SimulateError> + Sync),
    ) -> Result<(Vec<usize>, V), SimulateError> {
        let ShotBranch { mut shots, mut history, live } = branch;
        let mut live = match live {
            Some(live) => {
                self.room.fetch_add(1, Ordering::Relaxed);
                live
            }
            None => self.replay(&history.outcomes())?,
        };
        loop {
            match self.advance(&mut live)? {
                BranchStop::End => {
                    let draws = history.len;
                    let (state, bits, seed) = (&live.state, &live.bits, self.seed);
                    let value = visit(&Trajectory { state, bits, shots: &shots, draws, seed })?;
                    return Ok((shots, value));
                }
                BranchStop::Random(weights) => {
                    let chances = probabilities(&weights)?;
                    let k = history.len;
                    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); weights.len()];
                    for shot in shots {
                        groups[pick(&chances, draw(self.seed, shot as u64, k))].push(shot);
                    }
                    let mut groups =
                        groups.into_iter().enumerate().filter(|(_, group)| !group.is_empty());
                    // There is a shot.
                    let Some((outcome, first)) = groups.next() else {
                        return Err(StateError::Symbolic.into());
                    };
                    for (other, group) in groups {
                        let history = history.fork(other as u32);
                        later(self.split(&mut live, other, &weights, group, history)?);
                    }
                    shots = first;
                    self.apply_outcome(&mut live, outcome, &weights)?;
                    history.push(outcome as u32);
                }
            }
        }
    }

    /// Returns the branch in which the due outcome is another one.
    fn split(
        &self,
        live: &mut LiveBranch<S>,
        outcome: usize,
        weights: &[T],
        shots: Vec<usize>,
        history: History,
    ) -> Result<ShotBranch<S>, SimulateError> {
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return Ok(ShotBranch { shots, history, live: None });
        }
        // What both have in common is done once.
        self.flush(live)?;
        let mut other = live.clone();
        self.apply_outcome(&mut other, outcome, weights)?;
        self.flush(&mut other)?;
        Ok(ShotBranch { shots, history, live: Some(other) })
    }

    /// Computes a branch again from the start, by its outcomes.
    fn replay(&self, history: &[u32]) -> Result<LiveBranch<S>, SimulateError> {
        let mut live = self.start(self.circuit.memory())?;
        for &outcome in history {
            if let BranchStop::Random(weights) = self.advance(&mut live)? {
                self.apply_outcome(&mut live, outcome as usize, &weights)?;
            }
        }
        Ok(live)
    }
}

/// Returns the stop at a random outcome, which may be certain.
fn random<T: Real, S>(live: &mut LiveBranch<S>, weights: Weights<T>) -> BranchStop<T> {
    if let Some(snapshot) = &mut live.snapshot {
        let values = weights.iter().map(|w| w.primal().unwrap_or(f64::NAN));
        let (most, total) = values.fold((0.0f64, 0.0), |(most, total), w| (most.max(w), total + w));
        snapshot.is_certain &= most >= CERTAIN * total;
    }
    BranchStop::Random(weights)
}

/// Returns the probabilities of outcomes with these weights.
fn probabilities<T: Real>(weights: &[T]) -> Result<SmallVec<[f64; 4]>, SimulateError> {
    let value = |w: &T| w.primal().ok_or(StateError::Symbolic);
    let mut chances: SmallVec<[f64; 4]> = weights.iter().map(value).collect::<Result<_, _>>()?;
    let total: f64 = chances.iter().sum();
    chances.iter_mut().for_each(|p| *p /= total);
    if chances.iter().all(|p| p.is_finite()) {
        return Ok(chances);
    }
    Err(StateError::NotFinite { total }.into())
}

/// Maps a uniform number in [0, 1) to an outcome: the last ones come first. None without a chance
/// is taken.
fn pick(chances: &[f64], u: f64) -> usize {
    let mut end = 0.0;
    let last = chances.iter().enumerate().rev().find(|(_, p)| {
        end += *p;
        u < end
    });
    // Rounding may leave a gap at 1.
    let possible = || chances.iter().position(|p| *p > 0.0);
    last.map(|(outcome, _)| outcome).or_else(possible).unwrap_or(0)
}

impl<T: Real, S: Scalar<Real = T>> BoundChannel<S> {
    /// Returns the probability of each term in a state: `w |A psi|^2`, from the density matrix of
    /// its qubits or, where that is enough, the diagonal of it.
    fn weights(&self, state: &StateVector<S>, threads: &Threads) -> Result<Weights<T>, StateError> {
        let squares: Vec<Matrix<S>> = self.terms.iter().map(|(_, a)| &a.dagger() * a).collect();
        let dim = 1usize << self.qubits.len();
        let diagonal = |m: &Matrix<S>| {
            (0..dim * dim).all(|k| k / dim == k % dim || m.entries()[k].is_exact_zero())
        };
        let means: Vec<T> = if squares.iter().all(diagonal) {
            let p = state.probabilities_of(&self.qubits, threads)?;
            let mean =
                |m: &Matrix<S>| (0..dim).fold(T::zero(), |sum, i| sum + m[(i, i)].re() * &p[i]);
            squares.iter().map(mean).collect()
        } else {
            let rho = state.reduced_density_matrix(&self.qubits, threads)?;
            // The trace of the product
            let mean = |m: &Matrix<S>| {
                let places = (0..dim * dim).map(|k| (k / dim, k % dim));
                places.fold(T::zero(), |sum, (i, j)| sum + (m[(i, j)].clone() * &rho[(j, i)]).re())
            };
            squares.iter().map(mean).collect()
        };
        Ok(self.terms.iter().zip(means).map(|((w, _), mean)| w.re() * mean).collect())
    }

    /// Returns a term as an operator after which a state is normalized, given how likely it was.
    fn operator(&self, term: usize, weight: &T) -> Result<Operator<S>, SimulateError> {
        let (w, matrix) = &self.terms[term];
        if self.mixture {
            return Ok(Operator::new(matrix, &self.qubits, &[])?);
        }
        let scale = S::from_real((w.re() / weight).sqrt());
        Ok(Operator::new(&matrix.map(|x| x.clone() * &scale), &self.qubits, &[])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_share_their_pasts_and_end_whatever_their_length() {
        let mut history = History::default();
        let mut forks = Vec::new();
        for k in 0..1_000_000u32 {
            let fork = history.fork(k + 1);
            if k % 300_000 == 0 {
                forks.push(fork);
            }
            history.push(k);
        }
        for (fork, k) in forks.iter().zip([0, 300_000, 600_000, 900_000]) {
            let outcomes = fork.outcomes();
            assert!(outcomes.len() as u64 == fork.len && fork.len == k + 1);
            let (last, before) = outcomes.split_last().unwrap();
            assert!(u64::from(*last) == k + 1 && before.iter().copied().eq(0..k as u32));
        }
        // One owner after the other lets go of a chain of a million links.
        drop(history);
        drop(forks);
    }
}
