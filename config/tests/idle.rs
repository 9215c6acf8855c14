//! Registers wider than the circuit, and dynamics that is none, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::json;

use crate::support::Folder;

/// Memory that is not enough if idle qubits count.
const LIMIT: [&str; 2] = ["--memory-limit", "100MiB"];

const BELL: &str = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[127]; h q[126]; cx q[126],q[64];";

#[test]
fn a_bell_pair_in_a_register_of_127() {
    let folder = Folder::new();
    folder.file("bell.qasm", BELL);
    folder
        .file("read.qasm", format!("{BELL} creg c[2]; measure q[126]->c[0]; measure q[64]->c[1];"));
    let ran =
        folder.run(&["run", "read.qasm", "--shots", "1000", "--json", LIMIT[0], LIMIT[1]]).json();
    assert_eq!(ran["n_qubits"], json!(127));
    let counts = ran["counts"].as_object().unwrap();
    let of = |bits: &str| counts[bits].as_u64().unwrap();
    assert!(
        counts.len() == 2 && of("00") + of("11") == 1000 && of("11").abs_diff(500) < 64,
        "{counts:?}"
    );
    // Without measurements all qubits of the register are named.
    let ran = folder.run(&["run", "bell.qasm", "--shots", "100", "--json"]).json();
    let ones: Vec<Vec<usize>> = (ran["counts"].as_object().unwrap().keys())
        .map(|bits| (0..127).filter(|q| bits.as_bytes()[126 - q] == b'1').collect())
        .collect();
    assert_eq!(ones, [vec![], vec![64, 126]]);
    // Z of an idle qubit is 1, and X of one 0.
    let observable = "Z126 Z64 Z3 + 0.5 X5 + 2 Z7 - X126 X64 X0";
    let args = ["run", "bell.qasm", "--observable", observable, "--observable", "Z64", "--json"];
    let ran = folder.run(&args).json();
    let value = |k: usize| ran["expectations"][k]["value"].as_f64().unwrap();
    assert!((value(0) - 3.0).abs() < 1e-12 && value(1).abs() < 1e-12, "{ran}");
    // Amplitudes as numbers and as formulas have the names of the register.
    for verb in ["run", "amplitudes"] {
        let more: &[&str] = if verb == "run" { &["--amplitudes"] } else { &[] };
        let out = folder.run(&[&[verb, "bell.qasm"], more].concat()).done().out;
        let named: Vec<&str> =
            out.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() == 127).collect();
        assert_eq!(named.len(), 2, "{out}");
        assert!(named[1].starts_with('1') && named[1].matches('1').count() == 2, "{out}");
    }
    let basis = format!("{}1", "0".repeat(126));
    let out = folder.run(&["amplitudes", "bell.qasm", "--basis", &basis]).done().out;
    assert_eq!(out, format!("{basis}: 0\n"));
    // A list of all amplitudes cannot be: the error says for what.
    let refused = folder.run(&["run", "bell.qasm", "--amplitudes", "--json"]);
    refused.fails(1, &["the amplitudes of 127 qubits"]);
    let out = folder.run(&["equivalent", "bell.qasm", "read.qasm"]).done().out;
    assert!(out.starts_with("equal\n"), "{out}");
}

#[test]
fn derivatives_in_a_register_of_30() {
    let folder = Folder::new();
    folder.file(
        "wide.qasm",
        "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit[30] q; ry(t) q[29]; cx q[29],q[1]; rx(2*t) q[1];",
    );
    let at = ["--observable", "Z29 Z1", "--set", "t=0.3", "--json", LIMIT[0], LIMIT[1]];
    for method in ["adjoint", "forward", "shift", "difference", "symbolic"] {
        let ran =
            folder.run(&[&["grad", "wide.qasm", "--method", method], &at[..]].concat()).json();
        let (value, slope) =
            (ran["value"].as_f64().unwrap(), ran["gradient"]["t"].as_f64().unwrap());
        let tolerance = if method == "difference" { 1e-9 } else { 1e-13 };
        assert!((value - 0.825_335_614_909_678_3).abs() < 1e-13, "{method}: {value}");
        assert!((slope + 1.129_284_946_790_070_5).abs() < tolerance, "{method}: {slope}");
    }
    let ran = folder.run(&[&["check", "wide.qasm"], &at[..]].concat()).json();
    assert_eq!(ran["agree"], json!(true));
    let out = folder.run(&["equivalent", "wide.qasm", "wide.qasm", LIMIT[0], LIMIT[1]]).done().out;
    assert!(out.starts_with("equal\n"), "{out}");
    // As a file there are all 2^n, with those of idle qubits.
    folder.file("small.qasm", "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[4]; x q[1]; h q[3];");
    let ran =
        folder.run(&["run", "small.qasm", "--amplitudes", "--probabilities", "--json"]).json();
    let p: Vec<f64> =
        ran["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
    let right = |k: usize| if [2, 10].contains(&k) { 0.5 } else { 0.0 };
    assert!(
        p.len() == 16 && p.iter().enumerate().all(|(k, p)| (p - right(k)).abs() < 1e-12),
        "{p:?}"
    );
    assert_eq!(ran["amplitudes"].as_array().unwrap().len(), 16);
}

#[test]
fn resets_conditions_and_bits_that_do_nothing() {
    let folder = Folder::new();
    let body = "ry(t) q[0]; cx q[0],q[1];";
    let head = "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit[2] q;";
    folder.file("plain.qasm", format!("{head} {body}"));
    folder.file("reset.qasm", format!("{head} reset q; {body}"));
    folder.file(
        "bits.qasm",
        format!("{head} bit[8] b = \"00000101\"; bit c; if (c == 1) x q[0]; {body}"),
    );
    for file in ["plain.qasm", "reset.qasm", "bits.qasm"] {
        for method in ["adjoint", "symbolic"] {
            let args =
                ["grad", file, "--observable", "Z0 + X0 X1", "--set", "t=0.3", "--method", method];
            let ran = folder.run(&[&args[..], &["--json"]].concat()).json();
            let (value, slope) =
                (ran["value"].as_f64().unwrap(), ran["gradient"]["t"].as_f64().unwrap());
            assert!((value - 1.250_856_695_786_945_4).abs() < 1e-13, "{file}, {method}: {value}");
            assert!((slope - 0.659_816_282_464_266_4).abs() < 1e-13, "{file}, {method}: {slope}");
        }
        let out = folder.run(&["amplitudes", file]).done().out;
        assert_eq!(out, "00: cos(t/2)\n11: sin(t/2)\n", "{file}");
        let out = folder.run(&["equivalent", "--state", file, "plain.qasm"]).done().out;
        assert!(out.starts_with("equal\n"), "{file}: {out}");
    }
    let out = folder.run(&["run", "bits.qasm", "--set", "t=0", "--shots", "3"]).done().out;
    assert!(out.contains("0 00000101  3  100.00 %"), "{out}");
}
