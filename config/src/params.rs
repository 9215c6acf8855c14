//! Values of a circuit's parameters, from what is given ([`Given`]) and from NumPy files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use ketgrad_core::{
    circuit::Circuit,
    observable::{ObservableError, PauliSum},
    param::{Angle, Values},
    qasm::Parsed,
    scalar::Real,
};

use crate::{
    files::{cannot, open},
    given::{Given, NamedAngles},
    npy::{self, Table},
    observables::Parametric,
    report::Failure,
};

/// The values of the runs that are to be made.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    /// Values that hold for every run, and win over the table.
    fixed: NamedAngles,
    /// A run for each row.
    table: Option<Table>,
    /// The column of each input that the table gives.
    columns: BTreeMap<String, usize>,
    /// The names besides the circuit's inputs: parameters of observables.
    own: Vec<String>,
    /// The standard deviations of inputs that have one.
    errors: BTreeMap<String, f64>,
    /// True if results are lists over the rows.
    pub(crate) sweep: bool,
    /// The text of the circuit.
    origin: Option<Arc<Parsed>>,
}

impl Points {
    /// Reads the values and checks that they are exactly the circuit's inputs and the names `own`,
    /// parameters of observables, which come after the inputs.
    ///
    /// # Errors
    /// [`Failure`] for a value that cannot be read, an unknown name, a name given twice, or inputs
    /// without a value, all of which are listed.
    pub(crate) fn read_with(
        circuit: &Circuit,
        own: Vec<String>,
        given: &Given,
    ) -> Result<Points, Failure> {
        let points = Points::read_known(circuit, own, given)?;
        match points.table {
            Some(_) => {}
            None => check_complete(&points.names(circuit), &points.fixed, given)?,
        }
        Ok(points)
    }

    /// Reads the values that there are, and gives them to the circuit; other inputs stay open.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read_with`], also for a table with more than one row.
    pub(crate) fn read_some(circuit: &Circuit, given: &Given) -> Result<Circuit, Failure> {
        let points = Points::one_known(circuit, Vec::new(), given)?;
        points.circuit(circuit, 0).map_err(|e| points.located(e))
    }

    /// Returns the values that there are of one run.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read_some`].
    pub(crate) fn one_known(
        circuit: &Circuit,
        own: Vec<String>,
        given: &Given,
    ) -> Result<Points, Failure> {
        given.refuse_errors(given.reader())?;
        let points = Points::read_known(circuit, own, given)?;
        if points.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        Ok(points)
    }

    /// Returns the observables of a run, all of whose parameters have values.
    ///
    /// # Errors
    /// [`Failure`] if a coefficient is not finite.
    pub(crate) fn observables(
        &self,
        observables: &[Parametric],
        row: usize,
    ) -> Result<Vec<PauliSum>, Failure> {
        let at = |Parametric { text, sum }: &Parametric| {
            let values: Vec<f64> = self.values_of(sum.params().iter().map(String::as_str), row)?;
            sum.evaluate(&values).map_err(|e| in_observable(text, &e))
        };
        observables.iter().map(at).collect()
    }

    /// Returns the observables with the values that there are for their parameters.
    ///
    /// # Errors
    /// Fails when [`Points::observables`] does.
    pub(crate) fn bound(&self, observables: &[Parametric]) -> Result<Vec<Parametric>, Failure> {
        let bound = |Parametric { text, sum }: &Parametric| {
            let values: Vec<f64> = self.values_of(sum.params().iter().map(String::as_str), 0)?;
            let known = sum.params().iter().zip(values);
            let known: Vec<Option<f64>> =
                known.map(|(name, x)| self.has_value(name).then_some(x)).collect();
            let sum = sum.bind(&known).map_err(|e| in_observable(text, &e))?;
            Ok(Parametric { text: text.clone(), sum })
        };
        observables.iter().map(bound).collect()
    }

    /// Returns the values of the one run that there may be, in order of the circuit's inputs;
    /// `None` where none is given.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::read_with`], also for a table with more than one row.
    pub(crate) fn some(circuit: &Circuit, given: &Given) -> Result<Vec<Option<f64>>, Failure> {
        let points = Points::one_known(circuit, Vec::new(), given)?;
        let has_value = |name: &str| points.has_value(name);
        let all: Vec<f64> = points.inputs(circuit, 0)?;
        Ok(circuit.inputs().zip(all).map(|(name, x)| has_value(name).then_some(x)).collect())
    }

    /// Reads the values and checks that they are inputs of the circuit, or the other names.
    pub(crate) fn read_known(
        circuit: &Circuit,
        own: Vec<String>,
        given: &Given,
    ) -> Result<Points, Failure> {
        let fixed = given.parameters()?;
        let all: Vec<&str> = circuit.inputs().chain(own.iter().map(String::as_str)).collect();
        check_names(&all, &fixed, given)?;
        let (errors, origin) = (given.errors()?, given.origin().cloned());
        let (mut table, mut columns) = (None, BTreeMap::new());
        if !given.tables.is_empty() {
            let (read, names) = from_tables(&all, &fixed, given)?;
            columns = names.into_iter().enumerate().map(|(k, name)| (name, k)).collect();
            table = Some(read);
        }
        let sweep = table.as_ref().is_some_and(|table| table.two_dimensional);
        Ok(Points { fixed, table, columns, own, errors, sweep, origin })
    }

    /// Returns the names of all parameters: the circuit's inputs, and then those of observables
    /// alone.
    pub(crate) fn names<'a>(&'a self, circuit: &'a Circuit) -> Vec<&'a str> {
        circuit.inputs().chain(self.own.iter().map(String::as_str)).collect()
    }

    fn has_value(&self, name: &str) -> bool {
        self.columns.contains_key(name) || self.fixed.contains_key(name)
    }

    /// Returns true if all inputs have a value.
    pub(crate) fn is_complete(&self, circuit: &Circuit) -> bool {
        self.names(circuit).into_iter().all(|name| self.has_value(name))
    }

    /// Returns the standard deviation of each parameter, in order; none if no value has an error
    /// bar.
    #[must_use]
    pub(crate) fn errors(&self, circuit: &Circuit) -> Option<Vec<f64>> {
        let names = self.names(circuit).into_iter();
        let each = names.map(|name| self.errors.get(name).copied().unwrap_or(0.0));
        (!self.errors.is_empty()).then(|| each.collect())
    }

    /// Returns the number of runs.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.table.as_ref().map_or(1, |t| t.rows)
    }

    /// Returns the values of the one run that there may be, in order of the circuit's inputs, and
    /// then of the parameters of observables.
    ///
    /// # Errors
    /// [`Failure`] as [`Points::inputs`], also for a table with more than one row.
    pub(crate) fn one(&self, circuit: &Circuit) -> Result<Vec<f64>, Failure> {
        if self.sweep {
            return Err(Failure::input("one point is needed here, not a table of them"));
        }
        self.values(circuit, 0)
    }

    /// Returns a failure of the runs at the statement that has no numbers at their values, if there
    /// is one.
    #[must_use]
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        let Some(parsed) = self.origin.as_ref().filter(|p| self.is_complete(&p.circuit)) else {
            return failure;
        };
        for row in 0..self.len() {
            let Ok(inputs) = self.inputs::<f64>(&parsed.circuit, row) else { continue };
            let Some((instruction, error)) = parsed.circuit.fault(&inputs) else { continue };
            let in_row = if self.sweep { format!(" in row {row}") } else { String::new() };
            let mut failure = Failure::input(format_args!("{error}{in_row}"));
            failure.remarks[0].labels.extend(parsed.label_of(instruction));
            failure.sources = parsed.sources.clone();
            return failure;
        }
        failure
    }

    /// Returns the values of a run, in order of the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] if one of them is not finite.
    pub(crate) fn inputs<T: Real>(&self, circuit: &Circuit, row: usize) -> Result<Vec<T>, Failure> {
        self.values_of(circuit.inputs(), row)
    }

    /// Returns the values of a run: those of the circuit's inputs, and then those of the parameters
    /// of observables alone.
    ///
    /// # Errors
    /// [`Failure`] if one of them is not finite.
    pub(crate) fn values<T: Real>(&self, circuit: &Circuit, row: usize) -> Result<Vec<T>, Failure> {
        self.values_of(self.names(circuit), row)
    }

    /// Returns the values of parameters by name in a run.
    ///
    /// # Errors
    /// [`Failure`] if one of them is not finite.
    pub(crate) fn values_of<'n, T: Real>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        row: usize,
    ) -> Result<Vec<T>, Failure> {
        let numbers = self.table.as_ref().map_or(&[][..], |t| t.row(row));
        let in_table = |name: &str| Some(Angle::rad(*numbers.get(*self.columns.get(name)?)?));
        names
            .into_iter()
            .map(|name| {
                let given = self.fixed.get(name).cloned();
                let angle = given.or_else(|| in_table(name)).unwrap_or_default();
                Values::<T>(&[])
                    .radians(&angle)
                    .map_err(|e| Failure::input(format_args!("{name}: {e}")))
            })
            .collect()
    }

    /// Returns the circuit of a run, all inputs bound.
    ///
    /// # Errors
    /// [`Failure`] if a computed parameter is not finite there.
    pub(crate) fn circuit(&self, circuit: &Circuit, row: usize) -> Result<Circuit, Failure> {
        let numbers = self.table.as_ref().map_or(&[][..], |t| t.row(row));
        // Of a name that comes twice the last value counts: `--set` wins over the table.
        let in_table =
            self.columns.iter().map(|(name, &k)| (name.as_str(), Angle::rad(numbers[k])));
        let fixed = self.fixed.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let values =
            in_table.chain(fixed).filter(|(name, _)| !self.own.iter().any(|own| own == name));
        circuit.bind(&values.collect::<Vec<_>>()).map_err(Failure::input)
    }
}

/// Returns an error at the values of an observable's parameters.
fn in_observable(text: &str, error: &ObservableError) -> Failure {
    Failure::input(format_args!("the observable `{text}`: {error}"))
}

/// Parameters that an error lists at most.
const LISTED: usize = 12;

/// Checks that the names are known.
fn check_names(all: &[&str], fixed: &NamedAngles, given: &Given) -> Result<(), Failure> {
    let inputs: BTreeSet<&str> = all.iter().copied().collect();
    if let Some(name) = fixed.keys().find(|name| !inputs.contains(name.as_str())) {
        let failure = Failure::input(format_args!("the circuit has no parameter `{name}`"));
        let known = || all.iter().copied().chain(given.read_for().iter().map(String::as_str));
        return Err(match known().count() {
            0 => failure.help("it has no parameters at all"),
            n => {
                let some: Vec<&str> = known().take(LISTED).collect();
                let more = if n > LISTED { ", …" } else { "" };
                failure
                    .help(format_args!("it has {}{more}", some.join(", ")))
                    .nearest(name, known())
            }
        });
    }
    Ok(())
}

/// Checks that every parameter has a value.
fn check_complete(all: &[&str], fixed: &NamedAngles, given: &Given) -> Result<(), Failure> {
    let unset: Vec<&str> = all.iter().copied().filter(|name| !fixed.contains_key(*name)).collect();
    let Some(first) = unset.first() else { return Ok(()) };
    let plural = if unset.len() == 1 { "parameter" } else { "parameters" };
    Err(Failure::input(format_args!("no value for {} {plural}: {}", unset.len(), unset.join(", ")))
        .help(given.how(first, "FILE")))
}

/// Returns the tables side by side, and the inputs that their columns are: those that have no value
/// otherwise, in order of declaration, or all of them, over which `--set` wins.
fn from_tables(
    all: &[&str],
    fixed: &NamedAngles,
    given: &Given,
) -> Result<(Table, Vec<String>), Failure> {
    let tables: Vec<(String, Table)> =
        given.tables.iter().map(|path| read_npy(path)).collect::<Result<_, _>>()?;
    let open: Vec<&str> = all.iter().copied().filter(|name| !fixed.contains_key(*name)).collect();
    let columns: usize = tables.iter().map(|(_, table)| table.columns).sum();
    let files = tables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" and ");
    let names = if columns == open.len() { open } else { all.to_vec() };
    if columns != names.len() {
        let swept = tables.iter().any(|(_, table)| table.two_dimensional);
        let (has, a_row) =
            (if tables.len() > 1 { "have" } else { "has" }, if swept { " a row" } else { "" });
        let values = if columns == 1 { "value" } else { "values" };
        let mut message = format!(
            "{files} {has} {columns} {values}{a_row}, the circuit has {} parameters",
            all.len()
        );
        let mut asked =
            all.iter().filter(|name| !fixed.contains_key(**name)).copied().collect::<Vec<_>>();
        if asked.len() < all.len() {
            message += &format!(", {} of them without another value", asked.len());
        }
        if asked.is_empty() {
            asked = all.to_vec();
        }
        let more = if asked.len() > LISTED { ", …" } else { "" };
        asked.truncate(LISTED);
        let names = asked.join(", ");
        return Err(
            Failure::input(message).help(format_args!("in order of declaration: {names}{more}"))
        );
    }
    if let Some((name, file)) = names.iter().find_map(|name| Some((name, given.in_file(name)?))) {
        let message = format_args!(
            "`{name}` is given twice: by {file} and by {files}, which has all parameters"
        );
        return Err(Failure::input(message)
            .help("a table may have the parameters alone that nothing else gives"));
    }
    let beside = beside(&tables)?;
    if let Some(i) = beside.numbers.iter().position(|x| !x.is_finite()) {
        let (row, input, value) = (i / names.len(), names[i % names.len()], beside.numbers[i]);
        let message =
            format!("{files}: the value of `{input}` in row {row} is {value}, not a finite number");
        return Err(Failure::input(message));
    }
    Ok((beside, names.into_iter().map(str::to_owned).collect()))
}

/// Joins tables side by side, a row of each in every row; a single point is repeated in all rows.
fn beside(tables: &[(String, Table)]) -> Result<Table, Failure> {
    let swept = || tables.iter().filter(|(_, table)| table.two_dimensional);
    let (rows, two_dimensional) =
        (swept().next().map_or(1, |t| t.1.rows), swept().next().is_some());
    if let (Some((first, _)), Some((other, table))) =
        (swept().next(), swept().find(|t| t.1.rows != rows))
    {
        let message = format_args!("{first} has {rows} rows, {other} has {}", table.rows);
        return Err(Failure::input(message).help("the tables of a sweep have a row for each point"));
    }
    let columns = tables.iter().map(|(_, table)| table.columns).sum();
    let row = |row: usize| {
        tables
            .iter()
            .flat_map(move |(_, table)| table.row(if table.two_dimensional { row } else { 0 }))
    };
    let numbers = (0..rows).flat_map(row).copied().collect();
    Ok(Table { rows, columns, numbers, two_dimensional })
}

fn read_npy(path: &Path) -> Result<(String, Table), Failure> {
    let name = path.display().to_string();
    let file = open(path).map_err(|e| cannot("read", &name, &e))?;
    let table = npy::read_table(file).map_err(|e| Failure::input(format_args!("{name}: {e}")))?;
    if table.rows == 0 {
        return Err(Failure::input(format_args!("{name} has no rows")));
    }
    Ok((name, table))
}
