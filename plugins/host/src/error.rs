//! Errors of plugins.

use std::{fmt::Display, path::PathBuf, time::Duration};

use ketgrad_core::ir::Position;

/// Error of a plugin, with the plugin's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}`: {fault}")]
pub struct PluginError {
    /// Name of the plugin in the config.
    pub plugin: String,
    /// Error without the name.
    pub fault: Fault,
}

/// Error of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file does not exist.
    #[error("no such file; looked at {}", paths(looked))]
    Missing {
        /// Paths that were searched.
        looked: Vec<PathBuf>,
    },
    /// The path is a directory.
    #[error("{} is a directory; expected a library", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        reason: String,
    },
    /// The system cannot load it.
    #[error("{} is not a library that can be loaded: {reason}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        reason: String,
    },
    /// The library exports no descriptor.
    #[error("{} is a library but not a plugin: it does not export `ketgrad_plugin`", path.display())]
    NotAPlugin {
        /// The file.
        path: PathBuf,
    },
    /// The library exports another object under that name.
    #[error("{} exports `ketgrad_plugin`, but that is not a plugin's descriptor", path.display())]
    BadMagic {
        /// The file.
        path: PathBuf,
    },
    /// Its interface has another major version.
    #[error(
        "it was built for version {given} of the plugin interface; this program has version {expected}"
    )]
    Major {
        /// Major version of the plugin.
        given: u32,
        /// Major version of this program.
        expected: u32,
    },
    /// The plugin needs a newer host.
    #[error(
        "it needs version {major}.{given} of the plugin interface; this program has {major}.{have}"
    )]
    Minor {
        /// The major version.
        major: u32,
        /// Minor version that it needs.
        given: u32,
        /// Minor version of this program.
        have: u32,
    },
    /// A struct of it is too small.
    #[error("its {what} is {given} bytes long; expected at least {least}")]
    Size {
        /// Name of the struct.
        what: &'static str,
        /// Size of the struct.
        given: u32,
        /// Smallest size.
        least: usize,
    },
    /// The hash differs from the config's.
    #[error("its sha256 is {given}, the config says {expected}")]
    Hash {
        /// Hash of the file.
        given: String,
        /// Hash in the config.
        expected: String,
    },
    /// The config has no hash, but must have one.
    #[error("require_sha256 is set, and it has no sha256; that of the file is {given}")]
    NoHash {
        /// Hash of the file.
        given: String,
    },
    /// The plugin took too long.
    #[error("it did not come back within {} s {at}; a thread of this process stays in it", limit.as_secs_f64())]
    Overdue {
        /// The [limit](crate::Settings::load_timeout).
        limit: Duration,
        /// Activity in which it was.
        at: String,
    },
    /// Another plugin's constructors, which were given up, still hold the system's loader.
    #[error(
        "it cannot be loaded: plugin `{plugin}` did not come back while it was loaded, and holds the system's loader"
    )]
    LoaderHeld {
        /// Name of that plugin.
        plugin: String,
    },
    /// Its registration failed.
    #[error("it could not start: {reason}")]
    Init {
        /// Message of the plugin.
        reason: String,
    },
    /// A rule or backend cannot be registered.
    #[error("{what} `{name}`: {reason}")]
    Item {
        /// A rule or a backend.
        what: &'static str,
        /// Its name.
        name: String,
        /// Reason in words.
        reason: String,
    },
    /// Another owner has the name.
    #[error("{what} `{name}` is already there, from {owner}")]
    Duplicate {
        /// A rule or a backend.
        what: &'static str,
        /// Its name.
        name: String,
        /// Owner of the name.
        owner: String,
    },
    /// The config names a rule or kernel that the plugin does not have.
    #[error("the config names the {what} `{name}`, which it does not have; it has {}", list(have))]
    NoSuch {
        /// A rule or a kernel.
        what: &'static str,
        /// The name.
        name: String,
        /// Names that it has.
        have: Vec<String>,
    },
    /// A rule disagrees with itself.
    #[error("rule `{name}`: {reason}")]
    Disagrees {
        /// The rule.
        name: String,
        /// Values that disagree, in words.
        reason: String,
    },
    /// A backend does not compute what the built-in kernels do.
    #[error("{what} `{name}` does not compute what it should: {law}")]
    Nonconforming {
        /// A kernel or a device.
        what: &'static str,
        /// Its name.
        name: String,
        /// Law that it breaks.
        law: String,
    },
}

impl Fault {
    /// Returns the error of a plugin of that name.
    pub(crate) fn in_plugin(self, plugin: &str) -> PluginError {
        PluginError { plugin: plugin.to_owned(), fault: self }
    }
}

/// Describes an error of the core, without an unknown position: programs that are generated have
/// none.
pub(crate) fn placeless(error: &dyn Display) -> String {
    let nowhere = Position::default();
    error
        .to_string()
        .replace(&format!("{nowhere}: "), "")
        .replace(&format!(" (line {nowhere})"), "")
}

fn paths(looked: &[PathBuf]) -> String {
    looked.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}
