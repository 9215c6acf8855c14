//! Layout: instructions as cells in columns.

use std::collections::HashMap;

use crate::{
    circuit::{
        Circuit, Condition, Control, Instruction, NamedCall, Operation, Part, QubitRegister,
        case_text,
    },
    classical::{PlaceNames, VariableId},
    gate::GateKind,
    param::{Angle, Q},
    print::{ClassicalNames, condition},
};

/// Shape of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellShape {
    /// A box around targets on neighbouring rows, so that no other wire goes through; several are
    /// joined by a line.
    Box,
    /// A box for a gate that the source of the circuit defines.
    Call,
    /// A box for one measurement; the note is the bit.
    Measure,
    /// `⊕` on the target.
    Not,
    /// `✕` on both targets.
    Swap,
    /// A dot with a label: a controlled phase without a target; the last control is its target.
    Dot {
        /// The value of that control.
        value: bool,
    },
    /// A stripe on each target.
    Barrier,
    /// A box on all lines from the first to the last: the beginning or the end of a block, or an
    /// exit.
    Block,
}

/// An instruction in the picture. Rows are counted from 0 at the top.
#[derive(Clone, Debug)]
pub(super) struct DiagramCell {
    pub(super) shape: CellShape,
    pub(super) label: String,
    /// A condition, or the bit that a measurement writes.
    pub(super) note: String,
    /// The rows of the targets, in the order of the instruction.
    pub(super) targets: Vec<usize>,
    pub(super) controls: Vec<(usize, bool)>,
    /// The first and the last row.
    pub(super) rows: (usize, usize),
}

impl DiagramCell {
    /// Returns the targets as runs of neighbours: the first and the last row of each, from the top.
    pub(super) fn runs(&self) -> Vec<(usize, usize)> {
        let mut rows = self.targets.clone();
        rows.sort_unstable();
        let runs = rows.chunk_by(|a, b| a + 1 == *b);
        runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
    }

    /// Returns the number of the target on a row, if numbers are written: the order of several
    /// targets.
    pub(super) fn number(&self, row: usize) -> Option<usize> {
        let is_numbered =
            self.targets.len() > 1 && matches!(self.shape, CellShape::Box | CellShape::Call);
        self.targets.iter().position(|&target| is_numbered && target == row)
    }
}

/// The cells of a circuit in columns, no two of a column sharing a row.
pub(super) struct DiagramLayout {
    /// Start of each register of qubits, with its name and size.
    registers: Vec<(usize, QubitRegister)>,
    pub(super) n_qubits: usize,
    /// Number of qubits, and one more row if an instruction acts on none.
    pub(super) n_rows: usize,
    pub(super) columns: Vec<Vec<DiagramCell>>,
}

impl DiagramLayout {
    /// Packs a circuit to the left. `pi` is the text for pi.
    pub(super) fn new(circuit: &Circuit, pi: &str) -> DiagramLayout {
        let n_qubits = circuit.n_qubits();
        let registers: Vec<(String, usize)> =
            circuit.registers().iter().map(|r| (r.name.clone(), r.size)).collect();
        let variables = circuit.variables().iter().map(|v| v.name.clone()).collect();
        let angle = |angle: &Angle| angle_text(circuit, pi, angle);
        let names = ClassicalNames::new(&registers, variables, angle);
        let scribe = Scribe { circuit, pi, names };
        let mut packer = Packer {
            layout: DiagramLayout {
                registers: starts(circuit),
                n_qubits,
                n_rows: n_qubits,
                columns: Vec::new(),
            },
            free: vec![0; n_qubits + 1],
            written: HashMap::new(),
            read: HashMap::new(),
        };
        // The rows of the blocks around, and what their bodies write.
        let mut open: Vec<((usize, usize), Vec<Place>)> = Vec::new();
        // The branch that an `else` comes after.
        let mut branch = None;
        let mut at = 0;
        let calls: HashMap<usize, NamedCall> =
            circuit.calls().into_iter().map(|call| (call.instructions.start, call)).collect();
        let mut parts = circuit.parts().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Run(mut run) => {
                    while let Some(instruction) = run.first() {
                        let call =
                            calls.get(&at).filter(|call| call.instructions.len() <= run.len());
                        let cell = match (call, exit_text(&instruction.operation)) {
                            (Some(call), _) => scribe.call(call, instruction.condition.as_deref()),
                            (None, Some(label)) => {
                                let all = (0, n_qubits.saturating_sub(1));
                                let rows = open.last().map_or(all, |(rows, _)| *rows);
                                let note = scribe.under(instruction.condition.as_deref());
                                Some(block_cell(rows, label, note))
                            }
                            (None, None) => scribe.cell(instruction),
                        };
                        if let Some(cell) = cell {
                            packer.push_cell(cell, &reads(instruction), &writes(instruction));
                        }
                        let taken = call.map_or(1, |call| call.instructions.len());
                        run = &run[taken..];
                        at += taken;
                    }
                }
                Part::Open { head, body } => {
                    // A case is as high as its choice, both branches are as high as either.
                    let (rows, mut written) = match (&head.operation, branch.take()) {
                        (Operation::Else { .. }, Some((rows, written))) => (Some(rows), written),
                        (Operation::Case { .. }, _) => (open.last().map(|o| o.0), Vec::new()),
                        _ => (None, Vec::new()),
                    };
                    let rows = rows.unwrap_or_else(|| scribe.rows_of(with_else(circuit, at, body)));
                    let (label, note) = scribe.header(head);
                    packer.push_cell(block_cell(rows, label, note), &reads(head), &writes(head));
                    written.extend(body.iter().flat_map(writes));
                    open.push((rows, written));
                    at += 1;
                }
                Part::Close { head } => {
                    let Some((rows, writes)) = open.pop() else { continue };
                    let is_before_else = matches!(parts.peek(), Some(Part::Open { head, .. })
                        if matches!(head.operation, Operation::Else { .. }));
                    let has_end = !matches!(head.operation, Operation::Case { .. });
                    if is_before_else {
                        branch = Some((rows, writes));
                    } else if has_end {
                        let end = block_cell(rows, "end".to_owned(), String::new());
                        packer.push_cell(end, &[], &writes);
                    }
                }
            }
        }
        packer.layout
    }

    /// The register of a qubit, and its number there if there are several.
    pub(super) fn qubit(&self, row: usize) -> Option<(&str, Option<usize>)> {
        let after = self.registers.partition_point(|(first, _)| *first <= row);
        let (first, register) = self.registers.get(after.checked_sub(1)?)?;
        let is_alone = register.size == 1 && (register.name != "q" || self.registers.len() > 1);
        (row < self.n_qubits).then(|| (register.name.as_str(), (!is_alone).then(|| row - first)))
    }

    /// Returns the label of a row: `q3`, or by the name of its register `a[3]`, or nothing for the
    /// row without a qubit.
    pub(super) fn row_name(&self, row: usize) -> String {
        match self.qubit(row) {
            None => String::new(),
            Some((name, None)) => name.to_owned(),
            Some(("q", Some(number))) if self.registers.len() == 1 => format!("q{number}"),
            Some((name, Some(number))) => format!("{name}[{number}]"),
        }
    }

    /// Returns the number of characters of the longest label.
    pub(super) fn name_width(&self) -> usize {
        // The last qubit of a register has its longest name.
        let last = self.registers.iter().map(|(first, register)| first + register.size - 1);
        last.map(|row| self.row_name(row).chars().count()).max().unwrap_or(0)
    }
}

fn rows(qubits: &[u32]) -> Vec<usize> {
    qubits.iter().map(|&q| q as usize).collect()
}

fn dots(controls: &[Control]) -> Vec<(usize, bool)> {
    controls.iter().map(|c| (c.qubit as usize, c.value)).collect()
}

/// The registers of the qubits with the first qubit of each.
fn starts(circuit: &Circuit) -> Vec<(usize, QubitRegister)> {
    let mut next = 0;
    let with_start = circuit.qubit_registers().into_iter().map(|register| {
        let first = next;
        next += register.size;
        (first, register)
    });
    with_start.collect()
}

/// Something classical that instructions read and write.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Bit(u32),
    Variable(VariableId),
}

/// What an instruction reads.
fn reads(instruction: &Instruction) -> Vec<Place> {
    let mut places = Vec::new();
    instruction.for_each_bit_read(&mut |bit| places.push(Place::Bit(bit)));
    instruction.for_each_variable_read(&mut |variable| places.push(Place::Variable(variable)));
    places
}

/// What an instruction writes.
fn writes(instruction: &Instruction) -> Vec<Place> {
    let operation = &instruction.operation;
    let bits = operation.written().iter().map(|&bit| Place::Bit(bit));
    bits.chain(operation.written_variable().map(Place::Variable)).collect()
}

/// The label of an exit.
fn exit_text(operation: &Operation) -> Option<String> {
    Some(match operation {
        Operation::Break { levels: 1 } => "break".to_owned(),
        Operation::Break { levels } => format!("break {levels}"),
        Operation::Continue { levels: 1 } => "continue".to_owned(),
        Operation::Continue { levels } => format!("continue {levels}"),
        Operation::End => "stop".to_owned(),
        _ => return None,
    })
}

/// The body of the block whose header is at a position, and that of an `else` after it.
fn with_else<'a>(circuit: &'a Circuit, at: usize, body: &'a [Instruction]) -> &'a [Instruction] {
    let all = circuit.instructions();
    let after = at + 1 + body.len();
    let otherwise = match all.get(after).map(|next| &next.operation) {
        Some(Operation::Else { body }) => *body as usize,
        _ => return body,
    };
    &all[at + 1..all.len().min(after + 1 + otherwise)]
}

fn block_cell(rows: (usize, usize), label: String, note: String) -> DiagramCell {
    let (targets, controls) = ((rows.0..=rows.1).collect(), Vec::new());
    DiagramCell { shape: CellShape::Block, label, note, targets, controls, rows }
}

/// Packer of cells to the left.
struct Packer {
    layout: DiagramLayout,
    /// The first free column of each row.
    free: Vec<usize>,
    /// The column after the last one that writes, or reads, something classical.
    written: HashMap<Place, usize>,
    read: HashMap<Place, usize>,
}

impl Packer {
    fn push_cell(&mut self, cell: DiagramCell, reads: &[Place], writes: &[Place]) {
        let Packer { layout, free, written, read } = self;
        let stripe = cell.shape == CellShape::Barrier;
        let first_free = if stripe {
            cell.targets.iter().map(|&row| free[row]).max()
        } else {
            free[cell.rows.0..=cell.rows.1].iter().copied().max()
        };
        let mut column = first_free.unwrap_or(0);
        let after = |map: &HashMap<Place, usize>, place| map.get(place).copied().unwrap_or(0);
        for place in writes {
            column = column.max(after(written, place)).max(after(read, place));
        }
        for place in reads {
            column = column.max(after(written, place));
        }
        for place in reads {
            let last = read.entry(*place).or_default();
            *last = (column + 1).max(*last);
        }
        written.extend(writes.iter().map(|&place| (place, column + 1)));
        if stripe {
            cell.targets.iter().for_each(|&row| free[row] = column + 1);
        } else {
            free[cell.rows.0..=cell.rows.1].fill(column + 1);
        }
        layout.n_rows = layout.n_rows.max(cell.rows.1 + 1);
        if layout.columns.len() <= column {
            layout.columns.resize_with(column + 1, Vec::new);
        }
        layout.columns[column].push(cell);
    }
}

/// Writer of labels.
struct Scribe<'a> {
    circuit: &'a Circuit,
    pi: &'a str,
    names: ClassicalNames<'a>,
}

impl Scribe<'_> {
    /// The cell of an instruction; `None` for a barrier or a delay without qubits.
    fn cell(&self, instruction: &Instruction) -> Option<DiagramCell> {
        let condition = instruction.condition.as_deref();
        let mut note = self.under(condition);
        let mut targets = rows(&instruction.targets);
        let mut controls = dots(&instruction.controls);
        let (shape, label) = match &instruction.operation {
            Operation::Gate(gate) => {
                let drawn = match gate.kind() {
                    GateKind::X if !controls.is_empty() && condition.is_none() => CellShape::Not,
                    GateKind::SWAP if condition.is_none() => CellShape::Swap,
                    _ => CellShape::Box,
                };
                (drawn, self.gate(gate.kind(), gate.params().iter().map(|a| self.angle(a))))
            }
            Operation::RuntimeGate(gate) => {
                let angles = gate.exprs().iter().zip(gate.params());
                let angles = angles.map(|(expr, known)| match expr {
                    Some(expr) => expr.text(&self.names),
                    None => self.angle(known),
                });
                (CellShape::Box, self.gate(gate.kind(), angles))
            }
            Operation::PauliRotation(rotation) if targets.is_empty() => {
                let phase = rotation.angle().clone() * Q::new_raw(-1, 2);
                (CellShape::Box, self.with_params("phase", &[phase]))
            }
            Operation::PauliRotation(rotation) => {
                let letters: String =
                    rotation.letters().iter().map(|l| l.word().trim_end()).collect();
                (CellShape::Box, self.with_params(&format!("R{letters}"), rotation.params()))
            }
            Operation::Unitary(_) => (CellShape::Box, "unitary".to_owned()),
            Operation::Measure { bit } => {
                let bit = self.names.bits.name(*bit);
                note = if note.is_empty() { bit } else { format!("{bit} {note}") };
                (CellShape::Measure, "M".to_owned())
            }
            Operation::Reset => (CellShape::Box, "|0>".to_owned()),
            Operation::Channel(channel) => {
                (CellShape::Box, self.with_params(channel.name(), channel.params()))
            }
            Operation::Assign { bit, value } => {
                (CellShape::Box, format!("{} = {}", self.names.bits.name(*bit), u8::from(*value)))
            }
            Operation::ReadoutError { bits, probabilities } => {
                let names: Vec<String> =
                    bits.iter().map(|&bit| self.names.bits.name(bit)).collect();
                let name = format!("readout_error {}", names.join(", "));
                // The matrix of several is too long for a label.
                let shown = if bits.len() == 1 { &probabilities[..] } else { &[] };
                (CellShape::Box, self.with_params(&name, shown))
            }
            Operation::Delay { length } => (CellShape::Box, format!("delay {length}")),
            Operation::Store(assignment) => (CellShape::Box, assignment.text(&self.names)),
            // The headers of blocks and exits have other cells.
            Operation::While { .. }
            | Operation::For { .. }
            | Operation::If { .. }
            | Operation::Else { .. }
            | Operation::Switch { .. }
            | Operation::Case { .. }
            | Operation::Block { .. }
            | Operation::Break { .. }
            | Operation::Continue { .. }
            | Operation::End => return None,
            Operation::Barrier => {
                targets.extend(controls.drain(..).map(|c| c.0));
                (CellShape::Barrier, String::new())
            }
        };
        if targets.is_empty() && instruction.operation.does_nothing() {
            return None;
        }
        self.with_rows(DiagramCell { shape, label, note, targets, controls, rows: (0, 0) })
    }

    /// The cell of a gate with a name.
    fn call(&self, call: &NamedCall, condition: Option<&Condition>) -> Option<DiagramCell> {
        let name = format!("{}{}", call.gate.name(), if call.inverse { "†" } else { "" });
        let label = self.with_params(&name, call.args);
        let (targets, controls) = (rows(call.qubits), dots(call.controls));
        self.with_rows(DiagramCell {
            shape: CellShape::Call,
            label,
            note: self.under(condition),
            targets,
            controls,
            rows: (0, 0),
        })
    }

    /// The note of a condition.
    fn under(&self, condition: Option<&Condition>) -> String {
        condition.map_or_else(String::new, |c| format!("if {}", condition::qasm3(c, &self.names)))
    }

    /// Returns a cell with its rows. Without targets it is on its last control, or on the row
    /// without a qubit.
    fn with_rows(&self, cell: DiagramCell) -> Option<DiagramCell> {
        let DiagramCell { mut shape, label, note, mut targets, mut controls, .. } = cell;
        if targets.is_empty() {
            match (shape, controls.pop()) {
                (_, Some((row, value))) => {
                    shape = CellShape::Dot { value };
                    targets.push(row);
                }
                (_, None) => targets.push(self.circuit.n_qubits()),
            }
        }
        let all = || targets.iter().copied().chain(controls.iter().map(|c| c.0));
        let rows = (all().min()?, all().max()?);
        Some(DiagramCell { shape, label, note, targets, controls, rows })
    }

    /// The rows of the instructions of a block.
    fn rows_of(&self, body: &[Instruction]) -> (usize, usize) {
        let below = self.circuit.n_qubits();
        let row = |i: &Instruction| i.qubits().map(|q| q as usize).min().unwrap_or(below);
        let last = |i: &Instruction| i.qubits().map(|q| q as usize).max().unwrap_or(below);
        let drawn = || body.iter().filter(|i| i.operation.body().is_none());
        (drawn().map(row).min().unwrap_or(below), drawn().map(last).max().unwrap_or(below))
    }

    /// The label and the note of the beginning of a block.
    fn header(&self, head: &Instruction) -> (String, String) {
        let condition = || {
            let condition = head.condition.as_deref();
            condition.map_or_else(|| "true".to_owned(), |c| condition::qasm3(c, &self.names))
        };
        match &head.operation {
            Operation::While { .. } => ("while".to_owned(), condition()),
            Operation::If { .. } => ("if".to_owned(), condition()),
            Operation::Else { .. } => ("else".to_owned(), String::new()),
            Operation::For { over, .. } => {
                let (variable, values) =
                    (self.names.variable(over.variable), over.values.text(&self.names));
                ("for".to_owned(), format!("{variable} in {values}"))
            }
            Operation::Switch { subject, .. } => ("switch".to_owned(), subject.text(&self.names)),
            Operation::Case { labels, .. } => (case_text(labels), String::new()),
            _ => ("block".to_owned(), String::new()),
        }
    }

    fn gate(&self, kind: GateKind, angles: impl Iterator<Item = String>) -> String {
        let name = match kind {
            GateKind::I => "I".to_owned(),
            GateKind::UG => "U".to_owned(),
            GateKind::GPHASE => "phase".to_owned(),
            kind => {
                let upper = kind.name().to_uppercase();
                upper.strip_suffix("DG").map_or(upper.clone(), |base| format!("{base}†"))
            }
        };
        with_angles(&name, angles)
    }

    fn with_params(&self, name: &str, params: &[Angle]) -> String {
        with_angles(name, params.iter().map(|a| self.angle(a)))
    }

    fn angle(&self, angle: &Angle) -> String {
        angle_text(self.circuit, self.pi, angle)
    }
}

/// The label of a gate with the texts of its angles.
fn with_angles(name: &str, angles: impl Iterator<Item = String>) -> String {
    let angles: Vec<String> = angles.collect();
    if angles.is_empty() { name.to_owned() } else { format!("{name}({})", angles.join(", ")) }
}

/// Returns an angle for display: five digits of a decimal, the chosen letter for pi.
fn angle_text(circuit: &Circuit, pi: &str, angle: &Angle) -> String {
    let radians: f64 = format!("{:.4e}", angle.radian_part()).parse().unwrap_or(f64::NAN);
    let rest =
        angle.terms().iter().fold(Angle::rad(radians), |sum, &(id, q)| sum + Angle::theta(id) * q);
    let q: Q = angle.pi_part();
    let (sign, n, d) = (if *q.numer() < 0 { "-" } else { "" }, q.numer().unsigned_abs(), q.denom());
    let times = if pi.is_ascii() { "*" } else { "" };
    let pi = match (n, d) {
        (0, _) => return circuit.angle_text(&rest),
        (1, 1) => format!("{sign}{pi}"),
        (1, d) => format!("{sign}{pi}/{d}"),
        (n, 1) => format!("{sign}{n}{times}{pi}"),
        (n, d) => format!("{sign}{n}{times}{pi}/{d}"),
    };
    if rest == Angle::zero() {
        return pi;
    }
    let rest = circuit.angle_text(&rest);
    match rest.strip_prefix('-') {
        Some(positive) => format!("{pi} - {positive}"),
        None => format!("{pi} + {rest}"),
    }
}
