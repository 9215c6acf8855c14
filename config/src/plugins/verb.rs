//! `plugins list`, `plugins verify`, `plugins hash`.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use ketgrad_plugin_host::sha256_of;
use serde_json::{Value, json};

use super::{
    found::Found,
    sandbox,
    verify::{Part, list, verify},
};
use crate::{
    files::cannot,
    options::{Common, PluginsVerb},
    plugins_table::PluginEntry,
    report::{Failure, Status},
    terminal::{Answer, Terminal},
};

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
