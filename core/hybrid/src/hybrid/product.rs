//! Hessian-vector products by states and their tangents.
//!
//! With a generator `-i H` of each angle and a direction v, psi' and lambda' go through the circuit
//! together with psi and lambda:
//!
//! ```text
//! forward   psi' += -i v H psi   after each gate;     lambda = 2 O psi,  lambda' = 2 O psi'
//! back      d(dL/da) = im (<lambda'|H|psi> + <lambda|H|psi'>),
//!           psi' += i v H psi,  lambda' += i v H lambda,  and the gate is undone on all four
//! ```
//! It is the derivative of the adjoint method, of which nothing is left to rounding: forward over
//! adjoint. Where an executor takes tangents along
//! ([`PairExecutor::run_tangents`](crate::kernel::PairExecutor::run_tangents)) and each generator
//! is the same at every angle, all four vectors are in the cache tile by tile; else the adjoint
//! method runs on duals.
//!
//! Cost: 3 to 4 gradients; 4 states.

use num_complex::Complex;
use num_dual::{Dual, DualNum};

use super::{
    Expectation, HybridError,
    adjoint::{BackwardPass, Bound},
    derivative::is_fixed,
    parameter_uses::by_parameter,
    tangent::along_tangent,
};
use crate::{
    kernel::{ExecuteError, OverlapProbe, StateHint},
    scalar::Real,
    simulate::SimulateError,
    state::StateVector,
};

/// A gradient and its change along a direction.
type GradientAndHvp<T> = (Vec<T>, Vec<T>);

impl Expectation {
    /// Computes the gradient and its change, tile by tile; `None` if the executor cannot.
    pub(super) fn hvp_by_tiles<T: Real + DualNum>(
        &self,
        inputs: &[T],
        v: &[T],
    ) -> Result<Option<GradientAndHvp<T>>, HybridError> {
        let (circuit, simulator) = (&*self.circuit, &self.simulator);
        if circuit.has_channels() || self.initial.is_some() {
            return Ok(None);
        }
        let n_qubits = circuit.n_qubits();
        let instructions = circuit.instructions();
        let executor = simulator.executors.best::<Complex<T>>(n_qubits, instructions.len());
        let fixed = |k: usize| is_fixed(&instructions[k]);
        let Some(pairs) = executor.pair_executor(n_qubits) else { return Ok(None) };
        if executor.device_states().is_some()
            || !self.parameter_uses.iter().all(|slot| fixed(slot.instruction))
        {
            return Ok(None);
        }
        let moving = circuit.param_values(&along_tangent(inputs, v))?;
        let values: Vec<T> = moving.iter().map(|x| x.re.clone()).collect();
        let bound = Bound::new(circuit, &values)?;
        let Some(back) = bound.backward_pass(&self.parameter_uses)? else { return Ok(None) };
        let Some(kicks) = self.tangent_coefficients(&back, &moving) else { return Ok(None) };

        simulator.check_memory::<[Complex<T>; 4]>(n_qubits)?;
        let empty = || StateVector::null(n_qubits, &simulator.threads);
        let (mut psi, mut psi_dot) =
            (StateVector::zero_on(n_qubits, &simulator.threads)?, empty()?);
        let operators = bound.operators();
        // The same places, counted from the other end.
        let count = operators.len();
        let turned =
            back.probes.iter().rev().map(|i| OverlapProbe { before: count - i.before, ..*i });
        let inners: Vec<OverlapProbe> = turned.collect();
        let turned: Vec<f64> = kicks.iter().rev().map(|kick| -kick).collect();
        let failed = |e: ExecuteError| HybridError::from(SimulateError::from(e));
        let both = &mut [psi.amplitudes_mut(), psi_dot.amplitudes_mut()];
        let ran = pairs.run_tangents(
            &operators,
            (&inners, &turned),
            StateHint::StartsAtZero,
            both,
            &simulator.threads,
        );
        if ran.map_err(failed)?.is_none() {
            return Ok(None);
        }

        let (mut lambda, mut lambda_dot) = (empty()?, empty()?);
        let weights = vec![T::one(); self.observables.len()];
        let mut observed = self.prepare_observables(n_qubits);
        let mut means = weights.clone();
        self.observe_into(&psi, &weights, &mut observed, &mut means, &mut lambda)?;
        self.observe_into(&psi_dot, &weights, &mut observed, &mut means, &mut lambda_dot)?;

        let [psi, psi_dot] = [psi.amplitudes_mut(), psi_dot.amplitudes_mut()];
        let all = &mut [psi, psi_dot, lambda.amplitudes_mut(), lambda_dot.amplitudes_mut()];
        let ran = pairs.run_tangents(
            &back.operators,
            (&back.probes, &kicks),
            StateHint::EndsAtZero,
            all,
            &simulator.threads,
        );
        let Some(found) = ran.map_err(failed)? else { return Ok(None) };
        let [values, changes] =
            [0, 1].map(|k| found.iter().map(|pair| pair[k]).collect::<Vec<f64>>());
        let by = |products: &[f64]| {
            by_parameter(
                circuit,
                &self.parameter_uses,
                &back.by_angle(&self.parameter_uses, products),
            )
        };
        let duals =
            by(&values).into_iter().zip(by(&changes)).map(|(g, h)| Dual::new(g, h)).collect();
        let result = self.chain.pull(&along_tangent(inputs, v), duals)?;
        Ok(Some(result.into_iter().map(|g| (g.re, g.eps)).unzip()))
    }

    /// Computes for each inner product of the backward pass the speed of its angle times its
    /// factor; `None` if one is no number.
    fn tangent_coefficients<T: Real + DualNum>(
        &self,
        back: &BackwardPass<T>,
        moving: &[Dual<T>],
    ) -> Option<Vec<f64>> {
        let instructions = self.circuit.instructions();
        let speed = |k: usize| {
            let slot = self.parameter_uses[k];
            let angle = instructions[slot.instruction].operation.params().get(slot.angle);
            let terms = angle.map_or(&[][..], crate::param::Angle::terms);
            terms
                .iter()
                .fold(T::zero(), |sum, (id, q)| sum + T::from_ratio(*q) * &moving[id.index()].eps)
        };
        let speeds: Vec<T> = (0..self.parameter_uses.len()).map(speed).collect();
        back.terms.iter().map(|(slot, factor)| (speeds[*slot].clone() * factor).primal()).collect()
    }
}
