//! Eigenvectors of unitary matrices.
//!
//! `U = C + iS` with Hermitian C and S that commute. The eigenvectors of `cos(1) C + sin(1) S` are
//! those of U, but where two eigenvalues `e^{ia}`, `e^{ib}` have nearly the same `cos(a - 1)`. What
//! that leaves beside the diagonal of U is removed by rotations of two axes each, which make the
//! squares of its elements least. (The usual iteration, of the Schur form, stands still for
//! permutations.)
//!
//! Source: Cardoso and Souloumiac, "Jacobi angles for simultaneous diagonalization" (1996).

use nalgebra::{DMatrix, Matrix3, SymmetricEigen};
use num_complex::Complex;

/// Eigenvectors and eigenvalues of a unitary matrix.
pub(super) struct UnitaryEigen {
    /// The eigenvectors, as columns.
    pub(super) vectors: DMatrix<Complex<f64>>,
    /// The eigenvalues, in the same order.
    pub(super) values: Vec<Complex<f64>>,
}

/// Returns the eigenvectors of a unitary matrix; `None` if it has elements that are not finite.
pub(super) fn eigenvectors(u: DMatrix<Complex<f64>>) -> Option<UnitaryEigen> {
    const MOST_ITERATIONS: usize = 10_000;
    const MOST_SWEEPS: usize = 60;
    if !u.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        return None;
    }
    let direction = Complex::cis(-1.0);
    let turned = u.map(|z| z * direction);
    let hermitian = (&turned + turned.adjoint()).map(|z| z * 0.5);
    let eigen = SymmetricEigen::try_new(hermitian, f64::EPSILON, MOST_ITERATIONS)?;
    let mut q = eigen.eigenvectors;
    let mut diagonal = q.adjoint() * &u * &q;
    let n = diagonal.nrows();
    // Rounding errors of the products above.
    let small = 4.0 * n as f64 * f64::EPSILON;
    for _ in 0..MOST_SWEEPS {
        let mut is_diagonal = true;
        for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
            // NaN is not small.
            if diagonal[(a, b)].norm() <= small && diagonal[(b, a)].norm() <= small {
                continue;
            }
            is_diagonal = false;
            let rotation = jacobi_rotation(&diagonal, a, b)?;
            rotate_columns(&mut q, a, b, rotation);
            rotate_columns(&mut diagonal, a, b, rotation);
            rotate_rows(&mut diagonal, a, b, rotation);
        }
        if is_diagonal {
            let values = (0..n).map(|k| diagonal[(k, k)]).collect();
            return Some(UnitaryEigen { vectors: q, values });
        }
    }
    None
}

/// Cosine and sine of a rotation of two axes, the sine complex.
type PlaneRotation = (f64, Complex<f64>);

/// Returns the rotation of two axes that makes the squares of the entries `(a, b)` and `(b, a)`
/// least.
fn jacobi_rotation(m: &DMatrix<Complex<f64>>, a: usize, b: usize) -> Option<PlaneRotation> {
    const MOST_ITERATIONS: usize = 100;
    let i = Complex::new(0.0, 1.0);
    let (x, y) = (m[(a, b)], m[(b, a)]);
    let h = [m[(a, a)] - m[(b, b)], x + y, i * (y - x)];
    let form = Matrix3::from_fn(|j, k| (h[j].conj() * h[k]).re);
    let eigen = form.try_symmetric_eigen(f64::EPSILON, MOST_ITERATIONS)?;
    let v = eigen.eigenvectors.column(eigen.eigenvalues.imax());
    let sign = if v[0] < 0.0 { -1.0 } else { 1.0 };
    let [x, y, z] = [v[0] * sign, v[1] * sign, v[2] * sign];
    let c = ((x + 1.0) * 0.5).sqrt();
    Some((c, Complex::new(y, -z) / (2.0 * c)))
}

/// Multiplies by a rotation from the right.
fn rotate_columns(m: &mut DMatrix<Complex<f64>>, a: usize, b: usize, (c, s): PlaneRotation) {
    for k in 0..m.nrows() {
        let (x, y) = (m[(k, a)], m[(k, b)]);
        m[(k, a)] = x * c + y * s;
        m[(k, b)] = y * c - x * s.conj();
    }
}

/// Multiplies by the adjoint of a rotation from the left.
fn rotate_rows(m: &mut DMatrix<Complex<f64>>, a: usize, b: usize, (c, s): PlaneRotation) {
    for k in 0..m.ncols() {
        let (x, y) = (m[(a, k)], m[(b, k)]);
        m[(a, k)] = x * c + y * s.conj();
        m[(b, k)] = y * c - x * s;
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use nalgebra::DVector;
    use support::random::Rng;

    use super::{super::power::principal_power, *};
    use crate::matrix::Matrix;

    type Complexes = DMatrix<Complex<f64>>;

    fn power(u: &Complexes, x: f64) -> Complexes {
        let n_qubits = u.nrows().trailing_zeros() as usize;
        let given = Matrix::from_fn(n_qubits, |i, j| u[(i, j)]);
        let power = principal_power(&given, x).unwrap_or_else(|reason| panic!("{reason}: {u}"));
        DMatrix::from_fn(u.nrows(), u.nrows(), |i, j| power[(i, j)])
    }

    #[test]
    fn powers_of_matrices_with_known_spectra() {
        let mut rng = Rng::new(1);
        for k in 0..300 {
            let n_qubits = k % 4 + 1;
            let n = 1 << n_qubits;
            let mut phase = |i: usize| match k / 4 % 6 {
                0 => PI * rng.signed(),
                // Few eigenvalues, those of a reflection, and roots of unity.
                1 => [0.3, -2.0, 3.0][i % 3],
                2 => [0.0, PI][i % 2],
                3 => 2.0 * PI * i as f64 / n as f64 - PI + 2.0 * PI / n as f64,
                // Pairs around the direction of the Hermitian part, exact and nearly so.
                4 => 1.0 + [0.4, -0.4, 0.7, -0.7][i % 4],
                _ => 1.0 + [0.4, -0.4 + 1e-9, 0.7, -0.7 - 1e-13][i % 4],
            };
            let phases: Vec<f64> = (0..n).map(&mut phase).collect();
            let q = rng.unitary(n_qubits);
            let q = DMatrix::from_fn(n, n, |i, j| q[(i, j)]);
            let with = |x: f64| {
                let values = phases.iter().map(|a| Complex::cis(a * x));
                &q * DMatrix::from_diagonal(&DVector::from_iterator(n, values)) * q.adjoint()
            };
            for x in [0.5, 1.0 / 3.0, -0.7, 2.5] {
                let error = (power(&with(1.0), x) - with(x)).camax();
                assert!(error < 1e-11, "{phases:?} to the power {x}: {error}");
            }
        }
    }

    #[test]
    fn permutations_have_roots() {
        let mut rng = Rng::new(2);
        for k in 0..400 {
            let n = [4, 8, 16, 64][if k % 40 == 0 { 3 } else { k % 3 }];
            let order = rng.permutation(n);
            let u =
                DMatrix::from_fn(n, n, |i, j| Complex::from(f64::from(u8::from(order[j] == i))));
            for m in [2, 3] {
                let root = power(&u, 1.0 / f64::from(m));
                let again = (1..m).fold(root.clone(), |product, _| product * &root);
                let error = (again - &u).camax();
                assert!(error < 1e-11, "root {m} of {order:?}: {error}");
            }
        }
    }
}
