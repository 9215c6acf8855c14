//! Samples of a state in O(2^n + shots), without a copy of it.
//!
//! A shot is a number u in [0, 1); its outcome is the basis state at which the cumulative
//! distribution passes u. The distribution is known at the ends of blocks of 2^8 amplitudes only:
//!
//! 1. one pass over the state sums each block;
//! 2. each shot draws its number from the ChaCha8 stream of its group of shots and finds its block
//!    by a table that divides [0, 1) evenly;
//! 3. shots are sorted by block (by counting), and each block that has any is looked at once more:
//!    its cumulative sums, in groups of 16, are in the first cache while its shots are placed.
//!
//! Shots are worked on in rounds, whose memory is a small part of the state's. Neither rounds nor
//! threads change an outcome.
//!
//! ```
//! use ketgrad_core::{kernel::Threads, state::StateVector};
//! use num_complex::Complex;
//!
//! let state = StateVector::<Complex<f64>>::basis(3, 5)?;
//! assert_eq!(state.sample(2, 1, &Threads::serial())?, [5, 5]);
//! assert_eq!(state.sample_counts(100, 1, &Threads::serial())?, [(5, 100)]);
//! # Ok::<(), ketgrad_core::state::StateError>(())
//! ```

use std::{
    any::Any,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

use num_complex::Complex;

use super::{
    StateError, StateVector,
    memory::Amplitudes,
    random::{stream, uniform},
};
use crate::{
    cancel::Cancelled,
    kernel::{
        InstructionSet, SERIAL_BELOW, Threads,
        simd::{NORM_BITS, block_norms},
    },
    scalar::{Real, Scalar},
};

/// Shots that share a stream.
const SHOTS_PER_STREAM: usize = 1 << 10;

/// Amplitudes of a block.
const BLOCK: usize = 1 << NORM_BITS;

/// Amplitudes of a group within a block, and groups of a block.
const GROUP: usize = 16;
const _: () = assert!(GROUP * GROUP == BLOCK);

/// Smallest number of shots of a round.
const ROUND: usize = 1 << 17;

/// The shots of a round on a state that is elsewhere, where each round goes through all of it: 16
/// MiB with their outcomes.
const ROUND_ELSEWHERE: usize = 1 << 20;
const _: () = assert!(ROUND_ELSEWHERE.is_multiple_of(SHOTS_PER_STREAM));

/// A round of a large state has this many times fewer shots than there are amplitudes: at 32 bytes
/// a shot that is 1/32 of the state in double precision.
const AMPLITUDES_PER_SHOT: usize = 64;

/// Blocks that are worked on in one piece.
const BLOCKS_PER_PIECE: usize = 256;

/// Cells of the table for each block: most draws are at their block at once.
const CELLS_PER_BLOCK: usize = 4;

/// Largest number of cells of the table.
const MOST_CELLS: usize = 1 << 18;

impl<T: Real, S: Scalar<Real = T>> StateVector<S> {
    /// Measures all qubits `shots` times: basis states in the order of the shots, which are
    /// independent. The same seed gives the same shots for any number of threads, and fewer shots
    /// are the first of more. O(2^n + shots).
    ///
    /// # Errors
    /// [`StateError`] if the probabilities have no value or are not finite, or the shots do not fit
    /// in memory.
    pub fn sample(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
    ) -> Result<Vec<usize>, StateError> {
        let ends = CdfTable::new(self, threads)?;
        let mut outcomes: Vec<AtomicUsize> = Vec::new();
        outcomes.try_reserve_exact(shots).map_err(|_| StateError::Shots { shots })?;
        outcomes.extend((0..shots).map(|_| AtomicUsize::new(0)));
        for round in rounds(shots, ends.round()) {
            threads.check()?;
            let part = &outcomes[round.clone()];
            ends.visit_draws(
                &ends.drawn(seed, round, threads),
                threads,
                |(): &mut (), shot, outcome| {
                    part[shot].store(outcome, Ordering::Relaxed);
                },
            );
        }
        Ok(outcomes.into_iter().map(AtomicUsize::into_inner).collect())
    }

    /// Samples basis states and counts each, in ascending order; those that do not occur are left
    /// out. The shots are those of [`StateVector::sample`]. O(2^n + shots), and no memory for each
    /// shot.
    ///
    /// # Errors
    /// [`StateError`] if the probabilities have no value or are not finite.
    pub fn sample_counts(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
    ) -> Result<Vec<(usize, u64)>, StateError> {
        self.sample_counts_reporting(shots, seed, threads, &mut |_, _| {})
    }

    /// Samples as [`StateVector::sample_counts`] does, and tells `progress` (done, all) shots every
    /// now and then.
    ///
    /// # Errors
    /// Those of [`StateVector::sample_counts`].
    pub fn sample_counts_reporting(
        &self,
        shots: usize,
        seed: u64,
        threads: &Threads,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<(usize, u64)>, StateError> {
        let ends = CdfTable::new(self, threads)?;
        count_rounds(shots, ends.round(), threads, progress, |round| {
            let draws = ends.drawn(seed, round, threads);
            let tally = |tally: &mut Tally, _, outcome| tally.add(outcome);
            Ok(ends.visit_draws(&draws, threads, tally).into_iter().flat_map(Tally::finish))
        })
    }

    /// Maps uniform numbers in [0, 1) to basis states, in their order: the inverse of the
    /// cumulative distribution.
    pub(crate) fn sample_at(
        &self,
        draws: &[f64],
        threads: &Threads,
    ) -> Result<Vec<usize>, StateError> {
        let ends = CdfTable::new(self, threads)?;
        let outcomes: Vec<AtomicUsize> = draws.iter().map(|_| AtomicUsize::new(0)).collect();
        for round in rounds(draws.len(), ends.round()) {
            threads.check()?;
            let part = &outcomes[round.clone()];
            let drawn: Vec<Draw> = draws[round].iter().map(|&u| ends.find(u)).collect();
            ends.visit_draws(&drawn, threads, |(): &mut (), shot, outcome| {
                part[shot].store(outcome, Ordering::Relaxed)
            });
        }
        Ok(outcomes.into_iter().map(AtomicUsize::into_inner).collect())
    }

    /// Returns the sum of the probabilities of each block.
    fn block_weights(&self, threads: &Threads) -> Result<Vec<f64>, StateError> {
        let (all, set): (&dyn Any, _) = (&self.amplitudes, InstructionSet::detect());
        let by_vectors = if let Some(a) = all.downcast_ref::<Amplitudes<Complex<f64>>>() {
            block_norms(a, threads, set)
        } else {
            all.downcast_ref::<Amplitudes<Complex<f32>>>()
                .and_then(|a| block_norms(a, threads, set))
        };
        if let Some(sums) = by_vectors {
            return Ok(sums);
        }
        let blocks: Vec<&[S]> = self.amplitudes.chunks(BLOCK).collect();
        let sum =
            |k: usize| blocks[k].iter().try_fold(0.0, |sum, a| Some(sum + a.abs2().primal()?));
        let parallel = S::PARALLEL && self.amplitudes.len() >= SERIAL_BELOW;
        let sums: Vec<Option<f64>> = if parallel {
            threads.map(blocks.len(), sum)
        } else {
            (0..blocks.len()).map(sum).collect()
        };
        sums.into_iter().collect::<Option<_>>().ok_or(StateError::Symbolic)
    }
}

/// Counts the basis states that `find` returns for ascending uniform numbers. The shots are those
/// of [`StateVector::sample`]; `progress` is called with (done, all) of them.
pub(crate) fn counts_by<E: From<Cancelled>>(
    shots: usize,
    seed: u64,
    threads: &Threads,
    progress: &mut dyn FnMut(usize, usize),
    find: impl Fn(&[f64]) -> Result<Vec<usize>, E>,
) -> Result<Vec<(usize, u64)>, E> {
    count_rounds(shots, ROUND_ELSEWHERE, threads, progress, |round| {
        let mut uniforms = drawn(seed, round, threads, |u| u);
        uniforms.sort_unstable_by(f64::total_cmp);
        let mut outcomes = find(&uniforms)?;
        outcomes.sort_unstable();
        let counted = outcomes.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64));
        Ok(counted.collect::<Vec<_>>())
    })
}

/// Returns the basis states that `find` returns for ascending uniform numbers, in the order of the
/// shots. These are those of [`StateVector::sample`]; `progress` is called with (done, all) of
/// them.
pub(crate) fn samples_by<E: From<Cancelled> + From<StateError>>(
    shots: usize,
    seed: u64,
    threads: &Threads,
    progress: &mut dyn FnMut(usize, usize),
    find: impl Fn(&[f64]) -> Result<Vec<usize>, E>,
) -> Result<Vec<usize>, E> {
    let mut all: Vec<usize> = Vec::new();
    all.try_reserve_exact(shots).map_err(|_| StateError::Shots { shots })?;
    all.resize(shots, 0);
    for round in rounds(shots, ROUND_ELSEWHERE) {
        threads.check()?;
        let (first, done) = (round.start, round.end);
        let uniforms = drawn(seed, round, threads, |u| u);
        let mut order: Vec<usize> = (0..uniforms.len()).collect();
        order.sort_unstable_by(|&a, &b| uniforms[a].total_cmp(&uniforms[b]));
        let ascending: Vec<f64> = order.iter().map(|&k| uniforms[k]).collect();
        for (k, outcome) in order.into_iter().zip(find(&ascending)?) {
            all[first + k] = outcome;
        }
        progress(done, shots);
    }
    Ok(all)
}

/// Counts the outcomes of all shots, round by round, by the counts of a round, which are in
/// ascending order; `progress` is told (done, all) shots after each.
fn count_rounds<C: IntoIterator<Item = (usize, u64)>, E: From<Cancelled>>(
    shots: usize,
    size: usize,
    threads: &Threads,
    progress: &mut dyn FnMut(usize, usize),
    count: impl Fn(Range<usize>) -> Result<C, E>,
) -> Result<Vec<(usize, u64)>, E> {
    let mut counts: Vec<(usize, u64)> = Vec::new();
    for round in rounds(shots, size) {
        threads.check()?;
        let done = round.end;
        let new = count(round)?;
        counts = if counts.is_empty() { new.into_iter().collect() } else { merge(counts, new) };
        progress(done, shots);
    }
    Ok(counts)
}

/// Returns the shots, round by round.
fn rounds(shots: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..shots).step_by(size).map(move |start| start..(start + size).min(shots))
}

/// Maps the uniform numbers of some shots by `make`; the shots begin with a stream.
fn drawn<D: Clone + Default + Send>(
    seed: u64,
    shots: Range<usize>,
    threads: &Threads,
    make: impl Fn(f64) -> D + Sync,
) -> Vec<D> {
    let mut draws = vec![D::default(); shots.len()];
    let first = shots.start / SHOTS_PER_STREAM;
    threads.chunks(&mut draws, SHOTS_PER_STREAM, |k, chunk| {
        let mut rng = stream(seed, (first + k) as u64);
        chunk.iter_mut().for_each(|draw| *draw = make(uniform(&mut rng)));
    });
    draws
}

/// Shot that has been assigned to a block: its position within the block's share of the
/// distribution, and the block.
#[derive(Clone, Copy, Default)]
struct Draw {
    within: f64,
    block: u32,
}

/// The cumulative distribution at the ends of blocks.
struct CdfTable<'a, S> {
    amplitudes: &'a [S],
    ends: Vec<f64>,
    /// First block that reaches beyond the beginning of each of equal parts of [0, 1).
    cells: Vec<u32>,
    total: f64,
}

impl<'a, T: Real, S: Scalar<Real = T>> CdfTable<'a, S> {
    fn new(state: &'a StateVector<S>, threads: &Threads) -> Result<CdfTable<'a, S>, StateError> {
        let mut total = 0.0;
        let mut ends = state.block_weights(threads)?;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        if !(total > 0.0 && total.is_finite()) {
            return Err(StateError::NotFinite { total });
        }
        let count = (CELLS_PER_BLOCK * ends.len()).min(MOST_CELLS);
        let mut cells = Vec::with_capacity(count);
        let mut block = 0;
        for cell in 0..count {
            let begin = cell as f64 / count as f64 * total;
            while block + 1 < ends.len() && ends[block] <= begin {
                block += 1;
            }
            cells.push(block as u32);
        }
        Ok(CdfTable { amplitudes: &state.amplitudes, ends, cells, total })
    }

    /// Returns the number of shots of a round.
    fn round(&self) -> usize {
        ROUND.max(self.amplitudes.len() / AMPLITUDES_PER_SHOT)
    }

    /// Returns the draws of some shots; they begin with a stream.
    fn drawn(&self, seed: u64, shots: Range<usize>, threads: &Threads) -> Vec<Draw> {
        drawn(seed, shots, threads, |u| self.find(u))
    }

    /// Returns the block in which u in [0, 1) falls. Cells begin at or before their numbers, so
    /// only blocks after the cell's first come into question. Where rounding takes u to the end of
    /// the distribution, it is the last block that can occur.
    fn find(&self, u: f64) -> Draw {
        let at = u * self.total;
        let mut block = self.cells[(u * self.cells.len() as f64) as usize] as usize;
        while self.ends[block] <= at && self.ends[block] < self.total {
            block += 1;
        }
        let start = if block == 0 { 0.0 } else { self.ends[block - 1] };
        Draw { within: at - start, block: block as u32 }
    }

    /// Calls `visit` with what it gathers, the number of the draw, and the outcome; draws come
    /// block by block. Returns the results, in the order of blocks.
    fn visit_draws<V: Default + Send>(
        &self,
        draws: &[Draw],
        threads: &Threads,
        visit: impl Fn(&mut V, usize, usize) + Sync,
    ) -> Vec<V> {
        // Counting: `next[k]` becomes the end of block k's draws while they are put in order.
        let mut next = vec![0u32; self.ends.len() + 1];
        draws.iter().for_each(|draw| next[draw.block as usize + 1] += 1);
        for k in 1..next.len() {
            next[k] += next[k - 1];
        }
        let mut sorted = vec![(0.0, 0u32); draws.len()];
        for (shot, draw) in draws.iter().enumerate() {
            let place = &mut next[draw.block as usize];
            sorted[*place as usize] = (draw.within, shot as u32);
            *place += 1;
        }
        let pieces = self.ends.len().div_ceil(BLOCKS_PER_PIECE);
        let piece = |piece: usize| {
            let mut gathered = V::default();
            let end = ((piece + 1) * BLOCKS_PER_PIECE).min(self.ends.len());
            for k in piece * BLOCKS_PER_PIECE..end {
                let start = if k == 0 { 0 } else { next[k - 1] };
                let mine = &sorted[start as usize..next[k] as usize];
                if mine.is_empty() {
                    continue;
                }
                let block = BlockCdf::new(
                    &self.amplitudes[k * BLOCK..((k + 1) * BLOCK).min(self.amplitudes.len())],
                );
                for &(within, shot) in mine {
                    visit(&mut gathered, shot as usize, k * BLOCK + block.find(within));
                }
            }
            gathered
        };
        let parallel = self.amplitudes.len() >= SERIAL_BELOW;
        if parallel { threads.map(pieces, piece) } else { (0..pieces).map(piece).collect() }
    }
}

/// The cumulative distribution within a block.
struct BlockCdf {
    /// Sums up to each amplitude of a group, from the group's start.
    sums: [[f64; GROUP]; GROUP],
    /// Sums up to the end of each group, from the block's start.
    ends: [f64; GROUP],
}

impl BlockCdf {
    fn new<T: Real, S: Scalar<Real = T>>(amplitudes: &[S]) -> BlockCdf {
        let mut block = BlockCdf { sums: [[0.0; GROUP]; GROUP], ends: [0.0; GROUP] };
        let mut end = 0.0;
        let mut groups = amplitudes.chunks(GROUP);
        for (sums, block_end) in block.sums.iter_mut().zip(&mut block.ends) {
            let mut sum = 0.0;
            let group = groups.next().unwrap_or_default();
            for (to, a) in sums.iter_mut().zip(group) {
                sum += a.abs2().primal().unwrap_or(0.0);
                *to = sum;
            }
            // The last block of a small state ends early.
            sums[group.len()..].fill(sum);
            end += sum;
            *block_end = end;
        }
        block
    }

    /// Returns the place at which the distribution passes `within`. A number past the end, which
    /// rounding may give, takes the last place that can occur.
    fn find(&self, within: f64) -> usize {
        let last = self.ends[self.ends.len() - 1];
        // Sums ascend, so those passed are counted: no branch, and registers may do it.
        let passed = |sums: &[f64; GROUP], x: f64, last: f64| -> usize {
            sums.iter().map(|&sum| usize::from(sum <= x) & usize::from(sum < last)).sum()
        };
        let group = passed(&self.ends, within, last);
        let start = if group == 0 { 0.0 } else { self.ends[group - 1] };
        let (sums, rest) = (&self.sums[group], within - start);
        group * GROUP + passed(sums, rest, sums[GROUP - 1])
    }
}

/// Counts of one piece: blocks come one after another.
#[derive(Default)]
struct Tally {
    done: Vec<(usize, u64)>,
    block: usize,
    counts: Vec<u32>,
}

impl Tally {
    fn add(&mut self, outcome: usize) {
        if outcome / BLOCK != self.block || self.counts.is_empty() {
            self.flush();
            self.block = outcome / BLOCK;
            self.counts.resize(BLOCK, 0);
        }
        self.counts[outcome % BLOCK] += 1;
    }

    fn flush(&mut self) {
        for (i, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            self.done.push((self.block * BLOCK + i, u64::from(*count)));
            *count = 0;
        }
    }

    fn finish(mut self) -> Vec<(usize, u64)> {
        self.flush();
        self.done
    }
}

/// Adds counts; both ascend.
fn merge(old: Vec<(usize, u64)>, new: impl IntoIterator<Item = (usize, u64)>) -> Vec<(usize, u64)> {
    let mut merged = Vec::with_capacity(old.len());
    let mut old = old.into_iter().peekable();
    for (outcome, count) in new {
        while let Some(before) = old.next_if(|o| o.0 < outcome) {
            merged.push(before);
        }
        let same = old.next_if(|o| o.0 == outcome).map_or(0, |o| o.1);
        merged.push((outcome, count + same));
    }
    merged.extend(old);
    merged
}
