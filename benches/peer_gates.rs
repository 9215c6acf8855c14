//! Times gates and prints JSON, one object a line, to stand beside another simulator's times.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin peer_gates -- H 20 CNOT 20
//! {"gate":"H","n":20,"seconds":1.08e-3,"batch":48}
//! ```
//! Without arguments the pairs are read from standard input and each is answered at once, so that a
//! harness can take turns with another program. One thread. The time of a gate is (time of a long
//! run - time of a run of one gate) / (difference in gates), each the least of several, so that
//! fixed costs drop out. The target walks over the qubits.

use std::{
    hint::black_box,
    io::{BufRead, Write},
    time::Instant,
};

use ketgrad_core::{
    kernel::{Operator, Threads},
    state::StateVector,
};
use num_complex::Complex;
use workload::sweep;

/// Seconds that the runs of one answer may take.
const BUDGET: f64 = 0.3;
/// Fewest repeats of each run.
const LEAST: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    if arguments.is_empty() {
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            if let [gate, n] = *line.split_whitespace().collect::<Vec<_>>() {
                writeln!(out, "{}", answer(gate, n.parse()?)?)?;
                out.flush()?;
            }
        }
    }
    for pair in arguments.chunks_exact(2) {
        writeln!(out, "{}", answer(&pair[0], pair[1].parse()?)?)?;
    }
    Ok(())
}

fn answer(gate: &str, n: usize) -> Result<String, Box<dyn std::error::Error>> {
    let once = sweep::<f64>(gate, n).ok_or("unknown gate or too few qubits")?;
    let mut state = StateVector::<Complex<f64>>::zero(n)?;
    let run = |operators: &[&Operator<Complex<f64>>], state: &mut StateVector<_>| {
        let start = Instant::now();
        for operator in operators {
            operator.apply(black_box(state.amplitudes_mut()), &Threads::serial());
        }
        start.elapsed().as_secs_f64()
    };
    let once: Vec<_> = once.iter().collect();
    run(&once, &mut state);
    let estimate = run(&once, &mut state).max(1e-8);
    let turns = ((0.02 / estimate) as usize).clamp(1, 20_000);
    let long = once.repeat(turns);
    let (mut least_long, mut least_one) = (f64::INFINITY, f64::INFINITY);
    let start = Instant::now();
    let mut repeats = 0;
    while repeats < LEAST || start.elapsed().as_secs_f64() < BUDGET {
        least_long = least_long.min(run(&long, &mut state));
        least_one = least_one.min(run(&long[..1], &mut state));
        repeats += 1;
    }
    let seconds = (least_long - least_one).max(0.0) / (long.len() - 1).max(1) as f64;
    Ok(format!(r#"{{"gate":"{gate}","n":{n},"seconds":{seconds:e},"batch":{}}}"#, long.len()))
}
