//! The functions of the language on native values, as functions and as methods.

use super::*;

/// A number or a literal that is one.
pub trait Numeric: Sized {
    /// A number of the same kind; on literals an `f64`, which rustc computes with.
    type Out;
    /// An operation on it.
    fn number1(self, op: Number1) -> Self::Out;
}
/// Two numbers and what they make together.
pub trait Common<R>: Sized {
    /// It.
    type Out;
    /// An operation on them.
    fn number2(self, op: Number2, other: R) -> Self::Out;
}
impl<S: Number> Numeric for N<S> {
    type Out = N<S>;
    #[inline]
    fn number1(self, op: Number1) -> N<S> {
        N(op.value(&self.0))
    }
}
impl<S: Number> Numeric for Z<S> {
    type Out = Z<S>;
    #[inline]
    fn number1(self, op: Number1) -> Z<S> {
        Z(op.value(&self.0))
    }
}
impl Numeric for f64 {
    type Out = f64;
    fn number1(self, op: Number1) -> f64 {
        op.value(&self)
    }
}
impl Numeric for i64 {
    type Out = f64;
    fn number1(self, op: Number1) -> f64 {
        op.value(&(self as f64))
    }
}
macro_rules! common {
    ($([$($g:tt)*] $A:ty, $B:ty => $T:ty, $W:ident;)*) => {$(
        impl<$($g)*> Common<$B> for $A {
            type Out = $T;
            #[inline]
            fn number2(self, op: Number2, other: $B) -> $T {
                let (a, b): ($T, $T) = (self.fit(), other.fit());
                $W(op.value(&a.0, &b.0))
            }
        }
    )*};
}
common! {
    [S: Number] N<S>, N<S> => N<S>, N; [S: Number] N<S>, f64 => N<S>, N; [S: Number] f64, N<S> => N<S>, N;
    [S: Number] N<S>, i64 => N<S>, N; [S: Number] i64, N<S> => N<S>, N; [S: Number] Z<S>, Z<S> => Z<S>, Z;
    [S: Number] Z<S>, N<S> => Z<S>, Z; [S: Number] N<S>, Z<S> => Z<S>, Z; [S: Number] Z<S>, f64 => Z<S>, Z;
    [S: Number] f64, Z<S> => Z<S>, Z; [S: Number] Z<S>, i64 => Z<S>, Z; [S: Number] i64, Z<S> => Z<S>, Z;
}
macro_rules! common_literals {
    ($($A:ty, $B:ty;)*) => {$(
        impl Common<$B> for $A {
            type Out = f64;
            fn number2(self, op: Number2, other: $B) -> f64 {
                op.value(&(self as f64), &(other as f64))
            }
        }
    )*};
}
common_literals! { f64, f64; f64, i64; i64, f64; i64, i64; }

/// What every kind of number can do, besides the functions of one number.
pub trait Parts {
    /// Its real numbers.
    type Real;
    /// Its complex numbers.
    type Complex;
    /// The modulus.
    fn abs_(self) -> Self::Real;
    /// Its square.
    fn abs2_(self) -> Self::Real;
    /// The real part.
    fn re_(self) -> Self::Real;
    /// The imaginary part.
    fn im_(self) -> Self::Real;
    /// The angle.
    fn arg_(self) -> Self::Real;
    /// The complex conjugate.
    fn conj_(self) -> Self::Complex;
}
impl<S: Number> Parts for N<S> {
    type Real = N<S>;
    type Complex = Z<S>;
    fn im_(self) -> N<S> {
        N(complex(self.0).im)
    }
    fn arg_(self) -> N<S> {
        Parts::arg_(Z(complex(self.0)))
    }
    fn conj_(self) -> Z<S> {
        Z(Conj::conj(&complex(self.0)))
    }
    fn abs_(self) -> N<S> {
        on_real(Real1::Abs, self)
    }
    fn abs2_(self) -> N<S> {
        self * self
    }
    fn re_(self) -> N<S> {
        self
    }
}
impl<S: Number> Parts for Z<S> {
    type Real = N<S>;
    type Complex = Z<S>;
    fn im_(self) -> N<S> {
        N(self.0.im)
    }
    fn arg_(self) -> N<S> {
        N(self.0.im.atan2(&self.0.re))
    }
    fn conj_(self) -> Z<S> {
        Z(Conj::conj(&self.0))
    }
    fn abs_(self) -> N<S> {
        N(self.0.re.hypot(&self.0.im))
    }
    fn abs2_(self) -> N<S> {
        N(Scalar::abs2(&self.0))
    }
    fn re_(self) -> N<S> {
        N(self.0.re)
    }
}
impl Parts for f64 {
    type Real = f64;
    type Complex = Complex<f64>;
    fn im_(self) -> f64 {
        0.0
    }
    fn arg_(self) -> f64 {
        0.0f64.atan2(self)
    }
    fn conj_(self) -> Complex<f64> {
        complex(self)
    }
    fn abs_(self) -> f64 {
        self.abs()
    }
    fn abs2_(self) -> f64 {
        self * self
    }
    fn re_(self) -> f64 {
        self
    }
}

/// A number of type [`Number`] decides every comparison, so an op on it has a value.
fn on_real<S: Number>(op: Real1, x: N<S>) -> N<S> {
    N(op.value(&x.0).unwrap_or(x.0))
}
fn on_reals<S: Number>(op: Real2, x: N<S>, y: N<S>) -> N<S> {
    N(op.value(&x.0, &y.0).unwrap_or(x.0))
}

/// A real number or a literal that is one; the staged body refuses complex numbers.
pub trait RealNumeric {
    /// A real number; on literals an `f64`.
    type Out;
    /// An operation on it.
    fn real1(self, op: Real1) -> Self::Out;
}
impl<S: Number> RealNumeric for N<S> {
    type Out = N<S>;
    fn real1(self, op: Real1) -> N<S> {
        on_real(op, self)
    }
}
impl<S: Number> RealNumeric for Z<S> {
    type Out = N<S>;
    fn real1(self, _: Real1) -> N<S> {
        N(self.0.re)
    }
}
impl RealNumeric for f64 {
    type Out = f64;
    fn real1(self, op: Real1) -> f64 {
        on_real(op, N(self)).0
    }
}
impl RealNumeric for i64 {
    type Out = f64;
    fn real1(self, op: Real1) -> f64 {
        on_real(op, N(self as f64)).0
    }
}

/// Two real numbers.
pub trait RealCommon<R> {
    /// What they make together.
    type Out;
    /// An operation on them.
    fn real2(self, op: Real2, other: R) -> Self::Out;
}
/// What `complex` takes.
pub trait Assembled<S, R> {
    /// What it gives.
    type Out;
    /// The complex number of a real and an imaginary part.
    fn assembled(self, other: R) -> Self::Out;
}
macro_rules! real_common {
    ($($A:ty, $B:ty;)*) => {$(
        impl<S: Number> RealCommon<$B> for $A {
            type Out = N<S>;
            fn real2(self, op: Real2, other: $B) -> N<S> {
                on_reals(op, self.fit(), other.fit())
            }
        }
        impl<S: Number> Assembled<S, $B> for $A {
            type Out = Z<S>;
            fn assembled(self, other: $B) -> Z<S> {
                let (re, im): (N<S>, N<S>) = (self.fit(), other.fit());
                Z(from_parts(re.0, im.0))
            }
        }
    )*};
    (@literals $($A:ty, $B:ty;)*) => {$(
        impl RealCommon<$B> for $A {
            type Out = f64;
            fn real2(self, op: Real2, other: $B) -> f64 {
                on_reals(op, N(self as f64), N(other as f64)).0
            }
        }
        impl<S: Number> Assembled<S, $B> for $A {
            type Out = Z<S>;
            fn assembled(self, other: $B) -> Z<S> {
                Z(from_parts(S::lit(self as f64), S::lit(other as f64)))
            }
        }
    )*};
}
real_common! { N<S>, N<S>; N<S>, f64; f64, N<S>; N<S>, i64; i64, N<S>; }
real_common! { @literals f64, f64; f64, i64; i64, f64; i64, i64; }

/// Exponents beyond the range of `i32` give what that range's end gives.
fn exponent(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX })
}

/// `x^n`
pub trait Power {
    /// What it gives.
    type Out;
    /// The power.
    fn power(self, n: i64) -> Self::Out;
}
impl<S: Number> Power for N<S> {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        N(self.0.powi(exponent(n)))
    }
}
impl<S: Number> Power for Z<S> {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        Z(Scalar::powi(&self.0, exponent(n)))
    }
}
impl Power for f64 {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        self.powi(exponent(n))
    }
}

/// The lesser and the greater of two.
pub trait MinMax<R> {
    /// One of them.
    type Out;
    /// The lesser one.
    fn min_(self, other: R) -> Self::Out;
    /// The greater one.
    fn max_(self, other: R) -> Self::Out;
}
macro_rules! min_max {
    ($($A:ty, $B:ty;)*) => {$(
        impl<S: Number> MinMax<$B> for $A {
            type Out = N<S>;
            fn min_(self, other: $B) -> N<S> {
                on_reals(Real2::Min, self.fit(), other.fit())
            }
            fn max_(self, other: $B) -> N<S> {
                on_reals(Real2::Max, self.fit(), other.fit())
            }
        }
    )*};
}
min_max! { N<S>, N<S>; N<S>, f64; f64, N<S>; N<S>, i64; i64, N<S>; }
impl MinMax<i64> for i64 {
    type Out = i64;
    fn min_(self, other: i64) -> i64 {
        self.min(other)
    }
    fn max_(self, other: i64) -> i64 {
        self.max(other)
    }
}

/// Two values of which `select` chooses one.
pub trait Either<R> {
    /// One of them.
    type Out;
    /// The first if the condition holds, else the second.
    fn either(condition: bool, a: Self, b: R) -> Self::Out;
}
macro_rules! either {
    ($([$($g:tt)*] $A:ty, $B:ty => $T:ty;)*) => {$(
        impl<$($g)*> Either<$B> for $A {
            type Out = $T;
            fn either(condition: bool, a: $A, b: $B) -> $T {
                if condition { a.fit() } else { b.fit() }
            }
        }
    )*};
}
either! {
    [S: Number] N<S>, N<S> => N<S>; [S: Number] N<S>, f64 => N<S>; [S: Number] f64, N<S> => N<S>;
    [S: Number] N<S>, i64 => N<S>; [S: Number] i64, N<S> => N<S>; [S: Number] Z<S>, Z<S> => Z<S>;
    [S: Number] Z<S>, N<S> => Z<S>; [S: Number] N<S>, Z<S> => Z<S>; [S: Number] Z<S>, f64 => Z<S>;
    [S: Number] f64, Z<S> => Z<S>; [S: Number] Z<S>, i64 => Z<S>; [S: Number] i64, Z<S> => Z<S>;
    [] i64, i64 => i64; [] bool, bool => bool; [T] Arr<T>, Arr<T> => Arr<T>;
    [T: Clone] &Arr<T>, &Arr<T> => Arr<T>; [T: Clone] Arr<T>, &Arr<T> => Arr<T>; [T: Clone] &Arr<T>, Arr<T> => Arr<T>;
}
impl Either<f64> for f64 {
    type Out = f64;
    fn either(condition: bool, a: f64, b: f64) -> f64 {
        if condition { a } else { b }
    }
}

/// What `real(n)` takes.
pub trait Whole<S> {
    /// What it gives.
    type Out;
    /// It as a real number.
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

/// An array, looked at.
pub trait Items {
    /// Its elements.
    type Item;
    /// All of them.
    fn items(&self) -> &[Self::Item];
    /// The length along each axis.
    fn shape(&self) -> crate::core::array::Shape;
}
impl<T> Items for Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
    fn shape(&self) -> crate::core::array::Shape {
        self.0.shape()
    }
}
impl<T> Items for &Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
    fn shape(&self) -> crate::core::array::Shape {
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
            fn shape(&self) -> crate::core::array::Shape {
                crate::core::array::Shape::from_slice(&[M])
            }
        }
    )*};
}
written! { [S,] N<S>; [S,] Z<S>; [] f64; [] i64; }
/// The sum in the order of the executor.
fn summed<S: Ring>(items: impl Iterator<Item = S>) -> S {
    crate::core::array::sum(&items.collect::<Vec<_>>())
}

/// Numbers that can be summed.
pub trait Sum: Copy {
    /// The sum.
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
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        length(self.0.len())
    }
    /// The length along each axis.
    #[must_use]
    pub fn shape(&self) -> Arr<i64> {
        array_functions::shape(self)
    }
    /// The length along an axis.
    #[must_use]
    #[track_caller]
    pub fn dim(&self, axis: impl Fit<i64>) -> i64 {
        array_functions::dim(self, axis)
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The sum of the elements.
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
            pub fn pow<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Pow, y)
            }
            #[track_caller]
            pub fn scale<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Scale, y)
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

/// `a + b i`, computed as the executor of the IR does.
fn from_parts<S: Number>(re: S, im: S) -> Complex<S> {
    let real = complex(re);
    if im.is_exact_zero() {
        return real;
    }
    real + Scalar::sqrt(&<Complex<S> as Scalar>::int(-1)) * complex(im)
}
