//! Factors modulo a prime lifted to factors modulo a power of it.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Zero;

use super::{
    modular::{self, Residues},
    polynomial::{Poly, difference, product, trimmed},
};

/// Returns the factors of f modulo the least `p^(2^k)` above a bound, and that modulus. f and its
/// factors modulo p have leading coefficient 1 there, the factors no common ones.
pub(super) fn lifted(
    f: &Poly,
    factors: &[Residues],
    p: u64,
    bound: &BigInt,
) -> (Vec<Poly>, BigInt) {
    let mut modulus = BigInt::from(p);
    while modulus <= *bound {
        modulus = &modulus * &modulus;
    }
    let lead = f.last().cloned().unwrap_or_default();
    let by = lead.extended_gcd(&modulus).x;
    let f = reduced(f.iter().map(|c| c * &by).collect(), &modulus);
    let mut out = Vec::new();
    tree(f, factors, p, &modulus, &mut out);
    (out, modulus)
}

/// Splits f into two halves of its factors, and those again.
fn tree(f: Poly, factors: &[Residues], p: u64, modulus: &BigInt, out: &mut Vec<Poly>) {
    if factors.len() < 2 {
        out.push(f);
        return;
    }
    let (left, right) = factors.split_at(factors.len() / 2);
    let all = |list: &[Residues]| list.iter().fold(vec![1], |g, h| modular::product(&g, h, p));
    let (g, h) = pair(&f, &all(left), &all(right), p, modulus);
    tree(g, left, p, modulus, out);
    tree(h, right, p, modulus, out);
}

/// Lifts `f = g h` modulo p to a power of p by steps that square the modulus.
fn pair(f: &Poly, g: &Residues, h: &Residues, p: u64, modulus: &BigInt) -> (Poly, Poly) {
    let (s, t) = modular::cofactors(g, h, p);
    let big = |list: &Residues| list.iter().map(|c| BigInt::from(*c)).collect::<Poly>();
    let (mut g, mut h, mut s, mut t) = (big(g), big(h), big(&s), big(&t));
    let mut m = BigInt::from(p);
    while m < *modulus {
        m = &m * &m;
        let sum = |a: &Poly, b: &Poly| reduced(difference(a, &b.iter().map(|c| -c).collect()), &m);
        let times = |a: &Poly, b: &Poly| reduced(product(a, b), &m);
        let e = reduced(difference(f, &product(&g, &h)), &m);
        let (q, r) = divided(&times(&s, &e), &h, &m);
        g = sum(&sum(&g, &times(&t, &e)), &times(&q, &g));
        h = sum(&h, &r);
        let b = reduced(difference(&sum(&times(&s, &g), &times(&t, &h)), &vec![1.into()]), &m);
        let (c, d) = divided(&times(&s, &b), &h, &m);
        s = reduced(difference(&s, &d), &m);
        let less = sum(&times(&t, &b), &times(&c, &g));
        t = reduced(difference(&t, &less), &m);
    }
    (g, h)
}

fn reduced(f: Poly, m: &BigInt) -> Poly {
    trimmed(f.into_iter().map(|c| c.mod_floor(m)).collect())
}

/// Quotient and remainder by a g with leading coefficient 1.
fn divided(f: &Poly, g: &Poly, m: &BigInt) -> (Poly, Poly) {
    let mut rest = f.clone();
    let mut out = vec![BigInt::zero(); (f.len() + 1).saturating_sub(g.len())];
    for k in (0..out.len()).rev() {
        let q = rest[k + g.len() - 1].mod_floor(m);
        for (c, b) in rest[k..].iter_mut().zip(g) {
            *c -= &q * b;
        }
        out[k] = q;
    }
    (trimmed(out), reduced(rest, m))
}
