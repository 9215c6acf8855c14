//! Expectation values of one circuit and their first derivatives.

use std::{fmt, sync::Arc};

use num_complex::Complex;
use num_dual::DualNum;

use super::{
    HybridError, Observable,
    adjoint::Bound,
    device::ValuesAndSlopes,
    parameter_uses::{Chain, ParameterUse, by_parameter, parameter_uses},
    tangent::{along_tangent, unit_vector},
};
use crate::{
    check::{Report, Settings},
    circuit::Circuit,
    kernel::{Executors, PreparedObservable, StateHint, clear},
    scalar::Real,
    simulate::{Simulator, is_static},
    state::{StateError, StateVector},
};

/// Largest distance between results of exact methods: the rounding of long circuits.
pub(super) const EXACT: f64 = 1e-8;

/// Method of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Adjoint method: one backward pass with two vectors.
    Adjoint,
    /// Duals as amplitudes, one run for each input.
    Forward,
    /// The exact shifts of each angle of a gate.
    Shift,
    /// Central differences.
    Difference,
    /// Formulas, for small circuits whose angles lie in the [exact ring](crate::exact).
    Symbolic,
}

impl Method {
    /// Methods that serve circuits of any size: all but [`Method::Symbolic`].
    pub const ALL: [Method; 4] =
        [Method::Adjoint, Method::Forward, Method::Shift, Method::Difference];

    /// Returns the name in the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Adjoint => "adjoint",
            Method::Forward => "forward",
            Method::Shift => "shift",
            Method::Difference => "difference",
            Method::Symbolic => "symbolic",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The expectation values of observables in the final state of a circuit that starts in |0…0>, as
/// functions of its inputs. All observables share one run of the circuit, [folded](Circuit::folded)
/// and without its [idle qubits](Circuit::compact). With noise, and where the circuit measures,
/// resets or branches before its end, the state is a density matrix, averaged over all outcomes:
/// 4^n entries.
#[derive(Clone, Debug)]
pub struct Expectation {
    pub(super) circuit: Arc<Circuit>,
    /// The circuit as it was given, where it is another one: what does not start in |0…0> needs it.
    pub(super) given: Option<Arc<Circuit>>,
    pub(super) observables: Vec<Observable>,
    /// The state to start in, if it is another one than |0…0>.
    pub(super) initial: Option<Arc<StateVector<Complex<f64>>>>,
    pub(super) simulator: Simulator,
    pub(super) parameter_uses: Vec<ParameterUse>,
    pub(super) chain: Chain,
    pub(super) n_inputs: usize,
}

impl Expectation {
    /// Creates the expectation values of the given observables.
    ///
    /// # Errors
    /// [`HybridError::Qubit`] for an observable on a qubit that the circuit does not have.
    pub fn new(
        circuit: Circuit,
        observables: impl IntoIterator<Item = impl Into<Observable>>,
    ) -> Result<Expectation, HybridError> {
        let observables: Vec<Observable> = observables.into_iter().map(Into::into).collect();
        observables.iter().try_for_each(|o| o.check(circuit.n_qubits()))?;
        // In means over shots an idle qubit may have a readout error, too.
        let lean = circuit.lean().filter(|_| !circuit.has_readout_errors());
        let given = lean.as_ref().map(|_| Arc::new(circuit.clone()));
        let (circuit, observables) = match lean {
            None => (circuit, observables),
            // A state to overlap with is one of all qubits.
            Some(compact) => match observables.iter().map(|o| o.placed(&compact)).collect() {
                Some(placed) => (compact.into_circuit(), placed),
                None => (circuit.folded(), observables),
            },
        };
        Ok(Expectation { given, ..Expectation::of_whole(circuit, observables)? })
    }

    /// Creates the expectation values of the given observables in the final state of a circuit that
    /// starts in another state than |0…0>: from there no qubit is idle.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, hybrid::Expectation, observable::PauliSum, state::StateVector};
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.ry(0, theta)?;
    /// let energy = Expectation::from_state(circuit, ["Z0".parse::<PauliSum>()?], StateVector::basis(1, 1)?)?;
    /// let (value, gradient) = energy.value_and_gradient(&[0.3])?;
    /// assert!((value + 0.3f64.cos()).abs() < 1e-15 && (gradient[0] - 0.3f64.sin()).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Expectation::new`]; [`HybridError::Count`] for a state of another size.
    pub fn from_state(
        circuit: Circuit,
        observables: impl IntoIterator<Item = impl Into<Observable>>,
        initial: StateVector<Complex<f64>>,
    ) -> Result<Expectation, HybridError> {
        let observables: Vec<Observable> = observables.into_iter().map(Into::into).collect();
        observables.iter().try_for_each(|o| o.check(circuit.n_qubits()))?;
        expect("qubits of the initial state", initial.n_qubits(), circuit.n_qubits())?;
        let of = Expectation::of_whole(circuit, observables)?;
        Ok(Expectation { initial: Some(Arc::new(initial)), ..of })
    }

    /// Creates the expectation values of a circuit as it is, without compacting it.
    fn of_whole(
        circuit: Circuit,
        observables: Vec<Observable>,
    ) -> Result<Expectation, HybridError> {
        let (slots, chain) = (parameter_uses(&circuit), Chain::new(&circuit)?);
        let n_inputs = circuit.inputs().count();
        let simulator = Simulator::new();
        let (circuit, given, initial) = (Arc::new(circuit), None, None);
        Ok(Expectation {
            circuit,
            given,
            observables,
            initial,
            simulator,
            parameter_uses: slots,
            chain,
            n_inputs,
        })
    }

    /// Returns one of the observables alone.
    ///
    /// # Panics
    /// If there is no observable of that number.
    #[must_use]
    pub fn only(&self, observable: usize) -> Expectation {
        self.with_observables(vec![self.observables[observable].clone()])
    }

    /// Replaces the observables by others, which act on qubits that the circuit has.
    pub(super) fn with_observables(&self, observables: Vec<Observable>) -> Expectation {
        Expectation {
            observables,
            circuit: self.circuit.clone(),
            given: self.given.clone(),
            initial: self.initial.clone(),
            simulator: self.simulator.clone(),
            parameter_uses: self.parameter_uses.clone(),
            chain: self.chain.clone(),
            n_inputs: self.n_inputs,
        }
    }

    /// Sets the executors, the threads and the memory limit.
    #[must_use]
    pub fn with_simulator(mut self, simulator: Simulator) -> Expectation {
        self.simulator = simulator;
        self
    }

    /// Returns the executors of the circuit.
    #[must_use]
    pub fn executors(&self) -> &Executors {
        &self.simulator.executors
    }

    /// Returns the circuit as it is run: without idle qubits, unless an observable is an overlap.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Returns the observables, on the qubits of [`circuit`](Expectation::circuit).
    #[must_use]
    pub fn observables(&self) -> &[Observable] {
        &self.observables
    }

    /// Returns the number of inputs.
    #[must_use]
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// Returns the value of each observable. One run.
    ///
    /// # Errors
    /// [`HybridError`]: the number of inputs, a NaN among them, memory.
    pub fn values<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, HybridError> {
        type ValuesFn<T> = fn(&Expectation, &[T]) -> Result<Vec<T>, HybridError>;
        compiled!(T: ValuesFn = [f32, f64] Expectation::values_any)(self, inputs)
    }

    fn values_any<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, HybridError> {
        if self.circuit.has_channels() || !is_static(&self.circuit) {
            return self.noisy_values(inputs);
        }
        let values = self.circuit.param_values(inputs)?;
        let bound = Bound::new(&self.circuit, &values)?;
        if let Some(values) = self.values_on_device(&bound)? {
            return Ok(values);
        }
        let mut state = self.start()?;
        bound.run(&self.simulator, &mut state)?;
        self.observe(&state)
    }

    /// Returns the sum of the values of all observables: the value, where there is one.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn value<T: Real>(&self, inputs: &[T]) -> Result<T, HybridError> {
        Ok(total(self.values(inputs)?))
    }

    /// Computes [`Expectation::value`] and its derivative by each input, by the adjoint method.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn value_and_gradient<T: Real>(&self, inputs: &[T]) -> Result<(T, Vec<T>), HybridError> {
        let (values, gradient) = self.vjp(inputs, &vec![T::one(); self.observables.len()])?;
        Ok((total(values), gradient))
    }

    /// Returns the values, and the derivative of `sum_k cotangents[k] <O_k>` by each input, by the
    /// adjoint method: about three runs, whatever the number of inputs and observables.
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::Count`] unless there is a cotangent for
    /// each observable.
    pub fn vjp<T: Real>(
        &self,
        inputs: &[T],
        cotangents: &[T],
    ) -> Result<(Vec<T>, Vec<T>), HybridError> {
        type VjpFn<T> = fn(&Expectation, &[T], &[T]) -> Result<(Vec<T>, Vec<T>), HybridError>;
        compiled!(T: VjpFn = [f32, f64] Expectation::vjp_any)(self, inputs, cotangents)
    }

    fn vjp_any<T: Real>(
        &self,
        inputs: &[T],
        cotangents: &[T],
    ) -> Result<(Vec<T>, Vec<T>), HybridError> {
        if self.circuit.has_channels() {
            return self.noisy_vjp(inputs, cotangents);
        }
        expect("cotangents", cotangents.len(), self.observables.len())?;
        let values = self.circuit.param_values(inputs)?;
        let bound = Bound::new(&self.circuit, &values)?;
        let (results, by_angle) = match self.vjp_on_device(&bound, cotangents)? {
            Some(there) => there,
            None => self.vjp_on_host(&bound, cotangents)?,
        };
        let gradient = self
            .chain
            .pull(inputs, by_parameter(&self.circuit, &self.parameter_uses, &by_angle))?;
        Ok((results, gradient))
    }

    /// Returns the values, and the derivative of their weighted sum by the angle of each slot, in
    /// the host's memory.
    fn vjp_on_host<T: Real>(
        &self,
        bound: &Bound<'_, T>,
        weights: &[T],
    ) -> Result<ValuesAndSlopes<T>, HybridError> {
        let mut psi = self.start()?;
        bound.run(&self.simulator, &mut psi)?;
        let (results, mut lambda) = self.observe_and_cotangent(&psi, weights)?;
        let by_angle = bound.back(
            &self.simulator,
            &self.parameter_uses,
            self.backward_hint(),
            &mut psi,
            &mut lambda,
        )?;
        Ok((results, by_angle))
    }

    /// Returns the values, and their change along a tangent of the inputs: one run on duals.
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::Count`] unless there is a tangent for each
    /// input.
    pub fn jvp<T: Real + DualNum>(
        &self,
        inputs: &[T],
        tangents: &[T],
    ) -> Result<(Vec<T>, Vec<T>), HybridError> {
        expect("tangents", tangents.len(), self.n_inputs)?;
        let (values, mut dots): (Vec<T>, Vec<T>) = self
            .values(&along_tangent(inputs, tangents))?
            .into_iter()
            .map(|y| (y.re, y.eps))
            .unzip();
        let singular = self.chain.singular(inputs)?;
        if singular.iter().zip(tangents).any(|(singular, dot)| *singular && !dot.is_exact_zero()) {
            dots.fill(T::lit(f64::NAN));
        }
        Ok((values, dots))
    }

    /// Computes [`Expectation::value`] and its gradient by a method of choice.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn gradient_by<T: Real + DualNum>(
        &self,
        method: Method,
        inputs: &[T],
    ) -> Result<(T, Vec<T>), HybridError> {
        match method {
            Method::Adjoint => self.value_and_gradient(inputs),
            Method::Forward => {
                let value = self.value(inputs)?;
                let along =
                    |k: usize| Ok(total(self.jvp(inputs, &unit_vector(inputs.len(), k))?.1));
                Ok((value, (0..inputs.len()).map(along).collect::<Result<_, HybridError>>()?))
            }
            Method::Shift => self.shift_gradient(inputs),
            Method::Difference => {
                Ok((self.value(inputs)?, self.differences(inputs, |x| self.value(x))?))
            }
            Method::Symbolic => self.symbolic_gradient(inputs),
        }
    }

    /// Compares [all methods](Expectation::methods) at a point. Differences must agree as
    /// [`Settings::default`] says, the others to 1e-8; where numbers are too far apart for steps
    /// they are left out.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn check(&self, inputs: &[f64]) -> Result<Report, HybridError> {
        let by = |method: Method| {
            self.gradient_by(method, inputs)
                .map(|(value, gradient)| (method.name(), value, gradient))
        };
        let engines = self.methods().into_iter().map(by);
        let engines = engines.filter(|engine| !matches!(engine, Err(HybridError::Step { .. })));
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        let reentrant = by(self.methods()[0])?.2 == engines[0].2;
        let exact = Settings::default().with_absolute(EXACT).with_relative(EXACT);
        let settings = |name: &str| {
            if name == Method::Difference.name() { Settings::default() } else { exact }
        };
        let names = self.circuit.inputs().map(str::to_owned).collect();
        Ok(Report::new(names, engines, reentrant, settings))
    }

    /// Returns the methods that serve it and need no closed form: all of [`Method::ALL`], but
    /// shifts where channels depend on the inputs or gates are in loops, and the adjoint method
    /// where the circuit has no one final state. Where the angle of a gate is computed from inputs
    /// when the gate runs, differences alone serve it.
    #[must_use]
    pub fn methods(&self) -> Vec<Method> {
        let instructions = self.circuit.instructions();
        let channels = self
            .parameter_uses
            .iter()
            .any(|slot| !instructions[slot.instruction].operation.applies_gate());
        let is_seen = self.circuit.runtime_parameter().is_none();
        let serves = |method: &Method| match method {
            Method::Adjoint => is_static(&self.circuit),
            Method::Shift => !channels && !self.has_loops() && is_seen,
            Method::Forward => is_seen,
            _ => true,
        };
        Method::ALL.into_iter().filter(serves).collect()
    }

    /// Returns the final state.
    pub(super) fn state<T: Real>(
        &self,
        values: &[T],
    ) -> Result<StateVector<Complex<T>>, HybridError> {
        let mut state = self.start()?;
        Bound::new(&self.circuit, values)?.run(&self.simulator, &mut state)?;
        Ok(state)
    }

    /// Returns the state to start in, once it is known that the vectors of the adjoint method fit.
    pub(super) fn start<T: Real>(&self) -> Result<StateVector<Complex<T>>, HybridError> {
        let n_qubits = self.circuit.n_qubits();
        self.simulator.check_memory::<[Complex<T>; 2]>(n_qubits)?;
        Ok(match self.given_start() {
            Some(state) => state?,
            None => StateVector::zero(n_qubits)?,
        })
    }

    /// Returns the state to start in, if it is not |0…0>.
    pub(super) fn given_start<T: Real>(
        &self,
    ) -> Option<Result<StateVector<Complex<T>>, StateError>> {
        let number = |z: &Complex<f64>| Complex::new(T::lit(z.re), T::lit(z.im));
        let amplitudes = self.initial.as_ref()?.amplitudes().iter().map(number).collect();
        Some(StateVector::from_vector(amplitudes).map_err(StateError::from))
    }

    /// Returns the hint for the backward pass: |0…0> after it, unless the circuit starts from
    /// another state.
    pub(super) fn backward_hint(&self) -> StateHint {
        if self.initial.is_some() { StateHint::Arbitrary } else { StateHint::EndsAtZero }
    }

    pub(super) fn observe<T: Real>(
        &self,
        state: &StateVector<Complex<T>>,
    ) -> Result<Vec<T>, HybridError> {
        let threads = &self.simulator.threads;
        self.observables.iter().map(|o| o.value(state, threads)).collect()
    }

    /// Returns the values and `2 sum_k w_k O_k |psi>`: at once if the executor can.
    pub(super) fn observe_and_cotangent<T: Real>(
        &self,
        psi: &StateVector<Complex<T>>,
        weights: &[T],
    ) -> Result<(Vec<T>, StateVector<Complex<T>>), HybridError> {
        let mut lambda = StateVector::zero_on(psi.n_qubits(), &self.simulator.threads)?;
        let mut observed = self.prepare_observables(psi.n_qubits());
        let mut values = vec![T::zero(); self.observables.len()];
        self.observe_into(psi, weights, &mut observed, &mut values, &mut lambda)?;
        Ok((values, lambda))
    }

    /// Prepares each observable with the executor, if it can.
    pub(super) fn prepare_observables<T: Real>(
        &self,
        n_qubits: usize,
    ) -> Vec<Option<BoxedObservable<T>>> {
        let executor = self.simulator.executors.best::<Complex<T>>(n_qubits, 1);
        let prepare = |o: &Observable| {
            executor.pair_executor(n_qubits)?.prepare_observable(n_qubits, &o.masks()?)
        };
        self.observables.iter().map(prepare).collect()
    }

    /// Writes the values, and `2 sum_k w_k O_k |psi>` over `lambda`.
    pub(super) fn observe_into<T: Real>(
        &self,
        psi: &StateVector<Complex<T>>,
        weights: &[T],
        observed: &mut [Option<BoxedObservable<T>>],
        values: &mut [T],
        lambda: &mut StateVector<Complex<T>>,
    ) -> Result<(), HybridError> {
        let threads = &self.simulator.threads;
        // Whether lambda has been written to.
        let mut add = false;
        let each = self.observables.iter().zip(weights).zip(observed).zip(values);
        for (((observable, weight), observed), value) in each {
            let twice = T::int(2) * weight;
            if let (Some(observed), Some(factor)) = (observed, twice.primal()) {
                let (psi, lambda) = (psi.amplitudes(), lambda.amplitudes_mut());
                *value = T::lit(observed.apply(factor, psi, lambda, add, threads));
            } else {
                *value = observable.value(psi, threads)?;
                if !add {
                    clear(lambda.amplitudes_mut(), threads);
                }
                observable.add(&twice, psi, lambda, threads);
            }
            add = true;
        }
        if !add {
            clear(lambda.amplitudes_mut(), threads);
        }
        Ok(())
    }
}

/// An observable that an executor has prepared.
pub(super) type BoxedObservable<T> = Box<dyn PreparedObservable<Complex<T>>>;

pub(super) fn expect(what: &'static str, given: usize, expected: usize) -> Result<(), HybridError> {
    if given == expected { Ok(()) } else { Err(HybridError::Count { what, given, expected }) }
}

pub(super) fn total<T: Real>(values: Vec<T>) -> T {
    values.into_iter().fold(T::zero(), |sum, v| sum + v)
}
