//! Instructions that noise follows: all gates, those of a width, or those of some names.

use crate::{
    circuit::{CircuitError, Instruction, Operation},
    gate::{GateKind, NAMED_GATES, NamedGate},
    notation::nearest_name,
};

/// Set of instructions that noise follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum After {
    /// Gates and unitaries on at least one qubit, controls counted.
    AllGates,
    /// Gates and unitaries on that many qubits, controls counted.
    Gates(usize),
    /// Instructions of these kinds; by their names: [`After::named`].
    These(Vec<InstructionKind>),
}

/// Kind of an instruction, whatever its angles and the values of its controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionKind {
    /// A gate of the table under that many controls.
    Gate(GateKind, usize),
    /// A rotation about any Pauli string under that many controls.
    PauliRotation(usize),
    /// A unitary given by its matrix, under that many controls.
    Unitary(usize),
    /// A measurement.
    Measure,
    /// A reset.
    Reset,
    /// A delay.
    Delay,
}

impl After {
    /// Returns the instructions of these names: `measure`, `reset`, `delay`, `unitary`, gates by
    /// their names in this library or OpenQASM 2 or 3, with prefixes for more controls as in
    /// [`Circuit::count_operations`]. Controls may have any value.
    ///
    /// [`Circuit::count_operations`]: super::super::Circuit::count_operations
    ///
    /// ```
    /// use ketgrad_core::{circuit::{After, InstructionKind}, gate::GateKind};
    /// let x_under = |n| After::These(vec![InstructionKind::Gate(GateKind::X, n)]);
    /// assert_eq!(After::named(["CX"])?, x_under(1));
    /// assert_eq!(After::named(["cnot"])?, After::named(["c1-x"])?);
    /// assert_eq!(After::named(["c2-ccx"])?, x_under(4));
    /// // `U` is one gate in OpenQASM 2 and another one in OpenQASM 3, which differ in a phase.
    /// let both = [InstructionKind::Gate(GateKind::U, 0), InstructionKind::Gate(GateKind::U3, 0)];
    /// assert_eq!(After::named(["U"])?, After::These(both.into()));
    /// let error = After::named(["mesure"]).unwrap_err().to_string();
    /// assert_eq!(error, "no instruction is called `mesure`: did you mean `measure`?");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError::NoSuchInstruction`] for an unknown name.
    pub fn named(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<After, CircuitError> {
        let mut kinds: Vec<InstructionKind> = Vec::new();
        for name in names {
            let found = InstructionKind::find(name.as_ref());
            if found.is_empty() {
                return Err(InstructionKind::unknown(name.as_ref()));
            }
            kinds.extend(found);
        }
        Ok(After::These(kinds))
    }
}

impl InstructionKind {
    pub(super) fn of_instruction(instruction: &Instruction) -> Option<InstructionKind> {
        let n_controls = instruction.controls.len();
        match &instruction.operation {
            Operation::Gate(gate) => Some(InstructionKind::Gate(gate.kind(), n_controls)),
            Operation::RuntimeGate(gate) => Some(InstructionKind::Gate(gate.kind(), n_controls)),
            Operation::PauliRotation(_) => Some(InstructionKind::PauliRotation(n_controls)),
            Operation::Unitary(_) => Some(InstructionKind::Unitary(n_controls)),
            Operation::Measure { .. } => Some(InstructionKind::Measure),
            Operation::Reset => Some(InstructionKind::Reset),
            Operation::Delay { .. } => Some(InstructionKind::Delay),
            _ => None,
        }
    }

    /// Returns the kinds that a name may refer to.
    fn find(name: &str) -> Vec<InstructionKind> {
        match name {
            "measure" => return vec![InstructionKind::Measure],
            "reset" => return vec![InstructionKind::Reset],
            "delay" => return vec![InstructionKind::Delay],
            _ => {}
        }
        // `c5-x`.
        let prefix = name.strip_prefix('c').and_then(|rest| rest.split_once('-'));
        let prefix = prefix.and_then(|(n, base)| Some((n.parse::<u32>().ok()? as usize, base)));
        let (more, base) = prefix.unwrap_or((0, name));
        if base == "unitary" {
            return vec![InstructionKind::Unitary(more)];
        }
        if base == "pauli_rotation" {
            return vec![InstructionKind::PauliRotation(more)];
        }
        let mut found = Vec::new();
        let bare = GateKind::ALL.iter().filter(|kind| kind.name() == base).map(|&kind| (kind, 0));
        for (gate, n_controls) in
            bare.chain(NamedGate::called(base).map(|gate| (gate.kind, gate.n_controls)))
        {
            let kind = InstructionKind::Gate(gate, n_controls + more);
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        found
    }

    fn unknown(name: &str) -> CircuitError {
        let gates = GateKind::ALL.iter().map(|kind| kind.name());
        let gates = gates.chain(NAMED_GATES.iter().flat_map(NamedGate::names));
        let known = gates.chain(["measure", "reset", "delay", "unitary", "pauli_rotation"]);
        CircuitError::NoSuchInstruction {
            name: name.to_owned(),
            nearest: nearest_name(name, known),
        }
    }
}
