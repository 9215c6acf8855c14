//! Equality of parametrised circuits: identities proved, each refuted with one gate altered.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Instruction, Operation},
    equivalent::{
        BOUND, EquivalenceReport, EquivalenceSettings, EquivalentError, Means, On, Verdict,
        equivalent,
    },
    gate::{Gate, GateKind},
    param::{Angle, ElementaryFunction, PI, ParamExpr, ParamId, Q},
    simulate::Simulator,
};
use num_complex::Complex;
use proptest::prelude::*;
use support::{
    close::CIRCUIT,
    random::{Rng, circuits},
};

type Side = fn(&mut Circuit, [Angle; 3]) -> Result<&mut Circuit, CircuitError>;

fn build(n: usize, side: Side) -> Circuit {
    let mut circuit = Circuit::new(n);
    let angles = ["a", "b", "c"].map(|name| circuit.param(name));
    side(&mut circuit, angles).unwrap();
    circuit
}

fn compare(a: &Circuit, b: &Circuit) -> EquivalenceReport {
    equivalent(a, b, &EquivalenceSettings::default(), &Simulator::new()).unwrap()
}

#[track_caller]
fn assert_exact(report: &EquivalenceReport, verdict: Verdict) {
    assert_eq!((report.verdict, report.exact), (verdict, true), "{report:?}");
    match report.method {
        Means::ExactRing => assert_eq!(report.error_bound, 0.0),
        method => {
            assert!(method == Means::FiniteField && report.error_bound <= BOUND, "{report:?}")
        }
    }
    match verdict {
        Verdict::Different => {
            assert!(report.witness.as_ref().unwrap().distance > 1e-6, "{report:?}")
        }
        _ => assert!(report.witness.is_none()),
    }
}

/// Equal, and different whichever rotation or CX of the right side is altered.
#[track_caller]
fn proves(n: usize, left: Side, right: Side) {
    let (left, right) = (build(n, left), build(n, right));
    assert_exact(&compare(&left, &right), Verdict::Equal);
    for k in 0..right.instructions().len() {
        assert_exact(&compare(&left, &altered(&right, k)), Verdict::Different);
    }
}

/// The circuit with gate `k` followed by one that is no phase.
fn altered(circuit: &Circuit, k: usize) -> Circuit {
    let mut out = with_params_of(circuit);
    for (i, instruction) in circuit.instructions().iter().enumerate() {
        out.push(instruction.clone()).unwrap();
        if i == k {
            let target = instruction.targets[0] as usize;
            out.rx(target, PI / 16).unwrap();
        }
    }
    out
}

fn with_params_of(circuit: &Circuit) -> Circuit {
    let mut out = Circuit::new(circuit.n_qubits());
    circuit.inputs().for_each(|name| drop(out.param(name)));
    out
}

#[test]
fn textbook_identities() {
    proves(2, |c, _| c.swap(0, 1), |c, _| c.cx(0, 1)?.cx(1, 0)?.cx(0, 1));
    proves(2, |c, [a, ..]| c.rzz(0, 1, a), |c, [a, ..]| c.cx(0, 1)?.rz(1, a)?.cx(0, 1));
    proves(
        3,
        |c, _| c.ccx(0, 1, 2),
        |c, _| {
            c.h(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?.t(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?;
            c.t(1)?.t(2)?.h(2)?.cx(0, 1)?.t(0)?.tdg(1)?.cx(0, 1)
        },
    );
}

#[test]
fn euler_angles_and_commutation_with_free_angles() {
    proves(1, |c, [p, t, l]| c.u3(0, t, p, l), |c, [p, t, l]| c.rz(0, l)?.ry(0, t)?.rz(0, p));
    proves(1, |c, [a, ..]| c.ry(0, a), |c, [a, ..]| c.rx(0, PI / 2)?.rz(0, a)?.rx(0, -PI / 2));
    proves(2, |c, [a, b, _]| c.rzz(0, 1, a)?.rz(0, b), |c, [a, b, _]| c.rz(0, b)?.rzz(0, 1, a));
    proves(2, |c, [a, ..]| c.cx(0, 1)?.rx(1, a), |c, [a, ..]| c.rx(1, a)?.cx(0, 1));
    proves(1, |c, [a, b, _]| c.rx(0, a + b), |c, [a, b, _]| c.rx(0, b)?.rx(0, a));
    proves(
        2,
        |c, [a, ..]| c.crz(0, 1, a),
        |c, [a, ..]| c.rz(1, &a / 2)?.cx(0, 1)?.rz(1, -a / 2)?.cx(0, 1),
    );
    let [left, right] = [
        build(1, |c, [a, b, _]| c.rx(0, a)?.rz(0, b)),
        build(1, |c, [a, b, _]| c.rz(0, b)?.rx(0, a)),
    ];
    assert_exact(&compare(&left, &right), Verdict::Different);
}

#[test]
fn phases_are_found_exactly() {
    let phase = |left: Side, right: Side| {
        let report = compare(&build(2, left), &build(2, right));
        assert_exact(&report, Verdict::EqualUpToPhase);
        let phase = report.phase.unwrap();
        (phase.text, phase.value)
    };
    assert_eq!(phase(|c, _| c.t(0), |c, _| c.rz(0, PI / 4)).0, "pi/8");
    assert_eq!(
        phase(|c, _| c.z(0), |c, _| c.rz(0, -PI)),
        ("-pi/2".to_owned(), Some(-std::f64::consts::FRAC_PI_2))
    );
    assert_eq!(phase(|c, [a, ..]| c.rz(1, a), |c, [a, ..]| c.p(1, a)), ("-1/2*a".to_owned(), None));
    assert_eq!(
        phase(|c, [a, b, _]| c.gphase(3 * a - b / 4 + PI / 16), |c, _| c.id(0)).0,
        "pi/16 + 3*a - 1/4*b"
    );
    // A whole turn of a rotation is -1.
    assert_eq!(phase(|c, [a, ..]| c.rx(0, a + 2 * PI), |c, [a, ..]| c.rx(0, a)).0, "pi");
    assert_eq!(phase(|c, _| c.gphase(0.25), |c, _| c.id(0)), ("0.25".to_owned(), Some(0.25)));
}

/// The transform with the qubits in the order of the textbook, and with its controls and targets
/// exchanged and every controlled phase in parts.
fn qft(n: usize, parts: bool) -> Circuit {
    let mut c = Circuit::new(n);
    let order: Vec<usize> = if parts { (0..n).collect() } else { (0..n).rev().collect() };
    if parts {
        for q in 0..n / 2 {
            c.swap(q, n - 1 - q).unwrap();
        }
    }
    for (i, &target) in order.iter().enumerate() {
        c.h(target).unwrap();
        for &control in &order[i + 1..] {
            let angle = PI / (1i64 << target.abs_diff(control));
            if parts {
                c.p(control, &angle / 2)
                    .unwrap()
                    .cx(control, target)
                    .unwrap()
                    .p(target, -&angle / 2)
                    .unwrap();
                c.cx(control, target).unwrap().p(target, angle / 2).unwrap();
            } else {
                c.cp(control, target, angle).unwrap();
            }
        }
    }
    if !parts {
        for q in 0..n / 2 {
            c.swap(q, n - 1 - q).unwrap();
        }
    }
    c
}

#[test]
fn fourier_transforms() {
    for n in [1, 2, 3, 5, 8, 13] {
        let (one, other) = (qft(n, false), qft(n, true));
        assert_exact(&compare(&one, &other), Verdict::Equal);
        assert_exact(
            &compare(&one, &altered(&other, other.instructions().len() / 2)),
            Verdict::Different,
        );
    }
}

#[test]
fn fourier_transform_of_20_qubits() {
    let (one, other) = (qft(20, false), qft(20, true));
    assert_exact(&compare(&one, &other), Verdict::Equal);
    assert_exact(&compare(&one, &altered(&other, 700)), Verdict::Different);
}

#[test]
fn small_circuits_are_compared_in_the_exact_ring() {
    let field = EquivalenceSettings::default().with_exact_ring(false);
    let [left, right] = [
        build(2, |c, [a, ..]| c.rzz(0, 1, a)),
        build(2, |c, [a, ..]| c.cx(0, 1)?.rz(1, a)?.cx(0, 1)),
    ];
    assert_eq!(compare(&left, &right).method, Means::ExactRing);
    assert_eq!(
        equivalent(&left, &right, &field, &Simulator::new()).unwrap().method,
        Means::FiniteField
    );
    // Fractions of pi of any order are in it; long circuits take too long there.
    let [left, right] =
        [build(1, |c, _| c.rx(0, PI / 3)), build(1, |c, _| c.rx(0, PI / 6)?.rx(0, PI / 6))];
    let report = compare(&left, &right);
    assert_eq!((report.verdict, report.method), (Verdict::Equal, Means::ExactRing));
    assert_eq!(compare(&left, &build(1, |c, _| c.rx(0, PI / 7))).verdict, Verdict::Different);
    let turned = compare(&left, &build(1, |c, _| c.gphase(2 * PI / 5)?.rx(0, PI / 3)));
    assert_eq!((turned.method, turned.phase.unwrap().text.as_str()), (Means::ExactRing, "-2*pi/5"));
    assert_eq!(compare(&qft(8, false), &qft(8, true)).method, Means::FiniteField);
}

#[test]
fn phases_of_long_circuits_and_of_states() {
    let layers: Side = |c, [a, b, _]| {
        for q in 0..9 {
            c.h(q)?.p(q, &a / 3)?.cx(q, (q + 1) % 9)?.crz(q, (q + 2) % 9, &b)?;
        }
        Ok(c)
    };
    // RZ(a) and P(a) differ by a phase.
    let (mut left, mut right) = (build(9, layers), build(9, layers));
    let a = left.param("a");
    left.rz(4, &a).unwrap();
    right.p(4, a).unwrap();
    let report = compare(&left, &right);
    assert_exact(&report, Verdict::EqualUpToPhase);
    assert_eq!(
        (report.method, report.phase.unwrap().text),
        (Means::FiniteField, "-1/2*a".to_owned())
    );
    let on_state = EquivalenceSettings::default().with_on(On::State);
    let [left, right] = [build(9, |c, [a, ..]| c.rz(0, a)?.h(8)), build(9, |c, _| c.h(8))];
    let report = equivalent(&left, &right, &on_state, &Simulator::new()).unwrap();
    assert_eq!(
        (report.verdict, report.phase.unwrap().text),
        (Verdict::EqualUpToPhase, "-1/2*a".to_owned())
    );
}

#[test]
fn single_precision_only_coarsens_numbers() {
    let single = EquivalenceSettings::default().with_single(true);
    let check = |a: &Circuit, b: &Circuit, s: &EquivalenceSettings| {
        equivalent(a, b, s, &Simulator::new()).unwrap()
    };
    let rounded = |more: f64| {
        let mut circuit = build(2, |c, _| c.h(0)?.cx(0, 1));
        circuit.rx(0, std::f64::consts::FRAC_PI_3 + more).unwrap();
        circuit
    };
    let report = check(&rounded(0.0), &rounded(0.0), &single);
    assert!(
        matches!(report.verdict, Verdict::Equal | Verdict::Unknown)
            && report.method == Means::Numeric
    );
    assert!(report.error_bound > 1e-7, "{report:?}");
    let coarse = single.with_tolerance(1e-5);
    assert_eq!(check(&rounded(0.0), &rounded(1e-7), &coarse).verdict, Verdict::Equal);
    assert_eq!(check(&rounded(0.0), &rounded(1e-2), &coarse).verdict, Verdict::Different);
    // Exact verdicts do not depend on it.
    assert_exact(&check(&qft(8, false), &qft(8, true), &single), Verdict::Equal);
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn open_angle(rng: &mut Rng) -> Angle {
    let theta = Angle::theta(ParamId::new(rng.below(NAMES.len()) as u32));
    Angle::pi(rng.below(17) as i64 - 8, 8) + theta * Q::new(rng.below(9) as i64 - 4, 2)
}

fn random_circuit(n: usize, len: usize, rng: &mut Rng) -> Circuit {
    let drawn = rng.circuit(n, len, |_| Angle::zero());
    let mut circuit = Circuit::new(n);
    NAMES.iter().for_each(|name| drop(circuit.param(name)));
    for mut instruction in drawn.instructions().iter().cloned() {
        if let Operation::Gate(gate) = &mut instruction.operation {
            *gate = gate.map_params(|_| open_angle(rng));
        }
        circuit.push(instruction).unwrap();
    }
    circuit
}

/// Inserts a gate and its inverse, exchanges neighbours on different qubits, takes some gates
/// apart.
fn rewritten(circuit: &Circuit, rng: &mut Rng) -> Circuit {
    let mut list: Vec<Instruction> = Vec::new();
    for instruction in circuit.instructions() {
        if rng.below(4) == 0 {
            let extra = random_circuit(circuit.n_qubits(), 1, rng);
            list.extend(
                extra.instructions().iter().chain(extra.dagger().unwrap().instructions()).cloned(),
            );
        }
        list.extend(in_parts(instruction));
    }
    for _ in 0..4 * list.len() {
        let i = rng.below(list.len() - 1);
        if list[i].qubits().all(|q| list[i + 1].qubits().all(|p| p != q)) {
            list.swap(i, i + 1);
        }
    }
    let mut out = with_params_of(circuit);
    for instruction in list {
        out.push(instruction).unwrap();
    }
    out
}

/// A rotation in two halves, H as `RZ RX RZ` with its phase; else the gate itself.
fn in_parts(instruction: &Instruction) -> Vec<Instruction> {
    let Operation::Gate(gate) = &instruction.operation else { return vec![instruction.clone()] };
    let part = |gate: Gate| Instruction { operation: Operation::Gate(gate), ..instruction.clone() };
    if let Some(half) = gate.power(Q::new(1, 2)) {
        return vec![part(half.clone()), part(half)];
    }
    if gate.kind() == GateKind::H {
        let turn = |kind| part(Gate::new(kind, [PI / 2]).unwrap());
        let phase = Instruction {
            targets: Default::default(),
            ..part(Gate::new(GateKind::GPHASE, [PI / 2]).unwrap())
        };
        return vec![turn(GateKind::RZ), turn(GateKind::RX), turn(GateKind::RZ), phase];
    }
    vec![instruction.clone()]
}

#[test]
fn a_thousand_gates_rewritten() {
    let mut rng = Rng::new(11);
    let circuit = random_circuit(8, 1000, &mut rng);
    let other = rewritten(&circuit, &mut rng);
    assert!(other.instructions().len() > 1300);
    assert_exact(&compare(&circuit, &other), Verdict::Equal);
    for _ in 0..5 {
        let k = rng.below(other.instructions().len());
        let report = compare(&circuit, &altered_anywhere(&other, k));
        assert_eq!(
            (report.verdict, report.exact),
            (Verdict::Different, true),
            "gate {k}: {report:?}"
        );
    }
}

/// As [`altered`], but on qubit 0 where the gate has no target.
fn altered_anywhere(circuit: &Circuit, k: usize) -> Circuit {
    let mut out = with_params_of(circuit);
    for (i, instruction) in circuit.instructions().iter().enumerate() {
        out.push(instruction.clone()).unwrap();
        if i == k {
            out.rx(instruction.targets.first().map_or(0, |q| *q as usize), PI / 16).unwrap();
        }
    }
    out
}

#[test]
fn a_tiny_difference_is_one() {
    let left = build(2, |c, [a, ..]| c.rx(0, a)?.cx(0, 1));
    let right = build(2, |c, [a, ..]| c.rx(0, a + Angle::pi(1, 1 << 29))?.cx(0, 1));
    let report = compare(&left, &right);
    assert_eq!((report.verdict, report.exact), (Verdict::Different, true));
    assert!(report.witness.unwrap().distance < 1e-8);
}

/// Numbers that a float does not tell apart are not equal, and those that it holds exactly are.
#[test]
fn large_angles_are_equal_only_where_they_are_known() {
    let rx = |angle: f64| {
        let mut circuit = Circuit::new(1);
        circuit.rx(0, angle).unwrap();
        circuit
    };
    let report = compare(&rx(1e17), &rx(1e17));
    assert_eq!((report.verdict, report.exact), (Verdict::Unknown, false));
    assert!(report.error_bound > 1.0 && report.reason.unwrap().contains("exceeds the tolerance"));
    for angle in [1e9, 123_456_789_012.0] {
        let report = compare(&rx(angle), &rx(angle));
        assert_eq!((report.verdict, report.exact), (Verdict::Equal, false));
        assert!(
            report.error_bound < 1e-9 && report.reason.unwrap().contains("too large or too fine")
        );
    }
    let sum = build(1, |c, _| c.rz(0, Angle::rad(0.1) + Angle::rad(0.2)));
    assert_exact(&compare(&sum, &build(1, |c, _| c.rz(0, 0.3))), Verdict::Equal);
}

/// A decimal that was rounded before it became a float is not the decimal that the float is.
#[test]
fn rounded_numbers_are_not_what_they_look_like() {
    let rz = |angle: Angle| {
        let mut circuit = Circuit::new(1);
        circuit.rz(0, angle).unwrap();
        circuit
    };
    let written = |text: &str| rz(ketgrad_core::qasm::parse_angle(text).unwrap());
    let tenth = rz(Angle::rad(0.1));
    for text in [
        "0.10000000000000000001",
        "0.1 + 1e-20",
        "0.1*cos(1e-9)",
        "1e-1",
        "0.1000000000000000000000",
    ] {
        let report = compare(&written(text), &tenth);
        let exact = text.ends_with("000") || text == "1e-1";
        assert_eq!((report.verdict, report.exact), (Verdict::Equal, exact), "{text}: {report:?}");
        assert!(exact || report.reason.unwrap().contains("rounded"), "{text}");
    }
    assert!(!compare(&rz(Angle::rad(0.1) + Angle::rad(1e-20)), &tenth).exact);
    // Numbers with simple exact values stay exact.
    for text in ["sqrt(2.25) - cos(0)*7/5", "abs(-0.1)", "2**2/40", "0.3 - sin(pi/2)/5"] {
        assert!(compare(&written(text), &tenth).exact, "{text}");
    }
    // The slack goes with the angle, through gates with parameters too.
    let open = build(1, |c, [a, ..]| c.rz(0, a * 0.123_456_789_012 * 0.123_456_789_012));
    let report = compare(&open, &open);
    assert_eq!((report.verdict, report.exact), (Verdict::Equal, false), "{report:?}");
}

/// No verdict where numbers round more than the tolerance allows, be it in the angles.
#[test]
fn numbers_say_nothing_beyond_their_rounding() {
    let open = |factors: &[f64]| {
        let mut circuit = Circuit::new(1);
        let a = circuit.param("a");
        let steep = circuit.expression(ParamExpr::from(a).call(ElementaryFunction::Sin));
        for q in factors {
            circuit.rz(0, &steep * *q).unwrap();
        }
        circuit
    };
    // Factors that the fields do not take, so that numbers decide; the sums are the same.
    let report = compare(&open(&[1_000_000_003.125]), &open(&[333_333_334.5, 666_666_668.625]));
    assert_ne!(report.verdict, Verdict::Different, "{report:?}");
    let long = |x: f64| {
        let mut circuit = Circuit::new(1);
        circuit.rz(0, x).unwrap();
        circuit
    };
    let single =
        |tolerance| EquivalenceSettings::default().with_single(true).with_tolerance(tolerance);
    let (one, other) = (long(3.123_456_789_012_345_6), long(3.123_456_701_012_345_6));
    let fine = equivalent(&one, &other, &single(1e-9), &Simulator::new()).unwrap();
    assert!(fine.verdict == Verdict::Unknown && fine.error_bound > 1e-9, "{fine:?}");
    let coarse = equivalent(&one, &other, &single(1e-4), &Simulator::new()).unwrap();
    assert!(coarse.verdict == Verdict::Equal && coarse.error_bound < 1e-4, "{coarse:?}");
    assert_eq!(compare(&one, &other).verdict, Verdict::Different);
    // A whole turn more is a half one where the angle is halved, which numbers of that size round.
    for x in [1e8, 1e12] {
        let mut turned = Circuit::new(1);
        turned.rz(0, Angle::rad(x) + Angle::pi(2, 1)).unwrap();
        assert_ne!(compare(&long(x), &turned).verdict, Verdict::Different, "{x}");
    }
    // In single precision an angle of a million is known to some hundredths.
    let (one, other) = (long(1e6 + 0.123_456_789), long(1e6 + 0.133_456_789));
    let report = equivalent(&one, &other, &single(1e-3), &Simulator::new()).unwrap();
    assert!(report.verdict == Verdict::Unknown && report.error_bound > 1e-2, "{report:?}");
}

#[test]
fn decimals_of_twelve_digits_stay_exact() {
    let left = build(1, |c, _| c.rx(0, 0.123_456_789_012)?.rx(0, 1.0));
    assert_exact(
        &compare(&left, &build(1, |c, _| c.rx(0, 1.0)?.rx(0, 0.123_456_789_012))),
        Verdict::Equal,
    );
    let other = compare(&left, &build(1, |c, _| c.rx(0, 1.0)?.rx(0, 0.123_456_789_011)));
    assert_eq!((other.verdict, other.exact), (Verdict::Different, true));
    // Matrices in rounded numbers are left to numbers.
    let root = 0.5f64.sqrt();
    let h =
        ketgrad_core::matrix::Matrix::from_rows(vec![vec![root, root], vec![root, -root]]).unwrap();
    let mut given = Circuit::new(1);
    given.unitary(h.map(|x| Complex::new(*x, 0.0)), &[0], &[]).unwrap();
    let report = compare(&given, &build(1, |c, _| c.h(0)));
    assert_eq!(
        (report.verdict, report.method, report.exact),
        (Verdict::Equal, Means::Numeric, false)
    );
}

#[test]
fn ancillas_and_states() {
    let on = |on| EquivalenceSettings::default().with_on(on);
    let left = build(3, |c, [a, ..]| c.ry(0, a));
    let right = build(3, |c, [a, ..]| c.ry(0, a)?.cx(2, 0)?.cx(1, 0));
    let verdict =
        |on_what| equivalent(&left, &right, &on(on_what), &Simulator::new()).unwrap().verdict;
    assert_eq!(verdict(On::Unitary { ancillas: 0 }), Verdict::Different);
    assert_eq!(verdict(On::Unitary { ancillas: 1 }), Verdict::Different);
    assert_eq!(verdict(On::Unitary { ancillas: 2 }), Verdict::Equal);
    assert_eq!(verdict(On::Unitary { ancillas: 3 }), Verdict::Equal);
    assert_eq!(verdict(On::State), Verdict::Equal);
}

#[test]
fn what_cannot_be_compared() {
    let fails = |a: &Circuit, b: &Circuit, s: EquivalenceSettings| {
        equivalent(a, b, &s, &Simulator::new()).unwrap_err()
    };
    let one = Circuit::new(1);
    let d = EquivalenceSettings::default();
    let e = fails(&one, &Circuit::new(2), d);
    assert_eq!(
        e.to_string(),
        "the first circuit has 1 qubit, the second 2: only circuits on equally many can be compared"
    );
    let e = fails(&one, &one, d.with_on(On::Unitary { ancillas: 2 }));
    assert!(matches!(e, EquivalentError::Ancillas { given: 2, n_qubits: 1 }));
    let mut middle = Circuit::new(1);
    middle.add_register("c", 1).unwrap().measure(0, 0).unwrap().h(0).unwrap();
    assert!(matches!(fails(&one, &middle, d), EquivalentError::Dynamic { which: "second" }));
    assert!(matches!(
        fails(&one, &one, d.with_tolerance(f64::NAN)),
        EquivalentError::Tolerance { .. }
    ));
    let mut nan = Circuit::new(1);
    nan.rx(0, f64::NAN).unwrap();
    assert!(fails(&one, &nan, d).to_string().contains("not a finite number"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The exact ring and the fields say the same of two random circuits, the phase included.
    #[test]
    fn ring_and_fields_agree(seed in any::<u64>(), how in 0..3usize) {
        let mut rng = Rng::new(seed);
        let one = random_circuit(2, 6, &mut rng);
        let mut other = rewritten(&one, &mut rng);
        match how {
            0 => {}
            1 => drop(other.gphase(open_angle(&mut rng)).unwrap()),
            _ => drop(other.append(&random_circuit(2, 1, &mut rng), &[0, 1]).unwrap()),
        }
        let by_field = EquivalenceSettings::default().with_exact_ring(false);
        let (ring, field) = (compare(&one, &other), equivalent(&one, &other, &by_field, &Simulator::new()).unwrap());
        prop_assert_eq!((ring.verdict, &ring.phase), (field.verdict, &field.phase));
        prop_assert!(how == 2 || ring.verdict != Verdict::Different, "{:?}", ring);
    }

    /// Circuits that a transpiler prints with all digits are never called different, however tight
    /// the tolerance.
    #[test]
    fn rounded_angles_are_no_difference(
        seed in any::<u64>(),
        digits in 15..=17usize,
        tolerance in prop::sample::select(vec![0.0, 1e-16, 1e-15, 1e-14, 1e-12, 1e-9]),
    ) {
        let mut rng = Rng::new(seed);
        let one = rng.circuit(3, 20, |rng| Angle::pi(rng.below(49) as i64 - 24, 1 + rng.below(24) as i64));
        let rounded = |angle: &Angle| match angle.constant() {
            Some(x) if x != 0.0 => Angle::rad(format!("{x:.*e}", digits - 1).parse::<f64>().unwrap()),
            _ => angle.clone(),
        };
        let mut other = Circuit::new(3);
        for mut instruction in one.instructions().iter().cloned() {
            if let Operation::Gate(gate) = &mut instruction.operation {
                *gate = gate.map_params(rounded);
            }
            other.push(instruction).unwrap();
        }
        let settings = EquivalenceSettings::default().with_tolerance(tolerance);
        let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
        prop_assert!(report.verdict != Verdict::Different, "{:?}", report);
        prop_assert!(tolerance < 1e-9 || report.verdict == Verdict::Equal, "{:?}", report);
    }

    /// A steep angle in two parts is that angle: no precision sees a difference beyond what it says
    /// of itself.
    #[test]
    fn parts_of_steep_angles_are_no_difference(
        whole in 1..1i64 << 49,
        part in 0.0..1.0f64,
        digits in 0..6u32,
        open in any::<bool>(),
        single in any::<bool>(),
        tolerance in prop::sample::select(vec![0.0, 1e-12, 1e-9, 1e-6, 1e-3]),
    ) {
        // A quotient is the float nearest to the decimal.
        let units = f64::from(10u32.pow(digits));
        let rz = |numbers: &[f64]| {
            let mut circuit = Circuit::new(1);
            let a = circuit.param("a");
            circuit.h(0).unwrap();
            for number in numbers {
                let angle = if open { &a * (number / units) } else { Angle::rad(number / units) };
                circuit.rz(0, angle).unwrap();
            }
            circuit
        };
        let first = (whole as f64 * part).trunc();
        let settings = EquivalenceSettings::default().with_tolerance(tolerance).with_single(single);
        let (one, other) = (rz(&[whole as f64]), rz(&[first, whole as f64 - first]));
        let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
        prop_assert!(report.verdict != Verdict::Different, "{:?}", report);
        // Far enough apart in the middle of its range no precision takes it for equal.
        if !open && whole < 1 << 30 {
            let apart = rz(&[whole as f64 + units]);
            let report = equivalent(&one, &apart, &settings, &Simulator::new()).unwrap();
            prop_assert!(matches!(report.verdict, Verdict::Different | Verdict::Unknown), "{:?}", report);
        }
    }

    /// Whatever the field says of two random circuits, numbers at random angles agree.
    #[test]
    fn fields_and_numbers_agree(a in circuits(3, 2, 6), b in circuits(3, 2, 2), same in any::<bool>()) {
        let mut other = a.clone();
        if !same {
            other.append(&b, &[0, 1, 2]).unwrap();
        }
        let report = compare(&a, &other);
        let values = [0.37, -1.21];
        let u = Simulator::new().run::<f64>(&a, &values).unwrap();
        let v = Simulator::new().run::<f64>(&other, &values).unwrap();
        let overlap = u.inner(&v, &Default::default()).unwrap();
        match report.verdict {
            Verdict::Equal => prop_assert!((overlap - 1.0).norm() < CIRCUIT),
            Verdict::EqualUpToPhase => prop_assert!((overlap.norm() - 1.0).abs() < CIRCUIT),
            Verdict::Different => prop_assert!(report.witness.unwrap().distance > 1e-9 && !same),
            Verdict::Unknown => prop_assert!(!report.exact),
        }
    }
}

/// A rotation by a decimal with too many digits for exact arithmetic, so that numbers decide.
fn rounded_rotation(c: &mut Circuit) {
    c.ry(0, 0.123_456_789_012_345_6).unwrap();
}

#[test]
fn a_phase_that_depends_on_a_parameter_is_no_number() {
    let side = |kind: GateKind| {
        let mut circuit = Circuit::new(2);
        let a = circuit.param("a");
        rounded_rotation(&mut circuit);
        circuit.gate(Gate::new(kind, [a]).unwrap(), &[1], &[]).unwrap();
        circuit
    };
    let report = compare(&side(GateKind::RZ), &side(GateKind::P));
    assert_eq!((report.verdict, report.exact), (Verdict::EqualUpToPhase, false), "{report:?}");
    assert_eq!(report.phase, None, "{report:?}");
    // The same with a phase that is a number.
    let mut moved = side(GateKind::RZ);
    moved.gphase(0.25).unwrap();
    let report = compare(&side(GateKind::RZ), &moved);
    assert_eq!((report.verdict, report.exact), (Verdict::EqualUpToPhase, false), "{report:?}");
    assert!((report.phase.unwrap().value.unwrap() + 0.25).abs() < 1e-9);
}

#[test]
fn a_phase_is_claimed_only_beyond_the_bound() {
    let mut seen = [0; 3];
    for (k, gates) in [1, 300, 3000].into_iter().cycle().take(60).enumerate() {
        let mut rng = Rng::new(k as u64);
        let phase = 10f64.powf(-14.0 + 13.0 * rng.unit());
        let tolerance = 10f64.powf(-12.0 + 9.0 * rng.unit());
        let settings =
            EquivalenceSettings::default().with_tolerance(tolerance).with_single(k % 2 == 1);
        let mut one = Circuit::new(3);
        rounded_rotation(&mut one);
        for q in (0..3).cycle().take(gates) {
            one.h(q).unwrap().cx(q, (q + 1) % 3).unwrap();
        }
        let mut other = one.clone();
        one.gphase(phase).unwrap();
        other.gphase(1e-17).unwrap();
        let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
        match report.verdict {
            Verdict::Equal => assert!(phase <= tolerance, "{phase} {report:?}"),
            Verdict::EqualUpToPhase => {
                let found = report.phase.clone().unwrap();
                let value = found.value.unwrap();
                // The last digit is not below the bound, and at most ten times that.
                assert!(phase > report.error_bound.max(tolerance), "{phase} {report:?}");
                assert!((value - phase).abs() <= 7.0 * report.error_bound, "{phase} {report:?}");
                assert_eq!(found.text.parse(), Ok(value));
                let decimals = found.text.split('.').nth(1).map_or(0, str::len);
                assert!(value == 0.0 || 10f64.powi(-(decimals as i32)) > report.error_bound / 10.0);
            }
            Verdict::Unknown => {
                assert!(report.error_bound > tolerance / 2.0 || phase > tolerance / 2.0)
            }
            Verdict::Different => panic!("{phase} {report:?}"),
        }
        seen[match report.verdict {
            Verdict::Equal => 0,
            Verdict::EqualUpToPhase => 1,
            _ => 2,
        }] += 1;
    }
    assert!(seen.iter().all(|n| *n > 3), "{seen:?}");
}

/// Pairs of circuits, every third equal in another form, every third with a phase, every third with
/// one gate more.
const PAIRS: u64 = 360;

/// Appends a change somewhere in the middle: no multiple of the identity at any angles.
fn push_a_change(circuit: &mut Circuit, rng: &mut Rng) {
    let n = circuit.n_qubits();
    let order = rng.permutation(n);
    let (q, p, r) = (order[0], order[1], order[2]);
    match rng.below(8) {
        0 => circuit.t(q),
        1 => circuit.rx(q, PI / 64),
        2 => circuit.cx(q, p),
        3 => circuit.swap(q, p),
        4 => circuit.ccx(q, p, r),
        5 => circuit.cp(q, p, PI / 32),
        6 => circuit.rzz(q, p, Angle::theta(ParamId::new(0)) + PI / 8),
        _ => circuit.gate(
            Gate::new(GateKind::RY, [PI / 16]).unwrap(),
            &[r],
            &[(q, false), (p, true)],
        ),
    }
    .unwrap();
}

#[test]
fn random_pairs_get_no_wrong_verdict() {
    let expected = [Verdict::Equal, Verdict::EqualUpToPhase, Verdict::Different];
    let mut decided = [0; 3];
    for seed in 0..PAIRS {
        let mut rng = Rng::new(1000 + seed);
        let n = 3 + (seed / 3 % 8) as usize;
        let (len, how) = (4 + rng.below(36), (seed % 3) as usize);
        let (first, second) =
            (random_circuit(n, len, &mut rng), random_circuit(n, 1 + len / 4, &mut rng));
        let join = |parts: &[&Circuit]| {
            let mut out = with_params_of(&first);
            for part in parts {
                part.instructions().iter().for_each(|i| {
                    out.push(i.clone()).unwrap();
                });
            }
            out
        };
        let mut change = with_params_of(&first);
        match how {
            0 => {}
            // An odd number of 32nd parts of a turn.
            1 => drop(change.gphase(Angle::pi(2 * rng.below(16) as i64 + 1, 16)).unwrap()),
            _ => push_a_change(&mut change, &mut rng),
        }
        let one = join(&[&first, &second]);
        let other = rewritten(&join(&[&first, &change, &second]), &mut rng);
        for exact_ring in [true, false] {
            let settings =
                EquivalenceSettings::default().with_exact_ring(exact_ring).with_seed(seed);
            let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
            assert_eq!((report.verdict, report.exact), (expected[how], true), "{seed}: {report:?}");
            assert!(report.phase.is_some() == (how == 1), "{seed}: {report:?}");
        }
        // On a state the circuits may be equal though they are not, but equal ones are.
        let settings = EquivalenceSettings::default().with_on(On::State).with_seed(seed);
        let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
        assert!(
            report.exact && expected.iter().position(|v| *v == report.verdict) <= Some(how),
            "{seed}"
        );
        // In numbers no verdict is wrong, and no distance of equal circuits is beyond the bound.
        let [mut one, mut other] = [one, other];
        rounded_rotation(&mut one);
        rounded_rotation(&mut other);
        for single in [false, true] {
            let tolerance = if single { 1e-3 } else { 1e-9 };
            let settings = EquivalenceSettings::default()
                .with_tolerance(tolerance)
                .with_single(single)
                .with_seed(seed);
            let report = equivalent(&one, &other, &settings, &Simulator::new()).unwrap();
            assert!(report.method == Means::Numeric && !report.exact);
            let (found, bound) = (report.verdict, report.error_bound);
            assert!(
                found == expected[how] || (single && found == Verdict::Unknown),
                "{seed}: {report:?}"
            );
            if how < 2 {
                assert!(report.max_difference.unwrap() <= bound, "{seed}: {report:?}");
            }
            decided[how] += usize::from(found == expected[how]);
        }
    }
    assert!(decided.iter().all(|n| *n as u64 > PAIRS / 3), "{decided:?}");
}

/// A circuit whose qubits are read into a register of as many bits, in the order that is given.
fn read(mut circuit: Circuit, from: &[usize]) -> Circuit {
    circuit.add_register("c", from.len()).unwrap();
    for (bit, qubit) in from.iter().enumerate() {
        circuit.measure(*qubit, bit).unwrap();
    }
    circuit
}

#[test]
fn swapped_readout_is_another_circuit_and_relabelled_readout_is_none() {
    let body: Side = |c, _| c.h(0)?.rx(1, 0.3);
    let report = compare(&read(build(2, body), &[0, 1]), &read(build(2, body), &[1, 0]));
    assert_exact(&report, Verdict::Different);
    assert!(report.by_readout);
    let reason = report.reason.unwrap();
    assert!(
        reason.contains("c[0] is 1 with probability 0.500000 in the first circuit, 0.022332"),
        "{reason}"
    );
    assert!((report.witness.unwrap().distance - (0.5 - 0.15f64.sin().powi(2))).abs() < 1e-12);

    let swapped = build(2, |c, _| c.h(1)?.rx(0, 0.3));
    let report = compare(&read(build(2, body), &[0, 1]), &read(swapped, &[1, 0]));
    // From |0…0>, but not as a map of inputs.
    assert_exact(&report, Verdict::Different);
    let swapped = build(2, |c, _| c.h(0)?.rx(1, 0.3)?.swap(0, 1));
    assert_exact(&compare(&read(build(2, body), &[0, 1]), &read(swapped, &[1, 0])), Verdict::Equal);
}

#[test]
fn routed_ghz_with_a_fresh_qubit() {
    let ghz = read(build(4, |c, _| c.h(0)?.cx(0, 1)?.cx(1, 2)?.cx(2, 3)), &[0, 1, 2, 3]);
    // On a line whose last two qubits are the other way round, by way of a qubit that only it has.
    let routed = build(5, |c, _| c.h(0)?.cx(0, 1)?.cx(1, 2)?.swap(2, 4)?.cx(4, 3));
    let report = compare(&ghz, &read(routed.clone(), &[0, 1, 4, 3]));
    assert_exact(&report, Verdict::Equal);
    assert!(
        report.notes.iter().any(|n| n.contains("c[2] from qubit 2 and 4")),
        "{:?}",
        report.notes
    );
    assert!(report.notes.iter().any(|n| n.contains("start in |0>")), "{:?}", report.notes);
    assert_exact(&compare(&ghz, &read(routed.clone(), &[0, 1, 2, 3])), Verdict::Different);
    // Without readout they are not circuits on equally many qubits.
    let settings = EquivalenceSettings::default().with_ignore_measurements(true);
    let error =
        equivalent(&ghz, &read(routed, &[0, 1, 4, 3]), &settings, &Simulator::new()).unwrap_err();
    assert!(matches!(error, EquivalentError::Qubits { left: 4, right: 5 }), "{error}");
}

#[test]
fn what_readout_does_not_see_makes_no_difference() {
    let one = read(build(3, |c, [a, b, _]| c.ry(0, a)?.cx(0, 1)?.rx(2, b)), &[0, 1]);
    // Diagonal gates before the readout, other controls, and anything on qubits that are not read.
    let other = |c: Side| read(build(3, c), &[0, 1]);
    for same in [
        (|c, [a, b, _]| c.ry(0, a)?.cx(0, 1)?.rx(2, &b)?.rz(0, b)?.cz(0, 1)) as Side,
        |c, [a, ..]| c.ry(0, a)?.cx(0, 1)?.h(2),
        |c, [a, b, _]| c.ry(0, a)?.cx(0, 1)?.crx(1, 2, b)?.t(1),
    ] {
        let report = compare(&one, &other(same));
        assert_exact(&report, Verdict::Equal);
        assert!(report.by_readout && report.notes.iter().any(|n| n.contains("same distribution")));
    }
    for different in [
        (|c, [a, ..]| c.ry(0, &a)?.cx(0, 1)?.rz(0, a)?.h(0)) as Side,
        |c, [a, ..]| c.ry(0, -a)?.cx(0, 1),
        |c, [a, b, _]| c.ry(0, a)?.cx(0, 1)?.crx(2, 1, b),
    ] {
        let report = compare(&one, &other(different));
        assert_exact(&report, Verdict::Different);
        assert!(report.by_readout && report.reason.is_some(), "{report:?}");
        assert!(
            report
                .witness
                .unwrap()
                .params
                .iter()
                .all(|(name, _)| ["a", "b", "c"].contains(&name.as_str()))
        );
    }
    // From |0…0>, the sign of an angle makes no difference.
    let settings = EquivalenceSettings::default().with_on(On::State);
    let minus = other(|c, [a, ..]| c.ry(0, -a)?.cx(0, 1));
    let report = equivalent(&one, &minus, &settings, &Simulator::new()).unwrap();
    assert_exact(&report, Verdict::Equal);
}

#[test]
fn bits_are_matched_by_the_names_of_their_registers() {
    let circuit = |registers: [(&str, usize); 2], from: [usize; 3]| {
        let mut c = build(3, |c, [a, b, d]| c.rx(0, a)?.rx(1, b)?.rx(2, d));
        for (name, size) in registers {
            c.add_register(name, size).unwrap();
        }
        for (bit, qubit) in from.into_iter().enumerate() {
            c.measure(qubit, bit).unwrap();
        }
        c
    };
    let one = circuit([("c", 1), ("d", 2)], [0, 1, 2]);
    assert_exact(&compare(&one, &circuit([("d", 2), ("c", 1)], [1, 2, 0])), Verdict::Equal);
    assert_exact(&compare(&one, &circuit([("d", 2), ("c", 1)], [0, 1, 2])), Verdict::Different);
    let renamed = compare(&one, &circuit([("e", 1), ("f", 2)], [0, 1, 2]));
    assert_exact(&renamed, Verdict::Equal);
    assert!(renamed.notes.iter().any(|n| n.contains("other names")), "{:?}", renamed.notes);
    // A bit that is 0 is one that is not written; a constant 1 is not.
    let with = |value| {
        let mut c = Circuit::new(1);
        c.add_register("c", 2).unwrap();
        c.h(0).unwrap().assign(1, value).unwrap().measure(0, 0).unwrap();
        c
    };
    assert_exact(&compare(&read(build(1, |c, _| c.h(0)), &[0]), &with(false)), Verdict::Equal);
    let report = compare(&read(build(1, |c, _| c.h(0)), &[0]), &with(true));
    assert_exact(&report, Verdict::Different);
    assert!(
        report.reason.as_ref().unwrap().contains("c[1] is 1 with probability 0.000000"),
        "{report:?}"
    );
}

/// A declaration without use costs nothing.
#[test]
fn readout_into_a_register_of_two_billion_bits() {
    let circuit = |bits: [usize; 2]| {
        let mut c = build(2, |c, [a, ..]| c.ry(0, a)?.h(1));
        c.add_register("c", 1 << 31).unwrap();
        c.measure(0, bits[0]).unwrap().measure(1, bits[1]).unwrap();
        c
    };
    let last = (1 << 31) - 1;
    assert_exact(&compare(&circuit([5, last]), &circuit([5, last])), Verdict::Equal);
    let report = compare(&circuit([5, last]), &circuit([last, 5]));
    assert_exact(&report, Verdict::Different);
    assert!(report.reason.as_ref().unwrap().contains("c[5] is 1"), "{report:?}");
}

#[test]
fn correlations_alone_are_a_difference() {
    let bell = read(build(2, |c, _| c.h(0)?.cx(0, 1)), &[0, 1]);
    let settings = EquivalenceSettings::default().with_on(On::State);
    let coins = read(build(2, |c, _| c.h(0)?.h(1)), &[0, 1]);
    let report = equivalent(&bell, &coins, &settings, &Simulator::new()).unwrap();
    assert_exact(&report, Verdict::Different);
    assert!((report.witness.unwrap().distance - 0.5).abs() < 1e-12);
    assert!(report.reason.unwrap().contains("c[1], c[0] are"), "all bits alone are alike");
}

#[test]
fn one_readout_alone_is_a_note() {
    let gates = build(2, |c, _| c.h(0)?.cx(0, 1));
    let report = compare(&gates, &read(gates.clone(), &[1, 0]));
    assert_exact(&report, Verdict::Equal);
    assert_eq!(report.notes, ["only the second circuit measures: the gates alone are compared"]);
    let settings = EquivalenceSettings::default().with_ignore_measurements(true);
    let swapped = (read(gates.clone(), &[0, 1]), read(gates, &[1, 0]));
    let report = equivalent(&swapped.0, &swapped.1, &settings, &Simulator::new()).unwrap();
    assert_exact(&report, Verdict::Equal);
    assert_eq!(report.notes.len(), 2);
    assert!(
        report.notes[0].contains("the first circuit are ignored, of qubit 0, 1"),
        "{:?}",
        report.notes
    );
}

/// The probabilities of all values of the bits, from states: no code of the comparison.
fn distribution(circuit: &Circuit, from: &[usize], inputs: &[f64], before: &Circuit) -> Vec<f64> {
    let mut whole = before.clone();
    circuit.inputs().for_each(|name| drop(whole.param(name)));
    whole.append(circuit, &(0..circuit.n_qubits()).collect::<Vec<_>>()).unwrap();
    let state = Simulator::new().run::<f64>(&whole, inputs).unwrap();
    let mut p = vec![0.0; 1 << from.len()];
    for (index, amplitude) in state.amplitudes().iter().enumerate() {
        let outcome = from.iter().enumerate().fold(0, |o, (bit, q)| o | (index >> q & 1) << bit);
        p[outcome] += amplitude.norm_sqr();
    }
    p
}

/// Random circuits with random readout, and others that do the same to it or nearly: the verdict is
/// that of distributions at random inputs and parameters.
#[test]
fn readout_of_random_circuits() {
    let mut verdicts = [0; 2];
    for seed in 0..120u64 {
        let mut rng = Rng::new(seed);
        let n = 2 + rng.below(3);
        let mut a = build(n, |c, _| Ok(c));
        // A rounded angle, so that numbers decide.
        let rounded = seed % 3 == 0;
        if rounded {
            a.rx(0, 0.123_456_789_012_345_67).unwrap();
        }
        let mut order: Vec<usize> = (0..n).collect();
        let gate = |c: &mut Circuit, rng: &mut Rng, order: &[usize]| {
            let angle = [Angle::pi(1, 4), c.param("a"), c.param("b") / 2][rng.below(3)].clone();
            let (p, q) = (rng.below(n), 1 + rng.below(n - 1));
            let (p, q) = (order[p], order[(p + q) % n]);
            match rng.below(6) {
                0 => c.h(p).unwrap(),
                1 => c.cx(p, q).unwrap(),
                2 => c.ry(p, angle).unwrap(),
                3 => c.rz(p, angle).unwrap(),
                4 => c.cp(p, q, angle).unwrap(),
                _ => c.rx(p, angle).unwrap(),
            };
        };
        // The same gates in both, the second with swaps between them that its readout follows.
        let mut b = a.clone();
        for _ in 0..12 {
            let mut same = rng.clone();
            gate(&mut a, &mut rng, &(0..n).collect::<Vec<_>>());
            gate(&mut b, &mut same, &order);
            if rng.below(3) == 0 {
                let (p, q) = (rng.below(n), 1 + rng.below(n - 1));
                let (p, q) = (p, (p + q) % n);
                b.swap(order[p], order[q]).unwrap();
                order.swap(p, q);
            }
        }
        // What readout does not see, or may see.
        match rng.below(4) {
            0 => drop(b.rz(order[0], 0.7).unwrap()),
            1 => drop(b.cz(order[0], order[1]).unwrap()),
            2 => drop(b.rx(order[n - 1], 0.7).unwrap()),
            _ => {}
        }
        let measured = 1 + rng.below(n);
        let (mut from, mut other): (Vec<usize>, Vec<usize>) =
            (0..measured).map(|q| (q, order[q])).unzip();
        if rng.below(4) == 0 {
            let swapped = rng.below(measured);
            other.swap(0, swapped);
        }
        if rng.below(4) == 0 {
            (from[measured - 1], other[measured - 1]) = (n - 1, order[n - 1]);
        }
        let on = if rng.below(2) == 0 { On::State } else { On::Unitary { ancillas: 0 } };
        let mut apart = 0.0f64;
        for _ in 0..4 {
            let inputs: Vec<f64> = (0..3).map(|_| 6.0 * rng.unit() - 3.0).collect();
            let mut before = Circuit::new(n);
            if on != On::State {
                before.unitary(rng.unitary(n), &(0..n).collect::<Vec<_>>(), &[]).unwrap();
            }
            let (p, q) = (
                distribution(&a, &from, &inputs, &before),
                distribution(&b, &other, &inputs, &before),
            );
            apart = p.iter().zip(&q).map(|(p, q)| (p - q).abs()).fold(apart, f64::max);
        }
        let expected = if apart > 1e-7 { Verdict::Different } else { Verdict::Equal };
        let single = seed % 6 == 3;
        let settings = EquivalenceSettings::default()
            .with_on(on)
            .with_single(single)
            .with_exact_ring(seed % 2 == 0);
        let report =
            equivalent(&read(a, &from), &read(b, &other), &settings, &Simulator::new()).unwrap();
        let same = report.verdict == expected
            || (expected == Verdict::Equal && report.verdict == Verdict::EqualUpToPhase)
            // In single precision rounding hides what is below it.
            || (single && report.verdict == Verdict::Unknown && apart < 1e-3);
        assert!(!rounded || report.method == Means::Numeric, "seed {seed}: {report:#?}");
        assert!(same, "seed {seed}: {apart} {report:#?}");
        verdicts[usize::from(expected == Verdict::Equal)] += 1;
    }
    assert!(verdicts.iter().all(|n| *n > 20), "{verdicts:?}");
}
