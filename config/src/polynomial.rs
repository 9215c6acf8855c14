//! Expectation values as formulas: polynomials in the open parameters of observables, whose
//! coefficients are formulas in the circuit's.

use std::{collections::BTreeMap, fmt::Write};

use ketgrad_core::{
    exact::{ExactError, Formula, RESERVED},
    observable::{Monomial, ParametricSum, PauliSum},
};

use crate::{formula, report::Failure};

/// A polynomial with formulas as coefficients.
pub(crate) struct Polynomial<'a> {
    params: &'a [String],
    terms: BTreeMap<Monomial, Formula>,
}

impl<'a> Polynomial<'a> {
    /// Returns the expectation value of an observable, from that of sums.
    ///
    /// # Errors
    /// Fails when `expectation` does, or with [`Failure`] for a parameter whose name means
    /// something else in a formula.
    pub(crate) fn from_observable(
        observable: &'a ParametricSum,
        mut expectation: impl FnMut(PauliSum) -> Result<Formula, Failure>,
    ) -> Result<Polynomial<'a>, Failure> {
        let params = observable.params();
        if let Some(name) = params.iter().find(|name| RESERVED.contains(&name.as_str())) {
            return Err(formula::reserved(name));
        }
        let parts = observable.parts().into_iter();
        let terms = parts.map(|(monomial, sum)| Ok((monomial, expectation(sum)?)));
        Ok(Polynomial { params, terms: terms.collect::<Result<_, Failure>>()? })
    }

    /// Returns the derivatives by parameters, the first of which are the circuit's inputs.
    ///
    /// # Errors
    /// [`Failure`] if a formula has no derivative.
    pub(crate) fn gradient(
        &self,
        names: &[String],
        inputs: usize,
    ) -> Result<Vec<Polynomial<'a>>, Failure> {
        names.iter().enumerate().map(|(k, name)| self.derivative(name, k < inputs)).collect()
    }

    /// Returns the derivative by a parameter, which may be one of the circuit's inputs.
    fn derivative(&self, name: &str, is_input: bool) -> Result<Polynomial<'a>, Failure> {
        let mut derivative = Polynomial { params: self.params, terms: BTreeMap::new() };
        // A text has fewer names than a 32-bit number counts.
        let param = self.params.iter().position(|param| param == name).map(|k| k as u32);
        for (monomial, formula) in &self.terms {
            if is_input {
                let slope = formula.derivative(name).map_err(formula::failure)?;
                derivative.add(monomial.clone(), &slope).map_err(formula::failure)?;
            }
            if let Some((power, rest)) = param.and_then(|k| monomial.derivative(k)) {
                for _ in 0..power as usize {
                    derivative.add(rest.clone(), formula).map_err(formula::failure)?;
                }
            }
        }
        Ok(derivative)
    }

    fn add(&mut self, monomial: Monomial, formula: &Formula) -> Result<(), ExactError> {
        let sum = match self.terms.get(&monomial) {
            Some(other) => other.plus(formula)?,
            None => formula.clone(),
        };
        self.terms.insert(monomial, sum);
        Ok(())
    }

    /// Returns the text, with formulas as `write` has them.
    pub(crate) fn text(&self, write: impl Fn(&Formula) -> String) -> String {
        let mut text = String::new();
        for (monomial, formula) in self.terms.iter().filter(|(_, formula)| !formula.is_zero()) {
            let coefficient = write(formula);
            let (is_negative, term) = if monomial.is_one() {
                let rest = coefficient.strip_prefix('-');
                (rest.is_some(), rest.unwrap_or(&coefficient).to_owned())
            } else {
                self.product(monomial, &coefficient)
            };
            text += match (is_negative, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, true) => "",
                (false, false) => " + ",
            };
            text += &term;
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    /// Returns a monomial times a coefficient: whether it is negative, and its modulus.
    fn product(&self, monomial: &Monomial, coefficient: &str) -> (bool, String) {
        let mut factors: BTreeMap<u32, usize> = BTreeMap::new();
        monomial.factors().iter().for_each(|k| *factors.entry(*k).or_default() += 1);
        let mut product = String::new();
        for (k, power) in factors {
            let times = if product.is_empty() { "" } else { "*" };
            let name = &self.params[k as usize];
            let _ = match power {
                1 => write!(product, "{times}{name}"),
                _ => write!(product, "{times}{name}^{power}"),
            };
        }
        if is_sum(coefficient) {
            return (false, format!("{product}*({coefficient})"));
        }
        let (is_negative, modulus) =
            coefficient.strip_prefix('-').map_or((false, coefficient), |rest| (true, rest));
        let (digits, rest) =
            modulus.split_at(modulus.find(|c: char| !c.is_ascii_digit()).unwrap_or(modulus.len()));
        // A number comes before the names, a divisor after them.
        let product = match digits {
            "" => format!("{product}*{modulus}"),
            "1" => format!("{product}{rest}"),
            _ => format!("{digits}*{product}{rest}"),
        };
        (is_negative, product)
    }
}

/// Returns true if a text is a sum, outside of parentheses.
fn is_sum(text: &str) -> bool {
    let mut depth = 0i64;
    text.char_indices().any(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && [" + ", " - "].iter().any(|sign| text[at..].starts_with(sign))
    })
}
