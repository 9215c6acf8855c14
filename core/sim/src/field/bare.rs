//! Residues that leave their prime to those that they are multiplied by: vectors of half the size,
//! and a prime that stays in registers all through a kernel.
//!
//! A number is in Montgomery form and below twice the prime, so a product needs no comparison: for
//! `t < 2^64 p`, `t / 2^64 - m p / 2^64 + p` lies between 0 and 2p. With `p < 2^62` the sum of two
//! products of a number below p and one below 2p is below `4 p^2 < 2^64 p`.

use super::{PrimeField, Residue, Vectors, prime::inverse};
use crate::kernel::ActsOn;

/// A residue without its prime.
#[derive(Clone, Copy, Debug)]
pub struct Bare(u64);

impl PrimeField {
    /// Returns a residue of this field without its prime.
    #[must_use]
    pub fn bare(&self, x: Residue) -> Bare {
        Bare(self.lifted(x).montgomery())
    }

    /// Returns the residue that a bare one of this field is.
    #[must_use]
    pub fn residue(&self, x: Bare) -> Residue {
        let p = self.prime();
        Residue::of_montgomery(if x.0 >= p { x.0 - p } else { x.0 }, p)
    }
}

impl Vectors for Residue {
    type Bare = Bare;
    fn lifted(field: &PrimeField, x: Residue) -> Residue {
        field.lifted(x)
    }
    fn bare(field: &PrimeField, x: Residue) -> Bare {
        field.bare(x)
    }
    fn residue(field: &PrimeField, x: &Bare) -> Residue {
        field.residue(*x)
    }
}

/// Returns `t / 2^64 mod p`, below 2p, for `t < 2^64 p`.
#[inline(always)]
fn reduce(t: u128, p: u64) -> u64 {
    let m = (t as u64).wrapping_mul(inverse(p));
    let cancel = ((u128::from(m) * u128::from(p)) >> 64) as u64;
    ((t >> 64) as u64).wrapping_sub(cancel).wrapping_add(p)
}

/// Reduces a number below 4p to one below 2p, modulo p.
#[inline(always)]
fn below_2p(x: u64, p: u64) -> u64 {
    x.min(x.wrapping_sub(2 * p))
}

#[inline(always)]
fn wide(a: &Residue, x: Bare) -> u128 {
    u128::from(a.montgomery()) * u128::from(x.0)
}

/// The numbers on the left know their prime, those on the right belong to the same field.
impl ActsOn<Bare> for Residue {
    #[inline(always)]
    fn act(&self, x: &Bare) -> Bare {
        Bare(reduce(wide(self, *x), self.prime()))
    }
    #[inline(always)]
    fn act2(a: &Residue, x: &Bare, b: &Residue, y: &Bare) -> Bare {
        let p = a.prime();
        if a.is_montgomery_one() {
            return Bare(below_2p(x.0 + reduce(wide(b, *y), p), p));
        }
        if b.is_montgomery_one() {
            return Bare(below_2p(y.0 + reduce(wide(a, *x), p), p));
        }
        Bare(reduce(wide(a, *x) + wide(b, *y), p))
    }
    #[inline(always)]
    fn act_row(row: &[Residue], x: &[Bare]) -> Bare {
        let mut sum = row[0].act(&x[0]);
        for (a, x) in row[1..].iter().zip(&x[1..]) {
            sum = Bare(below_2p(sum.0 + a.act(x).0, a.prime()));
        }
        sum
    }
    #[inline(always)]
    fn act_crosswise(s: &Residue, x: &mut Bare, y: &mut Bare) {
        let p = s.prime();
        let (sum, difference) = (x.0 + y.0, x.0 + (2 * p - y.0));
        if s.is_montgomery_one() {
            (x.0, y.0) = (below_2p(sum, p), below_2p(difference, p));
        } else {
            (x.0, y.0) = (reduce(wide(s, Bare(sum)), p), reduce(wide(s, Bare(difference)), p));
        }
    }
}
