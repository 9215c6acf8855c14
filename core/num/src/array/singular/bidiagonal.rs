//! A matrix by reflections to a real upper bidiagonal one, and vectors back.
//!
//! ```text
//! A = U B V^H,  U = G_0 G_1 …,  V = H_0 H_1 …,  each of them 1 - t u u^H
//! ```
//!
//! `G_k` makes column `k` zero below the diagonal, `H_k` row `k` after its second element. Each
//! step goes twice over what is left of the matrix: once for `u^H A`, and once row by row, where
//! the first reflection, the product with the second vector and the second reflection find the row
//! in the first cache. A matrix much higher than wide becomes a triangle first. Source: Golub and
//! Van Loan, *Matrix Computations*, section 5.4.8.

use std::array::from_fn;

use crate::scalar::{Scalar, WideLoop, wide};

use super::super::{
    eigen::{COLUMNS, dot, total},
    orthogonal::reflection,
};

/// Vectors that go through all reflections together stay in the first cache.
const TOGETHER: usize = 4;
/// Rows that are added up at a time.
const ROWS: usize = 4;

/// A product of reflections of vectors.
pub(super) struct Reflections<F> {
    /// Index of the first element, `u` from there on, and `t` of each reflection.
    all: Vec<(usize, Vec<F>, F)>,
}

impl<F: Scalar<Real = f64> + Copy> Reflections<F> {
    fn new() -> Reflections<F> {
        Reflections { all: Vec::new() }
    }

    /// Replaces vectors of `len` elements, one after the other, by the product times them; it may
    /// be one of the first elements alone.
    pub(super) fn apply(&self, len: usize, vectors: &mut [F]) {
        wide::<f64, _>(ApplyReflections(self, len, vectors));
    }
}

struct ApplyReflections<'a, F>(&'a Reflections<F>, usize, &'a mut [F]);

impl<F: Scalar<Real = f64> + Copy> WideLoop for ApplyReflections<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let ApplyReflections(Reflections { all }, len, vectors) = self;
        let len = len.max(1);
        for block in vectors.chunks_mut(TOGETHER * len) {
            for (from, u, t) in all.iter().rev().filter(|(_, _, t)| !t.is_exact_zero()) {
                for x in block.chunks_exact_mut(len) {
                    let x = &mut x[*from..*from + u.len()];
                    let factor = *t * dot(u, x);
                    x.iter_mut().zip(u).for_each(|(x, u)| *x -= factor * *u);
                }
            }
        }
    }
}

/// A matrix, reduced.
pub(super) struct Bidiagonal<F> {
    pub(super) diagonal: Vec<f64>,
    /// Superdiagonal: element `k` beside `k` and above `k + 1`.
    pub(super) above: Vec<f64>,
    pub(super) left: Reflections<F>,
    pub(super) right: Reflections<F>,
}

/// Returns a matrix of `n` columns and at least as many rows, whose elements are of size 1 or less.
/// 8/3 n^3 operations where it is square.
pub(super) fn bidiagonal<F: Scalar<Real = f64> + Copy>(
    n: usize,
    mut rows: Vec<F>,
) -> Bidiagonal<F> {
    let (mut left, mut right) = (Reflections::new(), Reflections::new());
    let (mut diagonal, mut above) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for k in 0..n {
        let (element, u, t) = column(&rows[k * n..], n, k);
        diagonal.push(element);
        let (own, below) = rows[k * n..].split_at_mut(n);
        let sums = wide::<f64, _>(LeftProduct { u: &u, first: own, below, from: k + 1 });
        let t = t.conj();
        own[k + 1..].iter_mut().zip(&sums).for_each(|(x, y)| *x -= t * *y);
        let (element, v, s) = reflected(own[k + 1..].iter().map(F::conj).collect());
        if k + 1 < n {
            above.push(element);
        }
        wide::<f64, _>(RankTwoUpdate {
            below,
            n,
            from: k + 1,
            left: (&u[1..], t, &sums),
            right: (&v, s),
        });
        left.all.push((k, u, t.conj()));
        right.all.push((k + 1, v, s));
    }
    above.push(0.0);
    Bidiagonal { diagonal, above, left, right }
}

/// Makes a matrix of `n` columns and more rows the upper triangle of order `n`; what is reflected
/// to get it back. 2 m n^2 operations.
pub(super) fn triangular<F: Scalar<Real = f64> + Copy>(
    n: usize,
    rows: &mut Vec<F>,
) -> Reflections<F> {
    let mut left = Reflections::new();
    for k in 0..n {
        let (element, u, t) = column(&rows[k * n..], n, k);
        let (own, below) = rows[k * n..].split_at_mut(n);
        let sums = wide::<f64, _>(LeftProduct { u: &u, first: own, below, from: k + 1 });
        let back = t.conj();
        own[..=k].fill(F::zero());
        own[k] = F::from_real(element);
        own[k + 1..].iter_mut().zip(&sums).for_each(|(x, y)| *x -= back * *y);
        wide::<f64, _>(RankTwoUpdate {
            below,
            n,
            from: k + 1,
            left: (&u[1..], back, &sums),
            right: (&[], F::zero()),
        });
        left.all.push((k, u, t));
    }
    rows.truncate(n * n);
    left
}

/// Returns the reflection of column `k` of rows of `n`.
fn column<F: Scalar<Real = f64> + Copy>(rows: &[F], n: usize, k: usize) -> (f64, Vec<F>, F) {
    reflected(rows.iter().skip(k).step_by(n).copied().collect())
}

/// Returns the element that a vector is reflected to, `u` and `t`.
fn reflected<F: Scalar<Real = f64> + Copy>(mut x: Vec<F>) -> (f64, Vec<F>, F) {
    // Floats are decided.
    let (element, _, t) = reflection("svd", &mut x).unwrap_or((0.0, 1.0, F::zero()));
    (element, x, t)
}

/// `u^H A` from some column on.
struct LeftProduct<'a, F> {
    u: &'a [F],
    first: &'a [F],
    below: &'a [F],
    from: usize,
}

impl<F: Scalar<Real = f64> + Copy> WideLoop for LeftProduct<'_, F> {
    type Output = Vec<F>;
    #[inline(always)]
    fn run(self) -> Vec<F> {
        let (n, from) = (self.first.len(), self.from);
        let mut sums = self.first[from..].to_vec();
        let u = self.u.get(1..).unwrap_or_default();
        let (blocks, few) = u.as_chunks::<ROWS>();
        let (lines, rest) = self.below.split_at(blocks.len() * ROWS * n);
        for (u, lines) in blocks.iter().zip(lines.chunks_exact(ROWS * n)) {
            let factors: [F; ROWS] = u.map(|u| u.conj());
            let rows: [&[F]; ROWS] = from_fn(|r| &lines[r * n + from..(r + 1) * n]);
            for (k, sum) in sums.iter_mut().enumerate() {
                let terms: [F; ROWS] = from_fn(|r| factors[r] * rows[r][k]);
                *sum += (terms[0] + terms[1]) + (terms[2] + terms[3]);
            }
        }
        for (u, line) in few.iter().zip(rest.chunks_exact(n)) {
            let factor = u.conj();
            sums.iter_mut().zip(&line[from..]).for_each(|(sum, x)| *sum += factor * *x);
        }
        sums
    }
}

/// Rows `A - t u s - r (A v) v^H`, where `s` are the sums and `A v` is of what the first term has
/// left.
struct RankTwoUpdate<'a, F> {
    below: &'a mut [F],
    n: usize,
    from: usize,
    left: (&'a [F], F, &'a [F]),
    right: (&'a [F], F),
}

impl<F: Scalar<Real = f64> + Copy> WideLoop for RankTwoUpdate<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let ((us, t, sums), (v, r)) = (self.left, self.right);
        for (line, u) in self.below.chunks_exact_mut(self.n).zip(us) {
            let (row, factor) = (&mut line[self.from..], t * *u);
            if r.is_exact_zero() {
                row.iter_mut().zip(sums).for_each(|(x, s)| *x -= factor * *s);
                continue;
            }
            let factor_v = r * along(row, factor, sums, v);
            row.iter_mut().zip(v).for_each(|(x, v)| *x -= factor_v * v.conj());
        }
    }
}

/// Subtracts a multiple of `s` from a row; the sum of its products with `v`.
#[inline(always)]
fn along<F: Scalar<Real = f64> + Copy>(row: &mut [F], factor: F, s: &[F], v: &[F]) -> F {
    let mut sums = [F::zero(); COLUMNS];
    let (lines, few) = row.as_chunks_mut::<COLUMNS>();
    let [(s, s_few), (v, v_few)] = [s, v].map(|x| x.as_chunks::<COLUMNS>());
    for ((x, s), v) in lines.iter_mut().zip(s).zip(v) {
        for k in 0..COLUMNS {
            x[k] -= factor * s[k];
            sums[k] += x[k] * v[k];
        }
    }
    for (k, x) in few.iter_mut().enumerate() {
        *x -= factor * s_few[k];
        sums[k] += *x * v_few[k];
    }
    total(sums)
}
