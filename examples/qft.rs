//! The quantum Fourier transform finds the period of a state.
//!
//! ```text
//! cargo run -p ketgrad-examples --example qft
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{ansatz::qft, circuit::Circuit, simulate::Simulator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transform = qft(3)?;
    print!("{transform}");

    // Qubits 2 to 5 in superposition, 0 and 1 in |0>: the amplitudes have period 4 in 0..64.
    let n = 6;
    let mut circuit = Circuit::new(n);
    for q in 2..n {
        circuit.h(q)?;
    }
    circuit.append(&qft(n)?, &[0, 1, 2, 3, 4, 5])?;
    let state = Simulator::new().run::<f64>(&circuit, &[])?;
    println!("a state of period 4 in 0..64, transformed:");
    for (k, p) in state.probabilities().iter().enumerate().filter(|(_, p)| **p > 1e-12) {
        println!("frequency {k:2}: probability {p:.4}");
    }
    Ok(())
}
