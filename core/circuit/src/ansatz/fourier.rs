//! The quantum Fourier transform, and phase estimation by it.

use crate::{
    circuit::{Circuit, CircuitError},
    param::Angle,
};

/// Returns the circuit of the Fourier transform `|k> -> sum_j e^{2 pi i j k / 2^n} |j> / sqrt(2^n)`
/// of n qubits, of which qubit 0 is the least significant bit of j and k. All angles are exact
/// multiples of pi; `n (n + 1) / 2` gates and `n / 2` swaps. Angles below `pi / 2^62` are left out,
/// which are less than any rounding.
///
/// ```
/// use ketgrad_core::{ansatz::qft, simulate::Simulator};
///
/// let transform = qft(3)?;
/// assert_eq!(transform.count_operations()["cp"], 3);
/// let state = Simulator::new().run::<f64>(&transform, &[])?;
/// assert!(state.probabilities().iter().all(|p| (p - 0.125).abs() < 1e-15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CircuitError`] for more qubits than a circuit can have.
pub fn qft(n_qubits: usize) -> Result<Circuit, CircuitError> {
    let mut circuit = Circuit::new(n_qubits);
    for target in (0..n_qubits).rev() {
        circuit.h(target)?;
        for control in target.saturating_sub(62)..target {
            circuit.cp(control, target, Angle::pi(1, 1 << (target - control)))?;
        }
    }
    for q in 0..n_qubits / 2 {
        circuit.swap(q, n_qubits - 1 - q)?;
    }
    Ok(circuit)
}

/// Phase estimation (Cleve, Ekert, Macchiavello, Mosca, Proc. R. Soc. Lond. A 454, 339 (1998)).
/// With an eigenstate of a unitary circuit on the qubits from `bits` on, of eigenvalue
/// `e^{2 pi i f}`, the number that qubits 0 to `bits - 1` hold is `2^bits f` if that is whole, and
/// else near it. Nothing is measured.
///
/// The circuit occurs `2^bits - 1` times under a control. Its global phase counts, and its
/// parameters stay.
///
/// ```
/// use ketgrad_core::{ansatz::phase_estimation, circuit::Circuit, param::Angle, simulate::Simulator};
///
/// let mut gate = Circuit::new(1);
/// gate.p(0, Angle::pi(5, 8))?; // 5/16 of a turn for |1>
/// let mut circuit = Circuit::new(5);
/// circuit.x(4)?.append(&phase_estimation(&gate, 4)?, &[0, 1, 2, 3, 4])?;
/// let p = Simulator::new().run::<f64>(&circuit, &[])?.probabilities();
/// assert!((p[0b1_0101] - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CircuitError`] if the circuit measures or has noise, or if the result would be too long.
pub fn phase_estimation(unitary: &Circuit, bits: usize) -> Result<Circuit, CircuitError> {
    let controlled = unitary.controlled(&[true])?;
    let most = u32::try_from(bits).ok().and_then(|bits| 1usize.checked_shl(bits));
    Circuit::room_for(
        most.and_then(|times| times.checked_mul(unitary.instructions().len().max(1))),
    )?;
    let mut circuit = Circuit::new(bits + unitary.n_qubits());
    let counting: Vec<usize> = (0..bits).collect();
    for &q in &counting {
        circuit.h(q)?;
        let mut qubits: Vec<usize> = (bits..bits + unitary.n_qubits()).collect();
        // The control of `controlled` is its last qubit.
        qubits.push(q);
        circuit.append(&controlled.repeat(1 << q)?, &qubits)?;
    }
    circuit.append(&qft(bits)?.dagger()?, &counting)?;
    Ok(circuit)
}
