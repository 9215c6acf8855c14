//! The options of every verb.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ketgrad_core::kernel::Threads;
use ketgrad_plugin_host::Choice;

use crate::{
    parse::{parse_count, parse_size, parse_threads},
    plugins_table::PluginsTable,
    report::Failure,
};

/// Options that every verb has, before or after it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Options from a TOML file; the command line wins over them
    #[arg(long, global = true, value_name = "FILE.toml", allow_hyphen_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Threads to compute with; results do not depend on it [default: all that the system offers]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_threads)]
    pub(crate) threads: Option<usize>,
    /// The numbers to compute with [default: f64]
    #[arg(
        long,
        global = true,
        value_name = "f64|f32",
        allow_hyphen_values = true,
        hide_possible_values = true
    )]
    pub(crate) precision: Option<Precision>,
    /// Backend of circuits: the best, the best on the processor, or the one of that name, such as
    /// cuda:0 [default: auto]
    #[arg(long, global = true, value_name = "auto|cpu|NAME", allow_hyphen_values = true)]
    pub(crate) backend: Option<String>,
    /// The seed of all randomness: the same seed gives the same result [default: 0]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// No progress, warnings or notes on stderr; errors remain
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// The most memory to use, such as 8GiB, 500MB or bytes [default: what is free]
    #[arg(long, global = true, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_size)]
    pub(crate) memory_limit: Option<u64>,
    /// The most steps of a program, such as 1e9 [default: 1e9], or iterations of a circuit's loops
    /// [default: 1e6, fewer on more than 10 qubits]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub(crate) max_steps: Option<u64>,
    /// The most gates of a circuit, counted after expansion and before it is built [default: 1e8]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub(crate) max_gates: Option<u64>,
    /// One JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Results that are infinite or NaN become null (with a note) instead of an error
    #[arg(long, global = true)]
    pub(crate) allow_nonfinite: bool,
    /// The plugins of the config file; nothing is loaded yet.
    #[arg(skip)]
    pub(crate) plugins: PluginsTable,
}

impl Common {
    /// Returns these options, with those of `other` where none is given. A switch is on if either
    /// turns it on.
    pub(crate) fn or(self, other: &Common) -> Common {
        Common {
            config: self.config,
            threads: self.threads.or(other.threads),
            precision: self.precision.or(other.precision),
            backend: self.backend.or_else(|| other.backend.clone()),
            seed: self.seed.or(other.seed),
            quiet: self.quiet || other.quiet,
            memory_limit: self.memory_limit.or(other.memory_limit),
            max_steps: self.max_steps.or(other.max_steps),
            max_gates: self.max_gates.or(other.max_gates),
            json: self.json || other.json,
            allow_nonfinite: self.allow_nonfinite || other.allow_nonfinite,
            plugins: self.plugins,
        }
    }

    /// Returns the number of threads: all that the system offers unless it is given.
    pub(crate) fn threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(available)
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// [`Failure`] if the system refuses.
    pub(crate) fn start_threads(&self) -> Result<Threads, Failure> {
        Threads::new(self.threads()).map_err(Failure::input)
    }

    /// Returns the numbers to compute with: double precision unless they are given.
    pub(crate) fn precision(&self) -> Precision {
        self.precision.unwrap_or(Precision::F64)
    }

    /// Returns the backend that runs circuits: the best unless one is given.
    pub(crate) fn backend(&self) -> Choice {
        self.backend.as_deref().map_or(Choice::Auto, Choice::from)
    }

    /// Returns the seed of all randomness: 0 unless it is given.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// Returns the largest number of steps of a program: 10^9 unless it is given.
    pub(crate) fn max_steps(&self) -> u64 {
        self.max_steps.unwrap_or(1_000_000_000)
    }

    /// Returns the largest number of gates of a circuit: 10^8 unless it is given.
    pub(crate) fn max_gates(&self) -> u64 {
        self.max_gates.unwrap_or(100_000_000)
    }
}

/// The numbers to compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// Double precision.
    F64,
    /// Single precision.
    F32,
}

impl Precision {
    /// The name on the command line and in results.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }
}
