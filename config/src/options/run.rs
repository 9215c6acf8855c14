//! The options of `run`.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;

use super::values::ValueArgs;
use crate::{
    files::is_stdout,
    parse::{choose, parse_shots},
    report::Failure,
};

/// Number of shots that are taken if nothing is asked for.
pub(crate) const DEFAULT_SHOTS: u64 = 1024;

pub(super) const HELP: &str = "\
Without --shots, --observable, --amplitudes, --probabilities and --output, 1024 shots are taken.
The shots of a circuit without measurements measure all qubits. Qubit 0 is the rightmost bit.
Where a circuit measures, resets or branches before its end, an expectation value is the mean over
the shots (1024 unless --shots says otherwise) with its standard error, and the state that of the
first shot. With noise it is exact where density matrices run it (--method).

--qubits 0,3 has counts and probabilities of these qubits at the end, whatever the circuit measures: bit j
of an outcome, counted from the right, is that of qubit j of the list. JSON: {n_qubits, precision,
backend, qubits, counts {bits: n}, memory [bits], outputs {name: {type, value | values | distribution}},
expectations [{observable, value, stderr}], stderr_covariance, variances [{observable, value}],
covariances [[x]], amplitudes [[re, im]], probabilities [p], seconds}, of which there is what was asked for.

--memory lists the outcome of each shot in order, as the text that counts have. outputs are the classical
variables of the shots: where a file declares any `output`, those, and else all in circuits that have
others than registers of bits. Each has its type, such as uint[8] or array[float[64], 2], and with
--memory the values of the shots in order; without it one value if no outcome changes it, or else a
distribution [[value, number of shots]], ascending. Values are true or false, the text of a bit string,
integers with all their digits (up to 128 bits), floats, angles in radians, [re, im], lists.

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
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Run {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub(crate) file: PathBuf,
    /// Number of times to measure; the outcomes are counted
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_shots)]
    pub(crate) shots: Option<u64>,
    /// The outcome of each of the --shots, in order
    #[arg(long)]
    pub(crate) memory: bool,
    /// The expectation value of an observable, or of those in @FILE; may be repeated
    #[arg(long = "observable", value_name = "OBS", allow_hyphen_values = true)]
    pub(crate) observables: Vec<String>,
    /// The amplitudes before the measurements, in basis order
    #[arg(long)]
    pub(crate) amplitudes: bool,
    /// The probability of each basis state before the measurements
    #[arg(long)]
    pub(crate) probabilities: bool,
    /// Counts and probabilities of these qubits alone at the end, such as 0,3: the first is the
    /// rightmost bit. Without --shots their probabilities, over all outcomes of measurements in the
    /// middle
    #[arg(long, value_name = "K,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) qubits: Vec<usize>,
    /// The variance of each observable, the mean of its square less the square of its mean, exactly
    #[arg(long)]
    pub(crate) variance: bool,
    /// The covariance of each pair of observables, the mean of (AB + BA)/2 less the product of
    /// their means, exactly
    #[arg(long)]
    pub(crate) covariance: bool,
    /// Start from this state instead of all zeros
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub(crate) input: Option<PathBuf>,
    /// Write the state before the measurements: complex128, or complex64 with f32
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub(crate) output: Option<PathBuf>,
    /// Method for a circuit with noise or with measurements in the middle: density matrices (exact,
    /// 4^n entries), trajectories (shot by shot), or auto: with noise density matrices up to 10
    /// qubits, else trajectories
    #[arg(
        long,
        value_name = "auto|density|trajectories",
        allow_hyphen_values = true,
        default_value = "auto"
    )]
    pub(crate) method: String,
    /// Values of parameters.
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

/// Method of running a circuit with noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noisy {
    /// Density matrices where these are small.
    Auto,
    /// Density matrices.
    Density,
    /// Shot by shot.
    Trajectories,
}

impl Run {
    /// Adds the options of the config file, of which those of the command line win, and what
    /// follows from what is asked for. Returns the method of running a circuit with noise.
    ///
    /// # Errors
    /// [`Failure`] for a method that does not exist, and options that exclude each other.
    pub(crate) fn settle(&mut self, config: &Run) -> Result<Noisy, Failure> {
        let names = [
            ("auto", Noisy::Auto),
            ("density", Noisy::Density),
            ("trajectories", Noisy::Trajectories),
        ];
        let list = "one of auto, density, trajectories";
        let method = choose("--method", list, &self.method, &names)?;
        self.fill_from(config);
        self.check()?;
        self.probabilities |= !self.qubits.is_empty() && self.shots.is_none();
        let asked = self.keeps_state() || self.probabilities || !self.observables.is_empty();
        if self.shots.is_none() && !asked {
            self.shots = Some(DEFAULT_SHOTS);
        }
        Ok(method)
    }

    /// Adds the options of the config file that the command line does not give.
    fn fill_from(&mut self, config: &Run) {
        self.shots = self.shots.or(config.shots);
        self.memory |= config.memory;
        if self.observables.is_empty() {
            self.observables.clone_from(&config.observables);
        }
        self.amplitudes |= config.amplitudes;
        self.probabilities |= config.probabilities;
        self.variance |= config.variance;
        self.covariance |= config.covariance;
    }

    /// Refuses options that exclude each other.
    fn check(&self) -> Result<(), Failure> {
        if self.output.as_deref().is_some_and(is_stdout) {
            return Err(Failure::usage(
                "--output needs a file: the standard output is for the results",
            ));
        }
        if self.memory && self.shots.is_none() {
            return Err(Failure::usage(
                "--memory lists the outcome of each shot: --shots says how many there are",
            ));
        }
        if (self.variance || self.covariance) && self.observables.is_empty() {
            let option = if self.variance { "--variance" } else { "--covariance" };
            return Err(Failure::usage(format_args!(
                "{option} is that of observables: --observable gives them"
            )));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.qubits.iter().find(|qubit| !seen.insert(**qubit)) {
            return Err(Failure::usage(format_args!("--qubits names qubit {twice} twice")));
        }
        if !self.qubits.is_empty() && (self.amplitudes || self.output.is_some()) {
            let option = if self.amplitudes { "--amplitudes" } else { "--output" };
            return Err(Failure::usage(format_args!(
                "{option} and --qubits exclude each other: some qubits alone have no amplitudes, but probabilities"
            )));
        }
        Ok(())
    }

    /// Returns true if the state is asked for in any form.
    pub(crate) fn keeps_state(&self) -> bool {
        self.prints_state() || self.output.is_some()
    }

    /// Returns true if the state is part of the answer: amplitudes, or probabilities of all qubits.
    pub(crate) fn prints_state(&self) -> bool {
        self.amplitudes || self.probabilities && self.qubits.is_empty()
    }
}
