//! Circuits as text and pictures.
//!
//! [`qasm`] (OpenQASM 2 and 3 read), [`mod@print`] (and written), [`draw`] (text, SVG, LaTeX).

use ketgrad_circuit::{channel, circuit, classical, gate, matrix, param};
use ketgrad_num::{notation, stack};
use ketgrad_sim::{simulate, state};
#[cfg(feature = "draw")]
use ketgrad_symbolic::exact;

#[cfg(feature = "draw")]
pub mod draw;
pub mod print;
pub mod qasm;
