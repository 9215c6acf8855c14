//! OpenQASM as other tools write it, and powers with parameters, against matrices that are built
//! here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::Circuit,
    matrix::Matrix,
    param::Values,
    qasm::{Parsed, QasmOptions, parse},
    simulate::Simulator,
};
use num_complex::Complex;

type C = Complex<f64>;

const TOLERANCE: f64 = 1e-13;

fn v2(body: &str) -> Parsed {
    let text = format!("OPENQASM 2.0;\ninclude \"qelib1.inc\";\n{body}");
    parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{body}\n{e}"))
}

fn v3(body: &str) -> Circuit {
    let text = format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{body}");
    parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{body}\n{e}")).circuit
}

fn refused(text: &str) -> String {
    parse(text, &QasmOptions::default()).unwrap_err().to_string()
}

fn matrix(circuit: &Circuit, inputs: &[f64]) -> Matrix<C> {
    let values = circuit.param_values(inputs).unwrap();
    Simulator::new().matrix(circuit, &Values(&values)).unwrap()
}

fn close(a: &Matrix<C>, b: &Matrix<C>) -> bool {
    a.entries().iter().zip(b.entries()).all(|(x, y)| (x - y).norm() < TOLERANCE)
}

/// Counts of the final contents of classical registers.
fn counts(circuit: &Circuit) -> Vec<(String, u64)> {
    Simulator::new().run_shots::<f64>(circuit, &[], 10, 1).unwrap().into_iter().collect()
}

#[test]
fn a_global_phase_may_name_qubits() {
    let phase = C::cis(-0.785);
    for body in [
        "qreg q[2]; gphase(-0.785) q[0];",
        "qreg q[2]; gphase(-0.785) q[0],q[1];",
        "qreg q[2]; gphase(-0.785) q;",
        "qreg q[2]; gate g(t) a, b { gphase(t) a; } g(-0.785) q[1], q[0];",
    ] {
        let parsed = v2(body);
        let m = matrix(&parsed.circuit, &[]);
        assert!(
            close(&m, &Matrix::from_fn(2, |i, j| if i == j { phase } else { C::default() })),
            "{body}"
        );
        assert!(
            parsed.warnings.iter().any(|w| w.message.contains("`gphase` is not defined here")),
            "{body}"
        );
    }
    let own = v2("qreg q[1]; gate gphase(t) a { rz(t) a; } gphase(1) q[0];");
    assert!(close(&matrix(&own.circuit, &[]), &matrix(&v3("qubit q; rz(1) q;"), &[])));
    let head = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1];";
    assert!(refused(&format!("{head} gphase(1) r[0];")).contains("`r` is not declared"));
}

#[test]
fn registers_get_values_in_version_2() {
    let ends = |body: &str| counts(&v2(body).circuit);
    assert_eq!(
        ends("qreg q[1]; creg a[3]; creg m[1]; a = 5; if(a[2]==1) x q[0]; measure q[0] -> m[0];"),
        [("1 101".to_owned(), 10)]
    );
    assert_eq!(
        ends(
            "qreg q[1]; creg c[3]; creg d[3]; c[1] = 1; d = 6; c = c ^ d; if(c==4) x q[0]; measure q[0] -> d[0];"
        ),
        [("111 100".to_owned(), 10)]
    );
    // By what is measured: 1 and 2 on, and the other one off.
    assert_eq!(
        ends(
            "qreg q[2]; creg c[2]; creg d[2]; x q[0]; measure q -> c; d = ~c; c = (c | d) & 2; d = d ^ c;"
        ),
        [("00 10".to_owned(), 10)]
    );
    // A power stays one in angles.
    let power = v2("qreg q[1]; rx(2^3) q[0];").circuit;
    assert!(close(&matrix(&power, &[]), &matrix(&v3("qubit q; rx(8) q;"), &[])));
    let head = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; creg c[2];";
    assert!(refused(&format!("{head} b = 1;")).contains("`b` is not declared"));
    assert!(refused(&format!("{head} c = 9;")).contains("does not fit"));
    assert!(refused(&format!("{head} c[0] q[0];")).contains("expected `=`"));
    assert!(refused(&format!("{head} q = 1;")).contains("`q`"));
}

#[test]
fn all_but_the_last_qubit_control() {
    for (given, written) in [
        ("mcx q[0],q[1],q[2],q[3];", "ctrl(3) @ x q[0],q[1],q[2],q[3];"),
        ("mcx q[3],q[0];", "cx q[3],q[0];"),
        ("mcphase(0.3) q[0],q[1],q[2];", "ctrl(2) @ p(0.3) q[0],q[1],q[2];"),
        ("mcz q[0],q[1],q[2];", "ctrl(2) @ z q[0],q[1],q[2];"),
        ("gate m a,b,c { mcx a,b,c; } m q[2],q[1],q[0];", "ccx q[2],q[1],q[0];"),
    ] {
        let parsed = v2(&format!("qreg q[4]; {given}"));
        let expected = matrix(&v3(&format!("qubit[4] q; {written}")), &[]);
        assert!(close(&matrix(&parsed.circuit, &[]), &expected), "{given}");
        assert!(
            parsed.warnings.iter().any(|w| w.message.contains("any number of controls")),
            "{given}"
        );
    }
    // Along a register, or with all of it as controls: that is not known.
    let head = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[3]; qreg r[1];";
    let failed = parse(&format!("{head} mcx q, r;"), &QasmOptions::default()).unwrap_err();
    assert!(failed.diagnostics[0].help.as_ref().unwrap().contains("name each of its qubits"));
}

/// `U^t` for `U^2 = 1`: the eigenvalue -1 becomes `e^{i pi t}`.
fn power(u: &Matrix<C>, t: f64) -> Matrix<C> {
    let w = C::cis(std::f64::consts::PI * t);
    Matrix::from_fn(u.n_qubits(), |i, j| {
        let one = if i == j { C::new(1.0, 0.0) } else { C::default() };
        (one * (w + 1.0) + u[(i, j)] * (-w + 1.0)) / 2.0
    })
}

#[test]
fn exponents_are_parameters() {
    for t in [0.3, -0.71, 2.4] {
        for (gate, operands) in [
            ("x", "q[1]"),
            ("y", "q[0]"),
            ("z", "q[2]"),
            ("h", "q[1]"),
            ("id", "q[1]"),
            ("swap", "q[2], q[0]"),
            ("cx", "q[2], q[0]"),
            ("ccx", "q[2], q[0], q[1]"),
            ("ctrl @ h", "q[2], q[0]"),
            ("negctrl @ y", "q[0], q[2]"),
            ("ctrl @ swap", "q[1], q[2], q[0]"),
            ("inv @ z", "q[0]"),
        ] {
            let u = matrix(&v3(&format!("qubit[3] q; {gate} {operands};")), &[]);
            let given = |modifiers: &str| {
                matrix(
                    &v3(&format!("input float t; qubit[3] q; {modifiers} @ {gate} {operands};")),
                    &[t],
                )
            };
            assert!(close(&given("pow(t)"), &power(&u, t)), "{gate} {t}");
            assert!(close(&given("inv @ pow(t)"), &power(&u, -t)), "{gate} {t}");
            assert!(close(&given("pow(-t/2)"), &power(&u, -t / 2.0)), "{gate} {t}");
        }
        // Roots of these are known, angles are multiplied.
        for (given, root, factor) in [
            ("pow(t) @ sx q;", "x", 0.5),
            ("pow(t) @ inv @ sx q;", "x", -0.5),
            ("pow(t) @ s q;", "z", 0.5),
            ("pow(t) @ tdg q;", "z", -0.25),
            ("inv @ pow(3*t) @ t q;", "z", -0.75),
            ("pow(t) @ pow(0.5) @ x q;", "x", 0.5),
            ("gate g(k) a { pow(2*k) @ s a; } g(t) q;", "z", 1.0),
        ] {
            let u = matrix(&v3(&format!("qubit q; {root} q;")), &[]);
            let given_matrix = matrix(&v3(&format!("input float t; qubit q; {given}")), &[t]);
            assert!(close(&given_matrix, &power(&u, factor * t)), "{given} {t}");
        }
        for (given, written) in [
            ("pow(t) @ rx(0.4) q[0];", "rx(0.4*t) q[0];"),
            ("pow(t) @ rx(0.4 + 2*pi*2) q[0];", "rx(0.4*t) q[0];"),
            ("pow(t) @ cp(-0.4) q[0], q[1];", "cp(-0.4*t) q[0], q[1];"),
            ("pow(t) @ rx(t) q[0];", "rx(t*t) q[0];"),
            ("ctrl @ pow(t) @ gphase(0.4) q[0];", "p(0.4*t) q[0];"),
        ] {
            let head = "input float t; qubit[2] q;";
            let of = |body: &str| matrix(&v3(&format!("{head} {body}")), &[t]);
            assert!(close(&of(given), &of(written)), "{given} {t}");
        }
    }
    let head = "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit[2] q; bit[4] c;";
    for body in [
        "pow(t) @ U(0.1, 0.2, 0.3) q[0];",
        "pow(0.5) @ pow(t) @ x q[0];",
        "pow(t) @ pow(t) @ x q[0];",
        "gate mine a, b { cx a, b; h a; } pow(t) @ mine q[0], q[1];",
        "c[0] = measure q[0]; pow(t) @ rx(uint[4](c)) q[1];",
    ] {
        let message = refused(&format!("{head} {body}"));
        assert!(
            message.contains("has no power whose exponent is a parameter"),
            "{body}: {message}"
        );
    }
}
