//! Propagation of derivatives and uncertainty through eigenvalues and eigenvectors.
//!
//! Let `A = A_0 + B`, where `A_0 = V_0 diag(w_0) V_0^H` holds the values and `B` has none,
//! `M = V_0^H A V_0` is `diag(w_0)` but for what is carried. Its eigenvectors `Y` are found from 1
//! on:
//!
//! ```text
//! T = Y^H M Y,  R = 1 - Y^H Y,  w_i = T_ii / (1 - R_ii)
//! E_ij = (T_ij + w_j R_ij) / (w_j - w_i),  R_ij / 2 where the eigenvalues are equal
//! Y <- Y + Y E
//! ```
//!
//! Nilpotent parts of order p are right after `log2 (p + 1)` such steps, since each doubles the
//! order that is; after p steps where eigenvalues are equal. The first step is the rule of first
//! order that reverse mode has. Source: Ogita and Aishima, *Iterative refinement for symmetric
//! eigenvalue decomposition* (2018).

use crate::scalar::{Real, Scalar};

use super::super::{Array, ArrayError, matmul, value::beyond};

/// Orders of derivatives that are looked for at most; numbers that never vanish as powers get as
/// many.
const ORDERS: usize = 63;

/// Adds what `a` carries to the eigenvalues `w`, ascending, and eigenvectors of its values.
///
/// # Errors
/// Never fails, since the shapes fit.
pub(in crate::array) fn follow<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    w: &[f64],
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    perturb(a.iter().map(beyond).collect(), values, vectors, &|i, j| w[i] == w[j])
}

/// Adds a matrix `b` of no values to eigenvalues and eigenvectors, of which some eigenvalues are
/// equal.
///
/// # Errors
/// Never fails, since the shapes fit.
pub(in crate::array) fn perturb<T: Real, S: Scalar<Real = T>>(
    b: Vec<S>,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
    is_equal: &dyn Fn(usize, usize) -> bool,
) -> Result<(), ArrayError> {
    let n = values.len();
    if b.iter().all(S::is_exact_zero) {
        return Ok(());
    }
    let half = S::ratio(1, 2);
    let b: Vec<S> =
        (0..n * n).map(|k| (b[k].clone() + b[k % n * n + k / n].conj()) * &half).collect();
    // Once at least: what is undefined comes out at the end.
    let order = order(&b).max(1);
    let doublings = usize::BITS - order.leading_zeros();
    let steps = if (1..n).any(|k| is_equal(k - 1, k)) { order } else { doublings as usize };
    let b = Array::new(&[n, n], b)?;
    let product = |x: &Array<S>, y: &Array<S>, adjoint: bool| {
        let mut out = Array::default();
        matmul(x, y, adjoint, false, &mut out).map(|()| out)
    };
    let mut m = product(&product(vectors, &b, true)?, vectors, false)?;
    for (k, w) in values.iter().enumerate() {
        m[k * (n + 1)] += S::from_real(w.clone());
    }
    let mut y: Option<Array<S>> = None;
    for _ in 0..steps {
        let (mut t, rest) = match &y {
            None => (m.clone(), None),
            Some(y) => (product(&product(y, &m, true)?, y, false)?, Some(product(y, y, true)?)),
        };
        // 1 - Y^H Y
        let rest = |i: usize, j: usize| {
            let one = if i == j { S::one() } else { S::zero() };
            rest.as_ref().map(|r| one - &r[i * n + j])
        };
        for i in 0..n {
            let length = T::one() - rest(i, i).map_or_else(T::zero, |r| r.re());
            values[i] = t[i * (n + 1)].re() / length;
        }
        for i in 0..n {
            for j in 0..n {
                let r = rest(i, j);
                t[i * n + j] = if is_equal(i, j) {
                    r.map_or_else(S::zero, |r| r * &half)
                } else {
                    let inverse = <T as Scalar>::recip(&(values[j].clone() - &values[i]));
                    let r = r.map_or_else(S::zero, |r| r * S::from_real(values[j].clone()));
                    (r + &t[i * n + j]) * S::from_real(inverse)
                };
            }
        }
        let mut next = match &y {
            None => t,
            Some(y) => product(y, &t, false)?,
        };
        match &y {
            None => (0..n).for_each(|k| next[k * (n + 1)] += S::one()),
            Some(y) => next.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y.clone()),
        }
        y = Some(next);
    }
    if let Some(y) = y {
        *vectors = product(vectors, &y, false)?;
    }
    Ok(())
}

/// Returns how many of these numbers can be multiplied, each of them any number of times, before
/// all that is left is zero: the order of derivatives that they carry.
fn order<T: Real, S: Scalar<Real = T>>(b: &[S]) -> usize {
    // No two with the same weight, so that nothing cancels.
    let weighed = b.iter().enumerate().map(|(k, x)| {
        let weight = |k: usize| T::lit(1.0 + (k as f64 * 0.618_033_988_749_895).fract());
        x.re() * weight(2 * k) + x.im() * weight(2 * k + 1)
    });
    let mix = T::sum(weighed);
    let mut power = mix.clone();
    for order in 0..ORDERS {
        let is_defined = (power.clone() - &power).is_exact_zero();
        if power.is_exact_zero() || !is_defined {
            return order;
        }
        power *= mix.clone();
    }
    ORDERS
}
