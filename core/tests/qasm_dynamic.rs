//! Circuits that measure, decide and go on: exact distributions of files against closed forms and
//! circuits built by hand.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, Condition, Instruction, Operation, Relation},
    hybrid::Expectation,
    observable::PauliSum,
    param::Values,
    print::{PrintError, to_qasm2, to_qasm3},
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

type Outcomes = BTreeMap<String, f64>;

fn read(text: &str) -> Circuit {
    parse(text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

fn data(name: &str) -> Circuit {
    read(
        &std::fs::read_to_string(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR")))
            .unwrap(),
    )
}

fn v2(body: &str) -> Circuit {
    read(&format!("OPENQASM 2.0; include \"qelib1.inc\"; {body}"))
}

fn v3(body: &str) -> Circuit {
    read(&format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}"))
}

/// The probability of each outcome, as it is shown.
fn outcomes(circuit: &Circuit) -> Outcomes {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 1000).unwrap();
    let mut shown = Outcomes::new();
    for (bits, probability) in exact {
        // Hidden bits are 0 at the end, so every text comes once.
        assert!(shown.insert(bits.text(circuit), probability).is_none());
    }
    shown.retain(|_, p| *p > TOLERANCE);
    shown
}

fn assert_outcomes(given: &Outcomes, expected: &[(&str, f64)]) {
    let same = given.len() == expected.len()
        && expected
            .iter()
            .all(|(text, p)| given.get(*text).is_some_and(|q| (p - q).abs() < TOLERANCE));
    assert!(same, "{given:?} instead of {expected:?}");
}

#[test]
fn angles_depend_on_measurements() {
    // Iterative phase estimation as in the examples of the language: 5/16 of a turn in four bits,
    // lowest first.
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; const int n = 4; qubit q; qubit r; angle[n] c = 0; bit[n] out; x r;
        uint[n] power = 1 << (n - 1);
        for uint i in [0:n - 1] { reset q; h q; ctrl @ pow(power) @ phase(5*pi/8) q, r; inv @ phase(c) q; h q;
            measure q -> out[i]; if (out[i]) { c[n - 1] = 1; } c >>= 1; power >>= 1; }";
    assert_outcomes(&outcomes(&read(text)), &[("0101", 1.0)]);
    // By every value of four bits, beside the same gate by a number.
    for (gate, angle) in [
        ("p(t) q[4]", "pi/8*k"),
        ("rx(t) q[4]", "pi/8*k"),
        ("inv @ rz(t) q[4]", "-pi/8*k"),
        ("ctrl @ ry(-t) q[4], q[5]", "pi/8*((16 - k) % 16)"),
        ("pow(3) @ rx(t + pi/4) q[4]", "3*(pi/8*((k + 2) % 16))"),
        ("crz(t - 3*pi/8) q[4], q[5]", "pi/8*((k + 13) % 16)"),
        ("rx(3 * t) q[4]", "pi/8*((3*k) % 16)"),
        ("rx(t / 3) q[4]", "pi/8*(k/3)"),
        ("rx(t << 1) q[4]", "pi/8*((2*k) % 16)"),
        ("p(angle[4](c)) q[4]", "pi/8*k"),
    ] {
        let head = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[6] q; bit[4] c; bit[2] d; h q[0:3]; c = measure q[0:3]; h q[4];";
        let tail = "h q[4]; d = measure q[4:5];";
        let written = gate.replace("(angle[4](c))", "(t)");
        let start = written
            .find("(t")
            .or_else(|| written.find("(-t"))
            .or_else(|| written.find("(3 *"))
            .unwrap();
        let end = start + written[start..].find(')').unwrap() + 1;
        let plain = format!("{}(ANGLE){}", &written[..start], &written[end..])
            .replace("inv @ ", "")
            .replace("pow(3) @ ", "");
        let by_bits = format!("{head} angle[4] t; t = c; {gate}; {tail}");
        let cases: String = (0..16)
            .map(|k| {
                format!(
                    "if (c == {k}) {{ {}; }} ",
                    plain.replace("ANGLE", &angle.replace('k', &k.to_string()))
                )
            })
            .collect();
        let by_cases = format!("{head} {cases} {tail}");
        let (given, expected) = (outcomes(&read(&by_bits)), outcomes(&read(&by_cases)));
        let expected: Vec<(&str, f64)> = expected.iter().map(|(k, p)| (k.as_str(), *p)).collect();
        assert_outcomes(&given, &expected);
    }
    for (statement, message) in [
        ("sx q[0]; t = int(c) + 1;", "an integer where an angle is needed"),
        ("if (t * t == 0) x q[0];", "an angle that depends on a measurement"),
    ] {
        let text = format!(
            "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; bit[4] c; angle[4] t; measure q -> t[0:1]; {statement}"
        );
        let failed = parse(&text, &QasmOptions::default()).unwrap_err().to_string();
        assert!(failed.contains(message), "{statement}: {failed}");
    }
}

#[test]
fn teleportation_arrives() {
    let quarter = [("0 00", 0.25), ("0 01", 0.25), ("0 10", 0.25), ("0 11", 0.25)];
    assert_outcomes(&outcomes(&data("teleport.qasm")), &quarter);
    let quarter = [("0 0 0", 0.25), ("0 0 1", 0.25), ("0 1 0", 0.25), ("0 1 1", 0.25)];
    assert_outcomes(&outcomes(&data("teleport2.qasm")), &quarter);
}

#[test]
fn the_repetition_code_corrects() {
    let one = (1.1f64 / 2.0).sin().powi(2);
    let circuit = data("repetition_code.qasm");
    assert_outcomes(&outcomes(&circuit), &[("000 00", 1.0 - one), ("111 00", one)]);
    // Nothing that an `if` reads is changed before its end but by `s = "00"`.
    assert_eq!(circuit.registers().len(), 3);
    assert!(circuit.registers()[2].hidden);
}

#[test]
fn an_unrolled_loop_stops_once_it_succeeded() {
    // After a failed round the qubit `a` is 1, and b turns by 0.4: k rounds, k - 1 or k turns.
    let one = |turns: f64| (turns * 0.2).sin().powi(2);
    let expected: Vec<(String, f64)> = [
        ("001", 0, 0.5, 0.0),
        ("011", 0, 0.25, 1.0),
        ("111", 0, 0.125, 2.0),
        ("111", 1, 0.125, 3.0),
    ]
    .iter()
    .flat_map(|&(rounds, flag, p, turns)| {
        [
            (format!("0 {rounds} {flag}"), p * (1.0 - one(turns))),
            (format!("1 {rounds} {flag}"), p * one(turns)),
        ]
    })
    .filter(|(_, p)| *p > 0.0)
    .collect();
    let expected: Vec<(&str, f64)> = expected.iter().map(|(text, p)| (text.as_str(), *p)).collect();
    assert_outcomes(&outcomes(&data("until_success.qasm")), &expected);
}

#[test]
fn iterative_phase_estimation_finds_the_phase() {
    assert_outcomes(&outcomes(&data("iterative_phase.qasm")), &[("0101", 1.0)]);
    // The same with conditions on single bits.
    let mut text = String::from("qubit q; qubit psi; bit[4] c; x psi;");
    for k in 0..4 {
        text += &format!("reset q; h q; cp(2*pi*5*{}/16) q, psi;", 8 >> k);
        for j in 0..k {
            text += &format!("if (c[{j}]) p(-pi/{}) q;", 1 << (k - j));
        }
        text += &format!("h q; c[{k}] = measure q;");
    }
    assert_outcomes(&outcomes(&v3(&text)), &[("0101", 1.0)]);
}

#[test]
fn every_form_of_a_condition_means_what_it_says() {
    type Expected = fn(u32) -> bool;
    let forms: &[(&str, Expected)] = &[
        ("c[0]", |c| c & 1 == 1),
        ("!c[0]", |c| c & 1 == 0),
        ("!!c[0]", |c| c & 1 == 1),
        ("~c[2]", |c| c & 4 == 0),
        ("c[0] == 1", |c| c & 1 == 1),
        ("c[0] == true", |c| c & 1 == 1),
        ("false == c[1]", |c| c & 2 == 0),
        ("c[0] != c[2]", |c| c & 1 != c >> 2 & 1),
        ("c[-1] == \"1\"", |c| c & 4 == 4),
        ("c", |c| c != 0),
        ("!c", |c| c == 0),
        ("c == 3", |c| c == 3),
        ("3 == c", |c| c == 3),
        ("c == \"011\"", |c| c == 3),
        ("c == 0x5", |c| c == 5),
        ("c == 0b101", |c| c == 5),
        ("c != 6", |c| c != 6),
        ("c < 3", |c| c < 3),
        ("3 < c", |c| c > 3),
        ("c <= 3", |c| c <= 3),
        ("c > 3", |c| c > 3),
        ("c >= n", |c| c >= 2),
        ("c == 8", |_| false),
        ("c < 9", |_| true),
        ("c != 99999999999999999999999999999999999999999999999", |_| true),
        ("c == -1", |_| false),
        ("c > -1", |_| true),
        ("int(c) == 3", |c| c == 3),
        ("uint[3](c) >= 5", |c| c >= 5),
        ("int[4](c) == 5", |c| c == 5),
        ("int[3](c) == -3", |c| c == 5),
        ("int[3](c) < -2", |c| c == 4 || c == 5),
        ("int[3](c) <= 1", |c| !(2..4).contains(&c)),
        ("int[3](c) > -2", |c| c < 4 || c == 7),
        ("int[3](c) >= 2", |c| c == 2 || c == 3),
        ("int[3](c) != 5", |_| true),
        ("int[3](c) >= -4", |_| true),
        ("int[3](c) > -4", |c| c != 4),
        ("int[3](c) < 4", |_| true),
        ("bool(c)", |c| c != 0),
        ("bool(c[1])", |c| c & 2 == 2),
        ("bit[3](c) == 6", |c| c == 6),
        ("c[0] && c[1]", |c| c & 3 == 3),
        ("c[0] && !c[1] && c[2]", |c| c == 5),
        ("c[0] || c[1] || c == 4", |c| c != 0),
        ("(c[0] || c[1]) && c[2]", |c| c & 3 != 0 && c & 4 != 0),
        ("!(c == 3 || c == 5)", |c| c != 3 && c != 5),
        ("c[0] && true", |c| c & 1 == 1),
        ("c[0] || true", |_| true),
        ("false || c[1]", |c| c & 2 == 2),
        ("false && c[1]", |_| false),
        ("n == 2", |_| true),
        ("yes && c[1]", |c| c & 2 == 2),
        ("c[0] ^ c[1] ^ c[2]", |c| c.count_ones() % 2 == 1),
        ("(c[0] ^ true) == 1", |c| c & 1 == 0),
        ("(c[0] & c[1] | c[2]) == 1", |c| c & 3 == 3 || c & 4 == 4),
        ("c[0:1] == 2", |c| c & 3 == 2),
        ("c[1:2] == 2", |c| c >> 1 == 2),
        ("c[{2, 0}] == 1", |c| c & 4 == 4 && c & 1 == 0),
        ("c[2:-1:0] == 1", |c| c == 4),
        ("turned == 3", |c| c == 3),
        ("turned[2] == 1", |c| c & 4 == 4),
        ("c[0:1] ++ c[2] == 6", |c| c == 6),
        ("c[0:1] == c[1:2]", |c| c & 3 == c >> 1),
        ("c[0:1] != c[1:2]", |c| c & 3 != c >> 1),
        ("sizeof(c) == 3", |_| true),
    ];
    for (form, expected) in forms {
        let text = format!(
            "qubit[3] q; bit[3] c; bit o; const int n = 2; const bool yes = true;
             let turned = c[{{1, 0}}] ++ c[2]; h q; c = measure q; if ({form}) o = 1;"
        );
        let circuit = v3(&text);
        let texts: Vec<(String, f64)> =
            (0..8).map(|c| (format!("{} {c:03b}", u8::from(expected(c))), 0.125)).collect();
        let texts: Vec<(&str, f64)> = texts.iter().map(|(t, p)| (t.as_str(), *p)).collect();
        assert_outcomes(&outcomes(&circuit), &texts);
        // Through a text the same, and from then on the text itself.
        let printed = to_qasm3(&circuit).unwrap();
        let back = read(&printed);
        assert_outcomes(&outcomes(&back), &texts);
        assert_eq!(to_qasm3(&back).unwrap(), printed);
        // The else part is the opposite.
        let other = v3(&text.replace("o = 1;", "{ } else { o = 1; }"));
        let texts: Vec<(String, f64)> =
            (0..8).map(|c| (format!("{} {c:03b}", u8::from(!expected(c))), 0.125)).collect();
        let texts: Vec<(&str, f64)> = texts.iter().map(|(t, p)| (t.as_str(), *p)).collect();
        assert_outcomes(&outcomes(&other), &texts);
    }
}

#[test]
fn a_condition_is_evaluated_once() {
    // The measurement makes c 0; neither the rest of the body nor the else part sees that.
    let circuit = v3("qubit[3] q; bit c; bit[2] r; x q[0]; c = measure q[0];
        if (c) { c = measure q[1]; x q[2]; r[0] = measure q[2]; } else { r[1] = 1; }");
    assert_outcomes(&outcomes(&circuit), &[("01 0", 1.0)]);
    let circuit = v3("bit[2] c; bit[2] r; if (c == 0) { c = 3; r[0] = 1; } else { r[1] = 1; }");
    assert_outcomes(&outcomes(&circuit), &[("01 11", 1.0)]);
    // A whole register is measured under a condition on its first bit.
    let circuit = v3("qubit[2] q; bit[2] c; x q; if (!c[0]) c = measure q;");
    assert_outcomes(&outcomes(&circuit), &[("11", 1.0)]);
    // The last step may change what the condition reads: no hidden bit.
    let circuit = v3("qubit[2] q; bit[2] c; x q; if (!c[1]) c = measure q; if (c[0]) c[0] = 0;");
    assert_eq!(circuit.registers().len(), 1);
    assert_outcomes(&outcomes(&circuit), &[("10", 1.0)]);
    // Inner parts change what outer ones read.
    let circuit = v3("bit[3] c; bit[4] r;
        if (!c[0]) {
            r[0] = 1;
            if (!c[1]) { c[0] = 1; c[1] = 1; r[1] = 1; } else { r[3] = 1; }
            if (c[1]) { r[2] = 1; }
        } else { r[3] = 1; }");
    assert_outcomes(&outcomes(&circuit), &[("0111 011", 1.0)]);
    // Two that are not one within the other share the hidden bit; its register is not shown.
    let circuit = v3(
        "bit[2] c; bit[2] r; if (!c[0]) { c[0] = 1; r[0] = 1; } if (!c[1]) { c[1] = 1; r[1] = 1; }",
    );
    assert_eq!(circuit.n_bits(), 5);
    assert_outcomes(&outcomes(&circuit), &[("11 11", 1.0)]);
    let circuit = v3("bit scratch; if (!scratch) { scratch = 1; scratch = 0; }");
    assert_eq!(circuit.registers()[1].name, "scratch_1");
}

#[test]
fn where_there_are_outputs_nothing_else_shows() {
    let circuit = v3("qubit[2] q; output bit[2] c; bit[2] aux; x q[1]; aux = measure q;
        if (aux == 2) { x q[0]; } c = measure q;");
    let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[])).unwrap();
    let exact = Simulator::new().distribution(&bound, 10).unwrap();
    let (bits, _) = exact.first_key_value().unwrap();
    assert_eq!((exact.len(), bits.text(&circuit).as_str()), (1, "11"));
    assert_eq!(Simulator::new().run_shots::<f64>(&circuit, &[], 5, 1).unwrap().get("11"), Some(&5));
    // Outcomes that differ elsewhere are one: of a static circuit, and of one that decides.
    for decide in ["", "if (aux) { x q[0]; }"] {
        let circuit = v3(&format!(
            "qubit[2] q; output bit c; bit aux; h q; aux = measure q[1]; {decide} c = measure q[0];"
        ));
        let counts = Simulator::new().run_shots::<f64>(&circuit, &[], 1000, 1).unwrap();
        let shown: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!((shown, counts.values().sum()), (vec!["0", "1"], 1000));
        assert_eq!(
            read(&to_qasm3(&circuit).unwrap()).registers().iter().filter(|r| !r.hidden).count(),
            1
        );
    }
    let large = v3(
        "qubit q; output bit c; bit[4000000000] aux; c = measure q; aux[3999999999] = measure q;",
    );
    let printed = to_qasm3(&large).unwrap();
    assert!(printed.ends_with("bit[1] c;\nc[0] = measure q;\nmeasure q;\n"), "{printed}");
    // Only bits are returned: another output hides none.
    assert_eq!(
        v3("output float x; bit c; x = 1;").registers().iter().filter(|r| r.hidden).count(),
        0
    );
    let error = parse("OPENQASM 3.0; bit c; if (c) { output bit d; }", &QasmOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("an output"), "{error}");
}

#[test]
fn a_result_that_nothing_reads_has_no_column() {
    let circuit =
        v3("qubit[2] q; bit c; h q[0]; measure q[0]; h q[0]; cx q[0], q[1]; c = measure q[1];");
    let half = [("0", 0.5), ("1", 0.5)];
    assert_outcomes(&outcomes(&circuit), &half);
    let printed = to_qasm3(&circuit).unwrap();
    assert!(printed.contains("\nmeasure q[0];\n") && !printed.contains("scratch"), "{printed}");
    assert_eq!(read(&printed), circuit);
    let refused = to_qasm2(&circuit).unwrap_err();
    assert_eq!(refused, PrintError::Discarded { qubit: 0 });
    // Two in a row, one of them where a bit says so: the qubit is as random as it was.
    let circuit = v3(
        "qubit q; bit[2] c; h q; c[0] = measure q; if (c[0]) { h q; measure q; h q; } c[1] = measure q;",
    );
    let expected = [("00", 0.5), ("01", 0.25), ("11", 0.25)];
    assert_outcomes(&outcomes(&circuit), &expected);
    let printed = to_qasm3(&circuit).unwrap();
    assert_eq!(read(&printed), circuit, "{printed}");
}

/// A program of assignments and nested `if`s on 4 bits, and the bits after it, by running it
/// directly.
struct Program {
    rng: ChaCha8Rng,
    text: String,
}

impl Program {
    fn below(&mut self, n: u64) -> u64 {
        self.rng.next_u64() % n
    }

    /// Appends statements; `bits` are those before them, and after them if `runs`.
    fn block(&mut self, bits: &mut u64, runs: bool, depth: u32) {
        for _ in 0..self.below(4) {
            let (i, j, n) = (self.below(4), self.below(4), self.below(16));
            let (bit, other) = (*bits >> i & 1 == 1, *bits >> j & 1 == 1);
            let mut now = *bits;
            let mut set = |at: u64, value: bool| now = now & !(1 << at) | u64::from(value) << at;
            match self.below(if depth < 4 { 8 } else { 5 }) {
                0 => {
                    set(i, n % 2 == 1);
                    self.text += &format!("c[{i}] = {};", n % 2);
                }
                1 => {
                    set(i, !other);
                    self.text += &format!("c[{i}] = !c[{j}];");
                }
                2 => {
                    set(i, bit ^ other);
                    self.text += &format!("c[{i}] = c[{i}] ^ c[{j}];");
                }
                3 => {
                    set(i, other);
                    self.text += &format!("reset q; if (c[{j}]) {{ x q; }} c[{i}] = measure q;");
                }
                4 => {
                    now = n;
                    self.text += &format!("c = {n};");
                }
                form => {
                    let (condition, holds) = match form {
                        5 => (format!("c[{i}]"), bit),
                        6 => (format!("c < {n}"), *bits < n),
                        _ => (format!("!c[{i}] && c != {n}"), !bit && *bits != n),
                    };
                    self.text += &format!("if ({condition}) {{ ");
                    self.block(&mut now, runs && holds, depth + 1);
                    self.text += "} ";
                    if n % 3 > 0 {
                        self.text += "else { ";
                        self.block(&mut now, runs && !holds, depth + 1);
                        self.text += "}\n";
                    }
                }
            }
            if runs {
                *bits = now;
            }
        }
    }
}

#[test]
fn random_programs_end_as_if_run_line_by_line() {
    let mut hidden = 0;
    for seed in 0..2000 {
        let text = "OPENQASM 3.0; include \"stdgates.inc\"; qubit q; bit[4] c;\n".to_owned();
        let mut program = Program { rng: ChaCha8Rng::seed_from_u64(seed), text };
        let mut bits = 0;
        program.block(&mut bits, true, 0);
        program.block(&mut bits, true, 0);
        let circuit = read(&program.text);
        hidden += u64::from(circuit.registers().len() == 2);
        let expected = Outcomes::from([(format!("{bits:04b}"), 1.0)]);
        assert_eq!(outcomes(&circuit), expected, "seed {seed}:\n{}", program.text);
        // What is printed shows the same registers.
        let printed = to_qasm3(&circuit).unwrap();
        assert_eq!(
            outcomes(&read(&printed)),
            expected,
            "seed {seed}:\n{}\n{printed}",
            program.text
        );
    }
    assert!(hidden > 200, "{hidden}");
}

#[test]
fn openqasm_2_conditions_of_any_width() {
    let wide = |n: usize, value: &str| {
        v2(&format!(
            "qreg q[1]; creg c[{n}]; creg o[1]; if(c=={value}) x q[0]; measure q[0] -> o[0];"
        ))
    };
    // 2^299 + 1
    let value = "1018517988167243043134222844204689080525734196832968125318070224677190649881668353091698689";
    let circuit = wide(300, value);
    let mut bits = vec![false; 300];
    (bits[0], bits[299]) = (true, true);
    let expected = Condition::Compare {
        bits: (0..300).collect(),
        relation: Relation::Equal,
        value: bits.into(),
    };
    assert_eq!(circuit.instructions()[0].condition.as_deref(), Some(&expected));
    assert_eq!(read(&to_qasm2(&circuit).unwrap()), circuit);
    assert_eq!(read(&to_qasm3(&circuit).unwrap()), circuit);
    // In OpenQASM 3 as a string or in hexadecimal too.
    let text = format!("1{}1", "0".repeat(298));
    for value in [format!("\"{text}\""), format!("0x8{}1", "0".repeat(73)), format!("0b{text}")] {
        let same = v3(&format!(
            "qubit[1] q; bit[300] c; bit r; if (c == {value}) x q[0]; r = measure q[0];"
        ));
        assert_eq!(same.instructions(), circuit.instructions());
    }
    // A value that does not fit is never there.
    assert_outcomes(&outcomes(&wide(4, value)), &[("0 0000", 1.0)]);
    assert_outcomes(&outcomes(&wide(4, "0")), &[("1 0000", 1.0)]);
}

#[test]
fn openqasm_2_conditions_before_everything() {
    let circuit = v2("qreg q[2]; qreg r[2]; creg c[2]; creg d[2];
        if(c==0) x q; if(c==1) x r; if(c==0) cx q,r; if(c==0) barrier q;
        if(c==0) measure q -> d; if(d==3) reset q[0]; measure q -> c; if(c==2) measure r -> d;");
    assert_outcomes(&outcomes(&circuit), &[("11 10", 1.0)]);
    assert_eq!(circuit.instructions().len(), 2 + 2 + 2 + 1 + 2 + 1 + 2 + 2);
    assert_eq!(
        read(&to_qasm2(&circuit).unwrap()).instructions().len(),
        circuit.instructions().len()
    );
    let back = read(&to_qasm3(&circuit).unwrap());
    assert_eq!(outcomes(&back), outcomes(&circuit));
}

#[test]
fn files_equal_circuits_built_by_hand() {
    let text = v3(
        "qubit[2] q; bit[2] c; h q[0]; c[0] = measure q[0]; if (c[0]) x q[1]; reset q[0]; c[1] = measure q[1];",
    );
    let mut hand = Circuit::new(2);
    hand.add_register("c", 2).unwrap().h(0).unwrap().measure(0, 0).unwrap();
    hand.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1)).unwrap();
    hand.reset(0).unwrap().measure(1, 1).unwrap();
    assert_eq!(text, hand);
    assert_outcomes(&outcomes(&hand), &[("00", 0.5), ("11", 0.5)]);
    // Nested conditions hold together.
    let text = v3("qubit q; bit[2] c; if (c[0]) { if (c[1] == 0) { x q; } else z q; }");
    let conditions: Vec<String> =
        text.instructions().iter().map(|i| i.condition.as_ref().unwrap().to_string()).collect();
    assert_eq!(conditions, ["(c[0] == 1) && (c[1] == 0)", "(c[0] == 1) && (c[1] == 1)"]);
    assert_eq!(read(&to_qasm3(&text).unwrap()), text);
}

#[test]
fn bits_get_values() {
    let shown = |body: &str| {
        let all = outcomes(&v3(body));
        assert_eq!(all.len(), 1, "{body}: {all:?}");
        all.into_keys().next().unwrap()
    };
    assert_eq!(shown("bit[4] c = \"0101\";"), "0101");
    assert_eq!(shown("bit[4] c = 0xa; c[0] = true;"), "1011");
    assert_eq!(shown("bit[4] c; c = \"1100\"; c[2] = 0; c[0:1] = \"11\";"), "1011");
    assert_eq!(shown("bit[3] a = \"110\"; bit[3] b = a;"), "110 110");
    assert_eq!(shown("bit[3] a = \"110\"; bit[3] b = \"011\"; b = a; a = \"001\";"), "110 001");
    assert_eq!(
        shown("bit[3] a = \"110\"; bit b; b = !a[0]; a[1] = a[0] || b; a[2] = !a[2];"),
        "1 010"
    );
    assert_eq!(shown("bit[2] a = \"01\"; a[0] = !a[0]; a[0] = !a[0]; a[0] = !a[0];"), "00");
    assert_eq!(shown("bit[2] a = \"01\"; bit b = a == 1; bit d = a[0] ^ a[1];"), "1 1 01");
    assert_eq!(shown("const bit[2] k = \"10\"; bit[2] a; a = k; bit b; b = k[1] == 1;"), "1 10");
    assert_eq!(
        shown("bit[2] a = \"11\"; if (a == 3) { a = \"00\"; a[1] = 1; } else { a = \"11\"; }"),
        "10"
    );
    // Declarations with a value cost no instruction for a 0.
    assert_eq!(v3("bit[4] c = \"0101\";").instructions().len(), 2);
}

#[test]
fn aliases_name_parts_in_order() {
    let circuit = v3("qubit[4] q; qubit r; bit[5] c; let a = q[1:2]; let b = a ++ r; let d = b[{2, 0}]; let e = q[-1];
        let even = q[0:2:3] ++ r;
        x b[2]; cx d[0], d[1]; h a[0]; h a[0]; cx r, e; barrier even; c[0:1] = measure a; let low = c[2:4]; low = measure b;");
    let text = circuit.to_string();
    let expected =
        "x q[4]\ncx q[4], q[1]\nh q[1]\nh q[1]\ncx q[4], q[3]\nbarrier q[0], q[2], q[4]\n";
    assert!(text.starts_with(expected), "{text}");
    assert_outcomes(&outcomes(&circuit), &[("10101", 1.0)]);
}

#[test]
fn constants_in_arrays() {
    let circuit = v3(
        "qubit[3] q; array[float, 3] xs = {0.5, 1.5, pi}; array[int[8], 2, 2] m = {{1, 2}, {3, 4}};
        const int n = sizeof(xs) - sizeof(m, 1);
        rx(xs[1]) q[n]; ry(xs[-1]*m[1, 0]) q[m[0, 1]]; rz(m[1][1]) q[0]; p(sizeof(q)) q[0];",
    );
    assert_eq!(circuit.to_string(), "rx(1.5) q[1]\nry(3*pi) q[2]\nrz(4) q[0]\np(3) q[0]\n");
}

#[test]
fn measurements_that_are_not_stored_matter_where_the_qubit_is_used_again() {
    let body = |middle: &str| {
        v3(&format!("qubit[2] q; bit c; h q[0]; {middle} h q[0]; c = measure q[0];"))
    };
    assert_outcomes(&outcomes(&body("")), &[("0", 1.0)]);
    assert_outcomes(&outcomes(&body("measure q[0];")), &[("0", 0.5), ("1", 0.5)]);
    assert_outcomes(&outcomes(&body("measure q;")), &[("0", 0.5), ("1", 0.5)]);
    // Not used again: nothing is built.
    assert_eq!(body("measure q[1];"), body(""));
}

/// The instructions but for those that clear the bit of results that are not stored.
fn without_assignments(circuit: &Circuit) -> Vec<Instruction> {
    let all = circuit.instructions().iter().cloned();
    all.filter(|i| !matches!(i.operation, Operation::Assign { .. })).collect()
}

#[test]
fn a_register_is_measured_as_each_of_its_qubits_is() {
    let mut rng = ChaCha8Rng::seed_from_u64(29);
    let (mut kept, mut left_out) = (0, 0);
    for _ in 0..300 {
        let (mut together, mut apart) = ("qubit[3] q; ".to_owned(), "qubit[3] q; ".to_owned());
        for _ in 0..6 {
            let (a, b) = (rng.next_u64() % 3, 1 + rng.next_u64() % 2);
            let (first, second) = match rng.next_u64() % 5 {
                0 => (
                    "measure q; ".to_owned(),
                    "measure q[0]; measure q[1]; measure q[2]; ".to_owned(),
                ),
                1 => ("measure q[1:2]; ".to_owned(), "measure q[1]; measure q[2]; ".to_owned()),
                2 => [(); 2].map(|()| format!("cx q[{a}], q[{}]; ", (a + b) % 3)).into(),
                _ => [(); 2].map(|()| format!("h q[{a}]; ")).into(),
            };
            together += &first;
            apart += &second;
        }
        let (first, second) = (v3(&together), v3(&apart));
        assert_eq!(without_assignments(&first), without_assignments(&second), "{together}");
        let measured = first.to_string().matches("measure").count();
        kept += measured;
        left_out += apart.matches("measure").count() - measured;
    }
    assert!(kept > 100 && left_out > 100, "{kept} {left_out}");
}

#[test]
fn a_measured_qubit_that_is_not_used_again_keeps_its_value() {
    for measured in ["measure q;", "measure q[0]; measure q[1];", "measure q[1]; measure q;", ""] {
        let circuit = v3(&format!("qubit[2] q; h q[0]; {measured} x q[1];"));
        let x: PauliSum = "X0".parse().unwrap();
        let energy = Expectation::new(circuit.clone(), [x.clone()]).unwrap();
        assert!((energy.value::<f64>(&[]).unwrap() - 1.0).abs() < TOLERANCE, "{measured}");
        let printed = read(&to_qasm3(&circuit).unwrap());
        let energy = Expectation::new(printed, [x]).unwrap();
        assert!((energy.value::<f64>(&[]).unwrap() - 1.0).abs() < TOLERANCE, "{measured}, printed");
    }
}

#[test]
fn constant_conditions_are_folded() {
    let circuit = v3(
        "const int n = 3; qubit q; if (n > 2) { x q; } else { h q; } if (false) { z q; } { y q; }",
    );
    assert_eq!(circuit.to_string(), "x q[0]\ny q[0]\n");
}

#[test]
fn a_body_counts() {
    let few =
        |text: &str, max_gates| parse(text, &QasmOptions::default().with_max_gates(max_gates));
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[4] q; bit[4] c; if (c == 1) { h q; c = measure q; }";
    let most = read(text).instructions().len() as u64;
    assert_eq!(most, 10);
    assert!(few(text, most).is_ok());
    assert_eq!(
        few(text, most - 1).unwrap_err().to_string(),
        "<input>:1:61: 10 operations after expansion; at most 9 are allowed"
    );
}

#[test]
fn a_printed_condition_reads_back_as_it_was() {
    let bit = |bit, value| Condition::Bit { bit, value };
    let compare = |bits: &[u32], relation, value: &[bool]| Condition::Compare {
        bits: bits.into(),
        relation,
        value: value.into(),
    };
    let conditions = [
        bit(0, true),
        bit(4, false),
        compare(&[0, 1, 2], Relation::Less, &[true, true]),
        compare(&[3, 4], Relation::NotEqual, &[]),
        bit(0, true).and(bit(1, false)).and(compare(
            &[3, 4],
            Relation::GreaterEqual,
            &[false, true],
        )),
        Condition::Any(vec![bit(2, true), bit(1, true).and(bit(0, true))]),
        Condition::Not(Box::new(Condition::Any(vec![bit(2, true), bit(1, true)]))),
    ];
    for condition in conditions {
        let mut circuit = Circuit::new(1);
        circuit.add_register("a", 3).unwrap().add_register("b", 2).unwrap();
        circuit.when(condition, |c| c.x(0)).unwrap();
        assert_eq!(read(&to_qasm3(&circuit).unwrap()), circuit);
    }
    let mut circuit = Circuit::new(1);
    circuit.add_register("a", 1).unwrap();
    let assign = Instruction {
        operation: Operation::Assign { bit: 0, value: true },
        targets: [].into_iter().collect(),
        controls: [].into_iter().collect(),
        condition: None,
    };
    circuit.push(assign).unwrap();
    assert_eq!(read(&to_qasm3(&circuit).unwrap()), circuit);
}
