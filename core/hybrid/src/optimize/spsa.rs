//! Simultaneous perturbation: the slope along one random direction replaces the gradient.
//!
//! ```text
//! g = (f(x + c d) - f(x - c d)) / (2 c) d,   d_k = 1 or -1 at random
//! x = x - a g,   a = step ((A + 1) / (A + 1 + t))^0.602,   c = width / (t + 1)^0.101   in iteration t = 0, 1, …
//! ```
//! Three values an iteration, however many inputs there are: what one takes where values are
//! measured.
//!
//! # Calibration
//! Settings that are not given come from the first values. With the standard error e of a value,
//!
//! ```text
//! width = e, but from 0.2 to 0.4,      step = min(reach / r, 1 / q),
//! ```
//!
//! where r is the root of the mean of the squares of the slope along some directions, so that the
//! first steps are about `reach` long along each input, and q that of the second difference
//! `(f(x + c d) - 2 f(x) + f(x - c d)) / c^2` less the part of measurement, `6 e^2 / c^4`: no step
//! is longer than the curvature bears.
//!
//! Source: J. C. Spall, IEEE Trans. Autom. Control 37, 332 (1992), and for the calibration IEEE
//! Trans. Aerosp. Electron. Syst. 34, 817 (1998), section III.

use super::{
    Memory, Objective, OptimizeError, State,
    error::{InvalidSetting, positive},
    vector::step_along,
};
use crate::state::{derived_seed, draw};

/// Simultaneous perturbation stochastic approximation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Spsa {
    /// The first factor of the gradient; calibrated, unless given.
    pub step: Option<f64>,
    /// Distance from the point at which the first two values are taken; calibrated, unless given.
    pub width: Option<f64>,
    /// Length of the first steps along each input, where `step` is calibrated.
    pub reach: f64,
    /// Number A of iterations after which the steps get shorter.
    pub stability: f64,
    /// Seed of the directions.
    pub seed: u64,
}

impl Default for Spsa {
    /// First steps of 0.15, which get shorter after 20 iterations, seed 0.
    fn default() -> Spsa {
        Spsa { step: None, width: None, reach: 0.15, stability: 20.0, seed: 0 }
    }
}

impl Spsa {
    /// Sets [`step`](field@Spsa::step).
    #[must_use]
    pub fn with_step(self, step: Option<f64>) -> Spsa {
        Spsa { step, ..self }
    }

    /// Sets [`width`](Spsa::width).
    #[must_use]
    pub fn with_width(self, width: Option<f64>) -> Spsa {
        Spsa { width, ..self }
    }

    /// Sets [`reach`](Spsa::reach).
    #[must_use]
    pub fn with_reach(self, reach: f64) -> Spsa {
        Spsa { reach, ..self }
    }

    /// Sets [`stability`](Spsa::stability).
    #[must_use]
    pub fn with_stability(self, stability: f64) -> Spsa {
        Spsa { stability, ..self }
    }

    /// Sets [`seed`](Spsa::seed).
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Spsa {
        Spsa { seed, ..self }
    }
}

/// The directions that a calibration looks along.
const DIRECTIONS: u64 = 10;
/// The widths that a calibration gives: for angles, so that values do not drown in measurement nor
/// in curvature.
const WIDTHS: [f64; 2] = [0.2, 0.4];
/// The seed of the directions of a calibration, as a part of that of the others.
const CALIBRATION: u64 = 0x6361_6c69_6272_6174;

impl Spsa {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        for (name, value) in [("step", self.step), ("width", self.width)] {
            value.map_or(Ok(()), |value| positive(name, value))?;
        }
        positive("reach", self.reach)?;
        if !(self.stability >= 0.0 && self.stability.is_finite()) {
            return Err(("stability", self.stability, "a finite number from 0 on"));
        }
        Ok(())
    }

    /// Returns the step and the width: those given, and what the values at x and beside it say.
    fn calibrate<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: &[f64],
    ) -> Result<(f64, f64), OptimizeError<F::Error>> {
        if let (Some(step), Some(width)) = (self.step, self.width) {
            return Ok((step, width));
        }
        let here = state.sample_at(f, x, 0)?;
        let error = here.stderr.unwrap_or(0.0);
        let width = self.width.unwrap_or_else(|| error.clamp(WIDTHS[0], WIDTHS[1]));
        if let Some(step) = self.step {
            return Ok((step, width));
        }
        let (mut slopes, mut bends) = (0.0, 0.0);
        for number in 0..DIRECTIONS {
            let direction = directions(derived_seed(self.seed, CALIBRATION), number, x.len());
            let up = state.sample_at(f, &step_along(x, width, &direction), 0)?;
            let down = state.sample_at(f, &step_along(x, -width, &direction), 0)?;
            slopes += ((up.value - down.value) / (2.0 * width)).powi(2);
            let errors = [up, down].map(|mean| mean.stderr.unwrap_or(0.0).powi(2));
            let bend = ((up.value - 2.0 * here.value + down.value) / (width * width)).powi(2);
            bends += bend - (errors[0] + errors[1] + 4.0 * error * error) / width.powi(4);
        }
        let root = |sum: f64| (sum.max(0.0) / DIRECTIONS as f64).sqrt();
        let step = (self.reach / root(slopes)).min(root(bends).recip());
        // Where all is flat, any step leads nowhere.
        Ok((if step.is_finite() { step } else { self.reach }, width))
    }

    /// Sets the state up at x, as it is before iteration `t`.
    pub(super) fn begin<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: Vec<f64>,
        t: usize,
    ) -> Result<(), OptimizeError<F::Error>> {
        let (step, width) = self.calibrate(f, state, &x)?;
        state.memory = Memory::Sizes(step, width);
        self.estimate_gradient(f, state, x, t)
    }

    /// Evaluates the function at x, and its gradient along the direction of iteration `t`.
    pub(super) fn estimate_gradient<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
        x: Vec<f64>,
        t: usize,
    ) -> Result<(), OptimizeError<F::Error>> {
        let (_, width) = self.sizes(state);
        let direction = directions(self.seed, t as u64, x.len());
        let width = width / (t as f64 + 1.0).powf(0.101);
        let here = state.sample_at(f, &x, 0)?;
        let up = state.value_at(f, &step_along(&x, width, &direction))?;
        let down = state.value_at(f, &step_along(&x, -width, &direction))?;
        let slope = (up - down) / (2.0 * width);
        state.go(x, here.value, direction.iter().map(|d| slope * d).collect());
        state.stderr = here.stderr;
        Ok(())
    }

    /// Returns the step and the width of a state.
    fn sizes(&self, state: &State) -> (f64, f64) {
        match state.memory {
            Memory::Sizes(step, width) => (step, width),
            _ => (self.step.unwrap_or(self.reach), self.width.unwrap_or(WIDTHS[0])),
        }
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let t = state.iterations;
        let (step, _) = self.sizes(state);
        let step = step * ((self.stability + 1.0) / (self.stability + 1.0 + t as f64)).powf(0.602);
        let x = step_along(&state.x, -step, &state.gradient);
        self.estimate_gradient(f, state, x, t + 1)
    }
}

/// Returns a random direction: 1 or -1 along each input.
fn directions(seed: u64, number: u64, n: usize) -> Vec<f64> {
    (0..n as u64).map(|k| if draw(seed, number, k) < 0.5 { -1.0 } else { 1.0 }).collect()
}
