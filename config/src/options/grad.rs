//! The options of `grad`.

use std::path::PathBuf;

use clap::Args;
use ketgrad_core::hybrid::Method;

use super::values::ValueArgs;
use crate::{
    files::is_stdout,
    parse::{choose, parse_shots},
    report::Failure,
};

pub(super) const HELP: &str = "\
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
pub(crate) struct Grad {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub(crate) file: PathBuf,
    /// The observable: a sum of terms such as '0.5*Z0 Z1 - X2', or @FILE with one term a line, an
    /// FCIDUMP, or a Hermitian matrix (.npy, MatrixMarket); may be repeated
    #[arg(long = "observable", value_name = "OBS", allow_hyphen_values = true, required = true)]
    pub(crate) observables: Vec<String>,
    /// Method: adjoint, shift, forward, symbolic (in closed form) or difference
    /// [default: adjoint; shift with --shots]
    #[arg(
        long,
        value_name = "adjoint|shift|forward|symbolic|difference",
        allow_hyphen_values = true
    )]
    pub(crate) method: Option<String>,
    /// Second derivatives too
    #[arg(long, conflicts_with = "shots")]
    pub(crate) hessian: bool,
    /// Start from this state instead of all zeros
    #[arg(long, value_name = "STATE.npy", allow_hyphen_values = true)]
    pub(crate) input: Option<PathBuf>,
    /// Measure, with this number of shots for each value, with standard errors
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_shots)]
    pub(crate) shots: Option<u64>,
    /// Write the gradient: float64, or float32 with f32, in order of declaration
    #[arg(long, value_name = "GRADIENT.npy", allow_hyphen_values = true)]
    pub(crate) output: Option<PathBuf>,
    /// Values of parameters.
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

impl Grad {
    /// Returns the method of differentiation: adjoint, or shift with shots, unless one is given.
    ///
    /// # Errors
    /// [`Failure`] for a method that does not exist, and options that exclude each other.
    pub(crate) fn settle(&self) -> Result<Method, Failure> {
        let methods =
            [Method::Adjoint, Method::Shift, Method::Forward, Method::Symbolic, Method::Difference];
        let list = "one of adjoint, shift, forward, symbolic, difference";
        let method = match &self.method {
            Some(name) => choose("--method", list, name, &methods.map(|m| (m.name(), m)))?,
            None if self.shots.is_some() => Method::Shift,
            None => Method::Adjoint,
        };
        if self.output.as_deref().is_some_and(is_stdout) {
            return Err(Failure::usage(
                "--output needs a file: the standard output is for the results",
            ));
        }
        if self.shots.is_some() && method != Method::Shift {
            return Err(Failure::usage(format_args!(
                "--method {method} takes no --shots: measured derivatives are those of shifts"
            )));
        }
        Ok(method)
    }
}
