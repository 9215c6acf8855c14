//! Values of inputs from several sources together, and what is said where they do not fit.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use crate::support::{Folder, npy};

/// `<Z0> = cos(a)`, `<Z1> = cos(b)` beside an idle qubit.
const TWO: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b;\nqubit[3] q;\nry(a) q[0];\n\
    ry(b) q[1];\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("two.qasm", TWO);
    folder.file("one.npy", npy("(2, 1)", &[0.1, 0.2]));
    folder.file("other.npy", npy("(2, 1)", &[0.5, 0.6]));
    folder.file("three.npy", npy("(3, 1)", &[0.0; 3]));
    folder.file("point.npy", npy("(1,)", &[0.7]));
    folder.file("full.npy", npy("(2, 2)", &[0.1, 0.3, 0.2, 0.4]));
    folder.file("b.json", r#"{"b": 0.3}"#);
    folder.file("again.json", r#"{"b": "pi/4"}"#);
    folder
}

#[test]
fn a_table_has_the_inputs_that_nothing_else_gives() {
    let folder = folder();
    let call = |rest: &[&str]| -> Vec<f64> {
        let observable = ["run", "two.qasm", "--observable", "Z0 + 2 Z1", "--json"];
        let json = folder.run(&[&observable[..], rest].concat()).json();
        let rows = json["expectations"].as_array().unwrap();
        rows.iter().map(|row| row[0]["value"].as_f64().unwrap()).collect()
    };
    for (rest, expected) in [
        (&["--params", "one.npy", "--set", "b=0.3"][..], [(0.1, 0.3), (0.2, 0.3)]),
        // The columns are for what is left, whatever comes first.
        (&["--params", "one.npy", "--set", "a=0.3"], [(0.3, 0.1), (0.3, 0.2)]),
        (&["--params", "one.npy", "--params", "b.json"], [(0.1, 0.3), (0.2, 0.3)]),
        (&["--params", "one.npy", "--params", "other.npy"], [(0.1, 0.5), (0.2, 0.6)]),
        (&["--params", "other.npy", "--params", "point.npy"], [(0.5, 0.7), (0.6, 0.7)]),
        (&["--params", "full.npy"], [(0.1, 0.3), (0.2, 0.4)]),
        // `--set` wins over a table of all.
        (&["--params", "full.npy", "--set", "b=0.9"], [(0.1, 0.9), (0.2, 0.9)]),
    ] {
        for (found, (a, b)) in call(rest).iter().zip(expected) {
            assert!((found - f64::cos(a) - 2.0 * f64::cos(b)).abs() < 1e-14, "{rest:?} {found}");
        }
    }
    let gradient = [
        "grad",
        "two.qasm",
        "--observable",
        "Z0",
        "--params",
        "one.npy",
        "--set",
        "b=0.3",
        "--json",
    ];
    let json = folder.run(&gradient).json();
    assert!((json["gradient"][1]["a"].as_f64().unwrap() + 0.2f64.sin()).abs() < 1e-14);
}

#[test]
fn sources_that_do_not_fit_are_named() {
    let folder = folder();
    let call =
        |rest: &[&str]| folder.run(&[&["run", "two.qasm", "--observable", "Z0"], rest].concat());
    call(&["--params", "b.json", "--params", "again.json"])
        .fails(1, &["`b` is given twice: by b.json and by again.json"]);
    call(&["--params", "full.npy", "--params", "b.json"])
        .fails(1, &["`b` is given twice: by b.json and by full.npy"]);
    call(&["--params", "one.npy"])
        .fails(1, &["one.npy has 1 value a row, the circuit has 2 parameters", "a, b"]);
    call(&["--params", "one.npy", "--params", "full.npy"])
        .fails(1, &["one.npy and full.npy have 3 values a row"]);
    call(&["--params", "one.npy", "--params", "three.npy"])
        .fails(1, &["one.npy has 2 rows, three.npy has 3"]);
    let none = ["--params", "one.npy", "--set", "a=1", "--set", "b=1"];
    call(&none).fails(1, &["2 parameters, 0 of them without another value"]);
    call(&["--params", "full.npy", "--set", "c=1"]).fails(1, &["no parameter `c`"]);
    call(&["--params", "b.json"]).fails(1, &["no value for 1 parameter: a"]);
    folder
        .run(&["draw", "two.qasm", "--params", "one.npy", "--set", "b=1"])
        .fails(1, &["one point is needed"]);
    let program = ["diff", "-e", "fn f(x) { x }", "--params", "b.json", "--params", "again.json"];
    folder.run(&program).fails(2, &["--params"]);
    let program = ["check", "-e", "fn f(x) { x }", "--params", "b.json", "--params", "again.json"];
    folder.run(&program).fails(2, &["one --params file"]);
}
