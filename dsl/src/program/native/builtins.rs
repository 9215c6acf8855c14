//! The functions of the language on native values, as functions and as methods.

use super::*;

/// Argument of `real(n)`.
pub trait Whole<S> {
    /// Type of the result.
    type Out;
    /// Converts to a real number.
    fn whole(self) -> Self::Out;
}
macro_rules! whole {
    ($($T:ty => $Out:ty: |$x:ident| $e:expr;)*) => {$(
        impl<S: Number> Whole<S> for $T {
            type Out = $Out;
            fn whole(self) -> $Out {
                let $x = self;
                $e
            }
        }
    )*};
}
whole! {
    i64 => N<S>: |n| N(S::int(n));
    f64 => N<S>: |x| N(S::lit(x));
    N<S> => N<S>: |x| x;
    Arr<i64> => Arr<N<S>>: |x| Arr(x.0.map_into(|n| N(S::int(n))));
    &Arr<i64> => Arr<N<S>>: |x| Arr(x.0.map(|n| N(S::int(*n))));
    Arr<N<S>> => Arr<N<S>>: |x| x;
    &Arr<N<S>> => Arr<N<S>>: |x| x.clone();
}

/// An int or an array of such, where `cmp` takes one.
pub trait Ordinal {
    /// Converts to a value of the executor.
    fn ordinal<S: Number>(self) -> Value<S>;
}
impl Ordinal for i64 {
    fn ordinal<S: Number>(self) -> Value<S> {
        Value::Int(self)
    }
}
impl Ordinal for Arr<i64> {
    fn ordinal<S: Number>(self) -> Value<S> {
        Value::Ints(self.0.into())
    }
}
impl Ordinal for &Arr<i64> {
    fn ordinal<S: Number>(self) -> Value<S> {
        self.clone().ordinal()
    }
}
/// Arguments and result of `cmp(n, m)`.
pub trait Compared<S, Y> {
    /// A number of two ints, else an array.
    type Out;
    /// -1, 0 or 1.
    fn compared(self, other: Y) -> Self::Out;
}
macro_rules! compared {
    ($($X:ty, $($Y:ty),+ => $Out:ty, $read:path;)*) => {$($(
        impl<S: Number> Compared<S, $Y> for $X {
            type Out = $Out;
            #[track_caller]
            fn compared(self, other: $Y) -> $Out {
                $read(call::call::<S>("cmp", &[self.ordinal(), other.ordinal()]))
            }
        }
    )+)*};
}
compared! {
    i64, i64 => N<S>, Element::number;
    i64, Arr<i64>, &Arr<i64> => Arr<N<S>>, Element::array;
    Arr<i64>, i64, Arr<i64>, &Arr<i64> => Arr<N<S>>, Element::array;
    &Arr<i64>, i64, Arr<i64>, &Arr<i64> => Arr<N<S>>, Element::array;
}

/// An array, looked at.
pub trait Items {
    /// Element of the list.
    type Item;
    /// Returns all of them.
    fn items(&self) -> &[Self::Item];
    /// Returns the length along each axis.
    fn shape(&self) -> ketgrad_core::array::Shape;
}
impl<T> Items for Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
    fn shape(&self) -> ketgrad_core::array::Shape {
        self.0.shape()
    }
}
impl<T> Items for &Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
    fn shape(&self) -> ketgrad_core::array::Shape {
        self.0.shape()
    }
}
macro_rules! written {
    ($([$($g:tt)*] $T:ty;)*) => {$(
        impl<$($g)* const M: usize> Items for [$T; M] {
            type Item = $T;
            fn items(&self) -> &[$T] {
                self
            }
            fn shape(&self) -> ketgrad_core::array::Shape {
                ketgrad_core::array::Shape::from_slice(&[M])
            }
        }
    )*};
}
written! { [S,] N<S>; [S,] Z<S>; [] f64; [] i64; }
/// Returns the sum in the order of the executor.
fn summed<S: Ring>(items: impl Iterator<Item = S>) -> S {
    ketgrad_core::array::sum(&items.collect::<Vec<_>>())
}

/// Numbers that can be summed.
pub trait Sum: Copy {
    /// Returns the sum.
    fn total(items: &[Self]) -> Self;
}
impl<S: Number> Sum for N<S> {
    fn total(items: &[Self]) -> Self {
        N(summed(items.iter().map(|x| x.0)))
    }
}
impl<S: Number> Sum for Z<S> {
    fn total(items: &[Self]) -> Self {
        Z(summed(items.iter().map(|x| x.0)))
    }
}
impl<T> Arr<T> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        length(self.0.len())
    }
    /// Returns the length along each axis.
    #[must_use]
    pub fn shape(&self) -> Arr<i64> {
        array_functions::shape(self)
    }
    /// Returns the length along an axis.
    #[must_use]
    #[track_caller]
    pub fn dim(&self, axis: impl Fit<i64>) -> i64 {
        array_functions::dim(self, axis)
    }
    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Returns the sum of the elements.
    #[must_use]
    pub fn sum(&self) -> T
    where
        T: Sum,
    {
        T::total(&self.0)
    }
}

macro_rules! functions {
    (
        number1 { $($n1:ident $N1:ident)* }
        real1 { $($r1:ident $R1:ident)* }
        real2 { $($r2:ident $R2:ident)* }
    ) => {
        /// The functions of the language, for the body of a program.
        pub mod functions {
            use super::*;
            pub use super::array_functions::*;
            // Earlier names.
            pub use super::array_functions::{broadcast_to as spread, ravel_multi_index as place};
            $(
                #[inline]
                pub fn $n1<X: Numeric>(x: X) -> X::Out {
                    x.number1(Number1::$N1)
                }
            )*
            $(
                pub fn $r1<X: RealNumeric>(x: X) -> X::Out {
                    x.real1(Real1::$R1)
                }
            )*
            $(
                #[track_caller]
                pub fn $r2<X: RealCommon<Y>, Y>(x: X, y: Y) -> X::Out {
                    x.real2(Real2::$R2, y)
                }
            )*
            pub fn log<X: Numeric>(x: X) -> X::Out {
                ln(x)
            }
            pub fn digamma<X: RealNumeric>(x: X) -> X::Out {
                x.polygamma_(0)
            }
            pub fn polygamma<X: RealNumeric>(n: i64, x: X) -> X::Out {
                x.polygamma_(n)
            }
            pub fn abs<X: Parts>(x: X) -> X::Real {
                x.abs_()
            }
            pub fn abs2<X: Parts>(x: X) -> X::Real {
                x.abs2_()
            }
            pub fn re<X: Parts>(x: X) -> X::Real {
                x.re_()
            }
            pub fn im<X: Parts>(z: X) -> X::Real {
                z.im_()
            }
            pub fn arg<X: Parts>(z: X) -> X::Real {
                z.arg_()
            }
            pub fn conj<X: Parts>(z: X) -> X::Complex {
                z.conj_()
            }
            #[track_caller]
            pub fn complex<S: Number, X: Assembled<S, Y>, Y>(a: X, b: Y) -> X::Out {
                a.assembled(b)
            }
            pub fn real<S: Number, X: Whole<S>>(n: X) -> X::Out {
                n.whole()
            }
            #[track_caller]
            pub fn cmp<S: Number, X: Compared<S, Y>, Y>(n: X, m: Y) -> X::Out {
                n.compared(m)
            }
            #[track_caller]
            pub fn pow<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Pow, y)
            }
            #[track_caller]
            pub fn scale<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Scale, y)
            }
            #[track_caller]
            pub fn guard<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Guard, y)
            }
            pub fn powi<X: Power>(x: X, n: i64) -> X::Out {
                x.power(n)
            }
            #[track_caller]
            pub fn min<X: MinMax<Y>, Y>(x: X, y: Y) -> X::Out {
                x.min_(y)
            }
            #[track_caller]
            pub fn max<X: MinMax<Y>, Y>(x: X, y: Y) -> X::Out {
                x.max_(y)
            }
            pub fn select<X: Either<Y>, Y>(c: bool, x: X, y: Y) -> X::Out {
                X::either(c, x, y)
            }
            pub fn len<X: Items>(xs: X) -> i64 {
                length(xs.items().len())
            }
            pub fn sum<X: Items>(xs: X) -> X::Item
            where
                X::Item: Sum,
            {
                X::Item::total(xs.items())
            }
        }

        impl<S: Number> N<S> {
            $(
                #[inline]
                pub fn $n1(self) -> N<S> {
                    self.number1(Number1::$N1)
                }
            )*
            $(
                pub fn $r1(self) -> N<S> {
                    on_real(Real1::$R1, self)
                }
            )*
            $(
                pub fn $r2(self, y: impl Fit<N<S>>) -> N<S> {
                    on_reals(Real2::$R2, self, y.fit())
                }
            )*
            pub fn digamma(self) -> N<S> {
                self.polygamma_(0)
            }
            pub fn min(self, y: impl Fit<N<S>>) -> N<S> {
                on_reals(Real2::Min, self, y.fit())
            }
            pub fn max(self, y: impl Fit<N<S>>) -> N<S> {
                on_reals(Real2::Max, self, y.fit())
            }
        }
        impl<S: Number> Z<S> {
            $(
                #[inline]
                pub fn $n1(self) -> Z<S> {
                    self.number1(Number1::$N1)
                }
            )*
            pub fn im(self) -> N<S> {
                N(self.0.im)
            }
            pub fn arg(self) -> N<S> {
                N(self.0.im.atan2(&self.0.re))
            }
            pub fn conj(self) -> Z<S> {
                Z(Conj::conj(&self.0))
            }
        }
        functions! { @both N }
        functions! { @both Z }
        impl<E: Element> Arr<E> {
            $(
                pub fn $n1(&self) -> Arr<E> {
                    Numeric::number1(self, Number1::$N1)
                }
            )*
            pub fn log(&self) -> Arr<E> {
                self.ln()
            }
            pub fn abs(&self) -> Arr<N<E::Number>> {
                self.abs_()
            }
            pub fn abs2(&self) -> Arr<N<E::Number>> {
                self.abs2_()
            }
            pub fn re(&self) -> Arr<N<E::Number>> {
                self.re_()
            }
            pub fn im(&self) -> Arr<N<E::Number>> {
                self.im_()
            }
            pub fn arg(&self) -> Arr<N<E::Number>> {
                self.arg_()
            }
            pub fn conj(&self) -> Arr<Z<E::Number>> {
                self.conj_()
            }
            pub fn powi(&self, n: i64) -> Arr<E> {
                Power::power(self, n)
            }
            #[track_caller]
            pub fn pow<R: Beside<E>>(&self, y: R) -> Arr<R::Out> {
                self.number2(Number2::Pow, y)
            }
        }
        impl<S: Number> Arr<N<S>> {
            $(
                pub fn $r1(&self) -> Arr<N<S>> {
                    RealNumeric::real1(self, Real1::$R1)
                }
            )*
            $(
                #[track_caller]
                pub fn $r2<R: Beside<N<S>, Out = N<S>>>(&self, y: R) -> Arr<N<S>> {
                    RealCommon::real2(self, Real2::$R2, y)
                }
            )*
            pub fn digamma(&self) -> Arr<N<S>> {
                self.polygamma_(0)
            }
            #[track_caller]
            pub fn min<R: Beside<N<S>, Out = N<S>>>(&self, y: R) -> Arr<N<S>> {
                MinMax::min_(self, y)
            }
            #[track_caller]
            pub fn max<R: Beside<N<S>, Out = N<S>>>(&self, y: R) -> Arr<N<S>> {
                MinMax::max_(self, y)
            }
        }
    };
    (@both $W:ident) => {
        impl<S: Number> $W<S> {
            pub fn log(self) -> $W<S> {
                self.ln()
            }
            pub fn abs(self) -> N<S> {
                self.abs_()
            }
            pub fn abs2(self) -> N<S> {
                self.abs2_()
            }
            pub fn re(self) -> N<S> {
                self.re_()
            }
            pub fn powi(self, n: i64) -> $W<S> {
                self.power(n)
            }
            pub fn pow<Y>(self, y: Y) -> <Self as Common<Y>>::Out
            where
                Self: Common<Y>,
            {
                self.number2(Number2::Pow, y)
            }
        }
    };
}
for_each_function!(functions);
