//! A circuit inside a program: one qubit learns where a wave is positive. The program loops over
//! data, calls the circuit for each, and is differentiated through all of it.
//!
//! ```text
//! cargo run -p ketgrad-examples --example circuit_in_a_program
//! ```
//!
//! The circuit encodes x three times between rotations to be learned (A. Pérez-Salinas et al.,
//! Quantum 4, 226 (2020)).
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Number, PI,
    array::Array,
    circuit,
    exec::{Datum, Derivatives},
    hybrid::{Circuits, Expectation},
    pauli, program,
};
use num_dual::Dual64;

program! {
    primitive expectation(h: handle, angles: array) -> array = super::natively;

    /// The mean squared distance of <Z> from the labels.
    fn loss(h: handle, w: array, xs: array, labels: array) {
        let mut sum = 0.0;
        for i in 0..len(xs) {
            let mut angles = [0.0; 6];
            for layer in 0..3 {
                angles[2 * layer] = w[3 * layer] * xs[i] + w[3 * layer + 1];
                angles[2 * layer + 1] = w[3 * layer + 2];
            }
            let z = expectation(h, angles);
            let off = z[0] - labels[i];
            sum += off * off;
        }
        sum / real(len(xs))
    }
}

/// Three layers of rotations, and <Z>.
fn qubit() -> Result<Expectation, Box<dyn std::error::Error>> {
    let circuit = circuit! {
        qubits 1;
        param angle[6];
        for layer in 0..3 {
            ry(angle[2 * layer]) 0;
            rz(angle[2 * layer + 1]) 0;
        }
        rx(PI / 3) 0;
    }?;
    Ok(Expectation::new(circuit, [pauli!(Z0)?])?)
}

/// The primitive where `loss` runs as Rust, on any number.
fn natively<S: Number>(_: u32, angles: Array<S>) -> Array<S> {
    qubit().and_then(|qubit| Ok(qubit.values(&angles)?.into())).unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let xs: Vec<f64> = (0..16).map(|k| -1.0 + f64::from(k) / 7.5).collect();
    let labels: Vec<f64> = xs.iter().map(|x| (4.0 * x).sin().signum()).collect();
    let mut circuits = Circuits::new();
    let h = circuits.add(qubit()?);

    let program = loss::ir_with(&Circuits::rules()?)?;
    let mut reverse = Derivatives::<f64>::new(&program, "loss")?.with_host(&circuits);
    let mut w: Vec<f64> = (0..9).map(|k| 0.4 + (f64::from(k)).sin()).collect();
    let at = |w: &[f64]| {
        let array = |x: &[f64]| Datum::reals(x.iter().copied());
        [Datum::Handle(h), array(w), array(&xs), array(&labels)]
    };
    let reals = |d: &Datum<f64>| if let Datum::Reals(x) = d { x.to_vec() } else { Vec::new() };

    // The derivative by the first weight, on dual numbers as Rust.
    let (_, gradient) = reverse.value_and_gradient(&at(&w))?;
    let duals = w.iter().enumerate().map(|(k, &x)| Dual64::new(x, if k == 0 { 1.0 } else { 0.0 }));
    let lift = |x: &[f64]| x.iter().map(|&x| Dual64::from(x)).collect::<Array<_>>();
    let dual = loss(h, duals.collect(), lift(&xs), lift(&labels));
    println!("d loss / d w[0]: {:.9} in reverse, {:.9} on duals", reals(&gradient[0])[0], dual.eps);

    for step in 0..=300 {
        let (value, gradient) = reverse.value_and_gradient(&at(&w))?;
        if step % 100 == 0 {
            println!("step {step}: loss {value:.4}");
        }
        for (w, g) in w.iter_mut().zip(reals(&gradient[0])) {
            *w -= 0.1 * g;
        }
    }
    Ok(())
}
