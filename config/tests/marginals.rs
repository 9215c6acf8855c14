//! `run --qubits`: outcomes of some qubits alone.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Folder, npy};

/// Qubit 1 is 1 with probability sin(a/2)^2, 3 like it, 4 always, 2 with one half; 0 is idle.
const GATES: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\nqubit[5] q;\nbit[3] c;\nry(a) q[1];\ncx q[1], q[3];\n\
    x q[4];\nh q[2];\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("plain.qasm", GATES.replace("bit[3] c;\n", ""));
    folder.file("measured.qasm", format!("{GATES}c[0] = measure q[1];\nc[1] = measure q[4];\n"));
    folder.file(
        "noisy.qasm",
        format!("{GATES}#pragma braket noise bit_flip(0.1) q[3]\nc[2] = measure q[3];\n"),
    );
    folder
        .file("dynamic.qasm", format!("{GATES}c[0] = measure q[1];\nif (c[0]) x q[0];\nh q[2];\n"));
    folder
}

fn run(folder: &Folder, file: &str, rest: &[&str]) -> Value {
    folder.run(&[&["run", file, "--set", "a=0.8", "--json"], rest].concat()).json()
}

fn numbers(found: &Value) -> Vec<f64> {
    found.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The sums of the probabilities of all qubits, bit by bit.
fn summed(all: &[f64], qubits: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << qubits.len()];
    for (i, p) in all.iter().enumerate() {
        sums[qubits.iter().enumerate().map(|(j, q)| (i >> q & 1) << j).sum::<usize>()] += p;
    }
    sums
}

#[test]
fn probabilities_are_summed_over_the_other_qubits() {
    let folder = folder();
    for (file, more) in [
        ("plain.qasm", &[][..]),
        ("measured.qasm", &[]),
        ("noisy.qasm", &[]),
        ("dynamic.qasm", &["--method", "density"]),
    ] {
        for precision in ["f64", "f32"] {
            let rest = |own: &[&'static str]| [own, more, &["--precision", precision]].concat();
            let all = numbers(&run(&folder, file, &rest(&["--probabilities"]))["probabilities"]);
            for qubits in [&[0][..], &[3, 0, 4], &[4, 3, 2, 1, 0], &[1, 3], &[2]] {
                let text = qubits.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                let text: &'static str = Box::leak(text.into_boxed_str());
                // From the density matrix, and without it.
                for own in [
                    rest(&["--qubits", text]),
                    [&["--qubits", text, "--precision"][..], &[precision]].concat(),
                ] {
                    let found = run(&folder, file, &own);
                    assert_eq!(found["qubits"], json!(qubits));
                    assert!(found.get("counts").is_none());
                    for (x, y) in numbers(&found["probabilities"]).iter().zip(summed(&all, qubits))
                    {
                        assert!((x - y).abs() < 1e-6, "{file} {qubits:?} {found}");
                    }
                }
            }
        }
    }
}

#[test]
fn shots_count_the_named_qubits_in_their_order() {
    let folder = folder();
    let half = 0.4f64.sin().powi(2);
    for (file, expected) in [
        ("plain.qasm", [("010", 1.0 - half), ("111", half)]),
        ("measured.qasm", [("010", 1.0 - half), ("111", half)]),
        ("dynamic.qasm", [("010", 1.0 - half), ("111", half)]),
        ("noisy.qasm", [("010", 0.9 * (1.0 - half)), ("111", 0.9 * half)]),
    ] {
        for more in [&[][..], &["--method", "density"], &["--method", "trajectories"]] {
            let found =
                run(&folder, file, &[&["--qubits", "3,4,1", "--shots", "4000"], more].concat());
            let counts: BTreeMap<String, u64> =
                serde_json::from_value(found["counts"].clone()).unwrap();
            assert_eq!(counts.values().sum::<u64>(), 4000);
            for (bits, p) in expected {
                let share = *counts.get(bits).unwrap_or(&0) as f64 / 4000.0;
                assert!((share - p).abs() < 0.04, "{file} {found}");
            }
        }
    }
    // The shots are those of all qubits.
    let all = run(&folder, "plain.qasm", &["--shots", "300", "--seed", "5"]);
    let some = run(&folder, "plain.qasm", &["--shots", "300", "--seed", "5", "--qubits", "2"]);
    let ones =
        all["counts"].as_object().unwrap().iter().filter(|(bits, _)| bits.as_bytes()[2] == b'1');
    assert_eq!(
        some["counts"]["1"].as_u64().unwrap(),
        ones.map(|(_, n)| n.as_u64().unwrap()).sum::<u64>()
    );
    let text = folder.run(&["run", "plain.qasm", "--set", "a=0", "--qubits", "0,4"]).done().out;
    assert!(text.starts_with("probabilities of qubits 4 0 (zeros left out)\n  10  1"), "{text}");
    let text = folder
        .run(&["run", "plain.qasm", "--set", "a=0", "--qubits", "4", "--shots", "3"])
        .done()
        .out;
    assert_eq!(text, "counts of 3 shots of qubit 4\n  1  3  100.00 %\n");
    folder.file("sweep.npy", npy("(2, 1)", &[0.0, std::f64::consts::PI]));
    let swept = folder
        .run(&["run", "plain.qasm", "--params", "sweep.npy", "--qubits", "3", "--json"])
        .json();
    assert!((numbers(&swept["probabilities"][1])[1] - 1.0).abs() < 1e-15);
}

#[test]
fn a_few_qubits_of_a_wide_register_need_no_list_of_all() {
    let folder = Folder::new();
    folder.file(
        "wide.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[120] q;\nh q[7];\ncx q[7], q[99];\nx q[60];\n",
    );
    let found = folder.run(&["run", "wide.qasm", "--qubits", "99,3,7", "--json"]).json();
    for (found, expected) in
        numbers(&found["probabilities"]).iter().zip([0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0])
    {
        assert!((found - expected).abs() < 1e-15);
    }
    let found =
        folder.run(&["run", "wide.qasm", "--qubits", "60", "--shots", "9", "--json"]).json();
    assert_eq!(found["counts"], json!({"1": 9}));
    let many = (0..60).map(|q| q.to_string()).collect::<Vec<_>>().join(",");
    folder
        .run(&["run", "wide.qasm", "--qubits", &many])
        .fails(1, &["the probabilities of 60 qubits"]);
}

#[test]
fn readings_that_may_be_wrong_count() {
    let folder = folder();
    folder.file("flip.toml", "[[reading]]\np0 = 1.0\np1 = 1.0\n");
    let counts = |file: &str, qubits: &str| {
        folder.run(&[
            "run",
            file,
            "--set",
            "a=0",
            "--shots",
            "9",
            "--noise",
            "flip.toml",
            "--qubits",
            qubits,
            "--json",
        ])
    };
    assert_eq!(counts("measured.qasm", "4,1").json()["counts"], json!({"10": 9}));
    assert_eq!(counts("plain.qasm", "0,4").json()["counts"], json!({"01": 9}));
    counts("measured.qasm", "4,3").fails(1, &["qubit 3 is not measured"]);
    counts("dynamic.qasm", "4,3").fails(1, &["--qubits", "readings"]);
}

#[test]
fn wrong_qubits_are_refused() {
    let folder = folder();
    let fails = |rest: &[&str], status, words: &[&str]| {
        folder.run(&[&["run", "plain.qasm", "--set", "a=1"], rest].concat()).fails(status, words)
    };
    fails(&["--qubits", "4,1,4"], 2, &["qubit 4 twice"]);
    fails(&["--qubits", "1", "--qubits", "1"], 2, &["qubit 1 twice"]);
    fails(&["--qubits", "0,5"], 1, &["qubit 5 does not exist", "has 5, counted from 0"]);
    fails(&["--qubits", "-1"], 2, &["-1"]);
    fails(&["--qubits", "a"], 2, &["--qubits"]);
    fails(&["--qubits", ""], 2, &["--qubits"]);
    fails(&["--qubits", "0", "--amplitudes"], 2, &["--amplitudes and --qubits"]);
    fails(&["--qubits", "0", "--output", "s.npy"], 2, &["--output and --qubits"]);
    let noisy = ["run", "noisy.qasm", "--set", "a=1", "--qubits", "0", "--method", "trajectories"];
    folder.run(&noisy).fails(1, &["shot by shot", "--shots", "--method density"]);
}
