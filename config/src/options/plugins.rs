//! The commands of `plugins`, with their options.

use std::path::PathBuf;

use clap::Subcommand;

/// Verbs of `plugins`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PluginsVerb {
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
