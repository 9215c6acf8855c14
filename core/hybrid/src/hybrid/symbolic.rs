//! Gradients through closed forms: the expectation value as a formula, its derivative term by term.
//!
//! Exact up to the evaluation of sines and cosines, and a check on every other method, since
//! nothing of the circuit is run at the point. It costs as many terms as the formula has, so it is
//! for small circuits.

use num_dual::DualNum;

use super::{
    Expectation, HybridError, Observable,
    jacobian::Jacobian,
    parameter_uses::Chain,
    tangent::{along_tangent, unit_vector},
};
use crate::{
    exact::{Budget, ClosedForm, Formula},
    observable::PauliSum,
    param::ParamId,
    scalar::Real,
    simulate::is_static,
};

impl Expectation {
    /// Returns the sum of the values of all observables as a formula.
    ///
    /// # Errors
    /// Those of [`Expectation::closed_forms`].
    pub fn closed_form(&self) -> Result<Formula, HybridError> {
        let mut all = PauliSum::default();
        for observable in &self.observables {
            all.extend(strings(observable)?);
        }
        Ok(self.closed_state()?.expectation(&all)?)
    }

    /// Returns the value of each observable as a formula, from one run.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, hybrid::Expectation, observable::PauliSum};
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.ry(0, theta)?;
    /// let observables = ["Z0".parse::<PauliSum>()?, "X0".parse()?];
    /// let forms = Expectation::new(circuit, observables)?.closed_forms()?;
    /// assert_eq!(forms[0].to_string(), "cos(theta)");
    /// assert_eq!(forms[1].derivative("theta")?.to_string(), "cos(theta)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HybridError::Exact`]: an angle outside the exact ring, or too many terms;
    /// [`HybridError::NoFormula`] for an observable that is no sum of Pauli strings;
    /// [`HybridError::Dynamic`] without one final state; [`HybridError::Initial`].
    pub fn closed_forms(&self) -> Result<Vec<Formula>, HybridError> {
        let sums: Vec<PauliSum> = self.observables.iter().map(strings).collect::<Result<_, _>>()?;
        let state = self.closed_state()?;
        sums.iter().map(|sum| Ok(state.expectation(sum)?)).collect()
    }

    fn closed_state(&self) -> Result<ClosedForm, HybridError> {
        if self.initial.is_some() {
            return Err(HybridError::Initial);
        }
        if !is_static(&self.circuit) {
            return Err(HybridError::Dynamic);
        }
        Ok(ClosedForm::within(&self.circuit, &self.simulator, Budget::default())?)
    }

    pub(super) fn symbolic_gradient<T: Real>(
        &self,
        inputs: &[T],
    ) -> Result<(T, Vec<T>), HybridError> {
        FormulaGradient::new(self, self.closed_form()?)?.evaluate(&self.chain, inputs)
    }

    /// Returns the values and the gradient of each observable.
    pub(super) fn symbolic_jacobian<T: Real>(
        &self,
        inputs: &[T],
    ) -> Result<Jacobian<T>, HybridError> {
        let forms = self.closed_forms()?.into_iter();
        let rows: Result<Vec<_>, _> = forms
            .map(|form| FormulaGradient::new(self, form)?.evaluate(&self.chain, inputs))
            .collect();
        Ok(rows?.into_iter().unzip())
    }

    /// Row k is the change of the gradient along input k.
    pub(super) fn symbolic_hessian<T: Real + DualNum>(
        &self,
        inputs: &[T],
    ) -> Result<Vec<Vec<T>>, HybridError> {
        let slopes = FormulaGradient::new(self, self.closed_form()?)?;
        let row = |k: usize| -> Result<Vec<T>, HybridError> {
            let moved = along_tangent(inputs, &unit_vector(inputs.len(), k));
            Ok(slopes.evaluate(&self.chain, &moved)?.1.into_iter().map(|slope| slope.eps).collect())
        };
        (0..inputs.len()).map(row).collect()
    }
}

/// Returns the strings of an observable.
pub(super) fn strings(observable: &Observable) -> Result<PauliSum, HybridError> {
    observable
        .pauli_sum()
        .ok_or_else(|| HybridError::NoFormula { observable: observable.to_string() })
}

/// A value and its derivatives by all parameters, as formulas.
struct FormulaGradient {
    value: Formula,
    by_parameter: Vec<Formula>,
}

impl FormulaGradient {
    fn new(energy: &Expectation, value: Formula) -> Result<FormulaGradient, HybridError> {
        // Parameters have 32-bit numbers.
        let ids = (0..energy.circuit.params().len()).map(|k| ParamId::new(k as u32));
        let by_parameter = ids.map(|id| value.derivative_by(id)).collect::<Result<_, _>>()?;
        Ok(FormulaGradient { value, by_parameter })
    }

    /// Returns the value and the derivatives by the inputs.
    fn evaluate<T: Real>(&self, chain: &Chain, inputs: &[T]) -> Result<(T, Vec<T>), HybridError> {
        let values = self.value.symbols().values(inputs)?;
        let slopes =
            self.by_parameter.iter().map(|slope| slope.eval_parameters(&values).re).collect();
        Ok((self.value.eval_parameters(&values).re, chain.pull(inputs, slopes)?))
    }
}
