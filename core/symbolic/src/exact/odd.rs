//! Roots of unity of an odd order M: one form for sums of their powers, and a short one.
//!
//! The powers of `zeta = e^{2 pi i / M}` are not independent: for each prime p that divides M, and
//! every j,
//!
//! ```text
//! sum over k < p of zeta^{j + k M/p} = 0
//! ```
//!
//! and all that is zero follows from these (Washington, Introduction to Cyclotomic Fields, chapter
//! 2), also over roots of unity of order `2^m`. Moving from j to `j + M/p` counts up one digit of
//! j, the highest to the base p of j modulo the power of p in M (times a unit), and leaves those of
//! other primes. So a number is a vector of p coefficients, one for each value of that digit, over
//! the roots without p, and vectors are equal that differ by a multiple of (1, …, 1). Of these the
//! one form has zero as its most frequent coefficient: what is most frequent, the first of these by
//! its digit, is taken from all. The coefficients are in their own one form before they are
//! compared.
//!
//! No other vector has more zeros, so that sparse numbers stay sparse whatever the order is.

use std::collections::BTreeMap;

use num_integer::Integer;

use super::{
    Exact,
    terms::{self, ExactTerm},
};

/// Coefficients by the power of zeta and the key of the root of unity of order `2^m`, none of them
/// zero.
type RootCoefficients = BTreeMap<(u64, u128), i128>;

/// The roots, and where their exponents lie in keys.
#[derive(Clone, Debug)]
pub(super) struct OddRoots {
    order: u64,
    shift: u32,
    width: u32,
    primes: Vec<Prime>,
}

/// A prime that divides the order.
#[derive(Clone, Copy, Debug)]
struct Prime {
    p: u64,
    /// The order over p: one up in the digit.
    step: u64,
    /// The power of p in the order, and that over p.
    power: u64,
    unit: u64,
    /// The inverse of the rest of the order, modulo that power.
    inverse: u64,
}

impl Prime {
    /// Returns the digit of an exponent, and what is below it.
    fn digit(self, j: u64) -> (u64, u64) {
        let part = (u128::from(j) * u128::from(self.inverse) % u128::from(self.power)) as u64;
        (part / self.unit, part % self.unit)
    }
}

impl OddRoots {
    /// Creates the roots of an odd order above 1, in a field of the keys.
    pub(super) fn new(order: u64, shift: u32, width: u32) -> OddRoots {
        let mut primes = Vec::new();
        let (mut rest, mut p) = (order, 3);
        while rest > 1 {
            if p * p > rest {
                p = rest;
            }
            let mut power = 1;
            while rest % p == 0 {
                rest /= p;
                power *= p;
            }
            if power > 1 {
                let others = order / power;
                let inverse = inverse(others % power, power);
                primes.push(Prime { p, step: order / p, power, unit: power / p, inverse });
            }
            p += 2;
        }
        OddRoots { order, shift, width, primes }
    }

    pub(super) fn order(&self) -> u64 {
        self.order
    }

    /// Returns the exponent in a key without other fields, from 0 to below the order, and the key
    /// without it.
    pub(super) fn split(&self, root: u128) -> (u64, u128) {
        let (power, rest) = self.split_exponent(root);
        (power.rem_euclid(self.order as i64) as u64, rest)
    }

    /// Returns the key of a power.
    pub(super) fn key(&self, power: u64) -> u128 {
        u128::from(power) << self.shift
    }

    /// Returns the exponent of a square root of a power.
    pub(super) fn half(&self, power: u64) -> u64 {
        if power.is_multiple_of(2) { power / 2 } else { u64::midpoint(power, self.order) }
    }

    /// Returns the key of `e^{2 pi i w}`, if that is one of these roots.
    pub(super) fn key_of(&self, w: num_rational::Ratio<i128>) -> Option<u128> {
        let power = w * i128::from(self.order);
        power.is_integer().then(|| (power.to_integer() as u128) << self.shift)
    }

    /// Returns the exponent in a key, as it is, and the key without it.
    fn split_exponent(&self, key: u128) -> (i64, u128) {
        let below = (1u128 << self.shift) - 1;
        // Lower fields may have borrowed from this one.
        let lower = key & below;
        let borrowed = u128::from(self.shift > 0 && lower >> (self.shift - 1) == 1) << self.shift;
        let up = 128 - self.width;
        let power = ((key & !below).wrapping_add(borrowed) >> self.shift << up) as i128 >> up;
        (power as i64, key.wrapping_sub((power as u128) << self.shift))
    }

    /// Returns the number in its one form.
    pub(super) fn reduced(&self, number: Exact) -> Exact {
        if number.fault().is_some()
            || number.terms().iter().all(|(key, _)| self.split_exponent(*key).0 == 0)
        {
            return number;
        }
        let terms = self.groups(&number).and_then(|groups| {
            let mut terms: Vec<ExactTerm> = Vec::with_capacity(number.n_terms());
            for (exponents, entries) in groups {
                for ((power, root), c) in self.canonical(entries, &self.primes)? {
                    terms.push((root.wrapping_add(self.key(power)).wrapping_add(exponents), c));
                }
            }
            Some(terms)
        });
        match terms {
            Some(terms) => Exact::of_terms(terms, number.roots()),
            None => number.beyond(super::ExactNumberError::Coefficient),
        }
    }

    /// Returns the terms by their exponents of variables, as a key.
    fn groups(&self, number: &Exact) -> Option<BTreeMap<u128, RootCoefficients>> {
        let mut groups: BTreeMap<u128, RootCoefficients> = BTreeMap::new();
        for &(key, c) in number.terms() {
            let (power, rest) = self.split_exponent(key);
            // Two's complement of all lower fields together.
            let lower = rest & ((1u128 << self.shift) - 1);
            let negative = self.shift > 0 && lower >> (self.shift - 1) == 1;
            let exponents = if negative { lower.wrapping_sub(1 << self.shift) } else { lower };
            let (root, c) = terms::normal(rest.wrapping_sub(exponents), c);
            let power = power.rem_euclid(self.order as i64) as u64;
            add(groups.entry(exponents).or_default(), (power, root), c)?;
        }
        Some(groups)
    }

    /// Entries in their one form with respect to some primes; `None` if a coefficient is beyond 128
    /// bits.
    fn canonical(&self, entries: RootCoefficients, primes: &[Prime]) -> Option<RootCoefficients> {
        let Some((prime, others)) = primes.split_last() else { return Some(entries) };
        // By what of the exponent is below the digit, and by the digit; the digit is 0 in what is
        // kept.
        let mut vectors: BTreeMap<u64, BTreeMap<u64, RootCoefficients>> = BTreeMap::new();
        for ((power, root), c) in entries {
            let (digit, below) = prime.digit(power);
            let first = self.up(power, *prime, prime.p - digit);
            let vector = vectors.entry(below).or_default();
            add(vector.entry(digit).or_default(), (first, root), c)?;
        }
        let mut out = RootCoefficients::new();
        for mut vector in vectors.into_values() {
            for coefficient in vector.values_mut() {
                *coefficient = self.canonical(std::mem::take(coefficient), others)?;
            }
            vector.retain(|_, coefficient| !coefficient.is_empty());
            let common = most_frequent(&vector, prime.p).cloned();
            if let Some(common) = common {
                for digit in 0..prime.p {
                    let mut rest = vector.remove(&digit).unwrap_or_default();
                    for (place, c) in &common {
                        add(&mut rest, *place, -c)?;
                    }
                    vector.insert(digit, self.canonical(rest, others)?);
                }
            }
            for (digit, coefficient) in vector {
                for ((power, root), c) in coefficient {
                    out.insert((self.up(power, *prime, digit), root), c);
                }
            }
        }
        Some(out)
    }

    /// Returns the exponent whose digit is higher by `by`.
    fn up(&self, power: u64, prime: Prime, by: u64) -> u64 {
        (power + by * prime.step) % self.order
    }
}

/// Returns the inverse of an integer modulo another that has no factor in common with it; both are
/// below 2^20.
fn inverse(of: u64, modulus: u64) -> u64 {
    let (of, modulus) = (of as i64, modulus as i64);
    of.extended_gcd(&modulus).x.rem_euclid(modulus) as u64
}

/// Returns the coefficient that occurs most often among p, the first of these if there are several;
/// `None` if that is zero, as are those that are left out.
fn most_frequent(vector: &BTreeMap<u64, RootCoefficients>, p: u64) -> Option<&RootCoefficients> {
    let zeros = p - vector.len() as u64;
    let first_zero = (0..p).find(|digit| !vector.contains_key(digit));
    let mut counts: BTreeMap<&RootCoefficients, (u64, u64)> = BTreeMap::new();
    for (digit, coefficient) in vector {
        counts.entry(coefficient).or_insert((0, *digit)).0 += 1;
    }
    let rank = |count: u64, first: u64| (count, std::cmp::Reverse(first));
    let (common, (count, first)) =
        counts.into_iter().max_by_key(|(_, (count, first))| rank(*count, *first))?;
    let is_more = first_zero.is_none_or(|zero| rank(count, first) > rank(zeros, zero));
    is_more.then_some(common)
}

/// Adds to an entry; `None` if that is beyond 128 bits.
fn add(entries: &mut RootCoefficients, place: (u64, u128), c: i128) -> Option<()> {
    let sum = terms::add(entries.get(&place).copied().unwrap_or(0), c)?;
    if sum == 0 {
        entries.remove(&place);
    } else {
        entries.insert(place, sum);
    }
    Some(())
}
