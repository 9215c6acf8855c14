//! A rule against itself: its kernel, its program, and differences.
//!
//! At some points where the kernel is finite and smooth, the value of the program must be that of the kernel, and the
//! derivatives that the pushforward and the pullback of the rule give must be those of central differences. A point
//! where the differences of two step sizes are far from each other (a pole, a kink, a branch point) says nothing and is
//! left out.
//!
//! A kernel that breaks its contract in every call, or gives no finite number anywhere, and a pullback that fails
//! wherever the value is smooth, disagree. One that says in words, everywhere, why it has no value is not compared: it
//! may need inputs that are not tried.

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, DeriveError, Executable, Limits, Machine, RunError},
    ir::{Element, Kind, Program},
};
use num_complex::Complex;

use crate::{
    error::placeless,
    host::{Loaded, Rule},
    lower::caller,
};

/// Real points that are tried, for each input another shift of the list.
const POINTS: [f64; 14] = [0.35, 0.8, 1.7, 0.6, 3.1, 0.25, -0.45, 0.9, -1.3, 0.12, 2.4, -0.2, -0.3, -0.1];

/// The length of arrays among the inputs.
const LENGTH: usize = 3;

/// By what these points are multiplied, and how long arrays are, where the kernel has no value at any point.
const ELSEWHERE: [(f64, usize); 12] = [
    (1.0, 1),
    (1.0, 2),
    (1.0, 4),
    (1.0, 6),
    (1.0, 8),
    (1.0, 9),
    (1.0, 16),
    (10.0, 3),
    (1e3, 3),
    (1e6, 3),
    (1e-3, 3),
    (1e-6, 3),
];

/// The step of the differences.
const STEP: f64 = 1e-4;

/// How far values may be apart: programs are often series or quadratures.
const VALUE_TOLERANCE: f64 = 1e-9;

/// How far derivatives may be from extrapolated differences of steps of 1e-4.
const SLOPE_TOLERANCE: f64 = 1e-6;

/// What a run may use: a program that takes longer at a point is not compared there.
const LIMITS: Limits =
    Limits { steps: 10_000_000, work: 100_000_000, depth: 10_000, array: 1_000_000, memory: 1 << 30 };

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The rule.
    pub rule: String,
    /// At how many points something was compared.
    pub points: usize,
    /// What does not agree, in words.
    pub disagreement: Option<String>,
    /// What could not be compared, and why.
    pub note: Option<String>,
}

impl Verdict {
    /// Nothing was compared, and why.
    pub(crate) fn none(rule: &str, why: &str) -> Verdict {
        Verdict { rule: rule.to_owned(), points: 0, disagreement: None, note: Some(why.to_owned()) }
    }
}

/// Compares kernel, program and differences of the rule whose function has the given name.
#[must_use]
pub fn verify(program: &Program, host: &Loaded, name: &str) -> Verdict {
    let Some(f) = program.lookup(name) else { return Verdict::none(name, "not a rule of numbers") };
    let mut verdict = Verdict { rule: name.to_owned(), points: 0, disagreement: None, note: None };
    let function = &program.functions[f];
    let kinds: Vec<Kind> = function.params.iter().map(|p| p.kind.clone()).collect();
    let rule = host.rules().iter().find(|r| r.function == f);
    let result = match kinds.iter().chain([&function.result]).find(|k| !known(k)) {
        Some(kind) => Err(format!("verify knows no {kind}")),
        None => compare(program, host, name, &kinds, rule, &mut verdict.points),
    };
    match result {
        Ok(None) if verdict.points == 0 => match rule.and_then(|rule| fails_everywhere(rule, &kinds)) {
            Some(disagreement) => verdict.disagreement = Some(disagreement),
            None => {
                verdict.note = Some(match without_value(program, host, name, &kinds) {
                    Some(failed) => format!("it has no value at any point that was tried: {failed}"),
                    None => "at none of the points that were tried is it smooth".to_owned(),
                });
            }
        },
        Ok(disagreement) => verdict.disagreement = disagreement,
        Err(note) => verdict.note = Some(note),
    }
    verdict
}

fn known(kind: &Kind) -> bool {
    matches!(kind, Kind::Real | Kind::Complex | Kind::Int | Kind::Array(Element::Real | Element::Complex))
}

type C = Complex<f64>;

/// What does not agree; an error is what keeps from comparing.
fn compare(
    program: &Program,
    host: &Loaded,
    name: &str,
    kinds: &[Kind],
    rule: Option<&Rule>,
    points: &mut usize,
) -> Result<Option<String>, String> {
    let mut program = program.clone();
    let Some(of) = program.lookup(name) else { return Ok(None) };
    let rules = program.rule(of).cloned().unwrap_or_default();
    let pushes_alone = rules.pullback.is_none() && rules.pushforward.is_some();
    let caller = caller(&mut program, of);
    let name = program.functions[caller].name.clone();
    let f = Derivatives::<C>::new(&program, &name).map_err(|e| placeless(&e))?;
    let mut f = f.with_host(host).with_limits(LIMITS);
    let code = Bytecode::compile(&program, f.function()).map_err(|e| placeless(&e))?;
    let mut ways = [Way::default(), Way::default()]; // as they are compared
    for x in arguments(kinds) {
        let value = f.value(&x);
        let sum = value.as_ref().ok().and_then(total);
        let by_program = rule.and_then(|r| r.value.as_ref()).and_then(|code| run(code, host, &x));
        let (Ok(value), Some(sum)) = (value, sum) else {
            let Some(by_program) = by_program else { continue };
            *points += 1;
            let (at, by_program) = (shown(&x), number(by_program));
            return Ok(Some(format!("at {at} its kernel gives no finite number, its program {by_program}")));
        };
        if let Some(by_program) = by_program {
            *points += 1;
            if (by_program - sum).norm() > VALUE_TOLERANCE * (1.0 + sum.norm()) {
                let (at, sum, by_program) = (shown(&x), number(sum), number(by_program));
                return Ok(Some(format!("at {at} its kernel gives {sum}, its program {by_program}")));
            }
        }
        for (k, kind) in kinds.iter().enumerate() {
            if !kind.is_differentiable() {
                continue;
            }
            let along = |h: f64| -> Option<C> {
                let mut moved = x.clone();
                moved[k] = shifted(&x[k], h);
                run(&code, host, &moved)
            };
            let difference = |h: f64| Some((along(h)? - along(-h)?) / (2.0 * h));
            let (Some(wide), Some(narrow)) = (difference(STEP), difference(0.5 * STEP)) else { continue };
            let expected = (narrow * 4.0 - wide) / 3.0;
            let doubt = (wide - narrow).norm();
            if doubt > 1e-3 * (1.0 + expected.norm()) {
                continue;
            }
            // One may come from the other, whose fault it is then: what is given comes first.
            let mut slopes = [
                ("pullback", pulled(&mut f, kinds, &x, &value, k)),
                ("pushforward", pushed(&mut f, kinds, &x, k)),
            ];
            if pushes_alone {
                slopes.reverse();
            }
            if let [(_, Err(e)), (_, Err(other))] = &slopes
                && !is_failure(e)
                && !is_failure(other)
            {
                return Err(match rule {
                    Some(rule) if !rule.has_derivative() => rule.no_derivative(),
                    _ => format!("no derivative to compare: {}", placeless(e)),
                });
            }
            for ((way, slope), so_far) in slopes.into_iter().zip(&mut ways) {
                let slope = match slope {
                    Ok(slope) => slope,
                    // A rule may have one of them only.
                    Err(e) => {
                        if is_failure(&e) && so_far.failed.is_none() {
                            let why = format!("at {} its {way} fails: {}", shown(&x), placeless(&e));
                            so_far.failed = Some(why);
                        }
                        continue;
                    }
                };
                so_far.works = true;
                *points += 1;
                let Some(slope) = slope else {
                    let (at, expected) = (shown(&x), number(expected));
                    return Ok(Some(format!(
                        "at {at} its {way} gives no finite number by input {k}, differences give {expected}"
                    )));
                };
                if (slope - expected).norm() > SLOPE_TOLERANCE * (1.0 + expected.norm()) + 4.0 * doubt {
                    let (at, slope, expected) = (shown(&x), number(slope), number(expected));
                    return Ok(Some(format!(
                        "at {at} its {way} gives {slope} by input {k}, differences give {expected}"
                    )));
                }
            }
        }
    }
    Ok(ways.into_iter().filter(|way| !way.works).find_map(|way| way.failed))
}

/// A pullback or a pushforward at the points so far.
#[derive(Default)]
struct Way {
    works: bool,
    /// How it failed first.
    failed: Option<String>,
}

/// Whether a derivative that is there failed, for another reason than that it takes too much.
fn is_failure(error: &DeriveError) -> bool {
    use RunError::{Depth, Memory, Steps};
    matches!(error, DeriveError::Run(e) if !matches!(e, Steps { .. } | Depth { .. } | Memory { .. }))
}

/// What is wrong with a kernel that has a finite value nowhere; `None` if it has one, or says why not.
fn fails_everywhere(rule: &Rule, kinds: &[Kind]) -> Option<String> {
    let elsewhere = ELSEWHERE.into_iter().flat_map(|(factor, length)| {
        arguments_of(kinds, length).map(move |x| x.iter().map(|x| scaled(x, factor)).collect())
    });
    let (mut broke, mut nonfinite, mut said) = (None, None, false);
    for x in arguments(kinds).chain(elsewhere) {
        let x: Vec<Datum<C>> = x;
        match rule.kernel.has_value(&x) {
            Ok(true) => return None,
            Ok(false) => {
                nonfinite.get_or_insert_with(|| {
                    format!("at {} its kernel gives no finite number, and nowhere that was tried", shown(&x))
                });
            }
            Err(failed) if failed.broke => {
                broke.get_or_insert_with(|| {
                    format!("at {} its kernel fails, and wherever it was tried: {}", shown(&x), failed.reason)
                });
            }
            Err(_) => said = true,
        }
    }
    broke.or(nonfinite.filter(|_| !said))
}

/// Why it has no finite value at the points that are tried; `None` if it has one.
fn without_value(program: &Program, host: &Loaded, name: &str, kinds: &[Kind]) -> Option<String> {
    let f = Derivatives::<C>::new(program, name).ok()?;
    let mut f = f.with_host(host).with_limits(LIMITS);
    let mut why = None;
    for x in arguments(kinds) {
        match f.value(&x) {
            Ok(value) if total(&value).is_some() => return None,
            Ok(value) => why = why.or(Some(format!("at {} it gives {}", shown(&x), shown(&[value])))),
            Err(e) => why = why.or(Some(format!("at {} {}", shown(&x), placeless(&e)))),
        }
    }
    why
}

/// The points that are tried.
fn arguments(kinds: &[Kind]) -> impl Iterator<Item = Vec<Datum<C>>> {
    arguments_of(kinds, LENGTH)
}

/// The points, with arrays of this length.
fn arguments_of(kinds: &[Kind], length: usize) -> impl Iterator<Item = Vec<Datum<C>>> {
    (0..POINTS.len()).map(move |shift| {
        kinds.iter().enumerate().map(|(k, kind)| point(kind, shift + 2 * k, length)).collect()
    })
}

/// A number, a real one without its imaginary part.
fn number(z: C) -> String {
    if z.im == 0.0 { z.re.to_string() } else { z.to_string() }
}

/// The derivative of the sum of all results as every number of input `k` moves, by the pushforward.
fn pushed(
    f: &mut Derivatives<'_, C>,
    kinds: &[Kind],
    x: &[Datum<C>],
    k: usize,
) -> Result<Option<C>, DeriveError> {
    let moves = |j: usize| if j == k { C::ONE } else { C::ZERO };
    let dots: Vec<Datum<C>> = (0..kinds.len())
        .filter(|j| kinds[*j].is_differentiable())
        .map(|j| direction(&x[j], moves(j)))
        .collect();
    Ok(total(&f.jvp(x, &dots)?.1))
}

/// The same by the pullback: the real part from the cotangent 1, the imaginary part from `i`.
fn pulled(
    f: &mut Derivatives<'_, C>,
    kinds: &[Kind],
    x: &[Datum<C>],
    value: &Datum<C>,
    k: usize,
) -> Result<Option<C>, DeriveError> {
    let at = kinds[..k].iter().filter(|k| k.is_differentiable()).count();
    let mut part = |seed: C| -> Result<Option<f64>, DeriveError> {
        let (_, bars) = f.vjp(x, direction(value, seed))?;
        Ok(bars.get(at).and_then(total).map(|c| c.re))
    };
    let re = part(C::ONE)?;
    let im = match value {
        Datum::Complex(_) | Datum::Complexes(_) => part(C::I)?,
        _ => Some(0.0),
    };
    Ok(re.zip(im).map(|(re, im)| C::new(re, im)))
}

fn run(code: &Bytecode, host: &Loaded, x: &[Datum<C>]) -> Option<C> {
    total(&code.call(&mut Machine::new(), host, &LIMITS, x).ok()?)
}

/// An argument of the kind.
fn point(kind: &Kind, shift: usize, length: usize) -> Datum<C> {
    let real = |k: usize| POINTS[k % POINTS.len()];
    let complex = |k: usize| Complex::new(real(k), 0.5 * real(k + 3));
    match kind {
        Kind::Complex => Datum::Complex(complex(shift)),
        Kind::Int => Datum::Int(1 + (shift % 3) as i64),
        Kind::Array(Element::Complex) => {
            Datum::Complexes(std::sync::Arc::new((0..length).map(|k| complex(shift + k)).collect()))
        }
        Kind::Array(_) => Datum::reals((0..length).map(|k| real(shift + k))),
        _ => Datum::Real(real(shift)),
    }
}

/// Every number moved by `h`.
fn shifted(x: &Datum<C>, h: f64) -> Datum<C> {
    map(x, &|x| x + h, &|z| z + h)
}

/// Every number times a factor; an int times one that is whole.
fn scaled(x: &Datum<C>, factor: f64) -> Datum<C> {
    match x {
        Datum::Int(n) => Datum::Int(n.saturating_mul(factor as i64)),
        other => map(other, &|x| x * factor, &|z| z * factor),
    }
}

/// Every number `v`, in the shape of `x`; of a real one its real part.
fn direction(x: &Datum<C>, v: C) -> Datum<C> {
    map(x, &|_| v.re, &|_| v)
}

fn map(x: &Datum<C>, real: &dyn Fn(f64) -> f64, complex: &dyn Fn(C) -> C) -> Datum<C> {
    match x {
        Datum::Real(x) => Datum::Real(real(*x)),
        Datum::Complex(z) => Datum::Complex(complex(*z)),
        Datum::Reals(xs) => Datum::reals(xs.iter().map(|x| real(*x))),
        Datum::Complexes(zs) => {
            Datum::Complexes(std::sync::Arc::new(zs.iter().map(|z| complex(*z)).collect()))
        }
        other => other.clone(),
    }
}

/// The sum of all numbers, if it is finite.
fn total(x: &Datum<C>) -> Option<C> {
    let sum = match x {
        Datum::Real(x) => C::new(*x, 0.0),
        Datum::Complex(z) => *z,
        Datum::Reals(xs) => C::new(xs.iter().sum(), 0.0),
        Datum::Complexes(zs) => zs.iter().sum(),
        _ => return None,
    };
    (sum.re.is_finite() && sum.im.is_finite()).then_some(sum)
}

/// A point as a user writes it.
fn shown(x: &[Datum<C>]) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let one = |x: &Datum<C>| match x {
        Datum::Real(x) => x.to_string(),
        Datum::Complex(z) => z.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Reals(xs) => list(xs.iter().map(f64::to_string).collect()),
        Datum::Complexes(zs) => list(zs.iter().map(C::to_string).collect()),
        other => other.describe(),
    };
    x.iter().map(one).collect::<Vec<_>>().join(", ")
}
