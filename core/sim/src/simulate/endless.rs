//! Loops of circuits that never end, found before the limit of iterations.
//!
//! - A condition that holds whatever its loop writes never fails.
//! - An iteration that begins with the bits and the state of an earlier one, between which all
//!   outcomes were certain, repeats. Snapshots are taken after 2^k iterations, so that a cycle of
//!   any length is found (R. P. Brent, BIT 20, 176, 1980).

use super::{
    Bits,
    liveness::written,
    program::{Action, BoundCircuit},
};
use crate::{scalar::Ring, state::StateVector};

/// Reason why a loop never ends.
pub(super) const CONDITION: &str = "its condition holds whatever it measures or assigns";
pub(super) const CYCLE: &str = "its iterations repeat, with the same state and the same outcomes";

/// Number of iterations after which cycles are searched.
pub(super) const FIRST: u64 = 1 << 10;

/// States of more amplitudes are not compared.
const MOST_AMPLITUDES: usize = 1 << 12;

/// Largest number of bits whose values are all tried.
const MOST_BITS: usize = 12;

/// An outcome as likely as this counts as certain: others are due after more iterations than any
/// limit allows.
pub(super) const CERTAIN: f64 = 1.0 - 1e-12;

/// Returns true if the bits that the loop with this head writes can end it, where its condition
/// holds. O(length of the loop + 2^bits).
pub(super) fn can_end<R: Ring>(circuit: &BoundCircuit<R>, head: usize, bits: &Bits) -> bool {
    let Some(step) = circuit.steps.get(head) else { return true };
    let (Action::While { end }, Some(condition)) = (&step.action, &step.condition) else {
        return true;
    };
    let mut reads_variables = false;
    condition.for_each_variable(&mut |_| reads_variables = true);
    if reads_variables || circuit.has_classical_actions() {
        return true;
    }
    let mut read = Vec::new();
    condition.for_each_bit(&mut |bit| read.push(bit));
    read.sort_unstable();
    read.dedup();
    let body = circuit.steps.get(head + 1..*end).unwrap_or_default();
    let mut changes: Vec<u32> = body.iter().flat_map(written).copied().collect();
    changes.sort_unstable();
    changes.dedup();
    read.retain(|bit| changes.binary_search(bit).is_ok());
    if read.len() > MOST_BITS {
        return true;
    }
    (0..1usize << read.len()).any(|values| {
        !condition.holds(&|bit| match read.binary_search(&bit) {
            Ok(place) => values >> place & 1 == 1,
            Err(_) => bits.get(bit),
        })
    })
}

/// State and bits at the beginning of an iteration of a loop.
#[derive(Clone)]
pub(super) struct Snapshot<S> {
    head: usize,
    bits: Bits,
    state: StateVector<S>,
    /// True if all outcomes since then were certain.
    pub(super) is_certain: bool,
}

impl<S: Ring> Snapshot<S> {
    /// Returns true if an iteration begins with the state and the bits of the snapshot; takes a new
    /// snapshot when it is due.
    pub(super) fn comes_again(
        snapshot: &mut Option<Box<Snapshot<S>>>,
        head: usize,
        rounds: u64,
        bits: &Bits,
        state: &StateVector<S>,
    ) -> bool {
        if rounds < FIRST || state.amplitudes().len() > MOST_AMPLITUDES {
            return false;
        }
        if let Some(old) = snapshot
            && old.is_certain
            && old.head == head
            && old.bits == *bits
        {
            let mut pairs = old.state.amplitudes().iter().zip(state.amplitudes());
            if pairs.all(|(a, b)| (a.clone() - b).is_exact_zero()) {
                return true;
            }
        }
        if rounds.is_power_of_two() {
            *snapshot = Some(Box::new(Snapshot {
                head,
                bits: bits.clone(),
                state: state.clone(),
                is_certain: true,
            }));
        }
        false
    }
}
