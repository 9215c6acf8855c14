//! Amplitudes, and with what they stand on, re-exported here, the half of ketgrad that is about
//! circuits: no compiler of programs is built for it.
//!
//! [`kernel`] (loops over amplitudes, devices), [`plan`] (many gates in one pass over memory),
//! [`state`] (vectors and density matrices), [`field`] (exact numbers modulo a prime),
//! [`simulate`] (circuits run, sampled and averaged). A circuit is built by
//! [`Circuit`](circuit::Circuit).
//!
//! ```
//! use ketgrad_sim::{circuit::Circuit, simulate::Simulator};
//!
//! let mut bell = Circuit::new(2);
//! bell.h(0)?.cx(0, 1)?;
//! let state = Simulator::new().run::<f64>(&bell, &[])?;
//! assert!((state.amplitudes()[3].norm_sqr() - 0.5).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
extern crate ketgrad_num;

#[cfg(feature = "ansatz")]
#[doc(no_inline)]
pub use ketgrad_circuit::{ansatz, problem};
#[doc(no_inline)]
pub use ketgrad_circuit::{
    basis, channel, circuit, classical, gate, matrix, observable, param, pauli,
};
use ketgrad_num::bytes;
#[doc(no_inline)]
pub use ketgrad_num::{array, cancel, scalar};

pub mod field;
pub mod kernel;
pub mod plan;
pub mod simulate;
pub mod state;

mod interop;
