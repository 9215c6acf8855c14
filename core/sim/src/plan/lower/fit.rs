//! Rebinding of a known structure to other numbers: an operation that an angle has made simpler
//! than usual is written as usual.

use super::{LoweredOps, PrimitiveOp};
use crate::plan::BinaryAngle;

impl PrimitiveOp {
    /// Returns the operation of the same structure that does nothing.
    fn idle(&self) -> Option<PrimitiveOp> {
        match *self {
            PrimitiveOp::Rotation { qubit, .. } => {
                Some(PrimitiveOp::Rotation { qubit, tan: 0.0, sign: false, flip: false })
            }
            PrimitiveOp::PauliRotation { string, .. } => {
                Some(PrimitiveOp::PauliRotation { string, tan: 0.0, flip: false })
            }
            PrimitiveOp::Phase { mask, .. } => {
                Some(PrimitiveOp::Phase { mask, angle: BinaryAngle::ZERO })
            }
            _ => None,
        }
    }

    /// Writes it with the structure of another operation.
    fn like(&self, other: &PrimitiveOp) -> Option<PrimitiveOp> {
        match (self, other) {
            (
                &PrimitiveOp::Pauli { qubit, sign, flip },
                PrimitiveOp::Rotation { qubit: same, .. },
            ) if qubit == *same => Some(PrimitiveOp::Rotation { qubit, tan: 0.0, sign, flip }),
            (
                &PrimitiveOp::Pauli { qubit, sign: true, flip: false },
                &PrimitiveOp::Phase { mask, .. },
            ) if mask == 1 << qubit => {
                Some(PrimitiveOp::Phase { mask, angle: BinaryAngle::HALF_TURN })
            }
            _ => self.same_structure(other).then(|| self.clone()),
        }
    }
}

impl LoweredOps {
    /// Writes the operations with the structure of others, where a rotation or a phase that an
    /// angle has made vanish is one that does nothing. Returns false if that is impossible; the
    /// operations are invalid then.
    pub(in crate::plan) fn fit(&mut self, known: &[PrimitiveOp]) -> bool {
        let ops = &mut self.ops;
        let mut rest = ops.len();
        if rest == known.len() && known.iter().zip(ops.iter()).all(|(a, b)| a.same_structure(b)) {
            return true;
        }
        if rest > known.len() {
            return false;
        }
        // From the end on, so that what is read has not been written over.
        ops.resize(known.len(), PrimitiveOp::Phase { mask: 0, angle: BinaryAngle::ZERO });
        let mut left = known.len();
        while left > 0 {
            let wanted = &known[left - 1];
            // A phase and then Paulis, wanted the other way round.
            if let [
                ..,
                PrimitiveOp::Phase { mask, angle },
                pauli @ PrimitiveOp::Pauli { qubit, flip, .. },
            ] = &ops[..rest]
                && *mask == 1 << qubit
                && let [.., rotation, PrimitiveOp::Phase { mask: same, .. }] = &known[..left]
                && mask == same
                && let Some(pauli) = pauli.like(rotation)
            {
                let (mask, angle, flip) = (*mask, *angle, *flip);
                // X diag(1, z) = z diag(1, 1/z) X
                if flip {
                    self.angle += angle;
                }
                ops[left - 1] =
                    PrimitiveOp::Phase { mask, angle: if flip { -angle } else { angle } };
                ops[left - 2] = pauli;
                (left, rest) = (left - 2, rest - 2);
                continue;
            }
            left -= 1;
            if let Some(op) = rest.checked_sub(1).and_then(|k| ops[k].like(wanted)) {
                rest -= 1;
                ops[left] = op;
            } else if let Some(op) = wanted.idle() {
                if left < rest {
                    return false;
                }
                ops[left] = op;
            } else {
                return false;
            }
        }
        true
    }
}
