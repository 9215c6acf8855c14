//! `grad` of several observables, from given states, as formulas, and with error bars.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, keys, npy};

/// `<Z0> = cos(a)`, `<X0> = sin(a) sin(b)`, `<Z1> = cos(a) cos(b)`, beside an idle qubit.
const TWO: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b;\nqubit[3] q;\nry(a) q[0];\n\
    ry(b) q[1];\ncx q[0], q[1];\n";

const BOTH: [&str; 4] = ["--observable", "X0 + Z0", "--observable", "Z1"];
const AT: [&str; 4] = ["--set", "a=0.3", "--set", "b=pi/5"];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("two.qasm", TWO);
    folder.file("turned.qasm", TWO.replace("ry(a)", "x q[1]; h q[2]; cx q[2], q[0]; ry(a)"));
    folder.file(
        "start.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nx q[1]; h q[2]; cx q[2], q[0];\n",
    );
    folder.run(&["run", "start.qasm", "--output", "start.npy"]).done();
    folder.run(&["run", "start.qasm", "--output", "single.npy", "--precision", "f32"]).done();
    folder
}

fn call(folder: &Folder, file: &str, parts: &[&[&str]]) -> Value {
    folder.run(&[&[&["grad", file][..]], parts, &[&["--json"]]].concat().concat()).json()
}

#[track_caller]
fn near(found: &Value, expected: f64, off: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < off, "{found} {expected}");
}

#[test]
fn each_observable_has_its_value_and_gradient() {
    let folder = folder();
    for method in ["adjoint", "forward", "shift", "difference", "symbolic"] {
        for precision in ["f64", "f32"] {
            let off = if precision == "f64" { 1e-8 } else { 2e-2 };
            let rest = ["--method", method, "--precision", precision, "--hessian"];
            let both = call(&folder, "two.qasm", &[&BOTH, &AT, &rest]);
            for k in 0..2 {
                let one = call(&folder, "two.qasm", &[&BOTH[2 * k..2 * k + 2], &AT, &rest]);
                let found = &both["expectations"][k];
                assert_eq!(found["observable"], BOTH[2 * k + 1]);
                near(&found["value"], one["value"].as_f64().unwrap(), 1e-6);
                for name in ["a", "b"] {
                    near(&found["gradient"][name], one["gradient"][name].as_f64().unwrap(), off);
                    near(
                        &found["hessian"][name]["a"],
                        one["hessian"][name]["a"].as_f64().unwrap(),
                        off,
                    );
                }
            }
        }
    }
    let args = [&["grad", "two.qasm"][..], &BOTH, &AT].concat();
    let ran = folder.run(&[&args[..], &["--json"]].concat()).done();
    assert_eq!(keys(&ran.out), ["expectations", "method", "seconds"]);
    let entry = &ran.json()["expectations"][0];
    assert_eq!(keys(&serde_json::to_string(entry).unwrap()), ["observable", "value", "gradient"]);
    let text = folder.run(&args).done().out;
    assert!(
        text.starts_with("observable  X0 + Z0\nvalue  1.12") && text.contains("\nobservable  Z1\n"),
        "{text}"
    );
    folder.file("sweep.npy", npy("(2, 2)", &[0.1, 0.2, 0.3, 0.4]));
    let swept = call(&folder, "two.qasm", &[&BOTH, &["--params", "sweep.npy"]]);
    near(&swept["expectations"][1][1]["value"], 0.3f64.cos() * 0.4f64.cos(), 1e-12);
    near(&swept["expectations"][0][1]["gradient"]["b"], -0.1f64.cos() * 0.2f64.sin(), 1e-12);
    let shots = call(&folder, "two.qasm", &[&BOTH, &AT, &["--shots", "2000"]]);
    assert_eq!(shots["shots"], 2000);
    near(
        &shots["expectations"][1]["gradient"]["b"],
        -0.3f64.cos() * 0.628_318_530_717_958_6f64.sin(),
        0.1,
    );
}

/// The shape of a NumPy file, and its numbers.
fn read(folder: &Folder, name: &str) -> (String, Vec<f64>) {
    let bytes = std::fs::read(folder.path(name)).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..start]).trim_end().to_owned();
    let numbers: Vec<f64> = if header.contains("<f4") {
        bytes[start..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).into()).collect()
    } else {
        bytes[start..].chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    };
    (header, numbers)
}

#[test]
fn gradients_are_written_as_arrays() {
    let folder = folder();
    folder.file("sweep.npy", npy("(2, 2)", &[0.1, 0.2, 0.3, 0.4]));
    let rows = ["--params", "sweep.npy"];
    for (parts, shape, kind) in [
        ([&BOTH[2..], &AT, &[]], "(2,)", "<f8"),
        ([&BOTH, &AT, &[]], "(2, 2)", "<f8"),
        ([&BOTH[2..], &rows, &["--precision", "f32"]], "(2, 2)", "<f4"),
        ([&BOTH, &rows, &["--method", "forward"]], "(2, 2, 2)", "<f8"),
        ([&BOTH, &AT, &["--shots", "100"]], "(2, 2)", "<f8"),
    ] {
        let found =
            call(&folder, "two.qasm", &[parts[0], parts[1], parts[2], &["--output", "g.npy"]]);
        let (header, numbers) = read(&folder, "g.npy");
        assert_eq!(
            header,
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")
        );
        // The last numbers are those of the last row and the last observable.
        let last = |value: &Value| {
            value.as_array().map_or(value.clone(), |list| list.last().unwrap().clone())
        };
        let end = if found["expectations"].is_null() {
            last(&found["gradient"])
        } else {
            last(&last(&found["expectations"]))["gradient"].clone()
        };
        near(&end["b"], *numbers.last().unwrap(), 1e-7);
        near(&end["a"], numbers[numbers.len() - 2], 1e-7);
    }
    let fails = |rest: &[&str], status, words: &[&str]| {
        folder.run(&[&["grad", "two.qasm"][..], &BOTH, rest].concat()).fails(status, words)
    };
    fails(&[&AT[..], &["--output", "-"]].concat(), 2, &["--output needs a file"]);
    fails(&[&AT[..], &["--output", "no/such/g.npy"]].concat(), 1, &["no/such/g.npy"]);
    fails(&["--method", "symbolic", "--output", "g.npy"], 2, &["formulas"]);
}

#[test]
fn a_given_state_is_where_the_circuit_starts() {
    let folder = folder();
    let whole = call(&folder, "turned.qasm", &[&BOTH, &AT]);
    for (file, off) in [("start.npy", 1e-12), ("single.npy", 1e-6)] {
        for method in ["adjoint", "forward", "shift", "difference"] {
            let from =
                call(&folder, "two.qasm", &[&BOTH, &AT, &["--input", file, "--method", method]]);
            for k in 0..2 {
                let (found, expected) = (&from["expectations"][k], &whole["expectations"][k]);
                near(&found["value"], expected["value"].as_f64().unwrap(), off);
                near(
                    &found["gradient"]["a"],
                    expected["gradient"]["a"].as_f64().unwrap(),
                    off.max(1e-8),
                );
            }
        }
    }
    let fails = |rest: &[&str], status, words: &[&str]| {
        folder.run(&[&["grad", "two.qasm"][..], &BOTH, &AT, rest].concat()).fails(status, words)
    };
    fails(
        &["--input", "start.npy", "--method", "symbolic"],
        1,
        &["closed forms", "start in |0…0>"],
    );
    folder.file("short.npy", npy("(2,)", &[1.0, 0.0]));
    fails(&["--input", "short.npy"], 1, &["short.npy", "<f8"]);
    fails(&["--input", "none.npy"], 1, &["cannot read none.npy"]);
    folder.file("wide.qasm", TWO.replace("qubit[3]", "qubit[90]"));
    folder
        .run(&[&["grad", "wide.qasm", "--input", "start.npy"][..], &BOTH, &AT].concat())
        .fails(1, &["90 qubits"]);
}

#[test]
fn without_values_there_are_formulas() {
    let folder = folder();
    let found = call(&folder, "two.qasm", &[&BOTH[2..], &["--method", "symbolic", "--hessian"]]);
    assert_eq!(found["value"], "cos(a)*cos(b)");
    assert_eq!(found["gradient"], json!({"a": "-sin(a)*cos(b)", "b": "-cos(a)*sin(b)"}));
    assert_eq!(found["hessian"]["b"]["a"], "sin(a)*sin(b)");
    assert_eq!(found["method"], "symbolic");
    // Some values alone leave the others open.
    let found = call(&folder, "two.qasm", &[&BOTH, &["--method", "symbolic", "--set", "a=pi/2"]]);
    assert_eq!(found["expectations"][0]["value"], "sin(b)");
    assert_eq!(found["expectations"][1]["gradient"], json!({"b": "0"}));
    let text =
        folder.run(&["grad", "two.qasm", "--observable", "Z1", "--method", "symbolic"]).done().out;
    assert_eq!(
        text,
        "value  cos(a)*cos(b)\ngradient\n  a  -sin(a)*cos(b)\n  b  -cos(a)*sin(b)\nmethod  symbolic\n"
    );
    // The other methods need values.
    folder
        .run(&["grad", "two.qasm", "--observable", "Z1"])
        .fails(1, &["no value for 2 parameters: a, b"]);
    folder.file("outside.qasm", TWO.replace("ry(b)", "ry(sin(b))"));
    folder
        .run(&["grad", "outside.qasm", "--observable", "Z1", "--method", "symbolic"])
        .fails(1, &["is computed from b", "no derivative by b"]);
    folder.file("third.qasm", TWO.replace("ry(b)", "ry(1.0471975511965976)"));
    folder
        .run(&["grad", "third.qasm", "--observable", "Z1", "--method", "symbolic"])
        .fails(1, &["1.0471975511965976", "outside"]);
}

/// `<Z1> = cos(a) cos(b)`, `<Z0> = cos(a)`: what shares an input is correlated.
#[test]
fn error_bars_of_inputs_are_those_of_results() {
    let folder = folder();
    let (a, b, s, t) = (0.3f64, 0.5f64, 0.01, 0.02);
    let given =
        ["--observable", "Z0", "--observable", "Z1", "--set", "a=0.3+-0.01", "--set", "b=0.5±0.02"];
    let own = |found: &Value, off: f64| {
        let [first, second] = [&found["expectations"][0], &found["expectations"][1]];
        near(&first["stderr"], s * a.sin(), off);
        near(&first["gradient_stderr"]["a"], s * a.cos(), off);
        near(&second["stderr"], (s * a.sin() * b.cos()).hypot(t * a.cos() * b.sin()), off);
        near(
            &second["gradient_stderr"]["a"],
            (s * a.cos() * b.cos()).hypot(t * a.sin() * b.sin()),
            off,
        );
        near(&found["stderr_covariance"][0][1], s * s * a.sin() * a.sin() * b.cos(), off);
        near(&found["stderr_covariance"][1][1], second["stderr"].as_f64().unwrap().powi(2), off);
    };
    for method in ["adjoint", "forward", "shift", "difference", "symbolic"] {
        own(&call(&folder, "two.qasm", &[&given, &["--method", method]]), 1e-9);
    }
    own(&call(&folder, "two.qasm", &[&given, &["--precision", "f32"]]), 1e-7);
    // An input that is used twice counts twice, not in squares; and one that is exact not at all.
    folder.file("twice.qasm", TWO.replace("ry(b) q[1];", "ry(a) q[0];"));
    let twice = ["--observable", "Z0", "--set", "a=0.3+/-0.01", "--set", "b=1+-0"];
    let found = call(&folder, "twice.qasm", &[&twice]);
    near(&found["stderr"], 0.02 * 0.6f64.sin(), 1e-14);
    near(&found["gradient_stderr"]["b"], 0.0, 1e-14);
    // Noise and feedback carry them, too.
    folder.file("noisy.qasm", format!("{TWO}#pragma braket noise bit_flip(0.1) q[0]\n"));
    near(
        &call(&folder, "noisy.qasm", &[&given])["expectations"][0]["stderr"],
        0.8 * s * a.sin(),
        1e-12,
    );
    folder.file("dynamic.qasm", format!("{TWO}reset q[1];\n"));
    let found = call(&folder, "dynamic.qasm", &[&given, &["--method", "forward"]]);
    near(&found["expectations"][0]["stderr"], s * a.sin(), 1e-12);
    // Files of values have them as texts.
    folder.file("bars.json", r#"{"a": "0.3 +- 0.01", "b": 0.5}"#);
    let found = call(&folder, "two.qasm", &[&["--observable", "Z0", "--params", "bars.json"]]);
    near(&found["stderr"], s * a.sin(), 1e-14);
}

#[test]
fn error_bars_are_refused_where_they_are_not_carried() {
    let folder = folder();
    let bar = ["--set", "a=0.3+-0.01", "--set", "b=1"];
    let fails = |verb: &[&str], words: &[&str]| {
        folder.run(&[verb, &bar].concat()).fails(1, &[&["a", "error bar"], words].concat())
    };
    fails(&["grad", "two.qasm", "--observable", "Z0", "--hessian"], &["`grad --hessian`"]);
    fails(&["grad", "two.qasm", "--observable", "Z0", "--shots", "9"], &["`grad --shots`"]);
    fails(&["check", "two.qasm", "--observable", "Z0"], &["`check`"]);
    fails(&["draw", "two.qasm"], &["`draw`"]);
    fails(&["convert", "two.qasm", "--to", "qasm2"], &["`convert`"]);
    fails(&["amplitudes", "two.qasm"], &["`amplitudes`"]);
    fails(&["equivalent", "two.qasm", "two.qasm"], &["`equivalent`"]);
    folder
        .run(&["diff", "-e", "fn f(x) { x }", "--at", "x=0.3+-0.01"])
        .fails(1, &["without an error bar"]);
    folder.file(
        "job.toml",
        "[ansatz]\ncircuit = 'two.qasm'\n[hamiltonian]\nterms = 'Z0'\n[start]\nset = ['a=1+-2']\n",
    );
    folder.run(&["optimize", "job.toml"]).fails(1, &["`a` has an error bar", "`optimize`"]);
    let grad = |value: &str, words: &[&str]| {
        let set = ["grad", "two.qasm", "--observable", "Z0", "--set", value, "--set", "b=1"];
        folder.run(&set).fails(1, words);
    };
    grad("a=0.3+-", &["the error of --set a"]);
    grad("a=0.3+--0.01", &["not negative"]);
    grad("a=0.3+-1e999", &["the error of --set a"]);
    grad("a=0.3+-0.1+-0.2", &["the error of --set a"]);
    grad("a=(0.3+-0.1)*2", &["--set a:1:5"]);
    folder.file(
        "sized.qasm",
        "OPENQASM 3.0;\ninput uint[4] n;\ninput float a;\nqubit[n] q;\nU(a, 0, 0) q[0];\n",
    );
    let sized = ["grad", "sized.qasm", "--observable", "Z0", "--set", "n=2+-1", "--set", "a=1"];
    folder.run(&sized).fails(1, &["`n` decides what the circuit is"]);
    // A difference is one where the signs are apart, and in the language itself.
    let apart = [
        "grad",
        "two.qasm",
        "--observable",
        "Z0",
        "--set",
        "a=0.3 + -0.01",
        "--set",
        "b=1",
        "--json",
    ];
    near(&folder.run(&apart).json()["value"], 0.29f64.cos(), 1e-14);
    folder.file("sum.qasm", TWO.replace("ry(a)", "ry(0.3+-0.01)"));
    let sum = ["grad", "sum.qasm", "--observable", "Z0", "--set", "a=0", "--set", "b=1", "--json"];
    near(&folder.run(&sum).json()["value"], 0.29f64.cos(), 1e-14);
}
