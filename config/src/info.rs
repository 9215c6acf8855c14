//! The verb `info`: this program, this machine, and which backend would run.

use std::io::{self, Write};

use ketgrad_core::{
    kernel::{Executor, InstructionSet, Threads},
    plan::Fast,
    state::bytes_text,
};
use ketgrad_plugin_host::{Choice, Plugins};
use num_complex::Complex;
use serde::Serialize;

use crate::{
    memory::SystemMemory,
    npy::Number,
    options::Common,
    report::{Failure, clean},
    terminal::{Answer, Terminal},
};

/// A circuit of ordinary size.
const QUBITS: usize = 20;
const GATES: usize = 100;

/// Answer of `info`; the fields are the keys of its JSON.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Info {
    /// The version of the program.
    pub(crate) version: &'static str,
    /// The features of the processor.
    pub(crate) cpu_features: CpuFeatures,
    /// Number of threads that a run would use, given the options.
    pub(crate) threads: usize,
    /// The memory in bytes.
    pub(crate) memory: Memory,
    /// Backends that run circuits, for each precision.
    pub(crate) backends: Vec<Backend>,
    /// The features that the program was built with.
    pub(crate) features: Vec<&'static str>,
    /// Seconds that the search took.
    pub(crate) seconds: f64,
    #[serde(skip)]
    json: bool,
}

/// The features of the processor.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CpuFeatures {
    /// The kind of processor.
    pub(crate) architecture: &'static str,
    /// Features that the processor has.
    pub(crate) detected: Vec<&'static str>,
    /// Features that the kernels use.
    pub(crate) in_use: Vec<&'static str>,
}

/// The memory in bytes; `null` where the system does not tell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Memory {
    /// All of it.
    pub(crate) total: Option<u64>,
    /// Bytes that are free.
    pub(crate) available: Option<u64>,
    /// `--memory-limit`.
    pub(crate) limit: Option<u64>,
}

/// A backend and why it was chosen.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Backend {
    /// Name of the backend.
    pub(crate) name: String,
    /// The precision that it serves.
    pub(crate) precision: &'static str,
    /// True if a run would use it.
    pub(crate) chosen: bool,
    /// Reason.
    pub(crate) reason: String,
    /// Description that it gives of itself.
    pub(crate) description: String,
}

/// Looks around.
///
/// # Errors
/// [`Failure`] if a plugin of the config is at fault.
pub(crate) fn info(common: &Common, terminal: &Terminal) -> Result<Box<dyn Answer>, Failure> {
    let start = std::time::Instant::now();
    let system = SystemMemory::read();
    let plugins = common.plugins.load(terminal)?;
    let backends = backends(&plugins, common, terminal);
    // Without the feature every pool is serial.
    let parallel = Threads::new(2).is_ok_and(|t| t.count() > 1);
    let mut info = Info {
        version: env!("CARGO_PKG_VERSION"),
        cpu_features: CpuFeatures {
            architecture: std::env::consts::ARCH,
            detected: detected(),
            in_use: in_use(),
        },
        threads: common.threads(),
        memory: Memory {
            total: system.total,
            available: system.available,
            limit: common.memory_limit,
        },
        backends,
        features: if parallel { vec!["parallel"] } else { Vec::new() },
        seconds: 0.0,
        json: common.json,
    };
    info.seconds = start.elapsed().as_secs_f64();
    Ok(Box::new(info))
}

/// Returns all backends, each for the precisions that it has.
fn backends(plugins: &Plugins, common: &Common, terminal: &Terminal) -> Vec<Backend> {
    let known = plugins.known(QUBITS, GATES);
    let double = chosen::<f64>(plugins, common, terminal);
    let single = chosen::<f32>(plugins, common, terminal);
    let fast = Executor::<Complex<f64>>::name(&Fast::new()).to_owned();
    let mut backends = Vec::new();
    for (precision, chosen) in [("f64", double), ("f32", single)] {
        let is = |name: &str| chosen.as_deref() == Some(name);
        backends.push(Backend {
            name: fast.clone(),
            precision,
            chosen: is(&fast),
            reason: "vector registers and plans of few passes; other number types take the generic kernels"
                .to_owned(),
            description: String::new(),
        });
        for known in &known {
            let score = if precision == "f64" { known.double } else { known.single };
            if score == 0 && precision == "f32" && known.double > 0 {
                continue;
            }
            let why = match (score, is(&known.name), common.backend()) {
                (0, ..) => known.fault.clone().unwrap_or_else(|| "it declines".to_owned()),
                (_, true, Choice::Named(_)) => "asked for by name".to_owned(),
                (_, true, _) => "it comes first".to_owned(),
                (_, false, Choice::Cpu) if known.is_device => "`cpu` has no devices".to_owned(),
                (_, false, Choice::Named(_)) => "another was asked for".to_owned(),
                (_, false, _) => "another comes first".to_owned(),
            };
            backends.push(Backend {
                name: known.name.clone(),
                precision,
                chosen: is(&known.name),
                reason: format!(
                    "of the plugin `{}`; by priority, then score ({score}), {why}",
                    known.plugin
                ),
                description: known.description.clone(),
            });
        }
    }
    backends
}

/// Returns the backend that would run a circuit of ordinary size.
fn chosen<T: Number>(plugins: &Plugins, common: &Common, terminal: &Terminal) -> Option<String> {
    match plugins.chosen::<T>(&common.backend(), QUBITS, GATES) {
        Ok(executors) => Some(executors.best::<Complex<T>>(QUBITS, GATES).name().to_owned()),
        Err(fault) => {
            terminal.note(&format!("note: {fault}"));
            None
        }
    }
}

/// Returns the features that matter to kernels, as the processor reports them.
fn detected() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! list {
            ($($name:tt)*) => {
                [$(($name, std::arch::is_x86_feature_detected!($name))),*]
            };
        }
        let all =
            list!["sse2" "sse4.2" "avx" "avx2" "fma" "avx512f" "avx512dq" "avx512vl" "avx512bw"];
        all.into_iter().filter(|f| f.1).map(|f| f.0).collect()
    }
    #[cfg(target_arch = "aarch64")]
    {
        if std::arch::is_aarch64_feature_detected!("neon") { vec!["neon"] } else { Vec::new() }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Vec::new()
    }
}

/// Returns the features that the kernels make use of here: what the compiler was told it may use,
/// and the instruction set that is chosen while the program runs.
fn in_use() -> Vec<&'static str> {
    let chosen: &[&str] = match InstructionSet::detect() {
        InstructionSet::Avx512 => &["avx2", "fma", "avx512f", "avx512dq", "avx512vl"],
        InstructionSet::Avx2 => &["avx2", "fma"],
        InstructionSet::Neon => &["neon"],
        _ => &[],
    };
    let compiled = [
        ("sse2", cfg!(target_feature = "sse2")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("neon", cfg!(target_feature = "neon")),
    ];
    let mut all: Vec<&str> = compiled.into_iter().filter(|f| f.1).map(|f| f.0).collect();
    all.extend(chosen.iter().filter(|f| !cfg!(target_feature = "avx2") || **f != "avx2"));
    all
}

impl Answer for Info {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            serde_json::to_writer(&mut *out, self).map_err(io::Error::from)?;
            return writeln!(out);
        }
        let bytes = |n: Option<u64>| n.map_or("unknown".to_owned(), |n| bytes_text(n.into()));
        let list =
            |items: &[&str]| if items.is_empty() { "none".to_owned() } else { items.join(" ") };
        writeln!(out, "version       {}", self.version)?;
        writeln!(out, "processor     {}", self.cpu_features.architecture)?;
        writeln!(out, "  has         {}", list(&self.cpu_features.detected))?;
        writeln!(out, "  in use      {}", list(&self.cpu_features.in_use))?;
        writeln!(out, "threads       {}", self.threads)?;
        let (total, free) = (bytes(self.memory.total), bytes(self.memory.available));
        write!(out, "memory        {total}, {free} free")?;
        match self.memory.limit {
            Some(limit) => writeln!(out, ", limit {}", bytes_text(limit.into()))?,
            None => writeln!(out)?,
        }
        for backend in &self.backends {
            let Backend { name, precision, chosen, reason, description } = backend;
            writeln!(
                out,
                "backend {precision}   {name}{}: {reason}",
                if *chosen { "" } else { " (not chosen)" }
            )?;
            for line in description.lines() {
                writeln!(out, "              {}", clean(line))?;
            }
        }
        writeln!(out, "built with    {}", list(&self.features))
    }
}
