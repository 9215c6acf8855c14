//! The computing heart of ketgrad: numbers, circuits, kernels and states.

pub mod scalar;
