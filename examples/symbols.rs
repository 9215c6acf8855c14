//! Circuits as formulas: rotations after a GHZ state, teleportation as an identity for every input,
//! and expressions in normal form.
//!
//! ```text
//! cargo run -p ketgrad-examples --example symbols
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    circuit::Circuit,
    exact::ClosedForm,
    normal::{Equality, ExprExt},
    scalar::{Real, Scalar},
    trace::Expr,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    ghz()?;
    teleportation()?;
    expressions()
}

/// RX on each qubit of a GHZ state: two products, one of cosines and one of sines.
fn ghz() -> Result<(), Box<dyn std::error::Error>> {
    let circuit = Circuit::build(3, |c| {
        c.h(0)?.cx(0, 1)?.cx(1, 2)?;
        for (q, name) in ["a", "b", "c"].into_iter().enumerate() {
            let angle = c.param(name);
            c.rx(q, angle)?;
        }
        Ok(c)
    })?;
    let state = ClosedForm::from_circuit(&circuit)?;
    println!("after GHZ and rotations, 000: {}", state.amplitude(0)?);
    println!("<Z0 Z1> = {}", state.expectation(&"Z0 Z1".parse()?)?);
    println!("<X0 X1 X2> = {}", state.expectation(&"X0 X1 X2".parse()?)?);
    Ok(())
}

/// Whatever Alice's qubit is, Bob's becomes: amplitude by amplitude, for all angles.
fn teleportation() -> Result<(), Box<dyn std::error::Error>> {
    let prepare = |circuit: &mut Circuit| {
        let [theta, phi] = ["theta", "phi"].map(|name| circuit.param(name));
        circuit.ry(0, theta)?.rz(0, phi).map(drop)
    };
    let mut input = Circuit::new(1);
    prepare(&mut input)?;
    let mut circuit = Circuit::new(3);
    prepare(&mut circuit)?;
    circuit.h(1)?.cx(1, 2)?.cx(0, 1)?.h(0)?.cx(1, 2)?.cz(0, 2)?;
    let (sent, got) = (ClosedForm::from_circuit(&input)?, ClosedForm::from_circuit(&circuit)?);
    println!("Alice has ({}) |0> + ({}) |1>", sent.amplitude(0)?, sent.amplitude(1)?);
    for outcome in 0..4 {
        for bit in 0..2 {
            let amplitude = got.amplitude(bit << 2 | outcome)?.expressions()?;
            let expected = sent.amplitude(bit)?.expressions()?;
            for (x, y) in [(amplitude.re, expected.re), (amplitude.im, expected.im)] {
                if !(x * Expr::int(2) - y).normal()?.is_zero() {
                    return Err(format!("outcome {outcome} is no copy").into());
                }
            }
        }
    }
    println!("for each of the four outcomes Bob has half of exactly that");
    Ok(())
}

/// Expressions are sums of products, or products on request; large ones are compared without being
/// multiplied out.
fn expressions() -> Result<(), Box<dyn std::error::Error>> {
    let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    let e = (&x + &y).powi(2) - (&x - &y).powi(2) + (Expr::pi() / Expr::int(6)).sin();
    println!("{e} = {}", e.normal()?);
    let e = x.powi(3) - &x * y.powi(2);
    println!("{} = {}", e.normal()?, e.normal()?.factored());
    let slope = (x.sin() * x.cos()).derivative("x")?;
    println!("{slope} = {}", slope.normal()?);
    // The product of twenty sums has a million terms.
    let product = (1..=20).fold(Expr::int(1), |p, k| p * (x.powi(k) + &y));
    let other = (1..=20).rev().fold(Expr::int(1), |p, k| p * (&y + x.powi(k)));
    match product.equality(&other, 1)? {
        Equality::Equal { error_bound } => {
            println!("equal, with an error below {:.0e}", error_bound.max(1e-11))
        }
        unequal => println!("{unequal:?}"),
    }
    Ok(())
}
