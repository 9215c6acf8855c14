//! Instructions of a circuit: operations on qubits and bits, under controls and conditions.

use std::sync::Arc;

use num_complex::Complex;
use smallvec::SmallVec;

use super::{Condition, DelayLength, PauliRotation, ReadoutBitList};
use crate::{channel::Channel, gate::Gate, matrix::Matrix, param::Angle};

/// The qubits of an instruction, by number.
pub type Qubits = SmallVec<[u32; 4]>;

/// A qubit that must have this value for an instruction to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// The qubit.
    pub qubit: u32,
    /// The value that it must have: 1 (true) or 0.
    pub value: bool,
}

/// Operation of an instruction on its targets.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A gate of the table.
    Gate(Gate),
    /// A rotation about a Pauli string.
    PauliRotation(Box<PauliRotation>),
    /// A unitary matrix given in numbers.
    Unitary(Arc<Matrix<Complex<f64>>>),
    /// Measures the one target into a classical bit, counted over all registers.
    Measure {
        /// The classical bit.
        bit: u32,
    },
    /// Resets the one target to |0>, whatever its state is.
    Reset,
    /// Noise: a channel.
    Channel(Channel),
    /// Applies a readout error to classical bits together: with some probability their outcome is
    /// replaced by another one.
    ReadoutError {
        /// The classical bits; the first is the least significant bit of an outcome.
        bits: ReadoutBitList,
        /// For each outcome the probabilities of all others in ascending order. Of one bit: that a
        /// 0 is read as 1, and a 1 as 0.
        probabilities: Arc<[Angle]>,
    },
    /// Assigns a value to a classical bit.
    Assign {
        /// The classical bit.
        bit: u32,
        /// Its value.
        value: bool,
    },
    /// Has no effect; optimizations do not move gates across it.
    Barrier,
    /// Has no effect for some time.
    Delay {
        /// Length of the delay.
        length: DelayLength,
    },
    /// Runs the next `body` instructions, and then itself again, as long as the condition of the
    /// instruction holds; without a condition, forever. A body ends with the circuit or the
    /// enclosing loop at the latest.
    While {
        /// Number of instructions in the body.
        body: u32,
    },
}

impl Operation {
    /// Returns the angles of a gate or a rotation, or the parameters of a channel; an empty slice
    /// for any other operation.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        match self {
            Operation::Gate(gate) => gate.params(),
            Operation::PauliRotation(rotation) => rotation.params(),
            Operation::Channel(channel) => channel.params(),
            Operation::ReadoutError { probabilities, .. } => &probabilities[..],
            _ => &[],
        }
    }

    /// Returns the operation with each parameter replaced.
    #[must_use]
    pub fn map_params(&self, f: impl FnMut(&Angle) -> Angle) -> Operation {
        match self {
            Operation::ReadoutError { bits, probabilities } => Operation::ReadoutError {
                bits: bits.clone(),
                probabilities: probabilities.iter().map(f).collect(),
            },
            Operation::Gate(gate) => Operation::Gate(gate.map_params(f)),
            Operation::PauliRotation(rotation) => {
                Operation::PauliRotation(Box::new(rotation.map_params(f)))
            }
            Operation::Channel(channel) => Operation::Channel(channel.map_params(f)),
            other => other.clone(),
        }
    }

    /// The classical bits that it writes.
    #[must_use]
    pub fn written(&self) -> &[u32] {
        match self {
            Operation::Measure { bit } | Operation::Assign { bit, .. } => std::slice::from_ref(bit),
            Operation::ReadoutError { bits, .. } => bits,
            _ => &[],
        }
    }

    /// Renumbers the classical bits.
    pub(crate) fn map_bits(&mut self, f: impl Fn(u32) -> u32) {
        match self {
            Operation::Measure { bit } | Operation::Assign { bit, .. } => *bit = f(*bit),
            Operation::ReadoutError { bits, .. } => bits.iter_mut().for_each(|bit| *bit = f(*bit)),
            _ => {}
        }
    }

    /// Returns true if it is a gate: one of the table, a rotation about a Pauli string, or a
    /// matrix.
    #[must_use]
    pub fn is_gate(&self) -> bool {
        matches!(self, Operation::Gate(_) | Operation::PauliRotation(_) | Operation::Unitary(_))
    }

    /// Returns true if it changes no state, whatever its qubits are: a barrier or a delay.
    #[must_use]
    pub fn does_nothing(&self) -> bool {
        matches!(self, Operation::Barrier | Operation::Delay { .. })
    }

    /// Returns true if it is a gate, or has no effect.
    #[must_use]
    pub fn is_unitary(&self) -> bool {
        self.is_gate() || self.does_nothing()
    }
}

/// An operation on target qubits, under controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Operation that is applied.
    pub operation: Operation,
    /// Qubits that it acts on; `targets[0]` is the least significant bit of the gate's matrix.
    pub targets: Qubits,
    /// Values that other qubits must have.
    pub controls: SmallVec<[Control; 2]>,
    /// Condition on classical bits; `None` is always true.
    pub condition: Option<Arc<Condition>>,
}

impl Instruction {
    /// All qubits, controls first.
    pub fn qubits(&self) -> impl Iterator<Item = u32> + '_ {
        self.controls.iter().map(|c| c.qubit).chain(self.targets.iter().copied())
    }

    /// Replaces a unitary operation by its inverse.
    pub(super) fn invert(&mut self) {
        match &mut self.operation {
            Operation::Gate(gate) => *gate = gate.dagger(),
            Operation::PauliRotation(rotation) => **rotation = rotation.dagger(),
            Operation::Unitary(matrix) => *matrix = Arc::new(matrix.dagger()),
            _ => {}
        }
    }
}
