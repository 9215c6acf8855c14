//! Numbers with a rounding bound: a running error analysis.
//!
//! Each operation adds half a unit in the last place of its result to the propagated errors of its
//! operands. For a monotonic function these follow from the ends of the interval, so that the bound
//! holds near poles and kinks too:
//!
//! ```text
//! |x y - X Y| <= |x| dy + |y| dx + dx dy         |f(x) - f(X)| <= max |f(x +- dx) - f(x)|
//! ```
//! An operation costs a few of those on `f64`.

use std::f64::consts::PI;

use super::{Angle, Decimal, ElementaryFunction, ParamExpr, Step, angle::q_to_f64};

/// Half a unit in the last place of 1.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;
/// Error of functions of the standard library: a unit or two in the last place.
const OF_FUNCTIONS: f64 = 4.0 * UNIT;

/// Float with a bound of its distance from the exact number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounded {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Rounded {
    pub(crate) fn exact(value: f64) -> Rounded {
        Rounded { value, error: 0.0 }
    }

    /// Returns the number that is meant by a float that was written as a decimal.
    pub(crate) fn decimal(value: f64) -> Rounded {
        Rounded {
            value,
            error: Decimal::new(value).map_or(f64::INFINITY, |decimal| decimal.rounding_bound()),
        }
    }

    /// The value of an angle.
    pub(crate) fn angle(angle: &Angle, values: &[Rounded]) -> Rounded {
        let mut sum = Rounded::exact(0.0);
        if *angle.pi_part().numer() != 0 {
            let pi = q_to_f64(angle.pi_part()) * PI;
            sum = Rounded { value: pi, error: 3.0 * UNIT * pi.abs() };
        }
        if angle.radian_part() != 0.0 {
            sum = sum.plus(Rounded::decimal(angle.radian_part()));
        }
        for &(id, q) in angle.terms() {
            let nowhere = Rounded { value: 0.0, error: f64::INFINITY };
            let theta = values.get(id.index()).copied().unwrap_or(nowhere);
            let factor = q_to_f64(q);
            let off = if *q.denom() == 1 { 0.0 } else { UNIT * factor.abs() };
            sum = sum.plus(theta.times(Rounded { value: factor, error: off }));
        }
        if angle.rounding_bound() == 0.0 {
            return sum;
        }
        let largest =
            values.iter().fold(0.0, |most: f64, theta| most.max(theta.value.abs() + theta.error));
        sum.off(angle.rounding_bound_at(largest))
    }

    /// The sum of the absolute values of an angle's parts.
    pub(crate) fn sizes(angle: &Angle, values: &[Rounded]) -> f64 {
        let value = |k: usize| values.get(k).map_or(f64::INFINITY, |theta| theta.value);
        let terms = angle.terms().iter().map(|(id, q)| (q_to_f64(*q) * value(id.index())).abs());
        q_to_f64(angle.pi_part()).abs() * PI + angle.radian_part().abs() + terms.sum::<f64>()
    }

    /// The value of an expression.
    pub(crate) fn expression(expr: &ParamExpr, values: &[Rounded]) -> Rounded {
        let mut stack: Vec<Rounded> = Vec::new();
        for step in expr.steps() {
            let mut pop = || stack.pop().unwrap_or(Rounded::exact(0.0));
            let value = match step {
                Step::Angle(angle) => Rounded::angle(angle, values),
                Step::Neg => pop().negative(),
                Step::Call(function) => pop().call(*function),
                _ => {
                    let (y, x) = (pop(), pop());
                    match step {
                        Step::Add => x.plus(y),
                        Step::Sub => x.plus(y.negative()),
                        Step::Mul => x.times(y),
                        Step::Div => x.over(y),
                        _ => x.power(y),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(Rounded::exact(0.0))
    }

    /// Returns the angle of that many radians.
    pub(crate) fn into_angle(self) -> Angle {
        if self.error == 0.0 {
            Angle::rad(self.value)
        } else {
            Angle::rounded(self.value, self.error)
        }
    }

    /// Returns the number with a larger error. The error of a NaN is infinite.
    pub(crate) fn off(self, more: f64) -> Rounded {
        let error = self.error + more;
        Rounded { error: if error.is_nan() { f64::INFINITY } else { error }, ..self }
    }

    pub(crate) fn negative(self) -> Rounded {
        Rounded { value: -self.value, ..self }
    }

    pub(crate) fn plus(self, other: Rounded) -> Rounded {
        let value = self.value + other.value;
        // Adding 0 rounds nothing.
        let rounds = self.value != 0.0 && other.value != 0.0;
        let error = self.error + other.error;
        Rounded { value, error }.off(if rounds { UNIT * value.abs() } else { 0.0 })
    }

    pub(crate) fn times(self, other: Rounded) -> Rounded {
        let value = self.value * other.value;
        let error = part(self.value, other.error) + part(other.value, self.error);
        let rounds = self.value.abs() != 1.0 && other.value.abs() != 1.0;
        let error = error + part(self.error, other.error);
        Rounded { value, error }.off(if rounds { UNIT * value.abs() } else { 0.0 })
    }

    pub(crate) fn over(self, other: Rounded) -> Rounded {
        let value = self.value / other.value;
        let least = other.value.abs() - other.error;
        let error = if least > 0.0 {
            (self.error + part(value, other.error)) / least
        } else {
            f64::INFINITY
        };
        Rounded { value, error }.off(UNIT * value.abs())
    }

    /// Returns the remainder of the truncated division, with the sign of `self`.
    pub(crate) fn remainder(self, divisor: Rounded) -> Rounded {
        let (value, size) = (self.value % divisor.value, divisor.value.abs());
        let off = self.error + part((self.value / divisor.value).trunc(), divisor.error);
        // Next to a jump the remainder may be anything below the divisor.
        let beside = off > 0.0 && (value.abs() <= off || size - value.abs() <= off);
        Rounded { value, error: 0.0 }.off(if beside { size + off } else { off })
    }

    pub(crate) fn power(self, exponent: Rounded) -> Rounded {
        let value = self.value.powf(exponent.value);
        let error = self
            .ends()
            .into_iter()
            .flat_map(|x| exponent.ends().map(|y| distance(x.powf(y), value)));
        let through_zero =
            self.error > 0.0 && self.value.abs() <= self.error && exponent.value < 0.0;
        let error = if through_zero { f64::INFINITY } else { error.fold(0.0, f64::max) };
        Rounded { value, error }.off(OF_FUNCTIONS * value.abs())
    }

    pub(crate) fn call(self, function: ElementaryFunction) -> Rounded {
        let value = function.apply(&self.value);
        if self.error == 0.0 && is_exact(function, self.value, value) {
            return Rounded::exact(value);
        }
        let at_ends = || {
            self.ends().map(|x| distance(function.apply(&x), value)).into_iter().fold(0.0, f64::max)
        };
        let error = match function {
            ElementaryFunction::Sin | ElementaryFunction::Cos => self.error,
            // If both ends have one sign, the cosine has no zero between them.
            ElementaryFunction::Tan => {
                let [below, above] = self.ends().map(f64::cos);
                let between = self.error < 1.0 && below * above > 0.0;
                if between { at_ends() } else { f64::INFINITY }
            }
            _ => at_ends(),
        };
        Rounded { value, error }.off(OF_FUNCTIONS * value.abs())
    }

    fn ends(self) -> [f64; 2] {
        [self.value - self.error, self.value + self.error]
    }
}

/// Returns true if the float is the exact value of the function, by a well-known identity.
fn is_exact(function: ElementaryFunction, x: f64, value: f64) -> bool {
    match function {
        ElementaryFunction::Sin
        | ElementaryFunction::Tan
        | ElementaryFunction::Asin
        | ElementaryFunction::Atan
        | ElementaryFunction::Cos
        | ElementaryFunction::Exp => x == 0.0,
        ElementaryFunction::Ln | ElementaryFunction::Acos => x == 1.0,
        ElementaryFunction::Sqrt => {
            value.fract() == 0.0 && value * value == x && x < 1.0 / f64::EPSILON
        }
    }
}

/// Zero times infinity is zero here.
fn part(size: f64, error: f64) -> f64 {
    if size == 0.0 || error == 0.0 { 0.0 } else { size.abs() * error }
}

/// Returns the distance of two floats; a NaN is infinitely far from any.
fn distance(x: f64, y: f64) -> f64 {
    let distance = (x - y).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
