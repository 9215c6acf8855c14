//! Classification of critical points: is a point where the gradient is small a minimum?
//!
//! The gradient is 0 at a maximum and a saddle too, so the Hessian H decides ([`curvature`]): where
//! it is positive the point is a minimum; along a v with `v H v < 0` the value falls, and a search
//! along v and -v finds a lower point, the first that
//!
//! ```text
//! f(x + t v) <= f(x) + 0.1 t^2 v H v,      t = 1, 1/2, 1/4, …
//! ```
//!
//! Where H is singular, as it is for more angles than a state needs, its null space is probed:
//! values along a few of its vectors, and where a few steps of L-BFGS lead from there. A lower
//! value decides. If there is none, and H is positive in the other directions or the values rise,
//! the point counts as a minimum; where all is flat nothing decides.
//!
//! A value is lower if it is so by more than rounding, the tolerance of values, and what the slope
//! that is left explains.
//!
//! Source: J. Nocedal, S. J. Wright, Numerical Optimization (2006), theorems 2.3 and 2.4 and
//! section 3.4.

use super::{
    Lbfgs, Memory, Objective, OptimizeError, State, Stopping,
    curvature::{Curvature, curvature, random_unit, scaled, without},
    objective::difference_of_gradients,
    vector::{dot, largest, minus, negated, norm, step_along},
};

/// Kind of a critical point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CriticalPoint {
    /// A minimum, as far as curvature and probes show.
    Minimum,
    /// No minimum: at this point the value is lower.
    Lower(Vec<f64>),
    /// Undecided.
    Undecided,
    /// The derivatives are not small: it is no critical point.
    Slope,
    /// The function has no derivatives to tell by.
    NoDerivatives,
}

/// Curvature below this part of the largest counts as none.
const FLAT: f64 = 1e-5;
/// Vectors of the null space that are probed, to both sides.
const PROBES: u64 = 3;
/// Distances of the probes: an angle of some size, and a small one.
const FAR: [f64; 2] = [0.5, 0.05];

/// Number of steps that lead down from there.
const STEPS: usize = 4;

/// A value with the gradient there.
type ValueGradient = (f64, Vec<f64>);

/// Looks around a point.
struct PointProbe<'a, F> {
    f: &'a F,
    state: &'a mut State,
    slope: f64,
    /// Smallest decrease that counts.
    least: f64,
}

impl<F: Objective> PointProbe<'_, F> {
    /// Returns the decrease from the value at the point to the one at x, beyond rounding and slope;
    /// negative if the value is larger.
    fn fall(&self, value: f64, x: &[f64]) -> f64 {
        let away = norm(&minus(x, &self.state.x));
        let fall = self.state.value - value;
        let explained = self.least + self.slope * away;
        if fall > explained {
            fall
        } else if fall < -explained {
            fall + explained
        } else {
            0.0
        }
    }

    /// Returns the value and the gradient at x, where there are any.
    fn value_and_gradient_at(&mut self, x: &[f64]) -> Option<ValueGradient> {
        self.state.evaluations += 1;
        let (value, gradient) = self.f.value_and_gradient(x).ok()?;
        (value.is_finite() && gradient.len() == x.len() && gradient.iter().all(|g| g.is_finite()))
            .then_some((value, gradient))
    }

    /// Returns a lower point along v, whose curvature is negative.
    fn along(&mut self, v: &[f64], curvature: f64) -> Option<Vec<f64>> {
        // Down the slope first, if there is any.
        let v = if dot(v, &self.state.gradient) > 0.0 { negated(v) } else { v.to_vec() };
        let mut t = 1.0;
        for _ in 0..20 {
            for t in [t, -t] {
                let x = step_along(&self.state.x, t, &v);
                self.state.evaluations += 1;
                let value = self.f.value(&x).unwrap_or(f64::NAN);
                let enough = value <= self.state.value + 0.1 * t * t * curvature;
                if enough && self.fall(value, &x) > 0.0 {
                    return Some(x);
                }
            }
            t *= 0.5;
        }
        None
    }

    /// Returns a lower point that probes of the null space find, or else true if the value rises
    /// along all of them.
    fn probe(&mut self, seen: &Curvature, flat: f64) -> Result<Vec<f64>, bool> {
        let n = self.state.x.len();
        let curved: Vec<&Vec<f64>> =
            seen.pairs.iter().filter(|p| p.0 > flat).map(|p| &p.1).collect();
        let mut rises = true;
        for number in 0..=PROBES {
            let v = match number {
                0 => seen.pairs[0].1.clone(),
                _ => without(random_unit(n, number), curved.iter().copied()),
            };
            let length = norm(&v);
            if length < 1e-3 {
                continue;
            }
            for t in FAR.into_iter().flat_map(|t| [t, -t]) {
                let x = step_along(&self.state.x, t, &scaled(&v, length.recip()));
                let Some((value, gradient)) = self.value_and_gradient_at(&x) else {
                    rises = false;
                    continue;
                };
                let fall = self.fall(value, &x);
                if fall > 0.0 {
                    return Ok(x);
                }
                rises &= fall < 0.0 || t.abs() < FAR[0];
                if t.abs() < FAR[0] || norm(&gradient) <= self.slope {
                    continue;
                }
                let memory = Memory::Nothing;
                let mut beside =
                    State { x, value, gradient, memory, spread: None, ..self.state.clone() };
                for _ in 0..STEPS {
                    // Where there is no further step nothing is found.
                    if Lbfgs::default().step(self.f, &mut beside).is_err() || beside.stalled {
                        break;
                    }
                }
                self.state.evaluations = beside.evaluations;
                if self.fall(beside.value, &beside.x) > 0.0 {
                    return Ok(beside.x);
                }
            }
        }
        Err(rises)
    }
}

/// Classifies the critical point of a state. For functions whose products of the Hessian are
/// `exact` these are taken, else differences of gradients, which need no more memory than a
/// gradient does.
///
/// # Errors
/// [`OptimizeError`] from the gradient where a state has none.
pub(super) fn shape<F: Objective>(
    f: &F,
    state: &mut State,
    stopping: &Stopping,
    exact: bool,
) -> Result<CriticalPoint, OptimizeError<F::Error>> {
    let n = state.x.len();
    if n == 0 {
        return Ok(CriticalPoint::Minimum);
    }
    let x = state.x.clone();
    let mut around = PointProbe { f, state, slope: 0.0, least: 0.0 };
    let Some((value, gradient)) = around.value_and_gradient_at(&x) else {
        return Ok(CriticalPoint::NoDerivatives);
    };
    let size = norm(&gradient);
    let rounding = f.noise() * value.abs();
    let small = largest(&gradient) <= stopping.gradient.max(100.0 * rounding);
    let mut count = 0;
    let mut product = |v: &[f64]| {
        count += 2;
        if exact { f.hessian_product(&x, v) } else { difference_of_gradients(f, &x, v) }
    };
    // What a method without a gradient takes for its end may be no stationary point: how much lower
    // a step down would lead.
    if !around.state.has_gradient() && !small {
        let down = scaled(&gradient, size.recip());
        let bend = product(&down).map_or(f64::NAN, |product| norm(&product));
        if 0.5 * size * size > 100.0 * (stopping.change + rounding) * bend {
            around.state.evaluations += count;
            return Ok(CriticalPoint::Slope);
        }
    }
    // A function that has no value beside the point has no curvature either.
    let seen = curvature(n, product).ok().flatten();
    around.state.evaluations += count;
    let Some(seen) = seen else {
        return Ok(CriticalPoint::Undecided);
    };
    let scale = seen.scale();
    around.slope = size;
    around.least = 100.0 * rounding.max(f.noise() * scale) + stopping.change;
    let flat =
        (FLAT * scale).max(stopping.gradient).max(10.0 * f.noise().powf(2.0 / 3.0) * value.abs());
    let smallest = seen.pairs[0].0;
    let held = std::mem::replace(&mut around.state.gradient, gradient);
    let found = if smallest < -flat { around.along(&seen.pairs[0].1, smallest) } else { None };
    let decided = match found {
        Some(lower) => CriticalPoint::Lower(lower),
        None if smallest > flat && seen.certain => CriticalPoint::Minimum,
        None => match around.probe(&seen, flat) {
            Ok(lower) => CriticalPoint::Lower(lower),
            Err(_) if smallest < -flat || !seen.certain => CriticalPoint::Undecided,
            Err(rises) if scale > flat || rises => CriticalPoint::Minimum,
            Err(_) => CriticalPoint::Undecided,
        },
    };
    around.state.gradient = held;
    Ok(decided)
}
