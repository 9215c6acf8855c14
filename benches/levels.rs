//! Times a sum of Pauli strings applied to a state, evolution by it and its ground state: one JSON
//! object a line.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin levels -- [n=18] … [threads=1] [repeats=3]
//! ```
//! The sums are the Ising ring at its critical point and the Heisenberg ring, both with couplings
//! of 1. `applied` is one product with a random state, `evolve` `exp(-i H t)` of it for t = 1/2,
//! `ground` the lowest level. Medians, in seconds. `compare/levels.py` puts scipy beside it.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::{error::Error, time::Instant};

use ketgrad_core::{kernel::Threads, problem, simulate::Simulator, state::StateVector};
use num_complex::Complex;

/// The median time of some runs, and what the last gave.
fn median<T>(
    repeats: usize,
    mut run: impl FnMut() -> Result<T, Box<dyn Error>>,
) -> Result<(f64, T), Box<dyn Error>> {
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let result = run()?;
        times.push(start.elapsed().as_secs_f64());
        if times.len() >= repeats {
            times.sort_by(f64::total_cmp);
            return Ok((times[times.len() / 2], result));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut sizes, mut threads, mut repeats) = (Vec::new(), 1, 3);
    for arg in std::env::args().skip(1) {
        match arg.split_once('=') {
            Some(("n", n)) => sizes.push(n.parse()?),
            Some(("threads", n)) => threads = n.parse()?,
            Some(("repeats", n)) => repeats = n.parse()?,
            _ => return Err(format!("expected n=, threads= or repeats=, given {arg}").into()),
        }
    }
    if sizes.is_empty() {
        sizes.push(18);
    }
    let simulator = Simulator::new().with_threads(Threads::new(threads)?);
    for n in sizes {
        let sums = [
            ("ising", problem::ising(n, 1.0, 1.0, true)?),
            ("heisenberg", problem::heisenberg(n, [1.0; 3], true)?),
        ];
        for (name, sum) in sums {
            let state = StateVector::<Complex<f64>>::random(n, 1, &simulator.threads)?;
            let (applied, _) =
                median(5 * repeats, || Ok(state.applied(&sum, &simulator.threads)?))?;
            let (evolve, _) = median(repeats, || {
                let mut state = state.clone();
                state.evolve(&sum, &0.5, &simulator.threads)?;
                Ok(state)
            })?;
            let (ground, levels) = median(repeats, || Ok(simulator.lowest(&sum, n, 1)?))?;
            let energy = levels.first().map(|level| level.energy);
            println!(
                "{}",
                serde_json::json!({
                    "sum": name, "n": n, "threads": threads, "applied": applied, "evolve": evolve, "ground": ground,
                    "energy": energy,
                })
            );
        }
    }
    Ok(())
}
