//! The macros of the front page, a module for each topic.

mod circuit;
mod front;
mod pauli;
mod program_arrays;
mod program_corpus;
mod program_functions;
mod program_seeds;
mod program_transforms;
mod protocols;
mod readme;
mod wrong;
