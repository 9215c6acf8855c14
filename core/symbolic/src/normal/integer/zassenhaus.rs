//! Factors over the integers from those modulo a prime power.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{
    hensel::lifted,
    modular::{self, PRIMES, Residues},
    polynomial::{Poly, centred, degree, exact_quotient, primitive, product},
};

/// Subsets of lifted factors that are looked at.
const SUBSETS: usize = 1 << 18;
/// Points at which the value of a factor has to divide that of the polynomial.
const POINTS: [i64; 4] = [0, 1, -1, 2];
/// Primes whose factors are counted.
const TRIED: usize = 6;

/// Returns the factors of a primitive f without repeated ones, and whether all are irreducible.
pub(super) fn factors(f: &Poly) -> (Vec<Poly>, bool) {
    if degree(f) < 2 {
        return (vec![f.clone()], true);
    }
    let Some((p, parts, degrees)) = best_prime(f) else { return (vec![f.clone()], false) };
    // No factor has a degree between.
    if degrees[1..degree(f)].iter().all(|possible| !possible) {
        return (vec![f.clone()], true);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state >> 33
    };
    let split = |(g, d): &(Residues, usize)| modular::equal_degree(g, *d, p, &mut random);
    let modular: Vec<Residues> = parts.iter().flat_map(split).collect();
    let (lifted, modulus) = lifted(f, &modular, p, &(coefficient_bound(f) * 2));
    ZassenhausRecombination::new(f, lifted, modulus, degrees).run()
}

/// Products of the factors of one degree, with that degree.
type ByDegree = Vec<(Residues, usize)>;

/// Returns the prime with the fewest factors, the products of those of one degree, and which
/// degrees factors over the integers may have.
fn best_prime(f: &Poly) -> Option<(u64, ByDegree, Vec<bool>)> {
    let mut degrees = vec![true; f.len()];
    let mut best: Option<(usize, u64, ByDegree)> = None;
    let good = PRIMES.iter().filter_map(|&p| {
        let image = modular::image(f, p);
        (image.len() == f.len() && modular::is_square_free(&image, p)).then_some((p, image))
    });
    for (p, image) in good.take(TRIED) {
        let parts = modular::by_degree(&image, p);
        let mut sums = vec![false; f.len()];
        sums[0] = true;
        for d in parts.iter().flat_map(|(g, d)| std::iter::repeat_n(*d, (g.len() - 1) / d)) {
            (d..sums.len()).rev().for_each(|k| sums[k] |= sums[k - d]);
        }
        degrees.iter_mut().zip(sums).for_each(|(both, one)| *both &= one);
        let n = parts.iter().map(|(g, d)| (g.len() - 1) / d).sum();
        if best.as_ref().is_none_or(|b| n < b.0) {
            best = Some((n, p, parts));
        }
    }
    best.map(|(_, p, parts)| (p, parts, degrees))
}

/// Returns the Mignotte bound: at least the coefficients of `lead(f) g / lead(g)` for each factor
/// g.
fn coefficient_bound(f: &Poly) -> BigInt {
    let squares: BigInt = f.iter().map(|c| c * c).sum();
    let lead = f.last().map_or_else(BigInt::one, Signed::abs);
    ((squares.sqrt() + 1u8) * lead) << degree(f)
}

/// The search for subsets whose products divide.
struct ZassenhausRecombination {
    f: Poly,
    /// Factors modulo the modulus.
    lifted: Vec<Poly>,
    modulus: BigInt,
    degrees: Vec<bool>,
    /// The second coefficients times the leading one of f, over the modulus, in units of 2^-64.
    seconds: Vec<u64>,
    /// The greatest such that a factor may have.
    threshold: u64,
    /// The values of f at points, where it is not 0, with those of the lifted factors.
    values: Vec<(BigInt, Vec<BigInt>)>,
    left: usize,
}

impl ZassenhausRecombination {
    fn new(
        f: &Poly,
        lifted: Vec<Poly>,
        modulus: BigInt,
        degrees: Vec<bool>,
    ) -> ZassenhausRecombination {
        let mut new = ZassenhausRecombination {
            f: f.clone(),
            lifted,
            modulus,
            degrees,
            seconds: Vec::new(),
            threshold: u64::MAX,
            values: Vec::new(),
            left: SUBSETS,
        };
        new.prepare();
        new
    }

    /// The second coefficient of a factor is a sum of its roots times its leading coefficient, so
    /// it is small.
    fn prepare(&mut self) {
        let lead = self.f.last().cloned().unwrap_or_default();
        let second = |g: &Poly| {
            let c = g.len().checked_sub(2).map_or_else(BigInt::zero, |k| &g[k] * &lead);
            ((c.mod_floor(&self.modulus) << 64u8) / &self.modulus).to_u64().unwrap_or(u64::MAX)
        };
        self.seconds = self.lifted.iter().map(second).collect();
        let greatest = self.f.iter().map(Signed::abs).max().unwrap_or_default();
        let bound = (lead.abs() + greatest) * degree(&self.f);
        let rounding = self.lifted.len() as u64 + 2;
        self.threshold = ((bound << 64u8) / &self.modulus)
            .to_u64()
            .map_or(u64::MAX, |x| x.saturating_add(rounding));
        let values = POINTS.iter().map(|at| {
            let value = |f: &Poly| f.iter().rev().fold(BigInt::zero(), |v, c| v * at + c);
            let modulo = |g: &Poly| value(g).mod_floor(&self.modulus);
            (value(&self.f) * &lead, self.lifted.iter().map(modulo).collect())
        });
        self.values = values.filter(|(value, _)| !value.is_zero()).collect();
    }

    /// Returns true if the values of the product of a subset divide those of f.
    fn values_divide(&self, subset: &[usize], lead: &BigInt) -> bool {
        self.values.iter().all(|(whole, parts)| {
            let value =
                subset.iter().fold(lead.clone(), |v, k| (v * &parts[*k]).mod_floor(&self.modulus));
            let value = centred(&value, &self.modulus);
            !value.is_zero() && whole.is_multiple_of(&value)
        })
    }

    fn run(mut self) -> (Vec<Poly>, bool) {
        let mut out = Vec::new();
        let mut size = 1;
        while 2 * size <= self.lifted.len() {
            match self.find(size) {
                RecombinationOutcome::Found(factor, subset) => {
                    let Some(rest) = exact_quotient(&self.f, &factor) else { break };
                    out.push(factor);
                    self.f = rest;
                    subset.iter().rev().for_each(|k| drop(self.lifted.remove(*k)));
                    self.prepare();
                }
                RecombinationOutcome::None => size += 1,
                RecombinationOutcome::Spent => {
                    out.push(self.f);
                    return (out, false);
                }
            }
        }
        if degree(&self.f) > 0 {
            out.push(self.f);
        }
        (out, true)
    }

    /// Finds a factor that is the product of a given number of lifted ones.
    fn find(&mut self, size: usize) -> RecombinationOutcome {
        let n = self.lifted.len();
        let mut subset: Vec<usize> = (0..size).collect();
        loop {
            if self.left == 0 {
                return RecombinationOutcome::Spent;
            }
            self.left -= 1;
            if let Some(factor) = self.factor(&subset) {
                return RecombinationOutcome::Found(factor, subset);
            }
            if !advance(&mut subset, n) {
                return RecombinationOutcome::None;
            }
        }
    }

    fn factor(&self, subset: &[usize]) -> Option<Poly> {
        let second = subset.iter().fold(0u64, |sum, k| sum.wrapping_add(self.seconds[*k]));
        let second = if second >> 63 == 1 { second.wrapping_neg() } else { second };
        if second > self.threshold {
            return None;
        }
        let n: usize = subset.iter().map(|k| degree(&self.lifted[*k])).sum();
        if !self.degrees.get(n).is_some_and(|possible| *possible) {
            return None;
        }
        let lead = self.f.last()?;
        if !self.values_divide(subset, lead) {
            return None;
        }
        let reduced = |f: Poly| f.into_iter().map(|c| c.mod_floor(&self.modulus)).collect::<Poly>();
        let all =
            subset.iter().fold(vec![lead.clone()], |g, k| reduced(product(&g, &self.lifted[*k])));
        let factor = primitive(&all.iter().map(|c| centred(c, &self.modulus)).collect());
        exact_quotient(&self.f, &factor).map(|_| factor)
    }
}

enum RecombinationOutcome {
    Found(Poly, Vec<usize>),
    None,
    Spent,
}

/// Advances to the next subset of the numbers below n in lexicographic order.
pub(in crate::normal) fn advance(subset: &mut [usize], n: usize) -> bool {
    let size = subset.len();
    let Some(k) = (0..size).rev().find(|k| subset[*k] + size - k < n) else { return false };
    subset[k] += 1;
    for j in k + 1..size {
        subset[j] = subset[j - 1] + 1;
    }
    true
}
