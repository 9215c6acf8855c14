//! Backends with memory of their own.
//!
//! As an executor a device takes a state, runs all operators there, and gives the state back: two moves whatever the
//! number of gates. For the way back of a gradient it holds both vectors of the adjoint method and takes the inner
//! products on its side. [`DeviceState`] is a state that stays there, moved only when asked.
#![expect(unsafe_code, reason = "the plugin's functions are called here")]

use std::{ffi::c_void, ptr, sync::Arc};

use ketgrad_core::{
    kernel::{ExecuteError, Executor, Inner, Operator, Pairs, Threads},
    observable::{Pauli, PauliString, PauliSum},
};
use ketgrad_plugin_abi::{self as abi, Gate, PauliTerm};
use num_complex::Complex;

use crate::{
    border::asked,
    executor::{Backend, Lowered, list},
};

type C = Complex<f64>;

/// A device.
#[derive(Clone, Debug)]
pub struct Device(Arc<Backend>);

/// A state on a device.
pub struct DeviceState {
    device: Device,
    ptr: *mut c_void,
    n_qubits: usize,
}

// SAFETY: a plugin's functions may be called from any thread, says the interface.
unsafe impl Send for DeviceState {}

impl std::fmt::Debug for DeviceState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} qubits on {}", self.n_qubits, self.device.name())
    }
}

impl Drop for DeviceState {
    fn drop(&mut self) {
        let b = self.device.raw();
        if let (Some(free), false) = (b.state_free, self.ptr.is_null()) {
            // SAFETY: the state came from this device and is not used again.
            unsafe { free(b.user, self.ptr) }
        }
    }
}

impl Device {
    pub(crate) fn of(backend: Arc<Backend>) -> Device {
        Device(backend)
    }

    fn raw(&self) -> &abi::Backend {
        &self.0.raw.raw
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    fn asked(
        &self,
        call: impl FnOnce(&abi::Backend, *mut abi::Err) -> abi::Status,
    ) -> Result<(), ExecuteError> {
        asked(|err| call(self.raw(), err)).map_err(|reason| self.0.failed(reason))
    }

    fn lacks(&self, what: &str) -> ExecuteError {
        self.0.failed(format!("it has no `{what}`"))
    }

    /// A state of the given amplitudes, 2^n of them.
    ///
    /// # Errors
    /// The device fails; the amplitudes are no power of two, or too many for it.
    pub fn upload(&self, amplitudes: &[C]) -> Result<DeviceState, ExecuteError> {
        let n_qubits = amplitudes.len().trailing_zeros();
        if !amplitudes.len().is_power_of_two() || n_qubits > self.raw().max_qubits {
            let most = self.raw().max_qubits;
            return Err(self
                .0
                .failed(format!("{} amplitudes: expected 2^n, n at most {most}", amplitudes.len())));
        }
        let mut state =
            DeviceState { device: self.clone(), ptr: ptr::null_mut(), n_qubits: n_qubits as usize };
        let (new, upload) = (self.raw().state_new, self.raw().upload);
        let new = new.ok_or_else(|| self.lacks("state_new"))?;
        let upload = upload.ok_or_else(|| self.lacks("upload"))?;
        // SAFETY: the place for the state is ours.
        self.asked(|b, err| unsafe { new(b.user, abi::C64, n_qubits, &raw mut state.ptr, err) })?;
        let (data, bytes) = (amplitudes.as_ptr().cast(), size_of_val(amplitudes));
        // SAFETY: `bytes` bytes can be read at `data`.
        self.asked(|b, err| unsafe { upload(b.user, state.ptr, data, bytes, err) })?;
        Ok(state)
    }
}

impl DeviceState {
    /// How many qubits it has.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Its amplitudes, into memory of 2^n.
    ///
    /// # Errors
    /// The device fails, also of earlier work; the memory is of another size.
    pub fn download(&self, amplitudes: &mut [C]) -> Result<(), ExecuteError> {
        if amplitudes.len() != 1 << self.n_qubits {
            let n = amplitudes.len();
            return Err(self
                .device
                .0
                .failed(format!("memory of {n} amplitudes for {} qubits", self.n_qubits)));
        }
        self.sync()?;
        let download = self.device.raw().download.ok_or_else(|| self.device.lacks("download"))?;
        let (data, bytes) = (amplitudes.as_mut_ptr().cast(), size_of_val(amplitudes));
        // SAFETY: `bytes` bytes can be written at `data`.
        self.device.asked(|b, err| unsafe { download(b.user, self.ptr, data, bytes, err) })
    }

    /// Waits for all work on it.
    ///
    /// # Errors
    /// The device has failed meanwhile.
    pub fn sync(&self) -> Result<(), ExecuteError> {
        match self.device.raw().sync {
            // SAFETY: the state is of this device.
            Some(sync) => self.device.asked(|b, err| unsafe { sync(b.user, self.ptr, err) }),
            None => Ok(()),
        }
    }

    /// A copy on the device.
    ///
    /// # Errors
    /// The device fails or cannot.
    pub fn copy(&self) -> Result<DeviceState, ExecuteError> {
        let copy = self.device.raw().state_copy.ok_or_else(|| self.device.lacks("state_copy"))?;
        let mut to =
            DeviceState { device: self.device.clone(), ptr: ptr::null_mut(), n_qubits: self.n_qubits };
        // SAFETY: the state is of this device, the place for the copy ours.
        self.device.asked(|b, err| unsafe { copy(b.user, self.ptr, &raw mut to.ptr, err) })?;
        Ok(to)
    }

    /// Applies operators in order, in one call.
    ///
    /// # Errors
    /// The device fails; an operator has more targets than it takes.
    pub fn apply(&mut self, operators: &[Operator<C>]) -> Result<(), ExecuteError> {
        let backend = &self.device.0;
        let lowered: Vec<Lowered> = operators.iter().filter_map(|o| backend.lower(o)).collect();
        if let Some(large) = lowered.iter().find(|l| !backend.takes(l)) {
            let (given, most) = (large.n_targets(), self.device.raw().max_matrix_targets);
            return Err(backend.failed(format!("an operator on {given} qubits; it takes at most {most}")));
        }
        if let Some(operator) = operators.iter().find(|o| o.n_qubits() > self.n_qubits) {
            let needs = operator.n_qubits();
            return Err(backend
                .failed(format!("an operator that needs {needs} qubits on a state of {}", self.n_qubits)));
        }
        if lowered.is_empty() {
            return Ok(());
        }
        let gates: Vec<Gate> = lowered.iter().map(Lowered::borrowed).collect();
        let list = list(&gates);
        let apply = self.device.raw().apply.ok_or_else(|| self.device.lacks("apply"))?;
        // SAFETY: the state is of this device, the list good for the call.
        self.device.asked(|b, err| unsafe { apply(b.user, self.ptr, &list, err) })
    }

    /// The expectation value of an observable.
    ///
    /// # Errors
    /// The device fails or cannot.
    pub fn expectation(&self, observable: &PauliSum) -> Result<f64, ExecuteError> {
        let expectation = self.device.raw().expectation.ok_or_else(|| self.device.lacks("expectation"))?;
        let terms = terms(observable);
        let mut value = 0.0;
        // SAFETY: the state is of this device, terms and value are good for the call.
        self.device.asked(|b, err| unsafe {
            expectation(b.user, self.ptr, terms.as_ptr(), terms.len(), &raw mut value, err)
        })?;
        Ok(value)
    }

    /// `<self|other>`
    ///
    /// # Errors
    /// The device fails or cannot; the states are not of one device and size.
    pub fn inner(&self, other: &DeviceState) -> Result<C, ExecuteError> {
        self.beside(other)?;
        let inner = self.device.raw().inner.ok_or_else(|| self.device.lacks("inner"))?;
        let mut value = [0.0; 2];
        // SAFETY: both states are of this device; the value has room for two numbers.
        self.device.asked(|b, err| unsafe { inner(b.user, self.ptr, other.ptr, value.as_mut_ptr(), err) })?;
        Ok(C::new(value[0], value[1]))
    }

    /// `<self|P|other>` of a Pauli string by its masks, see [`Inner`].
    ///
    /// # Errors
    /// As [`DeviceState::inner`].
    pub fn inner_pauli(&self, x: usize, z: usize, other: &DeviceState) -> Result<C, ExecuteError> {
        self.beside(other)?;
        let inner = self.device.raw().inner_paulis.ok_or_else(|| self.device.lacks("inner_paulis"))?;
        let term = PauliTerm { coefficient: 1.0, x: x as u64, z: z as u64 };
        let mut value = [0.0; 2];
        // SAFETY: as in `inner`; one term.
        self.device.asked(|b, err| unsafe {
            inner(b.user, self.ptr, &raw const term, 1, other.ptr, value.as_mut_ptr(), err)
        })?;
        Ok(C::new(value[0], value[1]))
    }

    /// The observable times this state, as another one: where the way back of the adjoint method starts.
    ///
    /// # Errors
    /// The device fails or cannot.
    pub fn observed(&self, observable: &PauliSum) -> Result<DeviceState, ExecuteError> {
        let apply = self.device.raw().apply_paulis.ok_or_else(|| self.device.lacks("apply_paulis"))?;
        let to = self.copy()?;
        let terms = terms(observable);
        let (first, count, from, into) = (terms.as_ptr(), terms.len(), self.ptr, to.ptr);
        // SAFETY: both states are of this device; the terms are good for the call.
        self.device.asked(|b, err| unsafe { apply(b.user, first, count, from, into, err) })?;
        Ok(to)
    }

    fn beside(&self, other: &DeviceState) -> Result<(), ExecuteError> {
        if Arc::ptr_eq(&self.device.0, &other.device.0) && self.n_qubits == other.n_qubits {
            return Ok(());
        }
        Err(self.device.0.failed(format!("a state of {other:?} beside one of {self:?}")))
    }
}

fn terms(observable: &PauliSum) -> Vec<PauliTerm> {
    let term = |(coefficient, string): &(f64, PauliString)| {
        let mut term = PauliTerm { coefficient: *coefficient, x: 0, z: 0 };
        for (qubit, pauli) in string.factors() {
            let bit = 1u64 << qubit;
            term.x |= if *pauli == Pauli::Z { 0 } else { bit };
            term.z |= if *pauli == Pauli::X { 0 } else { bit };
        }
        term
    };
    observable.terms().iter().map(term).collect()
}

impl Executor<C> for Device {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn cost(&self, n_qubits: usize, operators: usize) -> Option<f64> {
        self.0.cost(n_qubits, operators)
    }

    fn run(&self, operators: &[Operator<C>], amplitudes: &mut [C], _: &Threads) -> Result<(), ExecuteError> {
        let mut state = self.upload(amplitudes)?;
        state.apply(operators)?;
        state.download(amplitudes)
    }

    fn pairs(&self, _: usize) -> Option<&dyn Pairs<C>> {
        self.raw().inner_paulis.is_some().then_some(self)
    }
}

impl Pairs<C> for Device {
    fn run(
        &self,
        operators: &[Operator<C>],
        inners: &[Inner],
        psi: &mut [C],
        lambda: &mut [C],
        _: &Threads,
    ) -> Result<Vec<f64>, ExecuteError> {
        let (mut on_psi, mut on_lambda) = (self.upload(psi)?, self.upload(lambda)?);
        let mut values = vec![0.0; inners.len()];
        let mut order: Vec<usize> = (0..inners.len()).collect();
        order.sort_by_key(|&k| inners[k].before);
        let mut done = 0;
        for k in order {
            let inner = inners[k];
            let upto = inner.before.min(operators.len());
            if upto > done {
                on_psi.apply(&operators[done..upto])?;
                on_lambda.apply(&operators[done..upto])?;
                done = upto;
            }
            values[k] = on_lambda.inner_pauli(inner.x, inner.z, &on_psi)?.im;
        }
        on_psi.apply(&operators[done..])?;
        on_lambda.apply(&operators[done..])?;
        on_psi.download(psi)?;
        on_lambda.download(lambda)?;
        Ok(values)
    }
}
