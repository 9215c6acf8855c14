//! States where they are computed: in the host's memory, or on a device.
//!
//! A static circuit of which only values are wanted runs where the best executor is. If that keeps
//! states, nothing of the size of a state is allocated here, and the memory limit does not count
//! it.

use num_complex::Complex;

use super::{SimulateError, Simulator, bound_from_zero};
use crate::{
    circuit::Circuit,
    kernel::{DeviceStateVector, Executor, Operator, Threads},
    observable::PauliSum,
    param::Values,
    scalar::Real,
    state::{StateVector, counts_by, samples_by},
};

/// A state, in the host's memory or where an executor keeps it.
pub enum StateHandle<T: Real> {
    /// In the host's memory.
    Host(StateVector<Complex<T>>),
    /// State that an executor keeps, on its device.
    Device(Box<dyn DeviceStateVector<Complex<T>>>),
}

impl<T: Real> std::fmt::Debug for StateHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if matches!(self, StateHandle::Host(_)) { "here" } else { "elsewhere" };
        write!(f, "{} qubits, {place}", self.n_qubits())
    }
}

impl<T: Real> StateHandle<T> {
    /// Returns the number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        match self {
            StateHandle::Host(state) => state.n_qubits(),
            StateHandle::Device(state) => state.n_qubits(),
        }
    }

    /// Returns `<psi|O|psi>`; see [`StateVector::expectation`].
    ///
    /// # Errors
    /// [`SimulateError`] if it acts on a qubit that the state does not have, or an executor fails.
    pub fn expectation(
        &self,
        observable: &PauliSum,
        threads: &Threads,
    ) -> Result<T, SimulateError> {
        Ok(match self {
            StateHandle::Host(state) => state.expectation(observable, threads)?,
            StateHandle::Device(state) => T::lit(state.expectation(observable)?),
        })
    }

    /// Samples basis states and counts each; see [`StateVector::sample_counts`]. The shots are the
    /// same wherever the state is, up to rounding of the probabilities.
    ///
    /// # Errors
    /// [`SimulateError`] if the probabilities have no value or are not finite, or an executor
    /// fails.
    pub fn sample_counts(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
    ) -> Result<Vec<(usize, u64)>, SimulateError> {
        self.sample_counts_reporting(shots, seed, threads, &mut |_, _| {})
    }

    /// Samples as [`StateHandle::sample_counts`] does, and tells `progress` (done, all) shots every
    /// now and then.
    ///
    /// # Errors
    /// Those of [`StateHandle::sample_counts`].
    pub fn sample_counts_reporting(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<(usize, u64)>, SimulateError> {
        match self {
            StateHandle::Host(state) => {
                Ok(state.sample_counts_reporting(shots, seed, threads, progress)?)
            }
            StateHandle::Device(state) => {
                counts_by(shots, seed, threads, progress, |u| Ok(state.sample(u)?))
            }
        }
    }

    /// Samples basis states in the order of the shots; see [`StateVector::sample`]. Tells
    /// `progress` (done, all) shots every now and then.
    ///
    /// # Errors
    /// Those of [`StateHandle::sample_counts`], and if the shots do not fit in memory.
    pub fn sample(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<usize>, SimulateError> {
        match self {
            StateHandle::Host(state) => {
                let outcomes = state.sample(shots, seed, threads)?;
                progress(shots, shots);
                Ok(outcomes)
            }
            StateHandle::Device(state) => {
                samples_by(shots, seed, threads, progress, |u| Ok(state.sample(u)?))
            }
        }
    }

    /// Returns the amplitudes here, moved if they are elsewhere.
    ///
    /// # Errors
    /// [`SimulateError`] if the system does not provide the memory, or an executor fails.
    pub fn into_state(self, threads: &Threads) -> Result<StateVector<Complex<T>>, SimulateError> {
        match self {
            StateHandle::Host(state) => Ok(state),
            StateHandle::Device(there) => {
                let mut state = StateVector::zero_on(there.n_qubits(), threads)?;
                there.download(state.amplitudes_mut())?;
                Ok(state)
            }
        }
    }
}

impl Simulator {
    /// Runs a static circuit on |0…0> with the given values of its inputs, and leaves the state
    /// where it is computed.
    ///
    /// # Errors
    /// Those of [`Simulator::run`].
    pub fn run_to_handle<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<StateHandle<T>, SimulateError> {
        type RunHandleFn<T> =
            fn(&Simulator, &Circuit, &[T]) -> Result<StateHandle<T>, SimulateError>;
        compiled!(T: RunHandleFn = [f32, f64] Simulator::run_to_handle_any)(self, circuit, inputs)
    }

    fn run_to_handle_any<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<StateHandle<T>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        let bound = bound_from_zero::<Complex<T>>(circuit, &Values(&values))?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        self.placed(circuit.n_qubits(), operators)
    }

    pub(super) fn placed<T: Real>(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<T>>],
    ) -> Result<StateHandle<T>, SimulateError> {
        let mut state = self.zero(n_qubits, operators)?;
        self.evolve(operators, &mut state, &mut |_, _| {})?;
        Ok(state)
    }

    /// |0…0> where these operators will be run.
    ///
    /// # Errors
    /// [`SimulateError`] if there is no room for it: here beyond the memory limit.
    pub fn zero<T: Real>(
        &self,
        n_qubits: usize,
        operators: &[Operator<Complex<T>>],
    ) -> Result<StateHandle<T>, SimulateError> {
        let there = |executor: &dyn Executor<_>| {
            executor.device_states().map(|residents| residents.basis(n_qubits, 0)).transpose()
        };
        if let Some(state) = self.executors.with_fallback(n_qubits, operators, there)? {
            return Ok(StateHandle::Device(state));
        }
        self.check_memory::<Complex<T>>(n_qubits)?;
        Ok(StateHandle::Host(StateVector::zero_on(n_qubits, &self.threads)?))
    }

    /// Moves a state to the place where these operators will be run.
    ///
    /// # Errors
    /// [`SimulateError`] if an executor has no room for it.
    pub fn upload<T: Real>(
        &self,
        state: StateVector<Complex<T>>,
        operators: &[Operator<Complex<T>>],
    ) -> Result<StateHandle<T>, SimulateError> {
        let there = |executor: &dyn Executor<_>| {
            executor
                .device_states()
                .map(|residents| residents.upload(state.amplitudes()))
                .transpose()
        };
        let there = self.executors.with_fallback(state.n_qubits(), operators, there)?;
        Ok(there.map_or(StateHandle::Host(state), StateHandle::Device))
    }

    /// Applies operators to a state where it is; see [`Simulator::execute`].
    ///
    /// # Errors
    /// Those of [`Simulator::execute`].
    pub fn evolve<T: Real>(
        &self,
        operators: &[Operator<Complex<T>>],
        state: &mut StateHandle<T>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), SimulateError> {
        match state {
            StateHandle::Host(state) => self.execute(operators, state, progress),
            StateHandle::Device(state) => {
                self.threads.check()?;
                state.apply(operators)?;
                progress(operators.len(), operators.len());
                Ok(())
            }
        }
    }
}
