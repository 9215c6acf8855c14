//! Second derivatives, the geometry of the final states, and derivatives by amplitudes.

use num_complex::Complex;
use num_dual::{DualNum, HyperDual};

use super::{
    Expectation, HybridError, Method,
    adjoint::Bound,
    expectation::expect,
    parameter_uses::{Chain, by_parameter, parameter_uses},
    tangent::{along_tangent, unit_vector},
};
use crate::{
    kernel::StateHint,
    scalar::{Conj, Real, Scalar},
    state::{StateError, StateVector},
};

/// The metric of the final states as a function of the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricTensor<T>(
    /// Entry (i, j) is `re(<d_i psi|d_j psi> - <d_i psi|psi><psi|d_j psi>)`, the Fubini-Study
    /// metric. The quantum Fisher information is four times it.
    pub Vec<Vec<T>>,
);

/// A state and how it changes by each input.
pub(super) type StateAndTangents<T> = (StateVector<Complex<T>>, Vec<StateVector<Complex<T>>>);

impl Expectation {
    /// Returns the gradient of [`Expectation::value`] and its change along a tangent of the inputs,
    /// `H v`: forward over adjoint (`product.rs`), 3 to 4 gradients tile by tile, else the adjoint
    /// method on duals. Memory: 4 states.
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::Count`] unless there is a tangent for each
    /// input.
    pub fn hvp<T: Real + DualNum>(
        &self,
        inputs: &[T],
        v: &[T],
    ) -> Result<(Vec<T>, Vec<T>), HybridError> {
        expect("tangents", v.len(), inputs.len())?;
        let (gradient, mut product): (Vec<T>, Vec<T>) = match self.hvp_by_tiles(inputs, v)? {
            Some(both) => both,
            None => {
                let (_, gradient) = self.value_and_gradient(&along_tangent(inputs, v))?;
                gradient.into_iter().map(|g| (g.re, g.eps)).unzip()
            }
        };
        let singular = self.chain.singular(inputs)?;
        let along = singular.iter().zip(v).any(|(singular, dot)| *singular && !dot.is_exact_zero());
        for (entry, _) in
            product.iter_mut().zip(&singular).filter(|(_, singular)| along || **singular)
        {
            *entry = T::lit(f64::NAN);
        }
        Ok((gradient, product))
    }

    /// Returns the Hessian of [`Expectation::value`]: one [`Expectation::hvp`] for each input.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn hessian<T: Real + DualNum>(&self, inputs: &[T]) -> Result<Vec<Vec<T>>, HybridError> {
        (0..inputs.len()).map(|k| Ok(self.hvp(inputs, &unit_vector(inputs.len(), k))?.1)).collect()
    }

    /// Returns the Hessian by a method of choice: `Forward` takes hyper-duals for each pair of
    /// inputs, `Shift` and `Difference` differences of gradients by shifts and differences.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn hessian_by<T: Real + DualNum>(
        &self,
        method: Method,
        inputs: &[T],
    ) -> Result<Vec<Vec<T>>, HybridError> {
        let n = inputs.len();
        let hessian: Result<Vec<Vec<T>>, HybridError> = match method {
            Method::Adjoint => return self.hessian(inputs),
            Method::Forward => {
                let mixed = |i: usize, j: usize| {
                    let (e, f) = (unit_vector::<T>(n, i), unit_vector::<T>(n, j));
                    let moved: Vec<HyperDual<T>> = (0..n)
                        .map(|k| {
                            HyperDual::new(inputs[k].clone(), e[k].clone(), f[k].clone(), T::zero())
                        })
                        .collect();
                    Ok(self.value(&moved)?.eps1eps2)
                };
                symmetric(n, mixed)
            }
            // The shifts are exact on duals too: the change of the shifted gradient along each
            // input.
            Method::Shift => (0..n)
                .map(|k| {
                    let moved = along_tangent(inputs, &unit_vector(n, k));
                    Ok(self.shift_gradient(&moved)?.1.into_iter().map(|g| g.eps).collect())
                })
                .collect(),
            Method::Difference => (0..n)
                .map(|k| {
                    self.differences(inputs, |x| {
                        Ok(self.gradient_by(Method::Adjoint, x)?.1.swap_remove(k))
                    })
                })
                .collect(),
            Method::Symbolic => self.symbolic_hessian(inputs),
        };
        let mut hessian = hessian?;
        let singular = self.chain.singular(inputs)?;
        for (i, row) in hessian.iter_mut().enumerate() {
            let entries = row.iter_mut().enumerate().filter(|(j, _)| singular[i] || singular[*j]);
            entries.for_each(|(_, entry)| *entry = T::lit(f64::NAN));
        }
        Ok(hessian)
    }

    /// Returns the Fubini-Study metric of the final states. One run on duals for each input;
    /// memory: a state for each input.
    ///
    /// # Errors
    /// Those of [`Expectation::values`].
    pub fn metric_tensor<T: Real + DualNum>(
        &self,
        inputs: &[T],
    ) -> Result<MetricTensor<T>, HybridError> {
        let (psi, tangents) = self.state_tangents(inputs)?;
        let threads = &self.simulator.threads;
        let n = tangents.len();
        // <psi|d_k psi>, which is imaginary.
        let along: Vec<Complex<T>> =
            tangents.iter().map(|d| psi.inner(d, threads)).collect::<Result<_, StateError>>()?;
        let entry = |i: usize, j: usize| {
            let overlap = tangents[i].inner(&tangents[j], threads)?;
            let parallel = Scalar::re(&(Conj::conj(&along[i]) * &along[j]));
            Ok(overlap.re - parallel)
        };
        Ok(MetricTensor(symmetric(n, entry)?))
    }

    /// Returns the final state and its derivative by each input.
    fn state_tangents<T: Real + DualNum>(
        &self,
        inputs: &[T],
    ) -> Result<StateAndTangents<T>, HybridError> {
        let values = self.circuit.param_values(inputs)?;
        let psi = self.state(&values)?;
        let tangent = |k: usize| -> Result<StateVector<Complex<T>>, HybridError> {
            let moved = along_tangent(inputs, &unit_vector(inputs.len(), k));
            let state = self.state(&self.circuit.param_values(&moved)?)?;
            let amplitudes =
                state.into_amplitudes().into_iter().map(|z| Complex::new(z.re.eps, z.im.eps));
            Ok(StateVector::from_vector(amplitudes.collect()).map_err(StateError::from)?)
        };
        Ok((psi, (0..inputs.len()).map(tangent).collect::<Result<_, _>>()?))
    }

    /// Returns the pullback of `(inputs, start) -> amplitudes`: from the cotangent of the final
    /// amplitudes, `dL = re <lambda|d psi>`, to the derivatives by the inputs and the cotangent of
    /// the initial amplitudes.
    ///
    /// # Errors
    /// Those of [`Expectation::values`]; [`HybridError::Count`] for states of other sizes.
    pub fn state_vjp<T: Real>(
        &self,
        inputs: &[T],
        start: StateVector<Complex<T>>,
        lambda: StateVector<Complex<T>>,
    ) -> Result<(Vec<T>, StateVector<Complex<T>>), HybridError> {
        // From another state than |0…0> no qubit is idle.
        let circuit = self.given.as_deref().unwrap_or(&self.circuit);
        let n_qubits = circuit.n_qubits();
        expect("qubits of the initial state", start.n_qubits(), n_qubits)?;
        expect("qubits of the cotangent", lambda.n_qubits(), n_qubits)?;
        let own = match &self.given {
            Some(given) => Some((parameter_uses(given), Chain::new(given)?)),
            None => None,
        };
        let (slots, chain) = own
            .as_ref()
            .map_or((&self.parameter_uses, &self.chain), |(slots, chain)| (slots, chain));
        let values = circuit.param_values(inputs)?;
        let bound = Bound::new(circuit, &values)?;
        let (mut psi, mut lambda) = (start, lambda);
        bound.run(&self.simulator, &mut psi)?;
        let by_angle =
            bound.back(&self.simulator, slots, StateHint::Arbitrary, &mut psi, &mut lambda)?;
        let gradient = chain.pull(inputs, by_parameter(circuit, slots, &by_angle))?;
        Ok((gradient, lambda))
    }

    /// Computes [`Expectation::value`] and its gradient at many points, in parallel where the
    /// states are small.
    ///
    /// # Errors
    /// [`HybridError`] of the first point that fails.
    pub fn gradients<T: Real>(&self, points: &[Vec<T>]) -> Result<Vec<(T, Vec<T>)>, HybridError> {
        type GradientsFn<T> = fn(&Expectation, &[Vec<T>]) -> Result<Vec<(T, Vec<T>)>, HybridError>;
        compiled!(T: GradientsFn = [f32, f64] Expectation::gradients_any)(self, points)
    }

    fn gradients_any<T: Real>(&self, points: &[Vec<T>]) -> Result<Vec<(T, Vec<T>)>, HybridError> {
        let dim = u32::try_from(self.circuit.n_qubits()).ok().and_then(|n| 1usize.checked_shl(n));
        let small = dim.is_some_and(|dim| dim < crate::kernel::SERIAL_BELOW);
        if !small || !T::PARALLEL {
            return self.gradients_sequential(points);
        }
        let mut alone = self.clone();
        alone.simulator.threads = self.simulator.threads.to_serial();
        let threads = &self.simulator.threads;
        let size = points.len().div_ceil(threads.count()).max(1);
        let parts: Vec<&[Vec<T>]> = points.chunks(size).collect();
        let all: Result<Vec<_>, HybridError> = threads
            .map(parts.len(), |k| alone.gradients_sequential(parts[k]))
            .into_iter()
            .collect();
        Ok(all?.concat())
    }

    /// Computes [`Expectation::gradients`], one after the other; more than one are prepared for.
    fn gradients_sequential<T: Real>(
        &self,
        points: &[Vec<T>],
    ) -> Result<Vec<(T, Vec<T>)>, HybridError> {
        if let [point] = points {
            return Ok(vec![self.value_and_gradient(point)?]);
        }
        let mut prepared = self.prepare::<T>()?;
        let one = |point: &Vec<T>| {
            let mut gradient = vec![T::zero(); self.n_inputs];
            Ok((prepared.value_and_gradient(point, &mut gradient)?, gradient))
        };
        points.iter().map(one).collect()
    }
}

/// Returns the symmetric matrix whose entries on and below the diagonal are given.
fn symmetric<T: Real>(
    n: usize,
    entry: impl Fn(usize, usize) -> Result<T, HybridError>,
) -> Result<Vec<Vec<T>>, HybridError> {
    let mut rows: Vec<Vec<T>> = Vec::with_capacity(n);
    for i in 0..n {
        let row = (0..=i).map(|j| entry(i, j)).collect::<Result<Vec<T>, _>>()?;
        for (upper, x) in rows.iter_mut().zip(&row) {
            upper.push(x.clone());
        }
        rows.push(row);
    }
    Ok(rows)
}
