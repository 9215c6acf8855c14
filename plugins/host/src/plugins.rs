//! Loading of plugins one after the other; each is loaded as a whole or not at all.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ketgrad_core::{
    errors::Errors,
    exec::{Bytecode, DeriveError},
    ir::{Element, Kind},
    kernel::Threads,
    rules::Rules,
    scalar::Scalar,
    tape::ScalarOperator,
    text::{self, TextError},
};
use ketgrad_plugin_abi as abi;

use crate::{
    at_load::{agrees, conforms},
    cache::{self, Entry},
    deadline::{self, Progress},
    device::Device,
    error::{Fault, PluginError, placeless},
    executor::{Backend, HostKernels},
    host::{Loaded, Rule},
    init::{Collected, RawBackend, RawRule, init},
    kernel::Kernel,
    library::Opened,
    limits::{RULE_TEXT, TimeBudget},
    lower::{Source, check_name, lower},
    operator::RuleOperator,
    request::{OnDuplicate, Report, Request, Selection, Settings},
    signature,
    verify::{NamedPoint, Verdict, examined},
    writable,
};

/// Largest number of inputs or results of a rule: a field that a plugin has left uninitialised is
/// above it.
const MOST_INPUTS: u32 = 1000;

/// Loaded plugins.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    settings: Settings,
    reports: Vec<Report>,
    rules: Rules,
    host: Arc<Loaded>,
    owners: HashMap<String, String>,
    /// Names of the rules that are not meant to be the derivative.
    as_they_are: HashSet<String>,
    backends: Vec<Arc<Backend>>,
    /// Hash of all that was loaded so far.
    loaded: String,
}

impl Plugins {
    /// Returns an empty set of plugins.
    #[must_use]
    pub fn new(settings: Settings) -> Plugins {
        Plugins { host: Arc::new(Loaded::within(&settings)), settings, ..Plugins::default() }
    }

    /// Returns an empty set of plugins, with rules that exist already: those of circuits, say.
    #[must_use]
    pub fn beside(settings: Settings, rules: Rules) -> Plugins {
        // The rest of a registry is of this version.
        let loaded = cache::hash(&["rules", &rules.program().to_string()]);
        let host = Arc::new(Loaded::within(&settings));
        Plugins { settings, rules, host, loaded, ..Plugins::default() }
    }

    /// Loads a plugin with all its wanted items or with none, within
    /// [`load_timeout`](Settings::load_timeout). Hosts that were returned before do not know its
    /// rules.
    ///
    /// # Errors
    /// The plugin cannot be loaded; of an optional one only the [report](Plugins::reports) says so.
    pub fn load(&mut self, request: &Request) -> Result<(), PluginError> {
        let mut report = Report { name: request.name.clone(), ..Report::default() };
        let result = self.try_load(request, &mut report);
        report.loaded = result.is_ok();
        if let Err(fault) = &result {
            report.rules.clear();
            report.reason = fault.to_string();
        }
        self.reports.push(report);
        match result {
            Err(fault) if !request.optional => Err(fault.in_plugin(&request.name)),
            _ => Ok(()),
        }
    }

    fn try_load(&mut self, request: &Request, report: &mut Report) -> Result<(), Fault> {
        let opened = Opened::first(request.candidates.clone())?;
        report.path = Some(opened.path.clone());
        report.sha256 = Some(opened.sha256.clone());
        match &request.sha256 {
            Some(expected) if !expected.eq_ignore_ascii_case(&opened.sha256) => {
                return Err(Fault::Hash { given: opened.sha256, expected: expected.clone() });
            }
            Some(_) => {}
            None if self.settings.require_sha256 => {
                return Err(Fault::NoHash { given: opened.sha256 });
            }
            None => report.notes.extend(writable::warning(&opened.given, &opened.path)),
        }
        if let Some(plugin) = deadline::holds_loader() {
            return Err(Fault::LoaderHeld { plugin });
        }
        // An error leaves this as it was.
        let (mut next, request, mut said) = (self.clone(), request.clone(), report.clone());
        let (next, said, result) = deadline::within(self.settings.load_timeout, move |progress| {
            let result = next.register(opened, &request, &mut said, progress);
            (next, said, result)
        })?;
        *report = said;
        result?;
        *self = next;
        Ok(())
    }

    /// Adds the rules and kernels of a library; after an error, a part of them may have been added.
    fn register(
        &mut self,
        opened: Opened,
        request: &Request,
        report: &mut Report,
        progress: &Progress,
    ) -> Result<(), Fault> {
        let key = self.key(&opened.sha256, request);
        let mut known = Entry::read(self.settings.cache.as_deref(), &key);
        if !progress.loading(&request.name) {
            return Err(Fault::Init { reason: "nobody waits for it any more".to_owned() });
        }
        let (library, note) = opened.load(&request.name)?;
        progress.report_activity("in its registration".to_owned());
        report.notes.extend(note);
        report.version = Some(format!("{} {}", library.header.name, library.header.version));
        if !library.header.build.is_empty() {
            report.notes.push(format!("built with {}", library.header.build));
        }
        let collected = init(&request.name, &library, &request.options, &Threads::serial())?;
        report.notes.extend(collected.leftovers());
        let Collected { rules, backends, notes, .. } = collected;
        report.notes.extend(notes);
        let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
        exists("rule", request.rules.names(), &names(rules.iter().map(|r| &r.name).collect()))?;
        exists(
            "kernel",
            request.kernels.names(),
            &names(backends.iter().map(|b| &b.name).collect()),
        )?;
        let backends = self.taken(request, backends, &mut report.notes)?;
        if self.settings.verify {
            for backend in &backends {
                progress
                    .report_activity(format!("where its kernel `{}` is compared", backend.name()));
                conforms(backend, &mut known, &mut report.notes)?;
            }
        }
        let mark = self.host.rules().len();
        self.take_rules(request, rules, report, &mut known, progress)?;
        known.write();
        self.loaded = key;
        report
            .notes
            .extend(self.host.rules()[mark..].iter().flat_map(|rule| rule.kernel.noticed()));
        report.kernels = backends.iter().map(|b| b.name().to_owned()).collect();
        self.backends.extend(backends);
        Ok(())
    }

    fn take_rules(
        &mut self,
        request: &Request,
        rules: Vec<RawRule>,
        report: &mut Report,
        known: &mut Entry,
        progress: &Progress,
    ) -> Result<(), Fault> {
        let mut taken = Vec::new();
        for raw in rules {
            if !request.rules.takes(&raw.name) {
                continue;
            }
            let name = raw.name.clone();
            let all = request.rules == Selection::All;
            let hint = if all { "" } else { " (a rule that it calls must be selected too)" };
            let fault = |reason: String| Fault::Item {
                what: "rule",
                name: name.clone(),
                reason: reason + hint,
            };
            let base = self.take_rule(request, raw, &fault)?;
            match base {
                Ok(base) => {
                    if !report.rules.contains(&name) {
                        report.rules.push(name);
                    }
                    taken.push(base);
                }
                Err(owner) => report
                    .notes
                    .push(format!("rule `{name}` left out: it is already there, from {owner}")),
            }
        }
        let program = self.rules.program().clone();
        Arc::make_mut(&mut self.host).complete(program);
        if self.settings.verify {
            for base in &taken {
                progress.report_activity(format!("where its rule `{base}` is compared"));
                agrees(self.rules.program(), &self.host, base, known, &TimeBudget::each())
                    .map_err(|reason| Fault::Disagrees { name: base.clone(), reason })?;
            }
        }
        Ok(())
    }

    /// Adds a rule; returns the name of its function, or the owner that has it already.
    fn take_rule(
        &mut self,
        request: &Request,
        raw: RawRule,
        fault: &dyn Fn(String) -> Fault,
    ) -> Result<Result<String, String>, Fault> {
        check_name(&raw.name).map_err(fault)?;
        if !(1..=MOST_INPUTS).contains(&raw.raw.n_out) {
            return Err(fault(format!("{} results; a rule has 1 to {MOST_INPUTS}", raw.raw.n_out)));
        }
        if raw.raw.n_in > MOST_INPUTS {
            return Err(fault(format!(
                "{} inputs; a rule has at most {MOST_INPUTS}",
                raw.raw.n_in
            )));
        }
        let complex = raw.raw.dtypes >> abi::C64 & 1 == 1 && raw.raw.dtypes >> abi::F64 & 1 == 0;
        let number = if complex { Kind::Complex } else { Kind::Real };
        let (n_in, n_out) = (raw.raw.n_in as usize, raw.raw.n_out as usize);
        let (params, results) =
            signature::parse(&raw.signature, n_in, n_out, &number).map_err(fault)?;
        let result = match &results[..] {
            [result] => result.clone(),
            several => Kind::tuple(several.to_vec()),
        };
        let (name, program) = (raw.name.clone(), raw.program.clone());
        let kernel =
            Kernel::new(raw, params.clone(), results, self.settings.check).map_err(fault)?;
        let source = Source {
            name: &name,
            params: &params,
            result: &result,
            program: &program,
            has_kernel: kernel.is_some(),
            has_pullback: kernel.as_ref().is_some_and(Kernel::has_pullback),
        };
        let base = source.base();
        if let Some(owner) = self.owner(&base) {
            return match self.settings.on_duplicate {
                OnDuplicate::Priority => Ok(Err(owner)),
                OnDuplicate::Error => Err(Fault::Duplicate { what: "rule", name, owner }),
            };
        }
        let lowered = lower(&mut self.rules, &source).map_err(fault)?;
        self.owners.insert(base.clone(), owner(&request.name));
        let Some(kernel) = kernel else { return Ok(Ok(base)) };
        let compiled =
            lowered.value.map(|f| Bytecode::compile(self.rules.program(), f)).transpose();
        let value = compiled.map_err(|e| fault(placeless(&e)))?;
        let rule = Rule {
            name,
            plugin: request.name.clone(),
            kernel,
            function: lowered.function,
            value,
            has_program: lowered.has_program,
            partials: std::sync::RwLock::default(),
        };
        Arc::make_mut(&mut self.host).add(&lowered.base, rule);
        Ok(Ok(base))
    }

    /// Returns a hash of all that verdicts on a plugin depend on.
    fn key(&self, sha256: &str, request: &Request) -> String {
        let Request { options, rules, kernels, .. } = request;
        let settings = format!("{:?} {:?}", self.settings.check, self.settings.on_duplicate);
        let given = format!("{options:?} {rules:?} {kernels:?}");
        cache::hash(&[&cache::surroundings(), &self.loaded, "plugin", sha256, &settings, &given])
    }

    /// Owner of a name, also among the rules from before the plugins.
    fn owner(&self, name: &str) -> Option<String> {
        let there = || {
            let program = self.rules.program();
            program.lookup(name).is_some() || program.lookup_primitive(name).is_some()
        };
        self.owners.get(name).cloned().or_else(|| there().then(|| "ketgrad itself".to_owned()))
    }

    fn taken(
        &self,
        request: &Request,
        all: Vec<RawBackend>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Arc<Backend>>, Fault> {
        let mut taken: Vec<Arc<Backend>> = Vec::new();
        for raw in all.into_iter().filter(|b| request.kernels.takes(&b.name)) {
            let (what, name) = ("kernel", raw.name.clone());
            let other = self.backends.iter().chain(&taken).find(|b| b.name() == name);
            if let Some(other) = other {
                let owner = owner(other.plugin());
                if self.settings.on_duplicate == OnDuplicate::Priority {
                    notes.push(format!(
                        "kernel `{name}` left out: it is already there, from {owner}"
                    ));
                    continue;
                }
                return Err(Fault::Duplicate { what, name, owner });
            }
            let backend = Backend::new(raw, &request.name, request.priority);
            taken.push(Arc::new(backend.map_err(|reason| Fault::Item { what, name, reason })?));
        }
        Ok(taken)
    }

    /// Adds rules that are programs alone: they can compute and nothing else.
    ///
    /// # Errors
    /// The text has errors, which are given with line and column; or a rule disagrees with itself,
    /// if [`verify`](Settings::verify) is set.
    pub fn add_program(&mut self, owner: &str, source: &str) -> Result<Vec<String>, ProgramFault> {
        self.add(owner, source, self.settings.verify)
    }

    /// Adds rules like [`Plugins::add_program`], but rules that are not meant to be the derivative:
    /// one that passes gradients through a rounding, say, or bounds them.
    ///
    /// # Errors
    /// The text has errors, which are given with line and column.
    pub fn add_program_as_it_is(
        &mut self,
        owner: &str,
        source: &str,
    ) -> Result<Vec<String>, ProgramFault> {
        let names = self.add(owner, source, false)?;
        self.as_they_are.extend(names.iter().cloned());
        Ok(names)
    }

    fn add(
        &mut self,
        owner: &str,
        source: &str,
        verified: bool,
    ) -> Result<Vec<String>, ProgramFault> {
        let parsed = text::parse_program_within(source, &self.rules, &RULE_TEXT)?;
        let before = self.rules.program().functions.len();
        let mut names = Vec::new();
        for f in parsed.functions.values().skip(before) {
            if parsed.lookup(&f.name).is_none() || f.name.contains('.') {
                continue;
            }
            let fault = |reason| ProgramFault::Name { name: f.name.clone(), reason };
            check_name(&f.name).map_err(fault)?;
            if let Some(owner) = self.owner(&f.name) {
                return Err(fault(format!("it is already there, from {owner}")));
            }
            names.push(f.name.clone());
        }
        let key = cache::hash(&[&cache::surroundings(), &self.loaded, "program", source]);
        if verified {
            let mut known = Entry::read(self.settings.cache.as_deref(), &key);
            let budget = TimeBudget::of_text();
            for name in &names {
                agrees(&parsed, &self.host, name, &mut known, &budget)
                    .map_err(|reason| ProgramFault::Disagrees { name: name.clone(), reason })?;
            }
            known.write();
        }
        self.loaded = key;
        self.owners.extend(names.iter().map(|n| (n.clone(), owner.to_owned())));
        Arc::make_mut(&mut self.host).complete(parsed.clone());
        self.rules = Rules::from_program(parsed);
        Ok(names)
    }

    /// Names of the functions of all rules, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.owners.keys().cloned().collect();
        names.sort();
        names
    }

    /// Names of the rules that an owner added as programs, sorted.
    #[must_use]
    pub fn names_of(&self, owner: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .owners
            .iter()
            .filter(|(_, of)| *of == owner)
            .map(|(name, _)| name.clone())
            .collect();
        names.sort();
        names
    }

    /// Names of the functions of a plugin's rules, sorted.
    #[must_use]
    pub fn names_from(&self, plugin: &str) -> Vec<String> {
        self.names_of(&owner(plugin))
    }

    /// Describes what is missing if a derivative fails at a kernel of a plugin without one: the
    /// rule, its plugin and the remedy. The core knows primitives only.
    #[must_use]
    pub fn missing_derivative(&self, error: &DeriveError) -> Option<String> {
        let DeriveError::Diff(error) = error else { return None };
        self.host.missing_derivative(error)
    }

    /// Notes on what calls have left in the process so far, also since the reports were written:
    /// tapes that are never freed, modes of the processor. With the plugin's name.
    #[must_use]
    pub fn noticed(&self) -> Vec<String> {
        let rules = self.host.rules().iter().flat_map(|rule| {
            rule.kernel
                .noticed()
                .into_iter()
                .map(|note| format!("plugin `{}`: {note}", rule.plugin))
        });
        let kernels = self.backends.iter().flat_map(|b| b.noticed());
        rules.chain(kernels).collect()
    }

    /// Report on each plugin.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Rules that programs may call, for the parser.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the host that computes the loaded rules, on every scalar.
    #[must_use]
    pub fn host(&self) -> Arc<Loaded> {
        self.host.clone()
    }

    /// Makes the operator of a tape for a rule.
    ///
    /// # Errors
    /// No rule has that name, or it is on arrays, or has no derivative.
    pub fn operator<S: Scalar>(&self, name: &str) -> Result<Arc<dyn ScalarOperator<S>>, String>
    where
        RuleOperator: ScalarOperator<S>,
    {
        Ok(Arc::new(RuleOperator::new(self.rules.program(), name, self.host())?))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Backends of the plugins that run circuits.
    pub(crate) fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// Returns the backends with memory of their own.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        self.backends
            .iter()
            .filter(|b| b.is_device())
            .map(|b| Device::new(b.clone(), false))
            .collect()
    }

    /// Returns the gate kernels that work in the host's memory.
    #[must_use]
    pub fn host_kernels(&self) -> Vec<HostKernels> {
        let here = self.backends.iter().filter(|b| !b.is_device());
        here.map(|b| HostKernels { backend: b.clone(), first: true }).collect()
    }

    /// Compares kernel, program and differences of every rule, but of those that are not meant to
    /// be the derivative. A rule that takes longer than [`load_timeout`](Settings::load_timeout)
    /// disagrees.
    #[must_use]
    pub fn verify(&self) -> Vec<Verdict> {
        self.verify_rules(&self.names(), &[])
    }

    /// Compares some rules like [`Plugins::verify`], by the names of their functions, and at
    /// further points that are given with these.
    #[must_use]
    pub fn verify_rules(&self, names: &[String], points: &[(String, NamedPoint)]) -> Vec<Verdict> {
        let shared = Arc::new((self.rules.program().clone(), self.host()));
        let verdict = |name: &String| {
            if self.as_they_are.contains(name) {
                return Verdict::none(name, "it is not meant to be the derivative");
            }
            let at: Vec<NamedPoint> =
                points.iter().filter(|(of, _)| of == name).map(|(_, x)| x.clone()).collect();
            let (shared, rule) = (shared.clone(), name.clone());
            let compared = deadline::within(self.settings.load_timeout, move |progress| {
                progress.report_activity("where it is compared".to_owned());
                examined(&shared.0, &shared.1, &rule, &at, &TimeBudget::each()).0
            });
            compared.unwrap_or_else(|fault| Verdict::disagrees(name, &fault.to_string()))
        };
        names.iter().map(verdict).collect()
    }
}

/// Error in rules as data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    /// The text has errors.
    #[error("{}", crate::lower::in_words(.0))]
    Text(Errors<TextError>),
    /// A name cannot be used.
    #[error("rule `{name}`: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Reason in words.
        reason: String,
    },
    /// A rule disagrees with itself.
    #[error("rule `{name}`: {reason}")]
    Disagrees {
        /// The rule.
        name: String,
        /// Values that disagree, in words.
        reason: String,
    },
}

impl From<Errors<TextError>> for ProgramFault {
    fn from(errors: Errors<TextError>) -> ProgramFault {
        ProgramFault::Text(errors)
    }
}

/// Name of a plugin as the owner of a rule.
fn owner(plugin: &str) -> String {
    format!("plugin `{plugin}`")
}

fn exists(what: &'static str, asked: &[String], have: &[String]) -> Result<(), Fault> {
    match asked.iter().find(|name| !have.contains(name)) {
        Some(name) => Err(Fault::NoSuch { what, name: name.clone(), have: have.to_vec() }),
        None => Ok(()),
    }
}

/// Returns true if a kind holds complex numbers.
pub(crate) fn is_complex(kind: &Kind) -> bool {
    matches!(kind, Kind::Complex | Kind::Array(Element::Complex))
}
