//! The state of a run: registers, tapes and the calls that wait.

use crate::{cancel::CancellationToken, ir::Position, scalar::Scalar};

#[cfg(feature = "jit")]
use super::super::jit::JitCell;
use super::{
    super::{
        Limits, bytecode::Bytecode, call_frame::CallFrame, code::BANKS, data::Datum,
        error::RunError,
    },
    banks::{Banks, RecordedTapes, TapeStorage},
};

/// The state of a run.
#[derive(Debug)]
pub struct Machine<S: Scalar> {
    pub(super) banks: Banks<S>,
    pub(super) tapes: Vec<TapeStorage<S>>,
    pub(super) frames: Vec<CallFrame>,
    /// True if the next run reads the tapes that the last one left.
    keep: bool,
    /// True if a run failed and left values in registers.
    pub(super) broken: bool,
    pub(super) cancellation: CancellationToken,
    /// Steps of the last run, if it came to its end.
    pub(super) steps: u64,
    /// Cells of tapes and arrays for machine code.
    #[cfg(feature = "jit")]
    pub(super) cells: Vec<JitCell>,
}

impl<S: Scalar> Default for Machine<S> {
    fn default() -> Self {
        Machine::new()
    }
}

impl<S: Scalar> Machine<S> {
    /// Creates a machine without memory yet.
    #[must_use]
    pub fn new() -> Machine<S> {
        Machine {
            banks: Banks::new(),
            tapes: vec![],
            frames: vec![],
            keep: false,
            broken: false,
            cancellation: CancellationToken::never(),
            steps: 0,
            #[cfg(feature = "jit")]
            cells: vec![],
        }
    }

    /// Sets a token that ends its runs early: it is checked before each run and, during a run,
    /// every 2^20 steps and after each operation on arrays.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Machine<S> {
        Machine { cancellation: token, ..self }
    }

    /// Steps and work of the last run, if it came to its end.
    pub(in crate::exec) fn used(&self) -> (u64, u64) {
        (self.steps, self.banks.arrays.budget.work_done())
    }

    /// Creates a machine without memory yet, with the same token.
    pub(in crate::exec) fn another<R: Scalar>(&self) -> Machine<R> {
        Machine::new().with_cancellation(self.cancellation.clone())
    }

    /// Returns the error of a run that is cancelled before it begins.
    pub(super) fn check_cancelled(&self) -> Result<(), RunError> {
        self.cancellation
            .check()
            .map_err(|source| RunError::Cancelled { at: Position::default(), source })
    }

    /// Returns the tapes that the last run left.
    pub(in crate::exec) fn take_tapes(&mut self) -> RecordedTapes<S> {
        RecordedTapes(std::mem::take(&mut self.tapes))
    }

    /// Lets the next run read these tapes.
    pub(in crate::exec) fn put_tapes(&mut self, tapes: &RecordedTapes<S>) {
        self.tapes.clone_from(&tapes.0);
        self.keep = true;
    }

    /// Returns the bytes of the registers, the tapes and the spare buffers; numbers that have
    /// memory of their own (symbols) count as their pointers.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.banks.memory() + self.tapes.iter().map(TapeStorage::memory).sum::<usize>()
    }

    /// Takes the memory of an old result for the next run.
    pub(in crate::exec) fn reclaim(&mut self, old: &mut Datum<S>) {
        self.banks.reclaim(old);
    }

    /// Gives an error in code that has no places (a rule from another text) that of the innermost
    /// call with one.
    #[cold]
    pub(super) fn with_position(&self, code: &Bytecode, mut error: RunError) -> RunError {
        if let Some(at) = error.position_mut() {
            *at = self.frames.iter().rev().fold(*at, |at, call| at.or(code.position(*call)));
        }
        error
    }

    pub(super) fn prepare(&mut self, code: &Bytecode, limits: &Limits) {
        self.frames.clear();
        while self.tapes.len() < code.tapes {
            self.tapes.push(TapeStorage::new());
        }
        // An error may have left values.
        let keep = std::mem::take(&mut self.keep);
        self.tapes.iter_mut().filter(|_| !keep).for_each(TapeStorage::clear);
        if std::mem::replace(&mut self.broken, true) {
            self.banks.clear_all();
        }
        self.banks.begin(limits);
        if let Some(routine) = code.routines.first() {
            self.banks.grow([0; BANKS], routine);
        }
    }
}
