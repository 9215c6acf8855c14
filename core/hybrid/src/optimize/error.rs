//! Errors of a minimisation, and checks of its settings.

use std::error::Error;

/// Error of a minimisation that cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptimizeError<E: Error + 'static> {
    /// The function failed.
    #[error(transparent)]
    Objective(E),
    /// Something is infinite or NaN.
    #[error("{what} is {value}, not a finite number")]
    NotFinite {
        /// Name of the value.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A function that gives more or fewer numbers than it has inputs.
    #[error("the function gives {given} {what}, expected {expected}: one for each input")]
    Count {
        /// Name of the counted things.
        what: &'static str,
        /// Number that it gives.
        given: usize,
        /// Number expected.
        expected: usize,
    },
    /// A setting that makes no sense.
    #[error("`{name}` is {value}, expected {expected}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Values that are allowed.
        expected: &'static str,
    },
}

/// A setting that makes no sense: its name, its value, what was expected.
pub(super) type InvalidSetting = (&'static str, f64, &'static str);

pub(super) fn positive(name: &'static str, value: f64) -> Result<(), InvalidSetting> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err((name, value, "a finite number above 0"))
    }
}

pub(super) fn expect<E: Error + 'static>(
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), OptimizeError<E>> {
    if given == expected { Ok(()) } else { Err(OptimizeError::Count { what, given, expected }) }
}

pub(super) fn finite<E: Error + 'static>(value: f64, what: &str) -> Result<f64, OptimizeError<E>> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(OptimizeError::NotFinite { what: what.to_owned(), value })
    }
}
