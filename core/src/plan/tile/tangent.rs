//! A stage on states and their tangents: up to four tiles in the cache together.
//!
//! Tangents go through the same gates as their states and are changed where parameters are (`kick`); inner products
//! are taken of the states and of what changes in them.
#![expect(unsafe_code, reason = "tiles interleave in memory")]

use std::ops::Range;

use num_complex::Complex;

use super::{
    SKEW_BYTES, Workspace, Workspaces,
    compile::{Step, TileStage},
    kernels::{self, Scratch},
    pair::GROUPS,
    streams,
    transfer::{Background, Gather, Picks, Scatter},
};
use crate::kernel::{
    Element, SERIAL_BELOW, Threads,
    simd::{InstructionSet, Shared, Simd, Task, as_reals},
};

/// Psi, its tangent, lambda, its tangent.
const MOST_STATES: usize = 4;

impl<E: Element> TileStage<E> {
    /// Runs the stage on `[psi, psi']` or `[psi, psi', lambda, lambda']`. To `sums` it adds the inner products of lambda
    /// and psi and then, as many, how they change; with two states there are none.
    pub(in crate::plan) fn run_tangents(
        &self,
        states: &mut [&mut [Complex<E>]],
        kicks: &[f64],
        threads: &Threads,
        set: InstructionSet,
        workspaces: &Workspaces<E>,
        sums: &mut [f64],
    ) {
        assert!(set.is_available() && self.bits <= workspaces.bits);
        assert!(matches!(states.len(), 2 | MOST_STATES) && sums.len() == 2 * kicks.len());
        let size = 1 << (self.bits + self.outside.count_ones() as usize);
        assert!(states.iter().all(|state| state.len() == size));
        let parallel = size >= 2 * SERIAL_BELOW && threads.count() > 1;
        let beyond = states.iter().all(|state| streams(state));
        let states: Vec<Shared<E>> = states.iter_mut().map(|state| Shared::new(as_reals(state))).collect();
        let tiles = 1usize << self.outside.count_ones();
        let groups = tiles.min(GROUPS);
        let group = |number: usize| {
            let tiles = number * (tiles / groups)..(number + 1) * (tiles / groups);
            workspaces.with_some(states.len(), |workspaces| {
                let task =
                    Tangents { stage: self, states: &states, tiles, workspaces, kicks, streams: beyond };
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
    states: &'a [Shared<E>],
    tiles: Range<usize>,
    workspaces: &'a mut [Workspace<E>],
    kicks: &'a [f64],
    /// Whether to write past the caches.
    streams: bool,
}

impl<E: Element> Task<E> for Tangents<'_, E> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<S: Simd<Elem = E>>(self) -> Vec<f64> {
        let Tangents { stage, states, tiles, workspaces, kicks, streams } = self;
        let mut sums = vec![0.0; 2 * kicks.len()];
        let (values, changes) = sums.split_at_mut(kicks.len());
        let reals: Vec<*mut E> = workspaces.iter_mut().map(|w| w.parts.as_mut_ptr()).collect();
        let Some(Workspace { product, products, .. }) = workspaces.first_mut() else { return sums };
        if stage.looks() {
            products.make_room(stage.bits);
        }
        // SAFETY: as in `Tiles`; the workspaces are different ones.
        unsafe {
            let picks = Picks::<S>::new(stage);
            for number in tiles.clone() {
                let outer = stage.tile_at(number);
                let scratch = |k: usize| {
                    let re = reals[k];
                    Scratch { re, im: re.add((1 << stage.bits) + SKEW_BYTES / size_of::<E>()), outer }
                };
                let pairs: [[Scratch<E>; 2]; MOST_STATES / 2] = std::array::from_fn(|k| {
                    let first = (2 * k).min(states.len() - 2);
                    [scratch(first), scratch(first + 1)]
                });
                let pairs = &pairs[..states.len() / 2];
                for (state, scratch) in states.iter().zip(pairs.as_flattened()) {
                    S::vectorize(Gather::all(stage, state.get().add(2 * outer), *scratch));
                }
                for step in &stage.steps {
                    let Step::Inner(inners) = step else {
                        for scratch in pairs.as_flattened() {
                            kernels::step::<S>(step, *scratch, product, &mut Background::none());
                        }
                        continue;
                    };
                    if let [[psi, psi_dot], [lambda, lambda_dot]] = *pairs {
                        inners.take::<S>(psi, lambda, products, values);
                        inners.take::<S>(psi_dot, lambda, products, changes);
                        inners.take::<S>(psi, lambda_dot, products, changes);
                    }
                    inners.kick::<S>(pairs, kicks, products);
                }
                let factor = stage.factor_at(outer);
                for (state, scratch) in states.iter().zip(pairs.as_flattened()) {
                    let to = state.get().add(2 * outer);
                    Scatter { stage, to, scratch: *scratch, factor, streams }.write::<S>(&picks);
                }
            }
            S::fence();
        }
        sums
    }
}
