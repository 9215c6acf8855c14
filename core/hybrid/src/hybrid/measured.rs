//! Values and derivatives estimated from measurements: means over shots, with their standard
//! errors.
//!
//! A derivative is a sum of values at shifted angles (`shift.rs`), each measured with shots of its
//! own, so that errors add in squares: `var(sum_m c_m E_m) = sum_m c_m^2 var(E_m)`, and likewise
//! over the angles that an input is in.

use super::{Expectation, HybridError, parameter_uses::by_parameter};
use crate::{
    circuit::Circuit,
    observable::PauliSum,
    param::Values,
    simulate::{BoundCircuit, Mean, MeasurementPlan, Shots},
};

impl Expectation {
    /// Computes [`Expectation::value`] from the given shots, as
    /// [`Simulator::measure`](crate::simulate::Simulator::measure) takes them.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, hybrid::Expectation, observable::PauliSum, simulate::Shots};
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.ry(0, theta)?;
    /// let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>()?])?;
    /// let (mean, gradient) = energy.measure_gradient(&[0.3], Shots::new(10_000, 7))?;
    /// let off = |mean: ketgrad_core::simulate::Mean, exact: f64| (mean.value - exact).abs() / mean.stderr.unwrap_or(0.0);
    /// assert!(off(mean, 0.3f64.cos()) < 4.0 && off(gradient[0], -0.3f64.sin()) < 4.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::NotMeasured`] for an observable that shots
    /// do not give; [`SimulateError::TooFewShots`](crate::simulate::SimulateError::TooFewShots).
    pub fn measure(&self, inputs: &[f64], shots: Shots) -> Result<Mean, HybridError> {
        self.measure_circuit(&self.circuit, inputs, &self.readout(shots)?, shots)
    }

    /// Computes [`Expectation::measure`] and the derivative by each input by shifts, with the given
    /// shots for each shifted value.
    ///
    /// Cost: a value for each shift, two for each angle of a Pauli rotation, four for a controlled
    /// one.
    ///
    /// # Errors
    /// Those of [`Expectation::measure`], and where [shifts do not serve](Expectation::methods).
    pub fn measure_gradient(
        &self,
        inputs: &[f64],
        shots: Shots,
    ) -> Result<(Mean, Vec<Mean>), HybridError> {
        let readout = self.readout(shots)?;
        let value = self.measure_circuit(&self.circuit, inputs, &readout, shots)?;
        let (mut gradient, mut variances) =
            (vec![0.0; inputs.len()], vec![Some(0.0); inputs.len()]);
        let mut parts = 1..;
        for (k, slot) in self.shift_uses()?.iter().enumerate() {
            let (mut slope, mut variance) = (0.0, Some(0.0));
            for (circuit, coefficient) in self.shifted_circuits(*slot)? {
                let part = shots.part(parts.next().unwrap_or_default());
                let mean = self.measure_circuit(&circuit, inputs, &readout, part)?;
                slope += coefficient * mean.value;
                variance = variance.zip(mean.stderr).map(|(v, e)| v + (coefficient * e).powi(2));
            }
            let mut one = vec![0.0; self.parameter_uses.len()];
            one[k] = 1.0;
            let by_input =
                self.chain.pull(inputs, by_parameter(&self.circuit, &self.parameter_uses, &one))?;
            for ((g, v), by) in gradient.iter_mut().zip(&mut variances).zip(by_input) {
                *g += by * slope;
                *v = v.zip(variance).map(|(v, of_slope)| v + by * by * of_slope);
            }
        }
        let mean =
            |(value, variance): (f64, Option<f64>)| Mean { value, stderr: variance.map(f64::sqrt) };
        Ok((value, gradient.into_iter().zip(variances).map(mean).collect()))
    }

    fn measure_circuit(
        &self,
        circuit: &Circuit,
        inputs: &[f64],
        readout: &MeasurementPlan,
        shots: Shots,
    ) -> Result<Mean, HybridError> {
        let values = circuit.param_values(inputs)?;
        let mut bound = BoundCircuit::new(circuit, &Values(&values))?;
        if let Some(start) = self.given_start() {
            bound = bound.starting_from(start?)?;
        }
        Ok(self.simulator.measure_readout(&bound, readout, shots)?)
    }

    /// Returns the sum of all observables as it is measured.
    fn readout(&self, shots: Shots) -> Result<MeasurementPlan, HybridError> {
        let mut sum = PauliSum::default();
        for observable in &self.observables {
            let not_measured = || HybridError::NotMeasured { observable: observable.to_string() };
            sum = sum + observable.pauli_sum().ok_or_else(not_measured)?;
        }
        Ok(MeasurementPlan::new(self.circuit.n_qubits(), &sum, shots.grouping)?)
    }
}
