//! Factors of matrices: what makes them such, on matrices of all sorts and on every number type,
//! and what numbers carry through them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod eigen;
mod exponential;
mod least;
mod orthogonal;
mod singular;
mod support;
