//! Matrices of one and two qubits, row by row.

use num_complex::Complex;

#[doc(hidden)]
pub type SmallComplex = Complex<f64>;
#[doc(hidden)]
pub type M2 = [SmallComplex; 4];
#[doc(hidden)]
pub type M4 = [SmallComplex; 16];

/// `a b`.
#[doc(hidden)]
pub fn multiply2(a: &M2, b: &M2) -> M2 {
    std::array::from_fn(|i| a[i & 2] * b[i & 1] + a[i | 1] * b[2 | i & 1])
}

/// The conjugate transpose.
#[doc(hidden)]
pub fn dagger(u: &M2) -> M2 {
    [u[0].conj(), u[2].conj(), u[1].conj(), u[3].conj()]
}

/// `a b`.
#[doc(hidden)]
pub fn multiply4(a: &M4, b: &M4) -> M4 {
    std::array::from_fn(|i| (0..4).map(|k| a[(i & 12) + k] * b[4 * k + (i & 3)]).sum())
}

/// Returns the largest difference of two entries; NaN or infinite if one of them is.
#[doc(hidden)]
pub fn distance(a: &[SmallComplex], b: &[SmallComplex]) -> f64 {
    let off = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr());
    off.fold(0.0, |most: f64, off| if most >= off || most.is_nan() { most } else { off }).sqrt()
}

/// Gates on bit 0 and bit 1 of two qubits.
#[doc(hidden)]
pub fn local([low, high]: &[M2; 2]) -> M4 {
    std::array::from_fn(|i| high[(i >> 2 & 2) | (i >> 1 & 1)] * low[(i >> 1 & 2) | (i & 1)])
}
