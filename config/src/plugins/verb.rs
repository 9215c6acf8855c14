//! `plugins list`, `plugins verify`, `plugins hash`.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use ketgrad_plugin_host::{NamedPoint, Plugins, sha256_of};
use serde_json::{Value, json};

use crate::{
    files::cannot,
    options::{Common, PluginsVerb},
    plugins::{
        found::{Comparisons, Found, Row},
        points, sandbox,
    },
    plugins_table::{PluginEntry, PluginsTable},
    report::{Failure, Status},
    terminal::{Answer, Terminal},
};

/// The qubits of the largest states on which devices and gate kernels are compared: some seconds'
/// work for one without hardware.
const DEVICE_QUBITS: usize = 16;

/// Plugins and rules that are loaded, and the result of their checks.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) json: Value,
    pub(super) as_json: bool,
    pub(super) status: Status,
}

impl Answer for Shown {
    fn status(&self) -> Status {
        self.status
    }
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.as_json {
            serde_json::to_writer(&mut *out, &self.json)?;
            return writeln!(out);
        }
        out.write_all(self.text.as_bytes())
    }
}

/// Part of a config to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// One plugin, and what it brings.
    Plugin(String),
    /// The rules that are programs alone.
    Rules,
}

/// Runs `plugins`.
///
/// # Errors
/// [`Failure`] if a rule of the config is at fault or a file cannot be read. A plugin that cannot
/// be loaded is part of the answer.
pub(crate) fn plugins(
    verb: &PluginsVerb,
    common: &Common,
    _: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let start = Instant::now();
    let mut shown = match verb {
        PluginsVerb::List => shown(&list(&common.plugins)?),
        PluginsVerb::Hash { files } => hash(files, common)?,
        PluginsVerb::Verify { at, sandboxed, task } => match (task, sandboxed) {
            (Some(task), _) => return sandbox::inside(task, at, common),
            (None, Some(seconds)) => {
                let limit = Duration::from_secs(u64::from(*seconds));
                verified(&sandbox::verify(limit, at, common)?)
            }
            (None, None) => verified(&verify(&common.plugins, &Part::All, at)?),
        },
    };
    shown.as_json = common.json;
    shown.json["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok(Box::new(shown))
}

fn shown(found: &Found) -> Shown {
    Shown { text: found.text(), json: found.json(), as_json: false, status: Status::Done }
}

fn verified(found: &Found) -> Shown {
    let status = if found.is_right() { Status::Done } else { Status::Refused };
    Shown { status, ..shown(found) }
}

/// Lists the plugins that are loaded.
fn list(table: &PluginsTable) -> Result<Found, Failure> {
    Ok(loaded(table, &Part::All)?.1)
}

/// Lists the plugins that are loaded and verifies them.
pub(super) fn verify(table: &PluginsTable, part: &Part, at: &[String]) -> Result<Found, Failure> {
    // Disagreements are told one by one, not as the reason why nothing was loaded.
    let mut table = table.clone();
    table.settings.verify = false;
    let (plugins, mut found) = loaded(&table, part)?;
    let is_whole =
        *part == Part::All || *part == Part::Rules && found.plugins.iter().all(|row| row.loaded);
    let points = points(at, &plugins, is_whole)?;
    let (rules, backends) = match part {
        Part::All => (plugins.names(), plugins.verify_backends(DEVICE_QUBITS, None)),
        Part::Plugin(name) => {
            (plugins.names_from(name), plugins.verify_backends(DEVICE_QUBITS, Some(name)))
        }
        Part::Rules => (plugins.names_of(&table.owner()), vec![]),
    };
    let verdicts = plugins.verify_rules(&rules, &points).into_iter().map(Into::into).collect();
    let backends = backends.into_iter().map(Into::into).collect();
    // Also what only the comparisons have brought out.
    let noticed = if *part == Part::Rules { vec![] } else { plugins.noticed() };
    found.compared = Some(Comparisons { verdicts, backends, noticed });
    if *part == Part::Rules {
        found.plugins.clear();
    }
    Ok(found)
}

/// Returns the points that are named. Of a part of the config not all rules are there: what fits
/// none is for another.
fn points(
    at: &[String],
    plugins: &Plugins,
    is_whole: bool,
) -> Result<Vec<(String, NamedPoint)>, Failure> {
    if is_whole {
        return points::read(at, plugins);
    }
    let mut all = Vec::new();
    for one in at {
        match points::read(std::slice::from_ref(one), plugins) {
            Ok(points) => all.extend(points),
            Err(failure) if failure.status == Status::Usage => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(all)
}

/// Loads the plugins of the part, with a row for each.
fn loaded(table: &PluginsTable, part: &Part) -> Result<(Plugins, Found), Failure> {
    let (plugins, failures) = table.load_all();
    // An error of a plugin is in its report; an error of a rule of the config is
    // nowhere else.
    if let Some(failure) = failures.of_rules.into_iter().next() {
        return Err(match plugins.reports().iter().find(|r| !r.loaded) {
            Some(report) => failure
                .help(format_args!("plugin `{}` is not loaded: {}", report.name, report.reason)),
            None => failure,
        });
    }
    let is_shown = |name: &str| !matches!(part, Part::Plugin(only) if only != name);
    let there = plugins.reports().iter().filter(|report| is_shown(&report.name)).map(Row::from);
    let disabled = disabled(table).filter(|_| *part == Part::All);
    let rows = there.chain(disabled).collect();
    let rules = plugins.names_of(&table.owner());
    Ok((plugins, Found { plugins: rows, owner: table.owner(), rules, compared: None }))
}

/// Returns the plugins that the config itself leaves out.
pub(super) fn disabled(table: &PluginsTable) -> impl Iterator<Item = Row> {
    table.plugins.iter().filter(|entry| !entry.enabled).map(|entry| Row {
        name: entry.request.name.clone(),
        reason: "the config says enabled = false".to_owned(),
        is_disabled: true,
        ..Row::default()
    })
}

fn hash(files: &[PathBuf], common: &Common) -> Result<Shown, Failure> {
    let of_config = || {
        let found = |p: &PluginEntry| {
            p.request
                .candidates
                .iter()
                .find(|c| c.is_file())
                .or(p.request.candidates.first())
                .cloned()
        };
        common.plugins.plugins.iter().filter_map(found).collect()
    };
    let files: Vec<PathBuf> = if files.is_empty() { of_config() } else { files.to_vec() };
    if files.is_empty() {
        return Err(Failure::usage("name the files, or a config that does: --config FILE.toml"));
    }
    let mut text = String::new();
    let mut all = Vec::new();
    for file in &files {
        let shown = file.display().to_string();
        let sha256 = sha256_of(file).map_err(|e| cannot("read", &shown, &e))?;
        text += &format!("{sha256}  {shown}\n");
        let name = file.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        all.push(json!({"name": name, "path": shown, "sha256": sha256}));
    }
    Ok(Shown { text, json: json!({"plugins": all}), as_json: false, status: Status::Done })
}
