//! Serde: a state as its amplitudes, whose norm is checked.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{
    scalar::{Real, Ring, Scalar},
    state::StateVector,
};

impl<R: Ring + Serialize> Serialize for StateVector<R> {
    /// Serializes the amplitudes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.amplitudes().serialize(serializer)
    }
}

impl<'de, T: Real, R: Scalar<Real = T> + Deserialize<'de>> Deserialize<'de> for StateVector<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StateVector<R>, D::Error> {
        StateVector::from_amplitudes(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
