//! Expectation values and their gradients on a device: only values come back.
//!
//! Taken where the best executor keeps states, every observable is a sum of Pauli strings, and (for gradients) every
//! generator one of few. What else there is runs in the host's memory.

use num_complex::Complex;

use super::{
    Expectation, HybridError,
    adjoint::{Bound, WayBack},
};
use crate::{
    kernel::{ExecuteError, Operator, Resident, Residents},
    observable::PauliSum,
    scalar::Real,
    simulate::SimulateError,
};

/// The value of each observable, and the derivative by the angle of each slot.
pub(super) type ValuesAndSlopes<T> = (Vec<T>, Vec<T>);

type State<T> = Box<dyn Resident<Complex<T>>>;

impl From<ExecuteError> for HybridError {
    fn from(error: ExecuteError) -> HybridError {
        SimulateError::from(error).into()
    }
}

impl Expectation {
    /// The value of each observable; `None` if this is not for a device.
    pub(super) fn values_there<T: Real>(&self, bound: &Bound<'_, T>) -> Result<Option<Vec<T>>, HybridError> {
        let Some((residents, sums)) = self.there(bound.count()) else { return Ok(None) };
        let operators = bound.operators();
        let psi = self.final_state(residents, &operators)?;
        Ok(Some(observe(&psi, &sums)?))
    }

    /// The values, and the derivative of their weighted sum by the angle of each slot; `None` if this is not for a
    /// device.
    pub(super) fn vjp_there<T: Real>(
        &self,
        bound: &Bound<'_, T>,
        weights: &[T],
    ) -> Result<Option<ValuesAndSlopes<T>>, HybridError> {
        let Some((residents, sums)) = self.there(bound.count()) else { return Ok(None) };
        let Some(cotangent) = weighted(&sums, weights) else { return Ok(None) };
        let Some(way) = bound.way_back(&self.slots)? else { return Ok(None) };
        let WayBack { operators: back, inners, .. } = &way;
        let mut psi = self.final_state(residents, &bound.operators())?;
        let values = observe(&psi, &sums)?;
        let mut lambda = psi.observed(&cotangent)?;
        let products = psi.apply_pair(&mut *lambda, back, inners)?;
        Ok(Some((values, way.by_angle(&self.slots, &products))))
    }

    /// Who keeps the states of so many operators, and what is observed there.
    fn there<T: Real>(&self, operators: usize) -> Option<(&dyn Residents<Complex<T>>, Vec<PauliSum>)> {
        let executor = self.simulator.executors.best::<Complex<T>>(self.circuit.n_qubits(), operators);
        let residents = executor.residents()?;
        let sums = self.observables.iter().map(super::Observable::pauli_sum);
        Some((residents, sums.collect::<Option<_>>()?))
    }

    fn final_state<T: Real>(
        &self,
        residents: &dyn Residents<Complex<T>>,
        operators: &[Operator<Complex<T>>],
    ) -> Result<State<T>, HybridError> {
        let mut psi = residents.basis(self.circuit.n_qubits(), 0)?;
        psi.apply(operators)?;
        Ok(psi)
    }
}

fn observe<T: Real>(psi: &State<T>, sums: &[PauliSum]) -> Result<Vec<T>, HybridError> {
    sums.iter().map(|sum| Ok(T::lit(psi.expectation(sum)?))).collect()
}

/// `2 sum_k w_k O_k`; `None` if a weight is no number.
fn weighted<T: Real>(sums: &[PauliSum], weights: &[T]) -> Option<PauliSum> {
    let mut all = PauliSum::default();
    for (sum, weight) in sums.iter().zip(weights) {
        let weight = 2.0 * weight.primal()?;
        all.extend(PauliSum::new(sum.terms().iter().map(|(c, string)| (weight * c, string.clone()))));
    }
    Some(all)
}
