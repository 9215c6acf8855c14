//! Line searches: how far to go along a direction that leads down.
//!
//! With `phi(t) = f(x + t d)`, a step t is taken that satisfies the strong Wolfe conditions
//!
//! ```text
//! phi(t) <= phi(0) + c1 t phi'(0)        |phi'(t)| <= c2 |phi'(0)|,
//! ```
//!
//! where, once values differ by rounding only, `phi'(t) <= (2 c1 - 1) phi'(0)` replaces the
//! first. An interval is kept whose lower end satisfies the first condition with a negative slope
//! and whose upper end violates it or has a positive one, so that there is a step inside; it
//! shrinks by cubic interpolation.
//!
//! Where the function has no value the step is too long: the interval is halved.
//!
//! Sources: J. Nocedal, S. J. Wright, Numerical Optimization (2006), section 3.5; W. W. Hager, H.
//! Zhang, SIAM J. Optim. 16, 170 (2005), for the condition on slopes.

use super::{
    Objective, OptimizeError, State,
    vector::{dot, step_along},
};

/// Part of the decrease that the slope promises which is required (the first Wolfe condition).
const DECREASE: f64 = 1e-4;
/// Part of the slope that may be left (the second Wolfe condition).
const SLOPE: f64 = 0.9;
/// Largest number of evaluations; an interval shrinks to a tenth at best and to nine tenths at
/// worst.
const MOST: usize = 40;

/// A point on the line.
struct Sample {
    t: f64,
    value: f64,
    slope: f64,
    x: Vec<f64>,
    gradient: Vec<f64>,
}

/// Moves the state along d, which must lead down, trying `first` first. Whether there was a step.
pub(super) fn search<F: Objective>(
    f: &F,
    state: &mut State,
    d: &[f64],
    first: f64,
) -> Result<bool, OptimizeError<F::Error>> {
    let (value, slope) = (state.value, dot(&state.gradient, d));
    let noise = f.noise() * value.abs().max(f64::MIN_POSITIVE);
    let decreases = |s: &Sample| {
        s.value <= value + DECREASE * s.t * slope
            || (s.value <= value + noise && s.slope <= (2.0 * DECREASE - 1.0) * slope)
    };
    let mut low = Sample { t: 0.0, value, slope, x: Vec::new(), gradient: Vec::new() };
    let mut high: Option<Sample> = None;
    let mut t = first;
    let mut outside = None;
    for _ in 0..MOST {
        let x = step_along(&state.x, t, d);
        if x == state.x {
            break;
        }
        let (value, gradient) = match state.gradient_at(f, &x) {
            Err(e @ OptimizeError::NotFinite { value, .. }) if value != f64::NEG_INFINITY => {
                outside = Some(e);
                (f64::NAN, vec![f64::NAN; x.len()])
            }
            done => done?,
        };
        let sample = Sample { t, value, slope: dot(&gradient, d), x, gradient };
        if !decreases(&sample) {
            high = Some(sample);
        } else if sample.slope.abs() <= SLOPE * slope.abs() {
            state.go(sample.x, sample.value, sample.gradient);
            return Ok(true);
        } else if sample.slope > 0.0 {
            high = Some(sample);
        } else {
            low = sample;
        }
        t = match &high {
            None => 4.0 * t,
            Some(high) => between(&low, high),
        };
        if !t.is_finite() {
            break;
        }
    }
    // Of what is no Wolfe point only a true decrease counts.
    if low.t == 0.0 || low.value >= value {
        return outside.map_or(Ok(false), Err);
    }
    state.go(low.x, low.value, low.gradient);
    Ok(true)
}

/// Returns the minimum of the cubic through both ends with their slopes, a tenth of the interval or
/// more away from them.
fn between(low: &Sample, high: &Sample) -> f64 {
    let width = high.t - low.t;
    let a = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let root = (a * a - low.slope * high.slope).sqrt();
    let t = high.t - width * (high.slope + root - a) / (high.slope - low.slope + 2.0 * root);
    if t.is_nan() {
        low.t + 0.5 * width
    } else {
        t.clamp(low.t + 0.1 * width, high.t - 0.1 * width)
    }
}
