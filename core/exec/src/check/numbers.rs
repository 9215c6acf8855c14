//! Values as lists of real numbers, and back.

use std::sync::Arc;

use nalgebra::{Const, SVector};
use num_complex::Complex;
use num_dual::{Derivative, DualNum, DualVec};

use crate::{
    array::indices_text,
    exec::Datum,
    ir::{Field, Kind, Param},
    scalar::Real,
};

/// A value on the numbers that checks compute with.
pub(super) type CheckValue<T = f64> = Datum<Complex<T>>;

/// Returns the real numbers of values, in order; a complex one is two. Values without tangents are
/// left out.
#[must_use]
pub fn flat<T: Real>(values: &[CheckValue<T>]) -> Vec<f64> {
    let mut numbers = Vec::new();
    values.iter().for_each(|v| numbers_of(v, &mut numbers));
    numbers.into_iter().map(plain).collect()
}

fn numbers_of<'d, R: Real>(d: &'d Datum<Complex<R>>, out: &mut Vec<&'d R>) {
    match d {
        Datum::Real(x) => out.push(x),
        Datum::Complex(z) => out.extend([&z.re, &z.im]),
        Datum::Reals(xs) => out.extend(xs.iter()),
        Datum::Complexes(zs) => out.extend(zs.iter().flat_map(|z| [&z.re, &z.im])),
        Datum::Tuple(fields) => fields.iter().for_each(|field| numbers_of(field, out)),
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => {}
    }
}

/// Returns the names of these numbers: `a`, `xs[0]`, `p.x`, `z.re`.
#[must_use]
pub fn names<T: Real>(params: &[Param], args: &[CheckValue<T>]) -> Vec<String> {
    let mut out = Vec::new();
    for (param, arg) in params.iter().zip(args) {
        name(&param.name, &param.kind, arg, &mut out);
    }
    out
}

fn name<T: Real>(path: &str, kind: &Kind, v: &CheckValue<T>, out: &mut Vec<String>) {
    let parts = |path: &str| [format!("{path}.re"), format!("{path}.im")];
    match v {
        Datum::Real(_) => out.push(path.to_owned()),
        Datum::Complex(_) => out.extend(parts(path)),
        Datum::Reals(xs) => {
            let shape = xs.shape();
            out.extend((0..xs.len()).map(|k| format!("{path}[{}]", indices_text(&shape, k))));
        }
        Datum::Complexes(zs) => {
            let shape = zs.shape();
            let names = (0..zs.len()).map(|k| format!("{path}[{}]", indices_text(&shape, k)));
            names.for_each(|name| out.extend(parts(&name)));
        }
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

/// Returns the values with the numbers that the iterator gives in place of their own.
pub fn filled<T: Real>(
    values: &[CheckValue<T>],
    next: &mut impl Iterator<Item = f64>,
) -> Vec<CheckValue<T>> {
    let mut number = || T::lit(next.next().unwrap_or(0.0));
    values
        .iter()
        .map(|v| match v {
            Datum::Real(_) => Datum::Real(number()),
            Datum::Complex(_) => Datum::Complex(Complex::new(number(), number())),
            Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(|_| number()))),
            Datum::Complexes(zs) => {
                Datum::Complexes(Arc::new(zs.map(|_| Complex::new(number(), number()))))
            }
            Datum::Tuple(fields) => {
                let mut inner = std::iter::from_fn(|| number().primal());
                Datum::Tuple(filled_dyn(fields, &mut inner))
            }
            other => other.clone(),
        })
        .collect()
}

/// Does the work of [`filled`] for the fields of tuples.
fn filled_dyn<T: Real>(
    values: &[CheckValue<T>],
    next: &mut dyn Iterator<Item = f64>,
) -> Vec<CheckValue<T>> {
    filled(values, &mut { next })
}

/// Returns the tangent of the values that is 1 in the `k`-th number.
#[must_use]
pub fn direction<T: Real>(values: &[CheckValue<T>], k: usize) -> Vec<CheckValue<T>> {
    let zeros: Vec<CheckValue<T>> = values.iter().filter_map(Datum::zero_tangent).collect();
    filled(&zeros, &mut (0..).map(|j| f64::from(u8::from(j == k))))
}

/// Returns a tangent times a number.
pub(super) fn scaled<T: Real>(tangent: &[CheckValue<T>], by: f64) -> Vec<CheckValue<T>> {
    filled(tangent, &mut flat(tangent).into_iter().map(|x| by * x))
}

/// Returns the values with `h` added to the `k`-th number.
pub(super) fn shifted<T: Real>(values: &[CheckValue<T>], k: usize, h: f64) -> Vec<CheckValue<T>> {
    let mut numbers = flat(values);
    numbers[k] += h;
    filled(values, &mut numbers.into_iter())
}

fn plain<T: Real>(x: &T) -> f64 {
    x.primal().unwrap_or(f64::NAN)
}

/// Dual numbers on which a derivative that is computed to be 0 is no constant's.
pub type StrictDual<T> = DualVec<T, Const<1>>;

/// Returns the values as dual numbers with derivative 1 in the `k`-th number.
pub(super) fn seed_duals<T: Real + DualNum>(
    values: &[CheckValue<T>],
    k: usize,
) -> Vec<Datum<Complex<StrictDual<T>>>> {
    let mut place = 0;
    lift_from(values, k, &mut place)
}

fn lift_from<T: Real + DualNum>(
    values: &[CheckValue<T>],
    k: usize,
    place: &mut usize,
) -> Vec<Datum<Complex<StrictDual<T>>>> {
    let mut out = Vec::with_capacity(values.len());
    for v in values {
        let mut dual = |x: &T| {
            *place += 1;
            let one = || Derivative::some(SVector::from([T::one()]));
            DualVec::new(x.clone(), if *place == k + 1 { one() } else { Derivative::none() })
        };
        let mut complex = |z: &Complex<T>| {
            let re = dual(&z.re);
            Complex::new(re, dual(&z.im))
        };
        out.push(match v {
            Datum::Complex(z) => Datum::Complex(complex(z)),
            Datum::Complexes(zs) => Datum::Complexes(Arc::new(zs.map(complex))),
            Datum::Real(x) => Datum::Real(dual(x)),
            Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(dual))),
            Datum::Int(n) => Datum::Int(*n),
            Datum::Bool(b) => Datum::Bool(*b),
            Datum::Handle(h) => Datum::Handle(*h),
            Datum::Ints(ns) => Datum::Ints(ns.clone()),
            Datum::Tuple(fields) => Datum::Tuple(lift_from(fields, k, place)),
        });
    }
    out
}

/// Returns the real numbers of values on duals, and their derivatives.
pub(super) fn parts<T: Real + DualNum>(d: &Datum<Complex<StrictDual<T>>>) -> [Vec<f64>; 2] {
    let mut duals: Vec<&StrictDual<T>> = Vec::new();
    numbers_of(d, &mut duals);
    let derivative = |x: &&StrictDual<T>| x.eps.0.as_ref().map_or(0.0, |d| plain(&d[0]));
    [duals.iter().map(|x| plain(&x.re)).collect(), duals.iter().map(derivative).collect()]
}

/// Returns a low-discrepancy sequence of numbers between -1 and 1 (multiples of the golden ratio).
pub(super) fn low_discrepancy(start: f64) -> impl Iterator<Item = f64> {
    (1..).map(move |k: u32| 2.0 * (start + f64::from(k) * 0.618_033_988_749_895).fract() - 1.0)
}
