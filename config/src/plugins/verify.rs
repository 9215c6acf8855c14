//! Plugins and rules listed, and compared with what they should be.

use ketgrad_plugin_host::{NamedPoint, Plugins};

use super::{
    found::{Comparisons, Found, Row},
    points,
};
use crate::{
    plugins_table::PluginsTable,
    report::{Failure, Status},
};

/// The qubits of the largest states on which devices and gate kernels are compared: some seconds'
/// work for one without hardware.
const DEVICE_QUBITS: usize = 16;

/// Part of a config to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// One plugin, and what it brings.
    Plugin(String),
    /// The rules that are programs alone.
    Rules,
}

/// Lists the plugins that are loaded.
pub(super) fn list(table: &PluginsTable) -> Result<Found, Failure> {
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

/// Returns the points that are named. A part of the config lacks some rules: what fits
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
