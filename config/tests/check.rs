//! `check`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::json;

use crate::support::{Folder, keys};

#[test]
fn all_engines_agree_on_a_program() {
    let folder = Folder::new();
    folder.file("model.kg", "fn g(x) { x }\nfn f(a, xs: array, n: int) { let mut s = a; for i in 0..n { s += sin(s) * xs[i]; } s }\n");
    let ran = folder.run(&["check", "model.kg", "--at", "a=0.5,xs=[1,2],n=2", "--json"]);
    assert_eq!(keys(&ran.out), ["engines", "agree", "seconds"]);
    let json = ran.json();
    assert_eq!(json["agree"], json!(true));
    let engines = json["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["reverse", "reverse, not optimized", "forward", "dual", "difference"]);
    for e in engines {
        assert!(e["max_difference"].as_f64().unwrap() < 1e-6, "{e}");
        assert!(e["gradient"]["xs[1]"].is_number() && e["value"].is_number(), "{e}");
    }
    let text = folder.run(&["check", "model.kg", "--function", "g", "--at", "x=2"]).done();
    assert!(text.out.ends_with("all agree\n"), "{}", text.out);
}

#[test]
fn a_wrong_rule_is_3() {
    let folder = Folder::new();
    let source =
        "rule wrong(x) { x * x } pullback(x, y, y_bar) { x * y_bar }\nfn f(x) { wrong(x) + x }\n";
    folder.file("wrong.kg", source);
    // The rule itself is checked as where it is called.
    for (function, [given, right]) in [("f", [4.0, 7.0]), ("wrong", [3.0, 6.0_f64])] {
        let args = ["check", "wrong.kg", "--function", function, "--at", "x=3", "--json"];
        let out = folder.command(&args).output().unwrap();
        assert_eq!(out.status.code(), Some(3));
        let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(json["agree"], json!(false));
        assert_eq!(json["engines"][0]["gradient"]["x"], json!(given));
        // Every engine goes by the rule but differences.
        assert_eq!(json["engines"][3]["gradient"]["x"], json!(given));
        let by_differences = json["engines"][4]["gradient"]["x"].as_f64().unwrap();
        assert!((by_differences - right).abs() < 1e-6, "{by_differences}");
    }
}

/// At a kink all say the same: nothing.
#[test]
fn there_is_no_derivative_at_a_kink() {
    let folder = Folder::new();
    let args =
        ["check", "-e", "fn f(x) { sqrt(x * x) }", "--at", "x=0", "--allow-nonfinite", "--json"];
    let out = folder.command(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    for engine in json["engines"].as_array().unwrap() {
        assert_eq!(
            (&engine["value"], &engine["gradient"]["x"]),
            (&json!(0.0), &json!(null)),
            "{engine}"
        );
    }
}

#[test]
fn a_program_on_the_command_line() {
    let folder = Folder::new();
    let at = ["--at", "x=0.5"];
    folder.run(&[&["check", "-e", "fn f(x) { x * sin(x) }"][..], &at].concat()).done();
    folder
        .run(&[&["check", "-e", "fn f(x) { y }"][..], &at].concat())
        .fails(1, &["-e:1:11", "`y`"]);
    folder.run(&["check", "-e", "fn f(x) { x }", "f.kg"]).fails(2, &["FILE"]);
    folder.run(&["check"]).fails(2, &["FILE"]);
}

#[test]
fn options_of_programs_and_circuits_do_not_meet() {
    let folder = Folder::new();
    folder.file("f.kg", "fn f(x) { x }");
    for rest in [
        &["f.kg", "--observable", "Z0"][..],
        &["f.kg", "--set", "a=1"],
        &["f.kg", "--noise", "model.toml", "--at", "x=1"],
        &["-e", "fn f(x) { x }", "--observable", "Z0"],
    ] {
        folder
            .run(&[&["check"][..], rest].concat())
            .fails(2, &["belong to programs (.kg)", "--observable"]);
    }
}

#[test]
fn all_methods_agree_on_a_circuit() {
    let folder = Folder::new();
    let source = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b;\nqubit[2] q;\nry(a) q[0];\ncrx(a * b) q[0], q[1];\n";
    folder.file("ansatz.qasm", source);
    let at = ["--set", "a=0.3", "--set", "b=pi/5"];
    let json = folder
        .run(&[&["check", "ansatz.qasm", "--observable", "Z0 Y1", "--json"][..], &at].concat())
        .json();
    assert_eq!(json["agree"], json!(true));
    let engines = json["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["adjoint", "forward", "shift", "difference"]);
    assert!(engines.iter().all(|e| e["gradient"]["b"].is_number() && e["value"].is_number()));
    folder.run(&["check", "ansatz.qasm"]).fails(2, &["--observable"]);
    folder.run(&["check", "ansatz.qasm", "--observable", "Z0", "--at", "a=1"]).fails(2, &["--at"]);
    folder.run(&["check", "ansatz.qasm", "--observable", "Z0", "--set", "a=1"]).fails(1, &["b"]);
    folder
        .run(&[&["check", "ansatz.qasm", "--observable", "Z4"][..], &at].concat())
        .fails(1, &["qubit 4"]);
}

#[test]
fn faults_are_told() {
    let folder = Folder::new();
    folder.file("loop.kg", "fn f(x) { let mut s = x; while true { s += 1; } s }\n");
    folder
        .run(&["check", "loop.kg", "--at", "x=1", "--max-steps", "1e4"])
        .fails(1, &["10000 steps"]);
    folder.run(&["check", "loop.kg"]).fails(1, &["no value for 1 parameter: x"]);
    folder.file("pole.kg", "fn f(x) { 1 / x }\n");
    folder.run(&["check", "pole.kg", "--at", "x=0"]).fails(1, &["not finite"]);
}

#[test]
fn single_precision() {
    let folder = Folder::new();
    folder.file("f.kg", "fn f(x, y) { sin(x) * exp(y) + x / y }");
    folder.file(
        "a.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\nqubit q;\nry(a) q;\n",
    );
    for args in [
        &["check", "f.kg", "--at", "x=0.5,y=0.75", "--precision", "f32", "--json"][..],
        &[
            "check",
            "a.qasm",
            "--observable",
            "Z0",
            "--set",
            "a=0.5",
            "--precision",
            "f32",
            "--json",
        ],
    ] {
        let json = folder.run(args).json();
        assert_eq!(json["agree"], json!(true), "{json}");
        let first = &json["engines"][0]["value"];
        // A value of single precision, not of double.
        assert_eq!(first.as_f64().unwrap(), f64::from(first.as_f64().unwrap() as f32));
    }
}

#[test]
fn second_derivatives_are_compared() {
    let folder = Folder::new();
    let source = "fn f(x, ys: array) { x * x * ys[0] + exp(x * ys[1]) }";
    let at = ["--at", "x=0.5,ys=[2,-1]", "--order", "2"];
    let run = |rest: &[&str]| folder.run(&[&["check", "-e", source][..], &at, rest].concat());
    let d = run(&["--json"]).json();
    let names: Vec<&str> =
        d["engines"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    let expected = [
        "forward over reverse",
        "forward over reverse, not optimized",
        "reverse over reverse",
        "dual over reverse",
        "difference of reverse",
    ];
    assert_eq!((names.as_slice(), &d["agree"]), (&expected[..], &json!(true)));
    // d/dx dx = 2 y0 + y1^2 e^(x y1)
    let right = 4.0 + (-0.5f64).exp();
    for engine in d["engines"].as_array().unwrap() {
        let rows = &engine["hessian"];
        assert!((rows["x"]["x"].as_f64().unwrap() - right).abs() < 1e-4, "{engine}");
        assert!((rows["x"]["ys[0]"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{engine}");
    }
    assert!(run(&[]).done().out.ends_with("all agree\n"));
    assert!(run(&["--precision", "f32"]).done().out.ends_with("all agree\n"));
    // The rule's slope is right, that of the slope is not: only second derivatives show it.
    let wrong = "rule square(x) { x * x } pullback(x, y, y_bar) { 2 * detach(x) * y_bar } fn f(x) { square(x) * x }";
    let first = folder.run(&["check", "-e", wrong, "--at", "x=1.5"]).done();
    assert!(first.out.ends_with("all agree\n"), "{}", first.out);
    let second = folder.run(&["check", "-e", wrong, "--at", "x=1.5", "--order", "2"]);
    assert_eq!(second.status, Some(3), "{}", second.out);
    let pair = folder.run(&["check", "-e", "fn f(x) { (x, x) }", "--at", "x=1", "--order", "2"]);
    pair.fails(1, &["a real number"]);
    folder.file("c.qasm", "OPENQASM 3.0; input float a; qubit q; U(a, 0, 0) q;");
    let circuit =
        folder.run(&["check", "c.qasm", "--observable", "Z0", "--set", "a=0.3", "--order", "2"]);
    circuit.fails(2, &["--order 2 is for programs"]);
}
