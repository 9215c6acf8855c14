//! Conversions of matrices and Pauli sums to and from the types of other crates, each under the
//! feature of its name.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "serde")]
mod serde;
