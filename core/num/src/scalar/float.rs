//! `f32` and `f64`: every function is the standard library's, but for the inverse hyperbolic ones,
//! and for those of many numbers at once.

use std::cmp::Ordering;

use super::{
    Conj, Ordered, Piece, Real, Ring, Scalar, Undecided, circular, elementary, inverse, pieces,
    power,
    twice::{Twice, many},
    wide::{WideLoop, wide},
};

/// The functions of one argument: `Self::f` is the method of the float itself, where that keeps its
/// digits.
macro_rules! inherent {
    ($($f:ident)*) => {$( inherent! { @ $f } )*};
    (@ asinh) => { inherent! { = asinh } };
    (@ acosh) => { inherent! { = acosh } };
    (@ atanh) => { inherent! { = atanh } };
    (= $f:ident) => {
        fn $f(&self) -> Self { elementary::alone::$f(f64::from(*self)) as Self }
    };
    (@ $f:ident) => {
        #[inline]
        fn $f(&self) -> Self { Self::$f(*self) }
    };
}

/// A function of many numbers at once, and perhaps of others beside them: its loop compiled for the
/// processor.
macro_rules! at_once {
    ($F:ident $all:ident($numbers:ident $(, $others:ident)?) $work:block) => {
        fn $all($numbers: &mut [$F] $(, $others: &[$F])?) {
            struct FloatLoop<'a> {
                $numbers: &'a mut [$F],
                $($others: &'a [$F],)?
            }
            impl WideLoop for FloatLoop<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    let FloatLoop { $numbers $(, $others)? } = self;
                    $work
                }
            }
            wide::<$F, _>(FloatLoop { $numbers $(, $others)? });
        }
    };
}

/// Elementary functions of many numbers, in 64 bits: plain loops, since a closure of that size
/// would stay a call, and one without the processor's instructions.
macro_rules! together {
    ($F:ident, $module:ident: $($all:ident = $f:ident;)*) => {$(
        at_once! { $F $all(numbers) {
            for x in numbers {
                *x = $module::$f(f64::from(*x)) as $F;
            }
        } }
    )*};
}

/// Defines functions of two slices, of which the second may be one number for all.
macro_rules! beside {
    ($F:ident: $all:ident = $f:path) => {
        at_once! { $F $all(numbers, others) {
            match others {
                &[y] => {
                    for x in numbers {
                        *x = $f(f64::from(*x), f64::from(y)) as $F;
                    }
                }
                others => {
                    for (x, y) in numbers.iter_mut().zip(others) {
                        *x = $f(f64::from(*x), f64::from(*y)) as $F;
                    }
                }
            }
        } }
    };
}

/// Defines functions that use another algorithm for large numbers: these are computed again.
macro_rules! periodic {
    ($F:ident: $($all:ident = $near:ident, $f:ident;)*) => {$(
        at_once! { $F $all(numbers) {
            let is_large = |x: &$F| f64::from(x.abs()) > circular::NEAR;
            let mut before = [0.0; TOGETHER];
            for some in numbers.chunks_mut(TOGETHER) {
                let large = some.iter().filter(|x| is_large(x)).count();
                if large > 0 {
                    before[..some.len()].copy_from_slice(some);
                }
                for x in &mut *some {
                    *x = circular::$near(f64::from(*x)) as $F;
                }
                if large > 0 {
                    let with = some.iter_mut().zip(&before).filter(|(_, x)| is_large(x));
                    with.for_each(|(y, x)| *y = circular::$f(f64::from(*x)) as $F);
                }
            }
        } }
    )*};
}

/// Numbers that are looked at before their function takes their place.
const TOGETHER: usize = 256;

macro_rules! float {
    ($($F:ident)*) => {$(
        impl Ring for $F {
            const WIDE: bool = true;
            const COMPILED: bool = true;
            #[inline]
            fn is_exact_zero(&self) -> bool { *self == 0.0 }
            fn is_exact_one(&self) -> bool { *self == 1.0 }
        }
        impl Conj for $F {
            #[inline]
            fn conj(&self) -> $F { *self }
        }
        impl Scalar for $F {
            type Real = $F;
            #[inline]
            fn from_real(re: $F) -> $F { re }
            #[inline]
            fn re(&self) -> $F { *self }
            #[inline]
            fn im(&self) -> $F { 0.0 }
            #[inline]
            fn abs2(&self) -> $F { self * self }
            fn lit(x: f64) -> $F { x as $F }
            fn ratio(n: i64, d: i64) -> $F { n as $F / d as $F }
            fn powi(&self, n: i64) -> $F { power::powi(f64::from(*self), n) as $F }
            fn pow(&self, y: &$F) -> $F { $F::powf(*self, *y) }
            unary_functions!(inherent);
            together! {
                $F, elementary: exp_all = exp; exp_m1_all = exp_m1; ln_all = ln; ln_1p_all = ln_1p;
                sinh_all = sinh; cosh_all = cosh; tanh_all = tanh;
                asinh_all = asinh; acosh_all = acosh; atanh_all = atanh;
            }
            together! {
                $F, inverse: log2_all = log2; log10_all = log10; cbrt_all = cbrt;
                asin_all = asin; acos_all = acos; atan_all = atan;
            }
            beside! { $F: pow_all = power::pow }
            periodic! { $F: sin_all = sin_near, sin; cos_all = cos_near, cos; tan_all = tan_near, tan; }
        }
        impl Real for $F {
            fn pi() -> $F { std::$F::consts::PI }
            fn atan2(&self, x: &$F) -> $F { $F::atan2(*self, *x) }
            fn hypot(&self, y: &$F) -> $F { $F::hypot(*self, *y) }
            beside! { $F: hypot_all = elementary::hypot }
            beside! { $F: atan2_all = inverse::atan2 }
            fn sin_cos(&self) -> ($F, $F) { $F::sin_cos(*self) }
            fn raise(numbers: &mut [$F], others: &[$F]) -> Result<(), Undecided> {
                wide::<$F, _>(Raise { numbers, others });
                Ok(())
            }
            fn twice_all(twice: Twice, x: [&[$F]; 3], out: &mut [$F]) { many(twice, x, out); }
            fn piece_all(f: Piece, x: [&[$F]; 2], out: &mut [$F]) -> Result<(), Undecided> {
                pieces::floats(f, x, out);
                Ok(())
            }
            fn primal(&self) -> Option<f64> { Some(f64::from(*self)) }
            fn beyond(&self) -> $F { 0.0 }
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

impl<T: Copy + PartialOrd> WideLoop for Raise<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (m, &x) in self.numbers.iter_mut().zip(self.others) {
            *m = if x > *m { x } else { *m };
        }
    }
}
