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
//! A [`Variable`] is a number and a place on a [`Tape`]; it is `Copy`, so formulas need no `clone`.
//! Every operation is computed at once and noted. [`backward`](Variable::backward) walks over the
//! tape once from the result to the inputs: a chain of sixty `y = y + y`, which has 2^60 paths,
//! costs sixty steps. Nothing recurses.
//!
//! - Any [`Scalar`](crate::scalar::Scalar) will do: floats, complex numbers (cotangents as in
//!   [`rules`](crate::rules)), duals for second derivatives.
//! - Gradients *add up* over calls of `backward`, until [`Tape::zero_gradients`].
//! - Numbers pass through as constants: they have no gradient.
//! - Derivatives are those of the op table; an operation of one's own is an [`ScalarOperator`],
//!   applied with [`Tape::apply`].
//! - [`Variable::freeze`] turns the recorded operations into a program, which can be optimised,
//!   differentiated and run again.
//! - Branches are those of Rust, decided when the tape is written. After [`Variable::set`] the path
//!   is still the old one; a frozen program fails where it would be another.
//! - Operators like `+` cannot return an error. An error in them (variables of two tapes) is
//!   kept, gives NaN, and is returned by the next `backward` or `freeze`.
//!
//! An [`ArrayVariable`] is an array with a shape on the same tape: operators broadcast, its methods
//! are the functions that the [language](crate::text) has for arrays, with the same rules.
//!
//! ```
//! use ketgrad_core::{array::Array, tape::Tape};
//!
//! let tape = Tape::new();
//! let w = tape.array("w", Array::new(&[2, 3], vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?);
//! let x = Array::from(vec![1.0, -1.0, 2.0]); // data: no gradient
//! let loss = (w * &x).sum_axis(1).tanh().sum();
//! loss.backward()?;
//! assert_eq!(w.gradient().shape().as_slice(), [2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost: an operation on numbers is O(1), one on arrays that of the operation and about a
//! microsecond; each adds one entry. `backward` is O(entries up to the result), and each operation
//! on arrays costs its pullback; that of one element, `get`, is as long as the array. For many
//! runs, [`freeze`](Variable::freeze) and prepare.

mod array;
mod builtin_call;
mod error;
mod freeze;
mod kernel;
mod node;
mod operator;
mod print;
mod step;
mod tape_value;
mod variable;

pub use array::{ArrayArgument, ArrayVariable};

pub use error::TapeError;
pub use freeze::Frozen;
pub use node::Tape;
pub use operator::{ArrayOperator, ScalarOperator};
pub use variable::{Argument, Variable};
