//! Normal forms as one fraction, cancelled.
//!
//! Everything that is no number becomes a variable: atoms, sines and cosines, and for each product
//! m in an exponent one power `e^(m/d)` that all exponentials of its multiples are powers of.
//! Fractions of polynomials in these are joined and relieved of their greatest common divisor, and
//! the variables become the sums that they denote again.

use std::{collections::BTreeMap, fmt};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, ToPrimitive};

use super::{
    MAX_TERMS, Normal, NormalError, NormalResult,
    atoms::{Atom, AtomProduct, TrigFactor},
    factor::{Factored, gcd, is_free},
    print,
    sum::{Algebra, BigFraction, NormalSum, whole},
    write,
};
use crate::trace::Expr;

const ALGEBRA: Algebra = Algebra { limit: MAX_TERMS };

/// A fraction of two normal forms without denominators. Prints as a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RationalFunction {
    numerator: NormalSum,
    denominator: NormalSum,
    is_reduced: bool,
}

impl Normal {
    /// Converts the normal form to one fraction, with common factors of numerator and denominator
    /// cancelled.
    ///
    /// ```
    /// use ketgrad_core::{normal::ExprExt, scalar::Scalar, trace::Expr};
    ///
    /// let (x, one) = (Expr::symbol("x"), Expr::int(1));
    /// let sum = (&one / (&x - &one) - &one / (&x + &one)).normal()?.cancelled()?;
    /// assert_eq!(sum.to_string(), "2/(x^2 - 1)");
    /// assert_eq!(sum.factored().to_string(), "2/((x - 1)*(x + 1))");
    /// # Ok::<(), ketgrad_core::normal::NormalError>(())
    /// ```
    ///
    /// # Errors
    /// [`NormalError::Terms`] where the common denominator is too long,
    /// [`NormalError::DivisionByZero`].
    pub fn cancelled(&self) -> NormalResult<RationalFunction> {
        let mut variables = Variables::new(&self.0);
        let (fraction, is_complete) = variables.fraction(&self.0)?.reduced()?;
        let scale = fraction.numerator.content();
        let unit = fraction.denominator.content();
        let q = &scale / &unit;
        let above =
            fraction.numerator.times_fraction(&(scale.recip() * whole(q.numer().clone())))?;
        let below =
            fraction.denominator.times_fraction(&(unit.recip() * whole(q.denom().clone())))?;
        Ok(RationalFunction {
            numerator: variables.form(&above)?,
            denominator: variables.form(&below)?,
            is_reduced: is_complete && variables.are_independent,
        })
    }
}

impl RationalFunction {
    /// Returns the numerator.
    #[must_use]
    pub fn numerator(&self) -> Normal {
        Normal(self.numerator.clone())
    }

    /// Returns the denominator: not 0, and with a positive leading coefficient.
    #[must_use]
    pub fn denominator(&self) -> Normal {
        Normal(self.denominator.clone())
    }

    /// Returns true if numerator and denominator are known to be coprime. They may have something
    /// in common where they hold sines, cosines or roots, or are so long that the search for it is
    /// given up; the value is right all the same.
    #[must_use]
    pub fn is_reduced(&self) -> bool {
        self.is_reduced
    }

    /// Returns true if it is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// Returns the factors of both, those below the line with negative exponents. See
    /// [`Normal::factored`].
    #[must_use]
    pub fn factored(&self) -> Factored {
        let [above, below] = [&self.numerator, &self.denominator].map(super::factor::factored);
        Factored::quotient(above, below).unwrap_or_else(|| self.unfactored())
    }

    /// Converts the fraction to an expression.
    ///
    /// # Errors
    /// Fails when [`Normal::expression`] does.
    pub fn expression(&self) -> NormalResult<Expr> {
        Ok(write::expression(&self.numerator)? / write::expression(&self.denominator)?)
    }

    /// Returns the text in LaTeX's mathematics.
    #[must_use]
    pub fn latex(&self) -> String {
        print::factored(&self.unfactored(), true)
    }

    fn unfactored(&self) -> Factored {
        Factored::fraction(&self.numerator, &self.denominator)
    }
}

impl fmt::Display for RationalFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print::factored(&self.unfactored(), false))
    }
}

/// A fraction of polynomials in variables.
struct PolynomialFraction {
    numerator: NormalSum,
    denominator: NormalSum,
}

impl PolynomialFraction {
    fn whole(numerator: NormalSum) -> PolynomialFraction {
        PolynomialFraction { numerator, denominator: NormalSum::one() }
    }

    fn plus(self, other: PolynomialFraction) -> NormalResult<PolynomialFraction> {
        if self.denominator == other.denominator {
            let numerator = self.numerator.plus(&other.numerator)?;
            return Ok(PolynomialFraction { numerator, denominator: self.denominator });
        }
        // Over the least common multiple, where a common divisor is found.
        let common = gcd(&self.denominator, &other.denominator).unwrap_or_else(NormalSum::one);
        let part = |d: &NormalSum| ALGEBRA.quotient(d, &common).unwrap_or_else(|| d.clone());
        let (a, b) = match (part(&self.denominator), part(&other.denominator)) {
            (a, b) if a != self.denominator && b != other.denominator => (a, b),
            _ => (self.denominator.clone(), other.denominator.clone()),
        };
        let numerator =
            ALGEBRA.times(&self.numerator, &b)?.plus(&ALGEBRA.times(&other.numerator, &a)?)?;
        Ok(PolynomialFraction { numerator, denominator: ALGEBRA.times(&self.denominator, &b)? })
    }

    fn times(&self, other: &PolynomialFraction) -> NormalResult<PolynomialFraction> {
        Ok(PolynomialFraction {
            numerator: ALGEBRA.times(&self.numerator, &other.numerator)?,
            denominator: ALGEBRA.times(&self.denominator, &other.denominator)?,
        })
    }

    fn inverse(self) -> NormalResult<PolynomialFraction> {
        if self.numerator.is_zero() {
            return Err(NormalError::DivisionByZero);
        }
        Ok(PolynomialFraction { numerator: self.denominator, denominator: self.numerator })
    }

    fn power(&self, e: u32) -> NormalResult<PolynomialFraction> {
        (0..e).try_fold(PolynomialFraction::whole(NormalSum::one()), |power, _| power.times(self))
    }

    /// Cancels the greatest common divisor; also returns true if that was found.
    fn reduced(self) -> NormalResult<(PolynomialFraction, bool)> {
        if self.numerator.is_zero() {
            return Ok((PolynomialFraction::whole(NormalSum::zero()), true));
        }
        let Some(common) = gcd(&self.numerator, &self.denominator) else {
            return Ok((self, false));
        };
        let quotients = (
            ALGEBRA.quotient(&self.numerator, &common),
            ALGEBRA.quotient(&self.denominator, &common),
        );
        match quotients {
            (Some(numerator), Some(denominator)) => {
                Ok((PolynomialFraction { numerator, denominator }, true))
            }
            _ => Ok((self, false)),
        }
    }
}

/// Variables that stand for sums.
struct Variables {
    /// Meaning of each variable, by its number.
    meanings: Vec<NormalSum>,
    numbers: BTreeMap<NormalSum, usize>,
    /// The common denominators of the coefficients of products in exponents.
    steps: BTreeMap<AtomProduct, BigInt>,
    /// True if no relation between the variables is known.
    are_independent: bool,
}

impl Variables {
    fn new(sum: &NormalSum) -> Variables {
        let mut new = Variables {
            meanings: Vec::new(),
            numbers: BTreeMap::new(),
            steps: BTreeMap::new(),
            are_independent: true,
        };
        new.note(sum);
        new
    }

    /// Collects the denominators of exponents.
    fn note(&mut self, sum: &NormalSum) {
        for (atom, _) in sum.terms().keys().flat_map(|product| &product.powers) {
            match atom {
                Atom::Inverse(sum) => self.note(sum),
                Atom::Call("exp" | "tanh", args) => {
                    for (product, q) in args[0].terms() {
                        let step = self.steps.entry(product.clone()).or_insert_with(BigInt::one);
                        *step = step.lcm(q.denom());
                    }
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self, meaning: NormalSum) -> Atom {
        let next = self.meanings.len();
        let k = *self.numbers.entry(meaning.clone()).or_insert(next);
        if k == next {
            self.meanings.push(meaning);
        }
        Atom::Symbol(format!("{k:06}"))
    }

    fn fraction(&mut self, sum: &NormalSum) -> NormalResult<PolynomialFraction> {
        // Terms of one denominator first.
        let mut parts: BTreeMap<NormalSum, NormalSum> = BTreeMap::new();
        for (product, q) in sum.terms() {
            let mut term = PolynomialFraction::whole(NormalSum::constant(q.clone()));
            for (atom, e) in &product.powers {
                let base = self.atom(atom)?;
                let base = if *e < 0 { base.inverse()? } else { base };
                term = term.times(&base.power(e.unsigned_abs())?)?;
            }
            if product.trig != TrigFactor::None {
                self.are_independent = false;
                let wave = AtomProduct { powers: Vec::new(), trig: product.trig.clone() };
                let variable = self.variable(NormalSum::term(wave, BigFraction::one()));
                term = term.times(&PolynomialFraction::whole(NormalSum::atom(variable)))?;
            }
            let part = parts.entry(term.denominator).or_default();
            *part = part.plus(&term.numerator)?;
        }
        parts.into_iter().try_fold(
            PolynomialFraction::whole(NormalSum::zero()),
            |all, (denominator, numerator)| {
                all.plus(PolynomialFraction { numerator, denominator }.reduced()?.0)
            },
        )
    }

    fn atom(&mut self, atom: &Atom) -> NormalResult<PolynomialFraction> {
        match atom {
            Atom::Inverse(sum) => self.fraction(sum)?.reduced()?.0.inverse(),
            Atom::Call("exp", args) => self.exponential(&args[0]),
            // (e^2a - 1)/(e^2a + 1)
            Atom::Call("tanh", args) => {
                let a = self.exponential(&args[0])?;
                let (above, below) = (a.power(2)?.numerator, a.power(2)?.denominator);
                Ok(PolynomialFraction {
                    numerator: above.minus(&below)?,
                    denominator: above.plus(&below)?,
                })
            }
            atom => {
                self.are_independent &= is_free(atom);
                Ok(PolynomialFraction::whole(NormalSum::atom(
                    self.variable(NormalSum::atom(atom.clone())),
                )))
            }
        }
    }

    /// Computes `e^a` in powers of variables.
    fn exponential(&mut self, a: &NormalSum) -> NormalResult<PolynomialFraction> {
        let mut out = PolynomialFraction::whole(NormalSum::one());
        for (product, q) in a.terms() {
            let step = self.steps.get(product).cloned().unwrap_or_else(BigInt::one);
            let e = (q * whole(step.clone())).to_integer().to_i32().ok_or(NormalError::Exponent)?;
            let part = NormalSum::term(product.clone(), BigFraction::new(BigInt::one(), step));
            let variable = self.variable(NormalSum::atom(Atom::Call("exp", vec![part])));
            let base = NormalSum::term(
                AtomProduct { powers: vec![(variable, e.abs())], trig: TrigFactor::None },
                BigFraction::one(),
            );
            let power = PolynomialFraction::whole(base);
            out = out.times(&if e.is_negative() { power.inverse()? } else { power })?;
        }
        Ok(out)
    }

    /// Returns a polynomial in variables as a normal form.
    fn form(&self, polynomial: &NormalSum) -> NormalResult<NormalSum> {
        let mut out = NormalSum::zero();
        for (product, q) in polynomial.terms() {
            let mut term = NormalSum::constant(q.clone());
            for (atom, e) in &product.powers {
                let Atom::Symbol(k) = atom else { continue };
                let meaning = k.parse().ok().and_then(|k: usize| self.meanings.get(k));
                term = ALGEBRA
                    .times(&term, &ALGEBRA.power(meaning.unwrap_or(&NormalSum::zero()), *e)?)?;
            }
            out = out.plus(&term)?;
        }
        Ok(out)
    }
}
