//! Machine code for programs over `f64`, by Cranelift (feature `jit`).
//!
//! ```text
//! bytecode ──entry_points──► bytecode with entry points ──plan, lower──► a function of machine code for each part of a routine
//!
//!   0: native 0        entry point: machine code runs from here …
//!   1: t = a * a
//!   2: r = r + t       … to an instruction that only the register machine knows, or that has to fail
//!   3: call g
//!   4: native 1        and from the next entry point on
//! ```
//!
//! Machine code loads the registers of numbers from the machine's banks at an entry point, and
//! stores those that are live at a side exit. It leaves to the [machine](super::Machine) calls, but
//! for recursive ones, operations on whole arrays and primitives, and rare cases: an integer that
//! overflows, an index out of bounds, a full tape, a limit that is reached. It exits *before* such
//! an instruction, whose meaning, errors included, is thus written once, in the machine. So a
//! program gives the same bits and the same errors, and counts the same steps but one more for each
//! entry point.
//!
//! On scalars whose real numbers are not `f64` an entry point does nothing, nor if a function works
//! on complex numbers that are not `Complex<f64>`.

mod cells;
mod compile;
mod context;
mod entry_points;
pub(super) mod error;
mod lower;
mod machine_code;
mod ops;
mod plan;

pub(super) use cells::{CellLayout, JitCell, JitTape};
pub(super) use context::JitContext;
pub(super) use machine_code::{JitCode, JitFunction};
