//! Variances and covariances of observables: the spread of the outcomes of measurements.
//!
//! With `a = (A - <A>) |psi>` and b likewise, the symmetrised covariance `<AB + BA>/2 - <A><B>` is
//! `re <a|b>`, and the variance `<A^2> - <A>^2` the squared norm of a: what is nearly zero is no
//! difference of large numbers. Of a density matrix it is `re tr((B - <B>) (A - <A>) rho)`.

use num_complex::Complex;

use super::{DensityMatrix, StateError, StateVector};
use crate::{
    kernel::Threads,
    observable::PauliSum,
    scalar::{Real, Scalar},
};

impl<T: Real> StateVector<Complex<T>> {
    /// Returns `<O^2> - <O>^2`, never less than 0. O(2^n) as [`StateVector::applied`]; memory:
    /// another state.
    ///
    /// ```
    /// use ketgrad_core::{kernel::Threads, state::StateVector};
    /// use num_complex::Complex;
    /// let zero = StateVector::<Complex<f64>>::zero(1)?;
    /// let threads = Threads::serial();
    /// assert_eq!(zero.variance(&"X0 + 3 Z0".parse()?, &threads)?, 1.0);
    /// assert_eq!(zero.covariance(&"X0".parse()?, &"Z0 + 2 X0".parse()?, &threads)?, 2.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StateError`] if it acts on a qubit that the state does not have, or if the memory is not
    /// to be had.
    pub fn variance(&self, observable: &PauliSum, threads: &Threads) -> Result<T, StateError> {
        Ok(self.deviation(observable, threads)?.norm2(threads))
    }

    /// Returns `<AB + BA>/2 - <A><B>`. O(2^n) as [`StateVector::applied`]; memory: two states.
    ///
    /// # Errors
    /// Those of [`StateVector::variance`].
    pub fn covariance(
        &self,
        a: &PauliSum,
        b: &PauliSum,
        threads: &Threads,
    ) -> Result<T, StateError> {
        let (a, b) = (self.deviation(a, threads)?, self.deviation(b, threads)?);
        Ok(a.inner(&b, threads)?.re())
    }

    /// Returns `(O - <O>) |psi>`.
    fn deviation(&self, observable: &PauliSum, threads: &Threads) -> Result<Self, StateError> {
        let mean = self.expectation(observable, threads)?;
        let mut deviation = self.applied(observable, threads)?;
        deviation.axpy(&Complex::from_real(-mean), self, threads);
        Ok(deviation)
    }
}

impl<T: Real> DensityMatrix<Complex<T>> {
    /// Returns `tr(O^2 rho) - tr(O rho)^2`, never less than 0. O(4^n) as [`StateVector::applied`];
    /// memory: another matrix.
    ///
    /// # Errors
    /// [`StateError`] if it acts on a qubit that the state does not have, or if the memory is not
    /// to be had.
    pub fn variance(&self, observable: &PauliSum, threads: &Threads) -> Result<T, StateError> {
        let variance = self.covariance(observable, observable, threads)?;
        // Rounding may leave less than nothing.
        Ok(match variance.primal() {
            Some(below) if below < 0.0 => variance - T::lit(below),
            _ => variance,
        })
    }

    /// Returns `tr((AB + BA) rho)/2 - tr(A rho) tr(B rho)`. O(4^n) as [`StateVector::applied`];
    /// memory: another matrix.
    ///
    /// # Errors
    /// Those of [`DensityMatrix::variance`].
    pub fn covariance(
        &self,
        a: &PauliSum,
        b: &PauliSum,
        threads: &Threads,
    ) -> Result<T, StateError> {
        let (mean_a, mean_b) = (self.expectation(a)?, self.expectation(b)?);
        // The rows are the first n qubits.
        let mut entries = self.vector().applied(a, threads)?;
        entries.axpy(&Complex::from_real(-mean_a), self.vector(), threads);
        let deviation = DensityMatrix::from_entries(self.n_qubits(), entries);
        Ok(deviation.expectation(b)? - mean_b * deviation.trace())
    }
}
