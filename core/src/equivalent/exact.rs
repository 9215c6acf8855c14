//! Both circuits on one random vector over the residues modulo a random prime.

use rand_chacha::rand_core::Rng;

use super::{BOUND, EquivalentError, Means, Pair, Settings, numeric::Start};
use crate::{
    circuit::{CircuitError, Operation},
    exact::{Exact, Symbols},
    field::{Bare, DYADIC, Modular, Point, PrimeField, Residue, lcm},
    kernel::{Acts, Operator},
    param::{Angle, BindError, Binding, Q},
    scalar::Ring,
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::stream,
};

/// Trials at most.
const TRIALS: u64 = 4;
/// Exponents, and roots of unity, that are computed with: sums of a few of them stay in 64 bits.
const LARGEST: i128 = 1 << 58;
/// Twice the matrix of a gate is one over the algebraic integers (a test in `exact` walks the table).
const BITS_PER_GATE: f64 = 1.0;
/// The same for a matrix in numbers: `2^DYADIC`, and a bit for what its entries may be above 1.
const BITS_PER_MATRIX: f64 = DYADIC as f64 + 1.0;
/// Binary digits of a prime, at least.
const PRIME_BITS: f64 = 61.0;

/// What the point must have, fixed from both circuits.
#[derive(Debug)]
pub(super) struct Plan {
    /// The order of the root of unity.
    pub(super) order: u64,
    /// `m_k` for each parameter.
    pub(super) steps: Vec<i64>,
    /// The sum of the absolute coefficients of each parameter over the gates, the greater of both
    /// circuits.
    pub(super) slopes: Vec<f64>,
    /// The binary logarithm of the coefficients that are compared, in any conjugate.
    bits: f64,
}

/// How the first vector is related to the second.
#[derive(Debug)]
pub(super) enum Factor {
    /// They are equal.
    One,
    /// The first is so many times the second, at this point.
    Phase {
        /// How many.
        factor: Residue,
        /// Where.
        point: Box<Point<Residue>>,
    },
    /// The same in the exact ring: x is so many times y.
    Exact {
        /// An entry of the first.
        x: Box<Exact>,
        /// The same of the second.
        y: Box<Exact>,
        /// What they are numbers over.
        symbols: Box<Symbols>,
    },
    /// They are not proportional.
    None,
}

/// What the trials said.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) factor: Factor,
    pub(super) method: Means,
    /// The probability that this is wrong.
    pub(super) error_bound: f64,
}

impl Plan {
    /// Looks at all angles of both circuits; an error says why no field will do.
    pub(super) fn new(pair: &Pair) -> Result<Plan, String> {
        let n_params = pair.circuits[0].params().len();
        let (mut turns, mut denominators) = (Some(2), vec![Some(1); n_params]);
        let mut slopes = vec![0.0; n_params];
        let mut bits = 0.0;
        for circuit in &pair.circuits {
            let mut own = vec![0.0; n_params];
            let mut own_bits = 0.0;
            for instruction in circuit.instructions() {
                let Operation::Gate(gate) = &instruction.operation else {
                    own_bits += BITS_PER_MATRIX;
                    continue;
                };
                own_bits += BITS_PER_GATE;
                for angle in gate.params() {
                    turns = common(turns, angle.pi_part());
                    for &(id, q) in angle.terms() {
                        let k = id.index();
                        denominators[k] = common(denominators[k], q);
                        own[k] += crate::param::q_to_f64(q).abs();
                    }
                }
            }
            slopes.iter_mut().zip(own).for_each(|(most, own): (&mut f64, f64)| *most = most.max(own));
            bits = own_bits.max(bits);
        }
        let order = turns.and_then(|d| u64::try_from(d).ok()).and_then(|d| d.checked_mul(4));
        let order = order.ok_or("the fractions of pi have no small common denominator")?;
        let mut steps = Vec::with_capacity(n_params);
        for (k, denominator) in denominators.into_iter().enumerate() {
            let step = denominator.and_then(|d| d.checked_mul(2)).filter(|m| *m as f64 * slopes[k] < 1e17);
            let name = &pair.circuits[0].params()[k].name;
            steps.push(step.ok_or_else(|| {
                format!("the factors of `{name}` in the angles have no small common denominator")
            })?);
        }
        // Differences of two products of amplitudes decide whether vectors are proportional.
        Ok(Plan { order, steps, slopes, bits: 2.0 * bits + 1.0 })
    }

    /// Runs trials until the bound is small enough. An inner error says why the field has no number for
    /// a gate.
    pub(super) fn decide(
        &self,
        pair: &Pair,
        start: Start,
        settings: &Settings,
        simulator: &Simulator,
    ) -> Result<Result<Outcome, String>, EquivalentError> {
        let mut outcome = Outcome { error_bound: 1.0, ..Outcome::certain(Factor::One, Means::FiniteField) };
        for trial in 0..TRIALS {
            let seed = stream(settings.seed, trial).next_u64();
            let Some(field) = PrimeField::random(self.order, seed) else {
                return Ok(Err("the fractions of pi are too fine for a prime of 62 bits".to_owned()));
            };
            let Some(point) = Point::random(field, self.order, &self.steps, seed) else {
                return Ok(Err("no root of unity was found".to_owned()));
            };
            let vector = start.residues(&field, seed);
            let factor = match compare(pair, point, &vector, simulator) {
                Err(EquivalentError::Simulate(SimulateError::Circuit(CircuitError::Bind(
                    e @ (BindError::NotInRing { .. } | BindError::NumberNotInRing { .. }),
                )))) => return Ok(Err(e.to_string())),
                other => other?,
            };
            match factor {
                Factor::None => return Ok(Ok(Outcome::certain(Factor::None, Means::FiniteField))),
                Factor::Phase { .. } | Factor::Exact { .. } => outcome.factor = factor,
                Factor::One => {}
            }
            outcome.error_bound *= self.error_bound(&field, start);
            if outcome.error_bound <= BOUND {
                break;
            }
        }
        Ok(Ok(outcome))
    }

    /// The probability that one trial takes different circuits for equal ones.
    fn error_bound(&self, field: &PrimeField, start: Start) -> f64 {
        let exponents: f64 = self.slopes.iter().zip(&self.steps).map(|(s, m)| s * *m as f64).sum();
        let evaluation =
            (4.0 * exponents + 2.0 * start.degree()) / (Residue::characteristic(field) - 1) as f64;
        let step = lcm(self.order, crate::field::STEP).unwrap_or(u64::MAX) as f64;
        // Of the numbers from 2^61 to 2^62 that are 1 modulo `step`, this part is prime at least;
        // phi(step) <= step / 2.
        let primes = PRIME_BITS.exp2() / (step / 2.0) / ((PRIME_BITS + 1.0) * std::f64::consts::LN_2);
        (evaluation + self.bits / PRIME_BITS / primes).min(1.0)
    }
}

/// The least common denominator so far, if 58 bits hold all numerators over it.
fn common(denominator: Option<i64>, q: Q) -> Option<i64> {
    let (d, new) = (u64::try_from(denominator?).ok()?, u64::try_from(*q.denom()).ok()?);
    let both = i64::try_from(lcm(d, new)?).ok()?;
    let numerator = i128::from(*q.numer()) * i128::from(both / *q.denom());
    (i128::from(both) < LARGEST && numerator.abs() < LARGEST).then_some(both)
}

fn compare(
    pair: &Pair,
    point: Point<Residue>,
    vector: &[Bare],
    simulator: &Simulator,
) -> Result<Factor, EquivalentError> {
    let field = *point.field();
    let [(x, p), (y, q)] =
        [run(pair, 0, &point, vector, simulator)?, run(pair, 1, &point, vector, simulator)?];
    // p x and q y are compared.
    let proportional =
        |factor: &Residue| x.iter().zip(&y).all(|(x, y)| field.residue(*x) == field.residue(factor.act(y)));
    let ratio = q * p.inverse(&field);
    if proportional(&ratio) {
        return Ok(Factor::One);
    }
    let pairs = x.iter().zip(&y).map(|(x, y)| (field.residue(*x), field.residue(*y)));
    let Some((x0, y0)) = pairs.into_iter().find(|(_, y)| !y.is_exact_zero()) else { return Ok(Factor::None) };
    let factor = x0 * y0.inverse(&field);
    if x0.is_exact_zero() || !proportional(&factor) {
        return Ok(Factor::None);
    }
    Ok(Factor::Phase { factor: factor * p * q.inverse(&field), point: Box::new(point) })
}

/// A vector and a factor, whose product is the circuit's image of the vector given.
fn run(
    pair: &Pair,
    which: usize,
    point: &Point<Residue>,
    vector: &[Bare],
    simulator: &Simulator,
) -> Result<(Vec<Bare>, Residue), EquivalentError> {
    let field = point.field();
    let bound = BoundCircuit::new(&pair.circuits[which], point)?;
    let operators = bound.operators().unwrap_or(&[]);
    let one = Residue::element(field, 1);
    let lead = |o: &Operator<Residue>| o.lead().map_or(one, |x| field.lifted(*x));
    let leads: Vec<Residue> =
        operators.iter().map(lead).map(|x| if x.is_exact_zero() { one } else { x }).collect();
    let (factor, inverses) = product_and_inverses(field, &leads);
    let mut state = vector.to_vec();
    for ((operator, lead), inverse) in operators.iter().zip(leads).zip(inverses) {
        let operator = match lead.is_exact_one() {
            true => operator.map(|x| field.lifted(*x)),
            false => operator.divided(&inverse),
        };
        operator.apply(&mut state, &simulator.threads);
    }
    Ok((state, factor))
}

/// The product of residues that are not zero, and the inverse of each: one division for all.
fn product_and_inverses(field: &PrimeField, of: &[Residue]) -> (Residue, Vec<Residue>) {
    let mut product = Residue::element(field, 1);
    let mut before = Vec::with_capacity(of.len());
    for x in of {
        before.push(product);
        product *= *x;
    }
    let mut inverse = product.inverse(field);
    let mut inverses = before;
    for (place, x) in inverses.iter_mut().zip(of).rev() {
        *place *= inverse;
        inverse *= *x;
    }
    (product, inverses)
}

impl Outcome {
    pub(super) fn certain(factor: Factor, method: Means) -> Outcome {
        Outcome { factor, method, error_bound: 0.0 }
    }

    /// Whether an angle is the phase, as far as the last trial can tell.
    pub(super) fn is_phase(&self, angle: &Angle) -> bool {
        match &self.factor {
            Factor::Phase { factor, point } => point.cis(angle).is_ok_and(|image| image == *factor),
            Factor::Exact { x, y, symbols } => symbols.cis(angle).is_ok_and(|phase| phase * &**y == **x),
            Factor::One | Factor::None => false,
        }
    }
}
