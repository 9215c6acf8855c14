//! `run --qubits`: outcomes of some qubits alone.

use std::collections::BTreeMap;

use ketgrad_core::{
    basis::{bitstring, scatter_bits},
    circuit::{Circuit, Compact, Operation},
    kernel::Threads,
    simulate::Bits,
    state::{DensityMatrix, StateError, StateVector},
};
use num_complex::Complex;

use crate::{npy::Number, report::Failure};

/// Subset of the qubits in the requested order: bit j of an outcome is that of qubit j of them.
pub(super) struct Marginal {
    qubits: Vec<usize>,
    /// Index of each qubit in the circuit that is run; idle ones are 0 and have none.
    places: Vec<Option<usize>>,
}

impl Marginal {
    /// Creates the marginal of qubits of the whole circuit, none of them twice.
    ///
    /// # Errors
    /// [`Failure`] for a qubit that does not exist.
    pub(super) fn new(
        qubits: &[usize],
        declared: usize,
        compact: &Compact,
    ) -> Result<Marginal, Failure> {
        if let Some(qubit) = qubits.iter().find(|qubit| **qubit >= declared) {
            let message = format_args!(
                "--qubits: qubit {qubit} does not exist: the circuit has {declared}, counted from 0"
            );
            return Err(Failure::input(message));
        }
        let places = qubits.iter().map(|qubit| compact.position_of(*qubit)).collect();
        Ok(Marginal { qubits: qubits.to_vec(), places })
    }

    /// Returns the qubits.
    pub(super) fn qubits(&self) -> &[usize] {
        &self.qubits
    }

    /// Returns the text after the name of a result.
    pub(super) fn title(&self) -> String {
        let qubits: Vec<String> = self.qubits.iter().rev().map(usize::to_string).collect();
        let plural = if qubits.len() == 1 { "qubit" } else { "qubits" };
        format!(" of {plural} {}", qubits.join(" "))
    }

    /// Returns the name of an outcome: the first of the qubits rightmost.
    pub(super) fn name(&self, outcome: usize) -> String {
        bitstring(outcome, self.qubits.len())
    }

    /// Returns the probabilities of the outcomes in a state.
    pub(super) fn of_state<T: Number>(
        &self,
        state: &StateVector<Complex<T>>,
        threads: &Threads,
    ) -> Result<Vec<T>, StateError> {
        Ok(self.with_idle(&state.probabilities_of(&self.used(), threads)?))
    }

    /// Returns the probabilities of the outcomes in a state with noise.
    pub(super) fn of_density<T: Number>(
        &self,
        rho: &DensityMatrix<Complex<T>>,
    ) -> Result<Vec<T>, StateError> {
        Ok(self.with_idle(&rho.probabilities_of(&self.used())?))
    }

    /// Returns the places of those that are used.
    fn used(&self) -> Vec<usize> {
        self.places.iter().flatten().copied().collect()
    }

    /// Probabilities of outcomes of those that are used, among those of all.
    fn with_idle<T: Number>(&self, used: &[T]) -> Vec<T> {
        let bits: Vec<usize> =
            (0..self.places.len()).filter(|j| self.places[*j].is_some()).collect();
        let mut all = vec![T::lit(0.0); 1 << self.places.len()];
        for (outcome, p) in used.iter().enumerate() {
            all[scatter_bits(outcome, &bits)] = *p;
        }
        all
    }

    /// Returns the name of the outcome that a basis state has.
    pub(super) fn name_of_state(&self, index: usize) -> String {
        let bit = |place: &Option<usize>| place.map_or(0, |place| index >> place & 1);
        let places = self.places.iter().enumerate();
        self.name(places.fold(0, |outcome, (j, place)| outcome | bit(place) << j))
    }

    /// Returns the function to the name of an outcome from classical bits, into which the qubits of
    /// the whole circuit are measured at the end.
    ///
    /// # Errors
    /// [`Failure`] for a qubit that is not measured.
    pub(super) fn reader(&self, circuit: &Circuit) -> Result<impl Fn(&Bits) -> String, Failure> {
        let read = reads(circuit);
        let bit_of = |qubit: &usize| {
            let bit = read.iter().rev().find(|(_, measured)| *measured == qubit);
            let not_measured = || {
                let message = format_args!(
                    "--qubits: qubit {qubit} is not measured at the end, and readings may be wrong"
                );
                Failure::input(message)
                    .help("only readings of measured qubits are known to be right or wrong")
            };
            bit.map(|(bit, _)| *bit).ok_or_else(not_measured)
        };
        let bits: Vec<u32> = self.qubits.iter().map(bit_of).collect::<Result<_, _>>()?;
        Ok(move |value: &Bits| {
            let bits = bits.iter().enumerate();
            self.name(bits.fold(0, |all, (j, bit)| all | usize::from(value.get(*bit)) << j))
        })
    }

    /// Returns the probabilities of the outcomes, from those of the bits of the register, the last
    /// one, that they are measured into.
    pub(super) fn of_bits<T: Number>(
        &self,
        measured: &Circuit,
        by_bits: impl IntoIterator<Item = (Bits, T)>,
    ) -> Vec<T> {
        let count = self.places.len();
        let mut all = vec![T::lit(0.0); 1 << count];
        // Bits have 32-bit numbers.
        let first = (measured.n_bits() - count) as u32;
        for (bits, p) in by_bits {
            let bit = |j: usize| usize::from(bits.get(first + j as u32)) << j;
            let outcome = (0..count).fold(0, |outcome, j| outcome | bit(j));
            all[outcome] += p;
        }
        all
    }
}

/// Returns the qubit that each classical bit has from a measurement after which nothing changes
/// either.
fn reads(circuit: &Circuit) -> BTreeMap<u32, usize> {
    let mut reads: BTreeMap<u32, usize> = BTreeMap::new();
    for instruction in circuit.instructions() {
        match instruction.operation {
            Operation::Measure { bit } if instruction.condition.is_none() => {
                reads.insert(bit, instruction.targets[0] as usize);
            }
            Operation::Measure { bit } | Operation::Assign { bit, .. } => {
                reads.remove(&bit);
            }
            Operation::Barrier | Operation::ReadoutError { .. } => {}
            _ => instruction.qubits().for_each(|qubit| reads.retain(|_, of| *of != qubit as usize)),
        }
    }
    reads
}
