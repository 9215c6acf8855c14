//! The command line as it is written: one struct per verb, nothing interpreted yet.
//!
//! Everything that is left out here (defaults, the config file, what depends on two options) is
//! settled in [`crate::options`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::memory::parse_size;

/// The most threads that can be asked for.
pub const MAX_THREADS: usize = 1024;

/// The whole command line.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "ketgrad",
    version,
    about = "Quantum circuits and their derivatives",
    after_help = "Examples:\n  ketgrad run bell.qasm --shots 1000\n  ketgrad info --json",
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct LowArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
    /// Options of every verb.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options that every verb has, before or after it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub struct CommonArgs {
    /// Options from a TOML file; the command line wins over them
    #[arg(long, global = true, value_name = "FILE.toml", allow_hyphen_values = true)]
    pub config: Option<PathBuf>,
    /// Threads to compute with; results do not depend on it [default: all that the system offers]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// The numbers to compute with [default: f64]
    #[arg(
        long,
        global = true,
        value_name = "f64|f32",
        allow_hyphen_values = true,
        hide_possible_values = true
    )]
    pub precision: Option<Precision>,
    /// Backend of circuits: the best, the best on the processor, or the one of that name, such as
    /// cuda:0 [default: auto]
    #[arg(long, global = true, value_name = "auto|cpu|NAME", allow_hyphen_values = true)]
    pub backend: Option<String>,
    /// The seed of all randomness: the same seed gives the same result [default: 0]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// No progress, warnings or notes on stderr; errors remain
    #[arg(long, global = true)]
    pub quiet: bool,
    /// The most memory to use, such as 8GiB, 500MB or bytes [default: what is free]
    #[arg(long, global = true, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_size)]
    pub memory_limit: Option<u64>,
    /// The most steps of a program, such as 1e9 [default: 1e9], or iterations of a circuit's loops
    /// [default: 1e6, fewer on more than 10 qubits]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub max_steps: Option<u64>,
    /// The most gates of a circuit, counted after expansion and before it is built [default: 1e8]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub max_gates: Option<u64>,
    /// One JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Results that are infinite or NaN become null (with a note) instead of an error
    #[arg(long, global = true)]
    pub allow_nonfinite: bool,
}

/// The numbers to compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Double precision.
    F64,
    /// Single precision.
    F32,
}

impl Precision {
    /// The name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }
}

/// Verbs of the program.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Simulates a circuit in OpenQASM 2 or 3
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Prints a circuit as OpenQASM 2 or 3
    #[command(
        after_help = "Examples:\n  ketgrad convert old.qasm --to qasm3\n  ketgrad convert new.qasm --to qasm2 > old.qasm"
    )]
    Convert(ConvertArgs),
    /// Prints the amplitudes as formulas in the parameters
    #[command(after_help = AMPLITUDES_HELP)]
    Amplitudes(AmplitudesArgs),
    /// Decides whether two circuits are equal for all values of their parameters
    #[command(after_help = EQUIVALENT_HELP)]
    Equivalent(EquivalentArgs),
    /// Differentiates an expectation value by the parameters
    #[command(after_help = GRAD_HELP)]
    Grad(GradArgs),
    /// Differentiates a program
    #[command(
        after_help = "Examples:\n  ketgrad diff model.kg --at a=1,b=2 --by a\n  ketgrad diff -e 'fn f(x) { sin(x) * x }' --at x=pi/4 --order 2"
    )]
    Diff(DiffArgs),
    /// Compares all derivative engines on a program or an expectation value
    #[command(
        after_help = "Examples:\n  ketgrad check -e 'fn f(x) { sin(x) * x }' --at x=pi/4\n  ketgrad check ansatz.qasm --observable 'Z0 Z1' --set theta=0.3"
    )]
    Check(CheckArgs),
    /// Draws a circuit
    #[command(
        after_help = "Examples:\n  ketgrad draw bell.qasm\n  ketgrad draw bell.qasm --format svg -o bell.svg"
    )]
    Draw(DrawArgs),
    /// Runs a variational job: parameters of a circuit that make an energy small
    #[command(after_help = OPTIMIZE_HELP)]
    Optimize(OptimizeArgs),
    /// Lists, checks and hashes the plugins of a config file
    #[command(
        after_help = "Examples:\n  ketgrad plugins list --config mine.toml\n  ketgrad plugins hash libmine.so"
    )]
    Plugins(PluginsArgs),
    /// Shows the version, the machine and the backends
    #[command(after_help = "Examples:\n  ketgrad info\n  ketgrad info --json")]
    Info,
}

/// The verb `plugins`.
#[derive(Clone, Debug, Args)]
pub struct PluginsArgs {
    /// The verb of `plugins`.
    #[command(subcommand)]
    pub what: PluginsVerb,
}

/// Verbs of `plugins`.
#[derive(Clone, Debug, Subcommand)]
pub enum PluginsVerb {
    /// Shows what is loaded, and why the rest is not
    #[command(
        after_help = "Examples:\n  ketgrad plugins list --config mine.toml\n  ketgrad plugins list --config mine.toml --json"
    )]
    List,
    /// Compares kernel, program and differences of every rule, and every device with the built-in
    /// kernels
    #[command(
        after_help = "Examples:\n  ketgrad plugins verify --config mine.toml --sandboxed\n  ketgrad plugins verify --config mine.toml --at x=0,y=1.5 --at 'mine: xs=[1,2,3]'"
    )]
    Verify {
        /// A point at which rules are compared, too: values as in `diff`, of all parameters of a
        /// rule; `RULE: x=1` is for that rule, `x=1` for every rule with such parameters. Each
        /// `--at` is a point of its own
        #[arg(long, value_name = "[RULE:]NAME=VALUE,…", allow_hyphen_values = true)]
        at: Vec<String>,
        /// Each plugin in a process of its own, with limits: that many seconds (300 if none are
        /// given), the memory of `--memory-limit` or else 4 GiB. One that crashes, loops or takes
        /// more is a finding. Files and network are not restricted
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "300")]
        sandboxed: Option<u32>,
        /// Task of a process in the sandbox
        #[arg(long, hide = true)]
        task: Option<String>,
    },
    /// Prints the sha256 that pins a plugin
    #[command(
        after_help = "Examples:\n  ketgrad plugins hash libmine.so\n  ketgrad plugins hash --config mine.toml"
    )]
    Hash {
        /// The files; without any those of the config
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

const RUN_HELP: &str = "\
Without --shots, --observable, --amplitudes, --probabilities and --output, 1024 shots are taken.
The shots of a circuit without measurements measure all qubits. Qubit 0 is the rightmost bit.
Where a circuit measures, resets or branches before its end, an expectation value is the mean over
the shots (1024 unless --shots says otherwise) with its standard error, and the state that of the
first shot. With noise it is exact where density matrices run it (--method).

--qubits 0,3 has counts and probabilities of these qubits at the end, whatever the circuit measures: bit j
of an outcome, counted from the right, is that of qubit j of the list. JSON: {n_qubits, precision,
backend, qubits, counts {bits: n}, expectations [{observable, value, stderr}], stderr_covariance,
variances [{observable, value}], covariances [[x]], amplitudes [[re, im]], probabilities [p], seconds},
of which there is what was asked for.

An observable is a sum of terms such as '0.5*Z0 Z1 - 1e-3 X2 + 2'; @FILE has one term a line,
or is an FCIDUMP with the integrals of a molecule (Jordan-Wigner, qubits 2k and 2k + 1 for orbital k).
Both may be what OpenFermion, Qiskit, PennyLane, Cirq or CUDA-Q print: '(0.5+0j) [Z0 Z1]',
'0.5 * (Z(0) @ Z(1))', \"SparsePauliOp(['ZZ'], coeffs=[0.5])\", \"[('ZZ', 0.5)]\", '0.5 [0^ 1] + 0.5 [1^ 0]'
(fermions, by Jordan-Wigner). In words such as XIZ, a letter for each qubit, qubit 0 is the last one.
Coefficients may have parameters: '0.5*J*Z0 Z1 - (h + J/2)*X0 + J**2' with --set J=2 --set h=0.1. They
are polynomials in inputs of the circuit and in other names with a value; names that are operators, such
as X0, ZZ, x and I, are never parameters. In NumPy files the others follow the inputs of the
circuit, in order of first occurrence.
Parameters are the circuit's `input` declarations. A value may be an expression: pi/4 is exact.
Inputs that are integers, bits or truth values decide what the circuit is, so each needs its value:
--set n=4, --set mask=0101, --set flip=true.
--params takes a JSON file ({\"theta\": 0.3, \"w\": [0.1, \"pi/2\"]}) or a NumPy file in order of
declaration; with a 2-D NumPy file every row is a run of its own, all with the same seed, and each
result becomes a list over the rows. --set wins over --params. A NumPy file has the parameters that
nothing else gives, or all: --params a.npy --set b=0.3 is a sweep of a. Several files are joined.

--set a=0.3+-0.01 (or ±, or as a text in JSON) gives a parameter a standard deviation, and expectation
values come with theirs, by their slopes. Parameters are independent; of several observables
stderr_covariance has the covariances of the errors. `0.3 + -0.01` is a sum.

--noise takes a TOML file. In it [[noise]] with width = 1, channel = \"depolarizing\" and
parameters = [0.001] adds that channel after every gate on one qubit (after = [\"cx\"]: after those
gates; qubits = [0, 1]: only on these of their qubits; gate_qubits = [[0, 1]]: only from 0 to 1), and
[[reading]] with p0 and p1 gives the probabilities that a 0 or a 1 is read wrongly, in counts and in the
means of `grad --shots`. A name in place of a number is a parameter, a list has a value for each of
`qubits`: relaxation = { time = 300, t1 = [50e3, inf], t2 = [70e3, 40e3] }. With after = [\"delay\"],
relaxation = { time = \"delay\", t1 = 50, t2 = 70, unit = \"us\" } lasts as long as each delay; dt = 0.2e-3
is the length of a dt in that unit. matrix = [[0.9, 0.1, 0, 0], ...] of a [[reading]] with qubits = [0, 1]
is of two qubits that are read together: a row for each true outcome 00, 01, 10, 11, whose last digit is
the first qubit, and a column for each that is read. kraus = [[[1, 0], [0, 0.6]],
[[0, [0, 0.8]], [0, 0]]] gives a channel by its operators, an entry as a number or [re, im]. A rule that
acts nowhere is a warning. The JSON of a noise model of Qiskit Aer, to_dict(serializable=True), is read
as well. Noise may also be in the circuit itself, after what it follows:
  #pragma braket noise bit_flip(0.1) q[0]
  #pragma ketgrad readout_error(0.01, 0.02) c[0]

Examples:
  ketgrad run bell.qasm --shots 1000 --seed 7
  ketgrad run ansatz.qasm --set theta=pi/4 --set 'w[0]=0.1' --observable 'Z0 Z1 - X0' --json";

/// The verb `run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub file: PathBuf,
    /// Number of times to measure; the outcomes are counted
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_shots)]
    pub shots: Option<u64>,
    /// The expectation value of an observable, or of those in @FILE; may be repeated
    #[arg(long, value_name = "OBS", allow_hyphen_values = true)]
    pub observable: Vec<String>,
    /// The amplitudes before the measurements, in basis order
    #[arg(long)]
    pub amplitudes: bool,
    /// The probability of each basis state before the measurements
    #[arg(long)]
    pub probabilities: bool,
    /// Counts and probabilities of these qubits alone at the end, such as 0,3: the first is the
    /// rightmost bit. Without --shots their probabilities, over all outcomes of measurements in the
    /// middle
    #[arg(long, value_name = "K,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub qubits: Vec<usize>,
    /// The variance of each observable, the mean of its square less the square of its mean, exactly
    #[arg(long)]
    pub variance: bool,
    /// The covariance of each pair of observables, the mean of (AB + BA)/2 less the product of
    /// their means, exactly
    #[arg(long)]
    pub covariance: bool,
    /// Start from this state instead of all zeros
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub input: Option<PathBuf>,
    /// Write the state before the measurements: complex128, or complex64 with f32
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub output: Option<PathBuf>,
    /// Method for a circuit with noise or with measurements in the middle: density matrices (exact,
    /// 4^n entries), trajectories (shot by shot), or auto: with noise density matrices up to 10
    /// qubits, else trajectories
    #[arg(
        long,
        value_name = "auto|density|trajectories",
        allow_hyphen_values = true,
        default_value = "auto"
    )]
    pub method: String,
    /// Values of parameters.
    #[command(flatten)]
    pub values: ValueArgs,
}

/// A language to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// OpenQASM 2.0.
    Qasm2,
    /// OpenQASM 3.0.
    Qasm3,
}

/// The verb `convert`.
#[derive(Clone, Debug, Args)]
pub struct ConvertArgs {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub file: PathBuf,
    /// The language to print
    #[arg(
        long,
        value_name = "qasm2|qasm3",
        allow_hyphen_values = true,
        hide_possible_values = true
    )]
    pub to: Language,
    /// Options that give parameters a value; without one they stay open
    #[command(flatten)]
    pub values: ValueArgs,
}

const AMPLITUDES_HELP: &str = "\
Parameters without a value stay symbols. Amplitudes that are zero for all angles are left out. Formulas
are short: factors, and sums of products of shorter sums; --expand makes each one sum. The angles may
be fractions of pi (3*pi/8), parameters times fractions, and decimals of up to 12 digits; any other
angle is an error that names it. Coefficients of observables may have parameters, J**2*Z0 Z1, which stay
symbols, too, but in LaTeX. JSON: {n_qubits, parameters, exact, expectations [{observable, value}],
amplitudes {bits: text}, seconds}.

Examples:
  ketgrad amplitudes bell.qasm
  ketgrad amplitudes ansatz.qasm --basis 011 --form latex";

/// The verb `amplitudes`.
#[derive(Clone, Debug, Args)]
pub struct AmplitudesArgs {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub file: PathBuf,
    /// Only this basis state, qubit 0 rightmost; may be repeated
    #[arg(long, value_name = "BITS", allow_hyphen_values = true)]
    pub basis: Vec<String>,
    /// The expectation value of an observable, or of those in @FILE, in place of amplitudes, but
    /// those of --basis; may be repeated
    #[arg(long, value_name = "OBS", allow_hyphen_values = true)]
    pub observable: Vec<String>,
    /// Form: in sines and cosines, in exponentials, or in LaTeX
    #[arg(long, value_name = "trig|exp|latex", allow_hyphen_values = true, default_value = "trig")]
    pub form: String,
    /// Multiply everything out: one sum for each amplitude, with as many summands as it has terms
    #[arg(long)]
    pub expand: bool,
    /// Options that give parameters a value; without one they stay symbols
    #[command(flatten)]
    pub values: ValueArgs,
}

const GRAD_HELP: &str = "\
JSON: {value, gradient {name: x}, hessian {row: {column: x}}, method, seconds}; of several observables
{expectations [{observable, value, gradient, hessian}], method, seconds}; lists over the rows of a sweep.
With --shots or error bars stderr follows value, and gradient_stderr follows gradient. The array that
--output writes has an axis for the rows of a sweep, one for several observables, and one for the parameters.

--set a=0.3+-0.01 gives an input a standard deviation; values and derivatives come with theirs, by their
slopes. Inputs are independent. Of several observables stderr_covariance has the covariances of the
errors of the values, in their order.

Coefficients of an observable may have parameters (`run --help` says which): '0.5*J*Z0 Z1' with --set J=2.
There are derivatives by them, too, by every method; those of --method difference are by differences.

--method symbolic without values for all parameters gives formulas: value and the derivatives by the
parameters that are open, those of observables among them, as texts.

Examples:
  ketgrad grad ansatz.qasm --observable '0.5*J*Z0 Z1' --set theta=0.3 --set J=2
  ketgrad grad ansatz.qasm --observable @h2.txt --params point.json --hessian";

/// The verb `grad`.
#[derive(Clone, Debug, Args)]
pub struct GradArgs {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub file: PathBuf,
    /// The observable: a sum of terms such as '0.5*Z0 Z1 - X2', or @FILE with one term a line, an
    /// FCIDUMP, or a Hermitian matrix (.npy, MatrixMarket); may be repeated
    #[arg(long, value_name = "OBS", allow_hyphen_values = true, required = true)]
    pub observable: Vec<String>,
    /// Method: adjoint, shift, forward, symbolic (in closed form) or difference
    /// [default: adjoint; shift with --shots]
    #[arg(
        long,
        value_name = "adjoint|shift|forward|symbolic|difference",
        allow_hyphen_values = true
    )]
    pub method: Option<String>,
    /// Second derivatives too
    #[arg(long, conflicts_with = "shots")]
    pub hessian: bool,
    /// Start from this state instead of all zeros
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub input: Option<PathBuf>,
    /// Measure, with this number of shots for each value, with standard errors
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_shots)]
    pub shots: Option<u64>,
    /// Write the gradient: float64, or float32 with f32, in order of declaration
    #[arg(long, value_name = "GRADIENT.npy", allow_hyphen_values = true)]
    pub output: Option<PathBuf>,
    /// Values of parameters.
    #[command(flatten)]
    pub values: ValueArgs,
}

/// The verb `diff`.
#[derive(Clone, Debug, Args)]
pub struct DiffArgs {
    /// The program; - reads it from the standard input
    #[arg(value_name = "FILE.kg", required_unless_present = "source", conflicts_with = "source")]
    pub file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', value_name = "SOURCE", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// The point: `a=1,b=pi/2,xs=[1,2],m=[[1,2],[3,4]],p=(3,4),data=@data.npy`; may be repeated
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub at: Vec<String>,
    /// Values from a file: JSON by name, `{"a": 1, "xs": [1, 2], "p": {"x": 3}}`, or NumPy with the
    /// real numbers in order or the one array; --at wins over it
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub params: Option<PathBuf>,
    /// The function to differentiate [default: the last one]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub function: Option<String>,
    /// The parameters to differentiate by; the others are constants [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "emit")]
    pub by: Vec<String>,
    /// First derivatives, or second ones too
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub order: u8,
    /// The most memory that the gradient keeps of long loops, such as 64MiB: iterations are
    /// computed again instead
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "emit", allow_hyphen_values = true)]
    pub memory_budget: Option<u64>,
    /// Print the program or its derivative instead of running it; with --order 2 its second
    /// derivative along a direction, too
    #[arg(long, value_name = "ir|adjoint|rust|latex|dot", allow_hyphen_values = true)]
    pub emit: Option<String>,
    /// Leave the program as it is written
    #[arg(long)]
    pub no_optimize: bool,
    /// Simplify by the equations of real numbers too, which may change the last digits, signs of
    /// zeros (so the side of a branch cut, as of atan2), and what is infinite or NaN on the way
    #[arg(long, conflicts_with = "no_optimize")]
    pub algebraic: bool,
}

/// The verb `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The program or the circuit; - reads it from the standard input
    #[arg(value_name = "FILE", required_unless_present = "source", conflicts_with = "source")]
    pub file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', value_name = "SOURCE", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// The point of a program: `a=1,b=pi/2,xs=[1,2],m=[[1,2],[3,4]],p=(3,4),data=@data.npy`; may be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub at: Vec<String>,
    /// The function to check [default: the last one]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub function: Option<String>,
    /// Compare first derivatives, or second ones of a program
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub order: u8,
    /// The observable of a circuit: a sum of terms, or @FILE as of `grad`
    #[arg(long, value_name = "OBS", allow_hyphen_values = true)]
    pub observable: Option<String>,
    /// Values of a circuit's parameters; of a program's with --params.
    #[command(flatten)]
    pub values: ValueArgs,
}

const EQUIVALENT_HELP: &str = "\
Both circuits are compared as unitaries, or with --state as what becomes of all zeros. Parameters
match by name. If both measure at their ends, they are equal if their classical bits have the same
distribution for every input state, whichever qubits these are read from: registers are matched by
name where they have the same names, else in order; a qubit that only one circuit has starts in 0.
The exit status is 0 if they are equal or equal up to a phase, 3 if they are different, 4 if that
is not known.

A decimal of at most 12 digits is exact; where a longer one occurs, numbers decide at the tolerance.

Examples:
  ketgrad equivalent a.qasm b.qasm --json
  ketgrad equivalent a.qasm transpiled.qasm --snap --ancillas 1";

/// The verb `equivalent`.
#[derive(Clone, Debug, Args)]
pub struct EquivalentArgs {
    /// The first circuit
    #[arg(value_name = "A.qasm")]
    pub first: PathBuf,
    /// The second circuit; - reads one of the two from the standard input
    #[arg(value_name = "B.qasm")]
    pub second: PathBuf,
    /// The last K qubits start in 0
    #[arg(long, value_name = "K", allow_hyphen_values = true, default_value_t = 0)]
    pub ancillas: usize,
    /// Compare the states that all zeros become
    #[arg(long)]
    pub state: bool,
    /// The distance up to which a numeric verdict is equal
    #[arg(long, value_name = "X", allow_hyphen_values = true, default_value_t = 1e-9)]
    pub tolerance: f64,
    /// Take decimals that are multiples of pi to all their digits for those, and say so
    #[arg(long)]
    pub snap: bool,
    /// Compare the gates alone, and say which measurements that leaves out; without this, circuits
    /// that both measure are compared by the distributions of their classical bits
    #[arg(long)]
    pub ignore_measurements: bool,
    /// The value of an input, in whichever circuit has it; may be repeated
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Such values from a file; may be repeated
    #[arg(long, value_name = "FILE.json", allow_hyphen_values = true)]
    pub params: Vec<PathBuf>,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Lines of characters.
    Text,
    /// Scalable vector graphics.
    Svg,
    /// The LaTeX package quantikz.
    Latex,
}

/// The verb `draw`.
#[derive(Clone, Debug, Args)]
pub struct DrawArgs {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub file: PathBuf,
    /// The kind of picture
    #[arg(long, value_name = "text|svg|latex", allow_hyphen_values = true, default_value = "text")]
    pub format: String,
    /// Write the picture to a file instead of the standard output
    #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
    pub output: Option<PathBuf>,
    /// Wrap the picture to this number of columns [default: the terminal's width; else no wrapping]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub width: Option<usize>,
    /// Draw what is in gates that the file defines, where each is a box with its name
    #[arg(long)]
    pub expand: bool,
    /// Options that give parameters a value; without one they stay open
    #[command(flatten)]
    pub values: ValueArgs,
}

const OPTIMIZE_HELP: &str = "\
A job is a TOML file:

  seed = 7                     # shots = 1000: energies from 1000 shots, by \"spsa\", \"adam\" or \"nelder_mead\"
  [ansatz]                     # or name = \"hardware_efficient\" (qubits, layers), \"qaoa\" (graph,
  circuit = \"ansatz.qasm\"      # layers), \"uccsd\" (qubits, electrons, or those of an FCIDUMP); inputs are the
                               # parameters
  [hamiltonian]                # or terms = \"Z0 Z1 - X0\"; or name = \"ising\", \"heisenberg\", \"max_cut\",
  file = \"h2.txt\"              # \"h2\", \"lih\"; a file has one term a line, or is an FCIDUMP, with mapping =
                               # \"jordan_wigner\" (\"parity\", \"bravyi_kitaev\"), frozen = [0], active = [1, 2],
                               # taper = true, penalty = 1.0
  [optimizer]                  # or \"newton_cg\", \"nelder_mead\", \"adam\", \"natural_gradient\", \"spsa\"
  method = \"lbfgs\"
  [stopping]
  iterations = 1000
  gradient = 1e-6              # enough if no derivative is larger, at a minimum
  change = 1e-12               # enough if three values in a row change by no more, at a minimum; with shots
                               # standard errors decide instead
  [start]
  random = 0.1                 # uniform from -0.1 to 0.1, but set = [\"theta=pi/4\"], params = \"point.json\"
  [output]
  checkpoint = \"h2.checkpoint.json\"
  every = 10                   # iterations between checkpoints
  curve = \"h2.svg\"

A graph is a file of edges, `0 1` or, with a weight, `0 1 0.5`, with vertices counted from 0; or one of
Gset (`4 5` for 4 vertices and 5 edges, then `1 2 1`) or DIMACS (`p edge 4 5`, then `e 1 2`), counted
from 1.

Paths are taken from the folder of the job. --resume goes on from the last checkpoint and ends with
the same result as a run that was never interrupted; without it the job begins anew.

Examples:
  ketgrad optimize h2.toml
  ketgrad optimize h2.toml --resume";

/// The verb `optimize`.
#[derive(Clone, Debug, Args)]
pub struct OptimizeArgs {
    /// The job
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Go on from the last checkpoint
    #[arg(long)]
    pub resume: bool,
}

/// Values of parameters.
#[derive(Clone, Debug, Default, Args)]
pub struct ValueArgs {
    /// The value of a parameter, such as a=pi/4, or with an error bar a=0.3+-0.01; may be repeated
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// The values of parameters from a file: by name (JSON), or in order of declaration those that
    /// have no other value, or all (NumPy; two axes: a row for each point); may be repeated, and
    /// --set wins
    #[arg(long, value_name = "FILE.json|FILE.npy", allow_hyphen_values = true)]
    pub params: Vec<PathBuf>,
    /// Add noise: a model of which channels follow which instructions
    #[arg(long, value_name = "NOISE.toml|AER.json", allow_hyphen_values = true)]
    pub noise: Option<PathBuf>,
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(n),
        _ => Err(format!("expected a whole number from 1 to {MAX_THREADS}")),
    }
}

fn parse_shots(text: &str) -> Result<u64, String> {
    match parse_count(text) {
        Ok(0) => Err("at least one shot is needed".to_owned()),
        other => other,
    }
}

/// Reads a whole number such as `1000`, `1_000` or `1e9`.
///
/// # Errors
/// In words, for anything else.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let error = || "expected a whole number that is not negative, such as 1000 or 1e9".to_owned();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || exponent.starts_with('+') {
        return Err(error());
    }
    let digits: u64 = digits.replace('_', "").parse().map_err(|_| error())?;
    let exponent: u32 = exponent.parse().map_err(|_| error())?;
    10u64.checked_pow(exponent).and_then(|p| digits.checked_mul(p)).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        LowArgs::command().debug_assert();
    }

    #[test]
    fn counts_are_whole() {
        assert_eq!(parse_count("1e9"), Ok(1_000_000_000));
        assert_eq!(parse_count("12_000"), Ok(12_000));
        for bad in ["-1", "", "1.5", "1e99", "e3", "+1", "0x10", "1e+3", "nan"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }
}
