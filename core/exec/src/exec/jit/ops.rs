//! The op table for machine code: functions to call.

use num_complex::Complex;

use crate::{
    ir::{Number1, Number2, Real1, Real2},
    scalar::{Real, Scalar, threefry},
};

/// A function of one number, and of two.
pub(super) type RealUnaryFn = extern "C" fn(f64) -> f64;
pub(super) type RealBinaryFn = extern "C" fn(f64, f64) -> f64;
/// A function of one complex number, and of two, each in two parts; the value is written to the
/// last argument.
pub(super) type ComplexUnaryFn = extern "C" fn(f64, f64, &mut Complex<f64>);
pub(crate) type ComplexBinaryFn = extern "C" fn(f64, f64, f64, f64, &mut Complex<f64>);

macro_rules! functions {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, $n1_d:tt, $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($($n2_a:ident),*) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, $n2_d:tt, $n2_doc:literal;)* }
        real1 { $($r1:ident $r1_name:literal ($r1_a:ident) -> $r1_y:ident: $r1_s:ident = $r1_v:expr, $r1_d:tt, $r1_doc:literal;)* }
        real2 { $($r2:ident $r2_name:literal ($($r2_a:ident),*) -> $r2_y:ident: $r2_s:ident = $r2_v:expr, $r2_d:tt, $r2_doc:literal;)* }
        int1 $int1:tt int2 $int2:tt compare $compare:tt mixed $mixed:tt
    ) => {
        pub(super) fn number1(op: Number1) -> RealUnaryFn {
            match op { $(Number1::$n1 => {
                extern "C" fn f(x: f64) -> f64 { Number1::$n1.value(&x) }
                f
            })* }
        }
        pub(super) fn number2(op: Number2) -> RealBinaryFn {
            match op { $(Number2::$n2 => {
                extern "C" fn f(x: f64, y: f64) -> f64 { Number2::$n2.value(&x, &y) }
                f
            })* }
        }
        pub(super) fn complex1(op: Number1) -> ComplexUnaryFn {
            match op { $(Number1::$n1 => {
                extern "C" fn f(re: f64, im: f64, to: &mut Complex<f64>) {
                    *to = Number1::$n1.value(&Complex::new(re, im));
                }
                f
            })* }
        }
        pub(super) fn complex2(op: Number2) -> ComplexBinaryFn {
            match op { $(Number2::$n2 => {
                extern "C" fn f(a: f64, b: f64, x: f64, y: f64, to: &mut Complex<f64>) {
                    *to = Number2::$n2.value(&Complex::new(a, b), &Complex::new(x, y));
                }
                f
            })* }
        }
        // A float always has a value.
        pub(super) fn real1(op: Real1) -> RealUnaryFn {
            match op { $(Real1::$r1 => {
                extern "C" fn f(x: f64) -> f64 { Real1::$r1.value(&x).unwrap_or(f64::NAN) }
                f
            })* }
        }
        pub(super) fn real2(op: Real2) -> RealBinaryFn {
            match op { $(Real2::$r2 => {
                extern "C" fn f(x: f64, y: f64) -> f64 { Real2::$r2.value(&x, &y).unwrap_or(f64::NAN) }
                f
            })* }
        }
    };
}
for_each_op!(functions);

pub(super) extern "C" fn powi(x: f64, n: i64) -> f64 {
    Scalar::powi(&x, n)
}

pub(super) extern "C" fn fold_in(key: i64, n: i64) -> i64 {
    threefry(key, n)
}

pub(super) extern "C" fn polygamma(x: f64, n: i64) -> f64 {
    Real::polygamma(&x, n)
}

pub(super) extern "C" fn complex_powi(re: f64, im: f64, n: i64, to: &mut Complex<f64>) {
    *to = Scalar::powi(&Complex::new(re, im), n);
}
