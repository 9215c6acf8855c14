//! Numbers that measurements decide, beside the same file for each value of what is measured.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::Circuit,
    param::Values,
    print::to_qasm3,
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

/// Number of measured bits.
const N: usize = 3;

const HEAD: &str = "OPENQASM 3.0; include \"stdgates.inc\"; \
    def shrunk(bit b, float t) -> float { if (b) { return t / 2; } t += 1; return t; } \
    def turned(bit[3] b, float t) -> float { for int i in [0:2] { if (b[i]) return t * i; t -= 0.5; } return t; } ";

fn read(text: &str) -> Result<Circuit, String> {
    read_as(text, false)
}

/// Reads a text, with variables in the circuit or without.
fn read_as(text: &str, variables: bool) -> Result<Circuit, String> {
    let options = QasmOptions::default().with_variables(variables);
    parse(text, &options).map(|parsed| parsed.circuit).map_err(|e| e.to_string())
}

/// The probabilities of texts of the classical registers.
fn outcomes(circuit: &Circuit) -> BTreeMap<String, f64> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 1 << 12).unwrap();
    crate::shown_bits::distribution(exact.iter().map(|(bits, p)| (bits, *p)), circuit)
}

/// `body` with `c` measured; an error is what the file is refused with.
fn measured(body: &str) -> Result<Circuit, String> {
    measured_as(body, false)
}

fn measured_as(body: &str, variables: bool) -> Result<Circuit, String> {
    let text = format!(
        "{HEAD} qubit[{N}] m; qubit[2] r; bit[{N}] c; bit out; h m; c = measure m; {body} out = measure r[0];"
    );
    read_as(&text, variables)
}

/// Compares a file with those in which `c` is known. Whether it is read.
fn agrees(body: &str) -> Result<(), String> {
    // With variables there is nothing to refuse.
    agrees_as(body, true).unwrap_or_else(|e| panic!("{e}\n{body}"));
    agrees_as(body, false)
}

fn agrees_as(body: &str, variables: bool) -> Result<(), String> {
    let circuit = measured_as(body, variables)?;
    let given = outcomes(&circuit);
    let printed = read_as(&to_qasm3(&circuit).unwrap(), variables).unwrap();
    assert_eq!(outcomes(&printed).len(), given.len(), "{body}");
    for c in 0..1usize << N {
        let known = format!(
            "{HEAD} qubit[2] r; const bit[{N}] c = \"{c:03b}\"; bit out; {body} out = measure r[0];"
        );
        let expected = outcomes(&read(&known).unwrap_or_else(|e| panic!("{e}\n{known}")));
        for out in ["0", "1"] {
            let p = expected.get(out).copied().unwrap_or(0.0);
            let q =
                given.get(&format!("{out} {c:03b}")).copied().unwrap_or(0.0) * f64::from(1u32 << N);
            assert!(
                (p - q).abs() < TOLERANCE,
                "c = {c:03b}: {q} instead of {p}\n{body}\n{circuit}"
            );
        }
    }
    Ok(())
}

fn same(body: &str) {
    agrees(body).unwrap_or_else(|e| panic!("{e}\n{body}"));
}

#[test]
fn branches_choose() {
    same("float x = 0.5; if (c[0]) { x = 0.25; } rx(x) r[0];");
    same(
        "float x = 0.5; if (c[0]) { x += 0.1; } if (c[1]) { x *= 3; } else { x -= pi/3; } rx(x) r[0];",
    );
    same(
        "float x; if (c == 3) { x = 1; } else if (c[2]) { x = 2; } else { x = 3; } ry(x) r[0]; rz(-x) r[0]; rx(x / 2) r[0];",
    );
    same("angle x = pi/2; if (c[1]) x += pi; if (c[2]) x *= 3; ry(x) r[0];");
    same(
        "float x = 1; for int i in [0:2] { if (c[i]) { x += 0.3; ry(x) r[0]; } else { rx(x) r[0]; } }",
    );
    same(
        "float x = 0.1; float y = x; if (c[0]) { x = 2; y = x + 1; } if (c[1]) { y = x; } ry(y) r[0]; rx(x * y) r[0];",
    );
    same("float[32] x = 0.1; if (c[0]) x = 0.2; rx(x) r[0];");
    same(
        "if (c[0]) { float x = 1; if (c[1]) x = 2; ry(x) r[0]; } if (c[2]) { float x = 2; if (c[0]) x = 3; ry(x) r[0]; }",
    );
}

#[test]
fn integers_and_truth_values_become_numbers() {
    same("ry(uint[3](c) * pi/7) r[0];");
    same("int[4] k = int[3](c); rx(k * 0.3 + 1) r[0];");
    same("uint[3] k = c; float x = k; x = x / 7; ry(2 * x) r[0];");
    same(
        "uint[2] k = c[0:1]; ry(2.0 ** k / 3) r[0]; ry(sqrt(float(k))) r[0]; ry(sin(k * pi/4) + cos(k)) r[0];",
    );
    same("bool b = c[1] && !c[0]; float x = b; ry(x) r[0]; rx(float(b) * pi/2) r[0];");
    same("angle[5] t = uint[3](c) * (pi/8); rx(t) r[0]; t += pi/4; ry(t) r[0];");
    same(
        "float x = 0.3 * uint[3](c); int[4] k = int[4](x * 2); bool b = x > 1; if (b) ry(k) r[0]; if (k == 2) x = 7; rx(x) r[0];",
    );
    same(
        "float x = 1.5; if (c[0]) x = 0; if (!(x < 1) || c[1]) rx(1) r[0]; uint[3] k = uint[3](x); k += 1; ry(k) r[0];",
    );
}

#[test]
fn all_gates_take_them() {
    same("U(uint[3](c) * 0.3, 0.2, uint[2](c[1:2]) * 0.7) r[0];");
    same(
        "float x = 1; if (c[0]) x = 2; ry(1) r[1]; ctrl @ rx(x) r[1], r[0]; pow(2) @ inv @ ry(x) r[0]; cu(x, x, 2, 1) r[1], r[0];",
    );
    same("angle[3] t = angle[3](c); ry(1) r; U(t, 2 * t, 0) r[0]; u3(0.4, t, pi/4) r[0];");
    let gate = "float x = 0.5; if (c[1]) x = 1.5; ";
    same(&format!("{gate} ry(x) r; cp(x) r[0], r[1]; h r[0]; negctrl @ gphase(x) r[0]; h r[0];"));
    // Parameters of a gate that are exponents in it.
    let own = format!(
        "{HEAD} gate raised(k, t) a {{ pow(k) @ rx(t) a; }} qubit[3] m; qubit[2] r; bit[3] c; bit out; h m; c = measure m; \
         raised(uint[2](c[0:1]), 0.4) r[0]; out = measure r[0];"
    );
    let given = outcomes(&read(&own).unwrap());
    for c in 0..8u32 {
        let p = (0.2 * f64::from(c & 3)).sin().powi(2) / 8.0;
        assert!((given.get(&format!("1 {c:03b}")).copied().unwrap_or(0.0) - p).abs() < TOLERANCE);
    }
}

#[test]
fn subroutines_take_and_give_them() {
    same("float x = shrunk(c[0], 1); ry(x) r[0]; rx(shrunk(c[1], x)) r[0];");
    same("ry(turned(c, 2.5)) r[0];");
    same("float x = turned(c, 1); if (c[0]) { x = shrunk(c[2], x); } ry(x) r[0];");
    same("for int i in [0:2] { ry(shrunk(c[i], i)) r[0]; }");
}

#[test]
fn what_leaves_a_loop_keeps_its_value() {
    same("float x = 1; for int i in [0:2] { if (c[i]) break; x += 0.5; } ry(x) r[0];");
    same("float x = 1; for int i in [0:2] { x *= 2; if (c[i]) continue; x -= 0.5; } ry(x) r[0];");
    same(
        "float x = 1; int i = 0; while (true) { if (i == 3) { x = 7; break; } if (c[i]) break; i += 1; x = i; } ry(x) r[0];",
    );
    same(
        "float x = 1; for int i in [0:1] { for int j in [0:1] { if (c[i + j]) { x += i; break; } x += 0.25; } if (c[2]) break; } ry(x) r[0];",
    );
}

#[test]
fn a_quotient_by_a_measured_zero_turns_nothing() {
    // All but c = 0, where both files do nothing.
    let text = |ask: &str, gate: &str| {
        format!(
            "{HEAD} qubit[3] m; qubit r; bit[3] c; bit out; h m; c = measure m; uint[3] k = c; {ask} {gate} out = measure r;"
        )
    };
    let options = QasmOptions::default();
    let free = text("", "ry(pi / k) r;");
    let asked = text("if (k != 0)", "ry(pi / k) r;");
    let [free, asked] =
        [free, asked].map(|text| parse(&text, &options).unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(outcomes(&free.circuit), outcomes(&asked.circuit));
    let warnings: Vec<_> = free.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(warnings, ["a measurement decides the divisor, which may be 0"]);
}

#[test]
fn parameters_stay_in_them() {
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit q; bit c; c = measure q; float x = t; \
                if (c) { x = 2 * x + pi; } rx(x) q;";
    let circuit = read(text).unwrap();
    assert_eq!(circuit.inputs().collect::<Vec<_>>(), ["t"]);
    let text = circuit.to_string();
    assert!(text.contains("rx(t) q[0]") && text.contains("rx(pi + 2*t) q[0]"), "{text}");
}

#[test]
fn there_are_not_too_many_values() {
    for (body, message) in [
        (
            "int k = uint[3](c); k *= k; k *= k; rx(k * 0.1) r[0];",
            "measured decide this number; at most 10 may",
        ),
        (
            "angle[12] t; t[0:2] = c; U(t, 0, 0) r[0];",
            "12 bits that are measured decide this number",
        ),
        ("rx(c) r[0];", "bits where an angle is needed"),
        ("rx(c[0] && c[1]) r[0];", "bits where an angle is needed"),
        ("float x; if (c[0]) x = 1; rx(x) r[0];", "`x` depends on a measurement"),
        (
            "float x = 1; while (!c[0]) { x = x / 2; c[0] = measure r[0]; } rx(x) r[0];",
            "`x` depends on a measurement",
        ),
        ("float x = 1; if (c[0]) x = 2; qubit[int(x)] z;", "depends on a measurement"),
        ("float x = 1; if (c[0]) x = 2; c = x;", "a number where a bit string is needed"),
    ] {
        let error = measured(body).unwrap_err();
        assert!(error.contains(message), "{body}: {error}");
    }
    let sums: String =
        (0..20).map(|k| format!("c[0] = measure r[0]; if (c[0]) x += 1.0/{}; ", k + 3)).collect();
    assert!(
        measured(&format!("float x = 0; {sums} rx(x) r[0];")).unwrap_err().contains("`x` depends")
    );
    // Few values by many bits are few gates.
    let sums: String =
        (0..40).map(|_| "h r[0]; c[0] = measure r[0]; if (c[0]) x += 0.25; ".to_owned()).collect();
    let circuit = measured(&format!("float x = 0; {sums} rx(x) r[1];")).unwrap();
    let text = circuit.to_string();
    assert_eq!(text.lines().filter(|line| line.contains("rx(")).count(), 41, "{text}");
}

#[test]
fn arrays_change_under_conditions() {
    same("array[float, 2] x = {1, 2}; if (c[0]) x[0] = 3; rx(x[0]) r[0]; ry(x[1]) r[0];");
    same(
        "array[int[8], 2, 2] n = {{1, 2}, {3, 4}}; if (c[0]) n[1, 0] = 0; if (c[2]) { n[0] = {5, 1}; n[1][1] += 2; } ry((n[0, 0] + n[1, 0] * n[1, 1]) * 0.1) r[0];",
    );
    same(
        "array[bool, 3] b = {true, false, true}; if (c[1]) b[1] = b[0]; b[0] = c[2]; if (b[1] && b[0]) ry(0.7) r[0];",
    );
    same(
        "array[uint[3], 4] n = {0, 0, 0, 0}; uint[2] k = c[0:1]; n[k] = 5; n[1] += 1; ry(n[0] * 0.2 + n[1] * 0.3 + n[3] * 0.7) r[0];",
    );
    same(
        "array[int[4], 3] n = {1, 2, 3}; for int i in [0:2] { if (c[i]) { n[0:1] = n[1:2]; break; } n[2] = 0; } ry((n[0] + n[1] * n[2]) * 0.2) r[0];",
    );
    let up = "def up(mutable array[int[8], 2] n, bit b) { if (b) n[0] += 2; } def sum(readonly array[int[8], #dim = 1] n) -> int[8] { return n[0] + n[1]; }";
    same(&format!(
        "{up} array[int[8], 2] n = {{1, 4}}; up(n, c[0]); up(n, c[1]); ry(sum(n) * 0.2) r[0];"
    ));
    same(&format!(
        "{up} array[int[8], 2, 2] n = {{{{1, 4}}, {{0, 1}}}}; up(n[1], c[0]); ry(sum(n[1]) * 0.2) r[0];"
    ));
}

#[test]
fn casts_of_bits_are_indices() {
    same("array[float, 4] w = {0, pi, 0.5, 0.25}; ry(w[uint[2](c[0:1])]) r[0];");
    same("pow(uint[2](c[0:1])) @ ry(0.4) r[0]; for int i in [0:uint[2](c[1:2])] ry(0.1) r[0];");
    same(
        "array[int[4], 4] n = {0, 0, 0, 0}; n[uint[2](c[0:1])] = 3; ry((n[1] + 2 * n[2]) * 0.3) r[0];",
    );
}

#[test]
fn tables_are_looked_up() {
    let table = "array[float[64], 4] w = {0, pi, 0.5, 0.25}; uint[2] k = c[0:1]; ";
    same(&format!("{table} ry(w[k]) r[0]; rx(w[-1 - k] + w[1]) r[0];"));
    same(
        "array[float, 2, 2] mm = {{0.1, 0.9}, {1.7, 2.2}}; uint[1] i = c[0]; uint[1] j = c[2]; ry(mm[i, j]) r[0]; rx(mm[j][1]) r[0];",
    );
    same(
        "array[int[8], 8] f = {3, 1, 4, 1, 5, -2, 6, 5}; int[8] v = f[uint[3](c)]; v += 1; ry(v * 0.2) r[0];",
    );
    same(
        "const bit[8] f = \"01101001\"; uint[3] k = c; if (f[k]) ry(0.4) r[0]; bit b = f[k]; if (!b) rx(0.7) r[0];",
    );
    same(
        "uint[1] k = c[0]; if (c[k]) ry(0.4) r[0]; bit b = c[k + 1]; if (b || c[-1 - k]) rx(0.3) r[0];",
    );
    same("uint[4] n = c; uint[2] k = c[1:2]; if (n[k]) ry(0.6) r[0];");
    same(&format!(
        "{table} float s = 0; for int i in [0:2] {{ if (c[i]) s += w[i + 1]; }} ry(s + w[k]) r[0];"
    ));
    // Beyond its end there is nothing.
    let text = format!(
        "{HEAD} qubit[3] m; bit[3] c; bit r; h m; c = measure m; uint[2] k = c[0:1]; r = c[k];"
    );
    let parsed = parse(&text, &QasmOptions::default()).unwrap();
    assert_eq!(parsed.warnings[0].message, "index 3 is out of range: `c` has 3 elements");
    let given = outcomes(&parsed.circuit);
    for c in 0..8u32 {
        let bit = c >> (c & 3) & u32::from(c & 3 < 3);
        assert!(given.contains_key(&format!("{} {c:03b}", bit & 1)), "{given:?}");
    }
}

#[test]
fn what_a_statement_needs_is_known_in_each_of_its_cases() {
    // The target, a control and an index of both.
    let start = "qubit[4] a; uint[2] k = c[0:1]; ";
    same(&format!(
        "{start} x a[k]; cx a[2], r[0]; cx a[k], r[0]; ry(0.3) r[0]; cry(1) a[3 - k], r[0]; swap a[k], r[0];"
    ));
    same(&format!(
        "{start} ry(0.4) a; bit mm = measure a[k]; reset a[k]; if (mm) x r[0]; cx a[0], r[0]; barrier a[k], r[0];"
    ));
    same("uint[3] k = c; pow(k) @ ry(0.3) r[0]; pow(-k) @ rx(0.1) r[0];");
    same(
        "uint[2] k = c[0:1]; for int i in [1:k] { ry(i) r[0]; } for uint i in [k:3] { rx(0.2) r[0]; }",
    );
    same(
        "uint[2] k = c[1:2]; uint[8] s = 0; for uint i in [0:k] { s += i; if (s > 3) break; } ry(s * 0.3) r[0];",
    );
    same("int[3] k = c; qubit[8] a; x a[k]; for int i in [0:7] { if (i > 3) cx a[i], r[0]; }");
    same(
        "uint[2] k = c[0:1]; bit[4] d; d[k] = 1; d[3 - k] = c[2]; if (d[1]) ry(0.5) r[0]; if (d[3]) rx(0.5) r[0];",
    );
    same(
        "uint[2] k = c[0:1]; def both(qubit p, qubit q, int n) { for int i in [1:n] { ry(0.3) p; cx p, q; } } qubit[4] a; both(a[k], r[0], 2);",
    );
    same("uint[2] k = c[0:1]; for int i in [0:k] { k += 1; if (k == 3) break; } ry(k) r[0];");
    same(
        "def upto(int[3] k, float t) -> float { for int i in [0:3] { if (i == k) return t; t += 0.4; } return 0; } ry(upto(uint[2](c[0:1]), 1)) r[0];",
    );
    // Where there is no such element, nothing is done; where it is asked for, nothing is said.
    let text = |body: &str| {
        format!(
            "{HEAD} qubit[3] m; qubit[3] a; bit[3] c; h m; c = measure m; uint[2] k = c[0:1]; {body}"
        )
    };
    let free = parse(&text("x a[k];"), &QasmOptions::default()).unwrap();
    let flips = free.circuit.to_string().lines().filter(|line| line.contains("x q[")).count();
    assert_eq!(flips, 3, "{}", free.circuit);
    let warnings: Vec<_> = free.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings,
        ["where `k` is 3, this is left out: index 3 is out of range: `a` has 3 elements"]
    );
    // The two are never the same, which only a run can tell.
    let apart = "qubit[4] a; uint[2] k = c[0:1]; uint[2] j = k + 1; x a[k];";
    same(&format!("{apart} cx a[k], a[j]; cx a[2], r[0]; x a[{{k, j}}]; cx a[0], r[0];"));
    for (body, message) in [
        (
            "int j = c; j = j * j * j * j; x a[j];",
            "bits that are measured decide this number; at most 10 may",
        ),
        ("uint[2] j = c[1:2]; y a[j]; foo a[j];", "gate `foo` is not defined"),
        ("bit[2] d = c[k:k + 1];", "`k` depends on a measurement"),
    ] {
        let error = read(&text(body)).unwrap_err();
        assert!(error.contains(message), "{body}: {error}");
    }
}

/// Integers without a size are made of as many bits as their values.
#[test]
fn integers_in_bits_need_few_of_them() {
    for declared in ["int", "uint", "int[32]", "uint[16]"] {
        same(&format!(
            "{declared} k = 0; for int i in [0:2] {{ if (c[i]) k += 1; }} ry(k * pi/5) r[0];"
        ));
        same(&format!(
            "{declared} k = 5; if (c[0]) {{ k = 2; }} else if (c[1]) {{ k *= 3; }} if (c[2]) k = k % 4; ry(k * 0.1) r[0]; if (k == 15) rx(1) r[0];"
        ));
        same(&format!(
            "{declared} k = uint[3](c); k = k * 2 + 1; if (k > 7) {{ k = k / 2; }} ry(k * 0.2) r[0]; if (k == 4 || k << 1 == 6) rx(1) r[0];"
        ));
        same(&format!(
            "{declared} k = 1; for int i in [0:2] {{ if (c[i]) break; k += 2; }} qubit[8] a; x a[k]; cx a[5], r[0]; ry(k) r[0];"
        ));
    }
    for declared in ["int", "int[32]"] {
        same(&format!(
            "{declared} k = 0; for int i in [0:2] {{ if (c[i]) k -= 1; }} ry(k * pi/5) r[0]; if (k < -1) rx(1) r[0];"
        ));
        same(&format!(
            "{declared} k = int[3](c); {declared} j = -k; j = j - 1; ry(j * 0.3) r[0]; uint[4] u = j; if (u > 7) rx(0.3) r[0];"
        ));
    }
    same(
        "uint k = 0; if (c[0]) k -= 1; if (k > 5) ry(1) r[0]; if (k == 4294967295) rx(1) r[0]; bit[32] b = bit[32](k);",
    );
    same(
        "uint[8] k = 0; if (c[0]) k -= 1; ry((k >> 5) * 0.3) r[0]; int[8] j = k; if (j < 0) rx(0.5) r[0]; if (k[7]) rx(0.1) r[0];",
    );
    // What a loop that a measurement ends counts may need all of them.
    let text = format!(
        "{HEAD} qubit q; bit c; bit[4] r; int k = 0; while (!c) {{ reset q; h q; c = measure q; k += 1; }} if (k > 6) {{ r = 7; }} else {{ r = uint[4](k); }}"
    );
    let bound =
        BoundCircuit::<Complex<f64>>::new(&read(&text).unwrap(), &Values::<f64>(&[])).map(|_| ());
    assert!(bound.is_ok());
}

/// Random statements on two floats.
struct Generator(ChaCha8Rng);

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    fn expr(&mut self, depth: u32) -> String {
        let leaf = depth == 0;
        match self.below(if leaf { 4 } else { 11 }) {
            0 => "x".to_owned(),
            1 => "y".to_owned(),
            2 => format!("{}.{}", self.below(3), self.below(10)),
            3 => format!("pi/{}", 1 + self.below(6)),
            4 => format!("({} + {})", self.expr(depth - 1), self.expr(depth - 1)),
            5 => format!("({} - {})", self.expr(depth - 1), self.expr(depth - 1)),
            6 => format!("{} * 0.5", self.expr(0)),
            7 => format!("uint[2](c[{0}:{1}]) * 0.{2}", 0, 1, 1 + self.below(8)),
            8 => format!("sin({})", self.expr(depth - 1)),
            9 => format!("shrunk(c[{}], {})", self.below(3), self.expr(depth - 1)),
            _ => format!("-{}", self.expr(0)),
        }
    }

    fn condition(&mut self) -> String {
        match self.below(5) {
            0 | 1 => format!("c[{}]", self.below(3)),
            2 => format!("x < {}", self.expr(1)),
            3 => format!("c == {}", self.below(8)),
            _ => format!("!c[{}] && y > 0.{}", self.below(3), self.below(9)),
        }
    }

    fn list(&mut self, depth: u32, in_loop: bool) -> String {
        (0..1 + self.below(3)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> String {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => format!("x = {}; ", self.expr(2)),
            1 => format!("y = {}; ", self.expr(2)),
            2 => format!("ry({}) r[0]; ", self.expr(1)),
            3 => format!("rx({}) r[0]; ", self.expr(1)),
            4 if in_loop => format!(
                "if ({}) {{ {} }} ",
                self.condition(),
                ["break;", "continue;"][self.below(2) as usize]
            ),
            4 => format!("crx({}) r[0], r[1]; ry({}) r[0]; ", self.expr(1), self.expr(0)),
            5 | 6 => format!(
                "if ({}) {{ {}}} else {{ {}}} ",
                self.condition(),
                self.list(depth - 1, in_loop),
                self.list(depth - 1, in_loop)
            ),
            7 => format!("if ({}) {{ {}}} ", self.condition(), self.list(depth - 1, in_loop)),
            _ => format!("for int i in [0:1] {{ {}}} ", self.list(depth - 1, true)),
        }
    }
}

#[test]
fn random_programs_run_as_they_read() {
    let mut generator = Generator(ChaCha8Rng::seed_from_u64(5));
    let (mut compared, mut refused) = (0, 0);
    for _ in 0..600 {
        let body = format!(
            "float x = 0.4; float y = pi/5; {} ry(x) r[0]; rx(y) r[0];",
            generator.list(2, false)
        );
        match agrees(&body) {
            Ok(()) => compared += 1,
            // Too many values.
            Err(error)
                if error.contains("at most 10") || error.contains("depends on a measurement") =>
            {
                refused += 1
            }
            Err(error) => panic!("{error}\n{body}"),
        }
    }
    assert!(compared > 400, "{compared} compared, {refused} refused");
}
