//! The Hessian of an energy at a start and at the minimum, where it is positive. Newton's method
//! goes from one to the other in a few steps.
//!
//! ```text
//! cargo run -p ketgrad-examples --example energy_hessian
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    circuit,
    hybrid::Expectation,
    optimize::{NewtonCg, Optimizer, Stopping, minimize},
    pauli,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two spins in a field. Every real state of them is an entangled pair, each half turned.
    let circuit = circuit! {
        qubits 2;
        param a, b, c;
        ry(a) 0;
        cx 0, 1;
        ry(b) 0;
        ry(c) 1;
    }?;
    let energy = Expectation::new(circuit, [pauli!(-1.0 * Z0 Z1 - 0.5 * X0 - 0.5 * X1)?])?;

    let (value, gradient) = energy.value_and_gradient(&[0.0, 0.0, 0.0])?;
    println!("at zero: energy {value:.6}, gradient {gradient:.3?}");
    show(&energy.hessian(&[0.0, 0.0, 0.0])?);

    let optimizer = Optimizer::from(NewtonCg::default());
    let (end, _) = minimize(&energy, &[0.1, 0.1, 0.1], &optimizer, &Stopping::default())?;
    println!("Newton's steps: {:.6?}", end.values);
    println!("exact: {:.6}", -2f64.sqrt());
    let hessian = energy.hessian(&end.x)?;
    show(&hessian);

    // One column alone costs two gradients, however many inputs there are.
    let (_, column) = energy.hvp(&end.x, &[1.0, 0.0, 0.0])?;
    let off = column.iter().zip(&hessian).map(|(x, row)| (x - row[0]).abs()).fold(0.0, f64::max);
    println!("H (1, 0, 0) is its first column to {:.0e}", off.max(1e-15));
    Ok(())
}

fn show(hessian: &[Vec<f64>]) {
    for row in hessian {
        let row: Vec<String> =
            row.iter().map(|x| format!("{:8.4}", (1e4 * x).round() / 1e4 + 0.0)).collect();
        println!("  {}", row.join(" "));
    }
}
