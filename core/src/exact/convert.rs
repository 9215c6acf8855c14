//! Formulas as expressions.

use num_complex::Complex;
use num_traits::{One, ToPrimitive, Zero};

use super::{
    ExactError, Fault, Formula,
    factor::factors,
    print::{Function, Item, Root, waves},
    run::Factor,
};
use crate::{
    param::Q,
    scalar::{Real, Scalar},
    trace::Expr,
};

impl Formula {
    /// The formula as expressions in the parameters' names: real and imaginary part, exactly. From there on it can
    /// be combined with others, evaluated on any number, differentiated, made a program and printed.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, exact::ClosedForm};
    ///
    /// let mut circuit = Circuit::new(1);
    /// let theta = circuit.param("theta");
    /// circuit.h(0)?.rz(0, theta)?;
    /// let amplitude = ClosedForm::of(&circuit)?.amplitude(0)?.expressions()?;
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
            fault: Fault::Coefficient,
            angles: self.symbols().fields().len(),
        };
        let writer = Writer { formula: self, values: &values };
        let mut product = Complex::new(fraction(self.factor()).ok_or_else(outside)?, Expr::zero());
        for part in factors(self.number(), self.symbols()) {
            let sum = waves(&part, self.symbols());
            let (mut re, mut im) = (Expr::zero(), Expr::zero());
            for item in &sum.items {
                let term = writer.term(item, sum.roots).ok_or_else(outside)?;
                if item.imaginary { im += term } else { re += term }
            }
            product = Complex::new(re, im) * product;
        }
        Ok(product)
    }
}

/// A fraction of 64-bit integers.
fn fraction(q: Factor) -> Option<Expr> {
    Some(Expr::from_ratio(Q::new(q.numer().to_i64()?, q.denom().to_i64()?)))
}

struct Writer<'a> {
    formula: &'a Formula,
    values: &'a [Expr],
}

impl Writer<'_> {
    /// An item over sqrt(2)^roots, without its i.
    fn term(&self, item: &Item, roots: i32) -> Option<Expr> {
        // 1 / sqrt(2)^h is a power of 2, times sqrt 2 if h is odd.
        let twos = (roots + roots.rem_euclid(2)) / 2;
        let power = Factor::from_integer(1i128.checked_shl(twos.unsigned_abs()).filter(|p| *p > 0)?);
        let q = if twos >= 0 { item.coefficient / power } else { item.coefficient * power };
        let mut out = fraction(q)?;
        if roots.rem_euclid(2) == 1 {
            out *= Expr::int(2).sqrt();
        }
        out *= match item.root {
            Root::One => Expr::one(),
            Root::Sqrt2 => Expr::int(2).sqrt(),
            Root::Cos(a) => (fraction(a)? * Expr::pi()).cos(),
            Root::Sin(a) => (fraction(a)? * Expr::pi()).sin(),
        };
        Some(match &item.function {
            Function::One => out,
            Function::Cos(e) => out * self.angle(e)?.cos(),
            Function::Sin(e) => out * self.angle(e)?.sin(),
            // Waves have no exponentials.
            Function::Exp(..) => return None,
        })
    }

    fn angle(&self, exponents: &[i64]) -> Option<Expr> {
        let mut sum = Expr::zero();
        for (field, e) in self.formula.symbols().fields().iter().zip(exponents).filter(|(_, e)| **e != 0) {
            let q = Expr::from_ratio(Q::new(*e, field.unit));
            sum += match field.variable {
                Some(id) => q * self.values.get(id.index())?,
                None => q,
            };
        }
        Some(sum)
    }
}
