//! Cells: what machine code finds tapes, arrays and shapes by.

use super::super::code::{Bank, Reg};

/// Cell of a tape: its next free entry, which is written back, its start and its end. Or of an
/// array: its start, its length, and 1 if it may be written, else 0. Or of a shape, followed by
/// zeros. Or of the checksum of a tape, which is written back.
pub(in crate::exec) type JitCell = [usize; 3];

/// A tape of numbers that machine code pushes to or pops from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) struct JitTape {
    pub(in crate::exec) tape: u32,
    /// `Real`, `Complex` or `Int`; any for a checksum.
    pub(in crate::exec) bank: Bank,
}

/// Array register whose elements machine code reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) struct JitArray {
    pub(in crate::exec) bank: Bank,
    pub(in crate::exec) reg: Reg,
    pub(in crate::exec) written: bool,
}

/// Array register whose shape machine code reads, with its number of axes; zeros mean another
/// shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) struct JitShape {
    pub(in crate::exec) bank: Bank,
    pub(in crate::exec) reg: Reg,
    pub(in crate::exec) axes: usize,
}

/// Layout of the cells of a part.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct CellLayout {
    pub(in crate::exec) stacks: Vec<JitTape>,
    pub(in crate::exec) views: Vec<JitArray>,
    pub(in crate::exec) shapes: Vec<JitShape>,
    /// Tapes whose checksums it changes.
    pub(in crate::exec) sums: Vec<JitTape>,
}
