//! Sums of products and their arithmetic, every step of which keeps the normal form.

use std::{cmp::Ordering, collections::BTreeMap};

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Signed, Zero};

use super::{
    NormalError, NormalResult,
    atoms::{Atom, AtomProduct, TrigFactor, joined},
    functions::has_logarithm,
};

/// A coefficient.
pub(super) type BigFraction = Ratio<BigInt>;

/// The most bits that a numerator or a denominator of a coefficient may have.
pub(super) const MAX_BITS: u64 = 1 << 16;

/// Products with their coefficients, none of which is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NormalSum(BTreeMap<AtomProduct, BigFraction>);

/// Returns the fraction n / d.
pub(super) fn ratio(n: i64, d: i64) -> BigFraction {
    BigFraction::new(n.into(), d.into())
}

/// Returns the whole number n.
pub(super) fn whole(n: impl Into<BigInt>) -> BigFraction {
    BigFraction::from_integer(n.into())
}

/// Computes `a + b`. Whole numbers need no greatest common divisor, and most coefficients are
/// whole.
pub(super) fn q_sum(a: &BigFraction, b: &BigFraction) -> NormalResult<BigFraction> {
    if a.is_integer() && b.is_integer() {
        return bounded(BigFraction::from_integer(a.numer() + b.numer()));
    }
    bounded(a + b)
}

/// Computes `a b`.
pub(super) fn q_product(a: &BigFraction, b: &BigFraction) -> NormalResult<BigFraction> {
    if a.is_integer() && b.is_integer() {
        return bounded(BigFraction::from_integer(a.numer() * b.numer()));
    }
    bounded(a * b)
}

fn bounded(q: BigFraction) -> NormalResult<BigFraction> {
    if q.numer().bits().max(q.denom().bits()) > MAX_BITS {
        return Err(NormalError::Coefficient { bits: MAX_BITS });
    }
    Ok(q)
}

/// Powers by which sums are multiplied out at most.
const MAX_POWER: u32 = 64;
/// Largest depth of nested functions.
const MAX_DEPTH: usize = 512;
/// Largest ratio of all terms, those in functions included, to the terms of a sum.
const INNER: usize = 8;

impl NormalSum {
    pub(super) fn zero() -> NormalSum {
        NormalSum::default()
    }

    pub(super) fn constant(q: BigFraction) -> NormalSum {
        NormalSum::term(AtomProduct::ONE, q)
    }

    pub(super) fn one() -> NormalSum {
        NormalSum::constant(BigFraction::one())
    }

    pub(super) fn term(product: AtomProduct, q: BigFraction) -> NormalSum {
        NormalSum(if is_nothing(&q) { BTreeMap::new() } else { BTreeMap::from([(product, q)]) })
    }

    /// Different products with their coefficients.
    pub(super) fn from_terms(terms: impl Iterator<Item = (AtomProduct, BigFraction)>) -> NormalSum {
        NormalSum(terms.filter(|(_, q)| !is_nothing(q)).collect())
    }

    pub(super) fn atom(atom: Atom) -> NormalSum {
        NormalSum::term(AtomProduct::from_atom(atom), BigFraction::one())
    }

    pub(super) fn terms(&self) -> &BTreeMap<AtomProduct, BigFraction> {
        &self.0
    }

    pub(super) fn remove(&mut self, product: &AtomProduct) {
        self.0.remove(product);
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if it is the same number for all inputs.
    pub(super) fn is_constant(&self) -> bool {
        self.0.keys().all(AtomProduct::is_constant)
    }

    /// Returns the fraction that it is.
    pub(super) fn fraction(&self) -> Option<BigFraction> {
        match self.0.first_key_value() {
            None => Some(BigFraction::zero()),
            Some((product, q)) => {
                (self.0.len() == 1 && *product == AtomProduct::ONE).then(|| q.clone())
            }
        }
    }

    pub(super) fn has_trig_factors(&self) -> bool {
        self.0.keys().any(|p| p.trig != TrigFactor::None)
    }

    /// Returns true if its terms, those in functions included, are no more than there is room for,
    /// and its functions no deeper; the room that is left. Without room nothing fits.
    fn fits(&self, room: &mut usize, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        self.0.keys().all(|product| {
            *room = room.saturating_sub(1);
            let mut inner = |sum: &NormalSum| sum.fits(room, depth);
            let powers = product.powers.iter().all(|(atom, _)| match atom {
                Atom::Call(_, args) => args.iter().all(&mut inner),
                Atom::Inverse(sum) => inner(sum),
                Atom::Symbol(_) | Atom::Pi | Atom::Float(_) | Atom::Root(_) => true,
            });
            let wave = match &product.trig {
                TrigFactor::None => true,
                TrigFactor::Cos(sum) | TrigFactor::Sin(sum) => inner(sum),
            };
            powers && wave && *room > 0
        })
    }

    fn add_term(&mut self, product: AtomProduct, q: BigFraction) -> NormalResult<()> {
        match self.0.entry(product) {
            std::collections::btree_map::Entry::Vacant(place) => {
                if !is_nothing(&q) {
                    place.insert(q);
                }
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                let sum = q_sum(place.get(), &q)?;
                if is_nothing(&sum) {
                    place.remove();
                } else {
                    *place.get_mut() = sum;
                }
            }
        }
        Ok(())
    }

    pub(super) fn plus(&self, other: &NormalSum) -> NormalResult<NormalSum> {
        let mut out = self.clone();
        for (product, q) in &other.0 {
            out.add_term(product.clone(), q.clone())?;
        }
        Ok(out)
    }

    pub(super) fn times_fraction(&self, by: &BigFraction) -> NormalResult<NormalSum> {
        if is_nothing(by) {
            return Ok(NormalSum::zero());
        }
        self.0
            .iter()
            .map(|(p, q)| Ok((p.clone(), q_product(q, by)?)))
            .collect::<NormalResult<_>>()
            .map(NormalSum)
    }

    pub(super) fn negated(&self) -> NormalSum {
        NormalSum(self.0.iter().map(|(p, q)| (p.clone(), -q)).collect())
    }

    pub(super) fn minus(&self, other: &NormalSum) -> NormalResult<NormalSum> {
        self.plus(&other.negated())
    }

    /// Returns the greatest fraction that all coefficients are whole multiples of, with the sign of
    /// the leading one.
    pub(super) fn content(&self) -> BigFraction {
        let (mut n, mut d) = (BigInt::zero(), BigInt::one());
        for q in self.0.values() {
            n = n.gcd(q.numer());
            d = d.lcm(q.denom());
        }
        let negative = self.lead().is_some_and(|(_, q)| q.is_negative());
        match (n.is_zero(), negative) {
            (true, _) => BigFraction::one(),
            (false, true) => BigFraction::new(-n, d),
            (false, false) => BigFraction::new(n, d),
        }
    }

    /// Returns the term that is first in the order of division and of printing.
    pub(super) fn lead(&self) -> Option<(&AtomProduct, &BigFraction)> {
        self.0.iter().max_by(|a, b| rank(a.0, b.0))
    }

    /// Returns the exponents that all terms have at least, of atoms but roots and exponentials;
    /// trigonometric factors do not count.
    pub(super) fn common(&self) -> Vec<(Atom, i32)> {
        let mut out: Option<Vec<(Atom, i32)>> = None;
        for product in self.0.keys() {
            let Some(common) = &mut out else {
                let apart = |atom: &Atom| {
                    !matches!(atom, Atom::Root(_) | Atom::Call("exp" | "sqrt" | "abs" | "cbrt", _))
                };
                out = Some(product.powers.iter().filter(|p| apart(&p.0)).cloned().collect());
                continue;
            };
            let own = |atom: &Atom| product.exponent(atom);
            for power in common.iter_mut() {
                power.1 = power.1.min(own(&power.0));
            }
            // The other terms lack this one's denominators.
            let below = product
                .powers
                .iter()
                .filter(|p| p.1 < 0 && matches!(p.0, Atom::Symbol(_) | Atom::Pi));
            let new: Vec<_> =
                below.filter(|p| !common.iter().any(|c| c.0 == p.0)).cloned().collect();
            common.extend(new);
        }
        let mut out: Vec<_> = out.unwrap_or_default().into_iter().filter(|p| p.1 != 0).collect();
        out.sort();
        out
    }
}

/// Order of terms: of a higher degree first, then by the inputs; trigonometric factors last.
pub(super) fn rank(a: &AtomProduct, b: &AtomProduct) -> Ordering {
    let waves = (b.trig != TrigFactor::None).cmp(&(a.trig != TrigFactor::None));
    a.degree()
        .cmp(&b.degree())
        .then_with(|| lexicographic(&a.powers, &b.powers))
        .then(waves)
        .then_with(|| b.trig.cmp(&a.trig))
}

/// Orders products: the greater has more of the first atom in which they differ.
fn lexicographic(a: &[(Atom, i32)], b: &[(Atom, i32)]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        let order = match x.0.cmp(&y.0) {
            Ordering::Equal => x.1.cmp(&y.1),
            Ordering::Less => x.1.cmp(&0),
            Ordering::Greater => 0.cmp(&y.1),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    let rest = |list: &[(Atom, i32)], from: usize| list.get(from).map_or(0, |p| p.1);
    rest(a, b.len()).cmp(&rest(b, a.len()))
}

/// Multiplication and functions, within a number of terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Algebra {
    pub(super) limit: usize,
}

impl Algebra {
    pub(super) fn times(self, a: &NormalSum, b: &NormalSum) -> NormalResult<NormalSum> {
        if let Some(q) = a.fraction() {
            return b.times_fraction(&q);
        }
        if let Some(q) = b.fraction() {
            return a.times_fraction(&q);
        }
        let mut out = NormalSum::zero();
        for (p, x) in a.terms() {
            for (r, y) in b.terms() {
                let q = q_product(x, y)?;
                for (product, c) in self.product(p, r)?.0 {
                    out.add_term(product, q_product(&c, &q)?)?;
                }
                self.check(&out)?;
            }
        }
        self.cancelled(out)
    }

    /// Returns the sum of two, with what cancels cancelled.
    pub(super) fn sum(self, a: NormalSum, b: NormalSum) -> NormalResult<NormalSum> {
        let (mut sum, less) = if a.0.len() < b.0.len() { (b, a) } else { (a, b) };
        for (product, q) in less.0 {
            sum.add_term(product, q)?;
        }
        self.check(&sum)?;
        self.cancelled(sum)
    }

    /// Returns a sum, unless the arguments of its functions are too long or too deep.
    pub(super) fn fitting(self, sum: NormalSum) -> NormalResult<NormalSum> {
        let mut room = self.limit.saturating_mul(INNER);
        if !sum.fits(&mut room, MAX_DEPTH) {
            return Err(if room == 0 {
                NormalError::Inner { limit: self.limit.saturating_mul(INNER) }
            } else {
                NormalError::Depth { limit: MAX_DEPTH }
            });
        }
        Ok(sum)
    }

    fn check(self, sum: &NormalSum) -> NormalResult<()> {
        if sum.0.len() > self.limit {
            Err(NormalError::Terms { limit: self.limit })
        } else {
            Ok(())
        }
    }

    pub(super) fn power(self, x: &NormalSum, n: i32) -> NormalResult<NormalSum> {
        if n < 0 {
            let inverse = self.inverse(x)?;
            return self.power(&inverse, n.checked_neg().ok_or(NormalError::Exponent)?);
        }
        if x.0.len() > 1 && n.unsigned_abs() > MAX_POWER {
            return Err(NormalError::Terms { limit: self.limit });
        }
        let (mut out, mut square, mut e) = (NormalSum::one(), x.clone(), n);
        while e > 0 {
            if e & 1 == 1 {
                out = self.times(&out, &square)?;
            }
            e >>= 1;
            if e > 0 {
                square = self.times(&square, &square)?;
            }
        }
        Ok(out)
    }

    /// Returns the product of two products.
    fn product(self, a: &AtomProduct, b: &AtomProduct) -> NormalResult<NormalSum> {
        let powers = joined(&a.powers, &b.powers).ok_or(NormalError::Exponent)?;
        let waves = self.trig_product(&a.trig, &b.trig)?;
        self.times_powers(&waves, powers)
    }

    /// Splits a power of a root, an absolute value or a denominator into a factor and a lower
    /// power, and returns the factor and the exponent of that.
    fn taken_out(self, atom: &Atom, e: i32) -> NormalResult<Option<(NormalSum, i32)>> {
        Ok(match atom {
            Atom::Call("sqrt", args) if e != 1 => {
                Some((self.power(&args[0], e.div_euclid(2))?, e.rem_euclid(2)))
            }
            Atom::Call("abs", args) if e != 1 => {
                let square = self.times(&args[0], &args[0])?;
                Some((self.power(&square, e.div_euclid(2))?, e.rem_euclid(2)))
            }
            Atom::Call("cbrt", args) if e.div_euclid(3) != 0 => {
                Some((self.power(&args[0], e.div_euclid(3))?, e.rem_euclid(3)))
            }
            Atom::Inverse(sum) if e < 0 => {
                Some((self.power(sum, e.checked_neg().ok_or(NormalError::Exponent)?)?, 0))
            }
            _ => None,
        })
    }

    /// Multiplies a sum of trigonometric factors by powers of any exponents.
    fn times_powers(self, waves: &NormalSum, powers: Vec<(Atom, i32)>) -> NormalResult<NormalSum> {
        let (mut q, mut kept, mut more) = (BigFraction::one(), Vec::new(), Vec::new());
        let mut exponent: Option<(NormalSum, bool)> = None;
        for (atom, e) in powers {
            match &atom {
                Atom::Root(n) => {
                    let n = if e < 0 { whole(*n).recip() } else { whole(*n) };
                    for _ in 0..e.div_euclid(2).unsigned_abs() {
                        q = q_product(&q, &n)?;
                    }
                    if e.rem_euclid(2) == 1 {
                        kept.push((atom, 1));
                    }
                }
                Atom::Call("exp", args) => {
                    let part = args[0].times_fraction(&whole(e))?;
                    exponent = Some(match exponent {
                        None => (part, e == 1),
                        Some((sum, _)) => (sum.plus(&part)?, false),
                    });
                }
                _ => match self.taken_out(&atom, e)? {
                    Some((factor, left)) => {
                        more.push(factor);
                        if left != 0 {
                            kept.push((atom, left));
                        }
                    }
                    None => kept.push((atom, e)),
                },
            }
        }
        match exponent.filter(|e| !e.0.is_zero()) {
            Some((sum, false)) if has_logarithm(&sum) => more.push(self.exp(&sum)?),
            Some((sum, _)) => {
                kept.push((Atom::Call("exp", vec![sum]), 1));
                kept.sort();
            }
            None => {}
        }
        let mut out = NormalSum::zero();
        for (product, c) in waves.terms() {
            let powers = joined(&product.powers, &kept).ok_or(NormalError::Exponent)?;
            let c = q_product(c, &q)?;
            let whole = AtomProduct { powers, trig: product.trig.clone() };
            // The constants of trigonometric factors hold roots, which may meet others.
            if product.powers.is_empty() || kept.is_empty() {
                out.add_term(whole, c)?;
            } else {
                let alone =
                    NormalSum::term(AtomProduct { powers: Vec::new(), trig: whole.trig }, c);
                out = out.plus(&self.times_powers(&alone, whole.powers)?)?;
            }
        }
        for factor in more {
            out = self.times(&out, &factor)?;
        }
        Ok(out)
    }

    pub(super) fn inverse(self, x: &NormalSum) -> NormalResult<NormalSum> {
        if x.is_zero() {
            return Err(NormalError::DivisionByZero);
        }
        let turned = |powers: &[(Atom, i32)]| {
            powers.iter().map(|(a, e)| (a.clone(), -e)).collect::<Vec<_>>()
        };
        if let Some((product, q)) = x.terms().first_key_value()
            && x.terms().len() == 1
            && product.trig == TrigFactor::None
        {
            return self.times_powers(&NormalSum::constant(q.recip()), turned(&product.powers));
        }
        let common = x.common();
        let rest = self.times_powers(&NormalSum::one(), turned(&common))?;
        let rest = self.times(x, &rest)?;
        let lead = rest.lead().map_or_else(BigFraction::one, |(_, q)| q.clone());
        let rest = rest.times_fraction(&lead.recip())?;
        self.times_powers(&NormalSum::constant(lead.recip()), {
            let mut powers = turned(&common);
            powers.push((Atom::Inverse(rest), 1));
            powers.sort();
            powers
        })
    }

    /// Cancels denominators that divide the numerator.
    fn cancelled(self, mut sum: NormalSum) -> NormalResult<NormalSum> {
        loop {
            let found = sum.terms().keys().flat_map(|p| &p.powers).find_map(|(atom, _)| {
                let Atom::Inverse(below) = atom else { return None };
                let most = sum.terms().keys().map(|p| p.exponent(atom)).max().unwrap_or(0);
                let above = sum.terms().iter().filter(|(p, _)| p.exponent(atom) == most);
                let above = NormalSum(above.map(|(p, q)| (p.without(atom), q.clone())).collect());
                let quotient = self.quotient(&above, below)?;
                Some((atom.clone(), most, quotient))
            });
            let Some((atom, most, quotient)) = found else { return Ok(sum) };
            sum.0.retain(|p, _| p.exponent(&atom) != most);
            for (product, q) in quotient.0 {
                let left = (most > 1).then(|| (atom.clone(), most - 1));
                let powers =
                    joined(&product.powers, left.as_slice()).ok_or(NormalError::Exponent)?;
                sum.add_term(AtomProduct { powers, trig: product.trig }, q)?;
            }
        }
    }

    /// Computes `a / b`, if that has no denominator of several terms.
    pub(super) fn quotient(self, a: &NormalSum, b: &NormalSum) -> Option<NormalSum> {
        let (lead, unit) = b.lead()?;
        let mut rest = a.clone();
        let mut out = NormalSum::zero();
        // Each step removes the leading term; with trigonometric factors, or with exponents below
        // 0, it might not end.
        for _ in 0..=(a.0.len() + 1) * (b.0.len() + 1) {
            let Some((top, q)) = rest.lead() else { return Some(out) };
            let (wave, powers) = match (&top.trig, &lead.trig) {
                (wave, TrigFactor::None) if !b.has_trig_factors() => (wave.clone(), &top.powers),
                (one, other) if one == other => (TrigFactor::None, &top.powers),
                _ => return None,
            };
            let turned: Vec<_> = lead.powers.iter().map(|(atom, e)| (atom.clone(), -e)).collect();
            let powers = joined(powers, &turned)?;
            if powers.iter().any(|p| p.1 < 0 && lead.exponent(&p.0) > 0) {
                return None;
            }
            let step = NormalSum::term(AtomProduct { powers, trig: wave }, bounded(q / unit).ok()?);
            let mut part = NormalSum::zero();
            for (p, x) in step.terms() {
                for (r, y) in b.terms() {
                    let product =
                        self.product(p, r).ok()?.times_fraction(&q_product(x, y).ok()?).ok()?;
                    part = part.plus(&product).ok()?;
                }
            }
            rest = rest.minus(&part).ok()?;
            out = out.plus(&step).ok()?;
            if rest.0.len() > self.limit {
                return None;
            }
        }
        None
    }
}

fn is_nothing(q: &BigFraction) -> bool {
    *q.numer() == BigInt::ZERO
}
