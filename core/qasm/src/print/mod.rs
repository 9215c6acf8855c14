//! Circuits as OpenQASM 2 and 3.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, param::Angle, print};
//!
//! let mut circuit = Circuit::new(2);
//! let theta = circuit.param("theta");
//! circuit.h(0)?.rx(1, theta)?.gphase(Angle::pi(1, 4))?.add_register("c", 2)?.measure(0, 1)?;
//! assert_eq!(print::to_qasm3(&circuit)?, r#"OPENQASM 3.0;
//! include "stdgates.inc";
//! input float[64] theta;
//! qubit[2] q;
//! bit[2] c;
//! h q[0];
//! rx(theta) q[1];
//! gphase(pi/4);
//! c[1] = measure q[0];
//! "#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Constructs that a language lacks are expressed in others:
//! - gates outside the standard files as a `gate` definition, once ([`definition`]);
//! - unitary matrices as a `gate` definition too ([`synthesize`]);
//! - rotations about Pauli strings as gates between two changes of basis ([`Circuit::decomposed`]);
//! - in OpenQASM 2, controls beyond the named gates by more gates, without further qubits;
//! - names that a language does not take with `_` for foreign letters and a number appended.
//!
//! Gates that the source of the circuit defines are defined and called under their names, with
//! those of their parameters and qubits; [`Circuit::expanded`] inlines them.
//!
//! Hidden registers are those that are not an `output` in OpenQASM 3, if there are others; a result
//! that goes to a hidden bit and is never read is a bare `measure q[0];` there, and OpenQASM 2 has
//! no syntax for it.
//!
//! Noise is a line of its own in OpenQASM 3, `#pragma braket noise depolarizing(p) q[0]`, as Amazon
//! Braket and [`parse`](crate::qasm::parse) read it; a readout error is a pragma of this library,
//! `#pragma ketgrad readout_error(p0, p1) c[0]`. OpenQASM 2 has none.
//!
//! OpenQASM 3 keeps the unitary with its phase, OpenQASM 2 up to a phase of the whole state. Empty
//! registers and barriers without qubits are left out, and so are identities under controls in
//! OpenQASM 2.

mod blocks;
pub(crate) mod condition;
mod declare;
mod definition;
mod lower;
mod names;
mod noise;
mod pair;
mod prepare;
mod qasm2;
mod qasm3;
mod svd;
mod synthesis;
mod text;

pub use definition::definition;
pub use prepare::prepare;
pub use qasm2::{renamed_in_qasm2, to_qasm2};
pub use qasm3::{renamed_in_qasm3, to_qasm3};
pub use synthesis::synthesize;

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use num_complex::Complex;

use crate::{
    circuit::{Circuit, CircuitError, NamedCall, Operation},
    classical::{PlaceNames, VariableId},
    gate::ParamCountError,
    matrix::Matrix,
    param::Angle,
};

/// Unitaries on more qubits are not printed: 4^k gates take O(8^k) time to find.
pub const MAX_UNITARY_QUBITS: usize = 8;

/// Error of printing: the reason why a circuit has no text in a language.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// Noise in OpenQASM 2.
    #[error("the language has no words for {channel}, which is noise")]
    Noise {
        /// The channel.
        channel: &'static str,
    },
    /// Parameters without a value, in OpenQASM 2.
    #[error("OpenQASM 2 has no parameters: give a value to {}", names.join(", "))]
    OpenParameters {
        /// Their names.
        names: Vec<String>,
    },
    /// A condition that OpenQASM 2 cannot express.
    #[error(
        "OpenQASM 2 only has conditions that fix all bits of one register, such as `if (c == 3)`; this is not one: {condition}"
    )]
    Condition {
        /// The condition, bits counted over all registers.
        condition: String,
    },
    /// An assignment to a classical bit, in OpenQASM 2.
    #[error("OpenQASM 2 cannot give classical bit {bit} the value {}", u8::from(*value))]
    Assign {
        /// The bit, counted over all registers.
        bit: u32,
        /// The value.
        value: bool,
    },
    /// A measurement whose result nothing reads, in OpenQASM 2.
    #[error(
        "OpenQASM 2 cannot throw away what is measured: give the result of qubit {qubit} a bit"
    )]
    Discarded {
        /// The qubit.
        qubit: u32,
    },
    /// A loop, in OpenQASM 2.
    #[error("OpenQASM 2 has no loops that run until a measurement ends them")]
    Loop,
    /// A variable, a branch or another block, in OpenQASM 2.
    #[error("OpenQASM 2 has no {construct}, which OpenQASM 3 has")]
    Classical {
        /// What it is.
        construct: &'static str,
    },
    /// An angle that is NaN or infinite.
    #[error("the angle {angle} is not a finite number")]
    NotFinite {
        /// The angle.
        angle: String,
    },
    /// A unitary matrix on too many qubits.
    #[error("a unitary on {given} qubits is too large to be printed as gates; {limit} is the most")]
    UnitaryTooLarge {
        /// Its qubits.
        given: usize,
        /// The most.
        limit: usize,
    },
    /// An expression whose text is too long.
    #[error("an expression takes {bytes} bytes or more; {limit} is the most")]
    Expression {
        /// Its length so far.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// A gate that neither a standard file nor a definition has.
    #[error("there is no definition of {gate}")]
    Undefined {
        /// The gate.
        gate: &'static str,
    },
    /// A parameter or gate that does not belong to the circuit.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
}

impl From<ParamCountError> for PrintError {
    fn from(error: ParamCountError) -> PrintError {
        PrintError::Circuit(error.into())
    }
}

fn check_unitary_size(matrix: &Matrix<Complex<f64>>) -> Result<(), PrintError> {
    let given = matrix.n_qubits();
    if given > MAX_UNITARY_QUBITS {
        return Err(PrintError::UnitaryTooLarge { given, limit: MAX_UNITARY_QUBITS });
    }
    Ok(())
}

/// The names of the elements of registers, of bits or of qubits, in order: `c[0]`, `c[1]`, `d[0]`.
pub(crate) struct RegisterNames<'a> {
    /// Start of each register, its size and its name; empty ones are left out.
    registers: Vec<(usize, usize, &'a str)>,
}

impl<'a> RegisterNames<'a> {
    pub(crate) fn new(registers: &'a [(String, usize)]) -> RegisterNames<'a> {
        let mut first = 0;
        let with_start = registers.iter().map(|(name, size)| {
            first += size;
            (first - size, *size, name.as_str())
        });
        RegisterNames { registers: with_start.filter(|r| r.1 > 0).collect() }
    }

    /// The register that a bit is in: its first bit, its size, its name.
    fn register(&self, bit: u32) -> Option<(usize, usize, &'a str)> {
        let after = self.registers.partition_point(|r| r.0 <= bit as usize);
        self.registers.get(after.checked_sub(1)?).copied()
    }

    pub(crate) fn name(&self, bit: u32) -> String {
        match self.register(bit) {
            Some((first, _, name)) => format!("{name}[{}]", bit as usize - first),
            None => format!("bit {bit}"),
        }
    }

    /// Returns the name of an element, which is that of its register if it is the only one.
    fn short_name(&self, bit: u32) -> String {
        match self.register(bit) {
            Some((_, 1, name)) => name.to_owned(),
            _ => self.name(bit),
        }
    }
}

/// The names of everything classical in a circuit.
pub(crate) struct ClassicalNames<'a> {
    pub(crate) bits: RegisterNames<'a>,
    /// Those of the variables, by number.
    variables: Vec<String>,
    angle: Box<dyn Fn(&Angle) -> String + 'a>,
}

impl<'a> ClassicalNames<'a> {
    pub(crate) fn new(
        registers: &'a [(String, usize)],
        variables: Vec<String>,
        angle: impl Fn(&Angle) -> String + 'a,
    ) -> ClassicalNames<'a> {
        ClassicalNames { bits: RegisterNames::new(registers), variables, angle: Box::new(angle) }
    }

    /// Bits in a row of one register, in order: the first and the last by its name.
    fn run(&self, first: u32, last: u32) -> String {
        match self.bits.register(first) {
            Some((_, size, name)) if (last - first) as usize + 1 == size => name.to_owned(),
            Some((start, _, name)) if last > first => {
                format!("{name}[{}:{}]", first as usize - start, last as usize - start)
            }
            _ => self.bits.name(first),
        }
    }

    /// Returns the longest runs of neighbours in one register, each with its first and last bit.
    fn runs(&self, bits: &[u32]) -> Vec<(u32, u32)> {
        let register = |bit: u32| self.bits.register(bit).map(|(first, ..)| first);
        let is_next =
            |a: &u32, b: &u32| a.checked_add(1) == Some(*b) && register(*a) == register(*b);
        let runs = bits.chunk_by(is_next);
        runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
    }
}

impl PlaceNames for ClassicalNames<'_> {
    fn bit(&self, bit: u32) -> String {
        self.bits.name(bit)
    }

    fn bits(&self, bits: &[u32]) -> String {
        let runs = self.runs(bits);
        let texts: Vec<String> = runs.iter().map(|&(first, last)| self.run(first, last)).collect();
        if let [one] = texts.as_slice() { one.clone() } else { format!("({})", texts.join(" ++ ")) }
    }

    fn variable(&self, variable: VariableId) -> String {
        self.variables.get(variable.index()).cloned().unwrap_or_default()
    }

    fn angle(&self, angle: &Angle) -> String {
        (self.angle)(angle)
    }
}

/// Hidden registers, and their bits that are read.
#[derive(Default)]
struct ScratchRegisters {
    /// Their bits, in order.
    registers: Vec<Range<u32>>,
    read: BTreeSet<u32>,
}

impl ScratchRegisters {
    fn new(circuit: &Circuit) -> ScratchRegisters {
        let (mut hidden, mut first) = (ScratchRegisters::default(), 0);
        for register in circuit.registers() {
            let end = first + u32::try_from(register.size).unwrap_or(u32::MAX);
            hidden.registers.extend(register.hidden.then_some(first..end));
            first = end;
        }
        for instruction in circuit.instructions() {
            let mut read = |bit| {
                if hidden.holds(bit) {
                    hidden.read.insert(bit);
                }
            };
            instruction.for_each_bit_read(&mut read);
            // An assignment is written, whether its bits are read or not.
            if let Operation::Store(_) = &instruction.operation {
                instruction.operation.written().iter().copied().for_each(read);
            }
        }
        // A readout error of a bit that is shown or read may depend on the other bits of its
        // matrix.
        for instruction in circuit.instructions().iter().rev() {
            if let Operation::ReadoutError { bits, .. } = &instruction.operation
                && bits.iter().any(|&bit| !hidden.is_unread(bit))
            {
                let more: Vec<u32> =
                    bits.iter().copied().filter(|&bit| hidden.holds(bit)).collect();
                hidden.read.extend(more);
            }
        }
        hidden
    }

    fn holds(&self, bit: u32) -> bool {
        let at = self.registers.partition_point(|bits| bits.end <= bit);
        self.registers.get(at).is_some_and(|bits| bits.contains(&bit))
    }

    /// Returns true if a bit is hidden and nothing reads it.
    fn is_unread(&self, bit: u32) -> bool {
        self.holds(bit) && !self.read.contains(&bit)
    }

    /// Returns true if any of these bits is read, if they are hidden.
    fn is_read(&self, bits: Range<u32>) -> bool {
        self.read.range(bits).next().is_some()
    }
}

/// Returns the registers of a circuit that have bits, with valid names of the language.
fn named_registers(circuit: &Circuit, names: &mut names::UniqueNames) -> Vec<(String, usize)> {
    let full = circuit.registers().iter().filter(|r| r.size > 0);
    full.map(|r| (names.allocate(&r.name), r.size)).collect()
}

/// Returns valid names of the language for the variables of a circuit.
fn named_variables(circuit: &Circuit, names: &mut names::UniqueNames) -> Vec<String> {
    circuit.variables().iter().map(|variable| names.allocate(&variable.name)).collect()
}

/// Returns the registers of qubits, with valid names of the language.
fn named_qubits(circuit: &Circuit, names: &mut names::UniqueNames) -> Vec<(String, usize)> {
    circuit.qubit_registers().iter().map(|r| (names.allocate(&r.name), r.size)).collect()
}

/// Returns the gates that the source of a circuit defined, by address, in the order of their first
/// calls: their names, and their new ones.
fn named_gates<'a>(
    calls: &[NamedCall<'a>],
    names: &mut names::UniqueNames,
) -> Vec<(usize, &'a str, String)> {
    let mut seen = HashSet::new();
    let first = calls.iter().filter(|call| seen.insert(Arc::as_ptr(call.gate)));
    first.map(|call| (address(call), call.gate.name(), names.allocate(call.gate.name()))).collect()
}

/// Returns a key that identifies a gate that the source of a circuit defined.
fn address(call: &NamedCall) -> usize {
    Arc::as_ptr(call.gate) as usize
}

/// Returns the names of registers and variables that are shown, and their new ones.
fn renamed_registers(circuit: &Circuit, names: &mut names::UniqueNames) -> Vec<(String, String)> {
    let full = circuit.registers().iter().filter(|r| r.size > 0);
    let named = full.map(|r| (r.hidden, r.name.clone(), names.allocate(&r.name)));
    let mut pairs: Vec<(String, String)> =
        named.filter(|(hidden, ..)| !hidden).map(|(_, old, new)| (old, new)).collect();
    let of_qubits = circuit.qubit_registers().into_iter().zip(named_qubits(circuit, names));
    // The default name `q` is not listed.
    pairs.extend(
        of_qubits.filter(|(old, _)| old.name != "q").map(|(old, (new, _))| (old.name, new)),
    );
    let variables = circuit.variables().iter().zip(named_variables(circuit, names));
    let shown = variables.filter(|(old, _)| !old.hidden);
    pairs.extend(shown.map(|(old, new)| (old.name.clone(), new)));
    pairs
}
