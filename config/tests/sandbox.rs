//! Plugins that do not come back: a limit of time at load, and `plugins verify --sandboxed`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    libraries,
    support::{Folder, Ran},
};

/// The plugin that does what its options say.
fn wreck() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = libraries::workspace().join("plugins/host/tests/wreck.c");
        libraries::c_plugin(&source, "wreck_of_sandbox", &[])
    })
}

/// A plugin that is right.
fn right(folder: &Folder) -> PathBuf {
    let source = r#"
        #include "ketgrad_plugin.h"
        static ketgrad_status thrice(void *user, const double *x, double *y, ketgrad_err *err) {
            (void)user, (void)err;
            *y = 3 * x[0];
            return KETGRAD_OK;
        }
        static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
            ketgrad_rule rule = {
                .struct_size = sizeof rule, .name = KETGRAD_STR("thrice"), .n_in = 1, .n_out = 1,
                .dtypes = 1u << KETGRAD_F64, .scalar_f64 = thrice,
                .program = KETGRAD_STR("rule thrice(x) { kernel(x) } pullback(x, y, y_bar) { 3.0 * y_bar }"),
            };
            return host->add_rule(host->ctx, &rule, err);
        }
        KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
            KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
            KETGRAD_STR("right"), KETGRAD_STR("1.0"), KETGRAD_STR(""), init,
        };"#;
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            libraries::c_plugin(&folder.file("right.c", source), "right_of_sandbox", &[])
        })
        .clone()
}

/// A config with both plugins, the wreck first, and a rule that is a program alone.
fn config(folder: &Folder, settings: &str, kernels: &str, at: &str, how: &str) {
    let text = format!(
        "[plugins]\n{settings}\n[[plugin]]\nname = 'wreck'\npath = '{}'\nkernels = {{ only = [{kernels}] }}\n\
         [plugin.options]\nat = '{at}'\nhow = '{how}'\n[[plugin]]\nname = 'right'\npath = '{}'\n\
         [[rule]]\nprogram = 'rule sq(x) {{ x * x }} pullback(x, y, y_bar) {{ 2.0 * x * y_bar }}'\n",
        wreck().display(),
        right(folder).display()
    );
    folder.file("c.toml", text);
}

/// Runs the program; `at load` a plugin learns by the environment what it shall do.
fn run(folder: &Folder, args: &[&str], load: Option<&str>) -> Ran {
    let mut command = folder.command(args);
    if let Some(how) = load {
        command.env("WRECK_LOAD", how);
    }
    Folder::finish(command)
}

const DIFF: [&str; 7] =
    ["diff", "-e", "fn f(x) { thrice(x) }", "--at", "x=2", "--config", "c.toml"];
const VERIFY: [&str; 4] = ["plugins", "verify", "--config", "c.toml"];

#[test]
fn loading_has_a_limit_of_time() {
    let folder = Folder::new();
    let is_quick = |start: Instant| {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed())
    };
    for (at, load, place) in [
        ("nowhere", Some("loop"), "while it is loaded"),
        ("nowhere", Some("sleep"), "while it is loaded"),
        ("init", None, "in its registration"),
        ("scalar", None, "where its rule `square` is compared"),
        ("pullback", None, "where its rule `twice` is compared"),
    ] {
        let start = Instant::now();
        config(&folder, "load_timeout = 1.5", "", at, "loop");
        let ran = run(&folder, &DIFF, load);
        ran.fails(1, &["plugin `wreck`: it did not come back within 1.5 s", place]);
        is_quick(start);
    }
    // Of an optional one it is a note, and the rest works, but for what the system's loader is held
    // by.
    for (at, load) in [("init", None), ("nowhere", Some("loop"))] {
        let start = Instant::now();
        config(&folder, "load_timeout = 1.5", "", at, "loop");
        let text = fs::read_to_string(folder.path("c.toml")).unwrap();
        folder.file("c.toml", text.replace("name = 'wreck'", "name = 'wreck'\noptional = true"));
        let ran = run(&folder, &DIFF, load);
        match load {
            None => assert!(
                ran.err.contains("note: plugin `wreck` is left out: it did not come back")
                    && ran.status == Some(0),
                "{ran:#?}"
            ),
            Some(_) => {
                ran.fails(1, &["plugin `right`: it cannot be loaded: plugin `wreck` did not come back while it was loaded"]);
            }
        }
        is_quick(start);
    }
    // In a comparison without other limits, too.
    config(&folder, "load_timeout = 1.5", "", "scalar", "sleep");
    let ran = run(&folder, &VERIFY, None);
    let row = "it did not come back within 1.5 s where it is compared";
    assert!(
        ran.status == Some(3) && ran.out.contains(row) && ran.out.contains("\nthrice "),
        "{ran:#?}"
    );
    for (value, words) in [
        ("0", "seconds above 0"),
        ("'x'", "seconds above 0"),
        ("true", "or false"),
        ("1e9", "up to 86400"),
    ] {
        config(&folder, &format!("load_timeout = {value}"), "", "nowhere", "loop");
        run(&folder, &DIFF, None).fails(1, &["`plugins.load_timeout`", words]);
    }
    config(&folder, "load_timeout = false", "", "nowhere", "loop");
    run(&folder, &DIFF, None).done();
}

/// Answer of the process, without its time.
fn without_seconds(ran: &Ran) -> Value {
    let mut json: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{ran:#?}"));
    json.as_object_mut().unwrap().remove("seconds");
    json
}

#[test]
fn a_sandbox_finds_what_is_found_without() {
    let folder = Folder::new();
    config(&folder, "", "", "nowhere", "loop");
    let text = fs::read_to_string(folder.path("c.toml")).unwrap();
    let off = "[[plugin]]\nname = 'off'\npath = 'off'\nenabled = false\n";
    let wrong = text.replace("2.0 * x * y_bar }'", "3.0 * x * y_bar }'");
    let points: [&[&str]; 3] =
        [&[], &["--at", "thrice: x=7"], &["--at", "x=0.5", "--at", "sq: x=9"]];
    for (config, status) in [(text.clone() + off, 0), (wrong, 3)] {
        folder.file("c.toml", config);
        for at in points {
            let all = |more: &[&str]| run(&folder, &[&VERIFY[..], at, more].concat(), None);
            let (without, within) = (all(&[]), all(&["--sandboxed"]));
            assert_eq!((within.status, &within.out), (without.status, &without.out), "{within:#?}");
            assert_eq!(without.status, Some(status), "{without:#?}");
            let (without, within) = (all(&["--json"]), all(&["--json", "--sandboxed=100"]));
            assert_eq!(without_seconds(&within), without_seconds(&without));
        }
    }
    folder.file("c.toml", text);
    let all = |more: &[&str]| run(&folder, &[&VERIFY[..], &["--sandboxed"], more].concat(), None);
    all(&["--at", "thrise: x=7"]).fails(2, &["there is no rule `thrise`", "did you mean `thrice`"]);
    all(&["--at", "x=one"]).fails(1, &["`x` is of kind real"]);
    folder.file("c.toml", "[[rule]]\nprogram = 'rule sq(x) { x + } pullback(x, y, y_bar) { x }'\n");
    all(&[]).fails(1, &["c.toml"]);
    folder.file("c.toml", "");
    assert!(all(&[]).done().out.starts_with("no plugins"));
}

/// Nine ways not to come back, in several places: each is a finding about the plugin, and what is
/// right is still compared.
#[test]
fn a_sandbox_contains_what_goes_wrong() {
    let folder = Folder::new();
    let ways = [
        ("segv", "it crashed (SIGSEGV)"),
        ("abort", "it aborted (SIGABRT)"),
        ("exit0", "it ended the process"),
        ("_exit", "gave no answer (exit status: 0)"),
        ("stack", "it crashed (SIGSEGV)"),
        ("memory", "in a process of its own"),
        ("children", "did not end within 3 s"),
        ("loop", "did not end within 3 s"),
        ("sleep", "did not end within 3 s"),
    ];
    let places = [("nowhere", true), ("init", false), ("scalar", false), ("apply_host", false)];
    for (k, (how, words)) in ways.into_iter().enumerate() {
        // Each way in some places, each place in some ways.
        for (at, is_at_load) in [places[k % 4], places[(k + 1) % 4]] {
            let kernels = if at == "apply_host" { "'here'" } else { "" };
            config(&folder, "", kernels, at, how);
            let args =
                [&VERIFY[..], &["--sandboxed=3", "--memory-limit", "1GiB", "--json"]].concat();
            let ran = run(&folder, &args, is_at_load.then_some(how));
            assert_eq!(ran.status, Some(3), "{at} {how}: {ran:#?}");
            let json = without_seconds(&ran);
            let row = |k: usize| &json["plugins"][k];
            assert_eq!(
                (&row(0)["name"], &row(0)["loaded"]),
                (&"wreck".into(), &false.into()),
                "{ran:#?}"
            );
            let reason = row(0)["reason"].as_str().unwrap();
            assert!(reason.contains(words), "{at} {how}: {reason}");
            assert_eq!(
                (&row(1)["name"], &row(1)["loaded"]),
                (&"right".into(), &true.into()),
                "{ran:#?}"
            );
            let agree = |rule: &str| {
                json["verdicts"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|v| v["rule"] == rule && v["agrees"] == true)
            };
            assert!(agree("thrice") && agree("sq"), "{at} {how}: {ran:#?}");
        }
    }
}
