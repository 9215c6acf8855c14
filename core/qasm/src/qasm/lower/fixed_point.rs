//! Fixed point of the values that numbers and arrays have in a loop that a measurement ends.
//!
//! ```text
//! float x = 0;                    0
//! while (c) {                     0 or pi/2, as a hidden bit k says
//!     x = pi/2 - x;               pi/2 or 0
//!     h q; c = measure q;         k is told which of both it is now
//! }
//! rx(x) q;
//! ```
//! The body is planned once, so a state of such a number must hold in every iteration: it is one of
//! all values that it may ever have, and bits store the position of the value in a list. The list
//! is a fixed point, found by planning: a value at the end of an iteration that is not in the list
//! is added, and the loop is planned again. A number with new values forever, as `x += 0.1` makes
//! them, is lost.

use super::{
    IndexSet, Lower, QasmLowering, QasmValue,
    classical::Classical,
    truth::Truth,
    value_set::{MAX_BITS, UNDEFINED, ValueSet},
    value_set_flow::chosen,
    variables::VariableState,
};
use crate::qasm::ast::QasmSpan;

/// Limit on the number of times that a loop is planned until the values reach a fixed point.
const MAX_PLANS: usize = 80;

/// Number that a loop assigns.
pub(super) struct FixedPointVariable {
    id: usize,
    values: Vec<QasmValue>,
    /// Bits of the position of its value, and its state at the beginning of each iteration.
    bits: IndexSet,
    state: VariableState,
}

impl QasmLowering<'_> {
    /// Returns those of some variables that are numbers or arrays, with their current values.
    pub(super) fn fixed_point_variables(&self, ids: &[usize]) -> Vec<FixedPointVariable> {
        let numbers = ids.iter().filter_map(|&id| {
            let variable = self.variables.get(id).filter(|variable| variable.chooses())?;
            let choice = chosen(&variable.state)?;
            let mut values: Vec<QasmValue> = Vec::new();
            for value in &*choice.values {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            let (bits, state) = (IndexSet::List([].into()), VariableState::Empty);
            (!values.contains(&UNDEFINED)).then_some(FixedPointVariable { id, values, bits, state })
        });
        numbers.collect()
    }

    /// Moves each number to bits that store the position of its value, before a loop.
    pub(super) fn begin_fixed_point(
        &mut self,
        numbers: &mut [FixedPointVariable],
        span: QasmSpan,
    ) -> Lower<()> {
        for number in numbers {
            let width = usize::BITS - (number.values.len() - 1).leading_zeros();
            let depth = self.variables[number.id].depth;
            number.bits = self.bits_for_place(width, depth, span)?;
            let Some(choice) = chosen(&self.variables[number.id].state) else { continue };
            self.store_place(&choice, &number.values, &number.bits.clone(), span)?;
            let mut values = number.values.clone();
            values.resize(1 << width, values[0].clone());
            let choice = ValueSet::new(number.bits.iter().collect(), values, depth);
            number.state = match &*choice.values {
                [one] => VariableState::Known(one.clone()),
                _ => VariableState::ValueSet(choice),
            };
            self.set(number.id, number.state.clone());
        }
        Ok(())
    }

    /// Ends an iteration: the bits store the positions of the present values, and those of exits in
    /// it (from the number `exits` on) are 0 again. Returns true if one has a new value, with which
    /// the loop is to be planned again.
    pub(super) fn end_round(
        &mut self,
        numbers: &mut [FixedPointVariable],
        plans: usize,
        exits: usize,
        span: QasmSpan,
    ) -> Lower<bool> {
        let mut ends = Vec::with_capacity(numbers.len());
        let mut found = false;
        for number in &mut *numbers {
            let end = chosen(&self.variables[number.id].state);
            let new = end.iter().flat_map(|end| end.values.iter());
            for value in new {
                if !number.values.contains(value) {
                    number.values.push(value.clone());
                    found = true;
                }
            }
            let lost = end.is_none() || number.values.contains(&UNDEFINED);
            if lost || number.values.len() > 1 << MAX_BITS || found && plans >= MAX_PLANS {
                // The next plan leaves it out.
                number.values.clear();
                found = true;
            }
            ends.extend(end);
        }
        if found {
            return Ok(true);
        }
        let rest = if self.left_somewhere() { vec![self.guard_rest(span)?] } else { Vec::new() };
        self.enter_scope();
        let stored = self.store_ends(numbers, &ends, span);
        self.leave_scope();
        // They stay in the list, for what is around this loop.
        let bits = IndexSet::List(self.exit_bits.get(exits..).unwrap_or_default().into());
        if !numbers.is_empty() && bits.len() != Some(0) {
            self.fill_digits(&bits, &[], self.guard, false, span);
        }
        self.end_rest(rest);
        self.next_round(numbers);
        stored.map(|()| false)
    }

    /// Restores the states at the beginning of an iteration.
    pub(super) fn next_round(&mut self, numbers: &[FixedPointVariable]) {
        for number in numbers {
            self.set(number.id, number.state.clone());
        }
    }

    /// Stores the positions of the new values, which may depend on the old ones, in the bits of all
    /// numbers.
    fn store_ends(
        &mut self,
        numbers: &[FixedPointVariable],
        ends: &[ValueSet],
        span: QasmSpan,
    ) -> Lower<()> {
        let mut all = Vec::with_capacity(numbers.len());
        for (number, end) in numbers.iter().zip(ends) {
            let n = number.bits.len().unwrap_or(1);
            let bits = self.bits_for_place(n, self.locals.len(), span)?;
            self.store_place(end, &number.values, &bits, span)?;
            all.push(bits);
        }
        for (number, bits) in
            numbers.iter().zip(all).filter(|(number, _)| number.bits.len() != Some(0))
        {
            self.store_number(
                number.bits.clone(),
                Classical::register(bits.iter().collect()),
                span,
            )?;
        }
        Ok(())
    }

    /// Returns scratch bits for a position; none for a list of one value.
    fn bits_for_place(&mut self, n: u32, depth: usize, span: QasmSpan) -> Lower<IndexSet> {
        if n == 0 { Ok(IndexSet::List([].into())) } else { self.scratch_bits(n, depth, span) }
    }

    /// Stores the position of a value in a list in bits.
    fn store_place(
        &mut self,
        value: &ValueSet,
        list: &[QasmValue],
        into: &IndexSet,
        span: QasmSpan,
    ) -> Lower<()> {
        let place = |value: &QasmValue| list.iter().position(|known| known == value).unwrap_or(0);
        let places: Vec<usize> = value.values.iter().map(place).collect();
        for (at, bit) in into.iter().enumerate() {
            let numbers: Vec<usize> =
                (0..places.len()).filter(|&i| places[i] >> at & 1 == 1).collect();
            self.spend(places.len() as u64 * 10, span)?;
            let one =
                if numbers.is_empty() { Truth::Constant(false) } else { value.condition(&numbers) };
            match one {
                Truth::Residual(condition) => self.store_truth(bit, condition, span, false)?,
                Truth::Constant(holds) => {
                    self.fill_digits(&IndexSet::One(bit), &[holds], self.guard, false, span);
                }
            }
        }
        Ok(())
    }
}

impl FixedPointVariable {
    /// Returns the variable, if its values are too many.
    pub(super) fn lost(&self) -> Option<usize> {
        self.values.is_empty().then_some(self.id)
    }

    pub(super) fn id(&self) -> usize {
        self.id
    }
}
