//! Shapes, axes and broadcasting.

use std::ops::Range;

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
        Strided::new(to, &repeated_strides(from, to))
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

/// How far apart the elements of `from` lie along each axis of `to`, to which it broadcasts; 0 where they are repeated.
pub(super) fn repeated_strides(from: &[usize], to: &[usize]) -> Shape {
    let more = to.len().saturating_sub(from.len());
    let steps = row_major(from);
    let stride = |k: usize| match k.checked_sub(more) {
        Some(j) if from[j] != 1 => steps[j],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
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
///
/// Row by row of the larger shape, elements come in *runs*: a run is `length` elements, the same `period` elements of
/// the array again and again.
#[derive(Debug)]
pub(crate) struct Repeated {
    runs: Runs,
    pub(crate) period: usize,
    length: usize,
    /// The start of the run at hand, and how much of it is done.
    at: usize,
    done: usize,
    /// The start of the run whose elements are in the buffer, repeated.
    kept: Option<usize>,
}

/// Where each run starts.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Along all axes but the last one with runs.
    starts: Strided,
    /// Along that one: the next start, how many are left, how many there are, and how far apart.
    next: usize,
    left: usize,
    count: usize,
    step: usize,
}

impl Iterator for Runs {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            self.next = self.starts.next()?;
            self.left = self.count;
        }
        let at = self.next;
        self.left -= 1;
        self.next += self.step;
        Some(at)
    }
}

/// Where a stretch lies.
#[derive(Clone, Debug)]
pub(crate) enum Window {
    /// In the array itself.
    Array(Range<usize>),
    /// In the buffer.
    Buffer(Range<usize>),
}

impl Repeated {
    /// Reads an array of shape `from` as one of shape `to`, to which it broadcasts and which has elements.
    pub(crate) fn new(from: &[usize], to: &[usize]) -> Repeated {
        let strides = repeated_strides(from, to);
        let last = to.len() - 1;
        let period = if strides[last] == 0 { 1 } else { to[last] };
        // Along the axes between these and the last one nothing changes.
        let outer = strides[..last].iter().rposition(|&s| s != 0).map_or(0, |k| k + 1);
        let length = to[outer..].iter().product();
        let (step, count) = if outer == 0 { (0, 1) } else { (strides[outer - 1], to[outer - 1]) };
        let more = outer.saturating_sub(1);
        let starts = Strided::new(&to[..more], &strides[..more]);
        let mut runs = Runs { starts, next: 0, left: 0, count, step };
        let at = runs.next().unwrap_or(0);
        Repeated { runs, period, length, at, done: 0, kept: None }
    }

    /// Goes on by at most `most` elements that lie in one run: where the run starts, the place of the first one in the
    /// period, and how many they are.
    #[inline]
    pub(crate) fn part(&mut self, most: usize) -> (usize, usize, usize) {
        self.advance();
        let n = (self.length - self.done).min(most);
        let phase = if self.period == 1 { 0 } else { self.done % self.period };
        self.done += n;
        (self.at, phase, n)
    }

    /// The next `len` elements, never more than the first time. What is not there as it is, is copied to the buffer,
    /// which nobody else changes.
    pub(crate) fn next<T: Clone>(&mut self, a: &[T], len: usize, buffer: &mut Vec<T>) -> Window {
        self.advance();
        let Some(first) = a.first() else { return Window::Array(0..0) };
        let phase = self.done % self.period;
        if self.length - self.done < len {
            self.kept = None;
            buffer.resize(len, first.clone());
            self.copy(a, buffer);
            return Window::Buffer(0..len);
        }
        self.done += len;
        if phase + len <= self.period {
            return Window::Array(self.at + phase..self.at + phase + len);
        }
        if self.kept != Some(self.at) {
            self.kept = Some(self.at);
            buffer.resize(self.period + len - 1, first.clone());
            repeat(&a[self.at..self.at + self.period], 0, buffer);
        }
        Window::Buffer(phase..phase + len)
    }

    /// Goes to the next run at the end of one.
    #[inline]
    fn advance(&mut self) {
        if self.done == self.length {
            self.at = self.runs.next().unwrap_or(0);
            self.done = 0;
        }
    }

    /// Copies the next elements.
    pub(crate) fn copy<T: Clone>(&mut self, a: &[T], mut out: &mut [T]) {
        while !out.is_empty() {
            self.advance();
            if self.period == 1 && self.done == 0 && out.len() >= self.length {
                // Whole runs of one number each.
                let (run, behind) = out.split_at_mut(self.length);
                run.fill(a[self.at].clone());
                self.done = self.length;
                out = behind;
                continue;
            }
            let (at, phase, n) = self.part(out.len());
            let (part, behind) = out.split_at_mut(n);
            match &a[at..at + self.period] {
                [x] => part.fill(x.clone()),
                line => repeat(line, phase, part),
            }
            out = behind;
        }
    }
}

/// Fills `out` with a line again and again, from its place `start` on.
fn repeat<T: Clone>(line: &[T], start: usize, out: &mut [T]) {
    let (head, out) = out.split_at_mut((line.len() - start).min(out.len()));
    head.clone_from_slice(&line[start..start + head.len()]);
    let mut have = line.len().min(out.len());
    out[..have].clone_from_slice(&line[..have]);
    while have < out.len() {
        let (done, rest) = out.split_at_mut(have);
        let more = have.min(rest.len());
        rest[..more].clone_from_slice(&done[..more]);
        have += more;
    }
}
