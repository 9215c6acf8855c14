//! Parser of observables: products and sums are multiplied out while they are read.
//!
//! A product is a sum of Pauli strings with complex coefficients, since `(0.5+0j)` is one; they are
//! checked to be real at the end of a term of the whole sum.

use num_complex::Complex;

use super::{
    HIGHEST, Monomial, ObservableError, ObservableProblem, ParametricSum, Pauli, PauliString,
    PauliSum,
    coefficient::{ParametricTerm, terms},
    text,
};

/// Maximum depth of nested parentheses.
const MOST_NESTED: usize = 64;

/// Limit on the terms of a product of sums.
const MOST_TERMS: usize = 1 << 20;

/// An imaginary part below this part of a coefficient is the rounding error of the tool that
/// computed it.
const ROUNDING: f64 = 1e-13;

/// Name of the tokens that a term may begin with, for messages.
pub(super) const FACTOR: &str = "a number or a Pauli operator such as `Z0`";
const OPERATOR: &str = "a Pauli operator such as `Z0`";

/// Python modules that operators come from: `qml.Z(0)`, `cudaq.spin.z(0)`.
const MODULES: [&str; 13] = [
    "qml",
    "pennylane",
    "ops",
    "cirq",
    "cudaq",
    "spin",
    "qiskit",
    "quantum_info",
    "openfermion",
    "of",
    "np",
    "numpy",
    "math",
];

/// A sum of strings with numbers, as other tools write it.
pub(super) type WeightedStrings = Vec<(Complex<f64>, PauliString)>;

/// Parses a sum; with `lines`, complete lines are terms and `#` begins a comment.
pub(super) fn sum(
    text: &str,
    lines: bool,
    n_qubits: Option<usize>,
) -> Result<PauliSum, ObservableError> {
    let mut reader = Reader { lines, n_qubits, letters: n_qubits, ..Reader::new(text) };
    let mut terms = Vec::new();
    reader.all_terms(|c, _, string| terms.push((c, string)))?;
    Ok(PauliSum { terms })
}

/// Parses a sum with parameters.
pub(super) fn parametric(
    text: &str,
    lines: bool,
    n_qubits: usize,
    is_param: &dyn Fn(&str) -> bool,
) -> Result<ParametricSum, ObservableError> {
    let (n_qubits, is_param) = (Some(n_qubits), Some(is_param));
    let mut reader = Reader { lines, n_qubits, letters: n_qubits, is_param, ..Reader::new(text) };
    let mut terms = Vec::new();
    reader.all_terms(|c, monomial, string| terms.push((c, monomial, string)))?;
    Ok(ParametricSum { params: reader.params, terms })
}

/// Parses a string.
pub(super) fn string(text: &str) -> Result<PauliString, ObservableError> {
    let mut reader = Reader::new(text);
    let mut string = PauliString::default();
    let mut expected = OPERATOR;
    while matches!(reader.peek(), Some(c) if letter(c).is_some()) {
        let start = reader.at;
        string = merge(&string, &reader.word()?.1)
            .map_err(|q| reader.error(start, ObservableProblem::Repeated { qubit: q }))?;
        expected = "a Pauli operator such as `Z0`, or the end";
    }
    match reader.peek() {
        None if expected != OPERATOR => Ok(string),
        _ => Err(reader.unexpected(expected)),
    }
}

fn finite(
    c: Complex<f64>,
    reader: &Reader<'_>,
    at: usize,
) -> Result<Complex<f64>, ObservableError> {
    if c.is_finite() {
        return Ok(c);
    }
    Err(reader.error(at, ObservableProblem::Coefficient { text: format!("{}{:+}i", c.re, c.im) }))
}

/// The Pauli operator of a letter; the identity is `None`.
pub(super) fn letter(c: char) -> Option<Option<Pauli>> {
    match c.to_ascii_uppercase() {
        'I' => Some(None),
        'X' => Some(Some(Pauli::X)),
        'Y' => Some(Some(Pauli::Y)),
        'Z' => Some(Some(Pauli::Z)),
        _ => None,
    }
}

/// Returns the product of strings on different qubits; else a qubit of both as an error.
fn merge(a: &PauliString, b: &PauliString) -> Result<PauliString, usize> {
    let mut factors = [&a.factors[..], &b.factors].concat();
    factors.sort_unstable();
    match factors.windows(2).find(|w| w[0].0 == w[1].0) {
        Some(pair) => Err(pair[0].0),
        None => Ok(PauliString { factors }),
    }
}

/// The product of two numbers; that with a real one has no rounding and keeps the signs of zeros.
fn times(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    match (a.im == 0.0, b.im == 0.0) {
        (true, true) => Complex::new(a.re * b.re, 0.0),
        (true, false) => b * a.re,
        (false, true) => a * b.re,
        (false, false) => a * b,
    }
}

/// Callback for each product of a sum, with the byte at which it begins.
type EachProduct<'f, 'a> =
    dyn FnMut(&Reader<'a>, usize, Vec<ParametricTerm>) -> Result<(), ObservableError> + 'f;

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// End of the last token.
    end: usize,
    depth: usize,
    lines: bool,
    pub(super) n_qubits: Option<usize>,
    /// The number of letters of words, once it is known.
    pub(super) letters: Option<usize>,
    /// Predicate for names of parameters, if they are allowed.
    pub(super) is_param: Option<&'a dyn Fn(&str) -> bool>,
    /// The parameters so far.
    pub(super) params: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        let (n_qubits, letters, is_param, params) = (None, None, None, Vec::new());
        Reader { text, at: 0, end: 0, depth: 0, lines: false, n_qubits, letters, is_param, params }
    }

    /// Calls `each` with each term of the whole text, whose coefficient is real.
    fn all_terms(
        &mut self,
        mut each: impl FnMut(f64, Monomial, PauliString),
    ) -> Result<(), ObservableError> {
        self.sum(&mut |reader, start, product| {
            for ParametricTerm { coefficient, monomial, string } in product {
                let c = finite(coefficient, reader, start)?;
                if c.im.abs() > ROUNDING * c.norm() {
                    let problem = ObservableProblem::NotReal {
                        term: text::shown(&string.to_string()),
                        // Without the sign of a zero.
                        coefficient: format!("{}{:+}i", c.re + 0.0, c.im),
                    };
                    return Err(reader.error(start, problem));
                }
                each(c.re, monomial, string);
            }
            Ok(())
        })
    }

    /// Returns the next character that is not a space, without consuming it.
    pub(super) fn peek(&mut self) -> Option<char> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            let next = self.text[self.at..].chars().next();
            if !(self.lines && next == Some('#')) {
                return next;
            }
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
    }

    /// Returns true if a new line begins between the last token and the next one, where lines are
    /// terms.
    pub(super) fn is_new_line(&mut self) -> bool {
        self.peek();
        self.lines && self.depth == 0 && self.text[self.end..self.at].contains('\n')
    }

    /// Consumes a character if it comes next.
    pub(super) fn accept(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.take_bytes(c.len_utf8());
        }
        is_next
    }

    pub(super) fn expect(
        &mut self,
        c: char,
        expected: &'static str,
    ) -> Result<(), ObservableError> {
        if self.accept(c) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Consumes that many bytes.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> &'a str {
        let start = self.at;
        self.at += bytes;
        self.end = self.at;
        &self.text[start..self.at]
    }

    /// Consumes the longest text from here whose characters are accepted.
    pub(super) fn take_while(&mut self, accept: impl Fn(&str, char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.char_indices().find(|(i, c)| !accept(&rest[..*i], *c));
        self.take_bytes(end.map_or(rest.len(), |(i, _)| i))
    }

    /// Returns the name that comes next, without consuming it.
    pub(super) fn name(&mut self) -> &'a str {
        self.peek();
        let rest = &self.text[self.at..];
        &rest[..rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())]
    }

    /// Returns the name that comes next, after modules before it are consumed.
    pub(super) fn name_in_module(&mut self) -> &'a str {
        let mut name = self.name();
        while MODULES.contains(&name) && self.text[self.at + name.len()..].starts_with('.') {
            self.take_bytes(name.len() + 1);
            name = self.name();
        }
        name
    }

    pub(super) fn error(&self, at: usize, problem: ObservableProblem) -> ObservableError {
        ObservableError { column: Some(self.text[..at].chars().count() + 1), problem }
    }

    pub(super) fn unexpected(&mut self, expected: &'static str) -> ObservableError {
        let found = match self.peek() {
            Some(_) => format!("`{}`", text::shown(text::word(&self.text[self.at..]))),
            None => "the end".to_owned(),
        };
        self.error(self.at, ObservableProblem::Unexpected { expected, found })
    }

    /// Calls `each` with each product of a sum, its sign and its beginning.
    fn sum(&mut self, each: &mut EachProduct<'_, 'a>) -> Result<(), ObservableError> {
        let mut is_first = true;
        loop {
            let (mut is_negative, mut signs) = (false, 0);
            while let Some(c @ ('+' | '-')) = self.peek() {
                is_negative ^= c == '-';
                self.take_bytes(1);
                signs += 1;
            }
            if signs == 0 && !is_first {
                match self.peek() {
                    None => return Ok(()),
                    Some(')' | ']' | ',') if self.depth > 0 => return Ok(()),
                    Some(_) if self.is_new_line() => {}
                    Some(_) => return Err(self.unexpected("`+`, `-` or the end")),
                }
            }
            self.peek();
            let start = self.at;
            let mut product = self.product()?;
            if is_negative {
                product.iter_mut().for_each(|term| term.coefficient = -term.coefficient);
            }
            each(self, start, product)?;
            is_first = false;
        }
    }

    /// Parses a nested sum, up to the closing character.
    pub(super) fn inner_sum(&mut self) -> Result<Vec<ParametricTerm>, ObservableError> {
        if self.depth == MOST_NESTED {
            return Err(self.error(self.at, ObservableProblem::TooDeep { limit: MOST_NESTED }));
        }
        self.depth += 1;
        let mut terms: Vec<ParametricTerm> = Vec::new();
        self.sum(&mut |_, _, product| {
            // Numbers are added up: `0.5+0j` is one.
            match (&mut terms[..], &product[..]) {
                ([sum], [term]) if sum.is_number() && term.is_number() => {
                    sum.coefficient += term.coefficient
                }
                _ => terms.extend(product),
            }
            Ok(())
        })?;
        self.depth -= 1;
        Ok(terms)
    }

    fn product(&mut self) -> Result<Vec<ParametricTerm>, ObservableError> {
        let mut product = self.power(FACTOR)?;
        while !self.is_new_line() {
            match self.peek() {
                Some('*' | '@') => {
                    self.take_bytes(1);
                    self.peek();
                    let start = self.at;
                    let factor = self.power(OPERATOR)?;
                    product = self.multiply(&product, &factor, start)?;
                }
                Some('/') => {
                    self.take_bytes(1);
                    self.peek();
                    let start = self.at;
                    let divisor = match &self.power("a number")?[..] {
                        [term] if term.is_number() => term.coefficient,
                        terms => {
                            self.at = start;
                            if terms.iter().any(|term| !term.monomial.is_one()) {
                                let found = "division by a parameter".to_owned();
                                return Err(
                                    self.error(start, ObservableProblem::NotPolynomial { found })
                                );
                            }
                            return Err(self.unexpected("a number"));
                        }
                    };
                    for term in &mut product {
                        let c = term.coefficient;
                        let quotient = if divisor.im == 0.0 { c / divisor.re } else { c / divisor };
                        term.coefficient = finite(quotient, self, start)?;
                    }
                }
                Some(c)
                    if c.is_alphabetic()
                        || "([|".contains(c)
                        || c == '_' && self.is_param.is_some() =>
                {
                    let start = self.at;
                    let factor = self.power(OPERATOR)?;
                    product = self.multiply(&product, &factor, start)?;
                }
                _ => break,
            }
        }
        Ok(product)
    }

    pub(super) fn multiply(
        &self,
        left: &[ParametricTerm],
        right: &[ParametricTerm],
        at: usize,
    ) -> Result<Vec<ParametricTerm>, ObservableError> {
        if left.len().saturating_mul(right.len()) > MOST_TERMS {
            return Err(self.error(at, ObservableProblem::TooManyTerms { limit: MOST_TERMS }));
        }
        let mut product = Vec::with_capacity(left.len() * right.len());
        for a in left {
            for b in right {
                let string = merge(&a.string, &b.string)
                    .map_err(|qubit| self.error(at, ObservableProblem::Repeated { qubit }))?;
                let coefficient = finite(times(a.coefficient, b.coefficient), self, at)?;
                product.push(ParametricTerm {
                    coefficient,
                    monomial: a.monomial.times(&b.monomial),
                    string,
                });
            }
        }
        Ok(product)
    }

    pub(super) fn factor(
        &mut self,
        expected: &'static str,
    ) -> Result<Vec<ParametricTerm>, ObservableError> {
        match self.peek() {
            Some('0'..='9' | '.') => Ok(vec![ParametricTerm::number(self.number()?)]),
            Some('(') => {
                self.take_bytes(1);
                let terms = self.inner_sum()?;
                self.expect(')', "`+`, `-` or `)`")?;
                Ok(terms)
            }
            Some('[') => self.bracket().map(terms),
            Some('|') => self.ket_bra().map(terms),
            Some(c) if c.is_alphabetic() || c == '_' && self.is_param.is_some() => {
                if let Some(terms) = self.constructor()? {
                    return Ok(terms);
                }
                match self.parameter() {
                    Some(param) => Ok(vec![param]),
                    None => Ok(vec![self.word_or_reserved(expected)?.into()]),
                }
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn number(&mut self) -> Result<Complex<f64>, ObservableError> {
        let start = self.at;
        let digits = self.take_while(|before, c| {
            c.is_ascii_digit()
                || ".eE".contains(c)
                || ("+-".contains(c) && before.ends_with(['e', 'E']))
        });
        let value: f64 = digits.parse().unwrap_or(f64::NAN);
        if !value.is_finite() {
            return Err(
                self.error(start, ObservableProblem::Coefficient { text: digits.to_owned() })
            );
        }
        let mut after = self.text[self.at..].chars();
        let is_imaginary = matches!(after.next(), Some('i' | 'j' | 'J'))
            && !after.next().is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_imaginary {
            self.take_bytes(1);
            return Ok(Complex::new(0.0, value));
        }
        Ok(Complex::from(value))
    }

    /// Parses a name: `pi`, an operator with its qubit, or a word of operators.
    pub(super) fn word(&mut self) -> Result<(Complex<f64>, PauliString), ObservableError> {
        self.word_or(OPERATOR)
    }

    pub(super) fn word_or(
        &mut self,
        expected: &'static str,
    ) -> Result<(Complex<f64>, PauliString), ObservableError> {
        let one = Complex::from(1.0);
        self.peek();
        let start = self.at;
        let name = self.name_in_module();
        if matches!(name, "pi" | "π") {
            self.take_bytes(name.len());
            return Ok((Complex::from(std::f64::consts::PI), PauliString::default()));
        }
        let after = self.text[self.at + name.len()..].trim_start();
        let called = match name.strip_prefix("Pauli").unwrap_or(name) {
            "Identity" => Some(None),
            short => short.chars().next().filter(|c| short.len() == c.len_utf8()).and_then(letter),
        };
        if let Some(pauli) = called
            && after.starts_with('(')
        {
            self.take_bytes(name.len());
            return Ok((one, self.call(pauli, start)?));
        }
        let is_word = |c: char| "IXYZ".contains(c);
        if name.len() > 1 && name.chars().all(is_word) {
            self.take_bytes(name.len());
            return Ok((one, self.dense(name, start)?));
        }
        // `Z0X1`, but no other word.
        let is_sparse = name.chars().all(|c| letter(c).is_some() || c.is_ascii_digit() || c == '_');
        let first = name.chars().next().and_then(letter);
        let (Some(pauli), true) = (first, is_sparse) else {
            self.at = start;
            return Err(self.foreign_name(name).unwrap_or_else(|| self.unexpected(expected)));
        };
        let is_lower = name.starts_with(|c: char| c.is_ascii_lowercase());
        self.take_bytes(1);
        if self.text[self.at..].starts_with('_') {
            self.take_bytes(1);
        }
        let digits_at = self.at;
        let digits = self.take_while(|_, c| c.is_ascii_digit());
        let string = match pauli {
            None if is_lower && digits.is_empty() => {
                self.at = start;
                return Err(self.unexpected(expected));
            }
            None => PauliString::default(),
            Some(_) if digits.is_empty() => return Err(self.unexpected("a qubit number")),
            Some(pauli) => self.operator(pauli, digits, digits_at, start)?,
        };
        Ok((one, string))
    }

    /// An operator on the qubit of this number.
    pub(super) fn operator(
        &self,
        pauli: Pauli,
        digits: &str,
        digits_at: usize,
        start: usize,
    ) -> Result<PauliString, ObservableError> {
        let qubit = match digits.parse() {
            Ok(qubit) if qubit <= HIGHEST => qubit,
            _ => {
                return Err(
                    self.error(digits_at, ObservableProblem::Qubit { text: digits.to_owned() })
                );
            }
        };
        match self.n_qubits {
            Some(n_qubits) if qubit >= n_qubits => {
                Err(self.error(start, ObservableProblem::NoSuchQubit { qubit, n_qubits }))
            }
            _ => Ok(PauliString { factors: vec![(qubit, pauli)] }),
        }
    }

    /// The string of a word with a letter for each qubit, qubit 0 the last.
    pub(super) fn dense(
        &mut self,
        word: &str,
        start: usize,
    ) -> Result<PauliString, ObservableError> {
        let letters = word.len();
        let expected = *self.letters.get_or_insert(letters);
        if letters != expected {
            return Err(self.error(start, ObservableProblem::WordLength { letters, expected }));
        }
        let mut factors = Vec::new();
        for (qubit, c) in word.chars().rev().enumerate() {
            let Some(Some(pauli)) = letter(c) else { continue };
            if qubit > HIGHEST {
                return Err(self.error(start, ObservableProblem::Qubit { text: qubit.to_string() }));
            }
            factors.push((qubit, pauli));
        }
        Ok(PauliString { factors })
    }
}
