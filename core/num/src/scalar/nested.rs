//! Numbers in tuples, arrays, lists and structs.

use num_complex::Complex;

use super::Ordered;

/// A function of each number of a [`NestedNumbers`] value.
pub trait MapNumbers<R> {
    /// What a real number becomes.
    type Out;
    /// Maps a real number; the name says where it is: `x[2].1`.
    fn real(&mut self, x: &R, name: &str) -> Self::Out;
    /// Maps the parts of a complex number.
    fn complex(&mut self, z: &Complex<R>, name: &str) -> Complex<Self::Out>;
}

/// Numbers of type `R`, complex numbers, and tuples, arrays, lists and structs of them.
///
/// Structs implement it by `recordable!`.
pub trait NestedNumbers<R> {
    /// The same shape with `U` in the place of `R`.
    type Map<U>;
    /// Maps every number. Parts are named after the whole.
    fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> Self::Map<F::Out>;
    /// Maps every number under several names: a tuple gives one to each of its fields.
    fn map_named<F: MapNumbers<R>>(&self, names: &[&str], f: &mut F) -> Self::Map<F::Out> {
        self.map_numbers(names.first().copied().unwrap_or_default(), f)
    }
    /// Returns the numbers in their shape.
    fn values(&self) -> NestedValues<R>;
}

/// The numbers of a [`NestedNumbers`] value.
#[derive(Clone, Debug, PartialEq)]
pub enum NestedValues<R> {
    /// A real number.
    Real(R),
    /// A complex number.
    Complex(Complex<R>),
    /// The elements of an array or a list.
    List(Vec<NestedValues<R>>),
    /// The fields of a tuple or a struct.
    Tuple(Vec<NestedValues<R>>),
}

impl<R: Ordered> NestedNumbers<R> for R {
    type Map<U> = U;
    fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> F::Out {
        f.real(self, name)
    }
    fn values(&self) -> NestedValues<R> {
        NestedValues::Real(self.clone())
    }
}

impl<R: Ordered> NestedNumbers<R> for Complex<R> {
    type Map<U> = Complex<U>;
    fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> Complex<F::Out> {
        f.complex(self, name)
    }
    fn values(&self) -> NestedValues<R> {
        NestedValues::Complex(self.clone())
    }
}

impl<R: Ordered, T: NestedNumbers<R>, const N: usize> NestedNumbers<R> for [T; N] {
    type Map<U> = [T::Map<U>; N];
    fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> [T::Map<F::Out>; N] {
        std::array::from_fn(|k| self[k].map_numbers(&format!("{name}[{k}]"), f))
    }
    fn values(&self) -> NestedValues<R> {
        NestedValues::List(self.iter().map(NestedNumbers::values).collect())
    }
}

impl<R: Ordered, T: NestedNumbers<R>> NestedNumbers<R> for Vec<T> {
    type Map<U> = Vec<T::Map<U>>;
    fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> Vec<T::Map<F::Out>> {
        let items = self.iter().enumerate();
        items.map(|(k, x)| x.map_numbers(&format!("{name}[{k}]"), f)).collect()
    }
    fn values(&self) -> NestedValues<R> {
        NestedValues::List(self.iter().map(NestedNumbers::values).collect())
    }
}

macro_rules! tuples {
    ($($(($T:ident $k:tt))+;)*) => {$(
        impl<R: Ordered, $($T: NestedNumbers<R>),+> NestedNumbers<R> for ($($T,)+) {
            type Map<U> = ($($T::Map<U>,)+);
            fn map_numbers<F: MapNumbers<R>>(&self, name: &str, f: &mut F) -> Self::Map<F::Out> {
                ($(self.$k.map_numbers(&format!("{name}.{}", $k), f),)+)
            }
            fn map_named<F: MapNumbers<R>>(&self, names: &[&str], f: &mut F) -> Self::Map<F::Out> {
                match names {
                    [one] => self.map_numbers(one, f),
                    _ => ($(self.$k.map_numbers(names.get($k).copied().unwrap_or_default(), f),)+),
                }
            }
            fn values(&self) -> NestedValues<R> {
                NestedValues::Tuple(vec![$(self.$k.values()),+])
            }
        }
    )*};
}
tuples! {
    (A0 0);
    (A0 0) (A1 1);
    (A0 0) (A1 1) (A2 2);
    (A0 0) (A1 1) (A2 2) (A3 3);
    (A0 0) (A1 1) (A2 2) (A3 3) (A4 4);
    (A0 0) (A1 1) (A2 2) (A3 3) (A4 4) (A5 5);
}
