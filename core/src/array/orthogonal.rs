//! Orthonormal columns and a triangle: reflections, on every number type.
//!
//! Which way a column is reflected is decided by its value; what the numbers carry besides (derivatives, uncertainty)
//! goes through the same operations. Source: Golub and Van Loan, *Matrix Computations*, section 5.2.

use std::{array::from_fn, cmp::Ordering};

use crate::scalar::{Loop, Real, Scalar, wide};

use super::{Array, ArrayError};

/// Sums are taken in as many columns, so that none waits for the one before.
const COLUMNS: usize = 16;

/// The matrix `Q` of orthonormal columns, `m x n`, and below it the upper triangular `R`, `n x n`, whose diagonal is not
/// negative, with `A = Q R`, for a matrix with at least as many rows as columns. Both are unique where the columns of `A` are
/// linearly independent; else there are zeros in the diagonal of `R`, and derivatives are not defined.
///
/// ```
/// use ketgrad_core::array::{Array, qr};
///
/// let a = Array::new(&[2, 1], vec![-3.0_f64, 4.0])?;
/// let mut y = Array::default();
/// qr(&a, &mut y)?;
/// assert_eq!(y[2], 5.0); // Q is (-0.6, 0.8)
/// assert!((y[0] + 0.6).abs() < 1e-15 && (y[1] - 0.8).abs() < 1e-15);
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// 4 m n^2 - 4/3 n^3 operations.
///
/// # Errors
/// It is no matrix, or has more columns than rows.
pub fn qr<T: Real, S: Scalar<Real = T>>(a: &Array<S>, out: &mut Array<S>) -> Result<(), ArrayError> {
    let (m, n) = match a.matrix() {
        Some((m, n)) if a.rank() == 2 && m >= n => (m, n),
        _ => {
            let expected = "a matrix with at least as many rows as columns";
            return Err(ArrayError::shape("qr", expected, &[&a.shape()]));
        }
    };
    // A power of two, so that squares stay in range.
    let size = a.iter().fold(T::zero(), |size, x| {
        let (re, im) = (x.re().finite_value(), x.im().finite_value());
        size.hypot(&re).hypot(&im)
    });
    let scale = size.inverse_size(&T::zero()).unwrap_or_else(T::one);
    let by = S::from_real(scale.clone());
    // Columns as rows.
    let mut columns: Vec<S> = (0..m * n).map(|k| &a[k % m * n + k / m] * &by).collect();
    let (mut signs, mut factors) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for k in 0..n {
        let (done, rest) = columns.split_at_mut((k + 1) * m);
        let v = &mut done[k * m + k..];
        let (element, sign, t) = reflection(v)?;
        let back = t.conj();
        rest.chunks_exact_mut(m).for_each(|x| reflect(v, &back, &mut x[k..]));
        signs.push(S::from_real(sign.clone()));
        factors.push((t, element * sign));
    }
    let back = S::from_real(<T as Scalar>::recip(&scale));
    let mut q = vec![S::zero(); m * n];
    for (j, x) in q.chunks_exact_mut(m.max(1)).enumerate() {
        x[j] = signs[j].clone();
        for k in (0..=j).rev() {
            reflect(&columns[k * m + k..(k + 1) * m], &factors[k].0, &mut x[k..]);
        }
    }
    let to = out.start(&[m + n, n]);
    to.extend((0..m * n).map(|k| q[k % n * m + k / n].clone()));
    for (k, (_, element)) in factors.into_iter().enumerate() {
        to.extend((0..k).map(|_| S::zero()));
        to.push(S::from_real(element) * &back);
        to.extend((k + 1..n).map(|j| &columns[j * m + k] * &signs[k] * &back));
    }
    Ok(())
}

/// `H = 1 - t v v^H` that leaves `x` its first element alone: that element, its sign, and `t`. The vector becomes `v`, whose first
/// element is 1; where there is nothing to do `t` is 0.
pub(super) fn reflection<T: Real, S: Scalar<Real = T>>(x: &mut [S]) -> Result<(T, T, S), ArrayError> {
    let Some((first, others)) = x.split_first_mut() else { return Ok((T::zero(), T::one(), S::zero())) };
    let is_negative = match first.re().try_cmp(&T::zero()) {
        Err(source) if source.agreeing != 0 => return Err(ArrayError::Undecided { op: "qr", source }),
        order => order == Ok(Some(Ordering::Less)),
    };
    let sign = if is_negative { T::int(-1) } else { T::one() };
    let rest = T::sum(others.iter().map(Scalar::abs2));
    if rest.is_exact_zero() && first.im().is_exact_zero() {
        let element = first.re();
        *first = S::one();
        return Ok((element, sign, S::zero()));
    }
    // The one that is farther away.
    let element = -(<T as Scalar>::sqrt(&(first.abs2() + rest)) * &sign);
    let away = first.clone() - S::from_real(element.clone());
    let inverse = away.recip();
    others.iter_mut().for_each(|x| *x *= inverse.clone());
    *first = S::one();
    let t = away * S::from_real(-<T as Scalar>::recip(&element));
    Ok((element, -sign, t))
}

/// `x - t v (v^H x)`
fn reflect<S: Scalar>(v: &[S], t: &S, x: &mut [S]) {
    if !t.is_exact_zero() {
        wide::<S, _>(Reflect { v, t, x });
    }
}

struct Reflect<'a, S> {
    v: &'a [S],
    t: &'a S,
    x: &'a mut [S],
}

impl<S: Scalar> Loop for Reflect<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let mut sums: [S; COLUMNS] = from_fn(|_| S::zero());
        let ((vs, v_few), (xs, x_few)) = (self.v.as_chunks::<COLUMNS>(), self.x.as_chunks::<COLUMNS>());
        for (v, x) in vs.iter().zip(xs) {
            for k in 0..COLUMNS {
                sums[k] += v[k].conj() * &x[k];
            }
        }
        for (s, (v, x)) in sums.iter_mut().zip(v_few.iter().zip(x_few)) {
            *s += v.conj() * x;
        }
        for half in [8, 4, 2, 1] {
            for k in 0..half {
                let other = sums[k + half].clone();
                sums[k] += other;
            }
        }
        let factor = self.t * &sums[0];
        self.x.iter_mut().zip(self.v).for_each(|(x, v)| *x -= &factor * v);
    }
}
