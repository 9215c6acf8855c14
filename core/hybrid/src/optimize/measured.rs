//! Expectation values from shots as an objective.

use super::Objective;
use crate::{
    hybrid::{Expectation, HybridError},
    simulate::{Mean, Shots},
};

/// The parts of the shots at a point that measure its value again: those before are of shifted
/// angles.
const AGAIN: u64 = 1 << 63;

/// Sum of the expectation values of a circuit from this number of shots, and its derivatives by
/// shifts. The shots are drawn by the seed and the point, so that the function has one value at
/// each.
///
/// ```
/// use ketgrad_core::{ansatz, hybrid::Expectation, problem, simulate::Shots};
/// use ketgrad_core::optimize::{Measured, Optimizer, Spsa, Stopping, minimize};
///
/// let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
/// let measured = Measured { energy: &energy, shots: Shots::new(2000, 7) };
/// let stopping = Stopping::default().with_iterations(100);
/// let (end, _) = minimize(&measured, &[0.0; 3], &Optimizer::from(Spsa::default()), &stopping)?;
/// assert!(energy.value(&end.x)? < -1.12); // from -1.117 on; -1.137 is the least
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Expectation value that is measured.
    pub energy: &'a Expectation,
    /// The shots of each value.
    pub shots: Shots,
}

impl Measured<'_> {
    /// Returns the shots at a point: by a hash of its bits (FNV-1a).
    fn shots_at(&self, x: &[f64]) -> Shots {
        let bytes = x.iter().flat_map(|x| x.to_bits().to_le_bytes());
        let step =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.shots.part(bytes.fold(0xcbf2_9ce4_8422_2325, step))
    }
}

impl Objective for Measured<'_> {
    type Error = HybridError;

    fn value(&self, x: &[f64]) -> Result<f64, HybridError> {
        Ok(self.energy.measure(x, self.shots_at(x))?.value)
    }
    fn is_measured(&self) -> bool {
        true
    }
    fn sample(&self, x: &[f64], k: u64) -> Result<Mean, HybridError> {
        // Part 0 would be other shots than those of the value.
        let shots = self.shots_at(x);
        self.energy.measure(x, if k == 0 { shots } else { shots.part(AGAIN.wrapping_add(k)) })
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), HybridError> {
        let (value, gradient) = self.energy.measure_gradient(x, self.shots_at(x))?;
        Ok((value.value, gradient.into_iter().map(|mean| mean.value).collect()))
    }
}
