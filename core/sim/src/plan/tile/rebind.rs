//! Rebinding of a compiled stage to other numbers: all tables keep their places and their memory.
//!
//! The operations must have the structure of those that were compiled. The frame is followed anew,
//! because an angle decides whether a rotation takes an X with it; each step then finds its numbers
//! by the `source` it has kept.

use super::{
    buffer::TileBuffers,
    compile::{RotationSweep, TileStage, TileStep},
};
use crate::{
    basis::odd,
    kernel::{InstructionSet, SimdFloat, simd},
    plan::{BinaryAngle, layout::Placed, lower::PrimitiveOp},
};

impl<E: SimdFloat> TileStage<E> {
    /// Puts the numbers of operations of the same structure into the stage.
    pub(in crate::plan) fn rebind<'a>(
        &mut self,
        ops: impl Iterator<Item = &'a PrimitiveOp>,
        set: InstructionSet,
        pool: &mut TileBuffers<E>,
    ) {
        let (lane_bits, _) = simd::shape::<E>(set);
        self.layout.follow(ops);
        self.scale = self.layout.angle.cis() * self.layout.scale;
        self.take_exit(lane_bits);
        let placed = self.layout.ops.as_slice();
        self.constants.clear();
        let factors = self.factors;
        // What rotations leave of a product of two amplitudes.
        let mut left = 1.0;
        for step in &mut self.steps {
            match step {
                TileStep::Probes(inners) => inners.rebind(placed, left),
                TileStep::Sweep(sweep) => {
                    if let Some(phases) = &mut sweep.phases {
                        phases.rebind(placed, &mut self.constants, set, pool);
                    }
                    left *= sweep.rebind(placed, 1 << lane_bits);
                }
                TileStep::Multiplexed(group) => self.scale *= group.fill(placed, 1 << lane_bits),
                TileStep::Dense(block) => {
                    if let Some(Placed::Dense { matrix, .. }) = placed.get(block.source) {
                        let angle = block.fill(matrix, factors, lane_bits);
                        self.constants.push((0, BinaryAngle::from_radians(angle)));
                    }
                }
            }
        }
        for source in &self.whole {
            if let Some(Placed::Phase(phase)) = placed.get(*source) {
                self.constants.push((phase.outer, phase.angle));
            }
        }
        self.settle_constants();
    }
}

impl<E: SimdFloat> RotationSweep<E> {
    /// Fills the tangents of a rotation.
    pub(super) fn set_tangent(&mut self, turn: usize, tan: f64, lanes: usize) {
        let (inner, on_lanes) = (self.rotations[turn].inner, turn >= self.rows);
        let own = &mut self.tangents.as_mut_slice()[turn * 2 * lanes..][..2 * lanes];
        for (i, tangent) in own.iter_mut().enumerate() {
            let (sign, lane) = (i / lanes % 2 == 1, i % lanes);
            let negative = odd(inner & lane) ^ sign ^ on_lanes;
            *tangent = E::round_from(if negative { -tan } else { tan });
        }
    }

    /// Returns the factor by which the rotations make a product of two amplitudes too large, as 1 /
    /// factor.
    fn rebind(&mut self, placed: &[Placed], lanes: usize) -> f64 {
        let mut left = 1.0;
        for turn in 0..self.rotations.len() {
            if let Some(op @ Placed::Rotation { line, tan }) =
                placed.get(self.rotations[turn].source)
            {
                self.rotations[turn].flip = line.flip;
                self.set_tangent(turn, *tan, lanes);
                left *= op.shrinkage();
            }
        }
        left
    }
}
