//! Pairs of exponentials written as hyperbolic functions: what is printed and evaluated is
//! `sinh(a)` rather than `exp(a)/2 - exp(-a)/2`, which loses digits near 0.

use std::collections::BTreeMap;

use num_traits::{One, Signed, Zero};

use super::{
    atoms::{Atom, AtomProduct, TrigFactor},
    functions::is_negative,
    sum::{BigFraction, NormalSum, whole},
};

/// Rewrites a sum with `c e^a + c e^-a` as `2 c cosh a` and `c e^a - c e^-a` as `2 c sinh a`, also
/// in denominators, but not in the arguments of functions.
pub(super) fn collected(sum: &NormalSum) -> NormalSum {
    type ExponentialPair = (Option<BigFraction>, Option<BigFraction>);
    let mut pairs: BTreeMap<(AtomProduct, NormalSum), ExponentialPair> = BTreeMap::new();
    let mut out: BTreeMap<AtomProduct, BigFraction> = BTreeMap::new();
    let mut put = |product: AtomProduct, q: BigFraction| {
        *out.entry(product).or_insert_with(BigFraction::zero) += q
    };
    for (product, q) in sum.terms() {
        let (product, q) = with_collected_denominators(product, q);
        match exponent(&product) {
            Some((rest, a)) if is_negative(&a) => {
                pairs.entry((rest, a.negated())).or_default().1 = Some(q)
            }
            Some(key) => pairs.entry(key).or_default().0 = Some(q),
            None => put(product, q),
        }
    }
    for ((rest, a), pair) in pairs {
        match pair {
            (Some(p), Some(q)) if p.abs() == q.abs() => {
                let name = if p == q { "cosh" } else { "sinh" };
                put(with(&rest, name, a), p * whole(2));
            }
            (p, q) => {
                let negative = a.negated();
                p.into_iter().for_each(|p| put(with(&rest, "exp", a.clone()), p));
                q.into_iter().for_each(|q| put(with(&rest, "exp", negative.clone()), q));
            }
        }
    }
    NormalSum::from_terms(out.into_iter())
}

/// Returns a product without its exponential, and the exponent of that.
fn exponent(product: &AtomProduct) -> Option<(AtomProduct, NormalSum)> {
    let (atom, a) = product.powers.iter().find_map(|(atom, e)| match atom {
        Atom::Call("exp", args) if *e == 1 => Some((atom, args.first()?)),
        _ => None,
    })?;
    Some((product.without(atom), a.clone()))
}

fn with(rest: &AtomProduct, name: &'static str, a: NormalSum) -> AtomProduct {
    let mut product = rest.clone();
    product.powers.push((Atom::Call(name, vec![a]), 1));
    product.powers.sort();
    product
}

/// Denominators that become one product give their coefficient to that of the term.
fn with_collected_denominators(
    product: &AtomProduct,
    q: &BigFraction,
) -> (AtomProduct, BigFraction) {
    let mut out = AtomProduct { powers: Vec::new(), trig: product.trig.clone() };
    let mut q = q.clone();
    for (atom, e) in &product.powers {
        let below = match atom {
            Atom::Inverse(sum) if sum.terms().keys().all(|p| p.trig == TrigFactor::None) => {
                collected(sum)
            }
            _ => NormalSum::zero(),
        };
        match below.terms().first_key_value() {
            Some((single, c)) if below.terms().len() == 1 => {
                q /= c.pow(*e);
                out.powers
                    .push((Atom::Inverse(NormalSum::term(single.clone(), BigFraction::one())), *e));
            }
            _ => out.powers.push((atom.clone(), *e)),
        }
    }
    out.powers.sort();
    (out, q)
}
