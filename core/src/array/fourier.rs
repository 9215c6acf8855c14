//! The discrete Fourier transform, on every number type.

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError};

/// `y_k = sum_j a_j e^(-2 pi i j k / n)` along the last axis; `back`: with `+`. Neither is divided by n: going there
/// and back multiplies by n. O(n log n) where the prime factors of n are small; a prime factor p costs p times as
/// much.
///
/// # Errors
/// The numbers are real ones: the roots of unity are not among them.
pub fn fft<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    back: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let shape = a.shape();
    let n = shape[shape.len() - 1];
    let roots = roots::<T, S>(n, back).ok_or_else(|| {
        ArrayError::shape(if back { "fft_back" } else { "fft" }, "complex numbers", &[&shape])
    })?;
    let to = out.start(&shape);
    let mut work = vec![S::zero(); n];
    for line in a.chunks_exact(n.max(1)) {
        let start = to.len();
        to.resize(start + n, S::zero());
        split(line, 1, &mut to[start..], &mut work, &roots);
    }
    Ok(())
}

/// `e^(-+2 pi i k / n)`; `None` for a real number type that lacks one. Quarter turns are exact.
fn roots<T: Real, S: Scalar<Real = T>>(n: usize, back: bool) -> Option<Vec<S>> {
    let length = i64::try_from(n).ok()?;
    (0..length)
        .map(|k| {
            let (c, s) = match (4 * k).checked_rem(length) {
                Some(0) => match 4 * k / length {
                    0 => (T::int(1), T::zero()),
                    1 => (T::zero(), T::int(1)),
                    2 => (T::int(-1), T::zero()),
                    _ => (T::zero(), T::int(-1)),
                },
                _ => {
                    let angle = T::pi() * T::ratio(2 * k, length);
                    (<T as Scalar>::cos(&angle), <T as Scalar>::sin(&angle))
                }
            };
            S::from_parts(c, if back { s } else { -s })
        })
        .collect()
}

/// Decimation in time: the transforms of every p-th element, joined. `a` is read with a step.
fn split<S: Scalar>(a: &[S], step: usize, out: &mut [S], work: &mut [S], roots: &[S]) {
    let n = out.len();
    if n <= 1 {
        out.iter_mut().zip(a).for_each(|(y, x)| *y = x.clone());
        return;
    }
    let p = (2..=n).find(|p| n % p == 0 || p * p > n).filter(|p| n % p == 0).unwrap_or(n);
    let m = n / p;
    for (r, part) in out.chunks_exact_mut(m).enumerate() {
        split(&a[r * step..], step * p, part, work, roots);
    }
    // y_k = sum_r w^(r k) part_r[k mod m], with w the n-th root: the (N/n)-th power of the first.
    let turn = roots.len() / n;
    for k in 0..n {
        let terms = (0..p).map(|r| &out[r * m + k % m] * &roots[r * k % n * turn]);
        work[k] = S::sum(terms);
    }
    out.clone_from_slice(&work[..n]);
}
