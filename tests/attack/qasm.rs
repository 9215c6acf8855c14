//! Texts of OpenQASM that mean something, beside interpreters of their syntax trees: definitions
//! and modifiers of gates ([`gates`]), and classical values that depend on measurements
//! ([`classical`]).

mod classical;
mod gates;

use support::random::Rng;

use crate::finding::Checked;

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    if rng.below(2) == 0 { gates::check(&mut rng) } else { classical::check(&mut rng) }
}
