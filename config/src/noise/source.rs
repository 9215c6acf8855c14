//! Sources of the noise of a rule: a named channel, operators, T1 and T2.

use ketgrad_core::{
    channel::{Channel, ChannelKind},
    circuit::{After, NoiseModel, NoiseRule},
    matrix::Matrix,
    param::{BindError, Values},
};
use num_complex::Complex;
use toml::{Spanned, de::DeValue};

use super::strength::{Each, Strength};
use crate::{
    report::Failure,
    section::Section,
    toml_values::{real, string},
};

/// Source of the channels of a rule.
pub(super) enum ChannelSource {
    Named(ChannelKind, Vec<Each<Strength>>),
    Operators(Channel),
    /// A time, T1 and T2.
    Relaxation([Each<f64>; 3]),
    /// T1 and T2 for as long as a delay is, and the length of a `dt`; in seconds.
    Delay([Each<f64>; 2], Option<f64>),
}

impl ChannelSource {
    pub(super) fn key(&self) -> &'static str {
        match self {
            ChannelSource::Named(..) => "parameters",
            ChannelSource::Operators(_) => "kraus",
            ChannelSource::Relaxation(_) | ChannelSource::Delay(..) => "relaxation",
        }
    }

    pub(super) fn n_qubits(&self) -> usize {
        match self {
            ChannelSource::Named(kind, _) => kind.n_qubits(),
            ChannelSource::Operators(channel) => channel.n_qubits(),
            ChannelSource::Relaxation(_) | ChannelSource::Delay(..) => 1,
        }
    }

    /// Returns the number of values of each parameter, if it is a list.
    pub(super) fn lengths(&self) -> Vec<Option<usize>> {
        match self {
            ChannelSource::Named(_, parameters) => parameters.iter().map(Each::len).collect(),
            ChannelSource::Operators(_) => Vec::new(),
            ChannelSource::Relaxation(times) => times.iter().map(Each::len).collect(),
            ChannelSource::Delay(times, _) => times.iter().map(Each::len).collect(),
        }
    }

    /// Returns the rules with value `k` of what is a list.
    pub(super) fn rules(
        &self,
        k: usize,
        after: &After,
        rule: &Section<'_, '_>,
        model: &mut NoiseModel,
    ) -> Result<Vec<NoiseRule>, Failure> {
        let channels = match self {
            ChannelSource::Named(kind, parameters) => {
                let angles = parameters.iter().filter_map(|p| p.get(k)).map(|p| p.angle(model));
                let channel = Channel::new(*kind, angles.collect::<Vec<_>>())
                    .map_err(|e| rule.wrong("parameters", e))?;
                // Numbers that are no channel show without a circuit.
                match channel.terms::<Complex<f64>>(&Values::<f64>(&[])) {
                    Err(e @ BindError::NoProbability { .. }) => {
                        return Err(rule.wrong("parameters", e));
                    }
                    _ => vec![channel],
                }
            }
            ChannelSource::Operators(channel) => vec![channel.clone()],
            ChannelSource::Relaxation(times) => {
                let [time, t1, t2] =
                    [0, 1, 2].map(|of: usize| times[of].get(k).copied().unwrap_or(f64::NAN));
                Channel::relaxation(time, t1, t2).map_err(|e| rule.wrong("relaxation", e))?.to_vec()
            }
            ChannelSource::Delay(times, dt) => {
                let [t1, t2] =
                    [0, 1].map(|of: usize| times[of].get(k).copied().unwrap_or(f64::NAN));
                let during = NoiseRule::delay_relaxation(t1, t2, *dt);
                return Ok(vec![during.map_err(|e| rule.wrong("relaxation", e))?]);
            }
        };
        Ok(channels.into_iter().map(|channel| NoiseRule::new(after.clone(), channel)).collect())
    }
}

pub(super) fn read_source(rule: &mut Section<'_, '_>) -> Result<ChannelSource, Failure> {
    let name = rule.string("channel")?;
    let parameters = rule.values("parameters", |value| Each::read(value, Strength::read))?;
    let kraus = rule.values("kraus", operator)?;
    let mut times = rule.section("relaxation")?;
    if times.read("time", |value| Ok(string(value).is_ok_and(|word| word == "delay")))?
        == Some(true)
    {
        if name.is_some() || kraus.is_some() || parameters.is_some() {
            return Err(rule.incomplete(ONE_SOURCE));
        }
        return read_delay(&mut times);
    }
    let mut of = |key| times.read(key, |value| Each::read(value, duration));
    let relaxation = [of("time")?, of("t1")?, of("t2")?];
    times.finish()?;
    match (name, kraus, relaxation) {
        (Some(name), None, [None, None, None]) => {
            let names: Vec<&str> = ChannelKind::ALL.iter().map(|kind| kind.name()).collect();
            let kind = ChannelKind::find(&name)
                .ok_or_else(|| rule.unknown_name("channel", &name, &names))?;
            Ok(ChannelSource::Named(kind, parameters.unwrap_or_default()))
        }
        (None, Some(operators), [None, None, None]) if parameters.is_none() => {
            Ok(ChannelSource::Operators(
                Channel::kraus(operators).map_err(|e| rule.wrong("kraus", e))?,
            ))
        }
        (None, None, [Some(time), Some(t1), Some(t2)]) if parameters.is_none() => {
            Ok(ChannelSource::Relaxation([time, t1, t2]))
        }
        _ => Err(rule.incomplete(ONE_SOURCE)),
    }
}

/// Error message that lists the possible sources of channels.
const ONE_SOURCE: &str =
    "one of `channel` with its `parameters`, `kraus`, and `relaxation` with time, t1 and t2";

/// Relaxation for as long as a delay is.
fn read_delay(times: &mut Section<'_, '_>) -> Result<ChannelSource, Failure> {
    let unit = times.string("unit")?;
    let mut of = |key| times.read(key, |value| Each::read(value, duration));
    let (t1, t2) = (of("t1")?, of("t2")?);
    let dt = times.read("dt", |value| real(value).map_err(|_| "expected a number".to_owned()))?;
    times.finish()?;
    let (Some(t1), Some(t2), Some(unit)) = (t1, t2, unit) else {
        return Err(
            times.incomplete("t1, t2 and their unit, s, ms, us or ns, since a delay has one")
        );
    };
    let units = ["s", "ms", "us", "ns"];
    let per_second = units.iter().zip([1.0, 1e3, 1e6, 1e9]).find(|(name, _)| **name == unit);
    let (_, per_second) = per_second.ok_or_else(|| times.unknown_name("unit", &unit, &units))?;
    let in_seconds = |times: Each<f64>| times.map(|time| time / per_second);
    Ok(ChannelSource::Delay([in_seconds(t1), in_seconds(t2)], dt.map(|dt| dt / per_second)))
}

/// Returns a time, which may be infinite.
fn duration(value: &DeValue<'_>) -> Result<f64, String> {
    let is_infinite = matches!(value, DeValue::Float(x) if matches!(x.as_str(), "inf" | "+inf"));
    if is_infinite {
        Ok(f64::INFINITY)
    } else {
        real(value).map_err(|_| "expected a number or inf".to_owned())
    }
}

/// Returns a Kraus operator, as a list of rows.
fn operator(value: &DeValue<'_>) -> Result<Matrix<Complex<f64>>, String> {
    let rows = value.as_array().ok_or("expected operators, each a list of rows")?.iter();
    let row = |row: &Spanned<DeValue<'_>>| {
        let entries = row.get_ref().as_array().ok_or("expected a row, a list of entries")?;
        entries.iter().map(|x| entry(x.get_ref())).collect()
    };
    let rows = rows.map(row).collect::<Result<Vec<_>, String>>()?;
    Matrix::from_rows(rows).map_err(|e| e.to_string())
}

/// Parses `0.5`, or `[0.5, -1]` with an imaginary part.
fn entry(value: &DeValue<'_>) -> Result<Complex<f64>, String> {
    let parts =
        value.as_array().map(|list| list.iter().map(|x| real(x.get_ref())).collect::<Vec<_>>());
    match parts.as_deref() {
        None => real(value).map(Complex::from),
        Some([Ok(re), Ok(im)]) => Ok(Complex::new(*re, *im)),
        Some(_) => {
            Err("expected a number, or a list of its real and its imaginary part".to_owned())
        }
    }
}
