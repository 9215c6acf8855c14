//! Programs of the program language: run by every engine, beside an interpreter of their syntax
//! tree on dual numbers.

mod draw;
mod interpret;

use ketgrad_core::{
    check::{Settings, gradcheck},
    emit::{EmitError, emit_text},
    exec::{
        Datum, Derivatives, Limits, NoHost,
        inspect::{Inspection, OpCounter},
    },
    pass::Level,
    rules::Rules,
    text::{entry, parse_program},
};
use num_complex::Complex;
use support::random::Rng;

use crate::finding::{Checked, Finding, guarded, minimal};
pub(crate) use draw::{Drawn, Stmt};
pub(crate) use interpret::{Outcome, Value};

type D = Datum<Complex<f64>>;

/// Numbers of two engines are the same up to this, relative to numbers above 1: a few roundings for
/// each statement.
const ROUNDING: f64 = 1e-9;

/// Limits of a run.
pub(crate) const LIMITS: Limits = Limits::new()
    .with_steps(2_000_000)
    .with_work(1 << 32)
    .with_depth(200)
    .with_array(100_000)
    .with_memory(1 << 28);

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let drawn = Drawn::draw(&mut rng);
    let choice = rng.bits();
    let of = |stmts: &[Stmt]| {
        let drawn = Drawn { body: stmts.to_vec(), ..drawn.clone() };
        guarded(&drawn, || laws(&drawn, choice))
    };
    let found = match of(&drawn.body) {
        Ok(()) => return Ok(()),
        Err(found) => found,
    };
    Err(minimal(&drawn.body, found, 200, of))
}

/// The arguments of the entry.
pub(crate) fn arguments(drawn: &Drawn) -> Vec<D> {
    let datum = |value: &Value| match value {
        Value::Real(x) => Datum::Real(x.re),
        Value::Int(n) => Datum::Int(*n),
        Value::Array(xs) => Datum::reals(xs.iter().map(|x| x.re)),
        Value::Poison => Datum::Bool(false),
    };
    drawn.args.iter().map(datum).collect()
}

fn numbers(datum: &D) -> Vec<f64> {
    match datum {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.items().to_vec(),
        Datum::Tuple(parts) => parts.iter().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let same = |(x, y): (&f64, &f64)| {
        (x - y).abs() <= tolerance * x.abs().max(1.0) || x == y || x.is_nan() && y.is_nan()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn laws(drawn: &Drawn, choice: u64) -> Checked {
    let source = drawn.to_string();
    let failed = |law: &str, detail: String| Finding::new(law, detail, drawn);
    let program = match parse_program(&source) {
        Ok(program) => program,
        Err(errors) => {
            // Pieces of a program may have no meaning; whole ones have.
            let error = errors.first().map(ToString::to_string).unwrap_or_default();
            let shapes = errors.iter().any(|e| is_of_shapes(&e.to_string()));
            let law = format!("programs are read: {}", wordy(&error));
            return if shapes { Ok(()) } else { Err(failed(&law, error)) };
        }
    };
    let args = arguments(drawn);
    let right = interpret::run(drawn, None);
    let derivatives =
        || Derivatives::<Complex<f64>>::new(&program, "f").map(|d| d.with_limits(LIMITS));
    let mut outcomes: Vec<(String, Result<Vec<f64>, String>)> = Vec::new();
    for level in [Level::None, Level::Strict, Level::Algebraic] {
        let value = derivatives().and_then(|d| d.with_level(level).value(&args));
        outcomes.push((
            format!("at level {level:?}"),
            value.map(|v| numbers(&v)).map_err(|e| e.to_string()),
        ));
    }
    let real: Vec<Datum<f64>> = drawn
        .args
        .iter()
        .map(|v| match v {
            Value::Real(x) => Datum::Real(x.re),
            Value::Int(n) => Datum::Int(*n),
            Value::Array(xs) => Datum::reals(xs.iter().map(|x| x.re)),
            Value::Poison => Datum::Bool(false),
        })
        .collect();
    let on_reals =
        Derivatives::<f64>::new(&program, "f").and_then(|d| d.with_limits(LIMITS).value(&real));
    let real_numbers = |d: &Datum<f64>| match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.items().to_vec(),
        _ => Vec::new(),
    };
    outcomes
        .push(("on reals".into(), on_reals.map(|v| real_numbers(&v)).map_err(|e| e.to_string())));
    if let Ok(inspection) = Inspection::<Complex<f64>>::new(&program, "f") {
        let value = inspection.with_limits(LIMITS).run(&args, &mut OpCounter::default());
        outcomes.push(("inspected".into(), value.map(|v| numbers(&v)).map_err(|e| e.to_string())));
    }
    for (way, outcome) in &outcomes {
        match (&right, outcome) {
            (Outcome::Stopped, _) => return Ok(()),
            (Outcome::Value(v), Ok(given)) if close(given, &v.primal(), ROUNDING) => {}
            (Outcome::Failed, Err(_)) => {}
            // `xs[n] - xs[n]` is 0 there, whatever n is.
            (Outcome::Failed, Ok(_)) if way.contains("Algebraic") => {}
            (Outcome::Unclear, outcome) if outcome.is_err() || !is_whole(way) => {}
            // An unused instruction may be removed, and its failure with it.
            (Outcome::Dead(_), Err(_)) => {}
            (Outcome::Dead(v), Ok(given))
                if !is_whole(way) && close(given, &v.primal(), ROUNDING) => {}
            // The algebraic level may change what is not finite on the way, and what that decides,
            // and signs of zeros.
            (Outcome::Value(v) | Outcome::Dead(v), _)
                if way.contains("Algebraic") && !(v.is_finite() && v.is_smooth()) => {}
            _ => {
                let detail = format!("{way}: {outcome:?} instead of {right:?} at {args:?}");
                return Err(failed(&format!("values are right {way}"), detail));
            }
        }
    }
    // Of several failures another may be seen first, since slices are read where they are used.
    let whole = outcomes.iter().filter(|(way, _)| is_whole(way));
    let errors: Vec<&String> = whole.filter_map(|(_, o)| o.as_ref().err()).collect();
    let place = |error: &str| error.split(' ').next().map(str::to_owned);
    if let [first, rest @ ..] = &errors[..]
        && let Some(other) = rest.iter().find(|e| *e != first && place(e) == place(first))
    {
        return Err(failed(
            "errors at one place are the same in all ways",
            format!("{first}\n{other}"),
        ));
    }
    let Outcome::Value(value) = &right else { return Ok(()) };
    emitted(drawn, &program, &args, &value.primal())?;
    if value.is_finite() {
        slopes(drawn, &program, &args, choice)?;
    }
    Ok(())
}

/// True if a message is of arrays that do not fit.
fn is_of_shapes(message: &str) -> bool {
    message.contains("shape") || message.contains("axis")
}

/// True if a method runs all instructions, also unused ones.
fn is_whole(way: &str) -> bool {
    way.contains("None") || way == "inspected"
}

/// A message without places, names and numbers.
fn wordy(message: &str) -> String {
    let quoted = message.split('`').step_by(2).collect::<Vec<_>>().join("_");
    quoted.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The program as text again, and its gradient.
fn emitted(
    drawn: &Drawn,
    program: &ketgrad_core::ir::Program,
    args: &[D],
    right: &[f64],
) -> Checked {
    let failed = |law: &str, detail: String| Finding::new(law, detail, drawn);
    let Some(f) = program.lookup("f") else { return Ok(()) };
    let run = |source: &str, name: Option<&str>| {
        let again = parse_program(source)
            .map_err(|e| e.first().map(ToString::to_string).unwrap_or_default())?;
        let name = name.or_else(|| entry(&again, &Rules::new())).unwrap_or_default();
        let value = Derivatives::<Complex<f64>>::new(&again, name)
            .and_then(|d| d.with_limits(LIMITS).value(args))
            .map_err(|e| e.to_string())?;
        Ok::<_, String>(numbers(&value))
    };
    match emit_text(program, f) {
        Ok(source) => match run(&source, Some("f")) {
            Ok(given) if close(&given, right, ROUNDING) => {}
            // What does not fit may show in the text alone, where constants are folded.
            Err(error) if is_of_shapes(&error) => {}
            other => {
                let detail = format!("{other:?} instead of {right:?}\n{source}");
                return Err(failed("emitted text has the value", detail));
            }
        },
        Err(EmitError::Unspeakable { .. } | EmitError::TooDeep { .. }) => {}
        Err(error) => return Err(failed("programs are emitted", error.to_string())),
    }
    let derived = Derivatives::<Complex<f64>>::new(program, "f").and_then(|d| d.derivative());
    let Ok((derived, g)) = derived else { return Ok(()) };
    let at_level = |level| -> Option<Vec<f64>> {
        let mut d = Derivatives::<Complex<f64>>::new(program, "f")
            .ok()?
            .with_limits(LIMITS)
            .with_level(level);
        let (y, gradient) = d.value_and_gradient(args).ok()?;
        Some(std::iter::once(y).chain(gradient.iter().flat_map(numbers)).collect())
    };
    if let (Ok(source), Some(expected)) = (emit_text(&derived, g), at_level(Level::Strict)) {
        // What a text does not fold may have slopes of 0 times infinity that the passes leave out.
        let as_written =
            |given: &[f64]| at_level(Level::None).is_some_and(|y| close(given, &y, 1e-7));
        // The function comes last.
        match run(&source, None) {
            Ok(given) if close(&given, &expected, 1e-7) || as_written(&given) => {}
            Ok(given)
                if !expected[0].is_finite()
                    && close(given.get(..1).unwrap_or_default(), &expected[..1], 1e-7) => {}
            other => {
                let detail = format!("{other:?} instead of {expected:?} at {args:?}\n{source}");
                return Err(failed("the emitted gradient has the value", detail));
            }
        }
    }
    Ok(())
}

/// Every engine beside duals of the interpreter.
fn slopes(drawn: &Drawn, program: &ketgrad_core::ir::Program, args: &[D], choice: u64) -> Checked {
    let failed = |law: &str, detail: String| Finding::new(law, detail, drawn);
    let places = interpret::places(drawn);
    let (mut undefined, mut edge) = (false, false);
    let right: Option<Vec<f64>> = places
        .iter()
        .map(|place| {
            let (outcome, seen) = interpret::run_and_see(drawn, Some(*place));
            undefined |= seen.undefined;
            edge |= seen.edge;
            match outcome {
                Outcome::Value(Value::Real(y)) if y.is_known_up_to(1e-9) && y.d.abs() < 1e9 => {
                    Some(y.d)
                }
                _ => None,
            }
        })
        .collect();
    let Some(right) = right else { return Ok(()) };
    let is_right = |given: &[f64], tolerance: f64| {
        let defined = |(x, y): (&f64, &f64)| if undefined && x.is_nan() { *y } else { *x };
        given.len() == right.len()
            && close(&given.iter().zip(&right).map(defined).collect::<Vec<_>>(), &right, tolerance)
    };
    let gradient = Derivatives::<Complex<f64>>::new(program, "f")
        .and_then(|d| d.with_limits(LIMITS).value_and_gradient(args));
    let gradient = match gradient {
        Ok((_, bars)) => bars.iter().flat_map(numbers).collect::<Vec<f64>>(),
        Err(error) => return Err(failed("gradients exist", error.to_string())),
    };
    if !is_right(&gradient, 1e-8) {
        let detail = format!("{gradient:?} instead of {right:?} at {args:?}");
        return Err(failed("gradients are right", detail));
    }
    let settings = Settings::default().with_limits(LIMITS);
    match gradcheck(program, "f", args, &NoHost, settings) {
        Ok(report) => {
            // Differences are no judge at a kink; the others agree with the interpreter.
            let exact = report.engines.iter().filter(|e| e.name != "difference");
            for engine in exact {
                if !is_right(&engine.gradient, 1e-7) {
                    let detail = format!(
                        "{}: {:?} instead of {right:?} at {args:?}",
                        engine.name, engine.gradient
                    );
                    return Err(failed(&format!("gradients are right ({})", engine.name), detail));
                }
            }
            if !report.reentrant {
                return Err(failed("a gradient asked for twice is the same", report.to_string()));
            }
        }
        // Differences need values beside the point.
        Err(_) if beside(drawn, &places).any(|outcome| !matches!(outcome, Outcome::Value(_))) => {}
        Err(error) => return Err(failed("gradients are checked", error.to_string())),
    }
    // Differences see what is under `detach`, and the mean slope of steps.
    let unfit = ["detach", "rem(", "floor("];
    let source = drawn.to_string();
    if edge || unfit.iter().any(|word| source.contains(word)) {
        return Ok(());
    }
    second(drawn, program, args, choice)
}

/// Results of a step to both sides of each number.
fn beside<'a>(
    drawn: &'a Drawn,
    places: &'a [interpret::Place],
) -> impl Iterator<Item = Outcome> + 'a {
    places.iter().flat_map(|&(k, i)| [1e-9, -1e-9].map(|h| (k, i, h))).map(|(k, i, h)| {
        let mut drawn = drawn.clone();
        match &mut drawn.args[k] {
            Value::Real(x) => x.re += h,
            Value::Array(xs) => xs[i].re += h,
            Value::Int(_) | Value::Poison => {}
        }
        interpret::run(&drawn, None)
    })
}

/// The Hessian along a direction beside differences of gradients.
fn second(drawn: &Drawn, program: &ketgrad_core::ir::Program, args: &[D], choice: u64) -> Checked {
    let mut rng = Rng::new(choice);
    let dots: Vec<D> = args
        .iter()
        .filter_map(|a| match a {
            Datum::Real(_) => Some(Datum::Real(rng.signed())),
            Datum::Reals(xs) => Some(Datum::reals(xs.items().iter().map(|_| rng.signed()))),
            _ => None,
        })
        .collect();
    let derivatives =
        || Derivatives::<Complex<f64>>::new(program, "f").map(|d| d.with_limits(LIMITS));
    let Ok((_, product)) = derivatives().and_then(|mut d| d.hvp(args, &dots)) else {
        return Ok(());
    };
    let given: Vec<f64> = product.iter().flat_map(numbers).collect();
    let at = |h: f64| {
        let mut dots = dots.iter();
        let moved: Vec<D> = args
            .iter()
            .map(|a| match (a, a.zero_tangent().and_then(|_| dots.next())) {
                (Datum::Real(x), Some(Datum::Real(v))) => Datum::Real(x + h * v),
                (Datum::Reals(xs), Some(Datum::Reals(vs))) => {
                    Datum::reals(xs.items().iter().zip(vs.items()).map(|(x, v)| x + h * v))
                }
                _ => a.clone(),
            })
            .collect();
        let bars = derivatives().and_then(|mut d| d.gradient(&moved)).ok()?;
        Some(bars.iter().flat_map(numbers).collect::<Vec<f64>>())
    };
    let slope = |from: f64, to: f64| {
        let (up, down) = (at(to)?, at(from)?);
        Some(up.iter().zip(&down).map(|(u, d)| (u - d) / (to - from)).collect::<Vec<f64>>())
    };
    let (Some(coarse), Some(fine)) = (slope(-2e-4, 2e-4), slope(-1e-4, 1e-4)) else {
        return Ok(());
    };
    let (Some(left), Some(right)) = (slope(-1e-4, 0.0), slope(0.0, 1e-4)) else { return Ok(()) };
    // Where two steps or two sides disagree there is a kink or a pole near.
    let smooth = close(&coarse, &fine, 1e-5)
        && close(&left, &right, 1e-2)
        && fine.iter().all(|x| x.is_finite());
    if smooth && !close(&given, &fine, 1e-3) {
        let detail = format!("{given:?} instead of {fine:?} along {dots:?} at {args:?}");
        return Err(Finding::new("Hessian-vector products are right", detail, drawn));
    }
    Ok(())
}
