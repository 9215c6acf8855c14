//! Circuits: a program of gates as plain data.
//!
//! ```
//! use ketgrad_core::circuit::Circuit;
//!
//! let mut ghz = Circuit::new(3);
//! ghz.h(0)?.cx(0, 1)?.cx(1, 2)?;
//! let theta = ghz.param("theta");
//! ghz.rz(2, theta)?;
//! assert_eq!(ghz.to_string(), "h q[0]\ncx q[0], q[1]\ncx q[1], q[2]\nrz(theta) q[2]\n");
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//!
//! An [`Instruction`] is an operation on target qubits under any number of controls of value 1 or
//! 0. Nothing here computes amplitudes; `simulate` does.

mod append;
mod bit_set;
mod blocks;
mod calls;
mod compact;
mod condition;
mod decompose;
mod delay;
mod display;
mod edit;
mod error;
mod fold;
mod inputs;
mod instruction;
mod methods;
mod noise;
pub mod operand;
mod outcome;
mod readout_error;
mod rotation;
mod runtime_gate;
mod variables;

#[doc(hidden)]
pub use bit_set::BitSet;
pub use blocks::{Part, SwitchCases};
#[doc(hidden)]
pub use calls::CallRecord;
pub use calls::{GateDefinition, NamedCall};
pub use compact::Compact;
pub use condition::{Condition, IntoCondition};
pub use delay::DelayLength;
#[doc(hidden)]
pub use display::{case_text, operation_name};
pub use error::CircuitError;
pub use instruction::{
    ClassicalAssignment, ClassicalTarget, Control, ForHeader, ForValues, Instruction, Operation,
    Qubits,
};
pub use noise::{After, InstructionKind, NoiseModel, NoiseRule};
pub use operand::{BitRange, Numbers, Operand};
#[doc(hidden)]
pub use readout_error::n_readout_probabilities;
pub use readout_error::{MAX_READOUT_BITS, ReadoutBitList};
pub use rotation::PauliRotation;
pub use runtime_gate::{GateAngle, RuntimeGate};

use std::collections::BTreeMap;

pub use crate::classical::Relation;
use crate::{
    classical::{ClassicalVariable, VariableId},
    param::{ParamExpr, ParamId},
};

/// Tolerance of `U^dagger U` of a given matrix around the identity, entry by entry. Files print 8
/// digits or more.
pub const UNITARY_TOLERANCE: f64 = 1e-7;

/// A named group of classical bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicalRegister {
    /// Its name.
    pub name: String,
    /// Its number of bits.
    pub size: usize,
    /// True if it is left out where outcomes are shown: it is for intermediate values.
    pub hidden: bool,
}

/// A parameter: an input, or a value computed from earlier parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamDef {
    /// The name; for a computed one, the expression.
    pub name: String,
    /// Expression that defines it; `None` for an input.
    pub definition: Option<ParamExpr>,
}

/// A named range of qubits, as texts and pictures show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QubitRegister {
    /// The name.
    pub name: String,
    /// The number of qubits.
    pub size: usize,
}

/// A quantum circuit on `n_qubits` qubits, all starting in |0>.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Circuit {
    n_qubits: usize,
    /// Names of the qubits, all of them; none if they are one register called `q`.
    qubit_registers: Vec<QubitRegister>,
    params: Vec<ParamDef>,
    registers: Vec<ClassicalRegister>,
    /// The sum of their sizes.
    n_bits: usize,
    variables: Vec<ClassicalVariable>,
    instructions: Vec<Instruction>,
    /// Calls of gates with names, as ranges of the instructions.
    calls: calls::CallLog,
    /// The blocks whose bodies are being appended: whether each is a loop. Those that no exit
    /// counts are left out.
    open: Vec<bool>,
}

impl Circuit {
    /// An empty circuit.
    #[must_use]
    pub fn new(n_qubits: usize) -> Circuit {
        Circuit { n_qubits, ..Circuit::default() }
    }

    /// Returns a circuit on `n_qubits` qubits with the instructions that `body` appends.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let ghz = Circuit::build(3, |c| c.h(0)?.cx(0, 1..))?;
    /// assert_eq!(ghz.to_string(), "h q[0]\ncx q[0], q[1]\ncx q[0], q[2]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`.
    pub fn build(
        n_qubits: usize,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<Circuit, CircuitError> {
        let mut circuit = Circuit::new(n_qubits);
        body(&mut circuit)?;
        Ok(circuit)
    }

    /// The number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Names the qubits, from qubit 0 on, for texts and pictures; without this they are one
    /// register called `q`.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, print};
    /// let mut circuit = Circuit::new(3);
    /// circuit.name_qubits([("a", 2), ("b", 1)])?.cx(1, 2)?;
    /// assert!(print::to_qasm3(&circuit)?.ends_with("qubit[2] a;\nqubit b;\ncx a[1], b;\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError::QubitNames`] unless the sizes add up to the number of qubits,
    /// [`CircuitError::DuplicateRegister`] for a repeated name.
    pub fn name_qubits<N: Into<String>>(
        &mut self,
        registers: impl IntoIterator<Item = (N, usize)>,
    ) -> Result<&mut Circuit, CircuitError> {
        let registers =
            registers.into_iter().map(|(name, size)| QubitRegister { name: name.into(), size });
        let registers: Vec<QubitRegister> = registers.filter(|r| r.size > 0).collect();
        let given = registers.iter().fold(0usize, |sum, r| sum.saturating_add(r.size));
        if given != self.n_qubits {
            return Err(CircuitError::QubitNames { given, expected: self.n_qubits });
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = registers.iter().find(|r| !seen.insert(&r.name)) {
            return Err(CircuitError::DuplicateRegister { name: twice.name.clone() });
        }
        let is_usual = matches!(registers.as_slice(), [one] if one.name == "q");
        self.qubit_registers = if is_usual { Vec::new() } else { registers };
        Ok(self)
    }

    /// Returns the names of the qubits, from qubit 0 on: one register called `q`, unless they have
    /// others.
    #[must_use]
    pub fn qubit_registers(&self) -> Vec<QubitRegister> {
        match self.qubit_registers.as_slice() {
            [] if self.n_qubits > 0 => {
                vec![QubitRegister { name: "q".to_owned(), size: self.n_qubits }]
            }
            registers => registers.to_vec(),
        }
    }

    /// The instructions in order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Instruction number `k`, to be replaced by another on the same qubits.
    #[doc(hidden)]
    pub fn instruction_mut(&mut self, k: usize) -> Option<&mut Instruction> {
        self.instructions.get_mut(k)
    }

    /// All parameters; a [`ParamId`] is a position in this list.
    #[must_use]
    pub fn params(&self) -> &[ParamDef] {
        &self.params
    }

    /// The names of the inputs, in the order in which values are given.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.params.iter().filter(|p| p.definition.is_none()).map(|p| p.name.as_str())
    }

    /// The classical registers in order of declaration.
    #[must_use]
    pub fn registers(&self) -> &[ClassicalRegister] {
        &self.registers
    }

    /// The number of classical bits.
    #[must_use]
    pub fn n_bits(&self) -> usize {
        self.n_bits
    }

    /// Returns true if bits that are shown are written, by measurements or assignments, or a value
    /// is assigned to a variable that is shown: a result that goes to hidden ones alone is
    /// discarded. The variable of a loop is none.
    #[must_use]
    pub fn has_results(&self) -> bool {
        let is_shown = |id: VariableId| self.variables.get(id.index()).is_some_and(|v| !v.hidden);
        let writes = |i: &Instruction| match &i.operation {
            Operation::Measure { .. } | Operation::Assign { .. } | Operation::Store(_) => {
                i.operation.written().iter().any(|&bit| self.is_shown(bit))
                    || i.operation.written_variable().is_some_and(is_shown)
            }
            _ => false,
        };
        self.instructions.iter().any(writes)
    }

    /// Adds a register of that name, followed by the next free number if the name is taken, and
    /// hides all others and all variables; returns its first bit.
    pub(crate) fn register_alone(
        &mut self,
        name: &str,
        size: usize,
    ) -> Result<usize, CircuitError> {
        self.registers.iter_mut().for_each(|register| register.hidden = true);
        self.variables.iter_mut().for_each(|variable| variable.hidden = true);
        let is_free = |name: &String| self.registers.iter().all(|register| register.name != *name);
        let numbered = (1u64..).map(|k| format!("{name}_{k}"));
        let free =
            std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default();
        let first = self.n_bits();
        self.add_register(&free, size)?;
        Ok(first)
    }

    /// True if results may be read wrongly.
    #[must_use]
    pub fn has_readout_errors(&self) -> bool {
        self.instructions.iter().any(|i| matches!(i.operation, Operation::ReadoutError { .. }))
    }

    /// Returns true if it has channels.
    #[must_use]
    pub fn has_channels(&self) -> bool {
        self.instructions.iter().any(|i| matches!(i.operation, Operation::Channel(_)))
    }

    /// Returns true if a bit is in a register that is not hidden.
    fn is_shown(&self, bit: u32) -> bool {
        let mut end = 0;
        let register = self.registers.iter().find(|register| {
            end += register.size;
            usize::try_from(bit).is_ok_and(|bit| bit < end)
        });
        register.is_some_and(|register| !register.hidden)
    }

    /// Returns true if it consists of gates and barriers only, none of them under a condition.
    #[must_use]
    pub fn is_unitary(&self) -> bool {
        self.instructions.iter().all(|i| i.condition.is_none() && i.operation.is_unitary())
    }

    /// Declares a classical register.
    ///
    /// # Errors
    /// [`CircuitError::DuplicateRegister`] if the name is taken, [`CircuitError::TooManyBits`] if
    /// all registers together exceed 2^32 bits.
    pub fn add_register(&mut self, name: &str, size: usize) -> Result<&mut Circuit, CircuitError> {
        self.declare_register(name, size, false)
    }

    /// Declares a register for intermediate values: `Bits::text`
    /// leaves it out, so that shots which differ only in hidden bits are counted as one, and in
    /// OpenQASM 3 it is not an output.
    ///
    /// # Errors
    /// Those of [`Circuit::add_register`].
    pub fn hidden_register(&mut self, name: &str, size: usize) -> Result<BitRange, CircuitError> {
        let first = self.n_bits();
        self.declare_register(name, size, true)?;
        Ok(BitRange::new(first, size))
    }

    /// The names of the classical registers and variables.
    fn classical_names(&self) -> impl Iterator<Item = &str> {
        let registers = self.registers.iter().map(|r| r.name.as_str());
        registers.chain(self.variables.iter().map(|v| v.name.as_str()))
    }

    fn declare_register(
        &mut self,
        name: &str,
        size: usize,
        hidden: bool,
    ) -> Result<&mut Circuit, CircuitError> {
        if self.classical_names().any(|taken| taken == name) {
            return Err(CircuitError::DuplicateRegister { name: name.to_owned() });
        }
        if self.n_bits().saturating_add(size) > u32::MAX as usize {
            return Err(CircuitError::TooManyBits { given: size });
        }
        self.push_register(ClassicalRegister { name: name.to_owned(), size, hidden });
        Ok(self)
    }

    /// Declares a classical register whose name is known to be free.
    #[doc(hidden)]
    pub fn push_register(&mut self, register: ClassicalRegister) {
        self.n_bits += register.size;
        self.registers.push(register);
    }

    /// Declares a classical register and returns its bits.
    ///
    /// # Errors
    /// Those of [`Circuit::add_register`].
    pub fn bit_register(&mut self, name: &str, size: usize) -> Result<BitRange, CircuitError> {
        let first = self.n_bits();
        self.add_register(name, size)?;
        Ok(BitRange::new(first, size))
    }

    /// Returns the qubits of an operand; `..` is all of them.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchQubit`] for a range that goes beyond the last one.
    pub fn qubits(&self, which: impl Operand) -> Result<Vec<usize>, CircuitError> {
        self.numbers(which).map(Numbers::into_vec)
    }

    fn numbers(&self, which: impl Operand) -> Result<Numbers, CircuitError> {
        let n_qubits = self.n_qubits;
        which.numbers(n_qubits).map_err(|given| CircuitError::NoSuchQubit { given, n_qubits })
    }

    /// Counts the operations by name, controls included (`cx`, `c5-x`, `unitary`).
    #[must_use]
    pub fn count_operations(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for instruction in &self.instructions {
            *counts.entry(operation_name(instruction)).or_insert(0) += 1;
        }
        counts
    }
}

#[doc(hidden)]
pub fn param_id(i: usize) -> ParamId {
    // 2^32 parameters do not fit in memory.
    ParamId::new(u32::try_from(i).unwrap_or(u32::MAX))
}
