//! Ketgrad beside other simulators: one run, the same circuits, taking turns.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin compare -- --harness FOLDER --python PYTHON
//!     [--suite gates circuits plans pauli shots gradient] [--n 20 22] [--threads 1 2] [--workload qft …]
//!     [--peers qulacs qiskit-aer lightning.qubit lightning.kokkos qsim | none]
//!     [--precision double single] [--rounds 5] [--peer-rounds 5] [--budget 0.25] [--out FILE.json] [--append FILE.json]
//! ```
//! FOLDER holds a harness of Python scripts that times the peers (see `peers.rs` for what it must
//! offer) and names the circuits; PYTHON is an interpreter that has the peers. For each suite,
//! number of qubits and number of threads, the peers run one after another, each in a process of
//! its own, and ketgrad runs in this process before the first and after each: every figure is the
//! median of at least five runs, and what disturbs the machine disturbs all. A peer that takes
//! minutes may be given fewer rounds, which the file then says. `--append` adds the rows to those
//! that a file has.
//!
//! | suite | a run of ketgrad is |
//! |---|---|
//! | `gates` | one gate on an allocated state, over the targets in turn; no two gates are joined |
//! | `circuits` | binding, planning and running all gates on an allocated state |
//! | `plans` | running a plan that was made before, on an allocated state; peers run their circuits as before |
//! | `pauli` | the expectation value of 100 random Pauli strings of weight 4 |
//! | `shots` | 10^5 shots, in order |
//! | `gradient` | the energy of a prepared ansatz with its 8n derivatives, binding included |
//!
//! `floor` is the harness's: reading and writing in place what each gate must touch, gate by gate
//! (a plan joins gates and goes below it), or reading the state once for each string, or once for
//! all shots.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod gradient;
mod ours;
mod peers;
mod table;
mod work;

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use peers::Harness;
use table::{Row, Times};
use work::Suite;

/// Options of the command line.
struct Options {
    harness: PathBuf,
    python: String,
    suites: Vec<Suite>,
    sizes: Vec<usize>,
    threads: Vec<usize>,
    workloads: Vec<String>,
    peers: Vec<String>,
    precisions: Vec<String>,
    rounds: usize,
    peer_rounds: usize,
    budget: f64,
    out: Option<PathBuf>,
    append: Option<PathBuf>,
}

const PEERS: [&str; 5] = ["qulacs", "qiskit-aer", "lightning.qubit", "lightning.kokkos", "qsim"];

/// Each option with its values.
fn words() -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut last = None;
    for word in std::env::args().skip(1) {
        if let Some(name) = word.strip_prefix("--") {
            let known = [
                "harness",
                "python",
                "suite",
                "n",
                "threads",
                "workload",
                "peers",
                "precision",
                "rounds",
                "peer-rounds",
                "budget",
                "out",
                "append",
            ];
            if !known.contains(&name) {
                return Err(format!(
                    "--{name} is not an option; these are: --{}",
                    known.join(" --")
                ));
            }
            options.entry(name.to_owned()).or_default();
            last = Some(name.to_owned());
        } else {
            let name = last.as_ref().ok_or_else(|| format!("`{word}` belongs to no option"))?;
            options.entry(name.clone()).or_default().push(word);
        }
    }
    Ok(options)
}

impl Options {
    fn read() -> Result<Options, Box<dyn Error>> {
        let mut words = words()?;
        let mut take = |name: &str| words.remove(name).unwrap_or_default();
        let one = |name: &str, values: Vec<String>| match <[String; 1]>::try_from(values) {
            Ok([value]) => Ok(value),
            Err(values) => Err(format!("--{name} needs one value, not {}", values.len())),
        };
        let numbers = |name: &str, values: Vec<String>, default: &[usize]| {
            let read = |v: &String| v.parse().map_err(|_| format!("--{name}: `{v}` is no number"));
            let given: Vec<usize> = values.iter().map(read).collect::<Result<_, String>>()?;
            Ok::<_, String>(if given.is_empty() { default.to_vec() } else { given })
        };
        let suites: Vec<Suite> =
            take("suite").iter().map(|s| Suite::named(s)).collect::<Result<_, String>>()?;
        let peers = take("peers");
        let budget = take("budget");
        let rounds = numbers("rounds", take("rounds"), &[5])?[0].max(5);
        Ok(Options {
            harness: one("harness", take("harness"))?.into(),
            python: one("python", take("python"))?,
            suites: if suites.is_empty() { Suite::ALL.to_vec() } else { suites },
            sizes: numbers("n", take("n"), &[20, 22])?,
            threads: numbers("threads", take("threads"), &[1, 2])?,
            workloads: take("workload"),
            peers: match peers.as_slice() {
                [] => PEERS.map(str::to_owned).to_vec(),
                [none] if none == "none" => Vec::new(),
                _ => peers,
            },
            precisions: take("precision"),
            rounds,
            peer_rounds: numbers("peer-rounds", take("peer-rounds"), &[rounds])?[0],
            budget: if budget.is_empty() { 0.25 } else { one("budget", budget)?.parse()? },
            out: take("out").pop().map(PathBuf::from),
            append: take("append").pop().map(PathBuf::from),
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let harness =
        Harness::new(&options.harness, &options.python, options.peer_rounds, options.budget);
    let mut rows = Vec::new();
    for &suite in &options.suites {
        for &n in &options.sizes {
            for &threads in &options.threads {
                rows.extend(turns(&options, &harness, suite, n, threads)?);
            }
        }
    }
    table::print(&rows);
    if let Some(path) = &options.out {
        std::fs::write(path, serde_json::to_string_pretty(&table::json(&rows, &[]))?)?;
    }
    if let Some(path) = &options.append {
        let before = match std::fs::read(path) {
            Ok(text) => serde_json::from_slice::<serde_json::Value>(&text)?["rows"].clone(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => serde_json::Value::Null,
            Err(e) => return Err(e.into()),
        };
        let before = before.as_array().map_or(&[][..], Vec::as_slice);
        std::fs::write(path, serde_json::to_string_pretty(&table::json(&rows, before))?)?;
    }
    Ok(())
}

/// All workloads of a suite at one size: ketgrad, a peer, ketgrad, a peer, ….
fn turns(
    options: &Options,
    harness: &Harness,
    suite: Suite,
    n: usize,
    threads: usize,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let wanted =
        |name: &&str| options.workloads.is_empty() || options.workloads.iter().any(|w| w == name);
    let names: Vec<&str> = suite.workloads().iter().copied().filter(wanted).collect();
    let mut rows: Vec<Row> =
        names.iter().map(|name| Row::new(suite, name, n, (threads, options.peer_rounds))).collect();
    let works =
        names.iter().map(|name| harness.work(suite, name, n)).collect::<Result<Vec<_>, _>>()?;
    let mut ours = ours::Ours::new(n, threads)?;
    let each = options.rounds.div_ceil(options.peers.len() + 1);
    let mut turn = |rows: &mut [Row]| -> Result<(), Box<dyn Error>> {
        for (row, work) in rows.iter_mut().zip(&works) {
            ours.run(work, row, &options.precisions, each, options.budget)?;
        }
        Ok(())
    };
    turn(&mut rows)?;
    for peer in &options.peers {
        for found in harness.times(suite, peer, &names, n, threads) {
            let Some(row) = rows.iter_mut().find(|row| row.workload == found.workload) else {
                continue;
            };
            row.floor = found.floor.or(row.floor);
            if let Some(reference) = found.reference {
                let c = || Times::new("plain C", "", "double");
                row.peers.entry("c-ref".to_owned()).or_insert_with(c).samples.push(reference);
            }
            row.peers.insert(peer.clone(), found.times);
        }
        turn(&mut rows)?;
    }
    rows.iter().for_each(|row| eprintln!("{}", row.line()));
    Ok(rows)
}
