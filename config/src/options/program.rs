//! The options of the verbs that differentiate programs: `diff`, and `check`, which takes circuits,
//! too.

use std::path::{Path, PathBuf};

use clap::Args;
use ketgrad_core::pass::Level;

use super::values::ValueArgs;
use crate::{
    parse::{choose, parse_size},
    report::Failure,
};

/// The verb `diff`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Diff {
    /// The program; - reads it from the standard input
    #[arg(value_name = "FILE.kg", required_unless_present = "source", conflicts_with = "source")]
    pub(crate) file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', value_name = "SOURCE", allow_hyphen_values = true)]
    pub(crate) source: Option<String>,
    /// The point: `a=1,b=pi/2,xs=[1,2],m=[[1,2],[3,4]],p=(3,4),data=@data.npy`; may be repeated
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Vec<String>,
    /// Values from a file: JSON by name, `{"a": 1, "xs": [1, 2], "p": {"x": 3}}`, or NumPy with the
    /// real numbers in order or the one array; --at wins over it
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) params: Option<PathBuf>,
    /// The function to differentiate [default: the last one]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) function: Option<String>,
    /// The parameters to differentiate by; the others are constants [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "emit")]
    pub(crate) by: Vec<String>,
    /// First derivatives, or second ones too
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) order: u8,
    /// The most memory that the gradient keeps of long loops, such as 64MiB: iterations are
    /// computed again instead
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "emit", allow_hyphen_values = true)]
    pub(crate) memory_budget: Option<u64>,
    /// Print the program or its derivative instead of running it; with --order 2 its second
    /// derivative along a direction, too
    #[arg(long, value_name = "ir|adjoint|rust|latex|dot", allow_hyphen_values = true)]
    pub(crate) emit: Option<String>,
    /// Leave the program as it is written
    #[arg(long)]
    pub(crate) no_optimize: bool,
    /// Simplify by the equations of real numbers too, which may change the last digits, signs of
    /// zeros (so the side of a branch cut, as of atan2), and what is infinite or NaN on the way
    #[arg(long, conflicts_with = "no_optimize")]
    pub(crate) algebraic: bool,
}

/// The verb `check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Check {
    /// The program or the circuit; - reads it from the standard input
    #[arg(value_name = "FILE", required_unless_present = "source", conflicts_with = "source")]
    pub(crate) file: Option<PathBuf>,
    /// The program itself
    #[arg(short = 'e', value_name = "SOURCE", allow_hyphen_values = true)]
    pub(crate) source: Option<String>,
    /// The point of a program: `a=1,b=pi/2,xs=[1,2],m=[[1,2],[3,4]],p=(3,4),data=@data.npy`; may be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    pub(crate) at: Vec<String>,
    /// The function to check [default: the last one]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) function: Option<String>,
    /// Compare first derivatives, or second ones of a program
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) order: u8,
    /// The observable of a circuit: a sum of terms, or @FILE as of `grad`
    #[arg(long, value_name = "OBS", allow_hyphen_values = true)]
    pub(crate) observable: Option<String>,
    /// Values of a circuit's parameters; of a program's with --params.
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

/// A text of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emit {
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

impl Diff {
    /// Returns the text that replaces derivatives, if one does.
    ///
    /// # Errors
    /// [`Failure`] for a text that does not exist, and options that exclude each other.
    pub(crate) fn settle(&self) -> Result<Option<Emit>, Failure> {
        let names = [
            ("ir", Emit::Ir),
            ("adjoint", Emit::Adjoint),
            ("rust", Emit::Rust),
            ("latex", Emit::Latex),
            ("dot", Emit::Dot),
        ];
        let list = "ir, adjoint, rust, latex or dot";
        let emit = self.emit.as_ref().map(|name| choose("--emit", list, name, &names));
        let emit = emit.transpose()?;
        if self.order == 2 && self.memory_budget.is_some() {
            return Err(Failure::usage(
                "--memory-budget is for first derivatives: leave out --order 2",
            ));
        }
        Ok(emit)
    }

    /// Returns the level of optimization of the program.
    pub(crate) fn level(&self) -> Level {
        match (self.no_optimize, self.algebraic) {
            (true, _) => Level::None,
            (false, true) => Level::Algebraic,
            (false, false) => Level::Strict,
        }
    }
}

impl Check {
    /// Returns the file of the circuit; `None` for a program.
    ///
    /// # Errors
    /// [`Failure`] for options of both, and what is missing or too much for either.
    pub(crate) fn settle(&self) -> Result<Option<&Path>, Failure> {
        let ends = |end: &str| {
            let extension = self.file.as_ref().and_then(|file| file.extension());
            extension.is_some_and(|extension| extension.eq_ignore_ascii_case(end))
        };
        let ValueArgs { set, params, noise } = &self.values;
        let is_program =
            self.source.is_some() || ends("kg") || !self.at.is_empty() || self.function.is_some();
        let is_circuit = ends("qasm")
            || self.observable.is_some()
            || !set.is_empty()
            || noise.is_some()
            || !params.is_empty() && !is_program;
        match (&self.file, &self.observable) {
            _ if is_program && is_circuit => Err(Failure::usage(
                "-e, --at and --function belong to programs (.kg), --observable, --set and --noise to circuits (.qasm)",
            )),
            _ if is_circuit && self.order == 2 => Err(Failure::usage(
                "--order 2 is for programs: of a circuit `grad --hessian` gives second derivatives",
            )),
            (Some(file), Some(_)) => Ok(Some(file)),
            _ if is_circuit => Err(Failure::usage("a circuit needs --observable")),
            _ if params.len() > 1 => Err(Failure::usage(
                "a program takes one --params file: what is left is given with --at",
            )),
            _ => Ok(None),
        }
    }
}
