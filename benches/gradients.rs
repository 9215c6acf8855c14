//! Times gradients of circuits beside their forward runs: one JSON object a line.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin gradients -- [n=12] [n=16] … [threads=1] [layers=4]
//! ```
//! The circuit is layers of RY and RZ on every qubit and a ring of CX; the observable is the
//! energy of an Ising chain in a transverse field. `forward`
//! binds, plans and runs the circuit; `gradient` is all of `value_and_gradient`; `prepared` is a
//! gradient at another point by `PreparedGradient`. They take turns, and the medians are given.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::time::Instant;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::Expectation,
    kernel::Threads,
    observable::{Pauli, PauliString, PauliSum},
    simulate::Simulator,
};

fn ansatz(n: usize, layers: usize) -> Circuit {
    let mut c = Circuit::new(n);
    let mut w = c.param_list("w", 2 * n * layers).into_iter();
    for _ in 0..layers {
        for q in 0..n {
            c.ry(q, w.next().unwrap()).unwrap().rz(q, w.next().unwrap()).unwrap();
        }
        for q in 0..n {
            c.cx(q, (q + 1) % n).unwrap();
        }
    }
    c
}

fn ising(n: usize) -> PauliSum {
    let bonds = (1..n).map(|q| (-1.0, PauliString::new([(q - 1, Pauli::Z), (q, Pauli::Z)]).unwrap()));
    let field = (0..n).map(|q| (-0.7, PauliString::new([(q, Pauli::X)]).unwrap()));
    PauliSum::new(bonds.chain(field).collect::<Vec<_>>())
}

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
        let mut prepared = energy.prepare::<f64>().unwrap();
        let (mut point, mut gradient) = (at.clone(), vec![0.0; at.len()]);
        let mut step = 0.0;
        let [forward, value, gradient, prepared] = medians([
            &mut || drop(none.values(&at).unwrap()),
            &mut || drop(energy.values(&at).unwrap()),
            &mut || drop(energy.value_and_gradient(&at).unwrap()),
            &mut || {
                step += 0.01;
                point.iter_mut().zip(&at).for_each(|(x, a)| *x = a + step);
                prepared.value_and_gradient(&point, &mut gradient).unwrap();
            },
        ]);
        println!(
            "{{\"suite\": \"gradient\", \"workload\": \"hea-{layers}\", \"n\": {n}, \"threads\": {}, \"forward\": {forward:.5e}, \
             \"value\": {value:.5e}, \"gradient\": {gradient:.5e}, \"prepared\": {prepared:.5e}, \
             \"ratio\": {:.2}}}",
            threads.count(),
            prepared / forward
        );
    }
}
