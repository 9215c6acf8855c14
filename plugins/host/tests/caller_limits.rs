//! Work that the host runs for a kernel counts in the run that calls it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ketgrad_core::{
    cancel::{CancellationToken, is_cancelled},
    exec::{Bytecode, Datum, Executable, Limits, Machine, RunError},
    text::parse_program_with,
};
use ketgrad_plugin_host::{Plugins, Request, Settings};
use num_dual::Dual64;

use crate::support;

/// A kernel that is fast, with a program that never ends above 1000.
fn slow(settings: Settings) -> Plugins {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slow.c");
    let library = support::c_plugin(&source, "slow", &[]);
    let mut plugins = Plugins::new(settings);
    let request = Request::default().with_name("slow".to_owned()).with_candidates(vec![library]);
    plugins.load(&request).unwrap();
    plugins
}

/// A program on numbers that carry a derivative.
fn run(
    plugins: &Plugins,
    body: &str,
    x: f64,
    limits: &Limits,
    token: CancellationToken,
) -> Result<Datum<Dual64>, RunError> {
    let program = parse_program_with(&format!("fn f(x) {{ {body} }}"), plugins.rules()).unwrap();
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let mut machine = Machine::new().with_cancellation(token);
    code.call(&mut machine, &*plugins.host(), limits, &[Datum::Real(Dual64::new(x, 1.0))])
}

#[test]
fn a_program_that_the_host_runs_stops_at_the_limit_of_the_caller() {
    let plugins = slow(Settings::default());
    let few = Limits::new().with_steps(10_000);
    let near = run(&plugins, "slow(x)", 3.0, &few, CancellationToken::never()).unwrap();
    assert_eq!(near, Datum::Real(Dual64::new(3.0, 1.0)));
    let error =
        run(&plugins, "slow(x)", 2000.0, &few, CancellationToken::never()).unwrap_err().to_string();
    assert!(error.contains("stopped after 99") && error.contains("plugin `slow`"), "{error}");
    // What was run before counts: 10 calls are fine, 100 are not.
    let calls = |n: usize| format!("let mut y = x; for i in 0..{n} {{ y = slow(y); }} y");
    assert!(run(&plugins, &calls(10), 3.0, &few, CancellationToken::never()).is_ok());
    let error = run(&plugins, &calls(100), 3.0, &few, CancellationToken::never()).unwrap_err();
    assert!(error.to_string().contains("steps"), "{error}");
}

#[test]
fn a_program_that_the_host_runs_is_cancelled_with_the_caller() {
    let plugins = slow(Settings::default());
    let end = Instant::now() + Duration::from_millis(50);
    let token = CancellationToken::when(move || Instant::now() >= end);
    let error = run(&plugins, "slow(x)", 2000.0, &Limits::new(), token).unwrap_err();
    assert!(is_cancelled(&error), "{error}");
}

#[test]
fn the_host_has_limits_of_its_own() {
    let plugins = slow(Settings::default().with_limits(Limits::new().with_steps(5000)));
    let error = run(&plugins, "slow(x)", 2000.0, &Limits::new(), CancellationToken::never())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("stopped after 5000 steps") && error.contains("`Settings::limits`"),
        "{error}"
    );
}
