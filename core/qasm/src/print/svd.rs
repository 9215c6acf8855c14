//! Small dense linear algebra for the synthesis of unitaries: orthogonal columns, eigenvectors of a
//! unitary, and the cosine-sine decomposition.
//!
//! Everything rests on one routine, the one-sided Jacobi method of Hestenes: rotate pairs of
//! columns until all are orthogonal. It needs no shifts and no bidiagonal form, and it is accurate
//! for small columns too (Demmel and Veselić, "Jacobi's method is more accurate than QR", 1992).
//!
//! A matrix is a list of its columns.

use num_complex::Complex;

pub(super) type SvdComplex = Complex<f64>;

/// Columns of a square matrix.
pub(super) type SvdColumns = Vec<Vec<SvdComplex>>;

/// Two columns count as orthogonal below this cosine: a few rounding errors.
const ORTHOGONAL: f64 = 1e-15;

/// Length below which a column counts as zero: the squares of its entries are still normal numbers.
const SHORTEST: f64 = 1e-140;

/// Limit on the sweeps: more than a Jacobi method ever needs (about ten).
const MAX_SWEEPS: usize = 60;

pub(super) const ZERO: SvdComplex = SvdComplex::new(0.0, 0.0);
pub(super) const ONE: SvdComplex = SvdComplex::new(1.0, 0.0);

fn dot(a: &[SvdComplex], b: &[SvdComplex]) -> SvdComplex {
    a.iter().zip(b).map(|(x, y)| x.conj() * y).sum()
}

pub(super) fn norm(a: &[SvdComplex]) -> f64 {
    a.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
}

pub(super) fn identity(n: usize) -> SvdColumns {
    (0..n).map(|j| (0..n).map(|i| if i == j { ONE } else { ZERO }).collect()).collect()
}

/// `a b`.
pub(super) fn multiply(a: &SvdColumns, b: &SvdColumns) -> SvdColumns {
    let column = |x: &Vec<SvdComplex>| {
        let mut sum = vec![ZERO; a.first().map_or(0, Vec::len)];
        for (scale, column) in x.iter().zip(a) {
            sum.iter_mut().zip(column).for_each(|(s, c)| *s += scale * c);
        }
        sum
    };
    b.iter().map(column).collect()
}

/// The conjugate transpose of a square matrix.
pub(super) fn dagger(a: &SvdColumns) -> SvdColumns {
    (0..a.len()).map(|i| a.iter().map(|column| column[i].conj()).collect()).collect()
}

/// Rotates the columns of `g`, and with them those of every matrix in `along`, until they are
/// orthogonal. Only the columns whose numbers are in `which` take part.
fn orthogonalize(g: &mut SvdColumns, along: &mut [&mut SvdColumns], which: &[usize]) {
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for (i, &p) in which.iter().enumerate() {
            for &q in &which[i + 1..] {
                let (a, b) = (norm(&g[p]), norm(&g[q]));
                let z = dot(&g[p], &g[q]);
                if z.norm() <= ORTHOGONAL * a * b || z.norm() < f64::MIN_POSITIVE {
                    continue;
                }
                rotated = true;
                // Zeros <g_p|g_q> = |z| e^{i w}: the tangent is the smaller root of
                // t^2 + 2 zeta t - 1 = 0.
                let phase = z / z.norm();
                let zeta = (b * b - a * a) / (2.0 * z.norm());
                let t = 1.0f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
                let cos = 1.0 / t.hypot(1.0);
                let sin = cos * t;
                rotate(g, p, q, cos, phase * sin);
                along.iter_mut().for_each(|m| rotate(m, p, q, cos, phase * sin));
            }
        }
        if !rotated {
            return;
        }
    }
}

/// `(g_p, g_q) -> (c g_p - s^* g_q, s g_p + c g_q)`.
fn rotate(g: &mut SvdColumns, p: usize, q: usize, cos: f64, sin: SvdComplex) {
    for i in 0..g[p].len() {
        let (x, y) = (g[p][i], g[q][i]);
        g[p][i] = x * cos - y * sin.conj();
        g[q][i] = x * sin + y * cos;
    }
}

/// Returns the unitary whose columns are those of `g` (orthogonal already, up to rounding),
/// normalized. A column of length 0 is replaced by any unit vector that is orthogonal to the
/// others.
fn normalize(g: &SvdColumns) -> SvdColumns {
    let n = g.len();
    let mut order: Vec<usize> = (0..n).collect();
    let norms: Vec<f64> = g.iter().map(|column| norm(column)).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let mut done: Vec<usize> = Vec::with_capacity(n);
    let mut out = vec![vec![ZERO; n]; n];
    for j in order {
        // The column itself, or else the first unit vector that is linearly independent enough: of
        // n of them, one has a part of squared length 1/n or more outside the span of fewer than n
        // columns.
        let units = (0..n)
            .map(|k| (0..n).map(|i| if i == k { ONE } else { ZERO }).collect::<Vec<SvdComplex>>());
        let least = 0.5 / (n.max(1) as f64).sqrt();
        for (attempt, mut column) in std::iter::once(g[j].clone()).chain(units).enumerate() {
            let before = norm(&column);
            for _ in 0..2 {
                for &i in &done {
                    let overlap = dot(&out[i], &column);
                    column.iter_mut().zip(&out[i]).for_each(|(x, y)| *x -= overlap * y);
                }
            }
            let after = norm(&column);
            let good = if attempt == 0 {
                after > 0.5 * before && after > SHORTEST
            } else {
                after >= least
            };
            if good {
                out[j] = column.iter().map(|x| x / after).collect();
                done.push(j);
                break;
            }
        }
    }
    out
}

/// Returns the unitary nearest to `u`, which must be close to unitary: three steps of the
/// Newton-Schulz iteration, `X <- X (3 - X^dagger X) / 2`.
pub(super) fn polish(u: &SvdColumns) -> SvdColumns {
    let mut x = u.clone();
    for _ in 0..3 {
        let mut y = multiply(&dagger(&x), &x);
        for (j, column) in y.iter_mut().enumerate() {
            for (i, entry) in column.iter_mut().enumerate() {
                *entry = (if i == j { ONE * 3.0 } else { ZERO } - *entry) * 0.5;
            }
        }
        x = multiply(&x, &y);
    }
    x
}

/// `V` and the angles `a` with `m = V diag(e^{i a}) V^dagger`, for a unitary `m`.
///
/// `H = cos t Re m + sin t Im m` (Hermitian parts) has the eigenvectors of `m`; they are the
/// singular vectors of the positive `2 + H`. Two eigenvalues of `m` may fall together in `H`, but
/// only for few `t`: of several, the best is taken.
pub(super) fn diagonalize(m: &SvdColumns) -> (SvdColumns, Vec<f64>) {
    let n = m.len();
    let m_dagger = dagger(m);
    let mut best: Option<(f64, SvdColumns, Vec<f64>)> = None;
    for attempt in 0..16 {
        let direction = SvdComplex::from_polar(0.5, 0.4 + f64::from(attempt));
        let mut g: SvdColumns = (0..n)
            .map(|j| {
                let two = |i| if i == j { ONE * 2.0 } else { ZERO };
                (0..n)
                    .map(|i| two(i) + direction * m[j][i] + direction.conj() * m_dagger[j][i])
                    .collect()
            })
            .collect();
        let mut v = identity(n);
        orthogonalize(&mut g, &mut [&mut v], &(0..n).collect::<Vec<_>>());
        let v = normalize(&v);
        let d = multiply(&dagger(&v), &multiply(m, &v));
        let error = (0..n)
            .flat_map(|j| (0..n).filter(move |&i| i != j).map(move |i| (i, j)))
            .map(|(i, j)| d[j][i].norm())
            .fold(0.0, f64::max);
        if best.as_ref().is_none_or(|b| error < b.0) {
            let angles = (0..n).map(|i| d[i][i].arg()).collect();
            best = Some((error, v, angles));
        }
        if error < 1e-13 {
            break;
        }
    }
    best.map_or_else(|| (identity(n), vec![0.0; n]), |(_, v, angles)| (v, angles))
}

/// The factors of the cosine-sine decomposition
/// `U = (left[0] + left[1]) [[cos, -sin], [sin, cos]] (right[0] + right[1])`, where `+` is the
/// direct sum over the most significant qubit and `cos`, `sin` are diagonal matrices of the angles.
pub(super) struct CosineSine {
    pub(super) left: [SvdColumns; 2],
    pub(super) angles: Vec<f64>,
    pub(super) right: [SvdColumns; 2],
}

/// The cosine-sine decomposition of a unitary of even size, to a few rounding errors in every
/// factor (after Van Loan, "Computing the CS and the generalized singular value decompositions",
/// 1985).
///
/// Method, with `U = [[A, B], [X, D]]`: Jacobi makes the columns of `A V` orthogonal, with lengths
/// `cos`; those of `X V` then have lengths `sin` and are orthogonal to rounding, which is not
/// enough for short ones. For these a second Jacobi on `X V` decides, which changes only columns of
/// `A V` that are long.
pub(super) fn cosine_sine(u: &SvdColumns) -> CosineSine {
    let n = u.len() / 2;
    let block = |row: usize, column: usize| -> SvdColumns {
        u[column * n..(column + 1) * n].iter().map(|x| x[row * n..(row + 1) * n].to_vec()).collect()
    };
    let (mut a, mut v) = (block(0, 0), identity(n));
    orthogonalize(&mut a, &mut [&mut v], &(0..n).collect::<Vec<_>>());
    let mut x = multiply(&block(1, 0), &v);
    let long: Vec<usize> = (0..n).filter(|&j| norm(&a[j]) > 0.7).collect();
    // Short columns of X V first lose their components along the long ones, which are only rounding
    // errors.
    let rest: Vec<usize> = (0..n).filter(|j| !long.contains(j)).collect();
    for &j in &long {
        for _ in 0..2 {
            for &i in &rest {
                let overlap = dot(&x[i], &x[j]) / dot(&x[i], &x[i]).re;
                let along = x[i].clone();
                x[j].iter_mut().zip(&along).for_each(|(s, y)| *s -= overlap * y);
            }
        }
    }
    orthogonalize(&mut x, &mut [&mut a, &mut v], &long);
    let angles: Vec<f64> = (0..n).map(|j| norm(&x[j]).atan2(norm(&a[j]))).collect();
    let left = [normalize(&a), normalize(&x)];
    // U = L M R, so R1 = cos L1^dagger D - sin L0^dagger B.
    let (b, d) =
        (multiply(&dagger(&left[0]), &block(0, 1)), multiply(&dagger(&left[1]), &block(1, 1)));
    let lower = (0..n)
        .map(|j| (0..n).map(|i| d[j][i] * angles[i].cos() - b[j][i] * angles[i].sin()).collect())
        .collect();
    CosineSine { left, angles, right: [dagger(&v), polish(&lower)] }
}
