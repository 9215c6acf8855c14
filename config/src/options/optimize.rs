//! The options of `optimize`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
A job is a TOML file:

  seed = 7                     # shots = 1000: energies from 1000 shots, by \"spsa\", \"adam\" or \"nelder_mead\"
  [ansatz]                     # or name = \"hardware_efficient\" (qubits, layers), \"qaoa\" (graph,
  circuit = \"ansatz.qasm\"      # layers), \"uccsd\" (qubits, electrons, or those of an FCIDUMP); inputs are the
                               # parameters
  [hamiltonian]                # or terms = \"Z0 Z1 - X0\"; or name = \"ising\", \"heisenberg\", \"max_cut\",
  file = \"h2.txt\"              # \"h2\", \"lih\"; a file has one term a line, or is an FCIDUMP, with mapping =
                               # \"jordan_wigner\" (\"parity\", \"bravyi_kitaev\"), frozen = [0], active = [1, 2],
                               # taper = true, penalty = 1.0
  [optimizer]                  # or \"newton_cg\", \"nelder_mead\", \"adam\", \"natural_gradient\", \"spsa\"
  method = \"lbfgs\"
  [stopping]
  iterations = 1000
  gradient = 1e-6              # enough if no derivative is larger, at a minimum
  change = 1e-12               # enough if three values in a row change by no more, at a minimum; with shots
                               # standard errors decide instead
  [start]
  random = 0.1                 # uniform from -0.1 to 0.1, but set = [\"theta=pi/4\"], params = \"point.json\"
  [output]
  checkpoint = \"h2.checkpoint.json\"
  every = 10                   # iterations between checkpoints
  curve = \"h2.svg\"

A graph is a file of edges, `0 1` or, with a weight, `0 1 0.5`, with vertices counted from 0; or one of
Gset (`4 5` for 4 vertices and 5 edges, then `1 2 1`) or DIMACS (`p edge 4 5`, then `e 1 2`), counted
from 1.

Paths are taken from the folder of the job. --resume goes on from the last checkpoint and ends with
the same result as a run that was never interrupted; without it the job begins anew.

Examples:
  ketgrad optimize h2.toml
  ketgrad optimize h2.toml --resume";

/// The verb `optimize`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Optimize {
    /// The job
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Go on from the last checkpoint
    #[arg(long)]
    pub(crate) resume: bool,
}
