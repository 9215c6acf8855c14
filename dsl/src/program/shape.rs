//! Kinds as types: what stands after `:` in a `program!` is a Rust type, the one of the value on `f64`.
//!
//! `real` is `f64`, `array<complex>` is `Array<Complex<f64>>`, `(real, int)` is a tuple, a struct is itself. A
//! [`Shape`] says what such a type becomes in each of three worlds: in the signature of the native function
//! (`Public`), inside it (`Native`), and while the IR is written (`Staged`).

use num_complex::Complex;

use crate::core::{
    array::Array,
    ir::{Element, Kind},
    scalar::Ordered,
};

use super::{
    native::{self, Arr, N, Z},
    staged::{Ex, Handle, NoCotangent},
};

/// A real number type that the native function of a program runs on: it is copied freely, as literals and
/// variables of a program are, and decides comparisons. Every other scalar runs the IR.
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
    pub type array<E = f64> = crate::core::array::Array<E>;
}

/// What a type of the language is in the three worlds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no kind of a program",
    label = "expected `real`, `complex`, `int`, `bool`, `array`, `array<complex>`, `array<int>`, a tuple or a struct"
)]
pub trait Shape {
    /// In the signature of the native function on `S`.
    type Public<S: Number>;
    /// Inside the native function.
    type Native<S: Number>;
    /// While the IR is written.
    type Staged: Handle;
    /// The cotangent of it, in the value of a pullback.
    type Bar;
    /// The kind in the IR.
    fn kind() -> Kind;
    /// Into the native function.
    fn wrap<S: Number>(x: Self::Public<S>) -> Self::Native<S>;
    /// Out of it.
    fn unwrap<S: Number>(x: Self::Native<S>) -> Self::Public<S>;
}

/// A kind whose cotangent is of the same kind: what a rule may return.
#[diagnostic::on_unimplemented(
    message = "a rule cannot return `{Self}`",
    label = "expected real or complex numbers, arrays or tuples of them"
)]
pub trait Differentiable: Shape {}

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
}

/// Kinds that are the same on every scalar, and have no cotangent.
macro_rules! plain {
    ($($T:ty: $Kind:expr;)*) => {$(
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
        }
    )*};
}
plain! { i64: Kind::Int; bool: Kind::Bool; }

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
}

/// Arrays: of what, their cotangent, and the element in each world.
macro_rules! arrays {
    ($($T:ty, $Bar:ty, $Kind:expr;)*) => {$(
        impl Shape for Array<$T> {
            type Public<S: Number> = Array<<$T as Shape>::Public<S>>;
            type Native<S: Number> = Arr<<$T as Shape>::Native<S>>;
            type Staged = Ex<Array<$T>>;
            type Bar = $Bar;
            fn kind() -> Kind {
                Kind::Array($Kind)
            }
            fn wrap<S: Number>(x: Self::Public<S>) -> Self::Native<S> {
                Arr(x.map_into(<$T as Shape>::wrap::<S>))
            }
            fn unwrap<S: Number>(x: Self::Native<S>) -> Self::Public<S> {
                x.0.map_into(<$T as Shape>::unwrap::<S>)
            }
        }
    )*};
}
arrays! {
    f64, Ex<Array<f64>>, Element::Real;
    Complex<f64>, Ex<Array<Complex<f64>>>, Element::Complex;
    i64, NoCotangent, Element::Int;
}

impl Differentiable for f64 {}
impl Differentiable for Complex<f64> {}
impl Differentiable for Array<f64> {}
impl Differentiable for Array<Complex<f64>> {}

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
        }
        impl<$($T: Differentiable),+> Differentiable for ($($T,)+) {}
    )*};
}
tuples! {
    (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}
