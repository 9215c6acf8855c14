//! The loops over a tile: sweeps of rotations and dense blocks.
//!
//! Real and imaginary parts lie in two arrays; a register holds one row of one of them. A sweep
//! loads 2^k rows that its k row vectors connect, multiplies them by the phases of the level, turns
//! them along each row vector (`a - t b`, `b + t a`) and each lane vector (`x + t lanes(x)`), and
//! stores them: 4 flops for each amplitude and rotation, one load and store for up to six
//! rotations.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]
#![expect(clippy::needless_range_loop, reason = "loops over register numbers, which are unrolled")]

use num_complex::Complex;
use num_traits::Zero;

use super::{
    block::DenseBlock,
    compile::{RotationSweep, TileStep},
    phases::{Phases, TilePhases},
    rows::SIGN_SHIFT,
    transfer::{AHEAD, ENTRIES_PER_GATHER, Pipeline, StateRows},
};
use crate::basis::odd;
use crate::kernel::{
    SimdFloat,
    simd::{Simd, Task, unroll},
};

/// A tile in its scratch: 2^bits real parts, 2^bits imaginary parts, and the tile's index.
#[derive(Clone, Copy)]
pub(super) struct TileScratch<E> {
    pub(super) re: *mut E,
    pub(super) im: *mut E,
    pub(super) outer: usize,
}

/// Runs a step on a tile.
///
/// # Safety
/// *set*; *size*.
#[inline(always)]
pub(super) unsafe fn step<S: Simd>(
    step: &TileStep<S::Elem>,
    scratch: TileScratch<S::Elem>,
    product: &mut TilePhases<S::Elem>,
    pipeline: &mut Pipeline<'_, S>,
) {
    // SAFETY: *set* and *size* are the caller's promises.
    unsafe {
        match step {
            TileStep::Sweep(sweep) => run_sweep::<S>(sweep, scratch, product, pipeline),
            TileStep::Multiplexed(group) => group.run::<S>(scratch, pipeline),
            TileStep::Dense(block) => match (block.row_offsets.len(), block.factored) {
                (4, false) => S::vectorize(DenseRun::<S, 4, 1> { block, scratch, pipeline }),
                (2, false) => S::vectorize(DenseRun::<S, 2, 2> { block, scratch, pipeline }),
                (_, false) => S::vectorize(DenseRun::<S, 1, 4> { block, scratch, pipeline }),
                (_, true) => factored(block, scratch, pipeline, scratch),
            },
            // One vector alone has nothing to be multiplied with.
            TileStep::Probes(_) => {}
        }
    }
}

/// Runs the last step of a stage, whose rows go to the state at once: the block computes while
/// lines of the state come.
///
/// # Safety
/// *set*; *size*; *owner*; the block is a factored one.
#[inline(always)]
pub(super) unsafe fn last_step<S: Simd>(
    block: &DenseBlock<S::Elem>,
    scratch: TileScratch<S::Elem>,
    pipeline: &mut Pipeline<'_, S>,
    leave: StateDestination<'_, S>,
) {
    // SAFETY: *set*, *size* and *owner* are the caller's promises, and that the block is a factored
    // one.
    unsafe { factored(block, scratch, pipeline, leave) }
}

/// Destination of the rows of a factored block.
trait Destination<S: Simd> {
    /// True if places are prefetched before they are written.
    const FAR: bool;

    /// Prefetches a row's place.
    ///
    /// # Safety
    /// *row*.
    unsafe fn prefetch_row(&self, row: usize);

    /// Writes a row.
    ///
    /// # Safety
    /// *set*; *row*; *owner* where the rows are those of the state.
    unsafe fn store_row(&self, row: usize, x: S, y: S);
}

/// Back to the scratch, which is in the cache.
impl<S: Simd> Destination<S> for TileScratch<S::Elem> {
    const FAR: bool = false;

    #[inline(always)]
    unsafe fn prefetch_row(&self, _: usize) {}

    #[inline(always)]
    unsafe fn store_row(&self, row: usize, x: S, y: S) {
        // SAFETY: *set* and *row* are the caller's promises; the scratch has a register for each
        // row.
        unsafe {
            x.store(self.re.add(row * S::LANES));
            y.store(self.im.add(row * S::LANES));
        }
    }
}

/// Destination in the state, without a scatter.
pub(super) struct StateDestination<'a, S: Simd> {
    pub(super) rows: StateRows<'a, S::Elem>,
    /// The real and the imaginary part of what all are multiplied by.
    pub(super) factor: [S; 2],
}

impl<S: Simd> Destination<S> for StateDestination<'_, S> {
    const FAR: bool = true;

    #[inline(always)]
    unsafe fn prefetch_row(&self, row: usize) {
        // SAFETY: *row* is the caller's promise.
        unsafe { self.rows.prefetch_row::<S>(row) }
    }

    #[inline(always)]
    unsafe fn store_row(&self, row: usize, x: S, y: S) {
        let [c, s] = self.factor;
        // SAFETY: *set*, *row* and *owner* are the caller's promises.
        unsafe { self.rows.write(row, times(x, y, c, s)) }
    }
}

#[inline(always)]
unsafe fn factored<S: Simd, D: Destination<S>>(
    block: &DenseBlock<S::Elem>,
    scratch: TileScratch<S::Elem>,
    pipeline: &mut Pipeline<'_, S>,
    to: D,
) {
    // SAFETY: *set* and *size* are the caller's promises, and *owner* where the rows go to the
    // state.
    unsafe {
        match block.row_offsets.len() {
            4 => S::vectorize(FactoredRun::<S, D, 4> { block, scratch, pipeline, to }),
            2 => S::vectorize(FactoredRun::<S, D, 2> { block, scratch, pipeline, to }),
            _ => S::vectorize(FactoredRun::<S, D, 1> { block, scratch, pipeline, to }),
        }
    }
}

/// No phases before the rotations.
const NONE: u8 = 0;
/// One table.
const TABLE: u8 = 1;
/// Any number of tables and a product.
const ANY: u8 = 2;

#[inline(always)]
unsafe fn run_sweep<S: Simd>(
    sweep: &RotationSweep<S::Elem>,
    scratch: TileScratch<S::Elem>,
    product: &mut TilePhases<S::Elem>,
    pipeline: &mut Pipeline<'_, S>,
) {
    let kind = match &sweep.phases {
        None => NONE,
        Some(phases) => {
            phases.prepare(scratch.outer, product);
            if phases.tables() == 1 && !phases.has_product() { TABLE } else { ANY }
        }
    };
    let product = &*product;
    macro_rules! off_diagonal {
        ($rows:literal) => {
            match (kind, sweep.crossed) {
                (NONE, false) => S::vectorize(SweepRun::<S, $rows, NONE, false> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
                (NONE, true) => S::vectorize(SweepRun::<S, $rows, NONE, true> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
                (TABLE, false) => S::vectorize(SweepRun::<S, $rows, TABLE, false> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
                (TABLE, true) => S::vectorize(SweepRun::<S, $rows, TABLE, true> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
                (_, false) => S::vectorize(SweepRun::<S, $rows, ANY, false> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
                (_, true) => S::vectorize(SweepRun::<S, $rows, ANY, true> {
                    sweep,
                    scratch,
                    product,
                    pipeline,
                }),
            }
        };
    }
    // SAFETY: *set* and *size* are the caller's promises.
    unsafe {
        match sweep.rows {
            0 => off_diagonal!(0),
            1 => off_diagonal!(1),
            2 => off_diagonal!(2),
            _ => off_diagonal!(3),
        }
    }
}

struct SweepRun<'a, 'b, P: Simd, const ROWS: usize, const PHASES: u8, const CROSSED: bool> {
    sweep: &'a RotationSweep<P::Elem>,
    scratch: TileScratch<P::Elem>,
    product: &'a TilePhases<P::Elem>,
    pipeline: &'a mut Pipeline<'b, P>,
}

impl<P: Simd, const ROWS: usize, const PHASES: u8, const CROSSED: bool> Task<P::Elem>
    for SweepRun<'_, '_, P, ROWS, PHASES, CROSSED>
{
    type Output = ();

    #[inline(always)]
    #[allow(
        unconditional_panic,
        reason = "`unroll` writes out turns beyond the count, which never run"
    )]
    unsafe fn run<S: Simd<Elem = P::Elem>>(self) {
        let SweepRun { sweep, scratch: TileScratch { re, im, outer }, product, pipeline } = self;
        let count = 1 << ROWS;
        let flipped = |(i, t): (usize, &super::compile::SweepRotation)| {
            usize::from(odd(t.outer & outer) ^ t.flip) << i
        };
        let signs: usize = sweep.rotations.iter().enumerate().map(flipped).sum();
        let tangents = sweep.tangents.as_ptr();
        // SAFETY: rows and their sums with row vectors are below 2^bits / LANES, which is what the
        // scratch and the tables hold; the tangents hold two registers for each turn.
        unsafe {
            let zero = S::splat(P::Elem::zero());
            let mut crossing = [S::index(|j| j); 8];
            let mut offsets = [0; 8];
            for set in 0..count {
                crossing[set] = S::index(|j| j ^ sweep.row_flips[set]);
                offsets[set] = sweep.row_offsets[set];
            }
            let lane_turns = &sweep.rotations[ROWS.min(sweep.rotations.len())..];
            let mut exchanges = [S::index(|j| j); 4];
            for (exchange, turn) in exchanges.iter_mut().zip(lane_turns) {
                *exchange = S::index(|j| j ^ turn.lanes);
            }
            let lane_count = lane_turns.len().min(exchanges.len());
            let tangent = |turn: usize, all: usize| {
                S::load(tangents.add((2 * turn + (all >> turn & 1)) * S::LANES))
            };
            for chunk in sweep.table.chunks(ENTRIES_PER_GATHER) {
                pipeline.gather_some();
                for &entry in chunk {
                    let first = (entry & ((1 << SIGN_SHIFT) - 1)) as usize;
                    let all = (entry >> SIGN_SHIFT) as usize ^ signs;
                    let (mut x, mut y) = ([zero; 8], [zero; 8]);
                    unroll!(set in 0..1 << ROWS, at most 8 => {
                        let row = first ^ offsets[set];
                        (x[set], y[set]) = (S::load(re.add(row * S::LANES)), S::load(im.add(row * S::LANES)));
                        if PHASES != NONE
                            && let Some(phases) = &sweep.phases
                        {
                            (x[set], y[set]) = apply_phases::<S, PHASES>(x[set], y[set], row, phases, product);
                        }
                        if CROSSED && set > 0 {
                            (x[set], y[set]) = (x[set].permute(crossing[set]), y[set].permute(crossing[set]));
                        }
                    });
                    unroll!(turn in 0..ROWS, at most 4 => {
                        let t = tangent(turn, all);
                        unroll!(low in 0..1 << ROWS, at most 8 => {
                            if low >> turn & 1 == 0 {
                                let high = low | 1 << turn;
                                let (a, b) = (x[low], x[high]);
                                (x[low], x[high]) = (t.neg_mul_add(b, a), t.mul_add(a, b));
                                let (a, b) = (y[low], y[high]);
                                (y[low], y[high]) = (t.neg_mul_add(b, a), t.mul_add(a, b));
                            }
                        });
                    });
                    for (k, exchange) in exchanges[..lane_count].iter().enumerate() {
                        let t = tangent(ROWS + k, all);
                        unroll!(set in 0..1 << ROWS, at most 8 => {
                            x[set] = t.mul_add(x[set].permute(*exchange), x[set]);
                            y[set] = t.mul_add(y[set].permute(*exchange), y[set]);
                        });
                    }
                    unroll!(set in 0..1 << ROWS, at most 8 => {
                        let row = first ^ offsets[set];
                        if CROSSED && set > 0 {
                            (x[set], y[set]) = (x[set].permute(crossing[set]), y[set].permute(crossing[set]));
                        }
                        x[set].store(re.add(row * S::LANES));
                        y[set].store(im.add(row * S::LANES));
                    });
                }
            }
        }
    }
}

/// Returns the amplitudes of a row times its phases.
///
/// # Safety
/// *set*; *row*.
#[inline(always)]
unsafe fn apply_phases<S: Simd, const PHASES: u8>(
    mut x: S,
    mut y: S,
    row: usize,
    phases: &Phases<S::Elem>,
    product: &TilePhases<S::Elem>,
) -> (S, S) {
    let at = row * S::LANES;
    // SAFETY: tables are as long as the tile; a product's low part is 64 numbers, the high one the
    // rest.
    unsafe {
        let (re, im) = (phases.re.as_ptr(), phases.im.as_ptr());
        if PHASES == TABLE {
            let at = at + *product.variants.get_unchecked(0);
            return times(x, y, S::load(re.add(at)), S::load(im.add(at)));
        }
        for start in &product.variants {
            (x, y) = times(x, y, S::load(re.add(start + at)), S::load(im.add(start + at)));
        }
        if phases.has_product() {
            let (low, high) = (at % 64, product.high.get_unchecked(at / 64));
            let (c, s) =
                (S::load(product.re.as_ptr().add(low)), S::load(product.im.as_ptr().add(low)));
            let (c, s) = times(c, s, S::splat(high.re), S::splat(high.im));
            (x, y) = times(x, y, c, s);
        }
    }
    (x, y)
}

/// Returns the complex product `(x + iy)(c + is)`.
#[inline(always)]
fn times<S: Simd>(x: S, y: S, c: S, s: S) -> (S, S) {
    (y.neg_mul_add(s, x.mul(c)), x.mul_add(s, y.mul(c)))
}

/// A dense block. Three real products instead of the four of a complex one were slower: they load
/// more coefficients than the additions saved.
struct DenseRun<'a, 'b, P: Simd, const ROWS: usize, const FLIPS: usize> {
    block: &'a DenseBlock<P::Elem>,
    scratch: TileScratch<P::Elem>,
    pipeline: &'a mut Pipeline<'b, P>,
}

impl<P: Simd, const ROWS: usize, const FLIPS: usize> Task<P::Elem>
    for DenseRun<'_, '_, P, ROWS, FLIPS>
{
    type Output = ();

    #[inline(always)]
    #[allow(
        unconditional_panic,
        reason = "`unroll` writes out turns beyond the count, which never run"
    )]
    unsafe fn run<S: Simd<Elem = P::Elem>>(self) {
        let DenseRun { block, scratch: TileScratch { re, im, .. }, pipeline } = self;
        let coefficients = block.coefficients.as_ptr();
        // SAFETY: this is `vectorize` (*set*); *size*: rows of the table and their sums with
        // offsets are rows of the tile; there are 2 ROWS^2 FLIPS registers of coefficients.
        unsafe {
            let zero = S::splat(P::Elem::zero());
            let mut offsets = [0; 4];
            let mut flips = [S::index(|j| j); 4];
            for e in 0..ROWS {
                offsets[e] = block.row_offsets[e] * S::LANES;
            }
            for k in 0..FLIPS {
                flips[k] = S::index(|j| j ^ block.lane_flips[k]);
            }
            for chunk in block.table.chunks(ENTRIES_PER_GATHER) {
                pipeline.gather_some();
                for starts in chunk.chunks(sets::<S>()) {
                    let firsts: [usize; MAX_SETS] = std::array::from_fn(|k| {
                        starts[k.min(starts.len() - 1)] as usize * S::LANES
                    });
                    let (mut x, mut y) = ([[[zero; MAX_SETS]; 4]; 4], [[[zero; MAX_SETS]; 4]; 4]);
                    unroll!(k in 0..sets::<S>(), at most 2 => {
                        unroll!(f in 0..ROWS, at most 4 => {
                            let at = firsts[k] | offsets[f];
                            (x[f][0][k], y[f][0][k]) = (S::load(re.add(at)), S::load(im.add(at)));
                            unroll!(i in 1..FLIPS, at most 4 => {
                                (x[f][i][k], y[f][i][k]) =
                                    (x[f][0][k].permute(flips[i]), y[f][0][k].permute(flips[i]));
                            });
                        });
                    });
                    unroll!(e in 0..ROWS, at most 4 => {
                        let (mut new_x, mut new_y) = ([zero; MAX_SETS], [zero; MAX_SETS]);
                        unroll!(f in 0..ROWS, at most 4 => {
                            unroll!(i in 0..FLIPS, at most 4 => {
                                let at = coefficients.add(((e * ROWS + f) * FLIPS + i) * 2 * S::LANES);
                                let (c, s) = (S::load(at), S::load(at.add(S::LANES)));
                                unroll!(k in 0..sets::<S>(), at most 2 => {
                                    let (a, b) = (x[f][i][k], y[f][i][k]);
                                    (new_x[k], new_y[k]) = if f == 0 && i == 0 {
                                        (c.mul(a), c.mul(b))
                                    } else {
                                        (c.mul_add(a, new_x[k]), c.mul_add(b, new_y[k]))
                                    };
                                    (new_x[k], new_y[k]) = (s.neg_mul_add(b, new_x[k]), s.mul_add(a, new_y[k]));
                                });
                            });
                        });
                        unroll!(k in 0..sets::<S>(), at most 2 => {
                            new_x[k].store(re.add(firsts[k] | offsets[e]));
                            new_y[k].store(im.add(firsts[k] | offsets[e]));
                        });
                    });
                }
            }
        }
    }
}

/// Largest number of sets of rows at once.
const MAX_SETS: usize = 2;

/// Returns the number of sets of rows that a dense block takes at once: each coefficient is loaded
/// once for all of them, as many as the registers hold besides.
const fn sets<S: Simd>() -> usize {
    if S::ROW_QUBITS < 3 { 1 } else { MAX_SETS }
}

/// A factored block, see `block`, whose rows go back to the scratch or leave.
struct FactoredRun<'a, 'b, P: Simd, D, const ROWS: usize> {
    block: &'a DenseBlock<P::Elem>,
    scratch: TileScratch<P::Elem>,
    pipeline: &'a mut Pipeline<'b, P>,
    to: D,
}

impl<P: Simd, D: Destination<P>, const ROWS: usize> Task<P::Elem>
    for FactoredRun<'_, '_, P, D, ROWS>
{
    type Output = ();

    #[inline(always)]
    #[allow(
        unconditional_panic,
        reason = "`unroll` writes out turns beyond the count, which never run"
    )]
    unsafe fn run<S: Simd<Elem = P::Elem>>(self) {
        let FactoredRun { block, scratch: TileScratch { re, im, .. }, pipeline, to } = self;
        let coefficients = block.coefficients.as_ptr();
        // How a row finds the one that differs in bit 0, in bit 1 and in both: a row and a lane
        // exchange.
        let [low, high, both] = match ROWS {
            4 => [(1, 0), (2, 0), (3, 0)],
            2 => [(0, 1), (1, 0), (1, 1)],
            _ => [(0, 1), (0, 2), (0, 3)],
        };
        // SAFETY: this is `vectorize` (*set*); *size*: rows of the table and their sums with
        // offsets are rows of the tile (*row*); there are FACTORED_COEFFICIENTS registers of
        // coefficients for each row.
        unsafe {
            let zero = P::splat(P::Elem::zero());
            let mut offsets = [0; 4];
            for e in 0..ROWS {
                offsets[e] = block.row_offsets[e] * P::LANES;
            }
            let flip = |k: usize| {
                let lanes = if k == 0 { 0 } else { block.lane_flips[k] };
                P::index(|j| j ^ lanes)
            };
            let (low_flip, high_flip, both_flip) = (flip(low.1), flip(high.1), flip(both.1));
            // Loaded where they are used: there are more of them than registers.
            let of =
                |kind: usize, e: usize| P::load(coefficients.add((kind * ROWS + e) * P::LANES));
            let mut ahead = block.table.iter().skip(AHEAD / ROWS);
            for chunk in block.table.chunks(ENTRIES_PER_GATHER) {
                pipeline.gather_some();
                for starts in chunk.chunks(sets::<P>()) {
                    for &first in ahead.by_ref().take(if D::FAR { sets::<P>() } else { 0 }) {
                        unroll!(e in 0..ROWS, at most 4 => {
                            to.prefetch_row(first as usize | block.row_offsets[e]);
                        });
                    }
                    let firsts: [usize; MAX_SETS] = std::array::from_fn(|k| {
                        starts[k.min(starts.len() - 1)] as usize * P::LANES
                    });
                    let (mut x, mut y) = ([[zero; MAX_SETS]; 4], [[zero; MAX_SETS]; 4]);
                    unroll!(e in 0..ROWS, at most 4 => {
                        let t = of(0, e);
                        unroll!(k in 0..sets::<P>(), at most 2 => {
                            let at = firsts[k] | offsets[e];
                            (x[e][k], y[e][k]) = (P::load(re.add(at)), P::load(im.add(at)));
                            // The first row has no phase, if it is one for all lanes.
                            if ROWS < 4 || e > 0 {
                                (x[e][k], y[e][k]) = tilted(x[e][k], y[e][k], t);
                            }
                        });
                    });
                    for (kind, rows, lanes) in [(1, low, low_flip), (2, high, high_flip)] {
                        let (a, b) = (x, y);
                        unroll!(e in 0..ROWS, at most 4 => {
                            let t = of(kind, e);
                            unroll!(k in 0..sets::<P>(), at most 2 => {
                                let (c, d) = (a[e ^ rows.0][k], b[e ^ rows.0][k]);
                                let (c, d) = if rows.1 == 0 { (c, d) } else { (c.permute(lanes), d.permute(lanes)) };
                                (x[e][k], y[e][k]) = (c.mul_add(t, a[e][k]), d.mul_add(t, b[e][k]));
                            });
                        });
                    }
                    unroll!(e in 0..ROWS, at most 4 => {
                        let t = of(3, e);
                        unroll!(k in 0..sets::<P>(), at most 2 => {
                            if ROWS < 4 || e > 0 {
                                (x[e][k], y[e][k]) = tilted(x[e][k], y[e][k], t);
                            }
                        });
                    });
                    unroll!(e in 0..ROWS, at most 4 => {
                        let (near, far) = (of(4, e), of(5, e));
                        unroll!(k in 0..sets::<P>(), at most 2 => {
                            let (c, d) = (x[e ^ both.0][k], y[e ^ both.0][k]);
                            let (c, d) =
                                if both.1 == 0 { (c, d) } else { (c.permute(both_flip), d.permute(both_flip)) };
                            let at = firsts[k] | offsets[e];
                            let (x, y) = (d.neg_mul_add(far, x[e][k].mul(near)), c.mul_add(far, y[e][k].mul(near)));
                            to.store_row(at / P::LANES, x, y);
                        });
                    });
                }
            }
        }
    }
}

/// Returns `(x + iy)(1 + it)`
#[inline(always)]
fn tilted<S: Simd>(x: S, y: S, t: S) -> (S, S) {
    (y.neg_mul_add(t, x), x.mul_add(t, y))
}

/// Returns a complex number as one of the registers' element type.
pub(super) fn narrow<E: SimdFloat>(z: Complex<f64>) -> Complex<E> {
    Complex::new(E::round_from(z.re), E::round_from(z.im))
}
