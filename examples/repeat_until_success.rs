//! Repetition until success. First a loop that a measurement ends: from Clifford gates and
//! Toffolis, a rotation by `acos(3/5)`, which is no rational part of a turn; a round succeeds with
//! probability 5/8 and is a Z otherwise (Nielsen and Chuang, exercise 4.41). Then a rotation by any
//! angle, unrolled: each round succeeds with probability 1/2, and a failure is undone by the
//! next round, which tries twice the angle.
//!
//! ```text
//! cargo run -p ketgrad-examples --example repeat_until_success
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{Simulator, circuit, param::Values, simulate::BoundCircuit};
use num_complex::Complex;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let simulator = Simulator::new();
    let until_it_works = circuit! {
        qubits data[1], ancilla[2];
        bits failed[2], wrong;
        h data;
        assign failed = true;
        while_loop failed != 0 {
            reset ancilla;
            h ancilla;
            ccx 1, 2, data;
            s data;
            ccx 1, 2, data;
            h ancilla;
            measure ancilla -> failed;
            when failed != 0 { z data; }
        }
        rz(-0.6f64.acos()) data;
        h data;
        measure data -> wrong;
    }?;
    let counts = simulator.run_shots::<f64>(&until_it_works, &[], 1000, 7)?;
    println!("a rotation by acos(3/5), undone: {counts:?}");

    let theta = 0.4;
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
        println!(
            "{rounds} rounds: failed with probability {failed:.6}, wrong with probability {wrong:.6}"
        );
    }
    Ok(())
}
