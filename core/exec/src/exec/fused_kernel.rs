//! Fused kernels: elementwise operations that run in one loop.
//!
//! ```text
//! v3 = mul v1, v2        ->     step 0: mul operand 0, operand 1
//! v4 = exp v3                   step 1: exp step 0
//! v5 = sum v4                   outputs: the sum of step 1
//! ```

use crate::ir::{ArrayOp, Op, Position};

/// Fused kernel: steps over elements, and its outputs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FusedKernel {
    /// Its number among those of all routines.
    pub(super) number: usize,
    pub(super) views: Vec<KernelView>,
    pub(super) steps: Vec<KernelStep>,
    /// Outputs, one for each result. All arrays that they are made or summed from have one shape.
    pub(super) outputs: Vec<KernelOutput>,
}

/// Output of a fused kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KernelOutput {
    /// The array that a step makes.
    Array(usize),
    /// The shape that a step's result has, without elements.
    Shape(usize),
    /// The sum of elements.
    Sum(KernelInput),
    /// Sums of elements along the axis that is the value of an operand, whose length becomes 1.
    SumKeep(KernelInput, usize),
    /// Sums over broadcast axes, to the shape of the second.
    SumLike(KernelInput, KernelInput),
}

/// View of an operand, whose elements are read from other places: a part of an array, or an array
/// among zeros.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct KernelView {
    /// `Slice` or `Pad`.
    pub(super) op: ArrayOp,
    /// Operands of the kernel that are those of the op.
    pub(super) args: [usize; 4],
    pub(super) at: Position,
}

/// Elementwise operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct KernelStep {
    pub(super) op: Op,
    /// The operands; of an op on one number, the same twice.
    pub(super) from: [KernelInput; 2],
    /// True if the result is complex.
    pub(super) complex: bool,
    pub(super) at: Position,
}

/// Input of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KernelInput {
    /// Operand of the kernel.
    Operand(usize),
    /// A view of one.
    View(usize),
    /// An earlier step.
    Step(usize),
}
