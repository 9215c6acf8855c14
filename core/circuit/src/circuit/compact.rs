//! Circuits on the qubits that they use.
//!
//! A qubit that no instruction touches stays |0>. So a circuit on a register of 127 qubits that
//! uses two of them is run as one on two, and its results are mapped back to the register.

use super::{BitSet, Circuit, CircuitError, Instruction, Operation};
use crate::{
    basis::scatter_bits,
    observable::{ObservableError, Pauli, PauliString, PauliSum},
};

/// A circuit without its idle qubits, which are |0> from its start to its end.
#[derive(Clone, Debug)]
pub struct Compact {
    circuit: Circuit,
    /// Number of each qubit in the whole circuit, ascending.
    qubits: Vec<usize>,
    n_qubits: usize,
}

impl Circuit {
    /// Returns the circuit without the qubits that no instruction acts on; the others keep their
    /// order. One qubit is left where all are idle. O(instructions).
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let bell = Circuit::build(127, |c| c.h(126)?.cx(126, 64))?;
    /// let compact = bell.compact();
    /// assert_eq!(compact.circuit().to_string(), "h q[1]\ncx q[1], q[0]\n");
    /// assert_eq!(compact.qubits(), [64, 126]);
    /// assert_eq!(compact.observable(&"Z126 Z64 + X0 + Z3".parse()?)?.to_string(), "Z0 Z1 + 1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn compact(&self) -> Compact {
        self.on(self.used_qubits())
    }

    /// Returns the circuit [folded](Circuit::folded) and without idle qubits, if that can gain
    /// anything: if there are instructions other than gates and measurements, or qubits without
    /// gates.
    #[must_use]
    pub fn lean(&self) -> Option<Compact> {
        let (mut known, mut on_all) = (false, UsedQubits::default());
        for instruction in self.instructions() {
            let measures = matches!(instruction.operation, Operation::Measure { .. });
            known |= instruction.condition.is_some()
                || !(measures || instruction.operation.is_unitary());
            if !measures {
                on_all.add(instruction);
            }
        }
        (known || on_all.qubits.len() < self.n_qubits()).then(|| self.folded().compact())
    }

    /// The qubits that instructions act on, ascending; a barrier does not.
    #[doc(hidden)]
    pub fn used_qubits(&self) -> Vec<usize> {
        let mut used = UsedQubits::default();
        self.instructions().iter().for_each(|i| used.add(i));
        used.qubits.sort_unstable();
        used.qubits
    }

    /// Removes all instructions except for gates and barriers.
    #[doc(hidden)]
    pub fn gates_alone(mut self) -> Circuit {
        self.instructions.retain(|i| i.operation.is_unitary());
        self
    }

    /// Returns the circuit on some qubits, ascending, which include those that it uses; others may
    /// be beyond its last one.
    #[doc(hidden)]
    pub fn on(&self, mut qubits: Vec<usize>) -> Compact {
        if qubits.is_empty() && self.n_qubits() > 0 {
            qubits.push(0);
        }
        let mut circuit = self.clone();
        if !qubits.iter().copied().eq(0..self.n_qubits()) {
            circuit.n_qubits = qubits.len();
            circuit.qubit_registers = Vec::new();
            let place = |q: u32| {
                qubits.binary_search(&(q as usize)).ok().and_then(|k| u32::try_from(k).ok())
            };
            for instruction in &mut circuit.instructions {
                // A barrier may act on idle qubits, too.
                instruction.targets =
                    instruction.targets.iter().filter_map(|q| place(*q)).collect();
                instruction.controls.iter_mut().for_each(|c| c.qubit = place(c.qubit).unwrap_or(0));
            }
        }
        Compact { circuit, qubits, n_qubits: self.n_qubits() }
    }
}

/// The qubits that some instructions act on, each once.
#[derive(Default)]
struct UsedQubits {
    marks: BitSet,
    qubits: Vec<usize>,
}

impl UsedQubits {
    fn add(&mut self, instruction: &Instruction) {
        if instruction.operation.does_nothing() {
            return;
        }
        for q in instruction.qubits() {
            if !self.marks.contains(q) {
                self.marks.insert(q);
                self.qubits.push(q as usize);
            }
        }
    }
}

impl Compact {
    /// Returns a circuit with all its qubits, for initial states in which they need not be |0>.
    #[must_use]
    pub fn whole(circuit: Circuit) -> Compact {
        let n_qubits = circuit.n_qubits();
        Compact { circuit, qubits: (0..n_qubits).collect(), n_qubits }
    }

    /// Returns true if no qubit is idle.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.qubits.len() == self.n_qubits
    }

    /// The circuit on the qubits that are used.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Returns the compact circuit alone.
    #[must_use]
    pub fn into_circuit(self) -> Circuit {
        self.circuit
    }

    /// The qubits that are used, ascending: qubit k of the compact circuit is `qubits()[k]`.
    #[must_use]
    pub fn qubits(&self) -> &[usize] {
        &self.qubits
    }

    /// The number of qubits of the whole.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Returns the position of a qubit of the whole; `None` if it is idle.
    #[must_use]
    pub fn position_of(&self, qubit: usize) -> Option<usize> {
        self.qubits.binary_search(&qubit).ok()
    }

    /// Returns the basis state of the compact circuit for a text that names one of the whole, qubit
    /// 0 rightmost; `None` if an idle qubit is 1 in it, or it does not have a bit for each qubit.
    #[must_use]
    pub fn index(&self, bits: &str) -> Option<usize> {
        let is_set = |q: usize| bits.as_bytes().get(self.n_qubits - 1 - q) == Some(&b'1');
        let mut ones = (0..self.n_qubits).filter(|q| is_set(*q)).map(|q| self.position_of(q));
        ones.try_fold(0, |index, place| Some(index | 1 << place?))
            .filter(|_| bits.len() == self.n_qubits)
    }

    /// The basis state of the whole, for one of the compact circuit.
    #[must_use]
    pub fn spread(&self, index: usize) -> usize {
        scatter_bits(index, &self.qubits)
    }

    /// The name of a basis state of the compact circuit in the whole: qubit 0 rightmost, idle
    /// qubits 0.
    #[must_use]
    pub fn bitstring(&self, index: usize) -> String {
        let mut bits = vec![b'0'; self.n_qubits];
        for (k, q) in self.qubits.iter().enumerate() {
            if index >> k & 1 == 1 {
                bits[self.n_qubits - 1 - q] = b'1';
            }
        }
        bits.into_iter().map(char::from).collect()
    }

    /// Returns a circuit on the qubits that are used, with a measurement of each of them at its
    /// end: into a register with a bit for each qubit of the whole, the only one that is shown. It
    /// is for circuits without measurements of their own.
    ///
    /// # Errors
    /// [`CircuitError::TooManyBits`].
    pub fn measuring_all(&self, circuit: &Circuit) -> Result<Circuit, CircuitError> {
        self.measuring(circuit, 0..self.n_qubits)
    }

    /// Measures some qubits of the whole, as [`Compact::measuring_all`] does: bit j is that of
    /// qubit j of them.
    ///
    /// # Errors
    /// [`CircuitError::TooManyBits`].
    pub fn measuring(
        &self,
        circuit: &Circuit,
        qubits: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Circuit, CircuitError> {
        let mut measured = circuit.clone();
        let first = measured.register_alone("meas", qubits.len())?;
        for (bit, qubit) in qubits.enumerate() {
            if let Some(place) = self.position_of(qubit) {
                measured.measure(place, first + bit)?;
            }
        }
        Ok(measured)
    }

    /// Restricts an observable of the whole to the qubits that are used. Idle qubits are in |0>,
    /// where the mean of Z is 1, and those of X and Y are 0.
    ///
    /// # Errors
    /// Does not occur for a valid observable: its coefficients stay finite.
    pub fn observable(&self, of: &PauliSum) -> Result<PauliSum, ObservableError> {
        let placed = |(c, string): &(f64, PauliString)| {
            let mut factors = Vec::new();
            for &(qubit, pauli) in string.factors() {
                match self.position_of(qubit) {
                    Some(place) => factors.push((place, pauli)),
                    None if pauli == Pauli::Z => {}
                    None => return None,
                }
            }
            Some(PauliString::new(factors).map(|string| (*c, string)))
        };
        PauliSum::new(of.terms().iter().filter_map(placed).collect::<Result<Vec<_>, _>>()?)
    }
}
