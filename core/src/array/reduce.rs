//! Sums, products and orders along axes.
//!
//! O(elements) unless said otherwise.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::scalar::{Real, Ring, Scalar};

use super::{Array, ArrayError, Shape, Strided, axis_split, broadcast, checked_axis};

/// How many elements are summed before the sum is added to the others.
const BLOCK: usize = 512;

/// The sum of numbers: blocks of 512, each in eight columns. The order depends on the number of elements alone.
#[must_use]
pub fn sum<S: Ring>(items: &[S]) -> S {
    let mut total = S::zero();
    for block in items.chunks(BLOCK) {
        let eights = block.chunks_exact(8);
        let rest = S::sum(eights.remainder().iter().cloned());
        if block.len() < 8 {
            total += rest;
            continue;
        }
        let mut columns: [S; 8] = std::array::from_fn(|_| S::zero());
        for eight in eights {
            columns.iter_mut().zip(eight).for_each(|(s, x)| *s += x.clone());
        }
        let [a, b, c, d, e, f, g, h] = columns;
        total += ((a + &b) + (c + &d)) + ((e + &f) + (g + &h)) + rest;
    }
    total
}

/// The axis, and the shape with length 1 along it.
fn reduced(op: &'static str, axis: i64, shape: &[usize]) -> Result<(usize, Shape), ArrayError> {
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
    let (axis, rest) = reduced("sum_keep", axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    let to = out.start(&rest);
    for k in 0..outer {
        let block = &a[k * along * inner..(k + 1) * along * inner];
        if inner == 1 {
            to.push(sum(block));
            continue;
        }
        let first = to.len();
        to.resize(first + inner, S::zero());
        for row in block.chunks_exact(inner.max(1)) {
            to[first..].iter_mut().zip(row).for_each(|(s, x)| *s += x.clone());
        }
    }
    Ok(())
}

/// Sums what broadcasting repeated: to the shape of another array, which broadcasts to that of `a`.
///
/// # Errors
/// It does not.
pub fn sum_like<S: Ring, U>(a: &Array<S>, other: &Array<U>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let (from, to) = (a.shape(), other.shape());
    if broadcast(&from, &to).as_ref() != Some(&from) {
        let words = "an array that the other can be repeated to";
        return Err(ArrayError::shape("sum_like", words, &[&from, &to]));
    }
    let sums = out.start(&to);
    sums.resize(other.len(), S::zero());
    // The commonest case: rows that were repeated.
    if from.ends_with(&to) && !sums.is_empty() {
        for row in a.chunks_exact(sums.len()) {
            sums.iter_mut().zip(row).for_each(|(s, x)| *s += x.clone());
        }
        return Ok(());
    }
    for (x, k) in a.iter().zip(Strided::broadcast(&to, &from)) {
        sums[k] += x.clone();
    }
    Ok(())
}

/// The sums up to each element along an axis; `back`: from each element on.
///
/// # Errors
/// There is no such axis.
pub fn cumulative_sum<S: Ring>(a: &mut Array<S>, axis: i64, back: bool) -> Result<(), ArrayError> {
    let shape = a.shape();
    let axis = checked_axis(if back { "cumsum_back" } else { "cumsum" }, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    for block in a.chunks_exact_mut((along * inner).max(1)).take(outer) {
        for step in 1..along {
            let (k, before) = if back { (along - 1 - step, along - step) } else { (step, step - 1) };
            for i in 0..inner {
                let sum = block[before * inner + i].clone();
                block[k * inner + i] += sum;
            }
        }
    }
    Ok(())
}

/// The product of all elements.
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

/// For each element the product of all others: the gradient of the product, also where elements are zero.
pub fn products_of_others<S: Ring>(a: &Array<S>, out: &mut Array<S>) {
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

/// `y_i = sum_(j != i) v_j prod_(k != i, j) x_k`: how [`products_of_others`] changes along `v`. Both ways along the
/// array, products of what was passed and their changes are carried. O(n).
///
/// # Errors
/// The shapes differ.
pub fn product_pairs<S: Ring>(x: &Array<S>, v: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    if !x.same_shape(v) {
        return Err(ArrayError::shape("prod_pairs", "two arrays of one shape", &[&x.shape(), &v.shape()]));
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

/// The place of the greatest element, or of the least; the first of several.
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

/// The order that sorts a vector: the place of the least element, of the next, … Equal elements keep their order,
/// and a NaN counts as greater than all numbers. O(n log n).
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

/// The greatest element of each line along an axis, as a constant: what keeps exponentials from overflowing.
fn shift<T: Real>(op: &'static str, line: impl Iterator<Item = T> + Clone) -> Result<T, ArrayError> {
    let mut greatest: Option<T> = None;
    for x in line {
        let more = match &greatest {
            Some(g) => compare(op, &x, g)? != Some(Ordering::Less),
            None => true,
        };
        if more {
            greatest = Some(x);
        }
    }
    // Its derivative is left out: any constant will do. An infinite one would make NaN of equal elements.
    let value = greatest.as_ref().and_then(Real::primal).filter(|x| x.is_finite());
    Ok(T::lit(value.unwrap_or(0.0)))
}

/// How many numbers are worked on at once.
const STRETCH: usize = 64;

/// `ln sum_k exp a_k` without overflow; minus infinity for no elements.
///
/// # Errors
/// Numbers cannot be compared.
pub fn logsumexp<T: Real>(a: &[T]) -> Result<T, ArrayError> {
    let m = shift("logsumexp", a.iter().cloned())?;
    Ok(log_sum(a, m))
}

/// `ln sum_k exp(a_k - m) + m`
fn log_sum<T: Real>(a: &[T], m: T) -> T {
    let mut total = T::zero();
    let mut some: SmallVec<[T; STRETCH]> = SmallVec::new();
    for stretch in a.chunks(STRETCH) {
        some.clear();
        some.extend(stretch.iter().map(|x| x.clone() - &m));
        T::exp_all(&mut some);
        total += sum(&some);
    }
    <T as Scalar>::ln(&total) + m
}

/// [`logsumexp`] along an axis, whose length becomes 1.
///
/// # Errors
/// There is no such axis, or numbers cannot be compared.
pub fn logsumexp_keep<T: Real>(a: &Array<T>, axis: i64, out: &mut Array<T>) -> Result<(), ArrayError> {
    const OP: &str = "logsumexp_keep";
    let shape = a.shape();
    let (axis, rest) = reduced(OP, axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    let to = out.start(&rest);
    if inner == 1 {
        for k in 0..outer {
            let line = &a[k * along..(k + 1) * along];
            to.push(log_sum(line, shift(OP, line.iter().cloned())?));
        }
        return Ok(());
    }
    // Side by side, a few lines at a time.
    let [mut shifts, mut sums, mut row]: [SmallVec<[T; STRETCH]>; 3] = Default::default();
    for k in 0..outer {
        for first in (0..inner).step_by(STRETCH) {
            let n = STRETCH.min(inner - first);
            let at = |j: usize| {
                let start = (k * along + j) * inner + first;
                start..start + n
            };
            shifts.clear();
            for i in 0..n {
                shifts.push(shift(OP, (0..along).map(|j| a[at(j).start + i].clone()))?);
            }
            sums.clear();
            sums.resize(n, T::zero());
            for j in 0..along {
                row.clear();
                row.extend(a[at(j)].iter().zip(&shifts).map(|(x, m)| x.clone() - m));
                T::exp_all(&mut row);
                sums.iter_mut().zip(&row).for_each(|(s, x)| *s += x.clone());
            }
            to.extend(sums.iter().zip(&shifts).map(|(s, m)| <T as Scalar>::ln(s) + m));
        }
    }
    Ok(())
}

/// `exp a_k / sum_j exp a_j` along an axis, without overflow.
///
/// # Errors
/// There is no such axis, or numbers cannot be compared.
pub fn softmax<T: Real>(a: &mut Array<T>, axis: i64) -> Result<(), ArrayError> {
    let shape = a.shape();
    let axis = checked_axis("softmax", axis, &shape)?;
    let (outer, along, inner) = axis_split(&shape, axis);
    for (k, i) in (0..outer).flat_map(|k| (0..inner).map(move |i| (k, i))) {
        let place = |j: usize| (k * along + j) * inner + i;
        let m = shift("softmax", (0..along).map(|j| a[place(j)].clone()))?;
        (0..along).for_each(|j| a[place(j)] = (a[place(j)].clone() - &m).exp());
        let sum = <T as Scalar>::recip(&T::sum((0..along).map(|j| a[place(j)].clone())));
        (0..along).for_each(|j| a[place(j)] *= sum.clone());
    }
    Ok(())
}

/// The sum of the products of the elements of two arrays of one shape. Nothing is conjugated.
///
/// # Errors
/// The shapes differ.
pub fn dot<S: Ring>(a: &Array<S>, b: &Array<S>) -> Result<S, ArrayError> {
    if !a.same_shape(b) {
        return Err(ArrayError::shape("dot", "two arrays of one shape", &[&a.shape(), &b.shape()]));
    }
    let mut columns: [S; 8] = std::array::from_fn(|_| S::zero());
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = S::sum(x.remainder().iter().zip(y.remainder()).map(|(x, y)| x * y));
    for (x, y) in x.zip(y) {
        columns.iter_mut().zip(x.iter().zip(y)).for_each(|(s, (x, y))| s.mul_add_assign(x, y));
    }
    Ok(sum(&columns) + rest)
}

/// 1 where the first is at least the second, else 0; NaN where they cannot be compared. Shapes are broadcast.
///
/// # Errors
/// The shapes do not fit, or numbers have no order.
pub fn step<T: Real>(a: &Array<T>, b: &Array<T>, out: &mut Array<T>) -> Result<(), ArrayError> {
    let (from, other) = (a.shape(), b.shape());
    let expected = "arrays whose shapes are equal or 1 along each axis, counted from the last";
    let shape =
        broadcast(&from, &other).ok_or_else(|| ArrayError::shape("step", expected, &[&from, &other]))?;
    let to = out.start(&shape);
    for (i, j) in Strided::broadcast(&from, &shape).zip(Strided::broadcast(&other, &shape)) {
        to.push(match compare("step", &a[i], &b[j])? {
            Some(Ordering::Less) => T::zero(),
            Some(_) => T::one(),
            None => T::lit(f64::NAN),
        });
    }
    Ok(())
}
