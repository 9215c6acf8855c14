//! Expectation values and their gradients on a device: only values come back.
//!
//! Taken where the best executor keeps states, every observable is a sum of Pauli strings, and (for
//! gradients) every generator one of few. All else runs in the host's memory, and so does work that
//! a device declines or has no room for, unless it was requested by name.

use num_complex::Complex;

use super::{Expectation, HybridError, adjoint::Bound};
use crate::{
    kernel::{DeviceStateVector, ExecuteError, Executor},
    observable::PauliSum,
    scalar::Real,
    simulate::SimulateError,
};

/// The value of each observable, and the derivative by the angle of each slot.
pub(super) type ValuesAndSlopes<T> = (Vec<T>, Vec<T>);

type BoxedDeviceState<T> = Box<dyn DeviceStateVector<Complex<T>>>;

impl From<ExecuteError> for HybridError {
    fn from(error: ExecuteError) -> HybridError {
        SimulateError::from(error).into()
    }
}

impl Expectation {
    /// Returns the value of each observable; `None` if this is not for a device.
    pub(super) fn values_on_device<T: Real>(
        &self,
        bound: &Bound<'_, T>,
    ) -> Result<Option<Vec<T>>, HybridError> {
        let Some(sums) = self.device_observables::<T>(bound.count()) else { return Ok(None) };
        self.simulator.threads.check().map_err(SimulateError::from)?;
        let (n_qubits, operators) = (self.circuit.n_qubits(), bound.operators());
        let work = |executor: &dyn Executor<_>| {
            let Some(residents) = executor.device_states() else { return Ok(None) };
            let mut psi = residents.basis(n_qubits, 0)?;
            psi.apply(&operators)?;
            Ok(Some(observe(&psi, &sums)?))
        };
        Ok(self.simulator.executors.with_fallback(n_qubits, &operators, work)?)
    }

    /// Returns the values, and the derivative of their weighted sum by the angle of each slot;
    /// `None` if this is not for a device.
    pub(super) fn vjp_on_device<T: Real>(
        &self,
        bound: &Bound<'_, T>,
        weights: &[T],
    ) -> Result<Option<ValuesAndSlopes<T>>, HybridError> {
        let Some(sums) = self.device_observables::<T>(bound.count()) else { return Ok(None) };
        let Some(cotangent) = weighted(&sums, weights) else { return Ok(None) };
        let Some(back) = bound.backward_pass(&self.parameter_uses)? else { return Ok(None) };
        self.simulator.threads.check().map_err(SimulateError::from)?;
        let (n_qubits, operators) = (self.circuit.n_qubits(), bound.operators());
        let work = |executor: &dyn Executor<_>| {
            let Some(residents) = executor.device_states() else { return Ok(None) };
            // Both are allocated before any work, so that a lack of room for the second wastes
            // none.
            let (mut psi, mut lambda) =
                (residents.basis(n_qubits, 0)?, residents.basis(n_qubits, 0)?);
            psi.apply(&operators)?;
            let values = observe(&psi, &sums)?;
            psi.observed_into(&cotangent, &mut *lambda)?;
            let products = psi.apply_pair(&mut *lambda, &back.operators, &back.probes)?;
            Ok(Some((values, products)))
        };
        let done = self.simulator.executors.with_fallback(n_qubits, &operators, work)?;
        Ok(done.map(|(values, products)| (values, back.by_angle(&self.parameter_uses, &products))))
    }

    /// Returns the observables as Pauli sums, if the best executor for this number of operators
    /// keeps states on a device, which begin as |0…0>.
    pub(super) fn device_observables<T: Real>(&self, operators: usize) -> Option<Vec<PauliSum>> {
        let executor =
            self.simulator.executors.best::<Complex<T>>(self.circuit.n_qubits(), operators);
        executor.device_states().filter(|_| self.initial.is_none())?;
        self.observables.iter().map(super::Observable::pauli_sum).collect()
    }
}

fn observe<T: Real>(psi: &BoxedDeviceState<T>, sums: &[PauliSum]) -> Result<Vec<T>, ExecuteError> {
    sums.iter().map(|sum| Ok(T::lit(psi.expectation(sum)?))).collect()
}

/// Returns `2 sum_k w_k O_k`; `None` if a weight is no finite number.
fn weighted<T: Real>(sums: &[PauliSum], weights: &[T]) -> Option<PauliSum> {
    let mut all = PauliSum::default();
    for (sum, weight) in sums.iter().zip(weights) {
        let weight = 2.0 * weight.primal()?;
        let terms = sum.terms().iter().map(|(c, string)| (weight * c, string.clone()));
        all.extend(PauliSum::new(terms).ok()?);
    }
    Some(all)
}
