//! The last step: from the plan to instructions.
//!
//! Calls of definitions are expanded here: their arguments are substituted in the values of the
//! body. A value that is not an angle (`sin(theta)`) becomes a parameter of the circuit, one for
//! each different expression.

mod named;

use std::{collections::HashMap, sync::Arc};

use named::STANDARD;
use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    IndexSet, LoweredItem, Planned, QasmLowering,
    call::{PlannedCall, Resolved},
    conditional::{Built, both},
    control::{BlockFrames, BlockHead},
    define::{GateBodyStep, GateTemplate},
    instantiate::instantiate,
    memory::circuit_problem,
    names::GateCallee,
    power::{self, Exponent, PoweredGate},
    pragma::{ChannelSpec, PlannedChannel},
    value::QasmValue,
};
use crate::{
    channel::Channel,
    circuit::{
        Circuit, ClassicalAssignment, ClassicalTarget, Condition, Control, ForHeader, ForValues,
        GateAngle, GateDefinition, Instruction, Operation, ParamDef, Qubits, ReadoutBitList,
    },
    gate::{Gate, GateKind},
    matrix::Matrix,
    param::{self, Angle, ParamExpr, Values},
    qasm::{
        ast::{FileSpan, Interner},
        diagnostic::{Diagnostic, QasmProblem},
    },
    simulate::Simulator,
};

/// The most qubits of a defined gate with a fractional power, which takes its matrix.
const MAX_POWER_QUBITS: usize = 6;

/// The longest one, after expansion.
const MAX_POWER_SIZE: u64 = 1 << 20;

/// The longest expression of a parameter, written out, and all of them together.
const MAX_NAME: usize = 1 << 16;
const MAX_NAMES: usize = 1 << 28;

type ControlList = SmallVec<[Control; 2]>;
type PowerMatrix = Matrix<Complex<f64>>;

/// From which instruction on with parameters which statement is meant.
pub(in crate::qasm) type InstructionSpans = Vec<(usize, FileSpan)>;

struct Builder<'p> {
    circuit: Circuit,
    places: InstructionSpans,
    /// True for each source whose gates are those of the file.
    own: Vec<bool>,
    /// Definitions as gates with names, if they can be.
    named: HashMap<usize, Option<Arc<GateDefinition>>>,
    definitions: &'p [GateTemplate],
    names: &'p Interner,
    /// Computed parameters by their expression.
    computed: HashMap<String, Angle>,
    /// The length of their names.
    written: usize,
    /// Powers of defined gates by name, arguments and exponents.
    powers: HashMap<String, Arc<PowerMatrix>>,
    /// Span of the step that is being built.
    place: FileSpan,
    /// The condition of what is being built.
    condition: Option<Arc<Condition>>,
    /// The conditions of every `if`.
    conditions: &'p [Built],
    /// The scratch bit for results that are not stored.
    sink: u32,
    /// The instructions where the loops around begin.
    loops: Vec<usize>,
    /// The instructions where the blocks around begin, and the frames of those that exits count.
    blocks: Vec<(usize, Option<BlockFrames>)>,
}

impl QasmLowering<'_> {
    /// Builds the circuit of the plan. `None` after an error.
    pub(super) fn build(&mut self) -> Option<(Circuit, InstructionSpans)> {
        let discards = self.keep_used_measurements();
        let (conditions, most) = self.built_conditions();
        let plan = std::mem::take(&mut self.plan);
        let mut circuit = Circuit::new(self.n_qubits as usize);
        // Physical qubits have no register.
        let registers = self
            .qubits
            .iter()
            .map(|r| (r.name.map(|n| self.name(n)).unwrap_or_default(), r.size as usize));
        let _ = circuit.name_qubits(registers.collect::<Vec<_>>());
        for name in std::mem::take(&mut self.inputs) {
            circuit.push_param(ParamDef { name, definition: None });
        }
        for register in self.classical_registers() {
            circuit.push_register(register);
        }
        let mut failed = self.declare_memory(&mut circuit).err();
        let tables = self.tables();
        let hidden = most + u32::from(discards);
        if let (Err(problem), None) = (self.check_hidden(hidden), &failed) {
            failed = Some((problem, self.file_span(Default::default())));
        } else if hidden > 0
            && let Some(name) =
                self.scratch_names().nth(self.bits.iter().filter(|r| r.name.is_none()).count())
            && let Err(e) = circuit.hidden_register(&name, hidden as usize)
        {
            failed = Some((
                QasmProblem::Circuit { reason: e.to_string() },
                self.file_span(Default::default()),
            ));
        }
        let mut builder = Builder {
            circuit,
            places: InstructionSpans::new(),
            definitions: &self.definitions,
            names: &self.interner,
            computed: HashMap::new(),
            written: 0,
            powers: HashMap::new(),
            place: FileSpan { source: 0, span: Default::default() },
            condition: None,
            conditions: &conditions,
            sink: self.n_bits.saturating_add(most),
            loops: Vec::new(),
            blocks: Vec::new(),
            own: self
                .sources
                .iter()
                .map(|source| !STANDARD.contains(&source.name.as_str()))
                .collect(),
            named: HashMap::new(),
        };
        for Planned { item, guard } in tables.into_iter().chain(plan) {
            let statement = item.file_span();
            builder.condition =
                guard.and_then(|guard| conditions.get(guard.number as usize)?.condition_of(guard));
            if let (Err(problem), None) = (builder.item(item), &failed) {
                failed = Some((problem, statement.unwrap_or(builder.place)));
                break;
            }
        }
        let (circuit, places, inner) = (builder.circuit, builder.places, builder.place);
        let Some((problem, place)) = failed else { return Some((circuit, places)) };
        let mut error = Diagnostic::error(problem).with_label(place, "");
        if inner != place {
            error = error.with_label(inner, "in this step");
        }
        self.diagnostics.push(error);
        None
    }
}

impl LoweredItem {
    /// Returns the qubits that are used by more than a measurement without a result.
    pub(super) fn uses(&self) -> Vec<u32> {
        match self {
            LoweredItem::Measure { qubits, .. } | LoweredItem::Reset { qubits, .. } => {
                qubits.iter().collect()
            }
            LoweredItem::Call(call) => call.qubits.iter().flat_map(|p| p.iter()).collect(),
            LoweredItem::Channel(channel) => channel.qubits.iter().flat_map(|p| p.iter()).collect(),
            _ => Vec::new(),
        }
    }

    fn file_span(&self) -> Option<FileSpan> {
        match self {
            LoweredItem::Call(call) => Some(FileSpan { source: call.source, span: call.span }),
            LoweredItem::Channel(channel) => Some(channel.place),
            LoweredItem::Measure { place, .. }
            | LoweredItem::Discard { place, .. }
            | LoweredItem::Reset { place, .. }
            | LoweredItem::Delay { place, .. }
            | LoweredItem::ReadoutError { place, .. }
            | LoweredItem::While { place, .. }
            | LoweredItem::Write { place, .. }
            | LoweredItem::WriteBits { place, .. }
            | LoweredItem::WriteBitAt { place, .. }
            | LoweredItem::Assign { place, .. } => Some(*place),
            LoweredItem::EndWhile
            | LoweredItem::Open { .. }
            | LoweredItem::Close
            | LoweredItem::Exit { .. }
            | LoweredItem::BreakLoop
            | LoweredItem::Barrier { .. }
            | LoweredItem::Store { .. }
            | LoweredItem::Forget { .. }
            | LoweredItem::Leave { .. } => None,
        }
    }
}

/// The qubits of an instruction on all of them together, each once.
fn distinct(qubits: &[IndexSet]) -> Qubits {
    let mut all: Qubits = qubits.iter().flat_map(|p| p.iter()).collect();
    if qubits.len() > 1 {
        all.sort_unstable();
        all.dedup();
    }
    all
}

impl Builder<'_> {
    fn item(&mut self, item: LoweredItem) -> Result<(), QasmProblem> {
        let one = |qubit| [qubit].into_iter().collect();
        match item {
            LoweredItem::Call(call) => self.call(call),
            LoweredItem::Channel(channel) => self.channel(channel),
            LoweredItem::ReadoutError { probabilities, bits, together, place } => {
                self.place = place;
                let probabilities = probabilities.into_iter().map(|chance| self.angle(chance));
                let probabilities: Arc<[Angle]> = probabilities.collect::<Result<_, _>>()?;
                let mut push = |bits: ReadoutBitList| {
                    let probabilities = Arc::clone(&probabilities);
                    self.push(
                        Operation::ReadoutError { bits, probabilities },
                        Qubits::new(),
                        ControlList::new(),
                    )
                };
                match together {
                    true => push(bits.iter().collect()),
                    false => bits.iter().try_for_each(|bit| push(SmallVec::from_slice(&[bit]))),
                }
            }
            LoweredItem::Measure { qubits, bits, .. } => {
                for (qubit, bit) in qubits.iter().zip(bits.iter()) {
                    self.push(Operation::Measure { bit }, one(qubit), ControlList::new())?;
                }
                Ok(())
            }
            LoweredItem::Discard { kept, .. } if kept.is_empty() => Ok(()),
            LoweredItem::Discard { kept, .. } => {
                let bit = self.sink;
                for qubit in kept {
                    self.push(Operation::Measure { bit }, one(qubit), ControlList::new())?;
                }
                self.condition = None;
                self.assign(bit, false)
            }
            LoweredItem::Reset { qubits, .. } => {
                for qubit in qubits.iter() {
                    self.push(Operation::Reset, one(qubit), ControlList::new())?;
                }
                Ok(())
            }
            LoweredItem::Assign { bits, values, .. } => {
                for (bit, &value) in bits.iter().zip(&values) {
                    self.assign(bit, value)?;
                }
                Ok(())
            }
            LoweredItem::Leave { bit, .. } => self.assign(bit, true),
            LoweredItem::While { condition, .. } => {
                self.condition = Some(both(self.condition.as_deref(), condition));
                self.loops.push(self.circuit.instructions().len());
                self.push(Operation::While { body: 0 }, Qubits::new(), ControlList::new())
            }
            LoweredItem::EndWhile => {
                if let Some(at) = self.loops.pop() {
                    self.circuit.set_body(at);
                }
                Ok(())
            }
            LoweredItem::Store { number } => {
                let Some(built) = self.conditions.get(number as usize) else { return Ok(()) };
                self.condition = built.whole.clone();
                built.bit.map_or(Ok(()), |bit| self.assign(bit, true))
            }
            LoweredItem::Forget { number } => {
                let bit = self.conditions.get(number as usize).and_then(|built| built.bit);
                bit.map_or(Ok(()), |bit| self.assign(bit, false))
            }
            LoweredItem::Delay { length, qubits, place } => {
                self.place = place;
                let all = distinct(&qubits);
                match all.is_empty() {
                    true => Ok(()),
                    false => self.push(Operation::Delay { length }, all, ControlList::new()),
                }
            }
            LoweredItem::Barrier { qubits } => {
                let all = distinct(&qubits);
                if all.is_empty() {
                    Ok(())
                } else {
                    self.push(Operation::Barrier, all, ControlList::new())
                }
            }
            other => self.block_item(other),
        }
    }

    /// Adds a part of a block, or what writes to memory.
    fn block_item(&mut self, item: LoweredItem) -> Result<(), QasmProblem> {
        match item {
            LoweredItem::Open { head, frames } => self.open(head, frames),
            LoweredItem::Close => {
                if let Some((at, _)) = self.blocks.pop() {
                    self.circuit.set_body(at);
                }
                Ok(())
            }
            LoweredItem::Exit { ends: true, .. } => self.classical(Operation::End),
            LoweredItem::Exit { frame, .. } => self.exit(frame),
            LoweredItem::BreakLoop => self.classical(Operation::Break { levels: 1 }),
            LoweredItem::Write { slot, indices, value, .. } => {
                let stored = match indices.is_empty() {
                    true => self.circuit.store(slot, *value),
                    false => self.circuit.store_element(slot, indices, *value),
                };
                stored.map(|_| ()).map_err(circuit_problem)
            }
            LoweredItem::WriteBits { bits, value, .. } => {
                let target = ClassicalTarget::Bits(bits.iter().collect());
                let assignment = ClassicalAssignment { target, value: *value };
                self.classical(Operation::Store(Arc::new(assignment)))
            }
            LoweredItem::WriteBitAt { bits, index, value, .. } => {
                let bits: Vec<u32> = bits.iter().collect();
                let stored = self.circuit.store_bit(&bits, *index, *value);
                stored.map(|_| ()).map_err(circuit_problem)
            }
            // `item` has all others.
            _ => Ok(()),
        }
    }

    /// Adds an operation that acts on no qubits.
    fn classical(&mut self, operation: Operation) -> Result<(), QasmProblem> {
        self.push(operation, Qubits::new(), ControlList::new())
    }

    fn open(&mut self, head: BlockHead, frames: BlockFrames) -> Result<(), QasmProblem> {
        let at = self.circuit.instructions().len();
        let (operation, condition, counted) = match head {
            BlockHead::If(condition) => (Operation::If { body: 0 }, Some(condition), None),
            BlockHead::Else => (Operation::Else { body: 0 }, None, None),
            BlockHead::While(condition) => (Operation::While { body: 0 }, condition, Some(frames)),
            BlockHead::For { slot, values } => {
                let [start, step, end] = *values;
                let values = ForValues::Range { start, step, end };
                let over = Arc::new(ForHeader { variable: slot, values });
                (Operation::For { over, body: 0 }, None, Some(frames))
            }
            BlockHead::Block => (Operation::Block { body: 0 }, None, Some(frames)),
        };
        self.condition = condition.map(Arc::new);
        self.classical(operation)?;
        self.blocks.push((at, counted));
        Ok(())
    }

    /// Leaves a frame: the block that it is.
    fn exit(&mut self, frame: u64) -> Result<(), QasmProblem> {
        let counted = self.blocks.iter().rev().filter_map(|(_, frames)| *frames);
        for (levels, frames) in (1..).zip(counted) {
            if frames.whole == Some(frame) {
                return self.classical(Operation::Break { levels });
            }
            if frames.round == Some(frame) {
                return self.classical(Operation::Continue { levels });
            }
        }
        Err(QasmProblem::Circuit { reason: "an exit without its block".to_owned() })
    }

    fn assign(&mut self, bit: u32, value: bool) -> Result<(), QasmProblem> {
        self.push(Operation::Assign { bit, value }, Qubits::new(), ControlList::new())
    }

    fn push(
        &mut self,
        operation: Operation,
        targets: Qubits,
        controls: ControlList,
    ) -> Result<(), QasmProblem> {
        let condition = self.condition.clone();
        let has_parameters = operation.params().iter().any(|angle| !angle.is_constant());
        if has_parameters && self.places.last().is_none_or(|(_, place)| *place != self.place) {
            self.places.push((self.circuit.instructions().len(), self.place));
        }
        match self.circuit.push(Instruction { operation, targets, controls, condition }) {
            Ok(_) => Ok(()),
            Err(e) => Err(QasmProblem::Circuit { reason: e.to_string() }),
        }
    }

    /// Broadcasts a call along registers.
    fn call(&mut self, call: PlannedCall) -> Result<(), QasmProblem> {
        let PlannedCall { gate, qubits, times, span, source } = call;
        self.place = FileSpan { source, span };
        let mut settled = SmallVec::<[QasmValue; 3]>::new();
        for arg in &gate.args {
            settled.push(self.resolve_value(arg.clone())?);
        }
        for at in 0..times {
            let qubits: Qubits = qubits.iter().map(|p| p.get(at)).collect();
            let first = self.circuit.instructions().len();
            self.modified(&gate, &settled, &[], &qubits, false)?;
            self.remember(&gate, &settled, &qubits, first);
        }
        Ok(())
    }

    /// Broadcasts a channel along registers.
    fn channel(&mut self, channel: PlannedChannel) -> Result<(), QasmProblem> {
        let PlannedChannel { applied, qubits, times, place } = channel;
        self.place = place;
        let operation = match applied {
            ChannelSpec::Kraus(channel) => Operation::Channel(channel),
            ChannelSpec::Unitary(matrix) => Operation::Unitary(matrix),
            ChannelSpec::Named(kind, values) => {
                let mut params = SmallVec::<[Angle; 3]>::new();
                for value in values {
                    params.push(self.angle(value)?);
                }
                Operation::Channel(
                    Channel::new(kind, params).map_err(|error| QasmProblem::Channel { error })?,
                )
            }
        };
        for at in 0..times {
            let targets = qubits.iter().map(|p| p.get(at)).collect();
            self.push(operation.clone(), targets, ControlList::new())?;
        }
        Ok(())
    }

    /// Returns a value as a parameter.
    fn angle(&mut self, value: QasmValue) -> Result<Angle, QasmProblem> {
        self.resolve_value(value)?.angle().ok_or(QasmProblem::NotFinite)
    }

    /// Applies a gate with its modifiers, under the controls around it; inverted if asked.
    fn modified(
        &mut self,
        gate: &Resolved,
        args: &[QasmValue],
        outer: &[Control],
        qubits: &[u32],
        inverse: bool,
    ) -> Result<(), QasmProblem> {
        let modifiers = gate.modifiers.as_deref();
        let own = modifiers.map_or(&[][..], |m| &m.controls);
        let (first, rest) = qubits.split_at(own.len());
        let mut controls: ControlList = outer.iter().copied().collect();
        controls.extend(first.iter().zip(own).map(|(&qubit, &value)| Control { qubit, value }));
        let mut exponents = modifiers.map(|m| m.exponents.clone()).unwrap_or_default();
        if inverse {
            power::compose(&mut exponents, Exponent::Integer(-1))?;
        }
        self.apply(gate.callee, args, &exponents, controls, rest).map_err(|problem| match problem {
            // Under the name in the file: `cu` is made of another gate.
            QasmProblem::Power { exponent, reason, .. }
                if exponents.last().is_some_and(|e| e.value() == exponent) =>
            {
                QasmProblem::Power { gate: self.names.name(gate.name).to_owned(), exponent, reason }
            }
            other => other,
        })
    }

    fn apply(
        &mut self,
        callee: GateCallee,
        args: &[QasmValue],
        exponents: &[Exponent],
        controls: ControlList,
        qubits: &[u32],
    ) -> Result<(), QasmProblem> {
        match callee {
            GateCallee::Table(kind, n) => self.listed((kind, n), args, exponents, controls, qubits),
            GateCallee::Defined(number) => match exponents {
                [] => self.body(number, args, &controls, qubits, false),
                [Exponent::Integer(k)] => {
                    for _ in 0..k.unsigned_abs() {
                        self.body(number, args, &controls, qubits, *k < 0)?;
                    }
                    Ok(())
                }
                _ => self.defined_power(number, args, exponents, controls, qubits),
            },
        }
    }

    /// Adds a power of a gate of the table, whose first `n_controls` qubits are controls. It is a
    /// function of its own so that nested definitions do not need its stack space.
    fn listed(
        &mut self,
        (kind, n_controls): (GateKind, usize),
        args: &[QasmValue],
        exponents: &[Exponent],
        mut controls: ControlList,
        qubits: &[u32],
    ) -> Result<(), QasmProblem> {
        let (own, targets) = qubits.split_at(n_controls);
        controls.extend(own.iter().map(|&qubit| Control { qubit, value: true }));
        if args.iter().any(QasmValue::is_runtime) {
            return self.runtime_gate(kind, args, exponents, controls, targets);
        }
        let angles = args.iter().map(|arg| arg.angle().ok_or(QasmProblem::NotFinite));
        let angles = angles.collect::<Result<SmallVec<[Angle; 3]>, _>>()?;
        let gate =
            Gate::new(kind, angles).map_err(|e| QasmProblem::Circuit { reason: e.to_string() })?;
        if exponents.is_empty() {
            return self.gate(gate, targets, controls);
        }
        match power::raise(gate, exponents)? {
            PoweredGate::Gate(gate, times) => {
                for _ in 0..times {
                    self.gate(gate.clone(), targets, controls.clone())?;
                }
                Ok(())
            }
            PoweredGate::Matrix(m) => {
                self.push(Operation::Unitary(Arc::new(m)), targets.into(), controls)
            }
        }
    }

    /// Adds a power of a gate whose angles are known only when it runs.
    fn runtime_gate(
        &mut self,
        kind: GateKind,
        args: &[QasmValue],
        exponents: &[Exponent],
        mut controls: ControlList,
        targets: &[u32],
    ) -> Result<(), QasmProblem> {
        let angles = args.iter().map(|arg| match arg {
            QasmValue::Runtime(expr) => Ok(GateAngle::from((**expr).clone())),
            other => other.angle().map(GateAngle::from).ok_or(QasmProblem::NotFinite),
        });
        let mut targets: Qubits = targets.into();
        let mut kind = kind;
        if kind == GateKind::GPHASE
            && let Some(last) = controls.iter().rposition(|control| control.value)
        {
            targets = [controls.remove(last).qubit].into_iter().collect();
            kind = GateKind::P;
        }
        let angles = angles.collect::<Result<Vec<_>, _>>()?;
        let operation = Operation::gate(kind, angles).map_err(circuit_problem)?;
        let (Operation::RuntimeGate(gate), false) = (&operation, exponents.is_empty()) else {
            return self.push(operation, targets, controls);
        };
        match power::raise(gate.with_placeholders(), exponents)? {
            PoweredGate::Gate(raised, times) => {
                let raised = gate.in_place_of(&raised);
                for _ in 0..times {
                    self.push(raised.clone(), targets.clone(), controls.clone())?;
                }
                Ok(())
            }
            PoweredGate::Matrix(_) => Err(QasmProblem::Power {
                gate: kind.name().to_owned(),
                exponent: exponents.last().map_or(1.0, |exponent| exponent.value()),
                reason: "a measurement decides its angle",
            }),
        }
    }

    /// A gate of the table. A controlled global phase is a phase on one of its controls.
    fn gate(
        &mut self,
        gate: Gate,
        targets: &[u32],
        mut controls: ControlList,
    ) -> Result<(), QasmProblem> {
        if gate.kind() == GateKind::GPHASE
            && let Some(last) = controls.iter().rposition(|c| c.value)
        {
            let target = controls.remove(last).qubit;
            let phase = Gate::new(GateKind::P, gate.params().iter().cloned());
            let phase = phase.map_err(|e| QasmProblem::Circuit { reason: e.to_string() })?;
            return self.push(Operation::Gate(phase), [target].into_iter().collect(), controls);
        }
        self.push(Operation::Gate(gate), targets.into(), controls)
    }

    /// Returns the body of a definition on the qubits of a circuit, which may have parameters
    /// already.
    fn body_alone(
        &self,
        number: usize,
        args: &[QasmValue],
        circuit: Circuit,
    ) -> Result<Circuit, QasmProblem> {
        let qubits: Qubits = (0..).take(circuit.n_qubits()).collect();
        let mut inner = Builder {
            places: InstructionSpans::new(),
            circuit,
            definitions: self.definitions,
            names: self.names,
            computed: HashMap::new(),
            written: 0,
            powers: HashMap::new(),
            place: self.place,
            condition: None,
            conditions: &[],
            sink: 0,
            loops: Vec::new(),
            blocks: Vec::new(),
            own: Vec::new(),
            named: HashMap::new(),
        };
        inner.body(number, args, &[], &qubits, false)?;
        Ok(inner.circuit)
    }

    /// Adds the body of a definition, or its inverse.
    fn body(
        &mut self,
        number: usize,
        args: &[QasmValue],
        controls: &[Control],
        qubits: &[u32],
        inverse: bool,
    ) -> Result<(), QasmProblem> {
        let definition = &self.definitions[number];
        let steps = definition.body.len();
        for i in 0..steps {
            let at = if inverse { steps - 1 - i } else { i };
            match &definition.body[at] {
                GateBodyStep::Call { gate, qubits: local, span } => {
                    let mut inner = SmallVec::<[QasmValue; 3]>::new();
                    for template in &gate.args {
                        let value = instantiate(template, args);
                        let value =
                            value.and_then(|v| self.resolve_value(v)).inspect_err(|_| {
                                self.place =
                                    FileSpan { source: definition.place.source, span: *span };
                            })?;
                        inner.push(value);
                    }
                    let picked: Qubits = local.iter().map(|&k| qubits[k as usize]).collect();
                    self.modified(gate, &inner, controls, &picked, inverse)?;
                }
                GateBodyStep::Barrier(local) => {
                    let picked: Qubits = local.iter().map(|&k| qubits[k as usize]).collect();
                    self.push(Operation::Barrier, picked, ControlList::new())?;
                }
                GateBodyStep::Reset(local) => {
                    for &k in local {
                        let qubit = [qubits[k as usize]].into_iter().collect();
                        self.push(Operation::Reset, qubit, ControlList::new())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns a fractional power of a defined gate: that of its one step, or of its matrix.
    fn defined_power(
        &mut self,
        number: usize,
        args: &[QasmValue],
        exponents: &[Exponent],
        mut controls: ControlList,
        qubits: &[u32],
    ) -> Result<(), QasmProblem> {
        let definition = &self.definitions[number];
        if let [GateBodyStep::Call { gate, qubits: local, .. }] = &*definition.body {
            let own = gate.modifiers.as_ref().map_or(&[][..], |m| &m.controls);
            let mut all = gate.modifiers.as_ref().map(|m| m.exponents.clone()).unwrap_or_default();
            exponents.iter().try_for_each(|&e| power::compose(&mut all, e))?;
            let mut inner = SmallVec::<[QasmValue; 3]>::new();
            for template in &gate.args {
                inner.push(instantiate(template, args).and_then(|v| self.resolve_value(v))?);
            }
            let picked: Qubits = local.iter().map(|&k| qubits[k as usize]).collect();
            let (first, rest) = picked.split_at(own.len());
            controls.extend(first.iter().zip(own).map(|(&qubit, &value)| Control { qubit, value }));
            return self.apply(gate.callee, &inner, &all, controls, rest);
        }
        let matrix = self.power_matrix(number, args, exponents)?;
        self.push(Operation::Unitary(matrix), qubits.into(), controls)
    }

    fn power_matrix(
        &mut self,
        number: usize,
        args: &[QasmValue],
        exponents: &[Exponent],
    ) -> Result<Arc<PowerMatrix>, QasmProblem> {
        let key = format!("{number} {args:?} {exponents:?}");
        if let Some(known) = self.powers.get(&key) {
            return Ok(known.clone());
        }
        let definition = &self.definitions[number];
        let refuse = |reason| QasmProblem::Power {
            gate: self.names.name(definition.name).to_owned(),
            exponent: exponents.last().map_or(1.0, |e| e.value()),
            reason,
        };
        if args.iter().any(|a| a.constant().is_none()) {
            return Err(refuse("its parameters have no value"));
        }
        if definition.size > MAX_POWER_SIZE {
            return Err(refuse("its definition comes to more than 2^20 operations"));
        }
        if definition.qubits.len() > MAX_POWER_QUBITS {
            return Err(refuse("it acts on more than 6 qubits"));
        }
        let body = self.body_alone(number, args, Circuit::new(definition.qubits.len()))?;
        let matrix: Result<PowerMatrix, _> = Simulator::new().matrix(&body, &Values::<f64>(&[]));
        let mut matrix = matrix.map_err(|e| QasmProblem::Circuit { reason: e.to_string() })?;
        for exponent in exponents {
            matrix = power::principal_power(&matrix, exponent.value()).map_err(refuse)?;
        }
        let matrix = Arc::new(matrix);
        self.powers.insert(key, matrix.clone());
        Ok(matrix)
    }

    /// Returns a value as a number or an angle: an expression becomes a parameter.
    fn resolve_value(&mut self, value: QasmValue) -> Result<QasmValue, QasmProblem> {
        match value {
            QasmValue::Int(..) => {
                value.number().map(QasmValue::Number).ok_or(QasmProblem::NotFinite)
            }
            QasmValue::Expr(expr) => self.computed(expr).map(QasmValue::Angle),
            other => Ok(other),
        }
    }

    /// Returns the parameter of an expression. Its name spells out all nested expressions, so names
    /// can double with each level of definitions: their length is bounded.
    fn computed(&mut self, expr: ParamExpr) -> Result<Angle, QasmProblem> {
        let text = expr.text(&|id| format!("p{}", id.number()));
        // The text of a rounded value looks like that of an exact one.
        let slack: Vec<String> = expr
            .angles()
            .map(|a| a.rounding_bound())
            .filter(|s| *s > 0.0)
            .map(|s| s.to_string())
            .collect();
        let (length, key) = (
            text.len(),
            if slack.is_empty() { text } else { format!("{text} {}", slack.join(" ")) },
        );
        if let Some(angle) = self.computed.get(&key) {
            return Ok(angle.clone());
        }
        let named =
            |id: param::ParamId| self.circuit.params().get(id.index()).map_or(0, |p| p.name.len());
        let length = expr.params().map(named).fold(length, usize::saturating_add);
        self.written = self.written.saturating_add(length);
        if length > MAX_NAME || self.written > MAX_NAMES {
            let limit = if length > MAX_NAME { MAX_NAME } else { MAX_NAMES };
            return Err(QasmProblem::LongExpression { limit });
        }
        let name = expr.text(&|id| self.circuit.param_name(id));
        let id = self.circuit.push_param(ParamDef { name, definition: Some(expr) });
        let angle = Angle::theta(id);
        self.computed.insert(key, angle.clone());
        Ok(angle)
    }
}
