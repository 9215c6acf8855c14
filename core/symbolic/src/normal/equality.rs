//! Equality of two expressions by polynomial identity testing (Schwartz-Zippel) at random points of
//! prime fields.
//!
//! The difference is computed gate by gate, so to speak: every instruction of its function is
//! carried out once modulo a random prime, with random residues for the inputs. Sines, cosines and
//! exponentials of sums `sum_j q_j m_j + a pi` occur too: each product `m_j` gets a residue for
//! `e^{i m_j / d}` of its own, d being the common denominator of its coefficients, and multiples of
//! pi are roots of unity. (Exponentials of different products, and the products, are algebraically
//! independent functions: the theorem of Ax.) Square roots of primes that divide the order of the
//! root of unity are sums of its powers, so that `cos(pi/5) = (1 + sqrt 5)/4` keeps its sign; the
//! others are roots modulo a prime that has them. Hyperbolic functions are made of exponentials.
//! Any other function of a normal form is a residue of its own.
//!
//! Residues that agree err with a probability that is bounded as for circuits
//! ([`crate::equivalent`]). Residues that differ prove a difference if nothing was left independent
//! that is not; in any case numbers have to show it.

use std::collections::{BTreeMap, HashMap, HashSet};

use num_rational::Ratio;
use num_traits::ToPrimitive;
use rand_chacha::rand_core::Rng;

use super::{
    NormalError,
    atoms::{Atom, AtomProduct, TrigFactor},
    read::StraightLineProgram,
    rounding::bounded,
    sample::{Indeterminate, SamplePoint, root_by_unity, square_root},
    sum::{Algebra, NormalSum},
};
use crate::{
    entity::Value,
    field::{Modular, Point, PrimeField, Residue},
    ir::{Mixed, Number1, Number2, Op},
    scalar::Ring,
    state::stream,
    trace::Expr,
};

/// The error up to which expressions are called equal.
const BOUND: f64 = 1e-9;
/// Number of sample points, each with a prime of its own.
const SAMPLES: u64 = 4;
/// Primes drawn until one has all roots.
const DRAWS: u64 = 64;
/// Arguments of functions with more terms are not taken apart.
const TERMS: usize = 256;
/// Points tried in numbers, and the relative difference that counts there.
const POINTS: usize = 24;
const SIGNIFICANCE_THRESHOLD: f64 = 1e-9;
/// Verdict about two expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Equality {
    /// The expressions are equal wherever both are defined.
    Equal {
        /// The probability that they are not.
        error_bound: f64,
    },
    /// The expressions differ.
    Different {
        /// Inputs by name where they do.
        at: Vec<(String, f64)>,
        /// Difference there.
        difference: f64,
    },
    /// The question could not be decided.
    Unknown {
        /// Reason.
        reason: String,
    },
}

/// See [`ExprExt::equality`](super::ExprExt::equality).
pub(super) fn equality(expr: &Expr, other: &Expr, seed: u64) -> Result<Equality, NormalError> {
    if expr == other {
        return Ok(Equality::Equal { error_bound: 0.0 });
    }
    let line = StraightLineProgram::new(&(expr - other))?;
    let plan = match SamplePlan::new(&line) {
        Ok(plan) => plan,
        Err(NormalError::Unsupported { what }) => {
            return Err(NormalError::Unsupported { what });
        }
        Err(e) => return confirm(expr, other, &line, seed, e.to_string()),
    };
    let mut bound = 1.0;
    for trial in 0..SAMPLES {
        let seed = stream(seed, trial).next_u64();
        match plan.evaluate_at_sample(&line, seed) {
            Ok((true, error)) => bound *= error,
            Ok((false, _)) => {
                let reason = "they differ where functions are taken for independent";
                return confirm(expr, other, &line, seed, reason.to_owned());
            }
            Err(reason) => return confirm(expr, other, &line, seed, reason),
        }
        if bound <= BOUND {
            break;
        }
    }
    Ok(Equality::Equal { error_bound: bound })
}

/// *Different* if numbers show it, else unknown.
fn confirm(
    a: &Expr,
    b: &Expr,
    line: &StraightLineProgram,
    seed: u64,
    reason: String,
) -> Result<Equality, NormalError> {
    let mut names = a.symbols();
    names.extend(b.symbols().into_iter().filter(|name| !a.symbols().contains(name)));
    let mut rng = stream(seed, 1 << 32);
    for k in 0..POINTS {
        // Both signs first, then positive numbers, where logarithms and roots are defined.
        let mut draw = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let at: Vec<(String, f64)> = names
            .iter()
            .map(|name| (name.clone(), if k % 2 == 0 { 4.0 * draw() - 2.0 } else { 2.0 * draw() }))
            .collect();
        let values: Vec<(&str, f64)> = at.iter().map(|(name, x)| (name.as_str(), *x)).collect();
        let (x, y) = (a.evaluate(&values)?, b.evaluate(&values)?);
        let Some(apart) = bounded(line, &values) else { continue };
        let difference = apart.value.abs();
        if difference > SIGNIFICANCE_THRESHOLD * (1.0 + x.abs().max(y.abs()))
            && difference > apart.error
        {
            return Ok(Equality::Different { at, difference });
        }
    }
    Ok(Equality::Unknown { reason: format!("{reason}, but numbers show no difference") })
}

/// Requirements of the field, and the normal forms of what is not arithmetic.
pub(super) struct SamplePlan {
    pub(super) forms: HashMap<Value, NormalSum>,
    /// The common denominators of the coefficients of the products in arguments.
    pub(super) steps: BTreeMap<Indeterminate, i128>,
    order: u64,
    roots: Vec<i128>,
}

/// Returns true if an instruction is a function, not arithmetic.
fn is_function(op: Op) -> bool {
    use Number1 as F;
    match op {
        Op::Number1(f) => !matches!(f, F::Neg | F::Recip),
        Op::Number2(f) => f == Number2::Pow,
        Op::Real1(_) | Op::Real2(_) => true,
        _ => false,
    }
}

/// Returns the error of a coefficient of an argument.
fn too_fine() -> NormalError {
    NormalError::Coefficient { bits: 40 }
}

impl SamplePlan {
    fn new(line: &StraightLineProgram) -> Result<SamplePlan, NormalError> {
        let functions =
            line.instructions().filter(|(_, inst)| is_function(inst.op)).map(|(v, _)| v);
        let functions: HashSet<Value> = functions.collect();
        let needed = line.needed(&functions);
        let mut known = line.read(
            Algebra { limit: TERMS },
            |v| needed.contains(&v),
            |v| functions.contains(&v),
        );
        let mut plan = SamplePlan {
            forms: HashMap::new(),
            steps: BTreeMap::new(),
            order: 8,
            roots: Vec::new(),
        };
        for value in functions {
            let form = known.remove(&value).unwrap_or(Ok(NormalSum::zero()))?;
            plan.note(&form)?;
            plan.forms.insert(value, form);
        }
        // Arithmetic that no field can do is found before any is done.
        for (_, inst) in line.instructions().filter(|(_, inst)| !is_function(inst.op)) {
            if !matches!(
                inst.op,
                Op::Real(_)
                    | Op::Int(_)
                    | Op::Number1(_)
                    | Op::Number2(_)
                    | Op::Mixed(Mixed::FromInt | Mixed::PowiReal)
            ) {
                return Err(super::read::unsupported(format!("`{}`", inst.op)));
            }
        }
        Ok(plan)
    }

    /// Collects what a normal form needs.
    fn note(&mut self, form: &NormalSum) -> Result<(), NormalError> {
        for product in form.terms().keys() {
            for (atom, _) in &product.powers {
                match atom {
                    Atom::Root(n) if !self.roots.contains(n) => self.roots.push(*n),
                    Atom::Call("exp" | "tanh", args) => {
                        self.note_argument(&args[0], Indeterminate::Growth)?
                    }
                    Atom::Call("cos" | "sin", args) => {
                        self.note_argument(&args[0], Indeterminate::Phase)?
                    }
                    Atom::Inverse(sum) => self.note(sum)?,
                    _ => {}
                }
            }
            if let TrigFactor::Cos(x) | TrigFactor::Sin(x) = &product.trig {
                self.note_argument(x, Indeterminate::Phase)?;
            }
        }
        Ok(())
    }

    fn note_argument(
        &mut self,
        x: &NormalSum,
        free: fn(AtomProduct) -> Indeterminate,
    ) -> Result<(), NormalError> {
        for (product, q) in x.terms() {
            let turn = matches!(free(AtomProduct::ONE), Indeterminate::Phase(_));
            let d = q.denom().to_i128().ok_or(too_fine())?;
            if turn && *product == AtomProduct::from_atom(Atom::Pi) {
                let d = u64::try_from(d).ok().and_then(|d| d.checked_mul(2));
                self.order = d.and_then(|d| crate::field::lcm(self.order, d)).ok_or(too_fine())?;
                continue;
            }
            let step = self.steps.entry(free(product.clone())).or_insert(1);
            *step = Ratio::new(*step, d).denom().checked_mul(*step).ok_or(too_fine())?;
            if *step > 1 << 40 || q.numer().bits() > 40 {
                return Err(too_fine());
            }
        }
        Ok(())
    }

    /// Returns true if the line is zero at one random point, and the probability that it is only
    /// there.
    fn evaluate_at_sample(
        &self,
        line: &StraightLineProgram,
        seed: u64,
    ) -> Result<(bool, f64), String> {
        let order = i128::from(self.order);
        let (cyclotomic, others): (Vec<i128>, Vec<i128>) =
            self.roots.iter().partition(|n| **n == 2 || order % **n == 0);
        let (field, mut roots) = (0..DRAWS)
            .find_map(|draw| {
                let field = PrimeField::random(self.order, stream(seed, draw).next_u64())?;
                let roots: Option<BTreeMap<i128, Residue>> =
                    others.iter().map(|n| Some((*n, square_root(&field, *n)?))).collect();
                Some((field, roots?))
            })
            .ok_or("no prime has all the roots that occur")?;
        let point =
            Point::random(field, self.order, &[], seed).ok_or("no root of unity was found")?;
        for n in cyclotomic {
            roots.insert(n, root_by_unity(&point, n).ok_or("a root is missing")?);
        }
        let mut run = SamplePoint::new(self, point, roots, stream(seed, 1 << 33));
        let x = run.line(line)?;
        let step = crate::field::lcm(self.order, crate::field::STEP).unwrap_or(u64::MAX) as f64;
        // As for circuits, each root that roots of unity do not give halves the primes that will
        // do.
        let roots = (others.len() as f64).exp2();
        let primes = 61f64.exp2() / (step / 2.0) / (62.0 * std::f64::consts::LN_2) / roots;
        let error = 2.0 * x.degree() / (Residue::characteristic(&field) - 1) as f64
            + x.bits() / 61.0 / primes;
        Ok((x.residue.is_exact_zero(), error.min(1.0)))
    }
}
