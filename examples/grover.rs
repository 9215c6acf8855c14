//! Grover's search: one marked state among 2^n is found after about pi/4 sqrt(2^n) rounds.
//!
//! ```text
//! cargo run -p ketgrad-examples --example grover
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    circuit::{Circuit, CircuitError},
    gate::{Gate, GateKind},
    simulate::Simulator,
};

/// -1 at one basis state, 1 elsewhere: a phase of pi under one control per qubit, each at the value
/// of the state's bit.
fn flip(n: usize, state: usize) -> Result<Circuit, CircuitError> {
    let mut circuit = Circuit::new(n);
    let controls: Vec<_> = (0..n).map(|q| (q, state >> q & 1 == 1)).collect();
    let sign = Gate::new(GateKind::GPHASE, [ketgrad_core::param::Angle::pi(1, 1)])?;
    circuit.gate(sign, &[], &controls)?;
    Ok(circuit)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (n, marked) = (6, 0b101101);
    let all: Vec<usize> = (0..n).collect();
    let mut spread = Circuit::new(n);
    for &q in &all {
        spread.h(q)?;
    }
    let mut round = flip(n, marked)?;
    round.append(&spread, &all)?.append(&flip(n, 0)?, &all)?.append(&spread, &all)?;

    let simulator = Simulator::new();
    let angle = (0.5f64.powi(n as i32)).sqrt().asin();
    for rounds in 0..=8 {
        let mut circuit = spread.clone();
        circuit.append(&round.repeat(rounds)?, &all)?;
        let p = simulator.run::<f64>(&circuit, &[])?.probabilities()[marked];
        let formula = (f64::from(2 * rounds as u32 + 1) * angle).sin().powi(2);
        println!(
            "{rounds} rounds: found with probability {p:.6}, sin^2((2k + 1) theta) = {formula:.6}"
        );
    }
    Ok(())
}
