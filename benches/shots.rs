//! Progress of optimizers on shots: for each problem a line of a table over many seeds.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin shots -- [seeds=100] [iterations=300] [shots=100] [only=ising]
//!     [reach=…] [stability=…] [step=… width=…] [last=1]
//! ```
//! A seed draws the start, within 0.1 of 0, the directions and the shots. `minimum` is the lowest
//! value that L-BFGS finds from random starts; the energies are exact ones at the answers. `last=1`
//! takes the last point for the answer and stops where two values coincide or the gradient is 0,
//! which shows what calibration, averages and standard errors are worth.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::Expectation,
    observable::PauliSum,
    optimize::{Answer, Lbfgs, Measured, Optimizer, Spsa, Stopping, minimize, random_start},
    problem::{self, Graph},
    simulate::Shots,
};

type Any = Box<dyn Error>;

/// Three angles, of which one turns two qubits: the lowest value is -sqrt 5.
fn three_angles() -> Result<Circuit, Any> {
    let mut circuit = Circuit::new(2);
    let [a, b, c] = ["a", "b", "c"].map(|name| circuit.param(name));
    circuit.ry(0, &a)?.ry(1, b)?.cx(0, 1)?.ry(1, c)?.ry(0, a)?;
    Ok(circuit)
}

fn problems() -> Result<Vec<(&'static str, Circuit, PauliSum)>, Any> {
    let ring = Graph::new(5, (0..5).map(|k| (k, (k + 1) % 5, 1.0)))?;
    Ok(vec![
        ("three angles", three_angles()?, "Z0 Z1 + X0 + X1".parse()?),
        ("h2 uccsd", ansatz::uccsd(4, 2)?, problem::h2()),
        ("h2 hardware", ansatz::hardware_efficient(4, 1)?, problem::h2()),
        ("lih uccsd", ansatz::uccsd(6, 2)?, problem::lih()),
        ("ising", ansatz::hardware_efficient(4, 1)?, problem::ising(4, 1.0, 1.0, true)?),
        ("heisenberg", ansatz::hardware_efficient(4, 1)?, problem::heisenberg(4, [1.0; 3], true)?),
        ("max cut", ansatz::qaoa(&ring, 2)?, problem::max_cut(&ring)?),
    ])
}

/// The lowest value of L-BFGS from some starts.
fn minimum(energy: &Expectation) -> Result<f64, Any> {
    let mut least = f64::INFINITY;
    for seed in 0..20 {
        let start = random_start(energy.n_inputs(), 3.0, seed);
        let (end, _) = minimize(energy, &start, &Lbfgs::default().into(), &Stopping::default())?;
        least = least.min(end.value);
    }
    Ok(least)
}

/// The end of a run: the point, whether it is said to be a minimum, iterations and evaluations.
type End = (Vec<f64>, bool, usize, u64);

fn run(
    measured: &Measured<'_>,
    start: &[f64],
    spsa: Spsa,
    iterations: usize,
    last: bool,
) -> Result<(End, Option<Answer>), Any> {
    let optimizer = Optimizer::from(spsa);
    if !last {
        let stopping = Stopping::default().with_iterations(iterations);
        let (state, stop) = minimize(measured, start, &optimizer, &stopping)?;
        let answer = Answer::new(measured, start, &state)?;
        let end = (answer.x.clone(), stop.converged(), state.iterations, state.evaluations);
        return Ok((end, Some(answer)));
    }
    let mut state = optimizer.start(measured, start)?;
    let converged = loop {
        let change =
            state.values.windows(4).last().is_some_and(|last| last.iter().all(|v| *v == last[0]));
        if change || state.gradient.iter().all(|g| g.abs() <= 1e-6) {
            break true;
        }
        if state.iterations >= iterations {
            break false;
        }
        optimizer.step(measured, &mut state)?;
    };
    Ok(((state.x, converged, state.iterations, state.evaluations), None))
}

fn main() -> Result<(), Any> {
    let (mut seeds, mut iterations, mut count, mut last, mut only) =
        (100, 300, 100, false, String::new());
    let mut spsa = Spsa::default();
    for arg in std::env::args().skip(1) {
        match arg.split_once('=') {
            Some(("seeds", n)) => seeds = n.parse()?,
            Some(("iterations", n)) => iterations = n.parse()?,
            Some(("shots", n)) => count = n.parse()?,
            Some(("only", name)) => only = name.to_owned(),
            Some(("reach", x)) => spsa.reach = x.parse()?,
            Some(("stability", x)) => spsa.stability = x.parse()?,
            Some(("step", x)) => spsa.step = Some(x.parse()?),
            Some(("width", x)) => spsa.width = Some(x.parse()?),
            Some(("last", n)) => last = n != "0",
            _ => return Err(format!("unknown argument {arg}").into()),
        }
    }
    println!("{spsa:?}, {count} shots, {seeds} seeds, at most {iterations} iterations");
    println!(
        "{:13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>11}",
        "problem",
        "minimum",
        "start",
        "mean",
        "worst",
        "best",
        "converged",
        "iterations",
        "evaluations",
        "not below"
    );
    for (name, circuit, sum) in problems()?.into_iter().filter(|problem| problem.0.contains(&only))
    {
        let energy = Expectation::new(circuit, [sum])?;
        let (mut energies, mut first, mut converged, mut steps, mut asked) =
            (Vec::new(), 0.0, 0, 0, 0);
        let mut not_below = 0;
        for seed in 0..seeds {
            let width = if name.ends_with("uccsd") { 0.0 } else { 0.1 };
            let start = random_start(energy.n_inputs(), width, seed);
            let measured = Measured { energy: &energy, shots: Shots::new(count, seed) };
            let ((x, said, n, evaluations), answer) =
                run(&measured, &start, spsa.with_seed(seed), iterations, last)?;
            energies.push(energy.value::<f64>(&x)?);
            first += energy.value::<f64>(&start)? / seeds as f64;
            converged += usize::from(said);
            steps += n;
            asked += evaluations;
            not_below += usize::from(answer.is_some_and(|answer| !answer.is_below_start()));
        }
        energies.sort_by(f64::total_cmp);
        let mean = energies.iter().sum::<f64>() / seeds as f64;
        println!(
            "{name:13} {:9.4} {first:9.4} {mean:9.4} {:9.4} {:9.4} {converged:9} {:10} {:11} {not_below:10}",
            minimum(&energy)?,
            energies[energies.len() - 1],
            energies[0],
            steps / seeds as usize,
            asked / seeds,
        );
    }
    Ok(())
}
