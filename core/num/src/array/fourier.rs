//! The discrete Fourier transform: by `rustfft` on floats, and by decimation on every other number
//! type.

use std::{any::Any, fmt};

use num_complex::Complex;
use rustfft::{FftDirection, FftPlanner};

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError};

/// Transforms, with what is prepared for the lengths seen so far.
#[derive(Default)]
pub struct FftPlans {
    floats: Option<FftPlanner<f64>>,
    work: Vec<Complex<f64>>,
}

impl fmt::Debug for FftPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transforms")
    }
}

impl FftPlans {
    /// Computes [`fft`] with a plan that is prepared once for each length.
    ///
    /// # Errors
    /// Fails when [`fft`] does.
    pub fn fft<T: Real, S: Scalar<Real = T>>(
        &mut self,
        a: &Array<S>,
        back: bool,
        out: &mut Array<S>,
    ) -> Result<(), ArrayError> {
        let floats = (a as &dyn Any).downcast_ref::<Array<Complex<f64>>>();
        match floats.zip((out as &mut dyn Any).downcast_mut()) {
            Some((a, out)) => self.on_floats(a, back, out),
            None => by_decimation(a, back, out)?,
        }
        Ok(())
    }

    fn on_floats(&mut self, a: &Array<Complex<f64>>, back: bool, out: &mut Array<Complex<f64>>) {
        let n = a.shape().last().copied().unwrap_or(0);
        out.copy_from(a);
        if out.is_empty() {
            return;
        }
        let direction = if back { FftDirection::Inverse } else { FftDirection::Forward };
        let plan = self.floats.get_or_insert_with(FftPlanner::new).plan_fft(n, direction);
        self.work.resize(plan.get_inplace_scratch_len().max(self.work.len()), Complex::default());
        plan.process_with_scratch(out, &mut self.work);
    }
}

/// Computes `y_k = sum_j a_j e^(-2 pi i j k / n)` along the last axis; `back`: with `+`. Neither is
/// divided by n: going there and back multiplies by n. O(n log n) on floats; on other number types
/// where the prime factors of n are small, a prime factor p costs p times as much.
///
/// # Errors
/// The numbers are real ones: the roots of unity are not among them.
pub fn fft<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    back: bool,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    FftPlans::default().fft(a, back, out)
}

fn by_decimation<T: Real, S: Scalar<Real = T>>(
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

/// Computes `e^(-+2 pi i k / n)`; `None` for a real number type that lacks one. Quarter turns are
/// exact.
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
    let p = (2..).take_while(|p| p * p <= n).find(|&p| n.is_multiple_of(p)).unwrap_or(n);
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
