//! A number as a product, where variables separate: `cos(a/2) cos(b/2)` rather than the sum of two
//! cosines.
//!
//! A variable z separates if the coefficients of its powers are multiples of each other by numbers:
//! then `P = sum_e z^e r_e R` with numbers `r_e`, and R does not hold z. The phases that are left,
//! `e^{i(…)}`, are gathered in one factor. The product is exactly the number that was given; what
//! does not separate stays a sum.

use super::{Exact, Symbols, symbols::ExponentField, terms::I};
use crate::scalar::Ring;

/// Numbers of more terms are left as they are.
const MOST: usize = 4096;

/// Factors whose product is the number: those of one variable first, then what is left.
pub(super) fn factors(number: &Exact, symbols: &Symbols) -> Vec<Exact> {
    let mut rest = number.clone();
    let (mut found, mut phase) = (Vec::new(), Exact::from(1));
    if number.n_terms() <= MOST {
        for k in 0..symbols.fields().len() {
            let slices = slices(&rest, symbols, k);
            match slices.as_slice() {
                [(0, _)] | [] => {}
                [(e, slice)] => {
                    phase *= Exact::monomial(symbols.fields()[k].key(*e));
                    rest = slice.clone();
                }
                _ => {
                    if let Some((factor, slice)) = separate(&slices, symbols, &symbols.fields()[k])
                    {
                        found.push(factor);
                        rest = slice;
                    }
                }
            }
        }
    }
    // A phase joins the number that is left, if that is one, unless it is a plain factor 1 or i.
    if let [(root, _)] = rest.terms()
        && root & !I != 0
    {
        rest *= phase;
    } else if !phase.is_exact_one() {
        found.push(phase);
    }
    if !rest.is_exact_one() || found.is_empty() {
        found.push(rest);
    }
    found
}

/// Returns the coefficients of the powers of variable k, by exponent.
fn slices(number: &Exact, symbols: &Symbols, k: usize) -> Vec<(i64, Exact)> {
    let field = &symbols.fields()[k];
    let mut groups: std::collections::BTreeMap<i64, Vec<(u128, i128)>> =
        std::collections::BTreeMap::new();
    for &(key, c) in number.terms() {
        let e = symbols.split(key).1.nth(k).unwrap_or(0);
        groups.entry(e).or_default().push((key.wrapping_sub(field.key(e)), c));
    }
    groups.into_iter().map(|(e, terms)| (e, Exact::of_terms(terms, number.roots()))).collect()
}

/// `(sum_e z^e r_e, R)`, if the slices are multiples of each other.
fn separate(
    slices: &[(i64, Exact)],
    symbols: &Symbols,
    field: &ExponentField,
) -> Option<(Exact, Exact)> {
    let (lowest, first) = slices.first()?;
    // The coefficient by which slices are compared has to be a unit: 1 / sqrt(2)^h times a root of
    // unity.
    let leads = |slice: &Exact| leads(slice, symbols);
    let unit = leads(first).into_iter().find(|(_, lead)| inverse(lead).is_some())?;
    let inverse = inverse(&unit.1)?;
    let (mut factor, mut rest) = (Exact::from(0), first.clone());
    let mut mirror = None;
    for (e, slice) in slices {
        let lead = leads(slice).into_iter().find(|(exponents, _)| *exponents == unit.0)?.1;
        let ratio = lead * &inverse;
        let same =
            |slice: &Exact| symbols.reduced(slice.clone()) == symbols.reduced(&ratio * first);
        if ratio.fault().is_some() || !same(slice) {
            return None;
        }
        mirror = mirror.or_else(|| (*e == -lowest).then(|| ratio.clone()));
        factor += ratio * Exact::monomial(field.key(*e));
    }
    // 1/z + r z with a root of unity r becomes real: sqrt(conj r) before the factor, its inverse
    // before the rest.
    if let Some(half) = mirror.and_then(|r| symbols.half_turn(&r)) {
        factor *= Exact::monomial(half.wrapping_neg());
        rest *= Exact::monomial(half);
    }
    factor.fault().is_none().then_some((factor, rest))
}

/// Returns the coefficients of the monomials in the variables.
fn leads(slice: &Exact, symbols: &Symbols) -> Vec<(Vec<i64>, Exact)> {
    let mut groups: std::collections::BTreeMap<Vec<i64>, Vec<(u128, i128)>> =
        std::collections::BTreeMap::new();
    for &(key, c) in slice.terms() {
        let exponents: Vec<i64> = symbols.split(key).1.collect();
        let mut root = key;
        for (field, e) in symbols.fields().iter().zip(&exponents) {
            root = root.wrapping_sub(field.key(*e));
        }
        groups.entry(exponents).or_default().push((root, c));
    }
    groups.into_iter().map(|(e, terms)| (e, Exact::of_terms(terms, slice.roots()))).collect()
}

/// Returns one over a root of unity times a power of sqrt 2; `None` for anything else.
fn inverse(x: &Exact) -> Option<Exact> {
    match x.terms() {
        [(key, c @ (1 | -1))] => {
            let power = Exact::constant(*c, x.roots().checked_neg()?);
            Some(power * Exact::monomial(key.wrapping_neg()))
        }
        _ => None,
    }
}
