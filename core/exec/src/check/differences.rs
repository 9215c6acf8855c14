//! Derivatives by differences that know their own error.
//!
//! The truncation error of a central difference grows with its step, and the rounding error of its
//! values grows as the step shrinks; which step fits is not known before. So steps of all lengths
//! are tried, and the change of a difference with the next two shorter steps estimates its error:
//! it is large if steps are too long for the function, as for `1/x` at 1e-5, for `ln` at 1e-300 or
//! beside a kink, and if they are too short, or no step is right, as for `sin(x * x)` at 100 in
//! single precision. Differences that are zero have no estimate of their own, since the function
//! may only be too coarse for the steps, as `(x + 1e10) - 1e10` is: those of longer steps are their
//! error. And if longer steps have just as small an error for another value, nothing is known:
//! `(1 - cos(x)) / (x * x)` at 1e-4 is `1 / (x * x)` times a constant for the shortest. A step to a
//! point at which the function fails gives no difference either; if all do, that failure is the
//! result.

use num_complex::Complex;

use crate::{
    exec::{Derivatives, DeriveError},
    scalar::{Real, is_single},
};

use super::{
    numbers::{CheckValue, flat, shifted},
    settings::Settings,
};

/// Steps that are tried: the ratio of each to the one before, and the number of longer and shorter
/// ones than the usual.
const STEP_RATIO: f64 = 0.316_227_766_016_837_94;
const LONGER_STEPS: i32 = 6;
const SHORTER_STEPS: i32 = 12;
/// Largest step, relative to the larger of 1 and the argument, or to the argument.
const MAX_RELATIVE_STEP: f64 = 0.05;

/// Safety factor of an error: where rounding makes differences random, two may be close by chance.
const SAFETY_FACTOR: f64 = 3.0;

/// Part of the distance to an estimate by longer steps that its error must stay below to
/// contradict.
const CONTRADICTION: f64 = 1e-4;

/// Estimate of a derivative by differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct DifferenceEstimate {
    pub(super) value: f64,
    /// Bound of the error of the value.
    pub(super) error: f64,
}

impl Settings {
    /// Returns the tolerances widened by the error of a difference.
    pub(super) fn with_error_of(self, slope: &DifferenceEstimate) -> Settings {
        Settings { absolute: self.absolute.max(slope.error), ..self }
    }
}

/// Computes the derivatives of all real numbers of the result by the `k`-th of the arguments, by
/// central differences.
///
/// The first step is `eps max(1, |x|)`; if its difference does not fit, or that of the next shorter
/// one, longer and shorter ones follow, and those relative to `eps |x|`. A difference that fits is
/// taken if its error is within the tolerances; if there is none, the one whose error seems least.
/// At most 80 values.
pub(super) fn estimate_derivatives<T: Real>(
    f: &mut Derivatives<'_, Complex<T>>,
    args: &[CheckValue<T>],
    k: usize,
    settings: Settings,
    fits: impl Fn(&[DifferenceEstimate]) -> bool,
) -> Result<Vec<DifferenceEstimate>, DeriveError> {
    let epsilon = if is_single::<T>() { f32::EPSILON.into() } else { f64::EPSILON };
    let x = flat(args)[k].abs();
    let mut failure = None;
    // The error is that of rounding the two values.
    let mut differences = |h: f64| -> Result<Vec<DifferenceEstimate>, DeriveError> {
        let [up, down] = [h, -h].map(|h| shifted(args, k, h));
        // Difference of the numbers as they were rounded.
        let step = flat(&up)[k] - flat(&down)[k];
        let values = f.value(&up).and_then(|up| Ok([up, f.value(&down)?].map(|y| flat(&[y]))));
        let [up, down] = match values {
            Ok(values) => values,
            // A step as long as that leaves where the function is defined.
            Err(error @ DeriveError::Run(_)) => {
                failure.get_or_insert(error);
                let nothing = DifferenceEstimate { value: f64::NAN, error: f64::INFINITY };
                return Ok(vec![nothing; flat(&[f.value(args)?]).len()]);
            }
            Err(error) => return Err(error),
        };
        let one = |(a, b): (&f64, &f64)| DifferenceEstimate {
            value: (a - b) / step,
            error: 2.0 * epsilon * (a.abs() + b.abs()) / step,
        };
        Ok(up.iter().zip(&down).map(one).collect())
    };
    let first = differences(settings.eps * x.max(1.0))?;
    // One that is off may fit a wrong derivative.
    if fits(&first) && fits(&differences(settings.eps * STEP_RATIO * x.max(1.0))?) {
        return Ok(first);
    }
    // Error relative to the tolerance.
    let rated = |slope: &DifferenceEstimate| {
        let rate = slope.error / (settings.absolute + settings.relative * slope.value.abs());
        if rate.is_nan() { f64::INFINITY } else { rate }
    };
    let mut best: Vec<DifferenceEstimate> =
        first.iter().map(|s| DifferenceEstimate { error: f64::INFINITY, ..*s }).collect();
    let mut greatest = vec![0.0_f64; first.len()];
    let small = (x > 0.0 && x < 1.0).then_some(x);
    for scale in std::iter::once(x.max(1.0)).chain(small) {
        let mut tried: Vec<Vec<DifferenceEstimate>> = Vec::new();
        let mut longer: Vec<Vec<DifferenceEstimate>> = Vec::new();
        for j in -LONGER_STEPS..=SHORTER_STEPS {
            let step = settings.eps * STEP_RATIO.powi(j);
            if step > MAX_RELATIVE_STEP {
                continue;
            }
            tried.push(differences(step * scale)?);
            let [.., here, next, last] = tried.as_slice() else { continue };
            let with_error = |(((here, next), last), greatest): (
                ((&DifferenceEstimate, &DifferenceEstimate), &DifferenceEstimate),
                &mut f64,
            )| {
                let change = (next.value - here.value).abs().max((last.value - here.value).abs());
                let hidden = if here.value == 0.0 && change == 0.0 { *greatest } else { 0.0 };
                let error = SAFETY_FACTOR * change + hidden + here.error;
                *greatest = greatest.max(here.value.abs());
                DifferenceEstimate { value: here.value, error }
            };
            let found = here.iter().zip(next).zip(last).zip(&mut greatest).map(with_error);
            let found: Vec<DifferenceEstimate> = found.collect();
            if fits(&found) && found.iter().all(|slope| rated(slope) <= 1.0) {
                return Ok(found);
            }
            for (k, (best, here)) in best.iter_mut().zip(&found).enumerate() {
                let sure_of_more = longer.iter().filter_map(|other| {
                    let (other, apart) = (other[k], (other[k].value - here.value).abs());
                    (apart > here.error && other.error < CONTRADICTION * apart).then_some(apart)
                });
                let error = sure_of_more.fold(here.error, f64::max);
                let found = DifferenceEstimate { error, ..*here };
                if rated(&found) < rated(best) {
                    *best = found;
                }
            }
            longer.push(found);
        }
    }
    match failure {
        Some(error) if best.iter().any(|slope| slope.value.is_nan()) => Err(error),
        _ => Ok(best),
    }
}

/// Returns true if the one-sided derivatives differ, however short the steps: engines that have no
/// derivative at a point say so there, and central differences give the mean. `sum` maps the
/// numbers of the result to the one that is differentiated.
pub(super) fn has_kink<T: Real>(
    f: &mut Derivatives<'_, Complex<T>>,
    args: &[CheckValue<T>],
    k: usize,
    settings: Settings,
    sum: impl Fn(&[f64]) -> f64,
) -> Result<bool, DeriveError> {
    let mut at = |h: f64| -> Result<[f64; 2], DeriveError> {
        let there = shifted(args, k, h);
        Ok([flat(&there)[k], sum(&flat(&[f.value(&there)?]))])
    };
    let step = settings.eps * flat(args)[k].abs().max(1.0);
    for h in [step, 0.1 * step] {
        let [[x0, y0], [x1, y1], [x2, y2]] = [at(-h)?, at(0.0)?, at(h)?];
        let (left, right) = ((y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1));
        if settings.close(left, right) || !(left.is_finite() && right.is_finite()) {
            return Ok(false);
        }
    }
    Ok(true)
}
