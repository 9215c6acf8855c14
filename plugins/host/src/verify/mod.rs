//! Verification of a rule: its kernel, its program, and finite differences agree.
//!
//! At some points where the kernel is finite and smooth, the value of the program must be that of
//! the kernel, and every element of the derivatives must be that of central differences: the
//! pushforward for each unit direction, the pullback for each unit cotangent, real and imaginary
//! parts apart. Both are linear in their seed, and the same call gives the same bits however often
//! it is made. Arrays are tried in several shapes; a point where differences cannot be trusted (a
//! pole, a kink, a branch point) says nothing and is left out. So does one with numbers that are
//! exactly zero, where formulas often divide, unless the function is smooth there in every
//! direction: NaN is a disagreement then.
//!
//! A kernel that breaks its contract in every call, or gives no finite number anywhere, and a
//! pullback that fails wherever the value is smooth, disagree. One that says in words, everywhere,
//! why it has no value is not compared: it may need inputs that are not tried.
//!
//! | file | holds |
//! |---|---|
//! | `points` | points at which rules are compared |
//! | `slopes` | central differences with an error bound |
//! | `compare` | comparison at one point after the other |
//! | `elements` | derivatives against differences, element by element |

mod compare;
mod elements;
mod points;
mod slopes;

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::{Kind, Program},
};
use num_complex::Complex;

use crate::{
    error::placeless,
    host::{Loaded, Rule},
    limits::{MOST_COMPARED, RuleDeadline, TimeBudget, inlined_size},
    shown::shown,
};

use compare::{Comparison, ComparisonStop, LIMITS, known};
use points::{PointKind, PointScalar, TestPoint, elsewhere, trials};

/// Version of the comparison; with another number, earlier results do not count any more.
pub(crate) const VERSION: u32 = 1;

/// Point that an author names: an argument for each parameter of a rule.
pub type NamedPoint = Vec<Datum<Complex<f64>>>;

/// Result of comparing a rule.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// Name of the rule.
    pub rule: String,
    /// Number of comparisons.
    pub points: usize,
    /// Disagreement, in words.
    pub disagreement: Option<String>,
    /// Reason why nothing could be compared.
    pub note: Option<String>,
    /// Reason why only a part was compared.
    pub partly: Option<String>,
}

impl Verdict {
    /// Returns the verdict that nothing was compared, and why.
    pub(crate) fn none(rule: &str, why: &str) -> Verdict {
        Verdict { note: Some(why.to_owned()), ..Verdict::new(rule) }
    }

    /// Returns the verdict that the rule is wrong, and why.
    pub(crate) fn disagrees(rule: &str, why: &str) -> Verdict {
        Verdict { disagreement: Some(why.to_owned()), ..Verdict::new(rule) }
    }

    fn new(rule: &str) -> Verdict {
        Verdict { rule: rule.to_owned(), points: 0, disagreement: None, note: None, partly: None }
    }
}

/// Compares kernel, program and differences of the rule whose function has the given name.
#[must_use]
pub fn verify(program: &Program, host: &Loaded, name: &str) -> Verdict {
    verify_at(program, host, name, &[])
}

/// Compares like [`verify`], also at further points. Points that do not fit the rule's parameters
/// are a note.
#[must_use]
pub fn verify_at(program: &Program, host: &Loaded, name: &str, at: &[NamedPoint]) -> Verdict {
    examined(program, host, name, at, &TimeBudget::each()).0
}

/// Compares like [`verify_at`], and returns true if the verdict is final: not cut short by the
/// clock.
pub(crate) fn examined(
    program: &Program,
    host: &Loaded,
    name: &str,
    at: &[NamedPoint],
    budget: &TimeBudget,
) -> (Verdict, bool) {
    if budget.is_over() {
        return (Verdict::none(name, "there was no time left to compare it"), false);
    }
    let Some(f) = program.lookup(name) else {
        return (Verdict::none(name, "not a rule of numbers"), true);
    };
    let mut verdict = Verdict::new(name);
    let function = &program.functions[f];
    let kinds: Vec<Kind> = function.params.iter().map(|p| p.kind.clone()).collect();
    let rule = host.rules().iter().find(|r| r.function == f).map(|rule| &**rule);
    if let Some(kind) = kinds.iter().chain([&function.result]).find(|k| !known(k)) {
        return (Verdict::none(name, &format!("verify knows no {kind}")), true);
    }
    if !function.result.is_differentiable() {
        return (Verdict::none(name, "its result has no derivative"), true);
    }
    let size = inlined_size(program, f);
    if size > MOST_COMPARED {
        let why = format!(
            "it has {size} instructions; those of more than {MOST_COMPARED} are not compared"
        );
        return (Verdict::none(name, &why), true);
    }
    let fits = |x: &&NamedPoint| {
        x.len() == kinds.len() && x.iter().zip(&kinds).all(|(x, kind)| x.is(kind))
    };
    let named = at.iter().filter(fits).map(|x| TestPoint { x: x.clone(), place: PointKind::Named });
    // A rule without a derivative of its own is derived by the program's rules: at zeros that may
    // be NaN where no formula is wrong.
    let has_rule = rule.is_some() || program.rule(f).is_some();
    let all: Vec<TestPoint> = named.chain(trials(&kinds, has_rule)).collect();
    let clock = budget.begin();
    let mut comparison = match Comparison::new(program, host, rule, name, clock) {
        Ok(Some(comparison)) => comparison,
        Ok(None) => return (verdict, true),
        Err(note) => return (Verdict::none(name, &note), true),
    };
    let result = comparison.run(&all);
    let is_final = !comparison.out_of_time;
    (verdict.points, verdict.partly) = (comparison.comparisons, comparison.partly);
    match result {
        Err(ComparisonStop::Disagrees(what)) => verdict.disagreement = Some(what),
        Err(ComparisonStop::Note(note)) => verdict.note = Some(note),
        Ok(()) if verdict.points == 0 => match rule.and_then(|rule| fails_everywhere(rule, &kinds))
        {
            Some(disagreement) => verdict.disagreement = Some(disagreement),
            None => {
                // After a timeout only one point is tried.
                let tried = if is_final { usize::MAX } else { 1 };
                verdict.note =
                    Some(match without_value(program, host, name, &kinds, tried, clock) {
                        Some(failed) => {
                            format!("it has no value at any point that was tried: {failed}")
                        }
                        None if !is_final => "it takes too long".to_owned(),
                        None => "at none of the points that were tried is it smooth".to_owned(),
                    });
            }
        },
        Ok(()) => {}
    }
    (verdict, is_final)
}

/// Describes the error of a kernel that has a finite value nowhere; `None` if it has one, or says
/// why not.
fn fails_everywhere(rule: &Rule, kinds: &[Kind]) -> Option<String> {
    let (mut broke, mut nonfinite, mut said) = (None, None, false);
    for x in usual(kinds).chain(elsewhere(kinds)) {
        match rule.kernel.has_value(&x) {
            Ok(true) => return None,
            Ok(false) => {
                nonfinite.get_or_insert_with(|| {
                    format!(
                        "at {} its kernel gives no finite number, and nowhere that was tried",
                        shown(&x)
                    )
                });
            }
            Err(failed) if failed.broke => {
                broke.get_or_insert_with(|| {
                    format!(
                        "at {} its kernel fails, and wherever it was tried: {}",
                        shown(&x),
                        failed.reason
                    )
                });
            }
            Err(_) => said = true,
        }
    }
    broke.or(nonfinite.filter(|_| !said))
}

/// Returns the reason why it has no finite value at the first points that are tried; `None` if it
/// has one.
fn without_value(
    program: &Program,
    host: &Loaded,
    name: &str,
    kinds: &[Kind],
    tried: usize,
    clock: RuleDeadline,
) -> Option<String> {
    let f = Derivatives::<PointScalar>::new(program, name).ok()?;
    let mut f = f.with_host(host).with_limits(LIMITS).with_cancellation(clock.token());
    let mut why = None;
    for x in usual(kinds).take(tried) {
        if clock.is_over() {
            break;
        }
        match f.value(&x) {
            Ok(value) if is_finite(&value) => return None,
            Ok(value) => {
                why = why.or(Some(format!("at {} it gives {}", shown(&x), shown(&[value]))))
            }
            Err(e) => why = why.or(Some(format!("at {} {}", shown(&x), placeless(&e)))),
        }
    }
    why
}

fn is_finite(value: &Datum<PointScalar>) -> bool {
    ketgrad_core::check::numbers::flat(std::slice::from_ref(value)).iter().all(|x| x.is_finite())
}

/// Returns the points of the list, with arrays of its first shape.
fn usual(kinds: &[Kind]) -> impl Iterator<Item = Vec<Datum<PointScalar>>> {
    let first = |trial: &TestPoint| matches!(trial.place, PointKind::Usual { shapes: 0, .. });
    trials(kinds, false).into_iter().filter(first).map(|trial| trial.x)
}
