//! Numbers from a finite value set as statements create them: in variables, after branches, as
//! arguments of gates.
//!
//! ```text
//! float x = 0.5;              0.5
//! if (c[0]) { x = pi; }       0.5 or pi, as a hidden bit says that is set in the branch
//! for int i in [1:2] {        and where a loop is left, as bits say that are set there
//!     if (c[i]) break;
//!     x /= 2;
//! }
//! U(x, 0, x) q;               one U for each value
//! ```
//! The bits of a variable are scratch bits that nothing writes to again, so that an assignment
//! shares them.

use std::rc::Rc;

use super::{
    Guard, IndexSet, Lower, QasmLowering, QasmValue,
    classical::Classical,
    declare::ELEMENT,
    select::AxisSelection,
    truth::Truth,
    value_set::{MAX_BITS, UNDEFINED, ValueSet, union},
    variables::VariableState,
};
use crate::{
    circuit::Condition,
    qasm::ast::{QasmSpan, Type},
};

/// From this number of bits on, a value set is encoded again if fewer bits are enough for its
/// values.
const MANY_BITS: usize = 5;

impl QasmLowering<'_> {
    /// Copies the bits of a value set to bits that nothing writes to again, unless they are such
    /// for as long as the variable lives.
    pub(super) fn kept_value_set(
        &mut self,
        choice: ValueSet,
        depth: usize,
        span: QasmSpan,
    ) -> Lower<ValueSet> {
        if choice.bits.is_empty() || choice.depth <= depth {
            return Ok(choice);
        }
        let copies =
            self.scratch_bits(u32::try_from(choice.bits.len()).unwrap_or(u32::MAX), depth, span)?;
        for (copy, &bit) in copies.iter().zip(&choice.bits) {
            self.store_truth(copy, Condition::Bit { bit, value: true }, span, false)?;
        }
        Ok(ValueSet { bits: copies.iter().collect(), depth, ..choice })
    }

    /// Casts a value to a number type, for a variable of some scope.
    pub(super) fn chosen_number(
        &mut self,
        ty: &Type,
        value: Classical,
        depth: usize,
        span: QasmSpan,
    ) -> Lower<VariableState> {
        let choice = self.value_set(value, span)?;
        let cast = self.map(&[choice], span, |lowering, mut operands| {
            let value = operands.pop().unwrap_or(UNDEFINED);
            lowering.cast(ty, value, span)
        })?;
        Ok(match &*cast.values {
            [one] if *one != UNDEFINED => VariableState::Known(one.clone()),
            _ => VariableState::ValueSet(self.kept_value_set(cast, depth, span)?),
        })
    }

    /// Assigns to parts of an array, where the array or the value depends on a measurement: in each
    /// of the values of the array.
    pub(super) fn assign_part_of_value_sets(
        &mut self,
        id: usize,
        places: &[AxisSelection],
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        let whole = match &self.variables[id].state {
            VariableState::ValueSet(choice) => choice.clone(),
            _ => ValueSet::single(self.variable(id, span)?),
        };
        let (element, depth) = (self.variables[id].element(), self.variables[id].depth);
        let value = self.value_set(value, span)?;
        let changed = self.map(&[whole, value], span, |lowering, mut operands| {
            let value = operands.pop().unwrap_or(UNDEFINED);
            let mut whole = operands.pop().unwrap_or(UNDEFINED);
            // Each value is an array of its own.
            lowering.axis(&whole, span)?;
            lowering.spend_elements(elements(&whole).saturating_mul(ELEMENT), span)?;
            lowering.assign_at(&mut whole, places, &element, value, span)?;
            Ok(whole)
        })?;
        let state = match &*changed.values {
            [one] => VariableState::Known(one.clone()),
            _ => VariableState::ValueSet(self.kept_value_set(changed, depth, span)?),
        };
        self.set(id, state);
        Ok(())
    }

    /// Returns the value of a variable, or one of its values: arrays that measurements decide have
    /// one shape.
    pub(super) fn one_of_values(&mut self, id: usize, span: QasmSpan) -> Lower<QasmValue> {
        match &self.variables[id].state {
            VariableState::ValueSet(choice) => {
                Ok(choice.values.iter().find(|v| **v != UNDEFINED).cloned().unwrap_or(UNDEFINED))
            }
            _ => self.variable(id, span),
        }
    }

    /// Joins the states after two branches that end with different numbers, as one value set.
    /// Returns `None` if the values are too many, or a state is not a number.
    pub(super) fn either(
        &mut self,
        ends: [&VariableState; 2],
        sides: [Option<Guard>; 2],
        depth: usize,
        span: QasmSpan,
    ) -> Lower<Option<VariableState>> {
        let [Some(a), Some(b)] = ends.map(chosen) else { return Ok(None) };
        let (mut bits, places) = union([&a, &b]);
        let depth_of_both = a.depth.max(b.depth).max(depth);
        if let Some(condition) = self.decided_by(sides, &bits) {
            // `if (x < 9) { x *= 2; }`: it is known of which values x is doubled.
            self.spend(1 << bits.len(), span)?;
            let value = |i: usize| {
                let is_set = |bit: u32| {
                    bits.iter().position(|&b| b == bit).is_some_and(|at| i >> at & 1 == 1)
                };
                let (choice, at) =
                    if condition.holds(&is_set) { (&a, &places[0]) } else { (&b, &places[1]) };
                choice.value_at(i, at).clone()
            };
            let values: Vec<QasmValue> = (0..1 << bits.len()).map(value).collect();
            return self.compact(ValueSet::new(bits, values, depth_of_both), depth, span).map(
                |choice| {
                    Some(match &*choice.values {
                        [one] => VariableState::Known(one.clone()),
                        _ => VariableState::ValueSet(choice),
                    })
                },
            );
        }
        if bits.len() >= MAX_BITS {
            return Ok(None);
        }
        let which = self.scratch_bits(1, depth, span)?;
        for (side, ran) in sides.into_iter().zip([false, true]) {
            self.fill_digits(&which, &[ran], side, false, span);
        }
        let n = bits.len();
        self.spend(2 << n, span)?;
        let values = [&a, &b].into_iter().zip(&places);
        let values =
            values.flat_map(|(choice, at)| (0..1 << n).map(|i| choice.value_at(i, at).clone()));
        let values: Vec<QasmValue> = values.collect();
        bits.push(which.get(0));
        let joint = ValueSet::new(bits, values, depth_of_both);
        self.compact(joint, depth, span).map(|choice| Some(VariableState::ValueSet(choice)))
    }

    /// Returns the condition of two branches, if it reads only bits of some list, to which nothing
    /// writes.
    fn decided_by(&self, sides: [Option<Guard>; 2], bits: &[u32]) -> Option<Condition> {
        let [Some(then), Some(otherwise)] = sides else { return None };
        if then.number != otherwise.number || then.otherwise || !otherwise.otherwise {
            return None;
        }
        let condition = self.branches.get(then.number as usize)?.condition.as_ref()?;
        let mut all_known = !bits.is_empty();
        condition.for_each_bit(&mut |bit| all_known &= bits.contains(&bit));
        all_known.then(|| condition.clone())
    }

    /// Encodes a value set in fewer bits, if it has few values.
    fn compact(&mut self, choice: ValueSet, depth: usize, span: QasmSpan) -> Lower<ValueSet> {
        let mut values: Vec<QasmValue> = Vec::new();
        let mut codes = Vec::with_capacity(choice.values.len());
        if choice.bits.len() < MANY_BITS {
            return Ok(choice);
        }
        for value in &*choice.values {
            let known = values.iter().position(|other| other == value);
            codes.push(known.unwrap_or(values.len()));
            if known.is_none() {
                values.push(value.clone());
            }
        }
        let n = (usize::BITS - (values.len() - 1).leading_zeros()) as usize;
        if n >= choice.bits.len() {
            return Ok(choice);
        }
        let fresh = self.scratch_bits(u32::try_from(n).unwrap_or(u32::MAX), depth, span)?;
        for (at, bit) in fresh.iter().enumerate() {
            let numbers: Vec<usize> =
                (0..codes.len()).filter(|&i| codes[i] >> at & 1 == 1).collect();
            self.spend(codes.len() as u64 * 10, span)?;
            match choice.condition(&numbers) {
                Truth::Residual(condition) => self.store_truth(bit, condition, span, false)?,
                Truth::Constant(holds) => {
                    self.fill_digits(&IndexSet::One(bit), &[holds], self.guard, false, span)
                }
            }
        }
        values.resize(1 << n, values[0].clone());
        Ok(ValueSet::new(fresh.iter().collect(), values, depth))
    }

    /// Joins the states at the exits of a frame: the first of `states` is that where it was not
    /// left, each of the others that at some exits. The bits that tell them apart were not in use
    /// before. Returns `None` if the values are too many.
    pub(super) fn any_of(
        &mut self,
        states: &[VariableState],
        depth: usize,
        span: QasmSpan,
    ) -> Lower<Option<(VariableState, IndexSet)>> {
        let Some(choices) = states.iter().map(chosen).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let (mut bits, places) = union(&choices);
        let more = (usize::BITS - (states.len() - 1).leading_zeros()) as usize;
        if bits.len() + more > MAX_BITS {
            return Ok(None);
        }
        let which =
            self.fresh_scratch_bits(u32::try_from(more).unwrap_or(u32::MAX), depth, span)?;
        self.exit_bits.extend(which.iter());
        let n = bits.len();
        let mut values = Vec::with_capacity(1 << (n + more));
        for state in 0..1usize << more {
            let at = if state < choices.len() { state } else { 0 };
            values.extend((0..1 << n).map(|i| choices[at].value_at(i, &places[at]).clone()));
        }
        bits.extend(which.iter());
        let depth = choices.iter().map(|choice| choice.depth).max().unwrap_or(0).max(depth);
        Ok(Some((VariableState::ValueSet(ValueSet::new(bits, values, depth)), which)))
    }

    /// Plans a gate whose arguments depend on measurements: one for each list of values that they
    /// may have.
    pub(super) fn for_each_value(
        &mut self,
        args: Vec<(Classical, QasmSpan)>,
        span: QasmSpan,
        mut plan: impl FnMut(&mut Self, Box<[QasmValue]>) -> Lower<()>,
    ) -> Lower<()> {
        let mut choices = Vec::with_capacity(args.len());
        for (arg, at) in args {
            choices.push(self.value_set(arg, at)?);
        }
        let (bits, places) = union(&choices);
        self.check_bits(bits.len(), span)?;
        let mut cases: Vec<(Box<[QasmValue]>, Vec<usize>)> = Vec::new();
        for number in 0..1usize << bits.len() {
            let values =
                choices.iter().zip(&places).map(|(choice, at)| choice.value_at(number, at).clone());
            let values: Box<[QasmValue]> = values.collect();
            if values.contains(&UNDEFINED) {
                continue;
            }
            match cases.iter_mut().find(|(known, _)| *known == values) {
                Some((_, numbers)) => numbers.push(number),
                None => cases.push((values, vec![number])),
            }
        }
        // For its bits alone.
        let all = ValueSet { bits, values: Rc::default(), depth: 0 };
        for (values, numbers) in cases {
            self.spend(numbers.len() as u64 * 10, span)?;
            match all.condition_of(&numbers, 1 << all.bits.len()) {
                Truth::Constant(true) => plan(self, values)?,
                Truth::Constant(false) => {}
                Truth::Residual(condition) => {
                    let mut result = Ok(());
                    let mut values = Some(values);
                    self.branches(condition, span, |lowering, _| {
                        if let Some(values) = values.take() {
                            result = plan(lowering, values);
                        }
                    })?;
                    result?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the number of elements of an array, with those of nested arrays.
fn elements(value: &QasmValue) -> u64 {
    match value {
        QasmValue::Array(items) => {
            let within = items.first().map_or(0, elements);
            (items.len() as u64).saturating_mul(within.max(1))
        }
        _ => 0,
    }
}

/// Returns a state as a value set, if it is a number or an array.
pub(super) fn chosen(state: &VariableState) -> Option<ValueSet> {
    match state {
        VariableState::Known(value) if value.is_real() || matches!(value, QasmValue::Array(_)) => {
            Some(ValueSet::single(value.clone()))
        }
        VariableState::ValueSet(choice) => Some(choice.clone()),
        _ => None,
    }
}
