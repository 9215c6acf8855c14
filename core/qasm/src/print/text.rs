//! Text of angles and expressions that OpenQASM reads back.
//!
//! ```text
//! 3*pi/8    -pi/4 + 3*theta/4 - 0.5    (sin(theta)*phi)/2
//! ```
//! A fraction is a product before a quotient, `3*theta/4`, since `3/4` alone is 0 among the
//! integers of OpenQASM 3. Decimals have a point, so that `2.0/3.0` is a quotient of numbers, and
//! as many digits as read back to the same `f64`.

use super::PrintError;
use crate::{
    circuit::Circuit,
    notation::{Infix, Precedence, parenthesized, sign_of_term},
    param::{Angle, ParamExpr, ParamId, Q},
};

/// Limit on the text of one expression; parameters computed from parameters can double at each
/// step.
const MAX_EXPRESSION: usize = 1 << 20;

/// The texts of a circuit's parameters, by id.
pub(super) struct ParamTexts(Vec<String>);

impl ParamTexts {
    /// `names` holds those of the inputs, in order.
    pub(super) fn new(circuit: &Circuit, names: &[String]) -> Result<ParamTexts, PrintError> {
        let mut names = names.iter();
        let mut texts = ParamTexts(Vec::with_capacity(circuit.params().len()));
        for param in circuit.params() {
            let text = match &param.definition {
                None => names.next().cloned().unwrap_or_default(),
                Some(expr) => parenthesized(texts.expression(expr)?, Precedence::Atom),
            };
            if text.len() > MAX_EXPRESSION {
                return Err(PrintError::Expression { bytes: text.len(), limit: MAX_EXPRESSION });
            }
            texts.0.push(text);
        }
        Ok(texts)
    }

    fn param(&self, id: ParamId) -> &str {
        self.0.get(id.index()).map_or("", String::as_str)
    }

    /// An angle.
    pub(super) fn angle(&self, angle: &Angle) -> Result<String, PrintError> {
        self.sum(angle).map(|(text, _)| text)
    }

    /// Returns an angle, and the precedence of its text (see [`Self::expression`]).
    fn sum(&self, angle: &Angle) -> Result<Infix, PrintError> {
        if !angle.radian_part().is_finite() {
            return Err(PrintError::NotFinite { angle: angle.to_string() });
        }
        let mut text = String::new();
        let mut binds = Precedence::Atom;
        let mut term = |negative: bool, term: &str, tightness: Precedence| {
            let is_signed = negative || !text.is_empty();
            let sign = sign_of_term(text.is_empty(), negative);
            text.push_str(sign);
            text.push_str(term);
            binds = binds.min(if is_signed { Precedence::Sum } else { tightness });
        };
        let mut fraction = |q: Q, unit: &str| {
            let (n, d) = (q.numer().unsigned_abs(), q.denom());
            match (n, d) {
                (0, _) => {}
                (1, 1) => term(*q.numer() < 0, unit, Precedence::Atom),
                (_, 1) => term(*q.numer() < 0, &format!("{n}*{unit}"), Precedence::Product),
                (1, _) => term(*q.numer() < 0, &format!("{unit}/{d}"), Precedence::Product),
                _ => term(*q.numer() < 0, &format!("{n}*{unit}/{d}"), Precedence::Product),
            }
        };
        fraction(angle.pi_part(), "pi");
        for &(id, q) in angle.terms() {
            fraction(q, self.param(id));
        }
        let radians = angle.radian_part();
        if radians != 0.0 {
            term(radians < 0.0, &decimal(radians.abs()), Precedence::Atom);
        }
        if text.is_empty() {
            text.push('0');
        }
        Ok((text, binds))
    }

    /// Returns a general expression in OpenQASM 3, and the precedence of its text.
    fn expression(&self, expr: &ParamExpr) -> Result<Infix, PrintError> {
        expr.infix(
            true,
            |angle| self.sum(angle),
            |part| match part.0.len() {
                bytes if bytes > MAX_EXPRESSION => {
                    Err(PrintError::Expression { bytes, limit: MAX_EXPRESSION })
                }
                _ => Ok(part),
            },
        )
    }
}

/// Returns the shortest decimal that reads back the same, with a point: OpenQASM 2 requires one,
/// and without it a number may be an integer.
pub(super) fn decimal(x: f64) -> String {
    let text = format!("{x:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::{ElementaryFunction, Step};

    #[test]
    fn angles_are_exact_and_read_as_numbers() {
        let mut c = Circuit::new(0);
        let (a, w) = (c.param("a"), c.param("w[0]"));
        let square =
            ParamExpr::from(a.clone() + Angle::pi(1, 2)).binary(Step::Pow, Angle::rad(2.0).into());
        let e = c.expression(
            square
                .call(ElementaryFunction::Sin)
                .binary(Step::Sub, ParamExpr::from(w.clone()).negate()),
        );
        let quotient =
            ParamExpr::from(Angle::rad(2.0)).binary(Step::Div, (w.clone() * Q::new(1, 3)).into());
        let f = c.expression(quotient);
        let texts = ParamTexts::new(&c, &["a".into(), "w[0]".into()]).unwrap();
        let text = |angle: Angle| texts.angle(&angle).unwrap();
        assert_eq!(text(Angle::zero()), "0");
        assert_eq!(text(Angle::pi(-3, 8)), "-3*pi/8");
        assert_eq!(
            text(Angle::pi(1, 4) + a * Q::new(3, 4) - w + Angle::rad(-2.0)),
            "pi/4 + 3*a/4 - w[0] - 2.0"
        );
        assert_eq!(text(Angle::rad(1e-7)), "1.0e-7");
        assert_eq!(text(Angle::rad(1e22)), "1.0e22");
        assert_eq!(text(e * Q::new(1, 2)), "(sin((pi/2 + a)**2.0) - (-w[0]))/2");
        assert_eq!(text(f), "(2.0/(w[0]/3))");
        assert!(texts.angle(&Angle::rad(f64::NAN)).is_err());
    }

    #[test]
    fn expressions_that_double_are_refused_in_time() {
        let mut c = Circuit::new(0);
        let mut x = c.param("x");
        for _ in 0..20 {
            x = c.expression(ParamExpr::from(x.clone()).binary(Step::Mul, x.into()));
        }
        assert!(matches!(ParamTexts::new(&c, &["x".into()]), Err(PrintError::Expression { .. })));
    }
}
