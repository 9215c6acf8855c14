//! A gradient that is wanted at many points: bound, planned and given its memory once.
//!
//! ```text
//! once       operators, plans of both ways, observables, psi and lambda
//! each time  numbers of the angles ──► |psi> ──► values and lambda ──► way back ──► gradient
//! ```

use num_complex::Complex;

use super::{
    Expectation, HybridError,
    adjoint::{BackwardPass, Bound, add_products},
    derivative::is_fixed,
    expectation::{self, expect},
    parameter_uses::{add_by_parameter, by_parameter},
};
use crate::{
    kernel::{ExecuteError, Operator, OverlapProbe, PreparedOperators, PreparedPair, StateHint},
    param::Values,
    scalar::Real,
    simulate::{SimulateError, rebind_instruction},
    state::StateVector,
};

/// The value and the gradient of an [`Expectation`] at many points.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, hybrid::Expectation, observable::PauliSum};
///
/// let mut circuit = Circuit::new(6);
/// let theta = circuit.param("theta");
/// for q in 0..6 {
///     circuit.ry(q, theta.clone())?;
/// }
/// let mut energy = Expectation::new(circuit, ["Z0 + X5".parse::<PauliSum>()?])?.prepare::<f64>()?;
/// let mut gradient = [0.0];
/// for at in [0.1, 0.2, 0.3f64] {
///     let value = energy.value_and_gradient(&[at], &mut gradient)?;
///     assert!((value - at.cos() - at.sin()).abs() < 1e-14);
///     assert!((gradient[0] + at.sin() - at.cos()).abs() < 1e-14);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// That of [`Expectation::value_and_gradient`] without planning. Memory: 2 states, and the tables
/// of the plans. For `f32` and `f64`, from 5 or 6 qubits on, a call after the first few allocates
/// nothing on one thread, at any point, if the circuit has no computed parameters, only gates whose
/// table names a generator for their angles and rotations about Pauli strings, and no controlled
/// rotation that vanishes at that point; other circuits are as right, and allocate.
pub struct PreparedGradient<T: Real> {
    energy: Expectation,
    ready: Option<PreparedParts<T>>,
}

/// Operators and memory that are prepared once.
struct PreparedParts<T: Real> {
    values: Vec<T>,
    operators: Vec<Operator<Complex<T>>>,
    /// The inverses, the last first.
    inverses: Vec<Operator<Complex<T>>>,
    /// Operators that depend on parameters: their number, and that of their instruction.
    moving: Vec<(usize, usize)>,
    /// True if all generators are the same at each angle.
    fixed: bool,
    inners: Vec<OverlapProbe>,
    terms: Vec<(usize, T)>,
    forward: Box<dyn PreparedOperators<Complex<T>>>,
    back: Box<dyn PreparedPair<Complex<T>>>,
    observed: Vec<Option<expectation::BoxedObservable<T>>>,
    psi: StateVector<Complex<T>>,
    lambda: StateVector<Complex<T>>,
    by_angle: Vec<T>,
    weights: Vec<T>,
    results: Vec<T>,
}

impl Expectation {
    /// Prepares for gradients at many points.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn prepare<T: Real>(&self) -> Result<PreparedGradient<T>, HybridError> {
        Ok(PreparedGradient { energy: self.clone(), ready: PreparedParts::new(self)? })
    }
}

impl<T: Real> PreparedParts<T> {
    /// `None` where the executor has no way to prepare, the start is not |0…0>, or a generator is a
    /// sum of too many Pauli strings.
    fn new(energy: &Expectation) -> Result<Option<PreparedParts<T>>, HybridError> {
        let (circuit, simulator) = (&*energy.circuit, &energy.simulator);
        let n_qubits = circuit.n_qubits();
        let instructions = circuit.instructions();
        let executor = simulator.executors.best::<Complex<T>>(n_qubits, instructions.len());
        if executor.device_states().is_some() || circuit.has_channels() || energy.initial.is_some()
        {
            return Ok(None);
        }
        let Some(pairs) = executor.pair_executor(n_qubits) else { return Ok(None) };
        simulator.check_memory::<[Complex<T>; 2]>(n_qubits)?;
        // Angles at which no gate is simpler than usual.
        let inputs: Vec<T> = (0..energy.n_inputs).map(|k| T::lit(0.4 + 0.01 * k as f64)).collect();
        let values = circuit.param_values(&inputs)?;
        let bound = Bound::new(circuit, &values)?;
        let Some(BackwardPass { operators: inverses, probes: inners, terms }) =
            bound.backward_pass(&energy.parameter_uses)?
        else {
            return Ok(None);
        };
        let (numbers, operators): (Vec<usize>, Vec<_>) =
            bound.numbered().map(|(k, o)| (k, o.clone())).unzip();
        let depends = |k: &usize| energy.parameter_uses.iter().any(|slot| slot.instruction == *k);
        let moving = numbers.iter().copied().enumerate().filter(|(_, k)| depends(k)).collect();
        let fixed =
            energy.parameter_uses.iter().all(|slot| is_fixed(&instructions[slot.instruction]));
        let forward = pairs.prepare_run(n_qubits, &operators, StateHint::StartsAtZero);
        let (Some(forward), Some(back)) =
            (forward, pairs.prepare(n_qubits, &inverses, &inners, StateHint::EndsAtZero))
        else {
            return Ok(None);
        };
        let psi = energy.start()?;
        Ok(Some(PreparedParts {
            forward,
            back,
            observed: energy.prepare_observables(n_qubits),
            lambda: psi.clone(),
            psi,
            by_angle: vec![T::zero(); energy.parameter_uses.len()],
            weights: vec![T::one(); energy.observables.len()],
            results: vec![T::zero(); energy.observables.len()],
            values,
            operators,
            inverses,
            moving,
            fixed,
            inners,
            terms,
        }))
    }

    /// Puts the numbers of a point in.
    fn bind(&mut self, energy: &Expectation, inputs: &[T]) -> Result<(), HybridError> {
        let circuit = &*energy.circuit;
        if energy.chain.is_trivial() && inputs.len() == self.values.len() {
            self.values.clone_from_slice(inputs);
        } else {
            self.values = circuit.param_values(inputs)?;
        }
        let count = self.operators.len();
        for &(number, k) in &self.moving {
            let operator = &mut self.operators[number];
            rebind_instruction(
                circuit,
                &circuit.instructions()[k],
                &Values(&self.values),
                operator,
            )?;
            operator.dagger_into(&mut self.inverses[count - 1 - number]);
        }
        self.forward.bind(&self.operators);
        if !self.fixed
            && let Some(BackwardPass { probes: inners, terms, .. }) =
                Bound::new(circuit, &self.values)?.backward_pass(&energy.parameter_uses)?
        {
            self.terms = terms;
            let executor = energy.simulator.executors.best::<Complex<T>>(circuit.n_qubits(), count);
            if inners != self.inners
                && let Some(pairs) = executor.pair_executor(circuit.n_qubits())
                && let Some(back) = pairs.prepare(
                    circuit.n_qubits(),
                    &self.inverses,
                    &inners,
                    StateHint::EndsAtZero,
                )
            {
                self.back = back;
                self.inners = inners;
                return Ok(());
            }
        }
        self.back.bind(&self.inverses);
        Ok(())
    }

    /// Returns the value; the derivatives by the angles of the slots are in `by_angle`.
    fn run(&mut self, energy: &Expectation, inputs: &[T]) -> Result<T, HybridError> {
        let threads = &energy.simulator.threads;
        let failed = |e: ExecuteError| HybridError::from(SimulateError::from(e));
        self.bind(energy, inputs)?;
        self.forward.run(self.psi.amplitudes_mut(), threads).map_err(failed)?;
        energy.observe_into(
            &self.psi,
            &self.weights,
            &mut self.observed,
            &mut self.results,
            &mut self.lambda,
        )?;
        let (psi, lambda) = (self.psi.amplitudes_mut(), self.lambda.amplitudes_mut());
        let products = self.back.run(psi, lambda, threads).map_err(failed)?;
        self.by_angle.fill(T::zero());
        add_products(&self.terms, products, &mut self.by_angle);
        Ok(self.results.iter().fold(T::zero(), |sum, value| sum + value))
    }
}

impl<T: Real> PreparedGradient<T> {
    /// Returns the expectation value that it was prepared from.
    #[must_use]
    pub fn expectation(&self) -> &Expectation {
        &self.energy
    }

    /// Computes [`Expectation::value`] at a point; its derivative by each input is written to
    /// `gradient`.
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::Count`] unless the gradient has a place for
    /// each input.
    pub fn value_and_gradient(
        &mut self,
        inputs: &[T],
        gradient: &mut [T],
    ) -> Result<T, HybridError> {
        let PreparedGradient { energy, ready } = self;
        expect("places of the gradient", gradient.len(), energy.n_inputs)?;
        let Some(ready) = ready else {
            let (value, found) = energy.value_and_gradient(inputs)?;
            gradient.clone_from_slice(&found);
            return Ok(value);
        };
        let value = ready.run(energy, inputs)?;
        if energy.chain.is_trivial() {
            gradient.fill(T::zero());
            add_by_parameter(&energy.circuit, &energy.parameter_uses, &ready.by_angle, gradient);
        } else {
            let bars = by_parameter(&energy.circuit, &energy.parameter_uses, &ready.by_angle);
            gradient.clone_from_slice(&energy.chain.pull(inputs, bars)?);
        }
        Ok(value)
    }
}
