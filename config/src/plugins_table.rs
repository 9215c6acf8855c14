//! `[plugins]`, `[[plugin]]` and `[[rule]]`.
//!
//! ```toml
//! [plugins]
//! search = ["plugins"]        # folders to look in, relative to this file
//! require_sha256 = false      # refuse plugins without a pin
//! check = "shape"             # off, shape, finite: what is checked around every call
//! verify = true               # compare kernel, program and differences at load, and backends with the built-in kernels
//! cache = true                # keep what agreed among the user's caches; "FOLDER": there; false: compare at every start
//! on_duplicate = "error"      # or "priority": who comes first has the name
//! load_timeout = 60           # seconds that a plugin may take to load; false: as long as it takes
//!
//! [[plugin]]
//! path = "plugins/foo"        # libfoo.so, foo.dll or libfoo.dylib beside this file, else in `search`
//! name = "foo"                # for messages; every plugin has another
//! sha256 = "9f86…"            # what `ketgrad plugins hash` prints
//! enabled = true
//! optional = false            # if it cannot be loaded, go on without
//! priority = 0                # above 0: its kernels before the built-in ones
//! rules = { only = ["f"] }    # or { except = ["g"] }
//! kernels = { except = [] }
//! [plugin.options]            # handed to the plugin
//! device = 0
//!
//! [[rule]]                    # a rule that is a program alone: no library
//! program = "rule f(x) { x * x } pullback(x, y, y_bar) { 2.0 * x * y_bar }"   # or file = "rules.kg"
//! verify = true               # false: it is not meant to be the derivative
//! ```

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use ketgrad_plugin_host::{Check, OnDuplicate, Request, Selection, Settings, file_name};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    report::Failure,
    toml_values::{boolean, in_order, integer, real, string, strings},
};

/// All that a config file says about plugins.
#[derive(Clone, Debug, Default)]
pub struct PluginsTable {
    /// The file.
    pub(crate) name: String,
    /// Text of the file, to be underlined.
    pub(crate) text: String,
    /// `[plugins]`
    pub(crate) settings: Settings,
    /// `[[plugin]]`
    pub(crate) plugins: Vec<PluginEntry>,
    /// `[[rule]]`
    pub(crate) rules: Vec<RuleEntry>,
}

/// A `[[plugin]]`.
#[derive(Clone, Debug)]
pub(crate) struct PluginEntry {
    /// Request for the plugin.
    pub(crate) request: Request,
    /// `enabled`
    pub(crate) enabled: bool,
    /// Location of its path in the text.
    pub(crate) span: Range<usize>,
}

/// A `[[rule]]`.
#[derive(Clone, Debug)]
pub(crate) struct RuleEntry {
    /// Text of the rule.
    pub(crate) program: String,
    /// File that holds the text instead.
    pub(crate) file: Option<PathBuf>,
    /// `verify`
    pub(crate) verify: bool,
    /// Location in the file.
    pub(crate) span: Range<usize>,
}

/// A fault: the message, where, and the names that might have been meant.
struct TableFault {
    message: String,
    span: Range<usize>,
    known: &'static [&'static str],
    given: String,
}

type TableResult<T> = Result<T, TableFault>;
type TomlValue<'i> = Spanned<DeValue<'i>>;

const PLUGINS: &[&str] =
    &["search", "require_sha256", "check", "verify", "cache", "on_duplicate", "load_timeout"];
const PLUGIN: &[&str] =
    &["name", "path", "sha256", "enabled", "optional", "priority", "rules", "kernels", "options"];
const RULE: &[&str] = &["program", "file", "verify"];
const SELECTION: &[&str] = &["only", "except"];

/// The keys of a config file that are read here.
pub(crate) const KEYS: [&str; 3] = ["plugins", "plugin", "rule"];

/// Reads the tables out of a config file.
///
/// # Errors
/// `Failure` that underlines what is wrong.
pub fn read(name: &str, text: &str, document: &DeTable<'_>) -> Result<PluginsTable, Failure> {
    let mut table =
        PluginsTable { name: name.to_owned(), text: text.to_owned(), ..PluginsTable::default() };
    table.settings.cache = cache_folder();
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    read_all(&mut table, folder, document).map_err(|fault| {
        let label = if fault.known.is_empty() { "" } else { "not an option" };
        let failure = Failure::input(fault.message).with_label(name, text, fault.span, label);
        failure.nearest(&fault.given, fault.known.iter().copied())
    })?;
    Ok(table)
}

fn read_all(table: &mut PluginsTable, folder: &Path, document: &DeTable<'_>) -> TableResult<()> {
    let mut search = Vec::new();
    if let Some(value) = document.get("plugins") {
        each(value, "plugins", PLUGINS, |key, value| {
            let settings = &mut table.settings;
            match key {
                "search" => search = strings(value)?.into_iter().map(|s| folder.join(s)).collect(),
                "require_sha256" => settings.require_sha256 = boolean(value)?,
                "verify" => settings.verify = boolean(value)?,
                "cache" => match value {
                    DeValue::Boolean(true) => {}
                    DeValue::Boolean(false) => settings.cache = None,
                    DeValue::String(path) => settings.cache = Some(folder.join(path.as_ref())),
                    _ => return Err("expected true, false or a folder".to_owned()),
                },
                "check" => {
                    settings.check = match string(value)?.as_str() {
                        "off" => Check::Off,
                        "shape" => Check::Shape,
                        "finite" => Check::Finite,
                        _ => return Err("expected \"off\", \"shape\" or \"finite\"".to_owned()),
                    }
                }
                "load_timeout" => {
                    settings.load_timeout = match value {
                        DeValue::Boolean(false) => None,
                        _ => Some(seconds(value)?),
                    }
                }
                _ => {
                    settings.on_duplicate = match string(value)?.as_str() {
                        "error" => OnDuplicate::Error,
                        "priority" => OnDuplicate::Priority,
                        _ => return Err("expected \"error\" or \"priority\"".to_owned()),
                    }
                }
            }
            Ok(())
        })?;
    }
    for value in list(document, "plugin")? {
        let entry = plugin(value, folder, &search)?;
        let name = &entry.request.name;
        if table.plugins.iter().any(|other| other.request.name == *name) {
            let message = format!(
                "there is a plugin `{name}` already; `name = \"…\"` gives this one another name"
            );
            return Err(TableFault { message, span: entry.span, known: &[], given: String::new() });
        }
        table.plugins.push(entry);
    }
    for value in list(document, "rule")? {
        table.rules.push(rule(value, folder)?);
    }
    Ok(())
}

fn plugin(value: &TomlValue<'_>, folder: &Path, search: &[PathBuf]) -> TableResult<PluginEntry> {
    let (mut request, mut enabled, mut path, mut span) =
        (Request::default(), true, None, value.span());
    if let Some(at) = value.get_ref().as_table().and_then(|t| t.get("path")) {
        span = at.span();
    }
    each(value, "plugin", PLUGIN, |key, value| {
        match key {
            "name" => request.name = string(value)?,
            "path" => path = Some(PathBuf::from(string(value)?)),
            "sha256" => request.sha256 = Some(sha256(value)?),
            "enabled" => enabled = boolean(value)?,
            "optional" => request.optional = boolean(value)?,
            "priority" => {
                let number = value
                    .as_integer()
                    .and_then(|n| i32::from_str_radix(n.as_str(), n.radix()).ok());
                request.priority = number.ok_or("expected a whole number of 32 bits")?;
            }
            "rules" => request.rules = selection(value)?,
            "kernels" => request.kernels = selection(value)?,
            _ => request.options = options(value)?,
        }
        Ok(())
    })?;
    let named = path.as_ref().map(|p| p.display().to_string());
    let Some(path) = path.filter(|p| p.file_name().is_some()) else {
        let expected = "the library without `lib` and its ending";
        let message = match named {
            Some(named) => format!("the path `{named}` names no file; expected {expected}"),
            None => format!("a [[plugin]] needs `path`, {expected}"),
        };
        return Err(TableFault { message, span: value.span(), known: &[], given: String::new() });
    };
    if request.name.is_empty() {
        request.name =
            path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    }
    let file = file_name(&path);
    let in_folder = |folder: &PathBuf| folder.join(&file);
    request.candidates = std::iter::once(folder.to_owned())
        .chain(search.iter().cloned())
        .map(|f| in_folder(&f))
        .collect();
    request.candidates.dedup();
    Ok(PluginEntry { request, enabled, span })
}

fn rule(value: &TomlValue<'_>, folder: &Path) -> TableResult<RuleEntry> {
    let (mut program, mut file, mut verify) = (None, None, true);
    each(value, "rule", RULE, |key, value| {
        match key {
            "program" => program = Some(string(value)?),
            "verify" => verify = boolean(value)?,
            _ => file = Some(folder.join(string(value)?)),
        }
        Ok(())
    })?;
    if program.is_some() == file.is_some() {
        let message = "a [[rule]] needs either `program` or `file`".to_owned();
        return Err(TableFault { message, span: value.span(), known: &[], given: String::new() });
    }
    Ok(RuleEntry { program: program.unwrap_or_default(), file, verify, span: value.span() })
}

/// Returns the entries of `[[key]]`.
fn list<'a, 'i>(document: &'a DeTable<'i>, key: &'static str) -> TableResult<&'a [TomlValue<'i>]> {
    let Some(value) = document.get(key) else { return Ok(&[]) };
    let entries = value.get_ref().as_array().filter(|a| a.iter().all(|e| e.get_ref().is_table()));
    entries.map(|e| &**e).ok_or_else(|| {
        let message = format!("`{key}`: expected tables, each begun by [[{key}]]");
        TableFault { message, span: value.span(), known: &[], given: String::new() }
    })
}

/// Hands every key of a table to `set`, which knows those of `keys`.
fn each(
    value: &TomlValue<'_>,
    table: &str,
    keys: &'static [&'static str],
    mut set: impl FnMut(&str, &DeValue<'_>) -> Result<(), String>,
) -> TableResult<()> {
    let Some(entries) = value.get_ref().as_table() else {
        let message = format!("`{table}`: expected a table");
        return Err(TableFault { message, span: value.span(), known: &[], given: String::new() });
    };
    for (key, value) in in_order(entries) {
        let name = key.get_ref().as_ref();
        if !keys.contains(&name) {
            let message = format!("unknown key `{table}.{name}`");
            return Err(TableFault {
                message,
                span: key.span(),
                known: keys,
                given: name.to_owned(),
            });
        }
        set(name, value.get_ref()).map_err(|why| TableFault {
            message: format!("`{table}.{name}`: {why}"),
            span: value.span(),
            known: &[],
            given: String::new(),
        })?;
    }
    Ok(())
}

/// Returns a time of up to a day.
fn seconds(value: &DeValue<'_>) -> Result<Duration, String> {
    let number = real(value).ok().filter(|x| *x > 0.0 && *x <= 86400.0);
    let expected = || "expected a number of seconds above 0 and up to 86400, or false".to_owned();
    number.map(Duration::from_secs_f64).ok_or_else(expected)
}

fn sha256(value: &DeValue<'_>) -> Result<String, String> {
    let text = string(value)?;
    if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(text);
    }
    Err("expected 64 hexadecimal digits, as `ketgrad plugins hash` prints them".to_owned())
}

/// `{ only = [...] }` or `{ except = [...] }`.
fn selection(value: &DeValue<'_>) -> Result<Selection, String> {
    let expected = || "expected { only = [...] } or { except = [...] }".to_owned();
    let table = value.as_table().filter(|t| t.len() == 1).ok_or_else(expected)?;
    let (key, names) = table.iter().next().ok_or_else(expected)?;
    let names = strings(names.get_ref())?;
    match SELECTION.iter().position(|k| *k == key.get_ref().as_ref()) {
        Some(0) => Ok(Selection::Only(names)),
        Some(_) => Ok(Selection::Except(names)),
        None => Err(expected()),
    }
}

/// Options as text: the text between the quotes, or the number or truth value as it is written.
fn options(value: &DeValue<'_>) -> Result<Vec<(String, String)>, String> {
    let table = value.as_table().ok_or("expected a table")?;
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Boolean(b) => Ok(b.to_string()),
        DeValue::Float(x) => Ok(x.as_str().to_owned()),
        DeValue::Integer(_) => match integer(value, 0, u64::MAX) {
            Ok(n) => Ok(n.to_string()),
            Err(_) => value.as_integer().map(|n| n.as_str().to_owned()).ok_or_else(String::new),
        },
        _ => Err("expected texts, numbers and truth values".to_owned()),
    };
    in_order(table)
        .into_iter()
        .map(|(k, v)| Ok((k.get_ref().to_string(), text(v.get_ref())?)))
        .collect()
}

/// Returns the folder of the cache of plugins that agreed: that of this program among the user's
/// caches; `None` where the system names none.
fn cache_folder() -> Option<PathBuf> {
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")?
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?
    };
    Some(caches.join("ketgrad").join("plugins"))
}

/// Returns a path in the environment; a relative one counts for nothing, say the rules of XDG.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
