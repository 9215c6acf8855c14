//! Choice of the executor of circuits: `--backend`.

use ketgrad_core::{
    circuit::Circuit,
    kernel::{ExecuteError, Executor, Executors},
    plan::Fast,
    simulate::final_measurements,
};
use ketgrad_plugin_host::{Choice, ChoiceFault, Plugins};
use num_complex::Complex;

use crate::{npy::Number, options::Common, report::Failure, terminal::Terminal};

impl Common {
    /// Returns the executors that may run a circuit.
    ///
    /// # Errors
    /// [`Failure`] if a plugin of the config is at fault, or the backend that is asked for is not
    /// there or cannot.
    pub(crate) fn executors<T: Number>(
        &self,
        circuit: &Circuit,
        terminal: &Terminal,
    ) -> Result<Executors, Failure> {
        let plugins = self.plugins.load(terminal)?;
        if let Choice::Auto | Choice::Cpu = self.backend() {
            note_faults(&plugins, circuit.n_qubits(), gates(circuit), terminal);
        }
        self.chosen::<T>(&plugins, circuit.n_qubits(), gates(circuit))
    }

    /// Returns the executors that may run this number of gates on n qubits.
    ///
    /// # Errors
    /// [`Failure`] if the backend that is asked for is not there or cannot.
    pub(crate) fn chosen<T: Number>(
        &self,
        plugins: &Plugins,
        n_qubits: usize,
        gates: usize,
    ) -> Result<Executors, Failure> {
        plugins.chosen::<T>(&self.backend(), n_qubits, gates).map_err(|fault| match &fault {
            ChoiceFault::Unknown { name, known } => {
                Failure::input(&fault).nearest(name, known.iter().map(String::as_str))
            }
            _ => {
                Failure::input(&fault).help("`ketgrad info` shows what each backend says of itself")
            }
        })
    }

    /// Reports the executors that would have run it but could not, and the reasons.
    pub(crate) fn note_passed_over(&self, executors: &Executors, terminal: &Terminal) {
        for ExecuteError { executor, reason, .. } in executors.fallbacks() {
            terminal.note(&format!("note: another backend stands in for `{executor}`: {reason}"));
        }
    }

    /// Says that numbers with derivatives run elsewhere, if a backend was asked for by name.
    pub(crate) fn note_duals(&self, what: &str, terminal: &Terminal) {
        if let Choice::Named(name) = self.backend()
            && name != Executor::<Complex<f64>>::name(&Fast::new())
        {
            terminal.note(&format!(
                "note: {what} computes with dual numbers, for which `{name}` has no kernels: the built-in ones run them"
            ));
        }
    }
}

/// Says which backends had no score because asking for it failed: they would be left out without a
/// word.
fn note_faults(plugins: &Plugins, n_qubits: usize, gates: usize, terminal: &Terminal) {
    for (name, fault) in plugins.faults(n_qubits, gates) {
        terminal.note(&format!("note: `{name}` is left out: {fault}"));
    }
}

/// Returns the number of gates of a circuit.
fn gates(circuit: &Circuit) -> usize {
    circuit.instructions().iter().filter(|i| i.operation.applies_gate()).count()
}

/// Returns true if the states of a circuit stay on a device, so that none is in the host's memory.
pub(crate) fn stays_there<T: Number>(executors: &Executors, circuit: &Circuit) -> bool {
    let executor = executors.best::<Complex<T>>(circuit.n_qubits(), gates(circuit));
    executor.device_states().is_some() && final_measurements(circuit).is_ok()
}
