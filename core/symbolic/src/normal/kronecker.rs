//! Complete factorization of polynomials in several atoms by Kronecker's substitution.
//!
//! The k-th atom becomes `t^(w_k)`, where `w_k` is the product of `degree + 1` over those before:
//! exponents become the digits of one. Each factor becomes a product of some of the irreducible
//! factors of the image. A product of such is one where no digit carries: its digits and those of
//! the cofactor add up to no more than the degrees.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::{
    atoms::{Atom, AtomProduct, TrigFactor},
    integer::{self, Poly},
    sum::{BigFraction, NormalSum},
};

/// The highest degree of an image.
const MAX_DEGREE: usize = 600;
/// Products of factors of the image that are tried.
const SUBSETS: usize = 1 << 14;

/// Primitive factors with a positive leading coefficient, and whether each is known to be
/// irreducible.
pub(super) struct PartialFactorization {
    pub(super) factors: Vec<(NormalSum, i32)>,
    pub(super) is_complete: bool,
}

/// Returns the factors of a polynomial with whole coefficients; `None` if its image has too high a
/// degree.
pub(super) fn split(p: &NormalSum) -> Option<PartialFactorization> {
    let digits = KroneckerDigits::new(p)?;
    let image = digits.image(p)?;
    let whole = integer::factorization(&image);
    let mut found: BTreeMap<NormalSum, i32> = BTreeMap::new();
    let mut is_complete = whole.is_complete;
    if digits.places.len() < 2 {
        for (f, e) in &whole.factors {
            *found.entry(digits.sum(f)).or_default() += i32::try_from(*e).ok()?;
        }
    } else {
        let parts =
            whole.factors.iter().flat_map(|(f, e)| std::iter::repeat_n(f.clone(), *e)).collect();
        let (factors, all) =
            KroneckerRecombination { digits: &digits, parts, rest: image, left: SUBSETS }.run();
        is_complete &= all;
        for f in factors {
            *found.entry(digits.sum(&f)).or_default() += 1;
        }
    }
    Some(PartialFactorization { factors: found.into_iter().collect(), is_complete })
}

/// Returns the greatest common divisor, primitive, of two polynomials in the same single atom.
pub(super) fn gcd_in_one_atom(a: &NormalSum, b: &NormalSum) -> Option<NormalSum> {
    let (in_a, in_b) = (KroneckerDigits::new(a)?, KroneckerDigits::new(b)?);
    let ([(x, ..)], [(y, ..)]) = (in_a.places.as_slice(), in_b.places.as_slice()) else {
        return None;
    };
    let image = |digits: &KroneckerDigits, p: &NormalSum| {
        digits.image(&p.times_fraction(&p.content().recip()).ok()?)
    };
    let common = integer::gcd(&image(&in_a, a)?, &image(&in_b, b)?);
    let larger = if in_a.places[0].1 > in_b.places[0].1 { &in_a } else { &in_b };
    (x == y).then(|| larger.sum(&common))
}

/// Atoms with their degrees and weights.
struct KroneckerDigits {
    places: Vec<(Atom, usize, usize)>,
}

impl KroneckerDigits {
    fn new(p: &NormalSum) -> Option<KroneckerDigits> {
        let mut degrees: BTreeMap<&Atom, usize> = BTreeMap::new();
        for (atom, e) in p.terms().keys().flat_map(|product| &product.powers) {
            let degree = degrees.entry(atom).or_default();
            *degree = usize::try_from(*e).ok()?.max(*degree);
        }
        let (mut weight, mut places) = (1usize, Vec::new());
        for (atom, degree) in degrees {
            places.push((atom.clone(), degree, weight));
            weight = weight.checked_mul(degree + 1).filter(|w| *w <= MAX_DEGREE + 1)?;
        }
        Some(KroneckerDigits { places })
    }

    fn image(&self, p: &NormalSum) -> Option<Poly> {
        let size = self.places.iter().map(|(_, degree, weight)| degree * weight).sum::<usize>() + 1;
        let mut out = vec![BigInt::zero(); size];
        for (product, q) in p.terms() {
            let place = |(atom, e): &(Atom, i32)| {
                let weight = self.places.iter().find(|x| x.0 == *atom)?.2;
                Some(usize::try_from(*e).ok()? * weight)
            };
            let at = product.powers.iter().map(place).sum::<Option<usize>>()?;
            *out.get_mut(at)? += q.is_integer().then(|| q.numer())?;
        }
        Some(integer::trimmed(out))
    }

    fn digit(&self, exponent: usize, place: usize) -> usize {
        let (_, degree, weight) = &self.places[place];
        exponent / weight % (degree + 1)
    }

    fn sum(&self, f: &Poly) -> NormalSum {
        let terms = f.iter().enumerate().filter(|(_, c)| !c.is_zero()).map(|(at, c)| {
            let powers = (0..self.places.len()).filter_map(|k| {
                let e = i32::try_from(self.digit(at, k)).ok().filter(|e| *e > 0)?;
                Some((self.places[k].0.clone(), e))
            });
            (
                AtomProduct { powers: powers.collect(), trig: TrigFactor::None },
                BigFraction::from_integer(c.clone()),
            )
        });
        let sum = NormalSum::from_terms(terms);
        if sum.lead().is_some_and(|(_, q)| *q < BigFraction::zero()) { sum.negated() } else { sum }
    }

    /// Returns the degrees in each atom.
    fn degrees(&self, f: &Poly) -> Vec<usize> {
        let exponents = || f.iter().enumerate().filter(|x| !x.1.is_zero()).map(|x| x.0);
        (0..self.places.len())
            .map(|k| exponents().map(|e| self.digit(e, k)).max().unwrap_or(0))
            .collect()
    }

    /// Returns true if each digit of one exponent is at most that of the other.
    fn divides(&self, one: usize, other: usize) -> bool {
        (0..self.places.len()).all(|k| self.digit(one, k) <= self.digit(other, k))
    }

    fn carries(&self, f: &Poly, g: &Poly) -> bool {
        let sums = self.degrees(f).into_iter().zip(self.degrees(g));
        sums.zip(&self.places).any(|((a, b), (_, degree, _))| a + b > *degree)
    }
}

struct KroneckerRecombination<'a> {
    digits: &'a KroneckerDigits,
    parts: Vec<Poly>,
    rest: Poly,
    left: usize,
}

impl KroneckerRecombination<'_> {
    fn run(mut self) -> (Vec<Poly>, bool) {
        let (mut out, mut size) = (Vec::new(), 1);
        while 2 * size <= self.parts.len() {
            match self.find(size) {
                Some(Some((f, rest, subset))) => {
                    out.push(f);
                    self.rest = rest;
                    subset.iter().rev().for_each(|k| drop(self.parts.remove(*k)));
                }
                Some(None) => size += 1,
                None => {
                    out.push(self.rest);
                    return (out, false);
                }
            }
        }
        if integer::degree(&self.rest) > 0 {
            out.push(self.rest);
        }
        (out, true)
    }

    /// Returns a factor, its cofactor and the parts that it consists of; `None` where too many were
    /// tried.
    #[expect(clippy::option_option, reason = "found, not there, or given up")]
    fn find(&mut self, size: usize) -> Option<Option<(Poly, Poly, Vec<usize>)>> {
        let mut subset: Vec<usize> = (0..size).collect();
        loop {
            self.left = self.left.checked_sub(1)?;
            if let Some((f, rest)) = self.factor(&subset) {
                return Some(Some((f, rest, subset)));
            }
            if !integer::advance(&mut subset, self.parts.len()) {
                return Some(None);
            }
        }
    }

    fn factor(&self, subset: &[usize]) -> Option<(Poly, Poly)> {
        // The first and the last terms of factors divide those of the product.
        let low = |f: &Poly| f.iter().take_while(|c| c.is_zero()).count();
        let parts = || subset.iter().map(|k| &self.parts[*k]);
        let high = parts().map(integer::degree).sum();
        if !self.digits.divides(high, integer::degree(&self.rest))
            || !self.digits.divides(parts().map(low).sum(), low(&self.rest))
        {
            return None;
        }
        let f = parts().fold(vec![BigInt::one()], |f, g| integer::product(&f, g));
        let rest = integer::exact_quotient(&self.rest, &f)?;
        (!self.digits.carries(&f, &rest)).then_some((f, rest))
    }
}
