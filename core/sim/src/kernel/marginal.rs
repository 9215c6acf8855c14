//! Sums of |a|^2 over some bits of the index, and the projection onto a value of a bit: each one
//! pass over memory.
//!
//! The sum for each value of the *asked* bits comes from blocks of 2^11 amplitudes. The squares of
//! a block are written down, and the bits below 11 that are not asked for are summed out, the
//! highest first; up to two at the top of a block before anything is written down:
//!
//! ```text
//! bits of an index    h h h . h | k . k k     asked: h chooses blocks, k a place in the block's table
//! squares of a block  16 numbers -> 8         neighbours at distance 4 added
//! table               8 numbers               added to what other blocks of the same h gave
//! ```
//! The blocks of each h are cut into pieces, each with a table of its own, and tables are added in
//! pairs. All of that depends on the numbers of qubits only, so the bits of a result do not depend
//! on threads.

use std::{array::from_fn, ops::Range};

use super::{SERIAL_BELOW, Threads, places};
use crate::{
    basis::deposit,
    scalar::{Real, Ring},
};

/// log2 of the amplitudes of a block.
const BLOCK_BITS: usize = 11;

/// Largest number of pieces that the blocks of one outcome are cut into.
const MOST_PIECES: usize = 64;

/// All tables together have this many times fewer numbers than there are amplitudes, unless the
/// result itself has more.
const AMPLITUDES_PER_NUMBER: usize = 64;

/// The blocks that one table sums, and what it keeps of them.
pub(crate) struct MarginalPart {
    blocks: Range<usize>,
    /// Bits of a block's number, of which the fixed ones have this value.
    number_bits: usize,
    fixed: usize,
    value: usize,
    /// Bits of an index within a block, and those asked for.
    bits: usize,
    keep: usize,
}

/// Computes a marginal: for each value of the asked bits, in ascending order, the sum over the
/// others. `sum` is given a table of zeros and the part that belongs there.
pub(crate) fn marginal<T: Real>(
    n_qubits: usize,
    asked: usize,
    threads: &Threads,
    sum: impl Fn(&MarginalPart, &mut [T]) + Sync,
) -> Vec<T> {
    let bits = n_qubits.min(BLOCK_BITS);
    let (keep, fixed, number_bits) = (asked & ((1 << bits) - 1), asked >> bits, n_qubits - bits);
    let outcomes = 1usize << fixed.count_ones();
    let blocks = (1usize << number_bits) / outcomes;
    let room = (1usize << (n_qubits - asked.count_ones() as usize)) / AMPLITUDES_PER_NUMBER;
    let pieces = blocks.min(MOST_PIECES).min(room.max(1));
    let table = 1usize << keep.count_ones();
    let mut sums = vec![T::zero(); outcomes * pieces * table];
    let size = blocks / pieces;
    let serial = Threads::serial();
    let threads = if 1usize << n_qubits >= SERIAL_BELOW { threads } else { &serial };
    threads.chunks(&mut sums, table, |number, table| {
        let (outcome, piece) = (number / pieces, number % pieces);
        let value = deposit(outcome, fixed);
        let blocks = piece * size..(piece + 1) * size;
        sum(&MarginalPart { blocks, number_bits, fixed, value, bits, keep }, table);
    });
    if pieces == 1 {
        return sums;
    }
    let mut other = vec![T::zero(); pieces * table / 2];
    let piece_bits = (pieces * table).trailing_zeros() as usize;
    let of_outcome = |tables: &mut [T]| sum_out(tables, &mut other, piece_bits, table - 1).to_vec();
    sums.chunks_mut(pieces * table).flat_map(of_outcome).collect()
}

/// Adds the squares of some blocks to a table.
#[inline(always)]
pub(crate) fn add_squares<S, T: Real>(
    amplitudes: &[S],
    part: &MarginalPart,
    square: impl Fn(&S) -> T,
    table: &mut [T],
) {
    let blocks = places(part.blocks.clone(), part.number_bits, part.fixed, part.value);
    // Every bit of a block is asked for: there is nothing to sum out.
    if part.keep.count_ones() as usize == part.bits {
        for block in blocks {
            for (total, a) in table.iter_mut().zip(&amplitudes[block << part.bits..]) {
                *total = total.clone() + square(a);
            }
        }
        return;
    }
    let above = part.bits - (usize::BITS - part.keep.leading_zeros()) as usize;
    match above {
        0 => add_blocks::<_, _, 1>(amplitudes, blocks, part, square, table),
        1 => add_blocks::<_, _, 2>(amplitudes, blocks, part, square, table),
        _ => add_blocks::<_, _, 4>(amplitudes, blocks, part, square, table),
    }
}

/// The highest bits of a block, of which `PIECES` have 1, 2 or 4 values, are not asked for: they
/// are summed out before anything is written down, in the order of [`sum_out`].
#[inline(always)]
fn add_blocks<S, T: Real, const PIECES: usize>(
    amplitudes: &[S],
    blocks: impl Iterator<Item = usize>,
    part: &MarginalPart,
    square: impl Fn(&S) -> T,
    table: &mut [T],
) {
    let bits = part.bits - PIECES.trailing_zeros() as usize;
    let len = 1 << bits;
    let mut squares = vec![T::zero(); len];
    let mut other = vec![T::zero(); len / 2];
    for block in blocks {
        let amplitudes = &amplitudes[block << part.bits..][..1 << part.bits];
        let pieces: [&[S]; PIECES] = from_fn(|k| &amplitudes[k * len..][..len]);
        for (i, to) in squares.iter_mut().enumerate() {
            let at = |k: usize| square(&pieces[k][i]);
            *to = match PIECES {
                1 => at(0),
                2 => at(0) + at(1),
                _ => (at(0) + at(2)) + (at(1) + at(3)),
            };
        }
        let sums = sum_out(&mut squares, &mut other, bits, part.keep);
        for (total, sum) in table.iter_mut().zip(sums) {
            *total = total.clone() + sum;
        }
    }
}

/// Sums out the bits of an index that are not kept, the highest first; needs room for half the
/// numbers.
#[inline(always)]
fn sum_out<'a, T: Ring>(
    numbers: &'a mut [T],
    other: &'a mut [T],
    bits: usize,
    keep: usize,
) -> &'a [T] {
    let (mut from, mut to, mut len) = (numbers, other, 1 << bits);
    for bit in (0..bits).rev().filter(|bit| keep >> bit & 1 == 0) {
        let (numbers, sums) = (&from[..len], &mut to[..len / 2]);
        match bit {
            0 => add_halves(numbers, sums, 1),
            1 => add_halves(numbers, sums, 2),
            2 => add_halves(numbers, sums, 4),
            _ => add_halves(numbers, sums, 1 << bit),
        }
        (from, to, len) = (to, from, len / 2);
    }
    &from[..len]
}

/// Adds the halves of each piece of twice `half` numbers. Calls with a constant get a loop for it.
#[inline(always)]
fn add_halves<T: Ring>(numbers: &[T], sums: &mut [T], half: usize) {
    for (sums, pair) in sums.chunks_exact_mut(half).zip(numbers.chunks_exact(2 * half)) {
        let (low, high) = pair.split_at(half);
        for ((sum, x), y) in sums.iter_mut().zip(low).zip(high) {
            *sum = x.clone() + y;
        }
    }
}

/// Keeps what has this value of a bit, scaled, and clears the rest. The part starts at a multiple
/// of its length.
#[inline(always)]
pub(crate) fn project<S: Ring>(
    start: usize,
    part: &mut [S],
    bit: usize,
    value: bool,
    scale: impl Fn(&mut S) + Copy,
) {
    match bit {
        0 => project_halves(part, 1, value, scale),
        1 => project_halves(part, 2, value, scale),
        2 => project_halves(part, 4, value, scale),
        _ if 1 << bit < part.len() => project_halves(part, 1 << bit, value, scale),
        _ if (start >> bit & 1 == 1) == value => part.iter_mut().for_each(scale),
        _ => part.fill(S::zero()),
    }
}

#[inline(always)]
fn project_halves<S: Ring>(
    part: &mut [S],
    half: usize,
    value: bool,
    scale: impl Fn(&mut S) + Copy,
) {
    for pair in part.chunks_exact_mut(2 * half) {
        let (low, high) = pair.split_at_mut(half);
        let (kept, lost) = if value { (high, low) } else { (low, high) };
        for a in kept {
            scale(a);
        }
        lost.fill(S::zero());
    }
}
