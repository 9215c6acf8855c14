//! Germ of a function at a point (a generalized Puiseux expansion):
//! `e^P(1/t) (c_v t^v + … + O(t^end))` for a small t, where the coefficients are normal forms that
//! may hold `ln t`.
//!
//! On one side of the point, where t is positive, growths e^P are compared, and what is smaller
//! than any power of t is left out. A series that holds on both sides has neither growths nor
//! logarithms.

mod arithmetic;
mod functions;
mod sign;

use std::collections::{BTreeMap, HashMap};

use super::{
    NormalError, SeriesError,
    atoms::{Atom, AtomProduct},
    read::StraightLineProgram,
    sum::{Algebra, NormalSum, whole},
};
use crate::{
    entity::Value,
    ir::{Literal, Mixed, Number2, Op, Real1, Real2},
};

/// The name of `ln t`, which no input has.
const LOGARITHM: &str = "\u{0}ln t";

/// Settings of the computation of coefficients.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) algebra: Algebra,
    /// Coefficients that are kept.
    pub(super) terms: usize,
    /// True if t has both signs.
    pub(super) two_sided: bool,
}

/// See [the module](self).
#[derive(Clone, Debug)]
pub(super) struct Germ {
    /// The coefficients of P by the exponents of t, all below 0.
    pub(super) growth: BTreeMap<i32, NormalSum>,
    pub(super) start: i32,
    pub(super) coefficients: Vec<NormalSum>,
    /// The exponent of what is not known; `None` if nothing is missing.
    pub(super) end: Option<i32>,
}

/// Error of a germ: the reason why there is none, or the next thing to try.
pub(super) enum GermError {
    Error(SeriesError),
    /// More coefficients are needed.
    Terms,
    /// t has to be a root of what it is now.
    Root(i32),
}

impl From<NormalError> for GermError {
    fn from(e: NormalError) -> GermError {
        GermError::Error(e.into())
    }
}

impl From<SeriesError> for GermError {
    fn from(e: SeriesError) -> GermError {
        GermError::Error(e)
    }
}

pub(super) type GermResult<T> = Result<T, GermError>;

pub(super) fn logarithm_of_t() -> Atom {
    Atom::Symbol(LOGARITHM.to_owned())
}

impl Germ {
    pub(super) fn constant(c: NormalSum) -> Germ {
        Germ::term(0, c)
    }

    /// Computes `c t^e`.
    pub(super) fn term(e: i32, c: NormalSum) -> Germ {
        let coefficients = if c.is_zero() { Vec::new() } else { vec![c] };
        Germ { growth: BTreeMap::new(), start: e, coefficients, end: None }
    }

    /// Zero up to more than any power of t.
    fn flat(context: Context) -> Germ {
        let end = i32::try_from(context.terms).ok();
        Germ { growth: BTreeMap::new(), start: 0, coefficients: Vec::new(), end }
    }

    /// Returns the coefficient of a power; `None` where it is not known.
    pub(super) fn coefficient(&self, e: i32) -> Option<NormalSum> {
        if self.end.is_some_and(|end| e >= end) {
            return None;
        }
        let at = usize::try_from(i64::from(e) - i64::from(self.start)).ok();
        Some(at.and_then(|k| self.coefficients.get(k)).cloned().unwrap_or_default())
    }
}

/// Returns the germ of an expression, where one of its inputs has the given germ.
pub(super) fn germ(
    line: &StraightLineProgram,
    variable: &str,
    at: &Germ,
    context: Context,
) -> GermResult<Germ> {
    let mut known: HashMap<Value, Germ> = HashMap::new();
    let mut integers: HashMap<Value, i64> = HashMap::new();
    for (value, name) in line.params() {
        let symbol = || Germ::constant(NormalSum::atom(Atom::Symbol(name.clone())));
        known.insert(value, if name == variable { at.clone() } else { symbol() });
    }
    for (value, inst) in line.instructions() {
        let args: Option<Vec<Germ>> = inst.args.iter().map(|a| known.get(a).cloned()).collect();
        let args = args.ok_or_else(|| unknown("an operand"))?;
        if let Op::Int(n) = inst.op {
            integers.insert(value, n);
        }
        let exponent = inst.args.get(1).and_then(|n| integers.get(n)).copied();
        known.insert(value, context.operation(inst.op, &args, exponent)?);
    }
    known.remove(&line.result).ok_or_else(|| unknown("the result").into())
}

pub(super) fn unknown(what: impl Into<String>) -> SeriesError {
    SeriesError::Unknown { what: what.into() }
}

impl Context {
    fn operation(self, op: Op, args: &[Germ], exponent: Option<i64>) -> GermResult<Germ> {
        Ok(match (op, args) {
            (Op::Real(Literal(x)), []) => Germ::constant(super::read::float(x)?),
            (Op::Int(n), []) => Germ::constant(NormalSum::constant(whole(n))),
            (Op::Mixed(Mixed::FromInt), [x]) => x.clone(),
            (Op::Mixed(Mixed::PowiReal), [x, _]) => {
                let n =
                    exponent.and_then(|n| i32::try_from(n).ok()).ok_or(NormalError::Exponent)?;
                self.power(x, n)?
            }
            (Op::Number2(Number2::Add), [x, y]) => self.plus(x, y)?,
            (Op::Number2(Number2::Sub), [x, y]) => self.plus(x, &self.negated(y))?,
            (Op::Number2(Number2::Mul | Number2::Scale), [x, y]) => self.times(x, y)?,
            (Op::Number2(Number2::Guard), [x, _]) => x.clone(),
            (Op::Number2(Number2::Div) | Op::Real2(Real2::Ratio), [x, y]) => {
                self.times(x, &self.inverse(y)?)?
            }
            (Op::Number2(Number2::Pow), [x, y]) => self.general_power(x, y)?,
            (Op::Number1(f), [x]) => self.function(f, x)?,
            (Op::Real1(f), [x]) => self.real_function(f, x)?,
            (Op::Real2(Real2::Hypot), [x, y]) => {
                let squares = self.plus(&self.times(x, x)?, &self.times(y, y)?)?;
                self.fractional_power(&squares, &super::sum::ratio(1, 2))?
            }
            (Op::Real2(f @ (Real2::Max | Real2::Min)), [x, y]) => {
                let above = self.sign_of(&self.plus(x, &self.negated(y))?)? >= 0;
                if above == (f == Real2::Max) { x.clone() } else { y.clone() }
            }
            (Op::Real2(Real2::LogAddExp), [x, y]) => {
                let sum = self.plus(&self.exp(x)?, &self.exp(y)?)?;
                self.ln(&sum)?
            }
            (op, _) => return Err(unknown(format!("`{op}`")).into()),
        })
    }

    fn real_function(self, f: Real1, x: &Germ) -> GermResult<Germ> {
        let one = || Germ::constant(NormalSum::one());
        Ok(match f {
            Real1::Abs => {
                if self.sign_of(x)? < 0 {
                    self.negated(x)
                } else {
                    x.clone()
                }
            }
            Real1::Sign => Germ::constant(NormalSum::constant(whole(self.sign_of(x)?))),
            Real1::Erf => self.erf(x)?,
            Real1::Erfc => self.plus(&one(), &self.negated(&self.erf(x)?))?,
            Real1::Sigmoid => {
                let below = self.plus(&one(), &self.exp(&self.negated(x))?)?;
                self.inverse(&below)?
            }
            Real1::Softplus => self.ln(&self.plus(&one(), &self.exp(x)?)?)?,
            f => return Err(unknown(format!("the function {} near a point", f.name())).into()),
        })
    }
}

/// Returns true if a product has a power of `ln t`.
fn is_logarithm(product: &AtomProduct) -> bool {
    product.powers.iter().any(|(atom, _)| *atom == logarithm_of_t())
}
