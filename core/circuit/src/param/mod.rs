//! Parameters of circuits: exact angles, general expressions, and the objects that turn them into
//! numbers of a ring.
//!
//! An [`Angle`] is `a pi + b + sum_k q_k theta_k` with rational `a`, `q_k` and `b` in radians: what
//! nearly every circuit uses, and what every ring that knows roots of unity can represent exactly.
//! A parameter that is not of this form (`sin(theta)`, `theta * phi`) is a [`ParamExpr`] with an id
//! of its own, whose value is computed before gates are. A [`Binding`] answers with the numbers.

mod angle;
mod binding;
mod decimal;
mod expr;
mod fold;
mod large;
mod rounding;

pub use angle::{Angle, PI, ParamId, Q};
#[doc(hidden)]
pub use angle::{floor, q_to_f64, reciprocal, remainder, widen};
pub use binding::{BindError, Binding, Values};
#[doc(hidden)]
pub use decimal::ALL_WHOLE;
pub use decimal::{Decimal, SHORT_DECIMAL};
pub use expr::{ElementaryFunction, ParamExpr, Step};
#[doc(hidden)]
pub use large::sin_cos_of_sum;
#[doc(hidden)]
pub use rounding::{Rounded, UNIT};
