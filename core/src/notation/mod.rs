//! Notation that printers, parsers and errors share: known names that are near to an unknown one.

mod nearest;

pub(crate) use nearest::hint;
pub use nearest::{did_you_mean, nearest_name};
