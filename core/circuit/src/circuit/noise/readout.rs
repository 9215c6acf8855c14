//! Readout errors of a noise model, and the measurements that they follow.
//!
//! The readout error of a single qubit follows each measurement of it. If qubits are read together,
//! their readout error follows the last of their measurements; instructions in between must not use
//! a measured bit, whose value they would see without the error:
//!
//! ```text
//! a = measure q[0];   h q[2];   b = measure q[1];   readout_error(…) a, b
//! a = measure q[0];   if (a) x q[1];                an error: `a` is not read yet
//! ```

use std::sync::Arc;

use super::{among, conditioned};
use crate::{
    circuit::{Circuit, CircuitError, Condition, Instruction, Operation, ReadoutBitList},
    param::Angle,
};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReadoutRule {
    /// Measured qubits that the rule is for; `None` is all.
    pub(super) qubits: Option<Vec<usize>>,
    /// Probabilities as in a readout error of a circuit; if there is more than one bit, the qubits
    /// are read together.
    pub(super) probabilities: Arc<[Angle]>,
}

impl ReadoutRule {
    /// The qubits that are read together, if they are more than one.
    fn together(&self) -> Option<&[usize]> {
        self.qubits.as_deref().filter(|_| self.probabilities.len() > 2)
    }

    /// Returns true if a circuit measures such qubits.
    pub(super) fn acts_in(&self, circuit: &Circuit) -> bool {
        let measures =
            |i: &Instruction| measured(i).is_some_and(|(qubit, _)| among(&self.qubits, qubit));
        circuit.instructions().iter().any(measures)
    }

    fn apart(&self, why: impl Into<String>) -> CircuitError {
        CircuitError::ReadingApart {
            qubits: self.qubits.clone().unwrap_or_default(),
            why: why.into(),
        }
    }
}

/// The qubit and the bit of a measurement.
fn measured(instruction: &Instruction) -> Option<(u32, u32)> {
    match (&instruction.operation, instruction.targets.first()) {
        (&Operation::Measure { bit }, Some(&qubit)) => Some((qubit, bit)),
        _ => None,
    }
}

/// Measurements so far of qubits that are read together, while others of them are still pending.
#[derive(Default)]
struct ReadoutGroup {
    /// Bits by the position of the qubit among those of the rule.
    bits: Vec<Option<u32>>,
    condition: Option<Arc<Condition>>,
}

impl ReadoutGroup {
    fn is_open(&self) -> bool {
        self.bits.iter().any(Option::is_some)
    }

    fn holds(&self, bit: u32) -> bool {
        self.bits.contains(&Some(bit))
    }
}

/// Groups of all readout errors; empty ones for those of single qubits.
pub(super) struct PendingReadouts(Vec<ReadoutGroup>);

impl PendingReadouts {
    pub(super) fn new(readings: &[ReadoutRule]) -> PendingReadouts {
        let group = |reading: &ReadoutRule| {
            let qubits = reading.together().map_or(0, <[_]>::len);
            ReadoutGroup { bits: vec![None; qubits], condition: None }
        };
        PendingReadouts(readings.iter().map(group).collect())
    }

    /// Checks that an instruction does not use a bit whose readout is pending.
    pub(super) fn check(
        &self,
        readings: &[ReadoutRule],
        instruction: &Instruction,
    ) -> Result<(), CircuitError> {
        for (reading, group) in readings.iter().zip(&self.0).filter(|(_, group)| group.is_open()) {
            let mut used =
                instruction.operation.written().iter().find(|bit| group.holds(**bit)).copied();
            instruction.for_each_bit_read(&mut |bit| {
                if group.holds(bit) {
                    used = Some(bit);
                }
            });
            if let Some(bit) = used {
                let why = format!("classical bit {bit} is used before all of them are measured");
                return Err(reading.apart(why));
            }
            let own = |qubit: u32| {
                reading.together().and_then(|q| q.iter().position(|q| *q == qubit as usize))
            };
            let Some(place) = measured(instruction).and_then(|(qubit, _)| own(qubit)) else {
                continue;
            };
            if group.bits[place].is_some() {
                let qubit = instruction.targets[0];
                return Err(
                    reading.apart(format!("qubit {qubit} is measured twice before all others are"))
                );
            }
            if group.condition != instruction.condition {
                return Err(reading.apart("they are measured under different conditions"));
            }
        }
        Ok(())
    }

    /// Checks that no readout is pending at the beginning or the end of a loop or another block.
    pub(super) fn turn(&self, readings: &[ReadoutRule]) -> Result<(), CircuitError> {
        let open = readings.iter().zip(&self.0).find(|(_, group)| group.is_open());
        open.map_or(Ok(()), |(reading, _)| {
            Err(reading.apart("the beginning or the end of a loop is between their measurements"))
        })
    }

    /// Checks that no readout is pending at the end.
    pub(super) fn finish(&self, readings: &[ReadoutRule]) -> Result<(), CircuitError> {
        let open = readings.iter().zip(&self.0).find(|(_, group)| group.is_open());
        open.map_or(Ok(()), |(reading, group)| {
            let qubits = reading.qubits.iter().flatten().zip(&group.bits);
            let missing =
                qubits.filter(|(_, bit)| bit.is_none()).map(|(qubit, _)| qubit.to_string());
            let missing = missing.collect::<Vec<_>>().join(", ");
            Err(reading.apart(format!("the circuit does not measure {missing} with the others")))
        })
    }

    /// Appends the readout errors that follow an instruction.
    pub(super) fn follow(
        &mut self,
        readings: &[ReadoutRule],
        probabilities: &[Arc<[Angle]>],
        instruction: &Instruction,
        out: &mut Circuit,
    ) -> Result<(), CircuitError> {
        let Some((qubit, bit)) = measured(instruction) else { return Ok(()) };
        let all = || readings.iter().zip(probabilities);
        let mut readout_error = |bits: ReadoutBitList, probabilities: &Arc<[Angle]>| {
            let operation =
                Operation::ReadoutError { bits, probabilities: Arc::clone(probabilities) };
            out.push(conditioned(instruction, operation, &[])).map(|_| ())
        };
        for (_, probabilities) in
            all().filter(|(r, _)| r.together().is_none() && among(&r.qubits, qubit))
        {
            readout_error(ReadoutBitList::from_slice(&[bit]), probabilities)?;
        }
        for ((reading, probabilities), group) in all().zip(&mut self.0) {
            let Some(qubits) = reading.together() else { continue };
            let Some(place) = qubits.iter().position(|q| *q == qubit as usize) else { continue };
            group.bits[place] = Some(bit);
            group.condition.clone_from(&instruction.condition);
            if let Some(bits) = group.bits.iter().copied().collect::<Option<ReadoutBitList>>() {
                readout_error(bits, probabilities)?;
                group.bits.fill(None);
            }
        }
        Ok(())
    }
}
