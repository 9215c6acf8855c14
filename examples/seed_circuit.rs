//! One circuit, three kinds of numbers: a value, its derivative, its error bar.
//!
//! The function below is generic over the real numbers that angles are made of. Plain floats give a
//! value, dual numbers the derivative along with it, numbers with uncertainty an error bar, through
//! the same gates and kernels.
//!
//! ```text
//! cargo run -p ketgrad-examples --example seed_circuit
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    circuit::Circuit,
    kernel::Threads,
    scalar::{Real, Uncertain},
    simulate::{SimulateError, Simulator},
};
use num_dual::Dual64;

/// `<Z2>` after a rotation by theta that is handed on along three qubits.
fn signal<T: Real>(circuit: &Circuit, theta: T) -> Result<T, Box<dyn std::error::Error>> {
    let state = Simulator::new().run(circuit, &[theta])?;
    Ok(state.expectation(&"Z2".parse()?, &Threads::serial())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut circuit = Circuit::new(3);
    let theta = circuit.param("theta");
    circuit.rx(0, &theta)?.cx(0, 1)?.ry(1, &theta)?.cx(1, 2)?;
    print!("{circuit}");

    let theta = 0.4;
    println!("value:      <Z2> = {:.6}", signal(&circuit, theta)?);
    // <Z2> = cos(theta)^2, so the derivative is -sin(2 theta).
    let dual = signal(&circuit, Dual64::new(theta, 1.0))?;
    println!(
        "derivative: d<Z2>/d theta = {:.6}, -sin(2 theta) = {:.6}",
        dual.eps,
        -(2.0 * theta).sin()
    );
    let uncertain = signal(&circuit, Uncertain::new(theta, 0.01))?;
    println!(
        "error bar:  theta = 0.4 ± 0.01 gives <Z2> = {:.6} ± {:.6}",
        uncertain.value(),
        uncertain.sigma()
    );

    // A wrong number of values is an error that says so.
    let error: SimulateError =
        Simulator::new().run::<f64>(&circuit, &[]).err().ok_or("no error")?;
    println!("{error}");
    Ok(())
}
