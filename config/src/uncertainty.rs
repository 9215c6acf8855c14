//! Error bars: what inputs with standard deviations make of results, to first order.
//!
//! Inputs are independent; two results of the same inputs are correlated by their slopes
//! ([`Uncertain`]).

use ketgrad_core::{
    hybrid::{HybridError, Method, ParametricExpectation},
    scalar::Uncertain,
};
use num_dual::DualNum;
use serde_json::Value;

use crate::{answer::Numbers, npy::Number};

/// Sources of error: one for each input, none for an exact one.
pub(crate) struct Sources(Vec<Uncertain>);

impl Sources {
    /// Creates the sources of inputs with these standard deviations.
    pub(crate) fn new(sigmas: &[f64]) -> Sources {
        Sources(sigmas.iter().map(|sigma| Uncertain::new(0.0, *sigma)).collect())
    }

    /// Returns a result with its slopes along the inputs.
    pub(crate) fn propagate<T: Number>(&self, value: T, slopes: &[T]) -> Uncertain {
        let number = |x: &T| x.primal().unwrap_or(f64::NAN);
        Uncertain::linear(number(&value), slopes.iter().map(number).zip(&self.0))
    }

    /// Returns the inputs that have one.
    fn uncertain(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|k| self.0[*k].sigma() > 0.0)
    }

    /// Returns the derivatives of one of several expectation values, by whatever method, whose
    /// slopes are second derivatives: in closed form for formulas, else by the adjoint method, or
    /// duals where there is no one final state.
    ///
    /// # Errors
    /// Fails when [`Expectation::hessian_by`] does.
    pub(crate) fn of_gradient<T: Number + DualNum>(
        &self,
        (energy, observable): (&ParametricExpectation, usize),
        method: Method,
        at: &[T],
        gradient: &[T],
    ) -> Result<Vec<Uncertain>, HybridError> {
        let serves = energy.parts().methods().contains(&Method::Adjoint);
        // Row k is the change of the gradient along input k.
        let rows: Vec<Vec<T>> = match method {
            Method::Symbolic => energy.hessian_by(observable, method, at)?,
            _ if serves && energy.is_constant() => {
                let energy = energy.parts().only(observable);
                let unit =
                    |k: usize| (0..at.len()).map(move |j| T::lit(f64::from(u8::from(j == k))));
                let mut rows = vec![vec![T::lit(0.0); at.len()]; at.len()];
                for k in self.uncertain() {
                    rows[k] = energy.hvp(at, &unit(k).collect::<Vec<T>>())?.1;
                }
                rows
            }
            _ if serves => energy.hessian_by(observable, Method::Adjoint, at)?,
            _ => energy.hessian_by(observable, Method::Forward, at)?,
        };
        let column = |j: usize| rows.iter().map(|row| row[j]).collect::<Vec<T>>();
        Ok(gradient
            .iter()
            .enumerate()
            .map(|(j, slope)| self.propagate(*slope, &column(j)))
            .collect())
    }
}

/// Returns the covariances of the errors of results: a row for each.
pub(crate) fn covariance(results: &[Uncertain], numbers: &mut Numbers) -> Value {
    let mut entry =
        |a: &Uncertain, b: &Uncertain| numbers.real(a.covariance(b), "a covariance of errors");
    let mut row = |a: &Uncertain| Value::Array(results.iter().map(|b| entry(a, b)).collect());
    Value::Array(results.iter().map(&mut row).collect())
}
