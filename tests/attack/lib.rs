//! Random attacks: inputs from seeds, each run through every way there is, and the ways compared.
//!
//! ```text
//! cargo run -p ketgrad-attack -- --seconds 3600 --seed 1 --threads 2
//! cargo run -p ketgrad-attack -- --target programs --only 8731
//! cargo run -p ketgrad-attack -- --file tests/attack/corpus/many_phases.qasm
//! cargo run --release -p ketgrad-attack -- --survey states --seed 0 --count 1000
//! ```
//! `survey` says in a table how far results are from right ones. A target is a function of a seed
//! (`finding::Check`): the same seed gives the same input on every machine. What it finds is
//! printed once for each law with the least input that shows it and the command that repeats it.
//! Seeds run in processes of their own (`child`), so that aborts and hangs are found, too.
//!
//! | target | inputs | references |
//! |---|---|---|
//! | `states` | circuits of the pools | [`support::dense`]; plans, generic kernels, `f32`, duals, density matrices |
//! | `gradients` | circuits with parameters | differences of [`support::dense`]; all methods with each other |
//! | `equivalent` | pairs of circuits | states of [`support::dense`] |
//! | `dynamic` | measurements, conditions, noise | all branches followed by hand |
//! | `qasm` | texts of OpenQASM 2 and 3 | an interpreter here; print and parse |
//! | `hostile` | broken texts of every language | that there is an answer |
//! | `angles` | constant expressions | fractions of 128 bits, and `f64` with an error bound |
//! | `programs` | programs of the program language | an interpreter here, on duals; all engines with each other |
//! | `ir` | programs as IR text, whole and broken | print and parse; the verifier |
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line")]

mod angles;
mod child;
mod circuits;
mod corpus;
mod dynamic;
mod equivalent;
mod finding;
mod gradients;
mod hostile;
mod ir;
mod programs;
mod qasm;
mod survey;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use finding::{Check, Finding};

/// The targets by name.
const TARGETS: &[(&str, Check)] = &[
    ("states", circuits::check),
    ("gradients", gradients::check),
    ("equivalent", equivalent::check),
    ("dynamic", dynamic::check),
    ("qasm", qasm::check),
    ("hostile", hostile::check),
    ("angles", angles::check),
    ("programs", programs::check),
    ("ir", ir::check),
];

/// Seconds of an attack, by default.
const SECONDS: u64 = 60;
/// Seeds of one process.
const BATCH: u64 = 200;
/// The most findings of one law that are shown.
const SHOWN: usize = 3;

struct Options {
    seconds: Option<u64>,
    seed: u64,
    threads: usize,
    target: Option<String>,
    only: Option<u64>,
    file: Option<String>,
    survey: Option<String>,
    count: u64,
}

fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options {
        seconds: None,
        seed: 1,
        threads: 1,
        target: None,
        only: None,
        file: None,
        survey: None,
        count: 100,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} takes a value", pair[0])) };
        let number = || value.parse::<u64>().map_err(|e| format!("{name} {value}: {e}"));
        match name.as_str() {
            "--seconds" => options.seconds = Some(number()?),
            "--seed" => options.seed = number()?,
            "--threads" => {
                options.threads = usize::try_from(number()?).map_err(|e| e.to_string())?
            }
            "--target" => options.target = Some(value.clone()),
            "--only" => options.only = Some(number()?),
            "--file" => options.file = Some(value.clone()),
            "--survey" => options.survey = Some(value.clone()),
            "--count" => options.count = number()?,
            _ => {
                let all =
                    "--seconds, --seed, --threads, --target, --only, --file, --survey, --count";
                return Err(format!("no option {name}: {all}"));
            }
        }
    }
    Ok(options)
}

fn target(name: &str) -> Result<(&'static str, Check), String> {
    let names: Vec<&str> = TARGETS.iter().map(|t| t.0).collect();
    let found = TARGETS.iter().find(|t| t.0 == name).copied();
    found.ok_or_else(|| format!("no target {name}: {}", names.join(", ")))
}

/// The names of all targets.
pub fn targets() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.0)
}

/// Checks a seed of a target, in this process.
///
/// # Errors
/// If there is no such target, and what was found.
pub fn check_seed(name: &str, seed: u64) -> Result<(), String> {
    let (name, check) = target(name)?;
    finding::guarded(&"the seed", || check(seed)).map_err(|found| shown(name, seed, &found))
}

/// Checks whether a file of the corpus is as its first lines say.
///
/// # Errors
/// The law that fails, and how.
pub fn check_file(file: &Path) -> Result<(), String> {
    corpus::check(file).map_err(|found| format!("{}: {}", found.law, found.detail))
}

/// Runs what the words of a command line ask for. The process must be one that runs this with its
/// own words, since it starts itself for each range of seeds.
///
/// # Errors
/// Words that say nothing, and what was found.
pub fn run(words: &[String]) -> Result<(), String> {
    finding::quiet_panics();
    if let [flag, name, first, count] = words
        && flag == "--child"
    {
        let number = |text: &str| text.parse::<u64>().map_err(|e| e.to_string());
        let first = number(first)?;
        child::serve(target(name)?.1, first..first + number(count)?);
        return Ok(());
    }
    let options = options(words)?;
    if let Some(file) = &options.file {
        check_file(Path::new(file))?;
        println!("{file}: as it says");
        return Ok(());
    }
    if let Some(name) = &options.survey {
        let until = options.seconds.map(|s| Instant::now() + Duration::from_secs(s));
        return survey::run(
            name,
            options.seed..options.seed + options.count,
            until,
            options.threads,
        );
    }
    if let (Some(name), Some(seed)) = (&options.target, options.only) {
        check_seed(name, seed)?;
        println!("{name} {seed}: all laws hold");
        return Ok(());
    }
    attack(&options)
}

/// All targets in turn, until the time is over.
fn attack(options: &Options) -> Result<(), String> {
    let targets: Vec<_> = match &options.target {
        Some(name) => vec![target(name)?],
        None => TARGETS.to_vec(),
    };
    let until = Instant::now() + Duration::from_secs(options.seconds.unwrap_or(SECONDS));
    // The next seed of each target, and the findings by target and law.
    let next = Mutex::new((0, vec![options.seed; targets.len()]));
    let found = Mutex::new(BTreeMap::<(&str, String), usize>::new());
    let work = || {
        while Instant::now() < until {
            let Ok(mut turn) = next.lock() else { return };
            let which = turn.0 % targets.len();
            turn.0 += 1;
            let first = turn.1[which];
            turn.1[which] += BATCH;
            drop(turn);
            let name = targets[which].0;
            let mut report = |seed: u64, finding: Finding| {
                let Ok(mut found) = found.lock() else { return };
                let count = found.entry((name, finding.law.clone())).or_insert(0);
                *count += 1;
                if *count <= SHOWN {
                    println!("{}\n", shown(name, seed, &finding));
                }
            };
            let mut at = first;
            while at < first + BATCH && Instant::now() < until {
                match child::watch(name, at..first + BATCH, until, &mut report) {
                    Ok(after) => at = after,
                    Err(error) => return eprintln!("no process for {name}: {error}"),
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(work);
        }
    });
    let (_, seeds) = next.into_inner().unwrap_or_default();
    for ((name, _), seed) in targets.iter().zip(seeds) {
        println!("{name}: seeds {} to {seed}", options.seed);
    }
    let found = found.into_inner().unwrap_or_default();
    for ((name, law), count) in &found {
        println!("{count} times {name}: {law}");
    }
    if found.is_empty() { Ok(()) } else { Err(format!("{} laws do not hold", found.len())) }
}

fn shown(name: &str, seed: u64, found: &Finding) -> String {
    let Finding { law, detail, input } = found;
    format!(
        "== {name}: {law}\n{detail}\n-- input\n{input}\n-- repeat: cargo run -p ketgrad-attack -- --target \
         {name} --only {seed}"
    )
}
