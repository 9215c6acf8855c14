//! Backends with memory of their own.
//!
//! If a device has all that states need, they stay there from the first gate to the last result
//! ([`DeviceStates`], [`DeviceState`]). For states in the host's memory it is an executor like any
//! other: it takes the state, runs all operators, and gives it back, two moves whatever the number
//! of gates.
//!
//! It declines operators on more qubits than it takes, and a state for which it has no room changes
//! nothing: another executor takes the work then, unless the device was asked for by name.
#![expect(unsafe_code, reason = "the plugin's functions are called here")]

use std::sync::Arc;

use ketgrad_core::{
    kernel::{
        DeviceStateVector, DeviceStates, ExecuteError, Executor, Operator, OverlapProbe,
        PairExecutor, SimdFloat, StateHint, Threads, reset_to_zero,
    },
    plan::Cut,
};
use ketgrad_plugin_abi as abi;
use num_complex::Complex;

use crate::{border::asked, device_state::DeviceState, executor::Backend};

/// Device of a plugin.
#[derive(Clone, Debug)]
pub struct Device {
    backend: Arc<Backend>,
    /// True if it was asked for by name: it comes before all others, and no other takes its place.
    first: bool,
}

impl Device {
    pub(crate) fn new(backend: Arc<Backend>, first: bool) -> Device {
        Device { backend, first }
    }

    pub(crate) fn raw(&self) -> &abi::Backend {
        &self.backend.raw.raw
    }

    pub(crate) fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    /// Name of the device.
    #[must_use]
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// Description by the device itself, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        self.backend.describe()
    }

    /// Returns true if its amplitudes may be pairs of `E`.
    #[must_use]
    pub fn knows<E: SimdFloat>(&self) -> bool {
        self.backend.knows::<E>()
    }

    /// Number of qubits of the largest state.
    #[must_use]
    pub fn max_qubits(&self) -> usize {
        self.raw().max_qubits as usize
    }

    /// Largest number of targets of a dense operator.
    #[must_use]
    pub fn max_targets(&self) -> usize {
        self.raw().max_matrix_targets as usize
    }

    /// Returns true if it has all functions that states which stay there need.
    #[must_use]
    pub fn keeps_states(&self) -> bool {
        let b = self.raw();
        b.state_basis.is_some()
            && b.state_copy.is_some()
            && b.expectation.is_some()
            && b.inner.is_some()
            && b.apply_paulis.is_some()
            && b.apply_pair.is_some()
            && b.sample.is_some()
    }

    pub(crate) fn asked(
        &self,
        call: impl FnOnce(&abi::Backend, *mut abi::Err) -> abi::Status,
    ) -> Result<(), ExecuteError> {
        asked(&self.backend.raw.callee, |err| call(self.raw(), err))
            .map_err(|reason| self.backend.failed(reason))
    }

    pub(crate) fn lacks(&self, what: &str) -> ExecuteError {
        self.backend.failed(format!("it has no `{what}`"))
    }

    /// Returns the n of 2^n amplitudes.
    fn qubits<E>(&self, amplitudes: &[Complex<E>]) -> Result<usize, ExecuteError> {
        match amplitudes.len().is_power_of_two() {
            true => Ok(amplitudes.len().trailing_zeros() as usize),
            false => {
                Err(self.backend.failed(format!("{} amplitudes: expected 2^n", amplitudes.len())))
            }
        }
    }

    /// Makes |index> of n qubits on the device.
    fn basis<E: SimdFloat>(
        &self,
        n_qubits: usize,
        index: usize,
    ) -> Result<DeviceState<E>, ExecuteError> {
        let basis = self.raw().state_basis.ok_or_else(|| self.lacks("state_basis"))?;
        if n_qubits < usize::BITS as usize && index >> n_qubits != 0 {
            return Err(self.backend.failed(format!("basis state {index} of {n_qubits} qubits")));
        }
        let mut state = DeviceState::zeros(self, n_qubits)?;
        let ptr = state.ptr();
        // SAFETY: the state is of this device.
        self.asked(|b, err| unsafe { basis(b.user, ptr, index as u64, err) })?;
        Ok(state)
    }

    /// Makes |0…0> on the device, of as many amplitudes as these, whose values are ignored.
    fn zero<E: SimdFloat>(
        &self,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
    ) -> Result<DeviceState<E>, ExecuteError> {
        if self.raw().state_basis.is_some() {
            return self.basis(self.qubits(amplitudes)?, 0);
        }
        reset_to_zero(amplitudes, threads);
        self.upload_amplitudes(amplitudes)
    }

    /// Copies amplitudes to the device.
    fn upload_amplitudes<E: SimdFloat>(
        &self,
        amplitudes: &[Complex<E>],
    ) -> Result<DeviceState<E>, ExecuteError> {
        let n_qubits = self.qubits(amplitudes)?;
        let mut state = DeviceState::zeros(self, n_qubits)?;
        let upload = self.raw().upload.ok_or_else(|| self.lacks("upload"))?;
        let (data, bytes) = (amplitudes.as_ptr().cast(), size_of_val(amplitudes));
        let ptr = state.ptr();
        // SAFETY: `bytes` bytes can be read at `data`; the state is of this device.
        self.asked(|b, err| unsafe { upload(b.user, ptr, data, bytes, err) })?;
        Ok(state)
    }
}

impl<E: SimdFloat> DeviceStates<Complex<E>> for Device {
    fn basis(
        &self,
        n_qubits: usize,
        index: usize,
    ) -> Result<Box<dyn DeviceStateVector<Complex<E>>>, ExecuteError> {
        Ok(Box::new(Device::basis::<E>(self, n_qubits, index)?))
    }

    fn upload(
        &self,
        amplitudes: &[Complex<E>],
    ) -> Result<Box<dyn DeviceStateVector<Complex<E>>>, ExecuteError> {
        Ok(Box::new(self.upload_amplitudes(amplitudes)?))
    }
}

impl<E: SimdFloat> Executor<Complex<E>> for Device {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        let cost = self.backend.cost::<E>(n_qubits, operators)?;
        Some(if self.first { 0.0 } else { cost })
    }

    fn declines(&self, operators: &[Operator<Complex<E>>]) -> Option<String> {
        self.backend.refuses(operators)
    }

    fn is_required(&self) -> bool {
        self.first
    }

    /// Error that a device may add by writing operators as others, each within the tolerance of
    /// plans.
    fn planning_error(&self, _: usize, operators: &[Operator<Complex<E>>]) -> f64 {
        4.0 * Cut::TOLERANCE * Into::<f64>::into(E::EPSILON) * operators.len() as f64
    }

    fn run(
        &self,
        operators: &[Operator<Complex<E>>],
        amplitudes: &mut [Complex<E>],
        _: &Threads,
    ) -> Result<(), ExecuteError> {
        let mut state = self.upload_amplitudes(amplitudes)?;
        state.apply(operators)?;
        state.download(amplitudes)
    }

    /// Returns true if |0…0> is made on the device, not copied to it.
    fn skips_zeros(&self, _: usize, _: usize) -> bool {
        self.raw().state_basis.is_some()
    }

    /// Runs all operators in one call, so that the state is copied twice; once, from the device, if
    /// it begins as |0…0>.
    fn run_reporting(
        &self,
        operators: &[Operator<Complex<E>>],
        hint: StateHint,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), ExecuteError> {
        let mut state = match hint {
            StateHint::StartsAtZero => self.zero(amplitudes, threads)?,
            StateHint::Arbitrary | StateHint::EndsAtZero => self.upload_amplitudes(amplitudes)?,
        };
        state.apply(operators)?;
        state.download(amplitudes)?;
        progress(operators.len());
        Ok(())
    }

    fn pair_executor(&self, _: usize) -> Option<&dyn PairExecutor<Complex<E>>> {
        (self.raw().apply_pair.is_some() || self.raw().inner_paulis.is_some()).then_some(self)
    }

    fn device_states(&self) -> Option<&dyn DeviceStates<Complex<E>>> {
        self.keeps_states().then_some(self)
    }
}

impl<E: SimdFloat> PairExecutor<Complex<E>> for Device {
    fn run(
        &self,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        hint: StateHint,
        psi: &mut [Complex<E>],
        lambda: &mut [Complex<E>],
        _: &Threads,
    ) -> Result<Vec<f64>, ExecuteError> {
        let (mut on_psi, mut on_lambda) =
            (self.upload_amplitudes(psi)?, self.upload_amplitudes(lambda)?);
        let values = on_psi.apply_pair(&mut on_lambda, operators, inners)?;
        if hint != StateHint::EndsAtZero {
            on_psi.download(psi)?;
            on_lambda.download(lambda)?;
        }
        Ok(values)
    }
}
