//! Why a program cannot be differentiated.

use crate::{
    entity::FuncId,
    ir::{Kind, Position, Program, Violation, verify_reachable},
};

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

impl Mode {
    /// What the rule of an op takes and gives, in words: `(real, int, real, real) -> (real,)`.
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

/// Why a program cannot be differentiated.
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
        /// What the rule takes and gives.
        signature: String,
        /// The function that uses it.
        function: String,
        /// Where.
        at: Position,
        /// Which rule.
        mode: Mode,
    },
    /// A rule in one direction, from which the other cannot be made.
    #[error(
        "`{rule}` has no {mode}, and none can be made from its rule for the other direction: {source}. Give it a {mode}, too"
    )]
    Transpose {
        /// The function or primitive.
        rule: String,
        /// The direction that is missing.
        mode: Mode,
        /// Why the rule that there is cannot be run backwards.
        source: Box<DiffError>,
    },
    /// A rule that needs its own transpose to be transposed.
    #[error("it calls `{rule}` itself on what it is linear in")]
    Circular {
        /// The function or primitive.
        rule: String,
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
    /// A solution and its equation that do not belong together.
    #[error(
        "`{residual}` takes and gives {given}, `{root}` {of_root}: expected a solution that is a real number or an \
         array of them, and an equation that takes the solution and then all parameters, and gives what the solution is"
    )]
    Equation {
        /// What solves the equation.
        root: String,
        /// What it takes and gives.
        of_root: String,
        /// The equation.
        residual: String,
        /// What it takes and gives.
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
    /// A function that leaves values on a tape, which another one takes from there.
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

/// That a function and all it reaches is well formed, before anything is made of it.
pub(super) fn check(program: &Program, f: FuncId) -> Result<(), DiffError> {
    Ok(verify_reachable(program, f).map_err(Box::new)?)
}

impl DiffError {
    /// The same of the function that one was copied from, which is the one that a user knows.
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
