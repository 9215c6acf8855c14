//! Errors of differentiation.

use crate::{
    entity::FuncId,
    ir::{Kind, Position, Program, Violation, verify_reachable},
};

/// Mode of differentiation: the direction in which derivatives are propagated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Cotangents, from the result to the inputs.
    Reverse,
    /// Tangents, from the inputs to the result.
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

impl Mode {
    /// Returns the signature of a rule of an op, in words: `(real, int, real, real) -> (real,)`.
    pub(super) fn signature(self, inputs: &[Kind], result: &Kind) -> String {
        let tangents = inputs.iter().filter_map(Kind::tangent);
        let (takes, gives): (Vec<Kind>, Kind) = match self {
            Mode::Reverse => {
                let more = [Some(result.clone()), result.tangent()].into_iter().flatten();
                (inputs.iter().cloned().chain(more).collect(), Kind::tuple(tangents))
            }
            Mode::Forward => {
                let gives = result.tangent().unwrap_or(Kind::tuple([]));
                (inputs.iter().cloned().chain(tangents).collect(), gives)
            }
        };
        let takes: Vec<String> = takes.iter().map(Kind::to_string).collect();
        format!("({}) -> {gives}", takes.join(", "))
    }
}

/// Error of a program that cannot be differentiated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// An op or primitive has no rule.
    #[error(
        "`{op}` in `{function}` (line {at}) has no {mode}: register one with `Rules::primitive_{mode}`, a \
         primitive {signature}; or write `rule {op}(…) {{ … }} {mode}(…) {{ … }}` in the program"
    )]
    MissingRule {
        /// The op.
        op: String,
        /// Signature that the rule should have.
        signature: String,
        /// The function that uses it.
        function: String,
        /// Position in the source.
        at: Position,
        /// Rule that is missing.
        mode: Mode,
    },
    /// A rule in one direction, from which the other cannot be derived.
    #[error(
        "`{rule}` has no {mode}, and none can be made from its rule for the other direction: {source}. Give it a {mode}, too"
    )]
    Transpose {
        /// The function or primitive.
        rule: String,
        /// The direction that is missing.
        mode: Mode,
        /// Reason why the existing rule cannot be transposed.
        source: Box<DiffError>,
    },
    /// A rule that needs its own transpose to be transposed.
    #[error("it calls `{rule}` itself on what it is linear in")]
    Circular {
        /// The function or primitive.
        rule: String,
    },
    /// The result is not a number.
    #[error("`{function}` gives {kind}: expected {expected}")]
    Result {
        /// The function.
        function: String,
        /// Kind of the result.
        kind: Kind,
        /// Kind that is expected.
        expected: &'static str,
    },
    /// A solution and its equation that do not fit together.
    #[error(
        "`{residual}` takes and gives {given}, `{root}` {of_root}: expected a solution that is a real number or an \
         array of them, and an equation that takes the solution and then all parameters, and gives what the solution is"
    )]
    Equation {
        /// Function that solves the equation.
        root: String,
        /// Signature of the solver.
        of_root: String,
        /// The equation.
        residual: String,
        /// Signature of the equation.
        given: String,
    },
    /// No parameter has a derivative.
    #[error("`{function}` has no real or complex parameter to differentiate by")]
    NoInputs {
        /// The function.
        function: String,
    },
    /// A program that breaks a rule of the intermediate representation.
    #[error(transparent)]
    Program(#[from] Box<Violation>),
    /// A function that leaves values on a tape, which another function pops.
    #[error(
        "`{function}` leaves values on a tape for another function to take: differentiate the function that calls both"
    )]
    Tape {
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

/// Checks that a function and all it reaches is well formed, before it is transformed.
pub(super) fn check(program: &Program, f: FuncId) -> Result<(), DiffError> {
    Ok(verify_reachable(program, f).map_err(Box::new)?)
}

impl DiffError {
    /// Replaces the name of a copy by that of the original function, which is the one that the user
    /// knows.
    pub(super) fn of_original(mut self, copy: &str, original: &str) -> DiffError {
        if let DiffError::MissingRule { function, .. }
        | DiffError::Result { function, .. }
        | DiffError::NoInputs { function }
        | DiffError::Tape { function }
        | DiffError::Undefined { function } = &mut self
            && function == copy
        {
            original.clone_into(function);
        }
        self
    }
}
