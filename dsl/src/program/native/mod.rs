//! The values that the native body of a `program!` computes with.
//!
//! A real number is an [`N<S>`], a complex one a [`Z<S>`], both transparent; ints and bools are
//! Rust's. Each operation is the one that the executor of the IR does, so both give the same bits;
//! where a real number meets a complex one it is promoted first, as there.
//!
//! An array is an [`Array`]. A variable that never changes holds a reference to it and can be used
//! any number of times; one declared with `mut` owns it, and an expression that uses it as a whole
//! moves it. What is done to arrays as wholes is done by the executor, one operation at a time
//! (`call`).
//!
//! The staged body sees the same expressions and is strict about kinds. So this side lets an int
//! pass where a real number is expected, and what is wrong is told once.

mod arrays;
mod builtins;
mod call;
mod elementwise;
mod numbers;
mod operators;

pub use arrays::*;
pub use builtins::*;
pub use call::{Value, transform};
pub use elementwise::*;
pub use numbers::*;
pub use operators::*;

use num_complex::Complex;

use ketgrad_core::{
    array::Array,
    ir::{Compare, Number1, Number2, Real1, Real2},
    scalar::{Conj, Ring, Scalar},
};

use super::shape::Number;

/// A real number.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct N<S>(pub S);

/// A complex number.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Z<S>(pub Complex<S>);

/// An index into a table of the host. It is no integer type, so that an integer literal can only be
/// an `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Handle(pub u32);

/// An array.
#[derive(Clone, Debug)]
pub struct Arr<T>(pub Array<T>);
impl<T> Default for Arr<T> {
    fn default() -> Arr<T> {
        Arr(Array::default())
    }
}

// Conversions.

/// Type that can be used as a value: a variable that is initialised with it owns an `Out`.
pub trait Bind<S> {
    /// The value.
    type Out;
    /// Returns the value.
    fn bind(self) -> Self::Out;
}

/// Type that is accepted where a `T` is expected.
pub trait Fit<T> {
    /// Returns the value.
    fn fit(self) -> T;
}

/// Converts `x` to a `T`.
pub fn fit<T, X: Fit<T>>(x: X) -> T {
    x.fit()
}

/// Type that an immutable variable holds: numbers as they are, arrays by reference.
pub trait Hold {
    /// Held value.
    type Held<'a>
    where
        Self: 'a;
    /// Looks at the value.
    fn hold(&self) -> Self::Held<'_>;
}

fn complex<S: Number>(re: S) -> Complex<S> {
    <Complex<S> as Scalar>::from_real(re)
}

macro_rules! fits {
    ($([$($g:tt)*] $X:ty => $T:ty: |$x:ident| $e:expr;)*) => {$(
        impl<$($g)*> Fit<$T> for $X {
            fn fit(self) -> $T {
                let $x = self;
                $e
            }
        }
    )*};
}
fits! {
    [S: Number] N<S> => N<S>: |x| x;
    [S: Number] f64 => N<S>: |x| N(S::literal(x));
    [S: Number] i64 => N<S>: |x| N(S::lit(x as f64));
    [S: Number] Z<S> => Z<S>: |x| x;
    [S: Number] N<S> => Z<S>: |x| Z(complex(x.0));
    [S: Number] f64 => Z<S>: |x| Z(complex(S::literal(x)));
    [S: Number] i64 => Z<S>: |x| Z(complex(S::lit(x as f64)));
    [] i64 => i64: |x| x;
    [] bool => bool: |x| x;
    [] Handle => Handle: |x| x;
    [T] Arr<T> => Arr<T>: |x| x;
    [T: Clone] &Arr<T> => Arr<T>: |x| x.clone();
    // The staged body refuses these; here they pass, so that what is wrong is told once. They never
    // run.
    [S: Number] Z<S> => N<S>: |x| N(x.0.re);
    [S: Number] bool => N<S>: |_x| N(S::lit(0.0));
    [S: Number] N<S> => i64: |_x| 0;
    [S: Number] Z<S> => i64: |_x| 0;
    [] f64 => i64: |_x| 0;
    [] bool => i64: |_x| 0;
    [S: Number] N<S> => bool: |_x| false;
    [] i64 => bool: |_x| false;
    [] f64 => bool: |_x| false;
    [S: Number, A, B] (A, B) => N<S>: |_x| N(S::lit(0.0));
    [S: Number] Arr<Z<S>> => Arr<N<S>>: |x| Arr(x.0.map_into(|z| N(z.0.re)));
    [S: Number] &Arr<Z<S>> => Arr<N<S>>: |x| Arr(x.0.map(|z| N(z.0.re)));
    [S: Number] Arr<N<S>> => Arr<Z<S>>: |x| Arr(x.0.map_into(Fit::fit));
    [S: Number] &Arr<N<S>> => Arr<Z<S>>: |x| Arr(x.0.map(|x| (*x).fit()));
    [T, X: Fit<T>, const M: usize] [X; M] => Arr<T>: |x| Arr(x.into_iter().map(Fit::fit).collect());
    [S: Number, X: Fit<N<S>>, const K: usize, const M: usize] [[X; K]; M] => Arr<N<S>>: |x| {
        Arr(Array::from_rows(x.map(|row| row.map(Fit::fit))))
    };
    [S: Number, X: Fit<Z<S>>, const K: usize, const M: usize] [[X; K]; M] => Arr<Z<S>>: |x| {
        Arr(Array::from_rows(x.map(|row| row.map(Fit::fit))))
    };
    [S: Number, const M: usize] [Arr<N<S>>; M] => Arr<N<S>>: |x| stack(x.into());
    [S: Number, const M: usize] [&Arr<N<S>>; M] => Arr<N<S>>: |x| stack(x.map(Clone::clone).into());
    [S: Number, const M: usize] [Arr<Z<S>>; M] => Arr<Z<S>>: |x| stack(x.into());
    [S: Number, const M: usize] [&Arr<Z<S>>; M] => Arr<Z<S>>: |x| stack(x.map(Clone::clone).into());
    [T: Clone, X: Fit<T>] Fill<X> => Arr<T>: |x| fill(x.0.fit(), x.1);
    [T: Element, X: Fit<Arr<T>>] Rows<X> => Arr<T>: |x| rows(x.0.fit(), x.1);
}

macro_rules! binds {
    ($([$($g:tt)*] $X:ty => $T:ty;)*) => {$(
        impl<$($g)*> Bind<S> for $X {
            type Out = $T;
            fn bind(self) -> $T {
                self.fit()
            }
        }
    )*};
}
binds! {
    [S: Number] N<S> => N<S>;
    [S: Number] f64 => N<S>;
    [S: Number] Z<S> => Z<S>;
    [S] i64 => i64;
    [S] bool => bool;
    [S] Handle => Handle;
    [S] Arr<N<S>> => Arr<N<S>>;
    [S: Number] &Arr<N<S>> => Arr<N<S>>;
    [S] Arr<Z<S>> => Arr<Z<S>>;
    [S: Number] &Arr<Z<S>> => Arr<Z<S>>;
    [S] Arr<i64> => Arr<i64>;
    [S] &Arr<i64> => Arr<i64>;
}
impl<S, X: Bind<S, Out: Item>, const M: usize> Bind<S> for [X; M] {
    type Out = Arr<<X::Out as Item>::Element>;
    fn bind(self) -> Self::Out {
        Item::together(self.map(Bind::bind).into())
    }
}

/// Entry of a literal array: numbers, and arrays, which are stacked.
pub trait Item: Sized {
    /// Element of the array.
    type Element;
    /// Returns the array.
    fn together(items: Vec<Self>) -> Arr<Self::Element>;
    /// Returns an array of `n` times itself.
    fn repeated(self, n: i64) -> Arr<Self::Element>;
}
macro_rules! items {
    ($([$($g:tt)*] $T:ty;)*) => {$(
        impl<$($g)*> Item for $T {
            type Element = $T;
            fn together(items: Vec<$T>) -> Arr<$T> {
                Arr(items.into())
            }
            fn repeated(self, n: i64) -> Arr<$T> {
                fill(self, n)
            }
        }
    )*};
}
items! { [S: Number] N<S>; [S: Number] Z<S>; [] i64; [] bool; }
impl<E: Element> Item for Arr<E> {
    type Element = E;
    fn together(items: Vec<Arr<E>>) -> Arr<E> {
        stack(items)
    }
    fn repeated(self, n: i64) -> Arr<E> {
        rows(self, n)
    }
}
impl<S, X: Bind<S, Out: Item>> Bind<S> for Fill<X> {
    type Out = Arr<<X::Out as Item>::Element>;
    fn bind(self) -> Self::Out {
        self.0.bind().repeated(self.1)
    }
}

impl<S, E: Element, X: Bind<S, Out = Arr<E>>> Bind<S> for Rows<X> {
    type Out = Arr<E>;
    #[track_caller]
    fn bind(self) -> Arr<E> {
        rows(self.0.bind(), self.1)
    }
}

/// `[x; n]`
#[derive(Clone, Copy, Debug)]
pub struct Fill<X>(pub X, pub i64);

/// `[row; n]`, where the row is written out.
#[derive(Clone, Copy, Debug)]
pub struct Rows<X>(pub X, pub i64);

/// Returns an array of `n` times `x`; a negative length is none.
fn fill<T: Clone>(x: T, n: i64) -> Arr<T> {
    Arr(vec![x; usize::try_from(n).unwrap_or(0)].into())
}

macro_rules! copied {
    ($([$($g:tt)*] $T:ty;)*) => {$(
        impl<$($g)*> Hold for $T {
            type Held<'a> = $T where Self: 'a;
            fn hold(&self) -> $T {
                *self
            }
        }
    )*};
}
copied! { [S: Number] N<S>; [S: Number] Z<S>; [] i64; [] bool; [] Handle; }
impl<T> Hold for Arr<T> {
    type Held<'a>
        = &'a Arr<T>
    where
        T: 'a;
    fn hold(&self) -> &Arr<T> {
        self
    }
}

macro_rules! tuples {
    ($(($($T:ident $U:ident $k:tt)+))*) => {$(
        impl<Num, $($T: Bind<Num>),+> Bind<Num> for ($($T,)+) {
            type Out = ($($T::Out,)+);
            fn bind(self) -> Self::Out {
                ($(self.$k.bind(),)+)
            }
        }
        impl<$($T: Fit<$U>, $U),+> Fit<($($U,)+)> for ($($T,)+) {
            fn fit(self) -> ($($U,)+) {
                ($(self.$k.fit(),)+)
            }
        }
        impl<$($T: Hold),+> Hold for ($($T,)+) {
            type Held<'a> = ($($T::Held<'a>,)+) where Self: 'a;
            fn hold(&self) -> Self::Held<'_> {
                ($(self.$k.hold(),)+)
            }
        }
    )*};
}
tuples! {
    (A T 0) (A T 0 B U 1) (A T 0 B U 1 C V 2) (A T 0 B U 1 C V 2 D W 3) (A T 0 B U 1 C V 2 D W 3 E X 4)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5) (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5 G P 6)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5 G P 6 H Q 7)
}
