//! Equivalence by simulating both circuits on one random vector over the residues modulo a random
//! prime.

use rand_chacha::rand_core::Rng;

use super::{BOUND, CircuitPair, EquivalenceSettings, EquivalentError, Means, numeric::Start};
use crate::{
    circuit::{Circuit, CircuitError, Operation},
    exact::{Exact, Symbols},
    field::{DYADIC, FloatField, FloatResidue, Point, PrimeField, Residue, Vectors, lcm},
    kernel::{Operator, TileSize, apply_in_tiles, fused},
    param::{Angle, BindError, Binding, Q},
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::stream,
};

/// Largest number of trials.
const TRIALS: u64 = 4;
/// A verdict that is wrong with a greater probability is none.
const DOUBTFUL: f64 = 1e-3;
/// Exponents, and roots of unity, that are computed with: sums of a few of them stay in 64 bits.
const LARGEST: i128 = 1 << 58;
/// Twice the matrix of a gate is one over the algebraic integers (a test in `exact` walks the
/// table).
const BITS_PER_GATE: f64 = 1.0;
/// Bits for a matrix in numbers: `2^DYADIC`, and a bit for what its entries may be above 1.
const BITS_PER_MATRIX: f64 = DYADIC as f64 + 1.0;
/// Tiles of 256 KiB, which a second cache holds, with runs of 16 numbers at least.
const TILE: TileSize = TileSize { qubits: 15, idle: 4 };

/// The fields of a trial.
trait Trial: Vectors {
    /// Binary digits of a prime, at least.
    const PRIME_BITS: f64;
    /// Modulus in which all primes are 1, where roots of this order are wanted.
    fn step(order: u64) -> Option<u64>;
    /// Returns the field of a random prime.
    fn random(order: u64, seed: u64) -> Option<Self::Field>;
}

impl Trial for FloatResidue {
    const PRIME_BITS: f64 = 48.0;
    fn step(order: u64) -> Option<u64> {
        Some(order)
    }
    fn random(order: u64, seed: u64) -> Option<FloatField> {
        FloatField::random(order, seed)
    }
}

impl Trial for Residue {
    const PRIME_BITS: f64 = 61.0;
    fn step(order: u64) -> Option<u64> {
        lcm(order, crate::field::STEP)
    }
    fn random(order: u64, seed: u64) -> Option<PrimeField> {
        PrimeField::random(order, seed)
    }
}

/// Requirements of the point, fixed from both circuits.
#[derive(Debug)]
pub(super) struct PointPlan {
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

/// Relation of the first vector to the second.
pub(super) enum VectorRatio {
    /// The vectors are equal.
    One,
    /// The first is a multiple of the second, at a point.
    Phase {
        /// True if it is `e^{i angle}` times the second there.
        is: Box<dyn Fn(&Angle) -> bool>,
    },
    /// Ratio in the exact ring: x over y.
    Exact {
        /// An entry of the first.
        x: Box<Exact>,
        /// The same entry of the second.
        y: Box<Exact>,
        /// Symbols that they are numbers over.
        symbols: Box<Symbols>,
    },
    /// The vectors are not proportional.
    None,
}

/// Result of the trials.
pub(super) struct Outcome {
    pub(super) factor: VectorRatio,
    pub(super) method: Means,
    /// The probability that this is wrong.
    pub(super) error_bound: f64,
}

impl PointPlan {
    /// Looks at all angles of both circuits; an error says why no field will do.
    pub(super) fn new(pair: &CircuitPair) -> Result<PointPlan, String> {
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
            slopes
                .iter_mut()
                .zip(own)
                .for_each(|(most, own): (&mut f64, f64)| *most = most.max(own));
            bits = own_bits.max(bits);
        }
        let order = turns.and_then(|d| u64::try_from(d).ok()).and_then(|d| d.checked_mul(4));
        let order = order.ok_or("the fractions of pi have no small common denominator")?;
        let mut steps = Vec::with_capacity(n_params);
        for (k, denominator) in denominators.into_iter().enumerate() {
            let step =
                denominator.and_then(|d| d.checked_mul(2)).filter(|m| *m as f64 * slopes[k] < 1e17);
            let name = &pair.circuits[0].params()[k].name;
            steps.push(step.ok_or_else(|| {
                format!("the factors of `{name}` in the angles have no small common denominator")
            })?);
        }
        // Differences of two products of amplitudes decide whether vectors are proportional.
        Ok(PointPlan { order, steps, slopes, bits: 2.0 * bits + 1.0 })
    }

    /// Runs trials until the bound is small enough: in the faster field where two of them will do.
    /// An inner error says why the field has no number for a gate.
    pub(super) fn decide(
        &self,
        pair: &CircuitPair,
        start: Start,
        settings: &EquivalenceSettings,
        simulator: &Simulator,
    ) -> Result<Result<Outcome, String>, EquivalentError> {
        if self.error_bound::<FloatResidue>(start) <= BOUND.sqrt() {
            return self.try_in::<FloatResidue>(pair, start, settings, simulator);
        }
        self.try_in::<Residue>(pair, start, settings, simulator)
    }

    fn try_in<R: Trial>(
        &self,
        pair: &CircuitPair,
        start: Start,
        settings: &EquivalenceSettings,
        simulator: &Simulator,
    ) -> Result<Result<Outcome, String>, EquivalentError> {
        let mut outcome =
            Outcome { error_bound: 1.0, ..Outcome::certain(VectorRatio::One, Means::FiniteField) };
        for trial in 0..TRIALS {
            let seed = stream(settings.seed, trial).next_u64();
            let Some(field) = R::random(self.order, seed) else {
                return Ok(Err(
                    "the fractions of pi are too fine for a prime of 62 bits".to_owned()
                ));
            };
            let Some(point) = Point::<R>::random(field, self.order, &self.steps, seed) else {
                return Ok(Err("no root of unity was found".to_owned()));
            };
            let vector = start.residues::<R>(&field, seed);
            let factor = match compare(pair, point, start, &vector, simulator) {
                Err(EquivalentError::Simulate(SimulateError::Circuit(CircuitError::Bind(
                    e @ (BindError::NotInRing { .. } | BindError::NumberNotInRing { .. }),
                )))) => return Ok(Err(e.to_string())),
                other => other?,
            };
            match factor {
                VectorRatio::None => {
                    return Ok(Ok(Outcome::certain(VectorRatio::None, Means::FiniteField)));
                }
                VectorRatio::Phase { .. } | VectorRatio::Exact { .. } => outcome.factor = factor,
                VectorRatio::One => {}
            }
            outcome.error_bound *= self.error_bound::<R>(start);
            if outcome.error_bound <= BOUND {
                break;
            }
        }
        if outcome.error_bound > DOUBTFUL {
            let bound = outcome.error_bound;
            return Ok(Err(format!(
                "fields do not tell these circuits apart with more than a chance of {bound:.1e}"
            )));
        }
        Ok(Ok(outcome))
    }

    /// Returns the probability that one trial takes different circuits for equal ones.
    fn error_bound<R: Trial>(&self, start: Start) -> f64 {
        let exponents: f64 = self.slopes.iter().zip(&self.steps).map(|(s, m)| s * *m as f64).sum();
        // A prime is above the least one, and by more than 1.
        let evaluation = (4.0 * exponents + 2.0 * start.degree()) / R::PRIME_BITS.exp2();
        let step = R::step(self.order).unwrap_or(u64::MAX) as f64;
        // Of the numbers from the least one to twice that which are 1 modulo `step`, this part is
        // prime at least; phi(step) <= step / 2.
        let digits = R::PRIME_BITS;
        let primes = digits.exp2() / (step / 2.0) / ((digits + 1.0) * std::f64::consts::LN_2);
        (evaluation + self.bits / digits / primes).min(1.0)
    }
}

/// Returns the least common denominator so far, if 58 bits hold all numerators over it.
fn common(denominator: Option<i64>, q: Q) -> Option<i64> {
    let (d, new) = (u64::try_from(denominator?).ok()?, u64::try_from(*q.denom()).ok()?);
    let both = i64::try_from(lcm(d, new)?).ok()?;
    let numerator = i128::from(*q.numer()) * i128::from(both / *q.denom());
    (i128::from(both) < LARGEST && numerator.abs() < LARGEST).then_some(both)
}

fn compare<R: Trial>(
    pair: &CircuitPair,
    point: Point<R>,
    start: Start,
    vector: &[R::Bare],
    simulator: &Simulator,
) -> Result<VectorRatio, EquivalentError> {
    let field = *point.field();
    let [x, y] = [0, 1].map(|which| run(&pair.circuits[which], &point, vector, TILE, simulator));
    let [(x, p), (y, q)] = [x?, y?];
    let [x, y] = [start.compared(&x), start.compared(&y)];
    // p x and q y are compared.
    let residue = |x: &R::Bare| R::residue(&field, x);
    let proportional =
        |factor: &R| x.iter().zip(y).all(|(x, y)| residue(x) == residue(&factor.act(y)));
    let ratio = q * p.inverse(&field);
    if proportional(&ratio) {
        return Ok(VectorRatio::One);
    }
    if !start.is_up_to_phase() {
        return Ok(VectorRatio::None);
    }
    let mut pairs = x.iter().zip(y).map(|(x, y)| (residue(x), residue(y)));
    let Some((x0, y0)) = pairs.find(|(_, y)| !y.is_exact_zero()) else {
        return Ok(VectorRatio::None);
    };
    let factor = x0 * y0.inverse(&field);
    if x0.is_exact_zero() || !proportional(&factor) {
        return Ok(VectorRatio::None);
    }
    let factor = factor * p * q.inverse(&field);
    Ok(VectorRatio::Phase {
        is: Box::new(move |angle| point.cis(angle).is_ok_and(|image| image == factor)),
    })
}

/// Returns a vector and a factor, whose product is the circuit's image of the vector given.
fn run<R: Trial>(
    circuit: &Circuit,
    point: &Point<R>,
    vector: &[R::Bare],
    size: TileSize,
    simulator: &Simulator,
) -> Result<(Vec<R::Bare>, R), EquivalentError> {
    let field = point.field();
    let bound = BoundCircuit::new(circuit, point)?;
    let operators = fused(bound.operators().unwrap_or(&[])).map_err(SimulateError::from)?;
    let one = R::element(field, 1);
    let lead = |o: &Operator<R>| o.lead().map_or(one, |x| R::lifted(field, *x));
    let leads: Vec<R> =
        operators.iter().map(lead).map(|x| if x.is_exact_zero() { one } else { x }).collect();
    let (factor, inverses) = product_and_inverses(field, &leads);
    let divided = |((operator, lead), inverse): ((&Operator<R>, &R), &R)| match lead.is_exact_one()
    {
        true => operator.map(|x| R::lifted(field, *x)),
        false => operator.divided(inverse).map(|x| R::lifted(field, *x)),
    };
    let operators: Vec<Operator<R>> =
        operators.iter().zip(&leads).zip(&inverses).map(divided).collect();
    let mut state = vector.to_vec();
    apply_in_tiles(&operators, &mut state, size, &simulator.threads);
    Ok((state, factor))
}

/// Returns the product of residues that are not zero, and the inverse of each: one division for
/// all.
fn product_and_inverses<R: Trial>(field: &R::Field, of: &[R]) -> (R, Vec<R>) {
    let mut product = R::element(field, 1);
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
    pub(super) fn certain(factor: VectorRatio, method: Means) -> Outcome {
        Outcome { factor, method, error_bound: 0.0 }
    }

    /// Returns true if an angle is the phase, as far as the last trial can tell.
    pub(super) fn is_phase(&self, angle: &Angle) -> bool {
        match &self.factor {
            VectorRatio::Phase { is } => is(angle),
            VectorRatio::Exact { x, y, symbols } => {
                symbols.cis(angle).is_ok_and(|phase| symbols.reduced(phase * &**y) == **x)
            }
            VectorRatio::One | VectorRatio::None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Gate, GateKind};

    const CLIFFORD_T: &[GateKind] =
        &[GateKind::H, GateKind::S, GateKind::T, GateKind::TDG, GateKind::X, GateKind::SX];
    const ROTATIONS: &[GateKind] = &[
        GateKind::RX,
        GateKind::RY,
        GateKind::RZ,
        GateKind::RZZ,
        GateKind::RXX,
        GateKind::U,
        GateKind::P,
    ];
    const PERMUTATIONS: &[GateKind] =
        &[GateKind::X, GateKind::SWAP, GateKind::DCX, GateKind::Y, GateKind::ISWAP];
    const ALL: &[GateKind] =
        &[GateKind::FSIM, GateKind::ECR, GateKind::Z, GateKind::H, GateKind::RZX];

    /// Gates of a pool with angles of two parameters, under up to three controls of both values.
    fn random(n: usize, pool: &[GateKind], seed: u64) -> Circuit {
        let mut rng = stream(seed, 9);
        let mut below = |k: usize| (rng.next_u64() % k as u64) as usize;
        let mut circuit = Circuit::new(n);
        let [a, b] = ["a", "b"].map(|name| circuit.param(name));
        for _ in 0..50 {
            let kind = pool[below(pool.len())];
            let k = kind.n_qubits();
            if k > n {
                continue;
            }
            let angles = kind.param_names().iter().map(|_| {
                let part = Q::new(below(5) as i64 - 2, 2);
                let theta = if below(2) == 0 { &a } else { &b };
                Angle::pi(below(9) as i64, 4) + theta * part
            });
            let gate = Gate::new(kind, angles.collect::<Vec<_>>()).unwrap();
            let mut order: Vec<usize> = (0..n).collect();
            (1..n).for_each(|i| order.swap(i, below(i + 1)));
            let n_controls = below((n - k).min(3) + 1);
            let controls: Vec<_> =
                order[k..k + n_controls].iter().map(|&q| (q, below(2) == 1)).collect();
            circuit.gate(gate, &order[..k], &controls).unwrap();
        }
        circuit
    }

    /// Fused, without common factors, in tiles of every size: the residues of the gates one by one.
    fn holds<R: Trial>(seed: u64, pool: &[GateKind]) {
        let field = R::random(32, seed).unwrap();
        let point = Point::<R>::random(field, 32, &[4, 4], seed).unwrap();
        for n in 1..=8 {
            let circuit = random(n, pool, seed + 100 * n as u64);
            let mut rng = stream(seed, 10);
            let start: Vec<R> = (0..1usize << n).map(|_| R::draw(&field, &mut rng)).collect();
            let mut expected = start.clone();
            let bound = BoundCircuit::<R>::new(&circuit, &point).unwrap();
            for operator in bound.operators().unwrap() {
                operator.apply::<R>(&mut expected, &Simulator::new().threads);
            }
            let start: Vec<R::Bare> = start.into_iter().map(|x| R::bare(&field, x)).collect();
            for qubits in 1..=n {
                for idle in 0..qubits {
                    let size = TileSize { qubits, idle };
                    let (found, factor) =
                        run(&circuit, &point, &start, size, &Simulator::new()).unwrap();
                    let found = found.iter().map(|x| R::residue(&field, x) * factor);
                    assert!(
                        found.eq(expected.iter().copied()),
                        "n = {n}, {size:?}, seed {seed}:\n{circuit}"
                    );
                }
            }
        }
    }

    #[test]
    fn residues_in_tiles_are_those_of_the_gates_one_by_one() {
        for (seed, pool) in
            [CLIFFORD_T, ROTATIONS, PERMUTATIONS, ALL].into_iter().cycle().take(8).enumerate()
        {
            holds::<Residue>(seed as u64, pool);
            holds::<FloatResidue>(seed as u64, pool);
        }
    }
}
