//! Tapes: gradients by writing ordinary code.
//!
//! ```
//! use ketgrad_core::tape::Tape;
//!
//! let tape = Tape::new();
//! let x = tape.variable("x", 2.0);
//! let y = x.sin() * x + 3.0;
//! y.backward()?;
//! assert_eq!(y.value(), 2.0 * 2f64.sin() + 3.0);
//! assert_eq!(x.gradient(), 2f64.sin() + 2.0 * 2f64.cos());
//! assert_eq!(y.to_string(), "sin(x)*x + 3");
//!
//! x.set(1.0); // the same tape at another point
//! assert_eq!(y.value(), 1f64.sin() + 3.0);
//! # Ok::<(), ketgrad_core::tape::TapeError>(())
//! ```
//!
//! A [`Variable`] is a number and a place on a [`Tape`]; it is `Copy`, so formulas need no `clone`. Every
//! operation is computed at once and noted. [`backward`](Variable::backward) walks over the tape once from the result to the
//! inputs: a chain of sixty `y = y + y`, which has 2^60 paths, costs sixty steps. Nothing recurses.
//!
//! - Any [`Scalar`](crate::scalar::Scalar) will do: floats, complex numbers (cotangents as in [`rules`](crate::rules)), duals
//!   for second derivatives.
//! - Gradients *add up* over calls of `backward`, until [`Tape::zero_gradients`].
//! - Numbers pass through as constants: they have no gradient.
//! - Derivatives are those of the op table; an operation of one's own is an [`Operator`], applied with [`Tape::apply`].
//! - [`Variable::freeze`] turns what was noted into a program, which can be optimised, differentiated and run again.
//! - Branches are those of Rust, decided when the tape is written. After [`Variable::set`] the path is still the old one.
//! - Operators like `+` cannot return an error. What goes wrong in them (variables of two tapes) is kept, gives NaN, and is
//!   reported by the next `backward` or `freeze`.
//!
//! Cost: an operation is O(1) and adds one entry; `backward` is O(entries up to the result).
//!
//! Variables hold one number each. A `Variable` never promises how its tape keeps it, so that entries which are arrays can
//! join without a change to what is here.

mod error;
mod freeze;
mod node;
mod operator;
mod variable;

pub use error::TapeError;
pub use freeze::Frozen;
pub use node::Tape;
pub use operator::Operator;
pub use variable::{Argument, Variable};
