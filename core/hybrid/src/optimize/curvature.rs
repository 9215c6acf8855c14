//! The curvature at a point: the smallest eigenvalue of the Hessian, by Hessian-vector products.
//!
//! Lanczos's method with all vectors kept orthogonal: with
//! `b_{j+1} q_{j+1} = H q_j - a_j q_j - b_j q_{j-1}` from a random `q_1` the Hessian is a
//! tridiagonal matrix T in the space of `q_1, …, q_m`. An eigenvector s of T with eigenvalue t is a
//! vector `y = Q s` with `|H y - t y| = b_{m+1} |s_m|`, the residual. Every t is at least the
//! smallest eigenvalue of H, so a t below zero proves that there is negative curvature; that there
//! is none is certain once the residual of the smallest is small.
//!
//! Cost: a product for each vector, at most [`MOST`], and the memory of these vectors.
//!
//! Source: J. Nocedal, S. J. Wright, Numerical Optimization (2006), sections 2.1 and 7.1; C.
//! Lanczos, J. Res. Natl. Bur. Stand. 45, 255 (1950).

use nalgebra::{DMatrix, SymmetricEigen};

use super::vector::{dot, largest, norm, step_along};
use crate::state::draw;

/// Largest number of products.
const MOST: usize = 40;
/// The residual that is enough, as a part of the largest curvature.
const RESIDUAL: f64 = 1e-3;
/// Seed of the first vector.
const SEED: u64 = 0x6c61_6e63_7a6f_7301;

/// Eigenvalue estimates of a Hessian, from its products with vectors.
pub(super) struct Curvature {
    /// Eigenvalues of the Hessian within the space that was seen, the smallest first, each with its
    /// unit vector.
    pub(super) pairs: Vec<(f64, Vec<f64>)>,
    /// True if the smallest one is that of the Hessian.
    pub(super) certain: bool,
}

impl Curvature {
    /// Returns the largest absolute value of the curvature along any direction that was seen.
    pub(super) fn scale(&self) -> f64 {
        self.pairs.iter().fold(0.0, |most, (value, _)| value.abs().max(most))
    }
}

/// Returns a random vector of length 1, the same on every machine.
pub(super) fn random_unit(n: usize, number: u64) -> Vec<f64> {
    let x: Vec<f64> = (0..n as u64).map(|k| 2.0 * draw(SEED, number, k) - 1.0).collect();
    scaled(&x, norm(&x).max(f64::MIN_POSITIVE).recip())
}

/// Returns `t x`.
pub(super) fn scaled(x: &[f64], t: f64) -> Vec<f64> {
    x.iter().map(|x| t * x).collect()
}

/// Returns the part of x that is orthogonal to unit vectors which are so to each other. Twice is
/// enough for rounding.
pub(super) fn without<'a>(
    x: Vec<f64>,
    basis: impl Iterator<Item = &'a Vec<f64>> + Clone,
) -> Vec<f64> {
    let once = |x: Vec<f64>| basis.clone().fold(x, |x, q| step_along(&x, -dot(&x, q), q));
    once(once(x))
}

/// Returns the curvature at a point of n inputs, n above 0, from products `H v`; `None` if one is
/// not finite.
///
/// # Errors
/// Those of the product.
pub(super) fn curvature<E>(
    n: usize,
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Option<Curvature>, E> {
    let mut basis: Vec<Vec<f64>> = vec![random_unit(n, 0)];
    let (mut diagonal, mut beside): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    loop {
        let q = &basis[basis.len() - 1];
        let image = product(q)?;
        if image.len() != n || image.iter().any(|x| !x.is_finite()) {
            return Ok(None);
        }
        diagonal.push(dot(q, &image));
        let rest = without(image, basis.iter());
        let left = norm(&rest);
        let m = diagonal.len();
        let tridiagonal = DMatrix::from_fn(m, m, |i, j| match i.abs_diff(j) {
            0 => diagonal[i],
            1 => beside[i.min(j)],
            _ => 0.0,
        });
        let all = m == n || m == MOST;
        // Small matrices are done at every step, larger ones at every fourth.
        if !all && m > 8 && m % 4 != 0 && left > 0.0 {
            beside.push(left);
            basis.push(scaled(&rest, left.recip()));
            continue;
        }
        let eigen = SymmetricEigen::new(tridiagonal);
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|a, b| eigen.eigenvalues[*a].total_cmp(&eigen.eigenvalues[*b]));
        let scale = largest(eigen.eigenvalues.as_slice());
        let residual = left * eigen.eigenvectors[(m - 1, order[0])].abs();
        let certain = m == n || residual <= RESIDUAL * scale;
        // A small residual by chance does not last: at least three products, if there are as many
        // inputs.
        if all || left <= f64::EPSILON * scale || (certain && m >= 3.min(n)) {
            let vector = |k: usize| {
                let column = eigen.eigenvectors.column(k);
                let sum = basis.iter().zip(column.iter());
                sum.fold(vec![0.0; n], |sum, (q, s)| step_along(&sum, *s, q))
            };
            let pairs = order.iter().map(|k| (eigen.eigenvalues[*k], vector(*k))).collect();
            return Ok(Some(Curvature { pairs, certain }));
        }
        beside.push(left);
        basis.push(scaled(&rest, left.recip()));
    }
}
