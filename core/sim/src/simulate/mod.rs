//! Running a circuit on a state: the one place where circuits and kernels meet.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator};
//! use num_dual::Dual64;
//!
//! let mut circuit = Circuit::new(1);
//! let theta = circuit.param("theta");
//! circuit.rx(0, theta)?;
//!
//! // d/dtheta cos(theta) by dual numbers: the same circuit, the same kernels.
//! let state = Simulator::new().run(&circuit, &[Dual64::new(0.3, 1.0)])?;
//! let z = state.expectation(&"Z0".parse()?, &Default::default())?;
//! assert!((z.re - 0.3f64.cos()).abs() < 1e-15);
//! assert!((z.eps + 0.3f64.sin()).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod classical;
mod density;
mod distribution;
mod eigenstates;
mod endless;
mod liveness;
mod measured;
mod merging;
mod outcomes;
mod program;
mod rounds;
mod runtime_gate;
mod shot_memory;
mod state_handle;
mod tail;
mod trajectory;

pub use crate::classical::ClassicalMemory as Bits;
#[doc(hidden)]
pub use density::{on_both_sides, superoperator, superoperator_matrix};
pub use eigenstates::Eigenstate;
#[doc(hidden)]
pub use measured::MeasurementPlan;
pub use measured::{Grouping, Shots, measurement_basis};
#[doc(hidden)]
pub use program::constants;
pub use program::{BoundCircuit, final_measurements, has_final_readout_errors, has_final_state};
#[doc(hidden)]
pub use program::{bind_instruction, is_static, rebind_instruction};
#[doc(hidden)]
pub use shot_memory::FinalReadout;
pub use shot_memory::ShotMemory;
pub use state_handle::StateHandle;
pub use trajectory::{Mean, Trajectory};

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use num_complex::Complex;

use crate::{
    basis::{BasisError, MAX_QUBITS},
    cancel::{CancellationToken, Cancelled},
    circuit::{Circuit, CircuitError, Compact},
    kernel::{
        ExecuteError, Executor, Executors, Operator, PreparedOperators, SHARED_BELOW, StateHint,
        Threads,
    },
    matrix::Matrix,
    observable::ObservableError,
    param::{Binding, Values},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector, bytes_needed, bytes_text},
};

/// Largest number of qubits of a circuit whose matrix is computed: 4^13 entries of 16 bytes are 1
/// GiB.
pub const MAX_MATRIX_QUBITS: usize = 13;

/// Largest number of iterations of loops in one run of a circuit, by default: seconds on a few
/// qubits.
pub const MAX_ROUNDS: u64 = 1_000_000;

/// Returns the largest number of iterations that takes seconds on n qubits: [`MAX_ROUNDS`] up to 10
/// of them, 1000 for 20 and more.
///
/// ```
/// use ketgrad_core::simulate::{MAX_ROUNDS, rounds_in_seconds};
/// assert_eq!([2, 15, 40].map(rounds_in_seconds), [MAX_ROUNDS, 32768, 1000]);
/// ```
#[must_use]
pub fn rounds_in_seconds(n_qubits: usize) -> u64 {
    const AMPLITUDES: u64 = 1 << 30;
    let rounds = u32::try_from(n_qubits).ok().and_then(|n| AMPLITUDES.checked_shr(n)).unwrap_or(0);
    rounds.clamp(1000, MAX_ROUNDS)
}

/// Error of a simulation: the reason why a circuit did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// Something about the circuit or its parameters.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// Something about the state, such as its memory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A qubit that no index can hold.
    #[error(transparent)]
    Basis(#[from] BasisError),
    /// An executor failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The work was cancelled.
    #[error("{0}")]
    Cancelled(#[from] Cancelled),
    /// A circuit without one final state: it measures, resets, branches or has noise before its
    /// end.
    #[error(
        "the circuit measures, resets, branches or has noise before its end, so it has no single final state: run its \
         trajectories"
    )]
    Dynamic,
    /// A mean over shots where a final measurement is read together with a bit that is none.
    #[error(
        "classical bits {} are read together, but some are not the results of final measurements of one qubit each, so \
         that a mean over shots does not know what the others are read as",
        bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    ReadingOfOthers {
        /// The bits.
        bits: Vec<u32>,
    },
    /// More outcomes than allowed.
    #[error("the circuit has more than {limit} outcomes to follow")]
    TooManyBranches {
        /// The number allowed.
        limit: usize,
    },
    /// Branches whose states and classical bits do not fit in memory together.
    #[error("{branches} branches with their classical bits need {}, but {} are available", bytes_text(*needed), bytes_text(*available))]
    Branches {
        /// Their number.
        branches: usize,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u128,
    },
    /// Outcomes of classical bits that do not fit in memory.
    #[error(
        "{outcomes} different outcomes of {n_bits} classical bits need {}, but {} are available for them",
        bytes_text(*needed), bytes_text(*available)
    )]
    Outcomes {
        /// The number of different outcomes.
        outcomes: usize,
        /// The bits of each.
        n_bits: usize,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u128,
    },
    /// A loop of the circuit that exceeds the allowed number of iterations.
    #[error(
        "a loop of the circuit goes on after {limit} iterations: what ends it may never happen, or too rarely"
    )]
    Endless {
        /// The number allowed.
        limit: u64,
    },
    /// A loop of the circuit without an end.
    #[error("a loop of the circuit never ends: {why}")]
    NeverEnds {
        /// Reason that it never ends.
        why: &'static str,
    },
    /// More levels than the space has dimensions.
    #[error("{n_qubits} qubits have 2^{n_qubits} levels, fewer than {given}")]
    Levels {
        /// Number requested.
        given: usize,
        /// The number of qubits.
        n_qubits: usize,
    },
    /// More levels than the basis states that are kept.
    #[error("the basis states that are kept have {available} levels, fewer than {given}")]
    LevelsAmong {
        /// Number requested.
        given: usize,
        /// The number of basis states that are kept.
        available: usize,
    },
    /// A level that was not found.
    #[error(
        "no level after {products} products of the Hamiltonian and a state: the residual is {residual:e}"
    )]
    NotConverged {
        /// Products of the Hamiltonian and a state.
        products: usize,
        /// Residual of the best state.
        residual: f64,
    },
    /// Fewer shots than an observable takes.
    #[error(
        "{given} shots for an observable whose terms fall into {groups} groups that are measured together: each takes \
         two at least"
    )]
    TooFewShots {
        /// The number of shots.
        given: usize,
        /// The number of groups.
        groups: usize,
    },
    /// Terms that no basis serves together.
    #[error("{first} and {second} do not commute, so that they are not measured together")]
    NotCommuting {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// An observable that cannot be.
    #[error(transparent)]
    Observable(#[from] ObservableError),
    /// The matrix of too large a circuit.
    #[error(
        "the matrix of {n_qubits} qubits has 4^{n_qubits} entries; at most {MAX_MATRIX_QUBITS} qubits are allowed"
    )]
    MatrixTooLarge {
        /// The number of qubits.
        n_qubits: usize,
    },
}

/// Returns a circuit bound for a run from |0…0>, [folded](Circuit::folded) if it has no single
/// final state as it is.
fn bound_from_zero<R: Ring>(
    circuit: &Circuit,
    binding: &impl Binding<R>,
) -> Result<BoundCircuit<R>, SimulateError> {
    let bound = BoundCircuit::new(circuit, binding)?;
    if bound.is_static() { Ok(bound) } else { BoundCircuit::new(&circuit.folded(), binding) }
}

/// Returns a circuit with measurements of all its qubits if it has no results, and what is bound.
fn with_results<'c, T: Real>(
    circuit: &'c Circuit,
    lean: Option<&Compact>,
    bound: BoundCircuit<Complex<T>>,
    values: &[T],
) -> Result<(Cow<'c, Circuit>, BoundCircuit<Complex<T>>), SimulateError> {
    if circuit.has_results() {
        return Ok((Cow::Borrowed(circuit), bound));
    }
    let measured = match lean {
        Some(compact) => compact.measuring_all(circuit)?,
        None => Compact::whole(circuit.clone()).measuring_all(circuit)?,
    };
    let bound = BoundCircuit::new(&measured, &Values(values))?;
    Ok((Cow::Owned(measured), bound))
}

/// Runs circuits: the executors, the threads and the memory that it may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Simulator {
    /// Executors, by ring.
    pub executors: Executors,
    /// The thread pool.
    pub threads: Threads,
    /// Largest number of bytes that a state may take; checked before anything is allocated.
    pub memory_limit: Option<u64>,
    /// Largest number of iterations that the loops of a circuit may take together in one run, those
    /// after its final measurements by themselves; [`MAX_ROUNDS`] by default.
    pub max_rounds: u64,
}

impl Default for Simulator {
    fn default() -> Simulator {
        let (executors, threads) = (Executors::fast(), Threads::serial());
        Simulator { executors, threads, memory_limit: None, max_rounds: MAX_ROUNDS }
    }
}

impl Simulator {
    /// Returns the fast executors on one thread, without a memory limit.
    #[must_use]
    pub fn new() -> Simulator {
        Simulator::default()
    }

    /// Replaces the [`executors`](Simulator::executors).
    #[must_use]
    pub fn with_executors(self, executors: Executors) -> Simulator {
        Simulator { executors, ..self }
    }

    /// Replaces the [`threads`](Simulator::threads), with their token, or if they have none, with
    /// the present one.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Simulator {
        Simulator { threads: threads.or_cancelled_by(self.threads.cancellation()), ..self }
    }

    /// Sets the [`memory_limit`](Simulator::memory_limit).
    #[must_use]
    pub fn with_memory_limit(self, bytes: impl Into<Option<u64>>) -> Simulator {
        Simulator { memory_limit: bytes.into(), ..self }
    }

    /// Replaces [`max_rounds`](Simulator::max_rounds).
    #[must_use]
    pub fn with_max_rounds(self, max_rounds: u64) -> Simulator {
        Simulator { max_rounds, ..self }
    }

    /// Sets a token that ends the work early: [`Threads::with_cancellation`] says where it is
    /// checked; loops over shots, trajectories, points and products check it, too.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Simulator {
        Simulator { threads: self.threads.with_cancellation(token), ..self }
    }

    /// Runs a circuit on |0…0> with the given values of its inputs, in order, over any real number
    /// type. Measurements at the end are left out: the state is the one before them.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<StateVector<Complex<T>>, SimulateError> {
        type RunFn<T> =
            fn(&Simulator, &Circuit, &[T]) -> Result<StateVector<Complex<T>>, SimulateError>;
        compiled!(T: RunFn = [f32, f64] Simulator::run_any)(self, circuit, inputs)
    }

    fn run_any<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<StateVector<Complex<T>>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        self.run_bound(circuit, &Values(&values))
    }

    /// Runs a circuit on |0…0> over any ring.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run_bound<R: Ring>(
        &self,
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<StateVector<R>, SimulateError> {
        self.check_memory::<R>(circuit.n_qubits())?;
        let bound = bound_from_zero(circuit, binding)?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        let mut state = StateVector::zero_on(circuit.n_qubits(), &self.threads)?;
        self.execute(operators, &mut state, &mut |_, _| {})?;
        Ok(state)
    }

    /// Runs a static circuit once for each list of input values: one state for each point, in
    /// order, with the bits of a run by itself. The circuit is bound once, and planned where plans
    /// pay; for other points only what depends on parameters is computed anew. States of fewer than
    /// [`SHARED_BELOW`] amplitudes share the threads among points: each thread has a plan of its
    /// own.
    ///
    /// # Errors
    /// [`SimulateError`] of the first point that fails. The memory limit counts all states
    /// together.
    pub fn run_points<T: Real>(
        &self,
        circuit: &Circuit,
        points: &[Vec<T>],
    ) -> Result<Vec<StateVector<Complex<T>>>, SimulateError> {
        type RunPointsFn<T> = fn(
            &Simulator,
            &Circuit,
            &[Vec<T>],
        ) -> Result<Vec<StateVector<Complex<T>>>, SimulateError>;
        compiled!(T: RunPointsFn = [f32, f64] Simulator::run_points_any)(self, circuit, points)
    }

    fn run_points_any<T: Real>(
        &self,
        circuit: &Circuit,
        points: &[Vec<T>],
    ) -> Result<Vec<StateVector<Complex<T>>>, SimulateError> {
        let folded = final_measurements(circuit).is_err().then(|| circuit.folded());
        let circuit = folded.as_ref().unwrap_or(circuit);
        let n_qubits = circuit.n_qubits();
        self.check_memory_of::<Complex<T>>(n_qubits, points.len())?;
        let Some(first) = points.first() else { return Ok(Vec::new()) };
        let values = circuit.param_values(first)?;
        let bound = BoundCircuit::<Complex<T>>::new(circuit, &Values(&values))?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        let executor = self.executors.best::<Complex<T>>(n_qubits, operators.len());
        let prepare = || executor.prepare(n_qubits, operators, StateHint::StartsAtZero);
        let plan = Mutex::new(prepare());
        let take = || plan.lock().unwrap_or_else(PoisonError::into_inner).take();
        let plans = plan.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let states = |bound: &mut BoundCircuit<_>, part: &[Vec<T>], threads: &Threads| {
            let mut prepared = take().or_else(prepare);
            let mut state = |point: &Vec<T>| {
                self.point(circuit, bound, point, prepared.as_deref_mut(), threads)
            };
            part.iter().map(&mut state).collect::<Result<Vec<_>, _>>()
        };
        let at_once = T::PARALLEL && 1usize << n_qubits < SHARED_BELOW && self.threads.count() > 1;
        if !at_once {
            return states(&mut bound.clone(), points, &self.threads);
        }
        // Pieces, so that each copies what is bound once; few, where each is planned.
        let pieces = (self.threads.count() * if plans { 1 } else { 4 }).min(points.len());
        let size = points.len().div_ceil(pieces);
        let piece = |k: usize| {
            let part = &points[(k * size).min(points.len())..((k + 1) * size).min(points.len())];
            states(&mut bound.clone(), part, &self.threads.to_serial())
        };
        let parts: Vec<Vec<_>> =
            self.threads.map(pieces, piece).into_iter().collect::<Result<_, _>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Runs one point of [`Simulator::run_points`].
    fn point<T: Real>(
        &self,
        circuit: &Circuit,
        bound: &mut BoundCircuit<Complex<T>>,
        point: &[T],
        prepared: Option<&mut (dyn PreparedOperators<Complex<T>> + 'static)>,
        threads: &Threads,
    ) -> Result<StateVector<Complex<T>>, SimulateError> {
        threads.check()?;
        let values = circuit.param_values(point)?;
        bound.rebind(circuit, &Values(&values))?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        let mut state = StateVector::zero_on(circuit.n_qubits(), threads)?;
        match prepared {
            Some(prepared) => {
                prepared.bind(operators);
                prepared.run(state.amplitudes_mut(), threads)?;
            }
            None => self.run_over(operators, &mut state, threads)?,
        }
        Ok(state)
    }

    /// Runs a circuit as [`Simulator::run`] does, in the memory of a state that is no longer
    /// needed, which is not even cleared where a plan writes first. A state of another size is
    /// replaced.
    ///
    /// # Errors
    /// Those of [`Simulator::run`]; after [`SimulateError::Execute`] the amplitudes are invalid,
    /// after any other the state is unchanged.
    pub fn run_into<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        state: &mut StateVector<Complex<T>>,
    ) -> Result<(), SimulateError> {
        let n_qubits = circuit.n_qubits();
        self.check_memory::<Complex<T>>(n_qubits)?;
        let values = circuit.param_values(inputs)?;
        let bound: BoundCircuit<Complex<T>> = bound_from_zero(circuit, &Values(&values))?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        if state.n_qubits() != n_qubits {
            *state = StateVector::zero_on(n_qubits, &self.threads)?;
        }
        Ok(self.run_over(operators, state, &self.threads)?)
    }

    /// Applies operators to |0…0>, over what a state holds.
    fn run_over<R: Ring>(
        &self,
        operators: &[Operator<R>],
        state: &mut StateVector<R>,
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        threads.check().map_err(|_| ExecuteError::cancelled("simulator"))?;
        let (n_qubits, amplitudes) = (state.n_qubits(), state.amplitudes_mut());
        self.executors.with_fallback(n_qubits, operators, |executor: &dyn Executor<R>| {
            executor.run_reporting(
                operators,
                StateHint::StartsAtZero,
                amplitudes,
                threads,
                &mut |_| {},
            )
        })
    }

    /// Applies operators to a state; `progress` is called with (done, all) every now and then. A
    /// state that has not been changed since it was made as |0…0> takes less time than any other.
    ///
    /// # Errors
    /// [`SimulateError`] if an operator needs a qubit that is not there, or an executor fails.
    pub fn execute<R: Ring>(
        &self,
        operators: &[Operator<R>],
        state: &mut StateVector<R>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), SimulateError> {
        self.threads.check()?;
        let (n_qubits, new) = (state.n_qubits(), state.is_new());
        if let Some(operator) = operators.iter().find(|o| o.n_qubits() > n_qubits) {
            return Err(BasisError::OutOfRange {
                given: operator.n_qubits() - 1,
                available: n_qubits,
            }
            .into());
        }
        let mut report = |done| progress(done, operators.len());
        let amplitudes = state.amplitudes_mut();
        self.executors.with_fallback(n_qubits, operators, |executor: &dyn Executor<R>| {
            let skips = new && executor.skips_zeros(n_qubits, operators.len());
            let hint = if skips { StateHint::StartsAtZero } else { StateHint::Arbitrary };
            executor.run_reporting(operators, hint, amplitudes, &self.threads, &mut report)
        })?;
        Ok(())
    }

    /// Checks that a state of n qubits fits in the memory limit.
    ///
    /// # Errors
    /// [`StateError::Memory`] with both numbers.
    pub fn check_memory<R>(&self, n_qubits: usize) -> Result<(), StateError> {
        self.check_memory_of::<R>(n_qubits, 1)
    }

    #[doc(hidden)]
    pub fn check_memory_of<R>(&self, n_qubits: usize, states: usize) -> Result<(), StateError> {
        let needed = bytes_needed::<R>(n_qubits).saturating_mul(states as u128);
        let available = self.memory_limit.map_or(u128::MAX, u128::from);
        if needed > available || n_qubits > MAX_QUBITS {
            let available = available.min(1 << MAX_QUBITS);
            return Err(StateError::Memory { n_qubits, needed, available });
        }
        Ok(())
    }

    /// Checks that this number of branches fits in the memory limit: a state of n qubits for each,
    /// and what their bits take.
    fn check_branches<R>(
        &self,
        n_qubits: usize,
        branches: usize,
        bits: u128,
    ) -> Result<(), SimulateError> {
        self.check_memory_of::<R>(n_qubits, branches)?;
        let needed =
            bytes_needed::<R>(n_qubits).saturating_mul(branches as u128).saturating_add(bits);
        match self.memory_limit.map(u128::from) {
            Some(available) if needed > available => {
                Err(SimulateError::Branches { branches, needed, available })
            }
            _ => Ok(()),
        }
    }

    /// Returns the 2^n x 2^n matrix of a circuit. O(4^n) per gate.
    ///
    /// # Errors
    /// [`SimulateError::MatrixTooLarge`] above [`MAX_MATRIX_QUBITS`] qubits,
    /// [`CircuitError::NotUnitary`] with measurements.
    pub fn matrix<R: Ring>(
        &self,
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<Matrix<R>, SimulateError> {
        let n_qubits = circuit.n_qubits();
        if n_qubits > MAX_MATRIX_QUBITS {
            return Err(SimulateError::MatrixTooLarge { n_qubits });
        }
        if !circuit.is_unitary() {
            return Err(CircuitError::NotUnitary { what: "the matrix" }.into());
        }
        let bound = BoundCircuit::new(circuit, binding)?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        let mut columns = Vec::with_capacity(1 << n_qubits);
        for index in 0..1 << n_qubits {
            let mut state = StateVector::basis(n_qubits, index)?;
            self.execute(operators, &mut state, &mut |_, _| {})?;
            columns.push(state);
        }
        Ok(Matrix::from_fn(n_qubits, |row, column| columns[column].amplitudes()[row].clone()))
    }

    /// Runs a circuit for `shots` shots and counts the outcomes of the classical registers,
    /// last declared leftmost, separated by spaces, bit 0 of each rightmost. A circuit without
    /// measurements measures all qubits. Measurements may be anywhere.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run_shots<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        type RunShotsFn<T> = fn(
            &Simulator,
            &Circuit,
            &[T],
            usize,
            u64,
        ) -> Result<BTreeMap<String, u64>, SimulateError>;
        compiled!(T: RunShotsFn = [f32, f64] Simulator::run_shots_any)(
            self, circuit, inputs, shots, seed,
        )
    }

    fn run_shots_any<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        let lean = circuit.lean();
        let circuit = lean.as_ref().map_or(circuit, Compact::circuit);
        let bound = BoundCircuit::<Complex<T>>::new(circuit, &Values(&values))?;
        if let Some(operators) = bound.operators() {
            let state = self.placed(circuit.n_qubits(), operators)?;
            return match &lean {
                Some(compact) => self.counts_in(compact, &state, shots, seed, &mut |_, _| {}),
                None => self.counts_of(circuit, &state, shots, seed, &mut |_, _| {}),
            };
        }
        let (circuit, bound) = with_results(circuit, lean.as_ref(), bound, &values)?;
        // Outcomes that differ in hidden registers only are the same text.
        let mut counts = BTreeMap::new();
        for (bits, count) in self.trajectory_counts(&bound, shots, seed)? {
            *counts.entry(bits.text(&circuit)).or_insert(0) += count;
        }
        Ok(counts)
    }

    /// Samples the final state of a static circuit, as [`Simulator::run_shots`] does.
    ///
    /// # Errors
    /// [`SimulateError::Dynamic`] for any other circuit, or if the probabilities have no value or
    /// are not finite.
    pub fn counts<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &Circuit,
        state: &StateVector<S>,
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        let name = |index| crate::basis::bitstring(index, circuit.n_qubits());
        self.named(circuit, &name, state.sample_counts(shots, seed, &self.threads)?)
    }

    /// Computes [`Simulator::counts`] of a state that may be elsewhere; `progress` is called with
    /// (done, all) shots every now and then.
    ///
    /// # Errors
    /// Those of [`Simulator::counts`]; [`SimulateError::Execute`] if it cannot be sampled there.
    pub fn counts_of<T: Real>(
        &self,
        circuit: &Circuit,
        state: &StateHandle<T>,
        shots: usize,
        seed: u64,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        final_measurements(circuit)?;
        let counts = state.sample_counts_reporting(shots, seed, &self.threads, progress)?;
        self.named(circuit, &|index| crate::basis::bitstring(index, circuit.n_qubits()), counts)
    }

    /// Counts outcomes as [`Simulator::counts_of`] does, for the circuit on the qubits that are
    /// used: without measurements all qubits of the whole are named.
    ///
    /// # Errors
    /// Those of [`Simulator::counts_of`].
    pub fn counts_in<T: Real>(
        &self,
        compact: &Compact,
        state: &StateHandle<T>,
        shots: usize,
        seed: u64,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        final_measurements(compact.circuit())?;
        let counts = state.sample_counts_reporting(shots, seed, &self.threads, progress)?;
        self.named(compact.circuit(), &|index| compact.bitstring(index), counts)
    }

    /// Returns the classical registers for counts of basis states; without measurements the names
    /// of these.
    fn named(
        &self,
        circuit: &Circuit,
        name: &dyn Fn(usize) -> String,
        by_state: Vec<(usize, u64)>,
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        let Some(readout) = FinalReadout::new(circuit)? else {
            return Ok(by_state.into_iter().map(|(index, count)| (name(index), count)).collect());
        };
        let mut counts = BTreeMap::new();
        for (index, count) in by_state {
            *counts.entry(readout.bits(index).text(circuit)).or_insert(0) += count;
            self.check_outcomes(circuit.n_bits(), counts.len())?;
        }
        Ok(counts)
    }
}
