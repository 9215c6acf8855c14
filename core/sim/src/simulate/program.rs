//! A circuit ready to run on one ring: its gates bound, its steps in order, and the measurements
//! that can be deferred until the end.
//!
//! A measurement can be deferred (deferred measurement) if nothing after it acts on its qubit,
//! reads its bit or writes its bit, but measurements that can be deferred themselves, and it is in
//! no loop or other block. The deferred ones are the *final* ones: a state can be sampled for all
//! of them at once. A circuit in which nothing random is left before them is *static*: one run of
//! it serves any number of shots.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::Arc};

use smallvec::SmallVec;

use super::{
    Bits, SimulateError,
    blocks::OpenBlocks,
    classical::ClassicalAction,
    runtime_gate::{BoundRuntimeGate, check_plain},
    tail::{RunPhase, tail_phases},
};
use crate::{
    basis::{BasisError, MAX_QUBITS},
    channel::{Channel, Terms},
    circuit::{
        BitSet, Circuit, Condition, Instruction, Operation, Part, PauliRotation, ReadoutBitList,
    },
    classical::MemoryLayout,
    kernel::Operator,
    matrix::Matrix,
    param::{Angle, Binding},
    pauli::PauliMasks,
    scalar::Ring,
    state::{StateError, StateVector},
};

/// Action, under an optional condition on classical bits.
#[derive(Clone, Debug)]
pub(super) struct SimulationStep<R> {
    pub(super) action: Action<R>,
    pub(super) condition: Option<Arc<Condition>>,
}

impl<R> SimulationStep<R> {
    /// Returns true if it gives a bit a value, unconditionally.
    fn is_constant(&self) -> bool {
        matches!(self, SimulationStep { action: Action::Assign { .. }, condition: None })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Action<R> {
    /// Gates in a row.
    Gates(Vec<Operator<R>>),
    /// A gate whose angles are computed when it runs.
    RuntimeGate(Box<BoundRuntimeGate<R>>),
    /// A measurement that cannot be deferred.
    Measure { qubit: usize, bit: u32 },
    /// A qubit goes back to |0>.
    Reset { qubit: usize },
    /// Noise.
    Channel(BoundChannel<R>),
    /// A readout error of some bits.
    ReadoutError(ReadoutError<R>),
    /// A bit gets a value.
    Assign { bit: u32, value: bool },
    /// An iteration of a loop begins; if the condition does not hold, execution goes on after the
    /// loop.
    While { end: usize },
    /// Back edge to the head of a loop.
    BackEdge { head: usize },
    /// An assignment, or a jump.
    Classical(Box<ClassicalAction>),
}

/// A channel with its numbers.
#[derive(Clone, Debug)]
pub(super) struct BoundChannel<R> {
    pub(super) terms: Terms<R>,
    /// [`Channel::kept`].
    pub(super) kept: Vec<(usize, R)>,
    pub(super) qubits: SmallVec<[usize; 4]>,
    /// True if the weights are probabilities that do not depend on the state.
    pub(super) mixture: bool,
}

/// Readout error of some bits together, as a confusion matrix.
#[derive(Clone, Debug)]
pub(super) struct ReadoutError<R> {
    pub(super) bits: ReadoutBitList,
    /// Probabilities that each outcome stays, and that it becomes each of the others in ascending
    /// order.
    rows: Vec<SmallVec<[R; 2]>>,
}

impl<R: Ring> ReadoutError<R> {
    fn new(
        circuit: &Circuit,
        bits: &ReadoutBitList,
        probabilities: &[Angle],
        binding: &impl Binding<R>,
    ) -> Result<ReadoutError<R>, SimulateError> {
        let others = (1usize << bits.len()) - 1;
        let row = |probabilities: &[Angle]| {
            let changes = probabilities.iter().map(|p| binding.probability(p));
            let changes = changes
                .collect::<Result<SmallVec<[R; 2]>, _>>()
                .map_err(|e| circuit.bind_error(e))?;
            let stays = match changes.as_slice() {
                [changes] => R::one() - changes,
                // The sum may be too much, if only by rounding.
                _ => {
                    let rest =
                        probabilities.iter().fold(Angle::rad(1.0), |rest, p| rest - p.clone());
                    binding.probability(&rest).map_err(|e| circuit.bind_error(e))?
                }
            };
            Ok(std::iter::once(stays).chain(changes).collect())
        };
        let rows = probabilities.chunks(others).map(row).collect::<Result<_, SimulateError>>()?;
        Ok(ReadoutError { bits: bits.clone(), rows })
    }

    /// Returns the probabilities that the bits stay what they are, and that they become each of the
    /// other outcomes.
    pub(super) fn weights(&self, bits: &Bits) -> &[R] {
        self.weights_of(self.outcome(bits))
    }

    /// Returns the probabilities for the bits of an outcome, in the same order.
    pub(super) fn weights_of(&self, outcome: usize) -> &[R] {
        self.rows.get(outcome).map_or(&[], |row| row)
    }

    fn outcome(&self, bits: &Bits) -> usize {
        self.bits.iter().enumerate().fold(0, |all, (k, &bit)| all | usize::from(bits.get(bit)) << k)
    }

    /// Returns the outcome that is read in place of an outcome, for the weight of this number.
    pub(super) fn outcome_read(outcome: usize, weight: usize) -> usize {
        match weight {
            0 => outcome,
            // The others without it.
            k if k <= outcome => k - 1,
            k => k,
        }
    }

    /// Replaces the bits by the values that are read, for the weight of this number.
    pub(super) fn apply(&self, bits: &mut Bits, weight: usize) {
        let read = Self::outcome_read(self.outcome(bits), weight);
        self.bits.iter().enumerate().for_each(|(k, &bit)| bits.set(bit, read >> k & 1 == 1));
    }
}

impl<R: Ring> BoundChannel<R> {
    fn new(
        circuit: &Circuit,
        channel: &Channel,
        targets: &[u32],
        binding: &impl Binding<R>,
    ) -> Result<BoundChannel<R>, SimulateError> {
        let terms = channel.terms(binding).map_err(|e| circuit.bind_error(e))?;
        let kept = channel.kept(binding).map_err(|e| circuit.bind_error(e))?;
        let qubits = targets.iter().map(|&q| q as usize).collect();
        Ok(BoundChannel { terms, kept, qubits, mixture: channel.is_mixture() })
    }
}

/// A circuit bound over a ring.
#[derive(Clone, Debug)]
pub struct BoundCircuit<R> {
    pub(super) n_qubits: usize,
    pub(super) n_bits: usize,
    /// Places of the variables, those of the circuit before the cells of loops.
    pub(super) layout: MemoryLayout,
    /// The number of variables of the circuit.
    pub(super) n_variables: usize,
    pub(super) steps: Vec<SimulationStep<R>>,
    pub(super) finals: BTreeMap<u32, u32>,
    /// Readout errors after the final measurements.
    pub(super) readout_errors: Vec<ReadoutError<R>>,
    /// Classical steps after the final measurements and their readout errors.
    pub(super) tail: Vec<SimulationStep<R>>,
    /// The same circuit for its outcomes, where more measurements are final with a tail.
    pub(super) for_outcomes: Option<Box<BoundCircuit<R>>>,
    /// The state to start from; `None` is |0…0>.
    pub(super) start: Option<Arc<StateVector<R>>>,
}

/// Steps that are being bound.
struct OpenSteps<R> {
    steps: Vec<SimulationStep<R>>,
    blocks: OpenBlocks,
    /// The first step after the last block: jumps may lead there, so that what comes next is part
    /// of no step before.
    joined: usize,
}

impl<R> Default for OpenSteps<R> {
    fn default() -> OpenSteps<R> {
        OpenSteps { steps: Vec::new(), blocks: OpenBlocks::default(), joined: 0 }
    }
}

impl<R> OpenSteps<R> {
    fn finish(self) -> Vec<SimulationStep<R>> {
        let OpenSteps { mut steps, blocks, .. } = self;
        blocks.finish(&mut steps);
        steps
    }
}

impl<R: Ring> BoundCircuit<R> {
    /// Binds each gate of a circuit: computes its constants in the ring and takes their shape.
    ///
    /// # Errors
    /// [`SimulateError`] if the binding has no number for an angle.
    pub fn new(
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<BoundCircuit<R>, SimulateError> {
        circuit.check_blocks()?;
        check_values(circuit, binding)?;
        let waits = can_defer(circuit);
        let phase = |&waits: &bool| if waits { RunPhase::Readout } else { RunPhase::Steps };
        let phases: Vec<RunPhase> = waits.iter().map(phase).collect();
        let mut bound = BoundCircuit::with_phases(circuit, binding, &phases)?;
        if let Some(phases) = tail_phases(circuit, &waits) {
            let for_outcomes = BoundCircuit::with_phases(circuit, binding, &phases)?;
            bound.for_outcomes = Some(Box::new(for_outcomes));
        }
        Ok(bound)
    }

    /// Binds each instruction for its phase of the run. Those of a block, with the `else` of an
    /// `if`, have the same.
    fn with_phases(
        circuit: &Circuit,
        binding: &impl Binding<R>,
        phases: &[RunPhase],
    ) -> Result<BoundCircuit<R>, SimulateError> {
        let (mut finals, mut readout_errors) = (BTreeMap::new(), Vec::new());
        let mut layout = MemoryLayout::new(circuit.variables());
        let (mut before, mut tail) = (OpenSteps::default(), OpenSteps::default());
        let (mut phases, mut phase) = (phases.iter(), RunPhase::Steps);
        for part in circuit.parts() {
            let instructions = match part {
                Part::Run(run) => run,
                Part::Open { head, .. } => {
                    phase = phases.next().copied().unwrap_or(RunPhase::Steps);
                    let to = if phase == RunPhase::Tail { &mut tail } else { &mut before };
                    let head = with_numbers(circuit, head, binding)?;
                    to.blocks.open(circuit, &head, &mut to.steps, &mut layout)?;
                    continue;
                }
                Part::Close { .. } => {
                    let to = if phase == RunPhase::Tail { &mut tail } else { &mut before };
                    to.blocks.close(&mut to.steps);
                    to.joined = to.steps.len();
                    continue;
                }
            };
            for (instruction, phase) in instructions.iter().zip(&mut phases) {
                let instruction = &*with_numbers(circuit, instruction, binding)?;
                let to = if *phase == RunPhase::Tail { &mut tail } else { &mut before };
                match &instruction.operation {
                    Operation::Measure { bit } if *phase == RunPhase::Readout => {
                        finals.insert(*bit, instruction.targets.first().copied().unwrap_or(0));
                    }
                    Operation::ReadoutError { bits, probabilities }
                        if *phase == RunPhase::Readout =>
                    {
                        let error = ReadoutError::new(circuit, bits, probabilities, binding)?;
                        readout_errors.push(error);
                    }
                    operation if operation.is_gate() => {
                        let operator = bind_gate(circuit, instruction, binding)?;
                        let step = add_gate(&mut to.steps[to.joined..], instruction, operator);
                        to.steps.extend(step);
                    }
                    operation => {
                        let action = match to.blocks.exit_of(operation, to.steps.len())? {
                            Some(exit) => Some(exit),
                            None => bind_action(circuit, instruction, binding)?,
                        };
                        let condition = instruction.condition.clone();
                        to.steps.extend(action.map(|action| SimulationStep { action, condition }));
                    }
                }
            }
        }
        Ok(BoundCircuit {
            n_qubits: circuit.n_qubits(),
            n_bits: circuit.n_bits(),
            layout,
            n_variables: circuit.variables().len(),
            steps: before.finish(),
            finals,
            readout_errors,
            tail: tail.finish(),
            for_outcomes: None,
            start: None,
        })
    }

    /// Puts other numbers into the gates that depend on parameters; the rest stays as it is. The
    /// circuit is the one that was bound.
    ///
    /// # Errors
    /// [`SimulateError`] if the binding has no number for an angle; the numbers are then invalid.
    pub fn rebind(
        &mut self,
        circuit: &Circuit,
        binding: &impl Binding<R>,
    ) -> Result<(), SimulateError> {
        let is_runtime = |i: &Instruction| matches!(i.operation, Operation::RuntimeGate(_));
        let is_plain = !(self.has_channels()
            || self.has_readout_errors()
            || self.has_classical_actions()
            || self.for_outcomes.is_some()
            || circuit.instructions().iter().any(is_runtime));
        if !is_plain {
            let start = self.start.take();
            *self = BoundCircuit::new(circuit, binding)?;
            self.set_start(start);
            return Ok(());
        }
        let gates = self.steps.iter_mut().flat_map(|step| match &mut step.action {
            Action::Gates(gates) => gates.as_mut_slice(),
            _ => &mut [],
        });
        let instructions = circuit.instructions().iter();
        let bound = instructions.filter(|i| i.operation.is_gate());
        for (operator, instruction) in gates.zip(bound) {
            if !instruction.operation.params().iter().all(Angle::is_constant) {
                rebind_instruction(circuit, instruction, binding, operator)?;
            }
        }
        Ok(())
    }

    /// Replaces |0…0> by this state as the start of the circuit's trajectories.
    ///
    /// # Errors
    /// [`StateError::Sizes`] if it has another number of qubits.
    pub fn starting_from(mut self, state: StateVector<R>) -> Result<BoundCircuit<R>, StateError> {
        if state.n_qubits() != self.n_qubits {
            return Err(StateError::Sizes { left: self.n_qubits, right: state.n_qubits() });
        }
        self.set_start(Some(Arc::new(state)));
        Ok(self)
    }

    fn set_start(&mut self, start: Option<Arc<StateVector<R>>>) {
        if let Some(form) = &mut self.for_outcomes {
            form.start.clone_from(&start);
        }
        self.start = start;
    }

    /// Returns the form of the circuit for its outcomes.
    pub(super) fn for_outcomes(&self) -> &BoundCircuit<R> {
        self.for_outcomes.as_deref().unwrap_or(self)
    }

    pub(super) fn has_channels(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Channel(_)))
    }

    fn has_readout_errors(&self) -> bool {
        let readout_errors =
            |step: &SimulationStep<R>| matches!(step.action, Action::ReadoutError(_));
        !self.readout_errors.is_empty() || self.steps.iter().any(readout_errors)
    }

    pub(super) fn has_loops(&self) -> bool {
        self.steps.iter().any(|step| match &step.action {
            Action::While { .. } => true,
            Action::Classical(action) => matches!(**action, ClassicalAction::ForNext { .. }),
            _ => false,
        })
    }

    /// Bits and variables at the start, all 0.
    pub(super) fn memory(&self) -> Bits {
        Bits::with_variables(self.n_bits, &self.layout)
    }

    /// Drops the cells of loops at the end: a memory has the variables of the circuit then.
    pub(super) fn forget_cells(&self, memory: &mut Bits) {
        memory.truncate(&self.layout, self.n_variables);
    }

    /// Returns true if there are blocks or exits besides `while` loops, variables, or gates that
    /// read classical values.
    pub(super) fn has_classical_actions(&self) -> bool {
        let reads = |step: &SimulationStep<R>| {
            matches!(step.action, Action::Classical(_) | Action::RuntimeGate(_))
        };
        self.steps.iter().any(reads)
    }

    /// Returns true if nothing random or conditional happens before the final measurements.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.operators().is_some()
    }

    /// Returns the gates of a static circuit.
    #[must_use]
    pub fn operators(&self) -> Option<&[Operator<R>]> {
        self.gates_before_readout().filter(|_| self.readout_errors.is_empty())
    }

    /// Returns the gates of a circuit that has one state before its final measurements, with or
    /// without readout errors.
    #[must_use]
    pub fn gates_before_readout(&self) -> Option<&[Operator<R>]> {
        let mut steps = self.steps.iter().filter(|step| !step.is_constant());
        match (steps.next(), steps.next()) {
            (None, _) => Some(&[]),
            (Some(SimulationStep { action: Action::Gates(gates), condition: None }), None) => {
                Some(gates)
            }
            _ => None,
        }
    }
}

/// Adds a gate to the last of these steps if it has gates under the same condition; otherwise
/// returns a step of its own.
fn add_gate<R>(
    steps: &mut [SimulationStep<R>],
    instruction: &Instruction,
    operator: Operator<R>,
) -> Option<SimulationStep<R>> {
    let condition = &instruction.condition;
    // What bits are given without a condition does not touch gates without one.
    let passes = |step: &&mut SimulationStep<R>| !(condition.is_none() && step.is_constant());
    if let Some(SimulationStep { action: Action::Gates(gates), condition: same }) =
        steps.iter_mut().rev().find(passes)
        && same == condition
    {
        gates.push(operator);
        return None;
    }
    Some(SimulationStep { action: Action::Gates(vec![operator]), condition: condition.clone() })
}

/// Returns the action of what is neither a gate nor an exit; `None` for what does nothing.
fn bind_action<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
) -> Result<Option<Action<R>>, SimulateError> {
    let qubit = || instruction.targets.first().map_or(0, |&q| q as usize);
    Ok(Some(match &instruction.operation {
        Operation::Measure { bit } => Action::Measure { qubit: qubit(), bit: *bit },
        Operation::Reset => Action::Reset { qubit: qubit() },
        Operation::ReadoutError { bits, probabilities } => {
            Action::ReadoutError(ReadoutError::new(circuit, bits, probabilities, binding)?)
        }
        Operation::Channel(channel) => {
            Action::Channel(BoundChannel::new(circuit, channel, &instruction.targets, binding)?)
        }
        Operation::Assign { bit, value } => Action::Assign { bit: *bit, value: *value },
        Operation::RuntimeGate(gate) => {
            let bound = BoundRuntimeGate::new(circuit, (instruction, gate), binding)?;
            Action::RuntimeGate(Box::new(bound))
        }
        Operation::Store(assignment) => {
            Action::Classical(Box::new(ClassicalAction::Store((**assignment).clone())))
        }
        _ => return Ok(None),
    }))
}

/// Checks the parameters that become classical values for the angles of gates.
fn check_values<R: Ring>(
    circuit: &Circuit,
    binding: &impl Binding<R>,
) -> Result<(), SimulateError> {
    let feeds = circuit.feeds_angles();
    let mut operations = circuit.instructions().iter().zip(feeds).filter(|(_, feeds)| *feeds);
    operations.try_for_each(|(i, _)| check_plain(circuit, &i.operation, binding))
}

/// Returns an instruction with numbers in place of the parameters that classical expressions read.
fn with_numbers<'i, R: Ring>(
    circuit: &Circuit,
    instruction: &'i Instruction,
    binding: &impl Binding<R>,
) -> Result<Cow<'i, Instruction>, SimulateError> {
    let bound = instruction.with_numbers(|angle| binding.real(angle));
    bound.map_err(|e| circuit.bind_error(e).into())
}

/// Returns the qubit that each classical bit of a static circuit is read from: that of the last
/// measurement into it.
///
/// # Errors
/// [`SimulateError::Dynamic`] if something is random or conditional before that.
pub fn final_measurements(circuit: &Circuit) -> Result<BTreeMap<u32, u32>, SimulateError> {
    let mut finals = BTreeMap::new();
    for (instruction, waits) in circuit.instructions().iter().zip(can_defer(circuit)) {
        match (&instruction.operation, instruction.targets.first()) {
            (Operation::Measure { bit }, Some(&qubit)) if waits => {
                finals.insert(*bit, qubit);
            }
            // Under a condition, too.
            (operation, _) if operation.does_nothing() => {}
            (Operation::Assign { .. }, _) if instruction.condition.is_none() => {}
            (operation, _) if operation.is_gate() && instruction.condition.is_none() => {}
            _ => return Err(SimulateError::Dynamic),
        }
    }
    Ok(finals)
}

/// Returns the classical bits of a static circuit that are given values, with the last of them;
/// measurements into them come later.
#[doc(hidden)]
pub fn constants(circuit: &Circuit) -> BTreeMap<u32, bool> {
    let assigned = circuit.instructions().iter().filter_map(|i| match i.operation {
        Operation::Assign { bit, value } => Some((bit, value)),
        _ => None,
    });
    assigned.collect()
}

/// True if nothing random or conditional happens before the final measurements, which may be read
/// wrongly.
#[must_use]
pub fn has_final_state(circuit: &Circuit) -> bool {
    !circuit.has_channels() && is_static(circuit)
}

/// True if a final measurement may be read wrongly, which no state shows.
#[must_use]
pub fn has_final_readout_errors(circuit: &Circuit) -> bool {
    let mut all = circuit.instructions().iter().zip(can_defer(circuit));
    all.any(|(instruction, waits)| {
        waits && matches!(instruction.operation, Operation::ReadoutError { .. })
    })
}

/// Returns true if only gates, channels and constants for bits, none of them under a condition,
/// come before the final measurements.
#[doc(hidden)]
pub fn is_static(circuit: &Circuit) -> bool {
    circuit.instructions().iter().zip(can_defer(circuit)).all(|(instruction, waits)| {
        match &instruction.operation {
            Operation::Measure { .. } | Operation::ReadoutError { .. } => waits,
            operation if operation.does_nothing() => true,
            Operation::Assign { .. } => instruction.condition.is_none(),
            operation => {
                let acts = operation.is_gate() || matches!(operation, Operation::Channel(_));
                acts && instruction.condition.is_none()
            }
        }
    })
}

/// Returns a gate with its constants in the ring; `None` for what is no gate.
///
/// # Errors
/// [`SimulateError`] if the binding has no number for an angle.
#[doc(hidden)]
pub fn bind_instruction<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
) -> Result<Option<Operator<R>>, SimulateError> {
    instruction.operation.is_gate().then(|| bind_gate(circuit, instruction, binding)).transpose()
}

/// Puts other numbers into the operator of a gate.
///
/// # Errors
/// [`SimulateError`] if the binding has no number for an angle; the operator is then as it was.
#[doc(hidden)]
pub fn rebind_instruction<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
    operator: &mut Operator<R>,
) -> Result<(), SimulateError> {
    let controls = controls(instruction);
    if let Operation::PauliRotation(rotation) = &instruction.operation {
        let (PauliMasks { x, z }, numbers) = string(circuit, instruction, rotation, binding)?;
        return Ok(operator.update_string_parameters(x, z, numbers, &controls)?);
    }
    Ok(operator.update_parameters(
        &gate_matrix(circuit, instruction, binding)?,
        &targets(instruction),
        &controls,
    )?)
}

fn bind_gate<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
) -> Result<Operator<R>, SimulateError> {
    let controls = controls(instruction);
    if let Operation::PauliRotation(rotation) = &instruction.operation {
        let (PauliMasks { x, z }, numbers) = string(circuit, instruction, rotation, binding)?;
        return Ok(Operator::string(x, z, numbers, &controls)?);
    }
    Ok(Operator::new(
        &gate_matrix(circuit, instruction, binding)?,
        &targets(instruction),
        &controls,
    )?)
}

/// Returns the string and the numbers of a rotation.
fn string<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    rotation: &PauliRotation,
    binding: &impl Binding<R>,
) -> Result<(PauliMasks, [R; 2]), SimulateError> {
    if let Some(&last) = instruction.targets.iter().max().filter(|&&q| q as usize >= MAX_QUBITS) {
        return Err(BasisError::TooManyQubits { given: (last as usize).saturating_add(1) }.into());
    }
    let numbers = rotation.numbers(binding).map_err(|e| circuit.bind_error(e))?;
    Ok((rotation.masks(&instruction.targets), numbers))
}

fn gate_matrix<R: Ring>(
    circuit: &Circuit,
    instruction: &Instruction,
    binding: &impl Binding<R>,
) -> Result<Matrix<R>, SimulateError> {
    let matrix = match &instruction.operation {
        Operation::Unitary(matrix) => matrix.try_map(|z| binding.number(*z)),
        Operation::Gate(gate) => gate.matrix(binding),
        _ => Ok(Matrix::identity(0)),
    };
    Ok(matrix.map_err(|e| circuit.bind_error(e))?)
}

/// Qubits with the values that they must have.
pub(super) type ControlValues = SmallVec<[(usize, bool); 4]>;

pub(super) fn targets(instruction: &Instruction) -> SmallVec<[usize; 4]> {
    instruction.targets.iter().map(|&q| q as usize).collect()
}

pub(super) fn controls(instruction: &Instruction) -> ControlValues {
    instruction.controls.iter().map(|c| (c.qubit as usize, c.value)).collect()
}

/// Returns for each instruction true if it is a measurement, or a readout error, that can be
/// deferred until the end: one pass from the back, which collects the qubits and bits that the
/// instructions which cannot be deferred use. In a loop all are used again.
fn can_defer(circuit: &Circuit) -> Vec<bool> {
    let instructions = circuit.instructions();
    let mut used = UsedResources::default();
    // The bits of deferred measurements.
    let mut written = BitSet::default();
    let mut waits = vec![false; instructions.len()];
    // The outermost blocks: what is in one may run several times, or not at all.
    let mut blocks = outermost_blocks(circuit);
    // What follows an exit of the whole may not run.
    let exit = instructions.iter().position(|i| matches!(i.operation, Operation::End));
    let exit = exit.unwrap_or(instructions.len());
    for (at, instruction) in instructions.iter().enumerate().rev() {
        if let Some(body) = blocks.pop_if(|body| body.end == at + 1) {
            instructions[body].iter().for_each(|i| used.add(i));
        }
        waits[at] = match &instruction.operation {
            &Operation::Measure { bit } => {
                let waits = at < exit
                    && instruction.condition.is_none()
                    && !instruction
                        .targets
                        .first()
                        .is_some_and(|&qubit| used.qubits.contains(qubit))
                    && !used.bits.contains(bit);
                if waits {
                    written.insert(bit);
                }
                waits
            }
            // All deferred measurements come first.
            Operation::ReadoutError { bits, .. } => {
                let free = |&bit: &u32| !written.contains(bit) && !used.bits.contains(bit);
                at < exit && instruction.condition.is_none() && bits.iter().all(free)
            }
            _ => false,
        };
        if !waits[at] {
            used.add(instruction);
        }
    }
    waits
}

/// The qubits and bits that some instructions use.
#[derive(Default)]
struct UsedResources {
    qubits: BitSet,
    bits: BitSet,
}

impl UsedResources {
    fn add(&mut self, instruction: &Instruction) {
        if instruction.operation.does_nothing() {
            return;
        }
        instruction.operation.written().iter().for_each(|&bit| self.bits.insert(bit));
        instruction.qubits().for_each(|q| self.qubits.insert(q));
        instruction.for_each_bit_read(&mut |bit| self.bits.insert(bit));
    }
}

/// Returns the positions of the outermost blocks, from the header to the end of the body, in order.
pub(super) fn outermost_blocks(circuit: &Circuit) -> Vec<Range<usize>> {
    let (mut blocks, mut at) = (Vec::<Range<usize>>::new(), 0);
    for part in circuit.parts() {
        at += match part {
            Part::Run(run) => run.len(),
            Part::Open { body, .. } => {
                if blocks.last().is_none_or(|last| last.end <= at) {
                    blocks.push(at..at + 1 + body.len());
                }
                1
            }
            Part::Close { .. } => 0,
        };
    }
    blocks
}
