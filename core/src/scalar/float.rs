//! `f32` and `f64`: every function is the standard library's, but for functions of many numbers at once.

use std::cmp::Ordering;

use super::{
    Conj, Ordered, Real, Ring, Scalar, Undecided, elementary,
    twice::{Twice, many},
    wide::{Loop, wide},
};

/// The functions of one argument: `Self::f` is the method of the float itself.
macro_rules! inherent {
    ($($f:ident)*) => {$(
        #[inline]
        fn $f(&self) -> Self { Self::$f(*self) }
    )*};
}

/// The functions of many numbers at once, in 64 bits.
macro_rules! together {
    ($F:ident: $($all:ident = $f:ident;)*) => {$(
        fn $all(numbers: &mut [$F]) {
            struct Work<'a>(&'a mut [$F]);
            impl Loop for Work<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    self.0.iter_mut().for_each(|x| *x = elementary::$f(f64::from(*x)) as $F);
                }
            }
            wide::<$F, _>(Work(numbers));
        }
    )*};
}

macro_rules! float {
    ($($F:ident)*) => {$(
        impl Ring for $F {
            const WIDE: bool = true;
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
            together! { $F: exp_all = exp; exp_m1_all = exp_m1; ln_all = ln; tanh_all = tanh; }
        }
        impl Real for $F {
            fn pi() -> $F { std::$F::consts::PI }
            fn atan2(&self, x: &$F) -> $F { $F::atan2(*self, *x) }
            fn hypot(&self, y: &$F) -> $F { $F::hypot(*self, *y) }
            fn sin_cos(&self) -> ($F, $F) { $F::sin_cos(*self) }
            fn raise(numbers: &mut [$F], others: &[$F]) -> Result<(), Undecided> {
                wide::<$F, _>(Raise { numbers, others });
                Ok(())
            }
            fn twice_all(twice: Twice, x: [&[$F]; 3], out: &mut [$F]) { many(twice, x, out); }
            fn primal(&self) -> Option<f64> { Some(f64::from(*self)) }
            fn try_cmp(&self, other: &$F) -> Result<Option<Ordering>, Undecided> { Ok(self.partial_cmp(other)) }
        }
        impl Ordered for $F {
            fn cmp_primal(&self, other: &$F) -> Option<Ordering> { self.partial_cmp(other) }
        }
    )*};
}
float! { f32 f64 }

struct Raise<'a, T> {
    numbers: &'a mut [T],
    others: &'a [T],
}

impl<T: Copy + PartialOrd> Loop for Raise<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (m, &x) in self.numbers.iter_mut().zip(self.others) {
            *m = if x > *m { x } else { *m };
        }
    }
}
