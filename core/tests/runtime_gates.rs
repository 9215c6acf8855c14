//! Gates whose angles are computed when they run: against the same circuits with a branch for each
//! value, and against states that are worked out by hand.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    channel::{Channel, ChannelKind},
    circuit::{After, Circuit, CircuitError, Condition, NoiseModel, Operation},
    classical::{ClassicalExpr, ClassicalOperand, ClassicalType, FloatType, IntType},
    draw,
    equivalent::{EquivalenceSettings, equivalent},
    exact::ClosedForm,
    gate::{GateKind, NAMED_GATES},
    param::{Angle, Values},
    print::{self, PrintError},
    scalar::{Real, Uncertain},
    simulate::{BoundCircuit, SimulateError, Simulator},
};
use num_complex::Complex;
use num_dual::Dual64;

const INT: ClassicalType = ClassicalType::Int(IntType::INT);

fn bound<T: Real>(circuit: &Circuit) -> BoundCircuit<Complex<T>> {
    BoundCircuit::new(circuit, &Values::<T>(&[])).unwrap()
}

/// The distribution of what shows, on state vectors.
fn distribution<T: Real>(circuit: &Circuit) -> BTreeMap<String, f64> {
    let mut by_text = BTreeMap::new();
    for (memory, p) in Simulator::new().distribution(&bound::<T>(circuit), 1 << 14).unwrap() {
        *by_text.entry(memory.text(circuit)).or_insert(0.0) += p.primal().unwrap();
    }
    by_text
}

fn assert_close(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>, within: f64, of: &Circuit) {
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let p = |all: &BTreeMap<String, f64>| all.get(key).copied().unwrap_or(0.0);
        assert!((p(a) - p(b)).abs() < within, "{key}: {} and {}\n{of}", p(a), p(b));
    }
}

/// Qubits 0 and 1 are measured as a number n, and `gates` acts with the angle 0.3 n - 0.7 on
/// qubits 2 and 3: computed, or in a branch for each n.
fn by_number(
    computed: bool,
    gates: impl for<'c> Fn(&'c mut Circuit, Angles) -> Result<&'c mut Circuit, CircuitError>,
) -> Circuit {
    let mut c = Circuit::new(4);
    let b = c.bit_register("b", 2).unwrap();
    let r = c.bit_register("r", 2).unwrap();
    let n = c.hidden_variable("n", INT).unwrap();
    let n = c.scalar(n).unwrap();
    c.ry(0, 0.9).unwrap().ry(1, 2.0).unwrap().h(2..).unwrap().t(3).unwrap();
    c.measure([0, 1], b).unwrap().store(n, b).unwrap();
    if computed {
        gates(&mut c, Angles::Computed(0.3 * n - 0.7)).unwrap();
    } else {
        for k in 0..4 {
            let angle = 0.3 * f64::from(k) - 0.7;
            c.if_else(n.equals(k), |c| gates(c, Angles::Known(angle)), |c| Ok(c)).unwrap();
        }
    }
    c.rx(2, 0.4).unwrap().h(3).unwrap().measure([2, 3], r).unwrap();
    c
}

/// An angle that is computed, or the number that it has then.
#[derive(Clone)]
enum Angles {
    Computed(ketgrad_core::classical::PendingExpr),
    Known(f64),
}

impl From<Angles> for ketgrad_core::circuit::GateAngle {
    fn from(angle: Angles) -> Self {
        match angle {
            Angles::Computed(expr) => expr.into(),
            Angles::Known(angle) => angle.into(),
        }
    }
}

#[test]
fn a_measured_angle_is_that_of_a_branch_for_each_value() {
    type Gates = for<'c> fn(&'c mut Circuit, Angles) -> Result<&'c mut Circuit, CircuitError>;
    let cases: [Gates; 8] = [
        |c, t| c.rx(2, t),
        |c, t| c.rz(2..4, t),
        |c, t| c.crz(2, 3, t),
        |c, t| c.u3(2, 0.2, t.clone(), t),
        |c, t| c.under(3, false, |c| c.u2(2, t, 0.3)),
        |c, t| c.undo(|c| c.rxx(2, 3, t.clone())?.u(2, 1.1, 0.4, t.clone())?.cp(3, 2, t)),
        |c, t| c.when(Condition::Bit { bit: 1, value: true }, |c| c.ry(2, t)),
        |c, t| c.gate_of(GateKind::R, [t.into(), 0.4.into()], &[3], &[(2, true)]),
    ];
    for gates in cases {
        let (computed, known) = (by_number(true, gates), by_number(false, gates));
        let is_runtime = |i: &ketgrad_core::circuit::Instruction| {
            matches!(i.operation, Operation::RuntimeGate(_))
        };
        assert!(computed.instructions().iter().any(is_runtime), "{computed}");
        assert!(!known.instructions().iter().any(is_runtime));
        let exact = distribution::<f64>(&known);
        assert_close(&distribution::<f64>(&computed), &exact, 1e-14, &computed);
        assert_close(&distribution::<f32>(&computed), &exact, 1e-6, &computed);
        // Density matrices: without noise the same, with noise the branches again.
        let rho = |c: &Circuit| Simulator::new().run_density::<f64>(c, &[]).unwrap();
        let [a, b] = [&computed, &known].map(rho);
        let pairs = a.vector().amplitudes().iter().zip(b.vector().amplitudes());
        pairs.for_each(|(a, b)| assert!((a - b).norm() < 1e-14, "{computed}"));
        let mut model = NoiseModel::new();
        model.add(After::Gates(1), Channel::new(ChannelKind::AmplitudeDamping, [0.2]).unwrap());
        let [a, b] = [&computed, &known].map(|c| distribution::<f64>(&model.apply(c).unwrap()));
        assert_close(&a, &b, 1e-14, &computed);
        // As shots, which draw the same numbers.
        let counts = |c: &Circuit| Simulator::new().trajectory_counts(&bound::<f64>(c), 500, 11);
        let texts = |c: &Circuit| -> BTreeMap<String, u64> {
            let counts = counts(c).unwrap();
            counts.iter().map(|(memory, n)| (memory.text(c), *n)).collect()
        };
        assert_eq!(texts(&computed), texts(&known), "{computed}");
    }
}

#[test]
fn every_gate_of_the_table_and_its_inverse_take_computed_angles() {
    for named in NAMED_GATES {
        let n_angles = named.kind.param_names().len();
        if n_angles == 0 {
            continue;
        }
        let n = named.n_qubits();
        for only in 0..n_angles {
            let mut c = Circuit::new(n);
            let t = c.add_variable("t", ClassicalType::FLOAT).unwrap();
            let t = c.scalar(t).unwrap();
            let known = |k: usize| 0.3 + 0.45 * k as f64;
            let (targets, controls): (Vec<usize>, Vec<_>) = (
                (named.n_controls..n).collect(),
                (0..named.n_controls).map(|q| (q, true)).collect(),
            );
            c.h(..).unwrap().rz(.., 0.7).unwrap().store(t, known(only) / 2.0).unwrap();
            let at_run = |k: usize| if k == only { (t * 2).into() } else { known(k).into() };
            c.gate_of(named.kind, (0..n_angles).map(at_run), &targets, &controls).unwrap();
            let operation = c.instructions().last().unwrap().clone();
            assert!(matches!(operation.operation, Operation::RuntimeGate(_)), "{}", named.name);
            // The inverse of the gate with numbers undoes it, and so does the inverse of itself.
            let undone = |by_itself: bool| {
                let mut c = c.clone();
                c.undo(|c| match by_itself {
                    true => c.push(operation.clone()),
                    false => {
                        let angles = (0..n_angles).map(|k| known(k).into());
                        c.gate_of(named.kind, angles, &targets, &controls)
                    }
                })
                .unwrap();
                c.undo(|c| c.h(..)?.rz(.., 0.7)).unwrap();
                let rho = Simulator::new().run_density::<f64>(&c, &[]).unwrap();
                (rho.vector().amplitudes()[0].re, c)
            };
            for by_itself in [true, false] {
                let (p, c) = undone(by_itself);
                assert!((p - 1.0).abs() < 1e-13, "{} {by_itself}: {p}\n{c}", named.name);
            }
        }
    }
}

#[test]
fn types_of_angles() {
    let z = |ty: ClassicalType, value: ClassicalExpr| {
        let mut c = Circuit::new(1);
        c.add_register("b", 1).unwrap();
        let v = c.add_variable("v", ty).unwrap();
        c.store(v, value).unwrap();
        let v = c.scalar(v).unwrap();
        c.rx(0, v).unwrap().measure(0, 0).unwrap();
        distribution::<f64>(&c).iter().filter(|(k, _)| k.starts_with('1')).map(|e| e.1).sum::<f64>()
    };
    let expected = |angle: f64| (angle / 2.0).sin().powi(2);
    let (third, turn) = (std::f64::consts::TAU / 3.0, std::f64::consts::TAU);
    let close = |p: f64, angle: f64| assert!((p - expected(angle)).abs() < 1e-13, "{p} {angle}");
    close(z(ClassicalType::FLOAT, 1.25.into()), 1.25);
    close(z(ClassicalType::Float(FloatType::F32), 0.1.into()), f64::from(0.1f32));
    close(z(INT, (-3).into()), -3.0);
    close(z(ClassicalType::Bool, true.into()), 1.0);
    // The nearest of 16 parts of a turn, and of 2^120.
    close(z(ClassicalType::Angle(4), third.into()), 5.0 * turn / 16.0);
    close(z(ClassicalType::Angle(120), third.into()), third);
    // A fraction of a turn is exact: half of one is X, up to a phase.
    assert_eq!(z(ClassicalType::Angle(7), (turn / 2.0).into()), 1.0);
    let mut c = Circuit::new(1);
    let z = c.add_variable("z", ClassicalType::Complex(FloatType::F64)).unwrap();
    let bits = c.bit_register("b", 1).unwrap();
    let z = c.scalar(z).unwrap();
    let error = |result: Result<&mut Circuit, CircuitError>| result.unwrap_err().to_string();
    assert_eq!(error(c.rx(0, z)), "there is no conversion of complex[float[64]] to float[64]");
    assert_eq!(
        error(c.rx(0, bits.equals(1) + z.less_than(2))),
        "`<` does not work on complex[float[64]] and 2"
    );
    assert!(c.instructions().is_empty());
}

/// What is known before the run is a gate as any other.
#[test]
fn known_angles_make_plain_gates() {
    let mut c = Circuit::new(1);
    let theta = c.param("theta");
    let half = ClassicalExpr::constant(ClassicalType::Angle(3), 4);
    c.rx(0, ClassicalExpr::from(0.5) * 2).unwrap().rz(0, ClassicalExpr::angle(&theta)).unwrap();
    c.p(0, half).unwrap().ry(0, ClassicalExpr::from(3)).unwrap();
    assert_eq!(c.to_string(), "rx(1) q[0]\nrz(theta) q[0]\np(pi) q[0]\nry(3) q[0]\n");
    assert!(c.is_unitary());
    // And once its parameters have values.
    let mut c = Circuit::new(1);
    let theta = c.param("theta");
    let squared = ClassicalExpr::angle(&theta) * ClassicalExpr::angle(&theta);
    c.rx(0, squared).unwrap();
    assert_eq!(c.to_string(), "rx(theta * theta) q[0]\n");
    assert!(!c.is_unitary());
    assert_eq!(c.bind(&[("theta", 1.5.into())]).unwrap().to_string(), "rx(2.25) q[0]\n");
    let state = Simulator::new().run(&c, &[1.5]).unwrap();
    assert!((state.amplitudes()[0].re - 1.125f64.cos()).abs() < 1e-15);
    // Other numbers in the same bound circuit.
    let mut bound = BoundCircuit::<Complex<f64>>::new(&c, &Values(&[0.1])).unwrap();
    bound.rebind(&c, &Values(&[1.5])).unwrap();
    let again = Simulator::new().distribution(&bound, 4).unwrap();
    assert_eq!(again.len(), 1);
}

#[test]
fn circuits_with_computed_angles_are_appended_and_bound() {
    let mut inner = Circuit::new(2);
    let a = inner.param("a");
    inner.bit_register("b", 1).unwrap();
    let t = inner.add_variable("t", ClassicalType::FLOAT).unwrap();
    let t = inner.scalar(t).unwrap();
    inner.h(0).unwrap().measure(0, 0).unwrap();
    inner.store(t, t + ClassicalExpr::angle(&a)).unwrap();
    let bit = ClassicalExpr::bits(&[0]).unwrap().cast_to(INT);
    inner.u3(1, t * bit, &a, ClassicalExpr::angle(&a) + t).unwrap();
    let mut outer = Circuit::new(3);
    outer.param("other");
    outer.bit_register("c", 2).unwrap();
    outer.add_variable("n", INT).unwrap();
    outer.append(&inner, &[2, 0]).unwrap();
    assert_eq!(
        outer.to_string(),
        "h q[2]\nmeasure q[2] -> c[2]\nt = t + a\nu3(t * int[32](c[2]), a, a + t) q[0]\n"
    );
    let fixed = outer.bind(&[("a", Angle::rad(0.5)), ("other", Angle::zero())]).unwrap();
    assert!(fixed.to_string().ends_with("u3(t * int[32](c[2]), 0.5, 0.5 + t) q[0]\n"));
    assert!(fixed.to_string().contains("t = t + 0.5"));
    let compact = fixed.compact();
    assert_eq!(compact.qubits(), [0, 2]);
    assert!(compact.circuit().to_string().ends_with(") q[0]\n"));
    let foreign = Circuit::new(1).rx(0, t).unwrap_err();
    assert_eq!(foreign.to_string(), "variable 0 does not exist: the circuit has 0, counted from 0");
    assert_eq!(outer.count_operations()["u3"], 1);
}

/// A phase of an `angle[n]` cannot be turned around within `angle[n]`: under a control the sign of
/// a rotation counts.
#[test]
fn an_inverse_keeps_the_sign_of_a_rotation() {
    let mut c = Circuit::new(2);
    let a = c.add_variable("a", ClassicalType::Angle(5)).unwrap();
    let a = c.scalar(a).unwrap();
    c.h(..).unwrap().store(a, 1.2).unwrap().crz(0, 1, a).unwrap();
    c.undo(|c| c.crz(0, 1, a)).unwrap();
    c.h(..).unwrap();
    let rho = Simulator::new().run_density::<f64>(&c, &[]).unwrap();
    assert!((rho.vector().amplitudes()[0].re - 1.0).abs() < 1e-14, "{c}");
    assert!(c.to_string().contains("crz(-float[64](a)) q[0], q[1]"), "{c}");
    // `dagger` and `controlled` of a circuit, too.
    let mut gates = Circuit::new(1);
    let t = gates.add_variable("t", ClassicalType::FLOAT).unwrap();
    let t = gates.scalar(t).unwrap();
    gates.rx(0, t).unwrap().rz(0, t / 2).unwrap();
    assert_eq!(gates.dagger().unwrap().to_string(), "rz(-(t / 2.0)) q[0]\nrx(-t) q[0]\n");
    assert_eq!(
        gates.controlled(&[true]).unwrap().to_string(),
        "crx(t) q[1], q[0]\ncrz(t / 2.0) q[1], q[0]\n"
    );
}

#[test]
fn an_angle_that_is_no_number_names_its_gate() {
    for (value, text) in [(0.0, "NaN"), (1.0, "inf"), (-2.0, "-inf")] {
        let mut c = Circuit::new(2);
        c.add_register("b", 1).unwrap();
        let t = c.add_variable("t", ClassicalType::FLOAT).unwrap();
        let t = c.scalar(t).unwrap();
        c.h(0).unwrap().measure(0, 0).unwrap().store(t, value).unwrap();
        let zero = t - t;
        c.when(Condition::Bit { bit: 0, value: true }, |c| c.crx(0, 1, t / zero)).unwrap();
        let expected = format!("the angle t / (t - t) of crx is {text} when the gate runs");
        let run = bound::<f64>(&c);
        let simulator = Simulator::new();
        let errors = [
            simulator.distribution(&run, 16).map(|_| ()).unwrap_err(),
            simulator.average(&run).map(|_| ()).unwrap_err(),
            simulator.trajectory_counts(&run, 100, 1).map(|_| ()).unwrap_err(),
        ];
        errors.iter().for_each(|error| assert_eq!(error.to_string(), expected));
    }
}

#[test]
fn what_sees_no_value_says_so() {
    let mut c = Circuit::new(1);
    let theta = c.param("theta");
    let t = c.hidden_variable("t", ClassicalType::FLOAT).unwrap();
    let t = c.scalar(t).unwrap();
    c.u3(0, &theta, t, 0.0).unwrap();
    let settings = EquivalenceSettings::default();
    assert!(ClosedForm::from_circuit(&c).is_err());
    assert!(equivalent(&c, &c, &settings, &Simulator::new()).is_err());
    let run = Simulator::new().run(&c, &[0.3]);
    assert!(matches!(run, Err(SimulateError::Dynamic)), "{run:?}");
    let fixed = c.bind(&[("theta", 0.5.into())]).unwrap();
    assert_eq!(
        print::to_qasm2(&fixed).unwrap_err(),
        PrintError::Classical { construct: "angles that are computed when a gate runs" }
    );
    let cell = "┤U3(theta, t, 0)├";
    assert!(draw::text(&c, None).contains(cell), "{}", draw::text(&c, None));
}

/// Classical values carry no derivatives and no error bars: where a parameter has some, a gate that
/// is computed from it is an error. Parameters elsewhere keep theirs.
#[test]
fn no_derivative_is_lost_in_an_angle() {
    let circuit = |through: bool| {
        let mut c = Circuit::new(2);
        let theta = c.param("theta");
        c.bit_register("b", 1).unwrap();
        let [t, u] = ["t", "u"].map(|name| c.hidden_variable(name, ClassicalType::FLOAT).unwrap());
        let (t, u) = (c.scalar(t).unwrap(), c.scalar(u).unwrap());
        c.rx(0, &theta).unwrap().measure(0, 0).unwrap();
        let bit = ClassicalExpr::bits(&[0]).unwrap().cast_to(INT);
        match through {
            true => c.store(u, ClassicalExpr::angle(&theta) / 2).unwrap().store(t, u * 3).unwrap(),
            false => c.store(t, 0.4 + bit).unwrap(),
        };
        // A gate may have a parameter beside what is computed.
        c.u(1, &theta, t, 0.0).unwrap().rx(1, t).unwrap();
        c
    };
    let (lost, kept) = (circuit(true), circuit(false));
    let dual = Dual64::new(0.8, 1.0);
    let error = BoundCircuit::<Complex<Dual64>>::new(&lost, &Values(&[dual])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the angle of a gate is computed from theta when the gate runs, and classical values carry no derivatives: \
         give theta a plain number, or use differences (`Method::Difference`)"
    );
    let bar = Uncertain::new(0.8, 0.1);
    assert!(BoundCircuit::<Complex<Uncertain>>::new(&lost, &Values(&[bar])).is_err());
    // A number without a derivative is one.
    for circuit in [&lost, &kept] {
        let plain = Values(&[Dual64::from(0.8)]);
        assert!(BoundCircuit::<Complex<Dual64>>::new(circuit, &plain).is_ok());
        assert!(BoundCircuit::<Complex<f32>>::new(circuit, &Values(&[0.8f32])).is_ok());
    }
    let p = |x: Dual64| {
        let bound = BoundCircuit::<Complex<Dual64>>::new(&kept, &Values(&[x])).unwrap();
        let rho = Simulator::new().average(&bound).unwrap();
        rho.probabilities_of(&[1]).unwrap()[1]
    };
    let h = 1e-5;
    let slope = (p(Dual64::from(0.8 + h)).re - p(Dual64::from(0.8 - h)).re) / (2.0 * h);
    assert!((p(dual).eps - slope).abs() < 1e-8 && slope.abs() > 0.1, "{} {slope}", p(dual).eps);
}
