//! States as NumPy files, in and out. The files in `data` were written by NumPy 2.4.

use crate::support::{Folder, data};

/// A circuit of two qubits that does nothing.
const NOTHING: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nx q[0];\nx q[0];\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("id.qasm", NOTHING);
    folder
}

#[test]
fn what_numpy_wrote_comes_back_byte_for_byte() {
    let folder = folder();
    for (precision, file) in [("f64", "state_c16.npy"), ("f32", "state_c8.npy")] {
        let args = [
            "run",
            "id.qasm",
            "--input",
            &data(file),
            "--output",
            "out.npy",
            "--precision",
            precision,
        ];
        folder.run(&args).done();
        assert_eq!(
            std::fs::read(folder.path("out.npy")).unwrap(),
            std::fs::read(data(file)).unwrap()
        );
    }
    let names = folder.names();
    assert!(names.iter().all(|n| !n.ends_with(".tmp")), "{names:?}");
}

#[test]
fn every_precision_and_byte_order_is_read() {
    let folder = folder();
    for file in ["state_c16.npy", "state_c8.npy", "state_c16_big.npy", "state_c8_big.npy"] {
        for precision in ["f64", "f32"] {
            let args = [
                "run",
                "id.qasm",
                "--input",
                &data(file),
                "--amplitudes",
                "--json",
                "--precision",
                precision,
            ];
            let json = folder.run(&args).json();
            let part = |i: usize, k: usize| json["amplitudes"][i][k].as_f64().unwrap();
            assert!((part(0, 0) - 0.6).abs() < 1e-7, "{file}");
            assert!((part(2, 1) - 0.8).abs() < 1e-7, "{file}");
        }
    }
}

#[test]
fn the_state_is_the_one_before_the_measurements() {
    let folder = folder();
    folder.run(&["run", "bell.qasm", "--output", "bell.npy", "--quiet"]).done();
    let bytes = std::fs::read(folder.path("bell.npy")).unwrap();
    assert_eq!(bytes.len(), 128 + 4 * 16);
    let last = f64::from_le_bytes(bytes[128 + 48..128 + 56].try_into().unwrap());
    assert!((last - 0.5f64.sqrt()).abs() < 1e-15);
}

#[test]
fn other_files_are_refused_in_words() {
    let folder = folder();
    let good = std::fs::read(data("state_c16.npy")).unwrap();
    folder.file("cut.npy", &good[..good.len() - 3]);
    folder.file("head.npy", &good[..40]);
    folder.file("more.npy", [&good[..], &[0]].concat());
    folder.file("text.npy", "hello");
    folder.file("version.npy", b"\x93NUMPY\x09\x00");
    folder.file("huge.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{");
    let nested = format!("{{'descr': {}", "(".repeat(60_000));
    let length = u32::try_from(nested.len()).unwrap().to_le_bytes();
    folder.file("nested.npy", [b"\x93NUMPY\x02\x00", &length[..], nested.as_bytes()].concat());
    for (file, words) in [
        (data("state_f8.npy"), &["type <f8", "complex128"][..]),
        (data("structure.npy"), &["a structure"]),
        (data("state_fortran.npy"), &["shape is (2, 2)", "(4,)"]),
        (data("state_nan.npy"), &["norm", "NaN"]),
        (data("state_unnormed.npy"), &["norm^2 = 2"]),
        ("cut.npy".into(), &["cut off", "3 of 4"]),
        ("head.npy".into(), &["header"]),
        ("more.npy".into(), &["more bytes"]),
        ("text.npy".into(), &["not a NumPy file"]),
        ("version.npy".into(), &["version 9.0"]),
        ("huge.npy".into(), &["header", "4294967295"]),
        ("nested.npy".into(), &["header is damaged"]),
        (".".into(), &["directory"]),
        ("no.npy".into(), &["cannot read no.npy"]),
    ] {
        folder.run(&["run", "id.qasm", "--input", &file]).fails(1, words);
    }
    folder.file("one.qasm", NOTHING.replace("qubit[2]", "qubit[1]"));
    folder
        .run(&["run", "one.qasm", "--input", &data("state_c16.npy")])
        .fails(1, &["(4,)", "(2,) for 1 qubits"]);
}

#[test]
fn no_change_of_a_byte_makes_it_fall_over() {
    let good = std::fs::read(data("state_c16.npy")).unwrap();
    for at in 0..good.len() {
        for value in [0, b'(', b'9', b'\'', b'}', 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let _ = ketgrad_config::npy::read_state::<f64>(&bytes[..], 2);
            let _ = ketgrad_config::npy::read_table(&bytes[..]);
            let _ = ketgrad_config::npy::read_items(&bytes[..]);
        }
        let _ = ketgrad_config::npy::read_state::<f32>(&good[..at], 2);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused() {
    let folder = folder();
    folder.run(&["run", "bell.qasm", "--output", "."]).fails(1, &["cannot write", "directory"]);
    folder.run(&["run", "bell.qasm", "--output", "no/s.npy"]).fails(1, &["cannot write no/s.npy"]);
    // A run that fails leaves the old file alone.
    folder.file("s.npy", "old");
    folder.run(&["run", "bell.qasm", "--output", "s.npy", "--observable", "Q"]).fails(1, &[]);
    assert_eq!(std::fs::read(folder.path("s.npy")).unwrap(), b"old");
}

#[cfg(unix)]
#[test]
fn a_link_keeps_pointing_at_its_file() {
    let folder = folder();
    folder.file("real.npy", "old");
    std::os::unix::fs::symlink("real.npy", folder.path("link.npy")).unwrap();
    folder.run(&["run", "bell.qasm", "--output", "link.npy"]).done();
    assert!(folder.path("link.npy").is_symlink());
    assert!(std::fs::read(folder.path("real.npy")).unwrap().starts_with(b"\x93NUMPY"));
}
