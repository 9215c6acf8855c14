//! The harness: a folder of Python scripts, driven as subprocesses.
//!
//! `sv_bench.py --suite S --peer P --n N --threads T --rounds R --budget B` must print one JSON
//! object a line for each workload, of which these fields are read:
//!
//! | field | is |
//! |---|---|
//! | `workload` | `X` … `CCX`; `qcbm` `qft` `qv` `hea`; `pauli-terms-100`; `shots-100000`; `hea-4` |
//! | `seconds_median`, `seconds_min` | of one gate, circuit, observable or all shots; the median of R or more |
//! | `version`, `precision` | of the peer; `single` or `double` |
//! | `ref_seconds_median` | of the harness's own plain C, timed in turn with the peer |
//! | `floor_seconds` | what the memory alone would take |
//!
//! The time of a gate is the difference of a long run and a run of one gate, over the difference in
//! gates. `svref.py` must define the circuits as lists of (name, qubits, parameters):
//! `single(gate, n, count)`, `CIRCUITS[name](n)`, `ansatz(n, layers)`, and the observables
//! `random_paulis(n, terms, weight)` and `ising(n)`.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    table::Times,
    work::{SHOTS, Suite, Work},
};

/// Prints a workload of the harness as JSON. Arguments: suite, name, number of qubits.
const SCRIPT: &str = r#"
import json, sys
import numpy as np
import svref
suite, name, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
stride = 1 if n < 20 else -(-n // 8)
gates = (svref.single(name, n, n)[::stride] if suite == "gates" else
         svref.CIRCUITS[name](n) if suite in ("circuits", "plans") else
         svref.ansatz(n, 4 if suite == "gradient" else 1))
terms = (svref.random_paulis(n, 100, 4) if suite == "pauli" else
         svref.ising(n) if suite == "gradient" else [])
def numbers(gate, params):
    if gate == "U2":
        return np.ascontiguousarray(params[0], complex).reshape(-1).view(float).tolist()
    return [float(p) for p in params]
print(json.dumps({
    "gates": [[g, [int(q) for q in on], numbers(g, p)] for g, on, p in gates],
    "terms": [[float(c), " ".join(f"{p}{q}" for q, p in s.items())] for c, s in terms]}))
"#;

/// Location of the peers.
pub(crate) struct Harness {
    folder: PathBuf,
    python: String,
    rounds: usize,
    budget: f64,
}

/// A row of the harness.
pub(crate) struct Found {
    pub(crate) workload: String,
    pub(crate) times: Times,
    pub(crate) floor: Option<f64>,
    /// The median of the plain C in the same process.
    pub(crate) reference: Option<f64>,
}

impl Harness {
    pub(crate) fn new(folder: &Path, python: &str, rounds: usize, budget: f64) -> Harness {
        Harness { folder: folder.to_owned(), python: python.to_owned(), rounds, budget }
    }

    /// A workload in numbers.
    pub(crate) fn work(&self, suite: Suite, name: &str, n: usize) -> Result<Work, String> {
        let mut command = Command::new(&self.python);
        command.current_dir(&self.folder).args(["-c", SCRIPT, suite.name(), name, &n.to_string()]);
        let output = command.output().map_err(|e| format!("cannot start {}: {e}", self.python))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the harness does not give {name} on {n} qubits:\n{said}"));
        }
        let said = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        Work::read(suite, n, &said)
    }

    /// The peer's rows; none if it has no such suite or fails, which is said.
    pub(crate) fn times(
        &self,
        suite: Suite,
        peer: &str,
        workloads: &[&str],
        n: usize,
        threads: usize,
    ) -> Vec<Found> {
        let (name, choose) = suite.of_harness();
        let mut command = Command::new(&self.python);
        command
            .current_dir(&self.folder)
            .arg("sv_bench.py")
            .args(["--suite", name, "--peer", peer]);
        command.args(["--n", &n.to_string(), "--threads", &threads.to_string()]);
        command.args(["--rounds", &self.rounds.to_string(), "--budget", &self.budget.to_string()]);
        if let Some(choose) = choose {
            command.arg(choose).args(workloads);
        }
        if suite == Suite::Shots {
            command.args(["--shots", &SHOTS.to_string()]);
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(e) => {
                eprintln!("{peer}: cannot start {}: {e}", self.python);
                return Vec::new();
            }
        };
        let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
        let lines = lines.into_iter().flatten().map_while(Result::ok);
        let rows = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let found: Vec<Found> = rows.filter_map(|row| Found::read(&row)).collect();
        let ended = child.wait().is_ok_and(|status| status.success());
        if !ended || found.is_empty() {
            eprintln!("{peer}: no times for {name} on {n} qubits with {threads} threads");
        }
        found
    }
}

impl Found {
    fn read(row: &Value) -> Option<Found> {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let mut times = Times::new(text("peer"), text("version"), text("precision"));
        times.samples.push(row["seconds_median"].as_f64()?);
        times.least = row["seconds_min"].as_f64()?;
        Some(Found {
            workload: text("workload").to_owned(),
            times,
            floor: row["floor_seconds"].as_f64(),
            reference: row["ref_seconds_median"].as_f64(),
        })
    }
}
