//! Values by name, as written: `--set name=value`, `--params FILE.json`. A value may have an
//! error bar, `0.3+-0.01`.
//!
//! Most are values of parameters ([`Points`](crate::params::Points)), which are angles. Inputs that
//! are integers, bits or truth values decide what a circuit is: the file is read for their values,
//! and they are gone from here afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use ketgrad_core::{
    ir::{Field, Kind, Param},
    param::Angle,
    qasm::{Parsed, SourceText, parse_angle},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use crate::{
    files::read_text,
    options::ValueArgs,
    report::{Failure, Remark, Status},
};

/// The values of some parameters by name.
pub(crate) type NamedAngles = BTreeMap<String, Angle>;

/// Notations of an error bar after a value.
const ERROR_BARS: [&str; 3] = ["+-", "+/-", "±"];

/// Returns the mark of an error bar in a text, the first if there are several.
pub(crate) fn error_bar(text: &str) -> Option<Range<usize>> {
    let find = |mark: &&str| text.find(mark).map(|at| at..at + mark.len());
    ERROR_BARS.iter().filter_map(find).min_by_key(|mark| mark.start)
}

/// Value that is given for one name.
#[derive(Clone, Debug)]
struct GivenValue {
    /// Text of the value, without its error bar.
    text: String,
    /// A number of a file.
    number: Option<f64>,
    /// Text after the mark of an error bar.
    error: Option<String>,
    /// Option or file that gave it, and the name that it was given for.
    from: String,
}

impl GivenValue {
    /// Parses a text such as `0.3` or `0.3+-0.01`.
    fn new(text: &str, from: String) -> GivenValue {
        let (value, error) = match error_bar(text) {
            Some(mark) => (&text[..mark.start], Some(text[mark.end..].to_owned())),
            None => (text, None),
        };
        GivenValue { text: value.to_owned(), number: None, error, from }
    }

    /// Returns the file that gives it.
    fn file(&self) -> &str {
        self.from.rsplit_once(": ").map_or(&self.from, |(file, _)| file)
    }

    fn value(&self) -> Result<Angle, Failure> {
        match self.number {
            Some(x) => Ok(Angle::rad(x)),
            None => expression(&self.from, &self.text),
        }
    }

    /// Returns the standard deviation, if it has one.
    fn sigma(&self) -> Result<Option<f64>, Failure> {
        let Some(text) = &self.error else { return Ok(None) };
        let from = format!("the error of {}", self.from);
        let sigma = expression(&from, text)?.constant().unwrap_or(f64::NAN);
        if sigma >= 0.0 {
            return Ok(Some(sigma));
        }
        let failure = Failure::input("an error bar is a standard deviation, which is not negative");
        Err(failure.with_label(&from, text, 0..text.len(), ""))
    }
}

/// Values by name.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Option that gives single values.
    option: &'static str,
    entries: BTreeMap<String, GivenValue>,
    /// NumPy files with the values of the parameters that have no other, or of all.
    pub(crate) tables: Vec<PathBuf>,
    /// The names that files give.
    in_files: BTreeSet<String>,
    /// The names that a file was read for.
    read_for: Vec<String>,
    /// The text of the circuit, if it has parameters.
    origin: Option<Arc<Parsed>>,
    /// What the circuit's text declares as an output.
    outputs: Vec<String>,
}

impl Given {
    /// Reads what is given; `option` is what gives single values. `--set` wins over files.
    ///
    /// # Errors
    /// [`Failure`] for words and files that cannot be read, and a name given twice.
    pub(crate) fn read(values: &ValueArgs, option: &'static str) -> Result<Given, Failure> {
        let set = assignments(&values.set, option)?;
        let (mut entries, mut tables) = (BTreeMap::<String, GivenValue>::new(), Vec::new());
        for path in &values.params {
            if is_npy(path) {
                tables.push(path.clone());
                continue;
            }
            for (name, entry) in from_json(path)? {
                if let Some(other) = entries.get(&name) {
                    let (this, other) = (path.display(), other.file());
                    let message = format_args!("`{name}` is given twice: by {other} and by {this}");
                    return Err(Failure::input(message));
                }
                entries.insert(name, entry);
            }
        }
        let in_files = entries.keys().cloned().collect();
        entries.extend(set);
        let (read_for, outputs) = (Vec::new(), Vec::new());
        Ok(Given { option, entries, tables, in_files, read_for, origin: None, outputs })
    }

    /// Returns the source of the value of a name that a file gives: `--set` may win over it.
    pub(crate) fn in_file(&self, name: &str) -> Option<&str> {
        self.in_files.contains(name).then(|| self.entries.get(name).map(GivenValue::file)).flatten()
    }

    /// Returns true if a name has a value of its own.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns true if there are tables, which have values of other names.
    pub(crate) fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Refuses error bars, for what does not carry them.
    ///
    /// # Errors
    /// [`Failure`] that names the first value that has one.
    pub(crate) fn refuse_errors(&self, what: &str) -> Result<(), Failure> {
        let Some((name, entry)) = self.entries.iter().find(|(_, entry)| entry.error.is_some())
        else {
            return Ok(());
        };
        let from = &entry.from;
        Err(Failure::input(format_args!(
            "{from}: `{name}` has an error bar, which {what} does not carry"
        ))
        .help(
            "expectation values of `run` and `grad` carry error bars; `0.3 - 0.01` is a difference",
        ))
    }

    /// Names and values as text, for files that are read for them.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.text.as_str())).collect()
    }

    /// Removes values that a file was read for: they are not those of parameters.
    ///
    /// # Errors
    /// [`Failure`] for one with an error bar.
    pub(crate) fn remove_structural(&mut self, names: Vec<String>) -> Result<(), Failure> {
        for name in &names {
            let entry = self.entries.remove(name);
            if let Some(GivenValue { error: Some(_), from, .. }) = entry {
                let message = format_args!(
                    "{from}: `{name}` decides what the circuit is: it has no error bar"
                );
                return Err(Failure::input(message));
            }
        }
        self.read_for.extend(names);
        Ok(())
    }

    /// Keeps the text of a circuit with parameters, for what may be wrong with it at their values,
    /// and its outputs.
    pub(crate) fn keep(&mut self, parsed: &Parsed) {
        self.outputs.clone_from(&parsed.outputs);
        if !parsed.circuit.params().is_empty() {
            self.origin = Some(Arc::new(parsed.clone()));
        }
    }

    /// Returns the names that the circuit's text declares as outputs.
    pub(crate) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Returns the text of the circuit.
    pub(crate) fn origin(&self) -> Option<&Arc<Parsed>> {
        self.origin.as_ref()
    }

    /// Returns the names that a file was read for.
    pub(crate) fn read_for(&self) -> &[String] {
        &self.read_for
    }

    /// Returns advice for giving a value, in `file` if not alone.
    pub(crate) fn how(&self, name: &str, file: &str) -> String {
        match self.option.split_once('.') {
            None => format!("give it with {} '{name}=…' or --params {file}", self.option),
            Some((section, key)) => format!("give it in [{section}]: {key} = [\"{name}=…\"]"),
        }
    }

    /// Returns the values that are left, as values of parameters.
    ///
    /// # Errors
    /// [`Failure`] for a value that is no finite number.
    pub(crate) fn parameters(&self) -> Result<NamedAngles, Failure> {
        self.entries.iter().map(|(name, entry)| Ok((name.clone(), entry.value()?))).collect()
    }

    /// Returns the standard deviations of those that have one.
    ///
    /// # Errors
    /// [`Failure`] for one that is no finite number, or negative.
    pub(crate) fn errors(&self) -> Result<BTreeMap<String, f64>, Failure> {
        let mut errors = BTreeMap::new();
        for (name, entry) in &self.entries {
            if let Some(sigma) = entry.sigma()? {
                errors.insert(name.clone(), sigma);
            }
        }
        Ok(errors)
    }

    /// Returns the name of the reader that takes no error bars, since it needs single points.
    pub(crate) fn reader(&self) -> &'static str {
        if self.option == "--set" { "this verb" } else { "`optimize`" }
    }

    /// Returns the values for a circuit among several: those whose name `has` says it has.
    pub(crate) fn only(&self, has: impl Fn(&str) -> bool) -> Given {
        let entries = self.entries.iter().filter(|(name, _)| has(name));
        Given {
            entries: entries.map(|(name, entry)| (name.clone(), entry.clone())).collect(),
            ..self.clone()
        }
    }
}

/// Reads `name=value` words.
fn assignments(set: &[String], option: &str) -> Result<BTreeMap<String, GivenValue>, Failure> {
    let mut values = BTreeMap::new();
    for word in set {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.trim().is_empty())
        else {
            return Err(Failure::usage(format_args!("{option} needs NAME=VALUE, not `{word}`")));
        };
        let name: String = name.split_whitespace().collect();
        let entry = GivenValue::new(value, format!("{option} {name}"));
        if values.insert(name.clone(), entry).is_some() {
            return Err(Failure::input(format_args!("{option} gives `{name}` twice")));
        }
    }
    Ok(values)
}

/// Returns the value of an expression such as `3*pi/4`.
fn expression(name: &str, text: &str) -> Result<Angle, Failure> {
    let angle = parse_angle(text).map_err(|diagnostic| Failure {
        status: Status::Input,
        remarks: vec![Remark::from(*diagnostic)],
        sources: vec![SourceText { name: name.to_owned(), text: text.to_owned() }],
    })?;
    if angle.constant().is_some_and(f64::is_finite) {
        return Ok(angle);
    }
    Err(Failure::input("the value is not a finite number").with_label(
        name,
        text,
        0..text.len(),
        "",
    ))
}

pub(crate) fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

fn from_json(path: &Path) -> Result<BTreeMap<String, GivenValue>, Failure> {
    let (name, entries) = object(path)?;
    let mut values = BTreeMap::new();
    for (key, tree) in entries {
        let key: String = key.split_whitespace().collect();
        flatten(&name, key, tree, &mut values)?;
    }
    Ok(values)
}

/// Returns the file's name, and the members of the object in it.
fn object(path: &Path) -> Result<(String, Vec<(String, Tree)>), Failure> {
    let (name, text) = read_text(path)?;
    let tree: Tree = serde_json::from_str(&text).map_err(|e| {
        let at = offset(&text, e.line(), e.column());
        let message = e.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Failure::input(message).with_label(&name, &text, at..(at + 1).min(text.len()), "")
    })?;
    match tree {
        Tree::Map(entries) => Ok((name, entries)),
        _ => Err(Failure::input(format_args!(
            "{name}: expected an object such as {{\"theta\": 0.3}}"
        ))),
    }
}

/// Returns the values of a program's parameters in a JSON file, by name, as they are written at a
/// point: arrays as lists, tuples as lists or as objects with all their fields.
///
/// # Errors
/// [`Failure`] for a file that cannot be read, a name given twice or unknown, and an object that is
/// not the structure.
pub(crate) fn program_values(
    path: &Path,
    params: &[Param],
) -> Result<Vec<(String, String)>, Failure> {
    let (file, entries) = object(path)?;
    let mut values: Vec<(String, String)> = Vec::new();
    for (name, tree) in entries {
        let Some(param) = params.iter().find(|p| p.name == name) else {
            let failure =
                Failure::input(format_args!("{file}: the function has no parameter `{name}`"));
            return Err(failure.nearest(&name, params.iter().map(|p| p.name.as_str())));
        };
        if values.iter().any(|(other, _)| *other == name) {
            return Err(Failure::input(format_args!("{file} gives `{name}` twice")));
        }
        let text = written(&file, &name, tree, &param.kind)?;
        values.push((name, text));
    }
    Ok(values)
}

fn written(file: &str, path: &str, tree: Tree, kind: &Kind) -> Result<String, Failure> {
    let fields = kind.fields();
    let parts = match tree {
        Tree::Number(_, text) | Tree::Text(text) => return Ok(text),
        Tree::List(items) => {
            let item = |(k, item): (usize, Tree)| {
                let kind = fields.get(k).map_or(kind, |field| &field.kind);
                written(file, &format!("{path}[{k}]"), item, kind)
            };
            items.into_iter().enumerate().map(item).collect::<Result<Vec<_>, _>>()?
        }
        Tree::Map(mut entries) => {
            let mut parts = Vec::new();
            for Field { name, kind } in fields {
                let found = entries.iter().position(|(key, _)| Some(key) == name.as_ref());
                let Some(found) = found else {
                    let name = name.as_deref().unwrap_or("?");
                    return Err(Failure::input(format_args!(
                        "{file}: `{path}` has no field `{name}`"
                    )));
                };
                let (name, tree) = entries.remove(found);
                parts.push(written(file, &format!("{path}.{name}"), tree, kind)?);
            }
            if let Some((name, _)) = entries.first() {
                let failure = format_args!(
                    "{file}: `{path}` is of kind {kind}, which has no other field `{name}`"
                );
                return Err(Failure::input(failure));
            }
            parts
        }
    };
    let brackets = if matches!(kind, Kind::Tuple(_)) { ["(", ")"] } else { ["[", "]"] };
    Ok(format!("{}{}{}", brackets[0], parts.join(","), brackets[1]))
}

/// `{"w": [1, 2]}` as `w[0]` and `w[1]`.
fn flatten(
    file: &str,
    key: String,
    tree: Tree,
    values: &mut BTreeMap<String, GivenValue>,
) -> Result<(), Failure> {
    let from = format!("{file}: {key}");
    let entry = match tree {
        Tree::Number(x, text) => GivenValue { text, number: Some(x), error: None, from },
        Tree::Text(text) => GivenValue::new(&text, from),
        Tree::List(items) => {
            let mut items = items.into_iter().enumerate();
            return items
                .try_for_each(|(i, item)| flatten(file, format!("{key}[{i}]"), item, values));
        }
        Tree::Map(_) => {
            let message =
                format!("{file}: `{key}` is an object; expected a number, an expression or a list");
            return Err(Failure::input(message));
        }
    };
    match values.insert(key.clone(), entry) {
        Some(_) => Err(Failure::input(format_args!("{file} gives `{key}` twice"))),
        None => Ok(()),
    }
}

/// Returns the byte of a line and a column, both counted from 1, the column in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// JSON as parameters need it: a key that comes twice is seen.
enum Tree {
    Number(f64, String),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, an expression in quotes, true, false, a list or an object of these")
    }
    fn visit_f64<E>(self, x: f64) -> Result<Tree, E> {
        // `1.0` is a whole number all the same.
        Ok(Tree::Number(x, format!("{x:?}")))
    }
    fn visit_u64<E>(self, x: u64) -> Result<Tree, E> {
        Ok(Tree::Number(x as f64, x.to_string()))
    }
    fn visit_i64<E>(self, x: i64) -> Result<Tree, E> {
        Ok(Tree::Number(x as f64, x.to_string()))
    }
    fn visit_bool<E>(self, holds: bool) -> Result<Tree, E> {
        Ok(Tree::Text(holds.to_string()))
    }
    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
