//! The computing heart of ketgrad: numbers, circuits, kernels and states.
//!
//! This crate is pure computation: it reads no files and no environment, and holds no global state
//! but a counter and what is known of the machine's caches. Threads, memory limits and kernels are
//! handed in.
//!
//! For all of it: [`cancel`] (work that ends early), [`errors`] (several that are one),
//! [`notation`] (hints on misspelt names). Numbers and programs: [`scalar`], [`mod@array`] (numbers
//! with a shape), [`entity`] (typed ids), [`ir`] (programs as data), [`rules`] (derivatives of
//! operations), [`text`] (programs from text), [`pass`] (simplification), [`adjoint`] (derivatives
//! of programs), [`exec`] (running), [`emit`] (source out), [`check`] (all ways to a derivative,
//! compared), [`trace`] (formulas, recorded Rust functions), [`tape`] (gradients by operator
//! overloading).
//!
//! Circuits: [`param`] (angles of gates), [`basis`] (bits), [`matrix`], [`pauli`] (strings as
//! masks), [`gate`] (the table), [`circuit`], [`observable`], [`kernel`] (loops over amplitudes),
//! [`plan`] (many gates in one pass), [`state`], [`field`] (exact numbers modulo a prime),
//! [`simulate`], [`equivalent`] (equality of circuits), [`exact`] (amplitudes in closed form),
//! [`hybrid`] (derivatives of circuits), [`problem`] (Hamiltonians to try things on), [`ansatz`]
//! (circuits with parameters), [`optimize`] (minimisation), [`qasm`] (circuits from text),
//! [`mod@print`] (and back), [`draw`] (circuits as pictures), [`interop`] (serde, nalgebra,
//! ndarray).

#![cfg_attr(
    not(all(
        feature = "ansatz",
        feature = "draw",
        feature = "emit",
        feature = "equivalent",
        feature = "optimize",
        feature = "qasm",
        feature = "tape"
    )),
    allow(unused, reason = "what parts need that are left out")
)]

#[doc(no_inline)]
pub use num_complex;
#[doc(no_inline)]
pub use num_dual;
#[doc(no_inline)]
pub use num_rational;
#[doc(no_inline)]
pub use num_traits;
#[cfg(feature = "parallel")]
#[doc(no_inline)]
pub use rayon;
#[doc(no_inline)]
pub use smallvec;

#[macro_use]
extern crate ketgrad_num;

pub use ketgrad_num::{array, cancel, errors, notation, scalar};
pub use ketgrad_num::{num_for_complex, ring_ops};
use ketgrad_num::{bytes, stack};

pub mod entity;

#[macro_use]
pub mod ir;
pub mod rules;

pub mod staging;
pub mod text;

pub mod pass;

pub mod adjoint;

pub mod exec;

pub mod check;
#[cfg(feature = "emit")]
pub mod emit;

pub mod param;

#[cfg(feature = "tape")]
pub mod tape;
pub mod trace;

pub mod basis;
pub mod matrix;
pub mod pauli;

pub mod channel;
pub mod gate;

pub mod circuit;
pub mod observable;

pub mod kernel;
pub mod plan;
pub mod state;

pub mod field;

pub mod simulate;

#[cfg(feature = "equivalent")]
pub mod equivalent;
pub mod exact;
#[cfg(feature = "equivalent")]
pub mod normal;

pub mod hybrid;

#[cfg(feature = "ansatz")]
pub mod problem;

#[cfg(feature = "ansatz")]
pub mod ansatz;

#[cfg(feature = "optimize")]
pub mod optimize;

pub mod interop;

#[cfg(feature = "draw")]
pub mod draw;
#[cfg(feature = "qasm")]
pub mod print;
#[cfg(feature = "qasm")]
pub mod qasm;
