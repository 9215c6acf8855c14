//! A stage on two vectors: both tiles in the cache together, with inner products between the steps
//! (the adjoint method).
//!
//! Tiles are summed in up to [`GROUPS`] groups, whose number depends on the number of tiles only,
//! and the groups are added in their order: the same bits for any number of threads.
#![expect(unsafe_code, reason = "tiles interleave in memory")]

use std::ops::Range;

use num_complex::Complex;

use super::{
    Workspace, Workspaces,
    compile::{TileStage, TileStep},
    kernels, streams,
    transfer::{Pipeline, ScatterPattern},
};
use crate::{
    kernel::{
        SERIAL_BELOW, SimdFloat, Threads,
        simd::{SharedPtr, Simd, Task, as_reals},
    },
    plan::PlanOptions,
};

/// Largest number of groups of tiles.
pub(super) const GROUPS: usize = 64;

impl<E: SimdFloat> TileStage<E> {
    /// Runs the stage on two states, as [`TileStage::run`] does on one, and adds its inner products
    /// to `sums`.
    pub(in crate::plan) fn run_pair(
        &self,
        (psi, lambda): (&mut [Complex<E>], &mut [Complex<E>]),
        threads: &Threads,
        options: PlanOptions,
        workspaces: &Workspaces<E>,
        (sums, parts): (&mut [f64], &mut Vec<f64>),
    ) {
        let set = options.set;
        assert!(set.is_available() && self.bits <= workspaces.bits);
        assert_eq!(psi.len(), 1 << (self.bits + self.outside.count_ones() as usize));
        assert_eq!(psi.len(), lambda.len());
        let parallel = psi.len() >= 2 * SERIAL_BELOW && threads.count() > 1;
        let beyond = streams(psi, options) && streams(lambda, options);
        let states = [SharedPtr::new(as_reals(psi)), SharedPtr::new(as_reals(lambda))];
        let tiles = self.tile_count();
        let groups = tiles.min(GROUPS);
        // At least one number for each group, so that there is a chunk for it.
        let count = sums.len().max(1);
        parts.clear();
        parts.resize(groups * count, 0.0);
        let group = |number: usize, sums: &mut [f64]| {
            let tiles = number * (tiles / groups)..(number + 1) * (tiles / groups);
            workspaces.with(|first| {
                workspaces.with(|second| {
                    let workspaces = [first, second];
                    // SAFETY: the set is available.
                    unsafe {
                        E::dispatch(
                            set,
                            TilePairs {
                                stage: self,
                                states,
                                tiles,
                                workspaces,
                                sums,
                                streams: beyond,
                            },
                        )
                    }
                })
            })
        };
        if parallel {
            threads.chunks(parts, count, group);
        } else {
            Threads::serial().chunks(parts, count, group);
        }
        for part in parts.chunks_exact(count) {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// Some tiles of a stage, of two vectors.
struct TilePairs<'a, E> {
    stage: &'a TileStage<E>,
    states: [SharedPtr<E>; 2],
    tiles: Range<usize>,
    workspaces: [&'a mut Workspace<E>; 2],
    /// The inner products of the whole plan, to which those of these tiles are added.
    sums: &'a mut [f64],
    /// True if tiles are written past the caches.
    streams: bool,
}

impl<E: SimdFloat> Task<E> for TilePairs<'_, E> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) {
        let TilePairs { stage, states, tiles, workspaces: [first, second], sums, streams } = self;
        if stage.looks() {
            second.products.make_room(stage.bits);
        }
        let parts = [first.parts.as_mut_ptr(), second.parts.as_mut_ptr()];
        // SAFETY: this is `vectorize` (*set*); the maker of a `TilePairs` sees to *size* and hands
        // these tiles to one thread (*owner*), with two workspaces of its own.
        unsafe {
            let picks = ScatterPattern::<S>::new(stage);
            let pipeline = |k: usize| {
                Pipeline::new(stage, &picks, states[k].get(), parts[k], tiles.clone(), streams)
            };
            let mut pipelines = [pipeline(0), pipeline(1)];
            for number in tiles.clone() {
                let scratch =
                    [pipelines[0].next_scratch(number), pipelines[1].next_scratch(number)];
                for step in &stage.steps {
                    if let TileStep::Probes(inners) = step {
                        inners.accumulate::<S>(scratch[0], scratch[1], &mut second.products, sums);
                        continue;
                    }
                    for (pipeline, scratch) in pipelines.iter_mut().zip(scratch) {
                        kernels::step::<S>(step, scratch, &mut first.product, pipeline);
                    }
                }
                for (pipeline, scratch) in pipelines.iter_mut().zip(scratch) {
                    pipeline.finish_tile(scratch);
                }
            }
            S::fence();
        }
    }
}
