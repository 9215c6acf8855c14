//! OpenQASM read into circuits with variables: what measurements decide is in memory.
//!
//! Random programs are compared with the reading without variables in `qasm_control` and
//! `qasm_choices`; here are the values that the specification gives, and sizes.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, Operation},
    param::Values,
    print::to_qasm3,
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;

fn read(body: &str) -> Circuit {
    let text = match body.starts_with("OPENQASM") {
        true => body.to_owned(),
        false => format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}"),
    };
    let options = QasmOptions::default().with_variables(true);
    parse(&text, &options).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

/// The probability of each outcome, of registers and variables.
fn outcomes(circuit: &Circuit) -> BTreeMap<String, f64> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 1 << 12).unwrap();
    let mut shown = BTreeMap::new();
    for (bits, probability) in exact {
        *shown.entry(bits.text(circuit)).or_insert(0.0) += probability;
    }
    shown
}

/// The one outcome of a circuit, which is that of its text too.
fn outcome(body: &str) -> String {
    let circuit = read(body);
    let given = outcomes(&circuit);
    assert_eq!(given.len(), 1, "{given:?}\n{body}");
    let printed = to_qasm3(&circuit).unwrap();
    let text = given.into_keys().next().unwrap();
    let back = outcomes(&read(&printed)).into_keys().next().unwrap();
    // In a text the names of gates are taken, and no variable is hidden.
    let back = back.replace("_1=", "=");
    for word in text.split(' ') {
        assert!(back.split(' ').any(|other| other == word), "{text}\n{back}\n{printed}");
    }
    text
}

/// Values by the one rule for operands of different types, for measured values: `m` is 1.
#[test]
fn measured_values_convert_by_the_rule() {
    for (body, value) in [
        // The specification's own example, and sums that wrap.
        ("int[16] w = -4 + uint[8](m);", "w=-3"),
        ("uint[8] a = 200; a += uint[8](m); uint[8] b = 56; a = a + b;", "a=1"),
        ("uint[8] a = uint[8](m) + 255; int[16] b = a + int[16](m);", "b=1"),
        ("uint u = uint(m); int s = -1; bool b = s < u;", "b=false"),
        // One digit has a type and a sign.
        ("int[8] a = int[1](m); a |= 0;", "a=-1"),
        ("int[16] x = (uint[8](m) | 0) - 2;", "x=255"),
        ("int[8] a = int[1](m); bool b = a == uint[8](uint[1](m));", "b=false"),
        ("uint[8] x = (uint[1](m) & 0) >> 1;", "x=0"),
        ("bool b = uint[8](m) <= uint[8](m);", "b=true"),
        ("int[8] a = int[8](m == 1);", "a=1"),
        // Bits.
        ("uint[8] x = 0; x[3] = m; x[0] = m;", "x=9"),
        ("uint[8] x = rotl(uint[8](m), 7);", "x=128"),
        ("uint[8] x = ~uint[8](m);", "x=254"),
        ("angle[4] a = pi / 2; a += m * pi;", "a=4.71238898038469"),
        ("uint[8] p = 3 ** uint[4](m); p = p ** (p - uint[4](m));", "p=9"),
        // Division, floats and functions.
        ("uint[4] q = uint[4](m) / (uint[4](m) - 1);", "q=15"),
        ("float f = m; f = 1 / (f - 1);", "f=inf"),
        ("float f = m; f = sqrt(-f);", "f=NaN"),
        ("float f = 0; while (f < uint(m)) { f += 0.1; }", "f=1.0999999999999999"),
        ("int[8] k = int[8](m); int[8] n = mod(-7 * k, 3);", "n=2"),
    ] {
        let text = outcome(&format!("qubit z; bit m; x z; m = measure z; {body}"));
        assert!(text.split(' ').any(|word| word == value), "{text}, not {value}: {body}");
    }
}

/// Arrays, subroutines and choices whose values are measured.
#[test]
fn measured_values_go_everywhere() {
    for (body, value) in [
        ("array[uint[8], 4] a; a[m + 1] = 7; uint[8] n = a[2 * m];", "n=7"),
        ("array[int[8], 2, 3] a; int[8] k = m; a[k, -1] = 5; int[8] n = a[1, 1 + k];", "n=5"),
        ("const array[uint[8], 3] t = {2, 3, 5}; uint[8] n = t[1 + m];", "n=5"),
        ("uint[8] n = 0; for uint[8] k in [m:4] { if (k == 3) continue; n += k; }", "n=7"),
        ("int n = 0; for int k in [4:-m:1] { n = n * 10 + k; }", "n=4321"),
        ("uint[8] n = 0; while (true) { n += m; if (n == 200) break; }", "n=200"),
        ("uint[8] n = m; switch (n + 1) { case 0, 2 { n = 9; } default { n = 8; } }", "n=9"),
        ("uint[8] n = twice(m) + twice(twice(m));", "n=6"),
        ("array[uint[8], 2] a; more(a, m); more(a, m); uint[8] n = a[m];", "n=2"),
        ("uint[8] n = fact(m + 4);", "n=120"),
        ("bit[3] c = \"000\"; uint[2] k = m; c[k + 1] = m; uint[8] n = uint[3](c);", "n=4"),
        ("uint[2] k = m; x r[k]; cx r[k], r[k + 1]; bit[3] c = measure r; uint[8] n = c;", "n=6"),
        // A subroutine gives a known index, and is called once for the ends of a range.
        ("x r[one()]; bit[3] c = measure r; uint[8] n = c;", "n=2"),
        (
            "uint[8] n = 0; for int k in [0:turned(r[0])] { reset r[1]; n += 1; } bit b = measure r[0]; n = n + b;",
            "n=4",
        ),
        // No number of three bits is 2^200.
        (
            "bit[3] c = \"101\"; bool b = c < 1606938044258990275541962092341162602522202993782792835301376 && m; uint[8] n = m; if (b) n = 2;",
            "n=2",
        ),
        // What an index reads is not changed before all cases are done.
        ("bit[4] c = \"0001\"; x r[0]; c[uint[2](c[0:1])] = measure r[0]; uint[8] n = c;", "n=3"),
        (
            "uint[2] k = m; x r[1]; k = k + 0; bit[2] c; c[k] = measure r[k]; k = k + 1; uint[8] n = c;",
            "n=2",
        ),
        ("uint[8] n = 0; for int k in [0:2] { if (m) { n += 1; if (n == 2) break; } }", "n=2"),
    ] {
        let head = "def one() -> uint[8] { return 1; } \
                    def turned(qubit q) -> int { x q; return 2; } \
                    def twice(uint[8] x) -> uint[8] { if (x == 0) { return 7; } return 2 * x; } \
                    def more(mutable array[uint[8], 2] a, bit by) { a[1] = a[1] + by; } \
                    def fact(uint[8] x) -> uint[8] { uint[8] p = 1; for uint[8] k in [1:x] { p *= k; } return p; }";
        let text =
            outcome(&format!("{head} qubit z; qubit[3] r; bit m; x z; m = measure z; {body}"));
        assert!(text.split(' ').any(|word| word == value), "{text}, not {value}: {body}");
    }
}

#[test]
fn a_long_loop_is_one_loop() {
    let text = "qubit q; bit b; int count = 0; \
                for int i in [1:100000] { reset q; h q; b = measure q; if (b) count += 1; }";
    let circuit = read(text);
    assert!(circuit.instructions().len() < 10, "{circuit}");
    let is_loop = |operation: &Operation| matches!(operation, Operation::For { .. });
    assert!(circuit.instructions().iter().any(|i| is_loop(&i.operation)));
    let counts = Simulator::new().run_shots::<f64>(&circuit, &[], 1, 3).unwrap();
    let shot = counts.keys().next().unwrap();
    let count: f64 = shot.split("count=").nth(1).unwrap().parse().unwrap();
    // Six standard deviations of a binomial distribution.
    assert!((count - 5e4).abs() < 6.0 * (100_000f64).sqrt() / 2.0, "{count}");
}

/// Where outputs are declared, they alone are results.
#[test]
fn outputs_are_results() {
    let body = "qubit q; bit b; int k = 3; h q; b = measure q; if (b) k = 4; float f = k / 2.0;";
    let circuit = read(body);
    let given = outcomes(&circuit);
    let texts: Vec<&str> = given.keys().map(String::as_str).collect();
    assert_eq!(texts, ["0 k=3 f=1.5", "1 k=4 f=2"]);
    let given = outcomes(&read(&body.replace("float f", "output float f")));
    let texts: Vec<&str> = given.keys().map(|text| text.trim()).collect();
    assert_eq!(texts, ["f=1.5", "f=2"]);
    // One that is known is one, too.
    let given = outcomes(&read("qubit q; output int[8] n; n = 2; n *= 3; x q;"));
    let texts: Vec<&str> = given.keys().map(|text| text.trim()).collect();
    assert_eq!(texts, ["n=6"]);
}
