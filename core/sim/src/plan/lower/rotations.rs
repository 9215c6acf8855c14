//! Rotations about Pauli strings.

use super::{
    MAX_PHASE_BITS, NO_ANGLE, PlanLowering, PrimitiveOp, kinds::PhasedRotation,
    matrices::SmallComplex,
};
use crate::{
    basis::{deposit, odd},
    pauli::{PauliMasks, PauliPhase, PhasedPauli},
    plan::BinaryAngle,
};

impl PlanLowering {
    /// A rotation where others have these values: `(1 +- Z) / 2` for each control in its angle;
    /// false for too many of them.
    pub(super) fn controlled_rotation(
        &mut self,
        turned: &PhasedRotation,
        controls: usize,
        value: usize,
    ) -> bool {
        let subsets = 1usize << controls.count_ones().min(MAX_PHASE_BITS);
        if controls.count_ones() >= MAX_PHASE_BITS {
            return false;
        }
        if turned.phase.abs() <= NO_ANGLE {
            self.out.deviation += turned.phase.abs();
        } else if !self.diagonal(controls, &[(value, SmallComplex::cis(turned.phase))]) {
            return false;
        }
        for subset in (0..subsets).map(|k| deposit(k, controls)) {
            let angle = turned.angle / subsets as f64;
            let string = PauliMasks { z: turned.string.z | subset, ..turned.string };
            let phase = PauliPhase::from_sign(odd(subset & value));
            self.rotation(PhasedPauli { phase, string }, angle);
        }
        true
    }

    /// Lowers `e^{-i angle/2 P}`.
    pub(super) fn rotation(&mut self, PhasedPauli { phase, string }: PhasedPauli, angle: f64) {
        let angle = if phase.is_negative() { -angle } else { angle };
        let PauliMasks { x, z } = string;
        let (sin, cos) = (0.5 * angle).sin_cos();
        if x == 0 {
            match z.is_power_of_two() {
                true => {
                    let phases = [
                        SmallComplex::cis(-0.5 * angle),
                        SmallComplex::default(),
                        SmallComplex::default(),
                        SmallComplex::cis(0.5 * angle),
                    ];
                    self.hold_back(z.trailing_zeros() as usize, phases, false);
                }
                false => {
                    self.flush(z);
                    self.out.angle -= BinaryAngle::from_radians(0.5 * angle);
                    self.phase(z, BinaryAngle::from_radians(angle));
                }
            }
            return;
        }
        if string.weight() == 1 {
            let i_sin = SmallComplex::new(0.0, sin);
            let u = if z == 0 {
                [cos.into(), -i_sin, -i_sin, cos.into()]
            } else {
                [cos, -sin, sin, cos].map(SmallComplex::from)
            };
            self.hold_back(x.trailing_zeros() as usize, u, true);
            return;
        }
        // S on a qubit makes X of it Y and Y of it -X; S^dagger takes that back.
        let pivot = x & x.wrapping_neg();
        let even = !string.y_phase().is_imaginary();
        let quarter = |sign: f64| {
            [
                SmallComplex::new(1.0, 0.0),
                SmallComplex::default(),
                SmallComplex::default(),
                SmallComplex::new(0.0, sign),
            ]
        };
        if even {
            self.hold_back(pivot.trailing_zeros() as usize, quarter(1.0), false);
        }
        let (sin, z) = match even {
            true => (if z & pivot == 0 { sin } else { -sin }, z ^ pivot),
            false => (sin, z),
        };
        let string = PauliMasks { x, z };
        self.flush_seen(string);
        // -i i^|x & z| is real: 1, or -1.
        let sin = if string.y_phase() == PauliPhase::I { sin } else { -sin };
        let flip = sin.abs() > cos.abs();
        // cos + sin Q = (Q) (sin - cos Q) with Q = X^x Z^z, whose square is -1.
        let tan = if flip { -cos / sin } else { sin / cos };
        let negative = if flip { sin < 0.0 } else { cos < 0.0 };
        if negative {
            self.out.angle += BinaryAngle::HALF_TURN;
        }
        self.push(PrimitiveOp::PauliRotation { string, tan, flip });
        if even {
            self.hold_back(pivot.trailing_zeros() as usize, quarter(-1.0), false);
        }
    }
}
