//! `convert` and `draw`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use crate::support::{Folder, keys};

#[test]
fn convert_prints_a_circuit_that_reads_back() {
    let folder = Folder::new();
    for to in ["qasm2", "qasm3"] {
        let ran = folder.run(&["convert", "bell.qasm", "--to", to]).done();
        assert!(
            ran.out.starts_with(if to == "qasm2" { "OPENQASM 2.0;" } else { "OPENQASM 3.0;" }),
            "{ran:?}"
        );
        folder.file("again.qasm", &ran.out);
        let again = folder.run(&["convert", "again.qasm", "--to", to]).done();
        assert_eq!(again.out, ran.out);
        let counts = folder.run(&["run", "again.qasm", "--shots", "100", "--json"]).json();
        assert_eq!(counts["counts"].as_object().unwrap().len(), 2, "00 and 11");
    }
}

#[test]
fn convert_keeps_parameters_where_the_language_can() {
    let folder = Folder::new();
    let ran = folder.run(&["convert", "ansatz.qasm", "--to", "qasm3"]).done();
    assert!(ran.out.contains("input float[64] theta;"), "{}", ran.out);
    folder
        .run(&["convert", "ansatz.qasm", "--to", "qasm2"])
        .fails(1, &["theta, w[0], w[1]", "--set"]);
    let some = ["convert", "ansatz.qasm", "--to", "qasm3", "--set", "theta=pi/4"];
    let ran = folder.run(&some).done();
    assert!(ran.out.contains("rx(pi/4) q[0];") && !ran.out.contains("theta"), "{}", ran.out);
    let all = [
        "convert",
        "ansatz.qasm",
        "--to",
        "qasm2",
        "--set",
        "theta=1",
        "--set",
        "w[0]=2",
        "--set",
        "w[1]=3",
    ];
    assert!(folder.run(&all).done().out.contains("rx(1"));
    folder
        .run(&["convert", "ansatz.qasm", "--to", "qasm3", "--set", "thetta=1"])
        .fails(1, &["did you mean `theta`"]);
}

#[test]
fn convert_says_which_names_it_changes() {
    let folder = Folder::new();
    folder.file(
        "names.qasm",
        "OPENQASM 3.0; input float x; input float y_; qubit q; bit h; U(x, y_, 0) q; h = measure q;",
    );
    let ran = folder.run(&["convert", "names.qasm", "--to", "qasm3"]).done();
    assert!(ran.out.contains("input float[64] x_1;"), "{}", ran.out);
    assert!(
        ran.err.contains("`x` is called `x_1`") && ran.err.contains("`h` is called `h_1`"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("y_"), "{}", ran.err);
    let quiet = folder.run(&["convert", "names.qasm", "--to", "qasm3", "--quiet"]).done();
    assert_eq!(quiet.err, "");
}

#[test]
fn convert_answers_in_json_and_refuses_in_words() {
    let folder = Folder::new();
    let ran = folder.run(&["convert", "bell.qasm", "--to", "qasm3", "--json"]);
    assert_eq!(keys(&ran.out), ["text", "seconds"]);
    assert!(ran.json()["text"].as_str().unwrap().contains("cx q[0], q[1];"));
    folder.run(&["convert", "bell.qasm"]).fails(2, &["--to"]);
    folder.run(&["convert", "bell.qasm", "--to", "qasm4"]).fails(2, &["qasm4"]);
    folder.file("bad.qasm", "OPENQASM 3.0;\nqubit q;\nfoo q;\n");
    folder.run(&["convert", "bad.qasm", "--to", "qasm2"]).fails(1, &["bad.qasm:3:1", "foo"]);
}

#[test]
fn draw_draws_each_qubit_once() {
    let folder = Folder::new();
    let ran = folder.run(&["draw", "bell.qasm"]).done();
    assert!(ran.out.contains('●') && ran.out.contains('⊕'), "{}", ran.out);
    assert_eq!(ran.out.lines().filter(|l| l.starts_with("q")).count(), 2, "{}", ran.out);
    let text = folder.run(&["draw", "bell.qasm", "--json"]).json();
    assert_eq!(text["text"], ran.out.as_str());
}

#[test]
fn draw_writes_pictures_to_files() {
    let folder = Folder::new();
    let ran = folder.run(&["draw", "bell.qasm", "--format", "svg", "-o", "bell.svg"]).done();
    assert_eq!(ran.out, "");
    let svg = std::fs::read_to_string(folder.path("bell.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    folder
        .run(&["draw", "bell.qasm", "-o", "no/such/folder.txt"])
        .fails(1, &["no/such/folder.txt"]);
    let latex = folder.run(&["draw", "bell.qasm", "--format", "latex"]).done().out;
    assert!(
        latex.contains("& \\gate{H} & \\control{}\\vqw{1} & \\meter{\\mbox{c[0]}} & \\qw"),
        "{latex}"
    );
    folder.run(&["draw", "bell.qasm", "--format", "gif"]).fails(2, &["gif"]);
}

/// Three registers; one has the name of a gate.
const NAMED: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] data;\nqubit anc;\nqubit[2] h;\nbit[2] q;\n\
    x data[1];\ncx data[0], anc;\nbarrier data, anc, h;\ncz anc, h[1];\nq = measure data;\n";

#[test]
fn convert_keeps_the_names_of_registers() {
    let folder = Folder::new();
    folder.file("named.qasm", NAMED);
    for (to, declared, gate) in [
        ("qasm3", "qubit[2] data;\nqubit anc;\nqubit[2] h_1;\nbit[2] q;\n", "cz anc, h_1[1];\n"),
        (
            "qasm2",
            "qreg data[2];\nqreg anc[1];\nqreg h_1[2];\ncreg q[2];\n",
            "cz anc[0], h_1[1];\n",
        ),
    ] {
        let ran = folder.run(&["convert", "named.qasm", "--to", to]).done();
        assert!(ran.out.contains(declared) && ran.out.contains(gate), "{}", ran.out);
        assert!(ran.err.contains("`h` is called `h_1`"), "{}", ran.err);
        folder.file("again.qasm", &ran.out);
        let again = folder.run(&["convert", "again.qasm", "--to", to]).done();
        assert_eq!(again.out, ran.out);
        folder.run(&["equivalent", "named.qasm", "again.qasm"]).done();
    }
    let all = folder.run(&["convert", "named.qasm", "--to", "qasm3"]).done().out;
    assert!(all.contains("barrier data, anc, h_1;\n"), "{all}");
}

#[test]
fn pictures_have_the_names_of_registers() {
    let folder = Folder::new();
    folder.file("named.qasm", NAMED.replace("data", "a_1"));
    let rows = |text: &str| -> Vec<String> {
        text.lines().step_by(2).map(|line| line.split(':').next().unwrap().to_owned()).collect()
    };
    let text = folder.run(&["draw", "named.qasm"]).done().out;
    assert_eq!(rows(&text), ["a_1[0]", "a_1[1]", "anc", "h[0]", "h[1]"], "{text}");
    let width = text.lines().next().unwrap().chars().count();
    assert!(text.lines().all(|line| line.chars().count() == width), "{text}");
    let svg = folder.run(&["draw", "named.qasm", "--format", "svg"]).done().out;
    assert!([">a_1[1]<", ">anc<", ">h[0]<"].iter().all(|name| svg.contains(name)), "{svg}");
    let latex = folder.run(&["draw", "named.qasm", "--format", "latex"]).done().out;
    for name in ["\\lstick{$a_{1,1}$}", "\\lstick{$\\mathrm{anc}$}", "\\lstick{$h_{0}$}"] {
        assert!(latex.contains(name), "{latex}");
    }
}

#[test]
fn gates_of_the_file_keep_their_names() {
    let folder = Folder::new();
    folder.file(
        "gates.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ngate layer(theta) a, b { ry(theta) a; cx a, b; }\n\
         gate h a { U(pi/2, 0, pi) a; }\nqubit[2] q;\nlayer(0.5) q[0], q[1];\ninv @ h q[0];\n",
    );
    let ran = folder.run(&["convert", "gates.qasm", "--to", "qasm3"]).done();
    for line in
        ["gate layer(theta) a, b { ry(theta) a; cx a, b; }", "gate h_1 a {", "inv @ h_1 q[0];"]
    {
        assert!(ran.out.contains(line), "{}", ran.out);
    }
    assert!(ran.err.contains("`h` is called `h_1`"), "{}", ran.err);
    let drawn = folder.run(&["draw", "gates.qasm"]).done().out;
    assert!(drawn.contains("┤0 layer(0.5)├─┤h†├"), "{drawn}");
    let expanded = folder.run(&["draw", "gates.qasm", "--expand"]).done().out;
    assert!(expanded.contains("┤RY(0.5)├") && !expanded.contains("layer"), "{expanded}");
}

#[test]
fn draw_wraps_to_a_width() {
    let folder = Folder::new();
    let gates = "h q[0];\n".repeat(40);
    folder.file(
        "long.qasm",
        format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\n{gates}"),
    );
    let wide = folder.run(&["draw", "long.qasm"]).done();
    let narrow = folder.run(&["draw", "long.qasm", "--width", "60"]).done();
    assert!(wide.out.lines().any(|l| l.chars().count() > 100));
    assert!(narrow.out.lines().all(|l| l.chars().count() <= 60), "{}", narrow.out);
}

#[test]
fn draw_compares_its_memory_before_it_begins() {
    let folder = Folder::new();
    folder.file("tall.qasm", "OPENQASM 3.0;\nqubit[4000000000] q;\n");
    let few = ["--memory-limit", "1GB"];
    folder
        .run(&[&["draw", "tall.qasm"], &few[..]].concat())
        .fails(1, &["the picture needs", "memory limit"]);
    // 20,000 rows by 20,000 columns.
    let ladder: String = (1..20_000).map(|i| format!("cx q[{}], q[{i}];\n", i - 1)).collect();
    let ladder = format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[20000] q;\n{ladder}");
    folder.file("wide.qasm", ladder);
    for width in [&[][..], &["--width", "80"], &["--format", "svg", "--width", "1"]] {
        let ran = folder.run(&[&["draw", "wide.qasm"], &few[..], width].concat());
        ran.fails(1, &["the picture needs", "memory limit"]);
    }
    folder.run(&[&["draw", "bell.qasm"], &few[..]].concat()).done();
}
