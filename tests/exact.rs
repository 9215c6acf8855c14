//! Closed forms: they equal the numeric state at random angles, their derivatives equal duals,
//! their text says the same, and identities hold exactly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use ketgrad_core::{
    circuit::Circuit,
    exact::{Budget, ClosedForm, Exact, ExactError, ExactNumberError, Form, Symbols},
    gate::GateKind,
    hybrid::{Expectation, Method},
    normal::{Equality, ExprExt},
    param::{Angle, ElementaryFunction, ParamExpr, Q, Values},
    scalar::{Conj, Ring},
    simulate::Simulator,
    trace::Expr,
};
use num_complex::Complex;
use num_dual::Dual64;
use num_traits::Zero;
use support::{formula::evaluate, random::Rng};

/// Rounding of 60 gates in f64.
const ROUNDING: f64 = 1e-12;

/// The largest difference of amplitudes from those in f64.
fn error(state: &ClosedForm, circuit: &Circuit, at: &[f64]) -> f64 {
    let numeric = Simulator::new().run(circuit, at).unwrap();
    let difference =
        |(k, z): (usize, &Complex<f64>)| (state.amplitude(k).unwrap().eval(at).unwrap() - z).norm();
    numeric.amplitudes().iter().enumerate().map(difference).fold(0.0, f64::max)
}

fn total(terms: impl IntoIterator<Item = Exact>) -> Exact {
    terms.into_iter().fold(Exact::zero(), |sum, t| sum + t)
}

#[test]
fn every_gate_of_the_table_equals_its_number() {
    let mut rng = Rng::new(1);
    for &kind in GateKind::ALL {
        for _ in 0..4 {
            let mut circuit = Circuit::new(4);
            let params: Vec<Angle> = (0..4).map(|k| circuit.param(&format!("p{k}"))).collect();
            // A state in which every amplitude counts.
            for (q, angle) in params.iter().enumerate() {
                circuit
                    .h(q)
                    .unwrap()
                    .u3(q, angle, Angle::pi(q as i64, 8), Angle::rad(0.3))
                    .unwrap();
            }
            rng.push(&mut circuit, kind, |rng| {
                &params[rng.below(4)] * Q::new(1 + rng.below(3) as i64, 3)
            });
            let state = ClosedForm::from_circuit(&circuit).unwrap();
            let at = rng.point(&circuit);
            let error = error(&state, &circuit, &at);
            assert!(error < ROUNDING, "{kind:?}: {error:e}");
        }
    }
}

#[test]
fn random_circuits_equal_their_numbers_and_have_norm_one() {
    let mut rng = Rng::new(2);
    for n in 1..=5 {
        for len in [15, 60] {
            let circuit = rng.symbolic(n, len, 2);
            let state = ClosedForm::from_circuit(&circuit).unwrap();
            for _ in 0..2 {
                let at = rng.point(&circuit);
                let error = error(&state, &circuit, &at);
                assert!(error < ROUNDING, "{n} qubits, {len} gates: {error:e}");
            }
            if state.n_terms() < 4000 {
                let norm = total(state.state().amplitudes().iter().map(|a| a.conj() * a));
                assert_eq!(norm, Exact::from(1));
            }
        }
    }
}

#[test]
fn rotations_about_strings_equal_their_numbers_and_their_gates() {
    let mut rng = Rng::new(17);
    for n in 1..=5 {
        let mut circuit = rng.symbolic(n, 8, 2);
        let [p, q] = ["p0", "p1"].map(|name| circuit.param(name));
        let angles = [&p * 2 + Angle::pi(1, 4), -&q, Angle::rad(0.25), p / 2 + q];
        for angle in &angles {
            rng.push_rotation(&mut circuit, |_| angle.clone());
        }
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let at = rng.point(&circuit);
        let error = error(&state, &circuit, &at);
        assert!(error < ROUNDING, "{n} qubits: {error:e}");
        let gates = ClosedForm::from_circuit(&circuit.decomposed()).unwrap();
        assert_eq!(state.state().amplitudes(), gates.state().amplitudes());
    }
}

#[test]
fn derivatives_equal_duals() {
    let mut rng = Rng::new(3);
    for n in 2..=4 {
        let circuit = rng.symbolic(n, 28 - 5 * n, 3);
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let at = rng.point(&circuit);
        for (k, name) in ["p0", "p1", "p2"].into_iter().enumerate() {
            let moved: Vec<Dual64> = at
                .iter()
                .enumerate()
                .map(|(j, &x)| Dual64::new(x, f64::from(u8::from(j == k))))
                .collect();
            let duals = Simulator::new().run(&circuit, &moved).unwrap();
            for index in state.support() {
                let slope =
                    state.amplitude(index).unwrap().derivative(name).unwrap().eval(&at).unwrap();
                let z = &duals.amplitudes()[index];
                assert!(
                    (slope - Complex::new(z.re.eps, z.im.eps)).norm() < ROUNDING,
                    "{n} qubits, {index}, {name}"
                );
            }
            let observable = "0.3*Z0 X1 - 1.7*Y0 + Y0 Y1 - 0.25*X1 + 2".parse().unwrap();
            let value = duals.expectation(&observable, &Default::default()).unwrap();
            let formula = state.expectation(&observable).unwrap();
            let slope = formula.derivative(name).unwrap().eval(&at).unwrap();
            assert!((formula.eval(&at).unwrap() - value.re).norm() < ROUNDING);
            assert!((slope - value.eps).norm() < ROUNDING, "{slope} {value}");
            // The formula on duals gives the derivative too.
            assert!((formula.eval(&moved).unwrap().re - value).eps.abs() < ROUNDING);
        }
    }
}

/// Inputs by name.
fn named<'a>(circuit: &'a Circuit, at: &[f64]) -> Vec<(&'a str, f64)> {
    circuit.inputs().zip(at.iter().copied()).collect()
}

#[test]
fn formulas_are_expressions() {
    let mut rng = Rng::new(11);
    for n in 1..=3 {
        let mut circuit = rng.symbolic(n, 20, 2);
        circuit.rx(0, Angle::pi(3, 16)).unwrap();
        let p0 = ParamExpr::from(circuit.param("p0"));
        let computed = circuit.expression(p0.call(ElementaryFunction::Cos));
        circuit.ry(n - 1, computed / 3).unwrap();
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let at = rng.point(&circuit);
        let values = named(&circuit, &at);
        for index in state.support() {
            let formula = state.amplitude(index).unwrap();
            let z = formula.expressions().unwrap();
            let parts = [&z.re, &z.im].map(|x| x.evaluate(&values).unwrap());
            assert!(
                (Complex::new(parts[0], parts[1]) - formula.eval(&at).unwrap()).norm() < ROUNDING
            );
        }
        let energy = state.expectation(&"0.3*Z0 - X0".parse().unwrap()).unwrap();
        let expr = energy.expressions().unwrap();
        assert!(expr.im.is_exact_zero());
        assert!(
            (expr.re.evaluate(&values).unwrap() - energy.eval(&at).unwrap().re).abs() < ROUNDING
        );
        // A derivative by the engine also goes through what is computed, where the ring has none.
        let step = |h: f64| energy.eval(&[at[0] + h, at[1]]).unwrap().re;
        let slope = expr.re.derivative("p0").unwrap().evaluate(&values).unwrap();
        assert!((slope - (step(1e-6) - step(-1e-6)) / 2e-6).abs() < 1e-7);
    }
}

/// The whole circuit over expressions, without the ring: angles of any kind.
#[test]
fn circuits_on_expressions_equal_their_numbers() {
    let mut rng = Rng::new(12);
    for n in 1..=5 {
        let mut circuit = rng.symbolic(n, 59, 3);
        let p0 = circuit.param("p0");
        circuit.ry(0, Angle::pi(1, 3) + p0).unwrap();
        let symbols: Vec<Expr> = circuit.inputs().map(Expr::symbol).collect();
        let state = Simulator::new().run(&circuit, &symbols).unwrap();
        let at = rng.point(&circuit);
        let values = named(&circuit, &at);
        let numeric = Simulator::new().run(&circuit, &at).unwrap();
        let moved: Vec<Dual64> = at
            .iter()
            .enumerate()
            .map(|(k, x)| Dual64::new(*x, f64::from(u8::from(k == 0))))
            .collect();
        let duals = Simulator::new().run(&circuit, &moved).unwrap();
        for index in [0, rng.below(1 << n), (1 << n) - 1] {
            let (z, expected) = (&state.amplitudes()[index], numeric.amplitudes()[index]);
            let parts = [&z.re, &z.im].map(|x| x.evaluate(&values).unwrap());
            assert!(
                (Complex::new(parts[0], parts[1]) - expected).norm() < ROUNDING,
                "{n} qubits, {index}"
            );
            let slope = z.re.derivative("p0").unwrap().evaluate(&values).unwrap();
            assert!(
                (slope - duals.amplitudes()[index].re.eps).abs() < ROUNDING,
                "{n} qubits, {index}"
            );
        }
    }
}

/// If the ring finds entries to be one function, fields find their expressions to be one, too.
#[test]
fn ring_and_expressions_agree() {
    let mut rng = Rng::new(13);
    for n in 1..=3 {
        let circuit = rng.symbolic(n, 16, 2);
        let symbols: Vec<Expr> = circuit.inputs().map(Expr::symbol).collect();
        let state = Simulator::new().run(&circuit, &symbols).unwrap();
        let closed = ClosedForm::from_circuit(&circuit).unwrap();
        for (index, z) in state.amplitudes().iter().enumerate() {
            let exact = closed.amplitude(index).unwrap().expressions().unwrap();
            for (x, y) in [(&z.re, &exact.re), (&z.im, &exact.im)] {
                assert!(matches!(x.equality(y, 5).unwrap(), Equality::Equal { .. }), "{x} and {y}");
                assert_eq!(x.normal().unwrap(), y.normal().unwrap());
            }
        }
    }
}

#[test]
fn symbolic_gradients_equal_the_adjoint_method() {
    let mut rng = Rng::new(10);
    for n in 2..=3 {
        let mut circuit = rng.symbolic(n, 20, 2);
        let p0 = ParamExpr::from(circuit.param("q"));
        let computed = circuit.expression(p0.call(ElementaryFunction::Sin));
        circuit.rx(0, computed / 3).unwrap();
        let at = rng.point(&circuit);
        let observables = ["0.7*Z0 - X0 Y1", "Z1 + 0.1*X0"]
            .map(|text| text.parse::<ketgrad_core::observable::PauliSum>().unwrap());
        let energy = Expectation::new(circuit, observables).unwrap();
        let (value, gradient) = energy.value_and_gradient(&at).unwrap();
        let (other, symbolic) = energy.gradient_by(Method::Symbolic, &at).unwrap();
        assert!((value - other).abs() < ROUNDING);
        let hessians = energy.hessian(&at).unwrap().into_iter().flatten();
        let by_formula = energy.hessian_by(Method::Symbolic, &at).unwrap().into_iter().flatten();
        for (x, y) in gradient.into_iter().zip(symbolic).chain(hessians.zip(by_formula)) {
            assert!((x - y).abs() < ROUNDING, "{x} {y}");
        }
        assert!(energy.gradient_by(Method::Symbolic, &[f64::NAN, 0.0, 0.0]).is_err());
    }
}

/// Four to six parameters that do not all separate, with roots of unity, phases and shared angles.
#[test]
fn short_formulas_say_what_long_ones_do() {
    let mut rng = Rng::new(14);
    let (mut nested, mut longest) = (0, 0);
    for round in 0..18 {
        let (n, n_params) = (2 + round % 3, 4 + round / 6);
        let mut circuit = rng.symbolic(n, 8 + round % 4, n_params);
        if round % 3 == 0 {
            circuit.t(0).unwrap().h(0).unwrap().rx(1, Angle::pi(3, 16)).unwrap();
        }
        for k in 0..n_params {
            let angle = circuit.param(&format!("p{k}"));
            if k % 2 == 0 {
                circuit.ry(k % n, angle).unwrap()
            } else {
                circuit.rz(k % n, angle).unwrap()
            };
            circuit.cx(k % n, (k + 1) % n).unwrap();
        }
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let at = rng.point(&circuit);
        let values = named(&circuit, &at);
        for index in [0, rng.below(1 << n), (1 << n) - 1] {
            let formula = state.amplitude(index).unwrap();
            let value = formula.eval(&at).unwrap();
            for form in [Form::Trig, Form::Exp] {
                for text in [formula.text(form), formula.expanded(form)] {
                    assert!(
                        (evaluate(&text, &values) - value).norm() < ROUNDING,
                        "{form:?}: {text}"
                    );
                }
            }
            let z = formula.expressions().unwrap();
            let parts = [&z.re, &z.im].map(|x| x.evaluate(&values).unwrap());
            assert!((Complex::new(parts[0], parts[1]) - value).norm() < ROUNDING);
            let (short, long) = (formula.text(Form::Trig), formula.expanded(Form::Trig));
            nested += usize::from(short.len() < long.len());
            longest = longest.max(short.len());
        }
    }
    assert!(
        nested > 30,
        "{nested} formulas are shorter than their sums; the longest has {longest} characters"
    );
}

#[test]
fn texts_say_what_the_formulas_are() {
    let mut rng = Rng::new(4);
    for round in 0..12 {
        let mut circuit = rng.symbolic(1 + round % 3, 12, 2);
        if round % 2 == 0 {
            circuit.rx(0, Angle::pi(3, 16)).unwrap().t(0).unwrap();
        }
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let at = rng.point(&circuit);
        let values = [("p0", at[0]), ("p1", at[1])];
        for index in 0..1 << circuit.n_qubits() {
            for formula in [state.amplitude(index).unwrap(), state.probability(index).unwrap()] {
                let value = formula.eval(&at).unwrap();
                for form in [Form::Trig, Form::Exp] {
                    let text = formula.text(form);
                    assert!(
                        (evaluate(&text, &values) - value).norm() < ROUNDING,
                        "{form:?}: {text}"
                    );
                }
            }
        }
    }
}

fn text(
    build: impl FnOnce(&mut Circuit, &dyn Fn(usize) -> Angle),
    n: usize,
    names: &[&str],
    index: usize,
) -> String {
    let mut circuit = Circuit::new(n);
    let params: Vec<Angle> = names.iter().map(|name| circuit.param(name)).collect();
    build(&mut circuit, &|k| params[k].clone());
    ClosedForm::from_circuit(&circuit).unwrap().amplitude(index).unwrap().to_string()
}

/// Builds a circuit from its parameters.
type Build = fn(&mut Circuit, &dyn Fn(usize) -> Angle);

#[test]
fn texts_are_what_one_would_write() {
    let one = |f: Build, index| text(f, 1, &["theta", "w[2]"], index);
    let cases: &[(Build, usize, &str)] = &[
        (|c, _| drop(c.h(0)), 1, "sqrt(2)/2"),
        (|c, _| drop(c.x(0)), 1, "1"),
        (|c, _| drop(c.x(0)), 0, "0"),
        (|c, _| drop(c.y(0)), 1, "i"),
        (|c, _| drop(c.sx(0)), 1, "(1 - i)/2"),
        (|c, _| drop(c.h(0).unwrap().t(0)), 1, "(1 + i)/2"),
        (|c, _| drop(c.rx(0, Angle::pi(1, 4))), 0, "cos(pi/8)"),
        (|c, _| drop(c.rx(0, Angle::pi(3, 4))), 1, "-i*cos(pi/8)"),
        (|c, _| drop(c.ry(0, Angle::rad(0.3))), 0, "cos(3/20)"),
        (|c, p| drop(c.rx(0, p(0))), 1, "-i*sin(theta/2)"),
        (|c, p| drop(c.h(0).unwrap().p(0, p(0))), 1, "sqrt(2)*(cos(theta) + i*sin(theta))/2"),
        (|c, p| drop(c.ry(0, p(1) * 3 - Angle::pi(1, 1))), 0, "sin(3*w[2]/2)"),
    ];
    for (build, index, expected) in cases {
        assert_eq!(one(*build, *index), *expected);
    }
    let two =
        |c: &mut Circuit, p: &dyn Fn(usize) -> Angle| drop(c.ry(0, p(0)).unwrap().ry(0, p(1)));
    assert_eq!(text(two, 1, &["a", "b"], 0), "cos(a/2 + b/2)");
    // What separates is a product.
    let apart = |c: &mut Circuit, p: &dyn Fn(usize) -> Angle| {
        c.ry(0, p(0))
            .unwrap()
            .rx(1, p(1))
            .unwrap()
            .h(0)
            .unwrap()
            .rx(2, p(2))
            .unwrap()
            .s(2)
            .unwrap();
    };
    assert_eq!(
        text(apart, 3, &["a", "b", "c"], 0b110),
        "-sqrt(2)*i*(cos(a/2) + sin(a/2))*sin(b/2)*sin(c/2)/2"
    );

    let mut circuit = Circuit::new(1);
    let (theta, w, step) =
        (circuit.param("theta"), circuit.param("w[2]"), circuit.param("step_size"));
    circuit.h(0).unwrap().p(0, theta / 2 + w - step + 0.5).unwrap();
    let formula = ClosedForm::from_circuit(&circuit).unwrap().amplitude(1).unwrap();
    assert_eq!(formula.text(Form::Exp), "sqrt(2)*exp(i*(theta/2 + w[2] - step_size + 1/2))/2");
    let argument = r"\left(\frac{\theta}{2} + w_{2} - \mathrm{step}_{size} + \frac{1}{2}\right)";
    let latex = format!(r"\frac{{\sqrt{{2}}}}{{2}} \left(\cos{argument} + i \sin{argument}\right)");
    assert_eq!(formula.text(Form::Latex), latex);
}

#[test]
fn rotations_after_a_ghz_state() {
    // After RX by a, b on (|00> + |11>)/sqrt 2: <00| = (cos a/2 cos b/2 - sin a/2 sin b/2)/sqrt 2.
    let ghz = |c: &mut Circuit, p: &dyn Fn(usize) -> Angle| {
        c.h(0).unwrap().cx(0, 1).unwrap().rx(0, p(0)).unwrap().rx(1, p(1)).unwrap();
    };
    assert_eq!(text(ghz, 2, &["a", "b"], 0), "sqrt(2)*cos(a/2 + b/2)/2");
    assert_eq!(text(ghz, 2, &["a", "b"], 1), "-sqrt(2)*i*sin(a/2 + b/2)/2");

    let n = 10;
    let mut circuit = Circuit::new(n);
    circuit.h(0).unwrap();
    (1..n).for_each(|q| drop(circuit.cx(q - 1, q)));
    for q in 0..n {
        let angle = circuit.param(&format!("t{q}"));
        circuit.rx(q, angle).unwrap();
    }
    let state = ClosedForm::from_circuit(&circuit).unwrap();
    assert_eq!(state.n_terms(), 524_288);
    let at = Rng::new(5).point(&circuit);
    // (prod cos + (-i)^n prod sin) / sqrt 2.
    let (cos, sin): (Vec<f64>, Vec<f64>) =
        at.iter().map(|t| ((t / 2.0).cos(), (t / 2.0).sin())).unzip();
    let expected = (cos.iter().product::<f64>() - sin.iter().product::<f64>()) / 2f64.sqrt();
    let formula = state.amplitude(0).unwrap();
    assert!((formula.eval(&at).unwrap() - expected).norm() < ROUNDING);
    // Two products instead of 512 exponentials.
    let product = |f: &str| (0..n).map(|q| format!("{f}(t{q}/2)")).collect::<Vec<_>>().join("*");
    let text = formula.to_string();
    assert_eq!(text, format!("sqrt(2)*({} - {})/2", product("cos"), product("sin")));
    for form in [Form::Trig, Form::Exp] {
        let text = formula.text(form);
        assert!((evaluate(&text, &named(&circuit, &at)) - expected).norm() < ROUNDING, "{text}");
    }
    let z = formula.expressions().unwrap();
    assert!(z.im.is_exact_zero());
    assert!((z.re.evaluate(&named(&circuit, &at)).unwrap() - expected).abs() < ROUNDING);
}

#[test]
fn a_ring_of_sixteen_angles_fits() {
    let mut circuit = Circuit::new(4);
    (0..4).for_each(|q| drop(circuit.h(q)));
    for k in 0..16 {
        let angle = circuit.param(&format!("t{k}"));
        circuit.ry(k % 4, angle).unwrap();
        if k % 4 == 3 {
            (0..4).for_each(|q| drop(circuit.cx(q, (q + 1) % 4)));
        }
    }
    let state = ClosedForm::from_circuit(&circuit).unwrap();
    assert_eq!(state.n_terms(), 1 << 20);
    let at = Rng::new(6).point(&circuit);
    assert!(error(&state, &circuit, &at) < ROUNDING);
    // 65,536 terms each, of 16 factors in sines and cosines: a layer of n qubits hands on 2^n of
    // them.
    for index in [0, 15] {
        let formula = state.amplitude(index).unwrap();
        let text = formula.to_string();
        assert!(text.len() < 100_000, "{}", text.len());
        let value = formula.eval(&at).unwrap();
        assert!((evaluate(&text, &named(&circuit, &at)) - value).norm() < ROUNDING);
    }
}

/// Entry by entry, with derivatives; and U†U = 1 without rounding.
#[test]
fn unitary_matrices_in_closed_form() {
    let mut rng = Rng::new(15);
    for n in 1..=3 {
        let circuit = rng.symbolic(n, 10, 2);
        let symbols = Arc::new(Symbols::new(&circuit).unwrap());
        let exact = Simulator::new().matrix(&circuit, &*symbols).unwrap();
        let at = rng.point(&circuit);
        let unit = |j: usize| f64::from(u8::from(j == 0));
        let moved: Vec<Dual64> =
            at.iter().enumerate().map(|(j, &x)| Dual64::new(x, unit(j))).collect();
        let values = circuit.param_values(&moved).unwrap();
        let numeric =
            Simulator::new().matrix::<Complex<Dual64>>(&circuit, &Values(&values)).unwrap();
        let dim = exact.dim();
        for column in 0..dim {
            for row in 0..dim {
                let formula = symbols.formula(exact[(row, column)].clone()).unwrap();
                let (z, slope) = (
                    formula.eval(&at).unwrap(),
                    formula.derivative("p0").unwrap().eval(&at).unwrap(),
                );
                let expected = &numeric[(row, column)];
                assert!((z - Complex::new(expected.re.re, expected.im.re)).norm() < ROUNDING);
                assert!((slope - Complex::new(expected.re.eps, expected.im.eps)).norm() < ROUNDING);
                let inner = (0..dim).map(|k| exact[(k, row)].conj() * &exact[(k, column)]);
                assert_eq!(total(inner), Exact::from(i64::from(row == column)));
            }
        }
    }
}

/// |psi> = U(a, b, c)|0> on qubit 0 is teleported to qubit 2; the corrections are controlled gates.
#[test]
fn teleportation_is_an_identity() {
    let mut circuit = Circuit::new(3);
    let [a, b, c] = ["a", "b", "c"].map(|name| circuit.param(name));
    let mut input = Circuit::new(1);
    let [x, y, z] = ["a", "b", "c"].map(|name| input.param(name));
    input.u3(0, x, y, z).unwrap();
    circuit.u3(0, a, b, c).unwrap().h(1).unwrap().cx(1, 2).unwrap();
    circuit.cx(0, 1).unwrap().h(0).unwrap().cx(1, 2).unwrap().cz(0, 2).unwrap();
    let (sent, got) =
        (ClosedForm::from_circuit(&input).unwrap(), ClosedForm::from_circuit(&circuit).unwrap());
    for index in 0..8 {
        let half = Exact::half();
        // Both have the same symbols, laid out alike.
        assert_eq!(got.state().amplitudes()[index], &half * &sent.state().amplitudes()[index >> 2]);
    }
}

#[test]
fn qaoa_on_a_triangle_has_its_closed_form() {
    let mut circuit = Circuit::new(3);
    let (gamma, beta) = (circuit.param("gamma"), circuit.param("beta"));
    (0..3).for_each(|q| drop(circuit.h(q)));
    (0..3).for_each(|q| drop(circuit.rzz(q, (q + 1) % 3, -&gamma)));
    (0..3).for_each(|q| drop(circuit.rx(q, 2 * &beta)));
    let state = ClosedForm::from_circuit(&circuit).unwrap();
    let cut =
        state.expectation(&"1.5 - 0.5*Z0 Z1 - 0.5*Z1 Z2 - 0.5*Z0 Z2".parse().unwrap()).unwrap();
    // Wang, Hadfield, Jiang, Rieffel, Phys. Rev. A 97, 022304 (2018), equation 14 for one triangle.
    let formula = |g: f64, b: f64| {
        3.0 * (0.5 + (4.0 * b).sin() * g.sin() * g.cos() / 2.0
            - (2.0 * b).sin().powi(2) * (1.0 - (2.0 * g).cos()) / 4.0)
    };
    let mut rng = Rng::new(7);
    for _ in 0..10 {
        let at = rng.point(&circuit);
        let value = cut.eval(&at).unwrap();
        assert!((value - formula(at[0], at[1])).norm() < ROUNDING, "{cut}");
        let values = [("gamma", at[0]), ("beta", at[1])];
        assert!((evaluate(&cut.to_string(), &values) - value).norm() < ROUNDING, "{cut}");
    }
}

#[test]
fn circuits_cancel_exactly() {
    let mut rng = Rng::new(8);
    for n in 1..=4 {
        let circuit = rng.symbolic(n, 12, 2);
        let mut both = circuit.clone();
        let all: Vec<usize> = (0..n).collect();
        both.append(&circuit.dagger().unwrap(), &all).unwrap();
        let state = ClosedForm::from_circuit(&both).unwrap();
        assert_eq!(state.support().collect::<Vec<_>>(), [0]);
        assert_eq!(state.amplitude(0).unwrap().to_string(), "1");
    }
}

#[test]
fn numbers_have_one_form() {
    let (root, half) = (Exact::sqrt_half(), Exact::half());
    assert_eq!(&root * &root, half);
    assert_eq!((&root * &root) * Exact::from(2), Exact::from(1));
    // (1 + sqrt 2)(sqrt 2 - 1) = 1
    let root2 = Exact::from(2) * &root;
    assert!(((Exact::from(1) + &root2) * (root2 - Exact::from(1))).is_exact_one());
    assert!((Exact::from(3) - Exact::from(3)).is_exact_zero());
    assert_eq!(Exact::from(6) * &root - Exact::from(3) * Exact::from(2) * &root, Exact::zero());
    assert_eq!((Exact::zero().n_terms(), Exact::from(5).n_terms()), (0, 1));
}

#[test]
fn coefficients_beyond_128_bits_are_faults_that_stay() {
    let mut x = Exact::from(3);
    for _ in 0..7 {
        x = &x * &x;
    }
    assert_eq!(x.fault(), Some(ExactNumberError::Coefficient));
    assert!(!x.is_exact_zero());
    assert_eq!((&x - &x).fault(), Some(ExactNumberError::Coefficient));
    assert_eq!((Exact::from(1) + &x).conj().fault(), Some(ExactNumberError::Coefficient));
}

#[test]
fn what_is_outside_the_ring_is_named() {
    let attempt = |angle: Angle| {
        let mut circuit = Circuit::new(1);
        let theta = circuit.param("theta");
        circuit.rx(0, angle + theta).unwrap();
        ClosedForm::from_circuit(&circuit).map(|_| ()).unwrap_err().to_string()
    };
    for (angle, text) in [
        (Angle::pi(1, (1 << 20) + 1), "pi/1048577 + theta is outside the ring"),
        (
            Angle::rad(0.333_333_333_333_333_3),
            "the angle theta + 0.3333333333333333 is outside the ring",
        ),
        (Angle::rad(f64::NAN), "is outside the ring"),
        (Angle::pi(1, 1 << 40), "is outside the ring"),
    ] {
        let message = attempt(angle);
        assert!(message.contains(text), "{message}");
    }
    let mut circuit = Circuit::new(1);
    circuit.unitary(Rng::new(9).unitary(1), &[0], &[]).unwrap();
    let message = ClosedForm::from_circuit(&circuit).unwrap_err().to_string();
    assert!(message.contains("does not hold the number"), "{message}");
}

#[test]
fn fractions_of_pi_have_short_closed_forms() {
    let of = |angle: Angle| {
        let mut circuit = Circuit::new(1);
        circuit.ry(0, angle).unwrap();
        let state = ClosedForm::from_circuit(&circuit).unwrap();
        let z = state.expectation(&"Z0".parse().unwrap()).unwrap();
        [state.amplitude(0).unwrap(), state.amplitude(1).unwrap(), z].map(|f| f.to_string())
    };
    assert_eq!(of(Angle::pi(1, 3)), ["sqrt(3)/2", "1/2", "1/2"]);
    assert_eq!(of(Angle::pi(2, 3)), ["1/2", "sqrt(3)/2", "-1/2"]);
    assert_eq!(of(Angle::pi(-5, 3)), ["-sqrt(3)/2", "-1/2", "1/2"]);
    assert_eq!(of(Angle::pi(1, 6)), ["cos(pi/12)", "sin(pi/12)", "sqrt(3)/2"]);
    assert_eq!(of(Angle::pi(2, 5)), ["cos(pi/5)", "sin(pi/5)", "sin(pi/10)"]);
    assert_eq!(of(Angle::pi(2, 7)), ["cos(pi/7)", "sin(pi/7)", "sin(3*pi/14)"]);
    let mut circuit = Circuit::new(1);
    let theta = circuit.param("theta");
    circuit.ry(0, theta + Angle::pi(2, 3)).unwrap();
    let amplitude = ClosedForm::from_circuit(&circuit).unwrap().amplitude(0).unwrap();
    assert_eq!(
        amplitude.text(Form::Exp),
        "(-i*exp(i*(-theta/2 + pi/6)) + exp(i*(theta/2 + pi/3)))/2"
    );
}

/// Gates at fractions of pi, some with parameters, from pools of denominators.
fn fractions(
    rng: &mut Rng,
    n: usize,
    len: usize,
    denominators: &[i64],
    n_params: usize,
) -> Circuit {
    let mut circuit = Circuit::new(n);
    let params: Vec<Angle> = (0..n_params).map(|k| circuit.param(&format!("p{k}"))).collect();
    rng.fill(&mut circuit, len, |rng| {
        let below = denominators[rng.below(denominators.len())];
        let fraction = Angle::pi(rng.integer(-3 * below, 3 * below), below);
        match rng.below(4) {
            0 if n_params > 0 => {
                &params[rng.below(n_params)] * Q::new(1, 1 + rng.below(2) as i64) + fraction
            }
            _ => fraction,
        }
    });
    circuit
}

#[test]
fn random_circuits_at_fractions_of_pi_equal_their_numbers() {
    let mut rng = Rng::new(23);
    for denominators in [&[3][..], &[1, 2, 3, 4, 6], &[5, 10], &[7], &[9, 4], &[3, 5], &[15, 8, 21]]
    {
        for (n, len, n_params) in [(1, 25, 0), (2, 25, 1), (3, 12, 2), (3, 30, 0)] {
            let circuit = fractions(&mut rng, n, len, denominators, n_params);
            let state = ClosedForm::from_circuit(&circuit).unwrap();
            let at = rng.point(&circuit);
            let error = error(&state, &circuit, &at);
            assert!(error < ROUNDING, "{denominators:?}: {error:e}\n{circuit}");
            // Of norm 1, exactly.
            if state.n_terms() < 400 {
                let norm = total(state.state().amplitudes().iter().map(|a| a.conj() * a));
                assert_eq!(
                    state.symbols().reduced(norm),
                    Exact::from(1),
                    "{denominators:?}\n{circuit}"
                );
            }
            // The texts say the same, in all forms.
            for form in [Form::Trig, Form::Exp] {
                for index in state.support().take(2) {
                    let amplitude = state.amplitude(index).unwrap();
                    for text in [amplitude.text(form), amplitude.expanded(form)] {
                        let names = circuit.inputs().zip(at.iter().copied()).collect::<Vec<_>>();
                        let said = evaluate(&text, &names);
                        let value = amplitude.eval(&at).unwrap();
                        assert!((said - value).norm() < 1e-10, "{text}: {said}, {value}");
                    }
                }
            }
        }
    }
}

/// A difference that cancels is exactly zero, in whatever way it is computed: a circuit, then its
/// inverse in other gates.
#[test]
fn fractions_of_pi_that_cancel_are_exactly_zero() {
    let mut rng = Rng::new(29);
    for denominators in [&[3][..], &[6, 8], &[5], &[7, 3], &[9], &[45]] {
        for _ in 0..3 {
            let circuit = fractions(&mut rng, 2, 8, denominators, 1);
            let mut whole = circuit.clone();
            for instruction in circuit.dagger().unwrap().instructions() {
                whole.push(instruction.clone()).unwrap();
            }
            // As many thirds, fifths or sevenths as make a whole turn.
            let d = denominators[0];
            (0..2 * d).for_each(|_| drop(whole.ry(1, Angle::pi(2, d)).map(|_| ())));
            let state = ClosedForm::from_circuit(&whole).unwrap();
            assert_eq!(state.support().collect::<Vec<_>>(), [0], "{denominators:?}\n{circuit}");
            assert_eq!(state.amplitude(0).unwrap().to_string(), "1");
        }
    }
    // Of a large order there are as few terms as of a small one.
    let mut circuit = Circuit::new(2);
    let angle = Angle::pi(2, 999_983);
    circuit.ry(0, &angle).unwrap().ry(0, -&angle).unwrap().ry(0, &angle).unwrap().cx(0, 1).unwrap();
    circuit.rx(1, angle).unwrap();
    let state = ClosedForm::from_circuit(&circuit).unwrap();
    assert!(state.n_terms() < 32, "{}", state.n_terms());
    assert_eq!(state.amplitude(0).unwrap().to_string(), "(1 + cos(2*pi/999983))/2");
    // The sum of all powers of a root of unity.
    let mut circuit = Circuit::new(1);
    (0..7).for_each(|k| drop(circuit.p(0, Angle::pi(2 * k, 7)).map(|_| ())));
    let symbols = Symbols::new(&circuit).unwrap();
    let root = |k: i64| ketgrad_core::param::Binding::cis(&symbols, &Angle::pi(2 * k, 7)).unwrap();
    assert!(!total((0..7).map(root)).is_exact_zero());
    assert!(symbols.reduced(total((0..7).map(root))).is_exact_zero());
}

#[test]
fn growth_stops_at_the_budget() {
    let mut circuit = Circuit::new(2);
    for k in 0..30 {
        let angle = circuit.param(&format!("t{k}"));
        if k % 2 == 0 {
            circuit.rx(k % 2, angle).unwrap()
        } else {
            circuit.ry(0, angle).unwrap()
        };
    }
    let error =
        ClosedForm::within(&circuit, &Simulator::new(), Budget { terms: 1000 }).unwrap_err();
    assert!(
        matches!(error, ExactError::Budget { terms: 1001..=4000, limit: 1000, angles: 30, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("on qubit 0"), "{error}");

    let mut circuit = Circuit::new(1);
    for k in 0..60 {
        let angle = circuit.param(&format!("t{k}"));
        circuit.rx(0, angle).unwrap();
    }
    assert!(matches!(Symbols::new(&circuit), Err(ExactError::TooManyAngles { given: 60, .. })));
    let limited = Simulator::new().with_memory_limit(1000);
    assert!(ClosedForm::within(&Circuit::new(10), &limited, Budget::default()).is_err());
}

#[test]
fn derivatives_by_what_is_not_there() {
    let mut circuit = Circuit::new(1);
    let theta = circuit.param("theta");
    circuit.param("unused");
    let computed = circuit.expression(ParamExpr::from(theta).call(ElementaryFunction::Sin));
    circuit.ry(0, computed).unwrap();
    let amplitude = ClosedForm::from_circuit(&circuit).unwrap().amplitude(0).unwrap();
    assert_eq!(amplitude.to_string(), "cos((sin(theta))/2)");
    assert!((amplitude.eval(&[0.7, 0.0]).unwrap() - (0.7f64.sin() / 2.0).cos()).norm() < ROUNDING);
    assert!(amplitude.derivative("unused").unwrap().is_zero());
    assert!(matches!(amplitude.derivative("theta"), Err(ExactError::Computed { .. })));
    assert!(amplitude.derivative("phi").unwrap_err().to_string().contains("no parameter `phi`"));
    assert!(ClosedForm::from_circuit(&circuit).unwrap().amplitude(2).is_err());
}
