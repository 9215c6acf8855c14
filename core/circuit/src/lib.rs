//! Circuits as data, without amplitudes.
//!
//! [`param`] (exact angles, parameters and formulas of them), [`basis`] (bits), [`matrix`] (small
//! dense matrices), [`pauli`] (strings as masks), [`gate`] and [`channel`] (the tables),
//! [`classical`] (types and expressions of variables),
//! [`mod@circuit`] (instructions, parameters, editing), [`observable`] (sums of Pauli strings),
//! [`problem`] (Hamiltonians to try things on), [`ansatz`] (circuits with parameters).

use ketgrad_num::{notation, scalar};

#[cfg(feature = "ansatz")]
pub mod ansatz;
pub mod basis;
pub mod channel;
pub mod circuit;
pub mod classical;
pub mod gate;
pub mod matrix;
pub mod observable;
pub mod param;
pub mod pauli;
#[cfg(feature = "ansatz")]
pub mod problem;

mod interop;
