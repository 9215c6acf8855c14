//! The options of `amplitudes`.

use std::path::PathBuf;

use clap::Args;
use ketgrad_core::exact::Form;

use super::values::ValueArgs;
use crate::{parse::choose, report::Failure};

pub(super) const HELP: &str = "\
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
pub(crate) struct Amplitudes {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub(crate) file: PathBuf,
    /// Only this basis state, qubit 0 rightmost; may be repeated
    #[arg(long, value_name = "BITS", allow_hyphen_values = true)]
    pub(crate) basis: Vec<String>,
    /// The expectation value of an observable, or of those in @FILE, in place of amplitudes, but
    /// those of --basis; may be repeated
    #[arg(long = "observable", value_name = "OBS", allow_hyphen_values = true)]
    pub(crate) observables: Vec<String>,
    /// Form: in sines and cosines, in exponentials, or in LaTeX
    #[arg(long, value_name = "trig|exp|latex", allow_hyphen_values = true, default_value = "trig")]
    pub(crate) form: String,
    /// Multiply everything out: one sum for each amplitude, with as many summands as it has terms
    #[arg(long)]
    pub(crate) expand: bool,
    /// Options that give parameters a value; without one they stay symbols
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

impl Amplitudes {
    /// Returns the notation of formulas.
    ///
    /// # Errors
    /// [`Failure`] for one that does not exist.
    pub(crate) fn settle(&self) -> Result<Form, Failure> {
        let names = [("trig", Form::Trig), ("exp", Form::Exp), ("latex", Form::Latex)];
        choose("--form", "trig, exp or latex", &self.form, &names)
    }
}
