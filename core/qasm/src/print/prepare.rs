//! State preparation: any state as a circuit of `ry`, `rz`, `cx` and a global phase.
//!
//! The top qubit of a state is, for each value j of the qubits below it,
//! `r_j e^{i g_j} RZ(f_j) RY(t_j) |0>`: two multiplexed rotations make it from |0> and a state of
//! the other qubits with amplitudes `r_j e^{i g_j}`, which is prepared the same way.
//!
//! Source: Möttönen, Vartiainen, Bergholm and Salomaa, "Transformation of quantum states using
//! uniformly controlled rotations" (2005).

use num_complex::Complex;

use super::synthesis::{SynthesisGate, circuit_of, multiplexed_rotation};
use crate::{
    circuit::{Circuit, CircuitError},
    gate::GateKind,
    state::StateVector,
};

/// Returns a circuit that prepares a state from |0…0>, phase included: `ry` and `cx`, for numbers
/// that are not real `rz`, and `gphase`. It has less than `2^(n+1)` gates `cx`, for real numbers
/// half of them.
///
/// ```
/// use ketgrad_core::{print::prepare, simulate::Simulator, state::StateVector};
/// use num_complex::Complex;
///
/// let w = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0].map(|a| Complex::from(a / 3.0f64.sqrt()));
/// let circuit = prepare(&StateVector::from_amplitudes(w.to_vec())?)?;
/// let state = Simulator::new().run::<f64>(&circuit, &[])?;
/// assert!((state.amplitudes()[4].re - 1.0 / 3.0f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CircuitError`] does not occur; it is the type of every method that appends gates.
pub fn prepare(state: &StateVector<Complex<f64>>) -> Result<Circuit, CircuitError> {
    let mut amplitudes = state.amplitudes().to_vec();
    let mut layers = Vec::new();
    for top in (0..state.n_qubits()).rev() {
        let high = amplitudes.split_off(1 << top);
        let (mut y, mut z) = (Vec::new(), Vec::new());
        for (a, b) in amplitudes.iter_mut().zip(high) {
            let (turn, phase, rest) = rotations(*a, b);
            y.push(turn);
            z.push(phase);
            *a = rest;
        }
        let (mut by_y, mut by_z) = (Vec::new(), Vec::new());
        multiplexed_rotation(&mut by_y, GateKind::RY, y, top);
        multiplexed_rotation(&mut by_z, GateKind::RZ, z, top);
        // Reversed it does the same, and if both parts exist, it begins with the `cx` that the
        // other one ends with.
        by_z.reverse();
        if by_y.last().is_some_and(|last| by_z.first() == Some(last)) {
            by_y.pop();
            by_z.remove(0);
        }
        by_y.extend(by_z);
        layers.push(by_y);
    }
    let phase = amplitudes.first().map_or(0.0, |a| a.arg());
    let mut steps: Vec<SynthesisGate> = layers.into_iter().rev().flatten().collect();
    if phase != 0.0 {
        steps.push((GateKind::GPHASE, vec![phase], None, None));
    }
    circuit_of(state.n_qubits(), steps)
}

/// t, f and c with `(a, b) = c RZ(f) RY(t) |0>`; f is 0 and c not negative for real numbers.
fn rotations(a: Complex<f64>, b: Complex<f64>) -> (f64, f64, Complex<f64>) {
    let r = a.norm().hypot(b.norm());
    if a.im == 0.0 && b.im == 0.0 {
        return (2.0 * b.re.atan2(a.re), 0.0, r.into());
    }
    let (of_a, of_b) = match (a.norm() > 0.0, b.norm() > 0.0) {
        (true, true) => (a.arg(), b.arg()),
        (true, false) => (a.arg(), a.arg()),
        (false, _) => (b.arg(), b.arg()),
    };
    (2.0 * b.norm().atan2(a.norm()), of_b - of_a, Complex::from_polar(r, f64::midpoint(of_a, of_b)))
}
