//! Which module may use which: the arrows of the house, checked line by line.
//!
//! The table says what a module of core may name by `crate::…`, and what a package may name by its
//! crate. A line that runs the wrong way is reported with file, line and the arrow it breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Modules of core in reading order, each with the modules it may use. It may always use itself.
const MODULES: &[(&str, &[&str])] = &[
    ("bytes", &[]),
    ("entity", &[]),
    ("scalar", &[]),
    ("array", &["scalar", "bytes"]),
    ("ir", &["array", "entity", "scalar"]),
    ("rules", &["ir", "entity", "scalar"]),
    ("staging", &["ir", "entity"]),
    ("pass", &["array", "rules", "ir", "entity", "scalar"]),
    ("adjoint", &["pass", "staging", "rules", "ir", "entity", "scalar"]),
    ("exec", &["array", "pass", "adjoint", "staging", "rules", "ir", "entity", "scalar", "bytes"]),
    ("check", &["exec", "adjoint", "pass", "ir", "array", "scalar"]),
    ("emit", &["pass", "rules", "ir", "entity", "scalar"]),
    ("text", &["array", "staging", "rules", "ir", "entity", "scalar"]),
    ("param", &["scalar"]),
    ("trace", &["param", "exec", "pass", "adjoint", "staging", "rules", "ir", "entity", "scalar"]),
    ("tape", &["trace", "exec", "adjoint", "pass", "staging", "rules", "ir", "array", "entity", "scalar"]),
    ("basis", &[]),
    ("matrix", &["basis", "scalar"]),
    ("gate", &["param", "matrix", "scalar"]),
    ("channel", &["gate", "param", "matrix", "scalar"]),
    ("observable", &["basis"]),
    ("circuit", &["channel", "gate", "observable", "param", "matrix", "basis", "scalar"]),
    ("kernel", &["observable", "matrix", "basis", "scalar"]),
    ("plan", &["kernel", "basis", "scalar"]),
    ("state", &["array", "kernel", "observable", "matrix", "basis", "scalar", "bytes"]),
    ("field", &["state", "kernel", "param", "scalar"]),
    (
        "simulate",
        &[
            "array",
            "state",
            "plan",
            "kernel",
            "circuit",
            "channel",
            "gate",
            "observable",
            "param",
            "matrix",
            "basis",
            "scalar",
        ],
    ),
    (
        "exact",
        &[
            "trace",
            "simulate",
            "state",
            "kernel",
            "circuit",
            "gate",
            "observable",
            "param",
            "matrix",
            "basis",
            "scalar",
        ],
    ),
    ("normal", &["exact", "field", "state", "trace", "param", "ir", "entity", "scalar"]),
    (
        "equivalent",
        &[
            "normal", "exact", "trace", "matrix", "simulate", "field", "state", "kernel", "circuit", "gate",
            "param", "scalar",
        ],
    ),
    (
        "hybrid",
        &[
            "array",
            "exact",
            "check",
            "plan",
            "rules",
            "simulate",
            "state",
            "kernel",
            "circuit",
            "channel",
            "gate",
            "observable",
            "param",
            "matrix",
            "basis",
            "exec",
            "adjoint",
            "pass",
            "ir",
            "entity",
            "scalar",
        ],
    ),
    ("problem", &["observable", "basis"]),
    ("ansatz", &["problem", "circuit", "observable", "param", "basis"]),
    ("optimize", &["hybrid", "simulate", "kernel", "scalar", "state"]),
    ("qasm", &["simulate", "circuit", "channel", "gate", "param", "matrix", "scalar"]),
    ("print", &["state", "circuit", "channel", "gate", "param", "matrix", "scalar"]),
    ("draw", &["exact", "print", "circuit", "gate", "param", "matrix", "scalar"]),
];

/// Packages by folder, each with the packages of ours it may use.
const PACKAGES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("dsl", &["ketgrad_core"]),
    ("config", &["ketgrad_core", "ketgrad_plugin_host"]),
    ("plugins/abi", &[]),
    ("plugins/sdk", &["ketgrad_plugin_abi"]),
    ("plugins/host", &["ketgrad_core", "ketgrad_plugin_abi"]),
    ("plugins/special", &["ketgrad_plugin_sdk"]),
    ("plugins/qkernels", &["ketgrad_plugin_sdk"]),
    ("plugins/cuda", &["ketgrad_core", "ketgrad_plugin_sdk"]),
    ("plugins/hostile", &["ketgrad_plugin_sdk"]),
];

/// What core has no business with: files, environment, terminals, clocks, processes.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::io",
    "std::net",
    "std::process",
    "std::time",
    "println!",
    "eprintln!",
    "print!(",
    "eprint!(",
    "dbg!(",
];

/// Whether a line is a comment: prose may name anything.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The words that follow `start` in a line, up to what is no part of a name. After `start{` every first
/// word of the braces counts.
fn named(source: &str, start: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut text = String::new();
    // Comments become blanks, so that positions stay.
    for line in source.lines() {
        text += &if is_comment(line) { " ".repeat(line.len()) } else { line.to_owned() };
        text.push('\n');
    }
    while let Some(at) = text[offset..].find(start) {
        let begin = offset + at + start.len();
        let word =
            |s: &str| -> String { s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
        let line_of = |position: usize| text[..position].matches('\n').count() + 1;
        if text[begin..].starts_with('{') {
            let mut depth = 0;
            let mut fresh = false;
            for (i, c) in text[begin..].char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if depth == 1 && (c == '{' || c == ',') {
                    fresh = true;
                } else if fresh && !c.is_whitespace() {
                    found.push((line_of(begin + i), word(&text[begin + i..])));
                    fresh = false;
                }
            }
        } else {
            found.push((line_of(begin), word(&text[begin..])));
        }
        offset = begin;
    }
    found.retain(|(_, word)| !word.is_empty());
    found
}

/// The lines of a file of a module of core that run the wrong way.
fn module_faults(module: &str, allowed: &[&str], file: &str, source: &str) -> Vec<String> {
    let modules = || MODULES.iter().map(|m| m.0);
    let mut faults = Vec::new();
    for (line, word) in named(source, "crate::") {
        let known = modules().any(|m| m == word);
        if known && word != module && !allowed.contains(&word.as_str()) {
            faults.push(format!("{file}:{line}: {module} must not use {word}"));
        }
    }
    for (i, line) in source.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
        for outside in OUTSIDE.iter().filter(|o| line.contains(**o)) {
            faults.push(format!("{file}:{}: core must not use {outside}", i + 1));
        }
    }
    faults
}

/// The lines of a file of a package that name a package it must not use.
fn package_faults(folder: &str, allowed: &[&str], file: &str, source: &str) -> Vec<String> {
    let own = format!("ketgrad_{}", folder.replace("plugins/", "plugin_"));
    let mut faults = Vec::new();
    for (line, rest) in named(source, "ketgrad_") {
        let name = format!("ketgrad_{rest}");
        let ours = PACKAGES.iter().any(|p| name == format!("ketgrad_{}", p.0.replace("plugins/", "plugin_")));
        if ours && name != own && !allowed.contains(&name.as_str()) {
            faults.push(format!("{file}:{line}: {folder} must not use {name}"));
        }
    }
    faults
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files below a folder, with their text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    out.sort();
    out
}

#[test]
fn modules_of_core_use_only_what_stands_before_them() {
    let core = root().join("core/src");
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for (path, source) in sources(&core) {
        let relative = path.strip_prefix(&core).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        // A module the table does not know has no arrows yet: add its line to the table.
        let Some((_, allowed)) = MODULES.iter().find(|m| m.0 == module) else {
            faults
                .push(format!("core/src/{}:1: the module {module} is not in the table", relative.display()));
            continue;
        };
        seen.push(module.to_owned());
        faults.extend(module_faults(module, allowed, &format!("core/src/{}", relative.display()), &source));
    }
    assert!(seen.len() > 20, "the sources are read");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn packages_point_inward() {
    let mut faults = Vec::new();
    for (folder, allowed) in PACKAGES {
        for (path, source) in sources(&root().join(folder).join("src")) {
            faults.extend(package_faults(folder, allowed, &path.display().to_string(), &source));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Modules of a folder of tests that no `mod` of its program declares: cargo would build and run none of them.
fn undeclared(program: &str, files: impl Iterator<Item = String>) -> Vec<String> {
    let declared = |name: &str| program.lines().any(|line| line == format!("mod {name};"));
    files.filter(|name| name != "main" && !declared(name)).collect()
}

#[test]
fn every_file_of_tests_belongs_to_a_program() {
    let beside = ["core", "dsl", "config", "plugins/abi", "plugins/sdk", "plugins/host"];
    for folder in beside.map(|package| format!("{package}/tests")).into_iter().chain(["tests".to_owned()]) {
        let at = root().join(&folder);
        let paths = fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path());
        let modules =
            paths.filter(|path| path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").is_file());
        // The one program that stands beside another.
        let modules = modules.filter(|path| !path.ends_with("tests/memory.rs"));
        let names = modules.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
        let missing = undeclared(&fs::read_to_string(at.join("main.rs")).unwrap(), names);
        assert!(missing.is_empty(), "{folder}/main.rs does not declare {missing:?}");
    }
}

/// The lock file of the package that no build here touches must still be one that `--locked` takes.
#[test]
fn the_lock_file_beside_the_workspace_has_what_core_uses() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let section = |text: &str, start: &str, end: &str| {
        let from = text.find(start).unwrap() + start.len();
        text[from..].split(end).next().unwrap().to_owned()
    };
    let manifest = section(&read("core/Cargo.toml"), "\n[dependencies]\n", "\n[");
    let locked = section(&read("plugins/symbolica/Cargo.lock"), "\nname = \"ketgrad-core\"\n", "\n]");
    // What a feature asks for that nobody asked for is not there.
    let features = section(&read("core/Cargo.toml"), "\n[features]\n", "\n[");
    let default = features.lines().find(|line| line.starts_with("default =")).unwrap();
    let on = |line: &&str| default.contains(&format!("\"{}\"", line.split(' ').next().unwrap()));
    let on: Vec<&str> = features.lines().filter(on).collect();
    let name = |line: &str| line.split(['.', ' ']).next().unwrap_or_default().to_owned();
    let asked = |line: &&str| {
        let dependency = format!("\"dep:{}\"", name(line));
        !line.contains("optional = true") || on.iter().any(|feature| feature.contains(&dependency))
    };
    let used: Vec<String> = manifest.lines().filter(asked).map(name).collect();
    assert!(["num-traits", "rayon"].iter().all(|name| used.iter().any(|u| u == name)), "{used:?}");
    let missing: Vec<&String> =
        used.iter().filter(|name| !locked.contains(&format!("\n \"{name}")) && !name.is_empty()).collect();
    assert!(missing.is_empty(), "run `cargo metadata` in plugins/symbolica: {missing:?}");
}

#[test]
fn the_table_has_no_cycles() {
    for (i, (module, allowed)) in MODULES.iter().enumerate() {
        for used in *allowed {
            let at = MODULES.iter().position(|m| m.0 == *used);
            assert!(at.is_some_and(|at| at < i), "{module} uses {used}, which does not stand before it");
        }
    }
}

#[test]
fn the_check_itself_can_fail() {
    let faults = |source: &str| module_faults("kernel", &["basis", "matrix", "scalar"], "kernel.rs", source);
    assert_eq!(faults("use crate::scalar::Ring;\nuse crate::kernel::place;\n"), [""; 0]);
    assert_eq!(faults("\nuse crate::gate::Gate;\n"), ["kernel.rs:2: kernel must not use gate"]);
    let nested = "use crate::{\n    basis::{deposit, circuit},\n    // state is only prose\n    state::StateVector,\n};\n";
    assert_eq!(faults(nested), ["kernel.rs:4: kernel must not use state"]);
    assert_eq!(faults("fn f() { crate::simulate::run() }"), ["kernel.rs:1: kernel must not use simulate"]);
    assert_eq!(faults("use std::fs;\n"), ["kernel.rs:1: core must not use std::fs"]);
    assert_eq!(faults("//! println!(\"prose\") of crate::state\n"), [""; 0]);
    let faults =
        package_faults("core", &[], "a.rs", "use num_complex::Complex;\nuse ketgrad_config::Options;\n");
    assert_eq!(faults, ["a.rs:2: core must not use ketgrad_config"]);
    let files = ["main", "array", "jit"].map(str::to_owned);
    assert_eq!(undeclared("mod array;\n// mod jit;\n", files.into_iter()), ["jit"]);
}
