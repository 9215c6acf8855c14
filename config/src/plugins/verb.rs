//! `plugins list`, `plugins verify`, `plugins hash`.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Instant,
};

use ketgrad_plugin_host::{Finding, Known, Plugins, Report, Verdict, conform, conform_kernels, sha256_of};
use serde_json::{Value, json};

use crate::{
    files::cannot,
    options::{Common, PluginsWork},
    plugins::points,
    report::{Failure, Status},
    terminal::{Answer, Terminal},
};

/// The qubits of the largest states on which devices and gate kernels are compared: some seconds' work for one without
/// hardware.
const DEVICE_QUBITS: usize = 16;

/// What is there, and whether it agrees with itself.
struct Shown {
    text: String,
    json: Value,
    as_json: bool,
    status: Status,
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

/// Does what `plugins` shall do.
///
/// # Errors
/// [`Failure`] if a rule of the config is at fault or a file cannot be read. A plugin that cannot be loaded is part of
/// the answer.
pub fn plugins(work: &PluginsWork, common: &Common, _: &Terminal) -> Result<Box<dyn Answer>, Failure> {
    let start = Instant::now();
    let mut shown = match work {
        PluginsWork::List => list(common, None)?,
        PluginsWork::Verify(at) => list(common, Some(at))?,
        PluginsWork::Hash(files) => hash(files, common)?,
    };
    shown.as_json = common.json;
    shown.json["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok(Box::new(shown))
}

/// What is loaded; with points, of which there may be none, also whether it agrees.
fn list(common: &Common, verify: Option<&[String]>) -> Result<Shown, Failure> {
    let table = &common.plugins;
    let mut table = table.clone();
    if verify.is_some() {
        // Disagreements are told one by one, not as the reason why nothing was loaded.
        table.settings.verify = false;
    }
    let (plugins, failures) = table.load_all();
    // What is wrong with a plugin is in its report; what is wrong with a rule of the config is nowhere else.
    let wrong = plugins.reports().iter().find(|r| !r.loaded);
    if let Some(failure) = failures.of_rules.into_iter().next() {
        return Err(match wrong {
            Some(report) => {
                failure.help(format_args!("plugin `{}` is not loaded: {}", report.name, report.reason))
            }
            None => failure,
        });
    }
    let mut text = String::new();
    let mut all = Vec::new();
    for report in plugins.reports() {
        text += &line(report);
        all.push(json!({
            "name": report.name,
            "path": report.path,
            "loaded": report.loaded,
            "reason": report.reason,
            "rules": report.rules,
            "kernels": report.kernels,
            "sha256": report.sha256,
            "version": report.version,
            "notes": report.notes,
        }));
    }
    for entry in table.plugins.iter().filter(|p| !p.enabled) {
        let name = &entry.request.name;
        text += &format!("{name}  not loaded: the config says enabled = false\n");
        let reason = "the config says enabled = false";
        all.push(json!({"name": name, "path": null, "loaded": false, "reason": reason, "rules": [], "kernels": []}));
    }
    let rules = plugins.names_of(&table.owner());
    if !rules.is_empty() {
        text += &format!("{}\n{}", table.owner(), names("rules", &rules));
    }
    if text.is_empty() {
        text = "no plugins: name some in a config file, --config FILE.toml\n".to_owned();
    }
    let mut object = json!({"plugins": all});
    let mut status = Status::Done;
    if let Some(at) = verify {
        let verdicts = plugins.verify_at(&points::read(at, &plugins)?);
        let (said, list) = told(&verdicts);
        text += &said;
        object["verdicts"] = list;
        let (backends, all_conform) = backends(&plugins);
        for backend in &backends {
            text += &format!("{}  {}\n", backend.name, backend.said);
        }
        // Also what only the comparisons have brought out.
        let noticed = plugins.noticed();
        noticed.iter().for_each(|note| text += &format!("{note}\n"));
        object["noticed"] = json!(noticed);
        let (on_devices, here): (Vec<_>, Vec<_>) = backends.iter().partition(|b| b.is_device);
        let list = |all: Vec<&Compared>| all.into_iter().map(Compared::json).collect::<Value>();
        object["devices"] = list(on_devices);
        object["kernels"] = list(here);
        if wrong.is_some() || !all_conform || verdicts.iter().any(|v| v.disagreement.is_some()) {
            status = Status::Refused;
        }
    }
    Ok(Shown { text, json: object, as_json: false, status })
}

fn line(report: &Report) -> String {
    let Report { name, path, loaded, reason, rules, kernels, version, notes, .. } = report;
    if !loaded {
        return format!("{name}  not loaded: {reason}\n");
    }
    let path = path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
    let mut text = format!("{name}  {} from {path}\n", version.as_deref().unwrap_or("loaded"));
    for (what, list) in [("rules", rules), ("kernels", kernels)] {
        if !list.is_empty() {
            text += &names(what, list);
        }
    }
    notes.iter().for_each(|note| text += &format!("  {note}\n"));
    text
}

fn names(what: &str, list: &[String]) -> String {
    format!("  {what:8} {}\n", list.join(" "))
}

fn told(verdicts: &[Verdict]) -> (String, Value) {
    let width = verdicts.iter().map(|v| v.rule.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut list = Vec::new();
    for Verdict { rule, points, disagreement, note, partly } in verdicts {
        let said = match (disagreement, note) {
            (Some(reason), _) => reason.clone(),
            (None, Some(note)) => format!("not compared: {note}"),
            (None, None) => match partly {
                Some(partly) => format!("agrees in {points} comparisons ({partly})"),
                None => format!("agrees in {points} comparisons"),
            },
        };
        text += &format!("{rule:width$}  {said}\n");
        // What was not compared is neither right nor wrong.
        let agrees = note.is_none().then_some(disagreement.is_none());
        list.push(json!({"rule": rule, "agrees": agrees, "comparisons": points, "reason": said}));
    }
    (text, Value::Array(list))
}

/// What came of a device, or of gate kernels in the host's memory.
struct Compared {
    name: String,
    plugin: String,
    is_device: bool,
    /// `None` if it was not compared.
    agrees: Option<bool>,
    comparisons: usize,
    said: String,
}

impl Compared {
    fn json(&self) -> Value {
        let Compared { name, plugin, is_device, agrees, comparisons, said } = self;
        // A device that declines is one that nobody would be given.
        let agrees = if *is_device { json!(agrees.unwrap_or(true)) } else { json!(agrees) };
        json!({"name": name, "plugin": plugin, "agrees": agrees, "comparisons": comparisons, "reason": said})
    }
}

/// Compares each device and the gate kernels of each plugin with those of this program; and whether all conform.
fn backends(plugins: &Plugins) -> (Vec<Compared>, bool) {
    let known = plugins.known(DEVICE_QUBITS, 1);
    let of_devices = plugins.devices();
    let here = plugins.host_kernels();
    let compared = known.iter().map(|known| {
        let suite = || match known.is_device {
            true => of_devices.iter().find(|d| d.name() == known.name).map(|d| conform(d, DEVICE_QUBITS)),
            false => here.iter().find(|k| k.name() == known.name).map(|k| conform_kernels(k, DEVICE_QUBITS)),
        };
        compared(known, || suite().unwrap_or_default())
    });
    let all: Vec<Compared> = compared.collect();
    let conform = all.iter().all(|c| c.agrees != Some(false));
    (all, conform)
}

fn compared(known: &Known, suite: impl FnOnce() -> Vec<Finding>) -> Compared {
    let (agrees, comparisons, said) = match &known.fault {
        Some(fault) => (Some(false), 0, fault.clone()),
        None if known.double == 0 && known.single == 0 => {
            let declines = format!("not compared: it declines. {}", known.description);
            (None, 0, declines.trim_end().to_owned())
        }
        None => {
            let findings = suite();
            let wrong: Vec<String> =
                findings.iter().filter(|f| !f.holds()).map(ToString::to_string).collect();
            let all = format!("agrees in {} comparisons", findings.len());
            let said = if wrong.is_empty() { all } else { wrong.join("; ") };
            (Some(wrong.is_empty()), findings.len(), said)
        }
    };
    let Known { name, plugin, is_device, .. } = known;
    Compared { name: name.clone(), plugin: plugin.clone(), is_device: *is_device, agrees, comparisons, said }
}

fn hash(files: &[PathBuf], common: &Common) -> Result<Shown, Failure> {
    let of_config = || {
        let found = |p: &crate::plugins::PluginEntry| {
            p.request.candidates.iter().find(|c| c.is_file()).or(p.request.candidates.first()).cloned()
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
