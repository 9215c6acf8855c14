//! Least squares and the pseudoinverse, on every number type.
//!
//! A system whose rows or columns are well independent is solved by reflections. Else the singular
//! values decide which directions there are; what numbers carry besides (derivatives, uncertainty)
//! then goes through a product in which the singular vectors are constants: of a matrix of rank
//! `r`, with the first `r` of them by value,
//!
//! ```text
//! A = X K Y,  K = U^H A V,  X = A V K^-1,  Y = K^-1 U^H A,  A^+ = Y^H (Y Y^H)^-1 K^-1 (X^H X)^-1 X^H
//! ```
//!
//! holds for every matrix near `A` of the same rank, so derivatives are those where the rank does
//! not change.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{
    Array, ArrayError, matmul,
    orthogonal::Reflected,
    singular::{SvdFactors, of_values},
    solve::solve,
    triangular::substitute,
    value::is_carrying,
};

/// Threshold on the diagonal of the triangle: if an element is less than this part of all, the
/// singular values tell the rank.
const DOUBTFUL: f64 = 1e-7;

/// Computes the pseudoinverse `A^+` of Moore and Penrose of a matrix `m x n`: `n x m`, with
/// `A A^+ A = A`, `A^+ A A^+ = A^+` and both products Hermitian. Singular values of at most
/// `max(m, n)` times 2^-52 of the greatest count as 0, of numbers with more bits that many times
/// the last of them.
///
/// ```
/// use ketgrad_core::array::{Array, pinv};
///
/// let a = Array::new(&[2, 1], vec![3.0_f64, 4.0])?;
/// let mut y = Array::default();
/// pinv(&a, &mut y)?;
/// assert!((y[0] - 0.12).abs() < 1e-15 && (y[1] - 0.16).abs() < 1e-15);
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Derivatives are those along which the rank stays. About the cost of [`svd`](super::svd).
///
/// # Errors
/// It is no matrix, it has infinite or undefined elements, or numbers without values.
pub fn pinv<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let lengths = match a.matrix() {
        Some(lengths) if a.rank() == 2 => lengths,
        _ => return Err(ArrayError::shape("pinv", "a matrix", &[&a.shape()])),
    };
    *out = pseudoinverse("pinv", a, lengths)?;
    Ok(())
}

fn pseudoinverse<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    (m, n): (usize, usize),
) -> Result<Array<S>, ArrayError> {
    let Some((SvdFactors { values, left, right }, unit)) = of_values::<T, S>(a, (m, n)) else {
        return Err(ArrayError::Diverges { op });
    };
    let size = |s: &T| s.primal().unwrap_or(f64::NAN);
    let least = values.first().map_or(0.0, |s| size(s) * m.max(n) as f64 * unit);
    let rank = values.iter().take_while(|s| size(s) > least).count();
    if rank == 0 {
        return Array::new(&[n, m], vec![S::zero(); n * m]);
    }
    // U^H and V^H; of real numbers it makes no difference that nothing is conjugated.
    let adjoint = |x: &[S], len: usize| {
        Array::new(&[rank, len], x[..rank * len].iter().map(S::conj).collect())
    };
    let (u, v) = (adjoint(&left, m)?, adjoint(&right, n)?);
    let product = |x: &Array<S>, y: &Array<S>, first: bool, second: bool| {
        let mut out = Array::default();
        matmul(x, y, first, second, &mut out).map(|()| out)
    };
    if !is_carrying(a) {
        let mut scaled = u;
        for (row, s) in scaled.chunks_exact_mut(m.max(1)).zip(&values) {
            let inverse = S::from_real(<T as Scalar>::recip(s));
            row.iter_mut().for_each(|x| *x *= inverse.clone());
        }
        return product(&v, &scaled, true, false);
    }
    let under = |x: &Array<S>, y: &Array<S>| {
        let mut out = Array::default();
        solve(x, y, false, &mut out).map(|()| out)
    };
    let (rows, columns) = (product(&u, a, false, false)?, product(a, &v, false, true)?);
    let k = product(&u, &columns, false, false)?;
    let y = under(&k, &rows)?;
    // X^H = K^-H (A V)^H
    let mut x = Array::default();
    let mut unit = Array::default();
    super::transpose(&columns.map(S::conj), &mut unit)?;
    solve(&k, &unit, true, &mut x)?;
    let right = under(&product(&x, &x, false, true)?, &x)?;
    let middle = under(&k, &right)?;
    let left = under(&product(&y, &y, false, true)?, &middle)?;
    product(&y, &left, true, false)
}

/// Computes the `x` of least norm among those that make the norm of `A x - b` least, `A^+ b`, for a
/// matrix `m x n` and a vector of `m`, or for each column of a matrix with as many rows. Singular
/// values of at most `max(m, n)` times 2^-52 of the greatest count as 0.
///
/// ```
/// use ketgrad_core::array::{Array, lstsq};
///
/// let a = Array::new(&[1, 2], vec![1.0_f64, 1.0])?;
/// let mut x = Array::default();
/// lstsq(&a, &Array::from(vec![3.0]), &mut x)?;
/// assert!(x.iter().all(|x| (x - 1.5).abs() < 1e-15));
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Derivatives are those along which the rank of `A` stays. 2 m n^2 operations where `A` has full
/// rank, more where the rank is uncertain, as for [`pinv`].
///
/// # Errors
/// The shapes do not fit, or `A` is not of full rank and has infinite or undefined elements, or
/// numbers without values.
pub fn lstsq<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    b: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let op = "lstsq";
    let shape = b.shape();
    let (m, n) = match a.matrix() {
        Some((m, n)) if a.rank() == 2 && shape.len() <= 2 && shape[0] == m => (m, n),
        _ => {
            let expected = "a matrix m x n and a vector of m or a matrix m x k";
            return Err(ArrayError::shape(op, expected, &[&a.shape(), &shape]));
        }
    };
    let count = shape.get(1).copied().unwrap_or(1);
    let mut x = match independent(op, a, b, (m, n, count))? {
        Some(x) => x,
        None => {
            let columns = Array::new(&[m, count], b.to_vec())?;
            let mut x = Array::default();
            matmul(&pseudoinverse(op, a, (m, n))?, &columns, false, false, &mut x)?;
            x
        }
    };
    if shape.len() == 1 {
        x.set_shape(&[n]);
    }
    *out = x;
    Ok(())
}

/// Returns the solution of a system of full rank; `None` where the rank is uncertain.
fn independent<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    b: &Array<S>,
    (m, n, count): (usize, usize, usize),
) -> Result<Option<Array<S>>, ArrayError> {
    // A, or A^H if that is higher; its columns one after the other.
    let is_wide = m < n;
    let columns = match is_wide {
        true => a.iter().map(S::conj).collect(),
        false => (0..m * n).map(|k| a[k % m * n + k / m].clone()).collect(),
    };
    let (high, k) = (m.max(n), m.min(n));
    let qr = Reflected::new(op, high, columns)?;
    let elements: Vec<T> = (0..k).map(|i| qr.element(i, i).abs2()).collect();
    let bound = T::sum(elements.iter().cloned()) * T::lit(DOUBTFUL * DOUBTFUL);
    for element in &elements {
        match element.try_cmp(&bound) {
            Ok(Some(Ordering::Greater)) => {}
            Err(source) if source.agreeing != 0 => {
                return Err(ArrayError::Undecided { op, source });
            }
            // Nobody knows the rank of what has no value.
            Err(_) if !is_wide => {}
            _ => return Ok(None),
        }
    }
    let mut x = vec![S::zero(); n * count];
    for (j, column) in (0..count).map(|j| (j, b.iter().skip(j).step_by(count).cloned())) {
        let mut column: Vec<S> = column.collect();
        if is_wide {
            // R^H z = b, x = Q z
            substitute(k, 1, false, |i, j| qr.element(j, i).conj(), &mut column);
            column.resize(n, S::zero());
            qr.turn_back(&mut column);
        } else {
            qr.turn(&mut column);
            substitute(k, 1, true, |i, j| qr.element(i, j), &mut column[..k]);
        }
        x.iter_mut().skip(j).step_by(count).zip(column).for_each(|(to, x)| *to = x);
    }
    Ok(Some(Array::new(&[n, count], x)?))
}
