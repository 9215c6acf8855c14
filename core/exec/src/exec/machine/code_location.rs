//! The current instruction of a run, for errors.

use std::cmp::Ordering;

use crate::{
    array::ArrayError,
    cancel::Cancelled,
    ir::Position,
    scalar::{Real, Scalar, Undecided},
};

use super::{
    super::{bytecode::Routine, code::Bank, error::RunError},
    banks::{FrameBase, TapeStorage},
    memory_budget::MemoryBudget,
};

/// Current instruction of a run, for errors.
pub(super) struct CodeLocation<'a> {
    pub(super) routine: &'a Routine,
    pub(super) pc: usize,
}

impl CodeLocation<'_> {
    pub(super) fn position(&self) -> Position {
        self.routine.at.get(self.pc).copied().unwrap_or_default()
    }
    #[cold]
    pub(super) fn index(&self, index: i64, len: usize) -> RunError {
        RunError::Index { index, len, at: self.position() }
    }
    #[cold]
    pub(super) fn empty(&self) -> RunError {
        RunError::EmptyTape { at: self.position() }
    }
    #[cold]
    pub(super) fn undecided(&self, op: &'static str, source: Undecided) -> RunError {
        RunError::Undecided { op, at: self.position(), source }
    }
    #[cold]
    pub(super) fn integer(&self, op: &'static str, operands: &[i64]) -> RunError {
        let operands = operands.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        RunError::Integer { op, operands, at: self.position() }
    }
    #[cold]
    pub(super) fn steps(&self, limit: u64) -> RunError {
        RunError::Steps { limit, at: self.position() }
    }
    #[cold]
    pub(super) fn cancelled(&self, source: Cancelled) -> RunError {
        RunError::Cancelled { at: self.position(), source }
    }
    #[cold]
    pub(super) fn work(&self, limit: u64) -> RunError {
        RunError::Work { limit, at: self.position() }
    }
    /// Counts the registers of numbers up to those of this call, and the numbers on the tapes.
    #[cold]
    #[inline(never)]
    pub(super) fn count_memory<S: Scalar>(
        &self,
        base: FrameBase,
        tapes: &[TapeStorage<S>],
        budget: &mut MemoryBudget,
    ) -> Result<(), RunError> {
        let end = |bank: Bank| base[bank as usize] + self.routine.sizes[bank as usize] as usize;
        let (reals, complexes) =
            (end(Bank::Real) * size_of::<S::Real>(), end(Bank::Complex) * size_of::<S>());
        let registers = reals + complexes + end(Bank::Int) * size_of::<i64>();
        if budget.count(registers + tapes.iter().map(TapeStorage::numbers).sum::<usize>()) {
            return Ok(());
        }
        Err(RunError::Memory { used: budget.used(), limit: budget.limit(), at: self.position() })
    }
    #[cold]
    pub(super) fn switch(&self, index: i64) -> RunError {
        RunError::Switch { index, at: self.position() }
    }
    #[cold]
    pub(super) fn depth(&self, limit: usize, callee: &Routine) -> RunError {
        RunError::Depth { limit, function: callee.name.clone(), at: self.position() }
    }
    #[cold]
    pub(super) fn full(&self, source: ArrayError) -> RunError {
        RunError::Array { at: self.position(), source }
    }
    #[cold]
    pub(super) fn path<T: Real>(&self, expected: Option<Ordering>, x: &T, y: &T) -> RunError {
        let (left, right) = (format!("{x:?}"), format!("{y:?}"));
        RunError::Path { expected, left, right, at: self.position() }
    }
    #[cold]
    pub(super) fn needs_complex(&self) -> RunError {
        RunError::NeedsComplex { at: self.position() }
    }
}
