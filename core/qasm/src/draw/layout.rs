//! Layout: instructions as cells in columns.

use std::collections::HashMap;

use crate::{
    circuit::{
        Circuit, Condition, Control, Instruction, NamedCall, Operation, Part, QubitRegister,
    },
    gate::{Gate, GateKind},
    param::{Angle, Q},
    print::{RegisterNames, condition},
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
    /// A box on all lines from the first to the last: the beginning or the end of a loop.
    Loop,
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
        let scribe = Scribe { circuit, pi, bits: RegisterNames::new(&registers) };
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
        // The ends of the loops around, and what their bodies write.
        let mut open: Vec<(DiagramCell, Vec<u32>)> = Vec::new();
        let mut at = 0;
        let calls: HashMap<usize, NamedCall> =
            circuit.calls().into_iter().map(|call| (call.instructions.start, call)).collect();
        for part in circuit.parts() {
            match part {
                Part::Run(mut run) => {
                    while let Some(instruction) = run.first() {
                        let call =
                            calls.get(&at).filter(|call| call.instructions.len() <= run.len());
                        let cell = match call {
                            Some(call) => scribe.call(call, instruction.condition.as_deref()),
                            None => scribe.cell(instruction),
                        };
                        if let Some(cell) = cell {
                            packer.push_cell(
                                cell,
                                instruction.condition.as_deref(),
                                writes(instruction).as_slice(),
                            );
                        }
                        let taken = call.map_or(1, |call| call.instructions.len());
                        run = &run[taken..];
                        at += taken;
                    }
                }
                Part::Loop { head, body } => {
                    at += 1;
                    let condition = head.condition.as_deref();
                    let (begin, end) = scribe.loop_cells(condition, body);
                    packer.push_cell(begin, condition, &[]);
                    open.push((end, body.iter().filter_map(writes).collect()));
                }
                Part::End => {
                    if let Some((cell, writes)) = open.pop() {
                        packer.push_cell(cell, None, &writes);
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

/// The classical bit that an instruction writes.
fn writes(instruction: &Instruction) -> Option<u32> {
    match instruction.operation {
        Operation::Measure { bit } | Operation::Assign { bit, .. } => Some(bit),
        _ => None,
    }
}

/// Packer of cells to the left.
struct Packer {
    layout: DiagramLayout,
    /// The first free column of each row.
    free: Vec<usize>,
    /// The column after the last one that writes, or reads, a classical bit.
    written: HashMap<u32, usize>,
    read: HashMap<u32, usize>,
}

impl Packer {
    fn push_cell(&mut self, cell: DiagramCell, condition: Option<&Condition>, writes: &[u32]) {
        let Packer { layout, free, written, read } = self;
        let stripe = cell.shape == CellShape::Barrier;
        let first_free = if stripe {
            cell.targets.iter().map(|&row| free[row]).max()
        } else {
            free[cell.rows.0..=cell.rows.1].iter().copied().max()
        };
        let mut column = first_free.unwrap_or(0);
        for bit in writes {
            let after = |map: &HashMap<u32, usize>| map.get(bit).copied().unwrap_or(0);
            column = column.max(after(written)).max(after(read));
        }
        if let Some(condition) = condition {
            condition.for_each_bit(&mut |bit| {
                column = column.max(written.get(&bit).copied().unwrap_or(0));
            });
            condition.for_each_bit(&mut |bit| {
                let last = read.entry(bit).or_default();
                *last = (column + 1).max(*last);
            });
        }
        written.extend(writes.iter().map(|&bit| (bit, column + 1)));
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
    bits: RegisterNames<'a>,
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
                (drawn, self.gate(gate))
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
                let bit = self.bits.name(*bit);
                note = if note.is_empty() { bit } else { format!("{bit} {note}") };
                (CellShape::Measure, "M".to_owned())
            }
            Operation::Reset => (CellShape::Box, "|0>".to_owned()),
            Operation::Channel(channel) => {
                (CellShape::Box, self.with_params(channel.name(), channel.params()))
            }
            Operation::Assign { bit, value } => {
                (CellShape::Box, format!("{} = {}", self.bits.name(*bit), u8::from(*value)))
            }
            Operation::ReadoutError { bits, probabilities } => {
                let names: Vec<String> = bits.iter().map(|&bit| self.bits.name(bit)).collect();
                let name = format!("readout_error {}", names.join(", "));
                // The matrix of several is too long for a label.
                let shown = if bits.len() == 1 { &probabilities[..] } else { &[] };
                (CellShape::Box, self.with_params(&name, shown))
            }
            Operation::Delay { length } => (CellShape::Box, format!("delay {length}")),
            Operation::While { .. } => return None,
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
        condition.map_or_else(String::new, |c| format!("if {}", condition::qasm3(c, &self.bits)))
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

    /// Returns the cells of the beginning of a loop, with its condition, and of its end.
    fn loop_cells(
        &self,
        condition: Option<&Condition>,
        body: &[Instruction],
    ) -> (DiagramCell, DiagramCell) {
        let below = self.circuit.n_qubits();
        let row = |i: &Instruction| i.qubits().map(|q| q as usize).min().unwrap_or(below);
        let last = |i: &Instruction| i.qubits().map(|q| q as usize).max().unwrap_or(below);
        let drawn = || body.iter().filter(|i| !matches!(i.operation, Operation::While { .. }));
        let rows =
            (drawn().map(row).min().unwrap_or(below), drawn().map(last).max().unwrap_or(below));
        let condition =
            condition.map_or_else(|| "true".to_owned(), |c| condition::qasm3(c, &self.bits));
        let cell = |label: &str, note| {
            let (targets, controls) = ((rows.0..=rows.1).collect(), Vec::new());
            DiagramCell {
                shape: CellShape::Loop,
                label: label.to_owned(),
                note,
                targets,
                controls,
                rows,
            }
        };
        (cell("while", condition), cell("end", String::new()))
    }

    fn gate(&self, gate: &Gate) -> String {
        let name = match gate.kind() {
            GateKind::I => "I".to_owned(),
            GateKind::UG => "U".to_owned(),
            GateKind::GPHASE => "phase".to_owned(),
            kind => {
                let upper = kind.name().to_uppercase();
                upper.strip_suffix("DG").map_or(upper.clone(), |base| format!("{base}†"))
            }
        };
        self.with_params(&name, gate.params())
    }

    fn with_params(&self, name: &str, params: &[Angle]) -> String {
        if params.is_empty() {
            return name.to_owned();
        }
        let angles: Vec<String> = params.iter().map(|a| self.angle(a)).collect();
        format!("{name}({})", angles.join(", "))
    }

    /// Returns an angle for display: five digits of a decimal, the chosen letter for pi.
    fn angle(&self, angle: &Angle) -> String {
        let radians: f64 = format!("{:.4e}", angle.radian_part()).parse().unwrap_or(f64::NAN);
        let rest = angle
            .terms()
            .iter()
            .fold(Angle::rad(radians), |sum, &(id, q)| sum + Angle::theta(id) * q);
        let q: Q = angle.pi_part();
        let (sign, n, d) =
            (if *q.numer() < 0 { "-" } else { "" }, q.numer().unsigned_abs(), q.denom());
        let times = if self.pi.is_ascii() { "*" } else { "" };
        let pi = match (n, d) {
            (0, _) => return self.circuit.angle_text(&rest),
            (1, 1) => format!("{sign}{}", self.pi),
            (1, d) => format!("{sign}{}/{d}", self.pi),
            (n, 1) => format!("{sign}{n}{times}{}", self.pi),
            (n, d) => format!("{sign}{n}{times}{}/{d}", self.pi),
        };
        if rest == Angle::zero() {
            return pi;
        }
        let rest = self.circuit.angle_text(&rest);
        match rest.strip_prefix('-') {
            Some(positive) => format!("{pi} - {positive}"),
            None => format!("{pi} + {rest}"),
        }
    }
}
