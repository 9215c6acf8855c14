//! Value sets: numbers that measurements decide, each one of finitely many.
//!
//! ```text
//! float x = 0.5;              0.5
//! if (c[0]) { x = pi; }       0.5 or pi, as a hidden bit s says
//! x *= uint[2](d);            eight values, by s and the bits of d
//! rx(x) q;                    one rx for each of them, under the condition that it is this one
//! ```
//! A circuit has no numbers, but it has conditions. So a number that depends on bits is represented
//! by the list of its values, one for each combination of the bits; a function of it is the list of
//! the function's values. A gate with such an argument becomes one gate for each value.
//!
//! Invariant: `values` has an element for each number of the bits, and depends on each of them.

use std::rc::Rc;

use super::{
    Lower, QasmLowering, QasmValue,
    angle_value::AngleValue,
    classical::Classical,
    compare::word,
    digits::to_digits,
    functions,
    integer::{INT, IntegerType},
    names::SymbolEntry,
    truth::{Truth, is_one},
    variables::VariableState,
};
use crate::{
    circuit::Relation,
    qasm::{
        ast::{BinaryOp, Ident, Index, QasmExpr, QasmExprKind, QasmSpan, Type},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// Limit on the bits that decide one number.
pub(super) const MAX_BITS: usize = 10;

/// Result where a measurement makes a divisor 0, or an index run past the end.
pub(super) const UNDEFINED: QasmValue = QasmValue::Other("a number that is not defined");

/// The scope of bits that may be written to again.
const UNKEPT: usize = usize::MAX;

/// Finite set of values, indexed by bits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValueSet {
    /// Least significant first.
    pub(super) bits: Vec<u32>,
    pub(super) values: Rc<[QasmValue]>,
    /// Scope at the end of which the bits are free again.
    pub(super) depth: usize,
}

impl ValueSet {
    /// Returns the set of a single value.
    pub(super) fn single(value: QasmValue) -> ValueSet {
        ValueSet { bits: Vec::new(), values: [value].into(), depth: 0 }
    }

    pub(super) fn new(mut bits: Vec<u32>, mut values: Vec<QasmValue>, depth: usize) -> ValueSet {
        for at in (0..bits.len()).rev() {
            let is_low = |i: &usize| i >> at & 1 == 0;
            if (0..values.len()).filter(is_low).all(|i| values[i] == values[i | 1 << at]) {
                bits.remove(at);
                let mut low = (0..values.len()).map(|i| is_low(&i));
                values.retain(|_| low.next().unwrap_or(false));
            }
        }
        ValueSet { bits, values: values.into(), depth }
    }

    /// Returns the value for a number in a longer list of bits; `places` are the positions of its
    /// own bits in that list.
    pub(super) fn value_at(&self, number: usize, places: &[usize]) -> &QasmValue {
        let own =
            places.iter().enumerate().map(|(to, from)| (number >> from & 1) << to).sum::<usize>();
        &self.values[own]
    }

    /// Returns it as the value of an expression.
    pub(super) fn classical(self) -> Classical {
        match &*self.values {
            [one] => Classical::Value(one.clone()),
            _ => Classical::ValueSet(self),
        }
    }

    /// Returns true if it is an integer.
    pub(super) fn is_integer(&self) -> bool {
        let mut defined = self.values.iter().filter(|value| **value != UNDEFINED).peekable();
        defined.peek().is_some() && defined.all(|value| matches!(value, QasmValue::Int(..)))
    }

    /// Returns the indices of the values for which a predicate holds.
    fn numbers(&self, holds: impl Fn(&QasmValue) -> bool) -> Vec<usize> {
        (0..self.values.len()).filter(|&i| holds(&self.values[i])).collect()
    }

    /// Returns a description of its type for messages.
    pub(super) fn describe(&self) -> &'static str {
        self.values.iter().find(|v| **v != UNDEFINED).map_or("a number", QasmValue::describe)
    }
}

/// Returns the union of the bits of some value sets, and the positions in it of the bits of each.
pub(super) fn union<'a>(
    choices: impl IntoIterator<Item = &'a ValueSet>,
) -> (Vec<u32>, Vec<Vec<usize>>) {
    let mut bits: Vec<u32> = Vec::new();
    let mut place = |bit: u32| {
        bits.iter().position(|&known| known == bit).unwrap_or_else(|| {
            bits.push(bit);
            bits.len() - 1
        })
    };
    let places = choices
        .into_iter()
        .map(|choice| choice.bits.iter().map(|&bit| place(bit)).collect())
        .collect();
    (bits, places)
}

/// Returns true if a value is a number that no bits hold.
fn is_number(value: &Classical) -> bool {
    matches!(
        value,
        Classical::Value(
            QasmValue::Number(_)
                | QasmValue::Angle(_)
                | QasmValue::AngleValue(_)
                | QasmValue::Expr(_)
                | QasmValue::Complex(_)
        )
    )
}

/// Returns true if an operator works on the values of its operands one by one.
pub(super) fn chooses(op: BinaryOp, left: &Classical, right: &Classical) -> bool {
    use BinaryOp::*;
    let measured =
        |side: &Classical| matches!(side, Classical::BitVector { .. } | Classical::Truth(_));
    match (left, right) {
        _ if matches!(op, And | Or) => false,
        (Classical::ValueSet(_), _) | (_, Classical::ValueSet(_)) => true,
        // An angle that is added to one in bits becomes one.
        (Classical::AngleBits(_), other) | (other, Classical::AngleBits(_)) => {
            matches!(op, Mul | Div | Rem) && (is_number(other))
        }
        (a, b) => (measured(a) && is_number(b)) || (measured(b) && is_number(a)),
    }
}

impl QasmLowering<'_> {
    /// Returns true if an expression may depend on a measurement: it reads bits, or a variable that
    /// depends on some, or calls a subroutine.
    pub(super) fn may_depend(&self, expr: &QasmExpr) -> bool {
        match &expr.kind {
            QasmExprKind::Name(symbol) => match self.names.get(*symbol) {
                Some(SymbolEntry::Bits(_)) => true,
                Some(&SymbolEntry::Variable(id)) => {
                    matches!(
                        self.variables[id].state,
                        VariableState::Bits { .. }
                            | VariableState::ValueSet(_)
                            | VariableState::Stored
                    )
                }
                _ => false,
            },
            QasmExprKind::Unary(_, inner) | QasmExprKind::Cast(_, inner) => self.may_depend(inner),
            QasmExprKind::Index(inner, index) => {
                let at = |index: &Index| matches!(index, Index::At(at) if self.may_depend(at));
                self.may_depend(inner) || index.iter().any(at)
            }
            QasmExprKind::Power(operands) => {
                operands.iter().any(|operand| self.may_depend(operand))
            }
            QasmExprKind::Chain(first, rest) => {
                self.may_depend(first) || rest.iter().any(|(_, right)| self.may_depend(right))
            }
            QasmExprKind::Call(name, args) => {
                self.subroutine(name.symbol).is_some()
                    || args.iter().any(|arg| self.may_depend(arg))
            }
            QasmExprKind::Measure(_) => true,
            _ => false,
        }
    }

    /// Returns a value as a value set.
    pub(super) fn value_set(&mut self, value: Classical, span: QasmSpan) -> Lower<ValueSet> {
        let (bits, value): (Vec<u32>, Box<dyn Fn(u128) -> QasmValue>) = match value {
            Classical::Value(value) => return Ok(ValueSet::single(value)),
            Classical::ValueSet(choice) => return Ok(choice),
            Classical::Truth(condition) => {
                let bit = self.scratch_bits(1, self.locals.len(), span)?.get(0);
                self.store_truth(bit, condition, span, true)?;
                (vec![bit], Box::new(|bits| QasmValue::Bool(bits == 1)))
            }
            Classical::BitVector { bits, ty: None, .. } if bits.len() == 1 => {
                (bits, Box::new(|bits| QasmValue::Bool(bits == 1)))
            }
            Classical::BitVector { bits, ty: None, .. } => {
                let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                (bits, Box::new(move |bits| QasmValue::Bits { width, bits }))
            }
            Classical::BitVector { bits, signed, ty } => {
                let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                let shape = IntegerType::sized(width.clamp(1, 128), !signed);
                (bits, Box::new(move |bits| QasmValue::Int(shape.wrap(bits.cast_signed()), ty)))
            }
            Classical::AngleBits(bits) => {
                let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
                (
                    bits,
                    Box::new(move |bits| QasmValue::AngleValue(AngleValue::Bits { width, bits })),
                )
            }
            Classical::Digits { .. } => {
                let what = "an integer of this length".to_owned();
                return self.fail(QasmProblem::IntegerOverflow { what }, span);
            }
        };
        self.check_bits(bits.len(), span)?;
        let values = (0..1u128 << bits.len()).map(value).collect();
        Ok(ValueSet::new(bits, values, UNKEPT))
    }

    pub(super) fn check_bits(&mut self, given: usize, span: QasmSpan) -> Lower<()> {
        if given <= MAX_BITS {
            return Ok(());
        }
        let place = self.file_span(span);
        let help = "give integers no more bits than they need, as in `uint[3]`, or choose between gates with `if`";
        let error = Diagnostic::error(QasmProblem::ManyValues { given, limit: MAX_BITS });
        Err(self.report(error.with_label(place, "").help(help)))
    }

    /// Applies a function to each combination of values of some value sets.
    pub(super) fn map(
        &mut self,
        choices: &[ValueSet],
        span: QasmSpan,
        mut each: impl FnMut(&mut Self, Vec<QasmValue>) -> Lower<QasmValue>,
    ) -> Lower<ValueSet> {
        let (bits, places) = union(choices);
        self.check_bits(bits.len(), span)?;
        self.spend(1 << bits.len(), span)?;
        let mut values = Vec::with_capacity(1 << bits.len());
        for number in 0..1usize << bits.len() {
            let operands =
                choices.iter().zip(&places).map(|(choice, at)| choice.value_at(number, at).clone());
            let operands: Vec<QasmValue> = operands.collect();
            values.push(if operands.contains(&UNDEFINED) {
                UNDEFINED
            } else {
                each(self, operands)?
            });
        }
        let depth = choices.iter().map(|choice| choice.depth).max().unwrap_or(0);
        Ok(ValueSet::new(bits, values, depth))
    }

    /// `left op right`, value by value.
    pub(super) fn combine_value_sets(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let known = |side: &Classical| matches!(side, Classical::Value(_) | Classical::ValueSet(_));
        let known = known(&left) && known(&right);
        let choices = [self.value_set(left, span)?, self.value_set(right, span)?];
        let combined = self.map(&choices, span, |lowering, mut operands| {
            let (right, left) = (operands.pop().unwrap_or(UNDEFINED), operands.pop().unwrap_or(UNDEFINED));
            match lowering.operate(op, left, right, span) {
                Err(QasmProblem::DivisionByZero) => {
                    let help = "where it is 0, gates that turn by the quotient are left out; ask before with `if (…)`";
                    let warning = Diagnostic::warning(QasmProblem::MeasuredDivisor).with_label(lowering.file_span(span), "");
                    lowering.warning(warning.help(help));
                    Ok(UNDEFINED)
                }
                other => lowering.check(other, span),
            }
        })?;
        if known && combined.is_integer() {
            Ok(combined.classical())
        } else {
            self.canonical_value(combined, span)
        }
    }

    /// `base ** exponent`, value by value.
    pub(super) fn power_of_value_sets(
        &mut self,
        base: Classical,
        exponent: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let choices = [self.value_set(base, span)?, self.value_set(exponent, span)?];
        let power = self.map(&choices, span, |lowering, mut operands| {
            let (exponent, base) =
                (operands.pop().unwrap_or(UNDEFINED), operands.pop().unwrap_or(UNDEFINED));
            lowering.raise(base, exponent, span)
        })?;
        self.canonical_value(power, span)
    }

    /// Applies a function of numbers, value by value.
    pub(super) fn function_of_value_sets(
        &mut self,
        name: Ident,
        args: &[QasmExpr],
        span: QasmSpan,
    ) -> Lower<Classical> {
        let mut choices = Vec::with_capacity(args.len());
        for arg in args {
            let value = self.classical(arg)?;
            choices.push(self.value_set(value, arg.span)?);
        }
        let function = self.name(name.symbol);
        let values = self.map(&choices, span, |lowering, operands| {
            let value = functions::call(&function, operands);
            lowering.check(value, span)
        })?;
        self.canonical_value(values, span)
    }

    /// Casts value by value.
    pub(super) fn cast_value_set(
        &mut self,
        ty: &Type,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let choice = self.value_set(value, span)?;
        let cast = self.map(&[choice], span, |lowering, mut operands| {
            let value = operands.pop().unwrap_or(UNDEFINED);
            lowering.explicit_cast(ty, value, span)
        })?;
        self.canonical_value(cast, span)
    }

    /// Returns the canonical form of a computed value set: truth values are conditions, integers
    /// and angles of a size are bits.
    pub(super) fn canonical_value(&mut self, choice: ValueSet, span: QasmSpan) -> Lower<Classical> {
        let all =
            |is: fn(&QasmValue) -> bool| choice.values.iter().all(|v| is(v) || *v == UNDEFINED);
        if choice.values.len() == 1 {
            return Ok(choice.classical());
        }
        if all(|v| matches!(v, QasmValue::Bool(_))) {
            return self.truth_of_value_set(&choice, span).map(Truth::classical);
        }
        let first = choice.values.iter().find(|v| **v != UNDEFINED).cloned();
        match first {
            Some(QasmValue::Int(_, ty)) if all(|v| matches!(v, QasmValue::Int(..))) => {
                let ty = ty.unwrap_or(INT);
                let bits = self.bits_of_value_set(&choice, ty.bits, |v| match v {
                    QasmValue::Int(i, _) => ty.bits_of(*i),
                    _ => 0,
                });
                self.word(bits, Some(ty), span)
            }
            Some(QasmValue::Bits { width, .. }) if all(|v| matches!(v, QasmValue::Bits { .. })) => {
                let bits = self.bits_of_value_set(&choice, width, |v| match v {
                    QasmValue::Bits { bits, .. } => *bits,
                    _ => 0,
                });
                self.word(bits, None, span)
            }
            Some(QasmValue::AngleValue(AngleValue::Bits { width, .. }))
                if all(|v| matches!(v, QasmValue::AngleValue(AngleValue::Bits { .. }))) =>
            {
                let bits = self.bits_of_value_set(&choice, width, |v| match v {
                    QasmValue::AngleValue(AngleValue::Bits { bits, .. }) => *bits,
                    _ => 0,
                });
                match self.word(bits, None, span)? {
                    Classical::BitVector { bits, .. } => Ok(Classical::AngleBits(bits)),
                    other => Ok(other),
                }
            }
            _ => Ok(choice.classical()),
        }
    }

    /// Returns the bits of the values of a set, each as a condition.
    fn bits_of_value_set(
        &mut self,
        choice: &ValueSet,
        width: u32,
        bits: impl Fn(&QasmValue) -> u128,
    ) -> Vec<Truth> {
        (0..width).map(|at| choice.condition(&choice.numbers(|v| bits(v) >> at & 1 == 1))).collect()
    }

    /// Returns the condition that a number from a value set is not 0.
    pub(super) fn truth_of_value_set(&mut self, choice: &ValueSet, span: QasmSpan) -> Lower<Truth> {
        self.spend(choice.values.len() as u64 * 10, span)?;
        let holds = |value: &QasmValue| match value {
            QasmValue::Bool(holds) => *holds,
            other => other.constant().is_some_and(|n| n.value != 0.0),
        };
        Ok(choice.condition(&choice.numbers(holds)))
    }
}

impl ValueSet {
    /// Returns the condition that the number in the bits is one of these.
    pub(super) fn condition(&self, numbers: &[usize]) -> Truth {
        self.condition_of(numbers, self.values.len())
    }

    pub(super) fn condition_of(&self, numbers: &[usize], all: usize) -> Truth {
        if numbers.len() == all {
            return Truth::Constant(true);
        }
        if numbers.len() * 2 > all {
            let others: Vec<usize> =
                (0..all).filter(|i| numbers.binary_search(i).is_err()).collect();
            return self.condition_of(&others, all).not();
        }
        // If a single bit decides, it is the condition.
        for (at, &bit) in self.bits.iter().enumerate() {
            for one in [true, false] {
                let matches = |i: &usize| (i >> at & 1 == 1) == one;
                if numbers.len() * 2 == all && numbers.iter().all(matches) {
                    return if one { is_one(bit) } else { is_one(bit).not() };
                }
            }
        }
        let equal = |&i: &usize| word(self.bits.clone(), Relation::Equal, to_digits(i as u128));
        numbers.iter().map(equal).fold(Truth::Constant(false), |any, one| any.combine(one, false))
    }
}
