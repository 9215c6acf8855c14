//! Noise models from files, for `--noise` of every verb that reads a circuit.
//!
//! ```toml
//! [[noise]]                           # all that fit an instruction follow it, in this order
//! width = 2                           # after gates on so many qubits, controls counted
//! # after = ["cx", "measure"]         # or after these, by any of their names, whatever values controls have; neither: after every gate
//! # qubits = [0, 1]                   # only where all qubits of the instruction are among these
//! channel = "two_qubit_depolarizing"  # of as many qubits as the instruction, or of one: on each of them
//! parameters = [0.01]                 # numbers, or names of inputs of the circuit: ["p"]
//!
//! [[noise]]
//! width = 1
//! relaxation = { time = 35, t1 = 80e3, t2 = 100e3 }
//!
//! [[noise]]
//! after = ["h"]
//! # Operators as lists of rows; an entry is a number or [re, im]. The first qubit is the least significant bit of a row number.
//! kraus = [[[1, 0], [0, 0.6]], [[0, [0, 0.8]], [0, 0]]]
//!
//! [[reading]]                         # after each measurement
//! # qubits = [0]                      # only of these
//! p0 = 0.01                           # a 0 is read as 1
//! p1 = 0.02                           # a 1 is read as 0
//! ```
//! A key that is not known and a value that does not fit are errors that underline it. An input that the circuit does not
//! have becomes one of it: `--set p=0.01` gives its value, and `grad` its derivative.

use std::path::Path;

use ketgrad_core::{
    channel::{Channel, ChannelKind},
    circuit::{After, Circuit, NoiseModel},
    matrix::Matrix,
    param::{Angle, BindError, Values},
};
use num_complex::Complex;
use toml::{Spanned, de::DeValue};

use crate::{
    args::ValueArgs,
    config_file::{integer, real, string},
    files::read_text,
    given::Given,
    options::Common,
    report::Failure,
    run::read_circuit,
    section::{File, Section},
    terminal::Terminal,
};

/// The most qubits of a gate that a rule may name.
const MOST_WIDTH: u64 = 64;

/// Reads a circuit, with the noise that is asked for, for the values that decide what it is; and the values that are left.
///
/// # Errors
/// [`Failure`] if the values, the circuit or the model is at fault.
pub fn read_noisy(
    path: &Path,
    values: &ValueArgs,
    common: &Common,
    terminal: &Terminal,
) -> Result<(Circuit, Given), Failure> {
    let mut given = Given::read(values, "--set")?;
    let circuit = read_circuit(path, &mut given, common, terminal)?;
    match &values.noise {
        Some(model) => Ok((add(model, &circuit)?, given)),
        None => Ok((circuit, given)),
    }
}

/// The circuit with the noise of a file.
///
/// # Errors
/// [`Failure`] that underlines what is wrong in it, or that says what does not fit the circuit.
pub fn add(path: &Path, circuit: &Circuit) -> Result<Circuit, Failure> {
    let (name, text) = read_text(path)?;
    let file = File { name, text };
    let model = read(&file)?;
    model.apply(circuit).map_err(|e| Failure::input(format_args!("{}: {e}", file.name)))
}

/// A probability or a rate: a number, or the name of an input.
enum Strength {
    Number(f64),
    Input(String),
}

impl Strength {
    fn read(value: &DeValue<'_>) -> Result<Strength, String> {
        if let Ok(number) = real(value) {
            let one = (0.0..=1.0).contains(&number).then_some(Strength::Number(number));
            return one.ok_or_else(|| format!("expected a number from 0 to 1, not {number}"));
        }
        let is_letter = |c: char| c == '_' || c.is_alphabetic();
        let is_name = |text: &String| {
            text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_numeric())
        };
        let name = string(value).ok().filter(is_name).map(Strength::Input);
        name.ok_or_else(|| "expected a number from 0 to 1, or the name of an input".to_owned())
    }

    fn angle(&self, model: &mut NoiseModel) -> Angle {
        match self {
            Strength::Number(number) => Angle::rad(*number),
            Strength::Input(name) => model.param(name),
        }
    }
}

fn read(file: &File) -> Result<NoiseModel, Failure> {
    let document = file.document()?;
    let mut top = Section::top(file, document.get_ref());
    let (rules, readings) = (top.sections("noise")?, top.sections("reading")?);
    top.finish()?;
    let mut model = NoiseModel::new();
    for rule in rules {
        read_rule(rule, &mut model)?;
    }
    for mut reading in readings {
        let qubits = read_qubits(&mut reading)?;
        let [p0, p1] = [reading.read("p0", Strength::read)?, reading.read("p1", Strength::read)?]
            .map(|p| p.unwrap_or(Strength::Number(0.0)));
        reading.finish()?;
        let (p0, p1) = (p0.angle(&mut model), p1.angle(&mut model));
        match qubits {
            Some(qubits) => model.misread_on(&qubits, p0, p1),
            None => model.misread(p0, p1),
        };
    }
    Ok(model)
}

fn read_rule(mut rule: Section<'_, '_>, model: &mut NoiseModel) -> Result<(), Failure> {
    let after = match (rule.strings("after")?, rule.integer("width", 1, MOST_WIDTH)?) {
        (names, None) if names.is_empty() => After::AllGates,
        (names, Some(width)) if names.is_empty() => After::Gates(width as usize),
        (_, Some(_)) => return Err(rule.wrong("width", "`after` says which instructions: one of both")),
        (names, None) => After::named(names).map_err(|e| rule.wrong("after", e))?,
    };
    let qubits = read_qubits(&mut rule)?;
    let name = rule.string("channel")?;
    let parameters = rule.values("parameters", Strength::read)?;
    let kraus = rule.values("kraus", operator)?;
    let mut times = rule.section("relaxation")?;
    let [time, t1, t2] = [times.number("time")?, times.number("t1")?, times.number("t2")?];
    times.finish()?;
    rule.finish()?;
    let channels = match (name, kraus, [time, t1, t2]) {
        (Some(name), None, [None, None, None]) => {
            let names: Vec<&str> = ChannelKind::ALL.iter().map(|kind| kind.name()).collect();
            let kind = ChannelKind::find(&name).ok_or_else(|| rule.unknown_name("channel", &name, &names))?;
            let parameters = parameters.unwrap_or_default();
            let angles: Vec<Angle> = parameters.iter().map(|strength| strength.angle(model)).collect();
            let channel = Channel::new(kind, angles).map_err(|e| rule.wrong("parameters", e))?;
            // Numbers that are no channel show without a circuit.
            match channel.terms::<Complex<f64>>(&Values::<f64>(&[])) {
                Err(e @ BindError::NoProbability { .. }) => return Err(rule.wrong("parameters", e)),
                _ => vec![channel],
            }
        }
        (None, Some(operators), [None, None, None]) if parameters.is_none() => {
            vec![Channel::kraus(operators).map_err(|e| rule.wrong("kraus", e))?]
        }
        (None, None, [Some(time), Some(t1), Some(t2)]) if parameters.is_none() => {
            Channel::relaxation(time, t1, t2).map_err(|e| rule.wrong("relaxation", e))?.to_vec()
        }
        _ => {
            let one =
                "one of `channel` with its `parameters`, `kraus`, and `relaxation` with time, t1 and t2";
            return Err(rule.incomplete(one));
        }
    };
    for channel in channels {
        match &qubits {
            Some(qubits) => model.add_on(qubits, after.clone(), channel),
            None => model.add(after.clone(), channel),
        };
    }
    Ok(())
}

/// A Kraus operator, as a list of rows.
fn operator(value: &DeValue<'_>) -> Result<Matrix<Complex<f64>>, String> {
    let rows = value.as_array().ok_or("expected operators, each a list of rows")?.iter();
    let row = |row: &Spanned<DeValue<'_>>| {
        let entries = row.get_ref().as_array().ok_or("expected a row, a list of entries")?;
        entries.iter().map(|x| entry(x.get_ref())).collect()
    };
    let rows = rows.map(row).collect::<Result<Vec<_>, String>>()?;
    Matrix::from_rows(rows).map_err(|e| e.to_string())
}

/// `0.5`, or `[0.5, -1]` with an imaginary part.
fn entry(value: &DeValue<'_>) -> Result<Complex<f64>, String> {
    let parts = value.as_array().map(|list| list.iter().map(|x| real(x.get_ref())).collect::<Vec<_>>());
    match parts.as_deref() {
        None => real(value).map(Complex::from),
        Some([Ok(re), Ok(im)]) => Ok(Complex::new(*re, *im)),
        Some(_) => Err("expected a number, or a list of its real and its imaginary part".to_owned()),
    }
}

fn read_qubits(section: &mut Section<'_, '_>) -> Result<Option<Vec<usize>>, Failure> {
    let numbers = section.values("qubits", |value| integer(value, 0, u64::from(u32::MAX)))?;
    // They are below 2^32.
    Ok(numbers.map(|list| list.into_iter().map(|q| q as usize).collect()))
}
