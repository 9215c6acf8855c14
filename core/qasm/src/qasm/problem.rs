//! Everything that can be wrong with an OpenQASM text, one variant each.

use super::Version;
use crate::{channel::ChannelError, matrix::MatrixError};

/// Cause of a diagnostic. The message of a variant names what was given and what was expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum QasmProblem {
    // Text and syntax.
    #[error("the file is empty")]
    Empty,
    #[error("the file has {bytes} bytes; at most {limit} can be read")]
    SourceTooLong { bytes: usize, limit: usize },
    #[error("unexpected character {given:?}")]
    Character { given: char },
    #[error("the string has no closing quote")]
    UnterminatedString,
    #[error("the comment has no closing `*/`")]
    UnterminatedComment,
    #[error("`{given}` is not a number")]
    BadNumber { given: String },
    #[error("expected {expected}, found {given}")]
    Expected { expected: String, given: String },
    #[error("missing `;`")]
    MissingSemicolon,
    #[error("`{open}` is never closed")]
    Unclosed { open: char },
    #[error("`{word}` is a keyword and cannot be a name")]
    Keyword { word: String },
    #[error("nested more than {limit} levels deep")]
    TooDeep { limit: usize },
    #[error("more than {limit} errors; the rest are not shown")]
    TooManyErrors { limit: usize },

    // Header and files.
    #[error("no `OPENQASM` line; read as OpenQASM {version}")]
    NoHeader { version: Version },
    #[error("OpenQASM {given} is not known here; 2.0, 3.0 and 3.1 are")]
    UnknownVersion { given: String },
    #[error("the `OPENQASM` line must come first, and only once")]
    MisplacedHeader,
    #[error("`{name}` belongs to OpenQASM {belongs}, but this file is OpenQASM {version}")]
    ForeignInclude { name: String, belongs: Version, version: Version },
    #[error("cannot include `{name}`: {reason}")]
    Include { name: String, reason: String },
    #[error("`{name}` includes itself")]
    IncludeCycle { name: String },
    #[error("more than {limit} files are included")]
    TooManyIncludes { limit: usize },
    #[error("{what} is ignored")]
    Ignored { what: &'static str },
    #[error("{what} is not in this version")]
    NotInThisVersion { what: String },

    // Names.
    #[error("gate `{name}` is not defined")]
    UnknownGate { name: String },
    #[error("gate `{name}` is not defined here; {from} is taken")]
    LentGate { name: String, from: &'static str },
    #[error("`{name}` is not declared")]
    UnknownName { name: String },
    #[error("channel `{name}` is not known")]
    UnknownChannel { name: String },
    #[error("pragma `{name}` is not known")]
    UnknownPragma { name: String },
    #[error("gate `{name}` is used before it is defined")]
    UsedBeforeDefinition { name: String },
    #[error("subroutine `{name}` is used before it is defined")]
    SubroutineBeforeDefinition { name: String },
    #[error("gate `{name}` is defined by itself ({})", path.join(" -> "))]
    RecursiveGate { name: String, path: Vec<String> },
    #[error("`{name}` is declared twice")]
    DeclaredTwice { name: String },
    #[error("gate `{name}` is opaque: there is no definition to run")]
    OpaqueGate { name: String },
    #[error("`{name}` is {is}, not {expected}")]
    WrongKind { name: String, is: &'static str, expected: &'static str },
    #[error("this is not allowed in a gate definition")]
    NotInGate,
    #[error("`reset` in a gate definition is not OpenQASM; each call of the gate resets the qubit")]
    ResetInGate,
    #[error("`{given}` is no angle; `{gate}` does not use it, so it is ignored")]
    UnusedArgument { given: String, gate: String },
    #[error("input `{name}` is not visible within a gate definition")]
    InputInGate { name: String },

    #[error("no value for the input `{ty} {name}`, which must be known when the file is read")]
    MissingInput { name: String, ty: String },
    #[error("the input `{name}` is {expected}, not {given}")]
    BadInput { name: String, given: String, expected: String },

    #[error("{what} is not allowed within a block")]
    WithinBlock { what: &'static str },
    #[error("`{word}` must be within {place}")]
    Misplaced { word: &'static str, place: &'static str },
    #[error("`{name}` is a subroutine: it is called with all its arguments in parentheses")]
    SubroutineAsGate { name: String },
    #[error("calls of subroutines are nested more than {limit} deep")]
    DeepCall { limit: usize },
    #[error("`{name}` is an external function: there is nothing to run")]
    External { name: String },
    #[error("`{word}` sends pulses, which are not simulated")]
    Pulse { word: String },
    #[error("the call of `{name}`, an external function that gives nothing, is ignored")]
    IgnoredCall { name: String },
    #[error("`{name}` gives no value")]
    NoResult { name: String },

    // Values while the text is read.
    #[error("`{name}` has no value yet")]
    Unassigned { name: String },
    #[error("`{name}` has no value yet: 0 is taken")]
    TakenAsZero { name: String },
    #[error("`{name}` depends on a measurement")]
    Depends { name: String },
    #[error("{given} bits that are measured decide this number; at most {limit} may")]
    ManyValues { given: usize, limit: usize },
    #[error("where `{name}` is {value}, this is left out: {why}")]
    LeftOut { name: String, value: i128, why: String },
    #[error("this loop never ends")]
    Endless,
    #[error("more than {limit} statements run in loops and subroutines")]
    TooManySteps { limit: u64 },

    // Registers and operands.
    #[error("a register needs a size from 0 to {limit}, not {given}")]
    RegisterSize { given: String, limit: u64 },
    #[error("{given} qubits or bits in all; at most {limit} can be numbered")]
    TooManyQubits { given: u64, limit: u64 },
    #[error("index {given} is out of range: `{name}` has {}", crate::gate::count(usize::try_from(*size).unwrap_or(usize::MAX), "element"))]
    IndexOutOfRange { name: String, given: i128, size: u64 },
    #[error("the selection is empty")]
    EmptySelection,
    #[error("`{element}` is selected twice")]
    SelectedTwice { element: String },
    #[error("an earlier case of this `switch` is {value}, too")]
    RepeatedCase { value: i128 },
    #[error("`{name}` is a single {what} and has no index")]
    NotIndexable { name: String, what: &'static str },
    #[error("qubit {qubit} is used twice by `{gate}`")]
    RepeatedQubit { qubit: String, gate: String },
    #[error("`{gate}` takes {}, not {given}", crate::gate::count(*expected, "parameter"))]
    ParameterCount { gate: String, given: usize, expected: usize },
    #[error("`{gate}` acts on {}, not {given}", crate::gate::count(usize::try_from(*expected).unwrap_or(usize::MAX), "qubit"))]
    QubitCount { gate: String, given: usize, expected: u64 },
    #[error("registers of {first} and {second} elements do not go together")]
    LengthMismatch { first: u64, second: u64 },
    #[error(
        "hardware qubits such as `${qubit}` and declared qubits do not go together in one file"
    )]
    MixedQubits { qubit: u32 },
    #[error(
        "the lists of elements in aliases and selections have more than {limit} elements in all"
    )]
    TooManyElements { limit: u64 },
    #[error("an array of {given} elements: at most {limit} are kept")]
    ArraySize { given: String, limit: u64 },
    #[error("a measurement decides the divisor, which may be 0")]
    MeasuredDivisor,
    #[error("the conditions, written out, read more than {limit} bits")]
    LongCondition { limit: u64 },
    #[error("{} cannot hold this number: the comparison is always {holds}", crate::gate::count(*bits, "bit"))]
    Decided { bits: usize, holds: bool },
    #[error("`{name}` is no CNOT: in OpenQASM 3 `U(pi, 0, pi)` is i X, whose phase a control sees")]
    PhasedCnot { name: String },
    #[error("the result of the measurement is not stored")]
    UnusedMeasurement,
    #[error("{count}{} operations after expansion; at most {limit} are allowed", if *count == u64::MAX { " or more" } else { "" })]
    TooManyGates { count: u64, limit: u64 },
    #[error("{given} parameters; at most {limit} are allowed")]
    TooManyParameters { given: u64, limit: u64 },

    #[error("the expressions of the parameters, written out, have more than {limit} characters")]
    LongExpression { limit: usize },

    // Values.
    #[error(
        "one of these durations is known only to the hardware, or one is in seconds and one in `dt`"
    )]
    Durations,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the value is not a finite number")]
    NotFinite,
    #[error("{what} does not fit")]
    IntegerOverflow { what: String },
    #[error("{given} does not fit in {}: it becomes {result}", crate::gate::count(*bits as usize, "bit"))]
    Wrapped { given: String, bits: u32, result: i128 },
    #[error("the width of a type is 1 to {limit} bits, not {given}")]
    TypeWidth { given: i128, limit: u32 },
    #[error("`{operator}` does not work on {given}")]
    Operands { operator: String, given: String },
    #[error("{given} where {expected} is needed")]
    WrongType { given: String, expected: String },
    #[error("{what} must be a constant")]
    NotConstant { what: String },
    #[error("function `{name}` is not known")]
    UnknownFunction { name: String },
    #[error("`{name}` takes {}, not {given}", crate::gate::count(*expected, "argument"))]
    ArgumentCount { name: String, given: usize, expected: usize },
    #[error("the division of integers drops the fraction: {left} / {right} = {result}")]
    Truncated { left: i128, right: i128, result: i128 },
    #[error(
        "{probabilities} probabilities are those of {n_bits} bits that are read together: expected as many, each once"
    )]
    ReadoutBits { probabilities: usize, n_bits: usize },
    #[error("a delay of {given}: its length is a number from 0 on")]
    NegativeDelay { given: f64 },
    #[error("{what} is {given}, which is not between 0 and 1")]
    Probability { what: String, given: f64 },
    #[error("{error}")]
    Matrix { error: MatrixError },
    #[error("{error}")]
    Channel { error: ChannelError },
    #[error("`{gate}` has no power {exponent}: {reason}")]
    Power { gate: String, exponent: f64, reason: &'static str },
    #[error("`{gate}` has no power whose exponent is a parameter")]
    OpenPower { gate: String },
    #[error("{reason}")]
    Circuit { reason: String },
}
