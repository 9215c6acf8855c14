//! The options: a struct for each verb, which holds them as they are given.
//!
//! The command line fills the structs ([`clap`]), and the config file fills those of every verb and
//! of `run` ([`config_file`](crate::config_file)); what the command line gives wins
//! ([`Common::or`], [`Run::settle`]). A default is said in one place: by `clap`, or by the method
//! that has the option's name. `settle` reads the options that are names, and refuses those that
//! exclude each other. It runs after the config file is read, whose faults come first.
//!
//! | file | holds the options of |
//! |---|---|
//! | `common` | every verb |
//! | `values` | every verb with a circuit |
//! | `run`, `amplitudes`, `equivalent`, `grad`, `optimize`, `plugins` | the verb of that name |
//! | `program` | `diff` and `check` |
//! | `show` | `convert` and `draw` |

mod amplitudes;
mod common;
mod equivalent;
mod grad;
mod optimize;
mod plugins;
mod program;
mod run;
mod show;
mod values;

use clap::{Parser, Subcommand};

pub(crate) use self::{
    amplitudes::Amplitudes,
    common::{Common, Precision},
    equivalent::Equivalent,
    grad::Grad,
    optimize::Optimize,
    plugins::PluginsVerb,
    program::{Check, Diff, Emit},
    run::{DEFAULT_SHOTS, Noisy, Run},
    show::{Convert, Draw, Language, Picture},
    values::ValueArgs,
};

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
pub(crate) struct CommandLine {
    /// The verb.
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Options of every verb.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Verbs of the program.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Simulates a circuit in OpenQASM 2 or 3
    #[command(after_help = run::HELP)]
    Run(Run),
    /// Prints a circuit as OpenQASM 2 or 3
    #[command(
        after_help = "Examples:\n  ketgrad convert old.qasm --to qasm3\n  ketgrad convert new.qasm --to qasm2 > old.qasm"
    )]
    Convert(Convert),
    /// Prints the amplitudes as formulas in the parameters
    #[command(after_help = amplitudes::HELP)]
    Amplitudes(Amplitudes),
    /// Decides whether two circuits are equal for all values of their parameters
    #[command(after_help = equivalent::HELP)]
    Equivalent(Equivalent),
    /// Differentiates an expectation value by the parameters
    #[command(after_help = grad::HELP)]
    Grad(Grad),
    /// Differentiates a program
    #[command(
        after_help = "Examples:\n  ketgrad diff model.kg --at a=1,b=2 --by a\n  ketgrad diff -e 'fn f(x) { sin(x) * x }' --at x=pi/4 --order 2"
    )]
    Diff(Diff),
    /// Compares all derivative engines on a program or an expectation value
    #[command(
        after_help = "Examples:\n  ketgrad check -e 'fn f(x) { sin(x) * x }' --at x=pi/4\n  ketgrad check ansatz.qasm --observable 'Z0 Z1' --set theta=0.3"
    )]
    Check(Check),
    /// Draws a circuit
    #[command(
        after_help = "Examples:\n  ketgrad draw bell.qasm\n  ketgrad draw bell.qasm --format svg -o bell.svg"
    )]
    Draw(Draw),
    /// Runs a variational job: parameters of a circuit that make an energy small
    #[command(after_help = optimize::HELP)]
    Optimize(Optimize),
    /// Lists, checks and hashes the plugins of a config file
    #[command(
        after_help = "Examples:\n  ketgrad plugins list --config mine.toml\n  ketgrad plugins hash libmine.so"
    )]
    Plugins {
        /// The verb of `plugins`.
        #[command(subcommand)]
        what: PluginsVerb,
    },
    /// Shows the version, the machine and the backends
    #[command(after_help = "Examples:\n  ketgrad info\n  ketgrad info --json")]
    Info,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::CommandLine::command().debug_assert();
    }
}
