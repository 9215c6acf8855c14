//! The command line and the config file as one: every option settled.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use ketgrad_core::{equivalent::On, exact::Form, hybrid::Method, kernel::Threads, pass::Level};
use ketgrad_plugin_host::Choice;

use crate::{
    args::{
        AmplitudesArgs, CheckArgs, CommonArgs, ConvertArgs, DiffArgs, DrawArgs, EquivalentArgs,
        GradArgs, Language, LowArgs, Picture, PluginsVerb, Precision, RunArgs, ValueArgs, Verb,
    },
    config_file::ConfigFile,
    diff::at::Point,
    plugins::PluginsTable,
    report::Failure,
};

/// Shots that are taken if nothing is asked for.
pub const DEFAULT_SHOTS: u64 = 1024;

/// Work to be done, with every option resolved.
#[derive(Clone, Debug)]
pub struct HiArgs {
    /// Options of every verb.
    pub common: Common,
    /// The verb and its own options.
    pub work: Work,
}

/// Options of every verb.
#[derive(Clone, Debug)]
pub struct Common {
    /// Number of threads that compute.
    pub threads: usize,
    /// The numbers to compute with.
    pub precision: Precision,
    /// The seed of all randomness.
    pub seed: u64,
    /// Say nothing on stderr but errors.
    pub quiet: bool,
    /// The most bytes to use.
    pub memory_limit: Option<u64>,
    /// The most steps of a program.
    pub max_steps: u64,
    /// The most iterations of the loops of a circuit, if given.
    pub max_rounds: Option<u64>,
    /// The most gates of a circuit.
    pub max_gates: u64,
    /// Print JSON.
    pub json: bool,
    /// Print null for what is not finite.
    pub allow_nonfinite: bool,
    /// Backend that runs circuits.
    pub backend: Choice,
    /// The plugins of the config file; nothing is loaded yet.
    pub plugins: PluginsTable,
}

impl Common {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Failure`] if the system refuses.
    pub fn start_threads(&self) -> Result<Threads, Failure> {
        Threads::new(self.threads).map_err(Failure::input)
    }
}

/// A verb of this version with its own options.
#[derive(Clone, Debug)]
pub enum Work {
    /// Simulate a circuit.
    Run(Run),
    /// Print a circuit as OpenQASM.
    Convert(Convert),
    /// Print amplitudes as formulas.
    Amplitudes(Amplitudes),
    /// Draw a circuit.
    Draw(Draw),
    /// Differentiate an expectation value.
    Grad(Grad),
    /// Differentiate a program.
    Diff(Diff),
    /// Compare the derivative engines on a program.
    Check(Check),
    /// Compare two circuits.
    Equivalent(Equivalent),
    /// Run a variational job.
    Optimize(Optimize),
    /// List, compare or hash plugins.
    Plugins(PluginsWork),
    /// Describe this program and this machine.
    Info,
}

/// Command of `plugins`.
#[derive(Clone, Debug)]
pub enum PluginsWork {
    /// Show what is loaded.
    List,
    /// Compare rules with themselves, and backends with the built-in kernels.
    Verify(VerifyPlugins),
    /// Hash files; none for those of the config.
    Hash(Vec<PathBuf>),
}

/// Options of `plugins verify`.
#[derive(Clone, Debug)]
pub struct VerifyPlugins {
    /// Points at which rules are compared, too.
    pub at: Vec<String>,
    /// Each plugin in a process of its own that may take so long.
    pub sandboxed: Option<Duration>,
    /// Work of such a process.
    pub task: Option<String>,
}

/// Options of `run`.
#[derive(Clone, Debug)]
pub struct Run {
    /// The circuit.
    pub file: PathBuf,
    /// Number of measurements; `None` if counts are not asked for.
    pub shots: Option<u64>,
    /// The observables, as given.
    pub observables: Vec<String>,
    /// Give the amplitudes.
    pub amplitudes: bool,
    /// Give the probabilities.
    pub probabilities: bool,
    /// Give the variances of the observables.
    pub variance: bool,
    /// Give the covariances of the observables.
    pub covariance: bool,
    /// The qubits that counts and probabilities are of; none for all.
    pub qubits: Vec<usize>,
    /// The state to start from.
    pub input: Option<PathBuf>,
    /// File to write the final state to.
    pub output: Option<PathBuf>,
    /// Method of running a circuit with noise.
    pub noisy: Noisy,
    /// Values of parameters.
    pub values: ValueArgs,
}

/// Method of running a circuit with noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noisy {
    /// Density matrices where these are small.
    Auto,
    /// Density matrices.
    Density,
    /// Shot by shot.
    Trajectories,
}

impl Noisy {
    const ALL: [(&str, Noisy); 3] =
        [("auto", Noisy::Auto), ("density", Noisy::Density), ("trajectories", Noisy::Trajectories)];

    fn read(name: &str) -> Result<Noisy, Failure> {
        let names = || Noisy::ALL.map(|entry| entry.0);
        let failure = || {
            let message = format!("--method is one of {}, not `{name}`", names().join(", "));
            Failure::usage(message).nearest(name, names())
        };
        Noisy::ALL.iter().find(|entry| entry.0 == name).map(|entry| entry.1).ok_or_else(failure)
    }
}

/// Options of `convert`.
#[derive(Clone, Debug)]
pub struct Convert {
    /// The circuit.
    pub file: PathBuf,
    /// The language.
    pub to: Language,
    /// Values of parameters.
    pub values: ValueArgs,
}

/// Options of `amplitudes`.
#[derive(Clone, Debug)]
pub struct Amplitudes {
    /// The circuit.
    pub file: PathBuf,
    /// The basis states, as given; none for all, or where observables are asked for.
    pub basis: Vec<String>,
    /// The observables, as given.
    pub observables: Vec<String>,
    /// Notation of formulas.
    pub form: Form,
    /// True if each formula is written as one sum.
    pub expand: bool,
    /// Values of parameters.
    pub values: ValueArgs,
}

/// Options of `draw`.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The circuit.
    pub file: PathBuf,
    /// The kind of picture.
    pub format: Picture,
    /// File to write to; `None` is the standard output.
    pub output: Option<PathBuf>,
    /// The columns to wrap to.
    pub width: Option<usize>,
    /// True if gates that the file defines are drawn expanded.
    pub expand: bool,
    /// Values of parameters.
    pub values: ValueArgs,
}

/// Options of `grad`.
#[derive(Clone, Debug)]
pub struct Grad {
    /// The circuit.
    pub file: PathBuf,
    /// The observables, as given.
    pub observables: Vec<String>,
    /// The state to start from.
    pub input: Option<PathBuf>,
    /// File to write the gradient to.
    pub output: Option<PathBuf>,
    /// Method of differentiation.
    pub method: Method,
    /// Give second derivatives.
    pub hessian: bool,
    /// The shots of each value; exact without.
    pub shots: Option<usize>,
    /// Values of parameters.
    pub values: ValueArgs,
}

/// Source of a program.
#[derive(Clone, Debug)]
pub enum Source {
    /// File that holds the program.
    File(PathBuf),
    /// Text of the program on the command line.
    Text(String),
}

/// Options of `diff`.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The program.
    pub source: Source,
    /// The point.
    pub point: Point,
    /// The function; `None` is the last one.
    pub function: Option<String>,
    /// The parameters to differentiate by; none is all.
    pub by: Vec<String>,
    /// 1 or 2.
    pub order: u8,
    /// The most bytes that the gradient keeps of loops.
    pub memory_budget: Option<u64>,
    /// Output that replaces derivatives.
    pub emit: Option<Emit>,
    /// Level of optimization of the program.
    pub level: Level,
}

/// The function of a program that `check` differentiates.
#[derive(Clone, Debug)]
pub struct CheckProgram {
    /// The program.
    pub source: Source,
    /// The function; `None` is the last one.
    pub function: Option<String>,
    /// The point.
    pub point: Point,
    /// 1 or 2.
    pub order: u8,
}

/// Options of `check`: the object to differentiate, and the point.
#[derive(Clone, Debug)]
pub enum Check {
    /// A function of a program.
    Program(CheckProgram),
    /// An expectation value of a circuit.
    Circuit {
        /// The circuit.
        file: PathBuf,
        /// The observable, as given.
        observable: String,
        /// Values of parameters.
        values: ValueArgs,
    },
}

/// Options of `equivalent`.
#[derive(Clone, Debug)]
pub struct Equivalent {
    /// The first circuit.
    pub first: PathBuf,
    /// The second circuit.
    pub second: PathBuf,
    /// Objects that are compared.
    pub on: On,
    /// The distance up to which a numeric verdict is equal.
    pub tolerance: f64,
    /// Take decimals for multiples of pi.
    pub snap: bool,
    /// Compare the gates alone.
    pub ignore_measurements: bool,
    /// Values of inputs of either circuit.
    pub values: ValueArgs,
}

/// Options of `optimize`.
#[derive(Clone, Debug)]
pub struct Optimize {
    /// The job.
    pub file: PathBuf,
    /// Go on from the last checkpoint.
    pub resume: bool,
    /// The seed, if the command line or the config file gives one: it wins over that of the job.
    pub seed: Option<u64>,
}

/// A text of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// The program.
    Ir,
    /// Derivative of the program.
    Adjoint,
    /// Program and derivative in Rust.
    Rust,
    /// Program and derivative as formulas.
    Latex,
    /// The graph of its derivative.
    Dot,
}

impl Run {
    /// Returns true if the state is asked for in any form.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.prints_state() || self.output.is_some()
    }

    /// Returns true if the state is part of the answer: amplitudes, or probabilities of all qubits.
    #[must_use]
    pub fn prints_state(&self) -> bool {
        self.amplitudes || self.probabilities && self.qubits.is_empty()
    }
}

impl HiArgs {
    /// Reads the config file, if there is one, and settles every option.
    ///
    /// # Errors
    /// [`Failure`] for a faulty config file, or options that exclude each other.
    pub fn resolve(low: LowArgs) -> Result<HiArgs, Failure> {
        let verb = match &low.verb {
            Verb::Run(_) => "run",
            Verb::Info => "info",
            Verb::Convert(_) => "convert",
            Verb::Amplitudes(_) => "amplitudes",
            Verb::Equivalent(_) => "equivalent",
            Verb::Grad(_) => "grad",
            Verb::Diff(_) => "diff",
            Verb::Check(_) => "check",
            Verb::Draw(_) => "draw",
            Verb::Optimize(_) => "optimize",
            Verb::Plugins(_) => "plugins",
        };
        let config = match &low.common.config {
            Some(path) => ConfigFile::read(path)?,
            None => ConfigFile::default(),
        };
        let from_file = config.common(verb);
        let seed = low.common.seed.or(from_file.seed);
        let mut common = merge(low.common, from_file);
        common.plugins.clone_from(&config.plugins);
        let work = match low.verb {
            Verb::Run(args) => Work::Run(run(args, &config)?),
            Verb::Convert(args) => Work::Convert(convert(args)),
            Verb::Amplitudes(args) => Work::Amplitudes(amplitudes(args)?),
            Verb::Draw(args) => Work::Draw(draw(args)?),
            Verb::Grad(args) => Work::Grad(grad(args)?),
            Verb::Diff(args) => Work::Diff(diff(args)?),
            Verb::Equivalent(args) => Work::Equivalent(equivalent(args)?),
            Verb::Check(args) => Work::Check(check(args)?),
            Verb::Optimize(args) => {
                Work::Optimize(Optimize { file: args.file, resume: args.resume, seed })
            }
            Verb::Plugins(args) => Work::Plugins(match args.what {
                PluginsVerb::List => PluginsWork::List,
                PluginsVerb::Verify { at, sandboxed, task } => {
                    let sandboxed = sandboxed.map(|seconds| Duration::from_secs(seconds.into()));
                    PluginsWork::Verify(VerifyPlugins { at, sandboxed, task })
                }
                PluginsVerb::Hash { files } => PluginsWork::Hash(files),
            }),
            _ => Work::Info,
        };
        Ok(HiArgs { common, work })
    }
}

fn merge(low: CommonArgs, config: CommonArgs) -> Common {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    Common {
        threads: low.threads.or(config.threads).unwrap_or_else(available),
        precision: low.precision.or(config.precision).unwrap_or(Precision::F64),
        seed: low.seed.or(config.seed).unwrap_or(0),
        quiet: low.quiet || config.quiet,
        memory_limit: low.memory_limit.or(config.memory_limit),
        max_steps: low.max_steps.or(config.max_steps).unwrap_or(1_000_000_000),
        max_rounds: low.max_steps.or(config.max_steps),
        max_gates: low.max_gates.or(config.max_gates).unwrap_or(100_000_000),
        json: low.json || config.json,
        allow_nonfinite: low.allow_nonfinite || config.allow_nonfinite,
        backend: low.backend.or(config.backend).map_or(Choice::Auto, |text| text.as_str().into()),
        plugins: PluginsTable::default(),
    }
}

fn convert(low: ConvertArgs) -> Convert {
    Convert { file: low.file, to: low.to, values: low.values }
}

fn amplitudes(low: AmplitudesArgs) -> Result<Amplitudes, Failure> {
    let form = match low.form.as_str() {
        "trig" => Form::Trig,
        "exp" => Form::Exp,
        "latex" => Form::Latex,
        other => {
            let failure =
                Failure::usage(format_args!("--form is trig, exp or latex, not `{other}`"));
            return Err(failure.nearest(other, ["trig", "exp", "latex"]));
        }
    };
    let AmplitudesArgs { file, basis, observable: observables, expand, values, .. } = low;
    Ok(Amplitudes { file, basis, observables, form, expand, values })
}

fn draw(low: DrawArgs) -> Result<Draw, Failure> {
    let format = match low.format.as_str() {
        "text" => Picture::Text,
        "svg" => Picture::Svg,
        "latex" => Picture::Latex,
        other => {
            let failure =
                Failure::usage(format_args!("--format is text, svg or latex, not `{other}`"));
            return Err(failure.nearest(other, ["text", "svg", "latex"]));
        }
    };
    let DrawArgs { file, output, width, expand, values, .. } = low;
    Ok(Draw { file, format, output, width, expand, values })
}

fn grad(low: GradArgs) -> Result<Grad, Failure> {
    let given = match (&low.method, low.shots) {
        (Some(given), _) => given.as_str(),
        (None, Some(_)) => Method::Shift.name(),
        (None, None) => Method::Adjoint.name(),
    };
    let methods =
        [Method::Adjoint, Method::Shift, Method::Forward, Method::Symbolic, Method::Difference];
    let Some(method) = methods.into_iter().find(|m| m.name() == given) else {
        let names = methods.map(Method::name);
        let failure =
            Failure::usage(format_args!("--method is one of {}, not `{given}`", names.join(", ")));
        return Err(failure.nearest(given, names));
    };
    if low.output.as_deref().is_some_and(is_stdout) {
        return Err(Failure::usage(
            "--output needs a file: the standard output is for the results",
        ));
    }
    if low.shots.is_some() && method != Method::Shift {
        let message = format_args!(
            "--method {method} takes no --shots: measured derivatives are those of shifts"
        );
        return Err(Failure::usage(message));
    }
    let GradArgs { file, observable: observables, input, output, hessian, shots, values, .. } = low;
    let shots = shots.map(|shots| usize::try_from(shots).unwrap_or(usize::MAX));
    Ok(Grad { file, observables, input, output, method, hessian, shots, values })
}

fn diff(low: DiffArgs) -> Result<Diff, Failure> {
    let emit = match low.emit.as_deref() {
        None => None,
        Some("ir") => Some(Emit::Ir),
        Some("adjoint") => Some(Emit::Adjoint),
        Some("rust") => Some(Emit::Rust),
        Some("latex") => Some(Emit::Latex),
        Some("dot") => Some(Emit::Dot),
        Some(other) => {
            let failure = Failure::usage(format_args!(
                "--emit is ir, adjoint, rust, latex or dot, not `{other}`"
            ));
            return Err(failure.nearest(other, ["ir", "adjoint", "rust", "latex", "dot"]));
        }
    };
    let level = crate::diff::level(low.no_optimize, low.algebraic);
    let DiffArgs { file, source, at, params, function, by, order, memory_budget, .. } = low;
    let point = Point { at, file: params };
    if order == 2 && memory_budget.is_some() {
        return Err(Failure::usage(
            "--memory-budget is for first derivatives: leave out --order 2",
        ));
    }
    let source = program_source(file, source);
    Ok(Diff { source, point, function, by, order, memory_budget, emit, level })
}

fn check(low: CheckArgs) -> Result<Check, Failure> {
    let CheckArgs { file, source, at, function, order, observable, values } = low;
    let ends = |end: &str| {
        file.as_ref()
            .and_then(|f| f.extension())
            .is_some_and(|extension| extension.eq_ignore_ascii_case(end))
    };
    let ValueArgs { set, params, noise } = &values;
    let is_program = source.is_some() || ends("kg") || !at.is_empty() || function.is_some();
    let values_given = !set.is_empty() || noise.is_some();
    let is_circuit =
        ends("qasm") || observable.is_some() || values_given || !params.is_empty() && !is_program;
    match (file, observable) {
        _ if is_program && is_circuit => Err(Failure::usage(
            "-e, --at and --function belong to programs (.kg), --observable, --set and --noise to circuits (.qasm)",
        )),
        _ if is_circuit && order == 2 => Err(Failure::usage(
            "--order 2 is for programs: of a circuit `grad --hessian` gives second derivatives",
        )),
        (Some(file), Some(observable)) => Ok(Check::Circuit { file, observable, values }),
        _ if is_circuit => Err(Failure::usage("a circuit needs --observable")),
        _ if values.params.len() > 1 => Err(Failure::usage(
            "a program takes one --params file: what is left is given with --at",
        )),
        (file, _) => {
            let point = Point { at, file: values.params.into_iter().next() };
            Ok(Check::Program(CheckProgram {
                source: program_source(file, source),
                function,
                point,
                order,
            }))
        }
    }
}

fn program_source(file: Option<PathBuf>, source: Option<String>) -> Source {
    match (source, file) {
        (Some(text), _) => Source::Text(text),
        (None, file) => Source::File(file.unwrap_or_else(|| "-".into())),
    }
}

fn equivalent(low: EquivalentArgs) -> Result<Equivalent, Failure> {
    let on = match (low.state, low.ancillas) {
        (true, 1..) => {
            return Err(Failure::usage(
                "--state starts all qubits in 0: --ancillas adds nothing to it",
            ));
        }
        (true, 0) => On::State,
        (false, ancillas) => On::Unitary { ancillas },
    };
    if !(0.0..=2.0).contains(&low.tolerance) {
        return Err(Failure::usage(format_args!(
            "--tolerance is a number from 0 to 2, not {}",
            low.tolerance
        )));
    }
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&low.first) && is_stdin(&low.second) {
        return Err(Failure::usage("only one of the two circuits can be the standard input"));
    }
    let EquivalentArgs { first, second, tolerance, snap, ignore_measurements, set, params, .. } =
        low;
    let values = ValueArgs { set, params, noise: None };
    Ok(Equivalent { first, second, on, tolerance, snap, ignore_measurements, values })
}

fn run(low: RunArgs, config: &ConfigFile) -> Result<Run, Failure> {
    let config = &config.run;
    let noisy = Noisy::read(&low.method)?;
    let observables =
        if low.observable.is_empty() { config.observables.clone() } else { low.observable };
    let mut run = Run {
        file: low.file,
        shots: low.shots.or(config.shots),
        observables,
        amplitudes: low.amplitudes || config.amplitudes,
        probabilities: low.probabilities || config.probabilities,
        variance: low.variance || config.variance,
        covariance: low.covariance || config.covariance,
        qubits: low.qubits,
        input: low.input,
        output: low.output,
        noisy,
        values: low.values,
    };
    if run.output.as_deref().is_some_and(is_stdout) {
        return Err(Failure::usage(
            "--output needs a file: the standard output is for the results",
        ));
    }
    if (run.variance || run.covariance) && run.observables.is_empty() {
        let option = if run.variance { "--variance" } else { "--covariance" };
        return Err(Failure::usage(format_args!(
            "{option} is that of observables: --observable gives them"
        )));
    }
    if !run.qubits.is_empty() {
        check_qubits(&run)?;
        run.probabilities |= run.shots.is_none();
    }
    let asked = run.keeps_state() || run.probabilities || !run.observables.is_empty();
    if run.shots.is_none() && !asked {
        run.shots = Some(DEFAULT_SHOTS);
    }
    Ok(run)
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Checks what is asked for of some qubits.
fn check_qubits(run: &Run) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = run.qubits.iter().find(|qubit| !seen.insert(**qubit)) {
        return Err(Failure::usage(format_args!("--qubits names qubit {twice} twice")));
    }
    if run.amplitudes || run.output.is_some() {
        let option = if run.amplitudes { "--amplitudes" } else { "--output" };
        let message = format!(
            "{option} and --qubits exclude each other: some qubits alone have no amplitudes, but probabilities"
        );
        return Err(Failure::usage(message));
    }
    Ok(())
}
