//! The verb `diff`: the value and the derivatives of a program at a point, or the program that
//! computes them.

use std::time::{Duration, Instant};

use ketgrad_core::{
    array::indices_text,
    emit::{emit_dot, emit_latex, emit_rust},
    exec::{Datum, Derivatives, DeriveError},
    ir::{Kind, Param},
    text,
};
use ketgrad_plugin_host::Plugins;
use num_complex::Complex;
use serde_json::{Map, Value};

use crate::{
    answer::{Numbers, answer, in_text},
    memory::{self, Needs},
    npy::Number,
    options::{Common, Diff, Emit, Precision},
    point::arguments,
    program::{self, failed, limits},
    report::Failure,
    terminal::{Answer, Terminal},
};

/// The longest label of a place where a number is not finite: arrays may be long.
const MOST: usize = 100;

/// Longest time that the derivatives of a program may have taken if they are run once more, as
/// they are written, to find such a place.
const SHORT: Duration = Duration::from_millis(500);

/// The bytes of a number under its name on the way to text, about.
const NAMED: u128 = 200;

/// Runs `diff`.
///
/// # Errors
/// [`Failure`] if the program, the point or the function is at fault.
pub(crate) fn diff(
    args: &Diff,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let emit = args.settle()?;
    match common.precision() {
        Precision::F64 => differentiate::<f64>(args, emit, common, terminal),
        Precision::F32 => differentiate::<f32>(args, emit, common, terminal),
    }
}

fn differentiate<T: Number>(
    args: &Diff,
    emit: Option<Emit>,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let (name, source) = program::read(args.source.as_deref(), args.file.as_deref())?;
    let start = Instant::now();
    let plugins = common.plugins.load(terminal)?;
    let (program, entry) = program::parse(&name, &source, args.function.as_deref(), &plugins)?;
    let host = plugins.host();
    let limits = limits(common, memory::program(common.memory_limit));
    let task = DiffTask {
        args,
        common,
        terminal,
        start,
        name: &name,
        source: &source,
        entry: &entry,
        plugins: &plugins,
    };
    let f = Derivatives::<Complex<T>>::new(&program, &entry)
        .map_err(|e| task.failed(e))?
        .with_host(&*host)
        .with_limits(limits)
        .with_level(args.level());
    if let Some(emit) = emit {
        let text = task.emitted(&f, emit)?;
        return Ok(answer(common, start, text.clone(), [("text", Value::from(text))]));
    }

    let at = task.at_point(f)?;
    let result = at.f.program().functions[at.f.function()].result.clone();
    if result != Kind::Real && args.memory_budget.is_some() {
        let what = "--memory-budget is for a function that gives one real number";
        return Err(task.in_words(&format_args!("{what}, but `{entry}` gives {result}")));
    }
    if result != Kind::Real && result.tangent().is_some() {
        return task.jacobian(at, &result);
    }
    task.gradient(at)
}

/// A function to be differentiated, at a point.
struct FunctionAtPoint<'h, T: Number> {
    f: Derivatives<'h, Complex<T>>,
    /// The parameters that it is differentiated by; the others are constants.
    params: Vec<Param>,
    /// The values of the parameters.
    point: Vec<Datum<Complex<T>>>,
}

/// What was asked for, of which program.
struct DiffTask<'a> {
    args: &'a Diff,
    common: &'a Common,
    terminal: &'a Terminal,
    start: Instant,
    /// The name of the program.
    name: &'a str,
    /// The text of the program.
    source: &'a str,
    /// The name of the function.
    entry: &'a str,
    plugins: &'a Plugins,
}

impl DiffTask<'_> {
    /// Returns a failure of the program as a whole.
    fn in_words(&self, e: &dyn std::fmt::Display) -> Failure {
        let name = self.name;
        Failure::input(format_args!("{name}: {e}"))
    }

    /// Returns the failure of the program, underlined where it arose.
    fn failed(&self, e: DeriveError) -> Failure {
        failed(self.name, self.source, &e, self.plugins)
    }

    /// Returns the text of the function or of its derivatives.
    fn emitted<T: Number>(
        &self,
        f: &Derivatives<'_, Complex<T>>,
        emit: Emit,
    ) -> Result<String, Failure> {
        let failed = |e: DeriveError| self.failed(e);
        let text = match emit {
            Emit::Ir => f.ir(),
            Emit::Adjoint => {
                let mut texts = f.adjoint().map_err(failed)?;
                if self.args.order == 2 {
                    let (program, [_, along]) = f.second_derivative().map_err(failed)?;
                    texts.push(program.print(along));
                }
                texts.join("\n")
            }
            Emit::Rust | Emit::Latex | Emit::Dot => {
                let (program, derivatives) = if self.args.order == 2 {
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
                    (Emit::Rust, _) => emit_rust(&program, &all).map_err(|e| self.in_words(&e))?,
                    _ => {
                        let texts: Result<Vec<String>, _> =
                            all.iter().map(|id| emit_latex(&program, *id)).collect();
                        texts.map_err(|e| self.in_words(&e))?.join("\n")
                    }
                }
            }
        };
        Ok(text)
    }

    /// Reads the point, and makes constants of the parameters that `--by` leaves out.
    fn at_point<'h, T: Number>(
        &self,
        mut f: Derivatives<'h, Complex<T>>,
    ) -> Result<FunctionAtPoint<'h, T>, Failure> {
        let (args, entry) = (self.args, self.entry);
        let mut params = f.program().functions[f.function()].params.clone();
        let mut point = arguments::<T>(&params, &args.at, args.params.as_deref())?;
        if !args.by.is_empty() {
            let unknown = args.by.iter().find(|name| params.iter().all(|p| p.name != **name));
            if let Some(name) = unknown {
                let failure =
                    Failure::input(format_args!("--by: `{entry}` has no parameter `{name}`"));
                return Err(failure.nearest(name, params.iter().map(|p| p.name.as_str())));
            }
            let given = params.into_iter().zip(point);
            let (by, constants): (Vec<_>, Vec<_>) =
                given.partition(|(p, _)| args.by.contains(&p.name));
            for (param, value) in constants {
                f = f.with_constant(&param.name, value).map_err(|e| self.failed(e))?;
            }
            (params, point) = by.into_iter().unzip();
        }
        Ok(FunctionAtPoint { f, params, point })
    }

    /// Computes the value and the Jacobian.
    fn jacobian<T: Number>(
        &self,
        at: FunctionAtPoint<'_, T>,
        result: &Kind,
    ) -> Result<Box<dyn Answer>, Failure> {
        let failed = |e: DeriveError| self.failed(e);
        let (common, entry) = (self.common, self.entry);
        let FunctionAtPoint { mut f, params, point } = at;
        let mut numbers = Numbers::default();
        if self.args.order == 2 {
            let what = "second derivatives are of a function that gives one real number";
            return Err(self.in_words(&format_args!("{what}, but `{entry}` gives {result}")));
        }
        let [mut rows, mut columns] = [const { Vec::new() }; 2];
        let y = differentiable(f.value(&point).map_err(failed)?);
        y.iter().for_each(|y| leaves(entry, result, y, &mut rows));
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
        let short = self.start.elapsed() < SHORT;
        let refused =
            |e| if short { located(e, &f, &point, 1, (self.name, self.source)) } else { e };
        numbers.report(common, self.terminal).map_err(refused)?;
        let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
        Ok(answer(common, self.start, text, object))
    }

    /// Computes the value and the gradient, and the Hessian where second derivatives are asked for.
    fn gradient<T: Number>(&self, at: FunctionAtPoint<'_, T>) -> Result<Box<dyn Answer>, Failure> {
        let failed = |e: DeriveError| self.failed(e);
        let (args, common) = (self.args, self.common);
        let FunctionAtPoint { mut f, params, point } = at;
        let mut numbers = Numbers::default();
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
        numbers.report(common, self.terminal).map_err(|e| match &whole {
            Some(f) if self.start.elapsed() < SHORT => {
                located(e, f, &point, args.order.into(), (self.name, self.source))
            }
            _ => e,
        })?;
        let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
        Ok(answer(common, self.start, text, object))
    }
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

impl Numbers {
    fn leaf<T: Number>(&mut self, leaf: &Leaf<T>, what: &str) -> Value {
        match leaf {
            Leaf::Real(x) => self.real(*x, what),
            Leaf::Complex(z) => Value::Array(vec![self.real(z.re, what), self.real(z.im, what)]),
        }
    }
}
