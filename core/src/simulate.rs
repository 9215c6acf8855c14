//! Running a circuit on a state: the one place where circuits and kernels meet.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator};
//! use num_dual::Dual64;
//!
//! let mut circuit = Circuit::new(1);
//! let theta = circuit.param("theta");
//! circuit.rx(0, theta)?;
//!
//! // d/dtheta cos(theta) by dual numbers: the same circuit, the same kernels.
//! let state = Simulator::new().run(&circuit, &[Dual64::new(0.3, 1.0)])?;
//! let z = state.expectation(&"Z0".parse()?, &Default::default())?;
//! assert!((z.re - 0.3f64.cos()).abs() < 1e-15);
//! assert!((z.eps + 0.3f64.sin()).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use num_complex::Complex;

use crate::{
    basis::{BasisError, MAX_QUBITS},
    circuit::{Circuit, CircuitError, Instruction, Operation},
    kernel::{ExecuteError, Executors, Operator, Threads},
    matrix::Matrix,
    param::{Binding, Values},
    scalar::{Real, Ring, Scalar},
    state::{StateError, StateVector, bytes_needed},
};

/// The most qubits of a circuit whose matrix is asked for: 4^13 entries of 16 bytes are 1 GiB.
pub const MAX_MATRIX_QUBITS: usize = 13;

/// Amplitude updates between two reports of progress.
const REPORT_EVERY: usize = 1 << 26;

/// Why a circuit did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// Something about the circuit or its parameters.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// Something about the state, such as its memory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A qubit that no index can hold.
    #[error(transparent)]
    Basis(#[from] BasisError),
    /// An executor failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// A qubit is used after it was measured.
    #[error(
        "instruction {instruction}: qubit {qubit} is used after it was measured; only measurements at the end can run"
    )]
    MeasuredEarly {
        /// The instruction, counted from 0.
        instruction: usize,
        /// The qubit.
        qubit: u32,
    },
    /// The matrix of too large a circuit.
    #[error(
        "the matrix of {n_qubits} qubits has 4^{n_qubits} entries; at most {MAX_MATRIX_QUBITS} qubits are allowed"
    )]
    MatrixTooLarge {
        /// The number of qubits.
        n_qubits: usize,
    },
}

/// The constants of every gate of a circuit in a ring. Measurements and barriers are left out.
///
/// # Errors
/// [`SimulateError`] if the binding has no number for an angle, or a qubit is used after it was
/// measured.
pub fn bind<R: Ring>(
    circuit: &Circuit,
    binding: &impl Binding<R>,
) -> Result<Vec<Operator<R>>, SimulateError> {
    final_measurements(circuit)?;
    let mut operators = Vec::with_capacity(circuit.instructions().len());
    for instruction in circuit.instructions() {
        if let Some(operator) = operator(circuit, instruction, binding)? {
            operators.push(operator);
        }
    }
    Ok(operators)
}

fn operator<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
) -> Result<Option<Operator<R>>, SimulateError> {
    let matrix = match &instruction.operation {
        Operation::Gate(gate) => gate.matrix(binding),
        Operation::Unitary(matrix) => matrix.try_map(|z| binding.number(*z)),
        _ => return Ok(None),
    };
    let matrix = matrix.map_err(|e| circuit.bind_error(e))?;
    let targets: Vec<usize> = instruction.targets.iter().map(|&q| q as usize).collect();
    let controls: Vec<(usize, bool)> =
        instruction.controls.iter().map(|c| (c.qubit as usize, c.value)).collect();
    Ok(Some(Operator::new(&matrix, &targets, &controls)?))
}

/// Which qubit each classical bit is read from: the last measurement into it.
///
/// # Errors
/// [`SimulateError::MeasuredEarly`] if a gate acts on a qubit that was measured before.
pub fn final_measurements(circuit: &Circuit) -> Result<BTreeMap<u32, u32>, SimulateError> {
    let mut read = BTreeMap::new();
    let mut measured: Vec<bool> = Vec::new();
    for (i, instruction) in circuit.instructions().iter().enumerate() {
        match instruction.operation {
            Operation::Measure { bit } => {
                let qubit = instruction.targets[0];
                read.insert(bit, qubit);
                if measured.len() <= qubit as usize {
                    measured.resize(qubit as usize + 1, false);
                }
                measured[qubit as usize] = true;
            }
            Operation::Barrier => {}
            _ => {
                let early =
                    instruction.qubits().find(|&q| measured.get(q as usize).copied().unwrap_or(false));
                if let Some(qubit) = early {
                    return Err(SimulateError::MeasuredEarly { instruction: i, qubit });
                }
            }
        }
    }
    Ok(read)
}

/// Runs circuits: the executors, the threads and the memory that it may use.
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    /// Who may run which ring.
    pub executors: Executors,
    /// The thread pool.
    pub threads: Threads,
    /// The most bytes that a state may take; checked before anything is allocated.
    pub memory_limit: Option<u64>,
}

impl Simulator {
    /// The generic kernels on one thread, without a memory limit.
    #[must_use]
    pub fn new() -> Simulator {
        Simulator::default()
    }

    /// Runs a circuit on |0…0> with the given values of its inputs, in order, over any real number
    /// type. Measurements at the end are left out: the state is the one before them.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
    ) -> Result<StateVector<Complex<T>>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        self.run_bound(circuit, &Values(&values))
    }

    /// Runs a circuit on |0…0> over any ring.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn run_bound<R: Ring>(
        &self,
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<StateVector<R>, SimulateError> {
        self.check_memory::<R>(circuit.n_qubits())?;
        let operators = bind(circuit, binding)?;
        let mut state = StateVector::zero(circuit.n_qubits())?;
        self.execute(&operators, &mut state, &mut |_, _| {})?;
        Ok(state)
    }

    /// Applies operators to a state; `progress` is told (done, all) every now and then.
    ///
    /// # Errors
    /// [`SimulateError`] if an operator needs a qubit that is not there, or an executor fails.
    pub fn execute<R: Ring>(
        &self,
        operators: &[Operator<R>],
        state: &mut StateVector<R>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), SimulateError> {
        let n_qubits = state.n_qubits();
        if let Some(operator) = operators.iter().find(|o| o.n_qubits() > n_qubits) {
            return Err(BasisError::OutOfRange { given: operator.n_qubits() - 1, available: n_qubits }.into());
        }
        let executor = self.executors.best::<R>(n_qubits, operators.len());
        let at_once = (REPORT_EVERY >> n_qubits).max(1);
        let mut done = 0;
        for part in operators.chunks(at_once) {
            executor.run(part, state.amplitudes_mut(), &self.threads)?;
            done += part.len();
            progress(done, operators.len());
        }
        Ok(())
    }

    /// Checks that a state of n qubits fits in the memory limit.
    ///
    /// # Errors
    /// [`StateError::Memory`] with both numbers.
    pub fn check_memory<R>(&self, n_qubits: usize) -> Result<(), StateError> {
        let needed = bytes_needed::<R>(n_qubits);
        let available = self.memory_limit.map_or(u128::MAX, u128::from);
        if needed > available || n_qubits > MAX_QUBITS {
            let available = available.min(1 << MAX_QUBITS);
            return Err(StateError::Memory { n_qubits, needed, available });
        }
        Ok(())
    }

    /// The 2^n x 2^n matrix of a circuit. O(4^n) per gate.
    ///
    /// # Errors
    /// [`SimulateError::MatrixTooLarge`] above [`MAX_MATRIX_QUBITS`] qubits,
    /// [`CircuitError::NotUnitary`] with measurements.
    pub fn matrix<R: Ring>(
        &self,
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<Matrix<R>, SimulateError> {
        let n_qubits = circuit.n_qubits();
        if n_qubits > MAX_MATRIX_QUBITS {
            return Err(SimulateError::MatrixTooLarge { n_qubits });
        }
        if circuit.has_measurements() {
            return Err(CircuitError::NotUnitary { what: "the matrix" }.into());
        }
        let operators = bind(circuit, binding)?;
        let mut columns = Vec::with_capacity(1 << n_qubits);
        for index in 0..1 << n_qubits {
            let mut state = StateVector::basis(n_qubits, index)?;
            self.execute(&operators, &mut state, &mut |_, _| {})?;
            columns.push(state);
        }
        Ok(Matrix::from_fn(n_qubits, |row, column| columns[column].amplitudes()[row].clone()))
    }

    /// Measures a state as the circuit says, so many times: outcomes of the classical registers, last
    /// declared leftmost, separated by spaces, bit 0 of each rightmost. A circuit without
    /// measurements measures all qubits.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn counts<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &Circuit,
        state: &StateVector<S>,
        shots: usize,
        seed: u64,
    ) -> Result<BTreeMap<String, u64>, SimulateError> {
        let mut by_state: BTreeMap<usize, u64> = BTreeMap::new();
        for outcome in state.sample(shots, seed, &self.threads)? {
            *by_state.entry(outcome).or_insert(0) += 1;
        }
        let read = final_measurements(circuit)?;
        let mut counts = BTreeMap::new();
        for (index, count) in by_state {
            let text = if read.is_empty() {
                crate::basis::bitstring(index, state.n_qubits())
            } else {
                classical_text(circuit, |bit| read.get(&bit).is_some_and(|q| index >> q & 1 == 1))
            };
            *counts.entry(text).or_insert(0) += count;
        }
        Ok(counts)
    }
}

/// The classical registers as text: last declared leftmost, bit 0 of each rightmost.
fn classical_text(circuit: &Circuit, value: impl Fn(u32) -> bool) -> String {
    let mut first = 0u32;
    let mut registers: Vec<String> = Vec::new();
    for register in circuit.registers() {
        let size = u32::try_from(register.size).unwrap_or(u32::MAX);
        let bits = (first..first.saturating_add(size)).rev();
        registers.push(bits.map(|bit| if value(bit) { '1' } else { '0' }).collect());
        first = first.saturating_add(size);
    }
    registers.reverse();
    registers.join(" ")
}
