//! Observables as text, by the grammar of the [module](super).

use std::{fmt, str::FromStr};

use super::{ObservableError, PauliString, PauliSum, read};
use crate::notation::sign_of_term;

impl fmt::Display for PauliString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.factors.is_empty() {
            return f.write_str("I");
        }
        for (i, (qubit, pauli)) in self.factors.iter().enumerate() {
            write!(f, "{}{pauli:?}{qubit}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl fmt::Display for PauliSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (i, (coefficient, string)) in self.terms.iter().enumerate() {
            f.write_str(sign_of_term(i == 0, coefficient.is_sign_negative()))?;
            match (coefficient.abs(), string.factors.is_empty()) {
                (c, true) => write!(f, "{c}")?,
                (1.0, false) => write!(f, "{string}")?,
                (c, false) => write!(f, "{c}*{string}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for PauliSum {
    type Err = ObservableError;

    fn from_str(text: &str) -> Result<PauliSum, ObservableError> {
        read::sum(text, false, None)
    }
}

impl PauliSum {
    /// Parses a sum for n qubits.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// // Qubit 0 is the last letter of a word.
    /// assert_eq!(PauliSum::parse_on("0.5*IXZ", 3)?.to_string(), "0.5*Z0 X1");
    /// let error = PauliSum::parse_on("Z0 - X3", 3).unwrap_err();
    /// assert_eq!(error.to_string(), "column 6: qubit 3 does not exist: there are 3, counted from 0");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if the text is not an observable, acts on other qubits, or has words of
    /// another number of letters.
    pub fn parse_on(text: &str, n_qubits: usize) -> Result<PauliSum, ObservableError> {
        read::sum(text, false, Some(n_qubits))
    }

    /// Parses a sum as [`PauliSum::parse_on`] does, but a complete line is a term of its own, and
    /// `#` begins a comment.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let text = "0.5 Z0 # a field\n-2 X1\n(1.5+0j) [X0 X1] +\n0.5 []";
    /// assert_eq!(PauliSum::parse_lines(text, 2)?.to_string(), "0.5*Z0 - 2*X1 + 1.5*X0 X1 + 0.5");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`PauliSum::parse_on`]; columns count through all lines.
    pub fn parse_lines(text: &str, n_qubits: usize) -> Result<PauliSum, ObservableError> {
        read::sum(text, true, Some(n_qubits))
    }
}

impl FromStr for PauliString {
    type Err = ObservableError;

    /// Parses a string in the form of a term of a sum without a coefficient: `X0 Y2`, or `I`.
    fn from_str(text: &str) -> Result<PauliString, ObservableError> {
        read::string(text)
    }
}

/// The word that a text begins with, or its first character.
pub(super) fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    &text[..end.max(first)]
}

/// A word of a text in a message: its beginning, if it is long.
pub(super) fn shown(word: &str) -> String {
    const MOST: usize = 40;
    match word.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_owned(),
    }
}
