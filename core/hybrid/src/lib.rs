//! Derivatives of circuits, and what uses them.
//!
//! [`hybrid`] (the adjoint method, parameter shifts, dual numbers), [`optimize`] (minimisation).

#[macro_use]
extern crate ketgrad_num;

use ketgrad_circuit::{basis, channel, circuit, gate, matrix, observable, param, pauli};
use ketgrad_exec::{check, exec};
use ketgrad_ir::{adjoint, entity, ir, pass, rules};
use ketgrad_num::{array, cancel, scalar};
use ketgrad_sim::{kernel, simulate, state};
use ketgrad_symbolic::exact;

pub mod hybrid;
#[cfg(feature = "optimize")]
pub mod optimize;
