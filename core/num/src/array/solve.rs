//! Systems of equations: elimination with pivots, on every number type.
//!
//! The pivot of a column is the element of greatest modulus among the values; what the numbers
//! carry besides (derivatives, uncertainty) does not decide. Numbers without values, such as
//! symbols, take the first element that is not exactly zero.

use std::ops::Range;

use crate::scalar::{Real, Scalar, Undecided};

use super::{Array, ArrayError, cofactors::RankRevealingLu, decompose::size, matmul};

/// Columns that are eliminated, and rows that are solved, before the others change by a product of
/// matrices.
const BLOCK: usize = 48;
/// Number of columns from which on that is worth it.
const FEW: usize = 8;

/// A square matrix, factored: `P A = L U`.
pub(super) struct LuFactors<S> {
    n: usize,
    /// L below the diagonal (its own is 1), U on and above it.
    lu: Vec<S>,
    /// Row k of `P A` is row `rows[k]` of `A`.
    rows: Vec<usize>,
    /// True if the permutation is odd.
    odd: bool,
    /// The first column without a pivot.
    stopped: Option<usize>,
}

impl<S: Scalar> LuFactors<S> {
    /// O(n^3), most of it in products of matrices.
    pub(super) fn new(op: &'static str, n: usize, a: &[S]) -> Result<LuFactors<S>, ArrayError> {
        let mut f =
            LuFactors { n, lu: a.to_vec(), rows: (0..n).collect(), odd: false, stopped: None };
        for from in (0..n).step_by(BLOCK) {
            let to = n.min(from + BLOCK);
            f.eliminate(op, from, to)?;
            if f.stopped.is_some() {
                break;
            }
            if to < n {
                f.spread(from, to)?;
            }
        }
        Ok(f)
    }

    /// Eliminates below the diagonal in some columns, with what that changes in them and in the
    /// order of the rows.
    fn eliminate(&mut self, op: &'static str, from: usize, to: usize) -> Result<(), ArrayError> {
        let n = self.n;
        for c in from..to {
            let pivot = pivot((c..n).map(|r| (r, &self.lu[r * n + c])));
            let Some(p) = pivot.map_err(|source| ArrayError::Undecided { op, source })? else {
                self.stopped = Some(c);
                return Ok(());
            };
            if p != c {
                (0..n).for_each(|k| self.lu.swap(c * n + k, p * n + k));
                self.rows.swap(c, p);
                self.odd = !self.odd;
            }
            let inverse = self.lu[c * n + c].recip();
            let (above, below) = self.lu.split_at_mut((c + 1) * n);
            let top = &above[c * n..];
            for row in below.chunks_exact_mut(n) {
                let factor = &row[c] * &inverse;
                row[c + 1..to].iter_mut().zip(&top[c + 1..to]).for_each(|(x, y)| *x -= &factor * y);
                row[c] = factor;
            }
        }
        Ok(())
    }

    /// Applies elimination in some columns to the columns after them.
    fn spread(&mut self, from: usize, to: usize) -> Result<(), ArrayError> {
        let n = self.n;
        for i in from + 1..to {
            let (above, own) = self.lu.split_at_mut(i * n);
            let (factors, own) = own[..n].split_at_mut(to);
            for (k, factor) in (from..i).zip(&factors[from..]) {
                own.iter_mut()
                    .zip(&above[k * n + to..(k + 1) * n])
                    .for_each(|(x, y)| *x -= factor * y);
            }
        }
        let part = |rows: Range<usize>, columns: Range<usize>| self.part(rows, columns);
        let product = times(&part(to..n, from..to)?, &part(from..to, to..n)?)?;
        for (row, change) in self.lu[to * n..].chunks_exact_mut(n).zip(product.chunks_exact(n - to))
        {
            row[to..].iter_mut().zip(change).for_each(|(x, y)| *x -= y.clone());
        }
        Ok(())
    }

    fn part(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Array<S>, ArrayError> {
        let shape = [rows.len(), columns.len()];
        let row = |r: usize| &self.lu[r * self.n + columns.start..r * self.n + columns.end];
        Array::new(&shape, rows.flat_map(row).cloned().collect())
    }

    /// Returns the determinant, unless the matrix is singular.
    pub(super) fn determinant(&self) -> Option<S> {
        if self.stopped.is_some() {
            return None;
        }
        let product = super::product(
            &(0..self.n).map(|k| self.lu[k * self.n + k].clone()).collect::<Vec<_>>(),
        );
        Some(if self.odd { -product } else { product })
    }

    /// Itself, unless the matrix is singular.
    pub(super) fn regular(self, op: &'static str) -> Result<LuFactors<S>, ArrayError> {
        match self.stopped {
            Some(column) => Err(ArrayError::Singular { op, column, size: self.n }),
            None => Ok(self),
        }
    }

    /// Writes `A^-1 b` for `m` columns.
    pub(super) fn solve(&self, b: &[S], m: usize, out: &mut Vec<S>) -> Result<(), ArrayError> {
        let n = self.n;
        let start = out.len();
        self.rows.iter().for_each(|&r| out.extend_from_slice(&b[r * m..(r + 1) * m]));
        let x = &mut out[start..];
        // Few columns gain nothing from products of matrices.
        let block = if m < FEW { n.max(1) } else { BLOCK };
        for from in (0..n).step_by(block) {
            let to = n.min(from + block);
            self.subtract(from..to, 0..from, m, x)?;
            for i in from + 1..to {
                let (done, rest) = x.split_at_mut(i * m);
                for (k, y) in (from..i).zip(done[from * m..].chunks_exact(m.max(1))) {
                    let l = &self.lu[i * n + k];
                    rest[..m].iter_mut().zip(y).for_each(|(x, y)| *x -= l * y);
                }
            }
        }
        for from in (0..n).step_by(block).rev() {
            let to = n.min(from + block);
            self.subtract(from..to, to..n, m, x)?;
            for i in (from..to).rev() {
                let (head, done) = x[..to * m].split_at_mut((i + 1) * m);
                let row = &mut head[i * m..];
                for (k, y) in (i + 1..to).zip(done.chunks_exact(m.max(1))) {
                    let u = &self.lu[i * n + k];
                    row.iter_mut().zip(y).for_each(|(x, y)| *x -= u * y);
                }
                let inverse = self.lu[i * n + i].recip();
                row.iter_mut().for_each(|x| *x *= inverse.clone());
            }
        }
        Ok(())
    }

    /// Subtracts from some rows of `x` what others, which are done, contribute to them.
    fn subtract(
        &self,
        rows: Range<usize>,
        done: Range<usize>,
        m: usize,
        x: &mut [S],
    ) -> Result<(), ArrayError> {
        if done.is_empty() || rows.is_empty() || m == 0 {
            return Ok(());
        }
        let known = Array::new(&[done.len(), m], x[done.start * m..done.end * m].to_vec())?;
        let change = times(&self.part(rows.clone(), done)?, &known)?;
        x[rows.start * m..].iter_mut().zip(change.iter()).for_each(|(x, y)| *x -= y.clone());
        Ok(())
    }
}

fn times<S: Scalar>(a: &Array<S>, b: &Array<S>) -> Result<Array<S>, ArrayError> {
    let mut out = Array::default();
    matmul(a, b, false, false, &mut out).map(|()| out)
}

/// Returns the row of greatest modulus; of numbers without values the first that is not zero.
///
/// # Errors
/// Numbers side by side do not agree about it.
pub(super) fn pivot<'a, T: Real, S: Scalar<Real = T>>(
    column: impl Iterator<Item = (usize, &'a S)>,
) -> Result<Option<usize>, Undecided> {
    let mut best: Option<(usize, T)> = None;
    for (r, x) in column {
        if x.is_exact_zero() {
            continue;
        }
        let size = x.re().hypot(&x.im());
        let order = match &best {
            Some((_, most)) => size.try_cmp(most),
            None => size.try_cmp(&T::zero()),
        };
        let more = match order {
            Ok(Some(order)) => order.is_gt(),
            // A NaN is a pivot, so that it comes out at the end; a value of zero is none.
            Ok(None) => size.try_cmp(&size)?.is_none(),
            Err(e) if e.agreeing != 0 => return Err(e),
            Err(_) => return Ok(Some(best.map_or(r, |(b, _)| b))),
        };
        if more {
            best = Some((r, size));
        }
    }
    Ok(best.map(|(r, _)| r))
}

/// Returns the conjugate transpose of a square matrix.
fn adjoint<S: Scalar>(n: usize, a: &[S]) -> Vec<S> {
    (0..n * n).map(|k| a[k % n * n + k / n].conj()).collect()
}

/// Computes `A^-1 B`, or `(A^H)^-1 B`, for a square matrix and a matrix or vector with as many
/// rows. O(n^3 + n^2 m).
///
/// # Errors
/// The shapes do not fit, or the matrix is singular.
pub fn solve<S: Scalar>(
    a: &Array<S>,
    b: &Array<S>,
    adjoint_of: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let op = if adjoint_of { "solve_adjoint" } else { "solve" };
    let n = size(op, a)?;
    let shape = b.shape();
    if shape.len() > 2 || shape[0] != n {
        let expected = "a matrix n x n and a vector of n or a matrix n x m";
        return Err(ArrayError::shape(op, expected, &[&a.shape(), &shape]));
    }
    let factors =
        if adjoint_of { LuFactors::new(op, n, &adjoint(n, a)) } else { LuFactors::new(op, n, a) };
    let factors = factors?.regular(op)?;
    let m = shape.get(1).copied().unwrap_or(1);
    factors.solve(b, m, out.start(&shape))
}

/// Computes the inverse. O(n^3).
///
/// # Errors
/// It is no square matrix, or singular.
pub fn inverse<S: Scalar>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let n = size("inv", a)?;
    let factors = LuFactors::new("inv", n, a)?.regular("inv")?;
    let unit: Vec<S> =
        (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    factors.solve(&unit, n, out.start(&[n, n]))
}

/// Returns the determinant; 1 for no rows. O(n^3).
///
/// # Errors
/// It is no square matrix.
pub fn determinant<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Result<S, ArrayError> {
    let n = size("det", a)?;
    match LuFactors::new("det", n, a)?.determinant() {
        Some(determinant) => Ok(determinant),
        None if a.iter().all(|x| is_plain(&x.re()) && is_plain(&x.im())) => Ok(S::zero()),
        // Derivatives and uncertainty of the elements are propagated.
        None => Ok(RankRevealingLu::new("det", n, a, n)?.determinant()),
    }
}

/// Returns true if a number carries nothing besides its value.
fn is_plain<T: Real>(x: &T) -> bool {
    (x.clone() - x.finite_value()).is_exact_zero()
}

/// Returns a number times a power of two, so that its square stays in range, and that power; as it
/// is where there is no value.
fn near_one<T: Real, S: Scalar<Real = T>>(x: &S) -> (S, Option<T>) {
    match x.re().inverse_size(&x.im()) {
        Some(scale) => (x * &S::from_real(scale.clone()), Some(scale)),
        None => (x.clone(), None),
    }
}

/// Computes `det A / |det A|`; 0 for a singular matrix, 1 for no rows. O(n^3).
///
/// # Errors
/// It is no square matrix.
pub fn sign_of_determinant<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Result<S, ArrayError> {
    let n = size("signdet", a)?;
    let f = LuFactors::new("signdet", n, a)?;
    if f.stopped.is_some() {
        return Ok(S::zero());
    }
    let mut sign = if f.odd { -S::one() } else { S::one() };
    for (pivot, _) in (0..n).map(|k| near_one(&f.lu[k * (n + 1)])) {
        sign *= &pivot * &S::from_real(<T as Scalar>::recip(&<T as Scalar>::sqrt(&pivot.abs2())));
    }
    Ok(sign)
}

/// Computes `ln |det A|`; minus infinity for a singular matrix. O(n^3).
///
/// # Errors
/// It is no square matrix.
pub fn log_abs_determinant<T: Real, S: Scalar<Real = T>>(a: &Array<S>) -> Result<T, ArrayError> {
    let n = size("logabsdet", a)?;
    let f = LuFactors::new("logabsdet", n, a)?;
    if f.stopped.is_some() {
        return Ok(T::lit(f64::NEG_INFINITY));
    }
    let half = <T as Scalar>::ratio(1, 2);
    Ok(T::sum((0..n).map(|k| {
        let (pivot, scale) = near_one(&f.lu[k * n + k]);
        let log = <T as Scalar>::ln(&pivot.abs2()) * &half;
        match scale {
            Some(scale) => log - <T as Scalar>::ln(&scale),
            None => log,
        }
    })))
}
