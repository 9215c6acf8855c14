//! Strengths of channels and readings as a table gives them.

use ketgrad_core::{circuit::NoiseModel, param::Angle};
use toml::de::DeValue;

use crate::toml_values::{real, string};

/// A probability or a rate: a number, or the name of an input.
pub(super) enum Strength {
    Number(f64),
    Input(String),
}

impl Strength {
    pub(super) fn read(value: &DeValue<'_>) -> Result<Strength, String> {
        if let Ok(number) = real(value) {
            let one = (0.0..=1.0).contains(&number).then_some(Strength::Number(number));
            return one.ok_or_else(|| format!("expected a number from 0 to 1, not {number}"));
        }
        let is_letter = |c: char| c == '_' || c.is_alphabetic();
        let is_name = |text: &String| {
            text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_numeric())
        };
        let name = string(value).ok().filter(is_name).map(Strength::Input);
        name.ok_or_else(|| "expected a number from 0 to 1, or the name of an input".to_owned())
    }

    pub(super) fn angle(&self, model: &mut NoiseModel) -> Angle {
        match self {
            Strength::Number(number) => Angle::rad(*number),
            Strength::Input(name) => model.param(name),
        }
    }
}

/// A value for all, or one for each.
pub(super) enum Each<T> {
    All(T),
    List(Vec<T>),
}

impl<T> Each<T> {
    pub(super) fn read(
        value: &DeValue<'_>,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Each<T>, String> {
        match value.as_array() {
            Some(list) => {
                list.iter().map(|x| read(x.get_ref())).collect::<Result<_, _>>().map(Each::List)
            }
            None => read(value).map(Each::All),
        }
    }

    pub(super) fn map(self, f: impl Fn(T) -> T) -> Each<T> {
        match self {
            Each::All(value) => Each::All(f(value)),
            Each::List(list) => Each::List(list.into_iter().map(f).collect()),
        }
    }

    pub(super) fn get(&self, k: usize) -> Option<&T> {
        match self {
            Each::All(value) => Some(value),
            Each::List(list) => list.get(k),
        }
    }

    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Each::All(_) => None,
            Each::List(list) => Some(list.len()),
        }
    }
}
