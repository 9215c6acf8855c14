//! The register machine.
//!
//! A [`Machine`](state::Machine) holds the registers, the stack of calls and the tapes; it can be
//! used again and again and then allocates nothing. Calls of the program are frames on its own
//! stack, so no program exhausts the thread's.

mod array_bank;
mod arrays;
mod banks;
mod buffer_pool;
mod call;
mod chunk;
mod code_location;
mod cost;
mod elements;
#[cfg(feature = "jit")]
mod enter_jit;
mod kernel_plan;
mod loops;
mod memory_budget;
mod replace;
mod run;
mod scratch;
mod small_program;
pub(super) mod state;
mod whole;

pub(super) use banks::{Banks, FrameBase, RecordedTapes};
