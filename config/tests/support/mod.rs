//! Running the real program in a folder of its own.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

/// A Bell pair that is measured.
pub(crate) const BELL: &str = r#"OPENQASM 3.0;
include "stdgates.inc";
bit[2] c;
qubit[2] q;
h q[0];
cx q[0], q[1];
c = measure q;
"#;

/// Three parameters on two qubits, not measured.
pub(crate) const ANSATZ: &str = r#"OPENQASM 3.0;
include "stdgates.inc";
input float theta;
input array[float[64], 2] w;
qubit[2] q;
rx(theta) q[0];
ry(w[0]) q[0];
ry(w[1]) q[1];
"#;

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Folder(path);
        folder.file("bell.qasm", BELL);
        folder.file("ansatz.qasm", ANSATZ);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ketgrad"));
        command.args(args).current_dir(&self.0).env_remove("NO_COLOR").stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.caches()).env("LOCALAPPDATA", self.caches());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::new(args, self.command(args).output().unwrap())
    }

    /// Runs a command of this folder.
    pub(crate) fn finish(mut command: Command) -> Ran {
        let args: Vec<String> =
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        Ran::new(&args.iter().map(String::as_str).collect::<Vec<_>>(), command.output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::new(args, child.wait_with_output().unwrap())
    }

    /// Folder of the user's caches: beside the folder.
    pub(crate) fn caches(&self) -> PathBuf {
        self.0.with_extension("caches")
    }

    /// Names of the files that are there.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.caches());
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file that NumPy wrote.
pub(crate) fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A NumPy file of floats.
pub(crate) fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

/// Call, its exit status and its output.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) call: String,
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn new(args: &[&str], output: Output) -> Ran {
        Ran {
            call: args.join(" "),
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It did its work.
    #[track_caller]
    pub(crate) fn done(self) -> Ran {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self
    }

    /// It ended with this status, nothing on stdout, and these words on stderr.
    #[track_caller]
    pub(crate) fn fails(self, status: i32, words: &[&str]) -> Ran {
        assert_eq!(self.status, Some(status), "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "{word} is missing: {}\n{}", self.call, self.err);
        }
        // A panic of this program; one of a plugin is an error that says "it panicked: …".
        for word in ["panicked at", "RUST_BACKTRACE", "\x1b"] {
            assert!(!self.err.contains(word), "{self:#?}");
        }
        self
    }

    /// Its stdout is one JSON object and nothing else.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let ran = self.done();
        let value: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(value.is_object() && ran.out.ends_with("}\n"), "{ran:#?}");
        value
    }
}

/// The keys of an object in the order of its text.
pub(crate) fn keys(text: &str) -> Vec<String> {
    let (mut keys, mut depth, mut start) = (Vec::new(), 0, None);
    let bytes = text.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        match (byte, start) {
            (b'"', Some(s)) => {
                if depth == 1 && bytes.get(i + 1) == Some(&b':') {
                    keys.push(text[s..i].to_owned());
                }
                start = None;
            }
            (b'"', None) => start = Some(i + 1),
            (b'{' | b'[', None) => depth += 1,
            (b'}' | b']', None) => depth -= 1,
            _ => {}
        }
    }
    keys
}
