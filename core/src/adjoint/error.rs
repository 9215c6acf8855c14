//! Why a program cannot be differentiated.

use crate::ir::{Kind, Position};

/// Which way derivatives travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Cotangents, from the result back.
    Reverse,
    /// Tangents, from the inputs on.
    Forward,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Reverse => "pullback",
            Mode::Forward => "pushforward",
        })
    }
}

/// Why a program cannot be differentiated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// An op or primitive has no rule.
    #[error(
        "`{op}` in `{function}` (line {at}) has no {mode}: register one with `Rules::primitive_{mode}`, or \
         write `rule {op}(…) {{ … }} {mode}(…) {{ … }}` in the program"
    )]
    MissingRule {
        /// The op.
        op: String,
        /// The function that uses it.
        function: String,
        /// Where.
        at: Position,
        /// Which rule.
        mode: Mode,
    },
    /// The result is no number.
    #[error("`{function}` gives {kind}: expected {expected}")]
    Result {
        /// The function.
        function: String,
        /// What it gives.
        kind: Kind,
        /// What it should.
        expected: &'static str,
    },
    /// No parameter has a derivative.
    #[error("`{function}` has no real or complex parameter to differentiate by")]
    NoInputs {
        /// The function.
        function: String,
    },
    /// A function without a body.
    #[error("`{function}` has no body")]
    Undefined {
        /// The function.
        function: String,
    },
}
