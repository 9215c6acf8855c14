//! Checks for users: do all ways to a derivative agree?
//!
//! - [`gradcheck`]: reverse mode, optimised and not, forward mode, dual numbers and differences,
//!   compared; and whether a gradient asked for twice is the same.
//! - [`hessian_check`]: the same of second derivatives, for which there are more ways.
//! - [`dot_test`]: `<y_bar, J x_dot> = <J^T y_bar, x_dot>`, for functions with any result.
//! - [`test_rule`]: a rule or primitive of your own against differences, partial by partial.
//! - [`ring_laws`]: a number type of your own against the laws of a commutative ring.
//!
//! ```
//! use ketgrad_core::{check::{Settings, gradcheck, test_rule}, exec::{Datum, NoHost}, text::parse_program};
//!
//! let program = parse_program(
//!     "rule half(x, y) { 0.5 * x * y } pullback(x, y, h, h_bar) { (0.5 * y * h_bar, y * h_bar) }
//!      fn f(x, y) { x * x / y }",
//! )?;
//! let at = [Datum::Real(1.5), Datum::Real(2.0)];
//! assert!(gradcheck(&program, "f", &at, &NoHost, Settings::default())?.agree);
//! // The second partial of the rule is wrong: it should be 0.5 x.
//! let faults = test_rule(&program, "half", &at, &NoHost, Settings::default())?;
//! assert_eq!(faults[0].to_string(), "the pullback's partial by `y` is 2.0, differences give 0.75: off by 1.25");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Complex parameters count as two real numbers, `z.re` and `z.im`; the gradient `dL/dx + i dL/dy`
//! has their partials as its parts.

mod differences;
mod host;
pub mod numbers;
mod report;
mod ring;
mod second;
mod settings;

use num_complex::Complex;
use num_dual::DualNum;

use crate::{
    exec::{Datum, Derivatives, DeriveError},
    ir::{FunctionBuilder, Kind, Op, Param, Primitive, Program},
    pass::Level,
    scalar::{Real, Scalar},
};

pub use host::CheckHost;
pub use report::{Engine, Report};
pub use ring::{LawError, conj_laws, ring_laws, ring_laws_by};
pub use second::hessian_check;
pub use settings::Settings;

use differences::{DifferenceEstimate, estimate_derivatives, has_kink};
use host::derivatives;
pub use numbers::StrictDual;
use numbers::{CheckValue, direction, flat, names, scaled, seed_duals};

/// Compares all engines on a function, on the real numbers of its arguments: `f64`, or `f32` with
/// [`Settings::single`]. If the result is not a real number, a weighted sum of its numbers is
/// compared: value and derivatives. If a rule is not the derivative of its body, differences must
/// confirm it to a relative error of 1e-5, in single precision 1e-3.
///
/// # Errors
/// The function cannot be differentiated or run there.
pub fn gradcheck<T: Real + DualNum, H: CheckHost<T>>(
    program: &Program,
    name: &str,
    args: &[CheckValue<T>],
    host: &H,
    settings: Settings,
) -> Result<Report, DeriveError> {
    let mut reverse = derivatives::<Complex<T>>(program, name, host, settings)?;
    let f = reverse.function();
    let names = names(&program.functions[f].params, args);
    let number = |x: &T| x.primal().unwrap_or(f64::NAN);
    let weights = match program.functions[f].result {
        Kind::Real => vec![Datum::Real(T::one())],
        _ => {
            let zeros: Vec<CheckValue<T>> =
                reverse.value(args)?.zero_tangent().into_iter().collect();
            numbers::filled(&zeros, &mut numbers::low_discrepancy(0.7))
        }
    };
    let weight_list = flat(&weights);
    let sum = |y: &[f64]| weight_list.iter().zip(y).map(|(w, y)| w * y).sum::<f64>();
    let pulled = |d: &mut Derivatives<'_, Complex<T>>| match weights.first() {
        Some(y_bar) if !matches!(y_bar, Datum::Real(_)) => {
            let (y, bars) = d.vjp(args, y_bar.clone())?;
            Ok((sum(&flat(&[y])), flat(&bars)))
        }
        _ => d.value_and_gradient(args).map(|(y, bars)| (number(&y), flat(&bars))),
    };
    let (value, reference) = pulled(&mut reverse)?;
    let (_, again) = pulled(&mut reverse)?;
    let reentrant = reference.iter().map(|x| x.to_bits()).eq(again.iter().map(|x| x.to_bits()));
    let mut engines = vec![("reverse", value, reference.clone())];
    let mut plain =
        derivatives::<Complex<T>>(program, name, host, settings)?.with_level(Level::None);
    let (y, bars) = pulled(&mut plain)?;
    engines.push(("reverse, not optimized", y, bars));

    let (mut forward, mut dual, mut difference) = (Vec::new(), Vec::new(), Vec::new());
    let mut on_duals = derivatives::<Complex<StrictDual<T>>>(program, name, host, settings)?;
    let exact = settings.for_exact_engines::<T>();
    // A rule is first compared with the derivative of its body, from which it may differ if the
    // body has a kink or runs an iterative search.
    let mut bodies = match without_rules(&reverse) {
        Some(program) => {
            Some(derivatives::<Complex<StrictDual<T>>>(&program, name, host, settings)?)
        }
        None => None,
    };
    let (mut by_forward, mut by_dual) = (value, value);
    let mut by_differences = Vec::with_capacity(reference.len());
    for (k, derivative) in reference.iter().enumerate() {
        let (y, dot) = reverse.jvp(args, &direction(args, k))?;
        by_forward = sum(&flat(&[y]));
        forward.push(sum(&flat(&[dot])));
        let [y, dot] = numbers::parts(&on_duals.value(&seed_duals(args, k))?);
        by_dual = sum(&y);
        dual.push(sum(&dot));
        let total = |slopes: &[DifferenceEstimate]| {
            let values: Vec<f64> = slopes.iter().map(|s| s.value).collect();
            let error = slopes.iter().zip(&weight_list).map(|(s, w)| w.abs() * s.error).sum();
            DifferenceEstimate { value: sum(&values), error }
        };
        let doubted = bodies.as_mut().is_some_and(|bodies| {
            let y = bodies.value(&seed_duals(args, k));
            !y.is_ok_and(|y| exact.close(sum(&numbers::parts(&y)[1]), *derivative))
        });
        let settings = if doubted { settings.for_custom_rules::<T>() } else { settings };
        let fits = |slopes: &[DifferenceEstimate]| settings.close(total(slopes).value, *derivative);
        let slope = total(&estimate_derivatives(&mut reverse, args, k, settings, fits)?);
        let none = derivative.is_nan() && has_kink(&mut reverse, args, k, settings, sum)?;
        difference.push(if none { f64::NAN } else { slope.value });
        by_differences.push(if doubted { settings } else { settings.with_error_of(&slope) });
    }
    engines.push(("forward", by_forward, forward));
    engines.push(("dual", by_dual, dual));
    engines.push(("difference", value, difference));
    let allowed = |engine: &str, k: Option<usize>| match k {
        Some(k) if engine == "difference" => by_differences.get(k).copied().unwrap_or(settings),
        _ => exact,
    };
    Ok(Report::compared(names, engines, reentrant, allowed))
}

/// Returns the program without the rules of the functions that are reachable; `None` if there are
/// none.
fn without_rules<T: Real, S: Scalar<Real = T>>(of: &Derivatives<'_, S>) -> Option<Program> {
    let mut bodies = of.program().clone();
    let removed = of
        .program()
        .reachable(of.function())
        .into_iter()
        .filter_map(|g| bodies.remove_rule(g))
        .count();
    (removed > 0).then_some(bodies)
}

/// Computes the two sides of `<y_bar, J x_dot> = <J^T y_bar, x_dot>`, for directions whose parts
/// are all different.
///
/// # Errors
/// Those of [`gradcheck`].
pub fn dot_test<H: CheckHost>(
    program: &Program,
    name: &str,
    args: &[CheckValue],
    host: &H,
    settings: Settings,
) -> Result<(f64, f64), DeriveError> {
    let mut f = derivatives::<Complex<f64>>(program, name, host, settings)?;
    let x_dot: Vec<CheckValue> = args.iter().filter_map(Datum::zero_tangent).collect();
    let x_dot = numbers::filled(&x_dot, &mut numbers::low_discrepancy(0.3));
    let (y, y_dot) = f.jvp(args, &x_dot)?;
    let y_bar: Vec<CheckValue> = y.zero_tangent().into_iter().collect();
    let Some(y_bar) = numbers::filled(&y_bar, &mut numbers::low_discrepancy(0.7)).pop() else {
        return Ok((0.0, 0.0));
    };
    let (_, x_bar) = f.vjp(args, y_bar.clone())?;
    let pairing =
        |a: &[CheckValue], b: &[CheckValue]| flat(a).iter().zip(flat(b)).map(|(a, b)| a * b).sum();
    Ok((pairing(&[y_bar], &[y_dot]), pairing(&x_bar, &x_dot)))
}

/// The tangents and cotangents that rules are given: two, since a rule that forgets its own is
/// right for 1.
const SEEDS: [f64; 2] = [1.0, -2.0];

/// A partial derivative of a rule that differences do not confirm.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleMismatch {
    /// `pullback` or `pushforward`.
    pub rule: &'static str,
    /// Name of the number among the arguments.
    pub by: String,
    /// Index of the number of the result, if there are several.
    pub of: Option<usize>,
    /// The tangent or cotangent that the rule was given: 1, or -2, since a rule is linear in it.
    pub seed: f64,
    /// Partial derivative that the rule gives, divided by the seed.
    pub given: f64,
    /// Partial derivative by differences.
    pub expected: f64,
}

impl std::fmt::Display for RuleMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RuleMismatch { rule, by, seed, given, expected, .. } = self;
        let seed = if *seed == 1.0 {
            String::new()
        } else {
            format!(", asked with {seed} in place of 1,")
        };
        let of = self.of.map(|k| format!(" of number {k} of the result")).unwrap_or_default();
        // Differences are good to a few digits only.
        let expected = format!("{expected:.6e}").parse().unwrap_or(*expected);
        let off = format!("{:.2e}", (given - expected).abs()).parse().unwrap_or(f64::NAN);
        write!(
            f,
            "the {rule}'s partial{of} by `{by}`{seed} is {given:?}, differences give {expected:?}: off by {off:?}"
        )
    }
}

/// Checks the rule of a function or primitive at a point: every partial that its pullback and its
/// pushforward imply, and that both are linear in what they are given, against differences. An
/// empty list means that all are right. A pullback or pushforward that is missing is not checked.
///
/// # Errors
/// There is no function or primitive of that name, it cannot be run there, or a tangent of its rule
/// is longer than the value it belongs to
/// ([`CallError::Tangent`](crate::exec::CallError::Tangent)).
pub fn test_rule<H: CheckHost>(
    program: &Program,
    name: &str,
    args: &[CheckValue],
    host: &H,
    settings: Settings,
) -> Result<Vec<RuleMismatch>, DeriveError> {
    let [pulls, pushes] = directions(program, name);
    let (program, wrapper) = wrapped(program, name);
    let mut f = derivatives::<Complex<f64>>(&program, &wrapper, host, settings)?;
    let names = names(&program.functions[f.function()].params, args);
    let rows = f.value(args)?.zero_tangent().map_or(0, |z| flat(&[z]).len());
    let mut columns = Vec::new();
    for k in 0..names.len() {
        columns.push(estimate_derivatives(&mut f, args, k, settings, |_| false)?);
    }
    let mut faults: Vec<RuleMismatch> = Vec::new();
    let mut compare = |rule, seed: f64, k: usize, row: usize, given: f64| {
        let given = given / seed;
        let slope = columns.get(k).and_then(|column| column.get(row)).copied();
        let slope = slope.unwrap_or(DifferenceEstimate { value: f64::NAN, error: 0.0 });
        let expected = slope.value;
        let of = (rows > 1).then_some(row);
        let by = names.get(k).cloned().unwrap_or_default();
        let known = |f: &RuleMismatch| f.rule == rule && f.of == of && f.by == by;
        if !settings.with_error_of(&slope).close(given, expected) && !faults.iter().any(known) {
            faults.push(RuleMismatch { rule, by, of, seed, given, expected });
        }
    };
    let y = f.value(args)?;
    'pullbacks: for row in (0..rows).filter(|_| pulls) {
        for seed in SEEDS {
            let Some(y_bar) = scaled(&direction(std::slice::from_ref(&y), row), seed).pop() else {
                break;
            };
            match f.vjp(args, y_bar) {
                Ok((_, bars)) => {
                    let partials = flat(&bars).into_iter().enumerate();
                    partials.for_each(|(k, g)| compare("pullback", seed, k, row, g));
                }
                Err(DeriveError::Diff(crate::adjoint::DiffError::MissingRule { .. })) => {
                    break 'pullbacks;
                }
                Err(e) => return Err(e),
            }
        }
    }
    'pushforwards: for k in (0..names.len()).filter(|_| pushes) {
        for seed in SEEDS {
            match f.jvp(args, &scaled(&direction(args, k), seed)) {
                Ok((_, dot)) => {
                    let partials = flat(&[dot]).into_iter().enumerate();
                    partials.for_each(|(row, g)| compare("pushforward", seed, k, row, g));
                }
                Err(DeriveError::Diff(crate::adjoint::DiffError::MissingRule { .. })) => {
                    break 'pushforwards;
                }
                Err(e) => return Err(e),
            }
        }
    }
    Ok(faults)
}

/// Returns which of the pullback and the pushforward are to be checked: if the rule has neither,
/// the body gives both.
fn directions(program: &Program, name: &str) -> [bool; 2] {
    let given = match program.lookup(name) {
        Some(f) => program.rule(f).map(|r| [r.pullback.is_some(), r.pushforward.is_some()]),
        None => program.lookup_primitive(name).map(|p| {
            let p = &program.primitives[p];
            [p.pullback.is_some(), p.pushforward.is_some()]
        }),
    };
    given.filter(|given| given.contains(&true)).unwrap_or([true; 2])
}

/// Returns a function that only calls the primitive of the given name; if there is none, that name.
fn wrapped(program: &Program, name: &str) -> (Program, String) {
    let mut program = program.clone();
    let Some(p) = program.lookup_primitive(name).filter(|_| program.lookup(name).is_none()) else {
        return (program, name.to_owned());
    };
    let Primitive { params, result, .. } = program.primitives[p].clone();
    let params = params.into_iter().enumerate();
    let params = params.map(|(k, kind)| Param::new(format!("argument {}", k + 1), kind)).collect();
    let wrapper = program.fresh_name(&format!("{name}.checked"));
    program.add(FunctionBuilder::caller(wrapper.clone(), params, result, Op::Primitive(p)));
    (program, wrapper)
}
