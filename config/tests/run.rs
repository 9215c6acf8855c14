//! The verb `run`: what it computes and how it prints it.

use crate::support::{self, Folder, keys};

#[test]
fn keys_stand_in_order() {
    let folder = Folder::new();
    let all = ["--shots", "10", "--observable", "Z0", "--amplitudes", "--probabilities", "--json"];
    let ran = folder.run(&[&["run", "bell.qasm"][..], &all].concat()).done();
    let expected = [
        "n_qubits",
        "precision",
        "backend",
        "counts",
        "expectations",
        "amplitudes",
        "probabilities",
        "seconds",
    ];
    assert_eq!(keys(&ran.out), expected);
    let json = ran.json();
    assert_eq!(json["n_qubits"], 2);
    assert_eq!(json["precision"], "f64");
    assert_eq!(json["backend"], "fast");
    assert!(json["seconds"].as_f64().unwrap() >= 0.0);
    let entry = serde_json::to_string(&json["expectations"][0]).unwrap();
    assert_eq!(keys(&entry), ["observable", "value"]);
}

#[test]
fn counts_are_of_the_shots() {
    let folder = Folder::new();
    let json = folder.run(&["run", "bell.qasm", "--shots", "1000", "--json"]).json();
    let counts = json["counts"].as_object().unwrap();
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["00", "11"]);
    assert_eq!(counts.values().map(|v| v.as_u64().unwrap()).sum::<u64>(), 1000);
    // Without any request there are 1024; with one there are none.
    let json = folder.run(&["run", "bell.qasm", "--json"]).json();
    assert_eq!(
        json["counts"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum::<u64>(),
        1024
    );
    let json = folder.run(&["run", "bell.qasm", "--json", "--observable", "Z0"]).json();
    assert!(json.get("counts").is_none());
}

#[test]
fn shots_without_measurements_measure_all() {
    let folder = Folder::new();
    folder.file("x.qasm", "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nx q[0];\n");
    let json = folder.run(&["run", "x.qasm", "--shots", "7", "--json"]).json();
    assert_eq!(json["counts"], serde_json::json!({"001": 7}));
}

#[test]
fn results_are_right() {
    let folder = Folder::new();
    let args = ["run", "bell.qasm", "--amplitudes", "--probabilities", "--json"];
    let observables =
        ["--observable", "Z0 Z1", "--observable", "-Z0 + 0.5*X0 X1 - 2", "--observable", "Y0 Y1"];
    let json = folder.run(&[&args[..], &observables].concat()).json();
    let value = |k: usize| json["expectations"][k]["value"].as_f64().unwrap();
    assert!((value(0) - 1.0).abs() < 1e-15);
    assert!((value(1) + 1.5).abs() < 1e-15);
    assert!((value(2) + 1.0).abs() < 1e-15);
    assert_eq!(json["expectations"][1]["observable"], "-Z0 + 0.5*X0 X1 - 2");
    let amplitudes = json["amplitudes"].as_array().unwrap();
    assert_eq!(amplitudes.len(), 4);
    assert!((amplitudes[3][0].as_f64().unwrap() - 0.5f64.sqrt()).abs() < 1e-15);
    assert!((json["probabilities"][3].as_f64().unwrap() - 0.5).abs() < 1e-15);
}

#[test]
fn values_may_begin_with_a_minus() {
    let folder = Folder::new();
    for observable in [&["--observable", "-Z0"][..], &["--observable=-Z0"]] {
        let args = [
            "run",
            "ansatz.qasm",
            "--set",
            "theta=-0.3",
            "--set",
            "w[0]=0",
            "--set",
            "w[1]=0",
            "--json",
        ];
        let json = folder.run(&[&args[..], observable].concat()).json();
        let value = json["expectations"][0]["value"].as_f64().unwrap();
        assert!((value + 0.3f64.cos()).abs() < 1e-15);
    }
}

#[test]
fn common_options_stand_before_and_after() {
    let folder = Folder::new();
    let text = |args: &[&str]| folder.run(args).json()["counts"].clone();
    let after = text(&["run", "bell.qasm", "--json", "--seed", "5", "--threads", "1", "--quiet"]);
    assert_eq!(
        text(&["--json", "--seed", "5", "--threads", "1", "--quiet", "run", "bell.qasm"]),
        after
    );
    let both = [
        "--json",
        "--seed",
        "5",
        "run",
        "bell.qasm",
        "--memory-limit",
        "1GiB",
        "--max-gates",
        "100",
    ];
    assert_eq!(text(&[&both[..], &["--max-steps", "1e9", "--precision", "f64"]].concat()), after);
    assert_ne!(text(&["run", "bell.qasm", "--json", "--seed", "6"]), after);
}

#[test]
fn the_seed_decides_alone() {
    let folder = Folder::new();
    let mut source = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[15] q;\n".to_owned();
    (0..15).for_each(|q| source += &format!("h q[{q}];\n"));
    folder.file("h.qasm", source);
    let counts = |threads| {
        folder
            .run(&[
                "run",
                "h.qasm",
                "--shots",
                "5000",
                "--seed",
                "9",
                "--json",
                "--threads",
                threads,
            ])
            .json()["counts"]
            .clone()
    };
    assert_eq!(counts("1"), counts("2"));
    assert_eq!(counts("2"), counts("5"));
}

#[test]
fn single_precision_prints_single_precision() {
    let folder = Folder::new();
    let ran =
        folder.run(&["run", "bell.qasm", "--precision", "f32", "--amplitudes", "--json"]).done();
    assert!(
        ran.out.contains("[0.70710677,0.0]") || ran.out.contains("[0.7071068,0.0]"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("\"precision\":\"f32\""));
}

#[test]
fn text_is_aligned_and_notes_are_on_stderr() {
    let folder = Folder::new();
    let args = [
        "run",
        "bell.qasm",
        "--shots",
        "8",
        "--observable",
        "Z0 Z1",
        "--amplitudes",
        "--probabilities",
    ];
    let ran = folder.run(&args).done();
    assert!(ran.out.starts_with("counts of 8 shots\n  00  "), "{}", ran.out);
    assert!(ran.out.contains("expectation values\n  Z0 Z1  "), "{}", ran.out);
    assert!(ran.out.contains("amplitudes (zeros left out)\n  00 "), "{}", ran.out);
    assert!(ran.err.starts_with("2 qubits, f64, fast, "), "{}", ran.err);
    assert_eq!(folder.run(&[&args[..], &["--quiet"]].concat()).done().err, "");
    assert_eq!(folder.run(&[&args[..], &["--json"]].concat()).done().err, "");
}

#[test]
fn the_circuit_may_come_from_stdin() {
    let folder = Folder::new();
    folder.run_with_input(&["run", "-", "--json"], support::BELL).json();
    folder
        .run_with_input(&["run", "-"], "OPENQASM 3.0;\nqubit[2] q;\nfoo r[0];\n")
        .fails(1, &["<stdin>:3:1"]);
}

#[test]
fn observables_come_from_files() {
    let folder = Folder::new();
    folder.file("o.txt", "# energy\nZ0 Z1 # one\n\n- 0.5*X0 X1\r\n2\n");
    let json = folder.run(&["run", "bell.qasm", "--observable", "@o.txt", "--json"]).json();
    assert!((json["expectations"][0]["value"].as_f64().unwrap() - 2.5).abs() < 1e-15);
    folder.file("bad.txt", "Z0\n# fine\nX0 Q1\n");
    folder
        .run(&["run", "bell.qasm", "--observable", "@bad.txt"])
        .fails(1, &["[bad.txt:3:4]", "X0 Q1", "`Q1`"]);
    folder.file("empty.txt", "# nothing\n");
    folder.run(&["run", "bell.qasm", "--observable", "@empty.txt"]).fails(1, &["no terms"]);
    folder.run(&["run", "bell.qasm", "--observable", "@no.txt"]).fails(1, &["cannot read no.txt"]);
}

#[test]
fn a_config_file_holds_options() {
    let folder = Folder::new();
    folder.file(
        "c.toml",
        "seed = 3\njson = true\n[run]\nshots = 50\nobservables = ['Z0', 'Z1']\nprecision = 'f32'\n",
    );
    let json = folder.run(&["run", "bell.qasm", "--config", "c.toml"]).json();
    assert_eq!(json["precision"], "f32");
    assert_eq!(json["expectations"].as_array().unwrap().len(), 2);
    let total = |v: &serde_json::Value| {
        v["counts"].as_object().unwrap().values().filter_map(|c| c.as_u64()).sum::<u64>()
    };
    assert_eq!(total(&json), 50);
    let same = folder
        .run(&["run", "bell.qasm", "--json", "--seed", "3", "--shots", "50", "--precision", "f32"])
        .json();
    assert_eq!(same["counts"], json["counts"]);
    let over = folder
        .run(&["run", "bell.qasm", "--config", "c.toml", "--shots", "60", "--observable", "X0"])
        .json();
    assert_eq!(total(&over), 60);
    assert_eq!(over["expectations"].as_array().unwrap().len(), 1);
}

#[test]
fn files_are_included_from_beside_the_circuit() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.file("sub/my.inc", "gate flip a { U(pi, 0, pi) a; }\n");
    folder.file("sub/main.qasm", "OPENQASM 2.0;\ninclude \"my.inc\";\nqreg q[1];\nflip q[0];\n");
    let json = folder.run(&["run", "sub/main.qasm", "--shots", "5", "--json"]).json();
    assert_eq!(json["counts"], serde_json::json!({"1": 5}));
    folder.file("sub/my.inc", "gate flip a {\n nix a; }\n");
    folder.run(&["run", "sub/main.qasm"]).fails(1, &["my.inc:2:2", "`nix`"]);
    folder.file("no.qasm", "OPENQASM 2.0;\ninclude \"no.inc\";\nqreg q[1];\n");
    folder.run(&["run", "no.qasm"]).fails(1, &["no.qasm:2:9", "no.inc"]);
}

#[test]
fn warnings_are_on_stderr_unless_quiet() {
    let folder = Folder::new();
    folder.file("w.qasm", "qreg q[1];\nU(1,2,3) q[0];\n");
    let ran = folder.run(&["run", "w.qasm", "--json"]).done();
    assert!(ran.err.contains("[w.qasm:1:1]"), "{}", ran.err);
    assert_eq!(folder.run(&["run", "w.qasm", "--json", "--quiet"]).done().err, "");
}

#[test]
fn gates_have_a_limit() {
    let folder = Folder::new();
    folder.run(&["run", "bell.qasm", "--max-gates", "4"]).done();
    folder.run(&["run", "bell.qasm", "--max-gates", "1"]).fails(1, &["bell.qasm", "1"]);
    folder.file("c.toml", "[run]\nmax_gates = 1\n");
    folder.run(&["run", "bell.qasm", "--config", "c.toml"]).fails(1, &["bell.qasm", "1"]);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::Stdio;
    let folder = Folder::new();
    let mut source = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[14] q;\n".to_owned();
    (0..14).for_each(|q| source += &format!("h q[{q}];\n"));
    folder.file("h.qasm", source);
    for args in [
        &["run", "h.qasm", "--amplitudes"][..],
        &["run", "h.qasm", "--amplitudes", "--json"],
        &["--help"],
    ] {
        let mut child =
            folder.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_given_state_is_where_trajectories_start() {
    let folder = Folder::new();
    let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit q;\n";
    folder.file("one.qasm", format!("{head}x q;\n"));
    folder.run(&["run", "one.qasm", "--output", "one.npy"]).done();
    folder.file(
        "twice.qasm",
        format!("{head}bit[2] c;\nc[0] = measure q;\nx q;\nc[1] = measure q;\n"),
    );
    let run = ["run", "twice.qasm", "--shots", "5", "--json", "--input", "one.npy"];
    assert_eq!(folder.run(&run).json()["counts"], serde_json::json!({"01": 5}));
    assert_eq!(folder.run(&run[..5]).json()["counts"], serde_json::json!({"10": 5}));
    folder.file("reset.qasm", format!("{head}reset q;\nx q;\n"));
    let run = ["run", "reset.qasm", "--shots", "5", "--json", "--input", "one.npy"];
    assert_eq!(folder.run(&run).json()["counts"], serde_json::json!({"1": 5}));
}

/// Without a bit that takes a result all qubits are counted, whether the measurement is left out or
/// changes the state.
#[test]
fn measurements_into_nothing_do_not_show() {
    let folder = Folder::new();
    let counts = |body: &str| {
        let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\n";
        folder.file("bare.qasm", format!("{head}{body}\n"));
        let ran = folder.run(&["run", "bare.qasm", "--shots", "64", "--json"]).done();
        assert!(ran.err.contains("not stored") && ran.err.contains("all qubits"), "{}", ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        json["counts"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(counts("h q[0]; measure q[0];"), ["00", "01"]);
    assert_eq!(counts("h q[0]; measure q[0]; h q[0];"), ["00", "01"]);
    assert_eq!(counts("bit[3] meas; h q[0]; measure q[0]; h q[0];"), ["00", "01"]);
    assert_eq!(counts("bit c; x q[1]; measure q[0]; h q[0]; c = measure q[1];"), ["1"]);
}

/// A value that is no number at the values of the inputs is underlined, wherever it is found.
#[test]
fn statements_without_numbers_are_underlined() {
    let folder = Folder::new();
    folder.file(
        "a.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float g;\nqubit[2] q;\nh q;\n\
         gate turn(t) x { rx(t / 2) x; ry(sqrt(t - 1)) x; }\nrz(a) q[0];\nturn(a) q[1];\n\
         #pragma braket noise amplitude_damping(1 - g) q[0]\n",
    );
    let turn = &["the angle sqrt(a - 1) is not a finite number", "a.qasm:9:1", "turn(a) q[1];"][..];
    let noise = &["the probability -g + 1 is -0.5, which is not between 0 and 1", "a.qasm:10:"][..];
    for (a, g, words) in [("0.5", "0.5", turn), ("2", "1.5", noise)] {
        let (a, g) = (format!("a={a}"), format!("g={g}"));
        let set = ["--set", &a, "--set", &g];
        for verb in
            [&["run"][..], &["grad", "--observable", "Z0"], &["check", "--observable", "Z0"]]
        {
            folder.run(&[verb, &["a.qasm"], &set].concat()).fails(1, words);
        }
    }
}
