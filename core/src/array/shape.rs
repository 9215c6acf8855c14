//! Shapes, axes and broadcasting.

use smallvec::SmallVec;

use super::ArrayError;

/// The length along each axis.
pub type Shape = SmallVec<[usize; 4]>;

/// The shape that two shapes have in common when each is repeated along axes of length 1; `None` where they do
/// not fit.
#[must_use]
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let length = |s: &[usize], k: usize| (k + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank)
        .map(|k| match (length(a, k), length(b, k)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// The axis of the given number.
///
/// # Errors
/// There is none.
pub fn checked_axis(op: &'static str, axis: i64, shape: &[usize]) -> Result<usize, ArrayError> {
    let found = usize::try_from(axis).ok().filter(|&k| k < shape.len());
    found.ok_or_else(|| ArrayError::Axis { op, axis, shape: shape.to_vec() })
}

/// The place in row-major order of the element with the given indices, one for each axis.
///
/// # Errors
/// An index is out of range, or their number is not that of the axes.
pub fn place(shape: &[usize], indices: &[i64]) -> Result<i64, ArrayError> {
    let inside = |(&i, &n): (&i64, &usize)| usize::try_from(i).ok().filter(|&i| i < n);
    let fits = indices.len() == shape.len();
    let indexed: Option<Shape> = indices.iter().zip(shape).map(inside).collect();
    let Some(indexed) = indexed.filter(|_| fits) else {
        let what = format!("the element at {indices:?}");
        return Err(ArrayError::Range { op: "place", what, shape: shape.to_vec() });
    };
    let place = indexed.iter().zip(shape).fold(0, |at, (&i, &n)| at * n + i);
    Ok(i64::try_from(place).unwrap_or(i64::MAX))
}

/// How many elements an array of the given shape has.
///
/// # Errors
/// A length is negative, or there are more than `limit` elements.
pub fn count(shape: &[i64], limit: usize) -> Result<i64, ArrayError> {
    let mut lengths = shape.iter().map(|&d| usize::try_from(d).ok());
    let n = lengths.try_fold(1usize, |n, d| n.checked_mul(d?)).filter(|&n| n <= limit);
    n.and_then(|n| i64::try_from(n).ok()).ok_or_else(|| ArrayError::Lengths { given: shape.to_vec(), limit })
}

/// How many elements an array of the given shape has.
///
/// # Errors
/// There are more than `limit`.
pub(crate) fn checked_count(shape: &[usize], limit: usize) -> Result<usize, ArrayError> {
    let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= limit);
    n.ok_or_else(|| {
        let given = shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
        ArrayError::Lengths { given, limit }
    })
}

/// A shape around an axis: how many elements there are before it, along it, and behind it.
#[must_use]
pub fn axis_split(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    let (outer, rest) = shape.split_at(axis);
    (outer.iter().product(), rest[0], rest[1..].iter().product())
}

/// The places in a row-major array that the elements of a larger shape read, in order.
///
/// ```
/// use ketgrad_core::array::Strided;
///
/// // [2, 1] read as [2, 3]
/// assert_eq!(Strided::broadcast(&[2, 1], &[2, 3]).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Strided {
    shape: Shape,
    strides: SmallVec<[usize; 4]>,
    index: Shape,
    at: usize,
    left: usize,
}

impl Strided {
    /// Over a shape, with a step for each axis.
    #[must_use]
    pub fn new(shape: &[usize], strides: &[usize]) -> Strided {
        Strided {
            shape: Shape::from_slice(shape),
            strides: SmallVec::from_slice(strides),
            index: SmallVec::from_elem(0, shape.len()),
            at: 0,
            left: shape.iter().product(),
        }
    }

    /// An array of shape `from` read as one of shape `to`, to which it broadcasts.
    #[must_use]
    pub fn broadcast(from: &[usize], to: &[usize]) -> Strided {
        let more = to.len().saturating_sub(from.len());
        let steps = row_major(from);
        let strides: SmallVec<[usize; 4]> = (0..to.len())
            .map(|k| match k.checked_sub(more) {
                Some(j) if from[j] != 1 => steps[j],
                _ => 0,
            })
            .collect();
        Strided::new(to, &strides)
    }
}

impl Iterator for Strided {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        for k in (0..self.shape.len()).rev() {
            self.index[k] += 1;
            self.at += self.strides[k];
            if self.index[k] < self.shape[k] {
                break;
            }
            self.at -= self.strides[k] * self.shape[k];
            self.index[k] = 0;
        }
        Some(at)
    }
}

/// The step of each axis in row-major order.
pub(crate) fn row_major(shape: &[usize]) -> SmallVec<[usize; 4]> {
    let mut steps: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for k in (1..shape.len()).rev() {
        steps[k - 1] = steps[k] * shape[k];
    }
    steps
}

/// An array read as one of a larger shape, stretch by stretch.
#[derive(Debug)]
pub(crate) struct Repeated {
    /// Where each line along the last axis starts.
    lines: Strided,
    /// The length of a line, and whether its elements are all one.
    length: usize,
    constant: bool,
    /// The start of the line at hand, and how much of it is done.
    at: usize,
    done: usize,
}

impl Repeated {
    pub(crate) fn new(from: &[usize], to: &[usize]) -> Repeated {
        let (length, outer) = to.split_last().map_or((1, to), |(n, outer)| (*n, outer));
        let constant = from.last().is_none_or(|&n| n == 1);
        // The last axis of `from` belongs to its steps.
        let steps = row_major(from);
        let more = to.len() - from.len();
        let strides: Shape = (0..outer.len())
            .map(|k| match k.checked_sub(more) {
                Some(j) if from[j] != 1 => steps[j],
                _ => 0,
            })
            .collect();
        let mut lines = Strided::new(outer, &strides);
        let at = lines.next().unwrap_or(0);
        Repeated { lines, length, constant, at, done: 0 }
    }

    /// Writes the next `len` elements in place of what is in `out`.
    pub(crate) fn fill<T: Clone>(&mut self, a: &[T], len: usize, out: &mut Vec<T>) {
        out.clear();
        while out.len() < len {
            if self.done == self.length {
                self.at = self.lines.next().unwrap_or(0);
                self.done = 0;
            }
            let n = (self.length - self.done).min(len - out.len());
            if self.constant {
                out.resize(out.len() + n, a[self.at].clone());
            } else {
                out.extend_from_slice(&a[self.at + self.done..self.at + self.done + n]);
            }
            self.done += n;
        }
    }
}
