//! Errors of circuits.

use crate::{
    channel::ChannelError,
    classical::{ClassicalError, ClassicalType},
    gate::ParamCountError,
    matrix::MatrixError,
    notation::hint,
    observable::ObservableError,
    param::{BindError, ParamId},
};

/// Error of a circuit: the reason why an instruction, or an operation on circuits, was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A qubit that the circuit does not have.
    #[error("qubit {given} does not exist: the circuit has {n_qubits}, counted from 0")]
    NoSuchQubit {
        /// The qubit given.
        given: usize,
        /// Number of qubits of the circuit.
        n_qubits: usize,
    },
    /// A classical bit that the circuit does not have.
    #[error("classical bit {given} does not exist: the circuit has {n_bits}, counted from 0")]
    NoSuchBit {
        /// The bit given.
        given: usize,
        /// Number of classical bits of the circuit.
        n_bits: usize,
    },
    /// A bit that a classical register does not have.
    #[error("bit {given} does not exist: the register has {size}, counted from 0")]
    NoSuchRegisterBit {
        /// The bit given, counted within the register.
        given: usize,
        /// Size of the register.
        size: usize,
    },
    /// A classical variable that the circuit does not have.
    #[error("variable {given} does not exist: the circuit has {n_variables}, counted from 0")]
    NoSuchVariable {
        /// The variable given.
        given: usize,
        /// Number of variables of the circuit.
        n_variables: usize,
    },
    /// A variable that makes all of them too large together.
    #[error("`{name}` is too large: all variables together have at most 2^24 words of 64 bits")]
    VariableSize {
        /// The variable.
        name: String,
    },
    /// Another number of indices than a variable has axes, or indices that are no integers.
    #[error("`{name}` takes {}, each an integer, not {given}", crate::gate::count(*expected, "index").replace("indexs", "indices"))]
    Indices {
        /// The variable.
        name: String,
        /// The number given.
        given: usize,
        /// The number of its axes.
        expected: usize,
    },
    /// A value of another type than the place that it is assigned to.
    #[error("{given} is assigned to {expected}: convert it first")]
    AssignedType {
        /// The type of the value.
        given: String,
        /// The type of the place.
        expected: ClassicalType,
    },
    /// A loop over a range whose variable is no integer.
    #[error("`{name}` is {given}: the variable of a loop over a range is an integer")]
    LoopVariable {
        /// The variable.
        name: String,
        /// Its type.
        given: ClassicalType,
    },
    /// An angle that is NaN or infinite when its gate runs.
    #[error("the angle {angle} of {gate} is {value} when the gate runs")]
    RuntimeAngle {
        /// The gate.
        gate: String,
        /// The angle.
        angle: String,
        /// Its value.
        value: f64,
    },
    /// A derivative through an angle that is computed when its gate runs.
    #[error(
        "the angle of a gate is computed from {text} when the gate runs, and classical values carry no derivatives: \
         give {text} a plain number, or use differences (`Method::Difference`)"
    )]
    RuntimeDerivative {
        /// The angle over parameters that is read.
        text: String,
    },
    /// A classical expression that reads a parameter without a number.
    #[error("a classical expression reads {text}, which is not a number here: give it a value")]
    NotANumber {
        /// The angle.
        text: String,
    },
    /// A choice by what is no integer.
    #[error("a `switch` is by an integer, and {given} is none: convert it first")]
    SwitchType {
        /// The type of the expression.
        given: ClassicalType,
    },
    /// A block where it has no meaning: an `else` that does not follow an `if`, a `case` outside of
    /// a `switch`, something else than a `case` in one, a condition on such a block.
    #[error("`{block}` in instruction {instruction} has no meaning there: {expected}")]
    MisplacedBlock {
        /// The operation.
        block: String,
        /// The number of the instruction.
        instruction: usize,
        /// What is expected.
        expected: &'static str,
    },
    /// A `break` or `continue` of more loops and blocks than are open, or a `continue` of no loop.
    #[error(
        "{levels} loops and blocks cannot be left here: {open} are open, and only a loop is continued"
    )]
    BlockExit {
        /// The number given.
        levels: u32,
        /// The number of open ones.
        open: usize,
    },
    /// An expression without a meaning.
    #[error(transparent)]
    Classical(#[from] ClassicalError),
    /// A delay that is negative, or whose length is not finite.
    #[error("a delay of {length}: its length is a number from 0 on")]
    DelayLength {
        /// The length.
        length: String,
    },
    /// A delay whose length a noise model needs and does not know.
    #[error("relaxation needs the length of a delay of {}: {why}", crate::gate::count(*qubits, "qubit"))]
    OpenDelay {
        /// The number of its qubits.
        qubits: usize,
        /// Reason why the length is not known.
        why: String,
    },
    /// A classical bit that one readout error names twice.
    #[error("classical bit {bit} is read twice by one reading")]
    RepeatedBit {
        /// The bit.
        bit: u32,
    },
    /// A readout error of too many bits together, or of none.
    #[error("a reading that may be wrong is of 1 to {limit} bits together, not {given}")]
    ReadoutBits {
        /// The number of bits given.
        given: usize,
        /// Limit.
        limit: usize,
    },
    /// The wrong number of probabilities for the bits of a readout error.
    #[error("a reading of {} has {expected} probabilities, for each outcome those of all others; not {given}", crate::gate::count(*n_bits, "bit"))]
    ReadoutProbabilities {
        /// The number given.
        given: usize,
        /// The number that it needs.
        expected: usize,
        /// The number of bits.
        n_bits: usize,
    },
    /// Rows that do not form a readout matrix of that many bits.
    #[error("the readout matrix of {} is {dim} x {dim}, not {rows} x {columns}", crate::gate::count(*n_bits, "bit"), dim = 1u64 << n_bits)]
    ReadoutSize {
        /// The rows given.
        rows: usize,
        /// The entries of a row that does not fit.
        columns: usize,
        /// The number of bits.
        n_bits: usize,
    },
    /// A row of a readout matrix that holds no probabilities.
    #[error(
        "row {row} of the readout matrix, counted from 0, does not hold probabilities whose sum is 1"
    )]
    ReadoutRow {
        /// The row.
        row: usize,
    },
    /// Qubits that are read together but not measured together.
    #[error("qubits {} are read together, but {why}", qubits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    ReadingApart {
        /// The qubits.
        qubits: Vec<usize>,
        /// Reason why they cannot be read together.
        why: String,
    },
    /// A name that is not that of an instruction.
    #[error("no instruction is called `{name}`{}", hint(*nearest))]
    NoSuchInstruction {
        /// The name given.
        name: String,
        /// The most similar one, if one is similar.
        nearest: Option<&'static str>,
    },
    /// Lists of different lengths as operands of one instruction.
    #[error("lists of {} numbers do not pair up", given.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))]
    Lengths {
        /// Their lengths.
        given: Vec<usize>,
    },
    /// A constant that classical bits, an unsigned number, cannot be compared with.
    #[error(
        "classical bits are an unsigned number of up to 128 bits: they cannot be compared with {given}"
    )]
    NotUnsigned {
        /// The constant.
        given: String,
    },
    /// A qubit that one instruction names twice.
    #[error("qubit {qubit} is used twice by one instruction")]
    RepeatedQubit {
        /// The qubit.
        qubit: u32,
    },
    /// The wrong number of target qubits.
    #[error("{gate} acts on {}, not {given}", crate::gate::count(*expected, "qubit"))]
    Targets {
        /// The gate.
        gate: String,
        /// The number of targets given.
        given: usize,
        /// The number that it needs.
        expected: usize,
    },
    /// The wrong number of parameters of a gate with a definition.
    #[error("{gate} takes {}, not {given}", crate::gate::count(*expected, "parameter"))]
    Arguments {
        /// The gate.
        gate: String,
        /// The number given.
        given: usize,
        /// The number that it needs.
        expected: usize,
    },
    /// A circuit that cannot be the definition of a gate.
    #[error(
        "the definition of {name} is no circuit of gates of the table whose angles are made of inputs alone"
    )]
    NoBody {
        /// The name of the gate.
        name: String,
    },
    /// The wrong number of parameters.
    #[error(transparent)]
    Params(#[from] ParamCountError),
    /// Numbers that are no channel.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A parameter that belongs to another circuit, which has more of them.
    #[error("parameter {} is not declared in this circuit", id.number())]
    ForeignParam {
        /// The parameter.
        id: ParamId,
    },
    /// A parameter that belongs to another circuit, or a sum of those of two.
    #[error(
        "parameter {} of another circuit: here this is `{name}`; the parameters of a circuit come from its own `param`",
        id.number()
    )]
    OtherParam {
        /// The parameter.
        id: ParamId,
        /// The name of this circuit's parameter of that number.
        name: String,
    },
    /// Two classical registers of one name.
    #[error("there is a classical register `{name}` already")]
    DuplicateRegister {
        /// The name.
        name: String,
    },
    /// More classical bits than 32 bits can number.
    #[error("{given} more classical bits: a circuit numbers them with 32 bits")]
    TooManyBits {
        /// The bits to be added.
        given: usize,
    },
    /// A matrix that is not a gate.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A circuit that is more than gates where a unitary one is needed.
    #[error("{what} needs a circuit without measurements, resets, noise and conditions")]
    NotUnitary {
        /// Operation that was asked for.
        what: &'static str,
    },
    /// The wrong number of values for the inputs.
    #[error("{} given, the circuit has {} ({})", crate::gate::count(*given, "parameter value"), names.len(), names.join(", "))]
    Inputs {
        /// The number given.
        given: usize,
        /// The names of the inputs.
        names: Vec<String>,
    },
    /// Parameters without a value.
    #[error("no value for {}", names.join(", "))]
    Unbound {
        /// The parameters.
        names: Vec<String>,
    },
    /// A probability of a channel that is none.
    #[error("the probability {text} is {value}, which is not between 0 and 1")]
    NoProbability {
        /// The probability, with the names of parameters.
        text: String,
        /// Its value.
        value: f64,
    },
    /// Noise that does not fit the instruction that it follows.
    #[error("{channel} acts on {}: it cannot follow {after} on {given}", crate::gate::count(*expected, "qubit"))]
    NoiseQubits {
        /// The channel.
        channel: String,
        /// Its qubits.
        expected: usize,
        /// The instruction.
        after: String,
        /// Its qubits.
        given: usize,
    },
    /// Noise after an instruction that changes its own condition.
    #[error(
        "noise cannot follow {after} into a bit of its own condition, which is another one then"
    )]
    NoiseCondition {
        /// The instruction.
        after: String,
    },
    /// An input that does not exist.
    #[error("the circuit has no parameter `{name}`")]
    NoSuchParam {
        /// The name given.
        name: String,
    },
    /// More instructions than memory holds.
    #[error("no memory for a circuit of {} instructions", instructions.map_or("more than 2^64".to_owned(), |n| n.to_string()))]
    TooLong {
        /// The instructions asked for; `None` are more than can be counted.
        instructions: Option<usize>,
    },
    /// Parameters of an evolution in time for which there is no product formula.
    #[error(
        "a product formula has order 1 or an even order, and at least one step, not order {order} and {steps} steps"
    )]
    ProductFormula {
        /// The order asked for.
        order: usize,
        /// The steps asked for.
        steps: usize,
    },
    /// A list of qubits of the wrong length.
    #[error("the circuit to append has {expected} qubits, but {given} are given for them")]
    QubitMap {
        /// Number of values that are given.
        given: usize,
        /// Number of values that are expected.
        expected: usize,
    },
    /// Names for another number of qubits.
    #[error("the names are those of {}, but the circuit has {expected}", crate::gate::count(*given, "qubit"))]
    QubitNames {
        /// Number of qubits that have names.
        given: usize,
        /// Number of qubits of the circuit.
        expected: usize,
    },
    /// No Pauli string.
    #[error(transparent)]
    String(#[from] ObservableError),
    /// An angle that is NaN or infinite.
    #[error("the angle {angle} is not a finite number")]
    NotFinite {
        /// The angle.
        angle: String,
    },
    /// An angle that has no number in the ring.
    #[error(transparent)]
    Bind(BindError),
}
