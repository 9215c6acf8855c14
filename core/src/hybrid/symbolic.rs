//! Gradients through closed forms: the expectation value as a formula, its derivative term by term.
//!
//! Exact up to the evaluation of sines and cosines, and a check on every other method, since nothing of the
//! circuit is run at the point. It costs as many terms as the formula has, so it is for small circuits.

use num_dual::DualNum;

use super::{
    Expectation, HybridError,
    slots::Chain,
    tangent::{moved, unit},
};
use crate::{
    exact::{Budget, ClosedForm, Formula},
    observable::PauliSum,
    param::ParamId,
    scalar::Real,
    simulate::is_straight,
};

impl Expectation {
    /// The sum of the values of all observables as a formula.
    ///
    /// # Errors
    /// [`HybridError::Exact`]: an angle outside the exact ring, or too many terms; [`HybridError::NoFormula`] for an
    /// observable that is no sum of Pauli strings.
    pub fn closed_form(&self) -> Result<Formula, HybridError> {
        let mut all = PauliSum::default();
        for observable in &self.observables {
            let no_formula = || HybridError::NoFormula { observable: observable.to_string() };
            all.extend(observable.pauli_sum().ok_or_else(no_formula)?);
        }
        let state = ClosedForm::within(&self.circuit, &self.simulator, Budget::default())?;
        Ok(state.expectation(&all)?)
    }

    pub(super) fn symbolic_gradient<T: Real>(&self, inputs: &[T]) -> Result<(T, Vec<T>), HybridError> {
        if !is_straight(&self.circuit) {
            return Err(HybridError::Dynamic);
        }
        Slopes::new(self)?.at(&self.chain, inputs)
    }

    /// Row k is the change of the gradient along input k.
    pub(super) fn symbolic_hessian<T: Real + DualNum>(
        &self,
        inputs: &[T],
    ) -> Result<Vec<Vec<T>>, HybridError> {
        let slopes = Slopes::new(self)?;
        let row = |k: usize| -> Result<Vec<T>, HybridError> {
            let moved = moved(inputs, &unit(inputs.len(), k));
            Ok(slopes.at(&self.chain, &moved)?.1.into_iter().map(|slope| slope.eps).collect())
        };
        (0..inputs.len()).map(row).collect()
    }
}

/// A value and its derivatives by all parameters, as formulas.
struct Slopes {
    value: Formula,
    by_parameter: Vec<Formula>,
}

impl Slopes {
    fn new(energy: &Expectation) -> Result<Slopes, HybridError> {
        let value = energy.closed_form()?;
        // Parameters have 32-bit numbers.
        let ids = (0..energy.circuit.params().len()).map(|k| ParamId::new(k as u32));
        let by_parameter = ids.map(|id| value.derivative_by(id)).collect::<Result<_, _>>()?;
        Ok(Slopes { value, by_parameter })
    }

    /// The value and the derivatives by the inputs.
    fn at<T: Real>(&self, chain: &Chain, inputs: &[T]) -> Result<(T, Vec<T>), HybridError> {
        let values = self.value.symbols().values(inputs)?;
        let slopes = self.by_parameter.iter().map(|slope| slope.at(&values).re).collect();
        Ok((self.value.at(&values).re, chain.pull(inputs, slopes)?))
    }
}
