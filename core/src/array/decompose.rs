//! Factors of matrices, and the exponential.

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError, matmul, solve};

fn size<S>(op: &'static str, a: &Array<S>) -> Result<usize, ArrayError> {
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

/// How often all pairs are turned at most; quadratic convergence needs about 6 + log2 of the order.
const SWEEPS: usize = 60;

/// The eigenvalues of a Hermitian matrix in ascending order and, as columns in the same order, its eigenvectors, each
/// of norm 1: `A = V diag(w) V^H`. Only the Hermitian part of the matrix counts.
///
/// Jacobi's method: pairs of rows and columns are turned until nothing is left beside the diagonal. About 10 n^3
/// operations a sweep. What the numbers carry besides their values (derivatives) is turned along, and two more sweeps
/// let it settle; of equal eigenvalues the eigenvectors have no derivative.
///
/// # Errors
/// It is no square matrix, it has infinite or undefined elements, or numbers without values.
pub fn eigh<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    let n = size("eigen", a)?;
    let half = <T as Scalar>::ratio(1, 2);
    let mut m: Vec<S> = (0..n * n)
        .map(|k| (a[k].clone() + a[k % n * n + k / n].conj()) * S::from_real(half.clone()))
        .collect();
    let mut v: Vec<S> = (0..n * n).map(|k| if k % n == k / n { S::one() } else { S::zero() }).collect();
    let primal = |x: &T| x.primal().unwrap_or(f64::NAN);
    let total: f64 = m.iter().map(|x| primal(&x.abs2())).sum();
    if !total.is_finite() {
        return Err(ArrayError::Diverges { op: "eigen" });
    }
    let mut more = 2;
    for _ in 0..SWEEPS {
        for p in 0..n {
            for q in p + 1..n {
                turn(n, &mut m, &mut v, p, q);
            }
        }
        let beside: f64 = (0..n * n).filter(|k| k % n != k / n).map(|k| primal(&m[k].abs2())).sum();
        if beside <= 1e-34 * total {
            if more == 0 {
                break;
            }
            more -= 1;
        }
    }
    let diagonal: Vec<T> = (0..n).map(|k| m[k * n + k].re()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| primal(&diagonal[i]).total_cmp(&primal(&diagonal[j])));
    values.start(&[n]).extend(order.iter().map(|&k| diagonal[k].clone()));
    vectors.start(&[n, n]).extend((0..n * n).map(|k| v[k / n * n + order[k % n]].clone()));
    Ok(())
}

/// Makes element (p, q) of a Hermitian matrix zero by a rotation of rows and columns p and q.
fn turn<T: Real, S: Scalar<Real = T>>(n: usize, m: &mut [S], v: &mut [S], p: usize, q: usize) {
    let b = m[p * n + q].clone();
    let size = b.abs2();
    if b.is_exact_zero()
        || size.primal() == Some(0.0) && (m[p * n + p].re() - m[q * n + q].re()).primal() == Some(0.0)
    {
        return;
    }
    let (alpha, gamma) = (m[p * n + p].re(), m[q * n + q].re());
    // t = tan of the angle: the smaller root of |b|^2 t^2 + (gamma - alpha) t - 1 = 0, times |b|^2 below.
    let d = (gamma - alpha) * <T as Scalar>::ratio(1, 2);
    let root = <T as Scalar>::sqrt(&(d.clone() * &d + &size));
    let sign = if d.primal().is_some_and(|d| d < 0.0) { -root } else { root };
    // b t has modulus tan; s = b t c turns the phase along.
    let t = <T as Scalar>::recip(&(d + sign));
    let c = <T as Scalar>::recip(&<T as Scalar>::sqrt(&(T::one() + size * &t * &t)));
    let s = b * S::from_real(t * &c);
    let c = S::from_real(c);
    // Columns p and q become c p - conj(s) q and s p + c q …
    let columns = |x: &mut [S]| {
        for row in x.chunks_exact_mut(n) {
            let (x, y) = (row[p].clone(), row[q].clone());
            row[p] = &c * &x - s.conj() * &y;
            row[q] = &s * &x + &c * &y;
        }
    };
    columns(m);
    columns(v);
    // … and rows by the conjugates.
    for k in 0..n {
        let (x, y) = (m[p * n + k].clone(), m[q * n + k].clone());
        m[p * n + k] = &c * &x - &s * &y;
        m[q * n + k] = s.conj() * &x + &c * &y;
    }
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
