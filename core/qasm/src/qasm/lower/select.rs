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
    ExprScope, Lower, QasmLowering, QasmValue, angle_value::AngleValue, classical::Classical,
    evaluate::position, flow::index_span, integer::IntegerType, integer::MAX_WIDTH, runtime,
    variables::VariableState,
};
use crate::qasm::{
    ast::{Index, QasmExpr, QasmSpan, Type},
    diagnostic::QasmProblem,
};

/// Positions that an index selects along an axis.
pub(super) enum AxisSelection {
    One(usize),
    Many(Vec<usize>),
}

impl QasmLowering<'_> {
    /// `base[index, …]`
    pub(super) fn indexed(
        &mut self,
        base: &QasmExpr,
        index: &[Index],
        span: QasmSpan,
        scope: ExprScope,
    ) -> Lower<QasmValue> {
        if self.has_memory()
            && matches!(scope, ExprScope::Global)
            && let Some(element) = self.indexed_in_memory(base, index, span)?
        {
            return Ok(element);
        }
        let value = self.evaluate(base, scope)?;
        let name = self.text(base.span).to_owned();
        self.part(&value, index, &name, span)
    }

    pub(super) fn part(
        &mut self,
        value: &QasmValue,
        index: &[Index],
        name: &str,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let Some((first, rest)) = index.split_first() else { return Ok(value.clone()) };
        let size = self.axis(value, span)?;
        let along = self.along(first, size, name)?;
        match value {
            QasmValue::Runtime(expr) => {
                let places: Vec<u32> = match along {
                    AxisSelection::One(at) => vec![u32::try_from(at).unwrap_or(u32::MAX)],
                    AxisSelection::Many(places) => {
                        places.into_iter().map(|at| u32::try_from(at).unwrap_or(u32::MAX)).collect()
                    }
                };
                let picked = (**expr).clone().pick(&places).map_err(runtime::problem);
                let picked = self.check(picked, span).map(runtime::value)?;
                self.part(&picked, rest, name, span)
            }
            QasmValue::Array(items) => match along {
                AxisSelection::One(at) => self.part(&items[at], rest, name, span),
                AxisSelection::Many(places) => {
                    let parts =
                        places.into_iter().map(|at| self.part(&items[at], rest, name, span));
                    Ok(QasmValue::Array(parts.collect::<Lower<_>>()?))
                }
            },
            _ => {
                let (_, bits) = in_bits(value).unwrap_or_default();
                let bit = |at: usize| bits >> at & 1;
                let picked = match along {
                    AxisSelection::One(at) => QasmValue::Bits { width: 1, bits: bit(at) },
                    AxisSelection::Many(places) => QasmValue::Bits {
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
        value: &QasmValue,
        given: i128,
        span: QasmSpan,
    ) -> Lower<Option<QasmValue>> {
        let size = self.axis(value, span)?;
        let Some(at) = position(given, size).and_then(|at| usize::try_from(at).ok()) else {
            return Ok(None);
        };
        Ok(match value {
            QasmValue::Array(items) => items.get(at).cloned(),
            _ => in_bits(value).map(|(_, bits)| QasmValue::Bits { width: 1, bits: bits >> at & 1 }),
        })
    }

    /// Returns the length of the first axis of a value.
    pub(super) fn axis(&mut self, value: &QasmValue, span: QasmSpan) -> Lower<u64> {
        match (value, in_bits(value)) {
            (QasmValue::Array(items), _) => Ok(items.len() as u64),
            (QasmValue::Runtime(expr), _) if runtime::width(expr) > 0 => {
                Ok(u64::from(runtime::width(expr)))
            }
            (_, Some((width, _))) => Ok(u64::from(width)),
            (other, None) => {
                let given = other.describe().to_owned();
                self.fail(QasmProblem::Operands { operator: "[]".to_owned(), given }, span)
            }
        }
    }

    /// Returns the positions that an index selects on an axis of that length.
    fn along(&mut self, index: &Index, size: u64, name: &str) -> Lower<AxisSelection> {
        let at = index_span(index);
        let places: Vec<usize> = match index {
            Index::At(expr) => return self.place_at(expr, size, name).map(AxisSelection::One),
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
                let mut end_at = |expr: &Option<QasmExpr>, otherwise| match expr {
                    Some(expr) => self.place_at(expr, size, name),
                    None => Ok(otherwise),
                };
                let (start, end) = (end_at(start, low)?, end_at(end, high)?);
                // Both are below the number of elements, which was counted.
                let (start, end) = (start as i128, end as i128);
                if step == 0 || (end - start).signum() * step.signum() < 0 {
                    return self.fail(QasmProblem::EmptySelection, at);
                }
                let all = std::iter::successors(Some(start), |at| at.checked_add(step));
                let within = |at: &i128| if step > 0 { *at <= end } else { *at >= end };
                all.take_while(within).filter_map(|at| usize::try_from(at).ok()).collect()
            }
        };
        if places.is_empty() || size == 0 {
            return self.fail(QasmProblem::EmptySelection, at);
        }
        self.spend_elements(places.len() as u64, at)?;
        Ok(AxisSelection::Many(places))
    }

    fn place_at(&mut self, expr: &QasmExpr, size: u64, name: &str) -> Lower<usize> {
        let given = self.integer(expr, "an index")?;
        match position(given, size).and_then(|at| usize::try_from(at).ok()) {
            Some(at) => Ok(at),
            None => self.fail(
                QasmProblem::IndexOutOfRange { name: name.to_owned(), given, size },
                expr.span,
            ),
        }
    }

    /// Returns the positions in a value that pairs of brackets select.
    pub(super) fn places(
        &mut self,
        whole: &QasmValue,
        parts: &[Box<[Index]>],
        name: &str,
        span: QasmSpan,
    ) -> Lower<Vec<AxisSelection>> {
        const BIT: &QasmValue = &QasmValue::Bool(false);
        let (mut all, mut value) = (Vec::new(), whole);
        for part in parts {
            if let Some(AxisSelection::Many(_)) = all.last() {
                return self.refuse("an index of a slice that is assigned to", span);
            }
            for index in &**part {
                let size = self.axis(value, span)?;
                let along = self.along(index, size, name)?;
                value = match (value, &along) {
                    (QasmValue::Array(items), AxisSelection::One(at)) => &items[*at],
                    (QasmValue::Array(items), AxisSelection::Many(places)) => &items[places[0]],
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
        places: &[AxisSelection],
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        let value = match value {
            Classical::Value(value)
                if !matches!(self.variables[id].state, VariableState::ValueSet(_)) =>
            {
                value
            }
            value => return self.assign_part_of_value_sets(id, places, value, span),
        };
        let (mut whole, element) = (self.variable(id, span)?, self.variables[id].element());
        self.assign_at(&mut whole, places, &element, value, span)?;
        self.set(id, VariableState::Known(whole));
        Ok(())
    }

    /// Assigns to positions in a value.
    pub(super) fn assign_at(
        &mut self,
        into: &mut QasmValue,
        places: &[AxisSelection],
        element: &Type,
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<()> {
        let QasmValue::Array(items) = into else {
            *into = match places.first() {
                None => self.cast(element, value, span)?,
                Some(AxisSelection::One(at)) => self.put_bits(into, &[*at], value, span)?,
                Some(AxisSelection::Many(places)) => self.put_bits(into, places, value, span)?,
            };
            return Ok(());
        };
        let all: Vec<usize>;
        let (many, rest) = match places.split_first() {
            Some((AxisSelection::One(at), rest)) => {
                return self.assign_at(&mut Rc::make_mut(items)[*at], rest, element, value, span);
            }
            Some((AxisSelection::Many(many), rest)) => (many, rest),
            None => {
                all = (0..items.len()).collect();
                (&all, places)
            }
        };
        match value {
            QasmValue::Array(values) if values.len() == many.len() => {
                let items = Rc::make_mut(items);
                for (at, value) in many.iter().zip(values.iter()) {
                    self.assign_at(&mut items[*at], rest, element, value.clone(), span)?;
                }
                Ok(())
            }
            other => {
                let given = match &other {
                    QasmValue::Array(values) => {
                        format!("an array of {}", crate::gate::count(values.len(), "element"))
                    }
                    other => other.describe().to_owned(),
                };
                let expected = format!("an array of {}", crate::gate::count(many.len(), "element"));
                self.fail(QasmProblem::WrongType { given, expected }, span)
            }
        }
    }

    /// Returns a value with some of its bits replaced.
    fn put_bits(
        &mut self,
        of: &QasmValue,
        places: &[usize],
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let n = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let new = match &value {
            QasmValue::Bits { width, bits } if *width == n => *bits,
            QasmValue::Bool(holds) if n == 1 => u128::from(*holds),
            QasmValue::Int(i, Some(ty)) if ty.sized && ty.bits == n => ty.bits_of(*i),
            QasmValue::Int(i, _) if IntegerType::sized(n, true).holds(*i) => i.unsigned_abs(),
            other => {
                let (given, expected) =
                    (other.describe().to_owned(), format!("a bit string of {n}"));
                return self.fail(QasmProblem::WrongType { given, expected }, span);
            }
        };
        let (_, mut bits) = in_bits(of).unwrap_or_default();
        for (from, at) in places.iter().enumerate() {
            bits = bits & !(1 << at) | (new >> from & 1) << at;
        }
        Ok(match of {
            QasmValue::Int(_, Some(ty)) => QasmValue::Int(
                IntegerType { sized: true, ..*ty }.wrap(bits.cast_signed()),
                Some(*ty),
            ),
            QasmValue::AngleValue(AngleValue::Bits { width, .. }) => {
                QasmValue::AngleValue(AngleValue::Bits { width: *width, bits })
            }
            QasmValue::Bits { width, .. } => QasmValue::Bits { width: *width, bits },
            other => other.clone(),
        })
    }
}

/// Returns the bits of a value, and their number, if it has some.
fn in_bits(value: &QasmValue) -> Option<(u32, u128)> {
    match value {
        // Bit 0 is the lowest, of negative numbers too. Without a size an integer has no bits.
        QasmValue::Int(i, Some(ty)) if ty.sized => Some((ty.bits, ty.bits_of(*i))),
        // Qiskit writes an index of a literal for a number whose type it knows.
        QasmValue::Int(i @ 0.., None) => Some((MAX_WIDTH, i.unsigned_abs())),
        QasmValue::Bits { width, bits }
        | QasmValue::AngleValue(AngleValue::Bits { width, bits }) => Some((*width, *bits)),
        _ => None,
    }
}
