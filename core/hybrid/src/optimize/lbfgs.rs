//! L-BFGS: Newton's method with the curvature that the last steps have shown.
//!
//! A step s changed the gradient by y; the inverse Hessian is what the last few pairs (s, y) make
//! of a multiple of the identity, and its product with the gradient takes two loops over them (the
//! two-loop recursion).
//!
//! Source: J. Nocedal, S. J. Wright, Numerical Optimization (2006), algorithms 7.4 and 7.5.

use super::{
    Memory, Objective, OptimizeError, State,
    error::InvalidSetting,
    line::search,
    vector::{dot, minus, negated, norm, step_along},
};

/// A quasi-Newton method that keeps a few vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Lbfgs {
    /// Number of steps that are remembered.
    pub memory: usize,
}

impl Default for Lbfgs {
    /// 10 steps.
    fn default() -> Lbfgs {
        Lbfgs { memory: 10 }
    }
}

impl Lbfgs {
    /// Sets [`memory`](Lbfgs::memory).
    #[must_use]
    pub fn with_memory(self, memory: usize) -> Lbfgs {
        Lbfgs { memory, ..self }
    }
}

impl Lbfgs {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        if self.memory == 0 { Err(("memory", 0.0, "a whole number of at least 1")) } else { Ok(()) }
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let mut pairs = match std::mem::replace(&mut state.memory, Memory::Nothing) {
            Memory::Steps(pairs) => pairs,
            _ => Vec::new(),
        };
        let (x, gradient) = (state.x.clone(), state.gradient.clone());
        let mut direction = negated(&product(&pairs, &gradient));
        if dot(&direction, &gradient) >= 0.0 {
            pairs.clear();
            direction = negated(&gradient);
        }
        let mut found = search(f, state, &direction, first(&pairs, &gradient))?;
        if !found && !pairs.is_empty() {
            pairs.clear();
            found = search(f, state, &negated(&gradient), first(&pairs, &gradient))?;
        }
        state.stalled = !found;
        if found {
            let (s, y) = (minus(&state.x, &x), minus(&state.gradient, &gradient));
            if dot(&s, &y) > f64::EPSILON * norm(&s) * norm(&y) {
                pairs.push((s, y));
                pairs.drain(..pairs.len().saturating_sub(self.memory));
            }
        }
        state.memory = Memory::Steps(pairs);
        Ok(())
    }
}

/// Returns the step to try first: 1, but without known curvature no further than 1 in space.
fn first(pairs: &[(Vec<f64>, Vec<f64>)], gradient: &[f64]) -> f64 {
    if pairs.is_empty() { norm(gradient).recip().min(1.0) } else { 1.0 }
}

/// Returns the inverse Hessian times g.
fn product(pairs: &[(Vec<f64>, Vec<f64>)], g: &[f64]) -> Vec<f64> {
    let mut q = g.to_vec();
    let mut along = Vec::with_capacity(pairs.len());
    for (s, y) in pairs.iter().rev() {
        let a = dot(s, &q) / dot(s, y);
        q = step_along(&q, -a, y);
        along.push(a);
    }
    if let Some((s, y)) = pairs.last() {
        let scale = dot(s, y) / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y), a) in pairs.iter().zip(along.iter().rev()) {
        let b = dot(y, &q) / dot(s, y);
        q = step_along(&q, a - b, s);
    }
    q
}
