//! Observables: real combinations of Pauli strings.
//!
//! ```
//! use ketgrad_core::observable::PauliSum;
//!
//! let energy: PauliSum = "0.5*Z0 Z1 - 1e-3 X2 + 2".parse()?;
//! assert_eq!(energy.terms().len(), 3);
//! assert_eq!(energy.to_string(), "0.5*Z0 Z1 - 0.001*X2 + 2");
//! assert_eq!("Z0 Z0".parse::<PauliSum>().unwrap_err().to_string(), "column 4: qubit 0 comes twice in a term");
//! # Ok::<(), ketgrad_core::observable::ObservableError>(())
//! ```
//!
//! # Grammar
//! A sum of terms joined by `+` or `-`; a term is an optional real coefficient, an optional `*`, then
//! Pauli letters with qubit numbers, separated by spaces. `I`, `I3` or a bare number is a constant.

use std::{fmt, str::FromStr};

use crate::basis::MAX_QUBITS;

/// A Pauli operator on one qubit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Pauli {
    X,
    Y,
    Z,
}

impl Pauli {
    /// The operator and the qubit that a word such as `Z0` names; `None` for the identity `I`.
    ///
    /// ```
    /// use ketgrad_core::observable::Pauli;
    /// const FACTOR: Option<(usize, Pauli)> = Pauli::named("Z12"); // at compile time
    /// assert_eq!(FACTOR, Some((12, Pauli::Z)));
    /// assert_eq!(Pauli::named("I"), None);
    /// ```
    ///
    /// # Panics
    /// On any other word: this is for words in a program's text. [`PauliSum`] parses those of users.
    #[must_use]
    pub const fn named(word: &str) -> Option<(usize, Pauli)> {
        let bytes = word.as_bytes();
        let pauli = match bytes {
            [b'I', ..] => None,
            [b'X', _, ..] => Some(Pauli::X),
            [b'Y', _, ..] => Some(Pauli::Y),
            [b'Z', _, ..] => Some(Pauli::Z),
            _ => panic!(
                "expected a Pauli operator and its qubit, such as Z0 or Z[q], or a coefficient before `*`"
            ),
        };
        let mut qubit = 0;
        let mut i = 1;
        while i < bytes.len() {
            assert!(bytes[i].is_ascii_digit(), "expected a qubit number after X, Y or Z, such as Z0 or Z[q]");
            qubit = qubit * 10 + (bytes[i] - b'0') as usize;
            assert!(qubit < MAX_QUBITS, "the qubit is beyond any state");
            i += 1;
        }
        match pauli {
            Some(pauli) => Some((qubit, pauli)),
            None => None,
        }
    }
}

/// A product of Pauli operators on different qubits; without any it is the identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PauliString {
    factors: Vec<(usize, Pauli)>,
}

impl PauliString {
    /// The product of the given operators.
    ///
    /// # Errors
    /// [`ObservableError`] if a qubit comes twice or is beyond any state ([`MAX_QUBITS`]).
    pub fn new(factors: impl IntoIterator<Item = (usize, Pauli)>) -> Result<PauliString, ObservableError> {
        let mut factors: Vec<_> = factors.into_iter().collect();
        factors.sort_unstable();
        let error = |problem| Err(ObservableError { column: None, problem });
        if let Some(pair) = factors.windows(2).find(|w| w[0].0 == w[1].0) {
            return error(Problem::Repeated { qubit: pair[0].0 });
        }
        match factors.last() {
            Some(&(qubit, _)) if qubit >= MAX_QUBITS => error(Problem::Qubit { text: qubit.to_string() }),
            _ => Ok(PauliString { factors }),
        }
    }

    /// The operators, sorted by qubit.
    #[must_use]
    pub fn factors(&self) -> &[(usize, Pauli)] {
        &self.factors
    }

    /// The qubits where it flips the bit (X and Y), as a mask.
    #[must_use]
    pub fn x_mask(&self) -> usize {
        self.mask(|p| p != Pauli::Z)
    }

    /// The qubits where it gives a sign (Y and Z), as a mask.
    #[must_use]
    pub fn z_mask(&self) -> usize {
        self.mask(|p| p != Pauli::X)
    }

    fn mask(&self, counts: impl Fn(Pauli) -> bool) -> usize {
        self.factors.iter().filter(|f| counts(f.1)).fold(0, |mask, f| mask | 1 << f.0)
    }
}

/// A real linear combination of Pauli strings.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PauliSum {
    terms: Vec<(f64, PauliString)>,
}

impl PauliSum {
    /// The sum of the given terms.
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is not finite.
    pub fn new(terms: impl IntoIterator<Item = (f64, PauliString)>) -> Result<PauliSum, ObservableError> {
        let terms: Vec<_> = terms.into_iter().collect();
        terms.iter().try_for_each(|(c, _)| finite(*c))?;
        Ok(PauliSum { terms })
    }

    /// The terms in the order given.
    #[must_use]
    pub fn terms(&self) -> &[(f64, PauliString)] {
        &self.terms
    }

    /// One past the highest qubit that occurs.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.terms.iter().filter_map(|t| t.1.factors.last()).map(|f| f.0.saturating_add(1)).max().unwrap_or(0)
    }

    /// Adds a term: a coefficient and the operators of its string, in any order.
    ///
    /// ```
    /// use ketgrad_core::observable::{Pauli, PauliSum};
    /// let mut sum = PauliSum::default();
    /// sum.push(0.5, [(0, Pauli::Z), (1, Pauli::Z)])?.push(-2.0, [])?;
    /// assert_eq!(sum.to_string(), "0.5*Z0 Z1 - 2");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a qubit comes twice or is beyond any state, or the coefficient is not
    /// finite.
    pub fn push(
        &mut self,
        coefficient: f64,
        factors: impl IntoIterator<Item = (usize, Pauli)>,
    ) -> Result<&mut PauliSum, ObservableError> {
        finite(coefficient)?;
        self.terms.push((coefficient, PauliString::new(factors)?));
        Ok(self)
    }

    /// Adds the terms of another sum.
    pub fn extend(&mut self, other: PauliSum) {
        self.terms.extend(other.terms);
    }
}

impl From<PauliString> for PauliSum {
    fn from(string: PauliString) -> PauliSum {
        PauliSum { terms: vec![(1.0, string)] }
    }
}

fn finite(coefficient: f64) -> Result<(), ObservableError> {
    if coefficient.is_finite() {
        return Ok(());
    }
    Err(ObservableError { column: None, problem: Problem::Coefficient { text: coefficient.to_string() } })
}

/// What is wrong with an observable, and where in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservableError {
    /// The column, counted from 1, if it came from text.
    pub column: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

impl ObservableError {
    /// The part of the text, which gave this error, that is wrong, in bytes; empty at its end.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    ///
    /// let text = "0.5*Z0 + foo";
    /// assert_eq!(text.parse::<PauliSum>().unwrap_err().span(text), 9..12);
    /// ```
    #[must_use]
    pub fn span(&self, text: &str) -> std::ops::Range<usize> {
        let column = self.column.unwrap_or(1);
        let start = text.char_indices().nth(column - 1).map_or(text.trim_end().len(), |(at, _)| at);
        let length = match &self.problem {
            Problem::Coefficient { text } | Problem::Qubit { text } => text.len(),
            _ => word(text[start..].trim_end()).len(),
        };
        start..(start + length).min(text.len())
    }
}

/// What can be wrong with an observable.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A qubit comes twice in one term.
    #[error("qubit {qubit} comes twice in a term")]
    Repeated {
        /// The qubit.
        qubit: usize,
    },
    /// Something that does not belong there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A coefficient that is not a finite number.
    #[error("the coefficient {text} is not a finite number")]
    Coefficient {
        /// Its text.
        text: String,
    },
    /// A qubit number too large for any state.
    #[error("qubit {text} is beyond any state")]
    Qubit {
        /// Its text.
        text: String,
    },
}

impl fmt::Display for ObservableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        self.problem.fmt(f)
    }
}
impl std::error::Error for ObservableError {}

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
            let negative = coefficient.is_sign_negative();
            f.write_str(match (i, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
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
        let mut reader = Reader { text, at: 0 };
        let mut terms = Vec::new();
        loop {
            let mut sign = 1.0;
            let mut signs = 0;
            while let Some(c @ ('+' | '-')) = reader.peek() {
                if c == '-' {
                    sign = -sign;
                }
                reader.at += 1;
                signs += 1;
            }
            if signs == 0 && !terms.is_empty() {
                match reader.peek() {
                    None => return Ok(PauliSum { terms }),
                    Some(_) => return Err(reader.unexpected("`+`, `-` or the end")),
                }
            }
            let (coefficient, string) = reader.term()?;
            terms.push((sign * coefficient, string));
        }
    }
}

/// The word that a text begins with, or its first character.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    &text[..end.max(first)]
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next character that is not a space, without taking it.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn error(&self, at: usize, problem: Problem) -> ObservableError {
        ObservableError { column: Some(self.text[..at].chars().count() + 1), problem }
    }

    fn unexpected(&mut self, expected: &'static str) -> ObservableError {
        let found = match self.peek() {
            Some(_) => format!("`{}`", word(&self.text[self.at..])),
            None => "the end".to_owned(),
        };
        self.error(self.at, Problem::Unexpected { expected, found })
    }

    /// The longest text from here whose characters are accepted.
    fn take(&mut self, accept: impl Fn(&str, char) -> bool) -> &str {
        let start = self.at;
        while let Some(c) = self.text[self.at..].chars().next() {
            if !accept(&self.text[start..self.at], c) {
                break;
            }
            self.at += c.len_utf8();
        }
        &self.text[start..self.at]
    }

    fn term(&mut self) -> Result<(f64, PauliString), ObservableError> {
        let mut coefficient = None;
        if matches!(self.peek(), Some('0'..='9' | '.')) {
            let start = self.at;
            let text = self
                .take(|before, c| {
                    c.is_ascii_digit()
                        || ".eE".contains(c)
                        || ("+-".contains(c) && before.ends_with(['e', 'E']))
                })
                .to_owned();
            let value: f64 = text.parse().unwrap_or(f64::NAN);
            if !value.is_finite() {
                return Err(self.error(start, Problem::Coefficient { text }));
            }
            coefficient = Some(value);
            if self.peek() == Some('*') {
                self.at += 1;
                if !matches!(self.peek(), Some('I' | 'X' | 'Y' | 'Z')) {
                    return Err(self.unexpected("a Pauli operator such as `Z0`"));
                }
            }
        }
        let mut factors: Vec<(usize, Pauli)> = Vec::new();
        let mut any = coefficient.is_some();
        while let Some(letter @ ('I' | 'X' | 'Y' | 'Z')) = self.peek() {
            any = true;
            let start = self.at;
            self.at += 1;
            let number_at = self.at;
            let digits = self.take(|_, c| c.is_ascii_digit()).to_owned();
            let pauli = match letter {
                'X' => Pauli::X,
                'Y' => Pauli::Y,
                'Z' => Pauli::Z,
                _ => continue,
            };
            if digits.is_empty() {
                return Err(self.unexpected("a qubit number"));
            }
            let qubit: usize = match digits.parse() {
                Ok(qubit) if qubit < MAX_QUBITS => qubit,
                _ => return Err(self.error(number_at, Problem::Qubit { text: digits })),
            };
            if factors.iter().any(|f| f.0 == qubit) {
                return Err(self.error(start, Problem::Repeated { qubit }));
            }
            factors.push((qubit, pauli));
        }
        if !any {
            return Err(self.unexpected("a number or a Pauli operator such as `Z0`"));
        }
        factors.sort_unstable();
        Ok((coefficient.unwrap_or(1.0), PauliString { factors }))
    }
}
