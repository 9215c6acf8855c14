//! Value of an entry of a tape: a number or an array of numbers.

use std::{any::TypeId, ops::AddAssign, sync::Arc};

use num_traits::Zero;

use crate::{
    array::{self, Array, RunCopy},
    exec::Datum,
    ir::{Element, Kind},
    scalar::{Real, Scalar},
};

use super::builtin_call::SLICE;

/// A number or an array of numbers.
#[derive(Clone, Debug)]
pub(super) enum TapeValue<S: Scalar> {
    Number(S),
    /// `Datum::Reals` on a tape of real numbers, `Datum::Complexes` on one of complex numbers.
    Array(Datum<S>),
}

/// Returns the kind of the numbers of the tape: real or complex.
pub(super) fn kind_of<S: Scalar>() -> Kind {
    if TypeId::of::<S>() == TypeId::of::<S::Real>() { Kind::Real } else { Kind::Complex }
}

/// Returns the kind of a number or of an array on the tape.
pub(super) fn kind_of_value<S: Scalar>(array: bool) -> Kind {
    let number = kind_of::<S>();
    Element::from_kind(&number).filter(|_| array).map_or(number, Kind::Array)
}

/// Returns a number as a value of a program.
pub(super) fn datum<S: Scalar>(x: &S, kind: &Kind) -> Datum<S> {
    if *kind == Kind::Real { Datum::Real(x.re()) } else { Datum::Complex(x.clone()) }
}

/// Returns the number, if a value of a program is one.
pub(super) fn number<S: Scalar>(d: &Datum<S>) -> Option<S> {
    d.real().map(|x| S::from_real(x.clone())).or_else(|| d.complex().cloned())
}

impl<T: Real, S: Scalar<Real = T>> TapeValue<S> {
    pub(super) fn nan() -> TapeValue<S> {
        TapeValue::Number(S::lit(f64::NAN))
    }

    /// Returns an array of NaN, which poisons every result, of a shape that fits everywhere.
    pub(super) fn nan_array() -> TapeValue<S> {
        TapeValue::of_array(&[S::lit(f64::NAN)].into_iter().collect())
    }

    pub(super) fn of_array(array: &Array<S>) -> TapeValue<S> {
        TapeValue::Array(match kind_of::<S>() {
            Kind::Real => Datum::Reals(Arc::new(array.map(Scalar::re))),
            _ => Datum::Complexes(Arc::new(array.clone())),
        })
    }

    /// Converts the value of a program; `None` if it is neither a number nor an array of numbers.
    pub(super) fn of_datum(d: Datum<S>) -> Option<TapeValue<S>> {
        match d {
            Datum::Reals(_) | Datum::Complexes(_) => Some(TapeValue::Array(d)),
            d => number(&d).map(TapeValue::Number),
        }
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, TapeValue::Array(_))
    }

    /// Returns the number; NaN for an array, which no caller passes.
    pub(super) fn number(&self) -> S {
        match self {
            TapeValue::Number(x) => x.clone(),
            TapeValue::Array(_) => S::lit(f64::NAN),
        }
    }

    /// Returns the array; a number is one of one element.
    pub(super) fn array(&self) -> Array<S> {
        match self {
            TapeValue::Number(x) => [x.clone()].into_iter().collect(),
            TapeValue::Array(Datum::Reals(xs)) => xs.map(|x| S::from_real(x.clone())),
            TapeValue::Array(Datum::Complexes(xs)) => Array::clone(xs),
            TapeValue::Array(_) => Array::default(),
        }
    }

    pub(super) fn datum(&self) -> Datum<S> {
        match self {
            TapeValue::Number(x) => datum(x, &kind_of::<S>()),
            TapeValue::Array(d) => d.clone(),
        }
    }

    /// Returns the length along each axis; none of a number.
    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            TapeValue::Array(Datum::Reals(xs)) => xs.shape().to_vec(),
            TapeValue::Array(Datum::Complexes(xs)) => xs.shape().to_vec(),
            _ => Vec::new(),
        }
    }

    pub(super) fn zero_like(&self) -> TapeValue<S> {
        match self {
            TapeValue::Number(_) => TapeValue::Number(S::zero()),
            TapeValue::Array(d) => TapeValue::Array(d.zero_tangent().unwrap_or_else(|| d.clone())),
        }
    }

    /// Returns the cotangent of `self`, its arrays filled up with zeros to the shape of the value.
    pub(super) fn cotangent(&self, mut bar: Datum<S>) -> Option<TapeValue<S>> {
        bar.extend_like(&self.datum());
        TapeValue::of_datum(bar)
    }

    /// Returns the element at an index in row-major order, or the range of an axis, given by the
    /// axis, its start and its length.
    pub(super) fn part(&self, ints: &[i64]) -> Result<TapeValue<S>, String> {
        let none = || "it is a part of an array".to_owned();
        match (self, ints) {
            (TapeValue::Array(Datum::Reals(xs)), &[k]) => {
                element(xs, k).map(|x| TapeValue::Number(S::from_real(x)))
            }
            (TapeValue::Array(Datum::Complexes(zs)), &[k]) => element(zs, k).map(TapeValue::Number),
            (TapeValue::Array(Datum::Reals(xs)), &[axis, start, len]) => {
                Ok(TapeValue::Array(Datum::Reals(range(xs, axis, start, len)?)))
            }
            (TapeValue::Array(Datum::Complexes(zs)), &[axis, start, len]) => {
                Ok(TapeValue::Array(Datum::Complexes(range(zs, axis, start, len)?)))
            }
            _ => Err(none()),
        }
    }

    /// Adds to a part, which fits.
    pub(super) fn add_to_part(&mut self, ints: &[i64], other: &TapeValue<S>) {
        match (self, other, ints) {
            (TapeValue::Array(Datum::Reals(xs)), TapeValue::Number(y), &[k]) => {
                add_at(xs, k, y.re())
            }
            (TapeValue::Array(Datum::Complexes(zs)), TapeValue::Number(y), &[k]) => {
                add_at(zs, k, y.clone())
            }
            (
                TapeValue::Array(Datum::Reals(xs)),
                TapeValue::Array(Datum::Reals(ys)),
                &[axis, start, _],
            ) => {
                add_range(xs, ys, axis, start);
            }
            (
                TapeValue::Array(Datum::Complexes(xs)),
                TapeValue::Array(Datum::Complexes(ys)),
                &[axis, start, _],
            ) => {
                add_range(xs, ys, axis, start);
            }
            _ => debug_assert!(false, "a part of another kind"),
        }
    }

    /// Adds another one of the same shape.
    pub(super) fn add(&mut self, other: &TapeValue<S>) {
        match (self, other) {
            (TapeValue::Number(x), TapeValue::Number(y)) => *x += y.clone(),
            (TapeValue::Array(Datum::Reals(x)), TapeValue::Array(Datum::Reals(y))) => {
                Arc::make_mut(x).iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y.clone());
            }
            (TapeValue::Array(Datum::Complexes(x)), TapeValue::Array(Datum::Complexes(y))) => {
                Arc::make_mut(x).iter_mut().zip(y.iter()).for_each(|(x, y)| *x += y.clone());
            }
            _ => debug_assert!(false, "a number and an array as cotangents of one value"),
        }
    }
}

fn element<T: Clone>(xs: &Array<T>, k: i64) -> Result<T, String> {
    let found = usize::try_from(k).ok().and_then(|k| xs.get(k));
    found.cloned().ok_or_else(|| format!("index {k} of an array of {} elements", xs.len()))
}

fn range<T: Clone + Zero>(
    xs: &Array<T>,
    axis: i64,
    start: i64,
    len: i64,
) -> Result<Arc<Array<T>>, String> {
    let mut out = Array::default();
    array::slice(xs, axis, start, len, &mut out).map_err(|e| e.to_string())?;
    Ok(Arc::new(out))
}

fn add_at<T: Clone + AddAssign>(xs: &mut Arc<Array<T>>, k: i64, y: T) {
    if let Some(x) = usize::try_from(k).ok().and_then(|k| Arc::make_mut(xs).get_mut(k)) {
        *x += y;
    }
}

fn add_range<T: Clone + AddAssign>(xs: &mut Arc<Array<T>>, ys: &Array<T>, axis: i64, start: i64) {
    if let Ok(moved) = RunCopy::pad(SLICE, &ys.shape(), &xs.shape(), axis, start) {
        moved.add(ys, &mut *Arc::make_mut(xs));
    }
}
