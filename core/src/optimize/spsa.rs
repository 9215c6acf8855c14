//! Simultaneous perturbation: the slope along one random direction stands for the gradient.
//!
//! ```text
//! g = (f(x + c d) - f(x - c d)) / (2 c) d,   d_k = 1 or -1 at random
//! x = x - a g,   a = step ((A + 1) / (A + 1 + t))^0.602,   c = width / (t + 1)^0.101   in iteration t = 0, 1, …
//! ```
//! Three values an iteration, however many inputs there are: what one takes where values are measured.
//! Source: J. C. Spall, IEEE Trans. Aerosp. Electron. Syst. 34, 817 (1998).

use super::{Fault, Objective, OptimizeError, State, positive, vector::moved};
use crate::state::draw;

/// Simultaneous perturbation stochastic approximation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spsa {
    /// The first factor of the gradient.
    pub step: f64,
    /// How far from the point the first two values are taken.
    pub width: f64,
    /// A: after about so many iterations the steps get shorter.
    pub stability: f64,
    /// What the directions are drawn by.
    pub seed: u64,
}

impl Default for Spsa {
    /// Steps of 0.1, 0.1 from the point, 100 iterations, seed 0.
    fn default() -> Spsa {
        Spsa { step: 0.1, width: 0.1, stability: 100.0, seed: 0 }
    }
}

impl Spsa {
    pub(super) fn check(&self) -> Result<(), Fault> {
        positive("step", self.step)?;
        positive("width", self.width)?;
        if !(self.stability >= 0.0 && self.stability.is_finite()) {
            return Err(("stability", self.stability, "a finite number from 0 on"));
        }
        Ok(())
    }

    /// The value at x, and the gradient as the direction of iteration `t` shows it.
    pub(super) fn look<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: Vec<f64>,
        t: usize,
    ) -> Result<(), OptimizeError<F::Error>> {
        let sign = |k| if draw(self.seed, t as u64, k) < 0.5 { -1.0 } else { 1.0 };
        let direction: Vec<f64> = (0..x.len() as u64).map(sign).collect();
        let width = self.width / (t as f64 + 1.0).powf(0.101);
        let value = state.value_at(f, &x)?;
        let up = state.value_at(f, &moved(&x, width, &direction))?;
        let down = state.value_at(f, &moved(&x, -width, &direction))?;
        let slope = (up - down) / (2.0 * width);
        state.go(x, value, direction.iter().map(|d| slope * d).collect());
        Ok(())
    }

    pub(super) fn step<F: Objective>(&self, f: &F, state: &mut State) -> Result<(), OptimizeError<F::Error>> {
        let t = state.iterations;
        let step = self.step * ((self.stability + 1.0) / (self.stability + 1.0 + t as f64)).powf(0.602);
        let x = moved(&state.x, -step, &state.gradient);
        self.look(f, state, x, t + 1)
    }
}
