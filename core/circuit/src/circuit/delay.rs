//! Delays of qubits. They have no effect, unless a noise model defines one.

use std::fmt;

use super::{Circuit, CircuitError, Operand, Operation};

/// Length of a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DelayLength {
    /// In seconds.
    Seconds(f64),
    /// In samples of the hardware, `dt` of OpenQASM, whose length the circuit does not say.
    Samples(f64),
    /// Open: chosen by the compiler for some hardware, as for a `stretch` or the duration of gates.
    Open,
}

impl DelayLength {
    /// The number; `None` if it is open.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            DelayLength::Seconds(x) | DelayLength::Samples(x) => Some(*x),
            DelayLength::Open => None,
        }
    }

    /// Returns the length in seconds; `dt` is that of a sample.
    #[must_use]
    pub fn seconds(&self, dt: Option<f64>) -> Option<f64> {
        match self {
            DelayLength::Seconds(seconds) => Some(*seconds),
            DelayLength::Samples(samples) => dt.map(|dt| samples * dt),
            DelayLength::Open => None,
        }
    }
}

/// Writes the length as OpenQASM 3 does, `100ns`, in the largest unit in which it is a whole
/// number, or else in seconds; it reads back the same.
impl fmt::Display for DelayLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = match self {
            DelayLength::Samples(samples) => return write!(f, "{samples:?}dt"),
            DelayLength::Open => return f.write_str("?"),
            DelayLength::Seconds(seconds) => *seconds,
        };
        for (unit, each) in [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)] {
            let many = (seconds * each).round();
            if many / each == seconds && (1.0..1e15).contains(&many) {
                return write!(f, "{many}{unit}");
            }
        }
        write!(f, "{seconds:?}s")
    }
}

impl Circuit {
    /// Delays qubits, those of a list together. It has no effect except for that of a noise model.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, DelayLength};
    /// let mut c = Circuit::new(2);
    /// c.h(0)?.delay(0..2, DelayLength::Seconds(100e-9))?;
    /// assert_eq!(c.to_string(), "h q[0]\ndelay[100ns] q[0], q[1]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Circuit::push`]; [`CircuitError::DelayLength`] for a length that is negative or
    /// not finite.
    pub fn delay(
        &mut self,
        qubits: impl Operand,
        length: DelayLength,
    ) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        self.operation(Operation::Delay { length }, &qubits, &[])
    }
}
