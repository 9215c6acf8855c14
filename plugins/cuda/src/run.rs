//! Gates on states.

use ketgrad_plugin_sdk::{Error, Gates, Inner, Result};

use crate::state::State;

/// What is kept of earlier runs.
#[derive(Default)]
pub(crate) struct Schedules {}

impl Schedules {
    /// Applies operators in order.
    pub(crate) fn apply(&self, state: &mut State, gates: Gates<'_>) -> Result<()> {
        let _ = state;
        Err(Error::unsupported(format!("{} operators: no way to run them yet", gates.len())))
    }

    /// Applies operators to both states, and gives the inner products on the way.
    pub(crate) fn apply_pair(
        &self,
        psi: &mut State,
        lambda: &mut State,
        gates: Gates<'_>,
        inners: &[Inner],
        values: &mut [f64],
    ) -> Result<()> {
        let _ = (psi, lambda, inners, values);
        Err(Error::unsupported(format!("{} operators: no way to run them yet", gates.len())))
    }
}
