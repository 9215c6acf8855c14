//! Everything that can be wrong with a plugin, provoked and answered in words.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, RunError},
    text::parse_program_with,
};
use ketgrad_plugin_host::{
    Check, Choice, Fault, OnDuplicate, Plugins, Request, Selection, Settings, Verdict,
    conform_kernels, sha256_of,
};
use num_dual::Dual64;

use crate::support;

/// Kernels are called as they are, their programs not compared.
fn unverified() -> Settings {
    Settings::default().with_verify(false)
}

fn request(path: &Path) -> Request {
    Request::default().with_name("it".to_owned()).with_candidates(vec![path.to_owned()])
}

fn hostile() -> PathBuf {
    support::plugin("ketgrad_hostile")
}

/// The plugin in C with some definitions.
fn in_c(definitions: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile.c");
    let name = format!("hostile_{}", definitions.join("_").replace('=', ""));
    support::c_plugin(&source, &name, definitions)
}

/// Reason why a plugin is not loaded.
fn refused(request: &Request) -> String {
    let mut plugins = Plugins::new(unverified());
    let error = plugins.load(request).unwrap_err().to_string();
    let report = &plugins.reports()[0];
    assert!(!report.loaded && report.rules.is_empty() && error.contains(&report.reason), "{error}");
    assert!(plugins.rules().program().functions.is_empty(), "all or nothing");
    error
}

fn loaded(settings: Settings, path: &Path) -> Plugins {
    let mut plugins = Plugins::new(settings);
    plugins.load(&request(path)).unwrap();
    plugins
}

/// The value of a program of one argument.
fn run(plugins: &Plugins, source: &str, x: f64) -> Result<Datum<f64>, RunError> {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    code.call(&mut Machine::new(), &*plugins.host(), &Limits::default(), &[Datum::Real(x)])
}

#[test]
fn files_that_are_no_plugins() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut missing = request(&folder.join("nowhere/a.so"));
    missing.candidates.push(folder.join("nowhere/b.so"));
    let error = refused(&missing);
    assert!(
        error.contains("no such file") && error.contains("a.so") && error.contains("b.so"),
        "{error}"
    );

    let text = folder.join("text.so");
    fs::write(&text, "not a library").unwrap();
    let error = refused(&request(&text));
    assert!(error.contains("text.so is not a library"), "{error}");
    assert!(!error.contains("/proc/self"), "{error}");

    let error = refused(&request(&in_c(&["NOT_A_PLUGIN"])));
    assert!(error.contains("is a library but not a plugin"), "{error}");
    let error = refused(&request(&in_c(&["BAD_MAGIC"])));
    assert!(error.contains("not a plugin's descriptor"), "{error}");
    let error = refused(&request(&in_c(&["NO_INIT"])));
    assert!(error.contains("no `init`"), "{error}");
}

/// A library that is cut short would kill the process where the system reads what is not there.
#[cfg(target_os = "linux")]
#[test]
fn libraries_that_are_cut_short() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let whole = fs::read(in_c(&["RIGHT"])).unwrap();
    // After the segments there are section headers only, which are not loaded.
    let (mut refusals, mut loads) = (0, 0);
    for len in [64, 100, 1000, 4096, 8000, 12_000, whole.len() - 500, whole.len() - 1] {
        let cut = folder.join(format!("cut_{len}.so"));
        fs::write(&cut, &whole[..len]).unwrap();
        let mut plugins = Plugins::new(unverified());
        match plugins.load(&request(&cut)) {
            Ok(()) => loads += 1,
            Err(error) => {
                let error = error.to_string();
                assert!(
                    error.contains(&format!("cut_{len}.so is not a library that can be loaded")),
                    "{error}"
                );
                if error
                    .contains(&format!("truncated: the file has {len} bytes, its segments reach "))
                {
                    refusals += 1;
                }
            }
        }
    }
    assert!(refusals >= 2 && loads >= 1, "{refusals} {loads}");

    let directory = folder.join("directory.so");
    fs::create_dir_all(&directory).unwrap();
    let error = refused(&request(&directory));
    assert!(error.contains("directory.so is a directory; expected a library"), "{error}");
}

#[test]
fn versions() {
    let error = refused(&request(&in_c(&["THIS_MAJOR=2"])));
    assert!(
        error.contains("version 2 of the plugin interface; this program has version 1"),
        "{error}"
    );
    let error = refused(&request(&in_c(&["NEEDS=9"])));
    assert!(error.contains("needs version 1.9"), "{error}");
    // An older and a newer minor version load: only what a plugin needs counts.
    for definitions in [["THIS_MINOR=0"], ["THIS_MINOR=9"], ["LONGER"], ["SHORTER"], ["EXTENSION"]]
    {
        let plugins = loaded(Settings::default(), &in_c(&definitions));
        assert_eq!(
            run(&plugins, "fn f(x) { square(x) }", 3.0).unwrap(),
            Datum::Real(9.0),
            "{definitions:?}"
        );
    }
    let error = refused(&request(&in_c(&["TOO_SHORT"])));
    assert!(error.contains("a rule of 16 bytes; expected at least"), "{error}");
}

#[test]
fn rules_that_cannot_be() {
    for (definition, words) in [
        ("TWO_RESULTS", "2 results"),
        ("NO_INPUTS", "3435973836 inputs; a rule has at most 1000"),
        ("WORD", "no word such as `let`"),
        ("BAD_NAME", "letters, digits and _"),
        ("BUILT_IN", "has a function of that name"),
        ("BAD_TEXT", "not UTF-8"),
        ("BAD_PROGRAM", "did you mean `kernel`"),
        ("OTHER_PROGRAM", "defines no `square`"),
        ("OTHER_KINDS", "its signature (real,)"),
    ] {
        let error = refused(&request(&in_c(&[definition])));
        assert!(error.contains(words), "{definition}: {error}");
    }
}

#[test]
fn pins() {
    let path = hostile();
    let given = sha256_of(&path).unwrap();
    assert_eq!(given.len(), 64);
    let pinned = request(&path).with_sha256(Some(given.to_uppercase()));
    Plugins::new(unverified().with_require_sha256(true)).load(&pinned).unwrap();
    let wrong = request(&path).with_sha256(Some("0".repeat(64)));
    let error = refused(&wrong);
    assert!(error.contains(&given) && error.contains(&"0".repeat(64)), "{error}");
    let mut plugins = Plugins::new(unverified().with_require_sha256(true));
    let error = plugins.load(&request(&path)).unwrap_err();
    assert_eq!(error.fault, Fault::NoHash { given });
}

#[test]
fn selections_and_duplicates() {
    let path = hostile();
    let only = request(&path).with_rules(Selection::Only(vec!["cube".into()]));
    let mut plugins = Plugins::new(Settings::default());
    plugins.load(&only).unwrap();
    assert_eq!(plugins.reports()[0].rules, ["cube"]);

    let error = refused(&request(&path).with_rules(Selection::Except(vec!["cub".into()])));
    assert!(
        error.contains("names the rule `cub`, which it does not have; it has `panics`"),
        "{error}"
    );
    let error = refused(&request(&path).with_kernels(Selection::Only(vec!["k".into()])));
    assert!(error.contains("names the kernel `k`"), "{error}");

    let again = only.clone().with_name("again".into());
    let error = plugins.load(&again).unwrap_err().to_string();
    assert!(error.contains("rule `cube` is already there, from plugin `it`"), "{error}");
    let mut plugins = Plugins::new(unverified().with_on_duplicate(OnDuplicate::Priority));
    plugins.load(&only).unwrap();
    plugins.load(&again).unwrap();
    assert!(
        plugins.reports()[1].notes.iter().any(|n| n.contains("left out")),
        "{:?}",
        plugins.reports()
    );

    // An optional one that fails is a report.
    let optional = request(Path::new("/nowhere/a.so")).with_optional(true);
    plugins.load(&optional).unwrap();
    assert!(plugins.reports()[2].reason.contains("no such file"));
}

#[test]
fn registration_is_all_or_nothing() {
    let with = |how: &str| request(&hostile()).with_options(vec![("init".into(), how.into())]);
    let error = refused(&with("panic"));
    assert!(
        error.contains("a panic while it registers at ") && error.contains("lib.rs:"),
        "{error}"
    );
    let error = refused(&with("error"));
    assert!(error.contains("no licence"), "{error}");
    // A rule that disagrees with its program keeps the others out, too.
    let mut plugins = Plugins::new(Settings::default());
    let error = plugins.load(&request(&hostile())).unwrap_err().to_string();
    assert!(error.contains("rule `liar`") && error.contains("differences give"), "{error}");
    assert!(plugins.rules().program().functions.is_empty());
}

#[test]
fn panics_are_errors_in_every_thread() {
    let plugins = loaded(unverified(), &hostile());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for k in 0..100 {
                    let x = 1.0 + f64::from(k);
                    let error = run(&plugins, "fn f(x) { panics(x) }", x).unwrap_err().to_string();
                    assert!(
                        error.contains(&format!("a panic at {x}")) && error.contains("lib.rs:"),
                        "{error}"
                    );
                    assert!(error.contains("plugin `it`") && error.contains("panics"), "{error}");
                }
            });
        }
    });
    assert_eq!(run(&plugins, "fn f(x) { panics(x) }", 0.5).unwrap(), Datum::Real(0.5));
}

#[test]
fn results_that_are_not_finite() {
    let source = "fn f(x) { infinite(x) }";
    assert_eq!(
        run(&loaded(unverified(), &hostile()), source, 1.0).unwrap(),
        Datum::Real(f64::INFINITY)
    );
    let strict = loaded(unverified().with_check(Check::Finite), &hostile());
    let error = run(&strict, source, 1.0).unwrap_err().to_string();
    assert!(error.contains("it gives inf although every input is finite"), "{error}");
    // What came in infinite may go out so.
    assert_eq!(run(&strict, source, f64::INFINITY).unwrap(), Datum::Real(f64::INFINITY));
}

#[test]
fn kernels_on_arrays_that_lie() {
    let source = "fn f(x) { let y = twice([x, x]); y[0] + y[1] }";
    assert_eq!(
        run(&loaded(unverified(), &in_c(&["RIGHT"])), source, 1.5).unwrap(),
        Datum::Real(6.0)
    );
    for (definition, words) in [
        ("RANK", "1000 dimensions"),
        ("HUGE_SHAPE", "at most 100000000 elements"),
        ("NO_DIMENSIONS", "0 dimensions; array<real> has 1 to 8"),
        ("OVERRUN", "wrote past the end of its result, 2 elements"),
        ("UNDERRUN", "wrote before the start of its result, 2 elements"),
        ("NAMELESS_ERROR", "status 77"),
        ("LONG_MESSAGE", "aaaa"),
    ] {
        let plugins = loaded(unverified(), &in_c(&[definition]));
        let error = run(&plugins, source, 1.5).unwrap_err().to_string();
        assert!(error.contains(words), "{definition}: {error}");
    }
}

/// Reason why a plugin is not loaded where its rules are verified.
fn disagrees(request: &Request) -> String {
    let mut plugins = Plugins::new(Settings::default());
    let error = plugins.load(request).unwrap_err();
    assert!(matches!(error.fault, Fault::Disagrees { .. }), "{error}");
    assert!(plugins.rules().program().functions.is_empty(), "all or nothing");
    error.to_string()
}

fn verdict(plugins: &Plugins, rule: &str) -> Verdict {
    plugins.verify().into_iter().find(|v| v.rule == rule).unwrap()
}

/// A kernel that breaks the contract in every call disagrees; no verdict tells of the host's own
/// types or places.
#[test]
fn kernels_that_always_fail_disagree() {
    for (definition, words) in [
        ("RANK", "1000 dimensions"),
        ("HUGE_SHAPE", "at most 100000000 elements"),
        ("NO_DIMENSIONS", "0 dimensions; array<real> has 1 to 8"),
        ("OVERRUN", "wrote past the end of its result, 3 elements"),
        ("UNDERRUN", "wrote before the start of its result, 3 elements"),
        ("NAMELESS_ERROR", "status 77"),
        ("LONG_MESSAGE", "aaaa"),
    ] {
        let library = in_c(&[definition]);
        let verdict = verdict(&loaded(unverified(), &library), "twice");
        let said = verdict.disagreement.unwrap();
        assert!(said.starts_with("at [0.35, 0.8, 1.7] its kernel fails"), "{definition}: {said}");
        assert!(said.contains(words) && verdict.note.is_none(), "{definition}: {said}");
        let error = disagrees(&request(&library));
        assert!(error.contains(words) && error.contains("rule `twice`"), "{definition}: {error}");
    }
    for (name, words) in [
        (
            "forward_panics",
            "its kernel fails, and wherever it was tried: it panicked: a panic in forward",
        ),
        ("no_number", "its kernel gives no finite number, and nowhere that was tried"),
        ("many_dimensions", "100 dimensions; at most 8"),
        ("pullback_panics", "its pullback fails: the primitive"),
        ("pullback_errs", "no pullback today"),
    ] {
        let only = request(&hostile())
            .with_rules(Selection::Only(vec![name.to_owned()]))
            .with_options(vec![("breaks".to_owned(), name.to_owned())]);
        let mut plugins = Plugins::new(unverified());
        plugins.load(&only).unwrap();
        let said = verdict(&plugins, name).disagreement.unwrap();
        assert!(said.contains("[0.35, 0.8, 1.7]") && said.contains(words), "{name}: {said}");
        assert!(!said.contains("unknown place") && !said.contains("Array {"), "{said}");
        assert!(disagrees(&only).contains(words), "{name}");
    }
}

/// What says nothing against a rule: a kernel without derivatives, and one that says in words what
/// it needs.
#[test]
fn what_cannot_be_compared_is_no_disagreement() {
    let some = request(&hostile())
        .with_rules(Selection::Only(vec!["panics".into(), "needs_hundred".into()]))
        .with_options(vec![("breaks".to_owned(), "all".to_owned())]);
    let mut plugins = Plugins::new(Settings::default());
    plugins.load(&some).unwrap();
    for (rule, words) in [
        (
            "panics",
            "the rule `panics` of the plugin `it` has a kernel and no derivative; a program gives it one",
        ),
        (
            "needs_hundred",
            "at [0.35, 0.8, 1.7] the primitive `needs_hundred` failed: expected 100 elements",
        ),
    ] {
        let Verdict { disagreement, note, points, .. } = verdict(&plugins, rule);
        assert_eq!((disagreement, points), (None, 0), "{rule}");
        let note = note.unwrap();
        assert!(note.contains(words), "{rule}: {note}");
    }
}

/// A rule of numbers without a program has no derivative, in no way and of no order, and that is
/// what is said.
#[test]
fn a_kernel_on_numbers_without_a_program_says_what_it_lacks() {
    let plugins = loaded(unverified(), &hostile());
    let words = "the rule `panics` of the plugin `it` has a kernel and no derivative; a program gives it one: \
                 `.program(";
    let program = parse_program_with("fn f(x) { panics(x) }", plugins.rules()).unwrap();
    let host = plugins.host();
    let error = Derivatives::<f64>::new(&program, "f")
        .and_then(|f| f.with_host(&*host).value_and_gradient(&[Datum::Real(0.5)]))
        .unwrap_err();
    assert!(
        plugins.missing_derivative(&error).is_some_and(|said| said.starts_with(words)),
        "{error}"
    );
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [Datum::Real(Dual64::new(0.5, 1.0))];
    let error =
        code.call(&mut Machine::<Dual64>::new(), &*host, &Limits::default(), &at).unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
    let error = plugins.operator::<f64>("panics").map(|_| ()).unwrap_err();
    assert!(error.starts_with(words), "{error}");
    // Another error is not explained so.
    let error = Derivatives::<f64>::new(&program, "g").map(|_| ()).unwrap_err();
    assert_eq!(plugins.missing_derivative(&error), None);
}

fn kernels(how: &str, name: &str) -> Request {
    let options = [("kernel", how), ("kernel_name", name)];
    request(&hostile())
        .with_options(options.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec())
        .with_rules(Selection::Only(vec![]))
}

#[test]
fn gate_kernels_are_compared() {
    for (how, wrong) in
        [("ok", ""), ("nothing", "off by"), ("error", "does not want (plugin `it`)")]
    {
        let mut plugins = Plugins::new(unverified());
        plugins.load(&kernels(how, "mine")).unwrap();
        let all = plugins.host_kernels();
        assert_eq!((all.len(), all[0].name(), all[0].plugin()), (1, "mine", "it"));
        let findings = conform_kernels(&all[0], 8);
        assert!(findings.len() >= 5, "{findings:?}");
        for finding in findings {
            assert_eq!(finding.holds(), wrong.is_empty(), "{how}: {finding}");
            assert!(finding.to_string().contains(wrong), "{how}: {finding}");
        }
    }
}

#[test]
fn gate_kernels_have_names_that_can_be_asked_for() {
    for (name, words) in [
        ("cpu", "expected another name than auto or cpu"),
        ("auto", "expected another name than auto or cpu"),
        ("fast", "the built-in kernels have that name"),
        ("", "its name is empty"),
    ] {
        let error = refused(&kernels("ok", name));
        assert!(
            error.contains(&format!("kernel `{name}`: ")) && error.contains(words),
            "{name}: {error}"
        );
    }
    // Of two of one name the first has it, if the config says so.
    let again = kernels("nothing", "mine").with_name("again".to_owned());
    let mut plugins = Plugins::new(unverified());
    plugins.load(&kernels("ok", "mine")).unwrap();
    let error = plugins.load(&again).unwrap_err().to_string();
    assert!(error.contains("kernel `mine` is already there, from plugin `it`"), "{error}");
    let mut plugins = Plugins::new(unverified().with_on_duplicate(OnDuplicate::Priority));
    plugins.load(&kernels("ok", "mine")).unwrap();
    plugins.load(&again).unwrap();
    let report = &plugins.reports()[1];
    assert!(report.kernels.is_empty(), "{report:?}");
    let note = "kernel `mine` left out: it is already there, from plugin `it`";
    assert!(report.notes.iter().any(|n| n == note), "{report:?}");
    assert_eq!(plugins.known(5, 5).iter().map(|k| k.plugin.as_str()).collect::<Vec<_>>(), ["it"]);
}

/// A score that panics is no score of 0.
#[test]
fn a_score_that_panics_is_said() {
    let mut plugins = Plugins::new(unverified());
    plugins.load(&kernels("score", "mine")).unwrap();
    let known = &plugins.known(5, 5)[0];
    let fault = known.fault.clone().unwrap();
    assert_eq!((known.double, known.single), (0, 0));
    let words = ["it panicked: a panic of the score at ", "kernels.rs:", "(plugin `it`)"];
    assert!(words.iter().all(|word| fault.contains(word)), "{fault}");
    let asked =
        plugins.chosen::<f64>(&Choice::Named("mine".to_owned()), 5, 5).unwrap_err().to_string();
    assert!(asked.contains("the backend `mine` cannot run this: its score failed"), "{asked}");
    assert!(words.iter().all(|word| asked.contains(word)), "{asked}");
    let mut plugins = Plugins::new(unverified());
    plugins.load(&kernels("declines", "mine")).unwrap();
    assert_eq!((plugins.known(5, 5)[0].fault.clone(), plugins.known(5, 5)[0].double), (None, 0));
}

/// A library may switch the processor to flushing denormal numbers when it is loaded.
#[cfg(target_arch = "x86_64")]
#[test]
fn denormal_numbers_survive() {
    let tiny = std::hint::black_box(f64::MIN_POSITIVE);
    loaded(unverified(), &in_c(&["FAST_MATH"]));
    assert!(std::hint::black_box(tiny / 4.0) > 0.0);
}
