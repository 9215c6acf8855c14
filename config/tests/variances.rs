//! Variances, covariances and error bars of `run`; formulas of expectation values by `amplitudes`.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, keys, npy};

/// `ry(a)` on qubit 1 of three, and CX to qubit 0; qubit 2 is idle.
const PAIR: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\nqubit[3] q;\nry(a) q[1];\ncx q[1], q[0];\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("pair.qasm", PAIR);
    folder.file("noisy.qasm", format!("{PAIR}#pragma braket noise bit_flip(0.1) q[0]\n"));
    folder.file("dynamic.qasm", format!("{PAIR}bit c;\nc = measure q[1];\nif (c) x q[2];\n"));
    folder
}

#[track_caller]
fn near(found: &Value, expected: f64, off: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < off, "{found} {expected}");
}

const ASKED: [&str; 8] = [
    "--observable",
    "Z0 + 2 Z2",
    "--observable",
    "2*Z1",
    "--observable",
    "X0 X1",
    "--variance",
    "--covariance",
];

#[test]
fn variances_and_covariances_are_exact() {
    let folder = folder();
    let (c, s) = (0.8f64.cos(), 0.8f64.sin());
    // How much of Z0 noise leaves.
    for (file, more, left) in [
        ("pair.qasm", &[][..], 1.0),
        ("pair.qasm", &["--precision", "f32"], 1.0),
        ("noisy.qasm", &[], 0.8),
        ("noisy.qasm", &["--precision", "f32"], 0.8),
    ] {
        let off = if more.is_empty() { 1e-12 } else { 1e-5 };
        let found = folder
            .run(&[&["run", file, "--set", "a=0.8", "--json"], &ASKED[..], more].concat())
            .json();
        let (variances, covariances) = (&found["variances"], &found["covariances"]);
        near(&variances[0]["value"], 1.0 - (left * c).powi(2), off);
        near(&variances[1]["value"], 4.0 * s * s, off);
        assert_eq!(variances[1]["observable"], "2*Z1");
        near(&covariances[0][1], 2.0 * left * s * s, off);
        near(&covariances[1][0], 2.0 * left * s * s, off);
        // Z1 and X0 X1 do not commute: Z1 X0 X1 + X0 X1 Z1 = 0.
        near(&covariances[1][2], -2.0 * c * s, off);
        near(&covariances[2][2], 1.0 - s * s, off);
    }
    let asked =
        [&["run", "dynamic.qasm", "--set", "a=0.8", "--json", "--method", "density"], &ASKED[..]]
            .concat();
    let found = folder.run(&asked).json();
    // Qubit 2 is what qubit 1 was measured to be.
    near(&found["covariances"][0][1], 2.0 * 3.0 * s * s, 1e-12);
    near(&found["variances"][2]["value"], 1.0, 1e-12);
    let keyed = folder
        .run(&[&["run", "pair.qasm", "--set", "a=0.8", "--json"], &ASKED[..]].concat())
        .done();
    assert_eq!(
        keys(&keyed.out),
        ["n_qubits", "precision", "backend", "expectations", "variances", "covariances", "seconds"]
    );
    folder.file("sweep.npy", npy("(2, 1)", &[0.0, 1.0]));
    let swept = folder
        .run(&[&["run", "pair.qasm", "--params", "sweep.npy", "--json"], &ASKED[..]].concat())
        .json();
    near(&swept["variances"][1][1]["value"], 4.0 * 1f64.sin().powi(2), 1e-12);
    near(&swept["covariances"][0][0][0], 0.0, 1e-30);
    let text = folder
        .run(&["run", "pair.qasm", "--set", "a=0", "--observable", "X0", "--variance"])
        .done()
        .out;
    assert_eq!(text, "expectation values\n  X0  0\nvariances\n  X0  1\n");
    folder.file("c.toml", "[run]\nobservables = ['X0']\nvariance = true\ncovariance = true\n");
    let found =
        folder.run(&["run", "pair.qasm", "--set", "a=0", "--config", "c.toml", "--json"]).json();
    assert_eq!(found["covariances"], json!([[1.0]]));
}

#[test]
fn what_shots_do_not_give_is_refused() {
    let folder = folder();
    folder
        .run(&["run", "pair.qasm", "--set", "a=1", "--variance"])
        .fails(2, &["--variance", "--observable"]);
    folder
        .run(&["run", "pair.qasm", "--set", "a=1", "--covariance"])
        .fails(2, &["--covariance", "--observable"]);
    for (file, more) in [("dynamic.qasm", &[][..]), ("noisy.qasm", &["--method", "trajectories"])] {
        for option in ["--variance", "--covariance"] {
            let call = ["run", file, "--set", "a=1", "--observable", "Z0", option];
            folder
                .run(&[&call[..], more].concat())
                .fails(1, &[option, "means over shots", "--method density"]);
        }
        let call = ["run", file, "--set", "a=1+-0.1", "--observable", "Z0"];
        folder.run(&[&call[..], more].concat()).fails(1, &["error bars", "--method density"]);
    }
    let bar = ["run", "pair.qasm", "--set", "a=1+-0.1", "--observable", "Z0"];
    for option in [
        "--amplitudes",
        "--probabilities",
        "--variance",
        "--covariance",
        "--shots=9",
        "--output=s.npy",
    ] {
        let name = option.split('=').next().unwrap();
        folder
            .run(&[&bar[..], &[option]].concat())
            .fails(1, &["a", "error bar", &format!("`run {name}`")]);
    }
    folder
        .run(&["run", "pair.qasm", "--set", "a=1+-0.1"])
        .fails(1, &["error bar", "`run --shots`"]);
}

#[test]
fn expectation_values_carry_the_error_bars_of_inputs() {
    let folder = folder();
    let observables =
        ["--observable", "Z1", "--observable", "3*Z0", "--observable", "X0 X1", "--json"];
    let (c, s) = (0.8f64.cos(), 0.8f64.sin());
    for (file, more, left) in [
        ("pair.qasm", &[][..], 1.0),
        ("pair.qasm", &["--precision", "f32"], 1.0),
        ("noisy.qasm", &[], 0.8),
        ("dynamic.qasm", &["--method", "density"], 1.0),
    ] {
        let call = [&["run", file, "--set", "a=0.8+-0.1"], &observables[..], more].concat();
        let found = folder.run(&call).json();
        near(&found["expectations"][0]["value"], c, 1e-6);
        near(&found["expectations"][0]["stderr"], 0.1 * s, 1e-6);
        near(&found["expectations"][1]["stderr"], 0.3 * left * s, 1e-6);
        near(&found["stderr_covariance"][0][1], 0.03 * left * s * s, 1e-6);
        if file == "pair.qasm" {
            near(&found["stderr_covariance"][0][2], -0.01 * s * c, 1e-6);
        }
    }
    let text =
        folder.run(&["run", "pair.qasm", "--set", "a=pi/2±0.5", "--observable", "Z1"]).done().out;
    assert!(text.contains("  Z1  ") && text.contains(" +- 0.5\n"), "{text}");
    // From a given state, too.
    folder.file("one.qasm", "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nx q[1];\n");
    folder.run(&["run", "one.qasm", "--output", "one.npy"]).done();
    let call = [
        "run",
        "pair.qasm",
        "--set",
        "a=0.8+-0.1",
        "--observable",
        "Z1",
        "--input",
        "one.npy",
        "--json",
    ];
    let found = folder.run(&call).json();
    near(&found["expectations"][0]["value"], -c, 1e-14);
    near(&found["expectations"][0]["stderr"], 0.1 * s, 1e-14);
}

#[test]
fn expectation_values_are_formulas() {
    let folder = folder();
    let call =
        ["amplitudes", "pair.qasm", "--observable", "2*Z1 - 0.5", "--observable", "X0 X1 Z2"];
    let ran = folder.run(&[&call[..], &["--json"]].concat()).done();
    assert_eq!(keys(&ran.out), ["n_qubits", "parameters", "exact", "expectations", "seconds"]);
    let expected = json!([
        {"observable": "2*Z1 - 0.5", "value": "(-1 + 4*cos(a))/2"}, {"observable": "X0 X1 Z2", "value": "sin(a)"}
    ]);
    assert_eq!(ran.json()["expectations"], expected);
    assert_eq!(folder.run(&call).done().out, "2*Z1 - 0.5: (-1 + 4*cos(a))/2\nX0 X1 Z2: sin(a)\n");
    let some =
        ["amplitudes", "pair.qasm", "--observable", "Z1", "--basis", "000", "--form", "latex"];
    assert_eq!(
        folder.run(&some).done().out,
        "Z1: \\cos\\left(a\\right)\n000: \\cos\\left(\\frac{a}{2}\\right)\n"
    );
    folder
        .run(&["amplitudes", "pair.qasm", "--observable", "Z3"])
        .fails(1, &["qubit 3 does not exist"]);
    folder.run(&["amplitudes", "dynamic.qasm", "--observable", "Z1"]).fails(1, &["before its end"]);
    folder
        .run(&["amplitudes", "pair.qasm", "--observable", "1e-300*Z1"])
        .fails(1, &["coefficient"]);
}
