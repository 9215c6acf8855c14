//! The runs of consecutive indices that remain when some bits are fixed.
//!
//! With bits 3 and 5 of 7 fixed, the free indices are runs of 8:
//! ```text
//! 6 5 4 3 2 1 0
//! x . x . [0..8)      start = x.x.000, next start by one add with carries across the dots
//! ```
//! A run is never longer than `MAX_RUN`, so that there are runs to share among threads even when
//! only the top bit is fixed.

use std::ops::Range;

use crate::kernel::places;

/// The longest run, in amplitudes: 2^12 of 16 bytes are 64 KiB, long enough to amortize the loop.
pub(super) const MAX_RUN_BITS: u32 = 12;

/// All runs of an operator on a state of 2^n amplitudes.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperatorRuns {
    n_qubits: usize,
    /// Fixed bits, and the bits inside a run.
    skip: usize,
    value: usize,
    run_bits: u32,
}

impl OperatorRuns {
    pub(super) fn new(n_qubits: usize, fixed: usize, value: usize) -> OperatorRuns {
        OperatorRuns::up_to(MAX_RUN_BITS, n_qubits, fixed, value)
    }

    /// Runs of at most 2^bits indices.
    pub(super) fn up_to(bits: u32, n_qubits: usize, fixed: usize, value: usize) -> OperatorRuns {
        let lowest = if fixed == 0 { n_qubits as u32 } else { fixed.trailing_zeros() };
        let run_bits = lowest.min(bits);
        OperatorRuns { n_qubits, skip: fixed | ((1 << run_bits) - 1), value, run_bits }
    }

    /// Returns the number of indices in a run.
    pub(super) fn run_length(&self) -> usize {
        1 << self.run_bits
    }

    /// Returns the number of runs.
    pub(super) fn len(&self) -> usize {
        1 << (self.n_qubits - self.skip.count_ones() as usize)
    }

    /// Returns the first index of each run in a part of the list of runs.
    #[inline(always)]
    pub(super) fn starts(&self, part: Range<usize>) -> impl Iterator<Item = usize> + use<> {
        places(part, self.n_qubits, self.skip, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_visit_each_free_index_once() {
        for n in 0..9 {
            for fixed in 0..1usize << n {
                let runs = OperatorRuns::new(n, fixed, 0);
                let all: Vec<usize> =
                    runs.starts(0..runs.len()).flat_map(|s| s..s + runs.run_length()).collect();
                let expected: Vec<usize> = (0..1 << n).filter(|i| i & fixed == 0).collect();
                assert_eq!(all, expected, "n = {n}, fixed = {fixed:b}");
                let half = runs.len() / 2;
                let parts: Vec<usize> =
                    runs.starts(0..half).chain(runs.starts(half..runs.len())).collect();
                assert_eq!(parts, runs.starts(0..runs.len()).collect::<Vec<_>>());
            }
        }
    }
}
