//! The sum of expectation values as an objective that is asked often.

use std::{cell::RefCell, fmt};

use num_dual::DualNum;

use super::{Objective, objective::difference_of_gradients};
use crate::{
    hybrid::{Expectation, HybridError, Method, PreparedGradient},
    kernel::SimdFloat,
    scalar::Real,
};

/// The sum of the expectation values of a circuit, computed with numbers of type `E`, `f32` or
/// `f64`; the optimizer computes in `f64` whatever `E` is. Its gradient is prepared when the first
/// one is wanted ([`Expectation::prepare`]).
///
/// ```
/// use ketgrad_core::{ansatz, hybrid::Expectation, problem};
/// use ketgrad_core::optimize::{Energy, Lbfgs, Optimizer, Stopping, minimize};
///
/// let energy = Expectation::new(ansatz::uccsd(4, 2)?, [problem::h2()])?;
/// let single = Energy::<f32>::new(energy);
/// let (end, _) = minimize(&single, &[0.0; 3], &Optimizer::from(Lbfgs::default()), &Stopping::default())?;
/// assert!((end.value + 1.137_270_175).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Energy<E: Real> {
    energy: Expectation,
    /// The first of the methods that serve it.
    first: Method,
    prepared: RefCell<Option<PreparedGradient<E>>>,
}

impl<E: Real> Energy<E> {
    /// Returns the sum of the values of these observables.
    #[must_use]
    pub fn new(energy: Expectation) -> Energy<E> {
        Energy { first: energy.methods()[0], energy, prepared: RefCell::new(None) }
    }
}

impl<E: Real> fmt::Debug for Energy<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Energy").field("energy", &self.energy).finish_non_exhaustive()
    }
}

fn narrow<E: SimdFloat>(x: &[f64]) -> Vec<E> {
    x.iter().map(|x| E::round_from(*x)).collect()
}

fn wide<E: SimdFloat>(x: impl IntoIterator<Item = E>) -> Vec<f64> {
    x.into_iter().map(Into::into).collect()
}

/// Objective with Hessian-vector products and the Fubini-Study metric. If the circuit has no one
/// final state, it does as [`Expectation`] does.
impl<E: SimdFloat + Real + DualNum> Objective for Energy<E> {
    type Error = HybridError;

    fn value(&self, x: &[f64]) -> Result<f64, HybridError> {
        Ok(self.energy.value(&narrow::<E>(x))?.into())
    }
    fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), HybridError> {
        if self.first != Method::Adjoint {
            let (value, gradient) = self.energy.gradient_by(self.first, &narrow::<E>(x))?;
            return Ok((value.into(), wide(gradient)));
        }
        let mut gradient = vec![E::zero(); self.energy.n_inputs()];
        let mut slot = self.prepared.borrow_mut();
        let prepared = match &mut *slot {
            Some(prepared) => prepared,
            none => none.insert(self.energy.prepare()?),
        };
        let value = prepared.value_and_gradient(&narrow(x), &mut gradient)?;
        Ok((value.into(), wide(gradient)))
    }
    fn hessian_product(&self, x: &[f64], v: &[f64]) -> Result<Vec<f64>, HybridError> {
        if self.first != Method::Adjoint {
            return difference_of_gradients(self, x, v);
        }
        Ok(wide(self.energy.hvp(&narrow::<E>(x), &narrow(v))?.1))
    }
    fn metric(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, HybridError> {
        Ok(self.energy.metric_tensor(&narrow::<E>(x))?.0.into_iter().map(wide).collect())
    }
    /// Returns the rounding of a circuit: 64 units in the last place.
    fn noise(&self) -> f64 {
        64.0 * Into::<f64>::into(E::EPSILON)
    }
}
