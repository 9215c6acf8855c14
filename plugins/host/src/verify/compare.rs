//! Comparison of a rule at one point after the other: its value, finite differences, its
//! derivatives, and a repetition of all.

use ketgrad_core::{
    check::numbers::{filled, flat},
    exec::{Bytecode, Datum, Derivatives, DeriveError, Executable, Limits, Machine, RunError},
    ir::{Kind, Program},
};

use crate::{
    error::placeless,
    host::{Loaded, Rule},
    limits::RuleDeadline,
    lower::caller,
    shown::shown,
};

use super::{
    points::{PointKind, PointScalar, TestPoint},
    slopes::{FiniteDifference, central_differences},
};

/// Limits of a run: a program that takes longer at a point is not compared there.
pub(super) const LIMITS: Limits = Limits::new()
    .with_steps(10_000_000)
    .with_work(100_000_000)
    .with_depth(10_000)
    .with_array(1_000_000)
    .with_memory(1 << 28);

/// Number of points at which a rule may take longer before no more are tried.
const SLOW_POINTS: usize = 3;

/// Largest allowed distance of values: programs are often series or quadratures.
const VALUE_TOLERANCE: f64 = 1e-9;

/// Number of entries of an argument or result that are moved one by one.
const MOST: usize = 48;

/// Number of directions that are tried where there are more entries.
pub(super) const PROJECTIONS: usize = 3;

/// Reason to stop: a disagreement, or an obstacle to comparing.
pub(super) enum ComparisonStop {
    Disagrees(String),
    Note(String),
}

type ComparisonFlow = Result<(), ComparisonStop>;

/// Point with its numbers, and the finite differences there.
pub(super) struct DifferencedPoint<'p> {
    pub(super) x: &'p [Datum<PointScalar>],
    pub(super) x0: &'p [f64],
    pub(super) y: &'p Datum<PointScalar>,
    pub(super) y0: &'p [f64],
    /// Columns of the Jacobian by differences: for each number of the inputs that is moved, its
    /// index, and the derivative of each number of the result.
    pub(super) columns: Vec<(usize, Vec<Option<FiniteDifference>>)>,
    /// Indices of the numbers of the result whose cotangents are tried one by one.
    pub(super) outputs: Vec<usize>,
}

impl DifferencedPoint<'_> {
    /// Returns true if all numbers are tried one by one.
    pub(super) fn is_whole(&self) -> bool {
        self.columns.len() == self.x0.len() && self.outputs.len() == self.y0.len()
    }

    /// Returns true if differences know all of a column and of a row: elsewhere a derivative may be
    /// infinite, and NaN in a product with zero.
    pub(super) fn is_smooth(&self, column: &[Option<FiniteDifference>], i: usize) -> bool {
        column.iter().all(Option::is_some)
            && self.columns.iter().all(|(_, column)| column[i].is_some())
    }
}

fn disagrees(what: String) -> ComparisonFlow {
    Err(ComparisonStop::Disagrees(what))
}

/// Derivative of a rule: reverse or forward mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DerivativeMode {
    Pullback,
    Pushforward,
}

impl DerivativeMode {
    pub(super) fn word(self) -> &'static str {
        match self {
            DerivativeMode::Pullback => "pullback",
            DerivativeMode::Pushforward => "pushforward",
        }
    }
}

/// Results of a pullback or a pushforward at the points of one kind so far.
struct PointTally {
    way: DerivativeMode,
    place: PointKind,
    works: bool,
    /// First failure, in words.
    failed: Option<String>,
}

/// State of a comparison.
pub(super) struct Comparison<'a> {
    host: &'a Loaded,
    rule: Option<&'a Rule>,
    pub(super) f: Derivatives<'a, PointScalar>,
    code: Bytecode,
    machine: Machine<PointScalar>,
    /// Order in which they are compared: the given one comes first, since the other may be derived
    /// from it, and the fault is then in the given one.
    ways: [DerivativeMode; 2],
    experience: Vec<PointTally>,
    /// Number of comparisons so far.
    pub(super) comparisons: usize,
    /// Reason why only a part was compared.
    pub(super) partly: Option<String>,
    /// True if no time was left.
    pub(super) out_of_time: bool,
    slow: usize,
    clock: RuleDeadline,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        program: &Program,
        host: &'a Loaded,
        rule: Option<&'a Rule>,
        name: &str,
        clock: RuleDeadline,
    ) -> Result<Option<Comparison<'a>>, String> {
        let mut program = program.clone();
        let Some(of) = program.lookup(name) else { return Ok(None) };
        let rules = program.rule(of).cloned().unwrap_or_default();
        let pushes_alone = rules.pullback.is_none() && rules.pushforward.is_some();
        let mut ways = [DerivativeMode::Pullback, DerivativeMode::Pushforward];
        if pushes_alone {
            ways.reverse();
        }
        let caller = caller(&mut program, of);
        let name = program.functions[caller].name.clone();
        let f = Derivatives::<PointScalar>::new(&program, &name).map_err(|e| placeless(&e))?;
        let f = f.with_host(host).with_limits(LIMITS).with_cancellation(clock.token());
        let code = Bytecode::compile(&program, f.function()).map_err(|e| placeless(&e))?;
        Ok(Some(Comparison {
            host,
            rule,
            f,
            code,
            machine: Machine::new().with_cancellation(clock.token()),
            ways,
            experience: Vec::new(),
            comparisons: 0,
            partly: None,
            out_of_time: false,
            slow: 0,
            clock,
        }))
    }

    /// Compares at all points; fails with what failed at all points of a kind.
    pub(super) fn run(&mut self, trials: &[TestPoint]) -> ComparisonFlow {
        for trial in trials {
            let is_late = self.slow >= SLOW_POINTS || self.clock.is_late();
            let result = if is_late { Ok(()) } else { self.compare_at(trial) };
            // A result that was cut short is no evidence.
            if is_late || result.is_err() && self.clock.is_over() {
                self.out_of_time = true;
                self.partly = Some("it takes too long for all points".to_owned());
                break;
            }
            result?;
        }
        // Arrays of other shapes than rows of one length may be more than a derivative is made for.
        let strict = |place: &PointKind| {
            !matches!(place, PointKind::Usual { alike: false, .. } | PointKind::Zero)
        };
        let failed = self.experience.iter().filter(|e| !e.works && strict(&e.place));
        match failed.filter_map(|e| e.failed.clone()).next() {
            Some(failed) => disagrees(failed),
            None => Ok(()),
        }
    }

    fn value(&mut self, x: &[Datum<PointScalar>]) -> Option<Datum<PointScalar>> {
        match self.code.call(&mut self.machine, self.host, &LIMITS, x) {
            Ok(y) => Some(y),
            Err(e) => {
                self.slow += usize::from(is_limit(&e));
                None
            }
        }
    }

    /// Returns the numbers of the value, if all are finite.
    fn numbers(&mut self, x: &[Datum<PointScalar>]) -> Option<Vec<f64>> {
        finite(flat(&[self.value(x)?]))
    }

    /// Compares at one point.
    fn compare_at(&mut self, trial: &TestPoint) -> ComparisonFlow {
        let x = &trial.x[..];
        let named = trial.place == PointKind::Named;
        let by_program = self.by_program(x);
        let value = self.value(x);
        let value = value.filter(|y| finite(flat(std::slice::from_ref(y))).is_some());
        let Some(y) = value else {
            let Some(by_program) = by_program else { return Ok(()) };
            self.comparisons += 1;
            let (at, by_program) = (shown(x), shown(&[by_program]));
            return disagrees(format!(
                "at {at} its kernel gives no finite number, its program {by_program}"
            ));
        };
        let y0 = flat(std::slice::from_ref(&y));
        if let Some(by_program) = by_program {
            self.comparisons += 1;
            let other = flat(std::slice::from_ref(&by_program));
            let size = largest(&y0);
            let near = |(a, b): (&f64, &f64)| {
                (a - b).abs() <= VALUE_TOLERANCE * (1.0 + b.abs().max(1e-3 * size))
            };
            if other.len() != y0.len() || !other.iter().zip(&y0).all(near) {
                let (at, y, by_program) = (shown(x), shown(&[y]), shown(&[by_program]));
                return disagrees(format!(
                    "at {at} its kernel gives {y}, its program {by_program}"
                ));
            }
        }
        let x0 = flat(x);
        if y0.is_empty() || x0.is_empty() {
            return self.repeated(x, &y, None);
        }
        let column =
            |j: usize| (j, self.directional_differences(x, &x0, &y0, &unit(x0.len(), j), x0[j]));
        let columns: Vec<_> = some_of(x0.len()).into_iter().map(column).collect();
        let mut slopes = columns.iter().flat_map(|(_, column)| column);
        let compared = match trial.place {
            PointKind::Zero => slopes.all(Option::is_some),
            _ => slopes.any(Option::is_some),
        };
        if !compared {
            if named {
                self.partly = Some(format!(
                    "at {} it is not smooth, or has no finite value beside",
                    shown(x)
                ));
            }
            return self.repeated(x, &y, None);
        }
        let outputs = some_of(y0.len());
        let known = DifferencedPoint { x, x0: &x0, y: &y, y0: &y0, columns, outputs };
        self.derivatives(trial, &known)?;
        self.repeated(x, &y, Some(&y0))
    }

    /// Computes the value by the program, if the rule has a kernel too.
    fn by_program(&mut self, x: &[Datum<PointScalar>]) -> Option<Datum<PointScalar>> {
        let code = self.rule?.value.as_ref()?;
        let y = code
            .call(&mut Machine::new().with_cancellation(self.clock.token()), self.host, &LIMITS, x)
            .ok()?;
        finite(flat(std::slice::from_ref(&y))).map(|_| y)
    }

    /// Returns the differences of all results along a direction.
    pub(super) fn directional_differences(
        &mut self,
        x: &[Datum<PointScalar>],
        x0: &[f64],
        y0: &[f64],
        d: &[f64],
        size: f64,
    ) -> Vec<Option<FiniteDifference>> {
        central_differences(&mut |h| self.moved(x, x0, d, h), y0, size)
    }

    pub(super) fn moved(
        &mut self,
        x: &[Datum<PointScalar>],
        x0: &[f64],
        d: &[f64],
        h: f64,
    ) -> Option<Vec<f64>> {
        if self.slow >= SLOW_POINTS || self.clock.is_over() {
            return None;
        }
        self.numbers(&filled(x, &mut x0.iter().zip(d).map(|(x, d)| x + h * d)))
    }

    /// Compares pullback and pushforward for unit seeds, and for others.
    fn derivatives(&mut self, trial: &TestPoint, known: &DifferencedPoint<'_>) -> ComparisonFlow {
        if !known.is_whole() {
            self.partly = Some(format!(
                "of more than {MOST} numbers {MOST} are moved one by one, all of them along {PROJECTIONS} directions"
            ));
        }
        let mut missing: Vec<DeriveError> = Vec::new();
        for way in self.ways {
            let result = match way {
                DerivativeMode::Pullback => self.rows(known),
                DerivativeMode::Pushforward => self.columns(known),
            };
            let failed = match result {
                Ok(None) => None,
                Ok(Some(disagreement)) => return disagrees(disagreement),
                Err(e) => Some(e),
            };
            self.noted(way, trial, failed.as_ref());
            if let Some(DeriveError::Run(e)) = &failed
                && is_limit(e)
            {
                self.slow += 1;
                continue;
            }
            // The author's derivative says that it is not for these shapes: nor is any that is
            // derived from it.
            if failed.as_ref().is_some_and(is_failure)
                && matches!(trial.place, PointKind::Usual { alike: false, .. })
            {
                break;
            }
            missing.extend(failed.filter(|e| !is_failure(e)));
        }
        match &missing[..] {
            // Neither exists.
            [e, _] => Err(ComparisonStop::Note(match self.rule {
                Some(rule) if !rule.has_derivative() => rule.no_derivative(),
                _ => format!("no derivative to compare: {}", placeless(e)),
            })),
            _ => Ok(()),
        }
    }

    /// Records the result of a derivative at a point.
    fn noted(&mut self, way: DerivativeMode, trial: &TestPoint, failed: Option<&DeriveError>) {
        let place = trial.place;
        let known = self.experience.iter().position(|e| e.way == way && e.place == place);
        let k = known.unwrap_or_else(|| {
            self.experience.push(PointTally { way, place, works: false, failed: None });
            self.experience.len() - 1
        });
        let so_far = &mut self.experience[k];
        match failed {
            None => so_far.works = true,
            // A rule may have one of them only.
            Some(e) if is_failure(e) && so_far.failed.is_none() => {
                let at = shown(&trial.x);
                so_far.failed = Some(format!("at {at} its {} fails: {}", way.word(), placeless(e)));
            }
            Some(_) => {}
        }
    }

    /// Checks that the same calls give the same bits, after others.
    fn repeated(
        &mut self,
        x: &[Datum<PointScalar>],
        y: &Datum<PointScalar>,
        derived: Option<&[f64]>,
    ) -> ComparisonFlow {
        let bits = |y: &Datum<PointScalar>| {
            flat(std::slice::from_ref(y)).into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            let Some(again) = self.value(x) else {
                return disagrees(format!(
                    "at {} it gives {} and then fails",
                    shown(x),
                    shown(std::slice::from_ref(y))
                ));
            };
            if bits(&again) != bits(y) {
                let (at, first, again) =
                    (shown(x), shown(std::slice::from_ref(y)), shown(&[again]));
                return disagrees(format!(
                    "at {at} it gives {first} and then {again}: two answers for one call"
                ));
            }
        }
        let Some(y0) = derived else { return Ok(()) };
        let Some(y_bar) = seeded(std::slice::from_ref(y), &mixed(y0.len(), 0)) else {
            return Ok(());
        };
        let zeros: Vec<Datum<PointScalar>> = x.iter().filter_map(Datum::zero_tangent).collect();
        let dots = filled(&zeros, &mut mixed(flat(x).len(), 0).into_iter());
        for way in self.ways {
            let mut both: Vec<Vec<Datum<PointScalar>>> = Vec::new();
            for _ in 0..2 {
                let result = match way {
                    DerivativeMode::Pullback => self.f.vjp(x, y_bar.clone()).map(|r| r.1),
                    DerivativeMode::Pushforward => self.f.jvp(x, &dots).map(|r| vec![r.1]),
                };
                both.extend(result.ok());
                // Another call between them.
                let _ = self.f.vjp(x, y.clone());
            }
            if let [first, again] = &both[..] {
                let bits = |y: &[Datum<PointScalar>]| {
                    flat(y).into_iter().map(f64::to_bits).collect::<Vec<_>>()
                };
                if bits(first) != bits(again) {
                    let (at, word, first, again) =
                        (shown(x), way.word(), shown(first), shown(again));
                    return disagrees(format!(
                        "at {at} its {word} gives {first} and then {again}: two answers for one call"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a derivative failed for another reason than that it takes too much.
fn is_failure(error: &DeriveError) -> bool {
    matches!(error, DeriveError::Run(e) if !is_limit(e))
}

fn is_limit(error: &RunError) -> bool {
    use RunError::{Cancelled, Depth, Memory, Steps, Work};
    matches!(error, Steps { .. } | Work { .. } | Depth { .. } | Memory { .. } | Cancelled { .. })
}

fn finite(y: Vec<f64>) -> Option<Vec<f64>> {
    y.iter().all(|y| y.is_finite()).then_some(y)
}

pub(super) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

pub(super) fn unit(n: usize, j: usize) -> Vec<f64> {
    (0..n).map(|k| if k == j { 1.0 } else { 0.0 }).collect()
}

/// Indices of the entries, of n, that are moved one by one: all, or some with the first and the
/// last.
fn some_of(n: usize) -> Vec<usize> {
    if n <= MOST { (0..n).collect() } else { (0..MOST).map(|k| k * (n - 1) / (MOST - 1)).collect() }
}

/// Returns numbers of mixed magnitudes and signs, none of them 0 or ±1.
pub(super) fn mixed(n: usize, round: usize) -> Vec<f64> {
    const NUMBERS: [f64; 7] = [-2.3, 0.37, 11.5, -0.06, 0.71, -5.2, 3.4];
    let scale = [1.0, 0.9, 0.003][round % 3];
    (0..n).map(|k| scale * NUMBERS[(3 * k + 2 * round + k / 7) % 7]).collect()
}

/// Builds a cotangent of these numbers.
pub(super) fn seeded(value: &[Datum<PointScalar>], numbers: &[f64]) -> Option<Datum<PointScalar>> {
    let zeros: Vec<Datum<PointScalar>> = value.iter().filter_map(Datum::zero_tangent).collect();
    filled(&zeros, &mut numbers.iter().copied()).pop()
}

/// Returns true if there are points of that kind.
pub(super) fn known(kind: &Kind) -> bool {
    match kind {
        Kind::Handle => false,
        Kind::Tuple(_) => kind.fields().iter().all(|f| known(&f.kind)),
        Kind::Real | Kind::Complex | Kind::Int | Kind::Bool | Kind::Array(_) => true,
    }
}
