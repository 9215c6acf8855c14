//! Functions to minimise.

use std::error::Error;

use super::vector::{largest, step_along};
use crate::{
    hybrid::{Expectation, HybridError, Method},
    simulate::Mean,
};

/// A real function of real inputs, with what derivatives it has.
pub trait Objective {
    /// Error of a value or a derivative that cannot be computed.
    type Error: Error + 'static;

    /// Returns the value at x.
    ///
    /// # Errors
    /// Those of the function.
    fn value(&self, x: &[f64]) -> Result<f64, Self::Error>;

    /// Returns the value and the derivative by each input.
    ///
    /// # Errors
    /// Those of the function.
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Self::Error>;

    /// Returns true if values are means of measurements ([`Objective::sample`]) rather than exact.
    fn is_measured(&self) -> bool {
        false
    }

    /// Measurement `k` of the value at x, the same whenever it is asked for, with its standard
    /// error; measurement 0 gives [`Objective::value`]. Where values are exact, the value without
    /// an error.
    ///
    /// # Errors
    /// Those of the function.
    fn sample(&self, x: &[f64], k: u64) -> Result<Mean, Self::Error> {
        let _ = k;
        Ok(Mean { value: self.value(x)?, stderr: None })
    }

    /// Returns the change of the gradient along v. Central differences of gradients, unless there
    /// is a better way.
    ///
    /// # Errors
    /// Those of the function.
    fn hessian_product(&self, x: &[f64], v: &[f64]) -> Result<Vec<f64>, Self::Error> {
        difference_of_gradients(self, x, v)
    }

    /// Values that differ by less than this part of themselves count as equal: the rounding of the
    /// function.
    fn noise(&self) -> f64 {
        1e-14
    }

    /// Returns the metric that says how far apart two neighbouring points are: symmetric, without
    /// negative eigenvalues. The identity, unless the function knows better.
    ///
    /// # Errors
    /// Those of the function.
    fn metric(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, Self::Error> {
        let row = |i| (0..x.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
        Ok((0..x.len()).map(row).collect())
    }
}

/// The part of the largest input that a step is at least, so that it is one: 2^-36, of which the
/// rounding of x is 2^-16.
const LEAST_STEP: f64 = 1.0 / (1u64 << 36) as f64;

/// Returns the change of the gradient along v by a central difference, with the step that balances
/// its rounding against the next derivatives: for functions of angles the same wherever x is.
pub(super) fn difference_of_gradients<F: Objective + ?Sized>(
    f: &F,
    x: &[f64],
    v: &[f64],
) -> Result<Vec<f64>, F::Error> {
    if largest(v) == 0.0 {
        return Ok(vec![0.0; v.len()]);
    }
    let step = f.noise().max(f64::EPSILON).cbrt().max(LEAST_STEP * largest(x));
    let step = step / largest(v).max(f64::MIN_POSITIVE);
    let (_, up) = f.value_and_gradient(&step_along(x, step, v))?;
    let (_, down) = f.value_and_gradient(&step_along(x, -step, v))?;
    Ok(up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * step)).collect())
}

/// The sum of the expectation values, with Hessian-vector products and the Fubini-Study metric. If
/// the circuit has no one final state, gradients are taken on duals, and Hessian-vector products
/// are differences of these.
impl Objective for Expectation {
    type Error = HybridError;

    fn value(&self, x: &[f64]) -> Result<f64, HybridError> {
        Expectation::value(self, x)
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), HybridError> {
        self.gradient_by(self.methods()[0], x)
    }
    fn hessian_product(&self, x: &[f64], v: &[f64]) -> Result<Vec<f64>, HybridError> {
        match self.methods()[0] {
            Method::Adjoint => Ok(self.hvp(x, v)?.1),
            _ => difference_of_gradients(self, x, v),
        }
    }
    fn metric(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, HybridError> {
        Ok(self.metric_tensor(x)?.0)
    }
}
