//! Numbers, and numbers with a shape.
//!
//! [`scalar`] has the number traits that everything of ketgrad is written over, and the number
//! types that carry more than a value: dual numbers, numbers with an uncertainty, several numbers
//! at once. [`mod@array`] has arrays with their operations: sums, products, decompositions,
//! Fourier transforms. [`cancel`] is work that ends early, [`errors`] several errors that are one,
//! [`notation`] what all printers of formulas share, [`bytes`] sizes in words, [`stack`] more of
//! it for deep recursion.
//!
//! This crate is pure computation: it reads no files and no environment.

#[doc(no_inline)]
pub use num_complex;
#[doc(no_inline)]
pub use num_dual;
#[doc(no_inline)]
pub use num_rational;
#[doc(no_inline)]
pub use num_traits;

pub mod bytes;
pub mod cancel;
pub mod errors;
pub mod notation;
pub mod stack;

#[macro_use]
pub mod scalar;

pub mod array;

mod interop;
