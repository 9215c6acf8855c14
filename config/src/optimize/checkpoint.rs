//! Checkpoints: the state of a minimisation as JSON, and the job that it belongs to.
//!
//! Numbers are written with as many digits as it takes to read the same bits, so a run that is
//! taken up again ends as if it had never been interrupted. A checkpoint is written beside its
//! place, brought to the disk, and renamed: at every moment there is a whole one, the old or the
//! new.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use ketgrad_core::optimize::{Averages, CriticalPoint, Memory, State, Window};
use serde::{Deserialize, Serialize};

use super::job::Job;
use crate::{
    files::{cannot, read_text},
    options::Precision,
    report::Failure,
};

/// The layout of the file.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    version: u32,
    job: JobFingerprints,
    #[serde(with = "StateFields")]
    state: State,
}

/// The first that is read.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Fingerprints that must be equal for a run to be resumed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFingerprints {
    ansatz: String,
    hamiltonian: String,
    optimizer: String,
    start: String,
    #[serde(default = "double")]
    precision: String,
}

/// Returns the precision of checkpoints that do not name one.
fn double() -> String {
    Precision::F64.name().to_owned()
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", deny_unknown_fields)]
struct StateFields {
    x: Vec<f64>,
    value: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    stderr: Option<f64>,
    gradient: Vec<f64>,
    best: (Vec<f64>, f64),
    iterations: usize,
    values: Vec<f64>,
    evaluations: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    spread: Option<f64>,
    stalled: bool,
    #[serde(with = "MemoryFields")]
    memory: Memory,
    #[serde(with = "averages")]
    averages: Option<Averages>,
    #[serde(with = "shape")]
    shape: Option<CriticalPoint>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Memory")]
enum MemoryFields {
    Nothing,
    Means(Vec<f64>, Vec<f64>),
    Steps(Vec<(Vec<f64>, Vec<f64>)>),
    Simplex(Vec<(Vec<f64>, f64)>),
    Sizes(f64, f64),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Averages", deny_unknown_fields)]
struct AveragesFields {
    count: usize,
    points: Vec<f64>,
    values: f64,
    variance: f64,
    gradients: Vec<f64>,
    squares: Vec<f64>,
    #[serde(with = "windows")]
    windows: Vec<Window>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Window", deny_unknown_fields)]
struct WindowFields {
    mean: f64,
    stderr: f64,
    level: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CriticalPoint")]
enum ShapeFields {
    Minimum,
    Lower(Vec<f64>),
    Undecided,
    Slope,
    NoDerivatives,
}

/// Module for serde's `with`: serialization of several values of a type of the library, whose
/// fields are known here.
macro_rules! several {
    ($module:ident: $Many:ident<$Type:ident> by $fields:literal, $lend:expr, $take:expr) => {
        mod $module {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            use super::*;

            #[derive(Serialize)]
            struct Lent<'a>(#[serde(with = $fields)] &'a $Type);
            #[derive(Deserialize)]
            struct Own(#[serde(with = $fields)] $Type);

            pub(super) fn serialize<S: Serializer>(
                all: &$Many<$Type>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                let lend: fn(&$Many<$Type>) -> $Many<Lent<'_>> = $lend;
                lend(all).serialize(to)
            }

            pub(super) fn deserialize<'d, D: Deserializer<'d>>(
                from: D,
            ) -> Result<$Many<$Type>, D::Error> {
                let all = $Many::<Own>::deserialize(from)?;
                let take: fn($Many<Own>) -> $Many<$Type> = $take;
                Ok(take(all))
            }
        }
    };
}
several!(averages: Option<Averages> by "AveragesFields", |one| one.as_ref().map(Lent), |one| one.map(|own| own.0));
several!(shape: Option<CriticalPoint> by "ShapeFields", |one| one.as_ref().map(Lent), |one| one.map(|own| own.0));
several!(windows: Vec<Window> by "WindowFields", |all| all.iter().map(Lent).collect(), |all| all.into_iter().map(|own| own.0).collect());

impl JobFingerprints {
    pub(super) fn from_job(job: &Job, precision: Precision) -> JobFingerprints {
        let bits: Vec<u64> = job.start.iter().map(|x| x.to_bits()).collect();
        JobFingerprints {
            ansatz: fingerprint(&format!("{:?}", job.circuit)),
            hamiltonian: fingerprint(&match job.shots {
                None => format!("{:?}", job.hamiltonian),
                Some(shots) => format!("{:?}, {shots:?}", job.hamiltonian),
            }),
            optimizer: fingerprint(&format!("{:?}", job.optimizer)),
            start: fingerprint(&format!("{bits:?}")),
            precision: precision.name().to_owned(),
        }
    }

    /// Returns the name of the part that has changed.
    fn difference(&self, other: &JobFingerprints) -> Option<&'static str> {
        let pairs = [
            (&self.ansatz, &other.ansatz, "ansatz"),
            (&self.hamiltonian, &other.hamiltonian, "Hamiltonian or how it is measured"),
            (&self.optimizer, &other.optimizer, "optimizer"),
            (&self.start, &other.start, "start or the seed"),
            (&self.precision, &other.precision, "precision"),
        ];
        pairs.into_iter().find(|(a, b, _)| a != b).map(|(_, _, what)| what)
    }
}

/// Returns the hash of Fowler, Noll and Vo (FNV-1a, 64 bits): it tells jobs apart and guards
/// against nothing else.
fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Returns the file that is written before it becomes the checkpoint: one name for all of them, so
/// that a run that is killed leaves no more than one.
fn beside(path: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name()?);
    name.push(".tmp");
    Some(path.with_file_name(name))
}

/// Writes a checkpoint.
///
/// # Errors
/// [`Failure`] with what the system says; the old checkpoint is then as it was.
pub(super) fn save(path: &Path, marks: &JobFingerprints, state: &State) -> Result<(), Failure> {
    let checkpoint = Checkpoint { version: VERSION, job: marks.clone(), state: state.clone() };
    let write = || {
        let beside = beside(path).ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = fs::File::create(&beside)?;
        let mut text = serde_json::to_string(&checkpoint)?;
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // The name is brought to the disk too, where folders can be opened.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(folder).and_then(|folder| folder.sync_all()).or_else(|e| match e.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => Ok(()),
            _ => Err(e),
        })
    };
    write().map_err(|e: io::Error| cannot("write", &path.display().to_string(), &e))
}

/// Reads the state of a job of n inputs; `None` if there is no checkpoint. A half-written one,
/// which a run that was killed left, is removed.
///
/// # Errors
/// [`Failure`] for a file that is no checkpoint, or that of another job.
pub(super) fn load(
    path: &Path,
    marks: &JobFingerprints,
    n_inputs: usize,
) -> Result<Option<State>, Failure> {
    if let Some(half) = beside(path) {
        // Most often there is none, and whatever keeps it will keep the next one from being
        // written, with its error.
        let _ = fs::remove_file(half);
    }
    if matches!(fs::symlink_metadata(path), Err(e) if e.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let (name, text) = read_text(path)?;
    let help = "without --resume the job begins anew";
    let broken = |why: &dyn std::fmt::Display| {
        Failure::input(format_args!("{name} is no checkpoint: {why}")).help(help)
    };
    // A file of another version may have other fields.
    let Version { version } = serde_json::from_str(&text).map_err(|e| broken(&e))?;
    if version != VERSION {
        return Err(broken(&format_args!("its version is {version}, expected {VERSION}")));
    }
    let checkpoint: Checkpoint = serde_json::from_str(&text).map_err(|e| broken(&e))?;
    if let Some(what) = checkpoint.job.difference(marks) {
        return Err(Failure::input(format_args!(
            "{name} is of another job: the {what} was another"
        ))
        .help(help));
    }
    if !fits(&checkpoint.state, n_inputs) {
        return Err(broken(&format_args!("its lists are not of {n_inputs} numbers")));
    }
    Ok(Some(checkpoint.state))
}

/// Returns true if all lists have the length that they must have.
fn fits(state: &State, n: usize) -> bool {
    let remembered = match &state.memory {
        Memory::Nothing => true,
        Memory::Means(m, v) => m.len() == n && v.len() == n,
        Memory::Steps(steps) => steps.iter().all(|(s, y)| s.len() == n && y.len() == n),
        Memory::Simplex(corners) => {
            corners.len() == n + 1 && corners.iter().all(|c| c.0.len() == n)
        }
        Memory::Sizes(..) => true,
    };
    let averages = state.averages.as_ref().is_none_or(|averages| averages.fits(n));
    let shape = !matches!(&state.shape, Some(CriticalPoint::Lower(x)) if x.len() != n);
    let derivatives = if state.spread.is_some() { 0 } else { n };
    let lists =
        state.x.len() == n && state.best.0.len() == n && state.gradient.len() == derivatives;
    remembered
        && averages
        && shape
        && lists
        && state.values.len().checked_sub(1) == Some(state.iterations)
}
