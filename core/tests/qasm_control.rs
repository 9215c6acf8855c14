//! Loops, subroutines, `switch` and variables of OpenQASM 3: each text against the same circuit written out.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::Circuit,
    param::Values,
    qasm::{Options, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;

/// Sums of a few products of sines.
const TOLERANCE: f64 = 1e-12;

fn text(body: &str) -> String {
    format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}")
}

fn read(body: &str) -> Circuit {
    parse(&text(body), &Options::default()).unwrap_or_else(|e| panic!("{e}\n{body}")).circuit
}

fn error(body: &str) -> String {
    parse(&text(body), &Options::default()).unwrap_err().to_string()
}

/// Both texts come to the same instructions.
fn same(body: &str, written_out: &str) {
    assert_eq!(read(body).to_string(), read(written_out).to_string(), "{body}");
}

/// The probability of each outcome, as it is shown.
fn outcomes(body: &str) -> BTreeMap<String, f64> {
    let circuit = read(body);
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let mut shown = BTreeMap::new();
    for (bits, probability) in Simulator::new().distribution(&bound, 1 << 12).unwrap() {
        // Hidden bits are 0 at the end, so every text comes once.
        assert!(shown.insert(bits.text(&circuit), probability).is_none(), "{body}");
    }
    shown.retain(|_, p| *p > TOLERANCE);
    shown
}

fn equal_outcomes(body: &str, written_out: &str) {
    let (a, b) = (outcomes(body), outcomes(written_out));
    let close =
        a.len() == b.len() && a.iter().all(|(k, p)| b.get(k).is_some_and(|q| (p - q).abs() < TOLERANCE));
    assert!(close, "{a:?}\n{b:?}\n{body}\n{}", read(body));
}

#[test]
fn loops_are_unrolled() {
    same(
        "qubit[4] q; for uint i in [0:2] { cx q[i], q[i + 1]; }",
        "qubit[4] q; cx q[0], q[1]; cx q[1], q[2]; cx q[2], q[3];",
    );
    same("qubit[5] q; for int i in [4:-2:0] x q[i];", "qubit[5] q; x q[4]; x q[2]; x q[0];");
    same("qubit[5] q; for int i in {3, 1} { x q[i]; }", "qubit[5] q; x q[3]; x q[1];");
    same("qubit q; for int i in [3:2] { x q; }", "qubit q;");
    same(
        "qubit q; array[float, 2] a = {0.5, 0.25}; for float t in a { rx(t) q; }",
        "qubit q; rx(0.5) q; rx(0.25) q;",
    );
    same(
        "const int n = 3; qubit[n] q; for int i in [0:n-1] { h q[i]; for int j in [i+1:n-1] { cp(pi / 2**(j-i)) q[j], q[i]; } }",
        "qubit[3] q; h q[0]; cp(pi/2) q[1], q[0]; cp(pi/4) q[2], q[0]; h q[1]; cp(pi/2) q[2], q[1]; h q[2];",
    );
    same(
        "qubit[4] q; int i = 0; while (i < 8) { i += 1; if (i == 2) continue; if (i > 3) break; x q[i]; }",
        "qubit[4] q; x q[1]; x q[3];",
    );
    same("qubit q; x q; end; y q;", "qubit q; x q;");
    same("qubit q; for int i in [0:9] { x q; if (i == 1) { end; } } y q;", "qubit q; x q; x q;");
}

#[test]
fn variables_are_worked_out() {
    same(
        "qubit q; float t = pi; for int i in [1:3] { rz(t) q; t /= 2; }",
        "qubit q; rz(pi) q; rz(pi/2) q; rz(pi/4) q;",
    );
    same(
        "input angle a; qubit q; angle b = a; b = 2*b + pi; rx(b) q;",
        "input angle a; qubit q; rx(2*a + pi) q;",
    );
    same(
        "qubit[3] q; array[int[8], 3] a = {2, 0, 1}; a[1] += 1; x q[a[0]]; y q[a[1]];",
        "qubit[3] q; x q[2]; y q[1];",
    );
    same("qubit[3] q; uint[2] k = 3; k += 2; x q[k];", "qubit[3] q; x q[1];");
    same("qubit[2] q; int i = 0; { int i = 1; x q[i]; } y q[i];", "qubit[2] q; x q[1]; y q[0];");
    same("qubit q; bool b = true; b = !b; if (b) { x q; } else { y q; }", "qubit q; y q;");
}

#[test]
fn switches_choose() {
    let cases = "{ case 0 { x q[0]; } case 1, 2 { y q[0]; } default { z q[0]; } }";
    for (k, gate) in ["x", "y", "y", "z"].iter().enumerate() {
        same(&format!("qubit[2] q; int k = {k}; switch (k) {cases}"), &format!("qubit[2] q; {gate} q[0];"));
    }
    equal_outcomes(
        "qubit[3] q; bit[2] c; bit d; ry(1.1) q[1]; ry(0.7) q[2]; c = measure q[1:2];
         switch (uint[2](c)) { case 0 { ry(0.3) q[0]; } case 1, 2 { ry(0.9) q[0]; } default { x q[0]; } } d = measure q[0];",
        "qubit[3] q; bit[2] c; bit d; ry(1.1) q[1]; ry(0.7) q[2]; c = measure q[1:2];
         if (c == 0) { ry(0.3) q[0]; } if (c == 1) { ry(0.9) q[0]; } if (c == 2) { ry(0.9) q[0]; } if (c == 3) { x q[0]; } d = measure q[0];",
    );
}

#[test]
fn subroutines_are_planned_where_they_are_called() {
    same(
        "qubit[3] q; def pair(qubit[2] a, float t) { rx(t) a; cx a[0], a[1]; } pair(q[1:2], pi/3); pair(q[{2, 0}], 2*0.5);",
        "qubit[3] q; rx(pi/3) q[1:2]; cx q[1], q[2]; rx(1.0) q[{2, 0}]; cx q[2], q[0];",
    );
    same(
        "qubit q; def half(float t) -> float { return t / 2; } rz(half(pi)) q; rz(half(half(pi))) q;",
        "qubit q; rz(pi/2) q; rz(pi/4) q;",
    );
    same(
        "def fib(int n) -> int { if (n < 2) return n; return fib(n - 1) + fib(n - 2); } qubit q; rx(fib(9)) q;",
        "qubit q; rx(34) q;",
    );
    same(
        "qubit q; bit c; def m(qubit a) -> bit { return measure a; } c = m(q);",
        "qubit q; bit c; c = measure q;",
    );
    equal_outcomes(
        "qubit[2] q; bit[2] c; ry(1.0) q; def flip(qubit a) -> bit { bit r; r = measure a; if (r) x a; return r; }
         c[1] = flip(q[0]); c[0] = measure q[0];",
        "qubit[2] q; bit[2] c; ry(1.0) q; c[1] = measure q[0]; if (c[1]) x q[0]; c[0] = measure q[0];",
    );
    equal_outcomes(
        "qubit[2] q; bit c; bit d; ry(1.0) q; def either(bit a, bit b) -> bit { if (a) { return 1; } return b; }
         c = measure q[0]; d = measure q[1]; c = either(c, d);",
        "qubit[2] q; bit c; bit d; ry(1.0) q; c = measure q[0]; d = measure q[1]; if (d) c = 1;",
    );
}

#[test]
fn what_a_measurement_decides() {
    // Repeat until success, with a bound.
    equal_outcomes(
        "qubit q; bit c; bit[2] n; for int i in [1:3] { h q; c = measure q; if (c) break; n[0] = 1; if (i == 2) n[1] = 1; }",
        "qubit q; bit c; bit[2] n; h q; c = measure q; if (!c) { n[0] = 1; }
         if (!c) { h q; c = measure q; if (!c) { n[1] = 1; h q; c = measure q; } }",
    );
    equal_outcomes(
        "qubit[2] q; bit c; bit[2] d; for int i in [0:1] { ry(0.8) q[0]; c = measure q[0]; if (c) { reset q[0]; continue; } x q[1]; d[i] = measure q[1]; } c = 0;",
        "qubit[2] q; bit c; bit[2] d; ry(0.8) q[0]; c = measure q[0]; if (c) { reset q[0]; } else { x q[1]; d[0] = measure q[1]; }
         ry(0.8) q[0]; c = measure q[0]; if (c) { reset q[0]; } else { x q[1]; d[1] = measure q[1]; } c = 0;",
    );
    // The branch around keeps its condition in a bit, since it changes it; leaving must still hold.
    equal_outcomes(
        "qubit[2] q; bit[2] c; bit d; bit l; bit s; ry(1.2) q; for int i in [0:1] { c[0] = measure q[0];
         if (c[0]) { c[0] = measure q[1]; if (c[0]) { break; } x q[1]; d = 1; } ry(0.4) q; } c[1] = measure q[1];",
        "qubit[2] q; bit[2] c; bit d; bit l; bit s; ry(1.2) q;
         c[0] = measure q[0]; s = c[0]; if (s) { c[0] = measure q[1]; } if (s && c[0]) { l = 1; } if (s && !l) { x q[1]; d = 1; } if (!l) { ry(0.4) q; }
         s = 0; if (!l) { c[0] = measure q[0]; s = c[0]; } if (s && !l) { c[0] = measure q[1]; } if (s && c[0] && !l) { l = 1; s = 0; } if (s && !l) { x q[1]; d = 1; } if (!l) { ry(0.4) q; }
         c[1] = measure q[1]; l = 0; s = 0;",
    );
    // A variable that the branches do not agree on.
    equal_outcomes(
        "qubit[2] q; bit[2] c; bit d; int[3] k = 1; ry(1.0) q; c = measure q; if (c[0]) { k = 3; } else if (c[1]) { k = -2; }
         if (k == 3) { x q[0]; } if (k < 0) { x q[1]; } c = measure q; d = 0;",
        "qubit[2] q; bit[2] c; bit d; ry(1.0) q; c = measure q; if (c[0]) { x q[0]; } else if (c[1]) { x q[1]; } c = measure q; d = 0;",
    );
}

#[test]
fn what_cannot_be_known_is_an_error() {
    for (body, message) in [
        ("qubit q; bit c; while (c) { c = measure q; }", "how often this loop runs depends on a measurement"),
        (
            "qubit q; bit c; float t = 0; c = measure q; if (c) { t = 1; } rx(t) q;",
            "`t` depends on a measurement",
        ),
        ("qubit q; int i; rx(i) q;", "`i` has no value yet"),
        ("break;", "`break` must stand within a loop"),
        ("return;", "`return` must stand within a subroutine"),
        ("qubit q; def f(qubit a) { x a; } f q;", "`f` is a subroutine"),
        ("qubit q; def f() { x q; } f();", "`q` is not declared"),
        ("def f(int n) -> int { return f(n); } qubit q; rx(f(1)) q;", "nested more than 64 deep"),
        ("qubit[2] q; def f(qubit a, qubit b) { cx a, b; } f(q[0], q[0]);", "used twice by `f`"),
        ("qubit q; for int i in [0:2] { qubit r; }", "cannot stand within a block"),
        ("qubit[2] q; for int i in [0:5] { x q[i]; }", "index 2 is out of range"),
    ] {
        assert!(error(body).contains(message), "{body}: {}", error(body));
    }
    let endless = Options { max_gates: 1000, ..Options::default() };
    let failed = parse(&text("int i = 0; while (true) { i += 1; }"), &endless).unwrap_err();
    assert!(failed.to_string().contains("more than 1000 statements"), "{failed}");
}
