//! faer's columns.

use faer::Col;

use crate::{
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

impl<S: Ring> From<&StateVector<S>> for Col<S> {
    fn from(state: &StateVector<S>) -> Col<S> {
        let amplitudes = state.amplitudes();
        Col::from_fn(amplitudes.len(), |i| amplitudes[i].clone())
    }
}

impl<T: Real, S: Scalar<Real = T>> TryFrom<Col<S>> for StateVector<S> {
    type Error = StateError;
    /// 2^n amplitudes of norm 1, as [`StateVector::from_amplitudes`] takes them.
    fn try_from(column: Col<S>) -> Result<StateVector<S>, StateError> {
        StateVector::from_amplitudes(column.iter().cloned().collect())
    }
}
