//! Plugins that end the process: whose fault it is is said.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{libraries, support::Folder};

/// The plugin that does what its options say.
fn wreck() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = libraries::workspace().join("plugins/host/tests/wreck.c");
        libraries::c_plugin(&source, "wreck_of_config", &[])
    })
}

/// The plugin in a config, with more of that: what goes wrong, and where.
fn config(folder: &Folder, name: &str, settings: &str, at: &str, how: &str) -> String {
    let text = format!(
        "[plugins]\n{settings}\n[[plugin]]\nname = \"wreck\"\npath = '{}'\n[plugin.options]\nat = \"{at}\"\nhow = \"{how}\"\n",
        wreck().display()
    );
    folder.file(name, text);
    name.to_owned()
}

/// Ten ways to end a process, in each of ten places: each child says whose fault it is, and none
/// has status 0.
#[test]
fn a_hundred_crashes_name_their_plugin() {
    const KINDS: [(&str, &str); 10] = [
        ("segv", "it crashed (SIGSEGV)"),
        ("abort", "it aborted (SIGABRT)"),
        ("bus", "it crashed (SIGBUS)"),
        ("fpe", "it crashed (SIGFPE)"),
        ("ill", "it crashed (SIG"), // aarch64's trap is another one
        ("exit0", "it ended the process"),
        ("exit3", "it ended the process"),
        ("quick_exit", "it ended the process"),
        ("stack", "it crashed (SIGSEGV)"),
        ("free", "it aborted (SIGABRT)"),
    ];
    let real = ["diff", "-e", "fn f(x) { square(x) }", "--at", "x=2"];
    let array = ["diff", "-e", "fn f(x) { let y = twice([x, x]); y[0] * y[1] }", "--at", "x=2"];
    let circuit = |backend| ["run", "bell.qasm", "--threads", "3", backend];
    let (here, there) = (circuit("--backend=here"), circuit("--backend=there"));
    let list = ["plugins", "list"];
    let places: [(&str, &[&str], &str); 10] = [
        ("load", &list, "while it is loaded"),
        ("init", &list, "its registration"),
        ("scalar", &real, "rule `square`"),
        ("infer", &array, "rule `twice`"),
        ("forward", &array, "rule `twice`"),
        ("pullback", &array, "rule `twice`"),
        ("free_tape", &array, "rule `twice`"),
        ("apply_host", &here, "kernel `here`"),
        ("body", &here, "kernel `here`"),
        ("apply", &there, "kernel `there`"),
    ];
    let folder = Folder::new();
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let child = |k: usize| {
        let ((how, words), (at, args, what)) = (KINDS[k % 10], places[k / 10]);
        let file = config(&folder, &format!("{at}_{how}.toml"), "verify = false", at, how);
        let mut command = folder.command(args);
        command.args(["--config", &file]);
        if at == "load" {
            command.env("WRECK_LOAD", how);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = format!("ketgrad: plugin `wreck`, {what}: {words}");
        let lines = said.lines().filter(|line| line.starts_with("ketgrad: plugin `")).count();
        if output.status.success()
            || !said.contains(&expected)
            || lines != 1
            || !output.stdout.is_empty()
        {
            faults.lock().unwrap().push(format!("{at} {how}: {} {said}", output.status));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let k @ 0..100 = next.fetch_add(1, Ordering::Relaxed) {
                    child(k);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of 100\n{}", faults.len(), faults.join("\n"));
    // Without a fault there is no line.
    let file = config(&folder, "right.toml", "verify = false", "nowhere", "segv");
    let ran =
        folder.run(&["diff", "-e", "fn f(x) { square(x) }", "--at", "x=2", "--config", &file]);
    assert!(ran.err.is_empty() && ran.status == Some(0), "{ran:?}");
}

/// Threads that call `exit` at the same moment: the first one reports, and no other one ends the
/// process with its own status, 0, before that is done.
#[test]
fn threads_that_exit_at_once_give_no_status_0() {
    let folder = Folder::new();
    let file = config(&folder, "exits.toml", "verify = false", "body", "exit0");
    for round in 0..60 {
        let args = ["run", "bell.qasm", "--threads", "8", "--backend=here", "--config", &file];
        let output = folder.command(&args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{round}: {said}");
        assert_eq!(said.matches("it ended the process").count(), 1, "{round}: {said}");
    }
}
