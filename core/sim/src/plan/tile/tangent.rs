//! A stage on states and their tangents: up to four tiles in the cache together.
//!
//! Tangents go through the same gates as their states and are changed where parameters are
//! (`kick`); inner products are taken of the states and of what changes in them.
#![expect(unsafe_code, reason = "tiles interleave in memory")]

use std::ops::Range;

use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    Workspace, Workspaces,
    compile::{TileStage, TileStep},
    kernels::{self, TileScratch},
    pair::GROUPS,
    streams,
    transfer::{Pipeline, ScatterPattern},
};
use crate::{
    kernel::{
        SERIAL_BELOW, SimdFloat, Threads,
        simd::{SharedPtr, Simd, Task, as_reals},
    },
    plan::PlanOptions,
};

/// Psi, its tangent, lambda, its tangent.
const MOST_STATES: usize = 4;

impl<E: SimdFloat> TileStage<E> {
    /// Runs the stage on `[psi, psi']` or `[psi, psi', lambda, lambda']`. To `sums` it adds the
    /// inner products of lambda and psi and then, as many, how they change; with two states there
    /// are none.
    pub(in crate::plan) fn run_tangents(
        &self,
        states: &mut [&mut [Complex<E>]],
        kicks: &[f64],
        threads: &Threads,
        options: PlanOptions,
        workspaces: &Workspaces<E>,
        sums: &mut [f64],
    ) {
        let set = options.set;
        assert!(set.is_available() && self.bits <= workspaces.bits);
        assert!(matches!(states.len(), 2 | MOST_STATES) && sums.len() == 2 * kicks.len());
        let size = 1 << (self.bits + self.outside.count_ones() as usize);
        assert!(states.iter().all(|state| state.len() == size));
        let parallel = size >= 2 * SERIAL_BELOW && threads.count() > 1;
        let beyond = states.iter().all(|state| streams(state, options));
        let states: Vec<SharedPtr<E>> =
            states.iter_mut().map(|state| SharedPtr::new(as_reals(state))).collect();
        let tiles = self.tile_count();
        let groups = tiles.min(GROUPS);
        let group = |number: usize| {
            let tiles = number * (tiles / groups)..(number + 1) * (tiles / groups);
            workspaces.with_some(states.len(), |workspaces| {
                let task = Tangents {
                    stage: self,
                    states: &states,
                    tiles,
                    workspaces,
                    kicks,
                    streams: beyond,
                };
                // SAFETY: the set is available.
                unsafe { E::dispatch(set, task) }
            })
        };
        let parts: Vec<Vec<f64>> =
            if parallel { threads.map(groups, group) } else { (0..groups).map(group).collect() };
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// Some tiles of a stage, of some states.
struct Tangents<'a, E> {
    stage: &'a TileStage<E>,
    states: &'a [SharedPtr<E>],
    tiles: Range<usize>,
    workspaces: &'a mut [Workspace<E>],
    kicks: &'a [f64],
    /// True if tiles are written past the caches.
    streams: bool,
}

impl<E: SimdFloat> Task<E> for Tangents<'_, E> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> Vec<f64> {
        let Tangents { stage, states, tiles, workspaces, kicks, streams } = self;
        let mut sums = vec![0.0; 2 * kicks.len()];
        let (values, changes) = sums.split_at_mut(kicks.len());
        let parts: Vec<*mut E> = workspaces.iter_mut().map(|w| w.parts.as_mut_ptr()).collect();
        let Some(Workspace { product, products, .. }) = workspaces.first_mut() else { return sums };
        if stage.looks() {
            products.make_room(stage.bits);
        }
        // SAFETY: this is `vectorize` (*set*); the maker of a `Tangents` sees to *size* and hands
        // these tiles to one thread (*owner*), with a workspace of its own for each state.
        unsafe {
            let picks = ScatterPattern::<S>::new(stage);
            let pipeline = |(state, parts): (&SharedPtr<E>, *mut E)| {
                Pipeline::new(stage, &picks, state.get(), parts, tiles.clone(), streams)
            };
            let mut pipelines: SmallVec<[Pipeline<'_, S>; MOST_STATES]> =
                states.iter().zip(parts).map(pipeline).collect();
            for number in tiles.clone() {
                let scratch: SmallVec<[TileScratch<E>; MOST_STATES]> =
                    pipelines.iter_mut().map(|pipeline| pipeline.next_scratch(number)).collect();
                let (pairs, _) = scratch.as_chunks::<2>();
                for step in &stage.steps {
                    let TileStep::Probes(inners) = step else {
                        for (pipeline, scratch) in pipelines.iter_mut().zip(&scratch) {
                            kernels::step::<S>(step, *scratch, product, pipeline);
                        }
                        continue;
                    };
                    if let [[psi, psi_dot], [lambda, lambda_dot]] = *pairs {
                        inners.accumulate::<S>(psi, lambda, products, values);
                        inners.accumulate::<S>(psi_dot, lambda, products, changes);
                        inners.accumulate::<S>(psi, lambda_dot, products, changes);
                    }
                    inners.update_tangents::<S>(pairs, kicks, products);
                }
                for (pipeline, scratch) in pipelines.iter_mut().zip(scratch) {
                    pipeline.finish_tile(scratch);
                }
            }
            S::fence();
        }
        sums
    }
}
