//! The verb `grad`: an expectation value of a circuit and its derivatives by the parameters.

use std::time::Instant;

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, HybridError, Method},
    kernel::Threads,
    observable::PauliSum,
    simulate::{Mean, Shots, Simulator, final_measurements},
    state::bytes_needed,
};
use num_complex::Complex;
use num_dual::DualNum;
use serde_json::{Map, Value};

use crate::{
    args::Precision,
    backend::stays_there,
    diff::{Numbers, answer, in_text},
    given::Given,
    memory::Needs,
    noise::{Unwritten, note_readings, read_noisy},
    npy::Number,
    observables,
    options::{Common, Grad},
    params::Points,
    report::Failure,
    terminal::{Answer, Terminal},
};

/// Does what `grad` shall do.
///
/// # Errors
/// [`Failure`] if the circuit, its parameters or the observable is at fault.
pub fn grad(args: &Grad, common: &Common, terminal: &Terminal) -> Result<Box<dyn Answer>, Failure> {
    let unwritten = if args.shots.is_some() { Unwritten::All } else { Unwritten::None };
    let (circuit, given) = read_noisy(&args.file, &args.values, unwritten, common, terminal)?;
    note_readings(&circuit, args.shots.is_some(), terminal);
    if let Some(count) = args.shots {
        return measure(args, count, common, terminal, circuit, &given);
    }
    match common.precision {
        Precision::F64 => differentiate::<f64>(args, common, terminal, circuit, &given),
        Precision::F32 => differentiate::<f32>(args, common, terminal, circuit, &given),
    }
}

fn differentiate<T: Number + DualNum>(
    args: &Grad,
    common: &Common,
    terminal: &Terminal,
    circuit: Circuit,
    given: &Given,
) -> Result<Box<dyn Answer>, Failure> {
    let names: Vec<String> = circuit.inputs().map(str::to_owned).collect();
    given.refuse_errors("`grad`")?;
    let points = Points::read(&circuit, given)?;
    let inputs: Vec<Vec<T>> =
        (0..points.len()).map(|row| points.inputs(&circuit, row)).collect::<Result<_, _>>()?;
    let duals = args.hessian || args.method == Method::Forward;
    if duals {
        common.note_duals("this method", terminal);
    }
    let observable = observables::read(&args.observable, circuit.n_qubits())?;
    let energy = expectation_of::<T>(circuit, observable.sum, common, terminal)?;
    if duals || !stays_there::<T>(energy.executors(), energy.circuit()) {
        needs::<T>(args, energy.circuit()).check("the derivatives", common.memory_limit)?;
    }

    let start = Instant::now();
    let of = |at: &Vec<T>| -> Result<Derivatives<T>, HybridError> {
        let (value, gradient) = energy.gradient_by(args.method, at)?;
        let hessian = if args.hessian { Some(energy.hessian_by(args.method, at)?) } else { None };
        Ok((value, gradient, hessian))
    };
    let all: Result<Vec<Derivatives<T>>, HybridError> = match args.method {
        // The points share the threads.
        Method::Adjoint if !args.hessian => energy
            .gradients(&inputs)
            .map(|all| all.into_iter().map(|(value, gradient)| (value, gradient, None)).collect()),
        _ => inputs.iter().map(of).collect(),
    };
    let all = all.map_err(|e| points.located(Failure::input(e)))?;
    common.note_passed_over(energy.executors(), terminal);
    let mut numbers = Numbers::default();
    let results: Vec<[Value; 3]> = all.iter().map(|one| in_json(one, &names, &mut numbers)).collect();
    numbers.report(common, terminal)?;

    let mut object = by_key(["value", "gradient", "hessian"], results, points.sweep);
    if !args.hessian {
        object.pop();
    }
    object.push(("method", args.method.name().into()));
    let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
    Ok(answer(common, start, text, object))
}

/// The results of each point under their keys: those of the one point, or lists.
fn by_key<const N: usize>(
    keys: [&'static str; N],
    mut results: Vec<[Value; N]>,
    sweep: bool,
) -> Vec<(&'static str, Value)> {
    let column = |(k, key): (usize, &'static str)| {
        let mut column: Vec<Value> = results.iter_mut().map(|r| r[k].take()).collect();
        let alone = if sweep { None } else { column.pop() };
        (key, alone.unwrap_or(Value::Array(column)))
    };
    keys.into_iter().enumerate().map(column).collect()
}

/// The value and its derivatives from shots, with standard errors.
fn measure(
    args: &Grad,
    count: usize,
    common: &Common,
    terminal: &Terminal,
    circuit: Circuit,
    given: &Given,
) -> Result<Box<dyn Answer>, Failure> {
    if common.precision != Precision::F64 {
        return Err(Failure::usage("--shots computes in double precision"));
    }
    let names: Vec<String> = circuit.inputs().map(str::to_owned).collect();
    given.refuse_errors("`grad`")?;
    let points = Points::read(&circuit, given)?;
    let inputs: Vec<Vec<f64>> =
        (0..points.len()).map(|row| points.inputs(&circuit, row)).collect::<Result<_, _>>()?;
    let observable = observables::read(&args.observable, circuit.n_qubits())?;
    let energy = expectation_of::<f64>(circuit, observable.sum, common, terminal)?;
    let start = Instant::now();
    let shots = Shots::new(count, common.seed);
    let each = inputs.iter().map(|at| energy.measure_gradient(at, shots));
    let all: Vec<(Mean, Vec<Mean>)> =
        each.collect::<Result<_, _>>().map_err(|e| points.located(Failure::input(e)))?;
    let mut numbers = Numbers::default();
    let (value, error) = (|mean: &Mean| mean.value, |mean: &Mean| mean.stderr.unwrap_or(f64::NAN));
    let mut in_json = |(mean, gradient): &(Mean, Vec<Mean>)| -> [Value; 4] {
        let mut row = |what: &str, of: &dyn Fn(&Mean) -> f64| -> Value {
            let members = names.iter().zip(gradient);
            let named = |(name, mean): (&String, &Mean)| {
                (name.clone(), numbers.real(of(mean), &format!("{what} {name}")))
            };
            Value::Object(members.map(named).collect())
        };
        let rows = [row("the derivative by", &value), row("the error of the derivative by", &error)];
        let [gradient, gradient_error] = rows;
        let own = [(value(mean), "the expectation value"), (error(mean), "its error")];
        let [own, own_error] = own.map(|(x, what)| numbers.real(x, what));
        [own, own_error, gradient, gradient_error]
    };
    let results: Vec<[Value; 4]> = all.iter().map(&mut in_json).collect();
    numbers.report(common, terminal)?;
    let mut object = by_key(["value", "stderr", "gradient", "gradient_stderr"], results, points.sweep);
    object.extend([("method", args.method.name().into()), ("shots", count.into())]);
    let text = object.iter().map(|(key, value)| in_text(key, value)).collect();
    Ok(answer(common, start, text, object))
}

/// The expectation value of an observable, as given, to be computed within the limits.
///
/// # Errors
/// [`Failure`] if the observable is at fault or does not fit the circuit, the backend that is asked for is not there or
/// cannot, or the system gives no threads.
pub(crate) fn expectation<T: Number>(
    circuit: Circuit,
    observable: &str,
    common: &Common,
    terminal: &Terminal,
) -> Result<Expectation, Failure> {
    let observable = observables::read(observable, circuit.n_qubits())?;
    expectation_of::<T>(circuit, observable.sum, common, terminal)
}

/// The expectation value of a sum of Pauli strings, to be computed within the limits.
///
/// # Errors
/// [`Failure`] as [`expectation`].
pub(crate) fn expectation_of<T: Number>(
    circuit: Circuit,
    observable: PauliSum,
    common: &Common,
    terminal: &Terminal,
) -> Result<Expectation, Failure> {
    let available = Needs::default().check("the derivatives", common.memory_limit)?;
    let threads: Threads = common.start_threads()?;
    let energy = Expectation::new(circuit, [observable]).map_err(Failure::input)?;
    let executors = common.executors::<T>(energy.circuit(), terminal)?;
    let simulator = Simulator { executors, threads, memory_limit: Some(available), ..Simulator::new() };
    Ok(energy.with_simulator(simulator))
}

/// A value, its gradient and its Hessian.
type Derivatives<T> = (T, Vec<T>, Option<Vec<Vec<T>>>);

fn in_json<T: Number>(
    (value, gradient, hessian): &Derivatives<T>,
    names: &[String],
    numbers: &mut Numbers,
) -> [Value; 3] {
    let value = numbers.real(*value, "the expectation value");
    let mut row = |row: &[T], what: &str| -> Value {
        let members = names.iter().zip(row);
        let object: Map<String, Value> =
            members.map(|(name, x)| (name.clone(), numbers.real(*x, &format!("{what} {name}")))).collect();
        Value::Object(object)
    };
    let gradient = row(gradient, "the derivative by");
    let rows = hessian.iter().flatten().zip(names);
    let rows: Map<String, Value> = rows
        .map(|(line, name)| (name.clone(), row(line, &format!("the second derivative by {name} and"))))
        .collect();
    [value, gradient, Value::Object(rows)]
}

/// Two states of the numbers that the method computes with.
fn needs<T>(args: &Grad, circuit: &Circuit) -> Needs {
    // Amplitudes are duals in a forward run, and those of duals are twice as large again.
    let order = match (args.method, args.hessian) {
        (Method::Forward, true) => 4,
        (Method::Forward, false) | (_, true) => 2,
        _ => 1,
    };
    let mut needs = Needs::default();
    if circuit.has_channels() || final_measurements(circuit).is_err() {
        let states =
            bytes_needed::<Complex<T>>(circuit.n_qubits().saturating_mul(2)).saturating_mul(4 * order);
        needs.add("density matrices and their derivatives", states);
        return needs;
    }
    let states = bytes_needed::<Complex<T>>(circuit.n_qubits()).saturating_mul(2 * order);
    needs.add("two states and their derivatives", states);
    needs
}
