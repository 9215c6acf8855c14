//! Delays: qubits that wait. They do nothing, unless a noise model says what waiting does.

use std::fmt;

use super::{Circuit, CircuitError, Operand, Operation};

/// How long a delay is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DelayLength {
    /// In seconds.
    Seconds(f64),
    /// In samples of the hardware, `dt` of OpenQASM, whose length the circuit does not say.
    Samples(f64),
    /// Whatever the compiler for some hardware makes of it: a `stretch`, or the duration of gates.
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

    /// In seconds, where a sample takes so many.
    #[must_use]
    pub fn seconds(&self, dt: Option<f64>) -> Option<f64> {
        match self {
            DelayLength::Seconds(seconds) => Some(*seconds),
            DelayLength::Samples(samples) => dt.map(|dt| samples * dt),
            DelayLength::Open => None,
        }
    }
}

/// As OpenQASM 3 writes it, `100ns`, in the largest unit in which it is a whole number, or else in
/// seconds; it reads back the same.
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
    /// Lets qubits wait, those of a list together. Nothing happens to them but what a noise model
    /// says of delays.
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
    /// As [`Circuit::push`]; [`CircuitError::DelayLength`] for a length that is negative or not
    /// finite.
    pub fn delay(
        &mut self,
        qubits: impl Operand,
        length: DelayLength,
    ) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        self.operation(Operation::Delay { length }, &qubits, &[])
    }
}
