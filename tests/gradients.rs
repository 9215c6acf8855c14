//! Derivatives of circuits: every method gives the same, and the closed forms.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::f64::consts::PI;

use ketgrad_core::{
    ansatz,
    circuit::{Circuit, Condition},
    classical::{Arithmetic, ClassicalExpr, ClassicalOperand, ClassicalType, IntType},
    exec::{Datum, Derivatives},
    gate::{Gate, GateKind},
    hybrid::{Circuits, Expectation, HybridError, Method, Observable},
    kernel::{Executors, InstructionSet, Operator, OverlapProbe, StateHint, Threads},
    observable::{Pauli, PauliString, PauliSum},
    param::{Angle, ElementaryFunction, ParamExpr, Q, Step, Values},
    plan::{Fast, Plan, PlanOptions},
    problem::Mapping,
    simulate::{BoundCircuit, Shots, Simulator},
    state::StateVector,
    text,
};
use num_complex::Complex;
use num_dual::HyperDual64;
use proptest::prelude::*;
use support::{
    pools::{Pool, PoolCircuit},
    random::{Rng, circuits},
};

/// Sums of up to a hundred derivatives of size 4, each off by a few roundings.
const ROUNDING: f64 = 1e-10;
/// Central differences: a step of 5e-6 squared times a third derivative of up to 1e5.
const DIFFERENCE: f64 = 1e-5;
const NOTHING: [PauliSum; 0] = [];
const AT: [f64; 3] = [0.37, -1.2, 2.05];

fn observable(n: usize) -> impl Strategy<Value = PauliSum> {
    let letter = prop_oneof![Just(Pauli::X), Just(Pauli::Y), Just(Pauli::Z)];
    let string = proptest::collection::btree_map(0..n, letter, 0..=n)
        .prop_map(|m| PauliString::new(m).unwrap());
    proptest::collection::vec((-2.0..2.0, string), 1..4)
        .prop_map(|terms| PauliSum::new(terms).unwrap())
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * (1.0 + x.abs()))
}

#[test]
fn angles_may_be_of_any_size() {
    // cos(3 t + pi/2) cos(t/2): of 3 t no float holds all digits.
    let mut circuit = Circuit::new(2);
    let t = circuit.param("t");
    circuit.rx(0, t.clone() * 3 + Angle::pi(1, 2)).unwrap().ry(1, t / 2).unwrap().cx(0, 1).unwrap();
    let energy = Expectation::new(circuit, ["Z1".parse::<PauliSum>().unwrap()]).unwrap();
    for at in [0.3, -1e4, 1e6, 7.7e8, -3e12, 1e17, 1e22, 6e200] {
        let ((s, c), (half_sin, half_cos)) = (f64::sin_cos(at), f64::sin_cos(at / 2.0));
        let (sin, cos) = (3.0 * s - 4.0 * s.powi(3), 4.0 * c.powi(3) - 3.0 * c);
        let value = -sin * half_cos;
        let slope = -3.0 * cos * half_cos + sin * half_sin / 2.0;
        for method in Method::ALL.into_iter().chain([Method::Symbolic]) {
            let found = energy.gradient_by(method, &[at]);
            if method == Method::Difference && at.abs() > 1e10 {
                assert!(
                    matches!(&found, Err(HybridError::Step { name, value }) if name == "t" && *value == at)
                );
                continue;
            }
            let (found, gradient): (f64, Vec<f64>) = found.unwrap();
            assert!((found - value).abs() < 1e-12, "{method} at {at}: {found}, not {value}");
            let tolerance = if method == Method::Difference { 1e-8 } else { 1e-12 };
            assert!(
                (gradient[0] - slope).abs() < tolerance,
                "{method} at {at}: {gradient:?}, not {slope}"
            );
        }
        assert!(energy.check(&[at]).unwrap().agree, "{at}");
    }
    // What is computed is rounded as floats are: differences are less good, and refused sooner.
    let mut circuit = Circuit::new(1);
    let (s, t) = (circuit.param("s"), circuit.param("t"));
    let product = circuit.expression(ParamExpr::from(s).binary(Step::Mul, t.into()));
    circuit.ry(0, product).unwrap();
    let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    let at = [2.0, 1e5];
    let gradient = energy.gradient_by::<f64>(Method::Difference, &at).unwrap().1;
    let slope = -(2e5_f64).sin() * 2.0;
    assert!((gradient[1] - slope).abs() < 1e-6, "{gradient:?}, not {slope}");
    assert!(matches!(
        energy.gradient_by(Method::Difference, &[2.0, 1e8]),
        Err(HybridError::Step { .. })
    ));
}

#[test]
fn where_a_computed_angle_has_no_derivative_all_methods_say_so() {
    // |t|, which moves neither fast nor slowly at 0, and sqrt(t), which moves infinitely fast.
    let root = |square: bool| {
        let mut circuit = Circuit::new(1);
        let t = ParamExpr::from(circuit.param("t"));
        let t = if square { t.clone().binary(Step::Mul, t) } else { t };
        let root = circuit.expression(t.call(ElementaryFunction::Sqrt));
        circuit.rx(0, root).unwrap();
        circuit
    };
    for (square, observable) in
        [(true, "Y0"), (true, "Z0"), (true, "X0"), (false, "Y0"), (false, "Z0")]
    {
        let energy =
            Expectation::new(root(square), [observable.parse::<PauliSum>().unwrap()]).unwrap();
        for method in Method::ALL.into_iter().chain([Method::Symbolic]) {
            // Of sqrt(t) there are no values on one side.
            let found = energy.gradient_by(method, &[0.0f64]);
            assert!(
                !found.as_ref().is_ok_and(|found| found.1[0].is_finite()),
                "{observable} {method}: {found:?}"
            );
            if square {
                let second = energy.hessian_by(method, &[0.0f64]).unwrap();
                assert!(!second[0][0].is_finite(), "{observable} {method}: {second:?}");
            }
        }
        assert!(energy.jvp(&[0.0f64], &[1.0]).unwrap().1[0].is_nan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_methods_agree_on_random_circuits(circuit in circuits(4, 3, 14), observable in observable(4)) {
        let energy = Expectation::new(circuit, [observable]).unwrap();
        let (value, gradient) = energy.value_and_gradient(&AT).unwrap();
        for method in Method::ALL {
            let tolerance = if method == Method::Difference { DIFFERENCE } else { ROUNDING };
            let (other, by_method) = energy.gradient_by(method, &AT).unwrap();
            prop_assert!((value - other).abs() < ROUNDING);
            prop_assert!(close(&gradient, &by_method, tolerance), "{method}: {gradient:?} {by_method:?}");
        }
    }

    #[test]
    fn a_prepared_gradient_is_the_gradient_at_every_point(
        circuit in circuits(6, 3, 24), o in observable(6), p in observable(6), shift in -4.0..4.0,
    ) {
        let energy = Expectation::new(circuit, [o, p]).unwrap();
        let mut prepared = energy.prepare::<f64>().unwrap();
        let points = [AT, AT.map(|x| x + shift), AT.map(|x| shift - x), AT, [0.0; 3]];
        let batch = energy.gradients(&points.map(|at| at.to_vec())).unwrap();
        for (at, in_batch) in points.into_iter().zip(batch) {
            let mut gradient = [0.0; 3];
            let value = prepared.value_and_gradient(&at, &mut gradient).unwrap();
            prop_assert_eq!((value, gradient.to_vec()), in_batch);
            let (fresh_value, fresh) = energy.value_and_gradient(&at).unwrap();
            prop_assert!((value - fresh_value).abs() < ROUNDING);
            prop_assert!(close(&gradient, &fresh, ROUNDING), "{gradient:?} {fresh:?}");
            let (_, shifted) = energy.gradient_by(Method::Shift, &at).unwrap();
            prop_assert!(close(&gradient, &shifted, ROUNDING), "{gradient:?} {shifted:?}");
        }
    }

    #[test]
    fn hessians_are_symmetric_and_agree(circuit in circuits(3, 3, 10), observable in observable(3)) {
        let energy = Expectation::new(circuit, [observable]).unwrap();
        let hessian = energy.hessian(&AT).unwrap();
        for (i, row) in hessian.iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                prop_assert!((x - hessian[j][i]).abs() < ROUNDING);
            }
        }
        for method in Method::ALL {
            let tolerance = if method == Method::Difference { DIFFERENCE } else { ROUNDING };
            for (row, other) in hessian.iter().zip(energy.hessian_by(method, &AT).unwrap()) {
                prop_assert!(close(row, &other, tolerance), "{method}: {row:?} {other:?}");
            }
        }
    }

    #[test]
    fn observables_share_a_run_and_cotangents_weigh_them(
        circuit in circuits(3, 3, 10), o in observable(3), p in observable(3), w in -2.0..2.0, v in -2.0..2.0,
    ) {
        let both = Expectation::new(circuit.clone(), [o.clone(), p.clone()]).unwrap();
        let (values, gradient) = both.vjp(&AT, &[w, v]).unwrap();
        let (a, b) = (Expectation::new(circuit.clone(), [o]).unwrap(), Expectation::new(circuit, [p]).unwrap());
        let ((x, dx), (y, dy)) = (a.value_and_gradient(&AT).unwrap(), b.value_and_gradient(&AT).unwrap());
        prop_assert!(close(&values, &[x, y], ROUNDING));
        let sum: Vec<f64> = dx.iter().zip(dy).map(|(x, y)| w * x + v * y).collect();
        prop_assert!(close(&gradient, &sum, ROUNDING));
        // <w, J v> = <J^T w, v>
        let (_, dots) = both.jvp(&AT, &[1.0, -0.5, 0.25]).unwrap();
        let paired = gradient[0] - 0.5 * gradient[1] + 0.25 * gradient[2];
        prop_assert!((w * dots[0] + v * dots[1] - paired).abs() < ROUNDING * (1.0 + paired.abs()));
    }

    #[test]
    fn the_cotangent_of_the_initial_state_is_its_derivative(circuit in circuits(3, 3, 10), k in 0usize..8, j in 0usize..8) {
        // L = re of amplitude j of U |start>: its cotangent is |j>, and dL by start is U^dagger
        // |j>.
        let energy = Expectation::new(circuit.clone(), NOTHING).unwrap();
        let start = StateVector::basis(3, k).unwrap();
        let lambda = StateVector::basis(3, j).unwrap();
        let (gradient, start_bar) = energy.state_vjp(&AT, start.clone(), lambda.clone()).unwrap();
        let simulator = Simulator::new();
        let amplitude = |x: &[f64]| {
            let matrix = simulator.matrix(&circuit, &Values(x)).unwrap();
            let entry: Complex<f64> = matrix[(j, k)];
            entry
        };
        prop_assert!((start_bar.amplitudes()[k].conj() - amplitude(&AT)).norm() < ROUNDING);
        for (i, derivative) in gradient.iter().enumerate() {
            let (mut up, mut down) = (AT, AT);
            up[i] += 1e-5;
            down[i] -= 1e-5;
            let difference = (amplitude(&up).re - amplitude(&down).re) / 2e-5;
            prop_assert!((difference - derivative).abs() < DIFFERENCE, "{difference} {derivative}");
        }
    }
}

#[test]
fn every_gate_has_its_derivatives_under_controls() {
    for &kind in GateKind::ALL {
        let n = kind.n_qubits();
        for controls in 0..=2 {
            let mut circuit = Circuit::new(n + controls);
            let names: Vec<Angle> =
                kind.param_names().iter().map(|name| circuit.param(name)).collect();
            // A state without symmetry, before and after.
            for q in 0..n + controls {
                circuit.u3(q, 0.7 + q as f64, 0.3, 1.1).unwrap();
            }
            let wires: Vec<usize> = (0..n).collect();
            let under: Vec<(usize, bool)> = (0..controls).map(|c| (n + c, c == 0)).collect();
            circuit.gate(Gate::new(kind, names.clone()).unwrap(), &wires, &under).unwrap();
            for q in 0..n + controls {
                circuit.u3(q, 1.9 - q as f64, 0.8, -0.4).unwrap();
            }
            let observable: PauliSum =
                if n + controls > 1 { "Z0 X1 - 0.3 Y0" } else { "Z0 - 0.3" }.parse().unwrap();
            if n + controls == 0 {
                continue;
            }
            let energy = Expectation::new(circuit, [observable]).unwrap();
            let at: Vec<f64> = (0..names.len()).map(|k| 0.4 + 0.9 * k as f64).collect();
            let (_, gradient) = energy.value_and_gradient(&at).unwrap();
            for method in [Method::Forward, Method::Shift] {
                let (_, other) = energy.gradient_by(method, &at).unwrap();
                assert!(
                    close(&gradient, &other, ROUNDING),
                    "{kind:?}, {controls} controls, {method}"
                );
            }
        }
    }
}

/// Angles at which coefficients of gates vanish whose derivatives do not.
const SPECIAL: [f64; 7] = [0.0, PI / 2.0, PI, -PI, 2.0 * PI, -PI / 2.0, 0.7];

/// A gate between others, its angles made of two parameters: one each, one for all, sums, and a
/// product.
fn with_angles(kind: GateKind, controls: usize, form: usize) -> Circuit {
    let n = kind.n_qubits();
    let mut circuit = Circuit::new((n + controls).max(1));
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    let id = |angle: &Angle| angle.terms()[0].0;
    let product =
        ParamExpr::from(Angle::theta(id(&a))).binary(Step::Mul, Angle::theta(id(&b)).into());
    let angles: Vec<Angle> = (0..kind.param_names().len())
        .map(|k| match (form, k % 2) {
            (0, 0) | (1, _) => a.clone(),
            (0, _) => b.clone(),
            (2, 0) => &a + &b * Q::new(1, 2),
            (2, _) => &b - &a,
            (_, 0) => circuit.expression(product.clone()),
            _ => &a + &b,
        })
        .collect();
    for q in 0..circuit.n_qubits() {
        circuit.u3(q, 0.7 + q as f64, 0.3, 1.1).unwrap();
    }
    let wires: Vec<usize> = (0..n).collect();
    let under: Vec<(usize, bool)> = (0..controls).map(|c| (n + c, c == 0)).collect();
    circuit.gate(Gate::new(kind, angles).unwrap(), &wires, &under).unwrap();
    for q in 0..circuit.n_qubits() {
        circuit.u3(q, 1.9 - q as f64, 0.8, -0.4).unwrap();
    }
    circuit
}

#[test]
fn every_gate_has_its_first_and_second_derivatives_where_coefficients_vanish() {
    let mut rng = Rng::new(11);
    for &kind in GateKind::ALL.iter().filter(|kind| !kind.param_names().is_empty()) {
        for (controls, form) in
            (0..=1).flat_map(|controls| (0..4).map(move |form| (controls, form)))
        {
            let circuit = with_angles(kind, controls, form);
            let observable = if circuit.n_qubits() > 1 { "Z0 X1 - 0.3 Y0" } else { "Z0 - 0.3 X0" };
            let energy =
                Expectation::new(circuit, [observable.parse::<PauliSum>().unwrap()]).unwrap();
            let mut points = vec![[0.0; 2], [PI, PI], [2.0 * PI, 0.7], [0.7, -PI]];
            points.extend((0..2).map(|_| [(); 2].map(|()| SPECIAL[rng.below(SPECIAL.len())])));
            for at in points {
                let (_, gradient) = energy.gradient_by(Method::Difference, &at).unwrap();
                let hessian = energy.hessian_by(Method::Difference, &at).unwrap();
                for method in [Method::Adjoint, Method::Forward, Method::Shift] {
                    let what = || {
                        format!("{kind:?}, {controls} controls, form {form} at {at:?}, {method}")
                    };
                    let (_, other) = energy.gradient_by(method, &at).unwrap();
                    assert!(close(&gradient, &other, DIFFERENCE), "{}", what());
                    for (row, other) in hessian.iter().zip(energy.hessian_by(method, &at).unwrap())
                    {
                        assert!(close(row, &other, DIFFERENCE), "{}: {row:?} {other:?}", what());
                    }
                }
            }
        }
    }
}

#[test]
fn the_mixed_derivative_of_a_rotation_about_an_axis_is_that_of_its_formula() {
    // <X> is sin a sin b after r(a, b).
    let mut circuit = Circuit::new(1);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.r(0, a, b).unwrap();
    let energy = Expectation::new(circuit, ["X0".parse::<PauliSum>().unwrap()]).unwrap();
    for (a, b) in [(0.0, 0.7), (PI, 0.7), (PI / 2.0, 0.0), (-PI, 2.0), (2.0 * PI, PI)] {
        let mixed = f64::cos(a) * f64::cos(b);
        let own = -f64::sin(a) * f64::sin(b);
        for method in [Method::Adjoint, Method::Forward, Method::Shift, Method::Symbolic] {
            let hessian = energy.hessian_by(method, &[a, b]).unwrap();
            for (x, y) in hessian.concat().iter().zip([own, mixed, mixed, own]) {
                assert!((x - y).abs() < ROUNDING, "{method} at {a}, {b}: {hessian:?}");
            }
        }
    }
}

#[test]
fn rotations_about_strings_have_their_derivatives_under_controls() {
    let mut rng = Rng::new(31);
    for round in 0..12 {
        // The larger states take the tiles.
        let n = if round % 3 == 2 { 7 } else { 4 };
        let mut circuit = Circuit::new(n);
        let theta = circuit.param_list("theta", 3);
        for layer in 0..5 {
            for q in 0..n {
                circuit.u3(q, 0.7 + q as f64, 0.3 * layer as f64, 1.1).unwrap();
            }
            let angle = if layer < 3 { theta[layer].clone() } else { &theta[0] * 2 + &theta[2] };
            rng.push_rotation(&mut circuit, |_| angle.clone());
        }
        let energy =
            Expectation::new(circuit, ["Z0 X1 - 0.3 Y0 Z2 + X3".parse::<PauliSum>().unwrap()])
                .unwrap();
        let at = [0.4, -1.3, 2.9];
        let (_, gradient) = energy.value_and_gradient(&at).unwrap();
        for method in [Method::Forward, Method::Shift] {
            let (_, other) = energy.gradient_by(method, &at).unwrap();
            assert!(close(&gradient, &other, ROUNDING), "{method}: {gradient:?} {other:?}");
        }
        let hessians = [Method::Adjoint, Method::Forward, Method::Shift]
            .map(|m| energy.hessian_by(m, &at).unwrap());
        for other in &hessians[1..] {
            assert!(
                close(&hessians[0].concat(), &other.concat(), ROUNDING),
                "{:?} {other:?}",
                hessians[0]
            );
        }
    }
}

/// The Fubini-Study metric of one rotation is the variance of half its string.
#[test]
fn the_metric_of_a_rotation_about_a_string_is_a_variance() {
    let string = PauliString::new([(0, Pauli::X), (1, Pauli::Y), (2, Pauli::Z)]).unwrap();
    let mut circuit = Circuit::new(3);
    for q in 0..3 {
        circuit.u3(q, 0.7 + q as f64, 0.3, 1.1).unwrap();
    }
    let theta = circuit.param("theta");
    circuit.pauli_rotation(&string, theta).unwrap();
    let energy = Expectation::new(circuit, [PauliSum::from(string)]).unwrap();
    let mean: f64 = energy.value(&[0.9]).unwrap();
    let metric = energy.metric_tensor(&[0.9]).unwrap().0[0][0];
    assert!((metric - 0.25 * (1.0 - mean * mean)).abs() < ROUNDING, "{metric} {mean}");
}

/// <Z> after RY(arccos x) is x. At 1 the angle changes infinitely fast, and the value does not
/// change with the angle: no method may take the product for 0.
#[test]
fn a_product_of_zero_and_an_infinite_slope_has_no_value() {
    let mut circuit = Circuit::new(1);
    let x = circuit.param("x");
    let angle = circuit.expression(ParamExpr::from(x).call(ElementaryFunction::Acos));
    circuit.ry(0, angle).unwrap();
    let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    for method in Method::ALL {
        let (_, gradient) = energy.gradient_by(method, &[0.5]).unwrap();
        assert!(close(&gradient, &[1.0], 1e-9), "{method}: {gradient:?}");
        let there = energy.gradient_by(method, &[1.0f64]);
        assert!(there.is_err() || !f64::is_finite(there.unwrap().1[0]), "{method}");
    }
}

#[test]
fn computed_and_shared_parameters_follow_the_chain_rule() {
    // <Z> after RX(sin(a) b) RX(a/2 + b + pi/3) is the cosine of the sum.
    let mut circuit = Circuit::new(1);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    let product = ParamExpr::from(a.clone())
        .call(ElementaryFunction::Sin)
        .binary(Step::Mul, b.clone().into());
    let computed = circuit.expression(product);
    circuit.rx(0, computed.clone()).unwrap();
    circuit.rx(0, a * Q::new(1, 2) + b + Angle::pi(1, 3)).unwrap();
    let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    let at = [0.8, -0.6];
    let angle = |a: f64, b: f64| a.sin() * b + a / 2.0 + b + std::f64::consts::FRAC_PI_3;
    let slope = -angle(at[0], at[1]).sin();
    let expected = [slope * (at[0].cos() * at[1] + 0.5), slope * (at[0].sin() + 1.0)];
    for method in Method::ALL {
        let (value, gradient) = energy.gradient_by(method, &at).unwrap();
        assert!((value - angle(at[0], at[1]).cos()).abs() < 1e-14);
        assert!(close(&gradient, &expected, 1e-9), "{method}: {gradient:?} {expected:?}");
    }
    // Second order goes through the computed parameter too.
    let hyper = energy
        .value(&[HyperDual64::new(at[0], 1.0, 0.0, 0.0), HyperDual64::new(at[1], 0.0, 1.0, 0.0)])
        .unwrap();
    let hessian = energy.hessian(&at).unwrap();
    assert!((hessian[0][1] - hyper.eps1eps2).abs() < 1e-13);
}

#[test]
fn the_metric_of_one_qubit_is_that_of_the_sphere() {
    // RZ(b) RY(a) |0>: the sphere of radius 1/2 with colatitude a and longitude b.
    let mut circuit = Circuit::new(1);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.ry(0, a).unwrap().rz(0, b).unwrap();
    let metric = Expectation::new(circuit, NOTHING).unwrap().metric_tensor(&[0.7, 2.0]).unwrap().0;
    let expected = [[0.25, 0.0], [0.0, 0.25 * 0.7f64.sin().powi(2)]];
    for i in 0..2 {
        assert!(close(&metric[i], &expected[i], 1e-14), "{metric:?}");
    }
}

/// Gradients by the kernels of each instruction set, and by the generic ones.
fn fast_and_generic(circuit: &Circuit, observable: &PauliSum) {
    let with = |executors: Executors, threads: Threads| {
        let simulator = Simulator::new().with_executors(executors).with_threads(threads);
        let energy = Expectation::new(circuit.clone(), [observable.clone()]).unwrap();
        let energy = energy.with_simulator(simulator);
        let state =
            |seed| StateVector::random(circuit.n_qubits(), seed, &Threads::serial()).unwrap();
        (
            energy.value_and_gradient(&AT).unwrap(),
            energy.hvp(&AT, &[0.7, -1.0, 0.4]).unwrap(),
            energy.state_vjp(&AT, state(3), state(4)).unwrap(),
        )
    };
    let ((value, gradient), (_, product), (vjp, bar)) = with(Executors::new(), Threads::serial());
    for fast in InstructionSet::ALL.into_iter().filter_map(Fast::with) {
        let mut executors = Executors::new();
        executors.insert::<Complex<f64>>(std::sync::Arc::new(fast));
        let ((other, by_tiles), (again, product_by_tiles), (vjp_by_tiles, bar_by_tiles)) =
            with(executors, Threads::serial());
        assert!((value - other).abs() < ROUNDING);
        assert!(close(&gradient, &by_tiles, ROUNDING), "{fast:?}: {gradient:?} {by_tiles:?}");
        assert!(close(&gradient, &again, ROUNDING), "{fast:?}: {gradient:?} {again:?}");
        assert!(
            close(&product, &product_by_tiles, ROUNDING),
            "{fast:?}: {product:?} {product_by_tiles:?}"
        );
        // From a state that is not |0…0>, and its cotangent is wanted.
        assert!(close(&vjp, &vjp_by_tiles, ROUNDING), "{fast:?}: {vjp:?} {vjp_by_tiles:?}");
        let bars = bar.amplitudes().iter().zip(bar_by_tiles.amplitudes());
        assert!(bars.into_iter().all(|(a, b)| (a - b).norm() < ROUNDING), "{fast:?}");
    }
}

/// `count` Pauli strings between operators, each with fewer X or Y than `below`, at any places.
fn strings(
    count: usize,
    below: usize,
    operators: usize,
    n: usize,
    rng: &mut Rng,
) -> Vec<OverlapProbe> {
    let string = |_| OverlapProbe {
        before: rng.below(operators + 1),
        x: (0..rng.below(below)).fold(0, |x, _| x | 1 << rng.below(n)),
        z: rng.below(1 << n) & rng.below(1 << n),
    };
    let mut inners: Vec<OverlapProbe> = (0..count).map(string).collect();
    inners.sort_by_key(|i| i.before);
    inners
}

/// Tiles of some sizes, and what plans seldom do: products kept because nothing written for them is
/// close enough, blocks as factors, stages and levels that look a few operations ahead.
fn variants(set: InstructionSet, n: usize) -> Vec<PlanOptions> {
    let tiles =
        [0, 6, 13].map(|tile_qubits| PlanOptions::new(set, n).with_tile_qubits(tile_qubits));
    let factors = tiles[1].with_factor_blocks(true);
    tiles
        .into_iter()
        .chain([factors.with_tolerance(-1.0), factors.with_lookahead(2).with_window(2)])
        .collect()
}

/// Operators through a plan for pairs: the inner products and both states, against one after the
/// other.
fn pairs_are_right(operators: &[Operator<Complex<f64>>], n: usize, rng: &mut Rng) {
    let inners = strings(40, 5, operators.len(), n, rng);
    let start: [Vec<Complex<f64>>; 2] = [rng.vector(1 << n), rng.vector(1 << n)];
    let [mut psi, mut lambda] = start.clone();
    let mut expected = Vec::new();
    for number in 0..=operators.len() {
        for inner in inners.iter().filter(|i| i.before == number) {
            let phase = Complex::i().powu((inner.x & inner.z).count_ones());
            let term = |i: usize| {
                let sign = if (i & inner.z).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
                lambda[i ^ inner.x].conj() * psi[i] * phase * sign
            };
            expected.push((0..1 << n).map(term).sum::<Complex<f64>>().im);
        }
        if let Some(operator) = operators.get(number) {
            operator.apply(&mut psi, &Threads::serial());
            operator.apply(&mut lambda, &Threads::serial());
        }
    }
    for set in InstructionSet::ALL.into_iter().filter(|s| s.is_available()) {
        for options in variants(set, n) {
            let run = |threads: &Threads| {
                let [mut a, mut b] = start.clone();
                let products =
                    Plan::run_pair(operators, &inners, options, (&mut a, &mut b), threads);
                (products, a, b)
            };
            let one = run(&Threads::serial());
            // Sums of 2^n products of numbers below 2.
            let tolerance = 1e-14 * f64::from(1 << n);
            assert!(close(&expected, &one.0, tolerance), "{options:?}: {expected:?} {:?}", one.0);
            let same = |x: &[Complex<f64>], y: &[Complex<f64>]| {
                x.iter().zip(y).all(|(x, y)| (x - y).norm() < 1e-12)
            };
            assert!(same(&one.1, &psi) && same(&one.2, &lambda));
            for threads in [2, 3] {
                assert_eq!(run(&Threads::new(threads).unwrap()), one);
            }
        }
    }
}

/// `i^|x & z| X^x Z^z |psi>`.
fn string_on(inner: &OverlapProbe, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let phase = Complex::i().powu((inner.x & inner.z).count_ones());
    let sign = |i: usize| if (i & inner.z).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
    (0..psi.len()).map(|j| psi[j ^ inner.x] * phase * sign(j ^ inner.x)).collect()
}

/// States and tangents through a plan: inner products, how they change, and all vectors, against
/// one after the other.
fn tangents_are_right(operators: &[Operator<Complex<f64>>], n: usize, rng: &mut Rng) {
    let inners = strings(30, 4, operators.len(), n, rng);
    let kicks: Vec<f64> = (0..inners.len()).map(|k| (1.0 + k as f64).sin()).collect();
    let start: [Vec<Complex<f64>>; 4] = std::array::from_fn(|_| rng.vector(1 << n));
    let mut all = start.clone();
    let mut expected = Vec::new();
    let dot = |a: &[Complex<f64>], b: &[Complex<f64>]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a.conj() * b).im).sum()
    };
    for number in 0..=operators.len() {
        for (inner, kick) in inners.iter().zip(&kicks).filter(|(i, _)| i.before == number) {
            let [moved, moved_dot, moved_lambda] = [0, 1, 2].map(|k| string_on(inner, &all[k]));
            expected.push(dot(&all[2], &moved));
            expected.push(dot(&all[3], &moved) + dot(&all[2], &moved_dot));
            let add = |state: &mut [Complex<f64>], by: &[Complex<f64>]| {
                state.iter_mut().zip(by).for_each(|(z, w)| *z += Complex::i() * kick * w);
            };
            add(&mut all[1], &moved);
            add(&mut all[3], &moved_lambda);
        }
        if let Some(operator) = operators.get(number) {
            all.iter_mut().for_each(|state| operator.apply(state, &Threads::serial()));
        }
    }
    // Sums of 2^n products of numbers below 2, tangents up to 30.
    let tolerance = 1e-12 * f64::from(1 << n);
    for set in InstructionSet::ALL.into_iter().filter(|s| s.is_available()) {
        for options in variants(set, n) {
            let run = |count: usize, threads: &Threads| {
                let mut states = start[..count].to_vec();
                let mut parts: Vec<&mut [Complex<f64>]> =
                    states.iter_mut().map(Vec::as_mut_slice).collect();
                let given = (inners.as_slice(), kicks.as_slice());
                let found = Plan::run_tangents(operators, given, options, &mut parts, threads);
                (found, states)
            };
            let one = run(4, &Threads::serial());
            assert!(
                close(&expected, one.0.as_flattened(), tolerance),
                "{options:?}: {expected:?} {:?}",
                one.0
            );
            let near = |(x, y): (&Vec<Complex<f64>>, &Vec<Complex<f64>>)| {
                x.iter().zip(y).all(|(x, y)| (x - y).norm() < 1e-10)
            };
            assert!(one.1.iter().zip(&all).all(near), "{options:?}");
            assert_eq!(run(2, &Threads::serial()).1, one.1[..2]);
            assert_eq!(run(4, &Threads::new(3).unwrap()), one);
        }
    }
}

/// A circuit from |0…0> and back, with tangents: what is left out because it is zero changes
/// nothing.
fn ways_from_and_to_zero_are_right(operators: &[Operator<Complex<f64>>], n: usize, rng: &mut Rng) {
    type States = Vec<Vec<Complex<f64>>>;
    let inners = strings(30, 3, operators.len(), n, rng);
    let kicks: Vec<f64> = (0..inners.len()).map(|k| (1.0 + k as f64).sin()).collect();
    let inverses: Vec<_> = operators.iter().rev().map(Operator::dagger).collect();
    // The same places, counted from the other end.
    let turned =
        inners.iter().rev().map(|i| OverlapProbe { before: operators.len() - i.before, ..*i });
    let turned: Vec<OverlapProbe> = turned.collect();
    let turned_kicks: Vec<f64> = kicks.iter().rev().map(|kick| -kick).collect();
    let zeros = vec![Complex::new(0.0, 0.0); 1 << n];
    let mut begin = [zeros.clone(), zeros];
    begin[0][0] = Complex::new(1.0, 0.0);
    let garbage: States = (0..2).map(|_| rng.vector(1 << n)).collect();
    let lambdas: States = (0..2).map(|_| rng.vector(1 << n)).collect();
    for set in InstructionSet::ALL.into_iter().filter(|s| s.is_available()) {
        for tile_qubits in [0, 5, 6, n - 4, 13] {
            let take = |back: bool, way: StateHint, states: &States, threads: usize| {
                let options =
                    PlanOptions::new(set, n).with_tile_qubits(tile_qubits).with_state_hint(way);
                let (operators, along) = match back {
                    false => (operators, (inners.as_slice(), kicks.as_slice())),
                    true => (inverses.as_slice(), (turned.as_slice(), turned_kicks.as_slice())),
                };
                let mut states = states.clone();
                let mut parts: Vec<&mut [Complex<f64>]> =
                    states.iter_mut().map(Vec::as_mut_slice).collect();
                let threads = Threads::new(threads).unwrap();
                let found = Plan::run_tangents(operators, along, options, &mut parts, &threads);
                (found, states)
            };
            let near = |a: &States, b: &States| {
                a.iter().flatten().zip(b.iter().flatten()).all(|(x, y)| (x - y).norm() < 1e-10)
            };
            let there = take(false, StateHint::Arbitrary, &begin.to_vec(), 1).1;
            assert!(
                near(&there, &take(false, StateHint::StartsAtZero, &garbage, 1).1),
                "{set}, tiles of {tile_qubits}"
            );
            assert_eq!(
                take(false, StateHint::StartsAtZero, &garbage, 2),
                take(false, StateHint::StartsAtZero, &garbage, 1)
            );

            let all: States = there.iter().chain(&lambdas).cloned().collect();
            let (expected, back) = take(true, StateHint::Arbitrary, &all, 1);
            assert!(
                near(&back[..2].to_vec(), &begin.to_vec()),
                "the way back leads to |0…0> and 0"
            );
            let found = take(true, StateHint::EndsAtZero, &all, 1).0;
            let tolerance = 1e-12 * f64::from(1 << n);
            let (expected, one) = (expected.as_flattened(), found.as_flattened());
            assert!(
                close(expected, one, tolerance),
                "{set}, tiles of {tile_qubits}: {expected:?} {one:?}"
            );
            assert_eq!(take(true, StateHint::EndsAtZero, &all, 2).0, found);

            let pair = |way| {
                let options =
                    PlanOptions::new(set, n).with_tile_qubits(tile_qubits).with_state_hint(way);
                let [mut psi, mut lambda] = [all[0].clone(), all[2].clone()];
                Plan::run_pair(
                    &inverses,
                    &turned,
                    options,
                    (&mut psi, &mut lambda),
                    &Threads::serial(),
                )
            };
            assert!(
                close(&pair(StateHint::Arbitrary), &pair(StateHint::EndsAtZero), tolerance),
                "{set}, tiles of {tile_qubits}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn few_tiles_do_near_zero(circuit in circuits(10, 3, 40), seed: u64) {
        let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&AT)).unwrap();
        ways_from_and_to_zero_are_right(bound.operators().unwrap(), 10, &mut Rng::new(seed));
    }

    #[test]
    fn tiles_give_the_generic_gradient_on_six_qubits(circuit in circuits(6, 3, 40), observable in observable(6)) {
        fast_and_generic(&circuit, &observable);
    }

    #[test]
    fn tiles_give_the_generic_gradient_on_nine_qubits(circuit in circuits(9, 3, 40), observable in observable(9)) {
        fast_and_generic(&circuit, &observable);
    }

    #[test]
    fn pairs_give_inner_products_at_every_place(circuit in circuits(8, 3, 40), seed: u64) {
        let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&AT)).unwrap();
        pairs_are_right(bound.operators().unwrap(), 8, &mut Rng::new(seed));
        tangents_are_right(bound.operators().unwrap(), 8, &mut Rng::new(seed));
    }
}

/// Rotations about Pauli strings, made by Clifford gates around them; their angles are parameters.
fn conjugated(n: usize, groups: usize, rng: &mut Rng) -> Circuit {
    let mut circuit = Circuit::new(n);
    let w = circuit.param_list("w", AT.len());
    rng.conjugated(&mut circuit, groups, |rng| {
        &w[rng.below(w.len())] * (1.0 + rng.below(3) as f64)
    });
    circuit
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn conjugated_rotations_have_their_derivatives(n in 5..=9usize, groups in 1..8usize, seed: u64) {
        let mut rng = Rng::new(seed);
        let circuit = conjugated(n, groups, &mut rng);
        let mut observable = PauliSum::default();
        for (k, q) in rng.permutation(n).into_iter().enumerate() {
            let on = [(q, [Pauli::X, Pauli::Y, Pauli::Z][k % 3]), ((q + 1) % n, Pauli::Z)];
            observable.push(1.0 + k as f64, on).unwrap();
        }
        fast_and_generic(&circuit, &observable);
        let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&AT)).unwrap();
        let operators = bound.operators().unwrap();
        pairs_are_right(operators, n, &mut rng);
        tangents_are_right(operators, n, &mut rng);
        ways_from_and_to_zero_are_right(operators, n, &mut rng);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn many_tiles_give_the_generic_gradient(circuit in circuits(14, 3, 40), observable in observable(14)) {
        fast_and_generic(&circuit, &observable);
        // Enough amplitudes for several threads.
        let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&AT)).unwrap();
        pairs_are_right(bound.operators().unwrap(), 14, &mut Rng::new(7));
        tangents_are_right(bound.operators().unwrap(), 14, &mut Rng::new(7));
        ways_from_and_to_zero_are_right(bound.operators().unwrap(), 14, &mut Rng::new(7));
    }
}

/// The smallest states whose tiles fill registers.
#[test]
fn pairs_and_tangents_go_through_circuits_of_few_qubits() {
    for n in 5..=6 {
        for pool in [Pool::CliffordT, Pool::U3Cx, Pool::Sandwich] {
            let circuit = PoolCircuit::draw(pool, n, 40, n as u64).circuit();
            let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&[])).unwrap();
            let operators = bound.operators().unwrap();
            pairs_are_right(operators, n, &mut Rng::new(n as u64));
            tangents_are_right(operators, n, &mut Rng::new(n as u64));
        }
    }
}

/// Excitations have many strings along the same qubits.
#[test]
fn pairs_and_tangents_go_through_excitations() {
    const N: usize = 9;
    let circuit = ansatz::uccsd_from(N, &[0, 1, 3, 4], Mapping::JordanWigner).unwrap();
    let mut rng = Rng::new(3);
    let at: Vec<f64> = circuit.inputs().map(|_| 2.0 * rng.signed()).collect();
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&at)).unwrap();
    let operators = bound.operators().unwrap();
    pairs_are_right(operators, N, &mut rng);
    tangents_are_right(operators, N, &mut rng);
    ways_from_and_to_zero_are_right(operators, N, &mut rng);
    let observable: PauliSum = "Z0 Z1 - 0.5*X3 Y4 + 0.1*Z6 + X0 X1 Y2 Y7".parse().unwrap();
    let gradient = |executors: Executors| {
        let simulator = Simulator::new().with_executors(executors);
        let energy = Expectation::new(circuit.clone(), [observable.clone()]).unwrap();
        let energy = energy.with_simulator(simulator);
        (energy.value_and_gradient(&at).unwrap().1, energy.hvp(&at, &at).unwrap().1)
    };
    let (expected, product) = gradient(Executors::new());
    for fast in InstructionSet::ALL.into_iter().filter_map(Fast::with) {
        let mut executors = Executors::new();
        executors.insert::<Complex<f64>>(std::sync::Arc::new(fast));
        let (got, other) = gradient(executors);
        assert!(close(&expected, &got, ROUNDING), "{fast:?}: {expected:?} {got:?}");
        assert!(close(&product, &other, ROUNDING), "{fast:?}: {product:?} {other:?}");
    }
}

/// Dense blocks of a large state are factored, with inner products between them.
#[test]
fn pairs_and_tangents_go_through_layers_of_blocks() {
    const N: usize = 16;
    let (mut circuit, mut rng) = (Circuit::new(N), Rng::new(3));
    for _ in 0..4 {
        let order = rng.permutation(N);
        for pair in order.chunks_exact(2) {
            circuit.unitary(rng.unitary(2), pair, &[]).unwrap();
        }
    }
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values(&AT)).unwrap();
    pairs_are_right(bound.operators().unwrap(), N, &mut rng);
    tangents_are_right(bound.operators().unwrap(), N, &mut rng);
}

#[test]
fn single_precision_takes_the_same_way() {
    let mut circuit = Circuit::new(7);
    let w = circuit.param_list("w", 3);
    for q in 0..7 {
        circuit.ry(q, w[q % 3].clone()).unwrap().rz(q, w[(q + 1) % 3].clone()).unwrap();
        circuit.rxx(q, (q + 2) % 7, w[(q + 2) % 3].clone()).unwrap().cx(q, (q + 1) % 7).unwrap();
    }
    let energy =
        Expectation::new(circuit, ["Z0 Z1 - 0.5*X3 Y4 + 0.1*Z6".parse::<PauliSum>().unwrap()])
            .unwrap();
    let (_, exact) = energy.value_and_gradient(&AT).unwrap();
    let (_, single) = energy.value_and_gradient(&AT.map(|x| x as f32)).unwrap();
    let single: Vec<f64> = single.into_iter().map(f64::from).collect();
    // A few hundred roundings of 6e-8.
    assert!(close(&exact, &single, 1e-5), "{exact:?} {single:?}");
}

#[test]
fn many_points_and_many_threads_give_the_same_bits() {
    let mut circuit = Circuit::new(15);
    let w = circuit.param_list("w", 30);
    for (q, angle) in w[..15].iter().enumerate() {
        circuit.ry(q, angle.clone()).unwrap();
    }
    for q in 0..14 {
        circuit.cx(q, q + 1).unwrap();
    }
    for q in 0..15 {
        circuit.rz(q, w[15 + q].clone()).unwrap().rx(q, w[q].clone() * 2).unwrap();
    }
    let observable: PauliSum = "Z0 Z1 - 0.5*X3 Y4 + 0.1*Z14".parse().unwrap();
    let at: Vec<f64> = (0..30).map(|k| (k as f64).sin()).collect();
    let run = |threads| {
        let simulator = Simulator::new().with_threads(threads);
        let energy = Expectation::new(circuit.clone(), [observable.clone()])
            .unwrap()
            .with_simulator(simulator);
        (
            energy.value_and_gradient(&at).unwrap(),
            energy.gradients(&[at.clone(), at.clone()]).unwrap(),
        )
    };
    let (one, points) = run(Threads::serial());
    // What is prepared once rounds in another order than what is planned for one point.
    assert_eq!(points[0], points[1]);
    assert!((points[0].0 - one.0).abs() < ROUNDING && close(&points[0].1, &one.1, ROUNDING));
    for n in [2, 3] {
        assert_eq!(run(Threads::new(n).unwrap()), (one.clone(), points.clone()));
    }
}

#[test]
fn what_has_no_derivative_is_refused_in_words() {
    let mut measured = Circuit::new(2);
    let a = measured.param("a");
    measured.add_register("c", 1).unwrap();
    measured.ry(0, a.clone()).unwrap().measure(0, 0).unwrap().rx(0, a).unwrap();
    let measured = Expectation::new(measured, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    let refused = |error: HybridError| {
        assert!(
            matches!(error, HybridError::Dynamic) && error.to_string().contains("before its end"),
            "{error}"
        );
    };
    refused(measured.value_and_gradient(&[0.3]).unwrap_err());
    refused(measured.prepare::<f64>().unwrap().value_and_gradient(&[0.3], &mut [0.0]).unwrap_err());
    refused(measured.hvp(&[0.3], &[1.0]).unwrap_err());
    refused(measured.metric_tensor(&[0.3]).unwrap_err());
    refused(measured.gradients(&[vec![0.3]]).unwrap_err());
    refused(measured.gradient_by(Method::Symbolic, &[0.3]).unwrap_err());

    let mut circuit = Circuit::new(2);
    let a = circuit.param("a");
    circuit.ry(0, a).unwrap();
    let error = Expectation::new(circuit.clone(), ["Z5".parse::<PauliSum>().unwrap()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the observable Z5 acts on qubit 5, but the circuit has 2, counted from 0"
    );
    let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
    let error = energy.value_and_gradient(&[f64::NAN]).unwrap_err();
    assert_eq!(error.to_string(), "the angle 1/2*a is not a finite number");
    assert!(energy.value_and_gradient::<f64>(&[]).unwrap_err().to_string().contains("(a)"));
    assert!(energy.hvp(&[0.1], &[]).is_err() && energy.vjp(&[0.1], &[]).is_err());
    assert!(energy.jvp(&[0.1, 0.2], &[1.0]).is_err());
    let small = Simulator::new().with_memory_limit(50);
    assert!(
        energy
            .with_simulator(small)
            .value(&[0.1])
            .unwrap_err()
            .to_string()
            .contains("are available")
    );
}

#[test]
fn outcomes_and_fidelities_have_derivatives() {
    let mut circuit = Circuit::new(3);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit
        .ry(0, a.clone())
        .unwrap()
        .cx(0, 1)
        .unwrap()
        .rx(2, a * 3 + b.clone())
        .unwrap()
        .rxx(1, 2, b)
        .unwrap();
    let at = [0.8, -0.3];
    let phi = Simulator::new().run(&circuit, &[0.5, 0.1]).unwrap();
    let observables =
        [Observable::Outcome(vec![(0, true), (2, false)]), Observable::Overlap(phi.clone().into())];
    let both = Expectation::new(circuit.clone(), observables.clone()).unwrap();
    let state = Simulator::new().run(&circuit, &at).unwrap();
    let values = both.values(&at).unwrap();
    let outcomes: Vec<f64> = state.probabilities_of(&[0, 2], &Threads::serial()).unwrap();
    assert!((values[0] - outcomes[1]).abs() < 1e-15);
    let fidelity: f64 = phi.fidelity(&state, &Threads::serial()).unwrap();
    assert!((values[1] - fidelity).abs() < 1e-15);
    for observable in observables {
        let one = Expectation::new(circuit.clone(), [observable]).unwrap();
        let (_, gradient) = one.value_and_gradient(&at).unwrap();
        for method in [Method::Forward, Method::Shift] {
            assert!(close(&gradient, &one.gradient_by(method, &at).unwrap().1, 1e-13), "{method}");
        }
    }
    let outcome = Observable::Outcome(vec![(0, true), (2, false)]);
    let formula = Expectation::new(circuit.clone(), [outcome]).unwrap().closed_form().unwrap();
    assert!((formula.eval::<f64>(&at).unwrap().re - values[0]).abs() < 1e-13);
    let twice =
        Expectation::new(circuit.clone(), [Observable::Outcome(vec![(1, true), (1, false)])]);
    assert_eq!(twice.unwrap_err().to_string(), "P(q[1]=1, q[1]=0) names qubit 1 twice");
    let small = StateVector::zero(2).unwrap();
    assert!(Expectation::new(circuit, [Observable::Overlap(small.into())]).is_err());
}

/// A loss with a loop, a struct, and two circuits.
const PROGRAM: &str = "struct Weights { scale, shift }
    fn energy(h: handle, xs: array, w: Weights) {
        let y = expectation(h, xs);
        let mut sum = w.shift * w.shift;
        for k in 0..len(y) { sum += w.scale * y[k] * y[k]; }
        sum
    }
    fn loss(h: handle, g: handle, a, b) {
        let mut xs = [a; 3];
        for i in 0..3 { xs[i] = a * real(i) + sin(b); }
        let w = Weights { scale: b, shift: a * b };
        energy(h, xs, w) + exp(energy(g, [b, a], w))
    }";

#[test]
fn a_program_is_differentiated_through_its_circuits_to_second_order() {
    let mut first = Circuit::new(2);
    let w = first.param_list("w", 3);
    first
        .ry(0, w[0].clone())
        .unwrap()
        .crx(0, 1, w[1].clone())
        .unwrap()
        .rz(1, w[2].clone())
        .unwrap()
        .h(1)
        .unwrap();
    let mut second = Circuit::new(1);
    let (a, b) = (second.param("a"), second.param("b"));
    second.rx(0, a).unwrap().ry(0, b).unwrap();
    let mut circuits = Circuits::new();
    let sums = ["Z0 Z1", "X1 + 0.5 Z0"].map(|text| text.parse::<PauliSum>().unwrap());
    let h = circuits.add(Expectation::new(first, sums).unwrap());
    let g = circuits.add(Expectation::new(second, ["Z0".parse::<PauliSum>().unwrap()]).unwrap());
    let program = text::parse_program_with(PROGRAM, &Circuits::rules().unwrap()).unwrap();
    let args = |a, b| [Datum::Handle(h), Datum::Handle(g), Datum::Real(a), Datum::Real(b)];
    let mut loss = Derivatives::<f64>::new(&program, "loss").unwrap().with_host(&circuits);
    let (_, gradient) = loss.value_and_gradient(&args(0.4, 0.9)).unwrap();
    let hessian = loss.hessian(&args(0.4, 0.9)).unwrap();
    // The same program on hyper-duals: value, both derivatives and the mixed one.
    let mut hyper = Derivatives::<HyperDual64>::new(&program, "loss").unwrap().with_host(&circuits);
    let (x, y) = (HyperDual64::new(0.4, 1.0, 0.0, 0.0), HyperDual64::new(0.9, 0.0, 1.0, 0.0));
    let args = [Datum::Handle(h), Datum::Handle(g), Datum::Real(x), Datum::Real(y)];
    let value = *hyper.value(&args).unwrap().real().unwrap();
    assert!((gradient[0].real().unwrap() - value.eps1).abs() < 1e-13);
    assert!((gradient[1].real().unwrap() - value.eps2).abs() < 1e-13);
    assert!((hessian[0][1] - value.eps1eps2).abs() < 1e-12, "{hessian:?} {value:?}");
    assert!((hessian[1][0] - hessian[0][1]).abs() < 1e-12);
    assert_eq!(circuits.get(g).unwrap().circuit().n_qubits(), 1);
    assert!(circuits.get(7).is_none());
    // A handle of no circuit.
    let wrong = [Datum::Handle(7), Datum::Handle(g), Datum::Real(0.1), Datum::Real(0.2)];
    assert!(loss.value(&wrong).unwrap_err().to_string().contains("handle 7"));
}

#[test]
fn combined_observables_have_combined_values() {
    let circuit = Circuit::build(2, |c| {
        let (a, b) = (c.param("a"), c.param("b"));
        c.ry(0, a)?.cx(0, 1)?.rx(1, b)
    })
    .unwrap();
    let sums = ["Z0", "X0 X1", "Y1 - 0.5 Z1"].map(|text| text.parse::<PauliSum>().unwrap());
    let all = Expectation::new(circuit, sums).unwrap();
    let weights = [vec![0.5, -1.0, 0.0], vec![0.0, 2.0, 1.5]];
    let combined = all.combined(&weights).unwrap();
    let at = [0.7, -1.3];
    let values = all.values(&at).unwrap();
    for (row, value) in weights.iter().zip(combined.values(&at).unwrap()) {
        let expected: f64 = row.iter().zip(&values).map(|(w, v)| w * v).sum();
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    }
    assert!(matches!(all.combined(&[vec![1.0]]), Err(HybridError::Count { .. })));
}

#[test]
fn reverse_over_reverse_and_forward_over_forward_agree_through_a_circuit() {
    use ketgrad_core::{
        adjoint,
        exec::{Bytecode, Executable, Limits, Machine},
    };
    let mut circuit = Circuit::new(2);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.ry(0, a).unwrap().crx(0, 1, b).unwrap().h(1).unwrap();
    let mut circuits = Circuits::new();
    circuits.add(Expectation::new(circuit, ["Z0 X1 - Z1".parse::<PauliSum>().unwrap()]).unwrap());
    let source = "fn f(h: handle, a, b) { let y = expectation(h, [a * b, a]); y[0] * y[0] }";
    let parse = || text::parse_program_with(source, &Circuits::rules().unwrap()).unwrap();
    let run = |program: &ketgrad_core::ir::Program, f, rest: &[f64]| {
        let code = Bytecode::compile(program, f).unwrap();
        let args: Vec<Datum<f64>> =
            std::iter::once(Datum::Handle(0)).chain(rest.iter().map(|&x| Datum::Real(x))).collect();
        code.call(&mut Machine::new(), &circuits, &Limits::default(), &args).unwrap()
    };
    let (x, y) = (0.7, -0.4);
    let program = parse();
    let hessian = Derivatives::<f64>::new(&program, "f")
        .unwrap()
        .with_host(&circuits)
        .hessian(&[Datum::Handle(0), Datum::Real(x), Datum::Real(y)])
        .unwrap();
    // Forward over forward along (1, 0), then (0, 1): the mixed derivative is the tangent of the
    // tangent.
    let mut p = parse();
    let f = p.lookup("f").unwrap();
    let once = adjoint::forward(&mut p, f).unwrap();
    let twice = adjoint::forward(&mut p, once).unwrap();
    let result = run(&p, twice, &[x, y, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let mixed = *result.fields()[1].fields()[1].real().unwrap();
    assert!((mixed - hessian[0][1]).abs() < 1e-13, "{mixed} {hessian:?}");
    // Reverse over reverse: the pullback of the gradient at the weights (0; 1, 0) is the first row.
    let mut p = parse();
    let f = p.lookup("f").unwrap();
    let second = adjoint::second(&mut p, f).unwrap();
    let code = &p.functions[second];
    assert_eq!(code.params.len(), 4, "{}", p.print(second));
    let args: Vec<Datum<f64>> = vec![
        Datum::Handle(0),
        Datum::Real(x),
        Datum::Real(y),
        Datum::Tuple(vec![Datum::Real(0.0), Datum::Real(1.0), Datum::Real(0.0)]),
    ];
    let code = Bytecode::compile(&p, second).unwrap();
    let result = code.call(&mut Machine::new(), &circuits, &Limits::default(), &args).unwrap();
    let row: Vec<f64> = result.fields()[1..].iter().map(|d| *d.real().unwrap()).collect();
    assert!(close(&row, &hessian[0], 1e-13), "{row:?} {hessian:?}");
}

#[test]
fn circuits_too_large_for_any_state_are_refused_by_every_way() {
    for n in [63, 64, 200] {
        let circuit = Circuit::build(n, |c| c.h(0..n)).unwrap();
        let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>().unwrap()]).unwrap();
        let errors = [
            energy.value_and_gradient::<f64>(&[]).map(|_| ()),
            energy.hvp::<f64>(&[], &[]).map(|_| ()),
            energy.metric_tensor::<f64>(&[]).map(|_| ()),
            energy.prepare::<f64>().map(|_| ()),
            energy.gradients::<f64>(&[vec![], vec![]]).map(|_| ()),
        ];
        for error in errors {
            assert!(matches!(error, Err(HybridError::Simulate(_))), "{n} {error:?}");
        }
    }
}

/// Measurements decide what comes next: the average over all outcomes has derivatives, too.
#[test]
fn feedback_has_derivatives() {
    // RY(a) measured: 1 with sin^2(a/2), then the other qubit turns by b, else by a; noise p flips
    // it.
    let mut circuit = Circuit::new(2);
    let (a, b, p) = (circuit.param("a"), circuit.param("b"), circuit.param("p"));
    circuit.add_register("c", 1).unwrap();
    circuit.ry(0, &a).unwrap().measure(0, 0).unwrap();
    let is = |value| Condition::Bit { bit: 0, value };
    circuit.when(is(true), |c| c.rx(1, &b)).unwrap().when(is(false), |c| c.rx(1, &a)).unwrap();
    let shifted = circuit.clone();
    circuit.bit_flip(1, p).unwrap();
    let value = |a: f64, b: f64, p: f64| {
        let one = (a / 2.0).sin().powi(2);
        (1.0 - 2.0 * p) * (one * b.cos() + (1.0 - one) * a.cos())
    };
    let (at, z) = ([0.7f64, 1.9, 0.1], "Z1".parse::<PauliSum>().unwrap());
    let by_a = 0.8
        * (at[0].sin() / 2.0 * (at[1].cos() - at[0].cos())
            - (at[0] / 2.0).cos().powi(2) * at[0].sin());
    let by_b = -0.8 * (at[0] / 2.0).sin().powi(2) * at[1].sin();
    let slopes = [by_a, by_b, -2.5 * value(0.7, 1.9, 0.1)];
    let energy = Expectation::new(circuit, [z.clone()]).unwrap();
    assert_eq!(energy.methods(), [Method::Forward, Method::Difference]);
    for method in energy.methods() {
        let (v, gradient) = energy.gradient_by(method, &at).unwrap();
        assert!(
            (v - value(0.7, 1.9, 0.1)).abs() < ROUNDING && close(&gradient, &slopes, 1e-8),
            "{gradient:?}"
        );
    }
    assert!(energy.check(&at).unwrap().agree);
    // Without noise that depends on an input by shifts as well.
    let at = [0.7, 1.9, 0.0];
    let energy = Expectation::new(shifted, [z.clone()]).unwrap();
    assert_eq!(energy.methods(), [Method::Forward, Method::Shift, Method::Difference]);
    assert!(energy.check(&at).unwrap().agree);

    // Until it succeeds: each round turns by a, and ends with sin^2(a/2); <Z> of the other is (1 -
    // q) sum q^k cos((k + 1) b).
    let mut again = Circuit::new(2);
    let (a, b) = (again.param("a"), again.param("b"));
    again.add_register("c", 1).unwrap();
    again.while_loop(is(false), |c| c.reset(0)?.ry(0, &a)?.rx(1, &b)?.measure(0, 0)).unwrap();
    let energy = Expectation::new(again, [z]).unwrap();
    assert_eq!(energy.methods(), [Method::Forward, Method::Difference]);
    assert!(matches!(energy.gradient_by(Method::Shift, &[1.0, 0.3]), Err(HybridError::Dynamic)));
    let (a, b) = (2.0f64, 0.3f64);
    let series = |a: f64, b: f64| -> f64 {
        let q = (a / 2.0).cos().powi(2);
        (0..200).map(|k| (1.0 - q) * q.powi(k) * (f64::from(k + 1) * b).cos()).sum()
    };
    let (v, gradient) = energy.gradient_by(Method::Forward, &[a, b]).unwrap();
    let h = 1e-5;
    let slopes = [
        (series(a + h, b) - series(a - h, b)) / (2.0 * h),
        (series(a, b + h) - series(a, b - h)) / (2.0 * h),
    ];
    assert!(
        (v - series(a, b)).abs() < 1e-10 && close(&gradient, &slopes, 1e-8),
        "{v} {gradient:?} {slopes:?}"
    );
}

#[test]
fn classical_variables_have_derivatives() {
    // Three rounds of RY(a), measured and counted: n is binomial with s = sin^2(a/2). The other
    // qubit turns n times by b, so that <Z> is the real part of (1 - s + s e^{ib})^3.
    let mut circuit = Circuit::new(2);
    let (a, b) = (circuit.param("a"), circuit.param("b"));
    circuit.add_register("c", 1).unwrap();
    let int = ClassicalType::Int(IntType::INT);
    let [n, i] = ["n", "i"].map(|name| circuit.hidden_variable(name, int).unwrap());
    let value = |c: &Circuit| c.value_of(n).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    circuit
        .for_loop(i, [1, 1, 3].map(ClassicalExpr::from), |c| {
            c.reset(0)?.ry(0, &a)?.measure(0, 0)?;
            let next = value(c).binary(Arithmetic::Add, 1)?;
            c.if_else(one, |c| c.store(n, next), |c| Ok(c))
        })
        .unwrap();
    let times = value(&circuit);
    circuit.for_loop(i, [1.into(), 1.into(), times], |c| c.rx(1, &b)).unwrap();
    let z = "Z1".parse::<PauliSum>().unwrap();
    let energy = Expectation::new(circuit, [z.clone()]).unwrap();
    assert_eq!(energy.methods(), [Method::Forward, Method::Difference]);
    assert!(matches!(energy.gradient_by(Method::Shift, &[1.0, 0.3]), Err(HybridError::Dynamic)));
    let (a, b) = (0.7f64, 1.9f64);
    let (s, turn) = ((a / 2.0).sin().powi(2), Complex::from_polar(1.0, b));
    let mean = Complex::new(1.0 - s, 0.0) + turn * s;
    let slope = mean * mean * 3.0;
    let expected =
        [(slope * (turn - 1.0) * a.sin() / 2.0).re, (slope * turn * Complex::i() * s).re];
    for method in energy.methods() {
        let (v, gradient) = energy.gradient_by(method, &[a, b]).unwrap();
        assert!((v - mean.powi(3).re).abs() < ROUNDING, "{method:?}: {v}");
        assert!(close(&gradient, &expected, 1e-8), "{method:?}: {gradient:?} {expected:?}");
    }

    // A branch runs once at most: shifts do.
    let mut branches = Circuit::new(2);
    let (a, b) = (branches.param("a"), branches.param("b"));
    branches.add_register("c", 1).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    branches.ry(0, &a).unwrap().measure(0, 0).unwrap();
    branches.if_else(one, |c| c.rx(1, &b), |c| c.rx(1, &a)?.rx(1, b.clone() * Q::from(2))).unwrap();
    let energy = Expectation::new(branches, [z]).unwrap();
    assert_eq!(energy.methods(), [Method::Forward, Method::Shift, Method::Difference]);
    assert!(energy.check(&[0.7, 1.9]).unwrap().agree);
}

#[test]
fn angles_computed_when_gates_run_have_derivatives() {
    // A measured bit of probability s = sin^2(a/2) decides an angle t, 0.6 or 1.7: RX(t + b) after
    // RX(b) by controls, beside an angle that is computed in the same gate.
    let circuit = |through: bool| {
        let mut circuit = Circuit::new(2);
        let (a, b) = (circuit.param("a"), circuit.param("b"));
        circuit.add_register("c", 1).unwrap();
        let t = circuit.hidden_variable("t", ClassicalType::FLOAT).unwrap();
        let t = circuit.scalar(t).unwrap();
        let one = Condition::Bit { bit: 0, value: true };
        circuit.ry(0, &a).unwrap().measure(0, 0).unwrap();
        circuit.if_else(one, |c| c.store(t, 1.7), |c| c.store(t, 0.6)).unwrap();
        if through {
            circuit.store(t, t + ClassicalExpr::angle(&b)).unwrap().rx(1, t).unwrap();
        } else {
            circuit.rx(1, t).unwrap().rx(1, &b).unwrap();
        }
        circuit
    };
    let z = "Z1".parse::<PauliSum>().unwrap();
    let of = |circuit| Expectation::new(circuit, [z.clone()]).unwrap();
    let (a, b) = (0.9f64, 0.4f64);
    let s = (a / 2.0).sin().powi(2);
    let expected = [
        ((1.7 + b).cos() - (0.6 + b).cos()) * a.sin() / 2.0,
        -(1.0 - s) * (0.6 + b).sin() - s * (1.7 + b).sin(),
    ];
    let seen = of(circuit(false));
    assert_eq!(seen.methods(), [Method::Forward, Method::Shift, Method::Difference]);
    for method in seen.methods() {
        let (_, gradient) = seen.gradient_by(method, &[a, b]).unwrap();
        assert!(close(&gradient, &expected, 1e-8), "{method:?}: {gradient:?} {expected:?}");
    }
    assert!(seen.check(&[a, b]).unwrap().agree);
    assert!(matches!(seen.value_and_gradient(&[a, b]), Err(HybridError::Dynamic)));
    // Through a variable there are differences, and the others say why they have none.
    let unseen = of(circuit(true));
    assert_eq!(unseen.methods(), [Method::Difference]);
    let (_, gradient) = unseen.gradient_by(Method::Difference, &[a, b]).unwrap();
    assert!(close(&gradient, &expected, 1e-8), "{gradient:?} {expected:?}");
    let why = "the angle of a gate is computed from b when the gate runs, and classical values carry no derivatives: \
               give b a plain number, or use differences (`Method::Difference`)";
    for method in [Method::Forward, Method::Shift] {
        assert_eq!(unseen.gradient_by(method, &[a, b]).unwrap_err().to_string(), why, "{method:?}");
        assert!(unseen.jacobian_by(method, &[a, b]).is_err(), "{method:?}");
    }
    let shots = Shots::new(100, 3);
    assert!(unseen.measure_gradient(&[a, b], shots).is_err());

    // Controlled gates of all frequencies with a parameter beside what is computed.
    let mut beside = Circuit::new(3);
    let (a, b) = (beside.param("a"), beside.param("b"));
    beside.add_register("c", 1).unwrap();
    let t = beside.hidden_variable("t", ClassicalType::FLOAT).unwrap();
    let t = beside.scalar(t).unwrap();
    let bit = ClassicalExpr::bits(&[0]).unwrap().cast_to(ClassicalType::Int(IntType::INT));
    beside.ry(0, &a).unwrap().measure(0, 0).unwrap().store(t, 0.3 + bit).unwrap().h(1..).unwrap();
    beside.under(1, true, |c| c.u3(2, &a, t, &b)?.u2(2, &b, t * 2)).unwrap();
    beside.u(2, t, &b, 0.5).unwrap().r(1, t, &a).unwrap().cu(1, 2, &b, 0.2, &a, t).unwrap();
    let beside = Expectation::new(beside, ["X1 Z2".parse::<PauliSum>().unwrap()]).unwrap();
    assert_eq!(beside.methods(), [Method::Forward, Method::Shift, Method::Difference]);
    let report = beside.check(&[0.9, 0.4]).unwrap();
    assert!(report.agree, "{report:?}");
}
