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
//! masks), [`gate`] (the table), [`circuit`], [`classical`] (its variables and expressions),
//! [`observable`], [`kernel`] (loops over amplitudes), [`plan`] (many gates in one pass),
//! [`state`], [`field`] (exact numbers modulo a prime),
//! [`simulate`], [`equivalent`] (equality of circuits), [`exact`] (amplitudes in closed form),
//! [`hybrid`] (derivatives of circuits), [`problem`] (Hamiltonians to try things on), [`ansatz`]
//! (circuits with parameters), [`optimize`] (minimisation), [`qasm`] (circuits from text),
//! [`mod@print`] (and back), [`draw`] (circuits as pictures), [`interop`] (serde, nalgebra,
//! ndarray).

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

#[cfg(feature = "ansatz")]
#[doc(inline)]
pub use ketgrad_circuit::{ansatz, problem};
#[doc(inline)]
pub use ketgrad_circuit::{
    basis, channel, circuit, classical, gate, matrix, observable, param, pauli,
};
#[cfg(feature = "emit")]
#[doc(inline)]
pub use ketgrad_emit::emit;
#[cfg(feature = "tape")]
#[doc(inline)]
pub use ketgrad_exec::tape;
#[doc(inline)]
pub use ketgrad_exec::{check, exec, recordable, trace};
#[doc(inline)]
pub use ketgrad_hybrid::hybrid;
#[cfg(feature = "optimize")]
#[doc(inline)]
pub use ketgrad_hybrid::optimize;
#[doc(hidden)]
pub use ketgrad_ir::for_each_array_op;
#[doc(inline)]
pub use ketgrad_ir::{adjoint, entity, ir, pass, rules, staging, text};
#[doc(inline)]
pub use ketgrad_num::{array, cancel, errors, notation, num_for_complex, ring_ops, scalar};
#[cfg(feature = "draw")]
#[doc(inline)]
pub use ketgrad_qasm::draw;
#[cfg(feature = "qasm")]
#[doc(inline)]
pub use ketgrad_qasm::{print, qasm};
#[doc(inline)]
pub use ketgrad_sim::{field, kernel, plan, simulate, state};
#[doc(inline)]
pub use ketgrad_symbolic::exact;
#[cfg(feature = "equivalent")]
#[doc(inline)]
pub use ketgrad_symbolic::{equivalent, normal};

pub mod interop;
