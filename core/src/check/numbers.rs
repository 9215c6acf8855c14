//! Values as lists of real numbers, and back.

use std::sync::Arc;

use num_complex::Complex;
use num_dual::Dual64;

use crate::{
    exec::Datum,
    ir::{Field, Kind, Param},
};

use super::Value;

/// The real numbers of values, in order; a complex one is two. What has no tangent is left out.
pub(super) fn flat(values: &[Value]) -> Vec<f64> {
    let mut out = Vec::new();
    for v in values {
        match v {
            Datum::Real(x) => out.push(*x),
            Datum::Complex(z) => out.extend([z.re, z.im]),
            Datum::Reals(xs) => out.extend_from_slice(xs),
            Datum::Complexes(zs) => zs.iter().for_each(|z| out.extend([z.re, z.im])),
            Datum::Tuple(fields) => out.extend(flat(fields)),
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => {}
        }
    }
    out
}

/// The names of these numbers.
pub(super) fn names(params: &[Param], args: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    for (param, arg) in params.iter().zip(args) {
        name(&param.name, &param.kind, arg, &mut out);
    }
    out
}

fn name(path: &str, kind: &Kind, v: &Value, out: &mut Vec<String>) {
    let parts = |path: &str| [format!("{path}.re"), format!("{path}.im")];
    match v {
        Datum::Real(_) => out.push(path.to_owned()),
        Datum::Complex(_) => out.extend(parts(path)),
        Datum::Reals(xs) => out.extend((0..xs.len()).map(|k| format!("{path}[{k}]"))),
        Datum::Complexes(zs) => (0..zs.len()).for_each(|k| out.extend(parts(&format!("{path}[{k}]")))),
        Datum::Tuple(fields) => {
            for (k, (v, field)) in fields.iter().zip(kind.fields()).enumerate() {
                let Field { name: part, kind } = field;
                let part = part.clone().unwrap_or_else(|| k.to_string());
                name(&format!("{path}.{part}"), kind, v, out);
            }
        }
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => {}
    }
}

/// The values with the numbers that the iterator gives in place of their own.
pub(super) fn filled(values: &[Value], next: &mut impl Iterator<Item = f64>) -> Vec<Value> {
    let mut number = || next.next().unwrap_or(0.0);
    values
        .iter()
        .map(|v| match v {
            Datum::Real(_) => Datum::Real(number()),
            Datum::Complex(_) => Datum::Complex(Complex::new(number(), number())),
            Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(|_| number()))),
            Datum::Complexes(zs) => Datum::Complexes(Arc::new(zs.map(|_| Complex::new(number(), number())))),
            Datum::Tuple(fields) => {
                let mut inner = std::iter::from_fn(|| Some(number()));
                Datum::Tuple(filled_dyn(fields, &mut inner))
            }
            other => other.clone(),
        })
        .collect()
}

/// As [`filled`], for the inside of tuples.
fn filled_dyn(values: &[Value], next: &mut dyn Iterator<Item = f64>) -> Vec<Value> {
    filled(values, &mut { next })
}

/// The tangent of the values that is 1 in the `k`-th number.
pub(super) fn direction(values: &[Value], k: usize) -> Vec<Value> {
    let zeros: Vec<Value> = values.iter().filter_map(Datum::zero_tangent).collect();
    filled(&zeros, &mut (0..).map(|j| f64::from(u8::from(j == k))))
}

/// The values with `h` added to the `k`-th number.
pub(super) fn moved(values: &[Value], k: usize, h: f64) -> Vec<Value> {
    let mut numbers = flat(values);
    numbers[k] += h;
    filled(values, &mut numbers.into_iter())
}

/// The values as dual numbers with derivative 1 in the `k`-th number.
pub(super) fn lift(values: &[Value], k: usize) -> Vec<Datum<Complex<Dual64>>> {
    let mut place = 0;
    lift_from(values, k, &mut place)
}

fn lift_from(values: &[Value], k: usize, place: &mut usize) -> Vec<Datum<Complex<Dual64>>> {
    let mut out = Vec::with_capacity(values.len());
    for v in values {
        let mut dual = |x: f64| {
            *place += 1;
            Dual64::new(x, f64::from(u8::from(*place == k + 1)))
        };
        let mut complex = |z: &Complex<f64>| {
            let re = dual(z.re);
            Complex::new(re, dual(z.im))
        };
        out.push(match v {
            Datum::Complex(z) => Datum::Complex(complex(z)),
            Datum::Complexes(zs) => Datum::Complexes(Arc::new(zs.map(complex))),
            Datum::Real(x) => Datum::Real(dual(*x)),
            Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(|x| dual(*x)))),
            Datum::Int(n) => Datum::Int(*n),
            Datum::Bool(b) => Datum::Bool(*b),
            Datum::Handle(h) => Datum::Handle(*h),
            Datum::Ints(ns) => Datum::Ints(ns.clone()),
            Datum::Tuple(fields) => Datum::Tuple(lift_from(fields, k, place)),
        });
    }
    out
}

/// Numbers between -1 and 1 that do not repeat soon.
pub(super) fn spread(start: f64) -> impl Iterator<Item = f64> {
    (1..).map(move |k: u32| 2.0 * (start + f64::from(k) * 0.618_033_988_749_895).fract() - 1.0)
}
