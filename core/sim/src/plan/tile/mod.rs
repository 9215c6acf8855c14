//! The tile executor: many gates for one pass over memory.
//!
//! A stage (see `plan`) has a set of q qubits. The state falls into 2^(n-q) tiles of 2^q
//! amplitudes, whose indices differ in those qubits only. Each tile is gathered into a scratch that
//! fits the cache, all gates of the stage run there, and it is written back:
//! ```text
//! state  ..o...o...o...o..  --gather-->  re |………|  --sweeps-->  --scatter, undo the frame-->  state
//!                                        im |………|
//! ```
//! Where nothing has moved and the last step is a factored block, this block writes its rows to the
//! state itself: it computes while their lines come.
//!
//! | file | is |
//! |---|---|
//! | `compile` | from operations to sweeps: levels |
//! | `block` | dense blocks on two qubits, and what makes them cheaper |
//! | `frame` | where each basis state is read from at the end |
//! | `phases` | tables of phases |
//! | `rows` | rows as vectors over GF(2) |
//! | `kernels` | sweeps and dense blocks |
//! | `multiplex` | rotations along one vector, together |
//! | `variants` | rows by the values of parities |
//! | `inner` | inner products of two tiles |
//! | `shared` | those along one vector, together |
//! | `pair` | a stage on two vectors |
//! | `kick` | changes of tangents |
//! | `tangent` | a stage on states and their tangents |
//! | `rebind` | other numbers in a stage |
//! | `transfer` | gather and scatter, the next tile's gather in turns with the steps of this one |
//!
//! Tiles do not depend on each other, so threads take them in any order and the bits are the same.
//!
//! # Safety
//! Conditions of the unsafe functions here, by the names that they are cited by:
//! - *set*: the call is within `S::vectorize`, so that the processor has the instructions of `S`.
//! - *size*: scratches, workspaces and the state are of the stage: a scratch holds 2^bits real and
//!   2^bits imaginary parts, the rows of the tile have their offsets in the state, and the tables
//!   of a step were made for this number of rows.
//! - *row*: a row is below the number of rows of the tile, `2^bits / LANES`.
//! - *owner*: nothing else reads or writes the tile's amplitudes in the state while the call lasts.
//!   Tiles of different indices have none in common: an index fixes the bits outside of the tile.
#![expect(unsafe_code, reason = "tiles interleave in memory")]

mod block;
mod buffer;
mod compile;
mod frame;
mod kernels;
mod multiplex;
mod pair;
mod phases;
mod probes;
mod rebind;
mod rows;
mod tangent;
mod tangent_update;
mod transfer;
mod variants;
mod vector_probes;

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use num_complex::Complex;

use self::{
    block::DenseBlock,
    buffer::Buffer,
    compile::TileStep,
    kernels::narrow,
    phases::TilePhases,
    probes::Products,
    transfer::{Pipeline, ScatterPattern},
};
use crate::{
    basis::odd,
    kernel::{
        SERIAL_BELOW, SimdFloat, Threads,
        simd::{SharedPtr, Simd, Task, as_reals},
    },
    plan::{BinaryAngle, PlanOptions},
};

pub(in crate::plan) use buffer::TileBuffers;
pub(in crate::plan) use compile::{TileStage, compile};

/// The imaginary parts start this many bytes off a page: if both parts started at one, the same
/// rows of both would compete for one set of the first cache.
const SKEW_BYTES: usize = 2048;

/// Bytes of a cache line, which no register is longer than.
const LINE_BYTES: usize = 64;

/// Smaller states may fit some cache, where the processor does not say how large its last one is.
const STREAM_FROM_BYTES: usize = 64 << 20;

/// Returns the number of bytes from which on a state does not fit the last cache. Where it fits, to
/// write past the caches takes a third longer.
pub(in crate::plan) fn stream_from_bytes() -> usize {
    STREAM_FROM_BYTES.max(last_cache_bytes() + 1)
}

/// Returns true if tiles of a state are written past the caches: the state is as large as the
/// options say, and no register straddles a cache line.
fn streams<E>(amplitudes: &[Complex<E>], options: PlanOptions) -> bool {
    size_of_val(amplitudes) >= options.stream_from_bytes
        && (amplitudes.as_ptr() as usize).is_multiple_of(LINE_BYTES)
}

/// Returns the bytes of the processor's last cache; 0 where it does not say.
fn last_cache_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        static BYTES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        *BYTES.get_or_init(|| {
            // Intel and AMD list their caches under different numbers, in the same form.
            let leaves = [(0, 4), (0x8000_0000, 0x8000_001d)];
            let known = leaves.into_iter().filter(|(first, leaf)| __cpuid(*first).eax >= *leaf);
            let caches = known.flat_map(|(_, leaf)| (0..8).map(move |k| __cpuid_count(leaf, k)));
            let size = |c: std::arch::x86_64::CpuidResult| {
                let (ways, parts, line) = (c.ebx >> 22, c.ebx >> 12 & 0x3ff, c.ebx & 0xfff);
                [ways, parts, line, c.ecx].iter().map(|x| *x as usize + 1).product()
            };
            caches.filter(|c| c.eax & 31 != 0).map(size).max().unwrap_or(0)
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Returns the numbers of a scratch for a tile of 2^bits amplitudes, in whole cache lines.
fn scratch_len<E>(bits: usize) -> usize {
    (2usize << bits).next_multiple_of(LINE_BYTES / size_of::<E>()) + SKEW_BYTES / size_of::<E>()
}

/// Scratches of a thread.
const SCRATCHES: usize = 2;

/// Scratch memory for one thread.
pub(in crate::plan) struct Workspace<E> {
    /// The scratches of the tile that is worked on and of the next one.
    parts: Buffer<E>,
    product: TilePhases<E>,
    /// Memory of inner products; none until they are wanted.
    products: Products<E>,
    bits: usize,
}

impl<E: SimdFloat> Workspace<E> {
    fn new(bits: usize) -> Workspace<E> {
        Workspace {
            parts: Buffer::zeros(SCRATCHES * scratch_len::<E>(bits)),
            product: TilePhases::new(bits),
            products: Products::none(),
            bits,
        }
    }
}

/// Scratch memory to take from and put back, for as many threads as come.
pub(in crate::plan) struct Workspaces<E> {
    idle: Mutex<Vec<Workspace<E>>>,
    bits: usize,
}

impl<E: SimdFloat> Workspaces<E> {
    /// Scratch for tiles of up to 2^bits amplitudes.
    pub(in crate::plan) fn new(bits: usize) -> Workspaces<E> {
        Workspaces { idle: Mutex::new(Vec::new()), bits }
    }

    fn with_some<T>(&self, count: usize, f: impl FnOnce(&mut [Workspace<E>]) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken: Vec<Workspace<E>> = Vec::with_capacity(count);
        {
            let mut idle = idle();
            let left = idle.len().saturating_sub(count);
            taken.extend(idle.drain(left..));
        }
        taken.resize_with(count, || Workspace::new(self.bits));
        let result = f(&mut taken);
        idle().append(&mut taken);
        result
    }

    fn with<T>(&self, f: impl FnOnce(&mut Workspace<E>) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut workspace = taken.unwrap_or_else(|| Workspace::new(self.bits));
        let result = f(&mut workspace);
        idle().push(workspace);
        result
    }
}

impl<E: SimdFloat> TileStage<E> {
    /// Runs the stage on a state. The processor must have the set, and the state the size that the
    /// stage was compiled for.
    pub(in crate::plan) fn run(
        &self,
        amplitudes: &mut [Complex<E>],
        threads: &Threads,
        options: PlanOptions,
        workspaces: &Workspaces<E>,
    ) {
        let set = options.set;
        assert!(set.is_available() && self.bits <= workspaces.bits);
        assert_eq!(amplitudes.len(), 1 << (self.bits + self.outside.count_ones() as usize));
        let tiles = self.tile_count();
        let parallel = tiles << self.bits >= 2 * SERIAL_BELOW && threads.count() > 1;
        let streams = streams(amplitudes, options);
        let state = SharedPtr::new(as_reals(amplitudes));
        let part = |tiles: Range<usize>| {
            workspaces.with(|workspace| {
                // SAFETY: the set is available.
                unsafe { E::dispatch(set, Tiles { stage: self, state, tiles, workspace, streams }) }
            });
        };
        if parallel { threads.split(tiles, part) } else { part(0..tiles) }
    }
}

impl<E: SimdFloat> TileStage<E> {
    /// Returns the last step, if amplitudes can leave the tile by it, where they were and with one
    /// factor; and the steps before.
    fn last_block(&self) -> (&[TileStep<E>], Option<&DenseBlock<E>>) {
        let stays = self.exit.is_none() && !self.signs.any();
        match self.steps.split_last() {
            Some((TileStep::Dense(block), before)) if stays && block.factored => {
                (before, Some(block))
            }
            _ => (&self.steps, None),
        }
    }

    /// Returns the factor of all amplitudes of the tile at this index at the end of the stage.
    #[inline(always)]
    fn factor_at(&self, outer: usize) -> Complex<E> {
        let angles = self.constants.iter().filter(|c| odd(c.0 & outer)).map(|c| c.1);
        let angle: BinaryAngle = angles.sum();
        narrow(if angle == BinaryAngle::ZERO { self.scale } else { self.scale * angle.cis() })
    }
}

/// Some tiles of a stage.
struct Tiles<'a, E> {
    stage: &'a TileStage<E>,
    state: SharedPtr<E>,
    tiles: Range<usize>,
    workspace: &'a mut Workspace<E>,
    /// True if tiles are written past the caches.
    streams: bool,
}

impl<E: SimdFloat> Task<E> for Tiles<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let Tiles { stage, state, tiles, workspace, streams } = self;
        debug_assert!(workspace.bits >= stage.bits);
        // SAFETY: this is `vectorize` (*set*); `run` has compared the sizes (*size*); each tile is
        // one thread's, and the workspace is this thread's (*owner*).
        unsafe {
            let picks = ScatterPattern::<S>::new(stage);
            let parts = workspace.parts.as_mut_ptr();
            let mut pipeline =
                Pipeline::new(stage, &picks, state.get(), parts, tiles.clone(), streams);
            let (steps, last) = stage.last_block();
            for number in tiles {
                let scratch = pipeline.next_scratch(number);
                for step in steps {
                    kernels::step::<S>(step, scratch, &mut workspace.product, &mut pipeline);
                }
                match last {
                    Some(block) => pipeline.finish_tile_with(block, scratch),
                    None => pipeline.finish_tile(scratch),
                }
            }
            S::fence();
        }
    }
}
