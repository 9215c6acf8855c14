//! Sources of the elements of an array among the elements of its operands.

use crate::{
    array::{self, Array, ArrayError, Shape, Strided},
    ir::{ArrayOp, ElementFlow},
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
            let marks = marked(op, values).ok().flatten()?;
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
/// those of the first: so each number of the result is a source, and 0 is none. `None` if the
/// operation does more than move elements.
fn marked<S: Scalar>(op: ArrayOp, values: &[Datum<S>]) -> Result<Option<Array<i64>>, ArrayError> {
    use ArrayOp as A;
    let numbered = |k: usize, first: i64| {
        let shape = values.get(k).and_then(shape).unwrap_or_else(|| Shape::from_slice(&[0]));
        let n: usize = shape.iter().product();
        Array::new(&shape, (first..).take(n).collect())
    };
    let int = |k: usize| match values.get(k) {
        Some(Datum::Int(n)) => *n,
        _ => 0,
    };
    let list = match values.get(1) {
        Some(Datum::Ints(list)) => list.items(),
        _ => &[],
    };
    let mut a = numbered(0, 1)?;
    let to = match values.get(1) {
        Some(Datum::Ints(list)) if op.takes_shape() => {
            list.iter().filter_map(|&n| usize::try_from(n).ok()).collect()
        }
        Some(other) => shape(other).unwrap_or_default(),
        None => Shape::new(),
    };
    let b = numbered(1, 1 + i64::try_from(a.len()).unwrap_or(0))?;
    let mut out = Array::default();
    match op {
        A::Reshape => array::reshape(&mut a, list)?,
        A::ReshapeLike => array::reshape_like(&mut a, &to),
        A::InsertAxis => array::insert_axis(&mut a, int(1))?,
        A::DropAxis => array::drop_axis(&mut a, int(1))?,
        A::Tril | A::Triu => array::triangle(&mut a, int(1), op == A::Triu)?,
        A::Transpose => array::transpose(&a, &mut out)?,
        A::Permute | A::Unpermute => array::permute(&a, list, op == A::Unpermute, &mut out)?,
        A::Slice => array::slice(&a, int(1), int(2), int(3), &mut out)?,
        A::Pad => array::pad(&a, &to, int(2), int(3), &mut out)?,
        A::DynamicUpdateSlice => {
            out = b.clone();
            array::dynamic_update_slice(&a, &mut out, int(2), int(3))?;
        }
        A::Concat => array::concat(&a, &b, int(2), &mut out)?,
        A::Gather => array::gather(&a, list, &mut out)?,
        A::Flip => array::flip(&a, int(1), &mut out)?,
        A::GatherAlong => match values.get(1) {
            Some(Datum::Ints(indices)) => array::gather_along(&a, indices, int(2), &mut out)?,
            _ => return Ok(None),
        },
        A::ScatterAlong => match values.get(2) {
            Some(Datum::Ints(indices)) => array::scatter_along(&a, &to, indices, int(3), &mut out)?,
            _ => return Ok(None),
        },
        A::BroadcastTo => array::broadcast_to(&a, &to, &mut out)?,
        A::Diagonal => array::diagonal(&a, &mut out)?,
        A::DiagonalMatrix => array::diagonal_matrix(&a, &mut out)?,
        _ => return Ok(None),
    }
    let in_place =
        matches!(op, A::Reshape | A::ReshapeLike | A::InsertAxis | A::DropAxis | A::Tril | A::Triu);
    Ok(Some(if in_place { a } else { out }))
}
