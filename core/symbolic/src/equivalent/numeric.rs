//! Simulation of both circuits in plain numbers: witnesses, phases, and verdicts where no field can
//! decide.

use num_complex::Complex;
use num_traits::ToPrimitive;

use super::{
    CircuitPair, CircuitPhase, ComparedEntries, EquivalenceReport, EquivalenceSettings,
    EquivalentError, Means, On, Verdict, Witness,
    determinant::slopes,
    exact::{Outcome, PointPlan},
    pair::RADIAN,
    rounding,
};
use crate::{
    circuit::CircuitError,
    field::Vectors,
    param::{Angle, ParamId, Q, Values},
    scalar::Real,
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::{StateVector, draw, stream},
};

/// Points tried where parameters are free.
const POINTS: usize = 3;
/// Largest number of draws for points at which all angles are finite.
const DRAWS: u64 = 64;
/// Reason why numbers decide nothing.
const NOWHERE: &str = "and at none of the points tried are all angles finite";
/// The streams of the seed that angles and vectors are drawn from.
const ANGLES: u64 = 1 << 40;
const VECTOR: u64 = 1 << 41;

/// Vectors that circuits start from: the first `2^free` entries are random, the rest are 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    n_qubits: usize,
    /// Qubits that are not in |0>.
    free: usize,
    ends: ComparedEntries,
}

impl Start {
    pub(super) fn new(
        n_qubits: usize,
        settings: &EquivalenceSettings,
        ends: ComparedEntries,
    ) -> Start {
        let free = match settings.on {
            On::Unitary { ancillas } => n_qubits.saturating_sub(ancillas),
            On::State => 0,
        };
        Start { n_qubits, free, ends }
    }

    /// Returns the part of an image that is compared.
    pub(super) fn compared<T>(self, image: &[T]) -> &[T] {
        match self.ends {
            ComparedEntries::Vectors => image,
            ComparedEntries::Returned => image.get(..1 << self.free).unwrap_or(image),
        }
    }

    /// Returns true if a phase makes no difference.
    pub(super) fn is_up_to_phase(self) -> bool {
        self.ends == ComparedEntries::Vectors
    }

    /// Returns a random product vector over a field: `(1, r_0) x (1, r_1) x …`. The images of these
    /// decide, since every linear map that takes each of them to a multiple of itself is a multiple
    /// of 1.
    pub(super) fn residues<R: Vectors>(self, field: &R::Field, seed: u64) -> Vec<R::Bare> {
        let mut rng = stream(seed, VECTOR);
        let mut vector = vec![R::bare(field, R::element(field, 0)); 1 << self.n_qubits];
        vector[0] = R::bare(field, R::element(field, 1));
        for qubit in 0..self.free {
            let r = R::draw(field, &mut rng);
            let (low, high) = vector[..2 << qubit].split_at_mut(1 << qubit);
            high.iter_mut().zip(low).for_each(|(high, low)| *high = r.act(low));
        }
        vector
    }

    /// Returns true if every vector counts.
    pub(super) fn is_all(self) -> bool {
        self.free == self.n_qubits
    }

    /// Returns the columns that count of a circuit's matrix, and the rows.
    pub(super) fn size(self) -> (usize, usize) {
        (1 << self.free, 1 << self.n_qubits)
    }

    /// Returns the degree of the polynomials that its entries are.
    pub(super) fn degree(self) -> f64 {
        self.free as f64
    }

    /// Returns a random state.
    pub(super) fn state(
        self,
        seed: u64,
        simulator: &Simulator,
    ) -> Result<StateVector<Complex<f64>>, EquivalentError> {
        let random = StateVector::<Complex<f64>>::random(self.free, seed, &simulator.threads);
        let mut state = StateVector::zero(self.n_qubits).map_err(SimulateError::from)?;
        let random = random.map_err(SimulateError::from)?;
        state.amplitudes_mut()[..1 << self.free].copy_from_slice(random.amplitudes());
        Ok(state)
    }
}

/// Point at which circuits are run: the values of the inputs, and those of all parameters.
struct ParameterPoint {
    inputs: Vec<f64>,
    values: Vec<f64>,
}

/// Comparison of two runs at one point.
#[derive(Clone, Copy, Debug)]
struct DistanceEstimate {
    /// The norm of the difference, with the best phase.
    distance: f64,
    /// The norm of the difference without any phase.
    plain: f64,
    /// The phase of the first over the second.
    phase: f64,
    /// The modulus of their inner product.
    overlap: f64,
    /// Error of the distances, and of the inner product, at most.
    bound: f64,
}

impl DistanceEstimate {
    /// Error of the phase, at most.
    fn phase_error(&self) -> f64 {
        if self.bound < self.overlap {
            (self.bound / self.overlap).asin()
        } else {
            std::f64::consts::PI
        }
    }
}

/// Runs of a pair in numbers.
pub(super) struct Numeric<'a> {
    pair: &'a CircuitPair,
    start: Start,
    settings: &'a EquivalenceSettings,
    simulator: &'a Simulator,
    seen: f64,
    /// The largest bound of rounding at the points seen.
    bound: f64,
}

impl<'a> Numeric<'a> {
    pub(super) fn new(
        pair: &'a CircuitPair,
        start: Start,
        settings: &'a EquivalenceSettings,
        simulator: &'a Simulator,
    ) -> Numeric<'a> {
        Numeric { pair, start, settings, simulator, seen: 0.0, bound: 0.0 }
    }

    /// Returns the largest distance seen so far.
    pub(super) fn max_difference(&self) -> f64 {
        self.seen
    }

    /// Returns a bound on the effect of rounding on the distances so far.
    pub(super) fn error_bound(&self) -> f64 {
        self.bound
    }

    /// Angles of the inputs in (-pi, pi), drawn for point number `k`: numbers of the precision in
    /// use.
    fn inputs(&self, k: u64) -> Vec<f64> {
        let count = self.pair.circuits[0].inputs().count() as u64;
        let angle =
            |i| (2.0 * draw(self.settings.seed, ANGLES + k, i) - 1.0) * std::f64::consts::PI;
        let angle = |i| if self.settings.single { to_single(angle(i)) } else { angle(i) };
        (0..count).map(angle).collect()
    }

    /// Returns the values of all parameters; `None` where an angle is not finite there.
    fn values(&self, inputs: &[f64]) -> Result<Option<Vec<f64>>, EquivalentError> {
        let values = match self.pair.circuits[0].param_values(inputs) {
            Err(CircuitError::NotFinite { .. }) => return Ok(None),
            other => other.map_err(SimulateError::from)?,
        };
        Ok(self.pair.used_params().all(|id| values[id.index()].is_finite()).then_some(values))
    }

    /// Returns the points where circuits are run: all that is needed, or as many as are found.
    fn sample_points(&self) -> Result<Vec<ParameterPoint>, EquivalentError> {
        let enough = if self.pair.circuits[0].inputs().next().is_some() { POINTS } else { 1 };
        let mut places = Vec::new();
        for k in 0..DRAWS {
            let inputs = self.inputs(k);
            if let Some(values) = self.values(&inputs)? {
                places.push(ParameterPoint { inputs, values });
            }
            if places.len() == enough {
                break;
            }
        }
        Ok(places)
    }

    /// Runs both circuits at all points.
    fn look(&mut self) -> Result<Vec<(ParameterPoint, DistanceEstimate)>, EquivalentError> {
        let places = self.sample_points()?;
        let run = |place: ParameterPoint| self.apart(&place).map(|apart| (place, apart));
        places.into_iter().map(run).collect()
    }

    fn apart(&mut self, place: &ParameterPoint) -> Result<DistanceEstimate, EquivalentError> {
        let apart = self.apart_in(&place.values, self.settings.single)?;
        let bound = apart.bound + self.pair.angle_rounding_bound(&place.inputs);
        self.bound = self.bound.max(bound);
        Ok(DistanceEstimate { bound, ..apart })
    }

    /// Returns the image of the random state under a circuit, computed on numbers of type T, and
    /// the error of planning it.
    fn image<T: Real>(
        &self,
        which: usize,
        values: &[f64],
    ) -> Result<(StateVector<Complex<f64>>, f64), EquivalentError> {
        let values: Vec<T> = values.iter().map(|x| T::lit(*x)).collect();
        let bound = BoundCircuit::<Complex<T>>::new(&self.pair.circuits[which], &Values(&values))?;
        let mut start = self.start.state(self.settings.seed, self.simulator)?;
        let mut state = StateVector::zero(self.pair.n_qubits).map_err(SimulateError::from)?;
        for (to, from) in state.amplitudes_mut().iter_mut().zip(start.amplitudes()) {
            *to = Complex::new(T::lit(from.re), T::lit(from.im));
        }
        let operators = bound.operators().unwrap_or(&[]);
        let planned = self.simulator.executors.planning_error(self.pair.n_qubits, operators);
        self.simulator.execute(operators, &mut state, &mut |_, _| {})?;
        let plain = |x: &T| x.primal().unwrap_or(f64::NAN);
        for (to, from) in start.amplitudes_mut().iter_mut().zip(state.amplitudes()) {
            *to = Complex::new(plain(&from.re), plain(&from.im));
        }
        Ok((start, planned))
    }

    fn apart_in(
        &mut self,
        values: &[f64],
        single: bool,
    ) -> Result<DistanceEstimate, EquivalentError> {
        let run = |which| {
            if single { self.image::<f32>(which, values) } else { self.image::<f64>(which, values) }
        };
        let ((x, planned), (y, planned_too)) = (run(0)?, run(1)?);
        let [x, y] = [&x, &y].map(|state| self.start.compared(state.amplitudes()));
        let overlap = rounding::sum(x.len(), &|k| y[k].conj() * x[k]);
        let size = overlap.norm();
        let free = size > 0.0 && self.start.is_up_to_phase();
        let best = if free { overlap / size } else { Complex::new(1.0, 0.0) };
        let norm = |factor: Complex<f64>| {
            rounding::sum(x.len(), &|k| (x[k] - factor * y[k]).norm_sqr()).sqrt()
        };
        let (distance, plain) = (norm(best), norm(Complex::new(1.0, 0.0)));
        let bound = self.pair.rounding([planned, planned_too]);
        let apart = DistanceEstimate { distance, plain, phase: best.arg(), overlap: size, bound };
        self.seen = self.seen.max(apart.distance);
        Ok(apart)
    }

    /// Returns the point of those tried where the circuits are farthest apart.
    pub(super) fn witness(&mut self) -> Result<Option<Witness>, EquivalentError> {
        let seen = self.look()?;
        Ok(self.farthest(&seen))
    }

    fn farthest(&self, seen: &[(ParameterPoint, DistanceEstimate)]) -> Option<Witness> {
        let beyond = |apart: &DistanceEstimate| apart.distance - apart.bound;
        let (place, apart) = seen.iter().max_by(|a, b| beyond(&a.1).total_cmp(&beyond(&b.1)))?;
        let names = self.pair.circuits[0].inputs().map(str::to_owned);
        let params = names.zip(place.inputs.iter().copied()).collect();
        Some(Witness { params, distance: apart.distance, error: apart.bound })
    }

    /// Returns true if numbers show a difference beyond the tolerance, whatever the rounding.
    fn shows(&self, seen: &[(ParameterPoint, DistanceEstimate)]) -> bool {
        seen.iter().any(|(_, apart)| apart.distance > self.settings.tolerance + apart.bound)
    }

    /// *Different* if numbers show it, else unknown.
    pub(super) fn confirm(&mut self, reason: String) -> Result<EquivalenceReport, EquivalentError> {
        let seen = self.look()?;
        let mut report = self.pair.report(Means::Numeric, self.bound);
        if seen.is_empty() {
            report.reason = Some(format!("{reason}, {NOWHERE}"));
            return Ok(report);
        }
        report.max_difference = Some(self.seen);
        if self.shows(&seen) {
            report.verdict = Verdict::Different;
            report.witness = self.farthest(&seen);
            report.reason = Some(
                "computed parameters have no exact form; numbers show the difference".to_owned(),
            );
        } else {
            report.reason =
                Some(format!("{reason}, but no difference was seen in numbers{}", self.blurred()));
        }
        Ok(report)
    }

    /// Returns the reason where rounding may exceed the tolerance.
    fn blurred(&self) -> String {
        if self.bound <= self.settings.tolerance {
            return String::new();
        }
        let (rounding, bound) = (self.pair.rounding([0.0; 2]), self.bound);
        let angles = bound - rounding;
        if angles > rounding {
            return format!(
                "; what is not known of the angles, {angles:.1e}, exceeds the tolerance"
            );
        }
        format!("; what rounding may do, {bound:.1e}, exceeds the tolerance")
    }

    /// Returns the numeric verdict: *equal* and *different* only where rounding cannot have made
    /// them so.
    pub(super) fn decide(&mut self, reason: String) -> Result<EquivalenceReport, EquivalentError> {
        let seen = self.look()?;
        let mut report = self.pair.report(Means::Numeric, self.bound);
        let Some(first) = seen.first().map(|(_, apart)| apart.phase) else {
            report.reason = Some(format!("{reason}, {NOWHERE}"));
            return Ok(report);
        };
        let tolerance = self.settings.tolerance;
        let within = |of: fn(&DistanceEstimate) -> f64| {
            seen.iter().all(|(_, apart)| of(apart) + apart.bound <= tolerance)
        };
        report.max_difference = Some(self.seen);
        report.reason = Some(format!("{reason}{}", self.blurred()));
        if within(|apart| apart.plain) {
            report.verdict = Verdict::Equal;
        } else if within(|apart| apart.distance) {
            // A phase is one where the circuits without it are apart, whatever rounding did.
            if seen.iter().any(|(_, apart)| apart.plain > tolerance + apart.bound) {
                report.verdict = Verdict::EqualUpToPhase;
                report.phase = common_phase(first, &seen, tolerance);
            } else {
                let reason = "they are equal up to a phase, but rounding hides whether that is 1";
                report.reason = Some(format!("{}; {reason}", report.reason.unwrap_or_default()));
            }
        } else if self.shows(&seen) {
            report.verdict = Verdict::Different;
            report.witness = self.farthest(&seen);
        }
        Ok(report)
    }

    /// Returns the phase as an angle `c + sum_k a_k theta_k`: slopes from determinants, or from two
    /// points each, the constant from one point, all rounded to what the ring can hold and
    /// confirmed there.
    pub(super) fn phase(
        &mut self,
        plan: &PointPlan,
        outcome: &Outcome,
    ) -> Result<Option<CircuitPhase>, EquivalentError> {
        let Some(ParameterPoint { values, .. }) = self.sample_points()?.into_iter().next() else {
            return Ok(None);
        };
        let base = self.apart_in(&values, false)?.phase;
        let constant = nearest_turn(base, plan.order);
        if let Some(angle) = constant.filter(|a| outcome.is_phase(a)) {
            return Ok(Some(self.named(&angle)));
        }
        if self.start.is_all()
            && let Some(slopes) = slopes(self.pair)
            && let Some(angle) =
                affine(plan, &slopes, &values, base).filter(|a| outcome.is_phase(a))
        {
            return Ok(Some(self.named(&angle)));
        }
        let mut slopes = vec![0.0; values.len()];
        for k in (0..values.len()).filter(|k| plan.slopes[*k] != 0.0) {
            // Half a turn is not reached within this step, so the slope is not ambiguous.
            let step = 1.0 / (2.0 * plan.slopes[k] + 1.0);
            let mut moved = values.clone();
            moved[k] += step;
            slopes[k] = Complex::cis(self.apart_in(&moved, false)?.phase - base).arg() / step;
        }
        let found = affine(plan, &slopes, &values, base);
        Ok(found.filter(|a| outcome.is_phase(a)).map(|a| self.named(&a)))
    }

    /// Returns a phase with names, radians as such.
    fn named(&self, angle: &Angle) -> CircuitPhase {
        let radians = |id| if id == RADIAN { Angle::rad(1.0) } else { Angle::theta(id) };
        let angle = angle.substitute(radians);
        let value = angle.constant().map(|x| Complex::cis(x).arg());
        CircuitPhase { text: self.pair.circuits[0].angle_text(&angle), value }
    }
}

/// Returns the phase, if it is the same at all points to the tolerance, with the digits that
/// rounding leaves.
fn common_phase(
    first: f64,
    seen: &[(ParameterPoint, DistanceEstimate)],
    tolerance: f64,
) -> Option<CircuitPhase> {
    let spread = seen.iter().map(|(_, apart)| Complex::cis(apart.phase - first).arg().abs());
    let spread = spread.fold(0.0, f64::max);
    let error =
        seen.iter().map(|(_, apart)| apart.phase_error()).fold(spread, |e, x| e.max(spread + x));
    let text = rounding::decimals(first, error);
    (spread <= tolerance).then(|| CircuitPhase { value: text.parse().ok(), text })
}

/// Returns the nearest number of single precision.
fn to_single(x: f64) -> f64 {
    x.to_f32().map_or(x, f64::from)
}

/// Returns the angle with these slopes, rounded to the steps of the plan, that is `base` where the
/// parameters have the values.
fn affine(plan: &PointPlan, slopes: &[f64], values: &[f64], base: f64) -> Option<Angle> {
    let (mut angle, mut rest) = (Angle::zero(), base);
    for (k, (slope, step)) in slopes.iter().zip(&plan.steps).enumerate() {
        let q = Q::new((slope * *step as f64).round().to_i64()?, *step);
        rest -= crate::param::q_to_f64(q) * values[k];
        angle = angle + Angle::theta(ParamId::new(u32::try_from(k).ok()?)) * q;
    }
    Some(nearest_turn(rest, plan.order)? + angle)
}

/// Returns the multiple of `2 pi / order` in (-pi, pi] that is nearest to a phase.
fn nearest_turn(phase: f64, order: u64) -> Option<Angle> {
    let order = i64::try_from(order).ok()?;
    let turns = (phase / std::f64::consts::TAU * order as f64).round().to_i64()?.rem_euclid(order);
    let turns = if 2 * turns > order { turns - order } else { turns };
    Some(Angle::pi(2 * turns, order))
}
