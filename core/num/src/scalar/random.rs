//! A cipher of counters, which gives random bits: Threefry 2x32 with 20 rounds.
//!
//! Source: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3* (2011).

include!("random_plain.rs");

/// The functions above as text, `//-` between them: emitted Rust has them from here.
#[doc(hidden)]
pub const RANDOM_SOURCE: &str = include_str!("random_plain.rs");

/// Returns the block of a counter under a key, 64 bits each; the first word is the upper half. It
/// is defined where emitted Rust has it from.
#[must_use]
pub fn threefry(key: i64, counter: i64) -> i64 {
    fold_in(key, counter)
}
