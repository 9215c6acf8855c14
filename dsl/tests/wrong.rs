//! Wrong forms of the macros and the messages for them.
//!
//! The files in `wrong/` are given to rustc as they are, with the library that cargo built for this
//! test, and each line marked `//~ words` must have an error that contains these words.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{env, fs, path::Path, process::Command};

/// The errors of a file: line and message.
fn errors(file: &Path) -> Vec<(usize, String)> {
    let exe = env::current_exe().unwrap();
    let deps = exe.parent().unwrap();
    // The newest, if builds with several sets of features left several.
    let library = fs::read_dir(deps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libketgrad-") && name.ends_with(".rlib")
        })
        .max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap())
        .unwrap();
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "--error-format=short",
            "--extern",
        ])
        .arg(format!("ketgrad={}", library.display()))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("--out-dir")
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .arg(file)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let name = format!("{}:", file.display());
    let text = String::from_utf8(output.stderr).unwrap();
    let located = text.lines().filter_map(|line| line.strip_prefix(&name)?.split_once(':'));
    located.map(|(line, rest)| (line.parse().unwrap(), rest.to_owned())).collect()
}

fn check(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong").join(name);
    let errors = errors(&file);
    let mut missing = Vec::new();
    for (i, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
        let Some((_, words)) = line.split_once("//~ ") else { continue };
        let here: Vec<&String> = errors.iter().filter(|e| e.0 == i + 1).map(|e| &e.1).collect();
        if !here.iter().any(|message| message.contains(words)) {
            missing.push(format!("line {}: `{words}` is not in {here:#?}", i + 1));
        }
    }
    assert!(missing.is_empty(), "{name}\n{}", missing.join("\n"));
}

#[test]
fn the_macros_say_what_is_wrong() {
    check("macros.rs");
}

#[test]
fn rustc_says_what_is_wrong() {
    check("types.rs");
}

/// Each wrong program is told at its line, most of them once.
#[test]
fn programs_say_what_is_wrong() {
    check("programs.rs");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong/programs.rs");
    let all = errors(&file);
    let source = fs::read_to_string(&file).unwrap();
    let told = |words: &str| {
        let line = source.lines().position(|l| l.contains(words)).unwrap() + 1;
        all.iter().filter(|e| e.0 == line).count()
    };
    // The two bodies of a program do not say the same thing twice.
    for words in [
        "x * n",
        "match x",
        "loop {",
        "g(x, x)",
        "if x {",
        "if z < 1.0",
        "(x, x)",
        "xs[0.5]",
        "x ^ 2",
        "a < b",
    ] {
        assert_eq!(told(words), 1, "{words}");
    }
}
