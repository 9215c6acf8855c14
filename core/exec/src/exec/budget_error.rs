//! Errors of gradients in a memory budget.

use crate::ir::Position;

/// Error of a gradient that does not stay in a budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// A loop whose states cannot be kept separately.
    #[error("{at}: the loop in `{function}` cannot be differentiated in a memory budget: {why}")]
    Loop {
        /// The function.
        function: String,
        /// Position of the loop.
        at: Position,
        /// Reason, in words.
        why: &'static str,
    },
    /// There is no loop.
    #[error(
        "`{function}` has no loop of its own: its memory does not depend on a number of iterations"
    )]
    None {
        /// The function.
        function: String,
    },
    /// The state grows from iteration to iteration.
    #[error(
        "a loop in `{function}` begins with a state of {first} bytes and ends with one of {last}: only states that do not grow can be kept in a budget"
    )]
    Grows {
        /// The function.
        function: String,
        /// The bytes of the first state.
        first: usize,
        /// The bytes of the last one.
        last: usize,
    },
    /// More memory is needed than the budget, whatever is kept.
    #[error(
        "the gradient of `{function}` takes {needed} bytes, more than the budget of {budget}: an iteration and the values outside of the loop take that by themselves"
    )]
    Exceeded {
        /// The function.
        function: String,
        /// Number of bytes that are kept.
        needed: usize,
        /// The budget.
        budget: usize,
    },
}
