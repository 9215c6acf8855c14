//! Promises of plugins/README.md for plugins that break, row by row.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    libraries,
    support::{Folder, Ran},
};

/// Each row of the table with its test.
const PROMISES: [(&str, fn()); 16] = [
    ("pinned", pinned),
    ("writable", writable),
    ("versions", versions),
    ("all_or_nothing", all_or_nothing),
    ("panics", panics),
    ("ended", ended),
    ("endless", endless),
    ("shapes", shapes),
    ("memory", memory),
    ("finite", finite),
    ("modes", modes),
    ("leaks", leaks),
    ("derivatives", derivatives),
    ("amplitudes", amplitudes),
    ("sandbox", sandbox),
    ("programs", programs),
];

#[test]
fn each_promise_has_its_test() {
    let page = fs::read_to_string(libraries::workspace().join("plugins/README.md")).unwrap();
    let (_, table) = page.split_once("| name | promise |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let names: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(names, PROMISES.map(|(name, _)| name));
}

#[test]
fn each_promise_is_kept() {
    let is_broken = |kept: fn()| std::panic::catch_unwind(kept).is_err();
    let broken: Vec<&str> =
        PROMISES.into_iter().filter(|(_, kept)| is_broken(*kept)).map(|(name, _)| name).collect();
    assert_eq!(broken, [""; 0]);
}

fn c_plugin(source: &str, definitions: &[&str]) -> PathBuf {
    let source = libraries::workspace().join("plugins/host/tests").join(source);
    libraries::c_plugin(&source, "promises", definitions)
}

fn wreck() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| c_plugin("wreck.c", &[]))
}

/// A config with one plugin: settings of all, more of its own, and its options.
fn config(folder: &Folder, settings: &str, library: &Path, more: &str, options: &[(&str, &str)]) {
    let options: String =
        options.iter().map(|(key, value)| format!("{key} = '{value}'\n")).collect();
    let text = format!(
        "[plugins]\n{settings}\n[[plugin]]\nname = 'it'\npath = '{}'\n{more}\n[plugin.options]\n{options}",
        library.display()
    );
    folder.file("c.toml", text);
}

fn diff(folder: &Folder, program: &str) -> Ran {
    folder.run(&["diff", "-e", program, "--at", "x=2", "--config", "c.toml"])
}

fn plugins(folder: &Folder, verb: &str) -> Ran {
    folder.run(&["plugins", verb, "--config", "c.toml"])
}

const NO_KERNELS: &str = "kernels = { only = [] }";
const SQUARE: &str = "fn f(x) { square(x) }";
const TWICE: &str = "fn f(x) { let y = twice([x, 1.0]); y[0] * y[1] }";

/// Another file under the name is refused, and one without a hash where there must be one.
fn pinned() {
    let folder = Folder::new();
    let library = folder.path("libpinned.so");
    fs::copy(wreck(), &library).unwrap();
    let sha256 =
        folder.run(&["plugins", "hash", library.to_str().unwrap()]).done().out[..64].to_owned();
    let pin = format!("sha256 = '{sha256}'\n{NO_KERNELS}");
    config(&folder, "require_sha256 = true", &library, &pin, &[]);
    diff(&folder, SQUARE).done();
    config(&folder, "require_sha256 = true", &library, NO_KERNELS, &[]);
    diff(&folder, SQUARE).fails(1, &["require_sha256 is set, and it has no sha256", &sha256]);
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(0);
    fs::write(&library, bytes).unwrap();
    config(&folder, "", &library, &pin, &[]);
    diff(&folder, SQUARE).fails(1, &["its sha256 is", "the config says", &sha256]);
}

fn writable() {
    let folder = Folder::new();
    let library = folder.path("libwritable.so");
    fs::copy(wreck(), &library).unwrap();
    fs::set_permissions(&library, Permissions::from_mode(0o666)).unwrap();
    config(&folder, "", &library, NO_KERNELS, &[]);
    let ran = diff(&folder, SQUARE).done();
    assert!(ran.err.contains("plugin `it`: warning: everyone may write to"), "{ran:#?}");
    fs::set_permissions(&library, Permissions::from_mode(0o644)).unwrap();
    let ran = diff(&folder, SQUARE).done();
    assert!(!ran.err.contains("warning"), "{ran:#?}");
}

fn versions() {
    for (definition, words) in [
        ("THIS_MAJOR=2", "version 2 of the plugin interface"),
        ("NEEDS=99", "it needs version 1.99"),
    ] {
        let folder = Folder::new();
        config(&folder, "", &c_plugin("hostile.c", &[definition]), "", &[]);
        diff(&folder, "fn f(x) { x }").fails(1, &["plugin `it`", words]);
    }
}

fn all_or_nothing() {
    let folder = Folder::new();
    for (how, words) in [("error", "no licence"), ("panic", "a panic while it registers")] {
        config(
            &folder,
            "",
            &libraries::plugin("ketgrad_hostile"),
            "optional = true",
            &[("init", how)],
        );
        let ran = plugins(&folder, "list").done();
        assert!(
            ran.out.starts_with("it  not loaded: it could not start: ") && ran.out.contains(words),
            "{ran:#?}"
        );
        // Its first rule was added before.
        diff(&folder, "fn f(x) { panics(x) }").fails(1, &["panics"]);
    }
}

fn panics() {
    let folder = Folder::new();
    config(&folder, "verify = false", &libraries::plugin("ketgrad_hostile"), "", &[]);
    let words = ["`panics`", "a panic at 2", "plugin `it`", "lib.rs:"];
    diff(&folder, "fn f(x) { if panics(x) > 0.0 { x } else { 0.0 } }").fails(1, &words);
}

fn ended() {
    let folder = Folder::new();
    for (how, words) in
        [("segv", "it crashed"), ("abort", "it aborted"), ("exit0", "it ended the process")]
    {
        config(&folder, "verify = false", wreck(), NO_KERNELS, &[("at", "scalar"), ("how", how)]);
        let ran = diff(&folder, SQUARE);
        let line = format!("ketgrad: plugin `it`, rule `square`: {words}");
        assert!(ran.status != Some(0) && ran.err.contains(&line), "{ran:#?}");
    }
}

fn endless() {
    let folder = Folder::new();
    config(&folder, "load_timeout = 1", wreck(), NO_KERNELS, &[("at", "init"), ("how", "loop")]);
    diff(&folder, SQUARE)
        .fails(1, &["plugin `it`: it did not come back within 1 s in its registration"]);
}

fn shapes() {
    let folder = Folder::new();
    let breaks = [("breaks", "many_dimensions")];
    config(&folder, "verify = false", &libraries::plugin("ketgrad_hostile"), "", &breaks);
    let ran = diff(&folder, "fn f(x) { if sum(many_dimensions([x, x])) > 0.0 { x } else { 0.0 } }");
    ran.fails(1, &["`many_dimensions`", "has 100 dimensions", "plugin `it`"]);
}

fn memory() {
    let folder = Folder::new();
    for (definition, check, program, words) in [
        ("BEHIND", "shape", SQUARE, "it wrote beside its result"),
        ("INPUT", "shape", SQUARE, "it wrote to its inputs"),
        ("INPUT", "finite", TWICE, "it wrote to its inputs"),
    ] {
        let settings = format!("check = '{check}'\nverify = false");
        config(&folder, &settings, &c_plugin("wreck.c", &[definition]), NO_KERNELS, &[]);
        diff(&folder, program).fails(1, &["plugin `it`", words]);
    }
}

fn finite() {
    let folder = Folder::new();
    config(
        &folder,
        "check = 'finite'\nverify = false",
        &libraries::plugin("ketgrad_hostile"),
        "",
        &[],
    );
    let ran = diff(&folder, "fn f(x) { if infinite(x) > 0.0 { x } else { 0.0 } }");
    ran.fails(1, &["`infinite`", "although every input is finite", "plugin `it`"]);
}

fn modes() {
    let folder = Folder::new();
    config(&folder, "", wreck(), NO_KERNELS, &[("at", "scalar"), ("how", "modes")]);
    // A third is rounded to the nearest afterwards.
    let ran = diff(&folder, "fn f(x) { square(x) / 12.0 + square(x) / 12.0 }").done();
    let usual = folder
        .run(&["diff", "-e", "fn f(x) { x * x / 12.0 + x * x / 12.0 }", "--at", "x=2"])
        .done();
    assert_eq!(ran.out.replace("square(x)", "x * x"), usual.out);
    let verified = plugins(&folder, "verify");
    assert!(
        verified.out.contains("rule `square` leaves the processor in another floating-point mode"),
        "{verified:#?}"
    );
}

fn leaks() {
    let folder = Folder::new();
    config(&folder, "", &c_plugin("wreck.c", &["LEAKS"]), NO_KERNELS, &[]);
    let ran = plugins(&folder, "list").done();
    let notes = [
        "rule `square` has a `user` and no `drop_user`",
        "rule `twice` gives a tape and has no `free_tape`",
    ];
    assert!(notes.iter().all(|note| ran.out.contains(note)), "{ran:#?}");
}

fn derivatives() {
    let folder = Folder::new();
    config(&folder, "", &libraries::plugin("ketgrad_hostile"), "rules = { only = ['liar'] }", &[]);
    diff(&folder, "fn f(x) { liar(x) }")
        .fails(1, &["plugin `it`: rule `liar`", "its pullback gives"]);
}

fn amplitudes() {
    let folder = Folder::new();
    config(
        &folder,
        "",
        &c_plugin("mutants.c", &[]),
        "rules = { only = [] }",
        &[("mutant", "imaginary")],
    );
    let ran = folder.run(&["run", "bell.qasm", "--config", "c.toml"]);
    ran.fails(1, &["plugin `it`", "kernel `mutants` does not compute what it should"]);
}

fn sandbox() {
    let folder = Folder::new();
    for how in ["segv", "_exit", "memory"] {
        config(&folder, "", wreck(), NO_KERNELS, &[("at", "scalar"), ("how", how)]);
        let args =
            ["plugins", "verify", "--config", "c.toml", "--sandboxed=60", "--memory-limit", "1GiB"];
        let ran = folder.run(&args);
        let row = "it  not loaded: in a process of its own it gave no answer";
        assert!(ran.status == Some(3) && ran.out.contains(row), "{how} {ran:#?}");
    }
}

fn programs() {
    let folder = Folder::new();
    let rule = "rule f(x) { let mut y = x; while y < 1.0e300 { y = y + 0.0 * y; } y } pullback(x, y, y_bar) { y_bar }";
    folder.file("c.toml", format!("[[rule]]\nprogram = '{rule}'\n"));
    let ran = folder.run(&[
        "diff",
        "-e",
        "fn g(x) { f(x) }",
        "--at",
        "x=2",
        "--config",
        "c.toml",
        "--max-steps",
        "1000000",
    ]);
    ran.fails(1, &["steps"]);
}
