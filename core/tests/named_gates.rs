//! Gates that a file defines: their names and calls stay in what is printed, as long as their
//! instructions do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use ketgrad_core::{
    channel::{Channel, ChannelKind},
    circuit::{After, Circuit, CircuitError, Condition, GateDefinition, NoiseModel},
    param::{Angle, Values},
    print::{renamed_in_qasm2, renamed_in_qasm3, to_qasm2, to_qasm3},
    qasm::{QasmOptions, parse},
    simulate::Simulator,
};
use num_complex::Complex;
use support::random::Rng;

fn read(text: &str) -> Circuit {
    parse(text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

const FILE: &str = "OPENQASM 3.0;
include \"stdgates.inc\";
gate my_layer(t) a, b { ry(t) a; ry(-t/2) b; cx a, b; }
gate twice(t, s) a, b, c { my_layer(t) a, b; my_layer(s) b, c; U(s, t, 0.5) a; }
gate odd(t) a { rx(sin(t)) a; }
gate turns a, b { h a; ctrl @ rz(pi/8) a, b; }
input float x;
qubit[3] q;
bit[2] c;
my_layer(x) q[0], q[1];
twice(x, 0.25) q[2], q[0], q[1];
ctrl @ my_layer(x) q[2], q[1], q[0];
odd(x) q[0];
turns q[0:1], q[1:2];
c[0] = measure q[0];
if (c[0]) { my_layer(2*x + 1) q[2], q[1]; x q[0]; }
inv @ turns q[0], q[1];
";

#[test]
fn definitions_and_calls_are_printed() {
    let circuit = read(FILE);
    assert_eq!(circuit.calls().len(), 7);
    let text = to_qasm3(&circuit).unwrap();
    for line in [
        "gate my_layer(t_1) a, b { ry(t_1) a; ry(-t_1/2) b; cx a, b; }",
        "gate twice(p0_t, p1_s) a, b, c {",
        "gate turns a, b { h a; crz(pi/8) a, b; }",
        "ctrl @ my_layer(x_1) q[2], q[1], q[0];",
        "inv @ turns q[0], q[1];",
        "my_layer(x_1) q[0], q[1];",
        "twice(x_1, 0.25) q[2], q[0], q[1];",
        "turns q[0], q[1];\nturns q[1], q[2];",
        "if (c[0]) {\n    my_layer(2*x_1 + 1.0) q[2], q[1];\n    x q[0];\n}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("odd"), "{text}");
    assert_eq!(text.matches("gate ").count(), 3, "{text}");
    let again = read(&text);
    assert_eq!(again.instructions(), circuit.instructions());
    assert_eq!(to_qasm3(&again).unwrap(), text);
    // With a value, and in OpenQASM 2, where the condition is of a register.
    let bound = circuit.bind(&[("x", Angle::rad(0.5))]).unwrap();
    assert_eq!(bound.calls().len(), 7);
    let simple = FILE.replace("bit[2]", "bit[1]").replace("inv @ ", "");
    let bound = read(&simple).bind(&[("x", Angle::rad(0.5))]).unwrap();
    let two = to_qasm2(&bound).unwrap();
    for line in [
        "my_layer(0.5) q[0],q[1];",
        "if (c == 1) my_layer(2.0) q[2],q[1];",
        "gate my_layer(t_1) a,b {",
        "gate twice(t_1, s_1) a,b,c {",
    ] {
        let spaced = line.replace(",q", ", q").replace(",b", ", b").replace(",c", ", c");
        assert!(two.contains(&spaced), "{line}\n{two}");
    }
    assert_eq!(to_qasm2(&read(&two)).unwrap(), two);
    // Names that the language has other uses for.
    let own =
        "OPENQASM 3.0;\ngate cx a, b { ctrl @ U(pi, 0, pi) a, b; }\nqubit[2] q;\ncx q[0], q[1];\n";
    let text = to_qasm3(&read(own)).unwrap();
    assert_eq!(renamed_in_qasm3(&read(own)), [("cx".to_owned(), "cx_1".to_owned())]);
    assert!(text.contains("gate cx_1 a, b {") && text.ends_with("cx_1 q[0], q[1];\n"), "{text}");
    // Gates of standard files are no definitions of the file.
    let standard = read(
        "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[3]; rccx q[0], q[1], q[2]; cu3(1, 2, 3) q[0], q[1];",
    );
    assert!(standard.calls().is_empty());
}

#[test]
fn whatever_is_done_to_instructions_the_text_is_right() {
    let mut rng = Rng::new(12);
    let (mut kept, mut lost) = (0, 0);
    for turn in 0..120 {
        let gates: Vec<Arc<GateDefinition>> = (0..3)
            .map(|k| {
                let n = 1 + k % 2;
                let mut body = Circuit::new(n);
                let t = body.param("t");
                for _ in 0..1 + rng.below(3) {
                    let angle = Angle::rad(rng.signed());
                    match rng.below(3) {
                        0 => body.rx(n - 1, angle),
                        1 => body.rz(0, angle),
                        _ => body.p(n - 1, &t + angle),
                    }
                    .unwrap();
                }
                body.ry(0, &t * 2).unwrap().h(n - 1).unwrap();
                Arc::new(GateDefinition::new(format!("g{k}"), body).unwrap())
            })
            .collect();
        let n = 3;
        let mut c = Circuit::new(n);
        c.add_register("m", 2).unwrap();
        for step in 0..10 {
            let gate = &gates[rng.below(3)];
            let qubits = rng.permutation(n)[..gate.body().n_qubits()].to_vec();
            let angle = Angle::rad(0.25 * (1 + step) as f64 * rng.signed());
            match rng.below(7) {
                0 => c.measure(qubits[0], rng.below(2)),
                1 => c.when(Condition::Bit { bit: 0, value: true }, |c| {
                    c.call(gate, &[angle], &qubits)
                }),
                2 => c.undo(|c| c.call(gate, &[angle], &qubits)),
                3 => c.h(qubits[0]),
                4 => c.reset(qubits[0]),
                _ => c.call(gate, &[angle], &qubits),
            }
            .unwrap();
        }
        let made = c.clone();
        let c = match turn % 4 {
            0 => c,
            1 => c.folded(),
            2 => {
                let mut model = NoiseModel::new();
                let flip = Channel::new(ChannelKind::BitFlip, [0.25]).unwrap();
                model.add(After::named(["h"]).unwrap(), flip);
                model.apply(&c).unwrap()
            }
            _ => {
                let mut whole = Circuit::new(n);
                whole.append(&c, &[2, 0, 1]).unwrap();
                whole
            }
        };
        kept += c.calls().len();
        lost += made.calls().len() - c.calls().len().min(made.calls().len());
        let text = to_qasm3(&c).unwrap();
        assert_eq!(text.matches("g0(").count() > 0, text.contains("gate g0("), "{text}");
        let back = read(&text);
        let plain = |c: &Circuit| c.to_string();
        assert_eq!(plain(&back), plain(&c), "{text}");
    }
    assert!(kept > 150 && lost > 50, "{kept} {lost}");
}

#[test]
fn calls_are_checked() {
    let mut body = Circuit::new(2);
    let t = body.param("t");
    body.crx(0, 1, t).unwrap();
    let gate = Arc::new(GateDefinition::new("own", body.clone()).unwrap());
    let mut c = Circuit::new(2);
    let refused = |c: &mut Circuit, args: &[Angle], qubits: &[usize]| {
        c.call(&gate, args, qubits).unwrap_err()
    };
    assert!(matches!(
        refused(&mut c, &[], &[0, 1]),
        CircuitError::Arguments { given: 0, expected: 1, .. }
    ));
    assert!(matches!(
        refused(&mut c, &[Angle::zero()], &[0]),
        CircuitError::Targets { given: 1, .. }
    ));
    assert!(matches!(
        refused(&mut c, &[Angle::zero()], &[1, 1]),
        CircuitError::RepeatedQubit { qubit: 1 }
    ));
    assert!(matches!(
        refused(&mut c, &[Angle::zero()], &[0, 2]),
        CircuitError::NoSuchQubit { given: 2, .. }
    ));
    assert!(c.instructions().is_empty() && c.calls().is_empty());
    body.barrier(&[0]).unwrap();
    for body in [body, Circuit::new(1)] {
        assert!(matches!(GateDefinition::new("none", body), Err(CircuitError::NoBody { .. })));
    }
    c.call(&gate, &[Angle::pi(1, 2)], &[1, 0]).unwrap();
    let by_hand = Circuit::build(2, |c| c.crx(1, 0, Angle::pi(1, 2))).unwrap();
    assert_eq!(c, by_hand);
    let matrix =
        |c: &Circuit| Simulator::new().matrix::<Complex<f64>>(c, &Values::<f64>(&[])).unwrap();
    assert_eq!(matrix(&c), matrix(&read(&to_qasm3(&c).unwrap())));
}

/// The first line of the first definition of that name.
fn head<'a>(text: &'a str, gate: &str) -> &'a str {
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("gate {gate}")))
        .unwrap_or_else(|| panic!("{text}"));
    line.split(" {").next().unwrap()
}

#[test]
fn definitions_have_the_names_of_their_parameters_and_qubits() {
    let called = |definition: &str, call: &str| {
        let read = read(&format!(
            "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{definition}\nqubit[2] q;\n{call} q[0], q[1];\n"
        ));
        let text = to_qasm3(&read).unwrap();
        let two = to_qasm2(&read).unwrap();
        (head(&text, "own").to_owned(), head(&two, "own").to_owned())
    };
    for (definition, call, three, two) in [
        (
            "gate own(alpha, beta) left, right { rx(alpha) left; cp(beta) left, right; }",
            "own(1, 2)",
            "gate own(alpha, beta) left, right",
            "gate own(alpha, beta) left, right",
        ),
        // Some readers take the values in the order of the alphabet.
        (
            "gate own(theta, phi) a, b { rx(theta) a; ry(phi) b; }",
            "own(1, 2)",
            "gate own(p0_theta, p1_phi) a, b",
            "gate own(theta, phi) a, b",
        ),
        ("gate own own, q { cx own, q; }", "own", "gate own own_1, q", "gate own own_1, q"),
        (
            "gate own(x, u0) θ, Z { rx(x) θ; rz(u0) Z; }",
            "own(1, 2)",
            "gate own(p0_x, p1_u0) θ, Z",
            "gate own(x_1, u0_1) r__, r_Z",
        ),
    ] {
        assert_eq!(called(definition, call), (three.to_owned(), two.to_owned()), "{definition}");
    }
    // A name of the gate that is that of a gate in it, which has a definition.
    let mut body = Circuit::new(2);
    let rzz = body.param("rzz");
    body.name_qubits([("rzz_1", 1), ("iswap", 1)])
        .unwrap()
        .rzz(0, 1, rzz)
        .unwrap()
        .iswap(0, 1)
        .unwrap();
    let gate = Arc::new(GateDefinition::new("own", body).unwrap());
    let circuit = Circuit::build(2, |c| c.call(&gate, &[Angle::pi(1, 4)], &[1, 0])).unwrap();
    let text = to_qasm3(&circuit).unwrap();
    assert_eq!(head(&text, "own"), "gate own(rzz_1) rzz_1_1, iswap_1");
    let matrix =
        |c: &Circuit| Simulator::new().matrix::<Complex<f64>>(c, &Values::<f64>(&[])).unwrap();
    let (there, here) = (matrix(&read(&text)), matrix(&circuit));
    assert!(
        there.entries().iter().zip(here.entries()).all(|(a, b)| (a - b).norm() < 1e-12),
        "{text}"
    );
    // A lone qubit is no register, whatever its name.
    let lone = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit q;\nh q;\n";
    assert_eq!(to_qasm3(&read(lone)).unwrap(), lone);
}

/// Files of gates with names that languages have other uses for, called under modifiers.
fn file(rng: &mut Rng) -> (String, usize) {
    const NAMES: [&str; 16] = [
        "theta", "phi", "q", "q0", "q1", "p0", "p1", "x", "h", "rzz", "cx", "layer", "g0", "g1",
        "ω", "if_1",
    ];
    let mut text = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n".to_owned();
    let shapes: Vec<(usize, usize)> = (0..3).map(|_| (rng.below(3), 1 + rng.below(2))).collect();
    for (k, &(params, qubits)) in shapes.iter().enumerate() {
        let names: Vec<&str> =
            rng.permutation(NAMES.len()).into_iter().map(|at| NAMES[at]).collect();
        // In a body, a name hides a gate.
        let (angles, rest) = names.split_at(params);
        let (wires, _) = rest.split_at(qubits);
        let list = if params > 0 { format!("({})", angles.join(", ")) } else { String::new() };
        let mut body = format!("sx {};", wires[0]);
        for _ in 0..1 + rng.below(3) {
            let wire = wires[rng.below(qubits)];
            let angle = if params > 0 {
                format!("{}/2", angles[rng.below(params)])
            } else {
                "0.25".to_owned()
            };
            body += &match rng.below(6) {
                0 => format!(" gphase({angle});"),
                1 => format!(" s {wire};"),
                2 => format!(" U({angle}, 0.5, pi) {wire};"),
                3 if qubits > 1 => format!(" swap {}, {};", wires[1], wires[0]),
                4 if qubits > 1 => format!(" crx({angle}) {}, {};", wires[1], wires[0]),
                _ => format!(" ry({angle}) {wire};"),
            };
        }
        text += &format!("gate g{k}{list} {} {{ {body} }}\n", wires.join(", "));
    }
    text += "input float a;\nqubit[4] r;\n";
    let mut calls = 0;
    for _ in 0..6 {
        let k = rng.below(3);
        let (params, qubits) = shapes[k];
        let (modifiers, controls, times) = [
            ("", 0, 1),
            ("inv @ ", 0, 1),
            ("ctrl @ ", 1, 1),
            ("negctrl @ ", 1, 1),
            ("inv @ ctrl @ negctrl @ ", 2, 1),
            ("ctrl(2) @ ", 2, 1),
            ("pow(3) @ ", 0, 3),
            ("ctrl @ pow(-2) @ ", 1, 2),
        ][rng.below(8)];
        let args = if params > 0 {
            format!("({})", ["a", "2*a"][..params].join(", "))
        } else {
            String::new()
        };
        let on: Vec<String> = rng
            .permutation(4)
            .into_iter()
            .take(controls + qubits)
            .map(|q| format!("r[{q}]"))
            .collect();
        text += &format!("{modifiers}g{k}{args} {};\n", on.join(", "));
        calls += times;
    }
    (text, calls)
}

#[test]
fn calls_under_modifiers_are_printed_with_them() {
    let mut rng = Rng::new(3);
    for turn in 0..150 {
        let (given, calls) = file(&mut rng);
        let circuit = read(&given);
        assert_eq!(circuit.calls().len(), calls, "{turn}\n{given}");
        let text = to_qasm3(&circuit).unwrap();
        let back = read(&text);
        assert_eq!(back.instructions(), circuit.instructions(), "{given}\n{text}");
        assert_eq!(to_qasm3(&back).unwrap(), text, "{given}");
        assert!(
            text.lines().filter(|l| !l.starts_with("gate")).all(|l| !l.contains("sx")),
            "{text}"
        );
        // Expanded, there are no names left.
        let plain = circuit.clone().expanded();
        assert!(plain.calls().is_empty() && plain == circuit);
        assert!(!to_qasm3(&plain).unwrap().contains("gate g"), "{given}");
        // OpenQASM 2 has no modifiers: equal up to a phase.
        let bound = circuit.bind(&[("a", Angle::rad(0.625))]).unwrap();
        let two = to_qasm2(&bound).unwrap();
        let matrix =
            |c: &Circuit| Simulator::new().matrix::<Complex<f64>>(c, &Values::<f64>(&[])).unwrap();
        let (there, here) = (matrix(&read(&two)), matrix(&bound));
        let pairs = || there.entries().iter().zip(here.entries());
        let overlap: Complex<f64> = pairs().map(|(a, b)| a.conj() * b).sum();
        assert!((overlap.norm() - 16.0).abs() < 1e-9, "{given}\n{two}");
        for (renamed, text) in
            [(renamed_in_qasm3(&circuit), &text), (renamed_in_qasm2(&bound), &two)]
        {
            assert!(renamed.iter().all(|(_, new)| text.contains(new)), "{renamed:?}\n{text}");
        }
    }
}
