//! Fields whose residues are floats: products that vector registers take several at a time.
//!
//! A prime p lies between `2^48` and `2^49`, a residue is any integer of its class that a float
//! holds, mostly within `2 p` of 0. For `|a| <= p / 2` and `|x| <= 4 p` the product with one fused
//! operation each for l and c is
//!
//! ```text
//! h = fl(a x)      l = a x - h               exact: the error of a product is a float
//! q = round(fl(h / p))                       |q - a x / p| <= 1/2 + 3 2^-53 |a x / p| <= 7/8
//! c = h - q p      a x - q p = c + l         exact: integers below 2^53
//! ```
//! so that the result is within 7/8 p of 0, and the sum of two of them within 2 p: sums need no
//! reduction. Six operations for a product, none of which branches, against four products of 64
//! bits that no vector unit has.
//!
//! Source: J. van der Hoeven, G. Lecerf, G. Quintin, ACM Trans. Math. Softw. 43, 5 (2016),
//! section 3.

use num_traits::{One, Zero};
use rand_chacha::rand_core::Rng;

use super::{Modular, Vectors, is_prime};
use crate::{kernel::ActsOn, scalar::Ring, state::stream};

/// Primes lie from here to twice this.
const LEAST: u64 = 1 << 48;

/// The stream of the seed that primes are drawn from.
const PRIMES: u64 = u64::MAX - 3;

/// The field of a prime between `2^48` and `2^49`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatField {
    p: f64,
    /// `1 / p`, rounded.
    inverse: f64,
}

impl FloatField {
    /// Returns the field of this prime, if it is one of those.
    #[must_use]
    pub fn new(p: u64) -> Option<FloatField> {
        let here = (LEAST..2 * LEAST).contains(&p) && is_prime(p);
        here.then_some(FloatField { p: p as f64, inverse: 1.0 / p as f64 })
    }

    /// Returns a prime drawn uniformly from those that are 1 modulo `order`. `None` if there are
    /// hardly any: the order must be below `2^32`.
    #[must_use]
    pub fn random(order: u64, seed: u64) -> Option<FloatField> {
        if order == 0 || order >= 1 << 32 {
            return None;
        }
        let mut rng = stream(seed, PRIMES);
        // About one in 17 odd numbers of this size is prime; ten thousand failures do not happen.
        (0..10_000).find_map(|_| {
            FloatField::new((LEAST / order + rng.next_u64() % (LEAST / order)) * order + 1)
        })
    }

    fn reduce(&self, value: f64) -> FloatResidue {
        FloatResidue {
            value: reduced(value, self.p, self.inverse),
            p: self.p,
            inverse: self.inverse,
        }
    }
}

/// A number modulo a prime that it carries, as the integer of its class that is nearest to 0.
///
/// Numbers of two different fields have no sum and no product; the prime of the left one is taken.
/// An integer that has met no prime yet is exact up to `2^53`.
#[derive(Clone, Copy, Debug)]
pub struct FloatResidue {
    value: f64,
    /// 0: no prime yet.
    p: f64,
    inverse: f64,
}

impl FloatResidue {
    /// Returns the residue as an integer below its prime.
    #[must_use]
    pub fn residue(self) -> u64 {
        let below = if self.value < 0.0 { self.value + self.p } else { self.value };
        // An integer from 0 to 2^53.
        below as u64
    }

    /// Moves the integer into the field of another.
    fn lift(self, other: &FloatResidue) -> FloatResidue {
        FloatField { p: other.p, inverse: other.inverse }.reduce(self.value)
    }
}

/// Returns the integer of the class of x that is nearest to 0, up to rounding of half of p.
#[inline(always)]
fn reduced(x: f64, p: f64, inverse: f64) -> f64 {
    (-(x * inverse).round_ties_even()).mul_add(p, x)
}

/// Returns a number of the class of `a x` within 7/8 p of 0, for `|a| <= p / 2` and `|x| <= 4 p`.
#[inline(always)]
fn product(a: &FloatResidue, x: f64) -> f64 {
    let h = a.value * x;
    let l = a.value.mul_add(x, -h);
    let q = (h * a.inverse).round_ties_even();
    (-q).mul_add(a.p, h) + l
}

/// Applies an operation to numbers of which one may have met no prime yet.
#[inline(always)]
fn joined(
    a: &FloatResidue,
    b: &FloatResidue,
    op: impl Fn(&FloatResidue, &FloatResidue) -> f64,
    integers: impl Fn(f64, f64) -> f64,
) -> FloatResidue {
    let (a, b) = match (a.p == 0.0, b.p == 0.0) {
        (true, true) => return FloatResidue { value: integers(a.value, b.value), ..*a },
        (true, false) => (a.lift(b), *b),
        (false, true) => (*a, b.lift(a)),
        (false, false) => (*a, *b),
    };
    FloatResidue { value: reduced(op(&a, &b), a.p, a.inverse), ..a }
}

fn plus(a: &FloatResidue, b: &FloatResidue) -> FloatResidue {
    joined(a, b, |a, b| a.value + b.value, |a, b| a + b)
}

fn minus(a: &FloatResidue, b: &FloatResidue) -> FloatResidue {
    joined(a, b, |a, b| a.value - b.value, |a, b| a - b)
}

fn times(a: &FloatResidue, b: &FloatResidue) -> FloatResidue {
    joined(a, b, |a, b| product(a, b.value), |a, b| a * b)
}

ring_ops!(FloatResidue {
    Add add AddAssign add_assign = plus;
    Sub sub SubAssign sub_assign = minus;
    Mul mul MulAssign mul_assign = times;
    - = |a: &FloatResidue| FloatResidue { value: -a.value, ..*a };
});

impl PartialEq for FloatResidue {
    fn eq(&self, other: &FloatResidue) -> bool {
        minus(self, other).value == 0.0
    }
}

impl Zero for FloatResidue {
    fn zero() -> FloatResidue {
        FloatResidue { value: 0.0, p: 0.0, inverse: 0.0 }
    }
    fn is_zero(&self) -> bool {
        self.value == 0.0
    }
}

impl One for FloatResidue {
    fn one() -> FloatResidue {
        FloatResidue { value: 1.0, p: 0.0, inverse: 0.0 }
    }
}

impl Ring for FloatResidue {
    #[inline(always)]
    fn is_exact_zero(&self) -> bool {
        self.value == 0.0
    }
    #[inline(always)]
    fn is_exact_one(&self) -> bool {
        self.value == 1.0
    }
}

impl Modular for FloatResidue {
    type Field = FloatField;
    const NAME: &'static str = "the prime field";
    fn characteristic(field: &FloatField) -> u64 {
        field.p as u64
    }
    fn element(field: &FloatField, x: u64) -> FloatResidue {
        // The remainder is below 2^49.
        field.reduce((x % field.p as u64) as f64)
    }
}

impl Vectors for FloatResidue {
    type Bare = f64;
    fn lifted(field: &FloatField, x: FloatResidue) -> FloatResidue {
        if x.p == 0.0 { field.reduce(x.value) } else { x }
    }
    fn bare(field: &FloatField, x: FloatResidue) -> f64 {
        FloatResidue::lifted(field, x).value
    }
    fn residue(field: &FloatField, x: &f64) -> FloatResidue {
        field.reduce(*x)
    }
}

/// The numbers on the left know their prime (`Vectors::lifted`), those on the right are within 2 p
/// of 0.
impl ActsOn<f64> for FloatResidue {
    #[inline(always)]
    fn act(&self, x: &f64) -> f64 {
        product(self, *x)
    }
    #[inline(always)]
    fn act2(a: &FloatResidue, x: &f64, b: &FloatResidue, y: &f64) -> f64 {
        // A test for ones would cost more than their products.
        product(a, *x) + product(b, *y)
    }
    #[inline(always)]
    fn act_row(row: &[FloatResidue], x: &[f64]) -> f64 {
        let mut sum = product(&row[0], x[0]);
        for (a, x) in row[1..].iter().zip(&x[1..]) {
            sum = reduced(sum + product(a, *x), a.p, a.inverse);
        }
        sum
    }
    #[inline(always)]
    fn act_crosswise(s: &FloatResidue, x: &mut f64, y: &mut f64) {
        let (sum, difference) = (*x + *y, *x - *y);
        (*x, *y) = (product(s, sum), product(s, difference));
    }
}
