//! Comparisons at load and by `plugins verify`, and what is kept of them.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{fs, path::Path};

use crate::{libraries, support::Folder};

const VERIFY: [&str; 4] = ["plugins", "verify", "--config", "c.toml"];

/// The first two are wrong at some points that are tried only on request.
const RULES: &str = "
[[rule]]
program = 'rule sq(x) { x * x } pullback(x, y, b) { if x > 40.0 { x * b } else { 2.0 * x * b } }'
[[rule]]
program = 'rule duo(x, w) { x * w } pullback(x, w, y, b) { (w * b, if w == 77.0 { 0.0 } else { x * b }) }'
[[rule]]
program = 'rule all(xs: array) { sum(xs * xs) } pullback(xs, y, b) { 2.0 * xs * b }'
";

#[test]
fn points_are_named_on_the_command_line() {
    let folder = Folder::new();
    folder.file("c.toml", RULES);
    let verify = |at: &[&str]| {
        let at = at.iter().flat_map(|at| ["--at", at]);
        folder.run(&VERIFY.into_iter().chain(at).collect::<Vec<_>>())
    };
    assert!(verify(&[]).done().out.contains("\nsq   agrees in "));
    assert!(verify(&["x=39", "x=-7", "all: xs=[1,2,3]"]).done().out.contains("\nall  agrees in "));
    let wrong = verify(&["x=39", "x=41"]);
    assert_eq!(wrong.status, Some(3), "{wrong:#?}");
    let words = "\nsq   at 41 its pullback gives 41 by `x`, differences give 8";
    assert!(wrong.out.contains(words) && wrong.out.contains("\nduo  agrees in "), "{wrong:#?}");
    let other = verify(&["duo: x=1, w=77"]);
    assert!(
        other.status == Some(3)
            && other.out.contains("\nduo  at 1, 77 its pullback gives 0 by `w`"),
        "{other:#?}"
    );
    // What is not compared in whole says so.
    let list =
        format!("all: xs=[{}]", (0..60).map(|k| format!("0.{k}")).collect::<Vec<_>>().join(","));
    assert!(
        verify(&[&list]).done().out.contains("(of more than 48 numbers 48 are moved one by one")
    );
    for (at, status, words) in [
        ("al: xs=[1]", 2, vec!["there is no rule `al`", "`all`"]),
        ("z=1", 2, vec!["--at z=1: no rule has these parameters", "sq(x)", "duo(x, w)"]),
        ("x=one", 1, vec!["`x` is of kind real"]),
        ("duo: x=1", 1, vec!["no value for 1 parameter: w"]),
        ("all: xs=[1", 1, vec!["`xs` is of kind array"]),
    ] {
        verify(&[at]).fails(status, &words);
    }
}

/// The names of the files in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_agreed_is_kept_where_the_config_says() {
    let folder = Folder::new();
    let diff = ["diff", "-e", "fn f(x) { sq(x) }", "--at", "x=1", "--config", "c.toml"];
    let caches = folder.caches().join("ketgrad").join("plugins");
    folder.file("c.toml", format!("[plugins]\ncache = false\n{RULES}"));
    folder.run(&diff).done();
    assert_eq!(entries(&caches), [""; 0]);
    folder.file("c.toml", format!("[plugins]\ncache = 'kept'\n{RULES}"));
    folder.run(&diff).done();
    assert_eq!((entries(&caches).len(), entries(&folder.path("kept")).len()), (0, 3));
    folder.file("c.toml", RULES);
    folder.run(&diff).done();
    let names = entries(&caches);
    assert_eq!(names.len(), 3, "{names:?}");
    // Whatever the file holds, a wrong rule is refused; and a damaged file is written anew.
    let before = fs::read_to_string(caches.join(&names[0])).unwrap();
    names.iter().for_each(|name| fs::write(caches.join(name), "rule sq\n").unwrap());
    folder.run(&diff).done();
    assert_eq!(fs::read_to_string(caches.join(&names[0])).unwrap(), before);
    folder.file("c.toml", RULES.replace("2.0 * xs * b", "2.5 * xs * b"));
    folder.run(&diff).fails(1, &["rule `all`", "its pullback gives"]);
    assert_eq!(entries(&caches).len(), 3);
    // A folder that cannot be written is no fault.
    folder.file("c.toml", format!("[plugins]\ncache = 'bell.qasm'\n{RULES}"));
    folder.run(&diff).done();
}

/// Kernels that compute something else don't run circuits.
#[test]
fn wrong_gate_kernels_are_refused() {
    let folder = Folder::new();
    let source = libraries::workspace().join("plugins/host/tests/mutants.c");
    let library = libraries::c_plugin(&source, "trust_mutants", &[]).display().to_string();
    let config = |settings: &str, mutant: &str| {
        let text = format!(
            "{settings}\n[[plugin]]\nname = 'it'\npath = '{library}'\npriority = 1\nrules = {{ only = [] }}\n\
             [plugin.options]\nmutant = '{mutant}'\n"
        );
        folder.file("c.toml", text);
    };
    let run = ["run", "bell.qasm", "--amplitudes", "--config", "c.toml"];
    config("", "imaginary");
    let words = [
        "plugin `it`",
        "kernel `mutants` does not compute what it should",
        "expected",
        "`verify = false`",
    ];
    folder.run(&run).fails(1, &words[..2]);
    folder.run(&run).fails(1, &words[3..]);
    let verified = folder.run(&VERIFY);
    assert!(
        verified.status == Some(3) && verified.out.contains("mutants  each operator, 2 qubits"),
        "{verified:#?}"
    );
    config("[plugins]\nverify = false", "imaginary");
    let verified = folder.run(&VERIFY);
    assert!(verified.status == Some(3) && verified.out.contains("off by"), "{verified:#?}");
    folder.run(&run).done();
    config("", "none");
    let ran = folder.run(&["run", "bell.qasm", "--config", "c.toml", "--json"]).json();
    assert_eq!(ran["backend"], "mutants", "{ran}");
}
