//! Moving elements: slices, joins, permutations. Nothing here computes, but for the sums of
//! [`scatter`].
//!
//! Each function writes into `out`, whose memory is used again. O(elements written).

use std::any::Any;

use num_traits::Zero;

use super::{
    Array, ArrayError, Repeated, RunCopy, Shape, Strided, axis_split, checked_axis,
    checked_permutation,
    flip::{COLUMNS, flip},
    shape::{MAX_ELEMENTS, checked_count, row_major},
};

/// Transposes each matrix in a stack: the last two axes change places.
///
/// # Errors
/// It is no matrix.
pub fn transpose<T: Clone + 'static>(a: &Array<T>, out: &mut Array<T>) -> Result<(), ArrayError> {
    let expected = "a matrix or a stack of matrices";
    let (m, n) =
        a.matrix().ok_or_else(|| ArrayError::shape("transpose", expected, &[&a.shape()]))?;
    let Some(first) = a.first() else {
        out.start(&swapped(a));
        return Ok(());
    };
    if a.rank() == 2 {
        out.overwrite(&[n, m], first);
    } else {
        out.overwrite(&swapped(a), first);
    }
    if !transpose_floats(a, (m, n), out) {
        for (matrix, to) in a.chunks_exact(m * n).zip(out.chunks_exact_mut(m * n)) {
            transpose_one(matrix, (m, n), to);
        }
    }
    Ok(())
}

/// Returns a shape whose last two axes have changed places.
fn swapped<T>(a: &Array<T>) -> Shape {
    let mut shape = a.shape();
    let rank = shape.len();
    shape.swap(rank - 2, rank - 1);
    shape
}

/// Transposes matrices of 64-bit floats, if they are such and there are instructions for it.
fn transpose_floats(a: &dyn Any, (m, n): (usize, usize), out: &mut dyn Any) -> bool {
    let (Some(a), Some(out)) = (a.downcast_ref::<Array<f64>>(), out.downcast_mut::<Array<f64>>())
    else {
        return false;
    };
    a.chunks_exact(m * n).zip(out.chunks_exact_mut(m * n)).all(|(a, to)| flip(a, (m, n), to))
}

/// Four rows at a time: what is written lies together.
fn transpose_one<T: Clone>(a: &[T], (m, n): (usize, usize), to: &mut [T]) {
    for first in (0..n).step_by(COLUMNS) {
        let columns = first..n.min(first + COLUMNS);
        let fours = a.chunks_exact(4 * n);
        for (k, row) in fours.remainder().chunks_exact(n).enumerate() {
            columns.clone().for_each(|j| to[j * m + m / 4 * 4 + k] = row[j].clone());
        }
        for (k, rows) in fours.enumerate() {
            let rows: [&[T]; 4] = std::array::from_fn(|r| &rows[r * n..(r + 1) * n]);
            for j in columns.clone() {
                let column: [T; 4] = std::array::from_fn(|r| rows[r][j].clone());
                to[j * m + 4 * k..][..4].clone_from_slice(&column);
            }
        }
    }
}

/// Axis k of the result is axis `axes[k]` of `a`; `back`: axis `axes[k]` of the result is axis k of
/// `a`.
///
/// # Errors
/// The axes are not those of `a`, each once.
pub fn permute<T: Clone>(
    a: &Array<T>,
    axes: &[i64],
    back: bool,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let op = if back { "unpermute" } else { "permute" };
    let shape = a.shape();
    let mut order = checked_permutation(op, axes, &shape)?;
    if back {
        let mut inverse = order.clone();
        order.iter().enumerate().for_each(|(k, &axis)| inverse[axis] = k);
        order = inverse;
    }
    let steps = row_major(&shape);
    let to: Shape = order.iter().map(|&k| shape[k]).collect();
    let strides: Shape = order.iter().map(|&k| steps[k]).collect();
    out.start(&to).extend(Strided::new(&to, &strides).map(|k| a[k].clone()));
    Ok(())
}

/// Copies `len` elements along an axis, from `start` on.
///
/// # Errors
/// There is no such axis, or the range leaves it.
pub fn slice<T: Clone + Zero>(
    a: &Array<T>,
    axis: i64,
    start: i64,
    len: i64,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let (shape, moved) = RunCopy::slice(&a.shape(), axis, start, len)?;
    moved.copy(a, 0, out.overwrite(&shape, &T::zero()));
    Ok(())
}

/// Places `part` among zeros, in the given shape: what [`slice()`] undoes.
///
/// # Errors
/// The array does not fit there.
pub fn pad<T: Clone + Zero>(
    part: &Array<T>,
    shape: &[usize],
    axis: i64,
    start: i64,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let moved = RunCopy::pad("pad", &part.shape(), shape, axis, start)?;
    moved.copy(part, 0, out.overwrite(shape, &T::zero()));
    Ok(())
}

/// Overwrites a part of `whole` with `part`.
///
/// # Errors
/// The part does not fit there.
pub fn dynamic_update_slice<T: Clone>(
    part: &Array<T>,
    whole: &mut Array<T>,
    axis: i64,
    start: i64,
) -> Result<(), ArrayError> {
    let moved = RunCopy::pad("dynamic_update_slice", &part.shape(), &whole.shape(), axis, start)?;
    moved.copy_into(part, whole);
    Ok(())
}

/// Joins two arrays along an axis.
///
/// # Errors
/// The arrays differ along another axis.
pub fn concat<T: Clone>(
    a: &Array<T>,
    b: &Array<T>,
    axis: i64,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let (mut shape, other) = (a.shape(), b.shape());
    let axis = checked_axis("concat", axis, &shape)?;
    let same =
        shape.len() == other.len() && (0..shape.len()).all(|k| k == axis || shape[k] == other[k]);
    if !same {
        let words = "arrays that differ along the one axis only";
        return Err(ArrayError::shape("concat", words, &[&shape, &other]));
    }
    let (outer, m, inner) = axis_split(&shape, axis);
    let n = other[axis];
    shape[axis] = m + n;
    let to = out.start(&shape);
    for k in 0..outer {
        to.extend_from_slice(&a[k * m * inner..(k + 1) * m * inner]);
        to.extend_from_slice(&b[k * n * inner..(k + 1) * n * inner]);
    }
    Ok(())
}

/// [`slice`] of `a` itself, if that is its first elements, and at least half of what it has memory
/// for: it may be kept. Says whether that is so; if not, nothing has changed.
#[doc(hidden)]
pub fn cut_off<T>(a: &mut Array<T>, axis: i64, start: i64, len: i64) -> bool {
    let mut shape = a.shape();
    let (Ok(axis), 0, Ok(len)) = (checked_axis("slice", axis, &shape), start, usize::try_from(len))
    else {
        return false;
    };
    let is_first = shape[..axis].iter().all(|n| *n == 1) && len <= shape[axis];
    shape[axis] = len;
    let count: usize = shape.iter().product();
    if !is_first || 2 * count < a.capacity() {
        return false;
    }
    a.as_vec().truncate(count);
    a.set_shape(&shape);
    true
}

/// [`concat`] into `a` itself, if the elements of `b` come after all of its own and there is
/// memory for them. Says whether that is so; if not, nothing has changed.
#[doc(hidden)]
pub fn append<T: Clone>(a: &mut Array<T>, b: &Array<T>, axis: i64) -> bool {
    let (mut shape, other) = (a.shape(), b.shape());
    let Ok(axis) = checked_axis("concat", axis, &shape) else { return false };
    let same =
        shape.len() == other.len() && (0..shape.len()).all(|k| k == axis || shape[k] == other[k]);
    let is_behind = shape[..axis].iter().all(|n| *n == 1);
    if !same || !is_behind || a.len() + b.len() > a.capacity() {
        return false;
    }
    shape[axis] += other[axis];
    a.as_vec().extend_from_slice(b);
    a.set_shape(&shape);
    true
}

/// Reshapes `a`: its elements in the same order, cut off or followed by zeros.
pub fn reshape_like<T: Clone + Zero>(a: &mut Array<T>, shape: &[usize]) {
    let count = shape.iter().product();
    if a.len() != count {
        a.as_vec().resize_with(count, T::zero);
    }
    a.set_shape(shape);
}

/// Gathers `a[indices[0]], a[indices[1]], …` along the first axis.
///
/// # Errors
/// An index is out of range.
pub fn gather<T: Clone>(
    a: &Array<T>,
    indices: &[i64],
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let mut shape = a.shape();
    let (rows, inner) = (shape[0], shape[1..].iter().product::<usize>());
    shape[0] = indices.len();
    let to = out.start(&shape);
    for &k in indices {
        let k = checked_index("gather", k, rows, &a.shape())?;
        to.extend_from_slice(&a[k * inner..(k + 1) * inner]);
    }
    Ok(())
}

fn checked_index(
    op: &'static str,
    index: i64,
    rows: usize,
    shape: &[usize],
) -> Result<usize, ArrayError> {
    usize::try_from(index).ok().filter(|&k| k < rows).ok_or_else(|| {
        let what = format!("index {index} along an axis of {rows}");
        ArrayError::Range { op, what, shape: shape.to_vec() }
    })
}

/// Adds the k-th row of `rows` to row `indices[k]` of zeros in the given shape: the transpose of
/// [`gather`].
///
/// # Errors
/// An index is out of range, or the rows do not fit.
pub fn scatter<T: Clone + Zero>(
    rows: &Array<T>,
    shape: &[usize],
    indices: &[i64],
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let inner = shape[1..].iter().product::<usize>();
    if rows.len() != inner * indices.len() {
        let words = "a row for each index";
        return Err(ArrayError::shape("scatter", words, &[&rows.shape(), shape, &[indices.len()]]));
    }
    out.start(shape).resize_with(shape.iter().product(), T::zero);
    for (j, &k) in indices.iter().enumerate() {
        let k = checked_index("scatter", k, shape[0], shape)?;
        for i in 0..inner {
            let sum = std::mem::replace(&mut out[k * inner + i], T::zero());
            out[k * inner + i] = sum + rows[j * inner + i].clone();
        }
    }
    Ok(())
}

/// Broadcasts `a` to another shape.
///
/// # Errors
/// The array does not broadcast to that shape.
pub fn broadcast_to<T: Clone>(
    a: &Array<T>,
    to: &[usize],
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    let from = a.shape();
    if super::broadcast(&from, to).as_deref() != Some(to) {
        let words = "an array that can be repeated to the shape of the other";
        return Err(ArrayError::shape("broadcast_to", words, &[&from, to]));
    }
    if let Some(first) = a.first() {
        let items = out.overwrite(to, first);
        Repeated::new(&from, to).copy(a, items);
    } else {
        out.start(to);
    }
    Ok(())
}

/// Keeps the elements on and below the k-th diagonal of each matrix, or on and above it; the others
/// are 0. The 0-th is the main diagonal, the first the one above it.
///
/// # Errors
/// It is no matrix.
pub fn triangle<T: Zero>(a: &mut Array<T>, k: i64, upper: bool) -> Result<(), ArrayError> {
    let op = if upper { "triu" } else { "tril" };
    let expected = "a matrix or a stack of matrices";
    let (m, n) = a.matrix().ok_or_else(|| ArrayError::shape(op, expected, &[&a.shape()]))?;
    for matrix in a.chunks_exact_mut((m * n).max(1)) {
        for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
            // Columns up to this one lie on or below the diagonal.
            let edge = i64::try_from(i).unwrap_or(i64::MAX).saturating_add(k);
            for (j, x) in row.iter_mut().enumerate() {
                let j = i64::try_from(j).unwrap_or(i64::MAX);
                let kept = if upper { j >= edge } else { j <= edge };
                if !kept {
                    *x = T::zero();
                }
            }
        }
    }
    Ok(())
}

/// Another shape with as many elements; one length may be -1, which means what is left.
///
/// # Errors
/// The lengths do not multiply to the number of elements.
pub fn reshape<T>(a: &mut Array<T>, lengths: &[i64]) -> Result<(), ArrayError> {
    let shape = reshaped(&a.shape(), lengths)?;
    a.set_shape(&shape);
    Ok(())
}

/// Returns the shape that [`reshape`] gives an array of another one.
///
/// # Errors
/// The lengths do not multiply to the number of elements.
#[doc(hidden)]
pub fn reshaped(from: &[usize], lengths: &[i64]) -> Result<Shape, ArrayError> {
    let wrong = || {
        let what = format!("the shape {lengths:?}");
        ArrayError::Range { op: "reshape", what, shape: from.to_vec() }
    };
    let n: usize = from.iter().product();
    let open = lengths.iter().filter(|&&d| d == -1).count();
    let known = lengths.iter().filter(|&&d| d != -1).map(|&d| usize::try_from(d).ok());
    let known: Shape = known.collect::<Option<_>>().ok_or_else(wrong)?;
    let product = checked_count(&known, MAX_ELEMENTS).map_err(|_| wrong())?;
    let rest = n.checked_div(product).unwrap_or(0);
    if lengths.is_empty() || open > 1 || product * if open == 1 { rest } else { 1 } != n {
        return Err(wrong());
    }
    Ok(lengths.iter().map(|&d| usize::try_from(d).unwrap_or(rest)).collect())
}

/// Inserts an axis of length 1 before the axis of the given number, or after all.
///
/// # Errors
/// There are fewer axes.
pub fn insert_axis<T>(a: &mut Array<T>, axis: i64) -> Result<(), ArrayError> {
    let mut shape = a.shape();
    let found = usize::try_from(axis).ok().filter(|&k| k <= shape.len());
    let axis = found.ok_or_else(|| ArrayError::Axis {
        op: "insert_axis",
        axis,
        shape: a.shape().to_vec(),
    })?;
    shape.insert(axis, 1);
    a.set_shape(&shape);
    Ok(())
}

/// Removes an axis of length 1.
///
/// # Errors
/// There is no such axis, it is longer, or it is the only one.
pub fn drop_axis<T>(a: &mut Array<T>, axis: i64) -> Result<(), ArrayError> {
    let mut shape = a.shape();
    let axis = checked_axis("drop_axis", axis, &shape)?;
    if shape[axis] != 1 || shape.len() < 2 {
        let expected = "an array of two or more axes, of which that one has length 1";
        return Err(ArrayError::shape("drop_axis", expected, &[&shape]));
    }
    shape.remove(axis);
    a.set_shape(&shape);
    Ok(())
}

/// Copies the main diagonal of a matrix.
///
/// # Errors
/// It is no matrix.
pub fn diagonal<T: Clone>(a: &Array<T>, out: &mut Array<T>) -> Result<(), ArrayError> {
    match a.matrix().filter(|_| a.rank() == 2) {
        Some((m, n)) if m == n => {
            out.start(&[n]).extend(a.iter().step_by(n + 1).cloned());
            Ok(())
        }
        _ => Err(ArrayError::shape("diagonal", "a square matrix", &[&a.shape()])),
    }
}

/// Creates the square matrix with the given diagonal.
///
/// # Errors
/// It is no vector.
pub fn diagonal_matrix<T: Clone + Zero>(
    a: &Array<T>,
    out: &mut Array<T>,
) -> Result<(), ArrayError> {
    if !a.is_vector() {
        return Err(ArrayError::shape("diagonal_matrix", "a vector", &[&a.shape()]));
    }
    let n = a.len();
    out.start(&[n, n]).resize_with(n * n, T::zero);
    a.iter().enumerate().for_each(|(k, x)| out[k * (n + 1)] = x.clone());
    Ok(())
}
