//! `grad`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, keys};

/// `<Z0> = cos(a) cos(sin(b) + pi/4)` after a CX that leaves it, and `<Z0 Z1>`.
const ANSATZ: &str = r#"OPENQASM 3.0;
include "stdgates.inc";
input float a;
input array[float, 2] w;
qubit[2] q;
bit[2] c;
ry(a) q[0];
cx q[0], q[1];
rx(2 * w[0] + pi / 4) q[1];
crz(sin(w[1])) q[0], q[1];
h q[1];
c = measure q;
"#;
/// Rounding of a few gates.
const ROUNDING: f64 = 1e-12;
/// Central differences.
const DIFFERENCE: f64 = 1e-8;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("ansatz.qasm", ANSATZ);
    folder
}

const POINT: [&str; 6] = ["--set", "a=0.3", "--set", "w[0]=0.7", "--set", "w[1]=-0.4"];

fn grad(rest: &[&str]) -> Value {
    let first = ["grad", "ansatz.qasm", "--observable", "Z0 X1 - 0.5*Y1 + 2", "--json"];
    folder().run(&[&first[..], &POINT, rest].concat()).json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn angles_of_any_size_and_edges_have_their_derivative_or_an_error() {
    let folder = Folder::new();
    let circuit = |inputs: &str, qubits: usize, rest: &str| {
        format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{inputs}qubit[{qubits}] q;\n{rest}")
    };
    // <Z0 Z1 + X1> = cos 3t.
    let turns = "ry(t) q[0];\ncx q[0], q[1];\nrx(3*t) q[1];\n";
    folder.file("turns.qasm", circuit("input float t;\n", 2, turns));
    folder.file("one.qasm", circuit("input float t;\n", 1, "ry(t) q[0];\n"));
    let run = |file: &str, observable: &str, at: &[&str], method: &str| {
        let sets: Vec<&str> = at.iter().flat_map(|at| ["--set", at]).collect();
        let first = ["grad", file, "--observable", observable, "--method", method, "--json"];
        folder.run(&[&first[..], &sets].concat())
    };
    for method in ["adjoint", "shift", "forward", "symbolic", "difference"] {
        let found = run("turns.qasm", "Z0 Z1 + X1", &["t=1e6"], method).json();
        assert!(
            (number(&found["gradient"]["t"]) + 3.0 * 3e6_f64.sin()).abs() < DIFFERENCE,
            "{found}"
        );
        let found = run("one.qasm", "Z0", &["t=1e17"], method);
        if method == "difference" {
            found.fails(1, &["`t` is 1e17", "too far apart", "the other methods"]);
            continue;
        }
        let found = found.json();
        assert!((number(&found["value"]) - 1e17_f64.cos()).abs() < ROUNDING, "{method}: {found}");
        assert!(
            (number(&found["gradient"]["t"]) + 1e17_f64.sin()).abs() < ROUNDING,
            "{method}: {found}"
        );
    }
    let damped = "ry(t) q[0];\n#pragma braket noise amplitude_damping(g) q[0]\n";
    folder.file("damped.qasm", circuit("input float g;\ninput float t;\n", 1, damped));
    for method in ["adjoint", "forward", "difference"] {
        run("damped.qasm", "X0", &["g=1", "t=1"], method).fails(1, &["the derivative by g is"]);
        let found = run("damped.qasm", "Z0", &["g=1", "t=1"], method).json();
        assert!(
            (number(&found["gradient"]["g"]) - (1.0 - 1f64.cos())).abs() < DIFFERENCE,
            "{method}: {found}"
        );
    }
    folder.file("kink.qasm", circuit("input float t;\n", 1, "rx(sqrt(t*t)) q[0];\n"));
    for method in ["adjoint", "shift", "forward", "symbolic", "difference"] {
        run("kink.qasm", "Y0 + Z0", &["t=0"], method).fails(1, &["the derivative by t is NaN"]);
    }
}

#[test]
fn all_methods_give_the_same_numbers() {
    let adjoint = grad(&["--hessian"]);
    let names = ["a", "w[0]", "w[1]"];
    for method in ["shift", "forward", "difference", "symbolic"] {
        let other = grad(&["--hessian", "--method", method]);
        assert_eq!(other["method"], json!(method));
        let tolerance = if method == "difference" { DIFFERENCE } else { ROUNDING };
        assert!((number(&adjoint["value"]) - number(&other["value"])).abs() < ROUNDING);
        for row in names {
            let (x, y) = (&adjoint["gradient"][row], &other["gradient"][row]);
            assert!((number(x) - number(y)).abs() < tolerance, "{method} {row}: {x} {y}");
            for column in names {
                let (x, y) = (&adjoint["hessian"][row][column], &other["hessian"][row][column]);
                assert!(
                    (number(x) - number(y)).abs() < tolerance,
                    "{method} {row} {column}: {x} {y}"
                );
            }
        }
    }
    let single = grad(&["--precision", "f32"]);
    assert!((number(&single["gradient"]["a"]) - number(&adjoint["gradient"]["a"])).abs() < 1e-5);
}

#[test]
fn shots_give_values_with_their_errors() {
    let exact = grad(&[]);
    let shots = ["--shots", "4000", "--seed", "5"];
    let measured = grad(&shots);
    assert_eq!(measured, {
        let mut again = grad(&shots);
        again["seconds"] = measured["seconds"].clone();
        again
    });
    assert_eq!((&measured["method"], &measured["shots"]), (&json!("shift"), &json!(4000)));
    let near = |value: &Value, error: &Value, exact: &Value| {
        let (off, error) = ((number(value) - number(exact)).abs(), number(error));
        assert!(error > 0.0 && error < 0.1 && off < 5.0 * error, "{value} {error} {exact}");
    };
    near(&measured["value"], &measured["stderr"], &exact["value"]);
    for name in ["w[0]", "w[1]"] {
        near(
            &measured["gradient"][name],
            &measured["gradient_stderr"][name],
            &exact["gradient"][name],
        );
    }
    let folder = folder();
    let run = |rest: &[&str]| {
        folder
            .run(&[&["grad", "ansatz.qasm", "--observable", "Z0 + X0"][..], &POINT, rest].concat())
    };
    let keyed = run(&["--shots", "100", "--json"]);
    assert_eq!(
        keys(&keyed.out),
        ["value", "stderr", "gradient", "gradient_stderr", "method", "shots", "seconds"]
    );
    run(&["--shots", "3"]).fails(1, &["3 shots", "2 groups"]);
    run(&["--shots", "0"]).fails(2, &["at least one shot"]);
    run(&["--shots", "9", "--method", "forward"]).fails(2, &["--method forward", "shifts"]);
    run(&["--shots", "9", "--precision", "f32"]).fails(2, &["double precision"]);
    run(&["--shots", "9", "--hessian"]).fails(2, &["--hessian"]);
}

#[test]
fn closed_form_keys_and_text() {
    let folder = Folder::new();
    folder.file("one.qasm", "OPENQASM 3.0;\ninput float t;\nqubit q;\nU(t, 0, 0) q;\n");
    let args = ["grad", "one.qasm", "--observable", "Z0", "--set", "t=pi/2"];
    let ran = folder.run(&[&args[..], &["--json"]].concat());
    assert_eq!(keys(&ran.out), ["value", "gradient", "method", "seconds"]);
    let found = ran.json();
    assert!((number(&found["gradient"]["t"]) + 1.0).abs() < 1e-15);
    assert_eq!(found["method"], json!("adjoint"));
    let text = folder.run(&args).done().out;
    assert!(
        text.contains("gradient\n  t  -1.0\n") || text.contains("gradient\n  t  -0.99"),
        "{text}"
    );
}

#[test]
fn a_table_of_points_gives_lists() {
    let folder = Folder::new();
    let source = "OPENQASM 3.0;\ninput float a;\ninput float b;\ninput float c;\nqubit q;\nU(a * b, c, 0) q;\n";
    folder.file("three.qasm", source);
    let sweep = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sweep.npy");
    let ran = folder
        .run(&["grad", "three.qasm", "--observable", "Z0", "--params", sweep, "--json"])
        .json();
    let (values, gradients) =
        (ran["value"].as_array().unwrap(), ran["gradient"].as_array().unwrap());
    assert!(values.len() > 1 && values.len() == gradients.len());
    assert!(gradients.iter().all(|g| g["a"].is_number() && g["b"].is_number()));
}

#[test]
fn bad_input_is_answered_in_words() {
    let folder = folder();
    let run = |rest: &[&str]| folder.run(&[&["grad", "ansatz.qasm"][..], rest].concat());
    run(&POINT).fails(2, &["--observable"]);
    run(&["--observable", "Z0"]).fails(1, &["a", "w[0]", "w[1]"]);
    run(&[&["--observable", "Z7"][..], &POINT].concat()).fails(1, &["qubit 7", "has 2"]);
    run(&[&["--observable", "Z0", "--method", "shifty"][..], &POINT].concat()).fails(2, &["shift"]);
    run(&[&["--observable", "Z0", "--memory-limit", "64"][..], &POINT].concat())
        .fails(1, &["memory"]);
    folder.file(
        "measured.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\nqubit q;\nbit c;\nrx(a) q;\nc = measure q;\nif (c) x q;\n",
    );
    folder
        .run(&["grad", "measured.qasm", "--observable", "Z0", "--set", "a=1"])
        .fails(1, &["before its end", "no derivative"]);
    folder.file("h.txt", "0.5 Z0\n0.25 Q1 # no such operator\n");
    run(&[&["--observable", "@h.txt"][..], &POINT].concat()).fails(1, &["h.txt:2"]);
}

/// Corrections by what was measured: a teleported state has the derivative of the state.
#[test]
fn circuits_with_feedback_have_derivatives() {
    let folder = Folder::new();
    folder.file(
        "teleport.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\nqubit[3] q;\nbit[2] c;\nry(a) q[0];\nh q[1];\ncx q[1], q[2];\n\
         cx q[0], q[1];\nh q[0];\nc[0] = measure q[0];\nc[1] = measure q[1];\nif (c[1]) x q[2];\nif (c[0]) z q[2];\n",
    );
    let given = ["teleport.qasm", "--set", "a=0.7", "--observable", "Z2", "--json"];
    for method in ["forward", "shift", "difference"] {
        let grad = folder.run(&[&["grad"], &given[..], &["--method", method]].concat()).json();
        assert!((grad["value"].as_f64().unwrap() - 0.7f64.cos()).abs() < 1e-12, "{grad}");
        assert!((grad["gradient"]["a"].as_f64().unwrap() + 0.7f64.sin()).abs() < 1e-8, "{grad}");
    }
    folder
        .run(&[&["grad"], &given[..]].concat())
        .fails(1, &["no derivative by this method", "forward"]);
    let check = folder.run(&[&["check"], &given[..]].concat()).json();
    assert_eq!(check["engines"].as_array().unwrap().len(), 3, "{check}");
    assert_eq!(check["agree"], serde_json::json!(true));
}
