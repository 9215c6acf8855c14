//! Observables from the command line: `'0.5*Z0 Z1 - X2'`, or `@FILE` with one term a line or an FCIDUMP.

use std::path::Path;

use ketgrad_core::{
    observable::{ObservableError, PauliSum},
    problem::{Mapping, Molecule},
};

use crate::{files::read_text, report::Failure};

/// An observable and what it was called.
#[derive(Clone, Debug)]
pub struct Named {
    /// As given on the command line.
    pub text: String,
    /// The observable.
    pub sum: PauliSum,
}

/// Reads an observable for n qubits.
///
/// # Errors
/// [`Failure`] that underlines what is wrong, a qubit beyond the circuit included.
pub fn read(given: &str, n_qubits: usize) -> Result<Named, Failure> {
    let text = given.trim().to_owned();
    let Some(path) = text.strip_prefix('@') else {
        let sum = read_text_of("--observable", given, n_qubits)?;
        return Ok(Named { text, sum });
    };
    let sum = read_file(Path::new(path), n_qubits)?;
    Ok(Named { text, sum })
}

/// Reads an observable for n qubits from a text called `name`.
///
/// # Errors
/// As [`read`].
pub fn read_text_of(name: &str, text: &str, n_qubits: usize) -> Result<PauliSum, Failure> {
    parse(name, text, 0, text, n_qubits)
}

/// Reads an observable for n qubits from a file with one term a line, or from an FCIDUMP, which Jordan and Wigner map.
///
/// # Errors
/// As [`read`].
pub fn read_file(path: &Path, n_qubits: usize) -> Result<PauliSum, Failure> {
    let (name, content) = read_text(path)?;
    if !Molecule::is_fcidump(&content) {
        return read_terms(&name, &content, n_qubits);
    }
    let molecule = read_molecule(&name, &content)?;
    let sum = check_orbitals(&molecule, n_qubits)
        .and_then(|()| molecule.hamiltonian(Mapping::JordanWigner).map_err(|e| e.to_string()));
    sum.map_err(|why| Failure::input(why).at_line(&name, &content, 1))
}

/// Reads an FCIDUMP.
///
/// # Errors
/// [`Failure`] that underlines the line that is wrong.
pub fn read_molecule(name: &str, text: &str) -> Result<Molecule, Failure> {
    text.parse().map_err(|e: ketgrad_core::problem::MoleculeError| {
        Failure::input(e.problem).at_line(name, text, e.line.unwrap_or(1))
    })
}

/// Refuses molecules that do not have two qubits for each orbital.
fn check_orbitals(molecule: &Molecule, n_qubits: usize) -> Result<(), String> {
    let n_orbitals = molecule.n_orbitals();
    if 2 * n_orbitals == n_qubits {
        return Ok(());
    }
    let needed = 2 * n_orbitals;
    Err(format!("{n_orbitals} orbitals of two spins need {needed} qubits, but the circuit has {n_qubits}"))
}

/// Reads an observable for n qubits from the text of a file with one term a line.
///
/// # Errors
/// As [`read`].
pub fn read_terms(name: &str, content: &str, n_qubits: usize) -> Result<PauliSum, Failure> {
    let mut sum = PauliSum::default();
    let mut start = 0;
    let mut any = false;
    for line in content.split_inclusive('\n') {
        let term = line.split('#').next().unwrap_or_default();
        if !term.trim().is_empty() {
            sum.extend(parse(name, content, start, term, n_qubits)?);
            any = true;
        }
        start += line.len();
    }
    if !any {
        return Err(Failure::input(format_args!("{name} has no terms")));
    }
    Ok(sum)
}

/// Reads a part of a text, which begins at the byte `start` of the whole.
///
/// # Errors
/// As [`read`].
pub fn parse(
    name: &str,
    whole: &str,
    start: usize,
    part: &str,
    n_qubits: usize,
) -> Result<PauliSum, Failure> {
    let sum: PauliSum = part.parse().map_err(|e: ObservableError| {
        let at = e.span(part);
        let span = start + at.start..start + at.end;
        Failure::input(e.problem).at(name, whole, span, "").help("a term is such as `0.5*Z0 Z1` or `-X2`")
    })?;
    if sum.n_qubits() > n_qubits {
        let qubit = sum.n_qubits() - 1;
        let at = place(part, qubit).unwrap_or(0..part.len());
        return Err(Failure::input(format_args!(
            "qubit {qubit} does not exist: the circuit has {n_qubits}, counted from 0"
        ))
        .at(name, whole, start + at.start..start + at.end, ""));
    }
    Ok(sum)
}

/// Where a Pauli operator on this qubit stands.
fn place(text: &str, qubit: usize) -> Option<std::ops::Range<usize>> {
    text.match_indices(['X', 'Y', 'Z']).find_map(|(at, _)| {
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + 1 + digits;
        (text[at + 1..end].parse() == Ok(qubit)).then_some(at..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_underlined() {
        let error = |text: &str| read(text, 2).unwrap_err().render(false);
        let out = error("Z0 + X0 é");
        assert!(out.contains("[--observable:1:9]"), "{out}");
        // All of a wrong word is underlined.
        let under = |text: &str| {
            let failure = read(text, 2).unwrap_err();
            failure.remarks[0].labels[0].span.clone()
        };
        assert_eq!(under("Z0 + foo_1 "), 5..10);
        assert_eq!(under("Z0 - 1.5e999 X1"), 5..12);
        assert_eq!(under("Z0 Z12 Z12"), 7..10);
        assert_eq!(under("Z0 é"), 3..5);
        assert_eq!(under("Z0 + % 1"), 5..6);
        let out = error("Z0 - 2 Y7");
        assert!(out.contains("qubit 7 does not exist") && out.contains(":1:8]"), "{out}");
        for bad in ["", " ", "Z", "Z0 Z0", "1e999", "+", "@/no/such/file", "Z99999999999999999999"] {
            assert!(read(bad, 2).is_err(), "{bad}");
        }
        assert_eq!(read(" -Z0", 1).unwrap().text, "-Z0");
    }
}
