//! Differentiation: functions in, functions out.
//!
//! - [`reverse`]: `f -> (f.primal, f.adjoint)`. The primal computes `f` and records on a tape the
//!   values that the adjoint will need; the adjoint takes the cotangent of the result and returns
//!   those of the parameters.
//! - [`forward`]: `f -> f.pushforward`, which takes values and tangents and returns both.
//! - `linear`: a pushforward in two parts, of which the second is run for each tangent.
//! - [`gradient`], [`value_and_pullback`]: common compositions of these, as functions of the
//!   program.
//! - [`TransformRegistry`]: derivatives as functions that the functions of a program call,
//!   `grad(f)(x)`.
//! - [`on_duals`]: a version of a function for dual numbers.
//! - [`implicit`]: implicit differentiation of a solution by the equation that it solves, instead
//!   of through the iterations.
//!
//! Read [`reverse`](reverse()) first: it says which file implements which part of the transform.
//!
//! Both engines take any well-formed function, so they nest in any order and to any depth: the
//! result of one is an input of the other. A tape is identified by a number, its level. [`reverse`]
//! takes a level above all that the function uses, and for the cotangents of the values that the
//! function itself pushes to a tape it uses *that* tape again, in the other direction.

mod activity;
mod canonical;
mod compose;
mod cotangents;
mod duals;
mod entry;
mod error;
mod flow;
mod forward;
mod implicit;
mod induction;
mod leaves;
mod linear;
mod outline;
mod post_dominators;
mod pullbacks;
mod reach;
mod reverse;
mod sweep;
mod tape_plan;
mod transform;
mod transforms;
mod transpose;
mod values;

pub use compose::{gauss_newton, gradient, hessian_vector, second, value_and_pullback};
pub use duals::on_duals;
pub use error::{DiffError, Mode};
pub use forward::forward;
pub use implicit::implicit;
#[doc(hidden)]
pub use linear::{Linear, linear};
#[doc(hidden)]
pub use outline::outline;
#[doc(hidden)]
pub use reach::is_steep;
#[doc(hidden)]
pub use reverse::covered;
pub use reverse::{Reverse, reverse};
pub use transform::{Transform, TransformError};
pub use transforms::TransformRegistry;
