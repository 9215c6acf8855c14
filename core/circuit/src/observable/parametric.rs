//! Observables whose coefficients are polynomials in named parameters.

use super::{ObservableError, PauliString, PauliSum, finite, read};

/// A product of parameters, by their numbers; the empty one is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monomial {
    /// Factors in ascending order; a power repeats its parameter.
    factors: Vec<u32>,
}

impl Monomial {
    /// One parameter.
    pub(super) fn param(number: u32) -> Monomial {
        Monomial { factors: vec![number] }
    }

    /// True if it is 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.factors.is_empty()
    }

    /// The numbers of its parameters, each as often as it is a factor.
    #[must_use]
    pub fn factors(&self) -> &[u32] {
        &self.factors
    }

    pub(super) fn times(&self, other: &Monomial) -> Monomial {
        if other.is_one() {
            return self.clone();
        }
        let mut factors = [&self.factors[..], &other.factors[..]].concat();
        factors.sort_unstable();
        Monomial { factors }
    }

    /// Returns the monomial with its parameters renumbered.
    #[must_use]
    pub fn renumbered(&self, number: impl Fn(u32) -> u32) -> Monomial {
        let mut factors: Vec<u32> = self.factors.iter().map(|k| number(*k)).collect();
        factors.sort_unstable();
        Monomial { factors }
    }

    /// Its value where the parameters have these.
    ///
    /// # Panics
    /// If a parameter has no value.
    #[must_use]
    pub fn value(&self, values: &[f64]) -> f64 {
        self.factors.iter().map(|k| values[*k as usize]).product()
    }

    /// Its derivative by a parameter: a factor and a monomial; `None` for zero.
    #[must_use]
    pub fn derivative(&self, param: u32) -> Option<(f64, Monomial)> {
        let first = self.factors.iter().position(|k| *k == param)?;
        let power = self.factors.iter().filter(|k| **k == param).count();
        let mut factors = self.factors.clone();
        factors.remove(first);
        Some((power as f64, Monomial { factors }))
    }
}

/// A combination of Pauli strings whose coefficients are polynomials in named parameters.
///
/// The [grammar](super#grammar) is that of a [`PauliSum`], in which a coefficient may also have
/// names, and powers such as `J**2`. Names that are operators, such as `X0`, `ZZ`, `x1`, `I`, and
/// `pi` are never parameters.
///
/// ```
/// use ketgrad_core::observable::ParametricSum;
/// let is_param = |name: &str| ["J", "h"].contains(&name);
/// let sum = ParametricSum::parse_on("0.5*J*Z0 Z1 - (h + J/2)*X0", 2, &is_param)?;
/// assert_eq!(sum.params(), ["J", "h"]);
/// assert_eq!(sum.evaluate(&[2.0, 3.0])?.to_string(), "Z0 Z1 - 3*X0 - X0");
/// # Ok::<(), ketgrad_core::observable::ObservableError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParametricSum {
    pub(super) params: Vec<String>,
    pub(super) terms: Vec<(f64, Monomial, PauliString)>,
}

impl From<PauliSum> for ParametricSum {
    fn from(sum: PauliSum) -> ParametricSum {
        let terms =
            sum.terms.into_iter().map(|(c, string)| (c, Monomial::default(), string)).collect();
        ParametricSum { params: Vec::new(), terms }
    }
}

impl ParametricSum {
    /// Parses a sum for n qubits; `is_param` tells which names are parameters.
    ///
    /// # Errors
    /// Those of [`PauliSum::parse_on`]; also if a coefficient is not a polynomial.
    pub fn parse_on(
        text: &str,
        n_qubits: usize,
        is_param: &dyn Fn(&str) -> bool,
    ) -> Result<ParametricSum, ObservableError> {
        read::parametric(text, false, n_qubits, is_param)
    }

    /// Parses a sum as [`ParametricSum::parse_on`] does, but a complete line is a term of its own,
    /// and `#` begins a comment.
    ///
    /// # Errors
    /// Those of [`ParametricSum::parse_on`]; columns count through all lines.
    pub fn parse_lines(
        text: &str,
        n_qubits: usize,
        is_param: &dyn Fn(&str) -> bool,
    ) -> Result<ParametricSum, ObservableError> {
        read::parametric(text, true, n_qubits, is_param)
    }

    /// The names of its parameters in order of first occurrence.
    #[must_use]
    pub fn params(&self) -> &[String] {
        &self.params
    }

    /// Returns the observable at these values of the parameters.
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is not finite.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn evaluate(&self, values: &[f64]) -> Result<PauliSum, ObservableError> {
        let terms = self.terms.iter();
        PauliSum::new(
            terms.map(|(c, monomial, string)| (c * monomial.value(values), string.clone())),
        )
    }

    /// Substitutes values for some of its parameters, which it does not have any more then.
    ///
    /// ```
    /// use ketgrad_core::observable::ParametricSum;
    /// let sum = ParametricSum::parse_on("J*h*Z0 + h*X0", 1, &|_| true)?;
    /// let bound = sum.bind(&[Some(0.5), None])?;
    /// assert_eq!(bound.params(), ["h"]);
    /// assert_eq!(bound, ParametricSum::parse_on("0.5*h*Z0 + h*X0", 1, &|_| true)?);
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is not finite.
    ///
    /// # Panics
    /// If there are fewer values than parameters.
    pub fn bind(&self, values: &[Option<f64>]) -> Result<ParametricSum, ObservableError> {
        let open = |k: u32| values[k as usize].is_none();
        let left = self.params.iter().zip(values).filter(|(_, value)| value.is_none());
        let params: Vec<String> = left.map(|(name, _)| name.clone()).collect();
        // Number of open parameters before each.
        let number =
            |k: u32| values[..k as usize].iter().filter(|value| value.is_none()).count() as u32;
        let mut terms = Vec::with_capacity(self.terms.len());
        for (c, monomial, string) in &self.terms {
            let (kept, bound): (Vec<u32>, Vec<u32>) =
                monomial.factors.iter().partition(|k| open(**k));
            let c = bound.iter().filter_map(|k| values[*k as usize]).fold(*c, |c, value| c * value);
            finite(c)?;
            let monomial = Monomial { factors: kept }.renumbered(number);
            terms.push((c, monomial, string.clone()));
        }
        Ok(ParametricSum { params, terms })
    }

    /// The sums by which each distinct monomial is multiplied, at least one: the observable is
    /// `sum_m monomial_m sum_m`.
    #[must_use]
    pub fn parts(&self) -> Vec<(Monomial, PauliSum)> {
        let mut places = std::collections::HashMap::new();
        let mut parts: Vec<(Monomial, PauliSum)> = Vec::new();
        for (c, monomial, string) in &self.terms {
            let place = *places.entry(monomial).or_insert_with(|| {
                parts.push((monomial.clone(), PauliSum::default()));
                parts.len() - 1
            });
            parts[place].1.terms.push((*c, string.clone()));
        }
        if parts.is_empty() {
            parts.push(Default::default());
        }
        parts
    }
}
