//! Differentiation rules of single instructions.
//!
//! The engines walk over a function and query the rule of each instruction for tangents (forward)
//! and cotangents (reverse). A rule *emits instructions*: the derivative is an ordinary function
//! again.
//!
//! - Ops on numbers: the partials of the [op table](crate::ir::table), expanded over two kinds of
//!   numbers: [`N<S>`](crate::scalar::N) evaluates them, [`Ex`] emits them ([`partial`]).
//! - The same ops element by element: broadcast elements are summed in the pullback.
//! - Ops between real and complex, and on arrays: [`pullback`] and [`pushforward`].
//! - Calls, control flow, tuples and tapes: the [engines](crate::adjoint) themselves, since they
//!   move values and compute nothing.
//! - Functions and primitives with rules of their own: a registry, [`Rules`], which is a value that
//!   the caller passes.
//!
//! # Complex numbers
//! One convention, everywhere:
//!
//! - The cotangent of a complex `z = x + iy` under a real loss `L` is `dL/dx + i dL/dy`. It points
//!   uphill: `z - h z_bar` lowers the loss. (ChainRules has the same; JAX's gradient is its
//!   conjugate.)
//! - So the pairing of a cotangent with a tangent is the real number `re(conj(z_bar) z_dot)`, and
//!   `<y_bar, J x_dot> = <J^T y_bar, x_dot>` holds in it.
//! - The pushforward of a holomorphic `f` multiplies by `f'(z)`, its pullback by `conj(f'(z))`.
//! - Functions that are not holomorphic (`re`, `im`, `abs2`, `modulus`, `arg`, `conj`) have rules
//!   of their own in [`pullback`]; none needs a complex derivative.
//! - The cotangent of a real number promoted to complex is the real part; those of the operands of
//!   `complex(a, b)` are both parts.

mod arrays;
mod eigen;
mod elements;
mod emit;
mod factors;
mod least;
mod norms;
mod partials;
mod piecewise;
mod products;
mod pull;
mod reach;
mod registry;
mod value;

pub(crate) use elements::whole;
pub use emit::{Emitter, Ex};
pub(crate) use partials::is_singular;
pub use partials::{number1, number2, partial, real1, real2};
pub use piecewise::Piecewise;
pub use pull::{Contribution, Reach, pullback, pushforward};
pub(crate) use reach::{as_in, everywhere, pull_reach, push_reach};
pub use registry::{RuleError, Rules};
