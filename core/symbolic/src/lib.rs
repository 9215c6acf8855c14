//! Circuits and formulas in closed form.
//!
//! [`exact`] (amplitudes and expectation values), [`normal`] (normal forms of expressions),
//! [`equivalent`] (equality of circuits).

#[macro_use]
extern crate ketgrad_num;

use ketgrad_circuit::{basis, circuit, gate, observable, param, pauli};
use ketgrad_exec::trace;
#[cfg(feature = "equivalent")]
use ketgrad_ir::{entity, ir};
use ketgrad_num::{notation, scalar};
#[cfg(feature = "equivalent")]
use ketgrad_sim::{field, kernel};
use ketgrad_sim::{simulate, state};

#[cfg(feature = "equivalent")]
pub mod equivalent;
pub mod exact;
#[cfg(feature = "equivalent")]
pub mod normal;
