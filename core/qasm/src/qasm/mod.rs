//! OpenQASM 2 and 3: from a text to a [`Circuit`].
//!
//! ```
//! use ketgrad_core::qasm::{QasmOptions, parse};
//!
//! let source = r#"
//!     OPENQASM 3.0;
//!     include "stdgates.inc";
//!     input angle theta;
//!     qubit[2] q;
//!     h q[0];
//!     ctrl @ rx(2*theta - pi/3) q[0], q[1];
//! "#;
//! let parsed = parse(source, &QasmOptions::default())?;
//! assert_eq!(parsed.circuit.to_string(), "h q[0]\ncrx(-pi/3 + 2*theta) q[0], q[1]\n");
//! # Ok::<(), ketgrad_core::qasm::Failed>(())
//! ```
//!
//! The stages: the lexer makes tokens, the parser a syntax tree with a span on every node, the
//! lowering checks names and sizes, counts the gates after expansion, and only then builds the
//! circuit.
//!
//! - Inputs of the types `float` and `angle` are parameters of the circuit, which have values when
//!   it runs. All others decide what the circuit is: their values are given before, in
//!   [`QasmOptions::inputs`], and the text is read for them.
//! - Both languages are parsed whole. What runs is OpenQASM 2 and nearly all of OpenQASM 3.1:
//!   gates, constants, variables, aliases, loops, `switch`, subroutines, measurement and `reset`
//!   anywhere, `if` on bits and registers. Pulses in `cal` and values of external functions are
//!   refused by name and place. A `delay` is kept with its length, which does nothing but under a
//!   noise model. Durations of gates and boxes, `defcal`, other `cal` and calls of external
//!   functions that give nothing are ignored with a warning: a gate does what it is defined to do.
//! - A circuit is a list of gates, so what OpenQASM 3 computes is computed while the text is read:
//!   loops are unrolled, subroutines put in where they are called. What depends on a measurement
//!   are bits, truth values, integers and angles of a size, whose arithmetic is done in hidden
//!   bits, other numbers and arrays of at most 1024 values, which make a gate one for each value,
//!   and how often a `while` runs.
//! - Gates that the file defines are put in where they are called. The circuit remembers where, so
//!   that texts keep their names ([`Circuit::calls`](crate::circuit::Circuit::calls)); calls with
//!   modifiers are not remembered.
//! - Integers take each other's types as in C99 and wrap at their sizes. `int` and `uint` have 32
//!   bits; where a known one wraps, a warning says so. Literals, and what is computed from them
//!   alone, are as large as they are.
//! - The condition of an `if` is evaluated once, when it is reached. Where its body changes the
//!   bits that it reads, or a measurement is not stored but matters, the circuit gets a hidden
//!   register.
//! - Where bits are declared as `output`, all other registers are hidden.
//! - Noise is a pragma of Amazon Braket in OpenQASM 3, `#pragma braket noise depolarizing(p) q[0]`,
//!   wherever a statement may be but in gate definitions; so are matrices,
//!   `#pragma braket unitary([[0, 1], [1, 0]]) q[0]`. A reading that may be wrong is
//!   `#pragma ketgrad readout_error(p0, p1) c`, after its measurement, on each bit. With 12
//!   probabilities it is of two bits together: for each of the outcomes 00, 01, 10, 11, whose last
//!   digit is the first bit, those of the three others in this order; with 56 of three bits, and so
//!   on. Other pragmas are ignored with a warning.
//! - `qelib1.inc` (extended by what files take for granted) and `stdgates.inc` are built in. In
//!   OpenQASM 3 a gate that is defined nowhere is the one that Qiskit and Amazon Braket call so,
//!   with a warning that shows a definition.
//! - In OpenQASM 2 registers get values, too, as tket writes it: `c = 5;`, `c[1] = 1;`,
//!   `c = a ^ b;`. `gphase(x) q[0];` is PennyLane's global phase, and `mcx`, `mcz`, `mcp` and
//!   `mcphase` have as many controls as qubits before the last.
//! - Exponents of `pow` may have parameters, for the gates whose powers have a closed form:
//!   `pow(t) @ x`, `pow(t) @ cx`.
//! - Errors in an included file that is no OpenQASM are said of the `include`, without its text.
//! - Angles stay exact: `3*pi/8` and `theta/3` are fractions, never floats. A bare decimal is a
//!   number of radians.
//! - Constants are computed exactly: `0.1 + 0.2 == 0.3`. `float`, and `float[64]` and wider ones,
//!   hold what they get as it is, `pi/3` as a fraction; `float[32]` and `float[16]` round it to the
//!   nearest of their type.
//! - `angle[n]` is the nearest of `2^n` parts of a turn and computes in its bits; `angle` wraps at
//!   2 pi without rounding. One with an input in it is neither rounded nor wrapped, and neither are
//!   parameters of gates.
//! - OpenQASM 3's `U` has the phase of its specification.
//! - No text makes this module panic, and nothing is built before its size is known.

mod ast;
mod diagnostic;
mod lexer;
mod lower;
mod parser;
mod problem;
#[cfg(feature = "serde")]
pub mod serde;

pub use diagnostic::{Diagnostic, Label, QasmProblem, Severity, SourceText};

use std::fmt;

use crate::{circuit::Circuit, param::Angle};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// OpenQASM 2.0.
    V2,
    /// OpenQASM 3.0 or 3.1.
    V3,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V2 => "2",
            Version::V3 => "3",
        })
    }
}

/// Callback that reads an included file by its name in the source; an error is the reason, in
/// words.
pub type Include<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Options of the parser.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct QasmOptions<'a> {
    /// The name of the file in messages.
    pub file: &'a str,
    /// Limit on the operations of the circuit, counted before it is built; and on the statements
    /// that its loops and subroutines run.
    pub max_gates: u64,
    /// Reads included files other than the built-in ones. Without it they are refused.
    pub include: Option<&'a Include<'a>>,
    /// Names and values of inputs that must be known when the text is read: integers, bits, truth
    /// values, complex numbers, arrays of these. A value is a constant expression such as `4`,
    /// `2**3`, `true` or `{1, 2}`; that of `bit[4]` is its digits, `0101`. An element of an array
    /// has a name of its own, `n[0]`. Of two values of one name the last one counts. Names of other
    /// inputs, which are parameters of the circuit, mean nothing here: [`Parsed::read_for`] says
    /// which values were taken.
    pub inputs: &'a [(&'a str, &'a str)],
    /// Keeps what depends on measurements in variables of the circuit, not in bits.
    pub(crate) variables: bool,
}

impl Default for QasmOptions<'_> {
    fn default() -> Self {
        QasmOptions {
            file: "<input>",
            max_gates: 100_000_000,
            include: None,
            inputs: &[],
            variables: false,
        }
    }
}

impl<'a> QasmOptions<'a> {
    /// Sets [`variables`](QasmOptions::variables).
    #[doc(hidden)]
    #[must_use]
    pub fn with_variables(self, variables: bool) -> QasmOptions<'a> {
        QasmOptions { variables, ..self }
    }

    /// Sets [`file`](QasmOptions::file).
    #[must_use]
    pub fn with_file(self, file: &'a str) -> QasmOptions<'a> {
        QasmOptions { file, ..self }
    }

    /// Sets [`max_gates`](QasmOptions::max_gates).
    #[must_use]
    pub fn with_max_gates(self, max_gates: u64) -> QasmOptions<'a> {
        QasmOptions { max_gates, ..self }
    }

    /// Sets [`include`](QasmOptions::include).
    #[must_use]
    pub fn with_include(self, include: Option<&'a Include<'a>>) -> QasmOptions<'a> {
        QasmOptions { include, ..self }
    }

    /// Sets [`inputs`](QasmOptions::inputs).
    #[must_use]
    pub fn with_inputs(self, inputs: &'a [(&'a str, &'a str)]) -> QasmOptions<'a> {
        QasmOptions { inputs, ..self }
    }
}

impl fmt::Debug for QasmOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("file", &self.file)
            .field("max_gates", &self.max_gates)
            .field("include", &self.include.is_some())
            .field("inputs", &self.inputs)
            .finish()
    }
}

/// Result of parsing a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The circuit. Its qubits are those of the registers in order of declaration.
    pub circuit: Circuit,
    /// The language of the file.
    pub version: Version,
    /// The names in [`QasmOptions::inputs`] that the file was read for, in order of declaration.
    pub read_for: Vec<String>,
    /// The names of what is declared as an `output`, in order of declaration.
    pub outputs: Vec<String>,
    /// Warnings: parts of the text that may not mean what was intended.
    pub warnings: Vec<Diagnostic>,
    /// The file and what it includes, for the labels.
    pub sources: Vec<SourceText>,
    places: lower::InstructionSpans,
}

impl Parsed {
    /// The statement that an instruction with parameters is from: that of the call, where it is a
    /// step of a definition. `None` if no such instruction has this number.
    ///
    /// ```
    /// use ketgrad_core::qasm::{QasmOptions, parse};
    ///
    /// let source = "OPENQASM 3.0;\ninput float a;\nqubit q;\nU(0, 0, sqrt(a)) q;\n";
    /// let parsed = parse(source, &QasmOptions::default())?;
    /// let (number, error) = parsed.circuit.fault(&[-1.0]).unwrap();
    /// assert_eq!(error.to_string(), "the angle sqrt(a) is not a finite number");
    /// assert_eq!(&source[parsed.label_of(number).unwrap().span], "U(0, 0, sqrt(a)) q;");
    /// # Ok::<(), ketgrad_core::qasm::Failed>(())
    /// ```
    #[must_use]
    pub fn label_of(&self, instruction: usize) -> Option<Label> {
        let has_parameters = |a: &Angle| !a.is_constant();
        self.circuit
            .instructions()
            .get(instruction)?
            .operation
            .params()
            .iter()
            .find(|a| has_parameters(a))?;
        let after = self.places.partition_point(|(first, _)| *first <= instruction);
        let (_, place) = self.places.get(after.checked_sub(1)?)?;
        Some(Label { source: place.source as usize, span: place.span.range(), text: String::new() })
    }
}

/// A text that was refused: everything wrong with it.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Errors and warnings, in the order in which they were found; at least one error.
    pub diagnostics: Vec<Diagnostic>,
    /// The file (first) and what it includes, for the labels.
    pub sources: Vec<SourceText>,
}

/// One line per error: `file:line:column: message`.
impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        for (i, error) in errors.enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if let Some(label) = error.labels.first()
                && let Some(source) = self.sources.get(label.source)
            {
                let (line, column) = source.line_column(label.span.start);
                write!(f, "{}:{line}:{column}: ", source.name)?;
            }
            f.write_str(&error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failed {}

/// Reads a text and builds its circuit.
///
/// # Errors
/// [`Failed`] with everything that is wrong.
pub fn parse(source: &str, options: &QasmOptions) -> Result<Parsed, Failed> {
    lower::parse(source, options)
}

/// Reads a constant such as `pi/4`, `-2*pi/3`, `0.3` or `sin(0.2)`; multiples of pi stay exact.
///
/// # Errors
/// A diagnostic with labels into `text` as source 0, if the text is not an angle.
pub fn parse_angle(text: &str) -> Result<Angle, Box<Diagnostic>> {
    lower::parse_angle(text)
}
