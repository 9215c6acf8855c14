//! Factors of matrices, and the exponential.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError, matmul, solve};

/// The order of a square matrix.
pub(super) fn size<S>(op: &'static str, a: &Array<S>) -> Result<usize, ArrayError> {
    match a.matrix() {
        Some((m, n)) if m == n && a.rank() == 2 => Ok(n),
        _ => Err(ArrayError::shape(op, "a square matrix", &[&a.shape()])),
    }
}

/// The lower triangular `L` with a positive diagonal and `L L^H = A`, for a positive definite Hermitian matrix. Only
/// the elements on and below the diagonal are read. O(n^3).
///
/// # Errors
/// It is no square matrix, or not positive definite.
pub fn cholesky<T: Real, S: Scalar<Real = T>>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
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

/// Coefficients of the (6, 6) Padé approximation of the exponential: `c_(k+1) / c_k = (6 - k) / ((12 - k) (k + 1))`.
const ORDER: i64 = 6;

/// The exponential of a square matrix, by scaling, a Padé approximation of order 6 and squaring. The error is about
/// 1e-15 in norm, times the number of squarings. O(n^3 log of the norm).
///
/// # Errors
/// It is no square matrix, or has infinite or undefined elements.
pub fn expm<T: Real, S: Scalar<Real = T>>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let n = size("expm", a)?;
    let norm = (0..n)
        .map(|i| a[i * n..(i + 1) * n].iter().map(|x| x.abs2().primal().map_or(0.0, f64::sqrt)).sum::<f64>());
    let norm = norm.fold(0.0, |m: f64, x| if x.is_nan() { x } else { m.max(x) });
    if !norm.is_finite() {
        return Err(ArrayError::Diverges { op: "expm" });
    }
    // Down to a norm of 1/2.
    let squarings = (2.0 * norm).log2().ceil().clamp(0.0, 1100.0) as i32;
    let scale = S::lit(0.5f64.powi(squarings));
    let x = Array::new(&[n, n], a.iter().map(|x| x * &scale).collect())?;
    let unit = (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let mut power = Array::new(&[n, n], unit)?;
    // N = sum c_k X^k, D = sum c_k (-X)^k, exp X ~ D^-1 N
    let (mut top, mut bottom) = (power.clone(), power.clone());
    let mut c = S::one();
    let mut next = Array::default();
    for k in 0..ORDER {
        c *= S::ratio(ORDER - k, (2 * ORDER - k) * (k + 1));
        matmul(&power, &x, false, false, &mut next)?;
        std::mem::swap(&mut power, &mut next);
        for (j, x) in power.iter().enumerate() {
            let term = &c * x;
            if k % 2 == 0 {
                bottom[j] -= term.clone()
            } else {
                bottom[j] += term.clone()
            }
            top[j] += term;
        }
    }
    solve(&bottom, &top, false, out)?;
    for _ in 0..squarings {
        matmul(out, out, false, false, &mut next)?;
        std::mem::swap(out, &mut next);
    }
    Ok(())
}
