//! Singular values and vectors, on every number type.
//!
//! The values of the numbers are decomposed in `f64`, or `Complex<f64>` where an imaginary part is
//! not zero: reflections make the matrix bidiagonal (`bidiagonal`), rotations make that diagonal
//! (`chase`). What numbers carry besides (derivatives, uncertainty) follows as for the eigenvectors
//! of `[[0, A], [A^H, 0]]`, which are `(u, v)` and `(u, -v)`.

mod bidiagonal;
mod chase;

use std::cmp::Ordering;

use num_complex::Complex;

use crate::scalar::{Real, Scalar};

use super::{
    Array, ArrayError,
    eigen::{
        against, degenerate_ranges, diagonal, first_of_greatest, linear_combinations,
        matrix_elements, perturb, tangent_matrices, to_complex,
    },
    jacobi::{self, fine_unit},
    value::{beyond, is_carrying, lift, unit, values, whole_value},
};
use bidiagonal::{bidiagonal, triangular};

/// Ratio of height to width from which on a matrix becomes a triangle first.
const MUCH: usize = 2;

/// Singular values in descending order as the first row, and below them as columns in the same
/// order the left and the right singular vectors, each of norm 1: `A = U diag(s) V^H`. For a matrix
/// `m x n` and `k = min(m, n)` these are `1 x k`, `m x k` and `n x k`, one below the other.
///
/// ```
/// use ketgrad_core::array::{Array, svd};
///
/// let a = Array::new(&[1, 2], vec![0.0, -2.0])?;
/// let mut y = Array::default();
/// svd(&a, &mut y)?;
/// assert_eq!(y.items(), [2.0, 1.0, 0.0, -1.0]); // s, U, V
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Of each vector of the shorter side (a right one of a square matrix) the first among the elements
/// of greatest modulus (those of at least .9 of it) is real and positive. This holds for values;
/// derivatives are those along `u^H du + v^H dv = 0`. `U` and `V` have orthonormal columns also
/// where singular values are 0.
///
/// `U diag(s) V^H` is `A`, and the vectors are orthonormal, to within rounding: about the length of
/// a side times 2^-53 of the norm. Singular values small beside the norm that are so because
/// columns (of a wide matrix rows) are short keep their digits. Numbers of more bits than 53 are
/// computed with as they are, by Jacobi's rotations, and get all their digits.
///
/// Derivatives and uncertainty that the numbers carry are propagated, of every order. Where
/// singular values are equal or 0, their vectors are some basis of spaces that alone are defined,
/// and carry nothing of each other. Where the numbers carry derivatives it is the one in which
/// these are diagonal, the first ones if there are several.
///
/// About 20 n^3 operations for a square matrix, 4 m n^2 more for a high one; of complex numbers
/// four times all but half of the former.
///
/// # Errors
/// It is no matrix, it has infinite or undefined elements, or numbers without values.
pub fn svd<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    decompose("svd", a, None, out)
}

/// Computes the singular values and vectors of `A + t E` for small `t > 0`, as `t` falls to 0, as
/// [`svd`] gives them: of equal singular values the vectors between which the Hermitian part of
/// `U^H E V` is diagonal, and of singular values 0 those between which `E` has its own singular
/// values.
///
/// # Errors
/// They are no matrices of one shape, A has infinite or undefined elements, or there are numbers
/// without values.
pub fn svd_along<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    e: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    if a.rank() != 2 || !a.same_shape(e) {
        return Err(ArrayError::shape(
            "svd_along",
            "two matrices of one shape",
            &[&a.shape(), &e.shape()],
        ));
    }
    decompose("svd_along", a, Some(e), out)
}

fn decompose<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    along: Option<&Array<S>>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let (m, n) = match a.matrix() {
        Some(lengths) if a.rank() == 2 => lengths,
        _ => return Err(ArrayError::shape(op, "a matrix", &[&a.shape()])),
    };
    let diverges = ArrayError::Diverges { op };
    if let Some(unit) = fine_unit::<T>() {
        let factors = fine_factors(op, a, along.is_some(), (m, n), unit)?;
        return write(factors, (m, n), out);
    }
    let is_carrying = is_carrying(a);
    let all = if is_carrying { m.max(n) } else { m.min(n) };
    let factor = |all: usize| {
        let mut factors = factored(a, (m, n), all)?;
        merge_rounded(m.max(n) as f64 * unit::<T>(), &mut factors.values);
        Some(factors)
    };
    let Some(mut factors) = factor(all) else { return Err(diverges) };
    let is_open = factors.values.last() == Some(&0.0) && m != n;
    if is_open || !degenerate_ranges(&factors.values).is_empty() {
        let along = tangent_matrices(op, a, along)?;
        if let Some(first) = along.first() {
            if is_open && !is_carrying {
                factors = factor(m.max(n)).ok_or(diverges)?;
            }
            rotate(&mut factors, (m, n), first);
        }
    }
    let s = factors.values.clone();
    let factors = factors.with_values(|values| values.into_iter().map(T::lit).collect());
    let factors = match is_carrying {
        true => carried(a.map(beyond), (m, n), factors, &|i, j| s[i] == s[j])?,
        false => factors,
    };
    write(factors, (m, n), out)
}

/// Writes singular values and vectors one below the other.
fn write<T: Real, S: Scalar<Real = T>>(
    SvdFactors { values, left, right }: SvdFactors<T, S>,
    (m, n): (usize, usize),
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let k = m.min(n);
    let to = out.start(&[1 + m + n, k]);
    to.extend(values.into_iter().map(S::from_real));
    for (vectors, length) in [(&left, m), (&right, n)] {
        to.extend((0..length * k).map(|e| vectors[e % k * length + e / k].clone()));
    }
    Ok(())
}

/// Singular values and vectors of numbers of more digits than `f64`.
fn fine_factors<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    is_along: bool,
    (m, n): (usize, usize),
    unit: f64,
) -> Result<SvdFactors<T, S>, ArrayError> {
    let whole: Vec<S> = a.iter().map(whole_value).collect();
    let carried_by = a.iter().zip(&whole).map(|(x, whole)| x.clone() - whole).collect::<Array<S>>();
    let is_carrying = carried_by.iter().any(|x| !x.is_exact_zero());
    let all = if is_carrying { m.max(n) } else { m.min(n) };
    let factors = values(a).and_then(|_| jacobi::svd(&whole, (m, n), all, unit));
    let Some(factors) = factors else { return Err(ArrayError::Diverges { op }) };
    let s: Vec<f64> = factors.values.iter().map(|s| s.primal().unwrap_or(f64::NAN)).collect();
    let least = m.max(n) as f64 * unit * s.first().copied().unwrap_or(0.0);
    let is_equal = |k: usize| {
        let gap = factors.values[k - 1].clone() - &factors.values[k];
        gap.primal().is_none_or(|gap| gap <= least)
    };
    let is_open = m != n && s.last().is_some_and(|s| *s <= least);
    if (is_along || is_carrying) && (is_open || (1..s.len()).any(is_equal)) {
        return Err(ArrayError::Precision { op });
    }
    match is_carrying {
        true => carried(carried_by, (m, n), factors, &|i, j| i == j),
        false => Ok(factors),
    }
}

/// Makes singular values equal that rounding alone tells apart: those within this part of each
/// other.
fn merge_rounded(part: f64, s: &mut [f64]) {
    let mut start = 0;
    for k in 1..=s.len() {
        if k == s.len() || s[start] - s[k] > part * s[start] {
            let mean = s[start]
                - s[start..k].iter().map(|x| s[start] - x).sum::<f64>() / (k - start) as f64;
            s[start..k].fill(mean);
            start = k;
        }
    }
}

/// Rotates vectors of equal singular values into those that a matrix does not mix. Those of 0 are
/// rotated each by itself.
fn rotate<T: Real, S: Scalar<Real = T>>(
    factors: &mut SvdFactors<f64, S>,
    (m, n): (usize, usize),
    e: &[Complex<f64>],
) {
    let (mut u, mut v) = (to_complex(&factors.left), to_complex(&factors.right));
    let s = &factors.values;
    for run in degenerate_ranges(s).into_iter().filter(|run| s[run.start] != 0.0) {
        let (u, v) = (&mut u[run.start * m..run.end * m], &mut v[run.start * n..run.end * n]);
        if let Some((_, mut basis)) = diagonal(run.len(), &matrix_elements(n, e, u, v)) {
            // The greatest derivative first.
            basis.chunks_exact_mut(run.len()).for_each(<[_]>::reverse);
            linear_combinations(m, u, &basis);
            linear_combinations(n, v, &basis);
        }
    }
    let zero = s.iter().position(|s| *s == 0.0).unwrap_or(s.len());
    let (u0, v0) = (&mut u[zero * m..], &mut v[zero * n..]);
    let lengths = (u0.len() / m.max(1), v0.len() / n.max(1));
    if lengths.0.min(lengths.1) > 0 && lengths != (1, 1) {
        let b = matrix_elements(n, e, u0, v0);
        let most = lengths.0.max(lengths.1);
        if b.iter().any(|x| *x != Complex::default())
            && let Some(SvdFactors { left, right, .. }) = factor(lengths, b, most)
        {
            // Those of the shorter side are as many as it is long.
            for (vectors, length, factors, count) in
                [(u0, m, left, lengths.0), (v0, n, right, lengths.1)]
            {
                let basis: Vec<_> =
                    (0..count * count).map(|k| factors[k % count * count + k / count]).collect();
                linear_combinations(length, vectors, &basis);
            }
        }
    }
    for p in 0..s.len() {
        let (u, v) = (&mut u[p * m..(p + 1) * m], &mut v[p * n..(p + 1) * n]);
        let shorter = if m < n { &*u } else { &*v };
        if let Some(q) = first_of_greatest(shorter) {
            let phase = against(shorter[q]);
            u.iter_mut().chain(v).for_each(|x| *x *= phase);
        }
    }
    factors.left = u.into_iter().map(lift).collect();
    factors.right = v.into_iter().map(lift).collect();
}

/// Returns the singular values and vectors of a matrix by value, which carry nothing, and the
/// distance from 1 to the next number. `None` where there are no values, or none that are finite.
pub(super) fn of_values<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    (m, n): (usize, usize),
) -> Option<(SvdFactors<T, S>, f64)> {
    if let Some(unit) = fine_unit::<T>() {
        let whole: Vec<S> = values(a).map(|_| a.iter().map(whole_value).collect())?;
        return Some((jacobi::svd(&whole, (m, n), m.min(n), unit)?, unit));
    }
    let factors = factored(a, (m, n), m.min(n))?;
    Some((factors.with_values(|values| values.into_iter().map(T::lit).collect()), f64::EPSILON))
}

fn factored<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    lengths: (usize, usize),
    all: usize,
) -> Option<SvdFactors<f64, S>> {
    let elements = values(a)?;
    if elements.iter().all(|z| z.im == 0.0) {
        let real = elements.iter().map(|z| z.re).collect();
        factor(lengths, real, all).map(|f| f.map(|x| S::from_real(T::lit(x))))
    } else {
        factor(lengths, elements, all).map(|f| f.map(lift))
    }
}

/// Adds what numbers carry, a matrix without values, to singular values and vectors, of whose
/// longer side all vectors are given; some singular values are equal.
fn carried<T: Real, S: Scalar<Real = T>>(
    a: Array<S>,
    (m, n): (usize, usize),
    factors: SvdFactors<T, S>,
    is_same: &dyn Fn(usize, usize) -> bool,
) -> Result<SvdFactors<T, S>, ArrayError> {
    let SvdFactors { values: s, mut left, mut right } = factors;
    let (k, order) = (m.min(n), m + n);
    let first_positive = order - k;
    let square = |f: &dyn Fn(usize, usize) -> S| {
        Array::new(&[order, order], (0..order * order).map(|e| f(e / order, e % order)).collect())
    };
    let b = square(&|i, j| match (i < m, j < m) {
        (true, false) => a[i * n + j - m].clone(),
        (false, true) => a[j * n + i - m].conj(),
        _ => S::zero(),
    })?;
    // -s, 0 for each vector without a partner, and s.
    let mut values: Array<T> = (0..order)
        .map(|j| match j {
            j if j < k => -s[j].clone(),
            j if j < first_positive => T::zero(),
            j => s[order - 1 - j].clone(),
        })
        .collect();
    // True if two of them are equal: those of one sign that belong to equal singular values, and
    // all that are zero.
    let is_zero =
        |j: usize| (k..first_positive).contains(&j) || s[j.min(order - 1 - j)].is_exact_zero();
    let is_equal = |i: usize, j: usize| match (is_zero(i), is_zero(j)) {
        (false, false) => (i < k) == (j < k) && is_same(i.min(order - 1 - i), j.min(order - 1 - j)),
        (i, j) => i && j,
    };
    let half = S::from_real(<T as Scalar>::sqrt(&T::ratio(1, 2)));
    let mut vectors = square(&|i, j| {
        let is_alone = j >= k && j < first_positive;
        let pair = if j < first_positive { j } else { order - 1 - j };
        let by = |x: &S| if is_alone { x.clone() } else { x * &half };
        match (i < m, j < k) {
            (true, _) if is_alone && m < n => S::zero(),
            (true, _) => by(&left[pair * m + i]),
            (false, _) if is_alone && m > n => S::zero(),
            (false, true) => -by(&right[pair * n + i - m]),
            (false, false) => by(&right[pair * n + i - m]),
        }
    })?;
    perturb(b.to_vec(), &mut values, &mut vectors, &is_equal)?;
    let twice = S::from_real(<T as Scalar>::sqrt(&T::int(2)));
    for p in 0..k {
        let part = |i: usize| beyond(&(&vectors[i * order + order - 1 - p] * &twice));
        left[p * m..(p + 1) * m].iter_mut().enumerate().for_each(|(i, x)| *x += part(i));
        right[p * n..(p + 1) * n].iter_mut().enumerate().for_each(|(i, x)| *x += part(m + i));
    }
    let values = (0..k).map(|p| values[order - 1 - p].clone()).collect();
    Ok(SvdFactors { values, left, right })
}

/// Singular values, and singular vectors one after the other; more of one side than there are
/// values, where asked for.
pub(super) struct SvdFactors<T, F> {
    pub(super) values: Vec<T>,
    pub(super) left: Vec<F>,
    pub(super) right: Vec<F>,
}

impl<T, F> SvdFactors<T, F> {
    fn map<S>(self, f: impl Fn(F) -> S) -> SvdFactors<T, S> {
        let all = |x: Vec<F>| x.into_iter().map(&f).collect();
        SvdFactors { values: self.values, left: all(self.left), right: all(self.right) }
    }

    fn with_values<U>(self, f: impl FnOnce(Vec<T>) -> Vec<U>) -> SvdFactors<U, F> {
        SvdFactors { values: f(self.values), left: self.left, right: self.right }
    }
}

/// Decomposes a matrix, with a given number of vectors of its longer side. `None` where it does not
/// converge.
fn factor<F: Scalar<Real = f64> + Copy>(
    (m, n): (usize, usize),
    mut a: Vec<F>,
    all: usize,
) -> Option<SvdFactors<f64, F>> {
    let greatest = a.iter().fold(0.0, |m: f64, z| m.max(z.re().abs()).max(z.im().abs()));
    let scale = greatest.inverse_size(&0.0).unwrap_or(1.0);
    a.iter_mut().for_each(|x| *x *= F::from_real(scale));
    // The matrix, or its adjoint if that is higher, with the longest columns first, so that short
    // ones keep their digits.
    let is_wide = m < n;
    let element = |i: usize, j: usize| if is_wide { a[j * n + i].conj() } else { a[i * n + j] };
    let (m, n) = (m.max(n), m.min(n));
    let lengths: Vec<f64> = (0..n).map(|j| (0..m).map(|i| element(i, j).abs2()).sum()).collect();
    let columns = descending(&lengths);
    let mut rows = Vec::with_capacity(m * n);
    (0..m).for_each(|i| rows.extend(columns.iter().map(|&j| element(i, j))));
    let triangle = (n > 0 && m >= MUCH * n).then(|| triangular(n, &mut rows));
    let mut reduced = bidiagonal(n, rows);
    let turned = chase::diagonalize(&mut reduced.diagonal, &mut reduced.above)?;
    let order = descending(&reduced.diagonal.iter().map(|x| x.abs()).collect::<Vec<_>>());
    let [mut left, mut right] =
        [(m, all), (n, n)].map(|(length, count)| vec![F::zero(); length * count]);
    for (vectors, turned, length) in [(&mut left, &turned[0], m), (&mut right, &turned[1], n)] {
        for (&k, to) in order.iter().zip(vectors.chunks_exact_mut(length.max(1))) {
            to.iter_mut().zip(turned.vector(k)).for_each(|(to, x)| *to = F::from_real(x));
        }
    }
    // Those without a partner.
    (n..all).for_each(|k| left[k * m + k] = F::one());
    reduced.left.apply(m, &mut left);
    if let Some(triangle) = triangle {
        triangle.apply(m, &mut left);
    }
    reduced.right.apply(n, &mut right);
    // The columns as they were.
    for vector in right.chunks_exact_mut(n.max(1)) {
        let sorted = vector.to_vec();
        columns.iter().zip(sorted).for_each(|(&j, x)| vector[j] = x);
    }
    let mut values = Vec::with_capacity(n);
    for (p, &k) in order.iter().enumerate() {
        let (u, v) = (&mut left[p * m..(p + 1) * m], &mut right[p * n..(p + 1) * n]);
        let q = first_of_greatest(v)?;
        let x = v[q];
        let phase = against(x);
        v.iter_mut().for_each(|x| *x *= phase);
        v[q] = F::from_real(x.abs2().sqrt());
        let sign = F::from_real(1f64.copysign(reduced.diagonal[k])) * phase;
        u.iter_mut().for_each(|x| *x *= sign);
        values.push(reduced.diagonal[k].abs() / scale);
    }
    if is_wide {
        std::mem::swap(&mut left, &mut right);
    }
    Some(SvdFactors { values, left, right })
}

/// Returns the places of numbers in descending order.
fn descending(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&i, &j| numbers[j].partial_cmp(&numbers[i]).unwrap_or(Ordering::Equal));
    order
}
