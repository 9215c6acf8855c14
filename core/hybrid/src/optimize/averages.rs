//! Means over the last iterations, a convergence test for values that are measured.
//!
//! Of N iterations in a window the values have the mean m and, with standard errors e_i, the error
//! `sqrt(sum e_i^2) / N`. From one half of the last windows to the other the values fall if the
//! mean does by more than two of the errors of the difference. The gradients of the iterations,
//! with the mean g_k and the variance s_k^2 along input k, are consistent with 0 if
//!
//! ```text
//! sum_k g_k^2 / (s_k^2 / N) <= n + 3 sqrt(2 n),
//! ```
//!
//! three standard deviations above the mean of chi-squared with n degrees of freedom.

use super::vector::step_along;

/// The iterations of a window.
pub(super) const WINDOW: usize = 25;
/// Number of windows that are compared: the first half with the second, and likewise the last of
/// these.
const COMPARED: usize = 8;

/// Means over windows of iterations.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Averages {
    /// Number of iterations in the window that is being filled.
    pub count: usize,
    /// The sum of their points.
    pub points: Vec<f64>,
    /// The sum of their values.
    pub values: f64,
    /// The sum of the squares of the standard errors of these.
    pub variance: f64,
    /// The sum of their gradients; nothing for a method without.
    pub gradients: Vec<f64>,
    /// The sum of the squares of these, by input.
    pub squares: Vec<f64>,
    /// The last full windows, the oldest first.
    pub windows: Vec<Window>,
}

/// A full window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Window {
    /// The mean of its values.
    pub mean: f64,
    /// The standard error of this.
    pub stderr: f64,
    /// True if its gradients are consistent with 0, or if there are none.
    pub level: bool,
}

impl Averages {
    /// Creates empty averages of n inputs.
    pub(super) fn new(n: usize) -> Averages {
        let zeros = || vec![0.0; n];
        Averages {
            count: 0,
            points: zeros(),
            values: 0.0,
            variance: 0.0,
            gradients: zeros(),
            squares: zeros(),
            windows: Vec::new(),
        }
    }

    /// Adds an iteration. At the end of a window its mean point and mean value.
    pub(super) fn add(
        &mut self,
        x: &[f64],
        (value, stderr): (f64, f64),
        gradient: &[f64],
    ) -> Option<(Vec<f64>, f64)> {
        self.count += 1;
        self.points = step_along(&self.points, 1.0, x);
        self.values += value;
        self.variance += stderr * stderr;
        for ((sum, squares), g) in self.gradients.iter_mut().zip(&mut self.squares).zip(gradient) {
            *sum += g;
            *squares += g * g;
        }
        if self.count < WINDOW {
            return None;
        }
        let (point, mean) = (self.mean_point()?, self.values / WINDOW as f64);
        let stderr = self.variance.sqrt() / WINDOW as f64;
        let mut windows = std::mem::take(&mut self.windows);
        windows.push(Window { mean, stderr, level: self.is_level() });
        windows.drain(..windows.len().saturating_sub(COMPARED));
        *self = Averages { windows, ..Averages::new(x.len()) };
        Some((point, mean))
    }

    /// Returns the mean point of the window that is being filled.
    pub(super) fn mean_point(&self) -> Option<Vec<f64>> {
        let part = (self.count > 0).then(|| (self.count as f64).recip())?;
        Some(self.points.iter().map(|x| part * x).collect())
    }

    fn is_level(&self) -> bool {
        let n = self.count as f64;
        let one = |(sum, squares): (&f64, &f64)| {
            let mean = sum / n;
            let variance = (squares / n - mean * mean).max(0.0) / (n - 1.0);
            if mean == 0.0 { 0.0 } else { mean * mean / variance }
        };
        let inputs = self.gradients.len() as f64;
        let all: f64 = self.gradients.iter().zip(&self.squares).map(one).sum();
        all <= inputs + 3.0 * (2.0 * inputs).sqrt()
    }

    /// Returns true if over the last windows the values have not fallen, and the gradients of the
    /// later half are consistent with 0.
    pub(super) fn are_level(&self) -> bool {
        if self.windows.len() < COMPARED {
            return false;
        }
        let mean = |windows: &[Window]| {
            let n = windows.len() as f64;
            let mean = windows.iter().map(|w| w.mean).sum::<f64>() / n;
            (mean, windows.iter().map(|w| w.stderr.powi(2)).sum::<f64>().sqrt() / n)
        };
        let falls = |windows: &[Window]| {
            let (before, after) = windows.split_at(windows.len() / 2);
            let ((a, e), (b, f)) = (mean(before), mean(after));
            a - b > 2.0 * e.hypot(f)
        };
        let last = &self.windows[COMPARED / 2..];
        !falls(&self.windows) && !falls(last) && last.iter().all(|window| window.level)
    }

    /// Returns true if its lists are of n inputs.
    #[must_use]
    pub fn fits(&self, n: usize) -> bool {
        let lists = [&self.points, &self.gradients, &self.squares];
        lists.iter().all(|list| list.len() == n)
            && self.count < WINDOW
            && self.windows.len() <= COMPARED
    }
}
