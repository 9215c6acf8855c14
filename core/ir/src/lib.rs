//! Programs as data, their meaning, and their derivatives.
//!
//! [`entity`] (typed ids), [`ir`] (the op table, builder, verifier, printer and parser), [`rules`]
//! (derivatives of operations), [`staging`] (what the program language means), [`pass`]
//! (simplification), [`adjoint`] (derivatives of programs), [`text`] (programs from text).

use ketgrad_num::{array, errors, notation, scalar, stack};

pub mod entity;
#[macro_use]
pub mod ir;
pub mod adjoint;
pub mod pass;
pub mod rules;
pub mod staging;
pub mod text;
