//! Adam: steps along the mean of the last gradients, scaled by the root of the mean of their
//! squares.
//!
//! ```text
//! m = b1 m + (1 - b1) g           v = b2 v + (1 - b2) g^2
//! x = x - step (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
//! ```
//! Source: D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2014),
//! arXiv:1412.6980, algorithm 1.

use super::{
    Memory, Objective, OptimizeError, State,
    error::{InvalidSetting, positive},
};

/// Adaptive moments: a first-order method with a step of its own for each input.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Adam {
    /// About how far an input moves in an iteration.
    pub step: f64,
    /// Decay rate of the mean of the gradients: the part of it that is kept.
    pub beta1: f64,
    /// Decay rate of the mean of their squares: the part of it that is kept.
    pub beta2: f64,
    /// Number that keeps the quotient finite.
    pub epsilon: f64,
}

impl Default for Adam {
    /// Steps of 0.05, and the paper's 0.9, 0.999 and 1e-8.
    fn default() -> Adam {
        Adam { step: 0.05, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Adam {
    /// Sets [`step`](field@Adam::step).
    #[must_use]
    pub fn with_step(self, step: f64) -> Adam {
        Adam { step, ..self }
    }

    /// Sets [`beta1`](Adam::beta1).
    #[must_use]
    pub fn with_beta1(self, beta1: f64) -> Adam {
        Adam { beta1, ..self }
    }

    /// Sets [`beta2`](Adam::beta2).
    #[must_use]
    pub fn with_beta2(self, beta2: f64) -> Adam {
        Adam { beta2, ..self }
    }

    /// Sets [`epsilon`](Adam::epsilon).
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Adam {
        Adam { epsilon, ..self }
    }
}

impl Adam {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        positive("step", self.step)?;
        positive("epsilon", self.epsilon)?;
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err((name, beta, "a number from 0 to below 1"));
            }
        }
        Ok(())
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let zeros = || vec![0.0; state.x.len()];
        let (mut m, mut v) = match std::mem::replace(&mut state.memory, Memory::Nothing) {
            Memory::Means(m, v) => (m, v),
            _ => (zeros(), zeros()),
        };
        // The iteration that this one will be; beyond 2^31 of them the corrections are 1.
        let t = i32::try_from(state.iterations + 1).unwrap_or(i32::MAX);
        let (first, second) = (1.0 - self.beta1.powi(t), 1.0 - self.beta2.powi(t));
        let mut x = state.x.clone();
        for (k, g) in state.gradient.iter().enumerate() {
            m[k] = self.beta1 * m[k] + (1.0 - self.beta1) * g;
            v[k] = self.beta2 * v[k] + (1.0 - self.beta2) * g * g;
            x[k] -= self.step * (m[k] / first) / ((v[k] / second).sqrt() + self.epsilon);
        }
        let (value, gradient) = state.gradient_at(f, &x)?;
        state.go(x, value, gradient);
        state.memory = Memory::Means(m, v);
        Ok(())
    }
}
