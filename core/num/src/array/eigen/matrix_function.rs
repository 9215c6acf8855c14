//! Functions of Hermitian matrices on numbers that carry something, where eigenvalues are equal.

use crate::scalar::{Real, Scalar};

use super::{
    super::{
        Array, ArrayError, matmul,
        value::{beyond, is_carrying},
    },
    degenerate::degenerate_ranges,
    to_complex,
};

/// Threshold above which derivatives between eigenvectors of equal eigenvalues count, as a part of
/// the greatest.
const COUNTS: f64 = 1e-10;

/// Returns the order of a matrix, of the shapes of what [`spectral`] takes.
///
/// # Errors
/// The shapes do not fit.
#[doc(hidden)]
pub fn spectral_order(shapes: [&[usize]; 5]) -> Result<usize, ArrayError> {
    match shapes {
        [&[n, n1], &[n2, n3], &[k, n4], &[n5], &[n6]]
            if k == n + 1 && [n1, n2, n3, n4, n5, n6].iter().all(|m| *m == n) =>
        {
            Ok(n)
        }
        given => {
            let expected = "two matrices n x n, one (n + 1) x n and two vectors of n";
            Err(ArrayError::shape("spectral", expected, &given))
        }
    }
}

/// Computes a function `V diag(d) V^H` of a Hermitian matrix, where `both` holds its eigenvalues
/// and eigenvectors, d is what the function makes of the eigenvalues and `slope` what its
/// derivative makes of them. What the numbers of the matrix carry between eigenvectors of equal
/// eigenvalues is added: `V (S . V^H A V) V^H` there. That is all of first order, and all of second
/// order along one direction; where two directions have derivatives of which each mixes what the
/// other tells apart, the result is NaN.
///
/// # Errors
/// The shapes do not fit.
pub fn spectral<T: Real, S: Scalar<Real = T>>(
    product: &mut Array<S>,
    a: &Array<S>,
    both: &Array<S>,
    d: &Array<S>,
    slope: &Array<S>,
) -> Result<(), ArrayError> {
    let n =
        spectral_order([&product.shape(), &a.shape(), &both.shape(), &d.shape(), &slope.shape()])?;
    if !is_carrying(a) {
        return Ok(());
    }
    let w: Vec<f64> = to_complex(&both[..n]).into_iter().map(|w| w.re).collect();
    let runs = degenerate_ranges(&w);
    if runs.is_empty() {
        return Ok(());
    }
    let v = Array::new(&[n, n], both[n..].to_vec())?;
    let half = S::ratio(1, 2);
    let hermitian: Vec<S> =
        (0..n * n).map(|k| (a[k].clone() + a[k % n * n + k / n].conj()) * &half).collect();
    let times = |x: &Array<S>, y: &Array<S>, [adjoint, by_adjoint]: [bool; 2]| {
        let mut out = Array::default();
        matmul(x, y, adjoint, by_adjoint, &mut out).map(|()| out)
    };
    let inside = times(&v, &Array::new(&[n, n], hermitian)?, [true, false])?;
    let inside = times(&inside, &v, [false, false])?;
    let slopes_of = |x: &S| -> Vec<f64> {
        let (re, im) = (x.re().first_derivatives(), x.im().first_derivatives());
        let at = |x: &[f64], p: usize| x.get(p).map_or(0.0, |x| x.abs());
        (0..re.len().max(im.len())).map(|p| at(&re, p).max(at(&im, p))).collect()
    };
    let slopes: Vec<Vec<f64>> = inside.iter().map(slopes_of).collect();
    let greatest = a.iter().flat_map(slopes_of).fold(0.0, f64::max);
    let counts = |k: usize, p: usize| slopes[k].get(p).is_some_and(|x| *x > COUNTS * greatest);
    // True if each of two elements has a derivative along a direction of its own.
    let are_mixed = |x: usize, y: usize| {
        let two = |p: usize| counts(x, p) && (0..slopes[y].len()).any(|q| q != p && counts(y, q));
        (0..slopes[x].len()).any(two) && !(beyond(&inside[x]) * beyond(&inside[y])).is_exact_zero()
    };
    let mut between = vec![S::zero(); n * n];
    let mut is_mixed = false;
    for run in runs {
        for (i, j) in
            run.clone().flat_map(|i| run.clone().map(move |j| (i, j))).filter(|(i, j)| i != j)
        {
            let at = i * n + j;
            is_mixed |= run.clone().any(|k| k != j && are_mixed(at, j * n + k));
            between[at] = beyond(&inside[at]) * (slope[i].clone() + &slope[j]) * &half;
        }
    }
    let change = times(&v, &Array::new(&[n, n], between)?, [false, false])?;
    let change = times(&change, &v, [false, true])?;
    let factor = if is_mixed { S::lit(f64::NAN) } else { S::one() };
    product.iter_mut().zip(change.iter()).for_each(|(to, x)| *to += x.clone() * &factor);
    Ok(())
}
