//! Circuits: a program of gates as plain data.
//!
//! ```
//! use ketgrad_core::circuit::Circuit;
//!
//! let mut ghz = Circuit::new(3);
//! ghz.h(0)?.cx(0, 1)?.cx(1, 2)?;
//! let theta = ghz.param("theta");
//! ghz.rz(2, theta)?;
//! assert_eq!(ghz.to_string(), "h q[0]\ncx q[0], q[1]\ncx q[1], q[2]\nrz(theta) q[2]\n");
//! # Ok::<(), ketgrad_core::circuit::CircuitError>(())
//! ```
//!
//! An [`Instruction`] is an operation on target qubits under any number of controls of value 1 or
//! 0. Nothing here computes amplitudes; `simulate` does.

mod condition;
mod display;
mod edit;
mod error;
mod loops;
mod methods;
mod noise;
pub mod operand;

pub use condition::{Condition, Relation};
pub use error::CircuitError;
pub use loops::Part;
pub use noise::{After, InstructionKind, NoiseModel};
pub use operand::{BitRange, Numbers, Operand};

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use display::operation_name;
use num_complex::Complex;
use smallvec::SmallVec;

use crate::{
    channel::Channel,
    gate::Gate,
    matrix::Matrix,
    param::{Angle, BindError, ParamExpr, ParamId},
    scalar::Real,
};

/// How far `U^dagger U` of a given matrix may be off 1, entry by entry. Files print 8 digits or more.
pub const UNITARY_TOLERANCE: f64 = 1e-7;

/// The longest text of an expression that serves as the name of a computed parameter, in bytes.
const MAX_NAME: usize = 1000;

/// The qubits of an instruction, by number.
pub type Qubits = SmallVec<[u32; 4]>;

/// A qubit that must have this value for an instruction to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// The qubit.
    pub qubit: u32,
    /// The value that it must have: 1 (true) or 0.
    pub value: bool,
}

/// What an instruction does to its targets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// A gate of the table.
    Gate(Gate),
    /// A unitary matrix given in numbers.
    Unitary(Arc<Matrix<Complex<f64>>>),
    /// Measures the one target into a classical bit, counted over all registers.
    Measure {
        /// The classical bit.
        bit: u32,
    },
    /// Brings the one target to |0>, whatever it was.
    Reset,
    /// Noise: a channel.
    Channel(Channel),
    /// Misreads a classical bit: it changes with the first probability if it is 0, with the second if it is 1.
    Misread {
        /// The classical bit.
        bit: u32,
        /// The probabilities that a 0 is taken for 1, and a 1 for 0.
        chances: Arc<[Angle; 2]>,
    },
    /// Gives a classical bit a value.
    Assign {
        /// The classical bit.
        bit: u32,
        /// Its value.
        value: bool,
    },
    /// Does nothing; optimizations do not move gates across it.
    Barrier,
    /// Runs the `body` instructions behind it, and then itself again, as long as the condition of the
    /// instruction holds; without a condition for ever. A body ends with the circuit or the loop around at the latest.
    While {
        /// How many instructions.
        body: u32,
    },
}

impl Operation {
    /// The angles of a gate, the parameters of a channel; none of anything else.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        match self {
            Operation::Gate(gate) => gate.params(),
            Operation::Channel(channel) => channel.params(),
            Operation::Misread { chances, .. } => &chances[..],
            _ => &[],
        }
    }

    /// The same with each parameter replaced.
    #[must_use]
    pub fn map_params(&self, mut f: impl FnMut(&Angle) -> Angle) -> Operation {
        match self {
            Operation::Misread { bit, chances } => {
                Operation::Misread { bit: *bit, chances: Arc::new([f(&chances[0]), f(&chances[1])]) }
            }
            Operation::Gate(gate) => Operation::Gate(gate.map_params(f)),
            Operation::Channel(channel) => Operation::Channel(channel.map_params(f)),
            other => other.clone(),
        }
    }

    /// Whether it is a gate, a matrix or a barrier.
    #[must_use]
    pub fn is_unitary(&self) -> bool {
        matches!(self, Operation::Gate(_) | Operation::Unitary(_) | Operation::Barrier)
    }
}

/// An operation on target qubits, under controls.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// What is done.
    pub operation: Operation,
    /// To which qubits; `targets[0]` is the least significant bit of the gate's matrix.
    pub targets: Qubits,
    /// Under which values of other qubits.
    pub controls: SmallVec<[Control; 2]>,
    /// Under which values of classical bits; `None` is always.
    pub condition: Option<Arc<Condition>>,
}

impl Instruction {
    /// All qubits, controls first.
    pub fn qubits(&self) -> impl Iterator<Item = u32> + '_ {
        self.controls.iter().map(|c| c.qubit).chain(self.targets.iter().copied())
    }

    /// Puts the inverse in place of a unitary operation.
    fn invert(&mut self) {
        match &mut self.operation {
            Operation::Gate(gate) => *gate = gate.dagger(),
            Operation::Unitary(matrix) => *matrix = Arc::new(matrix.dagger()),
            _ => {}
        }
    }
}

/// A named group of classical bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicalRegister {
    /// Its name.
    pub name: String,
    /// Its number of bits.
    pub size: usize,
    /// Whether it is left out where outcomes are shown: it is for intermediate values.
    pub hidden: bool,
}

/// A parameter: an input, or a value computed from earlier parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamDef {
    /// The name; for a computed one, the expression.
    pub name: String,
    /// How it is computed; `None` for an input.
    pub definition: Option<ParamExpr>,
}

/// A quantum circuit on `n_qubits` qubits, all starting in |0>.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Circuit {
    n_qubits: usize,
    params: Vec<ParamDef>,
    registers: Vec<ClassicalRegister>,
    /// The sum of their sizes.
    n_bits: usize,
    instructions: Vec<Instruction>,
}

impl Circuit {
    /// An empty circuit.
    #[must_use]
    pub fn new(n_qubits: usize) -> Circuit {
        Circuit { n_qubits, ..Circuit::default() }
    }

    /// A circuit on `n_qubits` qubits with what `body` appends.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let ghz = Circuit::build(3, |c| c.h(0)?.cx(0, 1..))?;
    /// assert_eq!(ghz.to_string(), "h q[0]\ncx q[0], q[1]\ncx q[0], q[2]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`.
    pub fn build(
        n_qubits: usize,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<Circuit, CircuitError> {
        let mut circuit = Circuit::new(n_qubits);
        body(&mut circuit)?;
        Ok(circuit)
    }

    /// The number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// The instructions in order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Instruction number `k`, to be replaced by another on the same qubits.
    pub(crate) fn instruction_mut(&mut self, k: usize) -> Option<&mut Instruction> {
        self.instructions.get_mut(k)
    }

    /// All parameters; a [`ParamId`] is a position in this list.
    #[must_use]
    pub fn params(&self) -> &[ParamDef] {
        &self.params
    }

    /// The names of the inputs, in the order in which values are given.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.params.iter().filter(|p| p.definition.is_none()).map(|p| p.name.as_str())
    }

    /// The classical registers in order of declaration.
    #[must_use]
    pub fn registers(&self) -> &[ClassicalRegister] {
        &self.registers
    }

    /// The number of classical bits.
    #[must_use]
    pub fn n_bits(&self) -> usize {
        self.n_bits
    }

    /// Whether bits that show are written, by measurements or assignments: a result that goes to hidden bits alone is
    /// thrown away.
    #[must_use]
    pub fn has_results(&self) -> bool {
        let writes = |i: &Instruction| match i.operation {
            Operation::Measure { bit } | Operation::Assign { bit, .. } => self.is_shown(bit),
            _ => false,
        };
        self.instructions.iter().any(writes)
    }

    /// Whether there are channels in it.
    #[must_use]
    pub fn has_channels(&self) -> bool {
        self.instructions.iter().any(|i| matches!(i.operation, Operation::Channel(_)))
    }

    /// Whether a bit is in a register that is not hidden.
    fn is_shown(&self, bit: u32) -> bool {
        let mut end = 0;
        let register = self.registers.iter().find(|register| {
            end += register.size;
            usize::try_from(bit).is_ok_and(|bit| bit < end)
        });
        register.is_some_and(|register| !register.hidden)
    }

    /// Whether it is gates and barriers only, none of them under a condition.
    #[must_use]
    pub fn is_unitary(&self) -> bool {
        self.instructions.iter().all(|i| i.condition.is_none() && i.operation.is_unitary())
    }

    /// The input called `name`, which is declared if it is not there yet.
    pub fn param(&mut self, name: &str) -> Angle {
        let at = self.params.iter().position(|p| p.definition.is_none() && p.name == name);
        self.input(at.map(param_id), name)
    }

    /// The inputs `name[0]`, `name[1]`, …, declared where they are not there yet.
    pub fn param_list(&mut self, name: &str, size: usize) -> Vec<Angle> {
        let inputs = self.params.iter().enumerate().filter(|(_, p)| p.definition.is_none());
        let known: HashMap<String, ParamId> = inputs.map(|(i, p)| (p.name.clone(), param_id(i))).collect();
        let names = (0..size).map(|i| format!("{name}[{i}]"));
        names.map(|name| self.input(known.get(&name).copied(), &name)).collect()
    }

    /// The input of this name, which is there or becomes a new one.
    fn input(&mut self, there: Option<ParamId>, name: &str) -> Angle {
        let new = || ParamDef { name: name.to_owned(), definition: None };
        let id = there.unwrap_or_else(|| self.push_param(new()));
        Angle::theta(ParamId::named(id.number(), name))
    }

    /// A parameter computed from the others. An expression that is an angle already costs nothing; one with a
    /// parameter of another circuit gives that parameter, which no gate of this circuit takes.
    pub fn expression(&mut self, expr: ParamExpr) -> Angle {
        if let [crate::param::Step::Angle(angle)] = expr.steps() {
            return angle.clone();
        }
        if let Some(id) = expr.params().find(|&id| self.own(id).is_err()) {
            return Angle::theta(id);
        }
        // An expression of expressions of … would have a name that doubles with every level.
        let text = expr.text(&|id| self.param_name(id));
        let name = if text.len() <= MAX_NAME { text } else { format!("computed_{}", self.params.len()) };
        let same = |other: &ParamExpr| {
            *other == expr && other.angles().zip(expr.angles()).all(|(a, b)| a.slack() == b.slack())
        };
        let at = self.params.iter().position(|p| p.definition.as_ref().is_some_and(same));
        let id = match at {
            Some(i) => param_id(i),
            None => self.push_param(ParamDef { name, definition: Some(expr) }),
        };
        Angle::theta(self.params.get(id.index()).map_or(id, |p| ParamId::named(id.number(), &p.name)))
    }

    /// Whether a parameter is one of this circuit's.
    fn own(&self, id: ParamId) -> Result<(), CircuitError> {
        match self.params.get(id.index()) {
            None => Err(CircuitError::ForeignParam { id }),
            Some(param) if !id.may_be(&param.name) => {
                Err(CircuitError::OtherParam { id, name: param.name.clone() })
            }
            Some(_) => Ok(()),
        }
    }

    /// Adds a parameter without looking for one like it.
    pub(crate) fn push_param(&mut self, def: ParamDef) -> ParamId {
        self.params.push(def);
        param_id(self.params.len() - 1)
    }

    /// The name of a parameter, or its expression in parentheses.
    #[must_use]
    pub fn param_name(&self, id: ParamId) -> String {
        match self.params.get(id.index()) {
            Some(ParamDef { name, definition: None }) => name.clone(),
            Some(ParamDef { name, .. }) => format!("({name})"),
            None => format!("p{}", id.number()),
        }
    }

    /// An angle with the names of this circuit's parameters.
    #[must_use]
    pub fn angle_text(&self, angle: &Angle) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = angle.write(&mut text, &|id| self.param_name(id));
        text
    }

    /// The values of all parameters, given those of the inputs in order.
    ///
    /// # Errors
    /// [`CircuitError::Inputs`] if their number is wrong.
    pub fn param_values<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, CircuitError> {
        let expected = self.inputs().count();
        if inputs.len() != expected {
            return Err(CircuitError::Inputs {
                given: inputs.len(),
                names: self.inputs().map(str::to_owned).collect(),
            });
        }
        let mut inputs = inputs.iter();
        let mut values: Vec<T> = Vec::with_capacity(self.params.len());
        for param in &self.params {
            let value = match &param.definition {
                Some(expr) => expr.evaluate(&values).map_err(|e| self.bind_error(e))?,
                None => inputs.next().cloned().unwrap_or_else(T::zero),
            };
            values.push(value);
        }
        Ok(values)
    }

    /// Puts names in place of numbers in an error of a binding.
    #[must_use]
    pub fn bind_error(&self, error: BindError) -> CircuitError {
        match error {
            BindError::Unbound { id } => CircuitError::Unbound { names: vec![self.param_name(id)] },
            BindError::NotFinite { angle } => CircuitError::NotFinite { angle: self.angle_text(&angle) },
            BindError::NoProbability { angle, value } => {
                CircuitError::NoProbability { text: self.angle_text(&angle), value }
            }
            other => CircuitError::Bind(other),
        }
    }

    /// Declares a classical register.
    ///
    /// # Errors
    /// [`CircuitError::DuplicateRegister`] if the name is taken, [`CircuitError::TooManyBits`] if all
    /// registers together exceed 2^32 bits.
    pub fn add_register(&mut self, name: &str, size: usize) -> Result<&mut Circuit, CircuitError> {
        self.declare_register(name, size, false)
    }

    /// Declares a register for intermediate values: [`Bits::text`](crate::simulate::Bits::text)
    /// leaves it out, so that shots which differ only in hidden bits are counted as one, and OpenQASM 3 says that it
    /// is no output.
    ///
    /// # Errors
    /// As [`Circuit::add_register`].
    pub fn hidden_register(&mut self, name: &str, size: usize) -> Result<BitRange, CircuitError> {
        let first = self.n_bits();
        self.declare_register(name, size, true)?;
        Ok(BitRange::new(first, size))
    }

    fn declare_register(
        &mut self,
        name: &str,
        size: usize,
        hidden: bool,
    ) -> Result<&mut Circuit, CircuitError> {
        if self.registers.iter().any(|r| r.name == name) {
            return Err(CircuitError::DuplicateRegister { name: name.to_owned() });
        }
        if self.n_bits().saturating_add(size) > u32::MAX as usize {
            return Err(CircuitError::TooManyBits { given: size });
        }
        self.push_register(ClassicalRegister { name: name.to_owned(), size, hidden });
        Ok(self)
    }

    /// Declares a classical register whose name is known to be free.
    pub(crate) fn push_register(&mut self, register: ClassicalRegister) {
        self.n_bits += register.size;
        self.registers.push(register);
    }

    /// Declares a classical register and gives its bits.
    ///
    /// # Errors
    /// As [`Circuit::add_register`].
    pub fn bit_register(&mut self, name: &str, size: usize) -> Result<BitRange, CircuitError> {
        let first = self.n_bits();
        self.add_register(name, size)?;
        Ok(BitRange::new(first, size))
    }

    /// The qubits that an operand stands for; `..` is all of them.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchQubit`] for a range that goes beyond the last one.
    pub fn qubits(&self, which: impl Operand) -> Result<Vec<usize>, CircuitError> {
        self.numbers(which).map(Numbers::to_vec)
    }

    fn numbers(&self, which: impl Operand) -> Result<Numbers, CircuitError> {
        let n_qubits = self.n_qubits;
        which.numbers(n_qubits).map_err(|given| CircuitError::NoSuchQubit { given, n_qubits })
    }

    /// Appends an instruction after checking its qubits.
    ///
    /// # Errors
    /// [`CircuitError`] if the number of targets does not fit, a qubit or bit does not exist or is
    /// used twice, or a parameter is not of this circuit.
    pub fn push(&mut self, instruction: Instruction) -> Result<&mut Circuit, CircuitError> {
        self.check(&instruction)?;
        self.instructions.push(instruction);
        Ok(self)
    }

    /// Applies a gate, with controls.
    ///
    /// # Errors
    /// As [`Circuit::push`].
    pub fn gate(
        &mut self,
        gate: Gate,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Gate(gate), targets, controls)
    }

    /// Applies a unitary matrix to any qubits; `targets[0]` is the least significant.
    ///
    /// # Errors
    /// As [`Circuit::push`], and if the matrix is not unitary to [`UNITARY_TOLERANCE`].
    pub fn unitary(
        &mut self,
        matrix: Matrix<Complex<f64>>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        matrix.check_unitary(UNITARY_TOLERANCE)?;
        self.operation(Operation::Unitary(Arc::new(matrix)), targets, controls)
    }

    /// Applies a channel; `targets[0]` is the least significant. Named ones have methods, too:
    /// `circuit.depolarizing(0, 0.01)`.
    ///
    /// # Errors
    /// As [`Circuit::push`].
    pub fn channel(&mut self, channel: Channel, targets: &[usize]) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Channel(channel), targets, &[])
    }

    /// X on `target` where every one of `controls` is 1.
    ///
    /// # Errors
    /// As [`Circuit::push`].
    pub fn mcx(&mut self, controls: &[usize], target: usize) -> Result<&mut Circuit, CircuitError> {
        let controls: Vec<_> = controls.iter().map(|&q| (q, true)).collect();
        self.gate(Gate::new(crate::gate::GateKind::X, [])?, &[target], &controls)
    }

    /// Measures a qubit into a classical bit, counted over all registers; or the qubits of a list
    /// into the bits of another one.
    ///
    /// # Errors
    /// As [`Circuit::push`], and if there are not as many bits as qubits. Nothing is appended then.
    pub fn measure(
        &mut self,
        qubits: impl Operand,
        bits: impl Operand,
    ) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        let bits = bits.numbers(self.n_bits()).map_err(|bit| self.no_such_bit(bit))?.to_vec();
        if qubits.len() != bits.len() {
            return Err(CircuitError::Lengths { given: vec![qubits.len(), bits.len()] });
        }
        self.all_or_nothing(|circuit| {
            for (&qubit, &bit) in qubits.iter().zip(&bits) {
                let bit = u32::try_from(bit).map_err(|_| circuit.no_such_bit(bit))?;
                circuit.operation(Operation::Measure { bit }, &[qubit], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Measures every qubit into a new register called `meas`.
    ///
    /// # Errors
    /// If the circuit has a register of this name.
    pub fn measure_all(&mut self) -> Result<&mut Circuit, CircuitError> {
        let first = self.n_bits();
        self.add_register("meas", self.n_qubits)?;
        for qubit in 0..self.n_qubits {
            self.measure(qubit, first + qubit)?;
        }
        Ok(self)
    }

    /// Brings a qubit, or each of a list, to |0>, whatever it was.
    ///
    /// # Errors
    /// As [`Circuit::push`]. Nothing is appended then.
    pub fn reset(&mut self, qubits: impl Operand) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        self.all_or_nothing(|circuit| {
            for qubit in qubits {
                circuit.operation(Operation::Reset, &[qubit], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Gives a classical bit a value.
    ///
    /// # Errors
    /// As [`Circuit::push`].
    pub fn assign(&mut self, bit: usize, value: bool) -> Result<&mut Circuit, CircuitError> {
        let bit = u32::try_from(bit).map_err(|_| self.no_such_bit(bit))?;
        self.operation(Operation::Assign { bit, value }, &[], &[])
    }

    /// Misreads classical bits: each 0 becomes 1 with probability `p0`, each 1 becomes 0 with probability `p1`. After a
    /// measurement it is the error of its reading; the qubit keeps what was measured.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
    /// let mut c = Circuit::new(1);
    /// c.add_register("m", 1)?.measure(0, 0)?.misread(0, 0.25, 0.0)?;
    /// let counts = Simulator::new().run_shots(&c, &[] as &[f64], 1000, 7)?;
    /// assert!((200..300).contains(&counts["1"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Circuit::push`]. Nothing is appended then. Whether the parameters are probabilities is seen when they have
    /// values.
    pub fn misread(
        &mut self,
        bits: impl Operand,
        p0: impl Into<Angle>,
        p1: impl Into<Angle>,
    ) -> Result<&mut Circuit, CircuitError> {
        let bits = bits.numbers(self.n_bits()).map_err(|bit| self.no_such_bit(bit))?.to_vec();
        let chances = Arc::new([p0.into(), p1.into()]);
        self.all_or_nothing(|circuit| {
            for bit in bits {
                let bit = u32::try_from(bit).map_err(|_| circuit.no_such_bit(bit))?;
                circuit.operation(Operation::Misread { bit, chances: Arc::clone(&chances) }, &[], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Appends what `body` appends, each instruction under a condition on classical bits. The condition
    /// is tested at each of them: what follows a change of its bits within the block sees the new values.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, Condition};
    /// let mut c = Circuit::new(2);
    /// c.add_register("m", 1)?.h(0)?.measure(0, 0)?;
    /// c.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1))?;
    /// assert!(c.to_string().ends_with("if (c[0] == 1) x q[1]\n"));
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`, or a bit that does not exist. Nothing is appended then.
    pub fn when(
        &mut self,
        condition: impl Into<Condition>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let condition = condition.into();
        self.check_condition(&condition)?;
        let first = self.instructions.len();
        self.all_or_nothing(body)?;
        let condition = Arc::new(condition);
        for instruction in &mut self.instructions[first..] {
            instruction.condition = Some(match &instruction.condition {
                None => Arc::clone(&condition),
                Some(inner) => Arc::new((*condition).clone().and((**inner).clone())),
            });
        }
        Ok(self)
    }

    /// Appends what `body` appends, each gate under further controls: all of `controls` must have
    /// `value`.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let mut c = Circuit::new(4);
    /// c.under(0..2, true, |c| c.under(2, false, |c| c.x(3)))?;
    /// assert_eq!(c.to_string(), "c3-x q[0], q[1], !q[2], q[3]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`CircuitError::NotUnitary`] if it measures, resets, assigns or is noise;
    /// [`CircuitError`] if it acts on one of the controls. Nothing is appended then.
    pub fn under(
        &mut self,
        controls: impl Operand,
        value: bool,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let mut new: SmallVec<[Control; 2]> = SmallVec::new();
        for given in self.qubits(controls)? {
            let missing = CircuitError::NoSuchQubit { given, n_qubits: self.n_qubits };
            new.push(Control { qubit: u32::try_from(given).map_err(|_| missing)?, value });
        }
        self.edit_tail("control", body, |circuit, first| {
            for i in first..circuit.instructions.len() {
                if circuit.instructions[i].operation != Operation::Barrier {
                    circuit.instructions[i].controls.insert_from_slice(0, &new);
                    circuit.check(&circuit.instructions[i])?;
                }
            }
            Ok(circuit)
        })
    }

    /// Appends the inverse of what `body` appends: inverse gates in reverse order.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let mut c = Circuit::new(2);
    /// c.undo(|c| c.h(0)?.s(0)?.cx(0, 1))?;
    /// assert_eq!(c.to_string(), "cx q[0], q[1]\nsdg q[0]\nh q[0]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`CircuitError::NotUnitary`] if it measures, resets, assigns or is noise. Nothing
    /// is appended then.
    pub fn undo(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        self.edit_tail("the inverse", body, |circuit, first| {
            let tail = &mut circuit.instructions[first..];
            tail.reverse();
            tail.iter_mut().for_each(Instruction::invert);
            Ok(circuit)
        })
    }

    /// Runs `body`, then `edit` with the position of what it appended, which must be unitary.
    fn edit_tail(
        &mut self,
        what: &'static str,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
        edit: impl FnOnce(&mut Circuit, usize) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let first = self.instructions.len();
        self.all_or_nothing(|circuit| {
            body(circuit)?;
            if circuit.instructions[first..].iter().any(|i| !i.operation.is_unitary()) {
                return Err(CircuitError::NotUnitary { what });
            }
            edit(circuit, first)
        })
    }

    /// Runs `body`; if it fails, takes back the instructions that it appended.
    fn all_or_nothing(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let first = self.instructions.len();
        if let Err(error) = body(self) {
            self.instructions.truncate(first);
            return Err(error);
        }
        Ok(self)
    }

    /// A barrier across some qubits.
    ///
    /// # Errors
    /// As [`Circuit::push`].
    pub fn barrier(&mut self, qubits: &[usize]) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Barrier, qubits, &[])
    }

    fn operation(
        &mut self,
        operation: Operation,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        let number = |q: usize| {
            u32::try_from(q).map_err(|_| CircuitError::NoSuchQubit { given: q, n_qubits: self.n_qubits })
        };
        let targets = targets.iter().map(|&q| number(q)).collect::<Result<_, _>>()?;
        let controls = controls
            .iter()
            .map(|&(q, value)| number(q).map(|qubit| Control { qubit, value }))
            .collect::<Result<_, _>>()?;
        self.push(Instruction { operation, targets, controls, condition: None })
    }

    fn no_such_bit(&self, given: usize) -> CircuitError {
        CircuitError::NoSuchBit { given, n_bits: self.n_bits() }
    }

    fn check_condition(&self, condition: &Condition) -> Result<(), CircuitError> {
        let mut missing = None;
        condition.for_each_bit(&mut |bit| {
            if bit as usize >= self.n_bits {
                missing = Some(bit as usize);
            }
        });
        missing.map_or(Ok(()), |bit| Err(self.no_such_bit(bit)))
    }

    fn check(&self, instruction: &Instruction) -> Result<(), CircuitError> {
        let given = instruction.targets.len();
        match &instruction.operation {
            Operation::Gate(gate) => {
                let expected = gate.kind().n_qubits();
                if given != expected {
                    return Err(CircuitError::Targets { gate: gate.to_string(), given, expected });
                }
            }
            Operation::Channel(channel) => {
                let (expected, controls) = (channel.n_qubits(), instruction.controls.len());
                if given != expected || controls > 0 {
                    let given = given + controls;
                    return Err(CircuitError::Targets { gate: channel.to_string(), given, expected });
                }
            }
            Operation::Unitary(matrix) if given != matrix.n_qubits() => {
                let gate = "unitary".to_owned();
                return Err(CircuitError::Targets { gate, given, expected: matrix.n_qubits() });
            }
            Operation::Measure { bit } | Operation::Assign { bit, .. } | Operation::Misread { bit, .. }
                if *bit as usize >= self.n_bits() =>
            {
                return Err(self.no_such_bit(*bit as usize));
            }
            Operation::Measure { .. } | Operation::Reset
                if given != 1 || !instruction.controls.is_empty() =>
            {
                let gate = operation_name(instruction);
                return Err(CircuitError::Targets { gate, given, expected: 1 });
            }
            Operation::While { .. } | Operation::Misread { .. }
                if given > 0 || !instruction.controls.is_empty() =>
            {
                let gate = operation_name(instruction);
                return Err(CircuitError::Targets { gate, given: instruction.qubits().count(), expected: 0 });
            }
            _ => {}
        }
        let params = instruction.operation.params();
        params.iter().flat_map(Angle::terms).try_for_each(|t| self.own(t.0))?;
        let mut seen: SmallVec<[u32; 8]> = SmallVec::new();
        for qubit in instruction.qubits() {
            if qubit as usize >= self.n_qubits {
                return Err(CircuitError::NoSuchQubit { given: qubit as usize, n_qubits: self.n_qubits });
            }
            if seen.len() < 32 && seen.contains(&qubit) {
                return Err(CircuitError::RepeatedQubit { qubit });
            }
            seen.push(qubit);
        }
        if seen.len() > 32 {
            seen.sort_unstable();
            if let Some(pair) = seen.windows(2).find(|w| w[0] == w[1]) {
                return Err(CircuitError::RepeatedQubit { qubit: pair[0] });
            }
        }
        Ok(())
    }

    /// How often each operation occurs, by name, controls included (`cx`, `c5-x`, `unitary`).
    #[must_use]
    pub fn count_operations(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for instruction in &self.instructions {
            *counts.entry(operation_name(instruction)).or_insert(0) += 1;
        }
        counts
    }
}

pub(crate) fn param_id(i: usize) -> ParamId {
    // 2^32 parameters do not fit in memory.
    ParamId::new(u32::try_from(i).unwrap_or(u32::MAX))
}
