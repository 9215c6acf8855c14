//! Keys of nodes: 128 bits made of an operation and the keys of its operands.

use crate::ir::{Kind, Op};

pub(super) const SYMBOL: u128 = 1;
pub(super) const LOCAL: u128 = 2;
pub(super) const CONSTANT: u128 = 3;
pub(super) const CALL: u128 = 4;

/// Mixes one more word into a key. It is a bijection of `x` for each `h`, and of `h` for each `x`.
pub(super) fn mix(h: u128, x: u128) -> u128 {
    // Odd multipliers: digits of the golden ratio and of sqrt 2.
    const A: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    const B: u128 = 0x6a09_e667_f3bc_c908_b2fb_1366_ea95_7d3f;
    let mut s = (h.rotate_left(49) ^ x).wrapping_mul(A);
    s ^= s >> 67;
    s = s.wrapping_mul(B);
    s ^ (s >> 61)
}

/// Returns the key of a text.
pub(super) fn text_key(text: &str) -> u128 {
    text.bytes().fold(text.len() as u128, |h, b| mix(h, u128::from(b)))
}

pub(super) fn kind_key(kind: &Kind) -> u128 {
    match kind {
        Kind::Real => 1,
        Kind::Complex => 2,
        Kind::Int => 3,
        Kind::Bool => 4,
        _ => 5,
    }
}

pub(super) fn op_key(op: Op) -> u128 {
    let (data, salt) = match op {
        Op::Int(n) => (n as u64, 1),
        Op::Bool(b) => (u64::from(b), 2),
        _ => (0, 3),
    };
    // The name is unique, except for comparisons of integers, which are not recorded.
    mix(mix(CALL + salt, u128::from(data)), text_key(op.name()))
}
