//! Dependence of a global phase on the parameters, read off determinants.
//!
//! If `A = e^{i phi} B` for matrices of dimension `2^n`, then `det A = e^{i 2^n phi} det B`. The
//! determinant of a circuit is the product of those of its gates, and that of a gate on k qubits,
//! controls included, counts `2^(n-k)` times. So `phi = sum_gates arg det / 2^k`, for the first
//! circuit less the second, up to a constant. O(gates).

use nalgebra::DMatrix;
use num_complex::Complex;

use super::CircuitPair;
use crate::{
    circuit::Operation,
    gate::{Gate, GateKind},
    param::{Angle, Values, q_to_f64},
};

/// The step by which slopes are taken, far from half a turn.
const STEP: f64 = 0.01;

/// Returns the slopes of the phase by each parameter; `None` if the pair is not unitary as it
/// is.
pub(super) fn slopes(pair: &CircuitPair) -> Option<Vec<f64>> {
    let mut slopes = vec![0.0; pair.circuits[0].params().len()];
    let mut known: Vec<(GateKind, Vec<f64>)> = Vec::new();
    for (circuit, sign) in pair.circuits.iter().zip([1.0, -1.0]) {
        for instruction in circuit.instructions() {
            let Operation::Gate(gate) = &instruction.operation else { continue };
            if gate.params().iter().all(Angle::is_constant) {
                continue;
            }
            let of_gate = match known.iter().find(|k| k.0 == gate.kind()) {
                Some((_, slopes)) => slopes.clone(),
                None => {
                    let slopes = of_gate(gate.kind())?;
                    known.push((gate.kind(), slopes.clone()));
                    slopes
                }
            };
            let qubits = i32::try_from(instruction.qubits().count()).ok()?;
            for (angle, slope) in gate.params().iter().zip(of_gate) {
                for &(id, q) in angle.terms() {
                    *slopes.get_mut(id.index())? +=
                        sign * slope * q_to_f64(q) * f64::from(-qubits).exp2();
                }
            }
        }
    }
    Some(slopes)
}

/// Computes `d arg det / d angle` for each angle of a gate. Determinants are monomials in
/// `e^{i angle}`.
fn of_gate(kind: GateKind) -> Option<Vec<f64>> {
    let n = kind.param_names().len();
    let at = |angles: Vec<f64>| -> Option<Complex<f64>> {
        let gate = Gate::new(kind, angles.into_iter().map(Angle::rad)).ok()?;
        let matrix = gate.matrix::<Complex<f64>>(&Values::<f64>(&[])).ok()?;
        Some(DMatrix::from_fn(matrix.dim(), matrix.dim(), |i, j| matrix[(i, j)]).determinant())
    };
    let moved =
        |k: usize, step: f64| at((0..n).map(|j| 0.3 + if j == k { step } else { 0.0 }).collect());
    let slope = |k| Some((moved(k, STEP)? * moved(k, -STEP)?.conj()).arg() / (2.0 * STEP));
    (0..n).map(slope).collect()
}
