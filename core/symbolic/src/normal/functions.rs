//! Functions of normal forms: values, parity, and what functions of functions are.
//!
//! All inputs are real, and a form is equal to its expression wherever both are defined. A rule
//! whose condition is not seen to hold is not applied.
//!
//! | rule | condition |
//! |---|---|
//! | `ln e^a = a`, `asinh(sinh a) = a`, `atanh(tanh a) = a` | none |
//! | `ln(u v) = ln u + ln v` | u is seen to be positive |
//! | `ln u^n = n ln u` | n is odd, or u is seen to be positive |
//! | `e^(n ln u) = u^n`, `e^(n/2 ln u) = sqrt(u)^n` | n is a whole number; u is positive where `ln u` is defined |
//! | `sqrt(u^2) = abs(u)`, `abs(u)^2 = u^2` | none |
//! | `sqrt(u^2) = u`, `abs(u) = u` | u is seen not to be negative |
//! | `sinh a`, `cosh a` from `e^a`; `acosh(cosh a) = abs(a)` | none |
//! | `f(g(u)) = u` for sin, cos, tan, sinh, cosh, tanh and their inverses g | u in the domain of g |
//! | `cos(asin u) = sqrt(1 - u^2)`, `tan(acos u) = sqrt(1 - u^2)/u` and the like | u in the domain of the inverse |
//! | `asin(sin q) = q`, `acos(cos q) = q` | q is a number in the range of the inverse |
//! | `pow(e^a, y) = e^(a y)`, `pow(u, n/2) = sqrt(u)^n` | n is a whole number |

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Signed, ToPrimitive};

use super::{
    NormalResult,
    atoms::{Atom, AtomProduct, TrigFactor},
    sum::{Algebra, BigFraction, NormalSum, ratio, whole},
};
use crate::ir::Number1;

/// Radicands whose prime factors are looked for.
const MAX_RADICAND: i128 = 1 << 40;
/// Exponents of sums that `e^(n ln u)` is multiplied out for.
const MAX_EXPONENT: i32 = 8;

impl Algebra {
    pub(super) fn function(self, f: Number1, x: &NormalSum) -> NormalResult<NormalSum> {
        use Number1 as F;
        if let Some(value) = self.special_value(f, x) {
            return value;
        }
        match f {
            F::Neg => Ok(x.negated()),
            F::Recip => self.inverse(x),
            F::Sin => self.circular(x, Algebra::sin, false),
            F::Cos => self.circular(x, Algebra::cos, true),
            F::Tan => self.tangent(x),
            F::Sqrt => self.root(x),
            F::Exp => self.exp(x),
            F::Ln => self.ln(x),
            F::Sinh => self.hyperbolic(x, false),
            F::Cosh => self.hyperbolic(x, true),
            F::Cbrt | F::Tanh | F::Asin | F::Atan | F::Asinh | F::Atanh if is_negative(x) => {
                Ok(self.function(f, &x.negated())?.negated())
            }
            F::Tanh => Ok(inner(x, "atanh").unwrap_or_else(|| call("tanh", x))),
            F::Asin | F::Acos => Ok(within_range(f, x).unwrap_or_else(|| call(f.name(), x))),
            F::Asinh => Ok(as_hyperbolic(x, false).unwrap_or_else(|| call("asinh", x))),
            F::Acosh => match as_hyperbolic(x, true) {
                Some(a) => self.abs(&a),
                None => Ok(call("acosh", x)),
            },
            F::Atanh => Ok(inner(x, "tanh").unwrap_or_else(|| call("atanh", x))),
            _ => Ok(call(f.name(), x)),
        }
    }

    /// Evaluates a function at numbers of which the value is known.
    fn special_value(self, f: Number1, x: &NormalSum) -> Option<NormalResult<NormalSum>> {
        use Number1 as F;
        let Some(q) = x.fraction() else { return special_angle(f, x).map(|q| pi(&q)) };
        let at = q.is_integer().then(|| q.numer().to_i64()).flatten();
        Some(match (f, at) {
            (F::Exp | F::Cosh, Some(0)) | (F::Cbrt, Some(1)) => Ok(NormalSum::one()),
            (F::Ln | F::Log2 | F::Log10 | F::Acosh | F::Acos, Some(1)) => Ok(NormalSum::zero()),
            (F::Acos, Some(-1)) => pi(&ratio(1, 1)),
            (
                F::Cbrt
                | F::ExpM1
                | F::Ln1p
                | F::Sinh
                | F::Tanh
                | F::Asin
                | F::Atan
                | F::Asinh
                | F::Atanh,
                Some(0),
            ) => Ok(NormalSum::zero()),
            (F::Log2, _) => Ok(NormalSum::constant(whole(exact_logarithm(&q, 2)?))),
            (F::Log10, _) => Ok(NormalSum::constant(whole(exact_logarithm(&q, 10)?))),
            _ => return special_angle(f, x).map(|q| pi(&q)),
        })
    }

    /// Returns a sine or a cosine; with the sign of the argument taken out of the first if it is
    /// odd.
    fn circular(
        self,
        x: &NormalSum,
        f: fn(Algebra, &NormalSum) -> NormalResult<NormalSum>,
        even: bool,
    ) -> NormalResult<NormalSum> {
        let negative = is_negative(x);
        let x = if negative { x.negated() } else { x.clone() };
        let value = match (inner(&x, "asin"), inner(&x, "acos"), inner(&x, "atan")) {
            (Some(u), _, _) if even => self.leg(&u)?,
            (_, Some(u), _) if !even => self.leg(&u)?,
            (Some(u), _, _) | (_, Some(u), _) => u,
            (_, _, Some(u)) => {
                let inverse = self.inverse(&self.hypotenuse(&u)?)?;
                if even { inverse } else { self.times(&u, &inverse)? }
            }
            _ => f(self, &x)?,
        };
        Ok(if negative && !even { value.negated() } else { value })
    }

    fn tangent(self, x: &NormalSum) -> NormalResult<NormalSum> {
        if let Some(u) = inner(x, "atan") {
            return Ok(u);
        }
        let (s, c) = (self.function(Number1::Sin, x)?, self.function(Number1::Cos, x)?);
        self.times(&s, &self.inverse(&c)?)
    }

    /// Computes `sqrt(1 - u^2)`.
    fn leg(self, u: &NormalSum) -> NormalResult<NormalSum> {
        self.root(&NormalSum::one().minus(&self.times(u, u)?)?)
    }

    /// Computes `sqrt(1 + u^2)`.
    fn hypotenuse(self, u: &NormalSum) -> NormalResult<NormalSum> {
        self.root(&NormalSum::one().plus(&self.times(u, u)?)?)
    }

    /// `(e^x - e^-x)/2`, or `(e^x + e^-x)/2`.
    fn hyperbolic(self, x: &NormalSum, even: bool) -> NormalResult<NormalSum> {
        let negative = is_negative(x);
        let turned = if negative { x.negated() } else { x.clone() };
        let value = match (inner(&turned, "asinh"), inner(&turned, "acosh")) {
            (Some(u), _) if !even => u,
            (Some(u), _) => self.hypotenuse(&u)?,
            (_, Some(u)) if even => u,
            (_, Some(u)) => self.root(&self.times(&u, &u)?.minus(&NormalSum::one())?)?,
            _ => {
                let (up, down) = (self.exp(&turned)?, self.exp(&turned.negated())?);
                let sum = if even { up.plus(&down)? } else { up.minus(&down)? };
                sum.times_fraction(&ratio(1, 2))?
            }
        };
        Ok(if negative && !even { value.negated() } else { value })
    }

    /// Computes `e^x`, where terms `n ln u` and `n/2 ln u` of x leave powers.
    pub(super) fn exp(self, x: &NormalSum) -> NormalResult<NormalSum> {
        let (mut rest, mut factors) = (Vec::new(), Vec::new());
        for (product, q) in x.terms() {
            match logarithm(product).and_then(|u| Some((u, self.real_power(u, q)?))) {
                Some((_, power)) => factors.push(power?),
                None => rest.push((product.clone(), q.clone())),
            }
        }
        let rest = NormalSum::from_terms(rest.into_iter());
        let start = if rest.is_zero() { NormalSum::one() } else { call("exp", &rest) };
        factors.iter().try_fold(start, |all, factor| self.times(&all, factor))
    }

    /// Computes `u^q` for a u that is positive, as far as it is a product of powers and square
    /// roots.
    fn real_power(self, u: &NormalSum, q: &BigFraction) -> Option<NormalResult<NormalSum>> {
        let twice = q * whole(2);
        let n = twice.is_integer().then(|| twice.numer().to_i32()).flatten()?;
        if u.terms().len() > 1 && n.abs() > 2 * MAX_EXPONENT {
            return None;
        }
        Some(if n % 2 == 0 {
            self.power(u, n / 2)
        } else {
            self.root(u).and_then(|root| self.power(&root, n))
        })
    }

    /// Computes `pow(x, y)` where y is no whole number.
    pub(super) fn general_power(self, x: &NormalSum, y: &NormalSum) -> NormalResult<NormalSum> {
        if let Some(a) = inner(x, "exp") {
            return self.exp(&self.times(&a, y)?);
        }
        match y.fraction().and_then(|q| self.real_power(x, &q)) {
            Some(power) => power,
            None => Ok(NormalSum::atom(Atom::Call("pow", vec![x.clone(), y.clone()]))),
        }
    }

    /// Factors that are seen to be positive leave the logarithm.
    fn ln(self, x: &NormalSum) -> NormalResult<NormalSum> {
        let content = x.content();
        if x.is_zero() || (x.is_constant() && content.is_negative()) {
            return Ok(call("ln", x));
        }
        let mut out = rational_logarithm(&content.abs())?;
        let scaled = x.times_fraction(&content.abs().recip())?;
        let Some((product, sign)) =
            scaled.terms().first_key_value().filter(|_| scaled.terms().len() == 1)
        else {
            return out.plus(&call("ln", &scaled));
        };
        let mut rest = AtomProduct { powers: Vec::new(), trig: product.trig.clone() };
        for (atom, e) in &product.powers {
            let part = match atom {
                Atom::Call("exp", args) => Some(args[0].clone()),
                Atom::Call("sqrt", args) if is_positive(&args[0]) => {
                    Some(self.ln(&args[0])?.times_fraction(&ratio(1, 2))?)
                }
                Atom::Root(n) => {
                    Some(rational_logarithm(&whole(*n))?.times_fraction(&ratio(1, 2))?)
                }
                atom if is_positive_atom(atom) => Some(call("ln", &NormalSum::atom(atom.clone()))),
                _ => None,
            };
            match part {
                Some(part) => out = out.plus(&part.times_fraction(&whole(*e))?)?,
                None => rest.powers.push((atom.clone(), *e)),
            }
        }
        if rest == AtomProduct::ONE {
            return Ok(out);
        }
        let single = match rest.powers.as_slice() {
            [(atom, e)] if rest.trig == TrigFactor::None && sign.is_one() => {
                Some((atom.clone(), *e))
            }
            _ => None,
        };
        match single {
            Some((Atom::Call("sqrt", args), e)) => {
                out.plus(&self.ln(&args[0])?.times_fraction(&ratio(e.into(), 2))?)
            }
            Some((Atom::Inverse(sum), e)) if e % 2 != 0 => {
                out.plus(&self.ln(&sum)?.times_fraction(&whole(-e))?)
            }
            Some((atom, e)) if e % 2 != 0 => {
                out.plus(&call("ln", &NormalSum::atom(atom)).times_fraction(&whole(e))?)
            }
            _ => out.plus(&call("ln", &NormalSum::term(rest, sign.clone()))),
        }
    }

    /// Returns the absolute value: of a product, the product of those of its factors.
    pub(super) fn abs(self, x: &NormalSum) -> NormalResult<NormalSum> {
        let q = x.content();
        let rest = x.times_fraction(&q.recip())?;
        if rest.terms().values().all(Signed::is_positive) && rest.terms().keys().all(is_nonnegative)
        {
            return rest.times_fraction(&q.abs());
        }
        let Some((product, _)) = rest.terms().first_key_value().filter(|_| rest.terms().len() == 1)
        else {
            return call("abs", &rest).times_fraction(&q.abs());
        };
        let wave = AtomProduct { powers: Vec::new(), trig: product.trig.clone() };
        let start = if wave == AtomProduct::ONE {
            NormalSum::one()
        } else {
            call("abs", &NormalSum::term(wave, BigFraction::one()))
        };
        let mut out = start.times_fraction(&q.abs())?;
        for (atom, e) in &product.powers {
            let alone = AtomProduct { powers: vec![(atom.clone(), *e)], trig: TrigFactor::None };
            let factor = match atom {
                _ if is_nonnegative(&alone) => NormalSum::term(alone, BigFraction::one()),
                Atom::Inverse(sum) => self.power(&self.abs(sum)?, -e)?,
                atom => self.power(&call("abs", &NormalSum::atom(atom.clone())), *e)?,
            };
            out = self.times(&out, &factor)?;
        }
        Ok(out)
    }

    /// Computes `sqrt(q u) = sqrt(q) sqrt(u)` for a positive fraction q, and squares leave the root
    /// by their absolute values.
    pub(super) fn root(self, x: &NormalSum) -> NormalResult<NormalSum> {
        if x.is_zero() {
            return Ok(NormalSum::zero());
        }
        let q = x.content().abs();
        let rest = x.times_fraction(&q.recip())?;
        let Some(mut outside) = root_of(&q) else {
            return Ok(call("sqrt", x));
        };
        let mut inside = rest.clone();
        if let Some((product, sign)) =
            rest.terms().first_key_value().filter(|_| rest.terms().len() == 1)
        {
            let mut kept = AtomProduct { powers: Vec::new(), trig: product.trig.clone() };
            for (atom, e) in &product.powers {
                match atom {
                    Atom::Call("exp", args) => {
                        outside = self
                            .times(&outside, &self.exp(&args[0].times_fraction(&ratio(1, 2))?)?)?;
                        continue;
                    }
                    Atom::Symbol(_) | Atom::Pi | Atom::Call(..) if *e / 2 != 0 => {
                        let half = self.power(&NormalSum::atom(atom.clone()), e.div_euclid(2))?;
                        outside = self.times(&outside, &self.abs(&half)?)?;
                    }
                    _ => {
                        kept.powers.push((atom.clone(), *e));
                        continue;
                    }
                }
                if e.rem_euclid(2) == 1 {
                    kept.powers.push((atom.clone(), 1));
                }
            }
            inside = NormalSum::term(kept, sign.clone());
        }
        if inside.fraction().is_some_and(|q| q.is_one()) {
            return Ok(outside);
        }
        self.times(&outside, &call("sqrt", &inside))
    }
}

fn call(name: &'static str, x: &NormalSum) -> NormalSum {
    NormalSum::atom(Atom::Call(name, vec![x.clone()]))
}

fn pi(by: &BigFraction) -> NormalResult<NormalSum> {
    NormalSum::atom(Atom::Pi).times_fraction(by)
}

/// Returns true if the first coefficient is below 0: the argument of an odd or even function is
/// turned then.
pub(super) fn is_negative(x: &NormalSum) -> bool {
    x.lead().is_some_and(|(_, q)| q.is_negative())
}

/// Returns the u of a form that is `name(u)`.
fn inner(x: &NormalSum, name: &str) -> Option<NormalSum> {
    let (product, q) = x.terms().first_key_value().filter(|_| x.terms().len() == 1)?;
    match product.powers.as_slice() {
        [(Atom::Call(f, args), 1)]
            if *f == name && product.trig == TrigFactor::None && q.is_one() =>
        {
            args.first().cloned()
        }
        _ => None,
    }
}

/// Returns the u of a product that is `ln u`.
fn logarithm(product: &AtomProduct) -> Option<&NormalSum> {
    match product.powers.as_slice() {
        [(Atom::Call("ln", args), 1)] if product.trig == TrigFactor::None => args.first(),
        _ => None,
    }
}

/// Returns true if an exponent has a term that [`Algebra::exp`] turns into a power.
pub(super) fn has_logarithm(x: &NormalSum) -> bool {
    x.terms().iter().any(|(product, q)| (q * whole(2)).is_integer() && logarithm(product).is_some())
}

/// Returns the a of a form that is `sinh a` or `cosh a`.
fn as_hyperbolic(x: &NormalSum, even: bool) -> Option<NormalSum> {
    let exponent = |(product, q): (&AtomProduct, &BigFraction)| {
        let e = inner(&NormalSum::term(product.clone(), BigFraction::one()), "exp")?;
        Some((e, q.clone()))
    };
    let mut terms = x.terms().iter();
    let (a, p) = exponent(terms.next()?)?;
    let (b, q) = exponent(terms.next()?)?;
    if terms.next().is_some()
        || a != b.negated()
        || p.abs() != ratio(1, 2)
        || q.abs() != ratio(1, 2)
    {
        return None;
    }
    match (even, p.is_positive(), q.is_positive()) {
        (true, true, true) | (false, true, false) => Some(a),
        (false, false, true) => Some(b),
        _ => None,
    }
}

/// Returns the q of `asin(sin q)` or `acos(cos q)`, where it is a number in the range of the
/// inverse.
fn within_range(f: Number1, x: &NormalSum) -> Option<NormalSum> {
    let (product, sign) = x.terms().first_key_value().filter(|_| x.terms().len() == 1)?;
    let (argument, from, to) = match (&product.trig, f) {
        (TrigFactor::Sin(a), Number1::Asin) => (a, ratio(-3, 2), ratio(3, 2)),
        (TrigFactor::Cos(a), Number1::Acos) => (a, ratio(0, 1), ratio(3, 1)),
        _ => return None,
    };
    let q = argument.fraction().filter(|q| *q >= from && *q <= to)?;
    (product.powers.is_empty() && sign.is_one()).then(|| NormalSum::constant(q))
}

/// Returns the multiple of pi that an inverse function is at some algebraic numbers.
fn special_angle(f: Number1, x: &NormalSum) -> Option<BigFraction> {
    let square = Algebra { limit: 16 }.times(x, x).ok()?.fraction()?;
    let positive = !is_negative(x);
    let signed = |q: BigFraction| if positive { q } else { -q };
    let at = |n, d| square == ratio(n, d);
    let sine = || match () {
        () if at(0, 1) => Some(ratio(0, 1)),
        () if at(1, 4) => Some(ratio(1, 6)),
        () if at(1, 2) => Some(ratio(1, 4)),
        () if at(3, 4) => Some(ratio(1, 3)),
        () if at(1, 1) => Some(ratio(1, 2)),
        () => None,
    };
    match f {
        Number1::Asin => sine().map(signed),
        Number1::Acos => sine().map(|q| ratio(1, 2) - signed(q)),
        Number1::Atan if at(1, 3) => Some(signed(ratio(1, 6))),
        Number1::Atan if at(1, 1) => Some(signed(ratio(1, 4))),
        Number1::Atan if at(3, 1) => Some(signed(ratio(1, 3))),
        _ => None,
    }
}

/// Returns the whole number n with `base^n = q`.
fn exact_logarithm(q: &BigFraction, base: u32) -> Option<i64> {
    let count = |n: &BigInt| {
        let (mut rest, mut e) = (n.clone(), 0);
        while rest.is_positive() && rest.is_multiple_of(&base.into()) {
            rest /= base;
            e += 1;
        }
        rest.is_one().then_some(e)
    };
    match (q.numer().is_one(), q.denom().is_one()) {
        (_, true) => count(q.numer()),
        (true, false) => count(q.denom()).map(|e: i64| -e),
        _ => None,
    }
}

/// Returns the logarithm of a positive fraction by those of primes, if they are found.
fn rational_logarithm(q: &BigFraction) -> NormalResult<NormalSum> {
    let mut out = NormalSum::zero();
    for (n, sign) in [(q.numer(), 1), (q.denom(), -1)] {
        if n.is_one() {
            continue;
        }
        match n.to_i128().and_then(prime_powers) {
            Some(list) => {
                for (p, e) in list {
                    let part = call("ln", &NormalSum::constant(whole(p)));
                    out = out.plus(&part.times_fraction(&whole(sign * i64::from(e)))?)?;
                }
            }
            None => {
                out = out.plus(
                    &call("ln", &NormalSum::constant(whole(n.clone())))
                        .times_fraction(&whole(sign))?,
                )?
            }
        }
    }
    Ok(out)
}

/// Returns true if it is positive for all inputs for which it is defined, which is seen from its
/// signs.
pub(super) fn is_positive(x: &NormalSum) -> bool {
    let positive = |p: &AtomProduct| {
        p.trig == TrigFactor::None && p.powers.iter().all(|(a, _)| is_positive_atom(a))
    };
    x.terms().values().all(Signed::is_positive)
        && x.terms().keys().all(is_nonnegative)
        && x.terms().keys().any(positive)
}

fn is_nonnegative(product: &AtomProduct) -> bool {
    product.trig == TrigFactor::None
        && product.powers.iter().all(|(atom, e)| {
            e % 2 == 0 || is_positive_atom(atom) || matches!(atom, Atom::Call("sqrt" | "abs", _))
        })
}

fn is_positive_atom(atom: &Atom) -> bool {
    match atom {
        Atom::Pi | Atom::Root(_) | Atom::Call("exp" | "sigmoid" | "softplus", _) => true,
        Atom::Float(bits) => f64::from_bits(*bits) > 0.0,
        Atom::Inverse(sum) => is_positive(sum),
        Atom::Call("ln", args) => args[0].fraction().is_some_and(|q| q > BigFraction::one()),
        Atom::Symbol(_) | Atom::Call(..) => false,
    }
}

/// Computes `sqrt(n/d) = sqrt(n d) / d` as a fraction and roots of primes.
fn root_of(q: &BigFraction) -> Option<NormalSum> {
    let (mut outside, mut powers) = (BigInt::one(), Vec::new());
    for (p, e) in prime_powers((q.numer() * q.denom()).to_i128()?)? {
        outside *= BigInt::from(p).pow(e / 2);
        if e % 2 == 1 {
            powers.push((Atom::Root(p), 1));
        }
    }
    let product = AtomProduct { powers, trig: TrigFactor::None };
    Some(NormalSum::term(product, Ratio::new(outside, q.denom().clone())))
}

/// Returns the prime factors of a number that is not too large.
fn prime_powers(n: i128) -> Option<Vec<(i128, u32)>> {
    let mut left = Some(n).filter(|n| (1..=MAX_RADICAND).contains(n))?;
    let (mut out, mut d) = (Vec::new(), 2);
    while left > 1 {
        if d * d > left {
            d = left;
        }
        let mut e = 0;
        while left % d == 0 {
            left /= d;
            e += 1;
        }
        if e > 0 {
            out.push((d, e));
        }
        d += 1;
    }
    Some(out)
}
