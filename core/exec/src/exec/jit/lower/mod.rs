//! Lowering of a part of the bytecode to a function of the code generator.
//!
//! ```text
//!           ┌─ entry point 0: load the live registers ─┐
//! start ────┤                                          ├──► block of each instruction that is jumped to …
//!           └─ entry point 1: …                        ┘
//!                                  … ──► side exit at 7: store the live registers, return 7
//! ```
//!
//! - A register of numbers is a variable; the builder makes SSA of it. One that only ever holds a
//!   constant is none.
//! - A block tests once if the tapes have room for all that it pushes and hold all that it pops.
//! - Everything that may fail is tested before anything is changed; if it would fail, the code
//!   takes a side exit at that instruction.
//! - Each side exit stores the registers that are live there. If that would be more code than the
//!   program, every write is stored at once instead, and side exits store nothing.
//!
//! Cost: that of the liveness analysis, and that of the code generator.

mod calls;
mod instruction;
mod lowering;
mod memory;
mod registers;

use cranelift_codegen::{ir, isa::CallConv};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::{
    cells::CellLayout,
    plan::{JitPlan, JitUnit},
};
use lowering::JitLowering;

/// Writes the function of a part of a routine; returns the layout of its cells.
pub(super) fn lower(
    plan: &JitPlan<'_>,
    part: &JitUnit,
    call: CallConv,
    function: &mut ir::Function,
    context: &mut FunctionBuilderContext,
) -> CellLayout {
    let mut lowering = JitLowering::new(plan, part, call, FunctionBuilder::new(function, context));
    lowering.list();
    lowering.entry_points();
    lowering.body();
    lowering.side_exits();
    let JitLowering { mut b, lists, .. } = lowering;
    b.seal_all_blocks();
    b.finalize();
    lists
}
