//! The verb `diff`: the value and the derivatives of a program at a point, or the program that
//! computes them.

pub(crate) mod at;

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use ketgrad_core::{
    array::indices_text,
    emit::{emit_dot, emit_latex, emit_rust},
    errors::Errors,
    exec::{Datum, Derivatives, DeriveError, Limits},
    ir::{Kind, Program},
    pass::Level,
    qasm::{Label, Severity, SourceText},
    text,
};
use ketgrad_plugin_host::Plugins;
use num_complex::Complex;
use serde_json::{Map, Value};

use crate::{
    args::Precision,
    files::read_text,
    memory::{self, Needs},
    npy::Number,
    options::{Common, Diff, Emit, Source},
    report::{Failure, Remark, Status},
    terminal::{Answer, Terminal},
};

/// The longest label of a place where a number is not finite: arrays may be long.
const MOST: usize = 100;

/// Longest time that the derivatives of a program may have taken if they are run once more, as
/// they are written, to find such a place.
const SHORT: Duration = Duration::from_millis(500);

/// The bytes of a number under its name on the way to text, about.
const NAMED: u128 = 200;

/// The result: the members of the JSON object, in order, and the text for people.
struct Derived {
    json: Option<Map<String, Value>>,
    text: String,
}

impl Answer for Derived {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.json {
            Some(object) => {
                serde_json::to_writer(&mut *out, object)?;
                writeln!(out)
            }
            None => out.write_all(self.text.as_bytes()),
        }
    }
}

/// Runs `diff`.
///
/// # Errors
/// [`Failure`] if the program, the point or the function is at fault.
pub fn diff(args: &Diff, common: &Common, terminal: &Terminal) -> Result<Box<dyn Answer>, Failure> {
    match common.precision {
        Precision::F64 => differentiate::<f64>(args, common, terminal),
        Precision::F32 => differentiate::<f32>(args, common, terminal),
    }
}

fn differentiate<T: Number>(
    args: &Diff,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let (name, source) = read(&args.source)?;
    let start = Instant::now();
    let plugins = common.plugins.load(terminal)?;
    let (program, entry) = parse(&name, &source, args.function.as_deref(), &plugins)?;
    let host = plugins.host();
    let limits = Limits::new()
        .with_steps(common.max_steps)
        .with_work(common.max_steps.saturating_mul(1000))
        .with_memory(memory::program(common));
    let in_words = |e: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {e}"));
    let failed = |e: DeriveError| failed(&name, &source, &e, &plugins);
    let mut f = Derivatives::<Complex<T>>::new(&program, &entry)
        .map_err(failed)?
        .with_host(&*host)
        .with_limits(limits)
        .with_level(args.level);
    if let Some(emit) = args.emit {
        let text = match emit {
            Emit::Ir => f.ir(),
            Emit::Adjoint => {
                let mut texts = f.adjoint().map_err(failed)?;
                if args.order == 2 {
                    let (program, [_, along]) = f.second_derivative().map_err(failed)?;
                    texts.push(program.print(along));
                }
                texts.join("\n")
            }
            Emit::Rust | Emit::Latex | Emit::Dot => {
                let (program, derivatives) = if args.order == 2 {
                    let (program, both) = f.second_derivative().map_err(failed)?;
                    (program, both.to_vec())
                } else {
                    let (program, one) = f.derivative().map_err(failed)?;
                    (program, vec![one])
                };
                let all: Vec<_> =
                    std::iter::once(f.function()).chain(derivatives.iter().copied()).collect();
                match (emit, derivatives.last()) {
                    (Emit::Dot, Some(last)) => emit_dot(&program, *last),
                    (Emit::Rust, _) => emit_rust(&program, &all).map_err(|e| in_words(&e))?,
                    _ => {
                        let texts: Result<Vec<String>, _> =
                            all.iter().map(|id| emit_latex(&program, *id)).collect();
                        texts.map_err(|e| in_words(&e))?.join("\n")
                    }
                }
            }
        };
        return Ok(answer(common, start, text.clone(), [("text", Value::from(text))]));
    }

    let mut params = program.functions[f.function()].params.clone();
    let mut point = at::arguments::<T>(&params, &args.point)?;
    if !args.by.is_empty() {
        let unknown = args.by.iter().find(|name| params.iter().all(|p| p.name != **name));
        if let Some(name) = unknown {
            let failure = Failure::input(format_args!("--by: `{entry}` has no parameter `{name}`"));
            return Err(failure.nearest(name, params.iter().map(|p| p.name.as_str())));
        }
        let given = params.into_iter().zip(point);
        let (by, constants): (Vec<_>, Vec<_>) = given.partition(|(p, _)| args.by.contains(&p.name));
        for (param, value) in constants {
            f = f.with_constant(&param.name, value).map_err(failed)?;
        }
        (params, point) = by.into_iter().unzip();
    }
    let mut numbers = Numbers::default();
    let result = f.program().functions[f.function()].result.clone();
    if result != Kind::Real && args.memory_budget.is_some() {
        let what = "--memory-budget is for a function that gives one real number";
        return Err(in_words(&format_args!("{what}, but `{entry}` gives {result}")));
    }
    if result != Kind::Real && result.tangent().is_some() {
        if args.order == 2 {
            let what = "second derivatives are of a function that gives one real number";
            return Err(in_words(&format_args!("{what}, but `{entry}` gives {result}")));
        }
        let [mut rows, mut columns] = [const { Vec::new() }; 2];
        let y = differentiable(f.value(&point).map_err(failed)?);
        y.iter().for_each(|y| leaves(&entry, &result, y, &mut rows));
        let tangents = params.iter().zip(&point).filter_map(|(p, x)| Some((p, x.zero_tangent()?)));
        tangents.for_each(|(p, x)| leaves(&p.name, &p.kind, &x, &mut columns));
        let names = [&rows, &columns].map(|list| parts(list));
        let mut needs = Needs::default();
        needs.add(
            "its numbers and their names",
            names[0].len() as u128 * names[1].len() as u128 * NAMED,
        );
        needs.check("the Jacobian", common.memory_limit)?;
        let matrix = f.jacobian(&point).map_err(failed)?;
        let value = rows.iter().map(|(name, x)| (name.clone(), numbers.leaf(x, name)));
        let value = Value::Object(value.collect());
        let object = [
            ("value", value),
            (
                "jacobian",
                named(matrix, &names[0], &names[1], ["derivative of", "by"], &mut numbers),
            ),
        ];
        let short = start.elapsed() < SHORT;
        let refused = |e| if short { located(e, &f, &point, 1, (&name, &source)) } else { e };
        numbers.report(common, terminal).map_err(refused)?;
        let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
        return Ok(answer(common, start, text, object));
    }
    let ((value, gradient), mut whole, kept) = match args.memory_budget {
        Some(bytes) => {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let mut f = f.with_memory(bytes).map_err(failed)?;
            let found = f.value_and_gradient(&point).map_err(failed)?;
            (found, None, Some([("memory", f.memory()), ("repeated_rounds", f.repeated())]))
        }
        None => (f.value_and_gradient(&point).map_err(failed)?, Some(f), None),
    };
    let mut object = vec![("value", numbers.real(value, "the value"))];
    let tangents = params.iter().filter(|p| p.kind.tangent().is_some());
    let mut entries = Vec::new();
    for (param, derivative) in tangents.zip(&gradient) {
        leaves(&param.name, &param.kind, derivative, &mut entries);
    }
    let list: Map<String, Value> = entries
        .iter()
        .map(|(name, d)| (name.clone(), numbers.leaf(d, &format!("the derivative by {name}"))))
        .collect();
    object.push(("gradient", Value::Object(list)));
    object.extend(kept.into_iter().flatten().map(|(key, n)| (key, Value::from(n))));
    if let (2, Some(f)) = (args.order, &mut whole) {
        let names = parts(&entries);
        let mut needs = Needs::default();
        needs.add("its numbers and their names", (names.len() as u128).pow(2) * NAMED);
        needs.check("the Hessian", common.memory_limit)?;
        let rows = f.hessian(&point).map_err(failed)?;
        object.push((
            "hessian",
            named(rows, &names, &names, ["second derivative by", "and"], &mut numbers),
        ));
    }
    numbers.report(common, terminal).map_err(|e| match &whole {
        Some(f) if start.elapsed() < SHORT => {
            located(e, f, &point, args.order.into(), (&name, &source))
        }
        _ => e,
    })?;
    let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
    Ok(answer(common, start, text, object))
}

/// Returns a refusal of numbers that are not finite, with the place where the first of them is
/// made.
fn located<T: Number>(
    failure: Failure,
    f: &Derivatives<'_, Complex<T>>,
    point: &[Datum<Complex<T>>],
    order: usize,
    (name, source): (&str, &str),
) -> Failure {
    let found = (0..=order).find_map(|order| Some((order, f.origin_of_nan(point, order).ok()??)));
    let Some((order, found)) = found else { return failure };
    let operands: Vec<String> = found.operands.iter().map(|(_, value)| value.to_string()).collect();
    let of = ["", "in the derivative, ", "in the second derivative, "][order.min(2)];
    let what = format!("{of}`{}` of {} is {}", found.op, operands.join(" and "), found.result);
    let short = if what.chars().count() <= MOST { what } else { format!("{of}`{}`", found.op) };
    match text::token_at(source, found.at) {
        Some(span) => failure.with_label(name, source, span, &short),
        None => failure,
    }
}

/// Returns a program's text, and the name to call it by.
pub(crate) fn read(source: &Source) -> Result<(String, String), Failure> {
    match source {
        Source::Text(text) => Ok(("-e".to_owned(), text.clone())),
        Source::File(file) => read_text(file),
    }
}

/// Returns the program, and the name of the function asked for, which is its last one if none is.
pub(crate) fn parse(
    name: &str,
    source: &str,
    function: Option<&str>,
    plugins: &Plugins,
) -> Result<(Program, String), Failure> {
    let program = text::parse_program_with(source, plugins.rules());
    let program = program.map_err(|errors| faulty(name, source, errors))?;
    let entry = function.or_else(|| text::entry(&program, plugins.rules())).map(str::to_owned);
    let entry = entry.ok_or_else(|| Failure::input(format_args!("{name} has no function")))?;
    Ok((program, entry))
}

/// Returns the answer: the members of the object with the time they took, or the text for people.
pub(crate) fn answer(
    common: &Common,
    start: Instant,
    text: String,
    object: impl IntoIterator<Item = (&'static str, Value)>,
) -> Box<dyn Answer> {
    let seconds = ("seconds", Value::from(start.elapsed().as_secs_f64()));
    let json = common.json.then(|| {
        object.into_iter().chain([seconds]).map(|(key, value)| (key.to_owned(), value)).collect()
    });
    Box::new(Derived { json, text })
}

/// Returns a matrix of derivatives, row by row, under the names of its rows and columns.
fn named<T: Number>(
    matrix: Vec<Vec<T>>,
    rows: &[String],
    columns: &[String],
    [what, and]: [&str; 2],
    numbers: &mut Numbers,
) -> Value {
    let row = |(row_name, row): (&String, Vec<T>)| {
        let number = |(name, x): (&String, T)| {
            (name.clone(), numbers.real(x, &format!("the {what} {row_name} {and} {name}")))
        };
        (row_name.clone(), Value::Object(columns.iter().zip(row).map(number).collect()))
    };
    Value::Object(rows.iter().zip(matrix).map(row).collect())
}

/// Returns the names of real numbers: a complex one is two.
fn parts<T>(leaves: &[(String, Leaf<T>)]) -> Vec<String> {
    let names = leaves.iter().flat_map(|(name, leaf)| match leaf {
        Leaf::Real(_) => vec![name.clone()],
        Leaf::Complex(_) => vec![format!("{name}.re"), format!("{name}.im")],
    });
    names.collect()
}

/// Returns the part of a value that has derivatives.
fn differentiable<T: Number>(value: Datum<Complex<T>>) -> Option<Datum<Complex<T>>> {
    match value {
        Datum::Tuple(fields) => {
            Some(Datum::Tuple(fields.into_iter().filter_map(differentiable).collect()))
        }
        other => other.zero_tangent().map(|_| other),
    }
}

/// A number of a gradient.
enum Leaf<T> {
    Real(T),
    Complex(Complex<T>),
}

/// Collects the numbers of a derivative under their names: `a`, `xs[0]`, `m[0,1]`, `p.x`, `t.0`.
fn leaves<T: Number>(
    name: &str,
    kind: &Kind,
    d: &Datum<Complex<T>>,
    out: &mut Vec<(String, Leaf<T>)>,
) {
    match (d, kind) {
        (Datum::Real(x), _) => out.push((name.to_owned(), Leaf::Real(*x))),
        (Datum::Complex(z), _) => out.push((name.to_owned(), Leaf::Complex(*z))),
        (Datum::Reals(xs), _) => {
            let at = |i: usize| format!("{name}[{}]", indices_text(&xs.shape(), i));
            out.extend(xs.iter().enumerate().map(|(i, x)| (at(i), Leaf::Real(*x))));
        }
        (Datum::Complexes(zs), _) => {
            let at = |i: usize| format!("{name}[{}]", indices_text(&zs.shape(), i));
            out.extend(zs.iter().enumerate().map(|(i, z)| (at(i), Leaf::Complex(*z))));
        }
        (Datum::Tuple(ds), Kind::Tuple(tuple)) => {
            // A derivative holds the fields that have one.
            let fields =
                tuple.fields.iter().enumerate().filter(|(_, f)| f.kind.tangent().is_some());
            for ((i, field), d) in fields.zip(ds) {
                let part = field.name.clone().unwrap_or_else(|| i.to_string());
                leaves(&format!("{name}.{part}"), &field.kind, d, out);
            }
        }
        _ => {}
    }
}

/// Turns numbers into JSON and remembers the first that has none.
#[derive(Default)]
pub(crate) struct Numbers {
    nonfinite: Option<String>,
}

impl Numbers {
    /// Refuses numbers that are not finite, or notes that null replaces them.
    pub(crate) fn report(&self, common: &Common, terminal: &Terminal) -> Result<(), Failure> {
        match &self.nonfinite {
            Some(what) if !common.allow_nonfinite => {
                Err(Failure::input(what).help("--allow-nonfinite prints null instead"))
            }
            Some(what) => {
                terminal.note(&format!("note: {what}; null stands for it"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns a number, or null if it has no text in JSON.
    pub(crate) fn real<T: Number>(&mut self, x: T, what: &str) -> Value {
        if !x.finite() {
            self.nonfinite.get_or_insert_with(|| format!("{what} is {x:?}"));
            return Value::Null;
        }
        serde_json::to_value(x).unwrap_or(Value::Null)
    }

    fn leaf<T: Number>(&mut self, leaf: &Leaf<T>, what: &str) -> Value {
        match leaf {
            Leaf::Real(x) => self.real(*x, what),
            Leaf::Complex(z) => Value::Array(vec![self.real(z.re, what), self.real(z.im, what)]),
        }
    }
}

/// Formats `value  0.2`, and one line for each member of an object.
pub(crate) fn in_text(key: &str, value: &Value) -> String {
    let Value::Object(members) = value else { return format!("{key}  {value}\n") };
    let width = members.keys().map(|k| k.chars().count()).max().unwrap_or(0);
    let mut out = format!("{key}\n");
    for (name, member) in members {
        let member = match member {
            Value::Object(row) => row.values().map(Value::to_string).collect::<Vec<_>>().join("  "),
            one => one.to_string(),
        };
        out.push_str(&format!("  {name:width$}  {member}\n"));
    }
    out
}

/// Returns the errors of a program text, underlined.
pub(crate) fn faulty(name: &str, source: &str, errors: Errors<text::TextError>) -> Failure {
    let remarks = errors.into_iter().map(|e| Remark {
        severity: Severity::Error,
        message: e.kind.to_string(),
        help: None,
        labels: vec![Label { source: 0, span: e.start..e.end, text: String::new() }],
    });
    Failure {
        status: Status::Input,
        remarks: remarks.collect(),
        sources: vec![SourceText { name: name.to_owned(), text: source.to_owned() }],
    }
}

/// Returns the failure of a program that was read, underlined where it arose.
pub(crate) fn failed(name: &str, source: &str, error: &DeriveError, plugins: &Plugins) -> Failure {
    let message = plugins.missing_derivative(error).unwrap_or_else(|| error.to_string());
    let at = error.position();
    // The picture says the place.
    let what = at.and_then(|at| message.strip_prefix(&format!("{at}: "))).unwrap_or(&message);
    match at.and_then(|at| text::token_at(source, at)) {
        Some(span) => Failure::input(what).with_label(name, source, span, ""),
        None => Failure::input(format_args!("{name}: {what}")),
    }
}

/// Returns the level of optimization that the options ask for.
#[must_use]
pub fn level(no_optimize: bool, algebraic: bool) -> Level {
    match (no_optimize, algebraic) {
        (true, _) => Level::None,
        (false, true) => Level::Algebraic,
        (false, false) => Level::Strict,
    }
}
