//! The options that give parameters of a circuit their values.

use std::path::PathBuf;

use clap::Args;

/// Values of parameters.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ValueArgs {
    /// The value of a parameter, such as a=pi/4, or with an error bar a=0.3+-0.01; may be repeated
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// The values of parameters from a file: by name (JSON), or in order of declaration those that
    /// have no other value, or all (NumPy; two axes: a row for each point); may be repeated, and
    /// --set wins
    #[arg(long, value_name = "FILE.json|FILE.npy", allow_hyphen_values = true)]
    pub(crate) params: Vec<PathBuf>,
    /// Add noise: a model of which channels follow which instructions
    #[arg(long, value_name = "NOISE.toml|AER.json", allow_hyphen_values = true)]
    pub(crate) noise: Option<PathBuf>,
}
