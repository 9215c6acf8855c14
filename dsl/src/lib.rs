//! Differentiable quantum computing: circuits that run on any number type.
//!
//! ```
//! use ketgrad::{Circuit, Simulator};
//! use ketgrad::core::scalar::Uncertain;
//!
//! let mut circuit = Circuit::new(2);
//! let theta = circuit.param("theta");
//! circuit.ry(0, theta)?.cx(0, 1)?;
//!
//! let simulator = Simulator::new();
//! let zz = "Z0".parse()?;
//!
//! // On plain numbers …
//! let state = simulator.run(&circuit, &[0.5])?;
//! assert!((state.expectation(&zz, &simulator.threads)? - 0.5f64.cos()).abs() < 1e-15);
//!
//! // … and with an error bar on the angle: the same circuit, the same kernels.
//! let state = simulator.run(&circuit, &[Uncertain::new(0.5, 0.01)])?;
//! let z = state.expectation(&zz, &simulator.threads)?;
//! assert!((z.sigma() - 0.01 * 0.5f64.sin()).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything lives in [`core`]; this crate is its front page.

pub use ketgrad_core as core;

pub use ketgrad_core::{
    circuit::Circuit, observable::PauliSum, param::Angle, simulate::Simulator, state::StateVector,
};
