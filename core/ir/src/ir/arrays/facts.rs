//! What the analyses have to know of an operation.
//!
//! An entry of the [table](super) states each of these, so that a new operation gets none by
//! default. An analysis matches on a fact, not on operations; a variant that only one operation has
//! stands for an algorithm of its own.

use crate::array::Contracted;

use super::ArrayOp;

/// The facts of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayFacts {
    pub class: ClassRule,
    pub elements: ElementFlow,
    pub used: UsedOperands,
    pub derivative: ArrayDerivative,
    pub failure: FailureCause,
    pub work: WorkFormula,
}

/// How the shape of the result follows from those of the operands where none is known: what the
/// classes of equal shapes can tell. Operands are counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClassRule {
    /// It is not tracked, or the result is no array.
    Own,
    /// It is that of an operand.
    Like(usize),
    /// It is the broadcast shape of the operands.
    Broadcast,
    /// It is that of the first operand, but for a length of 1 along the axis that the second is.
    Reduced,
    /// It follows from the shapes of all arrays and from these ints or lists of ints.
    Computed(&'static [usize]),
    /// As `Computed`, and there are as many elements as the first operand has.
    Rearranged(&'static [usize]),
    /// As `Rearranged`, and what the other operation made with the same ints gets its shape back.
    Undoes(ArrayOp, &'static [usize]),
}

/// How the elements of the result depend on those of the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum ElementFlow {
    /// On none: only shapes and ints are read.
    Absent,
    /// Each is an element of an operand, or 0: a gather or a scatter.
    Moved,
    /// Each is the sum of the elements of the first operand that it would be repeated to.
    Reduced,
    /// Each is some other sum of elements of the first operand.
    Summed,
    /// The result is an index, or several, which all elements decide.
    Chosen,
    /// Each may depend on all of them.
    Mixed,
}

/// The operands all of whose elements the result depends on, whatever they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UsedOperands {
    /// All, except one that only gives a shape.
    All,
    /// None: it is read in part, or there are no derivatives.
    Nothing,
    /// Those listed.
    Only(&'static [usize]),
}

/// What the derivative of an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrayDerivative {
    /// Zero: the result is an int, or counts as a constant.
    Zero,
    /// The operation is linear in the first operand, and no other has a tangent.
    Linear,
    /// It is linear in the first operand, and in the second.
    Bilinear,
    /// It is linear in the first two operands together.
    Joint,
    /// It has a rule of its own, with finite slopes wherever the value is finite.
    Curved,
    /// As `Curved`, but a slope may be infinite or undefined where the value is not.
    Steep,
    /// As `Curved`, but elements depend on each other's reaches, where numbers are equal.
    Degenerate,
}

/// What can make an operation fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureCause {
    /// Shapes and ints alone.
    ByShapes,
    /// The data, too, or it is not known.
    ByData,
}

/// Formula of the floating-point operations that an operation counts for, and of what it costs
/// beyond reading its operands and making its result.
///
/// `n` is the number of elements of the first operand, or the length of its last axis if it is a
/// matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum WorkFormula {
    /// Moves and comparisons.
    Free,
    /// A sum for each element of the first operand.
    Sums,
    /// That many operations for each element of the first operand.
    PerElement(u64),
    /// Comparisons of a sort: `n log n`.
    Sort,
    /// A product of two matrices; of each the axis that the result has, counted from the last.
    MatMul { free: [usize; 2] },
    /// A sum of products over labels.
    Contraction(Contracted),
    /// Each element of one operand times each of the other.
    Convolution,
    /// Each element of the second operand times each of the result.
    Correlation,
    /// `n log n` for each line along the last axis.
    Fourier,
    /// `p / q n^3` operations, for `flops: (p, q)`; a cost of that many times `n^3`.
    Cubic { flops: (u64, u64), cost: u64 },
    /// A factorization of a square matrix and its application to right sides.
    LuSolution,
    /// Substitution in a triangle of a square matrix, for right sides.
    TriangularSolution,
    /// A QR factorization.
    Orthogonal,
    /// A singular value decomposition.
    SingularValues,
    /// One and its application to right sides.
    LeastSquares,
}
