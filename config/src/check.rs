//! The verb `check`: every way to the derivative of a program or of an expectation value, compared.

use std::{
    io::{self, Write},
    path::Path,
    time::Instant,
};

use ketgrad_core::{
    check::{Report, Settings, gradcheck},
    exec::{Derivatives, Limits},
    text,
};
use num_complex::Complex;
use serde_json::{Map, Value, json};

use crate::{
    args::Precision,
    diff::{at, faulty},
    files::read_text,
    grad::expectation,
    options::{Check, CheckOf, Common},
    params::Points,
    report::{Failure, Status},
    run::read_circuit,
    terminal::{Answer, Terminal},
};

struct Compared {
    report: Report,
    seconds: f64,
    json: bool,
}

impl Answer for Compared {
    fn status(&self) -> Status {
        if self.report.agree { Status::Done } else { Status::Refused }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Report { names, engines, agree, .. } = &self.report;
        if self.json {
            let list = engines.iter().map(|e| {
                let gradient = names.iter().cloned().zip(e.gradient.iter().map(|x| json!(x)));
                let gradient: Map<String, Value> = gradient.collect();
                json!({"name": e.name, "value": e.value, "gradient": gradient, "max_difference": e.max_difference})
            });
            let engines: Vec<Value> = list.collect();
            let object = json!({"engines": engines, "agree": agree, "seconds": self.seconds});
            serde_json::to_writer(&mut *out, &object)?;
            return writeln!(out);
        }
        let width = engines.iter().map(|e| e.name.len()).max().unwrap_or(0);
        for e in engines {
            let gradient: Vec<String> =
                names.iter().zip(&e.gradient).map(|(name, x)| format!("{name} {x:?}")).collect();
            let (name, value, gradient) = (e.name, e.value, gradient.join(", "));
            writeln!(out, "{name:width$}  value {value:?}, {gradient}; off by {:.1e}", e.max_difference)?;
        }
        writeln!(out, "{}", if *agree { "all agree" } else { "they do not agree" })
    }

    fn note(&self) -> Option<String> {
        (!self.report.reentrant).then(|| "note: a second call gave another gradient".to_owned())
    }
}

/// Does what `check` shall do.
///
/// # Errors
/// [`Failure`] if the program, the point or the function is at fault.
pub fn check(args: &Check, common: &Common, terminal: &Terminal) -> Result<Box<dyn Answer>, Failure> {
    if common.precision != Precision::F64 {
        return Err(Failure::not_yet("`check` with --precision f32"));
    }
    let start = Instant::now();
    let report = match &args.of {
        CheckOf::Program { function, at } => program(&args.file, function.as_deref(), at, common, terminal)?,
        CheckOf::Circuit { observable, values } => {
            let circuit = read_circuit(&args.file, common, terminal)?;
            let point = Points::one(&circuit, values)?;
            let expectation = expectation(circuit, observable, common, terminal)?;
            expectation.check(&point).map_err(Failure::input)?
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
    Ok(Box::new(Compared { report, seconds: start.elapsed().as_secs_f64(), json: common.json }))
}

/// Compares the engines on a function of a program.
fn program(
    file: &Path,
    function: Option<&str>,
    at: &[String],
    common: &Common,
    terminal: &Terminal,
) -> Result<Report, Failure> {
    let (name, source) = read_text(file)?;
    let plugins = common.plugins.load(terminal)?;
    let program = text::parse_program_with(&source, plugins.rules());
    let program = program.map_err(|errors| faulty(&name, &source, errors))?;
    let entry = match function {
        Some(function) => function.to_owned(),
        None => text::entry(&source).ok_or_else(|| Failure::input(format_args!("{name} has no function")))?,
    };
    let in_words = |e: &dyn std::fmt::Display| Failure::input(format_args!("{name}: {e}"));
    let f = Derivatives::<Complex<f64>>::new(&program, &entry).map_err(|e| in_words(&e))?;
    let point = at::arguments::<f64>(&program.functions[f.function()].params, at)?;
    let limits = Limits { steps: common.max_steps, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    gradcheck(&program, &entry, &point, &*plugins.host(), settings).map_err(|e| in_words(&e))
}
