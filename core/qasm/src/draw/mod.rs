//! Circuits as pictures: text, SVG and LaTeX. Curves as SVG.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, draw, param::Angle};
//!
//! let mut circuit = Circuit::new(3);
//! circuit.add_register("c", 1)?.h(0)?.cx(0, 2)?.rzz(0, 1, Angle::pi(1, 4))?.x(2)?.measure(2, 0)?;
//! let picture = draw::text(&circuit, None);
//! assert!(picture.starts_with("q0: ─┤H├─●─┤0 RZZ(pi/4)├───"));
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//! ```text
//! q0: ─┤H├─●─┤0 RZZ(pi/4)├──────────
//!          │ │           │
//! q1: ─────┼─┤1          ├──────────
//!          │
//! q2: ─────⊕──────┤X├──────┤M→c[0]├─
//! ```
//!
//! All pictures share one layout: every instruction goes into the leftmost column where everything
//! between its first and its last qubit is free, after what it depends on. A control of value 1 is
//! `●`, of value 0 `○`; `⊕` is X under controls; a box over several qubits numbers its targets; a
//! wire that a box does not touch runs through it. An operation on no qubit (a phase of the whole
//! state, an assignment) has a line of its own at the bottom. A gate that the source of the circuit
//! defines is a box with its name and angles, with `†` after the name of an inverse;
//! [`Circuit::expanded`](crate::circuit::Circuit::expanded) shows its body.
//!
//! Decimals are shortened to five digits. The time is proportional to the size of the picture.

mod curve;
mod latex;
mod layout;
mod svg;
mod text;

pub use curve::curve;
pub use latex::{latex, latex_bytes};
pub use svg::{svg, svg_bytes};
pub use text::{ascii, text, text_bytes};
