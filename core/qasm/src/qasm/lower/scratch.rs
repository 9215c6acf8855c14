//! Scratch bits: bits that a circuit needs besides the registers of its file, and numbers in them.
//!
//! They belong to a scope, and are 0 and free for others when it ends. A variable that depends on a
//! measurement is moved to some: `spill` stores its value at all points where it has one, in every
//! branch that is open and at every exit.

use std::rc::Rc;

use super::{
    Guard, IndexSet, Lower, LoweredItem, Planned, QasmLowering, QasmValue, Register,
    angle_value::AngleValue,
    classical::Classical,
    integer::with_sign,
    variables::{QasmVariable, VariableState},
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{BaseType, QasmSpan},
        diagnostic::QasmProblem,
    },
};

impl QasmLowering<'_> {
    /// Returns scratch bits, all 0, until the scope with this number ends; with number 0 they are
    /// not freed.
    pub(super) fn scratch_bits(
        &mut self,
        size: u32,
        depth: usize,
        span: QasmSpan,
    ) -> Lower<IndexSet> {
        // A bit that an iteration leaves set must not be one that the next iteration takes for 0 at
        // an earlier point.
        let outlives = self.around_loop > 0 && depth <= self.around_loop;
        match self.spare.get_mut(&size).filter(|_| !outlives).and_then(Vec::pop) {
            Some(first) => Ok(self.until_scope(first, size, depth, span)),
            None => self.fresh_scratch_bits(size, depth, span),
        }
    }

    /// Returns scratch bits of which none was in use before.
    pub(super) fn fresh_scratch_bits(
        &mut self,
        size: u32,
        depth: usize,
        span: QasmSpan,
    ) -> Lower<IndexSet> {
        let first = self.n_bits;
        if first.checked_add(size).is_none() {
            let (given, limit) = (u64::from(first) + u64::from(size), u64::from(u32::MAX));
            return self.fail(QasmProblem::TooManyQubits { given, limit }, span);
        }
        self.n_bits += size;
        self.bits.push(Register { name: None, first, size, single: false, output: false });
        Ok(self.until_scope(first, size, depth, span))
    }

    fn until_scope(&mut self, first: u32, size: u32, depth: usize, span: QasmSpan) -> IndexSet {
        if let Some(local) = depth.checked_sub(1).and_then(|at| self.locals.get_mut(at)) {
            local.bits.push((first, size));
            // They are cleared when the scope ends.
            self.add_count(u64::from(size), span);
        }
        IndexSet::Range { first, step: 1, len: size }
    }

    /// Returns a single scratch bit, 0, until the scope ends.
    pub(super) fn scratch_bit(&mut self, span: QasmSpan) -> Lower<u32> {
        // A register holds that many of them.
        const AT_ONCE: u32 = 32;
        if self.spare.get(&1).is_none_or(Vec::is_empty) {
            let many = self.scratch_bits(AT_ONCE, 0, span)?;
            self.spare.entry(1).or_default().extend(many.iter());
        }
        Ok(self.scratch_bits(1, self.locals.len(), span)?.get(0))
    }

    /// Clears scratch bits, which were counted, so that others may use them.
    pub(super) fn clear(&mut self, first: u32, size: u32) {
        // The plan takes memory.
        if self.passed.is_none() {
            let place = self.file_span(QasmSpan::default());
            let bits = IndexSet::Range { first, step: 1, len: size };
            let item =
                LoweredItem::Assign { bits, values: vec![false; size as usize].into(), place };
            self.plan.push(Planned { item, guard: None });
        }
        self.spare.entry(size).or_default().push(first);
    }

    /// Notes that a variable in bits may use more of them from here on.
    fn use_digits(&mut self, id: usize, digits: u32) {
        let variable = &mut self.variables[id];
        variable.used = variable.used.max(digits).min(variable.n_bits.unwrap_or(0)).max(1);
    }

    /// Notes that a variable may use all of its bits.
    pub(super) fn use_all_digits(&mut self, id: usize) {
        self.use_digits(id, u32::MAX);
    }

    /// Notes the bits that a variable needs for a value.
    pub(super) fn use_digits_of(&mut self, id: usize, value: &Classical) {
        let unsigned = self.variables[id].integer.is_some_and(|ty| ty.unsigned);
        let digits = match value {
            Classical::Value(value) => digits_needed(value, unsigned),
            Classical::Truth(_) => 2,
            Classical::BitVector { signed: true, .. } if unsigned => u32::MAX,
            Classical::BitVector { bits, signed, .. } => {
                let n = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                n.saturating_add(u32::from(!signed && !unsigned))
            }
            Classical::AngleBits(_) | Classical::Digits { .. } | Classical::ValueSet(_) => u32::MAX,
        };
        self.use_digits(id, digits);
    }

    /// Moves a variable to scratch bits. `None` if it has no type for that, or is lost somewhere.
    pub(super) fn spill(&mut self, id: usize, span: QasmSpan) -> Lower<Option<IndexSet>> {
        let QasmVariable { ty, n_bits, state, depth, guard, .. } = &self.variables[id];
        let Some(size) = *n_bits else { return Ok(None) };
        // Its value at the declaration, for paths that run none of the branches around that changed
        // it; then in each of these, from the outermost on; and now.
        let mut values: Vec<(VariableState, Option<Guard>)> = Vec::new();
        let mut around = *guard;
        for change in self.log.iter().filter(|c| c.variable == id) {
            values.push((change.before.clone(), around));
            around = change.guard;
        }
        values.push((state.clone(), around));
        // And the states at the early exits.
        let exits = self.states_where_left(id);
        let states =
            || values.iter().map(|(state, _)| state).chain(exits.iter().map(|exit| &exit.2));
        let kept = |state: &VariableState| match state {
            VariableState::Empty => true,
            VariableState::Known(value) => {
                matches!(
                    value,
                    QasmValue::Bool(_)
                        | QasmValue::Int(..)
                        | QasmValue::AngleValue(AngleValue::Bits { .. })
                )
            }
            VariableState::Bits { .. }
            | VariableState::ValueSet(_)
            | VariableState::Stored
            | VariableState::Lost(_) => false,
        };
        if !states().all(kept) {
            return Ok(None);
        }
        let (depth, signed) = (*depth, ty.base == BaseType::Int);
        // Without a size its known value may not fit in the bits that it gets now.
        let held = |state: &VariableState| match state {
            VariableState::Known(QasmValue::Int(i, Some(ty))) => ty.holds(*i),
            _ => true,
        };
        if !states().all(held) {
            let what = format!(
                "an integer that depends on a measurement and is more than {size} bits long"
            );
            return self.fail(QasmProblem::IntegerOverflow { what }, span);
        }
        let unsigned = self.variables[id].integer.is_some_and(|ty| ty.unsigned);
        let needed = |state: &VariableState| match state {
            VariableState::Known(value) => digits_needed(value, unsigned),
            _ => 1,
        };
        let used = values
            .iter()
            .map(|(state, _)| state)
            .chain(exits.iter().map(|exit| &exit.2))
            .map(needed)
            .max();
        self.use_digits(id, used.unwrap_or(u32::MAX));
        // Bits that get values before this point must not have been in use.
        let bits = match exits.is_empty() {
            true => self.scratch_bits(size, depth, span)?,
            false => self.fresh_scratch_bits(size, depth, span)?,
        };
        for (frame, exit, state) in exits {
            if let VariableState::Known(value) = state
                && let (bits, Some(ones)) = ones(&bits, &digits(&value, size))
            {
                self.add_count(u64::from(size), span);
                self.fill_where_left(frame, exit, &bits, ones);
            }
        }
        for (at, (state, guard)) in values.into_iter().enumerate() {
            if let VariableState::Known(value) = state {
                let guard = self.guard_stayed(id, guard, span)?;
                self.fill(&bits, &value, guard, at == 0, span);
            }
        }
        self.variables[id].state = VariableState::Bits { bits: bits.clone(), signed };
        Ok(Some(bits))
    }

    /// Stores a number in bits under a guard. Fresh ones are 0.
    pub(super) fn fill(
        &mut self,
        bits: &IndexSet,
        value: &QasmValue,
        guard: Option<Guard>,
        fresh: bool,
        span: QasmSpan,
    ) {
        let digits = digits(value, bits.len().unwrap_or(1));
        self.fill_digits(bits, &digits, guard, fresh, span);
    }

    /// Stores digits in bits, least significant first; missing digits are 0.
    pub(super) fn fill_digits(
        &mut self,
        bits: &IndexSet,
        digits: &[bool],
        guard: Option<Guard>,
        fresh: bool,
        span: QasmSpan,
    ) {
        let size = bits.len().unwrap_or(1);
        self.add_count(u64::from(size), span);
        // The plan takes memory, so its size must have been counted.
        if self.passed.is_some() {
            return;
        }
        let (bits, values) = if fresh {
            ones(bits, digits)
        } else {
            let digit = |at| digits.get(at).copied().unwrap_or(false);
            (bits.clone(), Some((0..size as usize).map(digit).collect()))
        };
        if let Some(values) = values {
            self.plan.push(Planned {
                item: LoweredItem::Assign { bits, values, place: self.file_span(span) },
                guard,
            });
        }
    }

    /// Returns bits, or copies of them where some would be written before they are read.
    pub(super) fn apart(
        &mut self,
        bits: Vec<u32>,
        into: &IndexSet,
        span: QasmSpan,
    ) -> Lower<Vec<u32>> {
        let written = |(at, &bit): (u32, &u32)| into.get(at) != bit && into.contains(bit);
        if !(0..).zip(&bits).any(written) {
            return Ok(bits);
        }
        let copies = self.scratch_bits(
            u32::try_from(bits.len()).unwrap_or(u32::MAX),
            self.locals.len(),
            span,
        )?;
        for (copy, bit) in copies.iter().zip(bits) {
            self.store_truth(copy, Condition::Bit { bit, value: true }, span, true)?;
        }
        Ok(copies.iter().collect())
    }

    /// Stores a number in scratch bits: a known one, or that of other bits.
    pub(super) fn store_number(
        &mut self,
        into: IndexSet,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        let size = into.len().unwrap_or(1);
        let (mut from, signed) = match value {
            Classical::Value(value) => {
                self.fill(&into, &value, self.guard, false, span);
                return Ok(());
            }
            Classical::Truth(condition) => {
                self.store_truth(into.get(0), condition, span, false)?;
                (Vec::new(), false)
            }
            Classical::BitVector { bits, ty: None, .. } if bits.len() > size as usize => {
                let (first, second) = (bits.len() as u64, u64::from(size));
                return self.fail(QasmProblem::LengthMismatch { first, second }, span);
            }
            Classical::BitVector { bits, signed, .. } => (bits, signed),
            Classical::AngleBits(bits) => (bits, false),
            Classical::Digits { .. } | Classical::ValueSet(_) => {
                return self.refuse("this assignment", span);
            }
        };
        from.truncate(size as usize);
        let from = self.apart(from, &into, span)?;
        for (at, &bit) in (0..size).zip(&from) {
            self.copy_bit(bit, into.get(at), span)?;
        }
        // A truth value is one bit, and was stored.
        let known = u32::try_from(from.len().max(1)).unwrap_or(size);
        for at in known..size {
            match from.last().filter(|_| signed) {
                Some(&bit) => self.copy_bit(bit, into.get(at), span)?,
                None => self.fill(
                    &IndexSet::One(into.get(at)),
                    &QasmValue::Bool(false),
                    self.guard,
                    false,
                    span,
                ),
            }
        }
        Ok(())
    }

    fn copy_bit(&mut self, from: u32, into: u32, span: QasmSpan) -> Lower<()> {
        if from == into {
            return Ok(());
        }
        self.store_truth(into, Condition::Bit { bit: from, value: true }, span, false)
    }
}

/// Returns the number of bits that a number needs, with a sign unless its type has none.
fn digits_needed(value: &QasmValue, unsigned: bool) -> u32 {
    match value {
        QasmValue::Bool(_) => 1,
        QasmValue::Int(i @ ..0, _) if unsigned && *i < 0 => u32::MAX,
        QasmValue::Int(i, _) if unsigned => with_sign(*i).saturating_sub(1),
        QasmValue::Int(i, _) => with_sign(*i),
        _ => u32::MAX,
    }
}

/// Returns the bits of a truth value or an integer, in two's complement.
fn digits_of(value: &QasmValue) -> u128 {
    match value {
        QasmValue::Bool(holds) => u128::from(*holds),
        QasmValue::Int(i, _) => i.cast_unsigned(),
        QasmValue::Bits { bits, .. } | QasmValue::AngleValue(AngleValue::Bits { bits, .. }) => {
            *bits
        }
        _ => 0,
    }
}

/// Returns the lowest `size` of these, least significant first.
pub(super) fn digits(value: &QasmValue, size: u32) -> Vec<bool> {
    let number = digits_of(value);
    (0..size).map(|at| number >> at & 1 == 1).collect()
}

/// Returns the bits whose digits are 1, with a list of that many ones; `None` for the list if there
/// are none.
pub(super) fn ones(bits: &IndexSet, digits: &[bool]) -> (IndexSet, Option<Box<[bool]>>) {
    let all = bits.iter().zip(digits).filter(|(_, one)| **one).map(|(bit, _)| bit);
    let all: Rc<[u32]> = all.collect();
    let values = (!all.is_empty()).then(|| vec![true; all.len()].into());
    (IndexSet::List(all), values)
}
