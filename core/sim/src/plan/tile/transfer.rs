//! Between the state and the scratch: gather and scatter.
//!
//! A row of the scratch is a run of the state, so a gather splits registers `re im re im …` into
//! two. The scatter undoes the frame: logical row r, lane l is at place
//! `rows[r] + lanes[l] + shift` (sums over GF(2)). The lane map has values in some 2^k rows; each
//! output register is picked from those rows by permutes of pairs and then by blends. Here, too,
//! the stage's factor and its signs are applied.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

use std::ops::Range;

use num_complex::Complex;
use num_traits::Zero;

use super::{
    SCRATCHES, SKEW_BYTES,
    block::DenseBlock,
    compile::TileStage,
    frame::StageExit,
    kernels::{self, StateDestination, TileScratch},
    scratch_len,
};
use crate::basis::odd;
use crate::kernel::{
    SimdFloat,
    simd::{Simd, Task},
};

/// Number of rows between the prefetch of a row and its gather. Rows that lie a power of two apart
/// compete for a few sets of the first cache, which have room for little more.
pub(super) const AHEAD: usize = 16;

/// The rows of a tile in the state, to be written.
#[derive(Clone, Copy)]
pub(super) struct StateRows<'a, E> {
    /// The first amplitude of the tile.
    to: *mut E,
    /// The first amplitude of each row.
    offsets: &'a [usize],
    /// True if rows are written past the caches.
    streams: bool,
}

impl<E: SimdFloat> StateRows<'_, E> {
    /// # Safety
    /// *row*.
    #[inline(always)]
    unsafe fn row_pointer(&self, row: usize) -> *mut E {
        debug_assert!(row < self.offsets.len());
        // SAFETY: *row* is the caller's promise: there is an offset for each.
        self.to.wrapping_add(2 * unsafe { *self.offsets.get_unchecked(row) })
    }

    /// Prefetches a row, which will be written to.
    ///
    /// # Safety
    /// *row*.
    #[inline(always)]
    pub(super) unsafe fn prefetch_row<S: Simd<Elem = E>>(&self, row: usize) {
        if !self.streams {
            // SAFETY: *row* is the caller's promise.
            let at = unsafe { self.row_pointer(row) };
            S::prefetch(at);
            S::prefetch(at.wrapping_add(S::LANES));
        }
    }

    /// Writes a row.
    ///
    /// # Safety
    /// *set*; *row*; *owner*.
    #[inline(always)]
    pub(super) unsafe fn write<S: Simd<Elem = E>>(&self, row: usize, (x, y): (S, S)) {
        let (first, second) = x.interleave(y);
        // SAFETY: *set*, *row* and *owner* are the caller's promises.
        unsafe {
            let at = self.row_pointer(row);
            if self.streams {
                first.stream(at);
                second.stream(at.add(S::LANES));
            } else {
                first.store(at);
                second.store(at.add(S::LANES));
            }
        }
    }
}

/// Fills rows of the scratch: with all of the tile, or with what is not zero, and no other row is
/// read.
struct Gather<'a, E, const ALL: bool> {
    stage: &'a TileStage<E>,
    /// The first amplitude of the tile.
    from: *const E,
    scratch: TileScratch<E>,
    rows: Range<usize>,
}

impl<E: SimdFloat, const ALL: bool> Task<E> for Gather<'_, E, ALL> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let (offsets, dead) = (self.stage.row_offsets.as_slice(), self.stage.collapsed);
        for row in self.rows {
            if ALL {
                // The number of rows is a power of 2; the last ones prefetch the first ones again.
                let ahead =
                    self.from.wrapping_add(2 * offsets[(row + AHEAD) & (offsets.len() - 1)]);
                S::prefetch(ahead);
                S::prefetch(ahead.wrapping_add(S::LANES));
            }
            // SAFETY: rows of the tile are within the state, and the scratch has as many rows.
            unsafe {
                let (re, im) = if ALL || offsets[row] & dead == 0 {
                    let at = self.from.add(2 * offsets[row]);
                    S::load(at).deinterleave(S::load(at.add(S::LANES)))
                } else {
                    (S::splat(E::zero()), S::splat(E::zero()))
                };
                re.store(self.scratch.re.add(row * S::LANES));
                im.store(self.scratch.im.add(row * S::LANES));
            }
        }
    }
}

/// The tiles of one state on their way through the scratches of one thread: while a tile is worked
/// on, the next one is gathered, a few rows at a time, so that memory and arithmetic take turns in
/// short steps, which the processor does at once. (To write the last tile in the same way was
/// slower.)
pub(super) struct Pipeline<'a, S: Simd> {
    stage: &'a TileStage<S::Elem>,
    picks: &'a ScatterPattern<S>,
    state: *mut S::Elem,
    parts: *mut S::Elem,
    /// The numbers of the tiles.
    tiles: Range<usize>,
    /// True if tiles are written past the caches.
    streams: bool,
    /// The tile that is being gathered, by its first amplitude.
    next: Option<(*const S::Elem, TileScratch<S::Elem>)>,
    /// Number of its rows that have been gathered.
    row: usize,
    rows_per_step: usize,
}

/// Number of entries of its table after which a step lets the pipeline gather some rows.
pub(super) const ENTRIES_PER_GATHER: usize = 16;

impl<'a, S: Simd> Pipeline<'a, S> {
    /// Gathers the first of some tiles. `parts` are those of a workspace.
    ///
    /// # Safety
    /// *set*; *size*; *owner*; all of them for as long as the pipeline is used.
    #[inline(always)]
    pub(super) unsafe fn new(
        stage: &'a TileStage<S::Elem>,
        picks: &'a ScatterPattern<S>,
        state: *mut S::Elem,
        parts: *mut S::Elem,
        tiles: Range<usize>,
        streams: bool,
    ) -> Pipeline<'a, S> {
        let rows_per_turn = stage.row_offsets.len().div_ceil(stage.gather_steps().max(1));
        let row = stage.row_offsets.len();
        let mut pipeline = Pipeline {
            stage,
            picks,
            state,
            parts,
            tiles,
            streams,
            next: None,
            row,
            rows_per_step: rows_per_turn,
        };
        // SAFETY: *set*, *size* and *owner* are the caller's promises.
        unsafe {
            pipeline.fetch(pipeline.tiles.start);
            pipeline.gather_rows(usize::MAX);
        }
        pipeline
    }

    /// Returns the scratch of a tile, by its number.
    fn scratch(&self, number: usize) -> TileScratch<S::Elem> {
        let re =
            self.parts.wrapping_add(number % SCRATCHES * scratch_len::<S::Elem>(self.stage.bits));
        let im = re.wrapping_add((1 << self.stage.bits) + SKEW_BYTES / size_of::<S::Elem>());
        TileScratch { re, im, outer: self.stage.tile_at(number) }
    }

    /// Begins to gather a tile.
    fn fetch(&mut self, number: usize) {
        self.next = self.tiles.contains(&number).then(|| {
            let scratch = self.scratch(number);
            (self.state.wrapping_add(2 * scratch.outer).cast_const(), scratch)
        });
        self.row = 0;
    }

    /// Returns the tile of this number, which is the one after that of the last call.
    #[inline(always)]
    pub(super) fn next_scratch(&mut self, number: usize) -> TileScratch<S::Elem> {
        self.fetch(number + 1);
        self.scratch(number)
    }

    /// Returns the rows of the tile at an index.
    fn rows(&self, outer: usize) -> StateRows<'a, S::Elem> {
        StateRows {
            to: self.state.wrapping_add(2 * outer),
            offsets: &self.stage.row_offsets,
            streams: self.streams,
        }
    }

    /// Writes the tile, which has been worked on.
    ///
    /// # Safety
    /// Requirements of [`Pipeline::new`].
    #[inline(always)]
    pub(super) unsafe fn finish_tile(&mut self, scratch: TileScratch<S::Elem>) {
        // SAFETY: *set*, *size* and *owner* were promised to `new`, for as long as the pipeline is
        // used.
        unsafe {
            self.gather_rows(usize::MAX);
            Scatter::new(self.stage, self.picks, self.rows(scratch.outer), scratch).write();
        }
    }

    /// Runs the last step of the stage on the tile, which leaves the scratch by it.
    ///
    /// # Safety
    /// Requirements of [`Pipeline::new`]; the block is a factored one.
    #[inline(always)]
    pub(super) unsafe fn finish_tile_with(
        &mut self,
        block: &DenseBlock<S::Elem>,
        scratch: TileScratch<S::Elem>,
    ) {
        let (rows, factor) = (self.rows(scratch.outer), self.stage.factor_at(scratch.outer));
        // SAFETY: *set*, *size* and *owner* were promised to `new`; that the block is a factored
        // one is the caller's promise.
        unsafe {
            let factor = [S::splat(factor.re), S::splat(factor.im)];
            kernels::last_step(block, scratch, self, StateDestination { rows, factor });
            self.gather_rows(usize::MAX);
        }
    }

    /// Gathers a few rows.
    ///
    /// # Safety
    /// Requirements of [`Pipeline::new`].
    #[inline(always)]
    pub(super) unsafe fn gather_some(&mut self) {
        // SAFETY: *set*, *size* and *owner* were promised to `new`, for as long as the pipeline is
        // used.
        unsafe { self.gather_rows(self.rows_per_step) }
    }

    /// # Safety
    /// Requirements of [`Pipeline::new`].
    #[inline(always)]
    unsafe fn gather_rows(&mut self, rows: usize) {
        let Some((from, scratch)) = self.next else { return };
        let stage = self.stage;
        let rows = self.row..stage.row_offsets.len().min(self.row.saturating_add(rows));
        if !rows.is_empty() {
            self.row = rows.end;
            // SAFETY: *set*, *size* and *owner* were promised to `new`, for as long as the pipeline
            // is used.
            unsafe {
                if stage.collapsed == 0 {
                    S::vectorize(Gather::<_, true> { stage, from, scratch, rows });
                } else {
                    S::vectorize(Gather::<_, false> { stage, from, scratch, rows });
                }
            };
        }
    }
}

/// Writes a scratch back, times a factor.
struct Scatter<'a, S: Simd> {
    stage: &'a TileStage<S::Elem>,
    picks: &'a ScatterPattern<S>,
    to: StateRows<'a, S::Elem>,
    scratch: TileScratch<S::Elem>,
    /// Vector that is added to all places.
    shift: usize,
    factors: [[S; 2]; 2],
    /// True if the factor is real.
    real: bool,
}

impl<'a, S: Simd> Scatter<'a, S> {
    /// Creates the scatter to a tile of the state.
    ///
    /// # Safety
    /// *set*.
    #[inline(always)]
    unsafe fn new(
        stage: &'a TileStage<S::Elem>,
        picks: &'a ScatterPattern<S>,
        to: StateRows<'a, S::Elem>,
        scratch: TileScratch<S::Elem>,
    ) -> Scatter<'a, S> {
        let shifted = |s: &&(usize, bool, usize)| odd(s.0 & scratch.outer) ^ s.1;
        let sum = |exit: &StageExit| exit.shifts.iter().filter(shifted).fold(0, |sum, s| sum ^ s.2);
        let shift = stage.exit.as_ref().map_or(0, sum);
        let factor = stage.factor_at(scratch.outer);
        // SAFETY: *set* is the caller's promise.
        let factors =
            unsafe { factors::<S>(stage, factor, stage.signs.negates(scratch.outer, shift)) };
        let real = factor.im == S::Elem::zero();
        Scatter { stage, picks, to, scratch, shift, factors, real }
    }

    /// Writes the tile, by the loop that fits the number of rows that a register is picked from.
    ///
    /// # Safety
    /// *set*; *size*; *owner*.
    #[inline(always)]
    unsafe fn write(&self) {
        // SAFETY: *set*, *size* and *owner* are the caller's promises.
        unsafe {
            match self.picks.row_count {
                0 => S::vectorize(ScatterRows::<S, 0> { scatter: self }),
                1 => S::vectorize(ScatterRows::<S, 1> { scatter: self }),
                2 => S::vectorize(ScatterRows::<S, 2> { scatter: self }),
                4 => S::vectorize(ScatterRows::<S, 4> { scatter: self }),
                8 => S::vectorize(ScatterRows::<S, 8> { scatter: self }),
                _ => S::vectorize(ScatterRows::<S, 16> { scatter: self }),
            }
        }
    }
}

/// Largest number of lanes of any register.
const MAX_LANES: usize = 16;

/// Pattern by which lanes of output registers are picked, the same for all tiles.
pub(super) struct ScatterPattern<S: Simd> {
    /// Rows, relative to that of the first lane, that the lanes come from: a linear space, in an
    /// order where number j is the sum of those of the bits of j. Empty if nothing has moved.
    rows: [usize; MAX_LANES],
    row_count: usize,
    /// Location of a lane in a pair of rows, for each exclusive-or of lanes.
    pairs: [S::PairIndex; MAX_LANES],
    /// Lanes of the upper half, for each level of blends.
    blends: [S::Mask; 3],
}

impl<S: Simd> ScatterPattern<S> {
    /// # Safety
    /// *set*.
    #[inline(always)]
    pub(super) unsafe fn new(stage: &TileStage<S::Elem>) -> ScatterPattern<S> {
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
        let number =
            |j: usize| rows[..row_count].iter().position(|&r| r == lane(j) & !inside).unwrap_or(0);
        let pair = |x: usize, j: usize| ((lane(j) & inside) ^ x) + S::LANES * (number(j) & 1);
        // SAFETY: *set* is the caller's promise; `pair` is below 2 LANES.
        let (pairs, blends) = unsafe {
            let mut pairs = [S::pair_index(|j| pair(0, j)); MAX_LANES];
            for (x, index) in pairs.iter_mut().enumerate().take(S::LANES) {
                *index = S::pair_index(|j| pair(x, j));
            }
            let blend = |level: usize| S::mask(|j| number(j) >> (level + 1) & 1 == 1);
            (pairs, [blend(0), blend(1), blend(2)])
        };
        ScatterPattern { rows, row_count, pairs, blends }
    }
}

struct ScatterRows<'a, S: Simd, const FROM: usize> {
    scatter: &'a Scatter<'a, S>,
}

impl<P: Simd, const FROM: usize> Task<P::Elem> for ScatterRows<'_, P, FROM> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = P::Elem>>(self) {
        let &Scatter { stage, picks, to, scratch, shift, ref factors, real } = self.scatter;
        let inside = P::LANES - 1;
        let places = stage.exit.as_ref().map_or(&[][..], |exit| exit.rows.as_slice());
        let count = stage.row_offsets.len();
        // SAFETY: the output rows are those of the tile in the state; the places are below 2^bits,
        // which the scratch holds. `P` is `S`: `write` passes itself.
        unsafe {
            for row in 0..count {
                let (x, y) = if FROM == 0 {
                    (
                        P::load(scratch.re.add(row * P::LANES)),
                        P::load(scratch.im.add(row * P::LANES)),
                    )
                } else {
                    let place = *places.get_unchecked(row) as usize ^ shift;
                    let pair = *picks.pairs.get_unchecked(place & inside);
                    let first = place & !inside;
                    let zero = P::splat(P::Elem::zero());
                    let (mut x, mut y) = ([zero; 8], [zero; 8]);
                    for j in 0..FROM.div_ceil(2) {
                        let a = first ^ *picks.rows.get_unchecked(2 * j);
                        let b =
                            if FROM > 1 { first ^ *picks.rows.get_unchecked(2 * j + 1) } else { a };
                        x[j] =
                            P::load(scratch.re.add(a)).permute2(P::load(scratch.re.add(b)), pair);
                        y[j] =
                            P::load(scratch.im.add(a)).permute2(P::load(scratch.im.add(b)), pair);
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
                // The number of rows is a power of 2; the last ones prefetch the first ones again.
                to.prefetch_row::<P>((row + AHEAD) & (count - 1));
                to.write(row, (x, y));
            }
        }
    }
}

/// Returns the real and the imaginary part of the factor with the signs of the lanes, for rows of
/// even and of odd parity.
///
/// # Safety
/// *set*.
#[inline(always)]
unsafe fn factors<P: Simd>(
    stage: &TileStage<P::Elem>,
    factor: Complex<P::Elem>,
    negative: bool,
) -> [[P; 2]; 2] {
    // SAFETY: *set* is the caller's promise; the array has room for any register.
    unsafe {
        let mut both = [[P::splat(factor.re); 2]; 2];
        for (odd_row, parts) in both.iter_mut().enumerate() {
            for (x, part) in [factor.re, factor.im].into_iter().zip(parts) {
                let sign =
                    |lane: usize| odd(lane & stage.signs.written) ^ negative ^ (odd_row == 1);
                let lanes: [P::Elem; MAX_LANES] =
                    std::array::from_fn(|lane| if sign(lane) { -x } else { x });
                *part = P::load(lanes.as_ptr());
            }
        }
        both
    }
}
