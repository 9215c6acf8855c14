//! The shared toolbox of the tests.
//!
//! - [`mod@reference`]: gates on many qubits by Kronecker products, without any kernel
//! - [`random`]: seeded angles, unitaries and circuits, and proptest strategies for them
//! - [`close`]: distances between numbers of any ring, and the named tolerances
//! - [`formula`]: an evaluator of printed formulas

pub mod close;
pub mod formula;
pub mod random;
pub mod reference;
