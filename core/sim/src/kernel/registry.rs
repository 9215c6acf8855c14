//! Registry of the executors of operators, by ring.
//!
//! Fast paths for single number types need neither specialization nor statics: an [`Executors`]
//! value maps the ring's `TypeId` to a list of [`Executor`]s for it, and a simulator is given
//! that value. The generic kernels serve every ring, so there is always an answer.
//!
//! An executor may decline some operators, or fail to allocate a state when it should begin. Then
//! the work falls back to the next one, and the value remembers these failures
//! ([`Executors::fallbacks`]). One that was requested by name is never passed over.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::{DeviceStates, Operator, Threads, reset_to_zero};
use crate::{cancel::Cancelled, pauli::PauliMasks, scalar::Ring};

/// Amplitude updates between two reports of progress.
const REPORT_EVERY: usize = 1 << 26;

/// An executor could not do its work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{executor}: {reason}")]
pub struct ExecuteError {
    /// The name of the executor.
    pub executor: String,
    /// Reason of the failure.
    pub reason: String,
    /// True if nothing has been changed: another executor may take the work.
    pub untouched: bool,
    /// It was cancelled.
    #[source]
    pub cancelled: Option<Cancelled>,
}

impl ExecuteError {
    /// Creates a failure after which the amplitudes are invalid.
    pub fn new(executor: impl Into<String>, reason: impl Into<String>) -> ExecuteError {
        ExecuteError {
            executor: executor.into(),
            reason: reason.into(),
            untouched: false,
            cancelled: None,
        }
    }

    /// Creates the error of cancelled work; the amplitudes are invalid.
    pub fn cancelled(executor: impl Into<String>) -> ExecuteError {
        let error = ExecuteError::new(executor, Cancelled.to_string());
        ExecuteError { cancelled: Some(Cancelled), ..error }
    }

    /// Marks it as a failure before anything was changed: no room for a state, say.
    #[must_use]
    pub fn untouched(self) -> ExecuteError {
        ExecuteError { untouched: true, ..self }
    }
}

/// Hint about a state before and after some operators: near |0…0> most of it is zero, and needs no
/// work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateHint {
    /// No hint: the amplitudes before are arbitrary, and those after are wanted.
    Arbitrary,
    /// The state before is |0…0>, whatever the amplitudes are; its tangent is 0.
    StartsAtZero,
    /// The state after is |0…0>, its tangent 0, up to rounding: a circuit is undone. The amplitudes
    /// are no longer wanted then, nor those of another state that goes through the same operators
    /// for the sake of inner products.
    EndsAtZero,
}

/// Runs operators on the amplitudes of a state, in place and in order.
pub trait Executor<R: Ring>: Send + Sync {
    /// Returns a short name for people.
    fn name(&self) -> &str;
    /// Estimates the seconds for this number of operators on n qubits, up to a common factor;
    /// `None` to decline. It must be cheap.
    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64>;
    /// Returns the reason why it does not take these operators, if it does not. The cost must be
    /// small beside running them.
    fn declines(&self, operators: &[Operator<R>]) -> Option<String> {
        let _ = operators;
        None
    }
    /// Returns true if no other executor may take the operators that it declines or has no room
    /// for: it was requested by name.
    fn is_required(&self) -> bool {
        false
    }
    /// Applies the operators.
    ///
    /// # Errors
    /// [`ExecuteError`] if it fails; the amplitudes are then invalid, unless it says that nothing
    /// was changed.
    fn run(
        &self,
        operators: &[Operator<R>],
        amplitudes: &mut [R],
        threads: &Threads,
    ) -> Result<(), ExecuteError>;

    /// Bound on the distance between the state that it makes of one of norm 1 and the one that the
    /// operators make, in exact arithmetic: the error of rewriting operators before they run. It
    /// may cost as much as to plan them.
    fn planning_error(&self, n_qubits: usize, operators: &[Operator<R>]) -> f64 {
        let _ = (n_qubits, operators);
        0.0
    }

    /// Returns true if this number of operators takes it less time on n qubits with the hint that
    /// the state is |0…0>.
    fn skips_zeros(&self, n_qubits: usize, operators: usize) -> bool {
        let _ = (n_qubits, operators);
        false
    }

    /// Prepares for operators that will run often, with these numbers and others; `None` if that
    /// saves nothing. What is prepared gives the bits of [`Executor::run_reporting`] on the same
    /// way.
    fn prepare(
        &self,
        n_qubits: usize,
        operators: &[Operator<R>],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedOperators<R>>> {
        let _ = (n_qubits, operators, hint);
        None
    }

    /// Returns its executor for two states of n qubits that go through the same operators, if it
    /// has one that is better than one state after the other.
    fn pair_executor(&self, n_qubits: usize) -> Option<&dyn PairExecutor<R>> {
        let _ = n_qubits;
        None
    }

    /// Returns its store of device states, if it computes elsewhere than in the host's memory.
    fn device_states(&self) -> Option<&dyn DeviceStates<R>> {
        None
    }

    /// Applies the operators, to |0…0> if that is the hint, and tells `progress` every now and then
    /// the number of those done, at the end all.
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    fn run_reporting(
        &self,
        operators: &[Operator<R>],
        hint: StateHint,
        amplitudes: &mut [R],
        threads: &Threads,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), ExecuteError> {
        if hint == StateHint::StartsAtZero {
            reset_to_zero(amplitudes, threads);
        }
        let at_once = (REPORT_EVERY / amplitudes.len().max(1)).max(1);
        let mut done = 0;
        for part in operators.chunks(at_once) {
            threads.check().map_err(|_| ExecuteError::cancelled(self.name()))?;
            self.run(part, amplitudes, threads)?;
            done += part.len();
            progress(done);
        }
        Ok(())
    }
}

/// Executor for two states that go through the same operators, with inner products on the way: the
/// backward pass of a gradient.
pub trait PairExecutor<R: Ring>: Send + Sync {
    /// Applies the operators to both states and returns the inner products in their order, which is
    /// that of [`OverlapProbe::before`]. `hint` is that of psi; from |0…0> it is taken as given.
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    fn run(
        &self,
        operators: &[Operator<R>],
        inners: &[OverlapProbe],
        hint: StateHint,
        psi: &mut [R],
        lambda: &mut [R],
        threads: &Threads,
    ) -> Result<Vec<f64>, ExecuteError>;

    /// Takes states and their tangents through the operators, `[psi, psi']` or
    /// `[psi, psi', lambda, lambda']`: at the place of each string P first `im <lambda|P|psi>` is
    /// taken and how it changes along the tangents, and then `i kappa P` of each state is added to
    /// its tangent. `kicks` has a kappa for each string. `hint` is that of psi; from
    /// |0…0> it is taken as given for four states. `None`, and nothing is changed, if it cannot.
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    fn run_tangents(
        &self,
        operators: &[Operator<R>],
        (inners, kicks): (&[OverlapProbe], &[f64]),
        hint: StateHint,
        states: &mut [&mut [R]],
        threads: &Threads,
    ) -> Result<Option<Vec<[f64; 2]>>, ExecuteError> {
        let _ = (operators, inners, kicks, hint, states, threads);
        Ok(None)
    }

    /// Prepares for operators that will run often on one state of n qubits, with these numbers and
    /// others, if it can.
    fn prepare_run(
        &self,
        n_qubits: usize,
        operators: &[Operator<R>],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedOperators<R>>> {
        let _ = (n_qubits, operators, hint);
        None
    }

    /// Prepares for operators and inner products that will be wanted often, if it can.
    fn prepare(
        &self,
        n_qubits: usize,
        operators: &[Operator<R>],
        inners: &[OverlapProbe],
        hint: StateHint,
    ) -> Option<Box<dyn PreparedPair<R>>> {
        let _ = (n_qubits, operators, inners, hint);
        None
    }

    /// Prepares the sum of strings with coefficients; `None` if it has no better way than one after
    /// the other.
    fn prepare_observable(
        &self,
        n_qubits: usize,
        terms: &[(f64, PauliMasks)],
    ) -> Option<Box<dyn PreparedObservable<R>>> {
        let _ = (n_qubits, terms);
        None
    }
}

/// Operators and inner products that an executor has prepared to take two states through, often.
pub trait PreparedPair<R: Ring>: Send + Sync {
    /// Takes other operators: another binding of the same circuit, or any as many.
    fn bind(&mut self, operators: &[Operator<R>]);
    /// Applies the operators to both states and returns the inner products, as
    /// [`PairExecutor::run`].
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    fn run(
        &mut self,
        psi: &mut [R],
        lambda: &mut [R],
        threads: &Threads,
    ) -> Result<&[f64], ExecuteError>;
}

/// A Hermitian operator O that an executor has prepared to apply often.
pub trait PreparedObservable<R: Ring>: Send + Sync {
    /// Writes `weight O |psi>` to `out`, or adds it to the content, and returns `<psi|O|psi>`: the
    /// same bits for any number of threads.
    ///
    /// # Panics
    /// If the states are not of the size that it was prepared for.
    fn apply(&mut self, weight: f64, psi: &[R], out: &mut [R], add: bool, threads: &Threads)
    -> f64;
}

/// `im <lambda|P|psi>` for the Pauli string `P = i^|x & z| X^x Z^z`: a qubit in x alone has X, in z
/// alone Z, in both Y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapProbe {
    /// Taken before the operator of this number; after all of them if there are no more.
    pub before: usize,
    /// Qubits with X or Y.
    pub x: usize,
    /// Qubits with Z or Y.
    pub z: usize,
}

/// Operators that an executor has prepared to run often.
pub trait PreparedOperators<R: Ring>: Send + Sync {
    /// Takes other operators: another binding of the same circuit, or any.
    fn bind(&mut self, operators: &[Operator<R>]);
    /// Applies the operators, with the hint that it was prepared for.
    ///
    /// # Errors
    /// Those of [`Executor::run`].
    fn run(&self, amplitudes: &mut [R], threads: &Threads) -> Result<(), ExecuteError>;
}

/// The generic kernels of this crate, which serve every ring.
#[derive(Clone, Copy, Debug)]
pub struct Generic;

impl<R: Ring> Executor<R> for Generic {
    fn name(&self) -> &str {
        "generic"
    }
    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        Some((n_qubits as f64).exp2() * operators as f64)
    }
    fn run(
        &self,
        operators: &[Operator<R>],
        amplitudes: &mut [R],
        threads: &Threads,
    ) -> Result<(), ExecuteError> {
        for operator in operators {
            threads.check().map_err(|_| ExecuteError::cancelled("generic"))?;
            operator.apply(amplitudes, threads);
        }
        Ok(())
    }
}

/// Executors by ring. Copies share the list of fallbacks.
#[derive(Clone, Default)]
pub struct Executors {
    /// An [`ExecutorList`] for each ring. There are few, and one is looked up for every few gates.
    lists: Vec<Arc<dyn Any + Send + Sync>>,
    fallbacks: Arc<Mutex<Vec<ExecuteError>>>,
}

type ExecutorList<R> = Vec<Arc<dyn Executor<R>>>;

impl Executors {
    /// Creates a registry of only the generic kernels.
    #[must_use]
    pub fn new() -> Executors {
        Executors::default()
    }

    /// Adds an executor for the ring `R`.
    pub fn insert<R: Ring>(&mut self, executor: Arc<dyn Executor<R>>) {
        let mut list = self.list::<R>().cloned().unwrap_or_default();
        list.push(executor);
        self.lists.retain(|list| !list.is::<ExecutorList<R>>());
        self.lists.push(Arc::new(list));
    }

    fn list<R: Ring>(&self) -> Option<&ExecutorList<R>> {
        self.lists.iter().find_map(|list| list.downcast_ref())
    }

    /// Returns the cheapest executor that accepts; the generic one for rings without a registered
    /// executor. Of equal costs the first registered wins. No operators cost as much as one.
    #[must_use]
    pub fn best<R: Ring>(&self, n_qubits: usize, operators: usize) -> &dyn Executor<R> {
        self.best_except(n_qubits, operators, &[])
    }

    /// [`Executors::best`] without some, by their names.
    fn best_except<R: Ring>(
        &self,
        n_qubits: usize,
        operators: usize,
        without: &[String],
    ) -> &dyn Executor<R> {
        let operators = operators.max(1);
        let mut best: (&dyn Executor<R>, f64) = (&Generic, f64::INFINITY);
        if let Some(cost) = Executor::<R>::cost(&Generic, n_qubits, operators) {
            best.1 = cost;
        }
        for executor in self.list::<R>().into_iter().flatten() {
            if without.iter().any(|name| name == executor.name()) {
                continue;
            }
            if let Some(cost) = executor.cost(n_qubits, operators)
                && cost < best.1
            {
                best = (&**executor, cost);
            }
        }
        best.0
    }

    /// Runs some work with the best executor that takes the operators. If that declines them, or
    /// fails before anything was changed, the work falls back to the next, unless the executor was
    /// requested by name.
    ///
    /// # Errors
    /// The error of the last of them.
    pub fn with_fallback<R: Ring, T>(
        &self,
        n_qubits: usize,
        operators: &[Operator<R>],
        mut work: impl FnMut(&dyn Executor<R>) -> Result<T, ExecuteError>,
    ) -> Result<T, ExecuteError> {
        let mut without = Vec::new();
        loop {
            let executor = self.best_except::<R>(n_qubits, operators.len(), &without);
            let error = match executor.declines(operators) {
                Some(reason) => ExecuteError::new(executor.name(), reason).untouched(),
                None => match work(executor) {
                    Err(error) if error.untouched => error,
                    done => return done,
                },
            };
            let name = executor.name().to_owned();
            if executor.is_required() || without.contains(&name) {
                return Err(error);
            }
            without.push(name);
            self.record_fallback(error);
        }
    }

    /// [`Executor::planning_error`] of the best executor.
    #[must_use]
    pub fn planning_error<R: Ring>(&self, n_qubits: usize, operators: &[Operator<R>]) -> f64 {
        self.best::<R>(n_qubits, operators.len()).planning_error(n_qubits, operators)
    }

    fn record_fallback(&self, error: ExecuteError) {
        let mut passed_over = self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner);
        if !passed_over.contains(&error) {
            passed_over.push(error);
        }
    }

    /// Returns the executors that were better but declined or had no room, and why: each reason
    /// once, in the order in which they came up.
    #[must_use]
    pub fn fallbacks(&self) -> Vec<ExecuteError> {
        self.fallbacks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the name of the executor that runs such work: the cheapest that has neither declined
    /// nor failed.
    #[must_use]
    pub fn in_use<R: Ring>(&self, n_qubits: usize, operators: usize) -> String {
        let without: Vec<String> = self.fallbacks().into_iter().map(|e| e.executor).collect();
        self.best_except::<R>(n_qubits, operators, &without).name().to_owned()
    }
}

impl fmt::Debug for Executors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executors for {} rings", self.lists.len())
    }
}
