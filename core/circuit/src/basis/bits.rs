//! Bits of an index: their parity, and moves of bits to other positions.

use std::borrow::Borrow;

use num_traits::PrimInt;

/// Returns true if an odd number of bits is set (the parity). O(1).
///
/// ```
/// use ketgrad_core::basis::odd;
/// assert!(odd(0b0111usize) && !odd(0b0101u64));
/// ```
#[inline(always)]
#[must_use]
pub fn odd<T: PrimInt>(bits: T) -> bool {
    bits.count_ones() % 2 == 1
}

/// Places the low bits of `bits` at the set positions of `mask`, lowest first (the `pdep` of
/// Hacker's Delight, section 7-5).
///
/// ```
/// assert_eq!(ketgrad_core::basis::deposit(0b101, 0b11010), 0b10010);
/// ```
#[must_use]
pub fn deposit(mut bits: usize, mut mask: usize) -> usize {
    let mut out = 0;
    while mask != 0 && bits != 0 {
        let lowest = mask & mask.wrapping_neg();
        if bits & 1 == 1 {
            out |= lowest;
        }
        bits >>= 1;
        mask ^= lowest;
    }
    out
}

/// Moves bit k of `bits` to the k-th of the positions, in their order: the index of a row of a gate
/// on these qubits, `sum_k bits_k 2^positions_k`. [`gather_bits`] is its inverse.
///
/// Positions are different and less than the number of bits of an index. O(number of positions).
///
/// ```
/// assert_eq!(ketgrad_core::basis::scatter_bits(0b011, [4, 0, 2]), 0b10001);
/// ```
#[inline]
#[must_use]
pub fn scatter_bits(bits: usize, positions: impl IntoIterator<Item: Borrow<usize>>) -> usize {
    let positions = positions.into_iter().enumerate();
    positions.fold(0, |out, (k, position)| out | (bits >> k & 1) << position.borrow())
}

/// Moves the bit at the k-th of the positions, in their order, to position k: the row of a gate on
/// these qubits, `sum_k bits_{positions_k} 2^k`. Other bits are left out.
///
/// Positions are less than the number of bits of an index. O(number of positions).
///
/// ```
/// assert_eq!(ketgrad_core::basis::gather_bits(0b10011, [4, 0, 2]), 0b011);
/// ```
#[inline]
#[must_use]
pub fn gather_bits(bits: usize, positions: impl IntoIterator<Item: Borrow<usize>>) -> usize {
    let positions = positions.into_iter().enumerate();
    positions.fold(0, |out, (k, position)| out | (bits >> position.borrow() & 1) << k)
}
