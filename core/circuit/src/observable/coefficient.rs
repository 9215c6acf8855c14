//! Coefficients with parameters: names and powers, if a reader allows parameters.

use num_complex::Complex;

use super::{
    Monomial, ObservableError, ObservableProblem, PauliString,
    read::{Reader, WeightedStrings, letter},
};

/// Limit on the power of a coefficient.
const HIGHEST_POWER: usize = 16;

/// Names of functions that a coefficient might be written with.
const FUNCTIONS: [&str; 10] =
    ["sin", "cos", "tan", "exp", "log", "ln", "sqrt", "abs", "sinh", "cosh"];

/// A term of a factor or product, multiplied out.
#[derive(Clone)]
pub(super) struct ParametricTerm {
    pub(super) coefficient: Complex<f64>,
    pub(super) monomial: Monomial,
    pub(super) string: PauliString,
}

impl ParametricTerm {
    pub(super) fn number(coefficient: Complex<f64>) -> ParametricTerm {
        ParametricTerm::from((coefficient, PauliString::default()))
    }

    /// True for a number.
    pub(super) fn is_number(&self) -> bool {
        self.monomial.is_one() && self.string.factors.is_empty()
    }
}

impl From<(Complex<f64>, PauliString)> for ParametricTerm {
    fn from((coefficient, string): (Complex<f64>, PauliString)) -> ParametricTerm {
        ParametricTerm { coefficient, monomial: Monomial::default(), string }
    }
}

/// Terms without parameters.
pub(super) fn terms(weighted: WeightedStrings) -> Vec<ParametricTerm> {
    weighted.into_iter().map(ParametricTerm::from).collect()
}

/// Returns true if a name is that of operators or of a number.
fn is_reserved(name: &str) -> bool {
    let is_sparse = |c: char| letter(c).is_some() || c.is_ascii_digit() || c == '_';
    matches!(name, "pi" | "π")
        || name.chars().next().and_then(letter).is_some() && name.chars().all(is_sparse)
}

impl<'a> Reader<'a> {
    /// Parses a factor, or a power of one that is a coefficient, where parameters are allowed.
    pub(super) fn power(
        &mut self,
        expected: &'static str,
    ) -> Result<Vec<ParametricTerm>, ObservableError> {
        let base = self.factor(expected)?;
        if self.is_param.is_none() || self.is_new_line() {
            return Ok(base);
        }
        self.peek();
        let start = self.at;
        let rest = &self.text[start..];
        let Some(sign) = ["**", "^"].into_iter().find(|sign| rest.starts_with(sign)) else {
            return Ok(base);
        };
        self.take_bytes(sign.len());
        self.peek();
        let digits = self.take_while(|_, c| c.is_ascii_digit() || c == '.');
        let found = match digits.parse() {
            _ if base.iter().any(|term| !term.string.factors.is_empty()) => {
                "power of an operator".to_owned()
            }
            Ok(power) if power <= HIGHEST_POWER => {
                let mut product = vec![ParametricTerm::number(Complex::from(1.0))];
                for _ in 0..power {
                    product = self.multiply(&product, &base, start)?;
                }
                return Ok(product);
            }
            _ => format!("power but whole numbers up to {HIGHEST_POWER}"),
        };
        Err(self.error(start, ObservableProblem::NotPolynomial { found }))
    }

    /// Returns the name of a parameter that comes next, `J` or `w[0]`, without consuming it.
    fn param_name(&mut self) -> Option<&'a str> {
        let (is_param, name) = (self.is_param?, self.name());
        let rest = &self.text[self.at..];
        let index = rest[name.len()..].strip_prefix('[').and_then(|inside| inside.split_once(']'));
        let element = index
            .filter(|(digits, _)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
            .map(|(digits, _)| &rest[..name.len() + digits.len() + 2]);
        element.into_iter().chain([name]).find(|name| is_param(name))
    }

    /// Parses a parameter, if one comes next.
    pub(super) fn parameter(&mut self) -> Option<ParametricTerm> {
        let name = self.param_name()?;
        let is_call = self.text[self.at + name.len()..].starts_with('(');
        let is_taken = is_call && FUNCTIONS.contains(&name) || self.foreign_name(name).is_some();
        if is_reserved(name) || is_taken {
            return None;
        }
        self.take_bytes(name.len());
        let number = self.params.iter().position(|param| param == name).unwrap_or_else(|| {
            self.params.push(name.to_owned());
            self.params.len() - 1
        });
        // A text has fewer names than a 32-bit number counts.
        let monomial = Monomial::param(number as u32);
        Some(ParametricTerm { monomial, ..ParametricTerm::number(Complex::from(1.0)) })
    }

    /// Parses a word; the error tells if it is used as the name of a parameter.
    pub(super) fn word_or_reserved(
        &mut self,
        expected: &'static str,
    ) -> Result<(Complex<f64>, PauliString), ObservableError> {
        let param = self.param_name().filter(|name| is_reserved(name));
        let (start, name) = (self.at, self.name());
        self.word_or(expected).map_err(|error| {
            let is_call = self.text[start + name.len()..].starts_with('(');
            if let Some(param) = param.filter(|_| !is_call) {
                return self
                    .error(start, ObservableProblem::ReservedName { name: param.to_owned() });
            }
            if self.is_param.is_some() && is_call && FUNCTIONS.contains(&name) {
                return self.error(
                    start,
                    ObservableProblem::NotPolynomial { found: format!("function `{name}`") },
                );
            }
            error
        })
    }
}
