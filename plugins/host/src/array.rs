//! Arrays on their way to a kernel and back.

use std::{any::Any, sync::Arc};

use ketgrad_core::{array::Array as Shaped, exec::Datum, ir::Kind, scalar::Scalar};
use ketgrad_plugin_abi as abi;
use num_complex::Complex;

/// What stands behind the last element of a result: a kernel that writes further is found out.
const CANARY: u64 = 0x7ff8_dead_beef_cafe;

/// A number that kernels know.
pub(crate) trait Number: Copy + Default + Any + Send + Sync {
    const DTYPE: u32;
    const ONE: Self;
    const CANARY: Self;
    /// Whether it is the same number, bit by bit.
    fn is_same(self, other: Self) -> bool;
    /// A word that depends on every bit.
    fn word(self) -> u64;
    fn is_finite(self) -> bool;
    /// `conj(bar) dot`: what a cotangent makes of a tangent.
    fn pair(bar: Self, dot: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    /// A value of a program on `S`, if its numbers are these.
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<Self>>;
    /// The way back.
    fn write<S: Scalar>(array: Array<Self>, kind: &Kind) -> Option<Datum<S>>;
}

/// A number (no dimensions) or an array, the last index running fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array<E> {
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Vec<E>,
}

impl<E: Number> Array<E> {
    pub(crate) fn number(x: E) -> Array<E> {
        Array { shape: vec![], data: vec![x] }
    }
    /// None for more dimensions than cross the border.
    fn of(array: &Shaped<E>) -> Option<Array<E>> {
        if array.rank() > abi::MAX_NDIM {
            return None;
        }
        let shape = array.shape().iter().map(|n| *n as u64).collect();
        Some(Array { shape, data: array.items().to_vec() })
    }
    fn shaped(self) -> Option<Shaped<E>> {
        let shape: Vec<usize> = self.shape.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
        Shaped::new(&shape, self.data).ok()
    }
    pub(crate) fn zeros_like(&self) -> Array<E> {
        Array { shape: self.shape.clone(), data: vec![E::default(); self.data.len()] }
    }
    /// A cotangent may be shorter than its value: what is missing is zero.
    pub(crate) fn extended(mut self, like: &Array<E>) -> Array<E> {
        self.data.resize(like.data.len(), E::default());
        self.shape.clone_from(&like.shape);
        self
    }
    pub(crate) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }
}

/// The value as another type, if it is one of those.
#[inline]
pub(crate) fn cast<A: Any, B: Any + Clone>(a: &A) -> Option<B> {
    (a as &dyn Any).downcast_ref::<B>().cloned()
}

impl Number for f64 {
    const DTYPE: u32 = abi::F64;
    const ONE: f64 = 1.0;
    const CANARY: f64 = f64::from_bits(CANARY);
    fn is_same(self, other: f64) -> bool {
        self.to_bits() == other.to_bits()
    }
    fn word(self) -> u64 {
        self.to_bits()
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn pair(bar: f64, dot: f64) -> f64 {
        bar * dot
    }
    fn plus(self, other: f64) -> f64 {
        self + other
    }
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<f64>> {
        match datum {
            Datum::Real(x) => Some(Array::number(cast(x)?)),
            Datum::Int(n) => Some(Array::number(*n as f64)),
            Datum::Reals(xs) => cast::<_, Arc<Shaped<f64>>>(xs).and_then(|xs| Array::of(&xs)),
            _ => None,
        }
    }
    fn write<S: Scalar>(array: Array<f64>, kind: &Kind) -> Option<Datum<S>> {
        match kind {
            Kind::Real => Some(Datum::Real(cast(array.data.first()?)?)),
            _ => Some(Datum::Reals(cast(&Arc::new(array.shaped()?))?)),
        }
    }
}

impl Number for Complex<f64> {
    const DTYPE: u32 = abi::C64;
    const ONE: Complex<f64> = Complex::new(1.0, 0.0);
    const CANARY: Complex<f64> = Complex::new(f64::from_bits(CANARY), f64::from_bits(CANARY));
    fn is_same(self, other: Complex<f64>) -> bool {
        self.re.is_same(other.re) & self.im.is_same(other.im)
    }
    fn word(self) -> u64 {
        self.re.to_bits().rotate_left(1) ^ self.im.to_bits()
    }
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
    fn pair(bar: Complex<f64>, dot: Complex<f64>) -> Complex<f64> {
        bar.conj() * dot
    }
    fn plus(self, other: Complex<f64>) -> Complex<f64> {
        self + other
    }
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<Complex<f64>>> {
        match datum {
            Datum::Complex(x) => Some(Array::number(cast(x)?)),
            Datum::Int(n) => Some(Array::number(Complex::new(*n as f64, 0.0))),
            Datum::Complexes(xs) => cast::<_, Arc<Shaped<Complex<f64>>>>(xs).and_then(|xs| Array::of(&xs)),
            _ => None,
        }
    }
    fn write<S: Scalar>(array: Array<Complex<f64>>, kind: &Kind) -> Option<Datum<S>> {
        match kind {
            Kind::Complex => Some(Datum::Complex(cast(array.data.first()?)?)),
            _ => Some(Datum::Complexes(cast(&Arc::new(array.shaped()?))?)),
        }
    }
}
