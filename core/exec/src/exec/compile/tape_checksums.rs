//! Checksums of tapes, by which pushes and pops that do not match are detected.
//!
//! ```text
//! push of slot s:   h  ->  h m + s
//! pop of slot s:    h  ->  (h - s) / m        (mod 2^64, m odd)
//! ```
//!
//! A pop undoes the push of its slot, so the checksum is 0 again if each pop takes the value that
//! the push of its slot left and nothing remains; in any other order it is 0 with a probability of
//! 2^-64. The code between two calls is one affine map `h -> a h + b`.
//!
//! Cost: one instruction for the code between two calls, however much it pushes; O(1) memory a
//! tape.

use std::collections::{BTreeMap, HashSet};

use crate::{
    entity::Inst,
    ir::{Function, InstData, Op},
};

use super::super::code::{Bank, ChecksumUpdate};

/// The multiplier of the checksums. Odd, so that it can be divided by.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const INVERSE: u64 = inverse(FACTOR);

/// Computes the inverse by Newton's method, which doubles the number of correct bits: an odd number
/// is its own inverse in the last three.
const fn inverse(m: u64) -> u64 {
    let (mut x, mut k) = (m, 0);
    while k < 5 {
        x = x.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(x)));
        k += 1;
    }
    x
}

/// Returns a number for each leaf of a slot, hashed over all bits.
fn symbol(slot: u32, leaf: usize) -> u64 {
    let mut x = (u64::from(slot) << 32 | leaf as u64).wrapping_add(FACTOR);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Returns the tape, the slot and the banks of the leaves of the value that is pushed or popped,
/// and true if it is pushed.
fn access(f: &Function, inst: &InstData) -> Option<(u32, u32, Vec<Bank>, bool)> {
    let (tape, slot, value, pushes) = match inst.op {
        Op::Push { tape, slot } => (tape, slot, inst.args.first(), true),
        Op::Pop { tape, slot } => (tape, slot, inst.result.as_ref(), false),
        _ => return None,
    };
    let leaves = f.kinds.get(*value?)?.leaves();
    Some((tape, slot, leaves.iter().map(Bank::for_kind).collect(), pushes))
}

/// Origin of the pushes and pops of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum TapeProvenance {
    /// Only those of adjoints that were derived here, where each pop undoes a push: nothing is
    /// looked at.
    Derived,
    /// Those of any program: checksums detect pops that do not undo pushes.
    Unknown,
}

/// Returns the lists of tapes that these functions push to and pop from, too.
pub(super) fn checked_tapes<'a>(functions: impl Iterator<Item = &'a Function>) -> Vec<(u32, Bank)> {
    let mut by: [HashSet<(u32, Bank)>; 2] = Default::default();
    for f in functions {
        let insts = f.blocks.values().flat_map(|b| &b.insts);
        for (tape, _, banks, pushes) in insts.filter_map(|&i| access(f, &f.insts[i])) {
            by[usize::from(pushes)].extend(banks.into_iter().map(|bank| (tape, bank)));
        }
    }
    let mut both: Vec<_> = by[0].intersection(&by[1]).copied().collect();
    both.sort_unstable();
    both
}

/// Returns the updates of the checksums of these lists by instructions, none of which is a call.
pub(super) fn checksum_updates(
    f: &Function,
    insts: &[Inst],
    of: &[(u32, Bank)],
) -> Vec<ChecksumUpdate> {
    let mut all: BTreeMap<(u32, Bank), (u64, u64)> = BTreeMap::new();
    for (tape, slot, banks, pushes) in insts.iter().filter_map(|&i| access(f, &f.insts[i])) {
        let mut leaves: Vec<(usize, Bank)> = banks.into_iter().enumerate().collect();
        if !pushes {
            leaves.reverse();
        }
        for (leaf, bank) in leaves.into_iter().filter(|leaf| of.contains(&(tape, leaf.1))) {
            let (a, b) = all.entry((tape, bank)).or_insert((1, 0));
            let s = symbol(slot, leaf);
            (*a, *b) = match pushes {
                true => (a.wrapping_mul(FACTOR), b.wrapping_mul(FACTOR).wrapping_add(s)),
                false => (a.wrapping_mul(INVERSE), b.wrapping_sub(s).wrapping_mul(INVERSE)),
            };
        }
    }
    let changes = all.into_iter().filter(|(_, change)| *change != (1, 0));
    changes
        .map(|((tape, bank), (factor, summand))| ChecksumUpdate { tape, bank, factor, summand })
        .collect()
}
