//! The quantum natural gradient: the steepest way down among states rather than among inputs.
//!
//! `x = x - step (g + damping 1)^{-1} dL/dx`, where g is the Fubini-Study metric of the states. The
//! metric is singular where inputs do nothing or the same, which the damping bears.
//!
//! Source: J. Stokes, J. Izaac, N. Killoran, G. Carleo, Quantum 4, 269 (2020), with the whole
//! metric.

use super::{
    Objective, OptimizeError, State,
    error::{InvalidSetting, expect, positive},
    vector::{largest, step_along},
};

/// Gradient descent in the metric of the states.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NaturalGradient {
    /// The length of a step, in units of the natural gradient.
    pub step: f64,
    /// Number that is added to the diagonal of the metric.
    pub damping: f64,
}

impl Default for NaturalGradient {
    /// Steps of 0.1, damping 1e-3.
    fn default() -> NaturalGradient {
        NaturalGradient { step: 0.1, damping: 1e-3 }
    }
}

impl NaturalGradient {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        positive("step", self.step)?;
        positive("damping", self.damping)
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        state.evaluations += 1;
        let metric = f.metric(&state.x).map_err(OptimizeError::Objective)?;
        let n = state.x.len();
        expect("rows of the metric", metric.len(), n)?;
        metric.iter().try_for_each(|row| expect("entries in a row of the metric", row.len(), n))?;
        if let Some(&value) = metric.iter().flatten().find(|x| !x.is_finite()) {
            return Err(OptimizeError::NotFinite {
                what: "an entry of the metric".to_owned(),
                value,
            });
        }
        let scale = metric.iter().map(|row| largest(row)).fold(1.0, f64::max);
        let mut damping = self.damping;
        let direction = loop {
            match solve(&metric, damping, &state.gradient) {
                Some(direction) => break direction,
                // A damping above all entries makes the diagonal dominate, so this ends.
                None => damping = (10.0 * damping).max(scale * f64::EPSILON),
            }
        };
        let x = step_along(&state.x, -self.step, &direction);
        let (value, gradient) = state.gradient_at(f, &x)?;
        state.go(x, value, gradient);
        Ok(())
    }
}

/// Solves `(a + damping 1) x = b` for a symmetric a by Cholesky's factors; `None` unless the matrix
/// is positive. O(n^3).
fn solve(a: &[Vec<f64>], damping: f64, b: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum = (0..j).fold(a[i][j], |sum, k| sum - l[i][k] * l[j][k]);
            if i == j {
                let pivot = sum + damping;
                if pivot <= 0.0 {
                    return None;
                }
                l[i][i] = pivot.sqrt();
            } else {
                l[i][j] = sum / l[j][j];
            }
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        x[i] = (0..i).fold(x[i], |sum, k| sum - l[i][k] * x[k]) / l[i][i];
    }
    for i in (0..n).rev() {
        x[i] = (i + 1..n).fold(x[i], |sum, k| sum - l[k][i] * x[k]) / l[i][i];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        let a = vec![vec![4.0, 2.0, 0.0], vec![2.0, 5.0, 1.0], vec![0.0, 1.0, 2.0]];
        let x = solve(&a, 1.0, &[9.0, 17.0, 11.0]).unwrap();
        for (x, expected) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - expected).abs() < 1e-14, "{x}");
        }
        assert_eq!(solve(&[vec![-1.0]], 0.5, &[1.0]), None);
    }
}
