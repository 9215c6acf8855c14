//! Choice of the backend that runs circuits: by score, those of the processor, or one by name.
//!
//! | choice | who may run |
//! |---|---|
//! | `auto` | all: by priority, then score, then the order of registration |
//! | `cpu` | the built-in kernels and those of plugins on the host's memory, in that order; no device |
//! | a name | that backend, or none |
//!
//! The built-in kernels are called `fast`. Numbers that carry derivatives have no kernels but the
//! built-in ones, whatever the choice.

use std::{fmt, sync::Arc};

use ketgrad_core::{
    kernel::{Executor, Executors, SimdFloat},
    plan::Fast,
};
use num_complex::Complex;

use crate::{
    device::Device,
    executor::{Backend, HostKernels},
    plugins::Plugins,
};

/// Backend that runs circuits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Best backend by priority, then score.
    #[default]
    Auto,
    /// Best backend of those that work in the host's memory.
    Cpu,
    /// Backend of this name.
    Named(String),
}

impl From<&str> for Choice {
    fn from(text: &str) -> Choice {
        match text {
            "auto" => Choice::Auto,
            "cpu" => Choice::Cpu,
            name => Choice::Named(name.to_owned()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Choice::Auto => "auto",
            Choice::Cpu => "cpu",
            Choice::Named(name) => name,
        })
    }
}

/// Reason why a backend that was asked for does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceFault {
    /// No backend has that name.
    #[error("there is no backend `{name}`; there are {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Names of the backends.
        known: Vec<String>,
    },
    /// The backend declines the work.
    #[error("the backend `{name}` cannot run this: {reason}")]
    Declines {
        /// The name.
        name: String,
        /// Reason in words.
        reason: String,
    },
}

/// Backend, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The plugin that brought it.
    pub plugin: String,
    /// True if its states are in memory of its own.
    pub is_device: bool,
    /// Description by the backend itself.
    pub description: String,
    /// Score in double precision: the built-in kernels are 100, 0 is not at all.
    pub double: u32,
    /// Score in single precision.
    pub single: u32,
    /// Reason why it has no score, if asking for one failed.
    pub fault: Option<String>,
}

impl Known {
    pub(crate) fn from_backend(b: &Backend, n_qubits: usize, operators: usize) -> Known {
        Known {
            name: b.name().to_owned(),
            plugin: b.plugin().to_owned(),
            is_device: b.is_device(),
            description: b.describe(),
            double: b.score::<f64>(n_qubits, operators),
            single: if b.is_device() { b.score::<f32>(n_qubits, operators) } else { 0 },
            fault: fault(b, n_qubits, operators),
        }
    }
}

impl Plugins {
    /// Returns the kernels of this program and those of the plugins, in one registry.
    #[must_use]
    pub fn executors(&self) -> Executors {
        self.some(|_| Some(false))
    }

    /// Returns the kernels that may run that many operators on n qubits with amplitudes of two `E`
    /// each.
    ///
    /// # Errors
    /// [`ChoiceFault`] if the one that is asked for does not exist, or declines.
    pub fn chosen<E: SimdFloat>(
        &self,
        choice: &Choice,
        n_qubits: usize,
        operators: usize,
    ) -> Result<Executors, ChoiceFault> {
        let Choice::Named(name) = choice else {
            return Ok(self.some(|b| (*choice == Choice::Auto || !b.is_device()).then_some(false)));
        };
        let built_in = built_in();
        if *name == built_in {
            return Ok(self.some(|_| None));
        }
        let Some(backend) = self.backends().iter().find(|b| b.name() == name) else {
            let of_plugins = self.backends().iter().map(|b| b.name().to_owned());
            let known =
                ["auto".to_owned(), "cpu".to_owned(), built_in].into_iter().chain(of_plugins);
            return Err(ChoiceFault::Unknown { name: name.clone(), known: known.collect() });
        };
        match refusal::<E>(backend, n_qubits, operators) {
            Some(reason) => Err(ChoiceFault::Declines { name: name.clone(), reason }),
            None => Ok(self.some(|b| (b.name() == name).then_some(true))),
        }
    }

    /// Returns the built-in kernels and some of the plugins', each with true if it comes before all
    /// others.
    fn some(&self, wanted: impl Fn(&Backend) -> Option<bool>) -> Executors {
        let mut executors = Executors::fast();
        for backend in self.backends() {
            let Some(first) = wanted(backend) else { continue };
            if !backend.is_device() {
                executors.insert::<Complex<f64>>(Arc::new(HostKernels {
                    backend: backend.clone(),
                    first,
                }));
                continue;
            }
            let device = Arc::new(Device::new(backend.clone(), first));
            if device.knows::<f64>() {
                executors.insert::<Complex<f64>>(device.clone());
            }
            if device.knows::<f32>() {
                executors.insert::<Complex<f32>>(device);
            }
        }
        executors
    }

    /// Returns the backends of the plugins, with their scores for that many operators on n qubits.
    #[must_use]
    pub fn known(&self, n_qubits: usize, operators: usize) -> Vec<Known> {
        self.backends().iter().map(|b| Known::from_backend(b, n_qubits, operators)).collect()
    }

    /// Returns the backends that failed to give a score for that many operators on n qubits, and
    /// why.
    pub fn faults(
        &self,
        n_qubits: usize,
        operators: usize,
    ) -> impl Iterator<Item = (&str, String)> {
        self.backends().iter().filter_map(move |b| Some((b.name(), fault(b, n_qubits, operators)?)))
    }
}

/// Returns the reason why a backend has no score in one of its precisions, if asking for it failed.
fn fault(backend: &Backend, n_qubits: usize, operators: usize) -> Option<String> {
    let single =
        || backend.is_device().then(|| backend.fault::<f32>(n_qubits, operators)).flatten();
    backend.fault::<f64>(n_qubits, operators).or_else(single)
}

/// Returns the name of the built-in kernels.
pub(crate) fn built_in() -> String {
    Executor::<Complex<f64>>::name(&Fast::new()).to_owned()
}

/// Returns the reason why a backend declines the work, if it does.
fn refusal<E: SimdFloat>(backend: &Backend, n_qubits: usize, operators: usize) -> Option<String> {
    let most = backend.raw.raw.max_qubits;
    let single = size_of::<E>() == size_of::<f32>();
    if !backend.knows::<E>() || single && !backend.is_device() {
        return Some(format!("it has no {} precision", if single { "single" } else { "double" }));
    }
    if n_qubits > most as usize {
        return Some(format!("{n_qubits} qubits; it takes at most {most}"));
    }
    if backend.score::<E>(n_qubits, operators) > 0 {
        return None;
    }
    if let Some(fault) = backend.fault::<E>(n_qubits, operators) {
        return Some(fault);
    }
    let said = backend.describe();
    Some(if said.is_empty() { "it says so, and not why".to_owned() } else { said })
}
