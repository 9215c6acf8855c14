//! The header for C++, where there is a compiler for it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::{path::Path, process::Command};

/// The status of a body is that of the call, and nothing is thrown across.
#[test]
fn guarded_gives_the_status_of_its_body() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("not run: no C++ compiler (`{compiler}`; CXX names another)");
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for standard in ["c++11", "c++17"] {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guarded_{standard}"));
        let compiled = Command::new(&compiler)
            .args([&format!("-std={standard}"), "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
            .arg(here.join("include"))
            .arg(here.join("tests/guarded.cpp"))
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap();
        assert!(
            compiled.status.success(),
            "{standard}: {}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        let run = Command::new(&program).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert_eq!((said.as_ref(), run.status.code()), ("0 wrong\n", Some(0)), "{standard}");
    }
}
