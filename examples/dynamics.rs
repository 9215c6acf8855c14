//! Dynamics of an Ising chain after its field is switched on: the mean magnetization over time, and
//! its rate of change, by two independent methods. One is the derivative of the whole
//! circuit by the time, the other an observable: `d<M>/dt = <i [H, M]>`. Beside the circuit, a
//! product formula, there is the evolution without any step.
//!
//! ```text
//! cargo run -p ketgrad-examples --example dynamics
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Circuit, StateVector,
    ansatz::evolution,
    hybrid::Expectation,
    kernel::Threads,
    observable::{Pauli, PauliSum},
    problem,
};

use num_complex::Complex;

const N: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let energy = problem::ising(N, 1.0, 0.8, true)?;
    let mut magnetization = PauliSum::default();
    for q in 0..N {
        magnetization.push(1.0 / N as f64, [(q, Pauli::Z)])?;
    }
    let speed = energy.commutator(&magnetization)?;

    // All spins up, then exp(-i H t) in ten steps of fourth order; the time is a parameter.
    let mut circuit = Circuit::new(N);
    let time = circuit.param("t");
    evolution(&mut circuit, &energy, time, 10, 4)?;
    println!(
        "{} strings in {} groups that are measured together, {} gates",
        energy.terms().len(),
        energy.qubit_wise_groups().len(),
        circuit.instructions().len()
    );

    let mut state = StateVector::<Complex<f64>>::zero(N)?;
    let threads = Threads::serial();
    let exact = (energy.clone(), magnetization.clone());

    let magnetization = Expectation::new(circuit.clone(), [magnetization])?;
    let speed = Expectation::new(circuit.clone(), [speed])?;
    let energy = Expectation::new(circuit, [energy])?;
    println!("   t  magnetization      exact     d/dt  <i[H, M]>    energy");
    for k in 0..=8 {
        let t = f64::from(k) * 0.25;
        if k > 0 {
            state.evolve(&exact.0, &0.25, &threads)?;
        }
        let without_steps = state.expectation(&exact.1, &threads)?;
        let (m, slope) = magnetization.value_and_gradient(&[t])?;
        let [speed, energy]: [f64; 2] = [speed.value(&[t])?, energy.value(&[t])?];
        println!(
            "{t:.2}  {m:13.6} {without_steps:10.6} {:8.4} {speed:10.4} {energy:9.4}",
            slope[0]
        );
    }
    Ok(())
}
