//! Instructions of a circuit: operations on qubits and bits, under controls and conditions.

use std::{borrow::Cow, sync::Arc};

use num_complex::Complex;
use smallvec::SmallVec;

use super::{Condition, DelayLength, PauliRotation, ReadoutBitList, RuntimeGate};
use crate::{
    channel::Channel,
    classical::{ClassicalExpr, ReadPlace, Renumber, VariableId},
    gate::Gate,
    matrix::Matrix,
    param::Angle,
};

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
    /// A gate of the table with an angle that is computed when the gate runs, from classical bits
    /// and variables.
    RuntimeGate(Box<RuntimeGate>),
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
    /// Assigns the value of an expression to a variable or to classical bits.
    Store(Arc<ClassicalAssignment>),
    /// Runs the next `body` instructions, and then itself again, as long as the condition of the
    /// instruction holds; without a condition, forever. A body ends with the circuit or the
    /// enclosing block at the latest; so does that of any other block.
    While {
        /// Number of instructions in the body.
        body: u32,
    },
    /// Runs the next `body` instructions once for each value of a range or a list, which are
    /// evaluated before the first round.
    For {
        /// The variable that gets the value, and the values.
        over: Arc<ForHeader>,
        /// Number of instructions in the body.
        body: u32,
    },
    /// Runs the next `body` instructions if the condition of the instruction holds, which is tested
    /// once.
    If {
        /// Number of instructions in the body.
        body: u32,
    },
    /// Runs the next `body` instructions if those of the `If` whose body ends here were not run.
    Else {
        /// Number of instructions in the body.
        body: u32,
    },
    /// Runs the first of the cases in the next `body` instructions that has the value of an
    /// expression as a label.
    Switch {
        /// The expression.
        subject: Arc<ClassicalExpr>,
        /// Number of instructions in the body, which consists of cases.
        body: u32,
    },
    /// A case of a `Switch`: the next `body` instructions.
    Case {
        /// The values; none for the default.
        labels: Arc<[i128]>,
        /// Number of instructions in the body.
        body: u32,
    },
    /// Runs the next `body` instructions: a block that [`Operation::Break`] may leave.
    Block {
        /// Number of instructions in the body.
        body: u32,
    },
    /// Leaves loops and blocks.
    Break {
        /// Number of enclosing `While`, `For` and `Block` to leave, from the innermost on.
        levels: u32,
    },
    /// Goes on with the next round of a loop.
    Continue {
        /// Number of enclosing `While`, `For` and `Block` up to the loop, 1 for the innermost.
        levels: u32,
    },
    /// Ends the run.
    End,
}

/// An assignment: a place and the expression whose value it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicalAssignment {
    /// The place.
    pub target: ClassicalTarget,
    /// The expression, of the type of the place.
    pub value: ClassicalExpr,
}

/// Place that an assignment writes.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassicalTarget {
    /// Classical bits; the first one gets bit 0 of the value.
    Bits(Box<[u32]>),
    /// One of some classical bits, by its index; nothing is written for an index that is outside.
    /// Negative ones count from the end.
    BitAt(Box<[u32]>, ClassicalExpr),
    /// A variable.
    Variable(VariableId),
    /// An element of an array, by an index for each axis; nothing is written outside of it.
    /// Negative indices count from the end.
    Element(VariableId, Vec<ClassicalExpr>),
}

/// The variable of a `For`, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct ForHeader {
    /// The variable that gets the value of each round.
    pub variable: VariableId,
    /// The values.
    pub values: ForValues,
}

/// Values of a `For`.
#[derive(Clone, Debug, PartialEq)]
pub enum ForValues {
    /// From `start` to `end`, which is one of them if a step reaches it.
    Range {
        /// The first value.
        start: ClassicalExpr,
        /// The distance of two values; by 0 there are none.
        step: ClassicalExpr,
        /// The last value.
        end: ClassicalExpr,
    },
    /// These.
    List(Vec<ClassicalExpr>),
}

impl Operation {
    /// Returns the angles of a gate or a rotation, or the parameters of a channel; an empty slice
    /// for any other operation. Those that are computed when a gate runs are 0 here.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        match self {
            Operation::Gate(gate) => gate.params(),
            Operation::RuntimeGate(gate) => gate.params(),
            Operation::PauliRotation(rotation) => rotation.params(),
            Operation::Channel(channel) => channel.params(),
            Operation::ReadoutError { probabilities, .. } => &probabilities[..],
            _ => &[],
        }
    }

    /// Returns the operation with each parameter replaced, but for angles that are computed when a
    /// gate runs.
    #[must_use]
    pub fn map_params(&self, f: impl FnMut(&Angle) -> Angle) -> Operation {
        match self {
            Operation::ReadoutError { bits, probabilities } => Operation::ReadoutError {
                bits: bits.clone(),
                probabilities: probabilities.iter().map(f).collect(),
            },
            Operation::Gate(gate) => Operation::Gate(gate.map_params(f)),
            Operation::RuntimeGate(gate) => Operation::RuntimeGate(Box::new(gate.map_params(f))),
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
            Operation::Store(assignment) => match &assignment.target {
                ClassicalTarget::Bits(bits) | ClassicalTarget::BitAt(bits, _) => bits,
                ClassicalTarget::Variable(_) | ClassicalTarget::Element(..) => &[],
            },
            _ => &[],
        }
    }

    /// The variable that it writes.
    #[must_use]
    pub fn written_variable(&self) -> Option<VariableId> {
        match self {
            Operation::For { over, .. } => Some(over.variable),
            Operation::Store(assignment) => match assignment.target {
                ClassicalTarget::Variable(id) | ClassicalTarget::Element(id, _) => Some(id),
                ClassicalTarget::Bits(_) | ClassicalTarget::BitAt(..) => None,
            },
            _ => None,
        }
    }

    /// Calls `f` with every place that its expressions read; not with those of its condition.
    pub(crate) fn for_each_read(&self, f: &mut dyn FnMut(ReadPlace<'_>)) {
        match self {
            Operation::Store(assignment) => {
                assignment.value.for_each_place(f);
                match &assignment.target {
                    ClassicalTarget::BitAt(_, index) => index.for_each_place(f),
                    ClassicalTarget::Element(_, indices) => {
                        indices.iter().for_each(|index| index.for_each_place(f));
                    }
                    ClassicalTarget::Bits(_) | ClassicalTarget::Variable(_) => {}
                }
            }
            Operation::For { over, .. } => match &over.values {
                ForValues::Range { start, step, end } => {
                    [start, step, end].into_iter().for_each(|expr| expr.for_each_place(f));
                }
                ForValues::List(values) => values.iter().for_each(|expr| expr.for_each_place(f)),
            },
            Operation::Switch { subject, .. } => subject.for_each_place(f),
            Operation::RuntimeGate(gate) => gate.for_each_place(f),
            _ => {}
        }
    }

    /// Returns the operation that reads and writes other places; its own parameters stay.
    pub(crate) fn renumbered(&self, to: &dyn Renumber) -> Operation {
        let bits = |bits: &[u32]| bits.iter().map(|&bit| to.bit(bit)).collect();
        let exprs = |exprs: &[ClassicalExpr]| exprs.iter().map(|e| e.renumbered(to)).collect();
        match self {
            Operation::Measure { bit } => Operation::Measure { bit: to.bit(*bit) },
            Operation::Assign { bit, value } => {
                Operation::Assign { bit: to.bit(*bit), value: *value }
            }
            Operation::ReadoutError { bits, probabilities } => Operation::ReadoutError {
                bits: bits.iter().map(|&bit| to.bit(bit)).collect(),
                probabilities: probabilities.clone(),
            },
            Operation::Store(assignment) => {
                let target = match &assignment.target {
                    ClassicalTarget::Bits(list) => ClassicalTarget::Bits(bits(list)),
                    ClassicalTarget::BitAt(list, index) => {
                        ClassicalTarget::BitAt(bits(list), index.renumbered(to))
                    }
                    ClassicalTarget::Variable(id) => ClassicalTarget::Variable(to.variable(*id)),
                    ClassicalTarget::Element(id, indices) => {
                        ClassicalTarget::Element(to.variable(*id), exprs(indices))
                    }
                };
                let value = assignment.value.renumbered(to);
                Operation::Store(Arc::new(ClassicalAssignment { target, value }))
            }
            Operation::For { over, body } => {
                let values = match &over.values {
                    ForValues::Range { start, step, end } => ForValues::Range {
                        start: start.renumbered(to),
                        step: step.renumbered(to),
                        end: end.renumbered(to),
                    },
                    ForValues::List(values) => ForValues::List(exprs(values)),
                };
                let variable = to.variable(over.variable);
                Operation::For { over: Arc::new(ForHeader { variable, values }), body: *body }
            }
            Operation::Switch { subject, body } => {
                Operation::Switch { subject: Arc::new(subject.renumbered(to)), body: *body }
            }
            Operation::RuntimeGate(gate) => gate.renumbered(to),
            other => other.clone(),
        }
    }

    /// Returns true if it acts on no qubits: an operation on classical values, a readout error, the
    /// header of a block, an exit.
    #[must_use]
    pub fn is_classical(&self) -> bool {
        self.body().is_some()
            || matches!(
                self,
                Operation::Store(_)
                    | Operation::Assign { .. }
                    | Operation::ReadoutError { .. }
                    | Operation::Break { .. }
                    | Operation::Continue { .. }
                    | Operation::End
            )
    }

    /// The number of instructions in the body of a loop or another block; `None` for any other
    /// operation.
    #[must_use]
    pub fn body(&self) -> Option<u32> {
        match self {
            Operation::While { body }
            | Operation::For { body, .. }
            | Operation::If { body }
            | Operation::Else { body }
            | Operation::Switch { body, .. }
            | Operation::Case { body, .. }
            | Operation::Block { body } => Some(*body),
            _ => None,
        }
    }

    /// Sets the number of instructions in the body.
    pub(crate) fn set_body(&mut self, length: u32) {
        if let Operation::While { body }
        | Operation::For { body, .. }
        | Operation::If { body }
        | Operation::Else { body }
        | Operation::Switch { body, .. }
        | Operation::Case { body, .. }
        | Operation::Block { body } = self
        {
            *body = length;
        }
    }

    /// Returns true if it is a gate whose matrix is known before the run, up to parameters: one of
    /// the table, a rotation about a Pauli string, or a matrix.
    #[must_use]
    pub fn is_gate(&self) -> bool {
        matches!(self, Operation::Gate(_) | Operation::PauliRotation(_) | Operation::Unitary(_))
    }

    /// Returns true if it is a gate, whether its angles are known before the run or are computed
    /// when it runs.
    #[must_use]
    pub fn applies_gate(&self) -> bool {
        self.is_gate() || matches!(self, Operation::RuntimeGate(_))
    }

    /// Returns true if it changes no state, whatever its qubits are: a barrier or a delay.
    #[must_use]
    pub fn does_nothing(&self) -> bool {
        matches!(self, Operation::Barrier | Operation::Delay { .. })
    }

    /// Returns true if it is a gate whose matrix is known before the run, or has no effect.
    #[must_use]
    pub fn is_unitary(&self) -> bool {
        self.is_gate() || self.does_nothing()
    }

    /// Returns true if it has an inverse and can be controlled: if it is a gate, or has no effect.
    pub(super) fn is_invertible(&self) -> bool {
        self.applies_gate() || self.does_nothing()
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

    /// Calls `f` with every bit that its condition and its expressions read.
    pub fn for_each_bit_read(&self, f: &mut dyn FnMut(u32)) {
        self.for_each_read(&mut |place| {
            if let ReadPlace::Bit(bit) = place {
                f(bit);
            }
        });
    }

    /// Calls `f` with every variable that its condition and its expressions read.
    pub fn for_each_variable_read(&self, f: &mut dyn FnMut(VariableId)) {
        self.for_each_read(&mut |place| {
            if let ReadPlace::Variable(variable) = place {
                f(variable);
            }
        });
    }

    /// Returns true if its condition or its expressions read angles over parameters.
    pub(super) fn reads_angles(&self) -> bool {
        let mut found = false;
        self.for_each_read(&mut |place| found |= matches!(place, ReadPlace::Angle(_)));
        found
    }

    fn for_each_read(&self, f: &mut dyn FnMut(ReadPlace<'_>)) {
        if let Some(condition) = &self.condition {
            condition.for_each_place(f);
        }
        self.operation.for_each_read(f);
    }

    /// Returns the instruction with numbers in place of the angles over parameters that its
    /// condition and its expressions read. Those of gates stay.
    ///
    /// # Errors
    /// The first error of `number`.
    #[doc(hidden)]
    pub fn with_numbers<E>(
        &self,
        number: impl Fn(&Angle) -> Result<f64, E>,
    ) -> Result<Cow<'_, Instruction>, E> {
        let mut numbers = Ok(Vec::new());
        self.for_each_read(&mut |place| {
            if let (ReadPlace::Angle(angle), Ok(known)) = (place, &mut numbers) {
                match number(angle) {
                    Ok(value) => known.push((angle.clone(), value)),
                    Err(error) => numbers = Err(error),
                }
            }
        });
        let numbers = KnownAngles(numbers?);
        if numbers.0.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let condition = self.condition.as_ref().map(|c| Arc::new(c.renumbered(&numbers)));
        let operation = self.operation.renumbered(&numbers);
        Ok(Cow::Owned(Instruction { operation, condition, ..self.clone() }))
    }

    /// Lets it run only where this condition holds, too.
    pub(super) fn restrict(&mut self, condition: &Arc<Condition>) {
        self.condition = Some(match &self.condition {
            None => Arc::clone(condition),
            Some(inner) => Arc::new((**condition).clone().and((**inner).clone())),
        });
    }

    /// Replaces a unitary operation by its inverse.
    pub(super) fn invert(&mut self) {
        match &mut self.operation {
            Operation::Gate(gate) => *gate = gate.dagger(),
            Operation::RuntimeGate(gate) => self.operation = gate.dagger(),
            Operation::PauliRotation(rotation) => **rotation = rotation.dagger(),
            Operation::Unitary(matrix) => *matrix = Arc::new(matrix.dagger()),
            _ => {}
        }
    }
}

/// KnownAngles for angles over parameters.
struct KnownAngles(Vec<(Angle, f64)>);

impl Renumber for KnownAngles {
    fn bit(&self, bit: u32) -> u32 {
        bit
    }

    fn variable(&self, variable: VariableId) -> VariableId {
        variable
    }

    fn angle(&self, angle: &Angle) -> Angle {
        let known = self.0.iter().find(|(of, _)| of == angle);
        known.map_or_else(|| angle.clone(), |(_, value)| Angle::rad(*value))
    }
}
