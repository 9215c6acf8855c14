//! Gate kernels and devices that compute something else are refused when they are loaded.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_plugin_host::{
    Fault, PluginError, Plugins, Request, Selection, Settings, conform_kernels,
};

use crate::{support, wrong_rules::mutants};

fn load(
    settings: Settings,
    path: std::path::PathBuf,
    option: (&str, &str),
) -> Result<Plugins, PluginError> {
    let mut plugins = Plugins::new(settings);
    let request = Request::default()
        .with_name("it".to_owned())
        .with_candidates(vec![path])
        .with_options(vec![(option.0.to_owned(), option.1.to_owned())])
        .with_rules(Selection::Only(vec![]));
    plugins.load(&request).map(|()| plugins)
}

/// Mutation, and the text of its refusal.
const MUTANTS: [(&str, &str); 25] = [
    ("imaginary", "each operator, 2 qubits in f64: off by"),
    ("conjugate", "each operator, 2 qubits"),
    ("transposed", "each operator, 2 qubits"),
    ("diagonal_conjugate", "each operator, 2 qubits"),
    ("phases", "each operator"),
    ("single", "each operator"),
    ("low_target", "each operator"),
    ("high_target", "each operator"),
    ("target_nine", "11 qubits in f64: off by"),
    ("control_zero", "each operator"),
    ("control_ignored", "each operator"),
    ("one_control", "each operator"),
    ("pair_controls", "each operator"),
    ("pair_order", "each operator"),
    ("last_amplitude", "each operator"),
    ("beyond_10", "11 qubits in f64"),
    ("beyond_12", "13 qubits in f64"),
    ("beyond_13", "14 qubits in f64"),
    ("beyond_15", "16 qubits in f64"),
    ("long_list", "operators in a row"),
    ("longer_list", "a list of 256 operators, each alone right"),
    ("block", "operators in a row"),
    ("split", "on two threads, 14 qubits"),
    ("none", ""),
    ("something else", ""),
];

#[test]
fn every_mutated_gate_kernel_is_refused() {
    for (mutant, words) in MUTANTS {
        match load(support::settings(), mutants(), ("mutant", mutant)) {
            Ok(_) => assert_eq!(words, "", "{mutant} is loaded"),
            Err(error) => {
                let said = error.to_string();
                assert!(
                    matches!(error.fault, Fault::Nonconforming { what: "kernel", .. }),
                    "{said}"
                );
                let begin = "plugin `it`: kernel `mutants` does not compute what it should: ";
                assert!(said.starts_with(begin) && said.contains(words), "{mutant}: {said}");
            }
        }
        if ["imaginary", "split", "none"].contains(&mutant) {
            let unverified = support::settings().with_verify(false);
            let kernels = load(unverified, mutants(), ("mutant", mutant)).unwrap().host_kernels();
            let wrong = conform_kernels(&kernels[0], 16).iter().filter(|f| !f.holds()).count();
            assert_eq!(wrong == 0, words.is_empty(), "{mutant}");
        }
    }
}

/// A refusal tells the given and the expected value, and the operator.
#[test]
fn a_refusal_names_operator_and_amplitude() {
    let error =
        load(support::settings(), mutants(), ("mutant", "target_nine")).unwrap_err().to_string();
    assert!(
        error.contains("on qubits [9]: amplitude ") && error.contains(", expected "),
        "{error}"
    );
}

#[test]
fn wrong_devices_are_refused() {
    for (fail, words) in [
        (
            "conjugate",
            "device `mock` does not compute what it should: each operator, 6 qubits in f64",
        ),
        ("single", "device `mock` does not compute what it should: each operator, 6 qubits in f32"),
        ("apply", "the device was lost"),
        ("none", ""),
    ] {
        match load(support::settings(), support::mock_device(), ("fail", fail)) {
            Ok(_) => assert_eq!(words, "", "{fail} is loaded"),
            Err(error) => assert!(error.to_string().contains(words), "{fail}: {error}"),
        }
    }
    // One that declines is not asked.
    load(support::settings(), support::mock_device(), ("score", "0")).unwrap();
}

#[test]
fn the_shipped_kernels_conform() {
    let plugins =
        load(support::settings(), support::plugin("ketgrad_qkernels"), ("score", "200")).unwrap();
    for finding in conform_kernels(&plugins.host_kernels()[0], 16) {
        assert!(finding.holds(), "{finding}");
    }
}

/// Kernels that agreed are not compared again, for the same library with the same options.
#[test]
fn what_agreed_is_kept() {
    let folder = std::env::temp_dir().join(format!("ketgrad-kept-{}", std::process::id()));
    let cached = || support::settings().with_cache(Some(folder.clone()));
    let entries = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    load(cached(), mutants(), ("mutant", "imaginary")).unwrap_err();
    assert_eq!(entries(), 0, "nothing that is wrong is kept");
    load(cached(), mutants(), ("mutant", "none")).unwrap();
    assert_eq!(entries(), 1);
    let time = |settings: Settings| {
        let begin = std::time::Instant::now();
        load(settings, mutants(), ("mutant", "none")).unwrap();
        begin.elapsed()
    };
    let compared = time(support::settings());
    // The best of some: the machine may do something else meanwhile.
    let kept = (0..5).map(|_| time(cached())).min().unwrap();
    assert!(kept < compared / 2, "{kept:?}, compared in {compared:?}");
    // Another option is another plugin, and a program beside it another program.
    load(cached(), mutants(), ("mutant", "conjugate")).unwrap_err();
    let wrong = "rule f(x) { x * x } pullback(x, y, b) { 3.0 * x * b }";
    let right = "rule f(x) { x * x } pullback(x, y, b) { 2.0 * x * b }";
    let mut plugins = Plugins::new(cached());
    plugins.add_program("a test", wrong).unwrap_err();
    plugins.add_program("a test", right).unwrap();
    Plugins::new(cached()).add_program("a test", wrong).unwrap_err();
    assert_eq!(entries(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}
