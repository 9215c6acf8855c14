//! Values by which an interceptor replaces results.

use crate::{array::ArrayError, scalar::Scalar};

use super::{
    super::{
        code::RegisterSlot,
        data::Datum,
        inspect::{Event, Interrupt, Moment},
    },
    banks::{Banks, FrameBase, store_leaves},
};

/// The registers of a result that another value takes.
pub(super) struct Replacement {
    slots: Vec<RegisterSlot>,
    /// Before the instruction has run.
    pub(super) is_before: bool,
}

impl Replacement {
    pub(super) fn new<S: Scalar>(
        event: &Event<'_, S>,
        value: &Datum<S>,
    ) -> Result<Replacement, Interrupt> {
        let Some((slots, kind)) = event.defined() else {
            let what =
                if event.text().is_empty() { "the end of a block".into() } else { event.text() };
            return Err(Interrupt(format!("{what} gives nothing to be replaced")));
        };
        if !value.is(kind) {
            let given = value.describe();
            return Err(Interrupt(format!(
                "`{}` is replaced by {given}, expected {kind}",
                event.text()
            )));
        }
        Ok(Replacement {
            slots: slots.to_vec(),
            is_before: matches!(event.moment(), Moment::Before(_)),
        })
    }

    /// Stores the value in the registers; its arrays count as those of the run.
    pub(super) fn store<S: Scalar>(
        &self,
        banks: &mut Banks<S>,
        base: FrameBase,
        value: &Datum<S>,
    ) -> Result<(), ArrayError> {
        banks.adopt(value)?;
        store_leaves(banks, &mut self.slots.iter().copied(), base, value);
        Ok(())
    }
}
