//! Formulas as expressions.

use num_complex::Complex;
use num_traits::{CheckedMul, One, ToPrimitive, Zero};

use super::{
    ExactError, ExactNumberError, Formula,
    gauss::Gauss,
    nested::{Letter, Nested, NestedProduct},
    run::FormulaRatio,
    short::{Functions, short, sum},
    sums::{BasisFunction, Root},
};
use crate::{
    param::Q,
    scalar::{Real, Scalar},
    trace::Expr,
};

impl Formula {
    /// Returns the formula as expressions in the parameters' names: real and imaginary part,
    /// exactly. From there on it can be combined with others, evaluated on any number,
    /// differentiated, made a program and printed.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, exact::ClosedForm};
    ///
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.h(0)?.rz(0, theta)?;
    /// let amplitude = ClosedForm::from_circuit(&circuit)?.amplitude(0)?.expressions()?;
    /// assert_eq!(amplitude.re.to_string(), "sqrt(2)/2*cos(theta/2)");
    /// assert_eq!(amplitude.im.derivative("theta")?.to_string(), "-sqrt(2)/4*cos(theta/2)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ExactError::Number`] for a coefficient beyond 64 bits.
    pub fn expressions(&self) -> Result<Complex<Expr>, ExactError> {
        let inputs: Vec<Expr> = self.symbols().circuit().inputs().map(Expr::symbol).collect();
        let values = self.symbols().values(&inputs)?;
        let outside = || ExactError::Number {
            what: "the expression".to_owned(),
            fault: ExactNumberError::Coefficient,
            angles: self.symbols().fields().len(),
        };
        let tree = FormulaToExpr { formula: self, values: &values };
        let trees = short(self.number(), self.symbols(), Functions::Waves);
        let trees =
            trees.or_else(|| Some(vec![sum(self.number(), self.symbols(), Functions::Waves)?]));
        let mut product = Complex::new(fraction(self.factor()).ok_or_else(outside)?, Expr::zero());
        for nested in trees.ok_or_else(outside)? {
            product = tree.nested(&nested).ok_or_else(outside)? * product;
        }
        Ok(product)
    }
}

/// Returns a fraction of 64-bit integers.
fn fraction(q: FormulaRatio) -> Option<Expr> {
    Some(Expr::from_ratio(Q::new(q.numer().to_i64()?, q.denom().to_i64()?)))
}

/// Returns a Gaussian integer times a fraction.
fn gauss(c: Gauss, q: FormulaRatio) -> Option<Complex<Expr>> {
    let part = |part: i128| fraction(q.checked_mul(&FormulaRatio::from_integer(part))?);
    Some(Complex::new(part(c.re)?, part(c.im)?))
}

struct FormulaToExpr<'a> {
    formula: &'a Formula,
    values: &'a [Expr],
}

impl FormulaToExpr<'_> {
    fn nested(&self, nested: &Nested) -> Option<Complex<Expr>> {
        // 1 / sqrt(2)^h is a power of 2, times sqrt 2 if h is odd.
        let twos = (nested.roots + nested.roots.rem_euclid(2)) / 2;
        let power =
            FormulaRatio::from_integer(1i128.checked_shl(twos.unsigned_abs()).filter(|p| *p > 0)?);
        let q = if twos >= 0 { power.recip() } else { power };
        let mut out = self.product(&nested.product)? * gauss(nested.coefficient, q)?;
        if nested.roots.rem_euclid(2) == 1 {
            let root = Expr::int(2).sqrt();
            out = Complex::new(out.re * &root, out.im * root);
        }
        Some(out)
    }

    fn product(&self, product: &NestedProduct) -> Option<Complex<Expr>> {
        let mut real = Expr::one();
        for letter in &product.letters {
            real *= match letter {
                Letter::Root(Root::One) | Letter::Function(BasisFunction::One) => continue,
                Letter::Root(Root::Sqrt2) => Expr::int(2).sqrt(),
                Letter::Root(Root::Sqrt3) => Expr::int(3).sqrt(),
                Letter::Root(Root::Cos(a)) => (fraction(*a)? * Expr::pi()).cos(),
                Letter::Root(Root::Sin(a)) => (fraction(*a)? * Expr::pi()).sin(),
                Letter::Function(BasisFunction::Cos(e)) => self.angle(e)?.cos(),
                Letter::Function(BasisFunction::Sin(e)) => self.angle(e)?.sin(),
                // Sines and cosines have no exponentials.
                Letter::Function(BasisFunction::Exp(..)) => return None,
            };
        }
        let mut out = Complex::new(real, Expr::zero());
        if !product.phase.is_empty() {
            let angle = self.angle(&product.phase)?;
            out = Complex::new(angle.cos(), angle.sin()) * out;
        }
        for sum in &product.sums {
            let mut total = Complex::new(Expr::zero(), Expr::zero());
            for (c, item) in sum {
                total += self.product(item)? * gauss(*c, FormulaRatio::from_integer(1))?;
            }
            out = total * out;
        }
        Some(out)
    }

    fn angle(&self, exponents: &[i64]) -> Option<Expr> {
        let mut sum = Expr::zero();
        for (field, e) in
            self.formula.symbols().fields().iter().zip(exponents).filter(|(_, e)| **e != 0)
        {
            let q = Expr::from_ratio(Q::new(*e, field.unit));
            sum += match field.variable {
                Some(id) => q * self.values.get(id.index())?,
                None => q,
            };
        }
        Some(sum)
    }
}
