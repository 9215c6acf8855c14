//! Matrices of one and two qubits, row by row.

use num_complex::Complex;

pub(super) type C = Complex<f64>;
pub(super) type M2 = [C; 4];
pub(in crate::plan) type M4 = [C; 16];

/// Whether the columns of a `dim` x `dim` matrix are orthonormal.
pub(super) fn is_unitary(u: &[C], dim: usize, tolerance: f64) -> bool {
    (0..dim).all(|i| {
        (0..=i).all(|j| {
            let dot: C = (0..dim).map(|k| u[k * dim + i].conj() * u[k * dim + j]).sum();
            (dot - if i == j { 1.0 } else { 0.0 }).norm_sqr() <= tolerance * tolerance
        })
    })
}

/// `a b`.
pub(super) fn multiply2(a: &M2, b: &M2) -> M2 {
    std::array::from_fn(|i| a[i & 2] * b[i & 1] + a[i | 1] * b[2 | i & 1])
}

/// The conjugate transpose.
pub(super) fn dagger(u: &M2) -> M2 {
    [u[0].conj(), u[2].conj(), u[1].conj(), u[3].conj()]
}

/// `a b`.
pub(super) fn multiply4(a: &M4, b: &M4) -> M4 {
    std::array::from_fn(|i| (0..4).map(|k| a[(i & 12) + k] * b[4 * k + (i & 3)]).sum())
}

/// A 1-qubit gate on bit 0 or 1 of two qubits.
pub(super) fn widen(u: &M2, bit: usize) -> M4 {
    std::array::from_fn(|i| {
        let (row, column) = (i / 4, i % 4);
        if (row ^ column) & !(1 << bit) != 0 {
            return C::default();
        }
        u[2 * (row >> bit & 1) + (column >> bit & 1)]
    })
}

/// The largest difference of two entries; NaN or infinite where one of them is.
pub(in crate::plan) fn distance(a: &[C], b: &[C]) -> f64 {
    let off = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr());
    off.fold(0.0, |most: f64, off| if most >= off || most.is_nan() { most } else { off }).sqrt()
}

/// Gates on bit 0 and bit 1 of two qubits.
pub(super) fn local([low, high]: &[M2; 2]) -> M4 {
    std::array::from_fn(|i| high[(i >> 2 & 2) | (i >> 1 & 1)] * low[(i >> 1 & 2) | (i & 1)])
}

/// The same matrix with its two qubits in the other order.
pub(in crate::plan) fn exchanged(m: &M4) -> M4 {
    let other = |i: usize| [0, 2, 1, 3][i];
    std::array::from_fn(|i| m[4 * other(i / 4) + other(i % 4)])
}

/// `U = V diag(values) V^dagger` of a unitary 2x2 matrix.
pub(super) fn eigen(u: &M2) -> (M2, [C; 2]) {
    let one = C::new(1.0, 0.0);
    if u[1].norm_sqr() + u[2].norm_sqr() == 0.0 {
        return ([one, C::default(), C::default(), one], [u[0], u[3]]);
    }
    let mean = (u[0] + u[3]) * 0.5;
    let difference = (u[0] - u[3]) * 0.5;
    let root = (difference * difference + u[1] * u[2]).sqrt();
    // Of the two signs the one that does not cancel in `value - u[3]`.
    let root = if (difference + root).norm_sqr() >= (difference - root).norm_sqr() { root } else { -root };
    let value = mean + root;
    // (U - value) v = 0 for v = (value - u11, u10); the other eigenvector is orthogonal to it.
    let v = [difference + root, u[2]];
    let norm = (v[0].norm_sqr() + v[1].norm_sqr()).sqrt();
    let v = [v[0] / norm, v[1] / norm];
    let unit = |z: C| z / z.norm();
    ([v[0], -v[1].conj(), v[1], v[0].conj()], [unit(value), unit(mean - root)])
}
