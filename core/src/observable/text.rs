//! Observables as text: printing and parsing, by the grammar of the [module](super).

use std::{fmt, str::FromStr};

use super::{HIGHEST, ObservableError, Pauli, PauliString, PauliSum, Problem};

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

impl FromStr for PauliString {
    type Err = ObservableError;

    /// As a term of a sum is written, without a coefficient: `X0 Y2`, or `I`.
    fn from_str(text: &str) -> Result<PauliString, ObservableError> {
        let mut reader = Reader { text, at: 0 };
        let Some(string) = reader.string()? else {
            return Err(reader.unexpected("a Pauli operator such as `Z0`"));
        };
        match reader.peek() {
            None => Ok(string),
            Some(_) => Err(reader.unexpected("a Pauli operator such as `Z0`, or the end")),
        }
    }
}

/// The word that a text begins with, or its first character.
pub(super) fn word(text: &str) -> &str {
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
        match (coefficient, self.string()?) {
            (None, None) => Err(self.unexpected("a number or a Pauli operator such as `Z0`")),
            (coefficient, string) => Ok((coefficient.unwrap_or(1.0), string.unwrap_or_default())),
        }
    }

    /// The operators from here on, if there are any.
    fn string(&mut self) -> Result<Option<PauliString>, ObservableError> {
        let mut factors: Vec<(usize, Pauli)> = Vec::new();
        let mut any = false;
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
                Ok(qubit) if qubit <= HIGHEST => qubit,
                _ => return Err(self.error(number_at, Problem::Qubit { text: digits })),
            };
            if factors.iter().any(|f| f.0 == qubit) {
                return Err(self.error(start, Problem::Repeated { qubit }));
            }
            factors.push((qubit, pauli));
        }
        factors.sort_unstable();
        Ok(any.then_some(PauliString { factors }))
    }
}
