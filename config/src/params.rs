//! Values of a circuit's parameters, from what is given ([`Given`]) and from NumPy files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use ketgrad_core::{
    circuit::Circuit,
    param::{Angle, Values},
    qasm::Parsed,
    scalar::Real,
};

use crate::{
    files::{cannot, open},
    given::Given,
    npy::{self, Table},
    report::Failure,
};

/// The values of some parameters by name.
pub(crate) type Named = BTreeMap<String, Angle>;

/// The values of the runs that are to be made.
#[derive(Clone, Debug)]
pub struct Points {
    /// What holds for every run, and wins over the table.
    fixed: Named,
    /// A run for each row, in order of the circuit's inputs.
    table: Option<Table>,
    /// Whether results are lists over the rows.
    pub sweep: bool,
    /// The text of the circuit.
    origin: Option<Arc<Parsed>>,
}

impl Points {
    /// Reads the values and checks that they are exactly the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] for a value that cannot be read, an unknown name, a name given twice, or inputs
    /// without a value, all of which are listed.
    pub fn read(circuit: &Circuit, given: &Given) -> Result<Points, Failure> {
        let points = Points::read_known(circuit, given)?;
        match points.table {
            Some(_) => {}
            None => check_complete(circuit, &points.fixed, given)?,
        }
        Ok(points)
    }

    /// Reads the values that there are, and gives them to the circuit; other inputs stay open.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read`], also for a table with more than one row.
    pub fn read_some(circuit: &Circuit, given: &Given) -> Result<Circuit, Failure> {
        let points = Points::read_known(circuit, given)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        points.circuit(circuit, 0).map_err(|e| points.located(e))
    }

    /// The values of the one run that there may be, in order of the circuit's inputs; `None` where none is given.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read`], also for a table with more than one row.
    pub fn some(circuit: &Circuit, given: &Given) -> Result<Vec<Option<f64>>, Failure> {
        let points = Points::read_known(circuit, given)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        let has_value = |name: &str| points.table.is_some() || points.fixed.contains_key(name);
        let all: Vec<f64> = points.inputs(circuit, 0)?;
        Ok(circuit.inputs().zip(all).map(|(name, x)| has_value(name).then_some(x)).collect())
    }

    /// Reads the values and checks that they are inputs of the circuit.
    fn read_known(circuit: &Circuit, given: &Given) -> Result<Points, Failure> {
        let fixed = given.parameters()?;
        check_names(circuit, &fixed, given)?;
        let table = given.table.as_deref().map(|path| from_npy(circuit, path)).transpose()?;
        let sweep = table.as_ref().is_some_and(|t| t.two_dimensional);
        Ok(Points { fixed, table, sweep, origin: given.origin().cloned() })
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
    /// [`Failure`] as [`Points::inputs`], also for a table with more than one row.
    pub fn one(&self, circuit: &Circuit) -> Result<Vec<f64>, Failure> {
        if self.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        self.inputs(circuit, 0)
    }

    /// A failure of the runs at the statement that has no numbers at their values, if there is one.
    #[must_use]
    pub fn located(&self, failure: Failure) -> Failure {
        let has_value = |name: &str| self.table.is_some() || self.fixed.contains_key(name);
        let Some(parsed) = self.origin.as_ref().filter(|p| p.circuit.inputs().all(has_value)) else {
            return failure;
        };
        for row in 0..self.len() {
            let Ok(inputs) = self.inputs::<f64>(&parsed.circuit, row) else { continue };
            let Some((instruction, error)) = parsed.circuit.fault(&inputs) else { continue };
            let in_row = if self.sweep { format!(" in row {row}") } else { String::new() };
            let mut failure = Failure::input(format_args!("{error}{in_row}"));
            failure.remarks[0].labels.extend(parsed.place(instruction));
            failure.sources = parsed.sources.clone();
            return failure;
        }
        failure
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
fn check_names(circuit: &Circuit, fixed: &Named, given: &Given) -> Result<(), Failure> {
    let inputs: BTreeSet<&str> = circuit.inputs().collect();
    if let Some(name) = fixed.keys().find(|name| !inputs.contains(name.as_str())) {
        let failure = Failure::input(format_args!("the circuit has no parameter `{name}`"));
        let known = || circuit.inputs().chain(given.read_for().iter().map(String::as_str));
        return Err(match known().count() {
            0 => failure.help("it has no parameters at all"),
            n => {
                let some: Vec<&str> = known().take(LISTED).collect();
                let more = if n > LISTED { ", …" } else { "" };
                failure.help(format_args!("it has {}{more}", some.join(", "))).nearest(name, known())
            }
        });
    }
    Ok(())
}

/// Checks that every input has a value.
fn check_complete(circuit: &Circuit, fixed: &Named, given: &Given) -> Result<(), Failure> {
    let unset: Vec<&str> = circuit.inputs().filter(|name| !fixed.contains_key(*name)).collect();
    let Some(first) = unset.first() else { return Ok(()) };
    let plural = if unset.len() == 1 { "parameter" } else { "parameters" };
    Err(Failure::input(format_args!("no value for {} {plural}: {}", unset.len(), unset.join(", ")))
        .help(given.how(first, "FILE")))
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
