//! Choice of the basis of eigenvectors of equal eigenvalues (degenerate perturbation theory).
//!
//! The eigenvectors of `A + t E` for small `t > 0` turn, as `t` falls to 0, into those of `A`
//! between which `E` is diagonal: its elements there are the derivatives of the eigenvalues, and
//! what else is derived along `E` is right with them alone. Source: Kato, *Perturbation Theory for
//! Linear Operators*, section II.2.

use std::ops::Range;

use num_complex::Complex;

use crate::scalar::{Real, Scalar};

use super::{
    super::{Array, ArrayError},
    decompose, fix_phase,
};

/// Derivatives that differ by no more than this part of the greatest are equal, too.
const EQUAL: f64 = 1e-12;

/// Makes eigenvalues equal that rounding alone tells apart: those within `n` units in the last
/// place of each other, or of the norm if what `A v - w v` leaves of their vectors is no less than
/// their distance. So a matrix with equal eigenvalues has such whatever its basis is, while small
/// ones of a graded matrix stay as they are.
pub(super) fn merge_rounded(
    n: usize,
    unit: f64,
    a: &[Complex<f64>],
    w: &mut [f64],
    v: &[Complex<f64>],
) {
    let norm = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let most = n as f64 * unit;
    let rest = |w: f64, k: usize| {
        let row = |i: usize| {
            let of = |j: usize| 0.5 * (a[i * n + j] + a[j * n + i].conj()) * v[j * n + k];
            ((0..n).map(of).sum::<Complex<f64>>() - w * v[i * n + k]).norm_sqr()
        };
        (0..n).map(row).sum::<f64>().sqrt()
    };
    let mut start = 0;
    for k in 1..=n {
        let is_same = |k: usize| {
            let (x, y) = (w[start], w[k]);
            let gap = y - x;
            gap <= most * norm
                && (gap <= most * x.abs().max(y.abs()) || rest(x, start) + rest(y, k) >= gap)
        };
        if k < n && is_same(k) {
            continue;
        }
        let mean =
            w[start] + w[start..k].iter().map(|x| x - w[start]).sum::<f64>() / (k - start) as f64;
        w[start..k].fill(mean);
        start = k;
    }
}

/// Returns the runs of more than one equal number.
pub(in crate::array) fn degenerate_ranges(w: &[f64]) -> Vec<Range<usize>> {
    ranges_where(w.len(), |k| w[k] == w[k - 1])
}

fn ranges_where(n: usize, is_as_before: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for k in 1..=n {
        if k == n || !is_as_before(k) {
            if k - start > 1 {
                runs.push(start..k);
            }
            start = k;
        }
    }
    runs
}

/// Returns the matrices along which derivatives are looked for, by value: the one that is given,
/// and those that numbers carry. Without those that are zero or not finite.
///
/// # Errors
/// One that has no values, as numbers of several points have none.
pub(in crate::array) fn tangent_matrices<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    given: Option<&Array<S>>,
) -> Result<Vec<Vec<Complex<f64>>>, ArrayError> {
    let mut all = Vec::new();
    if let Some(e) = given {
        let value = |x: T| x.primal().ok_or(ArrayError::Diverges { op });
        let e: Result<_, _> =
            e.iter().map(|x| Ok(Complex::new(value(x.re())?, value(x.im())?))).collect();
        all.push(e?);
    }
    let carried: Vec<_> =
        a.iter().map(|x| (x.re().first_derivatives(), x.im().first_derivatives())).collect();
    let count = carried.iter().map(|(re, im)| re.len().max(im.len())).max().unwrap_or(0);
    let at = |x: &[f64], k: usize| x.get(k).copied().unwrap_or(0.0);
    all.extend(
        (0..count)
            .map(|k| carried.iter().map(|(re, im)| Complex::new(at(re, k), at(im, k))).collect()),
    );
    all.retain(|e: &Vec<Complex<f64>>| {
        e.iter().all(|x| x.is_finite()) && e.iter().any(|x| *x != Complex::default())
    });
    Ok(all)
}

/// Rotates the eigenvectors of equal eigenvalues, columns of a matrix `n x n`, into those between
/// which the first of some matrices is diagonal; of those whose elements there are equal, the
/// second, and so on. Only the Hermitian part of a matrix counts.
pub(super) fn rotate(n: usize, w: &[f64], v: &mut [Complex<f64>], along: &[Vec<Complex<f64>>]) {
    let mut columns: Vec<Complex<f64>> = (0..n * n).map(|k| v[k % n * n + k / n]).collect();
    for run in degenerate_ranges(w) {
        split(n, &mut columns[run.start * n..run.end * n], along);
    }
    (0..n * n).for_each(|k| v[k] = columns[k % n * n + k / n]);
}

fn split(n: usize, vectors: &mut [Complex<f64>], along: &[Vec<Complex<f64>>]) {
    let Some((e, rest)) = along.split_first() else { return };
    let b = matrix_elements(n, e, vectors, vectors);
    let count = vectors.len() / n;
    let Some((values, basis)) = diagonal(count, &b) else { return split(n, vectors, rest) };
    linear_combinations(n, vectors, &basis);
    vectors.chunks_exact_mut(n).for_each(fix_phase);
    let greatest = values.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for run in ranges_where(count, |k| values[k] - values[k - 1] <= EQUAL * greatest) {
        split(n, &mut vectors[run.start * n..run.end * n], rest);
    }
}

/// Computes `u_i^H E v_j` of vectors that lie one after the other.
pub(in crate::array) fn matrix_elements(
    n: usize,
    e: &[Complex<f64>],
    u: &[Complex<f64>],
    v: &[Complex<f64>],
) -> Vec<Complex<f64>> {
    let dot = |x: &[Complex<f64>], y: &[Complex<f64>]| {
        x.iter().zip(y).map(|(x, y)| x * y).sum::<Complex<f64>>()
    };
    let moved: Vec<Vec<Complex<f64>>> =
        v.chunks_exact(n).map(|v| e.chunks_exact(n).map(|row| dot(row, v)).collect()).collect();
    let m = e.len() / n;
    let u: Vec<Vec<Complex<f64>>> =
        u.chunks_exact(m).map(|u| u.iter().map(Complex::conj).collect()).collect();
    u.iter().flat_map(|u| moved.iter().map(|v| dot(u, v))).collect()
}

/// Returns the eigenvalues, ascending, and eigenvectors of the Hermitian part of a matrix; `None`
/// where it is zero.
pub(in crate::array) fn diagonal(
    n: usize,
    b: &[Complex<f64>],
) -> Option<(Vec<f64>, Vec<Complex<f64>>)> {
    let half = |k: usize| 0.5 * (b[k] + b[k % n * n + k / n].conj());
    let mut b: Vec<Complex<f64>> = (0..n * n).map(half).collect();
    let greatest = b.iter().fold(0.0, |m: f64, z| m.max(z.re.abs()).max(z.im.abs()));
    if greatest == 0.0 {
        return None;
    }
    let scale = greatest.inverse_size(&0.0)?;
    b.iter_mut().for_each(|z| *z *= scale);
    decompose(n, b)
}

/// Replaces vectors that lie one after the other by sums of them, whose factors are the columns of
/// a matrix.
pub(in crate::array) fn linear_combinations(
    n: usize,
    vectors: &mut [Complex<f64>],
    basis: &[Complex<f64>],
) {
    let count = vectors.len() / n;
    let old = vectors.to_vec();
    for (j, vector) in vectors.chunks_exact_mut(n).enumerate() {
        vector.fill(Complex::default());
        for (i, old) in old.chunks_exact(n).enumerate() {
            let factor = basis[i * count + j];
            vector.iter_mut().zip(old).for_each(|(to, x)| *to += factor * x);
        }
    }
}

/// Numbers that carry nothing, by value.
pub(in crate::array) fn to_complex<T: Real, S: Scalar<Real = T>>(
    numbers: &[S],
) -> Vec<Complex<f64>> {
    let value = |x: T| x.primal().unwrap_or(f64::NAN);
    numbers.iter().map(|x| Complex::new(value(x.re()), value(x.im()))).collect()
}
