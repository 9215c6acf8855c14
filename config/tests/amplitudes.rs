//! `amplitudes`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::json;

use crate::support::{Folder, keys};

const CIRCUIT: &str = r#"OPENQASM 3.0;
include "stdgates.inc";
input float theta;
input array[float, 2] w;
qubit[2] q;
bit[2] c;
ry(theta) q[0];
cx q[0], q[1];
rz(w[1]) q[1];
c = measure q;
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("c.qasm", CIRCUIT);
    folder
}

#[test]
fn json_has_the_documented_keys() {
    let ran = folder().run(&["amplitudes", "bell.qasm", "--json"]).done();
    assert_eq!(keys(&ran.out), ["n_qubits", "parameters", "exact", "amplitudes", "seconds"]);
    let json = ran.json();
    assert_eq!(json["n_qubits"], json!(2));
    assert_eq!(json["parameters"], json!([]));
    assert_eq!(json["exact"], json!(true));
    assert_eq!(json["amplitudes"], json!({"00": "sqrt(2)/2", "11": "sqrt(2)/2"}));
}

#[test]
fn open_parameters_stay_symbols() {
    let folder = folder();
    let json = folder.run(&["amplitudes", "c.qasm", "--json"]).done().json();
    assert_eq!(json["parameters"], json!(["theta", "w[0]", "w[1]"]));
    assert_eq!(json["amplitudes"].as_object().unwrap().len(), 2);
    let set = ["amplitudes", "c.qasm", "--json", "--set", "w[1]=0"];
    let json = folder.run(&set).done().json();
    assert_eq!(json["parameters"], json!(["theta", "w[0]"]));
    assert_eq!(json["amplitudes"], json!({"00": "cos(theta/2)", "11": "sin(theta/2)"}));
    let json = folder.run(&[&set[..], &["--set", "theta=pi/2"]].concat()).done().json();
    assert_eq!(json["amplitudes"], json!({"00": "sqrt(2)/2", "11": "sqrt(2)/2"}));
    let json = folder.run(&[&set[..], &["--set", "theta=0.5"]].concat()).done().json();
    assert_eq!(json["amplitudes"], json!({"00": "cos(1/4)", "11": "sin(1/4)"}));
}

#[test]
fn names_have_the_latex_that_they_have_in_drawings_and_derivatives() {
    let folder = Folder::new();
    for (name, latex) in [
        ("Gamma", r"\Gamma"),
        ("Alpha1", r"\mathrm{A}_{1}"),
        ("step_size", r"\mathrm{step}_{size}"),
        ("x_bar", r"\bar{x}"),
    ] {
        let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";
        let circuit = format!("{head}input float {name};\nqubit q;\nry(2 * {name}) q;\n");
        folder.file("name.qasm", &circuit);
        let amplitude = ["amplitudes", "name.qasm", "--basis", "0", "--form", "latex"];
        let amplitude = folder.run(&amplitude).done().out;
        assert_eq!(amplitude, format!("0: \\cos\\left({latex}\\right)\n"));
        let drawing = folder.run(&["draw", "name.qasm", "--format", "latex"]).done().out;
        assert!(drawing.contains(&format!("R_{{Y}}(2\\,{latex})")), "{drawing}");
        let program = format!("fn f({name}) {{ {name} }}");
        let formula = folder.run(&["diff", "-e", &program, "--emit", "latex"]).done().out;
        assert!(formula.contains(&format!("f({latex}) &= {latex}")), "{formula}");
    }
}

#[test]
fn basis_states_and_forms() {
    let folder = folder();
    let run = |rest: &[&str]| folder.run(&[&["amplitudes", "c.qasm"], rest].concat()).done().out;
    let out = run(&["--basis", "11", "--form", "exp", "--set", "w[1]=0"]);
    assert_eq!(out, "11: i*(exp(-i*theta/2) - exp(i*theta/2))/2\n");
    let out = run(&["--basis", "00", "--basis", "01", "--set", "w[1]=0", "--form", "latex"]);
    assert_eq!(out, "00: \\cos\\left(\\frac{\\theta}{2}\\right)\n01: 0\n");
    let json = folder.run(&["amplitudes", "c.qasm", "--basis", "01", "--json"]).done().json();
    assert_eq!(json["amplitudes"], json!({}));
}

/// Ten rotations after a GHZ state of ten qubits: 524,288 exponentials in 1,024 amplitudes.
#[test]
fn formulas_are_short_unless_asked_otherwise() {
    let folder = Folder::new();
    let inputs: String = (0..10).map(|k| format!("input float t{k};\n")).collect();
    let chain: String = (1..10).map(|k| format!("cx q[{}], q[{k}];\n", k - 1)).collect();
    let turns: String = (0..10).map(|k| format!("rx(t{k}) q[{k}];\n")).collect();
    let text = format!(
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{inputs}qubit[10] q;\nh q[0];\n{chain}{turns}"
    );
    folder.file("ghz.qasm", text);
    let json = folder.run(&["amplitudes", "ghz.qasm", "--json"]).done().json();
    let amplitudes = json["amplitudes"].as_object().unwrap();
    assert_eq!(amplitudes.len(), 1024);
    assert!(amplitudes.values().all(|text| text.as_str().unwrap().len() < 300));
    let cos: Vec<String> = (0..10).map(|k| format!("cos(t{k}/2)")).collect();
    let (cos, sin) = (cos.join("*"), cos.join("*").replace("cos", "sin"));
    assert_eq!(amplitudes["0000000000"], json!(format!("sqrt(2)*({cos} - {sin})/2")));
    let basis = ["amplitudes", "ghz.qasm", "--basis", "0000000000"];
    let latex = folder.run(&[&basis[..], &["--form", "latex"]].concat()).done().out;
    assert!(latex.len() < 800 && latex.contains(r"\cos\left(\frac{t_{9}}{2}\right)"), "{latex}");
    let long = folder.run(&[&basis[..], &["--expand"]].concat()).done().out;
    assert_eq!(long.matches("cos(").count(), 256, "{long}");
}

#[test]
fn faults_say_what_is_wrong() {
    let folder = folder();
    let run = |rest: &[&str]| folder.run(&[&["amplitudes", "c.qasm"], rest].concat());
    run(&["--set", "theta=1.0471975511965976"])
        .fails(1, &["1.0471975511965976", "outside the ring", "--amplitudes"]);
    run(&["--set", "phi=1"]).fails(1, &["no parameter `phi`"]);
    for bits in ["0", "012", "2x", "000", "", "ä"] {
        run(&["--basis", bits]).fails(1, &["--basis needs 2 bits"]);
    }
    run(&["--form", "tex"]).fails(2, &["trig, exp or latex"]);
    run(&["--memory-limit", "100"]).fails(1, &["memory"]);
    folder.run(&["amplitudes", "no.qasm"]).fails(1, &["no.qasm"]);
    folder.run(&["amplitudes"]).fails(2, &["FILE.qasm"]);

    let angles: String = (0..30).map(|k| format!("input float t{k};\n")).collect();
    let gates: String = (0..30).map(|k| format!("r{}(t{k}) q;\n", ["x", "y"][k % 2])).collect();
    let text = format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n{angles}qubit q;\n{gates}");
    folder.file("long.qasm", text);
    folder
        .run(&["amplitudes", "long.qasm", "--memory-limit", "1MiB"])
        .fails(1, &["after gate", "on qubit 0", "30 free angles", "--set"]);
    folder.file(
        "middle.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit q;\nbit c;\nh q;\nc = measure q;\nif (c) x q;\n",
    );
    folder.run(&["amplitudes", "middle.qasm"]).fails(1, &["no single final state"]);
}
