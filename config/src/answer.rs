//! Results of derivatives: the JSON object and the text for people.

use std::{
    io::{self, Write},
    time::Instant,
};

use serde_json::{Map, Value};

use crate::{
    npy::Number,
    options::Common,
    report::Failure,
    terminal::{Answer, Terminal},
};

/// The result: the members of the JSON object, in order, and the text for people.
struct Derived {
    json: Option<Map<String, Value>>,
    text: String,
}

impl Answer for Derived {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.json {
            Some(object) => {
                serde_json::to_writer(&mut *out, object)?;
                writeln!(out)
            }
            None => out.write_all(self.text.as_bytes()),
        }
    }
}

/// Returns the answer: the members of the object with the time they took, or the text for people.
pub(crate) fn answer(
    common: &Common,
    start: Instant,
    text: String,
    object: impl IntoIterator<Item = (&'static str, Value)>,
) -> Box<dyn Answer> {
    let seconds = ("seconds", Value::from(start.elapsed().as_secs_f64()));
    let json = common.json.then(|| {
        object.into_iter().chain([seconds]).map(|(key, value)| (key.to_owned(), value)).collect()
    });
    Box::new(Derived { json, text })
}

/// Turns numbers into JSON and remembers the first that has none.
#[derive(Default)]
pub(crate) struct Numbers {
    nonfinite: Option<String>,
}

impl Numbers {
    /// Refuses numbers that are not finite, or notes that null replaces them.
    pub(crate) fn report(&self, common: &Common, terminal: &Terminal) -> Result<(), Failure> {
        match &self.nonfinite {
            Some(what) if !common.allow_nonfinite => {
                Err(Failure::input(what).help("--allow-nonfinite prints null instead"))
            }
            Some(what) => {
                terminal.note(&format!("note: {what}; null stands for it"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns a number, or null if it has no text in JSON.
    pub(crate) fn real<T: Number>(&mut self, x: T, what: &str) -> Value {
        if !x.finite() {
            self.nonfinite.get_or_insert_with(|| format!("{what} is {x:?}"));
            return Value::Null;
        }
        serde_json::to_value(x).unwrap_or(Value::Null)
    }
}

/// Formats `value  0.2`, and one line for each member of an object.
pub(crate) fn in_text(key: &str, value: &Value) -> String {
    let Value::Object(members) = value else { return format!("{key}  {value}\n") };
    let width = members.keys().map(|k| k.chars().count()).max().unwrap_or(0);
    let mut out = format!("{key}\n");
    for (name, member) in members {
        let member = match member {
            Value::Object(row) => row.values().map(Value::to_string).collect::<Vec<_>>().join("  "),
            one => one.to_string(),
        };
        out.push_str(&format!("  {name:width$}  {member}\n"));
    }
    out
}
