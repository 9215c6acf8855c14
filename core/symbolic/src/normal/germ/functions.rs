//! Functions of germs, by recursions for their coefficients or by integrals of their derivatives.

use std::collections::BTreeMap;

use num_traits::{ToPrimitive, Zero};

use super::{
    Context, Germ, GermError, GermResult, arithmetic::shifted, is_logarithm, logarithm_of_t,
    sign::mentions, unknown,
};
use crate::{
    ir::Number1,
    normal::{
        NormalError, SeriesError,
        atoms::{Atom, AtomProduct},
        sum::{BigFraction, NormalSum, ratio, whole},
    },
};

impl Context {
    pub(super) fn function(self, f: Number1, x: &Germ) -> GermResult<Germ> {
        use Number1 as F;
        let one = Germ::constant(NormalSum::one());
        match f {
            F::Neg => Ok(self.negated(x)),
            F::Recip => self.inverse(x),
            F::Sqrt => self.fractional_power(x, &ratio(1, 2)),
            F::Cbrt => self.fractional_power(x, &ratio(1, 3)),
            F::Exp => self.exp(x),
            F::ExpM1 => self.plus(&self.exp(x)?, &self.negated(&one)),
            F::Ln => self.ln(x),
            F::Ln1p => self.ln(&self.plus(&one, x)?),
            F::Log2 => self.logarithm_to_base(x, 2),
            F::Log10 => self.logarithm_to_base(x, 10),
            F::Sin => Ok(self.circle(x)?.1),
            F::Cos => Ok(self.circle(x)?.0),
            F::Tan => {
                let (c, s) = self.circle(x)?;
                self.times(&s, &self.inverse(&c)?)
            }
            F::Sinh | F::Cosh => {
                let (up, mut down) = (self.exp(x)?, self.exp(&self.negated(x))?);
                if f == F::Sinh {
                    down = self.negated(&down);
                }
                self.scaled(&self.plus(&up, &down)?, &NormalSum::constant(ratio(1, 2)))
            }
            F::Tanh => {
                let square = self.exp(&self.scaled(x, &NormalSum::constant(whole(2)))?)?;
                let above = self.plus(&square, &self.negated(&one))?;
                self.times(&above, &self.inverse(&self.plus(&square, &one)?)?)
            }
            F::Asin | F::Acos | F::Atan | F::Asinh => self.inverse_function(f, x),
            F::Acosh => {
                let square = self.plus(&self.times(x, x)?, &self.negated(&one))?;
                self.ln(&self.plus(x, &self.fractional_power(&square, &ratio(1, 2))?)?)
            }
            F::Atanh => {
                let (above, below) = (self.plus(&one, x)?, self.plus(&one, &self.negated(x))?);
                let difference = self.plus(&self.ln(&above)?, &self.negated(&self.ln(&below)?))?;
                self.scaled(&difference, &NormalSum::constant(ratio(1, 2)))
            }
        }
    }

    fn logarithm_to_base(self, x: &Germ, base: i64) -> GermResult<Germ> {
        let scale = self.algebra.function(Number1::Ln, &NormalSum::constant(whole(base)))?;
        self.scaled(&self.ln(x)?, &self.algebra.inverse(&scale)?)
    }

    /// Returns the part that does not go to infinity, without what is smaller than any power.
    fn finite(self, x: &Germ, what: &str) -> GermResult<Germ> {
        if x.growth.is_empty() {
            if x.end.is_some_and(|end| end <= 0) {
                return Err(GermError::Terms);
            }
            let x = self.tidied(x.clone())?;
            let has_log = |c: &NormalSum| mentions(c, super::LOGARITHM);
            if (x.start < 0 && !x.coefficients.is_empty())
                || x.coefficient(0).is_some_and(|c| has_log(&c))
            {
                return Err(if self.two_sided {
                    SeriesError::Essential.into()
                } else {
                    SeriesError::Unknown { what: format!("{what} of what goes to infinity") }.into()
                });
            }
            return Ok(x);
        }
        if self.grows(&x.growth)? {
            return Err(unknown(format!("{what} of what grows exponentially")).into());
        }
        Ok(Germ::flat(self))
    }

    /// Returns the constant coefficient, and the others from the first on.
    fn split(self, x: &Germ) -> GermResult<(NormalSum, Vec<NormalSum>, Option<usize>)> {
        let constant = x.coefficient(0).ok_or(GermError::Terms)?;
        let known = x.end.map(|end| usize::try_from(end).unwrap_or(0));
        let n = known.unwrap_or(self.terms).min(self.terms);
        let rest = (0..n).map(|k| {
            if k == 0 { NormalSum::zero() } else { x.coefficient(k as i32).unwrap_or_default() }
        });
        let rest: Vec<NormalSum> = rest.collect();
        // Nothing follows the constant, not even a power beyond those that are kept.
        let last = i64::from(x.start) + x.coefficients.len() as i64 - 1;
        let exact = x.end.is_none() && (x.coefficients.is_empty() || last <= 0);
        Ok((constant, rest, if exact { None } else { Some(n) }))
    }

    pub(super) fn exp(self, x: &Germ) -> GermResult<Germ> {
        if !x.growth.is_empty() {
            let flat = self.finite(x, "an exponential")?;
            return self.exp(&flat);
        }
        if x.end.is_some_and(|end| end <= 0) {
            return Err(GermError::Terms);
        }
        let x = self.tidied(x.clone())?;
        let growth: BTreeMap<i32, NormalSum> = (x.start..0)
            .filter_map(|e| Some((e, x.coefficient(e).filter(|c| !c.is_zero())?)))
            .collect();
        if self.two_sided && !growth.is_empty() {
            return Err(SeriesError::Essential.into());
        }
        let (constant, u, end) = self.split(&x)?;
        let (power, constant) = self.power_of_t(&constant)?;
        let mut out = vec![NormalSum::one()];
        for k in 1..u.len() {
            out.push(self.recursion(k, |j| whole(j as i64), &u, &out)?);
        }
        let end = end.map(|n| shifted(power, n)).transpose()?;
        let series = self.tidied(Germ { growth, start: power, coefficients: out, end })?;
        self.scaled(&series, &self.algebra.exp(&constant)?)
    }

    /// Computes `sum_j weight(j) u_j b_(k-j) / k`, for j from 1 to k.
    fn recursion(
        self,
        k: usize,
        weight: impl Fn(usize) -> BigFraction,
        u: &[NormalSum],
        b: &[NormalSum],
    ) -> GermResult<NormalSum> {
        let mut sum = NormalSum::zero();
        for j in 1..=k {
            let (Some(u), Some(b)) = (u.get(j), b.get(k - j)) else { continue };
            if !u.is_zero() {
                let part = self.algebra.times(u, b)?.times_fraction(&weight(j))?;
                sum = self.algebra.sum(sum, part)?;
            }
        }
        Ok(sum.times_fraction(&ratio(1, k as i64))?)
    }

    /// Returns the n and the c of `n ln t + c`.
    fn power_of_t(self, c: &NormalSum) -> GermResult<(i32, NormalSum)> {
        let log = AtomProduct::from_atom(logarithm_of_t());
        let n = c.terms().get(&log).cloned().unwrap_or_else(BigFraction::zero);
        let rest = NormalSum::from_terms(
            c.terms().iter().filter(|(p, _)| **p != log).map(|(p, q)| (p.clone(), q.clone())),
        );
        if rest.terms().keys().any(is_logarithm) || mentions(&rest, super::LOGARITHM) {
            return Err(unknown("an exponential of logarithms").into());
        }
        Ok((self.whole_exponent(&n)?, rest))
    }

    /// Returns an exponent of t.
    fn whole_exponent(self, n: &BigFraction) -> GermResult<i32> {
        if n.is_integer() {
            return Ok(n.numer().to_i32().ok_or(NormalError::Exponent)?);
        }
        Err(GermError::Root(n.denom().to_i32().ok_or(NormalError::Exponent)?))
    }

    pub(super) fn ln(self, x: &Germ) -> GermResult<Germ> {
        let (lead, start, w, end) = self.leading(x)?;
        if self.two_sided && start != 0 {
            return Err(SeriesError::Branch { what: "a logarithm".to_owned() }.into());
        }
        self.require_positive(&lead, "a logarithm")?;
        let mut out = vec![NormalSum::zero()];
        for k in 1..w.len() {
            // k L_k = k w_k - sum_j (k - j) w_j L_(k-j)
            let sum = self.recursion(k, |j| whole(j as i64 - k as i64), &w, &out)?;
            out.push(sum.plus(&w[k])?);
        }
        let constant = self.algebra.function(Number1::Ln, &lead)?;
        let log = NormalSum::atom(logarithm_of_t()).times_fraction(&whole(start))?;
        out[0] = constant.plus(&log)?;
        let mut series = Germ { growth: BTreeMap::new(), start: 0, coefficients: out, end: None };
        series.end = end.map(|n| shifted(0, n)).transpose()?;
        for (e, c) in &x.growth {
            series = self.plus(&series, &Germ::term(*e, c.clone()))?;
        }
        self.tidied(series)
    }

    /// Returns the c, v, and w of `c t^v (1 + w)`, without the growth, and how many coefficients of
    /// w are known.
    fn leading(self, x: &Germ) -> GermResult<(NormalSum, i32, Vec<NormalSum>, Option<usize>)> {
        let x = self.tidied(x.clone())?;
        let Some(lead) = x.coefficients.first().cloned() else {
            return Err(if x.end.is_some() {
                GermError::Terms
            } else {
                SeriesError::Undefined { what: "a function at a branch point".to_owned() }.into()
            });
        };
        let by = self.algebra.inverse(&lead)?;
        let n = self.known(&x);
        let mut w = vec![NormalSum::zero()];
        for k in 1..n {
            w.push(match x.coefficients.get(k) {
                Some(c) => self.algebra.times(c, &by)?,
                None => NormalSum::zero(),
            });
        }
        let exact = x.end.is_none() && x.coefficients.len() == 1;
        Ok((lead, x.start, w, if exact { None } else { Some(n) }))
    }

    /// Returns an error if a coefficient is not positive. One of inputs is taken to be where the
    /// series holds on both sides: what is found is right wherever it is defined.
    fn require_positive(self, c: &NormalSum, what: &str) -> GermResult<()> {
        if mentions(c, super::LOGARITHM) {
            return Err(unknown(format!("{what} of a logarithm")).into());
        }
        match self.sign(c) {
            Ok(1) => Ok(()),
            Ok(_) => {
                Err(SeriesError::Undefined { what: format!("{what} of a negative number") }.into())
            }
            Err(_) if self.two_sided && !c.is_constant() => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Computes `x^p` for a p that is no whole number.
    pub(super) fn fractional_power(self, x: &Germ, p: &BigFraction) -> GermResult<Germ> {
        if x.coefficients.is_empty() && x.end.is_none() && *p > BigFraction::zero() {
            return Ok(Germ::constant(NormalSum::zero()));
        }
        let (lead, start, w, end) = self.leading(x)?;
        let odd_root = p.denom().bit(0);
        if self.two_sided && start != 0 && !(odd_root && (whole(start) * p).is_integer()) {
            return Err(SeriesError::Branch { what: "a root".to_owned() }.into());
        }
        let power = self.whole_exponent(&(whole(start) * p))?;
        let constant = if *p == ratio(1, 3) {
            self.algebra.function(Number1::Cbrt, &lead)?
        } else {
            self.require_positive(&lead, "a root")?;
            self.algebra.general_power(&lead, &NormalSum::constant(p.clone()))?
        };
        let mut out = vec![NormalSum::one()];
        for k in 1..w.len() {
            out.push(self.recursion(
                k,
                |j| (p + whole(1)) * whole(j as i64) - whole(k as i64),
                &w,
                &out,
            )?);
        }
        let end = end.map(|n| shifted(power, n)).transpose()?;
        let growth = self.scaled_growth(x, p)?;
        let series = self.tidied(Germ { growth, start: power, coefficients: out, end })?;
        self.scaled(&series, &constant)
    }

    pub(super) fn general_power(self, x: &Germ, y: &Germ) -> GermResult<Germ> {
        let constant = (y.growth.is_empty() && y.end.is_none() && y.start >= 0)
            .then(|| y.coefficient(0))
            .flatten();
        let only = y.coefficients.is_empty() || (y.coefficients.len() == 1 && y.start == 0);
        match constant.filter(|_| only).and_then(|c| c.fraction()) {
            Some(q) if q.is_integer() => {
                self.power(x, q.numer().to_i32().ok_or(NormalError::Exponent)?)
            }
            Some(q) => {
                // Unlike a cube root, a power with a third is not defined below 0.
                if q == ratio(1, 3) {
                    self.require_positive(&self.leading(x)?.0, "a power")?;
                }
                self.fractional_power(x, &q)
            }
            None => self.exp(&self.times(y, &self.ln(x)?)?),
        }
    }

    /// Cosine and sine.
    fn circle(self, x: &Germ) -> GermResult<(Germ, Germ)> {
        let x = self.finite(x, "a sine or a cosine")?;
        let (constant, u, end) = self.split(&x)?;
        let (mut c, mut s) = (vec![NormalSum::one()], vec![NormalSum::zero()]);
        for k in 1..u.len() {
            let next_s = self.recursion(k, |j| whole(j as i64), &u, &c)?;
            let next_c = self.recursion(k, |j| whole(-(j as i64)), &u, &s)?;
            c.push(next_c);
            s.push(next_s);
        }
        let end = end.map(|n| shifted(0, n)).transpose()?;
        let series = |list: Vec<NormalSum>| Germ {
            growth: BTreeMap::new(),
            start: 0,
            coefficients: list,
            end,
        };
        let (c, s) = (self.tidied(series(c))?, self.tidied(series(s))?);
        if constant.is_zero() {
            return Ok((c, s));
        }
        let (cos, sin) = (self.algebra.cos(&constant)?, self.algebra.sin(&constant)?);
        let cosine = self.plus(&self.scaled(&c, &cos)?, &self.negated(&self.scaled(&s, &sin)?))?;
        let sine = self.plus(&self.scaled(&c, &sin)?, &self.scaled(&s, &cos)?)?;
        Ok((cosine, sine))
    }

    fn inverse_function(self, f: Number1, x: &Germ) -> GermResult<Germ> {
        let one = Germ::constant(NormalSum::one());
        let is_infinite = !x.growth.is_empty() || (x.start < 0 && !x.coefficients.is_empty());
        let has_log = |c: NormalSum| mentions(&c, super::LOGARITHM);
        if is_infinite || x.coefficient(0).is_some_and(has_log) {
            return self.inverse_function_at_infinity(f, x);
        }
        let x = self.finite(x, f.name())?;
        if x.end.is_none()
            && x.coefficients.len() < 2
            && (x.start == 0 || x.coefficients.is_empty())
        {
            return self.inverse_function_of_constant(f, &x);
        }
        let square = self.times(&x, &x)?;
        let below = match f {
            Number1::Atan => self.plus(&one, &square)?,
            Number1::Asinh => self.fractional_power(&self.plus(&one, &square)?, &ratio(1, 2))?,
            _ => self.fractional_power(&self.plus(&one, &self.negated(&square))?, &ratio(1, 2))?,
        };
        let slope = self.times(&self.derivative(&x)?, &self.inverse(&below)?)?;
        let rest =
            self.integral(&slope)?.ok_or_else(|| unknown(format!("{} at a pole", f.name())))?;
        let start = self.algebra.function(f, &x.coefficient(0).ok_or(GermError::Terms)?)?;
        let rest = if f == Number1::Acos { self.negated(&rest) } else { rest };
        self.plus(&Germ::constant(start), &rest)
    }

    fn inverse_function_of_constant(self, f: Number1, x: &Germ) -> GermResult<Germ> {
        let c = x.coefficient(0).unwrap_or_default();
        if matches!(f, Number1::Asin | Number1::Acos) && c.is_constant() {
            let inside = NormalSum::one().minus(&self.algebra.times(&c, &c)?)?;
            if !inside.is_zero() && self.sign(&inside)? < 0 {
                return Err(SeriesError::Undefined {
                    what: format!("{} of a large number", f.name()),
                }
                .into());
            }
        }
        Ok(Germ::constant(self.algebra.function(f, &c)?))
    }

    fn inverse_function_at_infinity(self, f: Number1, x: &Germ) -> GermResult<Germ> {
        if self.two_sided {
            return Err(SeriesError::Branch { what: format!("{} at infinity", f.name()) }.into());
        }
        let sign = self.sign_of(x)?;
        let size = if sign < 0 { self.negated(x) } else { x.clone() };
        let value = match f {
            Number1::Atan => {
                let half = NormalSum::atom(Atom::Pi).times_fraction(&ratio(1, 2))?;
                let rest = self.inverse_function(f, &self.inverse(&size)?)?;
                self.plus(&Germ::constant(half), &self.negated(&rest))?
            }
            Number1::Asinh => {
                let square =
                    self.plus(&self.times(&size, &size)?, &Germ::constant(NormalSum::one()))?;
                self.ln(&self.plus(&size, &self.fractional_power(&square, &ratio(1, 2))?)?)?
            }
            _ => {
                let what = format!("{} of a large number", f.name());
                return Err(SeriesError::Undefined { what }.into());
            }
        };
        Ok(if sign < 0 { self.negated(&value) } else { value })
    }

    /// Computes `2/sqrt(pi)` times the integral of `e^(-x^2)`.
    pub(super) fn erf(self, x: &Germ) -> GermResult<Germ> {
        let is_infinite = x.start < 0 && !x.coefficients.is_empty();
        if is_infinite && x.growth.is_empty() {
            if self.two_sided {
                return Err(SeriesError::Essential.into());
            }
            let sign = self.sign_of(x)?;
            return self.plus(&Germ::constant(NormalSum::constant(whole(sign))), &Germ::flat(self));
        }
        let x = self.finite(x, "erf")?;
        let c = x.coefficient(0).ok_or(GermError::Terms)?;
        let slope = self.exp(&self.negated(&self.times(&x, &x)?))?;
        let scale = self.algebra.root(&NormalSum::atom(Atom::Pi))?;
        let scale = self.algebra.inverse(&scale)?.times_fraction(&whole(2))?;
        let slope = self.scaled(&self.times(&slope, &self.derivative(&x)?)?, &scale)?;
        let rest = self.integral(&slope)?.ok_or_else(|| unknown("erf at a pole"))?;
        let start = if c.is_zero() {
            NormalSum::zero()
        } else {
            NormalSum::atom(Atom::Call("erf", vec![c]))
        };
        self.plus(&Germ::constant(start), &rest)
    }
}
