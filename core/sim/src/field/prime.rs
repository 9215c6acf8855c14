//! Fields whose prime is known at run time only.
//!
//! A ring has a 0 and a 1 without any context, so a number carries its prime, and a 0 or 1 that has
//! not met one is an integer until it does. Numbers are in Montgomery form: `x` stands for
//! `x / 2^64 mod p`. All primes are 1 modulo `2^16`, which gives `1/p mod 2^64` in two products,
//! and lie between `2^61` and `2^62`, so that a sum of two products reduces at once.
//!
//! Source: P. L. Montgomery, Math. Comp. 44, 519 (1985).

use num_integer::gcd;
use num_traits::{One, Zero};
use rand_chacha::rand_core::Rng;

use super::Modular;
use crate::{scalar::Ring, state::stream};

/// Every prime is 1 modulo this.
#[doc(hidden)]
pub const STEP: u64 = 1 << 16;
/// Primes lie from here to twice this.
const LEAST: u64 = 1 << 61;

/// The field of a prime between `2^61` and `2^62` that is 1 modulo `2^16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimeField {
    p: u64,
}

impl PrimeField {
    pub(super) fn prime(&self) -> u64 {
        self.p
    }

    /// Returns the number with this prime, if it has met none yet.
    pub(crate) fn lifted(&self, x: Residue) -> Residue {
        if x.modulus == 0 { x.lift(self.p) } else { x }
    }

    /// Returns the field of this prime, if it is one of those that [`Residue`] can compute with.
    #[must_use]
    pub fn new(p: u64) -> Option<PrimeField> {
        (p / 2 < LEAST && p >= LEAST && p % STEP == 1 && is_prime(p)).then_some(PrimeField { p })
    }

    /// Returns a prime drawn uniformly from those that are 1 modulo `order` and `2^16`. `None` if
    /// there are hardly any: the least common multiple of the two must be below `2^40`.
    #[must_use]
    pub fn random(order: u64, seed: u64) -> Option<PrimeField> {
        let step = lcm(order, STEP).filter(|step| *step < 1 << 40)?;
        let mut rng = stream(seed, PRIMES);
        // About one in 21 odd numbers of this size is prime; ten thousand failures do not happen.
        (0..10_000).find_map(|_| {
            let k = LEAST / step + rng.next_u64() % (LEAST / step);
            PrimeField::new(k * step + 1)
        })
    }
}

/// The stream of the seed that primes are drawn from.
const PRIMES: u64 = u64::MAX;

/// Returns the least common multiple, if 64 bits hold it.
#[doc(hidden)]
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    a.checked_div(gcd(a, b))?.checked_mul(b)
}

impl Modular for Residue {
    type Field = PrimeField;
    const NAME: &'static str = "the prime field";
    fn characteristic(field: &PrimeField) -> u64 {
        field.p
    }
    fn element(field: &PrimeField, x: u64) -> Residue {
        Residue { value: montgomery(u128::from(x % field.p), field.p), modulus: field.p }
    }
}

/// A number modulo a prime that it carries.
///
/// Numbers of two different fields have no sum and no product; the prime of the left one is taken.
/// An integer that has met no prime yet is exact up to `2^63`.
#[derive(Clone, Copy, Debug)]
pub struct Residue {
    /// Number in Montgomery form; the integer itself, in two's complement, where there is no prime.
    value: u64,
    /// 0: no prime yet.
    modulus: u64,
}

impl Residue {
    /// Returns the residue as an integer below its prime.
    #[must_use]
    pub fn residue(self) -> u64 {
        if self.modulus == 0 { self.value } else { reduce(u128::from(self.value), self.modulus) }
    }

    /// Returns the number in Montgomery form.
    #[inline(always)]
    pub(super) fn montgomery(self) -> u64 {
        self.value
    }

    #[inline(always)]
    pub(super) fn of_montgomery(value: u64, modulus: u64) -> Residue {
        Residue { value, modulus }
    }

    /// 0 where there is none yet.
    #[inline(always)]
    pub(super) fn prime(self) -> u64 {
        self.modulus
    }

    /// Returns true if it is 1, for a number with a prime.
    #[inline(always)]
    pub(super) fn is_montgomery_one(self) -> bool {
        self.value == montgomery_one(self.modulus)
    }

    /// Moves the integer into the field of a prime.
    fn lift(self, p: u64) -> Residue {
        // What matrices mostly hold needs no division.
        if self.value <= 1 {
            return Residue { value: self.value * montgomery_one(p), modulus: p };
        }
        let integer = i128::from(self.value.cast_signed()).rem_euclid(i128::from(p));
        Residue { value: montgomery(integer.unsigned_abs(), p), modulus: p }
    }
}

/// Applies an operation to numbers of which one has met no prime yet.
#[cold]
#[inline(never)]
fn mixed(
    a: &Residue,
    b: &Residue,
    op: fn(&Residue, &Residue) -> Residue,
    integers: fn(u64, u64) -> u64,
) -> Residue {
    match (a.modulus, b.modulus) {
        (0, 0) => Residue { value: integers(a.value, b.value), modulus: 0 },
        (0, p) => op(&a.lift(p), b),
        (p, 0) => op(a, &b.lift(p)),
        (p, _) => op(a, &Residue { value: b.value % p, modulus: p }),
    }
}

/// Returns `2^64 mod p` for p between `2^61` and `2^62`.
#[inline(always)]
fn montgomery_one(p: u64) -> u64 {
    let below_4p = (4 * p).wrapping_neg();
    let below_2p = below_4p.min(below_4p.wrapping_sub(2 * p));
    below_2p.min(below_2p.wrapping_sub(p))
}

/// Returns `2^64 x mod p`.
fn montgomery(x: u128, p: u64) -> u64 {
    // The remainder is below p.
    ((x << 64) % u128::from(p)) as u64
}

/// Returns `1 / p mod 2^64`.
#[inline(always)]
pub(super) fn inverse(p: u64) -> u64 {
    // (1 + x)(1 - x) = 1 modulo 2^32 for x = p - 1, and one step of Newton doubles the digits.
    let y = 2u64.wrapping_sub(p);
    y.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(y)))
}

/// Returns `t / 2^64 mod p` for `t < 2^64 p`.
#[inline(always)]
fn reduce(t: u128, p: u64) -> u64 {
    let m = (t as u64).wrapping_mul(inverse(p));
    let cancel = ((u128::from(m) * u128::from(p)) >> 64) as u64;
    let (r, borrow) = ((t >> 64) as u64).overflowing_sub(cancel);
    if borrow { r.wrapping_add(p) } else { r }
}

#[inline(always)]
fn plus(a: &Residue, b: &Residue) -> Residue {
    let p = a.modulus;
    if p == b.modulus && p != 0 {
        let sum = a.value + b.value;
        return Residue { value: if sum >= p { sum - p } else { sum }, modulus: p };
    }
    mixed(a, b, plus, u64::wrapping_add)
}

#[inline(always)]
fn minus(a: &Residue, b: &Residue) -> Residue {
    let p = a.modulus;
    if p == b.modulus && p != 0 {
        let (difference, borrow) = a.value.overflowing_sub(b.value);
        return Residue {
            value: if borrow { difference.wrapping_add(p) } else { difference },
            modulus: p,
        };
    }
    mixed(a, b, minus, u64::wrapping_sub)
}

#[inline(always)]
fn times(a: &Residue, b: &Residue) -> Residue {
    let p = a.modulus;
    if p == b.modulus && p != 0 {
        return Residue { value: reduce(u128::from(a.value) * u128::from(b.value), p), modulus: p };
    }
    mixed(a, b, times, u64::wrapping_mul)
}

ring_ops!(Residue {
    Add add AddAssign add_assign = plus;
    Sub sub SubAssign sub_assign = minus;
    Mul mul MulAssign mul_assign = times;
    - = |a: &Residue| minus(&Residue { value: 0, modulus: a.modulus }, a);
});

impl PartialEq for Residue {
    fn eq(&self, other: &Residue) -> bool {
        minus(self, other).value == 0
    }
}

impl Zero for Residue {
    fn zero() -> Residue {
        Residue { value: 0, modulus: 0 }
    }
    fn is_zero(&self) -> bool {
        self.value == 0
    }
}

impl One for Residue {
    fn one() -> Residue {
        Residue { value: 1, modulus: 0 }
    }
}

impl Ring for Residue {
    #[inline(always)]
    fn is_exact_zero(&self) -> bool {
        self.value == 0
    }
    #[inline]
    fn is_exact_one(&self) -> bool {
        if self.modulus == 0 { self.value == 1 } else { self.is_montgomery_one() }
    }
    /// Computes both products with one reduction: their sum is below `2^125`.
    #[inline(always)]
    fn dot2(a: &Residue, x: &Residue, b: &Residue, y: &Residue) -> Residue {
        let p = a.modulus;
        if p == x.modulus && p == b.modulus && p == y.modulus && p != 0 {
            let sum = u128::from(a.value) * u128::from(x.value)
                + u128::from(b.value) * u128::from(y.value);
            return Residue { value: reduce(sum, p), modulus: p };
        }
        a * x + b * y
    }
}

fn power_mod(base: u64, mut e: u64, n: u64) -> u64 {
    let product = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let (mut square, mut out) = (base % n, 1 % n);
    while e > 0 {
        if e & 1 == 1 {
            out = product(out, square);
        }
        square = product(square, square);
        e >>= 1;
    }
    out
}

/// Returns true if a number is prime. Miller and Rabin's test with the first twelve primes as bases
/// decides it for all numbers of 64 bits (Sorenson and Webster, Math. Comp. 86, 985 (2017)).
#[must_use]
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(divisor) = BASES.into_iter().find(|b| n.is_multiple_of(*b)) {
        return n == divisor;
    }
    let halvings = (n - 1).trailing_zeros();
    let odd = (n - 1) >> halvings;
    BASES.into_iter().all(|base| {
        let mut x = power_mod(base, odd, n);
        if x == 1 {
            return true;
        }
        for _ in 0..halvings {
            if x == n - 1 {
                return true;
            }
            x = power_mod(x, 2, n);
        }
        false
    })
}
