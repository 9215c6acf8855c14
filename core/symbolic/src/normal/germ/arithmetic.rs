//! Sums, products and quotients of germs.

use std::collections::BTreeMap;

use super::{Context, Germ, GermError, GermResult};
use crate::normal::{
    NormalError,
    sum::{BigFraction, NormalSum, whole},
};

impl Context {
    pub(super) fn negated(self, x: &Germ) -> Germ {
        Germ { coefficients: x.coefficients.iter().map(NormalSum::negated).collect(), ..x.clone() }
    }

    pub(super) fn scaled(self, x: &Germ, by: &NormalSum) -> GermResult<Germ> {
        self.times(x, &Germ::constant(by.clone()))
    }

    /// Removes leading zeros and coefficients beyond those that are kept.
    pub(in crate::normal) fn tidied(self, mut x: Germ) -> GermResult<Germ> {
        let mut zeros = 0;
        for c in &x.coefficients {
            if !self.vanishes(c)? {
                break;
            }
            zeros += 1;
        }
        x.coefficients.drain(..zeros);
        x.start = shifted(x.start, zeros)?;
        if x.coefficients.len() > self.terms {
            x.coefficients.truncate(self.terms);
            x.end = Some(shifted(x.start, self.terms)?);
        }
        if let Some(end) = x.end {
            x.coefficients.truncate(usize::try_from(end.saturating_sub(x.start)).unwrap_or(0));
        }
        while x.coefficients.last().is_some_and(NormalSum::is_zero) {
            x.coefficients.pop();
        }
        Ok(x)
    }

    pub(super) fn plus(self, x: &Germ, y: &Germ) -> GermResult<Germ> {
        let is_nothing = |g: &Germ| g.coefficients.is_empty() && g.end.is_none();
        if is_nothing(x) || is_nothing(y) {
            return Ok(if is_nothing(x) { y.clone() } else { x.clone() });
        }
        if x.growth != y.growth {
            return self.dominant(x, y);
        }
        let start = x.start.min(y.start);
        let end = match (x.end, y.end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let last = |g: &Germ| shifted(g.start, g.coefficients.len());
        let stop = end.unwrap_or(i32::MAX).min(last(x)?.max(last(y)?));
        let sum = |e: i32| {
            Ok(x.coefficient(e).unwrap_or_default().plus(&y.coefficient(e).unwrap_or_default())?)
        };
        let coefficients = (start..stop).map(sum).collect::<GermResult<Vec<NormalSum>>>()?;
        self.tidied(Germ { growth: x.growth.clone(), start, coefficients, end })
    }

    /// Returns the one that grows faster: beside it the other is less than any power of t.
    fn dominant(self, x: &Germ, y: &Germ) -> GermResult<Germ> {
        let difference = joined(&x.growth, &y.growth, -1)?;
        let (large, small) = if self.grows(&difference)? { (x, y) } else { (y, x) };
        if large.coefficients.is_empty() {
            return Err(GermError::Terms);
        }
        let mut sum = large.clone();
        if !small.coefficients.is_empty() || small.end.is_some() {
            let end = shifted(sum.start, self.terms)?;
            sum.end = Some(sum.end.map_or(end, |known| known.min(end)));
        }
        self.tidied(sum)
    }

    pub(super) fn times(self, x: &Germ, y: &Germ) -> GermResult<Germ> {
        let start = x.start.checked_add(y.start).ok_or(NormalError::Exponent)?;
        let nothing = |g: &Germ| g.coefficients.is_empty() && g.end.is_none();
        if nothing(x) || nothing(y) {
            return Ok(Germ::constant(NormalSum::zero()));
        }
        let ends = [(x.end, y), (y.end, x)].map(|(end, other)| {
            let first = if other.coefficients.is_empty() {
                other.end.unwrap_or(other.start)
            } else {
                other.start
            };
            end.map(|end| end.saturating_add(first))
        });
        let end = ends.into_iter().flatten().min();
        let n = (x.coefficients.len() + y.coefficients.len()).saturating_sub(1).min(self.terms + 1);
        let mut coefficients = Vec::with_capacity(n);
        for k in 0..n {
            let mut pairs =
                (0..=k).filter_map(|j| Some((x.coefficients.get(j)?, y.coefficients.get(k - j)?)));
            let add = |sum, (a, b): (&NormalSum, &NormalSum)| {
                self.algebra.sum(sum, self.algebra.times(a, b)?)
            };
            coefficients.push(pairs.try_fold(NormalSum::zero(), add)?);
        }
        self.tidied(Germ { growth: joined(&x.growth, &y.growth, 1)?, start, coefficients, end })
    }

    pub(super) fn inverse(self, x: &Germ) -> GermResult<Germ> {
        let x = self.tidied(x.clone())?;
        let Some(lead) = x.coefficients.first() else {
            return Err(if x.end.is_some() {
                GermError::Terms
            } else {
                NormalError::DivisionByZero.into()
            });
        };
        let by = self.algebra.inverse(lead)?;
        let n = self.known(&x);
        let mut out: Vec<NormalSum> = vec![by.clone()];
        for k in 1..n {
            let mut sum = NormalSum::zero();
            for j in 1..=k {
                if let Some(c) = x.coefficients.get(j) {
                    sum = self.algebra.sum(sum, self.algebra.times(c, &out[k - j])?)?;
                }
            }
            out.push(self.algebra.times(&sum.negated(), &by)?);
        }
        let start = x.start.checked_neg().ok_or(NormalError::Exponent)?;
        let exact = x.coefficients.len() == 1 && x.end.is_none();
        let end = if exact { None } else { Some(shifted(start, n)?) };
        self.tidied(Germ { growth: negative(&x.growth), start, coefficients: out, end })
    }

    /// Returns the number of known coefficients, up to those that are kept.
    pub(super) fn known(self, x: &Germ) -> usize {
        let known = x.end.map(|end| usize::try_from(end.saturating_sub(x.start)).unwrap_or(0));
        known.unwrap_or(self.terms).min(self.terms)
    }

    pub(super) fn power(self, x: &Germ, n: i32) -> GermResult<Germ> {
        let base = if n < 0 { self.inverse(x)? } else { x.clone() };
        let (mut out, mut square, mut e) =
            (Germ::constant(NormalSum::one()), base, n.unsigned_abs());
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

    /// Differentiates with respect to t.
    pub(super) fn derivative(self, x: &Germ) -> GermResult<Germ> {
        let scale =
            |(k, c): (usize, &NormalSum)| Ok(c.times_fraction(&whole(shifted(x.start, k)?))?);
        let coefficients =
            x.coefficients.iter().enumerate().map(scale).collect::<GermResult<Vec<NormalSum>>>()?;
        let (start, end) = (x.start.saturating_sub(1), x.end.map(|end| end.saturating_sub(1)));
        self.tidied(Germ { growth: BTreeMap::new(), start, coefficients, end })
    }

    /// Returns the integral from 0; `None` if it has a logarithm or is infinite there.
    pub(super) fn integral(self, x: &Germ) -> GermResult<Option<Germ>> {
        if x.end.is_some_and(|end| end < 0) {
            return Err(GermError::Terms);
        }
        if x.start < 0 {
            return Ok(None);
        }
        let scale = |(k, c): (usize, &NormalSum)| {
            Ok(c.times_fraction(&whole(shifted(x.start, k + 1)?).recip())?)
        };
        let coefficients =
            x.coefficients.iter().enumerate().map(scale).collect::<GermResult<Vec<NormalSum>>>()?;
        let (start, end) = (shifted(x.start, 1)?, x.end.map(|end| end.saturating_add(1)));
        Ok(Some(self.tidied(Germ { growth: BTreeMap::new(), start, coefficients, end })?))
    }

    /// Growth times a fraction.
    pub(super) fn scaled_growth(
        self,
        x: &Germ,
        by: &BigFraction,
    ) -> GermResult<BTreeMap<i32, NormalSum>> {
        x.growth.iter().map(|(e, c)| Ok((*e, c.times_fraction(by)?))).collect()
    }
}

pub(super) fn shifted(e: i32, by: usize) -> GermResult<i32> {
    Ok(i32::try_from(by).ok().and_then(|by| e.checked_add(by)).ok_or(NormalError::Exponent)?)
}

fn negative(growth: &BTreeMap<i32, NormalSum>) -> BTreeMap<i32, NormalSum> {
    growth.iter().map(|(e, c)| (*e, c.negated())).collect()
}

/// Returns the sum or the difference of growths.
fn joined(
    a: &BTreeMap<i32, NormalSum>,
    b: &BTreeMap<i32, NormalSum>,
    sign: i32,
) -> GermResult<BTreeMap<i32, NormalSum>> {
    let mut out = a.clone();
    for (e, c) in b {
        let place = out.entry(*e).or_default();
        *place = place.plus(&c.times_fraction(&whole(sign))?)?;
    }
    out.retain(|_, c| !c.is_zero());
    Ok(out)
}
