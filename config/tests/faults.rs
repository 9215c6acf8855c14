//! Input and usage at fault: the exit status, the place, and nothing on stdout.

use crate::support::Folder;

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::new();
    for args in [
        &[][..],
        &["frobnicate"],
        &["run"],
        &["run", "bell.qasm", "--frobnicate"],
        &["run", "bell.qasm", "--shots"],
        &["run", "bell.qasm", "--shots", "0"],
        &["run", "bell.qasm", "--shots", "-1"],
        &["run", "bell.qasm", "--shots", "many"],
        &["run", "bell.qasm", "--threads", "0"],
        &["run", "bell.qasm", "--threads", "99999999999"],
        &["run", "bell.qasm", "--precision", "f16"],
        &["run", "bell.qasm", "--seed", "-1"],
        &["run", "bell.qasm", "--memory-limit", "8 parsecs"],
        &["run", "bell.qasm", "--max-gates", "-5"],
        &["run", "bell.qasm", "--output", "-"],
        &["run", "bell.qasm", "bell.qasm"],
    ] {
        folder.run(args).fails(2, &[]);
    }
}

#[test]
fn help_and_version_are_0() {
    let folder = Folder::new();
    assert!(folder.run(&["--version"]).done().out.starts_with("ketgrad "));
    folder.run(&["help", "run"]).done();
    for verb in [
        "run",
        "convert",
        "amplitudes",
        "equivalent",
        "grad",
        "diff",
        "check",
        "draw",
        "optimize",
        "plugins",
        "info",
    ] {
        let help = folder.run(&[verb, "--help"]).done().out;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        assert_eq!(examples.matches(&format!("ketgrad {verb}")).count(), 2, "{help}");
    }
}

#[test]
fn faulty_circuits_are_1_with_their_place() {
    let folder = Folder::new();
    folder.file("empty.qasm", "");
    folder.file("binary.qasm", b"OPENQASM 3.0;\nqu\xffbit q;\n");
    folder.file("zeros.qasm", [0u8; 300]);
    folder.file("undeclared.qasm", "OPENQASM 3.0;\nqubit[2] q;\n  x r[0];\n");
    let head = "OPENQASM 3.0;\nqubit[2] q;\n";
    folder.file("long.qasm", format!("{head}{} x r[0];\n", " ".repeat(100_000)));
    folder.file("control.qasm", format!("{head}\x1b[31m x r[0];\n"));
    folder.run(&["run", "empty.qasm"]).fails(1, &["empty"]);
    folder.run(&["run", "binary.qasm"]).fails(1, &["[binary.qasm:2:3]", "not UTF-8", "0xff"]);
    folder.run(&["run", "zeros.qasm"]).fails(1, &["zeros.qasm"]);
    folder.run(&["run", "undeclared.qasm"]).fails(1, &["undeclared.qasm:3:", "x r[0];", "─"]);
    let long = folder.run(&["run", "long.qasm"]).fails(1, &["long.qasm:3:100"]);
    assert!(long.err.len() < 2000);
    folder.run(&["run", "control.qasm"]).fails(1, &["control.qasm:3:"]);
    folder.run(&["run", "."]).fails(1, &["cannot read", "directory"]);
    folder.run(&["run", "no.qasm"]).fails(1, &["cannot read no.qasm: No such file"]);
}

#[test]
fn a_faulty_config_is_underlined() {
    let folder = Folder::new();
    let run = |text: &str| {
        folder.file("c.toml", text);
        folder.run(&["run", "bell.qasm", "--config", "c.toml"])
    };
    run("[run]\nshosts = 3\n")
        .fails(1, &["unknown key `run.shosts`", "[c.toml:2:1]", "did you mean `shots`"]);
    run("thread = 3\n").fails(1, &["unknown key `thread`", "[c.toml:1:1]", "`threads`"]);
    run("[run]\nshots = \"many\"\n").fails(1, &["`run.shots`", "[c.toml:2:9]"]);
    run("[run]\nprecision = 'f16'\n").fails(1, &["f32", "[c.toml:2:13]"]);
    run("memory_limit = '8 parsecs'\n").fails(1, &["8 parsecs", "[c.toml:1:16]"]);
    // Counts are written as on the command line.
    for given in ["9", "'9'", "9e0", "\"9e0\"", "1_000_000"] {
        run(&format!("max_gates = {given}\nmax_steps = {given}\n")).done();
    }
    run("max_gates = 1e0\n").fails(1, &["at most 1 are allowed"]);
    for given in ["1.5", "-1", "'many'", "1e99", "true"] {
        run(&format!("max_steps = {given}\n"))
            .fails(1, &["`max_steps`: expected a whole number", "[c.toml:1:13]"]);
    }
    run("seed = \n").fails(1, &["c.toml:1:"]);
    run("seed = 1\nseed = 2\n").fails(1, &["c.toml:2:"]);
    folder.run(&["run", "bell.qasm", "--config", "no.toml"]).fails(1, &["cannot read no.toml"]);
    folder.run(&["info", "--config", "."]).fails(1, &["directory"]);
}

#[test]
fn what_does_not_fit_is_refused_at_once() {
    let folder = Folder::new();
    let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";
    folder.file("n40.qasm", format!("{head}qubit[40] q;\nh q;\n"));
    folder.file("n1e9.qasm", format!("{head}qubit[1000000000] q;\nh q[0];\n"));
    folder.file("n63.qasm", format!("{head}qubit[63] q;\nh q;\n"));
    folder.file("n64.qasm", format!("{head}qubit[64] q;\nh q;\n"));
    let start = std::time::Instant::now();
    folder.run(&["run", "n40.qasm"]).fails(1, &["40 qubits needs 16", "TiB", "available"]);
    folder
        .run(&["run", "n40.qasm", "--precision", "f32", "--output", "s.npy"])
        .fails(1, &["8.0 TiB"]);
    let limit = ["--memory-limit", "1GiB"];
    folder
        .run(&[&["run", "n40.qasm"][..], &limit].concat())
        .fails(1, &["16", "TiB", "1 GiB", "memory limit"]);
    for file in ["n63.qasm", "n64.qasm"] {
        folder.run(&["run", file]).fails(1, &["qubits needs", "available"]);
    }
    // Of a thousand million qubits one is used: it has a value, but outcomes have no names that
    // anyone could read.
    folder.run(&["run", "n1e9.qasm", "--observable", "X0 Z999999999"]).done();
    folder
        .run(&["run", "n1e9.qasm"])
        .fails(1, &["1000000000 qubits", "at most 65536", "measure the qubits"]);
    // The gates are not built; `convert` and `draw` need no state.
    folder.file("gates.qasm", "OPENQASM 3.0;\nqubit[1000000] q;\nU(1, 2, 3) q;\n");
    for verb in [
        &["run", "gates.qasm"][..],
        &["draw", "gates.qasm"],
        &["convert", "gates.qasm", "--to", "qasm3"],
    ] {
        folder.run(&[verb, &["--memory-limit", "100MB"]].concat()).fails(
            1,
            &[
                "gates.qasm:3:1",
                "1000000 operations",
                "do not fit into 95.4 MiB (the memory limit)",
            ],
        );
    }
    folder
        .run(&["run", "bell.qasm", "--shots", "1e12"])
        .fails(1, &["drawing 1000000000000 shots", "TiB"]);
    folder.run(&["run", "bell.qasm", "--shots", "18446744073709551615"]).fails(1, &["available"]);
    folder.run(&["run", "bell.qasm", "--memory-limit", "10"]).fails(1, &["10 B are available"]);
    assert!(start.elapsed().as_secs() < 10);
}

/// A qubit of a large number costs what any other does.
#[cfg(target_os = "linux")]
#[test]
fn a_large_index_takes_no_memory() {
    let folder = Folder::new();
    folder.file("far.qasm", "OPENQASM 3.0;\nU(1, 2, 3) $4000000000;\n");
    let program = env!("CARGO_BIN_EXE_ketgrad");
    for verb in ["run far.qasm", "grad far.qasm --observable Z0", "check far.qasm --observable Z0"]
    {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", &format!("ulimit -v 3000000 && exec '{program}' {verb}")]);
        let output = limited.current_dir(folder.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if verb.starts_with("run") {
            assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
            assert!(said.contains("4000000001 qubits"), "{verb}: {said}");
        } else {
            assert_eq!(output.status.code(), Some(0), "{verb}: {said}");
        }
    }
}

#[test]
fn observables_are_checked() {
    let folder = Folder::new();
    for (text, word) in [
        ("Z0 Z0", "[--observable:1:4]"),
        ("Z2", "qubit 2 does not exist"),
        ("Q0", "[--observable:1:1]"),
        ("", "--observable:1:1"),
        ("Z0 +", "--observable:1:"),
        ("--json", "--observable:1:"),
    ] {
        folder.run(&["run", "bell.qasm", "--observable", text]).fails(1, &[word]);
    }
}

#[test]
fn results_that_are_not_finite() {
    let folder = Folder::new();
    let args = [
        "run",
        "bell.qasm",
        "--json",
        "--observable",
        "Z0 Z1",
        "--observable",
        "1e308 X0 X1 + 1e308 X0 X1",
    ];
    folder.run(&args).fails(1, &["expectation value", "is NaN", "--allow-nonfinite"]);
    let ran = folder.run(&[&args[..], &["--allow-nonfinite"]].concat()).done();
    assert!(ran.err.contains("note:"), "{}", ran.err);
    assert!(ran.json()["expectations"][1]["value"].is_null());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.command(&["run", "bell.qasm"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
    folder
        .run(&["run", "bell.qasm", "--output", "/dev/full"])
        .fails(1, &["cannot write /dev/full"]);
    for words in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(
            String::from_utf8(output.stderr)
                .unwrap()
                .contains("cannot write to the standard output")
        );
    }
    folder.run(&["run", "bell.qasm", "--output", "/dev/null"]).done();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

/// Names, tokens, values and paths of any length, wherever they come from.
#[test]
fn long_names_are_cut_in_messages() {
    let folder = Folder::new();
    let long = "n".repeat(100_000);
    let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";
    folder.file("gate.qasm", format!("{head}qubit q;\n{long} q;\n"));
    folder.file("size.qasm", format!("{head}qubit {long};\nx {long}[0];\ny {long}[5];\n"));
    folder.file("input.qasm", format!("{head}input float {long};\nqubit q;\nrx({long}) q;\n"));
    folder.file("include.qasm", format!("{head}include \"{long}\";\nqubit q;\n"));
    folder.file(
        "label.qasm",
        format!("{head}qubit q; def {long}(qubit q) {{ x q; }}\n{long}(q, q);\n"),
    );
    folder.file("program.kg", format!("fn f(x) {{ {long} }}"));
    folder.file("key.toml", format!("{long} = 3\n"));
    folder.file("terms.txt", format!("Z0\n{long}\n"));
    let (option, set, at) = (format!("--{long}"), format!("{long}=1"), format!("{long}=1"));
    let source = format!("fn f(x) {{ {long}(x) }}");
    for (status, args) in [
        (1, &["run", "gate.qasm"][..]),
        (1, &["run", "size.qasm"]),
        (1, &["run", "input.qasm"]),
        (1, &["run", "include.qasm"]),
        (1, &["run", "label.qasm"]),
        (1, &["run", &long]),
        (1, &["run", "bell.qasm", "--config", "key.toml"]),
        (1, &["run", "ansatz.qasm", "--set", &set]),
        (1, &["grad", "ansatz.qasm", "--observable", &long]),
        (1, &["grad", "ansatz.qasm", "--observable", "@terms.txt"]),
        (1, &["diff", "program.kg", "--at", "x=1"]),
        (1, &["diff", "-e", &source, "--at", "x=1"]),
        (1, &["diff", "-e", "fn f(x) { x }", "--at", &at]),
        (1, &["diff", "-e", "fn f(x) { x }", "--at", "x=1", "--function", &long]),
        (2, &[&long]),
        (2, &["run", "bell.qasm", &option]),
        (2, &["run", "bell.qasm", "--shots", &long]),
        (2, &["run", "bell.qasm", "--precision", &long]),
    ] {
        let ran = folder.run(args);
        assert!(
            ran.err.len() < 4 << 10,
            "{} bytes: {}",
            ran.err.len(),
            &ran.call[..60.min(ran.call.len())]
        );
        assert!(!ran.err.contains(&"n".repeat(90)), "{}", ran.err);
        ran.fails(status, &[]);
    }
    // A place of many lines is shown by its first.
    let body = "  U(0, 0, 0) q;\n".repeat(5000);
    folder.file("lines.qasm", format!("OPENQASM 3.0;\nqubit q;\nwhile (true) {{\n{body}}}\n"));
    let ran = folder
        .run(&["run", "lines.qasm"])
        .fails(1, &["this loop never ends", "[lines.qasm:3:1]", "while (true)"]);
    assert!(ran.err.len() < 1000, "{}", ran.err);
}

/// Of what a circuit includes, only regular files are read, and of those that are no OpenQASM
/// nothing is shown.
#[test]
fn included_files_are_regular_and_stay_private() {
    let folder = Folder::new();
    folder.file("secret.txt", "root:x:0:0:root:/root:/bin/bash\nhunter2:x:1\n");
    folder.file("keys", "-----BEGIN PRIVATE KEY-----\nhunter2root\n");
    folder.file("key.json", "{ \"root\": \"hunter2\" }\n");
    folder.file("good.inc", "gate good a { x a; }\n");
    folder.file("typo.inc", "gate good a { x a; }\ngate typo a { xx a; }\n");
    let run = |name: &str| {
        folder.file(
            "a.qasm",
            format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninclude \"{name}\";\nqubit q;\n"),
        );
        let start = std::time::Instant::now();
        let ran = folder.run(&["run", "a.qasm"]);
        assert!(start.elapsed().as_secs() < 5, "{name}");
        ran
    };
    for name in ["secret.txt", "keys", "key.json"] {
        let ran = run(name).fails(
            1,
            &[&format!("cannot include `{name}`: line 1"), "is not OpenQASM", "[a.qasm:3:9]"],
        );
        assert!(!ran.err.contains("root") && !ran.err.contains("hunter2"), "{}", ran.err);
    }
    run("good.inc").done();
    run("typo.inc").fails(1, &["gate `xx` is not defined", "[typo.inc:2:15]"]);
    run(".").fails(1, &["it is a directory"]);
    // The standard input has no name here.
    run("-").fails(1, &["cannot include `-`", "No such file"]);
    #[cfg(target_os = "linux")]
    {
        run("/dev/zero").fails(1, &["cannot include `/dev/zero`", "it is no regular file"]);
        run("/dev/stdin").fails(1, &["it is no regular file"]);
        let pipe = folder.path("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        run("pipe").fails(1, &["it is no regular file"]);
    }
}

/// Loops without an end are said, in a circuit and in a program.
#[test]
fn endless_loops_are_said() {
    let folder = Folder::new();
    let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nbit c;\n";
    for (body, said) in [
        ("while (true) { x q[0]; }", "this loop never ends"),
        ("int n = 0; while (true) { n += 1; }", "this loop never ends"),
        ("for int i in [0:9000000000] { x q[0]; }", "statements run in loops"),
        (
            "x q[0]; c = measure q[0]; while (c) { x q[1]; }",
            "never ends: its condition holds whatever",
        ),
        (
            "x q[0]; c = measure q[0]; while (c) { x q[0]; x q[0]; c = measure q[0]; }",
            "never ends: its iterations repeat",
        ),
    ] {
        folder.file("a.qasm", format!("{head}{body}\n"));
        let start = std::time::Instant::now();
        folder.run(&["run", "a.qasm", "--shots", "100"]).fails(1, &[said]);
        folder.run(&["run", "a.qasm", "--shots", "100", "--observable", "Z0"]).fails(1, &[said]);
        assert!(start.elapsed().as_secs() < 10, "{body}");
    }
    // What turns for ever without coming back ends with the rounds that are allowed.
    folder.file("a.qasm", format!("{head}while (!c) {{ rx(0.001) q[0]; c = measure q[1]; }}\n"));
    folder
        .run(&["run", "a.qasm", "--shots", "1", "--max-steps", "5000"])
        .fails(1, &["after 5000 iterations", "--max-steps"]);
}
