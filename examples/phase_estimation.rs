//! Phase estimation: reads the eigenvalue of a gate, here `e^{2 pi i 0.3}`, to t bits.
//!
//! ```text
//! cargo run -p ketgrad-examples --example phase_estimation
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    circuit::Circuit, circuit::CircuitError, kernel::Threads, param::Angle, simulate::Simulator,
};

/// Estimates the phase that `gate` gives to |1>, with t counting qubits: the probability of each
/// fraction k / 2^t of a turn.
fn estimate(gate: &Circuit, t: usize) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let counting: Vec<usize> = (0..t).collect();
    let controlled = gate.controlled(&[true])?;
    let mut circuit = Circuit::new(t + 1);
    circuit.x(t)?;
    for &q in &counting {
        circuit.h(q)?;
        circuit.append(&controlled.repeat(1 << q)?, &[t, q])?;
    }
    circuit.append(&qft(t)?.dagger()?, &counting)?;
    let state = Simulator::new().run::<f64>(&circuit, &[])?;
    Ok(state.probabilities_of(&counting, &Threads::serial())?)
}

fn qft(n: usize) -> Result<Circuit, CircuitError> {
    let mut circuit = Circuit::new(n);
    for target in (0..n).rev() {
        circuit.h(target)?;
        for control in 0..target {
            circuit.cp(control, target, Angle::pi(1, 1 << (target - control)))?;
        }
    }
    for q in 0..n / 2 {
        circuit.swap(q, n - 1 - q)?;
    }
    Ok(circuit)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, angle) in [("5/16 of a turn", Angle::pi(5, 8)), ("3/10 of a turn", Angle::pi(3, 5))] {
        let mut gate = Circuit::new(1);
        gate.p(0, angle)?;
        for t in [4, 8] {
            let p = estimate(&gate, t)?;
            let best = (0..p.len()).max_by(|&i, &j| p[i].total_cmp(&p[j])).unwrap_or(0);
            println!(
                "{name}, {t} qubits: {best}/{} = {:.6} with probability {:.4}",
                p.len(),
                best as f64 / p.len() as f64,
                p[best]
            );
        }
    }
    Ok(())
}
