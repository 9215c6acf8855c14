//! Time to decide that two circuits are equal, beside simulating both in `f64`.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin equivalence [-- QUBITS…]
//! ```
//! Each row is the median of interleaved repeats on one thread: the check, both simulations on the
//! generic kernels (binding included), and the ratio.
#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::time::Instant;

use ketgrad_core::{
    circuit::{Circuit, CircuitError},
    equivalent::{EquivalenceSettings, Verdict, equivalent},
    kernel::{Executors, Threads},
    param::PI,
    simulate::Simulator,
};

/// Gates of each circuit.
const GATES: usize = 300;
/// Interleaved repeats of large circuits; of small ones more, for as many amplitudes in all.
const REPEATS: usize = 7;

/// Layers of rotations by free angles and CX; with `halves` each rotation in two.
fn layers(n: usize, halves: bool) -> Result<Circuit, CircuitError> {
    let mut c = Circuit::new(n);
    let w = c.param_list("w", 12);
    for k in 0..GATES {
        let (q, angle) = (k % n, &w[k % w.len()]);
        let half = angle / 2;
        match (k / n % 4, halves) {
            (0, false) => c.rx(q, angle)?,
            (0, true) => c.rx(q, &half)?.rx(q, half)?,
            (1, false) => c.rz(q, angle)?,
            (1, true) => c.rz(q, &half)?.rz(q, half)?,
            (2, _) => c.h(q)?.p(q, PI / 8)?,
            _ => c.cx(q, (q + 1) % n)?,
        };
    }
    Ok(c)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let simulator =
        Simulator::new().with_executors(Executors::new()).with_threads(Threads::serial());
    println!("{:>3} {:>12} {:>12} {:>6}", "n", "check", "simulations", "ratio");
    let given: Vec<usize> =
        std::env::args().skip(1).map(|n| n.parse()).collect::<Result<_, _>>()?;
    let sizes = if given.is_empty() { vec![8, 12, 16, 20] } else { given };
    for n in sizes {
        let (a, b) = (layers(n, false)?, layers(n, true)?);
        let inputs: Vec<f64> = a.inputs().enumerate().map(|(k, _)| 0.3 + k as f64).collect();
        let (mut checks, mut simulations) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS << 16usize.saturating_sub(n).min(6) {
            let start = Instant::now();
            let report = equivalent(&a, &b, &EquivalenceSettings::default(), &simulator)?;
            checks.push(start.elapsed().as_secs_f64());
            if report.verdict != Verdict::Equal || !report.exact {
                return Err(format!("{report:?}").into());
            }
            let start = Instant::now();
            for circuit in [&a, &b] {
                std::hint::black_box(simulator.run(circuit, &inputs)?);
            }
            simulations.push(start.elapsed().as_secs_f64());
        }
        let (check, simulation) = (median(checks), median(simulations));
        println!("{n:>3} {check:>11.6}s {simulation:>11.6}s {:>6.2}", check / simulation);
    }
    Ok(())
}
