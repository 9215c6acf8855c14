//! Plugins built for tests: those of the workspace by one call of cargo, those in C by `cc`.
#![allow(dead_code, reason = "the tests of the command line use a part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use ketgrad_plugin_host::Settings;

/// Settings without a limit of time for loading, which a run under valgrind would meet.
pub(crate) fn settings() -> Settings {
    Settings::default().with_load_timeout(None)
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|d| d.join("Cargo.lock").is_file())
        .unwrap()
        .to_owned()
}

/// The library of a plugin of the workspace. `KETGRAD_PLUGIN_DIR` names a folder with plugins built
/// before.
pub(crate) fn plugin(library: &str) -> PathBuf {
    static BUILT: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    built_before(library).unwrap_or_else(|| BUILT.get_or_init(build)[library].clone())
}

fn built_before(library: &str) -> Option<PathBuf> {
    let folder = std::env::var("KETGRAD_PLUGIN_DIR").ok()?;
    Some(ketgrad_plugin_host::file_name(&Path::new(&folder).join(library)))
}

/// All libraries of the workspace, by name: with the examples, as for the tests, so that nothing is
/// compiled for other features once more.
fn build() -> HashMap<String, PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace()).args([
        "build",
        "--offline",
        "--workspace",
        "--lib",
        "--examples",
        "--message-format=json",
    ]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut built = HashMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let is_library =
            message["target"]["kind"].as_array().is_some_and(|k| k.iter().any(|k| k == "cdylib"));
        if let (Some(name), true, Some(file)) =
            (message["target"]["name"].as_str(), is_library, message["filenames"][0].as_str())
        {
            built.insert(name.to_owned(), PathBuf::from(file));
        }
    }
    built
}

/// A plugin in C: compiled with some definitions, a library for each call. Its options are
/// variables of the library, so that two tests at a time must not share one.
pub(crate) fn c_plugin(source: &Path, name: &str, definitions: &[&str]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("{name}_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let library =
        ketgrad_plugin_host::file_name(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    // Written beside and renamed: a library that is mapped must not be written over.
    let fresh = library.with_extension(std::process::id().to_string());
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(workspace().join("plugins/abi/include"))
        .args(definitions.iter().map(|d| format!("-D{d}")))
        .arg(source)
        .arg("-o")
        .arg(&fresh)
        .args(["-lm"])
        .output()
        .unwrap_or_else(|e| panic!("a C compiler is needed (`{compiler}`: {e})"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &library).unwrap();
    library
}

/// The device that is none.
pub(crate) fn mock_device() -> PathBuf {
    c_plugin(&workspace().join("plugins/mockdevice/mockdevice.c"), "mockdevice", &[])
}
