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
use toml::de::{DeTable, DeValue};

use crate::{
    files::read_text,
    options::{Common, Precision, Run, Verb},
    parse::{MAX_THREADS, parse_size},
    plugins_table::{self, PluginsTable},
    report::Failure,
    toml_values::{boolean, count, in_order, integer, string, strings},
};

/// Contents of a config file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigFile {
    top: Common,
    /// The options of every verb in `[run]`.
    in_run: Common,
    /// The table `[run]`.
    pub(crate) run: Run,
    /// The tables `[plugins]`, `[[plugin]]` and `[[rule]]`.
    pub(crate) plugins: PluginsTable,
}

/// Puts a value where it belongs, or says what was expected.
type Setter<T> = fn(&mut T, &DeValue<'_>) -> Result<(), String>;

/// The options of every verb.
const COMMON: &[(&str, Setter<Common>)] = &[
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
const RUN: &[(&str, Setter<Run>)] = &[
    ("memory", |r, v| boolean(v).map(|b| r.memory = b)),
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
    pub(crate) fn read(path: &Path) -> Result<ConfigFile, Failure> {
        let (name, text) = read_text(path)?;
        ConfigFile::parse(&name, &text)
    }

    /// Reads the text of a config file.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong.
    pub(crate) fn parse(name: &str, text: &str) -> Result<ConfigFile, Failure> {
        let fail = |message: String, span: Range<usize>, label: &str| {
            Failure::input(message).with_label(name, text, span, label)
        };
        let document = DeTable::parse(text)
            .map_err(|e| fail(e.message().to_owned(), e.span().unwrap_or(0..0), ""))?;
        let plugins = plugins_table::read(name, text, document.get_ref())?;
        let mut config = ConfigFile { plugins, ..ConfigFile::default() };
        for (key, value) in in_order(document.get_ref()) {
            let (key_name, key_span) = (key.get_ref().as_ref(), key.span());
            let wrong = |why: String| fail(format!("`{key_name}`: {why}"), value.span(), "");
            if let Some(set) = setter(COMMON, key_name) {
                set(&mut config.top, value.get_ref()).map_err(wrong)?;
                continue;
            }
            if plugins_table::KEYS.contains(&key_name) {
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
                return Err(failure
                    .nearest(key_name, names(COMMON).chain(["run"]).chain(plugins_table::KEYS)));
            };
            for (key, value) in in_order(table) {
                let name = key.get_ref().as_ref();
                let wrong = |why: String| fail(format!("`run.{name}`: {why}"), value.span(), "");
                if let Some(set) = setter(COMMON, name) {
                    set(&mut config.in_run, value.get_ref()).map_err(wrong)?;
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
    pub(crate) fn common(&self, verb: &Verb) -> Common {
        match verb {
            Verb::Run(_) => self.in_run.clone().or(&self.top),
            _ => self.top.clone(),
        }
    }
}

fn setter<T>(table: &[(&str, Setter<T>)], key: &str) -> Option<Setter<T>> {
    table.iter().find(|row| row.0 == key).map(|row| row.1)
}

fn names<T>(table: &'static [(&'static str, Setter<T>)]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|row| row.0)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::CommandLine;

    fn error(text: &str) -> String {
        ConfigFile::parse("c.toml", text).unwrap_err().render(false)
    }

    #[test]
    fn options_are_read_and_the_verb_wins() {
        let text =
            "seed = 1\nthreads = 2\n[run]\nseed = 3\nobservable = 'Z0'\nmemory_limit = '1KiB'\n";
        let config = ConfigFile::parse("c.toml", text).unwrap();
        let line = |verb| CommandLine::try_parse_from(["ketgrad", verb, "-"]).unwrap();
        let common = config.common(&line("run").verb);
        assert_eq!(
            (common.seed, common.threads, common.memory_limit),
            (Some(3), Some(2), Some(1024))
        );
        assert_eq!(config.common(&line("draw").verb).seed, Some(1));
        assert_eq!(config.run.observables, ["Z0"]);
    }

    /// Options of `run` from the command line and a config file, as text, and if they fit together.
    fn settled(words: &[&str], config: &ConfigFile) -> (String, String, bool) {
        let words = ["ketgrad", "run", "-"].iter().chain(words);
        let line = CommandLine::try_parse_from(words).unwrap();
        let common = line.common.or(&config.common(&line.verb));
        let Verb::Run(mut run) = line.verb else { panic!("the verb is run") };
        let fits = run.settle(&config.run).is_ok();
        (format!("{common:?}"), format!("{run:?}"), fits)
    }

    #[test]
    fn a_key_is_the_option_of_its_name() {
        let keys = [
            ("threads", "2"),
            ("precision", "'f32'"),
            ("backend", "'cpu'"),
            ("seed", "7"),
            ("quiet", "true"),
            ("memory_limit", "'8GiB'"),
            ("max_steps", "1e6"),
            ("max_gates", "1_000"),
            ("json", "true"),
            ("allow_nonfinite", "true"),
            ("memory", "true"),
            ("shots", "5"),
            ("observable", "'Z0'"),
            ("observables", "'Z0'"),
            ("amplitudes", "true"),
            ("probabilities", "true"),
            ("variance", "true"),
            ("covariance", "true"),
        ];
        assert!(names(COMMON).chain(names(RUN)).eq(keys.map(|key| key.0)));
        let bare = settled(&[], &ConfigFile::default());
        for (key, value) in keys {
            let name = if key == "observables" { "observable" } else { key };
            let option = format!("--{}", name.replace('_', "-"));
            let words = [option.as_str(), value.trim_matches('\'')];
            let words = if value == "true" { &words[..1] } else { &words };
            let config = ConfigFile::parse("c.toml", &format!("[run]\n{key} = {value}\n")).unwrap();
            let given = settled(&[], &config);
            assert_eq!(given, settled(words, &ConfigFile::default()), "{key}");
            assert_ne!(given, bare, "{key}");
            assert_eq!(settled(words, &config), given, "{key}");
        }
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
