//! Expressions without parameters, exact as long as they can be: `0.5*0.5` is the decimal 0.25,
//! `cos(pi)` is -1.

#![deny(clippy::arithmetic_side_effects)]

use num_rational::Ratio;
use num_traits::ToPrimitive;

use super::{Angle, Decimal, ElementaryFunction, ParamExpr, Q, Rounded, Step, reciprocal};

/// Largest exponent of a power that is computed as a product.
const PRODUCT_POWER: i64 = 64;

impl ParamExpr {
    /// Returns the angle of an expression without parameters. Its [slack](Angle::rounding_bound)
    /// bounds the errors of roundings on the way.
    pub(crate) fn folded(&self) -> Angle {
        let mut stack: Vec<Angle> = Vec::new();
        for step in self.steps() {
            // Tables are well-formed by construction.
            let mut pop = || stack.pop().unwrap_or_default();
            let angle = match step {
                Step::Angle(angle) => angle.clone(),
                Step::Neg => -pop(),
                Step::Call(function) => call(*function, &pop()),
                _ => {
                    let (y, x) = (pop(), pop());
                    match step {
                        Step::Add => x + y,
                        Step::Sub => x - y,
                        Step::Mul => {
                            product(&x, &y).unwrap_or_else(|| rounded(&x, &y, Rounded::times))
                        }
                        Step::Div => {
                            quotient(&x, &y).unwrap_or_else(|| rounded(&x, &y, Rounded::over))
                        }
                        _ => power(&x, &y).unwrap_or_else(|| rounded(&x, &y, Rounded::power)),
                    }
                }
            };
            stack.push(angle);
        }
        stack.pop().unwrap_or_default()
    }
}

/// Returns the fraction that an angle is, if it is a short decimal.
fn fraction(x: &Angle) -> Option<Q> {
    let plain = x.is_constant() && *x.pi_part().numer() == 0 && x.rounding_bound() == 0.0;
    let decimal = Decimal::new(x.radian_part()).filter(|d| plain && d.is_short())?;
    let exact: Ratio<i128> = decimal.fraction()?;
    let (n, d) = (exact.numer().to_i64()?, exact.denom().to_i64()?);
    (n != i64::MIN).then(|| Q::new(n, d))
}

fn product(x: &Angle, y: &Angle) -> Option<Angle> {
    fraction(y).map(|q| x * q).or_else(|| fraction(x).map(|q| y * q))
}

fn quotient(x: &Angle, y: &Angle) -> Option<Angle> {
    fraction(y).and_then(reciprocal).map(|inverse| x * inverse)
}

fn power(x: &Angle, y: &Angle) -> Option<Angle> {
    let (base, n) = (fraction(x)?, fraction(y).filter(|n| *n.denom() == 1)?.to_integer());
    if !(0..=PRODUCT_POWER).contains(&n) {
        return None;
    }
    Some((0..n).fold(Angle::rad(1.0), |product, _| product * base))
}

fn rounded(x: &Angle, y: &Angle, op: fn(Rounded, Rounded) -> Rounded) -> Angle {
    op(Rounded::angle(x, &[]), Rounded::angle(y, &[])).into_angle()
}

fn call(function: ElementaryFunction, x: &Angle) -> Angle {
    match function.at_quarter_turns(x) {
        Some(n) => Angle::rad(1.0) * Q::from_integer(n),
        None => Rounded::angle(x, &[]).call(function).into_angle(),
    }
}
