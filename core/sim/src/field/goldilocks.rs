//! The field of `p = 2^64 - 2^32 + 1`, whose products reduce without a division.
//!
//! `2^64 = 2^32 - 1` and `2^96 = -1` modulo p, and `p - 1 = 2^32 * 3 * 5 * 17 * 257 * 65537`, so
//! that multiples of `pi/2^31`, `pi/3`, `pi/5`, `pi/17` and their products are exact.

use num_traits::{One, Zero};

use super::Modular;
use crate::scalar::Ring;

const P: u64 = 0xffff_ffff_0000_0001;
/// `2^64 mod p`.
const EPSILON: u64 = 0xffff_ffff;

/// The field itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goldilocks;

/// A residue modulo `2^64 - 2^32 + 1`, below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fp(u64);

impl Modular for Fp {
    type Field = Goldilocks;
    const NAME: &'static str = "the Goldilocks field";
    fn characteristic(_: &Goldilocks) -> u64 {
        P
    }
    fn element(_: &Goldilocks, x: u64) -> Fp {
        Fp::new(x)
    }
}

impl Fp {
    /// Returns the residue of a number.
    #[must_use]
    pub fn new(x: u64) -> Fp {
        Fp(x % P)
    }

    /// Returns the residue as an integer below the prime.
    #[must_use]
    pub fn residue(self) -> u64 {
        self.0
    }
}

#[inline(always)]
fn plus(a: &Fp, b: &Fp) -> Fp {
    let (sum, carry) = a.0.overflowing_add(b.0);
    let (less, borrow) = sum.overflowing_sub(P);
    Fp(if carry || !borrow { less } else { sum })
}

#[inline(always)]
fn minus(a: &Fp, b: &Fp) -> Fp {
    let (difference, borrow) = a.0.overflowing_sub(b.0);
    Fp(if borrow { difference.wrapping_add(P) } else { difference })
}

/// Reduces a product, or any sum below `2^128`, modulo p.
#[inline(always)]
fn reduce(x: u128) -> Fp {
    let (low, high) = (x as u64, (x >> 64) as u64);
    let (top, middle) = (high >> 32, high & EPSILON);
    let (mut t, borrow) = low.overflowing_sub(top);
    if borrow {
        t = t.wrapping_sub(EPSILON);
    }
    let (mut r, carry) = t.overflowing_add(middle * EPSILON);
    if carry {
        r = r.wrapping_add(EPSILON);
    }
    Fp(if r >= P { r - P } else { r })
}

#[inline(always)]
fn times(a: &Fp, b: &Fp) -> Fp {
    reduce(u128::from(a.0) * u128::from(b.0))
}

ring_ops!(Fp {
    Add add AddAssign add_assign = plus;
    Sub sub SubAssign sub_assign = minus;
    Mul mul MulAssign mul_assign = times;
    - = |a: &Fp| minus(&Fp(0), a);
});

impl Zero for Fp {
    fn zero() -> Fp {
        Fp(0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl One for Fp {
    fn one() -> Fp {
        Fp(1)
    }
}

impl Ring for Fp {
    #[inline(always)]
    fn is_exact_zero(&self) -> bool {
        self.0 == 0
    }
    /// Computes both products with one reduction.
    #[inline(always)]
    fn dot2(a: &Fp, x: &Fp, b: &Fp, y: &Fp) -> Fp {
        let (first, second) =
            (u128::from(a.0) * u128::from(x.0), u128::from(b.0) * u128::from(y.0));
        let (sum, carry) = first.overflowing_add(second);
        let r = reduce(sum);
        // 2^128 = -2^32 modulo p.
        if carry { minus(&r, &Fp(1 << 32)) } else { r }
    }
}
