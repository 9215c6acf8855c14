//! Errors of making and running derivatives.

use crate::{
    adjoint::DiffError,
    ir::{Position, ShapeError, Violation},
    notation::hint,
};

use super::{BudgetError, CallError, RunError};

/// Error of making or running a derivative.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// There is no function of that name.
    #[error("no function `{name}`{}", hint(nearest.as_deref()))]
    Unknown {
        /// Name that was not found.
        name: String,
        /// The name most like it, if one is near.
        nearest: Option<String>,
    },
    /// There is no parameter of that name.
    #[error("`{function}` has no parameter `{name}`: it has {}", listed(parameters))]
    NoParameter {
        /// Name that was not found.
        name: String,
        /// The function.
        function: String,
        /// Parameters that it has.
        parameters: Vec<String>,
    },
    /// Shapes that do not fit, whatever the data are.
    #[error(transparent)]
    Shapes(#[from] ShapeError),
    /// A program that breaks a rule of the intermediate representation.
    #[error(transparent)]
    Program(#[from] Box<Violation>),
    /// It cannot be differentiated.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The function is not a step of a loop.
    #[error(
        "`{function}` is {given}; a step of a loop takes an int, a state and parameters, and gives a state"
    )]
    NoStep {
        /// The function.
        function: String,
        /// Kinds of its parameters and of its result.
        given: String,
    },
    /// A rule that is not the derivative of one function: its second derivatives depend on their
    /// order.
    #[error(
        "there is no Hessian: inputs {row} and {column} have the second derivatives {one} and {other} in the two orders. \
         What has a rule of its own is {}; a rule that is not meant to be the derivative has first derivatives alone",
        listed(rules)
    )]
    Asymmetric {
        /// One input, counted over all numbers of the arguments from 0.
        row: usize,
        /// The other.
        column: usize,
        /// Their second derivative.
        one: String,
        /// Second derivative in the other order.
        other: String,
        /// The functions and primitives with rules.
        rules: Vec<String>,
    },
    /// The gradient exceeds a memory budget.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// It cannot become machine code.
    #[cfg(feature = "jit")]
    #[error(transparent)]
    Jit(#[from] super::JitError),
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl DeriveError {
    /// Returns the position in the program of the error, if it has one.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            DeriveError::Run(error) => error.position(),
            DeriveError::Program(violation) | DeriveError::Diff(DiffError::Program(violation)) => {
                Some(violation.at)
            }
            DeriveError::Shapes(ShapeError { at, .. })
            | DeriveError::Diff(DiffError::MissingRule { at, .. })
            | DeriveError::Budget(BudgetError::Loop { at, .. }) => Some(*at),
            _ => None,
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}

impl From<CallError> for DeriveError {
    fn from(e: CallError) -> DeriveError {
        DeriveError::Run(e.into())
    }
}
