//! Conversion of arrays for kernels and back.

use std::{any::Any, sync::Arc};

use ketgrad_core::{
    array::Array as Shaped,
    exec::Datum,
    ir::{Element, Kind},
    scalar::{Real, Scalar},
};
use ketgrad_plugin_abi as abi;
use num_complex::Complex;

/// Number after the last element of a result: a kernel that writes further is found out.
const CANARY: u64 = 0x7ff8_dead_beef_cafe;

/// Number type of kernels.
pub(crate) trait Number: Copy + Default + Any + Send + Sync {
    const DTYPE: u32;
    const CANARY: Self;
    /// Returns true if it is the same number, bit by bit.
    fn is_same(self, other: Self) -> bool;
    /// Returns a word that depends on every bit, for checksums.
    fn word(self) -> u64;
    fn is_finite(self) -> bool;
    /// Reads a value of a program on `S`, if its numbers are of this type.
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<Self>>;
    /// Converts back to a value of a program.
    fn write<S: Scalar>(array: Array<Self>, kind: &Kind) -> Option<Datum<S>>;
    /// Wraps numbers of this type.
    fn values(array: Array<Self>) -> Values;
    /// Returns the numbers, if they are of this type.
    fn of_values(values: &Values) -> Option<&Array<Self>>;
}

/// Number (no dimensions) or array, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array<E> {
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Vec<E>,
}

impl<E: Number> Array<E> {
    pub(crate) fn number(x: E) -> Array<E> {
        Array { shape: vec![], data: vec![x] }
    }
    /// Converts an array; `None` for more dimensions than the interface allows.
    fn from_shaped(array: &Shaped<E>) -> Option<Array<E>> {
        if array.rank() > abi::MAX_NDIM {
            return None;
        }
        let shape = array.shape().iter().map(|n| *n as u64).collect();
        Some(Array { shape, data: array.items().to_vec() })
    }
    fn shaped(self) -> Option<Shaped<E>> {
        let shape: Vec<usize> =
            self.shape.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
        Shaped::new(&shape, self.data).ok()
    }
    pub(crate) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }
}

/// Argument or result of a kernel on arrays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Reals(Array<f64>),
    Complexes(Array<Complex<f64>>),
}

impl Values {
    /// Reads a value of a program whose numbers are `f64`.
    pub(crate) fn read<S: Scalar>(datum: &Datum<S>, is_complex: bool) -> Option<Values> {
        match is_complex {
            false => f64::read(datum).map(Values::Reals),
            true => Complex::read(datum).map(Values::Complexes),
        }
    }

    /// Builds values from the real components of their elements: one for each real element, two for
    /// each complex one.
    pub(crate) fn of_parts(shape: Vec<u64>, parts: Vec<f64>, is_complex: bool) -> Values {
        match is_complex {
            false => Values::Reals(Array { shape, data: parts }),
            true => {
                let data = parts.chunks_exact(2).map(|z| Complex::new(z[0], z[1])).collect();
                Values::Complexes(Array { shape, data })
            }
        }
    }

    /// Returns the real components of the elements.
    pub(crate) fn parts(&self) -> Vec<f64> {
        match self {
            Values::Reals(x) => x.data.clone(),
            Values::Complexes(z) => z.data.iter().flat_map(|z| [z.re, z.im]).collect(),
        }
    }

    pub(crate) fn shape(&self) -> &[u64] {
        match self {
            Values::Reals(x) => &x.shape,
            Values::Complexes(z) => &z.shape,
        }
    }

    pub(crate) fn is_complex(&self) -> bool {
        matches!(self, Values::Complexes(_))
    }

    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Values::Reals(x) => x.is_finite(),
            Values::Complexes(z) => z.is_finite(),
        }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Reals(x) => x.data.len(),
            Values::Complexes(z) => z.data.len(),
        }
    }

    /// Pads with zeros to the shape of another value: a cotangent may be shorter than its value.
    pub(crate) fn extended(self, like: &Values) -> Values {
        let mut parts = self.parts();
        let each = if like.is_complex() { 2 } else { 1 };
        parts.resize(each * like.len(), 0.0);
        Values::of_parts(like.shape().to_vec(), parts, like.is_complex())
    }

    /// Converts to a value of a program on `S`, by the nearest numbers that `S` has.
    pub(crate) fn write<T: Real, S: Scalar<Real = T>>(self, kind: &Kind) -> Option<Datum<S>> {
        let shape = self.shape().to_vec();
        let parts = self.parts();
        let exact = match self {
            Values::Reals(x) => f64::write(x, kind),
            Values::Complexes(z) => Complex::write(z, kind),
        };
        exact.or_else(|| assembled(kind, &shape, parts.iter().map(|x| T::lit(*x)).collect()))
    }
}

/// Builds a value from real numbers, two for each complex one.
pub(crate) fn assembled<T: Real, S: Scalar<Real = T>>(
    kind: &Kind,
    shape: &[u64],
    parts: Vec<T>,
) -> Option<Datum<S>> {
    let shape: Vec<usize> =
        shape.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
    let complex = |parts: &[T]| match parts {
        [re, im] => S::from_parts(re.clone(), im.clone()),
        _ => None,
    };
    Some(match kind {
        Kind::Real => Datum::Real(parts.into_iter().next()?),
        Kind::Complex => Datum::Complex(complex(&parts)?),
        Kind::Array(Element::Complex) => {
            let all: Vec<S> = parts.chunks_exact(2).map(complex).collect::<Option<_>>()?;
            Datum::Complexes(Arc::new(Shaped::new(&shape, all).ok()?))
        }
        _ => Datum::Reals(Arc::new(Shaped::new(&shape, parts).ok()?)),
    })
}

/// Downcasts a value to another type.
#[inline]
pub(crate) fn cast<A: Any, B: Any + Clone>(a: &A) -> Option<B> {
    (a as &dyn Any).downcast_ref::<B>().cloned()
}

impl Number for f64 {
    const DTYPE: u32 = abi::F64;
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
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<f64>> {
        match datum {
            Datum::Real(x) => Some(Array::number(cast(x)?)),
            Datum::Int(n) => Some(Array::number(*n as f64)),
            Datum::Reals(xs) => {
                cast::<_, Arc<Shaped<f64>>>(xs).and_then(|xs| Array::from_shaped(&xs))
            }
            Datum::Ints(ns) => Array::from_shaped(&ns.map(|n| *n as f64)),
            _ => None,
        }
    }
    fn write<S: Scalar>(array: Array<f64>, kind: &Kind) -> Option<Datum<S>> {
        match kind {
            Kind::Real => Some(Datum::Real(cast(array.data.first()?)?)),
            _ => Some(Datum::Reals(cast(&Arc::new(array.shaped()?))?)),
        }
    }
    fn values(array: Array<f64>) -> Values {
        Values::Reals(array)
    }
    fn of_values(values: &Values) -> Option<&Array<f64>> {
        match values {
            Values::Reals(array) => Some(array),
            Values::Complexes(_) => None,
        }
    }
}

impl Number for Complex<f64> {
    const DTYPE: u32 = abi::C64;
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
    fn read<S: Scalar>(datum: &Datum<S>) -> Option<Array<Complex<f64>>> {
        match datum {
            Datum::Complex(x) => Some(Array::number(cast(x)?)),
            Datum::Int(n) => Some(Array::number(Complex::new(*n as f64, 0.0))),
            Datum::Complexes(xs) => {
                cast::<_, Arc<Shaped<Complex<f64>>>>(xs).and_then(|xs| Array::from_shaped(&xs))
            }
            Datum::Ints(ns) => Array::from_shaped(&ns.map(|n| Complex::new(*n as f64, 0.0))),
            _ => None,
        }
    }
    fn write<S: Scalar>(array: Array<Complex<f64>>, kind: &Kind) -> Option<Datum<S>> {
        match kind {
            Kind::Complex => Some(Datum::Complex(cast(array.data.first()?)?)),
            _ => Some(Datum::Complexes(cast(&Arc::new(array.shaped()?))?)),
        }
    }
    fn values(array: Array<Complex<f64>>) -> Values {
        Values::Complexes(array)
    }
    fn of_values(values: &Values) -> Option<&Array<Complex<f64>>> {
        match values {
            Values::Complexes(array) => Some(array),
            Values::Reals(_) => None,
        }
    }
}
