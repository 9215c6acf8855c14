//! The functions of the language on handles, as functions `sin(x)` and as methods `x.sin()`.

use super::*;

/// A number, a literal that is one, or an array of numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real or complex number",
    label = "expected a real or complex number, or an array of such",
    note = "an int becomes a real number by `real(n)`"
)]
pub trait Numeric: Operand {
    /// Kind of the value.
    type Kind: Numbers;
}
macro_rules! numeric {
    ($($X:ty => $K:ty;)*) => {$( impl Numeric for $X { type Kind = $K; } )*};
}
numeric! {
    Ex<f64> => f64; Ex<C> => C; f64 => f64; i64 => f64; Ex<Array<f64>> => Array<f64>; Ex<Array<C>> => Array<C>;
    &Ex<Array<f64>> => Array<f64>; &Ex<Array<C>> => Array<C>;
}
impl<X: Entry, const M: usize> Numeric for [X; M] {
    type Kind = <X::Element as Single>::Array;
}

/// The kinds of real and complex numbers, and of arrays of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real or complex number",
    label = "expected a real or complex number, or an array of such"
)]
pub trait Numbers: Shape<Staged = Ex<Self>> + Sized {
    /// The kind of the real parts.
    type Real: Shape<Staged = Ex<Self::Real>>;
    /// The kind of complex numbers with these real parts.
    type Complex: Shape<Staged = Ex<Self::Complex>>;
}
impl Numbers for f64 {
    type Real = f64;
    type Complex = C;
}
impl Numbers for C {
    type Real = f64;
    type Complex = C;
}
impl Numbers for Array<f64> {
    type Real = Array<f64>;
    type Complex = Array<C>;
}
impl Numbers for Array<C> {
    type Real = Array<f64>;
    type Complex = Array<C>;
}
/// The kinds of real numbers and of arrays of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not real",
    label = "expected a real number, or an array of such",
    note = "`re`, `im`, `abs` or `abs2` make a complex number real"
)]
pub trait RealNumbers: Numbers<Real = Self> {}
impl RealNumbers for f64 {}
impl RealNumbers for Array<f64> {}
/// The kinds of single numbers: real and complex.
pub trait NumberKind: Numbers {}
impl NumberKind for f64 {}
impl NumberKind for C {}

/// Common kind of two kinds: complex if one is, an array if one is.
pub trait Join<K>: Numbers {
    /// Common kind.
    type Out: Numbers;
}
macro_rules! joins {
    ($($A:ty, $B:ty => $Out:ty;)*) => {$( impl Join<$B> for $A { type Out = $Out; } )*};
}
joins! {
    f64, f64 => f64; f64, C => C; C, f64 => C; C, C => C;
    f64, Array<f64> => Array<f64>; f64, Array<C> => Array<C>; C, Array<f64> => Array<C>; C, Array<C> => Array<C>;
    Array<f64>, f64 => Array<f64>; Array<C>, f64 => Array<C>; Array<f64>, C => Array<C>; Array<C>, C => Array<C>;
    Array<f64>, Array<f64> => Array<f64>; Array<f64>, Array<C> => Array<C>;
    Array<C>, Array<f64> => Array<C>; Array<C>, Array<C> => Array<C>;
}
/// The kind of a number.
pub type KindOf<X> = <X as Numeric>::Kind;
/// The kind of two numbers together.
pub type Together<X, Y> = <KindOf<X> as Join<KindOf<Y>>>::Out;

/// Two real numbers or ints of which `min` and `max` choose one; or arrays of real numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` cannot be compared in a program",
    label = "expected two real numbers or two ints, or arrays of real numbers",
    note = "an int meets a real number through `real(n)`; compare `re`, `im` or `abs2` of complex numbers"
)]
pub trait Extremes<R>: Operand {
    /// The kind of them.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
impl<X: Alike<R>, R> Extremes<R> for X {
    type Kind = X::Kind;
}
macro_rules! extremes {
    ($($A:ty, $B:ty;)*) => {$(
        impl Extremes<$B> for $A { type Kind = Array<f64>; }
        impl Extremes<$A> for $B { type Kind = Array<f64>; }
    )*};
    (alike $($A:ty, $B:ty;)*) => {$( impl Extremes<$B> for $A { type Kind = Array<f64>; } )*};
}
extremes! {
    Ex<Array<f64>>, Ex<f64>; Ex<Array<f64>>, f64; Ex<Array<f64>>, i64; Ex<Array<f64>>, &Ex<Array<f64>>;
    &Ex<Array<f64>>, Ex<f64>; &Ex<Array<f64>>, f64; &Ex<Array<f64>>, i64;
}
extremes! { alike Ex<Array<f64>>, Ex<Array<f64>>; &Ex<Array<f64>>, &Ex<Array<f64>>; }

/// Two values of which `select` chooses one.
#[diagnostic::on_unimplemented(message = "`select` cannot choose between `{Self}` and `{R}`")]
pub trait Either<R>: Operand {
    /// Kind of the result.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
macro_rules! either {
    ($(($A:ty, $B:ty) $K:ty;)*) => {$( impl Either<$B> for $A { type Kind = $K; } )*};
}
either! {
    (Ex<f64>, Ex<f64>) f64; (Ex<f64>, f64) f64; (f64, Ex<f64>) f64; (Ex<f64>, i64) f64; (i64, Ex<f64>) f64;
    (f64, f64) f64; (f64, i64) f64; (i64, f64) f64; (i64, i64) i64; (Ex<i64>, Ex<i64>) i64; (Ex<i64>, i64) i64;
    (i64, Ex<i64>) i64; (Ex<C>, Ex<C>) C; (Ex<C>, Ex<f64>) C; (Ex<f64>, Ex<C>) C; (Ex<C>, f64) C;
    (f64, Ex<C>) C; (Ex<C>, i64) C; (i64, Ex<C>) C; (Ex<bool>, Ex<bool>) bool; (Ex<bool>, bool) bool;
    (bool, Ex<bool>) bool; (bool, bool) bool; (Ex<Array<f64>>, Ex<Array<f64>>) Array<f64>;
    (Ex<Array<C>>, Ex<Array<C>>) Array<C>; (Ex<Array<i64>>, Ex<Array<i64>>) Array<i64>;
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
                #[track_caller]
                pub fn $n1<X: Numeric>(x: X) -> Ex<X::Kind> {
                    builtin(Builtin::Number1(Number1::$N1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r1<X: Numeric<Kind: RealNumbers>>(x: X) -> Ex<X::Kind> {
                    builtin(Builtin::Real1(Real1::$R1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2<X: Numeric, Y: Numeric<Kind: RealNumbers>>(x: X, y: Y) -> Ex<Together<X, Y>>
                where
                    X::Kind: RealNumbers + Join<Y::Kind>,
                {
                    builtin(Builtin::Real2(Real2::$R2), &[x.given(None), y.given(None)])
                }
            )*
            #[track_caller]
            pub fn log<X: Numeric>(x: X) -> Ex<X::Kind> {
                ln(x)
            }
            #[track_caller]
            pub fn digamma<X: Numeric<Kind: RealNumbers>>(x: X) -> Ex<X::Kind> {
                builtin(Builtin::Digamma, &[x.given(None)])
            }
            #[track_caller]
            pub fn polygamma<X: Numeric<Kind: RealNumbers>>(n: impl Fit<Ex<i64>>, x: X) -> Ex<X::Kind> {
                builtin(Builtin::Polygamma, &[n.given(None), x.given(None)])
            }
            #[track_caller]
            pub fn abs<X: Numeric>(x: X) -> Ex<<X::Kind as Numbers>::Real> {
                builtin(Builtin::Abs, &[x.given(None)])
            }
            #[track_caller]
            pub fn abs2<X: Numeric>(x: X) -> Ex<<X::Kind as Numbers>::Real> {
                builtin(Builtin::Abs2, &[x.given(None)])
            }
            #[track_caller]
            pub fn re<X: Numeric>(x: X) -> Ex<<X::Kind as Numbers>::Real> {
                builtin(Builtin::Re, &[x.given(None)])
            }
            #[track_caller]
            pub fn im<X: Numeric>(z: X) -> Ex<<X::Kind as Numbers>::Real> {
                builtin(Builtin::Im, &[z.given(None)])
            }
            #[track_caller]
            pub fn arg<X: Numeric>(z: X) -> Ex<<X::Kind as Numbers>::Real> {
                builtin(Builtin::Arg, &[z.given(None)])
            }
            #[track_caller]
            pub fn conj<X: Numeric>(z: X) -> Ex<<X::Kind as Numbers>::Complex> {
                builtin(Builtin::Conj, &[z.given(None)])
            }
            #[track_caller]
            pub fn complex<X: Numeric, Y: Numeric<Kind: RealNumbers>>(
                a: X,
                b: Y,
            ) -> Ex<<Together<X, Y> as Numbers>::Complex>
            where
                X::Kind: RealNumbers + Join<Y::Kind>,
            {
                builtin(Builtin::Complex, &[a.given(None), b.given(None)])
            }
            #[track_caller]
            pub fn real<X: Whole>(n: X) -> Ex<X::Kind> {
                builtin(Builtin::Real, &[n.given(None)])
            }
            #[track_caller]
            pub fn cmp<X: Ordinal, Y: Ordinal>(n: X, m: Y) -> Ex<<X::Kind as Join<Y::Kind>>::Out>
            where
                X::Kind: Join<Y::Kind>,
            {
                builtin(Builtin::Mixed(Mixed::Cmp), &[n.given(None), m.given(None)])
            }
            #[track_caller]
            pub fn pow<X: Numeric, Y: Numeric>(x: X, y: Y) -> Ex<Together<X, Y>>
            where
                X::Kind: Join<Y::Kind>,
            {
                builtin(Builtin::Number2(Number2::Pow), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn scale<X: Numeric, Y: Numeric>(x: X, y: Y) -> Ex<Together<X, Y>>
            where
                X::Kind: Join<Y::Kind>,
            {
                builtin(Builtin::Number2(Number2::Scale), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn guard<X: Numeric, Y: Numeric>(x: X, y: Y) -> Ex<Together<X, Y>>
            where
                X::Kind: Join<Y::Kind>,
            {
                builtin(Builtin::Number2(Number2::Guard), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn powi<X: Numeric>(x: X, n: impl Fit<Ex<i64>>) -> Ex<X::Kind> {
                builtin(Builtin::Powi, &[x.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn min<X: Extremes<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn max<X: Extremes<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn select<X: Either<Y>, Y: Operand>(c: impl Fit<Ex<bool>>, x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Select, &[c.given(None), x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn len<E>(xs: impl Bind<Out = Ex<Array<E>>>) -> Ex<i64> {
                builtin(Builtin::Len, &[xs.given(None)])
            }
            #[track_caller]
            pub fn sum<E: NumberKind>(xs: impl Bind<Out = Ex<Array<E>>>) -> Ex<E> {
                builtin(Builtin::Sum, &[xs.given(None)])
            }
        }
        use ketgrad_core::ir::Int2;

        impl<K: Numbers> Ex<K> {
            $(
                #[track_caller]
                pub fn $n1(self) -> Ex<K> {
                    builtin(Builtin::Number1(Number1::$N1), &[self.given(None)])
                }
            )*
            #[track_caller]
            pub fn log(self) -> Ex<K> {
                self.ln()
            }
            #[track_caller]
            pub fn abs(self) -> Ex<K::Real> {
                builtin(Builtin::Abs, &[self.given(None)])
            }
            #[track_caller]
            pub fn abs2(self) -> Ex<K::Real> {
                builtin(Builtin::Abs2, &[self.given(None)])
            }
            #[track_caller]
            pub fn re(self) -> Ex<K::Real> {
                builtin(Builtin::Re, &[self.given(None)])
            }
            #[track_caller]
            pub fn powi(self, n: impl Fit<Ex<i64>>) -> Ex<K> {
                builtin(Builtin::Powi, &[self.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn pow<Y: Numeric>(self, y: Y) -> Ex<<K as Join<Y::Kind>>::Out>
            where
                K: Join<Y::Kind>,
            {
                builtin(Builtin::Number2(Number2::Pow), &[self.given(None), y.given(None)])
            }
        }
        impl<K: RealNumbers> Ex<K> {
            #[track_caller]
            pub fn digamma(self) -> Ex<K> {
                builtin(Builtin::Digamma, &[self.given(None)])
            }
            $(
                #[track_caller]
                pub fn $r1(self) -> Ex<K> {
                    builtin(Builtin::Real1(Real1::$R1), &[self.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2<Y: Numeric<Kind: RealNumbers>>(self, y: Y) -> Ex<<K as Join<Y::Kind>>::Out>
                where
                    K: Join<Y::Kind>,
                {
                    builtin(Builtin::Real2(Real2::$R2), &[self.given(None), y.given(None)])
                }
            )*
        }
    };
}
for_each_function!(functions);

/// The kinds of complex numbers and of arrays of them.
pub trait ComplexNumbers: Numbers<Complex = Self> {}
impl ComplexNumbers for C {}
impl ComplexNumbers for Array<C> {}
impl<K: ComplexNumbers> Ex<K> {
    #[track_caller]
    pub fn im(self) -> Ex<K::Real> {
        builtin(Builtin::Im, &[self.given(None)])
    }
    #[track_caller]
    pub fn arg(self) -> Ex<K::Real> {
        builtin(Builtin::Arg, &[self.given(None)])
    }
    #[track_caller]
    pub fn conj(self) -> Ex<K> {
        builtin(Builtin::Conj, &[self.given(None)])
    }
}
impl<K> Ex<K> {
    #[track_caller]
    pub fn min<Y: Operand>(self, y: Y) -> Ex<<Self as Extremes<Y>>::Kind>
    where
        Self: Extremes<Y>,
    {
        builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[self.given(None), y.given(None)])
    }
    #[track_caller]
    pub fn max<Y: Operand>(self, y: Y) -> Ex<<Self as Extremes<Y>>::Kind>
    where
        Self: Extremes<Y>,
    {
        builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[self.given(None), y.given(None)])
    }
}
impl<E> Ex<Array<E>>
where
    Array<E>: Shape<Staged = Ex<Array<E>>>,
{
    #[track_caller]
    pub fn len(self) -> Ex<i64> {
        builtin(Builtin::Len, &[self.given(None)])
    }
    #[track_caller]
    pub fn sum(self) -> Ex<E>
    where
        E: NumberKind,
    {
        builtin(Builtin::Sum, &[self.given(None)])
    }
}
/// Argument of `real(n)`: an int, or a number that is real already; or an array of such.
#[diagnostic::on_unimplemented(message = "`real` takes an int or a real number, not `{Self}`")]
pub trait Whole: Operand {
    /// Kind of the result.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
macro_rules! whole {
    ($($X:ty => $K:ty;)*) => {$( impl Whole for $X { type Kind = $K; } )*};
}
whole! {
    Ex<i64> => f64; Ex<f64> => f64; i64 => f64; f64 => f64; Ex<Array<i64>> => Array<f64>; &Ex<Array<i64>> => Array<f64>;
    Ex<Array<f64>> => Array<f64>; &Ex<Array<f64>> => Array<f64>;
}

/// Argument of `cmp`: an int or an array of such.
#[diagnostic::on_unimplemented(message = "`cmp` takes ints or arrays of ints, not `{Self}`")]
pub trait Ordinal: Operand {
    /// Kind of the result for a single argument.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
macro_rules! ordinal {
    ($($X:ty => $K:ty;)*) => {$( impl Ordinal for $X { type Kind = $K; } )*};
}
ordinal! { Ex<i64> => f64; i64 => f64; Ex<Array<i64>> => Array<f64>; &Ex<Array<i64>> => Array<f64>; }
