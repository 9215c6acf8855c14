//! States on a device.
#![expect(unsafe_code, reason = "the plugin's functions are called here")]

use std::{any::Any, ffi::c_void, marker::PhantomData, ptr, sync::Arc};

use ketgrad_core::{
    kernel::{DeviceStateVector, ExecuteError, Operator, OverlapProbe, SimdFloat},
    observable::PauliSum,
};
use ketgrad_plugin_abi::{self as abi, Gate, PauliTerm};
use num_complex::Complex;

use crate::{
    device::Device,
    executor::{LoweredGate, dtype, list},
};

/// State on a device, of amplitudes of two `E` each.
pub struct DeviceState<E> {
    device: Device,
    ptr: *mut c_void,
    n_qubits: usize,
    of: PhantomData<E>,
}

// SAFETY: a plugin's functions may be called from any thread, says the interface. They are called
// with a state by one thread at a time, since this is not `Sync`.
unsafe impl<E: Send> Send for DeviceState<E> {}

impl<E> std::fmt::Debug for DeviceState<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} qubits on {}", self.n_qubits, self.device.name())
    }
}

impl<E> Drop for DeviceState<E> {
    fn drop(&mut self) {
        let b = self.device.raw();
        if let (Some(free), false) = (b.state_free, self.ptr.is_null()) {
            // SAFETY: the state came from this device and is not used again.
            self.device.backend().raw.callee.call(|| unsafe { free(b.user, self.ptr) });
        }
    }
}

impl<E: SimdFloat> DeviceState<E> {
    /// Allocates a state whose amplitudes are 0.
    pub(crate) fn zeros(device: &Device, n_qubits: usize) -> Result<DeviceState<E>, ExecuteError> {
        let most = device.max_qubits();
        if n_qubits > most {
            let reason = format!("a state of {n_qubits} qubits; it takes at most {most}");
            return Err(device.backend().failed(reason).untouched());
        }
        if !device.knows::<E>() {
            let bits = 8 * size_of::<E>();
            return Err(device
                .backend()
                .failed(format!("it does not know complex numbers of two f{bits}")));
        }
        let new = device.raw().state_new.ok_or_else(|| device.lacks("state_new"))?;
        let mut state = DeviceState::nowhere(device, n_qubits);
        let n = n_qubits as u32;
        // SAFETY: the place for the state is ours.
        let made =
            device.asked(|b, err| unsafe { new(b.user, dtype::<E>(), n, &raw mut state.ptr, err) });
        made.map_err(ExecuteError::untouched)?;
        Ok(state)
    }

    /// Makes a state of that size with a null pointer.
    fn nowhere(device: &Device, n_qubits: usize) -> DeviceState<E> {
        DeviceState { device: device.clone(), ptr: ptr::null_mut(), n_qubits, of: PhantomData }
    }

    /// Returns the plugin's pointer, to change the state.
    pub(crate) fn ptr(&mut self) -> *mut c_void {
        self.ptr
    }

    /// Waits for all work on it, and returns the error of earlier work.
    fn sync(&self) -> Result<(), ExecuteError> {
        match self.device.raw().sync {
            // SAFETY: the state is of this device.
            Some(sync) => self.device.asked(|b, err| unsafe { sync(b.user, self.ptr, err) }),
            None => Ok(()),
        }
    }

    /// Downcasts a state, if it is on this device and of this size.
    fn beside<'a>(
        &self,
        other: &'a dyn DeviceStateVector<Complex<E>>,
    ) -> Result<&'a DeviceState<E>, ExecuteError> {
        let of_this = (other as &dyn Any).downcast_ref::<DeviceState<E>>();
        of_this.filter(|other| self.matches(other)).ok_or_else(|| self.stranger(other.n_qubits()))
    }

    fn matches(&self, other: &DeviceState<E>) -> bool {
        Arc::ptr_eq(self.device.backend(), other.device.backend())
            && self.n_qubits == other.n_qubits
    }

    fn stranger(&self, n_qubits: usize) -> ExecuteError {
        let reason =
            format!("a state of {n_qubits} qubits or of another device beside one of {self:?}");
        self.device.backend().failed(reason)
    }

    fn fits(&self, observable: &PauliSum) -> Result<Vec<PauliTerm>, ExecuteError> {
        if observable.n_qubits() > self.n_qubits {
            let needs = observable.n_qubits();
            let reason = format!("an observable on {needs} qubits of a state of {}", self.n_qubits);
            return Err(self.device.backend().failed(reason));
        }
        let term = |(coefficient, string): &(f64, _)| masks(*coefficient, string);
        Ok(observable.terms().iter().map(term).collect())
    }

    /// Converts operators to the plugin's form, without those that do nothing. Also returns, for
    /// each place between operators, the place between those that are kept.
    fn lower(
        &self,
        operators: &[Operator<Complex<E>>],
    ) -> Result<(Vec<LoweredGate>, Vec<usize>), ExecuteError> {
        let backend = self.device.backend();
        if let Some(reason) = backend.refuses(operators) {
            return Err(backend.failed(reason));
        }
        let (mut lowered, mut places) =
            (Vec::with_capacity(operators.len()), Vec::with_capacity(operators.len() + 1));
        for operator in operators {
            if operator.n_qubits() > self.n_qubits {
                let (needs, has) = (operator.n_qubits(), self.n_qubits);
                return Err(backend
                    .failed(format!("an operator that needs {needs} qubits on a state of {has}")));
            }
            places.push(lowered.len());
            lowered.extend(backend.lower_all(operator));
        }
        places.push(lowered.len());
        Ok((lowered, places))
    }

    fn apply_lowered(&mut self, lowered: &[LoweredGate]) -> Result<(), ExecuteError> {
        if lowered.is_empty() {
            return Ok(());
        }
        let gates: Vec<Gate> = lowered.iter().map(LoweredGate::borrowed).collect();
        let list = list(&gates);
        let apply = self.device.raw().apply.ok_or_else(|| self.device.lacks("apply"))?;
        // SAFETY: the state is of this device, the list valid for the call.
        self.device.asked(|b, err| unsafe { apply(b.user, self.ptr, &list, err) })
    }

    /// Runs [`DeviceStateVector::apply_pair`] with the calls of interface 1.1: from one inner
    /// product to the next.
    fn step_by_step(
        &mut self,
        lambda: &mut DeviceState<E>,
        lowered: &[LoweredGate],
        inners: &[abi::Inner],
    ) -> Result<Vec<f64>, ExecuteError> {
        let inner =
            self.device.raw().inner_paulis.ok_or_else(|| self.device.lacks("inner_paulis"))?;
        let mut values = vec![0.0; inners.len()];
        let mut done = 0;
        for (value, at) in values.iter_mut().zip(inners) {
            let upto = (at.before as usize).clamp(done, lowered.len());
            self.apply_lowered(&lowered[done..upto])?;
            lambda.apply_lowered(&lowered[done..upto])?;
            done = upto;
            let term = PauliTerm { coefficient: 1.0, x: at.x, z: at.z };
            let mut both = [0.0; 2];
            // SAFETY: the states are of this device; there is one term, and room for two numbers.
            self.device.asked(|b, err| unsafe {
                inner(b.user, lambda.ptr, &raw const term, 1, self.ptr, both.as_mut_ptr(), err)
            })?;
            *value = both[1];
        }
        self.apply_lowered(&lowered[done..])?;
        lambda.apply_lowered(&lowered[done..])?;
        Ok(values)
    }
}

/// Converts a term to masks.
fn masks(coefficient: f64, string: &ketgrad_core::observable::PauliString) -> PauliTerm {
    PauliTerm { coefficient, x: string.x_mask() as u64, z: string.z_mask() as u64 }
}

impl<E: SimdFloat> DeviceStateVector<Complex<E>> for DeviceState<E> {
    fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    fn apply(&mut self, operators: &[Operator<Complex<E>>]) -> Result<(), ExecuteError> {
        let (lowered, _) = self.lower(operators)?;
        self.apply_lowered(&lowered)
    }

    fn apply_pair(
        &mut self,
        lambda: &mut dyn DeviceStateVector<Complex<E>>,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
    ) -> Result<Vec<f64>, ExecuteError> {
        let n_qubits = lambda.n_qubits();
        let of_this = (lambda as &mut dyn Any).downcast_mut::<DeviceState<E>>();
        let Some(lambda) = of_this.filter(|other| self.matches(other)) else {
            return Err(self.stranger(n_qubits));
        };
        let (lowered, places) = self.lower(operators)?;
        let place = |inner: &OverlapProbe| abi::Inner {
            before: places[inner.before.min(operators.len())] as u64,
            x: inner.x as u64,
            z: inner.z as u64,
        };
        let inners: Vec<abi::Inner> = inners.iter().map(place).collect();
        let Some(apply_pair) = self.device.raw().apply_pair else {
            return self.step_by_step(lambda, &lowered, &inners);
        };
        let gates: Vec<Gate> = lowered.iter().map(LoweredGate::borrowed).collect();
        let list = list(&gates);
        let mut values = vec![0.0; inners.len()];
        let (first, count, into) = (inners.as_ptr(), inners.len(), values.as_mut_ptr());
        // SAFETY: two different states of this device, which are ours; the lists are good for the
        // call, and there is room for `count` values.
        self.device.asked(|b, err| unsafe {
            apply_pair(b.user, self.ptr, lambda.ptr, &list, first, count, into, err)
        })?;
        self.sync()?;
        Ok(values)
    }

    fn expectation(&self, observable: &PauliSum) -> Result<f64, ExecuteError> {
        let expectation =
            self.device.raw().expectation.ok_or_else(|| self.device.lacks("expectation"))?;
        let terms = self.fits(observable)?;
        self.sync()?;
        let mut value = 0.0;
        // SAFETY: the state is of this device, terms and value are valid for the call.
        self.device.asked(|b, err| unsafe {
            expectation(b.user, self.ptr, terms.as_ptr(), terms.len(), &raw mut value, err)
        })?;
        Ok(value)
    }

    fn observed_into(
        &self,
        observable: &PauliSum,
        into: &mut dyn DeviceStateVector<Complex<E>>,
    ) -> Result<(), ExecuteError> {
        let n_qubits = into.n_qubits();
        let of_this = (into as &mut dyn Any).downcast_mut::<DeviceState<E>>();
        let into =
            of_this.filter(|other| self.matches(other)).ok_or_else(|| self.stranger(n_qubits))?;
        let apply =
            self.device.raw().apply_paulis.ok_or_else(|| self.device.lacks("apply_paulis"))?;
        let terms = self.fits(observable)?;
        let (first, count, from, into) = (terms.as_ptr(), terms.len(), self.ptr, into.ptr);
        // SAFETY: both states are of this device, and different ones, since `into` is borrowed
        // mutably; the terms are valid for the call.
        self.device.asked(|b, err| unsafe { apply(b.user, first, count, from, into, err) })
    }

    fn observed(
        &self,
        observable: &PauliSum,
    ) -> Result<Box<dyn DeviceStateVector<Complex<E>>>, ExecuteError> {
        let mut to = DeviceState::<E>::zeros(&self.device, self.n_qubits)?;
        self.observed_into(observable, &mut to)?;
        Ok(Box::new(to))
    }

    fn inner(
        &self,
        other: &dyn DeviceStateVector<Complex<E>>,
    ) -> Result<Complex<f64>, ExecuteError> {
        let other = self.beside(other)?;
        let inner = self.device.raw().inner.ok_or_else(|| self.device.lacks("inner"))?;
        self.sync()?;
        other.sync()?;
        let mut value = [0.0; 2];
        // SAFETY: both states are of this device; the value has room for two numbers.
        self.device.asked(|b, err| unsafe {
            inner(b.user, self.ptr, other.ptr, value.as_mut_ptr(), err)
        })?;
        Ok(Complex::new(value[0], value[1]))
    }

    fn sample(&self, uniforms: &[f64]) -> Result<Vec<usize>, ExecuteError> {
        let sample = self.device.raw().sample.ok_or_else(|| self.device.lacks("sample"))?;
        if !uniforms.is_sorted() || !uniforms.iter().all(|u| (0.0..1.0).contains(u)) {
            return Err(self
                .device
                .backend()
                .failed("numbers that do not ascend in [0, 1)".into()));
        }
        self.sync()?;
        let mut indices = vec![0u64; uniforms.len()];
        let (from, count, into) = (uniforms.as_ptr(), uniforms.len(), indices.as_mut_ptr());
        // SAFETY: the state is of this device; there are `count` numbers and room for as many
        // indices.
        self.device.asked(|b, err| unsafe { sample(b.user, self.ptr, from, count, into, err) })?;
        let index = |i: u64| {
            let inside = u128::from(i) >> self.n_qubits == 0;
            let reason = || format!("it sampled {i} from a state of {} qubits", self.n_qubits);
            if inside { Ok(i as usize) } else { Err(self.device.backend().failed(reason())) }
        };
        indices.into_iter().map(index).collect()
    }

    fn download(&self, amplitudes: &mut [Complex<E>]) -> Result<(), ExecuteError> {
        if amplitudes.len().trailing_zeros() as usize != self.n_qubits
            || !amplitudes.len().is_power_of_two()
        {
            let (n, has) = (amplitudes.len(), self.n_qubits);
            return Err(self
                .device
                .backend()
                .failed(format!("memory of {n} amplitudes for {has} qubits")));
        }
        self.sync()?;
        let download = self.device.raw().download.ok_or_else(|| self.device.lacks("download"))?;
        let (data, bytes) = (amplitudes.as_mut_ptr().cast(), size_of_val(amplitudes));
        // SAFETY: `bytes` bytes can be written at `data`.
        self.device.asked(|b, err| unsafe { download(b.user, self.ptr, data, bytes, err) })
    }

    fn wait(&self) -> Result<(), ExecuteError> {
        self.sync()
    }

    fn copy(&self) -> Result<Box<dyn DeviceStateVector<Complex<E>>>, ExecuteError> {
        let copy = self.device.raw().state_copy.ok_or_else(|| self.device.lacks("state_copy"))?;
        let mut to = DeviceState::nowhere(&self.device, self.n_qubits);
        // SAFETY: the state is of this device, the place for the copy ours.
        let made =
            self.device.asked(|b, err| unsafe { copy(b.user, self.ptr, &raw mut to.ptr, err) });
        made.map_err(ExecuteError::untouched)?;
        Ok(Box::new(to))
    }
}
