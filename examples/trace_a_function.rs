//! A Rust function becomes a tape, a formula and a program.
//!
//! Any function that is generic over its numbers can be recorded. What it calls is inlined; what
//! comes out is printed line by line, as one formula, and as a formula of its derivative.
//!
//! ```text
//! cargo run -p ketgrad-examples --example trace_a_function
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::cmp::Ordering;

use ketgrad_core::{
    circuit::Circuit,
    exec::Datum,
    scalar::{Ordered, Scalar},
    simulate::Simulator,
    trace::{Expr, Traced, trace_at},
};

fn g<S: Scalar>(a: &S, b: &S) -> S {
    a * b
}

fn f<S: Scalar>(x1: &S, x2: &S) -> S {
    g(x1, x2) + x1.sin()
}

/// A minimum is an operation like others.
fn clipped<T: Ordered>(x: &T) -> T {
    (x * x).min(&T::int(4))
}

/// A function that branches: the recording says on what it depends, and checks it when it runs.
fn huber<T: Ordered>(x: &T) -> T {
    if x.cmp_primal(&T::one()).is_some_and(Ordering::is_lt) { x * x } else { x + x - T::one() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tape = trace_at("f", &["x1", "x2"], (2.0_f64, 3.0), |(a, b)| f(&a, &b))?;
    print!("{}", tape.plain());
    println!("{}", tape.compact());
    let (y, gradient) =
        tape.derivatives::<f64>()?.value_and_gradient(&[Datum::Real(2.0), Datum::Real(3.0)])?;
    println!("value {y}, gradient ({}, {})", gradient[0], gradient[1]);

    let tape = trace_at("clipped", &["x"], 1.5_f64, |x: Traced<f64>| clipped(&x))?;
    println!("{} at 3: {}", tape.compact(), tape.derivatives::<f64>()?.value(&[Datum::Real(3.0)])?);
    let tape = trace_at("huber", &["x"], 0.5_f64, |x: Traced<f64>| huber(&x))?;
    println!("{}, as long as {}", tape.compact(), tape.conditions()[0]);
    assert!(tape.derivatives::<f64>()?.value(&[Datum::Real(3.0)]).is_err());

    // A circuit is generic over its numbers, too: its amplitudes become formulas.
    let mut circuit = Circuit::new(2);
    let theta = circuit.param("theta");
    circuit.h(0)?.ry(1, theta)?.cx(0, 1)?;
    let state = Simulator::new().run(&circuit, &[Expr::symbol("theta")])?;
    for (k, amplitude) in state.amplitudes().iter().enumerate() {
        println!("|{k:02b}>: {}", amplitude.re);
    }
    println!("d/dtheta of |00>: {}", state.amplitudes()[0].re.derivative("theta")?);
    Ok(())
}
