//! Observables from the command line: `'0.5*Z0 Z1 - X2'`, or `@FILE` with one term a line or an
//! FCIDUMP. Either may be an operator on fermions as OpenFermion writes it, which Jordan and Wigner
//! map.

use std::{collections::BTreeSet, path::Path};

use ketgrad_core::{
    circuit::Circuit,
    exact::RESERVED,
    observable::{ObservableError, ObservableProblem, ParametricSum, PauliSum},
    problem::{FermionOperator, FermionProblem, Mapping, Molecule},
};

use num_complex::Complex;

use crate::{
    files::{cannot, open, read_text},
    given::Given,
    npy::{ItemKind, read_items},
    report::Failure,
};

/// An observable whose coefficients may have parameters, and what it was called.
#[derive(Clone, Debug)]
pub(crate) struct Parametric {
    /// Text given on the command line.
    pub(crate) text: String,
    /// The observable.
    pub(crate) sum: ParametricSum,
}

/// Tells the names that are parameters, where coefficients may have any.
type IsParam<'a> = Option<&'a dyn Fn(&str) -> bool>;

/// Reads an observable for n qubits whose coefficients may have the parameters that `is_param`
/// names; after `@` from a file with one term a line, from an FCIDUMP, which Jordan and Wigner map,
/// or from a Hermitian matrix, in the array format of NumPy or in that of MatrixMarket.
///
/// # Errors
/// [`Failure`] that underlines what is wrong, a qubit beyond the circuit included.
pub(crate) fn read_parametric(
    given: &str,
    n_qubits: usize,
    is_param: &dyn Fn(&str) -> bool,
) -> Result<Parametric, Failure> {
    let text = given.trim().to_owned();
    let sum = match text.strip_prefix('@') {
        None => parametric("--observable", given, 0, given, n_qubits, Some(is_param))?,
        Some(path) => file(Path::new(path), n_qubits, is_param)?,
    };
    Ok(Parametric { text, sum })
}

/// Reads observables for the qubits of a circuit, whose coefficients may have its inputs as
/// parameters, and what else is given a value; with `open`, also names without one.
///
/// # Errors
/// Fails when [`read_parametric`] does.
pub(crate) fn read_all(
    texts: &[String],
    circuit: &Circuit,
    given: &Given,
    open: bool,
) -> Result<Vec<Parametric>, Failure> {
    let inputs: BTreeSet<&str> = circuit.inputs().collect();
    // Any name may be one of a table.
    let open = open || given.has_tables();
    let is_param = |name: &str| {
        inputs.contains(name)
            || given.has(name)
            || open && is_name(name) && !RESERVED.contains(&name)
    };
    texts.iter().map(|text| read_parametric(text, circuit.n_qubits(), &is_param)).collect()
}

/// Returns the parameters of observables that are no inputs of the circuit, in order of first
/// occurrence.
pub(crate) fn own_params(observables: &[Parametric], circuit: &Circuit) -> Vec<String> {
    let inputs: BTreeSet<&str> = circuit.inputs().collect();
    let mut own: Vec<String> = Vec::new();
    for name in observables.iter().flat_map(|observable| observable.sum.params()) {
        if !inputs.contains(name.as_str()) && !own.contains(name) {
            own.push(name.clone());
        }
    }
    own
}

/// Reads an observable for n qubits from a text called `name`.
///
/// # Errors
/// Fails when [`read_parametric`] does.
pub(crate) fn read_text_of(name: &str, text: &str, n_qubits: usize) -> Result<PauliSum, Failure> {
    parse(name, text, 0, text, n_qubits)
}

/// Returns a sum that was read without parameters.
fn constant(sum: ParametricSum) -> Result<PauliSum, Failure> {
    sum.evaluate(&[]).map_err(Failure::input)
}

fn file(
    path: &Path,
    n_qubits: usize,
    is_param: &dyn Fn(&str) -> bool,
) -> Result<ParametricSum, Failure> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy")) {
        return read_matrix(path, n_qubits).map(ParametricSum::from);
    }
    let (name, content) = read_text(path)?;
    if content.starts_with("%%MatrixMarket") {
        let sum =
            PauliSum::from_matrix_market(&content, n_qubits).map_err(|e| match &e.problem {
                ObservableProblem::MatrixMarket { line, why } => {
                    Failure::input(why).at_line(&name, &content, *line)
                }
                _ => Failure::input(format_args!("{name}: {e}")),
            })?;
        return Ok(sum.into());
    }
    if !Molecule::is_fcidump(&content) {
        return terms(&name, &content, n_qubits, Some(is_param));
    }
    let molecule = read_molecule(&name, &content)?;
    let sum = check_orbitals(&molecule, n_qubits)
        .and_then(|()| molecule.hamiltonian(Mapping::JordanWigner).map_err(|e| e.to_string()));
    sum.map(ParametricSum::from).map_err(|why| Failure::input(why).at_line(&name, &content, 1))
}

/// Reads a Hermitian matrix of `2^n` rows from an array of NumPy: qubit 0 is the least significant
/// bit of rows and columns.
fn read_matrix(path: &Path, n_qubits: usize) -> Result<PauliSum, Failure> {
    let name = path.display().to_string();
    let fault = |why: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {why}"));
    let file = open(path).map_err(|e| cannot("read", &name, &e))?;
    let items = read_items(std::io::BufReader::new(file)).map_err(|e| fault(&e))?;
    let [rows, columns] = items.shape[..] else {
        return Err(fault(&"an observable is a matrix, an array with two axes"));
    };
    if rows != columns {
        return Err(fault(&format_args!(
            "an observable has as many rows as columns, not {rows} and {columns}"
        )));
    }
    check_rows(&name, rows, n_qubits)?;
    let parts = if items.kind == ItemKind::Complex { 2 } else { 1 };
    let entries = items.numbers.chunks_exact(parts).enumerate().filter_map(|(at, parts)| {
        let value = Complex::new(parts[0], parts.get(1).copied().unwrap_or(0.0));
        (value != Complex::default()).then_some((at / rows, at % rows, value))
    });
    PauliSum::from_entries(n_qubits, entries).map_err(|e| fault(&e))
}

/// Refuses matrices that are not on all qubits.
fn check_rows(name: &str, rows: usize, n_qubits: usize) -> Result<(), Failure> {
    if u32::try_from(n_qubits).ok().and_then(|n| 1usize.checked_shl(n)) == Some(rows) {
        return Ok(());
    }
    let message = format_args!(
        "{name} has {rows} rows, but the circuit has {n_qubits} qubits: 2^{n_qubits} are needed"
    );
    Err(Failure::input(message))
}

/// Reads an FCIDUMP.
///
/// # Errors
/// [`Failure`] that underlines the line that is wrong.
pub(crate) fn read_molecule(name: &str, text: &str) -> Result<Molecule, Failure> {
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
    Err(format!(
        "{n_orbitals} orbitals of two spins need {needed} qubits, but the circuit has {n_qubits}"
    ))
}

/// Reads an observable for n qubits from the text of a file with one term a line, or as other tools
/// write them.
///
/// # Errors
/// Fails when [`read_parametric`] does.
pub(crate) fn read_terms(name: &str, content: &str, n_qubits: usize) -> Result<PauliSum, Failure> {
    terms(name, content, n_qubits, None).and_then(constant)
}

fn terms(
    name: &str,
    content: &str,
    n_qubits: usize,
    is_param: IsParam<'_>,
) -> Result<ParametricSum, Failure> {
    let is_empty = |line: &str| line.split('#').next().unwrap_or_default().trim().is_empty();
    if content.lines().all(is_empty) {
        return Err(Failure::input(format_args!("{name} has no terms")));
    }
    if is_fermions(content) {
        return read_fermions(name, content, 0, content, n_qubits).map(ParametricSum::from);
    }
    let sum = match is_param {
        Some(is_param) => ParametricSum::parse_lines(content, n_qubits, is_param),
        None => PauliSum::parse_lines(content, n_qubits).map(ParametricSum::from),
    };
    sum.map_err(|e| located(&e, name, content, 0, content, is_param.is_some()))
}

/// Reads a part of a text, which begins at the byte `start` of the whole.
///
/// # Errors
/// Fails when [`read_parametric`] does.
pub(crate) fn parse(
    name: &str,
    whole: &str,
    start: usize,
    part: &str,
    n_qubits: usize,
) -> Result<PauliSum, Failure> {
    parametric(name, whole, start, part, n_qubits, None).and_then(constant)
}

fn parametric(
    name: &str,
    whole: &str,
    start: usize,
    part: &str,
    n_qubits: usize,
    is_param: IsParam<'_>,
) -> Result<ParametricSum, Failure> {
    if is_fermions(part) {
        return read_fermions(name, whole, start, part, n_qubits).map(ParametricSum::from);
    }
    let sum = match is_param {
        Some(is_param) => ParametricSum::parse_on(part, n_qubits, is_param),
        None => PauliSum::parse_on(part, n_qubits).map(ParametricSum::from),
    };
    sum.map_err(|e| located(&e, name, whole, start, part, is_param.is_some()))
}

/// Returns an error with its place and advice; `params` is whether coefficients may have
/// parameters.
fn located(
    error: &ObservableError,
    name: &str,
    whole: &str,
    start: usize,
    part: &str,
    params: bool,
) -> Failure {
    let at = error.span(part);
    let message = match &error.problem {
        ObservableProblem::NoSuchQubit { qubit, n_qubits } => {
            format!("qubit {qubit} does not exist: the circuit has {n_qubits}, counted from 0")
        }
        problem => problem.to_string(),
    };
    let failure =
        Failure::input(message).with_label(name, whole, start + at.start..start + at.end, "");
    let help = match &error.problem {
        ObservableProblem::Repeated { .. } => {
            "a product on one qubit is written out: X Y = i Z, Y Z = i X, Z X = i Y, the other way round with -i, \
             and X X = Y Y = Z Z = 1"
        }
        ObservableProblem::NotReal { .. } if params => {
            "an observable is Hermitian: the coefficients of its Pauli strings are real; `2J` is an imaginary \
             number: for a parameter write `2*J`"
        }
        ObservableProblem::NotReal { .. } => {
            "an observable is Hermitian: the coefficients of its Pauli strings are real"
        }
        ObservableProblem::NoSuchQubit { .. }
        | ObservableProblem::Foreign { .. }
        | ObservableProblem::TooManyTerms { .. }
        | ObservableProblem::NotPolynomial { .. } => {
            return failure;
        }
        ObservableProblem::ReservedName { .. } => {
            "names of letters I, X, Y, Z and digits, whatever their case, and pi are none of parameters here"
        }
        ObservableProblem::WordLength { .. } => {
            "a word has a letter for each qubit, I where there is no operator; or write `Z0 X2`"
        }
        ObservableProblem::Unexpected { found, .. } if is_name(found.trim_matches('`')) => {
            let name = found.trim_matches('`');
            let way = if params {
                format!("if `{name}` is a parameter, give it a value: --set {name}=…")
            } else {
                "coefficients are numbers here, without parameters".to_owned()
            };
            return failure.help(format_args!("{TERM}; {way}"));
        }
        _ => TERM,
    };
    failure.help(help)
}

/// Help text about the syntax of an observable.
const TERM: &str = "a term is such as `0.5*Z0 Z1` or `-X2`; OpenFermion's, Qiskit's, PennyLane's and \
    Cirq's texts are read, too";

/// Returns true if a parameter could have the name.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    let is_word =
        text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_numeric());
    let is_operator = text.starts_with(|c| "IXYZixyz".contains(c))
        && text.chars().all(|c| "IXYZixyz_".contains(c) || c.is_ascii_digit());
    is_word && !is_operator && !matches!(text, "j" | "pi")
}

/// Returns true if a text is of ladder operators, as in `0.5 [2^ 0]`: some bracket has one that
/// creates, without which no such operator but a constant is Hermitian.
fn is_fermions(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut brackets = line.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        brackets.any(|(inside, _)| {
            inside.contains('^')
                && inside.bytes().all(|b| b.is_ascii_digit() || b"^ \t".contains(&b))
        })
    })
}

/// Maps an operator on fermions to qubits.
fn read_fermions(
    name: &str,
    whole: &str,
    start: usize,
    part: &str,
    n_qubits: usize,
) -> Result<PauliSum, Failure> {
    // Without comments, every character in its column.
    let mut plain = String::with_capacity(part.len());
    for line in part.split_inclusive('\n') {
        let (code, comment) = line.split_at(line.find('#').unwrap_or(line.len()));
        plain.push_str(code);
        plain.extend(comment.chars().map(|c| if c == '\n' { c } else { ' ' }));
    }
    let sum = plain
        .parse::<FermionOperator>()
        .and_then(|operator| Mapping::JordanWigner.map(&operator, n_qubits));
    sum.map_err(|e| {
        let byte = |column: usize| part.char_indices().nth(column - 1).map_or(part.len(), |(at, _)| at);
        let first = part.len() - part.trim_start().len();
        let at = e.column.map_or(first, byte);
        let length = part[at..].split_whitespace().next().map_or(0, str::len);
        let end = if e.column.is_some() { at + length } else { at + part[at..].lines().next().map_or(0, str::len) };
        let message = match &e.problem {
            FermionProblem::NoSuchOrbital { orbital, n_orbitals } => format!(
                "orbital {orbital} does not exist: the circuit has {n_orbitals} qubits, one for each orbital, counted from 0"
            ),
            problem => problem.to_string(),
        };
        Failure::input(message).with_label(name, whole, start + at..start + end, "").help(
            "operators on fermions are written as OpenFermion prints them, `0.5 [0^ 1] + 0.5 [1^ 0]`; they are \
             mapped to qubits by Jordan and Wigner",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, n_qubits: usize) -> Result<Parametric, Failure> {
        read_parametric(text, n_qubits, &|_| false)
    }

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
        // The first of two faults.
        assert_eq!(under("Z0 Z12 Z12"), 3..6);
        assert_eq!(under("Z0 é"), 3..5);
        assert_eq!(under("Z0 + % 1"), 5..6);
        let out = error("Z0 - 2 Y7");
        assert!(out.contains("qubit 7 does not exist") && out.contains(":1:8]"), "{out}");
        for bad in ["", " ", "Z", "Z0 Z0", "1e999", "+", "@/no/such/file", "Z99999999999999999999"]
        {
            assert!(read(bad, 2).is_err(), "{bad}");
        }
        assert_eq!(read(" -Z0", 1).unwrap().text, "-Z0");
    }
}
