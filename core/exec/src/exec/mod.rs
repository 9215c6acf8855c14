//! Running programs, on every scalar.
//!
//! ```text
//! Program ──compile──► Executable ──call(host, limits)──► values
//! ```
//!
//! [`compile`](Bytecode::compile) turns a function and all it calls into register bytecode;
//! [`Bytecode`] runs it over any [`Scalar`] `S`, with real values in `S::Real` and complex ones in
//! `S`. Everything that runs programs implements the [`Executable`] trait. With the feature `jit`,
//! code that works on single numbers becomes machine code: `Bytecode::jit`,
//! `Derivatives::with_jit`.
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
mod checkpoint;
mod coalesce;
mod code;
mod compile;
mod compiled_derivative;
mod data;
mod derivatives;
mod derive_error;
mod error;
mod fuse;
mod fused_kernel;
mod host;
mod host_with_constants;
pub mod inspect;
#[cfg(feature = "jit")]
mod jit;
mod jumps;
mod last_use;
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
pub use host::{Host, HostError, NoHost};
#[cfg(feature = "jit")]
pub use jit::JitError;
pub use machine::Machine;
pub use prepared::Prepared;
pub use pullback::Pullback;
pub use sparse::{Colouring, Sparse};

use crate::scalar::Scalar;

/// Limits of a run. Exceeding a limit is an error that names it.
///
/// ```
/// use ketgrad_core::exec::Limits;
///
/// const FEW: Limits = Limits::new().with_steps(1000).with_memory(1 << 20);
/// assert_eq!((FEW.steps, FEW.depth), (1000, Limits::default().depth));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Limits {
    /// Number of instructions executed, approximately: a backward jump costs the length of the
    /// loop's code, a call that of the function's, and code that runs once costs nothing.
    pub steps: u64,
    /// Number of operations on elements of arrays: an elementwise operation and any other that
    /// makes an array counts the elements, a product of matrices `2 m n k`, linear algebra some n³.
    /// Large costs are counted before the operation runs.
    pub work: u64,
    /// Calls inside calls.
    pub depth: usize,
    /// Elements of one array.
    pub array: usize,
    /// Bytes that a run holds: arrays, spare buffers included, numbers in registers, and values
    /// recorded for the reverse pass. Temporary memory of an operation is not counted, nor the heap
    /// memory of numbers (symbols), nor the arguments. Arrays are counted before they are made,
    /// numbers every 2^20 steps.
    pub memory: usize,
}

impl Default for Limits {
    /// Returns [`Limits::new`].
    fn default() -> Limits {
        Limits::new()
    }
}

impl Limits {
    /// Creates the default limits: 10^9 steps, 10^12 operations on elements, 10^5 calls deep, 10^8
    /// elements of an array, any number of bytes.
    #[must_use]
    pub const fn new() -> Limits {
        Limits {
            steps: 1_000_000_000,
            work: 1_000_000_000_000,
            depth: 100_000,
            array: 100_000_000,
            memory: usize::MAX,
        }
    }

    /// Sets the number of [`steps`](Limits::steps).
    #[must_use]
    pub const fn with_steps(self, steps: u64) -> Limits {
        Limits { steps, ..self }
    }

    /// Sets the amount of [`work`](Limits::work).
    #[must_use]
    pub const fn with_work(self, work: u64) -> Limits {
        Limits { work, ..self }
    }

    /// Sets the [`depth`](Limits::depth) of calls.
    #[must_use]
    pub const fn with_depth(self, depth: usize) -> Limits {
        Limits { depth, ..self }
    }

    /// Sets the number of elements of an [`array`](Limits::array).
    #[must_use]
    pub const fn with_array(self, array: usize) -> Limits {
        Limits { array, ..self }
    }

    /// Sets the number of bytes of [`memory`](Limits::memory).
    #[must_use]
    pub const fn with_memory(self, memory: usize) -> Limits {
        Limits { memory, ..self }
    }
}

/// A compiled function.
pub trait Executable<S: Scalar> {
    /// Runs it and writes the result over an earlier one, whose memory is used again. If the arrays
    /// of that are not shared, a machine that has run the same before allocates nothing.
    ///
    /// # Errors
    /// The arguments do not fit, a limit is exceeded, or the program fails.
    fn call_into(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
        result: &mut Datum<S>,
    ) -> Result<(), RunError>;

    /// Runs it.
    ///
    /// # Errors
    /// Those of [`call_into`](Executable::call_into).
    fn call(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, RunError> {
        let mut result = Datum::Int(0);
        self.call_into(machine, host, limits, args, &mut result)?;
        Ok(result)
    }

    /// Runs it on the leaves of its arguments where all of them are real numbers, and writes the
    /// leaves of its result, which are real numbers too. Allocates nothing once the machine has
    /// grown.
    ///
    /// # Errors
    /// Those of [`call_into`](Executable::call_into).
    fn call_flat(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[S::Real],
        results: &mut [S::Real],
    ) -> Result<(), RunError>;
}
