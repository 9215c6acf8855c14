//! Expectation values of observables whose coefficients have parameters, and their derivatives by
//! all parameters.
//!
//! An observable is `H = sum_m c_m(params) S_m` with monomials `c_m`. Derivatives by the inputs of
//! the circuit are those of H at the values, and those by its own parameters are the values of
//! other observables in the same state, `d<H>/dJ = <dH/dJ>`. A name may be both, and then its
//! derivative is the sum of the two.

use num_dual::DualNum;

use super::{
    Expectation, HybridError, Method,
    expectation::{EXACT, expect},
    jacobian::Jacobian,
    symbolic::strings,
};
use crate::{
    check::{Report, Settings},
    kernel::SimdFloat,
    observable::{Monomial, ParametricSum, PauliSum},
    simulate::{Mean, Shots},
};

impl Expectation {
    /// Returns the expectation values of linear combinations of its observables: one for each row
    /// of weights.
    ///
    /// # Errors
    /// [`HybridError::NoFormula`] for an observable that is no sum of Pauli strings;
    /// [`HybridError::Count`] unless each row has a weight for each; [`HybridError::Observable`] if
    /// a coefficient is not finite.
    pub fn combined(&self, weights: &[Vec<f64>]) -> Result<Expectation, HybridError> {
        let combination = |row: &Vec<f64>| {
            expect("weights", row.len(), self.observables.len())?;
            let mut sum = PauliSum::default();
            for (observable, weight) in self.observables.iter().zip(row).filter(|(_, w)| **w != 0.0)
            {
                sum.extend(strings(observable)?.scaled(*weight)?);
            }
            Ok(sum.into())
        };
        let observables = weights.iter().map(combination).collect::<Result<_, HybridError>>()?;
        Ok(self.with_observables(observables))
    }
}

/// The expectation values of observables with parameters, as functions of the circuit's inputs and
/// of theirs.
#[derive(Clone, Debug)]
pub struct ParametricExpectation {
    /// Expectation values of the sums that each monomial multiplies, one observable after the
    /// other.
    parts: Expectation,
    /// Monomials of each observable, in names, and the index of the first of its parts.
    monomials: Vec<(usize, Vec<Monomial>)>,
    /// The inputs of the circuit, and then the parameters that are none, in order of first
    /// occurrence.
    names: Vec<String>,
}

impl ParametricExpectation {
    /// Creates the expectation values of the given observables; `expectation` makes that of sums on
    /// the same qubits.
    ///
    /// ```
    /// use ketgrad_core::{
    ///     circuit::Circuit,
    ///     hybrid::{Expectation, Method, ParametricExpectation},
    ///     observable::ParametricSum,
    /// };
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.ry(0, theta)?;
    /// let energy = ParametricSum::parse_on("J**2*Z0 + theta*X0", 1, &|_| true)?;
    /// let energy = ParametricExpectation::new(&[energy], |sums| Expectation::new(circuit, sums))?;
    /// assert_eq!(energy.names(), ["theta", "J"]);
    /// let (values, rows) = energy.jacobian_by(Method::Adjoint, &[0.3, 2.0])?;
    /// let (sin, cos) = 0.3f64.sin_cos();
    /// assert!((values[0] - (4.0 * cos + 0.3 * sin)).abs() < 1e-14);
    /// assert!((rows[0][0] - (-4.0 * sin + 0.3 * cos + sin)).abs() < 1e-14);
    /// assert!((rows[0][1] - 4.0 * cos).abs() < 1e-14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `expectation`.
    pub fn new<E>(
        observables: &[ParametricSum],
        expectation: impl FnOnce(Vec<PauliSum>) -> Result<Expectation, E>,
    ) -> Result<ParametricExpectation, E> {
        let (mut sums, mut all) = (Vec::new(), Vec::new());
        for observable in observables {
            let first = sums.len();
            let (monomials, parts): (Vec<_>, Vec<_>) = observable.parts().into_iter().unzip();
            sums.extend(parts);
            all.push((first, monomials));
        }
        let parts = expectation(sums)?;
        let mut names: Vec<String> = parts.circuit().inputs().map(str::to_owned).collect();
        for ((_, monomials), observable) in all.iter_mut().zip(observables) {
            let number = |name: &String| {
                names.iter().position(|other| other == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                }) as u32
            };
            let numbers: Vec<u32> = observable.params().iter().map(number).collect();
            monomials.iter_mut().for_each(|m| *m = m.renumbered(|k| numbers[k as usize]));
        }
        Ok(ParametricExpectation { parts, monomials: all, names })
    }

    /// Returns the expectation values of the sums that each monomial is multiplied by: of the
    /// observables themselves, where these have no parameters.
    #[must_use]
    pub fn parts(&self) -> &Expectation {
        &self.parts
    }

    /// Returns the names of all parameters: the inputs of the circuit, and then those that are
    /// none, in order of first occurrence.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if no observable has parameters.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.monomials.iter().flat_map(|(_, monomials)| monomials).all(Monomial::is_one)
    }

    /// Returns the value of each observable and its derivative by each parameter: row k is the
    /// gradient of observable k. Where observables have parameters it takes one run more, whatever
    /// their number.
    ///
    /// # Errors
    /// Those of [`Expectation::jacobian_by`]; [`HybridError::Count`] unless there is a value for
    /// each name; [`HybridError::Observable`] if a coefficient is not finite.
    pub fn jacobian_by<T: SimdFloat + DualNum>(
        &self,
        method: Method,
        values: &[T],
    ) -> Result<Jacobian<T>, HybridError> {
        if self.is_constant() {
            return self.parts.jacobian_by(method, values);
        }
        let (point, inputs) = self.split(values)?;
        let (means, rows) = self.expectation_at(&point)?.jacobian_by(method, inputs)?;
        let slopes = match method {
            Method::Difference => self.differences(&point, inputs)?,
            _ => self.own_slopes(&point, inputs)?,
        };
        let mut rows: Vec<Vec<T>> = rows.into_iter().map(|row| self.widened(row)).collect();
        for (observable, param, slope) in slopes {
            rows[observable][param] += slope;
        }
        Ok((means, rows))
    }

    /// Returns the second derivatives of an observable by each pair of parameters.
    ///
    /// # Errors
    /// Those of [`Expectation::hessian_by`] and [`ParametricExpectation::jacobian_by`].
    ///
    /// # Panics
    /// If there is no observable of that number.
    pub fn hessian_by<T: SimdFloat + DualNum>(
        &self,
        observable: usize,
        method: Method,
        values: &[T],
    ) -> Result<Vec<Vec<T>>, HybridError> {
        if self.is_constant() {
            return self.parts.only(observable).hessian_by(method, values);
        }
        let (point, inputs) = self.split(values)?;
        let own = self.params(observable);
        let energy = self.parts.combined(&[self.weights(observable, &point, &[])])?;
        let hessian = energy.hessian_by(method, inputs)?;
        let mut hessian: Vec<Vec<T>> = hessian.into_iter().map(|row| self.widened(row)).collect();
        hessian.resize(self.names.len(), vec![T::lit(0.0); self.names.len()]);
        if own.is_empty() {
            return Ok(hessian);
        }
        // Those by one input and one parameter of the observable are slopes of the derivative by
        // the latter.
        let slopes: Vec<Vec<f64>> =
            own.iter().map(|j| self.weights(observable, &point, &[*j])).collect();
        let (_, rows) = self.parts.combined(&slopes)?.jacobian_by(method, inputs)?;
        for (j, row) in own.iter().zip(rows) {
            for (i, slope) in row.into_iter().enumerate() {
                hessian[*j][i] += slope;
                hessian[i][*j] += slope;
            }
        }
        let pairs = own.iter().flat_map(|i| own.iter().map(|j| [*i, *j]));
        let curved = pairs.map(|pair| (pair, self.weights(observable, &point, &pair)));
        let (pairs, curvatures): (Vec<_>, Vec<_>) =
            curved.filter(|(_, weights)| weights.iter().any(|w| *w != 0.0)).unzip();
        let curvatures = self.parts.combined(&curvatures)?.values(inputs)?;
        pairs.iter().zip(curvatures).for_each(|([i, j], curvature)| hessian[*i][*j] += curvature);
        Ok(hessian)
    }

    /// Returns the value of an observable and its derivative by each parameter from the given shots
    /// for each value: derivatives by parameters of observables are values, too.
    ///
    /// # Errors
    /// Those of [`Expectation::measure_gradient`] and [`ParametricExpectation::jacobian_by`].
    ///
    /// # Panics
    /// If there is no observable of that number.
    pub fn measure_gradient(
        &self,
        observable: usize,
        values: &[f64],
        shots: Shots,
    ) -> Result<(Mean, Vec<Mean>), HybridError> {
        let (point, inputs) = self.split(values)?;
        let energy = self.parts.combined(&[self.weights(observable, &point, &[])])?;
        let (value, mut gradient) = energy.measure_gradient(inputs, shots)?;
        gradient.resize(self.names.len(), Mean { value: 0.0, stderr: Some(0.0) });
        // Shots of their own: those of shifts are counted from 1.
        for (j, part) in self.params(observable).into_iter().zip((0..u64::MAX).rev()) {
            let slope = self.parts.combined(&[self.weights(observable, &point, &[j])])?;
            let slope = slope.measure(inputs, shots.part(part))?;
            let stderr = gradient[j].stderr.zip(slope.stderr).map(|(a, b)| a.hypot(b));
            gradient[j] = Mean { value: gradient[j].value + slope.value, stderr };
        }
        Ok((value, gradient))
    }

    /// Compares [all methods](Expectation::methods) at a point for the first observable, as
    /// [`Expectation::check`] does.
    ///
    /// # Errors
    /// Those of [`ParametricExpectation::jacobian_by`].
    pub fn check(&self, values: &[f64]) -> Result<Report, HybridError> {
        if self.is_constant() {
            return self.parts.check(values);
        }
        let by = |method: Method| {
            let (means, rows) = self.jacobian_by(method, values)?;
            Ok((method.name(), means[0], rows.into_iter().next().unwrap_or_default()))
        };
        let engines = self.parts.methods().into_iter().map(by);
        let engines = engines.filter(|engine| !matches!(engine, Err(HybridError::Step { .. })));
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        let reentrant = by(self.parts.methods()[0])?.2 == engines[0].2;
        let exact = Settings::default().with_absolute(EXACT).with_relative(EXACT);
        let settings = |name: &str| {
            if name == Method::Difference.name() { Settings::default() } else { exact }
        };
        Ok(Report::new(self.names.clone(), engines, reentrant, settings))
    }

    /// Splits the values into those of the coefficients and those of the circuit's inputs.
    fn split<'v, T: SimdFloat>(&self, values: &'v [T]) -> Result<(Vec<f64>, &'v [T]), HybridError> {
        expect("values of parameters", values.len(), self.names.len())?;
        let point = values.iter().map(|x| (*x).into()).collect();
        Ok((point, &values[..self.parts.n_inputs()]))
    }

    /// Returns a row of derivatives by the inputs as one of those by all parameters.
    fn widened<T: SimdFloat>(&self, mut row: Vec<T>) -> Vec<T> {
        row.resize(self.names.len(), T::lit(0.0));
        row
    }

    /// Returns the parameters of an observable.
    fn params(&self, observable: usize) -> Vec<usize> {
        let factors = self.monomials[observable].1.iter().flat_map(Monomial::factors);
        factors
            .map(|k| *k as usize)
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    /// Returns the coefficient of each part in the derivative of an observable by parameters, one
    /// after the other.
    fn weights(&self, observable: usize, point: &[f64], by: &[usize]) -> Vec<f64> {
        let mut weights = vec![0.0; self.parts.observables().len()];
        let (first, monomials) = &self.monomials[observable];
        for (weight, monomial) in weights[*first..].iter_mut().zip(monomials) {
            let derivative =
                by.iter().try_fold((1.0, monomial.clone()), |(factor, monomial), k| {
                    let (power, rest) = monomial.derivative(*k as u32)?;
                    Some((factor * power, rest))
                });
            *weight = derivative.map_or(0.0, |(factor, rest)| factor * rest.value(point));
        }
        weights
    }

    /// Returns the observables where their parameters have these values.
    fn expectation_at(&self, point: &[f64]) -> Result<Expectation, HybridError> {
        let rows = (0..self.monomials.len()).map(|k| self.weights(k, point, &[]));
        self.parts.combined(&rows.collect::<Vec<_>>())
    }

    /// Returns each observable with each of its parameters.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let of = |k: usize| self.params(k).into_iter().map(move |j| (k, j));
        (0..self.monomials.len()).flat_map(of).collect()
    }

    /// Returns the derivative of each observable by each of its parameters.
    fn own_slopes<T: SimdFloat>(
        &self,
        point: &[f64],
        inputs: &[T],
    ) -> Result<Vec<(usize, usize, T)>, HybridError> {
        let pairs = self.pairs();
        let rows: Vec<Vec<f64>> =
            pairs.iter().map(|(k, j)| self.weights(*k, point, &[*j])).collect();
        let slopes = self.parts.combined(&rows)?.values(inputs)?;
        Ok(pairs.into_iter().zip(slopes).map(|((k, j), slope)| (k, j, slope)).collect())
    }

    /// Computes the derivative of each observable by each of its parameters by differences of
    /// values, independently of the derivatives of monomials. Five points are exact for polynomials
    /// of degree 4, so that steps need not be short.
    fn differences<T: SimdFloat>(
        &self,
        point: &[f64],
        inputs: &[T],
    ) -> Result<Vec<(usize, usize, T)>, HybridError> {
        let parts: Vec<f64> = self.parts.values(inputs)?.into_iter().map(Into::into).collect();
        let slope = |(k, j): (usize, usize)| {
            let step = 1e-3 * point[j].abs().max(1.0);
            let beside = |steps: f64| -> f64 {
                let mut moved = point.to_vec();
                moved[j] += steps * step;
                self.weights(k, &moved, &[]).iter().zip(&parts).map(|(c, value)| c * value).sum()
            };
            let slope =
                (8.0 * (beside(1.0) - beside(-1.0)) - (beside(2.0) - beside(-2.0))) / (12.0 * step);
            (k, j, T::lit(slope))
        };
        Ok(self.pairs().into_iter().map(slope).collect())
    }
}
