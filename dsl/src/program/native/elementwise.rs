//! Operators and functions of numbers on native arrays, element by element.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{call::call, *};
use ketgrad_core::exec::Datum;

macro_rules! operators {
    ($($Op:ident $f:ident $Assign:ident $assign:ident;)*) => {$(
        impl<E: Element, R: Beside<E>> $Op<R> for Arr<E> {
            type Output = Arr<R::Out>;
            #[track_caller]
            fn $f(self, other: R) -> Arr<R::Out> {
                R::Out::array(call(stringify!($f), &[E::datum(self.0), other.operand()]))
            }
        }
        impl<E: Element, R: Beside<E>> $Op<R> for &Arr<E> {
            type Output = Arr<R::Out>;
            #[track_caller]
            fn $f(self, other: R) -> Arr<R::Out> {
                R::Out::array(call(stringify!($f), &[E::datum(self.0.clone()), other.operand()]))
            }
        }
        impl<E: Element, R> $Assign<R> for Arr<E>
        where
            Arr<E>: $Op<R, Output = Arr<E>>,
        {
            #[track_caller]
            fn $assign(&mut self, other: R) {
                *self = $Op::$f(std::mem::take(self), other);
            }
        }
        operators! { @first $Op $f [S: Number] N<S>, E: Element<Number = S> }
        operators! { @first $Op $f [S: Number] Z<S>, E: Element<Number = S> }
        operators! { @first $Op $f [] f64, E: Element }
        operators! { @first $Op $f [] i64, E: Element }
        operators! { @first $Op $f [X, const M: usize] [X; M], E: Element }
    )*};
    (@first $Op:ident $f:ident [$($g:tt)*] $A:ty, E: $($bound:tt)*) => {
        operators! { @one $Op $f [] [$($g)*] $A, Arr<E>, E: $($bound)* }
        operators! { @one $Op $f ['l,] [$($g)*] $A, &'l Arr<E>, E: $($bound)* }
    };
    (@one $Op:ident $f:ident [$($l:tt)*] [$($g:tt)*] $A:ty, $B:ty, E: $($bound:tt)*) => {
        impl<$($l)* E: $($bound)*, $($g)*> $Op<$B> for $A
        where
            $A: Beside<E>,
            $B: Numbers<E::Number>,
        {
            type Output = Arr<<$A as Beside<E>>::Out>;
            #[track_caller]
            fn $f(self, other: $B) -> Self::Output {
                <$A as Beside<E>>::Out::array(call(stringify!($f), &[self.operand(), other.value()]))
            }
        }
    };
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

/// Arguments of `step`: an array, and an array or a number.
pub trait Stepped<R> {
    /// Type of the result.
    type Out;
    /// 1 where the first is at least the second, else 0.
    fn stepped(self, other: R) -> Self::Out;
}

/// Implementations for arrays by value and by reference.
macro_rules! both {
    ($($A:ty: |$x:ident| $value:expr;)*) => {$(
        impl<E: Element> Neg for $A {
            type Output = Arr<E>;
            fn neg(self) -> Arr<E> {
                let $x = self;
                E::array(call("neg", &[$value]))
            }
        }
        impl<E: Element> Numeric for $A {
            type Out = Arr<E>;
            fn number1(self, op: Number1) -> Arr<E> {
                let $x = self;
                E::array(call(op.name(), &[$value]))
            }
        }
        impl<E: Element> Power for $A {
            type Out = Arr<E>;
            fn power(self, n: i64) -> Arr<E> {
                let $x = self;
                E::array(call("powi", &[$value, Datum::Int(n)]))
            }
        }
        impl<E: Element, R: Beside<E>> Common<R> for $A {
            type Out = Arr<R::Out>;
            #[track_caller]
            fn number2(self, op: Number2, other: R) -> Arr<R::Out> {
                let $x = self;
                R::Out::array(call(op.name(), &[$value, other.operand()]))
            }
        }
        impl<E: Element> Parts for $A {
            type Real = Arr<N<E::Number>>;
            type Complex = Arr<Z<E::Number>>;
            fn abs_(self) -> Self::Real {
                let $x = self;
                Element::array(call("abs", &[$value]))
            }
            fn abs2_(self) -> Self::Real {
                let $x = self;
                Element::array(call("abs2", &[$value]))
            }
            fn re_(self) -> Self::Real {
                let $x = self;
                Element::array(call("re", &[$value]))
            }
            fn im_(self) -> Self::Real {
                let $x = self;
                Element::array(call("im", &[$value]))
            }
            fn arg_(self) -> Self::Real {
                let $x = self;
                Element::array(call("arg", &[$value]))
            }
            fn conj_(self) -> Self::Complex {
                let $x = self;
                Element::array(call("conj", &[$value]))
            }
        }
    )*};
}
both! {
    Arr<E>: |x| E::datum(x.0);
    &Arr<E>: |x| E::datum(x.0.clone());
}

/// Implementations for arrays of real numbers by value and by reference.
macro_rules! both_real {
    ($($A:ty: |$x:ident| $value:expr;)*) => {$(
        impl<S: Number> RealNumeric for $A {
            type Out = Arr<N<S>>;
            fn real1(self, op: Real1) -> Arr<N<S>> {
                let $x = self;
                N::array(call(op.name(), &[$value]))
            }
            fn polygamma_(self, n: i64) -> Arr<N<S>> {
                let $x = self;
                N::array(call("polygamma", &[Datum::Int(n), $value]))
            }
        }
        impl<S: Number, R: Beside<N<S>, Out = N<S>>> RealCommon<R> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn real2(self, op: Real2, other: R) -> Arr<N<S>> {
                let $x = self;
                N::array(call(op.name(), &[$value, other.operand()]))
            }
        }
        impl<S: Number, R: Beside<N<S>, Out = N<S>>> MinMax<R> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn min_(self, other: R) -> Arr<N<S>> {
                self.real2(Real2::Min, other)
            }
            #[track_caller]
            fn max_(self, other: R) -> Arr<N<S>> {
                self.real2(Real2::Max, other)
            }
        }
        impl<S: Number, R: Beside<N<S>, Out = N<S>>> Stepped<R> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn stepped(self, other: R) -> Arr<N<S>> {
                let $x = self;
                N::array(call("step", &[$value, other.operand()]))
            }
        }
        impl<S: Number, R: Beside<N<S>, Out = N<S>>> Assembled<S, R> for $A {
            type Out = Arr<Z<S>>;
            #[track_caller]
            fn assembled(self, other: R) -> Arr<Z<S>> {
                let $x = self;
                Z::array(call("complex", &[$value, other.operand()]))
            }
        }
    )*};
}
both_real! {
    Arr<N<S>>: |x| Element::datum(x.0);
    &Arr<N<S>>: |x| Element::datum(x.0.clone());
}

/// A number before an array.
macro_rules! number_first {
    ($([$($g:tt)*] $A:ty;)*) => {$(
        number_first! { @one [] [$($g)*] $A, Arr<E>, Arr<N<S>> }
        number_first! { @one ['l,] [$($g)*] $A, &'l Arr<E>, &'l Arr<N<S>> }
    )*};
    (@one [$($l:tt)*] [$($g:tt)*] $A:ty, $B:ty, $Real:ty) => {
        impl<$($l)* S: Number, E: Element<Number = S>> Common<$B> for $A
        where
            $A: Beside<E>,
            $B: Numbers<S>,
        {
            type Out = Arr<<$A as Beside<E>>::Out>;
            #[track_caller]
            fn number2(self, op: Number2, other: $B) -> Self::Out {
                <$A as Beside<E>>::Out::array(call(op.name(), &[self.operand(), other.value()]))
            }
        }
        number_first! { @real [$($l)*] [$($g)*] $A, $Real }
    };
    (@real $l:tt [complex] $A:ty, $Real:ty) => {};
    (@real [$($l:tt)*] [] $A:ty, $Real:ty) => {
        impl<$($l)* S: Number> RealCommon<$Real> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn real2(self, op: Real2, other: $Real) -> Arr<N<S>> {
                let x = Beside::<N<S>>::operand(self);
                N::array(call(op.name(), &[x, other.value()]))
            }
        }
        impl<$($l)* S: Number> MinMax<$Real> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn min_(self, other: $Real) -> Arr<N<S>> {
                self.real2(Real2::Min, other)
            }
            #[track_caller]
            fn max_(self, other: $Real) -> Arr<N<S>> {
                self.real2(Real2::Max, other)
            }
        }
        impl<$($l)* S: Number> Stepped<$Real> for $A {
            type Out = Arr<N<S>>;
            #[track_caller]
            fn stepped(self, other: $Real) -> Arr<N<S>> {
                let x = Beside::<N<S>>::operand(self);
                N::array(call("step", &[x, other.value()]))
            }
        }
        impl<$($l)* S: Number> Assembled<S, $Real> for $A {
            type Out = Arr<Z<S>>;
            #[track_caller]
            fn assembled(self, other: $Real) -> Arr<Z<S>> {
                let x = Beside::<N<S>>::operand(self);
                Z::array(call("complex", &[x, other.value()]))
            }
        }
    };
}
number_first! { [] N<S>; [complex] Z<S>; [] f64; [] i64; }
