//! Bad and doubtful input of the verbs that compute with symbols, row by row, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// More than any machine that tests run on needs for what has to end at once.
const SOON: Duration = Duration::from_secs(60);
/// The three verbs.
const VERBS: [&[&str]; 3] = [
    &["amplitudes", "a.qasm"],
    &["equivalent", "a.qasm", "b.qasm"],
    &["grad", "a.qasm", "--observable", "Z0"],
];

fn qasm(body: &str) -> String {
    format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{body}\n")
}

/// A folder with `a.qasm` and `b.qasm`.
fn folder(a: &str, b: &str) -> Folder {
    let folder = Folder::new();
    folder.file("a.qasm", qasm(a));
    folder.file("b.qasm", qasm(b));
    folder
}

/// A verb on one circuit.
fn run(body: &str, verb: &[&str], rest: &[&str]) -> Ran {
    folder(body, body).run(&[verb, rest].concat())
}

/// The verdict of `equivalent`, its object, and what it says besides.
fn compare(a: &str, b: &str, rest: &[&str]) -> (String, Value, String) {
    let ran = folder(a, b).run(&[VERBS[1], &["--json"], rest].concat());
    let object: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:#?}"));
    (object["verdict"].as_str().unwrap().to_owned(), object, ran.err)
}

#[test]
fn an_angle_outside_the_ring_is_named() {
    let coarse = run("qubit q; ry(pi/3) q;", VERBS[0], &["--json"]).json();
    assert_eq!(coarse["amplitudes"], json!({"0": "sqrt(3)/2", "1": "1/2"}));
    let cosine =
        run("qubit q; ry(2*pi/7) q;", VERBS[2], &["--method", "symbolic", "--json"]).json();
    assert!(
        (cosine["value"].as_f64().unwrap() - (2.0 * std::f64::consts::PI / 7.0).cos()).abs()
            < 1e-15
    );
    for (angle, text) in
        [("pi/1048577", "pi/1048577"), ("1.0471975511965976", "1.0471975511965976")]
    {
        let body = format!("qubit q; rx({angle}) q;");
        run(&body, VERBS[0], &[]).fails(1, &[text, "outside the ring", "run --amplitudes"]);
        run(&body, VERBS[2], &["--method", "symbolic"]).fails(1, &[text, "outside the ring"]);
        // Fields hold all fractions of pi, and numbers everything.
        assert_eq!(compare(&body, &body, &[]).0, "equal");
        assert!(run(&body, VERBS[2], &["--json"]).json()["value"].is_number());
    }
    let body = "input float t; qubit q; rx(t) q;";
    run(body, VERBS[0], &["--set", "t=arccos(1/sqrt(3))"]).fails(1, &["outside the ring"]);
}

#[test]
fn a_division_by_what_is_always_zero_is_an_error() {
    for below in ["b - b", "sin(b)*sin(b) + cos(b)*cos(b) - 1"] {
        let body = format!("input float a; input float b; qubit q; rx(a/({below})) q;");
        for (verb, rest) in
            [(VERBS[0], &[][..]), (VERBS[1], &[]), (VERBS[2], &["--set", "a=1", "--set", "b=2"])]
        {
            let ran = run(&body, verb, rest);
            assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:#?}");
            let told = ["divi", "not a finite number"].iter().any(|words| ran.err.contains(words));
            assert!(told && ran.err.contains("a"), "{ran:#?}");
        }
    }
}

#[test]
fn an_unknown_symbol_is_told_with_those_that_there_are() {
    let body = "input float theta; qubit q; rx(theta) q;";
    run(body, VERBS[0], &["--set", "phi=1"]).fails(1, &["no parameter `phi`", "theta"]);
    run(body, VERBS[2], &["--set", "theta=1", "--set", "phi=1"])
        .fails(1, &["no parameter `phi`", "theta"]);
    run(body, VERBS[0], &["--set", "theta=phi"]).fails(1, &["phi"]);
    run(body, VERBS[1], &["--set", "theta=1", "--set", "phi=1"])
        .fails(1, &["neither circuit", "`phi`"]);
}

#[test]
fn names_that_clash_are_told_apart() {
    // The imaginary unit.
    let body = "input float i; input float t; qubit q; rx(i) q; rz(t) q;";
    run(body, VERBS[0], &[]).fails(1, &["`i`", "something else", "--set"]);
    let json = run(body, VERBS[0], &["--set", "i=pi", "--json"]).json();
    assert_eq!(json["amplitudes"]["1"], json!("-i*(cos(t/2) + i*sin(t/2))"));
    let energy =
        run(body, VERBS[2], &["--set", "i=0.3", "--set", "t=1", "--json", "--method", "symbolic"])
            .json();
    assert!((energy["gradient"]["i"].as_f64().unwrap() + 0.3f64.sin()).abs() < 1e-15, "{energy}");
    // Two that LaTeX would write alike.
    let body = "input float theta1; input float theta_1; qubit q; ry(theta1) q; ry(theta_1) q;";
    let out = run(body, VERBS[0], &["--form", "latex", "--basis", "0"]).done().out;
    assert!(out.contains(r"\mathtt{theta1}") && out.contains(r"\mathtt{theta\_1}"), "{out}");
    // A number in one file and a list in the other.
    let list = "input array[float, 2] w; qubit q; rx(w[0]) q;";
    let (verdict, _, err) = compare(list, "input float w; qubit q; rx(w) q;", &[]);
    assert_eq!(verdict, "different");
    assert!(err.contains("only the first circuit has the parameter `w[0]`"), "{err}");
    assert!(err.contains("only the second circuit has the parameter `w`"), "{err}");
    // The same twice.
    folder("input float a; input float a; qubit q; rx(a) q;", "")
        .run(VERBS[0])
        .fails(1, &["a.qasm:3", "a"]);
}

#[test]
fn decimals_that_look_like_multiples_of_pi_are_reported_and_kept() {
    let ran = run("qubit q; rx(0.785398) q;", VERBS[0], &["--basis", "0"]).done();
    assert_eq!(ran.out, "0: cos(392699/1000000)\n");
    assert!(ran.err.contains("0.785398 looks like pi/4, but is not taken for it"), "{}", ran.err);
    let (verdict, object, err) = compare("qubit q; rx(0.785398) q;", "qubit q; rx(pi/4) q;", &[]);
    assert_eq!((verdict.as_str(), &object["exact"]), ("different", &json!(true)));
    assert!(err.contains("0.785398 looks like pi/4"), "{err}");
    let (verdict, _, err) =
        compare("qubit q; rx(0.785398) q;", "qubit q; rx(pi/4) q;", &["--snap"]);
    assert_eq!(verdict, "equal");
    assert!(err.contains("0.785398 is taken for pi/4"), "{err}");
    // What does not look like one is not reported.
    assert_eq!(run("qubit q; rx(0.785) q;", VERBS[0], &[]).done().err, "");
    let body = "input float t; qubit q; rx(t) q;";
    let ran = run(body, VERBS[0], &["--set", "t=0.785398"]).done();
    assert!(ran.err.contains("looks like pi/4"), "{}", ran.err);
}

/// Circuit that a transpiler makes of `h t cx rx(pi/3) crz(2*pi/7)`: one-qubit gates as `u3` with
/// all digits.
#[test]
fn transpiled_files_get_a_numeric_verdict() {
    let source =
        "qubit[2] q; h q[0]; t q[0]; cx q[0], q[1]; rx(pi/3) q[1]; crz(2*pi/7) q[0], q[1];";
    let transpiled = |third: &str| {
        format!(
            "qubit[2] q; u3(1.5707963267948966, 0.7853981633974483, 3.141592653589793) q[0]; cx q[0], q[1]; \
             u3({third}, -1.5707963267948966, 1.5707963267948966) q[1]; rz(0.4487989505128276) q[1]; \
             cx q[0], q[1]; rz(-0.4487989505128276) q[1]; cx q[0], q[1];"
        )
    };
    let good = transpiled("1.0471975511965976");
    let (verdict, object, _) = compare(source, &good, &[]);
    assert_eq!(
        (verdict.as_str(), &object["exact"]),
        ("equal_up_to_phase", &json!(false)),
        "{object}"
    );
    assert_eq!(object["method"], json!("numeric"));
    assert!(object["reason"].as_str().unwrap().contains("more than 12 digits"), "{object}");
    assert!(object["max_difference"].as_f64().unwrap() < 1e-14, "{object}");
    // However tight the tolerance, rounding is no difference.
    for tolerance in ["0", "1e-17", "1e-16", "1e-15", "1e-14", "1e-12"] {
        let (verdict, object, _) = compare(source, &good, &["--tolerance", tolerance]);
        assert!(
            ["equal_up_to_phase", "unknown"].contains(&verdict.as_str()),
            "{tolerance}: {object}"
        );
    }
    let (verdict, object, _) = compare(source, &good, &["--snap"]);
    assert_eq!(
        (verdict.as_str(), &object["exact"]),
        ("equal_up_to_phase", &json!(true)),
        "{object}"
    );
    let (verdict, object, _) = compare(source, &transpiled("1.0471975611965976"), &[]);
    assert_eq!((verdict.as_str(), &object["exact"]), ("different", &json!(false)), "{object}");
}

#[test]
fn angles_that_are_not_finite_everywhere_are_compared_where_they_are() {
    let f = |x: &str| format!("input float a; qubit q; rx({x}) q;");
    let (verdict, object, _) = compare(&f("sqrt(a)"), &f("2*sqrt(a)"), &[]);
    assert_eq!(verdict, "different");
    assert!(object["witness"]["params"]["a"].as_f64().unwrap() > 0.0, "{object}");
    // ln(-a^2) is a number nowhere.
    let (verdict, object, _) = compare(&f("log(-(a*a))"), &f("2*log(-(a*a))"), &[]);
    assert_eq!(verdict, "unknown");
    assert!(object["reason"].as_str().unwrap().contains("none of the points"), "{object}");
}

#[test]
fn a_difference_below_rounding_says_so() {
    let (verdict, object, _) = compare("qubit q; rx(pi/268435456) q;", "qubit q; rx(0) q;", &[]);
    assert_eq!(
        (verdict.as_str(), &object["exact"], &object["reason"]),
        ("different", &json!(true), &Value::Null)
    );
    // Rotations about different axes do not commute, by half the product of their angles.
    let (verdict, object, _) =
        compare("qubit q; rx(1e-8) q; rz(1e-8) q;", "qubit q; rz(1e-8) q; rx(1e-8) q;", &[]);
    assert_eq!((verdict.as_str(), &object["exact"]), ("different", &json!(true)), "{object}");
    assert!(object["reason"].as_str().unwrap().contains("less than rounding"), "{object}");
}

#[test]
fn beyond_the_budget_there_is_an_error_soon() {
    let inputs: String = (0..24).map(|k| format!("input float t{k}; ")).collect();
    let layer = |l: usize| {
        let turns: String = (0..4).map(|q| format!("ry(t{}) q[{q}]; ", 4 * l + q)).collect();
        let ring: String = (0..4).map(|q| format!("cx q[{q}], q[{}]; ", (q + 1) % 4)).collect();
        turns + &ring
    };
    let body = format!("{inputs}qubit[4] q; {}", (0..6).map(layer).collect::<String>());
    let start = Instant::now();
    run(&body, VERBS[0], &[]).fails(1, &["after gate", "ry(t", "free angles", "2097152", "--set"]);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // Each variable's exponents need room in a key.
    let many: String = (0..60).map(|k| format!("input float t{k}; ")).collect();
    let turns: String = (0..60).map(|k| format!("rx(t{k}) q; ")).collect();
    run(&format!("{many}qubit q; {turns}"), VERBS[0], &[]).fails(1, &["60 angles", "--set"]);
}
