//! The factor of a positive definite matrix.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError};

/// Returns the order of a square matrix.
pub(super) fn size<S>(op: &'static str, a: &Array<S>) -> Result<usize, ArrayError> {
    match a.matrix() {
        Some((m, n)) if m == n && a.rank() == 2 => Ok(n),
        _ => Err(ArrayError::shape(op, "a square matrix", &[&a.shape()])),
    }
}

/// Computes the lower triangular `L` with a positive diagonal and `L L^H = A`, for a positive
/// definite Hermitian matrix. Only the elements on and below the diagonal are read. O(n^3).
///
/// # Errors
/// It is no square matrix, or not positive definite.
pub fn cholesky<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let n = size("cholesky", a)?;
    let l = out.start(&[n, n]);
    l.resize(n * n, S::zero());
    for i in 0..n {
        for j in 0..=i {
            let dot = S::sum((0..j).map(|k| &l[i * n + k] * &l[j * n + k].conj()));
            let rest = a[i * n + j].clone() - dot;
            l[i * n + j] = if i == j {
                let square = rest.re();
                match square.try_cmp(&T::zero()) {
                    Ok(Some(Ordering::Less | Ordering::Equal)) => {
                        return Err(ArrayError::NotPositive { row: i, size: n });
                    }
                    Err(source) if source.agreeing != 0 => {
                        return Err(ArrayError::Undecided { op: "cholesky", source });
                    }
                    _ => {}
                }
                S::from_real(<T as Scalar>::sqrt(&square))
            } else {
                rest / &l[j * n + j]
            };
        }
    }
    Ok(())
}
