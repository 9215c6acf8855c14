//! The verb `check`: every way to the derivative of a program or of an expectation value, compared.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use ketgrad_core::{
    check::{Report, Settings, gradcheck, hessian_check},
    exec::{Derivatives, DeriveError},
    hybrid::{HybridError, Method, ParametricExpectation},
};
use num_complex::Complex;
use num_dual::DualNum;
use serde_json::{Map, Value, json};

use crate::{
    expectation::parametric_of,
    memory,
    noise::{Unwritten, note_readings, read_noisy},
    npy::Number,
    observables,
    options::{Check, Common, Precision},
    params::Points,
    point::arguments,
    program::{self, failed, limits},
    report::{Failure, Status},
    terminal::{Answer, Terminal},
};

struct CheckOutcome {
    report: Report,
    order: u8,
    seconds: f64,
    json: bool,
}

impl Answer for CheckOutcome {
    fn status(&self) -> Status {
        if self.report.agree { Status::Done } else { Status::Refused }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Report { names, engines, agree, .. } = &self.report;
        if self.json {
            let list = engines.iter().map(|e| {
                let derivatives = names.iter().zip(&e.gradient);
                let (key, derivatives) = match self.order {
                    2 => ("hessian", hessian(derivatives)),
                    _ => ("gradient", derivatives.map(|(name, x)| (name.clone(), json!(x))).collect()),
                };
                json!({"name": e.name, "value": e.value, key: derivatives, "max_difference": e.max_difference})
            });
            let engines: Vec<Value> = list.collect();
            let object = json!({"engines": engines, "agree": agree, "seconds": self.seconds});
            serde_json::to_writer(&mut *out, &object)?;
            return writeln!(out);
        }
        writeln!(out, "{}", self.report)
    }

    fn note(&self) -> Option<String> {
        (!self.report.reentrant).then(|| "note: a second call gave another gradient".to_owned())
    }
}

/// Rows of second derivatives, which have two names each.
fn hessian<'r>(derivatives: impl Iterator<Item = (&'r String, &'r f64)>) -> Map<String, Value> {
    let mut rows = Map::new();
    for (names, x) in derivatives {
        let (row, column) = names.split_once(' ').unwrap_or((names, ""));
        let row = rows.entry(row).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(row) = row {
            row.insert(column.to_owned(), json!(x));
        }
    }
    rows
}

/// Runs `check`.
///
/// # Errors
/// [`Failure`] if the program, the point or the function is at fault.
pub(crate) fn check(
    args: &Check,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let circuit = args.settle()?;
    let start = Instant::now();
    let single = common.precision() == Precision::F32;
    let report = match circuit {
        None if single => check_program::<f32>(args, Settings::single(), common, terminal)?,
        None => check_program::<f64>(args, Settings::default(), common, terminal)?,
        Some(file) => {
            let (circuit, given) =
                read_noisy(file, &args.values, Unwritten::None, common, terminal)?;
            given.refuse_errors("`check`")?;
            note_readings(&circuit, false, terminal);
            let observables =
                observables::read_all(args.observable.as_slice(), &circuit, &given, false)?;
            let points = Points::read_with(
                &circuit,
                observables::own_params(&observables, &circuit),
                &given,
            )?;
            let point = points.one(&circuit)?;
            common.note_duals("the method `forward`", terminal);
            let (report, executors) = if single {
                let energy = parametric_of::<f32>(circuit, &observables, None, common, terminal)?;
                (in_single(&energy, &point), energy.parts().executors().clone())
            } else {
                let energy = parametric_of::<f64>(circuit, &observables, None, common, terminal)?;
                (energy.check(&point), energy.parts().executors().clone())
            };
            common.note_passed_over(&executors, terminal);
            report.map_err(|e| points.located(Failure::input(e)))?
        }
    };
    let wild = |x: &f64| !x.is_finite();
    if let Some(e) = report.engines.iter().find(|e| wild(&e.value) || e.gradient.iter().any(wild)) {
        let what = format!("`{}` gives a number that is not finite", e.name);
        if !common.allow_nonfinite {
            return Err(Failure::input(what).help("--allow-nonfinite prints null instead"));
        }
        terminal.note(&format!("note: {what}; null stands for it"));
    }
    Ok(Box::new(CheckOutcome {
        report,
        order: args.order,
        seconds: start.elapsed().as_secs_f64(),
        json: common.json,
    }))
}

/// Runs every method on a circuit in single precision.
fn in_single(energy: &ParametricExpectation, point: &[f64]) -> Result<Report, HybridError> {
    // Rounding is what single precision is about.
    let point: Vec<f32> = point.iter().map(|x| *x as f32).collect();
    let by = |method: Method| {
        let (values, rows) = energy.jacobian_by(method, &point)?;
        let gradient = rows.into_iter().flatten().map(f64::from).collect::<Vec<_>>();
        Ok((method.name(), f64::from(values[0]), gradient))
    };
    let engines =
        energy.parts().methods().into_iter().map(by).collect::<Result<Vec<_>, HybridError>>()?;
    let reentrant = by(Method::Adjoint)?.2 == engines[0].2;
    Ok(Report::new(energy.names().to_vec(), engines, reentrant, |_| Settings::single()))
}

/// Compares the engines on a function of a program.
fn check_program<T: Number + DualNum>(
    args: &Check,
    settings: Settings,
    common: &Common,
    terminal: &Terminal,
) -> Result<Report, Failure> {
    let (name, source) = program::read(args.source.as_deref(), args.file.as_deref())?;
    let plugins = common.plugins.load(terminal)?;
    let (program, entry) = program::parse(&name, &source, args.function.as_deref(), &plugins)?;
    let failed = |e: DeriveError| failed(&name, &source, &e, &plugins);
    let f = Derivatives::<Complex<T>>::new(&program, &entry).map_err(failed)?;
    let point = arguments::<T>(
        &program.functions[f.function()].params,
        &args.at,
        args.values.params.first().map(PathBuf::as_path),
    )?;
    // Three engines keep their memory side by side.
    let memory = memory::program(common.memory_limit) / 3;
    let settings = settings.with_limits(limits(common, memory));
    let host = plugins.host();
    let report = match args.order {
        2 => hessian_check(&program, &entry, &point, &*host, settings),
        _ => gradcheck(&program, &entry, &point, &*host, settings),
    };
    report.map_err(failed)
}
