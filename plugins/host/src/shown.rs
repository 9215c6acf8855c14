//! Formatting of a rule's arguments.

use std::sync::Arc;

use ketgrad_core::{
    exec::Datum,
    scalar::{Real, Scalar},
};
use num_complex::Complex;

type PlainComplex = Complex<f64>;

/// Formats the arguments of a call on any kind of number: as plain numbers, or as their kind where
/// they have no plain value.
pub(crate) fn arguments<T: Real, S: Scalar<Real = T>>(x: &[Datum<S>]) -> String {
    let one = |x: &Datum<S>| plain(x).map_or_else(|| x.describe(), |x| one(&x));
    x.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the plain numbers of a value.
fn plain<T: Real, S: Scalar<Real = T>>(x: &Datum<S>) -> Option<Datum<PlainComplex>> {
    let complex = |z: &S| Some(PlainComplex::new(z.re().primal()?, z.im().primal()?));
    Some(match x {
        Datum::Real(x) => Datum::Real(x.primal()?),
        Datum::Complex(z) => Datum::Complex(complex(z)?),
        Datum::Int(n) => Datum::Int(*n),
        Datum::Bool(b) => Datum::Bool(*b),
        Datum::Reals(xs) if xs.items().iter().all(|x| x.primal().is_some()) => {
            Datum::Reals(Arc::new(xs.map(|x| x.primal().unwrap_or(f64::NAN))))
        }
        Datum::Complexes(zs) if zs.items().iter().all(|z| complex(z).is_some()) => {
            Datum::Complexes(Arc::new(zs.map(|z| complex(z).unwrap_or_default())))
        }
        Datum::Ints(ns) => Datum::Ints(ns.clone()),
        Datum::Tuple(fields) => Datum::Tuple(fields.iter().map(plain).collect::<Option<_>>()?),
        Datum::Reals(_) | Datum::Complexes(_) | Datum::Handle(_) => return None,
    })
}

/// Formats a point in the user's notation.
pub(crate) fn shown(x: &[Datum<PlainComplex>]) -> String {
    x.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn one(x: &Datum<PlainComplex>) -> String {
    match x {
        Datum::Real(x) => x.to_string(),
        Datum::Complex(z) => z.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Bool(b) => b.to_string(),
        Datum::Reals(xs) => rows(&xs.shape(), &|k| xs.items()[k].to_string(), 0),
        Datum::Complexes(zs) => rows(&zs.shape(), &|k| zs.items()[k].to_string(), 0),
        Datum::Ints(ns) => rows(&ns.shape(), &|k| ns.items()[k].to_string(), 0),
        Datum::Tuple(fields) => format!("({})", shown(fields)),
        Datum::Handle(_) => x.describe(),
    }
}

/// Formats the elements from one on, in brackets by rows; long rows are cut.
fn rows(shape: &[usize], item: &dyn Fn(usize) -> String, from: usize) -> String {
    const MOST: usize = 16;
    let Some((length, inner)) = shape.split_first() else { return item(from) };
    let width: usize = inner.iter().product();
    let mut items: Vec<String> =
        (0..(*length).min(MOST)).map(|k| rows(inner, item, from + k * width)).collect();
    if *length > MOST {
        items.push(format!("… {length} in all"));
    }
    format!("[{}]", items.join(", "))
}
