//! What can be wrong with program text.

use crate::{array::ArrayError, ir::Position};

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {kind}")]
#[non_exhaustive]
pub struct TextError {
    /// Line and column.
    pub at: Position,
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What is wrong.
    pub kind: TextErrorKind,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// A token that cannot stand there.
    #[error("expected {expected}, found {given}")]
    Unexpected {
        /// What is there.
        given: String,
        /// What should be.
        expected: String,
    },
    /// A name that means nothing.
    #[error("no {what} `{name}`{}", nearest.as_ref().map(|n| format!(": did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// The one most like it.
        nearest: Option<String>,
    },
    /// A name given twice.
    #[error("the {what} `{name}` is defined twice")]
    Duplicate {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Shapes that do not fit, whatever the data are.
    #[error(transparent)]
    Shapes(#[from] ArrayError),
    /// A wrong number of arguments.
    #[error("`{name}` takes {expected} argument{}, given {given}", if *expected == 1 { "" } else { "s" })]
    Arity {
        /// What is called.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// A struct without one of its fields.
    #[error("`{name}` lacks its field `{field}`")]
    MissingField {
        /// The struct.
        name: String,
        /// The field.
        field: String,
    },
    /// A value of the wrong kind.
    #[error("expected {expected}, given {given}{hint}")]
    Kind {
        /// What is there.
        given: String,
        /// What should be.
        expected: String,
        /// How to mend it; starts with a separator if not empty.
        hint: &'static str,
    },
    /// A number that cannot be read.
    #[error("`{given}` is no number: expected {expected}")]
    Number {
        /// The text.
        given: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An assignment to what cannot change.
    #[error(
        "`{name}` cannot be assigned to: declare it with `let mut {name}`, a parameter or the variable of a loop once more with `let mut {name} = {name};`"
    )]
    Immutable {
        /// The variable.
        name: String,
    },
    /// Something outside its place.
    #[error("`{what}` outside {expected}")]
    Misplaced {
        /// The statement.
        what: &'static str,
        /// Where it belongs.
        expected: &'static str,
    },
    /// A function without a value.
    #[error(
        "`{name}` gives no value: end it with an expression without `;`, an `if` with its `else`"
    )]
    NoValue {
        /// The function.
        name: String,
    },
    /// A function that has no such derivative.
    #[error("`{name}` cannot be differentiated: {reason}")]
    Derivative {
        /// The function.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A text that is, or asks for, more than [`TextLimits`](super::TextLimits) allow.
    #[error("more than {limit} {what}: {way_out}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// What to do.
        way_out: &'static str,
    },
    /// Too much nesting or too large a struct.
    #[error("{what} more than {limit}")]
    TooDeep {
        /// What.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// The most names that one is compared with.
const MOST_NAMES: usize = 10_000;

/// The longest name that is compared with others, in bytes.
const LONG: usize = 64;

/// The name most like the given one, if it is at all.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    names
        .take(MOST_NAMES)
        .filter(|n| n.len().max(name.len()) <= LONG)
        .map(|n| (strsim::jaro_winkler(name, n), n))
        .filter(|(likeness, n)| *likeness > 0.7 && *n != name)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, n)| n.to_owned())
}
