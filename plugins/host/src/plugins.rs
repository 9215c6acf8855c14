//! Loading: one plugin after the other, each all or nothing.

use std::{
    collections::{HashMap, HashSet},
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    path::{Path, PathBuf},
    sync::Arc,
};

use ketgrad_core::{
    errors::Errors,
    exec::{Bytecode, DeriveError},
    ir::{Element, Kind},
    kernel::Threads,
    rules::Rules,
    scalar::Scalar,
    tape::Operator,
    text::{self, TextError},
};
use ketgrad_plugin_abi as abi;

use crate::{
    at_load::{agrees, conforms},
    cache::{self, Entry},
    device::Device,
    error::{Fault, PluginError, placeless},
    executor::{Backend, HostKernels},
    host::{Loaded, Rule},
    init::{Collected, RawBackend, RawRule, init},
    kernel::Kernel,
    library::Opened,
    lower::{Source, check_name, lower},
    operator::RuleOperator,
    signature,
    verify::{At, Verdict, examined},
};

/// The most inputs or results of a rule: a number that a plugin has left to chance is above it.
const MOST_INPUTS: u32 = 1000;

/// What is checked around every call of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Nothing.
    Off,
    /// Shapes, and that a kernel does not write past its result.
    #[default]
    Shape,
    /// That finite inputs give finite results, too.
    Finite,
}

/// What happens if two plugins have a rule or a kernel of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It is an error.
    #[default]
    Error,
    /// The one that is loaded first has it: load by falling priority.
    Priority,
}

/// Which of a plugin's rules or kernels are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// These.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

impl Selection {
    fn takes(&self, name: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(names) => names.iter().any(|n| n == name),
            Selection::Except(names) => !names.iter().any(|n| n == name),
        }
    }
    fn names(&self) -> &[String] {
        match self {
            Selection::All => &[],
            Selection::Only(names) | Selection::Except(names) => names,
        }
    }
}

/// How plugins are loaded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A plugin without a hash in the config is refused.
    pub require_sha256: bool,
    /// What is checked around every call.
    pub check: Check,
    /// When a plugin or a program is loaded, kernels, programs and differences of rules are compared, and gate kernels and
    /// devices with the built-in kernels.
    pub verify: bool,
    /// A folder in which to keep what agreed, so that it is not compared at every start. None: it is.
    pub cache: Option<PathBuf>,
    /// What happens if two plugins have a rule or a kernel of one name.
    pub on_duplicate: OnDuplicate,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            require_sha256: false,
            check: Check::default(),
            verify: true,
            cache: None,
            on_duplicate: OnDuplicate::default(),
        }
    }
}

/// A plugin to be loaded.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its name, for messages.
    pub name: String,
    /// Where it may be; the first file that exists is taken. See [`file_name`].
    pub candidates: Vec<PathBuf>,
    /// The sha256 that the file must have, in hexadecimal.
    pub sha256: Option<String>,
    /// That it cannot be loaded is a note, not an error.
    pub optional: bool,
    /// Above 0: its kernels come before the built-in ones whatever their score; below 0: after.
    pub priority: i32,
    /// Which rules are wanted.
    pub rules: Selection,
    /// Which kernels are wanted.
    pub kernels: Selection,
    /// Handed to the plugin.
    pub options: Vec<(String, String)>,
}

/// What became of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: Option<PathBuf>,
    /// The hash of its file.
    pub sha256: Option<String>,
    /// What it says about itself.
    pub version: Option<String>,
    /// Whether it is there.
    pub loaded: bool,
    /// Why not; empty if it is.
    pub reason: String,
    /// Its rules.
    pub rules: Vec<String>,
    /// Its kernels.
    pub kernels: Vec<String>,
    /// What it had to say.
    pub notes: Vec<String>,
}

/// The file of a library: `plugins/foo` is `plugins/libfoo.so`, `foo.dll` or `libfoo.dylib`. A path that ends as a
/// library does is itself.
#[must_use]
pub fn file_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(DLL_SUFFIX) {
        path.to_owned()
    } else {
        path.with_file_name(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
    }
}

/// Loaded plugins.
#[derive(Debug, Default)]
pub struct Plugins {
    settings: Settings,
    reports: Vec<Report>,
    rules: Rules,
    host: Arc<Loaded>,
    owners: HashMap<String, String>,
    /// The rules that are not meant to be the derivative.
    as_they_are: HashSet<String>,
    backends: Vec<Arc<Backend>>,
    /// A hash of all that was loaded so far.
    loaded: String,
}

impl Plugins {
    /// None yet.
    #[must_use]
    pub fn new(settings: Settings) -> Plugins {
        Plugins { settings, ..Plugins::default() }
    }

    /// None yet, beside rules that are there already: those of circuits, say.
    #[must_use]
    pub fn beside(settings: Settings, rules: Rules) -> Plugins {
        // The rest of a registry is of this version.
        let loaded = cache::hash(&["rules", &rules.program().to_string()]);
        Plugins { settings, rules, loaded, ..Plugins::default() }
    }

    /// Loads a plugin with all that is wanted of it, or nothing of it.
    ///
    /// # Errors
    /// What is wrong with it; of an optional one only the [report](Plugins::reports) says so. After a host was handed
    /// out nothing more is loaded.
    pub fn load(&mut self, request: &Request) -> Result<(), PluginError> {
        let mut report = Report { name: request.name.clone(), ..Report::default() };
        let result = self.try_load(request, &mut report);
        report.loaded = result.is_ok();
        if let Err(fault) = &result {
            report.reason = fault.to_string();
        }
        self.reports.push(report);
        match result {
            Err(fault) if !request.optional => Err(fault.of(&request.name)),
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
            None if self.settings.require_sha256 => return Err(Fault::NoHash { given: opened.sha256 }),
            _ => {}
        }
        let key = self.key(&opened.sha256, request);
        let mut known = Entry::read(self.settings.cache.as_deref(), &key);
        let (library, note) = opened.load(&request.name)?;
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
        exists("kernel", request.kernels.names(), &names(backends.iter().map(|b| &b.name).collect()))?;
        let backends = self.taken(request, backends, &mut report.notes)?;
        if self.settings.verify {
            backends.iter().try_for_each(|backend| conforms(backend, &mut known, &mut report.notes))?;
        }
        let kept = self.rules.clone();
        let owners = self.owners.clone();
        let mark = self.host.rules().len();
        let result = self.take_rules(request, rules, report, &mut known);
        if let Err(fault) = result {
            self.rules = kept;
            self.owners = owners;
            if let Some(host) = Arc::get_mut(&mut self.host) {
                host.truncate(mark);
            }
            report.rules.clear();
            return Err(fault);
        }
        known.write();
        self.loaded = key;
        report.notes.extend(self.host.rules()[mark..].iter().flat_map(|rule| rule.kernel.noticed()));
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
    ) -> Result<(), Fault> {
        let mut taken = Vec::new();
        for raw in rules {
            if !request.rules.takes(&raw.name) {
                continue;
            }
            let name = raw.name.clone();
            let all = request.rules == Selection::All;
            let hint = if all { "" } else { " (a rule that it calls must be selected too)" };
            let fault =
                |reason: String| Fault::Item { what: "rule", name: name.clone(), reason: reason + hint };
            let base = self.take_rule(request, raw, &fault)?;
            match base {
                Ok(base) => {
                    if !report.rules.contains(&name) {
                        report.rules.push(name);
                    }
                    taken.push(base);
                }
                Err(owner) => {
                    report.notes.push(format!("rule `{name}` left out: it is already there, from {owner}"))
                }
            }
        }
        let program = self.rules.program().clone();
        if let Some(host) = Arc::get_mut(&mut self.host) {
            host.complete(program);
        }
        if self.settings.verify {
            for base in &taken {
                agrees(self.rules.program(), &self.host, base, known)
                    .map_err(|reason| Fault::Disagrees { name: base.clone(), reason })?;
            }
        }
        Ok(())
    }

    /// Adds a rule; the name of its function, or who has it already.
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
            return Err(fault(format!("{} inputs; a rule has at most {MOST_INPUTS}", raw.raw.n_in)));
        }
        let complex = raw.raw.dtypes >> abi::C64 & 1 == 1 && raw.raw.dtypes >> abi::F64 & 1 == 0;
        let number = if complex { Kind::Complex } else { Kind::Real };
        let (n_in, n_out) = (raw.raw.n_in as usize, raw.raw.n_out as usize);
        let (params, results) = signature::parse(&raw.signature, n_in, n_out, &number).map_err(fault)?;
        let result = match &results[..] {
            [result] => result.clone(),
            several => Kind::tuple(several.to_vec()),
        };
        let (name, program) = (raw.name.clone(), raw.program.clone());
        let kernel = Kernel::new(raw, params.clone(), results, self.settings.check).map_err(fault)?;
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
        self.owners.insert(base.clone(), format!("plugin `{}`", request.name));
        let Some(kernel) = kernel else { return Ok(Ok(base)) };
        let compiled = lowered.value.map(|f| Bytecode::compile(self.rules.program(), f)).transpose();
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
        match Arc::get_mut(&mut self.host) {
            Some(host) => host.add(&lowered.base, rule),
            None => return Err(fault("the rules loaded so far are in use".to_owned())),
        }
        Ok(Ok(base))
    }

    /// A hash of all that verdicts on a plugin depend on.
    fn key(&self, sha256: &str, request: &Request) -> String {
        let Request { options, rules, kernels, .. } = request;
        let settings = format!("{:?} {:?}", self.settings.check, self.settings.on_duplicate);
        let given = format!("{options:?} {rules:?} {kernels:?}");
        cache::hash(&[&cache::surroundings(), &self.loaded, "plugin", sha256, &settings, &given])
    }

    /// Who has a name; the rules that were there before the plugins, too.
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
                let owner = format!("plugin `{}`", other.plugin());
                if self.settings.on_duplicate == OnDuplicate::Priority {
                    notes.push(format!("kernel `{name}` left out: it is already there, from {owner}"));
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
    /// What is wrong with the text, with line and column; a rule that disagrees with itself, if
    /// [`verify`](Settings::verify) says so.
    pub fn add_program(&mut self, owner: &str, source: &str) -> Result<Vec<String>, ProgramFault> {
        self.add(owner, source, self.settings.verify)
    }

    /// As [`Plugins::add_program`], for rules that are not meant to be the derivative: one that passes gradients through
    /// a rounding, say, or bounds them.
    ///
    /// # Errors
    /// What is wrong with the text, with line and column.
    pub fn add_program_as_it_is(&mut self, owner: &str, source: &str) -> Result<Vec<String>, ProgramFault> {
        let names = self.add(owner, source, false)?;
        self.as_they_are.extend(names.iter().cloned());
        Ok(names)
    }

    fn add(&mut self, owner: &str, source: &str, verified: bool) -> Result<Vec<String>, ProgramFault> {
        let parsed = text::parse_program_with(source, &self.rules)?;
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
            for name in &names {
                agrees(&parsed, &self.host, name, &mut known)
                    .map_err(|reason| ProgramFault::Disagrees { name: name.clone(), reason })?;
            }
            known.write();
        }
        self.loaded = key;
        self.owners.extend(names.iter().map(|n| (n.clone(), owner.to_owned())));
        if let Some(host) = Arc::get_mut(&mut self.host) {
            host.complete(parsed.clone());
        }
        self.rules = Rules::from_program(parsed);
        Ok(names)
    }

    /// The functions of all rules, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.owners.keys().cloned().collect();
        names.sort();
        names
    }

    /// The names of the rules that an owner added as programs, sorted.
    #[must_use]
    pub fn names_of(&self, owner: &str) -> Vec<String> {
        let mut names: Vec<String> =
            self.owners.iter().filter(|(_, of)| *of == owner).map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// What is missing if a derivative fails at a kernel of a plugin that has none: the rule, its plugin and the
    /// remedy. The core knows primitives only.
    #[must_use]
    pub fn missing_derivative(&self, error: &DeriveError) -> Option<String> {
        let DeriveError::Diff(error) = error else { return None };
        self.host.missing_derivative(error)
    }

    /// What calls have left behind so far, those since the reports were written among them: tapes that nobody frees,
    /// modes of the processor. With the plugin's name.
    #[must_use]
    pub fn noticed(&self) -> Vec<String> {
        let rules = self.host.rules().iter().flat_map(|rule| {
            rule.kernel.noticed().into_iter().map(|note| format!("plugin `{}`: {note}", rule.plugin))
        });
        let kernels = self.backends.iter().flat_map(|b| b.noticed());
        rules.chain(kernels).collect()
    }

    /// What became of each plugin.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// What programs may call, for whoever reads them.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Computes the loaded rules, on every scalar.
    #[must_use]
    pub fn host(&self) -> Arc<Loaded> {
        self.host.clone()
    }

    /// A rule for a tape.
    ///
    /// # Errors
    /// There is none of that name, it is of arrays, or it has no derivative.
    pub fn operator<S: Scalar>(&self, name: &str) -> Result<Arc<dyn Operator<S>>, String>
    where
        RuleOperator: Operator<S>,
    {
        Ok(Arc::new(RuleOperator::new(self.rules.program(), name, self.host())?))
    }

    /// What the plugins brought to run circuits.
    pub(crate) fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// The backends with memory of their own.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        self.backends.iter().filter(|b| b.is_device()).map(|b| Device::of(b.clone(), false)).collect()
    }

    /// The gate kernels that work in the host's memory.
    #[must_use]
    pub fn host_kernels(&self) -> Vec<HostKernels> {
        let here = self.backends.iter().filter(|b| !b.is_device());
        here.map(|b| HostKernels { backend: b.clone(), first: true }).collect()
    }

    /// Compares kernel, program and differences of every rule, but of those that are taken as they are.
    #[must_use]
    pub fn verify(&self) -> Vec<Verdict> {
        self.verify_at(&[])
    }

    /// The same, each rule at further points that are given with its name.
    #[must_use]
    pub fn verify_at(&self, points: &[(String, At)]) -> Vec<Verdict> {
        let verdict = |name: String| {
            if self.as_they_are.contains(&name) {
                return Verdict::none(&name, "it is not meant to be the derivative");
            }
            let at: Vec<At> = points.iter().filter(|(of, _)| *of == name).map(|(_, x)| x.clone()).collect();
            examined(self.rules.program(), &self.host, &name, &at).0
        };
        self.names().into_iter().map(verdict).collect()
    }
}

/// What is wrong with rules as data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramFault {
    /// The text.
    #[error("{}", crate::lower::in_words(.0))]
    Text(Errors<TextError>),
    /// A name.
    #[error("rule `{name}`: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule disagrees with itself.
    #[error("rule `{name}`: {reason}")]
    Disagrees {
        /// The rule.
        name: String,
        /// What with what.
        reason: String,
    },
}

impl From<Errors<TextError>> for ProgramFault {
    fn from(errors: Errors<TextError>) -> ProgramFault {
        ProgramFault::Text(errors)
    }
}

fn exists(what: &'static str, asked: &[String], have: &[String]) -> Result<(), Fault> {
    match asked.iter().find(|name| !have.contains(name)) {
        Some(name) => Err(Fault::NoSuch { what, name: name.clone(), have: have.to_vec() }),
        None => Ok(()),
    }
}

/// Whether a kind holds complex numbers.
pub(crate) fn is_complex(kind: &Kind) -> bool {
    matches!(kind, Kind::Complex | Kind::Array(Element::Complex))
}
