//! Tracing: Rust functions become formulas, and formulas become programs.
//!
//! [`Expr`] is a real number that is still a formula, [`ComplexExpr`] a complex one. They are
//! [`Scalar`]s, so all code that is generic over numbers runs on them: a function, a circuit, a
//! program.
//!
//! ```
//! use ketgrad_core::{scalar::Scalar, trace::{Expr, trace}};
//!
//! fn g<S: Scalar>(a: &S, b: &S) -> S {
//!     a * b
//! }
//! fn f<S: Scalar>(x1: &S, x2: &S) -> S {
//!     g(x1, x2) + x1.sin()
//! }
//!
//! // A formula …
//! let (a, b) = (Expr::symbol("a"), Expr::symbol("b"));
//! let y = f(&a, &b);
//! assert_eq!(y.to_string(), "a*b + sin(a)");
//! assert_eq!(y.derivative("a")?.to_string(), "b + cos(a)");
//! assert_eq!(y.evaluate(&[("a", 2.0), ("b", 3.0)])?, 6.909297426825682);
//!
//! // … and a program, to be run, differentiated, optimised, printed.
//! let recorded = trace("f", &["x1", "x2"], |(x1, x2): (Expr, Expr)| f(&x1, &x2))?;
//! assert_eq!(recorded.function().size(), 3); // mul, sin, add
//! # Ok::<(), ketgrad_core::trace::TraceError>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | compute with symbols | [`Expr`], [`ComplexExpr`] |
//! | record a function without branches | [`trace`] |
//! | record one that compares, at given values | [`trace_at`], on [`Traced`] numbers |
//! | record once for each path, run often | [`Cached`] |
//! | keep a call a call (own rules, primitives) | [`Callee`] |
//! | take and give structs of one's own | [`recordable!`](crate::recordable) |
//! | get amplitudes as formulas | `Simulator::run` with `Expr`s as parameters |
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator, trace::Expr};
//!
//! let mut circuit = Circuit::new(2);
//! let theta = circuit.param("theta");
//! circuit.ry(0, theta)?.cx(0, 1)?;
//! let state = Simulator::new().run(&circuit, &[Expr::symbol("theta")])?;
//! let amplitudes: Vec<String> = state.amplitudes().iter().map(|a| a.re.to_string()).collect();
//! assert_eq!(amplitudes, ["cos(theta/2)", "0", "0", "sin(theta/2)"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What an expression is
//! A constant, or a shared node; there is no table, lock or context. Operations apply a few rules
//! at once (the table in `build`): exact constants are computed (fractions, square roots, multiples
//! of pi), zeros and ones vanish, signs move outwards. Everything else waits until the expression
//! becomes a [`Function`](crate::ir::Function): the passes simplify, the engine differentiates, the
//! executor evaluates.
//!
//! - An expression is *exactly zero* if it is the constant 0. `x - x` is, `(x + y) - x - y` is not.
//! - A comparison is decided between constants only; otherwise it is
//!   [`Undecided`](crate::scalar::Undecided), never guessed.
//! - An operation costs O(1). Graphs that share parts stay small: sixty times `y = y + y` are sixty
//!   nodes. Nothing recurses, so chains of a million operations are built, lowered and dropped
//!   safely.
//! - Floats stay floats: `0.1` is the float nearest to a tenth, `0.5` a half. Use [`Scalar::ratio`]
//!   for a tenth.
//!
//! [`Scalar`]: crate::scalar::Scalar
//! [`Scalar::ratio`]: crate::scalar::Scalar::ratio

mod binding;
mod build;
mod cache;
mod callee;
mod constant;
mod derive;
mod error;
mod expr;
mod key;
mod lower;
mod node;
mod print;
mod record;
mod shape;
mod traced;

pub use cache::Cached;
pub use callee::{Callee, CalleeNumber, Hosts, Record};
pub use error::TraceError;
pub use expr::{ComplexExpr, Expr};
#[cfg(feature = "tape")]
pub(crate) use expr::{op_of, special_op_of};
pub use record::{Recording, trace, trace_at};
#[doc(hidden)]
pub use shape::Session;
pub use shape::{Input, Output, Tree, Valued};
pub use traced::{PathCondition, Traced};
