//! The eigenvalues and eigenvectors of a real symmetric tridiagonal matrix: implicit QL with
//! shifts.
//!
//! The matrix falls into blocks where the subdiagonal is negligible. A block is
//! worked on from its end with the smaller element of the diagonal on, so that blocks which are
//! graded either way keep what is small. About 1.7 steps an eigenvalue, 5 n^3 operations. Source:
//! Golub and Van Loan, *Matrix Computations*, section 8.3; Dubrulle, Martin and Wilkinson, *The
//! implicit QL algorithm* (1968).

use super::rotations::{GivensRotation, RotatedVectors, rotation};

/// Steps for each eigenvalue of a block at most; two are usual.
const STEPS: usize = 60;
/// Elements so small beside those of size 1 are zero.
const NEGLIGIBLE: f64 = 1.5e-154;

/// Puts the eigenvalues in the place of the diagonal, in no order, and gives the eigenvectors in
/// the same. `beside[k]` is between `k` and `k + 1`. `None` where it does not converge.
pub(super) fn diagonalize(diagonal: &mut [f64], beside: &mut [f64]) -> Option<RotatedVectors> {
    let n = diagonal.len();
    let mut vectors = RotatedVectors::unit(n);
    let mut from = 0;
    while from < n {
        let last = block(diagonal, beside, from);
        let (d, e) = (&mut diagonal[from..=last], &mut beside[from..=last]);
        let len = d.len();
        e[len - 1] = 0.0;
        let is_graded_down = d[0].abs() > d[len - 1].abs();
        let reverse = |d: &mut [f64], e: &mut [f64]| {
            if is_graded_down {
                d.reverse();
                e[..len - 1].reverse();
            }
        };
        reverse(d, e);
        let done = ql(d, e, |k, cos, sin| {
            let (k, sin) = if is_graded_down { (len - 2 - k, -sin) } else { (k, sin) };
            vectors.push(GivensRotation { k: from + k, cos, sin });
        });
        reverse(d, e);
        if !done {
            return None;
        }
        from = last + 1;
    }
    vectors.apply_pending();
    Some(vectors)
}

/// Returns the end of the block that begins at `from`.
fn block(d: &[f64], e: &[f64], from: usize) -> usize {
    let is_apart = |k: &usize| {
        let size = d[*k].abs().sqrt() * d[*k + 1].abs().sqrt();
        e[*k].abs() <= f64::EPSILON * size || e[*k].abs() <= NEGLIGIBLE
    };
    (from..d.len() - 1).find(is_apart).unwrap_or(d.len() - 1)
}

/// Makes a block diagonal, one eigenvalue after the other.
fn ql(d: &mut [f64], e: &mut [f64], mut turn: impl FnMut(usize, f64, f64)) -> bool {
    let mut steps = STEPS * d.len();
    for l in 0..d.len() {
        loop {
            let m = block(d, e, l);
            e[m] = 0.0;
            if m == l {
                break;
            }
            if steps == 0 {
                return false;
            }
            steps -= 1;
            // The eigenvalue of the first two rows that is nearer to d[l].
            let half = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = if half.abs() < 1e100 { (half * half + 1.0).sqrt() } else { half.abs() };
            let mut g = d[m] - d[l] + e[l] / (half + root.copysign(half));
            let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
            for i in (l..m).rev() {
                let (f, b) = (sin * e[i], cos * e[i]);
                let r;
                (cos, sin, r) = rotation(g, f);
                if i + 1 < m {
                    e[i + 1] = r;
                }
                g = d[i + 1] - p;
                let change = (d[i] - g) * sin + 2.0 * cos * b;
                p = sin * change;
                d[i + 1] = g + p;
                g = cos * change - b;
                turn(i, cos, sin);
            }
            d[l] -= p;
            e[l] = g;
        }
    }
    true
}
