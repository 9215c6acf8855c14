//! What `program!` writes its calls to. The macro is in `syntax`; the forms stand at
//! [`program!`](crate::program!).
//!
//! | file | holds |
//! |---|---|
//! | `syntax` | the macro: its documentation and the items of a block |
//! | `function`, `structs` | the macro: what an item becomes |
//! | `body`, `blocks` | the macro: statements, and those with blocks |
//! | `write` | the macro: what a statement becomes in either world |
//! | `shape` | kinds as types, and what they are in each world |
//! | `native` | the values of the native body |
//! | `staged` | the values of the staged body: handles that write instructions |
//! | `flow` | control flow of the staged body |
//! | `literals` | what Rust reads differently, refused |
//! | `define` | from functions to a `Program` |
#![allow(clippy::should_implement_trait, reason = "`rem` is the name of an op")]
#![allow(
    missing_docs,
    reason = "hidden: what the macro writes calls to; the public face is documented at `program!`"
)]

/// The functions of one number, of one real number and of two, with the ops of the table that they are.
macro_rules! for_each_function {
    ($reader:ident) => {
        $reader! {
            number1 {
                recip Recip sqrt Sqrt cbrt Cbrt exp Exp exp_m1 ExpM1 ln Ln ln_1p Ln1p log2 Log2 log10 Log10 sin Sin
                cos Cos tan Tan asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh asinh Asinh
                acosh Acosh atanh Atanh
            }
            real1 { sign Sign floor Floor ceil Ceil round Round trunc Trunc }
            real2 { atan2 Atan2 hypot Hypot rem Rem }
        }
    };
}

mod blocks;
mod body;
pub mod define;
pub mod flow;
mod function;
pub mod literals;
pub mod native;
pub mod shape;
pub mod staged;
mod structs;
mod syntax;
mod write;

pub use crate::core::{
    ir::{Compare, Kind, Param, Program},
    rules::{RuleError, Rules},
    staging::{Given, Operator},
};
pub use shape::{Number, Shape, kinds};
