//! Emitters: programs and their derivatives as Rust, as text of the program language, as LaTeX, as
//! a graph.
//!
//! ```
//! use ketgrad_core::{adjoint, emit, pass::{Level, optimize_all}, text::parse_program};
//!
//! let source = "fn power(x, n: int) { let mut p = 1.0; for i in 0..n { p *= x; } p }";
//! let mut program = parse_program(source)?;
//! let power = program.lookup("power").ok_or("no function")?;
//! let gradient = adjoint::gradient(&mut program, power)?;
//! optimize_all(&mut program, power, Level::Strict);
//! optimize_all(&mut program, gradient, Level::Strict);
//! let rust = emit::emit_rust(&program, &[power, gradient])?;
//! assert!(rust.contains("for _ in 0..n {\n        a *= x;\n    }"), "{rust}");
//! assert!(rust.contains("pub fn power_gradient(x: f64, n: i64) -> (f64, f64) {"), "{rust}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | function | gives |
//! |---|---|
//! | [`emit_rust`] | a Rust file without dependencies, with loops and branches as one would write them |
//! | [`emit_text`] | the program language again: source in, derivative source out |
//! | [`emit_latex`] | a formula, or an algorithm in an `align*` |
//! | [`emit_dot`] | the graph of blocks and values, for Graphviz |
//!
//! All but the graph use one tree of structured statements (`structure`), so they agree.

mod ast;
mod coalesce;
mod counted;
mod dot;
mod entries;
mod exits;
mod flow;
mod latex;
mod lengths;
mod names;
mod rust;
mod rust_arrays;
mod rust_expr;
mod rust_stmt;
mod rust_tape;
mod scope;
mod structure;
mod text;
mod text_expr;
mod tidy;
mod values;

pub use dot::emit_dot;
pub use latex::emit_latex;
pub use rust::emit_rust;
pub use text::emit_text;

use crate::{
    entity::{Block, FuncId},
    ir::{Program, Violation, verify_reachable},
};

/// Error of a program that cannot be written in a language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A program that breaks a rule of the intermediate representation.
    #[error(transparent)]
    Program(#[from] Box<Violation>),
    /// A function without a body.
    #[error("`{function}` has no body")]
    Undefined {
        /// The function.
        function: String,
    },
    /// A loop with several entries. Such loops are given a single one first, so this is a bug of
    /// the emitter.
    #[error(
        "`{function}` has a loop with several entries, one at {block}: such jumps have no structured form"
    )]
    Irreducible {
        /// The function.
        function: String,
        /// One of the entries.
        block: Block,
    },
    /// Too deep nesting of loops and branches.
    #[error("`{function}` nests loops and branches more than {limit} deep")]
    TooDeep {
        /// The function.
        function: String,
        /// Maximum depth.
        limit: usize,
    },
    /// A construct that the language cannot express.
    #[error("`{function}` cannot be written in the program language: {what}")]
    Unspeakable {
        /// The function.
        function: String,
        /// Construct, and the remedy if there is one.
        what: String,
    },
}

/// Checks that a function and all it reaches is well formed.
fn check(program: &Program, f: FuncId) -> Result<(), EmitError> {
    Ok(verify_reachable(program, f).map_err(Box::new)?)
}
