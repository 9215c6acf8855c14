//! Parts of values: elements and slices of arrays, bits of integers, of angles and of bit strings.
//!
//! ```text
//! array[int[8], 3, 2] a;      int[8] k = 6;
//! a[0]          a row         k[1]        bit 1
//! a[0, 1]       an element    k[0:3]      the lowest four bits
//! a[1:2, 0]     of two rows the first elements
//! a[0, 1][0:3]  bits of an element
//! ```
//! Negative indices count from the end. A range keeps its axis, a number drops it.

use std::rc::Rc;

use super::{
    Lower, Lowering, Scope, Value, classical::Classical, evaluate::position, flow::index_span,
    integer::IntType, integer::MAX_WIDTH, turn::Turn, variables::State,
};
use crate::qasm::{
    ast::{Expr, Index, Span, Type},
    diagnostic::Problem,
};

/// Positions that an index selects along an axis.
pub(super) enum Along {
    One(usize),
    Many(Vec<usize>),
}

impl Lowering<'_> {
    /// `base[index, …]`
    pub(super) fn indexed(
        &mut self,
        base: &Expr,
        index: &[Index],
        span: Span,
        scope: Scope,
    ) -> Lower<Value> {
        let value = self.evaluate(base, scope)?;
        let name = self.text(base.span).to_owned();
        self.part(&value, index, &name, span)
    }

    pub(super) fn part(
        &mut self,
        value: &Value,
        index: &[Index],
        name: &str,
        span: Span,
    ) -> Lower<Value> {
        let Some((first, rest)) = index.split_first() else { return Ok(value.clone()) };
        let size = self.axis(value, span)?;
        let along = self.along(first, size, name)?;
        match value {
            Value::Array(items) => match along {
                Along::One(at) => self.part(&items[at], rest, name, span),
                Along::Many(places) => {
                    let parts =
                        places.into_iter().map(|at| self.part(&items[at], rest, name, span));
                    Ok(Value::Array(parts.collect::<Lower<_>>()?))
                }
            },
            _ => {
                let (_, bits) = in_bits(value).unwrap_or_default();
                let bit = |at: usize| bits >> at & 1;
                let picked = match along {
                    Along::One(at) => Value::Bits { width: 1, bits: bit(at) },
                    Along::Many(places) => Value::Bits {
                        width: u32::try_from(places.len()).unwrap_or(u32::MAX),
                        bits: (0u32..).zip(places).map(|(to, at)| bit(at) << to).sum(),
                    },
                };
                self.part(&picked, rest, name, span)
            }
        }
    }

    /// Returns the element at a position of the first axis of a value, if it exists.
    pub(super) fn element(
        &mut self,
        value: &Value,
        given: i128,
        span: Span,
    ) -> Lower<Option<Value>> {
        let size = self.axis(value, span)?;
        let Some(at) = position(given, size).and_then(|at| usize::try_from(at).ok()) else {
            return Ok(None);
        };
        Ok(match value {
            Value::Array(items) => items.get(at).cloned(),
            _ => in_bits(value).map(|(_, bits)| Value::Bits { width: 1, bits: bits >> at & 1 }),
        })
    }

    /// Returns the length of the first axis of a value.
    pub(super) fn axis(&mut self, value: &Value, span: Span) -> Lower<u64> {
        match (value, in_bits(value)) {
            (Value::Array(items), _) => Ok(items.len() as u64),
            (_, Some((width, _))) => Ok(u64::from(width)),
            (other, None) => {
                let given = other.describe().to_owned();
                self.fail(Problem::Operands { operator: "[]".to_owned(), given }, span)
            }
        }
    }

    /// Returns the positions that an index selects on an axis of that length.
    fn along(&mut self, index: &Index, size: u64, name: &str) -> Lower<Along> {
        let at = index_span(index);
        let places: Vec<usize> = match index {
            Index::At(expr) => return self.place_at(expr, size, name).map(Along::One),
            Index::Set(_, items) => {
                items.iter().map(|item| self.place_at(item, size, name)).collect::<Lower<_>>()?
            }
            Index::Range { start, step, end, .. } => {
                let step = match step {
                    Some(expr) => self.integer(expr, "the step of a range")?,
                    None => 1,
                };
                let last = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(1);
                let (low, high) = if step < 0 { (last, 0) } else { (0, last) };
                let mut end_at = |expr: &Option<Expr>, otherwise| match expr {
                    Some(expr) => self.place_at(expr, size, name),
                    None => Ok(otherwise),
                };
                let (start, end) = (end_at(start, low)?, end_at(end, high)?);
                // Both are below the number of elements, which was counted.
                let (start, end) = (start as i128, end as i128);
                if step == 0 || (end - start).signum() * step.signum() < 0 {
                    return self.fail(Problem::EmptySelection, at);
                }
                let all = std::iter::successors(Some(start), |at| at.checked_add(step));
                let within = |at: &i128| if step > 0 { *at <= end } else { *at >= end };
                all.take_while(within).filter_map(|at| usize::try_from(at).ok()).collect()
            }
        };
        if places.is_empty() || size == 0 {
            return self.fail(Problem::EmptySelection, at);
        }
        self.spend_elements(places.len() as u64, at)?;
        Ok(Along::Many(places))
    }

    fn place_at(&mut self, expr: &Expr, size: u64, name: &str) -> Lower<usize> {
        let given = self.integer(expr, "an index")?;
        match position(given, size).and_then(|at| usize::try_from(at).ok()) {
            Some(at) => Ok(at),
            None => self
                .fail(Problem::IndexOutOfRange { name: name.to_owned(), given, size }, expr.span),
        }
    }

    /// Returns the positions in a value that pairs of brackets select.
    pub(super) fn places(
        &mut self,
        whole: &Value,
        parts: &[Box<[Index]>],
        name: &str,
        span: Span,
    ) -> Lower<Vec<Along>> {
        const BIT: &Value = &Value::Bool(false);
        let (mut all, mut value) = (Vec::new(), whole);
        for part in parts {
            if let Some(Along::Many(_)) = all.last() {
                return self.refuse("an index of a slice that is assigned to", span);
            }
            for index in &**part {
                let size = self.axis(value, span)?;
                let along = self.along(index, size, name)?;
                value = match (value, &along) {
                    (Value::Array(items), Along::One(at)) => &items[*at],
                    (Value::Array(items), Along::Many(places)) => &items[places[0]],
                    _ => BIT,
                };
                all.push(along);
            }
        }
        Ok(all)
    }

    /// Assigns to a part of a variable.
    pub(super) fn assign_part(
        &mut self,
        id: usize,
        places: &[Along],
        value: Classical,
        span: Span,
    ) -> Lower<()> {
        let value = match value {
            Classical::Value(value) if !matches!(self.variables[id].state, State::Choice(_)) => {
                value
            }
            value => return self.assign_part_of_choices(id, places, value, span),
        };
        let (mut whole, element) = (self.variable(id, span)?, self.variables[id].element());
        self.put(&mut whole, places, &element, value, span)?;
        self.set(id, State::Known(whole));
        Ok(())
    }

    /// Assigns to positions in a value.
    pub(super) fn put(
        &mut self,
        into: &mut Value,
        places: &[Along],
        element: &Type,
        value: Value,
        span: Span,
    ) -> Lower<()> {
        let Value::Array(items) = into else {
            *into = match places.first() {
                None => self.cast(element, value, span)?,
                Some(Along::One(at)) => self.put_bits(into, &[*at], value, span)?,
                Some(Along::Many(places)) => self.put_bits(into, places, value, span)?,
            };
            return Ok(());
        };
        let all: Vec<usize>;
        let (many, rest) = match places.split_first() {
            Some((Along::One(at), rest)) => {
                return self.put(&mut Rc::make_mut(items)[*at], rest, element, value, span);
            }
            Some((Along::Many(many), rest)) => (many, rest),
            None => {
                all = (0..items.len()).collect();
                (&all, places)
            }
        };
        match value {
            Value::Array(values) if values.len() == many.len() => {
                let items = Rc::make_mut(items);
                for (at, value) in many.iter().zip(values.iter()) {
                    self.put(&mut items[*at], rest, element, value.clone(), span)?;
                }
                Ok(())
            }
            other => {
                let given = match &other {
                    Value::Array(values) => {
                        format!("an array of {}", crate::gate::count(values.len(), "element"))
                    }
                    other => other.describe().to_owned(),
                };
                let expected = format!("an array of {}", crate::gate::count(many.len(), "element"));
                self.fail(Problem::WrongType { given, expected }, span)
            }
        }
    }

    /// Returns a value with some of its bits replaced.
    fn put_bits(&mut self, of: &Value, places: &[usize], value: Value, span: Span) -> Lower<Value> {
        let n = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let new = match &value {
            Value::Bits { width, bits } if *width == n => *bits,
            Value::Bool(holds) if n == 1 => u128::from(*holds),
            Value::Int(i, Some(ty)) if ty.sized && ty.bits == n => ty.bits_of(*i),
            Value::Int(i, _) if IntType::sized(n, true).holds(*i) => i.unsigned_abs(),
            other => {
                let (given, expected) =
                    (other.describe().to_owned(), format!("a bit string of {n}"));
                return self.fail(Problem::WrongType { given, expected }, span);
            }
        };
        let (_, mut bits) = in_bits(of).unwrap_or_default();
        for (from, at) in places.iter().enumerate() {
            bits = bits & !(1 << at) | (new >> from & 1) << at;
        }
        Ok(match of {
            Value::Int(_, Some(ty)) => {
                Value::Int(IntType { sized: true, ..*ty }.wrap(bits.cast_signed()), Some(*ty))
            }
            Value::Turn(Turn::Bits { width, .. }) => {
                Value::Turn(Turn::Bits { width: *width, bits })
            }
            Value::Bits { width, .. } => Value::Bits { width: *width, bits },
            other => other.clone(),
        })
    }
}

/// Returns the bits of a value, and their number, if it has some.
fn in_bits(value: &Value) -> Option<(u32, u128)> {
    match value {
        // Bit 0 is the lowest, of negative numbers too. Without a size an integer has no bits.
        Value::Int(i, Some(ty)) if ty.sized => Some((ty.bits, ty.bits_of(*i))),
        // Qiskit writes an index of a literal for a number whose type it knows.
        Value::Int(i @ 0.., None) => Some((MAX_WIDTH, i.unsigned_abs())),
        Value::Bits { width, bits } | Value::Turn(Turn::Bits { width, bits }) => {
            Some((*width, *bits))
        }
        _ => None,
    }
}
