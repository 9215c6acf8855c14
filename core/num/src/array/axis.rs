//! Operations on lines along an axis: flip, gather, scatter and linear recurrences.
//!
//! O(elements).

use num_traits::Zero;

use crate::scalar::{Real, Ring};

use super::{Array, ArrayError, Shape, arg_extreme, axis_split, checked_axis, reduced};

/// Reverses the elements along an axis.
///
/// # Errors
/// There is no such axis.
pub fn flip<T: Clone>(a: &Array<T>, axis: i64, out: &mut Array<T>) -> Result<(), ArrayError> {
    let shape = a.shape();
    let (outer, along, inner) = axis_split(&shape, checked_axis("flip", axis, &shape)?);
    let to = out.start(&shape);
    for block in 0..outer {
        for k in (0..along).rev() {
            let from = (block * along + k) * inner;
            to.extend_from_slice(&a[from..from + inner]);
        }
    }
    Ok(())
}

/// Computes `y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis, which is one longer than those of a
/// and b.
///
/// # Errors
/// The shapes differ, or there is no such axis.
pub fn linear_recurrence<S: Ring>(
    a: &Array<S>,
    b: &Array<S>,
    axis: i64,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    const OP: &str = "linear_recurrence";
    let mut shape = a.shape();
    if !a.same_shape(b) {
        return Err(ArrayError::shape(OP, "two arrays of one shape", &[&shape, &b.shape()]));
    }
    let axis = checked_axis(OP, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    shape[axis] += 1;
    let to = out.start(&shape);
    for block in 0..outer {
        to.resize(to.len() + inner, S::zero());
        for k in 0..along {
            let (from, last) = ((block * along + k) * inner, to.len() - inner);
            for i in 0..inner {
                let next = a[from + i].clone() * &to[last + i] + &b[from + i];
                to.push(next);
            }
        }
    }
    Ok(())
}

/// Computes the square roots of the sums of squares along an axis, whose length becomes 1; of zeros
/// as [`norm`](super::norm).
///
/// # Errors
/// There is no such axis.
pub fn norm_keep<T: Real>(a: &Array<T>, axis: i64, out: &mut Array<T>) -> Result<(), ArrayError> {
    let shape = a.shape();
    let (axis, rest) = reduced("norm_keep", axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    let mut line = Vec::with_capacity(along);
    let to = out.start(&rest);
    for block in 0..outer {
        for i in 0..inner {
            line.clear();
            line.extend((0..along).map(|k| a[(block * along + k) * inner + i].clone()));
            to.push(super::norm(&line));
        }
    }
    Ok(())
}

/// Returns the shape without an axis.
fn without(op: &'static str, axis: i64, shape: &[usize]) -> Result<(usize, Shape), ArrayError> {
    let k = checked_axis(op, axis, shape)?;
    if shape.len() < 2 {
        return Err(ArrayError::shape(op, "an array of two or more axes", &[shape]));
    }
    let mut rest = Shape::from_slice(shape);
    rest.remove(k);
    Ok((k, rest))
}

/// Computes the index of the greatest element of each line along an axis, or of the least; the
/// first of several, and that of a NaN if there is one. The axis is lost.
///
/// # Errors
/// There is no such axis or no other, lines have no elements, or numbers cannot be compared.
pub fn arg_extreme_axis<T: Real>(
    a: &Array<T>,
    axis: i64,
    greatest: bool,
    out: &mut Array<i64>,
) -> Result<(), ArrayError> {
    let op = if greatest { "argmax_axis" } else { "argmin_axis" };
    let shape = a.shape();
    let (axis, rest) = without(op, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    if along == 0 && outer * inner > 0 {
        return Err(ArrayError::Empty { op });
    }
    let mut line = Vec::with_capacity(along);
    let to = out.start(&rest);
    for block in 0..outer {
        for i in 0..inner {
            line.clear();
            line.extend((0..along).map(|k| a[(block * along + k) * inner + i].clone()));
            to.push(i64::try_from(arg_extreme(&line, greatest)?).unwrap_or(i64::MAX));
        }
    }
    Ok(())
}

/// Returns an axis, and the shape without it, which indices have.
fn chosen(
    op: &'static str,
    shape: &[usize],
    indices: &Array<i64>,
    axis: i64,
) -> Result<(usize, Shape), ArrayError> {
    let (axis, rest) = without(op, axis, shape)?;
    if indices.shape() != rest {
        let words = "an array, and an index for each line along the axis";
        return Err(ArrayError::shape(op, words, &[shape, &indices.shape()]));
    }
    Ok((axis, rest))
}

/// Computes the flat indices that indices denote, one for each line along an axis.
fn places(
    op: &'static str,
    shape: &[usize],
    indices: &Array<i64>,
    axis: usize,
) -> Result<Vec<usize>, ArrayError> {
    let (_, along, inner) = axis_split(shape, axis);
    let place = |(line, &k): (usize, &i64)| {
        let k = usize::try_from(k).ok().filter(|&k| k < along).ok_or_else(|| {
            let what = format!("index {k} along an axis of {along}");
            ArrayError::Range { op, what, shape: shape.to_vec() }
        })?;
        Ok((line / inner * along + k) * inner + line % inner)
    };
    indices.iter().enumerate().map(place).collect()
}

/// Gathers the element of each line along an axis at its index; the axis is lost.
///
/// # Errors
/// There is no such axis or no other, or the indices do not fit.
pub fn gather_along<T: Clone>(
    a: &Array<T>,
    indices: &Array<i64>,
    axis: i64,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    const OP: &str = "gather_along";
    let shape = a.shape();
    let (axis, rest) = chosen(OP, &shape, indices, axis)?;
    let places = places(OP, &shape, indices, axis)?;
    out.start(&rest).extend(places.into_iter().map(|place| a[place].clone()));
    Ok(())
}

/// Zeros in the given shape, but for an element of each line along an axis at its index: the
/// transpose of [`gather_along`].
///
/// # Errors
/// There is no such axis or no other, or the elements or indices do not fit.
pub fn scatter_along<T: Clone + Zero>(
    elements: &Array<T>,
    shape: &[usize],
    indices: &Array<i64>,
    axis: i64,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    const OP: &str = "scatter_along";
    let (axis, rest) = chosen(OP, shape, indices, axis)?;
    if elements.shape() != rest {
        let words = "an element for each line along the axis";
        return Err(ArrayError::shape(OP, words, &[&elements.shape(), shape]));
    }
    let places = places(OP, shape, indices, axis)?;
    let to = out.start(shape);
    to.resize_with(shape.iter().product(), T::zero);
    for (place, x) in places.into_iter().zip(elements.iter()) {
        to[place] = x.clone();
    }
    Ok(())
}
