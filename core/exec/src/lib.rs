//! Programs run, and with what they stand on, re-exported here, the half of ketgrad that is about
//! programs: no state vectors and no OpenQASM are built for it.
//!
//! [`exec`] (bytecode on every number type, machine code for floats, gradients), [`check`] (all
//! ways to a derivative, compared), [`trace`] (formulas, recorded Rust functions), [`tape`]
//! (gradients by operator overloading). A program comes from [`text`], from [`staging`] or from
//! [`trace`].
//!
//! ```
//! use ketgrad_exec::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let program = parse_program("fn f(x, y) { x * y + sin(x) }")?;
//! let (value, gradient) = Derivatives::<f64>::new(&program, "f")?
//!     .value_and_gradient(&[Datum::Real(0.0), Datum::Real(3.0)])?;
//! assert_eq!((value, gradient[0].real()), (0.0, Some(&4.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
extern crate ketgrad_ir;
#[macro_use]
extern crate ketgrad_num;

#[doc(no_inline)]
pub use ketgrad_circuit::param;
#[doc(no_inline)]
pub use ketgrad_ir::{adjoint, entity, ir, pass, rules, staging, text};
use ketgrad_num::bytes;
#[doc(no_inline)]
pub use ketgrad_num::{array, cancel, errors, notation, scalar};

pub mod check;
pub mod exec;
#[cfg(feature = "tape")]
pub mod tape;
pub mod trace;
