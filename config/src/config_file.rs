//! The config file: TOML with the names of the command line.
//!
//! ```toml
//! threads = 4                 # options of every verb
//! memory_limit = "8GiB"
//! backend = "cpu"             # or "auto", or the name of one
//!
//! [run]                       # options of one verb; those of every verb may be here too
//! shots = 2000
//! observables = ["Z0", "@h2.txt"]
//! ```
//!
//! A key that is not known, and a value of the wrong type, is an error that underlines it. The keys
//! are one table each, `COMMON` and `RUN`.

use std::{ops::Range, path::Path};

use clap::ValueEnum;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    args::{CommonArgs, MAX_THREADS, Precision, parse_count},
    files::read_text,
    memory::parse_size,
    plugins::{self, PluginsTable},
    report::Failure,
};

/// Contents of a config file.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    top: CommonArgs,
    /// The table `[run]`.
    pub run: RunTable,
    /// The tables `[plugins]`, `[[plugin]]` and `[[rule]]`.
    pub plugins: PluginsTable,
}

/// The table `[run]`.
#[derive(Clone, Debug, Default)]
pub struct RunTable {
    common: CommonArgs,
    /// `shots`
    pub shots: Option<u64>,
    /// `observable` or `observables`
    pub observables: Vec<String>,
    /// `amplitudes`
    pub amplitudes: bool,
    /// `probabilities`
    pub probabilities: bool,
    /// `variance`
    pub variance: bool,
    /// `covariance`
    pub covariance: bool,
}

/// Puts a value where it belongs, or says what was expected.
type Setter<T> = fn(&mut T, &DeValue<'_>) -> Result<(), String>;

/// The options of every verb.
const COMMON: &[(&str, Setter<CommonArgs>)] = &[
    ("threads", |c, v| {
        let n = integer(v, 1, MAX_THREADS as u64)?;
        c.threads = usize::try_from(n).ok();
        Ok(())
    }),
    ("precision", |c, v| {
        let text = string(v)?;
        c.precision =
            Some(Precision::from_str(&text, false).map_err(|_| "expected \"f64\" or \"f32\"")?);
        Ok(())
    }),
    ("backend", |c, v| string(v).map(|name| c.backend = Some(name))),
    ("seed", |c, v| integer(v, 0, u64::MAX).map(|n| c.seed = Some(n))),
    ("quiet", |c, v| boolean(v).map(|b| c.quiet = b)),
    ("memory_limit", |c, v| {
        c.memory_limit = Some(match v {
            DeValue::String(text) => parse_size(text).map_err(|e| e.to_string())?,
            _ => integer(v, 0, u64::MAX)
                .map_err(|_| "expected a size such as \"8GiB\" or a number of bytes".to_owned())?,
        });
        Ok(())
    }),
    ("max_steps", |c, v| count(v).map(|n| c.max_steps = Some(n))),
    ("max_gates", |c, v| count(v).map(|n| c.max_gates = Some(n))),
    ("json", |c, v| boolean(v).map(|b| c.json = b)),
    ("allow_nonfinite", |c, v| boolean(v).map(|b| c.allow_nonfinite = b)),
];

/// The options of `run`.
const RUN: &[(&str, Setter<RunTable>)] = &[
    ("shots", |r, v| integer(v, 1, u64::MAX).map(|n| r.shots = Some(n))),
    ("observable", |r, v| strings(v).map(|mut s| r.observables.append(&mut s))),
    ("observables", |r, v| strings(v).map(|mut s| r.observables.append(&mut s))),
    ("amplitudes", |r, v| boolean(v).map(|b| r.amplitudes = b)),
    ("probabilities", |r, v| boolean(v).map(|b| r.probabilities = b)),
    ("variance", |r, v| boolean(v).map(|b| r.variance = b)),
    ("covariance", |r, v| boolean(v).map(|b| r.covariance = b)),
];

impl ConfigFile {
    /// Reads a config file.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong.
    pub fn read(path: &Path) -> Result<ConfigFile, Failure> {
        let (name, text) = read_text(path)?;
        ConfigFile::parse(&name, &text)
    }

    /// Reads the text of a config file.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong.
    pub fn parse(name: &str, text: &str) -> Result<ConfigFile, Failure> {
        let fail = |message: String, span: Range<usize>, label: &str| {
            Failure::input(message).with_label(name, text, span, label)
        };
        let document = DeTable::parse(text)
            .map_err(|e| fail(e.message().to_owned(), e.span().unwrap_or(0..0), ""))?;
        let plugins = plugins::read(name, text, document.get_ref())?;
        let mut config = ConfigFile { plugins, ..ConfigFile::default() };
        for (key, value) in in_order(document.get_ref()) {
            let (key_name, key_span) = (key.get_ref().as_ref(), key.span());
            let wrong = |why: String| fail(format!("`{key_name}`: {why}"), value.span(), "");
            if let Some(set) = setter(COMMON, key_name) {
                set(&mut config.top, value.get_ref()).map_err(wrong)?;
                continue;
            }
            if plugins::KEYS.contains(&key_name) {
                continue;
            }
            let ("run", Some(table)) = (key_name, value.get_ref().as_table()) else {
                if key_name == "run" {
                    return Err(wrong("expected a table".to_owned()));
                }
                let failure = fail(format!("unknown key `{key_name}`"), key_span, "not an option");
                if setter(RUN, key_name).is_some() {
                    return Err(failure.help("it belongs under [run]"));
                }
                return Err(
                    failure.nearest(key_name, names(COMMON).chain(["run"]).chain(plugins::KEYS))
                );
            };
            for (key, value) in in_order(table) {
                let name = key.get_ref().as_ref();
                let wrong = |why: String| fail(format!("`run.{name}`: {why}"), value.span(), "");
                if let Some(set) = setter(COMMON, name) {
                    set(&mut config.run.common, value.get_ref()).map_err(wrong)?;
                } else if let Some(set) = setter(RUN, name) {
                    set(&mut config.run, value.get_ref()).map_err(wrong)?;
                } else {
                    let failure =
                        fail(format!("unknown key `run.{name}`"), key.span(), "not an option");
                    return Err(failure.nearest(name, names(RUN).chain(names(COMMON))));
                }
            }
        }
        Ok(config)
    }

    /// Returns the options of every verb, as a verb sees them: its own table wins over the top.
    #[must_use]
    pub fn common(&self, verb: &str) -> CommonArgs {
        let top = self.top.clone();
        if verb != "run" {
            return top;
        }
        let own = self.run.common.clone();
        CommonArgs {
            config: None,
            threads: own.threads.or(top.threads),
            precision: own.precision.or(top.precision),
            backend: own.backend.or(top.backend),
            seed: own.seed.or(top.seed),
            quiet: own.quiet || top.quiet,
            memory_limit: own.memory_limit.or(top.memory_limit),
            max_steps: own.max_steps.or(top.max_steps),
            max_gates: own.max_gates.or(top.max_gates),
            json: own.json || top.json,
            allow_nonfinite: own.allow_nonfinite || top.allow_nonfinite,
        }
    }
}

fn setter<T>(table: &[(&str, Setter<T>)], key: &str) -> Option<Setter<T>> {
    table.iter().find(|row| row.0 == key).map(|row| row.1)
}

fn names<T>(table: &'static [(&'static str, Setter<T>)]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|row| row.0)
}

/// Returns the entries in the order of the file.
pub(crate) fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|entry| entry.0.span().start);
    entries
}

pub(crate) fn integer(value: &DeValue<'_>, least: u64, most: u64) -> Result<u64, String> {
    let error = || format!("expected a whole number from {least} to {most}");
    let number = value.as_integer().ok_or_else(error)?;
    let number = u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| error())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(error()) }
}

/// Returns a whole number, which may be written as `1e9` too, as on the command line.
fn count(value: &DeValue<'_>) -> Result<u64, String> {
    match value {
        DeValue::Float(x) => parse_count(x.as_str()),
        DeValue::String(text) => parse_count(text),
        _ => integer(value, 0, u64::MAX),
    }
}

pub(crate) fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "expected true or false".to_owned())
}

pub(crate) fn string(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "expected a string".to_owned())
}

/// Returns a number, written with a point or without.
pub(crate) fn real(value: &DeValue<'_>) -> Result<f64, String> {
    let text = match value {
        DeValue::Float(x) => x.as_str(),
        DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
        _ => "",
    };
    match text.replace('_', "").parse() {
        Ok(x) if f64::is_finite(x) => Ok(x),
        _ => Err("expected a finite number".to_owned()),
    }
}

pub(crate) fn strings(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let error = || "expected a string or a list of strings".to_owned();
    match value {
        DeValue::String(text) => Ok(vec![text.clone().into_owned()]),
        DeValue::Array(list) => {
            list.iter().map(|v| v.get_ref().as_str().map(str::to_owned).ok_or_else(error)).collect()
        }
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        ConfigFile::parse("c.toml", text).unwrap_err().render(false)
    }

    #[test]
    fn options_are_read_and_the_verb_wins() {
        let text =
            "seed = 1\nthreads = 2\n[run]\nseed = 3\nobservable = 'Z0'\nmemory_limit = '1KiB'\n";
        let config = ConfigFile::parse("c.toml", text).unwrap();
        let common = config.common("run");
        assert_eq!(
            (common.seed, common.threads, common.memory_limit),
            (Some(3), Some(2), Some(1024))
        );
        assert_eq!(config.common("info").seed, Some(1));
        assert_eq!(config.run.observables, ["Z0"]);
    }

    #[test]
    fn faults_are_underlined() {
        let unknown = error("[run]\nshosts = 3\n");
        assert!(unknown.contains("unknown key `run.shosts`"), "{unknown}");
        assert!(unknown.contains("[c.toml:2:1]"), "{unknown}");
        assert!(unknown.contains("`shots`"), "{unknown}");
        let kind = error("[run]\nshots = 'many'\n");
        assert!(kind.contains("whole number") && kind.contains("[c.toml:2:9]"), "{kind}");
        assert!(error("shots = 3").contains("under [run]"));
        assert!(error("run = 3").contains("expected a table"));
        assert!(error("[run]\nthreads = 0").contains("from 1 to"));
        assert!(error("[run").contains("c.toml:1:"));
    }
}
