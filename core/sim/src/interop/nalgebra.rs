//! nalgebra's dynamic vectors.

use nalgebra::{DVector, Scalar as Element};

use crate::{
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector},
};

impl<S: Ring + Element> From<StateVector<S>> for DVector<S> {
    fn from(state: StateVector<S>) -> DVector<S> {
        DVector::from_vec(state.into_amplitudes())
    }
}

impl<T: Real, S: Scalar<Real = T> + Element> TryFrom<DVector<S>> for StateVector<S> {
    type Error = StateError;
    /// 2^n amplitudes of norm 1, as [`StateVector::from_amplitudes`] takes them.
    fn try_from(vector: DVector<S>) -> Result<StateVector<S>, StateError> {
        StateVector::from_amplitudes(Vec::from(vector.data))
    }
}
