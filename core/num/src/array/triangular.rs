//! Systems of equations with a triangular matrix, on every number type.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError, decompose::size};

/// Computes `L^-1 B`, or `U^-1 B` if `upper`, of a square matrix of which only that triangle
/// counts, and a vector or a matrix with as many rows.
///
/// ```
/// use ketgrad_core::array::{Array, solve_triangular};
///
/// let a = Array::new(&[2, 2], vec![2.0, 9.0, 1.0, 4.0])?;
/// let mut x = Array::default();
/// solve_triangular(&a, &Array::from(vec![2.0, 9.0]), false, &mut x)?;
/// assert_eq!(x.to_string(), "[1.0, 2.0]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// n^2 m operations for `m` columns.
///
/// # Errors
/// The shapes do not fit, or an element of the diagonal is zero.
pub fn solve_triangular<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    b: &Array<S>,
    upper: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let op = if upper { "solve_upper" } else { "solve_lower" };
    let n = size(op, a)?;
    let shape = b.shape();
    if shape.len() > 2 || shape[0] != n {
        let expected = "a matrix n x n and a vector of n or a matrix n x m";
        return Err(ArrayError::shape(op, expected, &[&a.shape(), &shape]));
    }
    for k in 0..n {
        let (element, size) = (&a[k * (n + 1)], n);
        match element.abs2().try_cmp(&T::zero()) {
            Ok(Some(Ordering::Equal)) => return Err(ArrayError::Singular { op, column: k, size }),
            Err(source) if source.agreeing != 0 => {
                return Err(ArrayError::Undecided { op, source });
            }
            _ if element.is_exact_zero() => {
                return Err(ArrayError::Singular { op, column: k, size });
            }
            _ => {}
        }
    }
    let m = shape.get(1).copied().unwrap_or(1);
    let x = out.start(&shape);
    x.extend_from_slice(b);
    substitute(n, m, upper, |i, j| a[i * n + j].clone(), x);
    Ok(())
}

/// Puts the solution in the place of `m` columns.
pub(super) fn substitute<S: Scalar>(
    n: usize,
    m: usize,
    upper: bool,
    element: impl Fn(usize, usize) -> S,
    x: &mut [S],
) {
    for step in 0..n {
        let i = if upper { n - 1 - step } else { step };
        let (done, own) = if upper {
            let (head, done) = x.split_at_mut((i + 1) * m);
            (&*done, &mut head[i * m..])
        } else {
            let (done, rest) = x.split_at_mut(i * m);
            (&*done, &mut rest[..m])
        };
        let first = if upper { i + 1 } else { 0 };
        for (k, y) in done.chunks_exact(m.max(1)).enumerate() {
            let factor = element(i, first + k);
            own.iter_mut().zip(y).for_each(|(x, y)| *x -= &factor * y);
        }
        let inverse = element(i, i).recip();
        own.iter_mut().for_each(|x| *x *= inverse.clone());
    }
}
