//! Differentiable quantum computing: circuits that run on any number type.
//!
//! ```
//! use ketgrad::{Simulator, circuit, pauli};
//! use ketgrad::scalar::Uncertain;
//!
//! let circuit = circuit! {
//!     qubits 2;
//!     param theta;
//!     ry(theta) 0;
//!     cx 0, 1;
//! }?;
//!
//! let simulator = Simulator::new();
//! let z0 = pauli!(Z0)?;
//!
//! // On plain numbers …
//! let state = simulator.run(&circuit, &[0.5])?;
//! assert!((state.expectation(&z0, &simulator.threads)? - 0.5f64.cos()).abs() < 1e-15);
//!
//! // … and with an error bar on the angle: the same circuit, the same kernels.
//! let state = simulator.run(&circuit, &[Uncertain::new(0.5, 0.01)])?;
//! let z = state.expectation(&z0, &simulator.threads)?;
//! assert!((z.sigma() - 0.01 * 0.5f64.sin()).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Programs are differentiated, natively on dual numbers and through their IR in reverse mode:
//!
//! ```
//! use ketgrad::{exec::{Datum, Derivatives}, program};
//!
//! program! {
//!     fn root(a) {
//!         let mut x = a;
//!         for i in 0..50 {
//!             let d = 0.5 * (a / x - x);
//!             x += d;
//!             if d * d < 1e-24 { break; }
//!         }
//!         x
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! assert!((root(2.0) - 2.0f64.sqrt()).abs() < 1e-15);
//! let (_, gradient) = Derivatives::<f64>::new(&root::ir(), "root")?.value_and_gradient(&[Datum::Real(2.0)])?;
//! assert!((gradient[0].real().unwrap() - 0.5 / 2.0f64.sqrt()).abs() < 1e-15);
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `jit`, `Derivatives::with_jit` turns loops over numbers, and their derivatives,
//! into machine code.
//!
//! A function may come as text, as a Rust function, from a tape or as a formula, too: [`doors`]
//! says which way is for what.
//!
//! This crate is the front page of [`ketgrad_core`], whose modules are all here, with the macros
//! [`circuit!`], [`pauli!`] and [`program!`], which write calls that can be written by hand as
//! well. [`num_complex`] and [`num_dual`], whose types are in signatures, are here, too:
//! `use ketgrad::*` hides nothing of the language.

mod circuit_macro;
pub mod doors;
#[doc(hidden)]
pub mod factor;
mod pauli_macro;
#[doc(hidden)]
pub mod program;
pub mod tutorial;

#[doc(hidden)]
pub use circuit_macro::ComparedInCondition;
pub use ketgrad_core::*;

pub use program::Number;

pub use ketgrad_core::{
    circuit::Circuit,
    observable::PauliSum,
    param::{Angle, PI},
    simulate::Simulator,
    state::StateVector,
};
