//! Compiled functions.

use std::sync::Arc;

use crate::{
    entity::FuncId,
    ir::{CustomRule, Function, Kind, Param, Position, Primitive},
};

use super::{
    code::{BANKS, Bank, Code, Pc, Slot, Track},
    inspect::Moment,
    recipe::Recipe,
    small::Small,
};

/// A compiled function.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    pub(super) code: Vec<Code>,
    /// Where each instruction came from.
    pub(super) at: Vec<Position>,
    /// The registers of instructions with many operands, and of arrays.
    pub(super) slots: Vec<Slot>,
    /// What is done element by element.
    pub(super) recipes: Vec<Arc<Recipe>>,
    /// What is done on small arrays.
    pub(super) smalls: Vec<Arc<Small>>,
    /// What becomes of the checksums of tapes.
    pub(super) tracks: Vec<Track>,
    /// The targets of switches.
    pub(super) tables: Vec<Pc>,
    /// How many registers of each bank.
    pub(super) sizes: [u32; BANKS],
    /// Where the leaves of the parameters go.
    pub(super) params: Vec<Slot>,
    /// The kinds of all of them are real.
    pub(super) flat: bool,
    /// What an interceptor is shown; none in code compiled to be fast.
    pub(super) source: Option<Arc<Source>>,
}

/// What code compiled for an interceptor remembers of the IR.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) id: FuncId,
    pub(super) function: Function,
    /// What its derivatives go by instead of its body, if it is anything.
    pub(super) rule: Option<CustomRule>,
    /// The registers of each value.
    pub(super) registers: Vec<Vec<Slot>>,
    pub(super) marks: Vec<Moment>,
    /// For each mark the slots whose arrays are given away after it, in code that is followed.
    pub(super) given: Vec<Vec<Slot>>,
}

impl Routine {
    /// Where an instruction may go on: the next one, targets, and a table's entries.
    pub(super) fn successors(&self, pc: usize) -> impl Iterator<Item = usize> {
        let mut code = self.code[pc];
        let next = (!code.ends()).then_some(pc + 1);
        let table = self.tables[code.table()].iter().copied();
        let (yes, no) = code.targets_mut();
        let (yes, no) = (yes.copied(), no.copied());
        next.into_iter().chain(yes.into_iter().chain(no).chain(table).map(|pc| pc as usize))
    }

    /// Where the results of a call go that is followed by this instruction.
    pub(super) fn awaited(&self, pc: usize) -> &[Slot] {
        match self.code[pc - 1] {
            Code::Call(_, _, results) => &self.slots[results.range()],
            _ => &[],
        }
    }
}

/// A call that waits for another: its routine and the instruction that it goes on with, in one
/// word. Where its registers start follows from where those of the other do.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Frame(pub(super) u64);

impl Frame {
    pub(super) fn new(routine: usize, pc: usize) -> Frame {
        Frame((routine as u64) << 32 | pc as u64)
    }
    pub(super) fn routine(self) -> usize {
        (self.0 >> 32) as usize
    }
    pub(super) fn pc(self) -> usize {
        self.0 as Pc as usize
    }
    /// Where the call stands.
    pub(super) fn at(self, code: &Bytecode) -> Position {
        code.routines[self.routine()].at.get(self.pc() - 1).copied().unwrap_or_default()
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
    pub(super) balanced: Arc<[(u32, Bank)]>,
    /// Machine code for a part of it.
    #[cfg(feature = "jit")]
    pub(super) native: Option<Arc<super::jit::Native>>,
}

impl Bytecode {
    /// What it returns.
    #[must_use]
    pub fn result(&self) -> &Kind {
        &self.result
    }
    /// Its parameters.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }
    /// How many instructions it has, with all it calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routines.iter().map(|r| r.code.len()).sum()
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
