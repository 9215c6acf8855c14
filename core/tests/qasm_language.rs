//! Meaning of the languages: phases, modifiers, exact angles, parameters, includes.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, Operation},
    gate::GateKind,
    matrix::Matrix,
    param::{Angle, ParamId, Q, Values},
    qasm::{Parsed, QasmOptions, Version, parse, parse_angle},
    simulate::Simulator,
};
use num_complex::Complex;

/// Sums of a few products of cosines in f64.
const TOLERANCE: f64 = 1e-12;

fn read(source: &str) -> Parsed {
    parse(source, &QasmOptions::default()).unwrap_or_else(|e| panic!("{source}\n{e}"))
}

/// Statements of OpenQASM 3 after a header and declarations.
fn v3(body: &str) -> Circuit {
    let head =
        "OPENQASM 3.0; include \"stdgates.inc\"; input float theta; input float phi; qubit[3] q;";
    read(&format!("{head}\n{body}")).circuit
}

fn v2(body: &str) -> Circuit {
    read(&format!("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[3];\n{body}")).circuit
}

fn matrix(circuit: &Circuit) -> Matrix<Complex<f64>> {
    let inputs: Vec<f64> =
        circuit.inputs().zip([0.37, -1.21, 2.05, 0.83]).map(|(_, x)| x).collect();
    let values = circuit.param_values(&inputs).unwrap();
    Simulator::new().matrix(circuit, &Values(&values)).unwrap()
}

/// Equal as matrices, phase included.
fn same(a: &str, b: &str) {
    let (x, y) = (matrix(&v3(a)), matrix(&v3(b)));
    for (p, q) in x.entries().iter().zip(y.entries()) {
        assert!((p - q).norm() < TOLERANCE, "{a}\nis not\n{b}");
    }
}

fn angles(circuit: &Circuit) -> Vec<Angle> {
    let params = circuit.instructions().iter().flat_map(|i| match &i.operation {
        Operation::Gate(gate) => gate.params().to_vec(),
        _ => Vec::new(),
    });
    params.collect()
}

#[test]
fn standard_gates_are_what_the_specification_defines_them_to_be() {
    let definitions = [
        ("p(theta)", "", "ctrl @ gphase(theta) q[1];"),
        ("x", "", "U(pi, 0, pi) q[1]; gphase(-pi/2);"),
        ("y", "", "U(pi, pi/2, pi/2) q[1]; gphase(-pi/2);"),
        ("z", "", "p(pi) q[1];"),
        ("h", "", "U(pi/2, 0, pi) q[1]; gphase(-pi/4);"),
        ("s", "", "pow(0.5) @ z q[1];"),
        ("sdg", "", "inv @ pow(0.5) @ z q[1];"),
        ("t", "", "pow(0.5) @ s q[1];"),
        ("tdg", "", "inv @ pow(0.5) @ s q[1];"),
        ("sx", "", "pow(0.5) @ x q[1];"),
        ("rx(theta)", "", "U(theta, -pi/2, pi/2) q[1]; gphase(-theta/2);"),
        ("ry(theta)", "", "U(theta, 0, 0) q[1]; gphase(-theta/2);"),
        ("rz(theta)", "", "gphase(-theta/2); U(0, 0, theta) q[1];"),
        ("phase(theta)", "", "U(0, 0, theta) q[1];"),
        ("id", "", "U(0, 0, 0) q[1];"),
        ("u1(theta)", "", "U(0, 0, theta) q[1];"),
        ("u2(theta, phi)", "", "gphase(-(theta + phi + pi/2)/2); U(pi/2, theta, phi) q[1];"),
        ("u3(0.4, theta, phi)", "", "gphase(-(theta + phi + 0.4)/2); U(0.4, theta, phi) q[1];"),
        ("cx", ", q[2]", "ctrl @ x q[1], q[2];"),
        (
            "cu(0.4, theta, phi, 0.9)",
            ", q[2]",
            "p(0.9 - 0.4/2) q[1]; ctrl @ U(0.4, theta, phi) q[1], q[2];",
        ),
        ("swap", ", q[2]", "cx q[1], q[2]; cx q[2], q[1]; cx q[1], q[2];"),
        ("cphase(phi)", ", q[2]", "ctrl @ phase(phi) q[1], q[2];"),
    ];
    for (gate, more, definition) in definitions {
        same(&format!("{gate} q[1]{more};"), definition);
        // Under a control a wrong phase shows, whether the definition is inlined or called.
        let qubits = if more.is_empty() { "a" } else { "a, b" };
        let body = definition.replace("q[1]", "a").replace("q[2]", "b");
        let body = body.replace("theta", "s").replace("phi", "t");
        same(
            &format!("ctrl @ {gate} q[0], q[1]{more};"),
            &format!(
                "gate mine(s, t) {qubits} {{ {body} }} ctrl @ mine(theta, phi) q[0], q[1]{more};"
            ),
        );
    }
}

#[test]
fn u_is_the_matrix_of_the_specification() {
    let (t, p, l) = (0.9f64, -0.4f64, 1.7f64);
    let circuit = read(&format!("OPENQASM 3; qubit[2] q; U({t}, {p}, {l}) q[0];")).circuit;
    let (one, i) = (Complex::new(1.0, 0.0), Complex::new(0.0, 1.0));
    let e = |x: f64| Complex::cis(x);
    let expected = [
        [(one + e(t)) * 0.5, -i * e(l) * (one - e(t)) * 0.5],
        [i * e(p) * (one - e(t)) * 0.5, e(p + l) * (one + e(t)) * 0.5],
    ];
    let ours = matrix(&circuit);
    let controlled = matrix(
        &read(&format!("OPENQASM 3; qubit[2] q; ctrl @ U({t}, {p}, {l}) q[1], q[0];")).circuit,
    );
    for r in 0..2 {
        for c in 0..2 {
            assert!((ours[(r, c)] - expected[r][c]).norm() < TOLERANCE);
            assert!((controlled[(r + 2, c + 2)] - expected[r][c]).norm() < TOLERANCE);
        }
    }
    assert_eq!(v2("U(0.1, 0.2, 0.3) q[0];").to_string(), "u3(0.1, 0.2, 0.3) q[0]\n");
}

/// Gates that files use without a definition: as the definitions say that the warnings show.
#[test]
fn usual_gates_are_lent() {
    let text = include_str!("../qasm/src/qasm/usual.inc");
    let mut lent = 0;
    for line in text.lines().filter(|line| line.starts_with("gate ")) {
        let head = line.split(" {").next().unwrap().trim_start_matches("gate ");
        let (name, params) = match head.split_once('(') {
            Some((name, rest)) => (name, rest.split(')').next().unwrap().split(", ").count()),
            None => (head.split(' ').next().unwrap(), 0),
        };
        let n_qubits =
            head.rsplit(')').next().unwrap().trim_start_matches(name).split(", ").count();
        let args = ["(0.7)", "(0.7, -0.4)", "(0.7, -0.4, theta)"]
            .get(params.wrapping_sub(1))
            .copied()
            .unwrap_or("");
        let qubits: Vec<String> = (0..n_qubits).map(|k| format!("q[{k}]")).collect();
        let call = format!("{args} {};", qubits.join(", "));
        let head = "OPENQASM 3.0; include \"stdgates.inc\"; input float theta; qubit[5] q;";
        let given = read(&format!("{head} {name}{call}"));
        let own = read(&format!(
            "{head} {} own{call}",
            line.replace(&format!("gate {name}"), "gate own")
        ));
        let (a, b) = (matrix(&given.circuit), matrix(&own.circuit));
        let close = a.entries().iter().zip(b.entries()).all(|(p, q)| (p - q).norm() < TOLERANCE);
        assert!(close, "{line}\n{}\n{}", given.circuit, own.circuit);
        let warning = &given.warnings[0];
        assert_eq!(
            warning.message,
            format!("gate `{name}` is not defined here; the usual one is taken")
        );
        assert!(warning.help.as_ref().unwrap().contains(line), "{warning:?}");
        lent += 1;
    }
    assert_eq!(lent, text.matches("gate ").count());
    // Those of Amazon Braket by their matrices; the first qubit is the more significant one there.
    let e = |phase: &str| format!("cos({phase}) + sin({phase})*1im");
    for (call, rows) in [
        ("gpi(0.3) q[0];", format!("[[0, {}], [{}, 0]]", e("-0.3"), e("0.3"))),
        ("xy(0.6) q[1], q[0];", "[[1,0,0,0],[0,cos(0.3),sin(0.3)*1im,0],[0,sin(0.3)*1im,cos(0.3),0],[0,0,0,1]]".to_owned()),
        ("pswap(0.3) q[1], q[0];", format!("[[1,0,0,0],[0,0,{0},0],[0,{0},0,0],[0,0,0,1]]", e("0.3"))),
        ("cphaseshift00(0.3) q[1], q[0];", format!("[[{},0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]", e("0.3"))),
        ("cphaseshift01(0.3) q[1], q[0];", format!("[[1,0,0,0],[0,{},0,0],[0,0,1,0],[0,0,0,1]]", e("0.3"))),
        ("cphaseshift10(0.3) q[1], q[0];", format!("[[1,0,0,0],[0,1,0,0],[0,0,{},0],[0,0,0,1]]", e("0.3"))),
        (
            "ecr q[1], q[0];",
            "[[0,0,sqrt(0.5),sqrt(0.5)*1im],[0,0,sqrt(0.5)*1im,sqrt(0.5)],[sqrt(0.5),-sqrt(0.5)*1im,0,0],[-sqrt(0.5)*1im,sqrt(0.5),0,0]]"
                .to_owned(),
        ),
        ("ms(0.2, 0.2, pi/2) q[1], q[0];", "[[sqrt(0.5),0,0,-sqrt(0.5)*1im*(cos(-0.4)+sin(-0.4)*1im)],[0,sqrt(0.5),-sqrt(0.5)*1im,0],[0,-sqrt(0.5)*1im,sqrt(0.5),0],[-sqrt(0.5)*1im*(cos(0.4)+sin(0.4)*1im),0,0,sqrt(0.5)]]".to_owned()),
    ] {
        let qubits = if call.contains("q[1]") { "q[1], q[0]" } else { "q[0]" };
        same(call, &format!("\n#pragma braket unitary({rows}) {qubits}\n"));
    }
    // PennyLane writes it in OpenQASM 2.
    let parsed = read("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; h q[0]; gphase(pi/2) ;");
    assert_eq!(parsed.circuit.to_string(), "h q[0]\ngphase(pi/2)\n");
    let message = "gate `gphase` is not defined here; that of OpenQASM 3 is taken";
    assert_eq!(parsed.warnings.iter().map(|w| w.message.as_str()).collect::<Vec<_>>(), [message]);
    // Without a file of gates those of stdgates.inc are; what the file defines is its own.
    let parsed = read("OPENQASM 3.0; qubit[2] q; h q; cx q[0], q[1];");
    assert_eq!(parsed.circuit.to_string(), "h q[0]\nh q[1]\ncx q[0], q[1]\n");
    let warnings: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings,
        ["h", "cx"]
            .map(|g| format!("gate `{g}` is not defined here; that of `stdgates.inc` is taken"))
    );
    let parsed = read("OPENQASM 3.0; gate h a { U(0, 0, 0) a; } gate v a { h a; } qubit q; v q;");
    assert!(
        parsed.warnings.is_empty() && parsed.circuit.to_string() == "U(0, 0, 0) q[0]\n",
        "{}",
        parsed.circuit
    );
    let parsed =
        read("OPENQASM 3.0; gate x a { U(0, 0, 0) a; } qubit[3] q; ccnot q[0], q[1], q[2];");
    assert_eq!(parsed.circuit.to_string(), "ccx q[0], q[1], q[2]\n");
}

#[test]
fn roots_are_those_of_the_matrix() {
    // However the gate is written; what is outside of half a turn comes back into it.
    for (gate, root) in [
        ("rx(3*pi)", "rx(-pi/2)"),
        ("rx(2.5)", "rx(1.25)"),
        ("rx(-5.5)", "rx(-2.75)"),
        ("rz(2*pi)", "gphase(pi/2); id"),
        ("ry(-2*pi)", "gphase(pi/2); id"),
        ("rz(4*pi)", "id"),
        ("p(3*pi)", "p(pi/2)"),
        ("p(-pi)", "p(pi/2)"),
        ("p(-3*pi/4)", "p(-3*pi/8)"),
        ("p(7.0)", "p((7 - 2*pi)/2)"),
        ("pow(2) @ s", "s"),
    ] {
        for body in [
            format!("{gate} a;"),
            format!("id a; {gate} a;"),
            format!("{gate} a; id a;"),
            format!("{gate} a; x a; x a;"),
        ] {
            let define = format!("gate g a {{ {body} }} gate f a {{ {root} a; }}");
            same(
                &format!("{define} ctrl @ pow(1/2) @ g q[0], q[1];"),
                &format!("{define} ctrl @ f q[0], q[1];"),
            );
        }
    }
    same("pow(0.5) @ gphase(3*pi);", "gphase(pi/2);");
    // An angle with a parameter is multiplied.
    same("pow(1/2) @ rx(theta + 3*pi) q[0];", "rx((theta + 3*pi)/2) q[0];");
}

#[test]
fn parameters_of_gates_are_exponents() {
    let gates = "gate g(k) a { pow(k) @ x a; } gate u(k, t) a, b { ctrl @ pow(2*k) @ rx(t) a, b; }
        gate f(k, t) a, b { u(k + 1, t/2) a, b; h a; } gate nothing(k) a { pow(k - 1) @ h a; g(k) a; }";
    for (call, written) in [
        (
            "g(0.5) q[0]; g(2) q[1]; g(-1) q[2]; g(1/3.0) q[1];",
            "sx q[0]; x q[2]; pow(1/3) @ x q[1];",
        ),
        ("f(1, theta) q[0], q[1];", "ctrl @ rx(2*theta) q[0], q[1]; h q[0];"),
        ("inv @ f(1, theta) q[0], q[1];", "h q[0]; ctrl @ rx(-2*theta) q[0], q[1];"),
        (
            "f(0.25, theta) q[0], q[1]; f(1, phi) q[1], q[2];",
            "crx(1.25*theta) q[0], q[1]; h q[0]; crx(2*phi) q[1], q[2]; h q[1];",
        ),
        ("nothing(1) q;", "x q;"),
        ("for int i in [0:3] { u(2**i, theta) q[0], q[2]; }", "crx(30*theta) q[0], q[2];"),
        ("pow(2) @ g(0.5) q[0];", "x q[0];"),
    ] {
        same(&format!("{gates} {call}"), written);
    }
    let failed = |body: &str| {
        let text = format!(
            "OPENQASM 3.0; include \"stdgates.inc\"; input float theta; qubit[2] q; {gates} {body}"
        );
        parse(&text, &QasmOptions::default().with_max_gates(1000)).unwrap_err().to_string()
    };
    same(
        &format!("{gates} g(theta) q[0]; f(theta, 0.5) q[0], q[1];"),
        "pow(theta) @ x q[0]; \
        crx(0.5*(theta + 1)) q[0], q[1]; h q[0];",
    );
    assert!(
        failed("gate s(k) a { pow(k) @ U(0.1, 0.2, 0.3) a; } s(theta) q[0];")
            .contains("no power whose exponent")
    );
    assert!(
        failed("gate s5(k) a { pow(k) @ s a; } s5(100000) q[0];").contains("100000 operations")
    );
    // Twice as many different ones at each level.
    let tower: String = (1..40)
        .map(|n| format!("gate t{n}(k) a {{ t{m}(2*k) a; t{m}(2*k + 1) a; }} ", m = n - 1))
        .collect();
    assert!(
        failed(&format!("gate t0(k) a {{ pow(k) @ x a; }} {tower} t39(1) q[0];"))
            .contains("more than 1000 statements")
    );
}

#[test]
fn calibrations_and_durations_of_gates_are_ignored() {
    let body = "defcalgrammar \"openpulse\"; extern tabulate(int[32], creg[4]);
        defcal rz(angle[20] theta) $q { shift_phase drive($q), -theta; } defcal measure $q -> bit { return 1 & ~`; }
        stretch s; duration t = 100ns; duration wait = s - .5 * durationof({x q[0];}) + 2 * t;
        delay[wait] q[0]; x[160dt] q[0]; box[t] { delay[s / 2] q; y q[1]; }";
    let parsed = read(&format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; {body}"));
    assert_eq!(parsed.circuit.to_string(), "delay[?] q[0]\nx q[0]\ndelay[?] q[0], q[1]\ny q[1]\n");
    let warnings: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    let ignored = ["`defcalgrammar`", "`defcal`", "the duration of a gate"];
    assert_eq!(warnings, ignored.map(|what| format!("{what} is ignored")));
}

#[test]
fn calls_that_only_tell_are_ignored() {
    let head = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; int[32] n = 3;
        extern tabulate(int[32], bit); extern touch(qubit); extern fill(mutable array[int[8], 2]); extern give() -> int;";
    // What is measured for them is measured all the same.
    let parsed = read(&format!(
        "{head} tabulate(n, measure q[0]); x q[1]; for int i in [0:1] {{ tabulate(i, 0); }}"
    ));
    assert_eq!(parsed.circuit.to_string().lines().next().unwrap(), "measure q[0] -> c[0]");
    let warnings: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings[0],
        "the call of `tabulate`, an external function that gives nothing, is ignored"
    );
    assert_eq!(warnings.len(), 2);
    for call in [
        "touch(q[0]);",
        "array[int[8], 2] a; fill(a);",
        "give();",
        "x tabulate;",
        "int k = tabulate(1, 0);",
    ] {
        assert!(parse(&format!("{head} {call}"), &QasmOptions::default()).is_err(), "{call}");
    }
}

#[test]
fn delays_of_qiskit_in_openqasm_2_are_ignored() {
    let text = "OPENQASM 2.0; include \"qelib1.inc\"; opaque delay(t) q0; opaque delay_140128825934352(t) q0; qreg q[1];
        x q[0]; delay(100.0) q[0]; delay_140128825934352(16) q[0]; x q[0];";
    let parsed = read(text);
    assert_eq!(parsed.circuit.to_string(), "x q[0]\nx q[0]\n");
    assert_eq!(parsed.warnings.len(), 1);
    assert_eq!(parsed.warnings[0].message, "`delay` is ignored");
}

#[test]
fn states_as_qiskit_exports_them_are_prepared() {
    let prepare = "gate state_preparation(a, b) p { ry(2*atan(4/3)) p; s p; }";
    let parsed = read(&format!(
        "OPENQASM 2.0; include \"qelib1.inc\"; {prepare}
         gate initialize(a, b) p {{ reset p; state_preparation(0.6,0.8j) p; }}
         qreg q[2]; h q; initialize(0.6,0.8j) q[1];"
    ));
    let text = parsed.circuit.to_string();
    assert!(text.starts_with("h q[0]\nh q[1]\nreset q[1]\nry("), "{text}");
    let warnings: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    let (reset, unused) = (
        "`reset` in a gate definition is not OpenQASM; each call of the gate resets the qubit",
        |gate: &str| format!("`0.8j` is no angle; `{gate}` does not use it, so it is ignored"),
    );
    assert_eq!(warnings, [reset, &unused("state_preparation"), &unused("initialize")]);
    // Its labels, and Paulis, in both languages.
    for (head, register) in [
        ("OPENQASM 2.0; include \"qelib1.inc\";", "qreg q[2];"),
        ("OPENQASM 3.0; include \"stdgates.inc\";", "qubit[2] q;"),
    ] {
        let calls =
            "prepare(r, +) q[0], q[1]; pauli(XZ) q[0], q[1]; prepare(-, 0.5+0.1j) q[0], q[1];";
        let gates = "gate prepare(a, b) p, r { h p; s r; } gate pauli(a) p, r { z p; x r; }";
        let parsed = read(&format!("{head} {gates} {register} {calls}"));
        assert_eq!(parsed.circuit.to_string(), "h q[0]\ns q[1]\nz q[0]\nx q[1]\nh q[0]\ns q[1]\n");
        assert_eq!(parsed.warnings.len(), 5);
    }
    // What a gate uses is an angle, and OpenQASM 3 has no reset in gates.
    let uses = "gate g(a) p { rx(a) p; }";
    for wrong in ["g(0.8j) q[0];", "g(XY) q[0];", "g(+) q[0];", "gate f p { reset p; } f q[0];"] {
        let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; {uses} qubit[2] q; {wrong}");
        assert!(parse(&text, &QasmOptions::default()).is_err(), "{wrong}");
    }
}

#[test]
fn what_was_not_assigned_is_zero() {
    let parsed = read(
        "OPENQASM 3.0; include \"stdgates.inc\"; qubit q; uint[4] n; bool b; n += 3; while (!b) { b = true; rx(n) q; }",
    );
    assert_eq!(parsed.circuit.to_string(), "rx(3) q[0]\n");
    let warnings: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(warnings, ["n", "b"].map(|name| format!("`{name}` has no value yet: 0 is taken")));
}

#[test]
fn files_of_tket_are_read() {
    let text = "OPENQASM 2.0; include \"hqslib1.inc\"; qreg q[2]; U1q(0.5*pi, 0.1*pi) q[0]; Rz(0.2*pi) q[1]; ZZ q[0], q[1]; RZZ(0.3*pi) q[0], q[1];";
    let expected =
        "r(pi/2, pi/10) q[0]\nrz(pi/5) q[1]\nrzz(pi/2) q[0], q[1]\nrzz(3*pi/10) q[0], q[1]\n";
    assert_eq!(read(text).circuit.to_string(), expected);
}

#[test]
fn modifiers() {
    same("ctrl @ inv @ rx(theta) q[0], q[1];", "inv @ ctrl @ rx(theta) q[0], q[1];");
    same("ctrl(2) @ x q[0], q[1], q[2];", "ccx q[0], q[1], q[2];");
    same("negctrl @ x q[0], q[1];", "x q[0]; cx q[0], q[1]; x q[0];");
    same("ctrl @ negctrl @ x q[0], q[1], q[2];", "x q[1]; ccx q[0], q[1], q[2]; x q[1];");
    same("pow(3) @ inv @ t q[0];", "tdg q[0]; tdg q[0]; tdg q[0];");
    same("pow(-2) @ sx q[0];", "x q[0];");
    same("pow(0) @ h q[0];", "");
    same("pow(2) @ h q[0];", "");
    same("pow(0.5) @ rx(theta) q[0];", "rx(theta/2) q[0];");
    same("pow(0.25) @ x q[0]; pow(3/4) @ x q[0];", "x q[0];");
    same("pow(0.3) @ y q[0]; pow(0.7) @ y q[0];", "y q[0];");
    same("pow(1/3) @ h q[1]; pow(2/3) @ h q[1];", "h q[1];");
    same("pow(0.5) @ swap q[0], q[1]; pow(0.5) @ swap q[0], q[1];", "swap q[0], q[1];");
    same("ctrl @ pow(0.5) @ x q[0], q[1];", "pow(0.5) @ cx q[0], q[1];");
    same("pow(2) @ pow(0.5) @ h q[0];", "h q[0];");
    same("pow(0.5) @ inv @ z q[0];", "s q[0];"); // the root of Z^-1 = Z, not the inverse of S
    same("inv @ pow(0.5) @ z q[0];", "sdg q[0];");
    same(
        "gate g(t) a, b { h a; cx a, b; rz(t) b; } inv @ g(theta) q[0], q[1];",
        "rz(-theta) q[1]; cx q[0], q[1]; h q[0];",
    );
    same(
        "gate g a, b { h a; cx a, b; t b; } pow(0.5) @ g q[0], q[2]; pow(0.5) @ g q[0], q[2];",
        "h q[0]; cx q[0], q[2]; t q[2];",
    );
    same("gate g(t) a { rx(2*t) a; } pow(0.5) @ g(theta) q[0];", "rx(theta) q[0];");
    same(
        "gate g(t) a { pow(2) @ rx(t) a; gphase(t); } ctrl @ inv @ g(theta) q[0], q[1];",
        "crx(-2*theta) q[0], q[1]; p(-theta) q[0];",
    );
    same("negctrl @ gphase(theta) q[0];", "x q[0]; p(theta) q[0]; x q[0];");
    same("ctrl @ gphase(theta) q;", "p(theta) q;");
    assert_eq!(v3("pow(1/2) @ x q[0];").to_string(), "sx q[0]\n");
    assert_eq!(v3("pow(1/2) @ s q[0];").to_string(), "p(pi/4) q[0]\n");
    assert_eq!(v3("inv @ s q[0]; inv @ inv @ s q[0];").to_string(), "sdg q[0]\ns q[0]\n");
}

#[test]
fn angles_stay_exact() {
    let theta = || Angle::theta(ParamId::new(0));
    let q = |n, d| Q::new(n, d);
    for (text, expected) in [
        ("pi/4", Angle::pi(1, 4)),
        ("3*pi/8", Angle::pi(3, 8)),
        ("π * 3 / 8", Angle::pi(3, 8)),
        ("tau/3", Angle::pi(2, 3)),
        ("-2*pi/3", Angle::pi(-2, 3)),
        ("-(pi - theta)/2", Angle::pi(-1, 2) + theta() * q(1, 2)),
        ("2*theta", theta() * q(2, 1)),
        ("theta/3", theta() * q(1, 3)),
        ("0.3*pi", Angle::pi(3, 10)),
        ("0.25*theta + 1.5e-1*theta", theta() * q(2, 5)),
        ("(1.0/3)*pi", Angle::pi(1, 3)),
        ("2.0**3*pi/16", Angle::pi(1, 2)),
        ("0.3", Angle::rad(0.3)),
        ("0.7853981633974483", Angle::rad(std::f64::consts::FRAC_PI_4)),
        ("pi*pi/pi", Angle::rad(std::f64::consts::PI)),
        ("theta - theta", Angle::zero()),
        ("pi/(2*pi)", Angle::rad(0.5)),
        ("cos(0.2)", Angle::rad(0.2f64.cos())),
        ("0x10*pi/0b100", Angle::pi(4, 1)),
        ("float(3)/2*pi", Angle::pi(3, 2)),
        ("popcount(\"0111\")*pi", Angle::pi(3, 1)),
        ("mod(7, 4)*pi/4", Angle::pi(3, 4)),
    ] {
        assert_eq!(angles(&v3(&format!("rx({text}) q[0];")))[0], expected, "{text}");
    }
    // A long decimal is no fraction: the product is a general expression.
    let long = v3("rx(0.1234567890123456*theta) q[0];");
    assert_eq!(long.params().len(), 3);
}

#[test]
fn division_of_integers_follows_the_language() {
    assert_eq!(angles(&v2("rx(1/2) q[0];"))[0], Angle::rad(0.5));
    assert_eq!(angles(&v2("rx(pi*(1/3)) q[0];"))[0], Angle::pi(1, 3));
    assert_eq!(angles(&v2("rx(2^3/4*pi) q[0];"))[0], Angle::pi(2, 1));
    let parsed = read("OPENQASM 3.0; qubit q; U(7/2, 0, 6/2) q;");
    assert_eq!(angles(&parsed.circuit), [Angle::rad(3.0), Angle::zero(), Angle::rad(3.0)]);
    assert_eq!(parsed.warnings.len(), 1);
    assert_eq!(
        parsed.warnings[0].message,
        "the division of integers drops the fraction: 7 / 2 = 3"
    );
}

#[test]
fn expressions_become_computed_parameters() {
    let circuit = v3(
        "rx(sin(theta)*phi) q[0]; ry(theta**2) q[0]; rz(sin(theta)*phi) q[1]; rx(-2*sin(theta)*phi) q[2];",
    );
    assert_eq!(circuit.inputs().collect::<Vec<_>>(), ["theta", "phi"]);
    let names: Vec<&str> = circuit.params().iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["theta", "phi", "sin(theta)*phi", "theta*theta", "(-2)*sin(theta)*phi"]);
    // The arguments of a gate go through its body once each, however deep it is.
    let mut text = String::from("gate g0(a) x { rx(a*a) x; }\n");
    for k in 1..12 {
        text += &format!("gate g{k}(a) x {{ g{}(a*a) x; }}\n", k - 1);
    }
    let deep = v3(&format!("{text} g11(theta) q[0];"));
    assert_eq!(deep.params().len(), 2 + 12);
    // Numbers that are put in come out as numbers, and multiples of pi as such.
    let bound = v3("gate g(n) x { rx(pi/n) x; ry(n*n) x; } g(4) q[0];");
    assert_eq!(angles(&bound), [Angle::pi(1, 4), Angle::rad(16.0)]);
}

#[test]
fn inputs_and_constants() {
    let circuit = read(
        "OPENQASM 3.0; include \"stdgates.inc\"; const uint[8] n = 2; const float x = pi/n; const bit[3] b = \"101\";
         input array[float[64], n + 1] w; input angle t; qubit[n] q; const array[float, 2] c = {0.5, x};
         rx(w[0] + w[-1]) q[0]; ry(x) q[1]; rz(c[1]/2) q[0]; rx(popcount(b)*pi) q[0]; rx(t) q[int(b[1])];",
    )
    .circuit;
    assert_eq!(circuit.inputs().collect::<Vec<_>>(), ["w[0]", "w[1]", "w[2]", "t"]);
    assert_eq!(
        circuit.to_string(),
        "rx(w[0] + w[2]) q[0]\nry(pi/2) q[1]\nrz(pi/4) q[0]\nrx(2*pi) q[0]\nrx(t) q[0]\n"
    );
}

#[test]
fn registers_and_broadcasting() {
    let circuit = read(
        "OPENQASM 3.0; include \"stdgates.inc\"; qubit a; qubit[3] q; qreg r[3]; creg c[2]; bit d; bit[3] e = measure r;
         cx a, q; cx q[0:1], q[1:2]; barrier; d = measure a; c = measure q[{2, 0}];",
    );
    let text = circuit.circuit.to_string();
    assert_eq!(circuit.circuit.n_qubits(), 7);
    assert!(text.starts_with("measure q[4] -> c[3]\n"), "{text}");
    assert!(text.contains("cx q[0], q[3]\ncx q[1], q[2]\ncx q[2], q[3]\n"), "{text}");
    assert!(
        text.ends_with("measure q[0] -> c[2]\nmeasure q[3] -> c[0]\nmeasure q[1] -> c[1]\n"),
        "{text}"
    );
    assert_eq!(circuit.circuit.registers().iter().map(|r| r.size).collect::<Vec<_>>(), [2, 1, 3]);
}

#[test]
fn a_definition_of_the_file_wins_over_the_include() {
    for text in [
        "include \"qelib1.inc\"; gate h a { x a; }",
        "gate h a { U(pi,0,pi) a; } include \"qelib1.inc\";",
    ] {
        let circuit = read(&format!("OPENQASM 2.0; {text} qreg q[1]; h q[0];")).circuit;
        let kind = match &circuit.instructions()[0].operation {
            Operation::Gate(gate) => gate.kind(),
            _ => GateKind::I,
        };
        assert!(matches!(kind, GateKind::X | GateKind::U3), "{circuit}");
    }
    // It does not change the standard gates that are made of others.
    let own = read(
        "OPENQASM 2.0; gate h a { U(1,2,3) a; } include \"qelib1.inc\"; qreg q[4]; rc3x q[0],q[1],q[2],q[3];",
    );
    let standard =
        read("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[4]; rc3x q[0],q[1],q[2],q[3];");
    assert_eq!(own.circuit, standard.circuit);
}

#[test]
fn includes_are_resolved_by_the_caller() {
    let files = |name: &str| match name {
        "my.inc" => {
            Ok("OPENQASM 2.0;\ninclude \"deep.inc\";\ngate my a { deep(pi/2) a; }".to_owned())
        }
        "deep.inc" => Ok("gate deep(t) a { rx(t) a; }".to_owned()),
        "loop.inc" => Ok("include \"loop.inc\";".to_owned()),
        "bad.inc" => Ok("// ok\ngate bad a { nothing a; }".to_owned()),
        "secret.inc" => Ok("root:x:0:0:root:/root:/bin/bash\n".to_owned()),
        "late.inc" => Ok("gate g a { x a; }\ng q[0] q[0];".to_owned()),
        "secret" => Ok("password;\nhunter2;\n".to_owned()),
        "json" => Ok("{ \"secret\": \"hunter2\" }".to_owned()),
        "names" => Ok("// a list\nhunter2 q[0];\n".to_owned()),
        "fine" => Ok("gate fine a { x a; }\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let options = QasmOptions::default().with_include(Some(&files)).with_file("main.qasm");
    let head = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1];\n";
    let parsed = parse(&format!("{head}include \"my.inc\"; my q[0];"), &options).unwrap();
    assert_eq!(parsed.circuit.to_string(), "rx(pi/2) q[0]\n");
    let refused = |text: &str| parse(&format!("{head}{text}"), &options).unwrap_err().to_string();
    assert_eq!(refused("include \"loop.inc\";"), "loop.inc:1:9: `loop.inc` includes itself");
    assert_eq!(
        refused("include \"no.inc\";"),
        "main.qasm:2:9: cannot include `no.inc`: no such file"
    );
    assert_eq!(refused("include \"bad.inc\";"), "bad.inc:2:14: gate `nothing` is not defined");
    assert_eq!(refused("include \"main.qasm\";"), "main.qasm:2:9: `main.qasm` includes itself");
    // What is no OpenQASM may be any file: nothing of it is shown.
    for (name, at) in [
        ("secret.inc", "1, column 5"),
        ("secret", "1, column 9"),
        ("json", "1, column 3"),
        ("names", "2, column 1"),
    ] {
        let failed =
            parse(&format!("{head}include \"{name}\"; nothing q[0];"), &options).unwrap_err();
        let said = format!("main.qasm:2:9: cannot include `{name}`: line {at} is not OpenQASM");
        assert_eq!(
            failed.to_string(),
            format!("{said}\nmain.qasm:2:{}: gate `nothing` is not defined", 13 + name.len())
        );
        assert!(
            failed.diagnostics.iter().flat_map(|d| &d.labels).all(|label| label.source == 0),
            "{failed:?}"
        );
    }
    assert!(parse(&format!("{head}include \"fine\"; fine q[0];"), &options).is_ok());
    assert!(refused("include \"late.inc\";").starts_with("late.inc:2:"));
}

#[test]
fn headers() {
    let warned =
        |text: &str| read(text).warnings.iter().map(|w| w.message.clone()).collect::<Vec<_>>();
    for version in ["2", "2.0", "3", "3.0", "3.1"] {
        assert!(warned(&format!("OPENQASM {version};")).is_empty());
    }
    assert_eq!(warned("qreg q[1]; h q;"), ["no `OPENQASM` line; read as OpenQASM 2"]);
    assert_eq!(warned("qubit q; h q;"), ["no `OPENQASM` line; read as OpenQASM 3"]);
    assert_eq!(
        warned("OPENQASM 2.0; include \"stdgates.inc\"; qreg q[1]; h q;"),
        ["`stdgates.inc` belongs to OpenQASM 3, but this file is OpenQASM 2"]
    );
    assert_eq!(read("OPENQASM 3.1; qubit q; U(0, 0, 0) q;").version, Version::V3);
}

#[test]
fn angles_for_options() {
    for (text, expected) in [
        ("pi/4", Angle::pi(1, 4)),
        ("-2*pi/3", Angle::pi(-2, 3)),
        (" 0.3 ", Angle::rad(0.3)),
        ("sin(0.2)", Angle::rad(0.2f64.sin())),
        ("1/2", Angle::rad(0.5)),
        ("2**3", Angle::rad(8.0)),
        ("-1e-3", Angle::rad(-1e-3)),
        ("π", Angle::pi(1, 1)),
    ] {
        assert_eq!(parse_angle(text).unwrap(), expected, "{text}");
    }
    for text in ["", "  ", "x", "1/0", "pi pi", "(", "1e999", "\"01\"", "ln(0)", "2;", "0.3//"] {
        match parse_angle(text) {
            Ok(_) => assert_eq!(text, "0.3//"),
            Err(e) => {
                assert!(!e.message.is_empty() && e.labels.iter().all(|l| l.span.end <= text.len()))
            }
        }
    }
}

#[test]
fn angles_of_any_size_are_read_as_they_are_written() {
    for exponent in -308..=308 {
        for text in [
            format!("1e{exponent}"),
            format!("-1.7e{exponent}"),
            format!("pi/3 - 1.23456789e{exponent}"),
        ] {
            let angle = parse_angle(&text).unwrap();
            let written = angle.to_string();
            assert_eq!(parse_angle(&written).unwrap(), angle, "{text}: {written}");
        }
    }
    let angle = parse_angle("(pi) / (1e-300)").unwrap();
    assert_eq!(parse_angle(&angle.to_string()).unwrap(), angle);
}

#[test]
fn a_failure_is_an_error() {
    let failed: Box<dyn std::error::Error> =
        Box::new(parse("h q;", &QasmOptions::default()).unwrap_err());
    assert_eq!(failed.to_string(), "<input>:1:3: `q` is not declared");
}

/// Constants of a width wrap as unsigned integers do; casts keep the bits.
#[test]
fn integers_of_a_width_keep_it() {
    for (declared, expression, expected) in [
        ("const uint[4] a = 5;", "~a", 10.0),
        ("const uint[4] a = 5;", "a << 3", 8.0),
        ("const uint[4] a = 3;", "a - 4", 15.0),
        ("const uint[4] a = 3; const uint[8] b = 4;", "a - b", 255.0),
        ("const uint[4] a = 15;", "a + 1 + 1", 1.0),
        ("const uint[4] a = 5;", "a * 1.5", 7.5),
        ("const uint[4] a = 5; const uint[4] b = ~a;", "b", 10.0),
        ("const int[4] a = 5;", "~a", -6.0),
        ("const int[4] a = 7;", "a + 1", -8.0),
        ("const int[4] a = 7;", "a + 100", 107.0),
        ("const uint[2] n = 3;", "n + 6", 9.0),
        ("const uint[2] n = 3; const uint[2] m = n + 6;", "m", 1.0),
        ("const int[4] a = -8;", "-a", -8.0),
        ("const uint a = 2;", "a - 3", 4294967295.0),
        ("const int a = 2147483647;", "a + 1", -2147483648.0),
        ("const uint a = 4294967295;", "a * a", 1.0),
        ("const uint[128] a = 340282366920938463463374607431768211455;", "a", 2f64.powi(128)),
        ("const uint[128] a = 0;", "a - 1", 2f64.powi(128)),
        ("const uint[128] a = 0;", "(a - 1) / 3 / 2 ** 120", 85.0),
        ("const uint[128] a = 0;", "(a - 1) >> 127", 1.0),
        ("const uint[128] a = 0;", "(a - 1) % 100", 55.0),
        ("const uint[128] a = 1;", "(a << 127) >> 126", 2.0),
        ("const uint[128] a = 1;", "popcount(~a)", 127.0),
        ("const uint[6] b = 37;", "rotl(b, 3)", 44.0),
        ("const int[4] a = -1;", "popcount(a)", 4.0),
        ("const uint[4] a = 3;", "a ** 3", 11.0),
        // A power has the type of its base; that of a literal has none.
        ("const uint[4] a = 5; const int[8] n = 3;", "a ** n", 13.0),
        ("const uint[2] n = 3;", "2 ** n", 8.0),
        ("const uint[4] a = 3;", "2 ** 40 / (a * 4)", 2f64.powi(40) / 12.0 - 1.0 / 3.0),
        ("const bit[4] m = \"1101\"; const int[4] a = m;", "a", -3.0),
        ("const bit[4] m = \"1101\";", "int[4](m)", -3.0),
        ("const bit[4] m = \"1101\";", "uint[4](m)", 13.0),
        ("const bit[4] m = \"1101\";", "int[8](m)", 13.0),
        ("const int[4] k = -3; const uint[4] a = uint[4](k);", "a", 13.0),
        ("const uint[4] k = 13;", "int[4](k)", -3.0),
    ] {
        let circuit = v3(&format!("{declared} rx({expression}) q[0];"));
        assert_eq!(angles(&circuit), [Angle::rad(expected)], "{declared} {expression}");
    }
}

#[test]
fn all_bits_of_the_widest_integers_count() {
    let all = "uint[128] a = 0; a = a - 1; const uint[128] one = 1;";
    for claim in [
        "a > one",
        "one < a",
        "a > 2 ** 126",
        "a == ~(one - one)",
        "a[127] && !(a >> 1)[127]",
        "uint[64](a) == 2 ** 64 - 1",
        "int[128](a) == -1",
    ] {
        assert_eq!(v3(&format!("{all} if ({claim}) x q[0];")).instructions().len(), 1, "{claim}");
    }
}

#[test]
fn integers_without_a_size_have_32_bits() {
    let warnings = |body: &str| {
        let parsed = read(&format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[1] q; {body}"));
        parsed.warnings.into_iter().map(|w| w.message).collect::<Vec<_>>()
    };
    // As a measured one: both wrap, and of a known one that is said.
    assert_eq!(
        warnings("int a = 2000000000; rx(a + a) q[0];"),
        ["4000000000 does not fit in 32 bits: it becomes -294967296"]
    );
    assert_eq!(
        warnings("uint a = 0; a -= 1;"),
        ["-1 does not fit in 32 bits: it becomes 4294967295"]
    );
    assert_eq!(
        warnings("int a = 65536; a = a << 16;"),
        ["4294967296 does not fit in 32 bits: it becomes 0"]
    );
    assert_eq!(
        warnings("int a = 4; a = a << 200;"),
        ["the result does not fit in 32 bits: it becomes 0"]
    );
    assert_eq!(warnings("uint[8] a = ~79;"), ["-80 does not fit in 8 bits: it becomes 176"]);
    assert_eq!(
        warnings("uint[8] a = 5; bit b = 5[2]; if (!b) a = 0; bit[2] d = 6[1:2];"),
        Vec::<String>::new()
    );
    assert_eq!(
        warnings("int a = 4; a = a ** 20;"),
        ["1099511627776 does not fit in 32 bits: it becomes 0"]
    );
    assert!(
        warnings("int[64] a = 2000000000; a = a + a; int b = 2 ** 20; rx(2 ** 40) q[0];")
            .is_empty()
    );
    assert!(
        warnings("for uint i in [0:60] { rx(pi / 2**i) q[0]; } int k = 40; rx(pi / 2**k) q[0];")
            .is_empty()
    );
}

#[test]
fn constants_are_conditions() {
    let circuit = v3(
        "const bit[4] m = \"1100\"; if (m[3] && !m[0]) { x q[0]; } if (!m[3] || m[0]) { y q[0]; }",
    );
    assert_eq!(circuit.instructions().len(), 1);
}

#[test]
fn short_decimals_stay_short() {
    let parts = |angle: &str| angles(&v3(&format!("rx({angle}) q[0];")))[0].clone();
    for (text, expected) in
        [("0.1 + 0.2", 0.3), ("0.7 - 0.4", 0.3), ("3 * 0.3", 0.9), ("0.3 / 3", 0.1)]
    {
        assert_eq!(parts(text), Angle::rad(expected), "{text}");
    }
    assert_eq!(parts("(theta + 0.3) * 3").radian_part(), 0.9);
    assert_eq!(parts("theta + 0.1 + 0.2").radian_part(), 0.3);
    assert_eq!(Angle::rad(0.1) + Angle::rad(0.2), Angle::rad(0.3));
    assert_eq!(Angle::rad(0.1) * Q::new(3, 1), Angle::rad(0.3));
    // What is no short decimal is added as floats are.
    let (a, b) = (1.0 / 3.0, 0.1);
    assert_eq!((Angle::rad(a) + Angle::rad(b)).radian_part(), a + b);
}

/// A comment ends where its line does, whatever ends that.
#[test]
fn every_end_of_a_line_ends_a_comment() {
    for end in ["\n", "\r\n", "\r"] {
        let circuit = v3(&format!("x q[0]; // comment{end} x q[0];"));
        assert_eq!(circuit.instructions().len(), 2, "{end:?}");
    }
}

#[test]
fn a_cnot_made_of_u_is_warned_of() {
    let file =
        |cx: &str| format!("OPENQASM 3.0; gate CX c, t {{ {cx} }} qubit[2] q; CX q[0], q[1];");
    let message =
        "`CX` is no CNOT: in OpenQASM 3 `U(pi, 0, pi)` is i X, whose phase a control sees";
    let phased = read(&file("ctrl @ U(pi, 0, pi) c, t;"));
    assert_eq!(phased.warnings.iter().map(|w| w.message.as_str()).collect::<Vec<_>>(), [message]);
    // What its help says makes one of it.
    let mended = read(
        &file("ctrl @ U(pi, 0, pi) c, t; inv @ s c;")
            .replace(" gate", "include \"stdgates.inc\"; gate"),
    );
    assert!(mended.warnings.is_empty());
    let cx = read("OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; cx q[0], q[1];");
    let (a, b) = (matrix(&mended.circuit), matrix(&cx.circuit));
    assert!(a.entries().iter().zip(b.entries()).all(|(x, y)| (x - y).norm() < TOLERANCE));
}

#[test]
fn expressions_are_statements() {
    let declared = "int[8] a = 3; bit[4] c = \"0110\"; angle[4] t = 1.0; float x = 0.5; \
        array[int[8], 2] w = {1, 2}; def f(qubit t) -> int[8] { x t; return 5; }";
    for statement in [
        "a == 1;",
        "a << 1;",
        "a;",
        "a[0];",
        "w[1] + a * 2;",
        "c[0] & c[1];",
        "c[0:2];",
        "-a;",
        "!true;",
        "~c;",
        "(a + 1) * 2;",
        "1 + 1;",
        "a ** 2 - 1;",
        "a ** 2 ** 1;",
        "rotl(c, 2);",
        "rotl(c, 2) == \"1001\";",
        "popcount(c) + 1;",
        "popcount(c) ** 2 * 3 < 4;",
        "sin(x) * 2;",
        "int[8](x);",
        "bit[4](t) | c;",
        "sizeof(w);",
        "durationof({ x q[0]; });",
        "for int i in [0:2] a + i;",
    ] {
        let text = format!("{declared} h q[0]; {statement} cx q[0], q[1];");
        let circuit = v3(&text).to_string();
        // Without what is written to classical bits.
        let gates: Vec<&str> = circuit.lines().filter(|line| !line.contains("c[")).collect();
        assert_eq!(gates, ["h q[0]", "cx q[0], q[1]"], "{statement}");
    }
    // What a call does is done.
    for statement in ["f(q[1]);", "f(q[1]) + 1;", "-f(q[1]);", "f(q[1]) == 2;", "2 * f(q[1]);"] {
        let circuit = v3(&format!("{declared} {statement}"));
        assert!(circuit.to_string().ends_with("\nx q[1]\n"), "{statement}: {circuit}");
    }
    for (statement, error) in [
        ("b == 1;", "`b` is not declared"),
        ("rotl(c);", "`rotl` takes 2 arguments, not 1"),
        ("a + ;", "expected an expression"),
        ("a == 1 q[0];", "expected `;`"),
        ("q[0] == 1;", "`q` is"),
    ] {
        let text =
            format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[3] q; {declared} {statement}");
        let failed = parse(&text, &QasmOptions::default()).unwrap_err().to_string();
        assert!(failed.contains(error), "{statement}: {failed}");
    }
    assert!(parse("OPENQASM 2.0; qreg q[1]; creg c[1]; c == 1;", &QasmOptions::default()).is_err());
}

#[test]
fn a_comma_may_follow_the_last_operand() {
    same("cx q[0], q[1],; barrier q[0], q[1],; h q[2],;", "cx q[0], q[1]; h q[2];");
    same("array[int[8], 2,] a = {1, 2,}; nop q[0],; if (a[1] == 2) x q[0];", "x q[0];");
    same(
        "array[int[8], 2, 1,] a; gate g(s,) a, b, { cx a, b,; } g(1,) q[0], q[1],;",
        "cx q[0], q[1];",
    );
    for text in
        ["cx q[0],, q[1];", "cx , q[0], q[1];", "array[int[8],] a;", "array[int[8], 2,,] a;"]
    {
        let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[3] q; {text}");
        assert!(parse(&text, &QasmOptions::default()).is_err(), "{text}");
    }
    let old = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[2]; cx q[0], q[1],;";
    assert!(parse(old, &QasmOptions::default()).is_err());
}

#[test]
fn registers_may_be_empty() {
    for text in [
        "OPENQASM 3.0; include \"stdgates.inc\"; qubit[0] z; bit[0] d; qubit[2] q; bit[2] c; \
         x z; h q; cx z, q[0]; barrier z, q; reset z; d = measure z; c = measure q; if (d == 0) x q;",
        "OPENQASM 2.0; include \"qelib1.inc\"; qreg z[0]; creg d[0]; qreg q[2]; creg c[2]; \
         x z; h q; cx z, q[0]; barrier z, q; reset z; measure z -> d; measure q -> c; if (d == 0) x q;",
    ] {
        let circuit = read(text).circuit;
        assert_eq!((circuit.n_qubits(), circuit.n_bits()), (2, 2), "{text}");
        let registers: Vec<&str> = circuit.registers().iter().map(|r| r.name.as_str()).collect();
        assert_eq!(registers, ["c"]);
        let again = read(&ketgrad_core::print::to_qasm3(&circuit).unwrap()).circuit;
        assert_eq!(again.count_operations(), circuit.count_operations());
    }
    for (text, expected) in [
        ("let a = z ++ q; x a;", "x q[0]\nx q[1]\n"),
        ("{ bit[0] d; d = measure z; } x q[0];", "x q[0]\n"),
        ("if (sizeof(z) == 0) x q[1];", "x q[1]\n"),
        ("def f(qubit[0] w) { x w; } f(z); ctrl @ x z, q[0]; x q[1];", "x q[1]\n"),
        ("input array[float[64], 0] w; x q[0];", "x q[0]\n"),
    ] {
        let text =
            format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[0] z; qubit[2] q; {text}");
        assert_eq!(read(&text).circuit.to_string(), expected, "{text}");
    }
    for (text, error) in [
        ("x z[0];", "index 0 is out of range: `z` has no elements"),
        ("x z[0:1];", "the selection is empty"),
        ("x z[:];", "the selection is empty"),
        ("cx z, q;", "registers of 0 and 2 elements"),
    ] {
        let text =
            format!("OPENQASM 3.0; include \"stdgates.inc\"; qubit[0] z; qubit[2] q; {text}");
        let failed = parse(&text, &QasmOptions::default()).unwrap_err().to_string();
        assert!(failed.contains(error), "{text}: {failed}");
    }
}

#[test]
fn calibrations_are_skipped_whatever_is_in_them() {
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; \
        cal { £ § \\ ` ? complex[float[32]] amp = 1.0 + 2.0im; } \
        defcal x $0 { £ { nested } ° }\ndefcal y $0 { \u{7} }\nx q[0];";
    assert_eq!(read(text).circuit.to_string(), "x q[0]\n");
    let failed = parse("OPENQASM 3.0; qubit q; £ U(1, 2, 3) q;", &QasmOptions::default());
    assert!(failed.unwrap_err().to_string().contains('£'));
}

#[test]
fn files_are_included_from_the_folder_of_the_file_that_includes_them() {
    let files = |name: &str| match name {
        "dir/a.inc" => {
            Ok("include \"../other/b.inc\"; include \"near.inc\"; include \"far.inc\";".to_owned())
        }
        "other/b.inc" => Ok("include \"./c.inc\"; gate b q { c q; }".to_owned()),
        "other/c.inc" => Ok("gate c q { x q; }".to_owned()),
        "dir/near.inc" => Ok("gate near q { y q; }".to_owned()),
        "near.inc" => Ok("gate near q { h q; }".to_owned()),
        "far.inc" => Ok("gate far q { z q; }".to_owned()),
        "dir/round.inc" => Ok("include \"../dir/round.inc\";".to_owned()),
        other => Err(format!("no {other}")),
    };
    let options = QasmOptions::default().with_include(Some(&files));
    let read = |name: &str| {
        let text = format!(
            "OPENQASM 3.0; include \"stdgates.inc\"; include \"{name}\"; qubit q; b q; near q; far q;"
        );
        parse(&text, &options)
    };
    assert_eq!(read("dir/a.inc").unwrap().circuit.to_string(), "x q[0]\ny q[0]\nz q[0]\n");
    let error = read("dir/missing.inc").unwrap_err().to_string();
    assert!(error.contains("no dir/missing.inc"), "{error}");
    let error = read("dir/round.inc").unwrap_err().to_string();
    assert!(error.contains("includes itself"), "{error}");
}

#[test]
fn every_gate_has_its_powers() {
    let head = "qubit[2] w; gate g a, b { BODY }";
    let names =
        ["x", "y", "z", "h", "s", "t", "sx", "id", "rx(0.3)", "ry(1.1)", "rz(0.7)", "p(0.4)"];
    for first in names {
        for second in names.iter().chain(&["cx", "swap", "cz"]) {
            let on = if ["cx", "swap", "cz"].contains(second) { "a, b" } else { "b" };
            let head = head.replace("BODY", &format!("{first} a; {second} {on};"));
            // No root is beside another branch after as many factors.
            for k in [2, 3] {
                let factors = vec![format!("pow(1/{k}) @ g w[0], w[1];"); k].join(" ");
                same(&format!("{head} {factors}"), &format!("{head} g w[0], w[1];"));
            }
        }
    }
    let three = "qubit[3] w; gate g a, b, c { cx a, b; cx b, c; x a; ccx a, c, b; }";
    same(
        &format!("{three} pow(0.25) @ g w[0], w[1], w[2]; pow(0.75) @ g w[0], w[1], w[2];"),
        &format!("{three} g w[0], w[1], w[2];"),
    );
}
