//! Circuit amplitudes and derivatives on Symbolica's expressions, beside floats and dual numbers
//! and nothing else.
//!
//! One process, one thread. It runs Symbolica, which takes a licence of one's own, so it does
//! nothing unless it is told to: `KETGRAD_RUN_SYMBOLICA=1 cargo test`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it skips"
)]

use ketgrad_core::{
    circuit::Circuit,
    exec::{Datum, Derivatives},
    scalar::Scalar,
    simulate::Simulator,
    text::parse_program,
};
use ketgrad_symbolica::{Symbolic, read};
use num_complex::Complex;
use num_dual::Dual64;

/// Rounding of a dozen gates, and of one formula in floats.
const ROUNDING: f64 = 1e-12;
/// Names with signs that Symbolica's own do not have.
const NAMES: [&str; 3] = ["theta", "w[0]", "step_size"];
const AT: [f64; 3] = [0.7, -1.3, 2.1];

fn main() {
    if std::env::var("KETGRAD_RUN_SYMBOLICA").as_deref() != Ok("1") {
        println!("skipped: set KETGRAD_RUN_SYMBOLICA=1 if you are entitled to run Symbolica");
        return;
    }
    amplitudes_and_their_derivatives();
    expectation_values();
    derivative_rules();
    formulas_there_and_back();
    println!("all passed");
}

fn values() -> Vec<(&'static str, f64)> {
    NAMES.into_iter().zip(AT).collect()
}

fn symbols() -> Vec<Symbolic> {
    NAMES.iter().map(|name| Symbolic::symbol(name).unwrap()).collect()
}

/// Point `AT` moved along one parameter.
fn duals(k: usize) -> Vec<Dual64> {
    AT.iter().enumerate().map(|(j, x)| Dual64::new(*x, f64::from(u8::from(j == k)))).collect()
}

fn circuit() -> Circuit {
    let mut circuit = Circuit::new(3);
    let [theta, w, step] = NAMES.map(|name| circuit.param(name));
    circuit.h(0).unwrap().t(0).unwrap().cx(0, 1).unwrap().ry(1, &theta).unwrap().rz(2, &w).unwrap();
    circuit.rx(2, &step / 2 + &theta).unwrap().crz(2, 0, w).unwrap().rzz(0, 1, theta).unwrap();
    circuit.swap(1, 2).unwrap().h(2).unwrap().p(1, step).unwrap();
    circuit
}

#[track_caller]
fn assert_close(x: f64, y: f64, what: &str) {
    assert!((x - y).abs() < ROUNDING, "{what}: {x} and {y}");
}

fn amplitudes_and_their_derivatives() {
    let (circuit, values) = (circuit(), values());
    let state = Simulator::new().run(&circuit, &symbols()).unwrap();
    let plain = Simulator::new().run(&circuit, &AT).unwrap();
    for (k, name) in NAMES.into_iter().enumerate() {
        let moved = Simulator::new().run(&circuit, &duals(k)).unwrap();
        for (index, z) in state.amplitudes().iter().enumerate() {
            let (float, dual) = (plain.amplitudes()[index], &moved.amplitudes()[index]);
            for (x, float, dual) in [(&z.re, float.re, dual.re), (&z.im, float.im, dual.im)] {
                assert_close(x.evaluate(&values).unwrap(), float, "an amplitude");
                let slope = x.derivative(name).unwrap().evaluate(&values).unwrap();
                assert_close(slope, dual.eps, "the derivative of an amplitude");
            }
        }
    }
}

fn expectation_values() {
    let (circuit, observable) = (circuit(), "0.5*Z0 Z1 - X2".parse().unwrap());
    let simulator = Simulator::new();
    let state = simulator.run(&circuit, &symbols()).unwrap();
    let energy = state.expectation(&observable, &simulator.threads).unwrap();
    for (k, name) in NAMES.into_iter().enumerate() {
        let moved = simulator.run(&circuit, &duals(k)).unwrap();
        let expected = moved.expectation(&observable, &simulator.threads).unwrap();
        assert_close(energy.evaluate(&values()).unwrap(), expected.re, "an expectation value");
        let slope = energy.derivative(name).unwrap().evaluate(&values()).unwrap();
        assert_close(slope, expected.eps, "the derivative of an expectation value");
    }
}

/// The reverse mode of a program, on symbols.
fn derivative_rules() {
    let source = "fn f(x, y) { let mut s = x; for k in 0..3 { s = sin(s) * y + exp(-s) / (1.0 + y * y); } s * sqrt(y * y) }";
    let program = parse_program(source).unwrap();
    let inputs = [&symbols()[0], &symbols()[2]].map(|x| Datum::Real(x.clone()));
    let (value, gradient) =
        Derivatives::<Symbolic>::new(&program, "f").unwrap().value_and_gradient(&inputs).unwrap();
    let point = [AT[0], AT[2]];
    let mut plain = Derivatives::<f64>::new(&program, "f").unwrap();
    let (expected, slopes) = plain.value_and_gradient(&point.map(Datum::Real)).unwrap();
    assert_close(value.evaluate(&values()).unwrap(), expected, "a program");
    for (k, (slope, expected)) in gradient.iter().zip(&slopes).enumerate() {
        let slope = slope.real().unwrap().evaluate(&values()).unwrap();
        assert_close(slope, *expected.real().unwrap(), "a gradient");
        let moved = [0, 1].map(|j| Datum::Real(Dual64::new(point[j], f64::from(u8::from(j == k)))));
        let dual = Derivatives::<Dual64>::new(&program, "f").unwrap().value(&moved).unwrap();
        assert_close(slope, dual.real().unwrap().eps, "a gradient beside duals");
    }
}

fn formulas_there_and_back() {
    let text = "-sqrt(2)*i*(cos(theta/2) + 0.25*sin(theta/2 - 3*w[0]))*exp(-i*step_size)/2 + pi^2/3";
    let z = read(text).unwrap();
    let [theta, w, step] = AT;
    let wave = (theta / 2.0).cos() + 0.25 * (theta / 2.0 - 3.0 * w).sin();
    let expected = Complex::new(0.0, -(0.5f64.sqrt())) * wave * Complex::new(0.0, -step).exp()
        + std::f64::consts::PI.powi(2) / 3.0;
    for (x, expected) in [(&z.re, expected.re), (&z.im, expected.im)] {
        assert_close(x.evaluate(&values()).unwrap(), expected, "a formula");
        let again = read(&x.text().unwrap()).unwrap();
        assert_close(again.re.evaluate(&values()).unwrap(), expected, "a formula read again");
    }
    let function = Scalar::tanh(&read("theta^3 - 1.5").unwrap().re).text().unwrap();
    let again = read(&function).unwrap().re.evaluate(&values()).unwrap();
    assert_close(again, (theta.powi(3) - 1.5).tanh(), &function);
    for wrong in ["", "1 +", "(1", "cos(i)", "theta^i", "w[0", "f(theta)", "1.2.3", "2 theta"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
