//! Kinds as types: the text after `:` in a `program!` is a Rust type, the one of the value on
//! `f64`.
//!
//! `real` is `f64`, `array<complex>` is `Array<Complex<f64>>`, `(real, int)` is a tuple, a struct
//! is itself. A [`Shape`] says what such a type becomes in each of three worlds: in the signature
//! of the native function (`Public`), inside it (`Native`), and while the IR is written (`Staged`).

use std::{marker::PhantomData, sync::Arc};

use num_complex::Complex;

use ketgrad_core::{
    array::Array,
    exec::Datum,
    ir::{Element, Kind},
    scalar::Ordered,
};

use super::{
    native::{self, Arr, N, Value, Z},
    staged::{Ex, Handle, NoCotangent},
};

/// A real number type that the native function of a program runs on: it is copied freely, as
/// literals and variables of a program are, and decides comparisons. Every other scalar runs the
/// IR.
pub trait Number: Ordered + Copy {}
impl<S: Ordered + Copy> Number for S {}

/// The kinds of the language, under their names.
#[allow(non_camel_case_types, reason = "the words of the language")]
pub mod kinds {
    /// A real number.
    pub type real = f64;
    /// A complex number.
    pub type complex = num_complex::Complex<f64>;
    /// An integer.
    pub type int = i64;
    /// An index into a table of the host.
    pub type handle = u32;
    /// An array, of real numbers if nothing else is said.
    pub type array<E = f64> = ketgrad_core::array::Array<E>;
}

/// Representations of a type of the language in the three worlds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of a program",
    label = "expected `real`, `complex`, `int`, `bool`, `array`, `array<complex>`, `array<int>`, a tuple or a struct"
)]
pub trait Shape {
    /// Type in the signature of the native function on `S`.
    type Public<S: Number>;
    /// Inside the native function.
    type Native<S: Number>;
    /// Type while the IR is written.
    type Staged: Handle;
    /// The cotangent of it, in the value of a pullback.
    type Bar;
    /// Returns the kind in the IR.
    fn kind() -> Kind;
    /// Converts an argument for the native function.
    fn wrap<S: Number>(x: Self::Public<S>) -> Self::Native<S>;
    /// Out of it.
    fn unwrap<S: Number>(x: Self::Native<S>) -> Self::Public<S>;
    /// Converts a native value for the executor.
    fn datum<S: Number>(x: Self::Native<S>) -> Value<S>;
    /// Converts a value of the executor to a native one.
    fn native<S: Number>(value: Value<S>) -> Self::Native<S>;
}

/// A kind, in a call with an argument of type `W`. Bounds on it are looked at where a function is
/// called, not where it is defined, since they mention `W`.
#[derive(Debug)]
pub struct Of<W, K>(PhantomData<fn() -> (W, K)>);

/// A kind whose tangents and cotangents are of the same kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no derivative",
    label = "expected a function of real or complex numbers, or arrays, tuples or structs of them alone",
    note = "what has none in a tuple or a struct can be a parameter of its own"
)]
pub trait HasTangent {}

/// [`HasTangent`] at a call.
pub trait Differentiable {
    /// The kind of the tangents.
    type Kind: Shape;
}
impl<W, K: HasTangent + Shape> Differentiable for Of<W, K> {
    type Kind = K;
}
/// The kind of the tangents of `K`.
pub type Tangent<W, K> = <Of<W, K> as Differentiable>::Kind;

/// Kinds of parameters, each of which has tangents, at a call.
#[diagnostic::on_unimplemented(message = "`vjp` takes at most eight parameters with cotangents")]
pub trait AllDifferentiable {
    /// The kind of the cotangent of one, or of a tuple of those of several.
    type Kind: Shape;
}
impl<W, K: HasTangent + Shape> AllDifferentiable for Of<W, (K,)> {
    type Kind = K;
}
/// The kind of the cotangents of several.
pub type Tangents<W, K> = <Of<W, K> as AllDifferentiable>::Kind;

/// A real number, as a parameter or a result, at a call.
pub trait Real {}
/// [`Real`], of a kind.
#[diagnostic::on_unimplemented(
    message = "`grad`, `value_and_grad` and `hessian` take functions that return a real number, `matrix_function` \
               those of a real number that return one, not `{Self}`"
)]
pub trait IsReal {}
impl IsReal for f64 {}
impl<W, K: IsReal> Real for Of<W, K> {}

/// Kinds that second derivatives are taken by, at a call.
pub trait RealOrArray {}
/// [`RealOrArray`], of a kind.
#[diagnostic::on_unimplemented(
    message = "`hessian` takes functions whose first parameter is a real number or an array of such, not `{Self}`"
)]
pub trait IsRealOrArray {}
impl IsRealOrArray for f64 {}
impl IsRealOrArray for Array<f64> {}
impl<W, K: IsRealOrArray> RealOrArray for Of<W, K> {}

impl Shape for f64 {
    type Public<S: Number> = S;
    type Native<S: Number> = N<S>;
    type Staged = Ex<f64>;
    type Bar = Ex<f64>;
    fn kind() -> Kind {
        Kind::Real
    }
    fn wrap<S: Number>(x: S) -> N<S> {
        N(x)
    }
    fn unwrap<S: Number>(x: N<S>) -> S {
        x.0
    }
    fn datum<S: Number>(x: N<S>) -> Value<S> {
        Datum::Real(x.0)
    }
    fn native<S: Number>(value: Value<S>) -> N<S> {
        native::Element::number(value)
    }
}

impl Shape for Complex<f64> {
    type Public<S: Number> = Complex<S>;
    type Native<S: Number> = Z<S>;
    type Staged = Ex<Complex<f64>>;
    type Bar = Ex<Complex<f64>>;
    fn kind() -> Kind {
        Kind::Complex
    }
    fn wrap<S: Number>(x: Complex<S>) -> Z<S> {
        Z(x)
    }
    fn unwrap<S: Number>(x: Z<S>) -> Complex<S> {
        x.0
    }
    fn datum<S: Number>(x: Z<S>) -> Value<S> {
        Datum::Complex(x.0)
    }
    fn native<S: Number>(value: Value<S>) -> Z<S> {
        native::Element::number(value)
    }
}

/// Kinds that are the same on every scalar, and have no cotangent.
macro_rules! plain {
    ($($T:ty: $Kind:expr, $Datum:ident;)*) => {$(
        impl Shape for $T {
            type Public<S: Number> = $T;
            type Native<S: Number> = $T;
            type Staged = Ex<$T>;
            type Bar = NoCotangent;
            fn kind() -> Kind {
                $Kind
            }
            fn wrap<S: Number>(x: $T) -> $T {
                x
            }
            fn unwrap<S: Number>(x: $T) -> $T {
                x
            }
            fn datum<S: Number>(x: $T) -> Value<S> {
                Datum::$Datum(x)
            }
            fn native<S: Number>(value: Value<S>) -> $T {
                match value {
                    Datum::$Datum(x) => x,
                    _ => <$T>::default(),
                }
            }
        }
    )*};
}
plain! { i64: Kind::Int, Int; bool: Kind::Bool, Bool; }

impl Shape for u32 {
    type Public<S: Number> = u32;
    type Native<S: Number> = native::Handle;
    type Staged = Ex<u32>;
    type Bar = NoCotangent;
    fn kind() -> Kind {
        Kind::Handle
    }
    fn wrap<S: Number>(x: u32) -> native::Handle {
        native::Handle(x)
    }
    fn unwrap<S: Number>(x: native::Handle) -> u32 {
        x.0
    }
    fn datum<S: Number>(x: native::Handle) -> Value<S> {
        Datum::Handle(x.0)
    }
    fn native<S: Number>(value: Value<S>) -> native::Handle {
        native::Handle(match value {
            Datum::Handle(k) => k,
            _ => 0,
        })
    }
}

/// Arrays: of what, their cotangent, the element in each world, and what they are to the executor.
macro_rules! arrays {
    ($($T:ty, $Bar:ty, $Kind:ident, $Datum:ident;)*) => {$(
        impl Shape for Array<$T> {
            type Public<S: Number> = Array<<$T as Shape>::Public<S>>;
            type Native<S: Number> = Arr<<$T as Shape>::Native<S>>;
            type Staged = Ex<Array<$T>>;
            type Bar = $Bar;
            fn kind() -> Kind {
                Kind::Array(Element::$Kind)
            }
            fn wrap<S: Number>(x: Self::Public<S>) -> Self::Native<S> {
                Arr(x.map_into(<$T as Shape>::wrap::<S>))
            }
            fn unwrap<S: Number>(x: Self::Native<S>) -> Self::Public<S> {
                x.0.map_into(<$T as Shape>::unwrap::<S>)
            }
            fn datum<S: Number>(x: Self::Native<S>) -> Value<S> {
                Datum::$Datum(Arc::new(Self::unwrap::<S>(x)))
            }
            fn native<S: Number>(value: Value<S>) -> Self::Native<S> {
                match value {
                    Datum::$Datum(array) => Self::wrap::<S>(Arc::unwrap_or_clone(array)),
                    _ => Arr::default(),
                }
            }
        }
    )*};
}
arrays! {
    f64, Ex<Array<f64>>, Real, Reals;
    Complex<f64>, Ex<Array<Complex<f64>>>, Complex, Complexes;
    i64, NoCotangent, Int, Ints;
}

impl HasTangent for f64 {}
impl HasTangent for Complex<f64> {}
impl HasTangent for Array<f64> {}
impl HasTangent for Array<Complex<f64>> {}

/// The fields of a tuple or a struct, in order.
#[derive(Debug)]
pub struct Fields<S: Number>(std::vec::IntoIter<Value<S>>);

/// Returns the fields of a value of the executor.
#[must_use]
pub fn fields<S: Number>(value: Value<S>) -> Fields<S> {
    Fields(match value {
        Datum::Tuple(fields) => fields.into_iter(),
        _ => Vec::new().into_iter(),
    })
}

impl<S: Number> Fields<S> {
    /// Returns the next one. The kinds say how many there are.
    pub fn next(&mut self) -> Value<S> {
        self.0.next().unwrap_or(Datum::Tuple(vec![]))
    }
}

macro_rules! tuples {
    ($(($($T:ident $k:tt)+))*) => {$(
        impl<$($T: Shape),+> Shape for ($($T,)+) {
            type Public<S: Number> = ($($T::Public<S>,)+);
            type Native<S: Number> = ($($T::Native<S>,)+);
            type Staged = ($($T::Staged,)+);
            type Bar = ($($T::Bar,)+);
            fn kind() -> Kind {
                Kind::tuple([$($T::kind()),+])
            }
            fn wrap<S: Number>(x: Self::Public<S>) -> Self::Native<S> {
                ($($T::wrap::<S>(x.$k),)+)
            }
            fn unwrap<S: Number>(x: Self::Native<S>) -> Self::Public<S> {
                ($($T::unwrap::<S>(x.$k),)+)
            }
            fn datum<S: Number>(x: Self::Native<S>) -> Value<S> {
                Datum::Tuple(vec![$($T::datum::<S>(x.$k)),+])
            }
            fn native<S: Number>(value: Value<S>) -> Self::Native<S> {
                let mut fields = fields(value);
                ($($T::native::<S>(fields.next()),)+)
            }
        }
        impl<$($T: HasTangent),+> HasTangent for ($($T,)+) {}
    )*};
}
macro_rules! cotangents {
    ($(($($T:ident)+))*) => {$(
        impl<W, $($T: HasTangent + Shape),+> AllDifferentiable for Of<W, ($($T,)+)> {
            type Kind = ($($T,)+);
        }
    )*};
}
cotangents! { (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) }

tuples! {
    (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}
