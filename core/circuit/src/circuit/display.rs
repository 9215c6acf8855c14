//! Circuits as text for people: one instruction a line.

use std::fmt;

use super::{Circuit, Instruction, Operation, Part};
use crate::gate::NAMED_GATES;

/// `cx` for X under one control of value 1; `c2-ecr` where controls have no common name.
pub(super) fn operation_name(instruction: &Instruction) -> String {
    let base = match &instruction.operation {
        Operation::Gate(gate) => {
            let n = instruction.controls.len();
            let plain = instruction.controls.iter().all(|c| c.value);
            let named = NAMED_GATES.iter().find(|g| g.kind == gate.kind() && g.n_controls == n);
            if let (true, Some(named)) = (plain, named) {
                return named.name.to_owned();
            }
            gate.kind().name()
        }
        Operation::PauliRotation(_) => "pauli_rotation",
        Operation::Unitary(_) => "unitary",
        Operation::Measure { .. } => "measure",
        Operation::Reset => "reset",
        Operation::Channel(channel) => channel.name(),
        Operation::ReadoutError { .. } => "readout_error",
        Operation::Assign { .. } => "assign",
        Operation::Barrier => "barrier",
        Operation::Delay { .. } => "delay",
        Operation::While { .. } => "while",
    };
    match instruction.controls.len() {
        0 => base.to_owned(),
        n => format!("c{n}-{base}"),
    }
}

/// One instruction a line, bodies of loops indented. A control of value 0 is marked `!q[0]`.
impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        for part in self.parts() {
            match part {
                Part::Run(run) => {
                    for instruction in run {
                        write!(f, "{:1$}", "", 2 * depth)?;
                        write(self, instruction, f)?;
                    }
                }
                Part::Loop { head, .. } => {
                    let condition = head
                        .condition
                        .as_ref()
                        .map_or_else(|| "true".to_owned(), |c| c.to_string());
                    writeln!(f, "{:1$}while ({condition}) {{", "", 2 * depth)?;
                    depth += 1;
                }
                Part::End => {
                    depth -= 1;
                    writeln!(f, "{:1$}}}", "", 2 * depth)?;
                }
            }
        }
        Ok(())
    }
}

fn write(circuit: &Circuit, instruction: &Instruction, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(condition) = &instruction.condition {
        write!(f, "if ({condition}) ")?;
    }
    f.write_str(&operation_name(instruction))?;
    if let Operation::Delay { length } = &instruction.operation {
        write!(f, "[{length}]")?;
    }
    let params = instruction.operation.params();
    if !params.is_empty() {
        let params: Vec<String> = params.iter().map(|a| circuit.angle_text(a)).collect();
        write!(f, "({})", params.join(", "))?;
    }
    let controls = instruction.controls.iter().map(|c| (if c.value { "" } else { "!" }, c.qubit));
    let letter = |j: usize| match &instruction.operation {
        Operation::PauliRotation(rotation) => {
            rotation.letters().get(j).map_or("", |letter| letter.word())
        }
        _ => "",
    };
    let targets = instruction.targets.iter().enumerate().map(|(j, &q)| (letter(j), q));
    for (i, (mark, qubit)) in controls.chain(targets).enumerate() {
        write!(f, "{}{mark}q[{qubit}]", if i == 0 { " " } else { ", " })?;
    }
    match &instruction.operation {
        Operation::Measure { .. } | Operation::ReadoutError { .. } => {
            for (k, bit) in instruction.operation.written().iter().enumerate() {
                write!(f, "{} c[{bit}]", if k == 0 { " ->" } else { "," })?;
            }
        }
        Operation::Assign { bit, value } => write!(f, " c[{bit}] = {}", u8::from(*value))?,
        _ => {}
    }
    writeln!(f)
}
