//! A variational state of the Ising chain, its energy and its samples: without a program, by a
//! package that depends on `ketgrad-sim` alone.
//!
//! ```text
//! cargo run -p ketgrad-only-circuits
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_sim::{circuit::Circuit, kernel::Threads, observable::PauliSum, simulate::Simulator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = 4;
    let mut circuit = Circuit::new(n);
    let angle = circuit.param("angle");
    for q in 0..n {
        circuit.ry(q, angle.clone())?;
    }
    for q in 1..n {
        circuit.cz(q - 1, q)?;
    }

    let energy: PauliSum = "-Z0 Z1 - Z1 Z2 - Z2 Z3 - 0.5*X0 - 0.5*X1 - 0.5*X2 - 0.5*X3".parse()?;
    let simulator = Simulator::new();
    for value in [0.0, 0.3, 0.6] {
        let state = simulator.run::<f64>(&circuit, &[value])?;
        println!("energy({value}) = {:.6}", state.expectation(&energy, &Threads::serial())?);
    }
    let state = simulator.run::<f64>(&circuit, &[0.6])?;
    for (outcome, count) in simulator.counts(&circuit, &state, 1000, 1)?.into_iter().take(3) {
        println!("{outcome}: {count}");
    }
    Ok(())
}
