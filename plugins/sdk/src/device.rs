//! Kernels for state vectors in memory of a device.
//!
//! A state is made on the device, goes through all its gates there, and results return as values:
//! expectation values, inner products, samples. Amplitudes move only when the user asks for them.

pub use ketgrad_plugin_abi::{Inner, PauliTerm};

use crate::{
    C64,
    backend::{Gates, Precision, Query},
    error::Result,
};

/// Memory that holds the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of a CUDA device.
    Cuda,
    /// Memory that only the plugin understands.
    Opaque,
}

/// Kernels for states in memory of a device; see [`Registrar::device`](crate::Registrar::device).
///
/// # What the host promises
/// - States that come together in one call have the same number of qubits and the same precision;
///   where one of them is changed they are different states.
/// - Bytes are those of 2^n amplitudes, real and imaginary part in turn, each an `f64` or an `f32`
///   by the precision: amplitude i belongs to the basis state whose bits are those of i, qubit 0
///   the least significant. The address is that of a slice of such numbers.
/// - Operators have at most [`DeviceKernels::max_targets`] targets and are of the kinds in
///   [`DeviceKernels::gates`] or dense. Their matrices are in double precision whatever the state's
///   is.
/// - One call at a time uses a state; calls with different states may come from several threads at
///   once.
///
/// Work may continue after a call without a result has returned. Its error is then returned by the
/// next call that waits: [`DeviceKernels::sync`], or one that returns a value.
pub trait DeviceKernels: Send + Sync + 'static {
    /// State on the device.
    type State: Send + 'static;

    /// Name, for people and for the config: `cuda:0`.
    fn name(&self) -> String;
    /// Description of a few lines, for people: the device and its memory, or the reason why it
    /// cannot be used.
    fn describe(&self) -> String {
        String::new()
    }
    /// Score of the device: the built-in kernels are 100, 0 is not at all. Cheap; it starts no
    /// device.
    fn score(&self, query: &Query) -> i32;
    /// Precisions that it supports.
    fn precisions(&self) -> &[Precision];
    /// Kinds of operators that it takes besides dense ones; see [`gate_kinds`](crate::gate_kinds).
    fn gates(&self) -> u32 {
        0
    }
    /// Number of qubits of the largest state.
    fn max_qubits(&self) -> u32;
    /// Largest number of targets of a dense operator, at least 2; operators of more are not passed
    /// to it.
    fn max_targets(&self) -> u32 {
        2
    }
    /// Memory of the states.
    fn memory(&self) -> Memory {
        Memory::Opaque
    }

    /// Allocates a state whose 2^n amplitudes are 0, not yet a valid state of a system.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    fn zeros(&self, precision: Precision, n_qubits: u32) -> Result<Self::State>;
    /// Sets the state to `|index>`.
    ///
    /// # Errors
    /// The device fails.
    fn basis(&self, state: &mut Self::State, index: u64) -> Result<()>;
    /// Copies a state.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    fn copy(&self, from: &Self::State) -> Result<Self::State>;
    /// Copies amplitudes from the host's memory.
    ///
    /// # Errors
    /// The device fails.
    fn upload(&self, state: &mut Self::State, amplitudes: &[u8]) -> Result<()>;
    /// Waits, and copies the amplitudes to the host's memory.
    ///
    /// # Errors
    /// The device fails, or earlier work has failed.
    fn download(&self, state: &Self::State, amplitudes: &mut [u8]) -> Result<()>;
    /// Waits for all work on the state.
    ///
    /// # Errors
    /// Earlier work has failed.
    fn sync(&self, state: &Self::State) -> Result<()>;
    /// Applies the operators in order.
    ///
    /// # Errors
    /// The device fails; the state is then undefined.
    fn apply(&self, state: &mut Self::State, gates: Gates<'_>) -> Result<()>;
    /// Applies the operators to both states; `values[k]` is `im <lambda|P|psi>` of `inners[k]`,
    /// taken before operator number `inners[k].before`, or after all of them. The inner products
    /// are in that order. Waits.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::apply`].
    fn apply_pair(
        &self,
        psi: &mut Self::State,
        lambda: &mut Self::State,
        gates: Gates<'_>,
        inners: &[Inner],
        values: &mut [f64],
    ) -> Result<()>;
    /// Returns the sum of the terms' expectation values, for a state of any norm.
    ///
    /// # Errors
    /// The device fails, or earlier work has failed.
    fn expectation(&self, state: &Self::State, terms: &[PauliTerm]) -> Result<f64>;
    /// Returns `<a|b>`.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`].
    fn inner(&self, a: &Self::State, b: &Self::State) -> Result<C64>;
    /// Returns `<a| sum of terms |b>`.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`].
    fn inner_paulis(&self, a: &Self::State, terms: &[PauliTerm], b: &Self::State) -> Result<C64>;
    /// Computes `to = sum of terms |from>`, whatever `to` was.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::apply`].
    fn apply_paulis(
        &self,
        terms: &[PauliTerm],
        from: &Self::State,
        to: &mut Self::State,
    ) -> Result<()>;
    /// Samples by inversion: for each number u of an ascending list in [0, 1), the first index
    /// whose cumulative probability exceeds u times the sum of all. Where rounding leaves none, the
    /// last index that can occur.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`]; or the sum is 0 or not finite.
    fn sample(&self, state: &Self::State, uniforms: &[f64], indices: &mut [u64]) -> Result<()>;
}
