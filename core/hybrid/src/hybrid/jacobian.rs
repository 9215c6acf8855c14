//! The gradient of each of several observables, by any method.
//!
//! Duals and shifts give all values at once. The adjoint method runs forward once and back for each
//! observable, which has a cotangent of its own. Differences are of each observable.

use num_complex::Complex;
use num_dual::DualNum;

use super::{
    Expectation, HybridError, Method, adjoint::Bound, parameter_uses::by_parameter,
    tangent::unit_vector,
};
use crate::{scalar::Real, simulate::Simulator};

/// The value of each observable, and its derivative by each input.
pub(super) type Jacobian<T> = (Vec<T>, Vec<Vec<T>>);

impl Expectation {
    /// Returns the value of each observable and its derivative by each input: row k is the gradient
    /// of observable k.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, hybrid::{Expectation, Method}, observable::PauliSum};
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.ry(0, theta)?;
    /// let both = Expectation::new(circuit, ["Z0".parse::<PauliSum>()?, "X0".parse()?])?;
    /// let (values, rows) = both.jacobian_by(Method::Adjoint, &[0.3])?;
    /// assert!((values[1] - 0.3f64.sin()).abs() < 1e-15 && (rows[1][0] - 0.3f64.cos()).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Expectation::gradient_by`].
    pub fn jacobian_by<T: Real + DualNum>(
        &self,
        method: Method,
        inputs: &[T],
    ) -> Result<Jacobian<T>, HybridError> {
        match method {
            _ if self.observables.len() == 1 => {
                let (value, gradient) = self.gradient_by(method, inputs)?;
                Ok((vec![value], vec![gradient]))
            }
            Method::Adjoint => self.adjoint_jacobian(inputs),
            Method::Forward => {
                let along = |k: usize| Ok(self.jvp(inputs, &unit_vector(inputs.len(), k))?.1);
                let columns =
                    (0..inputs.len()).map(along).collect::<Result<Vec<_>, HybridError>>()?;
                Ok((self.values(inputs)?, self.rows(&columns)))
            }
            Method::Shift => self.shift_jacobian(inputs),
            Method::Difference => self.one_by_one(|one| one.gradient_by(method, inputs)),
            Method::Symbolic => self.symbolic_jacobian(inputs),
        }
    }

    /// Returns the rows of a matrix with a row for each observable, from its columns.
    fn rows<T: Real>(&self, columns: &[Vec<T>]) -> Vec<Vec<T>> {
        (0..self.observables.len())
            .map(|k| columns.iter().map(|column| column[k].clone()).collect())
            .collect()
    }

    fn one_by_one<T: Real>(
        &self,
        of: impl Fn(&Expectation) -> Result<(T, Vec<T>), HybridError>,
    ) -> Result<Jacobian<T>, HybridError> {
        let all: Result<Vec<_>, _> =
            (0..self.observables.len()).map(|k| of(&self.only(k))).collect();
        Ok(all?.into_iter().unzip())
    }

    fn adjoint_jacobian<T: Real>(&self, inputs: &[T]) -> Result<Jacobian<T>, HybridError> {
        type JacobianFn<T> = fn(&Expectation, &[T]) -> Result<Jacobian<T>, HybridError>;
        compiled!(T: JacobianFn = [f32, f64] Expectation::adjoint_jacobian_any)(self, inputs)
    }

    fn adjoint_jacobian_any<T: Real>(&self, inputs: &[T]) -> Result<Jacobian<T>, HybridError> {
        if self.circuit.has_channels() {
            return self.one_by_one(|one| one.value_and_gradient(inputs));
        }
        let values = self.circuit.param_values(inputs)?;
        let bound = Bound::new(&self.circuit, &values)?;
        if self.device_observables::<T>(bound.count()).is_some() {
            return self.one_by_one(|one| one.value_and_gradient(inputs));
        }
        let Simulator { threads, .. } = &self.simulator;
        self.simulator.check_memory::<[Complex<T>; 3]>(self.circuit.n_qubits())?;
        let mut psi = self.start()?;
        bound.run(&self.simulator, &mut psi)?;
        let results = self.observe(&psi)?;
        let row = |observable: &super::Observable| -> Result<Vec<T>, HybridError> {
            let mut lambda = crate::state::StateVector::null(psi.n_qubits(), threads)?;
            observable.add(&T::int(2), &psi, &mut lambda, threads);
            let mut psi = psi.clone();
            let by_angle = bound.back(
                &self.simulator,
                &self.parameter_uses,
                self.backward_hint(),
                &mut psi,
                &mut lambda,
            )?;
            self.chain.pull(inputs, by_parameter(&self.circuit, &self.parameter_uses, &by_angle))
        };
        let rows = self.observables.iter().map(row).collect::<Result<_, _>>()?;
        Ok((results, rows))
    }

    fn shift_jacobian<T: Real>(&self, inputs: &[T]) -> Result<Jacobian<T>, HybridError> {
        // For each angle the derivative of each observable.
        let mut by_angle: Vec<Vec<T>> = Vec::with_capacity(self.parameter_uses.len());
        for slot in self.shift_uses()? {
            let mut slopes = vec![T::zero(); self.observables.len()];
            for (circuit, coefficient) in self.shifted_circuits(*slot)? {
                let values = self.with_circuit(circuit).values(inputs)?;
                slopes
                    .iter_mut()
                    .zip(values)
                    .for_each(|(slope, value)| *slope += value * T::lit(coefficient));
            }
            by_angle.push(slopes);
        }
        let pull = |row: Vec<T>| {
            self.chain.pull(inputs, by_parameter(&self.circuit, &self.parameter_uses, &row))
        };
        let rows = self.rows(&by_angle).into_iter().map(pull).collect::<Result<_, _>>()?;
        Ok((self.values(inputs)?, rows))
    }
}
