//! Noise models: rules that say which noise follows which instructions.
//!
//! ```
//! use ketgrad_core::{channel::{Channel, ChannelKind}, circuit::{After, Circuit, NoiseModel}};
//!
//! let mut model = NoiseModel::new();
//! let p = model.param("p");
//! model.add(After::Gates(1), Channel::new(ChannelKind::Depolarizing, [&p / 10])?);
//! model.add(After::Gates(2), Channel::new(ChannelKind::TwoQubitDepolarizing, [&p])?);
//! model.readout_error(0.01, 0.02);
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
//! readout_error(0.01, 0.02) -> c[0]
//! measure q[1] -> c[1]
//! readout_error(0.01, 0.02) -> c[1]
//! ");
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//!
//! The result is a circuit like any other: it can be run along trajectories or on density matrices,
//! printed, drawn, and differentiated by its angles and by the parameters of the noise, which may
//! be inputs.

use std::sync::Arc;

mod after;
mod readout;

pub use after::{After, InstructionKind};
use readout::{PendingReadouts, ReadoutRule};

use super::{
    Circuit, CircuitError, DelayLength, Instruction, Operation, ParamDef, Part,
    display::operation_name, param_id, readout_error::off_diagonal,
};
use crate::{
    channel::{Channel, ChannelError},
    param::Angle,
};

/// Rules that say which noise follows which instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoiseModel {
    /// The names of the inputs in its channels, by their number.
    params: Vec<String>,
    rules: Vec<NoiseRule>,
    readings: Vec<ReadoutRule>,
}

/// A channel after instructions: on all of the qubits that the rule names if it acts on that many,
/// or on each of these if it acts on one.
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
    /// Qubits of the instruction, in this order, controls first, if the rule is for these alone.
    gate_qubits: Option<Vec<usize>>,
    /// Lists of qubits of the instruction, in this order, that the rule is not for.
    unless: Vec<Vec<usize>>,
    /// Qubits of the instruction that the noise acts on, if not on all.
    qubits: Option<Vec<usize>>,
    noise: Noise,
}

/// Noise that a rule adds.
#[derive(Clone, Debug, PartialEq)]
enum Noise {
    Channel(Channel),
    /// Thermal relaxation over the length of a delay; all in seconds.
    Relaxation {
        t1: f64,
        t2: f64,
        dt: Option<f64>,
    },
}

impl Noise {
    fn n_qubits(&self) -> usize {
        match self {
            Noise::Channel(channel) => channel.n_qubits(),
            Noise::Relaxation { .. } => 1,
        }
    }
}

impl NoiseModel {
    /// Returns an empty model.
    #[must_use]
    pub fn new() -> NoiseModel {
        NoiseModel::default()
    }

    /// Returns an input for the channels of this model, which is added to the circuits that it is
    /// applied to.
    pub fn param(&mut self, name: &str) -> Angle {
        let at = self.params.iter().position(|p| p == name).unwrap_or_else(|| {
            self.params.push(name.to_owned());
            self.params.len() - 1
        });
        Angle::theta(param_id(at))
    }

    /// Adds a channel after instructions: on all of their qubits if it acts on that many, controls
    /// first, or on each if it acts on one. Rules that fit the same instruction follow it in the
    /// order in which they were added.
    pub fn add(&mut self, after: After, channel: Channel) -> &mut NoiseModel {
        self.push(NoiseRule::new(after, channel))
    }

    /// Adds a channel as [`NoiseModel::add`] does, only on the given ones of the qubits of an
    /// instruction; a channel on several qubits follows if that many of them are given.
    pub fn add_on(&mut self, qubits: &[usize], after: After, channel: Channel) -> &mut NoiseModel {
        self.push(NoiseRule::new(after, channel).qubits(qubits))
    }

    /// Appends a rule.
    pub fn push(&mut self, rule: NoiseRule) -> &mut NoiseModel {
        self.rules.push(rule);
        self
    }

    /// True if measurements may be read wrongly.
    #[must_use]
    pub fn has_readings(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Returns the rules, and the readout errors, that act nowhere in a circuit, by their numbers
    /// in the order in which they were added.
    #[must_use]
    pub fn unused(&self, circuit: &Circuit) -> [Vec<usize>; 2] {
        let instructions = || circuit.instructions().iter();
        let acts = |rule: &NoiseRule| instructions().any(|i| rule.acts_on(i).is_some());
        let rules = (0..self.rules.len()).filter(|&k| !acts(&self.rules[k]));
        let readings = (0..self.readings.len()).filter(|&k| !self.readings[k].acts_in(circuit));
        [rules.collect(), readings.collect()]
    }

    /// Returns a circuit, to which the model was applied, with a measurement of every qubit at its
    /// end, for shots of circuits without measurements: into a register of its own, the only one
    /// that is shown, with readout errors, but without the channels after measurements, which would
    /// come too late.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, NoiseModel};
    /// let mut model = NoiseModel::new();
    /// model.readout_error(0.1, 0.3);
    /// let circuit = model.measure_all(&Circuit::build(1, |c| c.h(0))?)?;
    /// assert_eq!(circuit.to_string(), "h q[0]\nmeasure q[0] -> c[0]\nreadout_error(0.1, 0.3) -> c[0]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`NoiseModel::apply`].
    pub fn measure_all(&self, circuit: &Circuit) -> Result<Circuit, CircuitError> {
        let mut out = circuit.clone();
        let first = out.register_alone("meas", out.n_qubits())?;
        let probabilities = self.readout_probabilities(&mut out)?;
        let mut pending = PendingReadouts::new(&self.readings);
        for qubit in 0..out.n_qubits() {
            out.measure(qubit, first + qubit)?;
            let last = out.instructions.len() - 1;
            let measured = out.instructions[last].clone();
            pending.follow(&self.readings, &probabilities, &measured, &mut out)?;
        }
        pending.finish(&self.readings)?;
        Ok(out)
    }

    /// Returns an angle of the model in terms of a circuit, to which its inputs are added.
    fn bound(&self, angle: &Angle, circuit: &mut Circuit) -> Result<Angle, CircuitError> {
        let names =
            self.params.iter().map(|name| ParamDef { name: name.clone(), definition: None });
        let model = Circuit { params: names.collect(), ..Circuit::new(0) };
        angle.terms().iter().try_for_each(|t| model.own(t.0))?;
        let own: Vec<Angle> = self.params.iter().map(|name| circuit.param(name)).collect();
        Ok(angle.substitute(|id| own[id.index()].clone()))
    }

    /// Returns the probabilities of its readout errors in a circuit.
    fn readout_probabilities(
        &self,
        circuit: &mut Circuit,
    ) -> Result<Vec<Arc<[Angle]>>, CircuitError> {
        let of = |r: &ReadoutRule| r.probabilities.iter().map(|p| self.bound(p, circuit)).collect();
        self.readings.iter().map(of).collect()
    }

    /// Adds a readout error of all measurements: a 0 is read as 1 with probability `p0`, a 1 as 0
    /// with probability `p1`.
    pub fn readout_error(&mut self, p0: impl Into<Angle>, p1: impl Into<Angle>) -> &mut NoiseModel {
        self.readings
            .push(ReadoutRule { qubits: None, probabilities: Arc::new([p0.into(), p1.into()]) });
        self
    }

    /// Adds a readout error, as [`NoiseModel::readout_error`] does, only for measurements of the
    /// given qubits.
    pub fn readout_error_on(
        &mut self,
        qubits: &[usize],
        p0: impl Into<Angle>,
        p1: impl Into<Angle>,
    ) -> &mut NoiseModel {
        let probabilities = Arc::new([p0.into(), p1.into()]);
        self.readings.push(ReadoutRule { qubits: Some(qubits.to_vec()), probabilities });
        self
    }

    /// Adds a readout error of some qubits that are read together, with a readout matrix:
    /// `rows[i][j]` is the probability that outcome i is read as j; the first qubit is the least
    /// significant bit of both numbers. It acts after the last of their measurements, after the
    /// readout errors of single qubits.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, NoiseModel};
    /// let mut model = NoiseModel::new();
    /// // Both are read wrongly at once, or none.
    /// let rows = [[0.9, 0.0, 0.0, 0.1], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.1, 0.0, 0.0, 0.9]];
    /// model.readout_matrix(&[0, 1], &rows.map(Vec::from))?;
    /// let circuit = model.measure_all(&Circuit::new(2))?;
    /// let text = circuit.to_string();
    /// assert!(text.ends_with("readout_error(0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0.1, 0, 0) -> c[0], c[1]\n"), "{text}");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError::ReadoutBits`], [`CircuitError::ReadoutSize`] or [`CircuitError::ReadoutRow`]
    /// for rows that do not form a readout matrix, [`CircuitError::RepeatedQubit`].
    pub fn readout_matrix(
        &mut self,
        qubits: &[usize],
        rows: &[Vec<f64>],
    ) -> Result<&mut NoiseModel, CircuitError> {
        if let Some(k) = (1..qubits.len()).find(|&k| qubits[..k].contains(&qubits[k])) {
            return Err(CircuitError::RepeatedQubit {
                qubit: u32::try_from(qubits[k]).unwrap_or(u32::MAX),
            });
        }
        let probabilities = off_diagonal(rows, qubits.len())?;
        self.readings.push(ReadoutRule { qubits: Some(qubits.to_vec()), probabilities });
        Ok(self)
    }

    /// Returns the circuit with the noise after its instructions, under the same conditions as
    /// these. O(instructions x rules).
    ///
    /// # Errors
    /// [`CircuitError::NoiseQubits`] for a channel that fits neither one qubit nor all qubits that
    /// its rule names of an instruction; [`CircuitError::NoiseCondition`] after a measurement into
    /// a bit of its own condition, which would be another one for the noise;
    /// [`CircuitError::ReadingApart`] if qubits that are read together are not all measured, or one
    /// of them is used in between; [`CircuitError::OtherParam`] or [`CircuitError::ForeignParam`]
    /// for an input of no model or another one.
    pub fn apply(&self, circuit: &Circuit) -> Result<Circuit, CircuitError> {
        // Its parameters and registers.
        let mut out = Circuit { instructions: Vec::new(), ..circuit.clone() };
        self.params.iter().for_each(|name| _ = out.param(name));
        let mut noises = Vec::with_capacity(self.rules.len());
        for rule in &self.rules {
            noises.push(match &rule.noise {
                Noise::Channel(channel) => {
                    let params = channel.params().iter().map(|a| self.bound(a, &mut out));
                    let mut params = params.collect::<Result<Vec<_>, CircuitError>>()?.into_iter();
                    Noise::Channel(
                        channel.map_params(|a| params.next().unwrap_or_else(|| a.clone())),
                    )
                }
                relaxation @ Noise::Relaxation { .. } => relaxation.clone(),
            });
        }
        let probabilities = self.readout_probabilities(&mut out)?;
        let mut pending = PendingReadouts::new(&self.readings);

        let mut heads = Vec::new();
        for part in circuit.parts() {
            let run = match part {
                Part::Run(run) => run,
                Part::Open { head, .. } => {
                    pending.turn(&self.readings)?;
                    heads.push(out.instructions.len());
                    std::slice::from_ref(head)
                }
                Part::Close { .. } => {
                    pending.turn(&self.readings)?;
                    if let Some(head) = heads.pop() {
                        out.set_body(head);
                    }
                    continue;
                }
            };
            for instruction in run {
                pending.check(&self.readings, instruction)?;
                out.push(instruction.clone())?;
                let first = out.instructions.len();
                for (rule, noise) in self.rules.iter().zip(&noises) {
                    rule.follow(instruction, noise, &mut out)?;
                }
                pending.follow(&self.readings, &probabilities, instruction, &mut out)?;
                if out.instructions.len() > first && changes_its_condition(instruction) {
                    return Err(CircuitError::NoiseCondition {
                        after: operation_name(instruction),
                    });
                }
            }
        }
        pending.finish(&self.readings)?;
        Ok(out)
    }
}

impl NoiseRule {
    /// Returns the rule of a channel after instructions, on all of their qubits, controls first, or
    /// on each of them.
    #[must_use]
    pub fn new(after: After, channel: Channel) -> NoiseRule {
        let noise = Noise::Channel(channel);
        NoiseRule { after, gate_qubits: None, unless: Vec::new(), qubits: None, noise }
    }

    /// Returns the rule for the thermal [relaxation](Channel::relaxation) of each qubit of a delay,
    /// over the length of the delay: T1 and T2 in seconds, and the length of a `dt` if delays are
    /// given in those.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, DelayLength, NoiseModel, NoiseRule};
    /// let mut model = NoiseModel::new();
    /// model.push(NoiseRule::delay_relaxation(100e-6, 200e-6, Some(0.5e-9))?);
    /// let waits = Circuit::build(1, |c| c.delay(0, DelayLength::Samples(40e3)))?;
    /// // 1 - e^{-20/100}
    /// assert!(model.apply(&waits)?.to_string().contains("amplitude_damping(0.18126924692201"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Channel::relaxation`], and for a `dt` that is not positive.
    pub fn delay_relaxation(t1: f64, t2: f64, dt: Option<f64>) -> Result<NoiseRule, ChannelError> {
        // The errors do not depend on the time.
        let time = if dt.is_none_or(|dt| dt > 0.0 && dt.is_finite()) { 0.0 } else { f64::NAN };
        let [channel, _] = Channel::relaxation(time, t1, t2)?;
        let noise = Noise::Relaxation { t1, t2, dt };
        Ok(NoiseRule {
            noise,
            ..NoiseRule::new(After::These(vec![InstructionKind::Delay]), channel)
        })
    }

    /// Restricts the rule to instructions on these qubits in this order, controls first; the order
    /// of the qubits of a measurement or of a gate without controls is that in which they are given
    /// to it.
    #[must_use]
    pub fn gate_qubits(self, qubits: &[usize]) -> NoiseRule {
        NoiseRule { gate_qubits: Some(qubits.to_vec()), ..self }
    }

    /// Excludes instructions whose qubits are one of these lists in this order, since other rules
    /// are for them.
    #[must_use]
    pub fn unless(self, lists: &[Vec<usize>]) -> NoiseRule {
        NoiseRule { unless: lists.to_vec(), ..self }
    }

    /// Restricts the noise to these of the qubits of the instruction.
    #[must_use]
    pub fn qubits(self, qubits: &[usize]) -> NoiseRule {
        NoiseRule { qubits: Some(qubits.to_vec()), ..self }
    }

    /// Returns the qubits of an instruction that the noise acts on; `None` where it does not act.
    fn acts_on(&self, instruction: &Instruction) -> Option<Vec<u32>> {
        let is_gate = instruction.operation.applies_gate();
        let width = instruction.qubits().count();
        let is_meant = match &self.after {
            After::AllGates => is_gate && width > 0,
            After::Gates(k) => is_gate && width == *k,
            After::These(kinds) => InstructionKind::of_instruction(instruction)
                .is_some_and(|kind| kinds.contains(&kind)),
        };
        let in_order = || instruction.qubits().map(|q| q as usize);
        let is = |list: &Vec<usize>| in_order().eq(list.iter().copied());
        if !is_meant
            || self.gate_qubits.as_ref().is_some_and(|list| !is(list))
            || self.unless.iter().any(is)
        {
            return None;
        }
        let named: Vec<u32> = instruction.qubits().filter(|&q| among(&self.qubits, q)).collect();
        // With fewer qubits named it is another pair; an instruction with too few of its own is an
        // error later.
        let acts = named.len() >= self.noise.n_qubits() || width < self.noise.n_qubits();
        (acts && !named.is_empty()).then_some(named)
    }

    fn follow(
        &self,
        instruction: &Instruction,
        noise: &Noise,
        out: &mut Circuit,
    ) -> Result<(), CircuitError> {
        let Some(qubits) = self.acts_on(instruction) else { return Ok(()) };
        let channel = match noise {
            Noise::Channel(channel) => channel,
            &Noise::Relaxation { t1, t2, dt } => {
                let time = delay_time(instruction, dt)?;
                for qubit in qubits {
                    for channel in Channel::relaxation(time, t1, t2)? {
                        out.push(conditioned(instruction, Operation::Channel(channel), &[qubit]))?;
                    }
                }
                return Ok(());
            }
        };
        let (expected, given) = (channel.n_qubits(), qubits.len());
        if expected != 1 && expected != given {
            let (channel, after) = (channel.to_string(), operation_name(instruction));
            return Err(CircuitError::NoiseQubits { channel, expected, after, given });
        }
        for targets in qubits.chunks(expected) {
            out.push(conditioned(instruction, Operation::Channel(channel.clone()), targets))?;
        }
        Ok(())
    }
}

/// The seconds of a delay.
fn delay_time(instruction: &Instruction, dt: Option<f64>) -> Result<f64, CircuitError> {
    let Operation::Delay { length } = &instruction.operation else { return Ok(0.0) };
    let why = match length {
        DelayLength::Samples(_) => {
            format!("it is {length}, and the noise model does not say how long a `dt` is")
        }
        _ => "it is open until the circuit is compiled for some hardware".to_owned(),
    };
    length.seconds(dt).ok_or(CircuitError::OpenDelay { qubits: instruction.targets.len(), why })
}

/// Returns true if it writes a bit that its condition reads.
fn changes_its_condition(instruction: &Instruction) -> bool {
    let (Operation::Measure { bit }, Some(condition)) =
        (&instruction.operation, &instruction.condition)
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

/// Returns an operation on some qubits, under the condition of an instruction.
fn conditioned(instruction: &Instruction, operation: Operation, targets: &[u32]) -> Instruction {
    let (controls, condition) = (Default::default(), instruction.condition.clone());
    Instruction { operation, targets: targets.into(), controls, condition }
}
