//! Errors of a tape.

use std::panic::Location;

use crate::{exec::DeriveError, trace::TraceError};

/// Error of a tape: the reason why it gave no value or no gradient.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TapeError {
    /// Variables of two tapes met in one operation.
    #[error("`{operation}` was given variables of two tapes: make them all on one")]
    OtherTape {
        /// The operation.
        operation: String,
    },
    /// An operator was applied to the wrong number of variables.
    #[error("`{operator}` takes {expected} inputs, but {given} were given")]
    Arity {
        /// The operator.
        operator: String,
        /// Number of inputs given.
        given: usize,
        /// Number of inputs that it takes.
        expected: usize,
    },
    /// An operator gave the wrong number of cotangents.
    #[error(
        "the backward of `{operator}` gave {given} cotangents for {expected} inputs: give one for each, in order"
    )]
    Cotangents {
        /// The operator.
        operator: String,
        /// Number of cotangents that it gave.
        given: usize,
        /// Number of its inputs.
        expected: usize,
    },
    /// An operation failed.
    #[error("`{operator}` failed: {reason}{}", at.map(|at| format!(" (at {at})")).unwrap_or_default())]
    Operator {
        /// The operation.
        operator: String,
        /// Reason; of arrays with the shapes.
        reason: String,
        /// Location in the user's code.
        at: Option<&'static Location<'static>>,
    },
    /// A value or a cotangent of another shape.
    #[error("an array of shape {given:?} for `{name}`, which has the shape {expected:?} (at {at})")]
    Shape {
        /// Name of the value that it was meant for.
        name: String,
        /// Its shape.
        given: Vec<usize>,
        /// The shape expected.
        expected: Vec<usize>,
        /// Location in the user's code.
        at: &'static Location<'static>,
    },
    /// The result is complex, so it has no gradient without a seed.
    #[error(
        "the result is complex: give `backward_with` a cotangent, or take its `re`, `im` or `abs2`"
    )]
    ComplexResult,
    /// `set` on a variable that is computed.
    #[error("`{name}` is computed, not an input: set the variables that it depends on")]
    NotAnInput {
        /// Name of the value that was to be set.
        name: String,
    },
    /// Two variables of one name.
    #[error(
        "two variables are called `{name}`: the frozen function needs different names for its parameters"
    )]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A constant that carries a derivative cannot be written into a program.
    #[error("a constant of the tape is no plain number: make it a variable")]
    Constant,
    /// A call of a registered function failed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The frozen function cannot be differentiated or run.
    #[error(transparent)]
    Derive(#[from] DeriveError),
}

impl TapeError {
    /// Adds the location in the user's code.
    pub(super) fn at_location(self, at: &'static Location<'static>) -> TapeError {
        match self {
            TapeError::Operator { operator, reason, at: None } => {
                TapeError::Operator { operator, reason, at: Some(at) }
            }
            other => other,
        }
    }
}
