//! The computing heart of ketgrad: numbers, circuits, kernels and states.
//!
//! This crate is pure computation: it reads no files and no environment, and holds no global state
//! but a counter and what is known of the machine's caches. Threads, memory limits and kernels are handed in.
//!
//! Numbers and programs: [`scalar`], [`mod@array`] (numbers with a shape), [`entity`] (typed ids), [`ir`] (programs as data), [`rules`]
//! (derivatives of operations), [`text`] (programs from text), [`pass`] (simplification), [`adjoint`]
//! (derivatives of programs), [`exec`] (running), [`emit`] (source out), [`check`] (all ways to a derivative,
//! compared), [`trace`] (formulas, recorded Rust functions), [`tape`] (gradients by operator overloading).
//!
//! Circuits: [`param`] (angles of gates), [`basis`] (bits), [`matrix`], [`gate`] (the table),
//! [`circuit`], [`observable`], [`kernel`] (loops over amplitudes), [`plan`] (many gates in one pass),
//! [`state`], [`field`] (exact numbers modulo a prime), [`simulate`], [`equivalent`] (equality of circuits),
//! [`exact`] (amplitudes in closed form), [`hybrid`] (derivatives of circuits), [`problem`] (Hamiltonians to try
//! things on), [`ansatz`] (circuits with parameters), [`optimize`] (minimisation), [`qasm`] (circuits from text),
//! [`mod@print`] (and back), [`draw`] (circuits as pictures).

mod bytes;
pub mod entity;
mod stack;

#[macro_use]
pub mod scalar;

pub mod array;

#[macro_use]
pub mod ir;
pub mod rules;

pub mod staging;
pub mod text;

pub mod pass;

pub mod adjoint;

pub mod exec;

pub mod check;
pub mod emit;

pub mod param;

pub mod tape;
pub mod trace;

pub mod basis;
pub mod matrix;

pub mod channel;
pub mod gate;

pub mod circuit;
pub mod observable;

pub mod kernel;
pub mod plan;
pub mod state;

pub mod field;

pub mod simulate;

pub mod equivalent;
pub mod exact;
pub mod normal;

pub mod hybrid;

pub mod problem;

pub mod ansatz;

pub mod optimize;

pub mod draw;
pub mod print;
pub mod qasm;
