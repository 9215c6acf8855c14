//! Rows of a tile as vectors over GF(2).

use crate::basis::{extend, odd, reduce, scatter_bits, top};

/// Number of bits of the row number in an entry of a sweep's table; the signs begin after them.
pub(super) const SIGN_SHIFT: u32 = 24;

/// Returns the index of the first amplitude of each row within the tile, whose qubits are given.
pub(super) fn row_offsets(inside: &[usize], lane_bits: usize) -> Vec<usize> {
    let row_qubits = &inside[lane_bits..];
    (0..1 << row_qubits.len()).map(|row| scatter_bits(row, row_qubits)).collect()
}

/// Rows that represent all, if each row vector may be added to them; with a sign for each parity of
/// the row number.
pub(super) fn table(row_count: usize, vectors: &[usize], signs: &[usize]) -> Vec<u32> {
    let mut pivots = 0;
    let mut basis: Vec<usize> = Vec::new();
    for &vector in vectors {
        let reduced = reduce(&basis, vector);
        pivots |= top(reduced);
        extend(&mut basis, reduced);
    }
    let starts = (0..row_count).filter(|row| row & pivots == 0);
    let with_signs = |row: usize| {
        let signs = signs
            .iter()
            .enumerate()
            .fold(0, |all, (i, sign)| all | u32::from(odd(sign & row)) << i);
        row as u32 | signs << SIGN_SHIFT
    };
    starts.map(with_signs).collect()
}
