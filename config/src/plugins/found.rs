//! Findings of `plugins list` and `plugins verify`, as text and as JSON.

use ketgrad_plugin_host::{BackendVerdict, Report, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Findings. A process in a sandbox hands them to the process that started it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) plugins: Vec<Row>,
    /// Owner of the rules that are programs alone.
    pub(super) owner: String,
    /// Rules that are programs alone.
    pub(super) rules: Vec<String>,
    /// `None` where nothing was to be compared.
    pub(super) compared: Option<Comparisons>,
}

/// A plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) loaded: bool,
    pub(super) reason: String,
    pub(super) rules: Vec<String>,
    pub(super) kernels: Vec<String>,
    pub(super) sha256: Option<String>,
    pub(super) version: Option<String>,
    pub(super) notes: Vec<String>,
    /// True if the config itself disables it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(super) is_disabled: bool,
}

/// Results of the comparisons.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Comparisons {
    pub(super) verdicts: Vec<Told>,
    pub(super) backends: Vec<PluginComparison>,
    /// Side effects that calls left.
    pub(super) noticed: Vec<String>,
}

/// Result of checking a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    rule: String,
    /// `None` if it was not compared: neither right nor wrong.
    agrees: Option<bool>,
    comparisons: usize,
    reason: String,
}

/// Result of comparing a device, or gate kernels in the host's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PluginComparison {
    pub(super) name: String,
    pub(super) plugin: String,
    pub(super) is_device: bool,
    /// `None` if it was not compared.
    pub(super) agrees: Option<bool>,
    pub(super) comparisons: usize,
    pub(super) said: String,
}

impl From<&Report> for Row {
    fn from(report: &Report) -> Row {
        let Report { name, path, sha256, version, loaded, reason, rules, kernels, notes, .. } =
            report.clone();
        let path = path.map(|path| path.display().to_string());
        Row {
            name,
            path,
            loaded,
            reason,
            rules,
            kernels,
            sha256,
            version,
            notes,
            is_disabled: false,
        }
    }
}

impl From<Verdict> for Told {
    fn from(verdict: Verdict) -> Told {
        let Verdict { rule, points, disagreement, note, partly, .. } = verdict;
        let agrees = note.is_none().then_some(disagreement.is_none());
        let reason = match (disagreement, note, partly) {
            (Some(reason), ..) => reason,
            (None, Some(note), _) => format!("not compared: {note}"),
            (None, None, Some(partly)) => format!("agrees in {points} comparisons ({partly})"),
            (None, None, None) => format!("agrees in {points} comparisons"),
        };
        Told { rule, agrees, comparisons: points, reason }
    }
}

impl From<BackendVerdict> for PluginComparison {
    fn from(verdict: BackendVerdict) -> PluginComparison {
        let BackendVerdict { name, plugin, is_device, comparisons, disagreement, note, .. } =
            verdict;
        let agrees = note.is_none().then_some(disagreement.is_none());
        let said = match (disagreement, note) {
            (Some(wrong), _) => wrong,
            (None, Some(note)) => format!("not compared: {note}"),
            (None, None) => format!("agrees in {comparisons} comparisons"),
        };
        PluginComparison { name, plugin, is_device, agrees, comparisons, said }
    }
}

impl Found {
    /// Returns true if nothing that was compared is wrong, and every plugin is loaded that should
    /// be.
    pub(super) fn is_right(&self) -> bool {
        let none = Comparisons::default();
        let compared = self.compared.as_ref().unwrap_or(&none);
        self.plugins.iter().all(|row| row.loaded || row.is_disabled)
            && compared.verdicts.iter().all(|told| told.agrees != Some(false))
            && compared.backends.iter().all(|backend| backend.agrees != Some(false))
    }

    /// Adds what was found elsewhere.
    pub(super) fn join(&mut self, other: Found) {
        let Found { plugins, owner, rules, compared } = other;
        self.plugins.extend(plugins);
        self.owner = owner;
        self.rules.extend(rules);
        if let Some(Comparisons { verdicts, backends, noticed }) = compared {
            let all = self.compared.get_or_insert_default();
            all.verdicts.extend(verdicts);
            all.backends.extend(backends);
            all.noticed.extend(noticed);
        }
    }

    /// Puts rules that were compared one after the other in the order in which they are compared
    /// together.
    pub(super) fn sort(&mut self) {
        if let Some(compared) = &mut self.compared {
            compared.verdicts.sort_by(|a, b| a.rule.cmp(&b.rule));
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text: String = self.plugins.iter().map(Row::text).collect();
        if !self.rules.is_empty() {
            text += &format!("{}\n{}", self.owner, names("rules", &self.rules));
        }
        if text.is_empty() {
            text = "no plugins: name some in a config file, --config FILE.toml\n".to_owned();
        }
        let Some(compared) = &self.compared else { return text };
        let width = compared.verdicts.iter().map(|told| told.rule.len()).max().unwrap_or(0);
        for Told { rule, reason, .. } in &compared.verdicts {
            text += &format!("{rule:width$}  {reason}\n");
        }
        for PluginComparison { name, said, .. } in &compared.backends {
            text += &format!("{name}  {said}\n");
        }
        compared.noticed.iter().for_each(|note| text += &format!("{note}\n"));
        text
    }

    pub(super) fn json(&self) -> Value {
        let mut object = json!({"plugins": self.plugins.iter().map(Row::json).collect::<Value>()});
        let Some(compared) = &self.compared else { return object };
        object["verdicts"] = json!(compared.verdicts);
        object["noticed"] = json!(compared.noticed);
        for (key, on_device) in [("devices", true), ("kernels", false)] {
            let some = compared.backends.iter().filter(|backend| backend.is_device == on_device);
            object[key] = some.map(PluginComparison::json).collect();
        }
        object
    }
}

impl Row {
    fn text(&self) -> String {
        let Row { name, path, loaded, reason, rules, kernels, version, notes, .. } = self;
        if !loaded {
            return format!("{name}  not loaded: {reason}\n");
        }
        let (version, path) =
            (version.as_deref().unwrap_or("loaded"), path.as_deref().unwrap_or_default());
        let mut text = format!("{name}  {version} from {path}\n");
        for (what, list) in [("rules", rules), ("kernels", kernels)] {
            if !list.is_empty() {
                text += &names(what, list);
            }
        }
        notes.iter().for_each(|note| text += &format!("  {note}\n"));
        text
    }

    fn json(&self) -> Value {
        let Row { name, path, loaded, reason, rules, kernels, sha256, version, notes, .. } = self;
        json!({
            "name": name,
            "path": path,
            "loaded": loaded,
            "reason": reason,
            "rules": rules,
            "kernels": kernels,
            "sha256": sha256,
            "version": version,
            "notes": notes,
        })
    }
}

impl PluginComparison {
    fn json(&self) -> Value {
        let PluginComparison { name, plugin, is_device, agrees, comparisons, said } = self;
        // A device that declines is one that no run would be given.
        let agrees = if *is_device { json!(agrees.unwrap_or(true)) } else { json!(agrees) };
        json!({"name": name, "plugin": plugin, "agrees": agrees, "comparisons": comparisons, "reason": said})
    }
}

fn names(what: &str, list: &[String]) -> String {
    format!("  {what:8} {}\n", list.join(" "))
}
