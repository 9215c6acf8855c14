//! Running programs, on every scalar.
//!
//! ```text
//! Program ──compile──► Executable ──call(host, limits)──► values
//! ```
//!
//! [`compile`](Bytecode::compile) turns a function and all it calls into register bytecode;
//! [`Bytecode`] runs it over any [`Scalar`](crate::scalar::Scalar) `S`, with real values in
//! `S::Real` and complex ones in `S`. Everything that runs programs implements the [`Executable`]
//! trait. With the feature `jit`, code that works on single numbers becomes machine code:
//! `Bytecode::jit`, `Derivatives::with_jit`.
//!
//! [`Batch`] runs one program over many arguments side by side; [`inspect`] watches a run from
//! inside.
//!
//! [`Colouring`] and [`Sparse`] are for Jacobians and Hessians with many zeros; [`Steps`]
//! differentiates long loops in little memory, [`Budgeted`] those of ordinary programs.
//!
//! [`Derivatives`] is the usual entry point: values, gradients, pullbacks, pushforwards and
//! Hessians of a function of a program, prepared once and called often.

mod batch;
mod batched_tangents;
mod bound_constants;
mod budget;
mod budget_error;
mod bytecode;
mod call_context;
mod call_frame;
mod checkpoint;
mod coalesce;
mod code;
mod compile;
mod compiled_derivative;
mod data;
mod derivatives;
mod derive_error;
mod error;
mod executable;
mod fuse;
mod fused_kernel;
mod host;
mod host_with_constants;
pub mod inspect;
#[cfg(feature = "jit")]
mod jit;
mod jumps;
mod last_use;
mod limits;
mod linear_map;
mod liveness;
mod machine;
mod prepared;
mod pullback;
mod registers;
mod small_program;
mod sparse;
mod tangents;

pub use batch::Batch;
pub use budget::Budgeted;
pub use budget_error::BudgetError;
pub use bytecode::Bytecode;
pub use call_context::CallContext;
pub use checkpoint::{Stepped, Steps};
pub use data::{AccumulateError, Cotangent, Datum, accumulate};
pub use derivatives::{Derivatives, Gradient};
pub use derive_error::DeriveError;
pub use error::{CallError, RunError};
pub use executable::Executable;
pub use host::{Host, HostError, NoHost};
#[cfg(feature = "jit")]
pub use jit::error::JitError;
pub use limits::Limits;
pub use machine::state::Machine;
pub use prepared::Prepared;
pub use pullback::Pullback;
pub use sparse::{Colouring, Sparse};
