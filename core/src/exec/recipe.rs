//! Recipes: what is done element by element in one loop.
//!
//! ```text
//! v3 = mul v1, v2        ->     step 0: mul operand 0, operand 1
//! v4 = exp v3                   step 1: exp step 0
//! v5 = sum v4                   outputs: the sum of step 1
//! ```

use crate::ir::{Op, Position};

/// Steps over elements, and what is wanted of them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Recipe {
    pub(super) steps: Vec<Step>,
    /// One for each result. All that they are made or summed from have one shape.
    pub(super) outputs: Vec<Output>,
}

/// What a recipe gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Output {
    /// The array that a step makes.
    Array(usize),
    /// The shape that a step's result has, without elements.
    Shape(usize),
    /// The sum of elements.
    Sum(From),
    /// The sums of elements along the axis that an operand says, whose length becomes 1.
    SumKeep(From, usize),
    /// The sums of what was repeated, to the shape of the second.
    SumLike(From, From),
}

/// One operation on numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    /// The operands; of an op on one number, the same twice.
    pub(super) from: [From; 2],
    /// Whether the result is complex.
    pub(super) complex: bool,
    pub(super) at: Position,
}

/// What a step reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum From {
    /// An operand of the recipe.
    Operand(usize),
    /// An earlier step.
    Step(usize),
}
