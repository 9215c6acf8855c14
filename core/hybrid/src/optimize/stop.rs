//! Stopping criteria and reasons to stop.

use std::fmt;

use super::{State, vector::largest};

/// Tolerances that end a minimisation.
///
/// If values are exact, they say where a point is examined
/// ([`CriticalPoint`](super::CriticalPoint)): from one that is no minimum the search goes on along
/// the curvature that leads down. Measured values
/// ([`Objective::is_measured`](super::Objective::is_measured)) are never equal but by chance: there
/// the means over windows of 25 iterations are compared, and if they fall no further within their
/// standard errors, and the gradients are consistent with 0, that is [`StopReason::NoProgress`],
/// which does not claim a minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stopping {
    /// Largest number of iterations.
    pub iterations: usize,
    /// Enough if no derivative is larger. Not for [`Spsa`](super::Spsa), whose gradients are
    /// guesses.
    pub gradient: f64,
    /// Enough if no value of the last three iterations is further from the one before; for a
    /// simplex, if its values are no further apart and its size is no larger than the root of this.
    pub change: f64,
}

impl Default for Stopping {
    /// 1000 iterations, derivatives of 1e-6, changes of 1e-12.
    fn default() -> Stopping {
        Stopping { iterations: 1000, gradient: 1e-6, change: 1e-12 }
    }
}

impl Stopping {
    /// Sets the number of [`iterations`](Stopping::iterations).
    #[must_use]
    pub const fn with_iterations(self, iterations: usize) -> Stopping {
        Stopping { iterations, ..self }
    }

    /// Sets the tolerance of the [`gradient`](Stopping::gradient).
    #[must_use]
    pub const fn with_gradient(self, gradient: f64) -> Stopping {
        Stopping { gradient, ..self }
    }

    /// Sets the tolerance of the [`change`](Stopping::change) of values.
    #[must_use]
    pub const fn with_change(self, change: f64) -> Stopping {
        Stopping { change, ..self }
    }

    /// Returns the reason to stop here, if there is one, as far as the numbers of a state show:
    /// [`Optimizer::advance`](super::Optimizer::advance) also looks at the function.
    pub(crate) fn reached(&self, state: &State) -> Option<StopReason> {
        let small = |step: &[f64]| (step[1] - step[0]).abs() <= self.change;
        let last = state.values.len().checked_sub(4).map(|k| &state.values[k..]);
        let end = (state.iterations >= self.iterations).then_some(StopReason::Iterations);
        if state.x.is_empty() {
            return Some(StopReason::Gradient);
        }
        if let Some(averages) = &state.averages {
            let collapsed = state.spread.is_some_and(|spread| spread <= self.change);
            return if averages.are_level() || collapsed {
                Some(StopReason::NoProgress)
            } else {
                end
            };
        }
        if state.has_gradient() && largest(&state.gradient) <= self.gradient {
            Some(StopReason::Gradient)
        } else if match state.spread {
            Some(spread) => spread <= self.change,
            None => last.is_some_and(|last| last.windows(2).all(small)),
        } {
            Some(StopReason::Change)
        } else if state.stalled {
            Some(StopReason::Stalled)
        } else {
            end
        }
    }
}

/// Reason why a minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StopReason {
    /// The derivatives are small, and the point is a minimum.
    Gradient,
    /// The value changes no more, and the point is a minimum as far as the function has derivatives
    /// to tell.
    Change,
    /// The point is stationary and no minimum: a lower value is known beside it, but no iteration
    /// is left to go there.
    NotMinimum,
    /// The point is stationary; whether it is a minimum is not decided.
    Undecided,
    /// Measured values fall no more within their standard errors; what is lower by less is not
    /// seen, and whether it is a minimum is not decided.
    NoProgress,
    /// No step makes the value smaller.
    Stalled,
    /// The number of iterations that is allowed was reached.
    Iterations,
    /// It was cancelled.
    Cancelled,
}

impl StopReason {
    /// Returns true if a tolerance was reached at a minimum.
    #[must_use]
    pub fn converged(self) -> bool {
        matches!(self, StopReason::Gradient | StopReason::Change)
    }

    /// Returns the name of the reason.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Gradient => "gradient",
            StopReason::Change => "change",
            StopReason::NotMinimum => "stationary_not_minimum",
            StopReason::Undecided => "stationary_undecided",
            StopReason::NoProgress => "no_progress",
            StopReason::Stalled => "stalled",
            StopReason::Iterations => "iterations",
            StopReason::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Gradient => "the derivatives are within their tolerance",
            StopReason::Change => "the changes are within their tolerance",
            StopReason::NotMinimum => "the point is stationary, not a minimum: the value is lower beside it",
            StopReason::Undecided => "the point is stationary; whether it is a minimum is not decided",
            StopReason::NoProgress => {
                "the values fall no more within their standard errors; whether this is a minimum is not decided"
            }
            StopReason::Stalled => "no step makes the value smaller, although the derivatives are not small",
            StopReason::Iterations => "the iterations are used up",
            StopReason::Cancelled => "it was cancelled",
        })
    }
}
