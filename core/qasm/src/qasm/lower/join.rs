//! Join of the states of variables after branches.
//!
//! A branch begins with the known states; its changes are logged, and undone at its end. After two
//! branches a variable keeps a state that both agree on, or it goes to scratch bits, or becomes a
//! value set, or is lost.

use super::{
    Guard, IndexSet, Lower, QasmLowering,
    classical::Classical,
    variables::{BranchEnds, VariableChange, VariableState},
};
use crate::qasm::ast::QasmSpan;

impl QasmLowering<'_> {
    /// Ends a branch: returns its changes, and restores the states before it.
    pub(super) fn end_branch(&mut self) -> BranchEnds {
        let changes: Vec<VariableChange> = self.log.drain(self.mark..).collect();
        let mut ends = BranchEnds::new();
        for VariableChange { variable, before, .. } in changes {
            // Scratch bits have the value in every branch.
            if self
                .variables
                .get(variable)
                .is_some_and(|v| !matches!(v.state, VariableState::Bits { .. }))
            {
                let end = self.change(variable, before);
                ends.push((variable, end));
            }
        }
        ends
    }

    /// Continues after two branches: joins the states at their ends.
    pub(super) fn join_branches(
        &mut self,
        ends: [&BranchEnds; 2],
        sides: [Option<Guard>; 2],
        span: QasmSpan,
    ) -> Lower<()> {
        let mut ids: Vec<usize> =
            ends.iter().flat_map(|ends| ends.iter().map(|end| end.0)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| id < self.variables.len());
        for id in ids {
            let before = self.variables[id].state.clone();
            let [a, b] = ends.map(|ends| {
                ends.iter()
                    .find(|end| end.0 == id)
                    .map_or_else(|| before.clone(), |end| end.1.clone())
            });
            if a == b {
                self.set(id, a);
                continue;
            }
            let lost = [&a, &b].into_iter().any(|s| matches!(s, VariableState::Lost(_)));
            if self.variables[id].chooses() {
                match self.either([&a, &b], sides, self.variables[id].depth, span)? {
                    Some(state) => self.set(id, state),
                    None => self.lose(id, span),
                }
                continue;
            }
            let bits = match &before {
                _ if lost => None,
                // One branch moved it to bits; the other ended with a value of its own.
                VariableState::Bits { bits, .. } => Some(bits.clone()),
                _ => self.spill(id, span)?,
            };
            let Some(bits) = bits else {
                self.lose(id, span);
                continue;
            };
            for (end, side) in [a, b].into_iter().zip(sides) {
                if end != before {
                    self.fill_side(id, &bits, &end, side, span)?;
                }
            }
        }
        Ok(())
    }

    /// Fills bits with the state at the end of a branch, unless an exit was taken.
    fn fill_side(
        &mut self,
        id: usize,
        bits: &IndexSet,
        end: &VariableState,
        side: Option<Guard>,
        span: QasmSpan,
    ) -> Lower<()> {
        if let VariableState::Known(value) = end {
            self.use_digits_of(id, &Classical::Value(value.clone()));
            let guard = self.guard_stayed(id, side, span)?;
            self.fill(bits, value, guard, false, span);
        }
        Ok(())
    }

    /// Continues after a branch whose other side has left.
    pub(super) fn adopt(
        &mut self,
        ends: BranchEnds,
        side: Option<Guard>,
        span: QasmSpan,
    ) -> Lower<()> {
        for (id, state) in ends {
            match self.variables.get(id).map(|variable| &variable.state) {
                // The side that was left moved it to bits.
                Some(VariableState::Bits { bits, .. }) => {
                    let bits = bits.clone();
                    self.fill_side(id, &bits, &state, side, span)?;
                }
                Some(_) => self.set(id, state),
                None => {}
            }
        }
        Ok(())
    }

    /// Marks a variable as dependent on bits from here on.
    pub(super) fn lose(&mut self, id: usize, span: QasmSpan) {
        let place = self.file_span(span);
        if id < self.variables.len() {
            self.set(id, VariableState::Lost(place));
        }
    }
}
