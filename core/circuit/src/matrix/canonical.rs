//! The canonical form of a 2-qubit gate (its KAK, or Cartan, decomposition).
//!
//! ```text
//! U = (after[1] (x) after[0]) F,   F = e^{i phase} e^{i (x XX + y YY + z ZZ)} (before[1] (x) before[0])
//! ```
//! F has 9 parameters and a phase, U 15: a gate that follows on both qubits can absorb `after`, and
//! F takes fewer products than U (see `plan::tile::block`). The angles decide how many CX U takes
//! (see `print::pair`).
//!
//! In the basis of Bell states (the magic basis) gates of one qubit are real, and XX, YY, ZZ
//! diagonal. There U is `M = K D O^T` with real orthogonal K, O and a diagonal D, and F is `D O^T`:
//! real rows with a phase each. `M^T M = O D^2 O^T` is symmetric and unitary, so its real and
//! imaginary part commute, and rotations of Jacobi's method that diagonalise both at once give O,
//! however close two eigenvalues are. Source: Kraus and Cirac, Phys. Rev. A 63, 062309 (2001);
//! Cardoso and Souloumiac, SIAM J. Matrix Anal. Appl. 17, 161 (1996).

use std::f64::consts::FRAC_1_SQRT_2;

use super::small::{M2, M4, SmallComplex, multiply4};

type Real4 = [[f64; 4]; 4];

/// Sweeps of Jacobi's method; it converges quadratically and takes five or six.
const MAX_SWEEPS: usize = 30;

/// Entries below this, squared, are rounding errors of a unitary matrix.
const NO_ENTRY: f64 = 1e-30;

/// Tolerance for the rows of a factored gate to be real, and for their products to be those of
/// orthonormal rows.
const ROUNDING: f64 = 1e-14;

/// `e^{i phase} e^{i (x XX + y YY + z ZZ)} (before[1] (x) before[0])`.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct CanonicalFactors {
    #[doc(hidden)]
    pub phase: f64,
    /// x, y, z.
    #[doc(hidden)]
    pub angles: [f64; 3],
    /// Gates on bit 0 and on bit 1 of a row, of determinant 1.
    #[doc(hidden)]
    pub before: [M2; 2],
}

impl CanonicalFactors {
    /// Returns the factors of a matrix that is such a product.
    #[doc(hidden)]
    pub fn new(matrix: &M4) -> Option<CanonicalFactors> {
        let m = into_magic(matrix);
        let mut phases = [0.0; 4];
        let mut rows: Real4 = [[0.0; 4]; 4];
        for (k, (phase, real)) in phases.iter_mut().zip(&mut rows).enumerate() {
            let row = &m[4 * k..4 * k + 4];
            *phase = 0.5 * row.iter().map(|z| z * z).sum::<SmallComplex>().arg();
            for (x, z) in real.iter_mut().zip(row) {
                let z = z * SmallComplex::cis(-*phase);
                if z.im.abs() > ROUNDING {
                    return None;
                }
                *x = z.re;
            }
        }
        if !is_orthogonal(&rows) {
            return None;
        }
        if determinant(&rows) < 0.0 {
            phases[0] += std::f64::consts::PI;
            rows[0] = rows[0].map(|x| -x);
        }
        let mean =
            |sign: &dyn Fn(usize) -> f64| 0.25 * (0..4).map(|k| sign(k) * phases[k]).sum::<f64>();
        Some(CanonicalFactors {
            phase: mean(&|_| 1.0),
            angles: std::array::from_fn(|axis| mean(&|k| SIGNS[k][axis])),
            before: factors(&rows),
        })
    }
}

/// Splits a unitary matrix into a factored gate and the gates on bit 0 and bit 1 after it.
#[doc(hidden)]
pub fn split(u: &M4) -> (M4, [M2; 2]) {
    let m = into_magic(u);
    let square = |at: usize| (0..4).map(|k| m[4 * k + at / 4] * m[4 * k + at % 4]).sum();
    let (o, squares) = diagonalise(std::array::from_fn(square));
    let phases = squares.map(|square| SmallComplex::cis(0.5 * square.arg()));
    let row = |k: usize, j: usize| phases[k] * o[j][k];
    let mut k: Real4 = std::array::from_fn(|i| {
        std::array::from_fn(|k| {
            (0..4).map(|j| m[4 * i + j] * o[j][k]).sum::<SmallComplex>() * phases[k].conj()
        })
        .map(|z: SmallComplex| z.re)
    });
    // A rotation, with the sign on the other side.
    let sign = if determinant(&k) < 0.0 { -1.0 } else { 1.0 };
    k.iter_mut().for_each(|row| row[0] *= sign);
    let factored: M4 =
        std::array::from_fn(|at| row(at / 4, at % 4) * if at < 4 { sign } else { 1.0 });
    (from_magic(&factored), factors(&k))
}

/// The magic basis: its k-th column is a Bell state with a phase that makes 1-qubit gates real.
const fn magic() -> M4 {
    let (o, r, i) = (
        SmallComplex::new(0.0, 0.0),
        SmallComplex::new(FRAC_1_SQRT_2, 0.0),
        SmallComplex::new(0.0, FRAC_1_SQRT_2),
    );
    let (minus_r, minus_i) =
        (SmallComplex::new(-FRAC_1_SQRT_2, 0.0), SmallComplex::new(0.0, -FRAC_1_SQRT_2));
    [r, i, o, o, o, o, i, r, o, o, i, minus_r, r, minus_i, o, o]
}

const MAGIC: M4 = magic();

/// The eigenvalues of XX, YY, ZZ on each column of the magic basis.
const SIGNS: [[f64; 3]; 4] =
    [[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, -1.0]];

/// `B^dagger u B` with the magic basis B.
fn into_magic(u: &M4) -> M4 {
    multiply4(&multiply4(&dagger(&MAGIC), u), &MAGIC)
}

/// `B m B^dagger` with the magic basis B.
fn from_magic(m: &M4) -> M4 {
    multiply4(&multiply4(&MAGIC, m), &dagger(&MAGIC))
}

fn dagger(m: &M4) -> M4 {
    std::array::from_fn(|at| m[4 * (at % 4) + at / 4].conj())
}

/// The orthogonal matrix whose columns are the eigenvectors of a symmetric unitary matrix, and its
/// eigenvalues.
fn diagonalise(mut a: M4) -> (Real4, [SmallComplex; 4]) {
    let mut o: Real4 =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..MAX_SWEEPS {
        let mut done = true;
        for (p, q) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let (d, e) = (a[5 * p] - a[5 * q], 2.0 * a[4 * p + q]);
            if e.norm_sqr() < NO_ENTRY {
                continue;
            }
            done = false;
            // The angle that makes the off-diagonal entries of both parts least.
            let angle =
                0.25 * (2.0 * (d.re * e.re + d.im * e.im)).atan2(d.norm_sqr() - e.norm_sqr());
            let (s, c) = angle.sin_cos();
            for i in 0..4 {
                let (x, y) = (a[4 * i + p], a[4 * i + q]);
                (a[4 * i + p], a[4 * i + q]) = (x * c + y * s, y * c - x * s);
                let (x, y) = (o[i][p], o[i][q]);
                (o[i][p], o[i][q]) = (x * c + y * s, y * c - x * s);
            }
            for j in 0..4 {
                let (x, y) = (a[4 * p + j], a[4 * q + j]);
                (a[4 * p + j], a[4 * q + j]) = (x * c + y * s, y * c - x * s);
            }
        }
        if done {
            break;
        }
    }
    (o, std::array::from_fn(|k| a[5 * k]))
}

fn is_orthogonal(m: &Real4) -> bool {
    let dot = |i: usize, j: usize| (0..4).map(|k| m[i][k] * m[j][k]).sum::<f64>();
    (0..4).all(|i| (0..=i).all(|j| (dot(i, j) - f64::from(u8::from(i == j))).abs() <= ROUNDING))
}

fn determinant(m: &Real4) -> f64 {
    let minor = |r: [usize; 2], c: [usize; 2]| {
        m[r[0]][c[0]] * m[r[1]][c[1]] - m[r[0]][c[1]] * m[r[1]][c[0]]
    };
    // Laplace's expansion by the first two rows.
    let pairs = [
        ([0, 1], [2, 3], 1.0),
        ([0, 2], [1, 3], -1.0),
        ([0, 3], [1, 2], 1.0),
        ([1, 2], [0, 3], 1.0),
        ([1, 3], [0, 2], -1.0),
        ([2, 3], [0, 1], 1.0),
    ];
    pairs.iter().map(|&(c, d, sign)| sign * minor([0, 1], c) * minor([2, 3], d)).sum()
}

/// The 1-qubit gates on bit 0 and bit 1 whose product is a rotation of the magic basis.
fn factors(rotation: &Real4) -> [M2; 2] {
    let product = from_magic(&std::array::from_fn(|at| rotation[at / 4][at % 4].into()));
    // product[2 i + k][2 j + l] = high[i][j] low[k][l]: the block with the largest determinant
    // gives `low`.
    let block = |i: usize, j: usize| -> M2 {
        std::array::from_fn(|kl| product[4 * (2 * i + kl / 2) + 2 * j + kl % 2])
    };
    let det = |m: &M2| m[0] * m[3] - m[1] * m[2];
    let mut best = block(0, 0);
    for other in [block(0, 1), block(1, 0), block(1, 1)] {
        if det(&other).norm_sqr() > 1.000_1 * det(&best).norm_sqr() {
            best = other;
        }
    }
    let root = det(&best).sqrt();
    let low = best.map(|z| z / root);
    let inverse = [low[0].conj(), low[2].conj(), low[1].conj(), low[3].conj()];
    // high[i][j] = tr(low^dagger block(i, j)) / 2
    let high: M2 = std::array::from_fn(|ij| {
        let b = block(ij / 2, ij % 2);
        0.5 * (inverse[0] * b[0] + inverse[1] * b[2] + inverse[2] * b[1] + inverse[3] * b[3])
    });
    [low, high]
}

#[cfg(test)]
mod tests {
    use support::random::Rng;

    use super::*;
    use crate::matrix::small::{distance, local};

    fn product(f: &CanonicalFactors) -> M4 {
        let [x, y, z] = f.angles;
        let diagonal = |at: usize| match SIGNS[at / 4] {
            _ if at / 4 != at % 4 => SmallComplex::default(),
            [a, b, c] => SmallComplex::cis(f.phase + a * x + b * y + c * z),
        };
        multiply4(&from_magic(&std::array::from_fn(diagonal)), &local(&f.before))
    }

    /// Gates on one qubit around `e^{i (x XX + y YY + z ZZ)}`, from 15 angles.
    fn gate(t: &[f64]) -> M4 {
        let su2 = |t: &[f64]| -> M2 {
            let (s, c) = t[0].sin_cos();
            [
                SmallComplex::cis(t[1]) * c,
                -SmallComplex::cis(-t[2]) * s,
                SmallComplex::cis(t[2]) * s,
                SmallComplex::cis(-t[1]) * c,
            ]
        };
        let pair = |t: &[f64]| [su2(&t[..3]), su2(&t[3..6])];
        let factored =
            CanonicalFactors { phase: t[0], before: pair(&t[..6]), angles: [t[6], t[7], t[8]] };
        multiply4(&local(&pair(&t[9..])), &product(&factored))
    }

    #[test]
    fn every_gate_is_the_product_of_its_factors() {
        let mut rng = Rng::new(1);
        let mut next = || rng.unit();
        for round in 0..4000 {
            let mut t: Vec<f64> = (0..15).map(|_| 6.3 * next() - 3.15).collect();
            // Half of them with multiples of pi/4, and near to those: eigenvalues meet.
            for x in t.iter_mut().filter(|_| round % 2 == 1) {
                let near = [0.0, 0.0, 1e-15, 1e-11, 1e-8, 1e-5][(6.0 * next()) as usize];
                *x = (*x * 1.27).round() * std::f64::consts::FRAC_PI_4 + near;
            }
            let u = gate(&t);
            let (factored, after) = split(&u);
            let error = distance(&multiply4(&local(&after), &factored), &u);
            assert!(error < 4e-15, "{error:e} {t:?}");
            let again =
                CanonicalFactors::new(&factored).expect("what `split` gives is a factored gate");
            let error = distance(&product(&again), &factored);
            assert!(error < 4e-15, "{error:e} {t:?}");
        }
    }

    #[test]
    fn other_gates_are_not_factored() {
        let t: Vec<f64> = (1..16).map(|k| f64::from(k).sqrt()).collect();
        assert!(CanonicalFactors::new(&gate(&t)).is_none());
        // Real in the magic basis, and yet no unitary.
        let (factored, _) = split(&gate(&t));
        assert!(CanonicalFactors::new(&factored.map(|z| 0.5 * z)).is_none());
        assert!(CanonicalFactors::new(&[SmallComplex::new(0.25, 0.0); 16]).is_none());
        assert!(CanonicalFactors::new(&[SmallComplex::new(f64::NAN, 0.0); 16]).is_none());
    }
}
