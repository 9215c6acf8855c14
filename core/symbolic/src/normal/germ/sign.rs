//! Zero test and signs of coefficients: proved, or an error.

use std::collections::BTreeMap;

use num_traits::Signed;

use super::{Context, Germ, GermError, GermResult, is_logarithm, logarithm_of_t};
use crate::normal::{
    Normal, SeriesError,
    read::StraightLineProgram,
    rounding::bounded,
    sum::{NormalSum, whole},
    write,
};

/// Points at which a coefficient is looked at.
const POINTS: u32 = 12;

impl Context {
    /// Returns true if a coefficient is zero for all inputs. That it is not zero is found
    /// numerically.
    pub(super) fn vanishes(self, c: &NormalSum) -> GermResult<bool> {
        if c.is_zero() || c.fraction().is_some() {
            return Ok(c.is_zero());
        }
        if c.terms().len() == 1
            && !c.is_constant()
            && c.terms().keys().all(|p| p.powers.iter().all(is_plain))
        {
            return Ok(false);
        }
        if Normal(c.clone()).cancelled().is_ok_and(|fraction| fraction.is_zero()) {
            return Ok(true);
        }
        if (0..POINTS).any(|k| number(c, k).is_some_and(|(value, error)| value.abs() > error)) {
            return Ok(false);
        }
        Err(SeriesError::Undecided { what: readable(c) }.into())
    }

    /// Returns the sign near the point: -1, 0 or 1.
    pub(super) fn sign_of(self, x: &Germ) -> GermResult<i32> {
        let x = self.tidied(x.clone())?;
        let Some(lead) = x.coefficients.first() else {
            return if x.end.is_some() { Err(GermError::Terms) } else { Ok(0) };
        };
        if self.two_sided && x.start % 2 != 0 {
            return Err(SeriesError::Branch { what: "a sign that changes".to_owned() }.into());
        }
        self.sign(lead)
    }

    /// Returns the sign of a coefficient for small t.
    pub(in crate::normal) fn sign(self, c: &NormalSum) -> GermResult<i32> {
        if let Some(q) = c.fraction() {
            return Ok(if q.is_positive() { 1 } else { -i32::from(q.is_negative()) });
        }
        if c.terms().keys().any(is_logarithm) {
            let (top, e) =
                leading_logarithm(c).ok_or_else(|| super::unknown("a logarithm of a logarithm"))?;
            return Ok(self.sign(&top)? * if e % 2 == 0 { 1 } else { -1 });
        }
        if c.is_constant() {
            if let Some((value, error)) = number(c, 0)
                && value.abs() > error
            {
                return Ok(if value > 0.0 { 1 } else { -1 });
            }
        } else if crate::normal::functions::is_positive(c) {
            return Ok(1);
        } else if crate::normal::functions::is_positive(&c.negated()) {
            return Ok(-1);
        }
        Err(SeriesError::Undecided { what: readable(c) }.into())
    }

    /// Returns true if `e^P` grows beyond all powers; else it vanishes faster than all.
    pub(in crate::normal) fn grows(self, growth: &BTreeMap<i32, NormalSum>) -> GermResult<bool> {
        if self.two_sided {
            return Err(SeriesError::Essential.into());
        }
        match growth.first_key_value() {
            Some((_, c)) => Ok(self.sign(c)? > 0),
            None => Ok(false),
        }
    }
}

fn is_plain((atom, _): &(crate::normal::atoms::Atom, i32)) -> bool {
    matches!(atom, crate::normal::atoms::Atom::Symbol(_) | crate::normal::atoms::Atom::Pi)
}

/// Returns the coefficient of the highest power of `ln t`, and that power; `None` if `ln t` is
/// within other things too.
pub(in crate::normal) fn leading_logarithm(c: &NormalSum) -> Option<(NormalSum, i32)> {
    let log = logarithm_of_t();
    let top = c.terms().keys().map(|p| p.exponent(&log)).max()?;
    let name = match &log {
        crate::normal::atoms::Atom::Symbol(name) => name.clone(),
        _ => return None,
    };
    let terms = c.terms().iter().map(|(p, q)| (p.without(&log), p.exponent(&log), q.clone()));
    let kept: Vec<_> = terms.collect();
    let rest = NormalSum::from_terms(kept.iter().map(|(p, _, q)| (p.clone(), q.clone())));
    if mentions(&rest, &name) {
        return None;
    }
    let top_terms = kept.into_iter().filter(|(_, e, _)| *e == top).map(|(p, _, q)| (p, q));
    Some((NormalSum::from_terms(top_terms), top))
}

/// Returns true if an input occurs.
pub(in crate::normal) fn mentions(c: &NormalSum, name: &str) -> bool {
    write::expression(c).is_ok_and(|e| e.symbols().iter().any(|s| s == name))
}

/// Returns the value at one of a few points, and a bound of its error.
fn number(c: &NormalSum, k: u32) -> Option<(f64, f64)> {
    let expression = write::expression(c).ok()?;
    let line = StraightLineProgram::new(&expression).ok()?;
    let names = expression.symbols();
    // Irregular numbers about 1, and later about -1, 0, 1.
    let at = |j: usize| {
        let x = f64::from((k + 1) * 7919 % 1013) / 1013.0
            + f64::from(u32::try_from(j).unwrap_or(0) % 97) * 0.137;
        if k.is_multiple_of(2) { 0.25 + x % 1.5 } else { x % 2.0 - 1.0 }
    };
    let values: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(j, n)| (n.as_str(), at(j))).collect();
    bounded(&line, &values).map(|b| (b.value, b.error))
}

/// Returns a coefficient for people.
fn readable(c: &NormalSum) -> String {
    Normal(c.clone()).to_string().replace('\u{0}', "")
}

impl Germ {
    /// Returns the limit of the coefficient of t^0 as t goes to 0: a form, or the sign of an
    /// infinite one.
    pub(in crate::normal) fn limit_of(
        context: Context,
        c: &NormalSum,
    ) -> GermResult<Result<NormalSum, i32>> {
        if !mentions(c, super::LOGARITHM) {
            return Ok(Ok(c.clone()));
        }
        let (top, e) =
            leading_logarithm(c).ok_or_else(|| super::unknown("a logarithm of a logarithm"))?;
        Ok(match e {
            0 => Ok(top),
            ..0 => Ok(NormalSum::constant(whole(0))),
            _ => Err(context.sign(&top)? * if e % 2 == 0 { 1 } else { -1 }),
        })
    }
}
