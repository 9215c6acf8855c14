//! Compiled functions.

use std::sync::Arc;

use crate::{
    entity::FuncId,
    ir::{CustomRule, Function, Kind, Param, Position, Primitive},
};

use super::{
    call_frame::CallFrame,
    code::{BANKS, Bank, ChecksumUpdate, Code, Pc, RegisterSlot},
    fused_kernel::FusedKernel,
    inspect::Moment,
    small_program::SmallProgram,
};

/// A compiled function.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    pub(super) code: Vec<Code>,
    /// Position of each instruction in the source.
    pub(super) at: Vec<Position>,
    /// The registers of instructions with many operands, and of arrays.
    pub(super) slots: Vec<RegisterSlot>,
    /// Fused kernels: operations that run element by element in one loop.
    pub(super) kernels: Vec<Arc<FusedKernel>>,
    /// Programs on small arrays.
    pub(super) small_programs: Vec<Arc<SmallProgram>>,
    /// Updates of the checksums of tapes.
    pub(super) checksum_updates: Vec<ChecksumUpdate>,
    /// The targets of switches.
    pub(super) tables: Vec<Pc>,
    /// Number of registers of each bank.
    pub(super) sizes: [u32; BANKS],
    /// Registers of the leaves of the parameters.
    pub(super) params: Vec<RegisterSlot>,
    /// The kinds of all of them are real.
    pub(super) is_all_real: bool,
    /// Debug information for an interceptor; none in code compiled to be fast.
    pub(super) source: Option<Arc<DebugInfo>>,
}

/// Debug information: the IR of code that is compiled for an interceptor.
#[derive(Clone, Debug)]
pub(super) struct DebugInfo {
    pub(super) id: FuncId,
    pub(super) function: Function,
    /// Rule that gives its derivatives instead of its body, if there is one.
    pub(super) rule: Option<CustomRule>,
    /// The registers of each value.
    pub(super) registers: Vec<Vec<RegisterSlot>>,
    pub(super) marks: Vec<Moment>,
    /// Slots whose arrays are moved out after each mark, in code that writes in place.
    pub(super) moved_arrays: Vec<Vec<RegisterSlot>>,
}

impl Routine {
    /// Returns the successors of an instruction: the next one, its targets, and the entries of its
    /// table.
    pub(super) fn successors(&self, pc: usize) -> impl Iterator<Item = usize> {
        let mut code = self.code[pc];
        let next = (!code.ends()).then_some(pc + 1);
        let table = self.tables[code.table()].iter().copied();
        let (yes, no) = code.targets_mut();
        let (yes, no) = (yes.copied(), no.copied());
        next.into_iter().chain(yes.into_iter().chain(no).chain(table).map(|pc| pc as usize))
    }

    /// Returns the slots of the results of the call that returns to this instruction.
    pub(super) fn result_slots(&self, pc: usize) -> &[RegisterSlot] {
        match self.code[pc - 1] {
            Code::Call(_, _, results) => &self.slots[results.range()],
            _ => &[],
        }
    }
}

/// A function and all it calls, compiled.
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub(super) routines: Vec<Routine>,
    pub(super) primitives: Vec<Primitive>,
    pub(super) params: Vec<Param>,
    pub(super) result: Kind,
    pub(super) tapes: usize,
    /// The lists of tapes that are both pushed to and popped from: after a run nothing stays there.
    pub(super) checked_tapes: Arc<[(u32, Bank)]>,
    /// Machine code for a part of it.
    #[cfg(feature = "jit")]
    pub(super) native: Option<Arc<super::jit::JitCode>>,
}

impl Bytecode {
    /// Returns the kind of its result.
    #[must_use]
    pub fn result(&self) -> &Kind {
        &self.result
    }
    /// Returns its parameters.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }
    /// Returns the position of a call that waits.
    pub(super) fn position(&self, call: CallFrame) -> Position {
        self.routines[call.routine()].at.get(call.pc() - 1).copied().unwrap_or_default()
    }
    /// Returns the number of instructions, including those of all functions that it calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routines.iter().map(|r| r.code.len()).sum()
    }
    /// Returns true if it has no instructions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
