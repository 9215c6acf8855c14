//! The command line and the config file as one: every option settled.

use std::path::PathBuf;

use ketgrad_core::kernel::Threads;

use crate::{
    args::{CommonArgs, LowArgs, Precision, RunArgs, Verb},
    config_file::ConfigFile,
    report::Failure,
};

/// Shots that are taken if nothing is asked for.
pub const DEFAULT_SHOTS: u64 = 1024;

/// What is to be done, with every option settled.
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
    /// How many threads compute.
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
    /// The most gates of a circuit.
    pub max_gates: u64,
    /// Print JSON.
    pub json: bool,
    /// Print null for what is not finite.
    pub allow_nonfinite: bool,
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
    /// Describe this program and this machine.
    Info,
}

/// What `run` shall do.
#[derive(Clone, Debug)]
pub struct Run {
    /// The circuit.
    pub file: PathBuf,
    /// How often to measure; `None` if counts are not asked for.
    pub shots: Option<u64>,
    /// The observables, as given.
    pub observables: Vec<String>,
    /// Give the amplitudes.
    pub amplitudes: bool,
    /// Give the probabilities.
    pub probabilities: bool,
    /// The state to start from.
    pub input: Option<PathBuf>,
    /// Where to write the final state.
    pub output: Option<PathBuf>,
    /// Values of parameters, `name=value`.
    pub set: Vec<String>,
    /// A file with values of parameters.
    pub params: Option<PathBuf>,
}

impl Run {
    /// Whether the state is asked for in any form.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.prints_state() || self.output.is_some()
    }

    /// Whether the state is part of the answer.
    #[must_use]
    pub fn prints_state(&self) -> bool {
        self.amplitudes || self.probabilities
    }
}

impl HiArgs {
    /// Reads the config file, if there is one, and settles every option.
    ///
    /// # Errors
    /// [`Failure`] for a verb that is not in this version, a faulty config file, or options that
    /// exclude each other.
    pub fn resolve(low: LowArgs) -> Result<HiArgs, Failure> {
        let later = |name: &str| Err(Failure::not_yet(format_args!("the verb `{name}`")));
        let verb = match &low.verb {
            Verb::Run(_) => "run",
            Verb::Info => "info",
            Verb::Convert(_) => return later("convert"),
            Verb::Amplitudes(_) => return later("amplitudes"),
            Verb::Equivalent(_) => return later("equivalent"),
            Verb::Grad(_) => return later("grad"),
            Verb::Diff(_) => return later("diff"),
            Verb::Check(_) => return later("check"),
            Verb::Draw(_) => return later("draw"),
            Verb::Optimize(_) => return later("optimize"),
            Verb::Plugins(_) => return later("plugins"),
        };
        let config = match &low.common.config {
            Some(path) => ConfigFile::read(path)?,
            None => ConfigFile::default(),
        };
        let common = merge(low.common, config.common(verb));
        let work = match low.verb {
            Verb::Run(args) => Work::Run(run(args, &config)?),
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
        max_gates: low.max_gates.or(config.max_gates).unwrap_or(100_000_000),
        json: low.json || config.json,
        allow_nonfinite: low.allow_nonfinite || config.allow_nonfinite,
    }
}

fn run(low: RunArgs, config: &ConfigFile) -> Result<Run, Failure> {
    let config = &config.run;
    let observables = if low.observable.is_empty() { config.observables.clone() } else { low.observable };
    let mut run = Run {
        file: low.file,
        shots: low.shots.or(config.shots),
        observables,
        amplitudes: low.amplitudes || config.amplitudes,
        probabilities: low.probabilities || config.probabilities,
        input: low.input,
        output: low.output,
        set: low.set,
        params: low.params,
    };
    if run.output.as_deref().is_some_and(|p| p.as_os_str() == "-") {
        return Err(Failure::usage("--output needs a file: the standard output is for the results"));
    }
    let asked = run.keeps_state() || !run.observables.is_empty();
    if run.shots.is_none() && !asked {
        run.shots = Some(DEFAULT_SHOTS);
    }
    Ok(run)
}
