//! Eigenvalues and eigenvectors of Hermitian matrices, on every number type.
//!
//! The values of the numbers are decomposed in `f64`, or `Complex<f64>` where an imaginary part is
//! not zero: reflections make the matrix tridiagonal (`reduce`), rotations make that diagonal
//! (`tridiagonal`). What they carry besides (derivatives, uncertainty) follows from the
//! perturbation series of the eigenvectors, order by order (`carried`); numbers that carry nothing
//! do not pay for it.

mod carried;
mod degenerate;
mod matrix_function;
mod reduce;
mod rotations;
mod tridiagonal;

use std::cmp::Ordering;

use crate::scalar::{Real, Scalar};

use super::{
    Array, ArrayError,
    decompose::size,
    jacobi::{self, fine_unit},
    value,
};
pub(super) use carried::{follow, perturb};
pub(super) use degenerate::{
    degenerate_ranges, diagonal, linear_combinations, matrix_elements, tangent_matrices, to_complex,
};
pub use matrix_function::spectral;
#[doc(hidden)]
pub use matrix_function::spectral_order;
use reduce::Reduced;
pub(super) use reduce::{COLUMNS, dot, total};
pub(super) use rotations::{GivensRotation, RotatedVectors, rotation};

/// An element counts among the greatest of an eigenvector if its squared modulus is at least this
/// part of the greatest: then rounding does not choose among equal ones.
pub(super) const NEAR_GREATEST: f64 = 0.81;

/// Computes the eigenvalues of a Hermitian matrix in ascending order and, as columns in the same
/// order, its eigenvectors, each of norm 1: `A = V diag(w) V^H`. Only the Hermitian part of the
/// matrix counts.
///
/// ```
/// use ketgrad_core::array::{Array, eigh};
///
/// let a = Array::new(&[2, 2], vec![2.0, 0.0, 0.0, -1.0])?;
/// let (mut values, mut vectors) = (Array::default(), Array::default());
/// eigh(&a, &mut values, &mut vectors)?;
/// assert_eq!(values.to_string(), "[-1.0, 2.0]");
/// assert_eq!(vectors.to_string(), "[[0.0, 1.0], [1.0, 0.0]]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Of each eigenvector the first among the elements of greatest modulus (those of at least .9 of
/// it) is real and positive. This holds for values; derivatives are those along `v^H dv = 0`, where
/// an eigenvector turns no phase.
///
/// `V diag(w) V^H` is `A` and `V^H V` is 1 to within rounding, about `n` times 2^-53 of the norm;
/// so an eigenvalue that is small beside the norm has fewer digits. Matrices of any scale will do.
/// Numbers of up to 53 bits are computed with as `f64`, those of more with all their digits, by
/// Jacobi's rotations: some ten times the operations. The result does not depend on the number of
/// threads.
///
/// Derivatives and uncertainty that the numbers carry are propagated, of every order.
/// Where eigenvalues are equal, their eigenvectors are some basis of a space that alone is defined.
/// Where the numbers carry derivatives it is the one in which these are diagonal, the first ones if
/// there are several: so what has a derivative along one direction has it, to second order as far
/// as only the eigenvalues count. Of the derivatives by each other they carry none.
///
/// About 9 n^3 operations: 4/3 n^3 for the tridiagonal matrix, 5 n^3 for its eigenvectors, 2 n^3
/// for those of A; of complex numbers four times the first and the last. For numbers that carry
/// something besides, three products of matrices for each doubling of the order.
///
/// # Errors
/// It is no square matrix, it has infinite or undefined elements, or numbers without values.
pub fn eigh<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    spectrum("eigen", a, None, values, vectors)
}

/// Computes the eigenvalues and eigenvectors of `A + t E` for small `t > 0`, as `t` falls to 0, as
/// [`eigh`] gives them: of equal eigenvalues the eigenvectors between which E is diagonal, in the
/// order of its elements there.
///
/// ```
/// use ketgrad_core::array::{Array, eigh_along};
///
/// let (a, e) = (Array::new(&[2, 2], vec![1.0, 0.0, 0.0, 1.0])?, Array::new(&[2, 2], vec![0.0, 1.0, 1.0, 0.0])?);
/// let (mut values, mut vectors) = (Array::default(), Array::default());
/// eigh_along(&a, &e, &mut values, &mut vectors)?;
/// assert!((vectors[0] - 0.5f64.sqrt()).abs() < 1e-15 && (vectors[0] + vectors[2]).abs() < 1e-15);
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// # Errors
/// They are no square matrices of one order, A has infinite or undefined elements, or there are
/// numbers without values.
pub fn eigh_along<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    e: &Array<S>,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    if size("eigen_along", a).is_err() || !a.same_shape(e) {
        let expected = "two square matrices of one order";
        return Err(ArrayError::shape("eigen_along", expected, &[&a.shape(), &e.shape()]));
    }
    spectrum("eigen_along", a, Some(e), values, vectors)
}

fn spectrum<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    along: Option<&Array<S>>,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    let n = size(op, a)?;
    let diverges = ArrayError::Diverges { op };
    let Some(mut elements) = value::values(a) else { return Err(diverges) };
    if let Some(unit) = fine_unit::<T>() {
        return fine_spectrum(op, a, along.is_some(), unit, values, vectors);
    }
    let greatest = elements.iter().fold(0.0, |m: f64, z| m.max(z.re.abs()).max(z.im.abs()));
    let scale = greatest.inverse_size(&0.0).unwrap_or(1.0);
    let half = 0.5 * scale;
    for i in 0..n {
        for k in 0..=i {
            let (x, y) = (elements[i * n + k], elements[k * n + i].conj());
            elements[i * n + k] = x * half + y * half;
        }
    }
    let is_real = (0..n).all(|i| elements[i * n..i * n + i].iter().all(|z| z.im == 0.0));
    let decomposed = if is_real {
        let real = elements.iter().map(|z| z.re).collect();
        decompose(n, real)
            .map(|(w, v)| (w, v.into_iter().map(|x| S::from_real(T::lit(x))).collect()))
    } else {
        decompose(n, elements).map(|(w, v)| (w, v.into_iter().map(value::lift).collect()))
    };
    let Some((w, v)) = decomposed else { return Err(diverges) };
    let mut w: Vec<f64> = w.into_iter().map(|w| w / scale).collect();
    *vectors = Array::new(&[n, n], v)?;
    let norm = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let unit = value::unit::<T>();
    if w.windows(2).any(|w| w[1] - w[0] <= n as f64 * unit * norm) {
        let mut v = to_complex(vectors);
        degenerate::merge_rounded(n, unit, &to_complex(a), &mut w, &v);
        let along = if degenerate_ranges(&w).is_empty() {
            Vec::new()
        } else {
            tangent_matrices(op, a, along)?
        };
        if !along.is_empty() {
            degenerate::rotate(n, &w, &mut v, &along);
            vectors.iter_mut().zip(v).for_each(|(to, x)| *to = value::lift(x));
        }
    }
    *values = w.iter().map(|&w| T::lit(w)).collect();
    follow(a, &w, values, vectors)
}

/// Computes the spectrum of numbers of more digits than `f64`.
fn fine_spectrum<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    is_along: bool,
    unit: f64,
    values: &mut Array<T>,
    vectors: &mut Array<S>,
) -> Result<(), ArrayError> {
    let n = a.shape()[0];
    let whole: Vec<S> = a.iter().map(value::whole_value).collect();
    let Some((w, v)) = jacobi::eigh::<T, S>(n, &whole, unit) else {
        return Err(ArrayError::Diverges { op });
    };
    let size = |x: &T| x.primal().map_or(f64::NAN, f64::abs);
    let norm = w.iter().map(size).fold(0.0, f64::max);
    let is_equal = |i: usize, j: usize| size(&(w[i].clone() - &w[j])) <= n as f64 * unit * norm;
    let carried: Vec<S> = a.iter().zip(&whole).map(|(x, whole)| x.clone() - whole).collect();
    if (is_along || carried.iter().any(|x| !x.is_exact_zero()))
        && (1..n).any(|k| is_equal(k - 1, k))
    {
        return Err(ArrayError::Precision { op });
    }
    *vectors = Array::new(&[n, n], (0..n * n).map(|k| v[k % n * n + k / n].clone()).collect())?;
    *values = w.iter().cloned().collect();
    perturb(carried, values, vectors, &|i, j| i == j)
}

/// Returns the ascending eigenvalues and the matrix of eigenvectors of a matrix, whose lower
/// triangle is given and whose elements are of size 1 or so. `None` where it does not converge.
fn decompose<F: Scalar<Real = f64> + Copy>(n: usize, lower: Vec<F>) -> Option<(Vec<f64>, Vec<F>)> {
    let mut reduced = Reduced::new(n, lower);
    let mut values = std::mem::take(&mut reduced.diagonal);
    let turned = tridiagonal::diagonalize(&mut values, &mut reduced.beside)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].partial_cmp(&values[j]).unwrap_or(Ordering::Equal));
    let mut rows: Vec<F> = Vec::with_capacity(n * n);
    order.iter().for_each(|&k| rows.extend(turned.vector(k).map(F::from_real)));
    reduced.back(&mut rows);
    let mut columns = vec![F::zero(); n * n];
    for (k, row) in rows.chunks_exact_mut(n.max(1)).enumerate() {
        fix_phase(row);
        columns.iter_mut().skip(k).step_by(n).zip(row).for_each(|(to, x)| *to = *x);
    }
    Some((order.into_iter().map(|k| values[k]).collect(), columns))
}

/// Makes the first of the greatest elements real and positive.
fn fix_phase<F: Scalar<Real = f64> + Copy>(vector: &mut [F]) {
    if let Some(k) = first_of_greatest(vector) {
        let x = vector[k];
        let phase = against(x);
        vector.iter_mut().for_each(|x| *x *= phase);
        vector[k] = F::from_real(x.abs2().sqrt());
    }
}

/// Returns the index of the first of the greatest elements.
pub(super) fn first_of_greatest<F: Scalar<Real = f64>>(vector: &[F]) -> Option<usize> {
    let greatest = vector.iter().fold(0.0, |m: f64, x| m.max(x.abs2()));
    vector.iter().position(|x| x.abs2() >= NEAR_GREATEST * greatest)
}

/// Returns the number of modulus 1 that makes another one real and positive.
pub(super) fn against<F: Scalar<Real = f64>>(x: F) -> F {
    if x.im() == 0.0 {
        F::from_real(1f64.copysign(x.re()))
    } else {
        x.conj() * F::from_real(1.0 / x.abs2().sqrt())
    }
}
