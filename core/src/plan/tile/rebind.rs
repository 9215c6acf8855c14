//! Other numbers in a stage that has been compiled: all tables keep their places and their memory.
//!
//! The operations must have the structure of those that were compiled. The frame is followed anew, because an angle
//! decides whether a rotation takes an X with it; each step then finds its numbers by the `source` it has kept.

use super::{
    buffer::Pool,
    compile::{Placed, Step, Sweep, TileStage},
};
use crate::{
    kernel::{Element, InstructionSet, simd},
    plan::lower::Op,
};

impl<E: Element> TileStage<E> {
    /// Puts the numbers of operations of the same structure into the stage; false if it has to be compiled anew.
    pub(in crate::plan) fn rebind<'a>(
        &mut self,
        ops: impl Iterator<Item = &'a Op>,
        set: InstructionSet,
        pool: &mut Pool<E>,
    ) -> bool {
        if self.steps.iter().any(|step| matches!(step, Step::Dense(_))) {
            return false;
        }
        let (lane_bits, _) = simd::shape::<E>(set);
        self.place(ops);
        self.exit(lane_bits);
        self.constants.clear();
        // What rotations leave of a product of two amplitudes.
        let mut left = 1.0;
        let mut whole = self.whole.iter_mut().peekable();
        for (number, step) in self.steps.iter_mut().enumerate() {
            while let Some((_, phase)) = whole.next_if(|(before, _)| *before <= number) {
                self.constants.push(phase.renewed(&self.placed));
            }
            match step {
                Step::Inner(inners) => inners.rebind(&self.placed, left),
                Step::Sweep(sweep) => {
                    if let Some(phases) = &mut sweep.phases {
                        phases.rebind(&self.placed, &mut self.constants, set, pool);
                    }
                    left *= sweep.rebind(&self.placed, 1 << lane_bits);
                }
                Step::Dense(_) => {}
            }
        }
        for (_, phase) in whole {
            self.constants.push(phase.renewed(&self.placed));
        }
        self.settle_constants();
        true
    }
}

impl<E: Element> Sweep<E> {
    /// Fills the tangents of a turn.
    pub(super) fn set_tangent(&mut self, turn: usize, tan: f64, lanes: usize) {
        let (inner, on_lanes) = (self.turns[turn].inner, turn >= self.rows);
        let own = &mut self.tangents.as_mut_slice()[turn * 2 * lanes..][..2 * lanes];
        for (i, tangent) in own.iter_mut().enumerate() {
            let (sign, lane) = (i / lanes % 2 == 1, i % lanes);
            let negative = ((inner & lane).count_ones() % 2 == 1) ^ sign ^ on_lanes;
            *tangent = E::round_from(if negative { -tan } else { tan });
        }
    }

    /// Gives the factor by which the rotations make a product of two amplitudes too large, as 1 / factor.
    fn rebind(&mut self, placed: &[Placed], lanes: usize) -> f64 {
        let mut left = 1.0;
        for turn in 0..self.turns.len() {
            if let Some(&Placed::Rotation { line, tan, .. }) = placed.get(self.turns[turn].source) {
                self.turns[turn].flip = line.flip;
                self.set_tangent(turn, tan, lanes);
                left /= 1.0 + tan * tan;
            }
        }
        left
    }
}
