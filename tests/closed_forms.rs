//! Closed forms and expressions beside duals, for every gate of the table and for circuits of up to
//! 6 qubits and 60 gates; and what happens where closed forms grow too long.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use ketgrad_core::{
    circuit::Circuit,
    exact::{ClosedForm, ExactError, ExactNumberError, Form},
    gate::GateKind,
    param::{Angle, Q},
    simulate::Simulator,
    trace::Expr,
};
use num_complex::Complex;
use num_dual::Dual64;
use support::{formula::evaluate, random::Rng};

/// Rounding of 60 gates in f64.
const ROUNDING: f64 = 1e-12;
/// More than any machine that tests run on needs to find out that a closed form is too long.
const SOON: Duration = Duration::from_secs(60);

/// Amplitudes with their derivatives by the k-th input.
fn duals(circuit: &Circuit, at: &[f64], k: usize) -> Vec<Complex<Dual64>> {
    let unit = |j: usize| f64::from(u8::from(j == k));
    let moved: Vec<Dual64> = at.iter().enumerate().map(|(j, &x)| Dual64::new(x, unit(j))).collect();
    Simulator::new().run(circuit, &moved).unwrap().amplitudes().to_vec()
}

fn value(z: &Complex<Dual64>) -> Complex<f64> {
    Complex::new(z.re.re, z.im.re)
}

fn slope(z: &Complex<Dual64>) -> Complex<f64> {
    Complex::new(z.re.eps, z.im.eps)
}

#[track_caller]
fn assert_close(a: Complex<f64>, b: Complex<f64>, what: &str) {
    assert!((a - b).norm() < ROUNDING, "{what}: {a} and {b}");
}

/// Closed forms and their derivatives at a random point.
fn check_closed_form(rng: &mut Rng, circuit: &Circuit, what: &str) {
    let state = ClosedForm::from_circuit(circuit).unwrap();
    let at = rng.point(circuit);
    for (k, name) in circuit.inputs().enumerate() {
        for (index, expected) in duals(circuit, &at, k).iter().enumerate() {
            let amplitude = state.amplitude(index).unwrap();
            assert_close(amplitude.eval(&at).unwrap(), value(expected), what);
            let derivative = amplitude.derivative(name).unwrap();
            assert_close(
                derivative.eval(&at).unwrap(),
                slope(expected),
                &format!("{what}, by {name}"),
            );
        }
    }
}

/// Some amplitudes as expressions, and their derivatives.
fn check_expressions(rng: &mut Rng, circuit: &Circuit, what: &str) {
    let symbols: Vec<Expr> = circuit.inputs().map(Expr::symbol).collect();
    let state = Simulator::new().run(circuit, &symbols).unwrap();
    let at = rng.point(circuit);
    let named: Vec<(&str, f64)> = circuit.inputs().zip(at.iter().copied()).collect();
    let k = rng.below(at.len());
    let expected = duals(circuit, &at, k);
    for index in [0, rng.below(expected.len()), expected.len() - 1] {
        let both = |f: &dyn Fn(&Expr) -> f64| {
            let z = &state.amplitudes()[index];
            Complex::new(f(&z.re), f(&z.im))
        };
        assert_close(both(&|x| x.evaluate(&named).unwrap()), value(&expected[index]), what);
        let derivative = |x: &Expr| x.derivative(named[k].0).unwrap().evaluate(&named).unwrap();
        assert_close(
            both(&derivative),
            slope(&expected[index]),
            &format!("{what}, by {}", named[k].0),
        );
    }
}

#[test]
fn every_gate_and_its_derivatives() {
    let mut rng = Rng::new(21);
    for &kind in GateKind::ALL {
        let mut circuit = Circuit::new(4);
        let params: Vec<Angle> = (0..4).map(|k| circuit.param(&format!("p{k}"))).collect();
        // A state in which every amplitude counts.
        for (q, angle) in params.iter().enumerate() {
            circuit.h(q).unwrap().u3(q, angle, Angle::pi(q as i64, 8), Angle::rad(0.3)).unwrap();
        }
        rng.push(&mut circuit, kind, |rng| {
            &params[rng.below(4)] * Q::new(1 + rng.below(3) as i64, 3)
        });
        check_closed_form(&mut rng, &circuit, kind.name());
        check_expressions(&mut rng, &circuit, kind.name());
    }
}

#[test]
fn random_circuits_and_their_derivatives() {
    let mut rng = Rng::new(22);
    for n in 1..=6 {
        let circuit = rng.symbolic(n, 60, 2);
        check_closed_form(&mut rng, &circuit, &format!("{n} qubits"));
        check_expressions(&mut rng, &circuit, &format!("{n} qubits"));
    }
}

/// A layer of RY and a ring of CX, over and over, each angle with a parameter of its own.
fn ring(n: usize, angles: usize) -> Circuit {
    let mut circuit = Circuit::new(n);
    for k in 0..angles {
        let angle = circuit.param(&format!("t{k}"));
        circuit.ry(k % n, angle).unwrap();
        if k % n == n - 1 {
            (0..n).for_each(|q| drop(circuit.cx(q, (q + 1) % n)));
        }
    }
    circuit
}

#[test]
fn the_usual_budget_ends_soon_and_says_where() {
    let start = Instant::now();
    let error = ClosedForm::from_circuit(&ring(4, 24)).unwrap_err();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let ExactError::Budget { terms, angles: 24, limit, .. } = error else { panic!("{error}") };
    // The run stops after the first gate beyond it.
    assert!((limit + 1..=4 * limit).contains(&terms), "{terms}");
    assert!(error.to_string().contains("ry(t"), "{error}");
}

#[test]
fn expectation_values_that_take_too_long_say_so_at_once() {
    let state = ClosedForm::from_circuit(&ring(4, 16)).unwrap();
    let start = Instant::now();
    let error = state.expectation(&"Z0 Z1".parse().unwrap()).unwrap_err();
    assert!(
        matches!(error, ExactError::Number { fault: ExactNumberError::Pairs, angles: 16, .. }),
        "{error}"
    );
    assert!(start.elapsed() < SOON / 20, "{:?}", start.elapsed());
}

/// `H T` over and over: coefficients grow until they are refused, and formulas are right until
/// then.
#[test]
fn coefficients_grow_up_to_their_bound() {
    let mut circuit = Circuit::new(1);
    let (mut checked, mut longest) = (0, 0);
    for gates in 1..2000 {
        circuit.h(0).unwrap().t(0).unwrap();
        if gates % 25 != 0 {
            continue;
        }
        let formula = ClosedForm::from_circuit(&circuit).and_then(|state| state.amplitude(0));
        let Ok(formula) = formula else {
            let error = formula.unwrap_err();
            assert!(
                matches!(error, ExactError::Number { fault: ExactNumberError::Coefficient, .. }),
                "{error}"
            );
            assert!(checked > 5, "{gates}");
            return;
        };
        let expected = Simulator::new().run::<f64>(&circuit, &[]).unwrap().amplitudes()[0];
        let text = formula.to_string();
        assert_close(evaluate(&text, &[]), expected, &text);
        longest = longest.max(text.len());
        checked += 1;
    }
    panic!("no coefficient is refused, the longest text has {longest} characters");
}

#[test]
fn names_that_formulas_use_are_told_apart() {
    let amplitude = |names: &[&str]| {
        let mut circuit = Circuit::new(1);
        for name in names {
            let angle = circuit.param(name);
            circuit.rz(0, angle).unwrap();
        }
        ClosedForm::from_circuit(&circuit).unwrap().amplitude(0).unwrap()
    };
    assert_eq!(amplitude(&["i", "pi"]).text(Form::Exp), "exp(i*(-i_/2 - pi_/2))");
    assert_eq!(amplitude(&["i", "i_"]).text(Form::Exp), "exp(i*(-i__/2 - i_/2))");
    let latex = amplitude(&["theta1", "theta_1", "i"]).text(Form::Latex);
    for name in [r"\mathtt{theta1}", r"\mathtt{theta\_1}", r"\mathtt{i}"] {
        assert!(latex.contains(name), "{latex}");
    }
    let latex = amplitude(&["pi_", "i_", "alpha", "α"]).text(Form::Latex);
    for name in [r"\mathtt{pi\_}", r"\mathtt{i\_}", r"\mathtt{alpha}", r"\mathtt{α}"] {
        assert!(latex.contains(name), "{latex}");
    }
    assert!(amplitude(&["theta1", "phi_1"]).text(Form::Latex).contains(r"\theta_{1}"));
}
