//! Errors of a run.

use std::cmp::Ordering;

use crate::{
    array::{ArrayError, Shape},
    bytes::bytes_text,
    cancel::Cancelled,
    ir::{Kind, Position, Violation, order_sign},
    scalar::Undecided,
};

use super::host::HostError;

/// Error of a run. Each variant has the position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The arguments of the call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Too many instructions.
    #[error("{at}: stopped after {limit} steps: is there an endless loop?")]
    Steps {
        /// The limit.
        limit: u64,
        /// Position where it stopped.
        at: Position,
    },
    /// The run was cancelled.
    #[error("{at}: {source}")]
    Cancelled {
        /// Position where it stopped.
        at: Position,
        /// Cancellation of the run.
        source: Cancelled,
    },
    /// Too much work on arrays.
    #[error("{at}: stopped: this takes more than {limit} operations on elements of arrays")]
    Work {
        /// The limit.
        limit: u64,
        /// Position where it stopped.
        at: Position,
    },
    /// Too many nested calls.
    #[error("{at}: `{function}` is called {limit} calls deep: is there an endless recursion?")]
    Depth {
        /// The limit.
        limit: usize,
        /// The function.
        function: String,
        /// Position of the call.
        at: Position,
    },
    /// Too much memory, of numbers that were recorded for a reverse pass or of nested calls. (An
    /// array that does not fit is the error [`Array`](RunError::Array).)
    #[error("{at}: stopped with {} in use, beyond the memory limit of {}", bytes(*used), bytes(*limit))]
    Memory {
        /// The bytes of the arrays and numbers that the run holds.
        used: usize,
        /// The limit.
        limit: usize,
        /// Position where it stopped.
        at: Position,
    },
    /// An index outside an array.
    #[error("{at}: index {index} of an array of {len} elements")]
    Index {
        /// The index.
        index: i64,
        /// The length.
        len: usize,
        /// Position in the source.
        at: Position,
    },
    /// An array of a length that cannot be.
    #[error("{at}: an array of {len} elements: expected 0 to {limit}")]
    Length {
        /// Length of the array.
        len: i64,
        /// The limit.
        limit: usize,
        /// Position in the source.
        at: Position,
    },
    /// Arithmetic on integers that has no result.
    #[error("{at}: `{op}` of {operands} overflows or divides by zero")]
    Integer {
        /// The op.
        op: &'static str,
        /// Its operands.
        operands: String,
        /// Position in the source.
        at: Position,
    },
    /// An operation on arrays whose shapes do not fit, or that has no result.
    #[error("{at}: {source}")]
    Array {
        /// Position in the source.
        at: Position,
        /// Cause.
        source: ArrayError,
    },
    /// A comparison of numbers without a value.
    #[error("{at}: `{op}` cannot be decided: {source}")]
    Undecided {
        /// The op.
        op: &'static str,
        /// Position in the source.
        at: Position,
        /// Cause.
        source: Undecided,
    },
    /// A recording away from the path that it was recorded on.
    #[error(
        "{at}: the recording compared two numbers here and went on as a {} b; now a is {left} and b is {right}. Record it \
         at such values, too",
        order_sign(*expected)
    )]
    Path {
        /// Order of the two numbers; `None` if one was NaN.
        expected: Option<Ordering>,
        /// The left one.
        left: String,
        /// The right one.
        right: String,
        /// Position in the source.
        at: Position,
    },
    /// A complex number in a run on real ones.
    #[error("{at}: this makes a number with an imaginary part: run the program on complex numbers")]
    NeedsComplex {
        /// Position in the source.
        at: Position,
    },
    /// A primitive failed.
    #[error("{at}: {source}")]
    Host {
        /// Position in the source.
        at: Position,
        /// Cause.
        source: HostError,
    },
    /// The interceptor stopped the run.
    #[error("{at}: stopped: {reason}")]
    Intercepted {
        /// Position in the source.
        at: Position,
        /// Reason.
        reason: String,
    },
    /// A pop from an empty tape: the program was not made by the transforms.
    #[error("{at}: the tape is empty")]
    EmptyTape {
        /// Position in the source.
        at: Position,
    },
    /// Pushes and pops of a tape that do not match: the program was not made by the transforms.
    #[error(
        "`{function}` ends with tape {tape} out of step: a pop took what the push of another slot left, or something \
         stayed behind. Was a primal or its adjoint changed alone?"
    )]
    TapeOrder {
        /// The function that was called.
        function: String,
        /// The tape.
        tape: u32,
    },
    /// A switch index without a target: as above.
    #[error("{at}: no way {index}")]
    Switch {
        /// The index.
        index: i64,
        /// Position in the source.
        at: Position,
    },
}

impl RunError {
    /// Returns the position in the source, unless the error was found before the run. The message
    /// begins with it.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        match self {
            RunError::Call(CallError::Program(violation)) => Some(violation.at),
            error => error.clone().position_mut().copied(),
        }
    }

    pub(super) fn position_mut(&mut self) -> Option<&mut Position> {
        match self {
            RunError::Call(_) | RunError::TapeOrder { .. } => None,
            RunError::Steps { at, .. }
            | RunError::Cancelled { at, .. }
            | RunError::Work { at, .. }
            | RunError::Depth { at, .. }
            | RunError::Memory { at, .. }
            | RunError::Index { at, .. }
            | RunError::Length { at, .. }
            | RunError::Integer { at, .. }
            | RunError::Array { at, .. }
            | RunError::Undecided { at, .. }
            | RunError::Path { at, .. }
            | RunError::NeedsComplex { at }
            | RunError::Host { at, .. }
            | RunError::Intercepted { at, .. }
            | RunError::EmptyTape { at }
            | RunError::Switch { at, .. } => Some(at),
        }
    }
}

fn bytes(n: usize) -> String {
    bytes_text(n as u128)
}

/// Arguments that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Their number.
    #[error("`{function}` takes {expected} arguments, given {given}")]
    Arity {
        /// The function.
        function: String,
        /// Number of parameters.
        expected: usize,
        /// Number of arguments given.
        given: usize,
    },
    /// The kind of one.
    #[error("`{parameter}` of `{function}` is {expected}, given {given}")]
    Kind {
        /// The function.
        function: String,
        /// The parameter.
        parameter: String,
        /// Its kind.
        expected: Kind,
        /// Kind of the argument given.
        given: String,
    },
    /// Shape of a tangent or cotangent that does not fit the value it belongs to.
    #[error("{what} of shape {given:?} does not go with {of} of shape {expected:?}")]
    Tangent {
        /// `a tangent` or `a cotangent`, or `a rule's`.
        what: &'static str,
        /// Name of the value it belongs to: `an argument` or `the result`.
        of: &'static str,
        /// Its shape.
        given: Shape,
        /// Shape of the value it belongs to.
        expected: Shape,
    },
    /// A program that breaks a rule of the intermediate representation.
    #[error(transparent)]
    Program(#[from] Box<Violation>),
    /// A function or primitive that does not exist or has no body.
    #[error("`{name}` has no body")]
    Undefined {
        /// Its name.
        name: String,
    },
}
