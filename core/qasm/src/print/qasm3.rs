//! OpenQASM 3: every circuit has a text that is equal to it, phase included.
//!
//! - A gate under controls is `ctrl(2) @ negctrl @ h q[0], q[1], q[2], q[3];`, or its name in
//!   `stdgates.inc` (`ccx`) where all controls have value 1. `U`, `u2` and `u3` under controls are
//!   written as the gate of `cu`, whose phase is a parameter.
//! - Inputs are `input float[64] theta;`; names `w[0]`, …, `w[k]`, all of them and in any order,
//!   are one `input array[float[64], k + 1] w;`. A computed parameter is written out where it is
//!   used.
//! - Where hidden registers are read, those that show are each an `output`.
//! - A register of one qubit is that qubit: `qubit anc;`.
//! - A delay whose length is open waits for a `stretch` of its own.
//! - Gates that the source of the circuit defined keep their names, with a definition in gates of
//!   the table; inverses and controls of calls are modifiers.
//! - Noise is a pragma, which ends with its line: under a condition the braces are on other
//!   lines.
//! - Instructions under one condition share an `if` as long as none of them changes what it reads.
//! - An angle that is computed when its gate runs is the expression: `rz(-t / 2.0) q[0];`.
//! - Variables are declared with the 0 that they start with. Where some are hidden, those that show
//!   are each an `output`. Blocks and exits that the language has not are expressed in loops (see
//!   `blocks`).

use std::{cell::RefCell, collections::HashMap, fmt::Write};

use num_complex::Complex;

use super::{
    ClassicalNames, PrintError, RegisterNames, ScratchRegisters, address,
    blocks::{BlockExits, VariableUses},
    check_unitary_size, condition,
    declare::{declare_classical, declare_inputs},
    definition::{Formals, definition},
    lower::{TextbookGate, precise_sum},
    named_gates, named_qubits, named_registers, named_variables,
    names::{Alphabet, UniqueNames},
    noise, renamed_registers, synthesis,
    text::ParamTexts,
};
use crate::{
    circuit::{
        Circuit, ClassicalAssignment, ClassicalTarget, Control, DelayLength, ForHeader,
        Instruction, NamedCall, Operation, Part, RuntimeGate, case_text,
    },
    classical::{ClassicalExpr, PlaceNames, VariableId},
    gate::{Gate, GateKind, NAMED_GATES},
    matrix::Matrix,
    param::Angle,
};

/// The circuit in OpenQASM 3.
///
/// # Errors
/// [`PrintError`] for an angle that is not finite, a unitary on more than
/// [`MAX_UNITARY_QUBITS`](super::MAX_UNITARY_QUBITS) qubits or an expression that is too long.
pub fn to_qasm3(circuit: &Circuit) -> Result<String, PrintError> {
    let mut names = UniqueNames::new(Alphabet::Qasm3);
    let (inputs, input_names) = declare_inputs(circuit, &mut names);
    let registers = named_registers(circuit, &mut names);
    let qubits = named_qubits(circuit, &mut names);
    let (qubit, all) = (
        RegisterNames::new(&qubits),
        qubits.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
    );
    let all = all.join(", ");
    let variables = named_variables(circuit, &mut names);
    let params = ParamTexts::new(circuit, &input_names)?;
    let circuit_of_gates = circuit.decomposed();
    circuit_of_gates.check_blocks()?;
    let exits = BlockExits::new(&circuit_of_gates);
    let uses = VariableUses::new(&circuit_of_gates);
    let calls = circuit_of_gates.calls();
    let gates =
        named_gates(&calls, &mut names).into_iter().map(|(at, _, name)| (at, name)).collect();
    let leave = exits.has_crossings().then(|| names.allocate("leave"));
    let mut declarations = String::new();
    let hidden = ScratchRegisters::new(circuit);
    let declared = (registers.as_slice(), variables.as_slice());
    declare_classical(circuit, declared, (&hidden, &uses, leave.as_deref()), &mut declarations);
    // An angle in an expression has no way to return an error.
    let failed = RefCell::new(None);
    let angle = |angle: &Angle| {
        params.angle(angle).unwrap_or_else(|error| {
            failed.borrow_mut().get_or_insert(error);
            String::new()
        })
    };
    let scope = PrintScope {
        params: &params,
        classical: ClassicalNames::new(&registers, variables, angle),
        hidden,
        qubit: &|i| qubit.short_name(i),
        all: Some((&all, circuit.n_qubits())),
        blocks: Some((&exits, &uses)),
        leave: leave.as_deref().unwrap_or_default(),
    };
    let mut printer =
        Qasm3Printer { names, gates, definitions: String::new(), defined: HashMap::new() };
    let calls = calls.into_iter().map(|call| (call.instructions.start, call)).collect();
    let body = printer.body(&circuit_of_gates, &calls, &scope)?;
    drop(scope);
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let mut text = String::from("OPENQASM 3.0;\ninclude \"stdgates.inc\";\n");
    text.push_str(&printer.definitions);
    text.push_str(&inputs);
    for (name, size) in &qubits {
        // Writing to a String cannot fail.
        let _ = match size {
            1 => writeln!(text, "qubit {name};"),
            _ => writeln!(text, "qubit[{size}] {name};"),
        };
    }
    text.push_str(&declarations);
    text.push_str(&body);
    Ok(text)
}

/// Returns the inputs, registers and gates that [`to_qasm3`] renames, since their names are not
/// valid or taken in the language: their names and the new ones, in order.
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
    let mut names = UniqueNames::new(Alphabet::Qasm3);
    let (_, inputs) = declare_inputs(circuit, &mut names);
    let mut pairs: Vec<(String, String)> =
        circuit.inputs().map(str::to_owned).zip(inputs).collect();
    pairs.extend(renamed_registers(circuit, &mut names));
    let gates = circuit.decomposed();
    let gates = named_gates(&gates.calls(), &mut names);
    pairs.extend(gates.into_iter().map(|(_, old, new)| (old.to_owned(), new)));
    pairs.retain(|(old, new)| old != new);
    pairs
}

/// Returns the number of instructions, from the first one on, that can be in one `if`.
fn group_length(instructions: &[Instruction]) -> usize {
    let Some(first @ Instruction { condition: Some(condition), .. }) = instructions.first() else {
        return instructions.iter().take_while(|i| i.condition.is_none()).count();
    };
    let (mut bits, mut variables) = (Vec::new(), Vec::new());
    condition.for_each_bit(&mut |bit| bits.push(bit));
    condition.for_each_variable(&mut |variable| variables.push(variable));
    let mut n = 0;
    for instruction in instructions {
        if instruction.condition != first.condition {
            break;
        }
        n += 1;
        let operation = &instruction.operation;
        let variable = operation.written_variable();
        if operation.written().iter().any(|bit| bits.contains(bit))
            || variable.is_some_and(|variable| variables.contains(&variable))
        {
            break;
        }
    }
    n
}

/// Appends a line at that depth of blocks.
fn line(text: &mut String, depth: usize, statement: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:1$}{statement}", "", 4 * depth);
}

/// Meanings of names at a statement.
struct PrintScope<'a> {
    params: &'a ParamTexts,
    classical: ClassicalNames<'a>,
    hidden: ScratchRegisters,
    qubit: &'a dyn Fn(u32) -> String,
    /// The names of the registers that all qubits are in, and the number of qubits.
    all: Option<(&'a str, usize)>,
    /// What blocks need; nothing in a definition, which has none.
    blocks: Option<(&'a BlockExits, &'a VariableUses)>,
    /// The variable of exits that leave several loops.
    leave: &'a str,
}

impl PrintScope<'_> {
    /// True if a `for` declares its variable.
    fn is_of_loops(&self, variable: VariableId) -> bool {
        self.blocks.is_some_and(|(_, uses)| uses.of_loops.contains(&variable))
    }

    /// What follows a block that exits of outer ones leave.
    fn after_block(&self, at: usize) -> Vec<String> {
        let Some((exits, _)) = self.blocks else { return Vec::new() };
        let leave = self.leave;
        let on_break = format!("if ({leave} > 0) {{ {leave} = {leave} - 1; break; }}");
        let on_continue = format!(
            "if ({leave} < 0) {{ {leave} = {leave} + 1; if ({leave} == 0) {{ continue; }} break; }}"
        );
        let both = [(&exits.for_break, on_break), (&exits.for_continue, on_continue)];
        both.into_iter().filter_map(|(at_all, text)| at_all.contains(&at).then_some(text)).collect()
    }
}

/// Key of a definition: a gate of the table, a matrix by the bits of its entries, or a gate of the
/// circuit by its address.
#[derive(PartialEq, Eq, Hash)]
enum Qasm3Key {
    Kind(GateKind),
    Matrix(Vec<u64>),
    Named(usize),
}

/// The calls of gates with names, by their first instructions.
type CallsByPlace<'a> = HashMap<usize, NamedCall<'a>>;

struct Qasm3Printer {
    names: UniqueNames,
    /// The names of the gates of the circuit, by address.
    gates: HashMap<usize, String>,
    definitions: String,
    defined: HashMap<Qasm3Key, String>,
}

impl Qasm3Printer {
    /// All instructions, those of blocks indented.
    fn body(
        &mut self,
        circuit: &Circuit,
        calls: &CallsByPlace,
        scope: &PrintScope,
    ) -> Result<String, PrintError> {
        let (mut body, mut at) = (String::new(), 0);
        // The positions of the headers around.
        let mut open: Vec<usize> = Vec::new();
        let mut parts = circuit.parts().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Run(run) => {
                    self.run((run, at), calls, scope, open.len(), &mut body)?;
                    at += run.len();
                }
                Part::Open { head, .. } => {
                    let (header, first) = self.header((head, at), circuit, scope);
                    match &head.operation {
                        Operation::Else { .. } => {
                            // Writing to a String cannot fail.
                            let _ = writeln!(body, " {header}");
                        }
                        _ => line(&mut body, open.len(), &header),
                    }
                    open.push(at);
                    first.iter().for_each(|first| line(&mut body, open.len(), first));
                    at += 1;
                }
                Part::Close { .. } => {
                    let head = open.pop();
                    // Writing to a String cannot fail.
                    let _ = write!(body, "{:1$}}}", "", 4 * open.len());
                    let is_else = |part: &Part| match part {
                        Part::Open { head, .. } => matches!(head.operation, Operation::Else { .. }),
                        _ => false,
                    };
                    if !parts.peek().is_some_and(is_else) {
                        body.push('\n');
                    }
                    let after = head.map(|head| scope.after_block(head)).unwrap_or_default();
                    after.iter().for_each(|text| line(&mut body, open.len(), text));
                }
            }
        }
        Ok(body)
    }

    /// The header of a block, and the statement that its body begins with, if there is one.
    fn header(
        &mut self,
        (head, at): (&Instruction, usize),
        circuit: &Circuit,
        scope: &PrintScope,
    ) -> (String, Option<String>) {
        let names = &scope.classical;
        let condition = || {
            let condition = head.condition.as_ref().map(|c| condition::qasm3(c, names));
            condition.unwrap_or_else(|| "true".to_owned())
        };
        let is_left = scope.blocks.is_some_and(|(exits, _)| exits.left.contains(&at));
        let (header, first) = match &head.operation {
            Operation::While { .. } => (format!("while ({})", condition()), None),
            Operation::If { .. } => (format!("if ({})", condition()), None),
            Operation::Else { .. } => ("else".to_owned(), None),
            Operation::For { over, .. } => self.for_header(over, circuit, scope),
            Operation::Switch { subject, .. } => {
                (format!("switch ({})", subject.text(names)), None)
            }
            Operation::Case { labels, .. } => (case_text(labels), None),
            Operation::Block { .. } if is_left => {
                (format!("for int {} in [0:0]", self.names.allocate("once")), None)
            }
            _ => (String::new(), None),
        };
        let space = if header.is_empty() { "" } else { " " };
        (format!("{header}{space}{{"), first)
    }

    /// The header of a loop over values.
    fn for_header(
        &mut self,
        over: &ForHeader,
        circuit: &Circuit,
        scope: &PrintScope,
    ) -> (String, Option<String>) {
        let (names, variable) = (&scope.classical, over.variable);
        let ty = circuit.variables().get(variable.index());
        let ty = ty.map_or_else(String::new, |variable| variable.ty.scalar.to_string());
        let values = over.values.text(names);
        if scope.is_of_loops(variable) {
            return (format!("for {ty} {} in {values}", names.variable(variable)), None);
        }
        let (name, own) = (names.variable(variable), self.names.allocate("value"));
        (format!("for {ty} {own} in {values}"), Some(format!("{name} = {own};")))
    }

    /// An assignment. One to bits that are not neighbours in one register goes by way of another
    /// register.
    fn assignment(&mut self, assignment: &ClassicalAssignment, scope: &PrintScope) -> String {
        let names = &scope.classical;
        let ClassicalAssignment { target, value } = assignment;
        match target {
            ClassicalTarget::Bits(bits) if names.runs(bits).len() != 1 => {
                let all = self.names.allocate("bits");
                let mut text = format!("{{ bit[{}] {all} = {};", bits.len(), value.text(names));
                let mut place = 0;
                for (first, last) in names.runs(bits) {
                    let after = place + last - first;
                    let part = match place == after {
                        true => format!("{all}[{place}]"),
                        false => format!("{all}[{place}:{after}]"),
                    };
                    // Writing to a String cannot fail.
                    let _ = write!(text, " {} = {part};", names.run(first, last));
                    place = after + 1;
                }
                text + " }"
            }
            ClassicalTarget::BitAt(bits, index)
                if condition::whole_register(bits, &names.bits).is_none() =>
            {
                let all = self.names.allocate("bits");
                let (of, index) = (names.bits(bits), index.text(names));
                format!("{{ let {all} = {of}; {all}[{index}] = {}; }}", value.text(names))
            }
            _ => format!("{};", assignment.text(names)),
        }
    }

    /// Writes a sequence of instructions, the first of which has this number.
    fn run(
        &mut self,
        (mut run, mut at): (&[Instruction], usize),
        calls: &CallsByPlace,
        scope: &PrintScope,
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
            let conditions =
                first.condition.as_ref().map(|c| condition::nested(c, &scope.classical));
            let conditions = conditions.unwrap_or_default();
            match statements.as_slice() {
                [] => {}
                [one] if conditions.is_empty() || !noise::is_pragma(one) => {
                    let heads: String =
                        conditions.iter().map(|c| format!("if ({c}) {{ ")).collect();
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
    fn statement(
        &mut self,
        instruction: &Instruction,
        scope: &PrintScope,
    ) -> Result<Option<String>, PrintError> {
        let target = || instruction.targets.first().map_or_else(String::new, |&q| (scope.qubit)(q));
        Ok(Some(match &instruction.operation {
            Operation::Gate(gate) => self.call(gate, instruction, scope)?,
            Operation::RuntimeGate(gate) => self.runtime_call(gate, instruction, scope)?,
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
            Operation::Measure { bit } if scope.hidden.is_unread(*bit) => {
                format!("measure {};", target())
            }
            Operation::Assign { bit, .. } if scope.hidden.is_unread(*bit) => return Ok(None),
            Operation::Measure { bit } => {
                format!("{} = measure {};", scope.classical.bits.name(*bit), target())
            }
            Operation::Reset => format!("reset {};", target()),
            Operation::ReadoutError { bits, .. }
                if bits.iter().all(|b| scope.hidden.is_unread(*b)) =>
            {
                return Ok(None);
            }
            Operation::ReadoutError { bits, probabilities } => {
                let bits: Vec<String> =
                    bits.iter().map(|&bit| scope.classical.bits.name(bit)).collect();
                noise::readout_error(probabilities, scope.params, &bits)?
            }
            Operation::Channel(channel) => {
                let qubits = instruction.targets.iter().map(|&q| (scope.qubit)(q)).collect();
                noise::pragma(channel, scope.params, qubits)?
            }
            // They were lowered to gates.
            Operation::PauliRotation(_) => return Ok(None),
            Operation::Store(assignment) => self.assignment(assignment, scope),
            Operation::Break { levels: 1 } => "break;".to_owned(),
            Operation::Break { levels } => format!("{} = {}; break;", scope.leave, levels - 1),
            Operation::Continue { levels: 1 } => "continue;".to_owned(),
            Operation::Continue { levels } => format!("{} = -{}; break;", scope.leave, levels - 1),
            Operation::End => "end;".to_owned(),
            // Headers are written by `header`.
            Operation::While { .. }
            | Operation::For { .. }
            | Operation::If { .. }
            | Operation::Else { .. }
            | Operation::Switch { .. }
            | Operation::Case { .. }
            | Operation::Block { .. } => return Ok(None),
            Operation::Assign { bit, value } => {
                format!("{} = {value};", scope.classical.bits.name(*bit))
            }
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
                let in_order = |n| {
                    qubits.len() == n && qubits.iter().enumerate().all(|(i, &q)| q as usize == i)
                };
                match scope.all {
                    _ if qubits.is_empty() => return Ok(None),
                    Some((name, n)) if in_order(n) => format!("barrier {name};"),
                    _ => format!("barrier {};", list(&qubits, scope)),
                }
            }
        }))
    }

    fn call(
        &mut self,
        gate: &Gate,
        instruction: &Instruction,
        scope: &PrintScope,
    ) -> Result<String, PrintError> {
        let n = instruction.controls.len();
        let general = if n > 0 { with_its_phase(gate)? } else { None };
        let gate = general.as_ref().unwrap_or(gate);
        let angles =
            gate.params().iter().map(|a| scope.params.angle(a)).collect::<Result<Vec<_>, _>>()?;
        self.call_with(gate.kind(), &angles, instruction, scope)
    }

    /// A gate whose angles are computed when it runs.
    fn runtime_call(
        &mut self,
        gate: &RuntimeGate,
        instruction: &Instruction,
        scope: &PrintScope,
    ) -> Result<String, PrintError> {
        let general = match instruction.controls.len() {
            0 => None,
            _ => with_its_phase(&gate.with_placeholders())?,
        };
        let general = general.map(|general| gate.in_place_of(&general));
        let gate = match &general {
            Some(Operation::RuntimeGate(general)) => general,
            _ => gate,
        };
        let angle = |(expr, known): (&Option<ClassicalExpr>, &Angle)| match expr {
            Some(expr) => Ok(expr.text(&scope.classical)),
            None => scope.params.angle(known),
        };
        let angles = gate.exprs().iter().zip(gate.params()).map(angle);
        let angles = angles.collect::<Result<Vec<_>, _>>()?;
        self.call_with(gate.kind(), &angles, instruction, scope)
    }

    /// A gate with the texts of its angles.
    fn call_with(
        &mut self,
        kind: GateKind,
        angles: &[String],
        instruction: &Instruction,
        scope: &PrintScope,
    ) -> Result<String, PrintError> {
        let n = instruction.controls.len();
        let angles =
            if angles.is_empty() { String::new() } else { format!("({})", angles.join(", ")) };
        if n > 0
            && instruction.controls.iter().all(|c| c.value)
            && let Some(name) = stdgate(kind, n)
        {
            let qubits: Vec<u32> = instruction.qubits().collect();
            return Ok(format!("{name}{angles} {};", list(&qubits, scope)));
        }
        let name = self.base(kind)?;
        Ok(apply(&name, &angles, instruction, scope))
    }

    /// A call of a gate that the source of the circuit defined.
    fn named_call(&mut self, call: &NamedCall, scope: &PrintScope) -> Result<String, PrintError> {
        let key = Qasm3Key::Named(address(call));
        let name = match self.defined.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.gates.get(&address(call)).cloned().unwrap_or_default();
                self.define_named(&name, call.gate.body())?;
                self.defined.insert(key, name.clone());
                name
            }
        };
        let args =
            call.args.iter().map(|a| scope.params.angle(a)).collect::<Result<Vec<_>, _>>()?;
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        let inverse = if call.inverse { "inv @ " } else { "" };
        let controls = call.controls.iter().map(|c| c.qubit);
        let qubits: Vec<u32> = controls.chain(call.qubits.iter().copied()).collect();
        Ok(format!("{inverse}{}{name}{args} {};", modifiers(call.controls), list(&qubits, scope)))
    }

    /// Returns a name for a length that hardware decides.
    fn stretch(&mut self) -> String {
        let name = self.names.allocate("wait");
        // Writing to a String cannot fail.
        let _ = writeln!(self.definitions, "stretch {name};");
        name
    }

    /// Returns the name of a gate without controls, which is defined first if need be.
    fn base(&mut self, kind: GateKind) -> Result<String, PrintError> {
        if let Some(name) = stdgate(kind, 0) {
            return Ok(name.to_owned());
        }
        let inverse = match kind {
            GateKind::SXDG => GateKind::SX,
            GateKind::ISWAPDG => GateKind::ISWAP,
            GateKind::DCXDG => GateKind::DCX,
            _ => {
                if let Some(name) = self.defined.get(&Qasm3Key::Kind(kind)) {
                    return Ok(name.clone());
                }
                let Some(body) = definition(kind)? else {
                    return Err(PrintError::Undefined { gate: kind.name() });
                };
                // Inputs and registers keep their names.
                let name = self.names.allocate(kind.name());
                self.define(&name, &body)?;
                self.defined.insert(Qasm3Key::Kind(kind), name.clone());
                return Ok(name);
            }
        };
        Ok(format!("inv @ {}", self.base(inverse)?))
    }

    fn define_unitary(&mut self, matrix: &Matrix<Complex<f64>>) -> Result<String, PrintError> {
        check_unitary_size(matrix)?;
        let bits = matrix.entries().iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect();
        let key = Qasm3Key::Matrix(bits);
        if let Some(name) = self.defined.get(&key) {
            return Ok(name.clone());
        }
        let name = self.names.allocate("unitary");
        self.define(&name, &synthesis::synthesize(matrix)?)?;
        self.defined.insert(key, name.clone());
        Ok(name)
    }

    /// Writes a definition; those that it needs come before it.
    fn define(&mut self, name: &str, body: &Circuit) -> Result<(), PrintError> {
        let formals = Formals::usual(body);
        let statements = self.statements(body, &formals)?;
        self.write_definition(&formals.head(name), &statements);
        Ok(())
    }

    /// Defines a gate of the circuit, with its own names of parameters and qubits.
    fn define_named(&mut self, name: &str, body: &Circuit) -> Result<(), PrintError> {
        // The gates that it calls are defined first, so that no name of its own shadows one of
        // theirs.
        self.statements(body, &Formals::usual(body))?;
        let mut names = UniqueNames::new(Alphabet::Qasm3);
        names.reserve(name);
        for (defined, called) in &self.defined {
            if matches!(defined, Qasm3Key::Kind(_)) {
                names.reserve(called);
            }
        }
        let formals = Formals::own(body, &mut names, true);
        let statements = self.statements(body, &formals)?;
        self.write_definition(&formals.head(name), &statements);
        Ok(())
    }

    /// The gates of a definition.
    fn statements(&mut self, body: &Circuit, formals: &Formals) -> Result<Vec<String>, PrintError> {
        let params = ParamTexts::new(body, &formals.params)?;
        let scope = PrintScope {
            params: &params,
            classical: ClassicalNames::new(&[], Vec::new(), |_| String::new()),
            hidden: ScratchRegisters::default(),
            qubit: &|i| formals.qubit(i),
            all: None,
            blocks: None,
            leave: "",
        };
        let all = body.instructions().iter().map(|instruction| self.statement(instruction, &scope));
        all.filter_map(Result::transpose).collect()
    }

    fn write_definition(&mut self, head: &str, statements: &[String]) {
        // Writing to a String cannot fail.
        let _ = write!(self.definitions, "{head}");
        let _ = match statements.len() {
            0..=12 => writeln!(self.definitions, " {} }}", statements.join(" ")),
            _ => writeln!(self.definitions, "\n    {}\n}}", statements.join("\n    ")),
        };
    }
}

/// Returns `U`, `u2` or `u3` as the gate that has its phase as a parameter. Controls show the
/// phase, and readers of the language do not agree on that of these gates. `None` for any other
/// gate, and where the phase would lose digits as one number.
fn with_its_phase(gate: &Gate) -> Result<Option<Gate>, PrintError> {
    let Some(TextbookGate { angles: [theta, phi, lambda], gamma }) = TextbookGate::new(gate) else {
        return Ok(None);
    };
    let whole = |gamma| Gate::new(GateKind::UG, [theta, phi, lambda, gamma]);
    Ok(precise_sum(&gamma).map(whole).transpose()?)
}

/// The first name in `stdgates.inc`.
fn stdgate(kind: GateKind, n_controls: usize) -> Option<&'static str> {
    let named = NAMED_GATES.iter().find(|g| g.kind == kind && g.n_controls == n_controls);
    named.and_then(|g| g.qasm3.first().copied())
}

fn list(qubits: &[u32], scope: &PrintScope) -> String {
    qubits.iter().map(|&q| (scope.qubit)(q)).collect::<Vec<_>>().join(", ")
}

/// A gate call with its control modifiers.
fn apply(name: &str, angles: &str, instruction: &Instruction, scope: &PrintScope) -> String {
    let mut text = modifiers(&instruction.controls);
    let qubits: Vec<u32> = instruction.qubits().collect();
    let space = if qubits.is_empty() { "" } else { " " };
    // Writing to a String cannot fail.
    let _ = write!(text, "{name}{angles}{space}{};", list(&qubits, scope));
    text
}

/// Returns the modifiers for controls.
fn modifiers(controls: &[Control]) -> String {
    let mut text = String::new();
    for run in controls.chunk_by(|a, b| a.value == b.value) {
        let modifier = if run[0].value { "ctrl" } else { "negctrl" };
        // Writing to a String cannot fail.
        let _ = match run.len() {
            1 => write!(text, "{modifier} @ "),
            n => write!(text, "{modifier}({n}) @ "),
        };
    }
    text
}
