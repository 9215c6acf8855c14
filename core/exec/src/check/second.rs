//! Second derivatives: do all ways to a Hessian agree?

use num_complex::Complex;
use num_dual::DualNum;

use crate::{adjoint, exec::DeriveError, ir::Program, pass::Level, scalar::Real};

use super::{
    differences::{DifferenceEstimate, estimate_derivatives},
    host::{CheckHost, derivatives},
    numbers::{self, CheckValue, StrictDual, direction, flat, names, seed_duals},
    report::Report,
    settings::Settings,
};

/// Compares the ways to the second derivatives of a function that gives one real number: reverse
/// mode by forward mode, optimised and not, by reverse mode, by dual numbers and by differences.
/// The gradient of the report is the Hessian row by row, under names such as `a b`.
///
/// ```
/// use ketgrad_core::{check::{Settings, hessian_check}, exec::{Datum, NoHost}, text::parse_program};
///
/// let program = parse_program("fn f(x, y) { x * x * y }")?;
/// let at = [Datum::Real(3.0), Datum::Real(0.5)];
/// let report = hessian_check(&program, "f", &at, &NoHost, Settings::default())?;
/// assert!(report.agree);
/// assert_eq!(report.names, ["x x", "x y", "y x", "y y"]);
/// assert_eq!(report.engines[0].gradient, [1.0, 6.0, 6.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The function gives no real number, it cannot be differentiated or run there, or it has a rule
/// that makes its second derivatives depend on their order.
pub fn hessian_check<T: Real + DualNum, H: CheckHost<T>>(
    program: &Program,
    name: &str,
    args: &[CheckValue<T>],
    host: &H,
    settings: Settings,
) -> Result<Report, DeriveError> {
    let mut f = derivatives::<Complex<T>>(program, name, host, settings)?;
    let numbers = names(&program.functions[f.function()].params, args);
    let value = flat(&[f.value(args)?]).first().copied().unwrap_or(f64::NAN);
    let rows = |rows: Vec<Vec<T>>| -> Vec<f64> {
        rows.iter().flatten().map(|x| x.primal().unwrap_or(f64::NAN)).collect()
    };
    let reference = rows(f.hessian(args)?);
    let again = rows(f.hessian(args)?);
    let reentrant = reference.iter().map(|x| x.to_bits()).eq(again.iter().map(|x| x.to_bits()));
    let mut plain =
        derivatives::<Complex<T>>(program, name, host, settings)?.with_level(Level::None);
    let plain = rows(plain.hessian(args)?);

    // The gradient as a function: the value, and the derivatives after it.
    let mut whole = program.clone();
    let gradient = adjoint::gradient(&mut whole, f.function())?;
    let mut g = derivatives::<Complex<T>>(&whole, &whole.functions[gradient].name, host, settings)?;
    let given = g.value(args)?;
    let n = numbers.len();
    let mut on_duals = derivatives::<Complex<StrictDual<T>>>(program, name, host, settings)?;
    let (mut back, mut dual, mut difference) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_differences = Vec::with_capacity(n * n);
    for k in 0..n {
        let weights = direction(std::slice::from_ref(&given), 1 + k).pop();
        let bars = weights.map(|weights| g.vjp(args, weights)).transpose()?;
        back.extend(bars.map(|(_, bars)| flat(&bars)).unwrap_or_default());
        let slopes_of = on_duals.gradient(&seed_duals(args, k))?;
        dual.extend(slopes_of.iter().flat_map(|d| numbers::parts(d)[1].clone()));
        let row = reference.get(k * n..(k + 1) * n).unwrap_or(&[]);
        let fits = |slopes: &[DifferenceEstimate]| {
            slopes[1..].iter().zip(row).all(|(slope, h)| settings.close(slope.value, *h))
        };
        for slope in estimate_derivatives(&mut g, args, k, settings, fits)?.into_iter().skip(1) {
            difference.push(slope.value);
            by_differences.push(settings.with_error_of(&slope));
        }
    }
    let engines = vec![
        ("forward over reverse", value, reference),
        ("forward over reverse, not optimized", value, plain),
        ("reverse over reverse", value, back),
        ("dual over reverse", value, dual),
        (DIFFERENCE, value, difference),
    ];
    let exact = settings.for_exact_engines::<T>();
    let allowed = |engine: &str, k: Option<usize>| match k {
        Some(k) if engine == DIFFERENCE => by_differences.get(k).copied().unwrap_or(settings),
        _ => exact,
    };
    let pairs =
        numbers.iter().flat_map(|a| numbers.iter().map(move |b| format!("{a} {b}"))).collect();
    Ok(Report::compared(pairs, engines, reentrant, allowed))
}

const DIFFERENCE: &str = "difference of reverse";
