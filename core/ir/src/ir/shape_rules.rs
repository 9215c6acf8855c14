//! Shape inference of each operation, for known shapes. Operations on whole arrays have rules of
//! their own ([`arrays`](super::arrays)).

use crate::array::{ArrayError, Shape, broadcast, checked_count};

use super::{
    op::{Int1, Mixed, Op},
    shapes::{AbstractValue, compared, is_empty},
};

type ShapeRuleResult = Result<AbstractValue, ArrayError>;

/// Returns the abstract value of the result of an operation, from those of its operands and from
/// which of them are arrays.
///
/// An array of more than `limit` elements is never made, so its abstract value is unknown: the
/// product and the sums of known lengths do not overflow.
pub(super) fn result(
    op: Op,
    args: &[&AbstractValue],
    arrays: &[bool],
    limit: usize,
) -> ShapeRuleResult {
    Ok(bounded(unbounded(op, args, arrays, limit)?, limit))
}

/// Returns an unknown value in place of an array of more than `limit` elements.
pub(super) fn bounded(known: AbstractValue, limit: usize) -> AbstractValue {
    match &known {
        AbstractValue::Array(shape) | AbstractValue::ArrayOrEmpty(shape)
            if checked_count(shape, limit).is_err() =>
        {
            AbstractValue::Any
        }
        _ => known,
    }
}

fn unbounded(op: Op, args: &[&AbstractValue], arrays: &[bool], limit: usize) -> ShapeRuleResult {
    let int = |k: usize| match args.get(k) {
        Some(AbstractValue::Int(n)) => Some(*n),
        _ => None,
    };
    let shape = |k: usize| args.get(k).and_then(|a| a.shape());
    Ok(match op {
        Op::Int(n) => AbstractValue::Int(n),
        Op::Bool(b) => AbstractValue::Bool(b),
        Op::Int1(Int1::Neg) => {
            int(0).and_then(i64::checked_neg).map_or(AbstractValue::Any, AbstractValue::Int)
        }
        Op::Int2(op) => int(0)
            .zip(int(1))
            .and_then(|(a, b)| op.value(a, b))
            .map_or(AbstractValue::Any, AbstractValue::Int),
        Op::CompareInt(op) => {
            int(0).zip(int(1)).map_or(AbstractValue::Any, |(a, b)| compared(op, a, b))
        }
        Op::Mixed(op @ (Mixed::Not | Mixed::And | Mixed::Or)) => match (op, args) {
            (Mixed::Not, [AbstractValue::Bool(a)]) => AbstractValue::Bool(!a),
            (Mixed::And, [AbstractValue::Bool(a), AbstractValue::Bool(b)]) => {
                AbstractValue::Bool(*a && *b)
            }
            (Mixed::Or, [AbstractValue::Bool(a), AbstractValue::Bool(b)]) => {
                AbstractValue::Bool(*a || *b)
            }
            _ => AbstractValue::Any,
        },
        Op::Array => {
            let items: Option<Vec<i64>> = (0..args.len()).map(int).collect();
            items.filter(|list| !list.is_empty()).map_or_else(
                || AbstractValue::Array(Shape::from_slice(&[args.len()])),
                AbstractValue::Ints,
            )
        }
        Op::Fill => match int(1).and_then(|n| usize::try_from(n).ok()) {
            Some(n) => AbstractValue::Array(Shape::from_slice(&[n])),
            None => AbstractValue::Any,
        },
        Op::Len => shape(0).map_or(AbstractValue::Any, |s| AbstractValue::Int(long(elements(&s)))),
        Op::Get => match (args.first(), int(1)) {
            (Some(AbstractValue::Ints(list)), Some(i)) => usize::try_from(i)
                .ok()
                .and_then(|i| list.get(i))
                .map_or(AbstractValue::Any, |n| AbstractValue::Int(*n)),
            _ => AbstractValue::Any,
        },
        Op::Set => shape(0).map_or(AbstractValue::Any, AbstractValue::Array),
        Op::Put | Op::AddAt => match (shape(0), int(1).and_then(|k| usize::try_from(k).ok())) {
            (Some(shape), Some(k)) if k < elements(&shape) => AbstractValue::Array(shape),
            _ => AbstractValue::Any,
        },
        Op::Accumulate => match (args[0], args[1]) {
            (AbstractValue::ArrayOrEmpty(a), b) | (b, AbstractValue::ArrayOrEmpty(a)) => {
                match b.shape() {
                    Some(b) if is_empty(&b) => AbstractValue::ArrayOrEmpty(a.clone()),
                    Some(b) if b == *a => AbstractValue::Array(b),
                    None if *b == AbstractValue::ArrayOrEmpty(a.clone()) => b.clone(),
                    _ => AbstractValue::Any,
                }
            }
            (a, b) => match (a.shape(), b.shape()) {
                (Some(a), Some(b)) if *a == [0] => AbstractValue::Array(b),
                (Some(a), Some(b)) if a == b || is_empty(&b) => AbstractValue::Array(a),
                (Some(a), Some(b)) if is_empty(&a) => AbstractValue::Array(b),
                _ => AbstractValue::Any,
            },
        },
        Op::OnArrays(op) => return op.infer(args, arrays, limit),
        op if op.is_elementwise() => return elementwise(op.name(), args, arrays),
        _ => AbstractValue::Any,
    })
}

/// Converts a length or a number of elements. No array has more than `i64::MAX`.
pub(super) fn long(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Returns the number of elements of an array of a known shape: see [`result`] for why it does not
/// overflow.
pub(super) fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Infers the shape of operations on numbers, element by element.
pub(super) fn elementwise(
    op: &'static str,
    args: &[&AbstractValue],
    arrays: &[bool],
) -> ShapeRuleResult {
    let shapes: Vec<Shape> = args.iter().filter_map(|a| a.shape()).collect();
    Ok(match shapes.as_slice() {
        [a, b] => AbstractValue::Array(broadcast(a, b).ok_or_else(|| {
            let expected =
                "arrays whose shapes are equal or 1 along each axis, counted from the last";
            ArrayError::shape(op, expected, &[a, b])
        })?),
        // The other operand, if there is one, is a number.
        [a] if arrays.iter().filter(|a| **a).count() == 1 => AbstractValue::Array(a.clone()),
        _ => AbstractValue::Any,
    })
}
