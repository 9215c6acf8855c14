//! Targets of the calls that `program!` writes. The macro is in `syntax`; the forms are listed at
//! [`program!`](crate::program!).
//!
//! | file | holds |
//! |---|---|
//! | `syntax` | the macro: its documentation and the items of a block |
//! | `function`, `structs` | the macro: what an item becomes |
//! | `transforms` | the macro: `f::grad` and what else can be made of a function |
//! | `body`, `blocks` | the macro: statements, and those with blocks |
//! | `write` | the macro: what a statement becomes in either world |
//! | `table` | the functions of the language, by what they take |
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

#[macro_use]
mod table;

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
mod transforms;
mod write;

pub use define::plain;
pub use ketgrad_core::{
    adjoint::Transform,
    ir::{Compare, Kind, Param, Program},
    rules::{RuleError, Rules},
    staging::{InfixOperator, StagedOperand},
};
pub use shape::{Number, Shape, kinds};
