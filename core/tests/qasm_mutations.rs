//! Damaged files: whatever is done to a text, the front end answers, and its labels point into it.
//!
//! The damage is seeded, so that a failure can be run again: its seed and its text are printed.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ketgrad_core::qasm::{Diagnostic, QasmOptions, Severity, SourceText, parse, parse_angle};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Number of texts; `KETGRAD_MUTATIONS` asks for another one.
fn inputs() -> u64 {
    std::env::var("KETGRAD_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(30_000)
}

/// Pieces that mean something somewhere.
const PIECES: &[&str] = &[
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "@",
    "->",
    "=",
    "-",
    "/",
    "*",
    "**",
    "^",
    ":",
    "\"",
    "'",
    "/*",
    "//",
    "0",
    "1",
    "-1",
    "1e999",
    "0x",
    "9999999999999999999999999",
    "4294967296",
    "1000000000",
    ".",
    "5.",
    "pi",
    "θ",
    "π",
    "\u{0}",
    "\u{feff}",
    "\u{2028}",
    "q",
    "q[0]",
    "$0",
    "$4294967295",
    "gate",
    "gate g a { g a; }",
    "opaque",
    "include \"qelib1.inc\";",
    "include \"stdgates.inc\";",
    "OPENQASM 3.0;",
    "OPENQASM 2.0;",
    "qubit",
    "qubit[3] q;",
    "creg c[3];",
    "input float t;",
    "input array[float, 3] w;",
    "ctrl @",
    "ctrl(2) @",
    "negctrl @",
    "inv @",
    "pow(2) @",
    "pow(-1000000) @",
    "pow(0.5) @",
    "pow(1/3) @",
    "gphase(pi);",
    "measure",
    "measure q -> c;",
    "barrier",
    "barrier;",
    "reset q;",
    "if (c == 1)",
    "else",
    "else {",
    "if (c[0]) {",
    "if (c == \"010\") { c = measure q; } else",
    "if (c ^ c)",
    "if (int[3](c) < -1) reset q;",
    "c[0] = !c[0];",
    "c = \"101\";",
    "let a = q[0:1] ++ q;",
    "let c2 = c[{2, 0}];",
    "bit[3] b = c;",
    "array[int, 2] n = {1, 2};",
    "&&",
    "||",
    "==",
    "<=",
    "measure q;",
    "reset",
    "for int i in [0:3]",
    "while",
    "switch",
    "case",
    "def",
    "let",
    "box",
    "delay[1ns]",
    "const float x = 1/3;",
    "bit[2]",
    "float",
    "float(",
    "array[",
    "durationof({",
    "cal {",
    "defcal",
    "end",
    "sin(",
    "sqrt(",
    "popcount(",
    "mod(",
    "%",
    "<<",
    "~",
    "!",
    "true",
    "\"0101\"",
    "im",
    "ns",
    "#pragma x",
    "@note",
    "\r\n",
    "\t",
    "{0, 1}",
    "[0:2]",
    "[-1]",
    "[::]",
    "++",
];

fn corpus() -> Vec<String> {
    let folder = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "qasm"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (rng.next_u64() % n.max(1) as u64) as usize
}

/// A place between two characters.
fn place(rng: &mut ChaCha8Rng, text: &str) -> usize {
    let mut at = below(rng, text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn damage(rng: &mut ChaCha8Rng, text: &mut String, corpus: &[String]) {
    let (a, b) = (place(rng, text), place(rng, text));
    let (start, end) = (a.min(b), a.max(b));
    let near = {
        let mut near = end.min(start + 1 + below(rng, 12));
        while !text.is_char_boundary(near) {
            near -= 1;
        }
        near.max(start)
    };
    let line = |at: usize, text: &str| {
        let first = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let last = text[at..].find('\n').map_or(text.len(), |i| at + i + 1);
        (first, last)
    };
    match below(rng, 9) {
        0 => text.replace_range(start..near, ""),
        1 => text.insert_str(start, PIECES[below(rng, PIECES.len())]),
        2 => text.replace_range(start..near, PIECES[below(rng, PIECES.len())]),
        3 => {
            let (first, last) = line(start, text);
            let copy = text[first..last].to_owned();
            text.insert_str(first, &copy);
        }
        4 => {
            let (first, last) = line(start, text);
            text.replace_range(first..last, "");
        }
        5 => {
            let c = char::from_u32(below(rng, 0x250) as u32).unwrap_or('?');
            text.insert(start, c);
        }
        6 => text.truncate(start),
        7 => {
            let (first, last) = line(start, text);
            let moved = text[first..last].to_owned();
            text.replace_range(first..last, "");
            let to = place(rng, text);
            text.insert_str(to, &moved);
        }
        _ => {
            let other = &corpus[below(rng, corpus.len())];
            let (first, last) = line(place(rng, other), other);
            text.insert_str(start, &other[first..last]);
        }
    }
}

fn check_labels(diagnostics: &[Diagnostic], sources: &[SourceText]) {
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty());
        for label in &diagnostic.labels {
            let text = &sources[label.source].text;
            assert!(label.span.start <= label.span.end, "{diagnostic:?}");
            assert!(text.get(label.span.clone()).is_some(), "{diagnostic:?}");
            assert!(sources[label.source].line_column(label.span.start).0 > 0);
        }
    }
}

#[test]
fn damaged_files_are_answered() {
    let corpus = corpus();
    assert!(corpus.len() >= 12);
    let files =
        |name: &str| corpus.get(name.len() % 20).cloned().ok_or_else(|| "no such file".to_owned());
    let options = QasmOptions::default().with_max_gates(2_000).with_include(Some(&files));
    let (mut accepted, mut errors) = (0u64, 0u64);
    for seed in 0..inputs() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut text = corpus[below(&mut rng, corpus.len())].clone();
        for _ in 0..1 + below(&mut rng, 4) {
            damage(&mut rng, &mut text, &corpus);
        }
        let answer = catch_unwind(AssertUnwindSafe(|| match parse(&text, &options) {
            Ok(parsed) => {
                check_labels(&parsed.warnings, &parsed.sources);
                assert!(parsed.warnings.iter().all(|w| w.severity == Severity::Warning));
                assert!(parsed.circuit.instructions().len() <= 2_000);
                (1, 0)
            }
            Err(failed) => {
                check_labels(&failed.diagnostics, &failed.sources);
                assert!(failed.diagnostics.iter().any(|d| d.severity == Severity::Error));
                assert!(!failed.to_string().is_empty());
                (0, failed.diagnostics.len() as u64)
            }
        }));
        let Ok((ok, count)) = answer else { panic!("seed {seed}:\n{text}") };
        accepted += ok;
        errors += count;
    }
    // The damage is such that both happen a lot.
    assert!(accepted > inputs() / 20, "{accepted} accepted");
    assert!(errors > inputs(), "{errors} errors");
}

#[test]
fn angles_are_answered() {
    for seed in 0..inputs() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let pieces = 1 + below(&mut rng, 7);
        let text: String = (0..pieces).map(|_| PIECES[below(&mut rng, PIECES.len())]).collect();
        let answer = catch_unwind(|| match parse_angle(&text) {
            Ok(angle) => assert!(angle.constant().is_some_and(f64::is_finite)),
            Err(e) => assert!(e.labels.iter().all(|l| text.get(l.span.clone()).is_some()), "{e:?}"),
        });
        assert!(answer.is_ok(), "seed {seed}: {text}");
    }
}
