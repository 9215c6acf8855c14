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
    atoms::{Atom, Product, Wave},
    kronecker, print,
    sum::{Algebra, Q, Sum, whole},
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
    front: Sum,
    /// Factors with their exponents.
    factors: Vec<(Sum, i32)>,
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
    /// use ketgrad_core::{scalar::Scalar, trace::Expr};
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
    pub(super) fn fraction(above: &Sum, below: &Sum) -> Factored {
        let single = |sum: &Sum| match sum.terms().len() {
            0 | 1 => (sum.clone(), None),
            _ => (Sum::one(), Some(sum.clone())),
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

    pub(super) fn leading_term(&self) -> &Sum {
        &self.front
    }

    pub(super) fn sums(&self) -> &[(Sum, i32)] {
        &self.factors
    }
}

pub(super) fn factored(sum: &Sum) -> Factored {
    let whole = |is_complete| Factored { front: sum.clone(), factors: Vec::new(), is_complete };
    if sum.terms().len() < 2 {
        return whole(true);
    }
    let (q, common) = (sum.content(), sum.common());
    let front = Sum::term(Product { powers: common.clone(), wave: Wave::None }, q);
    let rest = ALGEBRA.inverse(&front).and_then(|inverse| ALGEBRA.times(sum, &inverse));
    let Ok(rest) = rest else { return whole(false) };
    let (factors, is_complete) = product(&rest);
    Factored { front, factors, is_complete }
}

/// Returns the factors of a sum whose terms share nothing, and whether they are irreducible.
pub(super) fn product(sum: &Sum) -> (Vec<(Sum, i32)>, bool) {
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
    factors
        .sort_by_cached_key(|(f, e)| (f.terms().keys().map(Product::degree).max(), f.clone(), *e));
    (factors, is_complete)
}

/// Returns the product of factors, unless it is too long.
fn multiplied(factors: &[(Sum, i32)]) -> Option<Sum> {
    factors.iter().try_fold(Sum::one(), |product, (f, e)| {
        (0..*e).try_fold(product, |product, _| ALGEBRA.times(&product, f).ok())
    })
}

/// Returns the factors that simpler means find of a polynomial to a power.
fn unfinished(p: Sum, power: i32) -> Vec<(Sum, i32)> {
    let mut factors = Vec::new();
    // Factors are primitive with a positive leading coefficient, so their product is the whole.
    if p.terms().len() > LARGEST || split(&p, power, &mut factors).is_none() {
        return vec![(p, power)];
    }
    factors
}

/// Returns true if it is a polynomial in atoms that are independent of each other.
pub(super) fn is_polynomial(sum: &Sum) -> bool {
    let plain =
        |p: &Product| p.wave == Wave::None && p.powers.iter().all(|x| x.1 > 0 && is_free(&x.0));
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
fn split(p: &Sum, power: i32, out: &mut Vec<(Sum, i32)>) -> Option<()> {
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
fn linear(mut p: Sum, x: &Atom, power: i32, out: &mut Vec<(Sum, i32)>) -> Option<()> {
    while degree(&p, x) > 1 {
        let Some(factor) = find_linear(&p, x) else { break };
        p = primitive(&ALGEBRA.quotient(&p, &factor)?)?;
        out.push((factor, power));
    }
    out.push((p, power));
    Some(())
}

fn find_linear(p: &Sum, x: &Atom) -> Option<Sum> {
    let coefficients = coefficients(p, x);
    let (top, bottom) = (divisors(coefficients.last()?)?, divisors(coefficients.first()?)?);
    let mut left = TRIALS;
    for d in &top {
        for c in &bottom {
            for sign in [1, -1] {
                left = left.checked_sub(1)?;
                let scaled = ALGEBRA.times(d, &Sum::atom(x.clone())).ok()?;
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
fn divisors(term: &Sum) -> Option<Vec<Sum>> {
    let (product, q) = term.terms().first_key_value().filter(|_| term.terms().len() == 1)?;
    let n = q.is_integer().then(|| q.numer().abs().to_i64()).flatten().filter(|n| *n < 10_000)?;
    let mut out: Vec<Sum> =
        (1..=n).filter(|d| n % d == 0).map(|d| Sum::constant(whole(d))).collect();
    for (atom, e) in &product.powers {
        let mut more = Vec::new();
        for k in 0..=*e {
            let powers = if k == 0 { Vec::new() } else { vec![(atom.clone(), k)] };
            let factor = Sum::term(Product { powers, wave: Wave::None }, Q::one());
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
fn main(p: &Sum) -> Option<Atom> {
    p.terms().keys().flat_map(|product| product.powers.iter().map(|x| &x.0)).min().cloned()
}

fn degree(p: &Sum, x: &Atom) -> i32 {
    p.terms().keys().map(|product| product.exponent(x)).max().unwrap_or(0)
}

/// Returns the coefficients of the powers of x from 0 on.
fn coefficients(p: &Sum, x: &Atom) -> Vec<Sum> {
    let mut out = vec![Sum::zero(); usize::try_from(degree(p, x)).unwrap_or(0) + 1];
    for (product, q) in p.terms() {
        if let Some(place) = usize::try_from(product.exponent(x)).ok().and_then(|k| out.get_mut(k))
        {
            // Products that differ still do without x.
            *place = place.plus(&Sum::term(product.without(x), q.clone())).unwrap_or_default();
        }
    }
    out
}

fn derivative(p: &Sum, x: &Atom) -> Option<Sum> {
    let mut out = Sum::zero();
    for (product, q) in p.terms() {
        let e = product.exponent(x);
        let mut rest = product.without(x);
        if e > 1 {
            rest.powers.push((x.clone(), e - 1));
            rest.powers.sort();
        }
        let q = Sum::term(rest, q.clone()).times_fraction(&whole(e)).ok()?;
        out = out.plus(&q).ok()?;
    }
    Some(out)
}

/// Returns the primitive part, the leading coefficient positive.
fn primitive(p: &Sum) -> Option<Sum> {
    p.times_fraction(&p.content().recip()).ok()
}

/// Returns the greatest common divisor of the coefficients of powers of x.
fn content(p: &Sum, x: &Atom) -> Option<Sum> {
    let mut out = Sum::zero();
    for c in coefficients(p, x).iter().filter(|c| !c.is_zero()) {
        out = gcd(&out, c)?;
        if out.fraction().is_some() {
            return Some(Sum::one());
        }
    }
    Some(out)
}

/// Returns the greatest common divisor, primitive, by remainders of primitive parts.
pub(super) fn gcd(a: &Sum, b: &Sum) -> Option<Sum> {
    if a.is_zero() {
        return primitive(b);
    }
    if b.is_zero() {
        return primitive(a);
    }
    let Some(x) = main(a).into_iter().chain(main(b)).min() else { return Some(Sum::one()) };
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
fn remainder(f: &Sum, g: &Sum, x: &Atom) -> Option<Sum> {
    let (low, lead) = (degree(g, x), coefficients(g, x).pop()?);
    let mut r = f.clone();
    while !r.is_zero() && degree(&r, x) >= low {
        if low == 0 {
            return Some(Sum::zero());
        }
        let (e, top) = (degree(&r, x) - low, coefficients(&r, x).pop()?);
        let powers = if e == 0 { Vec::new() } else { vec![(x.clone(), e)] };
        let shift =
            ALGEBRA.times(&top, &Sum::term(Product { powers, wave: Wave::None }, Q::one())).ok()?;
        r = ALGEBRA.times(&r, &lead).ok()?.minus(&ALGEBRA.times(g, &shift).ok()?).ok()?;
        if r.terms().len() > LARGEST * 4 {
            return None;
        }
    }
    Some(if r.is_zero() {
        Sum::zero()
    } else {
        r.times_fraction(&r.content().abs().recip()).ok()?
    })
}
