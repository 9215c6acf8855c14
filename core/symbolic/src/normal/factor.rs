//! Sums as products.
//!
//! The content, which all terms share, is split off first. A sum without trigonometric factors then
//! is a polynomial in its atoms. One in a single atom is factored completely, one in several by
//! Kronecker's substitution where its degrees allow that. Else repeated factors are found by Yun's
//! algorithm, factors that lack an atom are greatest common divisors of coefficients, and linear
//! ones `d x - c` are tried, where d divides the coefficient of the highest power of x and c that
//! of the lowest, both single products. What is left then is not claimed to be irreducible.
//!
//! Source: D. Y. Y. Yun, On square-free decomposition algorithms, SYMSAC (1976).

use num_traits::{One, Signed, ToPrimitive};

use super::{
    MAX_TERMS, Normal,
    atoms::{Atom, AtomProduct, TrigFactor},
    kronecker, print,
    sum::{Algebra, BigFraction, NormalSum, whole},
};

/// Linear factors that are tried at most.
const TRIALS: usize = 2000;
/// Larger polynomials, but for those in one atom, are only relieved of what their terms share.
const LARGEST: usize = 200;

const ALGEBRA: Algebra = Algebra { limit: MAX_TERMS };

/// A normal form as a product. Prints as a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factored {
    /// One term.
    front: NormalSum,
    /// Factors with their exponents.
    factors: Vec<(NormalSum, i32)>,
    is_complete: bool,
}

impl Factored {
    /// Returns the number of factors of several terms, each counted once.
    #[must_use]
    pub fn n_factors(&self) -> usize {
        self.factors.len()
    }

    /// Returns true if every factor is known to be irreducible, as a polynomial over the rational
    /// numbers in what it is written in. Otherwise the product is right all the same, and some
    /// factor may be a product of others.
    ///
    /// ```
    /// use ketgrad_core::{normal::ExprExt, scalar::Scalar, trace::Expr};
    ///
    /// let x = Expr::symbol("x");
    /// let product = (x.powi(4) + Expr::int(4)).normal()?.factored();
    /// assert_eq!(product.to_string(), "(x^2 - 2*x + 2)*(x^2 + 2*x + 2)");
    /// assert!(product.is_complete());
    /// # Ok::<(), ketgrad_core::normal::NormalError>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the single term before the factors: a number, and powers of what all terms have in
    /// common.
    #[must_use]
    pub fn front(&self) -> Normal {
        Normal(self.front.clone())
    }

    /// Returns the factors of several terms with their exponents, which are negative below the
    /// line.
    pub fn factors(&self) -> impl Iterator<Item = (Normal, i32)> {
        self.factors.iter().map(|(sum, e)| (Normal(sum.clone()), *e))
    }

    /// Returns the text in LaTeX's mathematics.
    #[must_use]
    pub fn latex(&self) -> String {
        print::factored(self, true)
    }

    /// Returns a fraction that is not taken apart.
    pub(super) fn fraction(above: &NormalSum, below: &NormalSum) -> Factored {
        let single = |sum: &NormalSum| match sum.terms().len() {
            0 | 1 => (sum.clone(), None),
            _ => (NormalSum::one(), Some(sum.clone())),
        };
        let ((front, above), (under, below)) = (single(above), single(below));
        let (front, under) =
            match ALGEBRA.inverse(&under).and_then(|inverse| ALGEBRA.times(&front, &inverse)) {
                Ok(front) if front.terms().len() < 2 => (front, None),
                _ => (front, Some(under)),
            };
        let below = below.into_iter().chain(under).map(|sum| (sum, -1));
        Factored {
            front,
            factors: above.map(|sum| (sum, 1)).into_iter().chain(below).collect(),
            is_complete: false,
        }
    }

    /// Returns one product over another; `None` where numbers grow too large.
    pub(super) fn quotient(above: Factored, below: Factored) -> Option<Factored> {
        let front = ALGEBRA.times(&above.front, &ALGEBRA.inverse(&below.front).ok()?).ok()?;
        let turned = below.factors.into_iter().map(|(sum, e)| (sum, -e));
        Some(Factored {
            front,
            factors: above.factors.into_iter().chain(turned).collect(),
            is_complete: above.is_complete && below.is_complete,
        })
    }

    pub(super) fn leading_term(&self) -> &NormalSum {
        &self.front
    }

    pub(super) fn sums(&self) -> &[(NormalSum, i32)] {
        &self.factors
    }
}

pub(super) fn factored(sum: &NormalSum) -> Factored {
    let whole = |is_complete| Factored { front: sum.clone(), factors: Vec::new(), is_complete };
    if sum.terms().len() < 2 {
        return whole(true);
    }
    let (q, common) = (sum.content(), sum.common());
    let front = NormalSum::term(AtomProduct { powers: common.clone(), trig: TrigFactor::None }, q);
    let rest = ALGEBRA.inverse(&front).and_then(|inverse| ALGEBRA.times(sum, &inverse));
    let Ok(rest) = rest else { return whole(false) };
    let (factors, is_complete) = product(&rest);
    Factored { front, factors, is_complete }
}

/// Returns the factors of a sum whose terms share nothing, and whether they are irreducible.
pub(super) fn product(sum: &NormalSum) -> (Vec<(NormalSum, i32)>, bool) {
    if !is_polynomial(sum) {
        return (vec![(sum.clone(), 1)], false);
    }
    let split =
        kronecker::split(sum).filter(|split| multiplied(&split.factors).as_ref() == Some(sum));
    let (mut factors, is_complete) = match split {
        Some(split) if split.is_complete => (split.factors, true),
        Some(split) => (split.factors, false),
        None => (vec![(sum.clone(), 1)], false),
    };
    if !is_complete {
        factors = factors.into_iter().flat_map(|(f, e)| unfinished(f, e)).collect();
    }
    factors.sort_by_cached_key(|(f, e)| {
        (f.terms().keys().map(AtomProduct::degree).max(), f.clone(), *e)
    });
    (factors, is_complete)
}

/// Returns the product of factors, unless it is too long.
fn multiplied(factors: &[(NormalSum, i32)]) -> Option<NormalSum> {
    factors.iter().try_fold(NormalSum::one(), |product, (f, e)| {
        (0..*e).try_fold(product, |product, _| ALGEBRA.times(&product, f).ok())
    })
}

/// Returns the factors that simpler means find of a polynomial to a power.
fn unfinished(p: NormalSum, power: i32) -> Vec<(NormalSum, i32)> {
    let mut factors = Vec::new();
    // Factors are primitive with a positive leading coefficient, so their product is the whole.
    if p.terms().len() > LARGEST || split(&p, power, &mut factors).is_none() {
        return vec![(p, power)];
    }
    factors
}

/// Returns true if it is a polynomial in atoms that are independent of each other.
pub(super) fn is_polynomial(sum: &NormalSum) -> bool {
    let plain = |p: &AtomProduct| {
        p.trig == TrigFactor::None && p.powers.iter().all(|x| x.1 > 0 && is_free(&x.0))
    };
    sum.terms().keys().all(plain)
}

/// Returns true if powers of an atom are independent.
pub(super) fn is_free(atom: &Atom) -> bool {
    match atom {
        Atom::Symbol(_) | Atom::Pi | Atom::Float(_) => true,
        Atom::Call(name, _) => !matches!(*name, "exp" | "sqrt" | "abs" | "cbrt"),
        Atom::Root(_) | Atom::Inverse(_) => false,
    }
}

/// Finds the factors of a primitive polynomial to a power; `None` if numbers grow too large.
fn split(p: &NormalSum, power: i32, out: &mut Vec<(NormalSum, i32)>) -> Option<()> {
    let Some(x) = main(p) else { return Some(()) };
    let content = content(p, &x)?;
    let mut rest = primitive(&ALGEBRA.quotient(p, &content)?)?;
    split(&primitive(&content)?, power, out)?;
    // Yun: a = p' / gcd(p, p'), b = p / gcd.
    let g = gcd(&rest, &derivative(&rest, &x)?)?;
    let mut e = 1;
    let (mut b, mut c) =
        (ALGEBRA.quotient(&rest, &g)?, ALGEBRA.quotient(&derivative(&rest, &x)?, &g)?);
    loop {
        let d = c.minus(&derivative(&b, &x)?).ok()?;
        if main(&b).is_none() {
            return Some(());
        }
        rest = gcd(&b, &d)?;
        if main(&rest).is_some() {
            linear(primitive(&rest)?, &x, power * e, out)?;
        }
        b = ALGEBRA.quotient(&b, &rest)?;
        c = ALGEBRA.quotient(&d, &rest)?;
        e += 1;
    }
}

/// Takes out linear factors of a polynomial without repeated ones.
fn linear(mut p: NormalSum, x: &Atom, power: i32, out: &mut Vec<(NormalSum, i32)>) -> Option<()> {
    while degree(&p, x) > 1 {
        let Some(factor) = find_linear(&p, x) else { break };
        p = primitive(&ALGEBRA.quotient(&p, &factor)?)?;
        out.push((factor, power));
    }
    out.push((p, power));
    Some(())
}

fn find_linear(p: &NormalSum, x: &Atom) -> Option<NormalSum> {
    let coefficients = coefficients(p, x);
    let (top, bottom) = (divisors(coefficients.last()?)?, divisors(coefficients.first()?)?);
    let mut left = TRIALS;
    for d in &top {
        for c in &bottom {
            for sign in [1, -1] {
                left = left.checked_sub(1)?;
                let scaled = ALGEBRA.times(d, &NormalSum::atom(x.clone())).ok()?;
                let candidate = scaled.minus(&c.times_fraction(&whole(sign)).ok()?).ok()?;
                if let Some(rest) = ALGEBRA.quotient(p, &candidate)
                    && rest.terms().keys().all(|p| p.powers.iter().all(|x| x.1 > 0))
                {
                    return primitive(&candidate);
                }
            }
        }
    }
    None
}

/// Returns the divisors of a single product with a small whole coefficient.
fn divisors(term: &NormalSum) -> Option<Vec<NormalSum>> {
    let (product, q) = term.terms().first_key_value().filter(|_| term.terms().len() == 1)?;
    let n = q.is_integer().then(|| q.numer().abs().to_i64()).flatten().filter(|n| *n < 10_000)?;
    let mut out: Vec<NormalSum> =
        (1..=n).filter(|d| n % d == 0).map(|d| NormalSum::constant(whole(d))).collect();
    for (atom, e) in &product.powers {
        let mut more = Vec::new();
        for k in 0..=*e {
            let powers = if k == 0 { Vec::new() } else { vec![(atom.clone(), k)] };
            let factor =
                NormalSum::term(AtomProduct { powers, trig: TrigFactor::None }, BigFraction::one());
            for d in &out {
                more.push(ALGEBRA.times(d, &factor).ok()?);
            }
        }
        out = more;
        if out.len() > TRIALS {
            return None;
        }
    }
    Some(out)
}

/// Returns the first atom of a polynomial.
fn main(p: &NormalSum) -> Option<Atom> {
    p.terms().keys().flat_map(|product| product.powers.iter().map(|x| &x.0)).min().cloned()
}

fn degree(p: &NormalSum, x: &Atom) -> i32 {
    p.terms().keys().map(|product| product.exponent(x)).max().unwrap_or(0)
}

/// Returns the coefficients of the powers of x from 0 on.
fn coefficients(p: &NormalSum, x: &Atom) -> Vec<NormalSum> {
    let mut out = vec![NormalSum::zero(); usize::try_from(degree(p, x)).unwrap_or(0) + 1];
    for (product, q) in p.terms() {
        if let Some(place) = usize::try_from(product.exponent(x)).ok().and_then(|k| out.get_mut(k))
        {
            // Products that differ still do without x.
            *place =
                place.plus(&NormalSum::term(product.without(x), q.clone())).unwrap_or_default();
        }
    }
    out
}

fn derivative(p: &NormalSum, x: &Atom) -> Option<NormalSum> {
    let mut out = NormalSum::zero();
    for (product, q) in p.terms() {
        let e = product.exponent(x);
        let mut rest = product.without(x);
        if e > 1 {
            rest.powers.push((x.clone(), e - 1));
            rest.powers.sort();
        }
        let q = NormalSum::term(rest, q.clone()).times_fraction(&whole(e)).ok()?;
        out = out.plus(&q).ok()?;
    }
    Some(out)
}

/// Returns the primitive part, the leading coefficient positive.
fn primitive(p: &NormalSum) -> Option<NormalSum> {
    p.times_fraction(&p.content().recip()).ok()
}

/// Returns the greatest common divisor of the coefficients of powers of x.
fn content(p: &NormalSum, x: &Atom) -> Option<NormalSum> {
    let mut out = NormalSum::zero();
    for c in coefficients(p, x).iter().filter(|c| !c.is_zero()) {
        out = gcd(&out, c)?;
        if out.fraction().is_some() {
            return Some(NormalSum::one());
        }
    }
    Some(out)
}

/// Returns the greatest common divisor, primitive, by remainders of primitive parts.
pub(super) fn gcd(a: &NormalSum, b: &NormalSum) -> Option<NormalSum> {
    if a.is_zero() {
        return primitive(b);
    }
    if b.is_zero() {
        return primitive(a);
    }
    let Some(x) = main(a).into_iter().chain(main(b)).min() else { return Some(NormalSum::one()) };
    if let Some(common) = kronecker::gcd_in_one_atom(a, b) {
        return Some(common);
    }
    let (in_a, in_b) = (content(a, &x)?, content(b, &x)?);
    let (mut f, mut g) = (ALGEBRA.quotient(a, &in_a)?, ALGEBRA.quotient(b, &in_b)?);
    if degree(&f, &x) < degree(&g, &x) {
        (f, g) = (g, f);
    }
    while !g.is_zero() {
        let r = remainder(&f, &g, &x)?;
        let r = if r.is_zero() { r } else { primitive(&ALGEBRA.quotient(&r, &content(&r, &x)?)?)? };
        (f, g) = (g, r);
    }
    let common = gcd(&in_a, &in_b)?;
    if degree(&f, &x) == 0 {
        return Some(common);
    }
    primitive(&ALGEBRA.times(&primitive(&f)?, &common).ok()?)
}

/// Returns the remainder of `c^k f` by g in x, where c is the leading coefficient of g.
fn remainder(f: &NormalSum, g: &NormalSum, x: &Atom) -> Option<NormalSum> {
    let (low, lead) = (degree(g, x), coefficients(g, x).pop()?);
    let mut r = f.clone();
    while !r.is_zero() && degree(&r, x) >= low {
        if low == 0 {
            return Some(NormalSum::zero());
        }
        let (e, top) = (degree(&r, x) - low, coefficients(&r, x).pop()?);
        let powers = if e == 0 { Vec::new() } else { vec![(x.clone(), e)] };
        let shift = ALGEBRA
            .times(
                &top,
                &NormalSum::term(
                    AtomProduct { powers, trig: TrigFactor::None },
                    BigFraction::one(),
                ),
            )
            .ok()?;
        r = ALGEBRA.times(&r, &lead).ok()?.minus(&ALGEBRA.times(g, &shift).ok()?).ok()?;
        if r.terms().len() > LARGEST * 4 {
            return None;
        }
    }
    Some(if r.is_zero() {
        NormalSum::zero()
    } else {
        r.times_fraction(&r.content().abs().recip()).ok()?
    })
}
