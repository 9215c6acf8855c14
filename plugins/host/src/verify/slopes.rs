//! Central differences of every result with Richardson extrapolation, where they can be trusted.
//!
//! Three steps, each half of the one before, give two extrapolations. If these differ there is a
//! pole, a kink or a branch point within the step, or the function is too rough for it: shorter
//! steps are tried, and then no derivative is given. A kink at the point itself shows in one-sided
//! differences, whose distance does not shrink with the step.

/// Steps that are tried, relative to the larger of 1 and the argument.
const STEPS: [f64; 2] = [1e-4, 1e-6];

/// Another step, which must confirm a disagreement.
const OTHER_STEP: f64 = 2.3e-5;

/// Largest allowed distance of the two extrapolations, relative to their values.
const DOUBT: f64 = 1e-4;

/// Derivative by differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct FiniteDifference {
    pub(super) value: f64,
    /// Largest allowed distance of a derivative from it.
    pub(super) tolerance: f64,
}

impl FiniteDifference {
    /// Returns true if a derivative is this one. NaN is not.
    pub(super) fn fits(&self, given: f64) -> bool {
        (given - self.value).abs() <= self.tolerance
    }
}

/// Largest allowed distance of derivatives from extrapolated differences.
pub(super) const TOLERANCE: f64 = 1e-6;

/// Returns the derivatives of all results along a line through a point, where `y(h)` are the
/// results at `h` along it (`None` where the function has none) and `y0` those at the point;
/// `size`: of the coordinate that is moved.
pub(super) fn central_differences(
    y: &mut dyn FnMut(f64) -> Option<Vec<f64>>,
    y0: &[f64],
    size: f64,
) -> Vec<Option<FiniteDifference>> {
    let size = size.abs();
    let scale = size.max(1.0);
    let mut found = vec![None; y0.len()];
    let small = (size > 0.0 && size < 0.3).then_some(STEPS[0] * size);
    for h in [STEPS[0] * scale].into_iter().chain(small).chain([STEPS[1] * scale]) {
        if let Some(slopes) = of_step(y, y0, h, size) {
            found.iter_mut().zip(slopes).for_each(|(found, slope)| *found = found.or(slope));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found
}

/// Returns derivatives by another step, to confirm a disagreement.
pub(super) fn confirming(
    y: &mut dyn FnMut(f64) -> Option<Vec<f64>>,
    y0: &[f64],
    size: f64,
) -> Vec<Option<FiniteDifference>> {
    let scale = size.abs().max(1.0);
    of_step(y, y0, OTHER_STEP * scale, size).unwrap_or_else(|| vec![None; y0.len()])
}

fn of_step(
    y: &mut dyn FnMut(f64) -> Option<Vec<f64>>,
    y0: &[f64],
    h: f64,
    size: f64,
) -> Option<Vec<Option<FiniteDifference>>> {
    let mut pairs = Vec::with_capacity(3);
    for h in [h, 0.5 * h, 0.25 * h] {
        pairs.push((h, y(h)?, y(-h)?));
    }
    if pairs.iter().any(|(_, up, down)| up.len() != y0.len() || down.len() != y0.len()) {
        return None;
    }
    // Of what size derivatives are that say anything here.
    let greatest = y0.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
    let one = |i: usize| {
        let of = |(h, up, down): &(f64, Vec<f64>, Vec<f64>)| (up[i] - down[i]) / (2.0 * h);
        let [wide, narrow, narrower] = [of(&pairs[0]), of(&pairs[1]), of(&pairs[2])];
        let first = (4.0 * narrow - wide) / 3.0;
        let value = (4.0 * narrower - narrow) / 3.0;
        let doubt = (first - value).abs();
        let magnitude = greatest.max(value.abs()).min(1.0);
        let largest = y0[i].abs().max(pairs[0].1[i].abs()).max(pairs[0].2[i].abs());
        // Of results and of arguments; and of what is added on the way, which is of the size of
        // one.
        let rounding = 16.0 * f64::EPSILON * (largest + value.abs() * size + 1.0) / h;
        // NaN and infinities are not below.
        let trusted = doubt <= DOUBT * (magnitude + value.abs()) + rounding;
        let bend =
            |(h, up, down): &(f64, Vec<f64>, Vec<f64>)| (up[i] - 2.0 * y0[i] + down[i]).abs() / h;
        let (far, near) = (bend(&pairs[0]), bend(&pairs[2]));
        let kink = near > 0.7 * far && near > 1e-5 * (magnitude + value.abs()) + rounding;
        let tolerance = TOLERANCE * (magnitude + value.abs()) + 4.0 * doubt + rounding;
        (trusted && !kink && tolerance.is_finite()).then_some(FiniteDifference { value, tolerance })
    };
    Some((0..y0.len()).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope_at(f: impl Fn(f64) -> f64, x: f64) -> Option<FiniteDifference> {
        let mut y = |h: f64| {
            let y = f(x + h);
            y.is_finite().then(|| vec![y])
        };
        central_differences(&mut y, &[f(x)], x)[0]
    }

    #[test]
    fn smooth_functions_have_slopes() {
        type Case = (fn(f64) -> f64, f64, f64);
        let cases: [Case; 8] = [
            (|x| x.sin(), 0.7, 0.7f64.cos()),
            (|x| x.exp(), 5.5, 5.5f64.exp()),
            (|x| if x == 0.0 { 1.0 } else { x.sin() / x }, 0.0, 0.0),
            (|x| 1.0 / (x - 0.35001), 0.35, -1e10),
            (|x| (300.0 * x).sin(), 0.1, 300.0 * 30f64.cos()),
            (|x| 1e-9 * x * x, 3.0, 6e-9),
            (|_| 0.0, 1.0, 0.0),
            (|x| 1.0 / x, 1e-5, -1e10),
        ];
        for (k, (f, x, expected)) in cases.into_iter().enumerate() {
            let slope = slope_at(f, x).unwrap_or_else(|| panic!("case {k}: none"));
            assert!(slope.fits(expected), "case {k}: {slope:?} for {expected}");
            assert!(!slope.fits(f64::NAN));
            assert!(
                !slope.fits(expected * 1.001 + 1e-3 * f(x).abs().min(1.0) + 1e-8),
                "case {k}: {slope:?}"
            );
        }
    }

    #[test]
    fn where_there_is_none_nothing_is_said() {
        let functions: [fn(f64) -> f64; 10] = [
            f64::abs,
            |x| x.max(0.0),
            |x| (x - 1e-9).max(0.0) * 0.01,
            |x| (x - 2e-5).abs(),
            f64::sqrt,
            f64::cbrt,
            |x| 1.0 / x,
            f64::signum,
            f64::ln,
            |x| if x == 0.0 { 5.0 } else { x },
        ];
        for (k, f) in functions.into_iter().enumerate().filter(|(k, _)| *k != 3) {
            let slope = slope_at(f, 0.0);
            assert!(slope.is_none(), "{k}: {slope:?}");
        }
        // A kink within the first step is none of the shorter one.
        assert!(slope_at(functions[3], 0.0).is_some_and(|s| s.fits(-1.0)));
    }
}
