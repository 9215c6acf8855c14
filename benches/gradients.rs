//! Times gradients of circuits beside their forward runs: one JSON object a line.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin gradients -- [n=12] [n=16] … [threads=1] [layers=4]
//! ```
//! The circuit is layers of RY and RZ on every qubit and a ring of CX; the observable is the energy
//! of an Ising chain in a transverse field. `forward` binds, plans and runs the circuit; `gradient`
//! is all of `value_and_gradient`; `prepared` is a gradient at another point by `PreparedGradient`;
//! `product` is a Hessian-vector product with the gradient. They take turns, and the medians are
//! given. With `memory`, only the prepared gradient runs, and `states` is the most memory that the
//! process has had, in vectors of 2^n amplitudes (Linux).
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::time::Instant;

use ketgrad_core::{
    hybrid::Expectation, kernel::Threads, observable::PauliSum, simulate::Simulator,
};
use workload::circuits::{ansatz, ising};

/// The median time of each of some runs, which take turns for about a second.
fn medians<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    runs.iter_mut().for_each(|run| run());
    let mut times = [const { Vec::new() }; N];
    let begin = Instant::now();
    while times[0].len() < 5 || (begin.elapsed().as_secs_f64() < 2.0 && times[0].len() < 2000) {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// The most bytes that the process has had, as the system says.
fn most_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| -> Vec<usize> {
        arguments
            .iter()
            .filter_map(|a| a.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .collect()
    };
    let threads = Threads::new(number("threads").first().copied().unwrap_or(1)).unwrap();
    let layers = number("layers").first().copied().unwrap_or(4);
    let sizes = Some(number("n")).filter(|n| !n.is_empty()).unwrap_or(vec![12, 16, 20]);
    let memory = arguments.iter().any(|a| a == "memory");
    for n in sizes {
        let simulator = Simulator::new().with_threads(threads.clone());
        let energy =
            Expectation::new(ansatz(n, layers), [ising(n)]).unwrap().with_simulator(simulator);
        let none = Expectation::new(ansatz(n, layers), [] as [PauliSum; 0])
            .unwrap()
            .with_simulator(Simulator::new().with_threads(threads.clone()));
        let at: Vec<f64> = (0..2 * n * layers).map(|k| (1.0 + k as f64).sin() * 3.0).collect();
        let mut prepared = energy.prepare::<f64>().unwrap();
        let (mut point, mut gradient) = (at.clone(), vec![0.0; at.len()]);
        if memory {
            prepared.value_and_gradient(&point, &mut gradient).unwrap();
            let states = most_memory().map(|bytes| bytes / 16.0 / (n as f64).exp2());
            println!(
                "{{\"suite\": \"memory\", \"n\": {n}, \"threads\": {}, \"states\": {:.2}}}",
                threads.count(),
                states.unwrap_or(f64::NAN)
            );
            continue;
        }
        let mut step = 0.0;
        let v: Vec<f64> = at.iter().map(|x| x.cos()).collect();
        let [forward, value, gradient, product, prepared] = medians([
            &mut || drop(none.values(&at).unwrap()),
            &mut || drop(energy.values(&at).unwrap()),
            &mut || drop(energy.value_and_gradient(&at).unwrap()),
            &mut || drop(energy.hvp(&at, &v).unwrap()),
            &mut || {
                step += 0.01;
                point.iter_mut().zip(&at).for_each(|(x, a)| *x = a + step);
                prepared.value_and_gradient(&point, &mut gradient).unwrap();
            },
        ]);
        println!(
            "{{\"suite\": \"gradient\", \"workload\": \"hea-{layers}\", \"n\": {n}, \"threads\": {}, \"forward\": {forward:.5e}, \
             \"value\": {value:.5e}, \"gradient\": {gradient:.5e}, \"prepared\": {prepared:.5e}, \
             \"product\": {product:.5e}, \"prepared_over_forward\": {:.2}, \"product_over_gradient\": {:.2}}}",
            threads.count(),
            prepared / forward,
            product / gradient,
        );
    }
}
