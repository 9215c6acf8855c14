//! `f32` and `f64`: every function is the standard library's, but for exponentials of many numbers at once.

use std::cmp::Ordering;

use super::{Conj, Ordered, Real, Ring, Scalar, Undecided, exponential::exponential};

/// The functions of one argument: `Self::f` is the method of the float itself.
macro_rules! inherent {
    ($($f:ident)*) => {$(
        #[inline]
        fn $f(&self) -> Self { Self::$f(*self) }
    )*};
}

macro_rules! float {
    ($($F:ident $exp_all:expr;)*) => {$(
        impl Ring for $F {
            fn is_exact_zero(&self) -> bool { *self == 0.0 }
            fn is_exact_one(&self) -> bool { *self == 1.0 }
        }
        impl Conj for $F {
            fn conj(&self) -> $F { *self }
        }
        impl Scalar for $F {
            type Real = $F;
            fn from_real(re: $F) -> $F { re }
            fn re(&self) -> $F { *self }
            fn im(&self) -> $F { 0.0 }
            fn abs2(&self) -> $F { self * self }
            fn lit(x: f64) -> $F { x as $F }
            fn ratio(n: i64, d: i64) -> $F { n as $F / d as $F }
            fn powi(&self, n: i32) -> $F { $F::powi(*self, n) }
            fn pow(&self, y: &$F) -> $F { $F::powf(*self, *y) }
            unary_functions!(inherent);
            fn exp_all(numbers: &mut [$F]) { numbers.iter_mut().for_each(|x| *x = $exp_all(*x)); }
        }
        impl Real for $F {
            fn pi() -> $F { std::$F::consts::PI }
            fn atan2(&self, x: &$F) -> $F { $F::atan2(*self, *x) }
            fn hypot(&self, y: &$F) -> $F { $F::hypot(*self, *y) }
            fn sin_cos(&self) -> ($F, $F) { $F::sin_cos(*self) }
            fn primal(&self) -> Option<f64> { Some(f64::from(*self)) }
            fn try_cmp(&self, other: &$F) -> Result<Option<Ordering>, Undecided> { Ok(self.partial_cmp(other)) }
        }
        impl Ordered for $F {
            fn cmp_primal(&self, other: &$F) -> Option<Ordering> { self.partial_cmp(other) }
        }
    )*};
}
float! { f32 f32::exp; f64 exponential; }
