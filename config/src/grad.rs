//! The verb `grad`: expectation values of a circuit and their derivatives by the parameters.

use std::{fmt::Write, path::Path, time::Instant};

use ketgrad_core::{
    circuit::Circuit,
    exact::{Form, Formula},
    hybrid::{HybridError, Method},
    scalar::Uncertain,
    simulate::{Mean, Shots, final_measurements},
    state::bytes_needed,
};
use num_complex::Complex;
use num_dual::DualNum;
use serde_json::{Map, Value};

use crate::{
    answer::{Numbers, answer, in_text},
    backend::stays_there,
    expectation::{expectations_of, parametric_of},
    files::{check_writable, write_whole},
    formula,
    given::Given,
    memory::Needs,
    noise::{Unwritten, note_readings, read_noisy},
    npy::{self, Number},
    observables::{self, Parametric},
    options::{Common, Grad, Precision},
    params::Points,
    polynomial::Polynomial,
    report::Failure,
    terminal::{Answer, Terminal},
    uncertainty::{Sources, covariance},
};

/// Keys of a result with their values, in order.
type Members = Vec<(&'static str, Value)>;

/// Runs `grad`.
///
/// # Errors
/// [`Failure`] if the circuit, its parameters or an observable is at fault.
pub(crate) fn grad(
    args: &Grad,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let method = args.settle()?;
    let unwritten = if args.shots.is_some() { Unwritten::All } else { Unwritten::None };
    let (circuit, given) = read_noisy(&args.file, &args.values, unwritten, common, terminal)?;
    note_readings(&circuit, args.shots.is_some(), terminal);
    let symbolic = method == Method::Symbolic;
    let observables = observables::read_all(&args.observables, &circuit, &given, symbolic)?;
    if symbolic {
        let own = observables::own_params(&observables, &circuit);
        if !Points::read_known(&circuit, own, &given)?.is_complete(&circuit) {
            return formulas(args, common, terminal, &circuit, &given, &observables);
        }
    }
    if let Some(count) = args.shots {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        return measure(args, count, common, terminal, (circuit, observables), &given);
    }
    let args = (args, method);
    match common.precision() {
        Precision::F64 => {
            differentiate::<f64>(args, common, terminal, (circuit, observables), &given)
        }
        Precision::F32 => {
            differentiate::<f32>(args, common, terminal, (circuit, observables), &given)
        }
    }
}

/// The points, and the observables.
struct Asked<T> {
    points: Points,
    /// The values of all parameters at each point.
    values: Vec<Vec<T>>,
    names: Vec<String>,
    observables: Vec<Parametric>,
}

impl<T: Number> Asked<T> {
    fn read(
        circuit: &Circuit,
        observables: Vec<Parametric>,
        given: &Given,
    ) -> Result<Asked<T>, Failure> {
        let points =
            Points::read_with(circuit, observables::own_params(&observables, circuit), given)?;
        let values =
            (0..points.len()).map(|row| points.values(circuit, row)).collect::<Result<_, _>>()?;
        let names = points.names(circuit).into_iter().map(str::to_owned).collect();
        Ok(Asked { points, values, names, observables })
    }

    /// Writes the gradients where they are asked for: an axis for the rows of a sweep, one for
    /// several observables, one for the inputs.
    fn write<'a>(
        &self,
        output: Option<&Path>,
        gradients: impl IntoIterator<Item = &'a [T]>,
    ) -> Result<(), Failure> {
        let Some(path) = output else { return Ok(()) };
        let count = self.observables.len();
        let axes =
            [(self.points.sweep, self.points.len()), (count > 1, count), (true, self.names.len())];
        let shape: Vec<usize> = axes.iter().filter(|axis| axis.0).map(|axis| axis.1).collect();
        let numbers = gradients.into_iter().flatten().copied();
        write_whole(path, |out| npy::write_reals(numbers, &shape, out))
    }

    /// Returns the answer, from the results of each observable at each point and what belongs to a
    /// point besides.
    fn answer(
        &self,
        results: Vec<(Vec<Members>, Members)>,
        more: Members,
        (common, start): (&Common, Instant),
    ) -> Box<dyn Answer> {
        let mut rows: Vec<Members> = Vec::new();
        let mut text = String::new();
        for (row, (each, besides)) in results.into_iter().enumerate() {
            if self.observables.len() == 1 {
                rows.extend(each);
                continue;
            }
            if self.points.sweep {
                let _ = writeln!(text, "row {row}");
            }
            let named = |(observable, members): (&Parametric, Members)| {
                let members = [("observable", Value::from(observable.text.as_str()))]
                    .into_iter()
                    .chain(members);
                members.collect::<Members>()
            };
            let each: Vec<Members> = self.observables.iter().zip(each).map(named).collect();
            for (key, value) in each.iter().flatten().chain(&besides) {
                match value.as_str() {
                    Some(words) => text += &format!("{key}  {words}\n"),
                    None => text += &in_text(key, value),
                }
            }
            let list = each.into_iter().map(object).collect();
            rows.push([("expectations", Value::Array(list))].into_iter().chain(besides).collect());
        }
        let mut members = by_key(rows, self.points.sweep);
        if self.observables.len() == 1 {
            text = members.iter().map(|(key, value)| in_text(key, value)).collect();
        }
        text.extend(more.iter().map(|(key, value)| in_text(key, value)));
        members.extend(more);
        answer(common, start, text, members)
    }
}

/// Members under their names.
fn object(members: Members) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Returns the results of each point under their keys: those of the one point, or lists.
fn by_key(mut rows: Vec<Members>, sweep: bool) -> Members {
    if !sweep {
        return rows.pop().unwrap_or_default();
    }
    let keys: Vec<&str> = rows.first().into_iter().flatten().map(|member| member.0).collect();
    let column = |(k, key): (usize, &'static str)| {
        (key, Value::Array(rows.iter_mut().map(|row| row[k].1.take()).collect()))
    };
    keys.into_iter().enumerate().map(column).collect()
}

/// The value of an observable and its derivatives, with the error bars that those of the inputs
/// make.
struct Derivatives<T> {
    value: T,
    gradient: Vec<T>,
    hessian: Option<Vec<Vec<T>>>,
    errors: Option<(Uncertain, Vec<Uncertain>)>,
}

fn differentiate<T: Number + DualNum>(
    (args, method): (&Grad, Method),
    common: &Common,
    terminal: &Terminal,
    (circuit, observables): (Circuit, Vec<Parametric>),
    given: &Given,
) -> Result<Box<dyn Answer>, Failure> {
    let asked = Asked::<T>::read(&circuit, observables, given)?;
    args.output.as_deref().map_or(Ok(()), check_writable)?;
    let sources = asked.points.errors(&circuit).map(|sigmas| Sources::new(&sigmas));
    if sources.is_some() && args.hessian {
        given.refuse_errors("`grad --hessian`")?;
    }
    let duals = args.hessian || method == Method::Forward;
    if duals {
        common.note_duals("this method", terminal);
    }
    let energy =
        parametric_of::<T>(circuit, &asked.observables, args.input.as_deref(), common, terminal)?;
    let parts = energy.parts();
    let second = duals || sources.is_some();
    if second
        || asked.observables.len() > 1
        || !stays_there::<T>(parts.executors(), parts.circuit())
    {
        let needs = needs::<T>((args, method), second, asked.observables.len(), parts.circuit());
        needs.check("the derivatives", common.memory_limit)?;
    }

    let start = Instant::now();
    let of = |at: &Vec<T>| -> Result<Vec<Derivatives<T>>, HybridError> {
        let (values, rows) = energy.jacobian_by(method, at)?;
        let each = values.into_iter().zip(rows).enumerate();
        each.map(|(k, (value, gradient))| {
            let hessian = args.hessian.then(|| energy.hessian_by(k, method, at)).transpose()?;
            let errors = sources.as_ref().map(|sources| {
                let slopes = sources.of_gradient((&energy, k), method, at, &gradient)?;
                Ok::<_, HybridError>((sources.propagate(value, &gradient), slopes))
            });
            Ok(Derivatives { value, hessian, errors: errors.transpose()?, gradient })
        })
        .collect()
    };
    let all: Result<Vec<Vec<Derivatives<T>>>, HybridError> = match method {
        // The points share the threads.
        Method::Adjoint if !second && asked.observables.len() == 1 && energy.is_constant() => {
            let alone = |(value, gradient)| {
                vec![Derivatives { value, gradient, hessian: None, errors: None }]
            };
            parts.gradients(&asked.values).map(|all| all.into_iter().map(alone).collect())
        }
        _ => asked.values.iter().map(of).collect(),
    };
    let all = all.map_err(|e| asked.points.located(failure(e)))?;
    common.note_passed_over(parts.executors(), terminal);
    let mut numbers = Numbers::default();
    let results = all.iter().map(|each| {
        let members = each.iter().map(|one| one.members(&asked.names, &mut numbers)).collect();
        let values: Vec<Uncertain> =
            each.iter().filter_map(|one| Some(one.errors.as_ref()?.0.clone())).collect();
        let besides =
            (values.len() > 1).then(|| ("stderr_covariance", covariance(&values, &mut numbers)));
        (members, besides.into_iter().collect())
    });
    let results = results.collect();
    numbers.report(common, terminal)?;
    asked.write(args.output.as_deref(), all.iter().flatten().map(|one| &*one.gradient))?;
    Ok(asked.answer(results, vec![("method", method.name().into())], (common, start)))
}

impl<T: Number> Derivatives<T> {
    fn members(&self, names: &[String], numbers: &mut Numbers) -> Members {
        let mut members = vec![("value", numbers.real(self.value, "the expectation value"))];
        let gradient = row(names, &self.gradient, "the derivative by", numbers);
        match &self.errors {
            None => members.push(("gradient", gradient)),
            Some((value, slopes)) => {
                let slopes: Vec<f64> = slopes.iter().map(Uncertain::sigma).collect();
                members.push(("stderr", numbers.real(value.sigma(), "its error")));
                members.push(("gradient", gradient));
                members.push((
                    "gradient_stderr",
                    row(names, &slopes, "the error of the derivative by", numbers),
                ));
            }
        }
        if let Some(hessian) = &self.hessian {
            let line = |(name, line): (&String, &Vec<T>)| {
                (
                    name.clone(),
                    row(names, line, &format!("the second derivative by {name} and"), numbers),
                )
            };
            members.push(("hessian", Value::Object(names.iter().zip(hessian).map(line).collect())));
        }
        members
    }
}

/// Numbers by the names of the inputs.
fn row<T: Number>(names: &[String], row: &[T], what: &str, numbers: &mut Numbers) -> Value {
    let members = names.iter().zip(row);
    let named =
        |(name, x): (&String, &T)| (name.clone(), numbers.real(*x, &format!("{what} {name}")));
    Value::Object(members.map(named).collect::<Map<_, _>>())
}

/// Returns the values and their derivatives from shots, with standard errors.
fn measure(
    args: &Grad,
    count: usize,
    common: &Common,
    terminal: &Terminal,
    (circuit, observables): (Circuit, Vec<Parametric>),
    given: &Given,
) -> Result<Box<dyn Answer>, Failure> {
    if common.precision() != Precision::F64 {
        return Err(Failure::usage("--shots computes in double precision"));
    }
    given.refuse_errors("`grad --shots`")?;
    let asked = Asked::<f64>::read(&circuit, observables, given)?;
    args.output.as_deref().map_or(Ok(()), check_writable)?;
    let energy =
        parametric_of::<f64>(circuit, &asked.observables, args.input.as_deref(), common, terminal)?;
    let start = Instant::now();
    let shots = Shots::new(count, common.seed());
    let at_point = |at: &Vec<f64>| {
        (0..asked.observables.len()).map(|k| energy.measure_gradient(k, at, shots)).collect()
    };
    let all: Vec<Vec<(Mean, Vec<Mean>)>> = asked
        .values
        .iter()
        .map(at_point)
        .collect::<Result<_, HybridError>>()
        .map_err(|e| asked.points.located(failure(e)))?;
    let mut numbers = Numbers::default();
    let (value, error) = (|mean: &Mean| mean.value, |mean: &Mean| mean.stderr.unwrap_or(f64::NAN));
    let mut members = |(mean, gradient): &(Mean, Vec<Mean>)| -> Members {
        let mut means = |what: &str, of: fn(&Mean) -> f64| {
            row(&asked.names, &gradient.iter().map(of).collect::<Vec<f64>>(), what, &mut numbers)
        };
        let slopes = means("the derivative by", value);
        let errors = means("the error of the derivative by", error);
        let own = [(value(mean), "the expectation value"), (error(mean), "its error")];
        let [own, own_error] = own.map(|(x, what)| numbers.real(x, what));
        vec![
            ("value", own),
            ("stderr", own_error),
            ("gradient", slopes),
            ("gradient_stderr", errors),
        ]
    };
    let results =
        all.iter().map(|each| (each.iter().map(&mut members).collect(), Vec::new())).collect();
    numbers.report(common, terminal)?;
    let gradient = |one: &(Mean, Vec<Mean>)| one.1.iter().map(value).collect::<Vec<f64>>();
    let gradients: Vec<Vec<f64>> = all.iter().flatten().map(gradient).collect();
    asked.write(args.output.as_deref(), gradients.iter().map(Vec::as_slice))?;
    let more = vec![("method", Method::Shift.name().into()), ("shots", count.into())];
    Ok(asked.answer(results, more, (common, start)))
}

/// Returns the expectation values and their derivatives by the parameters without a value, as
/// formulas.
fn formulas(
    args: &Grad,
    common: &Common,
    terminal: &Terminal,
    circuit: &Circuit,
    given: &Given,
    observables: &[Parametric],
) -> Result<Box<dyn Answer>, Failure> {
    given.refuse_errors("a formula")?;
    if args.output.is_some() {
        let message = "--output has numbers: formulas are printed, with --json as texts";
        return Err(Failure::usage(message).help("give all parameters values"));
    }
    let own = observables::own_params(observables, circuit);
    let points = Points::one_known(circuit, own, given)?;
    let observables = points.bound(observables)?;
    let circuit = points.circuit(circuit, 0).map_err(|e| points.located(e))?;
    formula::check_computed(&circuit)?;
    formula::note_decimals(&circuit, terminal);
    let mut names: Vec<String> = circuit.inputs().map(str::to_owned).collect();
    let inputs = names.len();
    names.extend(observables::own_params(&observables, &circuit));
    let sums = observables.iter().flat_map(|o| o.sum.parts()).map(|part| part.1);
    let energy = expectations_of::<f64>(circuit, sums, args.input.as_deref(), common, terminal)?;
    let start = Instant::now();
    let mut list: Vec<Members> = Vec::new();
    let mut text = String::new();
    let trig = |form: &Formula| form.text(Form::Trig);
    // Of the parts of the observables, one after the other.
    let forms = energy.closed_forms().map_err(failure)?;
    forms.iter().try_for_each(|form| formula::check_names(form.symbols()))?;
    let mut forms = forms.into_iter();
    for observable in &observables {
        let missing = || Failure::input("a part of an observable has no formula");
        let form =
            Polynomial::from_observable(&observable.sum, |_| forms.next().ok_or_else(missing))?;
        let written = |row: &[Polynomial<'_>]| {
            let named = names.iter().zip(row);
            Value::Object(
                named.map(|(name, form)| (name.clone(), form.text(trig).into())).collect(),
            )
        };
        let slopes = form.gradient(&names, inputs)?;
        let mut members =
            vec![("value", Value::from(form.text(trig))), ("gradient", written(&slopes))];
        if args.hessian {
            let rows = slopes.iter().map(|slope| Ok(written(&slope.gradient(&names, inputs)?)));
            let rows: Vec<Value> = rows.collect::<Result<_, Failure>>()?;
            members.push(("hessian", Value::Object(names.iter().cloned().zip(rows).collect())));
        }
        if observables.len() > 1 {
            members.insert(0, ("observable", observable.text.as_str().into()));
        }
        members.iter().for_each(|(key, value)| text += &in_words(key, value));
        list.push(members);
    }
    let mut members = match observables.len() {
        1 => list.pop().unwrap_or_default(),
        _ => vec![("expectations", Value::Array(list.into_iter().map(object).collect()))],
    };
    members.push(("method", Method::Symbolic.name().into()));
    let _ = writeln!(text, "method  {}", Method::Symbolic);
    Ok(answer(common, start, text, members))
}

/// Formats `value  cos(a)`, and one line for each member of an object; second derivatives have two
/// names.
fn in_words(key: &str, value: &Value) -> String {
    fn lines(prefix: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value {
            Value::Object(members) => {
                members
                    .iter()
                    .for_each(|(name, value)| lines(&format!("{prefix} {name}"), value, out));
            }
            other => out.push((
                prefix.trim_start().to_owned(),
                other.as_str().unwrap_or_default().to_owned(),
            )),
        }
    }
    if let Some(text) = value.as_str() {
        return format!("{key}  {text}\n");
    }
    let mut all = Vec::new();
    lines("", value, &mut all);
    let width = all.iter().map(|(names, _)| names.chars().count()).max().unwrap_or(0);
    let mut out = format!("{key}\n");
    all.iter().for_each(|(names, text)| out += &format!("  {names:width$}  {text}\n"));
    out
}

/// Returns an error with the way out.
fn failure(error: HybridError) -> Failure {
    match error {
        HybridError::Exact(error) => formula::failure(error),
        HybridError::Initial => Failure::input(&error).help("the other methods take --input"),
        error => Failure::input(error),
    }
}

/// Returns two states of the numbers that the method computes with; a third where several
/// observables share the first.
fn needs<T>(
    (args, method): (&Grad, Method),
    second: bool,
    observables: usize,
    circuit: &Circuit,
) -> Needs {
    // Amplitudes are duals in a forward run, and those of duals are twice as large again.
    let order = match (method, args.hessian || second && method != Method::Forward) {
        (Method::Forward, true) => 4,
        (Method::Forward, false) | (_, true) => 2,
        _ => 1,
    };
    let mut needs = Needs::default();
    if circuit.has_channels() || final_measurements(circuit).is_err() {
        let states = bytes_needed::<Complex<T>>(circuit.n_qubits().saturating_mul(2))
            .saturating_mul(4 * order);
        needs.add("density matrices and their derivatives", states);
        return needs;
    }
    let (count, what) = match observables {
        1 => (2, "two states and their derivatives"),
        _ => (3, "three states and their derivatives"),
    };
    let states = bytes_needed::<Complex<T>>(circuit.n_qubits()).saturating_mul(count * order);
    needs.add(what, states);
    needs
}
