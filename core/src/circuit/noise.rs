//! Noise models: which noise follows which instructions.
//!
//! ```
//! use ketgrad_core::{channel::{Channel, ChannelKind}, circuit::{After, Circuit, NoiseModel}};
//!
//! let mut model = NoiseModel::new();
//! let p = model.param("p");
//! model.add(After::Gates(1), Channel::new(ChannelKind::Depolarizing, [&p / 10])?);
//! model.add(After::Gates(2), Channel::new(ChannelKind::TwoQubitDepolarizing, [&p])?);
//! model.misread(0.01, 0.02);
//!
//! let mut bell = Circuit::build(2, |c| c.h(0)?.cx(0, 1))?;
//! bell.measure_all()?;
//! let noisy = model.apply(&bell)?;
//! assert_eq!(noisy.to_string(), "\
//! h q[0]
//! depolarizing(1/10*p) q[0]
//! cx q[0], q[1]
//! two_qubit_depolarizing(p) q[0], q[1]
//! measure q[0] -> c[0]
//! misread(0.01, 0.02) -> c[0]
//! measure q[1] -> c[1]
//! misread(0.01, 0.02) -> c[1]
//! ");
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//!
//! The result is a circuit like any other: run along trajectories or on density matrices, printed, drawn, differentiated by its
//! angles and by the strengths of the noise, which may be inputs.

use std::sync::Arc;

use super::{
    Circuit, CircuitError, Instruction, Operation, ParamDef, Part, display::operation_name, param_id,
};
use crate::{
    channel::Channel,
    gate::{GateKind, NAMED_GATES, NamedGate},
    param::Angle,
};

/// After which instructions noise comes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum After {
    /// Gates and unitaries on at least one qubit, controls counted.
    AllGates,
    /// Gates and unitaries on so many qubits, controls counted.
    Gates(usize),
    /// Instructions of these kinds; by their names: [`After::named`].
    These(Vec<InstructionKind>),
}

/// What an instruction is, whatever its angles and the values of its controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionKind {
    /// A gate of the table under so many controls.
    Gate(GateKind, usize),
    /// A rotation about any Pauli string under so many controls.
    PauliRotation(usize),
    /// A unitary given by its matrix, under so many controls.
    Unitary(usize),
    /// A measurement.
    Measure,
    /// A reset.
    Reset,
}

impl After {
    /// Instructions of these names: `measure`, `reset`, `unitary`, gates as this library or OpenQASM 2 or 3 calls them, with
    /// more controls in front as [`Circuit::count_operations`] has them. Controls may have any value.
    ///
    /// ```
    /// use ketgrad_core::{circuit::{After, InstructionKind}, gate::GateKind};
    /// let x_under = |n| After::These(vec![InstructionKind::Gate(GateKind::X, n)]);
    /// assert_eq!(After::named(["CX"])?, x_under(1));
    /// assert_eq!(After::named(["cnot"])?, After::named(["c1-x"])?);
    /// assert_eq!(After::named(["c2-ccx"])?, x_under(4));
    /// // `U` is one gate in OpenQASM 2 and another one in OpenQASM 3, which differ in a phase.
    /// let both = [InstructionKind::Gate(GateKind::U, 0), InstructionKind::Gate(GateKind::U3, 0)];
    /// assert_eq!(After::named(["U"])?, After::These(both.into()));
    /// let error = After::named(["mesure"]).unwrap_err().to_string();
    /// assert_eq!(error, "no instruction is called `mesure`: did you mean `measure`?");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError::NoSuchInstruction`] for a name that nothing has.
    pub fn named(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<After, CircuitError> {
        let mut kinds: Vec<InstructionKind> = Vec::new();
        for name in names {
            let found = InstructionKind::find(name.as_ref());
            if found.is_empty() {
                return Err(InstructionKind::unknown(name.as_ref()));
            }
            kinds.extend(found);
        }
        Ok(After::These(kinds))
    }
}

impl InstructionKind {
    fn of(instruction: &Instruction) -> Option<InstructionKind> {
        let n_controls = instruction.controls.len();
        match &instruction.operation {
            Operation::Gate(gate) => Some(InstructionKind::Gate(gate.kind(), n_controls)),
            Operation::PauliRotation(_) => Some(InstructionKind::PauliRotation(n_controls)),
            Operation::Unitary(_) => Some(InstructionKind::Unitary(n_controls)),
            Operation::Measure { .. } => Some(InstructionKind::Measure),
            Operation::Reset => Some(InstructionKind::Reset),
            _ => None,
        }
    }

    /// What may be called so.
    fn find(name: &str) -> Vec<InstructionKind> {
        match name {
            "measure" => return vec![InstructionKind::Measure],
            "reset" => return vec![InstructionKind::Reset],
            _ => {}
        }
        // `c5-x`.
        let prefix = name.strip_prefix('c').and_then(|rest| rest.split_once('-'));
        let prefix = prefix.and_then(|(n, base)| Some((n.parse::<u32>().ok()? as usize, base)));
        let (more, base) = prefix.unwrap_or((0, name));
        if base == "unitary" {
            return vec![InstructionKind::Unitary(more)];
        }
        if base == "pauli_rotation" {
            return vec![InstructionKind::PauliRotation(more)];
        }
        let mut found = Vec::new();
        let bare = GateKind::ALL.iter().filter(|kind| kind.name() == base).map(|&kind| (kind, 0));
        for (gate, n_controls) in bare.chain(NamedGate::called(base).map(|gate| (gate.kind, gate.n_controls)))
        {
            let kind = InstructionKind::Gate(gate, n_controls + more);
            if !found.contains(&kind) {
                found.push(kind);
            }
        }
        found
    }

    fn unknown(name: &str) -> CircuitError {
        let gates = GateKind::ALL.iter().map(|kind| kind.name());
        let gates = gates.chain(NAMED_GATES.iter().flat_map(NamedGate::names));
        let known = gates.chain(["measure", "reset", "unitary", "pauli_rotation"]);
        let similar =
            known.map(|other| (strsim::jaro(other, name), other)).max_by(|a, b| a.0.total_cmp(&b.0));
        let nearest = similar.filter(|(likeness, _)| *likeness > ALIKE).map(|(_, other)| other);
        CircuitError::NoSuchInstruction { name: name.to_owned(), nearest }
    }
}

/// From this likeness on (Jaro's) a name may have been meant.
const ALIKE: f64 = 0.7;

/// Which noise follows which instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoiseModel {
    /// The names of the inputs in its channels, by their number.
    params: Vec<String>,
    rules: Vec<NoiseRule>,
    readings: Vec<Reading>,
}

/// A channel after instructions: on all of the qubits that the rule names if it acts on as many, or on each of these if it
/// acts on one.
///
/// ```
/// use ketgrad_core::{channel::{Channel, ChannelKind}, circuit::{After, Circuit, NoiseModel, NoiseRule}};
///
/// // The control is flipped after CX from qubit 0 to qubit 1, and not the other way round.
/// let flip = Channel::new(ChannelKind::BitFlip, [0.1])?;
/// let mut model = NoiseModel::new();
/// model.push(NoiseRule::new(After::named(["cx"])?, flip).gate_qubits(&[0, 1]).qubits(&[0]));
/// let circuit = Circuit::build(2, |c| c.cx(0, 1)?.cx(1, 0))?;
/// assert_eq!(model.apply(&circuit)?.to_string(), "cx q[0], q[1]\nbit_flip(0.1) q[0]\ncx q[1], q[0]\n");
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseRule {
    after: After,
    /// Only where these are the qubits of the instruction, in this order, controls first.
    gate_qubits: Option<Vec<usize>>,
    /// Not where these are the qubits of the instruction, in this order.
    unless: Vec<Vec<usize>>,
    /// Only on these of the qubits of the instruction.
    qubits: Option<Vec<usize>>,
    channel: Channel,
}

#[derive(Clone, Debug, PartialEq)]
struct Reading {
    /// Only of these qubits.
    qubits: Option<Vec<usize>>,
    chances: [Angle; 2],
}

impl NoiseModel {
    /// No noise yet.
    #[must_use]
    pub fn new() -> NoiseModel {
        NoiseModel::default()
    }

    /// An input for the channels of this model, which the circuits get that it is applied to.
    pub fn param(&mut self, name: &str) -> Angle {
        let at = self.params.iter().position(|p| p == name).unwrap_or_else(|| {
            self.params.push(name.to_owned());
            self.params.len() - 1
        });
        Angle::theta(param_id(at))
    }

    /// Adds a channel after instructions: on all of their qubits if it acts on as many, controls first, or on each if it acts
    /// on one. Rules that fit the same instruction follow it in the order in which they were added.
    pub fn add(&mut self, after: After, channel: Channel) -> &mut NoiseModel {
        self.push(NoiseRule::new(after, channel))
    }

    /// As [`NoiseModel::add`], only on the given ones of the qubits of an instruction; a channel on several qubits follows
    /// where as many of them are given.
    pub fn add_on(&mut self, qubits: &[usize], after: After, channel: Channel) -> &mut NoiseModel {
        self.push(NoiseRule::new(after, channel).qubits(qubits))
    }

    /// Adds a rule behind those that are there.
    pub fn push(&mut self, rule: NoiseRule) -> &mut NoiseModel {
        self.rules.push(rule);
        self
    }

    /// True if measurements may be read wrongly.
    #[must_use]
    pub fn has_readings(&self) -> bool {
        !self.readings.is_empty()
    }

    /// The rules, and the readings, that act nowhere in a circuit, by their numbers in the order in which they were added.
    #[must_use]
    pub fn unused(&self, circuit: &Circuit) -> [Vec<usize>; 2] {
        let instructions = || circuit.instructions().iter();
        let acts = |rule: &NoiseRule| instructions().any(|i| rule.acts_on(i).is_some());
        let reads = |reading: &Reading| {
            instructions().any(|i| {
                let measured = i.targets.first().filter(|_| matches!(i.operation, Operation::Measure { .. }));
                measured.is_some_and(|&qubit| among(&reading.qubits, qubit))
            })
        };
        let rules = (0..self.rules.len()).filter(|&k| !acts(&self.rules[k]));
        let readings = (0..self.readings.len()).filter(|&k| !reads(&self.readings[k]));
        [rules.collect(), readings.collect()]
    }

    /// A circuit, to which the model was applied, with a measurement of every qubit at its end, as shots take it whether the
    /// circuit says so or not: into a register of its own, the only one that shows, with readings, but without the channels after measurements,
    /// which would come too late.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, NoiseModel};
    /// let mut model = NoiseModel::new();
    /// model.misread(0.1, 0.3);
    /// let circuit = model.measure_all(&Circuit::build(1, |c| c.h(0))?)?;
    /// assert_eq!(circuit.to_string(), "h q[0]\nmeasure q[0] -> c[0]\nmisread(0.1, 0.3) -> c[0]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// As [`NoiseModel::apply`].
    pub fn measure_all(&self, circuit: &Circuit) -> Result<Circuit, CircuitError> {
        let mut out = circuit.clone();
        let first = out.register_alone("meas", out.n_qubits())?;
        let chances = self.chances(&mut out)?;
        for qubit in 0..out.n_qubits() {
            out.measure(qubit, first + qubit)?;
            for (reading, [p0, p1]) in self.readings.iter().zip(&chances) {
                if reading.qubits.as_ref().is_none_or(|list| list.contains(&qubit)) {
                    out.misread(first + qubit, p0.clone(), p1.clone())?;
                }
            }
        }
        Ok(out)
    }

    /// An angle of the model as one of a circuit, which gets the inputs in it.
    fn bound(&self, angle: &Angle, circuit: &mut Circuit) -> Result<Angle, CircuitError> {
        let names = self.params.iter().map(|name| ParamDef { name: name.clone(), definition: None });
        let model = Circuit { params: names.collect(), ..Circuit::new(0) };
        angle.terms().iter().try_for_each(|t| model.own(t.0))?;
        let own: Vec<Angle> = self.params.iter().map(|name| circuit.param(name)).collect();
        Ok(angle.substitute(|id| own[id.index()].clone()))
    }

    /// The chances of its readings in a circuit.
    fn chances(&self, circuit: &mut Circuit) -> Result<Vec<[Angle; 2]>, CircuitError> {
        let of = |r: &Reading| Ok([self.bound(&r.chances[0], circuit)?, self.bound(&r.chances[1], circuit)?]);
        self.readings.iter().map(of).collect()
    }

    /// Each measurement of a 0 gives 1 with probability `p0`, each of a 1 gives 0 with probability `p1`.
    pub fn misread(&mut self, p0: impl Into<Angle>, p1: impl Into<Angle>) -> &mut NoiseModel {
        self.readings.push(Reading { qubits: None, chances: [p0.into(), p1.into()] });
        self
    }

    /// As [`NoiseModel::misread`], only for measurements of the given qubits.
    pub fn misread_on(
        &mut self,
        qubits: &[usize],
        p0: impl Into<Angle>,
        p1: impl Into<Angle>,
    ) -> &mut NoiseModel {
        self.readings.push(Reading { qubits: Some(qubits.to_vec()), chances: [p0.into(), p1.into()] });
        self
    }

    /// The circuit with the noise behind its instructions, under the same conditions as these. O(instructions x rules).
    ///
    /// # Errors
    /// [`CircuitError::NoiseQubits`] for a channel that fits neither one qubit nor all qubits that its rule names of an
    /// instruction; [`CircuitError::NoiseCondition`] behind a measurement into a bit of its own condition, which would be
    /// another one for the noise; [`CircuitError::OtherParam`] or [`CircuitError::ForeignParam`] for an input of no model or another one.
    pub fn apply(&self, circuit: &Circuit) -> Result<Circuit, CircuitError> {
        // Its parameters and registers.
        let mut out = Circuit { instructions: Vec::new(), ..circuit.clone() };
        self.params.iter().for_each(|name| _ = out.param(name));
        let mut channels = Vec::with_capacity(self.rules.len());
        for rule in &self.rules {
            let params = rule.channel.params().iter().map(|a| self.bound(a, &mut out));
            let mut params = params.collect::<Result<Vec<_>, CircuitError>>()?.into_iter();
            channels.push(rule.channel.map_params(|a| params.next().unwrap_or_else(|| a.clone())));
        }
        let chances: Vec<Arc<[Angle; 2]>> = self.chances(&mut out)?.into_iter().map(Arc::new).collect();

        let mut heads = Vec::new();
        for part in circuit.parts() {
            let run = match part {
                Part::Run(run) => run,
                Part::Loop { head, .. } => {
                    heads.push(out.instructions.len());
                    std::slice::from_ref(head)
                }
                Part::End => {
                    if let Some(head) = heads.pop() {
                        out.set_body(head);
                    }
                    continue;
                }
            };
            for instruction in run {
                out.push(instruction.clone())?;
                let first = out.instructions.len();
                for (rule, channel) in self.rules.iter().zip(&channels) {
                    rule.follow(instruction, channel, &mut out)?;
                }
                if let (&Operation::Measure { bit }, Some(&qubit)) =
                    (&instruction.operation, instruction.targets.first())
                {
                    for (_, chances) in
                        self.readings.iter().zip(&chances).filter(|(r, _)| among(&r.qubits, qubit))
                    {
                        let operation = Operation::Misread { bit, chances: Arc::clone(chances) };
                        out.push(behind(instruction, operation, &[]))?;
                    }
                }
                if out.instructions.len() > first && changes_its_condition(instruction) {
                    return Err(CircuitError::NoiseCondition { after: operation_name(instruction) });
                }
            }
        }
        Ok(out)
    }
}

impl NoiseRule {
    /// A channel after instructions, on all of their qubits, controls first, or on each of them.
    #[must_use]
    pub fn new(after: After, channel: Channel) -> NoiseRule {
        NoiseRule { after, gate_qubits: None, unless: Vec::new(), qubits: None, channel }
    }

    /// Only where these are the qubits of the instruction in this order, controls first; the order of the qubits of a
    /// measurement or of a gate without controls is that in which they are given to it.
    #[must_use]
    pub fn gate_qubits(self, qubits: &[usize]) -> NoiseRule {
        NoiseRule { gate_qubits: Some(qubits.to_vec()), ..self }
    }

    /// Not where one of these lists is the qubits of the instruction in this order, since other rules are for them.
    #[must_use]
    pub fn unless(self, lists: &[Vec<usize>]) -> NoiseRule {
        NoiseRule { unless: lists.to_vec(), ..self }
    }

    /// Only on these of the qubits of the instruction.
    #[must_use]
    pub fn qubits(self, qubits: &[usize]) -> NoiseRule {
        NoiseRule { qubits: Some(qubits.to_vec()), ..self }
    }

    /// The qubits of an instruction that it names; `None` where it does not act.
    fn acts_on(&self, instruction: &Instruction) -> Option<Vec<u32>> {
        let is_gate = instruction.operation.is_gate();
        let width = instruction.qubits().count();
        let is_meant = match &self.after {
            After::AllGates => is_gate && width > 0,
            After::Gates(k) => is_gate && width == *k,
            After::These(kinds) => InstructionKind::of(instruction).is_some_and(|kind| kinds.contains(&kind)),
        };
        let in_order = || instruction.qubits().map(|q| q as usize);
        let is = |list: &Vec<usize>| in_order().eq(list.iter().copied());
        if !is_meant || self.gate_qubits.as_ref().is_some_and(|list| !is(list)) || self.unless.iter().any(is)
        {
            return None;
        }
        let named: Vec<u32> = instruction.qubits().filter(|&q| among(&self.qubits, q)).collect();
        // With fewer qubits named it is another pair; an instruction with too few of its own is an error later.
        let acts = named.len() >= self.channel.n_qubits() || width < self.channel.n_qubits();
        (acts && !named.is_empty()).then_some(named)
    }

    fn follow(
        &self,
        instruction: &Instruction,
        channel: &Channel,
        out: &mut Circuit,
    ) -> Result<(), CircuitError> {
        let Some(qubits) = self.acts_on(instruction) else { return Ok(()) };
        let (expected, given) = (channel.n_qubits(), qubits.len());
        if expected != 1 && expected != given {
            let (channel, after) = (channel.to_string(), operation_name(instruction));
            return Err(CircuitError::NoiseQubits { channel, expected, after, given });
        }
        for targets in qubits.chunks(expected) {
            out.push(behind(instruction, Operation::Channel(channel.clone()), targets))?;
        }
        Ok(())
    }
}

/// Whether it writes a bit that its condition reads.
fn changes_its_condition(instruction: &Instruction) -> bool {
    let (Operation::Measure { bit }, Some(condition)) = (&instruction.operation, &instruction.condition)
    else {
        return false;
    };
    let mut reads = false;
    condition.for_each_bit(&mut |read| reads |= read == *bit);
    reads
}

fn among(qubits: &Option<Vec<usize>>, qubit: u32) -> bool {
    qubits.as_ref().is_none_or(|list| list.contains(&(qubit as usize)))
}

/// Something on some qubits, under the condition of an instruction.
fn behind(instruction: &Instruction, operation: Operation, targets: &[u32]) -> Instruction {
    let (controls, condition) = (Default::default(), instruction.condition.clone());
    Instruction { operation, targets: targets.into(), controls, condition }
}
