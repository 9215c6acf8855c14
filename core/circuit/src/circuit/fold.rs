//! Constant folding: instructions whose effect on |0…0> is known need no run.
//!
//! A qubit that nothing has touched is |0>, and so is one that has just been reset; a classical bit
//! that nothing has written is 0. So
//!
//! | instruction | becomes |
//! |---|---|
//! | a reset of a qubit in \|0> | nothing |
//! | a measurement of such a qubit | a bit that gets the value 0 |
//! | a gate under a control in \|0> | nothing, or the gate without that control |
//! | a condition on bits that are known | nothing, or the instruction without it |
//! | a channel or a readout error of probability 0 | nothing |
//! | a loop whose condition does not hold when it is reached | nothing |
//!
//! Facts that a loop changes are unknown in it and after it.
//!
//! A measurement after which nothing uses its qubit and its bit is final, and is set aside where
//! states are computed. So an instruction that uses the qubit or bit of a measurement stays, even
//! if it has no effect, and so does the condition of a measurement, even if it holds: otherwise the
//! measurement would become a final one.

use std::collections::HashMap;

use num_complex::Complex;
use smallvec::SmallVec;

use super::{Circuit, Condition, Instruction, Operation, Relation};
use crate::{
    channel::Channel,
    matrix::Matrix,
    param::{Angle, Binding, Values},
};

impl Circuit {
    /// Returns a circuit with the same effect on |0…0> without the instructions whose effect is
    /// known in advance: resets of fresh qubits, conditions on bits that nothing has written, noise
    /// of probability 0. The parameters stay as they are. O(instructions).
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, Condition};
    /// let mut c = Circuit::new(2);
    /// c.add_register("c", 1)?;
    /// c.reset(0)?.h(0)?.bit_flip(0, 0.0)?;
    /// c.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1))?;
    /// assert_eq!(c.folded().to_string(), "h q[0]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    #[must_use]
    pub fn folded(&self) -> Circuit {
        let mut known = CircuitFacts::default();
        let mut instructions = Vec::with_capacity(self.instructions.len());
        known.fold(&self.instructions, &mut instructions);
        Circuit { instructions, ..self.clone() }
    }
}

/// Known facts about a qubit.
#[derive(Clone, Copy)]
struct QubitFacts {
    /// True if it is |0>, whatever the state of the others is.
    fresh: bool,
    /// True if it has been measured, and nothing has used it since.
    measured: bool,
}

impl QubitFacts {
    const NEW: QubitFacts = QubitFacts { fresh: true, measured: false };
    const USED: QubitFacts = QubitFacts { fresh: false, measured: false };
}

/// Known facts about a classical bit.
#[derive(Clone, Copy)]
struct BitFacts {
    value: Option<bool>,
    /// True if it has been written: it is a result even if its value is the one that it had before.
    written: bool,
    /// True if a measurement has written it, and nothing has used it since.
    measured: bool,
}

impl BitFacts {
    const NEW: BitFacts = BitFacts { value: Some(false), written: false, measured: false };
}

/// Known facts between two instructions. Qubits and bits that are not listed are new.
#[derive(Clone, Default)]
struct CircuitFacts {
    qubits: HashMap<u32, QubitFacts>,
    bits: HashMap<u32, BitFacts>,
}

impl CircuitFacts {
    fn fold(&mut self, instructions: &[Instruction], out: &mut Vec<Instruction>) {
        let mut at = 0;
        while let Some(instruction) = instructions.get(at) {
            at += 1;
            let Some(body) = instruction.operation.body() else {
                out.extend(self.folded(instruction));
                continue;
            };
            let end = at.saturating_add(body as usize).min(instructions.len());
            let body = &instructions[at..end];
            at = end;
            let has_else = instructions
                .get(end)
                .is_some_and(|next| matches!(next.operation, Operation::Else { .. }));
            let is_left_out = match instruction.operation {
                Operation::While { .. } => true,
                Operation::If { .. } => !has_else,
                _ => false,
            };
            let never = is_left_out
                && instruction.condition.as_ref().and_then(|c| self.truth(c)) == Some(false);
            if never && !std::iter::once(instruction).chain(body).any(|i| self.uses_measured(i)) {
                continue;
            }
            // At the header nothing is known about the qubits and bits that the block changes.
            self.use_bits(instruction);
            body.iter().for_each(|i| self.forget(i));
            let head = out.len();
            out.push(instruction.clone());
            self.clone().fold(body, out);
            out[head + 1..].iter().for_each(|i| self.used(i));
            let body = u32::try_from(out.len() - head - 1).unwrap_or(u32::MAX);
            out[head].operation.set_body(body);
        }
    }

    /// Returns the folded instruction, if anything is left of it, and updates the facts.
    fn folded(&mut self, instruction: &Instruction) -> Option<Instruction> {
        if instruction.operation.does_nothing() {
            return Some(instruction.clone());
        }
        let left = self.reduced(instruction);
        if left.as_ref() != Some(instruction) && self.uses_measured(instruction) {
            self.run(instruction);
            return Some(instruction.clone());
        }
        left.as_ref().inspect(|left| self.run(left)).cloned()
    }

    /// Returns the part of an instruction that has an effect, without regard to later instructions.
    fn reduced(&self, instruction: &Instruction) -> Option<Instruction> {
        let mut left = instruction.clone();
        if let Some(condition) = &instruction.condition {
            match self.truth(condition) {
                // A measurement without a condition may be a final one.
                Some(true) if matches!(left.operation, Operation::Measure { .. }) => {}
                Some(true) => left.condition = None,
                Some(false) => return None,
                None => {}
            }
        }
        let target = left.targets.first().copied().unwrap_or(0);
        match &left.operation {
            Operation::Reset if self.is_fresh(target) => return None,
            Operation::Measure { bit } if self.is_fresh(target) => {
                left.operation = Operation::Assign { bit: *bit, value: false };
                left.targets = SmallVec::new();
                left.condition = left.condition.filter(|c| self.truth(c).is_none());
            }
            Operation::ReadoutError { probabilities, .. } if probabilities.iter().all(is_never) => {
                return None;
            }
            Operation::Channel(channel) if does_nothing(channel) => return None,
            operation if operation.applies_gate() => {
                if left.controls.iter().any(|c| c.value && self.is_fresh(c.qubit)) {
                    return None;
                }
                left.controls.retain(|c| !self.is_fresh(c.qubit));
            }
            _ => {}
        }
        // A bit that has been given this value before.
        let repeats = |bit: BitFacts, value| bit.written && bit.value == Some(value);
        match left.operation {
            Operation::Assign { bit, value } if repeats(self.bit(bit), value) => None,
            _ => Some(left),
        }
    }

    /// Updates the facts after an instruction.
    fn run(&mut self, instruction: &Instruction) {
        self.use_bits(instruction);
        let always = instruction.condition.is_none();
        let target = instruction.targets.first().copied().unwrap_or(0);
        match instruction.operation {
            Operation::Measure { bit } => {
                self.write(bit, BitFacts { value: None, written: true, measured: true });
                self.set(target, QubitFacts { measured: true, fresh: false });
            }
            Operation::Assign { bit, value } => {
                let before = self.bit(bit).value;
                let is_known = always || before == Some(value);
                self.write(
                    bit,
                    BitFacts { value: is_known.then_some(value), written: true, measured: false },
                );
            }
            Operation::Store(_) => instruction.operation.written().iter().for_each(|&bit| {
                self.write(bit, BitFacts { value: None, written: true, measured: false });
            }),
            Operation::ReadoutError { ref bits, .. } => bits.iter().for_each(|&bit| {
                let measured = self.bit(bit).measured;
                self.write(bit, BitFacts { value: None, written: true, measured });
            }),
            Operation::Reset if always => self.set(target, QubitFacts::NEW),
            _ => instruction.qubits().for_each(|q| self.set(q, QubitFacts::USED)),
        }
    }

    /// Drops the facts that an instruction may change.
    fn forget(&mut self, instruction: &Instruction) {
        if instruction.operation.does_nothing() || instruction.operation.body().is_some() {
            return;
        }
        for &bit in instruction.operation.written() {
            let measured = self.bit(bit).measured;
            self.write(bit, BitFacts { value: None, written: true, measured });
        }
        for q in instruction.qubits() {
            let measured = self.qubit(q).measured;
            self.set(q, QubitFacts { fresh: false, measured });
        }
    }

    /// Marks the qubits and bits of an instruction in a loop as used, those of measurements
    /// included.
    fn used(&mut self, instruction: &Instruction) {
        self.use_bits(instruction);
        if instruction.operation.does_nothing() {
            return;
        }
        for &bit in instruction.operation.written() {
            self.write(bit, BitFacts { value: None, written: true, measured: false });
        }
        instruction.qubits().for_each(|q| self.set(q, QubitFacts::USED));
    }

    /// Returns true if it uses the qubit or the bit of a measurement that nothing else has used.
    fn uses_measured(&self, instruction: &Instruction) -> bool {
        if instruction.operation.does_nothing() {
            return false;
        }
        let is_measured = |bit: u32| self.bit(bit).measured;
        let mut any = instruction.operation.written().iter().any(|&bit| is_measured(bit));
        instruction.for_each_bit_read(&mut |bit| any |= is_measured(bit));
        any || instruction.qubits().any(|q| self.qubit(q).measured)
    }

    /// Marks the bits that an instruction reads as used.
    fn use_bits(&mut self, instruction: &Instruction) {
        instruction.for_each_bit_read(&mut |bit| {
            let now = BitFacts { measured: false, ..self.bit(bit) };
            self.write(bit, now);
        });
    }

    fn qubit(&self, qubit: u32) -> QubitFacts {
        self.qubits.get(&qubit).copied().unwrap_or(QubitFacts::NEW)
    }

    fn bit(&self, bit: u32) -> BitFacts {
        self.bits.get(&bit).copied().unwrap_or(BitFacts::NEW)
    }

    fn is_fresh(&self, qubit: u32) -> bool {
        self.qubit(qubit).fresh
    }

    fn set(&mut self, qubit: u32, now: QubitFacts) {
        self.qubits.insert(qubit, now);
    }

    fn write(&mut self, bit: u32, now: BitFacts) {
        self.bits.insert(bit, now);
    }

    /// Returns the truth value of a condition, if it is known.
    fn truth(&self, condition: &Condition) -> Option<bool> {
        let value = |bit: &u32| self.bit(*bit).value;
        let all = |list: &[Condition], until: bool| {
            let mut unknown = false;
            for condition in list {
                match self.truth(condition) {
                    Some(truth) if truth == until => return Some(until),
                    Some(_) => {}
                    None => unknown = true,
                }
            }
            (!unknown).then_some(!until)
        };
        match condition {
            Condition::Bit { bit, value: wanted } => Some(value(bit)? == *wanted),
            Condition::Not(inner) => self.truth(inner).map(|truth| !truth),
            Condition::All(list) => all(list, false),
            Condition::Any(list) => all(list, true),
            Condition::Expr(expr) => expr.value().map(|value| value == 1),
            Condition::Compare { bits, relation, value: constant } => {
                let is = |unknown: bool| condition.holds(&|bit| value(&bit).unwrap_or(unknown));
                let constant = |k: usize| constant.get(k).copied().unwrap_or(false);
                let differs = bits
                    .iter()
                    .enumerate()
                    .any(|(k, b)| value(b).is_some_and(|v| v != constant(k)));
                match relation {
                    _ if bits.iter().all(|b| value(b).is_some()) => Some(is(false)),
                    Relation::Equal if differs => Some(false),
                    Relation::NotEqual if differs => Some(true),
                    Relation::Equal | Relation::NotEqual => None,
                    // Both the least and the greatest number give the same result.
                    _ => (is(false) == is(true)).then(|| is(false)),
                }
            }
        }
    }
}

/// Returns true if a probability is 0.
fn is_never(chance: &Angle) -> bool {
    let value: Result<Complex<f64>, _> = Values::<f64>(&[]).probability(chance);
    chance.is_constant() && value.is_ok_and(|p| p == Complex::new(0.0, 0.0))
}

/// Returns true if a channel is the identity, whatever the parameters of the circuit are.
fn does_nothing(channel: &Channel) -> bool {
    if !channel.params().iter().all(Angle::is_constant) {
        return false;
    }
    let Ok(terms) = channel.terms::<Complex<f64>>(&Values::<f64>(&[])) else { return false };
    let is_multiple = |a: &Matrix<Complex<f64>>| {
        let n = 1 << a.n_qubits();
        let mut places = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        places.all(|(i, j)| a[(i, j)] == if i == j { a[(0, 0)] } else { Complex::new(0.0, 0.0) })
    };
    terms.iter().all(|(weight, a)| *weight == Complex::new(0.0, 0.0) || is_multiple(a))
}
