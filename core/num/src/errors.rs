//! Lists of errors, such as all errors that a parser finds in a text.

use std::{error::Error, fmt, ops::Deref};

/// At least one error, in the order in which they were found. It is an error itself, whose message
/// is theirs, a line for each, and a slice of them.
///
/// ```
/// use ketgrad_core::{errors::Errors, text::{TextError, parse_program}};
///
/// let errors: Errors<TextError> = parse_program("fn f(x) { x + y }\nfn g(x) { z }").unwrap_err();
/// assert_eq!((errors.len(), errors[0].start), (2, 14));
/// assert_eq!(errors.to_string(), format!("{}\n{}", errors[0], errors[1]));
///
/// fn parsed(source: &str) -> Result<usize, Box<dyn std::error::Error>> {
///     Ok(parse_program(source)?.functions.len())
/// }
/// assert!(parsed("fn f(x) { x }").is_ok() && parsed("fn").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors<E> {
    all: Vec<E>,
}

impl<E> Errors<E> {
    /// Returns `Ok` if there are no errors.
    ///
    /// # Errors
    /// The list has errors.
    pub fn none_in(errors: Vec<E>) -> Result<(), Errors<E>> {
        if errors.is_empty() { Ok(()) } else { Err(Errors { all: errors }) }
    }

    /// Returns all errors.
    #[must_use]
    pub fn into_vec(self) -> Vec<E> {
        self.all
    }
}

impl<E> From<E> for Errors<E> {
    fn from(error: E) -> Errors<E> {
        Errors { all: vec![error] }
    }
}

impl<E> Deref for Errors<E> {
    type Target = [E];
    fn deref(&self) -> &[E] {
        &self.all
    }
}

impl<E> IntoIterator for Errors<E> {
    type Item = E;
    type IntoIter = std::vec::IntoIter<E>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl<'a, E> IntoIterator for &'a Errors<E> {
    type Item = &'a E;
    type IntoIter = std::slice::Iter<'a, E>;
    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<E: fmt::Display> fmt::Display for Errors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, error) in self.all.iter().enumerate() {
            if k > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl<E: Error + 'static> Error for Errors<E> {
    /// Returns the source of the first error.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.all.first().and_then(Error::source)
    }
}
