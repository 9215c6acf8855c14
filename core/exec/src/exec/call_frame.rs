//! Frames of the calls of a program.

use super::code::Pc;

/// A call that waits for another: its routine and the instruction that it goes on with, in one
/// word. Where its registers start follows from where those of the other do.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct CallFrame(pub(super) u64);

impl CallFrame {
    pub(super) fn new(routine: usize, pc: usize) -> CallFrame {
        CallFrame((routine as u64) << 32 | pc as u64)
    }
    pub(super) fn routine(self) -> usize {
        (self.0 >> 32) as usize
    }
    pub(super) fn pc(self) -> usize {
        self.0 as Pc as usize
    }
}
