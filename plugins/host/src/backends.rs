//! Backends of plugins that run circuits, beside the built-in kernels.

use std::sync::Arc;

use crate::{
    choice::Known,
    conform::{Finding, conform, conform_kernels},
    deadline::within,
    device::Device,
    executor::{Backend, HostKernels},
    plugins::Plugins,
};

/// Factor by which the whole suite may take longer than loading, which compares less.
const LONGER: u32 = 10;

/// Result of comparing a device, or the gate kernels of a plugin in the host's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendVerdict {
    /// Its name.
    pub name: String,
    /// The plugin that brought it.
    pub plugin: String,
    /// True if its states are in memory of its own.
    pub is_device: bool,
    /// Number of comparisons.
    pub comparisons: usize,
    /// Disagreement, in words.
    pub disagreement: Option<String>,
    /// Reason why nothing was compared.
    pub note: Option<String>,
}

impl Plugins {
    /// Compares each device, and the gate kernels of each plugin or of one, with the built-in
    /// kernels, on states of up to n qubits. A backend that takes ten times as long as
    /// [`load_timeout`](crate::Settings::load_timeout) disagrees.
    ///
    /// Cost: some seconds for each, on 16 qubits.
    #[must_use]
    pub fn verify_backends(&self, n_qubits: usize, plugin: Option<&str>) -> Vec<BackendVerdict> {
        let limit = self.settings().load_timeout.map(|limit| limit * LONGER);
        let some = self
            .backends()
            .iter()
            .filter(|backend| plugin.is_none_or(|plugin| backend.plugin() == plugin));
        let verdict = |backend: &Arc<Backend>| {
            let shared = backend.clone();
            let compared = within(limit, move |progress| {
                progress.report_activity("where it is compared".to_owned());
                compared(&shared, n_qubits)
            });
            compared.unwrap_or_else(|fault| BackendVerdict {
                disagreement: Some(fault.to_string()),
                ..BackendVerdict::from_backend(backend)
            })
        };
        some.map(verdict).collect()
    }
}

impl BackendVerdict {
    fn from_backend(backend: &Backend) -> BackendVerdict {
        BackendVerdict {
            name: backend.name().to_owned(),
            plugin: backend.plugin().to_owned(),
            is_device: backend.is_device(),
            comparisons: 0,
            disagreement: None,
            note: None,
        }
    }
}

fn compared(backend: &Arc<Backend>, n_qubits: usize) -> BackendVerdict {
    let mut verdict = BackendVerdict::from_backend(backend);
    let known = Known::from_backend(backend, n_qubits, 1);
    if known.fault.is_some() {
        verdict.disagreement = known.fault;
    } else if known.double == 0 && known.single == 0 {
        verdict.note = Some(format!("it declines. {}", known.description).trim_end().to_owned());
    } else {
        let findings = match backend.is_device() {
            true => conform(&Device::new(backend.clone(), false), n_qubits),
            false => {
                conform_kernels(&HostKernels { backend: backend.clone(), first: true }, n_qubits)
            }
        };
        verdict.comparisons = findings.len();
        let wrong: Vec<String> =
            findings.iter().filter(|f| !f.holds()).map(Finding::to_string).collect();
        verdict.disagreement = (!wrong.is_empty()).then(|| wrong.join("; "));
    }
    verdict
}
