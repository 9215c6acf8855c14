//! Orthonormal columns and a triangle: reflections, on every number type.
//!
//! The direction of a reflection is decided by the value of the column; what the numbers carry
//! besides (derivatives, uncertainty) goes through the same operations. Source: Golub and Van Loan,
//! *Matrix Computations*, section 5.2.

use std::{array::from_fn, cmp::Ordering};

use crate::scalar::{Real, Ring, Scalar, WideLoop, wide};

use super::{Array, ArrayError};

/// Sums are taken in as many columns, so that none waits for the one before.
const COLUMNS: usize = 16;

/// Computes the matrix `Q` of orthonormal columns, `m x n`, and below it the upper triangular `R`,
/// `n x n`, whose diagonal is not negative, with `A = Q R`, for a matrix with at least as many rows
/// as columns. Both are unique where the columns of `A` are linearly independent; else there are
/// zeros in the diagonal of `R`, and derivatives are not defined.
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
pub fn qr<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let (m, n) = match a.matrix() {
        Some((m, n)) if a.rank() == 2 && m >= n => (m, n),
        _ => {
            let expected = "a matrix with at least as many rows as columns";
            return Err(ArrayError::shape("qr", expected, &[&a.shape()]));
        }
    };
    let columns = (0..m * n).map(|k| a[k % m * n + k / m].clone()).collect();
    let qr = Reflected::new("qr", m, columns)?;
    let mut q = vec![S::zero(); m * n];
    for (j, x) in q.chunks_exact_mut(m.max(1)).enumerate() {
        x[j] = qr.signs[j].clone();
        qr.reflect_back(j + 1, x);
    }
    let to = out.start(&[m + n, n]);
    to.extend((0..m * n).map(|k| q[k % n * m + k / n].clone()));
    for k in 0..n {
        to.extend((0..k).map(|_| S::zero()));
        to.push(S::from_real(qr.elements[k].clone()) * &qr.signs[k]);
        to.extend((k + 1..n).map(|j| &qr.columns[j * m + k] * &qr.signs[k]));
    }
    Ok(())
}

/// A matrix with at least as many rows as columns, reflected to a triangle: `A = H R`, where `R`
/// lacks the signs that make its diagonal not negative.
pub(super) struct Reflected<T, S> {
    /// The length of the columns.
    m: usize,
    /// Column `k` is `R` above the diagonal and `v` from there on.
    columns: Vec<S>,
    /// The diagonal of `R`.
    elements: Vec<T>,
    /// Signs of the reflected columns.
    signs: Vec<S>,
    /// The `t` of each reflection.
    factors: Vec<S>,
}

impl<T: Real, S: Scalar<Real = T>> Reflected<T, S> {
    /// Reflects columns of `m` elements, one after the other.
    ///
    /// # Errors
    /// Numbers side by side do not agree about a sign.
    pub(super) fn new(
        op: &'static str,
        m: usize,
        mut columns: Vec<S>,
    ) -> Result<Reflected<T, S>, ArrayError> {
        // A power of two, so that squares stay in range.
        let size = columns.iter().fold(T::zero(), |size, x| {
            let (re, im) = (x.re().finite_value(), x.im().finite_value());
            size.hypot(&re).hypot(&im)
        });
        let scale = size.inverse_size(&T::zero()).unwrap_or_else(T::one);
        let by = S::from_real(scale.clone());
        columns.iter_mut().for_each(|x| *x *= by.clone());
        let n = columns.len().checked_div(m).unwrap_or(0);
        let (mut elements, mut signs, mut factors) =
            (Vec::new(), Vec::new(), Vec::with_capacity(n));
        let back = <T as Scalar>::recip(&scale);
        for k in 0..n {
            let (done, rest) = columns.split_at_mut((k + 1) * m);
            let v = &mut done[k * m + k..];
            let (element, sign, t) = reflection(op, v)?;
            let adjoint = t.conj();
            rest.chunks_exact_mut(m).for_each(|x| reflect(v, &adjoint, &mut x[k..]));
            signs.push(S::from_real(sign));
            elements.push(element * &back);
            factors.push(t);
        }
        let back = S::from_real(back);
        for (k, column) in columns.chunks_exact_mut(m.max(1)).enumerate() {
            column[..k].iter_mut().for_each(|x| *x *= back.clone());
        }
        Ok(Reflected { m, columns, elements, signs, factors })
    }

    /// Returns an element on or above the diagonal of `R`.
    pub(super) fn element(&self, i: usize, j: usize) -> S {
        if i == j {
            S::from_real(self.elements[i].clone())
        } else {
            self.columns[j * self.m + i].clone()
        }
    }

    /// Computes `H^H x`.
    pub(super) fn turn(&self, x: &mut [S]) {
        for (k, t) in self.factors.iter().enumerate() {
            reflect(&self.columns[k * self.m + k..(k + 1) * self.m], &t.conj(), &mut x[k..]);
        }
    }

    /// Computes `H x`.
    pub(super) fn turn_back(&self, x: &mut [S]) {
        self.reflect_back(self.factors.len(), x);
    }

    /// Applies the first `count` reflections, the last one first.
    fn reflect_back(&self, count: usize, x: &mut [S]) {
        for k in (0..count).rev() {
            reflect(&self.columns[k * self.m + k..(k + 1) * self.m], &self.factors[k], &mut x[k..]);
        }
    }
}

/// Computes the reflection `H = 1 - t v v^H` that leaves `x` its first element alone: that element,
/// its sign, and `t`. The vector becomes `v`, whose first element is 1; where there is nothing to
/// do `t` is 0.
pub(super) fn reflection<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    x: &mut [S],
) -> Result<(T, T, S), ArrayError> {
    let Some((first, others)) = x.split_first_mut() else {
        return Ok((T::zero(), T::one(), S::zero()));
    };
    let is_negative = match first.re().try_cmp(&T::zero()) {
        Err(source) if source.agreeing != 0 => return Err(ArrayError::Undecided { op, source }),
        order => order == Ok(Some(Ordering::Less)),
    };
    let sign = if is_negative { T::int(-1) } else { T::one() };
    let rest = T::sum(others.iter().map(Scalar::abs2));
    let length2 = first.abs2() + &rest;
    // Zeros that carry derivatives are reflected, unless there is no direction at all.
    let is_there = others.iter().all(Ring::is_exact_zero) && first.im().is_exact_zero();
    if is_there || length2.primal() == Some(0.0) {
        let element = first.re();
        *first = S::one();
        return Ok((element, sign, S::zero()));
    }
    // The one that is farther away.
    let element = -(<T as Scalar>::sqrt(&length2) * &sign);
    let away = first.clone() - S::from_real(element.clone());
    let inverse = away.recip();
    others.iter_mut().for_each(|x| *x *= inverse.clone());
    *first = S::one();
    let t = away * S::from_real(-<T as Scalar>::recip(&element));
    Ok((element, -sign, t))
}

/// Computes `x - t v (v^H x)`.
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

impl<S: Scalar> WideLoop for Reflect<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let mut sums: [S; COLUMNS] = from_fn(|_| S::zero());
        let ((vs, v_few), (xs, x_few)) =
            (self.v.as_chunks::<COLUMNS>(), self.x.as_chunks::<COLUMNS>());
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
