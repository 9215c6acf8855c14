//! `run --memory` and the outputs of `run --json`.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Folder, Ran};

const HEADER: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";

/// Files that every way of running shots has one of: final measurements, all qubits, measurements
/// in the middle, what follows them, noise, readings, idle qubits.
const FILES: [(&str, &str); 7] = [
    (
        "end",
        "qubit[3] q; bit[2] c; bit d; h q; cx q[0], q[1]; c = measure q[0:1]; d = measure q[2];",
    ),
    ("all", "qubit[3] q; h q[1]; cx q[1], q[2];"),
    (
        "middle",
        "qubit[2] q; bit[2] c; h q[0]; c[0] = measure q[0]; if (c[0]) h q[1]; c[1] = measure q[1];",
    ),
    (
        "tail",
        "qubit[2] q; bit[2] c; int[4] n = 0; h q; c = measure q; if (c[0]) n += 1; if (c[1]) n += 2; bit[2] r; \
         r[0] = n > 1; r[1] = n == 3;",
    ),
    ("noise", "qubit q; bit c; h q;\n#pragma braket noise bit_flip(0.1) q\nc = measure q;"),
    (
        "readings",
        "qubit[2] q; bit[2] c; h q[0]; c = measure q;\n#pragma ketgrad readout_error(0.1, 0.2) c\n",
    ),
    ("idle", "qubit[5] q; bit[2] c; h q[3]; c[1] = measure q[3];"),
];

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, body) in FILES {
        folder.file(&format!("{name}.qasm"), format!("{HEADER}{body}"));
    }
    folder
}

fn counted(memory: &Value) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for bits in memory.as_array().unwrap() {
        *counts.entry(bits.as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn memories_have_the_counts_with_the_same_seed_for_any_number_of_threads() {
    let folder = folder();
    for (name, _) in FILES {
        let file = format!("{name}.qasm");
        let ways: &[&[&str]] = &[
            &[],
            &["--precision", "f32"],
            &["--method", "density"],
            &["--method", "trajectories"],
            &["--qubits", "0"],
        ];
        for way in ways {
            let run = |more: &[&str]| -> Ran {
                let args = ["run", &file, "--shots", "300", "--seed", "4", "--json"];
                folder.run(&[&args[..], way, more].concat())
            };
            let (without, with) = (run(&["--threads", "1"]), run(&["--memory", "--threads", "1"]));
            let counts = without.json()["counts"].clone();
            let ran = with.done();
            let json: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(json["counts"], counts, "{}", ran.call);
            assert_eq!(json!(counted(&json["memory"])), counts, "{}", ran.call);
            let two = run(&["--memory", "--threads", "2"]).json();
            assert_eq!(two["memory"], json["memory"], "{}", ran.call);
        }
    }
}

#[test]
fn text_has_the_shots_one_a_line() {
    let folder = folder();
    let args = ["run", "end.qasm", "--shots", "5", "--seed", "2", "--memory"];
    let json = folder.run(&[&args[..], &["--json"]].concat()).json();
    let shots = json["memory"].as_array().unwrap();
    let lines: Vec<String> =
        shots.iter().map(|bits| format!("  {}\n", bits.as_str().unwrap())).collect();
    let text = folder.run(&args).done().out;
    assert!(text.ends_with(&format!("memory of 5 shots\n{}", lines.concat())), "{text}");
}

#[test]
fn a_memory_needs_a_number_of_shots() {
    let folder = folder();
    folder.run(&["run", "end.qasm", "--memory"]).fails(2, &["--memory", "--shots"]);
    folder.file("c.toml", "[run]\nmemory = true\n");
    folder.run(&["run", "end.qasm", "--config", "c.toml"]).fails(2, &["--memory", "--shots"]);
    let args = ["run", "end.qasm", "--config", "c.toml", "--shots", "2", "--json"];
    assert_eq!(folder.run(&args).json()["memory"].as_array().unwrap().len(), 2);
    let limit = ["run", "end.qasm", "--memory", "--memory-limit", "1MiB", "--shots"];
    folder.run(&[&limit[..], &["100000000"]].concat()).fails(1, &["the memory of the shots"]);
}

#[test]
fn a_sweep_has_a_memory_a_row() {
    let folder = folder();
    let body = "input float a; qubit q; bit c; rx(a) q; c = measure q;";
    folder.file("a.qasm", format!("{HEADER}{body}"));
    folder.file("a.npy", crate::support::npy("(2, 1)", &[0.0, std::f64::consts::PI]));
    let args = ["run", "a.qasm", "--params", "a.npy", "--shots", "3", "--memory", "--json"];
    let json = folder.run(&args).json();
    assert_eq!(json["memory"], json!([["0", "0", "0"], ["1", "1", "1"]]));
}

#[test]
fn declared_outputs_have_values() {
    let folder = folder();
    let body = "qubit[2] q; output bit[2] r; output bit one; bit c; h q[0]; c = measure q[0]; \
                one = 1; if (c) r[1] = 1; r[0] = measure q[1];";
    folder.file("o.qasm", format!("{HEADER}{body}"));
    let run = |more: &[&str]| {
        let args = ["run", "o.qasm", "--shots", "40", "--seed", "3", "--json"];
        folder.run(&[&args[..], more].concat()).json()
    };
    let json = run(&[]);
    let n = |bits: &str| json["counts"][bits].as_u64().unwrap();
    assert_eq!(n("1 00") + n("1 10"), 40);
    assert_eq!(
        json["outputs"],
        json!({
            "r": {"type": "bit[2]", "distribution": [["00", n("1 00")], ["10", n("1 10")]]},
            "one": {"type": "bit[1]", "value": "1"},
        })
    );
    let memory = run(&["--memory"]);
    let registers: Vec<&str> = memory["memory"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bits| bits.as_str().unwrap().split_once(' ').unwrap().1)
        .collect();
    assert_eq!(memory["outputs"]["r"], json!({"type": "bit[2]", "values": registers}));
    assert_eq!(memory["outputs"]["one"]["values"], json!(vec!["1"; 40]));
    // Qubits alone have no variables, and without shots there is nothing to show.
    assert!(run(&["--qubits", "0"]).get("outputs").is_none());
    let exact = folder.run(&["run", "end.qasm", "--observable", "Z0", "--json"]).json();
    assert!(exact.get("outputs").is_none());
    // Registers that are not declared as outputs are in the counts.
    assert!(folder.run(&["run", "end.qasm", "--json"]).json().get("outputs").is_none());
}

#[test]
fn outputs_that_are_left_out_are_named() {
    let folder = folder();
    let body = "qubit q; output bit c; output int[8] n; h q; c = measure q; n = 3;";
    folder.file("o.qasm", format!("{HEADER}{body}"));
    let ran = folder.run(&["run", "o.qasm", "--shots", "4", "--json"]).done();
    assert!(ran.err.contains("`n`"), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["outputs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["c"]);
}
