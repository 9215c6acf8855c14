//! The functions of the language on handles, as functions `sin(x)` and as methods `x.sin()`.

use super::*;

/// A number, or a literal that is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real or complex number",
    label = "expected a real or complex number",
    note = "an int becomes a real number by `real(n)`"
)]
pub trait Numeric: Operand {
    /// Its kind.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
impl Numeric for Ex<f64> {
    type Kind = f64;
}
impl Numeric for Ex<C> {
    type Kind = C;
}
impl Numeric for f64 {
    type Kind = f64;
}
impl Numeric for i64 {
    type Kind = f64;
}
/// The kinds of numbers: real and complex.
pub trait NumberKind: Shape<Staged = Ex<Self>> + Sized {}
impl NumberKind for f64 {}
impl NumberKind for C {}

/// Two values of which `select` chooses one.
#[diagnostic::on_unimplemented(message = "`select` cannot choose between `{Self}` and `{R}`")]
pub trait Either<R>: Operand {
    /// What it gives.
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
    (bool, Ex<bool>) bool; (bool, bool) bool; (Ex<Vec<f64>>, Ex<Vec<f64>>) Vec<f64>;
    (Ex<Vec<C>>, Ex<Vec<C>>) Vec<C>; (Ex<Vec<i64>>, Ex<Vec<i64>>) Vec<i64>;
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
            $(
                #[track_caller]
                pub fn $n1<X: Numeric>(x: X) -> Ex<X::Kind> {
                    builtin(Builtin::Number1(Number1::$N1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r1(x: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real1(Real1::$R1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2(x: impl Fit<Ex<f64>>, y: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real2(Real2::$R2), &[x.given(None), y.given(None)])
                }
            )*
            #[track_caller]
            pub fn log<X: Numeric>(x: X) -> Ex<X::Kind> {
                ln(x)
            }
            #[track_caller]
            pub fn abs(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Abs, &[x.given(None)])
            }
            #[track_caller]
            pub fn abs2(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Abs2, &[x.given(None)])
            }
            #[track_caller]
            pub fn re(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Re, &[x.given(None)])
            }
            #[track_caller]
            pub fn im(z: impl Fit<Ex<C>>) -> Ex<f64> {
                builtin(Builtin::Im, &[z.given(None)])
            }
            #[track_caller]
            pub fn arg(z: impl Fit<Ex<C>>) -> Ex<f64> {
                builtin(Builtin::Arg, &[z.given(None)])
            }
            #[track_caller]
            pub fn conj(z: impl Fit<Ex<C>>) -> Ex<C> {
                builtin(Builtin::Conj, &[z.given(None)])
            }
            #[track_caller]
            pub fn complex(a: impl Fit<Ex<f64>>, b: impl Fit<Ex<f64>>) -> Ex<C> {
                builtin(Builtin::Complex, &[a.given(None), b.given(None)])
            }
            #[track_caller]
            pub fn real(n: impl Whole) -> Ex<f64> {
                builtin(Builtin::Real, &[n.given(None)])
            }
            #[track_caller]
            pub fn pow<X: Common<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Number2(Number2::Pow), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn scale<X: Common<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Number2(Number2::Scale), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn powi<X: Numeric>(x: X, n: impl Fit<Ex<i64>>) -> Ex<X::Kind> {
                builtin(Builtin::Powi, &[x.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn min<X: Alike<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn max<X: Alike<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn select<X: Either<Y>, Y: Operand>(c: impl Fit<Ex<bool>>, x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Select, &[c.given(None), x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn len<E>(xs: impl Bind<Out = Ex<Vec<E>>>) -> Ex<i64> {
                builtin(Builtin::Len, &[xs.given(None)])
            }
            #[track_caller]
            pub fn sum<E: NumberKind>(xs: impl Bind<Out = Ex<Vec<E>>>) -> Ex<E> {
                builtin(Builtin::Sum, &[xs.given(None)])
            }
        }
        use crate::core::ir::Int2;

        impl<K: NumberKind> Ex<K> {
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
            pub fn abs(self) -> Ex<f64> {
                builtin(Builtin::Abs, &[self.given(None)])
            }
            #[track_caller]
            pub fn abs2(self) -> Ex<f64> {
                builtin(Builtin::Abs2, &[self.given(None)])
            }
            #[track_caller]
            pub fn re(self) -> Ex<f64> {
                builtin(Builtin::Re, &[self.given(None)])
            }
            #[track_caller]
            pub fn powi(self, n: impl Fit<Ex<i64>>) -> Ex<K> {
                builtin(Builtin::Powi, &[self.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn pow<Y: Operand>(self, y: Y) -> Ex<<Self as Common<Y>>::Kind> where Self: Common<Y> {
                builtin(Builtin::Number2(Number2::Pow), &[self.given(None), y.given(None)])
            }
        }
        impl Ex<f64> {
            $(
                #[track_caller]
                pub fn $r1(self) -> Ex<f64> {
                    builtin(Builtin::Real1(Real1::$R1), &[self.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2(self, y: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real2(Real2::$R2), &[self.given(None), y.given(None)])
                }
            )*
        }
    };
}
for_each_function!(functions);

impl Ex<C> {
    #[track_caller]
    pub fn im(self) -> Ex<f64> {
        builtin(Builtin::Im, &[self.given(None)])
    }
    #[track_caller]
    pub fn arg(self) -> Ex<f64> {
        builtin(Builtin::Arg, &[self.given(None)])
    }
    #[track_caller]
    pub fn conj(self) -> Ex<C> {
        builtin(Builtin::Conj, &[self.given(None)])
    }
}
impl<K> Ex<K> {
    #[track_caller]
    pub fn min<Y: Operand>(self, y: Y) -> Ex<<Self as Alike<Y>>::Kind>
    where
        Self: Alike<Y>,
    {
        builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[self.given(None), y.given(None)])
    }
    #[track_caller]
    pub fn max<Y: Operand>(self, y: Y) -> Ex<<Self as Alike<Y>>::Kind>
    where
        Self: Alike<Y>,
    {
        builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[self.given(None), y.given(None)])
    }
}
impl<E> Ex<Vec<E>>
where
    Vec<E>: Shape<Staged = Ex<Vec<E>>>,
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
/// What `real(n)` takes: an int, or a number that is real already.
pub trait Whole: Operand {}
impl Whole for Ex<i64> {}
impl Whole for Ex<f64> {}
impl Whole for i64 {}
impl Whole for f64 {}
