//! Shapes, axes and broadcasting.

use std::ops::AddAssign;

use num_traits::Zero;
use smallvec::SmallVec;

use super::ArrayError;

/// The length along each axis.
pub type Shape = SmallVec<[usize; 4]>;

/// Returns the shape that two shapes have in common when each is repeated along axes of length 1;
/// `None` where they do not fit.
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

/// Returns the axis of the given number.
///
/// # Errors
/// There is no such axis.
pub fn checked_axis(op: &'static str, axis: i64, shape: &[usize]) -> Result<usize, ArrayError> {
    let found = usize::try_from(axis).ok().filter(|&k| k < shape.len());
    found.ok_or_else(|| ArrayError::Axis { op, axis, shape: shape.to_vec() })
}

/// Returns the axes of the given numbers, which are all axes of the shape in some order.
///
/// # Errors
/// There is no such axis, or one comes twice or is missing.
pub fn checked_permutation(
    op: &'static str,
    axes: &[i64],
    shape: &[usize],
) -> Result<Shape, ArrayError> {
    let order: Shape =
        axes.iter().map(|&axis| checked_axis(op, axis, shape)).collect::<Result<_, _>>()?;
    if order.len() != shape.len() || (0..shape.len()).any(|k| !order.contains(&k)) {
        let what = format!("the axes {axes:?}");
        return Err(ArrayError::Range { op, what, shape: shape.to_vec() });
    }
    Ok(order)
}

/// Returns the place in row-major order of the element with the given indices, one for each axis.
///
/// # Errors
/// An index is out of range, or their number is not that of the axes.
pub fn flat_index(shape: &[usize], indices: &[i64]) -> Result<i64, ArrayError> {
    let inside = |at: usize, (&i, &n): (&i64, &usize)| {
        Some(at * n + usize::try_from(i).ok().filter(|&i| i < n)?)
    };
    let fits = indices.len() == shape.len();
    let found = fits.then(|| indices.iter().zip(shape).try_fold(0, inside)).flatten();
    found.and_then(|place| i64::try_from(place).ok()).ok_or_else(|| {
        let what = format!("the element at {indices:?}");
        ArrayError::Range { op: "ravel_multi_index", what, shape: shape.to_vec() }
    })
}

/// Returns the indices of the element at the given place in row-major order, as text: `1,0`.
#[must_use]
pub fn indices_text(shape: &[usize], place: usize) -> String {
    let mut rest = place;
    let mut texts: Vec<String> = shape
        .iter()
        .rev()
        .map(|&n| {
            let index = rest % n.max(1);
            rest /= n.max(1);
            index.to_string()
        })
        .collect();
    texts.reverse();
    texts.join(",")
}

/// The most elements of an array that can be counted.
#[doc(hidden)]
pub const MAX_ELEMENTS: usize = isize::MAX as usize;

/// Returns the number of elements of an array of the given shape.
///
/// # Errors
/// A length is negative, or there are more than `limit` elements.
pub fn count(shape: &[i64], limit: usize) -> Result<i64, ArrayError> {
    let lengths: Option<Shape> = shape.iter().map(|&d| usize::try_from(d).ok()).collect();
    let n = lengths.and_then(|lengths| checked_count(&lengths, limit).ok());
    n.and_then(|n| i64::try_from(n).ok())
        .ok_or_else(|| ArrayError::Lengths { given: shape.to_vec(), limit })
}

/// Returns the number of elements of an array of the given shape. A shape that this allows has no
/// axes whose lengths multiply to more than `limit`, be the array empty along another one, so that
/// products of lengths need not be checked again.
///
/// # Errors
/// There are more than `limit`, or would be with the axes of length 0 left out.
#[doc(hidden)]
pub fn checked_count(shape: &[usize], limit: usize) -> Result<usize, ArrayError> {
    let mut lengths = shape.iter().filter(|&&d| d != 0);
    let n = lengths.try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= limit);
    let n = n.map(|n| if shape.contains(&0) { 0 } else { n });
    n.ok_or_else(|| {
        let given = shape.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
        ArrayError::Lengths { given, limit }
    })
}

/// Numbers of elements before an axis, along it, and after it.
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
    /// Creates the iterator over a shape, with a stride for each axis.
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

    /// Returns an array of shape `from` read as one of shape `to`, to which it broadcasts.
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

/// Returns the stride of `from` along each axis of `to`, to which it broadcasts; 0
/// where they are repeated.
pub(super) fn repeated_strides(from: &[usize], to: &[usize]) -> Shape {
    let more = to.len().saturating_sub(from.len());
    let steps = row_major(from);
    let stride = |k: usize| match k.checked_sub(more) {
        Some(j) if from[j] != 1 => steps[j],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// Returns the step of each axis in row-major order.
pub(crate) fn row_major(shape: &[usize]) -> SmallVec<[usize; 4]> {
    let mut steps: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for k in (1..shape.len()).rev() {
        steps[k - 1] = steps[k] * shape[k];
    }
    steps
}

/// Merges axes, and returns the same places with as few as can be, at least one: those of length 1
/// are left out, and two become one where a step along the first is as far as all steps along the
/// second.
fn joined(shape: &[usize], strides: &[usize]) -> (Shape, Shape) {
    let (mut lengths, mut steps) = (Shape::new(), Shape::new());
    for (&n, &step) in shape.iter().zip(strides).filter(|(n, _)| **n != 1) {
        match (lengths.last_mut(), steps.last_mut()) {
            (Some(outer), Some(far)) if *far == step * n => (*outer, *far) = (*outer * n, step),
            _ => {
                lengths.push(n);
                steps.push(step);
            }
        }
    }
    if lengths.is_empty() {
        (lengths, steps) = (Shape::from_slice(&[1]), Shape::from_slice(&[0]));
    }
    (lengths, steps)
}

/// Array broadcast to a larger shape, read chunk by chunk.
///
/// Row by row of the larger shape, elements come in *runs*: a run is `length` elements, the same
/// `period` elements of the array again and again. Axes that lie together in both are one.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Repeated {
    runs: RunStarts,
    #[doc(hidden)]
    pub period: usize,
    length: usize,
    /// The start of the current run, and how much of it is done.
    at: usize,
    done: usize,
    /// The start of the run whose elements are in the buffer, repeated.
    kept: Option<usize>,
}

/// Runs of `length` elements, `count` of them, each of which is one number repeated: the first of
/// these is at `at`, the next `step` further.
pub(crate) struct ConstantRuns {
    pub(crate) length: usize,
    pub(crate) count: usize,
    pub(crate) at: usize,
    pub(crate) step: usize,
}

/// Start of each run.
#[derive(Clone, Debug)]
pub(crate) struct RunStarts {
    /// Along all axes but the last one with runs.
    starts: Strided,
    /// Along that one: the next start, how many are left, how many there are, and how far apart.
    next: usize,
    left: usize,
    count: usize,
    step: usize,
}

impl Iterator for RunStarts {
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

/// An array read in pieces from other places, chunk by chunk: a part of each run of elements,
/// or among zeros.
///
/// The result is runs of `run` elements. Each has `body` elements of the array, from its place
/// `lead` on, and zeros before and after; those of the k-th run start at `from + k step`.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct RunCopy {
    run: usize,
    lead: usize,
    body: usize,
    from: usize,
    step: usize,
}

impl RunCopy {
    /// Selects `len` elements along an axis of an array, from `start` on, and their shape.
    ///
    /// # Errors
    /// There is no such axis, or the range leaves it.
    #[doc(hidden)]
    pub fn slice(
        shape: &[usize],
        axis: i64,
        start: i64,
        len: i64,
    ) -> Result<(Shape, RunCopy), ArrayError> {
        let axis = checked_axis("slice", axis, shape)?;
        let (_, along, inner) = axis_split(shape, axis);
        let (start, len) = checked_range("slice", start, len, along, shape)?;
        let mut part = Shape::from_slice(shape);
        part[axis] = len;
        let run = len * inner;
        Ok((part, RunCopy { run, lead: 0, body: run, from: start * inner, step: along * inner }))
    }

    /// Returns an array of shape `part` at its place among zeros, in the shape `whole`.
    ///
    /// # Errors
    /// It does not fit there.
    #[doc(hidden)]
    pub fn pad(
        op: &'static str,
        part: &[usize],
        whole: &[usize],
        axis: i64,
        start: i64,
    ) -> Result<RunCopy, ArrayError> {
        let axis = checked_axis(op, axis, whole)?;
        let (_, along, inner) = axis_split(whole, axis);
        let mut expected = Shape::from_slice(whole);
        expected[axis] = part.get(axis).copied().unwrap_or(0);
        if expected.as_slice() != part {
            let words = "a part that differs from the whole along one axis";
            return Err(ArrayError::shape(op, words, &[part, whole]));
        }
        let len = i64::try_from(expected[axis]).unwrap_or(i64::MAX);
        let (start, len) = checked_range(op, start, len, along, whole)?;
        let body = len * inner;
        Ok(RunCopy { run: along * inner, lead: start * inner, body, from: 0, step: body })
    }

    /// Returns the elements from the place `start` on. What is not there as it is, is copied to the
    /// buffer.
    #[inline]
    #[doc(hidden)]
    pub fn next<T: Clone + Zero>(
        &self,
        a: &[T],
        start: usize,
        len: usize,
        buffer: &mut Vec<T>,
    ) -> ChunkSource {
        let (k, at) = self.run_and_offset(start);
        if at >= self.lead && at + len <= self.lead + self.body {
            return ChunkSource::Array(self.from + k * self.step + at - self.lead);
        }
        buffer.resize(len, T::zero());
        self.copy(a, start, buffer);
        ChunkSource::Buffer(0)
    }

    /// Returns the run of an element, and the offset of the element within the run.
    #[inline]
    fn run_and_offset(&self, start: usize) -> (usize, usize) {
        // Most often there is one run, and a division costs as much as many elements.
        if start < self.run {
            (0, start)
        } else {
            (start / self.run.max(1), start % self.run.max(1))
        }
    }

    /// Adds the elements to those of an array as large as all of them with their zeros.
    #[doc(hidden)]
    pub fn add<T: Clone + AddAssign>(&self, a: &[T], out: &mut [T]) {
        for (k, run) in out.chunks_mut(self.run.max(1)).enumerate() {
            let from = a.iter().skip(self.from + k * self.step);
            run.iter_mut()
                .skip(self.lead)
                .take(self.body)
                .zip(from)
                .for_each(|(x, y)| *x += y.clone());
        }
    }

    /// Copies what is moved and leaves the rest.
    pub(crate) fn copy_into<T: Clone>(&self, a: &[T], out: &mut [T]) {
        for (k, run) in out.chunks_mut(self.run.max(1)).enumerate().filter(|_| self.body > 0) {
            let from = self.from + k * self.step;
            run[self.lead..self.lead + self.body].clone_from_slice(&a[from..from + self.body]);
        }
    }

    /// Copies the elements from the place `start` on.
    pub(crate) fn copy<T: Clone + Zero>(&self, a: &[T], start: usize, mut out: &mut [T]) {
        let (mut k, mut at) = self.run_and_offset(start);
        while !out.is_empty() {
            let (run, rest) = out.split_at_mut((self.run - at).min(out.len()));
            let end = at + run.len();
            // Bounds of the body within this piece.
            let [first, last] =
                [self.lead, self.lead + self.body].map(|edge| edge.clamp(at, end) - at);
            run[..first].fill(T::zero());
            run[last..].fill(T::zero());
            if first < last {
                let from = self.from + k * self.step + at + first - self.lead;
                run[first..last].clone_from_slice(&a[from..from + last - first]);
            }
            (k, at) = (k + 1, 0);
            out = rest;
        }
    }
}

/// Returns a range along an axis of the given length.
fn checked_range(
    op: &'static str,
    start: i64,
    len: i64,
    along: usize,
    shape: &[usize],
) -> Result<(usize, usize), ArrayError> {
    let range = usize::try_from(start).ok().zip(usize::try_from(len).ok());
    let fits = range.filter(|(s, n)| s.checked_add(*n).is_some_and(|end| end <= along));
    fits.ok_or_else(|| {
        let what = format!("{len} elements from {start} on along an axis of {along}");
        ArrayError::Range { op, what, shape: shape.to_vec() }
    })
}

/// Source of a chunk, with its offset.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum ChunkSource {
    /// Offset in the array itself.
    Array(usize),
    /// Offset in the buffer.
    Buffer(usize),
}

impl Repeated {
    /// Reads an array of shape `from` as one of shape `to`, to which it broadcasts and which has
    /// elements.
    #[doc(hidden)]
    pub fn new(from: &[usize], to: &[usize]) -> Repeated {
        let (to, strides) = joined(to, &repeated_strides(from, to));
        let last = to.len() - 1;
        let period = if strides[last] == 0 { 1 } else { to[last] };
        // Along the axes between these and the last one nothing changes.
        let outer = strides[..last].iter().rposition(|&s| s != 0).map_or(0, |k| k + 1);
        let length = to[outer..].iter().product();
        let (step, count) = if outer == 0 { (0, 1) } else { (strides[outer - 1], to[outer - 1]) };
        let more = outer.saturating_sub(1);
        let starts = Strided::new(&to[..more], &strides[..more]);
        let mut runs = RunStarts { starts, next: 0, left: 0, count, step };
        let at = runs.next().unwrap_or(0);
        Repeated { runs, period, length, at, done: 0, kept: None }
    }

    /// Goes on by at most `most` elements that lie in one run: where the run starts, the place of
    /// the first one in the period, and how many they are.
    #[inline]
    pub(crate) fn part(&mut self, most: usize) -> (usize, usize, usize) {
        self.advance();
        let n = (self.length - self.done).min(most);
        let phase = if self.period == 1 { 0 } else { self.done % self.period };
        self.done += n;
        (self.at, phase, n)
    }

    /// Returns the next `len` elements, never more than the first time. What is not there as it is,
    /// is copied to the buffer, which no other code changes.
    #[doc(hidden)]
    pub fn next<T: Clone>(&mut self, a: &[T], len: usize, buffer: &mut Vec<T>) -> ChunkSource {
        self.advance();
        let Some(first) = a.first() else { return ChunkSource::Array(0) };
        let phase = if self.done < self.period { self.done } else { self.done % self.period };
        if self.length - self.done < len {
            self.kept = None;
            buffer.resize(len, first.clone());
            self.copy(a, buffer);
            return ChunkSource::Buffer(0);
        }
        self.done += len;
        if phase + len <= self.period {
            return ChunkSource::Array(self.at + phase);
        }
        if self.kept != Some(self.at) {
            self.kept = Some(self.at);
            buffer.resize(self.period + len - 1, first.clone());
            repeat(&a[self.at..self.at + self.period], 0, buffer);
        }
        ChunkSource::Buffer(phase)
    }

    /// Goes to the next run at the end of one.
    #[inline]
    fn advance(&mut self) {
        if self.done == self.length {
            self.at = self.runs.next().unwrap_or(0);
            self.done = 0;
        }
    }

    /// Fills whole runs of one number each, from the start of a run on. The part that it returns is
    /// shorter than a run.
    fn fill<'b, T: Clone>(&mut self, a: &[T], out: &'b mut [T]) -> &'b mut [T] {
        let mut lines = out.chunks_exact_mut(self.length);
        for (k, line) in lines.by_ref().enumerate() {
            if k > 0 {
                self.at = self.runs.next().unwrap_or(0);
            }
            line.fill(a[self.at].clone());
        }
        self.done = self.length;
        lines.into_remainder()
    }

    /// Goes on by whole runs of one number each that follow, of at most `most` elements
    /// together.
    pub(crate) fn lines(&mut self, most: usize) -> Option<ConstantRuns> {
        if self.period != 1 || self.length > most {
            return None;
        }
        self.advance();
        if self.done != 0 {
            return None;
        }
        let count = (most / self.length).min(1 + self.runs.left);
        let lines = ConstantRuns { length: self.length, count, at: self.at, step: self.runs.step };
        self.runs.left -= count - 1;
        self.runs.next += (count - 1) * lines.step;
        (self.at, self.done) = (lines.at + (count - 1) * lines.step, self.length);
        Some(lines)
    }

    /// Copies the next elements.
    pub(crate) fn copy<T: Clone>(&mut self, a: &[T], mut out: &mut [T]) {
        while !out.is_empty() {
            self.advance();
            if self.period == 1 && self.done == 0 && out.len() >= self.length {
                out = self.fill(a, out);
                continue;
            }
            let (at, phase, n) = self.part(out.len());
            let (part, rest) = out.split_at_mut(n);
            match &a[at..at + self.period] {
                [x] => part.fill(x.clone()),
                line => repeat(line, phase, part),
            }
            out = rest;
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
