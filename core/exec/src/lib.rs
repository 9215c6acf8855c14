//! Programs run.
//!
//! [`exec`] (bytecode on every number type, machine code for floats, gradients), [`check`] (all
//! ways to a derivative, compared), [`trace`] (formulas, recorded Rust functions), [`tape`]
//! (gradients by operator overloading).

#[macro_use]
extern crate ketgrad_ir;
#[macro_use]
extern crate ketgrad_num;

use ketgrad_circuit::param;
use ketgrad_ir::{adjoint, entity, ir, pass, rules, staging};
#[doc(hidden)]
pub use ketgrad_num::scalar;
use ketgrad_num::{array, bytes, cancel, notation}; // `recordable!` writes its paths

pub mod check;
pub mod exec;
#[cfg(feature = "tape")]
pub mod tape;
pub mod trace;
