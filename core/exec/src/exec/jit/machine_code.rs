//! The machine code of a program, and its memory.

use std::{fmt, mem::ManuallyDrop, sync::Mutex};

use cranelift_jit::JITModule;

use super::{cells::CellLayout, context::JitContext};

/// Function of a part of a routine: takes the state of the machine and the number of an entry
/// point; returns the instruction that the machine goes on with.
pub(in crate::exec) type JitEntry = unsafe extern "C" fn(*mut JitContext, u64) -> u64;

/// The machine code of a part of a routine.
#[derive(Debug)]
pub(in crate::exec) struct JitFunction {
    pub(in crate::exec) enter: JitEntry,
    /// True if it works on complex numbers.
    pub(in crate::exec) is_complex: bool,
    pub(in crate::exec) lists: CellLayout,
}

/// The machine code of a program.
pub(in crate::exec) struct JitCode {
    /// The parts of each; `None` where it would not be worth it.
    pub(super) routines: Vec<Vec<Option<JitFunction>>>,
    /// Memory of the code, behind a lock because the module is not `Sync`; it is never locked.
    pub(super) _memory: Mutex<ModuleOwner>,
}

/// Owner of the memory of machine code, which gives it back when it is dropped.
pub(super) struct ModuleOwner(pub(super) ManuallyDrop<JITModule>);

impl JitCode {
    pub(in crate::exec) fn part(&self, routine: usize, part: u32) -> Option<&JitFunction> {
        self.routines.get(routine)?.get(part as usize)?.as_ref()
    }
}

impl fmt::Debug for JitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("routines", &self.routines).finish_non_exhaustive()
    }
}

impl Drop for ModuleOwner {
    #[expect(unsafe_code, reason = "machine code is memory that the compiler does not watch")]
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here. Its functions are reached only through the
        // `JitCode` that this is a part of, and none is running: a run of a program holds its
        // bytecode, which holds the `JitCode`.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() };
    }
}
