//! OpenQASM 3: every circuit has a text, equal to it with its phase.
//!
//! - A gate under controls is `ctrl(2) @ negctrl @ h q[0], q[1], q[2], q[3];`, or its name in
//!   `stdgates.inc` (`ccx`) where all controls have value 1.
//! - Inputs are `input float[64] theta;`; names `w[0]`, …, `w[k]`, all of them and in any order, are
//!   one `input array[float[64], k + 1] w;`. A computed parameter is written out where it is used.
//! - Where hidden registers are read, those that show are each an `output`.
//! - A register of one qubit that has a name is that qubit: `qubit anc;`.
//! - A delay whose length is open waits for a `stretch` of its own.
//! - Gates that the source of the circuit defined keep their names, with a definition in gates of the table.
//! - Noise is a pragma, which ends with its line: under a condition the braces stand on other lines.
//! - Instructions under one condition share an `if` as long as none of them changes what it reads.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    sync::Arc,
};

use num_complex::Complex;

use super::{
    Bits, Hidden, PrintError, check_unitary_size, condition,
    definition::{definition, formals},
    named_qubits, named_registers,
    names::{Alphabet, Names, element},
    noise, renamed_registers, synthesis,
    text::ParamTexts,
};
use crate::{
    circuit::{Circuit, Condition, DelayLength, Instruction, NamedCall, Operation, Part},
    gate::{Gate, GateKind, NAMED_GATES},
    matrix::Matrix,
    param::Angle,
};

/// The circuit in OpenQASM 3.
///
/// # Errors
/// [`PrintError`] for an angle that is no number, a unitary on more than
/// [`MAX_UNITARY_QUBITS`](super::MAX_UNITARY_QUBITS) qubits or an expression that is too long.
pub fn to_qasm3(circuit: &Circuit) -> Result<String, PrintError> {
    let mut names = Names::new(Alphabet::Qasm3);
    let (inputs, input_names) = declare_inputs(circuit, &mut names);
    let registers = named_registers(circuit, &mut names);
    let qubits = named_qubits(circuit, &mut names);
    let (qubit, all) = (Bits::new(&qubits), qubits.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    let all = all.join(", ");
    let own_names = circuit.has_qubit_names();
    let scope = Scope {
        params: ParamTexts::new(circuit, &input_names)?,
        bits: Bits::new(&registers),
        hidden: Hidden::new(circuit),
        qubit: &|i| if own_names { qubit.short_name(i) } else { qubit.name(i) },
        all: Some((&all, circuit.n_qubits())),
    };
    let mut printer = Printer { names, definitions: String::new(), defined: HashMap::new() };
    let circuit_of_gates = circuit.decomposed();
    let calls = circuit_of_gates.calls().into_iter().map(|call| (call.instructions.start, call)).collect();
    let body = printer.body(&circuit_of_gates, &calls, &scope)?;
    let mut text = String::from("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n");
    text.push_str(&printer.definitions);
    text.push_str(&inputs);
    for (name, size) in &qubits {
        // Writing to a String cannot fail.
        let _ = match size {
            1 if own_names => writeln!(text, "qubit {name};"),
            _ => writeln!(text, "qubit[{size}] {name};"),
        };
    }
    declare_registers(circuit, &registers, &scope.hidden, &mut text);
    text.push_str(&body);
    Ok(text)
}

/// The inputs and registers that [`to_qasm3`] calls otherwise, since the language has other uses for their names
/// or no letters: their names and the new ones, in order.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, print};
///
/// let mut circuit = Circuit::new(1);
/// let x = circuit.param("x");
/// circuit.rz(0, x)?;
/// assert_eq!(print::renamed_in_qasm3(&circuit), [("x".to_owned(), "x_1".to_owned())]); // `x` is a gate
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn renamed_in_qasm3(circuit: &Circuit) -> Vec<(String, String)> {
    let mut names = Names::new(Alphabet::Qasm3);
    let (_, inputs) = declare_inputs(circuit, &mut names);
    let mut pairs: Vec<(String, String)> = circuit.inputs().map(str::to_owned).zip(inputs).collect();
    pairs.extend(renamed_registers(circuit, &mut names));
    pairs.retain(|(old, new)| old != new);
    pairs
}

/// The declarations of the inputs, and the name of each.
fn declare_inputs(circuit: &Circuit, names: &mut Names) -> (String, Vec<String>) {
    // Arrays: how many elements there are, and one more than the highest index.
    let mut arrays: HashMap<&str, (usize, usize)> = HashMap::new();
    for (array, index) in circuit.inputs().filter_map(element) {
        let entry = arrays.entry(array).or_default();
        *entry = (entry.0 + 1, entry.1.max(index.saturating_add(1)));
    }
    let scalars: HashSet<&str> = circuit.inputs().filter(|i| element(i).is_none()).collect();
    let mut declared: HashMap<&str, String> = HashMap::new();
    let (mut text, mut given) = (String::new(), Vec::new());
    for input in circuit.inputs() {
        let complete = element(input).filter(|(array, _)| {
            arrays.get(array).is_some_and(|(n, size)| n == size) && !scalars.contains(array)
        });
        // Writing to a String cannot fail.
        let _ = match complete {
            Some((array, index)) => {
                let mut written = Ok(());
                let name = declared.entry(array).or_insert_with(|| {
                    let name = names.take(array);
                    let size = arrays.get(array).map_or(0, |a| a.1);
                    written = writeln!(text, "input array[float[64], {size}] {name};");
                    name
                });
                given.push(format!("{name}[{index}]"));
                written
            }
            None => {
                let name = names.take(input.trim_end_matches(']'));
                let written = writeln!(text, "input float[64] {name};");
                given.push(name);
                written
            }
        };
    }
    (text, given)
}

/// The declarations of classical registers with these names. Hidden ones are no outputs, and not there if nothing
/// reads them.
fn declare_registers(circuit: &Circuit, names: &[(String, usize)], hidden: &Hidden, text: &mut String) {
    let mut first = 0;
    let with_bits = circuit.registers().iter().filter(|r| r.size > 0).zip(names);
    let declared: Vec<_> = with_bits
        .filter(|(register, _)| {
            let bits = first..first + u32::try_from(register.size).unwrap_or(u32::MAX);
            first = bits.end;
            !register.hidden || hidden.is_read(bits)
        })
        .collect();
    // Without any output all registers are.
    let outputs = if declared.iter().any(|(register, _)| register.hidden) { "output " } else { "" };
    for (register, (name, size)) in declared {
        let output = if register.hidden { "" } else { outputs };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{output}bit[{size}] {name};");
    }
}

/// How many instructions from the first one on can stand in one `if`.
fn group_length(instructions: &[Instruction]) -> usize {
    let Some(Instruction { condition: Some(condition), .. }) = instructions.first() else {
        return instructions.iter().take_while(|i| i.condition.is_none()).count();
    };
    let mut n = 0;
    for instruction in instructions {
        if instruction.condition.as_ref() != Some(condition) {
            break;
        }
        n += 1;
        if instruction.operation.written().iter().any(|&bit| reads(condition, bit)) {
            break;
        }
    }
    n
}

/// Appends a line in so many blocks.
fn line(text: &mut String, depth: usize, statement: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:1$}{statement}", "", 4 * depth);
}

fn reads(condition: &Arc<Condition>, bit: u32) -> bool {
    let mut found = false;
    condition.for_each_bit(&mut |b| found |= b == bit);
    found
}

/// What names mean where a statement stands.
struct Scope<'a> {
    params: ParamTexts,
    bits: Bits<'a>,
    hidden: Hidden,
    qubit: &'a dyn Fn(u32) -> String,
    /// The names of the registers that all qubits are in, and the number of qubits.
    all: Option<(&'a str, usize)>,
}

/// What a definition is of: a gate of the table, a matrix by the bits of its entries, or a gate of the circuit by its address.
#[derive(PartialEq, Eq, Hash)]
enum Defined {
    Kind(GateKind),
    Matrix(Vec<u64>),
    Named(usize),
}

/// The calls of gates with names, by their first instructions.
type CallsByPlace<'a> = HashMap<usize, NamedCall<'a>>;

struct Printer {
    names: Names,
    definitions: String,
    defined: HashMap<Defined, String>,
}

impl Printer {
    /// All instructions, those of loops indented.
    fn body(&mut self, circuit: &Circuit, calls: &CallsByPlace, scope: &Scope) -> Result<String, PrintError> {
        let (mut body, mut depth, mut at) = (String::new(), 0, 0);
        for part in circuit.parts() {
            match part {
                Part::Run(run) => {
                    self.run((run, at), calls, scope, depth, &mut body)?;
                    at += run.len();
                }
                Part::Loop { head, .. } => {
                    at += 1;
                    let condition = head.condition.as_ref().map(|c| condition::qasm3(c, &scope.bits));
                    let condition = condition.unwrap_or_else(|| "true".to_owned());
                    line(&mut body, depth, &format!("while ({condition}) {{"));
                    depth += 1;
                }
                Part::End => {
                    depth -= 1;
                    line(&mut body, depth, "}");
                }
            }
        }
        Ok(body)
    }

    /// Instructions in a row, the first of which has this number.
    fn run(
        &mut self,
        (mut run, mut at): (&[Instruction], usize),
        calls: &CallsByPlace,
        scope: &Scope,
        depth: usize,
        body: &mut String,
    ) -> Result<(), PrintError> {
        while let Some(first) = run.first() {
            let (now, later) = run.split_at(group_length(run));
            run = later;
            let mut statements = Vec::with_capacity(now.len());
            let end = at + now.len();
            let mut rest = now;
            while let Some(instruction) = rest.first() {
                let call = calls.get(&at).filter(|call| call.instructions.end <= end);
                let step = match call {
                    Some(call) => {
                        statements.push(self.named_call(call, scope)?);
                        call.instructions.len()
                    }
                    None => {
                        statements.extend(self.statement(instruction, scope)?);
                        1
                    }
                };
                rest = &rest[step..];
                at += step;
            }
            let conditions = first.condition.as_ref().map(|c| condition::nested(c, &scope.bits));
            let conditions = conditions.unwrap_or_default();
            match statements.as_slice() {
                [] => {}
                [one] if conditions.is_empty() || !noise::is_pragma(one) => {
                    let heads: String = conditions.iter().map(|c| format!("if ({c}) {{ ")).collect();
                    line(body, depth, &format!("{heads}{one}{}", " }".repeat(conditions.len())));
                }
                all => {
                    let within = depth + conditions.len();
                    conditions
                        .iter()
                        .zip(depth..)
                        .for_each(|(c, at)| line(body, at, &format!("if ({c}) {{")));
                    all.iter().for_each(|s| line(body, within, s));
                    (depth..within).rev().for_each(|at| line(body, at, "}"));
                }
            }
        }
        Ok(())
    }

    /// One instruction without its condition; `None` if there is nothing to write.
    fn statement(&mut self, instruction: &Instruction, scope: &Scope) -> Result<Option<String>, PrintError> {
        let target = || instruction.targets.first().map_or_else(String::new, |&q| (scope.qubit)(q));
        Ok(Some(match &instruction.operation {
            Operation::Gate(gate) => self.call(gate, instruction, scope)?,
            Operation::Unitary(matrix) => match matrix.n_qubits() {
                0 => {
                    let gate = Gate::new(GateKind::GPHASE, [Angle::rad(matrix[(0, 0)].arg())])?;
                    self.call(&gate, instruction, scope)?
                }
                1 => {
                    let rows = [[matrix[(0, 0)], matrix[(0, 1)]], [matrix[(1, 0)], matrix[(1, 1)]]];
                    let gate = Gate::new(GateKind::UG, synthesis::euler(rows).map(Angle::rad))?;
                    self.call(&gate, instruction, scope)?
                }
                _ => {
                    let name = self.define_unitary(matrix)?;
                    apply(&name, "", instruction, scope)
                }
            },
            Operation::Measure { bit } if scope.hidden.is_unread(*bit) => format!("measure {};", target()),
            Operation::Assign { bit, .. } if scope.hidden.is_unread(*bit) => return Ok(None),
            Operation::Measure { bit } => format!("{} = measure {};", scope.bits.name(*bit), target()),
            Operation::Reset => format!("reset {};", target()),
            Operation::Misread { bits, .. } if bits.iter().all(|b| scope.hidden.is_unread(*b)) => {
                return Ok(None);
            }
            Operation::Misread { bits, chances } => {
                let bits: Vec<String> = bits.iter().map(|&bit| scope.bits.name(bit)).collect();
                noise::misread(chances, &scope.params, &bits)?
            }
            Operation::Channel(channel) => {
                let qubits = instruction.targets.iter().map(|&q| (scope.qubit)(q)).collect();
                noise::pragma(channel, &scope.params, qubits)?
            }
            // They are gates by now.
            Operation::PauliRotation(_) => return Ok(None),
            Operation::While { .. } => return Ok(None),
            Operation::Assign { bit, value } => format!("{} = {value};", scope.bits.name(*bit)),
            Operation::Delay { .. } if instruction.targets.is_empty() => return Ok(None),
            Operation::Delay { length } => {
                let length = match length {
                    DelayLength::Open => self.stretch(),
                    known => known.to_string(),
                };
                let qubits: Vec<u32> = instruction.targets.to_vec();
                format!("delay[{length}] {};", list(&qubits, scope))
            }
            Operation::Barrier => {
                let qubits: Vec<u32> = instruction.qubits().collect();
                let in_order =
                    |n| qubits.len() == n && qubits.iter().enumerate().all(|(i, &q)| q as usize == i);
                match scope.all {
                    _ if qubits.is_empty() => return Ok(None),
                    Some((name, n)) if in_order(n) => format!("barrier {name};"),
                    _ => format!("barrier {};", list(&qubits, scope)),
                }
            }
        }))
    }

    fn call(&mut self, gate: &Gate, instruction: &Instruction, scope: &Scope) -> Result<String, PrintError> {
        let angles: Vec<String> =
            gate.params().iter().map(|a| scope.params.angle(a)).collect::<Result<_, _>>()?;
        let angles = if angles.is_empty() { String::new() } else { format!("({})", angles.join(", ")) };
        let n = instruction.controls.len();
        if n > 0
            && instruction.controls.iter().all(|c| c.value)
            && let Some(name) = stdgate(gate.kind(), n)
        {
            let qubits: Vec<u32> = instruction.qubits().collect();
            return Ok(format!("{name}{angles} {};", list(&qubits, scope)));
        }
        let name = self.base(gate.kind())?;
        Ok(apply(&name, &angles, instruction, scope))
    }

    /// A call of a gate that the source of the circuit defined.
    fn named_call(&mut self, call: &NamedCall, scope: &Scope) -> Result<String, PrintError> {
        let key = Defined::Named(Arc::as_ptr(call.gate) as usize);
        let name = match self.defined.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.take(call.gate.name());
                self.define(&name, call.gate.body())?;
                self.defined.insert(key, name.clone());
                name
            }
        };
        let args = call.args.iter().map(|a| scope.params.angle(a)).collect::<Result<Vec<_>, _>>()?;
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        Ok(format!("{name}{args} {};", list(call.qubits, scope)))
    }

    /// A name for a length that hardware decides.
    fn stretch(&mut self) -> String {
        let name = self.names.take("wait");
        // Writing to a String cannot fail.
        let _ = writeln!(self.definitions, "stretch {name};");
        name
    }

    /// What a gate without controls is called, defined if need be.
    fn base(&mut self, kind: GateKind) -> Result<String, PrintError> {
        if let Some(name) = stdgate(kind, 0) {
            return Ok(name.to_owned());
        }
        let inverse = match kind {
            GateKind::SXDG => GateKind::SX,
            GateKind::ISWAPDG => GateKind::ISWAP,
            GateKind::DCXDG => GateKind::DCX,
            _ => {
                if let Some(name) = self.defined.get(&Defined::Kind(kind)) {
                    return Ok(name.clone());
                }
                let Some(body) = definition(kind)? else {
                    return Err(PrintError::Undefined { gate: kind.name() });
                };
                // Inputs and registers keep their names.
                let name = self.names.take(kind.name());
                self.define(&name, &body)?;
                self.defined.insert(Defined::Kind(kind), name.clone());
                return Ok(name);
            }
        };
        Ok(format!("inv @ {}", self.base(inverse)?))
    }

    fn define_unitary(&mut self, matrix: &Matrix<Complex<f64>>) -> Result<String, PrintError> {
        check_unitary_size(matrix)?;
        let bits = matrix.entries().iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect();
        let key = Defined::Matrix(bits);
        if let Some(name) = self.defined.get(&key) {
            return Ok(name.clone());
        }
        let name = self.names.take("unitary");
        self.define(&name, &synthesis::synthesize(matrix)?)?;
        self.defined.insert(key, name.clone());
        Ok(name)
    }

    /// Writes a definition; those that it needs come before it.
    fn define(&mut self, name: &str, body: &Circuit) -> Result<(), PrintError> {
        let inputs = formals(body);
        let scope = Scope {
            params: ParamTexts::new(body, &inputs)?,
            bits: Bits::new(&[]),
            hidden: Hidden::default(),
            qubit: &|i| format!("q{i}"),
            all: None,
        };
        let mut statements = Vec::new();
        for instruction in body.instructions() {
            statements.extend(self.statement(instruction, &scope)?);
        }
        let qubits: Vec<String> = (0..body.n_qubits()).map(|i| format!("q{i}")).collect();
        let head = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(", ")) };
        // Writing to a String cannot fail.
        let _ = write!(self.definitions, "gate {name}{head} {} {{", qubits.join(", "));
        let _ = match statements.len() {
            0..=12 => writeln!(self.definitions, " {} }}", statements.join(" ")),
            _ => writeln!(self.definitions, "\n    {}\n}}", statements.join("\n    ")),
        };
        Ok(())
    }
}

/// The first name in `stdgates.inc`.
fn stdgate(kind: GateKind, n_controls: usize) -> Option<&'static str> {
    let named = NAMED_GATES.iter().find(|g| g.kind == kind && g.n_controls == n_controls);
    named.and_then(|g| g.qasm3.first().copied())
}

fn list(qubits: &[u32], scope: &Scope) -> String {
    qubits.iter().map(|&q| (scope.qubit)(q)).collect::<Vec<_>>().join(", ")
}

/// A gate call with its control modifiers.
fn apply(name: &str, angles: &str, instruction: &Instruction, scope: &Scope) -> String {
    let mut text = String::new();
    for run in instruction.controls.chunk_by(|a, b| a.value == b.value) {
        let modifier = if run[0].value { "ctrl" } else { "negctrl" };
        // Writing to a String cannot fail.
        let _ = match run.len() {
            1 => write!(text, "{modifier} @ "),
            n => write!(text, "{modifier}({n}) @ "),
        };
    }
    let qubits: Vec<u32> = instruction.qubits().collect();
    let space = if qubits.is_empty() { "" } else { " " };
    let _ = write!(text, "{name}{angles}{space}{};", list(&qubits, scope));
    text
}
