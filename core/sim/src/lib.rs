//! Amplitudes: circuits on state vectors and density matrices.
//!
//! [`kernel`] (loops over amplitudes, devices), [`plan`] (many gates in one pass over memory),
//! [`state`] (vectors and density matrices), [`field`] (exact numbers modulo a prime),
//! [`simulate`] (circuits run, sampled and averaged).

#[macro_use]
extern crate ketgrad_num;

use ketgrad_circuit::{basis, channel, circuit, matrix, observable, param, pauli};
use ketgrad_num::{array, bytes, cancel, scalar};

pub mod field;
pub mod kernel;
pub mod plan;
pub mod simulate;
pub mod state;

mod interop;
