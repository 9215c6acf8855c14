//! Functions of the language on native values: one trait for each sort of
//! function.

use super::*;

/// A number or a literal that is one.
pub trait Numeric: Sized {
    /// A number of the same kind; on literals an `f64`, which rustc computes with.
    type Out;
    /// Applies an operation.
    fn number1(self, op: Number1) -> Self::Out;
}
/// Two numbers and what they make together.
pub trait Common<R>: Sized {
    /// Common result.
    type Out;
    /// Applies an operation to both.
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

/// Operations of every kind of number, besides the functions of one number.
pub trait Parts {
    /// Real counterpart.
    type Real;
    /// Complex counterpart.
    type Complex;
    /// Returns the modulus.
    fn abs_(self) -> Self::Real;
    /// Returns the squared modulus.
    fn abs2_(self) -> Self::Real;
    /// Returns the real part.
    fn re_(self) -> Self::Real;
    /// Returns the imaginary part.
    fn im_(self) -> Self::Real;
    /// Returns the angle.
    fn arg_(self) -> Self::Real;
    /// Returns the complex conjugate.
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
pub(super) fn on_real<S: Number>(op: Real1, x: N<S>) -> N<S> {
    N(op.value(&x.0).unwrap_or(x.0))
}
pub(super) fn on_reals<S: Number>(op: Real2, x: N<S>, y: N<S>) -> N<S> {
    N(op.value(&x.0, &y.0).unwrap_or(x.0))
}

/// A real number or a literal that is one; the staged body refuses complex numbers.
pub trait RealNumeric {
    /// A real number; on literals an `f64`.
    type Out;
    /// Applies an operation.
    fn real1(self, op: Real1) -> Self::Out;
    /// Returns the n-th derivative of digamma.
    fn polygamma_(self, n: i64) -> Self::Out;
}
impl<S: Number> RealNumeric for N<S> {
    type Out = N<S>;
    fn real1(self, op: Real1) -> N<S> {
        on_real(op, self)
    }
    fn polygamma_(self, n: i64) -> N<S> {
        N(self.0.polygamma(n))
    }
}
impl<S: Number> RealNumeric for Z<S> {
    type Out = N<S>;
    fn real1(self, _: Real1) -> N<S> {
        N(self.0.re)
    }
    fn polygamma_(self, _: i64) -> N<S> {
        N(self.0.re)
    }
}
impl RealNumeric for f64 {
    type Out = f64;
    fn real1(self, op: Real1) -> f64 {
        on_real(op, N(self)).0
    }
    fn polygamma_(self, n: i64) -> f64 {
        ketgrad_core::scalar::Real::polygamma(&self, n)
    }
}
impl RealNumeric for i64 {
    type Out = f64;
    fn real1(self, op: Real1) -> f64 {
        on_real(op, N(self as f64)).0
    }
    fn polygamma_(self, n: i64) -> f64 {
        (self as f64).polygamma_(n)
    }
}

/// Two real numbers.
pub trait RealCommon<R> {
    /// Type of the result.
    type Out;
    /// Applies an operation to both.
    fn real2(self, op: Real2, other: R) -> Self::Out;
}
/// Arguments of `complex`.
pub trait Assembled<S, R> {
    /// Type of the result.
    type Out;
    /// Returns the complex number of a real and an imaginary part.
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
                Z(from_parts(S::literal(self as f64), S::literal(other as f64)))
            }
        }
    )*};
}
real_common! { N<S>, N<S>; N<S>, f64; f64, N<S>; N<S>, i64; i64, N<S>; }
real_common! { @literals f64, f64; f64, i64; i64, f64; i64, i64; }

/// `x^n`
pub trait Power {
    /// Type of the result.
    type Out;
    /// Returns the power.
    fn power(self, n: i64) -> Self::Out;
}
impl<S: Number> Power for N<S> {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        N(self.0.powi(n))
    }
}
impl<S: Number> Power for Z<S> {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        Z(Scalar::powi(&self.0, n))
    }
}
impl Power for f64 {
    type Out = Self;
    fn power(self, n: i64) -> Self {
        Scalar::powi(&self, n)
    }
}

/// The lesser and the greater of two.
pub trait MinMax<R> {
    /// One of them.
    type Out;
    /// Returns the lesser one.
    fn min_(self, other: R) -> Self::Out;
    /// Returns the greater one.
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
    /// Returns the first if the condition holds, else the second.
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

/// Computes `a + b i` as the executor of the IR does.
fn from_parts<S: Number>(re: S, im: S) -> Complex<S> {
    let real = complex(re);
    if im.is_exact_zero() {
        return real;
    }
    real + Scalar::sqrt(&<Complex<S> as Scalar>::int(-1)) * complex(im)
}
