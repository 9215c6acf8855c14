//! Serde: a matrix as its rows, Pauli strings and sums as text. What is read is checked as if it
//! had been built by hand.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{
    matrix::Matrix,
    observable::{PauliString, PauliSum},
    scalar::Ring,
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
