//! Formulas instead of numbers: amplitudes of a symbolic circuit, and the expected cut of a
//! triangle under QAOA with one layer, with its derivatives and its maximum.
//!
//! ```text
//! cargo run -p ketgrad-examples --example closed_forms
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{basis::bitstring, circuit, exact::ClosedForm, exact::Form, pauli};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let circuit = circuit! {
        qubits 2;
        param theta, phi;
        h 0;
        cx 0, 1;
        rx(theta) 0;
        rz(phi) 1;
    }?;
    let state = ClosedForm::from_circuit(&circuit)?;
    for index in state.support() {
        println!("{}: {}", bitstring(index, 2), state.amplitude(index)?);
    }
    println!("in LaTeX: {}", state.amplitude(0b01)?.text(Form::Latex));
    println!("probability of 00: {}", state.probability(0b00)?);

    let triangle = circuit! {
        qubits 3;
        param gamma, beta;
        h ..;
        for q in 0..3 { rzz(-gamma) q, (q + 1) % 3; }
        rx(2 * beta) ..;
    }?;
    let state = ClosedForm::from_circuit(&triangle)?;
    let cut = state.expectation(&pauli!(1.5 - 0.5 * Z0 Z1 - 0.5 * Z1 Z2 - 0.5 * Z0 Z2)?)?;
    let slopes = [cut.derivative("gamma")?, cut.derivative("beta")?];
    println!("cut = {cut}");
    println!("d cut / d gamma = {}", slopes[0]);
    println!("d cut / d beta = {}", slopes[1]);

    // Newton's method on the gradient; second derivatives are formulas as well.
    let mut at = [0.6, 0.3];
    for _ in 0..20 {
        let value = |name: &str, k: usize| {
            Ok::<f64, Box<dyn std::error::Error>>(slopes[k].derivative(name)?.eval(&at)?.re)
        };
        let (a, b, d) = (value("gamma", 0)?, value("beta", 0)?, value("beta", 1)?);
        let (x, y) = (slopes[0].eval(&at)?.re, slopes[1].eval(&at)?.re);
        let determinant = a * d - b * b;
        at = [at[0] - (d * x - b * y) / determinant, at[1] - (a * y - b * x) / determinant];
    }
    println!("maximum at gamma = {:.6}, beta = {:.6}: {:.6}", at[0], at[1], cut.eval(&at)?.re);
    Ok(())
}
