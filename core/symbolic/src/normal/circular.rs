//! Sines and cosines of normal forms.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{
    NormalResult,
    atoms::{Atom, AtomProduct, TrigFactor},
    sum::{Algebra, BigFraction, NormalSum, ratio, whole},
};

impl Algebra {
    /// Returns the product of two trigonometric factors as a sum of such.
    pub(super) fn trig_product(self, a: &TrigFactor, b: &TrigFactor) -> NormalResult<NormalSum> {
        let both = |f: fn(Algebra, &NormalSum) -> NormalResult<NormalSum>,
                    x: &NormalSum,
                    y: &NormalSum,
                    sign: i64|
         -> NormalResult<NormalSum> {
            let sum = f(self, &x.plus(y)?)?.times_fraction(&ratio(sign, 2))?;
            f(self, &x.minus(y)?)?.times_fraction(&ratio(1, 2))?.plus(&sum)
        };
        match (a, b) {
            (TrigFactor::None, wave) | (wave, TrigFactor::None) => Ok(NormalSum::term(
                AtomProduct { powers: Vec::new(), trig: wave.clone() },
                BigFraction::one(),
            )),
            (TrigFactor::Cos(x), TrigFactor::Cos(y)) => both(Algebra::cos, x, y, 1),
            (TrigFactor::Sin(x), TrigFactor::Sin(y)) => both(Algebra::cos, x, y, -1),
            (TrigFactor::Sin(x), TrigFactor::Cos(y)) | (TrigFactor::Cos(y), TrigFactor::Sin(x)) => {
                both(Algebra::sin, x, y, 1)
            }
        }
    }

    pub(super) fn cos(self, x: &NormalSum) -> NormalResult<NormalSum> {
        self.wave(x, 0)
    }

    pub(super) fn sin(self, x: &NormalSum) -> NormalResult<NormalSum> {
        // sin x = cos(x - pi/2)
        self.wave(x, 3)
    }

    /// Computes `cos(x + quarters pi/2)`.
    fn wave(self, x: &NormalSum, quarters: i64) -> NormalResult<NormalSum> {
        let pi = AtomProduct::from_atom(Atom::Pi);
        let turns = x.terms().get(&pi).cloned().unwrap_or_else(BigFraction::zero);
        let mut rest = x.clone();
        rest.remove(&pi);
        let doubled = turns * whole(2);
        let floor = doubled.floor();
        let r = (doubled - &floor) / whole(2);
        let quarters =
            floor.numer().mod_floor(&BigInt::from(4)).to_i64().unwrap_or_default() + quarters;
        // cos(rest + quarters pi/2 + r pi)
        let shifted = |more: i64| self.plain(&rest, (quarters + more).rem_euclid(4));
        if r.is_zero() {
            return shifted(0);
        }
        let (c, s) = circle(&r);
        self.times(&shifted(0)?, &c)?.plus(&self.times(&shifted(1)?, &s)?)
    }

    /// Computes `cos(x + quarters pi/2)` for an x without multiples of pi.
    fn plain(self, x: &NormalSum, quarters: i64) -> NormalResult<NormalSum> {
        if x.is_zero() {
            return Ok(NormalSum::constant(whole([1, 0, -1, 0][quarters as usize])));
        }
        let negative = x.lead().is_some_and(|(_, q)| q.is_negative());
        let x = if negative { x.negated() } else { x.clone() };
        let flip = if negative && quarters % 2 == 1 { -1 } else { 1 };
        let (wave, sign) = match quarters {
            0 => (TrigFactor::Cos(x), 1),
            1 => (TrigFactor::Sin(x), -1),
            2 => (TrigFactor::Cos(x), -1),
            _ => (TrigFactor::Sin(x), 1),
        };
        Ok(NormalSum::term(AtomProduct { powers: Vec::new(), trig: wave }, whole(sign * flip)))
    }
}

/// Cosine and sine of a multiple of pi between 0 and 1/2.
fn circle(r: &BigFraction) -> (NormalSum, NormalSum) {
    let root = |n: i64, d: i64, primes: &[i128]| {
        let powers = primes.iter().map(|p| (Atom::Root(*p), 1)).collect();
        NormalSum::term(AtomProduct { powers, trig: TrigFactor::None }, ratio(n, d))
    };
    let two = |a: NormalSum, b: NormalSum| {
        let terms = [a, b].map(|sum| sum.terms().clone());
        NormalSum::from_terms(terms.into_iter().flatten())
    };
    // (sqrt 6 +- sqrt 2) / 4
    let twelfth = |sign: i64| two(root(1, 4, &[2, 3]), root(sign, 4, &[2]));
    match (r.numer().to_i64().unwrap_or_default(), r.denom().to_i64().unwrap_or_default()) {
        (1, 4) => (root(1, 2, &[2]), root(1, 2, &[2])),
        (1, 3) => (root(1, 2, &[]), root(1, 2, &[3])),
        (1, 6) => (root(1, 2, &[3]), root(1, 2, &[])),
        (1, 12) => (twelfth(1), twelfth(-1)),
        (5, 12) => (twelfth(-1), twelfth(1)),
        _ => {
            let angle = |a: BigFraction| vec![NormalSum::term(AtomProduct::from_atom(Atom::Pi), a)];
            let below = *r < ratio(1, 4);
            let (name, other) = if below { ("cos", "sin") } else { ("sin", "cos") };
            let a = if below { r.clone() } else { ratio(1, 2) - r };
            (
                NormalSum::atom(Atom::Call(name, angle(a.clone()))),
                NormalSum::atom(Atom::Call(other, angle(a))),
            )
        }
    }
}
