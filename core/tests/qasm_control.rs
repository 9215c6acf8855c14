//! Loops, subroutines, `switch` and variables of OpenQASM 3: each text against the same circuit
//! written out.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::Circuit,
    param::Values,
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Sums of a few products of sines.
const TOLERANCE: f64 = 1e-12;

fn text(body: &str) -> String {
    format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}")
}

fn read(body: &str) -> Circuit {
    parse(&text(body), &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{body}")).circuit
}

fn error(body: &str) -> String {
    parse(&text(body), &QasmOptions::default()).unwrap_err().to_string()
}

/// Both texts come to the same instructions.
fn same(body: &str, written_out: &str) {
    assert_eq!(read(body).to_string(), read(written_out).to_string(), "{body}");
}

/// The probability of each outcome, as it is shown.
fn outcomes(body: &str) -> BTreeMap<String, f64> {
    let given = outcomes_of(&read(body));
    // With variables in the circuit the same.
    let options = QasmOptions::default().with_variables(true);
    let circuit = parse(&text(body), &options).unwrap_or_else(|e| panic!("{e}\n{body}")).circuit;
    let with_variables = outcomes_of(&circuit);
    let is_same = |(text, p): (&String, &f64)| {
        with_variables.get(text).is_some_and(|q| (p - q).abs() < TOLERANCE)
    };
    assert!(
        given.len() == with_variables.len() && given.iter().all(is_same),
        "{given:?}\n{with_variables:?}\n{body}\n{circuit}"
    );
    given
}

fn outcomes_of(circuit: &Circuit) -> BTreeMap<String, f64> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 1 << 12).unwrap();
    let mut shown =
        crate::shown_bits::distribution(exact.iter().map(|(bits, p)| (bits, *p)), circuit);
    shown.retain(|_, p| *p > TOLERANCE);
    shown
}

fn equal_outcomes(body: &str, written_out: &str) {
    let (a, b) = (outcomes(body), outcomes(written_out));
    let close = a.len() == b.len()
        && a.iter().all(|(k, p)| b.get(k).is_some_and(|q| (p - q).abs() < TOLERANCE));
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
fn loops_in_gate_definitions_are_unrolled() {
    let gate = |body: &str| {
        format!(
            "const int n = 2; gate g(a, k) p, r {{ {body} }} qubit[2] q; input float t; g(t, 2) q[0], q[1];"
        )
    };
    same(
        &gate("for int i in [1:n] { rx(a/i) p; for int j in [i:-1:1] cp(pi/2**j) p, r; }"),
        &gate("rx(a) p; cp(pi/2) p, r; rx(a/2) p; cp(pi/4) p, r; cp(pi/2) p, r;"),
    );
    same(
        &gate("for float x in {0.5, a, 2*k} { rz(x) r; }"),
        &gate("rz(0.5) r; rz(a) r; rz(2*k) r;"),
    );
    // A loop hides a parameter of its name, and ends.
    same(&gate("for int a in [3:4] { rx(a) p; } rx(a) p;"), &gate("rx(3) p; rx(4) p; rx(a) p;"));
    same(&gate("for int i in [1:0] { x p; } inv @ h p;"), &gate("h p;"));
    same(&gate("for uint[2] i in {1, 3} { rx(i + 1) p; }"), &gate("rx(2) p; rx(0) p;"));
    for (body, words) in [
        ("for int i in [0:1] { rx(i) s; }", "`s` is not declared"),
        ("for int i in [0:a] { x p; }", "must be a constant"),
        ("for int i in [0:1] { x p; } rx(i) p;", "`i` is not declared"),
        ("for int i in [0:1] { x p; break; }", "gate"),
    ] {
        let message = error(&gate(body));
        assert!(message.contains(words), "{body}: {message}");
    }
}

#[test]
fn loops_in_gate_definitions_have_an_end() {
    let body = text("gate g p { for int i in [0:1000000000000] { } } qubit q;");
    let failed = parse(&body, &QasmOptions::default().with_max_gates(1000)).unwrap_err();
    assert!(failed.to_string().contains("more than 1000 statements"), "{failed}");
    // Without a round: the numbers say so.
    assert!(error("int i = 0; while (true) { i += 1; }").contains("this loop never ends"));
    assert!(
        error("qubit q; for int i in [0:9000000000] { x q; }")
            .contains("more than 100000000 statements")
    );
    let left = "int n = 0; for int i in [0:9000000000] { n = i; if (i == 3) { break; } } while (true) { n += 1; if (n > 9) { break; } } \
                qubit q; rx(n) q;";
    assert!(parse(&text(left), &QasmOptions::default()).is_ok());
}

#[test]
fn bits_of_integers_are_read() {
    same(
        "qubit[4] q; uint[4] k = 6; for int i in [0:3] { if (k[i] == 1) x q[i]; }",
        "qubit[4] q; x q[1]; x q[2];",
    );
    same(
        "qubit q; const int[8] k = -2; if (k[7] && !k[0]) x q; if (k[-1]) y q;",
        "qubit q; x q; y q;",
    );
    assert!(error("qubit q; uint[4] k = 6; if (k[4]) x q;").contains("4"));
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
        same(
            &format!("qubit[2] q; int k = {k}; switch (k) {cases}"),
            &format!("qubit[2] q; {gate} q[0];"),
        );
    }
    equal_outcomes(
        "qubit[3] q; bit[2] c; bit d; ry(1.1) q[1]; ry(0.7) q[2]; c = measure q[1:2];
         switch (uint[2](c)) { case 0 { ry(0.3) q[0]; } case 1, 2 { ry(0.9) q[0]; } default { x q[0]; } } d = measure q[0];",
        "qubit[3] q; bit[2] c; bit d; ry(1.1) q[1]; ry(0.7) q[2]; c = measure q[1:2];
         if (c == 0) { ry(0.3) q[0]; } if (c == 1) { ry(0.9) q[0]; } if (c == 2) { ry(0.9) q[0]; } if (c == 3) { x q[0]; } d = measure q[0];",
    );
}

#[test]
fn labels_of_a_switch_are_whole_and_differ() {
    let of = |cases: &str| error(&format!("qubit q; int k = 0; switch (k) {{ {cases} }}"));
    assert!(
        of("case 0 { x q; } case 1, 2 - 2 { y q; }")
            .contains("an earlier case of this `switch` is 0, too")
    );
    assert!(
        of("case 0 { x q; } case 1, 0.5 { y q; }").contains("a number where an integer is needed")
    );
    assert!(of("default { x q; } case 1 { y q; }").contains("expected `}`, found `case`"));
    assert!(of("default { x q; } default { y q; }").contains("expected `}`, found `default`"));
    let measured =
        error("qubit q; bit[2] c; switch (uint[2](c)) { case 1 { x q; } case 1 { y q; } }");
    assert!(measured.contains("an earlier case of this `switch` is 1, too"), "{measured}");
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
fn subroutines_come_before_their_use() {
    let def = "def flip(qubit a) -> int { x a; return 1; }";
    for call in ["flip(q);", "int k = flip(q);", "rx(flip(q)) q;"] {
        let message = error(&format!("qubit q; {call} {def}"));
        assert!(
            message.contains("subroutine `flip` is used before it is defined"),
            "{call}: {message}"
        );
        read(&format!("qubit q; {def} {call}"));
    }
}

#[test]
fn what_cannot_be_known_is_an_error() {
    for (body, message) in [
        ("qubit q; float t; rx(t) q;", "`t` has no value yet"),
        ("int k = 2; gate g a { rx(k) a; }", "`k` is a variable, not a constant"),
        ("break;", "`break` must be within a loop"),
        ("return;", "`return` must be within a subroutine"),
        ("qubit q; def f(qubit a) { x a; } f q;", "`f` is a subroutine"),
        ("qubit q; def f() { x q; } f();", "`q` is not declared"),
        ("def f(int n) -> int { return f(n); } qubit q; rx(f(1)) q;", "nested more than 64 deep"),
        ("qubit[2] q; def f(qubit a, qubit b) { cx a, b; } f(q[0], q[0]);", "used twice by `f`"),
        ("qubit q; for int i in [0:2] { qubit r; }", "is not allowed within a block"),
        ("qubit[2] q; for int i in [0:5] { x q[i]; }", "index 2 is out of range"),
    ] {
        assert!(error(body).contains(message), "{body}: {}", error(body));
    }
    let endless = QasmOptions::default().with_max_gates(1000);
    let failed = parse(&text("int i = 0; while (i >= 0) { i += 1; }"), &endless).unwrap_err();
    assert!(failed.to_string().contains("more than 1000 statements"), "{failed}");
}

/// Statement of a random program: two qubits, three bits, an integer, and a subroutine that
/// measures and returns early.
enum Step {
    /// By a constant, plus the round of the innermost loop.
    Ry(u32, usize),
    Cx(usize),
    Measure(usize, usize),
    Reset(usize),
    Set(usize, bool),
    SetK(i64),
    AddK(i64),
    /// The same of another integer, without a sign; its sum with the first one; what a subroutine
    /// with a loop counts.
    SetU(i64),
    AddU(i64),
    SumU,
    Count(usize),
    /// A truth value is inverted, or asks for the integer.
    Not,
    Ask(i64),
    /// A bit of the second integer.
    BitU(usize, bool),
    Flip(usize, usize),
    If(When, Vec<Step>, Vec<Step>),
    For(i64, Vec<Step>),
    /// As a loop that counts by itself.
    While(i64, Vec<Step>),
    /// Until a bit is 1, or twice: a loop that a measurement ends.
    Until(usize, Vec<Step>),
    /// The same, left from within.
    Forever(usize, Vec<Step>),
    /// By the integer: where it is -1, where it is 0 or 1, else.
    Switch([Vec<Step>; 3]),
    Break,
    Continue,
    End,
}

enum When {
    Bit(usize, bool),
    Both(usize, usize),
    K(i64),
    U(i64),
    B,
    Round(i64),
}

const FLIP: &str = "def flip(qubit a) -> bit { bit r = measure a; if (r) { x a; return 1; } ry(0.5) a; return 0; }";

/// Its integer changes before and after whatever leaves the loop.
const COUNT: &str = "def count(qubit a) -> uint[3] { uint[3] n = 1; for int i in [0:1] { bit r = measure a;
    if (r) { n += 2; continue; } ry(0.7) a; r = measure a; if (r) { n = 6; break; } n += 1; if (n == 3) return 7; } n += 1; return n; }";

struct Generator(ChaCha8Rng);

impl Generator {
    fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }

    fn index(&mut self, n: u32) -> usize {
        self.below(n) as usize
    }

    /// Statements in a number of loops whose iterations are known, perhaps within another that can
    /// be left.
    fn list(&mut self, depth: usize, loops: usize, leave: bool) -> Vec<Step> {
        (0..1 + self.below(4)).map(|_| self.step(depth, loops, leave)).collect()
    }

    fn when(&mut self, loops: usize) -> When {
        match self.below(if loops > 0 { 8 } else { 7 }) {
            5 => When::U(i64::from(self.below(8))),
            6 => When::B,
            0 | 1 => When::Bit(self.index(3), true),
            2 => When::Bit(self.index(3), false),
            3 => When::Both(self.index(3), self.index(3)),
            4 => When::K(i64::from(self.below(4)) - 1),
            _ => When::Round(i64::from(self.below(2))),
        }
    }

    fn step(&mut self, depth: usize, loops: usize, leave: bool) -> Step {
        if self.below(4) == 0 {
            return match self.below(8) {
                0 => Step::SetU(i64::from(self.below(8))),
                1 => Step::AddU(i64::from(self.below(8))),
                2 => Step::SumU,
                3 | 4 => Step::Count(self.index(2)),
                5 => Step::Not,
                6 => Step::Ask(i64::from(self.below(4)) - 1),
                _ => Step::BitU(self.index(3), self.below(2) == 1),
            };
        }
        match self.below(if depth == 0 { 9 } else { 20 }) {
            0 => Step::Ry(1 + self.below(9), self.index(2)),
            1 => Step::Cx(self.index(2)),
            2 => Step::Measure(self.index(3), self.index(2)),
            3 => Step::Reset(self.index(2)),
            4 => Step::Set(self.index(3), self.below(2) == 1),
            5 => Step::SetK(i64::from(self.below(4)) - 1),
            6 => Step::AddK(i64::from(self.below(4)) - 1),
            7 | 9 if leave && self.below(2) == 0 => {
                if self.below(2) == 0 {
                    Step::Break
                } else {
                    Step::Continue
                }
            }
            7..=9 => Step::Flip(self.index(3), self.index(2)),
            10..=12 => {
                let otherwise =
                    if self.below(2) == 0 { vec![] } else { self.list(depth - 1, loops, leave) };
                Step::If(self.when(loops), self.list(depth - 1, loops, leave), otherwise)
            }
            // What may be left from there is another loop.
            14 => Step::Switch([(); 3].map(|()| self.list(depth - 1, 0, false))),
            15 if self.below(2) == 0 => Step::End,
            16 => Step::Until(self.index(3), self.list(depth - 1, 0, true)),
            17 => Step::Forever(self.index(3), self.list(depth - 1, 0, true)),
            18 if loops < 2 => Step::While(2, self.list(depth - 1, loops + 1, true)),
            _ if loops < 2 => Step::For(2, self.list(depth - 1, loops + 1, true)),
            _ => Step::Ry(3, 0),
        }
    }
}

fn write(list: &[Step], loops: usize, out: &mut String) {
    for step in list {
        let round = if loops > 0 { format!("i{loops}") } else { "0".to_owned() };
        match step {
            Step::Ry(t, q) => *out += &format!("ry(0.{t} + {round}) q[{q}]; "),
            Step::Cx(q) => *out += &format!("cx q[{q}], q[{}]; ", 1 - q),
            Step::Measure(c, q) => *out += &format!("c[{c}] = measure q[{q}]; "),
            Step::Reset(q) => *out += &format!("reset q[{q}]; "),
            Step::Set(c, value) => *out += &format!("c[{c}] = {value}; "),
            Step::SetK(k) => *out += &format!("k = {k}; "),
            Step::AddK(k) => *out += &format!("k += {k}; "),
            Step::SetU(u) => *out += &format!("u = {u}; "),
            Step::AddU(u) => *out += &format!("u += {u}; "),
            Step::SumU => *out += "u = u + k; ",
            Step::Count(q) => *out += &format!("u = count(q[{q}]); "),
            Step::Not => *out += "b = !b; ",
            Step::Ask(k) => *out += &format!("b = k > {k}; "),
            Step::BitU(at, value) => *out += &format!("u[{at}] = {value}; "),
            Step::Flip(c, q) => *out += &format!("c[{c}] = flip(q[{q}]); "),
            Step::If(when, then, otherwise) => {
                let when = match when {
                    When::Bit(c, value) => format!("c[{c}] == {value}"),
                    When::Both(a, b) => format!("c[{a}] && !c[{b}]"),
                    When::K(k) => format!("k == {k}"),
                    When::U(u) => format!("u >= {u}"),
                    When::B => "b".to_owned(),
                    When::Round(i) => format!("{round} == {i}"),
                };
                *out += &format!("if ({when}) {{ ");
                write(then, loops, out);
                if !otherwise.is_empty() {
                    *out += "} else { ";
                    write(otherwise, loops, out);
                }
                *out += "} ";
            }
            Step::For(n, body) => {
                *out += &format!("for int i{} in [0:{}] {{ ", loops + 1, n - 1);
                write(body, loops + 1, out);
                *out += "} ";
            }
            Step::While(n, body) => {
                let i = format!("i{}", loops + 1);
                *out +=
                    &format!("if (true) {{ int[8] {i} = -1; while ({i} < {}) {{ {i} += 1; ", n - 1);
                write(body, loops + 1, out);
                *out += "} } ";
            }
            Step::Until(c, body) => {
                // One condition is computed in each round.
                let few = if *c == 0 { "2 * m - 3 < 0" } else { "m < 2" };
                *out += &format!("if (true) {{ int[4] m = 0; while (!c[{c}] && {few}) {{ m += 1; ");
                write(body, 0, out);
                *out += "} } ";
            }
            Step::Forever(c, body) => {
                *out += "if (true) { uint m = 0; while (true) { ";
                *out += &format!("m += 1; if (c[{c}] || m > 2) {{ break; }} ");
                write(body, 0, out);
                *out += "} } ";
            }
            Step::Switch(lists) => {
                *out += "switch (k) { ";
                for (list, case) in lists.iter().zip(["case -1", "case 0, 1", "default"]) {
                    *out += &format!("{case} {{ ");
                    write(list, loops, out);
                    *out += "} ";
                }
                *out += "} ";
            }
            Step::Break => *out += "break; ",
            Step::Continue => *out += "continue; ",
            Step::End => *out += "end; ",
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    On,
    Break,
    Continue,
    End,
}

/// One run, statement by statement, whose measurements come out as they are told.
struct Run<'s> {
    /// Amplitudes are real here.
    state: [f64; 4],
    bits: [bool; 3],
    k: i64,
    u: i64,
    b: bool,
    outcomes: &'s mut Vec<bool>,
    taken: usize,
}

impl Run<'_> {
    fn ry(&mut self, angle: f64, q: usize) {
        let (sin, cos) = (angle / 2.0).sin_cos();
        for i in (0..4).filter(|i| i >> q & 1 == 0) {
            let (a, b) = (self.state[i], self.state[i | 1 << q]);
            (self.state[i], self.state[i | 1 << q]) = (cos * a - sin * b, sin * a + cos * b);
        }
    }

    fn measure(&mut self, q: usize) -> bool {
        if self.taken == self.outcomes.len() {
            self.outcomes.push(false);
        }
        let outcome = self.outcomes[self.taken];
        self.taken += 1;
        for i in (0..4).filter(|i| (i >> q & 1 == 1) != outcome) {
            self.state[i] = 0.0;
        }
        outcome
    }

    fn x(&mut self, q: usize) {
        for i in (0..4).filter(|i| i >> q & 1 == 0) {
            self.state.swap(i, i | 1 << q);
        }
    }

    /// The subroutine of this name.
    fn count(&mut self, q: usize) -> i64 {
        let mut n = 1;
        for _ in 0..2 {
            if self.measure(q) {
                n += 2;
                continue;
            }
            self.ry(0.7, q);
            if self.measure(q) {
                n = 6;
                break;
            }
            n += 1;
            if n == 3 {
                return 7;
            }
        }
        (n + 1) % 8
    }

    fn list(&mut self, list: &[Step], round: i64) -> Way {
        for step in list {
            match step {
                Step::Ry(t, q) => self.ry(f64::from(*t) / 10.0 + round as f64, *q),
                Step::Cx(q) => self.state.swap(1 << q, 3),
                Step::Measure(c, q) => self.bits[*c] = self.measure(*q),
                Step::Reset(q) => {
                    if self.measure(*q) {
                        self.x(*q);
                    }
                }
                Step::Set(c, value) => self.bits[*c] = *value,
                Step::SetK(k) => self.k = *k,
                // In four bits.
                Step::AddK(k) => self.k = (self.k + k + 8).rem_euclid(16) - 8,
                // In three bits.
                Step::SetU(u) => self.u = *u,
                Step::AddU(u) => self.u = (self.u + u) % 8,
                Step::SumU => self.u = (self.u + self.k).rem_euclid(8),
                Step::Count(q) => self.u = self.count(*q),
                Step::Not => self.b = !self.b,
                Step::Ask(k) => self.b = self.k > *k,
                Step::BitU(at, value) => self.u = self.u & !(1 << at) | i64::from(*value) << at,
                Step::Flip(c, q) => {
                    let one = self.measure(*q);
                    if one {
                        self.x(*q);
                    } else {
                        self.ry(0.5, *q);
                    }
                    self.bits[*c] = one;
                }
                Step::If(when, then, otherwise) => {
                    let holds = match when {
                        When::Bit(c, value) => self.bits[*c] == *value,
                        When::Both(a, b) => self.bits[*a] && !self.bits[*b],
                        When::K(k) => self.k == *k,
                        When::U(u) => self.u >= *u,
                        When::B => self.b,
                        When::Round(i) => round == *i,
                    };
                    let way = self.list(if holds { then } else { otherwise }, round);
                    if way != Way::On {
                        return way;
                    }
                }
                Step::For(n, body) | Step::While(n, body) => {
                    for i in 0..*n {
                        match self.list(body, i) {
                            Way::Break => break,
                            Way::End => return Way::End,
                            Way::On | Way::Continue => {}
                        }
                    }
                }
                Step::Until(c, body) | Step::Forever(c, body) => {
                    for _ in 0..2 {
                        if self.bits[*c] {
                            break;
                        }
                        match self.list(body, 0) {
                            Way::Break => break,
                            Way::End => return Way::End,
                            Way::On | Way::Continue => {}
                        }
                    }
                }
                Step::Switch(lists) => {
                    let which = match self.k {
                        -1 => 0,
                        0 | 1 => 1,
                        _ => 2,
                    };
                    let way = self.list(&lists[which], round);
                    if way != Way::On {
                        return way;
                    }
                }
                Step::Break => return Way::Break,
                Step::Continue => return Way::Continue,
                Step::End => return Way::End,
            }
        }
        Way::On
    }
}

/// The probability of each value of the bits, over all outcomes of all measurements. `None` if
/// there are too many.
fn reference(program: &[Step]) -> Option<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    let mut outcomes = Vec::new();
    for _ in 0..1 << 12 {
        let mut run = Run {
            state: [1.0, 0.0, 0.0, 0.0],
            bits: [false; 3],
            k: 0,
            u: 0,
            b: false,
            outcomes: &mut outcomes,
            taken: 0,
        };
        // What `end` leaves does not come to the last statement.
        let shown = if run.list(program, 0) == Way::End {
            0
        } else {
            run.k & 15 | run.u << 4 | i64::from(run.b) << 7
        };
        let p: f64 = run.state.iter().map(|a| a * a).sum();
        let bits: String = run.bits.iter().rev().map(|&b| if b { '1' } else { '0' }).collect();
        let text = format!("{shown:08b} {bits}");
        let taken = run.taken;
        outcomes.truncate(taken);
        *found.entry(text).or_insert(0.0) += p;
        // The next one in order: the last 0 becomes 1.
        while outcomes.pop_if(|last| *last).is_some() {}
        match outcomes.last_mut() {
            Some(last) => *last = true,
            None => {
                found.retain(|_, p| *p > TOLERANCE);
                return Some(found);
            }
        }
    }
    None
}

#[test]
fn random_programs_run_as_they_read() {
    let mut generator = Generator(ChaCha8Rng::seed_from_u64(11));
    let (mut compared, mut loops) = (0, 0);
    for number in 0..4000 {
        let program = generator.list(3, 0, false);
        let mut body = format!(
            "{FLIP} {COUNT} qubit[2] q; bit[3] c; int[4] k = 0; uint[3] u = 0; bool b = false; bit[8] shown; "
        );
        write(&program, 0, &mut body);
        body += "shown[0:3] = k; shown[4:6] = u; shown[7] = b;";
        let Some(expected) = reference(&program) else { continue };
        let circuit = match parse(&text(&body), &QasmOptions::default()) {
            Ok(parsed) => parsed.circuit,
            Err(failed) => panic!("{body}: {failed}"),
        };
        // With variables too, of every fourth.
        let given = if number % 4 == 0 { outcomes(&body) } else { outcomes_of(&read(&body)) };
        let close = given.len() == expected.len()
            && expected.iter().all(|(k, p)| given.get(k).is_some_and(|q| (p - q).abs() < 1e-9));
        assert!(close, "{given:?} instead of {expected:?}\n{body}\n{circuit}");
        compared += 1;
        loops += usize::from(!circuit.loops().is_empty());
    }
    assert!(compared > 2500 && loops > 300, "{compared} compared, {loops} of them with loops");
}
