//! The ring: Laurent polynomials over the dyadic cyclotomic integers, with a power of sqrt 2 below.
//!
//! A number is `sum_j c_j e^{2 pi i k_j / 2^128} / sqrt(2)^h` with whole `c_j`. The key `k_j` is a
//! sum: a root of unity in its upper bits, an exponent for each variable in a field of the lower
//! ones. Keys are added when terms are multiplied and negated when they are conjugated, so no
//! operation has to know where the fields lie; only [`Symbols`](super::Symbols) does. The top bit
//! of a key means -1 and moves into the coefficient.
//!
//! ```
//! use ketgrad_core::{exact::Exact, scalar::Ring};
//!
//! let r = Exact::sqrt_half();
//! assert_eq!(&r * &r + Exact::half(), Exact::from(1)); // 1/2 + 1/2, decided exactly
//! assert!((&r * &Exact::from(2) - Exact::from(2) * &r).is_exact_zero());
//! ```
//!
//! Keys of roots of unity of odd order are exponents, too, and those are not independent: a number
//! with such keys is in its one form once it is [reduced](super::Symbols::reduced).
//!
//! Invariants: keys ascend and have their top bit clear; no coefficient is zero; the sum is not
//! divisible by sqrt 2. So two numbers are equal exactly if their fields are. (A sum is divisible
//! by sqrt 2 if and only if the set of its terms with odd coefficients is mapped to itself by a
//! factor i, up to signs: sqrt 2 divides x if and only if 2 divides
//! `sqrt(2) x = e^{-i pi/4} (1 + i) x`.)

use super::terms::{self, EIGHTH, ExactTerm, I};
use crate::scalar::{Conj, Ring};

/// The most terms of one number: 128 MiB.
pub const MAX_TERMS: usize = 1 << 22;
/// The most pairs of terms that one product may form: a few seconds.
pub(super) const MAX_PAIRS: usize = 1 << 26;

/// Reason why a number could not be computed. It stays with everything computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExactNumberError {
    /// More terms than one number may have.
    #[error("a number of more than {MAX_TERMS} terms")]
    Terms,
    /// A product that would take too long.
    #[error("a product of more than {MAX_PAIRS} pairs of terms")]
    Pairs,
    /// A coefficient that 128 bits do not hold.
    #[error("a coefficient beyond 128 bits")]
    Coefficient,
}

/// An exact number, see the module. It has at most [`MAX_TERMS`] terms of 32 bytes; beyond that,
/// where a product would take minutes, and where a coefficient outgrows 128 bits, it holds a
/// [`ExactNumberError`] and no terms.
///
/// Cost of a sum: the terms of both; of a product of m and n terms, m <= n: `m^2 n` for m up to 8,
/// else `m n log(m n)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    terms: Vec<ExactTerm>,
    /// h: the number is divided by sqrt(2)^h.
    roots: i32,
    fault: Option<ExactNumberError>,
}

impl Exact {
    /// 1/2.
    #[must_use]
    pub fn half() -> Exact {
        Exact { terms: vec![(0, 1)], roots: 2, fault: None }
    }

    /// 1/sqrt(2).
    #[must_use]
    pub fn sqrt_half() -> Exact {
        Exact { terms: vec![(0, 1)], roots: 1, fault: None }
    }

    /// Returns the number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// Returns the reason why it could not be computed, if so.
    #[must_use]
    pub fn fault(&self) -> Option<ExactNumberError> {
        self.fault
    }

    /// Computes `e^{2 pi i key / 2^128}`.
    pub(super) fn monomial(key: u128) -> Exact {
        Exact { terms: vec![terms::normal(key, 1)], roots: 0, fault: None }
    }

    /// Computes `n / sqrt(2)^roots`.
    pub(super) fn constant(n: i128, roots: i32) -> Exact {
        Exact::canonical(if n == 0 { Vec::new() } else { vec![(0, n)] }, roots)
    }

    /// Returns the sum of terms in any order, each key once, over sqrt(2)^roots.
    pub(super) fn of_terms(mut sum: Vec<ExactTerm>, roots: i32) -> Exact {
        sum.iter_mut().for_each(|t| *t = terms::normal(t.0, t.1));
        sum.sort_unstable_by_key(|t| t.0);
        Exact::canonical(sum, roots)
    }

    /// Returns the terms: keys and coefficients.
    pub(super) fn terms(&self) -> &[ExactTerm] {
        &self.terms
    }

    /// h, where the number is the sum of its terms divided by sqrt(2)^h.
    pub(super) fn roots(&self) -> i32 {
        self.roots
    }

    /// Computes `i` times the sum of the terms, each with a whole factor that depends on its key: a
    /// derivative.
    pub(super) fn weighted(&self, weight: impl Fn(u128) -> i64) -> Exact {
        let weigh = |&(key, c): &ExactTerm| match weight(key) {
            0 => Some(None),
            w => terms::mul(c, i128::from(w)).map(|c| Some((key, c))),
        };
        let weighted: Option<Vec<Option<ExactTerm>>> = self.terms.iter().map(weigh).collect();
        let Some(weighted) = weighted else { return self.faulty(ExactNumberError::Coefficient) };
        let weighted: Vec<ExactTerm> = weighted.into_iter().flatten().collect();
        match terms::times(&weighted, I, 1) {
            Some(terms) => Exact { fault: self.fault, ..Exact::canonical(terms, self.roots) },
            None => self.faulty(ExactNumberError::Coefficient),
        }
    }

    /// Returns a number without terms that carries the fault.
    pub(super) fn beyond(&self, fault: ExactNumberError) -> Exact {
        self.faulty(fault)
    }

    fn faulty(&self, fault: ExactNumberError) -> Exact {
        Exact { terms: Vec::new(), roots: 0, fault: self.fault.or(Some(fault)) }
    }

    /// Takes out every factor sqrt 2.
    fn canonical(mut sum: Vec<ExactTerm>, mut roots: i32) -> Exact {
        loop {
            let bits = sum.iter().fold(0, |bits, t| bits | t.1);
            if bits == 0 {
                return Exact { terms: Vec::new(), roots: 0, fault: None };
            }
            let twos = bits.trailing_zeros();
            if twos > 0 {
                sum.iter_mut().for_each(|t| t.1 >>= twos);
                // At most 127.
                roots -= 2 * twos as i32;
            }
            if !is_divisible(&sum) {
                return Exact { terms: sum, roots, fault: None };
            }
            // x / sqrt 2 = x sqrt 2 / 2; the coefficients of x sqrt 2 are even.
            match times_sqrt2(&sum) {
                Some(double) => sum = double.into_iter().map(|(key, c)| (key, c / 2)).collect(),
                None => {
                    return Exact {
                        terms: Vec::new(),
                        roots: 0,
                        fault: Some(ExactNumberError::Coefficient),
                    };
                }
            }
            roots -= 1;
        }
    }

    /// Computes `self + sign other`.
    fn combined(&self, other: &Exact, sign: i128) -> Exact {
        if let Some(fault) = self.fault.or(other.fault) {
            return self.faulty(fault);
        }
        if other.terms.is_empty() {
            return self.clone();
        }
        if self.terms.is_empty() {
            return if sign < 0 { other.negated() } else { other.clone() };
        }
        let roots = self.roots.max(other.roots);
        let sum = over(self, roots).zip(over(other, roots)).and_then(|(a, b)| {
            terms::merged(
                a.as_deref().unwrap_or(&self.terms),
                b.as_deref().unwrap_or(&other.terms),
                sign,
            )
        });
        match sum {
            None => self.faulty(ExactNumberError::Coefficient),
            Some(sum) if sum.len() > MAX_TERMS => self.faulty(ExactNumberError::Terms),
            // With different powers one is divisible by sqrt 2 and the other is not, so their sum
            // is not.
            Some(sum) if self.roots != other.roots => Exact { terms: sum, roots, fault: None },
            Some(sum) => Exact::canonical(sum, roots),
        }
    }

    fn plus(&self, other: &Exact) -> Exact {
        self.combined(other, 1)
    }

    fn minus(&self, other: &Exact) -> Exact {
        self.combined(other, -1)
    }

    fn negated(&self) -> Exact {
        Exact { terms: self.terms.iter().map(|t| (t.0, -t.1)).collect(), ..*self }
    }

    fn product(&self, other: &Exact) -> Exact {
        if let Some(fault) = self.fault.or(other.fault) {
            return self.faulty(fault);
        }
        let (s, l) =
            if self.terms.len() <= other.terms.len() { (self, other) } else { (other, self) };
        let roots = s.roots.saturating_add(l.roots);
        match s.terms.as_slice() {
            [] => Exact { terms: Vec::new(), roots: 0, fault: None },
            // A root of unity with an odd factor divides no further.
            &[(key, c)] => match terms::times(&l.terms, key, c) {
                Some(terms) => Exact { terms, roots, fault: None },
                None => self.faulty(ExactNumberError::Coefficient),
            },
            _ if s.terms.len().saturating_mul(l.terms.len()) > MAX_PAIRS => {
                self.faulty(ExactNumberError::Pairs)
            }
            short => match terms::product(short, &l.terms, MAX_TERMS) {
                Err(fault) => self.faulty(fault),
                Ok(terms) => Exact::canonical(terms, roots),
            },
        }
    }
}

/// Returns the terms of the number over sqrt(2)^roots: `Some(None)` if they are its own, `None` if
/// they do not fit.
fn over(x: &Exact, roots: i32) -> Option<Option<Vec<ExactTerm>>> {
    let more = u32::try_from(roots.checked_sub(x.roots)?).ok()?;
    if more == 0 {
        return Some(None);
    }
    let factor = 1i128.checked_shl(more / 2).filter(|f| *f > 0)?;
    let mut terms = if more % 2 == 1 { times_sqrt2(&x.terms)? } else { x.terms.clone() };
    for term in &mut terms {
        term.1 = terms::mul(term.1, factor)?;
    }
    Some(Some(terms))
}

/// Multiplies by `sqrt 2 = e^{i pi/4} + e^{-i pi/4}`.
fn times_sqrt2(sum: &[ExactTerm]) -> Option<Vec<ExactTerm>> {
    terms::merged(&terms::times(sum, EIGHTH, 1)?, &terms::times(sum, EIGHTH.wrapping_neg(), 1)?, 1)
}

/// Returns true if sqrt 2 divides a sum with an odd coefficient.
fn is_divisible(sum: &[ExactTerm]) -> bool {
    let (low, high) = sum.split_at(sum.partition_point(|t| t.0 & I == 0));
    let odd = |t: &&ExactTerm| t.1 & 1 == 1;
    low.iter().filter(odd).map(|t| t.0).eq(high.iter().filter(odd).map(|t| t.0 & !I))
}

/// A whole number.
impl From<i64> for Exact {
    fn from(n: i64) -> Exact {
        Exact::constant(i128::from(n), 0)
    }
}

ring_ops!(Exact {
    Add add AddAssign add_assign = Exact::plus;
    Sub sub SubAssign sub_assign = Exact::minus;
    Mul mul MulAssign mul_assign = Exact::product;
    - = Exact::negated;
});

impl num_traits::Zero for Exact {
    fn zero() -> Exact {
        Exact { terms: Vec::new(), roots: 0, fault: None }
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}

impl num_traits::One for Exact {
    fn one() -> Exact {
        Exact { terms: vec![(0, 1)], roots: 0, fault: None }
    }
}

impl Ring for Exact {
    fn is_exact_zero(&self) -> bool {
        self.terms.is_empty() && self.fault.is_none()
    }
    fn is_exact_one(&self) -> bool {
        self.terms == [(0, 1)] && self.roots == 0
    }
}

impl Conj for Exact {
    fn conj(&self) -> Exact {
        Exact { terms: terms::conjugate(&self.terms), ..*self }
    }
}
