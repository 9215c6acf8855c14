//! Between the state and the scratch: gather and scatter.
//!
//! A row of the scratch is a run of the state, so a gather splits registers `re im re im …` into two. The
//! scatter undoes the frame: logical row r, lane l is at place `rows[r] + lanes[l] + shift` (sums over
//! GF(2)). The lane map has values in some 2^k rows; each output register is picked from those rows by
//! permutes of pairs and then by blends. Here, too, the stage's factor and its signs are applied.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use std::ops::Range;

use num_complex::Complex;

use super::{compile::TileStage, kernels::Scratch};
use crate::basis::odd;
use crate::kernel::{
    Element,
    simd::{Simd, Task},
};

/// A row is asked for so many rows before it is gathered. Rows that lie a power of two apart compete for a few
/// sets of the first cache, which have room for little more.
const AHEAD: usize = 16;

/// Fills rows of the scratch.
pub(super) struct Gather<'a, E> {
    pub(super) stage: &'a TileStage<E>,
    /// The first amplitude of the tile.
    pub(super) from: *const E,
    pub(super) scratch: Scratch<E>,
    pub(super) rows: Range<usize>,
}

impl<'a, E> Gather<'a, E> {
    /// Fills all of it.
    pub(super) fn all(stage: &'a TileStage<E>, from: *const E, scratch: Scratch<E>) -> Gather<'a, E> {
        Gather { stage, from, scratch, rows: 0..stage.row_offsets.len() }
    }
}

impl<E: Element> Task<E> for Gather<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let offsets = self.stage.row_offsets.as_slice();
        for row in self.rows {
            // The number of rows is a power of 2; the last ones ask for the first ones again.
            let ahead = self.from.wrapping_add(2 * offsets[(row + AHEAD) & (offsets.len() - 1)]);
            S::prefetch(ahead);
            S::prefetch(ahead.wrapping_add(S::LANES));
            // SAFETY: rows of the tile are within the state, and the scratch has as many rows.
            unsafe {
                let at = self.from.add(2 * offsets[row]);
                let (re, im) = S::load(at).deinterleave(S::load(at.add(S::LANES)));
                re.store(self.scratch.re.add(row * S::LANES));
                im.store(self.scratch.im.add(row * S::LANES));
            }
        }
    }
}

/// The next tile, gathered into a scratch of its own while this one is worked on: a few rows at a time, so that
/// memory and arithmetic take turns in short steps, which the processor does at once.
pub(super) struct Background<'a, E> {
    next: Option<(&'a TileStage<E>, *const E, Scratch<E>)>,
    row: usize,
    rows_per_turn: usize,
}

/// A step takes turns with the background after so many entries of its table.
pub(super) const TURN: usize = 16;

impl<'a, E: Element> Background<'a, E> {
    /// Nothing to do.
    pub(super) fn none() -> Background<'a, E> {
        Background { next: None, row: 0, rows_per_turn: 0 }
    }

    /// Gathers the tile that begins at `from`.
    pub(super) fn new(stage: &'a TileStage<E>, from: *const E, scratch: Scratch<E>) -> Background<'a, E> {
        let rows_per_turn = stage.row_offsets.len().div_ceil(stage.turns().max(1));
        Background { next: Some((stage, from, scratch)), row: 0, rows_per_turn }
    }

    /// # Safety
    /// Called within `S::vectorize`; the tile is one of the state, and nobody else writes it or the scratch, which has room for it.
    #[inline(always)]
    pub(super) unsafe fn turn<S: Simd<Elem = E>>(&mut self) {
        // SAFETY: as for the caller.
        unsafe { self.gather::<S>(self.rows_per_turn) }
    }

    /// What is left.
    ///
    /// # Safety
    /// As [`Background::turn`].
    #[inline(always)]
    pub(super) unsafe fn finish<S: Simd<Elem = E>>(&mut self) {
        // SAFETY: as for the caller.
        unsafe { self.gather::<S>(usize::MAX) }
    }

    /// # Safety
    /// As [`Background::turn`].
    #[inline(always)]
    unsafe fn gather<S: Simd<Elem = E>>(&mut self, rows: usize) {
        if let Some((stage, from, scratch)) = self.next {
            let end = self.row.saturating_add(rows).min(stage.row_offsets.len());
            if end > self.row {
                // SAFETY: as for the caller.
                unsafe { S::vectorize(Gather { stage, from, scratch, rows: self.row..end }) };
                self.row = end;
            }
        }
    }
}

/// Writes the scratch back, times a factor.
pub(super) struct Scatter<'a, E> {
    pub(super) stage: &'a TileStage<E>,
    pub(super) to: *mut E,
    pub(super) scratch: Scratch<E>,
    pub(super) factor: Complex<E>,
    /// Whether to write past the caches.
    pub(super) streams: bool,
}

impl<E: Element> Scatter<'_, E> {
    /// Calls the loop that fits the number of rows that a register is picked from.
    ///
    /// # Safety
    /// Called within `S::vectorize`; scratch and state are those of the stage.
    #[inline(always)]
    pub(super) unsafe fn write<S: Simd<Elem = E>>(self, picks: &Picks<S>) {
        // SAFETY: as for the caller.
        unsafe {
            match picks.row_count {
                0 => S::vectorize(Write::<_, S, 0> { scatter: self, picks }),
                1 => S::vectorize(Write::<_, S, 1> { scatter: self, picks }),
                2 => S::vectorize(Write::<_, S, 2> { scatter: self, picks }),
                4 => S::vectorize(Write::<_, S, 4> { scatter: self, picks }),
                8 => S::vectorize(Write::<_, S, 8> { scatter: self, picks }),
                _ => S::vectorize(Write::<_, S, 16> { scatter: self, picks }),
            }
        }
    }
}

/// The most lanes of any register.
const MAX_LANES: usize = 16;

/// How output registers are picked, the same for all tiles.
pub(super) struct Picks<S: Simd> {
    /// Rows, relative to that of the first lane, that the lanes come from: a linear space, in an order
    /// where number j is the sum of those of the bits of j. Empty if nothing has moved.
    rows: [usize; MAX_LANES],
    row_count: usize,
    /// For each exclusive-or of lanes, where to find a lane in a pair of rows.
    pairs: [S::PairIndex; MAX_LANES],
    /// For each level of blends, the lanes of the upper half.
    blends: [S::Mask; 3],
}

impl<S: Simd> Picks<S> {
    /// # Safety
    /// Called within `S::vectorize`.
    #[inline(always)]
    pub(super) unsafe fn new(stage: &TileStage<S::Elem>) -> Picks<S> {
        let inside = S::LANES - 1;
        let (mut rows, mut row_count) = ([0; MAX_LANES], 0);
        let mut lanes: &[usize] = &[];
        if let Some(exit) = &stage.exit {
            lanes = &exit.lanes;
            row_count = 1;
            for lane in lanes {
                let row = lane & !inside;
                if !rows[..row_count].contains(&row) {
                    for i in 0..row_count {
                        rows[row_count + i] = rows[i] ^ row;
                    }
                    row_count *= 2;
                }
            }
        }
        let lane = |j: usize| lanes.get(j).copied().unwrap_or(j);
        let number = |j: usize| rows[..row_count].iter().position(|&r| r == lane(j) & !inside).unwrap_or(0);
        let pair = |x: usize, j: usize| ((lane(j) & inside) ^ x) + S::LANES * (number(j) & 1);
        // SAFETY: as for the caller; `pair` is below 2 LANES.
        let (pairs, blends) = unsafe {
            let mut pairs = [S::pair_index(|j| pair(0, j)); MAX_LANES];
            for (x, index) in pairs.iter_mut().enumerate().take(S::LANES) {
                *index = S::pair_index(|j| pair(x, j));
            }
            let blend = |level: usize| S::mask(|j| number(j) >> (level + 1) & 1 == 1);
            (pairs, [blend(0), blend(1), blend(2)])
        };
        Picks { rows, row_count, pairs, blends }
    }
}

struct Write<'a, E, S: Simd, const FROM: usize> {
    scatter: Scatter<'a, E>,
    picks: &'a Picks<S>,
}

impl<E: Element, P: Simd<Elem = E>, const FROM: usize> Task<E> for Write<'_, E, P, FROM> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let Write { scatter: Scatter { stage, to, scratch, factor, streams }, picks } = self;
        let inside = P::LANES - 1;
        let shifted = |s: &&(usize, bool, usize)| odd(s.0 & scratch.outer) ^ s.1;
        let (places, shift) = match &stage.exit {
            Some(exit) => {
                (exit.rows.as_slice(), exit.shifts.iter().filter(shifted).fold(0, |sum, s| sum ^ s.2))
            }
            None => (&[][..], 0),
        };
        // SAFETY: the output rows are those of the tile in the state; the places are below 2^bits, which the
        // scratch holds. `P` is `S`: `write` passes itself.
        unsafe {
            let factors = factors::<P>(stage, factor, stage.signs.negates(scratch.outer, shift));
            let real = factor.im == E::zero();
            for (row, offset) in stage.row_offsets.iter().enumerate() {
                let (x, y) = if FROM == 0 {
                    (P::load(scratch.re.add(row * P::LANES)), P::load(scratch.im.add(row * P::LANES)))
                } else {
                    let place = *places.get_unchecked(row) as usize ^ shift;
                    let pair = *picks.pairs.get_unchecked(place & inside);
                    let first = place & !inside;
                    let zero = P::splat(E::zero());
                    let (mut x, mut y) = ([zero; 8], [zero; 8]);
                    for j in 0..FROM.div_ceil(2) {
                        let a = first ^ *picks.rows.get_unchecked(2 * j);
                        let b = if FROM > 1 { first ^ *picks.rows.get_unchecked(2 * j + 1) } else { a };
                        x[j] = P::load(scratch.re.add(a)).permute2(P::load(scratch.re.add(b)), pair);
                        y[j] = P::load(scratch.im.add(a)).permute2(P::load(scratch.im.add(b)), pair);
                    }
                    let mut half = FROM / 2;
                    for level in 0..3 {
                        if half > 1 {
                            half /= 2;
                            for j in 0..half {
                                x[j] = x[2 * j].blend(x[2 * j + 1], picks.blends[level]);
                                y[j] = y[2 * j].blend(y[2 * j + 1], picks.blends[level]);
                            }
                        }
                    }
                    (x[0], y[0])
                };
                let [c, s] = factors[usize::from(odd(row & stage.signs.written >> P::LANE_BITS))];
                let (x, y) = if real {
                    (x.mul(c), y.mul(c))
                } else {
                    (y.neg_mul_add(s, x.mul(c)), x.mul_add(s, y.mul(c)))
                };
                let (first, second) = x.interleave(y);
                let at = to.add(2 * offset);
                if streams {
                    first.stream(at);
                    second.stream(at.add(P::LANES));
                    continue;
                }
                let ahead =
                    to.wrapping_add(2 * stage.row_offsets[(row + AHEAD) & (stage.row_offsets.len() - 1)]);
                P::prefetch(ahead);
                P::prefetch(ahead.wrapping_add(P::LANES));
                first.store(at);
                second.store(at.add(P::LANES));
            }
        }
    }
}

/// The real and the imaginary part of the factor with the signs of the lanes, for rows of even and of odd parity.
///
/// # Safety
/// Called within `P::vectorize`.
#[inline(always)]
unsafe fn factors<P: Simd>(
    stage: &TileStage<P::Elem>,
    factor: Complex<P::Elem>,
    negative: bool,
) -> [[P; 2]; 2] {
    // SAFETY: as for the caller; the array has room for any register.
    unsafe {
        let mut both = [[P::splat(factor.re); 2]; 2];
        for (odd_row, parts) in both.iter_mut().enumerate() {
            for (x, part) in [factor.re, factor.im].into_iter().zip(parts) {
                let sign = |lane: usize| odd(lane & stage.signs.written) ^ negative ^ (odd_row == 1);
                let lanes: [P::Elem; MAX_LANES] = std::array::from_fn(|lane| if sign(lane) { -x } else { x });
                *part = P::load(lanes.as_ptr());
            }
        }
        both
    }
}
