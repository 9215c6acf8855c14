//! Tolerances of comparisons.

use crate::{
    exec::Limits,
    scalar::{Real, is_single},
};

/// Tolerances of a comparison, `|a - b| <= absolute + relative |b|`, and limits of runs. Engines
/// that are exact to rounding, all but differences, must agree to 1e-9 absolute and 1e-6 relative,
/// in single precision 1e-5 and 1e-4, if the settings do not ask for more.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The step of differences, times the larger of 1 and the argument; where it does not fit,
    /// shorter ones are tried.
    pub eps: f64,
    /// The absolute part.
    pub absolute: f64,
    /// The relative part.
    pub relative: f64,
    /// Limits of each run.
    pub limits: Limits,
}

impl Default for Settings {
    /// Steps of 1e-6, 1e-5 absolute, 1e-3 relative.
    fn default() -> Settings {
        Settings { eps: 1e-6, absolute: 1e-5, relative: 1e-3, limits: Limits::default() }
    }
}

impl Settings {
    /// Sets [`eps`](Settings::eps).
    #[must_use]
    pub fn with_eps(self, eps: f64) -> Settings {
        Settings { eps, ..self }
    }

    /// Sets [`absolute`](Settings::absolute).
    #[must_use]
    pub fn with_absolute(self, absolute: f64) -> Settings {
        Settings { absolute, ..self }
    }

    /// Sets [`relative`](Settings::relative).
    #[must_use]
    pub fn with_relative(self, relative: f64) -> Settings {
        Settings { relative, ..self }
    }

    /// Sets [`limits`](Settings::limits).
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Settings {
        Settings { limits, ..self }
    }
}

impl Settings {
    /// Returns the settings for single precision: steps of 5e-3, 1e-3 absolute and relative.
    #[must_use]
    pub fn single() -> Settings {
        Settings { eps: 5e-3, absolute: 1e-3, relative: 1e-3, limits: Limits::default() }
    }

    /// Returns true if `a` and `b` count as equal. NaN equals nothing.
    #[must_use]
    pub fn close(&self, a: f64, b: f64) -> bool {
        let close = (a - b).abs() <= self.absolute + self.relative * b.abs();
        // Nothing finite is close to infinity.
        close && a.is_finite() && b.is_finite() || a == b
    }

    /// Returns the tolerances for engines that are exact to rounding: all but differences.
    pub(super) fn for_exact_engines<T: Real>(self) -> Settings {
        let (absolute, relative) = if is_single::<T>() { (1e-5, 1e-4) } else { (1e-9, 1e-6) };
        Settings {
            absolute: self.absolute.min(absolute),
            relative: self.relative.min(relative),
            ..self
        }
    }

    /// Returns the tolerances where differences are the only check of a rule.
    pub(super) fn for_custom_rules<T: Real>(self) -> Settings {
        let relative = if is_single::<T>() { 1e-3 } else { 1e-5 };
        Settings { absolute: f64::MIN_POSITIVE, relative: self.relative.min(relative), ..self }
    }
}
