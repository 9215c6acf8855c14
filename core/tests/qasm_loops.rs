//! Loops that a measurement ends.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, Condition, Operation},
    draw,
    param::Values,
    print::{PrintError, to_qasm2, to_qasm3},
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, SimulateError, Simulator},
};
use num_complex::Complex;

/// Sums of geometric series, cut at 1e-17.
const TOLERANCE: f64 = 1e-12;

fn v3(body: &str) -> Circuit {
    let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}");
    parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit
}

fn refused(body: &str) -> String {
    let text = format!("OPENQASM 3.0; include \"stdgates.inc\"; {body}");
    parse(&text, &QasmOptions::default()).unwrap_err().to_string()
}

fn bound(circuit: &Circuit) -> BoundCircuit<Complex<f64>> {
    BoundCircuit::new(circuit, &Values::<f64>(&[])).unwrap()
}

/// The probability of each outcome, as it is shown.
fn outcomes(circuit: &Circuit) -> BTreeMap<String, f64> {
    let exact = Simulator::new().distribution(&bound(circuit), 1000).unwrap();
    let mut shown = BTreeMap::new();
    for (bits, probability) in exact {
        // Hidden bits are 0 at the end, so every text comes once.
        assert!(shown.insert(bits.text(circuit), probability).is_none());
    }
    shown.retain(|_, p| *p > TOLERANCE);
    shown
}

#[track_caller]
fn assert_outcomes(circuit: &Circuit, expected: &[(&str, f64)]) {
    let check = |circuit: &Circuit| {
        let given = outcomes(circuit);
        let same = given.len() == expected.len()
            && expected
                .iter()
                .all(|(text, p)| given.get(*text).is_some_and(|q| (p - q).abs() < TOLERANCE));
        assert!(same, "{given:?} instead of {expected:?}\n{circuit}");
    };
    check(circuit);
    // And once it has been printed and read.
    let text = to_qasm3(circuit).unwrap();
    check(&parse(&text, &QasmOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}")).circuit);
}

#[test]
fn a_loop_runs_until_its_condition_fails() {
    let circuit = v3("qubit q; bit c; while (c == 0) { reset q; h q; c = measure q; }");
    assert_outcomes(&circuit, &[("1", 1.0)]);
    // Nothing but the loop: its condition needs no bit of its own.
    assert_eq!(
        circuit.to_string(),
        "while (c[0] == 0) {\n  reset q[0]\n  h q[0]\n  measure q[0] -> c[0]\n}\n"
    );
    assert_eq!(circuit.loops().first(), Some(&(0..4)));

    // The same by hand.
    let mut by_hand = Circuit::new(1);
    by_hand.add_register("c", 1).unwrap();
    let zero = Condition::Bit { bit: 0, value: false };
    by_hand.while_loop(zero, |c| c.reset(0)?.h(0)?.measure(0, 0)).unwrap();
    assert_eq!(by_hand, circuit);
}

#[test]
fn a_gate_is_repeated_until_it_has_succeeded() {
    // A rotation by acos(3/5) up to a Z (Nielsen and Chuang, exercise 4.41): a round succeeds with
    // probability 5/8.
    let text = "qubit[2] a; qubit psi; bit[2] flags = \"11\"; bit out; x psi; h psi;
        while (flags != \"00\") {
            reset a; h a; ccx a[0], a[1], psi; s psi; ccx a[0], a[1], psi; z psi; h a;
            flags = measure a;
        }
        h psi; out = measure psi;";
    let circuit = v3(text);
    let given = outcomes(&circuit);
    assert!((given.values().sum::<f64>() - 1.0).abs() < TOLERANCE);
    // A round that succeeds applies Z (3 S + X S X) / 4. Each of the three outcomes that fail
    // applies Z (S - X S X) / 4 up to sign, which is a phase.
    let i = Complex::new(0.0, 1.0);
    let (a, b) = ([Complex::from(1.0), -i], [i, Complex::from(-1.0)]);
    let mut expected = 0.0;
    let diagonal = |x: f64, y: f64| [a[0] * x + b[0] * y, a[1] * x + b[1] * y];
    let (mut state, mut weight) =
        ([Complex::from(0.5f64.sqrt()), Complex::from(-(0.5f64.sqrt()))], 1.0);
    for _ in 0..200 {
        let apply = |d: [Complex<f64>; 2]| [state[0] * d[0], state[1] * d[1]];
        let done = apply(diagonal(0.75, 0.25));
        expected += weight * ((done[0] - done[1]) / 2f64.sqrt()).norm_sqr();
        (state, weight) = (apply(diagonal(0.25, -0.25)), weight * 3.0);
    }
    let one = given.get("1 00").copied().unwrap_or(0.0);
    assert!((one - expected).abs() < TOLERANCE, "{given:?} and {expected}");
}

#[test]
fn loops_are_left_in_every_way() {
    // Three rounds at most, by a counter in bits.
    let counted = "qubit q; bit c; bit[2] rounds; uint[2] n = 0;
        while (!c && n < 3) { reset q; h q; c = measure q; n += 1; } rounds = n;";
    assert_outcomes(
        &v3(counted),
        &[("01 1", 0.5), ("10 1", 0.25), ("11 0", 0.125), ("11 1", 0.125)],
    );
    let endless = "qubit q; bit c; uint[2] n = 0; bit[2] rounds;
        while (true) { reset q; h q; c = measure q; n += 1; if (c || n == 3) { break; } } rounds = n;";
    assert_outcomes(
        &v3(endless),
        &[("01 1", 0.5), ("10 1", 0.25), ("11 0", 0.125), ("11 1", 0.125)],
    );
    // Rounds that stop early, and the rest of those that do not.
    let skipped = "qubit q; qubit p; bit c; bit d; bit out;
        while (!d) { reset q; h q; c = measure q; if (c) continue; x p; reset q; h q; d = measure q; }
        out = measure p;";
    // An even or odd number of passes, each the last one with probability 1/2.
    assert_outcomes(&v3(skipped), &[("0 1 0", 1.0 / 3.0), ("1 1 0", 2.0 / 3.0)]);
    // Out of a subroutine, with a value.
    let returned = "qubit q; qubit p; bit[2] r;
        def tries(qubit q) -> uint[2] { uint[2] n = 0; bit c;
            while (true) { n += 1; reset q; h q; c = measure q; if (c) return n; if (n == 2) return 0; } return 3; }
        uint[2] n = tries(q); r = n;";
    assert_outcomes(&v3(returned), &[("00", 0.25), ("01", 0.5), ("10", 0.25)]);
    // The end of the file, from two loops within each other.
    let ended = "qubit q; qubit p; bit c; bit out;
        while (true) { x p; while (true) { bit d; reset q; h q; c = measure q; if (c) { out = measure p; end; }
        reset q; h q; d = measure q; if (d) break; } }";
    // An outer round ends all with 2/3, and an odd number of them is 2/3 / (1 - 1/9).
    assert_outcomes(&v3(ended), &[("0 1", 0.25), ("1 1", 0.75)]);
}

#[test]
fn variables_change_after_what_leaves_a_loop() {
    let coin = "reset q; h q; c = measure q;";
    // How many rounds of at most three passed before it showed 1: changed after the `break`,
    // before it, and in between.
    for body in [
        "uint[2] n = 0; for int i in [0:2] { COIN if (c) { break; } n += 1; }",
        "uint[2] n = 3; for int i in [0:3] { n = i; if (i == 3) break; COIN if (c) break; }",
        "uint[2] n = 2; for int i in [0:2] { COIN if (c) { n -= 2; break; } else { n += 1; } } if (c == 0) n = 3;",
        "int[5] n = -1; uint[2] k = 0; while (k < 3) { n = k; COIN if (c) break; k += 1; n = k; }",
        "def first(qubit q) -> uint[2] { uint[2] n = 0; bit c; while (n < 3) { COIN if (c) return n; n += 1; } return n; }
         uint[2] n = first(q); c = 0; if (n < 3) { c = 1; }",
    ] {
        let text = format!("qubit q; bit c; bit[2] r; {} r = uint[2](n);", body.replace("COIN", coin));
        assert_outcomes(&v3(&text), &[("00 1", 0.5), ("01 1", 0.25), ("10 1", 0.125), ("11 0", 0.125)]);
    }
    // Both ways out of a round go on with a value of their own; the outer loop is left from the
    // inner one's condition.
    let text = format!(
        "qubit q; bit c; bit[3] r; uint[3] n = 0; bool done = false;
         for int i in [0:1] {{ for int j in [0:1] {{ {coin} if (c) {{ n += 2; done = true; continue; }} n += 1; done = false; }}
         if (done) break; n += 3; }} r = n;"
    );
    // n of two coins is 2, 3, 3, 4; the last one says whether another two follow, from 3 more on.
    let mut expected = BTreeMap::new();
    for first in 0..4u32 {
        let sum = |coins: u32| 2 + coins.count_ones();
        if first & 1 == 1 {
            *expected.entry(format!("{:03b} 1", sum(first))).or_insert(0.0) += 0.25;
            continue;
        }
        for second in 0..4 {
            let n = sum(first) + 3 + sum(second) + if second & 1 == 1 { 0 } else { 3 };
            *expected.entry(format!("{:03b} {}", n % 8, second & 1)).or_insert(0.0) += 0.0625;
        }
    }
    let expected: Vec<(&str, f64)> = expected.iter().map(|(k, p)| (k.as_str(), *p)).collect();
    assert_outcomes(&v3(&text), &expected);
}

#[test]
fn variables_go_through_rounds_in_bits() {
    // How many rounds it took, modulo 4.
    let text = "qubit q; bit c; bit[2] r; int[4] n = -1; bool flip = false;
        while (!c) { reset q; h q; c = measure q; n = n + 1; flip = !flip; float turn = pi; rx(turn) q; }
        if (flip) r[0] = 1; if (n >= 2) r[1] = 1;";
    // Odd rounds 1, 3, 5, …; n = rounds - 1 wraps from 7 to -8 and stays below 2 for ten rounds
    // of 16.
    let mut expected = BTreeMap::new();
    for rounds in 1..200u32 {
        let n = i32::from((rounds - 1) as u8 as i8) << 28 >> 28;
        let key = format!("{}{} 1", u8::from(n >= 2), rounds % 2);
        *expected.entry(key).or_insert(0.0) += 0.5f64.powi(rounds as i32);
    }
    let expected: Vec<(&str, f64)> = expected.iter().map(|(k, p)| (k.as_str(), *p)).collect();
    assert_outcomes(&v3(text), &expected);
}

#[test]
fn numbers_come_back_to_few_values() {
    let head = "qubit[2] q; bit c; bit d; bit[3] r;";
    let again = "h q[0]; c = measure q[0];";
    // Odd rounds 1, 3, 5, …
    let circuit = v3(&format!(
        "{head} float x = 0; {again} while (c) {{ x = pi - x; {again} }} rx(x) q[1]; r[0] = measure q[1];"
    ));
    assert_outcomes(&circuit, &[("000 0 0", 2.0 / 3.0), ("001 0 0", 1.0 / 3.0)]);
    // Two of them, left and gone on with.
    let circuit = v3(&format!(
        "{head} float x = 0; float y = 1; while (true) {{ {again} if (c) break; float z = x; x = y; y = z; if (x == 1) continue; y = 2; }}
         if (x == 0) r[0] = 1; if (x == 1) r[1] = 1; if (x == 2) r[2] = 1;"
    ));
    assert_outcomes(&circuit, &[("001 0 1", 0.5 + 0.125), ("010 0 1", 0.25), ("100 0 1", 0.125)]);
    let circuit = v3(&format!(
        "{head} array[uint[3], 2] a = {{0, 3}}; bit more = 1; while (more) {{ {again} if (c) break;
         a[0] = 7 - a[0]; a[1] = a[0]; if (a[0] == 7) continue; a[1] = 1; }} r = a[1];"
    ));
    assert_outcomes(
        &circuit,
        &[("1 001 0 1", 1.0 / 6.0), ("1 011 0 1", 0.5), ("1 111 0 1", 1.0 / 3.0)],
    );
    // A loop within is left at other places in other rounds.
    let circuit = v3(&format!(
        "{head} float x = 0; c = 1; while (c) {{ {again} for int i in [0:2] {{ h q[0]; d = measure q[0]; if (d) {{ x = 2; break; }} x = 1; }}
         if (x == 2) r[0] = 1; x = 0; d = 0; }}"
    ));
    assert_outcomes(&circuit, &[("000 0 0", 1.0 / 15.0), ("001 0 0", 14.0 / 15.0)]);
    // As integers do, which are kept in bits otherwise.
    let body = "h q[0]; c = measure q[0]; h q[0]; while (c) { for int i in [0:1] { if (d) continue; h q[0]; d = measure q[0]; }
        if (d) { h q[0]; c = measure q[0]; x = 2; } else { x = y; y = 3; }
        h q[0]; c = measure q[0]; h q[0]; d = measure q[0]; if (c && d) break; }
        if (c) y = 2; else x = 2; if (x == 2) r[0] = 1; if (x == 3) r[1] = 1; if (y == 2) r[2] = 1;";
    let [numbers, integers] = ["float", "int[8]"]
        .map(|ty| outcomes(&v3(&format!("{head} {ty} x = 1; {ty} y = 2; {body}"))));
    assert_eq!(numbers.len(), integers.len());
    assert!(
        integers.iter().all(|(text, p)| (numbers[text] - p).abs() < TOLERANCE),
        "{numbers:?}\n{integers:?}"
    );
    // New values in every round are too many.
    let message = refused(&format!(
        "{head} float x = 0; c = 1; while (c) {{ x += 0.5; {again} }} rx(x) q[1];"
    ));
    assert!(message.contains("`x` depends on a measurement"), "{message}");
}

/// A number that is guarded has the values that the guard lets it have, and no more.
#[test]
fn guards_bound_the_values_of_numbers() {
    // Each round ends with probability 1/2.
    let mut expected = [0.0; 2];
    let (mut sum, mut t, mut u) = (0.0f64, 0.5f64, 0.5f64);
    for round in 1..60 {
        t = if t < 10.0 { t * 2.0 } else { t };
        u = if u < 10.0 { u * 2.0 } else { 0.25 };
        sum += t;
        for (p, angle) in expected.iter_mut().zip([sum, u]) {
            *p += (angle / 2.0).sin().powi(2) / 2f64.powi(round);
        }
    }
    let circuit = v3(
        "qubit[3] q; bit c = 1; bit[2] d; float t = 0.5; float u = 0.5; while (c) { h q[0]; c = measure q[0]; \
         if (t < 10) t *= 2; if (u < 10) { u *= 2; } else { u = 0.25; } rx(t) q[1]; } \
         rx(u) q[2]; d[0] = measure q[1]; d[1] = measure q[2];",
    );
    let given = outcomes(&circuit);
    for (k, p) in expected.iter().enumerate() {
        let ones: f64 =
            given.iter().filter(|(text, _)| text.as_bytes()[1 - k] == b'1').map(|x| x.1).sum();
        assert!((ones - p).abs() < TOLERANCE, "{k}: {ones}, not {p}");
    }
    // One that is guarded by a measured bit is not.
    assert!(
        refused("qubit q; bit c = 1; float t = 1; while (c) { h q; c = measure q; if (c) t *= 2; } rx(t) q;")
            .contains("`t` depends")
    );
}

#[test]
fn conditions_are_computed_anew_in_each_round() {
    // One or two steps at a time, from 0 to 3 or 4.
    let steps = [("0011 0", 0.375), ("0011 1", 0.25), ("0100 1", 0.375)];
    for condition in
        ["n + n < 5", "n * 3 + 1 <= 8", "!(n / 3 == 1)", "popcount(n >> 1) * 4 + n != 7 && n < 3"]
    {
        let text = format!(
            "qubit q; bit c; bit[4] r; uint[4] n = 0;
             while ({condition}) {{ reset q; h q; c = measure q; n += 1; if (c) n += 1; }} r = n;"
        );
        assert_outcomes(&v3(&text), &steps);
    }
}

#[test]
fn nested_loops_and_conditions_around_them_work() {
    // The outer condition changes within the loop that it guards.
    let text = "qubit q; qubit p; bit a; bit c; bit out; h q; a = measure q;
        if (a) { while (a) { reset q; h q; a = measure q; } x p; } else { x p; x p; } out = measure p;";
    assert_outcomes(&v3(text), &[("0 0 0", 0.5), ("1 0 0", 0.5)]);
    // Two independent coins, each thrown until it shows 1, the inner one anew in each outer round.
    let text = "qubit q; bit a; bit b; bit[2] n; uint[2] rounds = 0;
        while (!a) { b = 0; while (!b) { reset q; h q; b = measure q; } reset q; h q; a = measure q; \
        if (rounds < 3) rounds += 1; } n = rounds;";
    assert_outcomes(&v3(text), &[("01 1 1", 0.5), ("10 1 1", 0.25), ("11 1 1", 0.25)]);
    // A condition that measures.
    let text = "qubit q; bit[2] r; uint[2] n = 0; h q; while (bool(measure q) && n < 2) { n += 1; reset q; h q; } r = n;";
    assert_outcomes(&v3(text), &[("00", 0.5), ("01", 0.25), ("10", 0.25)]);
    // Known rounds first, then unknown ones.
    let text = "qubit q; bit c; bit[2] r; uint[2] n = 0;
        while (n < 3) { reset q; h q; c = measure q; if (c) { n += 1; } else { n = 3; } } r = n;";
    assert_outcomes(&v3(text), &[("11 0", 0.875), ("11 1", 0.125)]);
}

#[test]
fn shots_agree_with_the_distribution_in_any_memory() {
    let circuit = v3("qubit[2] q; bit[2] c; bit[2] n; uint[2] k = 0;
        while (c != 3) { reset q; h q; c = measure q; if (k < 3) { k += 1; } } n = k;");
    let shots = 4000;
    let exact = outcomes(&circuit);
    let counts =
        |simulator: &Simulator| simulator.run_shots::<f64>(&circuit, &[], shots, 5).unwrap();
    let given = counts(&Simulator::new());
    for (text, p) in &exact {
        let n = given.get(text).copied().unwrap_or(0) as f64;
        let deviation = (shots as f64 * p * (1.0 - p)).sqrt().max(1.0);
        assert!((n - shots as f64 * p).abs() < 5.0 * deviation, "{text}: {n} of {shots}, p = {p}");
    }
    assert_eq!(given.values().sum::<u64>(), shots as u64);
    // Without room for waiting states histories are computed again.
    let tight = Simulator::new().with_memory_limit(64);
    assert_eq!(counts(&tight), given);
}

#[test]
fn loops_that_never_end_are_found() {
    let message = refused("qubit q; while (true) { x q; }");
    assert!(message.contains("this loop never ends"), "{message}");
    let message = refused("qubit q; int n = 0; while (n < 3) { x q; }");
    assert!(message.contains("this loop never ends"), "{message}");
    // Its condition could fail, but does not.
    let circuit = v3("qubit q; bit c; while (c == 0) { c = measure q; }");
    let simulator = Simulator::new().with_max_rounds(50);
    for result in [
        simulator.run_shots::<f64>(&circuit, &[], 3, 1).map(|_| ()),
        simulator.distribution(&bound(&circuit), 1000).map(|_| ()),
    ] {
        assert!(matches!(result, Err(SimulateError::Endless { limit: 50 })), "{result:?}");
    }
}

#[test]
fn loops_that_never_end_are_found_before_the_limit() {
    for (body, said) in [
        (
            "qubit[2] q; bit c; x q[0]; c = measure q[0]; while (c == 1) { h q[1]; }",
            "holds whatever",
        ),
        (
            "qubit q; bit c; bit d; while (c == 0 || c == 1) { h q; c = measure q; }",
            "holds whatever",
        ),
        (
            "qubit q; bit c; x q; c = measure q; while (c == 1) { x q; x q; c = measure q; }",
            "iterations repeat",
        ),
        ("qubit q; bit c; while (c == 0) { reset q; c = measure q; }", "iterations repeat"),
        // A cycle of four rounds
        (
            "qubit[2] q; bit c; h q[1]; while (c == 0) { s q[1]; c = measure q[0]; }",
            "iterations repeat",
        ),
    ] {
        let circuit = v3(body);
        // Rounds beyond any patience.
        let simulator = Simulator::new().with_max_rounds(u64::MAX);
        let error = simulator.run_shots::<f64>(&circuit, &[], 100, 1).unwrap_err();
        assert!(matches!(error, SimulateError::NeverEnds { .. }), "{error}");
        assert!(error.to_string().contains(said), "{body}: {error}");
    }
    // These end, if late: the state turns, or an outcome is rare.
    for body in [
        "qubit q; bit c; while (c == 0) { reset q; rx(0.03) q; c = measure q; }",
        "qubit q; bit c; uint[12] n = 0; while (c == 0) { n += 1; if (n == 3000) { x q; } c = measure q; }",
    ] {
        let counts = Simulator::new().run_shots::<f64>(&v3(body), &[], 2, 1).unwrap();
        assert_eq!(counts.values().sum::<u64>(), 2, "{body}");
    }
}

#[test]
fn what_a_loop_cannot_keep_is_refused() {
    let message =
        refused("qubit q; bit c; float t = 0.1; while (!c) { rx(t) q; c = measure q; t = 2 * t; }");
    assert!(message.contains("`t` depends on a measurement"), "{message}");
    let message = refused(
        "qubit q; bit c; array[int, 2] a; def f(mutable array[int, 2] x, qubit q) { x[0] = x[0] + 1; } \
         while (!c) { f(a, q); c = measure q; }",
    );
    assert!(message.contains("`a` depends on a measurement"), "{message}");
}

#[test]
fn loops_are_printed_and_drawn() {
    let circuit = v3("qubit[3] q; bit[2] c; while (c < 2) { h q[0]; h q[2]; c[0] = measure q[0]; \
        if (c[0]) { x q[2]; y q[2]; } c[1] = measure q[2]; } x q[1];");
    let text = to_qasm3(&circuit).unwrap();
    let body = "while (c < 2) {\n    h q[0];\n    h q[2];\n    c[0] = measure q[0];\n    if (c[0]) {\n        \
                x q[2];\n        y q[2];\n    }\n    c[1] = measure q[2];\n}\nx q[1];\n";
    assert!(text.ends_with(body), "{text}");
    assert_eq!(to_qasm2(&circuit), Err(PrintError::Loop));
    let picture = draw::text(&circuit, None);
    let lines: Vec<&str> = picture.lines().collect();
    assert!(lines[0].contains("┤while c < 2├") && lines[0].contains("┤end├"), "{picture}");
    // Gates on other qubits are drawn after the loop if its box spans their lines.
    assert!(lines[2].find('X') > lines[2].find("┤   ├"), "{picture}");
    assert!(draw::svg(&circuit, None).contains(">while<"));
}

#[test]
fn circuits_with_loops_are_composed() {
    let mut coin = Circuit::new(1);
    let m = coin.bit_register("m", 1).unwrap();
    assert_eq!(m.size(), 1);
    let zero = Condition::Bit { bit: 0, value: false };
    coin.while_loop(zero, |c| c.reset(0)?.h(0)?.measure(0, m)).unwrap();
    let mut whole = Circuit::new(2);
    whole.add_register("first", 1).unwrap().x(0).unwrap().measure(0, 0).unwrap();
    whole.append(&coin, &[1]).unwrap();
    assert_outcomes(&whole, &[("1 1", 1.0)]);
    for result in [coin.dagger(), coin.repeat(2), coin.controlled(&[true])] {
        assert!(result.is_err());
    }
    // A body that fails appends nothing.
    let before = whole.clone();
    assert!(whole.while_loop(Condition::Bit { bit: 1, value: true }, |c| c.h(0)?.h(7)).is_err());
    assert!(whole.while_loop(Condition::Bit { bit: 9, value: true }, |c| c.h(0)).is_err());
    assert_eq!(whole, before);
    // A loop under a condition runs while both hold.
    let mut both = Circuit::new(1);
    both.add_register("m", 2).unwrap();
    let (one, other) =
        (Condition::Bit { bit: 1, value: true }, Condition::Bit { bit: 0, value: false });
    both.when(one, |c| c.while_loop(other, |c| c.h(0)?.measure(0, 0))).unwrap();
    assert_outcomes(&both, &[("00", 1.0)]);
    assert!(
        both.instructions().iter().any(|i| matches!(i.operation, Operation::While { body: 2 }))
    );
}
