//! Cofactors, and the determinant of a singular matrix.
//!
//! The determinant is a polynomial in the elements, so it has derivatives where there is no
//! inverse. Elimination with pivots from all rows and columns, `P A Q = L [[U, W], [0, T]]`, ends
//! where all that is left, `T`, is zero in value. Then
//!
//! ```text
//! det A = ± det U det T        adj A = ± Q [[det U det T U^-1, -det U U^-1 W adj T], [0, det U adj T]] L^-1 P
//! ```
//!
//! without division by anything small. The elements of `T` may carry derivatives; its determinant
//! and adjugate come by the recurrence of Faddeev and LeVerrier, which divides by integers only.
//!
//! The derivative of the cofactors along another matrix ([`cofactors_along`]) is got in the same
//! way, but the elimination always ends two columns before the last: the second derivatives of a
//! determinant of order 2 are constants, so nothing is divided by a pivot that may be small, and
//! what is nearly singular is as good as what is not.
//!
//! ```
//! use ketgrad_core::array::{Array, cofactors};
//!
//! let a = Array::new(&[2, 2], vec![1.0, 2.0, 2.0, 4.0])?; // singular
//! let mut y = Array::default();
//! cofactors(&a, &mut y)?;
//! assert_eq!(y.to_string(), "[[4.0, -2.0], [-2.0, 1.0]]");
//! # Ok::<(), ketgrad_core::array::ArrayError>(())
//! ```

use crate::scalar::Scalar;

use super::{
    Array, ArrayError,
    decompose::size,
    product,
    solve::{LuFactors, pivot},
};

/// Computes the derivatives of the determinant by the elements: its cofactors, `det A A^-T` where
/// there is an inverse. O(n^3).
///
/// # Errors
/// It is no square matrix.
pub fn cofactors<S: Scalar>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let op = "cofactors";
    let n = size(op, a)?;
    let factors = LuFactors::new(op, n, a)?;
    let Some(determinant) = factors.determinant() else {
        let split = RankRevealingLu::new(op, n, a, n)?;
        out.start(&[n, n]).extend(split.cofactors());
        return Ok(());
    };
    let unit: Vec<S> =
        (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let mut inverse = Vec::with_capacity(n * n);
    factors.solve(&unit, n, &mut inverse)?;
    out.start(&[n, n]).extend((0..n * n).map(|k| &inverse[k % n * n + k / n] * &determinant));
    Ok(())
}

/// Computes the derivative of the cofactors of a square matrix `A` along another one `E`,
/// `d/dt cofactors(A + t E)` at `t = 0`: the second derivative of the determinant along `E` and
/// each element, whatever the rank of `A`.
///
/// ```
/// use ketgrad_core::array::{Array, cofactors_along};
///
/// let (a, e) = (Array::new(&[2, 2], vec![0.0; 4])?, Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?);
/// let mut y = Array::default();
/// cofactors_along(&a, &e, &mut y)?;
/// assert_eq!(y.to_string(), "[[4.0, -3.0], [-2.0, 1.0]]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Let `P A Q = [[B, C], [D, F]]`, `G = B^-1`, `N = [-D G, 1]`, `M = [-G C; 1]` and
/// `T = N P A Q M`, the determinant is `± det B det T`, and its first and second derivatives are
/// those of the product: `T` changes by `N E M`, and twice by `-(N E)_1 G (E M)_1`, where 1 stands
/// for the columns and rows of `B`. O(n^3).
///
/// # Errors
/// They are not square matrices of one order.
pub fn cofactors_along<S: Scalar>(
    a: &Array<S>,
    e: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let op = "cofactors_along";
    if size(op, a).is_err() || !a.same_shape(e) {
        let expected = "two square matrices of one order";
        return Err(ArrayError::shape(op, expected, &[&a.shape(), &e.shape()]));
    }
    let n = size(op, a)?;
    let split = RankRevealingLu::new(op, n, a, n.saturating_sub(2))?;
    out.start(&[n, n]).extend(split.cofactors_along(e));
    Ok(())
}

/// `P A Q = L [[U, W], [0, T]]`.
pub(super) struct RankRevealingLu<S> {
    n: usize,
    /// L below the diagonal (its own is 1), U on and above it; W and T.
    lu: Vec<S>,
    /// Row k of `P A Q` is row `rows[k]` of `A`, and column k column `columns[k]`.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// True if both permutations together are odd.
    odd: bool,
    /// The order of U.
    rank: usize,
}

impl<S: Scalar> RankRevealingLu<S> {
    /// Ends where `T` is zero in value, and after `most` pivots.
    pub(super) fn new(
        op: &'static str,
        n: usize,
        a: &[S],
        most: usize,
    ) -> Result<RankRevealingLu<S>, ArrayError> {
        let all: Vec<usize> = (0..n).collect();
        let mut s = RankRevealingLu {
            n,
            lu: a.to_vec(),
            rows: all.clone(),
            columns: all,
            odd: false,
            rank: 0,
        };
        while s.rank < most {
            let c = s.rank;
            let rest = (c * n..n * n).filter(|k| k % n >= c).map(|k| (k, &s.lu[k]));
            let pivot = pivot(rest).map_err(|source| ArrayError::Undecided { op, source })?;
            let Some(place) = pivot else { break };
            let (r, k) = (place / n, place % n);
            (0..n).for_each(|j| s.lu.swap(c * n + j, r * n + j));
            (0..n).for_each(|i| s.lu.swap(i * n + c, i * n + k));
            s.rows.swap(c, r);
            s.columns.swap(c, k);
            s.odd ^= (r != c) ^ (k != c);
            let inverse = s.lu[c * n + c].recip();
            let (above, below) = s.lu.split_at_mut((c + 1) * n);
            let top = &above[c * n + c + 1..];
            for row in below.chunks_exact_mut(n) {
                let factor = &row[c] * &inverse;
                row[c + 1..].iter_mut().zip(top).for_each(|(x, y)| *x -= &factor * y);
                row[c] = factor;
            }
            s.rank += 1;
        }
        Ok(s)
    }

    /// Returns the determinant of A.
    pub(super) fn determinant(&self) -> S {
        let det_t = self.rest().0;
        if det_t.is_exact_zero() { S::zero() } else { self.determinant_of_u() * det_t }
    }

    /// Returns the determinant of U with the sign of the permutations.
    fn determinant_of_u(&self) -> S {
        let diagonal: Vec<S> = (0..self.rank).map(|k| self.lu[k * (self.n + 1)].clone()).collect();
        let product = product(&diagonal);
        if self.odd { -product } else { product }
    }

    /// Returns the determinant and the adjugate of T.
    fn rest(&self) -> (S, Vec<S>) {
        let (k, t) = (self.n - self.rank, self.last());
        if k > 1 && t.iter().all(S::is_exact_zero) {
            return (S::zero(), vec![S::zero(); k * k]);
        }
        determinant_and_adjugate(k, &t)
    }

    /// Returns the derivative of the transpose of the adjugate of A along E.
    fn cofactors_along(&self, e: &[S]) -> Vec<S> {
        let (n, rank, lu) = (self.n, self.rank, &self.lu);
        let rest = n - rank;
        if n == 0 || rest > 2 && self.rest_is_zero() {
            return vec![S::zero(); n * n];
        }
        let at = |i: usize, j: usize| &lu[i * n + j];
        // L^-1 of B, then G = U^-1 L^-1 beside U^-1 W, and N = [-D G, 1] by the columns of L from
        // the last on.
        let mut z = vec![S::zero(); rank * n];
        for i in 0..rank {
            z[i * n + i] = S::one();
            for (k, j) in (0..i).flat_map(|k| (0..=k).map(move |j| (k, j))) {
                let known = at(i, k) * &z[k * n + j];
                z[i * n + j] -= known;
            }
            (rank..n).for_each(|j| z[i * n + j] = at(i, j).clone());
        }
        for i in (0..rank).rev() {
            let (own, done) = z[i * n..].split_at_mut(n);
            for (k, row) in (i + 1..rank).zip(done.chunks_exact(n)) {
                own.iter_mut().zip(row).for_each(|(x, y)| *x -= at(i, k) * y);
            }
            let inverse = at(i, i).recip();
            own.iter_mut().for_each(|x| *x *= inverse.clone());
        }
        let g: Vec<S> = z.chunks_exact(n).flat_map(|row| row[..rank].iter().cloned()).collect();
        let mut left = vec![S::zero(); rest * n];
        for (k, row) in left.chunks_exact_mut(n).enumerate() {
            row[rank + k] = S::one();
            for j in (0..rank).rev() {
                let known = S::sum((j + 1..rank).map(|i| &row[i] * at(i, j)));
                row[j] = -(at(rank + k, j) + known);
            }
        }
        let right: Vec<S> = (0..n * rest)
            .map(|p| (p / rest, p % rest))
            .map(|(i, k)| match i.checked_sub(rank) {
                None => -z[i * n + rank + k].clone(),
                Some(i) if i == k => S::one(),
                Some(_) => S::zero(),
            })
            .collect();
        let e: Vec<S> = self
            .rows
            .iter()
            .flat_map(|&r| self.columns.iter().map(move |&c| e[r * n + c].clone()))
            .collect();
        let (left_e, e_right) =
            (product_of(&left, &e, [rest, n, n]), product_of(&e, &right, [n, n, rest]));
        let change = product_of(&left, &e_right, [rest, n, rest]);
        let (det_t, adj_t) = self.rest();
        let e_of_b: Vec<S> = (0..rank * rank).map(|p| e[p / rank * n + p % rank].clone()).collect();
        let (along_b, along_t) = (trace_of(&g, &e_of_b, rank), trace_of(&adj_t, &change, rest));
        // The transpose of the result, but for the permutations: first det T times the second
        // derivative of det B.
        let g_e = product_of(&g, &e_of_b, [rank; 3]);
        let g_e_g = product_of(&g_e, &g, [rank; 3]);
        let mut y = vec![S::zero(); n * n];
        let first = &along_b * &det_t + &along_t;
        for p in 0..rank * rank {
            y[p / rank * n + p % rank] = &first * &g[p] - &det_t * &g_e_g[p];
        }
        // Term in which T changes along E and along the element, or B along E.
        let second = adjugate_along(rest, &self.last(), &change);
        let inner: Vec<S> = adj_t.iter().zip(second).map(|(t, x)| &along_b * t + x).collect();
        let mut inner = product_of(&inner, &left, [rest, rest, n]);
        // Term in which T changes along both at once.
        let back: Vec<S> =
            left_e.chunks_exact(n).flat_map(|row| row[..rank].iter().cloned()).collect();
        let back = product_of(&back, &g, [rest, rank, rank]);
        let back = product_of(&adj_t, &back, [rest, rest, rank]);
        for (row, back) in inner.chunks_exact_mut(n).zip(back.chunks_exact(rank.max(1))) {
            row.iter_mut().zip(back).for_each(|(x, y)| *x -= y.clone());
        }
        let whole = product_of(&right, &inner, [n, rest, n]);
        let above = product_of(&g, &e_right[..rank * rest], [rank, rank, rest]);
        let above =
            product_of(&above, &product_of(&adj_t, &left, [rest, rest, n]), [rank, rest, n]);
        y.iter_mut().zip(whole).for_each(|(y, x)| *y += x);
        y.iter_mut().zip(above).for_each(|(y, x)| *y -= x);
        let det_u = self.determinant_of_u();
        let mut out = vec![S::zero(); n * n];
        for (i, &r) in self.rows.iter().enumerate() {
            for (j, &c) in self.columns.iter().enumerate() {
                out[r * n + c] = &y[j * n + i] * &det_u;
            }
        }
        out
    }

    /// Returns the elements of T.
    fn last(&self) -> Vec<S> {
        let (n, from) = (self.n, self.rank);
        (from..n).flat_map(|r| self.lu[r * n + from..(r + 1) * n].iter().cloned()).collect()
    }

    fn rest_is_zero(&self) -> bool {
        self.last().iter().all(S::is_exact_zero)
    }

    /// Returns the transpose of the adjugate of A.
    fn cofactors(&self) -> Vec<S> {
        let (n, rank, lu) = (self.n, self.rank, &self.lu);
        let rest = n - rank;
        let (det_t, adj_t) = self.rest();
        let det_u = self.determinant_of_u();
        // U^-1 (1 | W)
        let mut z = vec![S::zero(); rank * n];
        for i in (0..rank).rev() {
            z[i * n + i] = S::one();
            (rank..n).for_each(|j| z[i * n + j] = lu[i * n + j].clone());
            let (own, done) = z[i * n..].split_at_mut(n);
            for (k, row) in (i + 1..rank).zip(done.chunks_exact(n)) {
                own.iter_mut().zip(row).for_each(|(x, y)| *x -= &lu[i * n + k] * y);
            }
            let inverse = lu[i * n + i].recip();
            own.iter_mut().for_each(|x| *x *= inverse.clone());
        }
        // The adjugate of [[U, W], [0, T]], with the sign of the permutations.
        let mut y = vec![S::zero(); n * n];
        for i in 0..n {
            let row = &mut y[i * n..(i + 1) * n];
            if i < rank {
                let (left, right) = z[i * n..(i + 1) * n].split_at(rank);
                row.iter_mut().zip(left).for_each(|(y, z)| *y = &det_t * z);
                for (j, y) in row[rank..].iter_mut().enumerate() {
                    *y = -S::sum(right.iter().enumerate().map(|(k, z)| z * &adj_t[k * rest + j]));
                }
            } else {
                let own = &adj_t[(i - rank) * rest..(i - rank + 1) * rest];
                row[rank..].iter_mut().zip(own).for_each(|(y, t)| *y = t.clone());
            }
            row.iter_mut().for_each(|y| *y *= det_u.clone());
            // times L^-1
            for j in (0..rank).rev() {
                let known = S::sum((j + 1..n).map(|k| &row[k] * &lu[k * n + j]));
                row[j] -= known;
            }
        }
        let mut out = vec![S::zero(); n * n];
        for (i, &r) in self.rows.iter().enumerate() {
            for (j, &c) in self.columns.iter().enumerate() {
                out[r * n + c] = y[j * n + i].clone();
            }
        }
        out
    }
}

/// Computes `x y` of matrices `m x k` and `k x n`.
fn product_of<S: Scalar>(x: &[S], y: &[S], [m, k, n]: [usize; 3]) -> Vec<S> {
    let element = |p: usize| S::sum((0..k).map(|i| &x[p / n * k + i] * &y[i * n + p % n]));
    (0..m * n).map(element).collect()
}

/// Computes `tr(x y)` of square matrices of order n.
fn trace_of<S: Scalar>(x: &[S], y: &[S], n: usize) -> S {
    S::sum((0..n * n).map(|p| &x[p] * &y[p % n * n + p / n]))
}

/// Returns the derivative of the adjugate of a matrix `a` of order k along `e`, by the recurrence
/// of the adjugate.
fn adjugate_along<S: Scalar>(k: usize, a: &[S], e: &[S]) -> Vec<S> {
    let mut m: Vec<S> =
        (0..k * k).map(|p| if p % k == p / k { S::one() } else { S::zero() }).collect();
    let mut along = vec![S::zero(); k * k];
    for step in 1..k {
        let (of_e, of_a) = (product_of(e, &m, [k; 3]), product_of(a, &along, [k; 3]));
        along = of_e.into_iter().zip(&of_a).map(|(x, y)| x + y).collect();
        m = product_of(a, &m, [k; 3]);
        for x in [&mut m, &mut along] {
            let c = S::sum((0..k).map(|i| x[i * (k + 1)].clone())) * S::ratio(-1, step as i64);
            (0..k).for_each(|i| x[i * (k + 1)] += c.clone());
        }
    }
    if k.is_multiple_of(2) {
        along.iter_mut().for_each(|x| *x = -x.clone());
    }
    along
}

/// Returns the determinant and the adjugate of a matrix of order k, in k^4 operations
/// (Faddeev-LeVerrier): `M_1 = 1`, `c_j = -tr(A M_j) / j`, `M_(j+1) = A M_j + c_j`, and
/// `det A = (-1)^k c_k`, `adj A = (-1)^(k-1) M_k`.
fn determinant_and_adjugate<S: Scalar>(k: usize, a: &[S]) -> (S, Vec<S>) {
    let mut m: Vec<S> =
        (0..k * k).map(|p| if p % k == p / k { S::one() } else { S::zero() }).collect();
    let mut c = S::one();
    for step in 1..=k {
        let product: Vec<S> = (0..k * k)
            .map(|p| S::sum((0..k).map(|i| &a[p / k * k + i] * &m[i * k + p % k])))
            .collect();
        c = S::sum((0..k).map(|i| product[i * (k + 1)].clone())) * S::ratio(-1, step as i64);
        if step < k {
            m = product;
            (0..k).for_each(|i| m[i * (k + 1)] += c.clone());
        }
    }
    if k.is_multiple_of(2) {
        m.iter_mut().for_each(|x| *x = -x.clone());
        (c, m)
    } else {
        (-c, m)
    }
}
