//! The GHZ state: n qubits that are all 0 or all 1.
//!
//! ```text
//! cargo run -p ketgrad-examples --example ghz
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{circuit::Circuit, kernel::Threads, simulate::Simulator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = 5;
    let mut ghz = Circuit::new(n);
    ghz.h(0)?;
    for q in 1..n {
        ghz.cx(q - 1, q)?;
    }
    print!("{ghz}");

    let simulator = Simulator::new();
    let state = simulator.run::<f64>(&ghz, &[])?;
    for (outcome, count) in simulator.counts(&ghz, &state, 1000, 1)? {
        println!("{outcome}: {count}");
    }
    // Each qubit alone is a fair coin, but any two of them always agree.
    let threads = Threads::serial();
    println!("<Z0> = {:.3}", state.expectation(&"Z0".parse()?, &threads)?);
    println!("<Z0 Z4> = {:.3}", state.expectation(&"Z0 Z4".parse()?, &threads)?);
    println!("<X0 X1 X2 X3 X4> = {:.3}", state.expectation(&"X0 X1 X2 X3 X4".parse()?, &threads)?);
    Ok(())
}
