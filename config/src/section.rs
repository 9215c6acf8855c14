//! A table of a TOML file, key by key, with the place of everything.

use std::{fmt, ops::Range};

use ketgrad_core::qasm::{Label, Severity, SourceText};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    report::{Failure, Remark, Status},
    toml_values::{boolean, in_order, integer, real, string, strings},
};

/// The most qubits of a state on any machine.
const MOST_QUBITS: u64 = ketgrad_core::basis::MAX_QUBITS as u64;

/// A file that was read.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn document(&self) -> Result<Spanned<DeTable<'_>>, Failure> {
        DeTable::parse(&self.text)
            .map_err(|e| self.failure_at(e.message(), e.span().unwrap_or(0..0)))
    }

    fn failure_at(&self, message: impl fmt::Display, span: Range<usize>) -> Failure {
        Failure::input(message).with_label(&self.name, &self.text, span, "")
    }
}

/// A table of a file. Asking for a key makes it known; what is left in the end is an error.
pub(crate) struct Section<'a, 'i> {
    file: &'a File,
    /// Empty for the whole file.
    name: &'static str,
    /// `None` if it is not there.
    table: Option<&'a DeTable<'i>>,
    span: Range<usize>,
    known: Vec<&'static str>,
}

impl<'a, 'i> Section<'a, 'i> {
    /// Returns the whole file.
    pub(crate) fn top(file: &'a File, table: &'a DeTable<'i>) -> Section<'a, 'i> {
        Section { table: Some(table), ..Section::missing(file, "") }
    }

    /// Returns a table that is not there.
    fn missing(file: &'a File, name: &'static str) -> Section<'a, 'i> {
        Section { file, name, table: None, span: 0..0, known: Vec::new() }
    }

    /// Returns a table of this one.
    pub(crate) fn section(&mut self, name: &'static str) -> Result<Section<'a, 'i>, Failure> {
        let Some(value) = self.get(name) else { return Ok(Section::missing(self.file, name)) };
        match value.get_ref().as_table() {
            Some(table) => Ok(Section {
                table: Some(table),
                span: value.span(),
                ..Section::missing(self.file, name)
            }),
            None => Err(self.wrong(name, "expected a table")),
        }
    }

    /// Returns the tables `[[name]]` of this one.
    pub(crate) fn sections(&mut self, name: &'static str) -> Result<Vec<Section<'a, 'i>>, Failure> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let list =
            value.get_ref().as_array().ok_or_else(|| self.wrong(name, "expected tables: [[…]]"))?;
        let section = |entry: &'a Spanned<DeValue<'i>>| match entry.get_ref().as_table() {
            Some(table) => {
                let missing = Section::missing(self.file, name);
                Ok(Section { table: Some(table), span: entry.span(), ..missing })
            }
            None => Err(self
                .file
                .failure_at(format_args!("`{name}`: expected tables: [[{name}]]"), entry.span())),
        };
        list.iter().map(section).collect()
    }

    /// Returns each value of a list.
    pub(crate) fn values<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Failure> {
        self.read(key, |value| match value.as_array() {
            Some(list) => list.iter().map(|x| read(x.get_ref())).collect(),
            None => Err("expected a list".to_owned()),
        })
    }

    /// Refuses the keys that were not asked for.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        for (key, _) in self.table.map(in_order).unwrap_or_default() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                let failure = self
                    .file
                    .failure_at(format_args!("unknown key `{}`", self.path(name)), key.span());
                return Err(failure.nearest(name, self.known.iter().copied()));
            }
        }
        Ok(())
    }

    /// Something is wrong with the value of a key, or with the table where the key is not there.
    pub(crate) fn wrong(&self, key: &str, why: impl fmt::Display) -> Failure {
        let span = self.table.and_then(|t| t.get(key)).map_or(self.span.clone(), Spanned::span);
        self.file.failure_at(format_args!("`{}`: {why}", self.path(key)), span)
    }

    /// Something is wrong with what a key names or says; it is the place if there is none yet.
    pub(crate) fn caused(&self, key: &str, failure: Failure) -> Failure {
        let span = self.table.and_then(|t| t.get(key)).map_or(self.span.clone(), Spanned::span);
        Failure { status: Status::Input, ..failure }.with_label(
            &self.file.name,
            &self.file.text,
            span,
            "",
        )
    }

    /// Returns the name and the text of the whole file, and where in it the text of a key is as it
    /// is, without escapes.
    pub(crate) fn place_of(&self, key: &str, text: &str) -> Option<(&'a str, &'a str, usize)> {
        let span = self.table?.get(key)?.span();
        let inside = self.file.text.get(span.clone())?.find(text)?;
        Some((&self.file.name, &self.file.text, span.start + inside))
    }

    /// Returns a warning about the table.
    pub(crate) fn warning(
        &self,
        message: impl fmt::Display,
        help: Option<&str>,
    ) -> (Remark, SourceText) {
        let source = SourceText { name: self.file.name.clone(), text: self.file.text.clone() };
        let label = Label { source: 0, span: self.span.clone(), text: String::new() };
        let (message, help) = (message.to_string(), help.map(str::to_owned));
        (Remark { severity: Severity::Warning, message, help, labels: vec![label] }, source)
    }

    /// Something is missing.
    pub(crate) fn incomplete(&self, what: &str) -> Failure {
        match self.table {
            Some(_) => self
                .file
                .failure_at(format_args!("[{}] needs {what}", self.name), self.span.clone()),
            None => {
                let end = self.file.text.trim_end().len();
                self.file.failure_at(
                    format_args!("[{}] is missing: it needs {what}", self.name),
                    end..end,
                )
            }
        }
    }

    /// Reports a name that denotes nothing.
    pub(crate) fn unknown_name(&self, key: &str, given: &str, known: &[&str]) -> Failure {
        let message = format!("it is one of {}, not `{given}`", known.join(", "));
        self.wrong(key, message).nearest(given, known.iter().copied())
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Result<Option<String>, Failure> {
        self.read(key, string)
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Result<Vec<String>, Failure> {
        Ok(self.read(key, strings)?.unwrap_or_default())
    }

    /// Returns true if the key exists and is true.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<bool, Failure> {
        Ok(self.read(key, boolean)?.unwrap_or(false))
    }

    pub(crate) fn number(&mut self, key: &'static str) -> Result<Option<f64>, Failure> {
        self.read(key, real)
    }

    /// Returns a number that is not negative.
    pub(crate) fn size(&mut self, key: &'static str) -> Result<Option<f64>, Failure> {
        match self.number(key)? {
            Some(x) if x < 0.0 => Err(self.wrong(key, "expected a number of at least 0")),
            x => Ok(x),
        }
    }

    pub(crate) fn numbers(&mut self, key: &'static str) -> Result<Option<Vec<f64>>, Failure> {
        self.read(key, |value| match value.as_array() {
            Some(list) => list.iter().map(|x| real(x.get_ref())).collect(),
            None => Err("expected a list of numbers".to_owned()),
        })
    }

    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, Failure> {
        self.read(key, |value| integer(value, least, most))
    }

    /// Returns a whole number that must be there.
    pub(crate) fn count(
        &mut self,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Result<usize, Failure> {
        let number = self.integer(key, least, most)?;
        // The ranges asked for fit.
        number.map(|n| n as usize).ok_or_else(|| self.incomplete(&format!("`{key}`")))
    }

    /// Returns a number of qubits that must be there.
    pub(crate) fn qubits(&mut self, key: &'static str) -> Result<usize, Failure> {
        self.count(key, 1, MOST_QUBITS)
    }

    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value.get_ref()).map(Some).map_err(|why| self.wrong(key, why))
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.known.push(key);
        self.table.and_then(|table| table.get(key))
    }

    /// Returns a dotted name such as `ansatz.name`.
    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}
