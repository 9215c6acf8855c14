//! Precedence of operators, in Rust and in the program language alike: a higher number binds
//! tighter.

pub(super) const LOWEST: u8 = 0;
pub(super) const OR: u8 = 1;
pub(super) const AND: u8 = 2;
pub(super) const COMPARE: u8 = 3;
pub(super) const ADD: u8 = 4;
pub(super) const MUL: u8 = 5;
pub(super) const UNARY: u8 = 6;
pub(super) const POSTFIX: u8 = 7;
