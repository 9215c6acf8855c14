//! Workload that is timed: one gate, walking over the qubits of a state.
//!
//! A gate on qubit 0 and one on the top qubit load memory in different patterns, so a time says
//! something only as a mean over targets. From 20 qubits on every third or so target is enough.

pub mod by_hand;
pub mod circuits;
pub mod timing;
#[rustfmt::skip]
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    clippy::expect_used,
    reason = "as written by `emit_rust`"
)]
pub mod emitted;

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
            let controls: Vec<_> =
                (1..=n_controls).map(|d| ((target + d) % n_qubits, true)).collect();
            Operator::new(&matrix, &[target], &controls).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ketgrad_core::{
        adjoint,
        emit::emit_rust,
        pass::{Level, optimize_all},
        text::parse_program,
    };

    use super::by_hand::{LOOPS, TRACE};

    /// `KETGRAD_BLESS=1` writes it anew.
    #[test]
    fn the_emitted_gradients_are_those_of_the_programs() {
        let source: Vec<&str> = LOOPS.iter().map(|l| l.source).chain([TRACE]).collect();
        let mut program = parse_program(&source.join("\n")).expect("the programs are right");
        let names = LOOPS.iter().map(|l| l.name).chain(["trace"]);
        let gradients: Vec<_> = names
            .map(|name| {
                let f = program.lookup(name).expect("it is in the text");
                let gradient = adjoint::gradient(&mut program, f).expect("it has one");
                optimize_all(&mut program, gradient, Level::Strict);
                gradient
            })
            .collect();
        let text = emit_rust(&program, &gradients).expect("it has a structure");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/emitted.rs");
        if std::env::var_os("KETGRAD_BLESS").is_some() {
            std::fs::write(path, &text).expect("the folder exists");
        }
        let written = std::fs::read_to_string(path).expect("the file exists");
        assert!(text == written, "run with KETGRAD_BLESS=1 if this is right\n{text}");
    }
}
