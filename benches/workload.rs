//! What is timed: one gate, walking over the qubits of a state.
//!
//! A gate on qubit 0 and one on the top qubit load memory in different patterns, so a time says
//! something only as a mean over targets. From 20 qubits on every third or so target is enough.

pub mod by_hand;

use ketgrad_core::{
    gate::{Gate, GateKind},
    kernel::Operator,
    param::{Angle, Values},
    scalar::Real,
};
use num_complex::Complex;

/// The gates that are timed, by the names other simulators give them.
pub const GATES: [&str; 6] = ["X", "H", "T", "CNOT", "RX", "Toffoli"];

/// The share of the amplitudes that a gate must read and write.
#[must_use]
pub fn touched(gate: &str) -> f64 {
    match gate {
        "T" | "CNOT" => 0.5,
        "Toffoli" => 0.25,
        _ => 1.0,
    }
}

/// One gate on each target in turn: controls are the next qubits, cyclically. `None` for an unknown
/// name or too few qubits.
#[must_use]
pub fn sweep<T: Real>(gate: &str, n_qubits: usize) -> Option<Vec<Operator<Complex<T>>>> {
    let (kind, angle, n_controls) = match gate {
        "X" => (GateKind::X, None, 0),
        "H" => (GateKind::H, None, 0),
        "T" => (GateKind::T, None, 0),
        "CNOT" => (GateKind::X, None, 1),
        "RX" => (GateKind::RX, Some(Angle::rad(0.3)), 0),
        "Toffoli" => (GateKind::X, None, 2),
        _ => return None,
    };
    let matrix = Gate::new(kind, angle).ok()?.matrix(&Values::<T>(&[])).ok()?;
    let stride = if n_qubits < 20 { 1 } else { n_qubits.div_ceil(8) };
    (0..n_qubits)
        .step_by(stride)
        .map(|target| {
            let controls: Vec<_> = (1..=n_controls).map(|d| ((target + d) % n_qubits, true)).collect();
            Operator::new(&matrix, &[target], &controls).ok()
        })
        .collect()
}
