//! Requests for plugins, settings of loading them, and reports.

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    path::{Path, PathBuf},
    time::Duration,
};

use ketgrad_core::exec::Limits;

/// Checks around every call of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// No checks.
    Off,
    /// Shapes are checked, and that a kernel does not write beyond its result.
    #[default]
    Shape,
    /// Shapes are checked, and that finite inputs give finite results.
    Finite,
}

/// Policy for two plugins with a rule or a kernel of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// A duplicate is an error.
    #[default]
    Error,
    /// The plugin that is loaded first keeps the name: load by falling priority.
    Priority,
}

/// Rules or kernels of a plugin that are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

impl Selection {
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(names) => names.iter().any(|n| n == name),
            Selection::Except(names) => !names.iter().any(|n| n == name),
        }
    }
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Selection::All => &[],
            Selection::Only(names) | Selection::Except(names) => names,
        }
    }
}

/// Settings of loading plugins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// True if a plugin without a hash in the config is refused.
    pub require_sha256: bool,
    /// Checks around every call.
    pub check: Check,
    /// True if kernels, programs and differences of rules are compared when a plugin or a program
    /// is loaded, and gate kernels and devices with the built-in kernels.
    pub verify: bool,
    /// Folder of the cache of earlier verdicts, so that rules are not compared at every start.
    /// None: they are.
    pub cache: Option<PathBuf>,
    /// Policy for two plugins with a rule or a kernel of one name.
    pub on_duplicate: OnDuplicate,
    /// Time that a plugin may take to load: its constructors, its registration and what is
    /// compared, together. A plugin that takes longer is refused, and the thread that is in it goes
    /// on for as long as it does: a library's code cannot be stopped. None: it is waited for, and
    /// all runs in the thread that loads.
    pub load_timeout: Option<Duration>,
    /// Limits of a call of a kernel where the host runs programs for it, as it does on numbers that
    /// carry derivatives. The budget that is left to the calling run applies, if that is less; each
    /// call on a tape has all of it. By default [`Limits::new`].
    pub limits: Limits,
    /// Largest number of instructions of the derivatives which the host derives from all programs
    /// of rules; a derivative beyond it is an error. By default 1,000,000.
    pub derivative_size: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            require_sha256: false,
            check: Check::default(),
            verify: true,
            cache: None,
            on_duplicate: OnDuplicate::default(),
            load_timeout: Some(Duration::from_secs(60)),
            limits: Limits::new(),
            derivative_size: 1_000_000,
        }
    }
}

impl Settings {
    /// Replaces [`require_sha256`](Settings::require_sha256).
    #[must_use]
    pub fn with_require_sha256(self, require_sha256: bool) -> Settings {
        Settings { require_sha256, ..self }
    }

    /// Replaces [`check`](Settings::check).
    #[must_use]
    pub fn with_check(self, check: Check) -> Settings {
        Settings { check, ..self }
    }

    /// Replaces [`verify`](Settings::verify).
    #[must_use]
    pub fn with_verify(self, verify: bool) -> Settings {
        Settings { verify, ..self }
    }

    /// Replaces [`cache`](Settings::cache).
    #[must_use]
    pub fn with_cache(self, cache: Option<PathBuf>) -> Settings {
        Settings { cache, ..self }
    }

    /// Replaces [`on_duplicate`](Settings::on_duplicate).
    #[must_use]
    pub fn with_on_duplicate(self, on_duplicate: OnDuplicate) -> Settings {
        Settings { on_duplicate, ..self }
    }

    /// Replaces [`load_timeout`](Settings::load_timeout).
    #[must_use]
    pub fn with_load_timeout(self, load_timeout: Option<Duration>) -> Settings {
        Settings { load_timeout, ..self }
    }

    /// Replaces [`limits`](Settings::limits).
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Settings {
        Settings { limits, ..self }
    }

    /// Replaces [`derivative_size`](Settings::derivative_size).
    #[must_use]
    pub fn with_derivative_size(self, derivative_size: usize) -> Settings {
        Settings { derivative_size, ..self }
    }
}

/// Plugin to be loaded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// Name, for messages.
    pub name: String,
    /// Paths at which it may be; the first file that exists is taken. See [`file_name`].
    pub candidates: Vec<PathBuf>,
    /// Hash (sha256) that the file must have, in hexadecimal.
    pub sha256: Option<String>,
    /// True if a plugin that cannot be loaded is a note, not an error.
    pub optional: bool,
    /// Priority. Above 0: its kernels come before the built-in ones whatever their score; below 0:
    /// after.
    pub priority: i32,
    /// Rules that are wanted.
    pub rules: Selection,
    /// Kernels that are wanted.
    pub kernels: Selection,
    /// Options for the plugin.
    pub options: Vec<(String, String)>,
}

impl Request {
    /// Replaces [`name`](Request::name).
    #[must_use]
    pub fn with_name(self, name: String) -> Request {
        Request { name, ..self }
    }

    /// Replaces [`candidates`](Request::candidates).
    #[must_use]
    pub fn with_candidates(self, candidates: Vec<PathBuf>) -> Request {
        Request { candidates, ..self }
    }

    /// Replaces [`sha256`](Request::sha256).
    #[must_use]
    pub fn with_sha256(self, sha256: Option<String>) -> Request {
        Request { sha256, ..self }
    }

    /// Replaces [`optional`](Request::optional).
    #[must_use]
    pub fn with_optional(self, optional: bool) -> Request {
        Request { optional, ..self }
    }

    /// Replaces [`priority`](Request::priority).
    #[must_use]
    pub fn with_priority(self, priority: i32) -> Request {
        Request { priority, ..self }
    }

    /// Replaces [`rules`](Request::rules).
    #[must_use]
    pub fn with_rules(self, rules: Selection) -> Request {
        Request { rules, ..self }
    }

    /// Replaces [`kernels`](Request::kernels).
    #[must_use]
    pub fn with_kernels(self, kernels: Selection) -> Request {
        Request { kernels, ..self }
    }

    /// Replaces [`options`](Request::options).
    #[must_use]
    pub fn with_options(self, options: Vec<(String, String)>) -> Request {
        Request { options, ..self }
    }
}

/// Report on a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: Option<PathBuf>,
    /// The hash of its file.
    pub sha256: Option<String>,
    /// Name and version by the plugin itself.
    pub version: Option<String>,
    /// True if it is loaded.
    pub loaded: bool,
    /// Reason why it is not loaded; empty if it is.
    pub reason: String,
    /// Its rules.
    pub rules: Vec<String>,
    /// Its kernels.
    pub kernels: Vec<String>,
    /// Notes of the plugin and on it.
    pub notes: Vec<String>,
}

/// Returns the file of a library: `plugins/foo` is `plugins/libfoo.so`, `foo.dll` or
/// `libfoo.dylib`. A path with the ending of a library is returned as it is.
#[must_use]
pub fn file_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(DLL_SUFFIX) {
        path.to_owned()
    } else {
        path.with_file_name(format!("{DLL_PREFIX}{name}{DLL_SUFFIX}"))
    }
}
