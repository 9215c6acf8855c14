//! A rotation by repetition until success, unrolled: each round succeeds with probability 1/2, and a
//! failure is taken back by the next round, which tries twice the angle.
//!
//! ```text
//! cargo run -p ketgrad-examples --example repeat_until_success
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Simulator, circuit,
    core::{param::Values, simulate::BoundCircuit},
};
use num_complex::Complex;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let theta = 0.4;
    let simulator = Simulator::new();
    for rounds in 1..=6 {
        let c = circuit! {
            qubits data[1], ancilla[1];
            bits failed, wrong;
            h data;
            assign failed = true;
            for round in 0..rounds {
                when failed {
                    reset ancilla;
                    h ancilla;
                    rz(theta * 2f64.powi(round)) ancilla;
                    cx data, ancilla;
                    measure ancilla -> failed;
                }
            }
            // Where it succeeded, undoing RZ(theta) H leaves |0>.
            when !failed {
                rz(-theta) data;
                h data;
                measure data -> wrong;
            }
        }?;
        // Every branch is followed, so these are exact probabilities, not frequencies.
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values::<f64>(&[]))?;
        let (mut failed, mut wrong) = (0.0, 0.0);
        for (bits, p) in simulator.distribution(&bound, 1000)? {
            failed += if bits.get(0) { p } else { 0.0 };
            wrong += if bits.get(1) { p } else { 0.0 };
        }
        println!("{rounds} rounds: failed with probability {failed:.6}, wrong with probability {wrong:.6}");
    }
    Ok(())
}
