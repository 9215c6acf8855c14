//! Cofactors, and the determinant of a singular matrix.
//!
//! The determinant is a polynomial in the elements, so it has derivatives where there is no inverse. Elimination with pivots from
//! all rows and columns, `P A Q = L [[U, W], [0, T]]`, ends where all that is left, `T`, is zero in value. Then
//!
//! ```text
//! det A = ± det U det T        adj A = ± Q [[det U det T U^-1, -det U U^-1 W adj T], [0, det U adj T]] L^-1 P
//! ```
//!
//! without division by anything small. The elements of `T` may carry derivatives; its determinant and adjugate come by the
//! recurrence of Faddeev and LeVerrier, which divides by integers only.
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
    solve::{Factors, pivot},
};

/// The derivatives of the determinant by the elements: its cofactors, `det A A^-T` where there is an inverse. O(n^3).
///
/// # Errors
/// It is no square matrix.
pub fn cofactors<S: Scalar>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let op = "cofactors";
    let n = size(op, a)?;
    let factors = Factors::new(op, n, a)?;
    let Some(determinant) = factors.determinant() else {
        let split = Split::new(op, n, a)?;
        out.start(&[n, n]).extend(split.cofactors());
        return Ok(());
    };
    let unit: Vec<S> = (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let mut inverse = Vec::with_capacity(n * n);
    factors.solve(&unit, n, &mut inverse)?;
    out.start(&[n, n]).extend((0..n * n).map(|k| &inverse[k % n * n + k / n] * &determinant));
    Ok(())
}

/// `P A Q = L [[U, W], [0, T]]`, with `T` zero in value.
pub(super) struct Split<S> {
    n: usize,
    /// L below the diagonal (its own is 1), U on and above it; W and T.
    lu: Vec<S>,
    /// Row k of `P A Q` is row `rows[k]` of `A`, and column k column `columns[k]`.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Whether both permutations together are odd.
    odd: bool,
    /// The order of U.
    rank: usize,
}

impl<S: Scalar> Split<S> {
    pub(super) fn new(op: &'static str, n: usize, a: &[S]) -> Result<Split<S>, ArrayError> {
        let all: Vec<usize> = (0..n).collect();
        let mut s = Split { n, lu: a.to_vec(), rows: all.clone(), columns: all, odd: false, rank: 0 };
        while s.rank < n {
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

    /// The determinant of A.
    pub(super) fn determinant(&self) -> S {
        let det_t = self.rest().0;
        if det_t.is_exact_zero() { S::zero() } else { self.determinant_of_u() * det_t }
    }

    /// With the sign of the permutations.
    fn determinant_of_u(&self) -> S {
        let diagonal: Vec<S> = (0..self.rank).map(|k| self.lu[k * (self.n + 1)].clone()).collect();
        let product = product(&diagonal);
        if self.odd { -product } else { product }
    }

    /// The determinant and the adjugate of T.
    fn rest(&self) -> (S, Vec<S>) {
        let (n, from) = (self.n, self.rank);
        let t: Vec<S> = (from..n).flat_map(|r| self.lu[r * n + from..(r + 1) * n].iter().cloned()).collect();
        let k = n - from;
        if k > 1 && t.iter().all(S::is_exact_zero) {
            return (S::zero(), vec![S::zero(); k * k]);
        }
        determinant_and_adjugate(k, &t)
    }

    /// The transpose of the adjugate of A.
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

/// Of a matrix of order k, in k^4 operations: `M_1 = 1`, `c_j = -tr(A M_j) / j`, `M_(j+1) = A M_j + c_j`, and
/// `det A = (-1)^k c_k`, `adj A = (-1)^(k-1) M_k`.
fn determinant_and_adjugate<S: Scalar>(k: usize, a: &[S]) -> (S, Vec<S>) {
    let mut m: Vec<S> = (0..k * k).map(|p| if p % k == p / k { S::one() } else { S::zero() }).collect();
    let mut c = S::one();
    for step in 1..=k {
        let product: Vec<S> =
            (0..k * k).map(|p| S::sum((0..k).map(|i| &a[p / k * k + i] * &m[i * k + p % k]))).collect();
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
