//! State of a minimisation.

use super::{
    Averages, CriticalPoint, Objective, OptimizeError,
    error::{expect, finite},
};
use crate::simulate::Mean;

/// State of a minimisation: all that the next step depends on.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The standard error of the value, where it is measured and the method asked for it.
    pub stderr: Option<f64>,
    /// The gradient there; empty for [`NelderMead`](super::NelderMead), along one direction for
    /// [`Spsa`](super::Spsa).
    pub gradient: Vec<f64>,
    /// The point with the smallest value so far, and this value. The smallest of many measured
    /// values is less than it should be: of these it is the mean point of the window of iterations
    /// with the smallest mean, and this mean.
    pub best: (Vec<f64>, f64),
    /// Number of iterations so far.
    pub iterations: usize,
    /// The value at the start and after each iteration.
    pub values: Vec<f64>,
    /// Number of evaluations of the function: values, gradients, products and metrics.
    pub evaluations: u64,
    /// Extent of a simplex, in its values or in the square of its size; only for
    /// [`NelderMead`](super::NelderMead).
    pub spread: Option<f64>,
    /// True if no step made the value smaller any more.
    pub stalled: bool,
    /// Memory of the optimizer.
    pub memory: Memory,
    /// Means over the last iterations, where values are measured.
    pub averages: Option<Averages>,
    /// Kind of the critical point, once it has been determined.
    pub shape: Option<CriticalPoint>,
}

/// Memory of an optimizer from step to step. It begins anew if the memory is another's, or does not
/// fit the inputs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Memory {
    /// Nothing.
    Nothing,
    /// The running means of the gradients and of their squares, for [`Adam`](super::Adam).
    Means(Vec<f64>, Vec<f64>),
    /// The last steps with the changes of the gradient, the oldest first, for
    /// [`Lbfgs`](super::Lbfgs).
    Steps(Vec<(Vec<f64>, Vec<f64>)>),
    /// The corners with their values, the best first, for [`NelderMead`](super::NelderMead).
    Simplex(Vec<(Vec<f64>, f64)>),
    /// The first step and the width, for [`Spsa`](super::Spsa).
    Sizes(f64, f64),
}

impl State {
    /// Moves to a point.
    pub(super) fn go(&mut self, x: Vec<f64>, value: f64, gradient: Vec<f64>) {
        (self.x, self.value, self.gradient, self.stderr) = (x, value, gradient, None);
        if self.averages.is_none() && self.value < self.best.1 {
            self.best = (self.x.clone(), self.value);
        }
    }

    /// Returns true if the gradient is one, not a guess.
    pub(super) fn has_gradient(&self) -> bool {
        self.spread.is_none() && !matches!(self.memory, Memory::Sizes(..))
    }

    /// Writes down the iteration that has led to the point.
    pub(super) fn finish<F: Objective>(&mut self, f: &F) -> Result<(), OptimizeError<F::Error>> {
        self.iterations += 1;
        self.shape = None;
        let Some(mut averages) = self.averages.take() else { return Ok(()) };
        let x = self.x.clone();
        let stderr = match self.stderr {
            Some(stderr) => Some(stderr),
            // The best corner of a simplex was lucky, and may stay where it is: it is measured
            // anew.
            None if self.spread.is_some() => {
                let mean = self.sample_at(f, &x, self.iterations as u64)?;
                self.value = mean.value;
                mean.stderr
            }
            None => self.sample_at(f, &x, 0)?.stderr,
        };
        self.stderr = stderr;
        let first = averages.windows.is_empty();
        let full = averages.add(&x, (self.value, stderr.unwrap_or(0.0)), &self.gradient);
        if let Some(window) = full.filter(|(_, mean)| first || *mean < self.best.1) {
            self.best = window;
        }
        self.averages = Some(averages);
        Ok(())
    }

    pub(super) fn sample_at<F: Objective>(
        &mut self,
        f: &F,
        x: &[f64],
        k: u64,
    ) -> Result<Mean, OptimizeError<F::Error>> {
        self.evaluations += 1;
        let mean = f.sample(x, k).map_err(OptimizeError::Objective)?;
        finite(mean.value, "the value")?;
        Ok(mean)
    }

    pub(super) fn value_at<F: Objective>(
        &mut self,
        f: &F,
        x: &[f64],
    ) -> Result<f64, OptimizeError<F::Error>> {
        self.evaluations += 1;
        let value = f.value(x).map_err(OptimizeError::Objective)?;
        finite(value, "the value")
    }

    pub(super) fn gradient_at<F: Objective>(
        &mut self,
        f: &F,
        x: &[f64],
    ) -> Result<(f64, Vec<f64>), OptimizeError<F::Error>> {
        self.evaluations += 1;
        let (value, gradient) = f.value_and_gradient(x).map_err(OptimizeError::Objective)?;
        expect("derivatives", gradient.len(), x.len())?;
        finite(value, "the value")?;
        gradient.iter().try_for_each(|g| finite(*g, "a derivative").map(|_| ()))?;
        Ok((value, gradient))
    }
}
