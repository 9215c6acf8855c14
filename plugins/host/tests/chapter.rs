//! The chapter "write a plugin in ten minutes", compiled and run: a crate outside the workspace,
//! and a C file.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, process::Command};

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program_with,
};
use ketgrad_plugin_host::{Plugins, Request, Settings, file_name};

use crate::support;

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let text = fs::read_to_string(support::workspace().join("plugins/README.md")).unwrap();
    let start = format!("```{language}\n");
    text.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn loaded(path: &Path) -> Plugins {
    let mut plugins = Plugins::new(Settings::default());
    let request =
        Request::default().with_name("mine".into()).with_candidates(vec![path.to_owned()]);
    plugins.load(&request).unwrap();
    plugins
}

/// The value, gradient and second derivative of `f` at a point.
fn at(plugins: &Plugins, source: &str, x: f64) -> (f64, f64, f64) {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let at = [Datum::Real(x)];
    let (y, gradient) = f.value_and_gradient(&at).unwrap();
    let second = f.hessian(&at).map_or(f64::NAN, |h| h[0][0]);
    (y, *gradient[0].real().unwrap(), second)
}

#[test]
fn the_crate_of_the_chapter_builds_outside_the_workspace_and_loads() {
    let folder = std::env::temp_dir().join(format!("ketgrad-chapter-{}", std::process::id()));
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = blocks("toml").into_iter().find(|b| b.contains("cdylib")).unwrap();
    let workspace = support::workspace();
    fs::write(
        folder.join("Cargo.toml"),
        manifest.replace("PATH/TO/ketgrad", workspace.to_str().unwrap()),
    )
    .unwrap();
    // The whole plugin, and what the chapter shows beside it: a part of a rule, and a rule of two
    // results.
    let [whole, log1p, moments] = &blocks("rust")[..] else { panic!("other blocks than these") };
    let checks = "assert_rule!(log1p(), [[0.5]]); assert!(check_rule(&log1p(), &[-2.0]).is_err());
         assert_rule!(moments(), [[0.3, -0.5], [2.0, 0.4]]);";
    let more = format!(
        "#[cfg(test)] mod more {{ use ketgrad_plugin_sdk::*; fn log1p() -> RuleDef {{ {log1p} }} {moments}
         #[test] fn kernels_are_sound() {{ {checks} }} }}"
    );
    fs::write(folder.join("src/lib.rs"), format!("{whole}\n{more}")).unwrap();
    // The versions that are available without a network.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = folder.join("target");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .unwrap();
    assert!(built.success());

    let plugins = loaded(&file_name(&target.join("debug/my_plugin")));
    let x = 0.9f64;
    let (y, first, second) = at(&plugins, "fn f(x) { sinc(x) }", x);
    assert!((y - x.sin() / x).abs() < 1e-15);
    assert!((first - (x.cos() - y) / x).abs() < 1e-15);
    assert!((second - (-y - 2.0 * (x.cos() - y) / (x * x))).abs() < 1e-14);
    // At 0, where formulas divide, and beside it.
    let (y, first, second) = at(&plugins, "fn f(x) { sinc(x) }", 0.0);
    assert!(y == 1.0 && first == 0.0 && (second + 1.0 / 3.0).abs() < 1e-15, "{y} {first} {second}");
    let (_, first, second) = at(&plugins, "fn f(x) { sinc(x) }", 1e-3);
    assert!(
        (first + 1e-3 / 3.0).abs() < 1e-10 && (second + 1.0 / 3.0).abs() < 1e-6,
        "{first} {second}"
    );
    let (y, first, _) = at(&plugins, "fn f(x) { largest([x, x * x, 3.0 * x]) }", x);
    assert!((y - 2.7).abs() < 1e-15 && first == 3.0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_c_file_of_the_chapter_loads() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chapter.c");
    fs::write(&source, &blocks("c")[0]).unwrap();
    let plugins = loaded(&support::c_plugin(&source, "chapter", &[]));
    let (y, first, second) = at(&plugins, "fn f(x) { log1p(x) }", 0.5);
    assert!(
        (y - 1.5f64.ln()).abs() < 1e-15
            && (first - 1.0 / 1.5).abs() < 1e-15
            && (second + 1.0 / 2.25).abs() < 1e-15
    );
    let program = parse_program_with("fn f(x) { log1p(x) }", plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let error = f.value(&[Datum::Real(-2.0)]).unwrap_err().to_string();
    assert!(error.contains("above -1") && error.contains("plugin `mine`"), "{error}");
}

/// A C++ exception stays in the library.
#[test]
fn exceptions_become_errors() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("throws.cpp");
    let text = r#"
#include "ketgrad_plugin.hpp"
#include <stdexcept>
static ketgrad_status kernel(void *, const double *x, double *y, ketgrad_err *err) {
    return ketgrad::guarded(err, [&] {
        if (x[0] > 1) throw std::runtime_error("too large");
        if (x[0] < -1) throw 1;
        *y = x[0];
    });
}
static ketgrad_status init(const ketgrad_host *host, ketgrad_err *err) {
    ketgrad_rule rule = {};
    rule.struct_size = sizeof rule;
    rule.name = KETGRAD_STR("clipped");
    rule.n_in = rule.n_out = 1;
    rule.dtypes = 1u << KETGRAD_F64;
    rule.scalar_f64 = kernel;
    return host->add_rule(host->ctx, &rule, err);
}
extern "C" KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {
    KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR, sizeof(ketgrad_desc), 0, 0,
    KETGRAD_STR("throws"), KETGRAD_STR("1"), KETGRAD_STR(""), init,
};
"#;
    fs::write(&source, text).unwrap();
    let library = file_name(&folder.join("throws"));
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-shared", "-fPIC", "-I"])
        .arg(support::workspace().join("plugins/abi/include"))
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .output();
    // A C compiler is all that the tests ask for.
    let Ok(output) = compiled else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plugins = loaded(&library);
    let program = parse_program_with("fn f(x) { clipped(x) }", plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let mut value = |x: f64| f.value(&[Datum::Real(x)]);
    assert_eq!(value(0.5).unwrap(), Datum::Real(0.5));
    assert!(value(2.0).unwrap_err().to_string().contains("too large"));
    assert!(value(-2.0).unwrap_err().to_string().contains("it panicked: an exception"));
}
