//! Laws that hold across the packages, a module for each topic.
//!
//! One executable, so that what the tests instantiate of core's generic code is compiled once.
//! `memory.rs` is an executable of its own: it gives the process an allocator that refuses.

mod architecture;
mod basis;
mod cancellation;
mod channels;
mod circuits;
mod closed_forms;
mod dense;
mod equivalence;
mod evolution;
mod exact;
mod examples;
mod executors;
mod fermions;
mod fields;
mod gates;
mod gradients;
mod idle;
mod interop;
mod kernels;
mod known_states;
mod levels;
mod library;
mod normal;
mod observables;
mod optimize;
mod parameters;
mod plan_laws;
mod plans;
mod public_api;
mod readings;
mod readout;
mod shots;
mod states;
mod stationary;
