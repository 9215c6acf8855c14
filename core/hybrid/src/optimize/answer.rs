//! The answer of a minimisation: the best point, measured anew where values are measured.

use super::{Objective, OptimizeError, State};
use crate::simulate::Mean;

/// Number of measurements of each point that may be the answer, to choose one.
const CHOICE: u64 = 10;
/// The numbers of the measurements that choose, and of those that tell; others are of iterations.
const FIRST: u64 = 1 << 40;
const SECOND: u64 = 1 << 41;

/// A value, with its standard error where it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error; `None` for an exact value.
    pub stderr: Option<f64>,
}

/// The answer of a minimisation.
///
/// For exact values the point with the smallest. Measured values choose between the start, the mean
/// point of the best window of iterations ([`Averages`](super::Averages)), and the mean point of
/// the last iterations: the mean of ten new measurements is smallest there. The value of the answer
/// is ten further ones, so that it is not the smallest of several either.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub end: Estimate,
    /// The value at the start.
    pub start: Estimate,
}

impl Answer {
    /// Returns the answer of a minimisation from `start` that ended in a state.
    ///
    /// # Errors
    /// [`OptimizeError`] where a measurement fails.
    pub fn new<F: Objective>(
        f: &F,
        start: &[f64],
        state: &State,
    ) -> Result<Answer, OptimizeError<F::Error>> {
        let Some(averages) = &state.averages else {
            let exact = |value| Estimate { value, stderr: None };
            let (x, value) = state.best.clone();
            let first = state.values.first().copied().unwrap_or(value);
            return Ok(Answer { x, end: exact(value), start: exact(first) });
        };
        let mut points = vec![start.to_vec()];
        if state.iterations > 0 {
            let last = averages.mean_point().unwrap_or_else(|| state.x.clone());
            let best =
                if averages.windows.is_empty() { state.x.clone() } else { state.best.0.clone() };
            points.extend([best, last]);
            points.dedup();
        }
        let mut least = (0, f64::INFINITY);
        for (k, x) in points.iter().enumerate() {
            let mean = mean_of(f, x, FIRST)?.value;
            if mean < least.1 {
                least = (k, mean);
            }
        }
        let (x, start) = (points.swap_remove(least.0), mean_of(f, start, SECOND)?);
        let end = if least.0 == 0 { start } else { mean_of(f, &x, SECOND)? };
        Ok(Answer { x, end, start })
    }

    /// Returns true if the value is below that at the start: by more than two standard errors of
    /// their difference, where they are measured.
    #[must_use]
    pub fn is_below_start(&self) -> bool {
        let stderr = |of: &Estimate| of.stderr.unwrap_or(0.0);
        self.start.value - self.end.value > 2.0 * stderr(&self.start).hypot(stderr(&self.end))
    }
}

/// Returns the mean of some measurements at x.
fn mean_of<F: Objective>(
    f: &F,
    x: &[f64],
    first: u64,
) -> Result<Estimate, OptimizeError<F::Error>> {
    let (mut values, mut variance) = (0.0, 0.0);
    for k in first..first + CHOICE {
        let Mean { value, stderr } = f.sample(x, k).map_err(OptimizeError::Objective)?;
        values += value;
        variance += stderr.unwrap_or(0.0).powi(2);
    }
    let n = CHOICE as f64;
    Ok(Estimate { value: values / n, stderr: Some(variance.sqrt() / n) })
}
