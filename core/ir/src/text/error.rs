//! Errors of program text.

use crate::{
    array::ArrayError,
    ir::Position,
    notation::{hint, nearest_name},
};

/// Error in a program text, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {kind}")]
#[non_exhaustive]
pub struct TextError {
    /// Line and column.
    pub at: Position,
    /// Start in the text, in bytes.
    pub start: usize,
    /// End in the text, in bytes.
    pub end: usize,
    /// Kind of the error.
    pub kind: TextErrorKind,
}

/// Kind of an error in a program text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// An unexpected token.
    #[error("expected {expected}, found {given}")]
    Unexpected {
        /// Token that was found.
        given: String,
        /// Tokens that are expected.
        expected: String,
    },
    /// An unknown name.
    #[error("no {what} `{name}`{}", hint(nearest.as_deref()))]
    Unknown {
        /// Sort of thing that it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// Nearest known name.
        nearest: Option<String>,
    },
    /// A name that is defined twice.
    #[error("the {what} `{name}` is defined twice")]
    Duplicate {
        /// Sort of thing that it names.
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
        /// Name of the callee.
        name: String,
        /// Number of parameters.
        expected: usize,
        /// Number of arguments given.
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
        /// Kind that was found.
        given: String,
        /// Kind that is expected.
        expected: String,
        /// Hint for a fix; starts with a separator if not empty.
        hint: &'static str,
    },
    /// A number that cannot be parsed.
    #[error("`{given}` is no number: expected {expected}")]
    Number {
        /// The text.
        given: String,
        /// Form that is expected.
        expected: &'static str,
    },
    /// An assignment to an immutable variable.
    #[error(
        "`{name}` cannot be assigned to: declare it with `let mut {name}`, a parameter or the variable of a loop once more with `let mut {name} = {name};`"
    )]
    Immutable {
        /// The variable.
        name: String,
    },
    /// A statement outside of the construct that it belongs to.
    #[error("`{what}` outside {expected}")]
    Misplaced {
        /// The statement.
        what: &'static str,
        /// Construct that it belongs to.
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
    /// A function that does not have the derivative.
    #[error("`{name}` cannot be differentiated: {reason}")]
    Derivative {
        /// The function.
        name: String,
        /// Reason.
        reason: String,
    },
    /// A text that exceeds the [`TextLimits`](super::TextLimits), or builds more than they allow.
    #[error("more than {limit} {what}: {way_out}")]
    TooLarge {
        /// Quantity that is limited.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// Hint for a fix.
        way_out: &'static str,
    },
    /// Too much nesting or too large a struct.
    #[error("{what} more than {limit}")]
    TooDeep {
        /// Quantity that is limited.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl TextErrorKind {
    /// Returns the error of an unknown name; `known` are the names that it could be.
    pub(super) fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> TextErrorKind {
        let nearest = nearest_name(name, known).map(str::to_owned);
        TextErrorKind::Unknown { what, name: name.to_owned(), nearest }
    }
}
