//! Newton's method without Hessians: its equations are solved by conjugate gradients, which need
//! products only.
//!
//! The iteration ends where the residual is small next to the gradient, so that the method is
//! superlinear, or at a direction of negative curvature, which leads down as well.
//!
//! Source: J. Nocedal, S. J. Wright, Numerical Optimization (2006), algorithm 7.1.

use super::{
    Objective, OptimizeError, State,
    error::{InvalidSetting, expect, finite},
    line::search,
    vector::{dot, negated, norm, step_along},
};

/// Longest step that curvature may suggest, in units of the size of the point or of 1: at an
/// inflection it is rounding, and its step is arbitrary.
const FAR: f64 = 100.0;

/// A truncated Newton method by Hessian-vector products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NewtonCg {
    /// Largest number of products in an iteration.
    pub products: usize,
}

impl Default for NewtonCg {
    /// 50 products.
    fn default() -> NewtonCg {
        NewtonCg { products: 50 }
    }
}

impl NewtonCg {
    /// Sets [`products`](NewtonCg::products).
    #[must_use]
    pub fn with_products(self, products: usize) -> NewtonCg {
        NewtonCg { products, ..self }
    }
}

impl NewtonCg {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        if self.products == 0 {
            Err(("products", 0.0, "a whole number of at least 1"))
        } else {
            Ok(())
        }
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let (direction, curved) = self.direction(f, state)?;
        let steepest = norm(&state.gradient).recip().min(1.0);
        let mut found = search(f, state, &direction, if curved { 1.0 } else { steepest })?;
        if !found && curved {
            let down = negated(&state.gradient);
            found = search(f, state, &down, steepest)?;
        }
        state.stalled = !found;
        Ok(())
    }

    /// Returns a direction that leads down, and true if it solves Newton's equations approximately.
    fn direction<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(Vec<f64>, bool), OptimizeError<F::Error>> {
        let size = norm(&state.gradient);
        let enough = size * size.sqrt().min(0.5);
        let mut direction = vec![0.0; state.x.len()];
        let mut residual = state.gradient.clone();
        let mut d = negated(&residual);
        for number in 0..self.products {
            state.evaluations += 1;
            let product = f.hessian_product(&state.x, &d).map_err(OptimizeError::Objective)?;
            expect("numbers of a Hessian-vector product", product.len(), d.len())?;
            let curvature = finite(dot(&d, &product), "the curvature")?;
            let before = dot(&residual, &residual);
            let t = before / curvature;
            let further = step_along(&direction, t, &d);
            // What is not above the rounding of the product is no curvature.
            let is_rounding = curvature <= f64::EPSILON * norm(&d) * norm(&product);
            if is_rounding || norm(&further) > FAR * norm(&state.x).max(1.0) {
                return Ok(if number == 0 { (d, false) } else { (direction, true) });
            }
            direction = further;
            residual = step_along(&residual, t, &product);
            if norm(&residual) <= enough {
                break;
            }
            let kept = dot(&residual, &residual) / before;
            d = step_along(&negated(&residual), kept, &d);
        }
        Ok((direction, true))
    }
}
