//! Straight-line code on arrays of a few numbers whose shapes are known, as one instruction.
//!
//! ```text
//! v3 = slice v1, 0, v2, 1     v4 = drop_axis v3, 0     v5 = mul v0, v4     v6 = exp v5     push v6
//!
//! offset 0: v2 of [4, 14]                              v3 and v4 are where v1 is, from offset 0 on
//! at  0: mul input 0, input 1 from offset 0            14 numbers
//! at 14: exp the 14 at 0
//! push the 14 at 14
//! ```
//!
//! An operation on 14 numbers costs less than moving an array out of its register, comparing its
//! shape with another and finding memory for a third. Here all that is done at compile time:
//! numbers are contiguous in memory that is used again by the next instruction of this kind, parts
//! of arrays are slices, and only values that are read elsewhere become arrays.

use std::sync::Arc;

use crate::{
    array::{Repeated, Shape},
    ir::{ArrayOp, Op, Position},
};

use super::code::WriteMode;

/// The steps of one such instruction.
#[derive(Clone, Debug)]
pub(super) struct SmallProgram {
    pub(super) steps: Vec<SmallStep>,
    /// Number of elements of the memory, and number of offsets.
    pub(super) size: usize,
    pub(super) offsets: usize,
    /// Operands that are arrays, and the number of elements of each.
    pub(super) arrays: Vec<(usize, usize)>,
    /// Results.
    pub(super) results: Vec<SmallResult>,
}

/// A result.
#[derive(Clone, Debug)]
pub(super) enum SmallResult {
    Number(SmallSlice),
    Array(SmallSlice, Shape),
}

/// Contiguous numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SmallSlice {
    pub(super) base: SmallBase,
    pub(super) at: usize,
    /// The offset that is added.
    pub(super) offset: Option<usize>,
    pub(super) len: usize,
}

/// Memory that numbers are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SmallBase {
    /// Results of earlier steps, which are before those of later ones.
    Memory,
    /// The operand of this number.
    Operand(usize),
}

/// Step that computes the `len` numbers from `to` on.
#[derive(Clone, Debug)]
pub(super) struct SmallStep {
    pub(super) op: SmallOp,
    pub(super) to: usize,
    pub(super) len: usize,
    pub(super) at: Position,
}

#[derive(Clone, Debug)]
pub(super) enum SmallOp {
    /// The number that an operand is.
    LoadNumber(usize),
    /// Elementwise operation; a single number is broadcast.
    Elementwise(Op, [SmallSlice; 2]),
    /// An operation on single numbers.
    Scalar(Op, [SmallSlice; 2]),
    /// One number, repeated.
    Fill(SmallSlice),
    /// Zeros.
    Zeros,
    /// Gather of these numbers.
    Gather(SmallSlice, Arc<[u32]>),
    /// Concatenation of these slices.
    Concat(Vec<SmallSlice>),
    /// Writes a part into the numbers at the destination, or adds it.
    WritePart {
        part: SmallSlice,
        lead: usize,
        offset: Option<usize>,
        run: usize,
        body: usize,
        add: bool,
    },
    Sum(SmallSlice),
    Dot(SmallSlice, SmallSlice),
    /// Sums over broadcast axes.
    Sums(SmallSlice, Repeated),
    /// Sets an offset.
    Offset(SmallOffset),
    /// Element at an index, or 0 beyond the end.
    Peek(SmallSlice, usize),
    /// Writes a number at the index that is the value of an operand, into the numbers at the
    /// destination.
    Set(WriteMode, usize, SmallSlice),
    /// A product of matrices.
    MatMul(ArrayOp, [(SmallSlice, Shape); 2]),
    /// Push to a tape, and pop from it.
    Push(u32, SmallSlice),
    Pop(u32),
}

/// Offset of a part along an axis, which is the value of an operand.
#[derive(Clone, Debug)]
pub(super) struct SmallOffset {
    pub(super) number: usize,
    pub(super) operand: usize,
    /// Number of elements between two indices along the axis.
    pub(super) inner: usize,
    /// The greatest it may be.
    pub(super) most: usize,
    /// Index that an error names.
    pub(super) index: SmallIndex,
}

/// Index along an axis, by the operation that it belongs to.
#[derive(Clone, Debug)]
pub(super) enum SmallIndex {
    /// A part of this shape, by axis and length.
    Slice(Shape, i64, i64),
    /// A part of the first shape in the second.
    Within(&'static str, Shape, Shape, i64),
    /// An element of an array of this length.
    Element(usize),
}
