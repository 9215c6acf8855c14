//! Expectation values of circuits, ready to be differentiated within the limits of memory and
//! threads.

use std::path::Path;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, ParametricExpectation},
    kernel::Threads,
    observable::{ParametricSum, PauliSum},
    simulate::Simulator,
    state::{StateVector, bytes_needed},
};
use num_complex::Complex;

use crate::{
    input::{check_width, read_input},
    memory::Needs,
    npy::Number,
    observables::Parametric,
    options::Common,
    report::Failure,
    terminal::Terminal,
};

/// Returns the expectation values of observables with parameters, from |0…0> or the state in a
/// file, to be computed within the limits.
///
/// # Errors
/// [`Failure`] as [`expectations_of`].
pub(crate) fn parametric_of<T: Number>(
    circuit: Circuit,
    observables: &[Parametric],
    input: Option<&Path>,
    common: &Common,
    terminal: &Terminal,
) -> Result<ParametricExpectation, Failure> {
    let sums: Vec<ParametricSum> =
        observables.iter().map(|observable| observable.sum.clone()).collect();
    ParametricExpectation::new(&sums, |sums| {
        expectations_of::<T>(circuit, sums, input, common, terminal)
    })
}

/// Returns the expectation value of a sum of Pauli strings, to be computed within the limits.
///
/// # Errors
/// [`Failure`] as [`expectations_of`].
pub(crate) fn expectation_of<T: Number>(
    circuit: Circuit,
    observable: PauliSum,
    common: &Common,
    terminal: &Terminal,
) -> Result<Expectation, Failure> {
    expectations_of::<T>(circuit, [observable], None, common, terminal)
}

/// Returns the expectation values of sums of Pauli strings, from |0…0> or the state in a file, to
/// be computed within the limits.
///
/// # Errors
/// [`Failure`] if an observable does not fit the circuit, the file has no such state, the backend
/// that is asked for is not there or cannot, or the system gives no threads.
pub(crate) fn expectations_of<T: Number>(
    circuit: Circuit,
    observables: impl IntoIterator<Item = PauliSum>,
    input: Option<&Path>,
    common: &Common,
    terminal: &Terminal,
) -> Result<Expectation, Failure> {
    let mut needs = Needs::default();
    if input.is_some() {
        check_width(circuit.n_qubits())?;
        needs.add("the state to start from", bytes_needed::<Complex<f64>>(circuit.n_qubits()));
    }
    let available = needs.check("the derivatives", common.memory_limit)?;
    let threads: Threads = common.start_threads()?;
    let energy = match input {
        Some(path) => {
            let start: StateVector<Complex<f64>> = read_input(path, circuit.n_qubits())?;
            Expectation::from_state(circuit, observables, start)
        }
        None => Expectation::new(circuit, observables),
    };
    let energy = energy.map_err(Failure::input)?;
    let executors = common.executors::<T>(energy.circuit(), terminal)?;
    let simulator = Simulator::new()
        .with_executors(executors)
        .with_threads(threads)
        .with_memory_limit(available);
    Ok(energy.with_simulator(simulator))
}
