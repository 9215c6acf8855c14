//! Arithmetic of polynomials over the integers.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use super::modular::{self, PRIMES};

/// Coefficients from the constant one on; the last is not 0. Zero has none.
pub(in crate::normal) type Poly = Vec<BigInt>;

/// Returns the degree; 0 for zero.
pub(in crate::normal) fn degree(f: &Poly) -> usize {
    f.len().saturating_sub(1)
}

pub(in crate::normal) fn trimmed(mut f: Poly) -> Poly {
    while f.last().is_some_and(Zero::is_zero) {
        f.pop();
    }
    f
}

pub(in crate::normal) fn product(f: &Poly, g: &Poly) -> Poly {
    if f.is_empty() || g.is_empty() {
        return Poly::new();
    }
    let mut out = vec![BigInt::zero(); f.len() + g.len() - 1];
    for (i, a) in f.iter().enumerate().filter(|x| !x.1.is_zero()) {
        for (c, b) in out[i..].iter_mut().zip(g) {
            *c += a * b;
        }
    }
    out
}

pub(super) fn difference(f: &Poly, g: &Poly) -> Poly {
    let mut out = f.clone();
    out.resize(f.len().max(g.len()), BigInt::zero());
    for (c, b) in out.iter_mut().zip(g) {
        *c -= b;
    }
    trimmed(out)
}

pub(super) fn derivative(f: &Poly) -> Poly {
    f.iter().enumerate().skip(1).map(|(k, c)| c * k).collect()
}

/// Returns the primitive part: without the greatest common divisor of its coefficients, the leading
/// one positive.
pub(in crate::normal) fn primitive(f: &Poly) -> Poly {
    let content = f.iter().fold(BigInt::zero(), |d, c| d.gcd(c));
    match f.last() {
        None => Poly::new(),
        Some(lead) => {
            let content = if lead.is_negative() { -content } else { content };
            if content.is_one() { f.clone() } else { f.iter().map(|c| c / &content).collect() }
        }
    }
}

/// Computes `f / g` if the quotient is a polynomial over the integers.
pub(in crate::normal) fn exact_quotient(f: &Poly, g: &Poly) -> Option<Poly> {
    let lead = g.last()?;
    let mut rest = f.clone();
    let mut out = vec![BigInt::zero(); (f.len() + 1).saturating_sub(g.len())];
    for k in (0..out.len()).rev() {
        let top = &rest[k + g.len() - 1];
        if top.is_zero() {
            continue;
        }
        let (q, r) = top.div_rem(lead);
        if !r.is_zero() {
            return None;
        }
        for (c, b) in rest[k..].iter_mut().zip(g) {
            *c -= &q * b;
        }
        out[k] = q;
    }
    rest.iter().all(Zero::is_zero).then_some(out)
}

/// Returns the greatest common divisor, primitive, from those modulo primes by the Chinese
/// remainder theorem.
pub(in crate::normal) fn gcd(f: &Poly, g: &Poly) -> Poly {
    let (f, g) = (primitive(f), primitive(g));
    let (Some(a), Some(b)) = (f.last(), g.last()) else { return if f.is_empty() { g } else { f } };
    let lead = a.gcd(b);
    let mut found: Option<(Poly, BigInt)> = None;
    for p in modular::large_primes() {
        let images = [modular::image(&f, p), modular::image(&g, p)];
        if images[0].len() < f.len() || images[1].len() < g.len() {
            continue;
        }
        let image = modular::gcd(&images[0], &images[1], p);
        if image.len() == 1 {
            return vec![BigInt::one()];
        }
        let scale = modular::image(std::slice::from_ref(&lead), p);
        let image = modular::product(&image, &scale, p);
        match &mut found {
            // Primes that divide a resultant have images that are too long.
            Some((all, _)) if image.len() > all.len() => {}
            Some((all, modulus)) if image.len() == all.len() => {
                if combined(all, modulus, &image, p) {
                    let candidate = primitive(&all.iter().map(|c| centred(c, modulus)).collect());
                    let divides = |h: &Poly| exact_quotient(h, &candidate).is_some();
                    if divides(&f) && divides(&g) {
                        return candidate;
                    }
                }
            }
            _ => found = Some((image.iter().map(|c| BigInt::from(*c)).collect(), BigInt::from(p))),
        }
    }
    vec![BigInt::one()]
}

/// Takes residues modulo one more prime into those modulo others; true if nothing changes but the
/// modulus.
fn combined(all: &mut Poly, modulus: &mut BigInt, image: &[u64], p: u64) -> bool {
    let residue =
        |c: &BigInt| modular::image(std::slice::from_ref(c), p).first().copied().unwrap_or(0);
    let by = modular::inverse(residue(modulus), p);
    let mut same = true;
    for (c, new) in all.iter_mut().zip(image) {
        // The difference of representatives about 0 is 0 once they are the coefficients themselves.
        let old = centred(c, modulus);
        let step = (new + p - residue(&old)) % p * by % p;
        same &= step == 0;
        *c = old + &*modulus * step;
    }
    *modulus *= p;
    same
}

/// Returns the residue between plus and minus half of the modulus.
pub(super) fn centred(c: &BigInt, modulus: &BigInt) -> BigInt {
    let c = c.mod_floor(modulus);
    if &c * 2 > *modulus { c - modulus } else { c }
}

/// True if f is seen to have no repeated factor modulo some prime, and so has none.
pub(super) fn is_square_free_modulo(f: &Poly) -> bool {
    PRIMES.iter().rev().take(4).any(|&p| {
        let image = modular::image(f, p);
        image.len() == f.len() && modular::is_square_free(&image, p)
    })
}
