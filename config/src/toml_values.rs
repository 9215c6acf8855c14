//! Values of a TOML file: the right kind of value, or what was expected in words.

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::parse::parse_count;

/// Returns the entries in the order of the file.
pub(crate) fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|entry| entry.0.span().start);
    entries
}

pub(crate) fn integer(value: &DeValue<'_>, least: u64, most: u64) -> Result<u64, String> {
    let error = || format!("expected a whole number from {least} to {most}");
    let number = value.as_integer().ok_or_else(error)?;
    let number = u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| error())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(error()) }
}

/// Returns a whole number, which may be written as `1e9` too, as on the command line.
pub(crate) fn count(value: &DeValue<'_>) -> Result<u64, String> {
    match value {
        DeValue::Float(x) => parse_count(x.as_str()),
        DeValue::String(text) => parse_count(text),
        _ => integer(value, 0, u64::MAX),
    }
}

pub(crate) fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "expected true or false".to_owned())
}

pub(crate) fn string(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "expected a string".to_owned())
}

/// Returns a number, written with a point or without.
pub(crate) fn real(value: &DeValue<'_>) -> Result<f64, String> {
    let text = match value {
        DeValue::Float(x) => x.as_str(),
        DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
        _ => "",
    };
    match text.replace('_', "").parse() {
        Ok(x) if f64::is_finite(x) => Ok(x),
        _ => Err("expected a finite number".to_owned()),
    }
}

pub(crate) fn strings(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let error = || "expected a string or a list of strings".to_owned();
    match value {
        DeValue::String(text) => Ok(vec![text.clone().into_owned()]),
        DeValue::Array(list) => {
            list.iter().map(|v| v.get_ref().as_str().map(str::to_owned).ok_or_else(error)).collect()
        }
        _ => Err(error()),
    }
}
