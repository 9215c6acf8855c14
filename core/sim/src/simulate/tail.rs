//! Classical tails: what a circuit computes from the outcomes of its last measurements.
//!
//! A measurement whose outcome only classical instructions read need not be made in the middle of a
//! run. With those instructions at the very end it is one of the final measurements, for which a
//! state is sampled once:
//!
//! ```text
//! h q[0]; c[0] = measure q[0]; n = n + c[0];         h q[0]; h q[1];      steps
//! h q[1]; c[1] = measure q[1]; n = n + c[1];    =    c = measure q;       final measurements
//!                                                    n = n + c[0]; …      tail, once an outcome
//! ```
//! An instruction or a block belongs to the tail if it is classical throughout, and nothing that
//! comes after it and is not in the tail writes what it reads or uses what it writes. The outcomes
//! have the same distribution; only states before the final measurements are others, so that the
//! outcomes of a circuit have a form of their own.

use std::ops::Range;

use super::{
    Bits, SimulateError, Simulator,
    endless::{CYCLE, FIRST},
    program::{Action, BoundCircuit, outermost_blocks},
};
use crate::{
    circuit::{BitSet, Circuit, Instruction, Operation},
    classical::VariableId,
    scalar::{Real, Scalar},
};

/// Phase of a run in which an instruction takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunPhase {
    /// It is a step, or a part of one.
    Steps,
    /// A final measurement, or a readout error after all of them.
    Readout,
    /// A classical instruction after the readout.
    Tail,
}

/// Bits and variables.
#[derive(Default)]
struct Places {
    bits: BitSet,
    variables: BitSet,
}

impl Places {
    fn has_variable(&self, id: VariableId) -> bool {
        u32::try_from(id.index()).is_ok_and(|id| self.variables.contains(id))
    }

    fn insert_variable(&mut self, id: VariableId) {
        if let Ok(id) = u32::try_from(id.index()) {
            self.variables.insert(id);
        }
    }

    fn add_written(&mut self, instruction: &Instruction) {
        let operation = &instruction.operation;
        operation.written().iter().for_each(|&bit| self.bits.insert(bit));
        operation.written_variable().into_iter().for_each(|id| self.insert_variable(id));
    }

    fn add_read(&mut self, instruction: &Instruction) {
        instruction.for_each_bit_read(&mut |bit| self.bits.insert(bit));
        instruction.for_each_variable_read(&mut |id| self.insert_variable(id));
    }

    fn has_written(&self, instruction: &Instruction) -> bool {
        let operation = &instruction.operation;
        operation.written().iter().any(|&bit| self.bits.contains(bit))
            || operation.written_variable().is_some_and(|id| self.has_variable(id))
    }

    fn has_read(&self, instruction: &Instruction) -> bool {
        let mut found = false;
        instruction.for_each_bit_read(&mut |bit| found |= self.bits.contains(bit));
        instruction.for_each_variable_read(&mut |id| found |= self.has_variable(id));
        found
    }
}

/// What comes later in a circuit and is not in the tail.
#[derive(Default)]
struct LaterUses {
    /// The qubits of steps.
    qubits: BitSet,
    /// What steps read or write.
    used: Places,
    /// What steps write.
    written: Places,
    /// Bits of the readout.
    readout: Places,
    /// True if there is anything.
    is_any: bool,
}

impl LaterUses {
    fn add_step(&mut self, instruction: &Instruction) {
        if instruction.operation.does_nothing() {
            return;
        }
        self.is_any = true;
        instruction.qubits().for_each(|q| self.qubits.insert(q));
        self.used.add_read(instruction);
        self.used.add_written(instruction);
        self.written.add_written(instruction);
    }

    fn add_readout(&mut self, instruction: &Instruction) {
        self.is_any = true;
        self.readout.add_written(instruction);
    }

    /// Returns true if a measurement or a readout error can wait for the end of the steps.
    fn can_be_readout(&self, instruction: &Instruction) -> bool {
        let bits = instruction.operation.written();
        let is_free = |&bit: &u32| !self.used.bits.contains(bit);
        instruction.condition.is_none()
            && bits.iter().all(is_free)
            && match instruction.operation {
                Operation::Measure { .. } => {
                    instruction.targets.iter().all(|&q| !self.qubits.contains(q))
                }
                // All measurements come first.
                Operation::ReadoutError { .. } => {
                    bits.iter().all(|&bit| !self.readout.bits.contains(bit))
                }
                _ => false,
            }
    }

    /// Returns true if a classical instruction can wait for the end of all else.
    fn can_be_tail(&self, instruction: &Instruction) -> bool {
        let operation = &instruction.operation;
        let is_classical = operation.is_classical() || operation.does_nothing();
        is_classical
            && !matches!(operation, Operation::ReadoutError { .. })
            && ![&self.used, &self.readout].iter().any(|later| later.has_written(instruction))
            && ![&self.written, &self.readout].iter().any(|later| later.has_read(instruction))
    }
}

/// Returns the phase of each instruction with a tail, if more measurements wait for it than those
/// that wait anyway. O(instructions).
pub(super) fn tail_phases(circuit: &Circuit, waits: &[bool]) -> Option<Vec<RunPhase>> {
    let instructions = circuit.instructions();
    let is_measurement =
        |at: &usize| matches!(instructions[*at].operation, Operation::Measure { .. });
    let n_waiting = |waits: &dyn Fn(usize) -> bool| {
        (0..instructions.len()).filter(is_measurement).filter(|&at| waits(at)).count()
    };
    let before = n_waiting(&|at| waits[at]);
    if before == n_waiting(&|_| true) {
        return None;
    }
    let mut later = LaterUses::default();
    let mut phases = vec![RunPhase::Steps; instructions.len()];
    for item in items(circuit).into_iter().rev() {
        let body = &instructions[item.clone()];
        let ends = body.iter().any(|i| matches!(i.operation, Operation::End));
        let phase = match body {
            [one] if later.can_be_readout(one) => RunPhase::Readout,
            _ if body.iter().all(|i| later.can_be_tail(i)) && !(ends && later.is_any) => {
                RunPhase::Tail
            }
            // What comes after it may not run.
            _ if ends => return None,
            _ => RunPhase::Steps,
        };
        match phase {
            RunPhase::Steps => body.iter().for_each(|i| later.add_step(i)),
            RunPhase::Readout => body.iter().for_each(|i| later.add_readout(i)),
            RunPhase::Tail => {}
        }
        phases[item].fill(phase);
    }
    let after = n_waiting(&|at| phases[at] == RunPhase::Readout);
    (after > before).then_some(phases)
}

/// Returns the positions of the instructions in no block and of the outermost blocks, an `else`
/// together with its `if`.
fn items(circuit: &Circuit) -> Vec<Range<usize>> {
    let mut blocks = outermost_blocks(circuit).into_iter().peekable();
    let mut items: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(first) = circuit.instructions().get(at) {
        let item = blocks.next_if(|block| block.start == at).unwrap_or(at..at + 1);
        at = item.end;
        match (&first.operation, items.last_mut()) {
            (Operation::Else { .. }, Some(before)) => before.end = item.end,
            _ => items.push(item),
        }
    }
    items
}

impl Simulator {
    /// Runs the tail of a circuit on the bits and variables of an outcome.
    ///
    /// # Errors
    /// [`SimulateError::Endless`], [`SimulateError::NeverEnds`], [`SimulateError::Cancelled`].
    pub(super) fn run_tail<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        memory: &mut Bits,
    ) -> Result<(), SimulateError> {
        if circuit.tail.is_empty() {
            return Ok(());
        }
        let layout = &circuit.layout;
        memory.extend(layout);
        let (mut at, mut rounds) = (0, 0);
        // A round that begins with the memory of an earlier one repeats.
        let mut snapshot = None;
        while let Some(step) = circuit.tail.get(at) {
            let holds = step.condition.as_ref().is_none_or(|c| c.holds(&memory.read(layout)));
            let mut begins_round = false;
            let next = match &step.action {
                Action::Classical(action) => {
                    let next = action.run((at, holds), memory, layout);
                    begins_round = action.end_of_round().is_some_and(|end| next != end);
                    next
                }
                Action::BackEdge { head } => *head,
                Action::While { end } if !holds => *end,
                Action::While { .. } => {
                    begins_round = true;
                    if rounds >= FIRST {
                        if snapshot.as_ref().is_some_and(|(head, old)| *head == at && old == memory)
                        {
                            return Err(SimulateError::NeverEnds { why: CYCLE });
                        }
                        if rounds.is_power_of_two() {
                            snapshot = Some((at, memory.clone()));
                        }
                    }
                    at + 1
                }
                Action::Assign { bit, value } if holds => {
                    memory.set(*bit, *value);
                    at + 1
                }
                // Nothing else is classical.
                _ => at + 1,
            };
            if begins_round {
                self.threads.check()?;
                if rounds >= self.max_rounds {
                    return Err(SimulateError::Endless { limit: self.max_rounds });
                }
                rounds += 1;
            }
            at = next;
        }
        circuit.forget_cells(memory);
        Ok(())
    }
}
