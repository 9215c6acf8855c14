//! Workloads that are timed: suites, and their circuits as the harness gives them.

use ketgrad_core::{circuit::Circuit, matrix::Matrix, observable::PauliSum};
use num_complex::Complex;
use serde_json::Value;

use crate::gradient::Ansatz;

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    Gates,
    Circuits,
    Plans,
    Pauli,
    Shots,
    Gradient,
}

impl Suite {
    pub(crate) const ALL: [Suite; 6] =
        [Suite::Gates, Suite::Circuits, Suite::Plans, Suite::Pauli, Suite::Shots, Suite::Gradient];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Suite::Gates => "gates",
            Suite::Circuits => "circuits",
            Suite::Plans => "plans",
            Suite::Pauli => "pauli",
            Suite::Shots => "shots",
            Suite::Gradient => "gradient",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Suite, String> {
        let all = Suite::ALL.map(Suite::name).join(", ");
        let found = Suite::ALL.into_iter().find(|s| s.name() == name);
        found.ok_or_else(|| format!("--suite: `{name}` is none of {all}"))
    }

    /// The harness's name of the suite, and the option that chooses workloads in it.
    pub(crate) fn of_harness(self) -> (&'static str, Option<&'static str>) {
        match self {
            Suite::Gates => ("gates", Some("--gates")),
            Suite::Circuits | Suite::Plans => ("circuits", Some("--circuits")),
            Suite::Pauli => ("expectation", None),
            Suite::Shots => ("sampling", None),
            Suite::Gradient => ("gradient", None),
        }
    }

    /// The workloads, by the names that the harness's rows have.
    pub(crate) fn workloads(self) -> &'static [&'static str] {
        match self {
            Suite::Gates => &["X", "H", "T", "CNOT", "RX", "CRX", "CCX"],
            Suite::Circuits | Suite::Plans => &["qcbm", "qft", "qv", "hea"],
            Suite::Pauli => &["pauli-terms-100"],
            Suite::Shots => &["shots-100000"],
            Suite::Gradient => &["hea-4"],
        }
    }
}

/// Shots of the suite `shots`.
pub(crate) const SHOTS: usize = 100_000;

/// Work of one run.
pub(crate) enum Work {
    /// Each gate by itself.
    Gates(Circuit),
    /// All gates.
    Circuit(Circuit),
    /// All gates, by a prepared plan.
    Plan(Circuit),
    /// The expectation value in the state that the circuit makes.
    Pauli(Circuit, PauliSum),
    /// Shots of that state.
    Shots(Circuit),
    /// An energy with all its derivatives.
    Gradient(Ansatz),
}

impl Work {
    /// From what the harness says:
    /// `{"gates": [[name, qubits, numbers]…], "terms": [[weight, text]…]}`.
    pub(crate) fn read(suite: Suite, n: usize, said: &Value) -> Result<Work, String> {
        if suite == Suite::Gradient {
            return Ok(Work::Gradient(Ansatz::read(n, said)?));
        }
        let circuit = circuit(n, &said["gates"])?;
        Ok(match suite {
            Suite::Gates => Work::Gates(circuit),
            Suite::Circuits | Suite::Gradient => Work::Circuit(circuit),
            Suite::Plans => Work::Plan(circuit),
            Suite::Shots => Work::Shots(circuit),
            Suite::Pauli => Work::Pauli(circuit, terms(said)?),
        })
    }
}

/// The sum of the terms `[weight, text]`.
pub(crate) fn terms(said: &Value) -> Result<PauliSum, String> {
    let mut sum = PauliSum::default();
    for term in list(&said["terms"])? {
        let text = format!("{} {}", number(&term[0])?, term[1].as_str().unwrap_or("?"));
        sum.extend(text.parse().map_err(|e| format!("`{text}`: {e}"))?);
    }
    Ok(sum)
}

pub(crate) fn list(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("expected a list, found {value}"))
}

pub(crate) fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("expected a number, found {value}"))
}

fn circuit(n: usize, gates: &Value) -> Result<Circuit, String> {
    let mut circuit = Circuit::new(n);
    for gate in list(gates)? {
        let name = gate[0].as_str().unwrap_or_default();
        let qubits: Vec<usize> =
            list(&gate[1])?.iter().map(|q| q.as_u64().map_or(usize::MAX, |q| q as usize)).collect();
        let numbers: Vec<f64> = list(&gate[2])?.iter().map(number).collect::<Result<_, _>>()?;
        let angle = numbers.first().copied().unwrap_or(f64::NAN);
        let added = match (name, qubits.as_slice()) {
            ("X", &[q]) => circuit.x(q),
            ("H", &[q]) => circuit.h(q),
            ("T", &[q]) => circuit.t(q),
            ("RX", &[q]) => circuit.rx(q, angle),
            ("RY", &[q]) => circuit.ry(q, angle),
            ("RZ", &[q]) => circuit.rz(q, angle),
            ("CNOT", &[a, b]) => circuit.cx(a, b),
            ("CRX", &[a, b]) => circuit.crx(a, b, angle),
            ("CP", &[a, b]) => circuit.cp(a, b, angle),
            ("SWAP", &[a, b]) => circuit.swap(a, b),
            ("CCX", &[a, b, c]) => circuit.ccx(a, b, c),
            ("U2", on) if numbers.len() == 32 => {
                let entry = |row, column| {
                    let at = 2 * (4 * row + column);
                    Complex::new(numbers[at], numbers[at + 1])
                };
                circuit.unitary(Matrix::from_fn(2, entry), on, &[])
            }
            _ => return Err(format!("the harness's gate {gate} is not known here")),
        };
        added.map_err(|e| e.to_string())?;
    }
    Ok(circuit)
}
