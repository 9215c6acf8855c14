//! `equivalent`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, keys};

fn qasm(body: &str) -> String {
    format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{body}\n")
}

/// The status and the object for two circuits.
fn compare(a: &str, b: &str, rest: &[&str]) -> (i32, Value, String) {
    let folder = Folder::new();
    folder.file("a.qasm", qasm(a));
    folder.file("b.qasm", qasm(b));
    let ran = folder.run(&[&["equivalent", "a.qasm", "b.qasm", "--json"], rest].concat());
    let object: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:#?}"));
    let expected = "verdict method exact error_bound phase witness max_difference reason seconds";
    assert_eq!(keys(&ran.out), expected.split(' ').collect::<Vec<_>>());
    (ran.status.unwrap(), object, ran.err)
}

#[track_caller]
fn verdict(a: &str, b: &str, rest: &[&str], status: i32, verdict: &str, exact: bool) -> Value {
    let (code, object, err) = compare(a, b, rest);
    assert_eq!(
        (code, &object["verdict"], &object["exact"]),
        (status, &json!(verdict), &json!(exact)),
        "{object} {err}"
    );
    if exact {
        assert!(object["error_bound"].as_f64().unwrap() <= 1e-9, "{object}");
        assert!(
            ["exact_ring", "finite_field"].map(Value::from).contains(&object["method"]),
            "{object}"
        );
    }
    object
}

#[test]
fn free_angles_measured_at_the_end() {
    let a = "input float t; qubit[2] q; bit[2] c; rzz_(t) q[0], q[1]; c = measure q;";
    let a = format!("gate rzz_(x) a, b {{ cx a, b; rz(x) b; cx a, b; }} {a}");
    let b = "input float t; qubit[2] q; cx q[1], q[0]; rz(t) q[0]; cx q[1], q[0];";
    verdict(&a, b, &[], 0, "equal", true);
    let object = verdict(&a, &b.replace("rz(t)", "p(t)"), &[], 0, "equal_up_to_phase", true);
    assert_eq!(object["phase"], "-1/2*t");
    let object = verdict(&a, &b.replace("rz(t)", "rz(-t)"), &[], 3, "different", true);
    assert!(object["witness"]["distance"].as_f64().unwrap() > 1e-3, "{object}");
    assert!(object["witness"]["params"]["t"].is_number(), "{object}");
}

#[test]
fn a_number_below_every_float_is_not_exactly_zero() {
    for tiny in ["1e-9223372036854775808", "1e-400"] {
        let (_, object, err) = compare(&format!("qubit q; rx({tiny}) q;"), "qubit q;", &[]);
        assert_eq!(object["exact"], json!(false), "{tiny}: {object} {err}");
    }
}

#[test]
fn phases_that_are_constant_are_numbers() {
    let object = verdict(
        "qubit q; z q; gphase(pi/8);",
        "qubit q; rz(pi) q;",
        &[],
        0,
        "equal_up_to_phase",
        true,
    );
    assert_eq!(object["phase"], json!(5.0 * std::f64::consts::PI / 8.0));
    verdict("qubit q; rx(0.3) q; rx(0.5) q;", "qubit q; rx(0.8) q;", &[], 0, "equal", true);
    let object =
        verdict("qubit q; rz(0.3) q;", "qubit q; p(0.3) q;", &[], 0, "equal_up_to_phase", true);
    assert_eq!(object["phase"], json!(-0.15));
}

/// A numeric phase has no digit below the error bound, and is none where that hides it.
#[test]
fn phases_in_numbers_have_the_digits_of_their_bound() {
    let turned = |phase: &str| format!("qubit q; ry(0.1234567890123456) q; gphase({phase});");
    let (a, b) = (turned("0.12345678901234567"), turned("0"));
    let object = verdict(&a, &b, &[], 0, "equal_up_to_phase", false);
    let (text, bound) = (object["phase"].to_string(), object["error_bound"].as_f64().unwrap());
    let unit = 10f64.powi(-(text.split_once('.').unwrap().1.len() as i32));
    assert!(unit >= bound && unit < 20.0 * bound, "{object}");
    assert!((text.parse::<f64>().unwrap() - 0.123_456_789_012_345_67).abs() < unit, "{object}");
    // In single precision the bound is 3e-6 or so.
    let single = |tolerance| ["--precision", "f32", "--tolerance", tolerance];
    let small = turned("0.0000040000000000001");
    let object = verdict(&small, &b, &single("0.000005"), 4, "unknown", false);
    assert!(object["reason"].as_str().unwrap().contains("rounding hides"), "{object}");
    verdict(&small, &b, &single("0.0001"), 0, "equal", false);
    let object = verdict(&a, &b, &single("0.0001"), 0, "equal_up_to_phase", false);
    assert!(object["phase"].to_string().len() <= "0.123457".len(), "{object}");
}

#[test]
fn ancillas_and_states() {
    let a = "qubit[2] q; h q[0];";
    let b = "qubit[2] q; h q[0]; cx q[1], q[0]; cp(0.3) q[1], q[0];";
    verdict(a, b, &[], 3, "different", true);
    verdict(a, b, &["--ancillas", "1"], 0, "equal", true);
    verdict(a, "qubit[2] q; ry(pi/2) q[0];", &["--ancillas", "1"], 3, "different", true);
    verdict(a, "qubit[2] q; ry(pi/2) q[0];", &["--state"], 0, "equal", true);
    let object = verdict(
        a,
        "qubit[2] q; rz(-pi/2) q[0]; ry(pi/2) q[0];",
        &["--state"],
        0,
        "equal_up_to_phase",
        true,
    );
    assert_eq!(object["phase"], json!(-std::f64::consts::FRAC_PI_4));
}

#[test]
fn long_decimals_are_rounded_reals() {
    let a = "qubit[2] q; t q[0]; h q[0]; rx(2*pi/3) q[1];";
    let b = "qubit[2] q; p(0.7853981633974483) q[0]; h q[0]; rx(2.094395102393195) q[1];";
    let object = verdict(a, b, &[], 0, "equal", false);
    assert_eq!(object["method"], "numeric");
    assert!(object["max_difference"].as_f64().unwrap() < 1e-14, "{object}");
    verdict(
        a,
        &b.replace("0.7853981633974483", "0.7853981633974483 + 1e-15"),
        &[],
        0,
        "equal",
        false,
    );
    let (_, _, err) = compare(a, b, &[]);
    assert!(err.contains("looks like pi/4"), "{err}");
    verdict(a, b, &["--snap"], 0, "equal", true);
    let (_, _, err) = compare(a, b, &["--snap"]);
    assert!(
        err.contains("0.7853981633974483 is taken for pi/4") && err.contains("2*pi/3"),
        "{err}"
    );
    let object = verdict(
        a,
        &b.replace("0.7853981633974483", "0.7853981633984483"),
        &["--tolerance", "1e-14"],
        3,
        "different",
        false,
    );
    assert!(object["witness"]["distance"].as_f64().unwrap() > 1e-13, "{object}");
    // Less than rounding may have done: neither.
    verdict(a, b, &["--tolerance", "0"], 4, "unknown", false);
    // A short decimal is what it says, and reported.
    let (code, object, err) = compare("qubit q; t q;", "qubit q; p(0.785398) q;", &[]);
    assert_eq!((code, &object["exact"]), (3, &json!(true)));
    assert!(err.contains("0.785398 looks like pi/4"), "{err}");
    verdict("qubit q; t q;", "qubit q; p(0.785398) q;", &["--snap"], 0, "equal", true);
}

/// The rules for decimals hold for the factors of parameters too.
#[test]
fn long_factors_are_rounded_reals() {
    let f = |x: &str| format!("input float a; qubit q; rx({x}) q;");
    verdict(&f("0.333333333333333*a"), &f("a/3"), &[], 0, "equal", false);
    verdict(&f("0.333333333333333*a"), &f("a/4"), &[], 3, "different", false);
    verdict(&f("0.333333333333*a"), &f("a/3"), &[], 3, "different", true);
    verdict(&f("3.14159265358979*a"), &f("pi*a"), &[], 0, "equal", false);
    for (x, y) in [
        ("3.14159265358979*a", "pi*a"),
        ("3.14159265359*a", "pi*a"),
        ("sin(1.5707963267948966*a)", "sin(pi*a/2)"),
        ("a/6.283185307179586", "a/(2*pi)"),
    ] {
        verdict(&f(x), &f(y), &["--snap"], 0, "equal", true);
    }
    let (_, _, err) = compare(&f("3.14159265358979*a"), &f("pi*a"), &["--snap"]);
    assert!(err.contains("3.14159265358979 is taken for pi"), "{err}");
    // A float does not hold these: they are no reason for an exact verdict.
    verdict(&f("9007199254740993.0*a"), &f("9007199254740992.0*a"), &[], 4, "unknown", false);
    verdict(&f("0.1000000000000000001"), &f("0.1"), &[], 0, "equal", false);
    verdict(&f("sin(0.1000000000000000001*a)"), &f("sin(0.1*a)"), &[], 0, "equal", false);
    verdict(&f("0.10000000000000000000*a"), &f("0.1*a"), &[], 0, "equal", true);
    let sum = "input float a; qubit q; rz(333333334.5*a) q; rz(666666668.625*a) q;";
    verdict("input float a; qubit q; rz(1000000003.125*a) q;", sum, &[], 4, "unknown", false);
    let sum = "qubit q; rz(333333334.5) q; rz(666666668.625) q;";
    verdict("qubit q; rz(1000000003.125) q;", sum, &[], 4, "unknown", false);
    let (one, other) =
        ("qubit q; rz(3.12345678901234567) q;", "qubit q; rz(3.12345670101234567) q;");
    let object = verdict(one, other, &["--precision", "f32"], 4, "unknown", false);
    assert!(object["reason"].as_str().unwrap().contains("exceeds the tolerance"), "{object}");
    verdict(one, other, &[], 3, "different", false);
}

#[test]
fn names_and_computed_parameters() {
    let (_, object, err) =
        compare("input float a; qubit q; rx(a) q;", "input float b; qubit q; rx(b) q;", &[]);
    assert_eq!(object["verdict"], "different");
    assert!(
        err.contains("only the first circuit has the parameter `a`") && err.contains("second"),
        "{err}"
    );
    assert_eq!(object["witness"]["params"].as_object().unwrap().len(), 2);
    let f = |x: &str| format!("input float a; qubit q; rx({x}) q;");
    verdict(&f("sin(a)"), &format!("{} h q; rz(0) q; h q;", f("sin(a)")), &[], 0, "equal", true);
    let object = verdict(&f("sin(a)"), &f("cos(a)"), &[], 3, "different", false);
    assert_eq!(object["method"], "numeric");
    verdict(&f("sin(a)*cos(a)"), &f("sin(2*a)/2"), &[], 0, "equal", true);
    // Sums of multiples of one another, in any order.
    verdict("input float a; qubit q; inv @ rx(cos(a)) q;", &f("-cos(a)"), &[], 0, "equal", true);
    let two =
        |x: &str, y: &str| format!("input float a; input float b; qubit q; rx({x}) q; rx({y}) q;");
    let one = |x: &str| format!("input float a; input float b; qubit q; rx({x}) q;");
    for (x, y, whole) in [
        ("cos(a)", "sin(b)", "cos(a) + sin(b)"),
        ("cos(a)", "cos(a) - 1", "2*cos(a) - 1"),
        ("pi*sin(a)/2", "-b", "(pi*sin(a) - 2*b)/2"),
        ("a*a", "-b*b", "(a + b)*(a - b)"),
        // Short decimals are fractions.
        ("0.3*sin(b)", "0.7*sin(b)", "sin(b)"),
        ("0.3", "sin(b)", "sin(b) + 0.3"),
        ("0.1*a**2", "0.25*a", "a*a/10 + a/4"),
        ("(a + 0.5)**2", "-0.25", "a**2 + a"),
        ("(a*b + sin(a))/3", "(a*b - sin(a))/6", "a*b/2 + sin(a)/6"),
    ] {
        verdict(&two(x, y), &one(whole), &[], 0, "equal", true);
        verdict(&one(whole), &two(y, x), &[], 0, "equal", true);
    }
    verdict(&two("cos(a)", "sin(b)"), &one("cos(a) - sin(b)"), &[], 3, "different", false);
    // A factor too large for the fields is a parameter of its own, the same one wherever it is.
    verdict(
        &two("cos(a)", "12345*cos(a)"),
        &two("12344*cos(a) + cos(a)", "cos(a)"),
        &[],
        0,
        "equal",
        true,
    );
    verdict(
        &f("arctan(sin(a))"),
        &f("arcsin(sin(a)/sqrt(1 + sin(a)**2))"),
        &[],
        4,
        "unknown",
        false,
    );
    verdict(
        "input float a; input float b; qubit q; rx(a) q; rx(b) q;",
        "input float b; input float a; qubit q; rx(a + b) q;",
        &[],
        0,
        "equal",
        true,
    );
}

#[test]
fn single_precision() {
    let (a, b) = ("qubit q; rx(0.7853981633974483) q;", "qubit q; rx(0.7853981633974482) q;");
    let object = verdict(a, b, &["--precision", "f32", "--tolerance", "1e-5"], 0, "equal", false);
    assert!(object["error_bound"].as_f64().unwrap() > 1e-7, "{object}");
    let b = "qubit q; rx(0.7953981633974483) q;";
    verdict(a, b, &["--precision", "f32", "--tolerance", "1e-5"], 3, "different", false);
    // Exact verdicts do not depend on it.
    verdict("qubit q; h q; h q;", "qubit q; id q;", &["--precision", "f32"], 0, "equal", true);
}

#[test]
fn faults_are_told() {
    let folder = Folder::new();
    folder.file("one.qasm", qasm("qubit q; h q;"));
    folder.file("middle.qasm", qasm("qubit q; bit c; h q; c = measure q; h q;"));
    folder.file("large.qasm", qasm("qubit[50] q; h q;"));
    folder.run(&["equivalent", "one.qasm", "bell.qasm"]).fails(1, &["1 qubit", "second 2"]);
    folder.run(&["equivalent", "one.qasm", "middle.qasm"]).fails(1, &["second circuit measures"]);
    folder
        .run(&["equivalent", "one.qasm", "one.qasm", "--ancillas", "2"])
        .fails(1, &["2 ancillas", "1 qubit"]);
    folder.run(&["equivalent", "large.qasm", "large.qasm"]).fails(1, &["needs"]);
    folder.run(&["equivalent", "one.qasm", "none.qasm"]).fails(1, &["none.qasm"]);
    folder.run(&["equivalent", "one.qasm"]).fails(2, &["B.qasm"]);
    folder.run(&["equivalent", "-", "-"]).fails(2, &["standard input"]);
    for bad in ["-1", "nan", "x"] {
        folder
            .run(&["equivalent", "one.qasm", "one.qasm", "--tolerance", bad])
            .fails(2, &["tolerance"]);
    }
    folder
        .run(&["equivalent", "one.qasm", "one.qasm", "--state", "--ancillas", "1"])
        .fails(2, &["--ancillas"]);
    let text = folder.run(&["equivalent", "one.qasm", "one.qasm"]).done();
    assert!(text.out.starts_with("equal\nby exact ring, exact, error bound 0"), "{}", text.out);
}

#[test]
fn readout_is_compared() {
    let body = "input float t; qubit[2] q; bit[2] c; h q[0]; rx(t) q[1];";
    let [plain, swapped] = [("c[0]", "c[1]"), ("c[1]", "c[0]")]
        .map(|(first, second)| format!("{body} {first} = measure q[0]; {second} = measure q[1];"));
    let object = verdict(&plain, &swapped, &["--set", "t=0.3"], 3, "different", true);
    let reason = object["reason"].as_str().unwrap();
    assert!(
        reason.contains("c[0] is 1 with probability 0.500000 in the first circuit, 0.022332"),
        "{reason}"
    );
    let object = verdict(&plain, &swapped, &[], 3, "different", true);
    assert_eq!(object["witness"]["params"].as_object().unwrap().len(), 1, "{object}");
    // What is dropped is said.
    let (status, object, err) = compare(&plain, &swapped, &["--ignore-measurements"]);
    assert_eq!((status, &object["verdict"]), (0, &json!("equal")));
    assert!(err.contains("measurements of the second circuit are ignored, of qubit 0, 1"), "{err}");
    // A routed circuit with a fresh qubit, relabelled.
    let ghz =
        "qubit[4] q; bit[4] c; h q[0]; cx q[0], q[1]; cx q[1], q[2]; cx q[2], q[3]; c = measure q;";
    let routed = "qubit[5] q; bit[4] c; h q[1]; cx q[1], q[0]; cx q[1], q[2]; swap q[2], q[3]; cx q[3], q[4];
        c[0] = measure q[1]; c[1] = measure q[0]; c[2] = measure q[3]; c[3] = measure q[4];";
    verdict(ghz, routed, &["--state"], 0, "equal", true);
    verdict(
        ghz,
        &routed.replace("c[2] = measure q[3]", "c[2] = measure q[2]"),
        &["--state"],
        3,
        "different",
        true,
    );
}
