//! Noise models of Qiskit Aer: what `json.dump(noise_model.to_dict(serializable=True), file)`
//! writes.
//!
//! ```text
//! {"errors": [
//!   {"type": "qerror", "operations": ["cx"], "gate_qubits": [[0, 1]],        without gate_qubits: on all that have no own
//!    "probabilities": [0.9, 0.1], "instructions": [[{"name": "id", "qubits": [0]}], [{"name": "pauli", "params": ["XI"], "qubits": [0, 1]}]]},
//!   {"type": "roerror", "operations": ["measure"], "gate_qubits": [[0]], "probabilities": [[0.99, 0.01], [0.02, 0.98]]}
//! ]}
//! ```
//! A `qerror` is a mixture of sequences of gates, resets and Kraus operators, which becomes one
//! channel by its Kraus operators. Qubits are in the same order here and there: the first is the
//! least significant bit of a row number, the last letter of a Pauli string, and of the outcomes of
//! qubits that are read together. An error of the reading of several qubits is one of their
//! measurements, which are instructions of their own here. Source:
//! `qiskit_aer/noise/noise_model.py`, `to_dict` and `from_dict`.

use std::collections::HashMap;

use ketgrad_core::{
    basis::gather_bits,
    channel::{Channel, MAX_KRAUS_QUBITS},
    circuit::{After, Circuit, NoiseModel, NoiseRule},
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::Values,
};
use num_complex::Complex;
use serde_json::Value;

use crate::{report::Failure, section::File};

/// An operator that is a multiple of another up to this part of its norm, which is rounding, is
/// added to that one.
const ROUNDING: f64 = 1e-14;

/// The most Kraus operators of an error, before those of one direction are added up.
const MOST_OPERATORS: usize = 1 << 16;

type KrausOperator = Matrix<Complex<f64>>;

/// Returns true if a file is such a model: TOML does not begin like one.
pub(super) fn is_one(file: &File) -> bool {
    file.text.trim_start().starts_with('{')
}

/// Returns the model for a circuit.
pub(super) fn read(file: &File, circuit: &Circuit) -> Result<NoiseModel, Failure> {
    let tree: Value = serde_json::from_str(&file.text)
        .map_err(|e| Failure::input(&e).at_line(&file.name, &file.text, e.line()))?;
    model(&tree, circuit).map_err(|(path, why)| {
        let message = format!("{}: {path}: {why}", file.name);
        Failure::input(message)
            .help("a model of Qiskit Aer is noise_model.to_dict(serializable=True) as JSON")
    })
}

/// Error message and the location of the error.
type AerFault = (String, String);

fn model(tree: &Value, circuit: &Circuit) -> Result<NoiseModel, AerFault> {
    let errors = list(tree, "errors", "")?;
    let mut noise = NoiseModel::new();
    // Errors for all qubits are not for those that have their own.
    let mut own: HashMap<&str, Vec<Vec<usize>>> = HashMap::new();
    for (k, error) in errors.iter().enumerate() {
        let path = format!("errors[{k}]");
        for name in names(error, &path)? {
            own.entry(name).or_default().extend(gate_qubits(error, &path)?.unwrap_or_default());
        }
    }
    for (k, error) in errors.iter().enumerate() {
        let path = format!("errors[{k}]");
        let places = gate_qubits(error, &path)?;
        match error.get("type").and_then(Value::as_str) {
            Some("qerror") => {
                let channel = channel(error, places.as_deref(), &path)?;
                for name in names(error, &path)? {
                    let path = format!("{path}.operations");
                    if name == "measure" {
                        let why =
                            "Aer has errors of `measure` before it, where no rule of ours can be";
                        return Err((path, why.to_owned()));
                    }
                    let after = After::named([name]).map_err(|e| (path, e.to_string()))?;
                    let rule = NoiseRule::new(after, channel.clone());
                    match &places {
                        Some(places) => places.iter().for_each(|place| {
                            noise.push(rule.clone().gate_qubits(place));
                        }),
                        None => {
                            noise.push(rule.unless(own.get(name).map_or(&[], Vec::as_slice)));
                        }
                    }
                }
            }
            Some("roerror") => {
                let rows = readout(error, &path)?;
                let mut add = |qubits: &[usize]| {
                    let added = noise.readout_matrix(qubits, &rows).map(|_| ());
                    added.map_err(|e| (format!("{path}.probabilities"), e.to_string()))
                };
                match places {
                    Some(places) => places.iter().try_for_each(|place| add(place))?,
                    None if rows.len() != 2 => {
                        let why =
                            "an error of the reading of several qubits says which: their lists";
                        return Err((format!("{path}.gate_qubits"), why.to_owned()));
                    }
                    None => {
                        let others = own.get("measure").map_or(&[][..], Vec::as_slice);
                        let rest: Vec<usize> = (0..circuit.n_qubits())
                            .filter(|q| !others.contains(&vec![*q]))
                            .collect();
                        rest.iter().try_for_each(|qubit| add(&[*qubit]))?;
                    }
                }
            }
            _ => {
                return Err((
                    format!("{path}.type"),
                    "expected \"qerror\" or \"roerror\"".to_owned(),
                ));
            }
        }
    }
    Ok(noise)
}

fn list<'v>(value: &'v Value, key: &str, path: &str) -> Result<&'v [Value], AerFault> {
    let found = value.get(key).and_then(Value::as_array).map(Vec::as_slice);
    let place = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    found.ok_or_else(|| (place, "expected a list".to_owned()))
}

fn names<'v>(error: &'v Value, path: &str) -> Result<Vec<&'v str>, AerFault> {
    let names =
        list(error, "operations", path)?.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
    names.ok_or_else(|| (format!("{path}.operations"), "expected names of instructions".to_owned()))
}

fn gate_qubits(error: &Value, path: &str) -> Result<Option<Vec<Vec<usize>>>, AerFault> {
    if error.get("gate_qubits").is_none_or(Value::is_null) {
        return Ok(None);
    }
    list(error, "gate_qubits", path)?
        .iter()
        .map(|one| qubits(one, path))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Returns a list of qubits.
fn qubits(value: &Value, path: &str) -> Result<Vec<usize>, AerFault> {
    let number = |q: &Value| q.as_u64().and_then(|q| u32::try_from(q).ok()).map(|q| q as usize);
    let numbers =
        value.as_array().and_then(|list| list.iter().map(number).collect::<Option<Vec<_>>>());
    let distinct = |list: &Vec<usize>| (1..list.len()).all(|k| !list[..k].contains(&list[k]));
    numbers
        .filter(distinct)
        .ok_or_else(|| (path.to_owned(), format!("expected a list of qubits, not {value}")))
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// Returns the rows of a readout matrix.
fn readout(error: &Value, path: &str) -> Result<Vec<Vec<f64>>, AerFault> {
    let rows: Option<Vec<Vec<f64>>> =
        list(error, "probabilities", path)?.iter().map(numbers).collect();
    rows.ok_or_else(|| (format!("{path}.probabilities"), "expected rows of numbers".to_owned()))
}

/// Returns the channel of a mixture.
fn channel(error: &Value, places: Option<&[Vec<usize>]>, path: &str) -> Result<Channel, AerFault> {
    let sequences = list(error, "instructions", path)?;
    let probabilities =
        error.get("probabilities").and_then(numbers).filter(|p| p.len() == sequences.len());
    let probabilities = probabilities.filter(|p| p.iter().all(|p| (0.0..=1.0).contains(p)));
    let probabilities = probabilities.ok_or_else(|| {
        (
            format!("{path}.probabilities"),
            "expected a probability for each of `instructions`".to_owned(),
        )
    })?;
    let mut steps: Vec<Vec<(Vec<KrausOperator>, Vec<usize>)>> = Vec::new();
    for (k, sequence) in sequences.iter().enumerate() {
        let path = format!("{path}.instructions[{k}]");
        let sequence =
            sequence.as_array().ok_or_else(|| (path.clone(), "expected a list".to_owned()))?;
        let step = |(at, instruction): (usize, &Value)| step(instruction, &format!("{path}[{at}]"));
        steps.push(sequence.iter().enumerate().map(step).collect::<Result<_, _>>()?);
    }
    let used = steps.iter().flatten().flat_map(|(_, qubits)| qubits).max().map_or(1, |q| q + 1);
    let k = places.and_then(<[_]>::first).map_or(used, Vec::len).max(used);
    if k > MAX_KRAUS_QUBITS {
        return Err((
            path.to_owned(),
            format!("an error of {k} qubits: {MAX_KRAUS_QUBITS} are the most"),
        ));
    }
    let mut operators = Vec::new();
    for (steps, p) in steps.iter().zip(probabilities) {
        let root = Complex::new(p.sqrt(), 0.0);
        let mut products = vec![Matrix::identity(k).map(|x: &Complex<f64>| x * root)];
        for (alternatives, qubits) in steps {
            let wide: Vec<KrausOperator> =
                alternatives.iter().map(|a| embedded(a, qubits, k)).collect();
            if products.len() * wide.len() + operators.len() > MOST_OPERATORS {
                return Err((
                    path.to_owned(),
                    format!("more than {MOST_OPERATORS} Kraus operators"),
                ));
            }
            products =
                products.iter().flat_map(|before| wide.iter().map(move |a| a * before)).collect();
        }
        products.into_iter().for_each(|operator| add(&mut operators, operator));
    }
    Channel::kraus(operators).map_err(|e| (path.to_owned(), e.to_string()))
}

/// Returns the Kraus operators of an instruction, and its qubits.
fn step(instruction: &Value, path: &str) -> Result<(Vec<KrausOperator>, Vec<usize>), AerFault> {
    let name = instruction.get("name").and_then(Value::as_str).unwrap_or_default();
    let fault = |why: &str| (path.to_owned(), why.to_owned());
    let of = qubits(instruction.get("qubits").unwrap_or(&Value::Null), path)?;
    let params = instruction.get("params").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let operators = match name {
        "kraus" | "unitary" => {
            let given = params.iter().map(matrix).collect::<Option<Vec<_>>>();
            given.ok_or_else(|| fault("expected matrices, as rows of [re, im]"))?
        }
        "reset" => vec![transition(0), transition(1)],
        "pauli" => {
            let letters = params
                .first()
                .and_then(Value::as_str)
                .ok_or_else(|| fault("expected a Pauli string"))?;
            let factor = |letter: char| match letter {
                'I' => Some(Matrix::identity(1)),
                _ => gate(&letter.to_lowercase().to_string()),
            };
            let factors = letters.chars().map(factor).collect::<Option<Vec<_>>>();
            let factors = factors.ok_or_else(|| fault("expected a Pauli string"))?;
            vec![factors.into_iter().fold(Matrix::identity(0), |high, low| high.kron(&low))]
        }
        name => {
            vec![gate(name).ok_or_else(|| fault(&format!("there is no `{name}` without angles")))?]
        }
    };
    if operators.iter().any(|o| o.n_qubits() != of.len()) {
        return Err(fault(&format!("`{name}` does not act on {} qubits", of.len())));
    }
    Ok((operators, of))
}

/// Returns the matrix of a gate without parameters.
fn gate(name: &str) -> Option<KrausOperator> {
    let name = if name == "i" { "id" } else { name };
    let named =
        GateKind::ALL.iter().find(|kind| kind.name() == name && kind.param_names().is_empty());
    Gate::new(*named?, Vec::<ketgrad_core::param::Angle>::new())
        .ok()?
        .matrix(&Values::<f64>(&[]))
        .ok()
}

/// `|0><from|`.
fn transition(from: usize) -> KrausOperator {
    Matrix::from_fn(1, |row, column| {
        let is_there = (row, column) == (0, from);
        Complex::new(if is_there { 1.0 } else { 0.0 }, 0.0)
    })
}

fn matrix(value: &Value) -> Option<KrausOperator> {
    let entry = |z: &Value| match z.as_f64() {
        Some(re) => Some(Complex::new(re, 0.0)),
        None => numbers(z).filter(|z| z.len() == 2).map(|z| Complex::new(z[0], z[1])),
    };
    let row = |row: &Value| row.as_array()?.iter().map(entry).collect::<Option<Vec<_>>>();
    Matrix::from_rows(value.as_array()?.iter().map(row).collect::<Option<Vec<_>>>()?).ok()
}

/// Returns an operator on some of k qubits.
fn embedded(operator: &KrausOperator, qubits: &[usize], k: usize) -> KrausOperator {
    let all: usize = qubits.iter().map(|q| 1 << q).sum();
    Matrix::from_fn(k, |i, j| match (i ^ j) & !all {
        0 => operator[(gather_bits(i, qubits), gather_bits(j, qubits))],
        _ => Complex::new(0.0, 0.0),
    })
}

/// Adds an operator, to one of the same direction if there is one.
fn add(operators: &mut Vec<KrausOperator>, new: KrausOperator) {
    let norm2 = |a: &KrausOperator| a.entries().iter().map(Complex::norm_sqr).sum::<f64>();
    let size = norm2(&new);
    if size == 0.0 {
        return;
    }
    for old in operators.iter_mut() {
        let inner: Complex<f64> =
            old.entries().iter().zip(new.entries()).map(|(a, b)| a.conj() * b).sum();
        let before = norm2(old);
        let factor = inner / before;
        let rest =
            old.entries().iter().zip(new.entries()).map(|(a, b)| (b - a * factor).norm_sqr());
        if rest.sum::<f64>() <= ROUNDING * ROUNDING * size {
            let factor = Complex::new((1.0 + size / before).sqrt(), 0.0);
            *old = old.map(|z| z * factor);
            return;
        }
    }
    operators.push(new);
}
