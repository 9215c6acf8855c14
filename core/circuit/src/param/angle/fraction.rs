//! Sums and products of fractions and decimals, exact where they fit in 64 bits, and with a
//! rounding bound elsewhere.
//!
//! All of these may get numbers of users, so nothing here may overflow: a result that is not exact
//! is `None`, or is rounded. The operators of [`Ratio`] overflow silently or panic, its `checked_…`
//! methods do not.

#![deny(clippy::arithmetic_side_effects)]

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, ToPrimitive};

use super::Q;
use crate::param::{decimal::Decimal, rounding::UNIT};

#[doc(hidden)]
pub fn q_to_f64(q: Q) -> f64 {
    // A fraction of 64-bit integers always has a nearest f64.
    q.to_f64().unwrap_or(f64::NAN)
}

/// Returns a multiple of pi reduced to less than that many turns from 0.
pub(in crate::param) fn within_turns(pi: Q, turns: i64) -> Q {
    let (n, d) = (*pi.numer(), *pi.denom());
    // The part that is subtracted is a multiple of the denominator: the fraction stays in lowest
    // terms. Where the integer part does not fit in 64 bits, the fraction is less.
    let whole = turns.checked_mul(2).and_then(|turns| d.checked_mul(turns));
    whole.and_then(|whole| n.checked_rem(whole)).map_or(pi, |rest| Q::new_raw(rest, d))
}

/// Returns the remainder of `a / b` for a truncated quotient, with the sign of `a`; `None` if it
/// does not fit in 64 bits or b is 0.
#[doc(hidden)]
pub fn remainder(a: Q, b: Q) -> Option<Q> {
    let ((a, c), (b, d)) = ((*a.numer(), *a.denom()), (*b.numer(), *b.denom()));
    // Products of two numbers of 64 bits have 127 at most.
    let product = |x: i64, y: i64| i128::from(x).checked_mul(i128::from(y));
    narrow(Ratio::new(product(a, d)?.checked_rem(product(b, c)?)?, product(c, d)?))
}

/// Returns `1 / q`, if it fits in 64 bits.
#[doc(hidden)]
pub fn reciprocal(q: Q) -> Option<Q> {
    // The least i64 has no negative.
    (!matches!(*q.numer(), 0 | i64::MIN)).then(|| q.recip())
}

/// The largest whole number that is not above.
#[doc(hidden)]
pub fn floor(q: Q) -> i64 {
    // Denominators are positive.
    q.numer().checked_div_euclid(*q.denom()).unwrap_or(i64::MIN)
}

/// Returns the fraction in 64 bits, if it fits.
fn narrow(q: Ratio<i128>) -> Option<Q> {
    Some(Q::new_raw(q.numer().to_i64()?, q.denom().to_i64()?))
}

/// Rounds to a fraction near `x`, if one fits in 64 bits; with the rounding bound if x is rounded
/// itself.
fn round(x: f64) -> Option<(Q, f64)> {
    // Accurate to 1e-19: that leaves few digits of a small number, and all of its reciprocal.
    let as_it_is = Q::approximate_float(x)?;
    let upside_down = Q::approximate_float(x.recip()).and_then(reciprocal);
    let error = |q: Q| (q_to_f64(q) - x).abs();
    let near = upside_down.filter(|q| error(*q) < error(as_it_is)).unwrap_or(as_it_is);
    Some((near, error(near) + 4.0 * UNIT * x.abs()))
}

/// Returns the product, if it fits in 64 bits. Most coefficients are 0 or 1, for which nothing has
/// to be reduced.
pub(super) fn exact_mul(a: Q, b: Q) -> Option<Q> {
    match ((*a.numer(), *a.denom()), (*b.numer(), *b.denom())) {
        ((1, 1), _) | (_, (0, _)) => Some(b),
        (_, (1, 1)) | ((0, _), _) => Some(a),
        _ => a.checked_mul(&b),
    }
}

/// Returns the fraction that is meant by a short decimal; for any other number its rounding bound,
/// as an error.
fn decimal(x: f64) -> Result<Ratio<i128>, f64> {
    let decimal = Decimal::new(x).ok_or(f64::INFINITY)?;
    let short = decimal.is_short();
    decimal
        .fraction()
        .filter(|_| short)
        .ok_or_else(|| if short { 0.0 } else { decimal.rounding_bound() })
}

/// Returns the fraction in a type with room for products.
#[doc(hidden)]
pub fn widen(q: Q) -> Ratio<i128> {
    Ratio::new_raw(i128::from(*q.numer()), i128::from(*q.denom()))
}

/// Returns the float nearest to a fraction, with the rounding bound if the fraction is not the
/// short decimal that the float is.
fn nearest(exact: Ratio<i128>) -> Option<(f64, f64)> {
    let x = exact.to_f64()?;
    Some((x, if decimal(x) == Ok(exact) { 0.0 } else { UNIT * x.abs() }))
}

/// Returns the sum and its rounding bound; for short decimals the float nearest to the sum of the
/// decimals, which often is a short decimal again: 0.1 + 0.2 = 0.3.
pub(super) fn add_radians(a: f64, b: f64) -> (f64, f64) {
    if a == 0.0 || b == 0.0 {
        return (a + b, 0.0);
    }
    let (x, y) = (decimal(a), decimal(b));
    let exact = x.as_ref().ok().zip(y.as_ref().ok()).and_then(|(x, y)| nearest(x.checked_add(y)?));
    exact.unwrap_or_else(|| {
        (a + b, UNIT * (a + b).abs() + x.err().unwrap_or_default() + y.err().unwrap_or_default())
    })
}

/// Returns the product and its rounding bound, in the same way.
pub(super) fn multiply_radians(a: f64, q: Q) -> (f64, f64) {
    match (*q.numer(), *q.denom()) {
        (1, 1) => return (a, 0.0),
        (-1, 1) => return (-a, 0.0),
        _ => {}
    }
    let x = decimal(a);
    let exact = x.as_ref().ok().and_then(|x| nearest(x.checked_mul(&widen(q))?));
    exact.unwrap_or_else(|| {
        let factor = q_to_f64(q);
        let product = a * factor;
        (product, 2.0 * UNIT * product.abs() + x.err().unwrap_or_default() * factor.abs())
    })
}

/// Returns the product of an angle without parameters and a decimal, in the same way.
pub(super) fn multiply_constant(pi: Q, radians: f64, x: f64) -> (f64, f64) {
    let (own, factor) = (decimal(radians), decimal(x));
    let exact = own.as_ref().ok().zip(factor.as_ref().ok()).filter(|_| *pi.numer() == 0);
    exact.and_then(|(own, factor)| nearest(own.checked_mul(factor)?)).unwrap_or_else(|| {
        let of_pi = q_to_f64(pi) * std::f64::consts::PI;
        let all = of_pi + radians;
        let rounding = 4.0 * UNIT * (of_pi.abs() + radians.abs()) * x.abs();
        let doubts =
            own.err().unwrap_or_default() * x.abs() + factor.err().unwrap_or_default() * all.abs();
        (all * x, rounding + doubts)
    })
}

/// Returns the sum and its rounding bound.
pub(super) fn q_add(a: Q, b: Q) -> Option<(Q, f64)> {
    a.checked_add(&b).map(|sum| (sum, 0.0)).or_else(|| round(q_to_f64(a) + q_to_f64(b)))
}

pub(super) fn q_mul(a: Q, b: Q) -> Option<(Q, f64)> {
    exact_mul(a, b).map(|product| (product, 0.0)).or_else(|| round(q_to_f64(a) * q_to_f64(b)))
}

/// The product of a coefficient with a decimal.
pub(super) fn q_times(q: Q, x: f64) -> Option<(Q, f64)> {
    let (near, off) = round(q_to_f64(q) * x)?;
    let exact = decimal(x).map(|x| x.checked_mul(&widen(q)));
    let doubt = exact.as_ref().err().copied().unwrap_or_default();
    let off = if exact == Ok(Some(widen(near))) { 0.0 } else { off + doubt * q_to_f64(q).abs() };
    Some((near, off))
}

/// Returns the number as a fraction k/2^m with m <= 20, if it is one. Large floats always are:
/// those must equal the decimal, too.
pub(super) fn dyadic(x: f64) -> Option<Q> {
    const SCALE: i64 = 1 << 20;
    const TELLING: f64 = (1u64 << 40) as f64;
    let scaled = x * Q::from_integer(SCALE).to_f64()?;
    let numerator = if scaled.fract() == 0.0 { scaled.to_i64()? } else { return None };
    let q = (numerator != i64::MIN).then(|| Q::new(numerator, SCALE))?;
    let told = || Decimal::new(x).and_then(|decimal| decimal.fraction()) == Some(widen(q));
    (scaled.abs() < TELLING || told()).then_some(q)
}
