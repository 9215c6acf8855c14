//! Printed circuits: definitions and syntheses equal what they represent, texts are as they should
//! be.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{
        Circuit, CircuitError, Condition, Control, Instruction, Operation, PauliRotation, Relation,
    },
    gate::{Gate, GateKind},
    matrix::Matrix,
    observable::{Pauli, PauliString},
    param::{Angle, ElementaryFunction, ParamExpr, Q, Step, Values},
    print::{MAX_UNITARY_QUBITS, PrintError, definition, synthesize, to_qasm2, to_qasm3},
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use support::random::Rng;

type C = Complex<f64>;

/// Definitions hold exactly but for rounding.
const DEFINITION: f64 = 1e-14;

/// Accuracy that the syntheses promise.
const SYNTHESIS: f64 = 1e-10;

fn matrix(circuit: &Circuit) -> Matrix<C> {
    Simulator::new().matrix(circuit, &Values::<f64>(&[])).unwrap()
}

fn distance(a: &Matrix<C>, b: &Matrix<C>) -> f64 {
    assert_eq!(a.n_qubits(), b.n_qubits());
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
}

fn angle(rng: &mut Rng) -> f64 {
    4.0 * rng.signed()
}

/// k different qubits below n.
fn different_qubits(rng: &mut Rng, n: usize, k: usize) -> Vec<usize> {
    let mut all = rng.permutation(n);
    all.truncate(k);
    all
}

fn read(text: &str) -> Circuit {
    parse(text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

/// The matrix of some gates h, t, s, x, multiplied in floats: often diagonal or antidiagonal up to
/// rounding.
fn noisy_product(gates: &[usize]) -> Matrix<C> {
    let kinds = [GateKind::H, GateKind::T, GateKind::S, GateKind::X];
    gates.iter().fold(Matrix::identity(1), |product, &k| {
        &Gate::new(kinds[k], []).unwrap().matrix::<C>(&Values::<f64>(&[])).unwrap() * &product
    })
}

#[test]
fn products_that_are_diagonal_up_to_rounding_keep_their_phases() {
    let mut rng = Rng::new(5);
    // h s t t h s h h: -Y up to a phase.
    let mut products =
        vec![vec![0, 2, 1, 1, 0, 2, 0, 0], vec![0, 1, 1, 1, 1, 0, 1], vec![0, 1, 0, 0, 2, 0]];
    products.extend((0..60).map(|_| {
        let half: Vec<usize> = (0..rng.below(12)).map(|_| rng.below(4)).collect();
        // Gates, then what undoes them: t is undone by seven of them, s by three.
        let undo = half.iter().rev().flat_map(|&k| std::iter::repeat_n(k, [1, 7, 3, 1][k]));
        let middle = (0..rng.below(4)).map(|_| rng.below(4)).collect::<Vec<_>>();
        half.iter().copied().chain(middle).chain(undo).collect()
    }));
    let mut noisy = 0;
    for product in products {
        let u = noisy_product(&product);
        noisy += usize::from(u.entries().iter().any(|z| (1e-18..1e-13).contains(&z.norm())));
        for controls in [&[][..], &[(1, true)]] {
            let mut circuit = Circuit::new(2);
            circuit.unitary(u.clone(), &[0], controls).unwrap();
            let expected = matrix(&circuit);
            let three = read(&to_qasm3(&circuit).unwrap());
            assert!(distance(&matrix(&three), &expected) < SYNTHESIS, "{product:?} {controls:?}");
            let two = matrix(&read(&to_qasm2(&circuit).unwrap()));
            let phase =
                (0..4).map(|i| (0..4).map(|j| two[(i, j)].conj() * expected[(i, j)]).sum::<C>());
            let phase: C = phase.sum::<C>() / 4.0;
            let phase = if controls.is_empty() { phase } else { C::new(1.0, 0.0) };
            let turned = Matrix::from_fn(2, |i, j| two[(i, j)] * phase);
            assert!(distance(&turned, &expected) < SYNTHESIS, "{product:?} {controls:?}");
        }
        assert!(distance(&matrix(&synthesize(&u).unwrap()), &u) < SYNTHESIS, "{product:?}");
    }
    assert!(noisy > 0);
}

#[test]
fn general_gates_keep_their_phases_at_large_angles() {
    for kind in [GateKind::U, GateKind::U2, GateKind::U3, GateKind::UG] {
        for large in 0..kind.param_names().len() {
            let angles = (0..kind.param_names().len()).map(|k| match k == large {
                true => 8_280_345_270_236_060.0,
                false => 0.3 + 1.7 * k as f64,
            });
            let gate = Gate::new(kind, angles.map(Angle::rad)).unwrap();
            for controls in [&[(1, true)][..], &[(1, true), (2, false)]] {
                let mut circuit = Circuit::new(3);
                circuit.gate(gate.clone(), &[0], controls).unwrap();
                let two = matrix(&read(&to_qasm2(&circuit).unwrap()));
                assert!(distance(&two, &matrix(&circuit)) < SYNTHESIS, "{gate} {controls:?}");
            }
        }
    }
}

/// A unitary without structure.
fn random_unitary(n_qubits: usize, seed: u64) -> Matrix<C> {
    let mut rng = Rng::new(seed);
    let mut c = Circuit::new(n_qubits);
    for _ in 0..4 * n_qubits {
        for q in 0..n_qubits {
            c.ug(q, angle(&mut rng), angle(&mut rng), angle(&mut rng), angle(&mut rng)).unwrap();
        }
        if n_qubits > 1 {
            let pair = different_qubits(&mut rng, n_qubits, 2);
            c.fsim(pair[0], pair[1], angle(&mut rng), angle(&mut rng)).unwrap();
        }
    }
    matrix(&c)
}

fn angles(kind: GateKind) -> Vec<Angle> {
    (0..kind.param_names().len()).map(|i| Angle::rad(0.37 + 0.83 * i as f64)).collect()
}

#[test]
fn definitions_equal_their_gates_with_the_phase() {
    let mut defined = 0;
    for &kind in GateKind::ALL {
        let Some(body) = definition(kind).unwrap() else { continue };
        defined += 1;
        let values: Vec<(&str, Angle)> =
            kind.param_names().iter().copied().zip(angles(kind)).collect();
        let mut plain = Circuit::new(kind.n_qubits());
        let all: Vec<usize> = (0..kind.n_qubits()).collect();
        plain.gate(Gate::new(kind, angles(kind)).unwrap(), &all, &[]).unwrap();
        let off = distance(&matrix(&body.bind(&values).unwrap()), &matrix(&plain));
        assert!(off < DEFINITION, "{} is off by {off:e}", kind.name());
    }
    assert_eq!(defined, 13);
}

#[test]
fn syntheses_equal_their_matrices_with_the_phase() {
    for n_qubits in 0..=6 {
        for seed in 0..if n_qubits > 4 { 2 } else { 20 } {
            let u = random_unitary(n_qubits, seed);
            let circuit = synthesize(&u).unwrap();
            let off = distance(&matrix(&circuit), &u);
            assert!(off < SYNTHESIS, "{n_qubits} qubits, seed {seed}: off by {off:e}");
            let cx = circuit.count_operations().get("cx").copied().unwrap_or(0);
            assert!(
                cx <= 3 * 4usize.pow(u32::try_from(n_qubits).unwrap()) / 4,
                "{cx} cx on {n_qubits} qubits"
            );
        }
    }
}

/// Hard cases of decompositions: repeated eigenvalues and singular values, zero blocks, and sines
/// that are tiny but not 0.
#[test]
fn syntheses_hold_on_matrices_with_structure() {
    let mut cases: Vec<(String, Matrix<C>)> = Vec::new();
    for n in 2..=5 {
        let dim = 1 << n;
        cases.push((format!("identity {n}"), Matrix::identity(n)));
        let mut rng = Rng::new(n as u64);
        let order = different_qubits(&mut rng, dim, dim);
        let permutation = |order: &[usize]| {
            Matrix::from_fn(n, |i, j| C::from(if order[j] == i { 1.0 } else { 0.0 }))
        };
        cases.push((format!("permutation {n}"), permutation(&order)));
        let shift: Vec<usize> = (0..dim).map(|j| (j + 1) % dim).collect();
        cases.push((format!("shift {n}"), permutation(&shift)));
        let reverse: Vec<usize> = (0..dim).rev().collect();
        cases.push((format!("reversal {n}"), permutation(&reverse)));
        let tau = std::f64::consts::TAU;
        let fourier = Matrix::from_fn(n, |i, j| {
            C::from_polar((dim as f64).sqrt().recip(), tau * (i * j % dim) as f64 / dim as f64)
        });
        cases.push((format!("Fourier {n}"), fourier));
        let diagonal = |k: usize| C::cis(if k.is_multiple_of(3) { 1.0 } else { -0.5 });
        cases.push((
            format!("diagonal {n}"),
            Matrix::from_fn(n, |i, j| if i == j { diagonal(i) } else { C::from(0.0) }),
        ));
        cases.push((
            format!("reflection {n}"),
            Matrix::from_fn(n, |i, j| C::from(f64::from(u8::from(i == j)) - 2.0 / dim as f64)),
        ));
        for exponent in [3, 5, 7, 8, 9, 11, 13, 15, 17] {
            // Close to block diagonal, in every direction of the small sines.
            let small = 10f64.powi(-exponent);
            let mut c = Circuit::new(n);
            for q in 0..n {
                c.h(q).unwrap().rz(q, 0.3).unwrap();
            }
            c.cx(0, 1).unwrap().ry(n - 1, small).unwrap().rx(n - 1, small / 3.0).unwrap();
            c.crx(0, n - 1, small / 7.0).unwrap().cz(0, n - 1).unwrap().ry(0, small).unwrap();
            cases.push((format!("small {exponent} {n}"), matrix(&c)));
            c.x(n - 1).unwrap();
            cases.push((format!("small cosine {exponent} {n}"), matrix(&c)));
        }
        for high in 1..n {
            let product = random_unitary(high, 5).kron(&random_unitary(n - high, 6));
            cases.push((format!("product {high} {n}"), product));
            cases.push((
                format!("controlled {high} {n}"),
                random_unitary(n - high, 7).controlled(high),
            ));
        }
    }
    // An entry in each row and column, and noise whose squares are normal numbers, subnormal ones,
    // or zero.
    let mut rng = Rng::new(8);
    for n in 2..=4 {
        for exponent in [17, 60, 120, 150, 155, 158, 160, 162, 200, 300] {
            for _ in 0..20 {
                let place = rng.permutation(1 << n);
                let units: Vec<C> =
                    (0..1 << n).map(|_| [C::ONE, C::I, -C::ONE, -C::I][rng.below(4)]).collect();
                let mut noise = || {
                    C::new(rng.signed(), rng.signed())
                        * 10f64.powi(-exponent)
                        * [0.0, 1.0][rng.below(2)]
                };
                let u = Matrix::from_fn(n, |i, j| if place[j] == i { units[j] } else { noise() });
                cases.push((format!("noise of 1e-{exponent} {n}"), u));
            }
        }
    }
    for (name, u) in cases {
        let off = distance(&matrix(&synthesize(&u).unwrap()), &u);
        assert!(off < SYNTHESIS, "{name}: off by {off:e}");
    }
}

/// Reads a printed circuit back.
fn parsed(text: &str) -> Circuit {
    match parse(text, &QasmOptions::default()) {
        Ok(parsed) => {
            assert!(parsed.warnings.is_empty(), "{:?}\n{text}", parsed.warnings);
            parsed.circuit
        }
        Err(failed) => panic!("{failed}\n{text}"),
    }
}

/// Printed and read back the unitary is the same, in OpenQASM 2 up to a phase.
fn check_both(name: &str, circuit: &Circuit) {
    let expected = matrix(circuit);
    let text = to_qasm3(circuit).unwrap();
    let off = distance(&matrix(&parsed(&text)), &expected);
    assert!(off < SYNTHESIS, "{name} in OpenQASM 3 is off by {off:e}\n{text}");
    let text = to_qasm2(circuit).unwrap();
    let found = matrix(&parsed(&text));
    let overlap: C =
        found.entries().iter().zip(expected.entries()).map(|(x, y)| x.conj() * y).sum();
    let aligned = found.map(|x| x * (overlap / overlap.norm()));
    let off = distance(&aligned, &expected);
    assert!(off < SYNTHESIS, "{name} in OpenQASM 2 is off by {off:e}\n{text}");
}

/// The values of the controls in the tests, from none to many.
const CONTROLS: [&[bool]; 9] = [
    &[],
    &[true],
    &[false],
    &[true, true],
    &[true, false],
    &[true, true, true],
    &[false, true, true, false],
    &[true, true, true, true, true],
    &[true, true, false, true, true, true],
];

/// One gate of the table under controls.
fn controlled(kind: GateKind, values: &[bool]) -> Circuit {
    let k = kind.n_qubits();
    let mut c = Circuit::new((k + values.len()).max(1));
    // Controls among and around the targets.
    let qubits: Vec<usize> =
        (0..k + values.len()).map(|i| (3 * i + 1) % (k + values.len())).collect();
    let distinct = qubits.iter().collect::<std::collections::BTreeSet<_>>().len() == qubits.len();
    let qubits = if distinct { qubits } else { (0..k + values.len()).collect() };
    let controls: Vec<(usize, bool)> =
        qubits[k..].iter().copied().zip(values.iter().copied()).collect();
    c.gate(Gate::new(kind, angles(kind)).unwrap(), &qubits[..k], &controls).unwrap();
    c
}

#[test]
fn every_gate_under_every_control_reads_back_equal() {
    for &kind in GateKind::ALL {
        for values in CONTROLS.iter().filter(|v| v.len() + kind.n_qubits() <= 7) {
            check_both(&format!("{} under {values:?}", kind.name()), &controlled(kind, values));
        }
    }
}

/// Readers do not agree on the phase of these gates, which controls show.
#[test]
fn gates_with_a_disputed_phase_are_not_controlled_by_name() {
    for kind in [GateKind::U, GateKind::U2, GateKind::U3] {
        for values in CONTROLS.iter().filter(|values| !values.is_empty()) {
            let text = to_qasm3(&controlled(kind, values)).unwrap();
            for name in ["@ U(", "@ u2(", "@ u3("] {
                assert!(!text.contains(name), "{text}");
            }
            assert_eq!(text.contains("\ncu("), **values == [true], "{text}");
        }
    }
    let mut one = Circuit::new(2);
    one.gate(Gate::new(GateKind::U, [0.3, 0.2, 0.1].map(Angle::rad)).unwrap(), &[1], &[(0, true)])
        .unwrap();
    assert!(to_qasm3(&one).unwrap().ends_with("cu(0.3, 0.2, 0.1, 0.15) q[0], q[1];\n"));
    // A phase that loses digits as one number is not written.
    for (phi, by_name) in [(0.2, false), (1e8, true)] {
        let mut far = Circuit::new(2);
        let gate = Gate::new(GateKind::U3, [0.3, phi, 0.123_456_789].map(Angle::rad)).unwrap();
        far.gate(gate, &[1], &[(0, true)]).unwrap();
        assert_eq!(to_qasm3(&far).unwrap().contains("ctrl @ u3("), by_name, "{phi}");
        check_both("u3 of a large angle", &far);
    }
}

#[test]
fn gates_of_the_standard_files_read_back_as_themselves() {
    for &kind in GateKind::ALL {
        // What `stdgates.inc` has, or `inv @` of it; other gates come back as their definitions.
        if definition(kind).unwrap().is_some()
            || matches!(kind, GateKind::ISWAPDG | GateKind::DCXDG)
        {
            continue;
        }
        for values in CONTROLS {
            if kind == GateKind::GPHASE && !values.is_empty() {
                continue; // read back as P on a control: the same, by another name
            }
            if matches!(kind, GateKind::U | GateKind::U2 | GateKind::U3) && !values.is_empty() {
                continue; // read back with the phase as a parameter
            }
            let circuit = controlled(kind, values);
            let text = to_qasm3(&circuit).unwrap();
            assert_eq!(parsed(&text), circuit, "{text}");
        }
    }
    let mut named = Circuit::new(5);
    named
        .x(0)
        .unwrap()
        .sxdg(1)
        .unwrap()
        .p(2, Angle::pi(-3, 8))
        .unwrap()
        .u3(0, 0.1, 0.2, 0.3)
        .unwrap();
    named
        .cx(0, 3)
        .unwrap()
        .ch(1, 0)
        .unwrap()
        .cp(3, 4, 0.25)
        .unwrap()
        .cu(0, 1, 0.1, 0.2, 0.3, 0.4)
        .unwrap();
    named
        .swap(0, 4)
        .unwrap()
        .rxx(0, 1, 0.5)
        .unwrap()
        .rzz(2, 1, 1e-9)
        .unwrap()
        .rccx(0, 1, 2)
        .unwrap();
    named.ccx(0, 1, 2).unwrap().cswap(3, 1, 2).unwrap().c3x(0, 1, 2, 3).unwrap();
    named.c4x(4, 3, 2, 1, 0).unwrap().c3sx(0, 1, 2, 3).unwrap().csx(1, 4).unwrap();
    named.barrier(&[0, 1, 2, 3, 4]).unwrap().barrier(&[1, 3]).unwrap().measure_all().unwrap();
    let text = to_qasm2(&named).unwrap();
    assert_eq!(parsed(&text), named, "{text}");
}

/// Appends a rotation about a Pauli string under controls.
fn push_rotation(c: &mut Circuit, rng: &mut Rng) {
    let n = c.n_qubits();
    let k = rng.below(n + 1);
    let extra = rng.below(n - k + 1).min(2);
    let qubits = different_qubits(rng, n, k + extra);
    let letters: Vec<Pauli> =
        (0..k).map(|_| [Pauli::X, Pauli::Y, Pauli::Z][rng.below(3)]).collect();
    let rotation = PauliRotation::new(letters, Angle::rad(angle(rng)));
    c.push(Instruction {
        operation: Operation::PauliRotation(Box::new(rotation)),
        targets: qubits[..k].iter().map(|&q| q as u32).collect(),
        controls: qubits[k..]
            .iter()
            .map(|&q| Control { qubit: q as u32, value: rng.below(3) > 0 })
            .collect(),
        condition: None,
    })
    .unwrap();
}

#[test]
fn rotations_about_strings_read_back_under_conditions_and_in_loops() {
    let string = PauliString::new([(0, Pauli::Y), (2, Pauli::X), (1, Pauli::Z)]).unwrap();
    let mut c = Circuit::new(4);
    let theta = c.param("theta");
    c.add_register("m", 2).unwrap().h(3).unwrap().measure(3, 0).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    c.when(one.clone(), |c| c.pauli_rotation(&string, &theta * 2)).unwrap();
    c.under(3, false, |c| c.pauli_rotation(&PauliString::default(), &theta)).unwrap();
    c.while_loop(one, |c| c.h(3)?.measure(3, 0)?.pauli_rotation(&string, 0.3)).unwrap();
    c.pauli_rotation(&string, &theta).unwrap();
    let (text, decomposed) = (to_qasm3(&c).unwrap(), c.decomposed());
    assert_eq!(to_qasm3(&decomposed).unwrap(), text);
    let again = parsed(&text);
    assert_eq!(again.loops(), decomposed.loops());
    for seed in 0..4 {
        let [a, b, d] = [&c, &again, &decomposed].map(|c| {
            let bound = BoundCircuit::<C>::new(c, &Values(&[0.7])).unwrap();
            let shots = Simulator::new()
                .trajectories(&bound, 6, seed, |t| Ok(t.state.amplitudes().to_vec()));
            shots.unwrap()
        });
        for other in [b, d] {
            assert_eq!(a.len(), other.len());
            for ((shots, x), (same, y)) in a.iter().zip(&other) {
                assert_eq!(shots, same);
                assert!(x.iter().zip(y).all(|(x, y)| (x - y).norm() < SYNTHESIS), "{text}");
            }
        }
    }
}

#[test]
fn random_circuits_with_unitaries_read_back_equal() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let n = 3 + rng.below(3);
        let mut c = Circuit::new(n);
        for _ in 0..8 {
            let kind = GateKind::ALL[rng.below(GateKind::ALL.len())];
            let k = kind.n_qubits();
            let extra = rng.below(n - k + 1);
            let qubits = different_qubits(&mut rng, n, k + extra);
            let controls: Vec<(usize, bool)> =
                qubits[k..].iter().map(|&q| (q, rng.below(3) > 0)).collect();
            c.gate(Gate::new(kind, angles(kind)).unwrap(), &qubits[..k], &controls).unwrap();
            let k = rng.below(4);
            let extra = rng.below(n - k + 1).min(2);
            let qubits = different_qubits(&mut rng, n, k + extra);
            let controls: Vec<(usize, bool)> =
                qubits[k..].iter().map(|&q| (q, rng.below(3) > 0)).collect();
            c.unitary(random_unitary(k, seed), &qubits[..k], &controls).unwrap();
            push_rotation(&mut c, &mut rng);
            push_rotation(&mut c, &mut rng);
        }
        check_both(&format!("circuit {seed}"), &c);
    }
}

#[test]
fn many_controls_cost_a_quadratic_number_of_gates() {
    let count = |n: usize| {
        let mut c = Circuit::new(n + 1);
        c.mcx(&(0..n).collect::<Vec<_>>(), n).unwrap();
        to_qasm2(&c).unwrap().lines().count()
    };
    let (some, twice) = (count(50), count(100));
    assert!(some < 30_000 && twice < 5 * some, "{some} lines for 50 controls, {twice} for 100");
}

#[test]
fn parameters_and_registers_read_back_as_they_were() {
    let mut c = Circuit::new(2);
    let (theta, w1, w0) = (c.param("theta"), c.param("w[1]"), c.param("w[0]"));
    c.rx(0, theta.clone() * Q::new(-3, 4) + Angle::pi(3, 8)).unwrap();
    c.crz(0, 1, w1 + Angle::rad(0.3)).unwrap().add_register("c", 2).unwrap();
    c.add_register("d", 1)
        .unwrap()
        .ry(1, w0.clone())
        .unwrap()
        .measure(0, 2)
        .unwrap()
        .measure(1, 0)
        .unwrap();
    let text = to_qasm3(&c).unwrap();
    assert_eq!(
        text,
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float[64] theta;\ninput array[float[64], 2] w;\n\
         qubit[2] q;\nbit[2] c;\nbit[1] d;\nrx(3*pi/8 - 3*theta/4) q[0];\ncrz(w[1] + 0.3) q[0], q[1];\n\
         ry(w[0]) q[1];\nd[0] = measure q[0];\nc[0] = measure q[1];\n"
    );
    let back = parsed(&text);
    assert_eq!(back.registers(), c.registers());
    assert_eq!(
        back.inputs().collect::<Vec<_>>(),
        ["theta", "w[0]", "w[1]"],
        "an array has its order"
    );
    assert_eq!(back.to_string(), c.to_string());

    let error = to_qasm2(&c).unwrap_err();
    assert_eq!(
        error,
        PrintError::OpenParameters { names: ["theta", "w[1]", "w[0]"].map(String::from).into() }
    );
    assert_eq!(
        error.to_string(),
        "OpenQASM 2 has no parameters: give a value to theta, w[1], w[0]"
    );
    let values = [("theta", Angle::pi(1, 2)), ("w[0]", Angle::zero()), ("w[1]", Angle::rad(-0.3))];
    let text = to_qasm2(&c.bind(&values).unwrap()).unwrap();
    assert!(
        text.ends_with(
            "rx(0) q[0];\ncrz(0) q[0], q[1];\nry(0) q[1];\nmeasure q[0] -> d[0];\nmeasure q[1] -> c[0];\n"
        ),
        "{text}"
    );
}

#[test]
fn computed_parameters_keep_their_values() {
    let mut c = Circuit::new(1);
    let (a, b) = (c.param("a"), c.param("b"));
    let product = ParamExpr::from(a.clone() * Q::new(1, 2)).binary(Step::Mul, b.clone().into());
    let computed = c.expression(product.call(ElementaryFunction::Sin));
    let power = ParamExpr::from(computed.clone() + a).binary(Step::Pow, Angle::rad(2.0).into());
    let quotient = c.expression(ParamExpr::from(Angle::rad(2.0)).binary(Step::Div, power));
    c.rx(0, computed.clone() * Q::new(2, 3) - b).unwrap().rz(0, quotient - computed).unwrap();
    let text = to_qasm3(&c).unwrap();
    assert!(text.contains("rx(-b + 2*sin(a/2*b)/3)"), "{text}");
    let back = parsed(&text);
    let inputs = [0.7, -1.3];
    let value = |c: &Circuit| {
        let values = c.param_values(&inputs).unwrap();
        Simulator::new().matrix::<C>(c, &Values(&values)).unwrap()
    };
    assert!(distance(&value(&c), &value(&back)) < DEFINITION, "{text}");
}

#[test]
fn names_that_a_language_lacks_are_changed() {
    let mut c = Circuit::new(1);
    let (a, b, d) = (c.param("pi"), c.param("w[2]"), c.param("q"));
    c.rx(0, a + b + d).unwrap();
    for name in ["x", "my bits", "if", "C"] {
        c.add_register(name, 1).unwrap();
    }
    c.add_register("none", 0).unwrap();
    c.measure(0, 0).unwrap();
    let text = to_qasm3(&c).unwrap();
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "input float[64] pi_1;",
            "input float[64] w_2;",
            "input float[64] q;",
            "qubit q_1;",
            "bit[1] x_1;",
            "bit[1] my_bits;",
            "bit[1] if_1;",
            "bit[1] C;",
            "rx(pi_1 + w_2 + q) q_1;",
            "x_1[0] = measure q_1;"
        ]
    );
    assert_eq!(parsed(&text).registers().len(), 4);
    let zero = |name| (name, Angle::zero());
    let text = to_qasm2(&c.bind(&[zero("pi"), zero("w[2]"), zero("q")]).unwrap()).unwrap();
    assert!(text.contains("creg r_C[1];"), "{text}");
}

/// The gates that a text defines for itself have lower priority.
#[test]
fn inputs_keep_their_names_beside_gates_that_are_defined() {
    let mut c = Circuit::new(2);
    let angles = ["r", "rzz", "iswap", "ug"].map(|name| c.param(name));
    for angle in angles {
        c.rzz(0, 1, angle).unwrap();
    }
    let text = to_qasm3(&c).unwrap();
    for line in [
        "input float[64] r;",
        "input float[64] rzz;",
        "input float[64] iswap;",
        "rzz_1(ug) q[0], q[1];",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let back = parsed(&text);
    assert!(back.inputs().eq(c.inputs()), "{text}");
    let value =
        |c: &Circuit| Simulator::new().matrix::<C>(c, &Values(&[0.3, -0.7, 1.1, 0.4])).unwrap();
    assert!(distance(&value(&c), &value(&back)) < DEFINITION, "{text}");
}

#[test]
fn words_of_the_languages_are_no_names() {
    let words = "OPENQASM include gate if else end return for while in input const qreg qubit creg bit bool int \
        uint float angle complex array duration stretch gphase inv pow ctrl negctrl delay reset measure barrier \
        opaque true false pi tau euler arccos sin sqrt log sizeof U CX x h cx ccx rzz iswap unitary q fsim im switch";
    let mut c = Circuit::new(2);
    for word in words.split_whitespace() {
        c.add_register(word, 1).unwrap();
    }
    c.iswap(0, 1).unwrap().rzz(0, 1, 0.3).unwrap().fsim(1, 0, 0.1, 0.2).unwrap();
    c.unitary(random_unitary(2, 1), &[0, 1], &[]).unwrap();
    let expected = matrix(&c);
    assert!(distance(&matrix(&parsed(&to_qasm3(&c).unwrap())), &expected) < SYNTHESIS);
    assert_eq!(parsed(&to_qasm2(&c).unwrap()).registers().len(), c.registers().len());
    // As parameters.
    let mut c = Circuit::new(1);
    for word in words.split_whitespace() {
        let angle = c.param(word);
        c.rx(0, angle).unwrap();
    }
    assert_eq!(parsed(&to_qasm3(&c).unwrap()).inputs().count(), c.inputs().count());
}

/// Every form of condition in OpenQASM 3.
#[test]
fn conditions_are_written_in_full() {
    let mut c = Circuit::new(1);
    c.add_register("c", 3).unwrap().add_register("d", 1).unwrap();
    let compare = |bits: &[u32], relation, value: &[bool]| Condition::Compare {
        bits: bits.into(),
        relation,
        value: value.into(),
    };
    let bit = |bit, value| Condition::Bit { bit, value };
    let cases = [
        (bit(0, true), "c[0]"),
        (bit(3, false), "!d[0]"),
        (compare(&[0, 1, 2], Relation::GreaterEqual, &[true, false, true]), "c >= 5"),
        (compare(&[3], Relation::NotEqual, &[true]), "d != 1"),
        (compare(&[0, 1], Relation::NotEqual, &[true]), "!c[0] || c[1]"),
        (compare(&[0, 2], Relation::Less, &[false, true]), "!c[2]"),
        (compare(&[0, 2], Relation::Greater, &[true, false]), "c[2]"),
        (
            compare(&[3, 2, 1, 0], Relation::LessEqual, &[true, false, true]),
            "!c[0] && (!c[1] || !c[2])",
        ),
        (compare(&[0], Relation::Less, &[false, true]), "true"),
        (Condition::Not(Box::new(bit(0, true).and(bit(1, false)))), "!(c[0] && !c[1])"),
        (
            Condition::Any(vec![bit(0, true).and(bit(1, true)), bit(3, true)]),
            "(c[0] && c[1]) || d[0]",
        ),
        (Condition::All(vec![]), "true"),
    ];
    for (condition, expected) in cases {
        let mut c = c.clone();
        c.when(condition, |c| c.x(0)).unwrap();
        let text = to_qasm3(&c).unwrap();
        assert!(text.ends_with(&format!("bit[1] d;\nif ({expected}) {{ x q; }}\n")), "{text}");
    }
    // Conditions that all have to hold are nested.
    let mut equal = c.clone();
    equal.when(compare(&[2, 0], Relation::Equal, &[true]), |c| c.x(0)).unwrap();
    assert!(to_qasm3(&equal).unwrap().ends_with("\nif (c[2]) { if (!c[0]) { x q; } }\n"));
    // No two bits are 5.
    let mut never = c.clone();
    never.when(compare(&[2, 0], Relation::Equal, &[true, false, true]), |c| c.x(0)).unwrap();
    assert!(to_qasm3(&never).unwrap().ends_with("\nif (false) { x q; }\n"));
    let both = bit(0, true).and(bit(3, false));
    let mut nested = c.clone();
    nested.when(both.clone(), |c| c.x(0)).unwrap().h(0).unwrap();
    nested.when(both, |c| c.z(0)?.assign(0, false)).unwrap();
    let text = to_qasm3(&nested).unwrap();
    let ends = "bit[1] d;\nif (c[0]) { if (!d[0]) { x q; } }\nh q;\nif (c[0]) {\n    if (!d[0]) {\n        \
                z q;\n        c[0] = false;\n    }\n}\n";
    assert!(text.ends_with(ends), "{text}");
    assert_eq!(parse(&text, &QasmOptions::default()).unwrap().circuit, nested);
    // A condition is read once for a block, so what it reads must not change within.
    let mut assigned = c.clone();
    assigned.when(bit(0, true), |c| c.assign(0, false)?.x(0)).unwrap();
    let text = to_qasm3(&assigned).unwrap();
    assert!(text.ends_with("\nif (c[0]) { c[0] = false; }\nif (c[0]) { x q; }\n"), "{text}");
    let mut readout_error = c.clone();
    readout_error.when(bit(0, true), |c| c.readout_error(0, 0.25, 0.5)?.x(0)).unwrap();
    assert!(to_qasm3(&readout_error).unwrap().ends_with("}\nif (c[0]) { x q; }\n"));
    c.when(bit(0, true), |c| c.h(0)?.measure(0, 0)?.x(0)?.assign(3, true)?.reset(0)).unwrap();
    let text = to_qasm3(&c).unwrap();
    let blocks = "if (c[0]) {\n    h q;\n    c[0] = measure q;\n}\n\
                  if (c[0]) {\n    x q;\n    d[0] = true;\n    reset q;\n}\n";
    assert!(text.ends_with(blocks), "{text}");
}

#[test]
fn conditions_of_openqasm_2_fix_a_register() {
    let mut c = Circuit::new(2);
    c.add_register("c", 70).unwrap().add_register("d", 2).unwrap();
    let bit = |bit, value| Condition::Bit { bit, value };
    let mut high = vec![false; 70];
    high[69] = true;
    let all = Condition::Compare {
        bits: (0..70).collect(),
        relation: Relation::Equal,
        value: high.into(),
    };
    c.when(all, |c| c.x(0)).unwrap();
    c.when(bit(71, true).and(Condition::Not(Box::new(bit(70, true)))), |c| c.gate_under_zero())
        .unwrap();
    let text = to_qasm2(&c).unwrap();
    let end = "if (c == 590295810358705651712) x q[0];\nif (d == 2) x q[0];\nif (d == 2) ch q[0], q[1];\n\
               if (d == 2) x q[0];\n";
    assert!(text.ends_with(end), "{text}");
    for bad in [bit(0, true), Condition::Any(vec![bit(70, true), bit(71, true)])] {
        let mut c = c.clone();
        c.when(bad, |c| c.x(0)).unwrap();
        assert!(matches!(to_qasm2(&c), Err(PrintError::Condition { .. })));
    }
    c.assign(0, true).unwrap();
    assert_eq!(to_qasm2(&c), Err(PrintError::Assign { bit: 0, value: true }));
}

#[test]
fn what_has_no_text_is_refused() {
    let mut c = Circuit::new(1);
    c.rx(0, f64::INFINITY).unwrap();
    assert!(matches!(to_qasm3(&c), Err(PrintError::NotFinite { .. })));
    assert!(matches!(to_qasm2(&c), Err(PrintError::NotFinite { .. })));
    let given = MAX_UNITARY_QUBITS + 1;
    let mut c = Circuit::new(given);
    c.unitary(Matrix::identity(given), &(0..given).collect::<Vec<_>>(), &[]).unwrap();
    let error = PrintError::UnitaryTooLarge { given, limit: MAX_UNITARY_QUBITS };
    assert_eq!((to_qasm3(&c), to_qasm2(&c)), (Err(error.clone()), Err(error)));
}

trait UnderZero {
    fn gate_under_zero(&mut self) -> Result<&mut Circuit, CircuitError>;
}

impl UnderZero for Circuit {
    fn gate_under_zero(&mut self) -> Result<&mut Circuit, CircuitError> {
        self.gate(Gate::new(GateKind::H, [])?, &[1], &[(0, false)])
    }
}
