//! Programs as source: Rust, the program language, LaTeX, graphs. See [`emit`].

use ketgrad_ir::{entity, ir, pass};
use ketgrad_num::{notation, scalar};

pub mod emit;
