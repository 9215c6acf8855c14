//! Parameters of circuits by their numbers.

use std::{
    cmp::Ordering,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher},
};

/// The number of a parameter within its circuit.
///
/// An id that comes from a circuit holds the name of its parameter as well: another circuit, in
/// which the number means another parameter, refuses it. Ids are compared by their numbers alone.
#[derive(Clone, Copy, Debug)]
pub struct ParamId {
    number: u32,
    pub(super) name: ParamName,
}

/// Information that an id has about the name of its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamName {
    /// Any name: the id was made of a number.
    Any,
    /// A hash of it.
    Hash(u32),
    /// Ambiguous: two parameters of different names were added, as if they were one. The angle is
    /// NaN.
    Ambiguous,
}

impl ParamId {
    /// The parameter of this number, whatever its name.
    #[must_use]
    pub const fn new(number: u32) -> ParamId {
        ParamId { number, name: ParamName::Any }
    }

    /// The parameter of this number and name.
    pub(crate) fn named(number: u32, name: &str) -> ParamId {
        ParamId { number, name: ParamName::hashed(name) }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The position in a list of values.
    #[must_use]
    pub fn index(self) -> usize {
        self.number as usize
    }

    /// Returns true if a parameter of its number and this name may be the one that is meant.
    pub(crate) fn may_be(self, name: &str) -> bool {
        self.name == ParamName::Any || self.name == ParamName::hashed(name)
    }
}

impl ParamName {
    fn hashed(name: &str) -> ParamName {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
        // Either half of the hash is as good.
        ParamName::Hash((hash >> 32) as u32)
    }

    /// Returns the name of an id that refers to both.
    pub(super) fn and(self, other: ParamName) -> ParamName {
        match (self, other) {
            (ParamName::Any, name) | (name, ParamName::Any) => name,
            (a, b) if a == b => a,
            _ => ParamName::Ambiguous,
        }
    }
}

impl PartialEq for ParamId {
    fn eq(&self, other: &ParamId) -> bool {
        self.number == other.number
    }
}

impl Eq for ParamId {}

impl PartialOrd for ParamId {
    fn partial_cmp(&self, other: &ParamId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ParamId {
    fn cmp(&self, other: &ParamId) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl Hash for ParamId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}
