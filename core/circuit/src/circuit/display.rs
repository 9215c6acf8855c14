//! Circuits as text for people: one instruction a line.

use std::fmt;

use super::{
    Circuit, ClassicalAssignment, ClassicalTarget, ForValues, Instruction, Operation, Part,
};
use crate::{
    classical::{CircuitNames, ClassicalExpr, PlaceNames, VariableId},
    gate::{GateKind, NAMED_GATES},
    param::Angle,
};

/// Returns the name of a gate with its controls, if they have one together.
fn named_gate(kind: GateKind, instruction: &Instruction) -> Option<&'static str> {
    let n = instruction.controls.len();
    let plain = instruction.controls.iter().all(|c| c.value);
    let named = NAMED_GATES.iter().find(|g| g.kind == kind && g.n_controls == n);
    named.filter(|_| plain).map(|named| named.name)
}

/// `cx` for X under one control of value 1; `c2-ecr` where controls have no common name.
#[must_use]
pub fn operation_name(instruction: &Instruction) -> String {
    let base = match &instruction.operation {
        Operation::Gate(gate) => match named_gate(gate.kind(), instruction) {
            Some(named) => return named.to_owned(),
            None => gate.kind().name(),
        },
        Operation::RuntimeGate(gate) => match named_gate(gate.kind(), instruction) {
            Some(named) => return named.to_owned(),
            None => gate.kind().name(),
        },
        Operation::PauliRotation(_) => "pauli_rotation",
        Operation::Unitary(_) => "unitary",
        Operation::Measure { .. } => "measure",
        Operation::Reset => "reset",
        Operation::Channel(channel) => channel.name(),
        Operation::ReadoutError { .. } => "readout_error",
        Operation::Assign { .. } => "assign",
        Operation::Barrier => "barrier",
        Operation::Delay { .. } => "delay",
        Operation::Store(_) => "store",
        Operation::While { .. } => "while",
        Operation::For { .. } => "for",
        Operation::If { .. } => "if",
        Operation::Else { .. } => "else",
        Operation::Switch { .. } => "switch",
        Operation::Case { .. } => "case",
        Operation::Block { .. } => "block",
        Operation::Break { .. } => "break",
        Operation::Continue { .. } => "continue",
        Operation::End => "end",
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
        let mut parts = self.parts().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Run(run) => {
                    for instruction in run {
                        write!(f, "{:1$}", "", 2 * depth)?;
                        write(self, instruction, f)?;
                    }
                }
                Part::Open { head, .. } => {
                    // `} else {` stays in one line.
                    let is_else = matches!(head.operation, Operation::Else { .. });
                    if !is_else {
                        write!(f, "{:1$}", "", 2 * depth)?;
                    }
                    writeln!(f, "{} {{", self.header_text(head))?;
                    depth += 1;
                }
                Part::Close { .. } => {
                    depth -= 1;
                    write!(f, "{:1$}}}", "", 2 * depth)?;
                    let is_else = |part: &Part<'_>| matches!(part, Part::Open { head, .. } if matches!(head.operation, Operation::Else { .. }));
                    match parts.peek().is_some_and(is_else) {
                        true => write!(f, " ")?,
                        false => writeln!(f)?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Names of the classical places of a circuit.
pub(super) struct Names<'a>(pub(super) &'a Circuit);

impl PlaceNames for Names<'_> {
    fn bit(&self, bit: u32) -> String {
        CircuitNames.bit(bit)
    }

    fn bits(&self, bits: &[u32]) -> String {
        CircuitNames.bits(bits)
    }

    fn variable(&self, variable: VariableId) -> String {
        self.0.variables().get(variable.index()).map_or_else(String::new, |v| v.name.clone())
    }

    fn angle(&self, angle: &Angle) -> String {
        self.0.angle_text(angle)
    }
}

impl Circuit {
    /// The header of a block, without its brace.
    fn header_text(&self, head: &Instruction) -> String {
        let condition = head.condition.as_ref();
        let condition = || condition.map_or_else(|| "true".to_owned(), |c| c.text(&Names(self)));
        match &head.operation {
            Operation::While { .. } => format!("while ({})", condition()),
            Operation::If { .. } => format!("if ({})", condition()),
            Operation::For { over, .. } => {
                let variable = Names(self).variable(over.variable);
                format!("for {variable} in {}", over.values.text(&Names(self)))
            }
            Operation::Switch { subject, .. } => format!("switch ({})", subject.text(&Names(self))),
            Operation::Case { labels, .. } => case_text(labels),
            other => operation_name(&Instruction { operation: other.clone(), ..head.clone() }),
        }
    }
}

/// The header of a case.
#[doc(hidden)]
#[must_use]
pub fn case_text(labels: &[i128]) -> String {
    if labels.is_empty() {
        return "default".to_owned();
    }
    let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
    format!("case {}", labels.join(", "))
}

impl ForValues {
    /// The values of a loop in OpenQASM 3, with these names of what they read.
    #[doc(hidden)]
    #[must_use]
    pub fn text(&self, names: &dyn PlaceNames) -> String {
        let text = |expr: &ClassicalExpr| expr.text(names);
        match self {
            ForValues::Range { start, step, end } if step.value() == Some(1) => {
                format!("[{}:{}]", text(start), text(end))
            }
            ForValues::Range { start, step, end } => {
                format!("[{}:{}:{}]", text(start), text(step), text(end))
            }
            ForValues::List(values) => {
                let values: Vec<String> = values.iter().map(text).collect();
                format!("{{{}}}", values.join(", "))
            }
        }
    }
}

impl ClassicalAssignment {
    /// The assignment in OpenQASM 3, with these names of what it reads and writes.
    #[doc(hidden)]
    #[must_use]
    pub fn text(&self, names: &dyn PlaceNames) -> String {
        let target = match &self.target {
            ClassicalTarget::Bits(bits) => match &**bits {
                [bit] => names.bit(*bit),
                bits => names.bits(bits),
            },
            ClassicalTarget::BitAt(bits, index) => {
                format!("{}[{}]", names.bits(bits), index.converted_text(names).0)
            }
            ClassicalTarget::Variable(id) => names.variable(*id),
            ClassicalTarget::Element(id, indices) => {
                let indices: Vec<String> =
                    indices.iter().map(|index| index.converted_text(names).0).collect();
                format!("{}[{}]", names.variable(*id), indices.join(", "))
            }
        };
        format!("{target} = {}", self.value.converted_text(names).0)
    }
}

fn write(circuit: &Circuit, instruction: &Instruction, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(condition) = &instruction.condition {
        write!(f, "if ({}) ", condition.text(&Names(circuit)))?;
    }
    match &instruction.operation {
        Operation::Store(assignment) => {
            return writeln!(f, "{}", assignment.text(&Names(circuit)));
        }
        Operation::Break { levels: 1 } | Operation::Continue { levels: 1 } => {}
        Operation::Break { levels } => return writeln!(f, "break {levels}"),
        Operation::Continue { levels } => return writeln!(f, "continue {levels}"),
        _ => {}
    }
    f.write_str(&operation_name(instruction))?;
    if let Operation::Delay { length } = &instruction.operation {
        write!(f, "[{length}]")?;
    }
    let params = instruction.operation.params();
    if !params.is_empty() {
        let text = |(k, angle): (usize, &Angle)| match &instruction.operation {
            Operation::RuntimeGate(gate) => circuit.runtime_angle_text(gate, k),
            _ => circuit.angle_text(angle),
        };
        let params: Vec<String> = params.iter().enumerate().map(text).collect();
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
