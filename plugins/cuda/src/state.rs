//! State vector on a device.

use std::sync::Arc;

use ketgrad_plugin_sdk::{Error, Precision, Result};

use crate::driver::{Buffer, Driver};

/// 2^n amplitudes in device memory, with interleaved real and imaginary parts. Amplitude i belongs
/// to the basis state whose bits are those of i, qubit 0 the least significant.
#[derive(Debug)]
pub(crate) struct CudaState {
    amplitudes: Buffer<u8>,
    n_qubits: u32,
    precision: Precision,
    /// True if it has not been changed since it was made as |0…0>.
    is_new: bool,
}

/// Returns the bytes of an amplitude.
pub(crate) fn amplitude_bytes(precision: Precision) -> usize {
    match precision {
        Precision::Single => 8,
        Precision::Double => 16,
    }
}

/// Returns the bytes of a state, if they fit a number.
pub(crate) fn state_bytes(precision: Precision, n_qubits: u32) -> Option<usize> {
    1usize.checked_shl(n_qubits)?.checked_mul(amplitude_bytes(precision))
}

impl CudaState {
    /// Allocates a state whose amplitudes are all zero.
    ///
    /// # Errors
    /// The memory does not suffice: the error names the bytes needed and the bytes free.
    pub(crate) fn zeros(
        driver: &Arc<dyn Driver>,
        precision: Precision,
        n_qubits: u32,
    ) -> Result<CudaState> {
        let mut state = CudaState::uninitialised(driver, precision, n_qubits)?;
        state.amplitudes.zero()?;
        Ok(state)
    }

    fn uninitialised(
        driver: &Arc<dyn Driver>,
        precision: Precision,
        n_qubits: u32,
    ) -> Result<CudaState> {
        let bytes = state_bytes(precision, n_qubits).ok_or_else(|| {
            Error::new(format!("{n_qubits} qubits: 2^{n_qubits} amplitudes are beyond any memory"))
        })?;
        Ok(CudaState {
            amplitudes: Buffer::new(driver, bytes)?,
            n_qubits,
            precision,
            is_new: false,
        })
    }

    /// Device of the state.
    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        self.amplitudes.driver()
    }
    /// Address of the amplitudes, for reading.
    pub(crate) fn address(&self) -> u64 {
        self.amplitudes.address()
    }
    /// Address of the amplitudes, for writing.
    pub(crate) fn address_mut(&mut self) -> u64 {
        self.is_new = false;
        self.amplitudes.address()
    }
    /// Returns true if it is known to be |0…0>: it was made so and not changed since.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }
    /// Number of amplitudes, 2^n.
    pub(crate) fn count(&self) -> u64 {
        1 << self.n_qubits
    }
    /// Number of qubits, n.
    pub(crate) fn n_qubits(&self) -> u32 {
        self.n_qubits
    }
    /// Precision of the amplitudes.
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Sets the state to the basis state `|index>`.
    ///
    /// # Errors
    /// The index is out of range, or the device fails.
    pub(crate) fn basis(&mut self, index: u64) -> Result<()> {
        if index >= self.count() {
            return Err(Error::new(format!("basis state {index} of {} qubits", self.n_qubits)));
        }
        self.clear()?;
        let first = index as usize * amplitude_bytes(self.precision);
        match self.precision {
            Precision::Single => self.amplitudes.write(first, &1f32.to_ne_bytes())?,
            Precision::Double => self.amplitudes.write(first, &1f64.to_ne_bytes())?,
        }
        self.is_new = index == 0;
        Ok(())
    }

    /// Sets the state to the zero vector.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.is_new = false;
        self.amplitudes.zero()
    }

    /// Returns a copy.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    pub(crate) fn copied(&self) -> Result<CudaState> {
        Ok(CudaState { amplitudes: self.amplitudes.copied()?, ..*self })
    }

    /// Copies all amplitudes from the host, and waits until they are read.
    ///
    /// # Errors
    /// The number of bytes is another one, or the device fails.
    pub(crate) fn upload(&mut self, amplitudes: &[u8]) -> Result<()> {
        self.expect_bytes(amplitudes.len())?;
        self.is_new = false;
        self.amplitudes.write(0, amplitudes)?;
        // The memory may be page-locked, and then it is read only now.
        self.driver().sync()
    }

    /// Copies all amplitudes to the host.
    ///
    /// # Errors
    /// The number of bytes is another one, or the device fails, also in earlier work.
    pub(crate) fn download(&self, amplitudes: &mut [u8]) -> Result<()> {
        self.expect_bytes(amplitudes.len())?;
        self.amplitudes.read(0, amplitudes)
    }

    fn expect_bytes(&self, given: usize) -> Result<()> {
        let expected = self.amplitudes.len();
        if given == expected {
            return Ok(());
        }
        Err(Error::new(format!(
            "{given} bytes for a state of {} qubits; expected {expected}",
            self.n_qubits
        )))
    }

    /// Fails if another state is of another size, kind or device.
    pub(crate) fn expect_alike(&self, other: &CudaState) -> Result<()> {
        if !Arc::ptr_eq(self.driver(), other.driver()) {
            return Err(Error::new("two states on different devices"));
        }
        if (self.n_qubits, self.precision) == (other.n_qubits, other.precision) {
            return Ok(());
        }
        Err(Error::new(format!(
            "a state of {} qubits in {} precision beside one of {} in {} precision",
            self.n_qubits, self.precision, other.n_qubits, other.precision
        )))
    }
}

#[cfg(test)]
mod tests {
    use ketgrad_plugin_sdk::C64;

    use super::*;
    use crate::testing::{amplitudes, device, devices, of_state, state, tolerance};

    #[test]
    fn amplitudes_come_back() {
        for device in devices() {
            for precision in [Precision::Double, Precision::Single] {
                for n in [0, 1, 7] {
                    let given = amplitudes(n, 5);
                    let on = state(&device, precision, &given);
                    let copy = on.copied().unwrap();
                    drop(on);
                    for (got, given) in of_state(&copy).iter().zip(&given) {
                        assert!((got - given).norm() < tolerance(precision), "{got} {given}");
                    }
                }
            }
        }
    }

    #[test]
    fn basis_states_are_one_amplitude() {
        for device in devices() {
            for precision in [Precision::Double, Precision::Single] {
                let mut on = CudaState::zeros(&device, precision, 3).unwrap();
                assert_eq!(of_state(&on), [C64::new(0.0, 0.0); 8]);
                for index in [0, 5] {
                    on.basis(index).unwrap();
                    let expected: Vec<C64> =
                        (0..8).map(|i| C64::new(f64::from(u8::from(i == index)), 0.0)).collect();
                    assert_eq!(of_state(&on), expected);
                }
                assert_eq!(on.basis(8).unwrap_err().to_string(), "basis state 8 of 3 qubits");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_bytes() {
        let device = device();
        let half = CudaState::zeros(&device, Precision::Single, 20).unwrap();
        let said = |n| CudaState::zeros(&device, Precision::Double, n).unwrap_err().to_string();
        assert_eq!(
            said(26),
            "emulated device: 1073741824 bytes of memory needed, 1065353216 of 1073741824 free"
        );
        drop(half);
        assert!(
            said(27).contains("2147483648 bytes of memory needed, 1073741824 of"),
            "what was dropped is free"
        );
        assert_eq!(said(64), "64 qubits: 2^64 amplitudes are beyond any memory");
        assert_eq!(said(61), "61 qubits: 2^61 amplitudes are beyond any memory");
    }

    #[test]
    fn another_number_of_bytes_is_refused() {
        for device in devices() {
            let mut on = CudaState::zeros(&device, Precision::Single, 3).unwrap();
            assert_eq!(
                on.upload(&[0; 128]).unwrap_err().to_string(),
                "128 bytes for a state of 3 qubits; expected 64"
            );
            assert!(on.download(&mut [0; 63]).is_err());
        }
    }
}
