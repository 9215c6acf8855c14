//! Kernels for state vectors in memory of a device.
//!
//! A state is made on the device, goes through all its gates there, and what is asked of it comes
//! back as values: expectation values, inner products, samples. Amplitudes move only when somebody
//! wants to see them.

pub use ketgrad_plugin_abi::{Inner, PauliTerm};

use crate::{
    C64,
    backend::{Gates, Precision, Query},
    error::Result,
};

/// Memory that holds the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// That of a CUDA device.
    Cuda,
    /// That of a device which only the plugin understands.
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
/// - One call at a time has a state; calls with different states may come from several threads at
///   once.
///
/// Work may go on after a call that gives no value has returned. Its error then comes out at the
/// next call that waits: [`DeviceKernels::sync`], or one that gives a value.
pub trait DeviceKernels: Send + Sync + 'static {
    /// A state on the device.
    type State: Send + 'static;

    /// Its name, for people and for the config: `cuda:0`.
    fn name(&self) -> String;
    /// A few lines for people: what the device is, how much memory it has, or why it cannot be
    /// used.
    fn describe(&self) -> String {
        String::new()
    }
    /// Score of the device: the built-in kernels are 100, 0 is not at all. Cheap; it starts no
    /// device.
    fn score(&self, query: &Query) -> i32;
    /// The precisions that it has.
    fn precisions(&self) -> &[Precision];
    /// Kinds of operators that it takes besides dense ones; see [`gate_kinds`](crate::gate_kinds).
    fn gates(&self) -> u32 {
        0
    }
    /// The qubits of the largest state.
    fn max_qubits(&self) -> u32;
    /// The most targets of a dense operator, at least 2; those of more are not asked of it.
    fn max_targets(&self) -> u32 {
        2
    }
    /// Memory of the states.
    fn memory(&self) -> Memory {
        Memory::Opaque
    }

    /// A state whose 2^n amplitudes are 0, which is none of any system yet.
    ///
    /// # Errors
    /// There is no room for it, say.
    fn zeros(&self, precision: Precision, n_qubits: u32) -> Result<Self::State>;
    /// The state becomes `|index>`.
    ///
    /// # Errors
    /// Why it could not.
    fn basis(&self, state: &mut Self::State, index: u64) -> Result<()>;
    /// Another state with the same amplitudes.
    ///
    /// # Errors
    /// There is no room for it, say.
    fn copy(&self, from: &Self::State) -> Result<Self::State>;
    /// Takes amplitudes from the host's memory.
    ///
    /// # Errors
    /// Why it could not.
    fn upload(&self, state: &mut Self::State, amplitudes: &[u8]) -> Result<()>;
    /// Waits, and puts the amplitudes into the host's memory.
    ///
    /// # Errors
    /// Why it could not; an error of earlier work.
    fn download(&self, state: &Self::State, amplitudes: &mut [u8]) -> Result<()>;
    /// Waits for all work on the state.
    ///
    /// # Errors
    /// An error of earlier work.
    fn sync(&self, state: &Self::State) -> Result<()>;
    /// Applies the operators in order.
    ///
    /// # Errors
    /// Why it could not; the state is then of no use.
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
    /// The sum of the terms' expectation values, for a state of any norm.
    ///
    /// # Errors
    /// Why it could not; an error of earlier work.
    fn expectation(&self, state: &Self::State, terms: &[PauliTerm]) -> Result<f64>;
    /// `<a|b>`
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`].
    fn inner(&self, a: &Self::State, b: &Self::State) -> Result<C64>;
    /// `<a| sum of terms |b>`
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`].
    fn inner_paulis(&self, a: &Self::State, terms: &[PauliTerm], b: &Self::State) -> Result<C64>;
    /// `to = sum of terms |from>`, whatever `to` was.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::apply`].
    fn apply_paulis(
        &self,
        terms: &[PauliTerm],
        from: &Self::State,
        to: &mut Self::State,
    ) -> Result<()>;
    /// For each number u of an ascending list in [0, 1), the first index up to which the
    /// probabilities add up to more than u times the sum of all of them. Where rounding leaves
    /// none, the last index that can occur.
    ///
    /// # Errors
    /// The same as for [`DeviceKernels::expectation`]; or the sum is 0 or not finite.
    fn sample(&self, state: &Self::State, uniforms: &[f64], indices: &mut [u64]) -> Result<()>;
}
