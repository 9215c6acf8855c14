//! Phase estimation: reads the eigenvalue of a gate, here `e^{2 pi i 0.3}`, to t bits.
//!
//! ```text
//! cargo run -p ketgrad-examples --example phase_estimation
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    ansatz::phase_estimation, circuit::Circuit, kernel::Threads, param::Angle, simulate::Simulator,
};

/// Estimates the phase that `gate` gives to |1>, with t counting qubits: the probability of each
/// fraction k / 2^t of a turn.
fn estimate(gate: &Circuit, t: usize) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let counting: Vec<usize> = (0..t).collect();
    let mut circuit = Circuit::new(t + 1);
    circuit.x(t)?;
    circuit.append(&phase_estimation(gate, t)?, &[&counting[..], &[t]].concat())?;
    let state = Simulator::new().run::<f64>(&circuit, &[])?;
    Ok(state.probabilities_of(&counting, &Threads::serial())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, angle) in [("5/16 of a turn", Angle::pi(5, 8)), ("3/10 of a turn", Angle::pi(3, 5))]
    {
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
