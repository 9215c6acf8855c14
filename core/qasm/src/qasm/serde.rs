//! Serde: circuits as OpenQASM, for `#[serde(with = "ketgrad_core::qasm::serde")]`.
//!
//! ```
//! use ketgrad_core::circuit::Circuit;
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Job {
//!     #[serde(with = "ketgrad_core::qasm::serde")]
//!     circuit: Circuit,
//!     shots: u64,
//! }
//! ```

use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};

use super::{QasmOptions, parse};
use crate::circuit::Circuit;

/// Serializes a circuit as OpenQASM 3.
///
/// # Errors
/// OpenQASM has no form for it.
pub fn serialize<S: Serializer>(circuit: &Circuit, serializer: S) -> Result<S::Ok, S::Error> {
    let text = crate::print::to_qasm3(circuit).map_err(S::Error::custom)?;
    serializer.serialize_str(&text)
}

/// Parses OpenQASM 2 or 3.
///
/// # Errors
/// The text is not OpenQASM.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Circuit, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    let parsed = parse(&text, &QasmOptions::default());
    parsed.map(|parsed| parsed.circuit).map_err(D::Error::custom)
}
