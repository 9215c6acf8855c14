//! Sums, products and orders along axes.
//!
//! O(elements) unless said otherwise.

use std::{cmp::Ordering, ops::Range};

use crate::scalar::{Piece, Real, Ring, Scalar, WideLoop, wide};

use super::{
    AT_ONCE, Array, ArrayError, Repeated, Shape, Strided, add_runs, axis_split, broadcast,
    checked_axis, sum,
};

/// Returns the axis, and the shape with length 1 along it.
#[doc(hidden)]
pub fn reduced(op: &'static str, axis: i64, shape: &[usize]) -> Result<(usize, Shape), ArrayError> {
    let k = checked_axis(op, axis, shape)?;
    let mut rest = Shape::from_slice(shape);
    rest[k] = 1;
    Ok((k, rest))
}

/// Sums along an axis, whose length becomes 1.
///
/// # Errors
/// There is no such axis.
pub fn sum_keep<S: Ring>(a: &Array<S>, axis: i64, out: &mut Array<S>) -> Result<(), ArrayError> {
    let shape = a.shape();
    let (_, rest) = reduced("sum_keep", axis, &shape)?;
    sums(a, &shape, &rest, out);
    Ok(())
}

/// Sums to a shape that broadcasts to that of `a`.
fn sums<S: Ring>(a: &[S], from: &[usize], to: &[usize], out: &mut Array<S>) {
    let sums = out.start(to);
    sums.resize(to.iter().product(), S::zero());
    if !a.is_empty() {
        let mut runs = Repeated::new(to, from);
        a.chunks(AT_ONCE).for_each(|items| add_runs(&mut runs, items, sums));
    }
}

/// Sums what broadcasting repeated: to another shape, which broadcasts to that of `a`.
///
/// # Errors
/// The shape `to` does not broadcast to that of `a`.
pub fn sum_like<S: Ring>(a: &Array<S>, to: &[usize], out: &mut Array<S>) -> Result<(), ArrayError> {
    let from = a.shape();
    if broadcast(&from, to).as_ref() != Some(&from) {
        let words = "an array that the other can be repeated to";
        return Err(ArrayError::shape("sum_like", words, &[&from, to]));
    }
    sums(a, &from, to, out);
    Ok(())
}

/// Computes the sums up to each element along an axis; `back`: from each element on.
///
/// # Errors
/// There is no such axis.
pub fn cumulative_sum<S: Ring>(a: &mut Array<S>, axis: i64, back: bool) -> Result<(), ArrayError> {
    let shape = a.shape();
    let axis = checked_axis(if back { "reverse_cumsum" } else { "cumsum" }, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    for block in a.chunks_exact_mut((along * inner).max(1)).take(outer) {
        for step in 1..along {
            let (k, before) =
                if back { (along - 1 - step, along - step) } else { (step, step - 1) };
            for i in 0..inner {
                let sum = block[before * inner + i].clone();
                block[k * inner + i] += sum;
            }
        }
    }
    Ok(())
}

/// Returns the square root of the sum of the squared moduli. Of zeros the derivative is 0, as that
/// of the absolute value, and there are none of higher order.
#[must_use]
pub fn norm<T: Real, S: Scalar<Real = T>>(a: &[S]) -> T {
    let mut total = T::zero();
    let mut few = ChunkBuffer::new();
    for chunk in a.chunks(CHUNK) {
        let some = &mut few.0[..chunk.len()];
        some.iter_mut().zip(chunk).for_each(|(y, x)| *y = x.abs2());
        total += sum(some);
    }
    if total.is_exact_zero() {
        T::zero()
    } else if total.primal() == Some(0.0) {
        a.iter().fold(T::zero(), |h, x| h.hypot(&x.re()).hypot(&x.im()))
    } else {
        <T as Scalar>::sqrt(&total)
    }
}

/// Returns the product of all elements.
#[must_use]
pub fn product<S: Ring>(a: &[S]) -> S {
    // Four chains, so that one product need not wait for the one before.
    let mut chains = [S::one(), S::one(), S::one(), S::one()];
    let fours = a.chunks_exact(4);
    let rest = fours.remainder();
    for four in fours {
        chains.iter_mut().zip(four).for_each(|(p, x)| *p *= x.clone());
    }
    chains.iter_mut().zip(rest).for_each(|(p, x)| *p *= x.clone());
    let [a, b, c, d] = chains;
    (a * &b) * &(c * &d)
}

/// Computes for each element the product of all others: the gradient of the product, also where
/// elements are zero.
pub fn exclusive_products<S: Ring>(a: &Array<S>, out: &mut Array<S>) {
    let to = out.start(&a.shape());
    let mut before = S::one();
    for x in a.iter() {
        to.push(before.clone());
        before *= x.clone();
    }
    let mut after = S::one();
    for (p, x) in to.iter_mut().zip(a.iter()).rev() {
        *p *= after.clone();
        after *= x.clone();
    }
}

/// Computes `y_i = sum_(j != i) v_j prod_(k != i, j) x_k`: how [`exclusive_products`] changes along
/// `v`. Both ways along the array, products of what was passed and their changes are carried. O(n).
///
/// # Errors
/// The shapes differ.
pub fn product_pairs<S: Ring>(
    x: &Array<S>,
    v: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    if !x.same_shape(v) {
        return Err(ArrayError::shape(
            "prod_pairs",
            "two arrays of one shape",
            &[&x.shape(), &v.shape()],
        ));
    }
    let step = |(p, d): &(S, S), x: &S, v: &S| (p * x, d * x + p * v);
    let before = x.iter().zip(v.iter()).scan((S::one(), S::zero()), |state, (x, v)| {
        let next = step(state, x, v);
        Some(std::mem::replace(state, next))
    });
    let before: Vec<(S, S)> = before.collect();
    out.start(&x.shape()).resize(x.len(), S::zero());
    let mut after = (S::one(), S::zero());
    for k in (0..x.len()).rev() {
        let (p, d) = &before[k];
        out[k] = d * &after.0 + p * &after.1;
        after = step(&after, &x[k], &v[k]);
    }
    Ok(())
}

/// Returns the place of the greatest element, or of the least; the first of several.
///
/// # Errors
/// There are no elements, or numbers cannot be compared.
pub fn arg_extreme<T: Real>(a: &[T], greatest: bool) -> Result<usize, ArrayError> {
    let op = if greatest { "argmax" } else { "argmin" };
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let mut best = 0;
    let first = a.first().ok_or(ArrayError::Empty { op })?;
    let nan = |x: &T| compare(op, x, x).map(|order| order.is_none());
    // A NaN wins, so that it is not overlooked.
    if nan(first)? {
        return Ok(0);
    }
    for (k, x) in a.iter().enumerate().skip(1) {
        match compare(op, x, &a[best])? {
            Some(order) if order == wanted => best = k,
            None => return Ok(k),
            _ => {}
        }
    }
    Ok(best)
}

fn compare<T: Real>(op: &'static str, a: &T, b: &T) -> Result<Option<Ordering>, ArrayError> {
    a.try_cmp(b).map_err(|source| ArrayError::Undecided { op, source })
}

/// Computes the order that sorts a vector: the place of the least element, of the next, … Equal
/// elements keep their order, and a NaN counts as greater than all numbers. O(n log n).
///
/// # Errors
/// It is no vector, or numbers cannot be compared.
pub fn argsort<T: Real>(a: &Array<T>, out: &mut Array<i64>) -> Result<(), ArrayError> {
    if !a.is_vector() {
        return Err(ArrayError::shape("argsort", "a vector", &[&a.shape()]));
    }
    if let (Some(first), Some(last)) = (a.first(), a.last()) {
        compare("argsort", first, last)?;
    }
    let nan: Vec<bool> = a.iter().map(|x| !matches!(x.try_cmp(x), Ok(Some(_)))).collect();
    let mut order: Vec<usize> = (0..a.len()).collect();
    order.sort_by(|&i, &j| match a[i].try_cmp(&a[j]) {
        Ok(Some(order)) => order,
        _ => nan[i].cmp(&nan[j]),
    });
    let to = out.start(&[a.len()]);
    to.extend(order.into_iter().map(|k| i64::try_from(k).unwrap_or(i64::MAX)));
    Ok(())
}

/// Number of numbers in a chunk.
const CHUNK: usize = 128;

/// A few numbers on their way.
struct ChunkBuffer<T>([T; CHUNK]);

impl<T: Real> ChunkBuffer<T> {
    fn new() -> ChunkBuffer<T> {
        ChunkBuffer(std::array::from_fn(|_| T::zero()))
    }
}

/// `f` of each number and that in its place.
struct Zip<'a, S, F> {
    numbers: &'a mut [S],
    others: &'a [S],
    f: F,
}

impl<S: Ring, F: Fn(&mut S, &S)> WideLoop for Zip<'_, S, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.numbers.iter_mut().zip(self.others).for_each(|(x, y)| (self.f)(x, y));
    }
}

fn zip<S: Ring>(numbers: &mut [S], others: &[S], f: impl Fn(&mut S, &S)) {
    wide::<S, _>(Zip { numbers, others, f });
}

/// Returns the greatest element, by which exponents are lessened so that they do not overflow; 0
/// for none. 0 for an infinite one too, which would make NaN of equal elements.
///
/// # Errors
/// Numbers cannot be compared.
pub fn shift<T: Real>(a: &[T]) -> Result<T, ArrayError> {
    greatest("shift", a)
}

fn greatest<T: Real>(op: &'static str, a: &[T]) -> Result<T, ArrayError> {
    let undecided = |source| ArrayError::Undecided { op, source };
    let (first, rest) = a.split_at(CHUNK.min(a.len()));
    let mut few = ChunkBuffer::new();
    let columns = &mut few.0[..first.len()];
    columns.clone_from_slice(first);
    for some in rest.chunks(CHUNK) {
        T::raise(columns, some).map_err(undecided)?;
    }
    let Some((greatest, others)) = columns.split_first_mut() else { return Ok(T::zero()) };
    for x in others {
        T::raise(std::slice::from_mut(greatest), std::slice::from_ref(x)).map_err(undecided)?;
    }
    Ok(greatest.finite_value())
}

/// Lines along the middle one of three axes, side by side, a few at a time: `f` is given the rows
/// of such a few, where the k-th is `rows(k)` of the block.
fn side_by_side<E>(
    (outer, along, inner): (usize, usize, usize),
    mut f: impl FnMut(&dyn Fn(usize) -> Range<usize>, usize) -> Result<(), E>,
) -> Result<(), E> {
    for block in 0..outer {
        for first in (0..inner).step_by(CHUNK) {
            let n = CHUNK.min(inner - first);
            let start = block * along * inner + first;
            f(&|k| start + k * inner..start + k * inner + n, n)?;
        }
    }
    Ok(())
}

/// Computes the greatest element of each line, as a constant.
fn shifts<T: Real>(
    op: &'static str,
    a: &[T],
    rows: &dyn Fn(usize) -> Range<usize>,
    along: usize,
    shifts: &mut [T],
) -> Result<(), ArrayError> {
    for k in 0..along {
        match k {
            0 => shifts.clone_from_slice(&a[rows(0)]),
            _ => {
                T::raise(shifts, &a[rows(k)])
                    .map_err(|source| ArrayError::Undecided { op, source })?;
            }
        }
    }
    shifts.iter_mut().for_each(|m| *m = m.finite_value());
    Ok(())
}

/// [`shift`] along an axis, whose length becomes 1.
///
/// # Errors
/// There is no such axis, or numbers cannot be compared.
pub fn shift_keep<T: Real>(a: &Array<T>, axis: i64, out: &mut Array<T>) -> Result<(), ArrayError> {
    const OP: &str = "shift_keep";
    let shape = a.shape();
    let (axis, rest) = reduced(OP, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    let to = out.start(&rest);
    if inner == 1 {
        for k in 0..outer {
            to.push(greatest(OP, &a[k * along..(k + 1) * along])?);
        }
        return Ok(());
    }
    let mut few = ChunkBuffer::new();
    side_by_side((outer, along, inner), |rows, n| {
        let few = &mut few.0[..n];
        few.fill(T::zero());
        shifts(OP, a, rows, along, few)?;
        to.extend_from_slice(few);
        Ok(())
    })
}

/// Computes `exp a_k / sum_j exp a_j` along an axis, without overflow.
///
/// # Errors
/// There is no such axis, or numbers cannot be compared.
pub fn softmax<T: Real>(a: &mut Array<T>, axis: i64) -> Result<(), ArrayError> {
    const OP: &str = "softmax";
    let shape = a.shape();
    let axis = checked_axis(OP, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    if inner == 1 {
        for line in a.chunks_exact_mut(along.max(1)) {
            let m = greatest(OP, line)?;
            line.iter_mut().for_each(|x| *x -= m.clone());
            T::exp_all(line);
            let sum = <T as Scalar>::recip(&sum(line));
            line.iter_mut().for_each(|x| *x *= sum.clone());
        }
        return Ok(());
    }
    let [mut greatest, mut sums] = [ChunkBuffer::new(), ChunkBuffer::new()];
    side_by_side((outer, along, inner), |rows, n| {
        let (greatest, sums) = (&mut greatest.0[..n], &mut sums.0[..n]);
        shifts(OP, a, rows, along, greatest)?;
        sums.fill(T::zero());
        for k in 0..along {
            let row = &mut a[rows(k)];
            zip(row, greatest, |x, m| *x -= m.clone());
            T::exp_all(row);
            zip(sums, row, |s, x| *s += x.clone());
        }
        sums.iter_mut().for_each(|s| *s = <T as Scalar>::recip(s));
        (0..along).for_each(|k| zip(&mut a[rows(k)], sums, |x, s| *x *= s.clone()));
        Ok(())
    })
}

/// 1 where the first is at least the second, else 0; NaN where they cannot be compared. Shapes are
/// broadcast.
///
/// # Errors
/// The shapes do not fit, or numbers have no order.
pub fn step<T: Real>(a: &Array<T>, b: &Array<T>, out: &mut Array<T>) -> Result<(), ArrayError> {
    let (from, other) = (a.shape(), b.shape());
    let expected = "arrays whose shapes are equal or 1 along each axis, counted from the last";
    let shape = broadcast(&from, &other)
        .ok_or_else(|| ArrayError::shape("step", expected, &[&from, &other]))?;
    let undecided = |source| ArrayError::Undecided { op: "step", source };
    let to = out.start(&shape);
    let as_it_is = |x: &Array<T>, its: &[usize]| x.len() == 1 || its == &shape[..];
    if as_it_is(a, &from) && as_it_is(b, &other) {
        to.resize(shape.iter().product(), T::zero());
        return T::piece_all(Piece::Step, [a, b], to).map_err(undecided);
    }
    for (i, j) in Strided::broadcast(&from, &shape).zip(Strided::broadcast(&other, &shape)) {
        to.push(Piece::Step.eval(&a[i], &b[j]).map_err(undecided)?);
    }
    Ok(())
}
