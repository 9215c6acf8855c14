//! Prefetch in a pass over a large state.
//!
//! Memory is fastest for sequential reads, one line after another. A gate on qubit 6 takes lines
//! from two places 1 KiB apart, a kibibyte from each and then both from the next; but what it takes
//! in all is everything. So lines are prefetched in the order of their addresses, whatever the
//! order of the work:
//! ```text
//! worked on    0 8  1 9  2 10 …  7 15 | 16 24  17 25 …       registers of a gate on bit 3 of them
//! asked for    32 33  34 35  36 37  …                        soon ones, two with each two
//! ```
//! That takes .6 to .9 of the time of a prefetch in the order of the work (an AMD EPYC of family
//! 26, 64 MiB to 256 MiB) where these are 512 bytes to 32 KiB apart. Nearer ones share pages of the
//! memory anyway, and rows that lie further apart are streams of their own; these are prefetched
//! one by one, as are those of operators that leave rows or pieces out.

use std::ops::Range;

use crate::kernel::{runs::OperatorRuns, simd::Simd};

/// States of fewer bytes are near enough.
const FROM_BYTES: usize = 4 << 20;

/// States of fewer bytes are in a last cache that answers soon.
const SOON_BELOW_BYTES: usize = 32 << 20;

/// Distance in registers from which on rows that are together are streams of their own.
const FAR: usize = 1 << 10;

/// Distance of the prefetch, and the cache that it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrefetchDistance {
    /// log2 of the registers: 8 KiB in the first cache, 16 KiB in the second.
    pub(super) bits: u32,
    /// True if it fills the first cache. From the memory, lines come up to a third slower there
    /// where most are left out.
    first: bool,
    /// Distance in registers from which on rows are far enough apart to be prefetched in order.
    apart: usize,
}

impl PrefetchDistance {
    /// Returns the distance for a state of this number of bytes; `None` if it needs no prefetch.
    pub(super) fn for_bytes(bytes: usize) -> Option<PrefetchDistance> {
        match bytes {
            ..FROM_BYTES => None,
            FROM_BYTES..SOON_BELOW_BYTES => {
                Some(PrefetchDistance { bits: 7, first: true, apart: 8 })
            }
            _ => Some(PrefetchDistance { bits: 8, first: false, apart: 1 }),
        }
    }
}

/// Prefetch of the registers that come soon, while a run is worked on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefetcher {
    reach: PrefetchDistance,
    /// Runs that are prefetched, one for each run of the loop.
    soon: OperatorRuns,
    /// Number of runs between a run and the one that is prefetched with it.
    skip: usize,
    /// log2 of the registers in a row that are prefetched with each of a run; `None` for one in
    /// each row.
    in_order: Option<u32>,
}

impl Prefetcher {
    /// Plans the prefetch of the runs of an operator on `n` bits of registers, whose rows differ in
    /// the bits `rows`; `all` says that it takes all of them. `None` if the processor does better
    /// alone.
    pub(super) fn new(
        reach: PrefetchDistance,
        runs: &OperatorRuns,
        n: usize,
        fixed: usize,
        value: usize,
        rows: usize,
        all: bool,
    ) -> Option<Prefetcher> {
        if reach.first && rows >= FAR {
            return None;
        }
        let (length, more) = (runs.run_length(), rows.count_ones());
        let (left, asked) = (fixed & !rows, length << more);
        let near = rows == 0 || 1 << rows.trailing_zeros() < reach.apart;
        if !all || near || rows >= FAR || left & (asked - 1) != 0 {
            let skip = ((1 << reach.bits >> more) / length).max(1);
            return Some(Prefetcher { reach, soon: *runs, skip, in_order: None });
        }
        // The furthest row lies `rows` ahead of the first.
        let skip = (rows + (1 << reach.bits)).div_ceil(asked);
        let soon = OperatorRuns::up_to(asked.trailing_zeros(), n, left, value & left);
        Some(Prefetcher { reach, soon, skip, in_order: Some(more) })
    }

    /// Returns the registers to prefetch with each run of a part. Beyond the end these are
    /// registers that do not exist, which are prefetched and not used.
    #[inline(always)]
    pub(super) fn starts(&self, part: Range<usize>) -> impl Iterator<Item = usize> + use<> {
        self.soon.starts(part.start + self.skip..part.end + self.skip)
    }

    /// Prefetches the registers that belong to register `i` of the run that starts at `next`. The
    /// rows are distances in numbers.
    #[inline(always)]
    pub(super) fn ask<S: Simd>(
        &self,
        vector: *const S::Elem,
        next: usize,
        i: usize,
        rows: &[usize],
    ) {
        self.each(next, i, rows, |register, row| {
            let there = vector.wrapping_add(register * S::LANES + row);
            if self.reach.first { S::prefetch(there) } else { S::prefetch_soon(there) }
        });
    }

    /// Visits the places that belong to register `i` of the run that starts at `next`, as a
    /// register and one of the rows.
    #[inline(always)]
    fn each(&self, next: usize, i: usize, rows: &[usize], mut f: impl FnMut(usize, usize)) {
        match self.in_order {
            // That of a gate on one qubit without a loop.
            Some(1) => {
                f(next + 2 * i, 0);
                f(next + 2 * i + 1, 0);
            }
            Some(more) => (0..1 << more).for_each(|j| f(next + (i << more) + j, 0)),
            None => rows.iter().for_each(|&row| f(next + i, row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::deposit;

    /// Exactly the registers that are worked on are prefetched, each once, and in order where that
    /// is said.
    #[test]
    fn what_is_asked_for_is_what_is_needed() {
        let n = 13;
        let mut in_order = 0;
        for rows in [0, 0b1, 0b1000, 0b100_0000, 0b1000_1000, 0b10_1010_0000, 1 << 9, 1 << 12] {
            for controls in [0usize, 0b10, 0b10_0000, 0b1_0000_0000, 0b1_0001_0000] {
                let fixed = rows | controls & !rows;
                let (value, reach) = (
                    controls & !rows & 0b1_0010_0000,
                    PrefetchDistance::for_bytes(SOON_BELOW_BYTES).unwrap(),
                );
                let runs = OperatorRuns::up_to(reach.bits - rows.count_ones(), n, fixed, value);
                let ahead = Prefetcher::new(reach, &runs, n, fixed, value, rows, true).unwrap();
                let distances: Vec<usize> =
                    (0..1 << rows.count_ones()).map(|e| deposit(e, rows)).collect();
                let (mut asked, mut needed) = (Vec::new(), Vec::new());
                for (start, soon) in
                    runs.starts(0..runs.len()).zip(ahead.soon.starts(0..runs.len()))
                {
                    for i in 0..runs.run_length() {
                        ahead.each(soon, i, &distances, |register, row| asked.push(register + row));
                        needed.extend(distances.iter().map(|row| start + i + row));
                    }
                }
                if ahead.in_order.is_some() {
                    in_order += 1;
                    assert!(asked.is_sorted(), "rows {rows:b}, controls {controls:b}");
                }
                asked.sort_unstable();
                needed.sort_unstable();
                assert_eq!(asked, needed, "rows {rows:b}, controls {controls:b}");
            }
        }
        assert!(in_order >= 10);
    }
}
