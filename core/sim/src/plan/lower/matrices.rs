//! Matrices of one and two qubits, row by row: the functions that lowering needs.

pub(super) use crate::matrix::small::{M2, SmallComplex, dagger, local, multiply2, multiply4};
pub(in crate::plan) use crate::matrix::small::{M4, distance};

/// Returns true if the columns of a `dim` x `dim` matrix are orthonormal.
pub(super) fn is_unitary(u: &[SmallComplex], dim: usize, tolerance: f64) -> bool {
    (0..dim).all(|i| {
        (0..=i).all(|j| {
            let dot: SmallComplex = (0..dim).map(|k| u[k * dim + i].conj() * u[k * dim + j]).sum();
            (dot - if i == j { 1.0 } else { 0.0 }).norm_sqr() <= tolerance * tolerance
        })
    })
}

/// Returns a 1-qubit gate on bit 0 or 1 of two qubits.
pub(super) fn widen(u: &M2, bit: usize) -> M4 {
    std::array::from_fn(|i| {
        let (row, column) = (i / 4, i % 4);
        if (row ^ column) & !(1 << bit) != 0 {
            return SmallComplex::default();
        }
        u[2 * (row >> bit & 1) + (column >> bit & 1)]
    })
}

/// Returns the matrix with its two qubits in the other order.
pub(in crate::plan) fn exchanged(m: &M4) -> M4 {
    let other = |i: usize| [0, 2, 1, 3][i];
    std::array::from_fn(|i| m[4 * other(i / 4) + other(i % 4)])
}

/// Returns `U = V diag(values) V^dagger` of a unitary 2x2 matrix.
pub(super) fn eigen(u: &M2) -> (M2, [SmallComplex; 2]) {
    let one = SmallComplex::new(1.0, 0.0);
    if u[1].norm_sqr() + u[2].norm_sqr() == 0.0 {
        return ([one, SmallComplex::default(), SmallComplex::default(), one], [u[0], u[3]]);
    }
    let mean = (u[0] + u[3]) * 0.5;
    let difference = (u[0] - u[3]) * 0.5;
    let root = (difference * difference + u[1] * u[2]).sqrt();
    // Of the two signs the one that does not cancel in `value - u[3]`.
    let root =
        if (difference + root).norm_sqr() >= (difference - root).norm_sqr() { root } else { -root };
    let value = mean + root;
    // (U - value) v = 0 for v = (value - u11, u10); the other eigenvector is orthogonal to it.
    let v = [difference + root, u[2]];
    let norm = (v[0].norm_sqr() + v[1].norm_sqr()).sqrt();
    let v = [v[0] / norm, v[1] / norm];
    let unit = |z: SmallComplex| z / z.norm();
    ([v[0], -v[1].conj(), v[1], v[0].conj()], [unit(value), unit(mean - root)])
}
