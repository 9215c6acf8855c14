//! Passes and transforms on programs in `.ir` files.
//!
//! A file starts with `//! test NAME [LEVEL]`, where NAME is a pass, `reverse`, `forward`,
//! `optimize` or `gradient` (as it is run: optimised before and after); then comes a program, then
//! `//! ----` and what the program becomes. Set `KETGRAD_BLESS=1` to write the second part anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf};

use ketgrad_core::{
    adjoint,
    exec::{Datum, Derivatives},
    ir,
    pass::{self, Level},
};

const MARK: &str = "//! ----\n";

fn result(path: &str, source: &str) -> String {
    let mut words = source.lines().next().unwrap_or_default().split_whitespace().skip(2);
    let name = words.next().unwrap_or_else(|| panic!("{path}: no test named"));
    let level = match words.next() {
        Some("algebraic") => Level::Algebraic,
        _ => Level::Strict,
    };
    let mut program = ir::parse(source).unwrap_or_else(|e| panic!("{path}: {e:?}"));
    assert_eq!(ir::verify(&program), vec![], "{path}");
    let last = program.functions.keys().next_back().unwrap();
    match name {
        "reverse" => drop(adjoint::reverse(&mut program, last).unwrap()),
        "forward" => drop(adjoint::forward(&mut program, last).unwrap()),
        "gradient" => {
            pass::optimize_all(&mut program, last, level);
            let gradient = adjoint::gradient(&mut program, last).unwrap();
            pass::optimize_all(&mut program, gradient, level);
            assert_eq!(ir::verify(&program), vec![], "{path}\n{program}");
            return program.print(gradient);
        }
        "optimize" => pass::optimize(&mut program, last, level),
        "inline" => drop(pass::inline(&mut program, last, 100)),
        name => {
            let pass = pass::by_name(name).unwrap_or_else(|| panic!("{path}: no pass {name}"));
            pass(&mut program.functions[last], level);
        }
    }
    assert_eq!(ir::verify(&program), vec![], "{path}\n{program}");
    program.to_string()
}

#[test]
fn filetests() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10);
    for file in files {
        let path = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let (source, expected) = text.split_once(MARK).unwrap_or((text.as_str(), ""));
        let found = result(&path, source);
        if std::env::var_os("KETGRAD_BLESS").is_some() {
            fs::write(&file, format!("{source}{MARK}{found}")).unwrap();
        } else {
            assert_eq!(found, expected, "{path}: run with KETGRAD_BLESS=1 if this is right");
        }
    }
}

#[test]
fn a_cycle_with_two_ways_in_is_reversed_too() {
    let text = fs::read_to_string(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/reverse_irreducible.ir"),
    );
    let text = text.unwrap();
    let program = ir::parse(text.split_once(MARK).unwrap().0).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    for n in [-3, 0, 9, 20] {
        let args = [Datum::Real(0.7), Datum::Int(n)];
        let gradient = d.gradient(&args).unwrap();
        let (_, dot) = d.jvp(&args, &[Datum::Real(1.0)]).unwrap();
        assert!(
            (gradient[0].real().unwrap() - dot.real().unwrap()).abs() < 1e-14,
            "{n}: {gradient:?} {dot:?}"
        );
    }
}
