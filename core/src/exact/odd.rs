//! Roots of unity of an odd order M: one form for sums of their powers, and short ones.
//!
//! The powers of `zeta = e^{2 pi i / M}` are not independent: for each prime p that divides M, and every j,
//!
//! ```text
//! sum over k < p of zeta^{j + k M/p} = 0
//! ```
//!
//! and all that follows from these. Moving from j to `j + M/p` counts up one digit of j, the highest to the base p of j modulo
//! the power of p in M (times a unit), and leaves those of other primes. The powers whose digits are all below `p - 1` are a
//! basis of the integers of the field (Washington, Introduction to Cyclotomic Fields, theorem 2.6), also over those of roots of
//! unity of order `2^m`. So a number is zero if and only if it is after all powers with a digit `p - 1` are replaced.

use std::collections::BTreeMap;

use super::{
    Exact, MAX_TERMS,
    terms::{self, Term},
};

/// How often each prime is tried for shortening: what one takes may let another take more.
const ROUNDS: usize = 3;

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
    /// The digit of an exponent.
    fn digit(self, j: u64) -> u64 {
        let part = u128::from(j) * u128::from(self.inverse) % u128::from(self.power);
        part as u64 / self.unit
    }
}

impl OddRoots {
    /// Of an odd order above 1, in a field of the keys.
    pub(super) fn new(order: u64, shift: u32, width: u32) -> Option<OddRoots> {
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
                let inverse =
                    (1..power).find(|x| u128::from(*x) * u128::from(others) % u128::from(power) == 1);
                primes.push(Prime { p, step: order / p, power, unit: power / p, inverse: inverse? });
            }
            p += 2;
        }
        Some(OddRoots { order, shift, width, primes })
    }

    pub(super) fn order(&self) -> u64 {
        self.order
    }

    /// The exponent in a key without other fields, from 0 to below the order, and the key without it.
    pub(super) fn split(&self, root: u128) -> (u64, u128) {
        let (power, rest) = self.take(root);
        (power.rem_euclid(self.order as i64) as u64, rest)
    }

    /// The key of a power.
    pub(super) fn key(&self, power: u64) -> u128 {
        u128::from(power) << self.shift
    }

    /// The exponent of a square root of a power.
    pub(super) fn half(&self, power: u64) -> u64 {
        if power.is_multiple_of(2) { power / 2 } else { u64::midpoint(power, self.order) }
    }

    /// The key of `e^{2 pi i w}`, if that is one of these roots.
    pub(super) fn key_of(&self, w: num_rational::Ratio<i128>) -> Option<u128> {
        let power = w * i128::from(self.order);
        power.is_integer().then(|| (power.to_integer() as u128) << self.shift)
    }

    /// The exponent in a key, as it is, and the key without it.
    fn take(&self, key: u128) -> (i64, u128) {
        let below = (1u128 << self.shift) - 1;
        // Lower fields may have borrowed from this one.
        let lower = key & below;
        let borrowed = u128::from(self.shift > 0 && lower >> (self.shift - 1) == 1) << self.shift;
        let up = 128 - self.width;
        let power = ((key & !below).wrapping_add(borrowed) >> self.shift << up) as i128 >> up;
        (power as i64, key.wrapping_sub((power as u128) << self.shift))
    }

    /// Whether the power in a key is one of the basis, as it is.
    fn is_basis(&self, key: u128) -> bool {
        u64::try_from(self.take(key).0).is_ok_and(|power| {
            power < self.order && self.primes.iter().all(|prime| prime.digit(power) < prime.p - 1)
        })
    }

    /// Groups of terms that differ in powers of these roots alone: for each rest of the key its powers.
    fn groups(&self, number: &Exact) -> Option<BTreeMap<u128, BTreeMap<u64, i128>>> {
        let mut groups: BTreeMap<u128, BTreeMap<u64, i128>> = BTreeMap::new();
        for &(key, c) in number.terms() {
            let (power, rest) = self.take(key);
            let (rest, c) = terms::normal(rest, c);
            let power = power.rem_euclid(self.order as i64) as u64;
            let sum = groups.entry(rest).or_default().entry(power).or_insert(0);
            *sum = terms::add(*sum, c)?;
        }
        Some(groups)
    }

    fn collect(&self, groups: BTreeMap<u128, BTreeMap<u64, i128>>, roots: i32) -> Exact {
        let terms = groups.into_iter().flat_map(|(rest, powers)| {
            let powers = powers.into_iter().filter(|(_, c)| *c != 0);
            powers.map(move |(power, c)| (rest.wrapping_add(self.key(power)), c)).collect::<Vec<Term>>()
        });
        Exact::of_terms(terms.collect(), roots)
    }

    /// The number in powers of the basis.
    pub(super) fn reduced(&self, number: Exact) -> Exact {
        if number.fault().is_some() || number.terms().iter().all(|(key, _)| self.is_basis(*key)) {
            return number;
        }
        let Some(mut groups) = self.groups(&number) else { return number.beyond(super::Fault::Coefficient) };
        let mut count = 0;
        for powers in groups.values_mut() {
            for prime in &self.primes {
                let highest: Vec<(u64, i128)> = powers
                    .iter()
                    .filter(|(power, c)| **c != 0 && prime.digit(**power) == prime.p - 1)
                    .map(|(power, c)| (*power, *c))
                    .collect();
                if powers.len().saturating_add(highest.len().saturating_mul(prime.p as usize)) > MAX_TERMS {
                    return number.beyond(super::Fault::Terms);
                }
                for (power, c) in highest {
                    powers.remove(&power);
                    for k in 1..prime.p {
                        let sum = powers.entry((power + k * prime.step) % self.order).or_insert(0);
                        match terms::add(*sum, -c) {
                            Some(new) => *sum = new,
                            None => return number.beyond(super::Fault::Coefficient),
                        }
                    }
                }
            }
            powers.retain(|_, c| *c != 0);
            count += powers.len();
        }
        if count > MAX_TERMS {
            return number.beyond(super::Fault::Terms);
        }
        self.collect(groups, number.roots())
    }

    /// The number with what most of the p powers of a sum that is zero have in common taken from all of them, for each prime
    /// p in turn.
    pub(super) fn shortest(&self, number: &Exact) -> Exact {
        let Some(mut groups) = self.groups(number) else { return number.clone() };
        for powers in groups.values_mut() {
            for prime in self.primes.iter().cycle().take(ROUNDS * self.primes.len()) {
                let mut sums: BTreeMap<u64, Vec<(u64, i128)>> = BTreeMap::new();
                for (power, c) in powers.iter() {
                    let first = (power + (prime.p - prime.digit(*power)) * prime.step) % self.order;
                    sums.entry(first).or_default().push((*power, *c));
                }
                for (first, seen) in sums {
                    let mut counts: BTreeMap<i128, u64> = BTreeMap::new();
                    seen.iter().for_each(|(_, c)| *counts.entry(*c).or_insert(0) += 1);
                    let zeros = prime.p - seen.len() as u64;
                    let most =
                        counts.into_iter().max_by_key(|(c, n)| (*n, std::cmp::Reverse(c.unsigned_abs()), *c));
                    let Some((common, _)) = most.filter(|(_, n)| *n > zeros) else { continue };
                    for k in 0..prime.p {
                        let sum = powers.entry((first + k * prime.step) % self.order).or_insert(0);
                        // Halves of what 120 bits hold.
                        *sum -= common;
                    }
                }
                powers.retain(|_, c| *c != 0);
            }
        }
        self.collect(groups, number.roots())
    }
}
