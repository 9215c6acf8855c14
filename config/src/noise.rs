//! Noise models from files, for `--noise` of every verb that reads a circuit.
//!
//! ```toml
//! [[noise]]                           # all that fit an instruction follow it, in this order
//! width = 2                           # after gates on this number of qubits, controls counted
//! # after = ["cx", "measure"]         # or after these, by any of their names, whatever values controls have; neither: after every gate
//! # gate_qubits = [[0, 1], [1, 2]]    # only where the qubits of the instruction are one of these lists, in its order: controls, then targets
//! # qubits = [0, 1]                   # only on these of the qubits of the instruction
//! channel = "two_qubit_depolarizing"  # of as many qubits as the rule acts on, or of one: on each of them
//! parameters = [0.01]                 # numbers, or names of inputs of the circuit: ["p"]
//!
//! [[noise]]
//! width = 1
//! relaxation = { time = 35, t1 = 80e3, t2 = 100e3 }   # inf is a time, too
//!
//! [[noise]]                           # during delays: T1 and T2 in `unit`, s, ms, us or ns; `dt`, in `unit` too, is the length
//! after = ["delay"]                   # of a dt, for circuits whose delays are in dt
//! relaxation = { time = "delay", t1 = 80, t2 = 100, unit = "us", dt = 0.222e-3 }
//!
//! [[noise]]
//! after = ["h"]
//! # Operators as lists of rows; an entry is a number or [re, im]. The first qubit is the least significant bit of a row number.
//! kraus = [[[1, 0], [0, 0.6]], [[0, [0, 0.8]], [0, 0]]]
//!
//! [[noise]]                           # rates of each qubit: a list in place of a number has one for each of `qubits`,
//! after = ["cx"]                      # or, of a channel on several qubits, for each of `gate_qubits`
//! qubits = [0, 1]
//! relaxation = { time = 300, t1 = [50e3, 60e3], t2 = [70e3, 40e3] }
//!
//! [[reading]]                         # after each measurement, and in the shots that measure all qubits by themselves
//! # qubits = [0]                      # only of these
//! p0 = 0.01                           # a 0 is read as 1; a list has one for each of `qubits`
//! p1 = 0.02                           # a 1 is read as 0
//!
//! [[reading]]                         # of qubits that are read together, after the last of their measurements
//! qubits = [0, 1]                     # 2^k rows, of the true outcomes; 2^k columns, of what is read: 00, 01, 10, 11,
//! matrix = [                          # where the first qubit is the last digit, the least significant bit
//!     [0.97, 0.01, 0.01, 0.01],
//!     [0.02, 0.95, 0.01, 0.02],
//!     [0.02, 0.01, 0.95, 0.02],
//!     [0.01, 0.02, 0.02, 0.95],
//! ]
//! ```
//! A model of Qiskit Aer in JSON is read, too (`aer`).
//!
//! A key that is not known and a value that does not fit are errors that underline it; a rule that
//! acts nowhere in the circuit is a warning. An input that the circuit does not have becomes one of
//! it: `--set p=0.01` gives its value, and `grad` its derivative.

mod aer;
mod source;
mod strength;

use std::path::Path;

use ketgrad_core::{
    circuit::{After, Circuit, InstructionKind, NoiseModel, NoiseRule, Operation},
    simulate::has_final_readout_errors,
};
use source::{ChannelSource, read_source};
use strength::{Each, Strength};
use toml::de::{DeTable, DeValue};

use crate::{
    files::read_text,
    given::Given,
    input::read_circuit,
    options::{Common, ValueArgs},
    report::Failure,
    section::{File, Section},
    terminal::Terminal,
    toml_values::{integer, real},
};

/// The most qubits of a gate that a rule may name.
const MOST_WIDTH: u64 = 64;

/// Measurements that a circuit has besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritten {
    /// No measurements.
    None,
    /// Measurements of every qubit, if it keeps no result of its own: for counts.
    IfNoOther,
    /// Measurements of every qubit: for means over shots.
    All,
}

/// Reads a circuit, with the noise that is asked for, for the values that decide what it is; and
/// the values that are left.
///
/// # Errors
/// [`Failure`] if the values, the circuit or the model is at fault.
pub(crate) fn read_noisy(
    path: &Path,
    values: &ValueArgs,
    unwritten: Unwritten,
    common: &Common,
    terminal: &Terminal,
) -> Result<(Circuit, Given), Failure> {
    let mut given = Given::read(values, "--set")?;
    let circuit = read_circuit(path, &mut given, common, terminal)?;
    match &values.noise {
        Some(model) => Ok((add(model, &circuit, unwritten, terminal)?, given)),
        None => Ok((circuit, given)),
    }
}

/// Returns the circuit with the noise of a file, and with unwritten measurements if they may be
/// read wrongly.
///
/// # Errors
/// [`Failure`] that underlines what is wrong in it, or that says what does not fit the circuit.
pub(crate) fn add(
    path: &Path,
    circuit: &Circuit,
    unwritten: Unwritten,
    terminal: &Terminal,
) -> Result<Circuit, Failure> {
    let (name, text) = read_text(path)?;
    let file = File { name, text };
    let failed = |e| Failure::input(format_args!("{}: {e}", file.name));
    let document;
    let model = if aer::is_one(&file) {
        Model::without_tables(aer::read(&file, circuit)?)
    } else {
        document = file.document()?;
        Model::read(&file, document.get_ref())?
    };
    let mut noisy = model.noise.apply(circuit).map_err(failed)?;
    let measures = match unwritten {
        Unwritten::None => false,
        Unwritten::IfNoOther => !circuit.has_results(),
        Unwritten::All => true,
    };
    if measures && model.noise.has_readings() {
        noisy = model.noise.measure_all(&noisy).map_err(failed)?;
    }
    model.warn(circuit, &noisy, terminal);
    if aer::is_one(&file) {
        let unused = model.noise.unused(&noisy).iter().map(Vec::len).sum::<usize>();
        if unused > 0 {
            let name = &file.name;
            terminal.note(&format!(
                "note: errors of {name} for instructions and qubits that the circuit does not have: {unused}"
            ));
        }
    }
    Ok(noisy)
}

/// Says what readings at the end have to do with values: with those of states nothing.
pub(crate) fn note_readings(circuit: &Circuit, over_shots: bool, terminal: &Terminal) {
    if !has_final_readout_errors(circuit) {
        return;
    }
    terminal.note(match over_shots {
        true => "note: readings that may be wrong count in the means over shots",
        false => "note: values are those of the state: readings at the end that may be wrong change counts and means over shots alone",
    });
}

/// A model with the tables that it was read from.
struct Model<'a, 'i> {
    noise: NoiseModel,
    rules: Vec<Section<'a, 'i>>,
    readings: Vec<Section<'a, 'i>>,
    /// Number of the table of each rule, and of each reading, of the model.
    sources: [Vec<usize>; 2],
}

impl<'a, 'i> Model<'a, 'i> {
    fn without_tables(noise: NoiseModel) -> Model<'a, 'i> {
        Model { noise, rules: Vec::new(), readings: Vec::new(), sources: [Vec::new(), Vec::new()] }
    }

    fn read(file: &'a File, table: &'a DeTable<'i>) -> Result<Model<'a, 'i>, Failure> {
        let mut top = Section::top(file, table);
        let (rules, readings) = (top.sections("noise")?, top.sections("reading")?);
        top.finish()?;
        let sources = [Vec::new(), Vec::new()];
        let mut model = Model { noise: NoiseModel::new(), rules, readings, sources };
        for k in 0..model.rules.len() {
            for rule in read_rule(&mut model.rules[k], &mut model.noise)? {
                model.noise.push(rule);
                model.sources[0].push(k);
            }
        }
        for k in 0..model.readings.len() {
            let count = read_reading(&mut model.readings[k], &mut model.noise)?;
            model.sources[1].extend(std::iter::repeat_n(k, count));
        }
        Ok(model)
    }

    /// Warns of the tables that do nothing to a circuit, which is measured as `measured` is.
    fn warn(&self, circuit: &Circuit, measured: &Circuit, terminal: &Terminal) {
        let [rules, _] = self.noise.unused(circuit);
        let [_, readings] = self.noise.unused(measured);
        let does_nothing = |k: usize, unused: &[usize], sources: &[usize]| {
            sources.iter().enumerate().all(|(rule, of)| *of != k || unused.contains(&rule))
        };
        let idle_rules =
            (0..self.rules.len()).filter(|&k| does_nothing(k, &rules, &self.sources[0]));
        let idle_rules = idle_rules.map(|k| {
            let message =
                "this noise acts nowhere: the circuit has no such instruction on such qubits";
            self.rules[k].warning(message, None)
        });
        let is_measured = measured
            .instructions()
            .iter()
            .any(|i| matches!(i.operation, Operation::Measure { .. }));
        let help =
            (!is_measured).then_some("shots, of `run` and of `grad --shots`, measure every qubit");
        let idle_readings =
            (0..self.readings.len()).filter(|&k| does_nothing(k, &readings, &self.sources[1]));
        let idle_readings = idle_readings.map(|k| {
            let message = "this reading acts nowhere: the circuit measures no such qubit";
            self.readings[k].warning(message, help)
        });
        for (remark, source) in idle_rules.chain(idle_readings) {
            terminal.warn(&[remark], &[source]);
        }
    }
}

/// Returns true if values are given one by one; their number is that of `places`, which are those
/// of a key.
fn one_by_one(
    lengths: impl Iterator<Item = Option<usize>>,
    key: &'static str,
    (of, places): (&str, Option<usize>),
    section: &Section<'_, '_>,
) -> Result<bool, Failure> {
    let mut several = false;
    for length in lengths.flatten() {
        several = true;
        match places {
            Some(places) if places == length => {}
            Some(places) => {
                let message =
                    format!("a list has a value for each of `{of}`: {places}, not {length}");
                return Err(section.wrong(key, message));
            }
            None => {
                let message = format!("a list has a value for each of `{of}`, which is not given");
                return Err(section.wrong(key, message));
            }
        }
    }
    Ok(several)
}

fn read_reading(section: &mut Section<'_, '_>, model: &mut NoiseModel) -> Result<usize, Failure> {
    let qubits = read_qubits(section)?;
    if let Some(rows) = section.values("matrix", readout_row)? {
        section.finish()?;
        let qubits = qubits
            .ok_or_else(|| section.wrong("matrix", "`qubits` says which are read together"))?;
        model.readout_matrix(&qubits, &rows).map_err(|e| section.wrong("matrix", e))?;
        return Ok(1);
    }
    let chances = [
        section.read("p0", |value| Each::read(value, Strength::read))?,
        section.read("p1", |value| Each::read(value, Strength::read))?,
    ];
    section.finish()?;
    let chances = chances.map(|p| p.unwrap_or(Each::All(Strength::Number(0.0))));
    let mut several = false;
    for (key, chance) in ["p0", "p1"].into_iter().zip(&chances) {
        let places = ("qubits", qubits.as_ref().map(Vec::len));
        several |= one_by_one([chance.len()].into_iter(), key, places, section)?;
    }
    let groups: Vec<Option<Vec<usize>>> = match (several, qubits) {
        (true, Some(qubits)) => qubits.into_iter().map(|q| Some(vec![q])).collect(),
        (_, qubits) => vec![qubits],
    };
    for (k, qubits) in groups.iter().enumerate() {
        let [p0, p1] =
            [0, 1].map(|of: usize| chances[of].get(k).map(|p| p.angle(model)).unwrap_or_default());
        match qubits {
            Some(qubits) => model.readout_error_on(qubits, p0, p1),
            None => model.readout_error(p0, p1),
        };
    }
    Ok(groups.len())
}

/// Returns the rules of a table: one for each list of `gate_qubits`, and for each qubit that has
/// rates of its own.
fn read_rule(
    rule: &mut Section<'_, '_>,
    model: &mut NoiseModel,
) -> Result<Vec<NoiseRule>, Failure> {
    let after = match (rule.strings("after")?, rule.integer("width", 1, MOST_WIDTH)?) {
        (names, None) if names.is_empty() => After::AllGates,
        (names, Some(width)) if names.is_empty() => After::Gates(width as usize),
        (_, Some(_)) => {
            return Err(rule.wrong("width", "`after` says which instructions: one of both"));
        }
        (names, None) => After::named(names).map_err(|e| rule.wrong("after", e))?,
    };
    let (gate_qubits, qubits) = (read_gate_qubits(rule)?, read_qubits(rule)?);
    let source = read_source(rule)?;
    rule.finish()?;
    if matches!(source, ChannelSource::Delay(..))
        && after != After::These(vec![InstructionKind::Delay])
    {
        return Err(
            rule.wrong("relaxation", "the time of a delay is one after = [\"delay\"] alone")
        );
    }
    let places = match source.n_qubits() {
        1 => ("qubits", qubits.as_ref().map(Vec::len)),
        _ => ("gate_qubits", gate_qubits.as_ref().map(Vec::len)),
    };
    let several = one_by_one(source.lengths().into_iter(), source.key(), places, rule)?;
    let gates: Vec<Option<Vec<usize>>> = match gate_qubits {
        Some(lists) => lists.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let by_qubit = several && source.n_qubits() == 1;
    let groups: Vec<Option<Vec<usize>>> = match (by_qubit, qubits) {
        (true, Some(qubits)) => qubits.into_iter().map(|q| Some(vec![q])).collect(),
        (_, qubits) => vec![qubits],
    };
    let mut rules = Vec::new();
    for (g, gate) in gates.iter().enumerate() {
        for (q, qubits) in groups.iter().enumerate() {
            for mut one in source.rules(if by_qubit { q } else { g }, &after, rule, model)? {
                if let Some(gate) = gate {
                    one = one.gate_qubits(gate);
                }
                if let Some(qubits) = qubits {
                    one = one.qubits(qubits);
                }
                rules.push(one);
            }
        }
    }
    Ok(rules)
}

/// Returns a row of a readout matrix.
fn readout_row(value: &DeValue<'_>) -> Result<Vec<f64>, String> {
    let row = value.as_array().ok_or("expected rows of numbers: [[0.99, 0.01], [0.02, 0.98]]")?;
    row.iter().map(|p| real(p.get_ref())).collect()
}

fn read_qubits(section: &mut Section<'_, '_>) -> Result<Option<Vec<usize>>, Failure> {
    section.read("qubits", qubit_list)
}

fn read_gate_qubits(section: &mut Section<'_, '_>) -> Result<Option<Vec<Vec<usize>>>, Failure> {
    section.read("gate_qubits", |value| {
        let lists = value.as_array().filter(|list| !list.is_empty());
        let lists = lists.ok_or("expected lists of the qubits of gates, [[0, 1], [1, 2]]")?;
        lists.iter().map(|list| qubit_list(list.get_ref())).collect()
    })
}

/// Qubits, none of them twice.
fn qubit_list(value: &DeValue<'_>) -> Result<Vec<usize>, String> {
    let list =
        value.as_array().filter(|list| !list.is_empty()).ok_or("expected a list of qubits")?;
    let mut qubits = Vec::with_capacity(list.len());
    for one in list {
        // It is below 2^32.
        let qubit = integer(one.get_ref(), 0, u64::from(u32::MAX))? as usize;
        if qubits.contains(&qubit) {
            return Err(format!("qubit {qubit} occurs twice"));
        }
        qubits.push(qubit);
    }
    Ok(qubits)
}
