//! Errors of expressions and recordings.

use crate::{
    adjoint::DiffError,
    exec::{DeriveError, RunError},
    ir::Kind,
    notation::hint,
    scalar::Undecided,
};

/// Error of an expression or a recording that could not be made, read or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// An expression contains an input without a value.
    #[error("the expression depends on `{name}`, which is none of its inputs ({})", inputs.join(", "))]
    UnknownInput {
        /// Its name.
        name: String,
        /// The inputs that were given.
        inputs: Vec<String>,
    },
    /// An input of one recording was used outside of it, or in another.
    #[error(
        "`{name}` is an input of another recording: hand it over as an argument instead of capturing it"
    )]
    Foreign {
        /// Its name.
        name: String,
    },
    /// Two inputs have one name.
    #[error("two inputs are called `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name that program text cannot have.
    #[error("`{name}` is no name of the program language for {what}")]
    Name {
        /// The name.
        name: String,
        /// Role of the name.
        what: &'static str,
    },
    /// An input of another kind.
    #[error("the input `{name}` is {expected}, but {given} was given")]
    Kind {
        /// Its name.
        name: String,
        /// Kind of the value given.
        given: Kind,
        /// Kind of the input.
        expected: Kind,
    },
    /// There is no such function or primitive.
    #[error("no function or primitive `{name}`{}", hint(nearest.as_deref()))]
    UnknownFunction {
        /// Name that was not found.
        name: String,
        /// The name most like it, if one is near.
        nearest: Option<String>,
    },
    /// A call with the wrong number of arguments.
    #[error("`{name}` takes {expected} arguments, but {given} were given")]
    Arity {
        /// The function.
        name: String,
        /// Number of arguments given.
        given: usize,
        /// Number of arguments that it takes.
        expected: usize,
    },
    /// A function that an expression cannot contain.
    #[error("`{name}` is {given}, expected {expected}")]
    Signature {
        /// The function.
        name: String,
        /// Its signature.
        given: String,
        /// Signatures that can be recorded.
        expected: &'static str,
    },
    /// A function that is no expression: it has loops or branches, or an op that expressions do not
    /// have.
    #[error(
        "`{function}` is no expression: it holds {what}; record a call of it, or run it on numbers"
    )]
    NotAnExpression {
        /// The function.
        function: String,
        /// Construct that it contains.
        what: String,
    },
    /// A comparison of symbols.
    #[error(transparent)]
    Undecided(#[from] Undecided),
    /// It cannot be differentiated.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The derivative fails for another reason.
    #[error(transparent)]
    Derive(Box<DeriveError>),
}

impl From<DeriveError> for TraceError {
    fn from(e: DeriveError) -> TraceError {
        match e {
            DeriveError::Unknown { name, nearest } => TraceError::UnknownFunction { name, nearest },
            DeriveError::Shapes(e) => {
                TraceError::Run(RunError::Array { at: e.at, source: e.source })
            }
            DeriveError::Diff(e) => TraceError::Diff(e),
            DeriveError::Run(e) => TraceError::Run(e),
            // Of loops, memory budgets and machine code, which nothing here asks for.
            other => TraceError::Derive(Box::new(other)),
        }
    }
}
