//! Laws of symbols.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod sympy;
