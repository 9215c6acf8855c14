//! Values of a circuit's parameters: `--set name=value`, `--params FILE.json` and `FILE.npy`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ketgrad_core::{
    circuit::Circuit,
    param::{Angle, Values},
    qasm::{SourceText, parse_angle},
    scalar::Real,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use crate::{
    args::ValueArgs,
    files::{cannot, open, read_text},
    npy::{self, Table},
    report::{Failure, Remark, Status},
};

/// The values of some parameters by name.
type Named = BTreeMap<String, Angle>;

/// The values of the runs that are to be made.
#[derive(Clone, Debug)]
pub struct Points {
    /// What holds for every run, and wins over the table.
    fixed: Named,
    /// A run for each row, in order of the circuit's inputs.
    table: Option<Table>,
    /// Whether results are lists over the rows.
    pub sweep: bool,
}

impl Points {
    /// Reads the values and checks that they are exactly the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] for a value that cannot be read, an unknown name, a name given twice, or inputs
    /// without a value, all of which are listed.
    pub fn read(circuit: &Circuit, values: &ValueArgs) -> Result<Points, Failure> {
        let points = Points::read_known(circuit, values, "--set")?;
        match points.table {
            Some(_) => {}
            None => check_complete(circuit, &points.fixed)?,
        }
        Ok(points)
    }

    /// Reads the values that there are, and gives them to the circuit; other inputs stay open. What gives single values is
    /// called `option`.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read`], also for a table with more than one row.
    pub fn read_some(circuit: &Circuit, values: &ValueArgs, option: &str) -> Result<Circuit, Failure> {
        let points = Points::read_known(circuit, values, option)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        points.circuit(circuit, 0)
    }

    /// The values of the one run that there may be, in order of the circuit's inputs; `None` where none is given. What
    /// gives single values is called `option`.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read`], also for a table with more than one row.
    pub fn some(circuit: &Circuit, values: &ValueArgs, option: &str) -> Result<Vec<Option<f64>>, Failure> {
        let points = Points::read_known(circuit, values, option)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        let given = |name: &str| points.table.is_some() || points.fixed.contains_key(name);
        let all: Vec<f64> = points.inputs(circuit, 0)?;
        Ok(circuit.inputs().zip(all).map(|(name, x)| given(name).then_some(x)).collect())
    }

    /// Reads the values and checks that they are inputs of the circuit.
    fn read_known(circuit: &Circuit, values: &ValueArgs, option: &str) -> Result<Points, Failure> {
        let given = assignments(&values.set, option)?;
        let (mut fixed, table) = match values.params.as_deref() {
            None => (Named::new(), None),
            Some(path) if is_npy(path) => (Named::new(), Some(from_npy(circuit, path)?)),
            Some(path) => (from_json(path)?, None),
        };
        fixed.extend(given);
        check_names(circuit, &fixed)?;
        let sweep = table.as_ref().is_some_and(|t| t.two_dimensional);
        Ok(Points { fixed, table, sweep })
    }

    /// How many runs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.as_ref().map_or(1, |t| t.rows)
    }

    /// Whether there is no run at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of the one run that there may be, in order of the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read`], also for a table with more than one row.
    pub fn one(circuit: &Circuit, values: &ValueArgs) -> Result<Vec<f64>, Failure> {
        let points = Points::read(circuit, values)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        points.inputs(circuit, 0)
    }

    /// The values of a run, in order of the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] if one of them is not finite.
    pub fn inputs<T: Real>(&self, circuit: &Circuit, row: usize) -> Result<Vec<T>, Failure> {
        let numbers = self.table.as_ref().map_or(&[][..], |t| t.row(row));
        let names = circuit.inputs().enumerate();
        names
            .map(|(k, name)| {
                let given = self.fixed.get(name).cloned();
                let angle = given.or_else(|| numbers.get(k).map(|&x| Angle::rad(x))).unwrap_or_default();
                Values::<T>(&[]).radians(&angle).map_err(|e| Failure::input(format_args!("{name}: {e}")))
            })
            .collect()
    }

    /// The circuit of a run, all inputs bound.
    ///
    /// # Errors
    /// [`Failure`] if a computed parameter is not finite there.
    pub fn circuit(&self, circuit: &Circuit, row: usize) -> Result<Circuit, Failure> {
        let numbers = self.table.as_ref().map_or(&[][..], |t| t.row(row));
        // Of a name that comes twice the last value counts.
        let in_table = circuit.inputs().zip(numbers).map(|(name, &x)| (name, Angle::rad(x)));
        let fixed = self.fixed.iter().map(|(name, value)| (name.as_str(), value.clone()));
        circuit.bind(&in_table.chain(fixed).collect::<Vec<_>>()).map_err(Failure::input)
    }
}

/// Parameters that an error lists at most.
const LISTED: usize = 12;

/// Checks that the names are inputs.
fn check_names(circuit: &Circuit, fixed: &Named) -> Result<(), Failure> {
    let inputs: BTreeSet<&str> = circuit.inputs().collect();
    if let Some(name) = fixed.keys().find(|name| !inputs.contains(name.as_str())) {
        let failure = Failure::input(format_args!("the circuit has no parameter `{name}`"));
        return Err(match inputs.len() {
            0 => failure.help("it has no parameters at all"),
            n => {
                let some: Vec<&str> = circuit.inputs().take(LISTED).collect();
                let more = if n > LISTED { ", …" } else { "" };
                failure.help(format_args!("it has {}{more}", some.join(", "))).nearest(name, circuit.inputs())
            }
        });
    }
    Ok(())
}

/// Checks that every input has a value.
fn check_complete(circuit: &Circuit, fixed: &Named) -> Result<(), Failure> {
    let unset: Vec<&str> = circuit.inputs().filter(|name| !fixed.contains_key(*name)).collect();
    let Some(first) = unset.first() else { return Ok(()) };
    let plural = if unset.len() == 1 { "parameter" } else { "parameters" };
    Err(Failure::input(format_args!("no value for {} {plural}: {}", unset.len(), unset.join(", ")))
        .help(format_args!("give it with --set '{first}=…' or --params FILE")))
}

/// Reads `name=value` words.
fn assignments(set: &[String], option: &str) -> Result<Named, Failure> {
    let mut values = Named::new();
    for word in set {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            return Err(Failure::usage(format_args!("{option} needs NAME=VALUE, not `{word}`")));
        };
        let name: String = name.split_whitespace().collect();
        let angle = expression(&format!("{option} {name}"), value)?;
        if values.insert(name.clone(), angle).is_some() {
            return Err(Failure::input(format_args!("{option} gives `{name}` twice")));
        }
    }
    Ok(values)
}

/// The value of an expression such as `3*pi/4`.
fn expression(name: &str, text: &str) -> Result<Angle, Failure> {
    let angle = parse_angle(text).map_err(|diagnostic| Failure {
        status: Status::Input,
        remarks: vec![Remark::from(*diagnostic)],
        sources: vec![SourceText { name: name.to_owned(), text: text.to_owned() }],
    })?;
    if angle.constant().is_some_and(f64::is_finite) {
        return Ok(angle);
    }
    Err(Failure::input("the value is not a finite number").at(name, text, 0..text.len(), ""))
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

fn from_npy(circuit: &Circuit, path: &Path) -> Result<Table, Failure> {
    let name = path.display().to_string();
    let file = open(path).map_err(|e| cannot("read", &name, &e))?;
    let table = npy::read_table(file).map_err(|e| Failure::input(format_args!("{name}: {e}")))?;
    let inputs: Vec<&str> = circuit.inputs().collect();
    if table.rows == 0 {
        return Err(Failure::input(format_args!("{name} has no rows")));
    }
    if table.columns != inputs.len() {
        return Err(Failure::input(format_args!(
            "{name} has {} values{}, the circuit has {} parameters",
            table.columns,
            if table.two_dimensional { " a row" } else { "" },
            inputs.len()
        ))
        .help(format_args!("in order of declaration: {}", inputs.join(", "))));
    }
    if let Some(i) = table.numbers.iter().position(|x| !x.is_finite()) {
        let (row, input, value) = (i / inputs.len(), inputs[i % inputs.len()], table.numbers[i]);
        let message = format!("{name}: the value of `{input}` in row {row} is {value}, not a finite number");
        return Err(Failure::input(message));
    }
    Ok(table)
}

fn from_json(path: &Path) -> Result<Named, Failure> {
    let (name, text) = read_text(path)?;
    let tree: Tree = serde_json::from_str(&text).map_err(|e| {
        let at = offset(&text, e.line(), e.column());
        let message = e.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Failure::input(message).at(&name, &text, at..(at + 1).min(text.len()), "")
    })?;
    let Tree::Map(entries) = tree else {
        return Err(Failure::input(format_args!("{name}: expected an object such as {{\"theta\": 0.3}}")));
    };
    let mut values = Named::new();
    for (key, tree) in entries {
        let key: String = key.split_whitespace().collect();
        flatten(&name, key, tree, &mut values)?;
    }
    Ok(values)
}

/// `{"w": [1, 2]}` as `w[0]` and `w[1]`.
fn flatten(file: &str, key: String, tree: Tree, values: &mut Named) -> Result<(), Failure> {
    let angle = match tree {
        Tree::Number(x) => Angle::rad(x),
        Tree::Text(text) => expression(&format!("{file}: {key}"), &text)?,
        Tree::List(items) => {
            let mut items = items.into_iter().enumerate();
            return items.try_for_each(|(i, item)| flatten(file, format!("{key}[{i}]"), item, values));
        }
        Tree::Map(_) => {
            let message = format!("{file}: `{key}` is an object; expected a number, an expression or a list");
            return Err(Failure::input(message));
        }
    };
    match values.insert(key.clone(), angle) {
        Some(_) => Err(Failure::input(format_args!("{file} gives `{key}` twice"))),
        None => Ok(()),
    }
}

/// The byte of a line and a column, both counted from 1, the column in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// JSON as parameters need it: a key that comes twice is seen.
enum Tree {
    Number(f64),
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
        f.write_str("a number, an expression in quotes, a list or an object of these")
    }
    fn visit_f64<E>(self, x: f64) -> Result<Tree, E> {
        Ok(Tree::Number(x))
    }
    fn visit_u64<E>(self, x: u64) -> Result<Tree, E> {
        Ok(Tree::Number(x as f64))
    }
    fn visit_i64<E>(self, x: i64) -> Result<Tree, E> {
        Ok(Tree::Number(x as f64))
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
