//! What circuits are run on: the circuit in a file, and the state to start from.

use std::path::Path;

use ketgrad_core::{
    basis::MAX_QUBITS,
    circuit::Circuit,
    qasm,
    state::{StateVector, bytes_text},
};
use num_complex::Complex;

use crate::{
    files::{cannot, open, read_included, read_text},
    given::Given,
    memory,
    npy::{self, Number},
    options::Common,
    report::{Failure, Remark},
    terminal::Terminal,
};

/// Bytes that an operation takes while a circuit is read: itself, its angles, and a list that grows
/// by doubling.
const BYTES_PER_OPERATION: u64 = 480;

/// Number of operations that are read whatever the memory: their size is compared with the rest of
/// the work.
const ALWAYS_READ: u64 = 100_000;

/// Reads a circuit from a file or, for `-`, from the standard input, for those of the values that
/// decide what it is; they are taken. Files that it includes are looked for beside it.
///
/// # Errors
/// [`Failure`] with everything that is wrong with it.
pub(crate) fn read_circuit(
    path: &Path,
    given: &mut Given,
    common: &Common,
    terminal: &Terminal,
) -> Result<Circuit, Failure> {
    let (name, text) = read_text(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let include = |file: &str| {
        let first = |f: Failure| f.remarks.first().map(|r| r.message.clone()).unwrap_or_default();
        read_included(&folder.join(file)).map_err(first)
    };
    let (available, why) = memory::available(common.memory_limit);
    let fit = (available / BYTES_PER_OPERATION).max(ALWAYS_READ);
    let max_gates = common.max_gates().min(fit);
    let inputs = given.texts();
    let options = qasm::QasmOptions::default()
        .with_file(&name)
        .with_max_gates(max_gates)
        .with_include(Some(&include))
        .with_inputs(&inputs);
    let parsed = qasm::parse(&text, &options).map_err(|mut failed| {
        for diagnostic in &mut failed.diagnostics {
            match &*diagnostic.problem {
                qasm::QasmProblem::TooManyGates { limit, .. } if *limit < common.max_gates() => {
                    let available = bytes_text(available.into());
                    diagnostic.help = Some(format!("more do not fit into {available} ({why})"));
                }
                qasm::QasmProblem::TooManySteps { .. } => {
                    let help =
                        "if the loops end after all, --max-gates allows more, where memory does";
                    diagnostic.help = Some(help.to_owned());
                }
                qasm::QasmProblem::MissingInput { name, .. } => {
                    diagnostic.help = Some(given.how(name, "FILE.json"));
                }
                _ => {}
            }
        }
        failed
    })?;
    given.keep(&parsed);
    given.remove_structural(parsed.read_for)?;
    let warnings: Vec<Remark> = parsed.warnings.into_iter().map(Remark::from).collect();
    terminal.warn(&warnings, &parsed.sources);
    if parsed.circuit.n_qubits() == 0 && parsed.circuit.instructions().is_empty() {
        return Err(Failure::input(format_args!(
            "{name} declares no qubits: there is nothing to run"
        )));
    }
    Ok(parsed.circuit)
}

/// Returns a state to start from.
///
/// # Errors
/// [`Failure`] if the file has none of this number of qubits.
pub(crate) fn read_input<T: Number>(
    path: &Path,
    n_qubits: usize,
) -> Result<StateVector<Complex<T>>, Failure> {
    check_width(n_qubits)?;
    let name = path.display().to_string();
    let file = open(path).map_err(|e| cannot("read", &name, &e))?;
    let file = std::io::BufReader::new(file);
    npy::read_state(file, n_qubits).map_err(|e| Failure::input(format_args!("{name}: {e}")))
}

/// Refuses states that no file holds.
pub(crate) fn check_width(n_qubits: usize) -> Result<(), Failure> {
    let message = format_args!("no file holds a state of {n_qubits} qubits");
    if n_qubits > MAX_QUBITS { Err(Failure::input(message)) } else { Ok(()) }
}
