//! Tangents and cotangents as data: whether they fit, all their elements, and their real numbers in
//! order.

use std::sync::Arc;

use crate::scalar::{Real, Scalar};

use super::{CallError, DeriveError, data::Datum};

/// Splits a tuple `(value, cotangents…)`, and extends the cotangents to the lengths of the
/// arguments.
pub(super) fn split<S: Scalar>(
    result: Datum<S>,
    args: &[Datum<S>],
) -> Result<(Datum<S>, Vec<Datum<S>>), CallError> {
    let mut fields = match result {
        Datum::Tuple(fields) => fields,
        one => vec![one],
    };
    if fields.is_empty() {
        return Ok((Datum::Tuple(vec![]), vec![]));
    }
    let value = fields.remove(0);
    extend(&mut fields, args)?;
    Ok((value, fields))
}

/// Extends the arrays of cotangents with zeros to the lengths of the arguments. Only a wrong rule
/// gives longer ones.
pub(super) fn extend<S: Scalar>(bars: &mut [Datum<S>], args: &[Datum<S>]) -> Result<(), CallError> {
    let differentiable = args.iter().filter(|a| a.has_tangent());
    for (bar, arg) in bars.iter_mut().zip(differentiable) {
        fits(bar, arg, ["a rule's cotangent", "an argument"], false)?;
        bar.extend_like(arg);
    }
    Ok(())
}

/// Extends a tangent to all elements of its value.
pub(super) fn whole<S: Scalar>(
    mut dot: Datum<S>,
    value: &Datum<S>,
) -> Result<Datum<S>, DeriveError> {
    fits(&dot, value, ["a rule's tangent", "the result"], false)?;
    dot.extend_like(value);
    Ok(dot)
}

/// Checks that tangents from outside fit their arguments.
pub(super) fn check_tangents<S: Scalar>(
    args: &[Datum<S>],
    dots: &[Datum<S>],
) -> Result<(), CallError> {
    let differentiable = args.iter().filter(|a| a.has_tangent());
    dots.iter()
        .zip(differentiable)
        .try_for_each(|(dot, arg)| fits(dot, arg, ["a tangent", "an argument"], true))
}

/// Checks that a cotangent from outside fits the result.
pub(super) fn check_cotangent<S: Scalar>(
    y_bar: &Datum<S>,
    value: &Datum<S>,
) -> Result<(), CallError> {
    fits(y_bar, value, ["a cotangent", "the result"], true)
}

/// Checks that a (co)tangent fits the value it belongs to, by [`Datum::too_long`]; both are named.
fn fits<S: Scalar>(
    tangent: &Datum<S>,
    value: &Datum<S>,
    [what, of]: [&'static str; 2],
    given: bool,
) -> Result<(), CallError> {
    match tangent.too_long(value, given) {
        Some([given, expected]) => Err(CallError::Tangent { what, of, given, expected }),
        None => Ok(()),
    }
}

/// Returns the number of real numbers in a tangent; a complex one is two.
pub(super) fn count<S: Scalar>(d: &Datum<S>) -> usize {
    let parts = if imaginary::<S>().is_some() { 2 } else { 1 };
    match d {
        Datum::Real(_) => 1,
        Datum::Reals(xs) => xs.len(),
        Datum::Complex(_) => parts,
        Datum::Complexes(zs) => parts * zs.len(),
        Datum::Tuple(fields) => fields.iter().map(count).sum(),
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => 0,
    }
}

/// Returns the imaginary unit, of numbers that have one.
fn imaginary<S: Scalar>() -> Option<S> {
    S::from_parts(num_traits::Zero::zero(), num_traits::One::one())
}

/// Returns a zero with ones where the iterator gives true, one item for each real number in order.
pub(super) fn seeded<T: Real, S: Scalar<Real = T>>(
    zero: &Datum<S>,
    members: &mut dyn Iterator<Item = bool>,
) -> Datum<S> {
    let mut number = |_: &T| if members.next() == Some(true) { T::one() } else { T::lit(0.0) };
    let mut parts = |_: &S| {
        let re = S::from_real(number(&T::lit(0.0)));
        match imaginary::<S>() {
            Some(i) => re + i * S::from_real(number(&T::lit(0.0))),
            None => re,
        }
    };
    match zero {
        Datum::Complex(z) => Datum::Complex(parts(z)),
        Datum::Complexes(zs) => Datum::Complexes(Arc::new(zs.map(parts))),
        Datum::Real(x) => Datum::Real(number(x)),
        Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(number))),
        Datum::Tuple(fields) => Datum::Tuple(fields.iter().map(|d| seeded(d, members)).collect()),
        other => other.clone(),
    }
}

pub(super) fn flatten<S: Scalar>(d: &Datum<S>, row: &mut Vec<S::Real>) {
    match d {
        Datum::Real(x) => row.push(x.clone()),
        Datum::Reals(xs) => row.extend(xs.iter().cloned()),
        Datum::Complex(z) => split_number(z, row),
        Datum::Complexes(zs) => zs.iter().for_each(|z| split_number(z, row)),
        Datum::Tuple(fields) => fields.iter().for_each(|f| flatten(f, row)),
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => {}
    }
}

fn split_number<S: Scalar>(z: &S, row: &mut Vec<S::Real>) {
    row.push(z.re());
    if imaginary::<S>().is_some() {
        row.push(z.im());
    }
}
