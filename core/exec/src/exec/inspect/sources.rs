//! Sources of the elements of an array among the elements of its operands.

use std::sync::Arc;

use crate::{
    array::{self, Array, ArrayError, MAX_ELEMENTS, Shape, Strided},
    ir::{ArrayOp, ElementFlow, ValueForm, ValueOperands},
    scalar::Scalar,
};

use super::super::Datum;

/// The number of an operand, and the place of an element in it; of a number the place does not
/// count.
pub(super) type ElementSource = (usize, usize);

fn shape<S: Scalar>(d: &Datum<S>) -> Option<Shape> {
    match d {
        Datum::Reals(xs) => Some(xs.shape()),
        Datum::Complexes(xs) => Some(xs.shape()),
        Datum::Ints(xs) => Some(xs.shape()),
        _ => None,
    }
}

/// Returns the sources of an elementwise operation, with broadcasting.
pub(super) fn by_elements<S: Scalar>(
    values: &[Datum<S>],
    result: &Datum<S>,
) -> Option<Vec<Vec<ElementSource>>> {
    let to = shape(result)?;
    let mut sources = vec![Vec::new(); to.iter().product()];
    for (k, value) in values.iter().enumerate() {
        let from = shape(value).unwrap_or_else(|| Shape::from_slice(&[1]));
        sources
            .iter_mut()
            .zip(Strided::broadcast(&from, &to))
            .for_each(|(s, place)| s.push((k, place)));
    }
    Some(sources)
}

/// Returns the sources of an operation that moves elements or sums them; `None` of others.
pub(super) fn on_arrays<S: Scalar>(
    op: ArrayOp,
    values: &[Datum<S>],
    result: &Datum<S>,
) -> Option<Vec<Vec<ElementSource>>> {
    let to = shape(result)?;
    let n: usize = to.iter().product();
    match op.elements() {
        ElementFlow::Reduced => {
            let mut sources = vec![Vec::new(); n];
            let places = Strided::broadcast(&to, &shape(values.first()?)?);
            places.enumerate().for_each(|(from, place)| sources[place].push((0, from)));
            Some(sources)
        }
        // Of a number.
        ElementFlow::Moved if shape(values.first()?).is_none() => Some(vec![vec![(0, 0)]; n]),
        ElementFlow::Moved => {
            let marks = marked(op, values).ok()?;
            let first = values.first().and_then(shape).map_or(0, |s| s.iter().product());
            let source = |&mark: &i64| {
                let place = usize::try_from(mark - 1).ok()?;
                Some(place.checked_sub(first).map_or((0, place), |place| (1, place)))
            };
            Some(marks.iter().map(|mark| source(mark).into_iter().collect()).collect())
        }
        ElementFlow::Absent | ElementFlow::Summed | ElementFlow::Chosen | ElementFlow::Mixed => {
            None
        }
    }
}

/// Applies the operation to arrays whose elements are numbered from 1 on, those of the second after
/// those of the first: so each number of the result is a source, and 0 is none.
fn marked<S: Scalar>(op: ArrayOp, values: &[Datum<S>]) -> Result<Array<i64>, ArrayError> {
    let (mut arrays, mut ints, mut list, mut next) = (Vec::new(), Vec::new(), None, 1);
    for value in values {
        match value {
            Datum::Int(n) => ints.push(*n),
            Datum::Ints(given) => list = Some(&**given),
            other => {
                let shape = shape(other).unwrap_or_else(|| Shape::from_slice(&[0]));
                let n: usize = shape.iter().product();
                arrays.push(Arc::new(Array::new(&shape, (next..).take(n).collect())?));
                next += i64::try_from(n).unwrap_or(0);
            }
        }
    }
    let mut out = Array::default();
    let mut operands = ValueOperands { arrays: &arrays, ints: &ints, list, limit: MAX_ELEMENTS };
    if op == ArrayOp::DynamicUpdateSlice
        && let ([part, whole], [axis, start]) = (&arrays[..], &ints[..])
    {
        out.copy_from(whole);
        array::dynamic_update_slice(part, &mut out, *axis, *start)?;
    } else if let (ValueForm::InPlace, [first, rest @ ..]) = (op.value_form(), &arrays[..]) {
        out.copy_from(first);
        operands.arrays = rest;
        op.move_ints(&operands, &mut out)?;
    } else {
        op.move_ints(&operands, &mut out)?;
    }
    Ok(out)
}
