//! The values that the native body of a `program!` computes with.
//!
//! A real number is an [`N<S>`], a complex one a [`Z<S>`], both transparent; ints and bools are Rust's. Each
//! operation is the one that the executor of the IR does, so both give the same bits; where a real number
//! meets a complex one it is promoted first, as there.
//!
//! An array is a `Vec`. A variable that never changes holds a reference to it and can be used any number of
//! times; one declared with `mut` owns it, and an expression that uses it as a whole moves it.
//!
//! The staged body sees the same expressions and is strict about kinds. So this side lets an int pass where a
//! real number is expected, and what is wrong is told once.

use std::{
    cmp::Ordering,
    ops::{Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign},
};

use num_complex::Complex;

use crate::core::{
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

/// An index into a table of the host. It is no integer type, so that an integer literal can only be an `i64`.
#[derive(Clone, Copy, Debug)]
pub struct Handle(pub u32);

/// An array.
#[derive(Clone, Debug)]
pub struct Arr<T>(pub Vec<T>);

// What becomes what.

/// What can be used as a value: a variable that is initialised with it owns an `Out`.
pub trait Bind<S> {
    /// The value.
    type Out;
    /// The value.
    fn bind(self) -> Self::Out;
}

/// What can stand where a `T` is expected.
pub trait Fit<T> {
    /// The value.
    fn fit(self) -> T;
}

/// `x` as a `T`.
pub fn fit<T, X: Fit<T>>(x: X) -> T {
    x.fit()
}

/// What an immutable variable holds: numbers as they are, arrays by reference.
pub trait Hold {
    /// It.
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
    [S: Number] f64 => N<S>: |x| N(S::lit(x));
    [S: Number] i64 => N<S>: |x| N(S::lit(x as f64));
    [S: Number] Z<S> => Z<S>: |x| x;
    [S: Number] N<S> => Z<S>: |x| Z(complex(x.0));
    [S: Number] f64 => Z<S>: |x| Z(complex(S::lit(x)));
    [S: Number] i64 => Z<S>: |x| Z(complex(S::lit(x as f64)));
    [] i64 => i64: |x| x;
    [] bool => bool: |x| x;
    [] Handle => Handle: |x| x;
    [T] Arr<T> => Arr<T>: |x| x;
    [T: Clone] &Arr<T> => Arr<T>: |x| x.clone();
    // The staged body refuses these; here they pass, so that what is wrong is told once. They never run.
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
    [T, X: Fit<T>, const M: usize] [X; M] => Arr<T>: |x| Arr(x.into_iter().map(Fit::fit).collect());
    [T: Clone, X: Fit<T>] Fill<X> => Arr<T>: |x| fill(x.0.fit(), x.1);
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
    [S, T] Arr<T> => Arr<T>;
    [S, T: Clone] &Arr<T> => Arr<T>;
}
impl<S, X: Bind<S>, const M: usize> Bind<S> for [X; M] {
    type Out = Arr<X::Out>;
    fn bind(self) -> Arr<X::Out> {
        Arr(self.into_iter().map(Bind::bind).collect())
    }
}
impl<S, X: Bind<S, Out: Clone>> Bind<S> for Fill<X> {
    type Out = Arr<X::Out>;
    fn bind(self) -> Arr<X::Out> {
        fill(self.0.bind(), self.1)
    }
}

/// `[x; n]`
#[derive(Clone, Copy, Debug)]
pub struct Fill<X>(pub X, pub i64);

/// `n` times `x`; a negative length is none.
fn fill<T: Clone>(x: T, n: i64) -> Arr<T> {
    Arr(vec![x; usize::try_from(n).unwrap_or(0)])
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

// Operators.

/// What may stand beside a real number: another one, or a literal.
pub trait RealOperand<S> {
    /// It.
    fn real(self) -> S;
}
impl<S> RealOperand<S> for N<S> {
    fn real(self) -> S {
        self.0
    }
}
impl<S: Number> RealOperand<S> for f64 {
    fn real(self) -> S {
        S::lit(self)
    }
}
impl<S: Number> RealOperand<S> for i64 {
    fn real(self) -> S {
        S::lit(self as f64)
    }
}

macro_rules! operators {
    ($($Op:ident $f:ident $Assign:ident $assign:ident;)*) => {$(
        operators! { @real $Op $f (N<S>, N<S>) (N<S>, f64) (N<S>, i64) (f64, N<S>) (i64, N<S>) }
        operators! {
            @complex $Op $f (Z<S>, Z<S>) (Z<S>, N<S>) (N<S>, Z<S>) (Z<S>, f64) (f64, Z<S>) (Z<S>, i64) (i64, Z<S>)
        }
        impl<S: Number, R> $Assign<R> for N<S>
        where
            N<S>: $Op<R, Output = N<S>>,
        {
            #[inline]
            fn $assign(&mut self, b: R) {
                *self = (*self).$f(b);
            }
        }
        impl<S: Number, R> $Assign<R> for Z<S>
        where
            Z<S>: $Op<R, Output = Z<S>>,
        {
            #[inline]
            fn $assign(&mut self, b: R) {
                *self = (*self).$f(b);
            }
        }
    )*};
    (@real $Op:ident $f:ident $(($A:ty, $B:ty))*) => {$(
        impl<S: Number> $Op<$B> for $A {
            type Output = N<S>;
            #[inline]
            fn $f(self, b: $B) -> N<S> {
                let (a, b): (S, S) = (self.real(), b.real());
                N(Number2::$Op.value(&a, &b))
            }
        }
    )*};
    (@complex $Op:ident $f:ident $(($A:ty, $B:ty))*) => {$(
        impl<S: Number> $Op<$B> for $A {
            type Output = Z<S>;
            #[inline]
            fn $f(self, b: $B) -> Z<S> {
                let (a, b): (Z<S>, Z<S>) = (self.fit(), b.fit());
                Z(Number2::$Op.value(&a.0, &b.0))
            }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

impl<S: Number> Neg for N<S> {
    type Output = N<S>;
    #[inline]
    fn neg(self) -> N<S> {
        N(-self.0)
    }
}
impl<S: Number> Neg for Z<S> {
    type Output = Z<S>;
    #[inline]
    fn neg(self) -> Z<S> {
        Z(-self.0)
    }
}

impl<T, I: Fit<i64>> Index<I> for Arr<T> {
    type Output = T;
    #[inline]
    #[track_caller]
    fn index(&self, i: I) -> &T {
        &self.0[place(i.fit())]
    }
}
impl<T, I: Fit<i64>> IndexMut<I> for Arr<T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.0[place(i.fit())]
    }
}

/// An index; a negative one is outside of every array.
#[inline]
fn place(i: i64) -> usize {
    usize::try_from(i).unwrap_or(usize::MAX)
}

// Conditions.

/// What can be compared with what.
pub trait Alike<R> {
    /// The order of the two; `None` where one is NaN.
    fn order(self, other: R) -> Option<Ordering>;
}
macro_rules! alike {
    ($([$($g:tt)*] $A:ty, $B:ty: |$a:ident, $b:ident| $e:expr;)*) => {$(
        impl<$($g)*> Alike<$B> for $A {
            #[inline]
            fn order(self, other: $B) -> Option<Ordering> {
                let ($a, $b) = (self, other);
                $e
            }
        }
    )*};
}
alike! {
    [S: Number] N<S>, N<S>: |a, b| a.0.cmp_primal(&b.0);
    [S: Number] N<S>, f64: |a, b| a.0.cmp_primal(&S::lit(b));
    [S: Number] f64, N<S>: |a, b| S::lit(a).cmp_primal(&b.0);
    [S: Number] N<S>, i64: |a, b| a.0.cmp_primal(&S::lit(b as f64));
    [S: Number] i64, N<S>: |a, b| S::lit(a as f64).cmp_primal(&b.0);
    [] i64, i64: |a, b| a.partial_cmp(&b);
    [] f64, f64: |a, b| a.partial_cmp(&b);
    [] f64, i64: |a, b| a.partial_cmp(&(b as f64));
    [] i64, f64: |a, b| (a as f64).partial_cmp(&b);
    // As above: only the staged body says that complex numbers have no order.
    [S: Number] Z<S>, Z<S>: |_a, _b| None;
    [S: Number] Z<S>, f64: |_a, _b| None;
    [S: Number] Z<S>, N<S>: |_a, _b| None;
}

/// A comparison outside of a condition: as above, the staged body refuses it.
impl<S: Number, R> PartialEq<R> for N<S> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}
impl<S: Number, R> PartialOrd<R> for N<S> {
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        None
    }
}
/// There is no operator for powers: as above.
impl<S: Number, R> std::ops::BitXor<R> for N<S> {
    type Output = N<S>;
    fn bitxor(self, _: R) -> N<S> {
        self
    }
}

/// A comparison in a condition.
#[inline]
pub fn compare<A: Alike<B>, B>(op: Compare, a: A, b: B) -> bool {
    op.holds(a.order(b))
}

/// A truth value in a condition.
#[inline]
pub fn truth(x: impl Fit<bool>) -> bool {
    x.fit()
}

// Built-in functions.

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
    /// The modulus.
    fn abs_(self) -> Self::Real;
    /// Its square.
    fn abs2_(self) -> Self::Real;
    /// The real part.
    fn re_(self) -> Self::Real;
}
impl<S: Number> Parts for N<S> {
    type Real = N<S>;
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

/// Exponents beyond the range of `i32` give what that range's end gives.
fn exponent(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX })
}

/// `x^n`
pub trait Power {
    /// The power.
    fn power(self, n: i64) -> Self;
}
impl<S: Number> Power for N<S> {
    fn power(self, n: i64) -> Self {
        N(self.0.powi(exponent(n)))
    }
}
impl<S: Number> Power for Z<S> {
    fn power(self, n: i64) -> Self {
        Z(Scalar::powi(&self.0, exponent(n)))
    }
}
impl Power for f64 {
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
    /// It as a real number.
    fn whole(self) -> N<S>;
}
impl<S: Number> Whole<S> for i64 {
    fn whole(self) -> N<S> {
        N(S::int(self))
    }
}
impl<S: Number> Whole<S> for f64 {
    fn whole(self) -> N<S> {
        N(S::lit(self))
    }
}
impl<S: Number> Whole<S> for N<S> {
    fn whole(self) -> N<S> {
        self
    }
}

/// An array, looked at.
pub trait Array {
    /// Its elements.
    type Item;
    /// All of them.
    fn items(&self) -> &[Self::Item];
}
impl<T> Array for Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
}
impl<T> Array for &Arr<T> {
    type Item = T;
    fn items(&self) -> &[T] {
        &self.0
    }
}
impl<T, const M: usize> Array for [T; M] {
    type Item = T;
    fn items(&self) -> &[T] {
        self
    }
}
/// Numbers that can be summed.
pub trait Sum: Copy {
    /// The sum.
    fn total(items: &[Self]) -> Self;
}
impl<S: Number> Sum for N<S> {
    fn total(items: &[Self]) -> Self {
        N(S::sum(items.iter().map(|x| x.0)))
    }
}
impl<S: Number> Sum for Z<S> {
    fn total(items: &[Self]) -> Self {
        Z(<Complex<S> as Ring>::sum(items.iter().map(|x| x.0)))
    }
}
impl<T> Arr<T> {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        i64::try_from(self.0.len()).unwrap_or(i64::MAX)
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
            $(
                #[inline]
                pub fn $n1<X: Numeric>(x: X) -> X::Out {
                    x.number1(Number1::$N1)
                }
            )*
            $(
                pub fn $r1<S: Number>(x: impl Fit<N<S>>) -> N<S> {
                    on_real(Real1::$R1, x.fit())
                }
            )*
            $(
                pub fn $r2<S: Number>(x: impl Fit<N<S>>, y: impl Fit<N<S>>) -> N<S> {
                    on_reals(Real2::$R2, x.fit(), y.fit())
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
            pub fn im<S: Number>(z: impl Fit<Z<S>>) -> N<S> {
                z.fit().im()
            }
            pub fn arg<S: Number>(z: impl Fit<Z<S>>) -> N<S> {
                z.fit().arg()
            }
            pub fn conj<S: Number>(z: impl Fit<Z<S>>) -> Z<S> {
                z.fit().conj()
            }
            pub fn complex<S: Number>(a: impl Fit<N<S>>, b: impl Fit<N<S>>) -> Z<S> {
                let (re, im): (N<S>, N<S>) = (a.fit(), b.fit());
                Z(from_parts(re.0, im.0))
            }
            pub fn real<S: Number>(n: impl Whole<S>) -> N<S> {
                n.whole()
            }
            pub fn pow<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Pow, y)
            }
            pub fn scale<X: Common<Y>, Y>(x: X, y: Y) -> X::Out {
                x.number2(Number2::Scale, y)
            }
            pub fn powi<X: Power>(x: X, n: i64) -> X {
                x.power(n)
            }
            pub fn min<X: MinMax<Y>, Y>(x: X, y: Y) -> X::Out {
                x.min_(y)
            }
            pub fn max<X: MinMax<Y>, Y>(x: X, y: Y) -> X::Out {
                x.max_(y)
            }
            pub fn select<X: Either<Y>, Y>(c: bool, x: X, y: Y) -> X::Out {
                X::either(c, x, y)
            }
            pub fn len<X: Array>(xs: X) -> i64 {
                i64::try_from(xs.items().len()).unwrap_or(i64::MAX)
            }
            pub fn sum<X: Array>(xs: X) -> X::Item
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
