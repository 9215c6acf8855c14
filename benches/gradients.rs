//! Times gradients of circuits beside their forward runs: one JSON object a line.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin gradients -- [n=12] [n=16] … [threads=1] [layers=4]
//! ```
//! The circuit is layers of RY and RZ on every qubit and a ring of CX; the observable is the
//! energy of an Ising chain in a transverse field. `forward`
//! binds, plans and runs the circuit; `gradient` is all of `value_and_gradient`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::time::Instant;

use ketgrad_core::{hybrid::Expectation, kernel::Threads, observable::PauliSum, simulate::Simulator};
use workload::circuits::{ansatz, ising};

/// The median of runs for about a second.
fn median(mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (start.elapsed().as_secs_f64() < 1.0 && times.len() < 2000) {
        let start = Instant::now();
        f();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| -> Vec<usize> {
        arguments.iter().filter_map(|a| a.strip_prefix(name)?.strip_prefix('=')?.parse().ok()).collect()
    };
    let threads = Threads::new(number("threads").first().copied().unwrap_or(1)).unwrap();
    let layers = number("layers").first().copied().unwrap_or(4);
    let sizes = Some(number("n")).filter(|n| !n.is_empty()).unwrap_or(vec![12, 16, 20]);
    for n in sizes {
        let simulator = Simulator { threads: threads.clone(), ..Simulator::new() };
        let energy = Expectation::new(ansatz(n, layers), [ising(n)]).unwrap().with_simulator(simulator);
        let none = Expectation::new(ansatz(n, layers), [] as [PauliSum; 0])
            .unwrap()
            .with_simulator(Simulator { threads: threads.clone(), ..Simulator::new() });
        let at: Vec<f64> = (0..2 * n * layers).map(|k| (1.0 + k as f64).sin() * 3.0).collect();
        let forward = median(|| drop(none.values(&at).unwrap()));
        let value = median(|| drop(energy.values(&at).unwrap()));
        let gradient = median(|| drop(energy.value_and_gradient(&at).unwrap()));
        println!(
            "{{\"suite\": \"gradient\", \"workload\": \"hea-{layers}\", \"n\": {n}, \"threads\": {}, \"forward\": {forward:.5e}, \
             \"value\": {value:.5e}, \"gradient\": {gradient:.5e}, \"ratio\": {:.2}}}",
            threads.count(),
            gradient / forward
        );
    }
}
