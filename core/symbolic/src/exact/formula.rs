//! Formulas: a number of the ring, a fraction before it, and the names of the symbols.
//!
//! The fraction holds what the ring does not: odd denominators, from observables (`0.3*Z0`) and
//! from derivatives of angles such as `theta/3`.
//!
//! Invariants: the number has no fault and no coefficient beyond 120 bits; every exponent fits its
//! field.

use std::{fmt, sync::Arc};

use num_complex::Complex;
use num_traits::{CheckedDiv, CheckedMul};

use super::{Exact, ExactError, ExactNumberError, Form, Symbols, print, run::FormulaRatio};
use crate::{
    param::{ParamId, sin_cos_of_sum},
    scalar::{Conj, Real, Ring},
};

/// Coefficients beyond this are left to numbers: sums of a few of them, for printing, fit in 128
/// bits.
const LARGEST: u128 = 1 << 120;

/// An amplitude, a probability or an expectation value in closed form. See the module's page.
#[derive(Clone, Debug)]
pub struct Formula {
    factor: FormulaRatio,
    number: Exact,
    symbols: Arc<Symbols>,
}

impl Formula {
    /// Number as it is; `what` it is appears in an error.
    pub(super) fn new(
        number: Exact,
        symbols: &Arc<Symbols>,
        what: &str,
    ) -> Result<Formula, ExactError> {
        let factor = FormulaRatio::from_integer(1);
        Formula { factor, number, symbols: Arc::clone(symbols) }.checked(what)
    }

    fn checked(mut self, what: &str) -> Result<Formula, ExactError> {
        self.number = self.symbols.reduced(self.number);
        let too_large = self.number.terms().iter().any(|(_, c)| c.unsigned_abs() > LARGEST);
        match self.number.fault().or(too_large.then_some(ExactNumberError::Coefficient)) {
            None => Ok(self),
            Some(fault) => Err(self.failed(what, fault)),
        }
    }

    pub(super) fn failed(&self, what: &str, fault: ExactNumberError) -> ExactError {
        ExactError::Number { what: what.to_owned(), fault, angles: self.symbols.fields().len() }
    }

    /// Returns the number without the fraction before it, in its one form.
    pub(super) fn number(&self) -> &Exact {
        &self.number
    }

    /// Returns the fraction.
    pub(super) fn factor(&self) -> FormulaRatio {
        self.factor
    }

    /// Returns the symbols that occur.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the number of exponential terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.number.n_terms()
    }

    /// Returns true if it is zero for all angles.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.number.is_exact_zero()
    }

    /// Returns the text of the formula, short: factors, and sums of products of shorter sums where
    /// that takes fewer functions and names than one sum. Equal formulas of a circuit have equal
    /// text. See [`Form`].
    #[must_use]
    pub fn text(&self, form: Form) -> String {
        print::text(self, form, false)
    }

    /// Returns the text of the formula as one sum, everything multiplied out: for [`Form::Exp`] of
    /// exponentials, else of sines and cosines of sums of angles. Up to a summand for each term.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, exact::{ClosedForm, Form}};
    ///
    /// let mut circuit = Circuit::new(2);
    /// let [a, b] = ["a", "b"].map(|name| circuit.param(name));
    /// circuit.ry(0, a)?.ry(1, b)?;
    /// let amplitude = ClosedForm::from_circuit(&circuit)?.amplitude(0)?;
    /// assert_eq!(amplitude.text(Form::Trig), "cos(a/2)*cos(b/2)");
    /// assert_eq!(amplitude.expanded(Form::Trig), "(cos(a/2 - b/2) + cos(a/2 + b/2))/2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn expanded(&self, form: Form) -> String {
        print::text(self, form, true)
    }

    /// Returns the value at these inputs of the circuit, over any real number type. A sine and a
    /// cosine for each term.
    ///
    /// # Errors
    /// [`ExactError::Simulate`] if the number of inputs is wrong or one of them is not finite.
    pub fn eval<T: Real>(&self, inputs: &[T]) -> Result<Complex<T>, ExactError> {
        Ok(self.eval_parameters(&self.symbols.values(inputs)?))
    }

    /// Returns the value where all parameters of the circuit have these values, computed ones
    /// included.
    #[doc(hidden)]
    pub fn eval_parameters<T: Real>(&self, values: &[T]) -> Complex<T> {
        let fields = self.symbols.fields();
        let one = T::one();
        let value = |field: &super::symbols::ExponentField| match field.variable {
            Some(id) => values.get(id.index()).unwrap_or(&one),
            None => &one,
        };
        let (mut re, mut im) = (T::zero(), T::zero());
        for (key, c) in self.number.terms() {
            let (root, exponents) = self.symbols.split(*key);
            let mut angle = T::pi() * T::lit(*root.numer() as f64 / *root.denom() as f64);
            for (field, e) in fields.iter().zip(exponents).filter(|(_, e)| *e != 0) {
                angle += T::lit(e as f64 / field.unit as f64) * value(field);
            }
            let exponents = self.symbols.split(*key).1;
            let terms = fields.iter().zip(exponents).filter(|(_, e)| *e != 0);
            let terms = terms.map(|(field, e)| ([e as f64, field.unit as f64], value(field)));
            let root = [*root.numer() as f64, *root.denom() as f64];
            let (sin, cos) = sin_cos_of_sum(&angle, root, terms);
            let c = T::lit(*c as f64);
            re += c.clone() * cos;
            im += c * sin;
        }
        let roots = self.number.roots();
        let halves = f64::from(-roots.div_euclid(2)).exp2();
        let mut scale =
            T::lit(halves * (*self.factor.numer() as f64 / *self.factor.denom() as f64));
        if roots.rem_euclid(2) == 1 {
            scale *= T::ratio(1, 2).sqrt();
        }
        Complex::new(re * &scale, im * scale)
    }

    /// Returns the derivative by an input.
    ///
    /// # Errors
    /// [`crate::circuit::CircuitError::NoSuchParam`]; [`ExactError::Computed`] if a parameter that
    /// occurs is computed from it; [`ExactError::Number`] if a coefficient outgrows the ring.
    pub fn derivative(&self, name: &str) -> Result<Formula, ExactError> {
        let circuit = self.symbols.circuit();
        let params = circuit.params();
        let position = params.iter().position(|p| p.definition.is_none() && p.name == name);
        let Some(position) = position else {
            return Err(crate::circuit::CircuitError::NoSuchParam { name: name.to_owned() }.into());
        };
        let mut depends = vec![false; params.len()];
        for (k, param) in params.iter().enumerate() {
            let mut from = param.definition.iter().flat_map(|expr| expr.params());
            depends[k] = k == position || from.any(|id| depends.get(id.index()) == Some(&true));
        }
        let mut ids = self.symbols.params();
        if let Some(id) =
            ids.find(|id| id.index() != position && depends.get(id.index()) == Some(&true))
        {
            return Err(ExactError::Computed {
                name: name.to_owned(),
                computed: circuit.param_name(id),
            });
        }
        self.derivative_by(ParamId::new(u32::try_from(position).unwrap_or(u32::MAX)))
    }

    /// Returns the derivative by a parameter, those that are computed from it kept fixed.
    ///
    /// # Errors
    /// [`ExactError::Number`] if a coefficient outgrows the ring.
    pub fn derivative_by(&self, id: ParamId) -> Result<Formula, ExactError> {
        const WHAT: &str = "the derivative";
        let fields = self.symbols.fields();
        let Some(which) = fields.iter().position(|f| f.variable == Some(id)) else {
            return Formula::new(Exact::from(0), &self.symbols, WHAT);
        };
        let exponent = |key| self.symbols.split(key).1.nth(which).unwrap_or(0);
        let unit = FormulaRatio::from_integer(fields[which].unit.into());
        let factor = self
            .factor
            .checked_div(&unit)
            .ok_or_else(|| self.failed(WHAT, ExactNumberError::Coefficient))?;
        Formula {
            factor,
            number: self.number.weighted(exponent),
            symbols: Arc::clone(&self.symbols),
        }
        .checked(WHAT)
    }

    /// Returns the complex conjugate.
    #[must_use]
    pub fn conj(&self) -> Formula {
        Formula { number: self.symbols.reduced(self.number.conj()), ..self.clone() }
    }

    /// Returns the sum.
    ///
    /// # Errors
    /// [`ExactError::Foreign`] for a formula of another circuit; [`ExactError::Number`] if it
    /// outgrows the ring.
    pub fn plus(&self, other: &Formula) -> Result<Formula, ExactError> {
        const WHAT: &str = "the sum";
        self.same_symbols(other)?;
        if other.is_zero() {
            return Ok(self.clone());
        }
        if self.is_zero() {
            return Ok(other.clone());
        }
        // self = factor (a + b p / q), where p / q is the quotient of the factors.
        let failed = || self.failed(WHAT, ExactNumberError::Coefficient);
        let quotient = other.factor.checked_div(&self.factor).ok_or_else(failed)?;
        let (p, q) = (Exact::constant(*quotient.numer(), 0), Exact::constant(*quotient.denom(), 0));
        let factor = self
            .factor
            .checked_div(&FormulaRatio::from_integer(*quotient.denom()))
            .ok_or_else(failed)?;
        let number = &self.number * &q + &other.number * &p;
        Formula { factor, number, symbols: Arc::clone(&self.symbols) }.checked(WHAT)
    }

    /// Returns the formula times a fraction.
    pub(super) fn scaled(&self, by: FormulaRatio) -> Result<Formula, ExactError> {
        if *by.numer() == 0 {
            return Formula::new(Exact::from(0), &self.symbols, "zero");
        }
        let factor = self.factor.checked_mul(&by);
        let factor =
            factor.ok_or_else(|| self.failed("a multiple", ExactNumberError::Coefficient))?;
        Ok(Formula { factor, ..self.clone() })
    }

    fn same_symbols(&self, other: &Formula) -> Result<(), ExactError> {
        if Arc::ptr_eq(&self.symbols, &other.symbols) { Ok(()) } else { Err(ExactError::Foreign) }
    }
}

impl Symbols {
    /// Returns a number over these symbols as a formula: an entry of a circuit's matrix, say.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ketgrad_core::{circuit::Circuit, exact::Symbols, simulate::Simulator};
    ///
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.h(0)?.p(0, theta)?.h(0)?;
    /// let symbols = Arc::new(Symbols::new(&circuit)?);
    /// let unitary = Simulator::new().matrix(&circuit, &*symbols)?;
    /// assert_eq!(symbols.formula(unitary[(0, 0)].clone())?.to_string(), "(1 + cos(theta) + i*sin(theta))/2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ExactError::Number`] for a number with a fault, or with coefficients too large to be
    /// written.
    pub fn formula(self: &Arc<Symbols>, number: Exact) -> Result<Formula, ExactError> {
        Formula::new(number, self, "the number")
    }
}

/// Equal for all angles; formulas of different runs are never equal.
impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        let negative = other.scaled(FormulaRatio::from_integer(-1));
        negative.and_then(|n| self.plus(&n)).is_ok_and(|difference| difference.is_zero())
    }
}

/// The text in sines and cosines.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Form::Trig))
    }
}
