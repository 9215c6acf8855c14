//! Box constraints by a change of variables: inputs that must stay in an interval, as the strengths
//! of noise, are functions of free ones.
//!
//! ```text
//! x = a + (b - a) sin^2 u
//! ```
//! is in `[a, b]` whatever u is, so every optimizer minimises over all u. Where the best x is an
//! end of the interval, the derivative by u is 0 there, which ends the minimisation. What damping
//! keeps, `sqrt(1 - x)`, is `|cos u|` with finite slopes; where it is best at x = 1, a line search
//! ends at its kink and says that it stalled.

use super::{Objective, objective::difference_of_gradients, vector::step_along};
use crate::simulate::Mean;

/// The interval of each input; `None` is any number.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Intervals(pub Vec<Option<[f64; 2]>>);

/// A start that is in no interval.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("input {input} begins at {value}, expected a number from {} to {}", interval[0], interval[1])]
pub struct Outside {
    /// Number of the input.
    pub input: usize,
    /// Value at which it should begin.
    pub value: f64,
    /// Interval of its values.
    pub interval: [f64; 2],
}

/// Smallest distance of the start of an input from an end of its interval, as a part of the
/// interval: at the end itself no derivative by u leads away from it.
const NEAREST: f64 = 1e-4;

impl Intervals {
    /// Returns true if no input has one.
    fn are_trivial(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns the inputs for the numbers u.
    #[must_use]
    pub fn inputs(&self, u: &[f64]) -> Vec<f64> {
        let input = |(k, u): (usize, &f64)| match self.interval(k) {
            Some([a, b]) => (a + (b - a) * u.sin().powi(2)).clamp(a.min(b), b.max(a)),
            None => *u,
        };
        u.iter().enumerate().map(input).collect()
    }

    /// Returns the numbers u for inputs to begin with; one at an end of its interval is moved a
    /// little inside.
    ///
    /// # Errors
    /// [`Outside`].
    pub fn start(&self, x: &[f64]) -> Result<Vec<f64>, Outside> {
        let number = |(input, &value): (usize, &f64)| match self.interval(input) {
            Some([a, b]) if !(a..=b).contains(&value) => {
                Err(Outside { input, value, interval: [a, b] })
            }
            Some([a, b]) if a < b => {
                Ok(((value - a) / (b - a)).clamp(NEAREST, 1.0 - NEAREST).sqrt().asin())
            }
            _ => Ok(value),
        };
        x.iter().enumerate().map(number).collect()
    }

    fn interval(&self, input: usize) -> Option<[f64; 2]> {
        self.0.get(input).copied().flatten()
    }

    /// Returns `dx/du` and the second derivative.
    fn slopes(&self, u: &[f64]) -> Vec<[f64; 2]> {
        let slope = |(k, u): (usize, &f64)| match self.interval(k) {
            Some([a, b]) => [(b - a) * (2.0 * u).sin(), 2.0 * (b - a) * (2.0 * u).cos()],
            None => [1.0, 0.0],
        };
        u.iter().enumerate().map(slope).collect()
    }
}

/// An objective whose inputs stay in intervals, as a function of the numbers u.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, hybrid::Expectation, observable::PauliSum};
/// use ketgrad_core::optimize::{Intervals, Lbfgs, Optimizer, Stopping, Within, minimize};
///
/// let mut circuit = Circuit::new(1);
/// let p = circuit.param("p");
/// circuit.bit_flip(0, p)?;
/// let intervals = Intervals(circuit.intervals());
/// assert_eq!(intervals.0, [Some([0.0, 1.0])]);
/// let energy = Expectation::new(circuit, ["Z0".parse::<PauliSum>()?])?;
///
/// let energy = Within::new(energy, intervals.clone());
/// let start = intervals.start(&[0.3])?;
/// let (end, _) = minimize(&energy, &start, &Optimizer::from(Lbfgs::default()), &Stopping::default())?;
/// assert!((end.value + 1.0).abs() < 1e-9);
/// assert!((intervals.inputs(&end.x)[0] - 1.0).abs() < 1e-9); // always flipped
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Within<F> {
    objective: F,
    intervals: Intervals,
}

impl<F: Objective> Within<F> {
    /// Returns the objective, with its inputs kept in intervals.
    #[must_use]
    pub fn new(objective: F, intervals: Intervals) -> Within<F> {
        Within { objective, intervals }
    }

    /// Returns the derivative by number k as a difference of values: at the end of an interval that
    /// by x may be infinite, where x is the end to rounding and that by u is none or 0.
    fn difference(&self, u: &[f64], k: usize) -> Result<f64, F::Error> {
        let h = self.objective.noise().max(f64::EPSILON).cbrt();
        let mut beside = u.to_vec();
        beside[k] = u[k] + h;
        let above = self.value(&beside)?;
        beside[k] = u[k] - h;
        Ok((above - self.value(&beside)?) / (2.0 * h))
    }
}

impl<F: Objective> Objective for Within<F> {
    type Error = F::Error;

    fn value(&self, u: &[f64]) -> Result<f64, F::Error> {
        self.objective.value(&self.intervals.inputs(u))
    }

    fn value_and_gradient(&self, u: &[f64]) -> Result<(f64, Vec<f64>), F::Error> {
        let (value, gradient) = self.objective.value_and_gradient(&self.intervals.inputs(u))?;
        let mut all = Vec::with_capacity(gradient.len());
        for (k, (g, [slope, _])) in gradient.iter().zip(self.intervals.slopes(u)).enumerate() {
            let at_end = !g.is_finite() && self.intervals.interval(k).is_some();
            all.push(if at_end { self.difference(u, k)? } else { g * slope });
        }
        Ok((value, all))
    }

    fn is_measured(&self) -> bool {
        self.objective.is_measured()
    }

    fn sample(&self, u: &[f64], k: u64) -> Result<Mean, F::Error> {
        self.objective.sample(&self.intervals.inputs(u), k)
    }

    fn hessian_product(&self, u: &[f64], v: &[f64]) -> Result<Vec<f64>, F::Error> {
        let (x, slopes) = (self.intervals.inputs(u), self.intervals.slopes(u));
        let times = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&slopes).map(|(v, [slope, _])| v * slope).collect()
        };
        let product = times(&self.objective.hessian_product(&x, &times(v))?);
        if self.intervals.are_trivial() {
            return Ok(product);
        }
        let (_, gradient) = self.objective.value_and_gradient(&x)?;
        let bend: Vec<f64> =
            gradient.iter().zip(&slopes).zip(v).map(|((g, [_, bend]), v)| g * bend * v).collect();
        let product = step_along(&product, 1.0, &bend);
        // At the end of an interval second derivatives by x may be infinite.
        if product.iter().all(|p| p.is_finite()) {
            Ok(product)
        } else {
            difference_of_gradients(self, u, v)
        }
    }

    fn noise(&self) -> f64 {
        self.objective.noise()
    }

    fn metric(&self, u: &[f64]) -> Result<Vec<Vec<f64>>, F::Error> {
        let slopes = self.intervals.slopes(u);
        let metric = self.objective.metric(&self.intervals.inputs(u))?;
        let row = |(row, [slope, _]): (Vec<f64>, &[f64; 2])| {
            row.iter().zip(&slopes).map(|(g, [other, _])| g * slope * other).collect()
        };
        Ok(metric.into_iter().zip(&slopes).map(row).collect())
    }
}
