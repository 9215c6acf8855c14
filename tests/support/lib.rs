//! The shared toolbox of the tests.
//!
//! - [`mod@reference`]: gates on many qubits by Kronecker products, without any kernel
//! - [`dense`]: a simulator that shares no code with ketgrad, for circuits of hundreds of gates
//! - [`random`]: seeded angles, unitaries and circuits, and proptest strategies for them
//! - [`pools`]: kinds of random circuits, for ketgrad and for the simulator beside it
//! - [`close`]: distances between numbers of any ring, and the named tolerances
//! - [`formula`]: an evaluator of printed formulas
//! - [`mod@requests`]: an allocator that counts

pub mod close;
pub mod dense;
pub mod formula;
pub mod pools;
pub mod random;
pub mod reference;
pub mod requests;
