//! States that an executor keeps where it computes: on a device, say.
//!
//! ```text
//! Executor::device_states ──► DeviceStates ──basis, upload──► DeviceStateVector ──apply──► … ──► expectation, inner, sample
//! ```
//! From the first gate to the last result only values come back; amplitudes move when
//! [`DeviceStateVector::download`] asks for them. So a state may be larger than the memory of the
//! host.
//!
//! Values are in double precision whatever the amplitudes are.

use std::any::Any;

use num_complex::Complex;

use super::{ExecuteError, Operator, OverlapProbe};
use crate::{observable::PauliSum, scalar::Ring};

/// Makes states that stay where an executor computes.
pub trait DeviceStates<R: Ring>: Send + Sync {
    /// Returns the basis state `|index>` of n qubits.
    ///
    /// # Errors
    /// [`ExecuteError`] if there is no room for it (which changes nothing), or no such index.
    fn basis(
        &self,
        n_qubits: usize,
        index: usize,
    ) -> Result<Box<dyn DeviceStateVector<R>>, ExecuteError>;
    /// Returns the state of the given amplitudes, 2^n of them.
    ///
    /// # Errors
    /// [`ExecuteError`] if there is no room for it, or the amplitudes are no power of two.
    fn upload(&self, amplitudes: &[R]) -> Result<Box<dyn DeviceStateVector<R>>, ExecuteError>;
}

/// A state that stays where it is computed.
///
/// Each method fails with [`ExecuteError`] if the executor does, also for a failure in earlier
/// work; the state is then invalid. A second state must be of the same executor and size.
pub trait DeviceStateVector<R: Ring>: Any + Send {
    /// Returns the number of qubits.
    fn n_qubits(&self) -> usize;
    /// Applies operators in order.
    ///
    /// # Errors
    /// See [`DeviceStateVector`]; an operator on a qubit that is not there, or one that the
    /// executor does not take.
    fn apply(&mut self, operators: &[Operator<R>]) -> Result<(), ExecuteError>;
    /// Applies operators to this state, psi, and to another, lambda, and returns the inner products
    /// in their order, which is that of [`OverlapProbe::before`].
    ///
    /// # Errors
    /// Those of [`DeviceStateVector::apply`].
    fn apply_pair(
        &mut self,
        lambda: &mut dyn DeviceStateVector<R>,
        operators: &[Operator<R>],
        inners: &[OverlapProbe],
    ) -> Result<Vec<f64>, ExecuteError>;
    /// Returns `<psi|O|psi>`
    ///
    /// # Errors
    /// See [`DeviceStateVector`]; an observable on a qubit that is not there.
    fn expectation(&self, observable: &PauliSum) -> Result<f64, ExecuteError>;
    /// Writes `O|psi>` into another state, whatever that was.
    ///
    /// # Errors
    /// Those of [`DeviceStateVector::expectation`].
    fn observed_into(
        &self,
        observable: &PauliSum,
        into: &mut dyn DeviceStateVector<R>,
    ) -> Result<(), ExecuteError>;
    /// Returns `O|psi>`, another state.
    ///
    /// # Errors
    /// Those of [`DeviceStateVector::expectation`].
    fn observed(
        &self,
        observable: &PauliSum,
    ) -> Result<Box<dyn DeviceStateVector<R>>, ExecuteError>;
    /// Returns `<self|other>`
    ///
    /// # Errors
    /// See [`DeviceStateVector`].
    fn inner(&self, other: &dyn DeviceStateVector<R>) -> Result<Complex<f64>, ExecuteError>;
    /// Samples the state: for each number u of an ascending list in [0, 1) the basis state at which
    /// the cumulative distribution passes u.
    ///
    /// # Errors
    /// See [`DeviceStateVector`].
    fn sample(&self, uniforms: &[f64]) -> Result<Vec<usize>, ExecuteError>;
    /// Puts the amplitudes into memory of 2^n.
    ///
    /// # Errors
    /// See [`DeviceStateVector`]; memory of another size.
    fn download(&self, amplitudes: &mut [R]) -> Result<(), ExecuteError>;
    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// See [`DeviceStateVector`].
    fn wait(&self) -> Result<(), ExecuteError>;
    /// Returns another state with the same amplitudes.
    ///
    /// # Errors
    /// See [`DeviceStateVector`].
    fn copy(&self) -> Result<Box<dyn DeviceStateVector<R>>, ExecuteError>;
}
