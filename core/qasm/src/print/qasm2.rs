//! OpenQASM 2: gates of `qelib1.inc`, definitions for the rest.
//!
//! The language has neither parameters nor phases of the whole state, so a circuit with open
//! parameters has no text, and the unitary is kept up to a phase. Controls without a name, and
//! those of value 0, become more gates (see `lower`).

use std::{collections::HashMap, fmt::Write};

use super::{
    PrintError, RegisterNames, ScratchRegisters, address, condition,
    definition::{Formals, definition},
    lower::{lower, qelib1},
    named_gates, named_qubits, named_registers,
    names::{Alphabet, UniqueNames},
    renamed_registers, synthesis,
    text::ParamTexts,
};
use crate::{
    circuit::{Circuit, Instruction, NamedCall, Operation},
    gate::{Gate, GateKind},
    param::Angle,
};

/// The circuit in OpenQASM 2, equal up to a phase of the whole state.
///
/// # Errors
/// [`PrintError`] for constructs that the language lacks: open parameters, conditions other than
/// the value of a whole register, assignments, loops, results that are discarded; and those of
/// [`to_qasm3`](super::to_qasm3).
pub fn to_qasm2(circuit: &Circuit) -> Result<String, PrintError> {
    let open: Vec<String> = circuit.inputs().map(str::to_owned).collect();
    if !open.is_empty() {
        return Err(PrintError::OpenParameters { names: open });
    }
    // A value that is computed from no inputs is a number.
    let values: Vec<f64> = circuit.param_values(&[])?;
    let number = |a: &Angle| a.substitute(|id| Angle::rad(values[id.index()]));
    let in_gates = circuit.decomposed();
    let mut instructions = in_gates.instructions().to_vec();
    for instruction in &mut instructions {
        instruction.operation = instruction.operation.map_params(number);
    }
    let hidden = ScratchRegisters::new(circuit);
    for instruction in &instructions {
        match instruction.operation {
            Operation::Measure { bit } if hidden.is_unread(bit) => {
                let qubit = instruction.targets.first().copied().unwrap_or_default();
                return Err(PrintError::Discarded { qubit });
            }
            _ => {
                if let Some(error) = not_in_the_language(&instruction.operation) {
                    return Err(error);
                }
            }
        }
    }
    if circuit.variables().iter().any(|variable| !variable.hidden) {
        return Err(PrintError::Classical { construct: "variables" });
    }
    let mut names = UniqueNames::new(Alphabet::Qasm2);
    let registers = named_registers(circuit, &mut names);
    let bits = RegisterNames::new(&registers);
    let qubits = named_qubits(circuit, &mut names);
    let qubit = RegisterNames::new(&qubits);
    let calls = plain_calls(&in_gates);
    let gates =
        named_gates(&calls, &mut names).into_iter().map(|(at, _, name)| (at, name)).collect();
    let mut printer =
        Qasm2Printer { names, gates, definitions: String::new(), defined: HashMap::new() };
    let mut body = String::new();
    let under = |instruction: &Instruction| match &instruction.condition {
        // An instruction without an effect needs no condition: a barrier cannot have one, a delay
        // is a comment.
        Some(c) if !instruction.operation.does_nothing() => match condition::qasm2(c, &bits) {
            Some(text) => Ok(format!("if ({text}) ")),
            None => Err(PrintError::Condition { condition: c.to_string() }),
        },
        _ => Ok(String::new()),
    };
    let mut at = 0;
    let ends = calls.iter().map(Some).chain([None]);
    for call in ends {
        let plain = at..call.map_or(instructions.len(), |call| call.instructions.start);
        for instruction in lower(&instructions[plain])? {
            if let Some(text) = printer.statement(&instruction, &bits, &|i| qubit.name(i))? {
                // Writing to a String cannot fail.
                let _ = writeln!(body, "{}{text}", under(&instruction)?);
            }
        }
        let Some(call) = call else { break };
        at = call.instructions.end;
        let args: Vec<Angle> = call.args.iter().map(number).collect();
        let text = printer.named_call(call, &args, &|i| qubit.name(i))?;
        let _ = writeln!(body, "{}{text}", under(&instructions[call.instructions.start])?);
    }
    let mut text = String::from("OPENQASM 2.0;\ninclude \"qelib1.inc\";\n");
    text.push_str(&printer.definitions);
    for (name, size) in &qubits {
        let _ = writeln!(text, "qreg {name}[{size}];");
    }
    for (name, size) in &registers {
        let _ = writeln!(text, "creg {name}[{size}];");
    }
    text.push_str(&body);
    Ok(text)
}

/// The error for a variable or a block.
fn not_in_the_language(operation: &Operation) -> Option<PrintError> {
    let construct = match operation {
        Operation::While { .. } | Operation::For { .. } => return Some(PrintError::Loop),
        Operation::Store(_) => "assignments of expressions",
        Operation::RuntimeGate(_) => "angles that are computed when a gate runs",
        Operation::Break { .. } | Operation::Continue { .. } => "exits of loops",
        Operation::End => "`end`",
        operation => operation.body().map(|_| "blocks of instructions")?,
    };
    Some(PrintError::Classical { construct })
}

/// Returns the calls of gates with definitions that the language can express: it has no modifiers.
fn plain_calls(circuit: &Circuit) -> Vec<NamedCall<'_>> {
    let mut calls = circuit.calls();
    calls.retain(NamedCall::is_plain);
    calls
}

/// Returns the registers and gates that [`to_qasm2`] renames, as
/// [`renamed_in_qasm3`](super::renamed_in_qasm3) does.
#[must_use]
pub fn renamed_in_qasm2(circuit: &Circuit) -> Vec<(String, String)> {
    let mut names = UniqueNames::new(Alphabet::Qasm2);
    let mut pairs = renamed_registers(circuit, &mut names);
    let gates = circuit.decomposed();
    let gates = named_gates(&plain_calls(&gates), &mut names);
    pairs.extend(gates.into_iter().map(|(_, old, new)| (old.to_owned(), new)));
    pairs.retain(|(old, new)| old != new);
    pairs
}

/// Key of a definition: a gate of the table with a body, a matrix by the bits of its entries, or a
/// gate of the circuit by its address.
#[derive(PartialEq, Eq, Hash)]
enum Qasm2Key {
    Kind(GateKind),
    Matrix(Vec<u64>),
    Named(usize),
}

struct Qasm2Printer {
    names: UniqueNames,
    /// The names of the gates of the circuit, by address.
    gates: HashMap<usize, String>,
    definitions: String,
    defined: HashMap<Qasm2Key, String>,
}

impl Qasm2Printer {
    /// One lowered instruction without its condition; `None` if there is nothing to write.
    fn statement(
        &mut self,
        instruction: &Instruction,
        bits: &RegisterNames,
        qubit: &dyn Fn(u32) -> String,
    ) -> Result<Option<String>, PrintError> {
        let qubits = instruction.qubits().map(qubit).collect::<Vec<_>>().join(", ");
        Ok(Some(match &instruction.operation {
            Operation::Gate(gate) => {
                let texts = ParamTexts::new(&Circuit::new(0), &[])?;
                self.call(gate, instruction, &texts, qubit)?
            }
            Operation::Unitary(matrix) => {
                let entries = matrix.entries().iter();
                let key = Qasm2Key::Matrix(
                    entries.flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect(),
                );
                let name = match self.defined.get(&key) {
                    Some(name) => name.clone(),
                    None => {
                        let name = self.names.allocate("unitary");
                        let body = synthesis::synthesize(matrix)?;
                        self.define(&name, &body, &Formals::usual(&body))?;
                        self.defined.insert(key, name.clone());
                        name
                    }
                };
                format!("{name} {qubits};")
            }
            Operation::Measure { bit } => format!("measure {qubits} -> {};", bits.name(*bit)),
            Operation::Reset => format!("reset {qubits};"),
            Operation::Assign { bit, value } => {
                return Err(PrintError::Assign { bit: *bit, value: *value });
            }
            // They were lowered to gates.
            Operation::PauliRotation(_) => return Ok(None),
            Operation::While { .. }
            | Operation::For { .. }
            | Operation::If { .. }
            | Operation::Else { .. }
            | Operation::Switch { .. }
            | Operation::Case { .. }
            | Operation::Block { .. }
            | Operation::Break { .. }
            | Operation::Continue { .. }
            | Operation::End
            | Operation::RuntimeGate(_)
            | Operation::Store(_) => {
                return not_in_the_language(&instruction.operation).map_or(Ok(None), Err);
            }
            Operation::ReadoutError { .. } => {
                return Err(PrintError::Noise { channel: "readout_error" });
            }
            Operation::Channel(channel) => {
                return Err(PrintError::Noise { channel: channel.name() });
            }
            Operation::Barrier | Operation::Delay { .. } if qubits.is_empty() => return Ok(None),
            // The language has no delays.
            Operation::Delay { length } => format!("// delay[{length}] {qubits};"),
            Operation::Barrier => format!("barrier {qubits};"),
        }))
    }

    /// A call of a gate that the source of the circuit defined.
    fn named_call(
        &mut self,
        call: &NamedCall,
        args: &[Angle],
        qubit: &dyn Fn(u32) -> String,
    ) -> Result<String, PrintError> {
        let key = Qasm2Key::Named(address(call));
        let name = match self.defined.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.gates.get(&address(call)).cloned().unwrap_or_default();
                let mut names = UniqueNames::new(Alphabet::Qasm2);
                names.reserve(&name);
                let body = call.gate.body();
                self.define(&name, body, &Formals::own(body, &mut names, false))?;
                self.defined.insert(key, name.clone());
                name
            }
        };
        let texts = ParamTexts::new(&Circuit::new(0), &[])?;
        let args = args.iter().map(|a| texts.angle(a)).collect::<Result<Vec<_>, _>>()?;
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        let qubits: Vec<String> = call.qubits.iter().map(|&q| qubit(q)).collect();
        Ok(format!("{name}{args} {};", qubits.join(", ")))
    }

    /// A gate of `qelib1.inc`, or one that is defined.
    fn call(
        &mut self,
        gate: &Gate,
        instruction: &Instruction,
        texts: &ParamTexts,
        qubit: &dyn Fn(u32) -> String,
    ) -> Result<String, PrintError> {
        let name = match qelib1(gate.kind(), instruction.controls.len()) {
            Some(name) => name,
            None => self.define_kind(gate.kind())?,
        };
        let angles: Vec<String> =
            gate.params().iter().map(|a| texts.angle(a)).collect::<Result<_, _>>()?;
        let angles =
            if angles.is_empty() { String::new() } else { format!("({})", angles.join(", ")) };
        let qubits: Vec<String> = instruction.qubits().map(qubit).collect();
        Ok(format!("{name}{angles} {};", qubits.join(", ")))
    }

    /// Defines a gate of the table, with parameters, unless that is done.
    fn define_kind(&mut self, kind: GateKind) -> Result<&'static str, PrintError> {
        if !self.defined.contains_key(&Qasm2Key::Kind(kind)) {
            let Some(body) = definition(kind)? else {
                return Err(PrintError::Undefined { gate: kind.name() });
            };
            self.define(kind.name(), &body, &Formals::usual(&body))?;
            self.defined.insert(Qasm2Key::Kind(kind), kind.name().to_owned());
        }
        Ok(kind.name())
    }

    /// Writes a definition; those that it needs come before it.
    fn define(&mut self, name: &str, body: &Circuit, formals: &Formals) -> Result<(), PrintError> {
        let texts = ParamTexts::new(body, &formals.params)?;
        let qubit = |i: u32| formals.qubit(i);
        let mut statements = Vec::new();
        for instruction in lower(body.instructions())? {
            let Operation::Gate(gate) = &instruction.operation else { continue };
            statements.push(self.call(gate, &instruction, &texts, &qubit)?);
        }
        // Writing to a String cannot fail.
        let _ = write!(self.definitions, "{}", formals.head(name));
        let _ = match statements.len() {
            0..=12 => writeln!(self.definitions, " {} }}", statements.join(" ")),
            _ => writeln!(self.definitions, "\n    {}\n}}", statements.join("\n    ")),
        };
        Ok(())
    }
}
