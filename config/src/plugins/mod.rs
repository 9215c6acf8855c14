//! Plugins of the config file ([`PluginsTable`]) loaded, and the verb `plugins`.
//!
//! | file | holds |
//! |---|---|
//! | `verb` | `plugins list`, `verify` and `hash` |
//! | `verify` | what is loaded, compared |
//! | `found` | what they find, as text and as JSON |
//! | `sandbox` | `plugins verify --sandboxed` |
//! | `points` | the points of `plugins verify --at` |

mod found;
mod points;
mod sandbox;
mod verb;
mod verify;

pub(crate) use verb::plugins;

use ketgrad_plugin_host::{Fault, Plugins, ProgramFault};

use crate::{
    files::read_text,
    plugins_table::{PluginEntry, PluginsTable, RuleEntry},
    program::faulty,
    report::Failure,
    terminal::Terminal,
};

/// Plugins and rules that could not be loaded.
#[derive(Default)]
pub(crate) struct Failures {
    /// Failures of plugins that are not optional; their reports hold them too.
    pub(crate) of_plugins: Vec<Failure>,
    /// Failures of rules that are programs alone.
    pub(crate) of_rules: Vec<Failure>,
}

impl PluginsTable {
    /// Loads all that is enabled, plugins by falling priority, then the rules that are programs
    /// alone.
    ///
    /// # Errors
    /// `Failure` that underlines the plugin or rule at fault.
    pub fn load(&self, terminal: &Terminal) -> Result<Plugins, Failure> {
        let (plugins, failures) = self.load_all();
        if let Some(failure) = failures.of_plugins.into_iter().chain(failures.of_rules).next() {
            return Err(failure);
        }
        for report in plugins.reports() {
            if !report.loaded {
                terminal.note(&format!(
                    "note: plugin `{}` is left out: {}",
                    report.name, report.reason
                ));
            }
            for note in report
                .notes
                .iter()
                .filter(|n| n.starts_with("warning: ") || n.starts_with("error: "))
            {
                terminal.note(&format!("plugin `{}`: {note}", report.name));
            }
        }
        Ok(plugins)
    }

    /// Returns the plugins that are enabled, in the order in which they are loaded.
    pub(crate) fn order(&self) -> Vec<&PluginEntry> {
        let mut order: Vec<&PluginEntry> = self.plugins.iter().filter(|p| p.enabled).collect();
        // Stable: of one priority in the order of the file.
        order.sort_by_key(|p| std::cmp::Reverse(p.request.priority));
        order
    }

    /// Loads what can be loaded, and says what cannot.
    pub(crate) fn load_all(&self) -> (Plugins, Failures) {
        let mut plugins = Plugins::new(self.settings.clone());
        let mut failures = Failures::default();
        for entry in self.order() {
            if let Err(error) = plugins.load(&entry.request) {
                let is_wrong =
                    matches!(error.fault, Fault::Disagrees { .. } | Fault::Nonconforming { .. });
                let failure = self.failure_at(Failure::input(error), entry.span.clone());
                failures.of_plugins.push(match is_wrong {
                    true => {
                        failure.help("`verify = false` under [plugins] takes plugins as they are")
                    }
                    false => failure,
                });
            }
        }
        for rule in &self.rules {
            if let Err(failure) = self.add(&mut plugins, rule) {
                failures.of_rules.push(failure);
            }
        }
        (plugins, failures)
    }

    fn add(&self, plugins: &mut Plugins, rule: &RuleEntry) -> Result<(), Failure> {
        let (name, source) = match (&rule.file, &rule.program) {
            (Some(file), _) => {
                read_text(file).map_err(|e| self.failure_at(e, rule.span.clone()))?
            }
            (None, program) => (format!("program of a [[rule]] in {}", self.name), program.clone()),
        };
        let owner = self.owner();
        let added = match rule.verify {
            true => plugins.add_program(&owner, &source),
            false => plugins.add_program_as_it_is(&owner, &source),
        };
        match added {
            Ok(_) => Ok(()),
            Err(ProgramFault::Text(errors)) => Err(faulty(&name, &source, errors)),
            Err(fault @ ProgramFault::Disagrees { .. }) => Err(self
                .failure_at(Failure::input(fault), rule.span.clone())
                .help("`verify = false` takes a rule as it is")),
            Err(fault) => Err(self.failure_at(Failure::input(fault), rule.span.clone())),
        }
    }

    /// Returns the owner of the rules that are programs alone.
    pub(crate) fn owner(&self) -> String {
        format!("[[rule]] of {}", self.name)
    }

    fn failure_at(&self, failure: Failure, span: std::ops::Range<usize>) -> Failure {
        failure.with_label(&self.name, &self.text, span, "")
    }
}
