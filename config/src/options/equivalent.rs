//! The options of `equivalent`.

use std::path::{Path, PathBuf};

use clap::Args;
use ketgrad_core::equivalent::On;

use super::values::ValueArgs;
use crate::report::Failure;

pub(super) const HELP: &str = "\
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
pub(crate) struct Equivalent {
    /// The first circuit
    #[arg(value_name = "A.qasm")]
    pub(crate) first: PathBuf,
    /// The second circuit; - reads one of the two from the standard input
    #[arg(value_name = "B.qasm")]
    pub(crate) second: PathBuf,
    /// The last K qubits start in 0
    #[arg(long, value_name = "K", allow_hyphen_values = true, default_value_t = 0)]
    pub(crate) ancillas: usize,
    /// Compare the states that all zeros become
    #[arg(long)]
    pub(crate) state: bool,
    /// The distance up to which a numeric verdict is equal
    #[arg(long, value_name = "X", allow_hyphen_values = true, default_value_t = 1e-9)]
    pub(crate) tolerance: f64,
    /// Take decimals that are multiples of pi to all their digits for those, and say so
    #[arg(long)]
    pub(crate) snap: bool,
    /// Compare the gates alone, and say which measurements that leaves out; without this, circuits
    /// that both measure are compared by the distributions of their classical bits
    #[arg(long)]
    pub(crate) ignore_measurements: bool,
    /// The value of an input, in whichever circuit has it; may be repeated
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// Such values from a file; may be repeated
    #[arg(long, value_name = "FILE.json", allow_hyphen_values = true)]
    pub(crate) params: Vec<PathBuf>,
}

impl Equivalent {
    /// Returns what is compared.
    ///
    /// # Errors
    /// [`Failure`] for options that exclude each other, and a tolerance out of range.
    pub(crate) fn settle(&self) -> Result<On, Failure> {
        if self.state && self.ancillas > 0 {
            return Err(Failure::usage(
                "--state starts all qubits in 0: --ancillas adds nothing to it",
            ));
        }
        if !(0.0..=2.0).contains(&self.tolerance) {
            return Err(Failure::usage(format_args!(
                "--tolerance is a number from 0 to 2, not {}",
                self.tolerance
            )));
        }
        if self.first == Path::new("-") && self.second == Path::new("-") {
            return Err(Failure::usage("only one of the two circuits can be the standard input"));
        }
        Ok(if self.state { On::State } else { On::Unitary { ancillas: self.ancillas } })
    }

    /// Returns the values of inputs of either circuit.
    pub(crate) fn values(&self) -> ValueArgs {
        ValueArgs { set: self.set.clone(), params: self.params.clone(), noise: None }
    }
}
