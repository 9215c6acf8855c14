//! Distances, and the tolerances of the tests with their reasons.

use ketgrad_core::{
    field::Fp,
    matrix::Matrix,
    scalar::{Real, Ring, Uncertain},
};
use nalgebra::Const;
use num_complex::Complex;
use num_dual::{Dual, Dual2, DualNum, DualVec, HyperDual};

use crate::reference::Dense;

/// A few roundings of numbers of size 1 in `f64`: 2^-53 each, times the 8 to 32 terms of a row.
pub const ROUNDING: f64 = 1e-14;
/// The same through circuits of up to a hundred gates, errors adding up linearly at worst.
pub const CIRCUIT: f64 = 1e-12;
/// [`ROUNDING`] in `f32`, whose step is 2^-24.
pub const ROUNDING_F32: f64 = 1e-5;
/// Derivatives of up to second order: their terms are up to 4 times larger than the values, and
/// there are up to 9 times as many.
pub const DERIVATIVE: f64 = 1e-12;
/// Nothing may differ: integers, moves of amplitudes, two runs that must agree in every bit.
pub const EXACT: f64 = 0.0;

/// A ring whose numbers have a list of floats that says everything about them.
pub trait Parts: Ring {
    /// Distance of two ways to the same short result, at most.
    const TOLERANCE: f64;
    /// The floats.
    fn parts(&self) -> Vec<f64>;
    /// A number whose every part comes from `next`, which gives floats in [-1, 1).
    fn draw(next: &mut dyn FnMut() -> f64) -> Self;
}

macro_rules! float_parts {
    ($($F:ident $tolerance:ident)*) => {$(
        impl Parts for $F {
            const TOLERANCE: f64 = $tolerance;
            fn parts(&self) -> Vec<f64> { vec![f64::from(*self)] }
            fn draw(next: &mut dyn FnMut() -> f64) -> $F { next() as $F }
        }
    )*};
}
float_parts!(f32 ROUNDING_F32 f64 ROUNDING);

impl<T: Real + Parts> Parts for Complex<T> {
    const TOLERANCE: f64 = T::TOLERANCE;
    fn parts(&self) -> Vec<f64> {
        [self.re.parts(), self.im.parts()].concat()
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        Complex::new(T::draw(next), T::draw(next))
    }
}

impl<T: Real + DualNum + Parts> Parts for Dual<T> {
    const TOLERANCE: f64 = DERIVATIVE;
    fn parts(&self) -> Vec<f64> {
        [self.re.parts(), self.eps.parts()].concat()
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        Dual::new(T::draw(next), T::draw(next))
    }
}

impl<T: Real + DualNum + Parts> Parts for Dual2<T> {
    const TOLERANCE: f64 = DERIVATIVE;
    fn parts(&self) -> Vec<f64> {
        [self.re.parts(), self.v1.parts(), self.v2.parts()].concat()
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        Dual2::new(T::draw(next), T::draw(next), T::draw(next))
    }
}

impl<T: Real + DualNum + Parts> Parts for HyperDual<T> {
    const TOLERANCE: f64 = DERIVATIVE;
    fn parts(&self) -> Vec<f64> {
        [self.re.parts(), self.eps1.parts(), self.eps2.parts(), self.eps1eps2.parts()].concat()
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        HyperDual::new(T::draw(next), T::draw(next), T::draw(next), T::draw(next))
    }
}

impl<T: Real + DualNum + Parts, const N: usize> Parts for DualVec<T, Const<N>> {
    const TOLERANCE: f64 = DERIVATIVE;
    fn parts(&self) -> Vec<f64> {
        // An absent gradient is a zero one.
        let gradient = match &self.eps.0 {
            Some(eps) => eps.iter().flat_map(Parts::parts).collect(),
            None => (0..N).flat_map(|_| T::zero().parts()).collect(),
        };
        [self.re.parts(), gradient].concat()
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        let re = T::draw(next);
        let eps = nalgebra::SVector::<T, N>::from_fn(|_, _| T::draw(next));
        DualVec::new(re, num_dual::Derivative::some(eps))
    }
}

/// The value and the standard deviation.
impl Parts for Uncertain {
    const TOLERANCE: f64 = DERIVATIVE;
    fn parts(&self) -> Vec<f64> {
        vec![self.value(), self.sigma()]
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        Uncertain::new(next(), next().abs() * 0.1)
    }
}

/// Both halves of the residue, which floats hold exactly: equal or not.
impl Parts for Fp {
    const TOLERANCE: f64 = EXACT;
    fn parts(&self) -> Vec<f64> {
        vec![f64::from((self.residue() >> 32) as u32), f64::from(self.residue() as u32)]
    }
    fn draw(next: &mut dyn FnMut() -> f64) -> Self {
        Fp::new(next().to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// The largest difference between parts of two lists of numbers; infinite if the lengths differ or
/// a NaN occurs.
pub fn distance<R: Parts>(a: &[R], b: &[R]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let off = |x: f64, y: f64| if (x - y).is_nan() { f64::INFINITY } else { (x - y).abs() };
    a.iter()
        .zip(b)
        .flat_map(|(x, y)| {
            x.parts().into_iter().zip(y.parts()).map(|(x, y)| off(x, y)).collect::<Vec<_>>()
        })
        .fold(0.0, f64::max)
}

/// [`distance`] of two matrices by rows.
pub fn matrix_distance<R: Parts>(a: &Dense<R>, b: &Dense<R>) -> f64 {
    distance(&a.concat(), &b.concat())
}

/// The distance of two complex matrices up to a phase: `b` is turned so that its entry where `a` is
/// largest has the phase of that entry.
pub fn phase_distance(a: &Matrix<Complex<f64>>, b: &Matrix<Complex<f64>>) -> f64 {
    let (a, b) = (a.entries(), b.entries());
    let largest = (0..a.len()).max_by(|&i, &j| a[i].norm().total_cmp(&a[j].norm())).unwrap_or(0);
    let phase = a[largest] / b[largest];
    let phase = phase / phase.norm();
    let turned: Vec<_> = b.iter().map(|z| z * phase).collect();
    distance(a, &turned)
}

/// Fails with both lists unless they are within `tolerance`.
#[track_caller]
pub fn assert_close<R: Parts>(a: &[R], b: &[R], tolerance: f64, what: &str) {
    let d = distance(a, b);
    assert!(d <= tolerance, "{what}: {d:e} apart, more than {tolerance:e}\n{a:?}\n{b:?}");
}

/// Fails unless two matrices are within `tolerance`.
#[track_caller]
pub fn assert_matrices<R: Parts>(a: &Dense<R>, b: &Dense<R>, tolerance: f64, what: &str) {
    let d = matrix_distance(a, b);
    assert!(d <= tolerance, "{what}: {d:e} apart, more than {tolerance:e}\n{a:?}\n{b:?}");
}
