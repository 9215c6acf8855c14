//! Serde: data as structs, what has a text as that text. What is read is checked as if it had been
//! built by hand.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{
    matrix::Matrix,
    observable::{PauliString, PauliSum},
    scalar::{Real, Ring, Scalar},
    state::StateVector,
};

impl<R: Ring + Serialize> Serialize for Matrix<R> {
    /// Serializes the rows.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries().chunks(self.dim()))
    }
}

impl<'de, R: Ring + Deserialize<'de>> Deserialize<'de> for Matrix<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Matrix<R>, D::Error> {
        Matrix::from_rows(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

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

/// Implements serialization as text.
macro_rules! by_text {
    ($($Type:ty)*) => {$(
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$Type, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }
    )*};
}
by_text! { PauliString PauliSum }

#[cfg(feature = "qasm")]
impl Serialize for crate::circuit::Circuit {
    /// Serializes as OpenQASM 3.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = crate::print::to_qasm3(self).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

#[cfg(feature = "qasm")]
impl<'de> Deserialize<'de> for crate::circuit::Circuit {
    /// Parses OpenQASM 2 or 3.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let parsed = crate::qasm::parse(&text, &crate::qasm::QasmOptions::default());
        parsed.map(|parsed| parsed.circuit).map_err(D::Error::custom)
    }
}
